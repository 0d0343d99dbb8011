"""Committed dives: the first answer for a program that is both deep and wide.

The goal-directed search prices alternatives by looking below them, and takes back all that was done for an alternative
that fails. In a program of four layers of eight heads the output takes thousands of tokens, and both then take longer
than everything else. A committed dive

- prices a node by its depth alone (:func:`restrict.force.state.weights`), so nothing is looked at but what is met;
- keeps what has been met when a part of an alternative fails. The alternatives are listed again under what is then
  known, so that what has been met costs nothing, and without the part that failed: more tokens only make a goal harder
  to meet, so it would fail again.

So every node is met once, and the work is in proportion to the tokens that are fixed. What has been fixed in vain is
freed by deletion at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from restrict.force.goal import Goal, Solver
from restrict.force.options import OPTIONS


def committed(solver: Solver, goal: Goal, limit: int) -> bool:
    """Meet a goal by its first alternative, and where a part of that fails, go on from what has been met. This is a
    ``choose`` of :class:`restrict.force.goal.Manner`. On failure the caller undoes what was done."""
    state, before, barred = solver.state, solver.state.fixed, solver.finder.barred
    for _ in range(OPTIONS.repairs):
        subgoals = next((a for a in solver.alternatives(goal, limit) if not barred.intersection(a)), None)
        if subgoals is None:
            return False
        failed = _first_unmet(solver, subgoals, limit + before)
        if failed is None:
            return solver.holds(goal)
        barred.add(failed)
        if state.fixed - before >= limit:
            return False
    return False


def _first_unmet(solver: Solver, subgoals: Sequence[Goal], most: int) -> Goal | None:
    """Meet goals in turn, with at most ``most`` tokens fixed in all; the first that cannot be met, or ``None``."""
    state = solver.state
    for goal in subgoals:
        mark = len(state.trail)
        if not solver.solve(goal, most - state.fixed):
            state.undo(mark)
            return goal
    return None
