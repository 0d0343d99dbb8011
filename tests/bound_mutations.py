"""Mutants of lower bounds, and whether what they claim is true: the operators of ``restrict-lower-bound/1``.

A mutant may well be wrong. The trusted checker has to refuse it, or each number that it claims has to be at most the
fewest fixed positions that force the label, found by trying all restrictions.
"""

import copy
import json
from collections.abc import Callable
from functools import partial

from numpy.random import Generator

from restrict.base.errors import RestrictError
from restrict.model.fileformat import loads
from restrict.optimum.lower_bound import lower_bound
from restrict.report.lower_bound import has_claim
from tests import generator, mutations, naive
from tests.fuzzing import by_shape
from tests.fuzzing.at_one_length import RESTRICTIONS, judged, true_bound
from tests.fuzzing.kinds import Trial
from tests.fuzzing.operators import listed_in, pick
from tests.mutations import Document, Pair, encode, sealed
from tests.trusted import Reject, verify

Operator = Callable[[Generator, Document], "Document | None"]
OPERATORS: dict[str, Operator] = {}
OWN_PARTS = {"the boxes": ("boxes",), "the claim": ("claim",), "the question": ("n", "target")}


def small(model: Document, n: int) -> bool:
    """Whether all restrictions can be tried."""
    return bool((len(model["alphabet"]) + 1) ** len(naive.letters(model, n)) <= RESTRICTIONS)


Case = Callable[[Generator], tuple[Document, int]]
CASE: Case = partial(generator.random_case, longest_list=7)


def original(rng: Generator, case: Case = CASE) -> Pair:
    """A random program with a lower bound that says something."""
    while True:
        document, n = case(rng)
        if not small(document, n):
            continue
        try:
            found = lower_bound(loads(encode(document)), n, seed=int(rng.integers(99)))
        except RestrictError:
            continue
        if has_claim(found.bound) and found.bound.boxes:
            return Pair(document, json.loads(found.bound.to_bytes()))


# ---------------------------------------------------------------- operators on the bound


operator = listed_in(OPERATORS)
"""Lists an operator under its name. It returns None where it does not apply."""


@operator
def claim_the_others(rng: Generator, bound: Document) -> Document | None:
    """Some labels only by the number for all that are not named."""
    labels = bound["claim"]["labels"]
    dropped = labels.pop(pick(rng, labels))
    bound["claim"]["others"] = min(bound["n"] + 1, dropped + int(rng.integers(2)))
    return bound


@operator
def swap_only_and_never(rng: Generator, bound: Document) -> Document | None:
    box = pick(rng, bound["boxes"])
    box["only"], box["never"] = box.get("never", []), box["only"]
    return bound


def by_shape_in(part: str) -> Operator:
    """An operator that knows of a part no more than the shape of the format; seldom it breaks it."""

    def change(rng: Generator, bound: Document) -> Document | None:
        shaped = by_shape.any_one(rng)
        return bound if by_shape.changed(rng, shaped, bound, copy.deepcopy(bound), OWN_PARTS[part]) else None

    return change


OPERATORS |= {f"change {part}": by_shape_in(part) for part in OWN_PARTS}
OWN = [*OPERATORS, *(f"change {part}" for part in OWN_PARTS for _ in range(2))]


def mutant(rng: Generator, pair: Pair, other: Pair) -> tuple[str, Pair] | None:
    """A changed pair with the operator's name, the model's digest put right."""
    name = str(pick(rng, [*OWN, *mutations.MODEL_OPERATORS, "change the labels", "splice"]))
    if name == "splice":
        return name, sealed(other.model, pair.certificate)
    if name in OPERATORS:
        changed = OPERATORS[name](rng, copy.deepcopy(pair.certificate))
        return None if changed is None else (name, sealed(pair.model, changed))
    found = mutations.OPERATORS[name](rng, Pair(pair.model, pair.certificate), other)
    return None if found is None else (name, sealed(found.model, pair.certificate))


# ---------------------------------------------------------------- the truth


def accepted(pair: Pair) -> bool:
    """Whether the trusted checker verifies the pair."""
    try:
        verify(*pair.bytes, limit=10**8)
    except Reject:
        return False
    return True


def defined(pair: Pair) -> bool:
    """Whether the model is one at this length, small enough to try everything; or there is no length any more."""
    if type(n := pair.certificate.get("n")) is not int:
        return True
    try:
        loads(encode(pair.model)).at(n)
    except RestrictError:
        return False
    return small(pair.model, n)


def sweep(rng: Generator, mutants: int) -> mutations.Outcome:
    """So many mutants, judged."""
    outcome, pair, other = mutations.Outcome(), original(rng), original(rng)
    while outcome.counts.total() < mutants:
        if rng.random() < 0.1:
            pair, other = original(rng), pair
        found = mutant(rng, pair, other)
        if found is None or not defined(found[1]):
            continue
        name, made = found
        what = "rejected"
        if accepted(made):
            what = "true" if judged(Trial(*made.bytes), true_bound) == "true" else "false"
        outcome.count(name, what, made)
    return outcome
