"""Counting in formulas: linear inequalities of counts, and unary numerical predicates on positions and counts.

The counts at position ``i`` are ``#past phi`` (how many ``j <= i`` have phi), ``#future phi`` (how many ``j >= i``) and
``#all phi``. With them the logics of sections 4.4 and 4.5 of Yang, Strobl, Chiang & Angluin (2024) exist; the second is
that of Barcelo, Kozachinskiy, Lin & Podolskii (2024). ``position`` is ``#past true - 1`` and ``length`` is ``#all
true``, so both may stand in inequalities as well.

A :class:`Sum` and a :class:`Remainder` are what the parser holds before it reads the comparison; in a formula only
:class:`Inequality` and :class:`NumericalPredicate` are kept, as the ``detail`` of a node. Invariant: like terms are
collected, no weight is zero, and no number is beyond :data:`LARGEST`.
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.base.errors import ModelError, ResourceLimit, UsageError, quote
from restrict.model.expr import Expr
from restrict.model.expr_parser import parse

DIRECTIONS = ("past", "future", "all")
LARGEST = 10**9
"""The largest weight or constant, as an absolute value."""
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
Term = tuple[int, str]
"""What is counted: the index of a formula, and a direction."""


class CountingError(UsageError):
    """A fault of an inequality or of a predicate, without its place in the text."""


@dataclass(frozen=True)
class Inequality:
    """``constant + sum of weights[k] * (count of operand k in directions[k])`` stands in ``relation`` to 0."""

    relation: str
    weights: tuple[int, ...]
    directions: tuple[str, ...]
    constant: int


@dataclass(frozen=True)
class NumericalPredicate:
    """A unary numerical predicate ``text``, an integer expression in ``x`` and ``n`` that is true where it is not 0.
    ``x`` is the count of the only operand in ``direction``, or the position itself where ``direction`` is empty."""

    text: str
    direction: str = ""


@dataclass(frozen=True)
class Sum:
    """``constant`` and weighted counts, each count once."""

    weights: tuple[tuple[Term, int], ...] = ()
    constant: int = 0

    def plus(self, other: "Sum", times: int = 1) -> "Sum":
        """This sum and a multiple of another one, like terms collected. ``UsageError``: a number beyond 10^9."""
        found = dict(self.weights)
        for term, weight in other.weights:
            found[term] = found.get(term, 0) + times * weight
        kept = tuple((term, weight) for term, weight in found.items() if weight)
        made = Sum(kept, self.constant + times * other.constant)
        if any(abs(number) > LARGEST for number in (made.constant, *(w for _, w in kept))):
            raise CountingError(f"a number larger than {LARGEST}")
        return made


@dataclass(frozen=True)
class Remainder:
    """``argument mod modulus``."""

    argument: Sum
    modulus: int


def compared(left: Sum, relation: str, right: Sum) -> tuple[Inequality, tuple[int, ...]]:
    """The inequality (a sign of ``RELATIONS``) between two sums, and the indices of the formulas that it counts."""
    total = left.plus(right, -1)
    ordered = sorted(total.weights, key=lambda found: found[1] < 0)  # as it is written: those to the left of the sign
    weights, directions = tuple(w for _, w in ordered), tuple(direction for (_, direction), _ in ordered)
    return Inequality(relation, weights, directions, total.constant), tuple(index for (index, _), _ in ordered)


def predicated(text: str, argument: Sum, true: int) -> tuple[NumericalPredicate, tuple[int, ...]]:
    """A predicate ``text`` in ``x`` and ``n`` on ``x``, a sum of one count and a constant, and the indices of the
    formulas that it counts, one or none; ``true``: index of that formula, whose counts are position and length.
    ``UsageError``: several counts, or no such expression."""
    if len(argument.weights) != 1:
        raise CountingError(
            "a unary numerical predicate takes one count or the position; Theorems 20 to 23 allow no more"
        )
    parsed(text)
    ((index, direction), weight), constant = argument.weights[0], argument.constant
    if index != true:
        return NumericalPredicate(_put(text, _affine("x", weight, constant)), direction), (index,)
    if direction == "past":
        return NumericalPredicate(_put(text, _affine("x", weight, constant + weight))), ()
    base = "n" if direction == "all" else "(n - x)"
    return NumericalPredicate(_put(text, _affine(base, weight, constant))), ()


def _affine(name: str, weight: int, constant: int) -> str:
    """The text of ``weight * name + constant``."""
    text = name if weight == 1 else f"{weight} * {name}" if weight > 0 else f"0 - {-weight} * {name}"
    if constant:
        text += f" {'+' if constant > 0 else '-'} {abs(constant)}"
    return text if text.isidentifier() else f"({text})"


def _put(text: str, value: str) -> str:
    return re.sub(r"\bx\b", value, text.strip())


def mirrored(detail: Inequality | NumericalPredicate) -> Inequality | NumericalPredicate:
    """What holds at ``n-1-i`` of the reversed word where ``detail`` holds at ``i``: past and future exchanged."""
    other = {"past": "future", "future": "past", "all": "all"}
    if isinstance(detail, Inequality):
        return replace(detail, directions=tuple(other[d] for d in detail.directions))
    if detail.direction:
        return replace(detail, direction=other[detail.direction])
    return NumericalPredicate(_put(detail.text, "(n - 1 - x)"))


@lru_cache(maxsize=1024)
def parsed(text: str) -> Expr:
    """The expression of a predicate in ``x`` and ``n``, without ``hash`` and ``isqrt`` (docs/format.md); else
    ``UsageError``."""
    try:
        tree = parse(text.strip(), frozenset("xn"))
    except ModelError as error:
        raise CountingError(str(error)) from None
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.op in ("mix", "fin", "isqrt"):
            raise CountingError(f"the predicate {quote(text)} may not use hash or isqrt")
        stack.extend(node.args)
    return tree


@lru_cache(maxsize=256)
def truths(text: str, n: int) -> Bools:
    """A predicate in ``x`` and ``n`` at ``x = 0 .. n``: bool, (n+1,), read-only; O(n) per operator. ``UsageError``: it
    divides by zero, or :func:`parsed` refuses it; ``ResourceLimit``: a value beyond 62 bits."""
    found = np.asarray(_values(parsed(text), np.arange(n + 1, dtype=np.int64), n, text) != 0)
    found.flags.writeable = False
    return found


_ARRAYS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.floor_divide, "mod": np.remainder,
    "min": np.minimum, "max": np.maximum, "abs": np.abs, "and": np.logical_and, "or": np.logical_or,
    "not": np.logical_not, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip


def _values(node: Expr, x: I64, n: int, text: str) -> I64:
    """The values of an expression at all arguments at once."""
    if node.op == "const":
        return np.full_like(x, node.value)
    if node.op == "name":
        return x if node.text == "x" else np.full_like(x, n)
    args = [_values(a, x, n, text) for a in node.args]
    if node.op == "select":
        return np.where(args[0] != 0, args[1], args[2])
    if node.op in ("div", "mod") and not args[1].all():
        raise CountingError(f"the predicate {quote(text)} divides by zero at n = {n}")
    sizes = [max(abs(int(a.min())), abs(int(a.max()))) for a in args]
    if (prod if node.op == "mul" else sum)(sizes) >= 2**62:
        raise ResourceLimit(f"the predicate {quote(text)} has a value of more than 62 bits at n = {n}")
    return np.asarray(_ARRAYS[node.op](*args), dtype=np.int64)


def counted(values: Bools, direction: str) -> I64:
    """How often a formula (bool, (..., n)) holds past, future or all around each position: int64. Linear."""
    if direction == "all":
        return np.broadcast_to(values.sum(axis=-1, dtype=np.int64)[..., None], values.shape)
    if direction == "past":
        return np.cumsum(values, axis=-1, dtype=np.int64)
    return np.cumsum(values[..., ::-1], axis=-1, dtype=np.int64)[..., ::-1]


def holds(detail: Inequality | NumericalPredicate, args: list[Bools], shape: tuple[int, ...]) -> Bools:
    """The truth of an inequality or predicate at every position, bool of this shape, from the counted formulas, bool
    (..., n). Linear. ``UsageError``: a predicate divides by zero; ``ResourceLimit``: it has a value beyond 62 bits."""
    n = shape[-1]
    if isinstance(detail, NumericalPredicate):
        found = truths(detail.text, n)
        return found[counted(args[0], detail.direction)] if detail.direction else np.broadcast_to(found[:n], shape)
    total = np.full(shape, detail.constant, dtype=np.int64)
    for values, weight, direction in zip(args, detail.weights, detail.directions, strict=True):
        total += weight * counted(values, direction)
    return np.asarray(RELATIONS[detail.relation](total, 0))
