"""Ranges of what attention returns along many directions at once, over all words: the greatest average of each. It is
found by Dinkelbach's method, and any step of it gives a bound: with ``m = max sum e (v - l)`` over words the average is
at most ``l + max(0, m) / D``, for any ``l`` and the least sum ``D`` of weights."""

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.influence.pairs import Changes, slack_of
from restrict.soft.influence.polygons import Flags
from restrict.soft.models.model import Floats

TRIED = np.concatenate([[0.0], np.geomspace(1e-2, 1e3, 30)])
"""Multipliers of a coordinate's ends, by the inverse of their distance; any number of them gives a bound."""
DINKELBACH: Fact[int] = 12
"""Steps to an average's greatest value; any number gives a bound."""


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
        # A little above the greatest average the sum is below 0 for certain, and then nothing is lost.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bound = found + np.maximum(total + 1e-12 * size, 0.0) / lightest
            step = (np.maximum(total, 0.0) + 4e-12 * size) / np.maximum(weight, 1e-300)
        most = np.fmin(most, bound + 1e-14 * np.abs(bound))
        found = np.fmin(found + step, most)
    return most


class Images:
    """Where an exchange takes a result of one head, in coordinates. With the sum ``D`` of a word's weights its result
    ``t`` becomes ``t + (e' (v' - t) - e (v - t)) / (D + e' - e)``, which is linear in ``t`` and in the inverse of the
    new sum. ``D`` is bounded over the words one of whose coordinates is in a range: there ``e (high - v)`` and ``e (v -
    low)`` add up to at least 0, so any multiple of them can be added to what is to be at most, or at least, a sum of
    weights."""

    def __init__(self, changes: Changes, basis: Floats, centre: Floats) -> None:
        (head,) = changes.heads
        self.allowed, self.exchanges = changes.allowed, np.array(changes.exchanges, dtype=np.int64)
        self.e = np.where(changes.allowed & (head.e > 0), head.e, 0.0)
        self.v = (head.v - centre) @ basis.T
        size = float(np.abs(head.v).max() + np.abs(centre).max()) * head.v.shape[-1]
        self.slack: Floats = np.abs(basis) @ slack_of(head) + 1e-12 * size

    def weights(self, low: Floats, high: Floats, along: list[int]) -> tuple[float, float]:
        """The range of what the weights of a word add up to, over the words whose coordinates are in a box."""
        found = []
        for m in along:
            ends = (
                (high[m] + self.slack[m] - self.v[..., m]) * self.e,
                (self.v[..., m] - low[m] + self.slack[m]) * self.e,
            )
            scale = TRIED[:, None, None] / max(high[m] - low[m] + 2 * self.slack[m], 1e-300)
            found += [scale * end for end in ends]
        more = np.concatenate(found)
        return -self._most(more - self.e), self._most(more + self.e)

    def _most(self, weight: Floats) -> float:
        """A bound on the greatest sums of ``weight`` over words, for the row ``(rows, n, symbols)`` with the least."""
        best = np.where(self.allowed, weight, -np.inf).max(2)
        return float((best.sum(1) + 1e-12 * np.abs(best).sum(1)).min())

    def after(self, low: Floats, high: Floats, near: I64, along: list[int]) -> tuple[Floats, Floats]:
        """For each exchange the least and the greatest coordinates that it takes words in a box to: ``(near, d)``; no
        numbers where no word with its symbol is in the box."""
        least, most = self.weights(low, high, along)
        t, s, o = self.exchanges[near].T
        gone, come = self.e[t, s][:, None], self.e[t, o][:, None]
        beside = np.where(self.allowed, self.e, np.inf).min(1)
        rest = beside.sum() - beside[t][:, None]
        sums = (np.maximum(least - gone, rest) + come) * (1 - 1e-12), (most - gone + come) * (1 + 1e-12)
        way, turn = come * self.v[t, o] - gone * self.v[t, s], come - gone
        ends = []
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # sums of weights near 0
            for at in (low - self.slack, high + self.slack):
                ends += [at + (way - turn * at) / total for total in sums]
            size = np.abs(ends[0])
            off = self.slack + 1e-12 * (np.abs(way) + np.abs(turn) * size) / sums[0] + 1e-12 * size
            found = np.min(ends, 0) - off, np.max(ends, 0) + off
        lost = ~((sums[0] > 0) & np.isfinite(found[0]) & np.isfinite(found[1]))
        return np.where(lost, -np.inf, found[0]), np.where(lost, np.inf, found[1])
