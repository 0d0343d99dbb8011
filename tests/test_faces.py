"""The largest faces against the table of all restrictions, and trees of cases against every input."""

import functools
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import restrict
from restrict.base.deadline import Deadline, OutOfTime
from restrict.certificate.certificate import load_certificate
from restrict.force.cases import confirm, confirm_by_tree
from restrict.model.fileformat import loads
from restrict.model.task import Task
from restrict.optimum import enumeration
from restrict.optimum.enumeration import MIXED, by_size, constant_labels, cube_of, forcing, lift
from restrict.optimum.faces import largest_faces
from tests import generator
from tests.marks import heavy_after


def test_the_largest_faces_are_those_of_the_table_of_all_restrictions() -> None:
    rng, answers = np.random.default_rng(0), 0
    for _ in range(400):
        symbols, m = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        labels = np.asarray(rng.random((symbols,) * m) < rng.random() ** 3, dtype=np.int16)
        members = None if rng.random() < 0.4 else np.asarray(rng.random((symbols,) * m) < rng.random())
        good = constant_labels(labels) != MIXED
        if members is not None:
            kinds = np.where(members, np.uint8(2), np.uint8(1))
            good &= lift(kinds, lambda t, axis: np.bitwise_or.reduce(t, axis=axis, keepdims=True)) == 3
        sizes, order = by_size(good)
        found = largest_faces(labels, members, keep=10**6)
        assert found.complete
        best = [cube_of(int(i), symbols, range(m)) for size, i in zip(sizes, order, strict=True) if size == sizes[0]]
        assert found.largest == (m - int(sizes[0]) if best else -1)
        assert sorted(map(str, found.cubes(range(m)))) == sorted(map(str, best))
        answers += bool(best)
    assert 200 < answers < 400


def test_out_of_time_the_faces_are_bounds() -> None:
    labels = np.random.default_rng(1).integers(0, 2, (2,) * 10)
    exact, late = largest_faces(labels), largest_faces(labels, deadline=Deadline.after(0))
    assert late.largest <= exact.largest <= late.most
    assert not late.complete


def test_out_of_time_no_optimum_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    late = functools.partial(largest_faces, deadline=Deadline.after(0))
    monkeypatch.setattr(enumeration, "largest_faces", lambda labels, keep, deadline: late(labels, keep=keep))
    task = Task.of(restrict.load("random:layers=1,heads=1,states=2,seed=1"), 5)
    with pytest.raises(OutOfTime):
        enumeration.by_enumeration(task)


@pytest.mark.parametrize("few", heavy_after((3, 1), 1))
def test_a_tree_of_cases_confirms_whatever_is_forced(few: int, tmp_path: Path) -> None:
    """Every optimal restriction of random programs; the trusted checker and its fast run agree."""
    rng, trees = np.random.default_rng(5), 0
    documents = [json.dumps(generator.random_program(np.random.default_rng(seed), 5)).encode() for seed in range(25)]
    models = [*map(loads, documents), *(restrict.load(f"random:layers=2,heads=1,states=2,seed={s}") for s in range(12))]
    for model in models[::few]:
        n = 5
        task = Task.of(model, n)
        if len(model.alphabet) ** len(task.instance.unpinned) > 700:
            continue
        for fixed in itertools.islice(forcing(task.instance, n - 1), 12 // few):
            if confirm(task, fixed) is not None:
                continue
            found = confirm_by_tree(task, fixed)
            assert found is not None
            assert found.c == 0
            trees += 1
            assert restrict.check(model, found).startswith("s VERIFIED")
            assert restrict.check(model, found, fast=True).startswith("s VERIFIED")
            found.save(tmp_path / "c.json")
            assert load_certificate(tmp_path / "c.json").to_bytes() == found.to_bytes()
        free = {i: int(rng.integers(len(model.alphabet))) for i in task.instance.unpinned if rng.random() < 0.3}
        if len({model.run(w).label(n - 1) for w in _words(task, free)}) > 1:
            assert confirm_by_tree(task, free) is None
    assert trees >= 5 // few


def _words(task: Task, fixed: dict[int, int]) -> list[list[str]]:
    alphabet = task.instance.model.alphabet
    choices = [[alphabet[fixed[i]]] if i in fixed else alphabet for i in task.instance.unpinned]
    return [list(word) for word in itertools.product(*choices)]
