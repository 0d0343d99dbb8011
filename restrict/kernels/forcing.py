"""Kernels of cheap cubes: for each activation and value a small partial assignment that forces it. The cube of value
``v`` at position ``i`` is ``literal[i, v, :length[i, v]]``, literals ``input * symbols + symbol`` of free inputs, in no
particular order; ``length`` is 0 where the value is constant anyway and -1 where no cube was found. Cubes are upper
bounds: found greedily, never longer than ``literal.shape[2]``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I32, I64
from restrict.kernels.collapse import ListArrays, SetArrays
from restrict.kernels.copying import copy
from restrict.kernels.jit import kernel, making_kernel


class CubeArrays(NamedTuple):
    """Cubes of a variable: ``literal`` (n, values, longest), ``length`` (n, values)."""

    literal: I32
    length: I64


class MapArrays(NamedTuple):
    """A map: ``table`` (n or 1, points), argument ``a`` has stride ``strides[a]`` and at position ``i`` the possible
    values ``flats[starts[a] + ptrs[a, i] : starts[a] + ptrs[a, i + 1]]``; its arguments' cubes are ``literal``
    (args, n, widest domain, longest) and ``length`` (args, n, widest domain)."""

    table: I64
    strides: I64
    ptrs: I64
    flats: I64
    starts: I64
    symbols: int
    literal: I32
    length: I64


class HeadArrays(NamedTuple):
    """A collapsed head: its lists, whether its value is its key or its query, the possible values of its key, and the
    cubes of its key, value and query (of no rows: it reads none); ``depth`` pairs of a list are looked at."""

    lists: ListArrays
    by_key: int
    by_query: int
    symbols: int
    keys: SetArrays
    key: CubeArrays
    value: CubeArrays
    query: CubeArrays
    depth: int


@kernel
def merge(into: I64, size: int, cube: I32, length: int, symbols: int) -> int:
    """Add a cube to ``into[:size]``; the new size, or -1 where they disagree or it does not fit."""
    for t in range(length):
        l = cube[t]
        known = False
        for v in range(size):
            if into[v] // symbols == l // symbols:
                if into[v] != l:
                    return -1
                known = True
        if not known:
            if size == into.shape[0]:
                return -1
            into[size] = l
            size += 1
    return size


@kernel
def record(cubes: CubeArrays, i: int, v: int, found: I64, size: int) -> None:
    """Keep ``found[:size]`` as the cube of ``v`` at ``i`` where it is shorter."""
    if cubes.length[i, v] < 0 or size < cubes.length[i, v]:
        cubes.length[i, v] = size
        for t in range(size):
            cubes.literal[i, v, t] = found[t]


@kernel
def advance(at: I64, mask: int, m: MapArrays, i: int) -> bool:
    """The next choice of value indices of the arguments in ``mask``, the last one fastest; false after the last one."""
    a = at.shape[0] - 1
    while a >= 0:
        if (mask >> a) & 1 == 1:
            at[a] += 1
            if at[a] < m.ptrs[a, i + 1] - m.ptrs[a, i]:
                return True
            at[a] = 0
        a -= 1
    return False


@making_kernel
def map_cubes(m: MapArrays, cubes: CubeArrays) -> None:
    """Cubes of a map: force some arguments so that it is constant whatever the others are."""
    args, n = m.strides.shape[0], cubes.length.shape[0]
    at, found = np.zeros(args, np.int64), np.zeros(cubes.literal.shape[2], np.int64)
    for i in range(n):
        for mask in range(1 << args):
            at[:] = 0
            while True:
                size = merge_at(found, i, mask, at, m)
                if size >= 0:
                    value = box_value(m, mask, at, i)
                    if value >= 0:
                        record(cubes, i, value, found, size)
                if not advance(at, mask, m, i):
                    break


@making_kernel
def wide_map_cubes(m: MapArrays, cubes: CubeArrays) -> None:
    """Cubes of a map of many arguments, where not all boxes are tried: take the cheapest point of each value, then
    leave free each argument that need not be forced."""
    args, domain = m.strides.shape[0], cubes.length.shape[1]
    at, found = np.zeros(args, np.int64), np.zeros(cubes.literal.shape[2], np.int64)
    least, point = np.zeros(domain, np.int64), np.zeros((domain, args), np.int64)
    every = (1 << args) - 1
    for i in range(cubes.length.shape[0]):
        least[:] = -1
        at[:] = 0
        while True:
            value = box_value(m, every, at, i)
            size = merge_at(found, i, every, at, m)
            if size >= 0 and (least[value] < 0 or size < least[value]):
                least[value] = size
                copy(point[value], at)
            if not advance(at, every, m, i):
                break
        for value in range(domain):
            if least[value] < 0:
                continue
            mask = every
            for a in range(args):
                trial = mask & ~(1 << a)
                if box_value(m, trial, point[value], i) == value:
                    mask = trial
            record(cubes, i, value, found, merge_at(found, i, mask, point[value], m))


@kernel
def merge_at(found: I64, i: int, mask: int, at: I64, m: MapArrays) -> int:
    """The union of the cubes of the arguments in ``mask`` at the values ``at``, or -1."""
    size = 0
    for a in range(at.shape[0]):
        if (mask >> a) & 1 == 1 and size >= 0:
            v = m.flats[m.starts[a] + m.ptrs[a, i] + at[a]]
            length = m.length[a, i, v]
            size = -1 if length < 0 else merge(found, size, m.literal[a, i, v], length, m.symbols)
    return size


@making_kernel
def box_value(m: MapArrays, mask: int, at: I64, i: int) -> int:
    """The one value of the map where the arguments in ``mask`` are as in ``at`` and the others any; -1: several."""
    args, row = m.strides.shape[0], i if m.table.shape[0] > 1 else 0
    other, value = np.zeros(args, np.int64), np.int64(-1)
    free = ((1 << args) - 1) & ~mask
    while True:
        point = 0
        for a in range(args):
            choice = at[a] if (mask >> a) & 1 == 1 else other[a]
            point += m.strides[a] * m.flats[m.starts[a] + m.ptrs[a, i] + choice]
        if value < 0:
            value = m.table[row, point]
        elif m.table[row, point] != value:
            return -1
        if not advance(other, free, m, i):
            return int(value)


@kernel
def cheapest_other(j: int, w: int, h: HeadArrays, here: I64, size: int, trial: I64) -> tuple[int, int]:
    """(Size, value) of forcing the key at ``j`` off ``w``, on top of ``here[:size]``; -1: impossible."""
    least, chosen = -1, -1
    for p in range(h.keys.ptr[j], h.keys.ptr[j + 1]):
        other = h.keys.flat[p]
        if other != w and h.key.length[j, other] >= 0:
            copy(trial[:size], here[:size])
            more = merge(trial, size, h.key.literal[j, other], h.key.length[j, other], h.symbols)
            if more >= 0 and (least < 0 or more < least):
                least, chosen = more, other
    return least, chosen


@making_kernel
def row_cube(v: int, i: int, r: int, h: HeadArrays, before: I64, size: int, found: I64) -> int:
    """The shortest cube found that makes row ``r`` give ``v``, on top of ``before[:size]``; written to ``found``. Walk
    down the list: stop at a pair that gives ``v`` and force its key; every other pair above is excluded by forcing its
    key to the cheapest other value. Returns its size or -1."""
    best, u, l = -1, h.lists.row_u[r], h.lists.row_list[r]
    first = h.lists.start[l]
    here, trial = before.copy(), before.copy()
    for t in range(first, min(h.lists.stop[l], first + h.depth)):
        j, w = h.lists.j[t], h.lists.w[t]
        gives = h.by_key == 1 or (h.by_query == 1 and j == i)
        result = w if h.by_key == 1 else u
        if not gives or result == v:
            copy(trial[:size], here[:size])
            more = size
            if h.key.length.shape[0] > 0:
                length = h.key.length[j, w]
                more = -1 if length < 0 else merge(trial, size, h.key.literal[j, w], length, h.symbols)
            if more >= 0 and not gives:
                length = h.value.length[j, v]
                more = -1 if length < 0 else merge(trial, more, h.value.literal[j, v], length, h.symbols)
            if more >= 0 and (best < 0 or more < best):
                best = more
                copy(found[:more], trial[:more])
        if gives and result == v:
            continue
        if h.key.length.shape[0] == 0:
            break
        least, chosen = cheapest_other(j, w, h, here, size, trial)
        if chosen < 0 or (best >= 0 and least >= best):
            break
        size = merge(here, size, h.key.literal[j, chosen], h.key.length[j, chosen], h.symbols)
    return best


@making_kernel
def head_cubes(h: HeadArrays, values: SetArrays, cubes: CubeArrays) -> None:
    """Cubes of a collapsed head: force its query to one value and that row, or the rows of all its query values."""
    longest = cubes.literal.shape[2]
    before, found = np.zeros(longest, np.int64), np.zeros(longest, np.int64)
    whole = np.zeros(longest, np.int64)
    nothing = 0 * longest  # a literal 0 would have each callee compiled once more, for that literal
    for i in range(cubes.length.shape[0]):
        if h.lists.row_ptr[i] == h.lists.row_ptr[i + 1]:
            cubes.length[i, values.flat[values.ptr[i]]] = 0
            continue
        for p in range(values.ptr[i], values.ptr[i + 1]):
            v = values.flat[p]
            every = nothing
            for r in range(h.lists.row_ptr[i], h.lists.row_ptr[i + 1]):
                u = h.lists.row_u[r]
                if h.query.length.shape[0] > 0 and h.query.length[i, u] >= 0:
                    count = merge(before, nothing, h.query.literal[i, u], h.query.length[i, u], h.symbols)
                    if count >= 0:
                        count = row_cube(v, i, r, h, before, count, found)
                    if count >= 0:
                        record(cubes, i, v, found, count)
                if every >= 0:
                    every = row_cube(v, i, r, h, whole, every, found)
                    if every >= 0:
                        copy(whole[:every], found[:every])
            if every >= 0:
                record(cubes, i, v, whole, every)
