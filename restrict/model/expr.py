"""Integer expressions as trees, and folding (docs/format.md).

:mod:`restrict.model.expr_parser` reads them from text, which Python never sees; :mod:`restrict.model.interval` bounds
them; :mod:`restrict.model.code` compiles them. Tables and dot products join the same tree as ``gather`` nodes, so there
is one evaluator for all of them: the register machine of :mod:`restrict.kernels.machine`. ``hash(a, b)`` is kept as
``fin(mix(mix(seed, a), b))``, so folding the known arguments of a row leaves only the last few mixing steps to the
inner loop.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from restrict.base.arrays import I64

Interval = tuple[int, int]

HASH_SEED, HASH_MULTIPLIER = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
_MASK64 = 2**64 - 1


@dataclass(frozen=True)
class Expr:
    """A node: ``const`` (value), ``name`` (text), ``gather`` (payload: flat table, one index), or an operator. The free
    ``names`` and the hash are made once, bottom up: trees are compared and searched often. ``code`` keeps what
    :func:`restrict.model.code.code_of` compiled."""

    op: str
    args: "tuple[Expr, ...]" = ()
    value: int = 0
    text: str = ""
    payload: "Payload | None" = None
    names: frozenset[str] = field(init=False, repr=False, compare=False)
    code: Any = field(init=False, repr=False, compare=False, default=None)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = frozenset[str]().union(*[a.names for a in self.args]) if self.op != "name" else frozenset((self.text,))
        object.__setattr__(self, "names", names)
        parts = (self.op, self.value, self.text, id(self.payload), *[a._hash for a in self.args])
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again in another process, where texts have other hashes and tables other identities."""
        return Expr, (self.op, self.args, self.value, self.text, self.payload)


@dataclass(frozen=True, eq=False, slots=True)
class Payload:
    """A flat table behind ``gather`` nodes; compared by identity, so a shared table is stored once."""

    flat: I64

    def bounds(self) -> Interval:
        """Least and greatest entry. Cost linear in the table."""
        return int(self.flat.min()), int(self.flat.max())


@lru_cache(maxsize=4096)
def const(value: int) -> Expr:
    """A literal."""
    return Expr("const", value=value)


@lru_cache(maxsize=4096)
def name(text: str) -> Expr:
    """A free name."""
    return Expr("name", text=text)


def balanced(op: str, args: list[Expr]) -> Expr:
    """An associative operator on many operands, as a tree of logarithmic height, so that no width exhausts the stack.
    ``args``: at least one operand. Gives the tree; the operand itself where there is one only. Nothing is folded."""
    while len(args) > 1:
        pairs = [Expr(op, (a, b)) for a, b in zip(args[::2], args[1::2], strict=False)]
        args = pairs + args[2 * len(pairs) :]
    return args[0]


def fold_hashes(expr: Expr) -> Expr:
    """The tree with the hashes of constants replaced by their values, and nothing else. Interval analysis goes before
    it: there a hash may have any value (docs/format.md). Cost linear in the tree."""
    if not expr.args:
        return expr
    args = tuple(fold_hashes(a) for a in expr.args)
    if expr.op in ("mix", "fin") and all(a.op == "const" for a in args):
        return fold_node(expr.op, args)
    return expr if args == expr.args else Expr(expr.op, args, payload=expr.payload)


def signed(value: int) -> int:
    """An integer modulo 2^64 as a signed 64-bit integer. Gives -2^63 .. 2^63-1."""
    value &= _MASK64
    return value - 2**64 if value >> 63 else value


def hash_mix(state: int, argument: int) -> int:
    """One mixing step. Gives the new state, a signed 64-bit integer."""
    mixed = (((state ^ argument) & _MASK64) * HASH_MULTIPLIER) & _MASK64
    return signed(mixed ^ (mixed >> 32))


def hash_fin(state: int) -> int:
    """The final step. Gives the hash, 0 .. 2^63-1."""
    mixed = ((state & _MASK64) * HASH_MULTIPLIER) & _MASK64
    return (mixed ^ (mixed >> 32)) >> 1


HashPrefix = tuple[int, tuple[int | str, ...]]
"""What ``hash(a, b, ..., j, k)`` mixes before ``j``: the state after the leading numbers, then numbers and names."""


def hash_prefix(expr: Expr) -> HashPrefix | None:
    """The part of a score ``hash(..., j, k)`` that a row knows. Gives what is mixed before ``j``; ``None`` unless that
    is numbers, ``i`` and ``q`` only, and ``j`` and ``k`` follow."""
    match expr:
        case Expr("fin", (Expr("mix", (Expr("mix", (inner, Expr("name", text="j"))), Expr("name", text="k"))),)):
            pass
        case _:
            return None
    mixed: list[int | str] = []
    while inner.op == "mix":
        inner, argument = inner.args
        if argument.op != "const" and argument not in (name("i"), name("q")):
            return None
        mixed.append(argument.value if argument.op == "const" else argument.text)
    return (inner.value, tuple(reversed(mixed))) if inner.op == "const" else None


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
    """Replace names by expressions and fold constants. Linear in the parts of the tree that read a known name."""
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


def table(flat: I64, shape: tuple[int, ...], axes: list[Expr]) -> Expr:
    """The entry of a row-major table at some index expressions. ``flat``: int64, shape (product of ``shape``,);
    ``axes``: the index on every axis, as many as ``shape`` has sizes; each must stay below its size."""
    index, stride = const(0), 1
    for size, axis in zip(reversed(shape), reversed(axes), strict=True):
        index = fold_node("add", (index, fold_node("mul", (const(stride), axis))))
        stride *= size
    return fold_gather(Payload(flat), index)
