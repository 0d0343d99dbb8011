"""The CNF of a cone is exact: its models are the inputs that agree with the restriction, with the true values."""

import numpy as np
import pytest
from pysat.solvers import Solver

from restrict import Model, ResourceLimit, Restriction, load
from restrict.force.on_demand import OnDemandState
from restrict.model.fileformat import dumps, loads
from restrict.optimum.cnf import Encoding, encode
from tests import documents, generator, naive
from tests.marks import heavy_after

SEEDS = range(300)


def case(seed: int) -> tuple[naive.Model, Model, int, dict[int, str]]:
    """A random program, as a document and loaded, with a length and a restriction."""
    rng = np.random.default_rng(seed)
    document = generator.random_program(rng)
    n = generator.random_length(rng, document)
    fixed = generator.random_restriction(rng, document, n, 100)
    return document, loads(dumps(document), "random"), n, fixed


def models(code: Encoding) -> list[set[int]]:
    """All models over all variables."""
    with Solver("glucose4", bootstrap_with=code.clauses) as solver:
        for variable in range(1, code.top + 1):
            solver.add_clause([variable, -variable])
        return [set(model) for model in solver.enum_models()]


@pytest.mark.parametrize("block", heavy_after(range(6), 2))
def test_models_are_the_consistent_inputs_with_true_values(block: int) -> None:
    for seed in SEEDS[block::6]:
        document, model, n, fixed = case(seed)
        code = encode(model.at(n), Restriction.of(model.at(n), fixed), range(n) if seed % 2 else [n - 1])
        places = naive.letters(document, n)
        runs = {
            tuple(x[places.index(i)] for i in code.inputs): nodes
            for x, nodes in naive.all_runs(document, n, fixed).items()
        }
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
        _, model, n, fixed = case(seed)
        rho = Restriction.of(model.at(n), fixed)
        code = encode(model.at(n), rho, [n - 1])
        with Solver("glucose4", bootstrap_with=code.clauses) as solver:
            for variable in range(1, code.top + 1):
                solver.add_clause([variable, -variable])
            assert solver.solve()
            true = solver.get_model()
        word = code.decode(true)
        assert rho.admits(word)
        label = next(label for label, literals in code.labels(n - 1).items() if set(literals) & {1, *true})
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
