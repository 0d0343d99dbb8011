"""Growth, star-freeness, AC0 and sensitivity against slow versions; `restrict language` as a newcomer types it."""

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from restrict.base.errors import ResourceLimit
from restrict.languages.consequences import Unknown, consequences, linear_residue
from restrict.languages.dfa import Dfa, minimal
from restrict.languages.facts import by_enumeration, facts, growth, regular_sensitivity, sensitivity
from restrict.languages.growth import regular_growth, simplest
from restrict.languages.monoid import Aperiodicity, _by_library, quasi_aperiodic, star_free
from restrict.languages.pre import read_pre
from restrict.languages.predicate import Predicate
from restrict.languages.regular import Regular
from restrict.languages.source import language
from tests.clock import quicker_than
from tests.commands import Shell
from tests.marks import heavy_after
from tests.test_cli import shell
from tests.test_languages import LANGUAGES, some_dfa

__all__ = ["shell"]
Map = tuple[int, ...]


def automaton(spec: str) -> Dfa:
    return language(spec).dfa


# ------------------------------------------------------------ monoids


def group_of(element: Map) -> set[Map]:
    """The powers of an element that come back: a cyclic group."""
    seen: list[Map] = []
    power = element
    while power not in seen:
        seen.append(power)
        power = tuple(element[q] for q in power)
    return set(seen[seen.index(power) :])


def monoid(dfa: Dfa) -> list[Map]:
    letters = [tuple(row) for row in dfa.table.tolist()]
    found = list(dict.fromkeys(letters))
    for one in found:
        found += [two for two in dict.fromkeys(tuple(a[q] for q in one) for a in letters) if two not in found]
    return found


def in_ac0(dfa: Dfa) -> bool:
    """No set of maps by words of one length contains a cyclic group."""
    groups = [g for g in map(group_of, monoid(dfa)) if len(g) > 1]
    letters = [tuple(row) for row in dfa.table.tolist()]
    layer, seen = set(letters), list[set[Map]]()
    while layer not in seen:
        if any(g <= layer for g in groups):
            return False
        seen.append(layer)
        layer = {tuple(a[q] for q in one) for one in layer for a in letters}
    return True


@pytest.mark.parametrize("many", heavy_after((300, 600), 1))
def test_star_freeness_and_ac0_of_random_automata(many: int) -> None:
    rng, met = random.Random(1), dict.fromkeys(itertools.product((True, False), repeat=2), 0)
    for _ in range(many):
        dfa = some_dfa(rng, rng.randint(1, 5))
        found, circuits = star_free(dfa), quasi_aperiodic(dfa)
        assert found.aperiodic == all(len(group_of(one)) == 1 for one in monoid(dfa))
        assert circuits.aperiodic == in_ac0(dfa)
        if found.word is not None:
            for q, after in zip(found.states, found.states[1:] + found.states[:1], strict=True):
                assert dfa.run(found.word, q) == after != q
        met[found.aperiodic, circuits.aperiodic] += 1
    assert met[True, True] > many // 30
    assert met[False, False] > many // 30
    assert met[False, True] > 0
    assert met[True, False] == 0  # star-free languages are in AC0


def test_the_library_agrees_with_enumeration() -> None:
    pytest.importorskip("libsemigroups_pybind11")
    rng = random.Random(2)
    for _ in range(30):
        dfa = some_dfa(rng, 4)
        assert _by_library(dfa, 0).aperiodic == star_free(dfa).aperiodic


# ------------------------------------------------------------ growth


def cost_of(found: Any, n: int, member: bool) -> int:
    """The forcing cost at one length; -1 where there is no such word."""
    known = found.forcing_cost(n, member)
    return -1 if known is None else known.cost


@pytest.mark.parametrize("many", heavy_after((40, 500), 1))
def test_growth_of_random_automata_is_what_happens_at_large_lengths(many: int) -> None:
    rng, met = random.Random(3), dict.fromkeys(("none", "constant", "linear"), 0)
    for _ in range(many):
        found = Regular("DFA", "python:dfa", some_dfa(rng, rng.randint(1, 5)))
        for member in (True, False):
            grown = regular_growth(found.dfa, member)
            for r, case in enumerate(grown.cases):
                met[case.kind] += 1
                n = 240 * grown.period + r
                lengths = (n, n + grown.period, 8 * n, 0, 1, 2, 3, 7, 50, 301)
                costs = [cost_of(found, m, member) for m in lengths]
                assert [grown.exact(m) for m in lengths] == costs
                if case.kind == "none":
                    assert costs[:2] == [-1, -1]
                elif case.kind == "constant":
                    assert costs[0] == costs[1] == case.value
                else:
                    assert case.rate > 0
                    assert abs(costs[0] - case.rate * n) <= 12  # at these sizes the rate is met, too
    assert min(met.values()) > many // 10, met


def test_what_the_theorem_says_is_what_the_settled_costs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cycles of the subset graph are for graphs whose costs settle late; here on graphs where both are known."""
    rng, known, met = random.Random(7), [], set[str]()
    for _ in range(40):
        dfa = some_dfa(rng, rng.randint(1, 5))
        known += [(dfa, member, regular_growth(dfa, member).cases) for member in (True, False)]
    monkeypatch.setattr("restrict.languages.growth.least_costs", refused)
    for dfa, member, cases in known:
        found = regular_growth(dfa, member)
        assert found.exact is None
        assert found.cases == simplest([replace(case, rate=None) for case in cases], "").cases
        met |= {case.kind for case in cases}
    assert met == {"none", "constant", "linear"}


def refused(*_: object) -> None:
    """As if the costs settled too late."""
    raise ResourceLimit("too late")


def test_closed_forms_are_what_happens() -> None:
    for spec in ("majority", "anbn", "palindromes:ab", "palindromes:a", "dyck:1", "dyck:2", "shuffle-dyck:2"):
        found = language(spec)
        for member in (True, False):
            grown = growth(found, member)
            for n in range(20, 26):
                case, cost = grown.cases[n % grown.period], cost_of(found, n, member)
                if case.kind == "linear":
                    assert cost >= 0
                    assert abs(cost - case.rate * n) <= 1
                else:
                    assert cost == (-1 if case.kind == "none" else case.value)


# ------------------------------------------------------------ sensitivity


@pytest.mark.parametrize("many", heavy_after((60, 300), 1))
def test_sensitivity_equals_enumeration(many: int) -> None:
    rng = random.Random(4)
    for _ in range(many):
        found = Regular("DFA", "python:dfa", some_dfa(rng, rng.randint(1, 5)))
        n = rng.randint(0, 7)
        assert regular_sensitivity(found.dfa, n) == by_enumeration(found, n)
    for spec in LANGUAGES:
        found = language(spec)
        for n in range(7 if many > 60 else 5):
            if len(found.alphabet) ** n <= 5000:
                assert sensitivity(found, n) == by_enumeration(found, n), (spec, n)


@pytest.mark.heavy
def test_sensitivity_at_large_lengths_goes_on_as_it_began() -> None:
    dfa = automaton("dyck:1,depth=2")
    assert [regular_sensitivity(dfa, n) for n in (1000, 1001, 100_000)] == [1000, 0, 100_000]
    blocks = minimal("ab", [[1, 0], [1, 2], [1, 3], [3, 3]], 0, [3])  # contains abb
    slow = [regular_sensitivity(blocks, n) for n in range(2, 60)]
    assert slow == sorted(slow)
    assert regular_sensitivity(blocks, 5000) == slow[-1] + 5000 - 59


# ------------------------------------------------------------ what follows


def verdicts(spec: str) -> list[tuple[str, str]]:
    return [(c.theorem.split(",")[0], c.verdict) for c in consequences(facts(language(spec), 20))]


def test_the_consequences_for_known_languages_are_those_of_the_theorems() -> None:
    hahn, yang, hao = "Hahn 2020", "Yang", "Hao"
    assert verdicts("parity") == [(hahn, "excluded"), (yang, "excluded"), (hao, "excluded")]
    assert verdicts("1*") == [(hahn, "open"), (yang, "possible")]
    assert verdicts("(aa)*") == [(hahn, "open"), (yang, "excluded"), (yang, "possible")]
    assert verdicts("majority") == [(hahn, "excluded"), (yang, "excluded")]
    assert verdicts("anbn") == [(hahn, "open"), (yang, "excluded")]
    assert verdicts("dyck:2,depth=2") == [(hahn, "open"), (yang, "possible")]
    assert verdicts("dyck:1") == verdicts("dyck:2") == [(hahn, "excluded"), (yang, "excluded")]


@pytest.mark.parametrize("many", heavy_after((40, 800), 1))
def test_theorem_1_never_excludes_a_star_free_language(many: int) -> None:
    """Star-free languages have hard-attention transformers, so their cost must be bounded on one side."""
    rng, met = random.Random(7), 0
    for _ in range(many):
        dfa = some_dfa(rng, rng.randint(2, 5))
        if quasi_aperiodic(dfa).aperiodic:
            met += 1
            assert linear_residue(regular_growth(dfa, True), regular_growth(dfa, False)) is None
    assert met > many // 4


def test_a_predicate_gets_what_is_known_and_no_more() -> None:
    found = facts(Predicate("two", ("a", "b"), lambda w: w.count("b") == 2), 8)
    assert found.into.cost == 8
    assert isinstance(found.growth_in, Unknown)
    assert found.star_free is None
    assert [c.verdict for c in consequences(found)] == ["open", "open"]


# ------------------------------------------------------------ the command


def test_the_language_command_prints_costs_and_consequences(shell: Shell) -> None:
    out = shell.good("language", "parity", "-n", 100_000)
    assert "force into L" in out
    assert out.count("100000 fixed symbols (exact minimum") == 2
    assert "[Hahn 2020, Theorem 1] no hard-attention transformer" in out
    assert "the word 1 permutes 2 states" in out

    out = shell.good("language", "dyck:1", "-n", 1000, "--pre", "corollary2")
    assert "words of 1000 symbols, 400 of them fixed beforehand" in out
    assert "201 fixed symbols beyond the pre-restriction (exact minimum; heights)" in out
    growth = [line for line in out.splitlines() if line.startswith("  growth ")]
    assert len(growth) == 4
    assert all(line[21:].startswith("without the pre-restriction: ") for line in growth), "it is about all lengths"
    assert "without the pre-restriction" not in shell.good("language", "dyck:1", "-n", 10)
    same = shell.good("language", "dyck:1", "-n", 1000, "--pre", "first=20%:(", "--pre", "last=200:)")
    assert same == out

    out = shell.good("language", "(aa)*", "-n", 3)
    assert "impossible (exact: there is no such word)" in out


def test_the_language_command_prints_json(shell: Shell) -> None:
    found = json.loads(shell.good("language", "1*", "-n", 6, "--json"))
    assert found["forcing"]["in"]["cost"] == 6
    assert found["forcing"]["out"]["restriction"] == [[5, 1, "0"]]
    assert found["growth"]["out"] == {
        "period": 1,
        "cases": [{"kind": "constant", "value": 1, "rate": None}],
        "proof": "settled least costs in the weighted subset graph",
        "exact": {"values": [-1, 1], "growth": [0]},
    }
    assert found["star_free"]["holds"] is True
    assert found["sensitivity"] == 6
    assert {c["verdict"] for c in found["consequences"]} == {"open", "possible"}


def test_the_language_command_lists_every_form(shell: Shell) -> None:
    out = shell.good("language", "--list")
    assert "dyck:2 or dyck:2,depth=3" in out
    assert out.count("\n") >= 13


def test_the_language_command_says_why_it_does_not_know(shell: Shell) -> None:
    Path("g.cfg").write_text("S -> a S b S | b S a S |\n")
    result = shell("language", "cfg:g.cfg", "-n", 40)
    assert (result.code, result.err.count("\n")) == (5, 1)
    assert "is not known" in result.err
    assert "[Hahn 2020, Theorem 1] the growth of the forcing cost is not known" in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("parity",), "name a language and a length"),
        (("nothing", "-n", "3"), "is not a language; there are parity"),
        (("parity", "-n", "-1"), "-1 is not between 0 and 2000000"),
        (("parity", "-n", "4", "--pre", "1"), "nor a pattern of 4 cells (it has 1)"),
        (("parity", "-n", "4", "--pre", "7:1"), "the positions leave 0..3"),
        (("parity", "-n", "4", "--pre", "first=9:1"), "more than the length"),
        (("parity", "-n", "4", "--pre", "first=1:x"), "'x' is not in the alphabet 0 1"),
        (("parity", "-n", "4", "--pre", "corollary2"), "is for Dyck languages"),
        (("parity", "-n", "4", "--pre", "0:1", "--pre", "0***"), "fix position 0 to"),
    ],
)
def test_wrong_use_of_the_language_command_is_refused(shell: Shell, words: tuple[str, ...], message: str) -> None:
    assert message in shell.bad(2, "language", *words)


def test_pre_restrictions_are_read_from_text() -> None:
    found = language("flip-flop")
    assert read_pre(found, 6, ["w0 * * r * *", "4-5:i"]).fixed == {0: "w0", 3: "r", 4: "i", 5: "i"}
    assert read_pre(found, 6, []) is None


def test_a_thousand_states_take_seconds() -> None:
    """Answered, or declined with the reason and a certified bound."""
    rng = random.Random(5)
    word = [rng.randrange(2) for _ in range(999)]
    rows, back = [[0, 0]], 0
    rows[0][word[0]] = 1
    for at in range(1, 999):  # the automaton of Knuth, Morris and Pratt
        row = list(rows[back])
        row[word[at]] = at + 1
        rows.append(row)
        back = rows[back][word[at]]
    found = Regular("DFA", "python:dfa", minimal("01", [*rows, [999, 999]], 0, [999]))
    assert found.dfa.states == 1000
    with quicker_than(20):
        assert cost_of(found, 100_000, True) == 999
    assert isinstance(star_free(automaton("first")), Aperiodicity)
