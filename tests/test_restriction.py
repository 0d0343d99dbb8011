"""Restrictions: composition and refinement, the text form, and a JSON form that does not grow with n."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import restrict
from restrict.base.errors import ModelError, UsageError
from restrict.base.strictjson import Node
from restrict.model.program import Instance
from restrict.model.restriction import Restriction, read_runs, runs

N = 12
RHO = st.dictionaries(st.integers(0, N - 1), st.sampled_from("01")).map(lambda fixed: Restriction(N, fixed))


def instance(name: str, n: int) -> Instance:
    return restrict.load(name).at(n)


# ---------------------------------------------------------------- laws


def compatible(a: Restriction, b: Restriction) -> bool:
    return all(a.fixed.get(i, s) == s for i, s in b.fixed.items())


@given(RHO, RHO, RHO)
def test_composition_is_the_least_common_refinement(a: Restriction, b: Restriction, c: Restriction) -> None:
    if not compatible(a, b):
        with pytest.raises(UsageError, match="the restrictions fix position"):
            a | b
        return
    both = a | b
    assert both == b | a
    assert both.refines(a)
    assert both.refines(b)
    if c.refines(a) and c.refines(b):
        assert c.refines(both)
    assert a | a == a
    assert a | Restriction(N) == a
    if compatible(both, c):
        assert both | c == a | (b | c)


@given(RHO, RHO)
def test_refinement_is_an_order_that_composition_decides(a: Restriction, b: Restriction) -> None:
    assert a.refines(a)
    assert a.refines(Restriction(N))
    assert a.refines(b) == (compatible(a, b) and a | b == a)
    if a.refines(b) and b.refines(a):
        assert a == b


@given(RHO, st.text("01", min_size=N, max_size=N))
def test_a_refinement_admits_fewer_words(rho: Restriction, word: str) -> None:
    assert rho.admits(word) == all(word[i] == s for i, s in rho.fixed.items())
    assert not rho.admits(word[1:])
    whole = Restriction(N, dict(enumerate(word)))
    assert rho.admits(word) == whole.refines(rho)


@given(RHO, st.sets(st.integers(0, N - 1)))
def test_releasing_frees_exactly_these_positions(rho: Restriction, drop: set[int]) -> None:
    less = rho.release(drop)
    assert rho.refines(less)
    assert set(less.fixed) == set(rho.fixed) - drop
    assert less.free == rho.free + len(set(rho.fixed) & drop)
    assert set(less.free_positions()) == set(range(N)) - set(less.fixed)
    assert rho.free == N - len(rho.fixed) == len(list(rho.free_positions()))
    assert list(rho.fixed) == sorted(rho.fixed)


# ---------------------------------------------------------------- text


@given(RHO)
def test_the_text_form_is_read_back(rho: Restriction) -> None:
    assert len(rho.text()) == N
    assert Restriction.parse(instance("contains-one", N), rho.text()) == rho
    assert Restriction.parse(instance("contains-one", N), f"  {' '.join(rho.text())}\n") == rho


def test_the_text_form_shows_markers_as_dots() -> None:
    at = instance("parity-attempt", 6)
    rho = Restriction.of(at, {2: "1"})
    assert rho.text() == str(rho) == ".*1**."
    assert Restriction.parse(at, ".*1**.") == rho
    assert (rho.free, list(rho.free_positions())) == (3, [1, 3, 4])
    assert rho.admits("0100")
    assert not rho.admits("0000")


@pytest.mark.parametrize("fixed", [{1: "w1", 2: "i"}, {}, {0: "i"}, {0: "r", 2: "i"}])
def test_symbols_of_several_characters_are_separated_by_spaces(fixed: dict[int, str]) -> None:
    """The text is read back, also where no long symbol occurs in it."""
    at = instance("flip-flop", 3)
    rho = Restriction.of(at, fixed)
    assert rho.text() == "* w1 i" or 1 not in fixed
    assert Restriction.parse(at, rho.text()) == rho


def test_a_long_restriction_is_shown_by_its_size() -> None:
    assert str(Restriction(1000, {3: "1"})) == "1 of 1000 positions fixed"
    assert str(Restriction(4, {3: "1"})) == "***1"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("contains-one", "**", "the restriction '**' has 2 positions, not 3"),
        ("contains-one", "", "has 0 positions, not 3"),
        ("contains-one", "*2*", "symbol '2' at position 1 is not in the alphabet of 'contains-one'"),
        ("contains-one", "*.*", "position 1 of the restriction is '.': write '.' exactly at the markers"),
        ("parity-attempt", "***", "position 0 of the restriction is '*': write '.' exactly at the markers"),
        ("parity-attempt", ".0>", "position 2 of the restriction is '>'"),
        ("flip-flop", "* w2 *", "symbol 'w2' at position 1"),
    ],
)
def test_a_text_that_is_no_restriction_is_refused_with_the_position(name: str, text: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        Restriction.parse(instance(name, 3), text)
    assert reason in str(caught.value)


# ---------------------------------------------------------------- JSON


@given(RHO)
def test_the_json_form_is_read_back(rho: Restriction) -> None:
    form = json.loads(json.dumps(rho.to_json()))
    assert Restriction.from_json(Node(form, "fixed"), N) == rho


@given(st.sets(st.integers(0, 40)))
def test_run_lists_are_the_fewest_runs_of_a_set(positions: set[int]) -> None:
    found = runs(sorted(positions))
    assert set(read_runs(Node(found, "p"), 41)) == positions
    assert all(a + b < c for (a, b), (c, _) in itertools.pairwise(found))


def test_the_json_form_grows_with_the_changes_of_symbol_not_with_n() -> None:
    n = 100_000
    fixed = dict.fromkeys(range(10, n - 10), "0") | {50_000: "1"}
    rho = Restriction(n, fixed)
    text = json.dumps(rho.to_json())
    assert len(text) < 100
    assert Restriction.from_json(Node(json.loads(text), "fixed"), n) == rho
    assert Restriction(n, {5: "1"}).to_json() == [[5, 1, "1"]]


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (5, "fixed: expected a list, not 5"),
        ([5], "fixed[0]: expected a list of 3, not 5"),
        ([[0, 1]], "fixed[0]: expected a list of 3, not a list of 2"),
        ([[0, 0, "1"]], "fixed[0]: expected a count in 1 .. 5, not 0"),
        ([[5, 1, "1"]], "fixed[0]: expected a start in 0 .. 4, as runs are increasing, not 5"),
        ([[-1, 1, "1"]], "fixed[0]: expected a start in 0 .. 4, as runs are increasing, not -1"),
        ([[3, 3, "1"]], "fixed[0]: expected a count in 1 .. 2, not 3"),
        ([[2, 2, "1"], [3, 1, "0"]], "fixed[1]: expected a start in 4 .. 4, as runs are increasing, not 3"),
        ([[0, 1, 1]], "fixed[0][2]: expected a string, not 1"),
        ([[True, 1, "1"]], "fixed[0]: expected a start in 0 .. 4, as runs are increasing, not true"),
    ],
)
def test_a_json_form_that_is_no_restriction_is_refused_with_its_place(form: Any, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        Restriction.from_json(Node(form, "fixed"), 5)
    assert str(caught.value) == reason


# ---------------------------------------------------------------- making


def test_symbols_may_be_given_by_their_index_also_from_an_array() -> None:
    at = instance("flip-flop", 5)
    assert Restriction.of(at, {3: 1, 0: "r"}) == Restriction(5, {0: "r", 3: "w1"})
    assert Restriction.of(at).fixed == {}
    assert Restriction.of(at, {3: 1}).tokens(at.model) == {3: 1}
    assert Restriction.of(at, dict(enumerate(np.array([0, 1])))).text() == "w0 w1 * * *"


@pytest.mark.parametrize(
    ("fixed", "reason"),
    [
        ({5: "1"}, "position 5 of the restriction is out of range 0..4"),
        ({-1: "1"}, "position -1 of the restriction is out of range 0..4"),
        ({0: "1"}, "position 0 holds a marker and cannot be fixed"),
        ({4: "1"}, "position 4 holds a marker and cannot be fixed"),
        ({2: "x"}, "symbol 'x' at position 2 is not in the alphabet of 'parity-attempt'"),
        ({2: ">"}, "symbol '>' at position 2 is not in the alphabet"),
        ({2: 7}, "symbol 7 at position 2 is not in the alphabet"),
    ],
)
def test_what_cannot_be_fixed_is_refused(fixed: dict[int, str | int], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        Restriction.of(instance("parity-attempt", 5), fixed)
    assert reason in str(caught.value)


def test_restrictions_of_other_lengths_or_markers_do_not_compose() -> None:
    with pytest.raises(UsageError, match="lengths 3 and 4"):
        Restriction(3) | Restriction(4)
    with pytest.raises(UsageError, match="other markers"):
        Restriction(3) | Restriction(3, {}, frozenset({0}))
    with pytest.raises(UsageError, match="position 1 to '0' and to '1'"):
        Restriction(3, {1: "0"}) | Restriction(3, {1: "1"})
    assert not Restriction(3).refines(Restriction(4))
