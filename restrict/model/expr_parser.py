"""Text to expression, by the grammar of docs/format.md (recursive descent; the trusted checker has its own parser).
Python never sees the text. Length and height are bounded, so that no file can exhaust the stack."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from restrict.base.arrays import MAX64
from restrict.base.errors import ModelError, ResourceLimit, quote
from restrict.base.scanner import Operators, Token, scan
from restrict.model.expr import HASH_SEED, Expr, balanced, const, name

MAX_LENGTH, MAX_HEIGHT = 10_000, 50
MAX_HASHED = 200
"""Arguments of all hashes of an expression; the checker takes any number."""
MAX_NODES = 1 << 16
"""Operands in the middle of a chain count twice, so chains within chains double what is evaluated."""
RESERVED = frozenset(["n", "i", "j", "q", "k", "and", "or", "not", "if", "else", "min", "max", "abs", "hash", "isqrt"])
_TOKEN = re.compile(r"(?P<number>[0-9]+)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>==|!=|<=|>=|//|[-+*%<>(),])")
_COMPARE = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_NODES = {"+": "add", "-": "sub", "*": "mul", "//": "div", "%": "mod"}
COMPARED = {op: sign for sign, op in _COMPARE.items()}
"""The sign of each comparison."""
SIGNS = {op: sign for sign, op in _NODES.items()} | COMPARED
"""The sign of each operator between two operands that is written with one."""
_WORDS = frozenset(("and", "or", "not", "if", "else"))
_ARITY = {"min": (2, None), "max": (2, None), "abs": (1, 1), "isqrt": (1, 1), "hash": (1, None)}
Tall = tuple[Expr, int]
"""An expression and the height of the syntax tree that it was read from (a chain, a call and a hash are one node)."""


def parse(text: str, allowed: frozenset[str]) -> Expr:
    """Parse an expression. ``text``: the expression, at most 10 000 characters. Gives the tree, at most 50 high."""
    if len(text) > MAX_LENGTH:
        raise ModelError(f"the expression has {len(text)} characters; the limit is {MAX_LENGTH}")
    return _Parser(text, allowed).parse()


class _Parser(Operators[Tall]):
    """Recursive descent over the grammar of docs/format.md, the same as the checker's."""

    levels = (
        ("left", ("or",)), ("left", ("and",)), ("prefix", ("not",)), ("flat", tuple(_COMPARE)),
        ("left", ("+", "-")), ("left", ("*", "//", "%")), ("prefix", ("-",)),
    )  # fmt: skip

    def __init__(self, text: str, allowed: frozenset[str]) -> None:
        self.text, self.allowed, self.hashed = text, allowed, 0
        tokens = scan(text, _TOKEN, self.bad_character, " \t\n")
        super().__init__(tokens, self.refuse, MAX_HEIGHT, f"is nested more than {MAX_HEIGHT} deep")

    def bad_character(self, token: Token) -> NoReturn:
        self.refuse(token, f"has the character {token.text!r}, which cannot stand there")

    def refuse(self, token: Token, reason: str) -> NoReturn:
        raise ModelError(f"the expression {quote(self.text)} {reason}")

    def parse(self) -> Expr:
        expr, _ = self.expr()
        self.expect("")
        waiting, count = [expr], 0
        while waiting:
            waiting.extend(waiting.pop().args)
            if (count := count + 1) > MAX_NODES:
                raise ResourceLimit(f"the expression {quote(self.text)} has more than {MAX_NODES} parts")
        return expr

    def expect(self, text: str) -> None:
        """Take this token; the empty text is the end."""
        token = self.step()
        if token.text != text:
            found = quote(token.text) if token.text else "the end"
            self.refuse(token, f"does not parse: expected {quote(text) if text else 'the end'}, found {found}")

    def height(self, args: list[Tall]) -> int:
        tall = 1 + max(h for _, h in args)
        if tall > MAX_HEIGHT:
            self.refuse(self.token, f"is nested more than {MAX_HEIGHT} deep")
        return tall

    def expr(self) -> Tall:
        value = self.operators()
        if not self.take("if"):
            return value
        condition = self.operators()
        self.expect("else")
        parts = [condition, value, self.nested(self.expr)]
        return Expr("select", tuple(a for a, _ in parts)), self.height(parts)

    def join(self, signs: Sequence[Token], parts: list[Tall]) -> Tall:
        sign, args = signs[0].text, tuple(a for a, _ in parts)
        if sign in _COMPARE:
            links = [Expr(_COMPARE[s.text], pair) for s, pair in zip(signs, pairwise(args), strict=True)]
            return balanced("and", links), self.height(parts)
        if sign == "-" and len(args) == 1:
            args = (const(0), *args)
        return Expr(_NODES.get(sign, sign), args), self.height(parts)

    def atom(self) -> Tall:
        piece = self.step()
        token = piece.text
        if token == "(":
            inner = self.nested(self.expr)
            self.expect(")")
            return inner
        if piece.kind == "number":
            return const(self.number(piece)), 1
        if piece.kind != "word" or token in _WORDS:
            self.refuse(piece, f"does not parse: expected a value, found {quote(token) if token else 'the end'}")
        if token in _ARITY:
            return self.call(token)
        if token not in self.allowed:
            known = ", ".join(sorted(self.allowed))
            raise ModelError(f"unknown name {quote(token)} in {quote(self.text)}; here one may use {known}")
        return name(token), 1

    def number(self, token: Token) -> int:
        """A plain decimal number of 63 bits."""
        if token.text[0] == "0" and token.text != "0":
            self.refuse(token, f"has the number {quote(token.text)}, which is not plain decimal")
        if len(token.text) > 19 or int(token.text) > MAX64:
            self.refuse(token, f"has the number {quote(token.text)}, which exceeds 2^63-1")
        return int(token.text)

    def call(self, function: str) -> Tall:
        self.expect("(")
        args = [self.nested(self.expr)]
        while self.take(","):
            args.append(self.nested(self.expr))
        self.expect(")")
        # A hash is a chain, as high as it is wide, which is read by recursion.
        self.hashed += len(args) if function == "hash" else 0
        if self.hashed > MAX_HASHED:
            raise ResourceLimit(f"the expression {quote(self.text)} hashes more than {MAX_HASHED} arguments")
        return _call(function, [a for a, _ in args], self.text), self.height(args)


def _call(function: str, args: list[Expr], text: str) -> Expr:
    low, high = _ARITY[function]
    if len(args) < low or (high is not None and len(args) > high):
        many = "1 argument" if high else f"{low} or more arguments"
        raise ModelError(f"{function} in {quote(text)} takes {many}, not {len(args)}")
    if function in ("min", "max"):
        return balanced(function, args)
    if function == "hash":
        state = const(HASH_SEED - 2**64)
        for arg in args:
            state = Expr("mix", (state, arg))
        return Expr("fin", (state,))
    return Expr(function, tuple(args))
