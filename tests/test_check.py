"""What the trusted checker claims: its intervals, its tensors, and the abstract run of Theorem A.

Expressions are in tests/test_expr.py, random ones in tests/test_adversary.py, random programs against two oracles in
tests/test_differential.py.
"""

import hashlib
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import naive
from tests import trusted as check
from tests.documents import Document, head, map_, model, pair

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "restrict" / "checker"
PLACE = check.Place("test")
model_of = partial(model, position="last")


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


def test_a_domain_is_tried_out_where_its_interval_is_too_wide() -> None:
    run(model_of(map_("a", ["token"], 1, "token - token")), 3)
    code, line = refusal(model_of(map_("a", ["token", "position"], 5, "(token + position) * 0 + i - i")), 10**7)
    assert code == 5
    assert "combinations" in line


# ---------------------------------------------------------------- the abstract run, by hand

SEEN = head("seen", "k == 1", key="token")
CONTAINS_ONE = model_of(SEEN, map_("out", ["seen"], 2, "seen"), name="contains-one")
CONTAINS_ONE["output"]["accept"] = [1]


OWN_KEY = head("h", "(j == i) * 2 + (k == q)", query="token", key="token")
LATEST = head("h", "k", key="token", value="position")
LEFT, RIGHT = (head(name, "0", ties=name, mask="past") for name in ("left", "right"))
ONE = {"fixed": [[0, 1, "1"]]}
Hand = tuple[Document, int, Document, dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]]
BY_HAND: dict[str, Hand] = {
    "markers have the last values of token": (
        model_of(map_("a", ["token"], 4, "token"), start_marker="^", end_marker="$"), 3, {},
        {("a", 0): ((2,), ()), ("a", 1): ((0, 1), (1,)), ("a", 2): ((3,), ())},
    ),
    "an end marker alone": (
        model_of(map_("a", ["token"], 3, "token"), end_marker="$"), 2, {},
        {("a", 0): ((0, 1), (0,)), ("a", 1): ((2,), ())},
    ),
    "zeros alone decide nothing": (CONTAINS_ONE, 4, {"fixed": [[1, 2, "0"]]}, {("out", 3): ((0, 1), (0, 3))}),
    "ties go to the left": (model_of(head("h", "0")), 3, {}, {("h", 1): ((0, 1), (0,))}),
    "ties go to the right": (model_of(head("h", "0", ties="right")), 3, {}, {("h", 1): ((0, 1), (2,))}),
    # All worst pairs score 0. To the left the floor is (0, 0): others are candidates only with their 1.
    "a floor to the left": (model_of(LATEST), 3, {"fixed": [[1, 1, "0"]]}, {("h", 0): ((0, 2), (0, 2))}),
    "a floor to the right": (
        model_of(LATEST | {"ties": "right"}), 3, {"fixed": [[1, 1, "0"]]}, {("h", 0): ((0, 2), (0, 2))},
    ),
    "a floor that nothing passes": (model_of(LATEST), 3, ONE, {("h", 0): ((0,), ())}),
    "a floor that what is later passes": (
        model_of(LATEST | {"ties": "right"}), 3, ONE, {("h", 0): ((0, 1, 2), (1, 2))},
    ),
    # Query and key are one variable, and everyone attends to itself: the value is the key, so V is the own token.
    "the own key is the query": (model_of(OWN_KEY), 3, {}, {("h", 1): ((0, 1), (1,))}),
    # Each u has one result, but the dependency on the query stays; with the query fixed nothing is left.
    "the own key is a fixed query": (model_of(OWN_KEY), 3, {"fixed": [[1, 1, "1"]]}, {("h", 1): ((1,), ())}),
    # Else the pair (i, 0) for u = 1 would score 0 and make position 0 a candidate.
    "the own pair is the query's value alone": (
        model_of(head("h", "3 if j == i and k == q else (2 if j == 0 else 1)", "position", query="token", key="token")),
        3, {}, {("h", 2): ((2,), ())},
    ),
    "a value that is the key is one that reaches the floor": (
        model_of(head("h", "k", key="token"), alphabet="012"), 3, ONE, {("h", 0): ((1, 2), (1, 2))},
    ),
    "a copy of the key is not seen to be it": (
        model_of(map_("copy", ["token"], 3, "token"), head("h", "k", "copy", key="token"), alphabet="012"), 3, ONE,
        {("h", 0): ((0, 1, 2), (1, 2))},
    ),
    "the own value is the query": (
        model_of(head("h", "(j == i) * (q + 1)", query="token")), 2, {}, {("h", 1): ((0, 1), (1,))},
    ),
    "a query that the score does not mention": (
        model_of(head("h", "j == 0", query="token", key="token")), 3, ONE, {("h", 2): ((1,), ())},
    ),
    "what is not examined has all values": (
        CONTAINS_ONE, 4, {"fixed": [[1, 1, "1"]], "cone": {"out": [[3, 1]]}}, {("out", 3): ((0, 1), (0, 2, 3))},
    ),
    "one value that is not examined": (
        model_of(map_("one", ["token"], 1, "0"), head("h", "k", "token", key="one")), 2, {"cone": {"h": [[1, 1]]}},
        {("h", 1): ((0, 1), (0,))},
    ),
    "a map of two dependencies": (
        model_of(LEFT, RIGHT, map_("both", ["left", "right"], 4, "2 * left + right")), 3, {},
        {("both", 2): ((0, 1, 2, 3), (0, 2))},
    ),
    "a map of one dependency": (
        model_of(LEFT, RIGHT, map_("both", ["left", "right"], 4, "2 * left + right")), 3, {"fixed": [[2, 1, "1"]]},
        {("both", 2): ((1, 3), (0,))},
    ),
    "a map of one value": (
        model_of(LEFT, RIGHT, map_("both", ["left", "right"], 2, "left * 0")), 3, {}, {("both", 2): ((0,), ())},
    ),
    **{
        f"under the mask {mask}": (
            model_of(head("h", "0", value="position", mask=mask, domain=10, default=9)), 3, {},
            {("h", i): ((value,), ()) for i, value in enumerate(values)},
        )
        for mask, values in (
            ("none", (0, 0, 0)), ("past", (0, 0, 0)), ("strict_past", (9, 0, 0)), ("future", (0, 1, 2)),
            ("strict_future", (1, 2, 9)),
        )
    },
}  # fmt: skip
"""Model, length, restriction and cone, and V and D of some nodes."""


@pytest.mark.parametrize("name", BY_HAND)
def test_values_and_dependencies_are_those_worked_out_by_hand(name: str) -> None:
    """By the checker and the oracle."""
    document, n, more, expected = BY_HAND[name]
    assert run(document, n, **more).items() >= expected.items()


def test_one_fixed_one_decides_contains_one() -> None:
    """The example of docs/format.md."""
    cone = {"seen": [[4, 1]], "out": [[4, 1]]}
    nodes = run(CONTAINS_ONE, 5, fixed=[[0, 1, "1"]], cone=cone)
    assert nodes == {("seen", 4): ((1,), ()), ("out", 4): ((1,), ())}
    claim = {"free": 4, "c": 0, "dependencies": [], "values": [1]}
    model, certificate = pair(CONTAINS_ONE, 5, claim, fixed=[[0, 1, "1"]], cone=cone)
    line = f"s VERIFIED n=5 target=last free=4 c=0 values=1 {hashlib.sha256(model).hexdigest()}"
    assert check.verify(model, certificate) == line


def test_an_unexamined_node_of_one_value_depends_on_nothing() -> None:
    claim = {"free": 2, "c": 0, "dependencies": [], "values": [0]}
    files = pair(model_of(map_("one", ["token"], 1, "0")), 2, claim, cone={})
    assert check.verify(*files).startswith("s VERIFIED n=2 target=last free=2 c=0")


def test_an_unexamined_domain_is_never_spelt_out() -> None:
    wide = map_("wide", ["token"], 2**62, "hash(token) // 4")
    claim = {"free": 10**6, "c": 10**6, "dependencies": [[0, 10**6]], "values": [0]}
    code, line = refusal(model_of(wide, head("out", "j", "wide")), 10**6, claim=claim, cone={"out": [[999_999, 1]]})
    assert (code, "out at 999999 may take the value 1" in line) == (3, True)


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


def written_files(folder: Path, proof: bool = True) -> list[str]:
    """Contains-one and a certificate for it on disk, with a proof by the elaborator."""
    claim = {**FREE, "c": 0, "dependencies": [], "values": [1]}
    contents, names = pair(CONTAINS_ONE, 5, claim, fixed=[[0, 1, "1"]]), ("m.json", "c.json")
    if proof:
        made = check.elaborated_here(*contents, folder, names, check.DEFAULT_LIMIT)
        contents, names = (*contents, made), (*names, "proof")
    for name, content in zip(names, contents, strict=True):
        (folder / name).write_bytes(content)
    return [str(folder / name) for name in names]


@pytest.mark.parametrize("alone", [False, True])
def test_the_program_prints_the_success_line_and_nothing_else(tmp_path: Path, alone: bool) -> None:
    """The folder alone needs a proof; the package's checker has one written by the elaborator."""
    program = [sys.executable, *(["-I", str(FOLDER)] if alone else ["-m", "restrict.checker"])]
    command = [*program, *written_files(tmp_path, alone)]
    if alone:
        refused = subprocess.run(command[:-1], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert "restrict elaborate" in refused.stderr
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    digest = hashlib.sha256((tmp_path / "m.json").read_bytes()).hexdigest()
    line = f"s VERIFIED n=5 target=last free=4 c=0 values=1 {digest}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, line, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_success_line_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    command = [sys.executable, "-I", str(FOLDER), *written_files(tmp_path)]
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
