"""The streaming kernel of collapsed heads: V and D of a head whose score is a hash, without lists that are kept.

What :mod:`restrict.kernels.rowlists` computes from stored candidate lists is computed here row by row: a row is scanned
(:mod:`restrict.kernels.hashscan`), its candidates are added to V and D of its position, and forgotten. A position is
done when V and D have all that any row could add, so where everything depends on everything few rows are scanned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.arrays import I64
from restrict.kernels.hashscan import MANY, KeyValues, after_position, pair_score, scan_hash
from restrict.kernels.jit import kernel
from restrict.kernels.machine import HALF
from restrict.kernels.rowlists import SetArrays
from restrict.kernels.scan import FLOOR_J, FLOOR_S, HAVE_FLOOR, NEXT_J, STATE_SIZE

ROOM = 1 << 14
"""Pairs of a row that are held at first; doubled where more lie above the floor."""
CHUNK = 64


class StreamRows(NamedTuple):
    """Position ``i`` sees ``low[i] .. high[i] - 1`` and has the rows ``ptr[i] .. ptr[i + 1]``, row ``r`` with the query
    value ``query[r]`` and the hash state ``seed[r]`` before ``j``."""

    low: I64
    high: I64
    ptr: I64
    query: I64
    seed: I64


class HeadRules(NamedTuple):
    """1 or 0 each: the query is the key, the value is the key, the value is the query, ties go to the right; and the
    value of a position that sees nothing."""

    own: int
    by_key: int
    by_query: int
    right: int
    default: int


class DependSets(NamedTuple):
    """D of the query, and of key and value together, rows of words (of no rows where they do not count); ``every`` is
    the union of the latter over all positions, and ``several`` the number of different values that the head can copy.
    """

    query: I64
    source: I64
    every: I64
    several: int


class Collapsed(NamedTuple):
    """What comes out: V and D as rows of bits, and whether every row of a position ends at a key with one value."""

    values: I64
    depends: I64
    captured: I64


class Room(NamedTuple):
    """Arrays that the scan works in: pairs (3, capacity), hash states and scores of a chunk of positions."""

    part: I64
    base: I64
    scores: I64


@kernel
def anchored(seed: int, low: int, high: int, own_j: int, own_w: int, right: int, keys: KeyValues, state: I64) -> None:
    """Raise the floor of a row to the best of its positions with few key values, and of its own position."""
    for p in range(keys.exc_j.shape[0] + 1):
        own = p == keys.exc_j.shape[0]
        j = own_j if own else keys.exc_j[p]
        if j < low or j >= high or (own and own_w < 0) or (not own and own_w >= 0 and j == own_j):
            continue
        at_j, worst = after_position(seed, j), HALF
        if own:
            worst = pair_score(at_j, own_w)
        else:
            for t in range(keys.exc_ptr[p], keys.exc_ptr[p + 1]):
                worst = min(worst, pair_score(at_j, keys.exc_val[t]))
        at = state[FLOOR_J]
        if state[HAVE_FLOOR] == 0 or worst > state[FLOOR_S] or (
            worst == state[FLOOR_S] and ((j > at) if right == 1 else (j < at))
        ):  # fmt: skip
            state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J] = 1, worst, j


@kernel
def above_floor(pairs: I64, count: int, right: int, state: I64) -> int:
    """Keep the pairs at or above the floor; returns how many."""
    kept, floor_s, floor_j = 0, state[FLOOR_S], state[FLOOR_J]
    for t in range(count):
        j, s = pairs[0, t], pairs[2, t]
        if s > floor_s or (s == floor_s and ((j >= floor_j) if right == 1 else (j <= floor_j))):
            pairs[0, kept], pairs[1, kept], pairs[2, kept] = j, pairs[1, t], s
            kept += 1
    return kept


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
def single_key(j: int, keys: KeyValues) -> bool:
    """Whether the key has one value at a position."""
    p = np.searchsorted(keys.exc_j, j)
    if p < keys.exc_j.shape[0] and keys.exc_j[p] == j:
        return bool(keys.exc_ptr[p + 1] - keys.exc_ptr[p] == 1)
    return keys.domain == 1


@kernel
def scan_row(
    r: int, i: int, rows: StreamRows, keys: KeyValues, rules: HeadRules, room: Room, pairs: I64, state: I64
) -> tuple[I64, int]:  # fmt: skip
    """The candidates of a row: ``pairs``, or a wider array in its place, and how many there are."""
    own_w = rows.query[r] if rules.own == 1 else -1
    bounds = np.array([rows.high[i], i, own_w, rules.right, 1])
    state[:] = 0
    anchored(rows.seed[r], rows.low[i], rows.high[i], i, own_w, rules.right, keys, state)
    state[NEXT_J] = rows.low[i]
    count = 0
    while state[NEXT_J] < rows.high[i]:
        size = scan_hash(rows.seed[r], keys, bounds, state, room.base, room.scores, room.part)
        if count + size > pairs.shape[1]:
            count = above_floor(pairs, count, rules.right, state)
            if 2 * (count + size) > pairs.shape[1]:
                wider = np.empty((3, 4 * (count + size)), np.int64)
                wider[:, :count] = pairs[:, :count]
                pairs = wider
        pairs[:, count : count + size] = room.part[:, :size]
        count += size
    return pairs, above_floor(pairs, count, rules.right, state)


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
def unite_met(depends: I64, pairs: I64, count: int, r: int, met: I64, source: I64) -> None:
    """Add the inputs of the candidates of row ``r``, each position once: ``met[j] == r`` marks those to come."""
    for t in range(count):
        j = pairs[0, t]
        if met[j] == r:
            met[j] = -1
            for b in range(source.shape[1] if source.shape[0] > 0 else 0):
                depends[b] |= source[j, b]


@kernel
def has_all(values: I64, depends: I64, query: I64, sets: DependSets) -> bool:
    """Whether V and D of a position can grow no more."""
    for b in range(depends.shape[0]):
        if depends[b] != sets.every[b] | (query[b] if query.shape[0] > 0 else 0):
            return False
    return ones(values) == sets.several


@kernel
def stream_positions(
    first: int, stop: int, rows: StreamRows, keys: KeyValues, gives: SetArrays, rules: HeadRules, sets: DependSets,
    out: Collapsed,
) -> None:  # fmt: skip
    """V and D of a head at the positions ``first .. stop - 1``; ``gives`` is V of its value at every position."""
    widest = max(keys.domain, np.max(np.diff(keys.exc_ptr)) if keys.exc_j.shape[0] > 0 else 0)
    room = Room(
        np.empty((3, max(4096, widest)), np.int64), np.empty(CHUNK, np.int64),
        np.empty((min(keys.domain, MANY), CHUNK), np.int64),
    )  # fmt: skip
    pairs, state = np.empty((3, max(ROOM, 2 * widest)), np.int64), np.zeros(STATE_SIZE, np.int64)
    none = np.empty(0, np.int64)
    met, fresh = np.full(rows.low.shape[0], -1, np.int64), np.empty(out.values.shape[1], np.int64)
    for i in range(first, stop):
        values, depends = out.values[i], out.depends[i]
        query = sets.query[i] if sets.query.shape[0] > 0 else none
        out.captured[i] = 1
        if rows.ptr[i] == rows.ptr[i + 1]:
            values[rules.default >> 6] |= np.int64(1) << (rules.default & 63)
        depends[: query.shape[0]] = query
        for r in range(rows.ptr[i], rows.ptr[i + 1]):
            pairs, count = scan_row(r, i, rows, keys, rules, room, pairs, state)
            size = row_values(r, i, pairs, count, rows.query[r], gives, rules, met, fresh)
            for b in range(fresh.shape[0]):
                values[b] |= fresh[b]
            if size > 1:
                unite_met(depends, pairs, count, r, met, sets.source)
            if not single_key(state[FLOOR_J], keys) and not (rules.own == 1 and state[FLOOR_J] == i):
                out.captured[i] = 0
            if has_all(values, depends, query, sets):
                out.captured[i] = out.captured[i] if r + 1 == rows.ptr[i + 1] else 0
                break
        if ones(values) < 2:
            depends[:] = 0
