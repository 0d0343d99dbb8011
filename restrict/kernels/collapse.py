"""Kernels of a collapse: candidate lists under fewer key values, and V of a head, a map and a truth table. A *row* is
one head at one position with one query value; its list holds its pairs (attended position, key value), best first, down
to the floor (docs/kernel.md, rule 4). Possible values of a variable at position ``j`` are ``flat[ptr[j] : ptr[j +
1]]``, ascending."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64, offsets
from restrict.kernels.jit import kernel, making_kernel, sized_kernel


class ListArrays(NamedTuple):
    """The lists of a head: position ``i`` has the rows ``row_ptr[i] .. row_ptr[i + 1]``, row ``r`` the query value
    ``row_u[r]`` and the list ``row_list[r]``, which is the pairs ``(j[t], w[t])``, ``t`` in ``start .. stop``."""

    row_ptr: I64
    row_list: I64
    row_u: I64
    start: I64
    stop: I64
    j: I64
    w: I64


class SetArrays(NamedTuple):
    """Possible values of a variable at position ``j``: ``flat[ptr[j] : ptr[j + 1]]``, ascending."""

    ptr: I64
    flat: I64


@kernel
def holds(ptr: I64, flat: I64, j: int, w: int) -> bool:
    """Whether ``w`` is a possible value at ``j``; bisection."""
    low, high = ptr[j], ptr[j + 1]
    while low < high:
        middle = (low + high) >> 1
        if flat[middle] < w:
            low = middle + 1
        else:
            high = middle
    return bool(low < ptr[j + 1] and flat[low] == w)


@kernel
def arrange(values: I64, first: int, stop: int) -> None:
    """Sort ``values[first : stop]`` in place: Shell's sort, about (stop - first)^1.5 steps, for sets of few values.
    numba's own sort takes a second and more to compile, for each kernel that calls it."""
    gap = (stop - first) >> 1
    while gap > 0:
        for t in range(first + gap, stop):
            value, at = values[t], t
            while at - gap >= first and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap = 1 if gap == 2 else gap * 5 // 11


def filter_with_numpy(
    start: I64, stop: I64, lj: I64, lw: I64, own_j: I64, own_w: I64, ptr: I64, flat: I64, out: I64, ends: I64,
    reached: I64,
) -> None:  # fmt: skip
    """As :func:`filter_lists`, without compilation: a pair ends its list where it is the last one of its position."""
    sizes = stop - start
    row, at = np.repeat(np.arange(len(start)), sizes), np.arange(sizes.sum())
    at += np.repeat(start - offsets(sizes)[:-1], sizes)
    j, w = lj[at], lw[at]
    alone, domain = j == own_j[row], 1 + max(int(lw.max(initial=0)), int(flat.max(initial=0)))
    possible = np.repeat(np.arange(len(ptr) - 1) * domain, np.diff(ptr)) + flat
    kept = np.where(alone, w == own_w[row], np.isin(j * domain + w, possible))
    row, j, w, alone = row[kept], j[kept], w[kept], alone[kept]
    place = row * len(ptr) + j
    order = np.argsort(place, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(place[order]) != 0)[: len(order)])
    passed = np.empty(len(order), np.int64)
    passed[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order)))) + 1
    last = np.flatnonzero(alone | (passed == np.diff(ptr)[j]))[::-1]
    end = np.full(len(start), len(row))
    end[row[last]] = last  # of several the least, which is written last
    kept = np.arange(len(row)) <= end[row]
    reached[:], ends[:] = end < len(row), np.cumsum(np.bincount(row[kept], minlength=len(start)))
    out[:, : kept.sum()] = j[kept], w[kept]


@sized_kernel(reads=lambda start, stop, *_: int((stop - start).sum()) // 20, plainly=filter_with_numpy, makes=True)
def filter_lists(
    start: I64, stop: I64, lj: I64, lw: I64, own_j: I64, own_w: I64, ptr: I64, flat: I64, out: I64, ends: I64,
    reached: I64,
) -> None:  # fmt: skip
    """The possible pairs of each list, down to the first position all of whose pairs have been passed: then
    ``reached[r]``, the list is complete. ``own_j[r]``: the position of the one key value ``own_w[r]``, or -1."""
    positions = ptr.shape[0] - 1
    stamp, passed = np.full(positions, -1, np.int64), np.zeros(positions, np.int64)
    used = 0
    for r in range(start.shape[0]):
        reached[r] = 0
        for t in range(start[r], stop[r]):
            j, w = lj[t], lw[t]
            alone = j == own_j[r]
            if (alone and w != own_w[r]) or (not alone and not holds(ptr, flat, j, w)):
                continue
            if stamp[j] != r:
                stamp[j], passed[j] = r, 0
            passed[j] += 1
            out[0, used], out[1, used] = j, w
            used += 1
            if alone or passed[j] == ptr[j + 1] - ptr[j]:
                reached[r] = 1
                break
        ends[r] = used


@making_kernel
def head_values(
    a: ListArrays, by_key: int, by_query: int, values: SetArrays, default: int, domain: int, counts: I64, several: I64,
    out: I64, fill: int,
) -> None:  # fmt: skip
    """V of a head at every position: ``counts[i]`` values, written to ``out`` from ``counts``' running sum if ``fill``.
    ``values`` are those of the head's value; ``several[r]``: the row gives more than one."""
    mine, row_stamp = np.full(domain, -1, np.int64), np.full(domain, -1, np.int64)
    used = 0
    for i in range(a.row_ptr.shape[0] - 1):
        first = used
        size = 0
        if a.row_ptr[i] == a.row_ptr[i + 1]:
            size = 1
            if fill == 1:
                out[used] = default
        for r in range(a.row_ptr[i], a.row_ptr[i + 1]):
            l, found = a.row_list[r], 0
            for t in range(a.start[l], a.stop[l]):
                j = a.j[t]
                single = by_key == 1 or (by_query == 1 and j == i)
                low, high = (0, 1) if single else (values.ptr[j], values.ptr[j + 1])
                for v in range(low, high):
                    value = (a.w[t] if by_key == 1 else a.row_u[r]) if single else values.flat[v]
                    if row_stamp[value] != r:
                        row_stamp[value] = r
                        found += 1
                        if mine[value] != i:
                            mine[value] = i
                            if fill == 1:
                                out[used + size] = value
                            size += 1
                if found == domain:
                    break
            several[r] = 1 if found > 1 else 0
        counts[i] = size
        used += size
        if fill == 1:
            arrange(out, first, used)


@making_kernel
def map_values(
    table: I64, strides: I64, ptrs: I64, flats: I64, offsets: I64, domain: int, counts: I64, out: I64, fill: int
) -> None:
    """V of a map at every position. ``table`` (n or 1, points) is the map, argument ``a`` has stride ``strides[a]`` and
    the possible values ``flats[offsets[a] + ptrs[a, i] : offsets[a] + ptrs[a, i + 1]]``."""
    args = strides.shape[0]
    mine = np.full(domain, -1, np.int64)
    at = np.zeros(args, np.int64)
    used = 0
    for i in range(counts.shape[0]):
        size, first = 0, used
        at[:] = 0
        here = i if table.shape[0] > 1 else 0
        while True:
            point = 0
            for a in range(args):
                point += strides[a] * flats[offsets[a] + ptrs[a, i] + at[a]]
            value = table[here, point]
            if mine[value] != i:
                mine[value] = i
                if fill == 1:
                    out[used + size] = value
                size += 1
            a = args - 1
            while a >= 0:
                at[a] += 1
                if at[a] < ptrs[a, i + 1] - ptrs[a, i]:
                    break
                at[a] = 0
                a -= 1
            if a < 0:
                break
        counts[i] = size
        used += size
        if fill == 1:
            arrange(out, first, used)


@making_kernel
def truth_values(
    ptr: I64, inputs: I64, table_ptr: I64, tables: I64, symbols: int, fixed: I64, domain: int, counts: I64, out: I64,
    fill: int,
) -> None:  # fmt: skip
    """V of activations given by truth tables (first input most significant), under ``fixed`` (-1: free)."""
    mine = np.full(domain, -1, np.int64)
    used = 0
    for i in range(counts.shape[0]):
        size, first, count = 0, used, ptr[i + 1] - ptr[i]
        for point in range(table_ptr[i + 1] - table_ptr[i]):
            rest, good = point, True
            for t in range(count - 1, -1, -1):
                symbol = fixed[inputs[ptr[i] + t]]
                good = good and (symbol < 0 or symbol == rest % symbols)
                rest //= symbols
            value = tables[table_ptr[i] + point]
            if good and mine[value] != i:
                mine[value] = i
                if fill == 1:
                    out[used + size] = value
                size += 1
        counts[i] = size
        used += size
        if fill == 1:
            arrange(out, first, used)
