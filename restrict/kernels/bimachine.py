"""Kernels of the bimachine construction (theory: docs/all-lengths.md): reached summaries, their refinement, the
deterministic side that they make, and the merging of states.

A *side* is one of the two automata. Everything here is written for the side ``A`` that reads towards the other side
``B``: for a head that looks left, A is the left automaton and B the right one; for one that looks right, the mirror
image. A **triple** ``(a, b, s)`` says that after some word A is in ``a`` and that the summary of the word is ``s``
wherever B is in ``b``. An **edge** of a triple is a pair ``(x, b2)`` with ``delta_B(b2, x) = b``: the letter ``x`` is
read next, and ``b2`` is B's state on the other side of it.

Invariants: state 0 of an automaton is its start; ``-1`` is "undefined" in every table; arrays are int32 and C-ordered.
Hashes only speed up look-ups of rows that are then compared, except in :func:`refine`, whose result is verified.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restrict.kernels.jit import kernel

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
MULTIPLY, SHIFT, ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(29), np.uint64(1)


class Side(NamedTuple):
    """One head seen from one side. ``delta`` (A, X); ``back`` (B, X) of the other side; ``lab`` (A, X, B) label ids;
    ``offset`` (B+1,), ``edge_x``, ``edge_b``: the edges that lead to each ``b``; ``pair`` and ``query``: of each label;
    ``code`` (U, P): the entry that a pair makes for a query value; ``rank`` (U, C) of each entry; ``later`` (U, C):
    whether, of two entries of this rank, the newer one wins; ``observed``: 0 the entry before the letter, 1 after it.
    """

    delta: I32
    back: I32
    lab: I32
    offset: I32
    edge_x: I32
    edge_b: I32
    pair: I32
    query: I32
    code: I32
    rank: I32
    later: I32
    observed: int


@kernel
def mix(h: int, a: int) -> int:
    """One step of a 63-bit hash, for ``h >= 0`` and ``a >= -1``. Unsigned, since signed overflow is undefined."""
    z = np.uint64(h) ^ (np.uint64(a + 1) * MULTIPLY)
    z = (z ^ (z >> SHIFT)) * MULTIPLY
    z = (z ^ (z >> SHIFT)) * MULTIPLY
    return np.int64((z ^ (z >> SHIFT)) >> ONE)  # type: ignore[return-value]


@kernel
def edges_into(back: I32) -> tuple[I32, I32, I32, I32]:
    """The edges ``(x, b2)`` into every ``b``, and the place of ``(b2, x)`` among those of its ``b``."""
    states, letters = back.shape
    offset = np.zeros(states + 1, dtype=np.int32)
    place = np.full((states, letters), -1, dtype=np.int32)
    for b2 in range(states):
        for x in range(letters):
            if back[b2, x] >= 0:
                offset[back[b2, x] + 1] += 1
    for b in range(states):
        offset[b + 1] += offset[b]
    edge_x = np.empty(offset[states], dtype=np.int32)
    edge_b = np.empty(offset[states], dtype=np.int32)
    fill = np.zeros(states, dtype=np.int32)
    for b2 in range(states):
        for x in range(letters):
            b = back[b2, x]
            if b >= 0:
                at = offset[b] + fill[b]
                edge_x[at], edge_b[at], place[b2, x] = x, b2, fill[b]
                fill[b] += 1
    return offset, edge_x, edge_b, place


@kernel
def _slot(keys: I64, key: int) -> int:
    """The slot of a key in an open table, or the empty slot where it belongs."""
    size = len(keys) - 1
    at = mix(0x1234567, key) & size
    while keys[at] != -1 and keys[at] != key:
        at = (at + 1) & size
    return at


@kernel
def _row_slot(slots: I32, rows: I32, row: I32, h: int) -> int:
    """The slot of a row in an open table of row numbers, or the empty slot where it belongs."""
    size = len(slots) - 1
    at = h & size
    while slots[at] >= 0:
        same = True
        other = rows[slots[at]]
        for c in range(len(row)):
            if other[c] != row[c]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & size
    return at


@kernel
def _hash_row(row: I32) -> int:
    """A hash of a row."""
    z = np.uint64(0x9E3779B9)
    for c in range(len(row)):
        z = (z ^ np.uint64(row[c] + 1)) * MULTIPLY
        z = z ^ (z >> SHIFT)
    return np.int64(z >> ONE)  # type: ignore[return-value]


@kernel
def _rehash_rows(rows: I32, count: int, size: int) -> I32:
    """A table of ``size`` slots for the first ``count`` rows."""
    slots = np.full(size, -1, dtype=np.int32)
    for r in range(count):
        slots[_row_slot(slots, rows, rows[r], _hash_row(rows[r]))] = r
    return slots


@kernel
def _rehash_keys(of: I64, count: int, size: int) -> tuple[I64, I32]:
    """A table of ``size`` slots for the first ``count`` keys."""
    keys = np.full(size, -1, dtype=np.int64)
    ids = np.empty(size, dtype=np.int32)
    for t in range(count):
        at = _slot(keys, of[t])
        keys[at], ids[at] = of[t], t
    return keys, ids


@kernel
def _append(row: I32, pair: int, side: Side, out: I32) -> None:
    """The summary of a segment and the position next to it, towards B."""
    for u in range(len(row)):
        old, new = row[u], side.code[u, pair]
        out[u] = old
        if side.rank[u, new] > side.rank[u, old] or (
            side.rank[u, new] == side.rank[u, old] and side.later[u, new] == 1
        ):
            out[u] = new


@kernel
def _longer(row: I32, size: int) -> I32:
    """A copy with room for more (element by element: slice assignment is slow to compile)."""
    out = np.empty(size, dtype=np.int32)
    for c in range(len(row)):
        out[c] = row[c]
    return out


@kernel
def _longer64(row: I64, size: int) -> I64:
    """The same for 64-bit integers."""
    out = np.empty(size, dtype=np.int64)
    for c in range(len(row)):
        out[c] = row[c]
    return out


@kernel
def _taller(rows: I32, size: int) -> I32:
    """A copy of a table with room for more rows, which hold -1."""
    out = np.empty((size, rows.shape[1]), dtype=np.int32)
    for r in range(size):
        for c in range(rows.shape[1]):
            out[r, c] = rows[r, c] if r < len(rows) else -1
    return out


@kernel
def _assign(rows: I32, at: int, row: I32) -> None:
    """Put a row into a table."""
    for c in range(len(row)):
        rows[at, c] = row[c]


@kernel
def _summary_after(
    s: int, pair: int, side: Side, rows: I32, step: I32, slots: I32, count: int, new: I32
) -> tuple[int, int, int]:
    """The summary ``s`` extended by a pair: ``(number, count, slot)``; a new one is put into ``rows`` if there is room.

    Where there is no room, the number is -1.
    """
    _append(rows[s], pair, side, new)
    at = _row_slot(slots, rows, new, _hash_row(new))
    if slots[at] < 0:
        if count == len(rows):
            return -1, count, at
        slots[at] = count
        _assign(rows, count, new)
        count += 1
    step[s, pair] = slots[at]
    return slots[at], count, at


@kernel
def explore(side: Side, limit: int) -> tuple[I64, I32, I32, I32, int]:
    """All reached triples: ``(cell, summary, summaries, step, status)`` in order of discovery, ``cell = a * B + b``.

    ``summaries`` (S, U) and ``step`` (S, P) of their extensions. ``status`` is 1 beyond ``limit`` triples.
    """
    na, nb = side.delta.shape[0], side.back.shape[0]
    nu, pairs = side.code.shape
    rows = np.zeros((64, nu), dtype=np.int32)
    step = np.full((64, pairs), -1, dtype=np.int32)
    slots = np.full(256, -1, dtype=np.int32)
    slots[_row_slot(slots, rows, rows[0], _hash_row(rows[0]))] = 0
    nrows = 1
    new = np.empty(nu, dtype=np.int32)
    words = 1
    member = np.zeros((na * nb, words), dtype=np.int64)
    cell = np.empty(1024 + nb, dtype=np.int64)
    summary = np.zeros(1024 + nb, dtype=np.int32)
    for b in range(nb):
        cell[b] = b
        member[b, 0] = 1
    count, t = nb, 0
    while t < count:
        a, b, s = cell[t] // nb, cell[t] % nb, summary[t]
        for e in range(side.offset[b], side.offset[b + 1]):
            x, b2 = side.edge_x[e], side.edge_b[e]
            label = side.lab[a, x, b2]
            if label < 0:
                continue
            pair = side.pair[label]
            after = step[s, pair]
            if after < 0:
                after, nrows, _ = _summary_after(s, pair, side, rows, step, slots, nrows, new)
                if after < 0:
                    rows, step = _taller(rows, 2 * nrows), _taller(step, 2 * nrows)
                    slots = _rehash_rows(rows, nrows, 4 * len(slots))
                    after, nrows, _ = _summary_after(s, pair, side, rows, step, slots, nrows, new)
            a2 = side.delta[a, x]
            if a2 < 0:
                continue
            word = after // 62
            if word >= words:
                wider = np.zeros((na * nb, 2 * word), dtype=np.int64)
                for c in range(na * nb):
                    for w in range(words):
                        wider[c, w] = member[c, w]
                member, words = wider, 2 * word
                if np.int64(na) * nb * words > 1 << 28:
                    return cell, summary, rows, step, 1
            bit = np.int64(1) << (after % 62)
            c2 = np.int64(a2) * nb + b2
            if member[c2, word] & bit:
                continue
            member[c2, word] |= bit
            if count == len(cell):
                if count >= limit:
                    return cell, summary, rows, step, 1
                cell, summary = _longer64(cell, 2 * count), _longer(summary, 2 * count)
            cell[count], summary[count] = c2, after
            count += 1
        t += 1
    return cell[:count].copy(), summary[:count].copy(), rows[:nrows].copy(), step, 0


class Triples(NamedTuple):
    """Triples sorted by cell: those of cell ``c`` are ``base[c] .. base[c+1]-1``, with their ``summary``; their edges
    are ``offset[t] .. offset[t+1]-1`` in the order of ``side.edge_*``: the triple ``succ`` behind (-1: none), and the
    entry ``seen`` at the query value there (-1: no such position)."""

    base: I32
    summary: I32
    offset: I32
    succ: I32
    seen: I32


@kernel
def sort_triples(side: Side, cell: I64, summary: I32, rows: I32, step: I32) -> Triples:
    """The triples of :func:`explore`, cell by cell, with their edges. Cost O(edges)."""
    na, nb = side.delta.shape[0], side.back.shape[0]
    base = np.zeros(na * nb + 1, dtype=np.int32)
    for t in range(len(cell)):
        base[cell[t] + 1] += 1
    for c in range(na * nb):
        base[c + 1] += base[c]
    fill = base[:-1].copy()
    which = np.empty(len(cell), dtype=np.int32)
    for t in range(len(cell)):
        which[fill[cell[t]]] = summary[t]
        fill[cell[t]] += 1
    offset = np.zeros(len(cell) + 1, dtype=np.int32)
    for c in range(na * nb):
        degree = side.offset[c % nb + 1] - side.offset[c % nb]
        for t in range(base[c], base[c + 1]):
            offset[t + 1] = offset[t] + degree
    succ = np.full(offset[-1], -1, dtype=np.int32)
    seen = np.full(offset[-1], -1, dtype=np.int32)
    at = np.full(len(rows), -1, dtype=np.int32)
    for c in range(na * nb):
        if base[c] == base[c + 1]:
            continue
        a, b = c // nb, c % nb
        for e in range(side.offset[b], side.offset[b + 1]):
            x, b2 = side.edge_x[e], side.edge_b[e]
            label = side.lab[a, x, b2]
            if label < 0:
                continue
            a2 = side.delta[a, x]
            if a2 >= 0:
                c2 = np.int64(a2) * nb + b2
                for t in range(base[c2], base[c2 + 1]):
                    at[which[t]] = t
            pair, u = side.pair[label], side.query[label]
            for t in range(base[c], base[c + 1]):
                after = step[which[t], pair]
                k = offset[t] + e - side.offset[b]
                seen[k] = rows[after, u] if side.observed == 1 else rows[which[t], u]
                if a2 >= 0:
                    succ[k] = at[after]
    return Triples(base, which, offset, succ, seen)


@kernel
def refine_cells(side: Side, tr: Triples, out: I32) -> tuple[I32, bool]:
    """The coarsest partition of the triples, within cells, that agrees on ``out`` and is stable: ``(class, verified)``.

    A class is named by a triple number in its cell. Only cells are done again behind which something changed.
    """
    na, nb = side.delta.shape[0], side.back.shape[0]
    base, offset, succ = tr.base, tr.offset, tr.succ
    cls = np.empty(len(tr.summary), dtype=np.int32)
    parts = np.zeros(na * nb, dtype=np.int32)
    widest = 1
    for c in range(na * nb):
        widest = max(widest, base[c + 1] - base[c])
        parts[c] = base[c + 1] > base[c]
        for t in range(base[c], base[c + 1]):
            cls[t] = base[c]
    changed = np.ones(na * nb, dtype=np.bool_)
    first = True
    sig = np.empty(widest, dtype=np.int64)
    fresh = np.empty(widest, dtype=np.int32)
    size = 1024
    while size < 4 * widest:
        size *= 2
    table = np.full(size, -1, dtype=np.int32)
    busy = True
    while busy:
        busy = False
        now = np.zeros(na * nb, dtype=np.bool_)
        for c in range(na * nb):
            low, high = base[c], base[c + 1]
            if high - low <= parts[c]:
                continue
            a, b = c // nb, c % nb
            due = first
            for e in range(side.offset[b], side.offset[b + 1]):
                a2 = side.delta[a, side.edge_x[e]]
                if a2 >= 0 and changed[np.int64(a2) * nb + side.edge_b[e]]:
                    due = True
            if not due:
                continue
            for t in range(low, high):
                h = mix(11, cls[t])
                for k in range(offset[t], offset[t + 1]):
                    h = mix(h, out[k])
                    h = mix(h, cls[succ[k]] if succ[k] >= 0 else -1)
                sig[t - low] = h
            count = 0
            for t in range(high - low):
                at = sig[t] & (size - 1)
                while table[at] >= 0 and sig[table[at]] != sig[t]:
                    at = (at + 1) & (size - 1)
                if table[at] < 0:
                    table[at] = t
                    count += 1
                fresh[t] = low + table[at]
            for t in range(high - low):
                at = sig[t] & (size - 1)
                while table[at] >= 0:
                    table[at] = -1
                    at = (at + 1) & (size - 1)
            if count != parts[c]:
                parts[c] = count
                now[c] = busy = True
                for t in range(low, high):
                    cls[t] = fresh[t - low]
        changed = now
        first = False
    return cls, _stable_cells(tr, cls, out)


@kernel
def _stable_cells(tr: Triples, cls: I32, out: I32) -> bool:
    """Whether every triple has the outputs of the one that names its class, and successors in the same classes."""
    for t in range(len(cls)):
        r = cls[t]
        for k in range(tr.offset[t + 1] - tr.offset[t]):
            one, two = tr.offset[t] + k, tr.offset[r] + k
            if out[one] != out[two] or (tr.succ[one] < 0) != (tr.succ[two] < 0):
                return False
            if tr.succ[one] >= 0 and cls[tr.succ[one]] != cls[tr.succ[two]]:
                return False
    return True


@kernel
def refine(first: I32, offset: I32, succ: I32, out: I32) -> tuple[I32, int]:
    """The coarsest partition that refines ``first``, agrees on ``out`` edge by edge and is stable under ``succ``.

    Moore's algorithm on hashed signatures. Classes are numbered by first occurrence. Cost O(edges) a round. The result
    is verified by comparing every node with the first of its class: with 63 bits a wrong merge has not been seen, and
    one would be returned as class count -1, not as an answer.
    """
    nodes = len(first)
    cls = first.copy()
    classes = -1
    seed = 7
    fresh = np.empty(nodes, dtype=np.int32)
    while True:
        size = 1024
        while size < 2 * min(nodes, 4 * max(classes, 256)) + 2:
            size *= 2
        keys = np.full(size, -1, dtype=np.int64)
        ids = np.empty(size, dtype=np.int32)
        count = 0
        for t in range(nodes):
            h = mix(seed, cls[t])
            for e in range(offset[t], offset[t + 1]):
                h = mix(h, out[e])
                h = mix(h, cls[succ[e]] if succ[e] >= 0 else -1)
            at = _slot(keys, h)
            if keys[at] == -1:
                if 2 * count >= size:
                    size *= 4
                    morek, morei = np.full(size, -1, dtype=np.int64), np.empty(size, dtype=np.int32)
                    for o in range(len(keys)):
                        if keys[o] != -1:
                            at = _slot(morek, keys[o])
                            morek[at], morei[at] = keys[o], ids[o]
                    keys, ids = morek, morei
                    at = _slot(keys, h)
                keys[at], ids[at] = h, count
                count += 1
            fresh[t] = ids[at]
        cls, fresh = fresh, cls
        if count == classes:
            break
        classes = count
        seed += 1
    return cls, classes if _stable(cls, classes, first, offset, succ, out) else -1


@kernel
def _stable(cls: I32, classes: int, first: I32, offset: I32, succ: I32, out: I32) -> bool:
    """Whether every node has the start class, the outputs and the successors' classes of the first of its class."""
    rep = np.full(classes, -1, dtype=np.int32)
    for t in range(len(cls)):
        r = rep[cls[t]]
        if r < 0:
            rep[cls[t]] = t
            continue
        if first[r] != first[t] or offset[r + 1] - offset[r] != offset[t + 1] - offset[t]:
            return False
        for e in range(offset[t + 1] - offset[t]):
            one, two = succ[offset[t] + e], succ[offset[r] + e]
            if (
                out[offset[t] + e] != out[offset[r] + e]
                or (one < 0) != (two < 0)
                or (one >= 0 and cls[one] != cls[two])
            ):
                return False
    return True


class Parts(NamedTuple):
    """What :func:`determinise` reads: ``delta`` (A, X), ``back`` (B, X), ``lab`` (A, X, B), ``place`` (B, X) as
    above; ``start`` (H, B): the class of the empty summary for each head and ``b``; for each class of any head
    ``offset``, ``succ`` and ``out`` of its edges."""

    delta: I32
    back: I32
    lab: I32
    place: I32
    start: I32
    offset: I32
    succ: I32
    out: I32


@kernel
def determinise(parts: Parts, limit: int) -> tuple[I32, I32, I32, int]:
    """The side automaton whose states are ``(a, f)``, ``f`` giving each head and ``b`` a class of summaries.

    Returns ``(base, delta, vectors, status)``: ``base`` the component ``a``, ``delta`` (S, X), ``vectors`` (S, H*B+1)
    whose last column is ``a``. ``status`` is 1 beyond ``limit`` states. Cost O(S X H B).
    """
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
    slots[_row_slot(slots, rows, rows[0], _hash_row(rows[0]))] = 0
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
            hashed = _hash_row(row)
            at = _row_slot(slots, rows, row, hashed)
            if slots[at] < 0:
                if count == len(rows):
                    if count >= limit:
                        return rows[:, width - 1].copy(), delta, rows, 1
                    rows, delta = _taller(rows, 2 * count), _taller(delta, 2 * count)
                    slots = _rehash_rows(rows, count, 4 * len(rows))
                    at = _row_slot(slots, rows, row, hashed)
                slots[at] = count
                _assign(rows, count, row)
                count += 1
            delta[t, x] = slots[at]
        t += 1
    return rows[:count, width - 1].copy(), delta[:count].copy(), rows[:count].copy(), 0


@kernel
def outcomes(parts: Parts, base: I32, vectors: I32, only: int) -> tuple[I32, I32]:
    """What each state of the new side says at each ``(x, b)``: the number of a distinct row (label, out of each head).

    Returns ``(at, rows)``, ``at`` (S, X, B) with -1 where no such position exists, ``rows`` (K, 1+H). Where ``only`` is
    at least 0, just for ``b = only``. Cost O(S X H B).
    """
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
                hashed = _hash_row(row)
                slot = _row_slot(slots, rows, row, hashed)
                if slots[slot] < 0:
                    if count == len(rows):
                        rows = _taller(rows, 2 * count)
                        slots = _rehash_rows(rows, count, 4 * len(rows))
                        slot = _row_slot(slots, rows, row, hashed)
                    slots[slot] = count
                    _assign(rows, count, row)
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


@kernel
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
                        at = _slot(keys, k)
                        if keys[at] != -1:
                            continue
                        keys[at] = k
                        if count == len(found):
                            if count >= limit:
                                return found, 1
                            found = _longer64(found, 2 * count)
                            keys, _ = _rehash_keys(found, count, 8 * len(found))
                            keys[_slot(keys, k)] = k
                        found[count] = k
                        count += 1
    return found[:count].copy(), 0


@kernel
def signatures(m: Meeting, rights: int, pairs: I64, label: I32, mirror: bool) -> I64:
    """A hash, for each new left state (``mirror``: right state), of its labels at all ``(x, new state opposite)``."""
    keys, ids = _rehash_keys(pairs, len(pairs), _power(len(pairs)))
    mine, theirs = (m.right, m.left) if mirror else (m.left, m.right)
    base, of, off = (m.base_r, m.of_l, m.off_l) if mirror else (m.base_l, m.of_r, m.off_r)
    count, letters, opposite = mine.shape
    top = 0
    for t in range(count):
        for x in range(letters):
            for b in range(opposite):
                top = max(top, mine[t, x, b] + 1)
    stamp = np.full(top, -1, dtype=np.int64)
    known = np.empty(top, dtype=np.int64)
    out = np.zeros(count, dtype=np.int64)
    order, own = (m.of_r, m.off_r) if mirror else (m.of_l, m.off_l)
    cell = 0
    for a in range(len(own) - 1):
        for x in range(letters):
            for b in range(opposite):
                cell += 1
                for e in range(own[a], own[a + 1]):
                    t = order[e]
                    v = mine[t, x, b]
                    if v < 0:
                        continue
                    if stamp[v] != cell:
                        stamp[v] = cell
                        h = 0
                        for f in range(off[b], off[b + 1]):
                            w = theirs[of[f], x, base[t]]
                            if w >= 0:
                                k = np.int64(w) * rights + v if mirror else np.int64(v) * rights + w
                                h ^= mix(mix(x + 1, of[f]), label[ids[_slot(keys, k)]])
                        known[v] = h
                    out[t] ^= known[v]
    return out


@kernel
def _power(count: int) -> int:
    """A table size for so many keys."""
    size = 1024
    while size < 2 * count + 2:
        size *= 2
    return size


@kernel
def labels_of(m: Meeting, rights: int, pairs: I64, label: I32, reps_l: I32, reps_r: I32) -> I32:
    """The labels (L, X, R) of the representatives of the merged states."""
    keys, ids = _rehash_keys(pairs, len(pairs), _power(len(pairs)))
    letters = m.left.shape[1]
    out = np.full((len(reps_l), letters, len(reps_r)), -1, dtype=np.int32)
    for i in range(len(reps_l)):
        for x in range(letters):
            for j in range(len(reps_r)):
                v = m.left[reps_l[i], x, m.base_r[reps_r[j]]]
                w = m.right[reps_r[j], x, m.base_l[reps_l[i]]]
                if v >= 0 and w >= 0:
                    out[i, x, j] = label[ids[_slot(keys, np.int64(v) * rights + w)]]
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


@kernel
def edge_cells(side: Side, tr: Triples) -> I64:
    """The place ``(a * X + x) * B + b2`` of every edge of every triple."""
    nb, letters = side.back.shape
    out = np.empty(tr.offset[-1], dtype=np.int64)
    for c in range(len(tr.base) - 1):
        a, b = c // nb, c % nb
        for t in range(tr.base[c], tr.base[c + 1]):
            for e in range(side.offset[b], side.offset[b + 1]):
                place = (np.int64(a) * letters + side.edge_x[e]) * nb + side.edge_b[e]
                out[tr.offset[t] + e - side.offset[b]] = place
    return out


@kernel
def canonical(f: Facing, cells: int) -> tuple[I32, I32]:
    """For each edge, the least entry of its cell that every entry of the other side treats alike.

    Two left entries at a cell are alike if with each right entry that occurs there the head gives the same value; and
    the other way round. Cost O(edges + cells * C^2).
    """
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
        for i in range(some):
            to_l[c, own[i]] = own[i]
            for j in range(i):
                alike = to_l[c, own[j]] == own[j]
                for k in range(others):
                    alike = alike and _winner(f, u, own[i], other[k]) == _winner(f, u, own[j], other[k])
                if alike:
                    to_l[c, own[i]] = own[j]
                    break
        for i in range(others):
            to_r[c, other[i]] = other[i]
            for j in range(i):
                alike = to_r[c, other[j]] == other[j]
                for k in range(some):
                    alike = alike and _winner(f, u, own[k], other[i]) == _winner(f, u, own[k], other[j])
                if alike:
                    to_r[c, other[i]] = other[j]
                    break
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
def _winner(f: Facing, u: int, left: int, right: int) -> int:
    """The value of the better of a left and a right entry."""
    if f.rank[u, right] > f.rank[u, left] or (f.rank[u, right] == f.rank[u, left] and f.later[u, right] == 1):
        return f.value[u, right]  # type: ignore[no-any-return]
    return f.value[u, left]  # type: ignore[no-any-return]
