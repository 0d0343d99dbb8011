"""The format ``restrict-soft/1`` at one length, by tables of its fields and of its tensors (docs/soft-format.md).

What a table cannot say stands in the code below it. Every key, every tensor and every shape is known, or the file is
refused; entries are integers times ``2^-128``, rounded down.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from .account import LARGEST, Meter, Place, Task, exhausted, malformed, require, short
from .formats import MASKS
from .read import Maybe, integer, integers, listing, matching, read_json, record, string, thing
from .rules import Tree
from .soft_sets import Matrix, Vector, entry
from .soft_terms import Evaluation, Range, parse
from .tensors import located, opened

MAX_N = 10_000_000
MANY = 256
"""Layers of a model, heads of a layer."""
LARGE = 100
"""Bits of the largest entry or term that is followed."""
FLOATS = {"F64": "d", "F32": "f", "F16": "e", "BF16": "H"}
"""The types of tensors, each with the code of what is stored."""

Axes = dict[str, tuple[str, ...]]

token = matching("(?s:.+)", "a symbol: a non-empty string")
POSITION = {
    "kind": ("none", "table", "terms"),
    "combine": Maybe(("add", "concat")),
    "terms": Maybe(listing),
}
OUTPUT = {
    "position": ("last", "first", "every"),
    "kind": Maybe(("softmax", "sign", "signs")),
    "labels": listing,
    "accept": Maybe(integers(0, LARGEST)),
}
CERTIFIED = {kind: Maybe(integer(0, MAX_N)) for kind in ("exact", "float64", "float32")}
MODEL = {
    "format": ("restrict-soft/1",),
    "name": string,
    "description": Maybe(string),
    "certified": Maybe(CERTIFIED),
    "alphabet": listing,
    "start_marker": Maybe(token),
    "end_marker": Maybe(token),
    "position": POSITION,
    "layers": listing,
    "final_norm": Maybe({"eps": string}),
    "output": OUTPUT,
}
LAYER = {
    "heads": listing,
    "norm": Maybe(("none", "pre", "post")),
    "eps": Maybe(string),
    "activation": Maybe(("relu", "gelu", "gelu_tanh")),
}
HEAD = {
    "mask": Maybe(MASKS),
    "scale": Maybe(string),
    "score": Maybe(("dot", "additive")),
    "attention": Maybe(("softmax",)),
}
HEAD_TENSORS: Axes = {
    **{"query": ("dk", "d"), "key": ("dk", "d"), "value": ("dv", "d"), "output": ("d", "dv")},
    **{"query_bias": ("dk",), "key_bias": ("dk",), "value_bias": ("dv",)},
}
NORM_TENSORS: Axes = {"weight": ("d",), "bias": ("d",)}
NETWORK_TENSORS: Axes = {"in": ("width", "d"), "out": ("d", "width"), "in_bias": ("width",), "out_bias": ("d",)}
"""Axes by tensor: an axis has one size throughout a table. What ends in ``_bias`` may be missing."""


class Norm(NamedTuple):
    """``weight * (x - mean) / sqrt(variance + eps) + bias``."""

    weight: Vector
    bias: Vector
    eps: Range


class Head(NamedTuple):
    """A head's mask, the bounds on its scale, and its tensors by name."""

    place: str
    mask: str
    scale: Range
    tensors: dict[str, Any]


class Layer(NamedTuple):
    """A layer; ``norms`` has none, one or both, ``network`` the tensors of a ReLU network or nothing."""

    place: str
    kind: str
    heads: list[Head]
    norms: list[Norm]
    attention_bias: Vector | None
    network: dict[str, Any]


class Weights:
    """The tensors of a safetensors file; each is taken once, and every one must be."""

    def __init__(self, content: bytes, place: Place, meter: Meter) -> None:
        self.place, self.meter, self.matrices, self.spans = place, meter, set[str](), list[list[int]]()
        meter.hold(len(content))
        self.headers, self.data = opened(content, place, meter)
        metadata = thing(self.headers.pop("__metadata__", None), place.key("__metadata__"))
        self.description = string(metadata.get("restrict"), place.key("__metadata__").key("restrict")).encode()

    def take(self, name: str, axes: Sequence[str], sizes: dict[str, int]) -> Any:
        """The tensor of this name: a vector, or a matrix as a list of rows. New axes get their size from it."""
        place = Place(self.place.file, f"tensor {short(name)}")
        require(name in self.headers, place, "is missing")
        code, shape, stored = located(self.headers[name], FLOATS, self.data, place)
        self.spans.append(self.headers.pop(name)["data_offsets"])
        fits = len(shape) == len(axes)
        fits = fits and all(sizes.setdefault(axis, size) == size for axis, size in zip(axes, shape, strict=True))
        wanted = ", ".join(f"{axis} = {sizes[axis]}" if axis in sizes else axis for axis in axes)
        require(fits, place, f"expected the shape ({wanted})", "x".join(map(str, shape[:4])))
        flat = self.entries(code, stored, place)
        return flat if len(axes) == 1 else [flat[at : at + shape[1]] for at in range(0, len(flat), shape[1])]

    def entries(self, code: str, stored: memoryview, place: Place) -> Vector:
        """The entries, rounded down to units."""
        count = len(stored) // struct.calcsize("<" + code)
        self.meter.charge(6 * count)
        self.meter.hold(110 * count)
        values = struct.unpack(f"<{count}{code}", stored)
        if code == "H":  # the upper half of a single
            values = struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *(value << 16 for value in values)))
        require(all(map(math.isfinite, values)), place, "an entry is infinite or not a number")
        if max(map(abs, values)) >= 2**LARGE:
            exhausted(place, f"an entry of 2^{LARGE} or more is outside this check")
        return list(map(entry, values))

    def table(self, place: str, axes: Axes, sizes: dict[str, int]) -> dict[str, Any]:
        """The tensors of a table; those that may be missing are None then."""
        names = {name: f"{place}.{name}" for name in axes}
        self.matrices |= {full for name, full in names.items() if len(axes[name]) == 2}
        return {
            name: self.take(full, axes[name], sizes) if not name.endswith("_bias") or full in self.headers else None
            for name, full in names.items()
        }


class Model:
    """A softmax model at length ``n``, read and found well-formed."""

    def __init__(self, task: Task, n: int) -> None:
        place, meter = task.model_place, task.meter
        self.n, self.place, self.meter, meter.place = n, place, meter, place
        self.weights = Weights(task.model, place, meter)
        fields = record(read_json(self.weights.description, place, meter), MODEL, place)
        self.name: str = fields["name"]
        self.read_symbols(fields)
        self.read_positions(fields["position"], place.key("position"))
        inside = place.key("layers")
        entries = enumerate(self.few(fields["layers"], inside))
        self.layers = [self.read_layer(value, f"layers.{at}", inside.item(at)) for at, value in entries]
        final = fields.get("final_norm")
        self.final = self.read_norm("final_norm", final, place.key("final_norm")) if final else None
        self.read_output(fields["output"], place.key("output"))
        for extra in self.weights.headers:
            malformed(Place(place.file, f"tensor {short(extra)}"), "is not part of the layout, or of what is listed")
        size = len(self.weights.data)
        ends = [[0, 0], *sorted(self.weights.spans), [size, size]]
        filled = all(before[1] == after[0] for before, after in pairwise(ends))
        require(filled, place, "tensors overlap, or leave bytes of the file unused")

    def few(self, values: list[Any], place: Place) -> list[Any]:
        """A list of layers or heads."""
        require(len(values) <= MANY, place, f"expected at most {MANY}", len(values))
        return values

    def read_symbols(self, fields: dict[str, Any]) -> None:
        """The symbols with their rows of ``embed``, and the positions of the markers."""
        place, alphabet = self.place.key("alphabet"), fields["alphabet"]
        self.meter.charge(4 * len(alphabet))
        self.alphabet = {token(value, place.item(at)): at for at, value in enumerate(alphabet)}
        self.pinned: dict[int, int] = {}
        markers = [(fields[key], at) for key, at in (("start_marker", 0), ("end_marker", self.n - 1)) if key in fields]
        for row, (_, at) in enumerate(markers, start=len(alphabet)):
            self.pinned[at] = row
        distinct = len({*self.alphabet, *(marker for marker, _ in markers)}) == len(alphabet) + len(markers)
        require(distinct and len(alphabet) > 0, place, "expected a symbol or more, none twice and none a marker")
        require(len(self.pinned) == len(markers), self.place, f"n = {self.n} leaves no room for both markers")
        self.sizes = {"symbols": len(alphabet) + len(markers)}
        self.embed: Matrix = self.weights.take("embed", ("symbols", "own"), self.sizes)

    def read_positions(self, fields: dict[str, Any], place: Place) -> None:
        """How positions are embedded, and with it the width."""
        kind, sizes = fields["kind"], self.sizes
        require((kind == "terms") == ("terms" in fields), place, "'terms' and the kind 'terms' go together")
        texts, inside = fields.get("terms", []), place.key("terms")
        self.terms = [self.term(text, inside.item(at), ("i", "n")) for at, text in enumerate(texts)]
        self.concat, self.table = fields.get("combine") == "concat", None
        if kind == "terms":
            sizes["terms"] = len(texts)
        if kind != "none":
            width = "added" if self.concat else "own"
            self.table = self.weights.take("position", (kind, width), sizes)
            enough = kind == "terms" or self.n <= len(self.table)
            require(enough, place, f"n = {self.n} is beyond the position table")
        sizes["d"] = sizes["own"] + (sizes.get("added", 0) if self.concat else 0)

    def term(self, text: Any, place: Place, names: tuple[str, ...]) -> tuple[Tree, Place]:
        """A term, and where it stands."""
        return parse(string(text, place), place, names, self.meter), place

    def value(self, term: tuple[Tree, Place], known: dict[str, int]) -> Range:
        """Bounds on a term of moderate size."""
        tree, place = term
        found = Evaluation(known, place, self.meter).value(tree)
        if max(map(abs, found)) >= 2**LARGE:
            exhausted(place, f"a value of 2^{LARGE} or more is outside this check")
        return found

    def read_norm(self, name: str, fields: dict[str, Any], place: Place) -> Norm:
        """A LayerNorm; eps is a constant, and not negative."""
        inside = place.key("eps")
        eps = self.value(self.term(fields["eps"], inside, ()), {})
        require(eps[0] >= 0, inside, "expected a number that is not negative")
        return Norm(**self.weights.table(name, NORM_TENSORS, {"d": self.sizes["d"]}), eps=eps)

    def read_layer(self, value: Any, name: str, place: Place) -> Layer:
        """Heads side by side, a network or none, and where the norms stand."""
        fields, weights, inside = record(value, LAYER, place), self.weights, place.key("heads")
        heads = self.few(fields["heads"], inside)
        kind, network = fields.get("norm", "none"), f"{name}.ffn.in" in weights.headers
        require((kind == "none") != ("eps" in fields), place, "'eps' is for the norm 'pre' or 'post', and needed there")
        require(network or "activation" not in fields, place, "an activation without the tensor ffn.in")
        if fields.get("activation", "relu") != "relu":
            exhausted(place.key("activation"), "networks other than ReLU are outside this check")
        norms = [] if kind == "none" else ["norm1", "norm2"] if network else ["norm1"]
        bias, sizes = f"{name}.attention_bias", {"d": self.sizes["d"]}
        return Layer(
            place=name,
            kind=kind,
            heads=[self.read_head(head, f"{name}.heads.{at}", inside.item(at)) for at, head in enumerate(heads)],
            norms=[self.read_norm(f"{name}.{norm}", fields, place) for norm in norms],
            attention_bias=weights.take(bias, ("d",), sizes) if bias in weights.headers else None,
            network=weights.table(f"{name}.ffn", NETWORK_TENSORS, sizes) if network else {},
        )

    def read_head(self, value: Any, name: str, place: Place) -> Head:
        """A softmax head with dot products as scores."""
        fields, inside = record(value, HEAD, place), place.key("scale")
        if fields.get("score", "dot") != "dot":
            exhausted(place.key("score"), "additive scores are outside this check")
        scale = self.value(self.term(fields.get("scale", "1"), inside, ("n",)), {"n": self.n})
        tensors = self.weights.table(name, HEAD_TENSORS, {"d": self.sizes["d"]})
        return Head(name, fields.get("mask", "none"), scale, tensors)

    def read_output(self, fields: dict[str, Any], place: Place) -> None:
        """The read-out: a row for each label, or one for the sign of its logit."""
        labels, self.reads, self.sign = fields["labels"], fields["position"], fields.get("kind") == "sign"
        if fields.get("kind") == "signs":
            exhausted(place.key("kind"), "a set of labels is outside this check")
        self.meter.charge(4 * len(labels))
        names = {string(label, place.key("labels").item(at)) for at, label in enumerate(labels)}
        require(len(names) == len(labels) > 0, place.key("labels"), "expected a label or more, none twice")
        require(not self.sign or len(labels) == 2, place.key("labels"), "expected two for the kind 'sign'", len(labels))
        fits = max(fields.get("accept", ()), default=0) < len(labels)
        require(fits, place.key("accept"), f"expected numbers below {len(labels)}")
        sizes = {"d": self.sizes["d"], "rows": 1 if self.sign else len(labels)}
        self.unembed: Matrix = self.weights.take("unembed", ("rows", "d"), sizes)
        there = "unembed_bias" in self.weights.headers
        self.bias: Vector = self.weights.take("unembed_bias", ("rows",), sizes) if there else [0] * sizes["rows"]
