"""Certificates: for one position, for all, with a split, with cases. Operators: those of tests/mutations.py."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256

import numpy as np
from numpy.random import Generator

from restrict.base.errors import RestrictError
from tests import generator, mutations
from tests.documents import tensor_file
from tests.fuzzing.at_one_length import judged, true_certificate
from tests.fuzzing.changes import mutant
from tests.fuzzing.kinds import Changed, Document, Kind, Operator, Trial, sealed
from tests.mutations import Pair

TENSOR = "t.safetensors"
INPUTS = 81
"""An original has at most so many consistent inputs."""


def random_model(rng: Generator) -> Document:
    """A small random program."""
    return generator.random_program(rng, None, 5)


def original(rng: Generator, kind: str) -> Trial:
    """A random program, and what follows at a random target."""
    while True:
        model = random_model(rng)
        if kind == "all":
            model["output"]["position"] = "every"
        n = int(rng.integers(generator.shortest(model), 6))
        try:
            certificate = mutations.certified(rng, model, n, kind, INPUTS)
        except RestrictError:
            continue  # not defined at this length
        if certificate is None:
            continue
        pair = Pair(model, certificate)
        if mutations.inputs(pair) <= INPUTS and (rng.random() < 0.1 or mutations.telling(pair)):
            files = stored(model) if rng.random() < 0.25 else ()
            return sealed(model, certificate, files)


def stored(model: Document) -> tuple[tuple[str, bytes], ...]:
    """Move the first inline table to a tensor file."""
    for variable in model["variables"]:
        rule = variable.get("score", variable.get("map"))
        if not isinstance(rule, dict) or "table" not in rule:
            continue
        data = np.array(rule["table"]["values"], dtype=np.int64)
        header = {"t": {"dtype": "I64", "shape": list(data.shape), "data_offsets": [0, data.nbytes]}}
        rule["table"] = {"axes": rule["table"]["axes"], "file": TENSOR, "tensor": "t"}
        content = tensor_file(header, data.tobytes())
        model["files"] = {TENSOR: sha256(content).hexdigest()}
        return ((TENSOR, content),)
    return ()


# ---------------------------------------------------------------- mutants


def operators_of(names: Sequence[str]) -> list[Operator]:
    """Operators of tests/mutations.py, as often as they are used there."""
    turns = [name for name in names for _ in range(mutations.WEIGHTS.get(name, 1))]
    return [partial(operate, name) for name in turns]


def operate(name: str, rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """One of them."""
    found = mutations.OPERATORS[name](rng, Pair(model, proof), Pair(*other.documents()))
    return None if found is None else (found.model, found.certificate)


OPERATORS = operators_of(list(mutations.OPERATORS))
MODEL_OPERATORS = operators_of(mutations.MODEL_OPERATORS)


def of_kind(kind: str) -> Kind:
    """The kind of proof."""
    return Kind(
        name=kind,
        original=partial(original, kind=kind),
        mutant=partial(mutant, operators=OPERATORS),
        judge=partial(judged, truth=true_certificate),
        elaborated=True,
    )


KINDS = [of_kind(kind) for kind in ("certificate", "all", "split", "cases")]
