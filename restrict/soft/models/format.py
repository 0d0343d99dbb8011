"""Reading and writing ``restrict-soft/1`` files (docs/soft-format.md). Loading a file never runs code from it. One
safetensors file: the metadata entry ``restrict`` is a JSON object with everything that is not a tensor, the tensors
have fixed names. Writing is deterministic: the same model gives the same bytes."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from restrict.base.errors import ModelError
from restrict.base.files import naming, read_bytes
from restrict.base.strictjson import Node
from restrict.base.tensorfile import FLOATS, Taken, arrays_of, described, header_of
from restrict.checker import soft_model
from restrict.soft.models.model import (
    FORMAT,
    Activation,
    Floats,
    LayerNorm,
    Positions,
    SoftFeedForward,
    SoftHead,
    SoftLayer,
    SoftModel,
    SoftOutput,
    document_of,
    dumps,
    tensors_of,
)
from restrict.soft.models.terms import Term

__all__ = ["FORMAT", "Tensors", "document_of", "dumps", "is_soft", "load", "loads", "tensors_of"]
DESCRIBED = "the model (docs/soft-format.md)"


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


class Tensors(Taken[Floats]):
    """The tensors of a safetensors file as float64 arrays, vectors and matrices. Names that ``skip`` matches are left
    out."""

    def __init__(self, content: bytes, skip: re.Pattern[str] | None = None) -> None:
        header_of(content)
        found = {name: array.astype(np.float64) for name, array in arrays_of(content, FLOATS, skip)}
        super().__init__(found, "the layout (docs/soft-format.md), or its layer or head is not listed")

    def take(self, name: str, shape: tuple[int | None, ...] | None = None) -> Floats:
        """The tensor of this name."""
        found = super().take(name, shape)
        if found.ndim not in (1, 2):
            self.fail(f"tensor {name!r} has shape {found.shape}; a vector or a matrix is needed")
        return found


def _model(tensors: Tensors, root: Node, path: Path | None) -> SoftModel:
    """The model, its description read by the trusted checker's tables of fields."""
    fields, places = root.read(soft_model.MODEL), dict(root.members())
    layers, alphabet = few(places["layers"]), tuple(symbol.text() for symbol in places["alphabet"].items())
    position, final = fields["position"], fields.get("final_norm")
    if (position["kind"] == "terms") != ("terms" in position):
        places["position"].fail("'terms' and kind 'terms' go together")
    terms = tuple(Term(Node(text, "position.terms").text()) for text in position.get("terms", ()))
    positions = Positions(
        position["kind"], position.get("combine", "add"), terms,
        None if position["kind"] == "none" else tensors.take("position"),
    )  # fmt: skip
    model = SoftModel(
        name=fields["name"],
        alphabet=alphabet,
        embed=tensors.take("embed"),
        positions=positions,
        layers=tuple(_layer(node, f"layers.{at}", tensors) for at, node in enumerate(layers)),
        output=_output(fields["output"], places["output"], tensors),
        start_marker=fields.get("start_marker"),
        end_marker=fields.get("end_marker"),
        final_norm=None if final is None else _norm("final_norm", final["eps"], tensors),
        description=fields.get("description", ""),
        source=path,
        certified=fields.get("certified", {}),
    )
    tensors.finish()
    return model


def few(node: Node) -> list[Node]:
    """The entries of a list of layers or heads, of which a file may have only so many."""
    if len(node.items()) > soft_model.MANY:
        node.fail(f"more than {soft_model.MANY}")
    return node.items()


def _layer(node: Node, place: str, tensors: Tensors) -> SoftLayer:
    fields, norm = node.read(soft_model.LAYER), node.value.get("norm", "none")
    heads = few(dict(node.members())["heads"])
    if (norm == "none") != ("eps" not in fields):
        node.fail("'eps' is for norm 'pre' or 'post', and needed there")
    ffn = _feed_forward(node, fields.get("activation"), place, tensors)
    d = tensors.take("embed").shape[-1] if not tensors.has("unembed") else tensors.take("unembed").shape[-1]
    normed = [norm != "none", norm != "none" and ffn is not None]
    norms = [_norm(f"{place}.norm{k}", fields["eps"], tensors) if has else None for k, has in enumerate(normed, 1)]
    return SoftLayer(
        heads=tuple(_head(head, f"{place}.heads.{at}", tensors) for at, head in enumerate(heads)),
        attention_bias=tensors.maybe(f"{place}.attention_bias", d),
        ffn=ffn,
        norm=norm,
        norm1=norms[0],
        norm2=norms[1],
    )


def _feed_forward(node: Node, activation: Activation | None, place: str, tensors: Tensors) -> SoftFeedForward | None:
    if not tensors.has(f"{place}.ffn.in"):
        if activation is not None:
            node.fail(f"there is no tensor '{place}.ffn.in' that 'activation' could belong to")
        return None
    return SoftFeedForward(**tensors.table(f"{place}.ffn", soft_model.NETWORK_TENSORS), activation=activation or "relu")


def _head(node: Node, place: str, tensors: Tensors) -> SoftHead:
    fields = node.read(soft_model.HEAD)
    score = fields.get("score", "dot")
    return SoftHead(
        **tensors.table(place, soft_model.HEAD_TENSORS),
        mask=fields.get("mask", "none"),
        scale=Term(fields.get("scale", "1")),
        score=score,
        additive=tensors.take(f"{place}.additive") if score == "additive" else None,
    )


def _norm(place: str, eps: str, tensors: Tensors) -> LayerNorm:
    return LayerNorm(**tensors.table(place, soft_model.NORM_TENSORS), eps=Term(eps))


def _output(fields: dict[str, Any], node: Node, tensors: Tensors) -> SoftOutput:
    unembed, kind, accept = tensors.take("unembed"), fields.get("kind", "softmax"), tuple(fields.get("accept", ()))
    bias = tensors.maybe("unembed_bias", unembed.shape[0])
    labels = tuple(label.text() for label in dict(node.members())["labels"].items())
    return SoftOutput(unembed, bias, labels, fields["position"], kind, accept)
