"""Committed dives: the first answer for programs that are deep and wide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import restrict
from restrict.certificate.certificate import certified
from restrict.force import committed as module
from restrict.force.committed import committed
from restrict.force.goal import Goal, Manner, Solver
from restrict.force.options import OPTIONS
from restrict.force.search import GoalSearch
from restrict.model.task import Task

DEEP = "random:layers=3,heads=4,states=12,seed=1"
"""Wide: 12^5 combinations of argument values; the output takes 125 tokens where nothing is shared."""


def dive(n: int) -> tuple[GoalSearch, bool]:
    """A committed dive for the first label."""
    search = GoalSearch(Task.of(restrict.load(DEEP), n))
    manner = Manner((1,), 0.0, 10**6, wide=True, choose=committed, close=0)
    solver = Solver(search.state, np.random.default_rng(0), manner)
    return search, solver.solve(search.goals[0], n)


def test_what_failed_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a short word nodes contradict each other; what has been met stays, and another way is found."""
    tried: list[Goal] = []
    first_unmet = module._first_unmet

    def noted(solver: Solver, subgoals: list[Goal], most: int) -> Goal | None:
        failed = first_unmet(solver, subgoals, most)
        tried.extend([] if failed is None else [failed])
        return failed

    monkeypatch.setattr(module, "_first_unmet", noted)
    search, solved = dive(1_000)
    assert solved
    assert tried
    assert len(tried) == len(set(tried))
    search._settle(np.random.default_rng(0), search.goals[0])
    assert search.best.fixed is not None
    assert len(search.best.fixed) < 400
    assert certified(search.task, search.best.fixed, search.best.cone).c == 0  # by a fresh abstract run


def test_a_dive_ends_where_it_fails_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPAIRS", 0)
    assert not dive(400)[1]


def test_the_search_commits_and_its_answer_is_verified() -> None:
    search = GoalSearch(
        Task.of(restrict.load(DEEP), 600), options=replace(OPTIONS, committed=100, wide_scores=1, more_work=1)
    )
    assert search.commits
    search.run()
    assert search.best.fixed is not None
    assert len(search.best.fixed) < 400
    found = certified(search.task, search.best.fixed, search.best.cone)
    assert restrict.check(search.instance.model, found).startswith("s VERIFIED n=600 target=last")


@pytest.mark.parametrize(
    ("name", "commits"),
    [
        ("random:layers=4,heads=8,states=16", True),
        ("random:layers=2,heads=8,states=64", False),  # priced dives take seconds
        ("random:layers=4,heads=4,states=8", False),  # not wide
        ("random:layers=5,heads=2,states=4", False),  # planned
    ],
)
def test_which_programs_commit(name: str, commits: bool) -> None:
    assert GoalSearch(Task.of(restrict.load(name), 1_000)).commits == commits
