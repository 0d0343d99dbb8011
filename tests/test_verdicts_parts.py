"""The self-check of a verdict in parts: together they are the whole check, and where one is refused there is no line
(restrict/soft/trained/parts.py)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.checker.verdict import Check
from restrict.soft.trained import parts as module
from restrict.soft.trained.child import Group, Verified, ahead, owned, part
from restrict.soft.trained.confirm import Ahead, begun, confirmed
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.model import load
from restrict.soft.trained.parts import Parts
from tests.marks import heavy_after
from tests.verdict_cases import written_out

MODEL = Path(__file__).parent / "corpus" / "trained" / "tomita2-1l1h16d.safetensors"
N = 14


@cache
def verdict() -> Verdict:
    model = load(MODEL)
    return verify_trained(model, task_graph(model), N)


def changed(number: int) -> bytes:
    """The certificate with a bound of a case below what a word reaches."""
    document = written_out(json.loads(verdict().to_bytes()))
    case = document["cases"][number]
    case[3] = [upper - width - 1 for upper, width in zip(case[3], case[4], strict=True)]
    return json.dumps(document).encode()


def noted(patch: pytest.MonkeyPatch) -> list[Any]:
    """The cases that are verified from here on."""
    seen, plain = list[Any](), Check.case

    def case(self: Check, key: Any, hints: Any, place: Any) -> None:
        seen.append(key)
        plain(self, key, hints, place)

    patch.setattr(Check, "case", case)
    return seen


def groups() -> list[Group]:
    return sorted({case.key[:2] for case in verdict().cases})


def test_parts_say_the_line_of_the_whole_check_and_verify_each_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    model, content = found.model.content, found.to_bytes()
    line, seen = verify(model, content), noted(monkeypatch)
    owners = [(i, a, k) for k, (i, a) in enumerate(groups()) if k % 3]  # of some groups nothing is said
    said = [part(model, content, owned(owners, number, 3)) for number in range(3)]
    assert {text for _, text in said} == {line}
    assert sorted(seen) == sorted(case.key for case in found.cases)


@pytest.mark.parametrize("number", [0, 5, N])
def test_the_part_that_has_a_false_case_refuses(number: int) -> None:
    content, model = changed(number), verdict().model.content
    (at,) = {case.key[:2] for case in [verdict().cases[number]]}
    with pytest.raises(Reject, match=rf"cases\[{number}\]"):
        part(model, content, lambda group: group == at)
    part(model, content, lambda group: group != at)  # the others do hold
    with pytest.raises(Reject):
        verify(model, content)


def before(content: bytes, some: slice, **other: Any) -> Verified:
    """What is verified of some cases of a certificate before it comes. ``other``: fields that are other ones then."""
    document = written_out(json.loads(content))
    basis, more, cases = document["basis"], document.get("turned", []), document["cases"]
    head, known = document | {"basis": basis, "turned": [], "cases": []} | other, Verified()
    frames = iter([{"bases": more, "cases": cases[some]}, {"over": True}])
    _, last = ahead(verdict().model.content, head, frames, known)
    assert last == {"over": True}
    return known


def verified(content: bytes, known: Verified, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many cases are verified by a check that knows of some."""
    with monkeypatch.context() as patch:
        seen = noted(patch)
        _, line = part(verdict().model.content, content, lambda group: True, known)
    assert line == verify(verdict().model.content, content)
    return len(seen)


def test_what_is_verified_before_the_certificate_comes_is_not_verified_again(monkeypatch: pytest.MonkeyPatch) -> None:
    content = verdict().to_bytes()
    every, some = before(content, slice(None)), before(content, slice(3, 9))
    assert len(every) == N + 1
    assert len(some) == 6
    assert verified(content, every, monkeypatch) == 0
    assert verified(content, some, monkeypatch) == N - 5
    assert verified(content, before(content, slice(None), upto=N - 1, n=N), monkeypatch) == N + 1  # tables end earlier


@pytest.mark.parametrize("name", ["n", "language", "model"])
def test_what_was_verified_under_another_claim_is_verified_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = verdict().to_bytes()
    document = json.loads(content)
    other = {
        "n": N + 1,
        "language": document["language"] | {"accept": [*document["language"]["accept"], 0]},
        "model": document["model"] | {"name": "another"},
    }
    known = before(content, slice(None), **{name: other[name]})
    assert verified(content, known, monkeypatch) == N + 1


@pytest.mark.parametrize("number", [0, 5, N])
def test_a_false_case_is_refused_whatever_was_verified_before(number: int) -> None:
    """As it stands it does not hold, so nothing is known of it; what is known of the true one does not count for it."""
    model = verdict().model.content
    for known in (before(changed(number), slice(None)), before(verdict().to_bytes(), slice(None))):
        with pytest.raises(Reject, match=rf"cases\[{number}\]"):
            part(model, changed(number), lambda group: True, known)


def test_a_number_is_not_what_was_verified_where_it_is_true_or_a_fraction() -> None:
    """In Python 1 == True == 1.0; the checker refuses these."""
    document = json.loads(verdict().to_bytes())
    known = before(verdict().to_bytes(), slice(None))
    case = next(case for case in document["cases"] if len(case) > 3)
    for value in (True, 1.0):
        case[4] = [1, *case[4][1:]]
        case[4][0] = value
        with pytest.raises(Reject):
            part(verdict().model.content, json.dumps(document).encode(), lambda group: True, known)


def test_what_comes_before_a_claim_that_is_refused_is_left_out() -> None:
    content = verdict().to_bytes()
    assert before(content, slice(None), language=[]) == {}


@pytest.mark.parametrize("count", heavy_after([2, 1, 3], 1))
def test_cases_are_verified_while_the_search_goes_on(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes but one have cases before the certificate comes; the line is that of the whole check."""
    monkeypatch.setattr(module, "WORTH", 2)
    monkeypatch.setattr("restrict.soft.trained.confirm.WORTH", 2)
    monkeypatch.setattr("restrict.soft.trained.confirm.AHEAD", 1)
    model = load(MODEL)
    with Parts(count) as parts:
        hooks = {"decided": begun(parts), "ahead": Ahead(parts, model)}
        found = verify_trained(model, task_graph(model), N, float32=True, **hooks)
        assert len(set(parts.owners.values())) == count - 1
        assert parts.line(found.to_bytes()) == verify(model.content, found.to_bytes())


def test_no_case_comes_early_where_reading_would_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any) -> None:
        raise OSError

    with Parts(2) as parts, monkeypatch.context() as patch:
        patch.setattr("os.set_blocking", refused)
        parts.ahead(b"")
        assert parts.free() is None


@pytest.mark.parametrize("count", heavy_after([2, 1, 3], 1))
def test_processes_give_the_line_or_nothing(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH", 5)
    found = verdict()
    model, content = found.model.content, found.to_bytes()
    costs = [(*case.key[:2], module.LEAF) for case in found.cases]
    for text in (content, changed(0), changed(N)):
        with Parts(count) as parts:
            parts.begin(model, text, costs)
            assert len(parts.processes) == count
            assert parts.line(b"another") is None
            assert parts.line(text) == (verify(model, content) if text == content else None)
        assert not parts.processes


def test_a_part_that_ends_early_leaves_the_line_to_the_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    monkeypatch.setattr(module, "WORTH", 5)
    with Parts(2) as parts:
        begun(parts)(found)
        parts.processes[1].kill()
        assert parts.line(found.to_bytes()) is None
    with Parts(2) as parts:
        for process in parts.processes:
            process.kill()
            process.wait()
        begun(parts)(found)
        assert confirmed(found, "certificate", parts)[1] == verify(found.model.content, found.to_bytes())


def test_steps_of_all_parts_are_within_the_limit_of_the_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    monkeypatch.setattr(module, "WORTH", 5)
    monkeypatch.setattr(module, "DEFAULT_LIMIT", 1000)
    with Parts(2) as parts:
        begun(parts)(found)
        assert parts.line(found.to_bytes()) is None


def test_what_is_small_or_large_is_checked_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    for name, value in (("WORTH", 1000), ("ROOM", 10)):
        with monkeypatch.context() as patch, Parts(1) as parts:
            patch.setattr(module, name, value)
            begun(parts)(found)
            assert not parts.processes
            assert parts.line(found.to_bytes()) is None
