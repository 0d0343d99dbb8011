"""Tokens, a bounded cursor over them, and operators by precedence: shared by the parsers outside the trusted checker. A
parser gives one regular expression with named groups, the kinds of its tokens; blanks before a token are skipped. The
cursor counts how deep the parser is nested on the way down, so that no text can exhaust Python's stack. Operators are a
table of levels, the loosest first; what a level's operators make of their operands is the parser's own."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, NoReturn, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text: ``kind`` is the name of its group, or ``end``; ``start`` counts characters from 0."""

    kind: str
    text: str
    start: int

    @property
    def stop(self) -> int:
        """The place of the first character after it."""
        return self.start + len(self.text)


class Fail(Protocol):
    """Raises the parser's error about a token."""

    def __call__(self, token: Token, reason: str) -> NoReturn: ...


def scan(
    text: str, pattern: re.Pattern[str], bad: Callable[[Token], NoReturn], blank: str | None = None
) -> list[Token]:
    """Cut a text into tokens. ``pattern``: named groups, one for each kind of token; it must not match the empty text.
    ``bad``: called with the first character that starts no token; raises. ``blank``: the characters that are skipped;
    by default all white space. Gives the tokens, in order; the last is of kind ``end`` and empty. Linear."""
    tokens: list[Token] = []
    at, stop = 0, len(text)
    while True:
        while at < stop and (text[at].isspace() if blank is None else text[at] in blank):
            at += 1
        if at == stop:
            return [*tokens, Token("end", "", stop)]
        found = pattern.match(text, at)
        if found is None:
            bad(Token("bad", text[at], at))
        tokens.append(Token(found.lastgroup or "", found[0], at))
        at = found.end()


class Cursor:
    """A place among tokens."""

    def __init__(self, tokens: list[Token], fail: Fail, deepest: int, too_deep: str) -> None:
        self.tokens, self.fail, self.deepest, self.too_deep = tokens, fail, deepest, too_deep
        self.at = self.depth = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def step(self) -> Token:
        """Take the next token, whatever it is; the end is never passed."""
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, *texts: str) -> str:
        """Take the next token if it is one of these. ``texts``: texts of tokens, none of them empty. Gives the token's
        text; empty where it is none of these, and then the cursor stays."""
        text = self.token.text
        if text not in texts:
            return ""
        self.at += 1
        return text

    def nested(self, rule: Callable[[], T]) -> T:
        """``rule()`` one level deeper; fails beyond ``deepest`` levels. Gives the result of ``rule``."""
        self.depth += 1
        if self.depth > self.deepest:
            self.fail(self.token, self.too_deep)
        result = rule()
        self.depth -= 1
        return result


Chain = Literal["left", "right", "flat", "once", "prefix"]
"""How operators of one level group: pairwise from the left or from the right, all together, one at most; or the level
is of operators that stand before their operand."""
Level = tuple[Chain, tuple[str, ...]]
"""The operators that bind equally tightly."""


class Operators(Cursor, Generic[T]):
    """A cursor that reads operators by precedence; :meth:`atom` and :meth:`join` are the parser's own."""

    levels: ClassVar[tuple[Level, ...]]

    def atom(self) -> T:
        """What binds tighter than all operators."""
        raise NotImplementedError

    def join(self, signs: Sequence[Token], parts: list[T]) -> T:
        """What operators of one level make of their operands: one more than signs, or as many for a prefix."""
        raise NotImplementedError

    def operators(self, level: int = 0) -> T:
        """Read what binds at least as tightly as a level. ``level``: the index of the level; 0 is the loosest. Gives
        what :meth:`join` made of it. Cost: linear in the tokens times the levels."""
        if level == len(self.levels):
            return self.atom()
        chain, texts = self.levels[level]
        sign = self.token
        if chain == "prefix":
            if self.take(*texts):
                return self.join([sign], [self.nested(lambda: self.operators(level))])
            return self.operators(level + 1)
        parts, signs = [self.operators(level + 1)], list[Token]()
        while not (signs and chain == "once") and self.token.text in texts:
            signs.append(self.step())
            parts.append(self.operators(level + 1))
            if chain == "left":
                parts = [self.join(signs[-1:], parts)]
        while chain == "right" and len(parts) > 1:
            parts[-2:] = [self.join(signs[len(parts) - 2 :][:1], parts[-2:])]
        return parts[0] if len(parts) == 1 else self.join(signs, parts)
