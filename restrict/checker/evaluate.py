"""Values of rules at lengths of which no intervals are known, for the proofs for all lengths.

A tree becomes functions of the values of its names, one for each node. Python's integers have no limit; what is not
defined somewhere has no value there, and raises an error of arithmetic.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence

from .normal_form import mixed
from .rules import SEED, Tree
from .tensors import Tensor

Values = Sequence[int]
Function = Callable[[Values], int]
OPERATORS: dict[str, Callable[[int, int], int]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod},
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le},
    **{">": operator.gt, ">=": operator.ge},
}
FUNCTIONS: dict[str, Callable[..., int]] = {"abs": abs, "isqrt": math.isqrt, "min": min, "max": max}


def hashed(*values: int) -> int:
    """``hash`` of docs/format.md."""
    state = SEED
    for value in (*values, 0):
        found = mixed(state, value)
        assert isinstance(found, int)
        state = found
    return state >> 1


def price(tree: Tree) -> int:
    """Steps of one value."""
    return 1 + weight(tree) // 4


def weight(tree: Tree) -> int:
    """The nodes of a tree, and more for those that take long."""
    if tree.op == "dot":
        return int(4 + tree.value[0].sizes["dim"] // 4)
    more = {"hash": 6 * len(tree.args), "isqrt": 8}.get(tree.op, 1)
    return more + sum(map(weight, tree.args))


def bound(tree: Tree, known: Mapping[str, int], others: Sequence[str]) -> Function:
    """A function of the values of the other names; the known ones are put in."""
    if tree.op == "int" or (tree.op == "name" and tree.value not in others):
        number = int(tree.value) if tree.op == "int" else known[tree.value]
        return lambda values: number
    if tree.op == "name":
        return operator.itemgetter(others.index(tree.value))
    if tree.op in ("table", "dot"):
        return of_tensors(tree, known, others)
    args = [bound(arg, known, others) for arg in tree.args]
    if tree.op in OPERATORS:
        (a, b), function = args, OPERATORS[tree.op]
        return lambda values: +function(a(values), b(values))
    return of_many(tree, args)


def of_many(tree: Tree, args: list[Function]) -> Function:
    """Prefix operators, those with branches, and functions."""
    first, last = args[0], args[-1]
    if tree.op == "neg":
        return lambda values: -first(values)
    if tree.op == "not":
        return lambda values: +(not first(values))
    if tree.op == "and":
        return lambda values: +all(arg(values) for arg in args)
    if tree.op == "or":
        return lambda values: +any(arg(values) for arg in args)
    if tree.op == "if":
        return lambda values: first(values) if args[1](values) else last(values)
    if tree.op == "chain":
        signs = [OPERATORS[sign] for sign in tree.value]
        return lambda values: chained(signs, args, values)
    function: Callable[..., int] = hashed if tree.op == "hash" else FUNCTIONS[tree.op]
    if len(args) == 1:
        return (lambda values: function(first(values))) if tree.op not in ("min", "max") else first
    return lambda values: function(*(arg(values) for arg in args))


def chained(signs: Sequence[Callable[[int, int], int]], args: Sequence[Function], values: Values) -> int:
    """A chain of comparisons, each operand once: chains within chains would take a time exponential in their depth."""
    before = args[0](values)
    for sign, arg in zip(signs, args[1:], strict=True):
        if not sign(before, after := arg(values)):
            return 0
        before = after
    return 1


def of_tensors(tree: Tree, known: Mapping[str, int], others: Sequence[str]) -> Function:
    """An entry of a table, or a row of one tensor times a row of another one."""

    def index(tensor: Tensor) -> Function:
        outer = [axis for axis in tensor.strides if tree.op == "table" or axis != "dim"]
        parts = [(bound(Tree("name", value=axis), known, others), tensor.strides[axis]) for axis in outer]
        return lambda values: sum(part(values) * stride for part, stride in parts)

    data, at = [tensor.entries.data for tensor in tree.value], [index(tensor) for tensor in tree.value]
    if tree.op == "table":
        return lambda values: data[0][at[0](values)]
    dim = tree.value[0].sizes["dim"]

    def product(values: Values) -> int:
        a, b = (part(values) for part in at)
        return sum(map(operator.mul, data[0][a : a + dim], data[1][b : b + dim]))

    return product
