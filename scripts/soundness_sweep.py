"""Mutate certificates and models, and look for a false claim that the trusted checker accepts.

    python scripts/soundness_sweep.py --mutants 100000 --seed 0 --jobs 1 -o soundness.json

Prints one row per operator: mutants, rejected, accepted and true, accepted and false. The truth is by evaluation of the
mutated model on every consistent input (tests/mutations.py). Exit code 1 means that something false was accepted, and
the JSON file then holds it. The same seed and number of mutants give the same table, whatever ``--jobs`` is.
"""

from __future__ import annotations

import sys
import time

from harness import arguments, operators, shared_out, written

from tests import mutations

CHUNK = 1000


def part(task: tuple[int, int]) -> mutations.Outcome:
    """One chunk of the sweep: a seed and a number of mutants."""
    return mutations.sweep(*task)


def main() -> int:
    """Run the sweep."""
    parser = arguments(__doc__, None)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    start, outcome = time.monotonic(), mutations.Outcome()
    sizes = [min(CHUNK, options.mutants - done) for done in range(0, options.mutants, CHUNK)]
    # Disjoint from the seeds of the tests, and for different seeds from each other.
    tasks = [((options.seed + 1) * 10_000_000 + index, size) for index, size in enumerate(sizes)]
    for found in shared_out(part, tasks, options.jobs):
        outcome.join(found)
        print(f"{outcome.row().mutants} mutants, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    print(operators(outcome.rows().items()))
    report = {"mutants": options.mutants, "seed": options.seed, "seconds": round(time.monotonic() - start)}
    counts = {name: row._asdict() for name, row in outcome.rows().items()}
    written(options.output, report | {"operators": counts, "faults": outcome.faults})
    return int(bool(outcome.faults))


if __name__ == "__main__":
    sys.exit(main())
