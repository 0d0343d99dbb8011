"""Symbols that a program cannot tell apart: the kinds, runs on alike words, and the abstract run by kinds."""

import numpy as np
import pytest

import restrict
from restrict.abstract.run import abstract_run
from restrict.model import alike
from restrict.model.alike import kinds_of
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Head, Map, Model, Output
from restrict.model.restriction import Restriction
from restrict.model.rules import Dot, Table
from tests import documents
from tests.marks import heavy_after

SCORES = (
    "k % 3 + j", "hash(j, k // 16)", "(k == 2) * 5 - abs(i - j)", "hash(i, q % 2, j, min(k, 2))",
    "(k > 20) + (q > 20)", "table", "dot",
)  # fmt: skip


def model_of(seed: int, symbols: int = 40) -> Model:
    """Two heads and two maps that see little of a symbol; some with markers, masks, copies of copies."""
    rng = np.random.default_rng(seed)
    total = symbols + 2 * (seed % 2)

    def score() -> str | Table | Dot:
        text = SCORES[int(rng.integers(len(SCORES)))]
        rows = rng.integers(0, 5, (2, 4))[rng.integers(2, size=total)]
        if text == "dot":
            return Dot(Table(("q", "dim"), rows), Table(("k", "dim"), rows[:, ::-1].copy()))
        return Table(("k", "q"), rows @ rows.T) if text == "table" else text

    def head(name: str, value: str, read: str) -> Head:
        mask, ties = rng.choice(["none", "past", "strict_past", "future"]), rng.choice(["left", "right"])
        return Head(name, value, score(), read, read, mask=str(mask), ties=str(ties), default=1)

    variables = (
        head("a", "token", "token"),
        head("b", str(rng.choice(["a", "token"])), "token"),
        Map("x", ("token", "a", "b"), 3, "hash(token % 3, a // 20, b > 20, i) % 3"),
        head("c", "x", str(rng.choice(["a", "token"]))),
        Map("y", ("c", "b"), 2, "(c + b % 3) % 2"),
    )
    markers = ("<", ">") if seed % 2 else (None, None)
    return Model("m", tuple(f"s{t}" for t in range(symbols)), variables, Output("y", accept=frozenset((1,))), *markers)


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """No alphabet is too small, and no row too short, to be grouped."""
    monkeypatch.setattr(alike, "LARGE", 2)
    monkeypatch.setattr("restrict.rows.options.ROWS.long_scan", 1)


def grouped_models(count: int, symbols: int = 40) -> list[Model]:
    found = [model_of(seed, symbols) for seed in range(count)]
    return [m for m in found if kinds_of(m) is not None]


def test_alike_symbols_give_the_same_outputs(everything: None) -> None:
    models = grouped_models(10)
    assert len(models) >= 4
    for model in models:
        kinds = kinds_of(model)
        assert kinds is not None
        rng = np.random.default_rng(1)
        for _ in range(3):
            word = rng.integers(len(model.alphabet), size=7)
            other = [int(rng.choice(np.flatnonzero(kinds.kind[: len(model.alphabet)] == kinds.kind[a]))) for a in word]
            first, second = (model.run([model.alphabet[a] for a in w]).label() for w in (word, other))
            third = kinds.model.run([kinds.model.alphabet[kinds.kind[a]] for a in word]).label()
            assert first == second == third


def test_the_abstract_run_by_kinds_is_the_plain_one(everything: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, model in enumerate(grouped_models(3)):
        rng, n = np.random.default_rng(seed), 8
        instance = model.at(n)
        fixed = {int(i): int(rng.integers(len(model.alphabet))) for i in instance.unpinned if rng.random() < 0.5}
        rho = Restriction.of(instance, fixed)
        by_kinds = abstract_run(instance, rho, "all").facts
        with monkeypatch.context() as patch:
            patch.setattr("restrict.rows.options.ROWS.long_scan", 2**60)
            assert abstract_run(instance, rho, "all").facts == by_kinds


def test_the_kinds_are_all_that_is_seen(everything: None) -> None:
    told = Head("a", "token", "k % 3", key="token")
    for rule, least in (("a % 4", 12), ("a", None), ("a % 3 + (a > 20)", 6)):
        model = Model("m", tuple(str(s) for s in range(40)), (told, Map("y", ("a",), 50, rule)), Output("y"))
        kinds = kinds_of(model)
        assert (None if kinds is None else len(kinds.least)) == least
    hashed = Head("a", "token", "hash(j, k)", key="token")
    model = Model("m", tuple(str(s) for s in range(40)), (hashed, Map("y", ("a",), 2, "a % 2")), Output("y"))
    assert kinds_of(model) is None
    assert kinds_of(Model("m", model.alphabet, (told,), Output("a"))) is None


@pytest.mark.parametrize("symbols", heavy_after((500, 50_000), 1))
def test_a_large_vocabulary_is_certified_by_its_kinds(symbols: int) -> None:
    """50 000 symbols of seven kinds: a row has 10^8 scores, that of the kinds 14 000."""
    score = "hash(3, i, q % 7, j, k % 7) % 1000003"
    head = documents.head("a", score, query="token", key="token")
    out = documents.map_("y", ["token", "a"], 2, "hash(5, token % 7, a % 7) % 2")
    alphabet = [f"s{t}" for t in range(symbols)]
    model = loads(dumps(documents.model(head, out, alphabet=alphabet, position="last", accept=[1])))
    kinds = kinds_of(model)
    assert kinds is not None
    assert len(kinds.least) == 7
    found = restrict.certify(model, min(symbols, 2_000))
    assert found.c == 0
    assert len(found.restriction.fixed) <= 3
    assert " c=0 " in restrict.check(model, found)
