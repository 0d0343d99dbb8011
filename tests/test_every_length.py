"""Random programs at every length: the automaton, and what is proved about it, against the words; and the sweep's own
eyes: an automaton, a label or a claim that is wrong is seen."""

import json
from typing import Any

import numpy as np
import pytest

from restrict.checker.claims import CLAIMS
from restrict.model.fileformat import dumps
from restrict.model.source import load
from scripts import all_lengths_sweep
from tests import documents, every_length
from tests.fuzzing.at_all_lengths import judge
from tests.fuzzing.kinds import Trial
from tests.length_claims import Subject
from tests.marks import rows_after


@pytest.mark.parametrize(("seed", "programs"), rows_after([(6, 8), (11, 60), (11, 3000)], 1))
def test_random_programs_are_at_every_length_what_their_automata_say(seed: int, programs: int) -> None:
    total = every_length.Result()
    for index in range(programs):
        total.add(every_length.swept(seed, index, 0.9))
    assert total.wrong == []
    assert total.claims["refused"] <= 0.02 * programs
    assert total.counts["accepted"] > 0.6 * programs
    assert total.counts["short words"] > 100 * programs
    assert total.counts["long words"] > 3 * programs
    assert total.counts["far words"] > 0.6 * programs
    assert sum(total.claims.values()) > 0.5 * programs
    assert min(total.claims[kind] for kind in CLAIMS) >= programs // 600, total.claims
    assert total.claims["out of steps"] <= programs // 20


def test_the_programs_do_not_depend_on_the_number_of_the_run() -> None:
    assert every_length.swept(3, 5, 1.0) == every_length.swept(3, 5, 1.0)


# ---------------------------------------------------------------- what is wrong is seen


def subject(name: str) -> tuple[Subject, every_length.Table]:
    """An instance with its automaton, and its words."""
    model = load(name)
    assert model.content is not None
    found = Subject(json.loads(model.content), model.content)
    rng = np.random.default_rng(0)
    return found, every_length.run(rng, found.document, found.built.program, every_length.Result().counts)


def disagreements(found: Subject, table: every_length.Table) -> int:
    """On how many words the automaton says something else."""
    rows = [(n, word, labels) for n, row in table.items() for word, labels in row.items()]
    return sum(every_length.disagreement(found, n, word, labels) is not None for n, word, labels in rows)


def test_an_automaton_with_a_wrong_label_or_successor_is_seen() -> None:
    found, table = subject("contains-one")
    assert disagreements(found, table) == 0
    found.moore.label[:] = found.moore.label[::-1].copy()
    assert disagreements(found, table) > 100
    found, table = subject("contains-one")
    found.moore.delta[-1, 0] = 0
    assert disagreements(found, table) > 100


def test_a_bimachine_with_a_wrong_label_is_seen() -> None:
    model = documents.model(documents.head("h", "k", key="token", mask="future"), alphabet="ab", labels=["x", "y"])
    found = Subject(model, dumps(model))
    table = every_length.run(np.random.default_rng(0), model, found.built.program, every_length.Result().counts)
    assert disagreements(found, table) == 0
    found.built.machine.left[0, 0], found.built.machine.lab[:] = 0, found.built.machine.lab.max()
    assert disagreements(found, table) > 100


DFA = {"format": "restrict-dfa/1", "alphabet": ["0", "1"], "start": 0, "transitions": [[0, 1], [1, 1]]}
CONTAINS: dict[str, Any] = DFA | {"accept": [1]}
ALWAYS, NEVER = {"early": [0], "cycle": [1]}, {"early": [0], "cycle": [0]}
FORCES = {"kind": "forces", "label": "accept", "middle": ["*"], "end": [], "from": 1}
COST = {"kind": "cost", "label": "reject", "costs": [0, 1], "growth": [1]}
FALSE = [
    ({"kind": "recognises", "language": CONTAINS, "from": 1}, {"language": DFA | {"accept": [0]}}),
    (
        {"kind": "differs", "language": DFA | {"accept": [0]}, "word": ["0"], "from": 1, "shortest": 1},
        {"word": ["0"] * 3},
    ),
    ({"kind": "differs", "language": DFA | {"accept": []}, "word": ["1"], "from": 1, "shortest": 1}, {"word": ["0"]}),
    (FORCES | {"start": ["1"]}, {"start": ["0"]}),
    (FORCES | {"start": []} | {"end": ["1"]}, {"end": ["*"]}),
    (COST, {"costs": [0, 0]}),
    (COST, {"growth": [0]}),
    (COST | {"label": "accept", "costs": [-1, 1], "growth": [0]}, {"costs": [-1, 2]}),
    ({"kind": "lengths", "language": DFA | {"accept": []}, "least": ALWAYS, "most": ALWAYS}, {"most": NEVER}),
    ({"kind": "lengths", "language": CONTAINS, "least": NEVER, "most": NEVER}, {"least": ALWAYS}),
]


@pytest.mark.parametrize(("claim", "change"), FALSE)
def test_a_false_claim_is_seen(claim: dict[str, Any], change: dict[str, Any]) -> None:
    model = load("contains-one").content
    assert model is not None
    judged = [judge(Trial(model, json.dumps({"n": 2, "claim": one}).encode())) for one in (claim, claim | change)]
    assert judged == ["true", "false"]


def test_an_exception_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("j")

    monkeypatch.setattr(every_length, "Subject", broken)
    found = every_length.swept(0, 0, 0.0)
    assert [note for note, _ in found.wrong] == ["KeyError: 'j' (test_every_length.py, broken)"]


def test_the_script_writes_what_is_wrong_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model = {"name": "m"}
    wrong = every_length.Result(wrong=[("not so", model)])
    monkeypatch.setattr(every_length, "swept", lambda *_: wrong)
    output, folder = tmp_path / "sweep.json", tmp_path / "failures"
    monkeypatch.setattr("sys.argv", ["sweep", "--programs", "2", "--folder", str(folder), "-o", str(output)])
    assert all_lengths_sweep.main() == 1
    assert "wrong: 2" in capsys.readouterr().out
    assert [json.loads((folder / f"{k}.m.json").read_text()) for k in (0, 1)] == [model, model]
    assert json.loads(output.read_text())["wrong"] == 2
