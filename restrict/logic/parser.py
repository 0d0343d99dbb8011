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
them from symbols. Only the length of the text bounds the nesting. Binary temporal operators do not chain because other
tools disagree on how they group.

The numbers of the grammar of formulas: which words are numbers, and what the operators between numbers make.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from restrict.base.errors import ResourceLimit, UsageError, did_you_mean, quote
from restrict.base.scanner import Operators, Token, scan
from restrict.logic import operators
from restrict.logic.counting import LARGEST, RELATIONS, CountingError, Remainder, Sum, compared, predicated
from restrict.logic.formula import Builder, Formula
from restrict.logic.printer import quoted

_TOKEN = re.compile(
    r"(?P<word>\w+)|(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|"
    r"(?P<predicate>\{[^{}]*\})|(?P<sign>#\w*|<->|->|&&|\|\||<=|>=|!=|==|[!~&|^()¬∧∨→↔⊤⊥<>=≤≥≠+*-])",
    re.DOTALL,
)
_KINDS = frozenset((*operators.LEVEL, *operators.ARITY, "(", ")", ""))
_QUOTES = ("'", '"')
NUMBERS = ("number", "position", "length")
_NAMED = {"odd": "x % 2 == 1", "even": "x % 2 == 0"}
_ARGUMENTS = {
    **dict.fromkeys(operators.COUNTS, (operators.SYMBOL, *operators.NULLARY, "(", "")), "predicate of": ("(", ""),
}  # fmt: skip
"""What may stand after the name of a count or a predicate."""
Value = int | Sum | Remainder
"""A formula's index, or a number."""


def numeric(pieces: Sequence[Token]) -> list[Token]:
    """The pieces with those words told apart that are of numbers: a number, ``position`` or ``length`` beside an
    operator between numbers, and ``mod`` after a number or a count."""
    out: list[Token] = []
    for at, piece in enumerate(pieces):
        out.append(replace(piece, kind=_meaning(piece, at, out, pieces)))
    return out


def _meaning(piece: Token, at: int, out: Sequence[Token], pieces: Sequence[Token]) -> str:
    before = out[-1].kind if out else ""
    opens = before in ("", "(") or before in operators.LEVEL
    if piece.kind == "-" and opens:
        return "negate"
    if piece.kind != operators.SYMBOL or piece.text.startswith(_QUOTES):
        return piece.kind
    if piece.text == "mod" and not opens:
        return "mod"
    if piece.text in _NAMED and opens and pieces[at + 1].kind == "(":
        return "predicate of"
    before, after = _around(at, out, pieces)
    first_of = out[-2].kind if before == "(" and len(out) > 1 else ""
    numbered = ("negate", "predicate of")
    beside = (
        before in operators.NUMERIC
        or after.kind in operators.NUMERIC
        or (after.kind, after.text) == (operators.SYMBOL, "mod")
        or before in numbered
        or first_of in numbered
    )
    if before in operators.COUNTS or not beside:
        return piece.kind
    if piece.text.isascii() and piece.text.isdigit():
        return "number"
    return piece.text if piece.text in NUMBERS[1:] else piece.kind


def _around(at: int, out: Sequence[Token], pieces: Sequence[Token]) -> tuple[str, Token]:
    """What stands before and after a piece and the parentheses that hold nothing else."""
    low, high = at - 1, at + 1
    while low >= 0 and out[low].kind == "(" and pieces[high].kind == ")":
        low, high = low - 1, high + 1
    return out[low].kind if low >= 0 else "", pieces[high]


def constant(piece: Token, builder: Builder) -> Sum:
    """A number, the position or the length; ``builder`` gets the formula ``true`` where that is counted."""
    if piece.kind == "number":
        if len(piece.text) > 10 or int(piece.text) > LARGEST:
            raise CountingError(f"a number larger than {LARGEST}")
        return Sum((), int(piece.text))
    true = builder.add("true")
    return Sum((((true, "past"), 1),), -1) if piece.kind == "position" else Sum((((true, "all"), 1),))


def combined(piece: Token, args: Sequence[Value], builder: Builder) -> Value:
    """What an operator between numbers, or the name of a count or predicate, makes of its operands. ``args``: one or
    two operands. Result: the index of a formula, or a number."""
    if piece.kind in operators.COUNTS:
        if not isinstance(args[0], int):
            raise CountingError("a formula is counted, not a number")
        return Sum((((args[0], piece.kind[1:]), 1),))
    if piece.kind in ("=", "!=") and isinstance(args[0], Remainder):
        return _residue(args[0], piece.kind, args[1], builder)
    sums = [a for a in args if isinstance(a, Sum)]
    if len(sums) < len(args):
        modular = any(isinstance(a, Remainder) for a in args)
        kind = "a remainder is compared with one number by = or !=" if modular else _NO_NUMBER
        raise CountingError(kind)
    if piece.kind == "predicate of":
        text = _NAMED.get(piece.text, piece.text[1:-1])
        return _predicate(text, sums[0], builder)
    if piece.kind == "negate":
        return Sum().plus(sums[0], -1)
    left, right = sums
    if piece.kind in RELATIONS:
        detail, counted = compared(left, piece.kind, right)
        return builder.add(operators.COMPARE, counted, detail=detail)
    if piece.kind == "mod":
        if right.weights or right.constant < 1:
            raise CountingError("after mod a positive number must stand")
        return Remainder(left, right.constant)
    if piece.kind == "*":
        if left.weights and right.weights:
            raise CountingError("a product of two counts is not linear")
        many, times = (left, right.constant) if left.weights else (right, left.constant)
        return Sum().plus(many, times)
    return left.plus(right, 1 if piece.kind == "+" else -1)


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


def read_over(formula: Formula | str, alphabet: Sequence[str], at: str) -> tuple[Formula, tuple[str, ...]]:
    """What is to be compiled: a formula, or its text, over an alphabet; and the alphabet. ``at``: the position at which
    its truth is wanted. ``UsageError``: no list of different symbols, or another position."""
    if isinstance(alphabet, str):
        raise UsageError(f"the alphabet {quote(alphabet)} is one string; give a list of symbols")
    if not alphabet or len(set(alphabet)) != len(alphabet) or not all(isinstance(s, str) and s for s in alphabet):
        raise UsageError("the alphabet must have at least one symbol, none of them empty, and each only once")
    formula = parse(formula, alphabet) if isinstance(formula, str) else formula
    if at not in ("last", "first", "every"):
        raise UsageError(f"at={quote(at)} is not one of 'last', 'first', 'every'")
    formula.check_over(alphabet)
    return formula, tuple(alphabet)


class _Parser(Operators[Value]):
    """The kind of a token is an operator's full name, a bracket, "" at the end, ``symbol``, or of ``NUMBERS``."""

    levels = operators.LEVELS
    opening = ("(",)

    def __init__(self, text: str, alphabet: tuple[str, ...] | None) -> None:
        self.text, self.alphabet = text, alphabet
        self.known = None if alphabet is None else frozenset(alphabet)
        self.builder = Builder()
        tokens = self.joined([_named(token) for token in scan(text, _TOKEN, self.bad_character)])
        super().__init__(numeric(tokens), self.refuse, len(tokens), "")

    def run(self) -> Formula:
        if not self.token.kind:
            raise UsageError("the formula is empty; write for example 'historically 1' or 'true'")
        found = self.operators()
        self.close(None)
        return self.builder.formula(self.formula(found, self.tokens[-1]))

    # ------------------------------------------------------------ tokens

    def joined(self, tokens: list[Token]) -> list[Token]:
        """Modifiers joined with the operator that they belong to."""
        out: list[Token] = []
        waiting: list[Token] = []
        for token in tokens:
            if token.kind in operators.MODIFIERS:
                waiting.append(token)
                continue
            if waiting:
                start, stop = waiting[0].start, token.stop if token.kind else waiting[-1].stop
                token = Token(" ".join(t.kind for t in (*waiting, token)), self.text[start:stop], start)
                waiting = []
            if token.kind not in _KINDS:
                self.refuse(token, f"there is no operator {quote(' '.join(token.text.split()))}")
            out.append(token)
        return out

    # ------------------------------------------------------------ the parts of the grammar

    def sign(self, token: Token) -> str:
        return token.kind

    def step(self) -> Token:
        before, token = self.tokens[self.at - 1], self.token
        if token.kind not in _ARGUMENTS.get(before.kind, (token.kind,)):
            self.fail(token, f"the argument of {_shown(before)} must be in parentheses")
        return super().step()

    def atom(self) -> Value:
        """Where a formula must start."""
        before = self.tokens[self.at - 1]  # at the start it is the end, whose kind is empty
        token = self.step()
        if token.kind in NUMBERS:
            return self.guarded(token, lambda: constant(token, self.builder))
        if token.kind == operators.SYMBOL:
            return self.builder.add(operators.SYMBOL, (), self.symbol(token))
        if token.kind in operators.NULLARY:
            if token.text in (self.known or ()):
                also = f"{token.text!r} is a constant and a symbol of the alphabet"
                self.fail(token, f"{also}; write {quoted(token.text)} with its quotes for the symbol")
            return self.builder.add(token.kind)
        found = f"{_shown(token)} stands" if token.kind else "the formula ends"
        after = f"after {_shown(before)}" if before.kind else "at the start"
        self.fail(token, f"a formula is expected {after}, but {found} there{self.hint(token, before)}")

    def close(self, opened: Token | None) -> None:
        """Where a bracket or, without one, the formula must end."""
        token = self.step()
        if token.kind not in (")", ""):
            self.fail(token, f"an operator or the end is expected before {_shown(token)}{self.hint(token)}")
        if token.kind and opened is None:
            self.fail(token, "this ')' closes nothing")
        if not token.kind and opened is not None:
            self.fail(opened, "this '(' is never closed")

    def join(self, signs: Sequence[Token], parts: list[Value]) -> Value:
        """An operator on what was read for it."""
        if operators.LEVEL[signs[0].kind] > operators.TIGHTEST:
            return self.guarded(signs[0], lambda: combined(signs[0], parts, self.builder))
        return self.builder.add(signs[0].kind, [self.formula(part, signs[0]) for part in parts])

    def formula(self, value: Value, token: Token) -> int:
        """A formula's index; a number is refused."""
        if isinstance(value, int):
            return value
        at = token if token.kind else Token("", self.text, 0)
        self.fail(at, "a number is no formula; compare it with another one, as in '#past a > 2'")

    def guarded(self, token: Token, make: Callable[[], Value]) -> Value:
        """``make()``, its error with the place."""
        try:
            return make()
        except CountingError as error:
            self.fail(token, str(error))

    def symbol(self, token: Token) -> str:
        text = _plain(token)
        if not text:
            self.fail(token, "an empty symbol")
        if self.known is not None and text not in self.known:
            shown = " ".join(self.alphabet or ())
            shown = shown if len(shown) <= 80 else shown[:77] + "..."
            near = did_you_mean(text, [*self.known, *operators.RESERVED]) if len(text) > 1 else ""
            self.fail(token, f"unknown symbol {quote(text)}{near}; the alphabet is {shown}")
        return text

    # ------------------------------------------------------------ messages

    def hint(self, *tokens: Token) -> str:
        """How to write a symbol that looks like an operator."""
        for token in tokens:
            if token.kind != operators.SYMBOL and token.text in (self.known or ()):
                return f" (for the symbol write {quoted(token.text)}, with the quotes)"
        return ""

    def bad_character(self, piece: Token) -> NoReturn:
        """Refuse a character that starts no token."""
        unknown = f"{quote(piece.text)} is no operator; quote it as a symbol"
        self.refuse(piece, "this quote is never closed" if piece.text in _QUOTES else unknown)

    def refuse(self, token: Token, reason: str) -> NoReturn:
        before, after = self.text[: token.start], self.text[token.stop :]
        left = ("..." if len(before) > 20 else "") + before[-20:]
        right = after[:20] + ("..." if len(after) > 20 else "")
        text = self.text[token.start : token.stop]
        middle = text if len(text) <= 30 else text[:27] + "..."
        place = f"{_printable(left)}>>>{_printable(middle)}<<<{_printable(right)}"
        raise UsageError(f"formula, column {token.start + 1}: {reason}: {place}")


def _named(token: Token) -> Token:
    """A token with its meaning."""
    if token.kind == "quoted" or (token.kind == "word" and token.text not in operators.RESERVED):
        return replace(token, kind=operators.SYMBOL)
    full = "predicate of" if token.kind == "predicate" else operators.ALIASES.get(token.text, token.text)
    return replace(token, kind=full)


def _plain(token: Token) -> str:
    """The text, without the quotes and backslashes of a quoted symbol."""
    return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL) if token.text.startswith(_QUOTES) else token.text


def _shown(token: Token) -> str:
    return quote(_plain(token))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
