"""The set of all lengths at which an automaton is wrong about a language: against all words, and against long runs."""

import json
from collections.abc import Callable
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import restrict
from restrict.all_lengths.compare import spelled
from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED
from restrict.all_lengths.verify import named
from restrict.all_lengths.witness import wrong_word
from restrict.all_lengths.wrong import (
    Lengths,
    equations_of,
    possible_lengths,
    settled_pair,
    shortest_lengths,
    wrong_about_automaton,
)
from restrict.base.errors import ResourceLimit
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.equations import Rule, System
from restrict.checker.lengths import Walked, check_lengths, errors_of
from restrict.checker.refutation import Language as Checked
from restrict.cli.main import _run
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.logic import compile_formula
from tests.marks import heavy_after

INSTANCES = Path(__file__).resolve().parent.parent / "instances"
SPECS = ("majority", "anbn", "dyck:1", "palindromes:ab", "shuffle-dyck:1", "parity", "dyck:2", "shuffle-dyck:2")
COUNTERS = ("majority", "anbn", "dyck:1", "shuffle-dyck:1", "parity")


def random_automaton(rng: np.random.Generator, alphabet: tuple[str, ...]) -> Moore:
    """A random automaton that accepts, rejects, or is not defined."""
    size = int(rng.integers(1, 6))
    delta = rng.integers(size, size=(size, len(alphabet))).astype(np.int32)
    return Moore(alphabet, delta, rng.choice(3, size=size, p=[0.45, 0.45, 0.1]), ("reject", "accept", UNDEFINED), True)


class Counters(NamedTuple):
    """A language by counters, a stack or the word, written once more: ``None`` is what nothing makes a member."""

    start: Any
    after: Callable[[Any, int], Any]
    member: Callable[[Any], bool]
    numbers: dict[str, int]

    def step(self, configuration: Any, symbol: str) -> Any:
        """The configuration after a symbol."""
        return None if configuration is None else self.after(configuration, self.numbers[symbol])

    def accepts(self, configuration: Any) -> bool:
        """Whether the word is a member."""
        return configuration is not None and self.member(configuration)


def machine_of(language: Language) -> Counters:
    """The language's own machine."""
    index = {symbol: a for a, symbol in enumerate(language.alphabet)}
    if isinstance(language, Regular):
        delta = language.dfa.delta
        return Counters(0, lambda q, a: delta[q][a], lambda q: q in language.dfa.accept, index)
    known: dict[str, tuple[Any, Callable[[Any, int], Any], Callable[[Any], bool]]] = {
        "majority": (0, lambda c, a: c + (1 if a else -1), lambda c: c > 0),
        "anbn": ((0, 0), both, lambda c: c[0] == c[1]),
        "dyck": ((), stack, lambda c: c == ()),
        "shuffle-dyck": ((0,) * (len(index) // 2), heights, lambda c: not any(c)),
        "palindromes": ((), lambda word, a: (*word, a), lambda word: word == word[::-1]),
    }
    return Counters(*known[language.spec.partition(":")[0]], index)


def both(counts: tuple[int, int], a: int) -> tuple[int, int] | None:
    """The numbers of zeros and ones, in this order in the word."""
    zeros, ones = counts
    if a == 0:
        return (zeros + 1, 0) if ones == 0 else None
    return (zeros, ones + 1) if ones < zeros else None


def stack(opened: tuple[int, ...], a: int) -> tuple[int, ...] | None:
    """The brackets that are open."""
    if a % 2 == 0:
        return (*opened, a)
    return opened[:-1] if opened[-1:] == (a - 1,) else None


def heights(open_: tuple[int, ...], a: int) -> tuple[int, ...] | None:
    """How many brackets of each kind are open."""
    now = open_[a // 2] + (-1 if a % 2 else 1)
    return (*open_[: a // 2], now, *open_[a // 2 + 1 :]) if now >= 0 else None


def near_automaton(rng: np.random.Generator, language: Language, depth: int) -> Moore:
    """An automaton that is right as long as the language's own machine stays near its start, and then at random."""
    machine = machine_of(language)
    known: dict[Any, int] = {machine.start: 0}
    order, delta, label = [machine.start], list[list[int]](), list[int]()
    for configuration in order:
        after = [machine.step(configuration, a) for a in language.alphabet]
        for to in after:
            if to not in known and len(order) < depth:
                known[to] = len(order)
                order.append(to)
        delta.append([known.get(to, int(rng.integers(len(order)))) for to in after])
        label.append(int(machine.accepts(configuration)))
    return Moore(language.alphabet, np.array(delta, np.int32), np.array(label), ("reject", "accept", UNDEFINED), True)


def naive(automaton: Moore, language: Language, most: int) -> list[bool]:
    """By length: whether some word is labelled wrongly; all pairs of a state and a configuration."""
    machine = machine_of(language)
    level, out = {(0, machine.start)}, []
    for _ in range(most):
        said = [(automaton.labels[int(automaton.label[q])], machine.accepts(c)) for q, c in level]
        out.append(any(s != UNDEFINED and (s == "accept") != member for s, member in said))
        letters = list(enumerate(automaton.alphabet))
        level = {(int(automaton.delta[q, x]), machine.step(c, a)) for q, c in level for x, a in letters}
    return out


def claim_of(automaton: Moore, language: Language, markers: int) -> tuple[dict[str, Any], Lengths, Lengths]:
    """What is computed, as a claim."""
    wrong = equations_of(automaton, spelled(language))
    first, turn = settled_pair(wrong)
    least, most = (possible_lengths(wrong, first, turn, markers, side) for side in (0, 1))
    claim = {"settled": first, "turn": turn, "least": least.document(), "most": most.document()}
    return claim, least, most


def checked(claim: dict[str, Any], automaton: Moore, language: Language, markers: int) -> str:
    """The trusted checker's own test."""
    meter = Meter(10**9)
    known = Checked(spelled(language), Place("proof"), meter)
    order = [known.symbols[a] for a in automaton.alphabet]
    walked = Walked(automaton.delta.tolist(), automaton.label.tolist(), order)
    return check_lengths(claim, Place("proof"), errors_of(walked, known, meter), markers)


def wrong_words(automaton: Moore, language: Language, markers: int, least: Lengths) -> None:
    """At every length of the set, also far out, a word is found on which both differ; at no other length."""
    wrong = equations_of(automaton, spelled(language))
    settled = settled_pair(wrong)
    for n in (*range(max(1, markers), 14), 40, 41):
        letters = wrong_word(wrong, *settled, n - markers)
        assert (letters is not None) == (n in least)
        if letters is not None:
            word = tuple(automaton.alphabet[x] for x in letters)
            assert len(word) + markers == n
            assert automaton.run(word) != UNDEFINED
            assert (automaton.run(word) == "accept") != language.contains(word)


@pytest.mark.parametrize("count", heavy_after((8, 500), 1))
def test_random_automata_against_all_words(count: int) -> None:
    """All languages: agreement with all words up to a length; false claims are refused, true ones accepted."""
    rng = np.random.default_rng(count)
    exact = refused = 0
    for at in range(count):
        spec = SPECS[at % len(SPECS)]
        language, markers = named(spec), int(rng.integers(3))
        near = rng.random() < 0.5
        automaton = near_automaton(rng, language, 4) if near else random_automaton(rng, language.alphabet)
        claim, least, most = claim_of(automaton, language, markers)
        size = 40 if spec in COUNTERS else 10 if len(language.alphabet) == 2 else 6
        truth = naive(automaton, language, size)
        for t in range(+(markers == 0), size):
            assert (t + markers in least) <= truth[t] <= (t + markers in most), (spec, t)
        assert not any(n in most for n in range(max(1, markers)))
        assert least == most or spec == "shuffle-dyck:2"
        exact += least == most
        if isinstance(language, Regular):
            assert wrong_about_automaton(automaton, language.dfa, markers) == least
        assert checked(claim, automaton, language, markers).startswith("wrong-at=")
        wrong_words(automaton, language, markers, least)
        side = str(rng.choice(["least", "most"]))
        part = str(rng.choice([key for key in ("early", "cycle") if claim[side][key]]))
        place = int(rng.integers(len(claim[side][part])))
        claim[side][part][place] ^= 1
        falls = claim[side][part][place] == (side == "least")
        try:
            checked(claim, automaton, language, markers)
            assert not (falls and least == most), (spec, claim)
        except Reject:
            refused += 1
            assert falls, (spec, claim)
    assert exact >= 0.8 * count
    assert refused >= count // 5


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_period_that_passes_holds_for_ever(count: int) -> None:
    """Theorem E on random systems of equations: solved much further, the sets do repeat."""
    rng = np.random.default_rng(count)
    passed = 0
    for _ in range(count):
        size = int(rng.integers(1, 5))
        rules = []
        for _ in range(size):
            shifts = [(int(rng.integers(1, 3)), int(rng.integers(size))) for _ in range(int(rng.integers(3)))]
            sums = [(int(rng.integers(size)), int(rng.integers(size))) for _ in range(int(rng.integers(3)))]
            rules.append(Rule(int(rng.integers(4)), shifts, sums))
        system = System(range(size), rules.__getitem__, Meter(10**9))
        first, turn = int(rng.integers(12)), int(rng.integers(1, 5))
        if system.repeats(first, turn):
            passed += 1
            most = 4 * (2 * first + 2 * turn + 4)
            system.extend(most)
            window = ((1 << (most - turn)) - 1) >> first << first
            assert not any((m ^ (m >> turn)) & window for m in system.members)
    assert passed >= count // 4


def test_the_shortest_form_of_a_set_of_lengths() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        early = (rng.random(int(rng.integers(6))) < 0.5).tolist()
        cycle = (rng.random(int(rng.integers(1, 5))) < 0.5).tolist()
        found, plain = shortest_lengths(list(early), cycle * 2), Lengths(tuple(early), tuple(cycle))
        assert len(found.early) <= len(early)
        assert len(found.cycle) <= len(cycle)
        assert all((n in found) == (n in plain) for n in range(8 + 2 * lcm(len(found.cycle), len(cycle))))


def test_models_that_are_not_dyck_are_wrong_at_every_even_length_from_some_on(tmp_path: Path, capsys: Any) -> None:
    """From Python and from the command line, with a proof that the trusted checker verifies."""
    model = restrict.load(INSTANCES / "brasp-dyck1-depth2.json")
    found = restrict.wrong_lengths(model, "dyck:1")
    assert found.exact
    assert [n for n in range(40) if n in found.least] == list(range(6, 40, 2))
    for n in (6, 8, 50):
        word = found.word(n)
        assert len(word) == n
        assert (model.run(word).output == "accept") != restrict.language("dyck:1").contains(word)
    proof = str(tmp_path / "proof.json")
    words = ["refute", str(INSTANCES / "brasp-dyck1-depth2.json"), "-L", "dyck:1", "--all-lengths", "-o", proof]
    assert _run(words) == 0
    said = capsys.readouterr().out
    assert "wrong at exactly these lengths: from 6 on: n = 0 mod 2" in said
    assert "s VERIFIED all-lengths wrong-at=n>=5:1/2 language=dyck-1" in said
    assert _run(["check", words[1], proof]) == 0
    capsys.readouterr()
    assert _run([*words[:5], "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["exact"], answer["n"], answer["lengths"]) == (True, 6, answer["at_most"])


@pytest.mark.parametrize(("own", "usual"), [("dyck[ab]:1", "dyck:1"), ("shuffle-dyck[aAbB]:2", "shuffle-dyck:2")])
def test_brackets_of_ones_own_have_the_lengths_of_the_usual_ones(own: str, usual: str) -> None:
    found = []
    for spec in (own, usual):
        alphabet = restrict.language(spec).alphabet
        model = compile_formula(f"last and '{alphabet[1]}' or not once '{alphabet[0]}'", alphabet)
        wrong = restrict.wrong_lengths(model, spec)
        found.append((wrong.text(), wrong.line.split()[:3]))
    assert found[0] == found[1]


def test_a_language_without_equations_gets_its_first_length() -> None:
    model = restrict.load(INSTANCES / "brasp-ab-star.json")
    language = restrict.Predicate("same-ends", ("a", "b"), lambda word: list(word) == list(reversed(word)))
    with pytest.raises(ResourceLimit, match="the set of lengths is not computed"):
        restrict.wrong_lengths(model, language)
