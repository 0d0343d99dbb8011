"""Models that no page shows: what the engine's aims ask, on any seeds, here and in an earlier version.

    python scripts/bench_unseen.py                                  # every kind, seeds 21 to 23
    python scripts/bench_unseen.py --only long deep --seeds 21 22   # two kinds
    python scripts/bench_unseen.py --folder OLD                     # the same by another checkout, side by side

Kinds: `long` (n = 10^8), `symbols` (26 symbols at n = 10^6), `deep` (five and six layers), `everywhere` (every
position at n = 10 000), `explain` (a random input of 800 symbols), `bound` (proofs of the optimum at n = 10^6). A row
is one command in a fresh process: what it fixes, the bound that is certified (c, for `explain` and `bound` the fewest
positions), and processor seconds of all threads. Each version does every kind once beforehand, with seed 0, so that no
row has the compilation of kernels in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import ROOT, Row, arguments, command, ended, head, line, written


class Kind(NamedTuple):
    """A command without its seed, and what is aimed at: positions fixed (or bound) and processor seconds."""

    words: str
    model: str
    n: int
    aim: str
    seconds: float


KINDS = {
    "long": (Kind("certify", "layers=2,heads=2,states=4", 10**8, "7 fixed", 10),),
    "symbols": (
        Kind("certify", "layers=2,heads=8,states=64,symbols=26", 10**6, "an answer", 15),
        Kind("certify", "layers=2,heads=4,states=16,symbols=26", 10**6, "an answer", 15),
    ),
    "deep": (
        Kind("certify", "layers=5,heads=2,states=4", 10**5, "100 fixed", 60),
        Kind("certify", "layers=6,heads=2,states=2", 10**5, "100 fixed", 60),
    ),
    "everywhere": (Kind("certify", "layers=1,heads=2,states=2,every=1", 10**4, "c = 109", 15),),
    "explain": (Kind("explain", "layers=2,heads=4,states=4", 800, "the minimum", 3),),
    "bound": (Kind("lower-bound", "layers=2,heads=2,states=4", 10**6, "the optimum", 120),),
}
EXTRA = {"everywhere": ("--target", "all", "--free", "0.9"), "bound": ("--time", "120")}


def words(name: str, kind: Kind, seed: int) -> list[str]:
    """The command line of a kind."""
    size = ["-n", str(kind.n)]
    if name == "explain":
        size = ["--input", "".join(map(str, np.random.default_rng(seed).integers(2, size=kind.n).tolist()))]
    model = f"random:{kind.model},seed={seed}"
    return command(*kind.words.split(), model, *size, *EXTRA.get(name, ()), "--json")


def row(name: str, kind: Kind, seed: int, folder: Path, limit: float) -> Row:
    """One command of one version."""
    run = ended(words(name, kind, seed), limit, folder)
    found = json.loads(run.out) if run.code == 0 else {}
    if name == "explain" and found:
        (one,) = found
        found = {"upper": one["weight"], "at_least": one["lower"]}
    certificate = found.get("certificate", {})
    fixed = sum(count for _, count, _ in certificate["fixed"]) if "fixed" in certificate else found.get("upper")
    bound = certificate["claim"].get("c") if "fixed" in certificate else found.get("at_least")
    shown: Row = {"kind": name, "model": kind.model, "seed": seed, "n": kind.n, "fixed": fixed, "bound": bound}
    version = "this" if folder == ROOT else folder.name
    return shown | {"aim": f"{kind.aim}, {kind.seconds:g} s", "version": version, "CPU s": round(run.cpu, 1)}


def main(argv: list[str]) -> int:
    """Print the table, row by row."""
    parser = arguments(__doc__, None)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[21, 22, 23])
    parser.add_argument("--folder", type=Path, action="append", default=[], help="a checkout of another version, too")
    parser.add_argument("--limit", type=float, default=600, help="seconds on the clock for one command")
    given = parser.parse_args(argv)
    rows: list[Row] = []
    for name in given.only:
        for kind in KINDS[name]:
            for folder in (*given.folder, ROOT):
                row(name, kind, 0, folder, given.limit)  # compiles what is not in the cache
            for seed in given.seeds:
                for folder in (*given.folder, ROOT):
                    rows.append(row(name, kind, seed, folder, given.limit))
                    if len(rows) == 1:
                        print(head(list(rows[0])))
                    print(line(rows[-1].values()), flush=True)
    written(given.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
