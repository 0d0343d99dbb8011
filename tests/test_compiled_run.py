"""The abstract run on kernels for the search, against the run on demand in Python and the run over a cone."""

import numpy as np
import pytest

import restrict
from restrict.abstract.run import abstract_run
from restrict.force.compiled import CompiledRun, supported
from restrict.force.on_demand import OnDemandState
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Instance
from restrict.model.restriction import Restriction
from tests.generator import random_program, random_tokens
from tests.marks import heavy_after


def agrees(instance: Instance, position: int, run: CompiledRun, fixed: dict[int, int]) -> None:
    """V of the output and of all that was examined, tokens read, and the cone."""
    output = instance.model.output.variable
    slow = OnDemandState.of(instance, fixed)
    found = run.look(fixed)
    assert found == tuple(slow.values(output, position)), (fixed, position)
    for (name, i), values in slow.facts.items():
        v = run.index[name]
        if run.run.stamp[v * instance.n + i] == run.run.tally[0]:
            assert run._bits(v, i) == values
    read = set(run.read().tolist())
    assert read <= set(range(instance.n))
    assert run.look({i: a for i, a in fixed.items() if i in read}) == found
    assert run.look(dict.fromkeys(set(instance.unpinned) - read, 0) | fixed) == found
    run.look(fixed)
    cone = run.cone()
    fresh = abstract_run(instance, Restriction.of(instance, fixed), cone)
    assert tuple(fresh.values(output, position)) == found
    assert sum(map(len, cone.values())) <= run.examined


@pytest.mark.nojit
@pytest.mark.parametrize("programs", heavy_after((30, 200), 1))
def test_random_programs_run_alike_on_kernels_and_in_python(programs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where tables are not kept and pairs come two at a time."""
    rng, count = np.random.default_rng(3), 0
    while count < programs:
        n = int(rng.integers(1, 9))
        model = loads(dumps(random_program(rng, n)))
        if model.output.variable in ("token", "position"):
            continue
        monkeypatch.setattr("restrict.force.options.OPTIONS.one_table", 2 if count % 3 == 0 else 2**16)
        monkeypatch.setattr("restrict.rows.options.ROWS.first_pairs", 1 + count % 4)
        at = model.at(n)
        assert supported(at)
        position = n - 1 if model.output.position == "last" else int(rng.integers(n))
        run = CompiledRun(at, position)
        for _ in range(4):
            agrees(at, position, run, random_tokens(rng, at, rng.random()))
        count += 1


@pytest.mark.parametrize("model", ["random:layers=2,heads=2,states=4,seed=3", "dyck1-depth3", "flip-flop", "anbn"])
@pytest.mark.parametrize("n", heavy_after((30, 150), 1))
def test_longer_models_run_alike_on_kernels_and_in_python(model: str, n: int) -> None:
    at = restrict.load(model).at(n)
    rng, run = np.random.default_rng(1), CompiledRun(at, n - 1)
    for share in (0.0, 0.05, 0.2, 0.9, 1.0):
        agrees(at, n - 1, run, random_tokens(rng, at, share))
