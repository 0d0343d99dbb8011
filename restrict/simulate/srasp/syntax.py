"""The parts of an S-RASP program as data. A program is a list of statements. Each defines a vector with one entry at
every position ``i = 1 .. n`` of the word: position-wise from earlier vectors, by a prefix sum, or by attention to the
leftmost or rightmost position at which a score is true. Vectors hold truth values or integers; truth values count as 0
and 1 in arithmetic."""

from dataclasses import dataclass, field
from typing import Literal

Side = Literal["i", "j"]
Mask = Literal["none", "past", "strict_past"]
COMPARE = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Node:
    """An expression. ``op`` is ``const`` (value), ``symbol`` (text, side), ``vector`` (text, side), ``pos`` (side),
    ``not``, ``and``, ``or``, a comparison, ``+``, ``-``, ``*`` (by a constant), ``min`` or ``max``. ``boolean`` is its
    type, ``column`` where it stands."""

    op: str
    args: "tuple[Node, ...]" = ()
    text: str = ""
    value: int = 0
    side: Side | None = None
    boolean: bool = False
    column: int = field(default=0, compare=False)

    @property
    def sides(self) -> frozenset[str]:
        """Which of ``i`` and ``j`` occur."""
        own = frozenset((self.side,)) if self.side else frozenset[str]()
        return own.union(*(a.sides for a in self.args))


@dataclass(frozen=True)
class Local:
    """``name(i) = value``."""

    name: str
    value: Node


@dataclass(frozen=True)
class PrefixSum:
    """``name(i) = psum [j <= i] value(j)``: how many positions up to ``i`` satisfy ``value``."""

    name: str
    value: Node


@dataclass(frozen=True)
class SRaspAttention:
    """``name(i) = leftmost [mask, score] value : default``."""

    name: str
    rightmost: bool
    mask: Mask
    score: Node
    value: Node
    default: Node


Statement = Local | PrefixSum | SRaspAttention


@dataclass(frozen=True)
class SRaspProgram:
    """An S-RASP program; ``output`` is a vector of truth values, read at every position."""

    alphabet: tuple[str, ...]
    statements: tuple[Statement, ...]
    output: str
    name: str = "program"
