"""Restrictions that repeat, for every position of programs that treat all positions alike."""

import pytest

from restrict.abstract.run import abstract_run
from restrict.base.errors import NotEstablished
from restrict.certificate.certificate import claim_of
from restrict.depth_reduction.ours.repeating import Pattern, periodic
from restrict.model.program import Head, Map, Model, Output
from restrict.model.task import Task
from tests.marks import heavy_after


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The patterns that the climbs begin with have the answers of the small sizes."""
    if not request.node.get_closest_marker("slow"):
        monkeypatch.setattr("restrict.depth_reduction.options.REPEATING.trials", 5)


def since() -> Model:
    """a since b, over x a b."""
    head = Head("since", "b", "k", key="stop", mask="past", ties="right")
    variables = (Map("b", ("token",), 2, "token == 2"), Map("stop", ("token",), 2, "token != 1"), head)
    return Model("since", ("x", "a", "b"), variables, Output("since", "every"))


def test_a_pattern_repeats_between_its_ends() -> None:
    model = Model("id", ("a", "b"), (), Output("token", "every"), start_marker="<")
    pattern = Pattern((0, -1), (1, -1, -1), (-1, 0))
    assert pattern.restriction(model.at(11)).text() == ".a*b**b**" + "*a"


@pytest.mark.parametrize("c", heavy_after([4, 0, 1, 9], 1))
def test_since_needs_one_symbol_in_c_plus_one(c: int) -> None:
    """Under `a since b` a position depends on the free ones since the last fixed `x` or `b`: c lie between two."""
    task = Task.of(since(), n := 80, target="all")
    found = periodic(task, c=c)
    worst = int(found.dependencies.max())
    assert worst == claim_of(abstract_run(task.instance, found.restriction, "all"), "all").c <= c
    assert len(found.restriction.fixed) <= n / (c + 1) + 2


@pytest.mark.parametrize("lengths", heavy_after(((50, 120), (500, 5000)), 1))
def test_a_free_share_gives_a_bound_that_does_not_grow(lengths: tuple[int, int]) -> None:
    found = {n: periodic(Task.of(since(), n, target="all"), free=int(0.9 * n)) for n in lengths}
    assert {int(one.dependencies.max()) for one in found.values()} == {9}
    assert all(one.restriction.free >= 0.9 * n for n, one in found.items())


def test_once_needs_one_symbol() -> None:
    model = Model("once", ("a", "b"), (Head("h", "token", "k", key="token", mask="past"),), Output("h", "every"))
    found = periodic(Task.of(model, 200, target="all"), c=0)
    assert (found.restriction.fixed, found.dependencies.max()) == ({0: "b"}, 0)
    assert found.pattern.text(model.alphabet) == "start b * * *, then (*) repeated, end * * * *"


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(
        NotEstablished, match=r"no repeating restriction found with 401 free positions .* allow a larger"
    ):
        periodic(Task.of(Model("x", ("a", "b"), (), Output("token", "every")), 400, target="all"), free=401)
