"""The JSON Schemas under docs/schema say what docs/format.md says, as far as a schema can."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from restrict.checker import all_lengths, formats, lower_bound, refutation
from restrict.checker.read import Maybe

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = {
    kind: json.loads((ROOT / f"docs/schema/restrict-{kind}-1.schema.json").read_text(encoding="utf-8"))
    for kind in ("model", "certificate", "refutation", "lower-bound", "automaton")
}
INSTANCES = sorted((ROOT / "instances").glob("*.json"))


def documented(kind: str) -> dict[str, Any]:
    """The example of docs/format.md; its certificate leaves the digest out."""
    text = (ROOT / "docs/format.md").read_text(encoding="utf-8")
    blocks = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]
    (example,) = [block for block in blocks if block.get("format") == f"restrict-{kind}/1"]
    if kind in ("certificate", "lower-bound", "automaton"):
        assert example["model"]["sha256"] == "..."
        example["model"]["sha256"] = "0123456789abcdef" * 4
    return example


def accepts(kind: str, document: Any) -> bool:
    return Draft202012Validator(SCHEMAS[kind]).is_valid(document)


def changed(kind: str, path: str, value: Any) -> dict[str, Any]:
    """The documented example with the entry at a slash-separated path replaced or added."""
    document = copy.deepcopy(documented(kind))
    *parents, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place: Any = document
    for step in parents:
        place = place[step]
    place[last] = value
    return document


def without(kind: str, path: str) -> dict[str, Any]:
    document: Any = copy.deepcopy(documented(kind))
    *parents, last = path.split("/")
    place = document
    for step in parents:
        place = place[step]
    del place[last]
    return document


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_is_valid(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize("kind", SCHEMAS)
def test_documented_example_validates(kind: str) -> None:
    Draft202012Validator(SCHEMAS[kind]).validate(documented(kind))


@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.name)
def test_instance_validates(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    kind = document["format"].removeprefix("restrict-").removesuffix("/1")
    Draft202012Validator(SCHEMAS[kind]).validate(document)


HEAD = {"name": "seen", "kind": "head", "value": "token", "score": "j"}

MODEL_CHANGES_ALLOWED = [
    ("alphabet", ["é", "ab", "[", "\\"]),
    ("end_marker", "$"),
    ("when", "n % 2 == 0 and n > 3"),
    ("files", {"weights.safetensors": "0" * 64}),
    ("variables", []),
    ("variables/0", HEAD),
    ("variables/0/score", {"table": {"axes": ["k"], "values": [-1, 1]}}),
    ("variables/0/score", {"table": {"axes": [], "values": 7}}),
    ("variables/0", HEAD | {"query": "token", "score": "hash(7, q, n) if i < j else -q"}),
    (
        "variables/0/score",
        {"dot": {"query": {"axes": ["i", "dim"], "file": "w", "tensor": "t"}, "key": {"axes": ["dim"], "values": [1]}}},
    ),
    ("variables/1/map", {"table": {"axes": ["seen", "i"], "values": [[0, 1], [1, 0]]}}),
    ("variables/1/domain", "isqrt(n) + 1"),
    ("output", {"variable": "token", "position": "every", "labels": ["no", "yes"]}),
]

MODEL_CHANGES_REFUSED = [
    ("format", "restrict-model/2"),
    ("name", "two\nlines"),
    ("author", "an unknown key"),
    ("alphabet", []),
    ("alphabet", ["0", "0"]),
    ("alphabet", ["0", "*"]),
    ("alphabet", ["0", "1 "]),
    ("alphabet", ["0", "1\n"]),
    ("when", 1),
    ("when", "i > 0"),
    ("files", {"../weights": "0" * 64}),
    ("files", {"weights": "0" * 64 + "\n"}),
    ("variables/0/name", "token"),
    ("variables/0/name", "hash"),
    ("variables/0/name", "1st"),
    ("variables/0/name", "seen\n"),
    ("variables/0/value", "i"),
    ("variables/0/kind", "mlp"),
    ("variables/0/mask", "causal"),
    ("variables/0/ties", True),
    ("variables/0/default", -1),
    ("variables/0/default", 2**63),
    ("variables/0/args", ["token"]),
    ("variables/0/score", 1),
    ("variables/0/score", ""),
    ("variables/0/score", "k + seen"),
    ("variables/0/score", "k == 0.5"),
    ("variables/0/score", "k" + " " * 10000),
    ("variables/0/score", "k == q"),
    ("variables/0", HEAD | {"score": "k"}),
    ("variables/0", HEAD | {"score": {"table": {"axes": ["k"], "values": [0, 1]}}}),
    ("variables/0/score", {"table": {"axes": ["k", "k"], "values": [[0, 1], [1, 0]]}}),
    ("variables/0/score", {"table": {"axes": ["k"], "values": [[0, 1], [1, 0]]}}),
    ("variables/0/score", {"table": {"axes": ["k"], "values": []}}),
    ("variables/0/score", {"table": {"axes": ["k"], "values": [0, 0.5]}}),
    ("variables/0/score", {"table": {"axes": ["k"], "values": [0, True]}}),
    ("variables/0/score", {"table": {"axes": ["dim"], "values": [0, 1]}}),
    ("variables/0/score", {"table": {"axes": ["k"], "values": [0, 1], "file": "w", "tensor": "t"}}),
    ("variables/0/score", {"table": {"axes": ["k"], "file": "w"}}),
    (
        "variables/0/score",
        {"dot": {"query": {"axes": ["dim", "i"], "values": [[1]]}, "key": {"axes": ["dim"], "values": [1]}}},
    ),
    ("variables/1/args", ["seen", "seen"]),
    ("variables/1/domain", 0),
    ("variables/1/domain", True),
    ("variables/1/map", 1),
    ("variables/1/score", "k"),
    ("output", {"variable": "out"}),
    ("output/position", 0),
    ("output/accept", [1, 1]),
    ("output/labels", ["no", "yes"]),
]

CERTIFICATE_CHANGES_ALLOWED = [
    ("model/sha256", None),
    ("cone", "all"),
    ("cone", {}),
    ("fixed", []),
    ("claim/dependencies", [[1, 3]]),
    ("provenance", {"options": {"time": None, "free": [1, "x"]}}),
]

CERTIFICATE_CHANGES_REFUSED = [
    ("format", "restrict-model/1"),
    ("comment", ""),
    ("model/sha256", "0" * 63 + "A"),
    ("model/digest", "0" * 64),
    ("n", 0),
    ("n", 100_000_001),
    ("n", "5"),
    ("target", "first"),
    ("target", -1),
    ("target", "all"),
    ("fixed", [[0, 1]]),
    ("fixed", [[0, 0, "1"]]),
    ("fixed", [[0, 1, "*"]]),
    ("fixed", [[0, 1, 1]]),
    ("cone", "some"),
    ("cone/seen", []),
    ("cone/token", [[0, 1]]),
    ("cone/seen", [[0, 1, 2]]),
    ("claim/free", -1),
    ("claim/free", True),
    ("claim/values", []),
    ("claim/values", [1, 1]),
    ("claim/dependencies", [3]),
    ("claim/label", "accept"),
    ("provenance", "restrict 0.1.0"),
    ("provenance/seconds", 0.25),
]


BOUND_CHANGES_ALLOWED = [
    ("model/sha256", None),
    ("target", 3),
    ("boxes", []),
    ("boxes/0/cone", {}),
    ("boxes/0/only", []),
    ("claim", {"labels": {}, "others": 2}),
    ("claim/others", 2),
    ("provenance", {"seed": 0}),
]

BOUND_CHANGES_REFUSED = [
    ("format", "restrict-certificate/1"),
    ("comment", ""),
    ("n", 0),
    ("target", "all"),
    ("boxes", {}),
    ("boxes/0/fixed", []),
    ("boxes/0/only", [[0, 1]]),
    ("boxes/0/only", [[0, 1, []]]),
    ("boxes/0/only", [[0, 1, ["0", "0"]]]),
    ("boxes/0/cone", "all"),
    ("boxes/0/cone", {"seen": []}),
    ("boxes/0/cone", {"token": [[0, 1]]}),
    ("claim", {"labels": {}}),
    ("claim/labels", {"accept": 0}),
    ("claim/labels", {"accept": True}),
    ("claim/others", "2"),
    ("claim/c", 0),
]


DFA = {"format": "restrict-dfa/1", "alphabet": ["0"], "start": 0, "accept": [], "transitions": [[0]]}
MACHINE = {"alphabet": ["0", "1"], "labels": ["no"], "transitions": [[0, 0]], "output": [0]}
EVERYWHERE = {"alphabet": ["0", "1"], "labels": ["no"], "left": [[0, 0]], "right": [[0, 0]], "table": [[[0], [0]]]}
SET = {"early": [0], "cycle": [0, 1]}
LENGTH_CHANGES_ALLOWED = [
    ("claim/middle", ["*", "1"]),
    ("claim", {"kind": "recognises", "language": DFA, "from": 0}),
    ("claim", {"kind": "differs", "language": DFA, "word": [], "from": 3, "shortest": 0}),
    ("claim", {"kind": "cost", "label": "accept", "costs": [-1, 1], "growth": [0], "settled": 2, "turn": 1}),
    ("claim", {"kind": "lengths", "language": DFA, "least": SET, "most": SET, "settled": 1, "turn": 2}),
    ("claim", {"kind": "computes", "machine": MACHINE, "from": 0}),
    ("claim", {"kind": "deviates", "machine": EVERYWHERE, "word": ["0"], "position": 0, "from": 0, "shortest": 1}),
    ("provenance", {"seconds": 1}),
]

LENGTH_CHANGES_REFUSED = [
    ("format", "restrict-automaton/2"),
    ("comment", ""),
    ("model/sha256", None),
    ("n", 1),
    ("period", 0),
    ("layers", []),
    ("layers/0/heads", {}),
    ("layers/0/left/base", [[0]]),
    ("layers/0/left/delta", [[-2]]),
    ("layers/0/table", [[0]]),
    ("layers/1/heads/0/boxes", [[0]]),
    ("layers/1/heads/0/side", "left"),
    ("claim/kind", "hopes"),
    ("claim/middle", []),
    ("claim/from", -1),
    ("claim", {"kind": "cost", "label": "accept", "costs": [-2], "growth": [0], "settled": 2, "turn": 1}),
    ("claim", {"kind": "cost", "label": "accept", "costs": [-1, 1], "growth": [], "settled": 2, "turn": 1}),
    ("claim", {"kind": "lengths", "language": DFA, "least": {"early": [0]}, "most": SET, "settled": 1, "turn": 2}),
    ("claim", {"kind": "lengths", "language": DFA, "least": SET, "most": [1], "settled": 1, "turn": 2}),
    ("claim", {"kind": "computes", "machine": MACHINE | {"left": [[0, 0]]}, "from": 0}),
    ("claim", {"kind": "recognises", "language": {"unchecked": "python:odd"}, "from": 0}),
]


@pytest.mark.parametrize("path", sorted((ROOT / "tests/corpus/malformed").glob("good-length*.cert.json")))
def test_written_proofs_validate(path: Path) -> None:
    Draft202012Validator(SCHEMAS["automaton"]).validate(json.loads(path.read_text(encoding="utf-8")))


REFUTATION_CHANGES_ALLOWED = [
    ("language", {"name": "dyck", "alphabet": ["(", ")"], "depth": 3}),
    ("language", {"name": "palindromes", "alphabet": ["a"]}),
    ("language", {"unchecked": "python:odd"}),
    (
        "language",
        {"format": "restrict-dfa/1", "alphabet": ["a"], "start": 0, "accept": [0], "transitions": [[1], [0]]},
    ),
    ("errors", "ff"),
    ("provenance", {"seed": 0}),
]

REFUTATION_CHANGES_REFUSED = [
    ("format", "restrict-certificate/1"),
    ("comment", ""),
    ("certificate/format", "restrict-refutation/1"),
    ("certificate/target", "all"),
    ("language", "parity"),
    ("language/name", "primes"),
    ("language/alphabet", ["0", "1", "2"]),
    ("language/depth", 3),
    ("language", {"format": "restrict-dfa/1", "alphabet": ["a"], "start": 0, "accept": [0], "transitions": []}),
    ("member", [[0, 5]]),
    ("nonmember", [[0, 5, "*"]]),
    ("errors", 8),
    ("errors", "08"),
    ("errors", "8G"),
]


ALLOWED = {
    "model": MODEL_CHANGES_ALLOWED,
    "certificate": CERTIFICATE_CHANGES_ALLOWED,
    "refutation": REFUTATION_CHANGES_ALLOWED,
    "lower-bound": BOUND_CHANGES_ALLOWED,
    "automaton": LENGTH_CHANGES_ALLOWED,
}
REFUSED = {
    "model": MODEL_CHANGES_REFUSED,
    "certificate": CERTIFICATE_CHANGES_REFUSED,
    "refutation": REFUTATION_CHANGES_REFUSED,
    "lower-bound": BOUND_CHANGES_REFUSED,
    "automaton": LENGTH_CHANGES_REFUSED,
}


def each(changes: dict[str, list[tuple[str, Any]]]) -> list[tuple[str, str, Any]]:
    return [(kind, path, value) for kind, listed in changes.items() for path, value in listed]


@pytest.mark.parametrize(("kind", "path", "value"), each(ALLOWED))
def test_a_change_within_the_rules_is_accepted(kind: str, path: str, value: Any) -> None:
    assert accepts(kind, changed(kind, path, value))


@pytest.mark.parametrize(("kind", "path", "value"), each(REFUSED))
def test_a_change_against_the_rules_is_refused(kind: str, path: str, value: Any) -> None:
    assert not accepts(kind, changed(kind, path, value))


def of_table(kind: str, table: Any, document: Any, path: str = "") -> Iterator[tuple[str, str, bool]]:
    """The keys of a checker's table that the documented example has, also inside it: (kind, path, may be missing)."""
    for key, shape in table.items():
        inner = shape.shape if isinstance(shape, Maybe) else shape
        if key in document:
            # The format chooses the table, so it is read before.
            yield kind, path + key, isinstance(shape, Maybe) and key != "format"
        if isinstance(inner, dict) and key in document:
            yield from of_table(kind, inner, document[key], f"{path}{key}/")


TABLES: dict[str, Any] = {
    "model": formats.MODEL,
    "certificate": formats.CERTIFICATE | {"claim": formats.CLAIM},
    "refutation": refutation.REFUTATION,
    "lower-bound": lower_bound.BOUND,
    "automaton": all_lengths.PROOF,
}
KEYS = [entry for kind, table in TABLES.items() for entry in of_table(kind, table, documented(kind))]


@pytest.mark.parametrize(("kind", "path", "optional"), KEYS)
def test_a_key_is_required_exactly_where_the_checkers_table_says_so(kind: str, path: str, optional: bool) -> None:
    assert accepts(kind, without(kind, path)) is optional


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_schema_has_the_keys_of_the_checkers_table(kind: str) -> None:
    assert set(SCHEMAS[kind]["properties"]) == set(TABLES[kind])
    listed = {path for of, path, _ in KEYS if of == kind}
    assert listed >= set(SCHEMAS[kind]["required"])


@pytest.mark.parametrize(("kind", "path"), [("automaton", "claim/label"), ("refutation", "language/alphabet")])
def test_a_key_of_one_form_is_required(kind: str, path: str) -> None:
    assert not accepts(kind, without(kind, path))


def test_claim_for_all_positions_has_two_keys() -> None:
    document = changed("certificate", "target", "all")
    document["claim"] = {"free": 4, "c": 0}
    assert accepts("certificate", document)


def test_a_tensor_of_five_axes_may_not_mix_integers_and_lists() -> None:
    axes = ["seen", "token", "position", "i", "other"]
    even: Any = [[[[[0, 1]]]]]
    assert accepts("model", changed("model", "variables/1/map", {"table": {"axes": axes, "values": even}}))
    mixed: Any = [[[[[0, 1], 2]]]]
    assert not accepts("model", changed("model", "variables/1/map", {"table": {"axes": axes, "values": mixed}}))
