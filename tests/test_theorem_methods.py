"""The methods of Theorem 1 for all positions: the lemma by its stages, time limits, Ctrl-C, and what c = 0 means."""

import json
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from numba import config

import restrict
from restrict.base.deadline import OutOfTime
from restrict.base.errors import NotEstablished, UsageError
from restrict.depth_reduction import candidates, theorem1
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.c_transformer.layers import collapsed
from restrict.depth_reduction.lemma.by_lemma import by_lemma, remove_layer
from restrict.depth_reduction.lemma.selection import selection
from restrict.depth_reduction.ours.by_exchange import by_exchange
from restrict.depth_reduction.ours.repair import freed, holds, repaired
from restrict.depth_reduction.theorem1 import certify_all
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from tests.clock import quicker_than
from tests.commands import failed, typed
from tests.marks import LONG_TO_COMPILE
from tests.random_ctransformer import random_ctransformer
from tests.test_periodic import since

pytestmark = LONG_TO_COMPILE

ONE = "random:layers=1,heads=2,states=2,every=1,seed=1"
TWO = "random:layers=2,heads=2,states=2,every=1,seed=1"


# --- the lemma ---


@pytest.mark.parametrize(
    ("text", "n", "free"),
    [(ONE, 90, 0.8), (TWO, 70, 0.6), pytest.param("shared-hubs", 60, 0.7, marks=pytest.mark.heavy)],
)
def test_the_lemma_removes_all_layers_and_the_checker_agrees(text: str, n: int, free: float) -> None:
    model = restrict.load(text)
    found = certify_all(model, n, free=free, method="lemma")
    assert (found.method, found.certificate.provenance["method"]) == ("lemma", "lemma")
    assert found.certificate.free >= free * n
    assert restrict.check(model, found.certificate).startswith(f"s VERIFIED n={n} target=all")
    assert len(found.stages) == len(found.trace) == CTransformer.of_model(model, n).layers
    assert found.stages[-1].transformer.layers == 0
    for step in found.stages:
        assert step.stage3.status == "captured"
        assert step.stage1.degree_after <= step.stage1.degree_bound
        assert len(step.stage1.fixed) <= step.stage1.fixed_bound
        assert step.stage2.rounds <= step.stage2.rounds_bound
        assert step.stage2.dependents_after <= step.stage2.dependents_bound or step.stage2.stuck
        assert step.stage3.spent <= step.stage3.budget
        assert step.transformer.c <= step.c_bound


def test_the_lemma_keeps_its_budget_on_random_c_transformers() -> None:
    """c = 1, 2, 3 with shared inputs: the reduced transformer equals the original on inputs that agree."""
    task = Task.of(restrict.load(ONE), 12, target="all")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        t = random_ctransformer(rng, int(rng.integers(8, 30)), 1 + seed % 3, layers=1 + seed % 2, shared=0.5)
        budget = int(rng.integers(0, t.n))
        step = remove_layer(task, t, budget, seed=seed)
        assert t.restriction.free - step.restriction.free <= budget
        assert step.transformer.layers == t.layers - 1
        assert step.transformer.c <= step.c_bound
        x = rng.integers(0, len(t.symbols), (20, t.n))
        x = np.where(step.transformer.fixed >= 0, step.transformer.fixed, x)
        ours, theirs = step.transformer.evaluate(x), t.evaluate(x)
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)


def test_selections_for_a_smaller_k_are_prefixes() -> None:
    for seed in range(40):
        t = random_ctransformer(np.random.default_rng(seed), 20, 1 + seed % 3, shared=0.5)
        long = selection(t, 8)
        for k in (1, 2, 5, 8):
            short, direct = long.first(k), selection(t, k)
            assert [short.of(p) for p in range(short.pairs)] == [direct.of(p) for p in range(direct.pairs)]
            assert np.all(short.captured >= direct.captured)
            sizes = np.diff(short.ends, prepend=0)
            assert np.all(sizes[short.captured == 0] == k)


def test_with_nothing_to_fix_the_lemma_still_removes_all_layers() -> None:
    """With nothing to spend, k grows until every ranking ends: the trivial bound, and the run goes on to the end."""
    task = Task.of(restrict.load(TWO), 40, target="all")
    found = by_lemma(task, CTransformer.of_model(task.instance), 0, 0)
    assert found.restriction.free == 40
    assert found.layers[-1].transformer.layers == 0


def test_the_trace_as_json_has_every_stage() -> None:
    words = ["certify", ONE, "-n", "60", "--target", "all", "--method", "lemma", "--free", "0.8", "--json"]
    document = json.loads(typed(*words).output)
    (step,) = document["stages"]
    assert document["method"] == "lemma"
    assert {"stage1", "stage2", "stage3", "c", "c_bound", "free"} == set(step)
    assert step["stage3"]["status"] == "captured"
    assert step["c"] == document["certificate"]["claim"]["c"]


def worths(monkeypatch: pytest.MonkeyPatch, found: list[tuple[int, float]], n: int) -> tuple[int | None, int]:
    """What `least` chooses among candidates of these worths, a tenth of the inputs fixed, and how many it measured."""
    done: list[int] = []

    def measured(setup: object, candidate: int) -> tuple[tuple[int, float], None]:
        done.append(candidate)
        return found[candidate], None

    monkeypatch.setattr(candidates, "measured", measured)
    task = Task.of(restrict.load(TWO), n, target="all")
    best = candidates.least(task, by_exchange, n // 10, range(len(found)), "schedule", seed=0)
    return None if best is None else best[0], len(done)


def test_a_hopeless_share_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the best so far is hopeless or not, and only at the length that is asked for."""
    bad, fair, good = (180, 180.0), (180, 150.0), (90, 60.0)
    assert worths(monkeypatch, [bad, good], 200) == (0, 1)
    assert worths(monkeypatch, [fair, bad, good], 200) == (2, 3)
    assert worths(monkeypatch, [(1080, 1080.0), good], 12_000) == (1, 2)


def test_a_trivial_bound_says_so() -> None:
    """Every label of two layers of five symbols may depend on every free input: the answer is not silent about it."""
    model = "random:layers=2,heads=1,states=4,symbols=5,every=1,seed=1"
    words = ["certify", model, "-n", "40", "--target", "all", "--free"]
    assert "the trivial bound" in typed(*words, "0.9").output
    assert "the trivial bound" not in typed(*words, "0.2").output


def test_methods_at_the_command_line() -> None:
    shown = typed("certify", ONE, "-n", "60", "--target", "all", "--method", "lemma", "--trace").output
    assert "method  lemma" in shown
    assert "layer 1, Stage 1: eta" in shown
    assert "layer 1 removed: c' = " in shown
    assert "method  exchange" in typed("certify", ONE, "-n", "60", "--target", "all").output
    refused = failed(UsageError, "certify", ONE, "-n", "60", "--target", "all", "--method", "repeating")
    assert "mentions the query's position" in refused
    with pytest.raises(UsageError, match="none of auto, lemma, exchange, repeating"):
        certify_all(restrict.load(ONE), 60, method="magic")
    with pytest.raises(UsageError, match="is for target='all'"):
        restrict.certify(restrict.load(ONE), 60, method="lemma")


def test_a_program_that_treats_positions_alike_goes_by_every_method() -> None:
    assert certify_all(since(), 60, free=0.9).method == "repeating"
    for method in ("lemma", "exchange"):
        found = certify_all(since(), 60, free=0.8, method=method)
        assert restrict.check(since(), found.certificate)


# --- c ---


@pytest.mark.parametrize("text", [ONE, TWO, "random:layers=1,heads=1,states=2,every=1,seed=3"])
@pytest.mark.parametrize("c", [0, 2])
def test_a_small_c_is_always_reached(text: str, c: int) -> None:
    """Everything fixed is the last resort; the search does better, and c = 0 means c = 0."""
    model = restrict.load(text)
    certificate = restrict.certify(model, 40, target="all", c=c)
    assert certificate.c <= c
    assert certificate.free > 0
    assert restrict.check(model, certificate)


def test_repair_and_freeing_keep_the_bound() -> None:
    for seed in range(8):
        model = restrict.load(f"random:layers=1,heads=1,states=2,every=1,seed={seed}")
        task = Task.of(model, 30, target="all", seed=seed)
        start = collapsed(task.instance, Restriction.of(task.instance, {0: 0}))[-1]
        rho = repaired(task, start, 3)
        assert holds(task, rho, 3)
        assert not holds(task, start.restriction, 3)
        more = freed(task, rho, 3)
        assert more.free >= rho.free
        assert holds(task, more, 3)
        assert set(more.fixed) <= set(rho.fixed)


# --- time and Ctrl-C ---


class Counted:
    """Stands for the search: notes the deadlines it was given, and raises Ctrl-C or ``error`` at the call asked for."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, interrupt: int = 0, error: type[BaseException] = KeyboardInterrupt
    ) -> None:
        self.left: list[float | None] = []
        self.interrupt, self.error, self.real = interrupt, error, theorem1.by_exchange
        monkeypatch.setattr(theorem1, "by_exchange", self)

    def __call__(self, task: Task, *rest: Any) -> Any:
        self.left.append(task.deadline.left)
        if len(self.left) == self.interrupt:
            raise self.error
        return self.real(task, *rest)


def test_the_bisection_shares_its_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step is given the whole time; all together end near the limit."""
    calls = Counted(monkeypatch)
    monkeypatch.setattr("restrict.base.deadline.time", SimpleNamespace(monotonic=time.process_time))
    with quicker_than(8):
        found = certify_all(restrict.load(ONE), 60, c=8, time=2.0)
    assert found.certificate.provenance["stopped"] == "time"
    assert found.certificate.c <= 8
    assert len(calls.left) > 1
    assert all(left is not None and left < 1.0 for left in calls.left)


@pytest.mark.parametrize(
    ("wish", "interrupt", "error", "stopped"),
    [
        ({"c": 30}, 4, KeyboardInterrupt, "interrupted"),
        ({"free": 0.8, "time": 60}, 3, KeyboardInterrupt, "interrupted"),
        ({"free": 0.8, "time": 60}, 2, OutOfTime, "time"),
    ],
)
def test_a_bisection_or_a_turn_that_is_cut_off_keeps_the_best(
    wish: dict[str, Any], interrupt: int, error: type[BaseException], stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Counted(monkeypatch, interrupt, error)
    found = certify_all(restrict.load(ONE), 60, **wish).certificate
    assert (len(calls.left), found.provenance["stopped"]) == (interrupt, stopped)
    assert found.c <= 30 if "c" in wish else found.free >= 48
    assert restrict.check(restrict.load(ONE), found)


def test_ctrl_c_before_any_answer_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    Counted(monkeypatch, interrupt=1)
    with pytest.raises(KeyboardInterrupt):
        certify_all(restrict.load(ONE), 60, free=0.8)


FOUR_STATES = "random:layers=2,heads=2,states=4,seed=0,every=1"


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="plain bodies of kernels take hours at this length")
def test_no_long_step_outlasts_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In processor seconds, with every kernel compiled: a run that takes 20 ends a few seconds after the one given."""
    model = restrict.load(FOUR_STATES)
    certify_all(model, 2000, free=0.6)
    monkeypatch.setattr("restrict.base.deadline.time", SimpleNamespace(monotonic=time.process_time))
    said = "in the time given, which was over in: "  # unless a quick machine has an answer
    try:
        with quicker_than(8):
            certify_all(model, 10_000, free=0.6, time=1.0)
    except NotEstablished as error:
        said = str(error)
    assert "in the time given, which was over in: " in said


def test_a_step_that_is_cut_off_is_followed_by_one_that_fixes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counted(monkeypatch, interrupt=1, error=OutOfTime)
    found = certify_all(restrict.load(ONE), 60, c=30, time=60)
    assert len(calls.left) > 1
    assert 0 < found.certificate.free <= 30
    assert found.certificate.c <= 30


def test_the_best_schedule_is_not_run_again_where_it_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    model = restrict.load(FOUR_STATES)
    first = certify_all(model, 60, free=0.6).certificate
    calls = Counted(monkeypatch)
    assert certify_all(model, 60, free=0.6).certificate.to_bytes() == first.to_bytes()
    assert not calls.left
    with restrict.workers(jobs=2):
        assert certify_all(model, 60, free=0.6).certificate.to_bytes() == first.to_bytes()
    assert len(calls.left) == 1


def test_work_in_pieces_gives_what_it_gives_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> bytes:
        return certify_all(restrict.load(FOUR_STATES), 90, free=0.6).certificate.to_bytes()

    whole = run()
    monkeypatch.setattr("restrict.depth_reduction.options.EXCHANGE.rows_at_once", 5)
    monkeypatch.setattr("restrict.rows.options.ROWS.scores", 500)
    assert run() == whole


def test_time_ends_the_search_for_patterns() -> None:
    with quicker_than(10), suppress(NotEstablished):
        found = certify_all(since(), 3000, free=0.5, time=0.0, method="repeating")
        assert found.certificate.free >= 1500


def test_ctrl_c_in_the_search_for_patterns_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Mock(side_effect=[None, None, KeyboardInterrupt])
    found = certify_all(since(), 300, c=400, progress=progress)
    assert progress.call_count == 3
    assert found.certificate.provenance["stopped"] == "interrupted"
