"""What is read of a Transformer Program, and the state of the reader (:mod:`restrict.importers.tp_parse`)."""

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from restrict.base.errors import ModelError, quote
from restrict.importers.tp_forms import RESERVED

Value = str | int
"""A value of a categorical variable of the program."""

Example = tuple[tuple[str, ...], tuple[str, ...] | None]


@dataclass(frozen=True)
class Attention:
    """A categorical head: at ``i`` it reads ``value`` where the closest ``key`` is ``wanted[query_i]``."""

    name: str
    line: int
    query: str
    key: str
    value: str
    wanted: dict[Value, Value]


@dataclass(frozen=True)
class Mlp:
    """A function of variables at one position: ``table`` by tuples of values, else ``default``."""

    name: str
    line: int
    args: tuple[str, ...]
    table: dict[tuple[Value, ...], Value]
    default: Value


@dataclass(frozen=True)
class Embeddings:
    """Words are read through a table: the CSV's name, and for each variable its enumeration and its column. The
    variables are steps of the program, functions of ``tokens`` whose table is that column."""

    csv: str
    columns: dict[str, tuple[str, str]]


@dataclass(frozen=True)
class TransformerProgram:
    """A parsed Transformer Program. ``features`` are the variables that the read-out adds, with repetitions;
    ``examples`` are the (tokens, expected output) that the file lists; the latter is ``None`` for a bare call.
    ``embeddings``: how words are read, where not as themselves."""

    path: Path
    causal: bool
    csv: str
    steps: tuple[Attention | Mlp, ...]
    features: tuple[str, ...]
    examples: tuple[Example, ...]
    embeddings: Embeddings | None = None


@dataclass
class Reader:
    """What has been read of ``run`` so far."""

    path: Path
    causal: bool | None = None
    helpers: set[str] = field(default_factory=set)
    csv: str | None = None
    known: set[str] = field(default_factory=lambda: {"tokens"})
    assigned: set[str] = field(default_factory=lambda: set(RESERVED))
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    patterns: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    scores: dict[str, str] = field(default_factory=dict)
    steps: list[Attention | Mlp] = field(default_factory=list)
    enums: set[str] = field(default_factory=set)
    words_csv: str | None = None
    embedded: dict[str, tuple[str, str]] = field(default_factory=dict)

    def fail(self, node: ast.AST, reason: str) -> NoReturn:
        """Refuse, naming the file and the line."""
        raise ModelError(f"{self.path}:{getattr(node, 'lineno', 0)}: {reason}")

    def variable(self, node: ast.AST, name: object) -> str:
        """A categorical variable that has been defined."""
        if not isinstance(name, str) or name not in self.known:
            self.fail(node, f"{quote(name)} is not a categorical variable defined before this line")
        return name

    def assign(self, node: ast.AST, name: str) -> str:
        """A name that gets its only value here; a second one would change what earlier lines mean."""
        if name in self.assigned:
            self.fail(node, f"{quote(name)} already has a meaning; a generated program assigns every name once")
        self.assigned.add(name)
        return name

    def define(self, node: ast.AST, name: str) -> str:
        """A new categorical variable; ``ones`` and ``positions`` have lines of their own, on which others rely."""
        if name in ("ones", "positions"):
            self.fail(node, f"{quote(name)} has a fixed meaning in a generated program")
        self.known.add(self.assign(node, name))
        return name


def kind_of(node: ast.AST) -> str:
    """The first line of a syntax tree, for a message."""
    shown = ast.unparse(node).partition("\n")[0]
    return quote(shown)
