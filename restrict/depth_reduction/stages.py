"""Stages 1, 2 and 3 of the Depth Reduction Lemma (Hahn 2020, Lemma 4 and section 5.1), each on its own.

Notation: a c-transformer ``t`` (:class:`restrict.depth_reduction.ctransformer.CTransformer`) under a restriction with
at least ``C n`` free inputs; ``s`` symbols, ``H`` heads per position. A *pair* is a head (i, h) with a value z of its
query.

Repairs (of the paper's text; the mathematics is in docs/lemma.md): positions are selected greedily, *iff* they have an
input that no earlier selected one has, so that every skipped position is covered by the selected ones; a pair is
*captured* once its ranking ends, at a position whose pairs have all been passed (a constant key, for one), before the
k-th selection: its candidates then have at most ``c k`` free inputs, and more fixing only removes some. A new ranking
may select more often (docs/errata.md), so capture is kept by record; ``s^c c / k <= eta C`` pays for Stage 2; events,
not heads, are counted in the local lemma.

Each stage returns the refined restriction and a frozen record of what it did, the paper's bounds beside what was
measured.
Bounds are exact integers or fractions: with c in the hundreds they have hundreds of digits, never inf.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from restrict.arrays import I64
from restrict.cover.local_lemma import LocalLemma, local_lemma
from restrict.cover.moser_tardos import moser_tardos
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution
from restrict.cover.solve import solve
from restrict.depth_reduction.ctransformer import CTransformer, Truth
from restrict.depth_reduction.forcing import forcing_cubes, minimal_cubes
from restrict.depth_reduction.neighbours import dependents, neighbours, pair_inputs
from restrict.depth_reduction.selection import Selection, check_parameters, fraction, need_length, selection
from restrict.errors import UsageError
from restrict.kernels.rowlists import feeds
from restrict.restriction import Restriction

if TYPE_CHECKING:
    pass

LEMMA_PAIRS = 5_000
"""The local lemma is checked on instances of at most so many uncaptured pairs (each round visits all neighbours)."""
ATTEMPTS = 4
"""Moser-Tardos runs with other seeds where X0 happened or the budget was missed."""


# ---------------------------------------------------------------- Stage 1


@dataclass(frozen=True)
class Stage1Record:
    """``fixed``: the inputs that Stage 1 fixed; at most ``fixed_bound`` = eta C n. ``degree_before`` and
    ``degree_after``: the most layer-0 activations that a free input feeds; afterwards at most ``degree_bound`` =
    c / (eta C)."""

    eta: Fraction
    C: Fraction
    c: int
    fixed: tuple[int, ...]
    fixed_bound: Fraction
    degree_before: int
    degree_after: int
    degree_bound: Fraction


def degrees(t: CTransformer) -> I64:
    """(n,): how many layer-0 activations each input feeds."""
    counts = np.zeros(t.n, np.int64)
    feeds(t.depends, counts)
    return counts


def stage1(t: CTransformer, *, eta: float | Fraction, C: float | Fraction) -> tuple[Restriction, Stage1Record]:
    """Fix every free input that feeds more than ``c / (eta C)`` layer-0 activations (to the first symbol).

    By counting, fewer than ``eta C n`` are fixed: there are at most ``n c`` (input, activation) pairs. Cost: n^2 bits.

    Raises :class:`UsageError` for eta outside (0, 1/2) or C outside (0, 1].
    """
    check_parameters(eta=eta, C=C)
    eta, C, c = fraction(eta), fraction(C), t.c
    bound, before = Fraction(c) / (eta * C), degrees(t)
    heavy = [int(x) for x in np.flatnonzero(before) if before[x] > bound]
    restriction = _fix(t, dict.fromkeys(heavy, 0))
    after = degrees(t.restrict(restriction)) if heavy else before
    record = Stage1Record(
        eta, C, c, tuple(heavy), eta * C * t.n, int(before.max(initial=0)), int(after.max(initial=0)), bound
    )
    return restriction, record


def _fix(t: CTransformer, symbols: dict[int, int]) -> Restriction:
    new = {x: t.symbols[symbol] for x, symbol in symbols.items()}
    return Restriction(t.n, {**t.restriction.fixed, **new}, t.restriction.pinned)


# ---------------------------------------------------------------- Stage 2


@dataclass(frozen=True)
class Stage2Record:
    """``fixed`` inputs in ``rounds`` rounds (at most ``rounds_bound`` = s^c n / k). Of ``pairs`` pairs
    ``captured_before`` and ``captured_after`` are captured. ``dependents``: the most uncaptured heads that k-depend
    on one layer-0 activation, afterwards at most ``dependents_bound`` = s^c k H (unless an activation could not be
    forced: ``stuck``).
    ``neighbours``: the most k-neighbours of an uncaptured head, afterwards at most ``neighbours_bound`` =
    s^2c c^2 k^2 H / (eta C). ``most_inputs``: the most inputs that one uncaptured pair k-depends on (at most c k).
    ``affordable``: s^c c / k <= eta C, the paper's condition that the rounds cost at most eta C n inputs.
    """

    k: int
    c: int
    heads: int
    fixed: tuple[int, ...]
    rounds: int
    rounds_bound: Fraction
    pairs: int
    captured_before: int
    captured_after: int
    dependents_before: int
    dependents_after: int
    dependents_bound: int
    neighbours_before: int
    neighbours_after: int
    neighbours_bound: Fraction
    most_inputs: int
    affordable: bool
    stuck: int


def stage2(
    t: CTransformer, *, k: int, eta: float | Fraction, C: float | Fraction, limit: int | None = None
) -> tuple[Restriction, Stage2Record]:
    """While a layer-0 activation is k-depended on by too many uncaptured heads, fix it to its commonest maximiser.

    Arguments:
        k: selections per pair; eta, C: of the lemma, for the bounds.
        limit: how many heads are too many (default: the paper's ``s^c k H``).

    Raises :class:`UsageError` for values out of range, and where n <= c k (no k selections; the lemma holds trivially).
    Cost: a ranking of all pairs per round.
    """
    check_parameters(k=k, eta=eta, C=C)
    eta, C, c, s, H = fraction(eta), fraction(C), t.c, len(t.symbols), len(t.heads)
    need_length(t, k)
    bound = s**c * k * H
    limit = bound if limit is None else limit
    now, first = t, selection(t, k)
    current, rounds, stuck, before = first, 0, 0, dependents(t, first)[0]
    skip: set[int] = set()
    while True:
        counts, _ = dependents(now, current)
        order = [int(j) for j in np.argsort(-counts, kind="stable") if counts[j] > limit and int(j) not in skip]
        if not order:
            break
        cube = _commonest(now, current, order[0])
        if cube is None:
            skip.add(order[0])
            stuck += 1
            continue
        now = now.restrict(_fix(now, dict(cube)))
        rounds += 1
        current = _still_captured(current, selection(now, k), t.n)
    new = sorted(set(now.restriction.fixed) - set(t.restriction.fixed))
    record = Stage2Record(
        k, c, H, tuple(new), rounds, Fraction(s**c * t.n, k), first.pairs, first.pairs - first.uncaptured,
        current.pairs - current.uncaptured, int(before.max(initial=0)), int(dependents(now, current)[0].max(initial=0)),
        bound, _most(neighbours(t, first)), _most(neighbours(now, current)), s ** (2 * c) * c**2 * k**2 * H / (eta * C),
        int(pair_inputs(now, current).max(initial=0)), Fraction(s**c * c, k) <= eta * C, stuck,
    )  # fmt: skip
    return now.restriction, record


def _still_captured(before: Selection, after: Selection, n: int) -> Selection:
    """What was captured stays so, by record: its candidates only lose inputs, but a new ranking may select more."""

    values = 1 + int(max(before.query.max(initial=0), after.query.max(initial=0)))

    def names(of: Selection) -> I64:
        number: I64 = (of.head * n + of.position) * values + of.query
        return number

    kept = np.isin(names(after), names(before)[before.captured == 1])
    return replace(after, captured=after.captured | kept)


def _most(counts: dict[tuple[int, int], int]) -> int:
    return max(counts.values(), default=0)


def _commonest(t: CTransformer, chosen: Selection, j: int) -> tuple[tuple[int, int], ...] | None:
    """The cheapest cube that forces activation ``j`` to the value that is the maximiser in most uncaptured rows."""
    votes: Counter[tuple[str | None, int]] = Counter()
    for p in np.flatnonzero(chosen.captured == 0):
        votes.update((t.at.key(t.heads[chosen.head[p]]), w) for i, w in chosen.of(int(p)) if i == j)
    for (key, w), _ in sorted(votes.items(), key=lambda item: (-item[1], str(item[0]))):
        if key is None:
            continue
        if isinstance(t.base[key].source, Truth):
            found = min(minimal_cubes(t, key, j, w), key=len, default=None)
        else:
            found = forcing_cubes(t)[key].cube(j, w, len(t.symbols))
        if found:
            return found
    return None


# ---------------------------------------------------------------- Stage 3

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
    keys = [t.at.key(head) for head in t.heads]
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
        restriction = _fix(t, {int(x): int(solution.assignment[x]) for x in np.flatnonzero(solution.assignment >= 0)})
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
