"""Lower bounds on random models: how far, how fast, and how long the checks take.

Every model is ``random:layers=2,heads=2,states=4,seed=S``. First a restriction is searched for as `restrict certify`
does, then fewer positions are ruled out until the bound meets it or the time is up. Times are processor seconds of this
process; the searches and the checks use one thread, except for the scan of long rows.

    python scripts/bench_lower_bound.py -n 10000 --seeds 20 --time 600 --trusted -o lower.json
"""

from __future__ import annotations

import json
import time
from typing import Any

from harness import arguments, table, written

from restrict.base.errors import ResourceLimit
from restrict.certification import certify
from restrict.elaboration.check import check
from restrict.model.source import load
from restrict.optimum.lower_bound import lower_bound


def measure(seed: int, n: int, k: int | None, seconds: float, trusted: bool) -> dict[str, Any]:
    """One model: sizes, bounds, and processor seconds."""
    spec = f"random:layers=2,heads=2,states=4,seed={seed}"
    model, start = load(spec), time.process_time()
    found = certify(model, n)
    searched = time.process_time()
    levels: dict[int, float] = {}

    def tell(what: str, best: int | None) -> None:
        if what.startswith("at least "):
            levels.setdefault(int(what.split()[2].rstrip(",")), round(time.process_time() - searched, 1))

    upper = len(found.restriction.fixed)
    bounds = lower_bound(model, n, k=k, upper=upper, time=seconds, progress=tell)
    bounded = time.process_time()
    levels.setdefault(bounds.at_least, round(bounded - searched, 1))
    fresh = load(spec)
    check(fresh, bounds.bound, fast=True)
    checked = time.process_time()
    row = {
        "seed": seed, "n": n, "certify": upper, "certify_s": round(searched - start, 1), "upper": bounds.upper,
        "at_least": bounds.at_least, "stopped": bounds.stopped, "boxes": len(bounds.bound.boxes),
        "bytes": len(bounds.bound.to_bytes()), "at_least_4_s": levels.get(4), "at_least_5_s": levels.get(5),
        "search_s": round(bounded - searched, 1), "fast_s": round(checked - bounded, 1),
    }  # fmt: skip
    if trusted:
        try:
            check(model, bounds.bound, limit=10**11)
            row["trusted_s"] = round(time.process_time() - checked, 1)
        except ResourceLimit:
            row["trusted_s"] = None
    return row


def summary(rows: list[dict[str, Any]]) -> str:
    """The figures of the goal."""
    count = len(rows)

    def within(key: str, seconds: float) -> int:
        return sum(row[key] is not None and row[key] < seconds for row in rows)

    optimal = sum(row["upper"] is not None and row["at_least"] >= row["upper"] for row in rows)
    smaller = sum(row["upper"] < row["certify"] for row in rows)
    return (
        f"n = {rows[0]['n']}: at least 4 in 60 s on {within('at_least_4_s', 60)} of {count}, at least 5 in 600 s on "
        f"{within('at_least_5_s', 600)}, optimal on {optimal}; {smaller} restrictions smaller than certify's"
    )


def main() -> None:
    """Parse, measure, print, write."""
    parser = arguments(__doc__, quick=None)
    parser.add_argument("-n", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("-k", type=int, help="stop when no K positions force the output")
    parser.add_argument("--time", type=float, default=600.0, help="seconds on the clock for one lower bound")
    parser.add_argument("--trusted", action="store_true", help="also time the trusted checker")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for seed in range(options.first, options.first + options.seeds):
        rows.append(measure(seed, options.n, options.k, options.time, options.trusted))
        print(json.dumps(rows[-1]), flush=True)
        written(options.output, rows)
    print(table(rows, ["n", "bytes"], numbers=True))
    print(summary(rows))


if __name__ == "__main__":
    main()
