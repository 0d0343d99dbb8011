"""Wrong words: all short ones, random ones, and words that a linearised label leads to (Frank-Wolfe over words). Every
word is run by a forward pass of its own, which shares nothing with the tables of the search; a wrong prefix is
confirmed by :func:`restrict.soft.trained.model.forward` before it is told."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained, forward, forward_all
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.read_out import margin
from restrict.soft.trained.stored import Array


class Wrong(NamedTuple):
    """A prefix (indices of symbols), the label whose sign is wrong, or that is the greatest, and its logit."""

    word: tuple[int, ...]
    label: int
    logit: float


def logits(model: Trained, words: I64, last: bool = False) -> Array:
    """The logits behind every prefix: from symbols ``(words, length)`` to ``(words, length + 1, labels)``. Behind the
    empty one they are NaN where there is no start token. A reader is given each prefix as a word of its own. ``last``:
    at least the last of them."""
    tokens = np.array(model.tokens)[words]
    if model.reader is not None:
        pinned = [np.full((len(words), 1), row) for row in (model.bos, model.reader) if row is not None]
        each = (tokens[:, :j] for j in range(words.shape[1] if last else 0, words.shape[1] + 1))
        runs = (np.concatenate([*pinned[:-1], part, pinned[-1]], axis=1) for part in each)
        return np.concatenate([forward_all(model, run, last=True) for run in runs], axis=1)
    if model.bos is not None:
        return forward_all(model, np.concatenate([np.full((len(words), 1), model.bos), tokens], axis=1), last)
    nothing = np.full((len(words), 1, len(model.labels)), np.nan)
    return np.concatenate([nothing, forward_all(model, tokens, last)], axis=1) if tokens.size else nothing


def wrong_of(model: Trained, graph: Graph, word: tuple[int, ...]) -> Wrong | None:
    """The label farthest on the wrong side behind a word (a path of the graph) by the forward pass, or ``None``."""
    found = forward(model, model.rows([model.symbols[s] for s in word]))[-1]
    said, state = found[list(graph.labels)], graph.state(word)
    margins = graph.asked[state].rows(said) @ said
    if not len(margins) or margins.min() > 0:
        return None
    worst = graph.about(state, int(margins.argmin()))
    return Wrong(word, worst, float(found[worst]))


def behind(model: Trained, graph: Graph, word: tuple[int, ...]) -> float:
    """The least of what is asked of the logits behind a word (a path of the graph); not positive where the model, of
    one layer, is wrong. Linear in the word, unlike :func:`wrong_of`."""
    said = logits(model, np.array([word], dtype=np.int64), last=True)[0, -1, list(graph.labels)]
    return float(margin(said, graph.asked[graph.state(word)].signs, graph.greatest))


class Hunt:
    """The search for a shortest wrong prefix of a graph's words of at most ``n`` symbols; ``seed``: of random words."""

    def __init__(self, model: Trained, graph: Graph, n: int, seed: int = 0) -> None:
        self.model, self.graph, self.n = model, graph, n
        self.alive = graph.prefixes(n)
        self.rng = np.random.default_rng(seed)
        self.signs = np.zeros((len(graph.delta), len(model.labels)))
        self.signs[:, list(graph.labels)] = [asked.signs for asked in graph.asked]

    def cost(self, length: int) -> int:
        """What a forward pass of one word takes, in scores."""
        return int((length + 1) * (length + 1 + self.model.d**2 // OPTIONS.maps))

    def batch(self, length: int) -> int:
        """How many words of a length are run at once."""
        return max(1, OPTIONS.batch // ((length + 1) * max(length + 1, 4 * self.model.d)))

    def short(self, late: Callable[[], bool] | None = None) -> tuple[Wrong | None, int]:
        """A shortest wrong prefix or ``None``, and the greatest length of which all prefixes were tried: length by
        length, while there are at most ``short_words`` and their scores at most ``each``; where ``late`` says whether
        time is over, up to ``many_words``, as long as that is not too dear."""
        words: list[tuple[int, ...]] = [()]
        states, length, work, dear = [0], 0, 0, 0
        each = 12 * self.model.d**2 * len(self.model.layers)
        while True:
            found = self.first(words, states, length)
            work += len(words) * self.cost(length)
            if found is not None or length == self.n or (work > OPTIONS.each and late is None):
                return found, length
            longer, ends = [], []
            for word, q in zip(words, states, strict=True):
                for s, t in enumerate(self.graph.delta[q]):
                    if t in self.alive[length + 1]:
                        longer.append((*word, s))
                        ends.append(t)
            dear += len(longer) * (length + 2) * (each + length)
            more = len(longer) <= OPTIONS.many_words and dear <= OPTIONS.dear
            few = len(longer) <= OPTIONS.short_words or (late is not None and more and not late())
            if not few or not longer:
                return None, length if longer else self.n
            words, states, length = longer, ends, length + 1

    def first(self, words: list[tuple[int, ...]], states: list[int], length: int) -> Wrong | None:
        """The first of some prefixes of one length that is wrong."""
        return next(self.among(words, states, length), None)

    def among(self, words: list[tuple[int, ...]], states: list[int], length: int) -> Iterator[Wrong]:
        """Those of some prefixes of one length that are wrong."""
        table = np.array(words, dtype=np.int64).reshape(len(words), length)
        size = self.batch(length)
        for at in range(0, len(words), size):
            last = logits(self.model, table[at : at + size], last=True)[:, -1]
            signs = self.signs[states[at : at + size]]
            for k in np.flatnonzero(margin(last, signs, self.graph.greatest) <= 0):
                found = wrong_of(self.model, self.graph, words[at + int(k)])
                if found is not None:
                    yield found

    def near(self, word: tuple[int, ...]) -> Iterator[Wrong]:
        """The wrong prefixes that differ from a prefix in one symbol, or by two that change places, and those that are
        as near to them, while their scores are at most ``each`` together."""
        length, symbols, todo, seen = len(word), len(self.graph.delta[0]), [word], {word}
        for tried, middle in enumerate(todo, 1):
            if tried * length * (symbols + length) * self.cost(length) > OPTIONS.each:
                return
            changed = {(*middle[:j], s, *middle[j + 1 :]): None for j in range(length) for s in range(symbols)}
            for j, k in itertools.combinations(range(length), 2):
                changed[*middle[:j], middle[k], *middle[j + 1 : k], middle[j], *middle[k + 1 :]] = None
            new = [other for other in changed if other not in seen and self.lives(other)]
            seen.update(new)
            for found in self.among(new, [self.graph.state(other) for other in new], length) if new else ():
                todo.append(found.word)
                yield found

    def lives(self, word: tuple[int, ...]) -> bool:
        """Whether symbols are a prefix of the graph's words."""
        q = 0
        for s in word:
            if (q := self.graph.delta[q][s]) < 0:
                return False
        return q in self.alive[len(word)]

    def walks(self) -> Iterator[tuple[I64, I64]]:
        """Batches of random words of length ``n`` with their states; steady, lazy and restless ones."""
        count = max(1, min(OPTIONS.random, OPTIONS.random_work // self.cost(self.n)))
        size = min(count, self.batch(self.n))
        for _ in range(0, count, size):
            yield self.walk(self.n, size)

    def walk(self, n: int, size: int, near: I64 | None = None) -> tuple[I64, I64]:
        """``size`` random words of ``n`` symbols (at most the hunt's), ``(size, n)``, with their states, ``(size, n +
        1)``, -1 where nothing goes on. ``near``: words followed but at some places."""
        delta = np.array(self.graph.delta, dtype=np.int64)
        words, states = np.zeros((size, n), dtype=np.int64), np.zeros((size, n + 1), dtype=np.int64)
        bias = self.rng.gamma(0.5, size=(size, delta.shape[1])) + 1e-3
        stick, every = self.rng.random(size) ** 2, np.arange(size)
        change = self.rng.random((size, n)) < self.rng.choice(OPTIONS.changes, (size, 1)) / max(n, 1)
        for j in range(n):
            good = np.array([[t in self.alive[j + 1] for t in row] for row in delta])[states[:, j]]
            share = bias * good
            if j:
                keep = np.zeros_like(share)
                keep[every, words[:, j - 1]] = 1
                whole = share.sum(1, keepdims=True)
                share = (1 - stick[:, None]) * share / np.where(whole > 0, whole, 1) + stick[:, None] * keep * good
            dead = ~good.any(1)
            share[dead] = 1.0
            share = share + 1e-9 * good
            if near is not None:
                kept = ~change[:, j] & good[every, near[:, j]]
                share[kept] = np.eye(share.shape[1])[near[kept, j]]
            pick = (share.cumsum(1) > self.rng.random((size, 1)) * share.sum(1, keepdims=True)).argmax(1)
            words[:, j] = pick
            states[:, j + 1] = np.where(dead | (states[:, j] < 0), -1, delta[states[:, j], pick])
        return words, states

    def margins(self, words: I64, states: I64) -> Array:
        """The least of what is asked of the logits behind every prefix of words of one length, in the shape of
        ``states`` (-1: not in the claim); infinite where nothing is asked."""
        signs = np.where(states[..., None] >= 0, self.signs[np.maximum(states, 0)], 0)
        found = margin(logits(self.model, words), signs, self.graph.greatest)
        found[:, : self.model.first] = np.inf
        return found

    def random(self) -> Wrong | None:
        """A shortest wrong prefix of some random words, or ``None``."""
        best: Wrong | None = None
        for words, states in self.walks():
            best = self.shorter(words, states, self.margins(words, states), best)
        return best

    def shorter(self, words: I64, states: I64, margins: Array, best: Wrong | None) -> Wrong | None:
        """The shortest wrong prefix of some words, if it is shorter than one that is known."""
        for b, j in sorted(np.argwhere(margins <= 0).tolist(), key=lambda pair: pair[1]):
            if best is not None and j >= len(best.word):
                break
            if int(states[b, j]) in self.alive[j]:
                best = wrong_of(self.model, self.graph, tuple(words[b, :j].tolist())) or best
        return best

    def climbed(self, best: Wrong | None, late: Callable[[], bool]) -> Wrong | None:
        """The shortest wrong prefix known, after ``best``: random words, then the worst at each length, changed in a
        few places again and again. What is wrong shortens the words that follow; ``climb`` scores in vain, or ``late``,
        end."""
        n, work, worst, elite = self.n, 0, np.full(self.n + 1, np.inf), np.zeros((self.n + 1, self.n), dtype=np.int64)
        while work < OPTIONS.climb and not late():
            if best is not None and n >= len(best.word):
                n, work = len(best.word) - 1, 0
            size = max(1, min(OPTIONS.random, OPTIONS.batch // (n + 1) ** 2))
            work += size * (n + 1) ** 2 + (size * OPTIONS.random_work >> 16)
            lengths = np.flatnonzero(np.isfinite(worst[: n + 1]))
            near = None
            if len(lengths) and self.rng.random() < 0.8:
                near = elite[self.rng.choice(lengths[np.argsort(worst[lengths])[: 1 + len(lengths) // 2]], size), :n]
            words, states = self.walk(n, size, near)
            margins = self.margins(words, states)
            best = self.shorter(words, states, margins, best)
            rows = margins.argmin(0)
            for j in np.flatnonzero(margins.min(0) < worst[: n + 1]):
                worst[j], elite[j, :n] = margins[rows[j], j], words[rows[j]]
        return best
