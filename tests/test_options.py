"""The options of a search: one table each, within its range, and each does what its row says."""

import ast
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import restrict
from restrict.abstract.options import RUN
from restrict.base.options import Option, changed, table
from restrict.corollary2.options import REFUTE
from restrict.cover.options import COVER
from restrict.depth_reduction.options import EXCHANGE, REPEATING, THEOREM
from restrict.force.options import CASES, INPUTS, OPTIONS, RELEASES, SearchOptions
from restrict.force.search import GoalSearch
from restrict.model.task import Task
from restrict.optimum.explain import explain
from restrict.optimum.options import DESCENT, ENUMERATION, WORDS, OptimumOptions
from restrict.optimum.options import OPTIONS as OPTIMUM
from restrict.rows.options import ROWS
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.restriction.options import FORCED
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.options import OPTIONS as VERDICT
from tests import verdict_cases
from tests.test_architecture import load_script

ablation = load_script("ablation")
PACKAGE = Path(restrict.__file__).parent
TABLES = (
    OPTIONS, CASES, INPUTS, RELEASES, OPTIMUM, WORDS, DESCENT, ENUMERATION, EXCHANGE, REPEATING, THEOREM, COVER, REFUTE,
    RUN, ROWS, INFLUENCE, FORCED, VERDICT,
)  # fmt: skip
LINES = [(type(options).__name__, option) for options in TABLES for option in table(type(options))]


def test_every_table_is_known_here() -> None:
    texts = [path.read_text() for room in ROOMS for path in (PACKAGE / room).rglob("options.py")]
    assert sum(text.count("\n@dataclass\n") for text in texts) == len(TABLES)


@pytest.mark.parametrize(("name", "option"), LINES, ids=lambda part: getattr(part, "name", part))
def test_each_option_is_within_its_range_and_off_is_another_value(name: str, option: Option) -> None:
    (options,) = (one for one in TABLES if type(one).__name__ == name)
    assert option.value == getattr(type(options)(), option.name)
    assert option.meaning
    assert option.off != option.value
    assert option.least is not None
    assert option.most is not None
    for which in (option.value, option.value if option.off is None else option.off):
        for value in which if isinstance(which, tuple) else (which,):
            assert option.least <= value <= option.most


ROOMS = (
    "abstract", "corollary2", "cover", "depth_reduction", "force", "optimum", "rows", "soft/influence",
    "soft/restriction", "soft/trained",
)  # fmt: skip
"""Rooms of searches, whose numbers are rows of their tables of options."""
PLAIN = (ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
"""What the value of a number is written with."""


def numbers(path: Path) -> list[str]:
    """The numbers that a module names, and that are not marked as facts (:data:`restrict.base.options.Fact`)."""
    found = []
    for line in ast.parse(path.read_text()).body:
        if not isinstance(line, ast.Assign | ast.AnnAssign) or line.value is None:
            continue
        fact = isinstance(line, ast.AnnAssign) and ast.unparse(line.annotation).startswith("Fact[")
        parts = list(ast.walk(line.value))
        number = any(isinstance(part, ast.Constant) and isinstance(part.value, int | float) for part in parts)
        if number and not fact and all(isinstance(part, PLAIN) for part in parts):
            targets = [line.target] if isinstance(line, ast.AnnAssign) else line.targets
            names = [name for one in targets for name in ast.walk(one) if isinstance(name, ast.Name)]
            found += [name.id for name in names if isinstance(name.ctx, ast.Store)]
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_search_has_no_number_outside_its_table(room: str) -> None:
    """Except facts: where another value would be wrong, as of a unit, a code or a number of a format."""
    modules = [path for path in (PACKAGE / room).rglob("*.py") if path.name != "options.py"]
    assert modules
    assert {path.name: found for path in modules if (found := numbers(path))} == {}


def test_numbers_are_found_in_a_module(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    lines = "A, B = 1, 2.5\nC: int = 2**20\nD: Fact[int] = -1\nE = len('x') + 1\nF = 'word'\nG, H = -1, (1, 2)\n"
    path.write_text(lines)
    assert numbers(path) == ["A", "B", "C", "G", "H"]


def test_the_ablation_doubles_every_number_and_stays_in_its_range() -> None:
    found = {option.name: dict(ablation.variants(option)) for option in table(SearchOptions)}
    assert found["more_work"] == {"off": 1, "doubled": 2 * SearchOptions().more_work}
    assert found["by_node"] == {"off": 0.0, "doubled": 1.0}
    assert found["noise"]["doubled"] == tuple(2 * x for x in OPTIONS.noise)
    assert all("doubled" in rows for rows in found.values())


def test_an_option_reaches_the_search() -> None:
    """Without work after the first answer the search walks less, and its answer is no better."""
    model = restrict.load("random:layers=2,heads=2,states=3,seed=1")
    full, short = GoalSearch(Task.of(model, 12)), GoalSearch(Task.of(model, 12))
    for search, work in ((full, 10_000), (short, 1)):
        with changed(OPTIONS, more_work=work, work_per_token=0):
            search.run()
    assert full.best.count is not None
    assert short.best.count is not None
    assert short.state.work < full.state.work
    assert short.best.count >= full.best.count


def test_an_option_that_a_process_shares_is_as_before_afterwards() -> None:
    """Also where something fails; and where one of the names is none, nothing is changed."""
    before = replace(VERDICT)

    def fails(**values: int) -> None:
        with changed(VERDICT, **values):
            assert all(getattr(VERDICT, name) == value for name, value in values.items())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails(cells=3, few=1)
    assert before == VERDICT
    with pytest.raises(AttributeError):
        fails(cells=3, none=1)
    assert before == VERDICT


def test_an_option_reaches_the_search_for_a_verdict() -> None:
    """Without few coordinates at first a case has all of them."""
    model, graph = verdict_cases.loaded("tomita2-1l1h16d")
    full = verify_trained(model, graph, 8)
    with changed(VERDICT, coarse=()):
        whole = verify_trained(model, graph, 8)
    assert sum(len(case.upper) for case in full.cases) < sum(len(case.upper) for case in whole.cases)
    assert full.to_bytes() == verify_trained(model, graph, 8).to_bytes()


def test_an_option_reaches_the_explanations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where inputs of this length get no minimum, none is sought."""
    model = restrict.load("random:layers=2,heads=2,states=3,seed=1")
    word = [sorted(model.alphabet)[0]] * (9 - len(model.markers))
    monkeypatch.setattr("restrict.optimum.explain.minimum", lambda *_: pytest.fail("sought"))
    with changed(OPTIMUM, length=0):
        assert explain(model, word)[0].certificate is not None
    with pytest.raises(pytest.fail.Exception, match="sought"):
        explain(model, word)


MODEL = ("random:layers=2,heads=2,states=3,seed=1", 9)


def test_the_ablation_sums_bounds_and_explanations() -> None:
    search = ablation.SEARCHES["optimum"]
    one, two = (ablation.found_with(search, {"widenings": 24}, *MODEL, seeds) for seeds in (1, 2))
    assert min(one.counts) > 0
    assert two.counts[0] > one.counts[0]
    assert two.seconds > 0


def test_the_ablation_sums_positions_and_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is found, all positions count."""

    class Found:
        def __init__(self, task: Task) -> None:
            self.best = SimpleNamespace(count=None if task.seed else 3)
            self.state = SimpleNamespace(work=10, scores=7)

        def run(self) -> None:
            assert self.state.work == 10

    monkeypatch.setattr(ablation, "GoalSearch", Found)
    search = ablation.SEARCHES["goal"]
    assert ablation.found_with(search, {}, "instances/contains-one.json", 9, 2).counts == (12, 20, 14)


def test_the_ablation_ends_a_search_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts with what it has: at first all positions. Later searches are not ended."""
    monkeypatch.setattr(ablation, "LIMIT", 1e-6)
    name = ablation.LARGE[0][0]
    assert ablation.goal(name, 50, 0)[0] == 50
    monkeypatch.setattr(ablation, "LIMIT", 1000)
    assert ablation.goal("contains-one", 50, 0)[0] == 1


def test_the_ablation_makes_programs_of_the_published_form() -> None:
    model = ablation.loaded("program:heads=1,mlps=1,seed=0", 6)
    assert len(model.variables) > 3
    assert model is ablation.loaded("program:heads=1,mlps=1,seed=0", 6)


def test_the_ablation_of_verdicts_counts_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong word that is shortest decides its own length, too; every other value is that of one option."""
    (model,) = (model for model in ablation.CHECKPOINTS if "contains-aba-1l" in model[0])
    search = ablation.SEARCHES["verdict"]
    proved, cells, size = ablation.found_with(search, {}, *model, 1).counts
    assert (proved, cells) == (3, 7)
    assert size > 1000
    seen: list[int] = []

    def verified(*_: object, **__: object) -> None:
        seen.append(VERDICT.cells)
        raise ZeroDivisionError

    monkeypatch.setattr(ablation, "verify_trained", verified)
    for values in ({"cells": 7}, {}):
        with pytest.raises(ZeroDivisionError):
            ablation.found_with(search, values, *model, 1)
    assert seen == [7, VERDICT.cells]


def test_the_ablation_runs_only_models_that_read_the_option() -> None:
    """And sums over those of them where a count is another one. What is noted is put back."""
    kind = type(OPTIMUM)
    runs: list[str] = []

    def one(name: str, n: int, seed: int) -> tuple[int, ...]:
        runs.append(name)
        return n, OPTIMUM.widenings if name == "reads" else OPTIMUM.words * 0 + 5

    search = ablation.Search(OPTIMUM, {}, ("bound", "size"), one)
    models = [("reads", 4), ("does not", 6)]
    base = {model: ablation.found_with(search, {}, *model, 1) for model in models}
    assert base["does not", 6].read == {"words"}
    (option,) = (option for option in table(OptimumOptions) if option.name == "widenings")
    runs.clear()
    row = ablation.row_of(search, base, option, 0, 1)
    assert runs == ["reads"]
    assert (row["read"], row["moved"], row["bound"], row["size"]) == (1, 1, [4, 4], [OPTIMUM.widenings, 0])
    assert ablation.shown(search, "off", row)[:5] == ["widenings", "off", "1 of 1", "4 > 4", "0.00"]
    row = ablation.row_of(search, base, option, OPTIMUM.widenings, 1)
    assert (row["read"], row["moved"], row["size"]) == (1, 0, [0, 0])
    assert type(OPTIMUM) is kind


def test_the_ablation_writes_its_table_between_two_comments(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- ablation goal -->\nold\n<!-- end -->\nbelow\n")
    ablation.written(page, "goal", ["| new |\n"])
    assert page.read_text() == "above\n<!-- ablation goal -->\n\n| new |\n\n<!-- end -->\nbelow\n"
