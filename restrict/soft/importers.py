"""Weights of other libraries as softmax models: names are mapped, nothing is executed.

- :func:`from_torch`: the state dict of an ``nn.TransformerEncoder`` with an embedding and a read-out, as arrays by name
  (a mapping of numpy arrays or tensors, or a safetensors file). Pickle files (``.pt``) are refused: loading one runs
  code.
- :func:`from_gpt2`: a safetensors file with Hugging Face's names for GPT-2.

Every tensor must be used, so a layer that is not understood is an error, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from restrict.errors import ModelError, UsageError, quote
from restrict.files import read_bytes
from restrict.soft.format import Tensors
from restrict.soft.model import (
    Activation,
    Floats,
    LayerNorm,
    Mask,
    Positions,
    SoftFeedForward,
    SoftHead,
    SoftLayer,
    SoftModel,
    SoftOutput,
)
from restrict.soft.terms import Term

ENCODER = re.compile(r"(?:(?P<prefix>.*)\.)?layers\.(?P<layer>\d+)\.self_attn\.in_proj_weight")
GPT2 = re.compile(r"(?P<prefix>(?:transformer\.)?)h\.(?P<layer>\d+)\.attn\.c_attn\.weight")
Arrays = Mapping[str, Any]


class _Named:
    """Arrays by name, each taken once and all of them needed."""

    def __init__(self, arrays: Arrays, source: str) -> None:
        self.source = source
        self.arrays = {name: _array(name, a, source) for name, a in arrays.items()}
        self.unused = set(self.arrays)

    def take(self, name: str, shape: tuple[int | None, ...]) -> Floats:
        """An array of this shape. Raises :class:`ModelError`."""
        if name not in self.arrays:
            raise ModelError(f"{self.source}: the tensor {name!r} is missing")
        found = self.arrays[name]
        self.unused.discard(name)
        if found.ndim != len(shape) or any(w not in (None, h) for h, w in zip(found.shape, shape, strict=True)):
            want = ", ".join("any" if w is None else str(w) for w in shape)
            raise ModelError(f"{self.source}: tensor {name!r} has shape {found.shape}, not ({want})")
        return found

    def maybe(self, name: str, size: int) -> Floats:
        """A vector, zero where there is none."""
        return self.take(name, (size,)) if name in self.arrays else np.zeros(size)

    def finish(self) -> None:
        """Raise where something was not understood."""
        if self.unused:
            raise ModelError(f"{self.source}: tensor {quote(min(self.unused))} is not part of this kind of model")


def _array(name: str, a: Any, source: str) -> Floats:
    for step in ("detach", "cpu"):
        a = getattr(a, step)() if hasattr(a, step) else a
    try:
        found = np.asarray(a, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ModelError(f"{source}: tensor {quote(name)} is no array of numbers") from None
    if not np.isfinite(found).all():
        raise ModelError(f"{source}: tensor {quote(name)} has an entry that is infinite or not a number")
    return found


def read_arrays(path: str | Path) -> dict[str, Floats]:
    """The tensors of a safetensors file.

    Raises:
        UsageError: the file cannot be read.
        ModelError: not a safetensors file, or a pickle file.
        ResourceLimit: the file is over the size limit of the package.
    """
    content = read_bytes(Path(path))
    if content[:2] == b"PK" or content[:1] == b"\x80":
        raise ModelError(
            f"{path}: a pickle file, and loading it would run code of its author; save the state dict with "
            "safetensors.torch.save_file instead"
        )
    try:
        return Tensors(content).found
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def from_torch(
    state: Arrays | str | Path, *, heads: int, alphabet: Sequence[str], labels: Sequence[str] | None = None,
    start_marker: str | None = None, end_marker: str | None = None, norm_first: bool = False,
    activation: Activation = "relu", causal: bool = False, place: str = "last", eps: str = "0.00001",
    names: Mapping[str, str] | None = None, name: str = "torch",
) -> SoftModel:  # fmt: skip
    """A model around an ``nn.TransformerEncoder``.

    Args:
        state: the state dict, or a safetensors file with it.
        heads: the encoder's ``nhead``, which a state dict does not say.
        alphabet, start_marker, end_marker: what the rows of the embedding stand for, in this order.
        labels: names of the read-out's rows.
        norm_first, activation: as given to ``nn.TransformerEncoderLayer``.
        causal: whether the encoder is called with a causal mask.
        place: where the output is read: ``last``, ``first`` or ``every``.
        eps: ``layer_norm_eps``.
        names: the names of the ``embedding``, ``position`` (optional) and ``unembedding`` modules or parameters; found
            by their shapes where not given.
        name: for people.

    Returns:
        The model.

    Raises:
        ModelError: for a tensor that is missing, has another shape, or is not understood.
        UsageError: for arguments that do not fit, or a file that cannot be read.
        ResourceLimit: for a file over the size limit of the package.
    """
    source = str(state) if isinstance(state, str | Path) else "state dict"
    tensors = _Named(read_arrays(state) if isinstance(state, str | Path) else state, source)
    stem, d, count = _encoder(tensors)
    if heads < 1 or d % heads:
        raise UsageError(f"{heads} heads do not divide the width {d}")
    mask: Mask = "past" if causal else "none"
    kind = "pre" if norm_first else "post"
    layers = tuple(
        _torch_layer(tensors, f"{stem}layers.{at}", d, heads, mask, activation, kind, eps) for at in range(count)
    )
    final = _norm(tensors, f"{stem}norm", d, eps) if f"{stem}norm.weight" in tensors.arrays else None
    symbols = len(alphabet) + (start_marker is not None) + (end_marker is not None)
    embed = tensors.take(_find(tensors, names, "embedding", (symbols, d), ("embed", "emb", "wte")), (symbols, d))
    unembed, bias = _unembedding(tensors, names, d)
    positions = _position_table(tensors, names, d)
    tensors.finish()
    return SoftModel(
        name=name,
        alphabet=tuple(alphabet),
        embed=embed,
        positions=positions,
        layers=layers,
        output=_read_out(unembed, bias, labels, place),
        start_marker=start_marker,
        end_marker=end_marker,
        final_norm=final,
        description="imported from an nn.TransformerEncoder state dict",
    )


def _encoder(tensors: _Named) -> tuple[str, int, int]:
    """The prefix of the encoder's names, its width and its layers."""
    matches = [m for m in (ENCODER.fullmatch(key) for key in tensors.arrays) if m]
    if not matches:
        raise ModelError(
            f"{tensors.source}: no tensor '...layers.0.self_attn.in_proj_weight': not an nn.TransformerEncoder"
        )
    stem = f"{matches[0]['prefix']}." if matches[0]["prefix"] else ""
    first = f"{stem}layers.0.self_attn.in_proj_weight"
    if first not in tensors.arrays or tensors.arrays[first].ndim != 2:
        raise ModelError(f"{tensors.source}: the tensor {first!r} is missing or no matrix")
    return stem, int(tensors.arrays[first].shape[1]), 1 + max(int(m["layer"]) for m in matches)


def _unembedding(tensors: _Named, names: Mapping[str, str] | None, d: int) -> tuple[Floats, Floats]:
    """The read-out's matrix and bias."""
    hints = ("head", "out", "classifier", "fc", "unembed", "linear")
    name = _find(tensors, names, "unembedding", (None, d), hints)
    unembed = tensors.take(name, (None, d))
    return unembed, tensors.maybe(f"{name.removesuffix('weight')}bias", len(unembed))


def _position_table(tensors: _Named, names: Mapping[str, str] | None, d: int) -> Positions:
    """The table of positions: the tensor so named, or the only one left."""
    given = (names or {}).get("position")
    if given is None and len(tensors.unused) != 1:
        return Positions()
    name = given if given is not None else min(tensors.unused)
    if name in tensors.arrays:
        tensors.arrays[name] = np.squeeze(tensors.arrays[name])
    return Positions("table", "add", (), tensors.take(name, (None, d)))


def _find(
    tensors: _Named, names: Mapping[str, str] | None, role: str, shape: tuple[int | None, int], hints: Sequence[str]
) -> str:
    """The name of a tensor by its role: as given, or the only unused one of this shape (or so named)."""
    if names and role in names:
        return names[role] if names[role] in tensors.arrays else f"{names[role]}.weight"
    fits = [
        key
        for key in sorted(tensors.unused)
        if tensors.arrays[key].ndim == 2
        and all(w in (None, h) for h, w in zip(tensors.arrays[key].shape, shape, strict=True))
    ]
    hinted = [key for key in fits if any(hint in key.lower() for hint in hints) and "pos" not in key.lower()]
    found = hinted if len(hinted) == 1 else fits
    if len(found) != 1:
        raise ModelError(
            f"{tensors.source}: {len(found)} tensors could be the {role} ({', '.join(found) or 'none'}); name it with "
            f"--names {role}=..."
        )
    return found[0]


def _read_out(unembed: Floats, bias: Floats, labels: Sequence[str] | None, place: str) -> SoftOutput:
    if place not in ("last", "first", "every"):
        raise UsageError(f"the output's place {quote(place)} is not one of last, first, every")
    named = tuple(labels) if labels else tuple(f"label{k}" for k in range(len(unembed)))
    kind = "sign" if len(unembed) == 1 else "softmax"
    if kind == "sign" and not labels:
        named = ("0", "1")
    return SoftOutput(unembed, bias, named, place, kind, (1,) if len(named) == 2 else ())  # type: ignore[arg-type]


def _norm(tensors: _Named, name: str, d: int, eps: str) -> LayerNorm:
    return LayerNorm(tensors.take(f"{name}.weight", (d,)), tensors.maybe(f"{name}.bias", d), Term(eps))


def _heads(qkv: Floats, bias: Floats, out: Floats, heads: int, mask: Mask) -> tuple[SoftHead, ...]:
    """Heads from stacked projections: ``qkv`` (3d, d), ``out`` (d, d)."""
    d = qkv.shape[1]
    size = d // heads
    made = []
    for h in range(heads):
        rows = slice(h * size, (h + 1) * size)
        q, k, v = (qkv[part * d : (part + 1) * d][rows] for part in range(3))
        bq, bk, bv = (bias[part * d : (part + 1) * d][rows] for part in range(3))
        made.append(SoftHead(q, k, v, out[:, rows], bq, bk, bv, mask, Term(f"1/sqrt({size})")))
    return tuple(made)


def _torch_layer(
    tensors: _Named, stem: str, d: int, heads: int, mask: Mask, activation: Activation, kind: str, eps: str
) -> SoftLayer:
    attention = f"{stem}.self_attn"
    qkv = tensors.take(f"{attention}.in_proj_weight", (3 * d, d))
    out = tensors.take(f"{attention}.out_proj.weight", (d, d))
    inner = tensors.take(f"{stem}.linear1.weight", (None, d))
    ffn = SoftFeedForward(
        inner,
        tensors.maybe(f"{stem}.linear1.bias", len(inner)),
        tensors.take(f"{stem}.linear2.weight", (d, len(inner))),
        tensors.maybe(f"{stem}.linear2.bias", d),
        activation,
    )
    return SoftLayer(
        _heads(qkv, tensors.maybe(f"{attention}.in_proj_bias", 3 * d), out, heads, mask),
        tensors.maybe(f"{attention}.out_proj.bias", d),
        ffn,
        "pre" if kind == "pre" else "post",
        _norm(tensors, f"{stem}.norm1", d, eps),
        _norm(tensors, f"{stem}.norm2", d, eps),
    )


def from_gpt2(
    path: str | Path,
    *,
    heads: int,
    alphabet: Sequence[str] | None = None,
    activation: Activation = "gelu_tanh",
    eps: str = "0.00001",
    name: str = "gpt2",
) -> SoftModel:
    """A language model from a safetensors file with GPT-2's names (``wte``, ``wpe``, ``h.0.attn.c_attn``, ``ln_f``).

    Args:
        path: the file; with or without the prefix ``transformer.``.
        heads: ``n_head``.
        alphabet: one symbol per row of ``wte``; ``t0``, ``t1``, ... by default.
        activation: ``activation_function`` of the configuration.
        eps: ``layer_norm_epsilon``.
        name: for people.

    Returns:
        The model, with output at every position; the read-out is ``lm_head`` or, where there is none, ``wte``.

    Raises:
        ModelError: for a tensor that is missing, has another shape, or is not understood.
        UsageError: heads or symbols that do not fit the tensors, or a file that cannot be read.
        ResourceLimit: for a file over the size limit of the package.
    """
    source = str(path)
    tensors = _Named(
        {k: a for k, a in read_arrays(path).items() if not k.endswith((".attn.bias", ".attn.masked_bias"))}, source
    )
    matches = [m for m in (GPT2.fullmatch(key) for key in tensors.arrays) if m]
    if not matches:
        raise ModelError(f"{source}: no tensor 'h.0.attn.c_attn.weight': not a GPT-2 model")
    stem = matches[0]["prefix"]
    embed = tensors.take(f"{stem}wte.weight", (None, None))
    d = embed.shape[1]
    if heads < 1 or d % heads:
        raise UsageError(f"{heads} heads do not divide the width {d}")
    table = tensors.take(f"{stem}wpe.weight", (None, d))
    count = 1 + max(int(m["layer"]) for m in matches)
    layers = tuple(_gpt2_layer(tensors, f"{stem}h.{at}", d, heads, activation, eps) for at in range(count))
    final = _norm(tensors, f"{stem}ln_f", d, eps)
    unembed = tensors.take("lm_head.weight", (None, d)) if "lm_head.weight" in tensors.arrays else embed
    tensors.finish()
    symbols = tuple(alphabet) if alphabet else tuple(f"t{k}" for k in range(len(embed)))
    if len(symbols) != len(embed):
        raise UsageError(f"{len(symbols)} symbols for {len(embed)} rows of wte")
    labels = symbols if len(unembed) == len(symbols) else tuple(f"label{k}" for k in range(len(unembed)))
    return SoftModel(
        name=name,
        alphabet=symbols,
        embed=embed,
        positions=Positions("table", "add", (), table),
        layers=layers,
        output=SoftOutput(unembed, np.zeros(len(unembed)), labels, "every", "softmax", ()),
        final_norm=final,
        description="imported from a safetensors file with GPT-2's names",
    )


def _gpt2_layer(tensors: _Named, stem: str, d: int, heads: int, activation: Activation, eps: str) -> SoftLayer:
    # GPT-2 stores (inputs, outputs); everything here is (outputs, inputs).
    qkv = tensors.take(f"{stem}.attn.c_attn.weight", (d, 3 * d)).T
    out = tensors.take(f"{stem}.attn.c_proj.weight", (d, d)).T
    inner = tensors.take(f"{stem}.mlp.c_fc.weight", (d, None)).T
    ffn = SoftFeedForward(
        np.ascontiguousarray(inner),
        tensors.maybe(f"{stem}.mlp.c_fc.bias", len(inner)),
        np.ascontiguousarray(tensors.take(f"{stem}.mlp.c_proj.weight", (len(inner), d)).T),
        tensors.maybe(f"{stem}.mlp.c_proj.bias", d),
        activation,
    )
    return SoftLayer(
        _heads(qkv, tensors.maybe(f"{stem}.attn.c_attn.bias", 3 * d), out, heads, "past"),
        tensors.maybe(f"{stem}.attn.c_proj.bias", d),
        ffn,
        "pre",
        _norm(tensors, f"{stem}.ln_1", d, eps),
        _norm(tensors, f"{stem}.ln_2", d, eps),
    )
