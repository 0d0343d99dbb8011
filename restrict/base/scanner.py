"""Tokens, a bounded cursor over them, and operators by precedence: shared by the parsers outside the trusted checker. A
parser gives one regular expression with named groups, the kinds of its tokens; blanks before a token are skipped. The
cursor counts how deep the parser is nested on the way down, so that no text can exhaust Python's stack. Operators are a
table of levels, the loosest first; what a level's operators make of their operands is the parser's own."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, NoReturn, Protocol, TypeVar

from restrict.base.errors import quote

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

    def deeper(self) -> None:
        """Count one more level; fails beyond ``deepest`` levels."""
        self.depth += 1
        if self.depth > self.deepest:
            self.fail(self.token, self.too_deep)

    def nested(self, rule: Callable[[], T]) -> T:
        """``rule()`` one level deeper. Gives the result of ``rule``."""
        self.deeper()
        result = rule()
        self.depth -= 1
        return result


Chain = Literal["left", "right", "flat", "same", "once", "prefix", "open", "end"]
"""How operators of one level group: pairwise from the left (``same``: equal ones only) or from the right, all together,
or one at most; or the level is of operators that stand before their operand, or of the opening bracket; ``end`` is of
none."""
Level = tuple[Chain, tuple[str, ...]]
"""The operators that bind equally tightly."""


class Operators(Cursor, Generic[T]):
    """A cursor that reads operators by precedence; :meth:`atom`, :meth:`join` and :meth:`close` are the parser's own.
    What waits for operands or for its closing bracket is on a stack of its own, so nesting needs none of Python's."""

    levels: ClassVar[tuple[Level, ...]]
    """The loosest first."""
    opening: ClassVar[tuple[str, ...]] = ()
    """The brackets that are read here, and closed by :meth:`close`."""
    table: ClassVar[dict[str, tuple[int, Chain]]]

    def __init_subclass__(cls) -> None:
        rows = (("open", cls.opening), *cls.levels)
        cls.table = {sign: (level, chain) for level, (chain, signs) in enumerate(rows) for sign in signs}

    def atom(self) -> T:
        """What binds tighter than all operators."""
        raise NotImplementedError

    def join(self, signs: Sequence[Token], parts: list[T]) -> T:
        """What operators of one level make of their operands: one more than signs, or as many for a prefix."""
        raise NotImplementedError

    def close(self, opened: Token) -> None:
        """Take the bracket that closes ``opened``."""
        raise NotImplementedError

    def binds(self, token: Token) -> tuple[int, Chain]:
        """The level of an operator, and how it groups; ``end`` for all else."""
        return self.table.get(self.sign(token), (0, "end"))

    def sign(self, token: Token) -> str:
        """The name of an operator in the table."""
        return token.text

    def operators(self) -> T:
        """Read the longest run of operators and operands. Gives what :meth:`join` made of it. Linear."""
        parts, pending = list[T](), list[Token]()
        while True:
            level, chain = self.binds(self.token)
            if chain == "open" or (chain == "prefix" and (not pending or level >= self.binds(pending[-1])[0])):
                pending.append(self.step())
                self.deeper()
                continue
            parts.append(self.atom())
            while not self.reduced(parts, pending):
                if not pending:
                    return parts[0]
                self.depth -= 1
                self.close(pending.pop())
            pending.append(self.step())

    def reduced(self, parts: list[T], pending: list[Token]) -> bool:
        """Join what binds tighter than the next token. Gives whether that is an operator between operands."""
        token = self.token
        level, chain = self.binds(token)
        infix = chain not in ("end", "open", "prefix")
        while pending and (top := self.binds(pending[-1]))[1] != "open":
            if infix and (top[0] < level or (top[0] == level and chain in ("right", "flat"))):
                break
            if top == (level, "once") or (top == (level, "same") and self.sign(pending[-1]) != self.sign(token)):
                names = f"{quote(pending[-1].text)} and {quote(token.text)}"
                self.fail(token, f"{names} need parentheses to say which goes first")
            signs = [pending.pop()]
            while top[1] == "flat" and pending and self.binds(pending[-1]) == top:
                signs.append(pending.pop())
            count = len(signs) + (top[1] != "prefix")
            self.depth -= top[1] == "prefix"
            parts[-count:] = [self.join(signs[::-1], parts[-count:])]
        return infix
