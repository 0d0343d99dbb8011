"""The JSON Schemas under docs/schema are made from the checker's tables, and say no more and no less than they do."""

import copy
import json
import re
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from shapes import FORMATS, Also, Choice, Each, Keyed, Row

from restrict.checker import verdict, verdict_every, verdict_model, verdict_paths, verdict_second
from restrict.checker.claims import CLAIMS
from restrict.checker.read import Maybe, anything
from scripts import make_schemas
from tests import test_malformed, trusted
from tests.fuzzing import by_shape
from tests.fuzzing.kinds import Trial, kinds, originals, sealed
from tests.fuzzing.operators import pick
from tests.marks import heavy_after
from tests.schemas import SCHEMAS

ROOT = Path(__file__).resolve().parent.parent
INSTANCES = sorted((ROOT / "instances").glob("*.json"))
CERTIFICATE, MODELS = "restrict-certificate/1", ("restrict-model/1", "restrict-soft/1")
JSON_ITSELF = {"read_json", "unique", "no_float", "check_values", "read_runs", "read_file"}
"""Refusals of what no schema sees: text that is no JSON, and runs that depend on n."""
ORIGINALS = (
    "certificate", "all", "split", "cases", "refutation", "lower-bound", "recognises", "forces", "cost", "soft",
    "verdict/1", "verdict/2", "every length",
)  # fmt: skip
VERDICTS = {kind for kind in FORMATS if kind.startswith(("restrict-soft-verdict/", "restrict-soft-every-length/"))}


def test_the_committed_schemas_are_those_of_the_tables() -> None:
    assert make_schemas.files() == {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs/schema").iterdir()}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_schema_is_one(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind].schema)


def documented() -> list[dict[str, Any]]:
    """The examples of the two pages; their digests are left out."""
    pages = [(ROOT / f"docs/{page}.md").read_text(encoding="utf-8") for page in ("format", "soft-format")]
    blocks = [block for text in pages for block in re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]
    texts = [block.replace('"..."', f'"{"0123456789abcdef" * 4}"') for block in blocks]
    return [example for example in map(json.loads, texts) if example.get("format") in SCHEMAS]


def test_every_example_of_the_pages_is_of_its_schema() -> None:
    for example in documented():
        SCHEMAS[example["format"]].validate(example)
    shown = {example["format"] for example in documented()}
    assert shown >= {*FORMATS} - VERDICTS - {"restrict-soft-certificate/1"}


@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.name)
def test_every_instance_is_of_its_schema(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    SCHEMAS[document["format"]].validate(document)


# ---------------------------------------------------------------- the corpus


def described(content: bytes) -> Any:
    """The JSON of a file, that of the metadata in a safetensors file; None where there is none."""
    try:
        if content[8:9] == b"{":
            content = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["restrict"]
        return json.loads(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def kind_of(document: Any, spare: str) -> str:
    """The format of a document, or a spare one where it has none that is known."""
    kind = document.get("format") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) and kind in SCHEMAS else spare


@cache
def accepts(content: bytes, spare: str) -> bool:
    """Whether a file is of the schema of its format; what is not JSON has none."""
    document = described(content)
    return document is None or SCHEMAS[kind_of(document, spare)].is_valid(document)


def both(case: str) -> bool:
    """Whether both files of a case of the corpus are of their schemas."""
    model, proof = test_malformed.files(case)
    spare = "restrict-soft/1" if model.suffix == ".safetensors" else "restrict-model/1"
    return accepts(model.read_bytes(), spare) and accepts(proof.read_bytes(), CERTIFICATE)


def by_a_table(case: str) -> bool:
    """Whether the checker refuses a case while it reads by a table, with a reader that the table has."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(test_malformed.refusal(case).__traceback__)]
    frames = [(code.co_filename, code.co_name) for code in codes if code.co_name not in test_malformed.REFUSALS]
    last = max((at for at, (_, name) in enumerate(frames) if name == "record"), default=len(frames))
    inside = frames[last:]
    return bool(inside) and all(Path(path).name == "read.py" and name not in JSON_ITSELF for path, name in inside)


HEADERS = {"soft-file-dtype-number", "soft-file-key", "tensor-file-offsets-text", "tensor-file-shape-text"}
HEADERS |= {"tensor-file-zero-size"}
"""The header of a safetensors file is read by a table, and has no schema."""


def test_what_the_checkers_tables_refuse_the_schemas_refuse() -> None:
    refused = [case for case in test_malformed.CASES if not both(case)]
    assert sum(map(by_a_table, refused[::8])) >= 30
    known = {"bound-sha-null", "cert-no-digest"}  # the package writes null for a model without a file
    assert {case for case in test_malformed.CASES if both(case) and by_a_table(case)} - HEADERS == known


def test_the_schemas_refuse_as_many_files_of_the_corpus_as_they_did() -> None:
    assert sum(not both(case) for case in test_malformed.CASES) >= 424


@pytest.mark.parametrize("proof", sorted(test_malformed.CORPUS.glob("good*.cert.json")), ids=lambda path: path.name)
def test_what_the_checker_accepts_of_the_corpus_the_schemas_accept(proof: Path) -> None:
    assert both(proof.name.removesuffix(".cert.json"))


# ---------------------------------------------------------------- generated files


@cache
def pairs(name: str) -> tuple[Trial, ...]:
    """Two random pairs of a kind; of verdicts those of one format."""
    kind, _, version = name.partition("/")
    rng, wanted = np.random.default_rng(3), f"restrict-soft-{name}"
    made = iter(lambda: kinds()[kind].original(rng), None)
    fitting = (trial for trial in made if described(trial.proof)["format"] == wanted)
    return (next(fitting), next(fitting)) if version else originals(name)


def mutants(name: str, operators: dict[str, by_shape.Operator], each: int) -> Iterator[tuple[str, Trial, str, Any]]:
    """Proofs of a kind, and one time in three models, changed by every operator: its name, what was changed, the format
    that it had, and what it is now."""
    rng = np.random.default_rng([20261125, 7])
    for title, operator in operators.items():
        for turn in range(each):
            first, second = (pick(rng, pairs(name)) for _ in range(2))
            of_proof = turn % 3 or described(first.model) is None
            old, other = (described(trial.proof if of_proof else trial.model) for trial in (first, second))
            document = copy.deepcopy(old)
            if by_shape.changed(rng, operator, document, other):
                yield title, first, old["format"], document


@pytest.mark.parametrize("each", heavy_after((2, 9), 1))
@pytest.mark.parametrize("name", ORIGINALS)
def test_what_is_no_longer_of_the_shape_is_refused_by_the_schema_and_by_the_checker(name: str, each: int) -> None:
    counts: Counter[str] = Counter()
    for title, trial, kind, document in mutants(name, by_shape.BROKEN, each):
        counts[title] += 1
        assert not SCHEMAS[kind].is_valid(document), (title, document)
        assert kind in MODELS or code(trial, document) == 4, (title, document)
    assert counts.keys() == by_shape.BROKEN.keys()


def code(trial: Trial, proof: Any) -> int:
    """The checker's exit code for a changed proof; 1 where it refuses in more than a line."""
    try:
        trusted.verify(trial.model, json.dumps(proof).encode(), limit=400_000)
    except trusted.Reject as reject:
        return 1 if "\n" in str(reject) else reject.code
    return 0


@pytest.mark.parametrize("each", heavy_after((2, 24), 1))
def test_what_the_checker_accepts_the_schema_accepts(each: int) -> None:
    found = [
        (title, document, kind)
        for name in ORIGINALS
        for title, trial, kind, document in mutants(name, by_shape.CHANGED, each)
        if kind not in MODELS and code(trial, document) == 0
    ]
    assert [entry for entry in found if not SCHEMAS[entry[2]].is_valid(entry[1])] == []
    assert len(found) >= 5 * each


# ---------------------------------------------------------------- verdicts


def alone(document: dict[str, Any]) -> dict[str, Any]:
    """A verdict with a wrong word as a claim about this word alone, whose hints are not read."""
    lists = {key: [0] for key in ("basis", "turned", "cases", "second", "turn") if key in document}
    return document | lists | {"upto": -1}


@pytest.mark.parametrize("version", [1, 2])
def test_of_a_wrong_word_alone_no_hints_are_read(version: int) -> None:
    rng = np.random.default_rng(version)
    made = iter(lambda: kinds()["verdict"].original(rng), None)
    wanted = f"restrict-soft-verdict/{version}"
    documents = ((trial, described(trial.proof)) for trial in made)
    trial, document = next((t, d) for t, d in documents if "wrong" in d and d["format"] == wanted)
    assert SCHEMAS[wanted].is_valid(alone(document))
    assert code(trial, alone(document)) == 0
    for broken in (alone(document) | {"upto": 0}, {k: v for k, v in alone(document).items() if k != "wrong"}):
        assert not SCHEMAS[wanted].is_valid(broken)
        assert code(trial, broken) == 4


@pytest.mark.parametrize("each", heavy_after((4, 40), 1))
@pytest.mark.parametrize("name", ORIGINALS[-3:])
def test_a_verdict_that_is_changed_by_its_shape_is_refused_or_true(name: str, each: int) -> None:
    judge, taken = kinds()[name.partition("/")[0]].judge, 0
    for title, trial, _, document in mutants(name, by_shape.CHANGED, each):
        made = sealed(trial.model, document)
        answer = code(made, json.loads(made.proof))
        assert answer in (0, 3, 4, 5), (title, document)
        if answer == 0:
            assert judge(made) != "false", (title, document)
            taken += 1
    assert taken >= each


# ---------------------------------------------------------------- the shapes


def tables_of(shape: Any, seen: set[int]) -> Any:
    """Every table inside a shape."""
    if id(shape) in seen:
        return
    seen.add(id(shape))
    if isinstance(shape, dict):
        yield shape
    values = list(shape.values()) if isinstance(shape, dict) else []
    values += shape.shapes if isinstance(shape, Choice | Row) else []
    values += (shape.names, shape.values) if isinstance(shape, Keyed) else ()
    values += (shape.shape,) if isinstance(shape, Maybe | Also | Each) else ()
    for part in values:
        yield from tables_of(part, seen)


@pytest.mark.parametrize("kind", FORMATS)
def test_no_table_of_a_format_leaves_a_value_open(kind: str) -> None:
    """A new key of a table that says ``anything`` needs a shape before a schema says what it is."""
    for table in tables_of(FORMATS[kind], set()):
        shapes = {key: shape.shape if isinstance(shape, Maybe) else shape for key, shape in table.items()}
        assert [
            key for key, shape in shapes.items() if shape in (anything, trusted.read.thing, trusted.read.listing)
        ] == []


OF_VERDICTS = {"VERDICT", "SECOND", "EVERY", "MODEL", "LAYERS", "GRAPH", "MEMORY", "BASIS", "WRONG"}


def test_every_table_of_the_checker_is_in_a_schema() -> None:
    """By its keys: those of a table of the checker's files are those of a table inside a shape."""
    seen: set[int] = set()
    listed = {frozenset(table) for kind in FORMATS for table in tables_of(FORMATS[kind], seen)}
    own = {name: frozenset(table) for _, (name, table) in test_malformed.tables().items()}
    beside = {"HEADER", "INLINE", "RECOGNISES", "DIFFERS", "FORCES", "COST", "COMPUTES", "DEVIATES", "WRONG"}
    assert {name for name, keys in own.items() if keys not in listed} <= beside
    assert {frozenset({"kind", *table}) for table in CLAIMS.values()} <= listed
    modules = (verdict, verdict_every, verdict_model, verdict_paths, verdict_second)
    tables = {name: table for module in modules for name, table in vars(module).items() if isinstance(table, dict)}
    assert {frozenset(table) for name, table in tables.items() if name in OF_VERDICTS} <= listed
    assert tables.keys() >= OF_VERDICTS
