"""Narrow models, this package compared with another version of it in the same run: fixed positions and seconds.

    python scripts/bench_against.py FOLDER [--quick] [--seeds 5] [--n 1000 10000 100000 1000000]
    python scripts/bench_against.py FOLDER --models random:layers=2,heads=4,states=8,seed=1:17 tribes:10000

FOLDER holds the other version (`git worktree add FOLDER COMMIT`). Every model is certified by a fresh process of each,
one after the other, twice; the better time counts. The models are those of the tables of docs/benchmarks.md: random
programs of two layers up to a million positions, of three and four layers, and those whose optimum is known.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench_certify import KNOWN
from harness import arguments, command, ended, head, line, written

HERE = str(Path(__file__).resolve().parent.parent)


def answer(model: str, n: int, folder: str) -> tuple[int | None, float]:
    """Fixed positions and seconds of one version."""
    run = ended(command("certify", model, "-n", str(n), "--json"), 300, folder)
    if run.code:
        return None, round(run.seconds, 1)
    return sum(count for _, count, _ in json.loads(run.out)["certificate"]["fixed"]), round(run.cpu, 1)


def compared(model: str, n: int, other: str, times: int) -> dict[str, Any]:
    """Both versions on one model."""
    found = [(answer(model, n, other), answer(model, n, HERE)) for _ in range(times)]
    before, now = found[0]
    return {
        "model": model, "n": n, "fixed before": before[0], "fixed": now[0],
        "cpu s before": min(old[1] for old, _ in found), "cpu s": min(new[1] for _, new in found),
    }  # fmt: skip


def main() -> None:
    """Print one line per model, then how many are larger or slower."""
    parser = arguments(__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--only", nargs="+", choices=["random", "deep", "known"], default=["random", "deep", "known"])
    parser.add_argument("--models", nargs="+", metavar="MODEL:N", help="these in place of all the others")
    args = parser.parse_args()
    sizes, seeds = ([1_000], 1) if args.quick else (args.n, args.seeds)
    random = [(f"random:layers=2,heads=2,states=4,seed={s}", n) for n in sizes for s in range(seeds)]
    deep = [(f"random:layers={layers},heads=2,states=4,seed={s}", 100_000) for layers in (3, 4) for s in range(3)]
    chosen = {"random": random, "deep": [] if args.quick else deep, "known": list(KNOWN[:2] if args.quick else KNOWN)}
    cases = [case for kind in args.only for case in chosen[kind]]
    if args.models:
        cases = [(name, int(n)) for name, _, n in (text.rpartition(":") for text in args.models)]
    rows = []
    print(head(("model", "n", "fixed before", "fixed", "cpu s before", "cpu s")))
    for model, n in cases:
        rows.append(compared(model, n, args.folder, args.times))
        print(line(rows[-1].values()), flush=True)
    written(args.output, rows)
    larger = sum((r["fixed"] or r["n"]) > (r["fixed before"] or r["n"]) for r in rows)
    smaller = sum((r["fixed"] or r["n"]) < (r["fixed before"] or r["n"]) for r in rows)
    slower = [r for r in rows if r["cpu s"] > 1.1 * r["cpu s before"] + 0.1]
    total = sum(r["cpu s before"] for r in rows), sum(r["cpu s"] for r in rows)
    print(f"\n{len(rows)} models: {smaller} smaller, {larger} larger; {total[0]:.1f} s before, {total[1]:.1f} s now")
    print(f"slower by more than a tenth (and 0.1 s): {[(r['model'], r['n']) for r in slower]}")


if __name__ == "__main__":
    main()
