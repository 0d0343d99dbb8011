"""Formula to text: full operator names and the fewest parentheses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from restrict.errors import ResourceLimit
from restrict.logic.operators import BOOLEAN, LEVEL, MAX_TEXT, RESERVED, SYMBOL, TIGHTEST, Node

if TYPE_CHECKING:
    from restrict.logic.formula import Formula


def quoted(symbol: str) -> str:
    """A symbol in quotes."""
    return "'" + re.sub(r"(['\\])", r"\\\1", symbol) + "'"


def written(symbol: str) -> str:
    """A symbol as :func:`parse` reads it: bare where it is a word, otherwise in quotes."""
    return symbol if re.fullmatch(r"\w+", symbol) and symbol not in RESERVED else quoted(symbol)


def to_text(formula: Formula) -> str:
    """The formula with full operator names and the fewest parentheses; ``parse(to_text(f)) == f``.

    Raises:
        ResourceLimit: beyond 4 million characters: a formula with shared subformulas can be a far larger tree.
    """
    _check_length(formula)
    out: list[str] = []
    stack: list[int | str] = [len(formula.nodes) - 1]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        stack.extend(reversed(_pieces(formula, formula.nodes[item])))
    return "".join(out)


def _pieces(formula: Formula, node: Node) -> list[int | str]:
    """A node as words, with operands still to be written."""
    if not node.args:
        return [written(node.symbol) if node.op == SYMBOL else node.op]
    operands = [_bracketed(formula, node, side) for side in range(len(node.args))]
    if len(operands) == 1:
        return [node.op, " ", *operands[0]]
    return [*operands[0], f" {node.op} ", *operands[1]]


def _bracketed(formula: Formula, node: Node, side: int) -> list[int | str]:
    """An operand, in parentheses where the grammar needs them."""
    inner, index = formula.nodes[node.args[side]].op, node.args[side]
    outer, level = LEVEL.get(node.op, TIGHTEST), LEVEL.get(inner, TIGHTEST)
    chains = node.op == inner and node.op in BOOLEAN and side == (node.op == "implies")
    return [index] if level > outer or (level == outer == TIGHTEST) or chains else ["(", index, ")"]


def _check_length(formula: Formula) -> None:
    lengths: list[int] = []
    for node in formula.nodes:
        lengths.append(len(node.op) + 2 + len(node.symbol) + sum(2 + lengths[a] for a in node.args))
    if lengths[-1] > MAX_TEXT:
        raise ResourceLimit(
            f"the formula would have more than {MAX_TEXT} characters written out; its size is in 'nodes'"
        )
