"""The commands for all lengths: exit codes and one line of what went wrong."""

import json
from pathlib import Path

import pytest

from tests.commands import Shell
from tests.marks import rows_after

INSTANCES = Path(__file__).resolve().parent.parent / "instances"
DYCK = str(INSTANCES / "brasp-dyck1-depth2.json")
TAGGER = str(INSTANCES / "tagger.json")
AB, INDUCTION = str(INSTANCES / "brasp-ab-star.json"), str(INSTANCES / "induction-head.json")

CASES = [
    (["verify", DYCK, "-L", "dyck:1"], 3, "is wrong on ((())) (n = 6, a shortest one)", ""),
    (["verify", DYCK, "-L", "dyck:1", "--from", "7"], 3, "(n = 8, a shortest one with n >= 7)", ""),
    (["verify", DYCK, "-L", f"model:{DYCK}"], 0, "", "proved: brasp-dyck1-depth2 recognises"),
    (["verify", DYCK, "-L", "dyck:1,depth=2"], 0, "", "s VERIFIED all-lengths recognises=dfa-of-4-states n>=1"),
    (["verify", DYCK, "--equals", str(INSTANCES / "dyck1-depth3.json")], 3, "is wrong on ((()))", ""),
    (["verify", DYCK], 2, "one of the two", ""),
    (["verify", AB, "-L", "dyck:1"], 2, "in only one of them", ""),
    (["verify", INDUCTION, "-L", "regex[abcd]:a*"], 2, "no 'accept' in its output", ""),
    (["automaton", str(INSTANCES / "tribes.json")], 3, "variable 'tribe' is not order-only", ""),
    (
        ["automaton", DYCK, "--states", "2"],
        5,
        "more than 2 states on one side (1 left and 1 right states before it)",
        "",
    ),
    (["certify", DYCK, "--all-lengths", "--label", "reject"], 0, "", "the label 'reject' is forced at every n >= 1"),
    (["certify", DYCK, "--all-lengths", "--label", "accept"], 3, "forces the label 'accept' at every length", ""),
    (["certify", DYCK, "--all-lengths", "--label", "maybe"], 2, "the labels are 'reject', 'accept'", ""),
    (["certify", DYCK, "--all-lengths", "--label", "reject", "--cost"], 0, "", "2, 4, ... symbols: 1"),
    (["certify", DYCK, "--all-lengths", "--cost"], 2, "--cost needs --label", ""),
    (["certify", DYCK, "-n", "4", "--label", "accept"], 2, "are for --all-lengths", ""),
    (["certify", TAGGER, "--all-lengths"], 0, "", "forces=double fixed=2 period=1 n>=2 target=last"),
    (["verify", TAGGER, "--equals", TAGGER], 0, "", "computes=bimachine-of-13+1-states"),
    (["verify", TAGGER, "--equals", DYCK], 2, "different alphabets", ""),
    (["certify", DYCK], 2, "Missing option '-n'", ""),
    (["refute", AB, "-L", "regex[ab]:a*", "--all-lengths"], 0, "", "wrong at exactly these lengths: every n >= 1"),
    (["refute", DYCK, "-L", "dyck:1,depth=2", "--all-lengths"], 3, "immune (proved)", ""),
    (["refute", DYCK, "-L", "dyck:1", "--all-lengths", "-n", "8"], 0, "", "at n = 8: ((()))()"),
    (["refute", DYCK, "-L", "dyck:1", "--all-lengths", "-n", "9"], 2, "no word of length 9 is known on which", ""),
    (["refute", DYCK, "-L", "dyck:1", "--all-lengths", "-c", "1"], 2, "-c is not for --all-lengths", ""),
    (["certify", DYCK, "--all-lengths", "--label", "accept", "--cost"], 0, "", "t = 2, 4, ... symbols: t\n"),
    (["certify", DYCK, "--all-lengths", "--label", "reject", "--cost", "-n", "6"], 0, "", "at n = 6: *****("),
    (["certify", DYCK, "--all-lengths", "--figure", "f.svg"], 2, "`restrict automaton MODEL --figure FILE.svg`", ""),
    (["certify", DYCK, "--all-lengths", "-n", "6"], 2, "-n is not for --all-lengths", ""),
    (
        ["compile", "--language", "parity"],
        3,
        "not star-free: the word 1 permutes the states 0, 1, a group of order 2",
        "",
    ),
    (["compile", "--language", "dyck:1"], 2, "not a regular language", ""),
    (["compile", "--to", "ltl"], 2, "needs a model", ""),
]
TWINS = [
    (["certify", DYCK, "--all-lengths"], 0, "", "is forced at every n >= 1"),
]


@pytest.mark.parametrize(("words", "code", "error", "out"), [*CASES, *rows_after(TWINS, 0)])
def test_each_command_has_its_exit_code_and_words(
    words: list[str], code: int, error: str, out: str, shell: Shell
) -> None:
    said = shell(*words)
    assert said.code == code
    assert error in said.err
    assert out in said.out
    assert said.err.count("\n") == (code != 0)


def test_a_language_becomes_a_model_and_the_model_its_language_again(tmp_path: Path, shell: Shell) -> None:
    model, proof, dfa = (str(tmp_path / name) for name in ("model.json", "proof.json", "dfa.json"))
    shell.good("compile", "--language", "regex[ab]:(ab)*", "-o", model)
    shell.good("automaton", model, "-o", dfa, "--json")
    shell.good("verify", model, "-L", f"dfa:{dfa}", "-o", proof)
    assert json.loads(Path(proof).read_text())["format"] == "restrict-automaton/1"
    shell.good("compile", "--language", dfa, "-o", str(tmp_path / "again.json"))
    shell.good("verify", str(tmp_path / "again.json"), "-L", "regex[ab]:(ab)*")
    assert shell.good("check", model, proof).startswith("s VERIFIED all-lengths recognises=dfa-of-")


def test_labels_that_differ_are_shown_where(tmp_path: Path, shell: Shell) -> None:
    """Two taggers that differ in one tag: a shortest word, the position and both labels, with a proof."""
    other, proof = str(tmp_path / "other.json"), str(tmp_path / "proof.json")
    Path(other).write_text(Path(TAGGER).read_text().replace("2 if previous == token else", "0 if seen == 3 else"))
    said = shell("verify", TAGGER, "--equals", other, "-o", proof)
    assert said.code == 3
    assert "differ on aa (n = 2, position 1, a shortest one): the labels are 'double' and 'again'" in said.err
    assert "deviates-from=bimachine-of-" in shell.good("check", TAGGER, proof)


def test_nothing_is_said_of_lengths_at_which_the_model_is_not_defined(tmp_path: Path, shell: Shell) -> None:
    even, plain = str(tmp_path / "even.json"), str(INSTANCES / "contains-one.json")
    Path(even).write_text(json.dumps(json.loads(Path(plain).read_text()) | {"when": "n % 2 == 0"}))
    some = "regex[01]:(0|1)*1(0|1)*"
    assert "at every n >= 1 at which it is defined\n" in shell.good("verify", even, "-L", some)
    assert "at every n >= 1 at which both are defined\n" in shell.good("verify", even, "--equals", even)
    once = "not compared, as exactly one of them is defined: from 1 on: n = 1 mod 2"
    assert once in shell.good("verify", plain, "--equals", even)
    alone = json.loads(shell.good("verify", even, "--equals", plain, "--json"))["defined_once"]
    assert alone == {"early": [], "cycle": [0, 1]}
    assert "defined" not in shell.good("verify", plain, "--equals", plain)
    assert "at every n >= 1 at which it is defined by\n" in shell.good("certify", even, "--all-lengths")
    assert "at every length at which it is defined (" in shell("refute", even, "-L", some, "--all-lengths").err
    without = "  not defined, and nothing is said (a cost is 0): from 1 on: n = 1 mod 2\n"
    cost = ("certify", even, "--all-lengths", "--label", "accept", "--cost")
    assert without in shell.good("automaton", even)
    assert without in shell.good(*cost, "-n", 4)
    assert json.loads(shell.good(*cost, "--json"))["undefined"]["cycle"] == [0, 1]
    assert shell(*cost, "-n", 3).code == 4
    assert "defined" not in shell.good("verify", plain, "-L", some)
