"""Random programs at every length: the automaton, and what is proved about it, against the words; and the sweep's own
eyes: an automaton, a label or a claim that is wrong is seen.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths import bimachine as machines
from restrict.all_lengths.meeting import row_numbers
from restrict.all_lengths.moore import moore
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import Built, build
from restrict.base.errors import NotEstablished
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.claims import CLAIMS
from restrict.checker.costs import INFINITE, Costs
from restrict.kernels import refinement
from restrict.model.fileformat import dumps, loads
from restrict.model.source import load
from scripts import all_lengths_sweep
from tests import documents, every_length
from tests.fuzzing.at_all_lengths import judge
from tests.fuzzing.kinds import Trial
from tests.generator import random_transformer
from tests.length_claims import Subject
from tests.marks import rows_after
from tests.test_all_lengths_proofs import check_costs, naive_walks


@pytest.mark.parametrize(("seed", "programs"), rows_after([(6, 8), (11, 60), (11, 3000)], 1))
def test_random_programs_are_at_every_length_what_their_automata_say(seed: int, programs: int) -> None:
    total = every_length.Result()
    for index in range(programs):
        total.add(every_length.swept(seed, index, 0.9))
    assert total.wrong == []
    assert total.claims["refused"] <= 0.02 * programs
    assert total.counts["accepted"] > 0.6 * programs
    assert total.counts["short words"] > 100 * programs
    assert total.counts["long words"] > 3 * programs
    assert total.counts["far words"] > 0.6 * programs
    assert sum(total.claims.values()) > 0.5 * programs
    assert min(total.claims[kind] for kind in CLAIMS) >= programs // 600, total.claims
    assert total.claims["out of steps"] <= programs // 20


def test_the_programs_do_not_depend_on_the_number_of_the_run() -> None:
    assert every_length.swept(3, 5, 1.0) == every_length.swept(3, 5, 1.0)


# ---------------------------------------------------------------- what is wrong is seen


def subject(name: str) -> tuple[Subject, every_length.Table]:
    """An instance with its automaton, and its words."""
    content = load(name).content
    return with_words(Subject(json.loads(content), content))


def with_words(found: Subject) -> tuple[Subject, every_length.Table]:
    """The same of any model."""
    rng, program = np.random.default_rng(0), found.built.program
    return found, every_length.run(rng, found.document, program, every_length.Result().counts)


def disagreements(found: Subject, table: every_length.Table) -> int:
    """On how many words the automaton says something else."""
    rows = [(n, word, labels) for n, row in table.items() for word, labels in row.items()]
    return sum(every_length.disagreement(found, n, word, labels) is not None for n, word, labels in rows)


def test_an_automaton_with_a_wrong_label_or_successor_is_seen() -> None:
    found, table = subject("contains-one")
    assert disagreements(found, table) == 0
    found.moore.label[:] = found.moore.label[::-1].copy()
    assert disagreements(found, table) > 100
    found, table = subject("contains-one")
    found.moore.delta[-1, 0] = 0
    assert disagreements(found, table) > 100


def test_a_bimachine_with_a_wrong_label_is_seen() -> None:
    model = documents.model(documents.head("h", "k", key="token", mask="future"), alphabet="ab", labels=["x", "y"])
    found, table = with_words(Subject(model, dumps(model)))
    assert disagreements(found, table) == 0
    found.built.machine.left[0, 0], found.built.machine.lab[:] = 0, found.built.machine.lab.max()
    assert disagreements(found, table) > 100


DFA = {"format": "restrict-dfa/1", "alphabet": ["0", "1"], "start": 0, "transitions": [[0, 1], [1, 1]]}
CONTAINS: dict[str, Any] = DFA | {"accept": [1]}
ALWAYS, NEVER = {"early": [0], "cycle": [1]}, {"early": [0], "cycle": [0]}
FORCES = {"kind": "forces", "label": "accept", "middle": ["*"], "end": [], "from": 1}
COST = {"kind": "cost", "label": "reject", "costs": [0, 1], "growth": [1]}
FALSE = [
    ({"kind": "recognises", "language": CONTAINS, "from": 1}, {"language": DFA | {"accept": [0]}}),
    (
        {"kind": "differs", "language": DFA | {"accept": [0]}, "word": ["0"], "from": 1, "shortest": 1},
        {"word": ["0"] * 3},
    ),
    ({"kind": "differs", "language": DFA | {"accept": []}, "word": ["1"], "from": 1, "shortest": 1}, {"word": ["0"]}),
    (FORCES | {"start": ["1"]}, {"start": ["0"]}),
    (FORCES | {"start": []} | {"end": ["1"]}, {"end": ["*"]}),
    (COST, {"costs": [0, 0]}),
    (COST, {"growth": [0]}),
    (COST | {"label": "accept", "costs": [-1, 1], "growth": [0]}, {"costs": [-1, 2]}),
    ({"kind": "lengths", "language": DFA | {"accept": []}, "least": ALWAYS, "most": ALWAYS}, {"most": NEVER}),
    ({"kind": "lengths", "language": CONTAINS, "least": NEVER, "most": NEVER}, {"least": ALWAYS}),
]


@pytest.mark.parametrize(("claim", "change"), FALSE)
def test_a_false_claim_is_seen(claim: dict[str, Any], change: dict[str, Any]) -> None:
    model = load("contains-one").content
    judged = [judge(Trial(model, json.dumps({"n": 2, "claim": one}).encode())) for one in (claim, claim | change)]
    assert judged == ["true", "false"]


def test_an_exception_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("j")

    monkeypatch.setattr(every_length, "Subject", broken)
    found = every_length.swept(0, 0, 0.0)
    assert [note for note, _ in found.wrong] == ["KeyError: 'j' (test_every_length.py, broken)"]


def test_the_script_writes_what_is_wrong_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model = {"name": "m"}
    wrong = every_length.Result(wrong=[("not so", model)])
    monkeypatch.setattr(every_length, "swept", lambda *_: wrong)
    output, folder = tmp_path / "sweep.json", tmp_path / "failures"
    monkeypatch.setattr("sys.argv", ["sweep", "--programs", "2", "--folder", str(folder), "-o", str(output)])
    assert all_lengths_sweep.main() == 1
    assert "wrong: 2" in capsys.readouterr().out
    assert [json.loads((folder / f"{k}.m.json").read_text()) for k in (0, 1)] == [model, model]
    assert json.loads(output.read_text())["wrong"] == 2


# ----------------------------------------------------------------
# States are merged only where they are the same: with hash functions that collide all the time, nothing changes.


def slow(function: Any) -> Any:
    """A kernel as plain Python, which reads the names of its module."""
    return getattr(function, "py_func", function)


def weak(bits: int) -> Callable[[int, int], int]:
    """A hash function of few bits, another one for every seed."""
    return lambda h, a: int((h * 5 + int(a) * 3 + (h >> 2) + 1) & ((1 << bits) - 1))


def small(seed: int) -> Built:
    model = loads(json.dumps(random_transformer(np.random.default_rng(seed), 2, 2, 4)).encode())
    return build(recognise(model))


def test_rows_are_numbered_as_they_are_met() -> None:
    rows = np.random.default_rng(0).integers(3, size=(200, 4)).astype(np.int32)
    expected = {row: at for at, row in enumerate(dict.fromkeys(map(tuple, rows.tolist())))}
    assert row_numbers(rows).tolist() == [expected[tuple(row)] for row in rows.tolist()]
    assert row_numbers(rows.reshape(-1), ends=np.array([0, 2, 2, 3, 5])).shape == (4,)


def test_states_are_merged_where_no_word_tells_them_apart() -> None:
    """The classes are those of the words of up to as many letters as there are states, numbered as they come."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        delta = rng.integers(-1, 9, size=(9, 2)).astype(np.int32)
        first = rng.integers(2, size=9).astype(np.int32)
        told = [(int(a),) for a in first]  # what words of so many letters, and one more each round, say of a state
        for _ in range(9):
            told = [(told[q], *(told[p] if p >= 0 else None for p in delta[q])) for q in range(9)]
        number = {what: at for at, what in enumerate(dict.fromkeys(told))}
        cls, table, reps = machines.merged(delta, first)
        assert cls.tolist() == [number[what] for what in told]
        assert reps.tolist() == [told.index(what) for what in number]
        assert table.tolist() == [[cls[p] if p >= 0 else -1 for p in delta[q]] for q in reps]


def test_giving_up_is_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "refine_cells", lambda *_: (np.zeros(3, dtype=np.int32), False))
    with pytest.raises(NotEstablished, match="merged wrongly with 16 hash functions"):
        small(3)


def test_summaries_are_compared_and_not_only_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition refinement of triples with a weak hash: exact, or it says that it is not."""
    asked: list[Any] = []
    real = refinement.refine_cells
    monkeypatch.setattr(refinement, "refine_cells", lambda *args: asked.append(args) or real(*args))
    assert moore(small(3)).states > 1
    monkeypatch.undo()
    right = [real(*args, 7)[0] for *args, _ in asked[:6]]  # before the hash is weak: a kernel may run as plain Python
    monkeypatch.setattr(refinement, "_group", slow(refinement._group))
    monkeypatch.setattr(refinement, "mix", weak(5))
    said = []
    for (*args, _), exact in zip(asked[:6], right, strict=True):
        for seed in range(3):
            found, verified = slow(real)(*args, seed)
            said.append(verified)
            if verified:
                assert len(np.unique(found)) == len(np.unique(exact))
                pairs = set(zip(found.tolist(), exact.tolist(), strict=True))
                assert len(pairs) == len(np.unique(exact))
    assert True in said


# ----------------------------------------------------------------
# Costs claimed of every length are those of all walks: each condition of Theorem D is needed, and together they do.


FAR = 120
"""Lengths up to which a claim is compared with the walks."""


def taken(edges: list[list[int]], goals: list[int], fields: dict[str, Any]) -> bool:
    """Whether the checker takes a claim."""
    try:
        check_costs(fields, edges, goals)
    except Reject:
        return False
    return True


def true(edges: list[list[int]], goals: list[int], fields: dict[str, Any]) -> bool:
    """Whether a claim is that of the walks, as far as ``FAR``."""
    claim = Costs(fields, Place("c"), Meter(10**9))
    said = [-1 if claim.at(t) == INFINITE else claim.at(t) for t in range(FAR + 1)]
    return said == naive_walks(edges, goals, FAR + 1)


def claims(edges: list[list[int]], goals: list[int]) -> list[dict[str, Any]]:
    """What the first costs look like they go on with, for several beginnings and periods."""
    found, costs = [], naive_walks(edges, goals, 61)
    for settled in (1, 2, 4, 9, 13, 25):
        for period in (1, 2, 3):
            for turn in (period, 2 * period):
                late = range(settled, settled + period)
                growth = [max(costs[t + period] - costs[t], 0) if costs[t] >= 0 else 0 for t in late]
                known = costs[: settled + period]
                found.append({"costs": known, "growth": growth, "settled": settled, "turn": turn})
    return found


def overtaken(steps: int) -> tuple[list[list[int]], list[int]]:
    """One walk pays 1 for every other edge; another pays ``steps`` at first and nothing more, but meets the first only
    in front of the goal. Node 1 leads nowhere."""
    goal, paid, loop, free, *chain = range(2, 6 + steps)
    edges = [[loop, chain[0]], [1], [1], [loop, goal], [1, paid, goal], [free, goal]]
    edges += [[1, later] for later in [*chain[1:], free]]
    return edges, [goal]


@pytest.mark.parametrize("steps", [5, 8, 20])
def test_a_walk_that_is_overtaken_later_is_not_settled(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    edges, goals = overtaken(steps)
    asked = [fields for fields in claims(edges, goals) if not true(edges, goals, fields)]
    assert asked
    assert not any(taken(edges, goals, fields) for fields in asked)
    monkeypatch.setattr(Costs, "step", lambda *_: None)
    assert any(taken(edges, goals, fields) for fields in asked)


@pytest.mark.parametrize("weaker", [None, "step", "end"])
def test_what_is_taken_is_true_at_every_length(weaker: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random graphs, and some in which one walk overtakes another; without a condition some claim is false."""
    rng, said = np.random.default_rng(3), {True: 0, False: 0}
    if weaker is not None:
        monkeypatch.setattr(Costs, weaker, lambda *_: None)
    for trial in range(20):
        count = int(rng.integers(2, 7))
        edges = [rng.choice(count, int(rng.integers(1, 4)), replace=False).tolist() if count > 3 else [1, 0]
                 for _ in range(count)]  # fmt: skip
        goals = sorted(rng.choice(count, int(rng.integers(1, 3)), replace=False).tolist())
        if trial % 10 == 0:
            edges, goals = overtaken(int(rng.integers(4, 9)))
        for fields in claims(edges, goals):
            if taken(edges, goals, fields):
                said[true(edges, goals, fields)] += 1
    assert said[True] > 30
    assert (said[False] > 0) == (weaker is not None), said
