"""Which expressions over positions depend on position *classes* only: the lemmas of :mod:`restrict.checker.positions`,
here for a model's expressions and for arrays of points. A refusal names the sub-expression; a window of many distances
is refused earlier, and no number is folded that the model's reader has left open."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, ClassVar, NoReturn

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import quote
from restrict.checker.account import Meter, Place
from restrict.checker.positions import POINTS, Analysis, At, Form
from restrict.checker.rules import Tree
from restrict.model.expr import Expr, name
from restrict.model.expr_parser import SIGNS
from restrict.model.rules import evaluate

REACH = 64
"""A window of more distances would need as many heads, and has too many states for any but the smallest program."""
P, S, P2, S2, DIFFERENCE = range(5)
"""The coordinates of a point: what is to the left and to the right of ``i``, the same of ``j``, and ``j - i``."""
OPERATORS = {sign: op for op, sign in SIGNS.items()}
Points = tuple[I64, I64, I64, I64, I64]


class Declined(Exception):
    """Not order-only: the text says which sub-expression and why."""


class Forms(Analysis):
    """The forms of a model's expressions; ``at`` takes arrays of coordinates, all of one length."""

    reach = REACH
    extremes: ClassVar[dict[str, Callable[..., Any]]] = {"min": np.minimum, "max": np.maximum}

    def __init__(self) -> None:
        super().__init__(Place("the model"), Meter(1 << 60))
        self.here: list[Tree] = []

    def refuse(self, why: str) -> NoReturn:
        """Decline, naming the sub-expression."""
        raise Declined(f"the sub-expression {quote(show(self.here[-1]), 90)} {why}")

    def form(self, tree: Tree, known: dict[str, int]) -> Form:
        """The form of a tree, bottom up."""
        self.here.append(tree)
        if tree.op == "gather":
            self.refuse("is a table over positions, which grows with n")
        found = self.by_operator(tree, known)
        self.here.pop()
        return found

    def operation(self, op: str, count: int) -> Callable[[Sequence[Any]], Any]:
        """An operator on so many arrays."""
        whole = Expr(OPERATORS.get(op, op), tuple(name(f"x{at}") for at in range(count)))

        def apply(values: Sequence[Any]) -> I64:
            flat = [np.ascontiguousarray(v, dtype=np.int64).reshape(-1) for v in values]
            return evaluate(whole, {f"x{at}": v for at, v in enumerate(flat)}, len(flat[0]))

        return apply

    def branch(self, test: At, yes: At, no: At) -> At:
        """One of two, entry by entry."""

        def chosen(point: Any) -> Any:
            return np.where(test(point) != 0, yes(point), no(point))

        return chosen

    def largest(self, form: Form) -> int:
        """The largest absolute value of a form on one block of its classes."""
        size, used = form.threshold + form.period, sorted(form.uses)
        if size ** len(used) > POINTS:
            self.refuse(f"compares positions that are told apart up to {size} on {len(used)} sides")
        mesh = np.meshgrid(*[np.arange(size)] * len(used), indexing="ij") if used else []
        found = values_at(form, points(dict(zip(used, (m.reshape(-1) for m in mesh), strict=True))))
        return int(np.abs(found).max())


def analyse(expr: Expr) -> Form:
    """The form of an expression over ``i``, ``j`` and ``n``. Raises :class:`Declined`. Cost linear in the tree."""
    return Forms().form(tree_of(expr), {})


def truth(expr: Expr) -> Form:
    """The form of "the expression is not 0"."""
    forms, tree = Forms(), tree_of(expr)
    forms.here.append(tree)
    return forms.test("!=", forms.form(tree, {}))


def tree_of(expr: Expr) -> Tree:
    """A model's expression as the checker has it; a hash is a chain of mixing steps on a seed."""
    if expr.op in ("const", "name"):
        return Tree("int", value=expr.value) if expr.op == "const" else Tree("name", value=expr.text)
    args = tuple(map(tree_of, expr.args))
    if expr.op == "select":
        return Tree("if", (args[1], args[0], args[2]))
    return Tree(SIGNS.get(expr.op, expr.op), args)


def show(tree: Tree) -> str:
    """An expression in words, short."""
    if tree.op in ("int", "name"):
        return str(tree.value)
    if tree.op in ("mix", "fin"):
        absorbed: list[str] = []
        while tree.op in ("mix", "fin"):
            absorbed[:0] = [show(a) for a in tree.args[1:]]
            tree = tree.args[0]
        return f"hash({', '.join(absorbed)})"
    shown = [show(a) for a in tree.args]
    if tree.op in OPERATORS or tree.op in ("and", "or"):
        return f"({shown[0]} {tree.op} {shown[1]})"
    return f"({shown[0]} if {shown[1]} else {shown[2]})" if tree.op == "if" else f"{tree.op}({', '.join(shown)})"


def points(columns: dict[int, I64]) -> Points:
    """Points from some of their coordinates, arrays of one length; the others are 0."""
    zero = np.zeros_like(next(iter(columns.values()))) if columns else np.zeros(1, dtype=np.int64)
    p, s, p2, s2, d = (columns.get(c, zero) for c in range(5))
    return p, s, p2, s2, d


def values_at(form: Form, where: Points) -> I64:
    """A form's values at points."""
    at: Any = form.at  # declared for single points
    return np.asarray(at(where), dtype=np.int64)


def grid(*sizes: int) -> list[tuple[int, ...]]:
    """The product of ranges."""
    return list(product(*(range(s) for s in sizes)))
