"""Theorem 1 against what is certified: the theorem's c and n0, and restrictions found for random models.

    python scripts/bench_bounds.py [--quick] [-n N ...] [--seeds K] [-o FILE.json]

For every depth and share C: the constants that the theorem's proof gives for all models of that size (certified bounds,
exact arithmetic), the same with the paper's own choices for one layer, and for random models (four states per
activation) the restriction that `restrict.certify` finds. "last" forces the output at the last position (c = 0) and
says how many positions that takes; "all" keeps C n positions free and bounds the dependencies of every position, where
this version can. Certified numbers are the worst over the seeds.
"""

from __future__ import annotations

import time

from harness import Row, arguments, table, written

import restrict
from restrict.depth_reduction.constants.theorem_bounds import theorem_bounds
from restrict.model.examples.random import random_model
from restrict.model.fileformat import dumps, loads

SIZES = ((1, "0.9"), (1, "0.6"), (2, "0.9"), (2, "0.6"), (3, "0.9"), (4, "0.9"))
HEADS, STATES = 2, 4


def theorem(layers: int, share: str) -> Row:
    """The theorem's side of a row, every inequality checked."""
    found = theorem_bounds(layers, HEADS, share)
    if not all(item.holds for item in found.verify()):
        raise SystemExit(f"an inequality fails for L = {layers}, C = {share}")
    row: Row = {"L": layers, "C": share, "theorem c": str(found.c), "theorem n0": str(found.n0)}
    if layers == 1:
        paper = theorem_bounds(layers, HEADS, share, choices="paper")
        row["paper's choices c"] = str(paper.c) if all(item.holds for item in paper.verify()) else "fails"
    return row


def last(layers: int, n: int, seeds: int) -> Row:
    """Positions fixed so that the output at the last position is forced."""
    started, fixed = time.perf_counter(), []
    for seed in range(seeds):
        model = restrict.load(f"random:layers={layers},heads={HEADS},states={STATES},seed={seed}")
        found = restrict.certify(model, n)
        restrict.check(model, found, fast=True)
        assert found.c == 0
        fixed.append(len(found.restriction.fixed))
    seconds = (time.perf_counter() - started) / seeds
    return {"last: c": 0, "last: fixed": max(fixed), "last: free": f"{100 * (1 - max(fixed) / n):.2f} %", "s": seconds}


def every(layers: int, n: int, share: str, seeds: int) -> Row:
    """The largest c over all positions with C n of them free; the reason where the engine refuses."""
    worst = 0
    for seed in range(seeds):
        document = random_model(layers=layers, heads=HEADS, states=STATES, seed=seed)
        document["output"]["position"] = "every"
        model = loads(dumps(document))
        try:
            found = restrict.certify(model, n, target="all", free=float(share))
        except restrict.RestrictError as error:
            return {"all: c": "refused", "why": str(error)}
        restrict.check(model, found, fast=True)
        worst = max(worst, found.c)
    return {"all: c": worst}


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__, "one seed, n = 200, two layers, to see that it runs")
    parser.add_argument("-n", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sizes = SIZES[:3] if options.quick else SIZES
    lengths, seeds = ([200], 1) if options.quick else (options.n, options.seeds)
    rows = []
    for layers, share in sizes:
        for n in lengths:
            row = theorem(layers, share) | {"n": n}
            rows.append(row | last(layers, n, seeds) | every(layers, n, share, seeds))
    print(table(rows, ["why"]))
    for why in dict.fromkeys(row["why"] for row in rows if "why" in row):
        print(f"\nrefused: {why}")
    written(options.output, rows)


if __name__ == "__main__":
    main()
