"""Smaller restrictions by SAT from above, minimum explanations from words, and formulas with maps left open."""

import json

import numpy as np
import pytest

import restrict
from restrict import explain, load
from restrict.model.fileformat import dumps, loads
from restrict.model.task import Task
from restrict.optimum import cnf
from restrict.optimum.descent import descend
from restrict.optimum.enumeration import Labels, all_labels
from restrict.optimum.exact import exact
from tests import generator, naive
from tests.marks import heavy_after


def programs(first: int, count: int) -> list[tuple[naive.Model, int]]:
    """Small random programs with a length."""
    found = []
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        document = generator.random_program(rng)
        found.append((document, generator.random_length(rng, document, 5)))
    return found


def test_the_descent_ends_at_the_optimum_of_brute_force() -> None:
    for seed in range(2):
        model, n = load(f"random:layers=2,heads=2,states=4,seed={seed}"), 7
        assert model.content is not None
        size, _ = naive.minimum_forcing(naive.load(json.loads(model.content)), n)
        found = descend(Task.of(model, n), dict.fromkeys(range(n), 0))
        assert found.optimum == size
        assert found.certificate is not None
        assert len(found.certificate.restriction.fixed) == size
        assert " c=0 " in restrict.check(model, found.certificate)
    for document, n in programs(3000, 10):
        model = loads(dumps(document), "random")
        size, _ = naive.minimum_forcing(document, n)
        letters = naive.letters(document, n)
        if letters:
            assert descend(Task.of(model, n), dict.fromkeys(letters, 0)).optimum == size


@pytest.mark.parametrize("many", heavy_after((6, 30), 1))
def test_a_formula_with_open_maps_gives_the_same_optimum(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(cnf, "POINTS", 1)
    monkeypatch.setattr("restrict.optimum.exact.WIDE_WORDS", 0)
    for document, n in programs(4000, many):
        model = loads(dumps(document), "random")
        size, _ = naive.minimum_forcing(document, n)
        found = exact(model, n)
        assert (found.lower, found.upper) == (size, size)


@pytest.mark.parametrize("n", heavy_after([8, 10], 1))
def test_explanations_from_words_are_minimum_where_they_say_so(n: int) -> None:
    """Every bound holds, and it is reached nearly always; the truth is by trying every set of positions."""
    proved = 0
    for seed in range(4):
        model = load(f"random:layers=2,heads=2,states=4,seed={seed}")
        word = [model.alphabet[a] for a in np.random.default_rng(seed).integers(0, 2, n)]
        (found,) = explain(model, word)
        (best,) = explain(model, word, exact=True)
        labels, _ = all_labels(model.at(n), n - 1)
        least = minimum_explanation(labels.reshape(-1), word, n)
        assert found.lower <= least <= found.weight
        assert best.lower == best.weight == least
        proved += found.minimum
        assert found.certificate is not None
        assert " c=0 " in restrict.check(model, found.certificate)
    assert proved >= 3


def minimum_explanation(labels: Labels, word: list[str], n: int) -> int:
    """The fewest symbols of a word under which all words, by number, have its label."""
    x = int("".join(word), 2)
    missed = np.flatnonzero(labels != labels[x]) ^ x  # the positions at which a word of another label differs
    return min(bin(s).count("1") for s in range(2**n) if bool((missed & s != 0).all()))
