"""Multipliers of a cell's sides (Lemma V20): what a label is at least, over the words in a cell, to the first order.

In coordinates in which the cell is ``[-1, 1]^m`` the least of ``h.x`` over the averages of words in it is the greatest
of ``min (h - g).x - sum |g|`` over all ``g``, where the minimum is over all words: a longest path for each ``g`` that
is tried. The words found so far stand for all; ``g`` is that of their mixtures with a penalty outside the cell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from restrict.kernels.verdict import mix
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array

Found = tuple[Array, Array]
"""A word's coordinates, and what its value is less for each unit of each multiplier."""
Oracle = Callable[[Array, float], Found | None]
"""For a direction a word whose value is less than a number; ``None`` where there is none."""


def multipliers(oracle: Oracle, least: float, line: Array, aim: float) -> tuple[Array | None, Array]:
    """``g`` such that ``least + (line - g).x - sum |g|`` is greater than ``aim`` for all words, if some are found, and
    the mixture of words that was last looked at: where there are none, one in the cell with too small a value."""
    size = max(float(np.abs(line).sum()), abs(least - aim))
    none, room = np.zeros(len(line)), np.empty(len(line))
    if not 0 < size < np.inf:
        return None, none
    first = oracle(line, aim - least)
    if first is None:
        return none, none
    points, losses, share, steep = first[0][None], first[1][None], np.ones(1), OPTIONS.penalty * size
    at = first[0].copy()
    for _ in range(OPTIONS.tries):
        while steep <= OPTIONS.steepest * size:
            mix(points, share, at, room, line, steep)
            out = at - np.clip(at, -1, 1)
            pull = -steep * out
            now = line - pull
            free = least - float(np.abs(pull).sum())
            if free + float((points @ now - losses @ np.abs(now)).min()) > aim:
                break
            if np.abs(out).max(initial=0) < OPTIONS.inside:
                return None, at
            steep *= OPTIONS.steeper
        else:
            return None, at
        if (found := oracle(now, aim - free)) is None:
            return pull, at
        points, losses, share = np.vstack([points, found[0]]), np.vstack([losses, found[1]]), np.append(share, 0.0)
    return None, at


def separation(oracle: Callable[[Array], Array | None], points: Array) -> Array | None:
    """Multipliers ``g >= 0`` for which ``g . a`` is positive for all words, if some are found: then no mixture of
    words has ``a <= 0`` in every entry. ``points``: what is known of words, shape ``(words, entries)``. ``oracle``: for
    a ``g`` a word for which that is not so, or ``None``."""
    share, none = np.zeros(len(points)), np.zeros(points.shape[1])
    share[int(points.max(1).argmin())], at, room = 1.0, np.empty_like(none), np.empty_like(none)
    for _ in range(OPTIONS.tries):
        size = float(np.abs(points).max(initial=0)) or 1.0
        mix(points / size + 1, share, at, room, none, 1.0)
        out = np.maximum(at - 1, 0)
        if out.max(initial=0) * size < OPTIONS.inside:
            return None
        if (found := oracle(out)) is None:
            return out
        points, share = np.vstack([points, found]), np.append(share, 0.0)
    return None
