"""Floating point: certified bounds against what float32 does, and the length from which on nothing is claimed."""

import math
from fractions import Fraction

import numpy as np
import pytest

from restrict.base.errors import NotEstablished, UsageError
from restrict.model.source import load
from restrict.model.trace import run_batch
from restrict.simulate.floating import average_error, blown, deviation, share
from restrict.simulate.hard import compile_program
from restrict.simulate.measure import measure, words_of
from restrict.simulate.rounding import UNITS, head_error, logit_error, program_error, safe_length
from restrict.soft.models.evaluate import activations, logits
from restrict.soft.models.known import first, parity, random
from tests.marks import heavy_after

KINDS = {"float64": np.float64, "float32": np.float32}


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("induction-head", "dyck1-depth3", "tribes")]


@pytest.mark.parametrize("name", ["flip-flop", "contains-one", *SLOW])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", heavy_after([64, 8, 304], 1))
def test_programs_are_exact_up_to_the_safe_length(name: str, kind: str, n: int) -> None:
    if (name, n) == ("induction-head", 304):
        pytest.skip("too wide")
    compiled = compile_program(load(name), n)
    words, everything = words_of(compiled, samples=12)
    found = measure(compiled, words[:12], everything, dtype=KINDS[kind])
    assert safe_length(compiled, kind) >= n
    assert found.wrong == 0
    assert found.error <= program_error(compiled, UNITS[kind]) <= 0.25
    hard = run_batch(compiled.program.at(n), words[:12])
    x = activations(compiled.soft, hard.values["token"], dtype=KINDS[kind])
    for variable, block in compiled.blocks.items():
        here = x[..., block.start : block.start + block.size]
        assert np.array_equal(here, np.arange(block.size) == hard.values[variable][..., None])


def test_the_bound_grows_and_is_the_exact_one_without_rounding() -> None:
    for name in ("flip-flop", "contains-one"):
        compiled = compile_program(load(name), 9)
        head = compiled.heads[0]
        assert head_error(head, 9, 0.0) == pytest.approx(head.error(9))
        found = [head_error(head, n, 2.0**-24) for n in (64, 65, 100, 1000, 10_000, 100_000, 1_000_000)]
        assert found == sorted(found)
        for n in (1, 2, 5, 64, 700):
            assert head.error(n) <= head_error(head, n, 2.0**-53) <= head_error(head, n, 2.0**-24)


def test_the_safe_length_is_the_last_one() -> None:
    for epsilon in (Fraction(1, 4), Fraction(1, 100)):
        for name in ("flip-flop", "q-then-u"):
            compiled = compile_program(load(name), 9, epsilon)
            safe = safe_length(compiled, "float32")
            assert 60 < safe < 5_000_000
            assert program_error(compiled, 2.0**-24, safe) <= 0.25 < program_error(compiled, 2.0**-24, safe + 1)
            assert safe_length(compiled, "float64") > safe


def test_a_model_for_one_length_is_certified_at_that_length_only() -> None:
    compiled = compile_program(load("tribes"), 16)
    assert safe_length(compiled, "float32") == 16
    with pytest.raises(UsageError):
        safe_length(compiled, "float16")


@pytest.mark.parametrize("seed", range(3))
def test_any_model_stays_within_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for model in (parity(), first(1), random(percent=20, seed=seed), random(layers=3, causal=1, percent=60, seed=seed)):
        for n in (3, 40):
            inner = n - (model.start_marker is not None)
            words = model.encode(rng.integers(0, len(model.alphabet), (20, inner)))
            off = np.abs(logits(model, words, dtype=np.float32).astype(np.float64) - logits(model, words)).max()
            bound = logit_error(model, n, "float32") + logit_error(model, n, "float64")
            assert off <= bound
            assert logit_error(model, n, "float64") < 1e-6 * logit_error(model, n, "float32") or bound > 1


def test_what_is_not_analysed_is_refused() -> None:
    for option in ("norm", "gelu", "additive"):
        with pytest.raises(NotEstablished):
            logit_error(random(**{option: 1}), 4, "float32")
    with pytest.raises(UsageError):
        logit_error(parity(), 4, "half")


@pytest.mark.parametrize("unit", [2.0**-53, 2.0**-24, 2.0**-11])
def test_an_average_errs_by_less_than_its_bound(unit: float) -> None:
    """Both sums off by their bounds in opposite directions; at a million positions the square of ``n u`` counts."""
    u = Fraction(unit)
    for n in (1, 2, 100, 1000, 30_000, 1_000_000, 5_000_000):
        h = (1 + 16 * u) * (1 + n * u) - 1
        found = average_error(n, unit)
        assert found == math.inf if h >= 1 else found >= (1 + h) * (1 + u) / (1 - h) - 1
        assert n > 1000 or unit > 2.0**-20 or found <= (2 * n + 48) * unit
    assert average_error(1000, 0.0) == 0.0


def test_averages_in_float32_stay_within_their_bound() -> None:
    rng = np.random.default_rng(7)
    for n in (2, 50, 400):
        weights, values = (rng.random(n).astype(np.float32) for _ in range(2))
        computed = Fraction(float((weights * values).sum() / weights.sum()))
        w, v = ([Fraction(float(x)) for x in row] for row in (weights, values))
        exact = sum(a * b for a, b in zip(w, v, strict=True)) / sum(w)
        assert abs(computed - exact) <= exact * Fraction(average_error(n, 2.0**-24))


def test_the_budget_of_one_truth_value() -> None:
    assert [share(m) for m in (0.0, 1.0, math.inf, math.nan)] == [0.0, pytest.approx(0.5), 1.0, 1.0]
    assert math.exp(2) <= blown(2.0) < math.exp(2) * (1 + 1e-9)
    assert blown(61.0) == math.inf
    for odds in (0.0, 0.1, 3.0):
        exact = Fraction(odds) / (1 + Fraction(odds))
        assert exact + (2 * 9 + 32) * Fraction(2.0**-24) <= deviation(odds, 9, 2.0**-24) <= 1
        assert exact <= deviation(odds, 9, 0.0) <= exact + Fraction(1, 10**15)
