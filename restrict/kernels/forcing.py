"""Kernels of cheap cubes: for each activation and value a small partial assignment that forces it.

The cube of value ``v`` at position ``i`` is ``cubes[i, v, :length[i, v]]``, literals ``input * symbols + symbol`` of
free inputs, ascending by no rule; ``length`` is 0 where the value is constant anyway and -1 where no cube was found.
Cubes are upper bounds: found greedily, never longer than ``cubes.shape[2]``.
"""

from __future__ import annotations

import numpy as np

from restrict.arrays import I32, I64
from restrict.kernels.jit import kernel
from restrict.kernels.rowlists import holds


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
def record(cubes: I32, length: I64, i: int, v: int, found: I64, size: int) -> None:
    """Keep ``found[:size]`` as the cube of ``v`` at ``i`` where it is shorter."""
    if length[i, v] < 0 or size < length[i, v]:
        length[i, v] = size
        for t in range(size):
            cubes[i, v, t] = found[t]


@kernel
def map_cubes(
    table: I64, strides: I64, ptrs: I64, flats: I64, offsets: I64, symbols: int, arg_cubes: I32, arg_length: I64,
    cubes: I32, length: I64,
) -> None:  # fmt: skip
    """Cubes of a map: force some arguments so that it is constant whatever the others are.

    ``arg_cubes`` (args, n, widest domain, size), ``arg_length`` (args, n, widest domain); the other arrays as in
    :func:`restrict.kernels.rowlists.map_values`.
    """
    args, n = strides.shape[0], length.shape[0]
    at, found = np.zeros(args, np.int64), np.zeros(cubes.shape[2], np.int64)
    for i in range(n):
        here = i if table.shape[0] > 1 else 0
        for mask in range(1 << args):
            at[:] = 0
            while True:
                value, good, size = -1, True, 0
                for a in range(args):  # forced arguments: their cubes; free ones run through all values below
                    if (mask >> a) & 1 == 1 and good:
                        w = flats[offsets[a] + ptrs[a, i] + at[a]]
                        size = -1
                        if arg_length[a, i, w] >= 0:
                            size = merge_at(
                                found, a, i, w, mask, at, flats, offsets, ptrs, arg_cubes, arg_length, symbols
                            )
                        good = size >= 0
                if good:
                    value = box_value(table[here], strides, ptrs, flats, offsets, mask, at, i)
                if value >= 0:
                    record(cubes, length, i, value, found, size)
                a = args - 1
                while a >= 0:
                    if (mask >> a) & 1 == 1:
                        at[a] += 1
                        if at[a] < ptrs[a, i + 1] - ptrs[a, i]:
                            break
                        at[a] = 0
                    a -= 1
                if a < 0:
                    break


@kernel
def wide_map_cubes(
    table: I64, strides: I64, ptrs: I64, flats: I64, offsets: I64, symbols: int, arg_cubes: I32, arg_length: I64,
    cubes: I32, length: I64,
) -> None:  # fmt: skip
    """:func:`map_cubes` for many arguments: per value the cheapest point, then arguments are let go one by one."""
    args, n, domain = strides.shape[0], length.shape[0], length.shape[1]
    at, found = np.zeros(args, np.int64), np.zeros(cubes.shape[2], np.int64)
    least, point = np.zeros(domain, np.int64), np.zeros((domain, args), np.int64)
    every = (1 << args) - 1
    for i in range(n):
        here = i if table.shape[0] > 1 else 0
        least[:] = -1
        at[:] = 0
        while True:
            value = box_value(table[here], strides, ptrs, flats, offsets, every, at, i)
            size = merge_at(found, args - 1, i, 0, every, at, flats, offsets, ptrs, arg_cubes, arg_length, symbols)
            if size >= 0 and (least[value] < 0 or size < least[value]):
                least[value] = size
                point[value, :] = at
            a = args - 1
            while a >= 0:
                at[a] += 1
                if at[a] < ptrs[a, i + 1] - ptrs[a, i]:
                    break
                at[a] = 0
                a -= 1
            if a < 0:
                break
        for value in range(domain):
            if least[value] < 0:
                continue
            mask = every
            for a in range(args):
                trial = mask & ~(1 << a)
                if box_value(table[here], strides, ptrs, flats, offsets, trial, point[value], i) == value:
                    mask = trial
            size = merge_at(
                found, args - 1, i, 0, mask, point[value], flats, offsets, ptrs, arg_cubes, arg_length, symbols
            )  # fmt: skip
            record(cubes, length, i, value, found, size)


@kernel
def merge_at(
    found: I64, last: int, i: int, w: int, mask: int, at: I64, flats: I64, offsets: I64, ptrs: I64, arg_cubes: I32,
    arg_length: I64, symbols: int,
) -> int:  # fmt: skip
    """The union of the cubes of the forced arguments up to ``last``, or -1."""
    size = 0
    for a in range(last + 1):
        if (mask >> a) & 1 == 1 and size >= 0:
            v = flats[offsets[a] + ptrs[a, i] + at[a]]
            size = (
                -1 if arg_length[a, i, v] < 0 else merge(found, size, arg_cubes[a, i, v], arg_length[a, i, v], symbols)
            )
    return size


@kernel
def box_value(table: I64, strides: I64, ptrs: I64, flats: I64, offsets: I64, mask: int, at: I64, i: int) -> int:
    """The one value of the map where the arguments in ``mask`` are as in ``at`` and the others any; -1: several."""
    args = strides.shape[0]
    other, value = np.zeros(args, np.int64), np.int64(-1)
    while True:
        point = 0
        for a in range(args):
            point += strides[a] * flats[offsets[a] + ptrs[a, i] + (at[a] if (mask >> a) & 1 == 1 else other[a])]
        if value < 0:
            value = table[point]
        elif table[point] != value:
            return -1
        a = args - 1
        while a >= 0:
            if (mask >> a) & 1 == 0:
                other[a] += 1
                if other[a] < ptrs[a, i + 1] - ptrs[a, i]:
                    break
                other[a] = 0
            a -= 1
        if a < 0:
            return int(value)


@kernel
def row_cube(
    v: int, i: int, u: int, first: int, stop: int, lj: I64, lw: I64, by_key: int, by_query: int, symbols: int,
    key_ptr: I64, key_flat: I64, key_cubes: I32, key_length: I64, value_cubes: I32, value_length: I64, depth: int,
    before: I64, size: int, found: I64,
) -> int:  # fmt: skip
    """The shortest cube found that makes one row give ``v``, on top of ``before[:size]``; written to ``found``.

    Walk down the list: stop at a pair that gives ``v`` and force its key; every other pair above is excluded by forcing
    its key to the cheapest other value. Returns its size or -1.
    """
    best = -1
    here, trial = before.copy(), before.copy()
    for t in range(first, min(stop, first + depth)):
        j, w = lj[t], lw[t]
        gives = by_key == 1 or (by_query == 1 and j == i)
        result = w if by_key == 1 else u
        if not gives or result == v:
            trial[:size] = here[:size]
            more = size
            if key_length.shape[0] > 0:
                more = -1 if key_length[j, w] < 0 else merge(trial, size, key_cubes[j, w], key_length[j, w], symbols)
            if more >= 0 and not gives:
                more = (
                    -1 if value_length[j, v] < 0 else merge(trial, more, value_cubes[j, v], value_length[j, v], symbols)
                )
            if more >= 0 and (best < 0 or more < best):
                best = more
                found[:more] = trial[:more]
        if gives and result == v:
            continue
        if key_length.shape[0] == 0:
            break
        least, chosen = -1, -1
        for p in range(key_ptr[j], key_ptr[j + 1]):
            other = key_flat[p]
            if other != w and key_length[j, other] >= 0:
                trial[:size] = here[:size]
                more = merge(trial, size, key_cubes[j, other], key_length[j, other], symbols)
                if more >= 0 and (least < 0 or more < least):
                    least, chosen = more, other
        if chosen < 0 or (best >= 0 and least >= best):
            break
        size = merge(here, size, key_cubes[j, chosen], key_length[j, chosen], symbols)
    return best


@kernel
def head_cubes(
    row_ptr: I64, row_list: I64, row_u: I64, start: I64, stop: I64, lj: I64, lw: I64, by_key: int, by_query: int,
    symbols: int, key_ptr: I64, key_flat: I64, key_cubes: I32, key_length: I64, value_cubes: I32, value_length: I64,
    query_cubes: I32, query_length: I64, ptr: I64, flat: I64, depth: int, cubes: I32, length: I64,
) -> None:  # fmt: skip
    """Cubes of a collapsed head: force its query to one value and that row, or the rows of all its query values.

    ``ptr``, ``flat`` are V of the head. ``key_length`` or ``query_length`` of no rows: the head reads none.
    """
    size = cubes.shape[2]
    before, found, whole = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    for i in range(length.shape[0]):
        if row_ptr[i] == row_ptr[i + 1]:
            length[i, flat[ptr[i]]] = 0
            continue
        for p in range(ptr[i], ptr[i + 1]):
            v = flat[p]
            every = 0
            for r in range(row_ptr[i], row_ptr[i + 1]):
                l, u = row_list[r], row_u[r]
                if query_length.shape[0] > 0 and query_length[i, u] >= 0:
                    count = merge(before, 0, query_cubes[i, u], query_length[i, u], symbols)
                    count = row_cube(
                        v, i, u, start[l], stop[l], lj, lw, by_key, by_query, symbols, key_ptr, key_flat, key_cubes,
                        key_length, value_cubes, value_length, depth, before, count, found,
                    ) if count >= 0 else -1  # fmt: skip
                    if count >= 0:
                        record(cubes, length, i, v, found, count)
                if every >= 0:
                    every = row_cube(
                        v, i, u, start[l], stop[l], lj, lw, by_key, by_query, symbols, key_ptr, key_flat, key_cubes,
                        key_length, value_cubes, value_length, depth, whole, every, found,
                    )  # fmt: skip
                    if every >= 0:
                        whole[:every] = found[:every]
            if every >= 0:
                record(cubes, length, i, v, whole, every)


@kernel
def constants(ptr: I64, flat: I64, length: I64) -> None:
    """The cube of a constant is empty."""
    for i in range(length.shape[0]):
        if ptr[i + 1] - ptr[i] == 1:
            length[i, flat[ptr[i]]] = 0


@kernel
def possible_only(ptr: I64, flat: I64, length: I64) -> None:
    """No cube for a value that is not possible."""
    for i in range(length.shape[0]):
        for v in range(length.shape[1]):
            if length[i, v] >= 0 and not holds(ptr, flat, i, v):
                length[i, v] = -1
