"""Tightening removes only what never matters, with proofs; the proof checker refuses what is not a proof."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from pysat.solvers import Solver

from restrict import Certificate, Model, ModelError, Restriction, UsageError, certificate_of, load
from restrict.model.fileformat import dumps, loads
from restrict.optimum.tighten import PROOF_SOLVERS, Tightened, prove, tighten
from restrict.sat.drat_check import ProofError, check_refutation, dimacs
from tests import generator, naive
from tests.marks import heavy_after


def case(seed: int) -> tuple[naive.Model, Model, Certificate]:
    """A random two-layer model with a random restriction, certified with every node in the cone."""
    rng = np.random.default_rng(seed)
    model = load(f"random:layers=2,heads=2,states=3,seed={seed}")
    assert model.content is not None
    n = 7
    fixed = {i: str(rng.integers(2)) for i in range(n) if rng.random() < 0.45}
    return json.loads(model.content), model, certificate_of(model.at(n), Restriction.of(model.at(n), fixed), "all")


def compare(document: naive.Model, model: Model, certificate: Certificate) -> Tightened:
    """Tighten, and compare with the truth."""
    n, found = certificate.n, tighten(model, certificate)
    truth = naive.true_dependencies(document, n, dict(certificate.restriction.fixed))["label", n - 1]
    assert set(found.dependencies) == truth == set(found.needed)
    for p, (one, two) in found.needed.items():
        assert certificate.restriction.admits(one)
        places = naive.letters(document, n)
        assert [places[t] for t, (a, b) in enumerate(zip(one, two, strict=True)) if a != b] == [p]
        assert model.run(one).label(n - 1) != model.run(two).label(n - 1)
    for proof in found.proofs:
        assert proof.verified
        check_refutation(proof.clauses, proof.lines)
    return found


@pytest.mark.parametrize("many", heavy_after((8, 40), 1))
def test_random_two_layer_models_are_tightened_to_the_truth(many: int) -> None:
    removed = sum(len(compare(*case(seed)).removed) for seed in range(many))
    assert removed > many // 2


@pytest.mark.parametrize("many", heavy_after((30, 60), 1))
def test_random_programs_are_tightened_to_the_truth(many: int) -> None:
    for seed in range(many):
        rng = np.random.default_rng(seed)
        document = generator.random_program(rng)
        n = generator.random_length(rng, document)
        fixed = generator.random_restriction(rng, document, n, 100)
        model = loads(dumps(document), "random")
        compare(document, model, certificate_of(model.at(n), Restriction.of(model.at(n), fixed), "all"))


def test_a_dependency_outside_the_cone_is_removed() -> None:
    model = load("first-symbol")
    loose = certificate_of(model.at(4), Restriction.of(model.at(4)), {})
    assert loose.claim.dependencies == (0, 1, 2, 3)
    found = tighten(model, loose)
    assert (found.dependencies, found.removed, found.c) == ((0,), (1, 2, 3), 1)


def test_proofs_are_written_as_dimacs_and_drat(tmp_path: Path) -> None:
    found = next(t for t in (tighten(*case(seed)[1:], folder=tmp_path) for seed in range(40)) if t.removed)
    for proof in found.proofs:
        formula = (tmp_path / f"position-{proof.position}.cnf").read_text().splitlines()
        assert formula[0] == f"p cnf {proof.top} {len(formula) - 1}"
        clauses = [[int(y) for y in line.split()[:-1]] for line in formula[1:]]
        assert max(abs(y) for clause in clauses for y in clause) <= proof.top
        lines = (tmp_path / f"position-{proof.position}.drat").read_text().splitlines()
        assert check_refutation(clauses, lines) >= 0
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        tighten(*case(found.certificate.provenance.get("seed", 0))[1:], folder=blocked)


def test_wrong_certificates_are_refused() -> None:
    tagger = load("tagger")
    everything = certificate_of(tagger.at(3), Restriction.of(tagger.at(3)), "all", "all")
    with pytest.raises(UsageError, match="target all"):
        tighten(tagger, everything)
    with pytest.raises(ModelError, match="another model"):
        tighten(load("anbn"), certificate_of(tagger.at(3), Restriction.of(tagger.at(3)), "all", 1))


def test_when_time_is_up_dependencies_stay() -> None:
    _, model, certificate = case(0)
    assert tighten(model, certificate, time=0.0).dependencies == certificate.claim.dependencies


# --- the proof checker ---


def pigeons(holes: int) -> list[list[int]]:
    """One pigeon too many."""
    at = {(p, h): t for t, (p, h) in enumerate(itertools.product(range(holes + 1), range(holes)), 1)}
    some = [[at[p, h] for h in range(holes)] for p in range(holes + 1)]
    clash = [[-at[p, h], -at[q, h]] for h in range(holes) for p, q in itertools.combinations(range(holes + 1), 2)]
    return some + clash


@pytest.mark.parametrize("name", PROOF_SOLVERS)
def test_solvers_proofs_of_the_pigeonhole_principle(name: str) -> None:
    clauses = pigeons(5)
    with Solver(name, bootstrap_with=clauses, with_proof=True) as solver:
        assert not solver.solve()
        proof = solver.get_proof()
    assert check_refutation(clauses, proof) > 0


def test_corrupted_proofs_are_refused() -> None:
    clauses = pigeons(4)
    proof = list(prove(0, clauses, 20).lines)
    assert check_refutation(clauses, proof) > 0
    for bad in (
        [],
        ["0"],
        ["1 0", *proof],
        ["d 1 7 0", *proof],
        ["x 0", *proof],
        ["1 2", *proof],
        ["1 0 2 0", *proof],
        ["", *proof],
    ):
        with pytest.raises(ProofError):
            check_refutation(clauses, bad)
    with pytest.raises(ProofError):
        check_refutation(clauses[1:], proof)


def test_lemmas_are_checked_one_by_one() -> None:
    """Every lemma that is accepted is a consequence, by enumeration; a satisfiable formula is never refuted."""
    rng = np.random.default_rng(1)
    outcomes = set()
    for _ in range(400):
        clauses = [[int(y) * int(rng.choice([-1, 1])) for y in rng.permutation(5)[:2] + 1] for _ in range(9)]
        lemmas = [
            [int(y) * int(rng.choice([-1, 1])) for y in rng.permutation(5)[: rng.integers(1, 3)] + 1] for _ in range(4)
        ]
        lines = [" ".join(map(str, [*lemma, 0])) for lemma in [*lemmas, []]]
        satisfiable = any(
            all(any(x[abs(y) - 1] == (y > 0) for y in clause) for clause in clauses)
            for x in itertools.product([False, True], repeat=5)
        )
        try:
            check_refutation(clauses, lines)
            accepted = True
        except ProofError:
            accepted = False
        assert not (accepted and satisfiable)
        outcomes.add((accepted, satisfiable))
    assert outcomes == {(True, False), (False, False), (False, True)}


def test_formulas_are_written_as_dimacs() -> None:
    assert dimacs([[1, -2], []], 2) == "p cnf 2 2\n1 -2 0\n0\n"
