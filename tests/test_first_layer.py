"""Exact prices in the first layer, against restrictions tried one by one, and the dives that go by them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import restrict
from restrict.certificate.certificate import certified
from restrict.force import committed as module
from restrict.force.committed import committed
from restrict.force.first_layer import FirstLayer, listed
from restrict.force.goal import Goal, Manner, Solver
from restrict.force.growth import LEFT_OUT
from restrict.force.options import OPTIONS
from restrict.force.search import GoalSearch
from restrict.force.state import ForcingState
from restrict.model.program import Head, Instance
from restrict.model.task import Task
from tests.marks import heavy_after

CROWDED = "random:layers=3,heads=8,states=16,seed=0"
"""Its output takes 729 tokens where nothing is shared."""


def layer(n: int, seed: int, fixed: dict[int, int]) -> FirstLayer:
    """The first layer of a small model."""
    state = ForcingState(restrict.load(f"random:layers=2,heads=2,states=3,seed={seed}").at(n))
    state.tokens.update({i: (a,) for i, a in fixed.items()})
    return listed(state)["y1"]


def fewest(instance: Instance, head: Head, i: int, u: int, v: int, fixed: dict[int, int]) -> float:
    """The fewest more tokens under which every win of a row has the value ``v``, by trying all."""
    state = ForcingState(instance)
    found = np.inf
    for word in itertools.product((None, 0, 1), repeat=instance.n):
        if all(word[p] == a for p, a in fixed.items()):
            state.tokens = {p: (a,) for p, a in enumerate(word) if a is not None}
            if set(state.row_values(head, i, u, 2, set())) == {v}:
                found = min(found, len(state.tokens) - len(fixed))
    return found


@pytest.mark.parametrize("seed", heavy_after(range(3), 1))
@pytest.mark.parametrize("fixed", [{}, {1: 0, 3: 1}, {0: 1, 2: 1, 4: 0}], ids=len)
def test_the_price_of_a_row_is_the_fewest_tokens(seed: int, fixed: dict[int, int]) -> None:
    first = layer(5, seed, fixed)
    for i in range(5):
        rows = first.rows(i)
        for u, (h, head), v in itertools.product(range(2), enumerate(first.heads), range(2)):
            # Where the position has another symbol than the query, the row is never asked for.
            if fixed.get(i, u) == u:
                free = {p: a for p, a in fixed.items() if p != i}
                assert rows[u, h, v] == fewest(first.state.instance, head, i, u, v, free), (i, u, h, v)


def test_images_and_boxes() -> None:
    """Every box keeps the map within its goal, none is cheaper than the price, and prices of sets are monotone."""
    first = layer(40, 2, {3: 1, 7: 0, 21: 1})
    instance, variable = first.state.instance, first.variable
    for i, allowed in itertools.product((0, 3, 39), (frozenset({0}), frozenset({1, 2}), frozenset({0, 1, 2}))):
        boxes = first.boxes(i, allowed, 30)
        assert [price for price, _ in boxes] == sorted(price for price, _ in boxes)
        assert boxes[0][0] == first.price(i, allowed)
        for _, sides in boxes:
            sets = [(0, 1) if side == LEFT_OUT else (side,) for side in sides]
            assert allowed.issuperset(np.unique(instance.map_values(variable, i, sets)).tolist())
        assert first.price(i, allowed) <= min(first.price(i, frozenset({v})) for v in allowed)
    assert first.price(5, frozenset({0, 1, 2})) == 0


def test_a_price_follows_the_tokens() -> None:
    first = layer(40, 1, {})
    least = first.prices(20)
    assert set(least) == {0, 1, 2}
    assert min(least.values()) >= 1
    _, sides = first.boxes(20, frozenset({0}), 1)[0]
    token = sides[first.variable.args.index("token")]
    first.state.fix(20, 1 - token if token != LEFT_OUT else 0)
    assert first.price(20, frozenset({0})) >= least[0] - 1
    assert set(first.prices(20)) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("name", "n", "applies"),
    [
        (CROWDED, 10_000, True),
        (CROWDED, 20_000, False),  # more scores than are spent
        ("random:layers=3,heads=4,states=12,symbols=9", 1_000, False),  # 10^5 boxes
        ("and-of-ors", 100, False),  # no map reads the token and heads that it is the query of
    ],
)
def test_which_programs_are_priced(name: str, n: int, applies: bool) -> None:
    assert bool(listed(ForcingState(restrict.load(name).at(n)))) == applies


def test_a_word_is_crowded_where_the_output_takes_most_of_it() -> None:
    model = restrict.load(CROWDED)
    assert GoalSearch(Task.of(model, 1_000)).crowded
    assert not GoalSearch(Task.of(model, 10_000)).crowded
    assert not GoalSearch(Task.of(model, 1_000), options=replace(OPTIONS, crowded=0)).crowded


@pytest.mark.heavy
def test_a_crowded_word_has_an_answer_only_with_prices() -> None:
    task = Task.of(restrict.load(CROWDED), 700)
    without, search = GoalSearch(task, options=replace(OPTIONS, crowded=0)), GoalSearch(task)
    without._commit(np.random.default_rng(0))
    assert without.best.fixed is None
    search.run()
    assert search.best.fixed is not None
    assert len(search.best.fixed) < 600
    found = certified(task, search.best.fixed, search.best.cone)
    assert restrict.check(task.instance.model, found).startswith("s VERIFIED n=700 target=last")


# ----------------------------------------------------------------
# Committed dives: the first answers for wide programs of two layers or more.


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
