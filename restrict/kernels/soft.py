"""Kernels of the soft propagation: bounds on scores, on weights, and on averages whose weights and values are coupled.
They serve soft/bounds/scores.py and averages.py. **Coupled averages**, for one coordinate: position ``w`` is in one of
its cases ``k``, with an unnormalised weight in ``small .. big`` and a value of at most ``top``. If ``sum_w max_k max_e
e (top - u) <= 0`` then every average is at most ``u``. The left side is convex and falls with ``u``, so Newton's method
from below finds its zero; only the last evaluation, a little above, counts for soundness, and it allows for its own
rounding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import F64
from restrict.kernels.jit import making_kernel

STEPS, TRIES = 20, 8
"""Newton steps, and distances above the zero that are tried, at most."""
U = 2.0**-53


class Sizes(NamedTuple):
    """Of sets: the norms of the centres, and the balls; (m,) each."""

    norm: F64
    ball: F64


class Room(NamedTuple):
    """Constants of outward rounding, and the range of a head's scale."""

    product: float
    """Error of a product of centres, relative to the product of their norms."""
    above: float
    """What radii are multiplied by."""
    tiny: float
    low: float
    high: float


@making_kernel
def product_bounds(centre: F64, by_box: F64, q: Sizes, k: Sizes, room: Room, low: F64, high: F64) -> None:
    """Widen ``low .. high`` to hold the scaled products of sets of queries and keys. ``by_box``: (r, n) bounds on the
    distance from it by the boxes; (1, 1) where only the balls count."""
    boxes = by_box.shape == centre.shape
    slip = 4 * U
    for i in range(centre.shape[0]):
        reach, ball, norm = q.norm[i] + q.ball[i], q.ball[i], q.norm[i]
        for j in range(centre.shape[1]):
            c = centre[i, j]
            spread = reach * k.ball[j] + ball * k.norm[j]
            if boxes:
                spread = min(spread, by_box[i, j])
            spread = (spread + room.product * norm * k.norm[j]) * room.above + room.tiny
            spread += slip * (abs(c) + spread)
            a, b = (c - spread) * room.low, (c - spread) * room.high
            e, f = (c + spread) * room.low, (c + spread) * room.high
            bottom, top = min(a, b, e, f), max(a, b, e, f)
            low[i, j] = min(low[i, j], bottom - slip * abs(bottom) - room.tiny)
            high[i, j] = max(high[i, j], top + slip * abs(top) + room.tiny)


@making_kernel
def product_sizes(centre: F64, by_box: F64, q: Sizes, k: Sizes, room: Room) -> None:
    """Turn the products of the centres of two families of sets into bounds on the absolute values of all products."""
    for i in range(centre.shape[0]):
        reach, ball, norm = q.norm[i] + q.ball[i], q.ball[i], q.norm[i]
        for j in range(centre.shape[1]):
            spread = min(reach * k.ball[j] + ball * k.norm[j], by_box[i, j])
            centre[i, j] = (abs(centre[i, j]) + spread + room.product * norm * k.norm[j]) * room.above + room.tiny


@making_kernel
def weight_bounds(small: F64, big: F64, least_total: F64, most_total: F64, slack: float, tiny: float) -> None:
    """Turn bounds on unnormalised weights (``small`` (r, n): least, 0 where masked) into bounds on weights, in place;
    ``most_total`` (r,): upper bounds; ``slack``: relative room for the sums' rounding, above 1."""
    for i in range(small.shape[0]):
        bottom, top = least_total[i], most_total[i] * (1 + 4 * U)
        for j in range(small.shape[1]):
            s, b = small[i, j], big[i, j]
            most = b / (b + max(bottom - s * slack, 0.0)) if b > 0 else 0.0
            least = s / (s + (top - b)) if s > 0 else 0.0
            small[i, j] = max(least * (1 - 8 * U) - tiny, 0.0)
            big[i, j] = min(most * (1 + 8 * U) + tiny, 1.0) if b > 0 else 0.0


@making_kernel
def excess(small: F64, big: F64, top: F64, u: float) -> tuple[float, float]:
    """The left side at ``u``, rounded up, and how fast it falls; ``small``, ``big``, ``top`` have shape (n, K)."""
    total, size, fall = 0.0, 0.0, 0.0
    for w in range(small.shape[0]):
        best, most, weight = -np.inf, 0.0, 0.0
        for k in range(small.shape[1]):
            gap = top[w, k] - u
            e = big[w, k] if gap > 0 else small[w, k]
            if e * gap > best:
                best, weight = e * gap, e
            most = max(most, big[w, k] * (abs(top[w, k]) + abs(u)))
        total += best
        size += most
        fall += weight
    return total + size * (small.shape[0] + 8) * 4.5e-16, fall


@making_kernel
def coupled_top(small: F64, big: F64, top: F64, start: float) -> float:
    """An upper bound on one coordinate of an average, ``start`` where no better one is found."""
    u = top.min()
    value, fall = excess(small, big, top, u)
    for _ in range(STEPS):
        if not (value > 0 and fall > 0) or u >= start:
            break
        moved = u + value / fall
        if not moved > u:
            break
        last, u = value, moved
        value, fall = excess(small, big, top, u)
        if value > 0.5 * last:
            break
    # What is left of the value is rounding: step over it.
    step = max(value, 0.0) / fall if fall > 0 else 0.0
    for _ in range(TRIES):
        if not u < start:
            break
        if excess(small, big, top, u)[0] <= 0:
            return float(u)
        step = max(2 * step, 4 * U * abs(u), 1e-300)
        u += step
    return start


@making_kernel
def coupled_tops(small: F64, big: F64, tops: F64, start: F64) -> F64:
    """Certified upper bounds on averages (r, d), better than ``start`` where possible. ``small`` (r, n, K): least
    unnormalised weights, 0 where masked; ``tops`` (n, K, d): upper bounds on the values. Cost: ``r d n K``."""
    found = start.copy()
    for r in range(small.shape[0]):
        for c in range(tops.shape[2]):
            top = np.ascontiguousarray(tops[:, :, c])
            found[r, c] = coupled_top(small[r], big[r], top, start[r, c])
    return found
