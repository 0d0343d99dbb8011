"""Writing softmax models by hand: a residual stream of named blocks, heads and ReLU units, layer by layer.

A *block* is a run of dimensions that is 0 until something writes to it. Sparse rows (``{dimension: weight}``) describe
heads and units; :meth:`Stream.build` lays them out as the matrices of a ``restrict-soft/1`` model. Time ``t`` means:
available at the input of layer ``t``. What a head of layer ``t`` adds is seen by the units of layer ``t`` and by the
heads of layer ``t+1``; what the units of layer ``t`` add is seen from layer ``t+1`` on.

Invariant: the weights are the numbers given, nothing is rounded here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from restrict.base.arrays import F64
from restrict.base.errors import ResourceLimit
from restrict.soft.models.model import (
    Mask,
    Place,
    Positions,
    SoftFeedForward,
    SoftHead,
    SoftLayer,
    SoftModel,
    SoftOutput,
)
from restrict.soft.models.terms import Term

Row = Mapping[int, float]
"""A sparse row: the weight of each dimension."""
Affine = tuple[Row, float]
"""A row and its bias."""
MAX_LAYERS, MAX_HEADS = 256, 256
MAX_ENTRIES = 2**26
"""Entries of one matrix."""


@dataclass(frozen=True)
class StreamBlock:
    """Dimensions ``start .. start + size - 1``, final at the input of layer ``time``."""

    start: int
    size: int
    time: int

    def __getitem__(self, value: int) -> int:
        if not 0 <= value < self.size:
            raise IndexError(value)
        return self.start + value


@dataclass(frozen=True)
class HeadRows:
    """A head as sparse rows and their biases: the score is ``sum_r query_r(x_i) key_r(x_j)``."""

    query: Sequence[Affine]
    key: Sequence[Affine]
    value: Sequence[Affine]
    target: StreamBlock
    mask: Mask
    scale: Term


@dataclass(frozen=True)
class Unit:
    """``relu(inner . x + bias)``, times ``outer``, added to the stream."""

    inner: Row
    bias: float
    outer: Row


@dataclass
class _Layer:
    heads: list[HeadRows] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    constant: dict[int, float] = field(default_factory=dict)


class Stream:
    """A model in the making, with markers in front of and behind every word, or ``None``."""

    def __init__(self, alphabet: Sequence[str], start_marker: str | None = None, end_marker: str | None = None) -> None:
        self.alphabet, self.start_marker, self.end_marker = tuple(alphabet), start_marker, end_marker
        symbols = len(self.alphabet) + (start_marker is not None) + (end_marker is not None)
        self.width = 0
        self.token = self.block(symbols, 0)
        self._terms: dict[str, int] = {}
        self._layers: list[_Layer] = []

    def block(self, size: int, time: int) -> StreamBlock:
        """Take ``size`` new dimensions of the stream, final at the input of layer ``time``."""
        self.width += size
        return StreamBlock(self.width - size, size, time)

    def term(self, text: str) -> int:
        """The dimension that holds a term (docs/soft-format.md), there from the start; equal texts share one."""
        if text not in self._terms:
            Term(text).check()
            self._terms[text] = self.block(1, 0).start
        return self._terms[text]

    def guard(self, text: str) -> None:
        """A term such as ``0/(n == 8)``, never used: it refuses lengths at which it has no value."""
        self.term(text)

    def _layer(self, time: int) -> _Layer:
        if time >= MAX_LAYERS:
            raise ResourceLimit(f"the softmax model would have more than {MAX_LAYERS} layers")
        while len(self._layers) <= time:
            self._layers.append(_Layer())
        return self._layers[time]

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self._layers)

    def head(self, time: int, head: HeadRows) -> int:
        """Put a head into a layer; its number there."""
        heads = self._layer(time).heads
        if len(heads) == MAX_HEADS:
            raise ResourceLimit(f"a layer of the softmax model would have more than {MAX_HEADS} heads")
        heads.append(head)
        return len(heads) - 1

    def unit(self, time: int, unit: Unit) -> None:
        """Put a ReLU unit into a layer."""
        self._layer(time).units.append(unit)

    def constant(self, time: int, dimension: int, value: float) -> None:
        """Add a number to a dimension at every position, after the units of a layer. ``dimension``: where."""
        constants = self._layer(time).constant
        constants[dimension] = constants.get(dimension, 0.0) + value

    def build(
        self, name: str, description: str, read: Sequence[Affine], labels: tuple[str, ...] = ("reject", "accept"),
        place: Place = "every", kind: Literal["softmax", "sign"] = "sign", accept: tuple[int, ...] = (1,),
    ) -> SoftModel:  # fmt: skip
        """The model. ``read``: the rows of the read-out; the rest as in :class:`SoftOutput`."""
        embed = np.zeros((self.token.size, self.width))
        embed[:, self.token.start : self.token.start + self.token.size] = np.eye(self.token.size)
        positions = Positions()
        if self._terms:
            table = self._matrix([{d: 1.0} for d in self._terms.values()])
            positions = Positions("terms", "add", tuple(Term(t) for t in self._terms), table)
        layers = tuple(self._built(layer) for layer in self._layers)
        output = SoftOutput(*self._affine(read), labels, place, kind, accept)
        return SoftModel(
            name, self.alphabet, embed, positions, layers, output, self.start_marker, self.end_marker, None, description
        )

    def _built(self, layer: _Layer) -> SoftLayer:
        heads = tuple(self._built_head(head) for head in layer.heads)
        if not layer.units and not layer.constant:
            return SoftLayer(heads, np.zeros(self.width))
        units = layer.units or [Unit({}, 0.0, {})]
        bias = np.zeros(self.width)
        for dimension, value in layer.constant.items():
            bias[dimension] = value
        ffn = SoftFeedForward(
            inner=self._matrix([u.inner for u in units]),
            inner_bias=np.array([u.bias for u in units], dtype=np.float64),
            outer=np.ascontiguousarray(self._matrix([u.outer for u in units]).T),
            outer_bias=bias,
        )
        return SoftLayer(heads, np.zeros(self.width), ffn)

    def _built_head(self, head: HeadRows) -> SoftHead:
        size = len(head.value)
        outputs = np.zeros((self.width, size))
        outputs[head.target.start + np.arange(size), np.arange(size)] = 1.0
        (q, q0), (k, k0), (v, v0) = map(self._affine, (head.query, head.key, head.value))
        return SoftHead(q, k, v, outputs, q0, k0, v0, head.mask, head.scale)

    def _affine(self, rows: Sequence[Affine]) -> tuple[F64, F64]:
        """A matrix and its biases."""
        return self._matrix([row for row, _ in rows]), np.array([bias for _, bias in rows], dtype=np.float64)

    def _matrix(self, rows: Sequence[Row]) -> F64:
        if len(rows) * self.width > MAX_ENTRIES:
            raise ResourceLimit(f"a matrix of the softmax model would have {len(rows)} x {self.width} entries")
        made = np.zeros((len(rows), self.width))
        for r, row in enumerate(rows):
            for dimension, weight in row.items():
                made[r, dimension] = weight
        return made
