"""Shapes and finiteness of a softmax model's weights: every fault with the name of its tensor. The names are those of
the tensors in a ``restrict-soft/1`` file (docs/soft-format.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from restrict.base.errors import ModelError, quote
from restrict.base.tensorfile import FIELDS, fits, misfit
from restrict.checker.soft_model import HEAD_TENSORS, NETWORK_TENSORS, NORM_TENSORS, Axes

if TYPE_CHECKING:
    from restrict.soft.models.model import Floats, LayerNorm, SoftFeedForward, SoftHead, SoftLayer, SoftModel
    from restrict.soft.models.terms import Term

Expected = tuple[int | None, ...]
"""A shape; ``None`` where any size fits."""
MAX_WIDTH = 65_536


def check_model(model: SoftModel) -> None:
    """Raise :class:`ModelError` at the first tensor or setting that does not fit."""
    _symbols(model)
    for name, array, shape in shaped(model):
        check_tensor(name, array, shape)
    for place, term in terms_of(model):
        try:
            term.check()
        except ModelError as error:
            raise ModelError(f"{place}: {error}") from None
        allowed = {"i", "n"} if place.startswith("position") else {"n"} if place.endswith("scale") else set()
        for name in sorted(term.names - allowed):
            may = "n only" if allowed else "nothing"
            raise ModelError(f"{place}: {quote(term.text)} uses {name}, and may depend on {may}")
    _output(model)


def check_tensor(name: str, array: Floats, shape: Expected) -> None:
    """A tensor of this shape with finite entries."""
    array = np.asarray(array)
    if not fits(array.shape, shape):
        raise ModelError(misfit(name, array.shape, shape))
    if array.size == 0 or max(array.shape) > 10_000_000:
        raise ModelError(f"tensor {name!r} is empty or too large: {tuple(array.shape)}")
    if array.dtype != np.float64:
        raise ModelError(f"tensor {name!r} has type {array.dtype}, not float64")
    if not np.isfinite(array).all():
        raise ModelError(f"tensor {name!r} has an entry that is infinite or not a number")


def _symbols(model: SoftModel) -> None:
    symbols = model.symbols
    if not model.alphabet:
        raise ModelError("alphabet: there must be at least one symbol")
    if any(not s for s in symbols):
        raise ModelError("alphabet: a symbol must not be empty")
    if len(set(symbols)) != len(symbols):
        raise ModelError("alphabet: a symbol, or a marker, occurs twice")
    rows = np.asarray(model.embed).shape[0] if np.asarray(model.embed).ndim else 0
    if rows != len(symbols):
        raise ModelError(f"tensor 'embed' has {rows} rows; there are {len(symbols)} symbols, markers included")


def shaped(model: SoftModel) -> Iterator[tuple[str, Floats, Expected]]:
    """Every tensor with its name and the shape that it must have."""
    yield "embed", model.embed, (len(model.symbols), None)
    yield from _positions(model)
    d = model.width
    if d > MAX_WIDTH:
        raise ModelError(f"the width {d} is larger than {MAX_WIDTH}")
    for at, layer in enumerate(model.layers):
        yield from _layer(f"layers.{at}", layer, d)
    if model.final_norm is not None:
        yield from _norm("final_norm", model.final_norm, d)
    yield "unembed", model.output.unembed, (None, d)
    yield "unembed_bias", model.output.bias, (len(model.output.unembed),)


def _positions(model: SoftModel) -> Iterator[tuple[str, Floats, Expected]]:
    positions = model.positions
    if (positions.kind == "none") != (positions.table is None):
        raise ModelError(f"position: kind {positions.kind!r} and a tensor 'position' do not go together")
    if positions.table is None:
        return
    if positions.kind == "terms" and not positions.terms:
        raise ModelError("position.terms: at least one term is needed")
    rows = len(positions.terms) if positions.kind == "terms" else None
    yield "position", positions.table, (rows, model.embed.shape[1] if positions.combine == "add" else None)


def _layer(place: str, layer: SoftLayer, d: int) -> Iterator[tuple[str, Floats, Expected]]:
    for at, head in enumerate(layer.heads):
        yield from _head(f"{place}.heads.{at}", head, d)
    yield f"{place}.attention_bias", layer.attention_bias, (d,)
    for name, norm in (("norm1", layer.norm1), ("norm2", layer.norm2)):
        wanted = layer.norm != "none" and (name == "norm1" or layer.ffn is not None)
        if wanted != (norm is not None):
            raise ModelError(f"{place}.{name}: {'missing' if wanted else 'not expected'} with norm {layer.norm!r}")
        if norm is not None:
            yield from _norm(f"{place}.{name}", norm, d)
    if layer.ffn is not None:
        yield from _listed(f"{place}.ffn", layer.ffn, NETWORK_TENSORS, d)


def _listed(
    place: str, record: SoftHead | LayerNorm | SoftFeedForward, table: Axes, d: int
) -> Iterator[tuple[str, Floats, Expected]]:
    """The tensors of one of the trusted checker's tables; an axis has the size that its first tensor gives it."""
    sizes = {"d": d}
    for name, axes in table.items():
        array: Floats = getattr(record, FIELDS.get(name, name))
        yield f"{place}.{name}", array, tuple(sizes.get(axis) for axis in axes)
        sizes |= zip(axes, np.shape(array), strict=False)


def _head(place: str, head: SoftHead, d: int) -> Iterator[tuple[str, Floats, Expected]]:
    yield from _listed(place, head, HEAD_TENSORS, d)
    if (head.score == "additive") != (head.additive is not None):
        raise ModelError(f"{place}: a tensor 'additive' and score 'additive' go together")
    if head.additive is not None:
        yield f"{place}.additive", head.additive, (len(head.query),)


def _norm(place: str, norm: LayerNorm, d: int) -> Iterator[tuple[str, Floats, Expected]]:
    yield from _listed(place, norm, NORM_TENSORS, d)
    if norm.eps.check().enclose(0, 1).low < 0:
        raise ModelError(f"{place}.eps: {quote(norm.eps.text)} is negative")


def terms_of(model: SoftModel) -> Iterator[tuple[str, Term]]:
    """Every term of the model with the place where it stands in the file."""
    for at, term in enumerate(model.positions.terms):
        yield f"position.terms[{at}]", term
    for at, layer in enumerate(model.layers):
        for h, head in enumerate(layer.heads):
            yield f"layers[{at}].heads[{h}].scale", head.scale
        for name, norm in (("norm1", layer.norm1), ("norm2", layer.norm2)):
            if norm is not None:
                yield f"layers[{at}].{name}", norm.eps
    if model.final_norm is not None:
        yield "final_norm", model.final_norm.eps


def _output(model: SoftModel) -> None:
    output = model.output
    rows = len(output.unembed)
    if output.kind == "sign":
        if rows != 1 or len(output.labels) != 2:
            raise ModelError(f"output: sign needs one row of 'unembed' and two labels, not {rows} and "
                             f"{len(output.labels)}")  # fmt: skip
    elif len(output.labels) != rows:
        raise ModelError(f"output.labels: {len(output.labels)} labels for {rows} rows of 'unembed'")
    if len(set(output.labels)) != len(output.labels):
        raise ModelError("output.labels: a label occurs twice")
    if any(not 0 <= a < len(output.labels) for a in output.accept):
        raise ModelError(f"output.accept: {list(output.accept)} must be in 0 .. {len(output.labels) - 1}")
