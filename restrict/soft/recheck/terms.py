"""Bounds on the terms of docs/soft-format.md, from the text alone, by fractions and the decimal module."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from restrict.soft.recheck.fixed import malformed

Range = tuple[Fraction, Fraction]


def term(text: str, i: int, n: int) -> Range:
    """Bounds on a term at ``(i, n)``; equal where it is rational."""
    try:
        return value(ast.parse(text.strip(), mode="eval").body, i, n)
    except (SyntaxError, ZeroDivisionError, ArithmeticError):
        malformed(f"the term {text!r} has no value at i = {i}, n = {n}")


def exact(x: Range) -> Fraction:
    """The value of a rational subterm."""
    if x[0] != x[1]:
        malformed("a term needs an exact value where it has only bounds")
    return x[0]


def value(node: ast.expr, i: int, n: int) -> Range:
    """A syntax tree's value."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return (Fraction(repr(node.value)),) * 2
    if isinstance(node, ast.Name) and node.id in ("i", "n"):
        return (Fraction(i if node.id == "i" else n),) * 2
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        low, high = value(node.operand, i, n)
        return -high, -low
    if isinstance(node, ast.IfExp):
        return value(node.body if exact(value(node.test, i, n)) else node.orelse, i, n)
    if isinstance(node, ast.BinOp):
        return operation(node.op, value(node.left, i, n), value(node.right, i, n))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        a, b = exact(value(node.left, i, n)), exact(value(node.comparators[0], i, n))
        tests = {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b, ast.Eq: a == b, ast.NotEq: a != b}
        return (Fraction(int(tests[type(node.ops[0])])),) * 2
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return called(node.func.id, value(node.args[0], i, n))
    malformed(f"{ast.unparse(node)!r} cannot stand in a term")


def operation(op: ast.operator, a: Range, b: Range) -> Range:
    """An arithmetic operation on bounds."""
    if isinstance(op, ast.Add):
        return a[0] + b[0], a[1] + b[1]
    if isinstance(op, ast.Sub):
        return a[0] - b[1], a[1] - b[0]
    if isinstance(op, ast.Div) and b[0] <= 0 <= b[1]:
        raise ZeroDivisionError
    if isinstance(op, ast.Mult | ast.Div):
        ends = [x * y if isinstance(op, ast.Mult) else x / y for x in a for y in b]
        return min(ends), max(ends)
    x, y = exact(a), exact(b)
    if isinstance(op, ast.FloorDiv):
        return (Fraction(x // y),) * 2
    if isinstance(op, ast.Mod):
        return (x % y,) * 2
    if isinstance(op, ast.Pow) and y.denominator == 1 and (abs(x) == 1 or abs(y) <= 64):
        return (x ** int(y % 2 if abs(x) == 1 else y),) * 2
    malformed("an operation that cannot stand in a term")


def called(name: str, x: Range) -> Range:
    """A function of bounds; the decimal module rounds correctly, and 45 digits are kept."""
    if name in ("cospi", "sinpi"):
        return cospi(exact(x) if name == "cospi" else Fraction(1, 2) - exact(x))
    if name == "sqrt" and x[0] == x[1] >= 0:
        top, bottom = math.isqrt(x[0].numerator), math.isqrt(x[0].denominator)
        if (top * top, bottom * bottom) == (x[0].numerator, x[0].denominator):
            return (Fraction(top, bottom),) * 2
    functions: dict[str, Callable[[Decimal], Decimal]] = {"sqrt": Decimal.sqrt, "log": Decimal.ln, "exp": Decimal.exp}
    if name not in functions:
        malformed(f"{name!r} is not a function of terms")
    if x[0] == x[1] == (1 if name == "log" else 0) and name != "sqrt":
        return (Fraction(int(name == "exp")),) * 2
    ends = [functions[name](Decimal(e.numerator) / Decimal(e.denominator)) for e in x]
    slack = Fraction(1, 10**40)
    low, high = Fraction(ends[0]), Fraction(ends[1])
    return low - slack * (abs(low) + 1), high + slack * (abs(high) + 1)


def cospi(r: Fraction) -> Range:
    """The cosine of ``pi r``."""
    r = abs((r + 1) % 2 - 1)
    known = {  # by six times the angle
        0: (1, 1), 2: (1, 2), 3: (0, 1), 4: (-1, 2), 6: (-1, 1)}  # fmt: skip
    if (6 * r).denominator == 1 and int(6 * r) in known:
        return (Fraction(*known[int(6 * r)]),) * 2
    # pi by Machin's formula, cosine by its alternating series: far below 10^-45.
    pi = 16 * arctan(5) - 4 * arctan(239)
    x, total, piece, k = pi * r, Fraction(0), Fraction(1), 0
    while abs(piece) > Fraction(1, 10**50):
        total += piece
        k += 2
        piece = -piece * x * x / (k * (k - 1))
        piece = Fraction(round(piece * 10**60), 10**60)
    return total - Fraction(1, 10**45), total + Fraction(1, 10**45)


def arctan(q: int) -> Fraction:
    """``arctan(1/q)`` within ``10^-55``."""
    total, k = Fraction(0), 0
    while q ** (2 * k + 1) < 10**56:
        total += Fraction((-1) ** k, (2 * k + 1) * q ** (2 * k + 1))
        k += 1
    return Fraction(round(total * 10**58), 10**58)
