"""Programs and languages at every length: models against languages, the way back, and what is declined."""

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.all_lengths.bimachine import Limits
from restrict.all_lengths.compare import own_machine
from restrict.all_lengths.compile_back import compile_language, formula_of, spelled
from restrict.all_lengths.moore import moore
from restrict.all_lengths.recognise import NotOrderOnly, recognise
from restrict.all_lengths.stages import build
from restrict.all_lengths.verify import language_of_model, named
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit
from restrict.languages.dfa import Dfa, minimal
from restrict.languages.monoid import star_free
from restrict.languages.regular import Regular
from restrict.logic.compiler import compile_formula
from restrict.logic.sample import random_formula
from restrict.logic.semantics import satisfies
from restrict.model.fileformat import loads
from restrict.model.program import Model
from tests import documents
from tests.formula_automaton import automaton_of, same
from tests.generator import random_order_only, random_transformer
from tests.marks import heavy_after


def test_a_search_that_finds_no_difference_ends_before_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No word of odd length is balanced, and the model, which accepts none, is defined at no other length."""
    monkeypatch.setattr("restrict.all_lengths.compare.MAX_ENTRIES", 50_000)
    map_ = documents.map_("no", [], 2, "0")
    model = documents.model(map_, alphabet="()", position="last", accept=[1], when="n % 2", name="odd")
    with pytest.raises(ResourceLimit, match=r"no difference after .* words of up to 3[0-9][0-9] symbols"):
        restrict.verify(loads(json.dumps(model).encode()), "dyck:1")


@pytest.mark.parametrize("spec", ["dyck:1", "dyck:2", "majority", "anbn", "palindromes:ab", "shuffle-dyck:1"])
def test_the_machines_of_languages_that_are_not_regular_decide_membership(spec: str) -> None:
    language = named(spec)
    machine = own_machine(language, language.alphabet)
    for n in range(7 if len(language.alphabet) == 2 else 5):
        for word in product(language.alphabet, repeat=n):
            state = reduce(machine.step, map(language.alphabet.index, word), machine.start)
            assert machine.label(state) == language.contains(word)


@pytest.mark.parametrize("models", heavy_after((5, 25), 1))
def test_a_shortest_difference_is_shortest(models: int) -> None:
    rng, short = np.random.default_rng(2), 0
    for _ in range(models):
        model = loads(json.dumps(random_transformer(rng, 2, 2, 3)).encode())
        language = named(str(rng.choice(["palindromes:ab", "regex[ab]:(ab)*", "regex[ab]:a.*b"])))
        found = restrict.verify(model, language)
        wrong = []
        for n in range(1, 7):
            wrong += [w for w in product("ab", repeat=n) if (model.run(w).output == "accept") != language.contains(w)]
            if wrong:
                break
        if isinstance(found, restrict.Proved):
            assert not wrong
            assert found.line is not None
        else:
            assert not wrong or found.difference.word == wrong[0]
            short += bool(wrong)
    assert short >= 0.6 * models


@pytest.mark.parametrize("models", heavy_after((2, 12), 1))
def test_forcing_costs_and_patterns_are_right_at_every_length(models: int) -> None:
    """Theorem 1: one of the two labels has bounded cost; both against dynamic programming at single lengths."""
    rng, patterns = np.random.default_rng(6), 0
    for _ in range(models):
        model = loads(json.dumps(random_transformer(rng, 2, 2, 3)).encode())
        automaton = restrict.automaton(model)
        language = language_of_model(model)
        costs = {label: automaton.costs(label) for label in ("accept", "reject")}
        for n in (1, 2, 5, 9, 30):
            for label, cost_of in costs.items():
                known = language.forcing_cost(n, label == "accept")
                cost = None if known is None else known.cost
                assert cost_of(n) == (-1 if cost is None else cost)
                restriction = automaton.cheapest(label, n)
                assert (restriction is None) == (cost is None)
                assert restriction is None or sum(a != "*" for a in restriction) == cost
                for word in completions(restriction) if restriction is not None and n < 6 else ():
                    assert model.run(word).output == label
        for label in costs:
            pattern = automaton.pattern(label)
            if pattern is None or pattern.first >= 12:
                continue
            patterns += 1
            for n in range(pattern.first, min(pattern.first + 3, 12)):
                free = n - len(pattern.start) - len(pattern.end)
                middle = [pattern.middle[t % len(pattern.middle)] for t in range(free)]
                for word in completions([*pattern.start, *middle, *pattern.end]):
                    assert model.run(word).output == label
        _, proof = restrict.certify_all_lengths(model)
        assert proof.line is not None
    assert patterns >= models


def completions(cells: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All words over a and b that agree with a restriction."""
    return product(*[("a", "b") if c == "*" else (c,) for c in cells])


@pytest.mark.parametrize("programs", heavy_after((4, 60, 200, 1300), 1))
def test_one_label_has_bounded_cost_at_every_length(programs: int) -> None:
    """Theorem 1 (Hahn 2020) at every length at once: on each residue class of lengths, the exact cost of one of both
    labels does not grow. All features mixed."""
    rng, done = np.random.default_rng(12), 0
    for _ in range(programs):
        document = random_order_only(rng, 2, 5) if rng.random() < 0.7 else random_transformer(rng, 2, 2, 3)
        document["output"]["position"] = "last"
        model = loads(json.dumps(document).encode())
        try:
            found = restrict.automaton(model, states=400)
            both = [found.costs(label) for label in ("accept", "reject") if label in found.built.program.labels]
        except (NotEstablished, ResourceLimit):
            continue
        done += 1
        start, turn = max(c.cost.start for c in both), lcm(*(c.cost.period for c in both))
        for t in range(max(1, start), max(1, start) + turn):
            assert any(c(t) >= 0 and c(t) == c(t + turn) for c in both), (document, t)
    assert done >= 0.75 * programs


def random_star_free(rng: np.random.Generator, most: int) -> Dfa:
    """A minimal automaton with 3 to ``most`` states, without groups; monotone letters make that likely."""
    while True:
        states, letters = int(rng.integers(3, most + 1)), int(rng.integers(2, 4))
        delta = rng.integers(states, size=(states, letters))
        for a in range(letters):
            if rng.random() < 0.6:
                delta[:, a] = np.sort(delta[:, a])
        dfa = minimal("abc"[:letters], delta.tolist(), 0, [q for q in range(states) if rng.random() < 0.5])
        if dfa.states >= 3 and star_free(dfa).aperiodic:
            return dfa


@pytest.mark.heavy
def test_star_free_languages_have_models_and_formulas() -> None:
    rng = np.random.default_rng(8)
    for _ in range(4):
        language = Regular("random", "dfa:random", random_star_free(rng, 5))
        model, proof = compile_language(language)
        assert proof.line is not None
        for n in range(1, 6):
            for word in product(language.alphabet, repeat=n):
                assert (model.run(word).output == "accept") == language.contains(word)
        formula = formula_of(language.dfa, "random")
        assert restrict.verify(compile_formula(formula, language.alphabet), language)


def test_a_formula_comes_back_as_a_formula() -> None:
    rng = np.random.default_rng(9)
    for _ in range(5):
        first = random_formula(rng, ["a", "b"], 3)
        second = formula_of(language_of_model(compile_formula(first, ["a", "b"])).dfa, "random")
        assert spelled(second)
        for n in range(1, 6):
            for word in product("ab", repeat=n):
                assert satisfies(first, word, ["a", "b"]) == satisfies(second, word, ["a", "b"])


@pytest.mark.parametrize("count", [6, pytest.param(80, marks=pytest.mark.slow)])
def test_compiled_formulas_are_the_automaton_by_recursion(count: int) -> None:
    """Past and future, all operators; two routes that share nothing, equal at every length."""
    rng = np.random.default_rng(count)
    for _ in range(count):
        formula = random_formula(rng, ["a", "b"], 6)
        found = restrict.automaton(compile_formula(formula, ["a", "b"])).moore
        assert same(found, automaton_of(formula, ["a", "b"])), formula


def test_a_language_that_cannot_be_read_is_refused_before_the_automaton_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The automaton may take minutes."""
    monkeypatch.setattr("restrict.all_lengths.verify.automaton", lambda *_, **__: pytest.fail("built"))
    path = tmp_path / "unfinished.json"
    path.write_text("[" * 9)
    with pytest.raises(ModelError, match=r"unfinished\.json"):
        restrict.verify(restrict.load("parity8"), f"dfa:{path}")


# ----------------------------------------------------------------
# Programs at every length at once: star-free languages, and what is declined. Automata: tests/test_every_length.py.


def model_of(document: dict[str, Any]) -> Model:
    """The model of a document."""
    return loads(json.dumps(document).encode())


@pytest.mark.parametrize("programs", heavy_after((15, 200, 1500), 1))
def test_without_periodic_predicates_the_language_is_star_free(programs: int) -> None:
    """Random programs of all features: those whose classes have no period recognise star-free languages, by Yang,
    Chiang & Angluin 2024 (thresholds of positions are definable there)."""
    rng = np.random.default_rng(3)
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
        periodic, plain = periodic + (program.period > 1), plain + (program.period == 1)
        assert program.period > 1 or star_free(language).aperiodic, document
    assert plain >= 0.6 * programs
    assert periodic >= 0.03 * programs


DECLINED = [
    ("hash(i, j)", "hash"), ("j * k", "tie rule"), ("j == n // 2", "share of n"),
    ("i - j + 3 * k", "weighs j against the key"), ("abs(i - j)", "compares positions with each other"),
]  # fmt: skip


@pytest.mark.parametrize(("score", "why"), DECLINED)
def test_what_is_not_order_only_is_declined_by_name(score: str, why: str) -> None:
    document = documents.model(documents.head("h", score, key="token"), alphabet="ab", position="last", accept=[1])
    with pytest.raises(NotOrderOnly, match=f"variable 'h' is not order-only.*{why}"):
        recognise(model_of(document))
