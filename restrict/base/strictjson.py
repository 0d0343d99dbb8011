"""Strict JSON: no duplicate keys, no floats, no unknown keys, every fault with its place (docs/format.md, rules for
both files). The bytes are read by the trusted reader, which is linear and bounds its memory. A :class:`Record` is a
result with such a file."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

from restrict.base.arrays import MAX64, MIN64
from restrict.base.errors import OF_CODE, ModelError, ResourceLimit, quote
from restrict.base.files import naming, read_bytes, write_bytes
from restrict.base.htmltable import Shown
from restrict.checker.account import READING, Meter, Place, Reject
from restrict.checker.main import uncollected
from restrict.checker.read import read_json, shaped

Read = TypeVar("Read")


def parse(content: bytes, source: str) -> Any:
    """The JSON value in ``content``: no floats, integers of 64 bits, nested at most 64 deep."""
    with uncollected(), translated(source):
        return read_json(content, Place(source), Meter(READING))


@contextmanager
def translated(name: str) -> Iterator[None]:
    """The trusted checker's rejections as the package's errors."""
    try:
        yield
    except (MemoryError, RecursionError):
        raise ResourceLimit(f"{name}: out of memory or stack") from None
    except Reject as reject:
        raise OF_CODE[reject.code](str(reject)) from None


@dataclass(frozen=True)
class Node:
    """A JSON value with the place where it stands, for messages."""

    value: Any
    place: str

    def fail(self, reason: str) -> NoReturn:
        """Raise :class:`ModelError` at this place."""
        raise ModelError(f"{self.place}: {reason}")

    def expect(self, kind: type, what: str) -> Any:
        """The value, if it is of this type (a bool is never an int)."""
        if not isinstance(self.value, kind) or (kind is int and isinstance(self.value, bool)):
            self.fail(f"expected {what}, not {quote(self.value)}")
        return self.value

    def read(self, shape: Any) -> Any:
        """The value by a shape of the trusted checker's tables (:mod:`restrict.checker.read`). ``shape``: a table of
        fields, the texts allowed, or a reader of a value and a place."""
        if isinstance(shape, dict) and "format" in shape and isinstance(self.value, dict) and "format" in self.value:
            dict(self.members())["format"].read(shape["format"])  # before the keys, which another format has not
        try:
            return shaped(self.value, shape, Place("", "" if self.place == "top level" else self.place))
        except Reject as reject:
            raise ModelError(str(reject).removeprefix(": ")) from None

    def text(self) -> str:
        """The value as a string."""
        return str(self.expect(str, "a string"))

    def integer(self, low: int = MIN64, high: int = MAX64) -> int:
        """The value as an integer of ``low .. high``; by default any of 64 bits."""
        number = int(self.expect(int, "an integer"))
        if not low <= number <= high:
            self.fail(f"{number} is not in {low} .. {high}")
        return number

    def items(self) -> "list[Node]":
        """The elements of a list."""
        return [Node(v, f"{self.place}[{at}]") for at, v in enumerate(self.expect(list, "a list"))]

    def fields(self, required: Iterable[str], optional: Iterable[str] = ()) -> "dict[str, Node]":
        """The members of an object by key, in the order of the file: all known and none that is required missing."""
        members = self.expect(dict, "an object")
        missing = [key for key in required if key not in members]
        if missing:
            self.fail(f"the key {missing[0]!r} is missing")
        known = {*required, *optional}
        unknown = [key for key in members if key not in known]
        if unknown:
            self.fail(f"unknown key {quote(unknown[0])}; known here: {', '.join([*required, *optional])}")
        return dict(self.members())

    def document(self, form: str, required: Iterable[str], optional: Iterable[str] = ()) -> "dict[str, Node]":
        """The members by key, in order, of an object of this ``format``; ``required``: the other keys that must be
        there."""
        members = self.fields(("format", *required), optional)
        if members["format"].text() != form:
            members["format"].fail(f"this is {quote(members['format'].value)}, not {form!r}")
        return members

    def members(self) -> "Iterator[tuple[str, Node]]":
        """Keys and members of an object, whatever they are, in the order of the file."""
        for key, value in self.expect(dict, "an object").items():
            yield key, Node(value, key if self.place in ("", "top level") else f"{self.place}.{key}")


def read_document(path: str | Path, read: Callable[[Node], Read]) -> Read:
    """What a JSON file holds. Gives what ``read`` returns."""
    with naming(path):
        return read(Node(parse(read_bytes(Path(path)), str(path)), "top level"))


class Record(Shown):
    """A result with a file: how it is written, read, reported, and shown in a notebook. Subclasses are dataclasses."""

    def to_bytes(self) -> bytes:
        """The bytes of the file; the same for the same result."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, root: Node) -> Self:
        """A result from its JSON form; it is not checked here."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write the file.

        Args:
            path: the file; it is overwritten.

        Raises:
            UsageError: it cannot be written.
            NotEstablished: there is no proof to write.
        """
        write_bytes(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file; it is not checked here.

        Args:
            path: the file.

        Returns:
            What the file says. Of a verdict on a trained model the weights and the search are absent.

        Raises:
            ModelError: malformed, or a proof for all lengths, which holds no automaton; file: place: reason.
            UsageError: the file cannot be read.
            ResourceLimit: it is too large.
        """
        found = read_document(path, cls.from_json)
        object.__setattr__(found, "_read", True)  # subclasses may be frozen
        return found

    def document(self) -> Any:
        """What the file says.

        Returns:
            A JSON value: of a soft certificate with ``bound``, ``free`` and ``verified``; of a sweep its rows; of what
            is said about every length the claim, with the file's content as ``proof``.
        """
        return json.loads(self.to_bytes())

    def report(self, model: Any = None) -> Any:
        """The report; :func:`restrict.report.report_of`.

        Args:
            model: the model, where the result neither holds it nor names a built-in one.

        Returns:
            The page, whose ``save`` writes an HTML file.

        Raises:
            ModelError: the result is for another model.
            UsageError: a verdict that was loaded needs its model.
        """
        return _figure().report_of(self, model)

    def figure(self) -> Any:
        """The drawing of the report: tokens, heads, and what is captured; a notebook shows it. Cost: an abstract run
        over the certificate's nodes, where the model is built in.

        Returns:
            A :class:`restrict.report.figure.Figure`, whose ``save`` writes an SVG or PDF file.

        Raises:
            UsageError: there is nothing to draw.
        """
        return _figure().figure_of(self)

    def drawing(self) -> str:
        """The drawing of the report, where it is soon made."""
        return str(_figure().small_drawing(self))

    def _repr_html_(self) -> str:
        table = self.facts()
        return table._replace(title=table.title + self._unchecked()).html(self.drawing())

    def __repr__(self) -> str:
        return super().__repr__() + self._unchecked()

    def _unchecked(self) -> str:
        """What a notebook is told of a result that was loaded."""
        return " (read from a file, not checked here)" if "_read" in vars(self) else ""


def _figure() -> Any:
    """What is shown stands above what is stored, so the room is named here, and loaded when something is shown."""
    return import_module("restrict.report.figure")


def one_line_lists(value: Any, depth: int = 1, level: int = 0) -> str:
    """Deterministic JSON text: down to ``depth`` levels, objects and lists of objects have one line for each entry.
    ``depth``: how many levels are broken into lines, at least 0. ``level``: how deep ``value`` stands; 0 for the whole
    text."""
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
