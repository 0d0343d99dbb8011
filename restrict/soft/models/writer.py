"""Writing ``restrict-soft/1`` files: the same model gives the same bytes (docs/soft-format.md)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from restrict.base.errors import UsageError
from restrict.soft.models.shapes import shaped

if TYPE_CHECKING:
    from restrict.soft.models.model import Floats, SoftLayer, SoftModel

FORMAT = "restrict-soft/1"


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
    positions: dict[str, Any] = {"kind": model.positions.kind}
    if model.positions.kind != "none":
        positions["combine"] = model.positions.combine
    if model.positions.kind == "terms":
        positions["terms"] = [t.text for t in model.positions.terms]
    output = model.output
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
