"""One task, one check of the arguments, one deadline: what every public function promises about them."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import restrict
from restrict.all_lengths.evidence import Evidence
from restrict.base.deadline import NEVER, Deadline, OutOfTime
from restrict.base.errors import InternalError, ModelError, NotEstablished, UsageError
from restrict.certificate.refutation import Refutation
from restrict.corollary2.refute import _search
from restrict.model.arguments import as_written, least_free
from restrict.model.task import Task
from restrict.soft.models.known import first
from restrict.soft.restriction.forced import decision_of, force_decision
from restrict.soft.restriction.restriction import certify_soft
from restrict.soft.trained import model as trained
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.every_length import verify_every_length
from restrict.soft.trained.graph import task_graph
from tests.clock import quicker_than

UNCHECKED = " (read from a file, not checked here)"

MODEL = "contains-one"
CALLS: tuple[Callable[[Any], object], ...] = (
    lambda model: restrict.certify(model, 5),
    lambda model: restrict.pareto(model, 5),
    lambda model: restrict.exact(model, 5),
    lambda model: restrict.refute(model, "parity", 5),
    lambda model: restrict.explain(model, "00100"),
    lambda model: restrict.sensitivity(model, "00100"),
    lambda model: restrict.tighten(model, restrict.certify(restrict.load(MODEL), 5)),
    lambda model: restrict.check(model, restrict.certify(restrict.load(MODEL), 5)),
    lambda model: restrict.automaton(model, states=9),
    lambda model: restrict.verify(model, "parity"),
    lambda model: restrict.verify(model, equals=restrict.load(MODEL)),
    lambda model: restrict.verify(restrict.load("flip-flop"), equals=model or 0),
    lambda model: restrict.wrong_lengths(model, "parity"),
    lambda model: restrict.certify_all_lengths(model, states=9),
    lambda model: restrict.certify_costs(model, "accept"),
)
OTHERS: dict[str, Callable[[Any], object]] = {
    "expected a Certificate, a Refutation or a LowerBound": lambda given: restrict.check(restrict.load(MODEL), given),
    "expected a Certificate, not": lambda given: restrict.tighten(restrict.load(MODEL), given),
    "expected an Instance first": lambda given: restrict.certificate_of(given, given, "all"),
    "expected a Language": lambda given: restrict.facts(given, 5),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("given", ["m.json", 5, None])
def test_another_object_in_place_of_a_model_is_a_usage_error_that_says_so(
    call: Callable[[Any], object], given: Any
) -> None:
    with pytest.raises(UsageError, match="expected a Model first") as caught:
        call(given)
    assert ("restrict.load('m.json')" in str(caught.value)) == (given == "m.json")


@pytest.mark.parametrize("message", OTHERS)
@pytest.mark.parametrize("given", ["c.json", 5, None])
def test_another_first_argument_of_a_wrong_kind_is_a_usage_error_that_says_so(message: str, given: Any) -> None:
    with pytest.raises(UsageError, match=message):
        OTHERS[message](given)


def checkable() -> dict[str, Callable[[], tuple[Any, Any, str]]]:
    """Ways to a model, a result, and how the checker's line begins: of every kind that has a file."""
    program, folder = restrict.load("instances/brasp-dyck1-depth2.json"), Path("instances/trained")
    right, broken = folder / "tomita2-1l1h16d.safetensors", folder / "tomita1-1l1h16d-nope.safetensors"

    def of(model: Any, found: Callable[[Any], Any], line: str) -> tuple[Any, Any, str]:
        return model, found(model), f"s VERIFIED {line}"

    return {
        "right": lambda: of(program, lambda m: restrict.verify(m, "dyck:1,depth=2"), ""),
        "wrong": lambda: of(program, lambda m: restrict.verify(m, "dyck:1,depth=3"), ""),
        "lengths": lambda: of(program, lambda m: restrict.wrong_lengths(m, "dyck:1,depth=3"), ""),
        "verdict": lambda: of(trained.load(right), lambda m: verify_trained(m, task_graph(m), 4), "right n=0..4 "),
        "every length": lambda: of(
            trained.load(broken), lambda m: verify_every_length(m, task_graph(m)), "right n>=0 "
        ),
        "forced": lambda: of(
            trained.load(right), lambda m: force_decision(m, 4, decision_of(m, None), check=False), "forced "
        ),
        "soft": lambda: of(first(), lambda m: certify_soft(m, 3, "1/2", seconds=0.1, tries=1, check=False), "n=3 "),
    }


@pytest.mark.parametrize("kind", checkable())
def test_check_takes_every_kind_of_result_that_has_a_file(kind: str) -> None:
    model, found, line = checkable()[kind]()
    assert restrict.check(model, found).startswith(line)


@pytest.mark.parametrize("kind", checkable())
def test_every_result_that_has_a_file_is_saved_loaded_reported_and_shown(kind: str, tmp_path: Path) -> None:
    """A verdict that was loaded has what the file says, and no weights; a proof for all lengths cannot be loaded."""
    model, found, line = checkable()[kind]()
    found.save(tmp_path / "r.json")
    said, file = found.document(), json.loads((tmp_path / "r.json").read_bytes())
    assert file == said["proof"] if "proof" in said else said.items() >= file.items()
    html, page = found._repr_html_(), found.report()
    assert html.startswith("<table")
    assert page.claim
    assert page.html().startswith("<!doctype html>")
    if kind in ("right", "wrong", "lengths"):
        with pytest.raises(ModelError, match=r"r\.json: .*a proof holds no automaton"):
            type(found).load(tmp_path / "r.json")
        return
    again = type(found).load(tmp_path / "r.json")
    assert again.to_bytes() == found.to_bytes() == (tmp_path / "r.json").read_bytes()
    read = again._repr_html_()
    assert read.count(UNCHECKED) == 1, "what is shown of a file says that nobody checked it"
    assert (read.replace(UNCHECKED, ""), restrict.check(model, again).startswith(line)) == (html, True)
    if kind != "soft":
        with pytest.raises(AttributeError, match="'model' is not in the file of a"):
            _ = again.model
        assert repr(again) == repr(found) + UNCHECKED
        with pytest.raises(UsageError, match="needs its model"):
            again.report()
        assert again.report(model).claim == page.claim


def test_check_says_why_there_is_no_proof() -> None:
    model = restrict.load("instances/brasp-dyck1-depth2.json")
    found = replace(restrict.verify(model, "dyck:1,depth=2"), evidence=Evidence(reason="a reason"))
    with pytest.raises(NotEstablished, match="no proof: a reason"):
        restrict.check(model, found)
    without = replace(model, content=None)
    with pytest.raises(ModelError, match="a model without a file"):
        restrict.check(without, restrict.verify(model, "dyck:1,depth=2"))


@pytest.mark.parametrize("n", ["5", 5.0, True, 0, -1, None])
def test_a_length_that_is_no_positive_integer_is_a_usage_error(n: Any) -> None:
    with pytest.raises(UsageError, match=r"^n = .* must be an integer of at least 1$"):
        restrict.certify(restrict.load(MODEL), n)


def test_the_api_is_listed_before_its_first_use_and_nothing_else() -> None:
    code = "import restrict; print(' '.join(dir(restrict)))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(restrict.__all__) <= set(listed)
    modules = {path.stem for path in Path(str(restrict.__file__)).parent.iterdir()}
    assert {name for name in listed if not name.startswith("__")} - set(restrict.__all__) <= modules


def test_for_every_position_c_0_means_0_and_no_c_means_nine_tenths_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.depth_reduction.options.REPEATING.trials", 2)
    model = restrict.load("tagger")
    forced = restrict.certify(model, 3, target="all", c=0)
    assert forced.c == 0
    usual = restrict.certify(model, 6, target="all")
    assert usual.free == 6
    assert usual.c > 0


@pytest.mark.parametrize(
    ("written", "positions", "needed"),
    [(0.9, 10, 9), (0.1, 10, 1), (0.3, 10, 3), ("0.29", 100, 29), (Fraction(1, 3), 3, 1), (0.7, 10**8, 7 * 10**7)],
)
def test_a_fraction_is_the_decimal_as_written(written: Any, positions: int, needed: int) -> None:
    """In binary 0.1 + 0.2 and 0.29 * 100 have other values than in decimals."""
    assert least_free(positions, written) == needed


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "inf", "nan", "1/2", "", "9" * 5000])
def test_a_fraction_that_is_not_a_usable_number_is_refused_at_once(text: str) -> None:
    with quicker_than(0.5), pytest.raises(UsageError):
        as_written(text)


def test_a_deadline_is_shared_out_and_never_extended() -> None:
    whole = Deadline.after(100)
    assert (whole.share(0.5).left or 0) <= 50 < (whole.left or 0) <= 100
    assert NEVER.share(0.1) is NEVER
    NEVER.check()
    over = Deadline.after(0)
    time.sleep(0.001)
    assert over.passed
    assert over.left == 0
    with pytest.raises(OutOfTime):
        over.share(0.5).check()


@pytest.mark.heavy
def test_refute_takes_the_time_that_it_is_given_and_says_that_the_exact_part_did_not_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It took twice to three times as long: the exact part, the search and the example each had all of it."""

    def endless(task: Task, language: Any) -> Any:
        while True:
            task.deadline.check()

    restrict.refute(restrict.load(MODEL), "parity", 4)  # compiling is not part of the time
    model = restrict.load("random:layers=2,heads=2,states=4,seed=1")
    monkeypatch.setattr("restrict.corollary2.exact.by_sat", endless)
    monkeypatch.setattr("restrict.base.deadline.time", SimpleNamespace(monotonic=time.process_time))
    with quicker_than(1.5):
        found = restrict.refute(model, "parity", 40, exact=True, time=1)
    if isinstance(found, Refutation):
        assert found.provenance["exact"] == "out of time"
    else:
        assert "the exact part ran out of time" in found.reason


def test_the_search_for_a_refutation_says_when_it_had_no_time() -> None:
    task = Task.of(restrict.load("all-ones"), 200, time=0).noting(exact="out of time")
    found = _search(task, restrict.language("1*"), 0)
    assert "the exact part ran out of time" in getattr(found, "reason", "")


def test_a_disagreement_within_the_package_is_a_bug_and_exits_1(monkeypatch: pytest.MonkeyPatch) -> None:
    from restrict.force.search import GoalSearch

    def wrong(search: GoalSearch) -> None:
        search.best.fixed, search.best.cone, search.best.values = {}, {}, (1,)

    monkeypatch.setattr(GoalSearch, "run", wrong)
    with pytest.raises(InternalError, match="please report the model") as caught:
        restrict.certify(restrict.load(MODEL), 50)
    assert caught.value.exit_code == 1
