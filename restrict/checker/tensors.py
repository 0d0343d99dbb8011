"""Tensors: nested lists in the model, or safetensors files beside it, read once however often they are used."""

from __future__ import annotations

import hashlib
import struct
import sys
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from .read import (
    LARGEST,
    Maybe,
    Meter,
    Place,
    anything,
    digest,
    exhausted,
    integers,
    malformed,
    read_file,
    read_json,
    record,
    short,
    shown,
    string,
    strings,
    thing,
)

TENSOR_BYTES = 1 << 30
ELEMENTS = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U32": "I", "U16": "H", "U8": "B"}
INLINE = {"axes": strings, "values": Maybe(anything)}
STORED = {"axes": strings, "file": string, "tensor": string}
HEADER = {"dtype": tuple(ELEMENTS), "shape": integers(1, LARGEST), "data_offsets": integers(0, LARGEST)}


class Entries:
    """Row-major entries, and what is learnt of them once."""

    def __init__(self, sizes: Sequence[int], data: Sequence[int], meter: Meter) -> None:
        self.sizes, self.data, self.meter = sizes, data, meter

    @cached_property
    def span(self) -> tuple[int, int]:
        """The least and the greatest entry."""
        self.meter.charge(len(self.data) // 8)
        return min(self.data), max(self.data)

    @cached_property
    def columns(self) -> list[int]:
        """The largest absolute value at each index of the last axis."""
        dim = self.sizes[-1]
        self.meter.charge(len(self.data) // 4 + 2 * dim)
        self.meter.hold(80 * dim)
        return [max(map(abs, self.data[t::dim])) for t in range(dim)]


class Tensor:
    """Entries with a name for every axis."""

    def __init__(self, place: Place, axes: list[str], entries: Entries) -> None:
        self.place, self.axes, self.sizes, self.data, self.entries = place, axes, entries.sizes, entries.data, entries

    def fit(self, sizes: Mapping[str, int]) -> None:
        """Refuse a tensor whose axes do not have these sizes (``i`` and ``j`` may be longer)."""
        for axis, size in zip(self.axes, self.sizes, strict=True):
            expected = sizes.get(axis, size)
            if size < expected or (size > expected and axis not in ("i", "j")):
                malformed(self.place, f"the axis {short(axis)} has size {size}, but {expected} is needed at this n")

    def locate(self, known: Mapping[str, int], slots: Mapping[str, int]) -> int | Callable[[tuple[int, ...]], int]:
        """The offset of an entry; an axis that is neither known nor in the slots (``dim``) counts as 0."""
        offset, moving, stride = 0, [], 1
        for axis, size in zip(reversed(self.axes), reversed(self.sizes), strict=True):
            if axis in known:
                offset += known[axis] * stride
            elif axis in slots:
                moving.append((slots[axis], stride))
            stride *= size
        if not moving:
            return offset
        if len(moving) == 1:
            (slot, step) = moving[0]
            return lambda e: offset + e[slot] * step
        return lambda e: offset + sum([e[slot] * step for slot, step in moving])


class Files:
    """The safetensors files beside the model, bound to it by their digests."""

    def __init__(self, folder: Path, listed: dict[str, Any], place: Place, meter: Meter) -> None:
        self.headers: dict[str, dict[str, Any]] = {}
        self.data: dict[str, memoryview] = {}
        self.found: dict[tuple[str, str], Entries] = {}
        self.meter, total = meter, 0
        for name, expected in listed.items():
            if name in ("", ".", "..") or any(character in name for character in "/\\\0"):
                malformed(place, "a file name has no path separator: " + shown(name))
            wanted, inside = digest(expected, place.key(name)), Place(short(name))
            content = read_file(folder / name, inside, TENSOR_BYTES - total, regular=True)
            total += len(content)
            if total > TENSOR_BYTES:
                exhausted(inside, "the tensor files are larger than 1 GiB")
            meter.hold(len(content))
            if hashlib.sha256(content).hexdigest() != wanted:
                malformed(inside, "its SHA-256 is not the one under files in the model")
            self.split(name, memoryview(content), inside)

    def split(self, name: str, content: memoryview, place: Place) -> None:
        """The header of a safetensors file, and the bytes after it."""
        length = struct.unpack_from("<Q", content)[0] if len(content) >= 8 else LARGEST
        if 8 + length > len(content):
            malformed(place, "not a safetensors file: the header is longer than the file")
        self.headers[name] = thing(read_json(bytes(content[8 : 8 + length]), place, self.meter), place)
        self.data[name] = content[8 + length :]

    def tensor(self, name: str, key: str, axes: int, place: Place) -> Entries:
        """The tensor that a model names, with so many axes."""
        if name not in self.headers:
            malformed(place.key("file"), "the file is not listed under files: " + shown(name))
        if key == "__metadata__" or key not in self.headers[name]:
            malformed(place.key("tensor"), "the file has no such tensor: " + shown(key))
        if (name, key) not in self.found:
            self.found[name, key] = self.entries(name, key, Place(short(name), short(key)))
        if len(self.found[name, key].sizes) != axes:
            malformed(place, f"the tensor has {len(self.found[name, key].sizes)} axes, not {axes}")
        return self.found[name, key]

    def entries(self, name: str, key: str, place: Place) -> Entries:
        """The entries of one tensor, which must lie in the file."""
        fields = record(self.headers[name][key], HEADER, place)
        code, shape, offsets, data = ELEMENTS[fields["dtype"]], fields["shape"], fields["data_offsets"], self.data[name]
        begin, end = offsets if len(offsets) == 2 else (0, 0)
        size = array(code).itemsize
        for width in shape:
            # Stops at the first product that is larger than the file: the shape may have any number of axes.
            size = size * width if size <= len(data) else size
        if end - begin != size or end > len(data):
            malformed(place.key("data_offsets"), "not the size of the tensor")
        entries: Sequence[int] = data[begin:end].cast(code)  # type: ignore[call-overload]
        if sys.byteorder == "big":
            self.meter.hold(size)
            swapped = array(code, data[begin:end].tobytes())
            swapped.byteswap()
            entries = swapped
        return Entries(shape, entries, self.meter)


def read_tensor(value: Any, place: Place, files: Files, allowed: Collection[str]) -> Tensor:
    """The tensor in a model, its axes among those ``allowed`` (a set: there may be thousands)."""
    stored = isinstance(value, dict) and "values" not in value
    fields = record(value, STORED if stored else INLINE, place)
    axes = fields["axes"]
    for axis in axes:
        if axis not in allowed:
            malformed(place.key("axes"), "no such axis here: " + shown(axis))
    if len(set(axes)) < len(axes):
        malformed(place.key("axes"), "an axis occurs twice")
    if stored:
        return Tensor(place, axes, files.tensor(fields["file"], fields["tensor"], len(axes), place))
    return Tensor(place, axes, flatten(fields["values"], place.key("values"), len(axes), files.meter))


def flatten(values: Any, place: Place, levels: int, meter: Meter) -> Entries:
    """Lists nested ``levels`` deep."""
    sizes, row = [], [values]
    for _ in range(levels):
        if not all(isinstance(part, list) for part in row):
            malformed(place, "fewer nested levels than axes")
        size = len(row[0])
        if size == 0 or any(len(part) != size for part in row):
            malformed(place, "the lists on one level must have equal, non-zero length")
        sizes.append(size)
        meter.hold(8 * size * len(row))
        row = list(chain.from_iterable(row))
    if set(map(type, row)) != {int}:
        malformed(place, "expected an integer at the innermost level")
    meter.hold(8 * len(row))
    return Entries(sizes, array("q", row), meter)
