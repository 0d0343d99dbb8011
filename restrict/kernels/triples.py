"""Kernels of the bimachine construction (docs/all-lengths.md): the summaries that words reach on one side.

A *side* is one of the two automata. Everything here is written for the side ``A`` that reads towards the other side
``B``: for a head that looks left, A is the left automaton and B the right one; for one that looks right, the mirror
image. A **triple** ``(a, b, s)`` says that after some word A is in ``a`` and that the summary of the word is ``s``
wherever B is in ``b``. An **edge** of a triple is a pair ``(x, b2)`` with ``delta_B(b2, x) = b``: the letter ``x`` is
read next, and ``b2`` is B's state on the other side of it.

Invariants: state 0 of an automaton is its start; ``-1`` is "undefined" in every table; arrays are int32 and C-ordered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I32, I64, take_rows
from restrict.kernels.hashing import assign, hash_row, longer, rehash_rows, row_slot, taller
from restrict.kernels.jit import kernel, making_kernel


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


def edges_into(back: I32) -> tuple[I32, I32, I32, I32]:
    """The edges ``(x, b2)`` into every ``b``, and the place of ``(b2, x)`` among those of its ``b``."""
    edge_b, edge_x = np.nonzero(back >= 0)
    order = np.argsort(back[edge_b, edge_x], kind="stable")
    edge_b, edge_x = edge_b[order], edge_x[order]
    target, place = back[edge_b, edge_x], np.full(back.shape, -1, dtype=np.int32)
    offset = np.searchsorted(target, np.arange(len(back) + 1))
    place[edge_b, edge_x] = np.arange(len(target)) - offset[target]
    return offset.astype(np.int32), edge_x.astype(np.int32), edge_b.astype(np.int32), place


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
def _summary_after(
    s: int, pair: int, side: Side, rows: I32, step: I32, slots: I32, count: int, new: I32
) -> tuple[int, int, int]:
    """The summary ``s`` extended by a pair: ``(number, count, slot)``; new ones go into ``rows``; -1: no room."""
    _append(rows[s], pair, side, new)
    at = row_slot(slots, rows, new, hash_row(new))
    if slots[at] < 0:
        if count == len(rows):
            return -1, count, at
        slots[at] = count
        assign(rows, count, new)
        count += 1
    step[s, pair] = slots[at]
    return slots[at], count, at


@making_kernel
def _wider(member: I64, words: int) -> I64:
    """Bit sets with room for more words."""
    out = np.zeros((member.shape[0], words), dtype=np.int64)
    for c in range(member.shape[0]):
        for w in range(member.shape[1]):
            out[c, w] = member[c, w]
    return out


WIDEST = 1 << 28
"""Entries of a table of summaries: 1 GiB, or 2 of bits."""


@making_kernel
def explore(side: Side, limit: int) -> tuple[I64, I32, I32, I32, int]:
    """All reached triples: ``(cell, summary, summaries, step, status)`` in order of discovery, ``cell = a * B + b``.
    ``summaries`` (S, U) and ``step`` (S, P) of their extensions. ``status`` is 1 beyond ``limit`` triples, or where a
    table would have more than ``WIDEST`` entries, which is seen before it is made."""
    na, nb = side.delta.shape[0], side.back.shape[0]
    nu, pairs = side.code.shape
    rows = np.zeros((64, nu), dtype=np.int32)
    step = np.full((64, pairs), -1, dtype=np.int32)
    slots = np.full(256, -1, dtype=np.int32)
    slots[row_slot(slots, rows, rows[0], hash_row(rows[0]))] = 0
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
                    if np.int64(2 * nrows) * (nu + pairs) > WIDEST:
                        return cell, summary, rows, step, 1
                    rows, step = taller(rows, 2 * nrows), taller(step, 2 * nrows)
                    slots = rehash_rows(rows, nrows, 2 * len(slots))
                    after, nrows, _ = _summary_after(s, pair, side, rows, step, slots, nrows, new)
            a2 = side.delta[a, x]
            if a2 < 0:
                continue
            word = after // 62
            if word >= words:
                if np.int64(na) * nb * 2 * word > WIDEST:
                    return cell, summary, rows, step, 1
                member, words = _wider(member, 2 * word), 2 * word
            bit = np.int64(1) << (after % 62)
            c2 = np.int64(a2) * nb + b2
            if member[c2, word] & bit:
                continue
            member[c2, word] |= bit
            if count >= limit:
                return cell, summary, rows, step, 1
            if count == len(cell):
                cell, summary = longer(cell, 2 * count), longer(summary, 2 * count)
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


@making_kernel
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


def edge_cells(side: Side, tr: Triples) -> I64:
    """The place ``(a * X + x) * B + b2`` of every edge of every triple."""
    nb, letters = side.back.shape
    cell = np.repeat(np.arange(len(tr.base) - 1), np.diff(tr.base))
    edge, a = take_rows(side.offset.astype(np.int64), cell % nb), np.repeat(cell // nb, np.diff(tr.offset))
    found: I64 = (a * letters + side.edge_x[edge]) * nb + side.edge_b[edge]
    return found
