"""Attention laws and what softmax loses against them: against definitions written out, in 60 decimal digits."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from operator import mul

import numpy as np
import pytest

from restrict.base.errors import ModelError, UsageError
from restrict.model.variables import MASKS
from restrict.simulate import laws, lemmas_6_to_9
from restrict.soft.models.evaluate import activations
from restrict.soft.models.known import first, parity, random
from restrict.soft.models.model import Positions, SoftModel, visible
from restrict.soft.models.terms import Term
from tests.marks import heavy_after

RNG = np.random.default_rng(14)


def slow_weights(scores: list[int], law: str, seen: list[bool]) -> list[Fraction]:
    """The three hard laws, literally."""
    places = [j for j, s in enumerate(seen) if s]
    out = [Fraction(0)] * len(scores)
    if not places:
        return out
    winners = [j for j in places if scores[j] == max(scores[p] for p in places)]
    chosen = {"leftmost": winners[:1], "rightmost": winners[-1:], "average": winners}[law]
    for j in chosen:
        out[j] = Fraction(1, len(chosen))
    return out


def read_error(scores: list[Fraction], values: list[Fraction], winner: int, scale: float) -> Fraction:
    """``|sum of weights times values - value at the winner|`` under softmax, to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        gaps, moves = (
            [Decimal((y := x - row[winner]).numerator) / y.denominator for x in row] for row in (scores, values)
        )
        raised = [(gap * Decimal(scale)).exp() for gap in gaps]
        return Fraction(abs(sum(map(mul, raised, moves), Decimal(0)) / sum(raised, Decimal(0))))


def off_winner(scores: list[Fraction], winner: int, scale: float) -> Fraction:
    """The softmax weight off one position."""
    return read_error(scores, [Fraction(j != winner) for j in range(len(scores))], winner, scale)


@pytest.mark.parametrize("law", ["leftmost", "rightmost", "average"])
@pytest.mark.parametrize("kind", [int, float, Fraction])
def test_hard_laws_are_their_definitions(law: laws.Law, kind: type) -> None:
    for _ in range(200):
        n = int(RNG.integers(1, 7))
        scores = RNG.integers(-2, 2, n).tolist()
        seen = (RNG.random(n) < 0.7).tolist()
        given = np.array([kind(s) for s in scores], dtype=object if kind is Fraction else kind)
        found = laws.weights(given, law, seen=np.array(seen)).tolist()
        expected = slow_weights(scores, law, seen)
        assert found == (expected if kind is Fraction else [float(x) for x in expected])


def test_softmax_is_its_definition_and_tends_to_the_average_law() -> None:
    for _ in range(100):
        n = int(RNG.integers(1, 7))
        scores, scale = RNG.integers(-3, 3, n), float(RNG.random() * 3)
        raised = np.exp(scores * scale)
        assert laws.weights(scores, "softmax", scale=scale) == pytest.approx(raised / raised.sum(), abs=1e-14)
        cold = laws.weights(scores, "softmax", scale=1e6)
        assert cold == pytest.approx(laws.weights(scores, "average"), abs=1e-14)


@pytest.mark.parametrize("law", laws.LAWS)
@pytest.mark.parametrize("mask", MASKS)
def test_masked_positions_get_no_weight_under_any_law(law: laws.Law, mask: str) -> None:
    n, values = 6, RNG.normal(size=(6, 3))
    scores, seen = RNG.normal(size=(6, 6)), visible(mask, np.arange(6), 6)
    found = laws.weights(scores, law, seen=seen, scale=2.0) @ values
    for i in range(n):
        places = np.flatnonzero(seen[i])
        if not len(places):
            assert not found[i].any()
            continue
        part = laws.weights(scores[i, places], law, scale=2.0)
        assert found[i] == pytest.approx(part @ values[places])


def test_bad_scores_laws_and_scales_are_refused() -> None:
    with pytest.raises(ModelError):
        laws.weights(np.array([0.0, np.nan]), "leftmost")
    with pytest.raises(UsageError, match="must be one of"):
        laws.weights(np.zeros(2), "sparsemax")
    for scale in (-1.0, np.inf, np.nan):
        with pytest.raises(UsageError):
            laws.weights(np.zeros(2), "softmax", scale=scale)
    with pytest.raises(UsageError):
        laws.weights(np.array([Fraction(1)]), "softmax")
    with pytest.raises(UsageError):
        laws.run(parity(), np.zeros((1, 3), dtype=np.int64), "nothing")
    with pytest.raises(UsageError):
        laws.run(parity(), np.full((1, 3), 9), "average")
    with pytest.raises(ModelError, match="LayerNorm"):
        laws.run(random(norm=1), np.zeros((1, 3), dtype=np.int64), "average")
    with pytest.raises(ModelError, match="no exact value"):
        laws.run(random(), np.zeros((1, 5), dtype=np.int64), "average")


def test_a_row_without_positions_has_no_weights() -> None:
    assert laws.weights(np.zeros((2, 0)), "average").shape == (2, 0)
    assert laws.weights(np.zeros((2, 0)), "softmax").shape == (2, 0)


def test_a_model_under_every_law() -> None:
    """FIRST of Chiang and Cholak: softmax at a scale of 10^4 is its average-hard run, and CLS reads position 1."""
    model = first()
    words = model.encode(["0110", "1000", "0000"])
    hard = laws.run(model, words, "average").astype(np.float64)
    cold = sharpened(model, "10000")
    assert activations(cold, words) == pytest.approx(hard, abs=1e-9)
    assert np.sign(hard[:, 0, 5]).tolist() == [-1, 1, -1]
    assert laws.run(model, words, "softmax") == pytest.approx(activations(model, words))


def sharpened(model: SoftModel, scale: str) -> SoftModel:
    """The model with one scale for all heads."""
    layers = [replace(x, heads=tuple(replace(head, scale=Term(scale)) for head in x.heads)) for x in model.layers]
    return replace(model, layers=tuple(layers))


@pytest.mark.parametrize("seeds", heavy_after((range(1), range(1, 6)), 1))
def test_exact_runs_of_random_models_equal_float_runs_where_scores_are_far_apart(seeds: range) -> None:
    for seed in seeds:
        made = random(layers=2, width=6, hidden=5, percent=150, seed=seed)
        table = RNG.normal(size=(2, 6))
        model = replace(made, positions=Positions("terms", "add", (Term("i/n"), Term("1/(i+1)")), table))
        words = RNG.integers(0, 2, (3, 5))
        for law in ("leftmost", "rightmost", "average"):  # random scores have no ties
            found = laws.run(model, words, law).astype(np.float64)
            assert found == pytest.approx(activations(sharpened(model, "10**9"), words), rel=1e-6, abs=1e-6)


# ------------------------------------------------------------ the facts


@pytest.mark.parametrize("seed", range(4))
def test_the_three_facts_bound_what_softmax_loses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        n, scale = int(rng.integers(1, 9)), float(rng.random() * 4)
        winner = int(rng.integers(n))
        gap = Fraction(int(rng.integers(1, 40)), 16)
        more = [Fraction(int(rng.integers(0, 2)) * int(rng.integers(0, 9)), 8) for _ in range(n)]
        flat = [Fraction(0) if j == winner else -gap - more[j] for j in range(n)]
        assert off_winner(flat, winner, scale) <= lemmas_6_to_9.gap_error(n - 1, gap, scale)
        line = [-gap * abs(j - winner) - (more[j] if j != winner else 0) for j in range(n)]
        of_line, sides = lemmas_6_to_9.linear_gap_error, 1 if winner in (0, n - 1) else 2
        assert off_winner(line, winner, scale) <= of_line(gap, scale, sides, n - 1) <= of_line(gap, scale, sides)
        assert of_line(gap, scale, sides) <= of_line(gap, scale)
        square = [Fraction(-((j - winner) ** 2)) for j in range(n)]
        assert off_winner(square, winner, scale) <= lemmas_6_to_9.lookup_error(scale)
        values = [Fraction(int(rng.integers(-8, 9)), 8) for _ in range(n)]
        slope = max([abs(v - values[winner]) / abs(j - winner) for j, v in enumerate(values) if j != winner] or [0])
        assert read_error(square, values, winner, scale) <= lemmas_6_to_9.lookup_value_error(scale, slope)


def test_the_bounds_are_sharp() -> None:
    for others, gap, scale in ((1, 1, 3.0), (9, 0.5, 8.0), (10**6, 2, 12.5)):
        with localcontext() as context:
            context.prec = 60
            odds = others * (-Decimal(gap) * Decimal(scale)).exp()
            truth = float(odds / (1 + odds))
        assert truth <= lemmas_6_to_9.gap_error(others, gap, scale) <= truth * (1 + 1e-13)
    truth = float(off_winner([-Fraction(abs(j - 300)) for j in range(601)], 300, 0.5))
    assert truth <= lemmas_6_to_9.linear_gap_error(1, 0.5) <= truth * (1 + 1e-12)
    truth = float(off_winner([-Fraction((j - 50) ** 2) for j in range(101)], 50, 1.0))
    assert truth <= lemmas_6_to_9.lookup_error(1.0) <= truth * 1.01


def test_what_is_no_gap_and_no_temperature_is_refused() -> None:
    for call in (lambda: lemmas_6_to_9.gap_error(3, -1, 1), lambda: lemmas_6_to_9.lookup_error(float("nan"))):
        with pytest.raises(UsageError):
            call()


def test_at_infinite_temperature_the_bounds_are_trivial_not_wrong() -> None:
    assert lemmas_6_to_9.gap_error(3, 1, 0) == pytest.approx(0.75)
    assert lemmas_6_to_9.linear_gap_error(1, 0) == 1
    assert lemmas_6_to_9.lookup_error(0) == 1
    assert lemmas_6_to_9.lookup_value_error(0, 1) == np.inf
    assert 0 < lemmas_6_to_9.gap_error(3, 1, 1e6) < 1e-300


# ------------------------------------------------------------ tie-breaking and rounding


def test_the_tie_breaking_lemma_gives_the_hard_winner_and_its_linear_gap() -> None:
    for _ in range(300):
        n, gap = int(RNG.integers(1, 8)), Fraction(int(RNG.integers(1, 5)), int(RNG.integers(1, 5)))
        scores = [gap * int(s) for s in RNG.integers(-2, 2, n)]
        term = lemmas_6_to_9.tie_term(n, gap)
        for law, sign in (("rightmost", 1), ("leftmost", -1)):
            winner = slow_weights([int(s / gap) for s in scores], law, [True] * n).index(1)
            moved = [s + sign * term * j for j, s in enumerate(scores)]
            assert all(moved[winner] - m >= term * abs(j - winner) for j, m in enumerate(moved))
            scale = 3.0 * float(1 / term)
            assert off_winner(moved, winner, scale) <= lemmas_6_to_9.linear_gap_error(term, scale)
        for law, sign in (("rightmost", -1), ("leftmost", 1)):
            winner = slow_weights([int(s / gap) for s in scores], law, [True] * n).index(1)
            moved = [s + sign * gap / 2 / (j + 1) for j, s in enumerate(scores)]
            line = lemmas_6_to_9.decoder_tie_gap(n - 1, gap)
            assert all(moved[winner] - m >= line * abs(j - winner) for j, m in enumerate(moved))
    with pytest.raises(UsageError):
        lemmas_6_to_9.tie_term(0, 1)
    with pytest.raises(UsageError):
        lemmas_6_to_9.decoder_tie_gap(3, 0)


def test_rounding_is_exact_in_floating_point() -> None:
    low = np.concatenate([[0.25, 0.0, -5.0], RNG.random(500) / 4, -RNG.random(50) * 1e6])
    high = np.concatenate([[0.75, 1.0, 2.0**40], 0.75 + RNG.random(500), RNG.random(50) * 1e6 + 1])
    assert set(lemmas_6_to_9.rounded(low).tolist()) == {0.0}
    assert set(lemmas_6_to_9.rounded(high).tolist()) == {1.0}
    assert lemmas_6_to_9.rounded(np.array([0.5])).tolist() == [0.5]
    inner, bias, outer = lemmas_6_to_9.rounding_units(Fraction(3, 8), Fraction(5, 8))
    for x, y in ((0.375, 0.0), (0.625, 1.0), (0.5, 0.5), (-1.0, 0.0), (9.0, 1.0)):
        assert np.maximum(x * inner + bias, 0) @ outer == y
    for bad in ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 4), Fraction(5, 8))):
        with pytest.raises(UsageError):
            lemmas_6_to_9.rounding_units(*bad)


def test_directed_floats() -> None:
    for _ in range(200):
        x = Fraction(int(RNG.integers(-(10**9), 10**9)), int(RNG.integers(1, 10**9)))
        assert Fraction(lemmas_6_to_9.low_float(x)) <= x <= Fraction(lemmas_6_to_9.high_float(x))
    assert lemmas_6_to_9.low_float(3) == lemmas_6_to_9.high_float(3) == 3.0
