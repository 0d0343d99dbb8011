"""Vectors of integers times 2^-128, sets of them, and matrices with verified norms.

Sums of products are exact and rounded once, outward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from operator import mul
from typing import NamedTuple, NoReturn

BITS = 128
ONE = 1 << BITS
PRECISION = 60
SLIP = Decimal(10) ** -45
Vector = list[int]
Matrix = list[Vector]


class Reject(Exception):
    """The file is refused, or the claim not established."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def malformed(message: str) -> NoReturn:
    """Exit 4."""
    raise Reject(4, message)


class Set(NamedTuple):
    """All vectors within ``box`` of the centre, entry by entry, and within ``ball`` of it in Euclidean norm."""

    centre: Vector
    box: Vector
    ball: int


class Linear(NamedTuple):
    """A matrix with absolute values, row norms (up) and a bound on its 2-norm; entries are off by at most one unit."""

    rows: Matrix
    bias: Vector
    absolute: Matrix
    sizes: Vector
    norm: int


def up(x: int) -> int:
    """A product back to one factor of ``2^-128``, rounded up."""
    return -(-x >> BITS)


def root_up(x: int) -> int:
    """The square root of a sum of squares (scale squared), rounded up."""
    r = math.isqrt(x)
    return r if r * r == x else r + 1


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    """The exact sum of products (scale squared)."""
    return sum(map(mul, a, b))


def size(x: Sequence[int]) -> int:
    """The Euclidean norm, rounded up."""
    return root_up(dot(x, x))


def units(x: Fraction) -> int:
    """The nearest multiple of ``2^-128``, off by less than one unit."""
    return (x.numerator << BITS) // x.denominator


def exp_between(low: int, high: int) -> tuple[int, int]:
    """Bounds on ``exp`` at the ends: rounded down at ``low``, up at ``high``."""
    if high > 100_000 * ONE:
        raise Reject(5, "a logit is too large for this check")
    small = 0 if low < -200 * ONE else int((Decimal(low) / ONE).exp() * ONE * (1 - SLIP))
    big = 1 if high < -200 * ONE else int((Decimal(high) / ONE).exp() * ONE * (1 + SLIP)) + 1
    return max(small - 1, 0), big


def tight(centre: Vector, box: Vector, ball: int) -> Set:
    """The box cut to the ball, the ball to the box's corner."""
    box = [min(r, ball) for r in box]
    return Set(centre, box, min(ball, size(box)))


def add(a: Set, b: Set) -> Set:
    """All sums."""
    centre = [x + y for x, y in zip(a.centre, b.centre, strict=True)]
    return Set(centre, [x + y for x, y in zip(a.box, b.box, strict=True)], a.ball + b.ball)


def hull(sets: Sequence[Set]) -> Set:
    """A set that contains all of them: the box hull, and the farthest ball around its middle."""
    if len(sets) == 1:
        return sets[0]
    d = range(len(sets[0].centre))
    low = [min(s.centre[c] - s.box[c] for s in sets) for c in d]
    high = [max(s.centre[c] + s.box[c] for s in sets) for c in d]
    centre = [(a + b) >> 1 for a, b in zip(low, high, strict=True)]
    box = [max(b - m, m - a) for a, b, m in zip(low, high, centre, strict=True)]
    ball = max(size([x - m for x, m in zip(s.centre, centre, strict=True)]) + s.ball for s in sets)
    return tight(centre, box, ball)


def image(f: Linear, x: Set) -> Set:
    """``f(x)``: box by absolute values or by row norms, ball by the norm; entries of ``f`` may be off by a unit."""
    slip = 3 + up(sum(map(abs, x.centre)) + sum(x.box))
    centre = [(dot(row, x.centre) >> BITS) + b for row, b in zip(f.rows, f.bias, strict=True)]
    box = [min(up(dot(a, x.box)), up(s * x.ball)) + slip for a, s in zip(f.absolute, f.sizes, strict=True)]
    return tight(centre, box, up(f.norm * x.ball) + slip * (math.isqrt(len(box)) + 1))


def linear(rows: Matrix, bias: Vector | None = None, hint: str | None = None) -> Linear:
    """A matrix made ready; a hint for its norm is verified, and the Frobenius norm taken otherwise."""
    sizes = [size(row) + len(row) for row in rows]
    frobenius = root_up(sum(dot(row, row) for row in rows)) + len(rows) * len(rows[0])
    norm = frobenius if hint is None else min(frobenius, checked_norm(rows, hint, frobenius))
    return Linear(rows, bias or [0] * len(rows), [list(map(abs, row)) for row in rows], sizes, norm)


def checked_norm(rows: Matrix, hint: str, otherwise: int) -> int:
    """A certified bound near the hint: ``N^2 - A^T A = L D L^T + E`` with ``D > 0`` gives ``sqrt(N^2 + |E|)``."""
    a = rows if len(rows) >= len(rows[0]) else [list(c) for c in zip(*rows, strict=True)]
    columns = [list(c) for c in zip(*a, strict=True)]
    try:
        bound = units(Fraction(hint))
    except (ValueError, ZeroDivisionError):
        malformed(f"norms: {hint!r} is not a number")
    d = len(columns)
    g = [[(bound * bound if i == j else 0) - dot(columns[i], columns[j]) for j in range(i + 1)] for i in range(d)]
    lower: Matrix = []
    pivots: Vector = []
    for i in range(d):
        row: Vector = []
        for j in range(i):
            known = sum(row[k] * pivots[k] * lower[j][k] for k in range(j)) >> BITS
            row.append((g[i][j] - known) // pivots[j] if j < i else 0)
        pivot = (g[i][i] - (sum(row[k] * row[k] * pivots[k] for k in range(i)) >> BITS)) >> BITS
        if pivot <= 0:
            return otherwise
        pivots.append(pivot)
        lower.append([*row, ONE])
    error = 0
    for i in range(d):
        for j in range(i + 1):
            made = sum(lower[i][k] * pivots[k] * lower[j][k] for k in range(j + 1))
            off = ((g[i][j] << BITS) - made) >> BITS
            error += (1 if i == j else 2) * (abs(off) + 1) ** 2
    return root_up(bound * bound + root_up(error)) + len(rows) * len(rows[0]) + 1
