"""Tokens and a bounded cursor over them: shared by all hand-written parsers except those of the trusted checker.

A parser gives one regular expression with named groups, the kinds of its tokens; blanks before a token are skipped.
The cursor counts how deep the parser is nested on the way down, so that no text can exhaust Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol, TypeVar

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
    """Cut a text into tokens.

    Args:
        text: the text.
        pattern: named groups, one for each kind of token; it must not match the empty text.
        bad: called with the first character that starts no token; raises.
        blank: the characters that are skipped; by default all white space.

    Returns:
        The tokens, in order; the last is of kind ``end`` and empty. Linear.

    Raises:
        Whatever ``bad`` raises.
    """
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
    """A place among tokens.

    Args:
        tokens: as :func:`scan` gives them.
        fail: raises the parser's error.
        deepest: how deep :meth:`nested` may go.
        too_deep: the reason given beyond that.
    """

    def __init__(self, tokens: list[Token], fail: Fail, deepest: int, too_deep: str) -> None:
        self.tokens, self.fail, self.deepest, self.too_deep = tokens, fail, deepest, too_deep
        self.at = self.depth = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def step(self) -> Token:
        """Take the next token, whatever it is; the end is never passed.

        Returns:
            The token.
        """
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, *texts: str) -> str:
        """Take the next token if it is one of these.

        Args:
            *texts: texts of tokens, none of them empty.

        Returns:
            The token's text; empty where it is none of these, and then the cursor stays.
        """
        text = self.token.text
        if text not in texts:
            return ""
        self.at += 1
        return text

    def nested(self, rule: Callable[[], T]) -> T:
        """``rule()`` one level deeper; fails beyond ``deepest`` levels.

        Args:
            rule: the part of a parser that may come back here.

        Returns:
            The result of ``rule``.

        Raises:
            Whatever ``fail`` raises.
        """
        self.depth += 1
        if self.depth > self.deepest:
            self.fail(self.token, self.too_deep)
        result = rule()
        self.depth -= 1
        return result
