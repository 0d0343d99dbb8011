"""Pairs of words that differ in one place and change a logit much: steepest ascent, one symbol at a time.

A step changes one symbol of both words, or which exchange makes the second of the first, whichever moves the logit
most; every such step is tried. What attention returns is a ratio of two sums over the places, so a step costs one term
of each. Starts are words of few blocks beside random ones: the logits move most where nearly all symbols agree or where
they change once. The best pairs are changed in a few places and climb again. Nothing here is trusted: a pair that is
found is evaluated by the model's own forward pass."""

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.influence.exchanges import Read, Sample
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import Changes, WordPair
from restrict.soft.influence.polygons import Flags
from restrict.soft.influence.words import beside
from restrict.soft.models.model import Floats


class Climbers(NamedTuple):
    """Pairs of words, what each is to move, and by how much it does: shapes ``(k, n)``, ``(k, n)``, ``(k,)`` twice."""

    first: I64
    second: I64
    measured: I64
    moved: Floats

    def chosen(self, which: I64) -> "Climbers":
        """Some of them."""
        return Climbers(self.first[which], self.second[which], self.measured[which], self.moved[which])

    def best(self, count: int) -> "Climbers":
        """Of each measured number the ``count`` pairs that move it most, the best first."""
        order = np.lexsort((-self.moved, self.measured))
        rank = np.arange(len(order)) - np.searchsorted(self.measured[order], self.measured[order])
        return self.chosen(order[rank < count])


def _joined(parts: list[Climbers]) -> Climbers:
    return Climbers(*(np.concatenate(part) for part in zip(*parts, strict=True)))


class Ascent:
    """The ascent for one symbol at the output. ``read``: numbers behind streams, ``(streams, count)``."""

    def __init__(self, changes: Changes, read: Read, count: int, rng: np.random.Generator) -> None:
        self.changes, self.read, self.count, self.rng = changes, read, count, rng
        self.sample = Sample(changes, rng)
        free, symbols = self.sample.free, changes.words.symbols
        self.place, self.symbol = np.repeat(free, symbols), np.tile(np.arange(symbols), len(free))
        self.exchanged: Flags = np.isin(self.place, [t for t, *_ in changes.exchanges])

    def starts(self) -> I64:
        """Words to begin with: random ones, and some of at most six blocks."""
        count, n, symbols = INFLUENCE.starts, self.changes.words.n, self.changes.words.symbols
        cuts = self.rng.random((count, 5)) * n * self.rng.choice([1, 3], (count, 1))
        cuts[:symbols] = n
        block = (np.arange(n)[None, :, None] >= cuts[:, None]).sum(2)
        drawn = self.rng.integers(0, symbols, (count, 6))
        drawn[:symbols, 0] = np.arange(symbols)[:count]
        words: I64 = np.take_along_axis(drawn, block, 1)
        for j, symbol in self.sample.fixed.items():
            words[:, j] = symbol
        return np.concatenate([self.sample.random(count), words[self.sample.inside(words)]])

    def behind(self, words: I64) -> tuple[Floats, Floats]:
        """The numbers behind each word, and behind each with one place changed: shapes ``(words, count)`` and ``(words,
        changes, count)``; no number where that is no word."""
        at, t, s = np.arange(words.shape[1]), self.place, self.symbol
        base = np.repeat(self.changes.start.centre[None], len(words), axis=0)
        after = np.repeat(base[:, None], len(t), axis=1)
        with np.errstate(all="ignore"):  # heads that see nothing; this is a search
            for head in self.changes.heads:
                e, terms = head.e[at, words], head.e[..., None] * head.v
                own = terms[at, words]
                base += own.sum(1) / e.sum(1)[:, None]
                # Without a difference, in which light symbols would drown beside a heavy one that is exchanged.
                rest, weight = beside(own.swapaxes(0, 1))[t], beside(e.T)[t]
                after += ((rest + terms[t, s][:, None]) / (weight + head.e[t, s][:, None])[..., None]).swapaxes(0, 1)
            found, changed = self.read(base), self.read(after.reshape(-1, base.shape[1]))
        changed = np.where(np.isfinite(changed), changed, np.nan).reshape(len(words), len(t), -1)
        changed[~self._words(words)] = np.nan
        return found, changed

    def _words(self, words: I64) -> Flags:
        """Which changes of one place give words."""
        if self.changes.words.every:
            return np.ones((len(words), len(self.place)), dtype=bool)
        delta, n = self.sample.delta, words.shape[1]
        state = np.zeros((n + 1, len(words)), dtype=np.int64)
        alive: Flags = np.ones((n + 1, len(words), len(delta) + 1), dtype=bool)  # the last state: -1
        alive[..., -1] = False
        read = set(self.sample.read)
        for j in range(n):
            state[j + 1] = delta[state[j], words[:, j]] if j in read else state[j]
        for j in reversed(range(n)):
            onto = delta[:, words[:, j]].T if j in read else np.tile(np.arange(len(delta)), (len(words), 1))
            alive[j, :, :-1] = np.take_along_axis(alive[j + 1], onto, 1)
        onto = delta[state[self.place].T, self.symbol]
        return np.take_along_axis(alive[self.place + 1].swapaxes(0, 1), onto[..., None], 2)[..., 0]

    def exchanged_once(self, words: I64) -> Climbers:
        """For each number the best exchange of each word."""
        found, changed = self.behind(words)
        moved = np.nan_to_num(np.abs(changed - found[:, None]), nan=-1.0, posinf=-1.0)
        moved[:, ~self.exchanged] = -1.0
        best = moved.argmax(1)
        which, number = np.repeat(np.arange(len(words)), self.count), np.tile(np.arange(self.count), len(words))
        best = best.reshape(-1)
        second = words[which].copy()
        second[np.arange(len(second)), self.place[best]] = self.symbol[best]
        made = Climbers(words[which], second, number, moved[which, best, number])
        return made.chosen(np.flatnonzero(made.moved > 0))

    def climbed(self, pairs: Climbers) -> Climbers:
        """The pairs, stepped up until no step helps."""
        done, going = [], pairs
        while len(going.moved):
            stepped = self._step(going)
            up = stepped.moved > going.moved * (1 + 1e-9)
            done.append(going.chosen(np.flatnonzero(~up)))
            going = stepped.chosen(np.flatnonzero(up))
        return _joined([*done, going])

    def _step(self, pairs: Climbers) -> Climbers:
        """Each pair after its best step: both words changed, or one of them, beside where they differ or there."""
        k = np.arange(len(pairs.moved))
        (at, one), (base, other) = (
            (found[k, pairs.measured], changed[k, :, pairs.measured])
            for found, changed in map(self.behind, (pairs.first, pairs.second))
        )
        differs = (pairs.first != pairs.second).argmax(1)[:, None] == self.place
        beside, there = ~differs, differs & self.exchanged
        choices = (
            (np.abs(one - other), beside), (np.abs(one - at[:, None]), self.exchanged[None]),
            (np.abs(other - base[:, None]), self.exchanged[None]), (np.abs(one - base[:, None]), there),
        )  # fmt: skip
        moved = np.concatenate(
            [np.where(may, np.nan_to_num(gap, nan=-1.0, posinf=-1.0), -1.0) for gap, may in choices], 1
        )
        best = moved.argmax(1)
        kind, change = np.divmod(best, len(self.place))
        words = [
            np.where((kind == 2)[:, None], pairs.second, pairs.first),
            np.where((kind == 1)[:, None], pairs.first, pairs.second),
        ]
        for word, changed in zip(words, (kind != 1, kind <= 1), strict=True):
            word[k[changed], self.place[change[changed]]] = self.symbol[change[changed]]
        return Climbers(words[0], words[1], pairs.measured, moved[k, best])

    def pairs(self) -> list[WordPair]:
        """For each number the best pair that was found."""
        if not len(self.place):
            return []
        found = self.climbed(self.exchanged_once(self.starts()).best(INFLUENCE.climb))
        for _ in range(INFLUENCE.again):
            more = self.sample.changed(found.best(1).first)
            if len(more):
                found = _joined([found, self.climbed(self.exchanged_once(more).best(INFLUENCE.climb))])
        best = found.best(1)
        return [(a, b) for a, b in zip(best.first.tolist(), best.second.tolist(), strict=True)]
