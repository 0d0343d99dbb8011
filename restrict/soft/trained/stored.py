"""What stands in the files of a checkpoint: its tensors, read under their names, and where its configuration says that
the answer is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from restrict.base.errors import ModelError, quote
from restrict.base.options import Fact
from restrict.base.tensorfile import Taken, refuse_pickle

Array = npt.NDArray[np.float64]
FINITE: Fact[float] = 2.0**40
"""Weights are smaller than this, as in the checker; others are refused, as are infinities and NaN."""

CONVERT = "`restrict soft import FILE --weights NEW.safetensors`"
MASK = re.compile(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias")
LENS = re.compile(r"blocks\.\d+\.attn\.(mask|IGNORE)")
"""Of TransformerLens, whose files are refused by the names of their weights, not by the types of these."""
LARGEST_SIZE: Fact[int] = 1 << 20
"""Of a width, a vocabulary or a number of positions."""


class Norm(NamedTuple):
    """A LayerNorm: weight and bias, each of shape ``(d,)``."""

    weight: Array
    bias: Array


class StoredLinear(NamedTuple):
    """``x @ weight + bias``: weight of shape ``(inputs, outputs)``."""

    weight: Array
    bias: Array


class StoredLayer(NamedTuple):
    """One block; ``norm1`` stands in front of attention, ``norm2`` in front of the network, where there are any;
    ``attention`` has 3 d outputs (query, key, value), ``inner`` and ``outer`` are the network's."""

    norm1: Norm | None
    attention: StoredLinear
    projection: StoredLinear
    norm2: Norm | None
    inner: StoredLinear
    outer: StoredLinear


def tensors_of(content: bytes, source: str) -> dict[str, Array]:
    """The tensors of a safetensors file in float64, which holds every float32 exactly."""
    from safetensors import SafetensorError, numpy

    refuse_pickle(content, source)
    if b'"BF16"' in content[: 8 + int.from_bytes(content[:8], "little")]:
        raise ModelError(f"{source}: tensors of bfloat16; {CONVERT.replace('FILE', source)} writes the same numbers")
    try:
        found = numpy.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelError(f"{source}: not a safetensors file that can be read: {quote(str(error))}") from None
    found = {key: value for key, value in found.items() if not LENS.fullmatch(key)}
    for key, value in found.items():
        if value.dtype not in (np.float16, np.float32, np.float64):
            if MASK.fullmatch(key):
                continue
            raise ModelError(f"{source}: the tensor {key} has type {value.dtype}, not float32")
        if not (np.abs(value.astype(np.float64)) < FINITE).all():
            raise ModelError(f"{source}: the tensor {key} has an entry that is NaN, infinite or beyond 2^40")
    return {key: value.astype(np.float64) for key, value in found.items()}


class Reader(Taken[Array]):
    """The fields of a configuration and the tensors of a file; each fault is one line with the place."""

    def __init__(self, config: Mapping[str, Any], tensors: dict[str, Array], source: str) -> None:
        super().__init__(tensors, "GPT-2's block", source)
        self.config = config
        self.prefix = "transformer." if any(key.startswith("transformer.") for key in tensors) else ""

    def size(self, key: str, *instead: int) -> int:
        """A positive integer of the configuration."""
        value = self.config.get(key)
        if value is None and instead:
            return instead[0]
        if type(value) is not int or not 1 <= value <= LARGEST_SIZE:
            self.fail(f"config {key}: expected an integer in 1 .. {LARGEST_SIZE}, not {quote(value)}")
        return value

    def token(self, key: str, rows: int) -> int | None:
        """The row of a special token by its key, or ``None`` where the configuration has none."""
        value = self.config.get(key)
        if value is not None and (type(value) is not int or not 0 <= value < rows):
            self.fail(
                f"config {key}: {quote(value)} is not a row of the embedding (0 .. {rows - 1}): give the token's, or "
                "null where there is none"
            )
        return value

    def tensor(self, name: str, *shape: int) -> Array:
        """A tensor of exactly this shape."""
        return self.take(name if self.has(name) else self.prefix + name, shape)

    def flag(self, key: str, otherwise: bool) -> bool:
        """What the configuration says of a key, true or false."""
        value = self.config.get(key, otherwise)
        if type(value) is not bool:
            self.fail(f"config {key}: expected true or false, not {quote(value)}")
        return value

    def norm(self, name: str, d: int) -> Norm | None:
        """A LayerNorm, unless the configuration says that there is none."""
        if not self.flag("layer_norm", True):
            return None
        return Norm(self.tensor(f"{name}.weight", d), self.tensor(f"{name}.bias", d))

    def linear(self, name: str, inputs: int, outputs: int) -> StoredLinear:
        """A map with its bias."""
        return StoredLinear(self.tensor(f"{name}.weight", inputs, outputs), self.tensor(f"{name}.bias", outputs))

    def layer(self, number: int, d: int, inner: int) -> StoredLayer:
        """The weights of a block by its number."""
        h = f"h.{number}."
        return StoredLayer(
            self.norm(h + "ln_1", d),
            self.linear(h + "attn.c_attn", d, 3 * d),
            self.linear(h + "attn.c_proj", d, d),
            self.norm(h + "ln_2", d),
            self.linear(h + "mlp.c_fc", d, inner),
            self.linear(h + "mlp.c_proj", inner, d),
        )

    def finish(self) -> None:
        """Nothing may be left over but masks: a tensor that is not read is a model that is not understood."""
        self.unused = {name for name in self.unused if not MASK.fullmatch(name)}
        super().finish()


def read_place(read: Reader, bos: int | None, end: int | None) -> tuple[int | None, bool]:
    """The row of the token at which the answer is read, once it has attended to the whole word, and whether it stands
    in front of the word; ``None``: the answer behind a prefix is read at its last symbol. ``bos``, ``end``: the rows of
    the tokens pinned in front and behind."""
    place, causal, layers = read.config.get("place"), read.flag("causal", True), read.config.get("n_layer")

    def fail(reason: str) -> NoReturn:
        read.fail(f"config place: {'' if place is None else f'the answer is read at {quote(place)}, '}{reason}")

    if place not in (None, "last", "every", "first"):
        fail("not first, last or every")
    if place == "first":
        if end is not None:
            fail("and a token is pinned behind the word (end_marker_token_id): no verdict covers both")
        if bos is None:
            fail("but there is no start token (bos_token_id), so that is the first symbol's place")
        if causal:
            fail("which sees nothing of the word unless causal is false")
        return bos, True
    if end is not None and place != "last":
        fail("where a token is pinned behind the word (end_marker_token_id) only last is covered")
    if not causal and (place != "last" or layers != 1):
        fail("without a causal mask: that is covered in one layer, read at the first place or the last")
    return end, False
