"""The commands for all lengths: exit codes and one line of what went wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from restrict.cli.main import _run

INSTANCES = Path(__file__).resolve().parent.parent / "instances"
DYCK = str(INSTANCES / "brasp-dyck1-depth2.json")
AB = str(INSTANCES / "brasp-ab-star.json")

CASES = [
    (["verify", DYCK, "-L", "dyck:1,depth=2"], 0, "", "proved: brasp-dyck1-depth2 recognises"),
    (["verify", DYCK, "-L", "dyck:1"], 3, "is wrong on ((())) (n = 6, a shortest one)", ""),
    (["verify", DYCK, "-L", f"model:{DYCK}"], 0, "", "proved"),
    (["verify", DYCK, "--equals", str(INSTANCES / "dyck1-depth3.json")], 3, "is wrong on ((()))", ""),
    (["verify", DYCK], 2, "one of the two", ""),
    (["automaton", str(INSTANCES / "tribes.json")], 3, "variable 'tribe' is not order-only", ""),
    (["automaton", DYCK, "--states", "2"], 5, "too large at variable", ""),
    (["certify", DYCK, "--all-lengths"], 0, "", "is forced at every n >= 1"),
    (["certify", DYCK], 2, "Missing option '-n'", ""),
    (["refute", AB, "-L", "regex[ab]:a*", "--all-lengths"], 0, "", "wrong at exactly these lengths: every n >= 1"),
    (["refute", DYCK, "-L", "dyck:1,depth=2", "--all-lengths"], 3, "immune (proved)", ""),
    (["compile", "--language", "parity"], 3, "a group of order 2", ""),
    (["compile", "--language", "dyck:1"], 2, "not a regular language", ""),
    (["compile", "--to", "ltl"], 2, "needs a model", ""),
]


@pytest.mark.parametrize(("words", "code", "error", "out"), CASES)
def test_commands(words: list[str], code: int, error: str, out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(words) == code
    said = capsys.readouterr()
    assert error in said.err
    assert out in said.out
    assert said.err.count("\n") == (code != 0)


def test_the_way_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, proof, dfa = (str(tmp_path / name) for name in ("model.json", "proof.json", "dfa.json"))
    assert _run(["compile", "--language", "regex[ab]:(ab)*", "-o", model]) == 0
    assert _run(["automaton", model, "-o", dfa, "--json"]) == 0
    assert _run(["verify", model, "-L", f"dfa:{dfa}", "-o", proof]) == 0
    assert json.loads(Path(proof).read_text())["format"] == "restrict-automaton/1"
    capsys.readouterr()
    assert _run(["check", model, proof]) == 0
    assert capsys.readouterr().out.startswith("s VERIFIED all-lengths recognises=dfa-of-")
