"""What numpy computes where a kernel is not worth compiling, against the kernel: lists of hashed rows,
greedy covering, occurrences of literals, a part of an array sorted."""

from __future__ import annotations

import numpy as np
import pytest

from restrict.base.arrays import offsets
from restrict.base.deadline import NEVER
from restrict.kernels.collapse import arrange
from restrict.kernels.cover_literals import greedy_literals, greedy_with_numpy
from restrict.kernels.cover_state import Literals
from restrict.kernels.exchange import occurrences, occurrences_with_numpy
from restrict.kernels.plain import always_compiled
from restrict.kernels.scan_lists import ScanKeys, scan_rows
from restrict.rows import plain_lists
from tests.marks import heavy_after


def some_keys(rng: np.random.Generator, n: int, domain: int) -> ScanKeys:
    """At some positions some key values, at the others all."""
    few = np.flatnonzero(rng.random(n) < rng.choice([0, 0.1, 0.5, 1]))
    values = [np.sort(rng.choice(domain, rng.integers(1, domain + 1), replace=False)) for _ in few]
    plain = np.setdiff1d(np.arange(n), few)
    j, w = np.repeat(few, list(map(len, values))), np.concatenate([*values, np.zeros(0, np.int64)])
    sizes = np.bincount(j, minlength=n)
    sizes[plain] = domain
    return ScanKeys(domain, plain, j, w, sizes)


@pytest.mark.parametrize("seed", heavy_after(range(40), 2))
def test_the_lists_of_hashed_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(plain_lists, "BLOCK", int(rng.choice([1, 100, 1 << 17])))
    for _ in range(20):
        n, domain, rows = int(rng.integers(1, 60)), int(rng.integers(1, 11)), int(rng.integers(1, 30))
        keys, seeds = some_keys(rng, n, domain), rng.integers(-(2**63), 2**63 - 1, rows, dtype=np.int64)
        bounds = np.ascontiguousarray(np.sort(rng.integers(0, n + 1, (2, rows)), axis=0))
        own, right, limit = int(rng.integers(2)), int(rng.integers(2)), int(rng.choice([0, 1, 3, 20]))
        given = seeds, rng.integers(0, n, rows), rng.integers(0, domain, rows), bounds, own, right, limit, keys
        out, ends, complete = np.empty((2, 20_000), np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        with np.errstate(over="ignore"):
            assert scan_rows(*given, out, ends, complete) == rows
        listed = plain_lists.listed(*given, NEVER)
        assert listed[0].tolist() == out[:, : ends[-1]].tolist()
        assert listed[1].tolist() == ends.tolist()
        assert listed[2].tolist() == complete.tolist()


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_greedy_covering_and_occurrences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        symbols, inputs = int(rng.integers(1, 4)), int(rng.integers(1, 30))
        count = symbols * inputs
        rows = [rng.choice(count, rng.integers(0, min(count, 6) + 1)) for _ in range(rng.integers(1, 40))]
        ptr, flat = offsets(np.array(list(map(len, rows)))), np.concatenate(rows).astype(np.int64)
        order, lit_ptr = np.argsort(flat, kind="stable"), offsets(np.bincount(flat, minlength=count))
        problem = Literals(symbols, ptr, flat, lit_ptr, np.repeat(np.arange(len(rows)), np.diff(ptr))[order])
        ties, limit = rng.permutation(count), int(rng.integers(0, inputs + 1))
        chosen = np.zeros((2, inputs), np.int64)
        places = np.zeros((4, len(flat)), np.int32)
        with always_compiled():
            found = greedy_literals(problem, ties, limit, chosen[0])
            occurrences(ptr, flat.astype(np.int32), lit_ptr, places[0], places[1])
        assert greedy_with_numpy(problem, ties, limit, chosen[1]) == found
        assert chosen[0].tolist() == chosen[1].tolist()
        occurrences_with_numpy(ptr, flat.astype(np.int32), lit_ptr, places[2], places[3])
        assert places[:2].tolist() == places[2:].tolist()


@pytest.mark.parametrize("size", [*range(12), 100, 1000])
def test_a_part_is_sorted_in_place(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.integers(max(1, size // 2), size=size + 5)
    wanted = values.copy()
    wanted[2 : 2 + size].sort()
    arrange(values, 2, 2 + size)
    assert values.tolist() == wanted.tolist()
