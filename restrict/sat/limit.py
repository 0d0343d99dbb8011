"""SAT calls that end in time: the solver is stopped every so many conflicts to look at the clock, and at Ctrl-C."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import Any

from restrict.base.deadline import Deadline, OutOfTime

CONFLICTS = 20_000
"""Conflicts of a SAT search between two looks at the clock: a fraction of a second on our formulas."""


@dataclass(eq=False)
class Budget:
    """Conflicts that the SAT calls of one search may still take: a count of work, so the same search ends the same."""

    conflicts: int


def ask(solver: Any, assumptions: Sequence[int], deadline: Deadline, budget: Budget | None = None) -> bool:
    """Whether the clauses are satisfiable under the assumptions. ``budget``: what the calls may take together;
    ``None``: any number."""
    while True:
        deadline.check()
        if budget is not None and budget.conflicts <= 0:
            raise OutOfTime
        before = solver.accum_stats()["conflicts"] if budget is not None else 0
        solver.conf_budget(CONFLICTS if budget is None else min(CONFLICTS, budget.conflicts))
        answer = solver.solve_limited(assumptions=list(assumptions))
        if budget is not None:
            budget.conflicts -= solver.accum_stats()["conflicts"] - before
        if answer is not None:
            return bool(answer)


@contextmanager
def alarm(time: float | None, ring: Callable[[], None]) -> Iterator[None]:
    """Within the block, call ``ring`` after ``time`` seconds: for searches that only another thread can interrupt."""
    if time is None:
        yield
        return
    timer = Timer(time, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
