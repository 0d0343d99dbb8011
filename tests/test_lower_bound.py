"""Lower bounds: boxes exclude what they say, no tree shows a false bound, all bounds are those of brute force."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from restrict.base.blocks import lent
from restrict.base.deadline import OutOfTime
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit
from restrict.certificate import hitting_run
from restrict.certificate.hitting_run import SYMBOLS
from restrict.certificate.hitting_tree import HittingTree, Open, Uncovered, disjoint, narrowed, needed
from restrict.certificate.lower_bound import LowerBound, indices
from restrict.checker.account import Meter, Place, Task
from restrict.checker.lower_bound import Bound
from restrict.checker.tree import Symbols, Tree
from restrict.elaboration.bound import examined, least_tree
from restrict.elaboration.check import check
from restrict.elaboration.hints import read_boxes
from restrict.elaboration.rows import Rows
from restrict.model.fileformat import loads
from restrict.model.program import Model
from restrict.model.source import load
from restrict.model.task import Task as Job
from restrict.optimum.box_search import BoxSearch, FoundBox
from restrict.optimum.lower_bound import _Proving, lower_bound
from restrict.optimum.options import OPTIONS
from tests import generator, naive
from tests.commands import succeeded, typed
from tests.fuzzing.at_one_length import least_forcing
from tests.fuzzing.meaning import meaning
from tests.marks import heavy_after, rows_after
from tests.test_workers import Others
from tests.trusted import Reject, verify

# ---------------------------------------------------------------- brute force


def hits(boxes: Sequence[Mapping[int, int]], fixed: Mapping[int, int]) -> bool:
    """Whether the restriction conflicts with every box."""
    return all(any(p in fixed and not allowed >> fixed[p] & 1 for p, allowed in box.items()) for box in boxes)


def symbols_at(node: Open) -> dict[int, int]:
    """One of the symbols that a node leaves at each of its positions."""
    return {p: bits.bit_length() - 1 for p, bits in node.symbols.items()}


def can_hit(boxes: Sequence[Mapping[int, int]], positions: int, symbols: int, most: int) -> bool:
    """Whether some restriction of at most ``most`` positions conflicts with every box, by trying all."""
    return any(
        hits(boxes, dict(zip(chosen, word, strict=True)))
        for size in range(most + 1)
        for chosen in itertools.combinations(range(positions), size)
        for word in itertools.product(range(symbols), repeat=size)
    )


Boxes = Sequence[Sequence[tuple[int, frozenset[int]]]]


def cells_of(boxes: Sequence[Mapping[int, int]]) -> Boxes:
    """The same boxes as the kernel has them."""
    return [[(p, frozenset(indices(bits))) for p, bits in sorted(box.items())] for box in boxes]


# ---------------------------------------------------------------- the tree


def random_family(rng: np.random.Generator, large: bool = False) -> tuple[list[dict[int, int]], int, int]:
    """Boxes, positions, symbols."""
    positions, symbols = int(rng.integers(5, 20) if large else rng.integers(1, 6)), int(rng.integers(2, 5))
    boxes = []
    for _ in range(int(rng.integers(5, 60) if large else rng.integers(0, 9))):
        least = 0 if not large and rng.random() < 0.1 else 1
        chosen = rng.permutation(positions)[: int(rng.integers(least, 5 if large else positions + 1))]
        boxes.append({int(p): int(rng.integers(1, (1 << symbols) - 1)) for p in chosen})
    return boxes, positions, symbols


def test_both_trees_decide_what_all_restrictions_decide() -> None:
    rng, closed = np.random.default_rng(1), 0
    for _ in range(400):
        boxes, positions, symbols = random_family(rng)
        most = int(rng.integers(0, positions + 2))
        expected = can_hit(boxes, positions, symbols, min(most, positions))
        try:
            kept, words = least_tree(boxes, symbols, most, Meter(10**9))
        except NotEstablished:
            assert expected
        else:
            cells = cells_of([boxes[box] for box in kept])
            assert Tree(cells, frozenset(range(symbols)), most).closes(iter(words), {}, frozenset())
            assert not expected
        try:
            HittingTree(list(boxes), (1 << symbols) - 1, most).run()
            closed += 1
            assert not expected
            order, _ = needed(list(boxes), (1 << symbols) - 1, most)
            assert not can_hit([boxes[t] for t in order], positions, symbols, min(most, positions))
        except Uncovered as error:
            assert expected
            fixed = symbols_at(error.node)
            assert len(fixed) <= most
            assert hits(boxes, fixed)
    assert 50 < closed < 350


def test_the_tree_asks_for_boxes_until_it_is_closed() -> None:
    everything = [{p: 1 << a} for p in range(4) for a in range(2)]
    asked: list[Open] = []

    def more(node: Open) -> list[dict[int, int]]:
        asked.append(node)
        return [next(box for box in everything if not hits([box], symbols_at(node)))]

    HittingTree([], 3, 3, more).run()
    assert asked
    assert not can_hit(everything, 4, 2, 3)
    with pytest.raises(ValueError, match="met"):
        HittingTree([{0: 1}], 3, 1, lambda node: [{0: 1}]).run()


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("small", [False, True])
def test_many_symbols_visit_the_same_nodes(large: bool, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a machine word symbols are Python's integers, and the kernel runs plainly."""
    rng, closed = np.random.default_rng(3 + small), 0
    for _ in range(150):
        boxes, _, symbols = random_family(rng, large)
        most, ends = int(rng.integers(0, 6)), []
        for plainly in (False, True):
            monkeypatch.setattr(hitting_run, "SYMBOLS", 0 if plainly else SYMBOLS)
            tree = HittingTree(list(boxes), (1 << symbols) - 1, most, lambda _: [], small=small)
            try:
                words = tree.run()
            except Uncovered as error:
                ends.append(("open", dict(error.node.symbols)))
            else:
                ends.append((words if small else [], tree.used, tree.nodes))
                closed += plainly
        assert ends[0] == ends[1]
    assert closed > 15


@pytest.mark.parametrize("small", [False, True])
def test_a_tree_goes_first_through_the_positions_that_meet_most(small: bool) -> None:
    """Boxes of five positions of their own and two of a core of eight: by position the tree has 1093 nodes."""
    pairs = itertools.combinations(range(900, 908), 2)
    family = [dict.fromkeys([*range(10 * t, 10 * t + 5), *core], 1) for t, core in enumerate(pairs)]
    tree = HittingTree(list(family), 3, 6, small=small)
    words = tree.run()
    assert tree.nodes == 43
    if small:
        cells = cells_of(family)
        assert words[:1] == [0]  # a core comes last by position
        assert Tree(cells, frozenset((0, 1)), 6).closes(iter(words), {}, frozenset())
        assert not Tree(cells, frozenset((0, 1)), 7).closes(iter(words), {}, frozenset())
    with pytest.raises(Uncovered):
        HittingTree(list(family), 3, 7).run()


def random_tree(rng: np.random.Generator, boxes: int, cells: int, depth: int) -> list[int]:
    """The words of any tree over so many boxes of so many positions."""
    kind, box = rng.random() if depth else 1.0, int(rng.integers(boxes))
    if kind < 0.6:
        kids, head = 2, [0, box, int(rng.integers(cells))]
    elif kind < 0.8:
        kids = int(rng.integers(1, cells + 1))
        head = [-kids, box]
    else:
        named = rng.permutation(boxes)[: int(rng.integers(1, boxes + 1))]
        return [len(named), *named.tolist()]
    return [*head, *(word for _ in range(kids) for word in random_tree(rng, boxes, cells, depth - 1))]


def test_no_tree_closes_where_few_positions_conflict_with_every_box() -> None:
    """Any words: the kernel's rules alone see to it, whoever wrote them. Small trees say most."""
    rng, closed, cases = np.random.default_rng(11), 0, 0
    for _ in range(800):
        symbols, most, depth = int(rng.integers(2, 4)), int(rng.integers(0, 3)), int(rng.integers(1, 4))
        family = [
            {p: int(rng.integers(1, (1 << symbols) - 1)) for p in rng.permutation(2)[: rng.integers(1, 3)].tolist()}
            for _ in range(int(rng.integers(1, 4)))
        ]
        expected = can_hit(family, 2, symbols, most)
        cells = cells_of(family)
        for _ in range(60):
            words = random_tree(rng, len(cells), 2, depth)
            if Tree(cells, frozenset(range(symbols)), most).closes(iter(words), {}, frozenset()):
                assert not expected, (family, most, words)
                closed, cases = closed + 1, cases + (words[0] == 0)
    assert closed > 500
    assert cases > 50


@pytest.mark.parametrize("plainly", [False, True])
def test_a_run_goes_on_with_the_boxes_that_it_gets(plainly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stack grows with them: positions, longer boxes, more boxes, deeper nodes."""
    monkeypatch.setattr(hitting_run, "SYMBOLS", 0 if plainly else SYMBOLS)
    rng = np.random.default_rng(8)
    hidden = [{int(p): int(rng.integers(1, 3)) for p in rng.permutation(40)[:size]} for size in range(2, 9)]
    hidden += [{p: 1 << a, (p + 7) % 40: 2 >> a} for p in range(40) for a in range(2)]

    def more(node: Open) -> list[dict[int, int]]:
        unmet = [box for box in hidden if all(p not in box or bits & box[p] for p, bits in node.symbols.items())]
        return unmet[:2]

    tree = HittingTree([], 3, 3, more)
    tree.run()
    with pytest.raises(Uncovered):
        HittingTree([], 3, 40, more).run()
    kept = [tree.boxes[t] for t in sorted(tree.used)]
    HittingTree(kept, 3, 3).run()
    assert len(kept) > 4


def test_many_symbols_are_taken_together_where_all_boxes_are_known() -> None:
    """Two boxes at a position tell at most four kinds of symbols apart; with a box for each symbol all are kept."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        boxes, positions, symbols = random_family(rng)
        wide = [{p: sum(((1 << 40) - 1) << 40 * s for s in indices(bits)) for p, bits in box.items()} for box in boxes]
        found, kinds = narrowed(wide, (1 << 40 * symbols) - 1)
        assert all(len(kind) <= symbols for kind in kinds.values())
        most, ends = int(rng.integers(0, positions + 2)), []
        for family, size in ((boxes, symbols), (wide, 40 * symbols)):
            tree = HittingTree(list(family), (1 << size) - 1, most, small=True)
            try:
                ends.append((tree.run(), tree.used, tree.nodes))
            except Uncovered as error:
                fixed = symbols_at(error.node)
                assert hits(family, fixed)
                ends.append(None)
        assert ends[0] == ends[1]
        assert found == narrowed(found, (1 << len(next(iter(kinds.values())))) - 1)[0] if kinds else True
    symbols = SYMBOLS + 1
    tree = HittingTree([{p: 1 << a} for p in range(2) for a in range(symbols)], (1 << symbols) - 1, 1)
    tree.run()
    assert tree.used


def test_disjoint_boxes_are_counted() -> None:
    assert disjoint([{0: 1, 1: 1}, {1: 1, 2: 1}, {2: 1}, {3: 1}]) == 3


# ---------------------------------------------------------------- V of a box


def random_case(rng: np.random.Generator) -> tuple[Model, int]:
    """A random program with some thousand restrictions at most."""
    document, n = generator.random_case(rng, longest_list=7, inputs=243)
    return loads(json.dumps(document).encode()), n


def random_box(rng: np.random.Generator, model: Model, n: int) -> dict[str, Any]:
    only = []
    for p in range(n):
        listed = [a for a in model.alphabet if rng.random() < 0.5]
        if p not in model.at(n).pinned and rng.random() < 0.6 and 0 < len(listed) < len(model.alphabet):
            only.append([p, 1, listed])
    cone = {v.name: [[p, 1] for p in range(n) if rng.random() < 0.8] for v in model.variables}
    return {"only": only, "cone": {name: runs for name, runs in cone.items() if runs}}


@pytest.mark.parametrize("programs", heavy_after((15, 40), 1))
def test_the_values_under_a_box_hold_all_that_occur(programs: int) -> None:
    rng, telling = np.random.default_rng(5), 0
    for _ in range(programs):
        model, n = random_case(rng)
        document = {
            "format": "restrict-lower-bound/1", "model": {"name": model.name, "sha256": model.digest}, "n": n,
            "target": "last", "claim": {"labels": {}, "others": 1},
            "boxes": [random_box(rng, model, n) for _ in range(4)],
        }  # fmt: skip
        assert model.content is not None
        task = Task(document, Place("c"), model.content, Place("m"), Path(), Meter(10**9))
        bound = Bound(task)
        rows = Rows(model.at(n), Meter(10**9))
        runs = naive.all_runs(json.loads(model.content), n, {})
        for box in read_boxes(bound):
            known = set(examined(bound, box, model.at(n), rows).values(model.output.variable, n - 1))
            output = model.output.variable
            assert known.issuperset(
                int(nodes[output, n - 1])
                for nodes in runs.values()
                if all(bits >> int(nodes["token", p]) & 1 for p, bits in box.symbols.items())
            )
            telling += len(known) < model.at(n).domains[output]
    assert telling > 0.6 * programs


# ---------------------------------------------------------------- bounds against all restrictions


@pytest.mark.parametrize("programs", heavy_after((4, 25), 1))
def test_bounds_are_never_above_the_optimum_and_reach_it(programs: int) -> None:
    rng, forced, bounded = np.random.default_rng(7), 0, 0
    for _ in range(programs):
        model, n = random_case(rng)
        best = least_forcing(meaning(model.content or b""), n, n - 1)
        assert best is not None
        found = lower_bound(model, n, seed=int(rng.integers(9)))
        assert found.stopped == "optimal"
        assert found.at_least == min(best.values())
        for label, least in found.bound.labels.items():
            assert least <= best.get(label, n + 1)
        assert found.disjoint <= found.at_least
        if found.forcing is not None:
            forced += 1
            assert len(found.forcing.restriction.fixed) == found.upper == found.at_least
        if found.at_least:
            bounded += 1
            assert check(model, found.bound) == check(model, found.bound, fast=True)
            assert check(model, found.bound).split()[4] == f"at_least={found.at_least}"
    assert forced >= 0.6 * programs
    assert bounded >= programs // 12


@pytest.mark.parametrize("seed", heavy_after(range(1, 9), 1))
def test_every_k_up_to_the_optimum_is_shown_and_no_other(seed: int) -> None:
    model = load(f"random:layers=2,heads=2,states=3,seed={seed}")
    n = 5 if seed == 1 else 7
    best = least_forcing(meaning(model.content or b""), n, n - 1)
    assert best is not None
    for k in range(min(best.values()) + 1):
        found = lower_bound(model, n, k=k)
        assert (found.at_least > k) == (k < min(best.values()))
        assert all(least <= best[label] for label, least in found.bound.labels.items())


@pytest.mark.parametrize(
    ("spec", "n", "optimum"),
    rows_after([("parity8:width=4", 40, 4), ("tribes:width=4", 40, 4), ("and-of-ors", 64, 8)], 2),
)
def test_known_optima_are_proved(spec: str, n: int, optimum: int) -> None:
    found = lower_bound(load(spec), n)
    assert (found.at_least, found.stopped) == (optimum, "optimal")
    assert check(load(spec), found.bound).split()[4] == f"at_least={optimum}"


def test_the_same_seed_gives_the_same_bytes_and_they_are_read_back(tmp_path: Path) -> None:
    model = load("random:layers=2,heads=2,states=4,seed=2")
    first, second = (lower_bound(model, 7, k=1, seed=4).bound for _ in range(2))
    assert first.to_bytes() == second.to_bytes()
    first.save(tmp_path / "b.json")
    assert LowerBound.load(tmp_path / "b.json").to_bytes() == first.to_bytes()


def test_the_tokens_of_all_boxes_are_not_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n, model = 20_000, load("random:layers=1,heads=2,states=4,seed=1")
    found = lower_bound(model, n, k=1).bound
    monkeypatch.setattr("restrict.checker.account.MEMORY", len(found.boxes) * 4 * n)
    assert check(model, found).split()[4] == "at_least=2"


def test_time_that_was_given_is_spent_where_a_box_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first searches at a node fail; without a time they are not repeated."""
    model, find, failures = load("random:layers=2,heads=2,states=4,seed=2"), BoxSearch.find, []

    def unlucky(search: BoxSearch, node: Open, label: str | None) -> list[FoundBox]:
        if len(node.symbols) == 1 and len(failures) < 3:
            failures.append(node)
            return []
        return find(search, node, label)

    monkeypatch.setattr(BoxSearch, "find", unlucky)
    assert lower_bound(model, 7, k=1).stopped == "open"
    failures.clear()
    found = lower_bound(model, 7, k=1, time=60)
    assert (found.at_least, found.stopped) == (2, "asked")
    assert len(failures) == 3
    assert failures[0] == failures[1] == failures[2]


@pytest.mark.parametrize(("spec", "n"), [("random:layers=2,heads=2,states=4,seed=2", 7), ("and-of-ors", 16)])
def test_workers_change_nothing(spec: str, n: int) -> None:
    others, alone = Others(), lower_bound(load(spec), n, k=1, seed=4).bound
    with lent(others):
        assert lower_bound(load(spec), n, k=1, seed=4).bound.to_bytes() == alone.to_bytes()
    assert others.done or spec == "and-of-ors"


def test_a_worker_out_of_time_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.optimum.box_search._attempted", lambda ground, attempt: None)
    found = lower_bound(load("random:layers=2,heads=2,states=4,seed=2"), 40, seed=4)
    assert found.stopped == "time"
    assert found.at_least >= 1


@pytest.mark.heavy
def test_the_command_gives_the_same_bound_by_two_processes(tmp_path: Path) -> None:
    words = ["lower-bound", "random:layers=2,heads=2,states=4,seed=2", "-n", "40", "-k", "2", "-o"]
    for name, more in (("alone", []), ("jobs", ["--jobs", "2"])):
        succeeded(*words, tmp_path / name, *more)
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "jobs").read_bytes()


# ---------------------------------------------------------------- forged bounds


def test_labels_that_are_not_claimed_count_as_zero_and_others_are_all_the_rest() -> None:
    model = load("random:layers=2,heads=2,states=4,seed=1")
    document = json.loads(lower_bound(model, 30, k=1).bound.to_bytes())
    label, least = next(iter(document["claim"]["labels"].items()))

    def line(**claim: Any) -> str:
        return verify(model.content or b"", json.dumps(document | {"claim": {"labels": {}} | claim}).encode())

    assert "at_least=0" in line(labels={label: least})
    rest = line(labels={label: least}, others=least)
    assert f"at_least={least}" in rest
    assert f"others={least}" in rest
    assert line(others=least)
    with pytest.raises(Reject) as refused:
        line(others=least + 1)
    assert refused.value.code == 3


# ---------------------------------------------------------------- the commands


def test_the_commands_prove_check_and_show_a_bound(tmp_path: Path) -> None:
    spec = "random:layers=2,heads=2,states=4,seed=1"
    bound = str(tmp_path / "b.json")
    found = succeeded("lower-bound", spec, "-n", "7", "-k", "1", "-o", bound)
    assert "at least 2 positions (certified bound)" in found.output
    for options in ([], ["--fast"]):
        checked = typed("check", spec, bound, *options)
        assert checked.output.startswith("s VERIFIED n=7 target=last at_least=2 labels=")
        # A limit is in the trusted checker's steps, with --fast, too.
        assert typed("check", spec, bound, "--limit", "9", *options).exit_code == 5
    assert "boxes" in typed("show", bound, "--model", spec).output
    as_json = json.loads(typed("lower-bound", "contains-one", "-n", "12", "--json").output)
    assert as_json["optimal"]
    with pytest.raises(NotEstablished, match="1 position forces the output"):
        typed("lower-bound", "contains-one", "-n", "12", "-k", "9", catch_exceptions=False)


def test_certify_says_that_its_answer_is_optimal(tmp_path: Path) -> None:
    spec = "and-of-ors"
    result = typed("certify", spec, "-n", "36", "--lower-bound", "-o", tmp_path / "c.json")
    assert "fixed, optimal: no " in result.output
    assert "force the output (proved: certified by" in result.output
    proof = LowerBound.load(tmp_path / "c.lower.json")
    fixed = json.loads((tmp_path / "c.json").read_text())["fixed"]
    assert proof.at_least(load(spec)) == sum(count for _, count, _ in fixed)


def test_a_model_without_a_file_is_checked_in_this_process() -> None:
    from restrict.model.program import Head, Map, Output

    seen = Head("seen", "token", lambda n, i, q, j, k: k, key="token")
    out = Map("out", ("seen",), 2, lambda n, i, seen: seen)
    model = Model("made", ("0", "1"), (seen, out), Output("out", accept=frozenset((1,))))
    found = lower_bound(model, 20)
    assert (found.at_least, found.stopped) == (1, "optimal")
    assert check(model, found.bound).endswith("unsigned")
    with pytest.raises(ModelError):
        check(load("contains-one"), found.bound)


def test_a_search_without_time_still_proves_that_the_output_is_not_constant() -> None:
    """Where making the first box small outlasts the time, words prove one position, for each label."""
    model = load("random:layers=2,heads=2,states=4,symbols=26,seed=1")
    found = lower_bound(model, 40, time=1e-9)
    assert (found.stopped, found.at_least, found.disjoint) == ("time", 1, 1)
    assert set(found.bound.labels) == {"accept", "reject"}
    check(model, found.bound)


@cache
def boxes_for(spec: str, n: int) -> int:
    """How many boxes prove that it takes two positions."""
    return len(lower_bound(load(spec), n, k=1).bound.boxes)


CUT = {"time": OutOfTime(), "nodes": ResourceLimit("too many nodes"), "interrupted": KeyboardInterrupt()}


@pytest.mark.parametrize("part", ["needed", "check"])
@pytest.mark.parametrize("stopped", CUT)
@pytest.mark.parametrize("n", heavy_after((7, 12), 1))
def test_a_bound_is_kept_where_trimming_or_its_check_is_cut_short(
    n: int, part: str, stopped: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Boxes that closed a tree prove its level without a second tree."""
    spec = "random:layers=2,heads=2,states=4,seed=2"
    boxes = boxes_for(spec, n)

    monkeypatch.setattr(f"restrict.optimum.lower_bound.{part}", Mock(side_effect=CUT[stopped]))
    found = lower_bound(load(spec), n, k=1)
    assert (found.at_least, found.stopped) == (2, stopped if stopped == "interrupted" else "asked")
    assert (found.checked is None) == (part == "check")
    assert len(found.bound.boxes) >= boxes
    assert "at_least=2" in check(load(spec), found.bound)
    monkeypatch.setattr("restrict.optimum.lower_bound.lower_bound", lambda *_, **__: found)
    result = typed("lower-bound", spec, "-n", n, "-k", "1", "-o", tmp_path / "b.json")
    assert result.exit_code == (130 if stopped == "interrupted" else 0)
    assert (tmp_path / "b.json").exists()
    assert "at least 2 positions" in result.output
    assert ("not yet checked" in result.output) == (part == "check")


@pytest.mark.parametrize("ends", ["time", "interrupted"])
def test_little_is_done_after_the_end(ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes are left out by trees that look at the clock, and a check that takes more than a second is not made."""
    told, checking = (
        Mock(side_effect=itertools.chain([None] * 4, [CUT[ends]], itertools.repeat(None))),
        Mock(wraps=check),
    )

    def too_late(boxes: Any, alphabet: int, most: int, limit: int, charge: Any) -> Any:
        moment = time.monotonic
        with monkeypatch.context() as later:
            later.setattr(time, "monotonic", lambda: moment() + OPTIONS.grace)
            with pytest.raises(OutOfTime):
                charge(1)
        return needed(boxes, alphabet, most, limit, charge)

    trimming = Mock(wraps=too_late)
    monkeypatch.setattr("restrict.optimum.lower_bound.check", checking)
    monkeypatch.setattr("restrict.optimum.lower_bound.needed", trimming)
    seconds = 60 if ends == "interrupted" else 0.5
    found = lower_bound(load("random:layers=2,heads=2,states=4,seed=2"), 40, time=seconds, progress=told)
    assert found.stopped == ends
    assert trimming.called
    assert max(call.kwargs["limit"] for call in checking.call_args_list) <= OPTIONS.grace * OPTIONS.checked_a_second


def test_levels_are_skipped_only_where_the_last_one_was_cheap() -> None:
    """A tree three levels on has hundreds of times as many nodes: it would not end, and prove nothing."""
    job = Job.of(load("random:layers=2,heads=2,states=4,seed=2"), 40, target="last", seed=0, time=None, progress=None)
    search = _Proving(job, 39)
    step = OPTIONS.step
    search.upper, search.before, search.nodes = step + 4, 5, 5 + OPTIONS.cheap
    assert search._next(step, None) == step + 3
    search.nodes += 1
    assert search._next(step, None) == step + 1


# ----------------------------------------------------------------
# No tree at all shows a false lower bound: a prover that tries every rule of the kernel everywhere finds none, and
# weaker rules are found out.


def false_bound(rng: random.Random) -> tuple[Boxes, frozenset[int], int]:
    """Boxes, the symbols, and a number of positions that suffices to conflict with all of them."""
    while True:
        positions, symbols, most = rng.randint(2, 4), rng.randint(2, 3), rng.randint(1, 3)
        some = (rng.sample(range(positions), rng.randint(1, positions)) for _ in range(rng.randint(1, 5)))
        boxes = [{p: rng.randint(1, (1 << symbols) - 2) for p in chosen} for chosen in some]
        if can_hit(boxes, positions, symbols, most):
            return cells_of(boxes), frozenset(range(symbols)), most


def shown(tree: Tree, has: Symbols, chosen: frozenset[int], depth: int) -> bool:
    """Whether any tree so deep closes a node: each end, each case, each branch, by the kernel's own steps."""
    numbers = range(len(tree.boxes))
    some = itertools.chain.from_iterable(itertools.combinations(numbers, k) for k in range(1, len(numbers) + 1))
    if any(tree.apart(end, has, chosen) for end in some):
        return True
    for p, a in {cell for box in tree.boxes for cell in box} if depth else ():
        old = has.get(p, tree.everything)
        outside = shown(tree, {**has, p: old - a}, chosen | {p}, depth - 1)
        if outside and shown(tree, {**has, p: old & a}, chosen, depth - 1):
            return True
    for box in numbers if depth else ():
        ways, now, left = tree.ways(box, has, chosen), dict(has), False
        for p, a in ways:
            old = now.get(p, tree.everything)
            left = left or not shown(tree, {**now, p: old - a}, chosen | {p}, depth - 1)
            now[p] = old & a
        if ways and not left:
            return True
    return False


def shown_falsely(kind: type[Tree], bounds: int, depth: int) -> int:
    """How many of some false bounds a tree shows."""
    rng = random.Random(5)
    return sum(shown(kind(*false_bound(rng)), {}, frozenset(), depth) for _ in range(bounds))


class Roomy(Tree):
    """Takes a position of the node for a new one."""

    def apart(self, boxes: Sequence[int], has: Symbols, chosen: frozenset[int]) -> bool:
        ways = [{p for p, _ in self.ways(box, has, chosen)} for box in boxes]
        return all(ways) and len(set().union(*ways)) == sum(map(len, ways)) and len(boxes) > self.most - len(chosen)


class Hasty(Tree):
    """Counts one box too few."""

    def apart(self, boxes: Sequence[int], has: Symbols, chosen: frozenset[int]) -> bool:
        return super().apart(boxes, has, chosen) or len(boxes) == self.most - len(chosen) > 0


class Blind(Tree):
    """Does not see that a chosen position may conflict, once no other may be chosen."""

    def ways(self, box: int, has: Symbols, chosen: frozenset[int]) -> list[tuple[int, frozenset[int]]]:
        return super().ways(box, has, chosen) if len(chosen) < self.most else []


def test_no_tree_shows_a_false_bound() -> None:
    assert shown_falsely(Tree, 250, 2) == 0


@pytest.mark.heavy
def test_no_deeper_tree_shows_a_false_bound() -> None:
    assert shown_falsely(Tree, 80, 3) == 0


@pytest.mark.parametrize("kind", [Roomy, Hasty, Blind])
def test_weaker_rules_are_found_out(kind: type[Tree]) -> None:
    assert shown_falsely(kind, 60, 2) > 0
