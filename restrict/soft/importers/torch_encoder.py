"""The state dict of an ``nn.TransformerEncoder`` with an embedding and a read-out. A state dict says neither how many
heads there are, nor the activation, nor where the norms stand, nor the mask: those come from the caller, a
configuration (``nhead``, ``norm_first``, ``activation``, ``layer_norm_eps``) or the module, or are PyTorch's defaults,
and then noted as assumed."""

import re
from collections.abc import Mapping, Sequence

from restrict.base.errors import ModelError
from restrict.base.tensorfile import fits
from restrict.soft.importers.blocks import LayerSettings, LayoutParts, assembled, final_norm, layers_named
from restrict.soft.importers.named import Named
from restrict.soft.importers.settings import Choices
from restrict.soft.models.model import Floats, Mask, SoftModel
from restrict.soft.models.terms import Term

NAME = re.compile(r"(?:(?P<prefix>.*)\.)?layers\.(?P<layer>\d{1,4})\.self_attn\.in_proj_weight")
MAPS = ("self_attn.in_proj_", "self_attn.out_proj.", "linear1.", "linear2.")
ROLES = {"embedding": ("embed", "emb", "wte"), "unembedding": ("head", "out", "classifier", "fc", "unembed", "linear")}


def torch_encoder(tensors: Named, choices: Choices, name: str) -> SoftModel:
    """The model around an ``nn.TransformerEncoder``."""
    stem, d, count = _encoder(tensors)
    choices.demand(d_model=d, num_layers=count, n_layer=count)
    heads = choices.heads(d, "nhead", "num_heads", "n_head")
    first = choices.flag("LayerNorm first", choices.options.norm_first, ("norm_first",), False, "PyTorch's default")
    activation = choices.activation(("activation",), "relu", "PyTorch's default")
    eps = choices.eps("layer_norm_eps")
    causal = choices.flag("causal mask", choices.options.causal, ("causal", "is_causal"), False, "the call decides it")
    mask: Mask = "past" if causal else "none"
    block = LayerSettings(d, heads, mask, activation, "pre" if first else "post", eps)
    scale = Term(f"1/sqrt({d // heads})")
    layers = tuple(block.layer(tensors, f"{stem}layers.{at}", MAPS, "norm", scale) for at in range(count))
    final = final_norm(tensors, choices, f"{stem}norm", d, eps)
    names = choices.options.names
    embedding = _find(tensors, names, "embedding", (_rows(choices), d))
    embed = tensors.take(embedding, (None, d))
    out = _find(tensors, names, "unembedding", (None, d))
    unembed = tensors.take(out, (None, d))
    bias = tensors.maybe(f"{out.removesuffix('weight')}bias", len(unembed))
    table = _position_table(tensors, choices, d)
    choices.note("embedding", f"{embedding}, used as it is", "assumed" if "embedding" not in names else "given")
    choices.note("unembedding", out, "assumed" if "unembedding" not in names else "given")
    parts = LayoutParts(embed, table, layers, final, unembed, bias, "last")
    return assembled(tensors, choices, name, parts)


def _rows(choices: Choices) -> int | None:
    """How many rows the embedding has, as far as the caller says it."""
    options = choices.options
    if options.alphabet is None:
        names = choices.config.get("vocab")
        return len(names) if isinstance(names, list | dict) else None
    markers = {m for m in (options.start_marker, options.end_marker) if m}
    return len(options.alphabet) + len(markers - set(options.alphabet))


def _encoder(tensors: Named) -> tuple[str, int, int]:
    """The prefix of the encoder's names, its width and its layers."""
    missing = "no tensor '...layers.0.self_attn.in_proj_weight': not an nn.TransformerEncoder"
    found, count = layers_named(tensors, NAME, missing)
    stem = f"{found['prefix']}." if found["prefix"] else ""
    first = f"{stem}layers.0.self_attn.in_proj_weight"
    if first not in tensors.arrays or tensors.arrays[first].ndim != 2:
        raise ModelError(f"{tensors.source}: the tensor {first!r} is missing or no matrix")
    return stem, int(tensors.arrays[first].shape[1]), count


def _position_table(tensors: Named, choices: Choices, d: int) -> Floats | None:
    """The table of positions: the tensor so named, or the only one left, if that is no mask."""
    given = choices.options.names.get("position")
    if given is None and (len(tensors.unused) != 1 or "mask" in min(tensors.unused).lower()):
        return None
    name = given if given is not None else min(tensors.unused)
    name = name if name in tensors.arrays else f"{name}.weight"
    shape = tensors.arrays[name].shape if name in tensors.arrays else ()
    if len(shape) > 2 and sorted(shape[:-1])[-2] == 1:  # (1, n, d) or (n, 1, d)
        tensors.arrays[name] = tensors.arrays[name].reshape(-1, shape[-1])
    why = "the only tensor left" if given is None else ""
    choices.note("position table", name, "assumed" if given is None else "given", why)
    return tensors.take(name, (None, d))


def _find(tensors: Named, names: Mapping[str, str], role: str, shape: tuple[int | None, int]) -> str:
    """The name of a tensor by its role: as given, or the only unused one of this shape (or so named)."""
    if role in names:
        return names[role] if names[role] in tensors.arrays else f"{names[role]}.weight"
    fitting = [key for key in sorted(tensors.unused) if fits(tensors.arrays[key].shape, shape)]
    hints: Sequence[str] = ROLES[role]
    hinted = [key for key in fitting if any(hint in key.lower() for hint in hints) and "pos" not in key.lower()]
    if len(hinted) > 1:  # 'embed' is part of 'unembed'
        hinted = [key for key in hinted if ("unembed" in key.lower()) == (role == "unembedding")]
    found = hinted if len(hinted) == 1 else fitting
    if len(found) != 1:
        raise ModelError(
            f"{tensors.source}: {len(found)} tensors could be the {role} ({', '.join(found) or 'none'}); name it with "
            f"--names {role}=..."
        )
    return found[0]
