"""Configurations beside weights: ``NAME.config.json`` or ``config.json``, as Hugging Face and this package write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from restrict.base.errors import ModelError, quote
from restrict.base.files import read_bytes

SUFFIX = ".safetensors"


def beside(path: Path) -> Path | None:
    """The configuration beside a file of weights.

    Result: ``NAME.config.json``, else ``config.json``, else nothing.
    """
    own = path.with_name(f"{path.name.removesuffix(SUFFIX)}.config.json")
    return next((found for found in (own, path.with_name("config.json")) if found.is_file()), None)


def read_config(path: Path) -> dict[str, Any]:
    """A configuration, its decimals kept as the texts that stand there."""
    return read_object(read_bytes(path), str(path), decimals=True)


def read_object(content: bytes, source: str, *, decimals: bool) -> dict[str, Any]:
    """A JSON object.

    ``content``: UTF-8 text. ``decimals``: whether numbers that are not integers stay texts.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise ModelError(f"{source}: a key occurs twice in one object")
        return members

    def refuse(text: str) -> NoReturn:
        raise ModelError(f"{source}: {text} is no number of JSON")

    try:
        value = json.loads(
            content.decode(), object_pairs_hook=unique, parse_float=str if decimals else None, parse_constant=refuse
        )
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{source}: not JSON: {quote(str(error))}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{source}: expected an object of JSON")
    return value


def token_names(path: Path | None, config: dict[str, Any]) -> tuple[Any, str]:
    """The names of tokens that stand beside weights: the configuration's ``vocab``, or the file ``vocab.json``.

    ``path``: the weights, if they are a file. Result: a list, or an object with the number of each token, and where it
    stands; ``(None, "")`` without any.
    """
    if config.get("vocab") is not None:
        return config["vocab"], "vocab"
    there = path.with_name("vocab.json") if path is not None else None
    if there is None or not there.is_file():
        return None, ""
    return read_object(read_bytes(there), str(there), decimals=True), "vocab.json"
