"""The logics of sections 4.1 to 4.5 of Yang, Strobl, Chiang & Angluin (2024), and the least of them with a formula.

========================  =======  ==========================================================================
fragment                  section  operators besides the Boolean ones
========================  =======  ==========================================================================
``previous-next``         4.1      ``previous``, ``next``, their weak forms, ``first``, ``last``
``since-until``           4.2      ``since``, ``until`` and what they define: ``once``, ``historically``, ...
``temporal``              4.3      both; strict operators are ``previous`` or ``next`` of reflexive ones
``counting``              4.4      inequalities of counts, numerical predicates on positions and counts
``temporal-counting``     4.5      all
========================  =======  ==========================================================================

A formula is *past* when no operator looks to the right: no mirror image, ``last``, ``#future`` or ``#all``. These are
what a future-masked decoder computes.
"""

from dataclasses import dataclass

from restrict.logic.counting import Inequality, NumericalPredicate
from restrict.logic.formula import Formula
from restrict.logic.operators import MIRROR, PAST, Node

NAMES = ("previous-next", "since-until", "temporal", "counting", "temporal-counting")
_NEIGHBOUR = frozenset(("previous", "next", "weak previous", "weak next", "first", "last"))


@dataclass(frozen=True)
class Fragment:
    """The least logic that a formula belongs to; ``future`` names the first operator that looks right, or is empty."""

    name: str
    future: str

    @property
    def past(self) -> bool:
        """Whether nothing looks to the right."""
        return not self.future


def fragment(formula: Formula) -> Fragment:
    """The least fragment with a formula. Result: its fragment; a Boolean formula belongs to the first one. Linear."""
    neighbour = any(node.op in _NEIGHBOUR or node.op.startswith("strict ") for node in formula.nodes)
    since = any(node.op in MIRROR and node.op not in _NEIGHBOUR for node in formula.nodes)
    temporal = "temporal" if neighbour and since else "since-until" if since else "previous-next"
    future = next((found for found in map(_future, formula.nodes) if found), "")
    if not formula.counting:
        return Fragment(temporal, future)
    return Fragment("temporal-counting" if neighbour or since else "counting", future)


def _future(node: Node) -> str:
    """What looks right in a node."""
    if isinstance(node.detail, Inequality):
        return next((f"#{d}" for d in node.detail.directions if d != "past"), "")
    if isinstance(node.detail, NumericalPredicate):
        return f"#{node.detail.direction}" if node.detail.direction in ("future", "all") else ""
    looks = node.op in MIRROR and node.op not in PAST and node.op != "first"
    return node.op if looks else ""
