"""Kernels of the exchange search on sums of list lengths (:mod:`restrict.depth_reduction.ours.exchange`).

Rows are lists of literals ``l = input * symbols + symbol``, best first, with at most one literal on which a row depends
(its *guard*: the row counts while the guard's input is free or fixed to it). Under an assignment a literal is OPEN (its
input is free), HIT or DEAD. A row is cut at its first HIT; its length is the number of open literals before the cut.
The objective is the sum over groups of ``phi[sum of the lengths of the group's rows that count]``.

What every literal would gain and every set input would cost, rows taken one by one, is kept up to date, so a step looks
its candidates up. Only the rows that a changed input stands in up to their cut are walked again, and the other rows of
their groups where ``phi`` bends. All numbers are integers, so nothing drifts.

Invariant between calls: the sums are those of the rows as they are stored, CUT, LENGTH, SILENT, ``total`` and VALUE are
those of ``lits``, and ``held`` and ``place`` agree with them. What stands behind a cut (MORE) may be older.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from restrict.base.arrays import F64, I8, I32, I64
from restrict.kernels.jit import kernel, sized_kernel

Ranks = NDArray[np.int16 | np.int32]
OPEN, HIT, DEAD = range(3)
CUT, LENGTH, MORE, SILENT, TOUCHED, GROUP, GUARD = range(7)
COUNT, RANDOM, VALUE = range(3)


class LiteralRows(NamedTuple):
    """The rows of a layer. Row ``r`` is ``lit[ptr[r] : ptr[r + 1]]`` in group ``group[r]`` with guard ``guard[r]`` (-1:
    none). Literal ``l`` stands in the rows ``occ_row`` at the ranks ``occ_rank``, both ``occ_ptr[l] .. occ_ptr[l +
    1]``, and guards ``guard_row[guard_ptr[l] : guard_ptr[l + 1]]``. Group ``g`` has the rows ``group_ptr[g] ..
    group_ptr[g + 1]``."""

    symbols: int
    ptr: I64
    lit: I32
    group: I64
    guard: I64
    occ_ptr: I64
    occ_row: I32
    occ_rank: Ranks
    guard_ptr: I64
    guard_row: I64
    group_ptr: I64


class ExchangeState(NamedTuple):
    """The state. ``lits`` (literals,) OPEN, HIT or DEAD; ``rows`` (rows, 8): CUT and LENGTH of each, the open literals
    between its first and its second HIT when it was last walked, SILENT (1 where the guard failed), a mark, GROUP and
    GUARD, side by side because rows are met in no order; ``cut`` (rows,) CUT again, which nearly every occurrence of a
    literal is compared with: so it stays in the cache. ``total`` and ``seen``, a mark, (groups,). ``cuts`` (literals,):
    what the objective gains where rows end at the literal, beyond what they gain by its loss, and ``kills`` (inputs,)
    what it gains by the loss of the input's literals; ``loss`` (inputs,) what freeing costs. ``held``: the literals
    that are set, ``place`` (inputs,) where in it, or -1; ``state``: COUNT of them, the RANDOM number, and the
    objective's VALUE."""

    lits: I8
    rows: I32
    cut: Ranks
    total: I64
    cuts: I64
    kills: I64
    loss: I64
    held: I64
    place: I64
    state: I64
    seen: I8


class ExchangeLimits(NamedTuple):
    """``budget``: the most inputs set; ``puts``, ``drops``: how many literals and set inputs a step compares; ``bend``:
    up to here every step of ``phi`` is the same."""

    budget: int
    puts: int
    drops: int
    bend: int


def occurrences_with_numpy(row_ptr: I64, row_lit: I32, occ_ptr: I64, occ_row: I32, occ_rank: Ranks) -> None:
    """As :func:`occurrences`, without compilation."""
    row, order = np.repeat(np.arange(len(row_ptr) - 1), np.diff(row_ptr)), np.argsort(row_lit, kind="stable")
    occ_row[:] = row[order]
    occ_rank[:] = order - row_ptr[row[order]]


@sized_kernel(reads=lambda *arrays: arrays[1].shape[0] // 50, plainly=occurrences_with_numpy, makes=True)
def occurrences(row_ptr: I64, row_lit: I32, occ_ptr: I64, occ_row: I32, occ_rank: Ranks) -> None:
    """The rows and ranks at which each literal stands, by row; ``occ_ptr`` (literals + 1) is given."""
    at = occ_ptr[:-1].copy()
    for r in range(row_ptr.shape[0] - 1):
        for t in range(row_ptr[r], row_ptr[r + 1]):
            l = row_lit[t]
            occ_row[at[l]], occ_rank[at[l]] = r, t - row_ptr[r]
            at[l] += 1


@kernel
def walk(r: int, a: LiteralRows, s: ExchangeState) -> None:
    """Recompute a row."""
    size, more, first, stop = 0, 0, a.ptr[r], a.ptr[r + 1]
    t = first
    while t < stop and s.lits[a.lit[t]] != HIT:
        if s.lits[a.lit[t]] == OPEN:
            size += 1
        t += 1
    v = t + 1
    while v < stop and s.lits[a.lit[v]] != HIT:
        if s.lits[a.lit[v]] == OPEN:
            more += 1
        v += 1
    s.rows[r, CUT], s.rows[r, LENGTH], s.rows[r, MORE], s.cut[r] = t - first, size, more, t - first
    s.rows[r, SILENT] = 1 if s.rows[r, GUARD] >= 0 and s.lits[s.rows[r, GUARD]] == DEAD else 0


@kernel
def count_ends(r: int, now: int, sign: int, a: LiteralRows, s: ExchangeState, phi: I64) -> None:
    """Add (``sign`` = 1) or take away (-1) the loss where the row would go on or count again; ``now``: its total."""
    if s.rows[r, SILENT] == 1:
        s.loss[s.rows[r, GUARD] // a.symbols] += sign * (phi[now + s.rows[r, LENGTH]] - phi[now])
    elif a.ptr[r] + s.rows[r, CUT] < a.ptr[r + 1]:
        l = a.lit[a.ptr[r] + s.rows[r, CUT]]
        s.loss[l // a.symbols] += sign * (phi[now + s.rows[r, MORE] + 1] - phi[now])


@kernel
def count_inside(r: int, now: int, sign: int, a: LiteralRows, s: ExchangeState, phi: I64) -> None:
    """Add or take away what the row gives by its literals before the cut, and by its guard (:func:`count_ends`)."""
    guard, size, stop = s.rows[r, GUARD], s.rows[r, LENGTH], a.ptr[r] + s.rows[r, CUT]
    if s.rows[r, SILENT] == 1:
        stop = a.ptr[r]
    elif guard >= 0 and s.lits[guard] == OPEN:
        gain = sign * (phi[now] - phi[now - size])
        s.kills[guard // a.symbols] += gain
        s.cuts[guard] -= gain
    one, another = sign * (phi[now] - phi[now - 1] if size > 0 else 0), sign * (phi[now + 1] - phi[now])
    for t in range(a.ptr[r], stop):
        l = a.lit[t]
        if s.lits[l] == OPEN:
            s.kills[l // a.symbols] += one
            s.cuts[l] += sign * (phi[now] - phi[now - size]) - one
            size -= 1
        else:
            s.loss[l // a.symbols] += another


@kernel
def settle(g: int, count: int, touched: I64, a: LiteralRows, s: ExchangeState, phi: I64, bend: int) -> int:
    """Put the rows of a group with touched ones into the sums again; returns the rise of the objective. What is taken
    out comes first, then what is put in. For no group (-1), the ``count`` touched rows are taken out, before they are
    walked. All three are turns of one loop, whose body is compiled once."""
    old, new, first, stop = 0, 0, 0, count
    if g >= 0:
        old, first, stop = s.total[g], a.group_ptr[g], a.group_ptr[g + 1]
        for r in range(first, stop):
            new += s.rows[r, LENGTH] if s.rows[r, SILENT] == 0 else 0
        s.total[g] = new
    changed, most = new != old, max(new, old)
    for sign in range(-1, 2 if g >= 0 else 0, 2):
        for t in range(first, stop):
            r, now = t, old if sign < 0 else new
            if g < 0:
                r = touched[t]
                now = s.total[s.rows[r, GROUP]]
            again = s.rows[r, TOUCHED] == 1
            if again and sign < 0 and g >= 0:
                continue
            if again or (changed and most + max(s.rows[r, MORE] + 1, s.rows[r, LENGTH]) > bend):
                count_ends(r, now, sign, a, s, phi)
            if again or (changed and most + 1 > bend):
                count_inside(r, now, sign, a, s, phi)
    return int(phi[new] - phi[old])


@kernel
def touch(l: int, a: LiteralRows, s: ExchangeState, touched: I64) -> int:
    """Mark and list the rows in which the input of a literal counts; without a literal (-1), all rows."""
    count = 0
    if l < 0:
        for r in range(a.group.shape[0]):
            s.rows[r, TOUCHED], touched[r] = 1, r
        return int(a.group.shape[0])
    first = l - l % a.symbols
    for other in range(first, first + a.symbols):
        for t in range(a.occ_ptr[other], a.occ_ptr[other + 1]):
            r = a.occ_row[t]
            if a.occ_rank[t] <= s.cut[r] and s.rows[r, TOUCHED] == 0:
                s.rows[r, TOUCHED], touched[count] = 1, r
                count += 1
        for t in range(a.guard_ptr[other], a.guard_ptr[other + 1]):
            r = a.guard_row[t]
            if s.rows[r, TOUCHED] == 0:
                s.rows[r, TOUCHED], touched[count] = 1, r
                count += 1
    return count


@kernel
def change(l: int, put: int, a: LiteralRows, s: ExchangeState, phi: I64, bend: int, touched: I64) -> int:
    """Fix the free input of ``l`` to it (``put`` = 1) or free it (0); returns the exact rise of the objective. Without
    a literal (-1) every row is walked, and put into sums in which none is yet."""
    count, rise = touch(l, a, s, touched), 0
    if l >= 0:
        settle(-1, count, touched, a, s, phi, bend)
        for other in range(l - l % a.symbols, l - l % a.symbols + a.symbols):
            s.lits[other] = OPEN if put == 0 else (HIT if other == l else DEAD)
    for t in range(count):
        walk(touched[t], a, s)
    for t in range(count):
        g = int(np.int64(s.rows[touched[t], GROUP]))
        if s.seen[g] == 0:
            s.seen[g] = 1
            rise += settle(g, count, touched, a, s, phi, bend)
    for t in range(count):
        s.rows[touched[t], TOUCHED], s.seen[s.rows[touched[t], GROUP]] = 0, 0
    s.state[VALUE] += rise
    return int(rise)


@kernel
def begin(a: LiteralRows, s: ExchangeState, phi: I64, touched: I64) -> None:
    """All of the state from ``lits``: every row is touched, and none is in the sums."""
    for sums in (s.total, s.cuts, s.kills, s.loss):
        for t in range(sums.shape[0]):
            sums[t] = 0
    for r in range(a.group.shape[0]):
        s.rows[r, GROUP], s.rows[r, GUARD] = a.group[r], a.guard[r]
    s.seen[:] = 0
    s.state[VALUE] = phi[0] * s.total.shape[0]
    change(-1, 0, a, s, phi, phi.shape[0], touched)


@kernel
def drawn(state: I64, most: int) -> int:
    """A random number below ``most`` (Marsaglia's xorshift)."""
    x = state[RANDOM]
    x ^= x << 13
    x ^= (x >> 7) & ((1 << 57) - 1)
    x ^= x << 17
    state[RANDOM] = x
    return int(((x >> 11) & ((1 << 52) - 1)) % most)


@kernel
def anneal(
    a: LiteralRows, s: ExchangeState, phi: I64, limits: ExchangeLimits, steps: int, heat: F64, touched: I64
) -> None:
    """The sums anew (:func:`begin`, which is compiled along), then exchanges of a set input for a literal, the best of
    random samples, each done if the objective rises by at most an exponential number of a mean that changes evenly.
    ``heat``: a factor and a divisor of the objective, which give the unit of the mean, and its first and last number of
    units. Gains and losses taken row by row rule out most exchanges; the exact rise decides, and is undone where it is
    too much."""
    begin(a, s, phi, touched)
    literals, unit = s.lits.shape[0], heat[0] * s.state[VALUE] / heat[1]
    hot, cold = unit * heat[2], unit * heat[3]
    for step in range(steps):
        l, gain = -1, np.int64(-1)
        for _ in range(limits.puts):
            other = drawn(s.state, literals)
            if s.lits[other] == OPEN and s.cuts[other] + s.kills[other // a.symbols] > gain:
                l, gain = other, s.cuts[other] + s.kills[other // a.symbols]
        if l < 0:
            continue
        o, allowed, rise, turns = -1, 0.0, np.int64(0), 1
        if s.state[COUNT] >= limits.budget:
            for _ in range(limits.drops):
                other = s.held[drawn(s.state, s.state[COUNT])]
                if o < 0 or s.loss[other // a.symbols] < s.loss[o // a.symbols]:
                    o = other
            mean, turns = hot + (cold - hot) * (step / steps), 2
            allowed = -mean * np.log((drawn(s.state, 1 << 30) + 1) / (1 << 30))
            if s.loss[o // a.symbols] - gain > allowed:
                continue
        turn = 0
        while turn < turns:  # l is set, o freed; where that rises too much o is set again, and l freed: compiled once
            rise += change(l if turn % 3 == 0 else o, 1 - turn % 2, a, s, phi, limits.bend, touched)
            if turn == 1 and rise > allowed:
                turns = 4
            turn += 1
        if turns == 1:
            s.held[s.state[COUNT]], s.place[l // a.symbols] = l, s.state[COUNT]
            s.state[COUNT] += 1
        elif turns == 2:
            at = s.place[o // a.symbols]
            s.held[at], s.place[l // a.symbols], s.place[o // a.symbols] = l, at, -1
