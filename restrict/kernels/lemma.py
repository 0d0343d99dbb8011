"""Kernels of Stage 2 (Hahn 2020, section 5.1; the greedy selection of docs/lemma.md)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.kernels.jit import making_kernel


class Ranked(NamedTuple):
    """The candidate lists of a head: row ``r`` is list ``row_list[r]``, which is the pairs ``(j[t], w[t])``, ``t`` in
    ``start .. stop``, best first; ``complete``: it goes down to the floor."""

    row_list: I64
    start: I64
    stop: I64
    j: I64
    w: I64
    complete: I64


@making_kernel
def select(ranked: Ranked, ptr: I64, inputs: I64, k: int, ends: I64, chosen: I64, state: I64) -> None:
    """Walk down each row's ranking, best pair first, and select a position iff it has an input (``inputs[ptr[j] : ptr[j
    + 1]]``) that no earlier selected one has. ``chosen`` (2, rows * k) takes (position, its maximiser), row ``r`` ends
    at ``ends[r]``. ``state`` (rows,): 0: k were selected; before the k-th, 1: the list ended at its floor, the row is
    captured, or 2: the list was truncated."""
    n = ptr.shape[0] - 1
    taken, seen = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    used = 0
    for r in range(ranked.row_list.shape[0]):
        size, l = 0, ranked.row_list[r]
        state[r] = 1 if ranked.complete[l] == 1 else 2
        for t in range(ranked.start[l], ranked.stop[l]):
            j = ranked.j[t]
            if seen[j] == r:
                continue
            seen[j] = r
            fresh = False
            for v in range(ptr[j], ptr[j + 1]):
                fresh = fresh or taken[inputs[v]] != r
                taken[inputs[v]] = r
            if not fresh:
                continue
            chosen[0, used], chosen[1, used] = j, ranked.w[t]
            used += 1
            size += 1
            if size == k:
                if t < ranked.stop[l] - 1 or ranked.complete[l] == 0:
                    state[r] = 0
                break
        ends[r] = used
