"""The command line as a newcomer types it: what is printed, the exit codes, and one line for every error."""

import errno
import json
import os
import pydoc
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import restrict
from restrict.base.errors import NotEstablished
from restrict.cli import main as cli
from restrict.cli.examples import EXAMPLES, FIRST
from restrict.cli.printer import json_line
from restrict.soft.importers.opened import opened
from restrict.soft.influence import tables
from restrict.soft.models.answers import answers
from tests.commands import Answer, Shell, raising
from tests.layouts import drawn, encoder_layers

ROOT = Path(__file__).parent.parent


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capfd)


# ---------------------------------------------------------------- the first hour


def test_new_certify_check_show_run(shell: Shell) -> None:
    assert shell.good("new", "tribes:width=4", "-o", "m.json") == f"m.json: {Path('m.json').stat().st_size} bytes\n"
    assert Path("m.json").read_text() == shell.good("new", "tribes:width=4")

    out = shell.good("certify", "m.json", "-n", 16, "-o", "c.json")
    assert out.startswith("tribes:width=4 at n = 16: the output is forced: ")
    assert "fixed   4 of 16 positions, 12 free (75 %)" in out
    assert "checked by the trusted checker: s VERIFIED n=16 target=last free=12 c=0" in out
    assert out.endswith("written to c.json\n")

    line = shell.good("check", "m.json", "c.json")
    assert line.startswith("s VERIFIED n=16 target=last free=12 c=0 values=")
    assert line.count("\n") == 1
    assert line.split()[-1] == restrict.load("m.json").digest
    assert line in out
    assert shell.good("check", "m.json", "c.json", "--fast") == line
    assert shell.good("check", "tribes:width=4", "c.json") == line

    picture = shell.good("show", "c.json")
    assert "certificate for tribes:width=4, n = 16, target last" in picture
    assert "(give --model MODEL to see what the nodes come to)" in picture
    drawn = shell.good("show", "c.json", "--model", "m.json")
    assert "some[15] in {" in drawn
    rho = next(row.split()[1] for row in drawn.splitlines() if "*" in row)
    assert len(rho) == 16
    assert rho.count("*") == 12
    again = shell.good("certify", "m.json", "-n", 16, "--restriction", rho)
    assert again.startswith("tribes:width=4 at n = 16: the out")
    assert shell.good("run", "m.json", "0110111100000000").endswith("output: accept\n")


def test_certify_prints_json(shell: Shell) -> None:
    document = json.loads(shell.good("certify", "contains-one", "-n", 50, "--json", "-o", "c.json"))
    assert set(document) == {"certificate", "file", "checked", "checker"}
    assert document["certificate"] == json.loads(Path("c.json").read_bytes())
    assert document["file"] == "c.json"
    assert document["checked"].startswith("s VERIFIED")
    assert json.loads(shell.good("certify", "contains-one", "-n", 50, "--json"))["file"] is None


def test_run_prints_json(shell: Shell) -> None:
    document = json.loads(shell.good("run", "tagger", "abba", "--json"))
    assert document["output"] == ["first", "first", "double", "again"]
    assert document["attended"]["previous"] == [-1, 0, 1, 2]
    assert document["values"]["token"] == [0, 1, 1, 0]


def test_a_word_may_be_one_argument_or_several(shell: Shell) -> None:
    for words in (("w1 i r",), ("w1", "i", "r")):
        assert shell.good("run", "flip-flop", *words).endswith("output: 1\n")
    assert shell.good("run", "contains-one", "0", "1", "0").endswith("output: accept\n")
    assert shell.good("run", "dyck1-depth2", "(())").endswith("output: accept\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("certify parity8 -n 12 -c 3", "depends on at most 3 of the 7 free inputs"),
        ("certify parity8 -n 12 --free 0.5", "6 free (50 %)"),
        ("certify tagger -n 9 --target 4", "the output at 4 is forced: "),
        ("certify tagger -n 4 --target all --restriction 'aaa*'", "every output depends on at most 1"),
        ("certify contains-one -n 5 --restriction '**1*0'", "is forced: accept, whatever the 3 free"),
        ("certify flip-flop -n 3 --restriction '* w1 *'", "depends on at most"),
        ("certify contains-one -n 9 --time 0.1 --seed 3", "is forced"),
        ("new --list", "tribes:width=8"),
    ],
)
def test_a_command_says_what_is_expected(shell: Shell, line: str, expected: str) -> None:
    assert expected in shell.good(line)


def test_new_lists_every_generator(shell: Shell) -> None:
    from restrict.model.source import GENERATORS

    out = shell.good("new", "--list")
    assert all(any(line.startswith(name) for line in out.splitlines()) for name in GENERATORS)


def test_a_large_result_is_not_checked_at_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.cli.checking.AUTOMATIC_CHECK", 10)
    monkeypatch.setattr("restrict.optimum.options.OPTIONS.check", 10)
    out = shell.good("certify", "contains-one", "-n", 50)
    assert "not yet checked by the trusted checker: it takes more than 10 steps, over 0 s" in out
    assert "-o FILE keeps it, then `restrict check contains-one FILE`, or with --fast" in out
    out = shell.good("certify", "contains-one", "-n", 50, "-o", "kept.json")
    assert "`restrict check contains-one kept.json`, or with --fast" in out
    out = shell.good("refute", "parity-attempt", "-L", "parity", "-n", 50)
    assert "`restrict check parity-attempt FILE`, or with --fast" in out
    out = shell.good("lower-bound", "and-of-ors", "-n", 9)
    assert "`restrict check and-of-ors FILE`, or with --fast" in out


# ---------------------------------------------------------------- help


def test_no_command_at_all_shows_the_help(shell: Shell) -> None:
    result = shell()
    assert (result.out + result.err).splitlines()[0] == "Usage: restrict [OPTIONS] COMMAND [ARGS]..."


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("frog", "No such command 'frog'"),
        ("certify", "Missing argument 'MODEL'"),
        ("certify contains-one", "Missing option '-n'"),
        ("certify contains-one -n x", "'x' is not a valid integer"),
        ("certify contains-one -n 5 --frog", "No such option '--frog'"),
        ("certify frog -n 5", "'frog' is neither a file nor a built-in model; built in are all-ones"),
        ("certify none.json -n 5", "'none.json' is neither a file nor a built-in model"),
        ("certify . -n 5", "'.' is neither a file nor a built-in model"),
        ("certify tribes:frog=1 -n 8", "'frog' is not an option of tribes; its options are width=8"),
        ("certify contains-one -n 0", "Invalid value for '-n': 0 is not between 1 and 100000000"),
        ("certify contains-one -n 1000000000", "1000000000 is not between 1 and 100000000"),
        ("certify contains-one -n 5 -c -1", "Invalid value for '-c': -1 is less than 0"),
        ("certify contains-one -n 5 -c 1 --free 0.5", "give -c or --free, not both"),
        ("certify contains-one -n 5 --free 2", "'2' is not a fraction between 0 and 1"),
        (
            "certify contains-one -n 5 --seed -1",
            "Invalid value for '--seed': -1 is not between 0 and 9223372036854775807",
        ),
        ("certify contains-one -n 5 --target x", "'--target': 'x' is neither last, all nor a position"),
        ("certify tagger -n 5 --trace", "--trace is for --target all"),
        ("certify tagger -n 5 --target all --pareto", "for one position, not for --target all"),
        ("certify tagger -n 5 --target all --free 1.5", "'1.5' is not a fraction between"),
        ("certify contains-one -n 5 --restriction '**'", "'**' has 2 positions, not 5"),
        ("certify contains-one -n 3 --restriction '*2*'", "symbol '2' at position 1"),
        ("check contains-one", "Missing argument 'CERTIFICATE'"),
        ("check contains-one none.json", "none.json: cannot be read: No such file or directory"),
        ("check frog none.json", "'frog' is neither a file nor a built-in model"),
        ("check contains-one none.json --limit 0", "'--limit': 0 is less than 1"),
        ("show none.json", "none.json: cannot read: No such file or directory"),
        ("run contains-one 012", "symbol '2' at index 2 of the input is not in the alphabet: 0 1"),
        ("run contains-one", "n = 0 is out of range"),
        ("new", "name a generator, such as random:layers=2,seed=1"),
        ("new frog", "'frog' is not a built-in model; built in are"),
        ("new random:layers=0", "layers='0' must be an integer of at least 1"),
        ("new anbn -o none/m.json", "none/m.json: cannot write: the folder none does not exist"),
        ("explain contains-one --input 02", "symbol '2' at index 1 of the input is not in the alphabet"),
        ("explain contains-one --input 01 --weight 1", "--weight '1': write POSITION=COST"),
        ("explain contains-one --input 01 --pin 7", "7"),
        ("certify contains-one -n 3 --exact --free 0.5", "--exact is for -c"),
        ("certify contains-one -n 3 --pareto -c 1", "--pareto goes through all c by itself"),
        ("certfy and-of-ors", "'certify'"),
        ("certify and-of-orrs -n 5", "(did you mean and-of-ors?)"),
        ("new randm", "(did you mean random?)"),
        ("language prity -n 4", "(did you mean parity"),
        (f"certify {'x' * 5000} -n 5", "xxx"),
        (f"certify contains-one -n 5 --seed {2**63}", "is not between 0 and 9223372036854775807"),
        ("certify contains-one -n 5 --time nan", "--time"),
        ("certify contains-one -n 5 --time -1", "--time"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(shell: Shell, line: str, reason: str) -> None:
    assert reason in shell.bad(2, line)


@pytest.mark.parametrize("where", ["none/c.json", "."])
def test_an_output_that_cannot_be_written_is_found_out_before_the_work(
    shell: Shell, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("restrict.certification.certify", raising(AssertionError("the work has begun")))
    assert where in shell.bad(2, f"certify contains-one -n 5 -o {where}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_without_permission_is_found_out_before_the_work(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("")
    (tmp_path / "c.json").chmod(0o400)
    assert "permission denied" in shell.bad(2, "certify", "contains-one", "-n", "5", "-o", "c.json")


@pytest.mark.parametrize(
    ("code", "said", "lines"),
    [
        (3, "seen", ["check m.json false.json", "check contains-one false.json", "check m.json false.json --fast"]),
        (4, "bad.json: ", ["certify bad.json -n 5", "run bad.json 0", "check bad.json bad.json", "show bad.json"]),
        (4, "not defined at n = 5: its condition is 'isqrt(n)", ["certify and-of-ors -n 5"]),
        (4, "it is at n = 4 and 9\n", ["certify and-of-ors -n 5"]),
        (4, "sha256", ["check all-ones c.json", "check all-ones c.json --fast", "show c.json --model all-ones"]),
        (5, "limit of 3", ["check contains-one c.json --limit 3"]),
    ],
)
def test_a_wrong_file_or_length_has_its_exit_code(shell: Shell, code: int, said: str, lines: list[str]) -> None:
    shell.good("certify", "contains-one", "-n", 5, "-o", "c.json")
    shell.good("new", "contains-one", "-o", "m.json")
    Path("bad.json").write_text("{")
    Path("false.json").write_text(json.dumps(json.loads(Path("c.json").read_text()) | {"cone": {}}))
    for line in lines:
        assert said in shell.bad(code, *line.split())


NOTHING_YET = "restrict: interrupted before there was a result\n"


@pytest.mark.parametrize(
    ("stop", "code", "line"),
    [
        (NotEstablished("no restriction found"), 3, "restrict: no restriction found\n"),
        (MemoryError(), 5, "restrict: out of resources (MemoryError); try a smaller n or model\n"),
        (KeyboardInterrupt(), 130, NOTHING_YET),
        (click.Abort(), 130, NOTHING_YET),
    ],
)
def test_what_stops_the_work_has_its_exit_code(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, stop: BaseException, code: int, line: str
) -> None:
    monkeypatch.setattr("restrict.certification.certify", raising(stop))
    assert shell.bad(code, "certify contains-one -n 5") == line


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("certify contains-one -n 5", "certificate"),
        ("certify tagger -n 6 --target all", "certificate"),
        ("refute parity-attempt -L parity -n 12", "refutation"),
        ("lower-bound contains-one -n 5 --fast", "certificate"),
    ],
)
def test_ctrl_c_in_the_check_ends_the_check_and_keeps_the_result(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, command: str, what: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("restrict.elaboration.check.check", raising(KeyboardInterrupt))
        code, out, err = shell(*command.split(), "-o", "c.json")
    assert (code, err.startswith(f"restrict: interrupted; the {what} above")) == (130, True)
    assert ": interrupted; `restrict check" in out
    assert shell.good("check", command.split()[1], "c.json").startswith("s VERIFIED")


AFTER_THE_SEARCH = {
    "restrict.base.strictjson.Record.save": ("certify contains-one -n 5", "refute parity-attempt -L parity -n 12",
                                             "certify tagger -n 6 --target all"),
    "restrict.certification.confirm": ("certify contains-one -n 100",),
    "restrict.certification.by_enumeration": ("certify contains-one -n 5",),
    "restrict.certification.forced": ("certify contains-one -n 50",),
    "restrict.certification.try_certificate": ("certify contains-one -n 5",),
    "restrict.depth_reduction.theorem1.try_certificate": ("certify tagger -n 6 --target all",),
    "restrict.corollary2.refute.forced": ("refute parity-attempt -L parity -n 40",),
    "restrict.corollary2.refute.try_certificate": ("refute parity-attempt -L parity -n 40",
                                                   "refute parity-attempt -L parity -n 12"),
}  # fmt: skip
"""What is done with a result after the search for it, by commands that do it."""


@pytest.mark.parametrize(
    ("step", "command"), [(step, line) for step, lines in AFTER_THE_SEARCH.items() for line in lines]
)
def test_ctrl_c_after_the_search_waits_until_the_result_is_made(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, step: str, command: str
) -> None:
    real = pydoc.locate(step)
    assert callable(real)

    def interrupted(*more: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(*more, **options)

    with monkeypatch.context() as patched:
        patched.setattr(step, interrupted)
        if step.endswith(".confirm"):  # as for a program of hundreds of maps
            patched.setattr("restrict.certification.MANY_VARIABLES", 0)
        code, _, err = shell(*command.split(), "-o", "c.json")
    assert (code, err.startswith("restrict: interrupted; the ")) == (130, True)
    assert shell.good("check", command.split()[1], "c.json").startswith("s VERIFIED")


def test_after_ctrl_c_in_the_search_the_check_is_short(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    certify, refute = restrict.certify, restrict.refute

    def note(found: restrict.Certificate) -> restrict.Certificate:
        return replace(found, provenance={**found.provenance, "stopped": "interrupted"})

    def refuted(*more: Any, **options: Any) -> restrict.Refutation:
        found = refute(*more, **options)
        assert isinstance(found, restrict.Refutation)
        return replace(found, certificate=note(found.certificate))

    monkeypatch.setattr("restrict.certification.certify", lambda *more, **options: note(certify(*more, **options)))
    monkeypatch.setattr("restrict.corollary2.refute.refute", refuted)
    for words in ("certify contains-one -n 5", "refute parity-attempt -L parity -n 12"):
        code, out, err = shell(*words.split())
        assert (code, err.startswith("restrict: interrupted; the ")) == (130, True)
        assert "checked by the trusted checker: s VERIFIED" in out
    monkeypatch.setattr("restrict.cli.checking.AFTER_CTRL_C", 3)
    for words in ("certify contains-one -n 5", "refute parity-attempt -L parity -n 12"):
        assert "not yet checked by the trusted checker: after Ctrl-C" in shell(*words.split()).out


def test_a_closed_pipe_is_not_exit_code_1(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.model.source.document_bytes", raising(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    assert shell("new anbn") == Answer(2, "", "")


# ---------------------------------------------------------------- true processes


def program(*words: str) -> list[str]:
    return [sys.executable, "-m", "restrict", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_process_certifies_and_the_checker_alone_verifies(shell: Shell, tmp_path: Path) -> None:
    def process(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False)

    (tmp_path / "m.json").write_bytes(restrict.load("contains-one").content or b"")
    assert process(*program("certify", "m.json", "-n", "9", "-o", "c.json")).returncode == 0
    checked = process(sys.executable, "-m", "restrict.checker", "m.json", "c.json")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout == shell.good("check", "m.json", "c.json")
    assert checked.stdout.startswith("s VERIFIED n=9 target=last free=8 c=0 values=")


def test_ctrl_c_writes_the_best_certificate_so_far(tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, 1.5, "certify tribes -n 64")
    assert code == 130
    assert err.startswith(
        "restrict: interrupted; the certificate above is the best so far and is valid; it is in c.json"
    )
    assert err.count("\n") == 1
    assert "fixed   8 of 64 positions" in out
    certificate = restrict.load_certificate(tmp_path / "c.json")
    assert certificate.provenance["stopped"] == "interrupted"
    assert restrict.check(restrict.load("tribes"), certificate).startswith("s VERIFIED n=64")


@pytest.mark.heavy
def test_ctrl_c_leaves_an_explanation(tmp_path: Path) -> None:
    model = "random:layers=2,heads=4,states=16,seed=3"
    code, out, err = interrupted(tmp_path, 2.0, f"explain {model} --exact --input {'0110' * 100}")
    assert code == 130
    assert err == ("restrict: interrupted; the explanation above is the best so far and is valid; it is in c.json\n")
    assert "of 400 positions force it" in out
    certificate = restrict.load_certificate(tmp_path / "c.json")
    assert restrict.check(restrict.load(model), certificate).startswith("s VERIFIED n=400 target=last")


def test_an_interrupt_inside_evaluated_text_ends_the_process_with_its_code(tmp_path: Path) -> None:
    """Dataclasses run ``exec`` when they are imported; after an interrupt in it Python would end by the signal."""
    script = """if True:
        from restrict.cli import entry, main

        def run(words):
            try:
                exec("raise KeyboardInterrupt")
            except KeyboardInterrupt:
                return main.say("interrupted", 130)

        main._run = run
        entry.main()
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "restrict: interrupted\n")


def interrupted(folder: Path, patience: float, words: str) -> tuple[int, str, str]:
    """What a search of five minutes leaves behind when it is interrupted after a few seconds. From outside nothing
    shows whether something has been found: on a slow machine, try again after a longer wait."""
    command = program(*words.split(), "--time", "300", "-o", "c.json")
    while True:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment()
        )
        time.sleep(patience)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        patience *= 3
        if err.lstrip("\n") not in ("restrict: interrupted\n", NOTHING_YET) or patience > 180:
            return process.returncode, out, err.lstrip("\n")


# ---------------------------------------------------------------- exact, explain, tighten, pareto


def test_exact_proves_the_optimum(shell: Shell) -> None:
    out = shell.good("certify", "parity8:width=4", "-n", "6", "--exact")
    assert "optimum 4 fixed positions (exact:" in out
    document = json.loads(shell.good("certify parity8:width=4 -n 6 --exact --json"))
    assert (document["exact"]["lower"], document["exact"]["upper"]) == (4, 4)
    assert document["exact"]["confirmed"] is True
    # for c > 0 every word is run, and the tree of cases above reaches the optimum
    out = shell.good("certify", "random:layers=2,heads=2,states=4,seed=2", "-n", "8", "-c", "2", "--exact")
    assert "optimum 3 fixed positions (exact: no restriction with fewer leaves at most 2 inputs that it depends" in out
    assert "confirms it" not in out


def test_explain_names_the_symbols_that_force_the_output(shell: Shell) -> None:
    out = shell.good("explain contains-one --input 0010 -o e.json")
    assert "accept: 1 of 4 positions forces it" in out
    assert "2:1" in out
    assert shell.good("check contains-one e.json").startswith("s VERIFIED n=4 target=last free=3 c=0 values=1 ")
    rows = json.loads(shell.good("explain", "parity8:width=3", "--input", "0110", "--exact", "--json"))
    assert [sorted(row["positions"]) for row in rows] == [[0, 1, 2]]


def test_explain_says_no_more_than_is_shown(shell: Shell) -> None:
    pinned = shell.good("explain", "contains-one", "--input", "0010", "--pin", "2", "--pin", "0")
    assert pinned.split("\n")[:2] == [
        "accept: 0 of 4 positions force it with 2 pinned, minimum (exact)",
        "  (none: the output never changes with 2 pinned)",
    ]
    late = shell.good("explain", "random:layers=2,seed=1", "--input", "01" * 30, "--time", "0")
    assert "not shown to be minimal" in late
    heavier = "random:layers=2,heads=2,states=4,seed=3"
    kinds = shell.good("explain", heavier, "--input", "0110110101", "--all", "2", "--exact").split("\n")[::2]
    assert [line.partition("it, ")[2] for line in kinds if line] == [
        "minimum (exact)",
        "minimal (exact) (every explanation weighs at least 5)",
    ]


def test_explain_enumerates_different_explanations(shell: Shell) -> None:
    rows = json.loads(shell.good("explain", "contains-one", "--input", "0110", "--all", "5", "--json"))
    assert sorted(row["positions"] for row in rows) == [[1], [2]]


def test_tighten_says_which_dependencies_matter(shell: Shell) -> None:
    shell.good("certify parity8:width=3 -n 5 -c 2 -o c.json")
    out = shell.good("tighten parity8:width=3 c.json --proofs proofs")
    assert "c = 2 after removing 0 of 2 claimed dependencies, by SAT" in out
    assert "certainly needed: 2 (so c is exact)" in out


def test_tighten_counts_checked_proofs_only(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    at = restrict.load("first-symbol").at(4)
    restrict.certificate_of(at, restrict.Restriction.of(at), {}).save("loose.json")
    assert "  3 verified proofs in" in shell.good("tighten first-symbol loose.json --proofs proofs")
    monkeypatch.setattr("restrict.optimum.tighten.PROOF_SOLVERS", ())
    out = shell.good("tighten first-symbol loose.json --proofs proofs")
    assert "verified" not in out
    assert "of 3 removed only the answer of SAT is known, no proof" in out


def test_pareto_prints_a_front_whose_points_the_checker_accepts(shell: Shell) -> None:
    out = shell.good("certify parity8:width=3 -n 5 --pareto -o front")
    rows = [line.split() for line in out.splitlines()[1:5]]
    assert [(int(row[0]), int(row[1])) for row in rows] == [(0, 2), (1, 3), (2, 4), (3, 5)]
    for c in range(4):
        shell.good(f"check parity8:width=3 front/c{c}.cert.json")


# ---------------------------------------------------------------- for newcomers


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Each command with its full name; a group's commands in place of the group."""
    for command in cli.cli.commands.values():
        if isinstance(command, click.Group):
            yield from ((f"{command.name} {name}", part) for name, part in command.commands.items())
        else:
            yield command.name or "", command


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("check c.json and-of-ors", "write `restrict check and-of-ors c.json`"),
        ("check c.json and-of-ors --fast", "write `restrict check and-of-ors c.json`"),
        ("tighten c.json tribes", "write `restrict tighten tribes c.json`"),
        ("show random:layers=1", "`restrict certify random:layers=1 -n N -o FILE` makes one"),
        ("report tribes -o r.html", "`restrict certify tribes -n N -o FILE` makes one"),
    ],
)
def test_a_model_in_the_place_of_a_result_is_told_so(shell: Shell, line: str, advice: str) -> None:
    assert "is a model, where a file with a result is expected: " + advice in shell.bad(2, line)


@pytest.mark.parametrize(
    ("words", "names"), [("-h", cli.cli.commands), ("soft --help", cli.cli.commands["soft"].commands)]
)
def test_the_lists_of_commands_are_whole_and_not_cut(shell: Shell, words: str, names: Any) -> None:
    listed = shell.good(*words.split()).split("Commands:")[1].split("Examples:")[0]
    assert {line.split()[0] for line in listed.splitlines() if line.strip()} == set(names)
    assert "..." not in listed
    assert all(line.endswith(".") for line in listed.splitlines() if line.strip())


def test_every_command_has_help_with_examples_and_json(shell: Shell) -> None:
    assert set(EXAMPLES) == {name for name, _ in every_command()}
    for name, command in every_command():
        assert shell.good(*name.split(), "-h").startswith(f"Usage: restrict {name} [OPTIONS]")
        assert all(f"  restrict {line}" in (command.epilog or "").splitlines() for line in EXAMPLES[name])
        assert all(shlex.split(line)[: len(name.split())] == name.split() for line in EXAMPLES[name])
        assert "--json" in [name for parameter in command.params for name in parameter.opts], name


def test_options_are_called_the_same_in_every_command() -> None:
    """A short name has one long name, a file to write goes through one check, and every option says what it is for."""
    longer: dict[str, set[str]] = {}
    for name, command in every_command():
        for option in (p for p in command.params if isinstance(p, click.Option)):
            short, long = ([o for o in option.opts if o.startswith("--") is wanted] for wanted in (False, True))
            if short and long:
                longer.setdefault(short[0], set()).update(long)
            assert option.help or option.type.name == "choice", (name, option.opts)
    assert longer == {
        "-o": {"--output"}, "-L": {"--language", "--layers"}, "-H": {"--heads"}, "-C": {"--fraction"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("restrict certif", ["plain,certify"]), ("restrict certify and-of", ["plain,and-of-ors"]),
        ("restrict certify pari", ["plain,parity-attempt", "plain,parity8"]),
        ("restrict certify mine", ["file,mine"]),
        ("restrict certify fli", ["plain,flip-flop", "plain,flip-mine.json"]),
        ("restrict refute x -L dy", ["plain,dyck"]), ("restrict soft run pa", ["plain,parity"]),
        ("restrict certify x --meth", ["plain,--method"]), ("restrict certify x --method le", ["plain,lemma"]),
    ],
)  # fmt: skip
def test_shells_can_ask_for_completions(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, words: str, expected: list[str]
) -> None:
    Path("mine.json").touch()
    Path("flip-mine.json").touch()
    monkeypatch.setenv("_RESTRICT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert shell().out.split() == expected


@pytest.mark.parametrize(
    ("instruction", "words", "line"),
    [
        ("bash_complete", {}, "is how a shell asks for completions"),
        ("zsh_complete", {"COMP_WORDS": "restrict"}, "is how a shell asks for completions"),
        ("bash_complete", {"COMP_WORDS": "restrict", "COMP_CWORD": "x"}, "is how a shell asks for completions"),
        ("tcsh_source", {}, "is not known; docs/command-line.md has the line for each shell"),
    ],
)
def test_completion_by_hand_is_one_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, instruction: str, words: dict[str, str], line: str
) -> None:
    for name in ("COMP_WORDS", "COMP_CWORD"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"_RESTRICT_COMPLETE": instruction, **words}.items():
        monkeypatch.setenv(name, value)
    done = shell()
    assert done.code == 2
    assert done.err.startswith(f"restrict: _RESTRICT_COMPLETE={instruction} {line}")
    assert done.err.count("\n") == 1


@pytest.mark.heavy
def test_bash_completes_commands_models_and_files(tmp_path: Path) -> None:
    """The line of docs/command-line.md in a real bash, with the function that it installs called as bash calls it."""
    program = tmp_path / "restrict"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m restrict.cli "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(_RESTRICT_COMPLETE=bash_source restrict)"
        for line in "restrict cert" "restrict certify tri" "restrict bounds --alph"; do
            COMP_WORDS=($line) COMPREPLY=()
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _restrict_completion restrict
            echo "${COMPREPLY[*]}"
        done
    """
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["certify", "tribes tribes-trap", "--alphabet"], done.stderr


@pytest.fixture
def playground(shell: Shell, tmp_path: Path) -> Path:
    """A folder with the files that the examples name."""
    from safetensors.numpy import save_file

    (tmp_path / "instances").symlink_to(ROOT / "instances")
    help_of_sweep = next(command.help or "" for name, command in every_command() if name == "sweep")
    spec = help_of_sweep.split("Example of a SPEC:")[1]
    for large, small in (("n = [1000, 10000]", "n = [20, 40]"), ("to = 9", "to = 1")):
        assert large in spec
        spec = spec.replace(large, small)
    (tmp_path / "grid.toml").write_text(textwrap.dedent(spec))
    shapes = {"embedding.weight": (2, 4), "head.weight": (3, 4), "head.bias": (3,)} | encoder_layers(1, 4, 8, "")
    save_file(drawn(np.random.default_rng(1), shapes), tmp_path / "encoder.safetensors")
    for suffix in (".safetensors", ".config.json"):
        trained = ROOT / "tests" / "corpus" / "trained" / f"tomita2-1l1h16d{suffix}"
        (tmp_path / f"checkpoint{suffix}").write_bytes(trained.read_bytes())
    return tmp_path


@pytest.mark.heavy
def test_the_examples_of_the_help_run(shell: Shell, playground: Path) -> None:
    pytest.importorskip("jinja2")
    for lines in (*EXAMPLES.values(), FIRST):
        for line in lines:
            result = shell(*shlex.split(line))
            assert (result.code, result.err) == (0, ""), (line, result)
            assert result.out.strip(), line


SAME = {
    "new random:seed=1 -o m.json": ("bytes",),
    "run and-of-ors 010011010": ("output",),
    "certify and-of-ors -n 100 -o c.json": ("file", "checked", "certificate.model.name", "certificate.n"),
    "elaborate and-of-ors c.json -o c.proof": ("proof", "program", "proof_bytes", "program_bytes"),
    "certify contains-one -n 12 --exact": ("checked", "exact.upper"),
    "certify and-of-ors -n 9 --pareto -o front": ("points.0.free", "points.1.c"),
    "certify random:layers=1,heads=2,states=2,every=1 -n 50 --target all --free 0.8 --trace": ("certificate.n",),
    "certify and-of-ors -n 25 --lower-bound": ("checked",),
    "certify instances/brasp-ab-star.json --all-lengths": ("model", "checked"),
    "check and-of-ors c.json": ("line", "digest"),
    "show c.json": ("sections.0.facts.length n",),
    "report c.json -o c.html": ("title", "claim", "report"),
    "tighten and-of-ors c.json": ("c",),
    "explain induction-head --input abcdabca": ("0.label",),
    "lower-bound and-of-ors -n 25 -o bound.json": ("file", "checked"),
    "bounds -L 1 -H 2 -C 0.9": ("layers", "heads"),
    "language parity -n 100": ("n", "sensitivity"),
    "language --list": (),
    "refute parity-attempt -L parity -n 40 -o r.json": ("file", "checked"),
    "refute instances/brasp-ab-star.json -L regex:a(ab)* --all-lengths": ("model", "n", "checked"),
    "automaton instances/brasp-ab-star.json": ("model",),
    "verify instances/brasp-ab-star.json -L regex:(ab)*": ("model", "checked"),
    "compile -L regex:(ab)* -o l.json": ("file", "heads"),
    "compile --to ltl instances/brasp-ab-star.json -o f.txt": ("file", "nodes"),
    "compile once(1) --alphabet 0,1 -o f.json": ("file",),
    "compile once(1) --alphabet 0,1 --to soft -o s.safetensors": ("file",),
    "simulate induction-head -n 6 -o soft.json": ("file",),
    "import b-rasp instances/brasp-dyck1-depth2.txt -o dyck.json": ("file", "name", "variables"),
    "sweep grid.toml": ("rows", "items"),
    "sweep grid.toml --recheck": ("checked",),
    "warm-up --list": ("folder", "kernels"),
    "soft influence parity -n 8 --samples 100": ("model", "rows.0.n"),
    "soft influence parity -n 4 --matrix": (),
    "soft certify parity -n 12 --epsilon 0.5 -o sc.json": ("model.name", "n", "free"),
    "soft check parity sc.json": ("line", "digest"),
    "soft cross-entropy parity -L parity -n 8": ("model", "rows.0.n"),
    "soft run parity 0110": ("rows.0.word", "rows.0.labels.0"),
    "soft verify checkpoint.safetensors -n 10": ("status", "checked"),
    "soft write parity -o w.json": ("file", "name"),
    "soft import encoder.safetensors --heads 2 --alphabet 01 -o e.json": ("file", "name", "settings.2.value"),
    "soft export soft.json -n 6 -o e6.safetensors": ("file", "model", "n", "type"),
}
"""Commands, and the places of their JSON that the words say, too."""


@pytest.mark.heavy
def test_json_says_what_the_words_say(shell: Shell, playground: Path) -> None:
    pytest.importorskip("jinja2")
    names = {name for name, _ in every_command()}
    assert {name for name in names if any(line.startswith(f"{name} ") for line in SAME)} == names
    for line, places in SAME.items():
        words, answer = shell.good(*line.split()), shell.good(*line.split(), "--json")
        assert answer.count("\n") == 1, line
        document = json.loads(answer)
        assert document
        for place in places:
            value: Any = document
            for step in place.split("."):
                value = value[int(step) if isinstance(value, list) else step]
            shown = str(value)
            assert shown in words, (line, place, value, words)


RESULTS: dict[str, Callable[[], Any]] = {
    "run tagger abba": lambda: restrict.load("tagger").run("abba"),
    "bounds -L 2 -H 1 -C 0.5": lambda: restrict.theorem_bounds(2, 1, "0.5"),
    "verify contains-one -L 'regex:(0|1)*1(0|1)*'": lambda: restrict.verify(
        restrict.load("contains-one"), "regex:(0|1)*1(0|1)*"
    ),
    "verify first-symbol --equals first-symbol --from 3": lambda: restrict.verify(
        restrict.load("first-symbol"), equals=restrict.load("first-symbol"), first=3
    ),
    "certify contains-one --all-lengths": lambda: restrict.certify_all_lengths(restrict.load("contains-one"))[1],
    "certify contains-one --all-lengths --label reject --cost -n 6": lambda: restrict.certify_costs(
        restrict.load("contains-one"), "reject", n=6
    )[1],
    "automaton first-symbol": lambda: restrict.automaton(restrict.load("first-symbol")),
    "tighten and-of-ors c.json": lambda: restrict.tighten(
        restrict.load("and-of-ors"), restrict.load_certificate("c.json")
    ),
    "soft run parity 0110 '0 1'": lambda: answers(opened("parity"), ["0110", "0 1"]),
    "soft run parity 0110 --float32": lambda: answers(opened("parity"), ["0110"], float32=True),
    "soft influence parity -n 5,9": lambda: tables.influences(opened("parity"), [5, 9]),
    "soft influence parity -n 5 --logit": lambda: tables.influences(opened("parity"), [5], logit=True),
    "soft influence parity -n 4 --matrix": lambda: tables.influence_matrices(opened("parity"), [4]),
    "soft influence random:layers=1,heads=1,width=4 -n 4,5 --pairs": lambda: tables.pair_bounds(
        opened("random:layers=1,heads=1,width=4"), [4, 5]
    ),
    "soft cross-entropy parity -n 5 -L parity": lambda: tables.cross_entropies(opened("parity"), [5], "parity"),
    "language parity -n 20": lambda: restrict.facts(restrict.language("parity"), 20),
}
"""Commands, and the calls of Python that say the same."""
SECONDS = re.compile(r'\b[0-9.]+ s$|"seconds": [0-9.]+', re.MULTILINE)


@pytest.mark.parametrize("line", RESULTS)
def test_a_result_says_what_its_command_prints(shell: Shell, line: str) -> None:
    shell.good("certify and-of-ors -n 9 -o c.json")
    found = RESULTS[line]()
    assert SECONDS.sub("", found.text()) == SECONDS.sub("", shell.good(*shlex.split(line))).removesuffix("\n")
    document = shell.good(*shlex.split(line), "--json")
    assert json.loads(SECONDS.sub('"seconds": 0', document)) == json.loads(
        SECONDS.sub('"seconds": 0', json_line(found.document()))
    )


def test_a_word_that_refutes_is_said_in_python_too(shell: Shell) -> None:
    line = "verify contains-one -L parity -o p.json"
    found = restrict.verify(restrict.load("contains-one"), "parity")
    result = shell(*line.split())
    wrong, *proof = found.text("p.json").splitlines()
    assert (result.code, result.err, result.out.splitlines()) == (3, f"restrict: {wrong}\n", proof)


def test_check_and_show_print_json(shell: Shell) -> None:
    shell.good("certify contains-one -n 8 -o c.json")
    verdict = json.loads(shell.good("check contains-one c.json --json"))
    assert verdict["verified"] is True
    assert (verdict["n"], verdict["free"], verdict["target"]) == (8, 7, "last")
    shown = json.loads(shell.good("show c.json --json"))
    assert shown["kind"] == "Certificate"
    assert shown["sections"][0]["facts"]["length n"] == "8"
    assert "and-of-ors" in json.loads(shell.good("new", "--list", "--json"))
