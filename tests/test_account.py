"""The account of work: every kind of proof, made as large as its file can be, ends at once or at the limit.

A **shape** is a pair of files that need not be true or even well-formed; it is verified in a process of its own, and
what it takes is compared with the contract of docs/checker.md: about half a microsecond a step, and memory charged
before it is taken. Five times as much is allowed here, on a machine as quick as that of tests/clock.py.
"""

import json
import os
import resource
import time
import tracemalloc
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from restrict.checker import main as checker
from restrict.checker.account import MEMORY, Meter, Place, Reject, Task
from restrict.checker.costs import Costs
from restrict.checker.formats import Model
from restrict.checker.read import read_json
from tests import documents, wrong_ways
from tests import trusted as check
from tests.clock import within
from tests.documents import changed
from tests.fuzzing.kinds import Trial, sealed
from tests.fuzzing.operators import listed_in

Document = dict[str, Any]
STEP, START = 5 * 0.5e-6, 0.4
"""Processor seconds of a step at the most, and of a run that takes none."""
LIMIT, FEWER, FEW = 2_000_000, 100_000, 20_000
"""Steps that a check may take: in full, usually, and so few that it has hardly begun."""
SHAPES: dict[str, Callable[[], Trial]] = {}
shape = listed_in(SHAPES)


class Spent(NamedTuple):
    """What a verification took: its exit code, steps, processor seconds, bytes that were charged, and taken."""

    code: int
    steps: int
    seconds: float
    held: int
    taken: int


def spent(trial: Trial, limit: int) -> Spent:
    """Verify in a child, so that memory is that of this pair alone."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        os.write(writer, json.dumps(measured(trial, limit)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    assert text, "the child has died"
    return Spent(*json.loads(text))


def measured(trial: Trial, limit: int) -> Spent:
    """Verify here."""
    meters: list[Meter] = []

    class Kept(Meter):
        def __init__(self, most: int) -> None:
            super().__init__(most)
            meters.append(self)

    proof = written(trial, limit)
    checker.Meter = Kept
    before, start, code = peak(), time.process_time(), 0
    try:
        checker.verify(trial.model, trial.proof, limit=limit, proof=proof)
    except Reject as reject:
        code = reject.code
    except MemoryError:
        code = 5
    seconds = time.process_time() - start
    return Spent(code, limit - meters[0].left, seconds, meters[0].held, peak() - before)


def written(trial: Trial, limit: int) -> Callable[..., bytes]:
    """The elaborator's answer, which is no work of the checker's."""
    try:
        made = check.elaborated_here(trial.model, trial.proof, Path(), ["model", "certificate"], limit)
    except Reject as reject:
        code, reason = reject.code, str(reject)

        def refuse(*_: object) -> bytes:
            raise Reject(code, reason)

        return refuse
    return lambda *_: made


def peak() -> int:
    """The most bytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


# ---------------------------------------------------------------- proofs for all lengths

COPY = documents.head("h", "0", ties="right")
LAST = documents.model(COPY, alphabet="ab", position="last", accept=[1], name="last")
"""Copies the last symbol."""
HEAD = {"name": "h", "queries": [0], "pairs": [0, 1], "boxes": [[[-1]], [[-1, 0, 1]]], "left": [[0], [1]]}
"""What its proof says of the head."""
FORCES = {"kind": "forces", "label": "accept", "start": [], "middle": ["*"], "end": ["b"], "from": 1}


def side(states: int, letters: int = 2) -> Document:
    """Refined states over the two classes 0 and 1, all merged into one: after the start, each leads to the next."""
    after = [[min(q + 1, states - 1)] * letters for q in range(states)]
    return {"base": [0] + [1] * (states - 1), "delta": after, "merge": [0] * states, "next": [[0] * letters]}


def proof(claim: Document, model: Document = LAST, states: int = 2, **more: Any) -> Trial:
    """The two layers that prove what `LAST` says; the first one may be larger than it needs to be."""
    symbols = len(model["alphabet"])
    pairs = list(range(symbols))
    keep, labels = more.pop("kept", ["h@pair"]), more.pop("labels", [[p] for p in pairs])
    first: Document = {"heads": [], "left": side(states, symbols), "right": side(2, symbols), "keep": keep}
    first |= {"labels": labels, "table": [[[p] for p in pairs]]}
    merged = [[0] * symbols]
    head = HEAD | {"pairs": pairs, "boxes": [[[-1]], [[-1, *pairs]]]}
    last: Document = {"heads": [head], "keep": ["@label"], "labels": [[0], [1]]}
    last["left"] = {"base": [0, 0], "delta": [[1] * symbols] * 2, "merge": [0, 0], "next": merged}
    last["table"] = [[[+(p == 1)] for p in pairs]]
    document = {"format": "restrict-automaton/1", "model": {"name": model["name"]}, "n": 2}
    document |= {"threshold": 1, "period": 1, "layers": [first, last], "claim": claim}
    return sealed(model, document | more)


def test_the_shapes_begin_as_a_proof() -> None:
    trial = proof(FORCES)
    line = checker.verify(trial.model, trial.proof)
    assert line.startswith("s VERIFIED all-lengths forces=accept fixed=1 period=1 n>=1 states=1 ")


def with_layer(changes: Document, at: int = 1, **more: Any) -> Trial:
    """The proof with other parts of a layer, by their paths in it."""
    model, document = proof(FORCES, **more).documents()
    changed(document["layers"][at], changes)
    return sealed(model, document)


def first_head(queries: int, pairs: int) -> Document:
    """The changes of the proof to so many queries and pairs, with boxes in which nothing has been read."""
    boxes = [[[-1]] * queries] * 2
    return {"heads.0.queries": list(range(queries)), "heads.0.pairs": list(range(pairs)), "heads.0.boxes": boxes}


def cycling(period: int) -> Document:
    """A complete automaton that counts letters modulo a number."""
    return wrong_ways.automaton([[(q + 1) % period] * 2 for q in range(period)], [0])


def wide(domain: int) -> Document:
    """A variable of so many values."""
    return documents.map_("w", ["token"], domain, "token")


def scoring(score: Any, *before: Document, **head: str) -> Document:
    """`LAST` with another head, after other variables."""
    return {**LAST, "variables": [*before, {**COPY, "score": score, **head}]}


def nested(text: str, middle: str = "i % 1", depth: int = 40) -> str:
    """An expression within itself, so many times."""
    for _ in range(depth):
        middle = text.replace("_", middle)
    return middle


def scored(score: str) -> Trial:
    """The proof for another score, with queries and boxes for all classes of positions."""
    return with_layer(first_head(4, 2), model=scoring(score))


def long_sum(term: str, count: int) -> str:
    """So many terms, in parentheses by halves."""
    parts = [term] * count
    while len(parts) > 1:
        parts = [f"({a}+{b})" for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


SHAPES |= {
    "four thousand classes": lambda: proof(FORCES, threshold=1, period=4095),
    "a thousand classes": lambda: proof(FORCES, threshold=500, period=500),
    "a long threshold": lambda: proof(FORCES, threshold=900, period=1),
    "classes and many letters": lambda: proof(
        FORCES, {**LAST, "alphabet": [f"s{at}" for at in range(3000)]}, threshold=10, period=5
    ),
    "many labels without names": lambda: proof(
        FORCES | {"label": "0"}, documents.model(wide(1_000_000), alphabet="ab", position="last", name="wide")
    ),
    "many states": lambda: proof(FORCES, states=200_000),
    "many states of which the last is wrong": lambda: with_layer(
        {"left": side(100_000), "left.delta.99999": [0, 0]}, at=0
    ),
    "a box with many entries": lambda: with_layer({"heads.0.boxes.1": [[-1] + [0, 1] * 400_000]}),
    "many boxes": lambda: with_layer({"heads.0.boxes": [[[-1]], [[-1, 0, 1]], *[[[-1, 0, 1]]] * 200_000]}),
    "many heads": lambda: with_layer({"heads": [HEAD] * 3000}),
    # Rows of labels are compared at every position.
    "a value kept a hundred thousand times": lambda: with_layer(
        {"keep": ["h@pair"] * 20_000, "labels": [[0] * 20_000, [1] * 20_000]}, at=0, states=1000
    ),
    "many labels": lambda: with_layer({"labels": [[0], [1], *[[0]] * 300_000]}),
    # A table of scores, of which every entry is tabulated.
    "many queries and pairs": lambda: with_layer(
        first_head(300, 450), model=scoring("hash(q, k)", wide(300), query="w", key="w", value="w"),
        kept=["h@query", "h@pair"], labels=[[0, 0], [1, 301]],
    ),
    # `follows` looks each extended entry up in a set as large.
    "a box of many pairs that is extended": lambda: with_layer(
        {"heads.0.pairs": list(range(1500)), "heads.0.boxes": [[[-1]], [[-1, *range(1500)]]]},
        model=scoring("0", wide(1500), value="w"),
    ),
    # A comparison of positions is tried on all points of its classes.
    "a score over four classes": lambda: proof(
        FORCES, scoring("(i % 61 + j % 59 > n % 53) * 2"), threshold=1, period=61 * 59
    ),
    "a form of many operators": lambda: proof(FORCES, scoring("+".join(["j % 7"] * 900)), threshold=1, period=7),
    "a form for each of many values": lambda: proof(
        FORCES, scoring("(q + k) % 3 + j % 1", wide(1000), query="w", key="w")
    ),
    # The larger of a number and its negative, of which both are again made of two.
    "a score of nested abs": lambda: scored(nested("abs(_)")),
    # What stands in the middle of a chain is compared twice.
    "a score of nested chains": lambda: scored(nested("(0 <= _ <= 1)")),
    "a map of nested chains": lambda: proof(
        FORCES, scoring("0", {**wide(2), "map": nested("(0 <= _ <= 1)", "token")}, value="w")
    ),
    # A comparison of 2048 terms, at 500 classes on both sides.
    "a long sum that is tried at all points": lambda: proof(
        FORCES, scoring(f"i % 500 + n + {long_sum('i//1', 1024)} < 5")
    ),
    "a window of thousands": lambda: proof(FORCES, scoring("j - i > -3000")),
    "a pattern from a million": lambda: proof({**FORCES, "from": 1_000_000}),
    "a pattern with a long middle": lambda: proof({**FORCES, "middle": ["*", "a", "b"] * 200_000}),
    "a pattern with long ends": lambda: proof(
        {**FORCES, "start": ["a"] * 400_000, "end": ["b"] * 400_000, "from": 1_000_000}
    ),
}  # fmt: skip


@shape
def a_long_condition_at_all_classes() -> Trial:
    """Whether the model is defined, asked at every pair of classes."""
    model = {**LAST, "when": f"{long_sum('n%1', 512)} >= 0"}
    whole = side(201) | {"base": list(range(201))}
    changes = {"left": whole, "right": whole, "keep": ["h@pair", "@when"], "labels": [[0, 1], [1, 1]]}
    return with_layer(changes, at=0, model=model, threshold=200, period=1)


@shape
def maps_of_many_arguments() -> Trial:
    """Each map of a long list, of which the last one reads all, at every pair of classes."""
    names = [f"a{at}" for at in range(256)]
    rules = [(name, names[:at], "0") for at, name in enumerate(names)]
    sum_ = long_sum("_", 256).replace("_", "{}").format(*names)
    maps = [documents.map_(name, args, 1, rule) for name, args, rule in [*rules, ("all", names, sum_)]]
    whole = side(17) | {"base": list(range(17))}
    changes = {"left": whole, "right": whole, "keep": ["h@pair", "all"], "labels": [[0, 0], [1, 0]]}
    return with_layer(changes, at=0, model=scoring("0", *maps), threshold=16, period=1)


@shape
def a_start_box_of_many_entries_behind_many_states() -> Trial:
    """That nothing has been read is looked up in the box of the start, for every right state."""
    states = 3000
    model, document = proof(FORCES).documents()
    first, last = document["layers"]
    right = side(states)
    first["right"] = right | {"merge": list(range(states)), "next": right["delta"]}
    first["table"] = [[[0] * states, [1] * states]]
    last["heads"][0] |= {"boxes": [[[0] * 300_000 + [-1]], [[-1, 0, 1]]], "left": [[0] * states, [1] * states]}
    return sealed(model, document)


def differs(language: Document, word: list[str], start: int = 1, shortest: int = 0) -> Trial:
    """The model is wrong about a language at a word."""
    return proof({"kind": "differs", "language": language, "word": word, "from": start, "shortest": shortest})


def agrees(language: Document, start: int) -> Trial:
    """The model recognises a language from a length on."""
    return proof({"kind": "recognises", "language": language, "from": start})


def machine(labels: list[str], moves: list[list[int]]) -> Document:
    """A machine whose states all have the first label."""
    return {"alphabet": ["a", "b"], "labels": labels, "transitions": moves, "output": [0] * len(moves)}


def costs(costs: list[int], settled: int, turn: int) -> Trial:
    """What it costs to force a label at every length."""
    claim = {"kind": "cost", "label": "accept", "costs": costs, "growth": [0], "settled": settled, "turn": turn}
    return proof(claim)


def lengths(language: Document, settled: int, turn: int, early: list[int]) -> Trial:
    """At which lengths the model is wrong about a language."""
    found = {"early": early, "cycle": [1]}
    claim = {"kind": "lengths", "language": language, "settled": settled, "turn": turn, "least": found, "most": found}
    return proof(claim)


MILLION = ["a", "b"] * 500_000
DYCK = {"name": "dyck", "alphabet": ["a", "b"]}
SHAPES |= {
    "a word of a million symbols": lambda: differs(cycling(2), MILLION),
    "a word of a million symbols and none shorter": lambda: differs(cycling(5), MILLION, 1_000_000, 1),
    "a word of a million symbols that deviates": lambda: proof(
        {"kind": "deviates", "machine": machine(["accept"], [[0, 0]]), "word": ["a"] * 1_000_000, "from": 1,
         "shortest": 0}
    ),
    "an automaton of many states": lambda: agrees(cycling(200_000), 0),
    "agreement from a million on": lambda: agrees(cycling(3), 1_000_000),
    "a machine of many states": lambda: proof(
        {"kind": "computes", "from": 1,
         "machine": machine(["accept", "reject"], cycling(200_000)["transitions"])}
    ),
    "palindromes that agree for long": lambda: differs(
        {"name": "palindromes", "alphabet": ["a", "b"]}, ["a"] * 40 + ["b"], 35, 1
    ),
    "costs of a long list": lambda: costs([-1] + [1] * 99_999, 100_000, 1),
    "costs of a long turn": lambda: costs([-1, 1], 2, 40_000),
    "lengths that settle late": lambda: lengths(DYCK, 20_000, 7, [0, 1]),
    "lengths of an automaton of many states": lambda: lengths(cycling(3000), 0, 3000, []),
    "lengths of a deep language": lambda: lengths({**DYCK, "depth": 1 << 40}, 5, 2, []),
    "sets of lengths with long lists": lambda: lengths(
        {"name": "majority", "alphabet": ["a", "b"]}, 5, 2, [0, 1] * 200_000
    ),
}  # fmt: skip


# ---------------------------------------------------------------- proofs at one length


def certificate(n: int) -> Document:
    """What `LAST` depends on."""
    return wrong_ways.certificate(n, cone={"h": [[n - 1, 1]]})


def refutation(n: int, language: Document, **more: Any) -> Trial:
    """Two words that differ at the start only, letter by letter."""
    words = ["".join("ab"[at % 3 == 0 and at > first] for at in range(n)) for first in (-1, 0)]
    return sealed(LAST, wrong_ways.refutation(certificate(n), *words, language, **more))


def bound(n: int, boxes: list[Document], **labels: int) -> Trial:
    """A lower bound for `LAST`."""
    return sealed(LAST, wrong_ways.bound(n, boxes, **labels))


def single_boxes(count: int, cone: Document) -> list[Document]:
    """Boxes of one position each."""
    return [{"only": [[at, 1, ["a"]]], "cone": cone} for at in range(count)]


def one_box(n: int) -> Trial:
    """A box of all positions."""
    return bound(n, [{"only": [[0, n, ["a"]]], "cone": {"h": [[n - 1, 1]]}}], accept=1)


@shape
def a_dot_product_behind_many_tables() -> Trial:
    """Every entry of a row of a product is looked up in a table of its own number."""

    def product(dim: int) -> Document:
        return {"dot": {role: {"axes": ["dim"], "values": [1] * dim} for role in ("query", "key")}}

    heads = [{**COPY, "name": f"h{at}", "score": product(1)} for at in range(3000)]
    return sealed(scoring(product(50_000), *heads), certificate(2))


SHAPES |= {
    "two words of many runs": lambda: refutation(100_000, {"name": "parity", "alphabet": ["b", "a"]}),
    "errors over many states": lambda: refutation(3_000, cycling(300), errors="1"),
    "errors of many digits": lambda: refutation(3_000, cycling(2), errors="f" * 100_000),
    "many boxes of a bound": lambda: bound(20_001, single_boxes(20_000, {}), accept=3),
    "a box of many positions": lambda: one_box(10_000),
    "a box of hundreds of thousands of positions": lambda: one_box(400_000),
    "boxes that examine much": lambda: bound(2000, single_boxes(30, {"h": [[0, 2000]]}), accept=1, reject=1),
}


# ---------------------------------------------------------------- the account

SLOW = {"a box of hundreds of thousands of positions"}
"""Writing their proofs takes many seconds."""
TWINS = {
    "an automaton of many states", "many states of which the last is wrong", "a pattern with long ends",
    "a word of a million symbols and none shorter",
}  # fmt: skip
"""Within a few steps they are as another shape is."""
SECONDS = SLOW | {
    "a machine of many states", "a pattern with a long middle", "an automaton of many states", "many boxes",
    "many boxes of a bound", "many labels", "many states", "two words of many runs",
    "boxes that examine much", "a word of a million symbols and none shorter",
    "a word of a million symbols that deviates", "a pattern with long ends", "a box with many entries", "many heads",
    "sets of lengths with long lists", "many states of which the last is wrong",
    "a start box of many entries behind many states",
}  # fmt: skip
"""Their checks take more than a quarter of a second."""
AGAIN = {
    "a long condition at all classes", "a pattern from a million", "lengths of a deep language",
    "palindromes that agree for long",
}  # fmt: skip
"""Their checks repeat themselves until the limit, so that the smaller one says it all."""
assert SHAPES.keys() >= SECONDS | AGAIN


def by_limit(shapes: Iterable[str], again: set[str], seconds: Collection[str] = ()) -> list[Any]:
    """Each shape with the smaller limit, or a few steps where it takes seconds; in full with the larger."""
    slow = SLOW | TWINS
    few = [pytest.param(x, FEW if x in seconds else FEWER, marks=[pytest.mark.slow] * (x in slow)) for x in shapes]
    return few + [pytest.param(x, FEW if x in again else LIMIT, marks=pytest.mark.slow) for x in shapes]


def keeps_the_contract(trial: Trial, limit: int) -> None:
    """Each step takes no longer than docs/checker.md says, and the memory is what is charged. A limit of a few steps
    ends it, too (or there is an answer), at the price of reading the files; the usual one says nearly the same."""
    if limit != FEWER:
        found = spent(trial, FEW)
        assert found.code in (3, 4, 5), found
        assert found.steps <= FEW
        within(found.seconds, 0.3 + 1e-7 * (len(trial.model) + len(trial.proof)))
    if limit != FEW:
        found = spent(trial, limit)
        assert found.code in (0, 3, 4, 5), found
        within(found.seconds, START + STEP * found.steps)
        assert found.taken < (256 << 20) + 1.5 * found.held, found


@pytest.mark.parametrize(("name", "limit"), by_limit(SHAPES, AGAIN, SECONDS))
def test_a_step_takes_no_longer_than_the_contract_says(name: str, limit: int) -> None:
    keeps_the_contract(SHAPES[name](), limit)


def test_a_table_of_scores_is_charged_before_it_is_made() -> None:
    """A file of 200 kB asks for 30 million scores."""
    model = scoring("q * k + 1000", wide(1000), query="w", key="w", value="w")
    kept = {"kept": ["h@query", "h@pair"], "labels": [[0, 0], [1, 1001]]}
    found = spent(with_layer(first_head(1000, 30_000), model=model, **kept), 10**9)
    assert found.code == 5
    assert found.taken < 128 << 20
    within(found.seconds, 2)


def test_the_memory_of_costs_is_what_is_charged() -> None:
    """Every set of states costs more than 256, so each number would be an object of its own."""
    nodes, turn = 40, 200
    edges = [[nodes, (u + 1) % nodes, (u + 2) % nodes] for u in range(nodes)] + [[nodes] * 3]
    claim = {"costs": [0], "growth": [0], "settled": 100, "turn": turn}
    meter = Meter(10**9)
    tracemalloc.start()
    try:
        Costs(claim, Place("c"), meter).check(edges, [nodes], 1)
        assert tracemalloc.get_traced_memory()[1] < (1 << 17) + meter.held
    finally:
        tracemalloc.stop()


def test_the_memory_of_a_check_is_bounded() -> None:
    """Whatever the limit on steps is, what is charged stays below 2 GiB."""
    found = spent(SHAPES["four thousand classes"](), 10**12)
    assert found.code == 5
    assert found.held <= MEMORY
    assert found.taken < MEMORY


def test_what_json_becomes_is_charged() -> None:
    """An object takes more than a microsecond, whatever its bytes."""
    meter = Meter(10**9)
    read_json(b"[" + b",".join([b"{}"] * 10_000) + b"]", Place("c"), meter)
    assert meter.limit - meter.left >= 2 * 10_000


def test_the_memory_of_operations_is_what_is_charged() -> None:
    """Those of a dot product, of which each entry has five."""
    row = {"axes": ["dim"], "values": [1] * 20_000}
    model = documents.model(documents.head("h", {"dot": {"query": row, "key": row}}))
    content = json.dumps(model).encode()
    meter = Meter(10**9)
    tracemalloc.start()
    try:
        Model(Task({}, Place("c"), content, Place("m"), Path(), meter), 2)
        assert tracemalloc.get_traced_memory()[1] < (1 << 20) + meter.held
    finally:
        tracemalloc.stop()


def test_queries_and_pairs_that_may_collide_are_charged() -> None:
    """Numbers can be chosen so that a dictionary compares each with each: 18 000 took a quarter of a second."""

    def steps(count: int) -> int:
        model = scoring("0", wide(count), value="w")
        return spent(with_layer({"heads.0.pairs": list(range(count))}, model=model), 10**9).steps

    assert steps(40_000) - steps(10_000) >= (40_000**2 - 10_000**2) >> 10


def test_an_offer_does_not_look_at_all_forms_of_its_score() -> None:
    """A score has a form for each query and key, and a proof asks for the score of each."""
    model = scoring("(q + k) % 3 + j % 1", wide(100), query="w", key="w")
    found = spent(with_layer(first_head(100, 100), model=model, kept=["h@query"], labels=[[0], [1]]), 10**9)
    assert found.code == 3
    within(found.seconds, 3)
