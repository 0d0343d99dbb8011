"""What certify says of programs of many variables, where every word can be run but no optimum has a certificate."""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict import certification
from restrict.base.errors import NotEstablished
from restrict.force import cases
from restrict.force.looking import Looking
from restrict.force.options import CASES
from restrict.force.search import Best
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from restrict.optimum import enumeration
from restrict.optimum.by_words import by_words, forced_by_sat
from restrict.report.text import summary
from tests.marks import heavy_after, rows_after
from tests.transformer_programs import write_program


def program(folder: Path, seed: int, *, heads: int = 4, markers: bool = False, **size: Any) -> Model:
    """A random program."""
    path, _ = write_program(folder, np.random.default_rng(seed), heads=heads, mlps=2, markers=markers, **size)
    return restrict.import_transformer_program(path).model


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, int]:
    """A random program of 66 variables, and its optimum at n = 8, which is 1."""
    model = program(tmp_path_factory.mktemp("program"), 0, longest=8, letters=2, classes=2)
    assert len(model.variables) > certification.MANY_VARIABLES
    return model, restrict.certify(model, 8).provenance["optimum"]


def test_the_optimum_is_told_once_it_is_known(known: tuple[Model, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """It was lost where the search found nothing, and computed twice where it found something."""
    model, optimum = known
    runs = []
    labels = enumeration.all_labels

    def counted(*args: object) -> object:
        runs.append(1)
        return labels(*args)

    monkeypatch.setattr(enumeration, "all_labels", counted)
    monkeypatch.setattr(enumeration, "confirm_one", lambda *_: None)
    found = restrict.certify(model, 8)
    assert found.provenance["optimum"] == optimum
    assert found.provenance["optimum_by"] == "enumeration"
    assert len(runs) == 1
    monkeypatch.setattr(certification, "_searched", _nothing)
    found = restrict.certify(model, 8)
    assert found.provenance["optimum"] == optimum
    assert " VERIFIED " in restrict.check(model, found)


@pytest.mark.parametrize(
    ("letters", "seed", "heads", "classes", "least"), rows_after([(4, 3, 4, 3, 1), (6, 3, 4, 3, 1), (6, 4, 6, 6, 3)], 1)
)
def test_every_word_of_six_letters_is_run(
    tmp_path: Path, letters: int, seed: int, heads: int, classes: int, least: int
) -> None:
    """6^7 words were too many to run: of the second program 5 positions were fixed, and at least 3 known."""
    model = program(tmp_path, seed, longest=7, heads=heads, letters=letters, classes=classes, causal=False)
    found = restrict.certify(model, 7, target=3)
    assert found.provenance["optimum"] == len(found.restriction.fixed) == least
    assert found.provenance["optimum_by"] == "enumeration"
    assert " VERIFIED " in restrict.check(model, found)


@pytest.mark.parametrize("seed", heavy_after(range(12), 1))
def test_words_refute_only_what_does_not_force(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against all words: no restriction below the bound forces the label, and the one confirmed does."""
    monkeypatch.setattr("restrict.optimum.options.WORDS.batch", 64)
    monkeypatch.setattr("restrict.optimum.options.WORDS.at_once", 16)
    letters = 2 + seed % 2
    model = program(tmp_path, seed, longest=6, letters=letters, classes=3, markers=seed % 2 == 1)
    instance = model.at(5 + seed % 2)
    target, labels = instance.n - 1 - seed % 2, {}
    for w in product(range(letters), repeat=len(instance.unpinned)):
        labels[w] = instance.label(int(model.run([model.alphabet[a] for a in w]).values[model.output.variable][target]))
    task = Task.of(model, instance.n, target=target)
    least, found, left = by_words(task)

    def forces(fixed: dict[int, int]) -> bool:
        return len({y for w, y in labels.items() if all(w[p] == a for p, a in fixed.items())}) == 1

    def cubes(size: int) -> Iterator[dict[int, int]]:
        places, symbols = range(len(instance.unpinned)), range(letters)
        for at, a in product(combinations(places, size), product(symbols, repeat=size)):
            yield dict(zip(at, a, strict=True))

    assert not any(forces(fixed) for size in range(least) for fixed in cubes(size))
    cells = {i: p for p, i in enumerate(instance.unpinned)}
    least_forced = any(map(forces, cubes(least)))
    assert least_forced == any(forces({cells[i]: a for i, a in cube.items()}) for cube in left)
    assert forced_by_sat(task, left) == least_forced
    if found is not None:
        assert len(found.restriction.fixed) >= least
        assert " VERIFIED " in restrict.check(model, found)
        assert forces({cells[i]: model.alphabet.index(a) for i, a in found.restriction.fixed.items()})


def test_the_bound_of_words_is_told(known: tuple[Model, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where words are too many to run all: the optimum where the bound is reached, else the bound."""
    model, optimum = known
    monkeypatch.setattr(certification, "few_restrictions", lambda _: False)
    monkeypatch.setattr(certification, "few_words", lambda *_: False)
    monkeypatch.setattr("restrict.optimum.options.WORDS.batch", 256)
    found = restrict.certify(model, 8)
    assert found.provenance["optimum"] == optimum == len(found.restriction.fixed)
    assert found.provenance["optimum_by"] == "words"
    monkeypatch.setattr(certification, "by_words", lambda task: (1, by_words(task)[1] and restrict.certify(
        model, 8, restriction=Restriction.of(model.at(8), dict.fromkeys(range(4), 0))), []))  # fmt: skip
    monkeypatch.setattr(certification, "_searched", _nothing)
    monkeypatch.setattr(certification, "descends", lambda _: False)
    found = restrict.certify(model, 8)
    assert found.provenance["optimum_at_least"] == 1
    assert "optimum at least 1 fixed position (exact bound" in summary(model, found)


def test_sat_decides_what_words_leave(known: tuple[Model, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A restriction that no word refutes and no tree confirms: the optimum was not known."""
    model, optimum = known
    worse = restrict.certify(model, 8, restriction=Restriction.of(model.at(8), dict.fromkeys(range(4), 0)))
    monkeypatch.setattr(certification, "few_restrictions", lambda _: False)
    monkeypatch.setattr(certification, "few_words", lambda *_: False)
    monkeypatch.setattr(certification, "descends", lambda _: False)
    monkeypatch.setattr(certification, "_searched", lambda task: (Best(worse.restriction.tokens(model), {}), "budget"))
    for extra in (0, 1):  # the second time nothing that words leave forces the output

        def left(task: Task, extra: int = extra) -> object:
            least, _, cubes = by_words(task)
            assert least == optimum
            return (least, worse, cubes) if not extra else (least - 1, worse, [{}])

        monkeypatch.setattr(certification, "by_words", left)
        monkeypatch.setattr(certification, "forced", lambda *_: worse)
        found = restrict.certify(model, 8)
        if extra:
            assert found.provenance["optimum_at_least"] == optimum
        else:
            assert (found.provenance["optimum"], found.provenance["optimum_by"]) == (optimum, "SAT")


def _nothing(_: object) -> None:
    raise NotEstablished("nothing")


def test_programs_of_many_maps_get_more_effort_for_a_tree(known: tuple[Model, int]) -> None:
    """A run of a thousand variables examines a thousand nodes: a fixed budget ended before 233 leaves were found."""
    large, tiny = known[0], restrict.load("random:layers=1,heads=1,states=2,every=1")
    nodes = [
        cases._Growing(task, Looking(task.instance, 7), 4096, 40_000).nodes
        for task in (Task.of(large, 8, target=7), Task.of(tiny, 8, target=7))
    ]
    assert nodes[0] - nodes[1] >= CASES.long_runs * (len(large.variables) - len(tiny.variables))
