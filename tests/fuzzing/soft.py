"""Soft certificates: softmax models in safetensors files. Models, operators and the truth: tests/soft_mutations.py."""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from numpy.random import Generator

from tests import soft_mutations
from tests.fuzzing.changes import bytes_changed, nudge, restructure
from tests.fuzzing.kinds import Kind, Trial, Verdict

KEYS = ("n", "fixed", "position", "quantity")
"""What two inputs of a claim differ by depends on these alone."""


def original(rng: Generator) -> Trial:
    """A random model with a claim that the checker verifies."""
    return Trial(*soft_mutations.original(rng))


def mutant(rng: Generator, pool: Sequence[Trial]) -> Trial:
    """A small change of the model or the claim, by an operator, of the claim's structure, or of its bytes."""
    while True:
        base, how = pool[int(rng.integers(len(pool)))], rng.random()
        if how < 0.85:
            found = soft_mutations.mutate(rng, base.model, base.proof)
            if found is not None:
                return Trial(*found[1:])
        elif how < 0.95:
            claim = json.loads(base.proof)
            (nudge if how < 0.91 else restructure)(rng, claim)
            return replace(base, proof=json.dumps(claim).encode())
        else:
            return replace(base, proof=bytes_changed(rng, base.proof))


@lru_cache(512)
def spread(model: bytes, claim: str) -> tuple[Decimal, bool]:
    """The largest difference that is found, and whether all inputs were tried."""
    return soft_mutations.spread(model, json.loads(claim))


def judge(trial: Trial) -> Verdict:
    """Two inputs that differ by more are a proof that a claim is false."""
    claim = json.loads(trial.proof)
    found, every = spread(trial.model, json.dumps({key: claim[key] for key in KEYS}))
    if Fraction(found) > Fraction(claim["epsilon"]) + Fraction(soft_mutations.TOLERANCE):
        return "false"
    return "true" if every else "undecided"


KINDS = [Kind("soft", original, mutant, judge, suffix=".safetensors", each=400)]
