"""Stage 3 of the Depth Reduction Lemma (Hahn 2020, section 5.1): capture every pair that is left.

Each still free input becomes, independently, a uniform symbol with probability q, else stays free. Bad event X(i,h,z):
no position that the pair selects was fixed to its maximiser. Bad event X0: more than ``(1 + delta) q`` of the free
inputs got fixed. Moser-Tardos resampling finds an outcome with no bad event (:mod:`restrict.cover`); the local lemma is
checked on the instance, events counted, not heads. Where resampling does not end or the budget is too tight, the same
problem is solved as a covering problem, down to SAT, which may also prove that it cannot be done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from restrict.cover.local_lemma import LocalLemma, local_lemma
from restrict.cover.moser_tardos import moser_tardos
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution
from restrict.cover.solve import solve
from restrict.depth_reduction.activations import Truth
from restrict.depth_reduction.ctransformer import CTransformer
from restrict.depth_reduction.forcing import forcing_cubes, minimal_cubes
from restrict.depth_reduction.parameters import check_parameters, fraction
from restrict.depth_reduction.selection import Selection, selection
from restrict.depth_reduction.stage1 import fixing
from restrict.errors import UsageError
from restrict.restriction import Restriction

LEMMA_PAIRS = 5_000
"""The local lemma is checked on instances of at most so many uncaptured pairs (each round visits all neighbours)."""
ATTEMPTS = 4
"""Moser-Tardos runs with other seeds where X0 happened or the budget was missed."""
Method = Literal["auto", "resample", "greedy", "local", "sat", "maxsat"]


@dataclass(frozen=True, eq=False)
class Stage3Record:
    """What Stage 3 did: ``status`` "captured", "partial" or "impossible" (proved by ``solution.proof``).

    ``budget``: inputs it may set; ``set``: inputs it set; ``method``: who found the answer. ``exact``: every minimal
    cube of every selected maximiser is in the problem, so "impossible" holds for this k and budget whatever is fixed;
    else it holds for the cubes listed. ``lemma``: the asymmetric local lemma on the instance (``None``: too large);
    ``uniform``: the paper's condition with its uniform bounds. ``resamplings`` of Moser-Tardos in all, ``most`` of one
    event, ``expected`` the lemma's bound on all (inf where it does not hold), ``over`` whether X0 happened in the end.
    """

    k: int
    q: Fraction
    delta: Fraction
    budget: int
    pairs: int
    status: Literal["captured", "partial", "impossible"]
    method: str
    set: int
    exact: bool
    lemma: LocalLemma | None
    uniform: bool
    resamplings: int
    most: int
    expected: float
    over: bool
    lower: int
    problem: CoverProblem = field(repr=False)
    solution: CoverSolution = field(repr=False)


def cover_problem(t: CTransformer, chosen: Selection) -> tuple[CoverProblem, bool]:
    """Stage 3 as a covering problem: each uncaptured pair needs a selected key forced to its maximiser.

    Returns it and whether the cubes are all the minimal ones (truth tables), not just one each (collapsed heads).
    """
    s, cubes, exact = len(t.symbols), forcing_cubes(t), True
    known: dict[tuple[str, int, int], list[tuple[tuple[int, int], ...]]] = {}
    keys = [t.instance.key(head) for head in t.heads]
    pair_sizes: list[int] = []
    sizes: list[int] = []
    literals: list[tuple[int, int]] = []
    for p in np.flatnonzero(chosen.captured == 0):
        key, count = keys[chosen.head[p]], 0
        for j, w in chosen.of(int(p)):
            if key is None:
                continue
            if (key, j, w) not in known:
                truth = isinstance(t.base[key].source, Truth)
                one = cubes[key].cube(j, w, s)
                known[key, j, w] = minimal_cubes(t, key, j, w) if truth else [] if one is None else [one]
            exact = exact and isinstance(t.base[key].source, Truth)
            for cube in known[key, j, w]:
                sizes.append(len(cube))
                literals.extend(cube)
                count += 1
        if (
            count == 0
        ):  # no cube is known at all: one that contradicts itself cannot be written, so leave it to the caller
            exact = False
        pair_sizes.append(count)
    kept = [size for size in pair_sizes if size]
    flat = np.array(literals, dtype=np.int64).reshape(-1, 2)
    problem = CoverProblem.from_arrays(
        t.n, s, np.cumsum([0, *kept]), np.cumsum([0, *sizes]), flat[:, 0], flat[:, 1], np.full(t.n, -1)
    )
    return problem, exact


def uniform_condition(
    *, n: int, s: int, c: int, k: int, H: int, eta: Fraction, C: Fraction, q: Fraction, delta: Fraction
) -> bool:
    """The paper's uniform local-lemma condition (its inequalities 10 and 11), events counted, not heads.

    With A = 1/k^2, B = 1/2: ``P(X) <= A (1-B) (1-A)^f`` and ``P(X0) <= B (1-A)^(events)``, where ``P(X) <=
    (1 - (q/s)^c)^(k / (c^2/(eta C) + 1))``, ``P(X0) <= exp(-delta^2 q (1-2 eta) C n / 3)`` and ``f = s^c * s^2c c^2 k^2
    H / (eta C)``. Evaluated in floating point: an estimate, used for comparison only.
    """
    if k < 2 or c < 1:
        return False
    log_hit = c * (math.log(q) - math.log(s))
    miss = math.log1p(-math.exp(log_hit)) if log_hit > -700 else -0.0
    independent = math.floor(k / (Fraction(c**2) / (eta * C) + 1))
    log_a = math.log1p(-1 / k**2)
    try:
        events = float(s ** (3 * c) * c**2 * k**2 * H / (eta * C))
    except OverflowError:
        return False
    first = independent * miss <= -2 * math.log(k) + math.log(0.5) + events * log_a
    second = -float(delta**2 * q * (1 - 2 * eta) * C * n / 3) <= math.log(0.5) + float(n * H * s**c) * log_a
    return first and second


def stage3(
    t: CTransformer, *, k: int, q: float | Fraction, delta: float | Fraction, eta: float | Fraction,
    C: float | Fraction, C_next: float | Fraction, method: Method = "auto", seed: int = 0, time: float | None = None,
) -> tuple[Restriction, Stage3Record]:  # fmt: skip
    """Set inputs so that every uncaptured pair has a selected key forced to its maximiser; keep ``C' n`` free.

    ``method`` "auto": Moser-Tardos at ``q``; where it does not end, X0 happens or the budget is missed, the covering
    solver (local search, bounds, SAT with a proof). Otherwise one solver of :func:`restrict.cover.solve.solve`.

    Returns the refined restriction (the present one where ``status`` is not "captured") and the record.

    Raises :class:`UsageError` for values out of range, or where fewer than ``C' n`` inputs are free already.
    """
    check_parameters(k=k, q=q, delta=delta, eta=eta, C=C, C_next=C_next)
    q, delta, eta, C, C_next = (fraction(v) for v in (q, delta, eta, C, C_next))
    budget = t.restriction.free - math.ceil(C_next * t.n)
    if budget < 0:
        raise UsageError(
            f"{t.restriction.free} of {t.n} inputs are free, fewer than C' n; take C' <= {t.restriction.free / t.n:.4g}"
        )
    chosen = selection(t, k)
    problem, exact = cover_problem(t, chosen)
    lemma = local_lemma(problem, float(q), float(delta)) if problem.pairs <= LEMMA_PAIRS else None
    missing = chosen.uncaptured - problem.pairs
    solution, resamplings, most, over = _resampled(problem, method, q, delta, budget, seed)
    if solution is None or solution.status != "captured":
        other = method if method not in ("auto", "resample") else "auto"
        if solution is None or method == "auto":
            solution = solve(problem, solver=other, budget=budget, seed=seed, time=time)
    status = solution.status if missing == 0 else "partial"
    restriction = t.restriction
    if status == "captured":
        restriction = fixing(t, {int(x): int(solution.assignment[x]) for x in np.flatnonzero(solution.assignment >= 0)})
    uniform = uniform_condition(n=t.n, s=len(t.symbols), c=t.c, k=k, H=len(t.heads), eta=eta, C=C, q=q, delta=delta)
    record = Stage3Record(
        k, q, delta, budget, chosen.uncaptured, status, solution.solver, solution.count, exact, lemma, uniform,
        resamplings, most, lemma.resamplings if lemma is not None else math.inf, over, solution.lower, problem,
    solution, )  # fmt: skip
    return restriction, record


def _resampled(
    problem: CoverProblem, method: Method, q: Fraction, delta: Fraction, budget: int, seed: int
) -> tuple[CoverSolution | None, int, int, bool]:
    """(answer, redraws, the most of one event, X0) of Moser-Tardos; no answer where another method was asked for."""
    from restrict.cover.solution import solution_of

    if method not in ("auto", "resample"):
        return None, 0, 0, False
    best = None
    for attempt in range(ATTEMPTS):
        run = moser_tardos(problem, float(q), seed + attempt, None, float(delta))
        total, most = int(run.counts.sum()), int(run.counts.max(initial=0))
        answer = solution_of(problem, run.pruned, budget, "resample", {"resamplings": total})
        key = (answer.status != "captured", run.over_budget, answer.count)
        if best is None or key < best[0]:
            best = key, answer, total, most, run.over_budget
        if answer.status == "captured" and not run.over_budget:
            break
    assert best is not None
    return best[1:]
