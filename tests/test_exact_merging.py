"""States are merged only where they are the same: with hash functions that collide all the time, nothing changes."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths import bimachine as machines
from restrict.all_lengths.meeting import row_numbers
from restrict.all_lengths.moore import moore
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import Built, build
from restrict.base.errors import NotEstablished
from restrict.kernels import refinement
from restrict.model.fileformat import loads
from tests.generator import random_transformer


def slow(function: Any) -> Any:
    """A kernel as plain Python, which reads the names of its module."""
    return getattr(function, "py_func", function)


def weak(bits: int) -> Callable[[int, int], int]:
    """A hash function of few bits, another one for every seed."""
    return lambda h, a: int((h * 5 + int(a) * 3 + (h >> 2) + 1) & ((1 << bits) - 1))


def small(seed: int) -> Built:
    model = loads(json.dumps(random_transformer(np.random.default_rng(seed), 2, 2, 4)).encode())
    return build(recognise(model))


def test_rows_are_numbered_as_they_are_met() -> None:
    rows = np.random.default_rng(0).integers(3, size=(200, 4)).astype(np.int32)
    expected = {row: at for at, row in enumerate(dict.fromkeys(map(tuple, rows.tolist())))}
    assert row_numbers(rows).tolist() == [expected[tuple(row)] for row in rows.tolist()]
    assert row_numbers(rows.reshape(-1), ends=np.array([0, 2, 2, 3, 5])).shape == (4,)


def test_states_are_merged_where_no_word_tells_them_apart() -> None:
    """The classes are those of the words of up to as many letters as there are states, numbered as they come."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        delta = rng.integers(-1, 9, size=(9, 2)).astype(np.int32)
        first = rng.integers(2, size=9).astype(np.int32)
        told = [(int(a),) for a in first]  # what words of so many letters, and one more each round, say of a state
        for _ in range(9):
            told = [(told[q], *(told[p] if p >= 0 else None for p in delta[q])) for q in range(9)]
        number = {what: at for at, what in enumerate(dict.fromkeys(told))}
        cls, table, reps = machines.merged(delta, first)
        assert cls.tolist() == [number[what] for what in told]
        assert reps.tolist() == [told.index(what) for what in number]
        assert table.tolist() == [[cls[p] if p >= 0 else -1 for p in delta[q]] for q in reps]


def test_giving_up_is_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "refine_cells", lambda *_: (np.zeros(3, dtype=np.int32), False))
    with pytest.raises(NotEstablished, match="merged wrongly with 16 hash functions"):
        small(3)


def test_summaries_are_compared_and_not_only_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition refinement of triples with a weak hash: exact, or it says that it is not."""
    asked: list[Any] = []
    real = refinement.refine_cells
    monkeypatch.setattr(refinement, "refine_cells", lambda *args: asked.append(args) or real(*args))
    assert moore(small(3)).states > 1
    monkeypatch.undo()
    right = [real(*args, 7)[0] for *args, _ in asked[:6]]  # before the hash is weak: a kernel may run as plain Python
    monkeypatch.setattr(refinement, "_group", slow(refinement._group))
    monkeypatch.setattr(refinement, "mix", weak(5))
    said = []
    for (*args, _), exact in zip(asked[:6], right, strict=True):
        for seed in range(3):
            found, verified = slow(real)(*args, seed)
            said.append(verified)
            if verified:
                assert len(np.unique(found)) == len(np.unique(exact))
                pairs = set(zip(found.tolist(), exact.tolist(), strict=True))
                assert len(pairs) == len(np.unique(exact))
    assert True in said
