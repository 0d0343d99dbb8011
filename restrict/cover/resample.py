"""Stage 3 as Hahn has it: random fixing, Moser-Tardos resampling, and the local lemma checked on the instance.

Every free input independently becomes a uniform symbol with probability q and else stays free. Bad event X(p): pair p
is uncaptured; X0: more than ``(1 + delta) q m`` of the m free inputs are set. While some X(p) holds, redraw all inputs
of p (Moser & Tardos, "A constructive proof of the general Lovasz local lemma", J. ACM 57(2), 2010).

**Local lemma, asymmetric form.** If weights ``0 < x(A) < 1`` satisfy ``P(A) <= x(A) prod (1 - x(B))`` over the events B
that share an input with A, then with positive probability no event happens, and A is redrawn at most
``x(A) / (1 - x(A))`` times on average. P(A) and the neighbours are those of the instance, not uniform bounds; the
verdict rests on one last evaluation of the inequality in outward-rounded logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from restrict.arrays import F64, I64
from restrict.cover.problem import Core, CoverProblem, CoverSolution, Statistics, Workspace, solution_of
from restrict.errors import UsageError
from restrict.kernels import cover as kernels
from restrict.kernels.cover import OUTWARD

ITERATIONS = 200
SLACK = 1e-7
"""The weights found are raised by this share, so that the inequality holds with room for rounding."""
PER_PAIR = 5
"""Default cap: redraws per pair."""
HALVINGS = 6
"""Bisections of the search for q."""


@dataclass(frozen=True, eq=False)
class Resampling:
    """One run: the assignment before and after deletion, redraws per pair, and whether X0 held before deletion."""

    q: float
    captured_all: bool
    drawn: I64
    pruned: I64
    counts: I64
    over_budget: bool


def draw(core: Core, q: float, rng: np.random.Generator, size: int) -> I64:
    """``size`` outcomes: -1 (free) with probability 1 - q, else a uniform symbol."""
    return np.where(rng.random(size) < q, rng.integers(0, core.symbols, size), -1)


def moser_tardos(
    problem: CoverProblem, q: float, seed: int = 0, cap: int | None = None, delta: float = 0.1
) -> Resampling:
    """Draw, redraw uncaptured pairs until there is none or ``cap`` redraws (default: 5 per pair), then delete.

    Cost of a redraw: the inputs of the pair times their occurrences.

    Raises:
        UsageError: q outside 0..1, delta < 0 or cap < 0.
    """
    cap = PER_PAIR * problem.pairs if cap is None else cap
    if not 0 <= q <= 1 or delta < 0 or cap < 0:
        raise UsageError(f"need 0 <= q <= 1, delta >= 0 and cap >= 0, got {q}, {delta} and {cap}")
    core, rng = problem.core, np.random.default_rng(seed)
    free = problem.fixed < 0
    space = Workspace.of(core, np.where(free, draw(core, q, rng, core.inputs), -1))
    lit_ptr, lit_cube, cube_pair, missing, lits, pairs = space.cubes()
    counts, (scope_ptr, scope) = np.zeros(len(core.pairs), np.int64), core.scope
    block = max(1 << 14, int(np.diff(scope_ptr).max(initial=0)))
    limit = 0 if len(core.dead) else cap
    while space.state[kernels.OPEN] > 0 and space.state[kernels.STEP] < limit:
        outcomes = draw(core, q, rng, block)
        kernels.resample(
            scope_ptr, scope, core.symbols, outcomes, limit, counts, lit_ptr, lit_cube, cube_pair, missing, lits, pairs,
            space.state,
        )  # fmt: skip
    drawn, done = space.symbols(), bool(space.state[kernels.OPEN] == 0)
    over = int(np.count_nonzero(drawn >= 0)) > (1 + Fraction(delta)) * Fraction(q) * int(free.sum())
    if done:
        space.prune(rng)
    every = np.zeros(problem.pairs, np.int64)
    every[core.pairs] = counts
    return Resampling(q, done, drawn, space.symbols(), every, over)


def resample(
    problem: CoverProblem, q: float | None = None, budget: int | None = None, seed: int = 0, cap: int | None = None,
    delta: float = 0.1,
) -> CoverSolution:  # fmt: skip
    """Moser-Tardos at ``q``, or at the q found by bisection for the fewest set inputs, then deletion.

    ``statistics``: q; redraws in all and the most of one pair; inputs set before deletion (``drawn``); ``over`` = 1
    when event X0 held there.
    """
    runs = [moser_tardos(problem, q, seed, cap, delta)] if q is not None else _search(problem, seed, cap, delta)
    best = min(runs, key=lambda run: (not run.captured_all, np.count_nonzero(run.pruned >= 0)))
    statistics: Statistics = {
        "q": best.q, "resamplings": int(best.counts.sum()), "most": int(best.counts.max(initial=0)),
        "drawn": int(np.count_nonzero(best.drawn >= 0)), "over": int(best.over_budget), "runs": len(runs),
    }  # fmt: skip
    return solution_of(problem, best.pruned, budget, "resample", statistics)


def _search(problem: CoverProblem, seed: int, cap: int | None, delta: float) -> list[Resampling]:
    """Runs at q = 1 and at the bisection points of the least q that succeeds."""
    low, high, runs = 0.0, 1.0, [moser_tardos(problem, 1.0, seed, cap, delta)]
    for _ in range(HALVINGS if runs[0].captured_all else 0):
        q = (low + high) / 2
        runs.append(moser_tardos(problem, q, seed, cap, delta))
        low, high = (low, q) if runs[-1].captured_all else (q, high)
    return runs


@dataclass(frozen=True, eq=False)
class LocalLemma:
    """The local lemma on an instance.

    ``holds``: the asymmetric inequality was verified for every event (``weights`` x, in the order of ``pairs``; the
    events of pairs captured beforehand are left out). ``resamplings``: then, an upper bound on the expected number of
    redraws in all. ``exact``: all event probabilities are exact up to rounding; else some are upper bounds (cubes that
    overlap others were left out). ``symmetric``: e p (d + 1) <= 1 with the largest probability p and degree d.
    ``weight_x0``: the weight of X0, where it was included.
    """

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
    iterations: int


def local_lemma(problem: CoverProblem, q: float, delta: float | None = None) -> LocalLemma:
    """Check the asymmetric condition at ``q``; with ``delta``, event X0 is included as a neighbour of every event.

    Weights: the least fixed point of ``x(A) = P(A) / prod (1 - x(B))``, by iteration from 0, raised by a little; then
    the inequality is evaluated once with every rounding outward (library logarithms: 4 ulp). P(X0) by Chernoff,
    ``exp(-delta^2 q m / (2 + delta))``. Each iteration visits every pair's neighbours once.

    Raises:
        UsageError: q outside 0..1 or delta < 0.
    """
    if not 0 <= q <= 1 or (delta is not None and delta < 0):
        raise UsageError(f"need 0 <= q <= 1 and delta >= 0, got {q} and {delta}")
    core = problem.core
    logs, exact = _failures(core, q)
    log0 = -math.inf if delta is None else _overshoot(q, delta, int(np.count_nonzero(problem.fixed < 0)))
    x, x0, rounds = np.exp(logs), math.exp(log0), 0
    sums, degree = _sums(core, x)
    while rounds < ITERATIONS and x.max(initial=0.0) < 1 and x0 < 1:
        rounds += 1
        with np.errstate(over="ignore"):
            new = np.exp(logs + sums + _cost(x0))
        new0 = _exp(log0 + float(_cost(x).sum())) if delta is not None else 0.0
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
        q, holds, exact, bound, bool(Fraction(math.nextafter(math.e, 3)) * Fraction(top) * (d + 1) <= 1), top, d,
        core.pairs, x, x0, rounds,
    )  # fmt: skip


def _total(x: F64) -> float:
    """sum x / (1 - x), rounded up (relative error of a pairwise sum and two operations: below 2^-40)."""
    return float(np.sum(x / (1 - x)) * (1 + 2.0**-40))


def _failures(core: Core, q: float) -> tuple[F64, bool]:
    logs, exact = np.zeros(len(core.pairs)), np.zeros(len(core.pairs), np.int64)
    kernels.failure_logs(core.pair_ptr, core.cube_ptr, core.cube_lit, core.symbols, q, core.inputs, logs, exact)
    return logs, bool(exact.all())


def _overshoot(q: float, delta: float, free: int) -> float:
    """An upper bound on log P(X0), rounded up."""
    d = Fraction(delta)
    return -math.nextafter(float(d * d * Fraction(q) * free / (2 + d)), 0.0)


def _exp(z: float) -> float:
    return math.inf if z > 700 else math.exp(z)


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
    kernels.neighbour_sums(scope_ptr, scope, input_ptr, pair_of[order], _cost(x), sums, degree)
    return sums, degree


def _verified(core: Core, logs: F64, log0: float, x: F64, x0: float) -> bool:
    """log P(A) + sum of costs <= log x(A) for every event, the left side rounded up and the right side down."""
    sums, _ = _sums(core, x)
    left = np.nextafter(logs + np.nextafter(sums + _cost(x0), np.inf), np.inf)
    if not bool(np.all(left <= np.log(x) * (1 + OUTWARD))):
        return False
    whole = math.nextafter(math.fsum(_cost(x).tolist()), math.inf)
    return x0 == 0.0 or math.nextafter(log0 + whole, math.inf) <= math.log(x0) * (1 + OUTWARD)
