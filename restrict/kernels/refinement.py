"""Partition refinement (Moore) of the triples, cell by cell. Signatures are hashed, so equal ones stay together; the
partition that comes out is compared, node by node, with the first node of each class. A wrong merge is therefore never
an answer: the caller tries again with another seed."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import I32, I64
from restrict.kernels.hashing import mix
from restrict.kernels.jit import kernel, making_kernel
from restrict.kernels.triples import Triples


@kernel
def _group(sig: I64, size: int, table: I32, first: I32) -> int:
    """For each of ``size`` signatures, the first equal one; how many there are. ``table`` stays all -1."""
    mask, count = len(table) - 1, 0
    for t in range(size):
        at = sig[t] & mask
        while table[at] >= 0 and sig[table[at]] != sig[t]:
            at = (at + 1) & mask
        if table[at] < 0:
            table[at] = t
            count += 1
        first[t] = table[at]
    for t in range(size):
        at = sig[t] & mask
        while table[at] >= 0:
            table[at] = -1
            at = (at + 1) & mask
    return count


@making_kernel
def refine_cells(tr: Triples, out: I32, seed: int) -> tuple[I32, bool]:
    """The coarsest partition of the triples, within cells, that agrees on ``out`` and is stable: ``(class, verified)``.
    A class is named by a triple number in its cell."""
    base, offset, succ = tr.base, tr.offset, tr.succ
    cells = len(base) - 1
    cls = np.empty(len(tr.summary), dtype=np.int32)
    parts = np.zeros(cells, dtype=np.int32)
    widest = 1
    for c in range(cells):
        widest = max(widest, base[c + 1] - base[c])
        parts[c] = base[c + 1] > base[c]
        for t in range(base[c], base[c + 1]):
            cls[t] = base[c]
    sig = np.empty(widest, dtype=np.int64)
    fresh = np.empty(widest, dtype=np.int32)
    size = 1024
    while size < 4 * widest:
        size *= 2
    table = np.full(size, -1, dtype=np.int32)
    busy = True
    while busy:
        busy = False
        for c in range(cells):
            low, high = base[c], base[c + 1]
            if high - low <= parts[c]:
                continue
            for t in range(low, high):
                h = mix(seed, cls[t])
                for k in range(offset[t], offset[t + 1]):
                    h = mix(h, out[k])
                    h = mix(h, cls[succ[k]] if succ[k] >= 0 else -1)
                sig[t - low] = h
            count = _group(sig, high - low, table, fresh)
            if count != parts[c]:
                parts[c] = count
                busy = True
                for t in range(low, high):
                    cls[t] = low + fresh[t - low]
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
