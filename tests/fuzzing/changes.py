"""What is done to any pair of files: operators of its kind, and changes of structure and of bytes."""

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from numpy.random import Generator

from tests.fuzzing.kinds import Changed, Document, Operator, Trial, sealed
from tests.fuzzing.operators import pick

NUMBERS = (0, 1, -1, 2, 3, 63, 64, 65, 1000, 65536, 10**6, 10**8, 10**8 + 1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63)
WORDS = ["n", "i", "j", "q", "k", "token", "and", "or", "not", "if", "else", "min(", "max(", "abs(", "hash(", "isqrt("]
WORDS += ["(", ")", ",", "+", "-", "*", "//", "%", "==", "!=", "<", "<=", "0", "1", "2", "7", "9223372036854775807"]
ATOMS: tuple[Any, ...] = (
    *(None, True, False, 1.5, "", "*", "0", "1", "all", "last", "position", "\x00", "\ud800", [], {}),
)
PIECES = (b"[", b"]", b"{", b"}", b'"', b",", b":", b"-", b"0", b"9" * 30, b"1e9", b"null", b"\\", b"\xff", b"(", b"%")
KEYS = ("x", "split", "cases", "labels", "accept", "when", "default", "mask", "never", "others", "right", "position")


def spots(document: Any) -> list[tuple[Any, Any]]:
    """Every container with every key or index in it."""
    found, todo = [], [document]
    while todo:
        part = todo.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        found += [(part, key) for key in keys]
        todo += [part[key] for key in keys]
    return found


def restructure(rng: Generator, document: Any) -> None:
    """One change of structure, in place: what a reader has to refuse."""
    if not (places := spots(document)):
        return
    part, key = pick(rng, places)
    old, kind = part[key], int(rng.integers(8))
    if kind == 0:
        del part[key]
    elif kind == 1:
        part[key] = copy.deepcopy(pick(rng, ATOMS))  # a list among them would be changed for all later mutants
    elif kind == 2:
        part[key] = pick(rng, NUMBERS)
    elif kind == 3 and type(old) is int:
        part[key] = old + pick(rng, (-2, -1, 1, 2, 64))
    elif kind == 4 and isinstance(part, list):
        part.insert(key, copy.deepcopy(old))
    elif kind == 5:
        other, at = pick(rng, places)
        part[key] = copy.deepcopy(other[at])
    elif kind == 6 and isinstance(old, str):
        part[key] = " ".join(pick(rng, WORDS) for _ in range(1 + int(rng.integers(9))))
    elif isinstance(part, dict):
        part[pick(rng, KEYS)] = pick(rng, NUMBERS)


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every list and every integer, by its container and its key there."""
    return [(part, key) for part, key in spots(document) if isinstance(part[key], int | list)]


def nudge(rng: Generator, document: Any) -> None:
    """A small change that mostly stays well-formed, somewhere in a document."""
    if found := places(document):
        nudged(rng, *pick(rng, found))


def nudged(rng: Generator, part: Any, key: Any) -> None:
    """A number off by one, a list with an entry dropped, doubled or exchanged, or an object with two exchanged."""
    value = part[key]
    if isinstance(value, int):
        part[key] = value + pick(rng, (-1, 1, 2)) if rng.random() < 0.8 else int(rng.integers(4))
    elif isinstance(value, dict):
        first, second = pick(rng, value), pick(rng, value)
        value[first], value[second] = value[second], value[first]
    elif value:
        i, j, how = int(rng.integers(len(value))), int(rng.integers(len(value))), int(rng.integers(3))
        if how == 0:
            value.pop(i)
        elif how == 1:
            value.insert(i, copy.deepcopy(value[j]))
        else:
            value[i], value[j] = value[j], value[i]


def bytes_changed(rng: Generator, data: bytes) -> bytes:
    """A truncation, or a few random bytes or tokens put in, taken out or exchanged."""
    if not data or rng.random() < 0.1:
        return data[: int(rng.integers(len(data) + 1))]
    changed = bytearray(data)
    for _ in range(1 + int(rng.integers(3))):
        at = int(rng.integers(len(changed) + 1))
        piece = pick(rng, PIECES) if rng.random() < 0.7 else bytes([rng.integers(256)])
        changed[at : at + int(rng.integers(3))] = piece
    return bytes(changed)


def mutant(rng: Generator, pool: Sequence[Trial], operators: Sequence[Operator]) -> Trial:
    """A small change of one of the pool: mostly by an operator, else of structure, seldom of bytes.

    Mostly the digest is put right, so that the change reaches the readers.
    """
    while True:
        base, other = pick(rng, pool), pick(rng, pool)
        model, proof = base.documents()
        how = rng.random()
        if how < 0.72:
            found = operated(rng, model, proof, other, operators)
            if found is None:
                continue
            model, proof = found
        elif how < 0.9:
            nudge(rng, proof if rng.random() < 0.7 else model)
        elif how < 0.95:
            restructure(rng, proof if rng.random() < 0.6 else model)
        if rng.random() < 0.05:
            nudge(rng, proof)
        made = made_of(rng, base, model, proof, by_bytes=how >= 0.95)
        if made != base:
            return made


UNFIT = (KeyError, ValueError, IndexError, TypeError, ArithmeticError, AttributeError)
"""What an operator raises where a change before has taken away what it changes."""


def operated(rng: Generator, model: Document, proof: Document, other: Trial, operators: Sequence[Operator]) -> Changed:
    """The pair changed by an operator, one time in eight by two."""
    found: Changed = (model, proof)
    for _ in range(2 if rng.random() < 0.12 else 1):
        try:
            found = pick(rng, operators)(rng, *found, other) if found is not None else None
        except UNFIT:
            return None
    return found


def made_of(rng: Generator, base: Trial, model: Document, proof: Document, by_bytes: bool) -> Trial:
    """The files, their bytes perhaps changed; the digest left wrong one time in a hundred."""
    if rng.random() < 0.01:
        return Trial(json.dumps(model).encode(), json.dumps(proof).encode(), base.files)
    trial = sealed(model, proof, base.files)
    if not by_bytes:
        return trial
    which = rng.random()
    if which < 0.5:
        return replace(trial, proof=bytes_changed(rng, trial.proof))
    if which < 0.9 or not trial.files:
        return sealed(bytes_changed(rng, trial.model), proof, base.files)
    name, content = pick(rng, trial.files)
    files = {**dict(trial.files), name: bytes_changed(rng, content)}
    model["files"] = {name: sha256(data).hexdigest() for name, data in files.items()}
    return sealed(model, proof, tuple(files.items()))
