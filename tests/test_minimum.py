"""The parts of the search for a minimum explanation against enumeration, and its promises on random small models."""

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, islice, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from restrict import load
from restrict.base.deadline import Deadline, OutOfTime
from restrict.force.looking import Looking
from restrict.model.program import Model
from restrict.model.task import Task
from restrict.optimum import minimum as searching
from restrict.optimum.explain import explain
from restrict.optimum.minimum import Blocks, minimum
from restrict.optimum.options import OPTIONS
from restrict.optimum.quickxplain import quickxplain
from restrict.sat.hitting_sets import Priced, reduced
from restrict.sat.limit import Budget
from tests.marks import heavy_after
from tests.test_explain import Case, by_position, check, random_case, sufficient, two_layers, word

Cube = dict[int, int]
SMALL: list[Case] = [*map(random_case, range(100, 112)), *map(two_layers, range(100, 124))]
MOST = heavy_after([*SMALL[::2], *SMALL[1::2]], 5)


def asked(model: Model, x: Cube, n: int, seed: int = 0) -> Blocks:
    """What is asked about one input: its blocks."""
    at = model.at(n)
    runs = Looking(at, n - 1)
    (label,) = runs.labels(x)
    return Blocks(Task(at, "last"), x, {}, label, np.random.default_rng(seed), runs)


def symbols(case: Case) -> Cube:
    """The input by position."""
    return dict(zip(by_position(case), case[2], strict=True))


def subsets(positions: Collection[int]) -> Iterator[frozenset[int]]:
    """All sets of some positions, the smallest first."""
    return (frozenset(part) for k in range(len(positions) + 1) for part in combinations(positions, k))


def some_subsets(positions: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Six sets of each size, at most."""
    return (part for k in range(len(positions) + 1) for part in islice(combinations(positions, k), 6))


def confirmed(blocks: Blocks) -> set[frozenset[int]]:
    """All sets of positions under which the plain abstract run shows the label, by enumeration."""
    x = blocks.word
    return {part for part in subsets(x) if blocks.shared.labels({i: x[i] for i in part}) == {blocks.label}}


@pytest.mark.parametrize("seed", range(40))
def test_the_part_is_minimal_and_prefers_early_positions(seed: int) -> None:
    """Over random monotone tests: the sets that pass are those that include one of a few sets."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    passing = [set(rng.choice(size, size=int(rng.integers(0, size + 1)), replace=False).tolist()) for _ in range(3)]
    passing.append(set(range(size)))
    order = rng.permutation(size).tolist()

    def passes(part: Collection[int]) -> bool:
        return any(one.issubset(part) for one in passing)

    found = quickxplain(lambda cube: cube if passes(cube) else None, {i: i for i in range(size)}, order)
    assert passes(found)
    assert not any(passes({*found} - {i}) for i in found)
    # The last position kept is as early in the order as that of any part that passes.
    last = [max(map(order.index, part), default=-1) for part in (found, *filter(passes, subsets(range(size))))]
    assert last[0] == min(last[1:])


def least_of_five(blocks: Blocks, rng: np.random.Generator) -> int:
    """The size of the smallest explanation of five orders of the positions."""
    x = list(blocks.word)
    orders = [x, x[::-1], *([int(i) for i in rng.permutation(x)] for _ in range(3))]
    return min(len(quickxplain(blocks.abstractly, blocks.word, order)) for order in orders)


@pytest.mark.heavy
def test_an_explanation_of_a_long_input_is_no_larger_than_five_orders_of_quickxplain() -> None:
    model, n = load("random:layers=2,heads=4,states=4,seed=1008"), 200
    x = dict(enumerate(np.random.default_rng(1008).integers(0, 2, n).tolist()))
    (found,) = explain(model, [model.alphabet[a] for a in x.values()])
    assert found.weight <= least_of_five(asked(model, x, n), np.random.default_rng(0))
    assert found.certificate is not None


@pytest.mark.parametrize("case", MOST)
def test_an_explanation_is_no_larger_than_five_orders_of_quickxplain(case: Case) -> None:
    """It holds by enumeration, no part of it is one for the abstract run, and none is lighter than it says."""
    x, truth = symbols(case), sufficient(case)
    (found,) = explain(case[1], word(case))
    check(case, found, truth)
    assert found.certificate is not None
    assert found.lower <= min(map(len, truth))
    blocks = asked(case[1], x, found.restriction.n)
    assert found.weight <= least_of_five(blocks, np.random.default_rng(7))
    shows = confirmed(blocks)
    assert not any(frozenset(found.positions) - {i} in shows for i in found.positions)
    assert found.weight <= min(map(len, shows))


@pytest.mark.parametrize("case", MOST)
def test_blocks_by_dives_change_the_label_and_leave_the_set_alone(case: Case) -> None:
    truth, x = sufficient(case), symbols(case)
    blocks = asked(case[1], x, len(x) + len(case[1].markers), 1)
    for part in some_subsets(x):
        block = blocks.by_dives(part, 6)
        if block is not None:
            assert frozenset(part) not in truth
            assert not set(block) & set(part)
            assert blocks.flips.of(block)
            assert all(block[i] != x[i] for i in block)


@pytest.mark.parametrize("case", MOST)
def test_every_set_that_the_run_confirms_hits_those_by_runs(case: Case) -> None:
    x = symbols(case)
    blocks = asked(case[1], x, len(x) + len(case[1].markers), 2)
    shows = confirmed(blocks)
    for part in some_subsets(x):
        sets = list(blocks.by_runs({i: x[i] for i in part}))
        assert bool(sets) == (frozenset(part) not in shows)
        assert all(not set(one) & set(part) for one in sets)
        assert sum(map(len, sets)) == len(set().union(*sets))
        assert all(show & set(one) for one in sets for show in shows)


def test_dives_find_blocks_that_random_words_do_not() -> None:
    """An and of thirty bits changes only where all are one."""
    blocks = asked(load("all-ones"), dict.fromkeys(range(30), 0), 30)
    assert blocks.by_words({0}, 200) is None
    assert blocks.by_dives({0}, 1) is None  # 0 explains
    assert set(blocks.by_dives(set(), 4) or ()) == set(range(30))


@pytest.mark.parametrize("case", heavy_after(SMALL[::3], 3))
@pytest.mark.parametrize("effort", [1, 2_000, 20_000, 200_000])
def test_what_little_effort_gives_is_true(case: Case, effort: int) -> None:
    """At whatever moment the effort ends, the bound holds and the set explains."""
    truth, x = sufficient(case), symbols(case)
    blocks = asked(case[1], x, len(x) + len(case[1].markers))
    blocks.shared.labels(x)
    found = minimum(blocks, x, x, {}, 200, effort)
    assert frozenset(found.cube) in truth
    assert found.lower <= min(map(len, truth))


@pytest.mark.parametrize("case", heavy_after(SMALL[::2], 4))
@pytest.mark.parametrize("time", [None, 0.0, 0.01])
def test_an_explanation_chosen_from_a_part_of_the_input_is_minimal(
    case: Case, time: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on long inputs: only what the output reads is chosen from; with weights and a time limit, too."""
    monkeypatch.setattr(OPTIONS, "quick_length", 1)
    truth, x = sufficient(case), symbols(case)
    shows = confirmed(asked(case[1], x, len(x) + len(case[1].markers)))
    for weights in ({}, {i: 1 + i % 3 for i in x}):
        (found,) = explain(case[1], word(case), weights=weights, time=time)
        check(case, found, truth)
        assert found.lower <= min(sum(weights.get(i, 1) for i in one) for one in truth)
        if time is None:
            assert not any(frozenset(found.positions) - {i} in shows for i in found.positions)
            assert explain(case[1], word(case), weights=weights)[0].positions == found.positions


class Stated(Blocks):
    """A run that shows the label under the sets that include one of a few; and one block, all else is left open."""

    def __init__(self, showing: list[set[int]], block: list[int]) -> None:
        size = len(set().union(*showing))
        at = load("all-ones").at(size)
        super().__init__(
            Task(at, "last"), dict.fromkeys(range(size), 0), {}, "", np.random.default_rng(0), Looking(at, size - 1)
        )
        self.showing, self.block, self.fits = showing, block, False

    def explains(self, cube: Cube) -> bool:
        return any(one <= cube.keys() for one in self.showing)

    def abstractly(self, cube: Cube) -> Cube | None:
        return cube if self.explains(cube) else None

    def singles(self, read: Mapping[int, int]) -> Iterator[int]:
        yield from ()

    def by_words(self, agreed: set[int], fails: int) -> Cube | None:
        return None if agreed.intersection(self.block) else dict.fromkeys(self.block, 1)

    def by_dives(self, cube: Collection[int], dives: int) -> Cube | None:
        return None


@pytest.mark.parametrize("seed", heavy_after(range(300), 60))
def test_the_lightest_set_that_a_run_shows_is_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all else is left open: the lightest of all, or of a part; no part of it will do; the bound is that of
    blocks, not of what the run shows."""
    for name in ("confirm_by_tree", "find_tree"):
        monkeypatch.setattr(searching, name, lambda *_: None)
    rng = np.random.default_rng(seed)
    size = int(rng.integers(5, 11))
    showing = [set(rng.choice(size, int(rng.integers(2, 5)), replace=False).tolist()) for _ in range(9)]
    showing.append(set(range(size)))
    block = sorted({min(one) for one in showing} | {max(one) for one in showing})
    prices = {i: int(rng.integers(1, 4)) for i in range(size)}
    blocks = Stated(showing, block)
    known = quickxplain(blocks.abstractly, blocks.word, rng.permutation(size).tolist())
    if seed % 2:
        blocks.among = {i: 0 for i in range(size) if i in known or rng.random() < 0.6}
    found = minimum(blocks, known, {}, prices, 200)
    weight = sum(prices[i] for i in found.cube)
    assert found.complete
    assert found.lower == min(prices[i] for i in block)
    assert blocks.explains(found.cube)
    assert not any(blocks.explains({j: 0 for j in found.cube if j != i}) for i in found.cube)
    assert weight <= sum(prices[i] for i in known)
    if not seed % 2:
        assert weight == min(sum(prices[i] for i in one) for one in showing)


def triples(seed: int) -> list[list[int]]:
    """Sets whose minimum hitting set takes thousands of conflicts."""
    rng = np.random.default_rng(seed)
    return [sorted(rng.choice(60, 4, replace=False).tolist()) for _ in range(240)]


def hitting_sets(sets: Collection[Collection[int]], blocked: Collection[Collection[int]] = ()) -> list[frozenset[int]]:
    """All sets of positions below 7 that hit all sets and include no blocked one, by trying them all."""
    hitting = (part for part in subsets(range(7)) if all(part.intersection(one) for one in sets))
    return [part for part in hitting if not any(part.issuperset(one) for one in blocked)]


@given(
    sets=st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4), max_size=9),
    blocked=st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), max_size=3),
    prices=st.dictionaries(st.integers(0, 6), st.integers(1, 3)),
)
def test_proposals_are_the_lightest_hitting_sets_that_are_not_blocked(
    sets: list[set[int]], blocked: list[set[int]], prices: dict[int, int]
) -> None:
    """Each is as light as brute force finds, until all that the blocked ones leave are out."""
    hitter = Priced(prices)
    for one in sets:
        hitter.add(one)
    for one in blocked:
        hitter.block(one)
    for _ in range(4):
        left = hitting_sets(sets, blocked)
        found = hitter.get()
        if found is None:
            assert not left
            return
        assert set(found) in left
        assert hitter.weight(found) == min(hitter.weight(one) for one in left)
        if not found:
            return
        hitter.block(found)
        blocked = [*blocked, set(found)]


@given(
    sets=st.lists(st.frozensets(st.integers(0, 6), min_size=1, max_size=4), max_size=9),
    prices=st.dictionaries(st.integers(0, 6), st.integers(1, 3)),
)
def test_reduced_sets_are_hit_as_lightly(sets: list[frozenset[int]], prices: dict[int, int]) -> None:
    """What hits them hits the sets, none includes another, and no position stands for all that another one hits."""
    left, hitter = reduced(sets, prices), Priced(prices)
    lightest = [min(hitter.weight(one) for one in hitting_sets(some)) for some in (sets, left)]
    assert lightest[0] == lightest[1]
    assert all(any(one >= other for other in left) for one in sets)
    assert not any(one < other for one in left for other in left)
    places = {i: {one for one in left if i in one} for one in left for i in one}
    for i, j in permutations(places, 2):
        assert not (places[i] <= places[j] and prices.get(j, 1) <= prices.get(i, 1))


def test_the_search_for_a_hitting_set_ends_with_its_budget_and_with_the_time() -> None:
    budget, late = Budget(200), Deadline.after(0)
    for hitter in (Priced({}, budget=budget), Priced({}, late)):
        for positions in triples(0):
            hitter.add(positions)
        with pytest.raises(OutOfTime):
            hitter.get()
    assert budget.conflicts <= 0


def test_conflicts_of_the_search_for_a_hitting_set_are_effort() -> None:
    """Where they are spent there is no further proposal, and what was known stays."""
    model, n = load("random:layers=2,heads=2,states=4,seed=1"), 60
    x = dict(enumerate(np.random.default_rng(1).integers(2, size=n).tolist()))
    blocks = asked(model, x, n)
    blocks.last = blocks.shared.spent + 200 * OPTIONS.conflict
    search = searching._Closing(blocks, {}, x)
    for positions in triples(1):
        search.hitter.add(positions)
    assert search.propose() is None
    assert blocks.left <= 0
    assert search.hard >= 200
    assert search.known == x
