"""Who checks what a command has found: the kernel, compiled scans, or `restrict-verified`. The output says which."""

import json
from pathlib import Path

import pytest

from restrict.base.errors import UsageError
from tests.commands import typed
from tests.conftest import VERIFIED
from tests.marks import LONG_TO_COMPILE

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
    found = typed(*words, "--fast")
    assert found.exit_code == 0, found.output
    assert "  checked by compiled scans: s VERIFIED n=" in found.output
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


def test_one_checker_at_most() -> None:
    found = typed("certify", "and-of-ors", "-n", "25", "--verified", "--fast")
    assert found.exit_code == 2
    assert "at most one of --fast and --verified" in found.output


@pytest.mark.skipif(not VERIFIED.exists(), reason="restrict-verified is not built")
def test_the_verified_checker_checks_a_result() -> None:
    found = typed("certify", "and-of-ors", "-n", "25", "--verified")
    assert found.exit_code == 0, found.output
    assert "  checked by restrict-verified: s VERIFIED n=25 " in found.output
