"""Masks that libraries store beside weights: ``attn.bias`` and ``attn.masked_bias`` of GPT-2, ``attn.mask`` and
``attn.IGNORE`` of TransformerLens. They are no parameters, but they say what a position sees. So each must be a mask
that is read: a window, or a learned bias that has this name, is another function, and refused. TransformerLens stores a
causal mask beside models that do not use it (``attention_dir`` bidirectional), so its masks tell no direction."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from restrict.base.errors import ModelError, quote
from restrict.soft.models.model import Floats, Mask

MASK = re.compile(r".*\.attn\.(bias|masked_bias)|(?:.*\.)?blocks\.\d+\.attn\.(mask|IGNORE)")
HIDDEN = -1e3
"""What stands for a masked score is at most this: libraries take -1e4, -1e5, -1e9 or minus infinity."""


def without_masks(arrays: Mapping[str, Any], source: str) -> tuple[dict[str, Any], Mask | None]:
    """The tensors that are no masks, and what the masks show to a position: ``past``, or ``none`` for the whole word;
    ``None`` where there is no mask. ``ModelError``: a mask of another kind, or masks that differ."""
    seen: dict[Mask, str] = {}
    for name, stored in arrays.items():
        if MASK.fullmatch(name) and (kind := _kind(name, stored, source)) is not None:
            seen[kind] = name
    if len(seen) > 1:
        raise ModelError(f"{source}: the masks {quote(seen['past'])} and {quote(seen['none'])} differ")
    return {name: a for name, a in arrays.items() if not MASK.fullmatch(name)}, next(iter(seen), None)


def _kind(name: str, stored: Any, source: str) -> Mask | None:
    """What a mask shows; nothing for the number that stands for a masked score."""
    a: Floats = np.asarray(getattr(stored, "tolist", lambda: stored)(), dtype=np.float64)
    if name.endswith(("masked_bias", "IGNORE")):
        if a.size != 1 or not a.max() <= HIDDEN:
            raise ModelError(f"{source}: the tensor {quote(name)} is no large negative number, which hides a score")
        return None
    shape = a.shape
    if len(shape) >= 2 and shape[-1] == shape[-2] == a.size**0.5 > 0:
        square = a.reshape(shape[-2:])
        if (square == 1).all():
            return "none" if len(square) > 1 else None  # one position sees itself either way
        if np.array_equal(square, np.tri(len(square))):
            return "past"
    raise ModelError(f"{source}: the tensor {quote(name)} is no causal mask: windows and learned biases are not read")
