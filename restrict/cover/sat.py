"""The covering problem decided by SAT: does a budget suffice? (Glucose 4 by PySAT, with a checked DRUP proof)"""

import numpy as np

from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.cover.cnf import assignment_of, encode
from restrict.cover.infeasible import InfeasibilityProof, impossible, refutes
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, Statistics, solution_of
from restrict.cover.workspace import Workspace
from restrict.sat.limit import alarm

SOLVER = "glucose4"


def sat(problem: CoverProblem, budget: int | None, *, time: float | None = None) -> CoverSolution:
    """Decide whether ``budget`` (None: any number) suffices; "impossible" comes with a checked proof. An answer within
    the budget is made minimal by deletion. ``time``: seconds for the search; ``None``: no limit."""
    from pysat.solvers import Solver

    if len(problem.core.dead):
        return impossible(problem, InfeasibilityProof.by_pair(problem, budget), "sat")
    clauses, literals = encode(problem, budget)
    with Solver(name=SOLVER, bootstrap_with=clauses, with_proof=True) as oracle:
        with alarm(time, oracle.interrupt):
            answer = oracle.solve_limited(expect_interrupt=True)
        statistics: Statistics = {"clauses": len(clauses), **{k: int(v) for k, v in oracle.accum_stats().items()}}
        if answer is None:
            raise ResourceLimit(f"SAT did not decide budget {budget} in {time} s: give more time or another budget")
        if answer:
            space = Workspace.of(problem.core, assignment_of(problem, literals, oracle.get_model()))
            space.prune(np.random.default_rng(0))
            symbols = space.symbols()
            return solution_of(problem, symbols, budget, "sat", statistics)
        lemmas = tuple(oracle.get_proof())
    least = problem.inputs if budget is None else budget
    statistics["lemmas"] = len(lemmas)
    if not refutes(clauses, lemmas):
        raise NotEstablished(f"{SOLVER} says that budget {budget} is impossible, but its proof does not check")
    return impossible(problem, InfeasibilityProof(least, "sat", lemmas=lemmas), "sat", statistics)
