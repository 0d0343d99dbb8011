"""Kernels of the second layer's verdicts: weights, values and longest paths over nodes with cells (theorem 8). A cell
has a key and a value as affine forms: centre ``(cells, w)``, generators ``(cells, w, m)``, remainder ``(cells, w)``.
The cells of node ``x`` are ``first[x]`` to ``first[x + 1]``, and those of its case are one. Docs:
docs/soft-verdicts.md, "The second layer"."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import F64, I64
from restrict.kernels.jit import making_kernel
from restrict.kernels.verdict import ABOVE, NOTHING

ROUNDS = 60
"""Rounds of Newton's method; a handful are used."""
LARGE = 600.0
"""Exponents are cut off here."""
FAINT = 2.0**-248
"""Weights are off by less than this part of the greatest, as the checker's are."""


@making_kernel
def reach(g: F64, r: F64) -> F64:
    """How far each entry of a form is from its centre."""
    found = r.copy()
    for a in range(g.shape[0]):
        for m in range(g.shape[1]):
            found[a] += abs(g[a, m])
    return found


@making_kernel
def weighed(qc: F64, qg: F64, qr: F64, kc: F64, kg: F64, kr: F64) -> tuple[F64, F64]:
    """Bounds on the weight of every cell, up to a common factor (Lemma V7)."""
    count, w = kc.shape
    score, spread, far = np.zeros(count), np.zeros(count), reach(qg, qr)
    for c in range(count):
        for a in range(w):
            score[c] += qc[a] * kc[c, a]
    top, mean, whole = score.max(), np.zeros(w), 0.0
    for c in range(count):
        share = np.exp(score[c] - top)
        whole += share
        mean += share * kc[c]
    mean /= whole
    for c in range(count):
        gap, off = kc[c] - mean, reach(kg[c], kr[c])
        for a in range(w):
            spread[c] += abs(qc[a]) * kr[c, a] + qr[a] * abs(gap[a]) + far[a] * off[a]
        for m in range(kg.shape[2]):
            x = 0.0
            for a in range(w):
                x += qc[a] * kg[c, a, m]
            spread[c] += abs(x)
        for m in range(qg.shape[1]):
            x = 0.0
            for a in range(w):
                x += qg[a, m] * gap[a]
            spread[c] += abs(x)
    low, high = np.zeros(count), np.zeros(count)
    for c in range(count):
        low[c] = np.exp(score[c] - spread[c] - top)
        high[c] = np.exp(min(score[c] + spread[c] - top, LARGE))
    faint = FAINT * high.max()
    return np.maximum(low - faint, 0.0), high + faint


@making_kernel
def ends(row: F64, vc: F64, vg: F64, vr: F64) -> F64:
    """The greatest value of ``row . v`` in every cell."""
    count, w = vc.shape
    found = np.zeros(count)
    for c in range(count):
        for a in range(w):
            found[c] += row[a] * vc[c, a] + abs(row[a]) * vr[c, a]
        for m in range(vg.shape[2]):
            x = 0.0
            for a in range(w):
                x += row[a] * vg[c, a, m]
            found[c] += abs(x)
    return found


@making_kernel
def beyond(low: F64, high: F64, value: F64, more: F64, first: I64, before: I64, into: I64, begin: float) -> float:
    """An upper bound on the average over all words of a case (Theorem 8), by Newton's method on its sign. The nodes
    stand in the order of their positions, the case last; ``into[before[x] : before[x + 1]]`` are the nodes that can
    stand in front of node ``x`` (none: the start token). ``more``: what each cell's length has beside weight times
    value (Lemma V12)."""
    nodes = first.shape[0] - 1
    limit, best, last = begin, NOTHING, False
    num, den = np.zeros(nodes), np.zeros(nodes)
    for _ in range(ROUNDS):
        for x in range(nodes):
            most, n, d = -np.inf, 0.0, 0.0
            for c in range(first[x], first[x + 1]):
                e = high[c] if value[c] > limit else low[c]
                gain = e * (value[c] - limit) + more[c]
                if gain > most:
                    most, n, d = gain, e * value[c] + more[c], e
            longest, y, z = -np.inf, 0.0, 0.0
            for k in range(before[x], before[x + 1]):
                p = into[k]
                if num[p] - limit * den[p] > longest:
                    longest, y, z = num[p] - limit * den[p], num[p], den[p]
            num[x], den[x] = y + n, z + d
        if den[nodes - 1] <= 0:
            return np.inf
        ratio = num[nodes - 1] / den[nodes - 1]
        if ratio > best + 1e-13 * (1 + abs(best)):
            best, limit, last = ratio, ratio, False
        elif last:
            break
        else:
            limit, last = best + ABOVE * (1 + abs(best)), True
    return best
