"""How far an approximate Boolean may be from its truth value: certified, rounded outward, exact and in floating point.

Let ``m`` be the sum of ``exp(s_j - s_{j*})`` over the positions that should get no weight; the weight off the winner
is ``m / (1 + m)``, and this is the deviation of a Boolean that the winner holds. Every class below is one attention
pattern of :mod:`restrict.simulate.formulas.patterns`; its docstring says why ``odds`` bounds ``m`` at length ``n`` and
``everywhere`` at every length.

**In floating point** with unit roundoff ``u``: an error of at most ``e`` in every score multiplies ``m`` by at most
``exp(2 e)``; the weights, their sum and the weighted sum of values in [0, 1] err by at most ``(2 n + 32) u`` together,
in any order of summation. Two things are common to all scores of a row and cost only a factor next to 1 of their
differences: the rounding of the scale and of what the query brings. Booleans are exact (:mod:`.gates`), so this is the
whole error, for each head by itself. Assumption: the exponential errs by at most 8 units in the last place.

From length 64 on every ``deviation`` grows with ``n`` when ``unit`` is not 0, so there one length certifies all
between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from restrict.simulate.errors import exp_above
from restrict.simulate.rounding import SAFE, SHORT, UNITS

__all__ = ["SAFE", "SHORT", "UNITS", "Bound", "Exists", "Lookup", "Nearest", "Neighbour", "Threshold"]
SLACK = 1.0 + 2.0**-40
"""More than the rounding of the few operations on positive numbers that a bound is made of."""


@dataclass(frozen=True)
class Bound:
    """The deviation of a head's approximate Boolean. The subclasses bound the odds."""

    @property
    def of_number(self) -> bool:
        """Whether the head reads a number, not a truth value."""
        return False

    def odds(self, n: int, unit: float) -> float:
        """The odds against the winner.

        Args:
            n: the length.
            unit: unit roundoff, 0 for exact arithmetic.

        Returns:
            A certified bound; infinite where there is none.
        """
        raise NotImplementedError

    def everywhere(self) -> float:
        """The deviation in exact arithmetic.

        Returns:
            A certified bound for every length.
        """
        raise NotImplementedError

    def deviation(self, n: int, unit: float = 0.0) -> float:
        """How far the head's result is from a truth value.

        Args:
            n: the length.
            unit: unit roundoff, 0 for exact arithmetic.

        Returns:
            A certified bound, at most 1.
        """
        return min(1.0, share(self.odds(n, unit)) + noise(n, unit))


def share(odds: float) -> float:
    """``m / (1 + m)``.

    Args:
        odds: not below the true ones.

    Returns:
        The share, rounded up; 1 for infinite odds.
    """
    return 1.0 if math.isinf(odds) else min(1.0, odds / (1.0 + odds) * SLACK)


def noise(n: int, unit: float) -> float:
    """What the sums of softmax add.

    Args:
        n: the length.
        unit: unit roundoff.

    Returns:
        A certified bound.
    """
    return 0.0 if n == 1 else (2 * n + 32) * unit * 1.01


def fall(x: float) -> float:
    """``exp(-x)``, rounded up.

    Args:
        x: at least 0 but for rounding.

    Returns:
        The bound.
    """
    return exp_above(min(0.0, -x * (1 - 2.0**-50)))


def steps(q: float, count: int) -> float:
    """``q + q^2 + ...``.

    Args:
        q: at least 0.
        count: how many terms.

    Returns:
        The sum, rounded up.
    """
    if q >= 1.0 or count <= 0:
        return float(count * q) if count > 0 else 0.0
    return min(count * q, q / (1.0 - q)) * SLACK


@dataclass(frozen=True)
class Exists(Bound):
    """Somewhere in view: scores 0 and 1 at the scale ``log(6n - 5)``, the value is the key.

    If the key holds at ``k >= 1`` positions, at most ``n - 1`` others share ``1 / (6n - 5)`` each, against ``k``; if it
    holds nowhere, the value is 0 everywhere. A decoder has ``i + 1`` in place of ``n``, which gives less. The odds
    ``(n - 1) / (6n - 5)`` stay below 1/6. The scores are exact but for the scale: an error of ``8 u log(6n)``.
    """

    def odds(self, n: int, unit: float) -> float:
        """See the base class; ``(n - 1) / (6n - 5)`` times the rounding.

        Args:
            n: the length.
            unit: unit roundoff.

        Returns:
            A certified bound.
        """
        if n == 1:
            return 0.0
        return (n - 1) / (6 * n - 5) * math.exp(16 * unit * math.log(6 * n)) * SLACK

    def everywhere(self) -> float:
        """See the base class.

        Returns:
            1/7.
        """
        return share(SLACK / 6)


@dataclass(frozen=True)
class Nearest(Bound):
    """The nearest visible position with a key: a tie-breaking term that falls by at least 2 for each ``stride``.

    ``stride`` is the distance between positions with the key, 2 for the parity trick of ``previous``. ``beyond`` bounds
    the sum over the positions without the key, at every length. The scale is at most ``2 n^power``, and the scores at
    most three times that; a score errs by less than ``8 u`` times the scale, the rest of the factor 10 is for the
    scale's own rounding.
    """

    stride: int
    beyond: float
    power: int

    def odds(self, n: int, unit: float) -> float:
        """See the base class; a geometric sum and ``beyond``.

        Args:
            n: the length.
            unit: unit roundoff.

        Returns:
            A certified bound.
        """
        if n == 1:
            return 0.0
        exact = steps(fall(2.0), (n - 1) // self.stride) + self.beyond
        # Where the product is large nothing is certified; the bound only has to stay finite.
        return exact * math.exp(min(20 * unit * 2.0 * float(n) ** self.power, 60.0)) * SLACK

    def everywhere(self) -> float:
        """See the base class.

        Returns:
            The share of ``1 / (e^2 - 1) + beyond``.
        """
        q = fall(2.0)
        return share((q / (1 - q) + self.beyond) * SLACK)


@dataclass(frozen=True)
class Neighbour(Bound):
    """The position before or after, by parity, with temperature scaling: scores ``+-7/8 + tie`` times a scale.

    *Encoder*: the scale is ``n - 1``, the term is ``j/n``, so positions of the right parity, two apart, differ by ``2
    (n-1)/n``, and the others are ``(n-1) (7/4 - 1/n)`` behind (the query's own) or more. All this shrinks with ``n``.
    *Decoder*: the scale is 1 for ``n < 4``, then ``(n-1)(n-3)``; the term is ``-1/(j+1)``. With the winner at ``i -
    1``, ``1/(i-d) - 1/i = d / (i (i-d)) >= d / ((n-1)(n-3))`` for even ``d >= 2``. The others are ``7/4 - 1/2`` behind,
    or at ``i = 2`` by 19/12 and 9/4; there are no more below ``n = 4``. Scores err by less than ``8 u`` times the
    scale.
    """

    decoder: bool

    def odds(self, n: int, unit: float) -> float:
        """See the base class; a geometric sum, and the positions of the wrong parity.

        Args:
            n: the length.
            unit: unit roundoff.

        Returns:
            A certified bound.
        """
        if n == 1:
            return 0.0
        exact = (self._decoder if self.decoder else self._encoder)(min(n, SHORT))
        return exact * math.exp(min(20 * unit * float(n) ** (2 if self.decoder else 1), 60.0)) * SLACK

    @staticmethod
    def _encoder(n: int) -> float:
        wrong = fall((n - 1) * (1.75 - 1 / n)) + (n - 1) // 2 * fall((n - 1) * (1.75 + 1 / n))
        return steps(fall(2 * (n - 1) / n), n if n == SHORT else (n - 2) // 2) + wrong

    @staticmethod
    def _decoder(n: int) -> float:
        if n < 4:
            return max(fall(1.25), (fall(19 / 12) + fall(2.25)) if n == 3 else 0.0)
        scale = (n - 1) * (n - 3)
        wrong = fall(1.25 * scale) + n * fall(1.75 * scale)
        return steps(fall(2.0), n if n == SHORT else (n - 2) // 2) + wrong

    def everywhere(self) -> float:
        """See the base class.

        Returns:
            The largest deviation up to ``SHORT``, where it bounds all that follow.
        """
        return max(self.deviation(n) for n in range(1, SHORT + 1))


@dataclass(frozen=True)
class Threshold(Bound):
    """Whether ``h > 0`` where ``|h| >= 1 / (2 per n)``: the end position scores ``2 per n log(6n - 5) h``, others 0.

    The end position has the value 1. If ``h`` is positive the others have odds of at most ``(n - 1) / (6n - 5)``, and
    if it is negative the end position has at most ``1 / (6n - 5)``. ``h`` comes from averages over at most ``n``
    positions with weights of ``size`` in all, at most ``size`` of them, and errs by ``(2n + 40 + size) u size``, which
    is twice what there is without a table look-up (``per = 1``; ``4/3`` after one).
    """

    size: float
    per: float = 1.0

    def odds(self, n: int, unit: float) -> float:
        """See the base class; ``(n - 1) (6n - 5)^-t`` with the share ``t`` of ``|h|`` that rounding leaves.

        Args:
            n: the length.
            unit: unit roundoff.

        Returns:
            A certified bound.
        """
        if unit * self.size > 2.0**-4:
            return math.inf  # where a position is alone the number must be exact: its weights are integers
        if n == 1:
            return 0.0
        error = ((n if self.per == 1 else 2 * n) + 40 + self.size) * unit * self.size
        left = max(0.0, 1 - 2 * self.per * n * error - 16 * unit)
        return (n - 1) * fall(left * math.log(6 * n - 5) * (1 - 2.0**-48)) * SLACK

    def everywhere(self) -> float:
        """See the base class.

        Returns:
            1/7.
        """
        return share(SLACK / 6)


@dataclass(frozen=True)
class Lookup(Bound):
    """Table look-up (Lemma 7): the scores are at most ``-gap d^2`` at distance ``d`` from the winner, on both sides.

    What is read is a truth value, or with ``weight`` a number that moves by 1 for each position, and ``weight`` is the
    sum of the absolute values that it is multiplied by; then the deviation is twice that of the weighted sum, which may
    be 1/8. Two scores together err by ``roundings gap n^2 u`` more than their difference does relatively, and the
    count, an average, by ``n (n + 8) u``, which changes the difference at distance ``d`` by no more than ``3 gap d n (n
    + 8) u``. An encoder has products of at most ``2 gap n^2`` and ``gap n^2``, both with two roundings, and a sum of at
    most ``gap n^2`` with two more, for two scores: 16. A decoder has 24.
    """

    gap: float
    weight: float = 0.0
    roundings: int = 16

    @property
    def of_number(self) -> bool:
        """See the base class."""
        return self.weight > 0

    def odds(self, n: int, unit: float) -> float:
        """See the base class; ``2 sum exp(-gap d^2)``, with ``d`` for each term where a number is read.

        Args:
            n: the length.
            unit: unit roundoff.

        Returns:
            A certified bound.
        """
        common = self.roundings * self.gap * float(n) ** 2 * unit
        bend = 3 * n * (n + 8) * unit
        if n == 1:
            return 0.0
        if common > self.gap / 2 or bend > 0.25:
            return math.inf
        total = 0.0
        for d in range(1, min(n - 1, 12) + 1):
            term = fall(self.gap * (d * d * (1 - 8 * unit) - d * bend) - common)
            total += 2 * term * (d if self.weight else 1)
        # Beyond 12: the terms fall by more than e^-20 from one to the next.
        return (total + (2.0**-200 if n > 13 else 0.0)) * SLACK

    def everywhere(self) -> float:
        """See the base class.

        Returns:
            The deviation at unbounded length.
        """
        return self.deviation(1000)

    def deviation(self, n: int, unit: float = 0.0) -> float:
        """See the base class; where a number is read, that of the weighted sum.

        Args:
            n: the length.
            unit: unit roundoff.

        Returns:
            A certified bound.
        """
        if not self.weight:
            return super().deviation(n, unit)
        return min(1.0, 2 * self.weight * (self.odds(n, unit) + n * noise(n, unit)) * SLACK)
