"""Programs at every length at once: the automaton against brute force, on random programs with all features."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.bimachine import Limits, TooLarge
from restrict.all_lengths.moore import moore
from restrict.all_lengths.recognise import NotOrderOnly, recognise
from restrict.all_lengths.stages import Built, build
from restrict.base.arrays import all_words
from restrict.base.errors import ModelError, ResourceLimit
from restrict.languages.monoid import star_free
from restrict.model.fileformat import loads
from restrict.model.program import Model
from restrict.model.trace import run_batch
from tests import naive
from tests.generator import random_order_only, random_transformer
from tests.length_claims import accepted_model
from tests.marks import heavy_after


def model_of(document: dict[str, Any]) -> Model:
    """The model of a document."""
    return loads(json.dumps(document).encode())


def tokens(model: Model, words: np.ndarray) -> np.ndarray:
    """Words with their markers."""
    symbols, columns = len(model.alphabet), [words]
    if model.start_marker:
        columns.insert(0, np.full((len(words), 1), symbols))
    if model.end_marker:
        columns.append(np.full((len(words), 1), symbols + len(model.markers) - 1))
    return np.concatenate(columns, axis=1)


def expected(model: Model, words: np.ndarray, labels: tuple[str, ...]) -> np.ndarray | None:
    """The label's number at every position, by running the model; ``None`` where it is not defined."""
    try:
        instance = model.at(words.shape[1] + len(model.markers))
    except ModelError:
        return None
    values = run_batch(instance, words).values[model.output.variable]
    size = int(values.max()) + 1
    return np.array([labels.index(model.output.label(v)) for v in range(size)])[values]


def by_bimachine(built: Built, run: np.ndarray) -> np.ndarray:
    """The label's number at every position, by the bimachine."""
    machine, n = built.machine, run.shape[1]
    left, right = np.zeros((len(run), n + 1), int), np.zeros((len(run), n + 1), int)
    for i in range(n):
        left[:, i + 1] = machine.left[left[:, i], run[:, i]]
        right[:, n - i - 1] = machine.right[right[:, n - i], run[:, n - i - 1]]
    return machine.column("@label")[machine.lab[left[:, :n], run, right[:, 1:]]]


def compare(model: Model, longest: int, rng: np.random.Generator | None = None, states: int = 3000) -> bool:
    """Whether automaton (or bimachine) and model agree on all words up to ``longest``, and on some of length 200."""
    built = build(recognise(model), Limits(states))
    automaton = None if built.program.every else moore(built)
    lengths = list(range(longest + 1)) + ([200] if rng is not None else [])
    for n in lengths:
        if n + len(model.markers) == 0:
            continue
        some = rng is not None and n == 200
        words = rng.integers(len(model.alphabet), size=(3, n)) if some and rng is not None else None
        if words is None:
            words = all_words(len(model.alphabet), n) if n else np.zeros((1, 0), dtype=np.int64)
        labels = built.program.labels if automaton is None else automaton.labels
        truth = expected(model, words, labels)
        if automaton is None:
            got = by_bimachine(built, tokens(model, words))
        else:
            state = np.zeros(len(words), int)
            for i in range(n):
                state = automaton.delta[state, words[:, i]]
            got, truth = automaton.label[state], None if truth is None else truth[:, -1]
        if not np.array_equal(got, np.full_like(got, labels.index("")) if truth is None else truth):
            return False
    return True


@pytest.mark.parametrize("seed", heavy_after(range(4), 1))
@pytest.mark.parametrize("wild", [0.0, 0.12])
def test_random_programs_have_their_automaton(seed: int, wild: float) -> None:
    """Few are declined where every rule has the shape of one that is order-only; not many of the others."""
    rng = np.random.default_rng([seed, 1])
    done = declined = 0
    while done < 12:
        model = model_of(random_order_only(rng, 2 + int(rng.integers(2)), wild=wild))
        try:
            assert compare(model, 5, rng), json.dumps(model.content and json.loads(model.content))
        except (NotOrderOnly, ResourceLimit):
            declined += 1
            continue
        done += 1
    assert declined <= (12 if wild else 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_thousands_of_random_programs_have_their_automaton(seed: int) -> None:
    """Every word up to length 9, and random words of length 200; two or three letters."""
    rng = np.random.default_rng([99, seed])
    done = 0
    while done < 500:
        model = model_of(random_order_only(rng, 2 + int(rng.integers(2)), 6))
        try:
            assert compare(model, 9, rng), model.content
        except (NotOrderOnly, ResourceLimit):
            continue
        done += 1


def test_the_evaluator_is_the_oracle() -> None:
    """The comparison above runs the model with arrays; here the slow oracle says the same on a few programs."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        document = accepted_model(rng, near=0.2)
        document["output"]["position"] = "last"
        document.pop("when", None)
        model = model_of(document)
        automaton = moore(build(recognise(model), Limits(3000)))
        for word in all_words(2, 4):
            said = automaton.run([model.alphabet[t] for t in word])
            assert said == naive.output(document, [int(t) for t in word])


def languages_without_periods(seed: int, programs: int) -> tuple[int, int]:
    """Random programs of all features: those whose classes have no period recognise star-free languages, by Yang,
    Chiang & Angluin 2024 (thresholds of positions are definable there). How many there were, and how many others."""
    rng = np.random.default_rng(seed)
    plain = periodic = 0
    for _ in range(programs):
        transformer = rng.random() < 0.3
        document = random_transformer(rng, 1 + int(rng.integers(3)), 2, 4) if transformer else random_order_only(rng, 2)
        document["output"]["position"] = "last"
        document.pop("when", None)
        try:
            program = recognise(model_of(document))
            language = moore(build(program, Limits(2000))).language()
        except (NotOrderOnly, ResourceLimit):
            continue
        if program.period > 1:
            periodic += 1
            continue
        plain += 1
        assert star_free(language).aperiodic, document
    return plain, periodic


@pytest.mark.parametrize("programs", [30, pytest.param(200, marks=pytest.mark.heavy)])
def test_without_periodic_predicates_the_language_is_star_free(programs: int) -> None:
    plain, periodic = languages_without_periods(3, programs)
    assert plain >= 0.6 * programs
    assert periodic >= 0.03 * programs


@pytest.mark.slow
def test_a_thousand_languages_are_star_free() -> None:
    assert languages_without_periods(4, 1500)[0] >= 1000


DECLINED = [
    ("hash(i, j)", "hash"),
    ("j * k", "tie rule"),
    ("j == n // 2", "share of n"),
    ("i - j + 3 * k", "weighs j against the key"),
    ("abs(i - j)", "compares positions with each other"),
]


@pytest.mark.parametrize(("score", "why"), DECLINED)
def test_what_is_not_order_only_is_declined_by_name(score: str, why: str) -> None:
    head = {"name": "h", "kind": "head", "key": "token", "value": "token", "score": score}
    output = {"variable": "h", "position": "last", "accept": [1]}
    document = {
        "format": "restrict-model/1",
        "name": "x",
        "alphabet": ["a", "b"],
        "variables": [head],
        "output": output,
    }
    with pytest.raises(NotOrderOnly, match=f"variable 'h' is not order-only.*{why}"):
        recognise(model_of(document))


def test_the_state_limit_names_the_variable() -> None:
    model = model_of(random_transformer(np.random.default_rng(0), 3, 3, 8))
    with pytest.raises(TooLarge, match=r"too large at variable 'a\d_\d': more than 4 states .* left and .* right"):
        build(recognise(model), Limits(4))
