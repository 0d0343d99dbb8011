"""Theorem 6: the sources are what they say, the floor is below every measured value, P0 is exact."""

import itertools
import math
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from restrict.base.errors import UsageError
from restrict.soft.influence.sources import BRACKETS, Dyck2, Parity, entropy
from restrict.soft.influence.theorem6 import binary_floor, cross_entropy
from restrict.soft.models.known import parity, random
from restrict.soft.models.model import SoftModel
from restrict.soft.models.source import load
from tests.marks import heavy_after

PS = (Fraction(1, 10), Fraction(1, 3), Fraction(9, 20))


def language_model(symbols: tuple[str, ...], seed: int, percent: int = 10, causal: int = 0) -> SoftModel:
    labels = len(symbols) + 1
    model = random(
        layers=2, width=8, hidden=8, symbols=len(symbols), labels=labels, seed=seed, percent=percent, causal=causal
    )
    return replace(model, alphabet=symbols)


@pytest.mark.parametrize("p", PS)
@pytest.mark.parametrize("source", [Parity, Dyck2])
def test_prefix_probabilities_are_the_chain_of_next_symbols(source: type[Parity | Dyck2], p: Fraction) -> None:
    made = source(p)
    for m in range(6):
        products = {}
        for word in itertools.product(range(len(made.symbols)), repeat=m):
            with suppress(UsageError):  # no prefix of a string
                products[word] = math.prod(made.next(word[:t])[symbol] for t, symbol in enumerate(word))
                assert sum(made.next(word)) == 1
        total = sum(products.values())
        assert dict(made.prefixes(m)) == {word: x / total for word, x in products.items() if x}


@pytest.mark.parametrize("p", PS)
def test_parity_is_fair_at_every_length(p: Fraction) -> None:
    made = Parity(p)
    for m in range(1, 8):
        assert sum(share for word, share in made.prefixes(m) if sum(word) % 2) == Fraction(1, 2)
        best = sum(float(share) * entropy(made.next(word)) for word, share in made.prefixes(m))
        assert made.optimum(m) == pytest.approx(best, abs=1e-12)
        mixed = [sum((share * made.next(word)[s] for word, share in made.prefixes(m)), Fraction(0)) for s in range(3)]
        assert made.chance(m) == pytest.approx(entropy(tuple(mixed)), abs=1e-12)
        if m > 1:
            by_last = 0.0
            for last in (0, 1):
                rows = [(word, share) for word, share in made.prefixes(m) if word[-1] == last]
                mass = sum((share for _, share in rows), Fraction(0))
                given = [sum((share * made.next(w)[s] for w, share in rows), Fraction(0)) / mass for s in range(3)]
                by_last += float(mass) * entropy(tuple(given))
            assert made.chance_given_last(m) == pytest.approx(by_last, abs=1e-12)


@pytest.mark.parametrize("p", PS)
def test_the_height_chain_against_enumeration(p: Fraction) -> None:
    made = Dyck2(p)
    for m in range(1, 8):
        words = list(made.prefixes(m))
        heights = [len(made.pending(word)) for word, _ in words]
        share = sum((q for (word, q), h in zip(words, heights, strict=True) if h and word[-1] % 2), Fraction(0))
        assert made.p0(m) == share
        assert made.unbalanced(m) == sum((q for (_, q), h in zip(words, heights, strict=True) if h), Fraction(0))
        best = sum(float(q) * entropy(made.next(word)) for word, q in words)
        assert made.optimum(m) == pytest.approx(best, abs=1e-12)
        mixed = [sum((q * made.next(word)[s] for word, q in words), Fraction(0)) for s in range(5)]
        assert made.chance(m) == pytest.approx(entropy(tuple(mixed)), abs=1e-12)


def test_p0_tends_to_its_limit_and_doubles_agree_with_fractions() -> None:
    for p in (*PS[:2], Fraction(2, 5)):  # nearer to 1/2 it takes longer words
        made = Dyck2(p)
        for even in (True, False):
            near = float(made.p0(60 + (not even)))
            far = float(made.p0(240 + (not even)))
            limit = float(made.p0_limit(even))
            assert abs(far - limit) < abs(near - limit) / 3 < 0.03
    from restrict.soft.influence import sources

    exact = sources._heights(Fraction(1, 3), 20)
    doubles = sources._heights(1 / 3, 20)
    for a, b in zip(exact, doubles, strict=True):
        np.testing.assert_allclose([float(v) for v in a], b[: len(a)], atol=1e-13)
    with pytest.raises(UsageError, match="below 1/2"):
        Dyck2(Fraction(1, 2)).p0_limit(True)


@pytest.mark.parametrize("source", [Parity, Dyck2])
def test_samplers_draw_what_the_source_says(source: type[Parity | Dyck2]) -> None:
    made, count = source(Fraction(1, 3)), 20_000
    words = made.sample(5, count, np.random.default_rng(7))
    seen = Counter(map(tuple, words.tolist()))
    expected = dict(made.prefixes(5))
    assert set(seen) <= set(expected)
    for word, share in expected.items():
        q = float(share)
        assert abs(seen[word] / count - q) <= 5 * math.sqrt(q * (1 - q) / count)
    if isinstance(made, Dyck2):
        closing = np.array([word[-1] % 2 and len(made.pending(tuple(word))) > 0 for word in words.tolist()])
        q = float(made.p0(5))
        assert abs(closing.mean() - q) <= 2.576 * math.sqrt(q * (1 - q) / count)


@pytest.mark.parametrize("percent", heavy_after([40, 5], 1))
@pytest.mark.parametrize(("name", "symbols"), [("parity", ("0", "1")), ("2dyck", BRACKETS)])
@pytest.mark.parametrize("seed", heavy_after(range(2), 1))
def test_the_floor_is_below_the_measured_value(name: str, symbols: tuple[str, ...], percent: int, seed: int) -> None:
    for causal in range(2):
        model = language_model(symbols, seed, percent, causal)
        for n in (1, 4 if name == "2dyck" else 6):
            row = cross_entropy(model, n, name, p=Fraction(1, 5))
            assert row.exhaustive
            assert row.optimum * (1 - 1e-9) <= row.floor <= row.measured + 1e-12


def test_the_floor_tends_to_chance() -> None:
    model = language_model(("0", "1"), 1, 5)
    rows = [cross_entropy(model, n, "parity", p=Fraction(1, 10), samples=10) for n in (8, 16, 32)]
    limit = Parity(Fraction(1, 10)).chance_given_last(9)
    gaps = [limit - row.floor for row in rows]
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[2] < 1e-3
    assert rows[-1].floor > rows[-1].optimum
    brackets = language_model(BRACKETS, 1, 5)
    row = cross_entropy(brackets, 65, "2dyck", p=Fraction(1, 10), samples=10)
    extra = float(Dyck2(Fraction(1, 10)).p0(65)) * 0.9
    assert row.floor == pytest.approx(row.optimum + extra, abs=1e-3)


def test_the_floor_for_membership_in_parity_is_below_the_measured_value() -> None:
    rows = [cross_entropy(parity(), n, "parity", samples=100) for n in (3, 9, 101)]
    for row in rows:
        assert row.floor <= row.measured <= 1
    assert rows[0].measured < rows[1].measured < rows[2].measured
    assert rows[2].floor > 0.98
    assert binary_floor(0.0) == pytest.approx(1.0)
    assert binary_floor(1e9) == 0.0


def test_the_trained_models_confidence_decays() -> None:
    model = load("instances/soft-parity-trained.safetensors")
    short, long = (cross_entropy(model, n, "parity", samples=200) for n in (5, 30))
    assert short.measured < 0.3
    assert long.measured > 0.9
    assert short.floor <= short.measured


def test_wrong_models_and_languages_are_one_line() -> None:
    with pytest.raises(UsageError, match="parity and 2dyck"):
        cross_entropy(parity(), 5, "majority")
    with pytest.raises(UsageError, match="alphabet must be"):
        cross_entropy(parity(), 5, "2dyck")
    with pytest.raises(UsageError, match="needed are 3 for the next symbol"):
        cross_entropy(random(labels=4), 5, "parity")
    with pytest.raises(UsageError, match="above 0 and below 1"):
        Parity(Fraction(1))
    with pytest.raises(UsageError, match="no prefix"):
        Dyck2(Fraction(1, 3)).pending((0, 3))
