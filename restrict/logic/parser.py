"""Text to formula. The grammar, from loose to tight (docs/logic.md)::

    formula  = implies { ("iff" | "<->") implies }
    implies  = or [ ("implies" | "->") implies ]
    or       = and { ("or" | "|" | "||" | "xor" | "^") and }           "or" and "xor" need parentheses between them
    and      = temporal { ("and" | "&" | "&&") temporal }
    temporal = unary [ binary-temporal unary ]                         no chains: a since (b since c)
    unary    = ("not" | "!" | "~" | unary-temporal) unary | atom
    atom     = "true" | "false" | "first" | "last" | word | quoted | "(" formula ")" | counting
    counting = sum ("<=" | "<" | ">=" | ">" | "=" | "!=") sum
             | sum "mod" number ("=" | "!=") number | ("{" predicate "}" | "odd" | "even") "(" sum ")"
    sum      = ["-"] product { ("+" | "-") product }       product = factor { "*" factor }
    factor   = number | "position" | "length" | ("#past" | "#future" | "#all" | "#") counted | "(" sum ")"
    counted  = a constant, word, quoted, or "(" formula ")"

Numbers, "position", "length", "mod", "odd" and "even" are not reserved words: what stands next to them distinguishes
them from symbols. A formula is read by descent, with the pending operators on an explicit stack instead of Python's, so
that only the length of the text bounds the nesting. Binary temporal operators do not chain because other tools disagree
on how they group.

The numbers of the grammar of formulas: which words are numbers, and what the operators between numbers make.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from restrict.base.errors import ResourceLimit, UsageError, did_you_mean, quote
from restrict.base.scanner import Token, scan
from restrict.logic import operators
from restrict.logic.counting import LARGEST, RELATIONS, CountingError, Remainder, Sum, compared, predicated
from restrict.logic.formula import Builder, Formula
from restrict.logic.printer import quoted

_TOKEN = re.compile(
    r"(?P<word>\w+)|(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|"
    r"(?P<predicate>\{[^{}]*\})|(?P<sign>#\w*|<->|->|&&|\|\||<=|>=|!=|==|[!~&|^()¬∧∨→↔⊤⊥<>=≤≥≠+*-])",
    re.DOTALL,
)
_TIGHTNESS = operators.LEVEL | operators.NUMERIC | operators.NUMERIC_UNARY
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
    opens = (
        before in ("", "(")
        or before in operators.NUMERIC
        or before in operators.NUMERIC_UNARY
        or operators.ARITY.get(before, 0) > 0
    )
    if piece.op == "-" and opens:
        return "negate"
    bare = piece.op == operators.SYMBOL and piece.stop - piece.start == len(piece.text)
    if not bare:
        return piece.op
    if piece.text == "mod" and not opens:
        return "mod"
    if piece.text in _NAMED and opens and pieces[at + 1].op == "(":
        return "predicate of"
    before, after = _around(at, out, pieces)
    first_of = out[-2].op if before == "(" and len(out) > 1 else ""
    numbered = ("negate", "predicate of")
    beside = (
        before in operators.NUMERIC
        or after.op in operators.NUMERIC
        or _is_mod(after)
        or before in numbered
        or first_of in numbered
    )
    if before in operators.COUNTS or not beside:
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
    return piece.op == operators.SYMBOL and piece.text == "mod" and piece.stop - piece.start == 3


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
    if piece.op in operators.COUNTS:
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
        return builder.add(operators.COMPARE, counted, detail=detail)
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
    return builder.add(operators.PREDICATE, counted, detail=detail)


def parse(text: str, alphabet: Sequence[str] | None = None) -> Formula:
    """Read a formula. ``text``: the formula, at most 4 million characters."""
    if not isinstance(text, str):
        raise UsageError(f"a formula is a text, not {quote(text)}")
    if len(text) > operators.MAX_TEXT:
        raise ResourceLimit(f"the formula has {len(text)} characters; the limit is {operators.MAX_TEXT}")
    return _Parser(text, None if alphabet is None else tuple(alphabet)).run()


class _Parser:
    """Operands wait in ``operands``, operators and open brackets in ``pending``."""

    def __init__(self, text: str, alphabet: tuple[str, ...] | None) -> None:
        self.text, self.alphabet = text, alphabet
        self.known = None if alphabet is None else frozenset(alphabet)
        self.builder = Builder()
        self.operands: list[int | Sum | Remainder] = []
        self.pending: list[Piece] = []

    def run(self) -> Formula:
        tokens = self.tokens()
        if tokens[0].op == "":
            raise UsageError("the formula is empty; write for example 'historically 1' or 'true'")
        before: Piece | None = None
        for token in tokens:
            if before is None or before.op == "(" or operators.ARITY.get(before.op, 0) or before.op in _TIGHTNESS:
                self.operand(token, before)
            else:
                self.operator(token)
            before = token
        return self.builder.formula(self.formula(self.operands[0], tokens[-1]))

    # ------------------------------------------------------------ tokens

    def tokens(self) -> list[Piece]:
        return numeric(self.joined([self.token(piece) for piece in scan(self.text, _TOKEN, self.bad_character)]))

    def token(self, piece: Token) -> Piece:
        """A piece with its meaning."""
        text, start, stop = piece.text, piece.start, piece.stop
        if piece.kind == "quoted":
            return Piece(operators.SYMBOL, re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL), start, stop)
        if piece.kind == "word" and text not in operators.RESERVED:
            return Piece(operators.SYMBOL, text, start, stop)
        if piece.kind == "predicate":
            return Piece("predicate of", text, start, stop)
        return Piece(operators.ALIASES.get(text, text), text, start, stop)

    def joined(self, tokens: list[Piece]) -> list[Piece]:
        """Modifiers joined with the operator that they belong to."""
        out: list[Piece] = []
        waiting: list[Piece] = []
        for token in tokens:
            if token.op in operators.MODIFIERS:
                waiting.append(token)
                continue
            if waiting:
                op = " ".join(t.op for t in (*waiting, token))
                start, stop = waiting[0].start, token.stop if token.op else waiting[-1].stop
                token = Piece(op, self.text[start:stop], start, stop)
                waiting = []
            if token.op not in operators.ARITY and token.op not in _TIGHTNESS and token.op not in ("(", ")", ""):
                self.fail(token, f"there is no operator {quote(' '.join(token.text.split()))}")
            out.append(token)
        return out

    # ------------------------------------------------------------ the two states

    def operand(self, token: Piece, before: Piece | None) -> None:
        """Where a formula must start."""
        if before is not None and before.op in operators.NUMERIC_UNARY:
            self.counted(token, before)
        if token.op == "(" or operators.ARITY.get(token.op) == 1 or token.op in operators.NUMERIC_UNARY:
            self.pending.append(token)
        elif token.op in NUMBERS:
            self.operands.append(self.guarded(token, lambda: constant(token, self.builder)))
        elif token.op == operators.SYMBOL:
            self.operands.append(self.builder.add(operators.SYMBOL, (), self.symbol(token)))
        elif token.op in operators.NULLARY:
            if self.known is not None and token.text in self.known:
                self.fail(
                    token,
                    f"{token.text!r} is a constant and a symbol of the alphabet; write {quoted(token.text)} "
                    "with its quotes for the symbol",
                )
            self.operands.append(self.builder.add(token.op))
        else:
            found = "the formula ends" if token.op == "" else f"{_shown(token)} stands"
            after = f"after {_shown(before)}" if before is not None else "at the start"
            self.fail(token, f"a formula is expected {after}, but {found} there{self.hint(token, before)}")

    def counted(self, token: Piece, before: Piece) -> None:
        """What may stand after the name of a count or a predicate."""
        allowed = (operators.SYMBOL, *operators.NULLARY, "(") if before.op in operators.COUNTS else ("(",)
        if before.op != "negate" and token.op not in allowed and token.op:
            self.fail(token, f"the argument of {_shown(before)} must be in parentheses")

    def operator(self, token: Piece) -> None:
        """Where an operator, a closing bracket or the end must stand."""
        if token.op in operators.LEVEL or token.op in operators.NUMERIC:
            self.reduce(token)
            self.pending.append(token)
        elif token.op in (")", ""):
            self.reduce(token)
            if token.op == ")":
                if not self.pending:
                    self.fail(token, "this ')' closes nothing")
                self.pending.pop()
            elif self.pending:
                self.fail(self.pending[-1], "this '(' is never closed")
        else:
            self.fail(token, f"an operator or the end is expected before {_shown(token)}{self.hint(token, None)}")

    def reduce(self, token: Piece) -> None:
        """Apply the pending operators that bind at least as tightly as ``token``."""
        level = operators.LEVEL.get(token.op, operators.NUMERIC.get(token.op, 0))
        while self.pending and self.pending[-1].op != "(":
            top = self.pending[-1]
            tightness = _TIGHTNESS.get(top.op, operators.TIGHTEST)
            if tightness < level or (top.op == token.op == "implies"):
                return
            chains = top.op == token.op if level < operators.TIGHTEST else level > operators.NUMERIC["="]
            if tightness == level and (level == operators.LEVEL["since"] or not chains):
                self.fail(token, f"{_shown(top)} and {_shown(token)} need parentheses to say which goes first")
            self.pending.pop()
            count = operators.ARITY.get(top.op, 1 if top.op in operators.NUMERIC_UNARY else 2)
            args = self.operands[-count:]
            del self.operands[-count:]
            self.operands.append(self.applied(top, args))

    def applied(self, top: Piece, args: list[int | Sum | Remainder]) -> int | Sum | Remainder:
        """An operator on what was read for it."""
        if top.op in operators.NUMERIC or top.op in operators.NUMERIC_UNARY:
            return self.guarded(top, lambda: combined(top, args, self.builder))
        return self.builder.add(top.op, [self.formula(a, top) for a in args])

    def formula(self, value: int | Sum | Remainder, token: Piece) -> int:
        """A formula's index; a number is refused."""
        if isinstance(value, int):
            return value
        at = token if token.op else Piece("", self.text, 0, len(self.text))
        self.fail(at, "a number is no formula; compare it with another one, as in '#past a > 2'")

    def guarded(self, token: Piece, make: Callable[[], int | Sum | Remainder]) -> int | Sum | Remainder:
        """``make()``, its error with the place."""
        try:
            return make()
        except CountingError as error:
            self.fail(token, str(error))

    def symbol(self, token: Piece) -> str:
        if not token.text:
            self.fail(token, "an empty symbol")
        if self.known is not None and token.text not in self.known:
            shown = " ".join(self.alphabet or ())
            shown = shown if len(shown) <= 80 else shown[:77] + "..."
            near = did_you_mean(token.text, [*self.known, *operators.RESERVED]) if len(token.text) > 1 else ""
            self.fail(token, f"unknown symbol {quote(token.text)}{near}; the alphabet is {shown}")
        return token.text

    # ------------------------------------------------------------ messages

    def hint(self, *tokens: Piece | None) -> str:
        """How to write a symbol that looks like an operator."""
        for token in tokens:
            if token is None or token.op == operators.SYMBOL or self.known is None:
                continue
            if token.text in self.known:
                return f" (for the symbol write {quoted(token.text)}, with the quotes)"
        return ""

    def bad_character(self, piece: Token) -> NoReturn:
        """Refuse a character that starts no token."""
        char = piece.text
        reason = (
            "this quote is never closed" if char in "'\"" else f"{quote(char)} is no operator; quote it as a symbol"
        )
        self.fail(Piece(char, char, piece.start, piece.stop), reason)

    def fail(self, token: Piece, reason: str) -> NoReturn:
        before, after = self.text[: token.start], self.text[token.stop :]
        left = ("..." if len(before) > 20 else "") + before[-20:]
        right = after[:20] + ("..." if len(after) > 20 else "")
        text = self.text[token.start : token.stop]
        middle = text if len(text) <= 30 else text[:27] + "..."
        place = f"{_printable(left)}>>>{_printable(middle)}<<<{_printable(right)}"
        raise UsageError(f"formula, column {token.start + 1}: {reason}: {place}")


def _shown(token: Piece) -> str:
    return quote(token.text)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
