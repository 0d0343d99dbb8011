"""Formula to text: full operator names and the fewest parentheses."""

import re
from typing import Protocol

from restrict.base.errors import ResourceLimit
from restrict.logic.counting import Inequality, NumericalPredicate
from restrict.logic.operators import BOOLEAN, LEVEL, MAX_TEXT, NULLARY, RESERVED, SYMBOL, TIGHTEST, Node


class Nodes(Protocol):
    """What is printed of a formula: its nodes, each after its operands."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The last is the formula itself."""


def quoted(symbol: str) -> str:
    """A symbol between single quotes; quotes and backslashes in it are escaped."""
    return "'" + re.sub(r"(['\\])", r"\\\1", symbol) + "'"


def written(symbol: str) -> str:
    """A symbol, not empty, as :func:`parse` reads it: bare where it is a word and no operator, otherwise in quotes."""
    return symbol if re.fullmatch(r"\w+", symbol) and symbol not in RESERVED else quoted(symbol)


def to_text(formula: Nodes) -> str:
    """The formula with full operator names and the fewest parentheses. Result: a text with ``parse(to_text(f)) == f``.
    Cost linear in the text."""
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


def shortened(formula: Nodes, most: int) -> str:
    """The text, cut off where it is longer than ``most``; shared parts can make it longer than may be written."""
    try:
        text = to_text(formula)
    except ResourceLimit:
        return "a formula too long to write"
    return text if len(text) <= most else text[: most - 3] + "..."


def _pieces(formula: Nodes, node: Node) -> list[int | str]:
    """A node as words, with operands still to be written."""
    if isinstance(node.detail, Inequality):
        return _inequality(formula, node, node.detail)
    if isinstance(node.detail, NumericalPredicate):
        argument = _count(formula, node.args[0], node.detail.direction) if node.args else ["position"]
        return [f"{{{node.detail.text}}}(", *argument, ")"]
    if not node.args:
        return [written(node.symbol) if node.op == SYMBOL else node.op]
    operands = [_bracketed(formula, node, side) for side in range(len(node.args))]
    if len(operands) == 1:
        return [node.op, " ", *operands[0]]
    return [*operands[0], f" {node.op} ", *operands[1]]


def _bracketed(formula: Nodes, node: Node, side: int) -> list[int | str]:
    """An operand, in parentheses where the grammar needs them."""
    inner, index = formula.nodes[node.args[side]].op, node.args[side]
    outer, level = LEVEL.get(node.op, TIGHTEST), LEVEL.get(inner, TIGHTEST)
    chains = node.op == inner and node.op in BOOLEAN and side == (node.op == "implies")
    return [index] if level > outer or (level == outer == TIGHTEST) or chains else ["(", index, ")"]


def _count(formula: Nodes, index: int, direction: str) -> list[int | str]:
    """A count; the grammar takes a symbol, a constant or parentheses after its name."""
    bare = formula.nodes[index].op in (SYMBOL, *NULLARY)
    return [f"#{direction} ", *((index,) if bare else ("(", index, ")"))]


def _inequality(formula: Nodes, node: Node, detail: Inequality) -> list[int | str]:
    """Positive weights to the left of the sign, negative ones to the right."""
    sides: tuple[list[int | str], list[int | str]] = ([], [])
    for argument, weight, direction in zip(node.args, detail.weights, detail.directions, strict=True):
        side = sides[weight < 0]
        side += [" + "] if side else []
        side += [f"{abs(weight)} * "] if abs(weight) > 1 else []
        side += _count(formula, argument, direction)
    left = detail.constant > 0 or (detail.constant == 0 and not sides[0])
    for number, side in enumerate(sides):
        if number == (not left) and (detail.constant or not side):
            side += [f"{' + ' if side else ''}{abs(detail.constant)}"]
        elif not side:
            side += ["0"]
    return [*sides[0], f" {detail.relation} ", *sides[1]]


def _check_length(formula: Nodes) -> None:
    lengths: list[int] = []
    for node in formula.nodes:
        own = len(node.op) + len(node.symbol)
        if isinstance(node.detail, NumericalPredicate):  # at least the characters that a node adds to its operands'
            own += len(node.detail.text) + 20
        elif node.detail is not None:
            own += 30 * (len(node.detail.weights) + 1)
        lengths.append(own + 2 + sum(2 + lengths[a] for a in node.args))
    if lengths[-1] > MAX_TEXT:
        raise ResourceLimit(
            f"the formula would have more than {MAX_TEXT} characters written out; its size is in 'nodes'"
        )
