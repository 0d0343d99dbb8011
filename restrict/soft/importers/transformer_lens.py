"""Weights with the names of TransformerLens (``embed.W_E``, ``blocks.0.attn.W_Q``, ``unembed.W_U``). Heads and widths
are in the shapes. Without ``ln1.w`` a model is either folded (``LNPre``: LayerNorm without weight and bias) or has no
LayerNorm at all; the configuration's ``normalization_type`` tells, and nothing is assumed."""

import re
from typing import Literal

import numpy as np

from restrict.base.errors import ModelError, UsageError, quote
from restrict.soft.importers.blocks import LayoutParts, assembled, heads_of, layers_named, learned, mlp
from restrict.soft.importers.named import Named
from restrict.soft.importers.settings import Choices
from restrict.soft.models.model import Activation, LayerNorm, Mask, SoftHead, SoftLayer, SoftModel
from restrict.soft.models.terms import Term

NAME = re.compile(r"(?P<prefix>(?:.*\.)?)blocks\.(?P<layer>\d{1,4})\.attn\.W_Q")
Kind = Literal["LN", "LNPre", "none"]


class _Reader:
    """The blocks of one model, its settings known."""

    def __init__(self, tensors: Named, stem: str, d: int, kind: Kind, eps: str) -> None:
        self.tensors, self.stem, self.d, self.kind, self.eps = tensors, stem, d, kind, eps

    def norm(self, name: str) -> LayerNorm | None:
        """A LayerNorm; one without weight and bias where they were folded into what follows."""
        d, full = self.d, f"{self.stem}{name}"
        if self.kind == "none":
            return None
        if self.kind == "LNPre":
            return LayerNorm(np.ones(d), np.zeros(d), Term(self.eps))
        return LayerNorm(self.tensors.take(f"{full}.w", (d,)), self.tensors.bias(f"{full}.b", d), Term(self.eps))

    def heads(self, block: str, mask: Mask, scale: Term) -> tuple[SoftHead, ...]:
        """The heads of a block: projections are (heads, d, dk), the output (heads, dk, d)."""
        take, d, at = self.tensors.take, self.d, f"{self.stem}{block}.attn"
        query = take(f"{at}.W_Q", (None, d, None))
        count, _, dk = query.shape
        parts = [query, *(take(f"{at}.W_{part}", (count, d, dk)) for part in "KV")]
        out = take(f"{at}.W_O", (count, dk, d)).reshape(-1, d)
        bias = np.concatenate([self.tensors.bias(f"{at}.b_{part}", count, dk).reshape(-1) for part in "QKV"])
        stacked = np.concatenate([part.swapaxes(1, 2).reshape(-1, d) for part in parts])
        return heads_of(stacked, bias, out.T, count, mask, scale)

    def block(self, at: int, mask: Mask, scale: Term, activation: Activation) -> SoftLayer:
        """One block; without a network where there is no ``mlp.W_in``."""
        tensors, d, name = self.tensors, self.d, f"{self.stem}blocks.{at}"
        ffn = None
        if f"{name}.mlp.W_in" in tensors.arrays:
            inner, outer = ((f"{name}.mlp.W_{end}", f"{name}.mlp.b_{end}") for end in ("in", "out"))
            ffn = mlp(tensors, inner, outer, d, activation, turned=True)
        return SoftLayer(
            self.heads(f"blocks.{at}", mask, scale),
            tensors.bias(f"{name}.attn.b_O", d),
            ffn,
            "none" if self.kind == "none" else "pre",
            self.norm(f"blocks.{at}.ln1"),
            self.norm(f"blocks.{at}.ln2") if ffn is not None else None,
        )


def transformer_lens(tensors: Named, choices: Choices, name: str) -> SoftModel:
    """The model of weights with TransformerLens' names."""
    first, count = layers_named(tensors, NAME, "no tensor 'blocks.0.attn.W_Q': not weights of TransformerLens")
    stem = first["prefix"]
    embed = tensors.take(f"{stem}embed.W_E", (None, None))
    rows, d = embed.shape
    query = tensors.arrays[first.group()]
    if query.ndim != 3:
        raise ModelError(f"{tensors.source}: tensor {first.group()!r} has shape {query.shape}, not (heads, d, dk)")
    heads, _, dk = query.shape
    choices.demand(d_model=d, d_vocab=rows, n_layers=count, n_heads=heads, d_head=dk)
    choices.only(parallel_attn_mlp=False, gated_mlp=False, final_rms=False, use_local_attn=False)
    _uncapped(choices)
    if choices.options.heads not in (None, heads):
        raise UsageError(f"{tensors.source}: the weights have {heads} heads, not {choices.options.heads}")
    choices.note("heads", heads, "weights", "W_Q")
    kind = _normalization(tensors, choices, stem)
    reader = _Reader(tensors, stem, d, kind, choices.eps("eps") if kind != "none" else "0")
    activation: Activation = "relu"
    if f"{stem}blocks.0.mlp.W_in" in tensors.arrays:
        activation = choices.activation(("act_fn",), "relu", "TransformerLens' default")
    mask, scales = _attention(choices, dk, count)
    layers = tuple(reader.block(at, mask, scale, activation) for at, scale in enumerate(scales))
    final = reader.norm("ln_final")
    unembed = tensors.take(f"{stem}unembed.W_U", (d, None)).T
    bias = tensors.maybe(f"{stem}unembed.b_U", len(unembed))
    table = learned(tensors, choices, f"{stem}pos_embed.W_pos", d)
    parts = LayoutParts(embed, table, layers, final, np.ascontiguousarray(unembed), bias, "every")
    return assembled(tensors, choices, name, parts)


def _normalization(tensors: Named, choices: Choices, stem: str) -> Kind:
    """Which LayerNorm the blocks have."""
    there = f"{stem}blocks.0.ln1.w" in tensors.arrays
    choices.used.add("normalization_type")
    found = choices.config.get("normalization_type", "unsaid")
    if there and found in ("LN", "unsaid"):
        choices.note("LayerNorm", "first", "weights", "ln1.w")
        return "LN"
    kinds: dict[object, Kind] = {"LNPre": "LNPre", None: "none"}
    if there or found not in kinds:
        message = f"config normalization_type {quote(found)} does not go with " + ("ln1.w" if there else "no ln1.w")
        if str(found).startswith("RMS"):
            message = (
                f"config normalization_type: {quote(found)} is not read, only LayerNorm (LN, LNPre) and null for none"
            )
        elif found == "unsaid":
            message = "no ln1.w, so LayerNorm is folded or absent; a configuration with normalization_type says which"
        raise ModelError(f"{tensors.source}: {message}")
    choices.note("LayerNorm", "first, folded" if found else "none", "config", "normalization_type")
    return kinds[found]


def _attention(choices: Choices, dk: int, layers: int) -> tuple[Mask, list[Term]]:
    """The mask of every head, and the factor of its scores in each layer: ``1/sqrt(dk)``, or as configured."""
    scaled = choices.flag("scores / sqrt(dk)", None, ("use_attn_scale",), True, "TransformerLens' default")
    given = choices.options.causal
    said = None if given is None else "causal" if given else "bidirectional"
    found = choices.pick("attention", said, ("attention_dir",), "causal", "TransformerLens' default")
    if found not in ("causal", "bidirectional"):
        raise ModelError(f"{choices.source}: config attention_dir: {quote(str(found))} is not causal or bidirectional")
    key, divisor = choices.key("attn_scale")
    usual = not key or str(divisor) in ("-1", "-1.0") or _near(divisor, dk**0.5)
    if not usual:
        choices.note("scores divided by", divisor, "config", key)
    scale = "1" if not scaled else f"1/sqrt({dk})" if usual else f"1/{divisor}"
    by_layer = choices.truth("scale_attn_by_inverse_layer_idx")
    if by_layer:
        choices.note("scores / layer", True, "config", "scale_attn_by_inverse_layer_idx")
    scales = [Term(f"{scale}/{at + 1}" if by_layer and at else scale) for at in range(layers)]
    return ("past" if found == "causal" else "none"), scales


def _uncapped(choices: Choices) -> None:
    """Scores and logits as they are: caps (positive numbers) change them, and no weight shows it."""
    for key in ("attn_scores_soft_cap", "output_logits_soft_cap"):
        _, cap = choices.key(key)
        if cap is not None and not str(cap).startswith("-") and not _near(cap, 0.0):
            raise ModelError(f"{choices.source}: config {key}: only -1 (no cap) is read, not {quote(str(cap))}")


def _near(text: object, number: float) -> bool:
    """Whether a configured decimal is a number up to its rounding."""
    try:
        return abs(float(str(text)) - number) <= 1e-6 * number
    except ValueError:
        return False
