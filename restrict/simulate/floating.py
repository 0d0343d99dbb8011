"""Floating point in one softmax head: what weights and sums add, and the length up to which a bound is good enough.

``u`` is the unit roundoff. The evaluator and the exported module compute ``(sum of w_j v_j) / (sum of w_j)``, the
division last. In any order of summation, with or without fused operations (Higham 2002, section 3.1), both sums err by
less than ``n u`` of themselves, and each weight by :data:`EXP_ULPS` units: this is the assumption about the library's
exponential. Where all but a few positions have next to no weight the sums err by less: adding ``b`` to ``a`` errs by at
most ``min(u (a + b), b)``, since ``a`` itself is a float that far from ``a + b``. So ``k`` positions that count err by
``k u``, and all others together by little more than their own weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from restrict.soft.model import MAX_N

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
"""Unit roundoff by the name of the type."""
SHORT = 64
"""Up to here lengths are looked at one by one; from here on the bounds grow with the length."""
SAFE = 0.25
EXP_ULPS = 16
"""The assumed error of the exponential, in units roundoff: 8 units in the last place."""
SLACK = 1.0 + 2.0**-40
"""More than the rounding of the few operations on positive numbers that a bound is made of."""


def share(odds: float) -> float:
    """``m / (1 + m)``.

    Args:
        odds: not below the true ones.

    Returns:
        The share, rounded up; 1 for infinite odds.
    """
    return 1.0 if math.isinf(odds) else min(1.0, odds / (1.0 + odds) * SLACK)


def noise(n: int, unit: float, few: bool = False) -> float:
    """What the sums of softmax add to an average of values in [0, 1].

    Args:
        n: the length.
        unit: unit roundoff.
        few: all but 41 positions have less than ``2^-38`` of the winner's weight together, where ``n`` is at least 33.

    Returns:
        A certified bound; it does not fall with the length.
    """
    if n == 1 or unit == 0:
        return 0.0
    found = (2 * n + 32) * unit
    if few:
        found = min(found, (2 * 41 + 32) * unit + 2.0**-36)
    return found * 1.01


def longest(safe: Callable[[int], bool], only: int | None = None) -> int:
    """The greatest length such that this one and all shorter ones are safe.

    Args:
        safe: whether a length is; from :data:`SHORT` on it stays false once it is.
        only: the one length that counts, where a model holds at no other.

    Returns:
        The length, at most 10 million (the format's limit), or 0. Cost: about 90 calls.
    """
    if only is not None:
        return only if safe(only) else 0
    for n in range(1, SHORT + 1):
        if not safe(n):
            return n - 1
    low, high = SHORT, MAX_N + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if safe(middle) else (low, middle)
    return low
