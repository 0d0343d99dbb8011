"""Functions of ``i`` and ``n`` in ``restrict-soft/1`` files: position embeddings and inverse temperatures.

A term is an expression such as ``i/n``, ``1/(i+1)``, ``(-1)**i``, ``cospi(2*i/8)`` or ``4*n*log(n)``. It is read as a
syntax tree by the trusted checker's parser (:mod:`restrict.checker.soft_terms`), numbers exactly as their text says;
nothing of the file is run. Its values are the checker's, too: rational arithmetic is exact
(:class:`fractions.Fraction`), and only ``sqrt``, ``log``, ``exp``, ``cospi`` and ``sinpi`` of arguments without an
exact value give bounds, to about 50 digits, which are proved (Lemma S1 of docs/trusted-base.md).

Invariant: :meth:`Term.enclose` contains the mathematical value; :meth:`Term.value` is the double nearest to it for an
exact value and lies in the enclosure otherwise.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from restrict.base.arrays import F64
from restrict.base.errors import ModelError, ResourceLimit, quote
from restrict.checker.account import READING, Meter, Place, Reject
from restrict.checker.rules import Tree, mentioned
from restrict.checker.soft_terms import CHARACTERS, OPERATIONS, Evaluation, Range, TermParser, cospi, parse

MAX_TEXT = CHARACTERS
TOP, METER = Place("", ""), Meter(1 << 62)
MAX_KEPT = 2**16
"""Positions up to which a term's column is kept for the next call."""


@dataclass(frozen=True)
class Span:
    """An enclosure of a real number by two finite floats, ``low <= high``."""

    low: float
    high: float


class _Values(Evaluation):
    """The checker's values of terms. Quick where they are exact; cosines are kept, as positions repeat them."""

    def value(self, tree: Tree) -> Range:
        """Bounds on a term; nobody counts the steps."""
        if not tree.args or tree.op == "if":
            return super().value(tree)
        args = [self.value(arg) for arg in tree.args]
        return self.fit(self.called(tree.op, args[0]) if len(args) == 1 else self.combined(tree.op, *args))

    def combined(self, op: str, a: Range, b: Range) -> Range:
        """An operation on two numbers, or on bounds of them."""
        if a[0] is not a[1] or b[0] is not b[1] or op == "**" or not b[0]:
            return super().combined(op, a, b)
        found = Fraction(OPERATIONS[op](a[0], b[0]))
        return found, found

    def called(self, name: str, x: Range) -> Range:
        """A function of one number, or of bounds of it."""
        if name not in ("cospi", "sinpi"):
            return super().called(name, x)
        turn = self.exact(x) if name == "cospi" else Fraction(1, 2) - self.exact(x)
        return _cosine(abs((turn + 1) % 2 - 1))


_cosine = lru_cache(maxsize=4096)(cospi)


@dataclass(frozen=True)
class Term:
    """A function of the position ``i`` (0-based) and the length ``n`` (markers included), given as text."""

    text: str

    @cached_property
    def tree(self) -> Tree:
        """The term's syntax tree. Raises :class:`ModelError` for text that is not a term."""
        try:
            return parse(self.text, TOP, ("i", "n"), Meter(READING))
        except Reject as reject:
            raise ModelError(
                f"{quote(self.text)} is not an expression that can stand in a term: {_reason(reject)}; known are i, n, "
                f"numbers, + - * / // % **, comparisons, if-else, and {', '.join(TermParser.functions)} of one argument"
            ) from None

    @cached_property
    def names(self) -> frozenset[str]:
        """Which of ``i`` and ``n`` occur in the term."""
        return frozenset(mentioned(self.tree))

    @property
    def uses_i(self) -> bool:
        """Whether the position occurs in the term."""
        return "i" in self.names

    def check(self) -> "Term":
        """The term itself, after reading its text. Raises :class:`ModelError` for text that is not a term."""
        mentioned(self.tree)
        return self

    def enclose(self, i: int, n: int) -> Span:
        """Two doubles around the exact value at position ``i`` of ``n``; equal where the value is a double."""
        return _enclosed(self._bounds(i, n), self.text)

    def exact(self, i: int, n: int) -> Fraction | None:
        """The exact value at position ``i`` of ``n``; ``None`` where it has only an enclosure (a root)."""
        low, high = self._bounds(i, n)
        return low if low == high else None

    def value(self, i: int, n: int) -> float:
        """The double that the evaluator uses: nearest to an exact value, else the middle of the enclosure."""
        return _kept_value(self, i, n)

    def column(self, n: int) -> F64:
        """The values at every position. ``n``: length, at least 1. Result: shape (n,), float64. Cost: one exact
        evaluation per position (about 2 microseconds per operation)."""
        return _columns(self, n)[0]

    def errors(self, n: int) -> F64:
        """Bounds on ``|value - exact value|`` at every position, shape (n,)."""
        return _columns(self, n)[1]

    def _bounds(self, i: int, n: int) -> Range:
        try:
            return _Values({"i": i, "n": n}, TOP, METER).value(self.tree)
        except Reject as reject:
            kind = ResourceLimit if reject.code == 5 else ModelError
            raise kind(f"the term {quote(self.text)}: {_reason(reject)}") from None


@lru_cache(maxsize=1024)
def _kept_value(term: Term, i: int, n: int) -> float:
    """The value of a term, kept: every head asks for its scale in every run at a length."""
    return _middle(term._bounds(i, n), term.text)


Columns = tuple[F64, F64]


def _columns(term: Term, n: int) -> Columns:
    """The values at every position, and bounds on their errors: (n,) each."""
    return _kept_columns(term, n) if n <= MAX_KEPT else _made_columns(term, n)


def _made_columns(term: Term, n: int) -> Columns:
    exact = [term._bounds(i, n) for i in range(n if term.uses_i else 1)]
    spans = [_enclosed(x, term.text) for x in exact]
    values = [_middle(x, term.text) for x in exact]
    errors = [max(up(v - s.low), up(s.high - v)) for v, s in zip(values, spans, strict=True)]
    times = 1 if term.uses_i else n
    return np.array(values * times, dtype=np.float64), np.array(errors * times, dtype=np.float64)


@lru_cache(maxsize=128)
def _kept_columns(term: Term, n: int) -> Columns:
    made = _made_columns(term, n)
    for column in made:
        column.setflags(write=False)
    return made


def _enclosed(x: Range, text: str) -> Span:
    low, high = x
    below = _nearest(low, text)
    above = below if low == high else _nearest(high, text)
    return Span(below if below <= low else down(below), above if above >= high else up(above))


def _middle(x: Range, text: str) -> float:
    """The double nearest to the middle of an enclosure."""
    return _nearest(x[0] if x[0] == x[1] else (x[0] + x[1]) / 2, text)


def up(x: float) -> float:
    """The next double above, so that a rounded sum or difference of two doubles is not below the exact one."""
    return math.nextafter(x, math.inf)


def down(x: float) -> float:
    """The next double below."""
    return math.nextafter(x, -math.inf)


def _nearest(x: Fraction, text: str) -> float:
    try:
        return float(x)
    except OverflowError:
        raise ModelError(f"the term {quote(text)} is too large for a double") from None


def _reason(reject: Reject) -> str:
    return str(reject).removeprefix(f"{TOP}: ")
