"""Explanations suffice, are minimal or minimum as they say, and come with certificates that hold."""

import itertools
import json
from itertools import chain, repeat
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import restrict
from restrict import Model, ResourceLimit, Restriction, UsageError, certificate_of, load
from restrict.base.deadline import Deadline
from restrict.force.cases import confirm_by_tree
from restrict.model.fileformat import dumps, loads
from restrict.optimum import cnf
from restrict.optimum.explain import Explanation, explain
from restrict.optimum.options import OPTIONS
from restrict.optimum.sensitivity import Sensitivity, sensitivity
from tests import generator, naive
from tests.commands import typed
from tests.marks import heavy_after

Case = tuple[naive.Model, Model, tuple[int, ...]]


def random_case(seed: int) -> Case:
    """A random program with an input."""
    rng = np.random.default_rng(seed)
    document, n = generator.random_case(rng, 6)
    x = tuple(int(rng.integers(len(document["alphabet"]))) for _ in naive.letters(document, n))
    return document, loads(dumps(document), "random"), x


def two_layers(seed: int, n: int = 7) -> Case:
    """A random two-layer model with an input."""
    model = load(f"random:layers=2,heads=2,states=4,seed={seed}")
    assert model.content is not None
    x = tuple(int(a) for a in np.random.default_rng(seed).integers(0, 2, n))
    return json.loads(model.content), model, x


CASES = [*map(random_case, range(45)), *map(two_layers, range(12))]


def word(case: Case) -> list[str]:
    """The input's symbols."""
    return [case[0]["alphabet"][a] for a in case[2]]


def by_position(case: Case) -> dict[int, str]:
    """The same by position."""
    places = naive.letters(case[0], naive.length(case[0], case[2]))
    return dict(zip(places, word(case), strict=True))


KNOWN: dict[int, set[frozenset[int]]] = {}


def sufficient(case: Case) -> set[frozenset[int]]:
    """All sets of positions that force the label on the input, by enumeration, once for each of ``CASES``."""
    if id(case) not in KNOWN:
        KNOWN[id(case)] = enumerated(case)
    return KNOWN[id(case)]


def enumerated(case: Case) -> set[frozenset[int]]:
    """The same, anew."""
    document, _, x = case
    n = naive.length(document, x)
    table, places = naive.truth_table(document, n), naive.letters(document, n)
    differ = [{t for t in range(len(x)) if y[t] != x[t]} for y in table if table[y] != table[x]]
    return {
        frozenset(places[t] for t in chosen)
        for size in range(len(x) + 1)
        for chosen in itertools.combinations(range(len(x)), size)
        if all(d.intersection(chosen) for d in differ)
    }


def minimal(sets: set[frozenset[int]]) -> set[frozenset[int]]:
    """The subset-minimal ones."""
    return {s for s in sets if not any(s - {i} in sets for i in s)}


def check(case: Case, found: Explanation, truth: set[frozenset[int]]) -> None:
    """An explanation is what it says."""
    model, symbols = case[1], by_position(case)
    chosen = frozenset(found.restriction.fixed)
    assert set(found.positions) <= chosen
    assert all(symbols[i] == s for i, s in found.restriction.fixed.items())
    assert chosen in truth
    assert found.label == model.run(word(case)).label(found.restriction.n - 1)
    if found.minimal is not None:
        assert found.minimal == all(chosen - {i} not in truth for i in found.positions)
    if found.certificate is not None:
        assert found.certificate.restriction.fixed == found.restriction.fixed
        assert " c=0 " in restrict.check(model, found.certificate)


@pytest.mark.parametrize("every", heavy_after((6, 1), 1))
def test_minimal_explanations_suffice_and_have_certificates(every: int) -> None:
    exact_too = proved = 0
    for case in CASES[::every]:
        (found,) = explain(case[1], word(case))
        check(case, found, sufficient(case))
        assert found.certificate is not None
        assert sensitivity(case[1], word(case)).lower <= found.weight
        exact_too, proved = exact_too + bool(found.minimal), proved + found.minimum
    assert min(exact_too, proved) > len(CASES[::every]) // 2


@pytest.mark.parametrize("every", heavy_after((9, 1), 1))
def test_minimum_explanations_are_the_lightest(every: int) -> None:
    for case in CASES[::every]:
        truth = sufficient(case)
        (found,) = explain(case[1], word(case), exact=True)
        check(case, found, truth)
        assert found.weight == found.lower == min(map(len, truth))
        assert found.minimum


@pytest.mark.parametrize("every", heavy_after((20, 2), 1))
def test_the_lightest_explanation_by_weights_is_found(every: int) -> None:
    for seed, case in enumerate(CASES[::every]):
        rng = np.random.default_rng(seed)
        weights = {i: int(rng.integers(1, 6)) for i in by_position(case)}
        truth = sufficient(case)
        (found,) = explain(case[1], word(case), exact=True, weights=weights)
        assert found.weight == found.lower == min(sum(weights[i] for i in s) for s in truth)
        (found,) = explain(case[1], word(case), weights=weights)
        check(case, found, truth)
        assert found.weight == sum(weights[i] for i in found.positions)


def test_light_positions_stand_in_for_heavy_ones() -> None:
    model = load("and-of-ors")
    for exact in (False, True):
        (found,) = explain(model, "1100" * 4, weights={0: 5, 9: 3}, exact=exact)
        assert found.weight == 4
        assert not {0, 9} & set(found.positions)


@pytest.mark.parametrize("every", heavy_after((8, 2), 1))
def test_pinned_positions_stay_and_cost_nothing(every: int) -> None:
    for seed, case in enumerate(CASES[::every]):
        pinned = {i for i in by_position(case) if np.random.default_rng([seed, i]).random() < 0.3}
        truth = sufficient(case)
        for exact in (False, True):
            (found,) = explain(case[1], word(case), exact=exact, given=pinned)
            if found.positions or found.restriction.fixed:
                assert set(found.restriction.fixed) == pinned | set(found.positions)
            assert not pinned & set(found.positions)
            check(case, found, truth)
        assert found.weight == min(len(s - pinned) for s in truth if s >= pinned)


@pytest.mark.parametrize("every", heavy_after((15, 3), 1))
def test_enumeration_by_sat_finds_every_minimal_explanation_by_weight(every: int) -> None:
    for case in CASES[::every]:
        found = explain(case[1], word(case), exact=True, all=1000)
        truth = minimal(sufficient(case))
        assert {frozenset(e.positions) for e in found} == truth
        assert all(e.lower == min(map(len, truth)) and e.minimal for e in found)
        assert [e.minimum for e in found] == [e.weight == found[0].weight for e in found]
        assert len({e.positions for e in found}) == len(found)
        assert [e.weight for e in found] == sorted(e.weight for e in found)


@pytest.mark.heavy
def test_enumeration_by_the_abstract_run_finds_all_that_it_confirms() -> None:
    several = 0
    for case in CASES[36:]:
        document, model, x = case
        symbols = by_position(case)
        found = explain(model, word(case), all=1000)
        confirmed = set()
        for chosen in sufficient(case):
            at = model.at(naive.length(document, x))
            if certificate_of(at, Restriction.of(at, {i: symbols[i] for i in chosen}), "all").c == 0:
                confirmed.add(chosen)
        assert {frozenset(e.positions) for e in found} == minimal(confirmed)
        assert len({e.positions for e in found}) == len(found)
        assert all(e.certificate is not None for e in found)
        several += len(found) > 1
        assert len(explain(model, word(case), all=2)) == min(2, len(found))
    assert several >= 3


def test_all_sixteen_explanations_of_and_of_ors_are_found() -> None:
    for exact in (False, True):
        found = explain(load("and-of-ors"), "1100" * 4, all=100, exact=exact)
        assert len({e.positions for e in found}) == 16
        assert all(e.weight == 4 and e.minimal for e in found)
        assert not any(e.more for e in found)


def test_a_list_that_time_ended_says_so() -> None:
    word = "01" * 17
    told = typed("explain", "random:layers=2,heads=2,states=4,seed=5", "--input", word, "--all", 9, "--time", "0.01")
    assert told.output.endswith("\n(the time ended the search: there may be others)\n")
    assert explain(load("random:layers=2,heads=2,states=4,seed=5"), word, all=9, time=0.01)[0].more


@pytest.mark.parametrize("n", heavy_after((200, 1_000), 1))
def test_a_long_input_has_a_short_explanation(n: int) -> None:
    model = load("random:layers=2,seed=1")
    x = [str(a) for a in np.random.default_rng(0).integers(0, 2, n)]
    (found,) = explain(model, x)
    assert found.certificate is not None
    assert found.certificate.c == 0
    assert found.weight < 40
    assert all(x[i] == s for i, s in found.restriction.fixed.items())
    assert explain(model, x)[0].certificate.to_bytes() == found.certificate.to_bytes()


def test_out_of_time_gives_bounds() -> None:
    model = load("random:layers=2,seed=1")
    (found,) = explain(model, "01" * 30, exact=True, time=0.0)
    assert found.lower < found.weight
    assert not found.minimum


def test_no_time_at_all_leaves_a_certificate() -> None:
    (found,) = explain(load("random:layers=2,seed=1"), "01" * 30, time=0.0)
    assert found.certificate is not None
    assert not found.interrupted
    assert not found.shrunk  # so nothing is said of parts of it
    assert explain(load("random:layers=2,seed=1"), "01" * 30)[0].shrunk


WAYS: tuple[dict[str, Any], ...] = ({}, {"exact": True}, {"all": 4}, {"exact": True, "all": 4})


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("steps", heavy_after([(1, 9), (1, 3, 9, 40, 200), (2, 5, 17, 90)], 1))
def test_ctrl_c_leaves_the_best_until_then(
    way: dict[str, Any], steps: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it comes, something is returned that holds, and nothing goes on for long after it."""
    cut, left, look = 0, 0, Deadline.check

    def interrupting(deadline: Deadline) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        look(deadline)

    for case in CASES[45 : 46 if len(steps) == 2 else 47]:
        truth = sufficient(case)
        for left in steps:  # looks at the clock
            with monkeypatch.context() as patch:
                patch.setattr(Deadline, "check", interrupting)
                answers = explain(case[1], word(case), **way)
            assert answers
            for found in answers:
                check(case, found, truth)
                assert found.weight >= found.lower
            cut += answers[-1].interrupted
            if left > 0:
                break
            assert left > -10, "the search went on after Ctrl-C"
    assert cut >= len(steps)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_ctrl_c_that_a_library_swallowed_is_met_at_the_next_step(way: dict[str, Any]) -> None:
    """The command line raises it from ``progress``; wherever that is, an explanation is returned."""
    case = CASES[46]
    for last in (1, 4):
        told = Mock(side_effect=chain([None] * (last - 1), repeat(KeyboardInterrupt)))
        answers = explain(case[1], word(case), progress=told, **way)
        assert answers
        assert answers[-1].interrupted == (told.call_count >= last)
        for found in answers:
            check(case, found, sufficient(case))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_ctrl_c_while_a_certificate_is_made_leaves_the_certificate(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no deadline, as it is made whatever the time; so the interrupt comes through where nothing meets it."""
    case = CASES[46]
    calls = []

    def interrupted(*given: Any, **named: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return confirm_by_tree(*given, **named)

    monkeypatch.setattr("restrict.optimum.explain.confirm_by_tree", interrupted)
    answers = explain(case[1], word(case), **way)
    assert len(calls) > 1
    assert answers[0].interrupted
    assert answers[0].certificate is not None
    check(case, answers[0], sufficient(case))


def test_wrong_arguments_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load("and-of-ors")
    for arguments, reason in (
        ({"all": 0}, "all = 0"),
        ({"given": [16]}, "given position 16"),
        ({"weights": {0: 0}}, "weights are positive"),
        ({"target": "all"}, "target all"),
    ):
        with pytest.raises(UsageError, match=reason):
            explain(model, "1" * 16, **arguments)
    monkeypatch.setattr(cnf, "MAX_CLAUSES", 10)
    with pytest.raises(ResourceLimit, match="more than 10 clauses"):
        explain(model, "1" * 16, exact=True, all=2)


# ----------------------------------------------------------------
# Sensitive blocks: disjoint, with witnesses, and never more than the smallest explanation has positions.


def check_blocks(case: Case, found: Sensitivity) -> None:
    """Every block has a witness, and they are disjoint."""
    document, symbols = case[0], by_position(case)
    used: set[int] = set()
    for block in found.blocks:
        changed = {i for i, b in zip(symbols, block.word, strict=True) if b != symbols[i]}
        assert changed == set(block.positions)
        assert changed
        assert not changed & used
        used |= changed
        label = str(naive.labels_of(document, naive.run(document, block.word))[-1])
        assert block.label == label != found.label
    if found.exhausted:
        assert frozenset(used) in sufficient(case)


@pytest.mark.heavy
@pytest.mark.parametrize("length", [OPTIONS.block_length, 0])
def test_blocks_bound_every_explanation(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.optimum.options.OPTIONS.block_length", length)
    tight = 0
    for case in CASES:
        found = sensitivity(case[1], word(case))
        check_blocks(case, found)
        least = min(map(len, sufficient(case)))
        assert found.lower <= least
        assert found.exhausted == (length > 0)
        tight += found.lower == least
    assert tight > len(CASES) // 2


def test_and_of_ors_is_tight() -> None:
    model = load("and-of-ors")
    assert sensitivity(model, "1000" * 4).lower == 4
    assert sensitivity(model, "0000" + "1111" * 3).lower == 4
    assert sensitivity(model, "1" * 16).lower == 4


def test_blocks_of_long_inputs_are_disjoint_and_the_same_each_time() -> None:
    model = load("random:layers=2,seed=1")
    x = [str(a) for a in np.random.default_rng(0).integers(0, 2, 1000)]
    found = sensitivity(model, x)
    assert found.lower >= 5
    assert found == sensitivity(model, x)
    used = [i for block in found.blocks for i in block.positions]
    assert len(used) == len(set(used))
    assert sensitivity(load("and-of-ors"), "1" * 100).lower <= 10


def test_a_constant_label_has_no_blocks() -> None:
    found = sensitivity(load("anbn"), "aaa")
    assert (found.lower, found.exhausted) == (0, True)


def test_time_ends_the_search_and_wrong_arguments_are_refused() -> None:
    model = load("random:layers=2,seed=1")
    assert not sensitivity(model, "01" * 30, time=0.0).exhausted
    with pytest.raises(UsageError, match="target all"):
        sensitivity(load("tagger"), "abc", target="all")
