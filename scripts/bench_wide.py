"""Benchmark of wide models: what `restrict certify` finds where no map can be tabulated, with times and memory.

    python scripts/bench_wide.py [--quick] [--n 10000 ...] [--layers 1 2] [--heads 2 4 8 12] [--states 4 16 64]
                                 [--symbols 2 26 1000] [--seed 0 ...] [--seconds S] [--total S] [-o FILE.json]
                                 [--explain K [--explain-seconds S]] [--table]

One row per model `random:layers=L,heads=H,states=S,symbols=A`: fixed positions, the free share, c, the seconds of a
fresh process (start-up and compiled kernels included; `cpu s` adds up all its threads), its peak memory, and the fast
check of the certificate, in a process of its own. `--explain K` adds the smallest explanation of K random inputs, as
many as are found in `--explain-seconds`, for comparison. A run that takes longer than `--seconds` is ended and reported
as such. With `-o` rows are added to a file, and those that it has are not run again, so that the grid can be measured
part by part; `--total` ends a part, `--table` only prints what the file has.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from harness import Row, arguments, command, ended, head, line, written

EXPLAIN = """
import sys, numpy, restrict
model, n = restrict.load(sys.argv[1]), int(sys.argv[2])
rng = numpy.random.default_rng(0)
for _ in range(int(sys.argv[3])):
    word = [model.alphabet[a] for a in rng.integers(len(model.alphabet), size=n).tolist()]
    print(restrict.explain(model, word)[0].weight, flush=True)
"""


def certified(spec: str, n: int, seconds: float) -> Row:
    """Certify and check one model."""
    row: Row = {"model": spec, "n": n}
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "c.json")
        run = ended(command("certify", spec, "-n", str(n), "-o", path, "--json"), seconds)
        row |= {"s": round(run.seconds, 1), "cpu s": round(run.cpu, 1), "MiB": round(run.mebibytes)}
        if run.code:
            return row | {"fixed": "ended" if run.code < 0 else f"exit {run.code}: {run.err.strip()[:60]}"}
        certificate = json.loads(run.out)["certificate"]
        fixed = sum(count for _, count, _ in certificate["fixed"])
        row |= {"fixed": fixed, "free %": round(100 * (1 - fixed / n), 4), "c": certificate["claim"]["c"]}
        run = ended(command("check", spec, path, "--fast"), seconds)
        row["check --fast s"] = run.err[:40] if run.code > 0 else "ended" if run.code else round(run.seconds, 1)
        row["check cpu s"] = round(run.cpu, 1)
    return row


def explained(spec: str, n: int, count: int, seconds: float) -> Row:
    """The smallest explanation of up to ``count`` random inputs, and of how many."""
    run = ended([sys.executable, "-c", EXPLAIN, spec, str(n), str(count)], seconds)
    sizes = [int(word) for word in run.out.split() if word.isdigit()]
    return {"explain": min(sizes, default=None), "inputs": len(sizes)}


def summary(rows: Iterable[Row]) -> str:
    """A Markdown table, and what is asked of the grid."""
    rows = sorted(rows, key=lambda r: (r["n"], *map(int, parts(r["model"]))))
    columns = list(dict.fromkeys(key for row in rows for key in row if key != "model"))
    lines = [head(["L", "H", "S", "A", "seed", *columns])]
    lines += [line([*parts(r["model"]), *(str(r.get(c, "")) for c in columns)]) for r in rows]
    good = [r for r in rows if r.get("c") == 0]
    most = max((r["s"] for r in good), default=0), max((r["MiB"] for r in good), default=0)
    lines += ["", f"{len(good)} of {len(rows)} answered with c = 0; at most {most[0]} s and {most[1]} MiB"]
    asked = [r for r in good if r["n"] == 10_000 and parts(r["model"])[0] == "2" and int(parts(r["model"])[1]) <= 8]
    free = min((r["free %"] for r in asked), default=None)
    lines += [f"L = 2, H <= 8, n = 10000: {len(asked)} models, the least free share {free} %"]
    compared = [r for r in good if r.get("explain") is not None]
    larger = sum(r["fixed"] > r["explain"] for r in compared)
    return "\n".join([*lines, f"compared with explanations: {len(compared)}, larger than the best of them: {larger}"])


def parts(spec: str) -> list[str]:
    """The numbers in a model's name: layers, heads, states, symbols, seed."""
    return [part.split("=")[1] for part in spec.split(":")[1].split(",")]


def options() -> argparse.Namespace:
    """The command line."""
    parser = arguments(__doc__, "one model of each number of layers")
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--heads", type=int, nargs="+", default=[2, 4, 8, 12])
    parser.add_argument("--states", type=int, nargs="+", default=[4, 16, 64])
    parser.add_argument("--symbols", type=int, nargs="+", default=[2, 26, 1000])
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--total", type=float, default=1e9)
    parser.add_argument("--explain", type=int, default=0, metavar="K")
    parser.add_argument("--explain-seconds", type=float, default=60.0)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.n, args.heads, args.states, args.symbols = [1000], [4], [16], [26]
    return args


def main() -> None:
    """Measure what the file has not yet, and print its table."""
    args, started = options(), time.perf_counter()
    kept = json.loads(args.output.read_text()) if args.output and args.output.exists() else []
    rows = {(row["model"], row["n"]): row for row in kept}
    for n, layers, heads, states, symbols, seed in product(
        args.n, args.layers, args.heads, args.states, args.symbols, args.seed
    ):
        spec = f"random:layers={layers},heads={heads},states={states},symbols={symbols},seed={seed}"
        row = rows.get((spec, n), {})
        wanting = not row or (args.explain > 0 and "explain" not in row)
        if args.table or not wanting or time.perf_counter() - started > args.total:
            continue
        row = row or certified(spec, n, args.seconds)
        if args.explain:
            row |= explained(spec, n, args.explain, args.explain_seconds)
        rows[spec, n] = row
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        written(args.output, list(rows.values()))
    print("\n" + summary(rows.values()))


if __name__ == "__main__":
    main()
