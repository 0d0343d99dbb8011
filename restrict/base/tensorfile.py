"""safetensors files: the JSON header, the package's own entry in it, and the tensors; nothing of a file is run. What
reads tensors takes each of them once, and all of them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Generic, NoReturn, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from restrict.base.errors import ModelError, quote
from restrict.base.strictjson import Node, parse

FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""The types of floats, as numpy reads them; the bytes of BF16 are the upper half of a float32."""


def header_of(content: bytes) -> Any:
    """The JSON header of a file."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        raise ModelError("not a safetensors file: the header does not fit in the file")
    return parse(content[8 : 8 + length], "safetensors header")


def is_safetensors(content: bytes) -> bool:
    """Whether a file begins as safetensors do: the size of a header that fits, then its brace. The size's own bytes
    are arbitrary: they may be those of a pickle, of an archive or of a brace."""
    return content[8:9] == b"{" and int.from_bytes(content[:8], "little") <= len(content) - 8


def refuse_pickle(content: bytes, source: object) -> None:
    """Refuse what ``torch.save`` writes by its first bytes: those of an archive, or of a pickle."""
    if not is_safetensors(content) and (content[:2] == b"PK" or content[:1] == b"\x80"):
        raise ModelError(
            f"{source}: a pickle file, and loading it would run code of its author; save the state dict with "
            "safetensors.torch.save_file instead"
        )


def described(content: bytes, what: str) -> Node:
    """The JSON object in the metadata entry ``restrict``; ``what`` it describes, and where to read about it."""
    header = header_of(content)
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else {}
    if not isinstance(metadata, dict) or not isinstance(metadata.get("restrict"), str):
        raise ModelError(f"the metadata has no entry 'restrict' that describes {what}")
    return Node(parse(metadata["restrict"].encode(), "metadata 'restrict'"), "top level")


def arrays_of(
    content: bytes, types: Mapping[str, str], skip: re.Pattern[str] | None = None
) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The tensors of a file by name, of one of ``types`` (BF16 becomes float32), without names that ``skip``
    matches."""
    from safetensors import SafetensorError, deserialize

    try:
        entries = deserialize(content)  # type: ignore[no-untyped-call] # safetensors has no types for it
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"not a safetensors file: {quote(str(error))}") from None
    for name, entry in entries:
        if skip is not None and skip.fullmatch(name):
            continue
        kind = entry["dtype"]
        if kind not in types:
            raise ModelError(f"tensor {quote(name)} has type {kind}; known are {', '.join(types)}")
        flat = np.frombuffer(bytes(entry["data"]), dtype=types[kind])
        if kind == "BF16":
            flat = (flat.astype("<u4") << 16).view("<f4")
        yield name, flat.reshape(entry["shape"])


class Shaped(Protocol):
    """An array of some kind."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""


A = TypeVar("A", bound=Shaped)


def fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    """Whether an array of this shape is one that is wanted; ``None`` stands for any size."""
    return len(shape) == len(wanted) and all(w in (None, h) for h, w in zip(shape, wanted, strict=True))


def misfit(name: str, shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> str:
    """What is said of an array of another shape."""
    sizes = ", ".join("any" if size is None else str(size) for size in wanted)
    return f"tensor {name!r} has shape {shape}, not ({sizes})"


FIELDS = {"in": "inner", "in_bias": "inner_bias", "out": "outer", "out_bias": "outer_bias"}
"""What records call the tensors of a network."""
NONE: Mapping[str, int] = {}


class Taken(Generic[A]):
    """Arrays by name; one that nobody takes is an error, as it could change what the model computes. ``layout``: what
    it is then no part of; ``source`` begins every message, where one is given."""

    def __init__(self, arrays: Mapping[str, A], layout: str, source: str = "") -> None:
        self.arrays, self.unused, self.layout, self.source = dict(arrays), set(arrays), layout, source

    def fail(self, reason: str) -> NoReturn:
        """An error about the arrays."""
        raise ModelError(f"{self.source}: {reason}" if self.source else reason)

    def has(self, name: str) -> bool:
        """Whether there is such an array."""
        return name in self.arrays

    def take(self, name: str, shape: tuple[int | None, ...] | None = None) -> A:
        """The array of this name; of this shape and not empty, where one is given (``None``: any size)."""
        if name not in self.arrays:
            self.fail(f"the tensor {name!r} is missing")
        self.unused.discard(name)
        found = self.arrays[name]
        if shape is not None and (not fits(found.shape, shape) or 0 in found.shape):
            self.fail(misfit(name, found.shape, shape))
        return found

    def maybe(self, name: str, *shape: int) -> A:
        """The array of this name and shape; zero where there is none."""
        return self.take(name, shape) if name in self.arrays else self.zeros(*shape)

    def table(self, place: str, axes: Mapping[str, tuple[str, ...]], known: Mapping[str, int] = NONE) -> dict[str, A]:
        """Arrays by the names of their axes, as the trusted checker has such tables, by :data:`FIELDS`. An axis has one
        size; what ends in ``_bias`` may be missing."""
        sizes, found = dict(known), dict[str, A]()
        for name, own in axes.items():
            full, bias = f"{place}.{name}", name.endswith("_bias")
            array = self.maybe(full, sizes[own[0]]) if bias else self.take(full, tuple(sizes.get(a) for a in own))
            found[FIELDS.get(name, name)] = array
            sizes |= zip(own, array.shape, strict=True)
        return found

    def zeros(self, *shape: int) -> A:
        """The array of so many zeros."""
        return cast(A, np.zeros(shape))

    def finish(self) -> None:
        """Refuse tensors that were not taken."""
        if self.unused:
            self.fail(f"tensor {quote(min(self.unused))} is not part of {self.layout}")
