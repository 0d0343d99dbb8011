"""The streaming kernel of collapsed heads: V and D of a head whose score is a hash, without lists that are kept. What
:mod:`restrict.kernels.collapse` computes from stored candidate lists is computed here row by row: a row is scanned
(:mod:`restrict.kernels.scan_lists`), its candidates are added to V and D of its position, and forgotten. A position is
done when V and D have all that any row could add, so where everything depends on everything few rows are scanned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.kernels.collapse import SetArrays
from restrict.kernels.input_sets import SetRows, include, put
from restrict.kernels.jit import kernel, making_kernel
from restrict.kernels.scan_lists import ScanKeys, Span, down_to_the_floor, scan_room, scan_row, wanted

ROOM = 1 << 14
"""Pairs of a row that are held at first; doubled where more lie above the floor."""


class StreamRows(NamedTuple):
    """Position ``i`` sees ``low[i] .. high[i] - 1`` and has the rows ``ptr[i] .. ptr[i + 1]``, row ``r`` with the query
    value ``query[r]`` and the hash state ``seed[r]`` before ``j``."""

    low: I64
    high: I64
    ptr: I64
    query: I64
    seed: I64


class HeadRules(NamedTuple):
    """1 or 0: query is key, value is key, value is query, ties go right; the value where nothing is seen."""

    own: int
    by_key: int
    by_query: int
    right: int
    default: int


class DependSets(NamedTuple):
    """D of the query, and of key and value together (no sets where they do not count); ``every`` is the union of the
    latter over all positions, a row of words, and ``several`` the number of different values that the head can copy."""

    query: SetRows
    source: SetRows
    every: I64
    several: int


class Collapsed(NamedTuple):
    """What comes out: V as rows of bits, and whether every row of a position ends at a key with one value."""

    values: I64
    captured: I64


@kernel
def ones(words: I64) -> int:
    """How many bits are set."""
    size = 0
    for b in range(words.shape[0]):
        word = words[b]
        while word != 0:
            word &= word - 1
            size += 1
    return size


@kernel
def row_values(
    r: int, i: int, pairs: I64, count: int, query: int, gives: SetArrays, rules: HeadRules, met: I64, fresh: I64
) -> int:
    """The values that a row's candidates give, into ``fresh``; returns how many. Marks ``met[j] = r``."""
    fresh[:] = 0
    for t in range(count):
        j = pairs[0, t]
        if rules.by_key == 1:
            fresh[pairs[1, t] >> 6] |= np.int64(1) << (pairs[1, t] & 63)
        elif rules.by_query == 1 and j == i:
            fresh[query >> 6] |= np.int64(1) << (query & 63)
        elif met[j] != r:
            for v in range(gives.ptr[j], gives.ptr[j + 1]):
                fresh[gives.flat[v] >> 6] |= np.int64(1) << (gives.flat[v] & 63)
        met[j] = r
    return ones(fresh)


@kernel
def unite_met(depends: I64, pairs: I64, count: int, r: int, met: I64, source: SetRows) -> None:
    """Add the inputs of the candidates of row ``r``, each position once: ``met[j] == r`` marks those to come."""
    for t in range(count):
        j = pairs[0, t]
        if met[j] == r:
            met[j] = -1
            include(depends, source, j)


@kernel
def has_all(values: I64, depends: I64, sets: DependSets) -> bool:
    """Whether V and D of a position can grow no more: D holds the query's from the start."""
    for b in range(depends.shape[0]):
        if depends[b] & sets.every[b] != sets.every[b]:
            return False
    return ones(values) == sets.several


@making_kernel
def stream_positions(
    first: int, stop: int, rows: StreamRows, keys: ScanKeys, gives: SetArrays, rules: HeadRules, sets: DependSets,
    out: Collapsed, depends: I64, ends: I64,
) -> int:  # fmt: skip
    """V and D of a head at the positions ``first .. stop - 1``; ``gives`` is V of its value at every position. The sets
    D go to ``depends``, set ``i`` ends there at ``ends[i]``. Returns where the last one ends."""
    room, pairs, seen, scanned = scan_room(), np.empty((3, ROOM + keys.domain), np.int64), 0, 0
    bits, used = np.zeros(sets.every.shape[0], np.int64), 0
    met, fresh = np.full(rows.low.shape[0], -1, np.int64), np.empty(out.values.shape[1], np.int64)
    for i in range(first, stop):
        values = out.values[i]
        out.captured[i] = 1
        if rows.ptr[i] == rows.ptr[i + 1]:
            values[rules.default >> 6] |= np.int64(1) << (rules.default & 63)
        if sets.query.ptr.shape[0] > 1:
            include(bits, sets.query, i)
        for r in range(rows.ptr[i], rows.ptr[i + 1]):
            span = Span(rows.low[i], rows.high[i], i, rows.query[r] if rules.own == 1 else -1, rules.right)
            goal = down_to_the_floor(0, wanted(seen, scanned))
            pairs, count, floor_j = scan_row(rows.seed[r], span, keys, goal, room, pairs)
            seen, scanned = seen + count, scanned + 1
            size = row_values(r, i, pairs, count, rows.query[r], gives, rules, met, fresh)
            for b in range(fresh.shape[0]):
                values[b] |= fresh[b]
            if size > 1:
                unite_met(bits, pairs, count, r, met, sets.source)
            if keys.sizes[floor_j] > 1 and not (rules.own == 1 and floor_j == i):
                out.captured[i] = 0
            if has_all(values, bits, sets):
                out.captured[i] = out.captured[i] if r + 1 == rows.ptr[i + 1] else 0
                break
        if ones(values) < 2:
            bits[:] = 0
        used = put(bits, depends, used)
        ends[i] = used
    return used
