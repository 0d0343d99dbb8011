"""Stage 3 of the Depth Reduction Lemma (Hahn 2020, section 5.1): capture every pair that is left. Each still free input
becomes, independently, a uniform symbol with probability q, else stays free. Bad event X(i,h,z): no position that the
pair selects was fixed to its maximiser. Bad event X0: more than ``(1 + delta) q`` of the free inputs got fixed.
Moser-Tardos resampling finds an outcome with no bad event (:mod:`restrict.cover`); the local lemma is checked on the
instance, events counted, not heads. Where resampling does not end or the budget is too tight, the same problem is
solved as a covering problem, down to SAT, which may also prove that it cannot be done."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from restrict.base.arrays import FREE_INPUT, I64, numbered, offsets, take_rows
from restrict.base.errors import UsageError
from restrict.cover.local_lemma import LocalLemma, local_lemma
from restrict.cover.moser_tardos import moser_tardos
from restrict.cover.options import COVER
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, solution_of
from restrict.cover.solve import SolverName, solve
from restrict.depth_reduction.c_transformer.activations import Truth
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.c_transformer.forcing import forcing_cubes, value_cubes
from restrict.depth_reduction.lemma.parameters import check_parameters
from restrict.depth_reduction.lemma.selection import Selection, selection
from restrict.depth_reduction.options import THEOREM
from restrict.model.arguments import as_written
from restrict.model.restriction import Restriction


@dataclass(frozen=True)
class Effort:
    """How much work Stage 3 puts into its methods: ``attempts``, Moser-Tardos runs with other seeds where X0 happened
    or the budget was missed; ``redraws`` of one such run, for each pair (a run that needs many more rarely ends at
    all); ``rounds`` of the decimation before the local search."""

    attempts: int = 4
    redraws: int = COVER.per_pair
    rounds: int = COVER.rounds


LEAST_SHARE = Fraction(1, 1000)
"""The least share that resampling sets at random, and the least that it leaves, where the share is not given."""
EFFORT = Effort()
"""The effort where Stage 3 is run by itself."""


@dataclass(frozen=True, eq=False)
class Stage3Record:
    """What Stage 3 did.

    Attributes:
        k: the most selections of a pair.
        q: the share of the inputs that resampling sets.
        delta: the tolerance of X0.
        budget: the inputs that it may set.
        pairs: the uncaptured pairs that it was given.
        status: "captured", "partial" (not all within the budget) or "impossible" (proved by ``solution.proof``).
        method: the solver that found the answer.
        spent: the inputs that it set.
        exact: every minimal cube of every selected maximiser is in the problem, so that "impossible" holds for this k
            and budget whatever is fixed; else it holds for the cubes listed.
        lemma: the asymmetric local lemma on the instance; ``None`` where that is too large.
        uniform: whether the paper's condition holds, with its uniform bounds (an estimate).
        resamplings: the redraws of Moser-Tardos in all.
        most: the redraws of one event, at most.
        expected: the lemma's bound on the expected redraws in all; infinite where it does not hold.
        over: whether X0 happened in the end.
        lower: a certified lower bound on what must be set (0: none computed).
        problem: the covering problem.
        solution: its answer.
    """

    k: int
    q: Fraction
    delta: Fraction
    budget: int
    pairs: int
    status: Literal["captured", "partial", "impossible"]
    method: str
    spent: int
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
    """Stage 3 as a covering problem: each uncaptured pair needs a selected key forced to its maximiser. Result: the
    problem, and whether its cubes are all the minimal ones (truth tables), not just one each (collapsed heads). A pair
    for which no cube is known is left out. Cost: linear in the selections and their cubes."""
    cubes = forcing_cubes(t)
    columns = np.flatnonzero(chosen.captured[chosen.owner] == 0)
    owner = chosen.owner[columns]
    codes = np.full(len(columns), -1, np.int64)  # the number of (key, position, value) among those that occur
    sizes: list[int] = []
    lengths: list[int] = []
    literals: list[tuple[int, int]] = []
    exact = True
    for key in dict.fromkeys(t.instance.key(head) for head in t.heads):
        mine = np.isin(chosen.head[owner], [h for h, head in enumerate(t.heads) if t.instance.key(head) == key])
        if key is None or not mine.any():
            continue
        exact = exact and isinstance(t.base[key].source, Truth)
        domain = t.base[key].values.domain
        position, value = chosen.chosen[:, columns[mine]]
        names, number = numbered(position * domain + value, t.n * domain)
        codes[mine] = len(sizes) + number
        for j, w in zip((names // domain).tolist(), (names % domain).tolist(), strict=True):
            found = value_cubes(t, cubes, key, j, w)
            sizes.append(len(found))
            lengths.extend(map(len, found))
            literals.extend(literal for cube in found for literal in cube)
    known, pairs = codes >= 0, np.count_nonzero(np.bincount(owner))
    problem = _problem(t, chosen.pairs, owner[known], codes[known], offsets(sizes), offsets(lengths), literals)
    return problem, exact and problem.pairs == pairs


def _problem(
    t: CTransformer, pairs: int, owner: I64, codes: I64, ptr: I64, cube_ptr: I64, literals: list[tuple[int, int]]
) -> CoverProblem:
    """Pair ``owner[e]`` has the cubes of name ``codes[e]``, which are ``ptr[code] .. ptr[code + 1]``."""
    flat = np.array(literals, dtype=np.int64).reshape(-1, 2)
    cubes = take_rows(ptr, codes)
    entries = take_rows(cube_ptr, cubes)
    counts = np.bincount(owner, weights=np.diff(ptr)[codes], minlength=pairs).astype(np.int64)
    sizes = np.diff(cube_ptr)[cubes]
    return CoverProblem.from_arrays(
        t.n, len(t.symbols), offsets(counts[counts > 0]), offsets(sizes), flat[entries, 0], flat[entries, 1],
        np.full(t.n, FREE_INPUT),
    )  # fmt: skip


def uniform_condition(
    *, n: int, s: int, c: int, k: int, H: int, eta: Fraction, C: Fraction, q: Fraction, delta: Fraction
) -> bool:
    """Whether the paper's uniform local-lemma condition (its inequalities 10 and 11), events counted, not heads, holds:
    in floating point, for comparison only. With A = 1/k^2, B = 1/2: ``P(X) <= A (1-B) (1-A)^f`` and ``P(X0) <= B
    (1-A)^(events)``, where ``P(X) <= (1 - (q/s)^c)^(k / (c^2/(eta C) + 1))``, ``P(X0) <= exp(-delta^2 q (1-2 eta) C n /
    3)`` and ``f = s^c * s^2c c^2 k^2 H / (eta C)``, for ``s`` symbols and ``H`` heads."""
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
    C: float | Fraction, C_next: float | Fraction, method: SolverName = "auto", seed: int = 0,
    time: float | None = None,
) -> tuple[Restriction, Stage3Record]:  # fmt: skip
    """Set inputs so that every uncaptured pair has a selected key forced to its maximiser; keep ``C' n`` free.

    Args:
        t: the c-transformer.
        k: the most selections of a pair.
        q: the share of the inputs that resampling sets, in (0, 1).
        delta: the tolerance of X0, in (0, 1].
        eta: in (0, 1/2); for the paper's condition.
        C: in (0, 1]; for the paper's condition.
        C_next: C', below ``C``: the fraction of the n positions that stays free.
        method: "auto": Moser-Tardos at ``q``; where it does not end, X0 happens or the budget is missed, the covering
            solver (local search, bounds, SAT with a proof). Otherwise one solver of
            :func:`restrict.cover.solve.solve`.
        seed: same seed, same answer (without ``time``).
        time: seconds for the covering solver.

    Returns:
        The refined restriction (the present one where ``status`` is not "captured"), and the record.

    Raises:
        UsageError: a value is out of range, or fewer than ``C' n`` inputs are free already.
        ResourceLimit: the rankings hold too many pairs, or SAT is out of time.
        NotEstablished: the proof that a budget is impossible does not check.
    """
    check_parameters(k=k, q=q, delta=delta, eta=eta, C=C, C_next=C_next)
    budget = t.restriction.free - math.ceil(as_written(C_next) * t.n)
    if budget < 0:
        raise UsageError(
            f"{t.restriction.free} of {t.n} inputs are free, fewer than C' n; take C' <= {t.restriction.free / t.n:.4g}"
        )
    setting = Setting(as_written(q), as_written(delta), as_written(eta), as_written(C), method, seed, time)
    return settled(t, selection(t, k), budget, setting)


@dataclass(frozen=True)
class Setting:
    """The parameters of Stage 3's random experiment, all exact, and how it is settled: ``q``, the share of the inputs
    that resampling sets (``None``: what the budget allows); ``delta``, the tolerance of X0; ``eta`` of Stages 1 and 2;
    ``C`` free before; ``method``, ``seed`` and ``time`` as for :func:`stage3`; ``effort``, how long each method may go
    on."""

    q: Fraction | None
    delta: Fraction
    eta: Fraction
    C: Fraction
    method: SolverName = "auto"
    seed: int = 0
    time: float | None = None
    effort: Effort = EFFORT

    def share(self, budget: int, free: int) -> Fraction:
        """q, or ``budget / (free (1 + delta))`` within its range."""
        if self.q is not None:
            return self.q
        return min(max(Fraction(budget, max(1, free)) / (1 + self.delta), LEAST_SHARE), 1 - LEAST_SHARE)


def settled(t: CTransformer, chosen: Selection, budget: int, setting: Setting) -> tuple[Restriction, Stage3Record]:
    """:func:`stage3` with selections that have already been made, by at most ``budget`` inputs. ``ResourceLimit``: SAT
    is out of time; ``NotEstablished``: the proof that a budget is impossible does not check."""
    problem, exact = cover_problem(t, chosen)
    q, delta, method = setting.share(budget, t.restriction.free), setting.delta, setting.method
    lemma = local_lemma(problem, float(q), float(delta)) if problem.pairs <= THEOREM.lemma_pairs else None
    solution, resamplings, most, over = _resampled(problem, setting, q, budget)
    if solution is None or (solution.status != "captured" and method == "auto"):
        other = method if method not in ("auto", "resample") else "auto"
        solution = solve(
            problem, solver=other, budget=budget, seed=setting.seed, time=setting.time, rounds=setting.effort.rounds
        )
    status = solution.status if chosen.uncaptured == problem.pairs else "partial"
    restriction = t.restriction
    if status == "captured":
        restriction = t.fixing(dict(enumerate(solution.assignment.tolist())))
    uniform = uniform_condition(
        n=t.n, s=len(t.symbols), c=t.c, k=chosen.k, H=len(t.heads), eta=setting.eta, C=setting.C, q=q, delta=delta
    )
    record = Stage3Record(
        chosen.k, q, delta, budget, chosen.uncaptured, status, solution.solver, solution.count, exact, lemma, uniform,
        resamplings, most, lemma.resamplings if lemma is not None else math.inf, over, solution.lower, problem,
        solution,
    )  # fmt: skip
    return restriction, record


def _resampled(
    problem: CoverProblem, setting: Setting, q: Fraction, budget: int
) -> tuple[CoverSolution | None, int, int, bool]:
    """(answer, redraws, the most of one event, X0) of Moser-Tardos; no answer where another method was asked for."""
    if setting.method not in ("auto", "resample"):
        return None, 0, 0, False
    best = None
    effort, delta = setting.effort, float(setting.delta)
    for attempt in range(effort.attempts):
        run = moser_tardos(problem, float(q), setting.seed + attempt, effort.redraws * problem.pairs, delta)
        total, most = int(run.counts.sum()), int(run.counts.max(initial=0))
        answer = solution_of(problem, run.pruned, budget, "resample", {"resamplings": total})
        key = (answer.status != "captured", run.over_budget, answer.count)
        if best is None or key < best[0]:
            best = key, answer, total, most, run.over_budget
        if answer.status == "captured" and not run.over_budget:
            break
    return best[1:] if best is not None else (None, 0, 0, False)
