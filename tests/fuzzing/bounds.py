"""Lower bounds. Operators: those of tests/bound_mutations.py, and on the model."""

import json
from functools import partial

from numpy.random import Generator

from restrict.base.errors import RestrictError
from restrict.model.fileformat import loads
from restrict.optimum.lower_bound import lower_bound
from restrict.report.lower_bound import has_claim
from tests import bound_mutations, generator
from tests.fuzzing.at_one_length import RESTRICTIONS, judged, true_bound
from tests.fuzzing.certificates import MODEL_OPERATORS, random_model
from tests.fuzzing.changes import mutant
from tests.fuzzing.kinds import Document, Kind, Operator, Trial, sealed
from tests.fuzzing.meaning import Meaning


def original(rng: Generator) -> Trial:
    """A random program with a lower bound that says something."""
    while True:
        document = random_model(rng)
        n = int(rng.integers(generator.shortest(document), 6))
        if (len(document["alphabet"]) + 1) ** (n - Meaning(document).markers) > RESTRICTIONS:
            continue
        try:
            found = lower_bound(loads(json.dumps(document).encode()), n, seed=int(rng.integers(99)))
        except RestrictError:
            continue
        if has_claim(found.bound) and found.bound.boxes:
            return sealed(document, json.loads(found.bound.to_bytes()))


def operate(
    name: str, rng: Generator, model: Document, proof: Document, other: Trial
) -> tuple[Document, Document] | None:
    """An operator on the bound; it may not apply."""
    try:
        found = bound_mutations.OPERATORS[name](rng, proof)
    except (KeyError, ValueError, IndexError, TypeError):
        return None
    return None if found is None else (model, found)


def splice(rng: Generator, model: Document, proof: Document, other: Trial) -> tuple[Document, Document] | None:
    """The same bound of another model."""
    return other.documents()[0], proof


OWN: list[Operator] = [*(partial(operate, name) for name in bound_mutations.OWN), splice]
KINDS = [
    Kind(
        name="lower-bound",
        original=original,
        mutant=partial(mutant, operators=[*OWN * 4, *MODEL_OPERATORS]),
        judge=partial(judged, truth=true_bound),
        each=500,
    )
]
