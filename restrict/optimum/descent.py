"""Fewer fixed positions than a restriction that is known, by implicit hitting sets from above.

:mod:`restrict.optimum.exact` raises a lower bound until it meets an upper one. Here the question is only whether
anything smaller than the best known exists: a set of at most ``best - 1`` elements that conflicts with every known cube
is proposed for each label; either it forces the label, then it is the new best, or some input under it has another
label and a minimal part of that input is a new cube. Where nothing is proposed any more, for no label, the best is an
optimum. The formula sees correlations that the abstract run does not, so a tree of cases may have to confirm the
result; what cannot be confirmed is reported as a size only.

Everything is bounded by counts of work, so that ``certify`` can do this by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from restrict.base.deadline import OutOfTime
from restrict.base.errors import ResourceLimit
from restrict.certificate.certificate import Certificate
from restrict.model.program import Instance
from restrict.model.task import Task
from restrict.optimum.enumeration import confirm_one
from restrict.optimum.hitting import Problem
from restrict.optimum.oracle import Cube, Oracle
from restrict.sat.limit import Budget

LENGTH, CLAUSES = 128, 150_000
"""Longest instance, and largest formula, on which this is done by default."""
ROUNDS, CONFLICTS, PROPAGATIONS = 160, 120_000, 50_000_000
"""Proposals for each label, conflicts of the search for them, and propagations of the calls that refute them (seven
seconds; n = 30 with 16 states and five symbols took 345 million, and nothing was gained)."""
LARGE = 16
"""With more positions fixed than this there are too many possible proposals."""


@dataclass(frozen=True)
class Descent:
    """``optimum``: the exact least number of fixed positions, ``None`` where the work was spent before it was known.
    ``certificate``: of a smaller restriction than the one known before, if one was found and confirmed."""

    optimum: int | None
    certificate: Certificate | None


def descends(instance: Instance) -> bool:
    """Whether the instance is short enough for :func:`descend` to be tried by default."""
    return instance.n <= LENGTH


def descend(task: Task, known: Mapping[int, int]) -> Descent:
    """Look for fewer positions that force the output than are known to. Cost: an encoding of the cone, at most
    ``ROUNDS`` SAT proposals per label, and some ten SAT calls for each."""
    if not known or len(known) > LARGE:
        return Descent(0 if not known else None, None)
    position = task.one_position("an optimum")
    try:
        oracle = Oracle.of(task.instance, position, deadline=task.deadline, most=CLAUSES)
    except ResourceLimit:
        return Descent(None, None)
    search = _Descending(task, oracle, dict(known))
    complete = search.run()
    return Descent(len(search.best) if complete else None, search.confirmed(len(known)))


class _Descending:
    """The proposals for each label; ``best`` forces the output at any moment."""

    def __init__(self, task: Task, oracle: Oracle, known: Cube) -> None:
        self.task, self.oracle, self.best = task, oracle, known
        self.rng = np.random.default_rng(task.seed)
        self.budget = Budget(CONFLICTS)

    def run(self) -> bool:
        """Until nothing smaller is left (true), or the work is spent."""
        alive = [Problem(self.oracle, label) for label in self.oracle.same]
        try:
            for _ in range(ROUNDS):
                alive = [problem for problem in alive if self._round(problem)]
                self.task.tell("smaller, by SAT", len(self.best))
                if not alive:
                    return True
                if self.oracle.solver.accum_stats()["propagations"] > PROPAGATIONS:
                    break
        except OutOfTime:
            pass
        return False

    def _round(self, problem: Problem) -> bool:
        """Propose, and refute or keep; false where there is nothing to propose."""
        if not self.best:
            return False
        h = problem.hit(min(len(self.best) - 1, len(problem.inputs)), self.budget)
        if h is None:
            return False
        found = problem.dive(h, self.rng, len(self.best) - 1)
        self.best = self.best if found is None else found
        return True

    def confirmed(self, before: int) -> Certificate | None:
        """A certificate of the best, where it is better than what was known before."""
        if len(self.best) >= before:
            return None
        try:
            return confirm_one(self.task, [self.best])
        except OutOfTime:
            return None
