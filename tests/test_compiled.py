"""`check --fast`: rows by the engine's scans have the verdicts of the kernel's loop, on proofs and their mutants."""

from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import restrict
from restrict.base.errors import NotEstablished, ResourceLimit, RestrictError
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.normal_form import Program
from restrict.elaboration.check import check
from restrict.elaboration.compiled import CompiledProof, check_compiled
from restrict.elaboration.make import Elaboration
from tests import kernel_cases
from tests.commands import typed
from tests.marks import heavy_after


def rows_changed(rng: np.random.Generator, proof: bytes) -> bytes:
    """A row's bar a little lower or higher, by score or by position, or other runs that it lists."""
    lines = [line.split(" ") for line in proof.decode().splitlines()]
    rows = [line for line in lines if line[0] == "row"]
    if rows:
        row = rows[int(rng.integers(len(rows)))]
        at = int(rng.choice([4, 5, 6]))
        row[at] = str(int(row[at]) + int(rng.choice([-1000, -2, -1, 1, 2])) if at < 6 or rng.random() < 0.5 else 0)
    return "".join(" ".join(line) + "\n" for line in lines).encode()


def compiled_verdict(found: Elaboration, proof: bytes) -> str | int:
    """What the proof concludes by the compiled scans, or the exit code."""
    program, limit = found.made.program, 20_000_000
    try:
        read = Program(program, Place("program"), Meter(limit))
        made = CompiledProof(proof, read, sha256(program).hexdigest(), Meter(limit), found.instance).found
    except Reject as reject:
        return reject.code
    assert made is not None
    return made.text


def compared(rng: np.random.Generator, model: bytes, proof: bytes, count: int) -> Counter[str]:
    """The verdicts on an elaborated proof and its mutants."""
    try:
        found = Elaboration(model, proof, folder=Path(), model_name="model", certificate_name="certificate")
    except RestrictError:
        return Counter()
    told: Counter[str] = Counter()
    whole = found.made.proof
    for made in [
        whole,
        *kernel_cases.mutants(rng, whole, count // 2),
        *(rows_changed(rng, whole) for _ in range(count // 2)),
    ]:
        one, other = kernel_cases.kernel_verdict(found.made.program, made), compiled_verdict(found, made)
        assert one == other
        told["accepted" if isinstance(one, str) else f"exit {one}"] += 1
    return told


@pytest.mark.parametrize("programs", heavy_after((4, 100, 600), 1))
def test_small_proofs_and_mutants_have_one_verdict(programs: int) -> None:
    rng, told = np.random.default_rng(5), Counter[str]()
    pairs: list[kernel_cases.Pair] = [
        (kernel_cases.bound_pair if at % 4 == 0 else kernel_cases.certificate_pair)(rng) for at in range(programs)
    ]
    for pair in pairs:
        told += compared(rng, *pair.bytes, 24)
    assert told["accepted"] > 2 * programs
    assert told["exit 3"] > 2 * programs


@pytest.mark.parametrize("kind", kernel_cases.LARGE_KINDS)
def test_larger_proofs_and_mutants_have_one_verdict(kind: str) -> None:
    rng = np.random.default_rng(6)
    trial = kernel_cases.large_trial(rng, kind)
    assert compared(rng, trial.model, trial.proof, 10)["accepted"] >= 1


def test_a_lie_about_a_long_row_is_refused() -> None:
    """At n = 30 000 with hashed scores: a bar that some unlisted pair reaches."""
    model = restrict.load("random:layers=1,heads=2,states=4,seed=3")
    found = Elaboration(
        model.content or b"", restrict.certify(model, 30_000).to_bytes(), folder=Path(), model_name="m",
        certificate_name="c", limit=10**10,
    )  # fmt: skip
    assert check_compiled(found).startswith("s VERIFIED n=30000 ")
    lines = found.made.proof.decode().splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("row "))
    words = lines[at].split(" ")
    lines[at] = " ".join([*words[:4], str(int(words[4]) * 9 // 10), *words[5:]])
    found.made = found.made._replace(proof="".join(line + "\n" for line in lines).encode())
    with pytest.raises(NotEstablished, match=f"line {at + 1}"):
        check_compiled(found)


def test_the_command_says_who_decided(tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    assert typed("certify", "and-of-ors", "-n", "16", "-o", out).exit_code == 0
    plain = typed("check", "and-of-ors", out).stdout
    assert typed("check", "and-of-ors", out, "--fast").stdout == plain
    assert '"checker": "compiled"' in typed("check", "and-of-ors", out, "--fast", "--json").stdout


def test_the_limit_is_kept() -> None:
    model = restrict.load("and-of-ors")
    found = restrict.certify(model, 16)
    with pytest.raises(ResourceLimit):
        check(model, found, fast=True, limit=10)
