"""Softmax transformers as plain weights: the data, its invariants, and its file (docs/soft-format.md).

The model (Hahn 2020, section 3, with the usual extensions): token embeddings, position embeddings added or
concatenated, layers of softmax heads side by side whose results are added to the residual stream, then a ReLU network
with skip connection, optional LayerNorm before (``pre``) or after (``post``) each half, and a linear read-out.

Meaning: every number is the real number that its double denotes, position terms and inverse temperatures are the real
numbers that their text denotes, and all operations are those of real arithmetic. The evaluator rounds; the certified
bounds of this package are about the real function.

Invariant: the shapes fit; :class:`SoftModel` checks them when it is made, naming the tensor as in its file.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from restrict.base.arrays import F64, I64, Bools, Ints
from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.files import write_bytes
from restrict.base.tensorfile import FIELDS, fits, misfit
from restrict.checker.soft_model import HEAD_TENSORS, NETWORK_TENSORS, NORM_TENSORS, Axes
from restrict.soft.models.terms import Term

Floats = F64
Mask = Literal["none", "past", "strict_past", "future", "strict_future"]
Score = Literal["dot", "additive"]
Norm = Literal["none", "pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh"]
Place = Literal["last", "first", "every"]
Expected = tuple[int | None, ...]
"""A shape; ``None`` where any size fits."""
Shaped = Iterator[tuple[str, Floats, Expected]]
"""Tensors with their names and the shapes that they must have."""
FORMAT = "restrict-soft/1"
MAX_WIDTH = 65_536
MAX_N = 10_000_000
OUTSIDE_THEOREM_1 = (
    "Theorem 1 and Corollary 2 hold for attention to one position only; use the soft commands (restrict soft ...)"
)


@dataclass(frozen=True, eq=False)
class SoftHead:
    """``softmax_j(scale * score(Q x_i + q0, K x_j + k0))``-weighted ``V x_j + v0``, times ``O``; zero where nothing is
    visible. ``query``, ``key`` (dk, d), ``value`` (dv, d), ``output`` (d, dv). The score is the dot product, or
    ``additive . tanh(q + k)``; ``scale`` is the inverse temperature ``1/tau(n)``."""

    query: Floats
    key: Floats
    value: Floats
    output: Floats
    query_bias: Floats
    key_bias: Floats
    value_bias: Floats
    mask: Mask = "none"
    scale: Term = field(default_factory=lambda: Term("1"))
    score: Score = "dot"
    additive: Floats | None = None

    @property
    def uniform(self) -> bool:
        """Whether every score is zero, so that the head averages what it sees."""
        flat = not (self.query.any() or self.query_bias.any()) or not (self.key.any() or self.key_bias.any())
        return flat and self.score == "dot"


@dataclass(frozen=True, eq=False)
class LayerNorm:
    """``weight * (x - mean) / sqrt(variance + eps) + bias``; ``eps`` is a constant term."""

    weight: Floats
    bias: Floats
    eps: Term


Placed = tuple[LayerNorm | None, LayerNorm | None]
"""LayerNorms at the places of heads and network."""


@dataclass(frozen=True, eq=False)
class SoftFeedForward:
    """``outer relu(inner x + inner_bias) + outer_bias``, added to the residual stream."""

    inner: Floats
    inner_bias: Floats
    outer: Floats
    outer_bias: Floats
    activation: Activation = "relu"


@dataclass(frozen=True, eq=False)
class SoftLayer:
    """Heads side by side, then the network. ``norm`` says where ``norm1`` and ``norm2`` stand."""

    heads: tuple[SoftHead, ...]
    attention_bias: Floats
    ffn: SoftFeedForward | None = None
    norm: Norm = "none"
    norm1: LayerNorm | None = None
    norm2: LayerNorm | None = None

    @property
    def front(self) -> Placed:
        """The LayerNorms in front of the heads and in front of the network."""
        return (self.norm1, self.norm2) if self.norm == "pre" else (None, None)

    @property
    def behind(self) -> Placed:
        """The LayerNorms behind what the heads add and behind what the network adds."""
        return (self.norm1, self.norm2) if self.norm == "post" else (None, None)


@dataclass(frozen=True, eq=False)
class Positions:
    """Position embeddings: a table (positions, p), or terms with ``table`` (terms, p), or nothing."""

    kind: Literal["none", "table", "terms"] = "none"
    combine: Literal["add", "concat"] = "add"
    terms: tuple[Term, ...] = ()
    table: Floats | None = None

    def at(self, n: int) -> Floats | None:
        """The embeddings of all positions at length ``n``, shape (n, p), or ``None`` without any."""
        if self.table is None:
            return None
        if self.kind == "table":
            if n > len(self.table):
                raise ModelError(f"n = {n} is beyond the position table, which has {len(self.table)} rows")
            return self.table[:n]
        return np.stack([t.column(n) for t in self.terms], axis=1) @ self.table


@dataclass(frozen=True, eq=False)
class SoftOutput:
    """Logits ``unembed y + bias`` at one place or everywhere. ``softmax``: a row per label. ``sign``: one row;
    ``labels[1]`` where the logit is positive, else ``labels[0]``; its probability is the logistic function. ``signs``:
    a row per label; the answer is the set of labels whose logits are positive."""

    unembed: Floats
    bias: Floats
    labels: tuple[str, ...]
    place: Place = "last"
    kind: Literal["softmax", "sign", "signs"] = "softmax"
    accept: tuple[int, ...] = (1,)


@dataclass(frozen=True, eq=False)
class SoftModel:
    """A softmax transformer for every length (as far as its position table reaches). ``embed``: (symbols, d or less),
    rows for the ``alphabet``, then the start and the end marker, which are pinned at the ends and counted in ``n``.
    ``certified``: of a compiled model, by kind of arithmetic (``exact``, ``float64``, ``float32``) the greatest length
    up to which its labels are proved to be the wanted ones; nothing is said where a kind is missing."""

    name: str
    alphabet: tuple[str, ...]
    embed: Floats
    positions: Positions
    layers: tuple[SoftLayer, ...]
    output: SoftOutput
    start_marker: str | None = None
    end_marker: str | None = None
    final_norm: LayerNorm | None = None
    description: str = ""
    source: Path | None = None
    certified: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_model(self)

    def __repr__(self) -> str:
        heads = ", ".join(str(len(layer.heads)) for layer in self.layers)
        return f"SoftModel({self.name!r}, d = {self.width}, heads per layer: {heads or 'none'})"

    @cached_property
    def width(self) -> int:
        """The width ``d`` of the residual stream."""
        extra = 0
        if self.positions.combine == "concat" and self.positions.table is not None:
            extra = self.positions.table.shape[1]
        return int(self.embed.shape[1]) + extra

    @property
    def symbols(self) -> tuple[str, ...]:
        """The alphabet, then the markers: what the rows of ``embed`` stand for."""
        return (*self.alphabet, *(m for m in (self.start_marker, self.end_marker) if m is not None))

    @cached_property
    def special(self) -> tuple[str, ...]:
        """Which of LayerNorm, GELU and additive scores it has, in this order; most bounds are for models with none."""
        found = {
            "LayerNorm": self.final_norm is not None or any(layer.norm != "none" for layer in self.layers),
            "GELU": any(layer.ffn is not None and layer.ffn.activation != "relu" for layer in self.layers),
            "additive scores": any(head.score != "dot" for layer in self.layers for head in layer.heads),
        }
        return tuple(name for name, has in found.items() if has)

    @property
    def content(self) -> bytes:
        """The bytes of the model's file, as it would be written now."""
        return dumps(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the model's file."""
        return hashlib.sha256(self.content).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write a ``restrict-soft/1`` file."""
        write_bytes(Path(path), dumps(self))

    def pinned(self, n: int) -> dict[int, int]:
        """The marker positions at length ``n`` and the rows of their symbols."""
        found = {}
        if self.start_marker is not None:
            found[0] = len(self.alphabet)
        if self.end_marker is not None:
            found[n - 1] = len(self.symbols) - 1
        return found

    def check_length(self, n: int) -> int:
        """``n`` itself where the model has an instance of this length."""
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n <= MAX_N:
            raise UsageError(f"the length {n!r} must be an integer in 1 .. {MAX_N}")
        if n < len(self.pinned(n)) or (self.start_marker is not None and self.end_marker is not None and n < 2):
            raise UsageError(f"the length {n} leaves no room for the markers")
        if self.positions.kind == "table" and self.positions.table is not None and n > len(self.positions.table):
            rows = len(self.positions.table)
            raise ModelError(f"{self.name}: n = {n} is beyond the position table, which has {rows} rows")
        return int(n)

    def encode(self, words: Sequence[Sequence[str]] | Ints) -> I64:
        """Words without markers as rows of symbol indices with markers, shape (batch, n). ``words``: sequences of
        symbols of one length, or an integer array (batch, n - markers) of indices below the alphabet's size."""
        if isinstance(words, np.ndarray):
            inner = words.astype(np.int64)
            top = len(self.alphabet)
            if inner.ndim != 2 or (inner.size and not (inner.min() >= 0 and inner.max() < top)):
                raise UsageError(f"indices of words must be (batch, length) with entries 0 .. {top - 1}")
        else:
            inner = self._indices(words)
        parts = [inner]
        for marker, front in ((self.start_marker, True), (self.end_marker, False)):
            if marker is not None:
                column = np.full((len(inner), 1), self.symbols.index(marker))
                parts = [column, *parts] if front else [*parts, column]
        return np.concatenate(parts, axis=1)

    def _indices(self, words: Sequence[Sequence[str]]) -> I64:
        index = {symbol: at for at, symbol in enumerate(self.alphabet)}
        if len({len(word) for word in words}) > 1:
            raise UsageError("the words of a batch must have one length")
        unknown = next((s for word in words for s in word if s not in index), None)
        if unknown is not None:
            raise UsageError(f"{quote(unknown)} is not in the alphabet ({' '.join(self.alphabet)})")
        length = len(words[0]) if words else 0
        return np.array([[index[s] for s in word] for word in words], dtype=np.int64).reshape(len(words), length)

    def at(self, n: int) -> NoReturn:
        """A hard-attention model has an instance here; a softmax model is refused, so no theorem on those sees it."""
        raise UsageError(f"{self.name} is a softmax model: {OUTSIDE_THEOREM_1}")

    def beyond(self, n: int, kind: str) -> int | None:
        """The certified length that ``n`` is beyond, or ``None``. ``n``: the length, markers counted. ``kind``:
        ``exact``, ``float64`` or ``float32``; a bound on exact arithmetic is one on the others, too. Result: the
        smallest such length: at ``n`` the labels may be wrong."""
        lengths = [self.certified[k] for k in ("exact", kind) if k in self.certified]
        return min(lengths) if lengths and n > min(lengths) else None

    def output_position(self, n: int) -> int:
        """The position that the output is read at: the first or the last one (the last of ``every``)."""
        return 0 if self.output.place == "first" else n - 1


def visible(mask: Mask, rows: I64, n: int) -> Bools:
    """Which keys the queries at ``rows`` see: shape (len(rows), n)."""
    i, j = rows[:, None], np.arange(n)[None, :]
    if mask == "none":
        return np.ones((len(rows), n), dtype=np.bool_)
    return {"past": j <= i, "strict_past": j < i, "future": j >= i, "strict_future": j > i}[mask]


def zeros(size: int) -> Floats:
    """A zero bias."""
    return np.zeros(size)


# ---------------------------------------------------------------- the invariants


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


def demand(*wanted: tuple[bool, str]) -> None:
    """Raise :class:`ModelError` with the first message whose condition does not hold."""
    for holds, message in wanted:
        if not holds:
            raise ModelError(message)


def _symbols(model: SoftModel) -> None:
    symbols = model.symbols
    rows = np.asarray(model.embed).shape[0] if np.asarray(model.embed).ndim else 0
    demand(
        (bool(model.alphabet), "alphabet: there must be at least one symbol"),
        (all(symbols), "alphabet: a symbol must not be empty"),
        (len(set(symbols)) == len(symbols), "alphabet: a symbol, or a marker, occurs twice"),
        (rows == len(symbols), f"tensor 'embed' has {rows} rows; there are {len(symbols)} symbols, markers included"),
    )


def shaped(model: SoftModel) -> Shaped:
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


def _positions(model: SoftModel) -> Shaped:
    positions = model.positions
    if (positions.kind == "none") != (positions.table is None):
        raise ModelError(f"position: kind {positions.kind!r} and a tensor 'position' do not go together")
    if positions.table is None:
        return
    if positions.kind == "terms" and not positions.terms:
        raise ModelError("position.terms: at least one term is needed")
    rows = len(positions.terms) if positions.kind == "terms" else None
    yield "position", positions.table, (rows, model.embed.shape[1] if positions.combine == "add" else None)


def _layer(place: str, layer: SoftLayer, d: int) -> Shaped:
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


def _listed(place: str, record: SoftHead | LayerNorm | SoftFeedForward, table: Axes, d: int) -> Shaped:
    """The tensors of one of the trusted checker's tables; an axis has the size that its first tensor gives it."""
    sizes = {"d": d}
    for name, axes in table.items():
        array: Floats = getattr(record, FIELDS.get(name, name))
        yield f"{place}.{name}", array, tuple(sizes.get(axis) for axis in axes)
        sizes |= zip(axes, np.shape(array), strict=False)


def _head(place: str, head: SoftHead, d: int) -> Shaped:
    yield from _listed(place, head, HEAD_TENSORS, d)
    if (head.score == "additive") != (head.additive is not None):
        raise ModelError(f"{place}: a tensor 'additive' and score 'additive' go together")
    if head.additive is not None:
        yield f"{place}.additive", head.additive, (len(head.query),)


def _norm(place: str, norm: LayerNorm, d: int) -> Shaped:
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
    rows, count, sign, accept = len(output.unembed), len(output.labels), output.kind == "sign", output.accept
    needed = f"output: sign needs one row of 'unembed' and two labels, not {rows} and {count}"
    demand(
        (not sign or (rows, count) == (1, 2), needed),
        (sign or count == rows, f"output.labels: {count} labels for {rows} rows of 'unembed'"),
        (len(set(output.labels)) == count, "output.labels: a label occurs twice"),
        (all(0 <= a < count for a in accept), f"output.accept: {list(accept)} must be in 0 .. {count - 1}"),
    )


# ---------------------------------------------------------------- its file


def dumps(model: SoftModel) -> bytes:
    """The bytes of the model's file; the same model gives the same bytes."""
    from safetensors.numpy import save

    text = json.dumps(document_of(model), ensure_ascii=False, separators=(", ", ": "))
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors_of(model).items()}
    try:
        return bytes(save(tensors, {"restrict": text}))
    except ValueError as error:
        raise UsageError(f"cannot write the model: {error}") from None


def document_of(model: SoftModel) -> dict[str, Any]:
    """The JSON object of the file."""
    kind, output = model.positions.kind, model.output
    positions: dict[str, Any] = {"kind": kind} | ({} if kind == "none" else {"combine": model.positions.combine})
    if kind == "terms":
        positions["terms"] = [t.text for t in model.positions.terms]
    document: dict[str, Any] = {"format": FORMAT, "name": model.name}
    for key in ("description", "start_marker", "end_marker"):
        if getattr(model, key):
            document[key] = getattr(model, key)
    if model.certified:
        document["certified"] = {kind: int(model.certified[kind]) for kind in sorted(model.certified)}
    document |= {"alphabet": list(model.alphabet), "position": positions}
    document["layers"] = [_layer_document(layer) for layer in model.layers]
    if model.final_norm is not None:
        document["final_norm"] = {"eps": model.final_norm.eps.text}
    document["output"] = {"position": output.place, "kind": output.kind, "labels": list(output.labels)}
    if output.accept:
        document["output"]["accept"] = list(output.accept)
    return document


def _layer_document(layer: SoftLayer) -> dict[str, Any]:
    document: dict[str, Any] = {
        "heads": [{"mask": head.mask, "scale": head.scale.text, "score": head.score} for head in layer.heads]
    }
    if layer.norm1 is not None:
        document |= {"norm": layer.norm, "eps": layer.norm1.eps.text}
    if layer.ffn is not None:
        document["activation"] = layer.ffn.activation
    return document


def tensors_of(model: SoftModel) -> dict[str, Floats]:
    """Every tensor by its name in the file; biases that are zero are left out."""
    return {name: a for name, a, _ in shaped(model) if not name.endswith("_bias") or a.any()}
