"""How far one symbol moves a logit, by all words where they are few: no more is lost than rounding. The logits of every
word with one symbol at the output are enclosed once, in a table: its words are numbered as digits, one for each free
place. An exchange at a place compares the entries along its axis, so the largest change is the largest difference along
an axis. Where all free places have the same weights and values (a model without positions), the order of a word's
symbols does not matter: then the table has one line for each way to fill the places beside one exchanged place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.influence.exchanges import Sample
from restrict.soft.influence.pairs import Changes, Head, Pair
from restrict.soft.influence.polygons import Flags
from restrict.soft.influence.slopes import ROUND, Form, tail
from restrict.soft.models.model import Floats

MOST, BATCH = 1 << 16, 1 << 11
"""Words of one symbol at the output whose logits are computed at most, and at a time."""
ALIKE = 1e-12
"""How far weights (as a share of them) and values may be apart to be called the same."""


class Table:
    """Every word with one symbol at the output, or one of each order, and which of them an exchange compares."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.sample = Sample(changes, np.random.default_rng(0))
        self.free = self.sample.free.tolist()
        self.symbols = changes.words.symbols
        self.alike = changes.words.every and bool(self.free) and all(_alike(h, self.free) for h in changes.heads)

    @property
    def count(self) -> int:
        """How many words it has."""
        if not self.alike:
            return int(self.symbols ** len(self.free))
        return self.symbols * math.comb(len(self.free) + self.symbols - 2, self.symbols - 1)

    @property
    def words(self) -> I64:
        """The words, as columns: shape (count, n)."""
        words: I64 = np.zeros((self.count, self.changes.words.n), dtype=np.int64)
        for j, symbol in self.sample.fixed.items():
            words[:, j] = symbol
        if not self.alike:
            words[:, self.free] = np.indices([self.symbols] * len(self.free)).reshape(len(self.free), self.count).T
            return words
        place = self.changes.exchanges[0][0]
        rests = itertools.combinations_with_replacement(range(self.symbols), len(self.free) - 1)
        filled = np.array(list(rests), dtype=np.int64).reshape(self.count // self.symbols, len(self.free) - 1)
        words[:, [j for j in self.free if j != place]] = np.repeat(filled, self.symbols, axis=0)
        words[:, place] = np.tile(np.arange(self.symbols), len(filled))
        return words

    def groups(self) -> Iterator[I64]:
        """Numbers of words that differ in one place, a line for each rest: shape (rests, symbols), by place."""
        number: I64 = np.arange(self.count)
        if self.alike:
            yield number.reshape(-1, self.symbols)
            return
        number = number.reshape([self.symbols] * len(self.free))
        for t in sorted({t for t, *_ in self.changes.exchanges}):
            yield number.swapaxes(self.free.index(t), -1).reshape(-1, self.symbols)

    def logits(self, words: I64, rows: Floats) -> tuple[Floats, Floats]:
        """The least and the greatest value of each row behind each word: shape (words, rows)."""
        parts, start = self.changes.parts, self.changes.start
        centre, size, off = start.centre + self.changes.read(words), np.abs(start.centre), start.box
        for head in self.changes.heads:
            off, size = off + _slack(head, ALIKE if self.alike else 0.0), size + np.abs(head.v).max((0, 1))
        form = Form(centre, np.zeros((*centre.shape, 0)), np.broadcast_to(off, centre.shape)).rounded(size)
        behind = tail(parts.layers[0], parts.model.final_norm, form)
        values = [behind.value(row) for row in rows]
        low, high = (np.concatenate([v.c + side * v.reach for v in values], axis=1) for side in (-1, 1))
        lost = ~(np.isfinite(low) & np.isfinite(high))
        return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)


def _alike(head: Head, free: list[int]) -> bool:
    """Whether the weights and values of all free places are the same."""
    e, v = head.e[free], head.v[free]
    return bool((np.abs(e - e[0]) <= ALIKE * e[0]).all() and (np.abs(v - v[0]) <= ALIKE).all())


def _slack(head: Head, alike: float) -> Floats:
    """How far each entry of a word's average is off at most, for what the weights and the values are off."""
    seen = head.v[head.e > 0]
    if not len(seen):
        return np.full(head.v.shape[-1], head.off)
    spread = seen.max(0) - seen.min(0)
    rounding = 2 * ROUND * (spread + np.abs(seen).max(0))
    found: Floats = (head.eta + 4 * alike) * spread + head.off + 2 * alike + rounding
    return found


def few(changes: Changes) -> bool:
    """Whether the words, or their symbols without order, can all be tried."""
    table = Table(changes)
    return table.count <= MOST and all(t in table.free for t, *_ in changes.exchanges)


def every_word(changes: Changes, rows: Floats) -> tuple[float, list[Pair]]:
    """Not less than the greatest change of any row's value by an exchange, and a pair of words for each row. Cost: the
    words of :class:`Table`, forwards once each."""
    table = Table(changes)
    words = table.words
    inside = np.flatnonzero(table.sample.inside(words))
    low, high = np.full((len(words), len(rows)), np.inf), np.full((len(words), len(rows)), -np.inf)
    for some in np.array_split(inside, -(-len(inside) // BATCH) or 1):
        low[some], high[some] = table.logits(words[some], rows)
    there: Flags = np.zeros(len(words), dtype=bool)
    there[inside] = True
    bound, best = 0.0, [(0.0, [0, 0])] * len(rows)
    for group in table.groups():
        group = group[there[group].sum(1) > 1]
        for r in range(len(rows) if len(group) else 0):
            least, most = low[group, r], high[group, r]
            gap = most.max(1) - least.min(1)
            k = int(gap.argmax())
            bound = max(bound, float(gap[k]))
            if gap[k] > best[r][0]:
                best[r] = float(gap[k]), [int(group[k, least[k].argmin()]), int(group[k, most[k].argmax()])]
    pairs = [(words[one].tolist(), words[other].tolist()) for _, (one, other) in best if one != other]
    return bound * (1 + ROUND), pairs
