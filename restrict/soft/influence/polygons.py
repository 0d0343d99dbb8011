"""Theorem 9 in the plane: the greatest change of an average when one of its terms is exchanged.

The *rest* of a word (all positions but the exchanged one) enters the average of a direction by two sums only,
``x = sum e v`` and ``y = sum e``. With the terms ``(n, d) = (d v, d)`` of the symbol and ``(n', d')`` of the other one
the average changes by

    f(x, y) = (x + n') / (y + d') - (x + n) / (y + d).

The points ``(x, y)`` of all words lie in a convex polygon whose supports are longest paths. For fixed ``y`` the change
is linear in ``x``, so it is greatest on an edge, and along one, ``x = x0 + k y``, it is ``P / (y + d') - R / (y + d)``
with ``P = x0 + n' - k d'`` and ``R = x0 + n - k d``, which has at most one stationary point. So no bins of the
denominator and no multipliers have to be chosen: they are supports of the same polygon. The averages of the words
themselves may be limited to an interval: along its two lines, ``x + n = l (y + d)``, the change is monotone in ``y``.

Rounding. A support is a sum of at most 4096 terms, off by ``4096 u`` (``u = 2^-53``) of the sum of their absolute
values, and is moved outward by :data:`OUT` of a bound on that: the *share* of all terms, or less near the direction
of the least ``y``. There, with ``|v| <= k`` in units of the table (``|x| <= k y`` in every term) and
``k |u_x| <= |u_y| / 2``, the path that attains the support ``h = u_x X + u_y Y < 0`` has ``Y <= 2 |h| / |u_y|``, so
the absolute terms add up to at most ``3 |h|``. A corner is off along the flatter of its two sides; across a side by a
few ``u``, so a polygon made of computed corners still surrounds the one before its sides were moved. What is beyond
the least or the greatest ``y`` is cut off where the sides cross it.
"""

import math
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.models.model import Floats

Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
OUT: Fact[float] = 1e-12
LONGEST: Fact[int] = 4096
"""Terms of a sum, whose rounding OUT covers."""
TURNS: Floats = np.sort(
    np.concatenate(
        [2 * math.pi * np.arange(INFLUENCE.even) / INFLUENCE.even]
        + [
            1.5 * math.pi + side * 2 * math.pi / INFLUENCE.even * 0.5 ** np.arange(1, INFLUENCE.finer + 1)
            for side in (-1, 1)
        ]
    )
)
UNITS: Floats = np.stack([np.cos(TURNS), np.sin(TURNS)], axis=1)
DOWN = int(np.argmin(UNITS[:, 1]))
"""The support whose direction is that of the least ``y``."""
UNITS[DOWN] = 0.0, -1.0
NEXT: Floats = np.roll(UNITS, -1, axis=0)
GAPS: Floats = UNITS[:, 0] * NEXT[:, 1] - UNITS[:, 1] * NEXT[:, 0]
"""The sines of the angles between directions, as they are rounded: without loss where the angles are small."""
NARROW: Fact[float] = 1e-7
"""Where ``P`` and ``R`` differ by less than this, the stationary point is not used."""
LEAST: Fact[float] = 1e-280
"""The least product of two denominators: below it what underflows could count."""


class Replacement(NamedTuple):
    """The terms of a symbol and of the one that replaces it; arrays of one shape."""

    n: Floats
    d: Floats
    other_n: Floats
    other_d: Floats


class Edges(NamedTuple):
    """Sides from ``a`` to ``b`` of polygons around points ``(x, y)``, and which are left: shape (polygons, angles)."""

    xa: Floats
    ya: Floats
    xb: Floats
    yb: Floats
    kept: Flags

    def chosen(self, near: I64 | slice) -> "Edges":
        """The edges of some polygons, by their indices."""
        return Edges(self.xa[near], self.ya[near], self.xb[near], self.yb[near], self.kept[near])


def edges(supports: Floats, size: tuple[float, float], limits: tuple[Floats, Floats], share: Floats, k: float) -> Edges:
    """The sides from the supports ``max u . (x / size[0], y / size[1])``, shape (polygons, :data:`TURNS`), cut off at
    ``limits``, the least and greatest ``y`` of each, rounded outward. ``share``: the sums of absolute terms over
    ``size`` (the larger of both), (polygons,). No term has ``|x| / size[0]`` above ``k`` times ``y / size[1]``."""
    small = (UNITS[:, 1] < 0) & (k * np.abs(UNITS[:, 0]) <= -UNITS[:, 1] / 2)
    off = np.where(small, np.minimum(2 * np.abs(supports), share[:, None]), share[:, None])
    h = supports + OUT * off
    after = np.roll(h, -1, axis=1)
    xa = (h * NEXT[:, 1] - after * UNITS[:, 1]) / GAPS * size[0]
    ya = (after * UNITS[:, 0] - h * NEXT[:, 0]) / GAPS * size[1]
    xb, yb, kept = np.roll(xa, -1, axis=1), np.roll(ya, -1, axis=1), np.ones(xa.shape, dtype=bool)
    for limit, sign in ((limits[0][:, None], 1.0), (limits[1][:, None], -1.0)):
        a, b = sign * (ya - limit) >= 0, sign * (yb - limit) >= 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cross = xa + (limit - ya) / (yb - ya) * (xb - xa)
        kept &= a | b
        xa, ya = np.where(~a & b, cross, xa), np.where(~a & b, limit, ya)
        xb, yb = np.where(a & ~b, cross, xb), np.where(a & ~b, limit, yb)
    return Edges(xa, ya, xb, yb, kept)


def greatest_change(at: Edges, terms: Replacement, within: tuple[float, float] | None = None) -> Floats:
    """For each polygon and exchange the greatest ``|f|``, not less than it; minus infinity where nothing is left.
    ``terms``: shape (polygons,). ``within``: limits of the word's own average ``(x + n) / (y + d)``."""
    n, d, other_n, other_d = (column[:, None] for column in terms)
    xa, ya, xb, yb, kept = at
    if within is not None:
        first, last = _inside((xa + n, ya + d), (xb + n, yb + d), within)
        kept = kept & (first <= last)
        xa, xb = xa + first * (xb - xa), xa + last * (xb - xa)
        ya, yb = ya + first * (yb - ya), ya + last * (yb - ya)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = _along(xa, ya, xb, yb, n, d, other_n, other_d)
    found = np.where(np.isnan(found), np.inf, found)
    return np.asarray(np.where(kept, found, -np.inf).max(axis=1))


def _inside(a: tuple[Floats, Floats], b: tuple[Floats, Floats], within: tuple[float, float]) -> tuple[Floats, Floats]:
    """Which part of each edge, as shares of it, has an average inside the limits, a little more."""
    first, last = np.zeros(a[0].shape), np.ones(a[0].shape)
    for limit, sign in ((within[1], 1.0), (within[0], -1.0)):
        begin, end = sign * (a[0] - limit * a[1]), sign * (b[0] - limit * b[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = begin / (begin - end)
        first = np.where((begin > 0) & (end <= 0), np.maximum(first, cross - OUT), first)
        last = np.where((begin <= 0) & (end > 0), np.minimum(last, cross + OUT), last)
        last = np.where((begin > 0) & (end > 0), -1.0, last)
    return np.maximum(first, 0.0), np.minimum(last, 1.0)


def _along(
    xa: Floats, ya: Floats, xb: Floats, yb: Floats, n: Floats, d: Floats, other_n: Floats, other_d: Floats
) -> Floats:
    """The greatest ``|f|`` on edges."""
    constant = other_n * d - n * other_d

    def numerator(x: Floats, y: Floats) -> Floats:
        return x * (d - other_d) + y * (other_n - n) + constant

    def change(x: Floats, y: Floats) -> Floats:
        return numerator(x, y) / ((y + d) * (y + other_d))

    ends = np.maximum(np.abs(change(xa, ya)), np.abs(change(xb, yb)))
    low, high = np.minimum(ya, yb), np.maximum(ya, yb)
    dens = (low + d) * (low + other_d)
    loose = np.maximum(np.abs(numerator(xa, ya)), np.abs(numerator(xb, yb))) / dens
    k = (xb - xa) / (yb - ya)
    p, r = xa - k * ya + other_n - k * other_d, xa - k * ya + n - k * d
    ratio = np.sqrt(np.where(p * r > 0, r / p, np.nan))
    y = np.clip((ratio * other_d - d) / (1 - ratio), low, high)
    inner = np.abs(change(xa + k * (y - ya), y))
    sharp = np.where(np.isnan(inner), ends, np.maximum(ends, inner))
    usable = (np.abs(1 - ratio) > NARROW) | np.isnan(ratio)
    size = np.maximum(np.abs(xa), np.abs(xb)) * np.abs(d - other_d) + high * np.abs(other_n - n)
    sharp = np.where(usable & np.isfinite(k), sharp, loose)
    slack = OUT * (size + np.abs(other_n * d) + np.abs(n * other_d)) / dens
    return np.where(dens > LEAST, np.minimum(loose, sharp) + slack, np.inf)
