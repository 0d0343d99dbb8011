"""Evaluation on demand against the evaluation of everything."""

import numpy as np
import pytest

import restrict
from restrict.base.errors import ResourceLimit
from restrict.model.fileformat import loads
from restrict.model.on_demand import OnDemandRun
from restrict.model.trace import run_batch
from tests import generator, mutations
from tests.marks import heavy_after


@pytest.mark.parametrize("programs", heavy_after((40, 400), 1))
def test_every_node_of_random_programs_has_the_value_of_the_batch(programs: int) -> None:
    rng = np.random.default_rng(5)
    nodes = 0
    for _ in range(programs):
        document = generator.random_program(rng, None, 7)
        at = loads(mutations.encode(document)).at(generator.random_length(rng, document))
        symbols = at.n - len(at.pinned)
        words = rng.integers(0, len(at.model.alphabet), (3, symbols))
        values = run_batch(at, words).values
        for word, row in zip(words, range(3), strict=True):
            lazy = OnDemandRun(at, word.tolist())
            for variable in at.model.variables:
                for i in rng.permutation(at.n)[:3].tolist():
                    assert lazy.value(variable.name, i) == values[variable.name][row, i]
                    nodes += 1
    assert nodes > 12.5 * programs


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
