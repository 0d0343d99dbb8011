"""What the trusted checker claims: its intervals, its tensors, and the abstract run of Theorem A.

Expressions are in tests/test_expr.py, random ones in tests/test_adversary.py, random programs against two oracles in
tests/test_differential.py.
"""

import hashlib
import json
import os
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import naive
from tests import trusted as check
from tests.documents import Document, dot, head, map_, model, table, tensor_file

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "restrict" / "checker"
PLACE = check.Place("test")
model_of = partial(model, position="last")


# ---------------------------------------------------------------- building models and certificates


def pair(model: Document, n: int, claim: Document | None = None, **more: Any) -> tuple[bytes, bytes]:
    """The bytes of a model and of a certificate for it; by default everything is examined and the claim is void."""
    data = json.dumps(model).encode()
    certificate = {
        "format": "restrict-certificate/1",
        "model": {"name": model["name"], "sha256": hashlib.sha256(data).hexdigest()}, "n": n, "target": "last",
        "fixed": [], "cone": "all", "claim": claim or {"free": 0, "c": 0, "dependencies": [], "values": [0]},
    }  # fmt: skip
    return data, json.dumps({**certificate, **more}).encode()


def run(model: Document, n: int, folder: Path = Path(), **more: Any) -> dict[tuple[str, int], Any]:
    """Values and dependencies of the examined nodes, which are those of the oracle, too."""
    found, fixed = check.nodes(*pair(model, n, **more), folder), more.get("fixed", [])
    spread = {p: symbol for start, count, symbol in fixed for p in range(start, start + count)}
    oracle = naive.abstract_run(naive.inline(model, folder), n, spread, more.get("cone", "all"))
    for node, (values, dependencies) in found.items():
        assert (set(values), set(dependencies)) == (oracle.values[node], oracle.dependencies[node]), node
    return found


def refusal(model: Document, n: int, folder: Path = Path(), **more: Any) -> tuple[int, str]:
    with pytest.raises(check.Reject) as caught:
        check.verify(*pair(model, n, **more), folder=folder)
    return caught.value.code, str(caught.value)


# ---------------------------------------------------------------- intervals


def interval(text: str, **spans: tuple[int, int]) -> tuple[int, int]:
    return check.interval(check.parse(text, PLACE, spans), spans, PLACE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", (-2, 12)), ("a - b", (-9, 5)), ("a * b", (-14, 35)), ("b // 2", (0, 3)), ("a // c", (-2, 5)),
        ("a // (0 - c)", (-5, 2)), ("b % 8", (0, 7)), ("b % 7", (0, 6)), ("a % 100", (0, 99)),
        ("c % (c + 7)", (1, 7)), ("a % (0 - c)", (-6, 0)), ("min(a, b)", (-2, 5)), ("max(a, b, 3)", (3, 7)),
        ("abs(a)", (0, 5)), ("abs(0 - c)", (1, 7)), ("isqrt(b)", (0, 2)), ("a < b", (0, 1)), ("a < b < 3", (0, 1)),
        ("a and b", (0, 1)), ("not a", (0, 1)), ("hash(a)", (0, 2**63 - 1)), ("a if b else 9", (-2, 9)),
        ("a - a", (-7, 7)), ("-a", (-5, 2)),
    ],
)  # fmt: skip
def test_intervals_are_those_of_the_format(text: str, expected: tuple[int, int]) -> None:
    assert interval(text, a=(-2, 5), b=(0, 7), c=(1, 7)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 // a", "divisor"), ("1 % a", "divisor"), ("isqrt(a - 1)", "negative"), ("1 if 1 else 1 // a", "divisor"),
        ("9223372036854775807 + a", "overflows"), ("(0 - 9223372036854775807 - 1) // (0 - 1 - a)", "overflows"),
        ("-(0 - 9223372036854775807 - 1)", "overflows"), ("abs(0 - 9223372036854775807 - 1)", "overflows"),
        ("hash(a) + 1", "overflows"), ("4294967296 * 4294967296 * 0", "overflows"),
    ],
)  # fmt: skip
def test_what_might_fail_is_refused(text: str, reason: str) -> None:
    with pytest.raises(check.Reject, match=reason):
        interval(text, a=(0, 5))


# ---------------------------------------------------------------- the model at n


@pytest.mark.parametrize(
    ("model", "n", "reason"),
    [
        (model_of(when="n == 4"), 5, "not defined"),
        (model_of(map_("a", [], "n - 3", "0")), 3, "variables[0].domain"),
        (model_of(map_("a", ["token"], 2, "token + 1")), 3, "outside the domain"),
        (model_of(map_("a", ["position"], 3, "position")), 4, "outside the domain"),
        (model_of(map_("a", [], 3, "i")), 4, "outside the domain"),
        (model_of(map_("a", ["token"], 2, "token"), end_marker="$"), 3, "outside the domain"),
        (model_of(head("a", "k", key="token", domain=1)), 3, "variables[0].domain"),
        (model_of(head("a", "k")), 3, "mentions k"),
        (model_of(head("a", table("i", [1, 2]))), 3, "size 2"),
        (model_of(head("a", "4611686018427387904 * j")), 3, "overflows"),
    ],
)
def test_a_model_not_defined_at_n_is_refused(model: Document, n: int, reason: str) -> None:
    code, line = refusal(model, n)
    assert code == 4
    assert reason in line


def test_when_is_an_expression_though_a_domain_may_be_a_number() -> None:
    run(model_of(map_("a", [], 1, "0")), 1)
    assert refusal(model_of(when=1), 1) == (4, "model: when: expected a string, not 1")


def test_the_same_models_are_read_where_they_are_defined() -> None:
    run(model_of(when="n == 4"), 4)
    run(model_of(map_("a", ["position"], 3, "position")), 3)
    run(model_of(head("a", table("i", [1, 2]))), 2)
    run(model_of(head("a", "4611686018427387904 * j")), 2)


def test_a_domain_is_tried_out_where_its_interval_is_too_wide() -> None:
    run(model_of(map_("a", ["token"], 1, "token - token")), 3)
    code, line = refusal(model_of(map_("a", ["token", "position"], 5, "(token + position) * 0 + i - i")), 10**7)
    assert code == 5
    assert "combinations" in line


def test_an_oversized_table_is_judged_by_the_entries_that_are_used() -> None:
    longer = model_of(map_("a", [], 2, table("i", [0, 1, 7])))
    run(longer, 2)
    assert refusal(longer, 3)[0] == 4


def test_markers_have_the_last_token_values() -> None:
    both = run(model_of(map_("a", ["token"], 4, "token"), start_marker="^", end_marker="$"), 3)
    assert [both["a", i] for i in range(3)] == [((2,), ()), ((0, 1), (1,)), ((3,), ())]
    end = run(model_of(map_("a", ["token"], 3, "token"), end_marker="$"), 2)
    assert [end["a", i] for i in range(2)] == [((0, 1), (0,)), ((2,), ())]


# ---------------------------------------------------------------- tensors


def safetensors(
    folder: Path, name: str, tensors: dict[str, tuple[str, list[int], bytes]], pad: int = 0
) -> dict[str, str]:
    """Write the file; returns what belongs under ``files``."""
    header: Document = {"__metadata__": {"made": "here"}}
    data = b""
    for key, (dtype, shape, content) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    blob = tensor_file(json.dumps(header).encode() + b" " * pad, data)
    (folder / name).write_bytes(blob)
    return {name: hashlib.sha256(blob).hexdigest()}


@pytest.mark.parametrize(
    ("dtype", "code"), [("I64", "q"), ("I32", "i"), ("I16", "h"), ("I8", "b"), ("U32", "I"), ("U16", "H"), ("U8", "B")]
)
def test_a_table_may_lie_in_a_safetensors_file(tmp_path: Path, dtype: str, code: str) -> None:
    entries = [3, 1, 4, 1, 5, 9] if code.isupper() else [-3, 1, -4, 1, -5, 9]
    files = safetensors(
        tmp_path,
        "w.safetensors",
        {"other": ("F32", [1], b"abcd"), "t": (dtype, [2, 3], struct.pack(f"<6{code}", *entries))},
        pad=5,
    )
    filed = {"table": {"axes": ["k", "j"], "file": "w.safetensors", "tensor": "t"}}
    inline = table("k j", [entries[:3], entries[3:]])
    stored = run(model_of(head("h", filed, key="token"), files=files), 3, tmp_path)
    assert stored == run(model_of(head("h", inline, key="token")), 3)


@pytest.mark.parametrize(
    ("axes", "values"),
    [
        ("q k", [[0, 1], [2, 3]]),
        ("k q", [[0, 2], [1, 3]]),
        ("i k q j", [[[[2 * q + k] * 5 for q in range(2)] for k in range(2)] for _ in range(4)]),
    ],
)
def test_the_axes_of_a_table_are_named_not_ordered(axes: str, values: Any) -> None:
    nodes = run(model_of(head("h", table(axes, values), query="token", key="token")), 4)
    assert nodes == run(model_of(head("h", "2 * q + k", query="token", key="token")), 4)


def test_a_variable_may_be_called_dim() -> None:
    """``dim`` is an axis of its own in a dot product only."""
    model = model_of(map_("dim", ["token"], 2, "token"), map_("a", ["dim"], 9, table("dim", [5, 7])))
    assert run(model, 1, fixed=[[0, 1, "1"]])["a", 0] == ((7,), ())


def test_a_table_without_axes_is_a_number() -> None:
    assert run(model_of(map_("a", [], 9, table("", 7))), 1) == {("a", 0): ((7,), ())}


def test_a_dot_product_is_the_sum_over_dim() -> None:
    score = dot("q dim", [[1, 2], [3, -1]], "j k dim", [[[j, k] for k in range(2)] for j in range(6)])
    product = model_of(head("h", score, query="token", key="token"))
    plain = model_of(head("h", "3 * j - k if q else j + 2 * k", query="token", key="token"))
    for more in ({}, {"fixed": [[1, 2, "0"]]}):
        assert run(product, 4, **more) == run(plain, 4, **more)
    assert run(model_of(head("h", dot("dim", [1], "dim", [1]))), 3)["h", 2] == ((0, 1), (0,))


def test_a_dot_product_overflows_by_the_sum_of_the_largest_products() -> None:
    run(model_of(head("h", dot("dim", [2**62 - 1, 1], "dim", [-2, 1]))), 2)
    assert refusal(model_of(head("h", dot("dim", [2**62 - 1, -2], "dim", [-2, 1]))), 2)[0] == 4


# ---------------------------------------------------------------- the abstract run, by hand

SEEN = head("seen", "k == 1", key="token")
CONTAINS_ONE = model_of(SEEN, map_("out", ["seen"], 2, "seen"), name="contains-one")
CONTAINS_ONE["output"]["accept"] = [1]


def test_one_fixed_one_decides_contains_one() -> None:
    """The example of docs/format.md."""
    cone = {"seen": [[4, 1]], "out": [[4, 1]]}
    nodes = run(CONTAINS_ONE, 5, fixed=[[0, 1, "1"]], cone=cone)
    assert nodes == {("seen", 4): ((1,), ()), ("out", 4): ((1,), ())}
    claim = {"free": 4, "c": 0, "dependencies": [], "values": [1]}
    model, certificate = pair(CONTAINS_ONE, 5, claim, fixed=[[0, 1, "1"]], cone=cone)
    line = f"s VERIFIED n=5 target=last free=4 c=0 values=1 {hashlib.sha256(model).hexdigest()}"
    assert check.verify(model, certificate) == line


def test_without_a_fixed_one_contains_one_depends_on_all_free_positions() -> None:
    assert run(CONTAINS_ONE, 4, fixed=[[1, 2, "0"]])["out", 3] == ((0, 1), (0, 3))


def test_ties_go_to_the_side_that_the_head_names() -> None:
    assert run(model_of(head("h", "0")), 3)["h", 1] == ((0, 1), (0,))
    assert run(model_of(head("h", "0", ties="right")), 3)["h", 1] == ((0, 1), (2,))


def test_among_equal_worst_scores_the_floor_is_the_preferred_position() -> None:
    # All worst pairs score 0. To the left the floor is (0, 0): others are candidates only with their 1.
    left = run(model_of(head("h", "k", key="token", value="position")), 3, fixed=[[1, 1, "0"]])
    assert left["h", 0] == ((0, 2), (0, 2))
    right = run(model_of(head("h", "k", key="token", value="position", ties="right")), 3, fixed=[[1, 1, "0"]])
    assert right["h", 0] == ((0, 2), (0, 2))
    assert run(model_of(head("h", "k", key="token", value="position")), 3, fixed=[[0, 1, "1"]])["h", 0] == ((0,), ())
    late = run(model_of(head("h", "k", key="token", value="position", ties="right")), 3, fixed=[[0, 1, "1"]])
    assert late["h", 0] == ((0, 1, 2), (1, 2))


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("none", [(0,), (0,), (0,)]), ("past", [(0,), (0,), (0,)]), ("strict_past", [(9,), (0,), (0,)]),
        ("future", [(0,), (1,), (2,)]), ("strict_future", [(1,), (2,), (9,)]),
    ],
)  # fmt: skip
def test_a_mask_shows_what_it_says_and_nothing_visible_gives_the_default(mask: str, expected: list[tuple[int]]) -> None:
    model = model_of(head("h", "0", value="position", mask=mask, domain=10, default=9))
    nodes = run(model, 3)
    assert [nodes["h", i] for i in range(3)] == [(values, ()) for values in expected]


def test_a_head_that_finds_its_own_key_has_the_query_as_key_there() -> None:
    """Query and key are one variable, and everyone attends to itself: the value is the key, so V is the own token."""
    own = head("h", "(j == i) * 2 + (k == q)", query="token", key="token")
    assert run(model_of(own), 3)["h", 1] == ((0, 1), (1,))
    # Each u has one result, but the dependency on the query stays; with the query fixed nothing is left.
    assert run(model_of(own), 3, fixed=[[1, 1, "1"]])["h", 1] == ((1,), ())


def test_the_own_pair_is_only_the_query_value() -> None:
    # Without the refinement the pair (i, 0) for u = 1 would score 0 and make position 0 a candidate.
    exact = head("h", "3 if j == i and k == q else (2 if j == 0 else 1)", "position", query="token", key="token")
    assert run(model_of(exact), 3)["h", 2] == ((2,), ())


def test_a_candidate_whose_key_is_its_value_contributes_only_the_keys_that_reach_the_floor() -> None:
    nodes = run(model_of(head("h", "k", key="token"), alphabet="012"), 3, fixed=[[0, 1, "1"]])
    assert nodes["h", 0] == ((1, 2), (1, 2))
    # The same through a copy of the token is not seen to be the key, so all its values count.
    copy = map_("copy", ["token"], 3, "token")
    nodes = run(model_of(copy, head("h", "k", "copy", key="token"), alphabet="012"), 3, fixed=[[0, 1, "1"]])
    assert nodes["h", 0] == ((0, 1, 2), (1, 2))


def test_a_candidate_at_the_own_position_contributes_the_query_value_where_the_value_is_the_query() -> None:
    nodes = run(model_of(head("h", "(j == i) * (q + 1)", query="token")), 2)
    assert nodes["h", 1] == ((0, 1), (1,))


def test_a_query_that_the_score_does_not_mention_is_ignored() -> None:
    nodes = run(model_of(head("h", "j == 0", query="token", key="token")), 3, fixed=[[0, 1, "1"]])
    assert nodes["h", 2] == ((1,), ())


def test_an_unexamined_node_has_every_value_and_depends_on_every_free_position() -> None:
    nodes = run(CONTAINS_ONE, 4, fixed=[[1, 1, "1"]], cone={"out": [[3, 1]]})
    assert nodes == {("out", 3): ((0, 1), (0, 2, 3))}


def test_an_unexamined_node_of_one_value_depends_on_nothing() -> None:
    one = map_("one", ["token"], 1, "0")
    assert run(model_of(one, head("h", "k", "token", key="one")), 2, cone={"h": [[1, 1]]})["h", 1] == ((0, 1), (0,))
    claim = {"free": 2, "c": 0, "dependencies": [], "values": [0]}
    assert check.verify(*pair(model_of(one), 2, claim, cone={})).startswith("s VERIFIED n=2 target=last free=2 c=0")


def test_an_unexamined_domain_is_never_spelt_out() -> None:
    wide = map_("wide", ["token"], 2**62, "hash(token) // 4")
    claim = {"free": 10**6, "c": 10**6, "dependencies": [[0, 10**6]], "values": [0]}
    code, line = refusal(model_of(wide, head("out", "j", "wide")), 10**6, claim=claim, cone={"out": [[999_999, 1]]})
    assert (code, "out at 999999 may take the value 1" in line) == (3, True)


def test_a_map_takes_the_image_of_the_product_and_the_union_of_the_dependencies() -> None:
    left, right = (head(name, "0", ties=name, mask="past") for name in ("left", "right"))
    both = map_("both", ["left", "right"], 4, "2 * left + right")
    assert run(model_of(left, right, both), 3)["both", 2] == ((0, 1, 2, 3), (0, 2))
    assert run(model_of(left, right, both), 3, fixed=[[2, 1, "1"]])["both", 2] == ((1, 3), (0,))
    equal = map_("both", ["left", "right"], 2, "left * 0")
    assert run(model_of(left, right, equal), 3)["both", 2] == ((0,), ())


# ---------------------------------------------------------------- the claim

FREE = {"free": 4, "c": 4, "dependencies": [[0, 4]], "values": [0, 1]}


def test_a_claim_may_be_looser_than_what_is_proved() -> None:
    model, certificate = pair(CONTAINS_ONE, 5, FREE, fixed=[[4, 1, "1"]])
    assert " free=4 c=4 values=0,1 " in check.verify(model, certificate)


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ({"free": 3}, "certificate: claim.free: 4 positions are free, not 3"),
        ({"values": [1]}, "certificate: claim.values: out at 4 may take the value 0"),
        (
            {"c": 3, "dependencies": [[0, 2], [3, 1]]},
            "certificate: claim.dependencies: out at 4 may depend on position 2",
        ),
    ],
)
def test_a_claim_that_is_too_small_is_refused_with_its_node(claim: Document, line: str) -> None:
    assert refusal(CONTAINS_ONE, 5, claim={**FREE, **claim}, fixed=[[4, 1, "0"]]) == (3, line)


def test_the_target_all_bounds_the_dependencies_of_every_label() -> None:
    model = model_of(head("seen", "k == 1", key="token", mask="past"), position="every")
    for c, verdict in [(2, 3), (3, 0), (9, 0)]:
        files = pair(model, 3, {"free": 3, "c": c}, target="all")
        if verdict == 0:
            assert f"s VERIFIED n=3 target=all free=3 c={c} " in check.verify(*files)
        else:
            with pytest.raises(check.Reject, match=r"claim\.c: seen at 2 depends on 3 free positions"):
                check.verify(*files)


def test_a_single_position_may_be_the_target_of_a_model_with_output_everywhere() -> None:
    model = model_of(head("h", "j == i"), position="every")
    claim = {"free": 3, "c": 1, "dependencies": [[1, 1]], "values": [0, 1]}
    assert "s VERIFIED n=3 target=1 free=3 c=1 values=0,1 " in check.verify(*pair(model, 3, claim, target=1))
    assert refusal(model, 3, claim=claim, target=2)[0] == 3


@pytest.mark.parametrize(
    "output",
    [{"accept": [1, 2]}, {"accept": [0]}, {"labels": ["no", "yes", "yes"]}, {"accept": []}, {"accept": [0, 1, 2]}],
)
def test_equal_labels_need_no_dependencies(output: Document) -> None:
    model = model_of(map_("out", ["token"], 3, "token + 1"))
    model["output"] |= output
    model["variables"][0]["domain"] = 3
    claim = {"free": 2, "c": 0, "dependencies": [], "values": [1, 2]}
    assert "s VERIFIED" in check.verify(*pair(model, 2, claim))
    model["output"] = {"variable": "out", "position": "last", "accept": [1]}
    assert refusal(model, 2, claim=claim)[0] == 3


def test_token_and_position_may_be_the_output() -> None:
    claim = {"free": 3, "c": 1}
    assert "target=all" in check.verify(*pair(model_of(position="every"), 3, claim, target="all"))
    model = model_of()
    model["output"]["variable"] = "position"
    claim = {"free": 3, "c": 0, "dependencies": [], "values": [2]}
    assert "values=2" in check.verify(*pair(model, 3, claim))


# ---------------------------------------------------------------- the program


def written_files(folder: Path) -> list[str]:
    """Contains-one and a certificate for it on disk."""
    model, certificate = pair(CONTAINS_ONE, 5, {**FREE, "c": 0, "dependencies": [], "values": [1]}, fixed=[[0, 1, "1"]])
    (folder / "m.json").write_bytes(model)
    (folder / "c.json").write_bytes(certificate)
    return [str(folder / "m.json"), str(folder / "c.json")]


@pytest.mark.parametrize("alone", [False, True])
def test_the_program_prints_the_success_line_and_nothing_else(tmp_path: Path, alone: bool) -> None:
    """The folder alone needs a proof; the package's checker has one written by the elaborator."""
    command = [
        sys.executable,
        *(["-I", str(FOLDER)] if alone else ["-m", "restrict.checker"]),
        *written_files(tmp_path),
    ]
    if alone:
        refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert "restrict elaborate" in refused.stderr
        model, certificate = (Path(name).read_bytes() for name in command[-2:])
        (tmp_path / "proof").write_bytes(
            check.elaborated_here(model, certificate, tmp_path, command[-2:], check.DEFAULT_LIMIT)
        )
        command.append(str(tmp_path / "proof"))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    digest = hashlib.sha256((tmp_path / "m.json").read_bytes()).hexdigest()
    line = f"s VERIFIED n=5 target=last free=4 c=0 values=1 {digest}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, line, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_success_line_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    files = written_files(tmp_path)
    (tmp_path / "proof").write_bytes(
        check.elaborated_here(*(Path(name).read_bytes() for name in files), tmp_path, files, check.DEFAULT_LIMIT)
    )
    command = [sys.executable, "-I", str(FOLDER), *files, str(tmp_path / "proof")]
    with open("/dev/full", "w") as full:
        lost = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (lost.returncode, lost.stderr.count("\n")) == (2, 1)
    read_end, write_end = os.pipe()
    os.close(read_end)
    closed = subprocess.run(command, cwd=ROOT, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (closed.returncode, closed.stderr.count("\n")) == (2, 1)


def test_an_interrupt_exits_130(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for error, code in [(KeyboardInterrupt, 130), (MemoryError, 5), (RecursionError, 5)]:

        def fail(argv: list[str], error: type[BaseException] = error) -> str:
            raise error

        monkeypatch.setattr(check.main, "check_files", fail)
        assert check.main.main(["m", "c"]) == code
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1)
