"""The self-check of a verdict in parts: together they are the whole check, and where one is refused there is no line
(restrict/soft/trained/parts.py)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.checker.verdict import Check
from restrict.soft.trained import parts as module
from restrict.soft.trained.child import Group, owned, part
from restrict.soft.trained.confirm import begun, confirmed
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.model import load
from restrict.soft.trained.parts import Parts
from tests.marks import heavy_after

MODEL = Path(__file__).parent / "corpus" / "trained" / "tomita2-1l1h16d.safetensors"
N = 14


@cache
def verdict() -> Verdict:
    model = load(MODEL)
    return verify_trained(model, task_graph(model), N)


def changed(number: int) -> bytes:
    """The certificate with a bound of a case below what a word reaches."""
    document: dict[str, Any] = json.loads(verdict().to_bytes())
    last: dict[tuple[int, int], list[Any]] = {}
    for k, entry in enumerate(document["cases"]):
        a, q = entry[1:3]
        hints = entry[3:] or last[a, q]
        document["cases"][k] = [*entry[:3], *hints]
        last[a, q] = hints
    case = document["cases"][number]
    case[3] = [upper - width - 1 for upper, width in zip(case[3], case[4], strict=True)]
    return json.dumps(document).encode()


def groups() -> list[Group]:
    return sorted({case.key[:2] for case in verdict().cases})


def test_parts_say_the_line_of_the_whole_check_and_verify_each_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, seen = verdict(), list[Any]()
    model, content, plain = found.model.content, found.to_bytes(), Check.case
    line = verify(model, content)

    def noted(self: Check, key: Any, hints: Any, place: Any) -> None:
        seen.append(key)
        plain(self, key, hints, place)

    monkeypatch.setattr(Check, "case", noted)
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
