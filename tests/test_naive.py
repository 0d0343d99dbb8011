"""The oracle itself: values worked out by hand. Its abstract run is that of the cases in tests/test_check.py, and holds
the truth on the random programs of tests/test_differential.py."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import documents, naive
from tests.documents import Document, dot, map_, table

FORMAT_PAGE = Path(__file__).resolve().parent.parent / "docs" / "format.md"
program = documents.model


def head(**more: Any) -> Document:
    """A head `h` on tokens with score `k`, unless told otherwise."""
    return {"name": "h", "kind": "head", "key": "token", "value": "token", "score": "k", **more}


# --- expressions ---


def test_hash_of_two_numbers_step_by_step() -> None:
    minus_one = 2**64 - 1
    h = ((0x9E3779B97F4A7C15 ^ minus_one) * 0xD6E8FEB86659FD93) % 2**64
    h = h ^ (h // 2**32)
    h = ((h ^ 7) * 0xD6E8FEB86659FD93) % 2**64
    h = h ^ (h // 2**32)
    h = (h * 0xD6E8FEB86659FD93) % 2**64
    h = h ^ (h // 2**32)
    assert naive.evaluate("hash(-1, 7)", {}) == h // 2
    assert naive.evaluate("hash(7, -1)", {}) != h // 2


def test_an_expression_sees_its_names() -> None:
    assert naive.evaluate("n * 1000 + i * 100 + j * 10 + q - k", {"n": 9, "i": 8, "j": 7, "q": 6, "k": 5}) == 9871


# --- running ---


def page_examples() -> list[Document]:
    """The JSON examples of the formats page."""
    blocks = re.findall(r"```json\n(.*?)```", FORMAT_PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [json.loads(block) for block in blocks]


def test_the_model_of_the_formats_page() -> None:
    model = naive.load(page_examples()[0])
    for n in range(1, 6):
        for word in itertools.product("01", repeat=n):
            assert naive.output(model, word) == ("accept" if "1" in word else "reject")
    assert naive.run(model, "00100", 5).values["seen"] == [1] * 5
    assert naive.run(model, "00101").trace["seen"] == [2] * 5
    assert naive.run(model, [0, 0, 0]).trace["seen"] == [0] * 3


@pytest.mark.parametrize(
    ("mask", "ties", "trace"),
    [
        ("none", "left", [1, 1, 1, 1]), ("none", "right", [3, 3, 3, 3]), ("past", "left", [0, 1, 1, 1]),
        ("past", "right", [0, 1, 1, 3]), ("strict_past", "left", [None, 0, 1, 1]),
        ("strict_past", "right", [None, 0, 1, 1]), ("future", "left", [1, 1, 3, 3]),
        ("future", "right", [3, 3, 3, 3]), ("strict_future", "left", [1, 3, 3, None]),
        ("strict_future", "right", [3, 3, 3, None]),
    ],
)  # fmt: skip
def test_masks_and_ties_choose_as_worked_out_by_hand(mask: str, ties: str, trace: list[int | None]) -> None:
    model = program(head(mask=mask, ties=ties, value="position", domain="n + 3", default=5))
    run = naive.run(model, "0101")
    assert run.trace["h"] == trace
    assert run.values["h"] == [5 if j is None else j for j in trace]


def test_a_head_that_names_neither_has_default_0_and_ties_to_the_left() -> None:
    assert naive.run(program(head(mask="strict_past")), "11").values["h"] == [0, 1]
    assert naive.run(program(head(value="position")), "011").values["h"] == [1, 1, 1]


def test_markers_have_their_own_tokens() -> None:
    both = program(head(), start_marker="<", end_marker=">")
    assert naive.run(both, "10").values["token"] == [2, 1, 0, 3]
    assert naive.output(both, "10") == [3, 3, 3, 3]
    assert naive.run(program(head(), end_marker=">"), "10").values["token"] == [1, 0, 2]
    assert naive.at(both, 4).domain["token"] == 4
    assert naive.letters(both, 4) == [1, 2]
    assert [n for n in range(4) if naive.defined(both, n)] == [2, 3]


def test_maps_read_their_own_position() -> None:
    model = program(map_("m", ["token"], 5, "(2 * token + i + n) % 5"))
    assert naive.output(model, "0110") == [4, 2, 3, 2]


def test_tables_and_dot_products_score_by_their_entries() -> None:
    assert naive.run(program(head(score=table("k i", [[0, 1, 0], [1, 0, 2]]))), "010").trace["h"] == [1, 0, 1]
    score = dot("q dim", [[1, 0], [0, -1]], "j dim", [[0, 1], [2, 2], [1, 0], [9, -9]])
    scored = program(head(score=score, query="token"))
    assert naive.run(scored, "010").trace["h"] == [1, 2, 1]
    assert naive.key_of(scored["variables"][0]) is None
    constant = program(map_("m", ["token"], 2, table("", 1)))
    assert naive.output(constant, "00") == [1, 1]


def test_labels_name_the_values_of_the_output() -> None:
    model = program(head())
    assert naive.label(model, 1) == 1
    assert naive.label({**model, "output": {"variable": "h", "position": "last", "accept": [1]}}, 0) == "reject"
    named = {**model, "output": {"variable": "h", "position": "last", "labels": ["no", "yes"]}}
    assert naive.output(named, "01") == "yes"


# --- the truth under a restriction ---


def test_true_values_and_dependencies_are_as_worked_out_by_hand() -> None:
    model = program(head(mask="past"))
    fixed = {1: "1"}
    assert list(naive.consistent_inputs(model, 3, fixed)) == [(0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)]
    assert naive.true_values(model, 3, fixed)["h", 0] == {0, 1}
    assert naive.true_values(model, 3, fixed)["h", 2] == {1}
    assert naive.true_dependencies(model, 3, fixed)["h", 0] == {0}
    assert naive.true_dependencies(model, 3, fixed)["label", 2] == set()
    assert naive.true_dependencies(model, 3, {})["h", 2] == {0, 1, 2}


def test_minimum_forcing_finds_the_fewest_positions() -> None:
    model = program(head(mask="past"))
    assert naive.minimum_forcing(model, 4) == (1, {0: "1"})
    assert naive.minimum_forcing(model, 4, position=0) == (1, {0: "0"})
    parity = program(head(score="j == 0"), head(name="g", score="j == 1"), map_("m", ["h", "g"], 2, "h != g"))
    assert naive.minimum_forcing(parity, 3)[0] == 2
