"""Random expressions of the grammar of docs/format.md, with the interval that each has there.

A phrase is built bottom up from the grammar, so every operator meets every operand. Its interval follows the rules of
docs/format.md over **all** lengths at once (``n`` up to :data:`FAR`): the rules are monotone in their operands, so the
interval at any one length lies within, and a phrase that is made here is defined at every such length.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isqrt
from operator import add, floordiv, mul, sub

from numpy.random import Generator

FAR = 1_000_000
"""No expression overflows at any ``n`` up to here."""
LEAST, MOST = -(2**63), 2**63 - 1
OR, AND, NOT, COMPARE, SUM, TERM, UNARY, ATOM = range(1, 9)
"""How strongly the parts of the grammar bind; 0 is ``x if c else y``."""
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
OPERATORS: tuple[str, ...] = ("+", "-", "*", "//", "%", "min", "max", "abs", "isqrt", "neg", *COMPARISONS, "chain")
OPERATORS += ("and", "or", "not", "if", "hash")
ARITY = {"abs": 1, "isqrt": 1, "neg": 1, "not": 1, "if": 3, "chain": 3}
LARGE = (MOST, 2**62, 2**32, 10**12 + 39, 65537, 1000)
Range = tuple[int, int]


@dataclass(frozen=True)
class Phrase:
    """The text of an expression, its interval, and how strongly its last operator binds."""

    text: str
    low: int
    high: int
    binds: int = ATOM

    def __format__(self, least: str) -> str:
        """The text, in parentheses where the place needs a stronger binding."""
        return self.text if self.binds >= int(least or 0) else f"({self.text})"


def constant(value: int) -> Phrase:
    """An integer; a negative one is written with a minus sign, which the least of all cannot be."""
    return Phrase(str(value), value, value, ATOM if value >= 0 else UNARY)


def named(name: str, low: int, high: int) -> Phrase:
    """A name."""
    return Phrase(name, low, high)


# ---------------------------------------------------------------- intervals


def within(*ends: int) -> Range | None:
    """The least interval that holds some numbers, unless it overflows."""
    return (min(ends), max(ends)) if min(ends) >= LEAST and max(ends) <= MOST else None


def corners(rule: Callable[[int, int], int], a: Phrase, b: Phrase) -> Range | None:
    """The interval of an operator that is monotone in each operand."""
    return within(*(rule(x, y) for x, y in product((a.low, a.high), (b.low, b.high))))


CORNERS: dict[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul, "//": floordiv}


def remainder(a: Phrase, b: Phrase) -> Range:
    """The interval of ``a % b``, for a ``b`` that is never 0."""
    if b.high < 0:
        return b.low + 1, 0
    return (a.low, a.high) if a.low >= 0 and a.high < b.low else (0, b.high - 1)


def interval(operator: str, parts: Sequence[Phrase]) -> Range | None:
    """The interval of an operator's value; None where an operand or the value is not allowed."""
    a, b = parts[0], parts[-1]
    if operator in ("//", "%") and b.low <= 0 <= b.high:
        return None
    if operator == "%":
        return remainder(a, b)
    if operator in CORNERS:
        return corners(CORNERS[operator], a, b)
    if operator in ("min", "max"):
        pick = min if operator == "min" else max
        return pick(p.low for p in parts), pick(p.high for p in parts)
    if operator == "neg":
        return within(-a.low, -a.high)
    if operator == "abs":
        ends = (abs(a.low), abs(a.high))
        return within(0 if a.low <= 0 <= a.high else min(ends), max(ends))
    if operator == "isqrt":
        return None if a.low < 0 else (isqrt(a.low), isqrt(a.high))
    if operator == "if":
        return min(parts[0].low, b.low), max(parts[0].high, b.high)
    return (0, MOST) if operator == "hash" else (0, 1)


# ---------------------------------------------------------------- writing


FORMS = {
    "+": ("{0:5} + {1:6}", SUM), "-": ("{0:5} - {1:6}", SUM), "*": ("{0:6} * {1:7}", TERM),
    "//": ("{0:6} // {1:7}", TERM), "%": ("{0:6} % {1:7}", TERM), "neg": ("-{0:7}", UNARY), "not": ("not {0:3}", NOT),
    "and": ("{0:2} and {1:3}", AND), "or": ("{0:1} or {1:2}", OR), "if": ("{0:1} if {1:1} else {2}", 0),
}  # fmt: skip
"""How operators are written, with how strongly the place of an operand has to bind, and how strongly they bind."""


def written(operator: str, parts: Sequence[Phrase], signs: Sequence[str]) -> tuple[str, int]:
    """The text of an operator on its operands, with few parentheses, and how strongly it binds."""
    if operator in ("min", "max", "abs", "isqrt", "hash"):
        return f"{operator}({', '.join(p.text for p in parts)})", ATOM
    if operator in FORMS:
        form, binds = FORMS[operator]
        return form.format(*parts), binds
    rest = "".join(f" {sign} {part:5}" for sign, part in zip(signs, parts[1:], strict=True))
    return f"{parts[0]:5}{rest}", COMPARE


def applied(rng: Generator, operator: str, parts: Sequence[Phrase], signs: Sequence[str] = ()) -> Phrase | None:
    """An operator on operands, if that is defined; sometimes in parentheses that are not needed.

    ``signs`` are those of a chain of comparisons, at random where they are not given.
    """
    found = interval(operator, parts)
    if found is None:
        return None
    if not signs:
        signs = [COMPARISONS[int(rng.integers(6))] for _ in parts[1:]] if operator == "chain" else [operator]
    text, binds = written(operator, parts, signs)
    if rng.random() < 0.15:
        text, binds = f"({text})", ATOM
    return Phrase(text, *found, binds)


def apply(rng: Generator, operator: str, *parts: Phrase) -> Phrase:
    """An operator on operands for which it is known to be defined."""
    found = applied(rng, operator, parts)
    assert found is not None, (operator, [part.text for part in parts])
    return found


# ---------------------------------------------------------------- growing


def leaf(rng: Generator, names: Mapping[str, Range], large: float = 0.04) -> Phrase:
    """A name, or a constant: mostly a small one, sometimes negative or large."""
    if names and rng.random() < 0.72:
        name = list(names)[int(rng.integers(len(names)))]
        return named(name, *names[name])
    value = int(rng.integers(5))
    if rng.random() < large:
        value = LARGE[int(rng.integers(len(LARGE)))]
    return constant(-value if rng.random() < 0.25 else value)


def divisor(rng: Generator, part: Phrase) -> Phrase:
    """An operand as a divisor: as it is where it is never 0, else moved away from 0."""
    if not part.low <= 0 <= part.high:
        return part
    if rng.random() < 0.5:
        return apply(rng, "max", part, constant(1 + int(rng.integers(3))))
    sign = 1 if rng.random() < 0.7 else -1
    positive = apply(rng, "%", part, constant(2 + int(rng.integers(2))))
    return apply(rng, "+" if sign > 0 else "-", positive, constant(1 if sign > 0 else 4))


def grown(
    rng: Generator,
    names: Mapping[str, Range],
    depth: int,
    operators: Sequence[str] = OPERATORS,
    shallow: float = 0.6,
    large: float = 0.04,
) -> Phrase:
    """A random expression over some names, of at most ``depth`` operators one inside another (divisors have more).

    Args:
        rng: the generator.
        names: the names, each with its interval.
        depth: the depth; 0 is a leaf.
        operators: what may occur.
        shallow: the probability that an operand is a leaf before the depth is used up.
        large: the share of large ones among the constants.

    Returns:
        The phrase; defined for all values of the names.
    """
    if depth == 0:
        return leaf(rng, names, large)
    for _ in range(20):
        operator = operators[int(rng.integers(len(operators)))]
        size = 1 + int(rng.integers(3)) if operator == "hash" else ARITY.get(operator, 2)
        if operator in ("min", "max", "chain") and rng.random() < 0.15:
            size += 1
        inner = [0 if rng.random() < shallow else depth - 1 for _ in range(size)]
        parts = [grown(rng, names, d, operators, shallow, large) for d in inner]
        if operator in ("//", "%"):
            parts[1] = divisor(rng, parts[1])
        if operator == "isqrt" and parts[0].low < 0:
            parts[0] = apply(rng, "max", parts[0], constant(0))
        found = applied(rng, operator, parts)
        if found is not None:
            return found
    return leaf(rng, names, large)


def plain(rng: Generator, names: Mapping[str, Range], operators: Sequence[str] = OPERATORS) -> Phrase:
    """One operator on leaves: every pair of operands is as likely as any other."""
    return grown(rng, names, 1, operators, large=0.02)


def bounded(rng: Generator, phrase: Phrase, size: int) -> Phrase:
    """A phrase made from another, with values in ``0 .. size-1``; for some, only trying all combinations shows it."""
    if phrase.low >= 0 and phrase.high < size and rng.random() < 0.8:
        return phrase
    top, way = constant(size - 1), int(rng.integers(6))
    if way == 0:
        return apply(rng, "min", apply(rng, "max", phrase, constant(0)), top)
    if way == 1:
        return apply(rng, "max", apply(rng, "min", top, phrase), constant(0))
    if way == 2 and phrase.low >= -MOST:
        return apply(rng, "%", apply(rng, "abs", phrase), constant(size))
    if way == 3:
        return apply(rng, "neg", apply(rng, "%", phrase, constant(-size)))
    if way == 4 and size > 1 and phrase.high - phrase.low < 1000:
        inside = applied(rng, "chain", (constant(0), phrase, constant(size)), ("<=", "<"))
        assert inside is not None
        found = apply(rng, "if", phrase, inside, constant(int(rng.integers(size))))
        return Phrase(found.text, 0, size - 1, found.binds)
    return apply(rng, "%", phrase, constant(size))
