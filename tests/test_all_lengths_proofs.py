"""Proofs for all lengths: what the construction writes is verified, and no mutant with a false claim is."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.bimachine import Limits
from restrict.all_lengths.moore import Moore, moore
from restrict.all_lengths.proof import covered, document, to_bytes
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import build
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.errors import NotEstablished
from restrict.model.fileformat import dumps, loads
from tests.random_order_only import random_order_only, random_transformer


def proved(program: dict[str, Any]) -> tuple[bytes, Moore, dict[str, Any]]:
    """A model's bytes, its automaton, and the proof that it recognises the language of that automaton."""
    content = dumps(program)
    model = loads(content)
    built = build(recognise(model), Limits(2000), keep=True)
    automaton = moore(built)
    dfa = automaton.language()
    language = {"format": "restrict-dfa/1", "alphabet": list(dfa.alphabet), "start": 0, "accept": sorted(dfa.accept)}
    language["transitions"] = [list(row) for row in dfa.delta]
    return content, automaton, document(model, built, {"kind": "recognises", "language": language, "from": 0})


def order_only(rng: np.random.Generator) -> dict[str, Any]:
    """A program that a proof can be about."""
    if rng.random() < 0.4:
        return random_transformer(rng, 2, 2, 3)
    while True:
        program = random_order_only(rng, 2, 4, placed=0.3, near=0)
        program["output"]["position"] = "last"
        program.pop("when", None)
        model = loads(dumps(program))
        try:
            covered(model, recognise(model))
        except NotEstablished:
            continue
        return program


def truth(automaton: Moore, claim: dict[str, Any], markers: int) -> bool:
    """Whether a claim of recognition is true, by walking pairs of states; lengths count markers, and begin at 1."""
    first, dfa = max(claim["from"], 1), claim["language"]
    columns = [dfa["alphabet"].index(a) for a in automaton.alphabet]
    todo = [(0, dfa["start"], markers)]
    seen = set()
    while todo:
        state, other, n = todo.pop()
        if (state, other, n) in seen:
            continue
        seen.add((state, other, n))
        said = automaton.labels[int(automaton.label[state])] == "accept"
        if n >= first and said != (other in dfa["accept"]):
            return False
        for x, y in enumerate(columns):
            todo.append((int(automaton.delta[state, x]), dfa["transitions"][other][y], min(n + 1, first + 1)))
    return True


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to every list and integer that a mutation may change."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("model", "format", "n", "name", "kind"):
                yield from places(inner, (*path, key))
    elif isinstance(value, list):
        yield path
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))
    elif isinstance(value, int):
        yield path


def mutate(rng: np.random.Generator, proof: Any, path: tuple[Any, ...]) -> None:
    """Change one integer, or shorten, lengthen or permute one list."""
    for key in path[:-1]:
        try:
            proof = proof[key]
        except (IndexError, KeyError, TypeError):
            return
    try:
        value = proof[path[-1]]
    except (IndexError, KeyError, TypeError):
        return
    if isinstance(value, int):
        proof[path[-1]] = value + int(rng.choice([-1, 1, 2])) if rng.random() < 0.7 else int(rng.integers(4))
    elif isinstance(value, list) and value:
        i, j = rng.integers(len(value), size=2)
        how = int(rng.integers(3))
        if how == 0:
            value.pop()
        elif how == 1:
            value.append(copy.deepcopy(value[i]))
        else:
            value[i], value[j] = value[j], value[i]


def attack(seed: int, programs: int, each: int) -> tuple[int, int]:
    """Mutants of proofs of random programs: how many there were, and how many were accepted (all of them true)."""
    rng = np.random.default_rng(seed)
    tried = accepted = 0
    for _ in range(programs):
        program = order_only(rng)
        content, automaton, good = proved(program)
        assert verify(content, to_bytes(good)).startswith("s VERIFIED all-lengths recognises=dfa-of-")
        spots = list(places(good))
        claims = [p for p in spots if p[0] == "claim"]
        for _ in range(each):
            mutant = copy.deepcopy(good)
            if rng.random() < 0.7:
                mutate(rng, mutant, claims[int(rng.integers(len(claims)))])
            for _ in range(int(rng.integers(4))):
                mutate(rng, mutant, spots[int(rng.integers(len(spots)))])
            tried += 1
            try:
                verify(content, json.dumps(mutant).encode())
            except Reject:
                continue
            accepted += 1
            markers = len(loads(content).markers)
            assert truth(automaton, mutant["claim"], markers), (program, mutant)
    return tried, accepted


def test_no_mutant_with_a_false_claim_is_verified() -> None:
    tried, accepted = attack(0, 12, 30)
    assert tried == 360
    assert 0 < accepted < 120


@pytest.mark.slow
def test_ten_thousand_mutants() -> None:
    tried, _ = attack(1, 200, 50)
    assert tried == 10_000


def test_a_claim_from_length_0_is_checked_at_length_1() -> None:
    """The pair of states after the first letter may be the one at the start, of which nothing is claimed."""
    program = {
        "format": "restrict-model/1",
        "name": "contains-b",
        "alphabet": ["a", "b"],
        "variables": [{"name": "h", "kind": "head", "key": "token", "value": "token", "score": "k", "mask": "past"}],
        "output": {"variable": "h", "position": "last", "accept": [1]},
    }
    content, _, good = proved(program)
    false = {"format": "restrict-dfa/1", "alphabet": ["a", "b"], "start": 0, "accept": [0], "transitions": [[0, 0]]}
    good["claim"]["language"] = false
    with pytest.raises(Reject, match="differ on a word of 1 positions"):
        verify(content, to_bytes(good))
