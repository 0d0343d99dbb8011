"""Cells that no word reaches (Lemma V21), for the search for a verdict. The box of a case is a product: of its
coordinates, and of its heads. Words of a case are often near a curve in it, and most of its cells are empty."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.trained.directions import Directions, Key
from restrict.soft.trained.graph import farthest
from restrict.soft.trained.multipliers import separation
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array

PULL: Fact[int] = 1 << 14
"""The largest multiplier: only their quotients count."""
CLEAR: Fact[float] = 1e-5
"""By so much, in units of the coordinates, all words are beyond: the checker's numbers differ from floats."""


class Empty:
    """The cells of one case, in the coordinates that are in use."""

    def __init__(self, search: Directions, key: Key) -> None:
        self.search, self.key = search, key
        search.weigh(key[0], key[1])
        self.most, self.least = search.box(key)
        self.heads = np.repeat(np.arange(len(search.sizes)), search.sizes)
        self.begin = np.concatenate([[0], np.cumsum(search.sizes)])
        self.shares = [np.ones_like(search.weights[0]), *(w / search.weights[0] for w in search.weights[1:])]
        self.words = np.zeros((0, len(self.most) + len(search.sizes)))

    def found(self, low: Array, high: Array) -> list[int] | None:
        """Multipliers that show that no word is in a cell, as a certificate holds them (coordinate, number, coordinate,
        number, ...); ``None`` if none are found."""
        low, high = low[: len(self.most)], high[: len(self.most)]  # behind them are quotients
        wide = self.most - self.least
        cut = np.flatnonzero((low > self.least + OPTIONS.cut * wide) | (high < self.most - OPTIONS.cut * wide))
        if len(cut) < 2 or not all(np.isfinite(share).all() for share in self.shares):
            return None
        ends, heads, count = np.array([high[cut], low[cut]]), self.heads[cut], len(self.most)
        radius = np.maximum(high - low, 1e-12)[cut] / 2
        both = np.tile(radius, 2)

        def entries(words: Array) -> Array:
            t, size = words[:, cut], words[:, count + heads]
            return np.hstack([(t - ends[0]) * size, (ends[1] - t) * size]) / both

        def pulls(g: Array) -> Array:
            size: Array = (g[len(cut) :] - g[: len(cut)]) / radius
            return np.asarray(np.round(size / (np.abs(size).max() or 1.0) * PULL))

        def against(g: Array) -> Array | None:
            pull = pulls(g)
            word = self.farthest(cut, pull / PULL, np.where(pull > 0, *ends[::-1]), CLEAR)
            if word is None:
                return None
            self.words = np.vstack([self.words, word])
            return entries(word[None])

        for m in () if len(self.words) else cut:
            for sign, end in ((1.0, self.most), (-1.0, self.least)):
                if (word := self.farthest(np.array([m]), np.array([sign]), end[[m]], 1.0)) is not None:
                    self.words = np.vstack([self.words, word])
        points = entries(self.words)
        far = points.max(1)
        if not len(far) or (far <= 0).any():
            return None
        g = separation(against, points[np.argsort(far)[: OPTIONS.known]])
        return None if g is None else [int(v) for pair in zip(cut, pulls(g), strict=True) if pair[1] for v in pair]

    def shown(self, low: Array, high: Array, row: list[int]) -> bool:
        """Whether multipliers that a certificate holds show that no word is in a cell."""
        cut, pull = np.array(row[::2]), np.array(row[1::2])
        return self.farthest(cut, pull / PULL, np.where(pull > 0, low[cut], high[cut]), CLEAR) is None

    def farthest(self, cut: I64, pull: Array, ends: Array, clear: float) -> Array | None:
        """The word for which ``pull . (t - ends)``, weighed by each head's denominator, is greatest: its coordinates,
        and each head's denominator by that of the first; ``None`` if it is below ``-clear``."""
        search, i = self.search, self.key[0]
        values = np.zeros_like(search.weights[0])
        for h, (basis, share) in enumerate(zip(search.atoms.bases, self.shares, strict=True)):
            for m, p, end in zip(cut, pull, ends, strict=True):
                if self.heads[m] == h and p:
                    values += share * p * (basis.at[m - self.begin[h], : i + 1] - end)
        num, den, symbols = farthest(search.weights[0], values, search.ways(self.key), -clear)
        if num + clear * den <= 0:
            return None
        word, steps = (0, *symbols), np.arange(i + 1)
        dens = [w[steps, word].sum() for w in search.weights]
        at = [b.at[:, steps, word] @ w[steps, word] / d
              for b, w, d in zip(search.atoms.bases, search.weights, dens, strict=True)]  # fmt: skip
        return np.concatenate([*at, np.array(dens) / dens[0]])
