"""The error budget of one softmax head in floating point: the one derivation that every analysis uses.

``u`` is the unit roundoff. The evaluator and the exported module compute ``(sum of w_j v_j) / (sum of w_j)``, the
division last.

1. *Scores* (:func:`blown`). Errors of at most ``e`` in every score of a row change each ratio of two weights by a
   factor of at most ``exp(2 e)``, and so the odds against a winner. What is common to a row does not count.
2. *Weights* (:func:`share`). Odds of at most ``m`` leave the weight ``m / (1 + m)`` off the winner.
3. *The average* (:func:`average_error`). A weight errs by :data:`EXP_ULPS` units of itself: this is the assumption
   about the library's exponential. In any order of summation, with or without fused operations, an inner product of
   ``n`` terms errs by at most ``n u`` times the sum of the terms' absolute values (Jeannerod and Rump 2013). So both
   sums err by ``h = (1 + 16 u) (1 + n u) - 1`` of themselves, and their quotient by at most ``(1 + h) (1 + u) / (1 - h)
   - 1``, relative to the average of the absolute values.
4. *Truth values* (:func:`noise`, :func:`deviation`). A value next to 1 can only lose ``2 h / (1 + h) + u``, as what it
   gains is rounded away (Lemma 9), and one next to 0 gains no more as long as it is below 1/4: less than ``(2 n + 32)
   u`` and a hundredth of it. Where all but a few positions have next to no weight the sums err by less: adding ``b``
   to ``a`` errs by at most ``min(u (a + b), b)``, since ``a`` itself is a float that far from ``a + b``. So ``k``
   positions that count err by ``k u``, and all others together by little more than their own weight.

Users: compiled programs and any model (:mod:`.rounding`), Theorem 26 (:mod:`.theorem26`), formulas
(:mod:`.formulas.bounds`), S-RASP (:mod:`.srasp.budget`). Each says what its odds are, and how far its scores err.
"""

import math
from bisect import bisect
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from restrict.base.errors import UsageError
from restrict.soft.models.model import MAX_N, SoftModel
from restrict.soft.models.terms import down, up

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
"""Unit roundoff by the name of the type."""
SHORT = 64
"""Up to here lengths are looked at one by one; from here on the bounds grow with the length."""
SAFE = 0.25
EXP_ULPS = 16
"""The assumed error of the exponential, in units roundoff: 8 units in the last place."""
SLACK = 1.0 + 2.0**-40
"""More than the rounding of the few operations on positive numbers that a bound is made of."""


def check_epsilon(epsilon: Fraction) -> None:
    """Refuse an error beyond which rounding (Lemma 9) would not restore what is read."""
    if not 0 < epsilon <= Fraction(1, 4):
        raise UsageError(
            f"epsilon = {epsilon} must be positive and at most 1/4, so that rounding restores what is read"
        )


def share(odds: float) -> float:
    """``m / (1 + m)`` of odds not below the true ones, rounded up; at most 1, and growing with them."""
    if odds == 0:
        return 0.0
    return min(up(odds / down(1.0 + odds)), 1.0) if math.isfinite(odds) else 1.0


def blown(exponent: float) -> float:
    """``exp(exponent)``, by which errors of scores multiply odds, rounded up; infinite beyond 60. ``exponent``: twice a
    score's error, or a bound on that of every difference of two scores."""
    return math.exp(exponent) * SLACK if exponent <= 60 else math.inf


def average_error(n: int, unit: float) -> float:
    """The error of a computed weighted average, relative to that of the absolute values. ``unit``: unit roundoff.
    Result: a certified bound, 0 for ``unit`` 0; infinite where the sums may lose everything."""
    off = (n + EXP_ULPS + EXP_ULPS * n * unit) * unit * SLACK
    return math.inf if off >= 1 else (2 * off + unit * (1 + off)) / (1 - off) * SLACK


def deviation(odds: float, n: int, unit: float, few: bool = False) -> float:
    """How far a truth value is from what a head reads, where the winner holds it. ``odds``: not below the true ones,
    with what the errors of the scores add. ``unit``: unit roundoff. Result: a certified bound, at most 1."""
    return min(1.0, share(odds) + noise(n, unit, few))


def noise(n: int, unit: float, few: bool = False) -> float:
    """A certified bound on what the sums of softmax add to an average of values in [0, 1], not falling with n. ``few``:
    all but 41 positions have less than ``2^-38`` of the winner's weight together, where ``n`` is at least 33."""
    if n == 1 or unit == 0:
        return 0.0
    found = (2 * n + 32) * unit
    if few:
        found = min(found, (2 * 41 + 32) * unit + 2.0**-36)
    return found * 1.01


def longest(safe: Callable[[int], bool], only: int | None = None) -> int:
    """The greatest length such that this one and all shorter ones are safe. ``safe``: whether a length is; from
    :data:`SHORT` on it stays false once it is. ``only``: the one length that counts, where a model holds at no other.
    Result: the length, at most 10 million (the format's limit), or 0. Cost: about 90 calls."""
    if only is not None:
        return only if safe(only) else 0
    for n in range(1, SHORT + 1):
        if not safe(n):
            return n - 1
    return SHORT + bisect(range(SHORT + 1, MAX_N + 1), False, key=lambda n: not safe(n))


def with_lengths(model: SoftModel, certified: dict[str, int]) -> SoftModel:
    """The model with the lengths up to which it is certified, by kind of arithmetic, in its file and description."""
    lengths = ", ".join(f"{kind} certified up to n = {longest}" for kind, longest in certified.items())
    return replace(model, certified=certified, description=f"{model.description}; {lengths}")


def shown_bound(x: float) -> str:
    """A certified bound with four digits, not below it."""
    return f"{Context(prec=4, rounding=ROUND_CEILING).plus(Decimal(repr(float(x)))):g}"


def right_up_to(longest: int, most: int = MAX_N) -> str:
    """Up to which length floating point is certified; ``most``: the longest that there is, by default that of softmax
    models."""
    if longest >= most:
        return f"right up to n = {longest}, the longest (certified)"
    what = f"right up to n = {longest} (certified)" if longest else "nothing is certified"
    return f"{what}; from n = {longest + 1} on the result may be wrong"
