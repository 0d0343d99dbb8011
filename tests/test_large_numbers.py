"""Numbers near 2^63 beside positions: a difference that 64 bits do not hold is declined, never wrapped."""

import json
from pathlib import Path
from typing import Any

import pytest

from restrict.all_lengths.recognise import recognise
from restrict.base.errors import NotEstablished, RestrictError
from restrict.model.fileformat import loads
from tests import documents
from tests.clock import within
from tests.commands import typed
from tests.fuzzing.kinds import sealed
from tests.test_account import spent

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
        found = typed(words[0], path, *words[1:])
        assert isinstance(found.exception, NotEstablished), found.output
        assert "is not order-only" in str(found.exception)


def test_a_simulation_does_not_read_what_it_cannot_follow(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document(WRAPPED["two lines"])))
    found = typed("simulate", path, "-n", "4", "--samples", "3")
    assert found.exception is None or isinstance(found.exception, RestrictError | SystemExit), found.exception


@pytest.mark.parametrize("domain", [1 << 62, 1 << 40, (1 << 25) + 1])
def test_labels_of_a_domain_that_no_memory_holds_are_a_limit(domain: int) -> None:
    """A list of all labels was made before anything was counted."""
    model = document("i > 1") | {"output": {"variable": "v", "position": "every", "accept": [1]}}
    model["variables"][0]["domain"] = domain
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
