"""Committed dives: the first answers for wide programs of two layers or more."""

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


def test_the_search_commits_and_its_answer_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a short word nodes contradict each other; what has been met stays, what failed is not
    tried again, and another way is found. The search of a crowded word ends with it."""
    tried: list[Goal] = []
    first_unmet = module._first_unmet

    def noted(solver: Solver, subgoals: list[Goal], most: int) -> Goal | None:
        failed = first_unmet(solver, subgoals, most)
        tried.extend([] if failed is None else [failed])
        return failed

    monkeypatch.setattr(module, "_first_unmet", noted)
    options = replace(OPTIONS, huge=100, crowded=99, wide_scores=1)
    search = GoalSearch(Task.of(restrict.load(DEEP), 1_000), options=options)
    assert search.commits
    search.run()
    assert tried
    assert len(tried) == len(set(tried))
    assert search.best.fixed is not None
    assert len(search.best.fixed) < 400
    found = certified(search.task, search.best.fixed, search.best.cone)  # by a fresh abstract run
    assert restrict.check(search.instance.model, found).startswith("s VERIFIED n=1000 target=last")


def test_a_dive_ends_where_it_fails_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPAIRS", 0)
    search = GoalSearch(Task.of(restrict.load(DEEP), 400))
    manner = Manner((1,), 0.0, 10**6, wide=True, choose=committed, close=0)
    assert not Solver(search.state, np.random.default_rng(0), manner).solve(search.goals[0], 400)


@pytest.mark.parametrize(
    ("name", "commits"),
    [
        ("random:layers=4,heads=8,states=16", True),
        ("random:layers=2,heads=8,states=64", True),
        ("random:layers=1,heads=8,states=64", False),  # a priced dive is as cheap
        ("random:layers=3,heads=2,states=4,symbols=26", True),  # too many symbols for plans
        ("random:layers=4,heads=4,states=9", False),  # not wide, and 625 tokens
        ("random:layers=2,heads=4,states=8", False),  # neither wide nor deep
        ("random:layers=5,heads=2,states=4", False),  # planned
    ],
)
def test_which_programs_commit(name: str, commits: bool) -> None:
    assert GoalSearch(Task.of(restrict.load(name), 1_000)).commits == commits


def test_short_words_with_many_symbols_are_not_fixed_as_a_whole() -> None:
    """Priced dives alone find nothing here, and fixed the whole word. A tree takes 25 tokens: five for each of five
    nodes."""
    model = restrict.load("random:layers=2,heads=4,states=16,symbols=26,seed=59")
    options = replace(OPTIONS, commit_noise=(0.0, 0.05), wide_work=1, more_work=1, work_per_token=0)
    search = GoalSearch(Task.of(model, 40), options=options)
    search.run()
    assert search.best.fixed is not None
    assert len(search.best.fixed) <= 30
    assert restrict.check(model, certified(search.task, search.best.fixed, search.best.cone)).startswith("s VERIFIED")
