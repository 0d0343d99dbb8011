"""The covering problem against enumeration of all partial assignments; proofs, bounds and the local lemma."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from restrict.base.errors import NotEstablished, ResourceLimit, UsageError
from restrict.cover.decimate import decimate
from restrict.cover.greedy import greedy
from restrict.cover.infeasible import InfeasibilityProof, refutes
from restrict.cover.local import local
from restrict.cover.local_lemma import conflict_graph, local_lemma
from restrict.cover.lower_bound import lower_bound, packing_value
from restrict.cover.moser_tardos import moser_tardos
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution
from restrict.cover.solve import solve
from tests.marks import heavy_after, rows_after

Pairs = list[list[list[tuple[int, int]]]]


def random_pairs(rng: np.random.Generator, inputs: int, symbols: int, pairs: int, cubes: int, size: int) -> Pairs:
    """Cubes of 1..size literals on random inputs."""
    return [
        [
            [(int(j), int(rng.integers(symbols))) for j in rng.choice(inputs, int(rng.integers(1, size + 1)), False)]
            for _ in range(int(rng.integers(1, cubes + 1)))
        ]
        for _ in range(pairs)
    ]


def optimum(inputs: int, symbols: int, pairs: Pairs, fixed: dict[int, int]) -> int | None:
    """By definition: the fewest inputs set beyond ``fixed`` that capture every pair; None where nothing does."""
    best = None
    for values in itertools.product(range(-1, symbols), repeat=inputs):
        if any(values[j] != w for j, w in fixed.items()):
            continue
        if all(any(all(values[j] == w for j, w in cube) for cube in pair) for pair in pairs):
            count = sum(v >= 0 for v in values) - len(fixed)
            best = count if best is None else min(best, count)
    return best


@cache
def small(seed: int) -> tuple[CoverProblem, int | None]:
    """A random problem and its optimum; every third has single literals only, every other a prior assignment."""
    rng = np.random.default_rng(seed)
    inputs, symbols = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    size = 1 if seed % 3 == 0 else min(inputs, 3)
    pairs = random_pairs(rng, inputs, symbols, int(rng.integers(0, 9)), 4, size)
    fixed = {int(rng.integers(inputs)): int(rng.integers(symbols))} if seed % 2 else {}
    return CoverProblem.from_pairs(inputs, symbols, pairs, fixed), optimum(inputs, symbols, pairs, fixed)


def family(n: int, k: int, seed: int) -> CoverProblem:
    """4n pairs of k single binary literals on distinct random inputs."""
    rng = np.random.default_rng(seed)
    where = np.concatenate([rng.choice(n, k, replace=False) for _ in range(4 * n)])
    flat = np.arange(4 * n * k + 1)
    return CoverProblem.from_arrays(n, 2, flat[::k], flat, where, rng.integers(0, 2, 4 * n * k))


def sparse(n: int, width: int) -> CoverProblem:
    """Pairs of ``width`` literals in a row, overlapping in one input: few neighbours, so the local lemma holds."""
    pairs = [[[((p * (width - 1) + t) % n, (p + t) % 2)] for t in range(width)] for p in range(n // (width - 1))]
    return CoverProblem.from_pairs(n, 2, pairs)


def test_small_problems_have_optima_of_all_sizes_or_none() -> None:
    """So the tests below do not compare empty sets of problems."""
    found = [small(seed)[1] for seed in range(60)]
    assert {None, 0, 1, 2, 3} <= set(found)
    assert found.count(None) <= 25


@pytest.mark.nojit
@pytest.mark.parametrize("seed", heavy_after(range(60), 20))
def test_every_solver_is_valid_and_the_exact_ones_are_optimal(seed: int) -> None:
    problem, best = small(seed)
    for name in ("greedy", "decimate", "local", "resample"):
        answer = solve(problem, solver=name, seed=seed, steps=200, cap=200)
        answer.verify()
        assert best is not None or answer.status == "partial"
        assert answer.status != "captured" or (best is not None and answer.count >= best)
    for name in ("maxsat", "auto"):
        answer = solve(problem, solver=name)
        answer.verify()
        assert answer.status == ("impossible" if best is None else "captured")
        assert best is None or (answer.count == best and answer.optimal)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", heavy_after(range(60), 2))
def test_sat_and_auto_decide_every_budget(seed: int) -> None:
    problem, best = small(seed)
    for budget in range(problem.inputs + 1):
        possible = best is not None and best <= budget
        for name in ("sat", "auto", "maxsat"):
            answer = solve(problem, solver=name, budget=budget, steps=200)
            answer.verify(budget)
            assert answer.status == ("captured" if possible else "impossible")
        for name in ("greedy", "local", "decimate", "resample"):
            answer = solve(problem, solver=name, budget=budget, steps=200, cap=50)
            answer.verify(budget)
            assert possible or answer.status == "partial"


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(60))
def test_lower_bounds_never_exceed_the_optimum(seed: int) -> None:
    problem, best = small(seed)
    bound = lower_bound(problem, looks=3)
    assert packing_value(problem, bound.multipliers) == bound.value
    rng = np.random.default_rng(seed)
    anything = packing_value(problem, rng.integers(0, 9, problem.pairs))
    assert best is None or max(bound.value, anything) <= best


def test_the_packing_bound_is_the_linear_programming_value() -> None:
    """Every literal in the same number of pairs and all lists of length k: the LP is 2n / k."""
    problem = family(30, 6, 0)
    assert lower_bound(problem).value >= 9
    assert lower_bound(problem).source == "linear programming dual"


def test_local_search_meets_the_optimum_of_small_random_problems() -> None:
    for seed in range(2):
        problem = family(12, 4, seed)
        assert local(problem, seed=seed, steps=2_000).count == solve(problem, solver="maxsat").count


@pytest.mark.parametrize(("inputs", "size"), rows_after([(60, 7), (120, 8), (200, 8), (500, 10)], 1))
def test_local_search_is_below_greedy_on_the_random_family(inputs: int, size: int) -> None:
    problem = family(inputs, size, 0)
    first, second, third = (f(problem).count for f in (greedy, decimate, local))
    assert second < 0.96 * first
    assert third <= second


@pytest.mark.parametrize(("inputs", "count"), rows_after([(24, 30), (40, 60), (80, 200)], 1))
def test_search_with_larger_cubes_improves_on_greedy(inputs: int, count: int) -> None:
    rng = np.random.default_rng(3)
    pairs = [
        [[(int(j), int(rng.integers(2))) for j in rng.choice(inputs, 2, False)] for _ in range(20)]
        for _ in range(count)
    ]
    problem = CoverProblem.from_pairs(inputs, 2, pairs)
    first, second = greedy(problem), local(problem, steps=100 * inputs)
    second.verify()
    assert first.status == second.status == "captured"
    assert second.count < 0.92 * first.count


def test_a_budget_that_the_packing_bound_excludes_needs_no_sat() -> None:
    problem = family(200, 10, 1)
    answer = solve(problem, budget=20, steps=100)
    assert answer.status == "impossible"
    assert answer.proof is not None
    assert answer.proof.kind == "packing"
    answer.verify(20)


@pytest.mark.nojit
@pytest.mark.parametrize("solver", ["greedy", "decimate", "local", "resample", "sat", "maxsat", "auto"])
def test_same_seed_same_answer(solver: str) -> None:
    problem = family(12, 3, 7)
    answers = [solve(problem, solver=solver, budget=12, seed=5, steps=300, cap=100) for _ in range(2)]
    assert answers[0].assignment.tolist() == answers[1].assignment.tolist()
    assert answers[0].statistics == answers[1].statistics


# --- proofs ----------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
def test_forged_refutations_are_rejected() -> None:
    problem = CoverProblem.from_pairs(4, 2, [[[(0, 0)], [(1, 0)]], [[(2, 1)], [(3, 1)]]])
    answer = solve(problem, solver="sat", budget=1)
    assert answer.status == "impossible"
    answer.verify(1)
    assert answer.proof is not None
    for forged in (
        InfeasibilityProof(2, "sat", lemmas=answer.proof.lemmas),
        InfeasibilityProof(2, "sat", lemmas=("0",)),
        InfeasibilityProof(1, "sat"),
        InfeasibilityProof(2, "packing", multipliers=np.array([1, 1])),
        InfeasibilityProof(1, "pair", pair=0),
    ):
        with pytest.raises(NotEstablished, match="proof that budget"):
            forged.verify(problem)
    with pytest.raises(NotEstablished, match="without a proof"):
        answer.verify(2)


@pytest.mark.nojit
def test_the_proof_checker_takes_only_unit_propagation() -> None:
    square = [[1, 2], [1, -2], [-1, 2], [-1, -2]]
    assert refutes(square, ["1 0", "0"])
    assert refutes(square, ["d 1 2 0", "1 0"])  # after the lemma 1, propagation alone ends it
    assert not refutes(square, [])
    assert not refutes(square, ["0"])
    assert not refutes(square[:3], ["1 0", "2 0", "0"])
    assert not refutes([[1, 2]], ["1 0", "-1 0"])
    for line in ("1", "x 0", "", "1 0 0"):
        assert not refutes(square, [line, "1 0", "0"])
    assert refutes([[1], [-1]], [])


@pytest.mark.parametrize("seed", range(20))
def test_the_proof_checker_follows_glucose(seed: int) -> None:
    from pysat.solvers import Solver

    rng = np.random.default_rng(seed)
    clauses = [[int(v * s) for v, s in zip(rng.choice(12, 3, False) + 1, rng.choice([-1, 1], 3), strict=True)]
               for _ in range(70)]  # fmt: skip
    with Solver(name="glucose4", bootstrap_with=clauses, with_proof=True) as oracle:
        satisfiable = oracle.solve()
        assert refutes(clauses, oracle.get_proof() or []) == (not satisfiable)


def test_an_answer_that_was_tampered_with_does_not_verify() -> None:
    problem = CoverProblem.from_pairs(3, 2, [[[(0, 1)]], [[(1, 1), (2, 0)]]], {0: 1})
    good = solve(problem)
    good.verify()
    assert (good.count, good.assignment.tolist()) == (2, [1, 1, 0])

    def changed(assignment: list[int], count: int = 2, captured: bool = True) -> CoverSolution:
        return CoverSolution(
            problem, np.array(assignment), np.array([captured] * 2), count, "captured", "none", {}, 0, None
        )

    for bad, message in (
        (changed([1, 1]), "wrong shape or symbol"),
        (changed([1, 1, 2]), "wrong shape or symbol"),
        (changed([0, 1, 0]), "fixed beforehand"),
        (changed([1, 1, 0], 1), "not the number of set inputs"),
        (changed([1, 1, -1], 1), "captured mask"),
    ):
        with pytest.raises(NotEstablished, match=message):
            bad.verify()
    with pytest.raises(NotEstablished, match="within the budget"):
        good.verify(1)


# --- resampling and the local lemma ----------------------------------------------------------------------------------


@pytest.mark.nojit
def test_where_the_local_lemma_holds_resampling_stays_below_its_bound() -> None:
    problem = sparse(210, 8)
    lemma = local_lemma(problem, 0.9)
    assert lemma.holds
    assert lemma.exact
    assert lemma.degree == 2
    runs = [moser_tardos(problem, 0.9, seed) for seed in range(30)]
    assert all(run.captured_all for run in runs)
    mean = np.mean([run.counts.sum() for run in runs])
    assert 0 < mean <= 1.5 * lemma.resamplings  # the bound is on the expectation; 30 runs


@pytest.mark.nojit
def test_the_verified_weights_satisfy_the_inequality_in_rationals() -> None:
    problem, width, q = sparse(60, 7), 7, Fraction(7, 8)
    lemma = local_lemma(problem, float(q))
    assert lemma.holds
    scopes = [set(problem.cube_input[a:b].tolist()) for a, b in itertools.pairwise(problem.pair_ptr.tolist())]
    x = [Fraction(v) for v in lemma.weights.tolist()]
    for a, scope in enumerate(scopes):
        product = x[a]
        for b, other in enumerate(scopes):
            if a != b and scope & other:
                product *= 1 - x[b]
        assert (1 - q / 2) ** width <= product


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(40))
def test_failure_probabilities_are_upper_bounds_and_exact_where_they_say_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, symbols, q = 4, 2, Fraction(3, 4)
    pairs = random_pairs(rng, inputs, symbols, 1, 4, 1 if seed % 2 else 3)
    lemma = local_lemma(CoverProblem.from_pairs(inputs, symbols, pairs), float(q))
    failure = Fraction(0)
    for values in itertools.product(range(-1, symbols), repeat=inputs):
        if not any(all(values[j] == w for j, w in cube) for cube in pairs[0]):
            failure += np.prod([1 - q if v < 0 else q / symbols for v in values])
    assert Fraction(lemma.probability) >= failure
    if lemma.exact:
        assert lemma.probability == pytest.approx(float(failure), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", heavy_after(range(20), 8))
def test_the_conflict_graph_joins_the_pairs_that_share_an_input(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = random_pairs(rng, 8, 2, 6, 2, 3)
    problem = CoverProblem.from_pairs(8, 2, pairs, {0: 1})
    alive = [p for p, pair in enumerate(pairs) if not any(all(lit == (0, 1) for lit in cube) for cube in pair)]
    scopes = {
        p: {j for cube in pairs[p] if (0, 0) not in cube for j, _ in cube if j != 0} for p in alive
    }  # what the prior assignment contradicts is gone, and so is what it fixes
    graph = conflict_graph(problem)
    assert sorted(graph) == alive
    assert {frozenset(edge) for edge in graph.edges} == {
        frozenset((a, b)) for a, b in itertools.combinations(alive, 2) if scopes[a] & scopes[b]
    }
    assert all(shared in scopes[a] & scopes[b] for a, b, shared in graph.edges(data="input"))
    assert max((degree for _, degree in graph.degree), default=0) == local_lemma(problem, 0.5).degree


def test_the_budget_event_is_part_of_the_lemma() -> None:
    problem = sparse(2100, 8)
    plain, with_budget = local_lemma(problem, 0.9), local_lemma(problem, 0.9, delta=0.5)
    assert plain.holds
    assert with_budget.holds
    assert 0 < with_budget.weight_x0 < 1e-6
    assert not local_lemma(problem, 0.9, delta=0.0).holds
    assert not local_lemma(problem, 0.05).holds
    assert not local_lemma(problem, 0.05).symmetric


def test_resampling_reports_the_budget_event_honestly() -> None:
    problem = family(100, 10, 0)
    answer = solve(problem, solver="resample", q=0.4, delta=0.0)
    assert answer.status == "captured"
    assert answer.statistics["over"] == (answer.statistics["drawn"] > 40)
    assert answer.count < answer.statistics["drawn"]
    assert solve(problem, solver="resample", q=0.0).status == "partial"


# --- errors ----------------------------------------------------------------------------------------------------------


def options(**given: object) -> CoverSolution:
    return solve(family(10, 3, 0), **given)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (partial(CoverProblem.from_pairs, 2, 2, [[]]), "pair 0 has no cube"),
        (partial(CoverProblem.from_pairs, 2, 2, [[[(0, 0)]], [[]]]), "cube 1 has no literal"),
        (partial(CoverProblem.from_pairs, 2, 2, [[[(2, 0)]]]), r"input 2 is outside 0\.\.1"),
        (partial(CoverProblem.from_pairs, 2, 2, [[[(0, -1)]]]), r"symbol -1 is outside 0\.\.1"),
        (partial(CoverProblem.from_pairs, 2, 2, [[[(0, 0), (0, 1)]]]), "cube 0 names input 0 twice"),
        (partial(CoverProblem.from_pairs, 2, 2, [[[(0, 0)]]], {5: 0}), "fixed input 5 = 0"),
        (partial(CoverProblem.from_pairs, 2, 2, [[[(0,)]]]), r"a list of \(input, symbol\)"),
        (partial(CoverProblem.from_pairs, 2, 0, []), "symbols >= 1"),
        (partial(CoverProblem.from_arrays, 3, 2, [0, 2], [0, 1], [0], [0]), "pair_ptr must rise"),
        (partial(CoverProblem.from_arrays, 3, 2, [0, 1], [1, 1], [0], [0]), "cube_ptr must rise"),
        (partial(CoverProblem.from_arrays, 3, 2, [0, 1], [0, 1], [0], []), "1 inputs but 0 symbols"),
        (partial(CoverProblem.from_arrays, 3, 2, [0, 1], [0, 1], [0], [0], [0]), "fixed has 1 entries for 3 inputs"),
        (partial(options, solver="magic"), "choose one of auto, greedy"),
        (partial(options, budget=-1), "at least 0"),
        (partial(options, solver="resample", q=1.5), "0 <= q <= 1"),
        (partial(options, solver="resample", delta=-1.0), "delta >= 0"),
        (lambda: packing_value(family(10, 3, 0), np.array([-1])), "packing multipliers"),
    ],
)
def test_malformed_problems_and_options_are_one_line(made: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        made()
    assert "\n" not in str(caught.value)


def test_out_of_time_is_said() -> None:
    problem = family(300, 8, 0)
    with pytest.raises(ResourceLimit, match="did not decide budget 95"):
        solve(problem, solver="sat", budget=95, time=0.1)
    answer = solve(problem, solver="maxsat", time=0.1)
    assert answer.statistics["timeout"] == 1
    assert 0 < answer.lower <= answer.count


def test_where_sat_is_out_of_time_auto_keeps_what_local_search_found() -> None:
    """The partial answer was lost: SAT's time limit ended all of it."""
    problem = family(300, 8, 0)
    answer = solve(problem, budget=95, time=0.4)
    assert answer.status == "partial"
    assert 95 < answer.count < 200, "complete, but over the budget"
