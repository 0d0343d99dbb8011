"""Strict reading: JSON, the fields of a format from a table, and runs of positions. Linear in the size of its input.

``record(value, TABLE, place)`` reads an object by a table: a dict from keys to *shapes*, with ``Maybe(shape)`` where
the key may be missing. A shape is a table, a tuple of the strings allowed, or a function of a value and a place that
returns what it read, such as ``string``, ``symbol``, ``digest``, ``listing``, ``integers(least, greatest)``.
"""

from __future__ import annotations

import json
import re
import stat
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from .account import LARGEST, LEAST, Meter, Place, exhausted, malformed, require, short, shown, unreadable

JSON_BYTES = 64 << 20
JSON_DEPTH = 64
JSON_MEMORY = 3 << 29
LONG = re.compile(rb"[0-9]{19}")
SURROGATE = re.compile("[\ud800-\udfff]")
OBJECT_SIZES = ((b"[", 88), (b"{", 240), (b",", 44), (b'"', 28))
"""What a document takes in memory: at most so many bytes for each of these characters, and four for every one."""
NO_JSON = "nested far more than 64 deep, or an integer of thousands of digits"

FlatRuns = Sequence[int]
"""Runs of positions, flat: start, stop, start, stop, ... (half-open, increasing, disjoint)."""
Reader = Callable[[Any, Place], Any]


# ---------------------------------------------------------------- JSON


def read_json(data: bytes, place: Place, meter: Meter) -> Any:
    """The JSON document in ``data``, by the rules for all files."""
    require(len(data) <= JSON_BYTES, place, "larger than 64 MiB")
    size = sum(each * data.count(mark) for mark, each in OBJECT_SIZES)
    meter.place = place
    if size > JSON_MEMORY:
        exhausted(place, "the document has too many entries; large tables belong in a safetensors file")
    meter.hold(size + 4 * len(data))
    meter.read((len(data) >> 4) + (size >> 7))

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            malformed(place, "a key occurs twice: " + shown(Counter(key for key, _ in pairs).most_common(1)[0][0]))
        return found

    def no_float(text: str) -> NoReturn:
        malformed(place, "only integers are allowed: " + short(text))

    try:
        text = data.decode("utf-8")
        document = json.loads(text, object_pairs_hook=unique, parse_float=no_float, parse_constant=no_float)
    except UnicodeDecodeError:
        malformed(place, "not UTF-8")
    except (ValueError, RecursionError) as error:
        known = isinstance(error, json.JSONDecodeError)
        malformed(place, f"not JSON: {error}" if known else NO_JSON)
    check_values(document, place, LONG.search(data) is not None or b"\\u" in data)
    return document


def check_values(document: Any, place: Place, closely: bool) -> None:
    """Refuse deep nesting, level by level; ``closely``: and integers beyond 64 bits, and halves of characters."""
    level: list[Any] = [[document]]
    for _ in range(JSON_DEPTH + 1):
        for child in (child for part in level for child in part) if closely else ():
            if type(child) is int and not LEAST <= child <= LARGEST:
                malformed(place, "an integer is outside -2^63 .. 2^63-1: " + short(str(child)))
            if type(child) is str and SURROGATE.search(child):
                malformed(place, "a lone surrogate is no character: " + shown(child))
        inner = [child for part in level for child in part if type(child) is list or type(child) is dict]
        level = [[*child, *child.values()] if type(child) is dict else child for child in inner]
    require(not level, place, "nested more than 64 deep")


# ---------------------------------------------------------------- fields by a table


class Maybe(NamedTuple):
    """The shape of a key that may be missing."""

    shape: Any


def shaped(value: Any, shape: Any, place: Place) -> Any:
    """The value, read by its shape."""
    if isinstance(shape, dict):
        return record(value, shape, place)
    if not isinstance(shape, tuple):
        return shape(value, place)
    require(value in shape, place, "expected " + " or ".join(shape), value)
    return value


def record(value: Any, table: dict[str, Any], place: Place) -> dict[str, Any]:
    """An object with the keys of the table and no others, each of its shape; without those that may be missing."""
    for key in (key for key in thing(value, place) if key not in table):
        malformed(place, f"unknown key: {shown(key)}; known here: {', '.join(table)}")
    found = {}
    for key, shape in table.items():
        if key in value:
            found[key] = shaped(value[key], shape.shape if isinstance(shape, Maybe) else shape, place.key(key))
        elif not isinstance(shape, Maybe):
            malformed(place, f"the key {key} is missing")
    return found


def anything(value: Any, place: Place) -> Any:
    """Read later, when what it depends on is known."""
    return value


def thing(value: Any, place: Place) -> dict[str, Any]:
    """A JSON object."""
    require(isinstance(value, dict), place, "expected an object", value)
    found: dict[str, Any] = value
    return found


def listing(value: Any, place: Place) -> list[Any]:
    """A JSON list."""
    require(isinstance(value, list), place, "expected a list", value)
    found: list[Any] = value
    return found


def integer(least: int, greatest: int) -> Reader:
    """A reader of integers in ``least .. greatest``; true and false are none, which is why it asks for the type."""

    def read(value: Any, place: Place) -> Any:
        fits = type(value) is int and least <= value <= greatest
        require(fits, place, f"expected an integer in {least} .. {greatest}", value)
        return value

    return read


def integers(least: int, greatest: int) -> Callable[[Any, Place], array[int]]:
    """A reader of lists of integers in ``least .. greatest``."""
    single = integer(least, greatest)

    def read(value: Any, place: Place) -> array[int]:
        if listing(value, place) and (set(map(type, value)) != {int} or min(value) < least or max(value) > greatest):
            for index, entry in enumerate(value):
                single(entry, place.item(index))
        return array("q", value)

    return read


def matching(pattern: str, what: str) -> Reader:
    """A reader of strings of a regular language."""
    matches = re.compile(pattern).fullmatch

    def read(value: Any, place: Place) -> Any:
        require(type(value) is str and matches(value) is not None, place, "expected " + what, value)
        return value

    return read


PRINTED = "[^\x00-\x1f\x7f-\x9f]"
string = matching("(?s:.*)", "a string")
plain = matching(PRINTED + "{1,200}", "a string of 1 to 200 characters without control characters")
text = matching(PRINTED + "+", "a non-empty string without control characters")
symbol = matching(
    rf"(?!\*\Z)(?:(?!\s){PRINTED}){{1,64}}", 'a symbol of 1 to 64 characters ("*" is a free position, \\* the symbol)'
)
digest = matching("[0-9a-f]{64}", "64 lower-case hex digits")


def strings(value: Any, place: Place) -> list[str]:
    """A list of non-empty strings without control characters; there may be millions."""
    matches = re.compile(PRINTED + "+").fullmatch
    if not (set(map(type, listing(value, place))) <= {str} and all(map(matches, value))):
        for index, entry in enumerate(value):
            text(entry, place.item(index))
    return list(value)


# ---------------------------------------------------------------- sets of positions, and files


def read_runs(value: Any, place: Place, n: int, width: int = 2) -> array[int]:
    """The bounds of a list of ``[start, count, ...]``, each a list of ``width``."""
    bounds, after = array("q"), 0
    for index, entry in enumerate(listing(value, place)):
        if type(entry) is not list or len(entry) != width:
            malformed(place.item(index), f"expected a list of {width}", entry)
        start, count = entry[0], entry[1]
        if type(start) is not int or not after <= start < n:
            malformed(place.item(index), f"expected a start in {after} .. {n - 1}, as runs are increasing", start)
        if type(count) is not int or not 1 <= count <= n - start:
            malformed(place.item(index), f"expected a count in 1 .. {n - start}", count)
        after = start + count
        bounds.append(start)
        bounds.append(after)
    return bounds


def runs_of(bounds: FlatRuns) -> Iterator[tuple[int, int]]:
    """The runs as pairs of start and stop."""
    ends = iter(bounds)
    return zip(ends, ends, strict=True)


def mask_of(bounds: FlatRuns) -> int:
    """The positions as the bits of a number. Linear in the last position and the number of runs."""
    flags = bytearray((bounds[-1] + 7) >> 3 if bounds else 0)
    for start, stop in runs_of(bounds):
        first, last = (start + 7) >> 3, stop >> 3
        if first < last:
            flags[first:last] = b"\xff" * (last - first)
        for at in (*range(start, min(stop, 8 * first)), *range(max(8 * last, start), stop)):
            flags[at >> 3] |= 1 << (at & 7)
    return int.from_bytes(flags, "little")


def read_file(path: Path, place: Place, most: int, regular: bool = False) -> bytes:
    """The bytes of a file, or the first ``most + 1`` of a larger one."""
    try:
        if regular and not stat.S_ISREG(path.stat().st_mode):
            unreadable(place, "not a regular file")
        with open(path, "rb") as file:
            return file.read(most + 1)
    except (OSError, ValueError) as error:
        unreadable(place, getattr(error, "strerror", None) or "not a usable path")
