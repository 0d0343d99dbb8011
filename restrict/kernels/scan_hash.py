"""The row scan of a purely hashed score, ``hash(..., j, k)``: without the register machine, and only survivors stored.
Random models of a million positions spend their time here. Positions without exceptions are scored in chunks, key value
by key value, so that LLVM vectorises the hash (64-bit products are vector instructions where the processor has
AVX-512DQ). Nearly every chunk has its best score below the floor, and then nothing more is done with it. Tests compare
the answers with those of the general scan, :mod:`restrict.kernels.scan`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64, take_rows
from restrict.kernels.jit import kernel, sized_kernel
from restrict.kernels.machine import HALF, LOW32, MULTIPLIER, hashed, scores_after
from restrict.kernels.scan import EXC, FLOOR_J, FLOOR_S, HAVE_FLOOR, NEXT_J

CHUNK, SHORT = 256, 32
"""Positions scored in one chunk, at most: with few key values the scores stay within the first-level cache. In short
rows a chunk is smaller: most of them hold a pair that is wanted, and such a chunk is gone through once more."""


@kernel
def after_position(seed: int, j: int) -> np.int64:
    """The hash state after a position."""
    h = np.int64((seed ^ j) * MULTIPLIER)
    state: np.int64 = h ^ ((h >> 32) & LOW32)
    return state


@kernel
def score_chunk(seed: int, first: int, size: int, domain: int, base: I64, scores: I64) -> int:
    """``scores[w, t]`` = the hashed score of position ``first + t`` and key value ``w``; returns the greatest."""
    for t in range(size):
        base[t] = after_position(seed, first + t)
    top = 0
    for w in range(domain):
        for t in range(size):
            h = (base[t] ^ w) * MULTIPLIER
            h = (h ^ ((h >> 32) & LOW32)) * MULTIPLIER
            s = ((h ^ ((h >> 32) & LOW32)) >> 1) & HALF
            scores[w, t] = s
            top = max(top, s)
    return top


MANY = 8
"""With at least so many key values only the greatest score of each position is computed, and no score is stored."""


LOW31 = np.int64((1 << 31) - 1)
"""What the last step of the hash changes in a score: its lower half."""


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


class KeyValues(NamedTuple):
    """Possible key values: ``exc_val[exc_ptr[p] : exc_ptr[p + 1]]`` at ``exc_j``, elsewhere ``0 .. domain-1``."""

    domain: int
    exc_j: I64
    exc_ptr: I64
    exc_val: I64


@kernel
def pair_score(at_j: np.int64, w: int) -> np.int64:
    """The score of key value ``w`` from the hash state after the position."""
    h = (at_j ^ w) * MULTIPLIER
    h = (h ^ ((h >> 32) & LOW32)) * MULTIPLIER
    score: np.int64 = ((h ^ ((h >> 32) & LOW32)) >> 1) & HALF
    return score


@kernel
def plain_until(j: int, exc: int, bounds: I64, keys: KeyValues, size: int) -> int:
    """One past the last of at most ``size`` positions from ``j`` on that have the whole domain."""
    stop = min(bounds[0], j + size)
    if exc < keys.exc_j.shape[0]:
        stop = min(stop, keys.exc_j[exc])
    if bounds[2] >= 0 and j < bounds[1]:
        stop = min(stop, bounds[1])
    return int(stop)


NUMPY_PAIRS = 1 << 15
"""Pairs that numpy scores at a time, in a millisecond or less."""


def _pairs(keys: KeyValues, bounds: I64, first: int, stop: int) -> tuple[I64, I64 | int]:
    """The key values of all pairs at the positions ``first .. stop - 1``, and how many each position has."""
    low, high = np.searchsorted(keys.exc_j, (first, stop))
    own = bounds[2] >= 0 and first <= bounds[1] < stop
    if low == high and not own:
        return np.tile(np.arange(keys.domain, dtype=np.int64), stop - first), keys.domain
    which = np.arange(low, high)[keys.exc_j[low:high] != (bounds[1] if own else -1)]
    special = keys.exc_j[which] - first
    sizes, fewer = np.full(stop - first, keys.domain, dtype=np.int64), np.zeros(stop - first, dtype=bool)
    sizes[special], fewer[special] = np.diff(keys.exc_ptr)[which], True
    if own:
        sizes[bounds[1] - first] = 1
    starts = np.cumsum(sizes) - sizes
    w = np.arange(sizes.sum(), dtype=np.int64) - np.repeat(starts, sizes)
    w[np.repeat(fewer, sizes)] = keys.exc_val[take_rows(keys.exc_ptr, which)]
    if own:
        w[starts[bounds[1] - first]] = bounds[2]
    return w, sizes


def scan_with_numpy(seed: int, keys: KeyValues, bounds: I64, state: I64, _: I64, __: I64, out: I64) -> int:
    """What :func:`scan_hash` does, for rows too few to compile it. The floor before each position is the greatest of
    the worst scores before it; where a score equals it, the floor's position decides."""
    right, track, count = bounds[3] == 1, bounds[4] == 1, 0
    while state[NEXT_J] < bounds[0]:
        first, known = int(state[NEXT_J]), int(state[FLOOR_S]) if state[HAVE_FLOOR] else -1
        stop = min(int(bounds[0]), first + max(1, NUMPY_PAIRS // keys.domain))
        w, sizes = _pairs(keys, bounds, first, stop)
        s = scores_after(np.repeat(hashed(np.arange(first, stop, dtype=np.int64) ^ seed), sizes), w)
        starts = np.cumsum(np.broadcast_to(sizes, stop - first), dtype=np.int64) - sizes
        worst = np.minimum.reduceat(s, starts) if track else np.full(len(starts), -1, dtype=np.int64)
        floors = np.maximum.accumulate(np.append(known, worst))

        def place(score: int, until: int, first: int = first, known: int = known, worst: I64 = worst) -> int:
            """The position of the floor of a score, before a position."""
            at = (first + np.flatnonzero(worst[:until] == score)).tolist()
            at += [int(state[FLOOR_J])] if known == score else []
            return max(at) if right else min(at)

        kept = np.flatnonzero(s >= known)
        at = np.searchsorted(starts, kept, side="right") - 1
        passes, j = s[kept] > floors[at], first + at
        for t in np.flatnonzero(s[kept] == floors[at]).tolist():
            floor_j = place(int(s[kept[t]]), int(at[t]))
            passes[t] = j[t] >= floor_j if right else j[t] <= floor_j
        kept, at = kept[passes], at[passes]
        ends = count + np.searchsorted(at, np.arange(len(starts)), side="right")
        done = int(np.searchsorted(ends, out.shape[1], side="right"))  # positions that fit
        kept = kept[at < done]
        out[:, count : count + len(kept)] = first + at[: len(kept)], w[kept], s[kept]
        count += len(kept)
        if track and done:
            state[FLOOR_J] = place(int(floors[done]), done)
            state[HAVE_FLOOR], state[FLOOR_S] = 1, floors[done]
        state[NEXT_J], state[EXC] = first + done, np.searchsorted(keys.exc_j, first + done)
        if done < len(starts):
            break
    return count


@sized_kernel(
    reads=lambda seed, keys, bounds, state, *_: int(bounds[0] - state[NEXT_J]) * keys.domain, plainly=scan_with_numpy
)
def scan_hash(seed: int, keys: KeyValues, bounds: I64, state: I64, base: I64, scores: I64, out: I64) -> int:
    """Append to ``out`` (3, capacity) the pairs (j, w, score) at or above the floor; returns how many. ``seed`` is the
    hash state before ``j``. ``bounds`` is (one past the last j, self j, self w, ties right, track): with ``track`` the
    floor rises to the best over j of the worst pair of j, else it stays. ``base`` (chunk) and ``scores`` (domain,
    chunk) are room to work in. Stops, to be called again, where the next position might not fit."""
    hi, self_j, self_w, right, track = bounds[0], bounds[1], bounds[2], bounds[3], bounds[4]
    j, exc = state[NEXT_J], state[EXC]
    have, floor_s, floor_j = state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J]
    count = 0
    first, scored = j, j  # scores of positions first .. scored-1 are known
    while j < hi:
        while exc < keys.exc_j.shape[0] and keys.exc_j[exc] < j:
            exc += 1
        special = exc < keys.exc_j.shape[0] and keys.exc_j[exc] == j
        own = self_w >= 0 and j == self_j
        if not special and not own:
            if j >= scored:
                first, scored = j, plain_until(j, exc, bounds, keys, base.shape[0])
                if keys.domain < MANY:
                    top = score_chunk(seed, j, scored - j, keys.domain, base, scores)
                else:
                    for t in range(scored - j):
                        base[t] = after_position(seed, j + t)
                    top = tops_of_chunk(scored - j, keys.domain, base, scores)
                if top < floor_s and have == 1:
                    j = scored
                    continue
            if keys.domain >= MANY and have == 1 and bound_of(scores[1, j - first]) < floor_s:
                j += 1
                continue
        size = keys.exc_ptr[exc + 1] - keys.exc_ptr[exc] if special else keys.domain
        if own:
            size = 1
        if count + size > out.shape[1]:
            break
        at_j = after_position(seed, j)
        worst, tied = HALF, j >= floor_j if right else j <= floor_j
        for t in range(size):
            w = self_w if own else (keys.exc_val[keys.exc_ptr[exc] + t] if special else t)
            s = pair_score(at_j, w) if special or own or keys.domain >= MANY else scores[t, j - first]
            worst = min(worst, s)
            if have == 0 or s > floor_s or (s == floor_s and tied):
                out[0, count], out[1, count], out[2, count] = j, w, s
                count += 1
        if track and (have == 0 or worst > floor_s or (worst == floor_s and tied)):
            have, floor_s, floor_j = 1, worst, j
        j += 1
    state[NEXT_J], state[EXC] = j, exc
    state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J] = have, floor_s, floor_j
    return count
