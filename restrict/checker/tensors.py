"""Tensors: nested lists in the model, or safetensors files beside it, read once however often they are used."""

from __future__ import annotations

import hashlib
import struct
import sys
from array import array
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from .account import LARGEST, Meter, Place, exhausted, require, short, shown
from .read import Maybe, anything, digest, integers, read_file, read_json, record, string, strings, thing

TENSOR_BYTES = 1 << 30
ELEMENTS = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U32": "I", "U16": "H", "U8": "B"}
"""The types of tensors in a program, each with its code in the struct module."""
INLINE = {"axes": strings, "values": Maybe(anything)}
STORED = {"axes": strings, "file": string, "tensor": string}
HEADER = {"dtype": string, "shape": integers(1, LARGEST), "data_offsets": integers(0, LARGEST)}

Span = tuple[int, int]


class Entries:
    """Row-major entries, and what is learnt of them once. ``number``: among the tables of a program, -1 before that."""

    def __init__(self, sizes: Sequence[int], data: Sequence[int], meter: Meter) -> None:
        self.sizes, self.data, self.meter, self.number = sizes, data, meter, -1

    @cached_property
    def span(self) -> Span:
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
    """Entries with a name for every axis, and how far apart neighbours on it are."""

    def __init__(self, place: Place, axes: list[str], entries: Entries) -> None:
        self.place, self.entries, stride = place, entries, 1
        self.sizes, self.strides = dict(zip(axes, entries.sizes, strict=True)), dict[str, int]()
        for axis in reversed(axes):
            self.strides[axis] = stride
            stride *= self.sizes[axis]


def opened(content: bytes, place: Place, meter: Meter) -> tuple[dict[str, Any], memoryview]:
    """A safetensors file: what its header says of each tensor, and the data."""
    # A header of 8 bytes says how long the JSON after it is.
    end = 8 + struct.unpack_from("<Q", content)[0] if len(content) >= 8 else LARGEST
    require(end <= len(content), place, "not a safetensors file: the header is longer than the file")
    return thing(read_json(content[8:end], place, meter), place), memoryview(content)[end:]


def located(header: Any, types: dict[str, str], data: memoryview, place: Place) -> tuple[str, array[int], memoryview]:
    """The code of a tensor's type, its shape, and its bytes, which must lie in the file."""
    fields = record(header, HEADER, place)
    kind, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    require(kind in types, place.key("dtype"), "expected " + " or ".join(types), kind)
    begin, end = offsets if len(offsets) == 2 else (0, 0)
    size = struct.calcsize("<" + types[kind])
    for width in shape:
        # Stops at the first product that is larger than the file: the shape may have any number of axes.
        size = size * width if size <= len(data) else size
    inside = end - begin == size and end <= len(data)
    require(inside, place.key("data_offsets"), "not the size of the tensor")
    return types[kind], shape, data[begin:end]


class Files:
    """The safetensors files beside the model, bound to it by their digests."""

    def __init__(self, folder: Path, listed: dict[str, Any], place: Place, meter: Meter) -> None:
        self.headers: dict[str, dict[str, Any]] = {}
        self.data: dict[str, memoryview] = {}
        self.found: dict[tuple[str, str], Entries] = {}
        self.meter, total = meter, 0
        for name, expected in listed.items():
            inner = name not in ("", ".", "..") and not set(name) & set("/\\\0")
            require(inner, place, "a file name has no path separator: " + shown(name))
            wanted, inside = digest(expected, place.key(name)), Place(short(name))
            content = read_file(folder / name, inside, TENSOR_BYTES - total, regular=True)
            total += len(content)
            if total > TENSOR_BYTES:
                exhausted(inside, "the tensor files are larger than 1 GiB")
            meter.hold(len(content))
            same = hashlib.sha256(content).hexdigest() == wanted
            require(same, inside, "its SHA-256 is not the one under files in the model")
            self.headers[name], self.data[name] = opened(content, inside, meter)

    def tensor(self, name: str, key: str, axes: int, place: Place) -> Entries:
        """The tensor that a model names, with so many axes."""
        require(name in self.headers, place.key("file"), "the file is not listed under files: " + shown(name))
        there = key in self.headers[name] and key != "__metadata__"
        require(there, place.key("tensor"), "the file has no such tensor: " + shown(key))
        if (name, key) not in self.found:
            self.found[name, key] = self.entries(name, key, Place(short(name), short(key)))
        found = self.found[name, key]
        require(len(found.sizes) == axes, place, f"the tensor has {len(found.sizes)} axes, not {axes}")
        return found

    def entries(self, name: str, key: str, place: Place) -> Entries:
        """The entries of one tensor, which must lie in the file."""
        code, shape, stored = located(self.headers[name][key], ELEMENTS, self.data[name], place)
        entries: Sequence[int] = stored.cast(code)  # type: ignore[call-overload]
        if sys.byteorder == "big":
            self.meter.hold(len(stored))
            entries = swapped = array(code, stored.tobytes())
            swapped.byteswap()
        return Entries(shape, entries, self.meter)


def read_tensor(value: Any, place: Place, files: Files, allowed: Collection[str]) -> Tensor:
    """The tensor in a model, its axes among those ``allowed`` (a set: there may be thousands)."""
    stored = isinstance(value, dict) and "values" not in value
    fields = record(value, STORED if stored else INLINE, place)
    axes = fields["axes"]
    for axis in axes:
        require(axis in allowed, place.key("axes"), "no such axis here: " + shown(axis))
    require(len(set(axes)) == len(axes), place.key("axes"), "an axis occurs twice")
    if stored:
        return Tensor(place, axes, files.tensor(fields["file"], fields["tensor"], len(axes), place))
    return Tensor(place, axes, flatten(fields["values"], place.key("values"), len(axes), files.meter))


def flatten(values: Any, place: Place, levels: int, meter: Meter) -> Entries:
    """Lists nested ``levels`` deep."""
    sizes, row = [], [values]
    for _ in range(levels):
        lengths = {len(part) if isinstance(part, list) else -1 for part in row}
        even = len(lengths) == 1 and min(lengths) > 0
        require(even, place, "expected one level of lists for each axis, on each level of equal, non-zero length")
        sizes.append(len(row[0]))
        meter.hold(8 * sizes[-1] * len(row))
        row = list(chain.from_iterable(row))
    require(set(map(type, row)) == {int}, place, "expected an integer at the innermost level")
    meter.hold(8 * len(row))
    return Entries(sizes, array("q", row), meter)
