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
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from restrict.base.deadline import OutOfTime
from restrict.base.errors import ResourceLimit
from restrict.certificate.certificate import Certificate
from restrict.model.program import Instance
from restrict.model.task import Task
from restrict.optimum.enumeration import confirm_one
from restrict.optimum.hitting import Problem
from restrict.optimum.options import DESCENT
from restrict.optimum.oracle import Cube, Oracle
from restrict.sat.limit import Budget


@dataclass(frozen=True)
class Descent:
    """``optimum``: the exact least number of fixed positions, ``None`` where the work was spent before it was known.
    ``certificate``: of a smaller restriction than the one known before, if one was found and confirmed."""

    optimum: int | None
    certificate: Certificate | None


def descends(instance: Instance) -> bool:
    """Whether the instance is short enough for :func:`descend` to be tried by default."""
    return instance.n <= DESCENT.length


def descend(task: Task, known: Mapping[int, int]) -> Descent:
    """Look for fewer positions that force the output than are known to. Cost: an encoding of the cone, at most
    ``rounds`` SAT proposals per label, and some ten SAT calls for each."""
    if not known or len(known) > DESCENT.large:
        return Descent(0 if not known else None, None)
    position = task.one_position("an optimum")
    try:
        oracle = Oracle.of(task.instance, position, deadline=task.deadline, most=DESCENT.clauses)
    except ResourceLimit:
        return Descent(None, None)
    best, rng, budget, complete = dict(known), np.random.default_rng(task.seed), Budget(DESCENT.conflicts), False
    alive = [Problem(oracle, label) for label in oracle.same]
    certificate = None
    with suppress(OutOfTime):
        for _ in range(DESCENT.rounds):
            for problem in [*alive]:
                smaller = _smaller(problem, best, rng, budget)
                if smaller is None:
                    alive.remove(problem)
                else:
                    best = smaller
            task.tell("smaller, by SAT", len(best))
            complete = not alive
            if complete or oracle.solver.accum_stats()["propagations"] > DESCENT.propagations:
                break
    if len(best) < len(known):
        with suppress(OutOfTime):
            certificate = confirm_one(task, [best])
    return Descent(len(best) if complete else None, certificate)


def _smaller(problem: Problem, best: Cube, rng: np.random.Generator, budget: Budget) -> Cube | None:
    """A proposal, refuted (the ``best``) or a better one; ``None`` where there is nothing to propose."""
    h = problem.hit(min(len(best) - 1, len(problem.inputs)), budget) if best else None
    if h is None:
        return None
    found = problem.dive(h, rng, len(best) - 1)
    return best if found is None else found
