"""The file of an exact transformer: ``restrict-weights/1``, one safetensors file (docs/importers.md). The metadata
entry ``restrict`` holds a JSON object with the alphabet, the heads' masks and ties, denominators and the output; the
tensors have the names below. Every number is an exact rational: an integer, an integer over the tensor's denominator,
or a finite float, which *is* an integer times a power of two."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from restrict.base.errors import ModelError, quote
from restrict.base.files import naming, read_bytes
from restrict.base.strictjson import Node
from restrict.base.tensorfile import FLOATS, Taken, arrays_of, described
from restrict.checker.read import Maybe, string
from restrict.checker.soft_model import HEAD_TENSORS, NETWORK_TENSORS
from restrict.importers.common import OUTSIDE
from restrict.model.foreign import softmax_hint
from restrict.model.program import MASKS, Mask

FORMAT = "restrict-weights/1"
Ints = npt.NDArray[np.object_]
"""An array of Python integers: exact at any size."""
TYPES = {
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
    **FLOATS,
}  # fmt: skip
HEAD = {"attention": Maybe(string), "mask": Maybe(MASKS), "ties": Maybe(("left", "right"))}
"""What the description says of a head."""
MATRICES = {name: axes for name, axes in HEAD_TENSORS.items() if not name.endswith("_bias")}
DESCRIBED = "the transformer (docs/importers.md); `restrict soft import` reads trained softmax weights"


@dataclass(frozen=True, eq=False)
class Matrix:
    """A rational matrix or vector: ``ints / denominator``."""

    ints: Ints
    denominator: int

    def __matmul__(self, other: Matrix) -> Matrix:
        return Matrix(self.ints @ other.ints, self.denominator * other.denominator).reduced()

    def __add__(self, other: Matrix) -> Matrix:
        common = lcm(self.denominator, other.denominator)
        left, right = self.ints * (common // self.denominator), other.ints * (common // other.denominator)
        return Matrix(left + right, common).reduced()

    def reduced(self) -> Matrix:
        """Without a common factor."""
        common = self.denominator
        for entry in self.ints.flat:
            if common == 1:
                return self
            common = gcd(common, int(entry))
        return Matrix(self.ints // common, self.denominator // common)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return self.ints.shape

    @property
    def T(self) -> Matrix:
        """The transpose."""
        return Matrix(self.ints.T, self.denominator)


@dataclass(frozen=True, eq=False)
class AttentionHead:
    """One head: ``query`` and ``key`` (dk, d), and ``move`` (d, d) = W_O W_V, what it adds to the residual stream."""

    query: Matrix
    key: Matrix
    move: Matrix
    mask: Mask
    ties: Literal["left", "right"]


@dataclass(frozen=True, eq=False)
class FeedForward:
    """``x + W_out relu(W_in x + b_in) + b_out``."""

    inner: Matrix
    inner_bias: Matrix
    outer: Matrix
    outer_bias: Matrix


@dataclass(frozen=True, eq=False)
class TransformerLayer:
    """Heads that read the residual stream side by side, then an optional feed-forward network."""

    heads: tuple[AttentionHead, ...]
    ffn: FeedForward | None


@dataclass(frozen=True, eq=False)
class Transformer:
    """An exact hard-attention transformer. ``position`` is (positions, d) or ``None``."""

    path: Path
    name: str
    alphabet: tuple[str, ...]
    start_marker: str | None
    end_marker: str | None
    embed: Matrix
    position: Matrix | None
    layers: tuple[TransformerLayer, ...]
    unembed: Matrix
    unembed_bias: Matrix
    output: dict[str, Any]


def read_transformer(path: Path) -> Transformer:
    """Read and check the file. ``path``: the safetensors file of the form ``restrict-weights/1`` (docs/importers.md).
    Result: the transformer, with every number as an exact rational."""
    content = read_bytes(path)
    with naming(path):
        hint = softmax_hint(content)
        if hint:
            raise ModelError(f"not hard-attention weights but {hint}")
        return _transformer(path, content)


def _transformer(path: Path, content: bytes) -> Transformer:
    tensors, config = _Tensors(content), described(content, DESCRIBED)
    optional = ("name", "start_marker", "end_marker", "denominators")
    fields = config.document(FORMAT, ("alphabet", "layers", "output"), optional)
    for key, value in (fields["denominators"].expect(dict, "an object") if "denominators" in fields else {}).items():
        tensors.divide(key, Node(value, f"denominators.{key}").integer(1))
    alphabet = tuple(s.text() for s in fields["alphabet"].items())
    markers = [fields[k].text() if k in fields else None for k in ("start_marker", "end_marker")]
    embed = tensors.take("embed", (None, None))
    symbols, d = len(alphabet) + sum(m is not None for m in markers), embed.ints.shape[1]
    if embed.ints.shape[0] != symbols:
        raise ModelError(f"tensor 'embed' has {embed.ints.shape[0]} rows; the alphabet with its markers has {symbols}")
    position = tensors.take("position", (None, d)) if "position" in tensors.arrays else None
    layers = tuple(_layer(node, f"layers.{at}", tensors, d) for at, node in enumerate(fields["layers"].items()))
    unembed = tensors.take("unembed", (None, d))
    bias = tensors.maybe("unembed_bias", len(unembed.ints))
    tensors.finish()
    name = fields["name"].text() if "name" in fields else path.stem
    output = _output(fields["output"], len(unembed.ints))
    return Transformer(path, name, alphabet, markers[0], markers[1], embed, position, layers, unembed, bias, output)


def _layer(node: Node, place: str, tensors: _Tensors, d: int) -> TransformerLayer:
    heads = tuple(
        _head(head, f"{place}.heads.{at}", tensors, d)
        for at, head in enumerate(node.fields(("heads",))["heads"].items())
    )
    if f"{place}.ffn.in" not in tensors.arrays:
        return TransformerLayer(heads, None)
    return TransformerLayer(heads, FeedForward(**tensors.table(f"{place}.ffn", NETWORK_TENSORS, {"d": d})))


def _head(node: Node, place: str, tensors: _Tensors, d: int) -> AttentionHead:
    fields = node.read(HEAD)
    if fields.get("attention", "hard") != "hard":
        raise ModelError(f"{place}: attention {quote(fields['attention'])} is not 'hard' (one position): {OUTSIDE}")
    taken = tensors.table(place, MATRICES, {"d": d})
    move = taken["output"] @ taken["value"]
    return AttentionHead(taken["query"], taken["key"], move, fields.get("mask", "none"), fields.get("ties", "left"))


def _output(node: Node, classes: int) -> dict[str, Any]:
    fields = node.fields(("position",), ("labels", "accept"))
    output: dict[str, Any] = {"position": fields["position"].text()}
    if "labels" in fields:
        output["labels"] = [label.text() for label in fields["labels"].items()]
        if len(output["labels"]) != classes:
            fields["labels"].fail(f"{len(output['labels'])} labels for {classes} rows of 'unembed'")
    if "accept" in fields:
        output["accept"] = [v.integer(0, classes - 1) for v in fields["accept"].items()]
    return output


class _Tensors(Taken[Matrix]):
    """The tensors of the file as exact matrices."""

    def __init__(self, content: bytes) -> None:
        found = {name: _exact(name, array) for name, array in arrays_of(content, TYPES)}
        super().__init__(found, "the layout (docs/importers.md), or its layer is not listed")

    def divide(self, name: str, denominator: int) -> None:
        if name not in self.arrays:
            self.fail(f"denominators: there is no tensor {quote(name)}")
        old = self.arrays[name]
        self.arrays[name] = Matrix(old.ints, old.denominator * denominator).reduced()

    def zeros(self, size: int) -> Matrix:
        return Matrix(np.zeros(size, dtype=object), 1)


def _exact(name: str, array: npt.NDArray[Any]) -> Matrix:
    if array.dtype.kind != "f":
        return Matrix(array.astype(object), 1)
    if not np.isfinite(array).all():
        raise ModelError(f"tensor {quote(name)} has an entry that is infinite or not a number")
    fractions = [Fraction(float(x)) for x in array.reshape(-1)]
    common = lcm(*(f.denominator for f in fractions))
    ints = np.empty(len(fractions), dtype=object)
    ints[:] = [f.numerator * (common // f.denominator) for f in fractions]
    return Matrix(ints.reshape(array.shape), common)
