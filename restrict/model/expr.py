"""Integer expressions: parsing, interval analysis, folding, and compilation to register code (docs/format.md).

The text is parsed into a tree of :class:`Expr` by the grammar of docs/format.md and never seen by Python. Tables and
dot
products join the same tree as ``gather`` nodes, so there is one evaluator for all of them: the register machine of
:mod:`restrict.kernels.machine`. ``hash(a, b)`` is kept as ``fin(mix(mix(seed, a), b))``, so folding the known
arguments of a
row leaves only the last few mixing steps to the inner loop.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from restrict.arrays import I64, MAX64, MIN64
from restrict.errors import ModelError, quote

Interval = tuple[int, int]

MAX_LENGTH, MAX_HEIGHT = 10_000, 50
HASH_SEED, HASH_MULTIPLIER = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
RESERVED = frozenset(["n", "i", "j", "q", "k", "and", "or", "not", "if", "else", "min", "max", "abs", "hash", "isqrt"])
_MASK64 = 2**64 - 1


@dataclass(frozen=True)
class Expr:
    """A node: ``const`` (value), ``name`` (text), ``gather`` (payload: flat table, one index), or an operator.

    ``names`` are the free names. They and the hash are made once, bottom up, since trees are compared and searched
    often.
    """

    op: str
    args: tuple[Expr, ...] = ()
    value: int = 0
    text: str = ""
    payload: Payload | None = None
    names: frozenset[str] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        own = frozenset((self.text,)) if self.op == "name" else frozenset[str]()
        object.__setattr__(self, "names", own.union(*(a.names for a in self.args)))
        parts = (self.op, self.value, self.text, id(self.payload), *(a._hash for a in self.args))
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, eq=False, slots=True)
class Payload:
    """A flat table behind ``gather`` nodes; compared by identity, so a shared table is stored once."""

    flat: I64

    def bounds(self) -> Interval:
        """Least and greatest entry."""
        return int(self.flat.min()), int(self.flat.max())


def const(value: int) -> Expr:
    """A literal."""
    return Expr("const", value=value)


def name(text: str) -> Expr:
    """A free name."""
    return Expr("name", text=text)


# ---------------------------------------------------------------- parsing

_TOKEN = re.compile(r"[ \t\n]*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(==|!=|<=|>=|//|[-+*%<>(),])|\Z)")
_COMPARE = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_LEVELS = ({"or": "or"}, {"and": "and"}, {"+": "add", "-": "sub"}, {"*": "mul", "//": "div", "%": "mod"})
_WORDS = frozenset(("and", "or", "not", "if", "else"))
_ARITY = {"min": (2, None), "max": (2, None), "abs": (1, 1), "isqrt": (1, 1), "hash": (1, None)}
Tall = tuple[Expr, int]
"""An expression and the height of the syntax tree that it was read from (a chain, a call and a hash are one node)."""


def parse(text: str, allowed: frozenset[str]) -> Expr:
    """Parse an expression over the names ``allowed``.

    Raises :class:`ModelError` whose message says what is wrong, without the place.
    """
    if len(text) > MAX_LENGTH:
        raise ModelError(f"the expression has {len(text)} characters; the limit is {MAX_LENGTH}")
    return _Parser(text, allowed).parse()


class _Parser:
    """Recursive descent over the grammar of docs/format.md, the same as the checker's."""

    def __init__(self, text: str, allowed: frozenset[str]) -> None:
        self.text, self.allowed = text, allowed
        self.tokens: list[str] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                bad = text[at:].lstrip(" \t\n")[0]
                self.fail(f"has the character {bad!r}, which cannot stand there")
            self.tokens.append(found[found.lastindex or 0].strip(" \t\n") if found.lastindex else "")
            at = found.end()
        self.tokens = [*filter(None, self.tokens), ""]
        self.at = self.depth = 0

    def fail(self, reason: str) -> NoReturn:
        raise ModelError(f"the expression {quote(self.text)} {reason}")

    def parse(self) -> Expr:
        expr, _ = self.expr()
        self.expect("")
        return expr

    def take(self, *options: str) -> str:
        """The next token if it is one of the options, else nothing."""
        token = self.tokens[self.at]
        if token not in options:
            return ""
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            found = quote(self.tokens[self.at]) if self.tokens[self.at] else "the end"
            self.fail(f"does not parse: expected {quote(token) if token else 'the end'}, found {found}")
        self.at += 1

    def node(self, op: str, args: list[Tall]) -> Tall:
        return Expr(op, tuple(a for a, _ in args)), self.height(args)

    def height(self, args: list[Tall]) -> int:
        tall = 1 + max(h for _, h in args)
        if tall > MAX_HEIGHT:
            self.fail(f"is nested more than {MAX_HEIGHT} deep")
        return tall

    def nested(self, rule: Callable[[], Tall]) -> Tall:
        """``rule`` one level deeper, counted on the way down so that the parser's own stack is bounded."""
        self.depth += 1
        if self.depth > MAX_HEIGHT:
            self.fail(f"is nested more than {MAX_HEIGHT} deep")
        result = rule()
        self.depth -= 1
        return result

    def expr(self) -> Tall:
        value = self.left(0)
        if not self.take("if"):
            return value
        condition = self.left(0)
        self.expect("else")
        return self.node("select", [condition, value, self.nested(self.expr)])

    def left(self, level: int) -> Tall:
        """The left-associative operators, loosest first; ``not`` and comparisons bind between ``and`` and ``+``."""
        operands: tuple[Callable[[], Tall], ...] = (self.conjunction, self.negation, self.term, self.unary)
        operand = operands[level]
        tree = operand()
        while op := self.take(*_LEVELS[level]):
            tree = self.node(_LEVELS[level][op], [tree, operand()])
        return tree

    def conjunction(self) -> Tall:
        return self.left(1)

    def term(self) -> Tall:
        return self.left(3)

    def negation(self) -> Tall:
        if self.take("not"):
            return self.node("not", [self.nested(self.negation)])
        terms, links = [self.left(2)], []
        while sign := self.take(*_COMPARE):
            terms.append(self.left(2))
            links.append(Expr(_COMPARE[sign], (terms[-2][0], terms[-1][0])))
        return (_fold_left("and", links), self.height(terms)) if links else terms[0]

    def unary(self) -> Tall:
        if self.take("-"):
            operand = self.nested(self.unary)
            return Expr("sub", (const(0), operand[0])), self.height([operand])
        return self.atom()

    def atom(self) -> Tall:
        token = self.tokens[self.at]
        if not token or token in _WORDS or not (token[0].isalnum() or token[0] in "_("):
            self.fail(f"does not parse: expected a value, found {quote(token) if token else 'the end'}")
        self.at += 1
        if token == "(":
            inner = self.nested(self.expr)
            self.expect(")")
            return inner
        if token[0].isdigit():
            return const(self.number(token)), 1
        if token in _ARITY:
            return self.call(token)
        if token not in self.allowed:
            known = ", ".join(sorted(self.allowed))
            raise ModelError(f"unknown name {quote(token)} in {quote(self.text)}; here one may use {known}")
        return name(token), 1

    def number(self, token: str) -> int:
        if token[0] == "0" and token != "0":
            self.fail(f"has the number {quote(token)}, which is not plain decimal")
        if len(token) > 19 or int(token) > MAX64:
            self.fail(f"has the number {quote(token)}, which exceeds 2^63-1")
        return int(token)

    def call(self, function: str) -> Tall:
        self.expect("(")
        args = [self.nested(self.expr)]
        while self.take(","):
            args.append(self.nested(self.expr))
        self.expect(")")
        return _call(function, [a for a, _ in args], self.text), self.height(args)


def _call(function: str, args: list[Expr], text: str) -> Expr:
    low, high = _ARITY[function]
    if len(args) < low or (high is not None and len(args) > high):
        many = "1 argument" if high else f"{low} or more arguments"
        raise ModelError(f"{function} in {quote(text)} takes {many}, not {len(args)}")
    if function in ("min", "max"):
        return _fold_left(function, args)
    if function == "hash":
        state = const(HASH_SEED - 2**64)
        for arg in args:
            state = fold_node("mix", (state, arg))
        return fold_node("fin", (state,))
    return Expr(function, tuple(args))


def _fold_left(op: str, args: list[Expr]) -> Expr:
    result = args[0]
    for arg in args[1:]:
        result = Expr(op, (result, arg))
    return result


def table(flat: I64, shape: tuple[int, ...], axes: list[Expr]) -> Expr:
    """The entry of a row-major table of ``shape`` at the index expressions ``axes``."""
    index, stride = const(0), 1
    for size, axis in zip(reversed(shape), reversed(axes), strict=True):
        index = fold_node("add", (index, fold_node("mul", (const(stride), axis))))
        stride *= size
    return fold_gather(Payload(flat), index)


# ---------------------------------------------------------------- folding


def signed(value: int) -> int:
    """``value`` modulo 2^64 as a signed 64-bit integer."""
    value &= _MASK64
    return value - 2**64 if value >> 63 else value


def hash_mix(state: int, argument: int) -> int:
    """One mixing step on signed 64-bit states."""
    mixed = (((state ^ argument) & _MASK64) * HASH_MULTIPLIER) & _MASK64
    return signed(mixed ^ (mixed >> 32))


def hash_fin(state: int) -> int:
    """The final step; the result lies in ``0 .. 2^63-1``."""
    mixed = ((state & _MASK64) * HASH_MULTIPLIER) & _MASK64
    return (mixed ^ (mixed >> 32)) >> 1


SCALAR: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "abs": abs,
    "isqrt": math.isqrt,
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
    "gt": lambda a, b: int(a > b),
    "ge": lambda a, b: int(a >= b),
    "and": lambda a, b: int(a != 0 and b != 0),
    "or": lambda a, b: int(a != 0 or b != 0),
    "not": lambda a: int(a == 0),
    "select": lambda c, a, b: a if c else b,
    "mix": hash_mix,
    "fin": hash_fin,
}


def fold_node(op: str, args: tuple[Expr, ...]) -> Expr:
    """An operator node, or its value when all arguments are known."""
    if all(a.op == "const" for a in args):
        return const(SCALAR[op](*(a.value for a in args)))
    if op == "select" and args[0].op == "const":
        return args[1] if args[0].value else args[2]
    if op == "mul" and args[0] == const(1):
        return args[1]
    if op == "add" and args[0] == const(0):
        return args[1]
    return Expr(op, args)


def fold_gather(payload: Payload, index: Expr) -> Expr:
    """A table entry, or its value when the index is known."""
    if index.op == "const":
        return const(int(payload.flat[index.value]))
    return Expr("gather", (index,), payload=payload)


def substitute(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    """Replace names by expressions and fold what becomes constant."""
    if expr.op == "name":
        return known.get(expr.text, expr)
    if expr.op == "const" or (expr.names and not expr.names & known.keys()):
        return expr
    args = tuple(substitute(a, known) for a in expr.args)
    if expr.payload is not None:
        return fold_gather(expr.payload, args[0])
    return fold_node(expr.op, args)


def bind(expr: Expr, **known: int) -> Expr:
    """:func:`substitute` with numbers."""
    return substitute(expr, {key: const(value) for key, value in known.items()})


# ---------------------------------------------------------------- interval analysis

_CORNERS = frozenset(("add", "sub", "mul", "div", "min", "max"))
_BOOLEAN = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"))


def interval(expr: Expr, ranges: Mapping[str, Interval]) -> Interval:
    """Bounds on the value when every name lies in its range (docs/format.md, interval analysis).

    Raises :class:`ModelError` (without the place) where a sub-expression may leave 64 bits, divide by 0 or take a root
    of a negative number. Cost linear in the expression.
    """
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
    if op in _BOOLEAN:
        return 0, 1
    if op == "mix":
        return MIN64, MAX64
    if op == "fin":
        return 0, MAX64
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


# ---------------------------------------------------------------- compilation

OPCODES = {
    op: code for code, op in enumerate(op for op in (*SCALAR, "gather") if op not in ("gt", "ge", "and", "or", "not"))
}
"""Opcodes of the register machine; the operators left out are rewritten by :func:`lower`, since each opcode costs
compilation."""


def lower(node: Expr) -> Expr:
    """The same value with the machine's operators only, at the root of the tree."""
    zero = const(0)
    match node.op:
        case "gt" | "ge":
            return Expr("lt" if node.op == "gt" else "le", node.args[::-1])
        case "not":
            return Expr("eq", (node.args[0], zero))
        case "and" | "or":
            both = tuple(Expr("ne", (a, zero)) for a in node.args)
            return Expr("min" if node.op == "and" else "max", both)
    return node


@dataclass(frozen=True, eq=False, slots=True)
class Code:
    """Register code: ``instructions`` (m, 5) of opcode, destination and up to three sources.

    Registers ``0 .. inputs-1`` are the inputs in the order given to :func:`compile_expr`; ``constants`` (r, 2) are
    registers to be filled with a value once; ``tables`` is what ``gather`` reads; ``result`` is the register of the
    value.
    """

    instructions: I64
    constants: I64
    tables: I64
    registers: int
    result: int


_NO_TABLE = np.zeros(1, dtype=np.int64)


def compile_expr(expr: Expr, inputs: tuple[str, ...]) -> Code:
    """Compile an expression whose free names are all among ``inputs``; common sub-expressions are computed once."""
    registers: dict[Expr, int] = {name(text): slot for slot, text in enumerate(inputs)}
    instructions: list[tuple[int, int, int, int, int]] = []
    constants: list[tuple[int, int]] = []
    offsets: dict[Payload, int] = {}

    def visit(node: Expr) -> int:
        if node in registers:
            return registers[node]
        node = lower(node)
        if node in registers:
            return registers[node]
        sources = [visit(a) for a in node.args]
        target = len(registers)
        registers[node] = target
        if node.op == "const":
            constants.append((target, node.value))
            return target
        if node.payload is not None:
            sources.append(offsets.setdefault(node.payload, sum(len(p.flat) for p in offsets)))
        padded = [*sources, 0, 0][:3]
        instructions.append((OPCODES[node.op], target, padded[0], padded[1], padded[2]))
        return target

    result = visit(expr)
    tables = [p.flat for p in offsets]
    return Code(
        np.array(instructions, dtype=np.int64).reshape(-1, 5),
        np.array(constants, dtype=np.int64).reshape(-1, 2),
        tables[0] if len(tables) == 1 else np.concatenate(tables) if tables else _NO_TABLE,
        len(registers),
        result,
    )
