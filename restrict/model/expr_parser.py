"""Text to expression, by the grammar of docs/format.md, read by the trusted checker's parser
(:mod:`restrict.checker.rules`). Python never sees the text. Length and height are bounded, so that no file can exhaust
the stack."""

import re
from collections.abc import Iterator
from itertools import pairwise

from restrict.base.errors import ModelError, ResourceLimit, quote
from restrict.checker.account import READING, Meter, Place, Reject
from restrict.checker.rules import EXPRESSION_CHARACTERS, RESERVED, Parser, Tree
from restrict.model.expr import HASH_SEED, Expr, balanced, const, name

MAX_HASHED = 200
"""Arguments of all hashes of an expression; the checker takes any number."""
MAX_NODES = 1 << 16
"""Operands in the middle of a chain count twice, so chains within chains double what is evaluated."""
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
"""The sign of each comparison."""
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "//", "mod": "%"} | COMPARED
"""The sign of each operator between two operands that is written with one."""
_OPS = {sign: op for op, sign in SIGNS.items()}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES = frozenset("nijqk")
"""Reserved words that are names of numbers."""


def parse(text: str, allowed: frozenset[str]) -> Expr:
    """Parse an expression. ``text``: the expression, at most 10 000 characters. Gives the tree, at most 50 high."""
    if len(text) > EXPRESSION_CHARACTERS:
        raise ModelError(f"the expression has {len(text)} characters; the limit is {EXPRESSION_CHARACTERS}")
    expr = _expr(_tree(text, allowed))
    waiting, count = [expr], 0
    while waiting:
        waiting.extend(waiting.pop().args)
        if (count := count + 1) > MAX_NODES:
            raise ResourceLimit(f"the expression {quote(text)} has more than {MAX_NODES} parts")
    return expr


def _tree(text: str, allowed: frozenset[str]) -> Tree:
    """The checker's tree of a text."""
    try:
        tree = Parser(text, Place("", ""), allowed, Meter(READING)).tree
    except Reject as reject:
        reason, words = str(reject).removeprefix(f"{Place('', '')}: "), _WORD.findall(text)
        unknown = [word for word in words if word not in allowed and (word not in RESERVED or word in _NAMES)]
        if unknown and "unknown name" in reason:
            known = ", ".join(sorted(allowed))
            raise ModelError(f"unknown name {quote(unknown[0])} in {quote(text)}; here one may use {known}") from None
        raise ModelError(f"the expression {quote(text)} does not parse: {reason}") from None
    if sum(len(part.args) for part in _parts(tree) if part.op == "hash") > MAX_HASHED:
        raise ResourceLimit(f"the expression {quote(text)} hashes more than {MAX_HASHED} arguments")
    return tree


def _parts(tree: Tree) -> Iterator[Tree]:
    """A tree and all that it consists of."""
    yield tree
    for arg in tree.args:
        yield from _parts(arg)


def _expr(tree: Tree) -> Expr:
    """An expression from the checker's tree."""
    if tree.op in ("int", "name"):
        return const(tree.value) if tree.op == "int" else name(tree.value)
    args = [_expr(arg) for arg in tree.args]
    if tree.op in COMPARED.values() or tree.op == "chain":
        links = zip(tree.value, pairwise(args), strict=True)
        return balanced("and", [Expr(_OPS[sign], pair) for sign, pair in links])
    if tree.op in ("min", "max"):
        return balanced(tree.op, args)
    if tree.op == "if":
        value, condition, other = args
        return Expr("select", (condition, value, other))
    if tree.op == "hash":
        state = const(HASH_SEED - 2**64)
        for arg in args:
            state = Expr("mix", (state, arg))
        return Expr("fin", (state,))
    if tree.op == "neg":
        return Expr("sub", (const(0), *args))
    return Expr(_OPS.get(tree.op, tree.op), tuple(args))
