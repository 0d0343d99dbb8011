"""Reading S-RASP programs (docs/simulate.md has an example): one statement per line, errors with line and column. Lines
that begin with ``#`` are comments. Masks are ``j <= i``, ``j < i`` and ``1`` (everything)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from restrict.base.errors import ModelError, quote
from restrict.base.scanner import Operators, Token, scan
from restrict.simulate.srasp.syntax import (
    COMPARE,
    Local,
    Mask,
    Node,
    PrefixSum,
    Side,
    SRaspAttention,
    SRaspProgram,
    Statement,
)

_TOKENS = re.compile(
    r'(?P<symbol>Q_(?:"[^"\n]*"|\w+))|(?P<name>[A-Za-z]\w*)|(?P<number>\d{1,9}(?!\d))'
    r"|(?P<sign><=|>=|==|!=|[-+*<>()\[\],:=])"
)
_WORDS = {"and", "or", "not", "min", "max", "psum", "leftmost", "rightmost", "pos", "i", "j"}
DEEPEST = 60
MAX_LINES = 1000


def parse(text: str, name: str = "program") -> SRaspProgram:
    """Read a program."""
    alphabet: tuple[str, ...] | None = None
    output, statements, known = "", list[Statement](), dict[str, bool]()
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        raise ModelError(f"{name}: more than {MAX_LINES} lines")
    for number, line in enumerate(lines, 1):
        body = line.strip()
        if not body or body.startswith("#"):
            continue
        head, _, rest = body.partition(":")
        if head.strip() == "alphabet" and alphabet is None:
            alphabet = tuple(rest.split())
            if not alphabet or len(set(alphabet)) != len(alphabet):
                raise ModelError(f"{name}:{number}: the alphabet must list different symbols, separated by spaces")
        elif head.strip() == "output" and not output:
            output = rest.strip()
            if output not in known or not known[output]:
                raise ModelError(f"{name}:{number}: the output {quote(output)} is no vector of truth values")
        else:
            if alphabet is None:
                raise ModelError(f"{name}:{number}: the first line must be 'alphabet: SYMBOLS'")
            statement = _Line(line, f"{name}:{number}", alphabet, known).statement()
            known[statement.name] = not isinstance(statement, PrefixSum) and statement.value.boolean
            statements.append(statement)
    if alphabet is None or not output:
        raise ModelError(f"{name}: a program needs 'alphabet: SYMBOLS' and 'output: VECTOR'")
    return SRaspProgram(alphabet, tuple(statements), output, name)


class _Line(Operators[Node]):
    """One statement."""

    levels = (
        ("flat", ("or",)), ("flat", ("and",)), ("prefix", ("not",)), ("once", tuple(COMPARE)), ("left", ("+", "-")),
        ("left", ("*",)),
    )  # fmt: skip
    opening = ("(",)

    def __init__(self, line: str, place: str, alphabet: tuple[str, ...], known: dict[str, bool]) -> None:
        self.place, self.alphabet, self.known = place, alphabet, known
        tokens = scan(line, _TOKENS, lambda token: self.refuse(token, "this is no part of a program"))
        super().__init__(tokens, self.refuse, DEEPEST, f"nested more than {DEEPEST} levels deep")

    def refuse(self, token: Token, reason: str) -> NoReturn:
        shown = quote(token.text, 20) if token.text else "the end of the line"
        raise ModelError(f"{self.place}:{token.start + 1}: {reason}, at {shown}")

    def need(self, *texts: str) -> str:
        """The next token must be one of these."""
        found = self.take(*texts)
        return found or self.fail(self.token, f"expected {' or '.join(texts)}")

    def statement(self) -> Statement:
        token = self.step()
        if token.kind != "name" or token.text in _WORDS:
            self.fail(token, "expected the name of a new vector")
        if token.text in self.known:
            self.fail(token, "this vector is defined already")
        for text in ("(", "i", ")", "="):
            self.need(text)
        found = self.right_side(token.text)
        if self.token.kind != "end":
            self.fail(self.token, "expected the end of the statement")
        return found

    def right_side(self, name: str) -> Statement:
        if self.take("psum"):
            start = self.token
            if self.mask(start) != "past":
                self.fail(start, "a prefix sum is over [j <= i]")
            self.need("]")
            return PrefixSum(name, self.truth(self.of("j")))
        word = self.take("leftmost", "rightmost")
        if not word:
            return Local(name, self.of("i"))
        mask = self.mask(self.token)
        self.need(",")
        score = self.truth(self.expression())
        self.need("]")
        value = self.of("j")
        self.need(":")
        default = self.of("i")
        bits = all(x.op == "const" and x.value in (0, 1) for x in (value, default))
        if value.boolean or default.boolean or bits:
            value, default = self.truth(value), self.truth(default)
        return SRaspAttention(name, word == "rightmost", mask, score, value, default)

    def mask(self, token: Token) -> Mask:
        self.need("[")
        if self.take("1"):
            return "none"
        self.need("j")
        sign = self.take("<=", "<", ">=", ">") or self.fail(self.token, "expected <= or <")
        self.need("i")
        if sign in (">", ">="):
            self.fail(token, "only the masks 1, j <= i and j < i are known; the start marker must be visible")
        return "past" if sign == "<=" else "strict_past"

    def truth(self, node: Node) -> Node:
        if node.op == "const" and node.value in (0, 1):
            return replace(node, boolean=True)
        if not node.boolean:
            self.fail(self._token(node), "expected a truth value, not an integer")
        return node

    def of(self, side: Side) -> Node:
        """An expression that reads one side only."""
        node = self.expression()
        if node.sides - {side}:
            self.fail(self._token(node), f"expected an expression of {side} only")
        return node

    def _token(self, node: Node) -> Token:
        return next((t for t in self.tokens if t.start >= node.column), self.tokens[-1])

    def expression(self) -> Node:
        return self.nested(self.operators)

    def join(self, signs: Sequence[Token], parts: list[Node]) -> Node:
        op, column = signs[0].text, parts[0].column
        if op == "not":
            return Node(op, (self.truth(parts[0]),), boolean=True, column=signs[0].start)
        if op in ("or", "and"):
            return Node(op, tuple(self.truth(p) for p in parts), boolean=True, column=column)
        if op == "*":
            if "const" not in (parts[0].op, parts[1].op):
                self.fail(self._token(parts[1]), "one factor must be a number")
            parts = parts if parts[0].op == "const" else parts[::-1]
        return Node(op, tuple(parts), boolean=op in COMPARE, column=column)

    def close(self, opened: Token) -> None:
        self.need(")")

    def atom(self) -> Node:
        token = self.step()
        if token.kind == "number":
            return Node("const", value=int(token.text), column=token.start)
        if token.text in ("min", "max"):
            self.need("(")
            first = self.expression()
            self.need(",")
            second = self.expression()
            self.need(")")
            return Node(token.text, (first, second), column=token.start)
        text, op, boolean = token.text, token.kind, True
        if op == "symbol":
            text = text[2:].strip('"')
            if text not in self.alphabet:
                self.fail(token, f"{quote(text)} is not in the alphabet")
        elif op == "name" and (text == "pos" or text in self.known):
            op, boolean = "pos" if text == "pos" else "vector", self.known.get(text, False)
        else:
            self.fail(token, "expected a number, Q_SYMBOL(i), pos(i) or a vector that is defined above")
        self.need("(")
        side: Side = "i" if self.need("i", "j") == "i" else "j"
        self.need(")")
        return Node(op, text=text, side=side, boolean=boolean, column=token.start)
