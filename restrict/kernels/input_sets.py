"""Kernels of sets of inputs, one for each position (:mod:`restrict.depth_reduction.c_transformer.input_sets`). A set is
made in a row of bits, 64 inputs a word, and put away as its inputs, ascending, or as the words themselves where these
take no more room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64, offsets, take_rows
from restrict.kernels.collapse import ListArrays
from restrict.kernels.jit import kernel, sized_kernel


class SetRows(NamedTuple):
    """Set ``i`` is ``items[ptr[i] : ptr[i + 1]]``: a row of bits if it has as many words, else inputs. One ``ptr``: no
    sets."""

    ptr: I64
    items: I64


@kernel
def include(into: I64, sets: SetRows, i: int) -> None:
    """Add set ``i`` to a row of bits."""
    first, stop = sets.ptr[i], sets.ptr[i + 1]
    if stop - first == into.shape[0]:
        for b in range(into.shape[0]):
            into[b] |= sets.items[first + b]
        return
    for t in range(first, stop):
        into[sets.items[t] >> 6] |= np.int64(1) << (sets.items[t] & 63)


@kernel
def put(bits: I64, out: I64, used: int) -> int:
    """Put a row of bits away at ``out[used]``, and clear it; the set's end, or -1: no room."""
    words = bits.shape[0]
    room, count = min(words, out.shape[0] - used), 0
    for b in range(words):
        if bits[b] != 0 and count < words:
            for x in range(64):
                if (bits[b] >> x) & 1 == 1:
                    if count < room:
                        out[used + count] = b * 64 + x
                    count += 1
    if min(count, words) > room:
        return -1
    for b in range(words):
        if count >= words:
            out[used + b] = bits[b]
        bits[b] = 0
    return int(used + min(count, words))


@kernel
def pack_lists(sets: SetRows, start: int, bits: I64, out: I64, ends: I64) -> int:
    """Put away sets given as inputs, however many, from number ``start`` on; the first one without room."""
    used = 0
    for i in range(start, ends.shape[0]):
        for t in range(sets.ptr[i], sets.ptr[i + 1]):
            bits[sets.items[t] >> 6] |= np.int64(1) << (sets.items[t] & 63)
        used = put(bits, out, used)
        if used < 0:
            bits[:] = 0
            return int(i)
        ends[i] = used
    return int(ends.shape[0])


def bit_rows(sets: SetRows, n: int) -> I64:
    """The sets as rows of bits, (n, words), for runs that are not worth compiling."""
    rows, sizes = np.zeros((n, (n + 63) // 64), np.int64), np.diff(sets.ptr)
    dense = np.flatnonzero(sizes == rows.shape[1])
    rows[dense] = sets.items[take_rows(sets.ptr, dense)].reshape(-1, rows.shape[1])
    few = np.flatnonzero(sizes < rows.shape[1])
    inputs = sets.items[take_rows(sets.ptr, few)]
    np.bitwise_or.at(rows, (np.repeat(few, sizes[few]), inputs >> 6), np.int64(1) << (inputs & 63))
    return rows


def put_rows(rows: I64, start: int, out: I64, ends: I64) -> int:
    """Put rows of bits away as sets from number ``start`` on, as :func:`put` does; the first one without room."""
    counts, words = np.bitwise_count(rows.view(np.uint64)).sum(axis=1, dtype=np.int64), rows.shape[1]
    first = offsets(np.minimum(counts, words))
    fit = int(np.searchsorted(first[1:], len(out), side="right"))
    dense, few = (np.flatnonzero(found[:fit]) for found in (counts >= words, counts < words))
    out[(first[dense, None] + np.arange(words)).reshape(-1)] = rows[dense].reshape(-1)
    inputs = np.nonzero(np.unpackbits(rows[few].view(np.uint8), axis=1, bitorder="little"))[1]
    out[np.arange(len(inputs)) + np.repeat(first[few] - offsets(counts[few])[:-1], counts[few])] = inputs
    ends[start : start + fit] = first[1 : fit + 1]
    return start + fit


def unite_with_numpy(a: SetRows, b: SetRows, kept: I64, start: int, _: I64, out: I64, ends: I64) -> int:
    """As :func:`unite_sets`, without compilation."""
    rows = (bit_rows(a, len(ends)) | bit_rows(b, len(ends))) * (kept == 1)[:, None]
    return put_rows(rows[start:], start, out, ends)


@sized_kernel(reads=lambda a, b, kept, *rest: len(kept) ** 2 // 64, plainly=unite_with_numpy)
def unite_sets(a: SetRows, b: SetRows, kept: I64, start: int, bits: I64, out: I64, ends: I64) -> int:
    """Put away the unions of two families where ``kept`` is 1, and empty sets elsewhere, as :func:`pack_lists` does."""
    used = 0
    for i in range(start, ends.shape[0]):
        if kept[i] == 1:
            include(bits, a, i)
            include(bits, b, i)
        used = put(bits, out, used)
        if used < 0:
            bits[:] = 0
            return int(i)
        ends[i] = used
    return int(ends.shape[0])


@kernel
def union_of(sets: SetRows, chosen: I64, into: I64) -> None:
    """Add the sets of these numbers to a row of bits."""
    for at in range(chosen.shape[0]):
        include(into, sets, chosen[at])


@kernel
def feeds(sets: SetRows, counts: I64) -> None:
    """``counts[x]`` = in how many of the sets input ``x`` is."""
    n = sets.ptr.shape[0] - 1
    words = (n + 63) // 64
    for i in range(n):
        first, stop = sets.ptr[i], sets.ptr[i + 1]
        for t in range(first, stop):
            if stop - first < words:
                counts[sets.items[t]] += 1
            elif sets.items[t] != 0:
                base = (t - first) * 64
                for x in range(base, min(base + 64, n)):
                    counts[x] += (sets.items[t] >> (x & 63)) & 1


@kernel
def listed(sets: SetRows, ptr: I64, inputs: I64) -> None:
    """``inputs[ptr[i] : ptr[i + 1]]`` = the inputs of set ``i``, ascending."""
    n = ptr.shape[0] - 1
    words = (n + 63) // 64
    for i in range(n):
        first, stop, used = sets.ptr[i], sets.ptr[i + 1], ptr[i]
        for t in range(first, stop):
            if stop - first < words:
                inputs[used] = sets.items[t]
                used += 1
            else:
                for x in range(64 if sets.items[t] != 0 else 0):
                    if (sets.items[t] >> x) & 1 == 1:
                        inputs[used] = (t - first) * 64 + x
                        used += 1


@kernel
def has(sets: SetRows, chosen: I64, x: int, found: I64) -> None:
    """``found[at]`` = 1 where the set number ``chosen[at]`` holds input ``x``, else 0."""
    words = (sets.ptr.shape[0] + 62) // 64
    for at in range(chosen.shape[0]):
        first, stop = sets.ptr[chosen[at]], sets.ptr[chosen[at] + 1]
        found[at] = 0
        if stop - first == words:
            found[at] = (sets.items[first + (x >> 6)] >> (x & 63)) & 1
        else:
            for t in range(first, stop):
                if sets.items[t] == x:
                    found[at] = 1


class Reads(NamedTuple):
    """D of what a head reads: its query, its key and its value (no sets where one does not count)."""

    query: SetRows
    key: SetRows
    value: SetRows


@kernel
def unite_list(into: I64, l: int, a: ListArrays, reads: Reads) -> None:
    """Add to a set the inputs of the key and value of every candidate of list ``l``."""
    for t in range(a.start[l], a.stop[l]):
        if reads.key.ptr.shape[0] > 1:
            include(into, reads.key, a.j[t])
        if reads.value.ptr.shape[0] > 1:
            include(into, reads.value, a.j[t])


def depends_with_numpy(
    a: ListArrays, several: I64, sizes: I64, reads: Reads, _: I64, start: int, __: I64, out: I64, ends: I64
) -> int:
    """As :func:`head_depends`, without compilation."""
    n = len(ends)
    of_query, of_key, of_value = (bit_rows(sets, n) if len(sets.ptr) > 1 else 0 for sets in reads)
    rows, at = np.zeros((n, (n + 63) // 64), np.int64), np.flatnonzero(sizes > 1)
    row = take_rows(a.row_ptr, at)
    owner, lists = np.repeat(at, np.diff(a.row_ptr)[at])[several[row] != 0], a.row_list[row[several[row] != 0]]
    length = a.stop[lists] - a.start[lists]
    pairs = np.arange(length.sum()) + np.repeat(a.start[lists] - offsets(length)[:-1], length)
    owner, read = np.repeat(owner, length), np.broadcast_to(of_key | of_value, rows.shape)
    if len(owner):
        first = np.flatnonzero(np.append(True, np.diff(owner) != 0))
        rows[owner[first]] = np.bitwise_or.reduceat(read[a.j[pairs]], first)
    rows[at] |= np.broadcast_to(of_query, rows.shape)[at]
    return put_rows(rows[start:], start, out, ends)


@sized_kernel(reads=lambda a, several, sizes, *rest: len(a.row_list) * len(sizes) // 64, plainly=depends_with_numpy)
def head_depends(
    a: ListArrays, several: I64, sizes: I64, reads: Reads, cache: I64, start: int, bits: I64, out: I64, ends: I64
) -> int:
    """D of a head from position ``start`` on: of the query, and of the key and value of every candidate of the rows
    that give several values (``several``). ``sizes`` is |V|; ``cache`` has a row of bits and a mark, its last word, for
    each list where lists are shared, else no rows. Returns the first position for which there is no room."""
    used, words = 0, bits.shape[0]
    for i in range(start, ends.shape[0]):
        if sizes[i] > 1:
            if reads.query.ptr.shape[0] > 1:
                include(bits, reads.query, i)
            for r in range(a.row_ptr[i], a.row_ptr[i + 1]):
                l = a.row_list[r]
                if several[r] == 0:
                    continue
                if cache.shape[0] == 0:
                    unite_list(bits, l, a, reads)
                    continue
                if cache[l, words] == 0:
                    cache[l, words] = 1
                    unite_list(cache[l, :words], l, a, reads)
                for b in range(words):
                    bits[b] |= cache[l, b]
        used = put(bits, out, used)
        if used < 0:
            bits[:] = 0
            return int(i)
        ends[i] = used
    return int(ends.shape[0])
