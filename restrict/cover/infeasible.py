"""Proofs that a budget is too small for any cover. "Impossible" comes with an :class:`InfeasibilityProof`: a pair that
nothing captures, the multipliers of a packing (:mod:`restrict.cover.lower_bound`), or the lemmas of a DRUP proof that
:func:`refutes` has checked by unit propagation alone. The encoding of the CNF is trusted, the solver is not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from restrict.base.arrays import I64
from restrict.base.errors import NotEstablished
from restrict.cover.cnf import encode
from restrict.cover.lower_bound import packing_value
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, Statistics, solution_of
from restrict.sat.drat_check import ProofError, check_refutation


@dataclass(frozen=True, eq=False)
class InfeasibilityProof:
    """Why no complete answer sets at most ``budget`` inputs; ``kind`` says which of the other fields has the proof."""

    budget: int
    kind: Literal["pair", "packing", "sat"]
    pair: int = -1
    multipliers: I64 | None = None
    lemmas: tuple[str, ...] | None = None

    def verify(self, problem: CoverProblem) -> None:
        """Check it against the problem."""
        if self.kind == "pair":
            good = self.pair in problem.core.dead
        elif self.kind == "packing":
            good = self.multipliers is not None and packing_value(problem, self.multipliers) > self.budget
        else:
            good = self.lemmas is not None and refutes(encode(problem, self.budget)[0], self.lemmas)
        if not good:
            raise NotEstablished(f"the {self.kind} proof that budget {self.budget} is impossible does not hold")

    @classmethod
    def by_pair(cls, problem: CoverProblem, budget: int | None) -> "InfeasibilityProof":
        """The first pair that nothing captures (there must be one), as a proof for this budget (``None``: all
        inputs)."""
        return cls(problem.inputs if budget is None else budget, "pair", pair=int(problem.core.dead[0]))


def impossible(
    problem: CoverProblem, proof: InfeasibilityProof, solver: str, statistics: Statistics | None = None
) -> CoverSolution:
    """The answer "impossible": the prior assignment, with the proof. ``statistics``: what the solver counted; ``None``:
    nothing. Gives the answer, with ``count`` 0 and ``lower`` one more than the budget of the proof."""
    base = solution_of(problem, problem.fixed, None, solver, statistics or {}, proof.budget + 1)
    return replace(base, status="impossible", proof=proof)


def refutes(clauses: Iterable[Sequence[int]], proof: Iterable[str]) -> bool:
    """Whether the proof (DRAT lines, lemmas by unit propagation only) refutes the clauses. The check is
    :mod:`restrict.sat.drat_check`. Deletions are left out: keeping a clause is sound."""
    try:
        check_refutation(clauses, (line for line in proof if not line.startswith("d")))
    except ProofError:
        return False
    return True
