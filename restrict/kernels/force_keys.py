"""Kernels of the greedy forcing of keys that take several inputs (:mod:`restrict.depth_reduction.ours.capture`). Rows
are lists of pairs (position, key value), written ``l = position * domain + value``, best first
(:class:`restrict.kernels.exchange.LiteralRows`, with ``symbols`` = the key's domain). Forcing a pair cuts the rows
below it; a query's value silences the rows of the position's other values."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from restrict.base.arrays import F64, I32, I64
from restrict.kernels.exchange import LiteralRows
from restrict.kernels.jit import kernel, making_kernel

COUNT, NEXT, SPENT = range(3)


class KeyCubes(NamedTuple):
    """The forcing cube of each pair: ``literal[l, :length[l]]``, ``input * symbols + symbol``; -1: unknown."""

    symbols: int
    literal: I32
    length: I64


class RowLengths(NamedTuple):
    """The state: ``cut`` and ``size`` (weighed) of each row, ``total`` of each group, ``weight`` (positions,) what a
    candidate costs; the objective is the sum of ``total ** power``."""

    cut: I64
    size: I64
    total: F64
    weight: I64
    power: float


class KeyQueue(NamedTuple):
    """Where the work stands: pairs ``lit`` by ``gain`` (negative), as many as ``state`` says in COUNT; there also the
    NEXT pair to be priced, and how many inputs are SPENT."""

    gain: F64
    lit: I64
    state: I64


@kernel
def cube_cost(l: int, cubes: KeyCubes, assignment: I64) -> int:
    """Inputs of the cube of ``l`` that are not set yet, or -1 where one is set to another symbol."""
    cost = 0
    for t in range(cubes.length[l]):
        known = assignment[cubes.literal[l, t] // cubes.symbols]
        if known < 0:
            cost += 1
        elif known != cubes.literal[l, t] % cubes.symbols:
            return -1
    return cost


@kernel
def pair_gain(l: int, a: LiteralRows, s: RowLengths) -> float:
    """How much the objective falls when the variable has the value of ``l``."""
    value = 0.0
    first = l - l % a.symbols
    silent, group = 0, -1
    for other in range(first, first + a.symbols):
        for t in range(a.guard_ptr[other], a.guard_ptr[other + 1]):
            if other != l:
                silent += s.size[a.guard_row[t]]
                group = a.group[a.guard_row[t]]
    if silent > 0:
        value += s.total[group] ** s.power - max(0.0, s.total[group] - silent) ** s.power
    for other in range(first, first + a.symbols):
        for t in range(a.occ_ptr[other], a.occ_ptr[other + 1]):
            r = a.occ_row[t]
            if a.occ_rank[t] >= s.cut[r]:
                continue
            saved = s.weight[first // a.symbols]
            if other == l:
                saved = 0
                for v in range(a.ptr[r] + a.occ_rank[t], a.ptr[r] + s.cut[r]):
                    saved += s.weight[a.lit[v] // a.symbols]
            now = s.total[a.group[r]]
            value += now**s.power - max(0.0, now - saved) ** s.power
    return value


@kernel
def rows_of(l: int, a: LiteralRows) -> int:
    """The rows in which the values of the key of ``l`` stand, and one."""
    first = l - l % a.symbols
    return int(a.occ_ptr[first + a.symbols] - a.occ_ptr[first] + 1)


@kernel
def measure(a: LiteralRows, s: RowLengths) -> None:
    """All of the state from the rows."""
    for r in range(a.group.shape[0]):
        s.cut[r] = a.ptr[r + 1] - a.ptr[r]
        for v in range(a.ptr[r], a.ptr[r + 1]):
            s.size[r] += s.weight[a.lit[v] // a.symbols]
        s.total[a.group[r]] += s.size[r]


@kernel
def force(l: int, a: LiteralRows, s: RowLengths) -> None:
    """Cut and silence what forcing ``l`` cuts and silences; a constant key is no dependency any more."""
    for t in range(a.occ_ptr[l], a.occ_ptr[l + 1]):
        r = a.occ_row[t]
        if a.occ_rank[t] < s.cut[r]:
            for v in range(a.ptr[r] + a.occ_rank[t], a.ptr[r] + s.cut[r]):
                s.total[a.group[r]] -= s.weight[a.lit[v] // a.symbols]
                s.size[r] -= s.weight[a.lit[v] // a.symbols]
            s.cut[r] = a.occ_rank[t]
    first = l - l % a.symbols
    for other in range(first, first + a.symbols):
        for t in range(a.occ_ptr[other], a.occ_ptr[other + 1]):
            r = a.occ_row[t]
            if a.occ_rank[t] < s.cut[r]:
                s.total[a.group[r]] -= s.weight[l // a.symbols]
                s.size[r] -= s.weight[l // a.symbols]
        for t in range(a.guard_ptr[other], a.guard_ptr[other + 1]):
            r = a.guard_row[t]
            if other != l:
                s.total[a.group[r]] -= s.size[r]
                s.size[r], s.cut[r] = 0, 0
    s.weight[l // a.symbols] = 0


@making_kernel
def force_keys(
    a: LiteralRows, cubes: KeyCubes, s: RowLengths, budget: int, assignment: I64, q: KeyQueue, work: int
) -> bool:
    """Force keys, most gain per newly set input first, until ``budget`` inputs are set; whether that is done. Goes on
    where ``q`` says, and leaves off after about ``work`` rows. Constant pairs are in no row. Gains fall as rows are
    cut, so a heap with re-evaluation finds the best pair, except that costs also fall as inputs are set."""
    if q.state[NEXT] == 0:
        measure(a, s)
    heap = [(q.gain[t], q.lit[t]) for t in range(q.state[COUNT])]
    for l in range(q.state[NEXT], cubes.length.shape[0]):
        if work < 0:
            break
        q.state[NEXT] = l + 1
        stands = a.occ_ptr[l + 1] > a.occ_ptr[l] or a.guard_ptr[l + 1] > a.guard_ptr[l]
        if cubes.length[l] > 0 and stands:
            cost = cube_cost(l, cubes, assignment)
            if cost >= 0:
                heap.append((-pair_gain(l, a, s) / max(cost, 0.25), l))
                work -= rows_of(l, a)
    heapq.heapify(heap)
    while len(heap) > 0 and q.state[SPENT] < budget and work >= 0:
        key, l = heapq.heappop(heap)
        cost = cube_cost(l, cubes, assignment)
        if key >= 0.0 or cost < 0 or q.state[SPENT] + cost > budget:
            continue
        work -= rows_of(l, a)
        now = -pair_gain(l, a, s) / max(cost, 0.25)
        if now > key * 0.999:
            if now < 0.0:
                heapq.heappush(heap, (now, l))
            continue
        for t in range(cubes.length[l]):
            assignment[cubes.literal[l, t] // cubes.symbols] = cubes.literal[l, t] % cubes.symbols
        q.state[SPENT] += cost
        force(l, a, s)
    q.state[COUNT] = len(heap)
    for t in range(len(heap)):
        q.gain[t], q.lit[t] = heap[t]
    return work >= 0
