"""Strict JSON: no duplicate keys, no floats, no unknown keys, every fault with its place (docs/format.md, rules for
both files)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from restrict.arrays import MAX64, MIN64
from restrict.errors import ModelError, quote

MAX_DEPTH = 64


def parse(content: bytes, source: str) -> Any:
    """The JSON value in ``content``.

    Raises:
        ModelError: that names ``source``.
    """
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_float=lambda text: _fail(f"the number {text} is not an integer"),
            parse_constant=lambda text: _fail(f"{text} is not allowed"),
        )
        _check_tree(value, 1)
        return value
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from None
    except RecursionError:
        raise ModelError(f"{source}: nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:
        raise ModelError(f"{source}: not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        _fail(f"the key {quote(twice)} occurs twice in one object")
    return result


def _fail(reason: str) -> NoReturn:
    raise ModelError(reason)


def _check_tree(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH + 1:
        _fail(f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, str) and not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        _fail(f"the text {quote(value)} has a lone surrogate, which is no character")
    if isinstance(value, int) and not MIN64 <= value <= MAX64:
        _fail(f"the integer {quote(value)} does not fit 64 bits")
    if isinstance(value, dict | list):
        for child in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_tree(child, depth + 1)


@dataclass(frozen=True)
class Node:
    """A JSON value with the place where it stands, for messages."""

    value: Any
    place: str

    def fail(self, reason: str) -> NoReturn:
        """Raise :class:`ModelError` at this place.

        Raises:
            ModelError: always.
        """
        raise ModelError(f"{self.place}: {reason}")

    def expect(self, kind: type, what: str) -> Any:
        """The value, if it is of this type (a bool is never an int)."""
        if not isinstance(self.value, kind) or (kind is int and isinstance(self.value, bool)):
            self.fail(f"expected {what}, not {quote(self.value)}")
        return self.value

    def text(self) -> str:
        """The value as a string."""
        return str(self.expect(str, "a string"))

    def integer(self, low: int = MIN64, high: int = MAX64) -> int:
        """The value as an integer in ``low .. high``."""
        number = int(self.expect(int, "an integer"))
        if not low <= number <= high:
            self.fail(f"{number} is not in {low} .. {high}")
        return number

    def items(self) -> list[Node]:
        """The elements of a list."""
        return [Node(v, f"{self.place}[{at}]") for at, v in enumerate(self.expect(list, "a list"))]

    def fields(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Node]:
        """The members of an object, all known and none missing."""
        members = self.expect(dict, "an object")
        missing = [key for key in required if key not in members]
        if missing:
            self.fail(f"the key {missing[0]!r} is missing")
        unknown = [key for key in members if key not in {*required, *optional}]
        if unknown:
            self.fail(f"unknown key {quote(unknown[0])}; known here: {', '.join([*required, *optional])}")
        return {
            key: Node(v, key if self.place in ("", "top level") else f"{self.place}.{key}")
            for key, v in members.items()
        }

    def located(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call ``function`` and put this place before its error."""
        try:
            return function(*args)
        except ModelError as error:
            self.fail(str(error))


def one_line_lists(value: Any, depth: int = 1, level: int = 0) -> str:
    """Deterministic JSON text: objects, and lists of objects, have a line an entry down to ``depth`` levels."""
    broken = level < depth and (level == 0 or (isinstance(value, list) and all(isinstance(v, dict) for v in value)))
    if not broken or not value:
        return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    pad = " " * (level + 1)
    if isinstance(value, dict):
        parts = [
            f"{pad}{json.dumps(k, ensure_ascii=False)}: {one_line_lists(v, depth, level + 1)}" for k, v in value.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * level + "}"
    parts = [pad + one_line_lists(v, depth, level + 1) for v in value]
    return "[\n" + ",\n".join(parts) + "\n" + " " * level + "]"
