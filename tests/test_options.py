"""The options of the search: one table, each within its range, and each does what its row says."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import restrict
from restrict.force.options import OPTIONS, Option, table
from restrict.force.search import GoalSearch
from restrict.model.task import Task
from tests.test_architecture import load_script

ablation = load_script("ablation")


@pytest.mark.parametrize("option", table(), ids=lambda option: option.name)
def test_each_option_is_within_its_range_and_off_is_another_value(option: Option) -> None:
    assert option.value == getattr(OPTIONS, option.name)
    assert option.meaning
    assert option.off != option.value
    for value in option.value if isinstance(option.value, tuple) else (option.value,):
        assert option.least is not None
        assert option.most is not None
        assert option.least <= value <= option.most


def test_the_ablation_doubles_every_number_and_stays_in_its_range() -> None:
    found = {option.name: dict(ablation.variants(option)) for option in table()}
    assert found["more_work"] == {"off": 1, "doubled": 2 * OPTIONS.more_work}
    assert found["by_node"] == {"off": 0.0, "doubled": 1.0}
    assert found["noise"]["doubled"] == tuple(2 * x for x in OPTIONS.noise)
    assert all("doubled" in rows for rows in found.values())


def test_an_option_reaches_the_search() -> None:
    """Without work after the first answer the search walks less, and its answer is no better."""
    model = restrict.load("random:layers=2,heads=2,states=3,seed=1")
    full, short = (
        GoalSearch(Task.of(model, 12), options=options)
        for options in (replace(OPTIONS, more_work=work, work_per_token=0) for work in (10_000, 1))
    )
    full.run()
    short.run()
    assert full.best.count is not None
    assert short.best.count is not None
    assert short.state.work < full.state.work
    assert short.best.count >= full.best.count


def test_the_ablation_sums_positions_and_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is found, all positions count."""

    class Found:
        def __init__(self, task: Task, options: object) -> None:
            self.best = SimpleNamespace(count=None if task.seed else 3)
            self.state = SimpleNamespace(work=10)

        def run(self) -> None:
            assert self.state.work == 10

    monkeypatch.setattr(ablation, "GoalSearch", Found)
    assert ablation.measured(OPTIONS, [("instances/contains-one.json", 9)], 2)[:2] == (12, 20)
