"""c > 0 against c = 0: what a bound on the dependencies saves, and how near the exact front the answers are.

python scripts/bench_release.py --models 50                  # n = 12, beside the exact front (enumeration)
python scripts/bench_release.py -n 1000000 -c 8 --models 20  # fixed positions and time beside those of c = 0
"""

from __future__ import annotations

import sys
from functools import partial

from harness import arguments, timed, written

from restrict import load
from restrict.certification import force_output, released
from restrict.model.task import Task
from restrict.optimum.enumeration import all_labels, by_size, essential_counts, few_restrictions

MODEL = "random:layers=2,heads=2,states=4,seed={seed}"
BOUNDS = (1, 2, 3, 4, 6, 8)


def main() -> int:
    """Measure and print a table."""
    parser = arguments(__doc__, None)
    parser.add_argument("-n", type=int, default=12)
    parser.add_argument("-c", type=int, nargs="*", default=None, help="bounds on the dependencies")
    parser.add_argument("--models", type=int, default=50)
    options = parser.parse_args()
    n, bounds, rows = options.n, options.c or BOUNDS, []
    ours, exact = dict.fromkeys(bounds, 0), dict.fromkeys(bounds, 0)
    for seed in range(options.models):
        task = Task.of(load(MODEL.format(seed=seed)), n)
        start, took = timed(partial(force_output, task))
        row = [f"seed {seed}", f"c=0: {len(start.restriction.fixed)} in {took:.1f} s"]
        known = few_restrictions(task.instance)
        counts = essential_counts(all_labels(task.instance, n - 1)[0]) if known else None
        for c in bounds:
            found, took = timed(partial(released, task, start, c))
            fixed = len(found.restriction.fixed)
            assert found.c <= c
            text = f"c={c}: {fixed}"
            ours[c] += fixed
            if counts is not None:
                best = int(by_size(counts <= c)[0][0])
                exact[c] += best
                text += f"/{best}"
            row.append(f"{text} in {took:.1f} s")
            rows.append({"seed": seed, "c": c, "fixed": fixed, "seconds": took})
        print("  ".join(row), flush=True)
    for c in bounds:
        ratio = f", exact optimum {exact[c]}: ratio {ours[c] / exact[c]:.3f}" if exact[c] else ""
        print(f"c = {c}: {ours[c]} fixed over {options.models} models{ratio}")
    if all(exact.values()):
        print(f"all: {sum(ours.values())} / {sum(exact.values())} = {sum(ours.values()) / sum(exact.values()):.3f}")
    written(options.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
