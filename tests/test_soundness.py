"""No false claim is accepted: mutants against exhaustive evaluation, the suite, what earlier versions verified.

The same with more mutants is scripts/soundness_sweep.py; its figures are in docs/soundness.md.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.base.errors import NotEstablished, RestrictError
from restrict.elaboration.trusted import trusted_check
from restrict.model.fileformat import loads
from tests import mutations, naive
from tests import trusted as check
from tests.commands import typed
from tests.fuzzing.kinds import kinds, read
from tests.marks import heavy_after, rows_after

SWEEPS = [(0, 600, 3), *((chunk, 2050, 15) for chunk in range(7))]
"""Chunk, mutants, and how many of each operator must be rejected, so that every operator makes wrong ones."""


@pytest.mark.heavy
@pytest.mark.parametrize(("chunk", "each", "rejected"), rows_after(SWEEPS, 1))
def test_no_mutant_is_accepted_with_a_false_claim(chunk: int, each: int, rejected: int) -> None:
    """14350 mutants in full."""
    outcome = mutations.sweep(chunk, each)
    assert not outcome.faults, outcome.faults[0]
    assert outcome.row().mutants == each
    assert outcome.row().true >= each // 5, "nearly everything is rejected"
    refused = {name: outcome.row(name).rejected for name in mutations.OPERATORS}
    assert min(refused.values()) >= rejected, refused


@pytest.mark.parametrize("programs", heavy_after((2, 12), 1))
def test_what_the_search_finds_is_true(programs: int) -> None:
    """Certificates of the engine on small programs: accepted, true, and their mutants are judged like all others."""
    rng, outcome, found = np.random.default_rng(20261121), mutations.Outcome(), 0
    while found < programs:
        pair = mutations.original(rng)
        at = loads(mutations.encode(pair.model)).at(pair.certificate["n"])
        try:
            certificate = restrict.certify(at.model, at.n, seed=found, time=0.05)
        except NotEstablished:
            continue
        made = mutations.sealed(pair.model, json.loads(certificate.to_bytes()))
        if mutations.inputs(made) > mutations.MOST_INPUTS:
            continue
        found += 1
        assert mutations.verdict(made) == 0, made
        assert mutations.is_true(made), made
        for name, operator in mutations.OPERATORS.items():
            mutant = operator(rng, made, pair)
            if mutant is not None and not mutations.too_large(mutant):
                outcome.add(name, mutant)
    assert not outcome.faults, outcome.faults[0]


# ----------------------------------------------------------------
# The soundness suite: its cases are there, its claims are what it says, its runner notices a checker that is wrong.


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


# ----------------------------------------------------------------
# False claims that earlier versions verified: each is refused, with a place and a reason, by every program that can say
# ``s VERIFIED``. CHANGELOG says which version verified what.


ONCE = Path(__file__).parent / "corpus" / "false"
PAIRS = sorted(ONCE.glob("*.c.json"))
PLACES = {
    "F1_min_ij": "variables[0]: positions enter in a way that is not covered",
    "F1_min_ij.differs": "variables[0]: positions enter in a way that is not covered",
    "F1b_clamp": "variables[0]: its rule grows with the position",
    "F2_decimal_literal": "epsilon: the margin is bounded by 2 only",
    "F3_even_lengths": "claim.most: a word of 2 positions can be wrong",
    "G1_overflow": "claim.from: the model is not defined at n = 5",
}


def model_of(certificate: Path) -> Path:
    """The model's file beside it."""
    stem = certificate.name.split(".")[0]
    return next(path for path in ONCE.glob(f"{stem}.*") if path.name in (f"{stem}.m.json", f"{stem}.safetensors"))


@pytest.mark.parametrize("certificate", PAIRS, ids=lambda path: path.name.removesuffix(".c.json"))
@pytest.mark.parametrize("elaborated", [False, True], ids=["alone", "elaborated"])
def test_a_false_claim_is_refused(certificate: Path, elaborated: bool, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(model_of(certificate)), str(certificate)]
    if elaborated:
        found = typed("check", *files)
        code, out, err = found.exit_code, found.stdout, found.stderr
    else:
        code = check.main.main(files)
        out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert PLACES[certificate.name.removesuffix(".c.json")] in err


def test_every_false_claim_is_here() -> None:
    assert {path.name.removesuffix(".c.json") for path in PAIRS} == set(PLACES)


def test_the_claims_are_false() -> None:
    """By the definition of the format alone: a word that follows the pattern and has the other label."""
    assert naive.output(naive.load(ONCE / "F1_min_ij.m.json"), "aab") == "accept"  # claimed: "* a *..." forces reject
    assert naive.output(naive.load(ONCE / "F1b_clamp.m.json"), "aaaba") == "accept"  # "* * a *..." from n = 4 on
    # claimed: wrong at odd lengths alone. "ba" is well nested, as b opens and a closes.
    assert naive.output(naive.load(ONCE / "F3_even_lengths.m.json"), "ba") == "reject"
    overflow = naive.load(ONCE / "G1_overflow.m.json")  # claimed from n = 5 on
    assert naive.evaluate(overflow["variables"][0]["score"], {"j": 2}) > 2**63 - 1
