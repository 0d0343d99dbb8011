"""Reading the two files with the standard library: strict JSON, and safetensors as fixed-point integers."""

from __future__ import annotations

import json
import math
import struct
from fractions import Fraction
from typing import Any

from restrict.soft.recheck.fixed import Matrix, Vector, malformed, units


def parse(content: bytes, what: str) -> Any:
    """Strict JSON: no floats, no duplicate keys."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            malformed(f"{what}: a key occurs twice")
        return dict(pairs)

    def no(text: str) -> Any:
        malformed(f"{what}: the number {text} is not an integer")

    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=unique, parse_float=no, parse_constant=no)
    except (ValueError, RecursionError):
        malformed(f"{what}: not JSON")


def read_tensors(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metadata object and the tensors, as nested lists of fixed-point integers."""
    length = int.from_bytes(content[:8], "little")
    header = parse(content[8 : 8 + length], "model header")
    if not isinstance(header, dict) or "__metadata__" not in header:
        malformed("model: no metadata")
    text = header.pop("__metadata__").get("restrict")
    if not isinstance(text, str):
        malformed("model: the metadata has no entry 'restrict'")
    data = content[8 + length :]
    kinds = {"F64": ("d", 8), "F32": ("f", 4), "F16": ("e", 2), "BF16": ("H", 2)}
    found = {}
    for name, entry in header.items():
        kind, (begin, end) = entry["dtype"], entry["data_offsets"]
        if kind not in kinds or not 0 <= begin <= end <= len(data):
            malformed(f"model: tensor {name!r} cannot be read")
        code, width = kinds[kind]
        if math.prod(entry["shape"]) * width != end - begin:
            malformed(f"model: tensor {name!r} does not fit its shape")
        values = struct.unpack(f"<{(end - begin) // width}{code}", data[begin:end])
        if kind == "BF16":
            values = tuple(struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values)
        if not all(map(math.isfinite, values)):
            malformed(f"model: tensor {name!r} has an entry that is infinite or not a number")
        fixed = [units(Fraction(v)) for v in values]
        found[name] = fixed if len(entry["shape"]) == 1 else shaped(fixed, *entry["shape"])
    return parse(text.encode(), "model metadata"), found


def shaped(flat: Vector, rows: int, columns: int) -> Matrix:
    """A matrix from its entries."""
    return [flat[r * columns : (r + 1) * columns] for r in range(rows)]
