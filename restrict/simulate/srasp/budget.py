"""How far the softmax transformer of an S-RASP program can be from the program: certified, step by step.

The compiler records what it does as steps, in order. Truth values are exact: what a head reads and every comparison of
integers is rounded (Lemma 9) while it is within 1/4. Integers are within a bound ``E`` of exact ones, which the steps
carry along. ``s`` is the inverse temperature, ``n`` the length, ``i`` the query; all bounds grow with ``n``.

- **count**: a look-up of ``c`` from ``c / (i+1)`` with scores ``(2 c j - j^2) / (i+1)``, gap ``s / n`` (Lemma 7).
- **snap**: an integer and its square by a look-up with gap ``s``, from a number that is ``e`` away from it. The
  distance ``d`` to the entry that is read has ``|E[d]| <= a`` and ``E[d^2] <= m``, both next to 0 even if ``e`` is not:
  so errors do not add up.
- **attend**: the nearest position with a condition, ties broken by ``1 / (2(i+1))`` for each position (Lemma 8), so
  ``q = exp(-s / (2n))``. With the winner at ``w``, positions that meet the condition are ``k / (2(i+1))`` behind at
  distance ``k``; those that do not by ``1 - k / (2(i+1))`` towards the tie-break, and by more than 1 on the other side;
  the marker by ``1/4 + 1/(2(i+1))`` or more. Where the marker wins, all are behind by ``1/4 + k / (2(i+1))`` for
  different ``k >= 1``. With snapped ``u = v`` the scores ``2 u v - v^2`` err by ``2 a_u a_v + m`` beyond what is
  common to the row; with ``|u - v| = D`` by ``2 D (a_u + a_v)`` more, against ``D^2``. Where the integer at ``j`` is
  ``j`` itself, one position at most meets the condition.

In floating point with unit roundoff ``u`` a score errs by ``u`` times the number of products, times the largest partial
sum: 2 without an equality, ``3 n^2 + 2`` with one. This is why float32 reaches only a few dozen positions where
integers are compared between positions: it must hold ``1 / (2n)`` and ``n^2`` in one sum.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from restrict.simulate.floating import SAFE, SLACK, UNITS, check_epsilon, longest, noise, share, with_lengths
from restrict.simulate.formulas.bounds import fall, lookup_falls, moved, steps
from restrict.simulate.theorem26 import Sharpness, by_softmax, least_scale
from restrict.soft.models.model import SoftModel

Weights = tuple[tuple[int, float], ...]
"""Dimensions, each with the largest factor by which its error counts."""
Line = tuple[int, int]
"""``(a, b)``: the number ``a i + b``."""


@dataclass(frozen=True)
class Spread:
    """An affine form: its error is at most the weighted sum of its dimensions' errors; ``size`` bounds its parts."""

    weights: Weights
    size: Line

    def error(self, known: dict[int, float], n: int, unit: float) -> float:
        """A certified bound on the form's error from those ``known`` of its dimensions (others are exact); a form of
        exact parts is exact, as they are integers; infinite where they are too large."""
        if unit * (self.size[0] * n + self.size[1]) > 2.0**-6:
            return math.inf
        carried = sum(weight * known.get(at, 0.0) for at, weight in self.weights)
        return 0.0 if carried == 0 else (carried + self.rounding(n, unit)) * SLACK

    def rounding(self, n: int, unit: float) -> float:
        """A certified bound on what the sum's own rounding adds."""
        return (len(self.weights) + 4) * unit * (self.size[0] * n + self.size[1])


@dataclass(frozen=True)
class Run:
    """The length, the inverse temperature and the unit roundoff; the errors so far, and the worst before rounding."""

    n: int
    scale: float
    unit: float
    known: dict[int, float] = field(default_factory=dict)
    spread: dict[int, tuple[float, float]] = field(default_factory=dict)
    worst: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Carried:
    """A ReLU of an integer form; at ``~at`` stands what its own rounding adds, without what it carries."""

    at: int
    form: Spread

    def take(self, run: Run) -> None:
        """Note the error of an integer that is carried, and what its own rounding adds."""
        found = self.form.error(run.known, run.n, run.unit)
        run.known[self.at] = found
        run.known[~self.at] = 0.0 if found == 0 else self.form.rounding(run.n, run.unit)


@dataclass(frozen=True)
class Compared:
    """An integer form that is compared with a number; the truth value is exact while the error is at most 1/4."""

    form: Spread

    def take(self, run: Run) -> None:
        """Note the error of a form that is compared."""
        run.worst.append(self.form.error(run.known, run.n, run.unit))


@dataclass(frozen=True)
class Counted:
    """A count from an average of truth values."""

    at: int

    def take(self, run: Run) -> None:
        """Note the error of a count."""
        falls = lookup_falls(run.scale / run.n, run.n, run.unit)
        if run.n == 1:
            found = 0.0
        else:
            found = math.inf if falls is None else moved(falls) + run.n * noise(run.n, run.unit, few=True)
        run.known[self.at] = found
        run.worst.append(found)


@dataclass(frozen=True)
class Snapped:
    """An integer read again, with its square."""

    at: int
    square: int
    form: Spread

    def take(self, run: Run) -> None:
        """Note ``a`` and ``m``, with what floating point adds to the two."""
        shift = self.form.error(run.known, run.n, run.unit)
        run.worst.append(shift)
        falls = lookup_falls(run.scale, run.n, run.unit, shift)
        if falls is None:
            run.spread[self.at] = (math.inf, math.inf)
            return
        first, second = moved(falls), 2 * sum(d * d * f for d, f in enumerate(falls, 1)) + 2.0**-100
        # Where all others together weigh less than the rounding of 1 / n^2, the sums are those of the winner alone.
        if run.unit and 2 * sum(falls) * run.n**2 > run.unit / 8:
            first += run.n * noise(run.n, run.unit, few=True)
            second += (2 * run.n + 1) * run.n * noise(run.n, run.unit, few=True)
        run.spread[self.at], run.known[self.at] = (first, second), first


@dataclass(frozen=True)
class Attended:
    """The nearest position with a condition. ``at`` is what is read, ``boolean`` whether it is a truth value;
    ``snapped`` names the two snapped integers of an equality, ``unique`` says that at most one position meets the
    condition; ``products`` is how many a score has; ``value`` is the integer that is read, and ``smooth`` whether it is
    the position."""

    at: int
    boolean: bool
    snapped: tuple[int, int] | None
    unique: bool
    products: int
    value: Spread
    smooth: bool

    def take(self, run: Run) -> None:
        """Note the error of what a head reads."""
        near, far, q = self.odds(run)
        sharp = run.scale >= 2.8 * run.n  # then 20 positions further the weight is below 2^-38
        off = share(near + far) + noise(run.n, run.unit, few=sharp)
        if self.boolean:
            run.worst.append(off)
            return
        most = self.value.size[0] * run.n + self.value.size[1]
        if self.smooth:
            line = near / (1 - q) if q < 1 else math.inf
            off = (line + most * far) * SLACK / most + noise(run.n, run.unit, few=sharp)
        found = off * most + self.value.error(run.known, run.n, run.unit)
        run.known[self.at] = found
        run.worst.append(found)

    def odds(self, run: Run) -> tuple[float, float, float]:
        """The odds against the winner: of positions that meet the condition (as far as they are that much more than
        ``q, q^2, ...`` at the distances 1, 2, ...), of all others, and ``q``."""
        n, s = run.n, run.scale
        apart, tied = 0.0, 0.0
        if self.snapped is not None:
            (a, u_square), (b, v_square) = (run.spread.get(at, (0.0, 0.0)) for at in self.snapped)
            tied, apart = 2 * a * b + max(u_square, v_square), 2 * (a + b)
        largest = 3 * float(n) ** 2 + 2 if self.snapped else 2.0
        tied += (self.products + 4) * run.unit * (1 + 2.0**-20) * largest
        blown = 2 * s * tied
        if blown > 50 or apart + 2 * tied > 0.2:
            return math.inf, math.inf, 1.0
        q = fall(s / (2 * n) * (1 - 4 * run.unit))
        behind = steps(q, 2**62) if q < 1 else math.inf
        near = 0.0 if self.unique else steps(q, max(n - 2, 0)) * math.exp(blown) * SLACK
        wrong = math.exp(blown + s * apart) * behind
        quarter, half = fall(s / 4 * (1 - 4 * run.unit)), fall(s / 2 * (1 - 4 * run.unit))
        far = (half + half * half) * wrong + quarter * q * math.exp(blown)
        return near, max(far, quarter * wrong) * SLACK, q


Step = Carried | Compared | Counted | Snapped | Attended


@dataclass(frozen=True)
class ProgramBudget:
    """The steps of a compiled program, and the dimensions that hold truth values and integers before rounding."""

    steps: tuple[Step, ...]
    raw: tuple[int, ...]
    every_length: bool

    def deviation(self, n: int, scale: float, unit: float = 0.0) -> float:
        """How far any truth value or integer can be from the exact one before it is rounded or compared. ``n``: the
        length, the marker counted. ``unit``: unit roundoff; 0 for exact arithmetic. Result: a certified bound. While it
        is below 1/4 the labels are right. It grows with ``n`` and falls with ``scale`` where arithmetic is exact."""
        run = Run(n, scale * (1 - 4 * unit), unit)
        for step in self.steps:
            step.take(run)
            if run.worst and not run.worst[-1] <= 0.25:
                return math.inf if not run.worst[-1] < 1 else run.worst[-1]
        return max(run.worst, default=0.0)

    def sharpness(self, n: int, epsilon: Fraction) -> Sharpness:
        """The temperature for a length. ``n``: the length, the marker counted. ``epsilon``: positive, at most 1/4.
        Result: the least inverse temperature, up to 0.1 % and to the next integer, at which :meth:`deviation` is at
        most ``epsilon``."""
        check_epsilon(epsilon)
        scale = least_scale(lambda s: self.deviation(n, s) <= epsilon)
        return Sharpness(n, Fraction(1, 2 * n), scale, self.deviation(n, scale))

    def safe_length(self, found: Sharpness, unit: float) -> int:
        """Up to which length the model is right in floating point, at a temperature found for one length. Result: the
        greatest length up to ``found.n`` such that it and all shorter ones are certified, or 0. Where a term reads
        ``n``: ``found.n`` or 0, and only about that length."""
        only = None if self.every_length else found.n
        return longest(lambda n: n <= found.n and self.deviation(n, found.scale, unit) < SAFE, only)

    def soften(self, model: SoftModel, found: Sharpness) -> SoftModel:
        """The softmax transformer of a program, with the lengths that are certified in its file. Result: the same
        parameters at that temperature. Where a term reads ``n`` it refuses all lengths but ``found.n``."""
        certified = {"exact": found.n} | {kind: self.safe_length(found, unit) for kind, unit in UNITS.items()}
        return with_lengths(by_softmax(model, found, "" if self.every_length else f"/(n == {found.n})"), certified)
