"""safetensors files: the JSON header, the package's own entry in it, and the tensors; nothing of a file is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

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
        entries = deserialize(content)  # type: ignore[no-untyped-call]
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
