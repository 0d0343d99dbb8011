"""Functions of ``i`` and ``n`` in ``restrict-soft/1`` files: position embeddings and inverse temperatures.

A term is an expression such as ``i/n``, ``1/(i+1)``, ``(-1)**i``, ``cospi(2*i/8)`` or ``4*n*log(n)``. It is read as a
syntax tree by the trusted checker's parser (:mod:`restrict.checker.soft_terms`), numbers exactly as their text says;
nothing of the file is run. Values are computed here, apart from the checker. Rational arithmetic is exact
(:class:`fractions.Fraction`), and only ``sqrt``, ``log``, ``exp``, ``cospi`` and ``sinpi`` of arguments without an
exact value give an enclosure by two floats.

Invariant: :meth:`Term.enclose` contains the mathematical value; :meth:`Term.value` is the double nearest to it for an
exact value and lies in the enclosure otherwise. Assumption: the C library's ``log``, ``exp``, ``cos`` and ``sin`` are
within :data:`LIBRARY_ULPS` units in the last place (glibc documents less than one).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from restrict.base.errors import ModelError, ResourceLimit, quote
from restrict.checker.account import READING, Meter, Place, Reject
from restrict.checker.rules import COMPARISONS, Tree, mentioned
from restrict.checker.soft_terms import BITS, CHARACTERS, OPERATIONS, POWER, parse

MAX_TEXT, MAX_POWER, MAX_BITS = CHARACTERS, POWER, BITS
"""Bits of an exact intermediate value."""
LIBRARY_ULPS = 4
MAX_KEPT = 2**16
"""Positions up to which a term's column is kept for the next call."""


@dataclass(frozen=True)
class Span:
    """An enclosure of a real number by two finite floats, ``low <= high``."""

    low: float
    high: float


Number = Fraction | Span
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

    def check(self) -> Term:
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
        return _middle(self._exact(i, n), self.text)

    def column(self, n: int) -> npt.NDArray[np.float64]:
        """The values at every position. ``n``: length, at least 1. Result: shape (n,), float64. Cost: one exact
        evaluation per position (about 2 microseconds per operation)."""
        return _columns(self, n)[0]

    def errors(self, n: int) -> npt.NDArray[np.float64]:
        """Bounds on ``|value - exact value|`` at every position, shape (n,)."""
        return _columns(self, n)[1]

    def _exact(self, i: int, n: int) -> Number:
        try:
            return self._step(i, n)
        except ZeroDivisionError:
            raise ModelError(f"the term {quote(self.text)} divides by zero at i = {i}, n = {n}") from None
        except OverflowError:
            raise ModelError(f"the term {quote(self.text)} is too large for a double at i = {i}, n = {n}") from None
        except ModelError as error:
            raise ModelError(f"the term {quote(self.text)} at i = {i}, n = {n}: {error}") from None


Columns = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


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
    if isinstance(x, Span):
        return x
    near = _nearest(x, text)
    exact = Fraction(near)
    low = near if exact <= x else math.nextafter(near, -math.inf)
    return Span(low, near if exact >= x else math.nextafter(near, math.inf))


def _middle(x: Number, text: str) -> float:
    """The double that stands for a value."""
    if isinstance(x, Fraction):
        return _nearest(x, text)
    return min(max((x.low + x.high) / 2, x.low), x.high)


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
        return parse(text, Place("", ""), ("i", "n"), Meter(READING))
    except Reject as reject:
        reason = str(reject).removeprefix(f"{Place('', '')}: ")
        raise ModelError(
            f"{quote(text)} is not an expression that can stand in a term: {reason}; known are i, n, numbers, "
            f"+ - * / // % **, comparisons, if-else, and {', '.join(FUNCTIONS)} of one argument"
        ) from None


def _compile(tree: Tree) -> Step:
    """A function for a syntax tree."""
    if tree.op == "int":
        value: Fraction = tree.value
        return lambda i, n: value
    if tree.op == "name":
        return (lambda i, n: Fraction(i)) if tree.value == "i" else (lambda i, n: Fraction(n))
    args = [_compile(arg) for arg in tree.args]
    if tree.op == "neg":
        return lambda i, n: _negative(args[0](i, n))
    if tree.op == "if":
        yes, test, no = args
        return lambda i, n: (yes if _rational(test(i, n)) else no)(i, n)
    if tree.op in FUNCTIONS:
        function = FUNCTIONS[tree.op]
        return lambda i, n: function(args[0](i, n))
    if tree.op == "**":
        return _power(*args)
    return _comparison(OPERATIONS[tree.op], *args) if tree.op in COMPARISONS else _binary(tree.op, *args)


def _rational(x: Number) -> Fraction:
    if isinstance(x, Span):
        raise ModelError("an exact value is needed here, and this has only an enclosure")
    return x


def _span(x: Number) -> Span:
    if isinstance(x, Span):
        return x
    near = float(x)
    return Span(near, near) if Fraction(near) == x else Span(down(near), up(near))


def _negative(x: Number) -> Number:
    return Span(-x.high, -x.low) if isinstance(x, Span) else -x


def _binary(kind: str, left: Step, right: Step) -> Step:
    exact = OPERATIONS[kind]

    def step(i: int, n: int) -> Number:
        a, b = left(i, n), right(i, n)
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return _small(Fraction(exact(a, b)))
        return _finite(_spans(kind, _span(a), _span(b)))

    return step


def _spans(kind: str, a: Span, b: Span) -> Span:
    if kind == "+":
        return Span(down(a.low + b.low), up(a.high + b.high))
    if kind == "-":
        return Span(down(a.low - b.high), up(a.high - b.low))
    if kind == "/" and b.low <= 0 <= b.high:
        raise ModelError("a division by something that may be zero")
    if kind not in ("*", "/"):
        raise ModelError("// and % need exact values")
    times = operator.mul if kind == "*" else operator.truediv
    ends = [times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Span(down(min(ends)), up(max(ends)))


def _power(base: Step, exponent: Step) -> Step:
    def step(i: int, n: int) -> Number:
        b, e = _rational(base(i, n)), _rational(exponent(i, n))
        if e.denominator != 1:
            raise ModelError("an exponent must be an integer (for a root use sqrt)")
        if abs(b) == 1:
            return b if e % 2 else Fraction(1)
        if abs(e) > MAX_POWER:
            raise ModelError(f"the exponent {e} is larger than {MAX_POWER}")
        return _small(b ** int(e))

    return step


def _comparison(test: Callable[[Fraction, Fraction], bool], left: Step, right: Step) -> Step:
    return lambda i, n: Fraction(int(test(_rational(left(i, n)), _rational(right(i, n)))))


def _small(x: Fraction) -> Fraction:
    if x.numerator.bit_length() > MAX_BITS or x.denominator.bit_length() > MAX_BITS:
        raise ResourceLimit(f"a term's exact value has more than {MAX_BITS} bits")
    return x


def _finite(x: Span) -> Span:
    if not (math.isfinite(x.low) and math.isfinite(x.high)):
        raise OverflowError
    return x


def _library(function: Callable[[float], float], x: Number, bounds: tuple[float, float]) -> Span:
    """The enclosure of a monotone library function, cut to its range."""
    s = _span(x)
    low, high = function(s.low), function(s.high)
    for _ in range(LIBRARY_ULPS):
        low, high = down(low), up(high)
    return _finite(Span(max(low, bounds[0]), min(high, bounds[1])))


def _sqrt(x: Number) -> Number:
    if _span(x).low < 0:
        raise ModelError("the square root of a negative number")
    if isinstance(x, Fraction):
        top, bottom = math.isqrt(x.numerator), math.isqrt(x.denominator)
        if (top * top, bottom * bottom) == (x.numerator, x.denominator):
            return Fraction(top, bottom)
    return _library(math.sqrt, x, (0.0, math.inf))


def _log(x: Number) -> Number:
    if x == 1:
        return Fraction(0)
    if _span(x).low <= 0:
        raise ModelError("the logarithm of a number that is not positive")
    return _library(math.log, x, (-math.inf, math.inf))


def _exp(x: Number) -> Number:
    return Fraction(1) if x == 0 else _library(math.exp, x, (0.0, math.inf))


def _cospi(x: Number) -> Number:
    """``cos(pi x)`` for rational ``x``, reduced exactly to ``0 < x < 1/2`` first."""
    r = _rational(x) % 2
    return _cospi_reduced(2 - r if r > 1 else r)


@lru_cache(maxsize=4096)
def _cospi_reduced(r: Fraction) -> Number:
    """``cos(pi r)`` for ``0 <= r <= 1``; kept, as positions repeat it."""
    if r > Fraction(1, 2):
        return _negative(_cospi_reduced(1 - r))
    if r in (0, Fraction(1, 2), Fraction(1, 3)):
        return {0: Fraction(1), Fraction(1, 2): Fraction(0), Fraction(1, 3): Fraction(1, 2)}[r]
    angle = _spans("*", Span(math.pi, up(math.pi)), _span(r))
    turned = _library(math.cos, Span(-angle.high, -angle.low), (0.0, 1.0))
    other = _library(math.cos, Span(-angle.low, -angle.high), (0.0, 1.0))
    return Span(min(turned.low, other.low), max(turned.high, other.high))


def _sinpi(x: Number) -> Number:
    return _cospi(Fraction(1, 2) - _rational(x))


FUNCTIONS: dict[str, Callable[[Number], Number]] = {
    "sqrt": _sqrt,
    "log": _log,
    "exp": _exp,
    "cospi": _cospi,
    "sinpi": _sinpi,
}
