"""What stands in the files of a checkpoint: its tensors, and where its configuration says that the answer is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.base.errors import ModelError, quote

FINITE = 2.0**40
"""Weights are smaller than this, as in the checker; others are refused, as are infinities and NaN."""


def tensors_of(content: bytes, source: str) -> dict[str, npt.NDArray[np.float64]]:
    """The tensors of a safetensors file in float64, which holds every float32 exactly."""
    from safetensors import SafetensorError, numpy

    try:
        found = numpy.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelError(f"{source}: not a safetensors file that can be read: {quote(str(error))}") from None
    for key, value in found.items():
        if value.dtype not in (np.float16, np.float32, np.float64):
            if re.fullmatch(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias", key):
                continue
            raise ModelError(f"{source}: the tensor {key} has type {value.dtype}, not float32")
        if not (np.abs(value.astype(np.float64)) < FINITE).all():
            raise ModelError(f"{source}: the tensor {key} has an entry that is NaN, infinite or beyond 2^40")
    return {key: value.astype(np.float64) for key, value in found.items()}


def read_place(config: Mapping[str, Any], bos: int | None, end: int | None, source: str) -> tuple[int | None, bool]:
    """The row of the token at which the answer is read, once it has attended to the whole word, and whether it stands
    in front of the word; ``None``: the answer behind a prefix is read at its last symbol. ``bos``, ``end``: the rows of
    the tokens pinned in front and behind."""
    place, causal, layers = config.get("place"), config.get("causal", True), config.get("n_layer")
    said = "" if place is None else f"the answer is read at {quote(place)}, "

    def fail(reason: str) -> ModelError:
        return ModelError(f"{source}: config place: {said}{reason}")

    if place not in (None, "last", "every", "first"):
        raise fail("not first, last or every")
    if type(causal) is not bool:
        raise ModelError(f"{source}: config causal: expected true or false, not {quote(causal)}")
    if place == "first":
        if end is not None:
            raise fail("and a token is pinned behind the word (end_marker_token_id): no verdict covers both")
        if bos is None:
            raise fail("but there is no start token (bos_token_id), so that is the first symbol's place")
        if causal:
            raise fail("which sees nothing of the word unless causal is false")
        return bos, True
    if end is not None and place != "last":
        raise fail("where a token is pinned behind the word (end_marker_token_id) only last is covered")
    if not causal and (place != "last" or layers != 1):
        raise fail("without a causal mask: that is covered in one layer, read at the first place or the last")
    return end, False
