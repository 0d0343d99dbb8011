"""`verify --equals`: equal labels wherever both models are defined, in either order, and where only one is defined."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.all_lengths.equality import common
from restrict.all_lengths.program import UNDEFINED
from restrict.all_lengths.proof import spoken_of
from restrict.model.fileformat import loads
from tests import documents
from tests.marks import heavy_after, rows_after

INSTANCES = Path(__file__).resolve().parent.parent / "instances"
EVEN, THIRD, LATE, EARLY = "n % 2 == 0", "n % 3 != 1", "n > 4", "n < 4"
PAIRS = [(None, None), (EVEN, None), (None, THIRD), (THIRD, EVEN), (LATE, EARLY), (EARLY, LATE), (LATE, THIRD)]


def model_of(name: str, when: str | None = None, **changes: Any) -> restrict.Model:
    """An instance with a condition and other changes."""
    content = json.loads((INSTANCES / f"{name}.json").read_text()) | changes
    if when is not None:
        content["when"] = when
    return loads(json.dumps(content | {"name": f"{name} when {when}"}).encode())


def said(model: restrict.Model, word: tuple[str, ...]) -> Any:
    """What a model says of a word, by a run; `None` where it is not defined."""
    try:
        return model.run(word).output
    except (restrict.ModelError, restrict.UsageError):
        return None


def differ(one: restrict.Model, two: restrict.Model, most: int) -> int | None:
    """The least number of symbols up to `most` of a word of which both models say something, but not the same."""
    for t in range(most + 1):
        for word in product(one.alphabet, repeat=t):
            if None not in (a := (said(one, word), said(two, word))) and a[0] != a[1]:
                return t
    return None


def checked(found: restrict.Proved | restrict.Counterexample, one: restrict.Model, two: restrict.Model) -> None:
    """The trusted checker took every proof, each for its own model."""
    for model, shown in ((one, found), (two, getattr(found, "other", None))):
        if shown is not None:
            assert shown.line == restrict.all_lengths.evidence.run_checker(model, shown.proof) is not None


def agreeing(one: restrict.Model, two: restrict.Model, **how: Any) -> restrict.Proved:
    """Two models that are proved to agree."""
    found = restrict.verify(one, equals=two, **how)
    assert isinstance(found, restrict.Proved)
    checked(found, one, two)
    return found


@pytest.mark.parametrize("name", heavy_after(["tagger", "brasp-ab-star"], 1))
@pytest.mark.parametrize(("first", "second"), rows_after([PAIRS[3], PAIRS[5], *PAIRS], 2))
def test_a_model_agrees_with_itself_under_any_conditions(name: str, first: str | None, second: str | None) -> None:
    one, two = model_of(name, first), model_of(name, second)
    found = agreeing(one, two)
    for n in range(1, 40):
        alone = {bool(eval(when, {"n": n})) if when else True for when in (first, second)}
        assert (n in found.defined_once) == (len(alone) == 2)


@pytest.mark.parametrize(("name", "change"), [("brasp-dyck1-depth2", "dyck1-depth3"), ("brasp-ab-star", None)])
@pytest.mark.parametrize(("first", "second"), rows_after(PAIRS, 1))
def test_the_order_does_not_matter(name: str, change: str | None, first: str | None, second: str | None) -> None:
    """Both orders answer alike, and as runs of all short words do."""
    one = model_of(name, first)
    two = model_of(change, second) if change else model_of(name, second, output=swapped(name))
    here, there = restrict.verify(one, equals=two), restrict.verify(two, equals=one)
    assert type(here) is type(there)
    assert here.defined_once == there.defined_once
    checked(here, one, two)
    checked(there, two, one)
    shortest = differ(one, two, 6)
    if isinstance(here, restrict.Counterexample):
        assert here.difference.n == there.difference.n
        a, b = said(one, here.difference.word), said(two, here.difference.word)
        assert None not in (a, b)
        assert a == here.difference.said != b
        assert shortest in (None, here.difference.n)
    else:
        assert shortest is None


def swapped(name: str) -> dict[str, Any]:
    """The output with the other value accepted."""
    output = json.loads((INSTANCES / f"{name}.json").read_text())["output"]
    return output | {"accept": [1 - a for a in output["accept"]]}


def test_taggers_that_differ_at_lengths_without_the_other_agree() -> None:
    """Output at every position: the labels differ at odd lengths only, at which one of them is not defined."""
    other = json.loads((INSTANCES / "tagger.json").read_text())
    last = other["variables"][-1]
    last["map"] = f"({last['map']}) if n % 2 == 0 else 0"
    one, two = model_of("tagger", "n % 2 == 0"), loads(json.dumps(other).encode())
    for a, b in ((one, two), (two, one)):
        assert [n for n in range(1, 9) if n in agreeing(a, b).defined_once] == [1, 3, 5, 7]
    assert not restrict.verify(model_of("tagger"), equals=two)
    assert not restrict.verify(two, equals=model_of("tagger", "n % 3 != 2"))


@pytest.mark.parametrize("first", heavy_after([3, 0, 6], 1))
def test_markers_of_either_model_count_for_the_first_length(first: int) -> None:
    """A model with a marker that nothing reads, against one without: both proofs hold from their own length on."""
    variables = documents.head("h", "k == 1", key="token"), documents.map_("out", ["h"], 2, "h == 1")
    plain = documents.model(*variables, alphabet="ab", position="last", accept=[1])
    one = loads(json.dumps(plain).encode())
    two = loads(json.dumps(plain | {"start_marker": "<", "end_marker": ">", "name": "marked"}).encode())
    for a, b in ((one, two), (two, one)):
        assert not agreeing(a, b, first=first).defined_once
    short = loads(json.dumps(plain | {"end_marker": ">", "when": "n != 4"}).encode())
    once = [restrict.verify(a, equals=b).defined_once for a, b in ((one, short), (short, one))]
    assert [[n for n in range(1, 9) if n in lengths] for lengths in once] == [[3], [4]]


def test_the_common_machine_says_what_either_says() -> None:
    rng = np.random.default_rng(4)
    found = [restrict.automaton(model_of("brasp-ab-star", when)).moore for when in ("n % 2 == 0", "n % 3 != 1")]
    both = common(*found)
    for _ in range(300):
        word = tuple(rng.choice(["a", "b"], int(rng.integers(0, 14))))
        one, two = (m.run(word) for m in found)
        assert both.run(word) == (two or one or UNDEFINED)


def test_a_proof_is_read_at_a_length_that_its_claim_is_about() -> None:
    model = model_of("brasp-dyck1-depth2", "n % 4 == 2")
    wrong = restrict.verify(model, "dyck:1")
    assert json.loads(wrong.proof)["n"] == wrong.difference.n == 6
    late = restrict.verify(model, "dyck:1,depth=2", first=11)
    assert isinstance(late, restrict.Proved)
    assert json.loads(late.proof)["n"] == 14
    assert spoken_of(model, {"kind": "cost"}) == 2
    assert spoken_of(model, {"word": ["("] * 7, "from": 3}) == 7


def test_lengths_at_which_one_is_not_defined_though_a_word_comes_back_to_the_start() -> None:
    """The empty word is no input without markers; of longer words with its state that is not to be said."""
    every = documents.model(documents.map_("out", [], 2, "1"), alphabet="a", position="last", accept=[1])
    odd = loads(json.dumps(every | {"when": "n % 2"}).encode())
    marked = loads(json.dumps(every | {"start_marker": "<"}).encode())
    assert [n for n in range(9) if n in restrict.automaton(odd).undefined] == [2, 4, 6, 8]
    assert not restrict.automaton(marked).undefined
    for one, two, expected in ((odd, marked, [2, 4, 6, 8]), (marked, odd, [3, 5, 7])):
        assert [n for n in range(9) if n in agreeing(one, two).defined_once] == expected
