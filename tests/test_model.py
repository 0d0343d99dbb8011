"""Models: every rule of docs/format.md is enforced with one line that names the place; callables; files."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from safetensors.numpy import save_file

import restrict
from restrict import Dot, Head, Map, Model, Output, Table
from restrict.base.errors import ModelError, ResourceLimit, UsageError
from restrict.elaboration.check import ENTRIES, tabulated
from restrict.model.examples.builtin import BUILTINS
from restrict.model.expr_parser import parse
from restrict.model.fileformat import dumps, load, loads, save, to_document
from restrict.model.lengths import why_not
from tests import documents
from tests.marks import heavy_after
from tests.wrong_ways import certificate, code, holds

BITS = ("0", "1")


def program(*variables: Head | Map, **more: Any) -> Model:
    """A model over 0 and 1 whose output is the last variable."""
    return Model("m", BITS, variables, Output(variables[-1].name if variables else "token"), **more)


def head(score: Any = "0", **more: Any) -> Head:
    return Head("h", "token", score, **more)


def tensor(axes: tuple[str, ...], values: Any) -> Table:
    return Table(axes, np.array(values, dtype=np.int64))


def refusal(build: Callable[[], object], kind: type[Exception] = ModelError) -> str:
    with pytest.raises(kind) as caught:
        build()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def document(**more: Any) -> dict[str, Any]:
    """A file's object: contains-one, with some keys replaced."""
    return BUILTINS["contains-one"]() | more


def read(**more: Any) -> Model:
    return loads(json.dumps(document(**more)).encode(), "m.json")


# ---------------------------------------------------------------- the program

A_MAP, B_MAP, A_BIT = Map("a", ("b",), 2, "b"), Map("b", ("a",), 2, "a"), Map("b", ("token",), 2, "token")


def product(query: list[int], keys: list[list[int]], axes: tuple[str, ...] = ("k", "dim")) -> Model:
    """A head that scores by a dot product."""
    return program(head(Dot(tensor(("dim",), query), tensor(axes, keys)), key="token"))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: program(Map("a", ("frog",), 2, "frog")), "variables[0] 'a': unknown variable 'frog' as argument"),
        (lambda: program(Map("a", ("frog",), 2, "frog")), "known before it: token, position"),
        (lambda: program(Head("a", "frog", "0")), "unknown variable 'frog' as value"),
        (lambda: program(head(query="frog")), "unknown variable 'frog' as query"),
        (lambda: program(head(key="frog")), "unknown variable 'frog' as key"),
        (lambda: program(Head("h", "h", "0")), "variables[0] 'h': cyclic definition: h -> h"),
        (lambda: program(A_MAP, B_MAP), "variables[0] 'a': cyclic definition: a -> b -> a"),
        (
            lambda: program(A_MAP, A_BIT),
            "variables[0] 'a': argument 'b' is defined later in the list; move it before 'a'",
        ),
        (lambda: program(Map("a", (), 2, "0"), Map("a", (), 2, "1")), "'a' is already the name of variables["),
        *(
            (partial(program, Map(word, (), 2, "0")), f"variables[0].name: {word!r} is not a free variable name")
            for word in ("token", "position", "n", "i", "q", "if", "hash", "isqrt", "1a", "a b", "")
        ),
        (lambda: program(Map("x" * 65, (), 2, "0")), "xxx...' is not a free variable name"),
        (lambda: program(head("q")), "variables[0] 'h'.score: it mentions q, but the head has no query"),
        (lambda: program(head("k + 1")), "variables[0] 'h'.score: it mentions k, but the head has no key"),
        (lambda: program(head(tensor(("q",), [0, 1]))), "it mentions q, but the head has no query"),
        (lambda: program(head(mask="causal")), "variables[0] 'h'.mask: 'causal' is not one of none, past"),
        (lambda: program(head(ties="first")), "variables[0] 'h'.ties: 'first' is neither 'left' nor 'right'"),
        (lambda: program(head("token")), "unknown name 'token' in 'token'; here one may use i, j, k, n, q"),
        (lambda: program(Map("a", ("token",), 2, "q")), "variables[0].map: unknown name 'q'"),
        (lambda: program(Map("a", (), "i", "0")), "variables[0].domain: unknown name 'i' in 'i'; here one may use n"),
        (lambda: program(Map("a", ("token", "token"), 2, "0")), "an argument occurs twice"),
        (lambda: program(when="i > 2"), "when: unknown name 'i'"),
        (lambda: Model("m", BITS, (), Output("frog")), "output.variable: unknown variable 'frog'"),
        (lambda: Model("m", BITS, (), Output("token", "first")), "output.position: 'first'"),
        (lambda: Model("m", BITS, (), Output("token", "last", frozenset(), ("a", "b"))), "accept or labels, not both"),
        (lambda: Model("", BITS, (), Output("token")), "name: '' is not a name of 1 to 200 characters"),
        (lambda: Model("m", (), (), Output("token")), "alphabet: 0 symbols"),
        (lambda: Model("m", ("0", "0"), (), Output("token")), "alphabet[1]: the symbol '0' occurs twice"),
        (lambda: Model("m", ("0", "*"), (), Output("token")), "alphabet[1]: the symbol '*' means a free position"),
        (lambda: Model("m", ("0", "a b"), (), Output("token")), "alphabet[1]: 'a b' is not a symbol"),
        (lambda: program(start_marker="0"), "marker: the symbol '0' occurs twice"),
        (lambda: program(start_marker="<", end_marker="<"), "marker: the symbol '<' occurs twice"),
        (lambda: program(end_marker="*"), "the symbol '*' means a free position"),
        (lambda: program(head(tensor(("x",), [0]))), "must be distinct and among i, j, k, q"),
        (lambda: program(head(tensor(("j", "j"), [[0]]))), "must be distinct"),
        (lambda: program(head(tensor(("j", "k"), [0]), key="token")), "a table of 1 dimensions for 2 axes"),
        (lambda: program(head(tensor(("j",), []))), "an empty table"),
        (lambda: product([1, 2], [[1], [2]]), "variables[0] 'h'.score.dot: dim is 2 in the query and 1 in the key"),
        (lambda: product([1], [[1, 2]], ("dim", "k")), "the last axis must be 'dim'"),
        (lambda: product([2**62, 1], [[2, 0], [0, 0]]), "64-bit overflow: the product can reach 9223372036854775808"),
    ],
)
def test_a_program_that_breaks_a_rule_is_refused_by_name(build: Callable[[], Model], reason: str) -> None:
    assert reason in refusal(build)


# ---------------------------------------------------------------- at a length

SEVEN, WIDE = tensor(("token",), [0, 7]), "k * 9223372036854775807 * 2"
WRONG_SHAPE = "table of the wrong shape: axis 'k' has 3 entries"


def answering(variable: str, **more: Any) -> Model:
    """A model of no variables, with this output."""
    return Model("m", BITS, (), Output(variable, **more))


@pytest.mark.parametrize(
    ("model", "n", "reason"),
    [
        (
            program(Map("a", ("token",), 2, "token + i % 2")),
            5,
            "variables[0] 'a' at n = 5: map value 2 at token = 1, i = 1 is outside its domain 0..1",
        ),
        (program(Map("a", (), 2, "-1")), 3, "variables[0] 'a' at n = 3: map value -1 at every position is outside its"),
        (program(Map("a", ("token",), 2, SEVEN)), 3, "map value 7 at token = 1 is outside its domain 0..1"),
        (program(head(WIDE, key="token")), 3, f"variables[0] 'h' at n = 3: score '{WIDE}': 64-bit overflow"),
        (program(Map("a", ("token",), "n * 9223372036854775807", "0")), 3, "'a' at n = 3: domain: 64-bit overflow"),
        (program(head("1 // k", key="token")), 3, "'h' at n = 3: score '1 // k': a divisor may be 0"),
        (program(head("5 % (i - 1)")), 3, "a divisor may be 0"),
        (program(head("isqrt(i - 1)")), 3, "isqrt of a number that may be negative"),
        (program(head(default=2)), 3, "'h' at n = 3: default 2 is outside its domain 0..1"),
        (program(head(default=-1)), 3, "default -1 is outside its domain 0..1"),
        (program(head(domain=1)), 3, "domain 1 is smaller than that of its value 'token', 2"),
        (program(Map("a", (), "n - 3", "0")), 3, "'a' at n = 3: domain has size 0; it must be at least 1"),
        (program(head(tensor(("k",), [1, 2, 3]), key="token")), 3, f"{WRONG_SHAPE}, but 'token' has 2 values"),
        (
            program(head(tensor(("j",), [1, 2, 3]))),
            4,
            "axis 'j' of the table has 3 entries, fewer than the 4 positions",
        ),
        (answering("token", labels=("a",)), 3, "output.labels: 1 labels for the 2 values of 'token'"),
        (answering("position", labels=("a", "b")), 3, "2 labels for the 3 values of 'position' at n"),
        (answering("token", accept=frozenset({2})), 3, "output.accept: 2 is outside the domain 0..1"),
        (
            program(when="n > 2 * 3"),
            3,
            "model 'm' is not defined at n = 3: its condition is 'n > 2 * 3'; it is at n = 7",
        ),
        (program(when="n % 2 == 0"), 3, "its condition is 'n % 2 == 0'; it is at n = 2 and 4"),
        (program(when="n > 5"), 3, "its condition is 'n > 5'; it is at n = 6"),
        (program(when="n < 0"), 3, "its condition is 'n < 0'"),
        (program(when="10 // (n - 4) == 2"), 3, "its condition is '10 // (n - 4) == 2'; it is at n = 8"),
    ],
)
def test_a_model_that_makes_no_sense_at_a_length_is_refused_there(model: Model, n: int, reason: str) -> None:
    assert reason in refusal(lambda: model.at(n))


def test_where_a_model_is_defined_at_no_length_the_cause_is_named() -> None:
    """Its condition holds at odd lengths, at which a rule is not defined: the condition is not why."""
    made = program(Map("a", (), "0 * n", "0"), when="n % 2")
    assert why_not(made, 2) == "; variables[0] 'a' at n = 3: domain has size 0; it must be at least 1"
    assert why_not(program(when="n < 2"), 2) == "; its condition is 'n < 2'"
    assert why_not(program(Map("a", (), "0 * n", "0")), 2).startswith("; variables[0] 'a' at n = 2: ")


@pytest.mark.parametrize("n", [0, -1, 100_000_001, True, 2.0, "3", None])
def test_a_length_out_of_range_is_a_wrong_argument(n: Any) -> None:
    assert f"n = {n!r} is out of range: 'm' needs 1 <= n <= 100000000" in refusal(lambda: program().at(n), UsageError)


def test_two_markers_need_two_positions() -> None:
    model = program(start_marker="<", end_marker=">")
    assert "'m' needs 2 <= n" in refusal(lambda: model.at(1), UsageError)
    assert model.at(2).pinned == {0: 2, 1: 3}
    assert model.at(2).domains["token"] == 4
    assert program(start_marker="<").at(1).pinned == {0: 2}


def test_a_map_is_tried_out_only_where_its_interval_is_too_wide() -> None:
    assert program(Map("a", ("token",), 2, "token if token < 2 else 5")).at(9)
    big = program(Head("p", "position", "0"), Map("a", ("p", "position"), 2, "p + position"))
    assert "100000000 combinations" in refusal(lambda: big.at(10_000), ResourceLimit)


def test_an_oversized_table_is_judged_by_the_entries_that_are_used() -> None:
    model = program(Map("a", (), 2, tensor(("i",), [0, 1, 9])))
    assert model.at(2)
    assert "map value 9 at i = 2" in refusal(lambda: model.at(3))


@pytest.mark.parametrize(
    "model", [program(Map("a", (), "1 + 1", "0")), program(when="1 == 1"), program(head(domain="2 + 1"))]
)
def test_a_domain_may_be_an_expression_without_n(model: Model) -> None:
    assert model.at(3)


def test_a_second_use_of_a_name_is_reported_where_it_is() -> None:
    message = refusal(lambda: program(Map("a", (), 2, "0"), Map("b", (), 2, "0"), Map("a", (), 2, "1")))
    assert message == "variables[2].name: 'a' is already the name of variables[0]"


# ---------------------------------------------------------------- files


def with_file(folder: Path, array: np.ndarray, digest: str | None = None) -> Path:
    """A model whose head reads its score from a tensor file."""
    save_file({"t": array}, folder / "a.safetensors")
    found = hashlib.sha256((folder / "a.safetensors").read_bytes()).hexdigest()
    score = {"table": {"axes": ["k"], "file": "a.safetensors", "tensor": "t"}}
    variable = {"name": "seen", "kind": "head", "key": "token", "value": "token", "score": score}
    path = folder / "m.json"
    path.write_text(json.dumps(document(variables=[variable], files={"a.safetensors": digest or found})))
    return path


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int16, np.int8, np.uint32, np.uint16, np.uint8])
def test_a_table_may_lie_in_a_safetensors_file(tmp_path: Path, kind: type) -> None:
    model = load(with_file(tmp_path, np.array([0, 1], dtype=kind)))
    assert model.run("0100").output == "accept"
    certificate = restrict.certify(model, 50)
    assert restrict.check(model, certificate).startswith("s VERIFIED")
    with pytest.raises(UsageError, match="copy the model file"):
        save(model, tmp_path / "copy.json")


def test_a_tensor_file_that_is_missing_or_changed_is_refused(tmp_path: Path) -> None:
    path = with_file(tmp_path, np.array([0, 1]), digest="0" * 64)
    message = refusal(lambda: load(path))
    assert message == f"{path}: a.safetensors: top level: its SHA-256 is not the one under files in the model"
    (tmp_path / "a.safetensors").unlink()
    assert "a.safetensors: cannot be read" in refusal(lambda: load(path), UsageError)


@pytest.mark.parametrize("kind", [np.int32, np.uint8])
def test_bytes_left_over_in_a_tensor_file_do_not_matter_to_the_engine_or_the_checker(
    tmp_path: Path, kind: type
) -> None:
    """Both have one reader: what a model says lies at the tensors' offsets, and nothing else of the file is read."""
    path = with_file(tmp_path, np.array([0, 1], dtype=kind))
    content = (tmp_path / "a.safetensors").read_bytes() + b"more"
    (tmp_path / "a.safetensors").write_bytes(content)
    text = json.loads(path.read_text())
    text["files"]["a.safetensors"] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(text))
    model = load(path)
    assert restrict.check(model, restrict.certify(model, 5)).startswith("s VERIFIED")


def test_checking_after_the_tensor_file_is_gone_is_a_usage_error(tmp_path: Path) -> None:
    model = load(with_file(tmp_path, np.array([0, 1])))
    certificate = restrict.certify(model, 5)
    (tmp_path / "a.safetensors").unlink()
    with pytest.raises(UsageError, match="cannot"):
        restrict.check(model, certificate)


@pytest.mark.parametrize(
    "score",
    [
        "__import__('os').system('touch {}')", "open('{}', 'w')",
        "[c for c in ().__class__.__base__.__subclasses__()]", "exec(k)", "k.__class__",
    ],
)  # fmt: skip
def test_loading_a_file_runs_nothing_of_its_author(tmp_path: Path, score: str) -> None:
    trap = tmp_path / "trap"
    variable = {"name": "seen", "kind": "head", "key": "token", "value": "token", "score": score.format(trap)}
    assert "m.json: variables[0].score" in refusal(lambda: read(variables=[variable]))
    with pytest.raises(ModelError):
        program(head(score.format(trap), key="token"))
    assert not trap.exists()


@pytest.mark.parametrize("name", BUILTINS)
def test_writing_and_reading_a_model_gives_the_same_digest(name: str, tmp_path: Path) -> None:
    model = restrict.load(name)
    first = save(model, tmp_path / "a.json")
    again = save(first, tmp_path / "b.json")
    assert first.digest == again.digest == hashlib.sha256((tmp_path / "b.json").read_bytes()).hexdigest()
    assert to_document(again) == to_document(model)
    assert loads(dumps(BUILTINS[name]())).digest == model.digest


def test_a_head_is_written_with_its_defaults_and_without_what_it_has_not() -> None:
    head = {"name": "h", "kind": "head", "value": "token", "score": "0", "mask": "none", "ties": "left", "default": 0}
    fields = {"format": "restrict-model/1", "name": "m", "alphabet": ["0", "1"], "variables": [head]}
    made = to_document(program(Head("h", "token", "0")))
    assert json.dumps(made) == json.dumps(fields | {"output": {"variable": "h", "position": "last"}})


def test_tables_and_dot_products_are_written_in_place(tmp_path: Path) -> None:
    dot = Dot(tensor(("q", "dim"), [[1, 0], [0, 1]]), tensor(("k", "j", "dim"), [[[1, 2]] * 3, [[3, 4]] * 3]))
    model = program(
        head(dot, query="token", key="token", mask="past", ties="right", domain="n", default=1),
        Map("m", ("h",), 2, tensor(("i",), [0, 1, 0])),
        start_marker="<",
        when="n <= 3",
    )
    assert to_document(save(model, tmp_path / "m.json")) == to_document(model)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tribes:width=2,width=3", "width is given twice"),
        ("tribes:width=x", "width='x' must be an integer of at least 1"),
        ("anbn:a=1", "its options are none"),
    ],
)
def test_wrong_options_of_a_built_in_model_are_named(text: str, reason: str) -> None:
    assert reason in refusal(lambda: restrict.load(text), UsageError)


def test_a_built_in_model_may_have_options() -> None:
    assert restrict.load("tribes:width=3").name == "tribes:width=3"
    assert restrict.load("random:layers=1,seed=0").run("01").output in ("accept", "reject")


def test_a_lone_surrogate_is_no_character() -> None:
    text = json.dumps(document(name="\ud800")).encode()
    with pytest.raises(ModelError):
        loads(text)


# ---------------------------------------------------------------- callables


@njit
def compiled_score(n: int, i: int, q: int, j: int, k: int) -> int:
    return 1 if k == 1 else 0


def plain_score(n: int, i: int, q: int, j: int, k: int) -> int:
    return int(k == 1)


@pytest.mark.parametrize("score", heavy_after([plain_score, compiled_score, lambda n, i, q, j, k: k == 1], 2))
def test_a_callable_score_is_certified_and_checked_in_this_process(score: Callable[..., int], tmp_path: Path) -> None:
    model = program(head(score, key="token"))
    certificate = restrict.certify(model, 40)
    assert certificate.sha256 is None
    assert (certificate.c, len(certificate.restriction.fixed)) == (0, 1)
    assert restrict.check(model, certificate).split()[:2] == ["s", "VERIFIED"]
    assert restrict.check(model, certificate).endswith(" unsigned")
    assert '"sha256": null' in certificate.to_bytes().decode()
    with pytest.raises(UsageError, match="'h' is a Python callable, which a file cannot hold"):
        save(model, tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()


def test_a_callable_map_is_certified() -> None:
    model = program(head("k", key="token"), Map("m", ("h", "token"), 2, lambda n, i, h, token: 1 - h))
    certificate = restrict.certify(model, 12)
    assert len(certificate.restriction.fixed) == 1
    assert restrict.check(model, certificate)


def position_of_query(n: int, i: int, q: int, j: int, k: int) -> int:
    return k * (i - j) + q


def least(n: int, i: int, q: int, j: int, k: int) -> int:
    return -(2**63)


@pytest.mark.parametrize("score", [position_of_query, lambda n, i, q, j, k: -3, lambda n, i, q, j, k: j + n, least])
def test_a_model_without_a_file_is_tabulated(score: Callable[..., int]) -> None:
    model = program(head(score, key="token", query="token", mask="past"))
    made = tabulated(model, 7)
    assert made.content is not None
    for word in ("0110101", "0000001", "1111111"):
        mine, theirs = made.run(word).values, model.run(word).values
        assert {name: list(values) for name, values in mine.items()} == {
            name: list(values) for name, values in theirs.items()
        }
    with pytest.raises(ModelError, match="not defined at n = 8"):
        made.at(8)


@pytest.mark.parametrize(("n", "most"), [(46, 1 << 12), pytest.param(1449, 1 << 22, marks=pytest.mark.slow)])
def test_a_model_without_a_file_may_have_too_many_values_to_tabulate(
    n: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are 2 n^2, just above what may be tabulated: 2^22, or 2^12 for a shorter word."""
    assert ENTRIES == 1 << 22
    monkeypatch.setattr("restrict.elaboration.check.ENTRIES", most)
    model = program(head(plain_score, key="token"))
    certificate = restrict.certify(model, n)
    with pytest.raises(ResourceLimit, match=f"'h': a Python callable with {2 * n * n} values at n = {n}"):
        restrict.check(model, certificate)


@pytest.mark.parametrize(
    ("variable", "reason"),
    [
        (head(lambda n, i, q, j, k: 0.5), "the score callable returned 0.5, which is not a 64-bit integer"),
        (head(lambda n, i, q, j, k: 2**63), "the score callable returned 9223372036854775808"),
        (head(lambda n, i, q, j, k: None), "returned None"),
        (Map("m", ("token",), 2, lambda n, i, token: 5), "'m': the map callable gives 5 .. 5 at position 0, outside"),
    ],
)
def test_a_callable_that_returns_something_else_is_refused(variable: Head | Map, reason: str) -> None:
    assert reason in refusal(lambda: program(variable).run("01"))


def test_the_gate_of_the_format_page_tells_no_match_from_nothing_visible() -> None:
    """The example of docs/format.md: the symbol before the last 1; 2: nothing before it; 3: no 1."""
    page = (Path(__file__).parents[1] / "docs" / "format.md").read_text()
    block = re.search(r"```text\n(\{\"name\": \"before\".*?)\n```", page, re.DOTALL)
    assert block is not None
    document = {
        "format": "restrict-model/1", "name": "gate", "alphabet": ["0", "1"],
        "variables": json.loads(f"[{block[1]}]"), "output": {"variable": "answer", "position": "last"},
    }  # fmt: skip
    model = loads(json.dumps(document).encode())
    for n in range(1, 6):
        for word in itertools.product("01", repeat=n):
            last = max((i for i, symbol in enumerate(word) if symbol == "1"), default=None)
            expected = "3" if last is None else "2" if last == 0 else word[last - 1]
            assert model.run(word).output == expected


# ----------------------------------------------------------------
# Package and checker read models in the same way, so that an elaborated proof is about the same program.


def test_known_keys_of_an_enormous_domain_are_scanned() -> None:
    """Found by the fuzzer: the engine refuses a row of so many pairs; the certificate leaves one for each position."""
    n, wide = 300, 1 << 62
    key = documents.head("a", "0", "position", mask="strict_future", domain=wide)
    out = documents.head("b", "q != k", "a", key="a", query="position")
    claim, cone = {"c": 0, "dependencies": [], "values": [1]}, {"a": [[0, n]], "b": [[n - 1, 1]]}
    holds(documents.model(key, out, position="last"), certificate(n, cone=cone, claim=claim))


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("hash(1) * 3 + k", 4), ("k // (1 < 2)", 4), ("9223372036854775807 * (1 > 2) * 2 + k", 4),
        ("hash(1) // 3 + k", 0), ("min(" + ", ".join(["k", "1"] * 700) + ")", 0), ("k" + " < 2" * 1500, 0),
        ("hash(" + ", ".join(["k", "1"] * 90) + ") // 2", 0),
    ],
)  # fmt: skip
def test_package_and_checker_read_the_same_expressions(score: str, expected: int) -> None:
    """A hash and a comparison have an interval, not a value, before interval analysis; no width is too wide."""
    document = documents.model(documents.head("h", score, key="token"), position="last")
    assert code(document, certificate(3, claim={"c": 3, "dependencies": [[0, 3]]}), 10**6) == expected
    with pytest.raises(ModelError) if expected else nullcontext():
        loads(json.dumps(document).encode()).at(3)


def test_a_hash_of_thousands_is_a_limit_of_the_package() -> None:
    with pytest.raises(ResourceLimit, match="hashes more than 200"):
        parse(f"hash({', '.join(['k'] * 1500)})", frozenset("k"))
