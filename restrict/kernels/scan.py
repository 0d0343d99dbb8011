"""Kernels of the row scan: all pairs (attended position, key value) of one head at one position and query value.

:mod:`restrict.rows.row` streams a row in blocks through :func:`fill_pairs`, the register machine, and the two
selections; nothing of size n is stored but the pairs that survive.

The possible key values of position ``j`` are ``0 .. default_domain-1`` except at the positions listed in ``exc_j``
(sorted), where they are ``exc_val[exc_ptr[p] : exc_ptr[p+1]]``.
"""

from __future__ import annotations

from restrict.base.arrays import I64
from restrict.kernels.jit import kernel

# Fields of the state that carries a scan from one call to the next.
NEXT_J, NEXT_W, EXC, HAVE_FLOOR, FLOOR_S, FLOOR_J, WORST, OPEN = range(8)
STATE_SIZE = 8


@kernel
def better(s: int, j: int, s2: int, j2: int, right: int) -> bool:
    """Whether the pair (s, j) is at or above (s2, j2): score first, then the tie rule."""
    if s != s2:
        return s > s2
    return j >= j2 if right else j <= j2


@kernel
def fill_pairs(
    default_domain: int, exc_j: I64, exc_ptr: I64, exc_val: I64, bounds: I64, regs: I64, last: I64, state: I64
) -> int:
    """Write the next pairs of a row to registers 0 (j) and 1 (key value); returns how many. ``bounds`` is (one past the
    last j, self j, self w): where ``self w >= 0``, position ``self j`` has only that value. ``last[t]`` is 1 at the
    last pair of a position. ``state`` remembers where to go on; a position may be split over two blocks."""
    hi, self_j, self_w = bounds[0], bounds[1], bounds[2]
    j, w, exc = state[NEXT_J], state[NEXT_W], state[EXC]
    capacity = last.shape[0]
    m = 0
    while m < capacity and j < hi:
        while exc < exc_j.shape[0] and exc_j[exc] < j:
            exc += 1
        special = exc < exc_j.shape[0] and exc_j[exc] == j
        size = exc_ptr[exc + 1] - exc_ptr[exc] if special else default_domain
        if j == self_j and self_w >= 0:
            regs[0, m], regs[1, m], last[m] = j, self_w, 1
            m += 1
            w = size
        else:
            stop = min(size, w + capacity - m)
            for t in range(w, stop):
                regs[0, m] = j
                regs[1, m] = exc_val[exc_ptr[exc] + t] if special else t
                last[m] = 1 if t == size - 1 else 0
                m += 1
            w = stop
        if w == size:
            j += 1
            w = 0
    state[NEXT_J], state[NEXT_W], state[EXC] = j, w, exc
    return m


@kernel
def raise_floor(scores: I64, js: I64, last: I64, m: int, right: int, state: I64) -> None:
    """The floor becomes the best, over all positions seen so far, of the worst pair of the position."""
    have, floor_s, floor_j = state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J]
    worst, is_open = state[WORST], state[OPEN]
    for t in range(m):
        worst = min(worst, scores[t]) if is_open else scores[t]
        is_open = 1 - last[t]
        if last[t] == 1 and (have == 0 or better(worst, js[t], floor_s, floor_j, right)):
            have, floor_s, floor_j = 1, worst, js[t]
    state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J] = have, floor_s, floor_j
    state[WORST], state[OPEN] = worst, is_open


@kernel
def select_pairs(scores: I64, regs: I64, m: int, right: int, state: I64, chosen: I64) -> int:
    """Write to ``chosen`` the indices of the pairs at or above the floor; returns how many."""
    have, floor_s, floor_j = state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J]
    count = 0
    for t in range(m):
        if have == 0 or (scores[t] >= floor_s and better(scores[t], regs[0, t], floor_s, floor_j, right)):
            chosen[count] = t
            count += 1
    return count


@kernel
def attend_table(scores: I64, keys: I64, first: int, right: int, winners: I64) -> None:
    """``winners[b]``: position of its best score; ``scores`` (m, d) from position ``first`` on, ``keys`` (b, m)."""
    m = scores.shape[0]
    for b in range(keys.shape[0]):
        best = 0
        for j in range(1, m):
            s, top = scores[j, keys[b, j]], scores[best, keys[b, best]]
            if s > top or (s == top and right == 1):
                best = j
        winners[b] = first + best
