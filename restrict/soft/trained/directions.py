"""The words of a case in some direction of attention's output (Theorems 1, 5 and 6), for the search for a verdict: one
longest path says how far they go, and which word goes there. Float64 throughout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from restrict.base.options import Fact
from restrict.kernels.verdict import greatest, supports
from restrict.soft.trained.atoms import Atoms, Basis
from restrict.soft.trained.graph import Graph, Ways, farthest
from restrict.soft.trained.model import Trained
from restrict.soft.trained.multipliers import Found
from restrict.soft.trained.stored import Array

BOUND: Fact[int] = 1 << 16
"""Bounds are integers times ``2^-16``: first orders are exact by own directions, so finer ones gain nothing."""
QUOTIENT: Fact[int] = 1 << 40
LARGEST: Fact[int] = 1 << 16
"""Bounds on quotients of denominators are integers times ``2^-40``; quotients beyond the second are not used."""
Key = tuple[int, int, int]


def denominator(low: Any, high: Any) -> tuple[Any, Any]:
    """Middle and half width of a head's denominator by the first one's, where the quotient of the first one's by it has
    these ends."""
    return (1 / low + 1 / high) / 2, (1 / low - 1 / high) / 2


def lengthened(line: Array, size: int) -> Array:
    """A line in so many coordinates: those behind its own have no slope."""
    return line if len(line) == size else np.append(line, np.zeros(size - len(line)))


class Directions:
    """The words of a model of one layer on one graph, up to ``n`` symbols; ``least`` as in :class:`Atoms`."""

    def __init__(self, model: Trained, graph: Graph, n: int, least: float | None = None) -> None:
        self.model, self.graph, self.atoms = model, graph, Atoms(model, n, least)
        self.warm: dict[tuple[int, ...], Array] = {}
        self.last: tuple[int, int] = (-1, -1)
        self.weights: list[Array] = []
        self.quotients: tuple[Key, list[int], list[int]] | None = None
        self.values: tuple[list[Basis], int, list[Array]] = [], -1, []
        self.led = (0, -1, 0), graph.led((0, -1, 0))
        self.turns = [self.atoms.bases]
        self.use(0)

    def use(self, number: int) -> None:
        """Work in the coordinates of a basis: 0 for that of all values, else one that :meth:`turned` made."""
        bases = self.atoms.bases = self.turns[number]
        self.number, self.sizes = number, [len(basis.rows) for basis in bases]
        self.rows, self.at = np.concatenate([basis.near for basis in bases]), [basis.middle for basis in bases]
        self.rest = sum((basis.rest for basis in bases), np.zeros(self.model.d)) + 1e-12

    def weigh(self, i: int, a: int) -> None:
        """Make the weights of position ``i`` and its symbol ``a`` ready."""
        if self.last != (i, a):
            self.last = (i, a)
            self.weights = [self.atoms.weights(h, i, a) for h in range(self.atoms.heads)]

    def box(self, key: Key) -> tuple[Array, Array]:
        """The exact range of every coordinate over the words of a case: upper and lower ends, all heads in a row."""
        self.weigh(key[0], key[1])
        found, ways = [], self.ways(key)
        for h, basis in enumerate(self.atoms.bases):
            at = self.number, len(basis.rows), h, key[1], key[2]
            bounds = self.warm.setdefault(at, np.zeros((2, len(basis.rows))))
            supports(self.weights[h], basis.at, *ways, bounds)
            found.append(bounds.copy())
        both = np.concatenate(found, axis=1)
        return both[0], both[1]

    def start(self, key: Key) -> Array:
        """The stream of a case without what the heads read."""
        found: Array = self.atoms.x[key[0], max(key[1], 0)] + self.atoms.bias
        return found

    def own(self, key: Key, low: Array, high: Array, least: float, line: Array) -> float:
        """Theorem 5: a lower bound of a label by its own direction over all words of the case. ``low``, ``high``: the
        ends of the cell. ``least``, ``line``: the form's centre and its generators."""
        if (whole := self.whole(key, low, high)) is None:
            return -math.inf
        line = lengthened(line, len(whole[0]))
        return float(least - self.most(key, 0, self.against(key, *whole, line)))

    def whole(self, key: Key, low: Array, high: Array) -> tuple[Array, Array] | None:
        """The ends of a cell, and behind them those of the quotients of denominators, one for each head but the first:
        those of all words where the cell has none of its own; ``None`` where a certificate cannot hold them."""
        if len(low) > len(self.rows) or self.atoms.heads == 1:
            return low, high
        if not (quotients := self.quotient(key)):
            return None
        middle, off = np.array(quotients).T
        return np.append(low, middle - off), np.append(high, middle + off)

    def against(self, key: Key, low: Array, high: Array, line: Array) -> Array:
        """Values of symbols, of which the first head's average is what a line is less than 0 behind a word (Theorem 6).
        The cell is a whole one, in which all coordinates are between -1 and 1; the last of them are the denominators of
        the other heads by the first one's."""
        radius, middle, m, at, values = (high - low) / 2, (high + low) / 2, len(self.rows), 0, np.zeros(0)
        slope = np.divide(line, radius, out=np.zeros_like(line), where=radius > 0)
        for h, basis in enumerate(self.atoms.bases):
            part, k = slice(at, at + len(basis.rows)), m + h - 1
            at = part.stop
            against = slope[part] @ middle[part] - (slope[part] @ self.flat(h, key[0])).reshape(-1, basis.at.shape[2])
            if not h:
                values = against
                continue
            share = self.weights[h] / self.weights[0]
            values = values + share * (middle[k] * against + radius[k] * np.abs(line[part]).sum())
            if line[k]:
                centre, reach = denominator(low[k], high[k])
                values = values - line[k] / reach * (share - centre)
        return values

    def flat(self, h: int, i: int) -> Array:
        """The coordinates of a head's values up to a position, in rows."""
        bases, known, _ = self.values
        if bases is not self.atoms.bases or known != i:
            seen = [basis.at[:, : i + 1] for basis in self.atoms.bases]
            flat = [np.ascontiguousarray(at).reshape(len(at), math.prod(at.shape[1:])) for at in seen]  # some are empty
            self.values = self.atoms.bases, i, flat
        return self.values[2][h]

    def farther(self, key: Key, low: Array, high: Array, line: Array, aim: float) -> Found | None:
        """A word whose line is less than ``aim``, if there is one: its coordinates as in :meth:`against`, and what its
        line is less for each unit of a coordinate's slope (Theorem 6)."""
        values = self.against(key, low, high, line)
        num, den, symbols = farthest(self.weights[0], values, self.ways(key), -aim)
        if num + aim * den <= 0:
            return None
        word, steps, m = (0, *symbols), np.arange(key[0] + 1), len(self.rows)
        whole, radius, middle = self.weights[0][steps, word].sum(), (high - low) / 2, (high + low) / 2
        point, loss, at = np.zeros(len(low)), np.zeros(len(low)), 0
        for h, basis in enumerate(self.atoms.bases):
            part, k = slice(at, at + len(basis.rows)), m + h - 1
            share, at = self.weights[h][steps, word] / whole, part.stop
            ratio, off = (middle[k], radius[k]) if h else (1.0, 0.0)
            point[part] = ratio * (basis.at[:, steps, word] @ share - middle[part] * share.sum())
            loss[part] = off * share.sum()
            if h:
                centre, radius[k] = denominator(low[k], high[k])
                point[k] = share.sum() - centre
        return np.divide(point, radius, out=np.zeros_like(point), where=radius > 0), loss

    def mixed(self, key: Key, low: Array, high: Array, at: Array) -> Array:
        """The stream behind attention of a mixture of words, at the mixture of their coordinates: each head adds up
        what its words read, and divides by the sum of their denominators."""
        m, middle = len(self.rows), (high + low) / 2
        centre, reach = denominator(low[m:], high[m:])
        shares = np.repeat([1.0, *middle[m:] * (centre + reach * at[m:])], self.sizes)
        found: Array = self.start(key) + sum(self.at) + (middle[:m] + (at * (high - low) / 2)[:m] / shares) @ self.rows
        return found

    def beside(self, key: Key, low: Array, high: Array, least: float, line: Array, row: list[int]) -> float:
        """A label's bound with multipliers of the cell's sides (Lemma V20)."""
        if not row:
            return self.own(key, low, high, least, line)
        if (whole := self.whole(key, low, high)) is None:
            return -math.inf
        pull, m = lengthened(np.array(row, dtype=np.float64), len(whole[0])), len(self.rows)
        units = self.units(*whole, np.append(pull[:m], -pull[m:]))
        pull = np.divide(pull, units, out=np.zeros_like(pull), where=units != 0)
        line = lengthened(line, len(pull))
        return self.own(key, *whole, least - float(np.abs(pull).sum()), line - pull)

    def units(self, low: Array, high: Array, pull: Array) -> Array:
        """What a certificate's multipliers of a whole cell's sides are for each unit of multipliers by which the cell
        is between -1 and 1, of these signs."""
        m, radius, by = len(self.rows), (high - low) / 2, np.full(len(low), float(BOUND))
        by[m:] /= -np.where(pull < 0, low, high)[m:]
        radius[m:] = denominator(low[m:], high[m:])[1]
        found: Array = np.divide(by, radius, out=np.zeros_like(by), where=radius > 0)
        return found

    def most(self, key: Key, h: int, values: Array) -> float:
        """The greatest average over the words of a case, by head ``h``, of ``values``, one a symbol up to the
        position."""
        return greatest(self.weights[h], values, *self.ways(key), 0.0)

    def ways(self, key: Key) -> Ways:
        """What leads to a case, for the kernels: that of the last one is known."""
        if self.led[0] != key:
            self.led = key, self.graph.led(key)
        return self.led[1]

    def quotient(self, key: Key) -> list[tuple[float, float]]:
        """Middle and half width of the quotient of the first head's denominator by that of each other head, for a case
        whose weights are ready; none at all if one is beyond what a certificate holds."""
        if self.atoms.heads > 1 and (self.quotients is None or self.quotients[0] != key):
            if (ends := self.ratios(key)) is None:
                return []
            self.quotients = (key, *ends)
        if self.quotients is None:
            return []
        return [((u - w / 2) / QUOTIENT, w / 2 / QUOTIENT) for u, w in zip(*self.quotients[1:], strict=True)]

    def ratios(self, key: Key) -> tuple[list[int], list[int]] | None:
        """Upper ends and widths of the quotients of denominators, as a certificate holds them."""
        each = ((h, self.weights[0] / other) for h, other in enumerate(self.weights[1:], 1))
        ends = [(self.most(key, h, by), -self.most(key, h, -by)) for h, by in each]
        if not all(1 / LARGEST < low <= high < LARGEST for high, low in ends):
            return None
        upper = [math.floor(high * (1 + 1e-11) * QUOTIENT) + 1 for high, _ in ends]
        return upper, [u + 1 - math.ceil(low * (1 - 1e-11) * QUOTIENT) for u, (_, low) in zip(upper, ends, strict=True)]

    def word(self, key: Key, direction: Array, h: int = 0) -> tuple[tuple[int, ...], Array]:
        """The word of a case that goes farthest in a direction of a head's coordinates, and its coordinates."""
        at, weights = self.atoms.bases[h].at, self.weights[h]
        values, steps = np.tensordot(direction, at, 1), np.arange(key[0] + 1)
        word = farthest(weights, values, self.ways(key), self.most(key, h, values))[2]
        share = weights[steps, (0, *word)]
        return word, at[:, steps, (0, *word)] @ share / share.sum()
