"""The kernel of the bimachine construction (docs/all-lengths.md) that makes a side deterministic, from classes of
summaries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I32
from restrict.kernels.hashing import assign, hash_row, rehash_rows, row_slot, taller
from restrict.kernels.jit import making_kernel


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
