"""An answer to a covering problem, which can be checked without the solver that gave it."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.base.errors import NotEstablished
from restrict.cover.problem import CoverProblem

Status = Literal["captured", "partial", "impossible"]
Statistics = dict[str, int | float]


class Proof(Protocol):
    """That no answer sets at most ``budget`` inputs; :mod:`restrict.cover.infeasible` makes such proofs."""

    @property
    def budget(self) -> int:
        """The inputs that do not suffice."""

    def verify(self, problem: CoverProblem) -> None:
        """Check it against the problem; ``NotEstablished`` where it proves nothing."""


@dataclass(frozen=True, eq=False)
class CoverSolution:
    """An answer: "captured" (all pairs, within the budget), "partial", or "impossible" (by ``proof``). ``assignment``
    (m,) has -1 where free and contains the prior fixed inputs; ``count``: set beyond those; ``lower``: a certified
    bound on the count of any complete answer (0: none)."""

    problem: CoverProblem
    assignment: I64
    captured: Bools
    count: int
    status: Status
    solver: str
    statistics: Statistics = field(default_factory=dict)
    lower: int = 0
    proof: Proof | None = None

    @property
    def optimal(self) -> bool:
        """All pairs are captured and the lower bound is met."""
        return bool(self.captured.all()) and self.lower >= self.count

    def verify(self, budget: int | None = None) -> None:
        """Recompute all, for a budget beyond the prior inputs; O(literals), plus the check of the proof."""
        problem, prior = self.problem, self.problem.fixed
        if self.assignment.shape != prior.shape or np.any(
            (self.assignment < -1) | (self.assignment >= problem.symbols)
        ):
            raise NotEstablished("the assignment has a wrong shape or symbol")
        if np.any((prior >= 0) & (self.assignment != prior)):
            raise NotEstablished("the assignment changes an input that was fixed beforehand")
        if self.count != int(np.count_nonzero((self.assignment >= 0) & (prior < 0))):
            raise NotEstablished(f"{self.count} is not the number of set inputs")
        if not np.array_equal(self.captured, problem.captured(self.assignment)):
            raise NotEstablished("the captured mask is wrong")
        within = budget is None or self.count <= budget
        if self.status == "captured" and not (self.captured.all() and within):
            raise NotEstablished("not every pair is captured within the budget")
        if self.status == "impossible":
            if self.proof is None or (budget is not None and self.proof.budget < budget):
                raise NotEstablished("an impossibility without a proof for this budget")
            self.proof.verify(problem)


def solution_of(
    problem: CoverProblem, symbols: I64, budget: int | None, solver: str, statistics: Statistics, lower: int = 0
) -> CoverSolution:
    """The solution that sets ``symbols`` beside the prior fixed inputs, "captured" within the budget if any; ``lower``:
    a certified bound on the count of any complete answer, or 0. O(literals)."""
    assignment = np.where(problem.fixed >= 0, problem.fixed, symbols)
    captured = problem.captured(assignment)
    count = int(np.count_nonzero((assignment >= 0) & (problem.fixed < 0)))
    complete = bool(captured.all()) and (budget is None or count <= budget)
    status: Status = "captured" if complete else "partial"
    return CoverSolution(problem, assignment, captured, count, status, solver, statistics, lower)
