"""Random programs, their elaborated proofs and mutants of these, each fact tried on all words.

    python scripts/kernel_sweep.py [--from 0] [--pairs 1000] [--mutants 20] [--kind certificates]

For every pair of a program and a certificate (lower bound, refutation) the kernel and the present checker have to give
the same line or exit code. Every statement of every accepted proof, also of a mutant, has to be true on all words
(tests/naive_kernel.py). Exit code 1 if one is not, or if verdicts differ.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import kernel_cases as cases  # after the path is set
from tests.naive_kernel import Oracle

KINDS = {"certificates": cases.certificate_pair, "bounds": cases.bound_pair, "refutations": cases.refutation_pair}


def main() -> int:
    """Print every failure, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="start", type=int, default=0, help="the first seed")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--mutants", type=int, default=20, help="of each proof")
    parser.add_argument("--kind", choices=KINDS, default="certificates")
    options = parser.parse_args()
    verdicts, tried, wrong = Counter[str](), Counter[str](), 0
    for seed in range(options.start, options.start + options.pairs):
        rng = np.random.default_rng([seed, 24])
        pair = KINDS[options.kind](rng)
        old, (new, made) = cases.old_verdict(pair), cases.new_verdict(pair)
        verdicts["same" if old == new else "different"] += 1
        if old != new:
            wrong += 1
            print(f"seed {seed}: {old} by the present checker, {new} by the kernel", flush=True)
        if made is None:
            continue
        oracle = Oracle(made.program.decode())
        for proof in [made.proof, *cases.mutants(rng, made.proof, options.mutants)]:
            found = cases.kernel_verdict(made.program, proof)
            tried["accepted" if isinstance(found, str) else f"refused with {found}"] += 1
            if isinstance(found, str) and (lies := oracle.lies(proof.decode())):
                wrong += 1
                print(f"seed {seed}: accepted and false: {lies}", flush=True)
    print(f"{options.kind}: {dict(verdicts)}; proofs and mutants: {dict(tried)}; wrong: {wrong}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
