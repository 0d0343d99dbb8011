"""Kernels of the covering problem with cubes of any size: greedy covering, exchange, deletion, resampling. Notation and
state: :mod:`restrict.kernels.cover_state`."""

from __future__ import annotations

import heapq

from restrict.base.arrays import I64
from restrict.kernels.cover_state import (
    COUNT,
    DONE,
    HITS,
    LEAST,
    LIST,
    MARK,
    OPEN,
    OPEN_LIST,
    STAMP,
    STEP,
    STOP,
    TARGET,
    WEIGHT,
    WHERE,
    Cubes,
    State,
    close_pair,
    hold,
    keep,
    open_pair,
    release,
    rival,
)
from restrict.kernels.jit import kernel, making_kernel

NOISE = 16
"""One exchange in so many takes a random cube: without it, cubes of several literals are undone and redone forever."""


@kernel
def place(l: int, a: Cubes, s: State) -> None:
    """Let ``l`` hold; ``missing[q]`` counts the literals of cube ``q`` that do not."""
    hold(l, s)
    for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
        q = a.lit_cube[t]
        s.missing[q] -= 1
        if s.missing[q] == 0:
            p = a.cube_pair[q]
            s.pairs[HITS, p] += 1
            if s.pairs[HITS, p] == 1:
                close_pair(p, s)


@kernel
def lift(l: int, a: Cubes, s: State) -> None:
    """Let ``l`` hold no more; the inverse of :func:`place`."""
    release(l, s)
    for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
        q = a.lit_cube[t]
        s.missing[q] += 1
        if s.missing[q] == 1:
            p = a.cube_pair[q]
            s.pairs[HITS, p] -= 1
            if s.pairs[HITS, p] == 0:
                open_pair(p, s)


@kernel
def loss(l: int, a: Cubes, s: State) -> int:
    """Weight of the pairs all of whose satisfied cubes contain ``l``."""
    total = 0
    for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
        if s.missing[a.lit_cube[t]] == 0:
            p = a.cube_pair[a.lit_cube[t]]
            s.pairs[MARK, p] += 1
            if s.pairs[MARK, p] == s.pairs[HITS, p]:
                total += s.pairs[WEIGHT, p]
    for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
        s.pairs[MARK, a.cube_pair[a.lit_cube[t]]] = 0
    return total


@kernel
def gain(q: int, a: Cubes, s: State) -> int:
    """Weight of the uncaptured pairs that satisfying cube ``q`` captures (what it unsets is not subtracted)."""
    total = 0
    for v in range(a.cube_ptr[q], a.cube_ptr[q + 1]):
        l = a.cube_lit[v]
        if s.lits[WHERE, l] >= 0:
            continue
        for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
            d = a.lit_cube[t]
            s.missing[d] -= 1
            p = a.cube_pair[d]
            if s.missing[d] == 0 and s.pairs[HITS, p] == 0 and s.pairs[MARK, p] == 0:
                s.pairs[MARK, p] = 1
                total += s.pairs[WEIGHT, p]
    for v in range(a.cube_ptr[q], a.cube_ptr[q + 1]):
        l = a.cube_lit[v]
        if s.lits[WHERE, l] >= 0:
            continue
        for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
            s.missing[a.lit_cube[t]] += 1
            s.pairs[MARK, a.cube_pair[a.lit_cube[t]]] = 0
    return total


@kernel
def need(q: int, a: Cubes, s: State) -> int:
    """Inputs to set before cube ``q`` is satisfied, or -1 where one of them has another symbol."""
    count = 0
    for v in range(a.cube_ptr[q], a.cube_ptr[q + 1]):
        if s.lits[WHERE, a.cube_lit[v]] < 0:
            if rival(a.cube_lit[v], a.symbols, s) >= 0:
                return -1
            count += 1
    return count


@making_kernel
def greedy_cubes(a: Cubes, s: State, order: I64, limit: int) -> None:
    """Satisfy the cube with most newly captured pairs per newly set input, until none is left or ``limit`` is reached.
    The gain of a cube can rise when one of its literals comes to hold, so those cubes are pushed again; a popped entry
    is re-evaluated and goes back unless it is still right. ``order`` ranks ties. Cost: one gain per push."""
    heap = [(0.0, 0, 0)]
    for q in range(a.cube_pair.shape[0]):
        size = need(q, a, s)
        heap.append((-gain(q, a, s) / size, order[q], q))
    heap[0] = heap[len(heap) - 1]
    heap.pop()
    heapq.heapify(heap)
    while len(heap) > 0 and s.state[OPEN] > 0:
        key, rank, q = heapq.heappop(heap)
        if s.pairs[HITS, a.cube_pair[q]] > 0:
            continue
        size = need(q, a, s)
        if size < 0 or s.state[COUNT] + size > limit:
            continue
        value = -gain(q, a, s) / size
        if value > key:
            heapq.heappush(heap, (value, rank, q))
            continue
        for v in range(a.cube_ptr[q], a.cube_ptr[q + 1]):
            l = a.cube_lit[v]
            if s.lits[WHERE, l] >= 0:
                continue
            place(l, a, s)
            for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
                d = a.lit_cube[t]
                if s.pairs[HITS, a.cube_pair[d]] == 0 and need(d, a, s) > 0:
                    heapq.heappush(heap, (-1e18, order[d], d))


@kernel
def cheapest_lift(start: int, sample: int, a: Cubes, s: State) -> int:
    """:func:`cheapest` with the loss computed on the spot."""
    count, best, value = s.state[COUNT], -1, 0
    for t in range(min(sample, count)):
        l = s.lits[LIST, (start + t) % count]
        if s.lits[STAMP, l] >= s.state[STEP]:
            continue
        cost = loss(l, a, s)
        if best < 0 or cost < value or (cost == value and s.lits[STAMP, l] < s.lits[STAMP, best]):
            best, value = l, cost
    return best if best >= 0 else s.lits[LIST, start % count]


@kernel
def satisfy(q: int, a: Cubes, s: State) -> None:
    """Set the inputs of cube ``q`` to its symbols, whatever they were."""
    for v in range(a.cube_ptr[q], a.cube_ptr[q + 1]):
        l = a.cube_lit[v]
        other = rival(l, a.symbols, s)
        if other != l:
            if other >= 0:
                lift(other, a, s)
                s.lits[STAMP, other] = s.state[STEP]
            place(l, a, s)
        s.lits[STAMP, l] = s.state[STEP] + 1


@kernel
def best_cube(p: int, a: Cubes, s: State) -> int:
    """The cube of ``p`` with the largest (gain - loss of what it unsets) per input to set; not one just undone."""
    chosen, value = -1, 0.0
    for q in range(a.pair_ptr[p], a.pair_ptr[p + 1]):
        worth, size, undone = 0, 0, 0
        for v in range(a.cube_ptr[q], a.cube_ptr[q + 1]):
            l = a.cube_lit[v]
            other = rival(l, a.symbols, s)
            if other != l:
                size += 1
                undone = max(undone, 1 if s.lits[STAMP, l] >= s.state[STEP] else 0)
                if other >= 0:
                    worth -= loss(other, a, s)
        if undone == 1 and size == a.cube_ptr[q + 1] - a.cube_ptr[q]:
            continue
        worth += gain(q, a, s)
        rate = worth / size if worth >= 0 else float(worth)
        if chosen < 0 or rate > value:
            chosen, value = q, rate
    return chosen


@kernel
def exchange_cubes(a: Cubes, s: State, sample: int, random: I64, best: I64) -> None:
    """:func:`exchange_literals` for cubes of any size: gains and losses on the spot, one step in NOISE at random."""
    for t in range(0, random.shape[0], 2):
        while s.state[OPEN] == 0:
            keep(a.symbols, best, s)
            s.state[TARGET] = s.state[COUNT] - 1
            if s.state[COUNT] <= s.state[STOP]:
                s.state[DONE] = 1
                return
            l = cheapest_lift(random[t], sample, a, s)
            lift(l, a, s)
        if s.state[TARGET] <= 0:
            s.state[DONE] = 1
            return
        p = s.pairs[OPEN_LIST, random[t + 1] % s.state[OPEN]]
        q = best_cube(p, a, s)
        if q < 0 or (random[t] >> 40) % NOISE == 0:
            q = a.pair_ptr[p] + (random[t + 1] >> 20) % (a.pair_ptr[p + 1] - a.pair_ptr[p])
        if q >= 0:
            satisfy(q, a, s)
        s.state[STEP] += 1
        while s.state[COUNT] > s.state[TARGET]:
            l = cheapest_lift(random[t], sample, a, s)
            lift(l, a, s)
            s.lits[STAMP, l] = s.state[STEP]
        if s.state[OPEN] < s.state[LEAST]:
            keep(a.symbols, best, s)
        for v in range(s.state[OPEN]):
            s.pairs[WEIGHT, s.pairs[OPEN_LIST, v]] += 1


@kernel
def prune(order: I64, a: Cubes, s: State) -> None:
    """Unset, in the given order of literals, whatever no pair needs: what stays is minimal under deletion."""
    for l in order:
        if s.lits[WHERE, l] >= 0 and loss(l, a, s) == 0:
            lift(l, a, s)


@kernel
def resample(a: Cubes, s: State, scope_ptr: I64, scope: I64, outcomes: I64, cap: int, counts: I64) -> int:
    """Moser-Tardos: while a pair is uncaptured, redraw the inputs of one such pair from ``outcomes`` (-1: free).
    ``counts[p]`` counts the redraws of ``p``, ``state[STEP]`` all of them; stops at ``cap`` or when ``outcomes`` does
    not hold enough for the next redraw. Returns how many outcomes were used."""
    used = 0
    while s.state[OPEN] > 0 and s.state[STEP] < cap:
        p = s.pairs[OPEN_LIST, 0]
        if used + scope_ptr[p + 1] - scope_ptr[p] > outcomes.shape[0]:
            break
        s.state[STEP] += 1
        counts[p] += 1
        for v in range(scope_ptr[p], scope_ptr[p + 1]):
            first = scope[v] * a.symbols
            old, new = rival(first, a.symbols, s), outcomes[used]
            used += 1
            if old >= 0 and old != first + new:
                lift(old, a, s)
            if new >= 0 and old != first + new:
                place(first + new, a, s)
    return used
