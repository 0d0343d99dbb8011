"""How far an approximate Boolean may be from its truth value: certified, rounded outward, exact and in floating point.

Let ``m`` be the sum of ``exp(s_j - s_{j*})`` over the positions that should get no weight; the weight off the winner
is ``m / (1 + m)``, and this is the deviation of a Boolean that the winner holds. Every class below is one attention
pattern of :mod:`restrict.simulate.formulas.patterns`; its docstring says why its odds bound ``m``, at length ``n`` and
at every length.

**In floating point** with unit roundoff ``u``: an error of at most ``e`` in every score multiplies ``m`` by at most
``exp(2 e)``; :mod:`restrict.simulate.floating` has what the weights and sums add. Two things are common to all scores
of a row and cost only a factor next to 1 of their differences: the rounding of the scale and of what the query brings.
Truth values are exact (:mod:`.gates`), products with them too, and a sum in which all but one term is 0 is exact in
any order; the patterns are written so that positions that compete closely have such sums. So this is the whole error,
for each head by itself. A position embedding errs by ``v = (1 + 2^-20) u`` of itself: it is the nearest double, and
then rounded to the type; a scale with a logarithm by ``8 u``.

From length 64 on every ``deviation`` grows with ``n`` when ``unit`` is not 0, so there one length certifies all
between.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from restrict.simulate.floating import SHORT, SLACK, blown, deviation, noise, share
from restrict.simulate.lemmas_6_to_9 import exp_above

__all__ = ["Bound", "Exists", "Lookup", "Nearest", "Neighbour", "Threshold"]
Tie = Literal["share", "harmonic", "integer"]
"""How positions are told apart: by ``j/n``, by ``-1/(j+1)``, or by ``j`` itself."""


@dataclass(frozen=True)
class Bound:
    """The deviation of a head's approximate Boolean. The subclasses bound the odds."""

    few: ClassVar[bool] = False
    """Whether only positions near the winner have weight."""

    @property
    def of_number(self) -> bool:
        """Whether the head reads a number, not a truth value."""
        return False

    def odds(self, n: int, unit: float) -> float:
        """A certified bound on the odds against the winner, infinite without one. ``unit`` 0: exact arithmetic."""
        return self._odds(n, unit) if n > 1 else 0.0

    def _odds(self, n: int, unit: float) -> float:
        """A certified bound on the odds against the winner, for at least two positions."""
        raise NotImplementedError

    def everywhere(self) -> float:
        """The deviation in exact arithmetic."""
        raise NotImplementedError

    def deviation(self, n: int, unit: float = 0.0) -> float:
        """A certified bound, at most 1, on how far the head is from a truth value. ``unit`` 0: exact arithmetic."""
        return deviation(self.odds(n, unit), n, unit, self.few)


def fall(x: float) -> float:
    """``exp(-x)``, rounded up. ``x``: at least 0, up to rounding."""
    return exp_above(min(0.0, -x * (1 - 2.0**-50)))


def steps(q: float, count: int) -> float:
    """``q + q^2 + ...``. ``q``: at least 0. Result: the sum, rounded up."""
    if q >= 1.0 or count <= 0:
        return max(count, 0) * q
    return min(count * q, q / (1.0 - q)) * SLACK


def _embedded(unit: float) -> float:
    """The relative error of a position embedding, ``v`` of the module."""
    return unit * (1 + 2.0**-20)


@dataclass(frozen=True)
class Exists(Bound):
    """Somewhere in view: scores 0 and 1 at the scale ``log(6n - 5)``, the value is the key. If the key holds at ``k >=
    1`` positions, at most ``n - 1`` others share ``1 / (6n - 5)`` each, against ``k``; if it holds nowhere, the value
    is 0 everywhere. A decoder has ``i + 1`` in place of ``n``, which gives less. The odds ``(n - 1) / (6n - 5)`` stay
    below 1/6. The scores are exact except for the scale: an error of ``8 v log(6n)``."""

    def _odds(self, n: int, unit: float) -> float:
        return (n - 1) / (6 * n - 5) * blown(16 * _embedded(unit) * math.log(6 * n))

    def everywhere(self) -> float:
        """The deviation in exact arithmetic at every length: 1/7."""
        return share(SLACK / 6)


@dataclass(frozen=True)
class Nearest(Bound):
    """The nearest visible position with a key: a tie-breaking term that falls by at least 2 for each ``stride``.

    ``stride`` is the distance between positions with the key, 2 for the parity trick of ``previous``. ``beyond`` bounds
    the sum over the positions without the key, at every length. In floating point the term of a position with the key
    is exact except for its embedding and the product with the scale, ``v`` each. *share* (``j/n`` at the scale ``2n``):
    two terms err by ``8 n v``; positions without the key, at most 3 in absolute value before scaling, by ``32 n v``
    with all else. *harmonic* (``-1/(j+1)`` at the scale ``S = 2n(n-1)``): the two terms err by ``2 v S (1/(j+1) +
    1/(w+1))``, and this is at most ``4 n v`` times their difference ``S (w-j) / ((j+1)(w+1))``, since ``j + w + 2 <= 2n
    (w - j)``; positions without the key are behind by ``S`` or more, and err by ``16 v S``. *integer*: whole numbers of
    at most ``6n``, exact.
    """

    stride: int
    beyond: float
    tie: Tie
    few: ClassVar[bool] = True

    def _odds(self, n: int, unit: float) -> float:
        v, count = _embedded(unit), (n - 1) // self.stride
        if self.tie == "share":
            near = steps(fall(2.0 * (1 - 4 * v)), count) * blown(8 * n * v)
            return (near + self.beyond * blown(32 * n * v)) * SLACK
        if self.tie == "integer":
            return math.inf if 8 * n * unit > 1 else (steps(fall(2.0 * (1 - 4 * v)), count) + self.beyond) * SLACK
        left = 1 - (4 * n + 8) * v
        return math.inf if left <= 0 else (steps(fall(2.0 * left), count) + self.beyond * blown(64 * v)) * SLACK

    def everywhere(self) -> float:
        """The deviation in exact arithmetic at every length: the share of ``1 / (e^2 - 1) + beyond``."""
        q = fall(2.0)
        return share((q / (1 - q) + self.beyond) * SLACK)


@dataclass(frozen=True)
class Neighbour(Bound):
    """The position before or after, by parity, with temperature scaling: ``-7/4`` for equal parity, plus a tie-break.

    *Encoder*: the scale is ``n - 1``, the term is ``j/n``, so positions of the right parity, two apart, differ by ``2
    (n-1)/n``, and the others are ``(n-1) (7/4 - 1/n)`` behind (the query's own) or more. All this shrinks with ``n``.
    *Decoder*: the scale is 1 for ``n < 4``, then ``(n-1)(n-3)``; the term is ``-1/(j+1)``. With the winner at ``i -
    1``, ``1/(i-d) - 1/i = d / (i (i-d)) >= d / ((n-1)(n-3))`` for even ``d >= 2``. The others are ``7/4 - 1/2`` behind,
    or at ``i = 2`` by 19/12 and 9/4; there are no more below ``n = 4``. In floating point the right parity has the term
    alone, as in :class:`Nearest`: a decoder loses the share ``2 n v`` of its gaps, since ``2i - d <= n d`` for even
    ``d``, and 16 ``v`` of the others'; in an encoder two scores and their difference err by ``16 n v`` at most.
    """

    decoder: bool
    few: ClassVar[bool] = True

    def _odds(self, n: int, unit: float) -> float:
        v = _embedded(unit)
        if not self.decoder:
            return self._encoder(min(n, SHORT)) * blown(16 * n * v)
        if n < 4:
            return max(fall(1.25), (fall(19 / 12) + fall(2.25)) if n == 3 else 0.0) * blown(64 * v)
        left, scale = 1 - (2 * n + 8) * v, (min(n, SHORT) - 1) * (min(n, SHORT) - 3) * (1 - 16 * v)
        if left <= 0:
            return math.inf
        wrong = fall(1.25 * scale) + min(n, SHORT) * fall(1.75 * scale)
        return (steps(fall(2.0 * left), n if n >= SHORT else (n - 2) // 2) + wrong) * SLACK

    @staticmethod
    def _encoder(n: int) -> float:
        wrong = fall((n - 1) * (1.75 - 1 / n)) + (n - 1) // 2 * fall((n - 1) * (1.75 + 1 / n))
        return steps(fall(2 * (n - 1) / n), n if n == SHORT else (n - 2) // 2) + wrong

    def everywhere(self) -> float:
        """The deviation in exact arithmetic at every length: the largest up to ``SHORT`` bounds all others."""
        return max(self.deviation(n) for n in range(1, SHORT + 1))


@dataclass(frozen=True)
class Threshold(Bound):
    """Whether ``h > 0`` where ``|h| >= 1 / (2 per n)``: the end position scores ``2 per n L h``, others 0. ``L =
    log(base (n-1) + 1)``, and the end position has the value 1. If ``h`` is positive the others have odds of at most
    ``(n - 1) exp(-L) <= 1 / base``, and if it is negative the end position has at most ``exp(-L)``. ``h`` comes from
    averages with weights of ``size`` in all: sums of integers, which are exact while they are below ``1 / u``, and
    divided once. One average plus a multiple of an embedding errs by less than ``8 v size``; after table look-ups
    (``per`` above 1) there are at most ``2 size + 3`` terms with small offsets, and the error is below ``(2 size + 24)
    v size``."""

    size: float
    per: float = 1.0
    base: int = 6

    def odds(self, n: int, unit: float) -> float:
        """The odds against the winner; infinite where sums of integers are not exact."""
        return math.inf if unit * self.size * n > 2.0**-4 else super().odds(n, unit)

    def _odds(self, n: int, unit: float) -> float:
        v = _embedded(unit)
        error = (8 if self.per == 1 else 2 * self.size + 24) * v * self.size
        left = max(0.0, 1 - 2 * self.per * n * error - 16 * v)
        return (n - 1) * fall(left * math.log(self.base * (n - 1) + 1) * (1 - 2.0**-48)) * SLACK

    def everywhere(self) -> float:
        """The deviation in exact arithmetic at every length: ``1 / (base + 1)``."""
        return share(SLACK / self.base)


def lookup_falls(gap: float, n: int, unit: float, shift: float = 0.0) -> list[float] | None:
    """Certified bounds on the weights of a table look-up at the distances 1 to 12, relative to the winner, on either
    side, for scores of at most ``-gap d^2`` (:class:`Lookup`); ``None`` where rounding may upset the order, and for
    gaps below 1/2. ``shift``: how far off the number looked up may be; it takes ``2 gap d shift``."""
    v = _embedded(unit)
    common, bend = 16 * float(n) ** 2 * v, 32 * n * v + 2 * shift
    if common > 0.5 or bend > 0.75 or gap < 0.5:
        return None
    return [fall(gap * max(0.0, d * d * (1 - 16 * v) - d * bend - common)) for d in range(1, min(n - 1, 12) + 1)]


def moved(falls: list[float]) -> float:
    """How far a look-up moves a number that changes by 1 for each position: ``A`` of :class:`Lookup`. Result: a
    certified bound, infinite where the weights fall too slowly."""
    # Beyond 12 the terms fall by more than e^-20 from one to the next, where the first ones fall fast enough.
    total = sum(d * fall for d, fall in enumerate(falls, 1)) + 2.0**-100
    return math.inf if total - sum(falls) > 0.5 else total / (1 + sum(falls)) * SLACK


@dataclass(frozen=True)
class Lookup(Bound):
    """Table look-up (Lemma 7): the scores are at most ``-gap d^2`` at distance ``d`` from the winner, on both sides.

    What is read is a truth value; or, with ``weight``, a number that moves by 1 for each position, and ``weight`` is
    the sum of the absolute values that it is multiplied by. Then both sides pull against each other, so the number errs
    by at most ``A = sum d r_d / (1 + sum r_d)`` over one side, ``r_d = exp(-gap d^2)``, and ``deviation`` is twice the
    weighted sum of that, which may be 1/4. ``A`` grows with every ``r_d`` while ``sum (d - 1) r_d < 1``.

    In floating point, for the count ``C`` and the entry ``u = C + d``: the query's two numbers err by ``3 v`` of
    themselves, which moves ``C`` by ``4 v n``. Two embeddings, two products, the sum and the scale err by ``v`` each;
    in an encoder the terms are ``2 u C`` and ``u^2``, so two scores err by ``v (16 C^2 + 8 C d + 4 d^2)`` in units of
    ``gap``; in a decoder (``2 u C`` and ``C^2``, in units that fall as ``1/u^2``) by ``v (16 C^2 + 24 C d + 8 d^2)``.
    """

    gap: float
    weight: float = 0.0
    few: ClassVar[bool] = True

    @property
    def of_number(self) -> bool:
        """Whether the head reads a number, not a truth value."""
        return self.weight > 0

    def _odds(self, n: int, unit: float) -> float:
        """The odds against the winner on both sides; for a number in their place how far it moves, ``A`` of the
        class."""
        falls = lookup_falls(self.gap, n, unit)
        if falls is None:
            return math.inf
        return moved(falls) if self.weight else (2 * sum(falls) + 2.0**-100) * SLACK

    def everywhere(self) -> float:
        """The deviation in exact arithmetic at every length."""
        return self.deviation(1000)

    def deviation(self, n: int, unit: float = 0.0) -> float:
        """The deviation at length ``n``; where a number is read, that of the weighted sum. ``unit``: unit roundoff, 0
        for exact arithmetic. Result: a certified bound, at most 1."""
        if not self.weight:
            return super().deviation(n, unit)
        return min(1.0, 2 * self.weight * (self.odds(n, unit) + n * noise(n, unit, self.few)) * SLACK)
