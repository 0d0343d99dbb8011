"""Collapsed heads without lists: V and D straight from the scores, row by row, in bounded memory.

The candidate lists of a head hold one pair per position and key value in the worst case, for every position and query
value. With an alphabet of a hundred symbols they exceed the memory at lengths at which the n^2 bits of the dependencies
still fit. Here a row is scanned, added to V and D of its position, and forgotten. Where everything depends on
everything, a position is done after a few of its rows: V and D only grow, and they are soon full.

Hashed scores run in one kernel (:mod:`restrict.kernels.collapse_stream`), all others row by row. The result is that of
:func:`restrict.depth_reduction.c_transformer.activations.attended_activation` on complete lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from restrict.base.arrays import I64, offsets, take_rows
from restrict.depth_reduction.c_transformer.activations import Activation, Attended, possible_values, unpacked, words_of
from restrict.kernels import collapse_stream as kernels
from restrict.kernels.collapse import SetArrays
from restrict.model.program import Head, Instance
from restrict.rows.lists import RowsOfHead, hash_states, rows_of
from restrict.rows.row import Row, pool, threads
from restrict.rows.values import Values

PART = 16
"""Positions that a thread takes at a time."""
KEPT = 10_000_000
"""Pairs that the lists of one head may hold to be kept."""
PILOTS = 32
"""Rows that are scanned to estimate how many pairs all of them hold."""


def keeps_lists(instance: Instance, head: Head, base: Mapping[str, Activation]) -> bool:
    """Whether the complete lists of a head are few enough to be kept, by an estimate from a sample of its rows.

    Cost: the scores of at most :data:`PILOTS` rows.
    """
    query, key = instance.query(head), instance.key(head)
    rows, keys = rows_of(instance, head, possible_values(instance, query, base)), possible_values(instance, key, base)
    count = len(np.unique(rows.row_u)) if rows.shared else len(rows.row_u)
    if not count or count * len(keys.flat) <= KEPT:
        return True
    few = keys.sparse()
    chosen, row_i = np.linspace(0, len(rows.row_u) - 1, PILOTS).astype(np.int64), rows.row_i
    found = [Row(instance, head, int(row_i[r]), int(rows.row_u[r])).candidates(few)[0] for r in chosen]
    return count * sum(map(len, found)) / PILOTS <= KEPT


def streamed_activation(instance: Instance, head: Head, base: Mapping[str, Activation]) -> Activation:
    """V and D of a collapsed head, its lists not kept.

    Cost: one score per row and possible pair, of fewer rows where V and D are full before; memory n^2 bits.
    """
    query, key = instance.query(head), instance.key(head)
    rows = rows_of(instance, head, possible_values(instance, query, base))
    sets = _sets(instance, head, base)
    out = kernels.Collapsed(
        np.zeros((instance.n, words_of(instance.domains[head.name])), np.int64),
        np.zeros((instance.n, words_of(instance.n)), np.int64), np.zeros(instance.n, np.int64),
    )  # fmt: skip
    rules = kernels.HeadRules(
        int(rows.same), int(head.value == key), int(head.value == query), int(head.ties == "right"), head.default
    )
    gives = SetArrays(base[head.value].values.ptr, base[head.value].values.flat)
    keys = possible_values(instance, key, base)
    seeds = None if rows.shared else hash_states(instance, head, rows.row_i, rows.row_u)
    if seeds is not None:
        _by_kernel(rows, seeds, keys, gives, rules, sets, out)
    else:
        _by_rows(instance, head, rows, keys.sparse(), gives, sets, out)
    source = Attended(head, query, key, None, out.captured)
    return Activation(head.name, source, _flat(out.values, instance.domains[head.name]), out.depends)


def _sets(instance: Instance, head: Head, base: Mapping[str, Activation]) -> kernels.DependSets:
    """What the rows of a head can add to D and V."""
    query, key, value = instance.query(head), instance.key(head), base[head.value]
    source = value.depends if key is None or head.value == key else value.depends | base[key].depends
    every = np.bitwise_or.reduce(source, axis=0)
    none = np.zeros((0, source.shape[1]), np.int64)
    return kernels.DependSets(base[query].depends if query else none, source, every, len(np.unique(value.values.flat)))


def _by_kernel(
    rows: RowsOfHead, seeds: I64, keys: Values, gives: SetArrays, rules: kernels.HeadRules, sets: kernels.DependSets,
    out: kernels.Collapsed,
) -> None:  # fmt: skip
    """Hashed scores; positions are shared among threads, and the result does not depend on their number."""
    arrays = kernels.StreamRows(rows.low, rows.high, rows.row_ptr, rows.row_u, seeds)
    parts = iter(list(pairwise([*range(0, len(rows.low), PART), len(rows.low)])))

    def run(_: int) -> None:
        with np.errstate(over="ignore"):
            for part in parts:
                kernels.stream_positions(*part, arrays, keys.scanned, gives, rules, sets, out)

    if threads() == 1:
        run(0)
        return
    for _ in pool().map(run, range(threads())):
        pass


def _by_rows(
    instance: Instance, head: Head, rows: RowsOfHead, keys: Values, gives: SetArrays, sets: kernels.DependSets,
    out: kernels.Collapsed,
) -> None:  # fmt: skip
    """Any score, row by row; a row that is the same at all positions is scanned once."""
    seen: dict[int, tuple[I64, I64, bool]] = {}
    every = np.unique(gives.flat)
    for i in range(instance.n):
        first, stop = int(rows.row_ptr[i]), int(rows.row_ptr[i + 1])
        query = sets.query[i] if len(sets.query) else np.zeros(out.depends.shape[1], np.int64)
        values = np.array([head.default] if first == stop else [], np.int64)
        depends, captured = query.copy(), True
        for u in rows.row_u[first:stop].tolist():
            if not (rows.shared and u in seen):
                seen[u] = _row(instance, head, i, u, keys, gives, sets.source)
            found, more, ended = seen[u]
            values, captured = np.union1d(values, found), captured and ended
            depends = depends | more
            if len(values) == len(every) and np.array_equal(depends, sets.every | query):
                captured = captured and u == rows.row_u[stop - 1]
                break
        np.bitwise_or.at(out.values[i], values >> 6, np.int64(1) << (values & 63))
        out.depends[i] = depends if len(values) > 1 else 0
        out.captured[i] = int(captured)


def _row(
    instance: Instance, head: Head, i: int, u: int, keys: Values, gives: SetArrays, source: I64
) -> tuple[I64, I64, bool]:  # fmt: skip
    """Values and inputs that one row gives, and whether it ends at a key with one value."""
    row = Row(instance, head, i, u)
    pairs = row.ranked(keys)
    at, j = np.unique(pairs[0]), int(pairs[0, -1])
    if head.value == instance.key(head):
        values = np.unique(pairs[1])
    elif head.value == instance.query(head) and i in at:
        values = np.union1d(gives.flat[take_rows(gives.ptr, at[at != i])], [u])
    else:
        values = np.unique(gives.flat[take_rows(gives.ptr, at)])
    place = int(np.searchsorted(keys.positions, j))
    special = place < len(keys.positions) and keys.positions[place] == j
    size = int(keys.ptr[place + 1] - keys.ptr[place]) if special else keys.domain
    depends = np.bitwise_or.reduce(source[at], axis=0) if len(values) > 1 else np.zeros(source.shape[1], np.int64)
    return values, depends, size == 1 or row.own == (j, u)


def _flat(bits: I64, domain: int) -> Values:
    """Sets of values, rows of bits, as values at every position."""
    step, parts, counts = max(1, (1 << 24) // (64 * bits.shape[1])), list[I64](), list[I64]()
    for first in range(0, len(bits), step):
        at, values = np.nonzero(unpacked(bits[first : first + step]))
        parts.append(values)
        counts.append(np.bincount(at, minlength=len(bits[first : first + step])))
    return Values(domain, np.arange(len(bits)), offsets(np.concatenate(counts)), np.concatenate(parts))
