"""Terms and numbers of docs/soft-format.md: exact fractions from their text, and bounds where a value is irrational.

A term is parsed by the grammar of expressions with other words (``soft_terms.parse``); no number goes through a float.
The bounds on ``sqrt``, ``log``, ``exp`` come from the decimal module, which rounds these three correctly; Lemma S1 of
docs/trusted-base.md says what they contain.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, NoReturn

from . import rules
from .account import Meter, Place, exhausted, malformed, require, shown
from .rules import COMPARISONS, LEVELS, Parser, Tree

CHARACTERS = 200
POWER = 64
"""The largest exponent in a term, as an absolute value; ``(-1)**x`` takes any integer."""
BITS = 4096
"""Bits of a numerator or denominator in a term."""
FUNCTION = 450
"""Steps of a function."""
GRID = 1 << 1024
"""Where only bounds are known, they are multiples of ``1 / GRID``."""
DIGITS = Context(60, ROUND_HALF_EVEN, -999_999, 999_999, traps=[InvalidOperation, DivisionByZero, Overflow])
"""Decimals of our own, whatever the caller's are."""
SLACK = Fraction(1, 10**50)
DECIMAL = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
QUOTIENT = re.compile(r"(?:0|[1-9][0-9]*)/[1-9][0-9]*")

Range = tuple[Fraction, Fraction]
"""Bounds on a number; equal where it is known exactly."""


def number(text: str) -> Fraction | None:
    """The number that a decimal such as ``0.25`` or ``1e-6`` denotes: at most 200 ASCII characters, three of them in
    the exponent."""
    return Fraction(text) if len(text) <= CHARACTERS and DECIMAL.fullmatch(text) else None


def quotient(value: Any, place: Place) -> Fraction:
    """A decimal, or a quotient of two integers such as ``1/100``, as text."""
    text = value if isinstance(value, str) and len(value) <= CHARACTERS else ""
    fits = DECIMAL.fullmatch(text) or QUOTIENT.fullmatch(text)
    require(fits is not None, place, "expected a number such as 0.01, 1e-6 or 1/100 as text", value)
    return Fraction(text)


# ---------------------------------------------------------------- parsing


class TermParser(Parser):
    """The grammar of terms: that of expressions with decimals, ``/`` and ``**``, and with other functions."""

    characters = CHARACTERS
    token = re.compile(rf"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\*\*|{rules.TOKEN.pattern}")
    levels: ClassVar = {**LEVELS, "/": 6, "**": 8}
    functions: ClassVar = dict.fromkeys(("sqrt", "log", "exp", "cospi", "sinpi"), (1, 1))

    def number(self, token: str) -> Any:
        """A decimal, exactly."""
        return number(token)


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"//": operator.floordiv, "%": operator.mod},
    **dict(
        zip(COMPARISONS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True)
    ),
}
"""Operations on exact numbers."""
WORDS = {"int", "name", "neg", "if", "**", *OPERATIONS, *TermParser.functions}


def parse(text: str, place: Place, names: Collection[str], meter: Meter) -> Tree:
    """A term over these names as a tree."""
    tree = TermParser(text, place, names, meter).tree
    strange = [op for op in operations(tree) if op not in WORDS]
    require(not strange, place, "and, or, not and chains of comparisons cannot stand in a term")
    return tree


def operations(tree: Tree) -> list[str]:
    """What occurs in a term."""
    return [tree.op, *(op for arg in tree.args for op in operations(arg))]


# ---------------------------------------------------------------- values


class Evaluation:
    """The value of terms where their names have these values."""

    def __init__(self, known: Mapping[str, int], place: Place, meter: Meter) -> None:
        self.known, self.place, self.meter = known, place, meter

    def fail(self, reason: str) -> NoReturn:
        """The term has no value here."""
        where = ", ".join(f"{name} = {value}" for name, value in self.known.items())
        malformed(self.place, reason + (" at " + where if where else ""))

    def exact(self, x: Range) -> Fraction:
        """A number that is known exactly."""
        if x[0] != x[1]:
            self.fail("an exact value is needed, and only bounds are known")
        return x[0]

    def value(self, tree: Tree) -> Range:
        """Bounds on a term, and on each of its parts that count."""
        if tree.op == "int":
            return tree.value, tree.value
        if tree.op == "name":
            return (Fraction(self.known[tree.value]),) * 2
        if tree.op == "if":
            return self.value(tree.args[0 if self.exact(self.value(tree.args[1])) else 2])
        args = [self.value(arg) for arg in tree.args]
        self.meter.charge(12 + sum(map(size, args)) // 32)
        return self.fit(self.called(tree.op, args[0]) if len(args) == 1 else self.combined(tree.op, *args))

    def fit(self, x: Range) -> Range:
        """Bounds on the grid, a number of at most 4096 bits."""
        if x[0] != x[1]:
            x = Fraction(math.floor(x[0] * GRID), GRID), Fraction(math.ceil(x[1] * GRID), GRID)
        if max(map(bits, x)) > BITS:
            exhausted(self.place, f"a value has more than {BITS} bits")
        return x

    def combined(self, op: str, a: Range, b: Range) -> Range:
        """An operation on two numbers, or on bounds of them."""
        if op in ("/", "//", "%") and b[0] <= 0 <= b[1]:
            self.fail(f"it divides by zero, or what may be zero ({op})")
        if op in ("+", "-", "*", "/"):
            ends = [OPERATIONS[op](x, y) for x in set(a) for y in set(b)]
            return min(ends), max(ends)
        x, y = self.exact(a), self.exact(b)
        found = self.power(x, y) if op == "**" else Fraction(OPERATIONS[op](x, y))
        return found, found

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        """A power with an integer as exponent."""
        if abs(base) == 1 and exponent.denominator == 1:
            return base if exponent % 2 else Fraction(1)
        if exponent.denominator != 1 or abs(exponent) > POWER or (base == 0 and exponent < 0):
            self.fail(f"{shown(str(base))} to a power that is no integer, beyond {POWER}, or divides by zero")
        if (bits(base) - 1) * abs(exponent) > BITS:
            exhausted(self.place, f"a value has more than {BITS} bits")
        return base ** int(exponent)

    def called(self, name: str, x: Range) -> Range:
        """A function of one number, or of bounds of it: all are increasing but the cosine."""
        if name == "neg":
            return -x[1], -x[0]
        self.meter.charge(FUNCTION)
        if name in ("cospi", "sinpi"):
            return cospi(self.exact(x) if name == "cospi" else Fraction(1, 2) - self.exact(x))
        if name == "exp" and x[1] > 700:
            exhausted(self.place, "an exponential of more than 700")
        if x[0] < 0 if name == "sqrt" else name == "log" and x[0] <= 0:
            self.fail(f"{name} of what may be too small")
        if x[0] == x[1] and (known := KNOWN[name](x[0])) is not None:
            return known, known
        return BOUNDS[name](x[0])[0], BOUNDS[name](x[1])[1]


def bits(x: Fraction) -> int:
    """The bits of a fraction's numerator or denominator, whichever has more."""
    return max(x.numerator.bit_length(), x.denominator.bit_length())


def size(x: Range) -> int:
    """The bits of bounds, for the account."""
    return bits(x[0]) + bits(x[1])


# ---------------------------------------------------------------- functions


def root(x: Fraction) -> Fraction | None:
    """The square root, where it is rational."""
    found = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return found if found * found == x else None


def sqrt(x: Fraction) -> Range:
    """Bounds on the square root: both roundings are relative ones."""
    found = Fraction(DIGITS.sqrt(decimal(x)))
    return found * (1 - SLACK), found * (1 + SLACK)


def log(x: Fraction) -> Range:
    """Bounds on the logarithm: a relative error of the argument is an absolute one here."""
    found = Fraction(DIGITS.ln(decimal(x)))
    slack = SLACK * (1 + abs(found))
    return found - slack, found + slack


def exp(x: Fraction) -> Range:
    """Bounds on the exponential, for ``x`` up to 700; below -700 the lower one is zero."""
    found = Fraction(DIGITS.exp(decimal(max(x, Fraction(-700)))))
    return found * (1 - SLACK) if x >= -700 else Fraction(0), found * (1 + SLACK)


def decimal(x: Fraction) -> Decimal:
    """A fraction to 60 digits."""
    return DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


KNOWN: dict[str, Callable[[Fraction], Fraction | None]] = {
    "sqrt": root,
    "log": lambda x: Fraction(0) if x == 1 else None,
    "exp": lambda x: Fraction(1) if x == 0 else None,
}
BOUNDS: dict[str, Callable[[Fraction], Range]] = {"sqrt": sqrt, "log": log, "exp": exp}
COSINES = {0: (1, 1), 2: (1, 2), 3: (0, 1), 4: (-1, 2), 6: (-1, 1)}
"""The rational cosines, by six times the angle over pi."""


def cospi(r: Fraction) -> Range:
    """Bounds on the cosine of ``pi r``: Machin's pi, and the cosine's alternating series to below ``10^-50``."""
    r = abs((r + 1) % 2 - 1)
    if (6 * r).denominator == 1 and int(6 * r) in COSINES:
        return (Fraction(*COSINES[int(6 * r)]),) * 2
    x = Fraction(round(pi() * r * 10**60), 10**60)
    total, piece, k = Fraction(0), Fraction(1), 0
    while abs(piece) > SLACK:
        total += piece
        k += 2
        piece = Fraction(round(-piece * x * x / (k * (k - 1)) * 10**60), 10**60)
    return total - 10**5 * SLACK, total + 10**5 * SLACK


@cache
def pi() -> Fraction:
    """Pi within ``10^-53``, by Machin's formula."""
    return 16 * arctan(5) - 4 * arctan(239)


def arctan(q: int) -> Fraction:
    """``arctan(1/q)`` within ``10^-55``."""
    total, k = Fraction(0), 0
    while q ** (2 * k + 1) < 10**56:
        total += Fraction((-1) ** k, (2 * k + 1) * q ** (2 * k + 1))
        k += 1
    return Fraction(round(total * 10**58), 10**58)
