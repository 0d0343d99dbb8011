"""What softmax loses against hard attention: certified bounds, rounded outward.

Let ``j*`` be the winner of a row of scores ``s`` and ``x_j = (s_{j*} - s_j) / tau`` how far the others are below it, in
units of the temperature. The weight off the winner is ``m / (1 + m)`` with the *odds* ``m = sum over j != j* of
exp(-x_j)``, whatever the scores are. All facts bound the odds:

- **gap** (all others at least ``g`` below): ``m <= (others) exp(-g / tau)``;
- **linear gap** (``s_{j*} - s_j >= g |j - j*|``; Lemma 6 of Yang, Strobl, Chiang & Angluin 2024): ``m <= sides q /
  (1 - q)`` with ``q = exp(-g / tau)``, where ``sides`` is 1 when all others lie on one side of the winner, else 2;
- **table look-up** (``s_j = -(j - j*)^2``; Lemma 7): ``m <= 2 q / (1 - q^3)`` with ``q = exp(-1 / tau)``, since
  ``d^2 - 1 >= 3 (d - 1)`` for integers ``d >= 1``; where values move by at most ``L`` for one position, the error of
  what is read is at most ``2 L q / (1 - q^3)^2``.

The weight off the winner is one-sided; the l1 distance of the two rows of weights is twice that. What is read moves by
at most the weight off the winner times the spread of the values.

**Tie-breaking** (Lemma 8). Let unequal scores differ by at least ``g``. Adding ``g j / (2n)`` makes the rightmost of
the greatest scores the winner, with linear gap ``g / (2n)``; subtracting it, the leftmost. Proof: tied keys differ by
the added term alone, ``g |j - j*| / (2n)``; all others stay behind by ``g - g |j - j*| / (2n) >= g |j - j*| / (2n)``,
since ``|j - j*| <= n``. A decoder that may not know ``n`` adds ``-(g/2) / (j+1)`` in place of it: seen from the query's
position ``i`` under a past mask the linear gap is ``(g/2) / ((i+1)^2)``, since ``1/(j+1) - 1/(j*+1) = (j* - j) /
((j+1)(j*+1))``, and scores that differ keep ``g - g/2``.

**Rounding** (Lemma 9). ``2 (relu(x - 1/4) - relu(x - 3/4))`` is 0 for ``x <= 1/4`` and 1 for ``x >= 3/4``, exactly.

Our own, not in the paper: the share ``m / (1 + m)`` in place of ``m``, the general thresholds of rounding, and the
constants of the decoder's tie-breaking.

Every function takes ``gap`` and ``scale`` as lower bounds on the true ones and returns a number that is not below the
exact one, under the assumption on the C library of :mod:`restrict.soft.models.terms`.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np

from restrict.base.errors import NotEstablished, UsageError
from restrict.simulate.floating import share
from restrict.soft.models.model import Floats
from restrict.soft.models.terms import down, up

Real = float | Fraction | int
Sides = Literal[1, 2]
MAX_SCALE = 1e300
LIBRARY_ULPS = 4
"""Units in the last place that the C library's ``exp`` may be off (glibc documents less than one)."""


def low_float(x: Real) -> float:
    """The greatest double that is not above a number."""
    near = float(x)
    return near if Fraction(near) <= Fraction(x) else down(near)


def high_float(x: Real) -> float:
    """The least double that is not below a number."""
    near = float(x)
    return near if Fraction(near) >= Fraction(x) else up(near)


def exp_above(x: float) -> float:
    """A double not below ``exp(x)``. ``x``: at most 700. Result: the bound; at least the least positive double."""
    found = math.exp(x)
    for _ in range(LIBRARY_ULPS):
        found = up(found)
    return min(found, 1.0) if x <= 0 else found


def _positive(**given: Real) -> None:
    for name, value in given.items():
        if not (value >= 0 and math.isfinite(value)):
            raise UsageError(f"{name} = {value!r} must be a finite number of at least 0")


def _fall(gap: Real, scale: Real) -> float:
    """A double not below ``exp(-gap * scale)``."""
    return exp_above(-max(down(low_float(gap) * low_float(scale)), 0.0))


def gap_error(others: int, gap: Real, scale: Real) -> float:
    """The weight off the winner where all others are at least ``gap`` below. ``others``: how many other visible
    positions there are, at least 0. ``gap``: at least 0; a lower bound on the difference of the scores. ``scale``: the
    inverse temperature, at least 0; a lower bound. Result: a certified bound in [0, 1]; exact up to rounding when all
    others are exactly ``gap`` below."""
    _positive(others=others, gap=gap, scale=scale)
    return 0.0 if others == 0 else share(up(others * _fall(gap, scale)))


def linear_gap_error(gap: Real, scale: Real, sides: Sides = 2, others: int | None = None) -> float:
    """The weight off the winner where a score falls by at least ``gap`` for each position of distance (Lemma 6).
    ``gap``: at least 0; a lower bound on ``(s_{j*} - s_j) / |j - j*|``. ``scale``: the inverse temperature, at least 0;
    a lower bound."""
    _positive(gap=gap, scale=scale, others=others or 0)
    q = _fall(gap, scale)
    rest = down(1.0 - q)
    odds = math.inf if rest <= 0 else up(up(sides * q) / rest)
    if others is not None:
        odds = min(odds, up(others * q))
    return share(odds)


def lookup_error(scale: Real) -> float:
    """The weight off the winner where scores are ``-(j - j*)^2`` (Lemma 7). ``scale``: the inverse temperature, at
    least 0; a lower bound."""
    _positive(scale=scale)
    q = _fall(1, scale)
    rest = down(1.0 - up(up(q * q) * q))
    return 1.0 if rest <= 0 else share(up(2 * q / rest))


def lookup_value_error(scale: Real, slope: Real) -> float:
    """The error of the value read by a table look-up, when values move by at most ``slope`` for one position.
    ``scale``: the inverse temperature, at least 0; a lower bound. ``slope``: at least 0; an upper bound on ``|v_j -
    v_{j*}| / |j - j*|``. Result: a certified bound; infinite where the temperature is too high to say anything."""
    _positive(scale=scale, slope=slope)
    q = _fall(1, scale)
    rest = down(1.0 - up(up(q * q) * q))
    if rest <= 0:
        return math.inf
    return up(up(2 * high_float(slope) * q) / down(rest * rest))


def tied_error(n: int, gap: Real, scale: Real) -> float:
    """The weight off the winner after tie-breaking with ``gap j / (2n)``, rightmost or leftmost (Lemma 8).

    Ties lie on one side of the winner and fall by ``gap / (2n)`` for each position; all others are behind by at least
    ``gap - gap (n-1) / (2n) = gap (n+1) / (2n)``. The odds are at most the sum of the two; the paper's linear gap for
    everything would give twice the first. ``n``: the length, at least 1. ``gap``: positive: unequal scores differ by at
    least this. ``scale``: the inverse temperature, at least 0; a lower bound."""
    line = tie_term(n, gap)
    _positive(scale=scale)
    if n == 1:
        return 0.0
    q = _fall(line, scale)
    rest = down(1.0 - q)
    ties = math.inf if rest <= 0 else up(q / rest)
    behind = up((n - 1) * _fall(line * (n + 1), scale))
    return share(min(up(ties + behind), up((n - 1) * q)))


def tied_rate(error: Real) -> float:
    """The least ``c``, up to a millionth, such that ``scale = 2 n c / gap`` keeps :func:`tied_error` small at every n.

    With ``q = exp(-c)`` the odds are at most ``q / (1 - q) + (n-1) q^(n+1)``, and the last term is at most ``q^3`` for
    ``q <= 1/2`` (equal at ``n = 2``, and from ``n`` to ``n + 1`` it is multiplied by ``q n / (n-1) <= 1``). ``error``:
    in (0, 1/3)."""
    if not 0 < error < Fraction(1, 3):
        raise UsageError("the error must be between 0 and 1/3")

    def bound(c: float) -> float:
        q = exp_above(-c)
        return 1.0 if q > 0.5 else share(up(up(q / down(1.0 - q)) + up(q * up(q * q))))

    return least(lambda c: bound(c) <= error, 1e-6)


# ------------------------------------------------------------ the temperature for an error


def least(fine: Callable[[float], bool], precision: float) -> float:
    """A number that is ``fine``, as all greater ones are, at most the share ``precision`` above the least.
    ``NotEstablished``: none up to 1e300 is."""
    high = 1.0
    while not fine(high):
        high *= 2
        if high > MAX_SCALE:
            raise NotEstablished("no temperature is low enough for these bounds")
    low = high / 2 if high > 1 else 0.0
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fine(middle) else (middle, high)
    return high


# ------------------------------------------------------------ tie-breaking


def tie_term(n: int, gap: Real) -> Fraction:
    """The coefficient ``c`` of Lemma 8: scores with gap ``gap`` plus ``c j`` have their rightmost winner alone on top.
    ``n``: the length, at least 1. ``gap``: positive: unequal scores differ by at least this. Result: ``gap / (2n)``
    (exact), which is also the linear gap afterwards. Subtract ``c j`` for the leftmost winner."""
    if n < 1 or gap <= 0:
        raise UsageError("tie-breaking needs a length of at least 1 and a positive gap")
    return Fraction(gap) / (2 * n)


def decoder_tie_gap(i: int, gap: Real) -> Fraction:
    """The linear gap at query ``i`` after adding ``-(gap/2) / (j+1)`` to the scores of a past-masked head. ``i``: the
    query's position, from 0; keys are ``0 .. i``. ``gap``: positive: unequal scores differ by at least this. Result:
    ``(gap/2) / (i+1)^2`` (exact); the rightmost winner is alone on top. ``+(gap/2) / (j+1)`` gives the leftmost."""
    if i < 0 or gap <= 0:
        raise UsageError("tie-breaking needs a position of at least 0 and a positive gap")
    return Fraction(gap) / (2 * (i + 1) ** 2)


# ------------------------------------------------------------ rounding


def rounding_units(low: Real = Fraction(1, 4), high: Real = Fraction(3, 4)) -> tuple[Floats, Floats, Floats]:
    """A ReLU network with two units that rounds approximate Booleans exactly (Lemma 9). ``high``: from here on the
    result is 1; ``low < high``; ``1 / (high - low)`` must be a double. Result: ``(inner, bias, outer)``: the unit
    weights (2,), their biases (2,), and the output weights (2,), so that the result is ``outer . relu(inner x +
    bias)``. All numbers are exact."""
    if not low < high:
        raise UsageError("rounding needs low < high")
    exact = [1 / (Fraction(high) - Fraction(low)), Fraction(low), Fraction(high)]
    if any(Fraction(float(x)) != x for x in exact):
        raise UsageError("the weights of the rounding network are no doubles; choose thresholds a power of two apart")
    slope, bottom, top = (float(x) for x in exact)
    return np.ones(2), np.array([-bottom, -top]), np.array([slope, -slope])


def rounded(x: Floats) -> Floats:
    """What the network of Lemma 9 computes, in floating point. ``x``: any shape. Result: the same shape: exactly 0 up
    to 1/4 and exactly 1 from 3/4 up to ``2^50``, in between ``2x - 1/2``."""
    inner, bias, outer = rounding_units()
    found = np.maximum(x[..., None] * inner + bias, 0)
    return np.asarray(found @ outer)
