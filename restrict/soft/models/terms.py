"""Functions of ``i`` and ``n`` in ``restrict-soft/1`` files: position embeddings and inverse temperatures.

A term is an expression such as ``i/n``, ``1/(i+1)``, ``(-1)**i``, ``cospi(2*i/8)`` or ``4*n*log(n)``. It is read as a
syntax tree by the trusted checker's parser (:mod:`restrict.checker.soft_terms`), numbers exactly as their text says;
nothing of the file is run. Rational arithmetic is exact (:class:`fractions.Fraction`), and compiled, as a term is
evaluated at many positions. Only ``sqrt``, ``log``, ``exp``, ``cospi`` and ``sinpi`` of arguments without an exact
value give bounds: those of the checker, to about 50 digits, which are proved (Lemma S1 of docs/trusted-base.md).

Invariant: :meth:`Term.enclose` contains the mathematical value; :meth:`Term.value` is the double nearest to it for an
exact value and lies in the enclosure otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from restrict.base.arrays import F64
from restrict.base.errors import ModelError, ResourceLimit, quote
from restrict.checker.account import READING, Meter, Place, Reject
from restrict.checker.rules import COMPARISONS, Tree, mentioned
from restrict.checker.soft_terms import BITS, CHARACTERS, OPERATIONS, Evaluation, Range, TermParser, cospi, parse

MAX_TEXT, MAX_BITS = CHARACTERS, BITS
"""Bits of an exact intermediate value."""
TOP = Place("", "")
CHECKED = Evaluation({}, TOP, Meter(1 << 62))
"""The checker's operations on bounds."""
MAX_KEPT = 2**16
"""Positions up to which a term's column is kept for the next call."""


@dataclass(frozen=True)
class Span:
    """An enclosure of a real number by two finite floats, ``low <= high``."""

    low: float
    high: float


Number = Fraction | Range
Step = Callable[[int, int], Number]
"""The value of a subexpression at ``(i, n)``."""


@dataclass(frozen=True)
class Term:
    """A function of the position ``i`` (0-based) and the length ``n`` (markers included), given as text."""

    text: str

    @cached_property
    def names(self) -> frozenset[str]:
        """Which of ``i`` and ``n`` occur in it."""
        return frozenset(mentioned(_parse(self.text)))

    @property
    def uses_i(self) -> bool:
        """Whether the position occurs in it."""
        return "i" in self.names

    @cached_property
    def _step(self) -> Step:
        return _compile(_parse(self.text))

    def check(self) -> "Term":
        """The term itself, after reading its text. Raises :class:`ModelError` for text that is not a term."""
        self._step  # noqa: B018 - compiling is the check
        return self

    def enclose(self, i: int, n: int) -> Span:
        """Two doubles around the exact value at position ``i`` of ``n``; equal where the value is a double."""
        return _enclosed(self._exact(i, n), self.text)

    def exact(self, i: int, n: int) -> Fraction | None:
        """The exact value at position ``i`` of ``n``; ``None`` where it has only an enclosure (a root)."""
        found = self._exact(i, n)
        return found if isinstance(found, Fraction) else None

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

    def _exact(self, i: int, n: int) -> Number:
        try:
            return self._step(i, n)
        except ZeroDivisionError:
            raise ModelError(f"the term {quote(self.text)} divides by zero at i = {i}, n = {n}") from None
        except Reject as reject:
            kind = ResourceLimit if reject.code == 5 else ModelError
            raise kind(f"the term {quote(self.text)} at i = {i}, n = {n}: {_reason(reject)}") from None


@lru_cache(maxsize=1024)
def _kept_value(term: Term, i: int, n: int) -> float:
    """Every head asks for its scale in every run at a length."""
    return _middle(term._exact(i, n), term.text)


Columns = tuple[F64, F64]


def _columns(term: Term, n: int) -> Columns:
    """The values at every position, and bounds on their errors: (n,) each."""
    return _kept_columns(term, n) if n <= MAX_KEPT else _made_columns(term, n)


def _made_columns(term: Term, n: int) -> Columns:
    exact = [term._exact(i, n) for i in range(n if term.uses_i else 1)]
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


def _enclosed(x: Number, text: str) -> Span:
    low, high = _wide(x)
    below = _nearest(low, text)
    above = below if low is high else _nearest(high, text)
    return Span(below if below <= low else down(below), above if above >= high else up(above))


def _middle(x: Number, text: str) -> float:
    """The double that stands for a value."""
    return _nearest(x if isinstance(x, Fraction) else (x[0] + x[1]) / 2, text)


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


def _parse(text: str) -> Tree:
    try:
        return parse(text, TOP, ("i", "n"), Meter(READING))
    except Reject as reject:
        raise ModelError(
            f"{quote(text)} is not an expression that can stand in a term: {_reason(reject)}; known are i, n, numbers, "
            f"+ - * / // % **, comparisons, if-else, and {', '.join(TermParser.functions)} of one argument"
        ) from None


def _reason(reject: Reject) -> str:
    return str(reject).removeprefix(f"{TOP}: ")


def _compile(tree: Tree) -> Step:
    """A function for a syntax tree."""
    if tree.op == "int":
        value: Fraction = tree.value
        return lambda i, n: value
    if tree.op == "name":
        return (lambda i, n: Fraction(i)) if tree.value == "i" else (lambda i, n: Fraction(n))
    args = [_compile(arg) for arg in tree.args]
    if tree.op == "if":
        yes, test, no = args
        return lambda i, n: (yes if _rational(test(i, n)) else no)(i, n)
    if len(args) == 1:
        return lambda i, n: _called(tree.op, args[0](i, n))
    if tree.op == "**":
        return lambda i, n: CHECKED.power(_rational(args[0](i, n)), _rational(args[1](i, n)))
    return _comparison(OPERATIONS[tree.op], *args) if tree.op in COMPARISONS else _binary(tree.op, *args)


def _wide(x: Number) -> Range:
    return (x, x) if isinstance(x, Fraction) else x


def _thin(x: Range) -> Number:
    """Bounds on the checker's grid, or the number that they leave."""
    low, high = CHECKED.fit(x)
    return low if low == high else (low, high)


def _rational(x: Number) -> Fraction:
    return CHECKED.exact(_wide(x))


def _called(name: str, x: Number) -> Number:
    if name == "neg" and isinstance(x, Fraction):
        return -x
    if name in ("cospi", "sinpi"):
        turn = _rational(x) if name == "cospi" else Fraction(1, 2) - _rational(x)
        return _cosine(abs((turn + 1) % 2 - 1))
    return _thin(CHECKED.called(name, _wide(x)))


@lru_cache(maxsize=4096)
def _cosine(turn: Fraction) -> Number:
    """``cos(pi turn)``; kept, as positions repeat it."""
    return _thin(cospi(turn))


def _binary(kind: str, left: Step, right: Step) -> Step:
    exact = OPERATIONS[kind]

    def step(i: int, n: int) -> Number:
        a, b = left(i, n), right(i, n)
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return _small(Fraction(exact(a, b)))
        return _thin(CHECKED.combined(kind, _wide(a), _wide(b)))

    return step


def _comparison(test: Callable[[Fraction, Fraction], bool], left: Step, right: Step) -> Step:
    return lambda i, n: Fraction(int(test(_rational(left(i, n)), _rational(right(i, n)))))


def _small(x: Fraction) -> Fraction:
    if x.numerator.bit_length() > MAX_BITS or x.denominator.bit_length() > MAX_BITS:
        raise ResourceLimit(f"a term's exact value has more than {MAX_BITS} bits")
    return x
