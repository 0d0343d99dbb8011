"""Evaluation agrees with the slow, obvious evaluator: all values, all attended positions, one input or a batch."""

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

import restrict
from restrict import Head, Map, Model, Output
from restrict.base.errors import ResourceLimit, UsageError
from restrict.model.examples.builtin import BUILTINS
from restrict.model.fileformat import dumps, loads
from restrict.model.on_demand import OnDemandRun
from restrict.model.trace import run_batch
from tests import documents, generator, naive
from tests.marks import heavy_after


def agree(document: dict[str, Any], n: int, words: list[list[int]]) -> None:
    """All values and attended positions of a batch, and heads on demand, in any order, are those of naive."""
    model = loads(json.dumps(document).encode())
    at = model.at(n)
    free = len(naive.letters(document, n))
    batch = run_batch(at, np.array(words, dtype=np.int64).reshape(len(words), free))
    instance = naive.at(document, n)
    for b, word in enumerate(words):
        expected = naive.run_at(instance, word)
        for name, row in expected.values.items():
            assert batch.values[name][b].tolist() == row, (name, word)
        for name, attended in expected.trace.items():
            assert batch.attended[name][b].tolist() == [-1 if j is None else j for j in attended], (name, word)
        lazy = OnDemandRun(at, list(word))
        for name, i in sorted(product(expected.trace, range(n)), key=hash):
            assert lazy.value(name, i) == expected.values[name][i], (name, i, word)


def random_words(rng: np.random.Generator, document: dict[str, Any], n: int, count: int) -> list[list[int]]:
    size, free = len(document["alphabet"]), len(naive.letters(document, n))
    return rng.integers(0, size, (count, free)).tolist()


@pytest.mark.nojit
@pytest.mark.parametrize("seeds", heavy_after((range(90), range(90, 400)), 1))
def test_random_programs_run_as_naive_runs_them(seeds: range) -> None:
    """Batches of 1 and 12 take the two ways to score a row: pair by pair, and by a table of key values."""
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        wanted = int(rng.integers(2, generator.LONGEST + 1)) if seed % 2 else None
        document = generator.random_program(rng, wanted)
        n = generator.random_length(rng, document) if wanted is None else wanted
        agree(document, n, random_words(rng, document, n, 12 if seed % 3 else 1))


@pytest.mark.parametrize("block", heavy_after(range(2), 1))
def test_the_output_at_one_position_alone(block: int) -> None:
    """With many words maps are tabulated, and what nothing reads any more is dropped: same outputs as naive's."""
    dropped = 0
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng([seed, 9])
        document = generator.random_program(rng, 4)
        model, instance = loads(json.dumps(document).encode()), naive.at(document, 4)
        words = random_words(rng, document, 4, 200)
        array = np.array(words, dtype=np.int64).reshape(200, len(naive.letters(document, 4)))
        for target in range(4):
            batch = run_batch(model.at(4), array, target)
            dropped += len(model.variables) + 2 - len(batch.values)
            output = model.output.variable
            expected = [naive.run_at(instance, word).values[output][target] for word in words[:40]]
            assert batch.values[output][:40, target].tolist() == expected
            assert (batch.values[output][:, target] == run_batch(model.at(4), array).values[output][:, target]).all()
    assert dropped > 50


@pytest.mark.parametrize("name", BUILTINS)
def test_the_example_models_run_as_naive_runs_them(name: str) -> None:
    document = BUILTINS[name]()
    n = next((m for m in (9, 16, 64) if naive.defined(document, m)), None)
    if n is not None:
        agree(document, n, random_words(np.random.default_rng(1), document, n, 3))


def test_a_batch_may_be_empty() -> None:
    batch = run_batch(restrict.load("contains-one").at(4), np.zeros((0, 4), dtype=np.int64))
    assert batch.values["seen"].shape == batch.attended["seen"].shape == (0, 4)


@pytest.mark.parametrize(
    ("words", "reason"),
    [([[0, 1]], "3 symbols at n = 3"), ([[0, 1, 2]], "outside 0..1"), ([[0, 1, -1]], "outside 0..1")],
)
def test_a_batch_of_the_wrong_shape_or_alphabet_is_refused(words: list[list[int]], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        run_batch(restrict.load("contains-one").at(3), np.array(words))


# ---------------------------------------------------------------- on demand


@pytest.mark.parametrize(
    "model", ["random:layers=3,heads=2,states=5,seed=3", "parity-attempt:layers=9", "dyck1-depth3"]
)
def test_longer_words_have_the_output_of_the_batch(model: str) -> None:
    at = restrict.load(model).at(100)
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2, (3, at.n - len(at.pinned)))
    values = run_batch(at, words).values[at.model.output.variable][:, -1]
    assert [OnDemandRun(at, w).value(at.model.output.variable, at.n - 1) for w in words.tolist()] == values.tolist()


def test_a_deep_program_needs_no_deep_stack() -> None:
    model = restrict.load("parity-attempt:layers=1001")
    word = [0, 1] * 20 + [1]
    assert OnDemandRun(model.at(43), word).label(42) == "accept"


def test_the_limit_is_kept() -> None:
    at = restrict.load("random:seed=1").at(100)
    with pytest.raises(ResourceLimit, match="too long to evaluate"):
        OnDemandRun(at, [0] * 100, limit=150).label(99)


# ---------------------------------------------------------------- one run, for people


def test_a_run_prints_every_variable_and_what_each_head_attends_to() -> None:
    assert str(restrict.load("contains-one").run("0110")).splitlines() == [
        "position      0  1  2  3", "token         0  1  1  0", "seen          1  1  1  1",
        "  attends to  1  1  1  1", "output: accept",
    ]  # fmt: skip


def test_a_run_of_a_tagger_prints_a_label_at_every_position() -> None:
    trace = restrict.load("tagger").run("abba")
    assert trace.output == ["first", "first", "double", "again"]
    assert trace.label(2) == "double"
    assert trace.label() == "again"
    lines = str(trace).splitlines()
    assert lines[-1].split() == ["output", "first", "first", "double", "again"]
    assert lines[3].split() == ["attends", "to", "-", "0", "1", "2"], "nothing is visible from the first position"
    assert all(line == line.rstrip() for line in lines)


def test_symbols_may_have_several_characters() -> None:
    model = restrict.load("flip-flop")
    for word in ("w1 i r", ["w1", "i", "r"], ("w1", "i", "r"), " w1  i\tr "):
        trace = model.run(word)
        assert trace.output == "1"
        assert trace.attended["last"].tolist() == [0, 0, 0]
    assert model.run("w0").instance.n == 1
    assert model.run("iri").output == "0"
    assert "w1" in str(model.run("w1 i r"))


def test_markers_are_inserted_and_shown() -> None:
    trace = restrict.load("parity-attempt").run("101")
    assert trace.instance.n == 5
    assert trace.values["token"].tolist() == [2, 1, 0, 1, 3]
    assert trace.output == "reject"
    assert str(trace).splitlines()[1].split() == ["token", "<", "1", "0", "1", ">"]
    assert restrict.load("parity-attempt").run("").output == "reject"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("012", "symbol '2' at index 2 of the input is not in the alphabet: 0 1"),
        (["0", "xx"], "symbol 'xx' at index 1"),
        ("0*", "symbol '*' at index 1"),
        ("", "n = 0 is out of range: 'contains-one' needs 1 <= n"),
    ],
)
def test_a_word_that_is_no_input_is_refused(word: str | list[str], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        restrict.load("contains-one").run(word)
    assert reason in str(caught.value)


# ---------------------------------------------------------------- tensors and callables


def test_a_table_score_and_a_dot_product_run_as_naive_runs_them() -> None:
    """Entries around 2^31 make products that floating point cannot hold, so they are summed as integers."""
    for big in (1, 2**31 - 1):
        keys = [[[big, 0], [big, 1]], [[1, 2], [0, 0]], [[-big, big], [2, 2]]]
        score = documents.dot("q dim", [[big, 1], [-big, 3]], "j k dim", keys)
        document = documents.model(documents.head("h", score, "position", query="token", key="token"))
        agree(document, 3, [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])


def test_callables_run_as_the_expressions_that_they_are() -> None:
    words, found = np.random.default_rng(3).integers(0, 2, (9, 6)), []
    for score, rule in (
        ("(k == q) * (j + 1) % 4", "(h + 2 * token + i) % 4"),
        (lambda n, i, q, j, k: (k == q) * (j + 1) % 4, lambda n, i, h, token: (h + 2 * token + i) % 4),
    ):
        head = Head("h", "token", score, query="token", key="token", mask="past")
        model = Model("m", ("0", "1"), (head, Map("m", ("h", "token"), 4, rule)), Output("m"))
        batch = run_batch(model.at(6), words)
        found.append((batch.values["m"].tolist(), batch.attended["h"].tolist()))
    assert found[0] == found[1]


def test_a_model_and_its_written_copy_run_alike() -> None:
    model = restrict.load("induction-head")
    copy = loads(dumps(restrict.model.fileformat.to_document(model)))
    assert copy.run("abcab").output == model.run("abcab").output == "c"
