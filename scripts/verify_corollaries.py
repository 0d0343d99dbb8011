"""Corollary 2 over a family of models: PARITY and 2DYCK refuted on random transformers, every refutation checked again.

    python scripts/verify_corollaries.py [--models N] [--lengths 12,40,200] [--seed S]

Prints a table: for each language and length how many models were refuted, how many words a refutation leaves free, and
how many were not refuted (with the reason). Every refutation goes through the trusted checker; one that does not
verify ends the script with exit code 1. All counts are exact; the free share is a mean over the models.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import restrict
from restrict.model.examples.random import random_model
from restrict.model.fileformat import dumps, loads

ALPHABETS = {"parity": ["0", "1"], "dyck:2": ["(", ")", "[", "]"]}


def model_over(alphabet: list[str], seed: int) -> restrict.Model:
    """A random transformer of one or two layers over an alphabet, with a label for accept."""
    document = random_model(
        layers=1 + seed % 2, heads=1 + seed % 3, states=2 + seed % 3, symbols=len(alphabet), classes=2, seed=seed
    )
    document["alphabet"] = alphabet
    document["name"] = f"random-{len(alphabet)}-symbols-seed-{seed}"
    return loads(dumps(document), document["name"])


def row(language: str, n: int, models: int, seed: int) -> tuple[int, float, dict[str, int]]:
    """One line of the table: how many were refuted, their mean free share, and why others were not."""
    free: list[float] = []
    missed: Counter[str] = Counter()
    for at in range(seed, seed + models):
        model = model_over(ALPHABETS[language], at)
        found = restrict.refute(model, language, n)
        if not isinstance(found, restrict.Refutation):
            missed[type(found).__name__] += 1
            continue
        line = restrict.check(model, found)
        if not line.startswith("s VERIFIED"):
            raise SystemExit(f"{model.name} at n = {n}: the refutation of {language} does not verify: {line}")
        free.append(found.free / n)
    mean = sum(free) / len(free) if free else 0.0
    return len(free), mean, dict(missed)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--lengths", default="12,40,200")
    parser.add_argument("--seed", type=int, default=1)
    wish = parser.parse_args()
    print("language  n     models  refuted and verified  mean share free  not refuted")
    for language in ALPHABETS:
        for n in map(int, wish.lengths.split(",")):
            found = row(language, n, wish.models, wish.seed)
            refuted, free, missed = found
            reasons = ", ".join(f"{count} {name}" for name, count in missed.items()) or "-"
            print(f"{language:<8}  {n:<4}  {wish.models:<6}  {refuted:<20}  {free:<15.3f}  {reasons}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
