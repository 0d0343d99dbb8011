"""Formulas of linear temporal logic with past and future: the operators, and formulas as straight-line programs.

A formula is true or false at each position of a non-empty word. ``i`` is that position, ``phi`` and ``psi`` are the
operands; docs/logic.md has the same list.

- past, reflexive: ``phi since psi`` is "psi at some j <= i, and phi on (j, i]"; strict: "psi at some j < i, and phi
  on (j, i)" (Kamp 1968). ``until`` is the mirror image: "psi at some j >= i, and phi on [i, j)".
- ``weak since`` also holds where phi holds at every ``j`` that counts; ``trigger`` and ``strong trigger`` are the duals
  of ``since`` and ``weak since``: ``phi trigger psi = not (not phi since not psi)``; ``release`` mirrors ``trigger``.
- ``once``, ``historically``, ``eventually``, ``always`` are the unary cases. ``previous`` is false at position 0 and
  ``next`` at the last one; their ``weak`` versions are true there.

A :class:`Formula` is a tuple of nodes, each with the indices of its operands, every node once (hash-consing) and the
root last. So there is no recursion anywhere in this package: a formula may be nested as deeply as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from restrict.base.errors import UsageError, quote
from restrict.logic.counting import Inequality, NumericalPredicate, mirrored
from restrict.logic.operators import ARITY, COUNTING, MIRROR, NULLARY, OPERATORS, SYMBOL, Node
from restrict.logic.printer import to_text


@dataclass(frozen=True, repr=False)
class Formula:
    """A formula; ``nodes`` come before their users, and the last is the formula itself.

    Two formulas are equal exactly if they are the same tree (``a and b`` is not ``b and a``). Built by
    :func:`restrict.logic.parse`, :func:`atom`, :func:`apply` and the operators ``~ & | ^ >>`` (not, and, or, xor,
    implies). ``repr`` and ``str`` give text that :func:`restrict.logic.parse` reads back.
    """

    nodes: tuple[Node, ...]

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that the formula names, sorted."""
        return tuple(sorted({node.symbol for node in self.nodes if node.op == SYMBOL}))

    @cached_property
    def temporal(self) -> int:
        """The number of different subformulas whose operator is temporal."""
        return sum(node.op in MIRROR and node.op not in NULLARY for node in self.nodes)

    @cached_property
    def depth(self) -> int:
        """The largest number of temporal and counting operators on a path (``first`` and ``last`` count as one)."""
        depths: list[int] = []
        for node in self.nodes:
            own = node.op in MIRROR or node.op in COUNTING
            depths.append(own + max((depths[a] for a in node.args), default=0))
        return depths[-1]

    @cached_property
    def counting(self) -> int:
        """The number of different inequalities of counts and numerical predicates."""
        return sum(node.op in COUNTING for node in self.nodes)

    def check_over(self, alphabet: Sequence[str]) -> None:
        """Refuse a formula that names another symbol than those of an alphabet."""
        unknown = [symbol for symbol in self.symbols if symbol not in set(alphabet)]
        if unknown:
            shown = " ".join(alphabet)[:80]
            raise UsageError(f"the formula names {quote(unknown[0])}, which is not in the alphabet {shown}")

    def mirror(self) -> Formula:
        """The formula that holds at position ``n-1-i`` of the reversed word where this one holds at ``i``."""
        return Formula(
            tuple(
                replace(v, op=MIRROR.get(v.op, v.op), detail=None if v.detail is None else mirrored(v.detail))
                for v in self.nodes
            )
        )

    def __invert__(self) -> Formula:
        return apply("not", self)

    def __and__(self, other: Formula) -> Formula:
        return apply("and", self, other)

    def __or__(self, other: Formula) -> Formula:
        return apply("or", self, other)

    def __xor__(self, other: Formula) -> Formula:
        return apply("xor", self, other)

    def __rshift__(self, other: Formula) -> Formula:
        return apply("implies", self, other)

    def __str__(self) -> str:
        return to_text(self)

    def __repr__(self) -> str:
        text = str(self)
        return f"Formula({text if len(text) <= 100 else text[:97] + '...'})"


class Builder:
    """Makes nodes, each different one once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    def add(
        self, op: str, args: Iterable[int] = (), symbol: str = "", detail: Inequality | NumericalPredicate | None = None
    ) -> int:
        """The index of a node, new or known. ``op``: an operator's full name, or ``SYMBOL`` with its symbol; ``args``:
        indices; ``detail``: what ``COMPARE`` and ``PREDICATE`` ask of the counts."""
        node = Node(op, tuple(args), symbol, detail)
        if node not in self._index:
            self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return self._index[node]

    def include(self, formula: Formula) -> int:
        """The index of a formula's root, its nodes added where they are new. Linear in its nodes."""
        at: list[int] = []
        for node in formula.nodes:
            at.append(self.add(node.op, (at[a] for a in node.args), node.symbol, node.detail))
        return at[-1]

    def formula(self, root: int) -> Formula:
        """The formula at a node, without the nodes that it does not use, in the order of its text. Linear."""
        order: dict[int, int] = {}
        stack = [(root, False)]
        while stack:
            index, done = stack.pop()
            if done:
                order.setdefault(index, len(order))
            elif index not in order:
                stack.append((index, True))
                stack.extend((a, False) for a in reversed(self.nodes[index].args))
        nodes = [self.nodes[index] for index in order]
        return Formula(tuple(replace(v, args=tuple(order[a] for a in v.args)) for v in nodes))


def atom(symbol: str) -> Formula:
    """The formula that holds where the word has this symbol."""
    if not isinstance(symbol, str) or not symbol:
        raise UsageError(f"{quote(symbol)} is not a symbol: a non-empty string is needed")
    return Formula((Node(SYMBOL, (), symbol),))


def apply(op: str, *operands: Formula) -> Formula:
    """An operator on its operands. ``op``: its full name (see :data:`OPERATORS`)."""
    if op not in ARITY or op == SYMBOL:
        raise UsageError(f"{quote(op)} is not an operator; operators are {', '.join(OPERATORS)}")
    if len(operands) != ARITY[op]:
        raise UsageError(f"the operator {op!r} takes {ARITY[op]} operands, not {len(operands)}")
    builder = Builder()
    return builder.formula(builder.add(op, [builder.include(f) for f in operands]))
