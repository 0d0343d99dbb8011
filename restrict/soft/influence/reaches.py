"""Ranges of what attention returns along many directions at once, over all words: the greatest average of each. It is
found by Dinkelbach's method, and any step of it gives a bound: with ``m = max sum e (v - l)`` over words the average is
at most ``l + max(0, m) / D``, for any ``l`` and the least sum ``D`` of weights."""

import numpy as np

from restrict.base.options import Fact
from restrict.soft.influence.pairs import Changes, slack_of
from restrict.soft.influence.polygons import Flags
from restrict.soft.models.model import Floats

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
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = found + np.maximum(total + 1e-12 * size, 0.0) / lightest
        most = np.fmin(most, bound + 1e-14 * np.abs(bound))
        # A little above the greatest average the sum is below 0 for certain, and then nothing is lost.
        found = found + (np.maximum(total, 0.0) + 4e-12 * size) / np.maximum(weight, 1e-300)
    return most
