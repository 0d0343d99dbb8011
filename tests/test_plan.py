"""Plans for deep programs, and exact prices in the first layer: against searches over all, and the dives along them."""

import itertools
import signal
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

import restrict
from restrict.base.errors import ModelError
from restrict.base.options import changed
from restrict.certificate.certificate import certified
from restrict.force import committed as module
from restrict.force.committed import committed
from restrict.force.first_layer import FirstLayer, listed
from restrict.force.goal import Goal, Manner, Solver
from restrict.force.growth import LEFT_OUT
from restrict.force.options import OPTIONS
from restrict.force.plan import IMPOSSIBLE, OutOfRows, Planner, plannable
from restrict.force.search import GoalSearch
from restrict.force.state import ForcingState
from restrict.model.examples.random import random_model
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Head, Instance, Model
from restrict.model.task import Task
from tests import naive
from tests.marks import heavy_after, rows_after

Values = frozenset[int]


def planner(state: ForcingState, rows: int = 10**6) -> Planner:
    return Planner(state, np.random.default_rng(0), rows, lambda: False)


def subsets(values: range) -> Iterator[Values]:
    """All that are not empty."""
    return (frozenset(s) for size in range(1, len(values) + 1) for s in itertools.combinations(values, size))


class Trees:
    """The fewest tokens of a tree of goals, by trying everything; nothing is shared with the package."""

    def __init__(self, document: naive.Model, n: int) -> None:
        self.document, self.n = document, n
        self.of = {v["name"]: v for v in document["variables"]}
        self.sizes = {"token": len(document["alphabet"])} | {
            v["name"]: v["domain"] for v in document["variables"] if v["kind"] == "map"
        }
        self.cost = cache(self._cost)

    def _cost(self, name: str, i: int, wanted: Values) -> float:
        if len(wanted) == self.sizes[name]:
            return 0.0
        if name == "token" or not wanted:
            return 1.0 if wanted else IMPOSSIBLE
        variable = self.of[name]
        rule, (root, *heads) = naive.map_function(variable, self.n), variable["args"]
        best = IMPOSSIBLE
        sides = [list(subsets(range(self.sizes[root])))] * (1 + len(heads))
        for box in itertools.product(*sides):
            if {rule(i, *point) for point in itertools.product(*box)} <= wanted:
                rows = [
                    self.row(head, i, u, side)
                    for head, side in zip(heads, box[1:], strict=True)
                    for u in box[0]
                    if len(side) < self.sizes[root]
                ]
                best = min(best, self.cost(root, i, box[0]) + sum(rows))
        return best

    def row(self, name: str, i: int, u: int, wanted: Values) -> float:
        head = self.of[name]
        score, domain = naive.score_function(head["score"], self.n), range(self.sizes[head["key"]])
        pairs = [(j, w) for j in range(self.n) for w in domain if j != i or w == u]
        pairs.sort(key=lambda pair: (-score(i, u, *pair), pair))
        best, bad = IMPOSSIBLE, dict[int, set[int]]()
        passed: dict[int, int] = {}
        for j, w in pairs[: OPTIONS.plan_pairs]:
            if w in wanted:
                excluded = [self.cost(head["key"], p, frozenset(domain) - out) for p, out in bad.items() if p != j]
                best = min(best, sum(excluded) + (0.0 if j == i else self.cost(head["key"], j, frozenset({w}))))
            elif j == i:
                break
            else:
                bad.setdefault(j, set()).add(w)
            passed[j] = passed.get(j, 0) + 1
            if j == i or passed[j] == len(domain):
                break
        return best


@pytest.mark.parametrize(
    ("layers", "heads", "states", "n"),
    rows_after([(2, 2, 3, 5), (3, 2, 2, 6), (4, 1, 3, 4), (2, 2, 3, 7), (3, 2, 2, 9), (4, 1, 3, 6), (3, 1, 4, 8)], 3),
)
@pytest.mark.parametrize("seeds", heavy_after((1, 3), 1))
def test_a_plan_that_counts_nothing_for_what_is_not_opened_is_the_best_tree(
    layers: int, heads: int, states: int, n: int, seeds: int
) -> None:
    for seed in range(seeds):
        document = random_model(layers, heads, states, seed)
        trees = Trees(document, n)
        instance = restrict.load(f"random:layers={layers},heads={heads},states={states},seed={seed}").at(n)
        plans = planner(ForcingState(instance))
        plans.share = 0.0
        for value in (0, 1):
            found = plans.solve(Goal(f"y{layers}", n - 1, frozenset({value})), 10**6)
            assert min(found, IMPOSSIBLE) == min(trees.cost(f"y{layers}", n - 1, frozenset({value})), IMPOSSIBLE)


@pytest.mark.parametrize("seed", heavy_after(range(4), 1))
def test_a_dive_along_a_plan_takes_no_more_tokens_than_planned(seed: int) -> None:
    instance = restrict.load(f"random:layers=4,heads=2,states=3,seed={seed}").at(20_000)
    state = ForcingState(instance)
    plans = planner(state)
    costs = {v: plans.solve(Goal("y4", 19_999, frozenset({v})), 3) for v in (0, 1)}
    value = min(costs, key=costs.__getitem__)
    solver = Solver(state, np.random.default_rng(0), Manner((1,), 0.0, 10**7, plan=plans.plan))
    assert solver.solve(Goal("y4", 19_999, frozenset({value})), 20_000)
    assert tuple(state.values("y4", 19_999)) == (value,)
    assert 0 < state.fixed <= costs[value] < IMPOSSIBLE


@pytest.mark.parametrize("n", heavy_after((1_000, 5_000), 1))
def test_more_effort_never_makes_a_plan_dearer(n: int) -> None:
    instance = restrict.load("random:layers=4,heads=2,states=2,seed=5").at(n)
    plans, goal, costs = planner(ForcingState(instance)), Goal("y4", n - 1, frozenset({1})), []
    for effort, plans.share in OPTIONS.plans[:6]:
        plans.solve(goal, effort)
        costs.append(plans.cost(goal))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_a_planner_ends_with_its_rows_and_the_search_goes_on_without_it() -> None:
    model = restrict.load("random:layers=4,heads=2,states=2,seed=1")
    with pytest.raises(OutOfRows):
        planner(ForcingState(model.at(500)), 20).solve(Goal("y4", 499, frozenset({1})), 2)
    for few in ({"plan_rows": 20, "deep_scores": 1}, {"plan_rows": 0, "deep_scores": 1}, {"deep_scores": 10**6}):
        fixed, rows = found_by(16, **few)
        assert fixed is not None
        assert rows < 4_000


def test_planning_one_label_says_nothing_about_the_other() -> None:
    plans = planner(ForcingState(restrict.load("random:layers=5,heads=2,states=2,seed=1").at(1_000)))
    one, other = (Goal("y5", 999, frozenset({v})) for v in (0, 1))
    assert plans.cost(one) == plans.cost(other) == 0
    plans.solve(one, 2)
    assert plans.cost(one) > 0 == plans.cost(other)


@pytest.mark.parametrize(("n", "alone"), rows_after([(60, 17), (300, 40)], 1))
def test_all_labels_are_planned(n: int, alone: int) -> None:
    """Where plans for one label alone are followed, so many positions and more are fixed."""
    assert (found_once(n, 1, plan_rows=2_000)[0] or n) < alone


def with_heads(document: naive.Model, **changes: object) -> Model:
    """A model all of whose heads are changed."""
    for variable in document["variables"]:
        variable |= changes if variable["kind"] == "head" else {}
    return loads(dumps(document))


@pytest.mark.parametrize("longest", heavy_after((3, 20), 1))
@pytest.mark.parametrize("mask", ["strict_past", "past", "strict_future"])
def test_heads_that_see_nothing_are_planned_with_their_default(mask: str, longest: int) -> None:
    for seed, n in ((0, 1), (0, 2), (1, longest)):
        state = ForcingState(with_heads(random_model(5, 2, 2, seed), mask=mask, default=1).at(n))
        plans = planner(state)
        costs = {g: plans.solve(g, 4) for g in (Goal("y5", n - 1, frozenset({v})) for v in (0, 1))}
        goal = min(costs, key=costs.__getitem__)
        assert mask != "strict_future" or costs[goal] <= 1  # the own token
        assert Solver(state, np.random.default_rng(0), Manner((1,), 0.0, 10**6, plan=plans.plan)).solve(goal, n)
        assert tuple(state.values("y5", n - 1)) == tuple(goal.allowed)
        assert state.fixed <= costs[goal] < IMPOSSIBLE


@pytest.mark.parametrize(("n", "seed"), rows_after([(60, 1), (150, 3), (500, 3)], 1))
def test_deep_programs_fix_fewer_positions_with_plans(n: int, seed: int) -> None:
    planned, rows = found_once(n, seed, plan_rows=2_000)
    searched, _ = found_by(n, seed, planned=100, deep_scores=1)
    assert (planned or n) < (searched or 0)
    assert rows > 100


def found_by(n: int, seed: int = 3, **options: int) -> tuple[int | None, int]:
    """What the first dives find, and the rows of the planner's last level."""
    with changed(OPTIONS, scores=1, more_work=1, work_per_token=0, **options):
        search = GoalSearch(Task.of(restrict.load(f"random:layers=5,heads=2,states=2,seed={seed}"), n))
        search.run()
    return search.best.count, len(search.state.rows._lists)


found_once = cache(found_by)
"""The same for tests that change nothing of the planner."""


def test_which_programs_are_planned() -> None:
    def told(source: str, n: int = 9) -> bool:
        return plannable(restrict.load(source).at(n))

    assert told("random:layers=5,heads=2,states=4")
    assert told("random:layers=4,heads=2,states=2,brackets=1")
    assert told("random:layers=2,heads=2,states=8,symbols=8")
    assert told("random:layers=4,heads=4,states=8")
    assert not told("random:layers=4,heads=8,states=16")  # too many values
    assert not told("random:layers=2,heads=2,states=4,symbols=9")
    assert not told("random:layers=2,heads=5,states=8")  # too many boxes
    assert told("random:layers=5,heads=2,states=2,classes=13")
    assert not told("random:layers=5,heads=2,states=2,classes=14")  # too many sets of labels
    assert not told("tagger")  # maps of several variables
    assert not told("parity8")


def test_a_model_without_a_value_at_the_length_of_the_samples_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples come from a shorter word, where a rule that divides by n - 20 has no value."""
    model = with_heads(random_model(2, 2, 2, 1), score="(k + q) * 1000 // (n - 20) + j % 7")
    monkeypatch.setattr("restrict.force.options.OPTIONS.plan_word", 20)
    search = GoalSearch(Task.of(model, 40))
    assert search.planned
    search.run()
    assert search.best.fixed is not None
    with pytest.raises(ModelError):
        GoalSearch(Task.of(model, 20)).run()


def at_the_second_level(monkeypatch: pytest.MonkeyPatch, happens: Callable[[Planner], object]) -> None:
    """Something happens while plans of the second level are made."""
    solve = Planner.solve

    def solved(self: Planner, goal: Goal, effort: int) -> float:
        if effort == 3:
            happens(self)
        return solve(self, goal, effort)

    monkeypatch.setattr(Planner, "solve", solved)


def test_ctrl_c_while_a_plan_is_made_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_second_level(monkeypatch, lambda _: signal.raise_signal(signal.SIGINT))
    model = restrict.load("random:layers=5,heads=2,states=2,seed=3")
    found = restrict.certify(model, 30)
    assert found.provenance["stopped"] == "interrupted"
    assert restrict.check(model, found)


def test_the_time_ends_a_plan_and_the_best_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_second_level(monkeypatch, lambda plans: monkeypatch.setattr(plans, "over", lambda: True))
    fixed, rows = found_by(30)
    assert fixed is not None
    assert rows < 2_000


@pytest.mark.parametrize("seed", range(3))
def test_costs_of_rows_that_are_kept_are_those_of_the_nodes_as_they_stand(seed: int) -> None:
    """After every level, with another share: each row gives what it gives when it is worked out anew."""
    instance = restrict.load(f"random:layers=3,heads=2,states=3,seed={seed}").at(40)
    plans, output = planner(ForcingState(instance)), instance.model.output.variable
    for effort, plans.share in ((1, 1.0), (2, 0.7), (3, 0.7)):
        plans.solve(Goal(output, 39, frozenset([0])), effort)
        rows = [row for node in plans.nodes.values() for row in node.rows.values() if row.j]
        assert any(row.key != "token" for row in rows)
        for row in rows:
            cost, anchors = row.given(plans.matrix(row.key, row.j))
            assert np.array_equal(row.costs(plans)[0], cost)
            assert np.array_equal(row.costs(plans)[1], anchors)


# ----------------------------------------------------------------
# Exact prices in the first layer, against restrictions tried one by one, and the dives that go by them.


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
    with changed(OPTIONS, crowded=0):
        assert not GoalSearch(Task.of(model, 1_000)).crowded


@pytest.mark.heavy
def test_a_crowded_word_has_an_answer_only_with_prices() -> None:
    task = Task.of(restrict.load(CROWDED), 700)
    search = GoalSearch(task)
    with changed(OPTIONS, crowded=0):
        without = GoalSearch(task)
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
    with changed(OPTIONS, huge=100, crowded=99, wide_scores=1):
        search = GoalSearch(Task.of(restrict.load(DEEP), 1_000))
        assert search.commits
        search.run()
    assert tried
    assert len(tried) == len(set(tried))
    assert search.best.fixed is not None
    assert len(search.best.fixed) < 400
    found = certified(search.task, search.best.fixed, search.best.cone)  # by a fresh abstract run
    assert restrict.check(search.instance.model, found).startswith("s VERIFIED n=1000 target=last")


def test_a_dive_ends_where_it_fails_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.force.options.OPTIONS.repairs", 0)
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
        ("random:layers=4,heads=4,states=9", True),  # deep, and too many values for plans
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
    search = GoalSearch(Task.of(model, 40))
    with changed(OPTIONS, commit_noise=(0.0, 0.05), wide_work=1, more_work=1, work_per_token=0):
        search.run()
    assert search.best.fixed is not None
    assert len(search.best.fixed) <= 30
    assert restrict.check(model, certified(search.task, search.best.fixed, search.best.cone)).startswith("s VERIFIED")
