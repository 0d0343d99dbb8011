"""Four implementations, one meaning: the trusted checker, the fast abstract run, the oracle and the truth.

On seeded random programs the checker (restrict/checker), the kernels (restrict/abstract) and the literal oracle
(tests/naive.py) give the same V and D at every node of a random cone, under a random restriction. The truth comes from
all consistent inputs through the batch evaluator, which is itself compared with the oracle: on a few inputs of every
program, and on all inputs of some.

Over a product of alphabets a function is determined by a set of positions exactly when the set holds all its essential
positions, so "is a function of D" is decided by the essential positions, for every node.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numba import config

import restrict
from restrict.abstract.run import AbstractRun, abstract_run, positions_of
from restrict.base.errors import NotEstablished
from restrict.certificate.certificate import Certificate, certificate_of, claim_of
from restrict.certificate.outline import Claim
from restrict.model.fileformat import loads
from restrict.model.program import Instance
from restrict.model.program import Model as Loaded
from restrict.model.restriction import Restriction
from restrict.model.task import Target
from restrict.model.trace import Batch, run_batch
from tests import generator, naive
from tests import trusted as check
from tests.generator import coverage
from tests.marks import heavy_after
from tests.naive import Abstract, Model, Node
from tests.test_evaluate import agree

PROGRAMS, CHUNKS = 5200, 40
NOJIT = 600
ALL_INPUTS = 40
"""One program in so many is compared with the oracle on all its inputs."""


@dataclass(frozen=True)
class Case:
    """One random program at one length, with a restriction and a cone, by positions and as the run lists of a file."""

    seed: int
    model: Model
    data: bytes
    n: int
    fixed: dict[int, str]
    runs: str | dict[str, list[list[int]]]
    loaded: Loaded
    at: Instance
    rho: Restriction
    cone: Any
    words: Any = field(repr=False)


def make(seed: int, most_inputs: int = 256) -> Case:
    """The case of a seed; a third of the programs is written for one length only, which is then in ``when``."""
    rng = np.random.default_rng([20261121, seed])
    wanted = int(rng.integers(1, 10)) if rng.random() < 0.3 else None
    model = generator.random_program(rng, wanted)
    n = generator.random_length(rng, model) if wanted is None else wanted
    fixed = generator.random_restriction(rng, model, n, most_inputs)
    runs = generator.random_cone(rng, model, n)
    data = json.dumps(model).encode()
    loaded = loads(data)
    at = loaded.at(n)
    listed = {} if isinstance(runs, str) else runs
    places = {v: tuple(p for start, count in found for p in range(start, start + count)) for v, found in listed.items()}
    cone: Any = runs if isinstance(runs, str) else places
    words = np.array(list(naive.consistent_inputs(model, n, fixed)), dtype=np.int64)
    return Case(seed, model, data, n, fixed, runs, loaded, at, Restriction.of(at, fixed), cone, words)


def targets(case: Case) -> list[Target]:
    """Every target that the model has; for three programs of four only one of the positions."""
    if case.model["output"]["position"] == "last":
        return ["last"]
    return ["last", "all", *(range(case.n) if case.seed % 4 == 0 else [case.seed % case.n])]


# ---------------------------------------------------------------- (a) three abstract runs


def check_abstract(case: Case, certificate: Certificate, run: AbstractRun, oracle: Abstract) -> None:
    """The checker, the kernels and the oracle have the same V and D on every node of the cone, and D of the label."""
    content = certificate.to_bytes()
    if isinstance(case.runs, dict):
        # The cone as it was drawn: its runs may touch, which certificate_of never writes.
        content = json.dumps({**json.loads(content), "cone": case.runs}).encode()
    trusted = check.nodes(case.data, content)
    names = [v["name"] for v in case.model["variables"]]
    examined = [(name, i) for name in names for i in (range(case.n) if case.cone == "all" else case.cone.get(name, ()))]
    assert sorted(trusted) == sorted(examined)
    for node in examined:
        expected = tuple(sorted(oracle.values[node])), tuple(sorted(oracle.dependencies[node]))
        assert trusted[node] == expected, ("restrict.checker", node)
        assert (tuple(run.values(*node)), positions_of(run.depends(*node))) == expected, ("restrict.abstract", node)
    for node in oracle.values:
        assert set(run.values(*node)) == oracle.values[node], node
        assert set(positions_of(run.depends(*node))) == oracle.dependencies[node], node
    for i in range(case.n):
        assert set(positions_of(run.label_depends(i))) == oracle.dependencies["label", i], i


# ---------------------------------------------------------------- (b) the truth


def essential(outcomes: Any, symbols: int, free: list[int]) -> dict[int, Any]:
    """By free position, for each column of ``outcomes`` (inputs, nodes) whether the position makes a difference.

    The rows are the consistent inputs as ``naive.consistent_inputs`` orders them: a cube, the last position fastest.
    """
    cube = outcomes.reshape((symbols,) * len(free) + outcomes.shape[1:])
    rest = tuple(range(len(free)))
    return {p: (cube != np.take(cube, [0], axis=axis)).any(axis=rest) for axis, p in enumerate(free)}


def check_truth(case: Case, batch: Batch, oracle: Abstract) -> None:
    """Every node's value lies in V and is a function of D, and so is the label."""
    free = naive.free_positions(case.model, case.n, case.fixed)
    symbols = len(case.model["alphabet"])
    names = list(batch.values)
    stacked = np.stack([batch.values[name] for name in names], axis=1)
    output = batch.values[case.model["output"]["variable"]]
    known = [naive.label(case.model, value) for value in np.unique(output).tolist()]
    labels = np.array([known.index(label) for label in known])[np.searchsorted(np.unique(output), output)]
    outcomes = np.concatenate([stacked, labels[:, None, :]], axis=1)
    matters = essential(outcomes, symbols, free)
    for column, name in enumerate([*names, "label"]):
        for i in range(case.n):
            node: Node = (name, i)
            if name != "label":
                assert {int(v) for v in np.unique(outcomes[:, column, i])} <= oracle.values[node], node
            assert {p for p in free if matters[p][column, i]} <= oracle.dependencies[node], node


# ---------------------------------------------------------------- (c) verdicts


def check_verdicts(case: Case, given: Certificate, run: AbstractRun, oracle: Abstract) -> None:
    """Both checkers accept what follows, with the oracle's claim; for one of the targets they refuse tighter ones."""
    for target in (found := targets(case)):
        claim = claim_of_oracle(case, oracle, target)
        assert claim_of(run, target) == claim, target
        certificate = Certificate(**{**vars(given), "target": target, "claim": claim})
        line, chosen = check.verify(case.data, certificate.to_bytes()), target == found[case.seed % len(found)]
        assert not chosen or line == restrict.check(case.loaded, certificate)
        for tighter in tighter_claims(claim) if chosen else []:
            mutant = Certificate(**{**vars(certificate), "claim": tighter})
            with pytest.raises(check.Reject) as caught:
                check.verify(case.data, mutant.to_bytes())
            assert caught.value.code == 3, (target, tighter)
            with pytest.raises(NotEstablished):
                restrict.check(case.loaded, mutant)


def claim_of_oracle(case: Case, oracle: Abstract, target: Target) -> Claim:
    """The claim that the oracle's abstract run supports."""
    free = len(naive.free_positions(case.model, case.n, case.fixed))
    if target == "all":
        return Claim(free, max(len(oracle.dependencies["label", i]) for i in range(case.n)), None, None)
    where = case.n - 1 if target == "last" else int(target)
    depends = tuple(sorted(oracle.dependencies["label", where]))
    return Claim(free, len(depends), depends, tuple(sorted(oracle.values[case.model["output"]["variable"], where])))


def tighter_claims(claim: Claim) -> list[Claim]:
    """Claims just beyond what is proved."""
    if claim.dependencies is None or claim.values is None:
        return [Claim(claim.free, claim.c - 1, None, None)] if claim.c else []
    found = [Claim(claim.free + 1, claim.c, claim.dependencies, claim.values)]
    if claim.dependencies:
        found.append(Claim(claim.free, claim.c - 1, claim.dependencies[1:], claim.values))
    if len(claim.values) > 1:
        found.append(Claim(claim.free, claim.c, claim.dependencies, claim.values[:-1]))
    return found


# ---------------------------------------------------------------- all of it


def check_case(seed: int, most_inputs: int = 256) -> None:
    """Everything that this file is about, for one seed."""
    case = make(seed, most_inputs)
    run = abstract_run(case.at, case.rho, case.cone)
    oracle = naive.abstract_run(case.model, case.n, case.fixed, case.runs)
    certificate = certificate_of(case.at, case.rho, case.cone)
    check_abstract(case, certificate, run, oracle)
    check_truth(case, run_batch(case.at, case.words), oracle)
    check_verdicts(case, certificate, run, oracle)
    count = len(case.words)
    everything = seed % ALL_INPUTS == 0
    agree(case.model, case.n, case.words[:: 1 if everything else max(1, count // 2)].tolist())


def check_cases(seeds: range, most_inputs: int = 256) -> None:
    """Each of many seeds."""
    for seed in seeds:
        try:
            check_case(seed, most_inputs)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("chunk", heavy_after(range(-1, CHUNKS), 1))
def test_checker_kernels_oracle_and_truth_agree_on_random_programs(chunk: int) -> None:
    """The seeds ``chunk, chunk + CHUNKS, ...`` below ``PROGRAMS``; first a few of all of them."""
    check_cases(range(0, PROGRAMS, 6 * CHUNKS + 1) if chunk < 0 else range(chunk, PROGRAMS, CHUNKS))


@pytest.mark.nojit
@pytest.mark.parametrize("chunk", heavy_after(range(3), int(config.DISABLE_JIT)))
def test_checker_kernels_oracle_and_truth_agree_without_compilation(chunk: int) -> None:
    """A few more seeds, for the plain Python bodies of the kernels."""
    check_cases(range(PROGRAMS + chunk, PROGRAMS + NOJIT, 3), most_inputs=48)


RARE = {
    "both markers", "one letter", "domain of one value", "domain that grows with n", "score table without axes",
    "three are different", "accepts nothing", "large constant",
}  # fmt: skip


@pytest.mark.parametrize("step", heavy_after((50, 25), 1))
def test_the_programs_are_what_they_should_be(step: int) -> None:
    """The seeds cover the features of the generator's table, and both kinds of cones."""
    seen: Counter[str] = Counter()
    for seed in range(0, PROGRAMS, step):
        case = make(seed, 4)
        seen.update({*coverage.features(case.model), "cone all" if case.cone == "all" else "cone listed"})
    assert {f for f in (*coverage.FEATURES, "cone all", "cone listed") if seen[f] < 400 // step} <= RARE, seen
