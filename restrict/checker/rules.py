"""What a map or a score is: an expression, a table or a dot product, each with intervals, evaluation and a price.

All three are trees. Expressions are parsed by precedence and analysed by intervals before anything is evaluated, so
that no value that occurs leaves 64 bits, no divisor is 0 and no root is negative. They are evaluated by a Python
function with one line for each operation, made of the tree alone (names become ``v_NAME``); the operations on names
that are known beforehand are done once. The meaning is that of docs/format.md.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, ClassVar, NamedTuple

from .account import LARGEST, LEAST, Meter, Place, malformed, require, short, shown
from .read import anything, record, string
from .tensors import Entries, Files, Span, Tensor, read_tensor

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


# ---------------------------------------------------------------- intervals

CORNERS: dict[str, Callable[..., int]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv},
    **{"neg": operator.neg, "abs": abs, "isqrt": math.isqrt},
}
"""What has its extremes at the ends of its arguments' intervals (``abs`` at 0, too)."""


def interval(tree: Tree, spans: Mapping[str, Span], place: Place) -> Span:
    """An interval that holds every value of the tree; refuses what might overflow, divide by 0 or have no root."""
    if tree.op == "int":
        return int(tree.value), int(tree.value)
    if tree.op == "name":
        return spans[tree.value]
    if tree.op == "table":
        return fitted(tree.value[0], spans).span
    if tree.op == "dot":
        # Every product is bounded by the largest entries of its column.
        query, key = (fitted(tensor, spans).columns for tensor in tree.value)
        high = sum(map(operator.mul, query, key))
        low = -high
    else:
        low, high = span_of(tree.op, [interval(arg, spans, place) for arg in tree.args], place)
    require(low >= LEAST and high <= LARGEST, place, f"{tree.op} overflows 64 bits at this n")
    return low, high


def fitted(tensor: Tensor, spans: Mapping[str, Span]) -> Entries:
    """The entries of a tensor that has the sizes needed."""
    for axis, size in tensor.sizes.items():
        needed = spans[axis][1] + 1 if axis in spans else size
        reason = f"the axis {short(axis)} has size {size}, but {needed} is needed at this n"
        # Axes of positions may be longer.
        require(size == needed or (size > needed and axis in ("i", "j")), tensor.place, reason)
    return tensor.entries


def span_of(op: str, args: list[Span], place: Place) -> Span:
    """The interval of one operation from those of its arguments."""
    (low, high), last = args[0], args[-1]
    if op in ("//", "%") and last[0] <= 0 <= last[1]:
        malformed(place, f"the divisor of {op} may be 0 at this n")
    if op == "isqrt" and low < 0:
        malformed(place, "the argument of isqrt may be negative at this n")
    if op in CORNERS:
        ends = [CORNERS[op](*point) for point in product(*args)]
        return 0 if op == "abs" and low <= 0 <= high else min(ends), max(ends)
    if op == "%" and last[1] < 0:
        return last[0] + 1, 0
    if op == "%":
        return args[0] if low >= 0 and high < last[0] else (0, last[1] - 1)
    if op in ("min", "max"):
        best = min if op == "min" else max
        return best(a for a, _ in args), best(b for _, b in args)
    if op == "if":
        return min(low, last[0]), max(high, last[1])
    return (0, LARGEST) if op == "hash" else (0, 1)


# ---------------------------------------------------------------- evaluation

BITS = (1 << 64) - 1
SEED, MULTIPLIER = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
# The plus makes an integer of a truth value.
LINES = {"neg": "-{}", "not": "+(not {})", "and": "1 if {} and {} else 0", "or": "1 if {} or {} else 0"}
LINES |= {"if": "{} if {} else {}", **{sign: f"{{}} {sign} {{}}" for sign in ("+", "-", "*", "//", "%")}}
SCORES = "j", "k"
"""What is not known of a score while a row of a head is examined."""


class Code:
    """A tree as lines of Python, by levels: ``lines[0]`` needs known names alone, ``lines[k]`` the first ``k`` others.

    Both branches of a conditional are computed: interval analysis has shown that nothing in them can fail. ``weight``
    is the time of the lines of all levels but the first, in units of about 30 nanoseconds.
    """

    def __init__(self, tree: Tree, others: Sequence[str]) -> None:
        self.level = {"v_" + name: 1 + index for index, name in enumerate(others)}
        self.lines: list[list[str]] = [[] for _ in range(1 + len(others))]
        self.scope: dict[str, Any] = {"isqrt": math.isqrt, "mul": operator.mul}
        self.weight = 0
        self.result = self.emit(tree)

    def line(self, text: str, reads: Sequence[str], weight: int = 1) -> str:
        """A line that sets a new name, which is returned."""
        name, level = f"t{len(self.level)}", max(self.level.get(read, 0) for read in reads)
        self.level[name] = level
        self.weight += weight + len(reads) if level else 0
        self.lines[level].append(f"{name} = {text}")
        return name

    def emit(self, tree: Tree) -> str:
        """The lines of a tree, and the name or number that is then its value."""
        if tree.op in ("int", "name"):
            return str(tree.value) if tree.op == "int" else "v_" + tree.value
        if tree.op in ("table", "dot"):
            return self.emit_tensors(tree.op, tree.value)
        args = [self.emit(arg) for arg in tree.args]
        if tree.op == "hash":
            # Neither names nor numbers are negative; all others are taken modulo 2^64.
            bare = [arg.op in ("int", "name") for arg in tree.args]
            return self.emit_hash([a if b else f"({a} & {BITS})" for a, b in zip(args, bare, strict=True)], args)
        if tree.op == "chain" or tree.op in COMPARISONS:
            text = "+(" + " ".join(chain.from_iterable(zip(args, (*tree.value, ")"), strict=True)))
        else:
            text = LINES[tree.op].format(*args) if tree.op in LINES else f"{tree.op}({', '.join(args)})"
        return self.line(text, args, 8 if tree.op == "isqrt" else 1)

    def emit_hash(self, absorbed: list[str], reads: list[str]) -> str:
        """``hash`` (docs/format.md): a round for each argument, one for the end, on 64 bits."""
        state = str(SEED)
        for text, name in zip([*absorbed, "0"], [*reads, ""], strict=True):
            state = self.line(f"({state} ^ {text}) * {MULTIPLIER} & {BITS}", (state, name))
            state = self.line(f"{state} ^ {state} >> 32", (state,))
        return self.line(f"{state} >> 1", (state,))

    def emit_tensors(self, op: str, tensors: Sequence[Tensor]) -> str:
        """An entry of the first tensor, or the product of a row of each; ``dim`` is the axis inside a row."""
        parts, dim = [], tensors[0].sizes.get("dim", 0)
        for number, tensor in enumerate(tensors):
            self.scope[f"data{number}"], at = tensor.entries.data, "0"
            # A variable of a table may be called ``dim``, too.
            outer = [axis for axis in tensor.strides if op == "table" or axis != "dim"]
            axes = [(f"v_{axis}", tensor.strides[axis]) for axis in outer]
            for name, stride in sorted(axes, key=lambda axis: self.level.get(axis[0], 0)):
                at = self.line(f"{at} + {name} * {stride}", (at, name))
            index = at if op == "table" else f"{at}:{at} + {dim}"
            parts.append(self.line(f"data{number}[{index}]", (at,)))
        return parts[0] if op == "table" else self.line(f"sum(map(mul, {', '.join(parts)}))", parts, 2 * dim)


def compiled(tree: Tree, names: Collection[str], others: Sequence[str], scan: bool = False) -> Callable[..., Any]:
    """A function of the known names, which gives a function of a tuple of the others.

    With ``scan``, of a score: it gives a generator of positions, each with the least and the greatest score there, for
    segments with their keys.
    """
    code = Code(tree, others)
    known = [f"v_{name} = known[{name!r}]" for name in names if "v_" + name not in code.level]
    outer = ["def make(known):", *indented(known + code.lines[0])]
    if scan:
        ends = [f"if {code.result} {sign} {end}: {end} = {code.result}" for sign, end in (("<", "least"), (">", "top"))]
        inner = [f"least, top = {LARGEST}, {LEAST}", "for v_k in keys:", *indented([*code.lines[2], *ends])]
        each = ["for v_j in range(start, stop):", *indented([*code.lines[1], *inner, "yield v_j, v_j + 1, least, top"])]
        body = ["def function(segments):", *indented(["for start, stop, keys in segments:", *indented(each)])]
    else:
        given = [f"v_{name} = e[{index}]" for index, name in enumerate(others) if name in names]
        value = chain(given, *code.lines[1:], [f"return {code.result}"])
        body = ["def function(e):", *indented(value)]
    exec(compile("\n".join([*outer, *indented([*body, "return function"])]), "rule", "exec"), code.scope)
    make: Callable[..., Any] = code.scope["make"]
    return make


def indented(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a block."""
    return (" " + line for line in lines)


# ---------------------------------------------------------------- rules


class Rule:
    """A map or a score. ``names`` are those it mentions, ``size`` is the cost of :meth:`bind`."""

    def __init__(self, tree: Tree, place: Place, names: set[str], size: int) -> None:
        self.tree, self.place, self.names, self.size = tree, place, names, size
        self.made: dict[tuple[Sequence[str], bool], Callable[..., Any]] = {}

    def fit(self, sizes: Mapping[str, int]) -> Span:
        """The values lie in this interval if each name is below its size (and ``n`` is ``n``); refuses overflow."""
        spans = {name: (sizes[name] if name == "n" else 0, sizes[name] - (name != "n")) for name in self.names}
        return interval(self.tree, spans, self.place)

    def price(self, others: Sequence[str]) -> int:
        """The steps of one value, once all names but these are known."""
        return max(1, Code(self.tree, others).weight // 16)

    def bind(self, known: Mapping[str, int], others: tuple[str, ...], scan: bool = False) -> Any:
        """The rule with the known names folded in, see :func:`compiled`."""
        if (others, scan) not in self.made:
            self.made[others, scan] = compiled(self.tree, self.names, others, scan)
        return self.made[others, scan](known)


def expression(value: Any, place: Place, names: Collection[str], meter: Meter) -> Rule:
    """A rule given as text."""
    parser = Parser(string(value, place), place, names, meter)
    return Rule(parser.tree, place, mentioned(parser.tree), len(parser.tokens))


def read_rule(value: Any, place: Place, names: Collection[str], files: Files) -> Rule:
    """An expression, a tensor with an axis for each name, or (in a score) a query row times a key row."""
    if not isinstance(value, dict):
        return expression(value, place, {"n", *names}, files.meter)
    if "dot" not in value or "j" not in names:
        tensor = read_tensor(record(value, TABLE, place)["table"], place.key("table"), files, names)
        return Rule(Tree("table", value=[tensor]), place, set(tensor.sizes), 1 + len(tensor.sizes))
    inside, fields = place.key("dot"), record(value, DOT, place)["dot"]
    axes = {"query": ("q", "i", "dim"), "key": ("k", "j", "dim")}
    pair = [read_tensor(fields[role], inside.key(role), files, allowed) for role, allowed in axes.items()]
    for tensor in pair:
        require([*tensor.sizes][-1:] == ["dim"], tensor.place, "the last axis must be dim")
    query, key = pair
    require(query.sizes["dim"] == key.sizes["dim"], inside, "query and key differ in the size of dim")
    names = {*query.sizes, *key.sizes} - {"dim"}
    return Rule(Tree("dot", value=pair), inside, names, 4 + query.sizes["dim"] // 16)
