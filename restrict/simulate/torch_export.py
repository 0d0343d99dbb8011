"""A softmax model at one length as an ``nn.Module`` of PyTorch: standard attention, an explicit unembedding.

The parameters are those of the ``restrict-soft/1`` model, rounded to the type; position embeddings and inverse
temperatures are those of the length. The file is safetensors with the module's state dict under its own names and the
structure as JSON; it is made without PyTorch, and loading it never runs code from it. PyTorch is imported in the
functions that need it, and is not a dependency.

Invariant: the module computes what :func:`.evaluate.logits` computes at every position, up to the order of
summation.
"""

import json
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.base.errors import ModelError, NotEstablished, UsageError
from restrict.base.files import read_bytes, write_bytes
from restrict.soft.models.model import Mask, SoftHead, SoftLayer, SoftModel, visible

FORMAT = "restrict-torch/1"
KINDS = ("float32", "float64")
Arrays = dict[str, npt.NDArray[Any]]


def state_of(model: SoftModel, n: int, kind: str = "float32") -> Arrays:
    """The arrays of the module's parameters and buffers, ``float32`` or ``float64``, at a length. ``UsageError``:
    another type or length; ``ModelError``: not defined there; ``NotEstablished``: LayerNorm, GELU, additive scores,
    sets of labels."""
    if kind not in KINDS:
        raise UsageError(f"the type {kind!r} must be one of {', '.join(KINDS)}")
    for what in (*model.special, *(["sets of labels"] if model.output.kind == "signs" else [])):
        raise NotEstablished(f"the export to PyTorch has no {what}")
    n, width = model.check_length(n), model.width
    token = np.zeros((len(model.symbols), width))
    token[:, : model.embed.shape[1]] = model.embed
    place, found = model.positions.at(n), np.zeros((n, width))
    if place is not None:
        found[:, width - place.shape[1] :] = place
    state: Arrays = {"token.weight": token, "position": found}
    for at, layer in enumerate(model.layers):
        state |= {f"layers.{at}.{name}": array for name, array in _layer_state(layer, n).items()}
    state |= {"unembed.weight": model.output.unembed, "unembed.bias": model.output.bias}
    return {name: np.ascontiguousarray(array, dtype=kind) for name, array in state.items()}


def _layer_state(layer: SoftLayer, n: int) -> Arrays:
    found: Arrays = {"bias": layer.attention_bias}
    for h, head in enumerate(layer.heads):
        found |= {f"heads.{h}.{name}": array for name, array in _head_state(head, n).items()}
    if layer.ffn is not None:
        found |= {"inner.weight": layer.ffn.inner, "inner.bias": layer.ffn.inner_bias}
        found |= {"outer.weight": layer.ffn.outer, "outer.bias": layer.ffn.outer_bias}
    return found


def _head_state(head: SoftHead, n: int) -> Arrays:
    return {
        "query.weight": head.query, "query.bias": head.query_bias, "key.weight": head.key, "key.bias": head.key_bias,
        "value.weight": head.value, "value.bias": head.value_bias, "output.weight": head.output,
        "scale": np.array(head.scale.value(0, n)),
    }  # fmt: skip


def structure_of(model: SoftModel, n: int) -> dict[str, Any]:
    """What the state dict does not say, as JSON: heads' masks, which layers have a network, symbols, labels."""
    layers = [{"masks": [h.mask for h in layer.heads], "network": layer.ffn is not None} for layer in model.layers]
    return {
        "format": FORMAT, "name": model.name, "n": n, "symbols": list(model.symbols), "layers": layers,
        "labels": list(model.output.labels), "kind": model.output.kind, "position": model.output.place,
    }  # fmt: skip


def save(model: SoftModel, n: int, path: Path, kind: str = "float32") -> None:
    """Write the module's safetensors file.

    Args:
        model: as :func:`state_of`.
        n: the length.
        path: where.
        kind: ``float32`` or ``float64``.

    Raises:
        UsageError: as :func:`state_of`, or the file cannot be written.
        ModelError: as :func:`state_of`.
        NotEstablished: as :func:`state_of`.
    """
    from safetensors import numpy

    text = json.dumps(structure_of(model, n), ensure_ascii=False)
    write_bytes(path, bytes(numpy.save(state_of(model, n, kind), {"restrict": text})))


def load_module(path: Path) -> Any:
    """The ``nn.Module`` of a file.

    Args:
        path: what :func:`save` wrote.

    Returns:
        The module, in evaluation mode. PyTorch must be installed.

    Raises:
        ModelError: another kind of file.
        UsageError: the file cannot be read.
        ResourceLimit: the file is over the size limit of the package.
    """
    from safetensors import SafetensorError, numpy, safe_open

    content = read_bytes(path)
    try:
        arrays = numpy.load(content)
        with safe_open(str(path), "numpy") as opened:
            structure = json.loads((opened.metadata() or {}).get("restrict", "{}"))
    except (SafetensorError, ValueError, RecursionError):
        raise ModelError(f"{path}: this is no {FORMAT} file") from None
    if not isinstance(structure, dict) or structure.get("format") != FORMAT:
        raise ModelError(f"{path}: this is no {FORMAT} file")
    return _module(structure, arrays)


def to_module(model: SoftModel, n: int, kind: str = "float32") -> Any:
    """The ``nn.Module`` of a model at one length.

    Args:
        model: as :func:`state_of`.
        n: the length.
        kind: ``float32`` or ``float64``.

    Returns:
        The module, in evaluation mode; called with token indices (batch, n) it gives logits (batch, n, labels).
        PyTorch must be installed.

    Raises:
        UsageError: as :func:`state_of`.
        ModelError: as :func:`state_of`.
        NotEstablished: as :func:`state_of`.
    """
    return _module(structure_of(model, n), state_of(model, n, kind))


def _module(structure: dict[str, Any], arrays: Arrays) -> Any:
    """Build the module and load the arrays, every one of them."""
    import torch

    kind = torch.float64 if arrays["token.weight"].dtype == np.float64 else torch.float32
    made = _classes()(structure, arrays).to(kind)
    made.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, strict=True)
    return made.eval()


def _linear(arrays: Arrays, name: str) -> Any:
    """A linear layer of the shape of its weights."""
    from torch import nn

    rows, columns = arrays[f"{name}.weight"].shape
    return nn.Linear(columns, rows, bias=f"{name}.bias" in arrays)


def _averaged(scores: Any, values: Any) -> Any:
    """Values weighted by softmax, as :func:`.evaluate.averaged`: the division comes after the sum."""
    import torch

    top = scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    weights = torch.exp(scores - top)
    total = weights.sum(dim=-1, keepdim=True).clamp(min=1.0)  # at least 1, except where nothing is visible
    return (weights @ values) / total


def _classes() -> Any:
    """The class of the module; made when PyTorch is there."""
    import torch
    from torch import nn

    base: Any = nn.Module

    class ExportedHead(base):
        """Standard attention: softmax of scaled dot products; 0 where the mask leaves nothing."""

        def __init__(self, arrays: Arrays, place: str, mask: Mask, n: int) -> None:
            super().__init__()
            self.query, self.key, self.value, self.output = (
                _linear(arrays, f"{place}.{name}") for name in ("query", "key", "value", "output")
            )
            self.register_buffer("scale", torch.zeros(()))
            seen = torch.from_numpy(visible(mask, np.arange(n), n))
            self.register_buffer("seen", seen, persistent=False)

        def forward(self, x: Any) -> Any:
            scores = self.query(x) @ self.key(x).transpose(1, 2) * self.scale
            return self.output(_averaged(scores.masked_fill(~self.seen, float("-inf")), self.value(x)))

    class ExportedLayer(base):
        """Heads side by side, then the network, both added to the residual stream."""

        def __init__(self, arrays: Arrays, place: str, shape: dict[str, Any], n: int) -> None:
            super().__init__()
            masks = enumerate(shape["masks"])
            self.heads = nn.ModuleList(ExportedHead(arrays, f"{place}.heads.{h}", mask, n) for h, mask in masks)
            self.bias = nn.Parameter(torch.zeros(arrays[f"{place}.bias"].shape))
            self.network = bool(shape["network"])
            if self.network:
                self.inner, self.outer = _linear(arrays, f"{place}.inner"), _linear(arrays, f"{place}.outer")

        def forward(self, x: Any) -> Any:
            moved = x + self.bias
            for head in self.heads:
                moved = moved + head(x)
            return moved + self.outer(torch.relu(self.inner(moved))) if self.network else moved

    class SoftTransformer(base):
        """Token and position embeddings, layers, unembedding: logits at every position."""

        def __init__(self, structure: dict[str, Any], arrays: Arrays) -> None:
            super().__init__()
            self.structure = structure
            self.token = nn.Embedding(*arrays["token.weight"].shape)
            self.position = nn.Parameter(torch.zeros(arrays["position"].shape))
            shapes, n = enumerate(structure["layers"]), structure["n"]
            self.layers = nn.ModuleList(ExportedLayer(arrays, f"layers.{at}", shape, n) for at, shape in shapes)
            self.unembed = _linear(arrays, "unembed")

        def forward(self, tokens: Any) -> Any:
            return self.unembed(reduce(lambda x, layer: layer(x), self.layers, self.token(tokens) + self.position))

    return SoftTransformer
