"""Bounds on a softmax average whose weights and values depend on the same unknown cases (restrict/soft/values.py).

For one coordinate: position ``w`` is in one of its cases ``k``, with an unnormalised weight in ``small .. big`` and a
value of at most ``top``. If ``sum_w max_k max_e e (top - u) <= 0`` then every average is at most ``u``. The left side
falls with ``u``, so the best ``u`` is found by bisection; only the last evaluation counts for soundness, and it allows
for its own rounding.
"""

from __future__ import annotations

import numpy as np

from restrict.arrays import F64
from restrict.kernels.jit import kernel

STEPS = 30
"""Halvings of the distance between the bound at hand and the best conceivable one."""


@kernel
def excess(small: F64, big: F64, top: F64, u: float) -> float:
    """The left side at ``u``, rounded up; ``small``, ``big``, ``top`` have shape (n, K)."""
    total = 0.0
    size = 0.0
    for w in range(small.shape[0]):
        best = -np.inf
        most = 0.0
        for k in range(small.shape[1]):
            gap = top[w, k] - u
            term = big[w, k] * gap if gap > 0 else small[w, k] * gap
            best = max(best, term)
            most = max(most, big[w, k] * (abs(top[w, k]) + abs(u)))
        total += best
        size += most
    return float(total + size * (small.shape[0] + 8) * 4.5e-16)


@kernel
def coupled_tops(small: F64, big: F64, tops: F64, start: F64) -> F64:
    """Upper bounds on averages, better than ``start`` where possible.

    Args:
        small: (r, n, K) least unnormalised weights, at least 0; 0 where masked.
        big: (r, n, K) greatest ones.
        tops: (n, K, d) upper bounds on the values.
        start: (r, d) certified upper bounds.

    Returns:
        Shape (r, d), each entry certified. Cost: ``STEPS r d n K``.
    """
    found = start.copy()
    for r in range(small.shape[0]):
        for c in range(tops.shape[2]):
            top = np.ascontiguousarray(tops[:, :, c])
            low, high = top.min(), start[r, c]
            for _ in range(STEPS):
                middle = 0.5 * (low + high)
                if not low < middle < high:
                    break
                if excess(small[r], big[r], top, middle) <= 0:
                    high = middle
                else:
                    low = middle
            found[r, c] = high
    return found
