"""Arrays by name: each is taken once and every one must be used, so a layer that is not understood is an error."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from restrict.base.errors import ModelError, quote
from restrict.base.files import read_bytes
from restrict.base.tensorfile import FLOATS, Taken, arrays_of, refuse_pickle
from restrict.soft.models.format import Tensors
from restrict.soft.models.model import Floats

Arrays = Mapping[str, Any]
NUMBERS = FLOATS | {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}
"""The types that masks are stored as."""


class Named(Taken[Floats]):
    """Arrays by name; ``finish`` refuses those that were not taken, and files with some biases only."""

    def __init__(self, arrays: Arrays, source: str) -> None:
        super().__init__({name: as_array(name, a, source) for name, a in arrays.items()}, "this kind of model", source)
        self.biases: dict[str, bool] = {}

    def bias(self, name: str, *shape: int) -> Floats:
        """A bias of a layer, zero where there is none; a file has all of them or none (``bias=False``)."""
        self.biases[name] = self.has(name)
        return self.maybe(name, *shape)

    def finish(self) -> None:
        """Refuse tensors that were not read, and a part of the biases without the others."""
        super().finish()
        missing = [name for name, there in self.biases.items() if not there]
        if missing and len(missing) < len(self.biases):
            self.fail(f"the tensor {missing[0]!r} is missing, and other biases are there")


def as_array(name: str, a: Any, source: str) -> Floats:
    """A tensor as float64. ``a``: an array, or a tensor of torch, which numpy cannot read where it is bfloat16.
    ``source``: where it comes from, for messages."""
    for step in ("detach", "cpu", "double"):
        a = getattr(a, step)() if hasattr(a, step) else a
    try:
        found = np.asarray(a, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ModelError(f"{source}: tensor {quote(name)} is no array of numbers") from None
    if not np.isfinite(found).all():
        raise ModelError(f"{source}: tensor {quote(name)} has an entry that is infinite or not a number")
    return found


def read_arrays(path: str | Path, masks: re.Pattern[str] | None = None) -> dict[str, Any]:
    """The tensors of a safetensors file. Those whose whole names match ``masks`` may have other types than floats."""
    content = read_bytes(Path(path))
    refuse_pickle(content, path)
    try:
        found: dict[str, Any] = Tensors(content, masks).arrays
        if masks is not None:
            others = re.compile(rf"(?!(?:{masks.pattern})\Z).*", re.DOTALL)
            found |= arrays_of(content, NUMBERS, others)
        return found
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
