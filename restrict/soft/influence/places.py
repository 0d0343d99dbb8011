"""The results of words as affine forms with one generator for each place and symbol: a set with fewer corners than a
box.

One head's result is ``y = sum e v / sum e`` over a word's places. Let ``t`` be its coordinates, less a centre, and let
some of them, ``A``, be in a box. For a coordinate ``m`` beside and any numbers ``c`` and ``k``

    t_m - c_m - k_m . (t_A - c_A) = sum_j e_j (v_jm - c_m - k_m . (v_jA - c_A)) / D = (Q_m + sum_j q_jm) / D,

where ``D`` is the sum of the weights and ``q_j`` is one of a few vectors, one for each symbol at place ``j``: a base and
half the way to each other symbol, times 1 or -1. With ``1 / D`` in ``[r1, r2]``, ``q / D`` is ``r2 q`` times a number in
``[-1, 1]``. ``D`` is bounded over the words whose first coordinate is in its range, by any multipliers of both ends. So
``c`` and ``k`` (least squares) and the multipliers are hints. Proof: docs/soft-verdicts.md.
"""

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.influence.pairs import Changes, slack_of
from restrict.soft.influence.polygons import Flags
from restrict.soft.models.model import Floats

TRIED = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 40)])
"""Multipliers, by the inverse of the coordinate's range."""


DINKELBACH: Fact[int] = 12
"""Steps to an average's greatest value; any number gives a bound."""


class PlaceForm(NamedTuple):
    """Coordinates ``c + G eps + r``: shapes ``(d,)``, ``(d, m)``, ``(d,)``; the boxed coordinates' generators first."""

    c: Floats
    g: Floats
    r: Floats


class Places:
    """One head's weights and values in coordinates, for the words of one symbol at the output."""

    def __init__(self, changes: Changes, basis: Floats, centre: Floats) -> None:
        (head,) = changes.heads
        seen = changes.allowed & (head.e > 0)
        self.e, self.v = np.where(seen, head.e, 0.0), (head.v - centre) @ basis.T
        self.allowed = changes.allowed
        self.slack: Floats = np.abs(basis) @ slack_of(head)
        self.size = float(np.abs(head.v).max() + np.abs(centre).max()) * head.v.shape[-1]
        self.slack = self.slack + 1e-12 * self.size
        # Places of one column first: they only shift the sum.
        self.free: I64 = np.flatnonzero(changes.allowed.sum(1) > 1)
        self.base = np.where(changes.allowed, 0, 1).argmin(1)

    def _most(self, weight: Floats) -> Floats:
        """The greatest sums over words of what symbols add at places, for each row ``(rows, n, symbols)``, outward."""
        best = np.where(self.allowed, weight, -np.inf).max(2)
        found: Floats = best.sum(1) + 1e-12 * np.abs(best).sum(1)
        return found

    def weights(self, m: int, low: float, high: float) -> tuple[float, float]:
        """The range of what the weights of a word add up to, over the words whose coordinate ``m`` is in a range."""
        low, high = low - self.slack[m], high + self.slack[m]
        v, e = self.v[..., m], self.e
        scale = TRIED / max(high - low, 1e-9 * self.size, 1e-300)
        ends = (high - v) * e, (v - low) * e  # sums that are not below 0 on these words
        tried = np.concatenate([s * end + 0.0 for end in ends for s in scale[:, None, None]]).reshape(-1, *e.shape)
        most = float(self._most(e + tried).min())
        least = -float(self._most(tried - e).min())
        return least, most

    def form(self, low: Floats, high: Floats, boxed: I64) -> PlaceForm | None:
        """Around the results whose coordinates are in a box, and all between them; ``None`` where the weights may add
        up to 0."""
        least, most = self.weights(int(boxed[0]), float(low[boxed[0]]), float(high[boxed[0]]))
        if not 0 < least <= most:
            return None
        d = len(low)
        middle, radius = (low + high) / 2, (high - low) / 2
        other = np.setdiff1d(np.arange(d), boxed)
        seen = self.allowed & (self.e > 0)
        e, v = self.e[seen], self.v[seen]
        off = v[:, boxed] - middle[boxed]
        at = np.concatenate([np.ones((len(e), 1)), off], axis=1)
        line, *_ = np.linalg.lstsq(at * e[:, None], v[:, other] * e[:, None], rcond=1e-9)
        q = np.zeros((*self.e.shape, len(other)))
        q[seen] = e[:, None] * (v[:, other] - at @ line)
        base = q[np.arange(len(q)), self.base]
        ways = [
            (q[j, s] - base[j]) / 2 for j in self.free for s in np.flatnonzero(self.allowed[j]) if s != self.base[j]
        ]
        half = np.array(ways).reshape(-1, len(other))
        whole = base.sum(0) + half.sum(0)
        mean, spread = (1 / least + 1 / most) / 2, (1 / least - 1 / most) / 2
        g = np.zeros((d, len(boxed) + 1 + len(half)))
        g[boxed, np.arange(len(boxed))] = radius[boxed]
        g[other, : len(boxed)] = line[1:].T * radius[boxed]
        g[other, len(boxed)] = spread * whole
        g[other, len(boxed) + 1 :] = half.T / least
        c = middle.copy()
        c[other] = line[0] + mean * whole
        size = np.abs(line).sum(0) * (1 + np.abs(at).max()) + np.abs(half).sum(0) / least + np.abs(base).sum(0) / least
        r = np.zeros(d)
        slope = np.abs(line[1:]).T @ self.slack[boxed]
        r[other] = self.slack[other] + slope + 1e-12 * (size + self.size)
        return PlaceForm(c, g, r)


def reaches(changes: Changes, rows: Floats) -> tuple[Floats, Floats]:
    """The ranges of what the heads' results are along each row, shape ``(k, d)``, over all words."""
    ends = np.zeros((2, len(rows)))
    for head in changes.heads:
        seen = changes.allowed & (head.e > 0)
        v = np.moveaxis(head.v @ rows.T, 2, 0)
        e, off = np.where(seen, head.e, 0.0), np.abs(rows) @ slack_of(head)
        lightest = np.where(changes.allowed, e, np.inf).min(1).sum() * (1 - 1e-12)
        for side, sign in ((0, -1.0), (1, 1.0)):
            ends[side] += sign * (_greatest(sign * v, e, changes.allowed, float(lightest)) + off)
    return ends[0], ends[1]


def _greatest(v: Floats, e: Floats, allowed: Flags, lightest: float) -> Floats:
    """Not less than the greatest average of each ``v`` ``(k, n, symbols)`` over words, by Dinkelbach's method: it is at
    most ``l + max(0, max sum e (v - l)) / lightest`` for any ``l``."""
    most: Floats = np.where(allowed & (e > 0), v, -np.inf).max((1, 2))
    found = np.where(allowed & (e > 0), v, np.inf).min((1, 2))
    for _ in range(DINKELBACH):
        terms = np.where(allowed, e * (v - found[:, None, None]), -np.inf)
        best = terms.argmax(2)[..., None]
        weight = np.take_along_axis(np.broadcast_to(e, v.shape), best, 2).sum((1, 2))
        total = np.take_along_axis(terms, best, 2).sum((1, 2))
        size = np.abs(np.where(allowed, terms, 0.0)).max(2).sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = found + np.maximum(total + 1e-12 * size, 0.0) / lightest
        most = np.fmin(most, bound + 1e-14 * np.abs(bound))
        found = found + np.maximum(total, 0.0) / np.maximum(weight, 1e-300)
    return most
