"""Reading and writing ``restrict-soft/1`` files (docs/soft-format.md). Loading a file never runs code from it. One
safetensors file: the metadata entry ``restrict`` is a JSON object with everything that is not a tensor, the tensors
have fixed names. Writing is deterministic: the same model gives the same bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeVar, cast

import numpy as np

from restrict.base.errors import ModelError, quote
from restrict.base.files import naming, read_bytes
from restrict.base.strictjson import Node
from restrict.base.tensorfile import FLOATS, arrays_of, described, header_of
from restrict.soft.models.model import (
    ARITHMETIC,
    MASKS,
    MAX_N,
    Activation,
    Floats,
    LayerNorm,
    Norm,
    Place,
    Positions,
    Score,
    SoftFeedForward,
    SoftHead,
    SoftLayer,
    SoftModel,
    SoftOutput,
)
from restrict.soft.models.terms import Term
from restrict.soft.models.writer import FORMAT, document_of, dumps, tensors_of

__all__ = ["FORMAT", "Tensors", "document_of", "dumps", "is_soft", "load", "loads", "tensors_of"]
DESCRIBED = "the model (docs/soft-format.md)"
MAX_LAYERS, MAX_HEADS = 256, 256
Choice = TypeVar("Choice", bound=str)
KINDS: tuple[Literal["none", "table", "terms"], ...] = ("none", "table", "terms")
COMBINE: tuple[Literal["add", "concat"], ...] = ("add", "concat")
NORMS: tuple[Norm, ...] = ("none", "pre", "post")
SCORES: tuple[Score, ...] = ("dot", "additive")
PLACES: tuple[Place, ...] = ("last", "first", "every")
READ: tuple[Literal["softmax", "sign", "signs"], ...] = ("softmax", "sign", "signs")
ACTIVATIONS: tuple[Activation, ...] = ("relu", "gelu", "gelu_tanh")


def load(path: str | Path) -> SoftModel:
    """Read a ``restrict-soft/1`` file. Result: the model, every tensor as float64 (exactly)."""
    return loads(read_bytes(Path(path)), str(path), Path(path))


def loads(content: bytes, source: str = "model", path: Path | None = None) -> SoftModel:
    """A model from the bytes of a file; ``source`` names it in messages."""
    with naming(source):
        return _model(Tensors(content), described(content, DESCRIBED), path)


def is_soft(content: bytes) -> bool:
    """Whether the bytes are a safetensors file that calls itself ``restrict-soft``."""
    try:
        found = described(content, DESCRIBED).value
    except ModelError:
        return False
    return isinstance(found, dict) and str(found.get("format", "")).startswith("restrict-soft/")


class Tensors:
    """The tensors of a safetensors file as float64 arrays; each is taken once and every one must be used. Names that
    ``skip`` matches as a whole are left out, whatever their type (the masks that some libraries store)."""

    def __init__(self, content: bytes, skip: re.Pattern[str] | None = None) -> None:
        header_of(content)
        self.found = {name: array.astype(np.float64) for name, array in arrays_of(content, FLOATS, skip)}
        self.unused = set(self.found)

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return name in self.found

    def take(self, name: str) -> Floats:
        """The tensor of this name."""
        if name not in self.found:
            raise ModelError(f"the tensor {name!r} is missing")
        self.unused.discard(name)
        if self.found[name].ndim not in (1, 2):
            raise ModelError(f"tensor {name!r} has shape {self.found[name].shape}; a vector or a matrix is needed")
        return self.found[name]

    def bias(self, name: str, size: int) -> Floats:
        """The vector of this name; zero where there is none."""
        return self.take(name) if self.has(name) else np.zeros(size)

    def check_all_used(self) -> None:
        """A tensor that the layout does not know could change what the model computes."""
        if self.unused:
            raise ModelError(
                f"tensor {quote(min(self.unused))} is not part of the layout (docs/soft-format.md), "
                "or its layer or head is not listed"
            )


def _model(tensors: Tensors, root: Node, path: Path | None) -> SoftModel:
    required = ("name", "alphabet", "position", "layers", "output")
    fields = root.document(FORMAT, required, ("description", "certified", "start_marker", "end_marker", "final_norm"))
    text = {key: fields[key].text() for key in ("name", "description", "start_marker", "end_marker") if key in fields}
    layers = fields["layers"].items()
    if len(layers) > MAX_LAYERS:
        fields["layers"].fail(f"more than {MAX_LAYERS} layers")
    embed = tensors.take("embed")
    model = SoftModel(
        name=text["name"],
        alphabet=tuple(s.text() for s in fields["alphabet"].items()),
        embed=embed,
        positions=_positions(fields["position"], tensors),
        layers=tuple(_layer(node, f"layers.{at}", tensors) for at, node in enumerate(layers)),
        output=_output(fields["output"], tensors),
        start_marker=text.get("start_marker"),
        end_marker=text.get("end_marker"),
        final_norm=_norm(fields["final_norm"], "final_norm", tensors) if "final_norm" in fields else None,
        description=text.get("description", ""),
        source=path,
        certified=_certified(fields["certified"]) if "certified" in fields else {},
    )
    tensors.check_all_used()
    return model


def _certified(node: Node) -> dict[str, int]:
    return {kind: length.integer(0, MAX_N) for kind, length in node.fields((), ARITHMETIC).items()}


def choice(node: Node, known: tuple[Choice, ...]) -> Choice:
    """The text at a node, one of those known."""
    if node.text() not in known:
        node.fail(f"{quote(node.value)} is not one of {', '.join(known)}")
    return cast(Choice, node.text())


def _positions(node: Node, tensors: Tensors) -> Positions:
    fields = node.fields(("kind",), ("combine", "terms"))
    kind = choice(fields["kind"], KINDS)
    if (kind == "terms") != ("terms" in fields):
        node.fail("'terms' and kind 'terms' go together")
    terms = tuple(Term(t.text()) for t in fields["terms"].items()) if "terms" in fields else ()
    combine = choice(fields["combine"], COMBINE) if "combine" in fields else "add"
    return Positions(kind, combine, terms, None if kind == "none" else tensors.take("position"))


def _layer(node: Node, place: str, tensors: Tensors) -> SoftLayer:
    fields = node.fields(("heads",), ("norm", "eps", "activation"))
    heads = fields["heads"].items()
    if len(heads) > MAX_HEADS:
        fields["heads"].fail(f"more than {MAX_HEADS} heads")
    norm = choice(fields["norm"], NORMS) if "norm" in fields else "none"
    if (norm == "none") != ("eps" not in fields):
        node.fail("'eps' is for norm 'pre' or 'post', and needed there")
    ffn = _feed_forward(fields.get("activation"), place, tensors)
    d = tensors.take("embed").shape[-1] if not tensors.has("unembed") else tensors.take("unembed").shape[-1]
    norms: list[LayerNorm | None] = [None, None]
    if norm != "none":
        norms[0] = _norm_tensors(f"{place}.norm1", fields["eps"], tensors)
        norms[1] = _norm_tensors(f"{place}.norm2", fields["eps"], tensors) if ffn is not None else None
    return SoftLayer(
        heads=tuple(_head(head, f"{place}.heads.{at}", tensors) for at, head in enumerate(heads)),
        attention_bias=tensors.bias(f"{place}.attention_bias", d),
        ffn=ffn,
        norm=norm,
        norm1=norms[0],
        norm2=norms[1],
    )


def _feed_forward(activation: Node | None, place: str, tensors: Tensors) -> SoftFeedForward | None:
    if not tensors.has(f"{place}.ffn.in"):
        if activation is not None:
            activation.fail(f"there is no tensor '{place}.ffn.in' that it could belong to")
        return None
    inner, outer = tensors.take(f"{place}.ffn.in"), tensors.take(f"{place}.ffn.out")
    return SoftFeedForward(
        inner,
        tensors.bias(f"{place}.ffn.in_bias", inner.shape[0]),
        outer,
        tensors.bias(f"{place}.ffn.out_bias", outer.shape[0]),
        choice(activation, ACTIVATIONS) if activation is not None else "relu",
    )


def _head(node: Node, place: str, tensors: Tensors) -> SoftHead:
    fields = node.fields((), ("attention", "mask", "scale", "score"))
    if "attention" in fields and fields["attention"].text() != "softmax":
        fields["attention"].fail(
            f"{quote(fields['attention'].value)} is not 'softmax'; this format is for softmax heads"
        )
    query, value = tensors.take(f"{place}.query"), tensors.take(f"{place}.value")
    score = choice(fields["score"], SCORES) if "score" in fields else "dot"
    return SoftHead(
        query=query,
        key=tensors.take(f"{place}.key"),
        value=value,
        output=tensors.take(f"{place}.output"),
        query_bias=tensors.bias(f"{place}.query_bias", query.shape[0]),
        key_bias=tensors.bias(f"{place}.key_bias", query.shape[0]),
        value_bias=tensors.bias(f"{place}.value_bias", value.shape[0]),
        mask=choice(fields["mask"], MASKS) if "mask" in fields else "none",
        scale=Term(fields["scale"].text()) if "scale" in fields else Term("1"),
        score=score,
        additive=tensors.take(f"{place}.additive") if score == "additive" else None,
    )


def _norm(node: Node, place: str, tensors: Tensors) -> LayerNorm:
    return _norm_tensors(place, node.fields(("eps",))["eps"], tensors)


def _norm_tensors(place: str, eps: Node, tensors: Tensors) -> LayerNorm:
    return LayerNorm(tensors.take(f"{place}.weight"), tensors.take(f"{place}.bias"), Term(eps.text()))


def _output(node: Node, tensors: Tensors) -> SoftOutput:
    fields = node.fields(("position", "labels"), ("kind", "accept"))
    unembed = tensors.take("unembed")
    labels = tuple(label.text() for label in fields["labels"].items())
    return SoftOutput(
        unembed,
        tensors.bias("unembed_bias", unembed.shape[0]),
        labels,
        choice(fields["position"], PLACES),
        choice(fields["kind"], READ) if "kind" in fields else "softmax",
        tuple(v.integer(0, max(len(labels) - 1, 0)) for v in fields["accept"].items()) if "accept" in fields else (),
    )
