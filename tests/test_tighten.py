"""Tightening removes only what never matters, with proofs; the proof checker refuses what is not a proof."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pysat.solvers import Solver

from restrict import Certificate, Model, Restriction, certificate_of, load
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit, UsageError
from restrict.force.on_demand import OnDemandState
from restrict.model.fileformat import dumps, loads
from restrict.optimum.cnf import Encoding, encode
from restrict.optimum.tighten import PROOF_SOLVERS, Tightened, prove, tighten
from restrict.sat.drat_check import ProofError, check_refutation, dimacs
from tests import documents, generator, naive
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
        document, model, n, fixed = random_cone(seed)
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
    loose = certificate_of(tagger.at(3), Restriction.of(tagger.at(3)), "all", 2)
    silent = replace(loose, claim=replace(loose.claim, c=0, dependencies=()))
    with pytest.raises(NotEstablished, match="may depend on position 0"):  # what is left is no truer than the claim
        tighten(tagger, silent)


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
    first = ("1 0", "d 1 7 0", "x 0", "1 2", "1 0 2 0", "")
    for formula, bad in [
        (clauses, []),
        (clauses, ["0"]),
        (clauses[1:], proof),
        *((clauses, [s, *proof]) for s in first),
    ]:
        with pytest.raises(ProofError):
            check_refutation(formula, bad)


def test_lemmas_are_checked_one_by_one() -> None:
    """Every lemma that is accepted is a consequence, by enumeration; a satisfiable formula is never refuted."""
    rng = np.random.default_rng(1)
    outcomes = set()

    def random_clause(size: int) -> list[int]:
        return [int(y) * int(rng.choice([-1, 1])) for y in rng.permutation(5)[:size] + 1]

    for _ in range(400):
        clauses = [random_clause(2) for _ in range(9)]
        lines = [*(" ".join(map(str, [*random_clause(int(rng.integers(1, 3))), 0])) for _ in range(4)), "0"]
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


# ----------------------------------------------------------------
# The CNF of a cone is exact: its models are the inputs that agree with the restriction, with the true values.


SEEDS = range(300)


def random_cone(seed: int) -> tuple[naive.Model, Model, int, dict[int, str]]:
    """A random program, as a document and loaded, with a length and a restriction."""
    rng = np.random.default_rng(seed)
    document, n = generator.random_case(rng)
    fixed = generator.random_restriction(rng, document, n, 100)
    return document, loads(dumps(document), "random"), n, fixed


def models(code: Encoding) -> list[set[int]]:
    """All models over all variables."""
    every = [[variable, -variable] for variable in range(1, code.top + 1)]
    with Solver("glucose4", bootstrap_with=code.clauses + every) as solver:
        return [set(model) for model in solver.enum_models()]


@pytest.mark.parametrize("block", heavy_after(range(6), 2))
def test_models_are_the_consistent_inputs_with_true_values(block: int) -> None:
    for seed in SEEDS[block::6]:
        document, model, n, fixed = random_cone(seed)
        code = encode(model.at(n), Restriction.of(model.at(n), fixed), range(n) if seed % 2 else [n - 1])
        places = naive.letters(document, n)
        every = naive.all_runs(document, n, fixed).items()
        runs = {tuple(x[places.index(i)] for i in code.inputs): nodes for x, nodes in every}
        seen = set()
        for true in models(code):
            shown = {v: [a for a, y in row.items() if y in true] for v, row in code.values.items()}
            x = tuple(shown["token", i][0] for i in code.inputs)
            assert x not in seen, f"seed {seed}: two models of one input"
            seen.add(x)
            assert shown == {v: [runs[x][v]] for v in shown}, f"seed {seed}"
        assert seen == set(runs), f"seed {seed}"


def test_decode_gives_a_word_that_the_model_runs_to_the_same_label() -> None:
    for seed in range(60):
        _, model, n, fixed = random_cone(seed)
        rho = Restriction.of(model.at(n), fixed)
        code = encode(model.at(n), rho, [n - 1])
        true = models(code)[-1]
        word = code.decode(true)
        assert rho.admits(word)
        label = next(label for label, literals in code.labels(n - 1).items() if true.intersection(literals))
        assert model.run(word).label(n - 1) == label


def test_two_copies_share_exactly_the_given_inputs() -> None:
    model = load("random:layers=2,seed=3")
    code = encode(model.at(6), Restriction.of(model.at(6)), [5])
    other = code.copy(code.inputs[1:])
    assert other.top == 2 * code.top
    assert [code.token_lit(i, 0) == other.token_lit(i, 0) for i in code.inputs] == [False] + [True] * 5
    assert len(other.clauses) == len(code.clauses)
    with Solver("glucose4", bootstrap_with=code.clauses + other.clauses) as solver:
        assert solver.solve(assumptions=[code.token_lit(0, 0), other.token_lit(0, 1)])


def test_a_large_domain_is_exactly_one_hot() -> None:
    document = documents.model(documents.head("w", "k", "position", key="token"), position="last")
    model = loads(dumps(document), "where")
    assert len(models(encode(model.at(9), Restriction.of(model.at(9)), [8]))) == 2**9


def test_a_lazy_state_reads_only_what_it_needs() -> None:
    n, model = 400, load("random:layers=2,seed=1")
    state = OnDemandState.of(model.at(n), dict.fromkeys(range(n), 0))
    (value,) = state.values("y2", n - 1)
    assert model.run("0" * n).values["y2"][n - 1] == value
    assert len(state.read_tokens(("y2", n - 1))) < n // 4
    read = state.under(dict.fromkeys(state.read_tokens(("y2", n - 1)), 0))
    assert list(read.values("y2", n - 1)) == [value]


def test_too_many_clauses_are_refused_in_one_line() -> None:
    model = load("random:layers=2,seed=1")
    with pytest.raises(ResourceLimit, match=r"^[^\n]*more than 100 clauses[^\n]*$"):
        encode(model.at(20), Restriction.of(model.at(20)), [19], most=100)
