"""Answers are run on the concrete model: a false one, wherever it comes from, is exit 1 and a file, never an answer."""

import json
import pydoc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import restrict
from restrict.all_lengths import labels, tried
from restrict.all_lengths.automaton import Automaton
from restrict.all_lengths.bimachine import Bimachine
from restrict.all_lengths.compare import Difference
from restrict.all_lengths.lengths import Lengths
from restrict.all_lengths.moore import Moore
from restrict.all_lengths.patterns import Pattern
from restrict.base.errors import Disagreement, InternalError, ResourceLimit
from restrict.certificate.certificate import Certificate
from restrict.cli.main import _run
from restrict.languages.quasilinear import NEVER
from restrict.logic import parse
from restrict.model.fileformat import loads
from restrict.trial import disagreement
from restrict.trial.certificate import try_boxes, try_certificate, try_dependency, try_forced, try_independence
from restrict.trial.run import Trial, defined_at
from restrict.trial.words import words_of
from tests import documents, mutations, naive
from tests.fuzzing.at_one_length import least_costs
from tests.marks import heavy_after, rows_after

INSTANCES = Path(__file__).resolve().parent.parent / "instances"
DYCK = str(INSTANCES / "brasp-dyck1-depth2.json")
AB = str(INSTANCES / "brasp-ab-star.json")
TAGGER = str(INSTANCES / "tagger.json")
ONE = str(INSTANCES / "contains-one.json")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports go to a folder of the test."""
    monkeypatch.chdir(tmp_path)


def altered(one: Moore) -> Iterator[Moore]:
    """Every automaton with one other label, or with one edge that leads elsewhere."""
    spoken = [at for at, name in enumerate(one.labels) if name and at in one.label]
    for q in range(one.states):
        if one.labels[int(one.label[q])]:
            label = one.label.copy()
            label[q] = next(at for at in spoken if at != label[q])
            yield replace(one, label=label)
        for x, to in product(range(len(one.alphabet)), range(one.states)):
            if to != one.delta[q, x]:
                delta = one.delta.copy()
                delta[q, x] = to
                yield replace(one, delta=delta)


def agree_on_all(found: Automaton) -> None:
    """Compare an automaton with all runs of its trial."""
    for sample in found.trial.samples:
        tried.agree(found, sample)


@pytest.mark.parametrize(
    "name", heavy_after(["brasp-ab-star", "brasp-dyck1-depth2", "dyck1-depth3", "brasp-flip-flop"], 2)
)
def test_every_single_change_of_an_automaton_is_noticed(name: str) -> None:
    found = restrict.automaton(restrict.load(INSTANCES / f"{name}.json"))
    tried.try_automaton(found)
    count = 0
    for moore in altered(found.moore):
        if labels.difference_at_the_end(moore, found.moore, (0, 0), 1) is None:
            continue
        with pytest.raises(Disagreement, match="the automaton says"):
            agree_on_all(replace(found, moore=moore))
        count += 1
    assert count >= 10


def test_every_wrong_label_of_a_bimachine_is_noticed() -> None:
    """With output at every position, one label of the table at a time."""
    found = restrict.automaton(restrict.load(TAGGER))
    machine = found.built.machine
    reached, count = np.argwhere(machine.lab >= 0), 0
    for l, x, r in reached.tolist():
        lab = machine.lab.copy()
        lab[l, x, r] = (lab[l, x, r] + 1) % len(machine.values)
        forged = Bimachine(machine.left, machine.right, lab, machine.names, machine.values)
        with pytest.raises(Disagreement, match="the automaton says"):
            tried.try_automaton(replace(found, built=replace(found.built, machine=forged)))
        count += 1
    assert count >= 10


@pytest.mark.parametrize("score", ["min(i, j)", "min(j + 1, n - 1)"])
def test_no_answer_contradicts_a_model_whose_score_was_read_wrongly(score: str) -> None:
    """Whether declined, right, or noticed: a label of the last position is never other than that of a run."""
    read = documents.head("h", score), documents.map_("out", ["h"], 2, "h")
    program = loads(mutations.encode(documents.model(*read, alphabet="ab", position="last", accept=[1])))
    try:
        found = restrict.automaton(program)
    except (restrict.NotEstablished, Disagreement):
        return
    for t in range(1, 7):
        for word in product("ab", repeat=t):
            assert found.moore.run(word) == program.run(word).output


# ---------------------------------------------------------------- the error and its file


def test_a_disagreement_is_a_bug_and_keeps_the_model_the_word_and_the_answer(tmp_path: Path) -> None:
    model = restrict.load(AB)
    with pytest.raises(Disagreement) as caught:
        disagreement.disagree(model, "it is so", ("a", "b"), "'otherwise'", {"answer": 1})
    assert (isinstance(caught.value, InternalError), caught.value.exit_code) == (True, 1)
    path = tmp_path / "restrict-disagreement-1.json"
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    kept = json.loads(path.read_text())
    assert (kept["word"], kept["n"], kept["found"], kept["result"]) == (["a", "b"], 2, "'otherwise'", {"answer": 1})
    assert loads(kept["model"]["content"].encode()).digest == model.digest == kept["model"]["sha256"]


def test_a_report_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "restrict-disagreement-1.json").write_text("mine")
    with pytest.raises(Disagreement, match="restrict-disagreement-2"):
        disagreement.disagree(restrict.load(AB), "x", (), "y")
    assert (tmp_path / "restrict-disagreement-1.json").read_text() == "mine"


def test_where_the_folder_cannot_be_written_the_one_for_temporary_files_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "temporary"
    other.mkdir()
    monkeypatch.setattr(Path, "cwd", Mock(side_effect=FileNotFoundError))
    monkeypatch.setattr(disagreement.tempfile, "gettempdir", lambda: str(other))
    with pytest.raises(Disagreement, match="temporary"):
        disagreement.disagree(restrict.load(AB), "x", (), "y")
    monkeypatch.setattr(disagreement.tempfile, "gettempdir", lambda: str(other / "missing"))
    with pytest.raises(Disagreement, match=r"please report it$"):
        disagreement.disagree(restrict.load(AB), "x", (), "y")


# ---------------------------------------------------------------- the runs


@pytest.mark.parametrize("name", ["brasp-dyck1-depth2", "tagger", "flip-flop", "q-then-u"])
def test_a_sample_has_the_labels_of_the_definition(name: str) -> None:
    """Short words in a batch and long ones on demand, by the independent evaluator."""
    model = restrict.load(INSTANCES / f"{name}.json")
    other, trial, rng = naive.load(INSTANCES / f"{name}.json"), Trial(model), np.random.default_rng(3)
    for t in (1, 4, 9, 70):
        sample = trial.run(words_of(len(model.alphabet), t, rng, 2)[:4])
        assert sample is not None
        for word, seen in zip(sample.words, sample.labels, strict=True):
            symbols = [model.alphabet[a] for a in word]
            labels_there = naive.labels_of(other, naive.run(other, symbols))
            assert seen == [labels_there[i] for i in sample.positions]


def test_lengths_at_which_the_model_is_not_defined_are_left_out_and_listed() -> None:
    content = json.loads(Path(AB).read_text())
    content["when"] = "n % 3 == 1"
    found = restrict.automaton(loads(json.dumps(content).encode()))
    assert {sample.n % 3 for sample in found.trial.samples} == {1}
    assert {2, 3, 5, 6} <= found.trial.undefined
    assert defined_at(found.model, 5) is None
    assert defined_at(found.model, 4) is not None


def test_a_model_that_overflows_is_tried_at_the_lengths_at_which_it_is_defined() -> None:
    head = documents.head("h", f"j + 0 * (n * {2**61})")
    trial = Trial(loads(mutations.encode(documents.model(head, alphabet="ab", position="last", accept=[1]))))
    assert trial.run(words_of(2, 2, np.random.default_rng(0))) is not None
    assert trial.run(words_of(2, 6, np.random.default_rng(0))) is None
    assert trial.undefined == {6}


def test_a_trial_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.trial.run.WORK", 1_000)
    model = restrict.load(DYCK)
    one, two = (restrict.automaton(model).trial for _ in range(2))
    assert (one.count, one.work, one.undefined) == (two.count, two.work, two.undefined)
    assert all((a.words == b.words).all() for a, b in zip(one.samples, two.samples, strict=True))
    assert one.count > 500
    assert max(sample.n for sample in one.samples) >= 60


def test_the_least_cost_is_that_of_all_restrictions() -> None:
    rng = np.random.default_rng(5)
    for size, length in ((2, 4), (3, 3), (1, 2), (2, 0)):
        for share in (0.5, 0.9, 0.0, 1.0):
            has = rng.random(size**length) < share
            table = dict(zip(product(range(size), repeat=length), map(str, has), strict=True))
            assert tried.least_cost(has, size, length) == least_costs(table, size, length).get("True", NEVER)


# ---------------------------------------------------------------- forged answers, command by command


Forge = Callable[[pytest.MonkeyPatch], None]


@cache
def right(words: tuple[str, ...]) -> bool:
    """Whether a command has an answer."""
    return _run([*words]) in (0, 3)


def noticed(
    words: list[str], forge: Forge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is right as it is; with the forged answer it ends with exit 1, one line, a file and no answer."""
    assert right(tuple(words))
    capsys.readouterr()
    before = set(Path.cwd().glob("restrict-disagreement-*.json"))
    forge(monkeypatch)
    assert _run(words) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("restrict: internal disagreement: ")
    assert said.err.count("\n") == 1
    assert len(set(Path.cwd().glob("restrict-disagreement-*.json")) - before) == 1


def flipped(one: Moore) -> Moore:
    """The labels of a small automaton, accept and reject swapped."""
    swapped = {"accept": "reject", "reject": "accept"}
    return replace(one, labels=tuple(swapped.get(name, name) for name in one.labels))


def without_dependencies(found: Certificate) -> Certificate:
    """A claim of fewer dependencies."""
    return replace(found, claim=replace(found.claim, c=0, dependencies=()))


def other_values(found: Certificate) -> Certificate:
    """A claim of the other value of two."""
    assert found.claim.values is not None
    return replace(found, claim=replace(found.claim, values=(1 - found.claim.values[0],)))


def refused(document: dict[str, Any]) -> dict[str, Any]:
    """A compiled model that accepts what it should reject."""
    size = document["variables"][-1]["domain"]
    document["output"]["accept"] = [v for v in range(size) if v not in document["output"]["accept"]]
    return document


WRONG = Difference(tuple("()"), 2, "reject", True)
NAMED = {"DYCK": DYCK, "AB": AB, "TAGGER": TAGGER, "ONE": ONE} | {
    f"DEPTH{depth}": str(INSTANCES / f"dyck1-depth{depth}.json") for depth in (2, 3)
}
COMMANDS: list[tuple[str, str, Callable[..., Any]]] = [
    ("automaton DYCK", "all_lengths.automaton.moore", flipped),
    ("automaton TAGGER", "all_lengths.automaton.moore", lambda one: replace(one, label=np.roll(one.label, 1))),
    ("automaton DYCK", "all_lengths.automaton.cheapest_pattern", lambda _: Pattern("accept", ("(",), (")",), 2)),
    ("verify DYCK -L dyck:1", "all_lengths.verify.difference", lambda _: WRONG),
    ("verify DYCK -L dyck:1", "all_lengths.verify.difference", lambda d: replace(d, member=not d.member)),
    ("verify DYCK -L dyck:1", "all_lengths.verify.difference", lambda _: None),
    ("verify DYCK --equals DEPTH3", "all_lengths.labels.difference_at_the_end", lambda _: None),
    ("verify TAGGER --equals TAGGER", "all_lengths.labels.difference_anywhere",
     lambda _: Difference(("a",), 1, "again", other="other", position=0)),
    ("certify DYCK --all-lengths", "all_lengths.automaton.cheapest_pattern",
     lambda p: p and replace(p, label="accept")),
    ("certify DYCK --all-lengths --label reject --cost", "all_lengths.automaton.costs",
     lambda c: replace(c, cost=replace(c.cost, values=tuple(v + 1 for v in c.cost.values)))),
    ("certify DYCK --all-lengths --label reject --cost -n 6", "all_lengths.automaton.cheapest_restriction",
     lambda c: ("*",) * len(c)),
    ("refute DYCK -L dyck:1 --all-lengths -n 8", "all_lengths.wrong.wrong_word", lambda w: [0] * len(w)),
    ("refute DYCK -L dyck:1 --all-lengths", "all_lengths.wrong.possible_lengths", lambda _: Lengths((), (False,))),
    ("compile --to ltl AB", "all_lengths.compile_back.formula_of", lambda f: parse(f"not ({f})", ["a", "b"])),
    ("compile --language regex[ab]:(ab)*", "all_lengths.compile_back.document", refused),
    ("refute ONE -L parity -n 9", "corollary2.refute._witnesses", lambda w: (w[1], w[0])),
    ("refute ONE -L parity -n 9", "corollary2.refute.run_witnesses", lambda _: (["accept", "reject"], "full")),
    ("explain ONE --input 00100", "optimum.explain._minimal", lambda _: {}),
    ("certify ONE -n 9", "certification._certificate", other_values),
    ("certify ONE -n 9 --free 1", "certification._certificate", without_dependencies),
    ("certify ONE -n 9 --exact", "optimum.exact._exact",
     lambda e: replace(e, certificate=other_values(e.certificate))),
    ("certify ONE -n 7 --pareto", "tradeoff._undominated", lambda points: tuple(map(other_values, points))),
    ("certify TAGGER -n 6 --target all", "depth_reduction.theorem1._certificate",
     lambda c: replace(c, claim=replace(c.claim, c=0))),
]  # fmt: skip
"""A command, the function whose answer is changed, and how."""
TWINS: list[tuple[str, str, Callable[..., Any]]] = [
    ("verify DYCK -L dyck:1,depth=2", "all_lengths.automaton.moore", flipped),
    ("verify DYCK --equals DEPTH2", "all_lengths.automaton.moore", flipped),
    ("verify DYCK --equals DEPTH3", "all_lengths.labels.difference_at_the_end",
     lambda d: replace(d, word=tuple("()"), n=2)),
]  # fmt: skip
"""Noticed where another command's answer of that kind is."""
LONGER = [(words.replace("-n 7", "-n 9").replace("-n 6", "-n 10"), *forged) for words, *forged in COMMANDS[-2:]]


@pytest.mark.parametrize(("words", "path", "change"), [*COMMANDS, *rows_after([*TWINS, *LONGER], 0)])
def test_a_forged_answer_is_exit_1_and_no_answer(
    words: str, path: str, change: Callable[..., Any], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    place, real = f"restrict.{path}", pydoc.locate(f"restrict.{path}")
    assert callable(real)
    command = [NAMED.get(word, word) for word in words.split()]
    noticed(command, lambda patch: patch.setattr(place, lambda *a, **k: change(real(*a, **k))), monkeypatch, capsys)


# ---------------------------------------------------------------- certificates, explanations, boxes, dependencies


def forced() -> tuple[Any, Certificate]:
    """A model that finds a 1, at nine positions, and a certificate for it."""
    model = restrict.load(ONE)
    return model.at(9), restrict.certify(model, 9)


@pytest.mark.parametrize("n", heavy_after((100_000, 1_000_000), 1))
def test_many_positions_are_run_as_far_as_the_output_reads(n: int) -> None:
    model = restrict.load(ONE)
    found = restrict.certify(model, n)
    assert try_certificate(model.at(n), found).count == 2
    with pytest.raises(Disagreement):
        try_certificate(model.at(n), other_values(found))


def test_words_that_are_too_long_to_run_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is known beforehand that no word is run, none is; and then no run ends within the limit."""
    from restrict.model.on_demand import OnDemandRun
    from restrict.trial import certificate, run

    rng, refused = np.random.default_rng(3), 0
    for seed in range(30):
        layers, heads, n = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(65, 120))
        at = restrict.load(f"random:layers={layers},heads={heads},states=3,symbols=3,seed={seed}").at(n)
        monkeypatch.setattr(run, "SCORES", int(n * rng.choice([0.5, 1, 2, 3, 6, 9])))
        if run.too_long(at, (n - 1,)):
            refused += 1
            for word in rng.integers(3, size=(3, n - len(at.model.markers))):
                with pytest.raises(ResourceLimit):
                    OnDemandRun(at, word, run.most_scores(at)).value(at.model.output.variable, n - 1)
    assert 5 < refused < 30
    model = restrict.load("random:layers=1,heads=2,seed=0")
    found = restrict.certify(model, 100)
    monkeypatch.setattr(run, "SCORES", 199)
    monkeypatch.setattr(certificate, "completions", lambda *_: pytest.fail("words were made"))
    assert try_certificate(model.at(100), found).count == 0


def test_an_explanation_a_box_and_a_dependency_that_are_wrong_are_noticed() -> None:
    instance, _ = forced()
    one = instance.model.alphabet.index("1")
    try_forced(instance, {4: one}, 8, "accept")
    try_forced(instance, {4: one}, 8, None)
    with pytest.raises(Disagreement):
        try_forced(instance, {4: 1 - one}, 8, "reject")
    with pytest.raises(Disagreement):
        try_forced(instance, {4: one}, 8, "accept", word=[1 - one] * 9)
    nothing = dict.fromkeys(range(9), (1 - one,))
    try_boxes(instance, [(nothing, frozenset(["reject"])), ({3: (one,)}, frozenset(["accept"]))], 8)
    with pytest.raises(Disagreement):
        try_boxes(instance, [(nothing, frozenset(["accept"]))], 8)
    try_dependency(instance, 8, 2, "000000000", "001000000")
    with pytest.raises(Disagreement, match="the same label"):
        try_dependency(instance, 8, 2, "000010000", "001010000")
    with pytest.raises(Disagreement, match="differs at"):
        try_dependency(instance, 8, 2, "000000000", "011000000")
    try_independence(instance, {4: one}, 8, [1, 2])
    with pytest.raises(Disagreement):
        try_independence(instance, {p: 1 - one for p in range(9) if p != 2}, 8, [2])


def test_a_lower_bound_by_a_false_box_is_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from restrict.optimum import lower_bound

    def forge(patch: pytest.MonkeyPatch) -> None:
        other = {"accept": "reject", "reject": "accept"}
        written = lower_bound.try_boxes

        def false(instance: Any, boxes: Any, at: int) -> Trial:
            return written(instance, [(s, frozenset(other[label] for label in names)) for s, names in boxes], at)

        patch.setattr(lower_bound, "try_boxes", false)

    noticed(["lower-bound", str(INSTANCES / "all-ones.json"), "-n", "6"], forge, monkeypatch, capsys)


def test_a_dependency_that_is_removed_wrongly_is_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from restrict.optimum import tighten

    path = str(tmp_path / "c.json")
    assert _run(["certify", ONE, "-n", "6", "--free", "1", "-o", path]) == 0

    def removed(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(tighten, "_decide", lambda code, position, p, deadline: tighten.NeverMatters(p, [], 0, (), None))

    noticed(["tighten", ONE, path], removed, monkeypatch, capsys)


def test_a_false_certificate_of_a_user_is_no_bug(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a user gives may be false; exit 1 is for what the program found itself."""
    _, found = forced()
    path = tmp_path / "false.json"
    other_values(found).save(path)
    assert _run(["tighten", ONE, str(path)]) == 3
    assert _run(["check", ONE, str(path)]) == 3
    capsys.readouterr()
    assert not list(Path.cwd().glob("restrict-disagreement-*.json"))
