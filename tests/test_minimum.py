"""The parts of the search for a minimum explanation against enumeration, and its promises on random small models."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from restrict import load
from restrict.force.looking import Looking
from restrict.model.program import Model
from restrict.model.task import Task
from restrict.optimum.explain import explain
from restrict.optimum.minimum import Blocks, minimum
from restrict.optimum.quickxplain import quickxplain
from tests.test_explain import Case, check, random_case, sufficient, two_layers, word

Cube = dict[int, int]
SMALL: list[Case] = [*map(random_case, range(100, 112)), *map(two_layers, range(100, 124))]


def asked(model: Model, x: Cube, n: int, seed: int = 0) -> Blocks:
    """What is asked about one input: its blocks."""
    at = model.at(n)
    runs = Looking(at, n - 1)
    (label,) = runs.labels(x)
    return Blocks(Task(at, "last"), x, {}, label, np.random.default_rng(seed), runs, among=x)


def symbols(case: Case) -> Cube:
    """The input by position."""
    model, x = case[1], case[2]
    free = model.at(len(x) + len(model.markers)).unpinned
    return dict(zip(free, x, strict=True))


def confirmed(blocks: Blocks) -> set[frozenset[int]]:
    """All sets of positions under which the plain abstract run shows the label, by enumeration."""
    x = blocks.word
    parts = (frozenset(part) for k in range(len(x) + 1) for part in combinations(x, k))
    return {part for part in parts if blocks.shared.labels({i: x[i] for i in part}) == {blocks.label}}


@pytest.mark.parametrize("case", SMALL)
def test_an_explanation_is_no_larger_than_five_orders_of_quickxplain(case: Case) -> None:
    """It holds by enumeration, no part of it is one for the abstract run, and none is lighter than it says."""
    x, truth = symbols(case), sufficient(case)
    (found,) = explain(case[1], word(case))
    check(case, found, truth)
    assert found.certificate is not None
    assert found.lower <= min(map(len, truth))
    blocks = asked(case[1], x, found.restriction.n)
    rng = np.random.default_rng(7)
    orders = [list(x), list(x)[::-1], *([int(i) for i in rng.permutation(list(x))] for _ in range(3))]
    assert found.weight <= min(len(quickxplain(blocks.abstractly, x, order)) for order in orders)
    shows = confirmed(blocks)
    assert not any(frozenset(found.positions) - {i} in shows for i in found.positions)
    assert found.weight <= min(map(len, shows))


@pytest.mark.parametrize("case", SMALL)
def test_blocks_by_dives_change_the_label_and_leave_the_set_alone(case: Case) -> None:
    truth, x = sufficient(case), symbols(case)
    blocks = asked(case[1], x, len(x) + len(case[1].markers), 1)
    for k in range(len(x) + 1):
        for part in list(combinations(x, k))[:6]:
            block = blocks.by_dives(part, 6)
            if block is None:
                continue
            assert frozenset(part) not in truth
            assert not set(block) & set(part)
            assert blocks.flips.of(block)
            assert all(block[i] != x[i] for i in block)


@pytest.mark.parametrize("case", SMALL)
def test_every_set_that_the_run_confirms_hits_those_by_runs(case: Case) -> None:
    x = symbols(case)
    blocks = asked(case[1], x, len(x) + len(case[1].markers), 2)
    shows = confirmed(blocks)
    for k in range(len(x) + 1):
        for part in list(combinations(x, k))[:6]:
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


@pytest.mark.parametrize("case", SMALL[::3])
@pytest.mark.parametrize("effort", [1, 2_000, 20_000, 200_000])
def test_what_little_effort_gives_is_true(case: Case, effort: int) -> None:
    """At whatever moment the effort ends, the bound holds and the set explains."""
    truth, x = sufficient(case), symbols(case)
    blocks = asked(case[1], x, len(x) + len(case[1].markers))
    blocks.shared.labels(x)
    found = minimum(blocks, x, x, {}, 200, effort)
    assert frozenset(found.cube) in truth
    assert found.lower <= min(map(len, truth))
