"""The ways to bound attention of scripts/bench_soft_peers.py: each contains the next, and the last is exact."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests import verdict_cases
from tests.marks import heavy_after
from tests.naive_gpt2 import Naive, prefixes
from tests.test_architecture import load_script

peers, crown = load_script("bench_soft_peers"), load_script("bench_crown")


@pytest.mark.parametrize("name", heavy_after(verdict_cases.NAMES[::-1], 1))
def test_each_way_contains_the_next_one(name: str) -> None:
    path, n = verdict_cases.FOLDER / f"{name}.safetensors", 6
    graph, ways = peers.searches(path, n)
    keys = [key for key in graph.cases(n + len(graph.delta)) if key[0] == n]
    assert keys
    for key in keys:
        boxes = [search.box(key) for search in ways]
        for (high, low), (inner_high, inner_low) in itertools.pairwise(boxes):
            assert (inner_high <= high + 1e-9).all()
            assert (inner_low >= low - 1e-9).all()


def test_the_symbols_of_a_position_are_those_of_some_word() -> None:
    _, graph = verdict_cases.loaded("dyck1-depth2-1l1h16d-nope")
    words = prefixes((graph.delta, graph.accept), 9, 6)
    for key in [key for key in graph.cases(9) if key[0] == 6]:
        ends = [w for w, q in words if len(w) == 6 and w[-1] == key[1] and q == key[2]]
        found = peers.allowed(graph, key)
        for j in range(6):
            assert set(np.flatnonzero(found[j + 1])) == {w[j] for w in ends}


def test_a_question_for_crown_is_the_model_itself(tmp_path: Path) -> None:
    name, n = "dyck1-depth2-1l1h16d-nope", 8
    for path in verdict_cases.FOLDER.glob(f"{name}.*"):
        shutil.copy(path, tmp_path)
    crown.write(tmp_path, [n], tmp_path / "questions")
    with np.load(tmp_path / "questions" / f"{name}@0008.npz") as file:
        data = dict(file)
    config = json.loads((tmp_path / f"{name}.config.json").read_text())
    naive = Naive((tmp_path / f"{name}.safetensors").read_bytes(), config)
    model, graph = verdict_cases.loaded(name)
    words = prefixes((graph.delta, graph.accept), n + 3, n)
    tried = 0
    for number, key in enumerate(data["keys"].tolist()):
        for symbols in [w for w, q in words if len(w) == n and w[-1] == key[1] and q == key[2]]:
            columns, rows = [0, *symbols], np.arange(n + 1)
            assert data[f"{number}.may"][rows, columns].all()
            e, v = data[f"{number}.e"][:, rows, columns], data["v"][:, rows, columns]
            y = data[f"{number}.x"] + ((e[:, :, None] * v).sum(1) / e.sum(1)[:, None]).sum(0)
            stream, parts = naive.attention(tuple(model.tokens[s] for s in symbols))
            bias = naive.tensors["h.0.attn.c_proj.bias"]
            assert y == pytest.approx([sum(row) for row in zip(stream, bias, *parts, strict=True)], abs=1e-5)
            tried += 1
    assert tried > 10
