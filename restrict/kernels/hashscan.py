"""The row scan of a purely hashed score, ``hash(..., j, k)``: without the register machine, and only survivors stored.

Random models of a million positions spend their time here. Positions without exceptions are scored in chunks, key value
by key value, so that LLVM vectorises the hash (64-bit products are vector instructions where the processor has
AVX-512DQ). Nearly every chunk has its best score below the floor, and then nothing more is done with it. Tests compare
the answers with those of the general scan, :mod:`restrict.kernels.scan`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.arrays import I64
from restrict.kernels.jit import kernel
from restrict.kernels.machine import HALF, LOW32, MULTIPLIER
from restrict.kernels.scan import EXC, FLOOR_J, FLOOR_S, HAVE_FLOOR, NEXT_J

CHUNK, SHORT = 256, 32
"""Positions scored in one chunk, at most: with few key values the scores stay within the first-level cache. In short
rows a chunk is smaller: most of them hold a pair that is wanted, and such a chunk is gone through once more."""


@kernel
def score_chunk(seed: int, first: int, size: int, domain: int, base: I64, scores: I64) -> int:
    """``scores[w, t]`` = the hashed score of position ``first + t`` and key value ``w``; returns the greatest."""
    for t in range(size):
        h = (seed ^ (first + t)) * MULTIPLIER
        base[t] = h ^ ((h >> 32) & LOW32)
    top = 0
    for w in range(domain):
        for t in range(size):
            h = (base[t] ^ w) * MULTIPLIER
            h = (h ^ ((h >> 32) & LOW32)) * MULTIPLIER
            s = ((h ^ ((h >> 32) & LOW32)) >> 1) & HALF
            scores[w, t] = s
            top = max(top, s)
    return top


MANY = 24
"""With at least so many key values a position is scored by itself, its key values in blocks, and no score is stored."""


LOW31 = np.int64((1 << 31) - 1)
"""What the last step of the hash changes in a score: its lower half."""


@kernel
def top_of_block(start: np.int64, size: int) -> np.int64:
    """The greatest score, right in its upper half, over the hash states ``start .. start + size - 1`` before the last
    two products. The products with consecutive numbers differ by one addition, and so does a vector of them."""
    top, h = np.uint64(0), np.int64(start * MULTIPLIER)
    for t in range(size):
        x = h + t * MULTIPLIER
        top = max(top, np.uint64((x ^ ((x >> 32) & LOW32)) * MULTIPLIER))
    return (np.int64(top) >> 1) & HALF


@kernel
def top_of_position(at_j: np.int64, domain: int) -> int:
    """A bound on the hashed scores of a position over all key values, from the hash state after the position: equal to
    the greatest of them in its upper half.

    The domain is cut into blocks ``w .. w + size - 1`` with size a power of two that divides ``w``: over a block,
    ``at_j ^ w`` goes through consecutive numbers, in another order.
    """
    top, w, size = np.int64(0), 0, 1
    while 2 * size <= domain:
        size *= 2
    while w < domain:
        while size > domain - w:
            size >>= 1
        top = max(top, top_of_block((at_j ^ w) & -size, size))
        w += size
    return int(top | LOW31)


@kernel
def after_position(seed: int, j: int) -> np.int64:
    """The hash state after a position."""
    h = np.int64((seed ^ j) * MULTIPLIER)
    state: np.int64 = h ^ ((h >> 32) & LOW32)
    return state


class KeyValues(NamedTuple):
    """Possible key values: ``0 .. domain-1`` but at the positions ``exc_j`` (ascending), where they are
    ``exc_val[exc_ptr[p] : exc_ptr[p + 1]]``."""

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


@kernel
def scan_hash(seed: int, keys: KeyValues, bounds: I64, state: I64, base: I64, scores: I64, out: I64) -> int:
    """Append to ``out`` (3, capacity) the pairs (j, w, score) at or above the floor; returns how many.

    ``seed`` is the hash state before ``j``. ``bounds`` is (one past the last j, self j, self w, ties right, track):
    with ``track`` the floor rises to the best over j of the worst pair of j, else it stays. ``base`` (chunk) and
    ``scores`` (domain, chunk) are room to work in. Stops, to be called again, where the next position might not fit.
    """
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
        if not special and not own and keys.domain >= MANY:
            if have == 1 and top_of_position(after_position(seed, j), keys.domain) < floor_s:
                j += 1
                continue
        elif not special and not own and j >= scored:
            stop = plain_until(j, exc, bounds, keys, base.shape[0])
            if score_chunk(seed, j, stop - j, keys.domain, base, scores) < floor_s and have == 1:
                j = stop
                continue
            first, scored = j, stop
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
