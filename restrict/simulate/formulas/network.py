"""A transformer under construction: one coordinate of the residual stream for each number, written once.

Time goes in half layers. Attention of layer ``L`` reads what is ready at time ``2L`` and writes at ``2L + 1``; the
network of that layer reads at ``2L + 1`` and writes at ``2L + 2``. The embedding is ready at time 0. So everything
is in the first layer in which its inputs are ready, equal things are written once, and all numbers are still there
after the last layer.

Invariant of the compilers: a :class:`Value` that stands for a truth value is exactly 0 or 1, in real arithmetic and in
floating point (docs/compile-soft.md), so no error is handed from one layer to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from restrict.errors import ResourceLimit
from restrict.soft.models import model as soft
from restrict.soft.models.terms import Term

MAX_LAYERS, MAX_HEADS = 256, 256


@dataclass(frozen=True)
class Value:
    """``constant`` plus weighted coordinates, ready at ``time``; the weights are small integers or halves, so exact."""

    weights: tuple[tuple[int, float], ...] = ()
    constant: float = 0.0
    time: int = 0

    def __add__(self, other: Value | float) -> Value:
        if not isinstance(other, Value):
            return Value(self.weights, self.constant + other, self.time)
        found = dict(self.weights)
        for at, weight in other.weights:
            found[at] = found.get(at, 0.0) + weight
        kept = tuple(sorted((at, weight) for at, weight in found.items() if weight))
        return Value(kept, self.constant + other.constant, max(self.time, other.time))

    def __mul__(self, factor: float) -> Value:
        return Value(tuple((at, weight * factor) for at, weight in self.weights), self.constant * factor, self.time)

    def __sub__(self, other: Value | float) -> Value:
        return self + (other * -1 if isinstance(other, Value) else -other)

    def __invert__(self) -> Value:
        """One minus this value: the negation of a truth value."""
        return self * -1 + 1.0


@dataclass(frozen=True)
class Attention:
    """A head before it is written: ``scale * sum of query_r(i) key_r(j)`` are its scores."""

    query: tuple[Value, ...]
    key: tuple[Value, ...]
    value: Value
    mask: soft.Mask
    scale: str

    @property
    def time(self) -> int:
        """When all that it reads is ready."""
        return max(v.time for v in (*self.query, *self.key, self.value))


@dataclass
class _Layer:
    heads: list[tuple[Attention, int]] = field(default_factory=list)
    units: list[tuple[Value, int, float]] = field(default_factory=list)


class Network:
    """Coordinates and layers so far.

    Args:
        alphabet: the symbols; the first coordinates hold the one-hot embedding.
    """

    def __init__(self, alphabet: Sequence[str]) -> None:
        self.alphabet = tuple(alphabet)
        self.width = len(self.alphabet)
        self.terms: dict[str, int] = {}
        self._layers: list[_Layer] = []
        self._made: dict[object, Value] = {}
        self.places: dict[int, tuple[int, int]] = {}

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self._layers)

    def symbol(self, symbol: str) -> Value:
        """The coordinate that is 1 where the input has this symbol.

        Result: the value, ready at time 0.
        """
        return Value(((self.alphabet.index(symbol), 1.0),))

    def term(self, text: str) -> Value:
        """A position embedding.

        ``text``: a term in ``i`` and ``n`` (docs/soft-format.md). Result: its coordinate, ready at time 0.
        """
        if text not in self.terms:
            self.terms[text] = self._coordinate()
        return Value(((self.terms[text], 1.0),))

    def attend(self, head: Attention) -> Value:
        """A head's result, in a coordinate of its own.

        Result: the coordinate; the place of the head is in ``places``.
        """
        if head not in self._made:
            number = (head.time + 1) // 2
            layer, at = self._layer(number), self._coordinate()
            if len(layer.heads) == MAX_HEADS:
                raise ResourceLimit(f"a layer would have more than {MAX_HEADS} heads")
            self.places[at] = (number, len(layer.heads))
            layer.heads.append((head, at))
            self._made[head] = Value(((at, 1.0),), 0.0, 2 * number + 1)
        return self._made[head]

    def relus(self, *units: tuple[Value, float]) -> Value:
        """A weighted sum of ReLUs, in a coordinate of its own.

        Result: the coordinate, or a constant where all arguments are constant.
        """
        if not any(value.weights for value, _ in units):
            return Value((), sum(weight * max(value.constant, 0.0) for value, weight in units))
        if units not in self._made:
            number = max(value.time for value, _ in units) // 2
            layer, at = self._layer(number), self._coordinate()
            layer.units += [(value, at, weight) for value, weight in units]
            self._made[units] = Value(((at, 1.0),), 0.0, 2 * number + 2)
        return self._made[units]

    def _coordinate(self) -> int:
        self.width += 1
        return self.width - 1

    def _layer(self, number: int) -> _Layer:
        if number >= MAX_LAYERS:
            raise ResourceLimit(f"the formula needs more than {MAX_LAYERS} layers; a file holds no more")
        while len(self._layers) <= number:
            self._layers.append(_Layer())
        return self._layers[number]

    def model(self, name: str, description: str, output: Value, place: soft.Place) -> soft.SoftModel:
        """The weights.

        Result: a model whose sign output is ``2 output - 1``. Cost linear in the size of the weights.
        """
        embed = np.zeros((len(self.alphabet), self.width))
        embed[:, : len(self.alphabet)] = np.eye(len(self.alphabet))
        positions = soft.Positions()
        if self.terms:
            table = np.zeros((len(self.terms), self.width))
            table[range(len(self.terms)), list(self.terms.values())] = 1.0
            positions = soft.Positions("terms", "add", tuple(Term(text) for text in self.terms), table)
        truth = output * 2 - 1
        read = soft.SoftOutput(
            self._row(truth)[None, :], np.array([truth.constant]), ("reject", "accept"), place, "sign", (1,)
        )
        layers = tuple(self._written(layer) for layer in self._layers)
        return soft.SoftModel(name, self.alphabet, embed, positions, layers, read, description=description)

    def _row(self, value: Value) -> soft.Floats:
        row = np.zeros(self.width)
        for at, weight in value.weights:
            row[at] = weight
        return row

    def _rows(self, values: Sequence[Value]) -> tuple[soft.Floats, soft.Floats]:
        return np.stack([self._row(v) for v in values]), np.array([v.constant for v in values])

    def _written(self, layer: _Layer) -> soft.SoftLayer:
        heads = tuple(self._head(head, at) for head, at in layer.heads)
        if not layer.units:
            return soft.SoftLayer(heads, soft.zeros(self.width))
        inner, bias = self._rows([value for value, _, _ in layer.units])
        outer = np.zeros((self.width, len(layer.units)))
        for number, (_, at, weight) in enumerate(layer.units):
            outer[at, number] = weight
        return soft.SoftLayer(
            heads, soft.zeros(self.width), soft.SoftFeedForward(inner, bias, outer, soft.zeros(self.width))
        )

    def _head(self, head: Attention, at: int) -> soft.SoftHead:
        query, query_bias = self._rows(head.query)
        key, key_bias = self._rows(head.key)
        value, value_bias = self._rows([head.value])
        output = np.zeros((self.width, 1))
        output[at, 0] = 1.0
        return soft.SoftHead(query, key, value, output, query_bias, key_bias, value_bias, head.mask, Term(head.scale))
