"""c > 0 against c = 0: what a bound on the dependencies saves, and how near the exact front the answers are.

python scripts/bench_release.py --models 50                  # n = 12, beside the exact front (enumeration)
python scripts/bench_release.py -n 1000000 -c 8 --models 20  # fixed positions and time beside those of c = 0
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=12)
    parser.add_argument("-c", type=int, nargs="*", default=None, help="bounds on the dependencies")
    parser.add_argument("--models", type=int, default=50)
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from restrict import load
    from restrict.certification import force_output, released
    from restrict.model.task import Task
    from restrict.optimum.enumeration import all_labels, by_size, essential_counts, few_restrictions

    n = arguments.n
    bounds = arguments.c or [1, 2, 3, 4, 6, 8]
    ours, exact = dict.fromkeys(bounds, 0), dict.fromkeys(bounds, 0)
    for seed in range(arguments.models):
        model = load(f"random:layers=2,heads=2,states=4,seed={seed}")
        started = time.perf_counter()
        task = Task.of(model, n)
        start = force_output(task)
        row = [f"seed {seed}", f"c=0: {len(start.restriction.fixed)} in {time.perf_counter() - started:.1f} s"]
        known = few_restrictions(task.instance)
        counts = essential_counts(all_labels(task.instance, n - 1)[0]) if known else None
        for c in bounds:
            started = time.perf_counter()
            found = released(task, start, c)
            fixed = len(found.restriction.fixed)
            assert found.c <= c
            text = f"c={c}: {fixed}"
            ours[c] += fixed
            if counts is not None:
                best = int(by_size(counts <= c)[0][0])
                exact[c] += best
                text += f"/{best}"
            row.append(f"{text} in {time.perf_counter() - started:.1f} s")
        print("  ".join(row), flush=True)
    for c in bounds:
        ratio = f", exact optimum {exact[c]}: ratio {ours[c] / exact[c]:.3f}" if exact[c] else ""
        print(f"c = {c}: {ours[c]} fixed over {arguments.models} models{ratio}")
    if all(exact.values()):
        print(f"all: {sum(ours.values())} / {sum(exact.values())} = {sum(ours.values()) / sum(exact.values()):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
