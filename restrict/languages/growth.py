"""How the forcing cost of a regular language grows with the length: exactly, from the weighted subset graph.

The forcing cost ``f(n)`` is the least cost of a walk of ``n`` edges from the start to a goal in a finite graph whose
edges cost 0 (free) or 1 (fixed); see :mod:`restrict.languages.subset`. Call a node useful if a goal can be reached
from it. Each node has one free edge, so the useful cycles of cost 0 are the useful cycles of a function.

**Theorem.** Let ``p`` be a common multiple of the lengths of the useful zero-cost cycles, and ``r`` a residue mod
``p``. On the lengths ``n = r (mod p)`` where ``f`` is finite, it is bounded if some walk from the start through a
zero-cost cycle of length ``m`` to a goal has length ``r (mod m)``; for large ``n`` it is then the least cost of such
a walk. Otherwise it is at least ``rate * n - b`` for a constant ``b``, with ``rate > 0`` the least mean cost of a
cycle that is useful for this residue. So nothing between bounded and linear is possible.

*Proof*. Going round a zero-cost cycle lengthens a walk by ``m`` at no cost, so the least cost of such a walk is an
upper bound at all large ``n`` of the residue. Conversely a walk of cost at most ``B`` longer than ``(B+1)(N+1)``
edges (``N`` nodes) has a run of more than ``N`` free edges, which goes round a useful zero-cost cycle; so where ``f``
is at most ``B`` at infinitely many ``n``, the walk is one of those above, and its cost is not below their least.
Otherwise take the graph of pairs (node, length mod ``p``): none of its cycles on a walk to (goal, ``r``) costs 0, so
each has mean at least ``rate > 0``; a walk is made of cycles and a path of at most ``Np`` edges.

Words of a length exist or not with an eventual period, too; it is taken into ``p``.

Where the costs settle soon enough, :mod:`restrict.languages.quasilinear` gives the cost itself at every length, and the
rate with it; the theorem is for all other graphs, whose rate stays open.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import lcm
from operator import or_
from typing import Any

import networkx as nx
import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.base.errors import ResourceLimit
from restrict.base.wording import parts
from restrict.languages.dfa import Dfa
from restrict.languages.quasilinear import NEVER, QuasiLinear, least_costs
from restrict.languages.subset import SubsetGraph, bits, images, subset_graph
from restrict.languages.walk import cheapest_first, least_period, until_repeat

MAX_PERIOD = 2000
MAX_PRODUCT = 400_000
EXACT_LENGTH = 4000
"""So many lengths are walked at most for the exact cost."""
UNREACHED = 1 << 60


@dataclass(frozen=True)
class Case:
    """The forcing cost at large ``n`` of one residue. ``kind`` is ``none`` (nothing forces: no such word exists),
    ``constant`` (it is exactly ``value``) or ``linear`` (at least ``rate * n`` minus a constant; ``rate`` is ``None``
    where the costs settle late)."""

    kind: str
    value: int | None = None
    rate: Fraction | None = None

    def text(self) -> str:
        """The growth in words."""
        if self.kind == "none":
            return "impossible (there is no such word)"
        if self.kind == "constant":
            return f"constant: {self.value}"
        return "linear" + (f": at least {self.rate} * n minus a constant" if self.rate is not None else "")


@dataclass(frozen=True)
class Growth:
    """``cases[n % period]`` holds for all large ``n``. ``exact`` is the cost at every ``n``, where it is known."""

    cases: tuple[Case, ...]
    proof: str
    exact: QuasiLinear | None = None

    @property
    def period(self) -> int:
        """The number of residues told apart."""
        return len(self.cases)

    def document(self) -> dict[str, Any]:
        """The growth as JSON."""
        return {
            "period": self.period,
            "cases": [vars(c) | {"rate": None if c.rate is None else str(c.rate)} for c in self.cases],
            "proof": self.proof,
            "exact": self.exact and parts(self.exact, "values growth"),
        }

    def lines(self) -> list[tuple[str, str]]:
        """Pairs (lengths, what holds there), equal cases together."""
        if self.exact is not None:
            return _exact_lines(self.exact)
        groups: dict[Case, list[int]] = {}
        for r, case in enumerate(self.cases):
            groups.setdefault(case, []).append(r)
        if len(groups) == 1:
            return [("all large n", self.cases[0].text())]
        return [(f"large n = {_some(rs)} mod {self.period}", case.text()) for case, rs in groups.items()]


def _exact_lines(cost: QuasiLinear) -> list[tuple[str, str]]:
    """Pairs (lengths, the cost there), equal formulas together."""
    groups: dict[str, list[int]] = {}
    for n, value, growth in cost.late():
        text = cost.formula(n, value, growth, "n")
        kind = "linear: " if growth else "constant: " if value >= 0 else ""
        groups.setdefault(kind + (text if value >= 0 else Case("none").text()), []).append(n % cost.period)
    where = f" >= {cost.start}" if cost.start else ""
    if len(groups) == 1:
        return [(f"all n{where}", text) for text in groups]
    return [(f"all n{where} with n = {_some(sorted(rs))} mod {cost.period}", text) for text, rs in groups.items()]


def _some(residues: list[int]) -> str:
    return ", ".join(map(str, residues[:8])) + (", ..." if len(residues) > 8 else "")


def simplest(cases: list[Case], proof: str) -> Growth:
    """The growth of the least period, a divisor of ``len(cases)``, that says the same as these cases."""
    return Growth(tuple(cases[: least_period(cases)]), proof)


def regular_growth(dfa: Dfa, member: bool) -> Growth:
    """The growth of the cost of forcing (non-)membership.

    Exact; the theorem and its proof are in the module. ``member``: whether to force membership (true) or non-membership
    (false)."""
    graph = subset_graph(dfa, member)
    if graph is None:
        raise ResourceLimit("the growth is not known: the subset construction explodes")
    try:
        edges = np.stack(_edges(graph), axis=1).tolist()
        exact, _ = least_costs(edges, np.flatnonzero(graph.goal).tolist(), EXACT_LENGTH)
    except ResourceLimit:
        return simplest(_cases(dfa, member, graph), "cycles of the weighted subset graph")
    at = {n % exact.period: _case(value, growth, exact.period) for n, value, growth in exact.late()}
    found = simplest([at[r] for r in range(exact.period)], "settled least costs in the weighted subset graph")
    return replace(found, exact=exact)


def _case(value: int, growth: int, period: int) -> Case:
    """The case of one residue, where the cost is known."""
    if growth:
        return Case("linear", rate=Fraction(growth, period))
    return Case("none") if value == NEVER else Case("constant", value)


def _cases(dfa: Dfa, member: bool, graph: SubsetGraph) -> list[Case]:
    """The case of each residue, by the theorem of the module."""
    lengths = _lengths(dfa, member)
    useful = _useful(graph)
    cycles = [c for c in nx.simple_cycles(nx.DiGraph(enumerate(graph.free.tolist()))) if useful[c[0]]]
    period = lcm(len(lengths), *(len(c) for c in cycles))
    if period > MAX_PERIOD or period * graph.nodes > MAX_PRODUCT:
        raise ResourceLimit(f"the growth is not known: {period} residues times {graph.nodes} sets are over the limit")
    best: list[int] = [UNREACHED] * period
    for m in sorted({len(c) for c in cycles}):
        cost = _through(graph, [c for c in cycles if len(c) == m], m)
        best = [min(b, cost[r % m]) for r, b in enumerate(best)]
    there = [lengths[r % len(lengths)] for r in range(period)]
    known = [Case("constant", b) if b < UNREACHED else Case("linear") for b in best]
    return [case if some else Case("none") for case, some in zip(known, there, strict=True)]


def _lengths(dfa: Dfa, member: bool) -> list[bool]:
    """Entry ``n % period``: whether words of large length ``n`` with that membership exist."""
    target, letters = bits(dfa.target(member)), images(dfa, backward=False)
    refusal = "the lengths of words have too long a period"
    history, first = until_repeat(1, lambda state: reduce(or_, (image(state) for image in letters)), 200_000, refusal)
    period = len(history) - first
    return [history[first + (r - first) % period] & target != 0 for r in range(period)]


def _edges(graph: SubsetGraph) -> list[I64]:
    return [graph.free, *graph.fixed]


def _useful(graph: SubsetGraph) -> Bools:
    good = graph.goal
    while not np.array_equal(more := np.logical_or.reduce([good, *(good[edge] for edge in _edges(graph))]), good):
        good = more
    return good


def _through(graph: SubsetGraph, cycles: list[list[int]], m: int) -> list[int]:
    """For each residue mod ``m``, the least cost of a walk from the start through one of the cycles to a goal. Breadth
    first over (node, whether a cycle has been met, length mod m), costs 0 or 1."""
    on = {v for c in cycles for v in c}
    edges = [(row.tolist(), int(at > 0)) for at, row in enumerate(_edges(graph))]
    best = [UNREACHED] * m
    dead = graph.nodes - 1

    def moves(state: tuple[int, bool, int]) -> Iterator[tuple[tuple[int, bool, int], int, None]]:
        node, met, r = state
        for row, cost in edges:
            if (to := row[node]) != dead:
                yield (to, met or to in on, (r + 1) % m), cost, None

    for (node, met, r), here in cheapest_first((0, 0 in on, 0), moves):
        if met and graph.goal[node]:
            best[r] = min(best[r], here)
    return best
