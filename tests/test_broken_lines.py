"""Proofs with one false line, or of another program or claim: the kernel refuses what is false of some model."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.checker import all_lengths, kernel, program
from restrict.checker.account import Reject
from restrict.checker.kernel import Kernel
from restrict.checker.main import verify
from restrict.elaboration.make import Elaborated, Elaboration
from restrict.model.program import Model
from tests import broken_lines
from tests.documents import changed
from tests.fuzzing.kinds import kinds, sealed
from tests.fuzzing.kinds import originals as shared
from tests.fuzzing.verdicts import weights_changed
from tests.kernel_cases import kernel_verdict
from tests.kernel_judges import elaborated
from tests.lying_prover import LIES, STEPS, forgeries
from tests.marks import heavy_after, rows_after
from tests.naive_kernel import Machine, Oracle

KINDS = ("certificate", "split", "cases", "all", "refutation")
MOST_WORDS = 200


def pairs(seed: int, folder: Path) -> Iterator[Elaborated]:
    """Elaborated proofs about programs with few words."""
    for turn in range(20):
        rng = np.random.default_rng([seed, turn])
        trial = kinds()[KINDS[turn % len(KINDS)]].original(rng)
        for name, content in trial.files:
            (folder / name).write_bytes(content)
        made = elaborated(trial, folder)[1]
        if made is not None and sum(1 for _ in Machine(made.program.decode()).words()) <= MOST_WORDS:
            yield made


def tried(seed: int, folder: Path, each: int) -> Counter[str]:
    """How many forgeries are accepted and true, or refused; ``AssertionError`` where one is accepted and false."""
    rng, said = np.random.default_rng(seed), Counter[str]()
    for pair in pairs(seed, folder):
        for about, proof in broken_lines.forgeries(rng, pair, each):
            verdict = kernel_verdict(about, proof)
            said["accepted" if isinstance(verdict, str) else "refused"] += 1
            if isinstance(verdict, str):
                lies = Oracle(about.decode()).lies(proof.decode())
                assert not lies, f"accepted and false: {lies}"
    return said


@pytest.mark.parametrize("seed", heavy_after(range(100), 1))
def test_a_proof_with_a_false_line_is_refused(seed: int, tmp_path: Path) -> None:
    said = tried(seed, tmp_path, 6)
    assert said["refused"] > 5
    assert said["accepted"] > 10


def yes(*_: Any) -> bool:
    """Whatever it is."""
    return True


def tied(left: int, score: int, at: int, other: int, other_at: int) -> bool:
    """The order of pairs with the other rule for ties."""
    return score < other or (score == other and (at < other_at if left else at > other_at))


WEAKER: dict[str, tuple[int, Any, str, Callable[..., Any]]] = {
    "rows": (1, Kernel, "row", yes),
    "images": (2, Kernel, "map", yes),
    "groups": (2, Kernel, "group", yes),
    "cases": (6, Kernel, "case", yes),
    "positions": (3, Kernel, "inside", yes),
    "the other tie": (3, kernel, "below", tied),
    "values": (3, kernel, "part_of", yes),
}
"""A seed whose first forgeries find it out, and what is weaker."""


@pytest.mark.parametrize("name", WEAKER)
def test_a_kernel_without_one_look_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """One of the forgeries, which the whole kernel makes, is accepted by the weaker one, and false."""
    seed, *weaker = WEAKER[name]
    rng = np.random.default_rng(seed)
    for pair in pairs(seed, tmp_path):
        made = list(broken_lines.forgeries(rng, pair, 12))
        with monkeypatch.context() as patch:
            patch.setattr(*weaker)
            taken = (p for p in made if isinstance(kernel_verdict(*p), str))
            if any(Oracle(program.decode()).lies(proof.decode()) for program, proof in taken):
                return
    pytest.fail("no forgery was accepted and false")


# ----------------------------------------------------------------
# A claim that says more than its proof is refused: the proof is that of the honest file, only the claim is larger.


def with_the_honest_proof(model: Model, content: bytes, changes: dict[str, Any]) -> str:
    """Why the file is refused with other parts, by their paths in it."""
    assert model.content is not None
    made = Elaboration(model.content, content, folder=Path(), model_name="m", certificate_name="c").made
    assert verify(model.content, content, proof=lambda *_: made.proof).startswith("s VERIFIED ")
    document = changed(json.loads(content), changes)
    with pytest.raises(Reject) as refused:
        verify(model.content, json.dumps(document).encode(), proof=lambda *_: made.proof)
    assert refused.value.code == 3
    return str(refused.value)


def test_a_bound_is_not_larger_than_the_proofs() -> None:
    """For a label, or for all others."""
    model = restrict.load("and-of-ors")
    content = restrict.lower_bound(model, 9).bound.to_bytes()
    labels = json.loads(content)["claim"]["labels"]
    assert sorted(labels) == ["accept", "reject"]
    for label, least in labels.items():
        change = {f"claim.labels.{label}": least + 1}
        assert f"the proof shows only {least} for the label number" in with_the_honest_proof(model, content, change)
    change = {"claim.labels": {"reject": labels["reject"]}, "claim.others": labels["accept"] + 1}
    assert "the proof does not show it for the label number" in with_the_honest_proof(model, content, change)


def depending() -> tuple[Model, bytes]:
    """A certificate with two dependencies and two values."""
    for seed in range(40):
        model = restrict.load(f"random:layers=1,heads=1,states=2,seed={seed}")
        content = restrict.certify(model, 12, c=2).to_bytes()
        claim = json.loads(content)["claim"]
        if len(claim["dependencies"]) == 2 and len(claim["values"]) == 2 and claim["free"] > 2:
            return model, content
    raise AssertionError


def test_a_claim_has_all_dependencies_and_values_of_its_proof() -> None:
    model, content = depending()
    claim = json.loads(content)["claim"]
    fewer = {"claim.dependencies": claim["dependencies"][1:], "claim.c": claim["c"] - 1}
    for change in (fewer, {"claim.values": claim["values"][1:]}):
        told = with_the_honest_proof(model, content, change)
        assert "the proof shows another position, more values or more dependencies" in told


def test_a_claim_is_about_the_restriction_of_its_proof() -> None:
    model = restrict.load("and-of-ors")
    content = restrict.certify(model, 9).to_bytes()
    other = "10"[int(json.loads(content)["fixed"][0][2])]
    assert "the proof is about another restriction" in with_the_honest_proof(model, content, {"fixed.0.2": other})


# ----------------------------------------------------------------
# No proof of another program, or of other weights, is accepted with a false claim; a weaker checker is found out.


@pytest.mark.parametrize("programs", heavy_after((2, 20, 60), 1))
def test_no_false_claim_is_proved_by_another_program(programs: int) -> None:
    counts = forgeries(np.random.default_rng(9 if programs == 2 else 6), programs, len(LIES))
    genuine = counts.pop("genuine")
    assert genuine["true"] + genuine["undecided"] == genuine.total() >= programs * 3 // 4
    for name, found in counts.items():
        assert found["offered"] >= programs // 3, (name, found)
        assert found["false claims"] >= programs // 20, (name, found)
        assert found["undecided"] <= max(1, programs // 12), (name, found)
    assert sum(found["false claims"] for found in counts.values()) >= 2 * programs


def better(self: all_lengths.HeadBoxes, one: all_lengths.Entry, two: all_lengths.Entry) -> all_lengths.Entry:
    """The leftmost of equals, whatever the ties of the head."""
    return one or two if one is None or two is None else one if one[0] >= two[0] else two


WEAKER_LOOKS = {
    "boxes follow": (all_lengths.HeadBoxes, "follows", lambda self, *_: True),
    "labels agree": (all_lengths.LayerProof, "check_labels", lambda self: None),
    "ties": (all_lengths.HeadBoxes, "better", better),
    "classes": (program.AllLengthsProgram, "fits", lambda self, form, place: form),
}


@pytest.mark.parametrize(
    ("name", "seed"), rows_after([("boxes follow", 3), ("labels agree", 0), ("ties", 1), ("classes", 1)], 2)
)
def test_a_checker_without_one_equation_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str, seed: int) -> None:
    holder, method, weaker = WEAKER_LOOKS[name]
    monkeypatch.setattr(holder, method, weaker)
    with pytest.raises(AssertionError, match="accepted and false"):
        forgeries(np.random.default_rng(seed), 10, len(LIES))


@pytest.mark.parametrize("name", ["verdict", "every length"])
@pytest.mark.parametrize("originals", heavy_after((2, 24, 60), 1))
def test_no_false_verdict_is_proved_by_other_weights(name: str, originals: int) -> None:
    """A certificate that the engine made of a checkpoint is offered for some in which a few weights are others: for the
    first four, and then for those whose claim is false until there were two."""
    rng, kind, said = np.random.default_rng(originals), kinds()[name], Counter[tuple[str, bool]]()
    made = shared(name) if originals == 2 else (kind.original(rng) for _ in range(originals))
    for trial in made:
        refused = 0
        for offered in range(60):
            model = trial.model
            for _ in range(int(rng.integers(1, 9))):
                model = weights_changed(rng, model)
            forged = sealed(model, json.loads(trial.proof))
            claim = kind.judge(forged)
            if offered >= 4 and claim != "false":
                continue
            try:
                accepted = verify(forged.model, forged.proof, limit=STEPS) != ""
            except Reject:
                accepted = False
            said[claim, accepted] += 1
            refused += claim == "false"
            if refused == 2:
                break
    assert said["false", True] == 0, said
    assert said["false", False] >= originals, said
    assert said["true", True] >= originals // 4, said
