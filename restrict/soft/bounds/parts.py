"""A model's layers made ready for enclosures: every matrix with its norms, every scale with its error."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restrict.soft.bounds.enclosure import Enclosure, Linear, above, add, around, exactly, gamma, linear, norms
from restrict.soft.models.model import Floats, LayerNorm, Mask, Placed, SoftHead, SoftLayer, SoftModel
from restrict.soft.models.terms import up

GELU_SLOPES = (-0.14, 1.14)
"""The derivative of both GELUs lies in [-0.1293, 1.1293]."""


@dataclass(frozen=True, eq=False)
class ReadyHead:
    """A head at length ``n``; ``scale`` lies in ``scale_low .. scale_high``."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    mask: Mask
    scale_low: float
    scale_high: float
    additive: Floats | None
    uniform: bool
    """Whether every score is zero."""

    @property
    def scale_size(self) -> float:
        """The largest absolute value of the scale."""
        return max(abs(self.scale_low), abs(self.scale_high))


@dataclass(frozen=True, eq=False)
class ReadyFeedForward:
    """The network; ``slope`` bounds the activation's derivative."""

    inner: Linear
    outer: Linear
    kind: str

    @property
    def slopes(self) -> tuple[float, float]:
        """Bounds on the derivative of the activation."""
        return (0.0, 1.0) if self.kind == "relu" else GELU_SLOPES


@dataclass(frozen=True, eq=False)
class ReadyLayer:
    """A layer at length ``n``."""

    heads: tuple[ReadyHead, ...]
    attention_bias: Floats
    ffn: ReadyFeedForward | None
    front: Placed
    behind: Placed


@dataclass(frozen=True, eq=False)
class ReadyModel:
    """The model at length ``n``, ready for enclosures."""

    model: SoftModel
    n: int
    layers: tuple[ReadyLayer, ...]
    unembed: Linear

    def embedded(self, tokens: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Enclosure:
        """The embeddings of ``tokens`` (n, K) at their positions: (n, K, d), with the errors of position terms."""
        model = self.model
        found = exactly(model.embed[tokens])
        if model.positions.table is None:
            return found
        spread = self.positions[:, None].repeated(*tokens.shape)
        if model.positions.combine == "add":
            return add(found, spread)
        return Enclosure(
            np.concatenate([found.centre, spread.centre], axis=2),
            np.concatenate([found.box, spread.box], axis=2),
            spread.ball,
        )

    @cached_property
    def positions(self) -> Enclosure:
        """The position embeddings: (n, p)."""
        positions = self.model.positions
        assert positions.table is not None
        if positions.kind == "table":
            return exactly(positions.table[: self.n])
        values = np.stack([t.column(self.n) for t in positions.terms], axis=1)
        errors = np.stack([t.errors(self.n) for t in positions.terms], axis=1)
        k = len(positions.terms)
        error = errors @ np.abs(positions.table) + gamma(k) * (np.abs(values) @ np.abs(positions.table))
        return around(values @ positions.table, above(error, k))


def prepare(model: SoftModel, n: int) -> ReadyModel:
    """The model's layers at length ``n``. Raises what :meth:`SoftModel.check_length` raises."""
    n = model.check_length(n)
    layers = tuple(_layer(layer, n) for layer in model.layers)
    return ReadyModel(model, n, layers, linear(model.output.unembed, model.output.bias))


def _layer(layer: SoftLayer, n: int) -> ReadyLayer:
    heads = tuple(_head(head, n) for head in layer.heads)
    ffn, ready = layer.ffn, None
    if ffn is not None:
        ready = ReadyFeedForward(linear(ffn.inner, ffn.inner_bias), linear(ffn.outer, ffn.outer_bias), ffn.activation)
    return ReadyLayer(heads, layer.attention_bias, ready, layer.front, layer.behind)


def _head(head: SoftHead, n: int) -> ReadyHead:
    span = head.scale.enclose(0, n)
    query, key, value = (linear(getattr(head, p), getattr(head, f"{p}_bias")) for p in ("query", "key", "value"))
    output = linear(head.output)
    return ReadyHead(query, key, value, output, head.mask, span.low, span.high, head.additive, head.uniform)


def eps_range(norm: LayerNorm) -> tuple[float, float]:
    """Bounds on the constant of a LayerNorm."""
    span = norm.eps.enclose(0, 1)
    return max(span.low, 0.0), span.high


def readout_rows(model: SoftModel) -> Floats:
    """The rows of the logits, or of all differences of two for softmax."""
    rows = model.output.unembed
    if model.output.kind != "softmax":
        return rows
    first, second = np.triu_indices(len(rows), 1)
    return rows[first] - rows[second]


def logit_gap(parts: ReadyModel, y: Enclosure) -> float:
    """A bound on the change of any difference of two logits (of a logit, for signs), over activations' differences
    (d,)."""
    rows, pairs = parts.unembed.matrix, readout_rows(parts.model)
    d = rows.shape[1]
    if len(pairs) == 0:
        return 0.0
    slack = 0.0 if parts.model.output.kind != "softmax" else 2.0**-52
    gaps = linear(pairs, norm=0.0)
    centre = np.abs(pairs @ y.centre)
    spread = np.minimum(gaps.absolute @ y.box, gaps.rows * y.ball)
    error = (gamma(d) + slack) * gaps.rows * norms(y.centre) + slack * gaps.rows * y.ball
    # The rounding of a difference of two rows is relative to the rows, not to the difference.
    if slack:
        first, second = np.triu_indices(len(rows), 1)
        error = error + slack * (np.abs(rows[first]) + np.abs(rows[second])) @ y.largest()
    return up(float(above(centre + spread + error, d).max()))
