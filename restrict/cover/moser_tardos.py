"""Stage 3 as Hahn has it: random fixing, then Moser-Tardos resampling.

Each free input independently becomes a uniform symbol with probability q, or else stays free. Bad event X(p): pair p
is uncaptured; X0: more than ``(1 + delta) q m`` of the m free inputs are set. While some X(p) holds, redraw all inputs
of p (Moser & Tardos, "A constructive proof of the general Lovasz local lemma", J. ACM 57(2), 2010).
:mod:`restrict.cover.local_lemma` tells when this is certain to end.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError
from restrict.cover.core import Core
from restrict.cover.options import COVER
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, Statistics, solution_of
from restrict.cover.workspace import Workspace
from restrict.kernels import cover_cubes, cover_state


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
    """``size`` outcomes: -1 (free) with probability 1 - q, else a uniform symbol. ``q``: the probability that an input
    is set, 0..1. Gives int64, shape (size,), values -1..symbols - 1."""
    return np.where(rng.random(size) < q, rng.integers(0, core.symbols, size), -1)


def moser_tardos(
    problem: CoverProblem, q: float, seed: int = 0, cap: int | None = None, delta: float = 0.1
) -> Resampling:
    """Draw, redraw uncaptured pairs until there is none or ``cap`` redraws (default: 5 per pair), then delete. Cost of
    a redraw: the inputs of the pair times their occurrences. ``q``: the probability that an input is set, 0..1; its
    symbol is uniform; ``delta``: X0 is "more than ``(1 + delta) q m`` inputs are set", m those not set beforehand; at
    least 0. Gives the run. Deletion is left out where some pair stayed uncaptured."""
    cap = COVER.per_pair * problem.pairs if cap is None else cap
    if not 0 <= q <= 1 or delta < 0 or cap < 0:
        raise UsageError(f"need 0 <= q <= 1, delta >= 0 and cap >= 0, got {q}, {delta} and {cap}")
    core, rng = problem.core, np.random.default_rng(seed)
    free = problem.fixed < 0
    space = Workspace.of(core, np.where(free, draw(core, q, rng, core.inputs), -1))
    counts, (scope_ptr, scope) = np.zeros(len(core.pairs), np.int64), core.scope
    block = max(1 << 14, int(np.diff(scope_ptr).max(initial=0)))
    limit = 0 if len(core.dead) else cap
    while space.state[cover_state.OPEN] > 0 and space.state[cover_state.STEP] < limit:
        outcomes = draw(core, q, rng, block)
        cover_cubes.resample(core.cubes, space.arrays, scope_ptr, scope, outcomes, limit, counts)
    drawn, done = space.symbols(), bool(space.state[cover_state.OPEN] == 0)
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
    """Moser-Tardos at ``q``, or at the q found by bisection for the fewest set inputs, then deletion. After Moser and
    Tardos (Journal of the ACM 57, 2010). ``statistics``: q; redraws in all and the most of one pair; inputs set before
    deletion (``drawn``); ``over`` = 1 when event X0 held there. Cost: that of :func:`moser_tardos`, at most seven times
    without ``q``. ``budget``: decides only whether the status is "captured"; ``None``: any number of inputs is within
    it; ``cap``: most redraws of one run, at least 0; ``None``: 5 per pair; ``delta``: of event X0
    (:func:`moser_tardos`), at least 0."""
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
    for _ in range(COVER.halvings if runs[0].captured_all else 0):
        q = (low + high) / 2
        runs.append(moser_tardos(problem, q, seed, cap, delta))
        low, high = (low, q) if runs[-1].captured_all else (q, high)
    return runs
