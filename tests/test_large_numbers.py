"""Domains of 10^12 values are never spelt out; a difference that 64 bits do not hold is declined, never wrapped."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.all_lengths.recognise import recognise
from restrict.base.errors import NotEstablished, RestrictError
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Model
from tests import documents
from tests.clock import within
from tests.commands import failed, typed
from tests.fuzzing.kinds import sealed
from tests.marks import heavy_after
from tests.test_account import spent
from tests.transformer_programs import write_program

MOST = 9223372036854775807
WRAPPED = {
    "two lines": f"(i - {MOST}) < ({MOST} - i)", "two finite rules": f"(min(i, 5) - {MOST}) < ({MOST} - min(i, 3))",
    "abs": f"abs(i - {MOST}) > {MOST - 7}", "abs at the least number": "abs((-4611686018427387904 + i)) % 3",
    "max": f"max(i - {MOST}, {MOST} - i) > {MOST - 7}", "min": f"min(min(i, 3) - {MOST}, {MOST} - min(i, 2)) > 3",
    "a factor": "4611686018427387904 * i > 3",
}  # fmt: skip
HELD = {
    "a large bound": "min(i, 5) < 4611686018427387904",
    "a hash": "hash(i % 2) > 4611686018427387904",
    "the larger of two hashes": "max(hash(i % 2), hash(n % 3)) % 2",
    "abs of a hash": "abs(hash(i % 2)) % 2",
}


def document(rule: str) -> dict[str, Any]:
    """A model that says, by this rule, something of its last position."""
    says = documents.map_("v", [], 2, f"1 if {rule} else 0")
    return documents.model(says, alphabet="ab", position="last", accept=[1], name="large")


@pytest.mark.parametrize("name", WRAPPED)
def test_a_difference_beyond_64_bits_is_declined_with_the_sub_expression(name: str) -> None:
    with pytest.raises(NotEstablished, match=r"the sub-expression '.*' leaves 64 bits"):
        recognise(loads(json.dumps(document(WRAPPED[name])).encode()))


@pytest.mark.parametrize("name", HELD)
def test_large_numbers_whose_differences_fit_are_followed(name: str) -> None:
    recognise(loads(json.dumps(document(HELD[name])).encode()))


@pytest.mark.parametrize("words", [("automaton",), ("certify", "--all-lengths"), ("verify", "-L", "regex[ab]:a*")])
def test_no_command_ends_in_an_internal_error(words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    for rule in (WRAPPED["two lines"], WRAPPED["abs at the least number"]):
        path.write_text(json.dumps(document(rule)))
        assert "is not order-only" in failed(NotEstablished, words[0], path, *words[1:])


def test_a_simulation_does_not_read_what_it_cannot_follow(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document(WRAPPED["two lines"])))
    found = typed("simulate", path, "-n", "4", "--samples", "3")
    assert found.exception is None or isinstance(found.exception, RestrictError | SystemExit), found.exception


@pytest.mark.parametrize("domain", [1 << 62, 1 << 40, (1 << 25) + 1])
def test_labels_of_a_domain_that_no_memory_holds_are_a_limit(domain: int) -> None:
    """A list of all labels was made before anything was counted."""
    model = documents.changed(document("i > 1"), {"output.position": "every", "variables.0.domain": domain})
    claim = {"free": 3, "c": 0, "dependencies": [], "values": [1]}
    certificate = {
        "format": "restrict-certificate/1", "model": {"name": "large"}, "n": 3, "target": "last", "fixed": [],
        "cone": {}, "claim": claim,
    }  # fmt: skip
    trial = sealed(model, certificate)
    found = spent(trial, 1_000_000)
    assert found.code == 5, found
    within(found.seconds, 2)
    assert found.taken < 256 << 20


# ----------------------------------------------------------------
# Domains of 10^12 values: they are never spelt out, whatever asks for them.


HUGE = 10**12
"""A list of all values would take 8 * 10^12 bytes, so a search that makes one ends in a MemoryError."""


def model(above: bool = True) -> Model:
    """Six heads whose values are added into a number below 10^12, halved, and compared."""
    scores = {f"h{t}": f"((q * {t + 3} + k * {2 * t + 5} + j * {t + 1}) * 7) % 31" for t in range(6)}
    total = " + ".join(f"{name} * {10 ** (t + 5)}" for t, name in enumerate(scores))
    variables = [
        *(documents.head(name, score, query="token", key="token") for name, score in scores.items()),
        documents.map_("total", list(scores), HUGE, total),
        documents.map_("half", ["total"], HUGE, "total // 2"),
    ]
    if above:
        variables.append(documents.map_("above", ["half"], 2, "half > 20000000000"))
    says = {"labels": ["low", "high"]} if above else {"accept": [3]}
    return loads(dumps(documents.model(*variables, alphabet="abcdefgh", position="last", name="huge", **says)))


@pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_certify_lists_no_huge_domain(n: int) -> None:
    found = restrict.certify(model(), n)
    assert found.c == 0
    assert found.free >= n - 4
    assert " VERIFIED " in restrict.check(model(), found)


@pytest.mark.heavy
def test_the_other_searches_list_none_either() -> None:
    program = model()
    explained = restrict.explain(program, "abcdefgh" * 2)[0]
    assert explained.certificate is not None
    assert explained.weight <= 8
    assert restrict.lower_bound(program, 6).at_least == 1
    assert restrict.certify(program, 7, c=2).c <= 2
    with pytest.raises(restrict.ResourceLimit, match="cone needs more than"):
        restrict.exact(program, 9)


def test_an_output_of_10_to_the_12_values_is_refused_at_once() -> None:
    for asked in (lambda: restrict.certify(model(False), 8), lambda: restrict.explain(model(False), "abcdefgh")):
        with pytest.raises(restrict.ResourceLimit, match="more than 2\\^24, which cannot be listed"):
            asked()


@pytest.mark.heavy
@pytest.mark.parametrize("each", heavy_after((2, 4), 1))
def test_programs_of_many_classes_are_certified(each: int, tmp_path: Path) -> None:
    """Exact weights of eleven digits: sums over 16 classes were kept in one number, and certify ran out of memory."""
    path, _ = write_program(
        tmp_path,
        np.random.default_rng(1),
        heads=each,
        mlps=each,
        letters=5,
        classes=16,
        digits=11,
        longest=16,
        markers=False,
    )
    program = restrict.import_transformer_program(path).model
    found = restrict.certify(program, 12)
    assert found.c == 0
    assert found.free >= 9
    assert " VERIFIED " in restrict.check(program, found)
