"""Does the trusted checker ever accept a false lower bound? Mutants of models and bounds against all restrictions.

    python scripts/bound_sweep.py --mutants 3000 --seed 1
    python scripts/bound_sweep.py --every-k 50 -n 9 13

The operators are those of tests/bound_mutations.py; a mutant that the checker accepts is compared with the fewest fixed
positions that force each label, found by trying every restriction. With --every-k, lower bounds of random two-layer
models for every k up to the optimum are compared with the optimum, which is known by enumeration.
"""

from __future__ import annotations

import sys

import numpy as np
from harness import arguments, operators, written


def every_k(first: int, seeds: int, lengths: list[int]) -> bool:
    """Whether no bound is above the optimum; prints after each seed how many reach what they were asked for."""
    import restrict
    from restrict.optimum.lower_bound import lower_bound

    bounds = above = reached = 0
    for n in lengths:
        for seed in range(first, first + seeds):
            model = restrict.load(f"random:layers=2,heads=2,states=4,seed={seed}")
            optimum = restrict.certify(model, n).provenance["optimum"]
            for k in range(optimum + 1):
                found = lower_bound(model, n, k=k)
                bounds, above = bounds + 1, above + (found.at_least > optimum)
                reached += found.at_least >= min(k + 1, optimum)
            print(f"n = {n}, seeds {first} to {seed}, every k: {bounds} bounds, {above} above the optimum, {reached} "
                  "as high as asked for or possible", flush=True)  # fmt: skip
    return above == 0


def main() -> None:
    """Sweep and print the table; exit 1 where a false bound was accepted."""
    from tests.bound_mutations import sweep

    parser = arguments(__doc__, None)
    parser.add_argument("--mutants", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every-k", type=int, default=0, metavar="SEEDS", help="the comparison for every k instead")
    parser.add_argument("--first", type=int, default=0, help="the first seed of --every-k")
    parser.add_argument("-n", nargs="+", type=int, default=[9, 13], help="lengths for --every-k")
    options = parser.parse_args()
    if options.every_k:
        sys.exit(0 if every_k(options.first, options.every_k, options.n) else 1)
    outcome = sweep(np.random.default_rng(options.seed), options.mutants)
    print(operators(outcome.rows().items()))
    written(options.output, outcome.rows())
    sys.exit(int(bool(outcome.faults)))


if __name__ == "__main__":
    main()
