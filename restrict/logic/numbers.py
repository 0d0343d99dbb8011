"""The numbers of the grammar of formulas: which words are numbers, and what the operators between numbers make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from restrict.logic.counting import LARGEST, RELATIONS, CountingError, Remainder, Sum, compared, predicated
from restrict.logic.formula import Builder
from restrict.logic.operators import ARITY, COMPARE, COUNTS, NUMERIC, NUMERIC_UNARY, PREDICATE, SYMBOL

NUMBERS = ("number", "position", "length")
_NAMED = {"odd": "x % 2 == 1", "even": "x % 2 == 0"}
Value = int | Sum | Remainder
"""A formula's index, or a number."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the text; ``op``: an operator's full name, a bracket, "" at the end, ``symbol``, or of ``NUMBERS``."""

    op: str
    text: str
    start: int
    stop: int


def numeric(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with those words told apart that are of numbers: a number, ``position`` or ``length`` beside an
    operator between numbers, and ``mod`` after a number or a count."""
    out: list[Piece] = []
    for at, piece in enumerate(pieces):
        out.append(replace(piece, op=_meaning(piece, at, out, pieces)))
    return out


def _meaning(piece: Piece, at: int, out: Sequence[Piece], pieces: Sequence[Piece]) -> str:
    before = out[-1].op if out else ""
    opens = before in ("", "(") or before in NUMERIC or before in NUMERIC_UNARY or ARITY.get(before, 0) > 0
    if piece.op == "-" and opens:
        return "negate"
    bare = piece.op == SYMBOL and piece.stop - piece.start == len(piece.text)
    if not bare:
        return piece.op
    if piece.text == "mod" and not opens:
        return "mod"
    if piece.text in _NAMED and opens and pieces[at + 1].op == "(":
        return "predicate of"
    before, after = _around(at, out, pieces)
    first_of = out[-2].op if before == "(" and len(out) > 1 else ""
    numbered = ("negate", "predicate of")
    beside = before in NUMERIC or after.op in NUMERIC or _is_mod(after) or before in numbered or first_of in numbered
    if before in COUNTS or not beside:
        return piece.op
    if piece.text.isascii() and piece.text.isdigit():
        return "number"
    return piece.text if piece.text in NUMBERS[1:] else piece.op


def _around(at: int, out: Sequence[Piece], pieces: Sequence[Piece]) -> tuple[str, Piece]:
    """What stands before and after a piece and the parentheses that hold nothing else."""
    low, high = at - 1, at + 1
    while low >= 0 and out[low].op == "(" and pieces[high].op == ")":
        low, high = low - 1, high + 1
    return out[low].op if low >= 0 else "", pieces[high]


def _is_mod(piece: Piece) -> bool:
    return piece.op == SYMBOL and piece.text == "mod" and piece.stop - piece.start == 3


def constant(piece: Piece, builder: Builder) -> Sum:
    """A number, the position or the length; ``builder`` gets the formula ``true`` where that is counted."""
    if piece.op == "number":
        if len(piece.text) > 10 or int(piece.text) > LARGEST:
            raise CountingError(f"a number larger than {LARGEST}")
        return Sum((), int(piece.text))
    true = builder.add("true")
    return Sum((((true, "past"), 1),), -1) if piece.op == "position" else Sum((((true, "all"), 1),))


def combined(piece: Piece, args: Sequence[Value], builder: Builder) -> Value:
    """What an operator between numbers, or the name of a count or predicate, makes of its operands. ``args``: one or
    two operands. Result: the index of a formula, or a number."""
    if piece.op in COUNTS:
        if not isinstance(args[0], int):
            raise CountingError("a formula is counted, not a number")
        return Sum((((args[0], piece.op[1:]), 1),))
    if piece.op in ("=", "!=") and isinstance(args[0], Remainder):
        return _residue(args[0], piece.op, args[1], builder)
    sums = [a for a in args if isinstance(a, Sum)]
    if len(sums) < len(args):
        modular = any(isinstance(a, Remainder) for a in args)
        kind = "a remainder is compared with one number by = or !=" if modular else _NO_NUMBER
        raise CountingError(kind)
    if piece.op == "predicate of":
        text = _NAMED.get(piece.text, piece.text[1:-1])
        return _predicate(text, sums[0], builder)
    if piece.op == "negate":
        return Sum().plus(sums[0], -1)
    left, right = sums
    if piece.op in RELATIONS:
        detail, counted = compared(left, piece.op, right)
        return builder.add(COMPARE, counted, detail=detail)
    if piece.op == "mod":
        if right.weights or right.constant < 1:
            raise CountingError("after mod a positive number must stand")
        return Remainder(left, right.constant)
    if piece.op == "*":
        if left.weights and right.weights:
            raise CountingError("a product of two counts is not linear")
        many, times = (left, right.constant) if left.weights else (right, left.constant)
        return Sum().plus(many, times)
    return left.plus(right, 1 if piece.op == "+" else -1)


_NO_NUMBER = "a number or a count must stand on either side, and this is a formula; count it, as in '#past a'"


def _residue(left: Remainder, sign: str, right: Value, builder: Builder) -> int:
    """``left = r``, or ``!=``."""
    if not isinstance(right, Sum) or right.weights or not 0 <= right.constant < left.modulus:
        raise CountingError(f"a remainder modulo {left.modulus} is compared with a number below {left.modulus}")
    text = f"x % {left.modulus} {'==' if sign == '=' else '!='} {right.constant}"
    return _predicate(text, left.argument, builder)


def _predicate(text: str, argument: Sum, builder: Builder) -> int:
    detail, counted = predicated(text, argument, builder.add("true"))
    return builder.add(PREDICATE, counted, detail=detail)
