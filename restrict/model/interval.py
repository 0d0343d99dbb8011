"""Interval analysis: bounds on the value of an expression, and proof that it stays within 64 bits (docs/format.md)."""

import math
from collections.abc import Mapping

from restrict.base.arrays import MAX64, MIN64
from restrict.base.errors import ModelError
from restrict.model.expr import SCALAR, Expr, Interval

_CORNERS = frozenset(("add", "sub", "mul", "div", "min", "max"))
_ANY = dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"), (0, 1))
_ANY |= {"mix": (MIN64, MAX64), "fin": (0, MAX64)}
"""Operators that may have any value of a range, whatever their operands are."""


def interval(expr: Expr, ranges: Mapping[str, Interval]) -> Interval:
    """Bounds on the value when every name lies in its range (docs/format.md, interval analysis). Linear."""
    result = _interval(expr, ranges)
    if result[0] < MIN64 or result[1] > MAX64:
        raise ModelError(
            f"64-bit overflow: a sub-expression ranges over {result[0]} .. {result[1]}; "
            "make it smaller, for example with % or min"
        )
    return result


def _interval(expr: Expr, ranges: Mapping[str, Interval]) -> Interval:
    op = expr.op
    if op == "const":
        return expr.value, expr.value
    if op == "name":
        return ranges[expr.text]
    inner = [interval(a, ranges) for a in expr.args]
    if op == "gather":
        assert expr.payload is not None
        return expr.payload.bounds()
    if op in _ANY:
        return _ANY[op]
    if op == "select":
        return min(inner[1][0], inner[2][0]), max(inner[1][1], inner[2][1])
    if op in ("div", "mod") and inner[1][0] <= 0 <= inner[1][1]:
        raise ModelError("a divisor may be 0; nothing is evaluated lazily, so write for example x // max(y, 1)")
    if op == "mod":
        return _interval_mod(*inner)
    if op == "abs":
        low, high = inner[0]
        return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    if op == "isqrt":
        if inner[0][0] < 0:
            raise ModelError("isqrt of a number that may be negative; write isqrt(max(x, 0))")
        return math.isqrt(inner[0][0]), math.isqrt(inner[0][1])
    assert op in _CORNERS
    corners = [SCALAR[op](a, b) for a in inner[0] for b in inner[1]]
    return min(corners), max(corners)


def _interval_mod(a: Interval, b: Interval) -> Interval:
    if b[0] > 0:
        return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
    return b[0] + 1, 0
