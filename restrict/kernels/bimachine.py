"""Kernels of the bimachine construction (docs/all-lengths.md): the deterministic side made of classes of summaries, and
where two new sides meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I32, I64
from restrict.kernels.hashing import (
    assign,
    hash_row,
    longer,
    mix,
    power,
    rehash_keys,
    rehash_rows,
    row_slot,
    slot,
    taller,
)
from restrict.kernels.jit import kernel, making_kernel


class Parts(NamedTuple):
    """What :func:`determinise` reads: ``delta`` (A, X), ``back`` (B, X), ``lab`` (A, X, B) and the places (B, X) of the
    edges, as in :mod:`restrict.kernels.triples`; ``start`` (H, B): the class of the empty summary for each head and
    ``b``; for each class of any head ``offset``, ``succ`` and ``out`` of its edges."""

    delta: I32
    back: I32
    lab: I32
    place: I32
    start: I32
    offset: I32
    succ: I32
    out: I32


@making_kernel
def determinise(parts: Parts, limit: int) -> tuple[I32, I32, I32, int]:
    """The side automaton whose states are ``(a, f)``, ``f`` giving each head and ``b`` a class of summaries. Returns
    ``(base, delta, vectors, status)``: ``base`` the component ``a``, ``delta`` (S, X), ``vectors`` (S, H*B+1) whose
    last column is ``a``. ``status`` is 1 beyond ``limit`` states. Cost O(S X H B)."""
    heads, nb = parts.start.shape
    letters = parts.delta.shape[1]
    width = heads * nb + 1
    rows = np.empty((256, width), dtype=np.int32)
    delta = np.full((256, letters), -1, dtype=np.int32)
    slots = np.full(1024, -1, dtype=np.int32)
    row = np.empty(width, dtype=np.int32)
    for h in range(heads):
        for b in range(nb):
            rows[0, h * nb + b] = parts.start[h, b]
    rows[0, width - 1] = 0
    slots[row_slot(slots, rows, rows[0], hash_row(rows[0]))] = 0
    count, t = 1, 0
    while t < count:
        a = rows[t, width - 1]
        for x in range(letters):
            if parts.delta[a, x] < 0:
                continue
            row[width - 1] = parts.delta[a, x]
            for b2 in range(nb):
                b = parts.back[b2, x]
                valid = b >= 0 and parts.lab[a, x, b2] >= 0
                for h in range(heads):
                    c = rows[t, h * nb + b] if valid else -1
                    row[h * nb + b2] = parts.succ[parts.offset[c] + parts.place[b2, x]] if c >= 0 else -1
            hashed = hash_row(row)
            at = row_slot(slots, rows, row, hashed)
            if slots[at] < 0:
                if count >= limit:
                    return rows[:, width - 1].copy(), delta, rows, 1
                if count == len(rows):
                    rows, delta = taller(rows, 2 * count), taller(delta, 2 * count)
                    slots = rehash_rows(rows, count, 4 * len(rows))
                    at = row_slot(slots, rows, row, hashed)
                slots[at] = count
                assign(rows, count, row)
                count += 1
            delta[t, x] = slots[at]
        t += 1
    return rows[:count, width - 1].copy(), delta[:count].copy(), rows[:count].copy(), 0


@making_kernel
def outcomes(parts: Parts, base: I32, vectors: I32, only: int) -> tuple[I32, I32]:
    """What each state of the new side says at each ``(x, b)``: the number of a distinct row (label, out of each head).
    Returns ``(at, rows)``, ``at`` (S, X, B) with -1 where no such position exists, ``rows`` (K, 1+H). Where ``only`` is
    at least 0, just for ``b = only``. Cost O(S X H B)."""
    heads, nb = parts.start.shape
    letters = parts.delta.shape[1]
    at = np.full((len(base), letters, nb), -1, dtype=np.int32)
    rows = np.empty((256, heads + 1), dtype=np.int32)
    slots = np.full(1024, -1, dtype=np.int32)
    row = np.empty(heads + 1, dtype=np.int32)
    count = 0
    for t in range(len(base)):
        for x in range(letters):
            for b2 in range(nb):
                label = parts.lab[base[t], x, b2]
                if label < 0 or (only >= 0 and b2 != only):
                    continue
                b = parts.back[b2, x]
                row[0] = label
                for h in range(heads):
                    row[h + 1] = parts.out[parts.offset[vectors[t, h * nb + b]] + parts.place[b2, x]]
                hashed = hash_row(row)
                slot = row_slot(slots, rows, row, hashed)
                if slots[slot] < 0:
                    if count == len(rows):
                        rows = taller(rows, 2 * count)
                        slots = rehash_rows(rows, count, 4 * len(rows))
                        slot = row_slot(slots, rows, row, hashed)
                    slots[slot] = count
                    assign(rows, count, row)
                    count += 1
                at[t, x, b2] = slots[slot]
    return at, rows[:count].copy()


class Meeting(NamedTuple):
    """Both new sides. ``left`` (L2, X, R) and ``right`` (R2, X, L): the row numbers of :func:`outcomes`; ``base_l``,
    ``base_r``: the old state of each new one; ``of_l``, ``off_l``: the new states of each old one, and likewise."""

    left: I32
    right: I32
    base_l: I32
    base_r: I32
    of_l: I32
    off_l: I32
    of_r: I32
    off_r: I32


@making_kernel
def meetings(m: Meeting, rights: int, limit: int) -> tuple[I64, int]:
    """The pairs ``left row * rights + right row`` that occur together at some position. ``status`` 1: too many."""
    keys = np.full(1024, -1, dtype=np.int64)
    found = np.empty(256, dtype=np.int64)
    count = 0
    nl, letters, nr = len(m.off_l) - 1, m.left.shape[1], len(m.off_r) - 1
    lefts = 0
    for t in range(m.left.shape[0]):
        for x in range(letters):
            for r in range(nr):
                lefts = max(lefts, m.left[t, x, r] + 1)
    stamp_l = np.full(lefts, -1, dtype=np.int64)
    stamp_r = np.full(rights, -1, dtype=np.int64)
    list_l = np.empty(lefts, dtype=np.int32)
    list_r = np.empty(rights, dtype=np.int32)
    cell = 0
    for l in range(nl):
        for x in range(letters):
            for r in range(nr):
                cell += 1
                some = others = 0
                for e in range(m.off_l[l], m.off_l[l + 1]):
                    v = m.left[m.of_l[e], x, r]
                    if v >= 0 and stamp_l[v] != cell:
                        stamp_l[v] = cell
                        list_l[some] = v
                        some += 1
                if some == 0:
                    continue
                for e in range(m.off_r[r], m.off_r[r + 1]):
                    v = m.right[m.of_r[e], x, l]
                    if v >= 0 and stamp_r[v] != cell:
                        stamp_r[v] = cell
                        list_r[others] = v
                        others += 1
                for i in range(some):
                    for j in range(others):
                        k = np.int64(list_l[i]) * rights + list_r[j]
                        at = slot(keys, k)
                        if keys[at] != -1:
                            continue
                        keys[at] = k
                        if count == len(found):
                            if count >= limit:
                                return found, 1
                            found = longer(found, 2 * count)
                            keys, _ = rehash_keys(found, count, 8 * len(found))
                            keys[slot(keys, k)] = k
                        found[count] = k
                        count += 1
    return found[:count].copy(), 0


@making_kernel
def behaviours(m: Meeting, rights: int, pairs: I64, label: I32, mirror: bool) -> I32:
    """What each new left state (``mirror``: right state) does, as numbers that are equal exactly for equal labels.
    Returns ``(S, X * B)``: for each letter and old state ``b`` opposite, the number of the vector of labels at all new
    states of ``b``; -1 where none is a position. Vectors are kept and compared; hashes only save time. Cost O(S X B +
    the labels at every different ``(a, x, b, row)``)."""
    keys, ids = rehash_keys(pairs, len(pairs), power(len(pairs)))
    mine, theirs = (m.right, m.left) if mirror else (m.left, m.right)
    of, off = (m.of_l, m.off_l) if mirror else (m.of_r, m.off_r)
    order, own = (m.of_r, m.off_r) if mirror else (m.of_l, m.off_l)
    count, letters, opposite = mine.shape
    top = 0
    for t in range(count):
        for x in range(letters):
            for b in range(opposite):
                top = max(top, mine[t, x, b] + 1)
    stamp = np.full(top, -1, dtype=np.int64)
    known = np.empty(top, dtype=np.int32)
    out = np.full((count, letters * opposite), -1, dtype=np.int32)
    kept = Vectors(np.empty(1024, dtype=np.int32), np.zeros(257, dtype=np.int64), np.full(1024, -1, dtype=np.int32))
    number = 0
    cell = 0
    for x in range(letters):
        for b in range(opposite):
            # Vectors of other letters and states opposite are never compared with these: the table starts empty again.
            fresh = number
            for s in range(len(kept.slots)):
                kept.slots[s] = -1
            size = off[b + 1] - off[b]
            for a in range(len(own) - 1):
                cell += 1
                for e in range(own[a], own[a + 1]):
                    t = order[e]
                    v = mine[t, x, b]
                    if v < 0:
                        continue
                    if stamp[v] != cell:
                        stamp[v] = cell
                        kept = roomy(kept, number, fresh, size)
                        start = kept.start[number]
                        some = False
                        for f in range(size):
                            w = theirs[of[off[b] + f], x, a]
                            said = -1
                            if w >= 0:
                                k = np.int64(w) * rights + v if mirror else np.int64(v) * rights + w
                                said = label[ids[slot(keys, k)]]
                                some = True
                            kept.pool[start + f] = said
                        known[v] = -1
                        if some:
                            known[v] = found_or_new(kept, number, size)
                            number += known[v] == number
                    out[t, x * opposite + b] = known[v]
    return out


class Vectors(NamedTuple):
    """Different vectors of labels: vector ``v`` is ``pool[start[v] : start[v + 1]]``; ``slots`` is an open table."""

    pool: I32
    start: I64
    slots: I32


@making_kernel
def roomy(kept: Vectors, number: int, fresh: int, size: int) -> Vectors:
    """The vectors with room for one more of this size; ``fresh``: the first that is in the table."""
    pool, start, slots = kept
    while start[number] + size > len(pool):
        pool = longer(pool, 2 * len(pool))
    if number + 2 > len(start):
        start = longer(start, 2 * len(start))
    if 2 * (number - fresh) + 2 > len(slots):
        slots = np.full(2 * len(slots), -1, dtype=np.int32)
        for v in range(fresh, number):
            slots[vector_slot(Vectors(pool, start, slots), v, start[v + 1] - start[v])] = v
    return Vectors(pool, start, slots)


@kernel
def vector_slot(kept: Vectors, v: int, size: int) -> int:
    """The slot of an equal vector, or the empty one where vector ``v`` belongs."""
    low = kept.start[v]
    h = 5
    for f in range(size):
        h = mix(h, kept.pool[low + f])
    at = h & (len(kept.slots) - 1)
    while kept.slots[at] >= 0:
        other = kept.start[kept.slots[at]]
        same = True
        for f in range(size):
            if kept.pool[other + f] != kept.pool[low + f]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & (len(kept.slots) - 1)
    return at


@kernel
def found_or_new(kept: Vectors, number: int, size: int) -> int:
    """The number of the vector behind the last one; ``number`` itself if it is new, and then it is kept."""
    at = vector_slot(kept, number, size)
    if kept.slots[at] < 0:
        kept.slots[at] = number
        kept.start[number + 1] = kept.start[number] + size
    return kept.slots[at]  # type: ignore[no-any-return]


@making_kernel
def equal_rows(rows: I32) -> I32:
    """For each row the number of the first equal one, numbered by first occurrence. Cost O(cells)."""
    out = np.empty(len(rows), dtype=np.int32)
    slots = np.full(power(len(rows)), -1, dtype=np.int32)
    count = 0
    for t in range(len(rows)):
        at = row_slot(slots, rows, rows[t], hash_row(rows[t]))
        if slots[at] < 0:
            slots[at] = t
            out[t] = count
            count += 1
        else:
            out[t] = out[slots[at]]
    return out


@making_kernel
def labels_of(m: Meeting, rights: int, pairs: I64, label: I32, reps_l: I32, reps_r: I32) -> I32:
    """The labels (L, X, R) of the representatives of the merged states."""
    keys, ids = rehash_keys(pairs, len(pairs), power(len(pairs)))
    letters = m.left.shape[1]
    out = np.full((len(reps_l), letters, len(reps_r)), -1, dtype=np.int32)
    for i in range(len(reps_l)):
        for x in range(letters):
            for j in range(len(reps_r)):
                v = m.left[reps_l[i], x, m.base_r[reps_r[j]]]
                w = m.right[reps_r[j], x, m.base_l[reps_l[i]]]
                if v >= 0 and w >= 0:
                    out[i, x, j] = label[ids[slot(keys, np.int64(v) * rights + w)]]
    return out


class Facing(NamedTuple):
    """For a head that sees both sides: the cells ``(l, x, r)``, and for each edge of left and right triples its cell
    and entry; ``rank`` and ``value`` (U, C) of entries, ``later`` (U, C): the right one wins ties; ``query`` of cells.
    """

    cell_l: I64
    seen_l: I32
    cell_r: I64
    seen_r: I32
    query: I32
    rank: I32
    value: I32
    later: I32


@making_kernel
def canonical(f: Facing, cells: int) -> tuple[I32, I32]:
    """For each edge, the least entry of its cell that every entry of the other side treats alike. Two left entries at a
    cell are alike if with each right entry that occurs there the head gives the same value; and the other way round.
    Cost O(edges + cells * C^2)."""
    codes = f.rank.shape[1]
    words = (codes + 62) // 63
    left = np.zeros((cells, words), dtype=np.int64)
    right = np.zeros((cells, words), dtype=np.int64)
    for e in range(len(f.cell_l)):
        if f.seen_l[e] >= 0:
            left[f.cell_l[e], f.seen_l[e] // 63] |= np.int64(1) << (f.seen_l[e] % 63)
    for e in range(len(f.cell_r)):
        if f.seen_r[e] >= 0:
            right[f.cell_r[e], f.seen_r[e] // 63] |= np.int64(1) << (f.seen_r[e] % 63)
    to_l = np.full((cells, codes), -1, dtype=np.int32)
    to_r = np.full((cells, codes), -1, dtype=np.int32)
    own = np.empty(codes, dtype=np.int32)
    other = np.empty(codes, dtype=np.int32)
    for c in range(cells):
        u = f.query[c]
        if u < 0:
            continue
        some = others = 0
        for k in range(codes):
            if left[c, k // 63] >> (k % 63) & 1:
                own[some] = k
                some += 1
            if right[c, k // 63] >> (k % 63) & 1:
                other[others] = k
                others += 1
        _alike(f, u, own[:some], other[:others], False, to_l[c])
        _alike(f, u, other[:others], own[:some], True, to_r[c])
    out_l = np.full(len(f.cell_l), -1, dtype=np.int32)
    out_r = np.full(len(f.cell_r), -1, dtype=np.int32)
    for e in range(len(f.cell_l)):
        if f.seen_l[e] >= 0:
            out_l[e] = to_l[f.cell_l[e], f.seen_l[e]]
    for e in range(len(f.cell_r)):
        if f.seen_r[e] >= 0:
            out_r[e] = to_r[f.cell_r[e], f.seen_r[e]]
    return out_l, out_r


@kernel
def _alike(f: Facing, u: int, own: I32, other: I32, mirror: bool, to: I32) -> None:
    """For each of one side's entries the first one that all of the other side's treat alike."""
    for i in range(len(own)):
        to[own[i]] = own[i]
        for j in range(i):
            alike = to[own[j]] == own[j]
            for k in range(len(other)):
                if mirror:
                    alike = alike and _winner(f, u, other[k], own[i]) == _winner(f, u, other[k], own[j])
                else:
                    alike = alike and _winner(f, u, own[i], other[k]) == _winner(f, u, own[j], other[k])
            if alike:
                to[own[i]] = own[j]
                break


@kernel
def _winner(f: Facing, u: int, left: int, right: int) -> int:
    """The value of the better of a left and a right entry."""
    if f.rank[u, right] > f.rank[u, left] or (f.rank[u, right] == f.rank[u, left] and f.later[u, right] == 1):
        return f.value[u, right]  # type: ignore[no-any-return]
    return f.value[u, left]  # type: ignore[no-any-return]
