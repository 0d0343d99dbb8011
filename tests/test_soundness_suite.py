"""The soundness suite: its cases are there, its claims are what it says, its runner notices a checker that is wrong."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from restrict.base.errors import RestrictError
from restrict.elaboration.trusted import trusted_check
from tests.fuzzing.kinds import kinds, read

FOLDER = Path(__file__).resolve().parent / "soundness"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
MUTANTS = [case for case in CASES if case["kind"] != "corpus"]
FALSE = [case for case in CASES if case["truth"] == "false"]


def test_every_case_has_its_files_and_every_folder_its_case() -> None:
    assert all((FOLDER / case[part]).is_file() for case in CASES for part in ("model", "claim"))
    listed = {Path(case["claim"]).parent.as_posix() for case in MUTANTS}
    there = {p.relative_to(FOLDER).as_posix() for part in ("true", "false") for p in (FOLDER / part).iterdir()}
    assert listed == there
    assert len({case["kind"] for case in MUTANTS}) >= 15
    assert len(FALSE) >= 90


def verified(case: dict[str, Any]) -> bool:
    model, claim = FOLDER / case["model"], FOLDER / case["claim"]
    try:
        return trusted_check(model.read_bytes(), claim.read_bytes(), model, claim.name, None).startswith("s VERIFIED")
    except RestrictError:
        return False


@pytest.mark.parametrize("case", MUTANTS[::9], ids=lambda case: case["claim"])
def test_claims_get_the_verdict_that_their_truth_allows(case: dict[str, Any]) -> None:
    assert verified(case) == (case["truth"] == "true")


@pytest.mark.heavy
def test_all_claims_get_it_and_brute_force_agrees() -> None:
    for case in MUTANTS:
        assert verified(case) == (case["truth"] == "true"), case
        judged = kinds()[case["kind"]].judge(read((FOLDER / case["claim"]).parent))
        assert judged == "false" if case["truth"] == "false" else judged != "false", case


def test_the_runner_notices_a_checker_that_believes_everything() -> None:
    for script, code in (("echo s VERIFIED", 1), ("exit 3", 0)):
        command = [sys.executable, "-S", str(FOLDER / "run.py"), "--only", "corpus", "sh", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == code, done.stdout
        assert f"{sum(case['kind'] == 'corpus' for case in CASES)} cases" in done.stdout
