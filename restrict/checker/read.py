"""Strict reading: rejections, the account of steps and memory, JSON, and the fields of a format from a table.

For a module that verifies a format of its own (``__main__`` names it in ``PROOFS``):

- ``Task`` is what it is given: the parsed certificate, the bytes of the model, the account.
- ``record(value, TABLE, place)`` reads an object by a table: a dict from keys to *shapes*, with ``Maybe(shape)`` where
  the key may be missing. A shape is a table, a tuple of the strings allowed, or a function of a value and a place that
  returns what it read, such as ``string``, ``symbol``, ``digest``, ``listing``, ``integers(least, greatest)``.
- ``malformed`` (exit 4), ``unproved`` (3), ``exhausted`` (5) and ``unreadable`` (2) reject, with the place.
- ``Meter.charge(steps)`` and ``Meter.hold(size)`` come before the work and before the memory.

Everything here is linear in the size of its input.
"""

from __future__ import annotations

import json
import re
import stat
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

JSON_BYTES = 64 << 20
JSON_DEPTH = 64
JSON_MEMORY = 3 << 29
LARGEST = (1 << 63) - 1
LEAST = -(1 << 63)
MEMORY = 2 << 30
READING = 24_000_000
"""Steps that reading the files may take at most, whatever the limit."""

Bounds = Sequence[int]
"""Runs of positions, flat: start, stop, start, stop, ... (half-open, increasing, disjoint)."""


# ---------------------------------------------------------------- rejecting


class Reject(Exception):
    """The certificate is not accepted; ``code`` is the exit code, the text is the one line for standard error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Place(NamedTuple):
    """Where something stands: a file and a path inside it, such as ``variables[2].score``."""

    file: str
    path: str = ""

    def key(self, name: str) -> Place:
        """The place of a field of the object here."""
        return Place(self.file, f"{self.path}.{short(name)}" if self.path else short(name))

    def item(self, index: int) -> Place:
        """The place of an entry of the list here."""
        return Place(self.file, f"{self.path}[{index}]")

    def __str__(self) -> str:
        return f"{self.file}: {self.path or 'top level'}"


def short(text: str) -> str:
    """The text, cut to 60 characters."""
    return text if len(text) <= 60 else text[:57] + "..."


def shown(got: object) -> str:
    """A quotation of something read from a file: short, whatever its size (never the ``repr`` of a long list)."""
    if isinstance(got, list | dict):
        return f"{'a list' if isinstance(got, list) else 'an object'} of {len(got)}"
    return short(json.dumps(got[:60] if isinstance(got, str) else got))


def unreadable(place: Place, reason: str) -> NoReturn:
    """Reject with exit code 2: a file cannot be read."""
    raise Reject(2, f"{place.file}: cannot be read: {reason}")


def unproved(place: Place, reason: str) -> NoReturn:
    """Reject with exit code 3: the claim does not follow."""
    raise Reject(3, f"{place}: {reason}")


def malformed(place: Place, reason: str, *got: object) -> NoReturn:
    """Reject with exit code 4: a file breaks a rule of its format."""
    raise Reject(4, f"{place}: {reason}" + "".join(f", not {shown(g)}" for g in got))


def exhausted(place: Place, reason: str) -> NoReturn:
    """Reject with exit code 5: too many steps or too much memory."""
    raise Reject(5, f"{place}: {reason}")


class Meter:
    """The account: steps (each at most about half a microsecond) and bytes, both charged before they are spent."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit
        self.reading, self.held, self.place = READING, 0, Place("checker")

    def expect(self, steps: int) -> None:
        """Refuse at once what will need at least so many steps."""
        if steps > self.left:
            needed = self.limit - self.left + steps
            exhausted(self.place, f"needs at least {min(needed, 10**18)} steps, beyond the limit of {self.limit}")

    def charge(self, steps: int) -> None:
        """Spend steps; beyond the limit the check ends."""
        if steps > self.left:
            self.expect(steps)
        self.left -= steps

    def read(self, steps: int) -> None:
        """Spend steps of reading, which have a limit of their own, too."""
        self.reading -= steps
        if self.reading < 0:
            exhausted(self.place, "too much work to read; large tables belong into a safetensors file")
        self.charge(steps)

    def fits(self, size: int) -> None:
        """For memory that is given back soon."""
        if self.held + size > MEMORY:
            exhausted(self.place, "more than 2 GiB of memory are needed")

    def hold(self, size: int) -> None:
        """Take memory that is kept."""
        self.fits(size)
        self.held += size


class Task(NamedTuple):
    """What the module of a proof format is given; ``top`` and ``model_place`` name the two files in errors,
    ``runner`` is another abstract run in place of the kernel's (never from the command line)."""

    document: Any
    top: Place
    model: bytes
    model_place: Place
    folder: Path
    meter: Meter
    runner: Callable[..., Any] | None = None


# ---------------------------------------------------------------- JSON

LONG = re.compile(rb"[0-9]{19}")
OBJECT_SIZES = ((b"[", 88), (b"{", 240), (b",", 44), (b'"', 28))
"""What a document takes in memory: at most so many bytes for each of these characters, and four for every one."""


def read_json(data: bytes, place: Place, meter: Meter) -> Any:
    """The JSON document in ``data``, by the rules for all files."""
    if len(data) > JSON_BYTES:
        malformed(place, "larger than 64 MiB")
    size = sum(each * data.count(mark) for mark, each in OBJECT_SIZES)
    meter.place = place
    if size > JSON_MEMORY:
        exhausted(place, "the document has too many entries; large tables belong into a safetensors file")
    meter.hold(size + 4 * len(data))
    meter.read(len(data) // 16)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            for key, _ in pairs:
                if found.pop(key, found) is found:
                    malformed(place, "a key occurs twice: " + shown(key))
        return found

    def no_float(text: str) -> NoReturn:
        malformed(place, "only integers are allowed: " + short(text))

    try:
        text = data.decode("utf-8")
        document = json.loads(text, object_pairs_hook=unique, parse_float=no_float, parse_constant=no_float)
    except UnicodeDecodeError:
        malformed(place, "not UTF-8")
    except json.JSONDecodeError as error:
        malformed(place, f"not JSON: {error.msg} at character {error.pos}")
    except ValueError:
        malformed(place, "an integer has thousands of digits")
    except RecursionError:
        malformed(place, "nested far more than 64 deep")
    check_values(document, place, LONG.search(data) is not None)
    return document


def check_values(document: Any, place: Place, long: bool) -> None:
    """Refuse deep nesting, and integers beyond 64 bits where the document has ``long`` ones. Level by level."""
    level: list[Any] = [[document]]
    for _ in range(JSON_DEPTH + 1):
        if long:
            for part in level:
                for child in part:
                    if type(child) is int and not LEAST <= child <= LARGEST:
                        malformed(place, "an integer is outside -2^63 .. 2^63-1: " + short(str(child)))
        inner = [child for part in level for child in part if type(child) is list or type(child) is dict]
        level = [list(child.values()) if type(child) is dict else child for child in inner]
    if level:
        malformed(place, "nested more than 64 deep")


# ---------------------------------------------------------------- fields by a table


class Maybe(NamedTuple):
    """The shape of a key that may be missing."""

    shape: Any


def record(value: Any, table: dict[str, Any], place: Place) -> dict[str, Any]:
    """An object with the keys of the table and no others, each of its shape; without those that may be missing."""
    if not isinstance(value, dict):
        malformed(place, "expected an object", value)
    for key in value:
        if key not in table:
            malformed(place, "unknown key: " + shown(key))
    found = {}
    for key, shape in table.items():
        optional = isinstance(shape, Maybe)
        if key in value:
            found[key] = shaped(value[key], shape.shape if optional else shape, place.key(key))
        elif not optional:
            malformed(place, f"the key {key} is missing")
    return found


def shaped(value: Any, shape: Any, place: Place) -> Any:
    """The value, read by its shape."""
    if isinstance(shape, dict):
        return record(value, shape, place)
    if isinstance(shape, tuple):
        return choice(value, place, shape)
    return shape(value, place)


def anything(value: Any, place: Place) -> Any:
    """Read later, when what it depends on is known."""
    return value


def thing(value: Any, place: Place) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        malformed(place, "expected an object", value)
    return value


def listing(value: Any, place: Place) -> list[Any]:
    """A JSON list."""
    if not isinstance(value, list):
        malformed(place, "expected a list", value)
    return value


def integer(least: int, greatest: int) -> Callable[[Any, Place], int]:
    """A reader of integers in ``least .. greatest``; true and false are none."""

    def read(value: Any, place: Place) -> int:
        # By type, not isinstance: true and false are no integers.
        if type(value) is not int:
            malformed(place, "expected an integer", value)
        if not least <= value <= greatest:
            malformed(place, f"expected an integer in {least} .. {greatest}", value)
        return value

    return read


def integers(least: int, greatest: int) -> Callable[[Any, Place], array[int]]:
    """A reader of lists of integers in ``least .. greatest``."""
    single = integer(least, greatest)

    def read(value: Any, place: Place) -> array[int]:
        entries = listing(value, place)
        if entries and (set(map(type, entries)) != {int} or min(entries) < least or max(entries) > greatest):
            for entry in entries:
                single(entry, place)
        return array("q", entries)

    return read


def string(value: Any, place: Place) -> str:
    """A JSON string."""
    if not isinstance(value, str):
        malformed(place, "expected a string", value)
    return value


def strings(value: Any, place: Place) -> list[str]:
    """A list of JSON strings."""
    if not set(map(type, listing(value, place))) <= {str}:
        malformed(place, "expected strings only")
    return list(value)


def choice(value: Any, place: Place, options: tuple[str, ...]) -> str:
    """One of some strings."""
    if string(value, place) not in options:
        malformed(place, "expected " + " or ".join(options), value)
    return str(value)


CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def plain(longest: int) -> Callable[[Any, Place], str]:
    """A non-empty string without control characters."""

    def read(value: Any, place: Place) -> str:
        if not 1 <= len(string(value, place)) <= longest:
            malformed(place, f"expected a string of 1 to {longest} characters", value)
        if CONTROL.search(value):
            malformed(place, "contains a control character", value)
        return str(value)

    return read


def texts(value: Any, place: Place) -> list[str]:
    """Non-empty strings without control characters; there may be millions."""
    single = plain(LARGEST)
    for entry in listing(value, place):
        if type(entry) is not str or not entry or CONTROL.search(entry):
            single(entry, place)
    return list(value)


def symbol(value: Any, place: Place) -> str:
    """A symbol: 1 to 64 characters without white space, and not ``*``."""
    text = plain(64)(value, place)
    if text == "*" or text.split() != [text]:
        malformed(place, 'a symbol has no white space and is not "*"', text)
    return text


def digest(value: Any, place: Place) -> str:
    """A SHA-256 in lower-case hex digits."""
    if not re.fullmatch("[0-9a-f]{64}", string(value, place)):
        malformed(place, "expected 64 lower-case hex digits", value)
    return str(value)


def read_runs(value: Any, place: Place, n: int, width: int = 2) -> array[int]:
    """The bounds of a list of ``[start, count, ...]``, each a list of ``width``."""
    bounds, after = array("q"), 0
    for index, entry in enumerate(listing(value, place)):
        if type(entry) is not list or len(entry) != width:
            malformed(place.item(index), f"expected a list of {width}", entry)
        start, count = entry[0], entry[1]
        if type(start) is not int or not 0 <= start < n:
            integer(0, n - 1)(start, place.item(index))
        if start < after:
            malformed(place.item(index), "runs must be increasing and disjoint")
        if type(count) is not int or not 1 <= count <= n - start:
            integer(1, n - start)(count, place.item(index))
        after = start + count
        bounds.append(start)
        bounds.append(after)
    return bounds


# ---------------------------------------------------------------- sets of positions, and files


def runs_of(bounds: Bounds) -> Iterator[tuple[int, int]]:
    """The runs as pairs of start and stop."""
    ends = iter(bounds)
    return zip(ends, ends, strict=True)


def mask_of(bounds: Bounds) -> int:
    """The positions as the bits of a number. Linear in the last position and the number of runs."""
    flags = bytearray((bounds[-1] + 7) >> 3 if bounds else 0)
    for start, stop in runs_of(bounds):
        first, last = (start + 7) >> 3, stop >> 3
        if first < last:
            flags[first:last] = b"\xff" * (last - first)
        for at in range(start, min(stop, 8 * first)):
            flags[at >> 3] |= 1 << (at & 7)
        for at in range(max(8 * last, start), stop):
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
