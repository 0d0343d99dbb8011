"""Proofs for all lengths of other programs than the model's, made by the engine, are offered to the checker.

    python scripts/lying_prover.py --programs 100 --seed 1

Each random program is changed in each way of tests/lying_prover.py, of the changes one is kept that has a false claim
if some draws find one, and its proof is given to the checker. The table counts, for each kind of change, the proofs
offered, those of false claims, and what the checker said; an accepted false claim ends it with exit code 1.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
from harness import arguments, head, line, written

from tests.lying_prover import LIES, forgeries

COLUMNS = ("offered", "false claims", "refused 3", "refused 4", "refused 5", "true", "undecided")


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__, None)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    try:
        counts = forgeries(np.random.default_rng(options.seed), options.programs, len(LIES))
    except AssertionError as failure:
        print(failure)
        return 1
    print(head(("change", *COLUMNS)))
    written(options.output, counts)
    genuine = counts.pop("genuine")
    for name, found in [*counts.items(), ("total", total)]:
        print(line((name, *(found[column] for column in COLUMNS))))
        total += found
    print(f"genuine proofs: {genuine.total()}, verified {genuine['true'] + genuine['undecided']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
