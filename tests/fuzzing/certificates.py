"""Certificates: for one position, for all, with a split, with cases. Operators: those of tests/mutations.py."""

import json
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.random import Generator

from restrict.base.errors import RestrictError
from restrict.base.strictjson import Node
from restrict.certificate.cases import read_cases
from restrict.certificate.certificate import certificate_of
from restrict.model.fileformat import loads
from restrict.model.program import Instance
from restrict.model.restriction import Restriction
from tests import generator, mutations
from tests.documents import tensor_file
from tests.fuzzing.at_one_length import judged, true_certificate
from tests.fuzzing.changes import mutant
from tests.fuzzing.kinds import Document, Kind, Operator, Trial, sealed
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
            certificate = certified(rng, model, n, kind)
        except RestrictError:
            continue  # not defined at this length
        if certificate is None:
            continue
        pair = Pair(model, certificate)
        if mutations.inputs(pair) <= INPUTS and (rng.random() < 0.1 or mutations.telling(pair)):
            files = stored(model) if rng.random() < 0.25 else ()
            return sealed(model, certificate, files)


def certified(rng: Generator, model: Document, n: int, kind: str) -> Document | None:
    """A certificate of a kind, of a restriction that forces the label three times in four."""
    at = loads(json.dumps(model).encode()).at(n)
    fixed = generator.random_restriction(rng, model, n, INPUTS)
    cone = mutations.positions_of_cone(generator.random_cone(rng, model, n))
    target: Any = "all" if kind == "all" else "last"
    if kind != "all" and model["output"]["position"] == "every" and rng.random() < 0.6:
        target = int(rng.integers(n))
    if kind != "all" and rng.random() < 0.75:
        fixed, cone = mutations.forcing(rng, at, target), "all"
    free = [i for i in range(n) if i not in fixed and i not in at.pinned]
    split: tuple[int, ...] = ()
    cases = None
    if kind in ("split", "cases") and not free:
        return None
    if kind == "split":
        split = tuple(sorted(int(i) for i in rng.permutation(free)[: 1 + int(rng.integers(2))]))
    if kind == "cases":
        tree = tree_of(rng, model, n, free)
        cases = read_cases(Node(tree, "cases"), n, cone)
    return written(at, fixed, cone, target, split, cases)


def tree_of(rng: Generator, model: Document, n: int, free: list[int]) -> Document:
    """A random tree of cases with at least one question."""
    cones = [generator.random_cone(rng, model, n), "all"]
    while True:
        tree = mutations.random_cases(rng, free, cones, len(model["alphabet"]), 2)
        if "position" in tree:
            return tree


def written(at: Instance, fixed: dict[int, str], cone: Any, target: Any, split: Any, cases: Any) -> Document:
    """The certificate as a document."""
    found = certificate_of(at, Restriction.of(at, fixed), cone, target, split=split, cases=cases)
    document: Document = json.loads(found.to_bytes())
    return document


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


def operate(
    name: str, rng: Generator, model: Document, proof: Document, other: Trial
) -> tuple[Document, Document] | None:
    """One of them. It may not apply, also where a change before has taken away what it changes."""
    try:
        found = mutations.OPERATORS[name](rng, Pair(model, proof), Pair(*other.documents()))
    except (KeyError, ValueError, IndexError, TypeError, ArithmeticError, AttributeError):
        return None
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
