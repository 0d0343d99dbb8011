"""Exchanges of two symbols in the axes in which they move attention's result: bounds on norms, and words far apart."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.influence.exchanges import Sample
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import Changes, Span, WordPair
from restrict.soft.influence.polygons import UNITS
from restrict.soft.models.model import Floats


class Turned:
    """For each two symbols the axes in which their exchange moves attention's result, those of random words: a hint.
    The first axis then holds most of every change, whatever the words."""

    def __init__(self, changes: Changes) -> None:
        self.changes, self.sample = changes, Sample(changes, np.random.default_rng(0))
        words = self.sample.random(INFLUENCE.sample)
        t, s, o = np.array(changes.exchanges, dtype=np.int64).T
        self.numbers = {
            pair: np.flatnonzero((np.minimum(s, o) == pair[0]) & (np.maximum(s, o) == pair[1]))
            for pair in itertools.combinations(range(changes.words.symbols), 2)
        }
        self.free: I64 = np.unique(t)
        self.rows = {}
        for pair, numbers in self.numbers.items():
            moved = [np.zeros((0, changes.parts.model.width))]
            for place in np.unique(t[numbers]):
                first, second = (self._with(words, int(place), symbol) for symbol in pair)
                moved.append(changes.read(second) - changes.read(first))
            found = np.concatenate(moved)
            self.rows[pair] = np.linalg.svd(found.T @ found)[2]

    @staticmethod
    def _with(words: I64, place: int, symbol: int) -> I64:
        """The words with a symbol at a place."""
        found = words.copy()
        found[:, place] = symbol
        return found

    def norms(
        self, near: I64 | None = None, spans: Sequence[Span] | None = None, goal: float = 0.0
    ) -> Floats:  # fmt: skip
        """For each exchange a bound on the norm of the change of attention's result. ``near``, ``spans``: as in
        :meth:`.Changes.along`. ``goal``: what need not be sharper below."""
        total: Floats = np.zeros(len(self.changes.exchanges))
        for pair, numbers in self.numbers.items():
            some = numbers if near is None else np.intersect1d(numbers, near)
            if len(some):
                total[some] = self._norms(self.rows[pair], some, spans, goal)
        return total

    def _norms(self, rows: Floats, near: I64, spans: Sequence[Span] | None, goal: float) -> Floats:
        """The squared norm in the ``planes`` axes of the largest changes is the sum of those in their planes
        (``half_fan`` directions each) over ``planes - 1``; the other axes come by Pythagoras. Only the fan's angle is
        lost where one pair of words is the worst in every plane."""
        squares = np.stack([self._along(row, near, spans) for row in rows], axis=1) ** 2
        whole = squares.sum(1)
        # The axes are orthonormal up to rounding: the squares of the coordinates add up to the norm's.
        found: Floats = np.sqrt(whole) * (1 + 1e-9)
        above = found > goal
        if not above.any() or len(rows) == 1:
            return found
        near, squares, whole = near[above], squares[above], whole[above]
        order = np.argsort(-squares.max(0), kind="stable")
        wide, total = order[: INFLUENCE.planes], np.zeros(len(near))
        turns, least = np.pi * (np.arange(INFLUENCE.half_fan) + 0.5) / INFLUENCE.half_fan, whole
        for i, j in itertools.combinations(wide.tolist(), 2):
            fan = [self._along(math.cos(t) * rows[i] + math.sin(t) * rows[j], near, spans) for t in turns]
            both = squares[:, i] + squares[:, j]
            plane = np.minimum((np.max(fan, axis=0) / math.cos(math.pi / (2 * INFLUENCE.half_fan))) ** 2, both)
            total += plane
            least = np.minimum(least, plane + whole - both)
        total = total / (len(wide) - 1) + squares[:, order[INFLUENCE.planes :]].sum(1)
        found[above] = np.sqrt(np.maximum(np.minimum(total, least), 0.0)) * (1 + 1e-9)
        return found

    def pairs(self) -> list[WordPair]:
        """For each two symbols and each head the two words that are farthest apart, of those at the corners of its sums
        in the direction of their first axis: there one head's change is the greatest of all words'."""
        found = []
        for (s, o), rows in self.rows.items():
            for head in self.changes.heads:
                x, y = head.e * (head.v @ rows[0]), head.e
                across, up = (part / (np.abs(part).max() + 1e-300) for part in (x, y))
                sums = UNITS[:, 0, None, None] * across + UNITS[:, 1, None, None] * up
                words = np.where(self.changes.allowed, sums, -np.inf).argmax(2)
                first, second = words.copy(), words.copy()
                at = np.arange(len(words)), self.free[self._moved(x, y, words, s, o).argmax(1)]
                first[at], second[at] = s, o
                kept = self.sample.inside(first) & self.sample.inside(second)
                first, second = first[kept], second[kept]
                if len(first):
                    moved = np.linalg.norm(self.changes.read(second) - self.changes.read(first), axis=1)
                    best = int(moved.argmax())
                    found.append((first[best].tolist(), second[best].tolist()))
        return found

    def _moved(self, x: Floats, y: Floats, words: I64, s: int, o: int) -> Floats:
        """How far the exchange of two symbols at each free place of each word moves an average along a line."""
        own, free = (np.arange(words.shape[1]), words), self.free
        top, bottom = (part[own].sum(1)[:, None] - part[own][:, free] for part in (x, y))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (top + x[free, o]) / (bottom + y[free, o]) - (top + x[free, s]) / (bottom + y[free, s])
        moved: Floats = np.nan_to_num(np.abs(found))
        return moved

    def _along(self, row: Floats, near: I64, spans: Sequence[Span] | None) -> Floats:
        return self.changes.along(row, near, spans=spans)[0][near]
