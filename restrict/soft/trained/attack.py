"""Words on which a label is likely to be wrong: Frank-Wolfe over words (docs/soft-verdicts.md, "The search"). A label
is linearised at a word's output, and so is the ratio of every head; the word that goes farthest down is one longest
path, whatever the number of heads. Gradients are taken backwards, so a step costs two passes of the block."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from restrict.soft.models.evaluate import activated, steepness
from restrict.soft.trained.atoms import Atoms
from restrict.soft.trained.graph import Graph, farthest
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.read_out import Asked
from restrict.soft.trained.stored import Array

Key = tuple[int, int, int]
Word = tuple[int, ...]


class Attack:
    """Attacks on the cases of a graph."""

    def __init__(self, model: Trained, graph: Graph, atoms: Atoms, seed: int = 0) -> None:
        self.model, self.graph, self.atoms = model, graph, atoms
        self.rng, labels = np.random.default_rng(seed), list(graph.labels)
        self.rows, self.beta, self.constants = model.reading[labels], model.beta[labels], model.constants[labels]
        self.mean = sum((basis.middle for basis in atoms.bases), np.zeros(model.d))

    def label(self, y: Array, label: int, asked: Asked | None = None) -> tuple[float, Array]:
        """What is asked of a label, by default its logit, times the last deviation where there is a last LayerNorm, and
        the gradient of this by the stream behind attention. ``label``: one of the graph's."""
        layer = self.model.layers[0]
        inner, x, deviation, last, s, said = self.forward(y)
        slope, place = steepness(self.model.kind, inner), self.graph.labels.index(label)
        line = np.eye(len(said))[place] if asked is None else asked.rows(said)[asked.places == place][0]
        behind = line @ self.rows + (line @ self.beta) * last / (len(last) * s)
        back = layer.inner.weight @ (slope * (layer.outer.weight @ behind))
        if layer.norm2 is None:
            return float(line @ said), behind + back
        if self.model.post:
            back, behind = back + behind, 0 * behind
        back = back * layer.norm2.weight
        gradient = behind + (back - back.sum() / len(x) - x * float(back @ x) / len(x)) / deviation
        return float(line @ said), gradient

    def forward(self, y: Array) -> tuple[Array, Array, float, Array, float, Array]:
        """From the stream behind attention what neurons read, the stream divided by its deviation, the deviation, the
        centred stream behind the network, its deviation, and each label's logit times that."""
        layer, epsilon, d = self.model.layers[0], float(self.model.epsilon), len(y)
        gap = y - y.sum() / d
        deviation = math.sqrt(float(gap @ gap) / d + epsilon)
        x = gap / deviation
        normal = y if layer.norm2 is None else x * layer.norm2.weight + layer.norm2.bias
        inner = normal @ layer.inner.weight + layer.inner.bias
        z = (normal if self.model.post else y) + activated(self.model.kind, inner) @ layer.outer.weight
        z = z + layer.outer.bias
        last = z - z.sum() / d
        s = math.sqrt(float(last @ last) / d + epsilon)
        return inner, x, deviation, last, s, self.rows @ z + self.beta * s + self.constants

    def output(self, word: Word, weights: list[Array]) -> tuple[list[Array], list[float]]:
        """What each head returns behind a word, and its denominator."""
        at, symbols = np.arange(len(word) + 1), np.array((0, *word))
        outs, sums = [], []
        for h, table in enumerate(weights):
            share = table[at, symbols]
            sums.append(float(share.sum()))
            outs.append(share @ self.atoms.v[h][at, symbols] / sums[-1])
        return outs, sums

    def longest(self, key: Key, lengths: Array) -> Word:
        """The word of a case whose sum of ``lengths[j, s]`` is greatest."""
        return farthest(np.ones_like(lengths), lengths, (*self.graph.edges, np.array(key, dtype=np.int64)), 0.0)[2]

    def words(self, key: Key, label: int, weights: list[Array] | None = None) -> Iterator[tuple[float, Word]]:
        """Words of a case, each with the value of what is asked of the label. ``key``: the case, of position 1 at
        least. ``label``: a row of the unembedding, of which something is asked there. ``weights``: of each head, if
        they are known. Yields words in the order in which they are found. Cost: 30 longest paths at most."""
        i, a, q = key
        weights = weights or [self.atoms.weights(h, i, a) for h in range(self.atoms.heads)]
        asked = self.graph.asked[q]
        start, seen = self.atoms.x[i, a] + self.atoms.bias, set[Word]()
        for number in range(OPTIONS.starts + 1):
            if number:
                word = self.longest(key, self.rng.normal(size=weights[0].shape))
            else:
                gradient = -self.label(start + self.mean, label, asked)[1]
                parts = [w * (self.atoms.v[h, : i + 1] @ gradient) for h, w in enumerate(weights)]
                word = self.longest(key, np.sum(parts, axis=0))
            for _ in range(OPTIONS.steps):
                if word in seen:
                    break
                seen.add(word)
                outs, sums = self.output(word, weights)
                value, gradient = self.label(start + sum(outs), label, asked)
                yield value, word
                parts = [
                    -w * ((self.atoms.v[h, : i + 1] - outs[h]) @ gradient) / sums[h] for h, w in enumerate(weights)
                ]
                word = self.longest(key, np.sum(parts, axis=0))

    def worst(self, key: Key) -> list[int]:
        """The labels that have the least margin at the mean of all values."""
        y = self.atoms.x[key[0], key[1]] + self.atoms.bias + self.mean
        asked, said = self.graph.asked[key[2]], self.forward(y)[-1]
        order = np.argsort(asked.rows(said) @ said, kind="stable")[: OPTIONS.worst]
        return [self.graph.labels[p] for p in asked.places[order]]

    def at(self, cases: list[Key]) -> Word | None:
        """A word that is wrong in one of some cases, by this class's own pass. Gives a word, or ``None``."""
        for key in cases:
            if key[0] == 0:
                continue
            weights = [self.atoms.weights(h, key[0], key[1]) for h in range(self.atoms.heads)]
            for label in self.worst(key):
                for value, word in self.words(key, label, weights):
                    if value <= 0:
                        return word
        return None
