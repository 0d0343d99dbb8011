"""Unary numerical predicates as position embeddings: an integer expression written as a term in ``i`` and ``n``."""

from restrict.base.errors import UsageError, quote
from restrict.logic.counting import parsed
from restrict.model.expr import Expr
from restrict.model.expr_parser import COMPARED, SIGNS
from restrict.soft.models.terms import MAX_TEXT

_LOGICAL = ("and", "or", "not")


def predicate_term(text: str, argument: str) -> str:
    """A predicate ``text`` in ``x`` and ``n`` as a position embedding of 0 and 1; ``x``: the argument."""
    tree = parsed(text)
    term = _truth(tree, argument)
    if len(term) > MAX_TEXT:
        raise UsageError(
            f"the predicate {quote(text)} is {len(term)} characters long as a term; the limit is {MAX_TEXT}"
        )
    return term


def _truth(node: Expr, x: str) -> str:
    """A term that is 1 where the expression is not 0, and 0 where it is."""
    if node.op in COMPARED:
        return f"({_number(node.args[0], x)}{COMPARED[node.op]}{_number(node.args[1], x)})"
    if node.op == "not":
        return f"(1-{_truth(node.args[0], x)})"
    if node.op in _LOGICAL:
        a, b = (_truth(arg, x) for arg in node.args)
        return f"({a}*{b})" if node.op == "and" else f"(1-(1-{a})*(1-{b}))"
    if node.op == "select":
        test, yes, no = (_truth(arg, x) for arg in node.args)
        return f"({yes} if {test} else {no})"
    return f"({_number(node, x)}!=0)"


def _number(node: Expr, x: str) -> str:
    """A term with the value of the expression."""
    if node.op == "const":
        return str(node.value)
    if node.op == "name":
        return x if node.text == "x" else "n"
    if node.op in COMPARED or node.op in _LOGICAL:
        return _truth(node, x)
    args = [_number(arg, x) for arg in node.args]
    if node.op == "select":
        return f"({args[1]} if {_truth(node.args[0], x)} else {args[2]})"
    if node.op == "abs":
        return f"({args[0]} if {args[0]}>=0 else -{args[0]})"
    if node.op in ("min", "max"):
        return f"({args[0]} if {args[0]}{'<' if node.op == 'min' else '>'}{args[1]} else {args[1]})"
    return f"({args[0]}{SIGNS[node.op]}{args[1]})"
