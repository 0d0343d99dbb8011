"""Partition refinement (Moore): of the triples cell by cell, and of the states of any automaton. Signatures are hashed,
so equal ones stay together; the partition that comes out is compared, node by node, with the first node of each class.
A wrong merge is therefore never an answer: the caller tries again with another seed."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import I32, I64
from restrict.kernels.hashing import mix, slot
from restrict.kernels.jit import kernel
from restrict.kernels.triples import Side, Triples


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


@kernel
def refine_cells(side: Side, tr: Triples, out: I32, seed: int) -> tuple[I32, bool]:
    """The coarsest partition of the triples, within cells, that agrees on ``out`` and is stable: ``(class, verified)``.
    A class is named by a triple number in its cell. Only the cells behind which something changed are done again."""
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
                h = mix(seed, cls[t])
                for k in range(offset[t], offset[t + 1]):
                    h = mix(h, out[k])
                    h = mix(h, cls[succ[k]] if succ[k] >= 0 else -1)
                sig[t - low] = h
            count = _group(sig, high - low, table, fresh)
            if count != parts[c]:
                parts[c] = count
                now[c] = busy = True
                for t in range(low, high):
                    cls[t] = low + fresh[t - low]
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
def refine(first: I32, offset: I32, succ: I32, out: I32, seed: int) -> tuple[I32, int]:
    """The coarsest partition that refines ``first``, agrees on ``out`` edge by edge and is stable under ``succ``.
    Moore's algorithm on hashed signatures. Classes are numbered by first occurrence. Cost O(edges) a round. The result
    is verified by comparing every node with the first of its class; after a wrong merge the class count is -1."""
    nodes = len(first)
    cls = first.copy()
    classes = -1
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
            at = slot(keys, h)
            if keys[at] == -1:
                if 2 * count >= size:
                    size *= 4
                    morek, morei = np.full(size, -1, dtype=np.int64), np.empty(size, dtype=np.int32)
                    for o in range(len(keys)):
                        if keys[o] != -1:
                            at = slot(morek, keys[o])
                            morek[at], morei[at] = keys[o], ids[o]
                    keys, ids = morek, morei
                    at = slot(keys, h)
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
