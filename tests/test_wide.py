"""Wide models: maps with more argument values than can be tabulated, forced by boxes, followed runs and abstention.

Lowered limits make small programs wide, so that every path is judged by all words and by the trusted checker.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.base.errors import NotEstablished
from restrict.force import growth as wide
from restrict.force import state
from restrict.force.boxes import BoxFinder
from restrict.force.growth import LEFT_OUT
from restrict.model.fileformat import loads
from restrict.model.program import Map, Model
from restrict.model.restriction import Restriction
from tests import mutations, naive
from tests.generator import random_case, random_tokens
from tests.marks import rows_after


@pytest.fixture
def narrow_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every map is wide, nearly every row is abstained on."""
    monkeypatch.setattr("restrict.force.options.OPTIONS.image", 3)
    monkeypatch.setattr("restrict.force.options.OPTIONS.priced", 2)
    monkeypatch.setattr("restrict.force.options.OPTIONS.many_keys", 2)
    monkeypatch.setattr("restrict.force.options.OPTIONS.longest_walk", 3)
    monkeypatch.setattr("restrict.force.options.OPTIONS.table", 4)
    monkeypatch.setattr("restrict.abstract.options.RUN.points", 6)


def small_programs(seed: int, count: int, words: int = 128) -> list[tuple[dict[str, Any], Model, int]]:
    """Random programs with few words."""
    rng = np.random.default_rng(seed)
    some = (random_case(rng, inputs=words) for _ in itertools.count())
    cases = itertools.islice((case for case in some if naive.letters(*case)), count)
    return [(document, loads(mutations.encode(document)), n) for document, n in cases]


@pytest.mark.usefixtures("narrow_limits")
def test_what_is_found_with_lowered_limits_is_true() -> None:
    """Search, fresh run, trusted checker and all words agree."""
    forced = 0
    for document, model, n in small_programs(1, 20):
        try:
            found = restrict.certify(model, n, seed=n)
        except NotEstablished:
            continue
        assert found.c == 0
        assert restrict.check(model, found).startswith("s VERIFIED")
        assert len(naive.true_values(document, n, dict(found.restriction.fixed))["label", n - 1]) == 1
        forced += 1
    assert forced >= 15


@pytest.mark.usefixtures("narrow_limits")
def test_abstention_is_sound_for_given_restrictions() -> None:
    """Dependencies claimed with nodes left out of the cone include those that all words show."""
    rng, left_out = np.random.default_rng(2), 0
    for document, model, n in small_programs(3, 25):
        instance = model.at(n)
        fixed = {i: model.alphabet[a] for i, a in random_tokens(rng, instance, 0.5).items()}
        found = restrict.certify(model, n, restriction=Restriction.of(instance, dict(fixed)))
        assert restrict.check(model, found).startswith("s VERIFIED")
        left_out += found.cone != "all"
        assert found.claim.dependencies is not None
        agreed = {**dict.fromkeys(found.claim.dependencies, model.alphabet[0]), **fixed}
        assert len(naive.true_values(document, n, agreed)["label", n - 1]) == 1
    assert left_out >= 6


@pytest.mark.parametrize("table", [0, 4096])
def test_boxes_are_good_at_every_point(monkeypatch: pytest.MonkeyPatch, table: int) -> None:
    """Tabulated or sampled, a box keeps the map within the goal; its price is not negative."""
    monkeypatch.setattr("restrict.force.options.OPTIONS.table", table)
    seen = left_out = 0
    for seed in range(4):
        model = restrict.load(f"random:layers=2,heads=3,states=3,seed={seed}")
        instance = model.at(9)
        shared = state.ForcingState(instance)
        finder = BoxFinder(shared, np.random.default_rng(seed))
        for variable, allowed in itertools.product(model.variables, ([0], [1])):
            if not isinstance(variable, Map):
                continue
            for box in finder.boxes(variable, 4, frozenset(allowed), 8):
                full = (shared.values(a, 4) for a in variable.args)
                sides = [list(v) if s == LEFT_OUT else [s] for s, v in zip(box.sides, full, strict=True)]
                assert set(np.unique(instance.map_values(variable, 4, sides)).tolist()) <= set(allowed)
                assert box.price >= 0
                seen, left_out = seen + 1, left_out + (LEFT_OUT in box.sides)
    assert seen >= 60
    assert left_out >= 20


def test_cheapest_combinations_are_those_of_the_whole_product() -> None:
    """Keeping the cheapest beginnings loses none of the cheapest points."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        axes = [[(v, float(rng.integers(1, 9))) for v in range(int(rng.integers(1, 5)))] for _ in range(4)]
        points, prices = wide.cheapest_combinations(axes, 10)
        every = sorted(sum(p for _, p in point) for point in itertools.product(*axes))
        assert prices.tolist() == every[: len(prices)]
        assert len(prices) == min(10, len(every))
        cost = [dict(axis) for axis in axes]
        assert [sum(cost[a][v] for a, v in enumerate(point)) for point in points.tolist()] == prices.tolist()


def test_map_points_are_the_table_s() -> None:
    """A map at points and on the whole product."""
    maps = 0
    for _, model, n in small_programs(5, 15):
        instance = model.at(n)
        for variable in model.variables:
            if isinstance(variable, Map):
                table = instance.map_values(variable, n - 1, [range(instance.domains[a]) for a in variable.args])
                points = np.array(list(np.ndindex(*table.shape)), dtype=np.int64).reshape(table.size, table.ndim)
                assert instance.map_points(variable, n - 1, points).tolist() == table.reshape(-1).tolist()
                maps += 1
    assert maps >= 10


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("spec", "n", "most"),
    rows_after(
        [
            ("layers=2,heads=4,states=16", 100, 30),
            ("layers=2,heads=2,states=64", 300, 16),
            ("layers=1,heads=3,states=4,symbols=300", 30, 8),
            ("layers=2,heads=4,states=16", 300, 45),
            ("layers=2,heads=2,states=64", 2000, 20),
            ("layers=1,heads=3,states=4,symbols=300", 60, 12),
        ],
        3,
    ),
)
def test_wide_models_are_forced_by_few_positions(spec: str, n: int, most: int) -> None:
    """Models that were refused for their width; the trusted checker follows, since examined images are small."""
    model = restrict.load(f"random:{spec}")
    found = restrict.certify(model, n)
    assert found.c == 0
    assert len(found.restriction.fixed) <= most
    assert restrict.check(model, found).startswith("s VERIFIED")


@pytest.mark.heavy
def test_rows_of_many_symbols_leave_an_answer() -> None:
    """A thousand million scores per row: a search that drops boxes too early fixes 202 positions, in a minute."""
    model = restrict.load("random:layers=2,heads=2,states=64,symbols=1000,seed=3")
    found = restrict.certify(model, 1_000_000)
    assert len(found.restriction.fixed) <= 30
    assert " c=0 " in restrict.check(model, found, fast=True)


def test_a_given_restriction_of_a_wide_model() -> None:
    """Nodes whose image is out of reach are not in the cone."""
    model = restrict.load("random:layers=2,heads=12,states=16")
    found = restrict.certify(model, 4, restriction=Restriction.parse(model.at(4), "01*0"))
    assert found.cone != "all"
    assert found.cone.get("y2", ()) == ()
    assert found.c == 1
    assert restrict.check(model, found).startswith("s VERIFIED")
