"""Choose a solver of the covering problem."""

from collections.abc import Callable
from typing import Literal, get_args

from restrict.base.deadline import Deadline
from restrict.base.errors import ResourceLimit, UsageError
from restrict.cover.decimate import decimate
from restrict.cover.greedy import greedy
from restrict.cover.infeasible import InfeasibilityProof, impossible
from restrict.cover.local import local
from restrict.cover.lower_bound import lower_bound
from restrict.cover.maxsat import maxsat
from restrict.cover.moser_tardos import resample
from restrict.cover.options import COVER
from restrict.cover.problem import CoverProblem
from restrict.cover.sat import sat
from restrict.cover.solution import CoverSolution

SolverName = Literal["auto", "greedy", "decimate", "local", "resample", "sat", "maxsat"]
SOLVERS: tuple[str, ...] = get_args(SolverName)


def solve(
    problem: CoverProblem, *, solver: str = "auto", budget: int | None = None, seed: int = 0,
    time: float | None = None, steps: int | None = None, rounds: int = COVER.rounds, q: float | None = None,
    cap: int | None = None, delta: float = 0.1,
) -> CoverSolution:  # fmt: skip
    """Capture every pair with few set inputs (at most ``budget``, if given)."""
    if solver not in SOLVERS:
        raise UsageError(f"no solver {solver!r}: choose one of {', '.join(SOLVERS)}")
    if budget is not None and budget < 0:
        raise UsageError(f"the budget is {budget}: it must be at least 0")
    by_name: dict[str, Callable[[], CoverSolution]] = {
        "auto": lambda: _auto(problem, budget, seed, time, steps, rounds),
        "greedy": lambda: greedy(problem, budget, seed),
        "decimate": lambda: decimate(problem, budget, seed, rounds),
        "local": lambda: local(problem, budget, seed, time, steps, rounds),
        "resample": lambda: resample(problem, q=q, budget=budget, seed=seed, cap=cap, delta=delta),
        "sat": lambda: sat(problem, budget, time=time),
        "maxsat": lambda: maxsat(problem, budget, time=time),
    }
    return by_name[solver]()


def _auto(
    problem: CoverProblem, budget: int | None, seed: int, time: float | None, steps: int | None, rounds: int
) -> CoverSolution:
    """Without a budget, MaxSAT where the problem is small. Else local search; where it misses the budget, the packing
    bound and, if the problem is not large, SAT in the time that is left; after that, its answer."""
    deadline = Deadline.after(time)
    size = len(problem.core.cube_lit)
    if len(problem.core.dead) or (budget is None and size <= COVER.small):
        return maxsat(problem, budget, time=time)
    found = local(problem, budget, seed, time if budget is None else deadline.share(0.5).left, steps, rounds)
    if budget is None or found.status == "captured":
        return found
    bound = lower_bound(problem)
    if bound.value > budget:
        return impossible(problem, InfeasibilityProof(budget, "packing", multipliers=bound.multipliers), "auto")
    if size > COVER.moderate:
        return found
    try:
        return sat(problem, budget, time=deadline.left)
    except ResourceLimit:
        return found
