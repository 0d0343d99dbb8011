"""A claim that says more than its proof is refused: the proof is that of the honest file, only the claim is larger."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import restrict
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.elaboration.make import Elaboration
from restrict.model.program import Model

Change = Callable[[dict[str, Any]], None]


def with_the_honest_proof(model: Model, content: bytes, change: Change) -> str:
    """The checker's line about the changed file, or why it is refused."""
    assert model.content is not None
    made = Elaboration(model.content, content, folder=Path(), model_name="m", certificate_name="c").made
    document = json.loads(content)
    assert verify(model.content, content, proof=lambda *_: made.proof).startswith("s VERIFIED ")
    change(document)
    with pytest.raises(Reject) as refused:
        verify(model.content, json.dumps(document).encode(), proof=lambda *_: made.proof)
    assert refused.value.code == 3
    return str(refused.value)


def test_a_bound_on_a_label_is_not_larger_than_the_proofs() -> None:
    model = restrict.load("and-of-ors")
    content = restrict.lower_bound(model, 9).bound.to_bytes()
    labels = json.loads(content)["claim"]["labels"]
    assert sorted(labels) == ["accept", "reject"]
    for label, least in labels.items():

        def more(document: dict[str, Any], label: str = label, least: int = least) -> None:
            document["claim"]["labels"][label] = least + 1

        assert f"the proof shows only {least} for the label number" in with_the_honest_proof(model, content, more)


def test_a_bound_on_all_other_labels_is_not_larger_than_the_proofs() -> None:
    model = restrict.load("and-of-ors")
    content = restrict.lower_bound(model, 9).bound.to_bytes()

    def others(document: dict[str, Any]) -> None:
        least = document["claim"]["labels"].pop("accept")
        document["claim"]["others"] = least + 1

    assert "the proof does not show it for the label number" in with_the_honest_proof(model, content, others)


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

    def fewer(document: dict[str, Any]) -> None:
        del document["claim"]["dependencies"][0]
        document["claim"]["c"] -= 1

    def one_value(document: dict[str, Any]) -> None:
        del document["claim"]["values"][0]

    for change in (fewer, one_value):
        told = with_the_honest_proof(model, content, change)
        assert "the proof shows another position, more values or more dependencies" in told


def test_a_claim_is_about_the_restriction_of_its_proof() -> None:
    model = restrict.load("and-of-ors")
    content = restrict.certify(model, 9).to_bytes()

    def another(document: dict[str, Any]) -> None:
        start, count, symbol = document["fixed"][0]
        document["fixed"][0] = [start, count, "1" if symbol == "0" else "0"]

    assert "the proof is about another restriction" in with_the_honest_proof(model, content, another)
