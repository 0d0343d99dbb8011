"""The lists of many rows of hashed scores: best pair first, down to the floor (rule 4 of the proof). The best pairs of
a row stand in no order among its positions, so all of its scores are computed, but few are looked at: those of at least
a *bar* that is guessed from how many are wanted, since hashed scores are spread evenly over 0 .. 2^63 - 1. What reaches
the bar is cut at the floor, the best over the positions of a position's worst pair. Where no position has all of its
pairs above the bar, the bar is lowered and the row is scanned again, so the answer does not depend on the guess."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.kernels.jit import kernel, making_kernel
from restrict.kernels.machine import HALF, LOW32, MULTIPLIER
from restrict.kernels.scan import better

CHUNK = 128
"""Positions that are scored at a time."""
FEW, LOWER = 64, 4
"""Pairs that a row is expected to need at least, and how many times as many are looked at next where they were too
few."""


LOW31 = np.int64((1 << 31) - 1)
"""What the last step of the hash changes in a score: its lower half."""


class ScanKeys(NamedTuple):
    """Possible key values: ``0 .. domain - 1`` at the positions ``plain``, and elsewhere the pairs ``(pair_j[t],
    pair_w[t])``, both by position; ``sizes[j - first]`` is how many position ``j`` has."""

    domain: int
    plain: I64
    pair_j: I64
    pair_w: I64
    sizes: I64
    first: int = 0


class ScanRoom(NamedTuple):
    """What a scan works in: hash states, hits and bounds of a chunk."""

    base: I64
    hits: I64
    tops: I64


class Span(NamedTuple):
    """A row sees ``low .. high - 1``; at ``own_j`` (or -1) the key is ``own_w`` alone; whether ties go to the right."""

    low: int
    high: int
    own_j: int
    own_w: int
    right: int


class Wanted(NamedTuple):
    """What a scan of a row is for: the pairs down to the floor or, without one (``floor`` 0), all; with a ``limit`` it
    may end where it has more than so many of the best; ``want``: for how many it looks at first; none below the score
    ``least``; ``most``: the pairs for which there may be room."""

    limit: int
    want: int
    floor: int
    least: int
    most: int


@kernel
def down_to_the_floor(limit: int, want: int) -> Wanted:
    """A scan of so many of the best pairs (0: all) down to the floor."""
    return Wanted(limit, want, 1, 0, 1 << 60)


@making_kernel
def scan_room() -> ScanRoom:
    """Room for scans."""
    return ScanRoom(np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64), np.empty((2, CHUNK), np.int64))


@kernel
def after_position(seed: int, j: int) -> np.int64:
    """The hash state after a position."""
    h = np.int64((seed ^ j) * MULTIPLIER)
    state: np.int64 = h ^ ((h >> 32) & LOW32)
    return state


@kernel
def tops_of_chunk(size: int, domain: int, base: I64, room: I64) -> int:
    """Write to ``room[1, t]`` the greatest state, as an unsigned number, that a position with the state ``base[t]`` has
    before the last step of its hashes over all key values (:func:`bound_of`); returns the bound over the chunk. The
    domain is cut into blocks ``w .. w + block - 1`` with a power of two that divides ``w``: over a block, ``state ^ w``
    goes through consecutive numbers, in another order, whose products differ by one addition. ``room[0]`` is room to
    work in; the loops over positions become vector instructions."""
    for t in range(size):
        room[1, t] = 0
    w, block = 0, 1
    while 2 * block <= domain:
        block *= 2
    while w < domain:
        while block > domain - w:
            block >>= 1
        for t in range(size):
            room[0, t] = ((base[t] ^ w) & -block) * MULTIPLIER
        for step in range(0, block, 2):
            more, odd = step * MULTIPLIER, MULTIPLIER if block > 1 else MULTIPLIER & 0
            for t in range(size):
                x = room[0, t] + more
                y = x + odd
                high = np.uint64((x ^ ((x >> 32) & LOW32)) * MULTIPLIER)
                next_to = np.uint64((y ^ ((y >> 32) & LOW32)) * MULTIPLIER)
                room[1, t] = np.int64(max(np.uint64(room[1, t]), high, next_to))
        w += block
    top = np.uint64(0)
    for t in range(size):
        top = max(top, np.uint64(room[1, t]))
    return bound_of(np.int64(top))


@kernel
def bound_of(state: np.int64) -> int:
    """A bound on the score of a state before the hash's last step, equal to it in the upper half."""
    return int(((state >> 1) & HALF) | LOW31)


@kernel
def pair_score(at_j: np.int64, w: int) -> np.int64:
    """The score of key value ``w`` from the hash state after the position."""
    h = (at_j ^ w) * MULTIPLIER
    h = (h ^ ((h >> 32) & LOW32)) * MULTIPLIER
    score: np.int64 = ((h ^ ((h >> 32) & LOW32)) >> 1) & HALF
    return score


@kernel
def wanted(pairs: int, rows: int) -> int:
    """How many pairs the next row is scanned for, where so many rows before it had so many in all."""
    return int(max(FEW, LOWER * pairs // max(1, rows)))


@kernel
def plain_above(
    seed: int, plain: I64, own_j: int, domain: int, bar: int, room: ScanRoom, pairs: I64, count: int
) -> int:
    """Append the pairs of at least ``bar`` at the positions ``plain`` but ``own_j``; their number, or -1: no room."""
    for at in range(0, plain.shape[0], CHUNK):
        mine = plain[at : at + CHUNK]  # no index is a sum, which would cost the vector instructions
        size = mine.shape[0]
        base, tops = room.base[:size], room.tops[1, :size]
        for t in range(size):
            base[t] = after_position(seed, mine[t])
        top = tops_of_chunk(size, domain, room.base, room.tops)
        if top < bar:
            continue
        hits = 0
        for t in range(size):
            room.hits[hits] = t
            hits += 1 if bound_of(tops[t]) >= bar else 0
        if count + hits * domain > pairs.shape[1]:
            return -1
        for hit in range(hits):
            j = mine[room.hits[hit]]
            for w in range(domain if j != own_j else 0):
                s = pair_score(base[room.hits[hit]], w)
                pairs[0, count], pairs[1, count], pairs[2, count] = j, w, s
                count += 1 if s >= bar else 0
    return count


@kernel
def others_above(
    seed: int, pair_j: I64, pair_w: I64, own_j: int, bar: int, room: ScanRoom, pairs: I64, count: int
) -> int:
    """Append the pairs of at least ``bar`` at the positions with fewer key values (:func:`plain_above`)."""
    for at in range(0, pair_j.shape[0], CHUNK):
        j, w, top = pair_j[at : at + CHUNK], pair_w[at : at + CHUNK], 0
        for t in range(j.shape[0]):
            s = pair_score(after_position(seed, j[t]), w[t])
            room.base[t] = s
            top = max(top, int(s))
        if top < bar:
            continue
        if count + j.shape[0] > pairs.shape[1]:
            return -1
        for t in range(j.shape[0]):
            s = room.base[t]
            pairs[0, count], pairs[1, count], pairs[2, count] = j[t], w[t], s
            count += 1 if s >= bar and j[t] != own_j else 0
    return count


@kernel
def ahead(pairs: I64, a: int, b: int, right: int) -> bool:
    """Whether pair ``a`` is better than pair ``b``: by the score, then the position, then the key value."""
    if pairs[2, a] != pairs[2, b]:
        return bool(pairs[2, a] > pairs[2, b])
    if pairs[0, a] != pairs[0, b]:
        return bool((pairs[0, a] > pairs[0, b]) == (right == 1))
    return bool(pairs[1, a] < pairs[1, b])


@making_kernel
def ranked(pairs: I64, count: int, right: int) -> I64:
    """The pairs' numbers, best first: into buckets, which even scores fill evenly, then by insertion."""
    ends, order, least = np.zeros(count + 2, np.int64), np.empty(count, np.int64), HALF
    for t in range(count):
        least = min(least, pairs[2, t])
    scale = count / (float(HALF - least) + 1.0)
    for t in range(count):
        ends[min(int(float(HALF - pairs[2, t]) * scale), count - 1) + 2] += 1
    for b in range(2, count + 2):
        ends[b] += ends[b - 1]
    for t in range(count):
        b = min(int(float(HALF - pairs[2, t]) * scale), count - 1) + 1
        order[ends[b]] = t
        ends[b] += 1
    for t in range(1, count):
        a, at = order[t], t
        while at > 0 and ahead(pairs, a, order[at - 1], right):
            order[at] = order[at - 1]
            at -= 1
        order[at] = a
    return order


@kernel
def down_to_floor(pairs: I64, count: int, own_j: int, keys: ScanKeys, right: int) -> tuple[int, int]:
    """Keep the pairs at or above the best of the worst pairs of positions all of whose pairs are there; how many they
    are, and that position (-1: none, all are kept). A position's pairs stand side by side."""
    floor_s, floor_j, passed, worst = -1, -1, 0, int(HALF)
    for t in range(count):
        j, s = int(pairs[0, t]), int(pairs[2, t])
        if t == 0 or j != pairs[0, t - 1]:
            passed, worst = 0, s
        passed, worst = passed + 1, min(worst, s)
        if (j == own_j or passed == keys.sizes[j - keys.first]) and (
            floor_j < 0 or better(worst, j, floor_s, floor_j, right)
        ):
            floor_s, floor_j = worst, j
    if floor_j < 0:
        return count, -1
    kept = 0
    for t in range(count):
        if better(pairs[2, t], pairs[0, t], floor_s, floor_j, right):
            pairs[0, kept], pairs[1, kept], pairs[2, kept] = pairs[0, t], pairs[1, t], pairs[2, t]
            kept += 1
    return kept, floor_j


@kernel
def first_from(positions: I64, j: int) -> int:
    """How many of the ascending positions are below ``j``; numpy's search would take half a second to compile."""
    low, high = 0, positions.shape[0]
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low


@making_kernel
def scan_row(seed: int, span: Span, keys: ScanKeys, goal: Wanted, room: ScanRoom, pairs: I64) -> tuple[I64, int, int]:
    """A row's pairs, an array (3, capacity) of them by position, how many they are, and the position at the floor; -1:
    they do not reach it. -1 pairs: there are more than ``goal.most``."""
    low, high = first_from(keys.plain, span.low), first_from(keys.plain, span.high)
    first, stop = first_from(keys.pair_j, span.low), first_from(keys.pair_j, span.high)
    own_j = span.own_j if span.own_w >= 0 and span.low <= span.own_j < span.high else -1
    many, want = (high - low) * keys.domain + stop - first, goal.want
    while True:
        bar = max(goal.least, int(HALF) - int(float(HALF) * want / many) if 2 * want < many else 0)
        count = 0
        if own_j >= 0:
            s = pair_score(after_position(seed, own_j), span.own_w)
            pairs[0, 0], pairs[1, 0], pairs[2, 0] = own_j, span.own_w, s
            count = 1 if s >= bar else 0
        count = plain_above(seed, keys.plain[low:high], own_j, keys.domain, bar, room, pairs, count)
        if count >= 0:
            others = keys.pair_j[first:stop], keys.pair_w[first:stop]
            count = others_above(seed, *others, own_j, bar, room, pairs, count)
        if count < 0:
            if pairs.shape[1] >= goal.most:
                return pairs, -1, -1
            pairs = np.empty((3, 2 * pairs.shape[1]), np.int64)
            continue
        floor_j = -1
        if goal.floor == 1:
            count, floor_j = down_to_floor(pairs, count, own_j, keys, span.right)
        if floor_j >= 0 or (goal.limit > 0 and count > goal.limit) or bar == goal.least:
            return pairs, count, floor_j
        want *= LOWER


@making_kernel
def scan_rows(
    seeds: I64, owner: I64, query: I64, bounds: I64, own: int, right: int, limit: int, keys: ScanKeys,
    out: I64, ends: I64, complete: I64,
) -> int:  # fmt: skip
    """Lists of the hashed rows: score of (j, w) = the hash from state ``seeds[r]`` on. ``bounds`` (2, rows): visible
    positions. With ``own`` position ``owner[r]`` has only the key value ``query[r]``. Appends to ``out`` (2, capacity)
    at most ``limit`` pairs a row (0: all); ``ends[r]`` is where row ``r`` ends, ``complete[r]`` whether its list
    reaches the floor. Returns the first row that did not fit."""
    room, pairs = scan_room(), np.empty((3, 4 * FEW + 2 * limit + keys.domain), np.int64)
    used, seen = 0, 0
    for r in range(seeds.shape[0]):
        want = wanted(seen, r)
        if limit > 0:
            want = min(want, limit) if r > FEW else limit
            want += 8 + int(4 * np.sqrt(want))
        span = Span(bounds[0, r], bounds[1, r], owner[r], query[r] if own == 1 else -1, right)
        pairs, count, floor_j = scan_row(seeds[r], span, keys, down_to_the_floor(limit, want), room, pairs)
        seen += count
        complete[r] = 1 if floor_j >= 0 and (limit == 0 or count <= limit) else 0
        size = min(count, limit) if limit > 0 else count
        if used + size > out.shape[1]:
            return r
        order = ranked(pairs, count, right)
        for t in range(size):
            out[0, used + t], out[1, used + t] = pairs[0, order[t]], pairs[1, order[t]]
        used += size
        ends[r] = used
    return len(seeds)
