"""Forced decisions of trained models: a few symbols decide, whatever the others are; and claims that are false."""

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.decisions import decides_empty, decisions_of
from restrict.base.errors import NotEstablished, RestrictError, UsageError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.languages.dfa import Dfa
from restrict.model.fileformat import dumps, loads
from restrict.soft.restriction.forced import Decision, Fixed, Forced, decision_of, force_decision, words_of
from restrict.soft.trained.graph import all_words, dfa_of, empty_left_out, graph_of, task_language
from restrict.soft.trained.model import Trained, forward, load, shifted
from restrict.soft.trained.wrong import logits
from tests import generator, verdict_cases
from tests.commands import failed, raising, succeeded
from tests.fuzzing.meaning import Meaning
from tests.marks import heavy_after
from tests.near_claims import biased
from tests.schemas import of_its_schema
from tests.verdict_cases import FOLDER as TRAINED
from tests.verdict_cases import leaved

NAMES = ("tomita2-1l1h16d", "contains-aba-1l1h16d-nope", "dyck1-depth2-1l1h16d-nope")


def completions(model: Trained, n: int, fixed: Fixed, inputs: Dfa | None = None) -> Iterator[tuple[int, ...]]:
    """All words of a length with some symbols fixed that the inputs allow."""
    graph = words_of(model, inputs)
    free = [(fixed[j],) if j in fixed else range(len(model.symbols)) for j in range(1, n + 1)]
    for word in itertools.product(*free):
        state = 0
        for s in word:
            state = graph.delta[state][s] if state >= 0 else -1
        if state >= 0:
            yield word


def signs(model: Trained, words: list[tuple[int, ...]], labels: tuple[int, ...]) -> set[tuple[bool, ...]]:
    """The answers behind some words."""
    found = logits(model, np.array(words).reshape(len(words), -1))[:, -1][:, list(labels)] > 0
    return {tuple(row) for row in found.tolist()}


def test_the_decision_behind_the_start_token_alone_needs_no_symbol() -> None:
    for name in NAMES:
        model = load(TRAINED / f"{name}.safetensors")
        found = force_decision(model, 0, decision := decision_of(model, "all"))
        assert found.fixed == {}
        behind = forward(model, model.rows([]))[-1][list(decision.labels)]
        assert list(found.answer.values()) == (behind > 0).tolist()
        assert (found.verified or "").startswith("s VERIFIED forced n=0 fixed=0 cases=1 ")


@pytest.mark.parametrize("name", heavy_after(NAMES, 1))
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("count", heavy_after((8, 12), 1))
def test_what_is_called_forced_is_so_on_all_completions(name: str, limited: bool, count: int) -> None:
    """Random fixed symbols at n = 7: forced means one answer, and one answer nearly always means forced."""
    model, n, rng = load(TRAINED / f"{name}.safetensors"), 7, np.random.default_rng(3)
    inputs = task_language(model) if limited else None
    every, missed = list(completions(model, n, {}, inputs)), 0
    both = {True: 0, False: 0}
    for _ in range(count):
        word = every[rng.integers(len(every))]
        places = rng.choice(n, size=rng.integers(1, n + 1), replace=False)
        fixed = {int(j) + 1: word[j] for j in sorted(places)}
        decision = decision_of(model, ("all", None, "greatest")[int(rng.integers(3))])
        words = list(completions(model, n, fixed, inputs))
        answers = {decision.answer(row) for row in logits(model, np.array(words).reshape(len(words), -1))[:, -1]}
        one = len(answers) == 1
        try:
            found = force_decision(model, n, decision, inputs=inputs, fixed=fixed, check=False)
        except NotEstablished:
            missed += one
            both[False] += 1
            continue
        assert one
        assert {found.graph.want[0]} == answers
        assert verify(model.content, found.to_bytes()).startswith(f"s VERIFIED forced n={n} ")
        both[True] += 1
    assert both[True] >= 1
    assert missed <= 2


@pytest.fixture(scope="module")
def found() -> Forced:
    """Few symbols of 60 that force whether the word may end."""
    model = load(TRAINED / "tomita2-1l1h16d.safetensors")
    return force_decision(model, 60, decision_of(model, None))


def test_few_symbols_force_the_decision_and_the_checker_agrees(found: Forced) -> None:
    assert len(found.fixed) <= 3
    line = f"s VERIFIED forced n=60 fixed={len(found.fixed)} cases=1 {found.model.sha256}"
    assert found.verified == line
    assert verify(found.model.content, found.to_bytes()) == line
    assert of_its_schema(found.document())
    for fixed in ([[0, 0]], [[1]], [[1, 0, 0]], [1, 0], None):
        assert not of_its_schema(found.document() | {"fixed": fixed})
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2, size=(400, 60))
    words[:, [j - 1 for j in found.fixed]] = list(found.fixed.values())
    assert signs(found.model, [tuple(w) for w in words.tolist()], found.graph.labels) == {tuple(found.answer.values())}


def test_nothing_that_is_fixed_can_be_left_out(found: Forced) -> None:
    """The restriction is minimal for the engine: each symbol is needed."""
    for j in found.fixed:
        fewer = {k: s for k, s in found.fixed.items() if k != j}
        with pytest.raises(NotEstablished, match="no restriction"):
            force_decision(found.model, 60, Decision(found.graph.labels), fixed=fewer, check=False)


def altered(found: Forced, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The certificate with a change."""
    document = json.loads(found.to_bytes())
    change(document)
    return json.dumps(document).encode()


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], None], int]] = {
    "no fixed symbols": (lambda d: d["fixed"].clear(), 4),
    "one fewer": (lambda d: d["fixed"].pop(0), 3),
    "another symbol": (lambda d: d["fixed"][0].__setitem__(1, 1 - d["fixed"][0][1]), 3),
    "twice": (lambda d: d["fixed"].append(d["fixed"][-1]), 4),
    "beyond n": (lambda d: d["fixed"].append([61, 0]), 4),
    "the start token": (lambda d: d["fixed"].insert(0, [0, 0]), 4),
    "no symbol": (lambda d: d["fixed"][0].__setitem__(1, 2), 4),
    "a pair of three": (lambda d: d["fixed"][0].append(0), 4),
    "fewer symbols than n": (lambda d: d.__setitem__("upto", 59), 4),
    "a wrong word beside it": (lambda d: d.__setitem__("wrong", {"word": [0], "label": d["language"]["labels"][0]}), 4),
    "the other answer": (lambda d: d["language"].__setitem__("want", [d["language"]["labels"]]), 3),
    "no word": (lambda d: d["language"].__setitem__("accept", []), 4),
    "no case": (lambda d: d["cases"].clear(), 4),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_certificate_is_refused(found: Forced, case: str) -> None:
    change, code = CHANGES[case]
    document = altered(found, change)
    if case == "the other answer" and found.graph.want[0]:
        document = altered(found, lambda d: d["language"].__setitem__("want", [[]]))
    with pytest.raises(Reject) as refused:
        verify(found.model.content, document)
    assert refused.value.code == code
    assert "\n" not in str(refused.value)


def test_two_answers_in_one_language_are_not_forced(found: Forced) -> None:
    """Behind words that end in different states the certificate may not want different things."""

    def change(document: dict[str, Any]) -> None:
        end = document["language"]["labels"]
        document["language"] |= {"delta": [[1, 2], [1, 2], [1, 2]], "accept": [0, 1, 2], "want": [[], [], end]}
        document["fixed"] = []

    with pytest.raises(Reject, match="one answer behind all of them"):
        verify(found.model.content, altered(found, change))


def test_that_one_of_two_labels_is_the_greatest_is_no_decision(found: Forced) -> None:
    """Where every label is wanted nothing is shown, and nothing is forced."""

    def change(document: dict[str, Any]) -> None:
        document["language"] |= {"labels": [0, 1], "read_out": "greatest"}
        document["language"]["want"] = [[0, 1]] * len(document["language"]["want"])

    with pytest.raises(Reject, match="one answer behind all of them"):
        verify(found.model.content, altered(found, change))


def test_the_command_line(tmp_path: Path) -> None:
    file, certificate = str(TRAINED / "tomita2-1l1h16d.safetensors"), str(tmp_path / "forced.json")
    found = succeeded("soft", "certify", file, "-n", "9", "--label", "0", "-o", certificate)
    assert "s VERIFIED forced n=9" in found.output
    succeeded("check", file, certificate)
    found = succeeded("soft", "certify", file, "-n", "3", "--fix", "1:1,2:0,3:1", "--label", "all", "--json")
    assert json.loads(found.stdout)["fixed"] == [[1, 1], [2, 0], [3, 1]]
    for more in ("--fix 1:x", "--fix 4:1", "--fix 0:1", "--label x", "--position 1"):
        failed(UsageError, "soft", "certify", file, "-n", "3", *more.split())
    for more in ("", "--epsilon 0.5 --label 1"):
        failed(UsageError, "soft", "certify", "parity", "-n", "3", *more.split())


def test_a_word_that_no_input_has(found: Forced) -> None:
    language = task_language(found.model)
    with pytest.raises(UsageError, match="no word has these symbols"):
        force_decision(found.model, 4, Decision(found.graph.labels), inputs=language, fixed={1: 1, 2: 1}, check=False)


@pytest.mark.heavy
@pytest.mark.parametrize("name", heavy_after(["ab-d-bc-1l1h16d-nope", "012-0-2-1l1h16d"], 1))
def test_at_most_five_of_149_force_every_label(name: str) -> None:
    model = load(Path(__file__).parent.parent / "instances" / "trained" / f"{name}.safetensors")
    found = force_decision(model, 149, decision_of(model, "all"), seconds=120)
    assert len(found.fixed) <= 5
    assert (found.verified or "").startswith("s VERIFIED forced n=149")


# ----------------------------------------------------------------
# Claims about trained models that are just false, with the hints of the true claim beside them: none is accepted. And
# what programs and given certificates say, against all short words.


KINDS: tuple[dict[str, Any], ...] = (
    {}, {"reads": "first"}, {"reads": "last"}, {"start": False}, {"norm": "post"}, {"norm": "none"},
    {"reads": "last", "start": False}, {"norm": "no-last"},
)  # fmt: skip


def hints(document: Any, rng: np.random.Generator) -> Iterator[Any]:
    """The certificate, with narrower boxes, and with its cells in pieces."""
    yield document
    for share in (1e-4, 0.3, 1.0):
        made = copy.deepcopy(document)
        for case in made["cases"]:
            cut = [int(share * w * rng.random()) for w in case[4]]
            case[3:5] = [u - int(c * rng.random()) for u, c in zip(case[3], cut, strict=True)], \
                [w - c for w, c in zip(case[4], cut, strict=True)]  # fmt: skip
        yield made
    made = copy.deepcopy(document)
    for case in made["cases"]:
        case[5:6] = [leaved(case[5] if len(case) > 5 else 0, lambda _: 2)]
    yield made


@pytest.mark.parametrize("seed", heavy_after(range(48), 4))
def test_a_decision_that_one_completion_does_not_share_is_not_forced(seed: int) -> None:
    """The bias is put where the worst completion is on the right side by 0.01, then on the wrong one by 1e-9."""
    rng = np.random.default_rng(seed)
    model, naive = verdict_cases.random_checkpoint(rng, **KINDS[seed % len(KINDS)])
    n, symbols, labels = 3, range(len(model.symbols)), rng.permutation(len(model.labels))[:2].tolist()
    if model.positions is not None and seed % 2:
        model, naive.config["offset"] = shifted(model, 2), 2
    fixed = {int(j) + 1: int(rng.integers(len(symbols))) for j in rng.permutation(n)[: rng.integers(0, n + 1)]}
    reader = () if model.reader is None else (model.reader,)
    words = itertools.product(*([fixed[j]] if j in fixed else symbols for j in range(1, n + 1)))
    said = [naive.logits((*(model.tokens[s] for s in word), *reader)) for word in words]
    first, greatest = labels[0], len(labels) == 2 and seed % 3 == 0
    worst = min(row[first] - (row[labels[1]] if greatest else 0.0) for row in said)
    decision = Decision(tuple(labels if greatest else labels[:1]), greatest)
    try:
        found = force_decision(biased(model, first, 0.01 - worst), n, decision, fixed=fixed)
    except NotEstablished:
        return
    assert found.graph.want[0] == {first}
    false = biased(model, first, -1e-9 - worst)
    document = json.loads(found.to_bytes())
    assert verdict_cases.accepted(found.model, document)
    document["model"]["sha256"] = false.sha256
    for made in hints(document, rng):
        assert not verdict_cases.accepted(false, made)


@pytest.mark.parametrize("seed", heavy_after(range(40), 2))
def test_the_graph_of_a_program_is_its_decisions_on_all_short_words(seed: int) -> None:
    """Random programs, with markers or without, whose alphabet has the model's symbols in another order."""
    rng, most = np.random.default_rng(seed), 4
    model, naive = verdict_cases.random_checkpoint(rng, **KINDS[seed % 4])
    while model.labels != model.vocab:
        model, naive = verdict_cases.random_checkpoint(rng, **KINDS[seed % 4])
    end, reader = model.outputs[-1], () if model.reader is None else (model.reader,)
    for _ in range(4):
        program = generator.random_order_only(rng, letters=len(model.symbols))
        program["alphabet"] = [model.symbols[k] for k in rng.permutation(len(model.symbols))]
        read = loads(dumps(program))
        try:
            decided = dfa_of(decisions_of(read, model.symbols), model)
        except RestrictError:  # not order-only, or without an answer
            continue
        graph = graph_of(model, decided, all_words(model), "membership")
        graph, runs = graph if decides_empty(read) else empty_left_out(model, graph), Meaning(program)
        for word in (w for n in range(most + 1) for w in itertools.product(range(len(model.symbols)), repeat=n)):
            defined = len(word) + runs.markers > 0 and runs.defined(len(word) + runs.markers)
            given = tuple(program["alphabet"].index(model.symbols[s]) for s in word)
            runs.learn([given] if defined else [])
            says = bool(defined) and runs.labels(given)[-1] == "accept"
            if not word and not defined:  # nothing is asked: what the model says, or anything where it has no answer
                says = naive.logits(reader)[end] > 0 if graph.empty else end in graph.want[0]
            assert (end in graph.want[graph.state(word)]) == says


def test_where_the_checker_does_not_follow_the_line_says_what_was_found_and_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of words that weigh below 1e-77 of a symbol that they do not have, the unit of the checker's weights."""
    model = load(TRAINED / "tomita2-1l1h16d.safetensors")
    refusal = NotEstablished("certificate: cases[0]: head 0, direction 0: a word of the case is beyond the bound")
    monkeypatch.setattr("restrict.soft.restriction.forced.trusted_check", raising(refusal))
    with pytest.raises(
        NotEstablished, match=r"fixed symbols? forces? the decision in floats, but the trusted checker"
    ) as said:
        force_decision(model, 6, decision_of(model, None), seconds=5)
    assert str(said.value).startswith(model.name)
    assert str(said.value).endswith(f"weighs little beside other symbols ({refusal})")
