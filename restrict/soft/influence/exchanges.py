"""Pairs of words that differ in one place and change a logit much: local search, all exchanges of many words at once.
What attention returns is a ratio of two sums over the places, so an exchange costs one term of each. Nothing here is
trusted: the pair that is found is evaluated by the model's own forward pass."""

from collections.abc import Callable

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import Changes, WordPair
from restrict.soft.models import evaluate
from restrict.soft.models.model import Floats, SoftModel


class Sample:
    """Words with one symbol at the output."""

    def __init__(self, changes: Changes, rng: np.random.Generator) -> None:
        self.changes, self.rng, words = changes, rng, changes.words
        self.delta: I64 = np.array(words.delta, dtype=np.int64)
        self.fixed = dict.fromkeys(words.pinned, 0) | ({} if words.own in words.pinned else {words.own: words.symbol})
        self.read = [j for j in range(words.n) if j not in words.pinned]
        self.free: I64 = np.array([j for j in range(words.n) if j not in self.fixed], dtype=np.int64)

    def inside(self, words: I64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which words have a run."""
        state = np.zeros(len(words), dtype=np.int64)
        if self.changes.words.every:
            return np.ones(len(words), dtype=bool)
        for j in self.read:
            state = np.where(state >= 0, self.delta[state, words[:, j]], -1)
        return np.asarray(state >= 0)

    def random(self, count: int) -> I64:
        """Random words of all biases, in two parts: walks of the automaton, of which some reach the output's symbol."""
        words, state = np.zeros((count, self.changes.words.n), dtype=np.int64), np.zeros(count, dtype=np.int64)
        size = self.changes.words.symbols
        shares = self.rng.dirichlet(np.full(size, 0.3), (2, count))
        cut = self.rng.integers(0, self.changes.words.n, count)
        for j in self.read:
            chance = (np.where((j < cut)[:, None], shares[0], shares[1]) + 1e-9) * (self.delta[state] >= 0)
            symbols = (self.rng.random(count)[:, None] * chance.sum(1)[:, None] > chance.cumsum(1)).sum(1)
            words[:, j] = self.fixed.get(j, np.minimum(symbols, size - 1))
            state = np.where(state >= 0, self.delta[state, words[:, j]], -1)
            state = np.maximum(state, 0)
        return words[self.inside(words)]

    def changed(self, words: I64) -> I64:
        """Each word with a few places changed, where that is a word."""
        if not len(words) or not len(self.free):
            return words[:0]
        found = np.repeat(words, INFLUENCE.mutants, axis=0)
        count = self.rng.integers(1, 4, len(found))
        for k in range(3):
            places = self.rng.choice(self.free, len(found))
            symbols = self.rng.integers(0, self.changes.words.symbols, len(found))
            rows = np.flatnonzero(count > k)
            found[rows, places[rows]] = symbols[rows]
        return found[self.inside(found)]


def spread_of(changes: Changes) -> Floats:
    """How attention's results at the output are spread, over random words: shape ``(d, d)``, not more than a hint.
    Where they are few or alike, the values' own spread decides."""
    words = Sample(changes, np.random.default_rng(0)).random(INFLUENCE.words)
    found: Floats = 1e-9 * changes.spread
    if len(words):
        results = changes.read(words)
        results -= results.mean(0)
        found = found + results.T @ results
    return found


Measure = Callable[[Floats, Floats, I64], Floats]
"""From the streams behind exchanges, those behind words, and which word each exchange is of: how far each exchange
moves what is measured, shape ``(exchanges, measured)``."""


Read = Callable[[Floats], Floats]
"""Numbers behind streams at the output: shape ``(streams, numbers)``."""


def logits_behind(model: SoftModel, rows: Floats) -> Read:
    """The logits, or differences of two, but for their biases."""

    def read(streams: Floats) -> Floats:
        found = evaluate.normalised(model.final_norm, evaluate.behind_attention(model.layers[0], streams))
        return np.asarray(found @ rows.T)

    return read


def of_attention(after: Floats, base: Floats, which: I64) -> Floats:
    """How far what attention adds moves, as a Euclidean norm."""
    return np.asarray(np.linalg.norm(after - base[which], axis=1, keepdims=True))


class Tried:
    """How far exchanges move what is measured, from many words at once; ``count``: how many numbers that are."""

    def __init__(self, changes: Changes, measure: Measure, count: int, rng: np.random.Generator) -> None:
        self.changes, self.measure, self.count, self.rng = changes, measure, count, rng
        self.sample = Sample(changes, rng)
        self.table: I64 = np.array(changes.exchanges, dtype=np.int64)
        self.kinds: dict[tuple[int, int], I64] = {}
        for t, s in {(t, s) for t, s, _ in changes.exchanges}:
            self.kinds[t, s] = self.table[(self.table[:, 0] == t) & (self.table[:, 1] == s)]

    def options(self, word: list[int]) -> I64:
        """The exchanges of a word's symbols: place, symbol, other symbol."""
        found = [self.kinds[t, word[t]] for t in self.sample.free.tolist() if (t, word[t]) in self.kinds]
        return np.concatenate([self.table[:0], *found])

    def moved(self, words: I64) -> tuple[Floats, I64]:
        """For each word and measure the largest change by an exchange, and that exchange: ``(words, measured)``."""
        options = [self.options(word) for word in words.tolist()]
        options = [
            o if len(o) <= INFLUENCE.exchanges else o[self.rng.choice(len(o), INFLUENCE.exchanges, replace=False)]
            for o in options
        ]
        which = np.repeat(np.arange(len(words)), [len(o) for o in options])
        t, s, o = np.concatenate(options).T
        if not self.changes.words.every:
            other = words[which]
            other[np.arange(len(which)), t] = o
            kept = self.sample.inside(other)
            which, t, s, o = which[kept], t[kept], s[kept], o[kept]
        at = np.arange(words.shape[1])
        base = np.repeat(self.changes.start.centre[None], len(words), axis=0)
        after = base[which]
        for head in self.changes.heads:
            e = head.e[at, words]
            top, total = np.einsum("wj,wjd->wd", e, head.v[at, words]), e.sum(1)
            base += top / total[:, None]
            gone, come = head.e[t, s], head.e[t, o]
            rest = top[which] - gone[:, None] * head.v[t, s] + come[:, None] * head.v[t, o]
            with np.errstate(all="ignore"):  # where the rest weighs nothing, floats are lost; this is a search
                after += rest / (total[which] - gone + come)[:, None]
        with np.errstate(all="ignore"):
            change = self.measure(after, base, which)
        best, chosen = np.zeros((len(words), self.count)), np.zeros((len(words), self.count, 2), dtype=np.int64)
        for k in range(len(words)):
            mine = np.flatnonzero(which == k)
            if len(mine):
                first = mine[change[mine].argmax(0)]
                best[k], chosen[k] = change[first, np.arange(self.count)], np.stack([t[first], o[first]], axis=1)
        return best, chosen

    def pairs(self, most: int = 1) -> list[WordPair]:
        """For each measure the best pairs that were found, at most ``INFLUENCE.kept``."""
        words = self.sample.random(INFLUENCE.words)
        top: list[list[tuple[float, list[int], tuple[int, int]]]] = [[] for _ in range(self.count)]
        for _ in range(INFLUENCE.rounds):
            if len(words):
                best, chosen = self.moved(words)
                for r, kept in enumerate(top):
                    for k in np.argsort(-best[:, r], kind="stable")[: INFLUENCE.kept].tolist():
                        t, o = chosen[k, r].tolist()
                        kept.append((float(best[k, r]), words[k].tolist(), (t, o)))
                    top[r] = sorted({tuple(x[1]): x for x in sorted(kept)}.values(), reverse=True)[: INFLUENCE.kept]
            words = self.sample.changed(np.array([x[1] for kept in top for x in kept], dtype=np.int64))
        return [(word, [*word[:t], o, *word[t + 1 :]])
                for kept in top for moved, word, (t, o) in kept[:most] if moved > 0]  # fmt: skip
