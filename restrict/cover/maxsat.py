"""The fewest set inputs of a cover, by MaxSAT (RC2: Ignatiev, Morgado & Marques-Silva, JSAT 11, 2019)."""

from typing import Any

from restrict.cover.cnf import assignment_of, encode
from restrict.cover.infeasible import InfeasibilityProof, impossible
from restrict.cover.local import local
from restrict.cover.lower_bound import lower_bound
from restrict.cover.problem import CoverProblem
from restrict.cover.sat import SOLVER, sat
from restrict.cover.solution import CoverSolution, solution_of
from restrict.sat.limit import alarm


def maxsat(problem: CoverProblem, budget: int | None = None, *, time: float | None = None) -> CoverSolution:
    """The minimum number of set inputs by RC2 (Ignatiev, Morgado & Marques-Silva, JSAT 11, 2019). ``lower`` then rests
    on RC2 alone; :func:`sat` with a budget of one less gives a proof. Where the minimum is over the budget, the answer
    is that of :func:`sat`. Out of time: local search's answer with the packing bound, and ``statistics["timeout"] =
    1``. ``budget``: most inputs set beyond the prior ones; ``None``: as few as possible; ``time``: seconds for RC2;
    ``None``: no limit. The SAT call that proves a budget impossible has no limit."""
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    if len(problem.core.dead):
        return impossible(problem, InfeasibilityProof.by_pair(problem, budget), "maxsat")
    clauses, literals = encode(problem, None)
    formula: Any = WCNF()
    formula.extend(clauses)
    for v in range(1, len(literals) + 1):
        formula.append([-v], weight=1)
    late: list[bool] = []
    with RC2(formula, solver=SOLVER) as engine:

        def ring() -> None:
            late.append(True)
            engine.interrupt()

        with alarm(time, ring):
            model = engine.compute(expect_interrupt=time is not None)
    if model is None and late:
        found = local(problem, budget)
        found.statistics["timeout"] = 1
        return solution_of(problem, found.assignment, budget, "maxsat", found.statistics, lower_bound(problem).value)
    if model is None:
        return sat(problem, None)
    best = solution_of(problem, assignment_of(problem, literals, model), None, "maxsat", {"clauses": len(clauses)})
    if budget is not None and best.count > budget:
        return sat(problem, budget)
    return solution_of(problem, best.assignment, budget, "maxsat", best.statistics, best.count)
