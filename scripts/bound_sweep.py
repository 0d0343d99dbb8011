"""Does the trusted checker ever accept a false lower bound? Mutants of models and bounds against all restrictions.

    python scripts/bound_sweep.py --mutants 3000 --seed 1

The operators are those of tests/bound_mutations.py; a mutant that the checker accepts is compared with the fewest fixed
positions that force each label, found by trying every restriction.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def main() -> None:
    """Sweep and print the table; exit 1 where a false bound was accepted."""
    from tests.bound_mutations import sweep

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts = sweep(np.random.default_rng(options.seed), options.mutants)
    print("| operator | mutants | rejected | accepted and true | accepted and false |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, row in sorted(counts.items()):
        print(f"| {name} | " + " | ".join(map(str, row)) + " |")
    total = [sum(row[t] for row in counts.values()) for t in range(4)]
    print("| total | " + " | ".join(map(str, total)) + " |")
    sys.exit(1 if total[3] else 0)


if __name__ == "__main__":
    main()
