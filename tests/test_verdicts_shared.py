"""Certificates of verdicts and their check: hints that several cases share, and the self-check in parts."""

import copy
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save

from restrict.checker.account import Place, Reject
from restrict.checker.main import verify
from restrict.checker.verdict import Basis, Check, Key
from restrict.checker.verdict_forms import Extent, Form
from restrict.report.verdict_page import ranges_of
from restrict.soft.models.config import read_object
from restrict.soft.trained import parts as module
from restrict.soft.trained.child import Group, Verified, ahead, owned, part
from restrict.soft.trained.confirm import Ahead, begun, confirmed
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.hints import cases_document
from restrict.soft.trained.model import Trained, trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.parts import Processes
from restrict.soft.trained.sharing import SharedSearch, inside
from restrict.soft.trained.verdict import Case, Open, Search
from tests import verdict_cases
from tests.marks import heavy_after, rows_after
from tests.verdict_cases import loaded, refusal, written_out

N = 18


@cache
def verdict(n: int = 14) -> Verdict:
    """That of a model, on all its prefixes of up to so many symbols."""
    return verify_trained(*loaded("tomita2-1l1h16d"), n)


@pytest.fixture
def made() -> tuple[Trained, dict[str, Any]]:
    """The model and a certificate."""
    return verdict(N).model, verdict(N).document()


def line(model: Trained, document: dict[str, Any]) -> str:
    return verify(model.content, json.dumps(document).encode())


SIZES = (8, 6, 3), (12, 30, 5)


def mixed(document: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A certificate some of whose cases have hints of others, a little changed or not, of whatever symbol and state."""
    cases = copy.deepcopy(written_out(document)["cases"])
    for _ in range(int(rng.integers(1, 4))):
        one, other = rng.integers(1, len(cases), 2)
        cases[one][3:] = copy.deepcopy(cases[other][3:])
        if rng.random() < 0.5:
            cases[one][4] = [w + int(rng.integers(0, 1 << 14)) for w in cases[one][4]]
    return document | {"cases": cases}


@pytest.mark.parametrize(
    ("name", "n", "changed", "least"),
    rows_after([(f"{name}-1l1h16d-nope", *size) for size in SIZES for name in ("dyck1-depth2", "ax-or-ay")], 1),
)
def test_what_cells_show_is_known_where_all_that_it_depends_on_is_the_same(
    name: str, n: int, changed: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lemma V19: every certificate, also one whose cases have the hints of others, is accepted or not as without it."""
    (model, graph), rng = loaded(name), np.random.default_rng(5)
    document, counts, results = verify_trained(model, graph, n).document(), [], []
    documents = [document, *(mixed(document, rng) for _ in range(changed))]
    image, init = Check.image, Check.__init__
    for alike in (True, False):

        def begun(self: Check, *given: Any, alike: bool = alike) -> None:
            init(self, *given)
            self.alike = self.alike and alike

        counts.append(0)
        monkeypatch.setattr(Check, "image", lambda *a: (counts.append(counts.pop() + 1), image(*a))[1])
        monkeypatch.setattr(Check, "__init__", begun)
        results.append([])
        for each in documents:
            try:
                results[-1].append(line(model, each))
            except Reject as reject:
                results[-1].append(str(reject))
    assert results[0] == results[1]
    assert len(set(results[0])) > least
    assert counts[0] < 0.7 * counts[1]


@pytest.mark.parametrize("name", ["dyck1-depth2-1l1h16d-nope", "tomita2-1l1h16d"])
def test_what_is_known_of_a_cell_is_not_said_of_another_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma V19: another symbol, state, basis, box, number of pieces or range of a neuron is shown anew, and so is
    another position, or the same cell again, if there are positions."""
    model, graph = loaded(name)
    check, shown, image = verdict_cases.checked(model, graph), [], Check.image
    check.basis = [Basis([0] * model.d, [], [], 0, [0] * model.d, Form([], [], [0]))]
    free = check.held = check.narrowed((2, 0, 0), [], Place("test"))
    assert set(free) == {None}  # no number: a cell may be larger than any
    check.number = 0
    monkeypatch.setattr(Check, "image", lambda *given: (shown.append(given[1]), image(*given))[1])
    monkeypatch.setattr(Check, "own", lambda *_: True)

    def anew(key: Key = (2, 0, 0), boxes: Sequence[Extent] = (), pieces: int = 1) -> bool:
        before = len(shown)
        check.leaf(key, list(boxes), pieces, [], Place("test"))
        return len(shown) > before

    assert anew()
    for again in ((2, 0, 0), (3, 0, 0)):
        assert anew(again) == (model.positions is not None)
    assert anew((2, 1, 0))
    assert anew((2, 0, 1))
    assert anew(pieces=2)
    assert anew(boxes=[Extent(0, 1)])
    check.number = 1
    assert anew()
    check.number, check.held = 0, [(-5, 5), *free[1:]]
    assert anew()


def test_a_cell_that_is_known_does_not_show_a_word_of_a_later_position() -> None:
    """Lemma V19: the read-out's bias is moved until one word of ten symbols is wrong by 1e-9. Its case has the cells of
    the one at position 8, where the label is right by 0.01: only its own direction tells them apart."""
    name, word = "ax-or-ay-1l1h16d-nope", (0, 2) * 5
    model, naive = verdict_cases.kept(name)
    config = read_object((verdict_cases.FOLDER / f"{name}.config.json").read_bytes(), "c", decimals=True)
    logit = naive.logits(tuple(model.tokens[s] for s in word))[0]

    def moved(margin: float) -> Trained:
        bias = np.array([margin - logit, 0, 0, 0, 0])
        return trained(name, save(load_tensors(model.content) | {"lm_head.bias": bias}), config, name)

    true, false = moved(1e-3), moved(-1e-9)
    document = verify_trained(true, task_graph(true), 10).document()
    assert document["cases"][-1] == [10, 2, 3]
    assert [case[0] for case in document["cases"] if case[1:3] == [2, 3]] == [2, 4, 6, 8, 10]
    assert line(true, document).startswith("s VERIFIED right n=0..10 cases=20 ")
    document["model"]["sha256"] = false.sha256
    with pytest.raises(Reject, match=r"cases\[19\]: label 0 is not shown to be right"):
        line(false, document)


def test_a_hard_case_begins_as_the_last_one_was_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds on what neurons read are tried at once where the case before needed them; not so of another symbol, and
    not in another basis."""
    search, tried = Search(*loaded("tomita2-1l1h16d"), 9), list[int]()

    def tried_on(key: Key, upper: Any, width: Any, most: int, held: list[Any], known: Any = 0) -> Case | Open:
        tried.append(len(held))
        return Case(key, upper, width, 0, 1, 1.0, held=held) if held else Open(key, 0, -1.0)

    monkeypatch.setattr(search, "tried_on", tried_on)
    monkeypatch.setattr(search, "narrowed", lambda key, upper, width, count: [[0, 0, 0]] * count)
    for key, number, said in (
        ((5, 0, 1), 0, [0, 24]), ((6, 0, 1), 0, [24]), ((6, 1, 1), 0, [0, 24]), ((7, 0, 1), 1, [0, 24]),
        ((7, 0, 1), 0, [24]),
    ):  # fmt: skip
        search.number = number
        tried.clear()
        assert isinstance(search.settled(key, [], [], 400), Case)
        assert tried == said


def test_a_certificate_says_the_same_with_its_hints_written_out(made: tuple[Trained, dict[str, Any]]) -> None:
    model, document = made
    shared = [case for case in document["cases"] if len(case) == 3]
    assert len(shared) > N // 2
    assert line(model, document) == line(model, written_out(document))
    assert 2 * len(json.dumps(document["cases"])) < len(json.dumps(written_out(document)["cases"]))


def test_the_first_case_of_a_symbol_and_a_state_has_hints(made: tuple[Trained, dict[str, Any]]) -> None:
    """Hints are those of the same symbol and state, whatever case stands in front."""
    model, document = made
    seen = set[tuple[int, int]]()
    for number, (_, a, q, *_) in enumerate(document["cases"]):
        if (a, q) not in seen:
            seen.add((a, q))
            other = copy.deepcopy(document)
            del other["cases"][number][3:]
            assert refusal(model.content, other)[0] == 4
    assert len(seen) > 2


def test_a_shared_box_that_loses_a_word_of_a_later_case_is_refused() -> None:
    """The box that is said is made that of the words of the first case alone."""
    found, refused = verdict(N), 0
    document = found.document()
    for case, entry, after in zip(found.cases, document["cases"], document["cases"][2:], strict=False):
        if len(entry) > 3 and case.own is not None and after[1:] == entry[1:3]:
            kept = entry[3:5]
            entry[3:5] = case.own
            refused += refusal(found.model.content, document)[0] == 3
            entry[3:5] = kept
    assert refused > 1


def test_cases_share_a_box_that_holds_their_own() -> None:
    model, graph = loaded("dyck1-depth2-1l1h16d-nope")
    search, alone, shared = SharedSearch(model, graph, N), Search(model, graph, N), 0
    cases = [search.case(key) for key in graph.cases(N)]
    for case in cases:
        assert isinstance(case, Case)
        if case.own is not None:
            search.use(case.basis)
            alone.turns, m = search.turns, len(search.rows)
            alone.use(case.basis)
            assert case.own == alone.rounded(case.key)
            assert inside(case.own, (case.upper[:m], case.width[:m]))
            shared += 1
    assert shared > len(cases) // 2
    numbers = {number: number for number in range(len(search.turns))}
    assert sum(len(entry) == 3 for entry in cases_document(cases, numbers)) > len(cases) // 3


def test_a_report_reads_shared_hints_and_quotients(made: tuple[Trained, dict[str, Any]]) -> None:
    """The drawn ranges are of every case; bounds on quotients are no coordinates."""
    model, document = made
    assert len(list(ranges_of(model, task_graph(model), document))) == len(document["cases"])
    model, _, graph = verdict_cases.random_case(np.random.default_rng(39))
    document = verdict_cases.with_quotients(verify_trained(model, graph, 3)).document()
    assert model.heads == 2
    assert all(len(case[3]) == sum(len(basis["rows"]) for basis in document["basis"]) + 1 for case in document["cases"])
    assert len(list(ranges_of(model, graph, document))) == len(document["cases"])


def test_a_report_reads_halved_quotients_and_leaves_empty_cells_out() -> None:
    model, _, graph = verdict_cases.random_case(np.random.default_rng(39))
    document = verdict_cases.with_quotients(verify_trained(model, graph, 3)).document()
    whole = list(ranges_of(model, graph, document))
    for case in document["cases"]:
        tree = case[5] if len(case) > 5 else 0
        case[5:6] = [[len(case[3]) - 1, tree, tree]]
    assert verdict_cases.accepted(model, document)
    for one, other in zip(ranges_of(model, graph, document), whole, strict=True):
        assert one.margin >= other.margin - 1e-9
        assert (one.low >= other.low - 1e-9).all()
    for case in document["cases"]:
        case[5] = [0, case[5][1], [[0, 1]]]
    for one, other in zip(ranges_of(model, graph, document), whole, strict=True):
        assert (one.high - one.low).sum() <= (other.high - other.low).sum() + 1e-9


# ----------------------------------------------------------------
# The self-check of a verdict in parts: together they are the whole check, and where one is refused there is no line
# (restrict/soft/trained/parts.py).


LONGEST = 14


def changed(number: int) -> bytes:
    """The certificate with a bound of a case below what a word reaches."""
    document = written_out(json.loads(verdict().to_bytes()))
    case = document["cases"][number]
    case[3] = [upper - width - 1 for upper, width in zip(case[3], case[4], strict=True)]
    return json.dumps(document).encode()


def noted(patch: pytest.MonkeyPatch) -> list[Any]:
    """The cases that are verified from here on."""
    seen, plain = list[Any](), Check.case

    def case(self: Check, key: Any, hints: Any, place: Any) -> None:
        seen.append(key)
        plain(self, key, hints, place)

    patch.setattr(Check, "case", case)
    return seen


def groups() -> list[Group]:
    return sorted({case.key[:2] for case in verdict().cases})


def test_parts_say_the_line_of_the_whole_check_and_verify_each_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    model, content = found.model.content, found.to_bytes()
    line, seen = verify(model, content), noted(monkeypatch)
    owners = [(i, a, k) for k, (i, a) in enumerate(groups()) if k % 3]  # of some groups nothing is said
    said = [part(model, content, owned(owners, number, 3)) for number in range(3)]
    assert {text for _, text in said} == {line}
    assert sorted(seen) == sorted(case.key for case in found.cases)


@pytest.mark.parametrize("number", [0, 5, LONGEST])
def test_the_part_that_has_a_false_case_refuses(number: int) -> None:
    content, model = changed(number), verdict().model.content
    (at,) = {case.key[:2] for case in [verdict().cases[number]]}
    with pytest.raises(Reject, match=rf"cases\[{number}\]"):
        part(model, content, lambda group: group == at)
    part(model, content, lambda group: group != at)  # the others do hold
    with pytest.raises(Reject):
        verify(model, content)


def before(content: bytes, some: slice, **other: Any) -> Verified:
    """What is verified of some cases of a certificate before it comes. ``other``: fields that are other ones then."""
    document = written_out(json.loads(content))
    basis, more, cases = document["basis"], document.get("turned", []), document["cases"]
    head, known = document | {"basis": basis, "turned": [], "cases": []} | other, Verified()
    frames = iter([{"bases": more, "cases": cases[some]}, {"over": True}])
    _, last = ahead(verdict().model.content, head, frames, known)
    assert last == {"over": True}
    return known


def verified(content: bytes, known: Verified, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many cases are verified by a check that knows of some."""
    with monkeypatch.context() as patch:
        seen = noted(patch)
        _, line = part(verdict().model.content, content, lambda group: True, known)
    assert line == verify(verdict().model.content, content)
    return len(seen)


def test_what_is_verified_before_the_certificate_comes_is_not_verified_again(monkeypatch: pytest.MonkeyPatch) -> None:
    content = verdict().to_bytes()
    every, some = before(content, slice(None)), before(content, slice(3, 9))
    assert len(every) == LONGEST + 1
    assert len(some) == 6
    assert verified(content, every, monkeypatch) == 0
    assert verified(content, some, monkeypatch) == LONGEST - 5
    shorter = before(content, slice(None), upto=LONGEST - 1, n=LONGEST)  # tables end earlier
    assert verified(content, shorter, monkeypatch) == LONGEST + 1


@pytest.mark.parametrize("name", ["n", "language", "model"])
def test_what_was_verified_under_another_claim_is_verified_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = verdict().to_bytes()
    document = json.loads(content)
    other = {
        "n": LONGEST + 1,
        "language": document["language"] | {"accept": [*document["language"]["accept"], 0]},
        "model": document["model"] | {"name": "another"},
    }
    known = before(content, slice(None), **{name: other[name]})
    assert verified(content, known, monkeypatch) == LONGEST + 1


@pytest.mark.parametrize("number", [0, 5, LONGEST])
def test_a_false_case_is_refused_whatever_was_verified_before(number: int) -> None:
    """As it stands it does not hold, so nothing is known of it; what is known of the true one does not count for it."""
    model = verdict().model.content
    for known in (before(changed(number), slice(None)), before(verdict().to_bytes(), slice(None))):
        with pytest.raises(Reject, match=rf"cases\[{number}\]"):
            part(model, changed(number), lambda group: True, known)


def test_a_number_is_not_what_was_verified_where_it_is_true_or_a_fraction() -> None:
    """In Python 1 == True == 1.0; the checker refuses these."""
    document = json.loads(verdict().to_bytes())
    known = before(verdict().to_bytes(), slice(None))
    case = next(case for case in document["cases"] if len(case) > 3)
    for value in (True, 1.0):
        case[4] = [1, *case[4][1:]]
        case[4][0] = value
        with pytest.raises(Reject):
            part(verdict().model.content, json.dumps(document).encode(), lambda group: True, known)


def test_what_comes_before_a_claim_that_is_refused_is_left_out() -> None:
    content = verdict().to_bytes()
    assert before(content, slice(None), language=[]) == {}


@pytest.mark.parametrize("count", heavy_after([2, 1, 3], 1))
def test_cases_are_verified_while_the_search_goes_on(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes but one have cases before the certificate comes; the line is that of the whole check."""
    monkeypatch.setattr("restrict.soft.trained.options.OPTIONS.worth", 2)
    monkeypatch.setattr("restrict.soft.trained.options.OPTIONS.sent", 0)
    model, graph = loaded("tomita2-1l1h16d")
    with Processes(count) as parts:
        hooks = {"decided": begun(parts), "ahead": Ahead(parts, model)}
        found = verify_trained(model, graph, LONGEST, float32=True, **hooks)
        assert len(set(parts.owners.values())) == count - 1
        assert parts.line(found.to_bytes()) == verify(model.content, found.to_bytes())


def test_no_case_comes_early_where_reading_would_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any) -> None:
        raise OSError

    with Processes(2) as parts, monkeypatch.context() as patch:
        patch.setattr("os.set_blocking", refused)
        parts.ahead(b"")
        assert parts.free() is None


@pytest.mark.parametrize("count", heavy_after([2, 1, 3], 1))
def test_processes_give_the_line_or_nothing(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.soft.trained.options.OPTIONS.worth", 5)
    found = verdict()
    model, content = found.model.content, found.to_bytes()
    costs = [(*case.key[:2], OPTIONS.leaf) for case in found.cases]
    for text in (content, changed(0), changed(LONGEST)):
        with Processes(count) as parts:
            parts.begin(model, text, costs)
            assert len(parts.processes) == count
            assert parts.line(b"another") is None
            assert parts.line(text) == (verify(model, content) if text == content else None)
        assert not parts.processes


def test_a_part_that_ends_early_leaves_the_line_to_the_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    monkeypatch.setattr("restrict.soft.trained.options.OPTIONS.worth", 5)
    with Processes(2) as parts:
        begun(parts)(found)
        parts.processes[1].kill()
        assert parts.line(found.to_bytes()) is None
    with Processes(2) as parts:
        for process in parts.processes:
            process.kill()
            process.wait()
        begun(parts)(found)
        assert confirmed(found, "certificate", parts)[1] == verify(found.model.content, found.to_bytes())


def test_steps_of_all_parts_are_within_the_limit_of_the_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    monkeypatch.setattr("restrict.soft.trained.options.OPTIONS.worth", 5)
    monkeypatch.setattr(module, "DEFAULT_LIMIT", 1000)
    with Processes(2) as parts:
        begun(parts)(found)
        assert parts.line(found.to_bytes()) is None


def test_what_is_small_or_large_is_checked_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict()
    for name, value in (("worth", 1000), ("process_room", 10)):
        with monkeypatch.context() as patch, Processes(1) as parts:
            patch.setattr(OPTIONS, name, value)
            begun(parts)(found)
            assert not parts.processes
            assert parts.line(found.to_bytes()) is None
