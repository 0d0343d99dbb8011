"""What a map or a score is: an expression, a table or a dot product, each with intervals, evaluation and a price.

Expressions are parsed by precedence, analysed by intervals before anything is evaluated (so that no value that occurs
leaves 64 bits, no divisor is 0 and no root is negative), and evaluated by partial evaluation: known names are replaced
and folded, what is left is a function of a tuple. The meaning is that of docs/format.md.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from .read import LARGEST, LEAST, Meter, Place, anything, malformed, record, short, shown, string
from .tensors import Files, read_tensor

EXPRESSION_CHARACTERS = 10_000
EXPRESSION_DEPTH = 50
TABLE = {"table": anything}
DOT = {"dot": {"query": anything, "key": anything}}

Span = tuple[int, int]
Fn = Callable[[tuple[int, ...]], int]
Bound = int | Fn  # an expression after substitution: a number, or a function of the names that are left


class Rule(Protocol):
    """``names`` are those it mentions, ``size`` is the cost of ``bind``."""

    names: set[str]
    size: int

    def fit(self, sizes: Mapping[str, int]) -> Span:
        """The values lie in this interval if each name is below its size (and ``n`` is ``n``); refuses overflow."""

    def price(self, moving: Collection[str]) -> int:
        """The steps of one value, once all names but these are known."""

    def bind(self, known: Mapping[str, int], slots: Mapping[str, int]) -> Bound: ...


# ---------------------------------------------------------------- parsing

TOKEN = re.compile(
    r"[ \t\n]*(?:(?P<int>[0-9]+)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>==|!=|<=|>=|//|[-+*%<>(),])|(?P<end>\Z))"
)
WORDS = ("and", "or", "not", "if", "else")
FUNCTIONS = {"min": (2, LARGEST), "max": (2, LARGEST), "abs": (1, 1), "isqrt": (1, 1), "hash": (1, LARGEST)}
RESERVED = {"n", "i", "j", "q", "k", *WORDS, *FUNCTIONS}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LEVELS = {"if": 0, "or": 1, "and": 2, **dict.fromkeys(COMPARISONS, 4), "+": 5, "-": 5, "*": 6, "//": 6, "%": 6}
NOT, SUM, UNARY = 3, 5, 7


class Tree(NamedTuple):
    """``op`` is an operator, a function, ``int``, ``name``, ``neg``, ``if`` or ``chain``; ``value`` is the number, the
    name or the signs of a chain."""

    op: str
    args: tuple[Tree, ...] = ()
    value: Any = 0
    height: int = 1


class Parser:
    """The grammar of docs/format.md, by precedence."""

    def __init__(self, text: str, place: Place, names: Collection[str], meter: Meter) -> None:
        self.place, self.names = place, names
        if len(text) > EXPRESSION_CHARACTERS:
            malformed(place, "an expression has at most 10000 characters")
        self.tokens = list(self.split(text))
        meter.read(8 * len(self.tokens))
        meter.hold(200 * len(self.tokens))
        self.at = self.depth = 0
        self.tree = self.parse(0)
        self.expect("")

    def split(self, text: str) -> Iterator[str]:
        """The tokens of the text; the last one is empty."""
        at = 0
        kind = ""
        while kind != "end":
            if not (token := TOKEN.match(text, at)):
                malformed(self.place, f"no token at character {at}: " + shown(text[at : at + 60]))
            kind, at = str(token.lastgroup), token.end()
            yield token[kind]

    def take(self) -> str:
        """The next token, which is then behind us."""
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, text: str) -> None:
        """Take the next token, which must be this one."""
        if (found := self.take()) != text:
            malformed(self.place, f"expected {text or 'the end'} but found {shown(found) if found else 'the end'}")

    def level(self, depth: int) -> None:
        """Refuse what is nested more than 50 deep."""
        if depth > EXPRESSION_DEPTH:
            malformed(self.place, "an expression is nested at most 50 deep")

    def node(self, op: str, *args: Tree, value: Any = 0) -> Tree:
        """A tree over these arguments, with its height."""
        height = 1 + max(arg.height for arg in args)
        self.level(height)
        return Tree(op, args, value, height)

    def nested(self, level: int) -> Tree:
        """One level deeper, counted on the way down so that the parser's own stack is bounded."""
        self.depth += 1
        self.level(self.depth)
        tree = self.parse(level)
        self.depth -= 1
        return tree

    def parse(self, level: int) -> Tree:
        """An operand and the operators after it that bind at least as tightly as ``level``."""
        tree = self.operand(level)
        while (binding := LEVELS.get(self.tokens[self.at], -1)) >= level:
            sign = self.take()
            if sign == "if":
                condition = self.parse(1)
                self.expect("else")
                tree = self.node("if", tree, condition, self.nested(0))
            elif sign in COMPARISONS:
                tree = self.comparison(tree, sign)
            else:
                tree = self.node(sign, tree, self.parse(binding + 1))
        return tree

    def comparison(self, first: Tree, sign: str) -> Tree:
        """One comparison, or a chain of them such as ``a < b < c``."""
        signs, operands = [sign], [first, self.parse(SUM)]
        while self.tokens[self.at] in COMPARISONS:
            signs.append(self.take())
            operands.append(self.parse(SUM))
        return self.node("chain" if len(signs) > 1 else sign, *operands, value=tuple(signs))

    def operand(self, level: int) -> Tree:
        """A name, a number, a call, a parenthesis, or a prefix operator with its operand."""
        text = self.take()
        if text in self.names:
            return Tree("name", value=text)
        if text[:1].isdigit():
            return Tree("int", value=self.number(text))
        if text == "-":
            return self.node("neg", self.nested(UNARY))
        if text == "not" and level <= NOT:
            return self.node("not", self.nested(NOT))
        if text == "(":
            tree = self.nested(0)
            self.expect(")")
            return tree
        if text in FUNCTIONS:
            return self.call(text)
        if text in WORDS or not text.isidentifier():
            malformed(self.place, f"expected a value but found {shown(text) if text else 'the end'}")
        malformed(self.place, "unknown name: " + short(text))

    def number(self, text: str) -> int:
        """An integer below 2^63 in decimal digits."""
        if len(text) > 19 or int(text) > LARGEST or (text[0] == "0" and text != "0"):
            malformed(self.place, "an integer has no leading zero and is at most 2^63-1: " + short(text))
        return int(text)

    def call(self, name: str) -> Tree:
        """The arguments of a function, in parentheses."""
        self.expect("(")
        args = [self.nested(0)]
        while self.tokens[self.at] == ",":
            self.take()
            args.append(self.nested(0))
        self.expect(")")
        least, most = FUNCTIONS[name]
        if not least <= len(args) <= most:
            malformed(self.place, f"wrong number of arguments of {name}")
        return self.node(name, *args)


def mentioned(tree: Tree) -> set[str]:
    """The names that occur in a tree."""
    return {tree.value} if tree.op == "name" else set().union(*map(mentioned, tree.args))


# ---------------------------------------------------------------- intervals


def interval(tree: Tree, spans: Mapping[str, Span], place: Place) -> Span:
    """An interval that holds every value of the tree; refuses what might overflow, divide by 0 or have no root."""
    if tree.op == "int":
        return tree.value, tree.value
    if tree.op == "name":
        return spans[tree.value]
    low, high = span_of(tree.op, [interval(arg, spans, place) for arg in tree.args], place)
    if low < LEAST or high > LARGEST:
        malformed(place, f"{tree.op} overflows 64 bits at this n")
    return low, high


def span_of(op: str, args: list[Span], place: Place) -> Span:
    """The interval of one operation from those of its arguments."""
    (low, high), last = args[0], args[-1]
    if op in ("//", "%") and last[0] <= 0 <= last[1]:
        malformed(place, f"the divisor of {op} may be 0 at this n")
    if op == "isqrt" and low < 0:
        malformed(place, "the argument of isqrt may be negative at this n")
    if op in ("+", "-", "*", "//"):
        ends = [APPLY[op](a, b) for a in args[0] for b in last]
        return min(ends), max(ends)
    if op == "%":
        if last[1] < 0:
            return last[0] + 1, 0
        return args[0] if low >= 0 and high < last[0] else (0, last[1] - 1)
    if op in ("min", "max", "isqrt"):
        return APPLY[op](*(a for a, _ in args)), APPLY[op](*(b for _, b in args))
    if op == "neg":
        return -high, -low
    if op == "abs":
        return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
    if op == "if":
        return min(low, last[0]), max(high, last[1])
    return (0, LARGEST) if op == "hash" else (0, 1)


# ---------------------------------------------------------------- evaluation by partial evaluation

BITS = (1 << 64) - 1
SEED, MULTIPLIER = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def absorb(state: int, argument: int) -> int:
    """One round of ``hash`` (docs/format.md), on 64 bits."""
    state = ((state ^ (argument & BITS)) * MULTIPLIER) & BITS
    return state ^ (state >> 32)


APPLY: dict[str, Callable[..., int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "neg": operator.neg,
    "min": min,
    "max": max,
    "abs": abs,
    "isqrt": math.isqrt,
    "and": lambda a, b: 1 if a and b else 0,
    "or": lambda a, b: 1 if a or b else 0,
    "not": lambda a: 0 if a else 1,
    # The plus makes an integer of a truth value.
    "==": lambda a, b: +(a == b),
    "!=": lambda a, b: +(a != b),
    "<": lambda a, b: +(a < b),
    "<=": lambda a, b: +(a <= b),
    ">": lambda a, b: +(a > b),
    ">=": lambda a, b: +(a >= b),
}


def bind(tree: Tree, known: Mapping[str, int], slots: Mapping[str, int]) -> Bound:
    """The tree with the known names replaced by numbers and folded: a function of a tuple that holds the other names.

    Both branches of a conditional are sound to fold: interval analysis has shown that nothing in them can fail.
    """
    if tree.op == "int":
        return int(tree.value)
    if tree.op == "name":
        return known[tree.value] if tree.value in known else operator.itemgetter(slots[tree.value])
    parts = [bind(arg, known, slots) for arg in tree.args]
    if tree.op == "if":
        return bind_choice(*parts)
    if tree.op == "hash":
        return bind_hash(parts, [slots.get(arg.value, -1) if arg.op == "name" else -1 for arg in tree.args])
    if tree.op == "chain":
        tests = [APPLY[sign] for sign in tree.value]
        return lift(lambda *v: +all(test(a, b) for test, a, b in zip(tests, v, v[1:], strict=False)), parts)
    return lift(APPLY[tree.op], parts)


def function(part: Bound) -> Fn:
    """A number as a constant function; a function as it is."""
    return (lambda _: part) if isinstance(part, int) else part


def lift(op: Callable[..., int], parts: list[Bound]) -> Bound:
    """An operation on numbers as one on functions; folded where all arguments are numbers."""
    if all(isinstance(part, int) for part in parts):
        return op(*parts)
    if len(parts) == 2 and isinstance(parts[1], int):
        first, constant = function(parts[0]), parts[1]
        return lambda e: op(first(e), constant)
    functions = [function(part) for part in parts]
    if len(functions) == 2:
        first, second = functions
        return lambda e: op(first(e), second(e))
    return lambda e: op(*[f(e) for f in functions])


def bind_choice(yes: Bound, condition: Bound, no: Bound) -> Bound:
    """A conditional; folded where its condition is a number."""
    if isinstance(condition, int):
        return yes if condition else no
    then, test, otherwise = function(yes), condition, function(no)
    return lambda e: then(e) if test(e) else otherwise(e)


def bind_hash(parts: list[Bound], slots: list[int]) -> Bound:
    """``hash`` with its constant prefix absorbed once; ``slots`` says which arguments are bare names (else -1).

    Random models score with ``hash(..., i, q, j, k)``, so a suffix of two bare names is the hot loop of a check.
    """
    state, count = SEED, 0
    while count < len(parts) and isinstance(part := parts[count], int):
        state, count = absorb(state, part), count + 1
    if count == len(parts):
        return absorb(state, 0) >> 1
    if len(parts) - count == 2 and min(slots[count:]) >= 0 and not isinstance(parts[-1], int):
        return hash_two(state, slots[-2], slots[-1])
    functions = [function(part) for part in parts[count:]]

    def hashed(e: tuple[int, ...]) -> int:
        h = state
        for f in functions:
            h = ((h ^ (f(e) & BITS)) * MULTIPLIER) & BITS
            h ^= h >> 32
        return absorb(h, 0) >> 1

    return hashed


def hash_two(state: int, first: int, second: int) -> Fn:
    """Two arguments absorbed and the end, written out; names are never negative."""

    def hashed(e: tuple[int, ...]) -> int:
        h = ((state ^ e[first]) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
        h = ((h ^ (h >> 32) ^ e[second]) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
        h = ((h ^ (h >> 32)) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
        return (h ^ (h >> 32)) >> 1

    return hashed


def weigh(tree: Tree, moving: Collection[str]) -> int:
    """The time of one value, in units of about 50 nanoseconds; 0 for what is folded."""
    if not tree.args:
        return +(tree.op == "name" and tree.value in moving)
    weights = [weigh(arg, moving) for arg in tree.args]
    if not any(weights):
        return 0
    if tree.op == "hash" and not any(weights[:-2]) and weights[-2:] == [1, 1]:
        return 7
    each = {"hash": 8, "chain": 5}.get(tree.op, 1)
    return 3 + each * len(weights) + sum(weights)


# ---------------------------------------------------------------- the three kinds


class Expression:
    """A rule given as an expression."""

    def __init__(self, value: Any, place: Place, names: Collection[str], meter: Meter) -> None:
        self.place = place
        parser = Parser(string(value, place), place, names, meter)
        self.tree, self.size = parser.tree, len(parser.tokens)
        self.names = mentioned(self.tree)

    def fit(self, sizes: Mapping[str, int]) -> Span:
        """The interval of its values (:func:`interval`); refuses overflow."""
        spans = {name: (sizes[name] if name == "n" else 0, sizes[name] - (name != "n")) for name in self.names}
        return interval(self.tree, spans, self.place)

    def price(self, moving: Collection[str]) -> int:
        """The steps of one value, by the operations on names that are not known."""
        return 1 + weigh(self.tree, moving) // 8

    def bind(self, known: Mapping[str, int], slots: Mapping[str, int]) -> Bound:
        """The expression with the known names folded in (:func:`bind`)."""
        return bind(self.tree, known, slots)


class Table:
    """A rule given as a tensor with an axis for each name."""

    def __init__(self, value: Any, place: Place, names: Collection[str], files: Files) -> None:
        fields = record(value, TABLE, place)
        self.tensor = read_tensor(fields["table"], place.key("table"), files, names)
        self.names, self.size = set(self.tensor.axes), 1 + len(self.tensor.axes)

    def fit(self, sizes: Mapping[str, int]) -> Span:
        """The interval of its entries; refuses axes that do not fit the sizes."""
        self.tensor.fit(sizes)
        return self.tensor.entries.span

    def price(self, moving: Collection[str]) -> int:
        """The steps of one look-up."""
        return 1 + len(self.names.intersection(moving)) // 3

    def bind(self, known: Mapping[str, int], slots: Mapping[str, int]) -> Bound:
        """The entry, or a look-up by the names that are not known."""
        data, at = self.tensor.data, self.tensor.locate(known, slots)
        return data[at] if isinstance(at, int) else lambda e: data[at(e)]


class Dot:
    """A score given as a dot product of a query row and a key row."""

    def __init__(self, value: Any, place: Place, files: Files) -> None:
        inside = place.key("dot")
        fields = record(value, DOT, place)["dot"]
        self.query = read_tensor(fields["query"], inside.key("query"), files, ("q", "i", "dim"))
        self.key = read_tensor(fields["key"], inside.key("key"), files, ("k", "j", "dim"))
        for tensor in (self.query, self.key):
            if tensor.axes[-1:] != ["dim"]:
                malformed(tensor.place, "the last axis must be dim")
        if self.query.sizes[-1] != self.key.sizes[-1]:
            malformed(inside, "query and key differ in the size of dim")
        self.dim, self.place = self.query.sizes[-1], inside
        self.names, self.size = {*self.query.axes, *self.key.axes} - {"dim"}, 4 + self.dim // 16

    def fit(self, sizes: Mapping[str, int]) -> Span:
        """An interval by the largest entries of each column; refuses overflow."""
        self.query.fit(sizes)
        self.key.fit(sizes)
        bound = sum(map(operator.mul, self.query.entries.columns, self.key.entries.columns))
        if bound > LARGEST:
            malformed(self.place, "the dot product overflows 64 bits")
        return -bound, bound

    def price(self, moving: Collection[str]) -> int:
        """The steps of one dot product."""
        return 1 + (3 + self.dim) // 8

    def bind(self, known: Mapping[str, int], slots: Mapping[str, int]) -> Bound:
        """The dot product with the query row picked out; the key row is too where it is known."""
        row, dim, data, multiply = function(self.query.locate(known, slots))(()), self.dim, self.key.data, operator.mul
        at, query = self.key.locate(known, slots), self.query.data[row : row + dim]
        start = function(at)

        def dot(e: tuple[int, ...]) -> int:
            begin = start(e)
            return sum(map(multiply, query, data[begin : begin + dim]))

        return dot(()) if isinstance(at, int) else dot
