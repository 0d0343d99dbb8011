"""Who checks, and what is said of it: the kernel, compiled scans, or `restrict-verified` on a user's file."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from restrict.base.errors import UsageError
from restrict.elaboration import verified
from tests.commands import succeeded, typed
from tests.conftest import VERIFIED
from tests.marks import LONG_TO_COMPILE

Shell = Callable[..., Result]
built = pytest.mark.skipif(not VERIFIED.exists(), reason="restrict-verified is not built")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands in a folder that has a certificate, and a folder `bin` for a program on the PATH."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    assert typed("certify", "and-of-ors", "-n", "25", "-o", "c.json").exit_code == 0
    return typed


def script(text: str) -> None:
    """A program on the PATH that answers as it likes."""
    Path("bin/restrict-verified").write_text(f"#!/bin/sh\n{text}\n")
    Path("bin/restrict-verified").chmod(0o755)


def refused(result: Result, code: int, part: str) -> None:
    """Nothing on standard output, one line on standard error."""
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1), result.stderr
    assert part in result.stderr


@pytest.mark.parametrize(("way", "who"), [pytest.param("verified", "restrict-verified: a proof of ", marks=built),
                                          ("kernel", "the kernel"), ("compiled", "")])  # fmt: skip
def test_the_line_is_that_of_the_checker_and_says_who_spoke(way: str, who: str, shell: Shell) -> None:
    option = "--fast" if way == "compiled" else f"--{way}"
    shell("lower-bound", "and-of-ors", "-n", "25", "-o", "bound.json")
    shell("refute", "parity-attempt", "-L", "parity", "-n", "20", "-o", "ref.json")
    shell("certify", "random:layers=1,heads=2,states=2,every=1", "-n", "20", "--target", "all", "-o", "all.json")
    for model, name in (
        ("and-of-ors", "c.json"),
        ("and-of-ors", "bound.json"),
        ("parity-attempt", "ref.json"),
        ("random:layers=1,heads=2,states=2,every=1", "all.json"),
    ):
        found = shell("check", option, model, name)
        assert found.exit_code == 0, found.stderr
        assert found.stdout == shell("check", model, name).stdout
        assert found.stderr.startswith(who and f"checked by {who}")
        assert found.stderr.count("\n") == bool(who)
    assert json.loads(shell("check", option, "--json", "and-of-ors", "c.json").stdout)["checker"] == way


@pytest.mark.parametrize("option", [pytest.param("--verified", marks=built), "--kernel", "--fast"])
def test_what_does_not_hold_has_its_exit_code(option: str, shell: Shell) -> None:
    document = json.loads(Path("c.json").read_text())
    Path("false.json").write_text(json.dumps(document | {"claim": document["claim"] | {"values": [1]}}))
    Path("malformed.json").write_text(json.dumps(document | {"n": 0}))
    for name, code, part in (("false", 3, "claim.values"), ("malformed", 4, "malformed.json"), ("missing", 2, "")):
        refused(shell("check", option, "and-of-ors", f"{name}.json"), code, part)
    refused(shell("check", option, "--limit", "10", "and-of-ors", "c.json"), 5, "limit")


def test_where_the_program_is_missing_the_line_says_how_to_build_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verified, "BUILT", Path("nowhere"))
    monkeypatch.setenv("PATH", "bin")
    refused(shell("check", "--verified", "and-of-ors", "c.json"), 2, "`make -C restrict/checker/rocq` builds it")


@pytest.mark.parametrize(
    ("answer", "code", "part"),
    [
        ("echo 's VERIFIED n=25 target=24 free=20 c=0 values=0 0000'", 1, "no reason"),
        ("echo no", 1, "no reason"),
        ("echo 'proof: line 7: not established' >&2; exit 3", 3, "line 7"),
        ("echo 'too much' >&2; exit 5", 5, "too much"),
        ("kill -9 $$", 5, "ended with -9"),
    ],
)
def test_other_answers_of_the_program_are_no_success(shell: Shell, answer: str, code: int, part: str) -> None:
    script(answer)
    result = shell("check", "--verified", "and-of-ors", "c.json")
    assert (result.exit_code, result.stdout) == (code, "")
    assert part in f"{result.stderr} {result.exception}"


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("n=25 target=23 free=20 c=0 values=0", "another position"),
        ("n=25 target=24 free=20 c=0 values=0,1", "more values"),
        ("n=25 target=24 at_least=1 labels=0:1,1:1", "something else"),
    ],
)
def test_a_weaker_conclusion_is_not_the_claim(shell: Shell, said: str, part: str) -> None:
    script(f"echo \"s VERIFIED {said} $(sha256sum program | cut -d' ' -f1)\"")
    if "at_least" in said:
        Path("c.json").unlink()
        shell("lower-bound", "and-of-ors", "-n", "25", "-o", "c.json")
        refused(shell("check", "--verified", "and-of-ors", "c.json"), 3, "only 1 for the label")
        return
    refused(shell("check", "--verified", "and-of-ors", "c.json"), 3, part)


def test_another_restriction_is_not_that_of_the_claim(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    script("echo \"s VERIFIED n=25 target=24 free=20 c=0 values=0 $(sha256sum program | cut -d' ' -f1)\"")
    assert shell("check", "--verified", "and-of-ors", "c.json").exit_code == 0
    concluded = verified.concluded

    def moved(line: str, proof: bytes) -> object:
        return concluded(line, re.sub(rb"\nbox -1 .*", b"\nbox -1", proof))

    monkeypatch.setattr(verified, "concluded", moved)
    refused(shell("check", "--verified", "and-of-ors", "c.json"), 3, "another restriction")


@built
def test_a_program_on_the_path_comes_first(shell: Shell) -> None:
    shutil.copy(VERIFIED, "bin")
    assert verified.program() == Path("bin/restrict-verified").resolve()


# ----------------------------------------------------------------
# Who checks what a command has found: the kernel, compiled scans, or `restrict-verified`. The output says which.


EVERY = "random:layers=1,heads=2,states=2,every=1"


@pytest.mark.parametrize(
    "words",
    [
        ("certify", "and-of-ors", "-n", "25"),
        ("certify", EVERY, "-n", "20", "--target", "all", "--restriction", "01" * 8 + "****"),
        pytest.param(("certify", EVERY, "-n", "20", "--target", "all", "--free", "0.8"), marks=LONG_TO_COMPILE),
        ("lower-bound", "and-of-ors", "-n", "25"),
        ("refute", "parity-attempt", "-L", "parity", "-n", "30"),
    ],
)
def test_compiled_scans_check_a_result(words: tuple[str, ...]) -> None:
    assert "  checked by compiled scans: s VERIFIED n=" in succeeded(*words, "--fast").output
    document = json.loads(typed(*words, "--fast", "--json").output)
    assert document["checker"] == "compiled"
    assert document["checked"].startswith("s VERIFIED n=")


def test_the_verified_checker_is_looked_for_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.elaboration.verified.BUILT", Path("/nowhere"))
    monkeypatch.setenv("PATH", "/nowhere")
    found = typed("certify", "and-of-ors", "-n", "25", "--verified")
    assert isinstance(found.exception, UsageError)
    assert "make -C restrict/checker/rocq" in str(found.exception)
    assert found.output == ""


@pytest.mark.parametrize("words", ["certify and-of-ors -n 25 --verified --fast", "check --verified --kernel m c"])
def test_one_checker_at_most(words: str) -> None:
    found = typed(*words.split())
    assert found.exit_code == 2
    assert "at most one of" in found.output


@built
def test_the_verified_checker_checks_a_result() -> None:
    found = succeeded("certify", "and-of-ors", "-n", "25", "--verified")
    assert "  checked by restrict-verified: s VERIFIED n=25 " in found.output
