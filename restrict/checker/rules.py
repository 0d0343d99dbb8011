"""What a map or a score is: an expression, a table or a dot product, and the code that each becomes.

All three are trees. Expressions are parsed by precedence. Every operation of a tree becomes one or a few steps of code
with the same value for all integers, and an interval for it: no value that occurs leaves 64 bits, no divisor is 0, no
root is negative. The meaning is that of docs/format.md, that of the code is in ``normal_form``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, NamedTuple

from .account import LARGEST, LEAST, Meter, Place, require, short, shown
from .normal_form import Code, Registers, Table
from .read import anything, record, string
from .tensors import Files, Tensor, read_tensor

EXPRESSION_CHARACTERS = 10_000
EXPRESSION_DEPTH = 50
TABLE = {"table": anything}
DOT = {"dot": {"query": anything, "key": anything}}

# ---------------------------------------------------------------- parsing

TOKEN = re.compile(r"[0-9]+|[A-Za-z_][A-Za-z0-9_]*|==|!=|<=|>=|//|[^ \t\n]")
NUMBER = re.compile("0|[1-9][0-9]{0,18}")
FUNCTIONS = {"min": (2, LARGEST), "max": (2, LARGEST), "abs": (1, 1), "isqrt": (1, 1), "hash": (1, LARGEST)}
RESERVED = {"n", "i", "j", "q", "k", "and", "or", "not", "if", "else", *FUNCTIONS}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LEVELS = {"if": 0, "or": 1, "and": 2, **dict.fromkeys(COMPARISONS, 4), "+": 5, "-": 5, "*": 6, "//": 6, "%": 6}
NOT, SUM, UNARY = 3, 5, 7


class Tree(NamedTuple):
    """``op`` is an operator, a function, ``int``, ``name``, ``neg``, ``if``, ``chain``, ``table`` or ``dot``; ``value``
    is the number, the name, the signs of a chain, or the tensors."""

    op: str
    args: tuple[Tree, ...] = ()
    value: Any = 0
    height: int = 1


class Parser:
    """The grammar of docs/format.md, by precedence. A grammar with other words changes what stands first here."""

    characters, token = EXPRESSION_CHARACTERS, TOKEN
    levels: ClassVar = LEVELS
    functions: ClassVar = FUNCTIONS

    def __init__(self, text: str, place: Place, names: Collection[str], meter: Meter) -> None:
        self.place, self.names, self.at = place, names, 0
        require(len(text) <= self.characters, place, f"an expression has at most {self.characters} characters")
        self.tokens: list[str] = [*self.token.findall(text), ""]
        meter.read(8 * len(self.tokens))
        meter.hold(200 * len(self.tokens))
        self.tree = self.parse(0, 0)
        self.expect("")

    def take(self) -> str:
        """Take the next token and go past it; the last one is empty."""
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, text: str) -> None:
        """Take the next token, which must be this one."""
        found = self.take()
        require(found == text, self.place, f"expected {text or 'the end'} but found {shown(found)}")

    def shallow(self, depth: int) -> None:
        """Refuse what is nested more than 50 deep: the parser's own stack, and the height of the tree."""
        require(depth <= EXPRESSION_DEPTH, self.place, f"an expression is nested at most {EXPRESSION_DEPTH} deep")

    def node(self, op: str, *args: Tree, value: Any = 0) -> Tree:
        """A tree over these arguments, with its height."""
        height = 1 + max(arg.height for arg in args)
        self.shallow(height)
        return Tree(op, args, value, height)

    def parse(self, level: int, depth: int) -> Tree:
        """An operand and the operators after it that bind at least as tightly as ``level``."""
        self.shallow(depth)
        tree = self.operand(level, depth + 1)
        while (binding := self.levels.get(self.tokens[self.at], -1)) >= level:
            sign = self.take()
            if sign == "if":
                condition = self.parse(1, depth)
                self.expect("else")
                tree = self.node("if", tree, condition, self.parse(0, depth + 1))
            elif sign in COMPARISONS:
                signs, operands = [sign], [tree, self.parse(SUM, depth)]
                while self.tokens[self.at] in COMPARISONS:
                    signs.append(self.take())
                    operands.append(self.parse(SUM, depth))
                tree = self.node("chain" if len(signs) > 1 else sign, *operands, value=tuple(signs))
            else:
                # A power of a power is read from the right.
                tree = self.node(sign, tree, self.parse(binding + (sign != "**"), depth))
        return tree

    def number(self, token: str) -> Any:
        """The number that a token denotes, or None."""
        return int(token) if NUMBER.fullmatch(token) and int(token) <= LARGEST else None

    def operand(self, level: int, depth: int) -> Tree:
        """A name, a number, a call, a parenthesis, or a prefix operator with its operand."""
        token = self.take()
        if token in self.names:
            return Tree("name", value=token)
        if (number := self.number(token)) is not None:
            return Tree("int", value=number)
        if token == "-":
            return self.node("neg", self.parse(UNARY, depth))
        if token == "not" and level <= NOT:
            return self.node("not", self.parse(NOT, depth))
        if token == "(":
            tree = self.parse(0, depth)
            self.expect(")")
            return tree
        found = "the end" if not token else "the unknown name " * token.isidentifier() + shown(token)
        require(
            token in self.functions, self.place, f"expected a value (an integer is at most 2^63-1) but found {found}"
        )
        return self.call(token, depth)

    def call(self, name: str, depth: int) -> Tree:
        """The arguments of a function, in parentheses."""
        self.expect("(")
        args = [self.parse(0, depth)]
        while self.tokens[self.at] == ",":
            self.take()
            args.append(self.parse(0, depth))
        self.expect(")")
        least, most = self.functions[name]
        require(least <= len(args) <= most, self.place, f"wrong number of arguments of {name}")
        return self.node(name, *args)


def mentioned(tree: Tree) -> set[str]:
    """The names that occur in an expression."""
    return {str(tree.value)} if tree.op == "name" else set[str]().union(*map(mentioned, tree.args))


# ---------------------------------------------------------------- code

SEED = 0x9E3779B97F4A7C15
SAME = {"+": "+", "-": "-", "*": "*", "//": "/", "%": "%"}
FOLDED = {"min": "&", "max": "|"}


class Emitter(Registers):
    """The code of a tree as words of `restrict-program/1`. No value of an operation leaves 64 bits.

    ``names`` are the registers of the names that it reads, ``sizes`` those of the first registers.
    """

    def __init__(
        self, names: dict[str, int], sizes: Sequence[int], n: int, tables: list[Table], place: Place, meter: Meter
    ) -> None:
        super().__init__(sizes, tables, place)
        self.names, self.n, self.meter, self.made = names, n, meter, tables
        self.words: list[str] = []
        self.constants: dict[int, int] = {}

    def step(self, sign: str, *found: int) -> int:
        """One operation; the register that it makes."""
        self.meter.charge(4)
        self.meter.hold(600)
        self.words += [sign, *map(str, found)]
        return super().step(sign, *found)

    def constant(self, value: int) -> int:
        """The register of a number."""
        if value not in self.constants:
            self.constants[value] = self.step("c", value)
        return self.constants[value]

    def finish(self, tree: Tree) -> Code:
        """The code of a tree. Its value has to be in the last register."""
        found = self.tree(tree)
        if found != len(self.spans) - 1:
            self.step("+", found, self.constants[0] if 0 in self.constants else self.step("c", 0))
        return self.code()

    def tree(self, tree: Tree) -> int:
        """The register of a tree's value."""
        if tree.op == "int":
            return self.constant(tree.value)
        if tree.op == "name":
            return self.constant(self.n) if tree.value == "n" else self.names[tree.value]
        if tree.op == "table":
            return self.entry(tree.value[0])
        if tree.op == "dot":
            return self.dot(*tree.value)
        found = self.operation(tree, [self.tree(arg) for arg in tree.args])
        low, high = self.spans[found]
        require(low >= LEAST and high <= LARGEST, self.place, f"{tree.op} overflows 64 bits at this n")
        return found

    def operation(self, tree: Tree, args: list[int]) -> int:
        """An operator or a function, by the registers of its arguments."""
        if tree.op in SAME:
            return self.step(SAME[tree.op], *args)
        if tree.op in FOLDED:
            return self.fold(FOLDED[tree.op], args)
        if tree.op == "and":
            return self.fold("*", [self.truth(arg) for arg in args])
        if tree.op == "chain":
            return self.fold("*", [self.compared(sign, *args[at : at + 2]) for at, sign in enumerate(tree.value)])
        if tree.op == "if":
            return self.step("?", args[1], args[0], args[2])
        if tree.op in COMPARISONS:
            return self.compared(tree.op, *args)
        return self.function(tree.op, args)

    def function(self, op: str, args: list[int]) -> int:
        """A function or a prefix operator."""
        zero = self.constant(0)
        if op == "neg":
            return self.step("-", zero, args[0])
        if op == "not":
            return self.step("=", args[0], zero)
        if op == "or":
            return self.step("=", self.fold("*", [self.step("=", arg, zero) for arg in args]), zero)
        if op == "abs":
            return self.step("|", self.step("|", args[0], self.step("-", zero, args[0])), zero)
        if op == "isqrt":
            return self.step("r", args[0])
        return self.step("h", self.fold("m", [self.constant(SEED), *args, zero]))

    def truth(self, register: int) -> int:
        """1 where a number is not 0."""
        return self.step("=", self.step("=", register, self.constant(0)), self.constant(0))

    def fold(self, sign: str, registers: list[int]) -> int:
        """An operation from left to right."""
        found = registers[0]
        for register in registers[1:]:
            found = self.step(sign, found, register)
        return found

    def compared(self, sign: str, a: int, b: int) -> int:
        """A comparison."""
        found = self.step("=" if sign in ("==", "!=") else "<", *((b, a) if sign in (">", "<=") else (a, b)))
        return self.step("=", found, self.constant(0)) if sign in ("!=", "<=", ">=") else found

    def entry(self, tensor: Tensor, place: int = 0) -> int:
        """An entry of a tensor; ``place`` is the index inside a row where the last axis is ``dim``."""
        at = self.constant(place)
        for axis, stride in tensor.strides.items():
            if axis in self.names:
                index, size = self.names[axis], tensor.sizes[axis]
                needed = self.spans[index][1] + 1
                reason = f"the axis {short(axis)} has size {size}, but {needed} is needed at this n"
                # Axes of positions may be longer.
                require(size == needed or (size > needed and axis in ("i", "j")), tensor.place, reason)
                at = self.step("+", at, index if stride == 1 else self.step("*", index, self.constant(stride)))
        entries = tensor.entries
        if entries.number < 0:
            entries.number = len(self.made)
            self.made.append((entries.data, entries.span))
        return self.step("t", entries.number, at)

    def dot(self, query: Tensor, key: Tensor) -> int:
        """A dot product, unrolled. Every product is bounded by the largest entries of its column."""
        high = sum(map(operator.mul, query.entries.columns, key.entries.columns))
        require(high <= LARGEST, self.place, "dot overflows 64 bits at this n")
        dim = query.sizes["dim"]
        return self.fold("+", [self.step("*", self.entry(query, t), self.entry(key, t)) for t in range(dim)])


# ---------------------------------------------------------------- rules


class Rule(NamedTuple):
    """A map or a score; ``names`` are those it mentions."""

    tree: Tree
    place: Place
    names: set[str]


def expression(value: Any, place: Place, names: Collection[str], meter: Meter) -> Rule:
    """A rule given as text."""
    parser = Parser(string(value, place), place, names, meter)
    return Rule(parser.tree, place, mentioned(parser.tree))


def read_rule(value: Any, place: Place, names: Collection[str], files: Files) -> Rule:
    """An expression, a tensor with an axis for each name, or (in a score) a query row times a key row."""
    if not isinstance(value, dict):
        return expression(value, place, {"n", *names}, files.meter)
    if "dot" not in value or "j" not in names:
        tensor = read_tensor(record(value, TABLE, place)["table"], place.key("table"), files, names)
        return Rule(Tree("table", value=[tensor]), place, set(tensor.sizes))
    inside, fields = place.key("dot"), record(value, DOT, place)["dot"]
    axes = {"query": ("q", "i", "dim"), "key": ("k", "j", "dim")}
    pair = [read_tensor(fields[role], inside.key(role), files, allowed) for role, allowed in axes.items()]
    for tensor in pair:
        require([*tensor.sizes][-1:] == ["dim"], tensor.place, "the last axis must be dim")
    query, key = pair
    require(query.sizes["dim"] == key.sizes["dim"], inside, "query and key differ in the size of dim")
    names = {*query.sizes, *key.sizes} - {"dim"}
    return Rule(Tree("dot", value=pair), inside, names)
