"""All words of a small softmax model, by brute force: what attention adds, logits, and the pairs that an exchange
makes."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.soft.bounds.parts import readout_rows
from restrict.soft.influence.pairs import Changes, WordPair
from restrict.soft.influence.words import Delta
from restrict.soft.models import evaluate
from restrict.soft.models.model import Floats, Mask, SoftModel


def masked(model: SoftModel, mask: Mask) -> SoftModel:
    """The model with another mask in every head."""
    layers = tuple(replace(la, heads=tuple(replace(h, mask=mask) for h in la.heads)) for la in model.layers)
    return replace(model, layers=layers)


def all_words(model: SoftModel, n: int) -> I64:
    """Every word with its markers."""
    slots = n - len(model.pinned(n))
    words = np.array(list(itertools.product(range(len(model.alphabet)), repeat=slots)), dtype=np.int64)
    return model.encode(words.reshape(-1, slots))


def added(model: SoftModel, words: I64) -> Floats:
    """What attention adds at the output, by the evaluator's own rules: shape (words, d)."""
    n, layer = words.shape[1], model.layers[0]
    x, out = evaluate.embedded(model, words), np.array([model.output_position(n)])
    keys = evaluate.normalised(layer.front[0], x)
    found: Floats = sum(evaluate.attended(head, keys[:, out], keys, out, n) for head in layer.heads)[:, 0]
    return found


class Words:
    """The words of a length, and those among them on which a partial automaton has a run."""

    def __init__(self, model: SoftModel, n: int, delta: Delta | None = None) -> None:
        self.model, self.delta, self.words = model, delta, all_words(model, n)
        self.pinned, self.out = model.pinned(n), model.output_position(n)
        self.inside = np.array([self.runs(word) for word in self.words.tolist()])
        self.number = {tuple(word): k for k, word in enumerate(self.words.tolist()) if self.inside[k]}

    def runs(self, word: Sequence[int]) -> bool:
        """Whether the automaton has a run."""
        state = 0
        for s in [s for j, s in enumerate(word) if j not in self.pinned and self.delta is not None]:
            state = self.delta[state][s] if self.delta is not None and state >= 0 else -1
        return state >= 0

    @cached_property
    def added(self) -> Floats:
        """What attention adds."""
        return added(self.model, self.words)

    @cached_property
    def logits(self) -> Floats:
        """What is read out."""
        values = evaluate.activations(self.model, self.words, at=np.array([self.out]))[:, 0]
        found: Floats = values @ readout_rows(self.model).T
        return found

    def of(self, changes: Changes) -> Bools:
        """The words that the changes are about: those with their symbol at the output."""
        found: Bools = self.inside & ((self.words[:, self.out] == changes.words.symbol) | (self.out in self.pinned))
        return found

    def pairs(self, changes: Changes, exchange: tuple[int, int, int]) -> I64:
        """The numbers of the words that one exchange makes of each other: shape (pairs, 2)."""
        (t, s, o), words = exchange, self.words
        first = np.flatnonzero(self.of(changes) & (words[:, t] == s)).tolist()
        others = (self.number.get((*words[k, :t].tolist(), o, *words[k, t + 1 :].tolist())) for k in first)
        pairs = [pair for pair in zip(first, others, strict=True) if pair[1] is not None]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def changed(self, values: Floats, changes: Changes, exchange: tuple[int, int, int]) -> Floats:
        """The changes of ``values`` (words, ...) by one exchange."""
        first, second = self.pairs(changes, exchange).T
        found: Floats = values[second] - values[first]
        return found

    def largest(self, values: Floats, some: Iterable[Changes], size: Callable[[Floats], Any] = np.abs) -> float:
        """The size of the largest change by an exchange."""
        found = (self.changed(values, one, x) for one in some for x in one.exchanges)
        return max((float(size(change).max(initial=0.0)) for change in found), default=0.0)


def lengths(vectors: Floats) -> Floats:
    """Euclidean lengths of rows."""
    found: Floats = np.linalg.norm(vectors, axis=1)
    return found


def evaluated(model: SoftModel, rows: Floats, pairs: list[WordPair]) -> Floats:
    """The change of each logit (or difference) between two words, by the evaluator: shape (pairs, rows)."""
    sides = np.array(pairs, dtype=np.int64).swapaxes(0, 1)
    n = sides.shape[-1]
    for j, row in model.pinned(n).items():
        sides[..., j] = row
    at = np.array([model.output_position(n)])
    first, second = (evaluate.activations(model, side, at=at)[:, 0] for side in sides)
    return np.asarray(np.abs((second - first) @ rows.T))
