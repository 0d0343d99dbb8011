"""Future-masked models, one position at a time: all words of a length at the cost of one position for each prefix.

A head that sees ``j <= i`` only makes what stands at a position a function of the prefix that ends there. So words that
share a prefix share its keys and values: a prefix is run once, and each of its continuations costs one more position
(the key-value cache of language models, for a tree of words).

Invariant: at every position the activations are those of :func:`.evaluate.activations` at the same length
``n``, up to the order of summation.
"""

import itertools
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import NotEstablished
from restrict.soft.models.evaluate import Real, fed_forward
from restrict.soft.models.model import SoftHead, SoftLayer, SoftModel


class Prefixes(NamedTuple):
    """Some prefixes of one length: for each head, in order, keys (count, length, dk) and values (count, length, dv)."""

    length: int
    keys: tuple[Real, ...]
    values: tuple[Real, ...]


class Continued(NamedTuple):
    """Each prefix with each of some symbols behind it: logits (count, symbols, rows), and the new keys and values."""

    before: Prefixes
    logits: Real
    keys: tuple[Real, ...]
    values: tuple[Real, ...]

    def chosen(self, prefix: I64, symbol: I64) -> Prefixes:
        """Some of them, as prefixes.

        Args:
            prefix: int64, shape (m,): which prefix.
            symbol: int64, shape (m,): which of the symbols.
        """
        pairs = (zip(self.before.keys, self.keys, strict=True), zip(self.before.values, self.values, strict=True))
        keys, values = (
            tuple(np.concatenate([old[prefix], new[prefix, symbol][:, None]], axis=1) for old, new in both)
            for both in pairs
        )
        return Prefixes(self.before.length + 1, keys, values)


class Decoder:
    """A future-masked model at a length.

    Args:
        model: every head sees ``j <= i`` or ``j < i``; no LayerNorm.
        n: the length, which scales and position embeddings may read.
        dtype: ``np.float64`` or ``np.float32``.

    Raises:
        NotEstablished: another kind of model.
    """

    def __init__(self, model: SoftModel, n: int, dtype: type = np.float64) -> None:
        heads = [head for layer in model.layers for head in layer.heads]
        if any(head.mask not in ("past", "strict_past") or head.score != "dot" for head in heads):
            raise NotEstablished("a head sees later positions, or its score is no dot product")
        if model.final_norm is not None or any(layer.norm != "none" for layer in model.layers):
            raise NotEstablished("the model has LayerNorm")
        self.model, self.n, self.dtype = model, model.check_length(n), dtype
        self.places = model.positions.at(n)
        self.layers = [_Together.of(layer, n, dtype) for layer in model.layers]

    def empty(self) -> Prefixes:
        """The empty prefix."""
        heads = [head for layer in self.model.layers for head in layer.heads]
        keys = tuple[Real, ...](np.zeros((1, 0, len(head.key)), dtype=self.dtype) for head in heads)
        return Prefixes(0, keys, tuple(np.zeros((1, 0, len(head.value)), dtype=self.dtype) for head in heads))

    def extend(self, before: Prefixes, symbols: I64) -> Continued:
        """Put symbols behind prefixes.

        Args:
            before: the prefixes.
            symbols: int64, shape (m,): rows of ``embed``.

        Returns:
            Every prefix with every symbol. Cost: ``m`` positions for each prefix.
        """
        here = self._embedded(before.length, symbols)
        x: Real = np.broadcast_to(here, (len(before.keys[0]) if before.keys else 1, *here.shape))
        number, keys, values = 0, list[Real](), list[Real]()
        for layer, together in zip(self.model.layers, self.layers, strict=True):
            moved, at, read = x, 0, list[Real]()
            projected = x @ together.inputs + together.biases if layer.heads else x
            for head, scale in zip(layer.heads, together.scales, strict=True):
                ends = np.cumsum([at, len(head.query), len(head.key), len(head.value)])
                q, k, v = (projected[..., a:b] for a, b in itertools.pairwise(ends))
                read.append(_read(head, scale, (q, k, v), before.keys[number], before.values[number]))
                keys.append(k)
                values.append(v)
                number, at = number + 1, ends[-1]
            if layer.heads:
                moved = np.concatenate(read, axis=-1) @ together.outputs
                moved += x
            if layer.attention_bias.any():
                moved = moved + layer.attention_bias.astype(self.dtype)
            x = moved if layer.ffn is None else moved + fed_forward(layer.ffn, moved)
        out = self.model.output
        logits = x @ out.unembed.T.astype(self.dtype) + out.bias.astype(self.dtype)
        return Continued(before, logits, tuple(keys), tuple(values))

    def _embedded(self, at: int, symbols: I64) -> Real:
        """The embeddings of symbols at a position: (m, d)."""
        tokens = self.model.embed[symbols]
        if self.places is None:
            return tokens.astype(self.dtype)
        place = np.broadcast_to(self.places[at], (len(symbols), self.places.shape[1]))
        both = tokens + place if self.model.positions.combine == "add" else np.concatenate([tokens, place], axis=1)
        return both.astype(self.dtype)


class _Together(NamedTuple):
    """All heads of a layer side by side: queries, keys and values of each in turn, then what they write."""

    inputs: Real
    biases: Real
    outputs: Real
    scales: tuple[float, ...]

    @staticmethod
    def of(layer: SoftLayer, n: int, dtype: type) -> "_Together":
        """The matrices of a layer, in the type that is computed in."""
        heads = layer.heads
        scales = tuple(dtype(head.scale.value(0, n)) for head in heads)
        if not heads:
            return _Together(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)), scales)
        inputs = np.concatenate([m for h in heads for m in (h.query, h.key, h.value)]).T
        biases = np.concatenate([b for h in heads for b in (h.query_bias, h.key_bias, h.value_bias)])
        outputs = np.concatenate([h.output for h in heads], axis=1).T
        return _Together(
            np.ascontiguousarray(inputs, dtype), biases.astype(dtype), np.ascontiguousarray(outputs, dtype), scales
        )


def _read(head: SoftHead, scale: float, own: tuple[Real, Real, Real], keys: Real, values: Real) -> Real:
    """What a head reads at the new positions, from their own query, key and value and those of the prefixes."""
    q, k, v = own
    before, itself = keys.shape[1], head.mask == "past"
    if before + itself == 0:
        return np.zeros_like(v)
    scores = np.empty((*q.shape[:2], before + itself), dtype=q.dtype)
    np.matmul(q, keys.swapaxes(1, 2), out=scores[..., :before])
    if itself:
        scores[..., -1] = (q * k).sum(axis=-1)
    scores *= scale
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    found = scores[..., :before] @ values
    if itself:
        found += scores[..., -1:] * v
    found /= scores.sum(axis=-1, keepdims=True)
    return found
