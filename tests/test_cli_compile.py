"""`restrict compile` as a newcomer types it."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.commands import Shell


def test_a_compiled_model_is_equal_to_its_formula_and_can_be_used(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    out = shell.good("compile", "once (1 and previous 1)", "--alphabet", "0,1", "-o", file, "--verify", 8)
    assert "2 heads in 2 layers, 2 maps (2 different temporal subformulas)" in out
    assert "equal to the evaluator on all 510 words of up to 8 symbols (exact)" in out
    assert "output: accept" in shell.good("run", file, "01101")
    assert "output: reject" in shell.good("run", file, "01010")
    assert "fixed   2 of 50 positions" in shell.good("certify", file, "-n", 50)


def test_compile_prints_the_model(shell: Shell, tmp_path: Path) -> None:
    text = shell.good("compile", "always 1", "--alphabet", "0,1", "--at", "first", "--name", "all ones")
    assert json.loads(text)["name"] == "all ones"
    file = tmp_path / "model.json"
    shell.good("compile", "always 1", "--alphabet", "0,1", "--at", "first", "--name", "all ones", "-o", file)
    assert file.read_text() == text
    assert "output: accept" in shell.good("run", file, "1111")
    every = json.loads(shell.good("compile", "previous 1", "--alphabet", "0,1", "--at", "every"))
    assert every["output"]["position"] == "every"


def test_an_alphabet_may_hold_commas_brackets_and_operator_names(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    shell.good("compile", "historically ('(' or ',')", "--alphabet", "( ) ,", "-o", file)
    assert json.loads(file.read_text())["alphabet"] == ["(", ")", ","]
    document = json.loads(shell.good("compile", "'since' since w0", "--alphabet", "since,w0"))
    assert document["name"] == "'since' since w0"


def test_a_formula_may_come_from_standard_input_and_the_summary_be_json(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.json"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0 since 1\n")))
    found = json.loads(shell.good("compile", "-", "--alphabet", "0,1", "-o", file, "--json", "--verify", 5))
    assert (found["heads"], found["depth"], found["temporal_operators"], found["words_compared"]) == (1, 1, 1, 62)
    assert json.loads(file.read_text())["name"] == "0 since 1"


def test_errors_are_one_line(shell: Shell, tmp_path: Path) -> None:
    def bad(code: int, formula: str, alphabet: str = "0,1", *more: object) -> str:
        return shell.bad(code, "compile", formula, "--alphabet", alphabet, *more)

    assert "formula, column 3: an operator or the end is expected before '1': 0 >>>1<<<" in bad(2, "0 1")
    assert "unknown symbol '2'; the alphabet is 0 1" in bad(2, "once 2")
    assert "the formula is empty" in bad(2, "")
    assert "this '(' is never closed" in bad(2, "(" * 5000 + "1")
    assert "--alphabet has an empty symbol" in bad(2, "1", "0,,1")
    assert "--alphabet has an empty symbol" in bad(2, "1", "")
    assert "the symbol '0' occurs twice" in bad(2, "1", "0,1,0")
    assert "the symbol '*' means a free position" in bad(4, "1", "*,1")
    assert "expected a string of 1 to 200 characters" in bad(4, "1", "0,1", "--name", "")
    assert "more than 4096 variables" in bad(5, "X " * 5000 + "1")
    assert "does not exist" in bad(2, "1", "0,1", "-o", tmp_path / "no" / "model.json")
    assert "name that file with -o" in bad(2, "1", "0,1", "--json")
    assert "verify shorter ones" in bad(5, "1", "0,1", "--verify", "30")
    assert "give FORMULA and its --alphabet" in shell.bad(2, "compile", "1")
