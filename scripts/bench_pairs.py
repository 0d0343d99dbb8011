"""Influence by pairs of words: certified bound over attained change, the tables of docs/soft-verdicts.md.

    python scripts/bench_pairs.py FOLDER -n 16,64,149
    python scripts/bench_pairs.py FOLDER -n 16,64 --logits 10

For every one-layer checkpoint of a folder: how far one exchanged symbol moves what attention adds at the output, over
all words, or with --logits any logit (halving stops after so many seconds); processor seconds.
"""

from __future__ import annotations

import time
from statistics import median

from harness import checkpoints, head, of_checkpoints, show, written

from restrict.soft.importers.opened import opened
from restrict.soft.influence.attention import attention_influence
from restrict.soft.influence.logits import logit_influence
from restrict.soft.influence.pairs import changes_of


def main() -> None:
    """Print the table."""
    parser = of_checkpoints(__doc__, "16,64,149")
    parser.add_argument("--logits", type=float, metavar="SECONDS")
    options = parser.parse_args()
    print(head(["model", *(column for n in options.n for column in (f"n = {n}: bound / attained", "s"))]))
    quotients, rows = [], []
    for model in (model for model in map(opened, map(str, checkpoints(options))) if len(model.layers) == 1):
        rows.append([model.name])
        for n in options.n:
            begin = time.process_time()
            changes = changes_of(model, n)
            if options.logits is None:
                found = attention_influence(changes)
            else:
                found = logit_influence(model, changes, cells=10**6, seconds=options.logits, clock=time.process_time)
            quotient = found.bound / found.attained if found.attained else 1.0
            quotients.append(quotient)
            rows[-1].append(f"{found.bound:.4g} / {found.attained:.4g} = {quotient:.4f}")
            rows[-1].append(f"{time.process_time() - begin:.1f}")
        show(rows[-1])
    written(options.output, rows)
    near = sum(quotient <= 1.5 for quotient in quotients)
    told = f"median {median(quotients):.4f}, largest {max(quotients):.4f}"
    print(f"\nquotients: {told}; {near} of {len(quotients)} at most 1.5")


if __name__ == "__main__":
    main()
