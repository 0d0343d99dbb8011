"""Weights with GPT-2's names (``wte``, ``wpe``, ``h.0.attn.c_attn``, ``ln_f``, ``lm_head`` or a classifier's head)."""

import re

import numpy as np

from restrict.base.errors import ModelError
from restrict.base.tensorfile import fits
from restrict.soft.importers import blocks
from restrict.soft.importers.named import Named
from restrict.soft.importers.settings import Choices
from restrict.soft.models.model import Floats, Mask, Norm, Place, SoftModel
from restrict.soft.models.terms import Term

NAME = re.compile(r"(?P<prefix>(?:.*\.)?)h\.(?P<layer>\d{1,4})\.attn\.c_attn\.weight")
MAPS = ("attn.c_attn.", "attn.c_proj.", "mlp.c_fc.", "mlp.c_proj.")
INNER = ("n_inner", "intermediate_size")
HEADS: dict[str, Place] = {"lm_head": "every", "score": "last", "classifier": "every"}
"""The heads of a language model, of a classifier of words and of one of tokens, and where transformers reads them."""


def gpt2(tensors: Named, choices: Choices, name: str) -> SoftModel:
    """The model of weights with GPT-2's names."""
    first, count = blocks.layers_named(tensors, NAME, "no tensor 'h.0.attn.c_attn.weight': not a GPT-2 model")
    stem = first["prefix"]
    embed = tensors.take(f"{stem}wte.weight", (None, None))
    rows, d = embed.shape
    choices.demand(n_embd=d, hidden_size=d, n_layer=count, vocab_size=rows)
    choices.only(model_type="gpt2", attention="softmax", add_cross_attention=False)
    count_of_heads = choices.heads(d, "n_head", "num_attention_heads")
    activation = choices.activation(("activation_function",), "gelu_new", "GPT-2's")
    eps = choices.eps("layer_norm_epsilon")
    fixed = choices.options
    if fixed.norm_first is False or fixed.causal is False:
        raise ModelError(f"{tensors.source}: GPT-2's layers are causal, with LayerNorm first")
    norm = _norm(choices)
    mask: Mask = "none" if choices.truth("causal") is False else "past"
    choices.demand_mask(mask)
    where = {"post": "LayerNorm last", "pre": "LayerNorm first", "none": "no LayerNorm"}[norm]
    told = f"{count}, {where}, {'no mask' if mask == 'none' else 'causal'}"
    choices.note("layers", told, "weights", "GPT-2's names")
    if _linear(tensors, f"{stem}h.0", d):
        choices.note("matrices", "output by input", "weights", "c_attn, as nanoGPT's; query, key, value in this order")
    scales = _scales(choices, d // count_of_heads, count)
    table = blocks.learned(tensors, choices, f"{stem}wpe.weight", d)
    block, layers = blocks.LayerSettings(d, count_of_heads, mask, activation, norm, eps), []
    for at, scale in enumerate(scales):  # GPT-2 stores (inputs, outputs)
        place = f"{stem}h.{at}"
        layers.append(block.layer(tensors, place, MAPS, "ln_", scale, not _linear(tensors, place, d)))
    if layers and layers[0].ffn is not None:
        choices.demand(**dict.fromkeys(INNER, len(layers[0].ffn.inner)))
    final = blocks.final_norm(tensors, choices, f"{stem}ln_f", d, eps)
    choices.demand(final_norm=final is not None)
    if norm == "none" and final is not None:
        raise ModelError(f"{tensors.source}: config layer_norm is false, and the weights have {stem}ln_f")
    head, kind = _head(tensors, stem.removesuffix("transformer."))
    if kind == "lm_head":
        unembed, labels = _unembed(tensors, choices, embed, head), None
    else:
        unembed = tensors.take(f"{head}.weight", (None, d))
        choices.note("unembedding", head, "weights")
        labels = _classes(choices, len(unembed))
    bias = tensors.maybe(f"{head}.bias", len(unembed))
    parts = blocks.LayoutParts(embed, table, tuple(layers), final, unembed, bias, HEADS[kind], labels)
    return blocks.assembled(tensors, choices, name, parts)


def _head(tensors: Named, outer: str) -> tuple[str, str]:
    """The module that the output is read by, and which of ``HEADS`` it is: the language model's, which may be tied,
    where there is no other. ``outer``: the prefix of what the whole model was wrapped in (``module.``), if it was."""
    found = [(stem + head, head) for head in HEADS for stem in dict.fromkeys(("", outer))
             if f"{stem}{head}.weight" in tensors.arrays]  # fmt: skip
    if len(found) > 1:
        raise ModelError(f"{tensors.source}: {found[0][0]}.weight and {found[1][0]}.weight: which one is the read-out?")
    return found[0] if found else (f"{outer}lm_head", "lm_head")


def _classes(choices: Choices, rows: int) -> tuple[str, ...] | None:
    """The names of classes, as transformers stores them: ``id2label``. One row has one name, which is that of no
    answer: a score, whose sign is read."""
    found = choices.key("id2label")[1]
    choices.used |= {"label2id", "num_labels", "problem_type", "tie_word_embeddings"}
    if rows == 1:
        return None
    if found is None:
        return tuple(f"label{k}" for k in range(rows))
    given = [found.get(str(k), found.get(k)) for k in range(rows)] if isinstance(found, dict) else []
    names = [name for name in given if isinstance(name, str) and name]
    if len(set(names)) < rows or len(found) != rows:
        raise ModelError(f"{choices.source}: config id2label: expected {rows} different names, for 0 .. {rows - 1}")
    return tuple(names)


def _scales(choices: Choices, dk: int, layers: int) -> list[Term]:
    """The factor of the scores in each layer."""
    plain = not choices.flag("scores / sqrt(dk)", None, ("scale_attn_weights",), True, "GPT-2's")
    by_layer = choices.flag("scores / layer", None, ("scale_attn_by_inverse_layer_idx",), False, "GPT-2's")
    base = "1" if plain else f"1/sqrt({dk})"
    return [Term(f"{base}/{at + 1}" if by_layer and at else base) for at in range(layers)]


def _unembed(tensors: Named, choices: Choices, embed: Floats, head: str) -> Floats:
    """The read-out's matrix: ``head``, or the embedding again."""
    key, name = "tie_word_embeddings", f"{head}.weight"
    tied, there = choices.truth(key), name in tensors.arrays
    if tied is False and not there:
        raise ModelError(f"{tensors.source}: the tensor {name!r} is missing, and config {key} is false")
    if not there and choices.config.get("architectures") == ["GPT2Model"]:
        raise ModelError(f"{tensors.source}: config architectures: GPT2Model has no read-out, and neither has the file")
    found = tensors.take(name, (None, embed.shape[1])) if there else embed
    same = not there or np.array_equal(found, embed)
    if tied and not same:
        raise ModelError(f"{tensors.source}: {name} differs from wte.weight, and config {key} is true")
    choices.note("unembedding", "the embedding (tied)" if same else head, "weights")
    return found


def _linear(tensors: Named, stem: str, d: int) -> bool:
    """Whether a layer's matrices are stored output by input, as ``nn.Linear`` has them: nanoGPT's and others of its
    kind. The shape of ``c_attn`` tells it, that of ``c_proj`` does not."""
    return fits(getattr(tensors.arrays.get(f"{stem}.attn.c_attn.weight"), "shape", ()), (3 * d, d))


def _norm(choices: Choices) -> Norm:
    """Where LayerNorm stands, by the configuration."""
    last, none = (choices.truth(name) is False for name in ("norm_first", "layer_norm"))
    if last and none:
        raise ModelError(f"{choices.source}: config layer_norm and norm_first: none, or behind each half of a block?")
    return "none" if none else "post" if last else "pre"
