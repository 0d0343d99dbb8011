"""Sets of vectors, and matrices with verified norms: integers times ``2^-128``, every bound rounded outward.

Sums of products are exact and rounded once. What each function contains is a lemma of docs/trusted-base.md ("Soft
certificates"), named at it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from operator import mul
from typing import NamedTuple

from .soft_terms import DIGITS

BITS = 128
ONE = 1 << BITS
SLIP = Decimal(10) ** -45
FAR = 200 * ONE
"""Where the exponential is below ``2^-256`` and its inverse above ``2^256``."""
WIDEST = 1 << 640
"""Entries of a factorisation beyond this are not followed: then the hint is not used."""
Vector = list[int]
Matrix = list[Vector]


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
    """The greatest multiple of ``2^-128`` that is not above."""
    return (x.numerator << BITS) // x.denominator


def entry(x: float) -> int:
    """A float below ``2^100`` in size, rounded down to a multiple of ``2^-128``; scaling by a power of two is exact."""
    return math.floor(math.ldexp(x, BITS))


def exp_down(x: int) -> int:
    """Not above ``exp(x)`` (Lemma S2)."""
    return 0 if x < -FAR else max(int(scaled_exp(min(x, FAR), 1 - SLIP)) - 1, 0)


def exp_up(x: int) -> int:
    """Not below ``exp(x)``, for ``x`` at most 200 (Lemma S2)."""
    return 1 if x < -FAR else int(scaled_exp(x, 1 + SLIP)) + 1


def scaled_exp(x: int, factor: Decimal) -> Decimal:
    """The exponential in units, times a factor, to about 58 digits."""
    found = DIGITS.exp(DIGITS.divide(Decimal(x), Decimal(ONE)))
    return DIGITS.multiply(DIGITS.multiply(found, Decimal(ONE)), factor)


def exact(centre: Vector) -> Set:
    """A vector whose entries are off by less than a unit."""
    return Set(centre, [1] * len(centre), len(centre))


def tight(centre: Vector, box: Vector, ball: int) -> Set:
    """The box cut to the ball, the ball to the box's corner."""
    box = [min(r, ball) for r in box]
    return Set(centre, box, min(ball, size(box)))


def add(a: Set, b: Set) -> Set:
    """A set of all sums of a vector of each."""
    centre = [x + y for x, y in zip(a.centre, b.centre, strict=True)]
    return Set(centre, [x + y for x, y in zip(a.box, b.box, strict=True)], a.ball + b.ball)


def hull(sets: Sequence[Set]) -> Set:
    """A set that contains all of them: the box hull, and the farthest ball around its middle (Lemma S3)."""
    if len(sets) == 1:
        return sets[0]
    d = range(len(sets[0].centre))
    low = [min(s.centre[c] - s.box[c] for s in sets) for c in d]
    high = [max(s.centre[c] + s.box[c] for s in sets) for c in d]
    centre = [(a + b) >> 1 for a, b in zip(low, high, strict=True)]
    box = [max(b - m, m - a) for a, b, m in zip(low, high, centre, strict=True)]
    ball = max(size([x - m for x, m in zip(s.centre, centre, strict=True)]) + s.ball for s in sets)
    return tight(centre, box, ball)


def between(x: Set, low: Vector, high: Vector) -> Set:
    """``x`` cut to a box, kept where the ball would not shrink (Lemma S3)."""
    centre = [(a + b) >> 1 for a, b in zip(low, high, strict=True)]
    box = [b - m + 1 for b, m in zip(high, centre, strict=True)]
    if size(box) >= x.ball:
        return x
    return tight(centre, box, size([a - b for a, b in zip(centre, x.centre, strict=True)]) + x.ball)


def cut(x: Set, outer: Set) -> Set:
    """``x`` cut to another box that also contains what is meant."""
    low = [max(a - r, b - s) for a, r, b, s in zip(x.centre, x.box, outer.centre, outer.box, strict=True)]
    high = [min(a + r, b + s) for a, r, b, s in zip(x.centre, x.box, outer.centre, outer.box, strict=True)]
    return between(x, low, [max(a, b) for a, b in zip(low, high, strict=True)])


def image(f: Linear, x: Set) -> Set:
    """``f(x)``: box by absolute values or by row norms, ball by the norm (Lemma S4)."""
    slip = 3 + up(sum(map(abs, x.centre)) + sum(x.box))
    centre = [(dot(row, x.centre) >> BITS) + b for row, b in zip(f.rows, f.bias, strict=True)]
    box = [min(up(dot(a, x.box)), up(s * x.ball)) + slip for a, s in zip(f.absolute, f.sizes, strict=True)]
    return tight(centre, box, up(f.norm * x.ball) + slip * (math.isqrt(len(box)) + 1))


def linear(rows: Matrix, bias: Vector | None = None, hint: Fraction | None = None) -> Linear:
    """A matrix made ready; a hint for its norm is verified, and the Frobenius norm taken otherwise."""
    sizes = [size(row) + len(row) for row in rows]
    frobenius = root_up(sum(dot(row, row) for row in rows)) + len(rows) * len(rows[0])
    bound = frobenius if hint is None else min(frobenius, units(hint))
    norm = bound if bound == frobenius else min(frobenius, checked_norm(rows, bound, frobenius))
    return Linear(rows, bias or [0] * len(rows), [list(map(abs, row)) for row in rows], sizes, norm)


def checked_norm(rows: Matrix, bound: int, otherwise: int) -> int:
    """A certified bound near a hint: ``N^2 - A^T A = L D L^T + E`` with ``D > 0`` gives ``sqrt(N^2 + |E|)`` (Lemma
    S5)."""
    a = rows if len(rows) >= len(rows[0]) else [list(c) for c in zip(*rows, strict=True)]
    columns = [list(c) for c in zip(*a, strict=True)]
    d = len(columns)
    g = [[(bound * bound if i == j else 0) - dot(columns[i], columns[j]) for j in range(i + 1)] for i in range(d)]
    lower: Matrix = []
    pivots: Vector = []
    for i in range(d):
        row: Vector = []
        for j in range(i):
            known = sum(row[k] * pivots[k] * lower[j][k] for k in range(j)) >> BITS
            row.append((g[i][j] - known) // pivots[j])
            if abs(row[j]) > WIDEST:
                return otherwise
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
