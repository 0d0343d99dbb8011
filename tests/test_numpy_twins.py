"""What numpy computes where a kernel is not worth compiling, against the kernel: lists of hashed rows, greedy covering,
occurrences of literals, lists under fewer key values, sets of inputs, a part of an array sorted."""

import numpy as np
import pytest

from restrict.base.arrays import I64, offsets
from restrict.base.deadline import NEVER
from restrict.depth_reduction.c_transformer.input_sets import InputSets
from restrict.kernels import input_sets
from restrict.kernels.collapse import ListArrays, arrange, filter_lists, filter_with_numpy
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


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_lists_under_fewer_key_values(seed: int) -> None:
    """With rows that see themselves, with lists that end early, and with none."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n, domain, rows = int(rng.integers(1, 9)), int(rng.integers(1, 5)), int(rng.integers(0, 12))
        keys = [np.flatnonzero(rng.random(domain) < 0.6) for _ in range(n)]
        all_pairs = [rng.permutation(n * domain)[: rng.integers(0, n * domain + 1)] for _ in range(rows)]
        ends = np.cumsum([len(pairs) for pairs in all_pairs]).astype(np.int64)
        pairs = np.concatenate([*all_pairs, np.zeros(0, np.int64)])
        start = np.append(0, ends)[:-1]
        own_j = rng.integers(-1, n, rows)
        given = (
            start, ends, pairs // domain, pairs % domain, own_j, rng.integers(0, domain, rows),
            offsets([len(key) for key in keys]), np.concatenate(keys),
        )  # fmt: skip
        found = []
        for body in (filter_lists, filter_with_numpy):
            out, stop, reached = np.zeros((2, len(pairs)), np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
            with always_compiled():
                body(*given, out, stop, reached)
            found.append((out[:, : stop[-1] if rows else 0].tolist(), stop.tolist(), reached.tolist()))
        assert found[0] == found[1]


def some_sets(rng: np.random.Generator, n: int) -> input_sets.SetRows:
    """A set of inputs for each of n positions: few, many, or none."""
    sets = [np.flatnonzero(rng.random(n) < rng.choice([0, 0.01, 0.3, 1])) for _ in range(n)]
    found = InputSets.of_lists(offsets([len(one) for one in sets]), np.concatenate(sets).astype(np.int64))
    return found.arrays


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_sets_of_inputs_are_united(seed: int) -> None:
    """Block by block where room is short."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        n = int(rng.choice([1, 5, 63, 64, 65, 150]))
        words = (n + 63) // 64
        a, b, none = some_sets(rng, n), some_sets(rng, n), input_sets.SetRows(np.zeros(1, np.int64), a_few(rng, 0, 1))
        rows = offsets(rng.integers(0, 3, n))
        lists, count = a_few(rng, int(rows[-1]), max(1, n)), max(1, n)
        start = np.sort(rng.integers(0, 50, count))
        arrays = ListArrays(
            rows, lists, np.zeros(len(lists), np.int64), start, start + rng.integers(0, 4, count), a_few(rng, 60, n),
            np.zeros(60, np.int64),
        )  # fmt: skip
        several, sizes = a_few(rng, len(lists), 2), a_few(rng, n, 3)
        reads = input_sets.Reads(*(found if rng.random() < 0.7 else none for found in (a, b, a)))
        cache = np.zeros((count if rng.random() < 0.5 else 0, words + 1), np.int64)
        room = int(rng.integers(words, 1 + n * words))
        for kernel, numpy, given in (
            (input_sets.unite_sets, input_sets.unite_with_numpy, (a, b, a_few(rng, n, 2))),
            (input_sets.head_depends, input_sets.depends_with_numpy, (arrays, several, sizes, reads, cache)),
        ):
            found = []
            for body in (kernel, numpy):
                start_at, ends, bits, blocks = 0, np.zeros(n, np.int64), np.zeros(words, np.int64), list[object]()
                while start_at < n:
                    out = np.zeros(room, np.int64)
                    with always_compiled():
                        start_at = body(*given, start_at, bits, out, ends)
                    blocks.append((start_at, out[: ends[start_at - 1]].tolist()))
                found.append((blocks, ends.tolist()))
            assert found[0] == found[1]


def a_few(rng: np.random.Generator, count: int, below: int) -> I64:
    """Some numbers."""
    return rng.integers(0, below, count)
