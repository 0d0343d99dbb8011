"""The search: known optima, determinism, closeness to brute force, and what happens when it is stopped."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import restrict
from restrict import Certificate, Model, Restriction, certify
from restrict import certification as engine
from restrict.base.errors import NotEstablished, UsageError
from restrict.model.examples.builtin import BUILTINS
from restrict.model.fileformat import loads
from restrict.optimum import enumeration
from tests import generator, naive
from tests.clock import looks
from tests.marks import heavy_after, rows_after


def forced(model: Model, n: int, **more: Any) -> Certificate:
    """The certificate, which must force the label and be accepted by the trusted checker."""
    certificate = certify(model, n, **more)
    assert certificate.c == 0
    assert len({model.at(n).label(v) for v in certificate.claim.values or ()}) == 1
    assert restrict.check(model, certificate).startswith(f"s VERIFIED n={n} ")
    return certificate


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize(
    ("name", "n", "optimum"),
    [
        ("contains-one", 1000, 1), ("all-ones", 1000, 1), ("anbn", 1000, 1), ("anbn", 999, 0),
        ("first-symbol", 1000, 1), ("q-then-u", 1, 1), ("q-then-u", 2, 1), ("q-then-u", 30, 1), ("flip-flop", 100, 1),
        ("induction-head", 20, 2), ("tagger", 20, 2), ("dyck1-depth2", 40, 1), ("dyck1-depth3", 40, 1),
        ("dyck1-depth3", 41, 0), ("tribes", 24, 3), ("alternating-tree", 256, 8), ("parity8", 8, 8),
        ("parity8", 30, 8), ("parity-attempt", 20, 4), ("parity-attempt", 4, 2), ("and-of-ors", 400, 20),
        ("or-of-ands", 400, 20),
        *rows_after([
            ("dyck1-depth3", 100, 1), ("induction-head", 200, 2), ("tagger", 200, 2), ("flip-flop", 1000, 1),
            ("tribes", 64, 8), ("tribes", 240, 8), ("alternating-tree", 64, 8), ("parity8", 300, 8),
            ("parity-attempt", 200, 4),
        ], 0),
    ],
)  # fmt: skip
def test_the_optimum_is_found(name: str, n: int, optimum: int) -> None:
    """The optima are those that instances/README.md proves."""
    assert len(forced(restrict.load(name), n).restriction.fixed) == optimum


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["and-of-ors", "or-of-ands"])
def test_a_formula_over_ten_thousand_inputs_is_forced_by_one_hundred(name: str) -> None:
    certificate = certify(restrict.load(name), 10_000)
    assert len(certificate.restriction.fixed) == 100
    assert restrict.check(restrict.load(name), certificate).startswith("s VERIFIED n=10000 target=last free=9900 c=0")


def test_every_example_model_has_a_known_answer() -> None:
    marks = test_the_optimum_is_found.pytestmark
    assert {case[0] for mark in marks for case in mark.args[1] if isinstance(case[0], str)} == set(BUILTINS)


# ---------------------------------------------------------------- against brute force


def small_program(seed: int) -> tuple[dict[str, Any], int]:
    """A random program with a table of at most 729 inputs."""
    rng = np.random.default_rng([seed, 13])
    cases = (generator.random_case(rng, 6, inputs=729) for _ in itertools.count())
    return next(case for case in cases if case[1] >= 3)


@pytest.mark.parametrize("many", heavy_after((10, 60), 1))
def test_the_search_is_close_to_brute_force_on_random_programs(many: int) -> None:
    """The search is bounded by what the abstract run can see, so it may fix more than the optimum, never less."""
    ratios = []
    for seed in range(many):
        document, n = small_program(seed)
        model = loads(json.dumps(document).encode())
        found = len(forced(model, n).restriction.fixed)
        optimum, _ = naive.minimum_forcing(document, n)
        assert found >= optimum, seed
        ratios.append(found / optimum if optimum else float(found + 1))
    mean = float(np.mean(ratios))
    print(f"mean of found / optimum: {mean:.3f}; at the optimum: {ratios.count(1.0)} of {len(ratios)}")
    assert mean <= 1.25


@pytest.mark.parametrize("seed", range(12))
def test_a_certified_claim_is_true_on_all_inputs(seed: int) -> None:
    document, n = small_program(100 + seed)
    certificate = certify(loads(json.dumps(document).encode()), n, c=seed % 3)
    truth = naive.true_dependencies(document, n, dict(certificate.restriction.fixed))["label", n - 1]
    assert truth <= set(certificate.claim.dependencies or ())
    assert len(truth) <= certificate.c <= seed % 3


# ---------------------------------------------------------------- determinism


@pytest.mark.parametrize("text", heavy_after(["tribes:width=4", "random:layers=2,seed=5", "induction-head"], 1))
def test_the_same_seed_gives_the_same_bytes(text: str) -> None:
    first, again = (certify(restrict.load(text), 32, seed=7).to_bytes() for _ in range(2))
    assert first == again
    assert certify(restrict.load(text), 32, seed=8).provenance["seed"] == 8


# ---------------------------------------------------------------- c and free


@pytest.mark.parametrize("c", heavy_after([2, 1, 5], 1))
@pytest.mark.parametrize(
    ("name", "n"),
    rows_after([("parity8", 10), ("contains-one", 6), ("tribes", 24), ("parity8", 20), ("induction-head", 12)], 2),
)
def test_c_bounds_the_dependencies_and_frees_positions(name: str, n: int, c: int) -> None:
    model = restrict.load(name)
    certificate = certify(model, n, c=c)
    assert certificate.c <= c
    assert certificate.free >= certify(model, n).free
    assert restrict.check(model, certificate).split()[5] == f"c={certificate.c}"


@pytest.mark.parametrize("c", heavy_after([3, 0, 1, 8], 1))
def test_c_frees_as_much_as_parity_allows(c: int) -> None:
    assert len(certify(restrict.load("parity8"), 12, c=c).restriction.fixed) == 8 - c


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(
    ("name", "n"), rows_after([("contains-one", 7), ("parity8", 12), ("parity-attempt", 9), ("tribes", 16)], 1)
)
def test_a_free_fraction_is_kept_free(name: str, n: int, share: float) -> None:
    model = restrict.load(name)
    certificate = certify(model, n, free=share)
    assert certificate.free >= share * (n - len(model.markers))
    assert restrict.check(model, certificate)
    if share == 0.0:
        assert certificate.c == 0


def test_parity_depends_on_what_is_freed() -> None:
    certificate = certify(restrict.load("parity8"), 8, free=0.5)
    assert (certificate.free, certificate.c) == (4, 4)


# ---------------------------------------------------------------- targets and given restrictions


@pytest.mark.parametrize("target", [0, 1, 7, 19])
def test_one_position_of_a_tagger_is_forced(target: int) -> None:
    certificate = forced(restrict.load("tagger"), 20, target=target)
    assert len(certificate.restriction.fixed) == (2 if target else 0)
    assert all(i <= target for i in certificate.restriction.fixed)


def test_a_given_restriction_is_certified_as_it_is() -> None:
    model = restrict.load("contains-one")
    certificate = certify(model, 6, restriction=Restriction.parse(model.at(6), "0**0**"))
    assert certificate.claim.dependencies == (1, 2, 4, 5)
    assert certificate.provenance["strategy"] == "given restriction"
    assert restrict.check(model, certificate)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"target": 10}, "target 10 is neither last, all nor a position 0..9"),
        ({"c": -1}, "c = -1 must be an integer of at least 0"),
        ({"free": 1.5}, "free = 1.5 must be between 0 and 1"),
        ({"free": float("nan")}, "nan is not a number"),
        ({"free": "half"}, ""),
        *(({"seed": seed}, "") for seed in (-1, 2**63, 0.5)),
        *(({"time": time}, "") for time in (-1, float("nan"), "soon")),
        *(({"target": target}, "") for target in ("first", True)),
        *(({"restriction": rho}, "") for rho in ("**1**", Restriction(9), Restriction(10, {0: "z"}))),
        ({"c": 0.5}, ""),
        ({"c": 1, "free": 0.5}, ""),
    ],
)
def test_wrong_arguments_are_refused(more: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        certify(restrict.load("tagger"), 10, **more)
    assert reason in str(caught.value)


def test_a_given_restriction_need_not_know_the_markers() -> None:
    model = restrict.load("parity-attempt")
    assert restrict.check(model, certify(model, 6, restriction=Restriction(6, {4: "1"})))


# ---------------------------------------------------------------- being stopped


def test_nothing_found_within_the_budget_says_so_and_what_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.GoalSearch, "run", lambda _: None)
    with pytest.raises(NotEstablished) as caught:
        certify(restrict.load("random:layers=2,seed=1"), 30)
    message = str(caught.value)
    assert message.startswith("no restriction found that forces the output of 'random:layers=2")
    assert "at n = 30 within the budget" in message
    assert "`seed`" in message, "the words of Python; the command says --seed"
    assert "`time`" in message
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("name", ["tribes", "random:layers=2,seed=3"])
def test_ctrl_c_keeps_the_best_so_far(name: str) -> None:
    model = restrict.load(name)
    seen: list[int | None] = []

    def press(what: str, best: int | None) -> None:
        if what == "searching" and best is not None and not seen:
            seen.append(best)
            raise KeyboardInterrupt

    certificate = forced(model, 64, progress=press)
    assert seen == [len(certificate.restriction.fixed)]
    assert certificate.provenance["stopped"] == "interrupted"


def test_ctrl_c_before_anything_is_found_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.GoalSearch, "run", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        certify(restrict.load("random:layers=2,seed=3"), 30)


def test_ctrl_c_while_positions_are_freed_keeps_the_best_so_far() -> None:
    def press(what: str, best: int | None) -> None:
        if what.startswith("releasing"):
            raise KeyboardInterrupt

    try:
        certificate = certify(restrict.load("parity8"), 30, c=4, progress=press)
    except KeyboardInterrupt:
        pytest.fail("the certificate is lost")
    assert certificate.provenance["stopped"] == "interrupted"


def test_time_is_kept_and_noted() -> None:
    certificate = forced(restrict.load("contains-one"), 50, time=0.3)
    assert certificate.provenance["stopped"] == "time"
    assert len(certificate.restriction.fixed) == 1


def test_progress_says_what_is_done() -> None:
    seen: list[str] = []
    certify(restrict.load("parity8"), 20, c=2, progress=lambda what, best: seen.append(what))
    assert seen[0] == "searching"
    assert "confirming" in seen
    assert "releasing, c = 2" in seen


# ---------------------------------------------------------------- random transformers


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_transformer_of_twenty_thousand_positions_is_forced(seed: int) -> None:
    certificate = forced(restrict.load(f"random:layers=2,seed={seed}"), 20_000)
    assert len(certificate.restriction.fixed) <= 200


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_a_random_transformer_with_labels_at_a_short_length_is_forced(seed: int) -> None:
    forced(restrict.load(f"random:layers=3,heads=1,states=3,classes=3,symbols=3,seed={seed}"), 40)


@pytest.mark.heavy
@pytest.mark.parametrize("words", ["parity-attempt -n 60", "parity8 -n 30"])
def test_the_same_seed_gives_the_same_bytes_however_strings_hash(words: str, tmp_path: Path) -> None:
    """Python orders sets of names differently in every process; the search drew random nodes from such an order."""
    written = []
    for hashed in ("0", "1", "3", "4"):
        path = tmp_path / f"{hashed}.json"
        command = [sys.executable, "-m", "restrict.cli", "certify", *words.split(), "-o", str(path)]
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": hashed}, check=True, capture_output=True)
        written.append(path.read_bytes())
    assert len(set(written)) == 1


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "most"), rows_after([("layers=3,heads=4,states=8", 176), ("layers=4,heads=2,states=4,seed=2", 100)], 1)
)
def test_deep_models_are_forced_by_boxes_that_are_priced(name: str, most: int) -> None:
    found = restrict.certify(restrict.load(f"random:{name}"), 10_000)
    assert found.c == 0
    assert len(found.restriction.fixed) <= most


def test_a_limit_on_time_leaves_half_of_it_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scores and maps are Python callables, to run every word takes minutes."""
    ran = Mock(wraps=enumeration.run_batch)
    monkeypatch.setattr(enumeration, "run_batch", ran)
    with looks("restrict.base.deadline", 1 / 10):
        found = certify(restrict.load("random:layers=2,heads=2,states=4,seed=2"), 15, time=1)
    assert found.provenance["strategy"] == "goal"
    assert sum(len(call.args[1]) for call in ran.call_args_list) < 2**14
