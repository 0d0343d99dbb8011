"""Kernels of the exchange search on sums of list lengths (:mod:`restrict.depth_reduction.ours.exchange`).

Rows are lists of literals ``l = input * symbols + symbol``, best first, with at most one literal on which a row depends
(its *guard*: the row counts while the guard's input is free or fixed to it). Under an assignment a literal is OPEN (its
input is free), HIT or DEAD. A row is cut at its first HIT; its length is the number of open literals before the cut.
The objective is the sum over groups of ``phi[sum of the lengths of the group's rows that count]``.

Invariant: CUT, LENGTH and ``total`` are those of ``lits`` between calls, and REACH is at least every CUT: occurrences
are listed by rank, so a scan of them can end there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import F64, I32, I64
from restrict.kernels.jit import kernel

OPEN, HIT, DEAD = range(3)
CUT, LENGTH, SILENT = range(3)
COUNT, STEP, REACH = range(3)
ROOM = 4096
"""Literals of a group that a step looks at, at most."""


class RowArrays(NamedTuple):
    """The rows of a layer.

    Row ``r`` is ``lit[ptr[r] : ptr[r + 1]]`` in group ``group[r]`` with guard ``guard[r]`` (-1: none). Literal ``l``
    stands in the rows ``occ_row`` at the ranks ``occ_rank``, both ``occ_ptr[l] .. occ_ptr[l + 1]``, and guards
    ``guard_row[guard_ptr[l] : guard_ptr[l + 1]]``. Group ``g`` has the rows ``group_row[group_ptr[g] : ..]``.
    """

    symbols: int
    ptr: I64
    lit: I32
    group: I64
    guard: I64
    occ_ptr: I64
    occ_row: I32
    occ_rank: I32
    guard_ptr: I64
    guard_row: I64
    group_ptr: I64
    group_row: I64


class ExchangeState(NamedTuple):
    """The state: ``lits`` (literals,) OPEN, HIT or DEAD; ``rows`` (3, rows) CUT, LENGTH and SILENT (1 where the guard
    failed); ``total`` (groups,); ``held`` the literals that are set, ``place`` (inputs,) where in it, or -1; ``stamp``
    (inputs,) the step of the last change; ``state`` the scalars COUNT, STEP and REACH."""

    lits: I64
    rows: I64
    total: I64
    held: I64
    place: I64
    stamp: I64
    state: I64


class Limits(NamedTuple):
    """``budget``: the most inputs set; ``try_put``, ``try_drop``: how many literals and set inputs a step samples;
    ``tabu``: for how many steps an exchanged input stays as it is; ``groups``: three times in four the longest of so
    many groups is shortened."""

    budget: int
    try_put: int
    try_drop: int
    tabu: int
    groups: int


@kernel
def occurrences(row_ptr: I64, row_lit: I32, occ_ptr: I64, occ_row: I32, occ_rank: I32) -> None:
    """The rows and ranks at which each literal stands, by rank; ``occ_ptr`` (literals + 1) is given."""
    at, longest = occ_ptr[:-1].copy(), 0
    for r in range(row_ptr.shape[0] - 1):
        longest = max(longest, row_ptr[r + 1] - row_ptr[r])
    for rank in range(longest):
        for r in range(row_ptr.shape[0] - 1):
            if row_ptr[r] + rank < row_ptr[r + 1]:
                l = row_lit[row_ptr[r] + rank]
                occ_row[at[l]], occ_rank[at[l]] = r, rank
                at[l] += 1


@kernel
def walk(r: int, a: RowArrays, s: ExchangeState) -> None:
    """Recompute CUT and LENGTH of a row."""
    size, first = 0, a.ptr[r]
    t = first
    while t < a.ptr[r + 1]:
        kind = s.lits[a.lit[t]]
        if kind == HIT:
            break
        if kind == OPEN:
            size += 1
        t += 1
    s.rows[CUT, r], s.rows[LENGTH, r] = t - first, size


@kernel
def begin(a: RowArrays, s: ExchangeState) -> None:
    """All of the state from ``lits``."""
    s.total[:], s.state[REACH] = 0, 0
    for r in range(a.group.shape[0]):
        walk(r, a, s)
        s.state[REACH] = max(s.state[REACH], s.rows[CUT, r])
        s.rows[SILENT, r] = 1 if a.guard[r] >= 0 and s.lits[a.guard[r]] == DEAD else 0
        if s.rows[SILENT, r] == 0:
            s.total[a.group[r]] += s.rows[LENGTH, r]


@kernel
def put_gain(l: int, a: RowArrays, s: ExchangeState, phi: F64) -> float:
    """About how much the objective falls when the free input of ``l`` is fixed to it (rows taken one by one)."""
    value = 0.0
    first = l - l % a.symbols
    for other in range(first, first + a.symbols):
        for t in range(a.occ_ptr[other], a.occ_ptr[other + 1]):
            r = a.occ_row[t]
            if a.occ_rank[t] >= s.state[REACH]:
                break
            if a.occ_rank[t] >= s.rows[CUT, r] or s.rows[SILENT, r] == 1:
                continue
            saved = 1
            if other == l:
                size, start = 0, a.ptr[r]
                for v in range(start, start + a.occ_rank[t]):
                    if s.lits[a.lit[v]] == OPEN:
                        size += 1
                saved = s.rows[LENGTH, r] - size
            now = s.total[a.group[r]]
            value += phi[now] - phi[now - saved]
        if other != l:
            for t in range(a.guard_ptr[other], a.guard_ptr[other + 1]):
                r = a.guard_row[t]
                now = s.total[a.group[r]]
                value += phi[now] - phi[now - s.rows[LENGTH, r]]
    return value


@kernel
def drop_loss(l: int, a: RowArrays, s: ExchangeState, phi: F64, ceiling: float) -> float:
    """About how much the objective rises when the input fixed to ``l`` is freed; stops above ``ceiling``."""
    value = 0.0
    first = l - l % a.symbols
    for other in range(first, first + a.symbols):
        for t in range(a.occ_ptr[other], a.occ_ptr[other + 1]):
            r = a.occ_row[t]
            if a.occ_rank[t] > s.state[REACH]:
                break
            if a.occ_rank[t] > s.rows[CUT, r] or s.rows[SILENT, r] == 1:
                continue
            more = 1
            if other == l:
                v = a.ptr[r] + a.occ_rank[t] + 1
                while v < a.ptr[r + 1] and s.lits[a.lit[v]] != HIT:
                    if s.lits[a.lit[v]] == OPEN:
                        more += 1
                    v += 1
            now = s.total[a.group[r]]
            value += phi[now + more] - phi[now]
        if other != l:
            for t in range(a.guard_ptr[other], a.guard_ptr[other + 1]):
                r = a.guard_row[t]
                now = s.total[a.group[r]]
                value += phi[now + s.rows[LENGTH, r]] - phi[now]
        if value > ceiling:
            return value
    return value


@kernel
def change(l: int, put: int, a: RowArrays, s: ExchangeState, phi: F64) -> float:
    """Fix the free input of ``l`` to it (``put`` = 1) or free it (0); returns the exact rise of the objective."""
    value = 0.0
    first = l - l % a.symbols
    for other in range(first, first + a.symbols):
        s.lits[other] = OPEN if put == 0 else (HIT if other == l else DEAD)
    for other in range(first, first + a.symbols):
        for t in range(a.occ_ptr[other], a.occ_ptr[other + 1]):
            r = a.occ_row[t]
            if a.occ_rank[t] > s.state[REACH]:
                break
            if a.occ_rank[t] > s.rows[CUT, r]:
                continue
            old = s.rows[LENGTH, r]
            walk(r, a, s)
            s.state[REACH] = max(s.state[REACH], s.rows[CUT, r])
            new, g = s.rows[LENGTH, r], a.group[r]
            if s.rows[SILENT, r] == 0 and new != old:
                value += phi[s.total[g] + new - old] - phi[s.total[g]]
                s.total[g] += new - old
        if other != l:
            for t in range(a.guard_ptr[other], a.guard_ptr[other + 1]):
                r = a.guard_row[t]
                g, size = a.group[r], s.rows[LENGTH, r]
                s.rows[SILENT, r] = put
                step = -size if put == 1 else size
                value += phi[s.total[g] + step] - phi[s.total[g]]
                s.total[g] += step
    return value


@kernel
def long_group(random: I64, total: I64, tried: int) -> int:
    """One time in four the longest group, else the longest of so many (1 .. 12)."""
    groups = total.shape[0]
    if random[0] & 3 == 0:
        return int(np.argmax(total))
    g = random[0] % groups
    for t in range(1, tried):
        other = (random[1] >> (t * 4)) % groups
        if total[other] > total[g]:
            g = other
    return int(g)


@kernel
def fill_pool(g: int, a: RowArrays, s: ExchangeState, pool: I64) -> int:
    """The open literals of a group's rows before their cuts, and its open guards; returns how many."""
    size = 0
    for v in range(a.group_ptr[g], a.group_ptr[g + 1]):
        r = a.group_row[v]
        if s.rows[SILENT, r] == 1:
            continue
        for t in range(a.ptr[r], a.ptr[r] + s.rows[CUT, r]):
            if s.lits[a.lit[t]] == OPEN and size < pool.shape[0]:
                pool[size] = a.lit[t]
                size += 1
        if a.guard[r] >= 0 and s.lits[a.guard[r]] == OPEN and size < pool.shape[0]:
            pool[size] = a.guard[r]
            size += 1
    return size


@kernel
def best_put(size: int, a: RowArrays, s: ExchangeState, phi: F64, limits: Limits, random: I64, pool: I64) -> int:
    """The literal with the greatest gain of a sample of ``pool[:size]``, or -1."""
    chosen, gain = -1, -1.0
    for t in range(min(limits.try_put, size)):
        pick = t + random[2 + t] % (size - t)
        pool[t], pool[pick] = pool[pick], pool[t]
        l = pool[t]
        if s.stamp[l // a.symbols] + limits.tabu > s.state[STEP]:
            continue
        worth = put_gain(l, a, s, phi)
        if worth > gain:
            chosen, gain = l, worth
    return chosen


@kernel
def cheapest_drop(start: int, put: int, a: RowArrays, s: ExchangeState, phi: F64, limits: Limits) -> int:
    """The set literal with the least loss of a sample from place ``start`` on; not ``put``."""
    cheapest, cost = -1, 0.0
    for t in range(min(limits.try_drop, s.state[COUNT])):
        l = s.held[(start + t) % s.state[COUNT]]
        if l == put and s.state[COUNT] > 1:
            continue
        if s.stamp[l // a.symbols] + limits.tabu > s.state[STEP] and s.state[COUNT] > 2 * limits.tabu:
            continue
        loss = drop_loss(l, a, s, phi, cost if cheapest >= 0 else 1e300)
        if cheapest < 0 or loss < cost:
            cheapest, cost = l, loss
    return cheapest if cheapest >= 0 else s.held[start]


@kernel
def keep(a: RowArrays, s: ExchangeState, best: I64, values: F64) -> None:
    """What is set now is the best."""
    values[1] = values[0]
    best[:] = -1
    for t in range(s.state[COUNT]):
        best[s.held[t] // a.symbols] = s.held[t] % a.symbols


@kernel
def exchange(a: RowArrays, s: ExchangeState, phi: F64, limits: Limits, random: I64, best: I64, values: F64) -> None:
    """Steps of the search: shorten a long group by the best of a sample of literals, free the cheapest of a sample.

    ``values`` is (objective, best objective); ``best`` (inputs,) the inputs' symbols there, -1 = free. ``random`` holds
    ``2 + try_put`` numbers per step.
    """
    width, pool = 2 + limits.try_put, np.empty(ROOM, np.int64)
    s.state[REACH] = np.max(s.rows[CUT]) if s.rows.shape[1] > 0 else 0
    for step in range(random.shape[0] // width):
        numbers = random[step * width : (step + 1) * width]
        s.state[STEP] += 1
        size = fill_pool(long_group(numbers, s.total, limits.groups), a, s, pool)
        chosen = best_put(size, a, s, phi, limits, numbers, pool)
        if chosen >= 0:
            values[0] += change(chosen, 1, a, s, phi)
            s.place[chosen // a.symbols], s.held[s.state[COUNT]] = s.state[COUNT], chosen
            s.state[COUNT] += 1
            s.stamp[chosen // a.symbols] = s.state[STEP]
        while s.state[COUNT] > limits.budget:
            l = cheapest_drop((numbers[0] >> 8) % s.state[COUNT], chosen, a, s, phi, limits)
            values[0] += change(l, 0, a, s, phi)
            s.state[COUNT] -= 1
            last, at = s.held[s.state[COUNT]], s.place[l // a.symbols]
            s.held[at], s.place[last // a.symbols], s.place[l // a.symbols] = last, at, -1
            s.stamp[l // a.symbols] = s.state[STEP]
        if values[0] < values[1] * (1.0 - 1e-12):
            keep(a, s, best, values)


@kernel
def weigh(a: RowArrays, s: ExchangeState, phi: F64, put: I64, gains: F64, losses: F64) -> None:
    """The gains of the literals ``put``, -1 where the input is set, and the losses of the set ones in their order."""
    s.state[REACH] = np.max(s.rows[CUT]) if s.rows.shape[1] > 0 else 0
    for t in range(put.shape[0]):
        gains[t] = put_gain(put[t], a, s, phi) if s.lits[put[t]] == OPEN else -1.0
    for t in range(s.state[COUNT]):
        losses[t] = drop_loss(s.held[t], a, s, phi, np.inf)


@kernel
def anneal(a: RowArrays, s: ExchangeState, phi: F64, put: I64, drop: I64, allowed: F64, best: I64, values: F64) -> None:
    """Exchanges of ``drop[t]`` for ``put[t]``, each done if the objective rises by at most ``allowed[t]``.

    Gains and losses taken row by row rule out most of them; the exact rise decides, and is undone where it is too much.
    Literals that are not set (``drop``) or not open (``put``) any more are left out. ``best`` and ``values`` are those
    of :func:`exchange`.
    """
    for t in range(put.shape[0]):
        l, o = put[t], drop[t]
        if s.lits[l] != OPEN or s.lits[o] != HIT:
            continue
        most = put_gain(l, a, s, phi) + allowed[t]
        if drop_loss(o, a, s, phi, most) > most:
            continue
        rise = change(l, 1, a, s, phi) + change(o, 0, a, s, phi)
        if rise > allowed[t]:
            change(o, 1, a, s, phi)
            change(l, 0, a, s, phi)
            continue
        values[0] += rise
        at = s.place[o // a.symbols]
        s.held[at], s.place[l // a.symbols], s.place[o // a.symbols] = l, at, -1
        if values[0] < values[1] * (1.0 - 1e-12):
            keep(a, s, best, values)
