"""Kernels of verdicts: the greatest average of a head over all words of an automaton, by longest paths (Dinkelbach). A
word of length ``i`` that ends in symbol ``a`` and state ``q`` has the average ``sum e v / sum e`` over its positions;
``e[j, s]`` and ``v[j, s]`` are given, the start token is column 0 of row 0. The edges are sorted by target:
``source[ptr[t] : ptr[t + 1]]`` and ``symbol`` are what enters ``t``. Docs: docs/soft-verdicts.md, Theorem 1."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import F64, I64
from restrict.kernels.jit import kernel, making_kernel

ROUNDS = 60
"""Rounds of Dinkelbach's method; three to six are used."""
NOTHING = -1e300
"""Below every average."""
ABOVE = 1e-9
"""The last round is this far above the answer. At the answer itself a heavy word's length is rounding noise, and it may
hide a light word that goes farther."""


EXCHANGES, BISECTED = 100, 14
"""Exchanges of two words in a mixture, and halvings of what one gives the other."""


@making_kernel
def room(size: int) -> F64:
    """Room for numbers; it is empty, and not zero, since numpy's zeros take longer to compile."""
    return np.empty(size, np.float64)


@kernel
def nowhere(num: F64, den: F64, least: int, stop: int) -> None:
    """No state of a range is reached."""
    for t in range(least, stop):
        num[t], den[t] = 0.0, -1.0


@making_kernel
def heaviest(
    e: F64, v: F64, ptr: I64, source: I64, symbol: I64, case: I64, limit: float, back: I64
) -> tuple[float, float]:
    """Numerator and denominator of a word of the case that is longest for the weights ``e (v - limit)``. ``case`` is
    (i, a, q), and behind these, where it is known, the range of states that words reach at each position: the first
    state at 0, the one behind the last, the same at 1, and so on. ``back[j, t]`` becomes the edge by which the longest
    path enters state ``t`` at ``j``, where ``back`` has rows. The denominator is -1 where the case has no word."""
    return heaviest_from(e, v, ptr, source, symbol, case, case[0], limit, back)


@making_kernel
def heaviest_from(
    e: F64, v: F64, ptr: I64, source: I64, symbol: I64, case: I64, first: int, limit: float, back: I64
) -> tuple[float, float]:
    """:func:`heaviest` over the words of lengths ``first .. i``; behind the last row of ``e`` and ``v`` that row goes
    on, as in a model without positions."""
    i, a, q = case[0], case[1], case[2]
    states = ptr.shape[0] - 1
    num, den, num2, den2 = room(states), room(states), room(states), room(states)
    nowhere(num, den, 0, states)
    num[0], den[0] = e[0, 0] * v[0, 0], e[0, 0]
    most, found_num, found_den = -np.inf, 0.0, -1.0
    if i == 0:
        return num[q], den[q]
    for j in range(1, i + 1):
        at, least, stop, old, end = min(j, e.shape[0] - 1), 0, states, 0, states
        if case.shape[0] > 3:
            least, stop = case[3 + 2 * j], case[4 + 2 * j]
            if j > 1:  # what stands there is of two positions before, and all states would be most of the work
                old, end = case[2 * j - 1], case[2 * j]
        nowhere(num2, den2, old, end)
        for t in range(least, stop):
            best = -np.inf
            for k in range(ptr[t], ptr[t + 1]):
                p, s = source[k], symbol[k]
                if den[p] < 0 or (j == i and s != a):
                    continue
                d = den[p] + e[at, s]
                x = num[p] + e[at, s] * v[at, s]
                if x - limit * d > best:
                    best = x - limit * d
                    num2[t], den2[t] = x, d
                    if back.shape[0] > 0:
                        back[j, t] = k
        for k in range(ptr[q], ptr[q + 1] if j >= first else 0):
            if den[source[k]] >= 0 and symbol[k] == a:
                d, x = den[source[k]] + e[at, a], num[source[k]] + e[at, a] * v[at, a]
                if x - limit * d > most:
                    most, found_num, found_den = x - limit * d, x, d
        num, den, num2, den2 = num2, den2, num, den
    return found_num, found_den


@kernel
def trace(back: I64, source: I64, symbol: I64, end: int, word: I64) -> None:
    """The word of the best path to a state, backwards from its last edge."""
    state = end
    for j in range(word.shape[0], 0, -1):
        edge = back[j, state]
        word[j - 1], state = symbol[edge], source[edge]


@making_kernel
def greatest(e: F64, v: F64, ptr: I64, source: I64, symbol: I64, case: I64, begin: float) -> float:
    """The greatest average over the words of a case; ``begin`` is any number, best one near the answer."""
    return greatest_from(e, v, ptr, source, symbol, case, case[0], begin)


@making_kernel
def greatest_of_block(e: F64, v: F64, ptr: I64, source: I64, symbol: I64, block: I64, begin: float) -> float:
    """The greatest average over the words of a block (first length, last length, a, q) of a model without positions:
    ``e[1, s]`` and ``v[1, s]`` count at every position."""
    return greatest_from(e, v, ptr, source, symbol, block[1:], block[0], begin)


@making_kernel
def greatest_from(e: F64, v: F64, ptr: I64, source: I64, symbol: I64, case: I64, first: int, begin: float) -> float:
    """:func:`greatest` over the words of :func:`heaviest_from`."""
    none = np.empty((0, 0), np.int64)
    limit, best, last = begin, NOTHING, False
    for _ in range(ROUNDS):
        num, den = heaviest_from(e, v, ptr, source, symbol, case, first, limit, none)
        if den <= 0:
            return -np.inf
        ratio = num / den
        if ratio > best + 1e-14 * (1 + abs(best)):
            best, limit, last = ratio, ratio, False
        elif last:
            break
        else:
            limit, last = best + ABOVE * (1 + abs(best)), True
    return best


@making_kernel
def supports(e: F64, t: F64, ptr: I64, source: I64, symbol: I64, case: I64, bounds: F64) -> None:
    """``bounds[0, m]``, ``bounds[1, m]``: greatest and least average of ``t[m, j, s]``, searched from what stands
    there."""
    negative = np.empty((t.shape[1], t.shape[2]), np.float64)
    for m in range(t.shape[0]):
        bounds[0, m] = greatest(e, t[m], ptr, source, symbol, case, bounds[0, m])
        for j in range(t.shape[1]):
            for s in range(t.shape[2]):
                negative[j, s] = -t[m, j, s]
        bounds[1, m] = -greatest(e, negative, ptr, source, symbol, case, -bounds[1, m])


@kernel
def outside(move: F64, at: F64, line: F64, steep: float, step: float) -> float:
    """How fast ``line . x + steep |x - clip(x)|^2 / 2`` grows at ``at + step * move`` along ``move``."""
    found = 0.0
    for m in range(at.shape[0]):
        x = at[m] + step * move[m]
        found += move[m] * (line[m] + steep * (x - min(max(x, -1.0), 1.0)))
    return found


@kernel
def mix(points: F64, share: F64, at: F64, move: F64, line: F64, steep: float) -> None:
    """The mixture ``share`` of points that is least for ``line`` and half of ``steep`` times its squared distance from
    the cell ``[-1, 1]^m``, from the one that stands there on: what is worst gives way to what is best, as far as that
    helps. ``at`` becomes the mixture; ``move`` is room."""
    count, size = points.shape
    for m in range(size):
        at[m] = 0.0
        for k in range(count):
            at[m] += share[k] * points[k, m]
    for _ in range(EXCHANGES):
        best, worst, least, most = 0, 0, np.inf, -np.inf
        for k in range(count):
            slope = 0.0
            for m in range(size):
                slope += points[k, m] * (line[m] + steep * (at[m] - min(max(at[m], -1.0), 1.0)))
            if slope < least:
                best, least = k, slope
            if share[k] > 0 and slope > most:
                worst, most = k, slope
        if most - least <= 1e-6 * abs(least) + 1e-12:
            return
        for m in range(size):
            move[m] = points[best, m] - points[worst, m]
        low, high = 0.0, share[worst]
        step = high
        if outside(move, at, line, steep, step) > 0:
            for _ in range(BISECTED):
                step = (low + high) / 2
                if outside(move, at, line, steep, step) > 0:
                    high = step
                else:
                    low = step
        share[best] += step
        share[worst] = 0.0 if step == share[worst] else share[worst] - step
        for m in range(size):
            at[m] += step * move[m]
