"""The asymmetric local lemma, checked on an instance of the covering problem. If weights ``0 < x(A) < 1`` satisfy
``P(A) <= x(A) prod (1 - x(B))`` over the events B that share an input with A, then with positive probability no event
happens, and Moser-Tardos redraws A at most ``x(A) / (1 - x(A))`` times on average. P(A) and the neighbours are those of
the instance, not uniform bounds; the verdict rests on one last evaluation of the inequality in outward-rounded
logarithms. The events are those of :mod:`restrict.cover.moser_tardos`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from restrict.base.arrays import F64, I64
from restrict.base.errors import UsageError
from restrict.base.options import Fact
from restrict.cover.core import Core
from restrict.cover.options import COVER
from restrict.cover.problem import CoverProblem
from restrict.kernels import cover_bounds
from restrict.kernels.cover_bounds import OUTWARD

if TYPE_CHECKING:
    import networkx as nx

T = TypeVar("T")
SLACK: Fact[float] = 1e-7
"""The weights found are raised by this share, so that the inequality holds with room for rounding."""


@dataclass(frozen=True, eq=False)
class LocalLemma:
    """The local lemma on an instance. ``holds``: the asymmetric inequality was verified for every event (``weights`` x,
    in the order of ``pairs``; the events of pairs captured beforehand are left out). ``resamplings``: then, an upper
    bound on the expected number of redraws in all. ``exact``: all event probabilities are exact up to rounding; else
    some are upper bounds (cubes that overlap others were left out). ``symmetric``: e p (d + 1) <= 1 with the largest
    probability p and degree d. ``weight_x0``: the weight of X0, where it was included."""

    q: float
    holds: bool
    exact: bool
    resamplings: float
    symmetric: bool
    probability: float
    degree: int
    pairs: I64
    weights: F64
    weight_x0: float


def local_lemma(problem: CoverProblem, q: float, delta: float | None = None) -> LocalLemma:
    """Check the asymmetric condition at ``q``; with ``delta``, event X0 is included as a neighbour of every event.
    Weights: the least fixed point of ``x(A) = P(A) / prod (1 - x(B))``, by iteration from 0, raised by a little; then
    the inequality is evaluated once with every rounding outward (library logarithms: 4 ulp). P(X0) by Chernoff,
    ``exp(-delta^2 q m / (2 + delta))``. Each iteration visits every pair's neighbours once."""
    if not 0 <= q <= 1 or (delta is not None and delta < 0):
        raise UsageError(f"need 0 <= q <= 1 and delta >= 0, got {q} and {delta}")
    core = problem.core
    logs, exact = np.zeros(len(core.pairs)), np.zeros(len(core.pairs), np.int64)
    cover_bounds.failure_logs(core.pair_ptr, core.cube_ptr, core.cube_lit, core.symbols, q, core.inputs, logs, exact)
    log0 = -math.inf if delta is None else _overshoot(q, delta, int(np.count_nonzero(problem.fixed < 0)))
    x, x0 = np.exp(logs), math.exp(log0)
    sums, degree = _sums(core, x)
    for _ in range(COVER.iterations if x.max(initial=0.0) < 1 and x0 < 1 else 0):
        with np.errstate(over="ignore"):
            new = np.exp(logs + sums + _cost(x0))
        log_x0 = log0 + float(_cost(x).sum())
        new0 = 0.0 if delta is None else math.inf if log_x0 > 700 else math.exp(log_x0)
        still = bool(np.allclose(new, x, rtol=SLACK / 100, atol=0)) and math.isclose(new0, x0, rel_tol=SLACK / 100)
        x, x0 = new, new0
        if still or x.max(initial=0.0) >= 1 or x0 >= 1:
            break
        sums, _ = _sums(core, x)
    if x.max(initial=0.0) < 1 and delta is not None:  # the costs of all pairs weigh on X0: give it their slack, too
        x0 = max(x0 * math.exp(min(1.0, SLACK * (1 + 2 * float(np.sum(x / (1 - x)))))), 1e-300)
    x = np.maximum(x * (1 + SLACK), 1e-300)
    holds = bool(x.max(initial=0.0) < 1 and x0 < 1) and _verified(core, logs, log0, x, x0)
    total = sum((Fraction(v) / (1 - Fraction(v)) for v in x.tolist()), Fraction(0)) if holds and len(x) < 2000 else None
    top, d = float(np.exp(logs.max(initial=-math.inf)) * (1 + OUTWARD)), int(degree.max(initial=0))
    bound = float(np.nextafter(float(total), math.inf)) if total is not None else _total(x) if holds else math.inf
    return LocalLemma(
        q, holds, bool(exact.all()), bound, bool(Fraction(math.nextafter(math.e, 3)) * Fraction(top) * (d + 1) <= 1),
        top, d, core.pairs, x, x0,
    )  # fmt: skip


def conflict_graph(problem: CoverProblem) -> nx.Graph[int]:
    """The graph of the local lemma: two pairs are neighbours when cubes of both read the same input. For analysis and
    drawing of small problems; :func:`local_lemma` goes through the same neighbours on arrays. Cost: the sum of the
    squares of the numbers of pairs that read an input."""
    core = problem.core
    if (most := int(np.bincount(core.scope[1]).max(initial=0))) > COVER.readers:
        raise UsageError(f"an input is read by {most} pairs; the conflict graph is for at most {COVER.readers}")
    return sharing_graph(core.pairs.tolist(), *core.scope)


def sharing_graph(names: list[T], ptr: I64, inputs: I64) -> nx.Graph[T]:
    """The graph on names of which number ``a`` reads ``inputs[ptr[a] : ptr[a + 1]]``: an edge carries an ``input`` that
    both read."""
    import networkx as nx

    readers: dict[int, list[T]] = {}
    for a, name in enumerate(names):
        for x in inputs[ptr[a] : ptr[a + 1]].tolist():
            readers.setdefault(x, []).append(name)
    graph: nx.Graph[T] = nx.Graph()
    graph.add_nodes_from(names)
    for x, sharing in readers.items():
        graph.add_edges_from((a, b, {"input": x}) for a, b in combinations(sharing, 2))
    return graph


def _total(x: F64) -> float:
    """sum x / (1 - x), rounded up (relative error of a pairwise sum and two operations: below 2^-40)."""
    return float(np.sum(x / (1 - x)) * (1 + 2.0**-40))


def _overshoot(q: float, delta: float, free: int) -> float:
    """An upper bound on log P(X0), rounded up."""
    d = Fraction(delta)
    return -math.nextafter(float(d * d * Fraction(q) * free / (2 + d)), 0.0)


def _cost(x: F64 | float) -> F64:
    """-log(1 - x), rounded up; infinite from 1 on."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(x) < 1, -np.log1p(-np.minimum(x, 1.0)) * (1 + OUTWARD), np.inf)


def _sums(core: Core, x: F64) -> tuple[F64, I64]:
    """For every pair the cost of its neighbours, rounded up, and their number."""
    scope_ptr, scope = core.scope
    pair_of = np.repeat(np.arange(len(core.pairs)), np.diff(scope_ptr))
    order = np.argsort(scope, kind="stable")
    input_ptr = np.searchsorted(scope[order], np.arange(core.inputs + 1))
    sums, degree = np.zeros(len(core.pairs)), np.zeros(len(core.pairs), np.int64)
    cover_bounds.neighbour_sums(scope_ptr, scope, input_ptr, pair_of[order], _cost(x), sums, degree)
    return sums, degree


def _verified(core: Core, logs: F64, log0: float, x: F64, x0: float) -> bool:
    """log P(A) + sum of costs <= log x(A) for every event, the left side rounded up and the right side down."""
    sums, _ = _sums(core, x)
    left = np.nextafter(logs + np.nextafter(sums + _cost(x0), np.inf), np.inf)
    if not bool(np.all(left <= np.log(x) * (1 + OUTWARD))):
        return False
    whole = math.nextafter(math.fsum(_cost(x).tolist()), math.inf)
    return x0 == 0.0 or math.nextafter(log0 + whole, math.inf) <= math.log(x0) * (1 + OUTWARD)
