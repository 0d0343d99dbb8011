"""Lower bounds. Operators: those of tests/bound_mutations.py, and on the model."""

from functools import partial

from numpy.random import Generator

from tests import bound_mutations, generator
from tests.fuzzing.at_one_length import judged, true_bound
from tests.fuzzing.certificates import MODEL_OPERATORS, random_model
from tests.fuzzing.changes import mutant
from tests.fuzzing.kinds import Changed, Document, Kind, Operator, Trial


def small(rng: Generator) -> tuple[Document, int]:
    """A small random program with a length, at which it may not be defined."""
    document = random_model(rng)
    return document, int(rng.integers(generator.shortest(document), 6))


def original(rng: Generator) -> Trial:
    """One of these with a lower bound that says something."""
    return Trial(*bound_mutations.original(rng, small).bytes)


def operate(name: str, rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """An operator on the bound."""
    found = bound_mutations.OPERATORS[name](rng, proof)
    return None if found is None else (model, found)


def splice(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
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
