"""`restrict import` and `restrict compile` as a newcomer types them, and the example files."""

import io
import json
import sys
from pathlib import Path

import pytest

import restrict
from scripts.make_imports import BRASP, INSTANCES, PROGRAMS, WEIGHTS, a_before_b, imported
from tests.commands import Shell

SOURCES = {
    "b-rasp": INSTANCES / "brasp-ab-star.txt",
    "transformer-program": INSTANCES / "tp-same-as-first.txt",
    "weights": INSTANCES / "weights-a-before-b.safetensors",
}


@pytest.mark.parametrize("name", [*BRASP, *PROGRAMS, *WEIGHTS])
def test_the_examples_are_what_the_importers_make(name: str, tmp_path: Path) -> None:
    assert imported(name).model.content == (INSTANCES / f"{name}.json").read_bytes()
    a_before_b(tmp_path / "w")
    assert (tmp_path / "w").read_bytes() == SOURCES["weights"].read_bytes()


@pytest.mark.parametrize("kind", SOURCES)
def test_import_writes_a_model_that_other_commands_read(shell: Shell, kind: str, tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    text = shell.good("import", kind, SOURCES[kind], "-o", out)
    assert text.startswith(f"{out}: {SOURCES[kind].stem}, ")
    assert "L = " in text
    assert shell.good("import", kind, SOURCES[kind]) == out.read_text()
    n = 8 if kind == "transformer-program" else 60
    assert f"s VERIFIED n={n}" in shell.good("certify", out, "-n", n)
    document = json.loads(shell.good("import", kind, SOURCES[kind], "-o", out, "--json"))
    assert document["sha256"] == restrict.load(out).digest
    assert document["notes"]


def test_the_summary_of_a_transformer_program_has_its_rule_and_examples(shell: Shell, tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    words = ["import", "transformer-program", SOURCES["transformer-program"], "-o", out]
    lines = shell.good(*words).splitlines()
    assert lines[0] == f"{out}: tp-same-as-first, 2 symbols, 38 variables, defined for n <= 8"
    assert lines[2:] == [
        "  output at every position",
        "  rule: trained (a matching self ranks last); the printed text means the same for 1 of 1 head",
        "  examples: 2, 7 outputs; the model equals the program (trained rule) at 7, the printed text at 7, "
        "the listed expectation at 7 of 7",
    ]
    words += ["--self", "printed", "--position", "last", "--weights", INSTANCES / "tp-same-as-first_weights.csv"]
    assert shell.good(*words).splitlines()[2:4] == [
        "  output at the last position",
        "  rule: printed (a matching self is len(matches) away); exact for every head",
    ]


def test_certify_at_a_position_of_an_imported_tagger(shell: Shell) -> None:
    text = shell.good("certify", INSTANCES / "tp-same-as-first.json", "-n", 8, "--target", 5)
    assert "the output at 5 is forced: same, whatever the 5 free inputs are" in text
    text = shell.good("certify", INSTANCES / "brasp-flip-flop.json", "-n", 100, "--target", 40)
    assert "the output at 40 is forced: reject, whatever the 99 free inputs are" in text


def test_wrong_use_is_one_line(shell: Shell, tmp_path: Path) -> None:
    brasp = SOURCES["b-rasp"]
    assert "is not one of" in shell.bad(2, "import", "rasp", brasp)
    assert shell.bad(2, "import", "b-rasp", brasp, "--limit", 3) == (
        "restrict: --limit is an option of weights, not of b-rasp\n"
    )
    assert "--self is an option of transformer-program" in shell.bad(2, "import", "b-rasp", brasp, "--self", "printed")
    assert "say with -o where the model itself is to go" in shell.bad(2, "import", "b-rasp", brasp, "--json")
    assert "the folder" in shell.bad(2, "import", "b-rasp", brasp, "-o", tmp_path / "no" / "m.json")
    assert "cannot read: No such file" in shell.bad(2, "import", "b-rasp", tmp_path / "nothing")
    assert "the limit is 5 (--limit)" in shell.bad(5, "import", "weights", SOURCES["weights"], "--limit", 5)
    assert "not a safetensors file" in shell.bad(4, "import", "weights", brasp)
    assert "not Python" in shell.bad(4, "import", "transformer-program", brasp)
    assert ":1: the first line must be `alphabet" in shell.bad(4, "import", "b-rasp", SOURCES["transformer-program"])


def test_the_importers_work_from_python(tmp_path: Path) -> None:
    found = restrict.import_brasp(SOURCES["b-rasp"])
    assert repr(found) == "Imported(Model('brasp-ab-star', 2 symbols, 9 variables), 1 notes)"
    found.save(tmp_path / "m.json")
    assert restrict.load(tmp_path / "m.json").digest == found.model.digest
    assert restrict.import_weights(SOURCES["weights"]).notes == ("residual vectors: 3 embeddings, 6 after layer 0",)


# ----------------------------------------------------------------
# `restrict compile` as a newcomer types it.


def test_a_compiled_model_is_equal_to_its_formula_and_can_be_used(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    out = shell.good("compile", "once (1 and previous 1)", "--alphabet", "0,1", "-o", file, "--verify", 8)
    assert "2 heads in 2 layers, 2 maps (2 different temporal subformulas)" in out
    assert "equal to the evaluator on all 510 words of up to 8 symbols (exact)" in out
    assert "output: accept" in shell.good("run", file, "01101")
    assert "output: reject" in shell.good("run", file, "01010")
    assert "fixed   2 of 50 positions" in shell.good("certify", file, "-n", 50)


def test_compile_prints_the_model(shell: Shell, tmp_path: Path) -> None:
    words, file = ["compile", "always 1", "--alphabet", "0,1", "--at", "first", "--name", "all ones"], tmp_path / "m"
    text = shell.good(*words)
    assert json.loads(text)["name"] == "all ones"
    shell.good(*words, "-o", file)
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
