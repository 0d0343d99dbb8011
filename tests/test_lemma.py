"""c-transformers, the stages and the Depth Reduction Lemma against brute force on all inputs under the restriction."""

import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from typing import Any

import networkx as nx
import numpy as np
import pytest

from restrict.abstract.run import abstract_run, positions_of
from restrict.base.arrays import offsets
from restrict.base.errors import NotEstablished, ResourceLimit, UsageError
from restrict.cover.moser_tardos import moser_tardos
from restrict.cover.solve import SOLVERS
from restrict.depth_reduction.c_transformer import input_sets
from restrict.depth_reduction.c_transformer.activations import Truth
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.c_transformer.forcing import forcing_cubes, minimal_cubes
from restrict.depth_reduction.c_transformer.layers import collapsed, layer_traces
from restrict.depth_reduction.lemma.lemma4 import reduce_layer
from restrict.depth_reduction.lemma.neighbours import neighbour_graph, neighbours
from restrict.depth_reduction.lemma.selection import Selection, selection
from restrict.depth_reduction.lemma.stage1 import stage1
from restrict.depth_reduction.lemma.stage2 import stage2
from restrict.depth_reduction.lemma.stage3 import stage3
from restrict.kernels import scan_lists
from restrict.model.examples.random import random_model
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Head, Instance, Model, Output
from restrict.model.restriction import Restriction
from restrict.model.rules import evaluate
from restrict.rows.lists import candidate_lists
from restrict.rows.row import Row
from restrict.rows.values import Values
from tests import naive
from tests.generator import random_case, random_restriction
from tests.marks import LONG_TO_COMPILE, heavy_after
from tests.random_ctransformer import random_ctransformer

pytestmark = LONG_TO_COMPILE


def agreeing(t: CTransformer, restriction: Restriction | None = None) -> np.ndarray[Any, Any]:
    """All inputs (b, n) that agree with a restriction."""
    rho = t.restriction if restriction is None else restriction
    choices = [[t.symbols.index(rho.fixed[i])] if i in rho.fixed else range(len(t.symbols)) for i in range(t.n)]
    return np.array(list(itertools.product(*choices)), dtype=np.int64).reshape(-1, t.n)


def small(seed: int) -> CTransformer:
    """A random c-transformer with c = 1, 2, 3 in turn, shared inputs, ties in every third."""
    rng = np.random.default_rng(seed)
    return random_ctransformer(
        rng, int(rng.integers(3, 8)), 1 + seed % 3, layers=1 + int(rng.integers(2)), heads=1 + int(rng.integers(2)),
        states=2 + int(rng.integers(2)), symbols=2, shared=float(rng.random()), fixed=float(rng.choice([0, 0, 0.3])),
        coarse=None if seed % 3 else 3,
    )  # fmt: skip


def with_cube(x: np.ndarray[Any, Any], cube: Iterable[tuple[int, int]]) -> np.ndarray[Any, Any]:
    """Which inputs have these symbols."""
    return np.logical_and.reduce([np.ones(len(x), bool), *(x[:, j] == s for j, s in cube)])


# --- c-transformers ---


def drawn(seed: int, document: dict[str, Any], n: int) -> tuple[np.random.Generator, Instance, list[Restriction]]:
    """A random program, or the given one at its length, with a restriction and one that fixes less."""
    rng = np.random.default_rng(seed)
    if seed % 3:
        document, n = random_case(rng)
    at = loads(dumps(document), "x").at(n)
    rho = Restriction.of(at, random_restriction(rng, document, n))
    return rng, at, [rho, Restriction(n, {i: s for i, s in rho.fixed.items() if rng.random() < 0.5}, rho.pinned)]


@pytest.mark.parametrize("block", heavy_after(range(4), 1))
def test_collapsing_gives_the_abstract_run(block: int) -> None:
    """V and D of every node are those of the abstract run, whether the lists were scanned or refined."""
    for seed in range(40 * block, 40 * block + 40):
        _, at, (rho, fewer) = drawn(seed, random_model(layers=1 + seed % 2, states=3, seed=seed), 5 + seed % 4)
        run, fresh, refined = abstract_run(at, rho, "all"), *(CTransformer.of_model(at, None, r) for r in (rho, fewer))
        while fresh.above:
            fresh, refined = fresh.collapse(), refined.collapse()
        for t in (fresh, refined.restrict(rho)):
            for name, i in itertools.product(t.base, range(at.n)):
                assert t.base[name].possible(i) == tuple(run.values(name, i)), (seed, name, i)
                assert t.base[name].inputs(i) == positions_of(run.depends(name, i)), (seed, name, i)


@pytest.mark.parametrize("block", heavy_after(range(6), 1))
def test_streamed_heads_are_those_with_lists(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """V, D and the trace do not depend on whether lists are kept; refining streams again."""
    for seed in range(6 * block, 6 * block + 6):
        symbols = (2, 30, 5)[seed // 3 % 3]  # the kernel scores positions of many key values in another way
        given = random_model(layers=1 + seed % 2, symbols=symbols, seed=seed)
        rng, at, (rho, fewer) = drawn(seed, given, 7 + seed % 4)
        kept = collapsed(at, rho)
        monkeypatch.setattr("restrict.depth_reduction.options.THEOREM.kept", -1)
        fresh, refined = collapsed(at, rho), collapsed(at, fewer)[-1].restrict(rho)
        monkeypatch.undo()
        for name, known in kept[-1].base.items():
            for t in (fresh[-1], refined):
                mine = t.base[name]
                for part in ("depends.ptr", "depends.items", "values.flat", "values.ptr"):
                    assert np.array_equal(attrgetter(part)(mine), attrgetter(part)(known)), (seed, name, part)
        words = rng.integers(0, len(at.model.alphabet), (3, at.n))
        words = np.where(kept[0].fixed >= 0, kept[0].fixed, words)
        assert fresh[-1].output(words) == kept[-1].output(words)
        for ours, theirs in zip(layer_traces(fresh, ()), layer_traces(kept, ()), strict=True):
            assert ours.captured <= theirs.captured
            assert replace(ours, captured=theirs.captured) == theirs


@pytest.mark.parametrize("lengths", [pytest.param((40, 5, 13), marks=pytest.mark.nojit), (300, 5, 131)])
def test_hashed_lists_of_any_key_values(lengths: tuple[int, ...]) -> None:
    """Long rows, many symbols, any sets of key values, any masks: the batch scan against one streamed row each."""
    lowered = 0
    for seed in range(24):
        rng, symbols, n = np.random.default_rng(seed), (2, 3, 7, 9, 26)[seed % 5], lengths[seed % 3]
        document = random_model(layers=1, heads=1, seed=seed, symbols=symbols)
        document["variables"][0] |= {"ties": ("left", "right")[seed % 2]}
        document["variables"][0] |= {"mask": ("none", "past", "future")[seed // 2 % 3]}
        at = loads(dumps(document), "x").at(n)
        head = next(v for v in at.model.variables if isinstance(v, Head))
        share, most = float(rng.choice([0, 0.1, 1])), int(rng.choice([1, symbols]))
        sizes = np.where(rng.random(n) < share, rng.integers(1, most + 1, n), symbols)
        flat = np.concatenate([np.sort(rng.permutation(symbols)[:size]) for size in sizes])
        keys = Values(symbols, np.arange(n), np.append(0, np.cumsum(sizes)), flat)
        queries = Values(symbols, np.arange(n), np.arange(0, 2 * n + 1, 2), np.tile([0, symbols - 1], n))
        for limit in (0, 3, 150):
            lists = candidate_lists(at, head, queries, keys, limit)
            for r, (i, u) in enumerate(zip(lists.row_i.tolist(), lists.row_u.tolist(), strict=True)):
                row = Row(at, head, i, u)
                pairs, _ = row._stream(keys, None)
                whole = [tuple(map(int, pair)) for pair in pairs[:2, row._order(*pairs)].T]
                assert lists.pairs(r) == (whole[:limit] if limit else whole), (seed, i, u)
                assert bool(lists.complete[lists.row_list[r]]) == (limit == 0 or len(whole) <= limit)
                lowered += limit == 0 and len(whole) > scan_lists.FEW
    assert lowered > (100 if lengths[0] > 40 else 0)  # rows whose first bar was too high


@pytest.mark.nojit
def test_pairs_are_ranked_by_score_position_and_key_value() -> None:
    """Equal scores, which hashes hardly ever have, too."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        top = int(rng.choice([2, 10**6, 2**63 - 1]))
        pairs = np.stack([rng.integers(0, 5, 40), rng.permutation(40), rng.integers(0, top, 40, endpoint=True)])
        for right in (0, 1):
            expected = sorted(
                range(40), key=lambda t: (-pairs[2, t], -pairs[0, t] if right else pairs[0, t], pairs[1, t])
            )
            assert scan_lists.ranked(pairs, 40, right).tolist() == expected


@pytest.mark.parametrize("block", heavy_after(range(4), 1))
def test_cubes_force_what_they_say(block: int) -> None:
    for seed in range(60 * block, 60 * block + 60):
        t = small(seed)
        while t.above:
            t = t.collapse()
        x = agreeing(t)
        values, cubes = t.evaluate(x), forcing_cubes(t)
        for name, i in itertools.product(t.base, range(t.n)):
            for v in t.base[name].possible(i):
                cube = cubes[name].cube(i, v, len(t.symbols))
                if cube is not None:
                    agree = with_cube(x, cube)
                    assert agree.any()
                    assert np.all(values[name][agree, i] == v), (seed, name, i, v)


@pytest.mark.nojit
def test_minimal_cubes_are_the_prime_implicants() -> None:
    for seed in range(60):
        t = small(seed)
        x = agreeing(t)
        values, i = t.evaluate(x)["token"], seed % t.n
        for v in t.base["token"].possible(i):
            found = {frozenset(cube) for cube in minimal_cubes(t, "token", i, v)}
            inputs = t.base["token"].inputs(i)
            expected: list[frozenset[tuple[int, int]]] = []
            for chosen in sorted(itertools.product((-1, 0, 1), repeat=len(inputs)), key=lambda c: len(c) - c.count(-1)):
                cube = frozenset((j, s) for j, s in zip(inputs, chosen, strict=True) if s >= 0)
                if np.all(values[with_cube(x, cube), i] == v) and not any(other <= cube for other in expected):
                    expected.append(cube)
            assert found == set(expected)


# --- the stages ---


def test_stage1_keeps_its_bounds() -> None:
    busy = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        t = random_ctransformer(rng, int(rng.integers(6, 30)), 1 + seed % 3, shared=float(rng.random()))
        eta, C = Fraction(1 + seed % 4, 10), Fraction(t.restriction.free, t.n)
        rho, record = stage1(t, eta=eta, C=C)
        assert rho.refines(t.restriction)
        assert len(record.fixed) <= record.fixed_bound
        assert record.degree_after <= record.degree_bound
        after = t.restrict(rho).base["token"]
        inputs = [after.inputs(i) for i in range(t.n)]
        counts = [sum(x in mine for mine in inputs) for x in range(t.n)]
        assert record.degree_after == max(counts)
        busy += bool(record.fixed)
    assert busy > 20


def greedy_selection(t: CTransformer, h: int, i: int, u: int, k: int) -> tuple[list[tuple[int, int]], bool]:
    """By definition: rank positions by their best pair; select iff there is a new input; captured iff a position all of
    whose pairs have been passed comes before the k-th selection."""
    head = t.heads[h]
    first, stop = t.instance.visible(head, i)
    pairs = []
    for j in range(first, stop):
        for w in (u,) if j == i else t.base["token"].possible(j):
            point = {"j": np.array([j]), "k": np.array([w])}
            score = int(evaluate(t.instance.row(head, i, u), point, 1)[0])
            pairs.append((-score, -j if head.ties == "right" else j, w, j))
    ranked, seen, floor = [], {}, None
    for _, _, w, j in sorted(pairs):
        seen[j] = seen.get(j, 0) + 1
        if seen[j] == 1:
            ranked.append((j, w))
        if seen[j] == (1 if j == i else len(t.base["token"].possible(j))):
            floor = j
            break
    chosen: list[tuple[int, int]] = []
    union: set[int] = set()
    for j, w in ranked:
        if set(t.base["token"].inputs(j)) - union:
            chosen.append((j, w))
            union |= set(t.base["token"].inputs(j))
            if len(chosen) == k:
                return chosen, (j, w) == ranked[-1] and floor == j and seen[j] == 1
    return chosen, True


@pytest.mark.nojit
def test_selection_is_greedy_and_covers_what_it_skips() -> None:
    for seed in range(120):
        t = small(seed)
        k = 1 + seed % 3
        found = selection(t, k)
        for p in range(found.pairs):
            where = int(found.head[p]), int(found.position[p]), int(found.query[p])
            chosen, captured = greedy_selection(t, *where, k)
            assert found.of(p) == chosen, (seed, where)
            if found.of(p) and not captured:
                assert not found.captured[p], (seed, where)


def pairs_of(found: Selection) -> dict[tuple[int, int, int], bool]:
    """Whether each (head, position, query value) is captured."""
    pairs = zip(found.head.tolist(), found.position.tolist(), found.query.tolist(), strict=True)
    return dict(zip(pairs, map(bool, found.captured), strict=True))


def test_stage2_keeps_its_bounds() -> None:
    busy = 0
    for seed in range(150):
        t = small(seed)
        C = Fraction(t.restriction.free, t.n)
        k = 1 + seed % 2
        if C == 0 or t.n <= t.c * k:
            continue
        limit = 1 + seed % 3 if seed % 2 else None
        rho, record = stage2(t, k=k, eta=Fraction(1, 4), C=C, limit=limit)
        assert rho.refines(t.restriction)
        assert record.dependents_after <= (record.dependents_bound if limit is None else limit)
        assert record.most_inputs <= record.c * k
        first, last = pairs_of(selection(t, k)), pairs_of(selection(t.restrict(rho), k))
        kept = sum(captured or first.get(pair, False) for pair, captured in last.items())
        if record.rounds <= 1:  # what was captured stays so, by record; more rounds may have captured more
            assert record.captured_after == kept
        assert record.captured_after >= kept
        assert len(record.fixed) <= record.c * record.rounds
        if limit is None:
            assert record.rounds <= record.rounds_bound
        degrees = dict(nx.degree(neighbour_graph(t.restrict(rho), k)))
        assert record.neighbours_after == max(degrees.values(), default=0)
        busy += record.rounds > 0
    assert busy > 15


def test_stage2_brings_the_neighbours_below_a_bound_that_was_exceeded() -> None:
    """One position attracts a third of 300 heads: more than the lemma's bound on neighbours, which Stage 2 restores."""
    score = "(1000 if i % 3 == 0 and j == 7 else hash(i, j) % 900) + k"
    head = Head("h", "token", score, query="token", key="token")
    model = Model("m", ("a", "b"), (head,), Output("h", position="every"))
    n = 300
    token = Truth.make([([x], [0, 1]) for x in range(n)])
    t = CTransformer.of_truth(model.at(n), ("0", "1"), token, Restriction(n, {}))
    rho, record = stage2(t, k=1, eta=Fraction(49, 100), C=Fraction(1))
    assert record.neighbours_before > record.neighbours_bound
    assert record.neighbours_after <= record.neighbours_bound < n
    assert 0 < len(rho.fixed) <= record.c * record.rounds
    assert record.rounds <= record.rounds_bound


def test_neighbours_by_definition_are_those_of_the_graph() -> None:
    for seed in range(60):
        t = small(seed)
        k = 1 + seed % 3
        found = selection(t, k)
        inputs: dict[tuple[int, int], set[int]] = {}
        for p in np.flatnonzero(found.captured == 0):
            mine = inputs.setdefault((int(found.position[p]), int(found.head[p])), set())
            mine.update(x for j, _ in found.of(int(p)) for x in t.base["token"].inputs(j))
        expected = {a: sum(bool(inputs[a] & inputs[b]) for b in inputs if b != a) for a in inputs}
        assert neighbours(t, found) == expected
        graph = neighbour_graph(t, k)
        assert dict(nx.degree(graph)) == expected
        assert all(x["input"] in inputs[a] & inputs[b] for a, b, x in graph.edges(data=True))


def fewest(t: CTransformer, k: int) -> int | None:
    """By enumeration: the fewest further inputs that force, in every uncaptured pair, a selected key to its
    maximiser."""
    found, x = selection(t, k), agreeing(t)
    values = t.evaluate(x)["token"]
    wanted = [found.of(int(p)) for p in np.flatnonzero(found.captured == 0)]
    free = [i for i in range(t.n) if t.fixed[i] < 0]
    for size in range(len(free) + 1):
        for where in itertools.combinations(free, size):
            for symbols in itertools.product(range(len(t.symbols)), repeat=size):
                agree = with_cube(x, zip(where, symbols, strict=True))
                if all(any(np.all(values[agree, j] == w) for j, w in pair) for pair in wanted):
                    return size
    return None


def test_stage3_is_exact_by_enumeration() -> None:
    """MaxSAT finds the optimum, SAT refutes one less with a proof, Moser-Tardos ends only where everything is
    captured."""
    refuted = 0
    for seed in range(70):
        t = small(seed)
        k = 1 + seed % 2
        optimum = fewest(t, k)
        arguments = {"k": k, "q": 0.5, "delta": 0.5, "eta": 0.1, "C": 1, "C_next": 0}
        rho, record = stage3(t, method="maxsat", **arguments)
        assert record.exact
        if optimum is None:
            assert record.status == "impossible"
            continue
        assert (record.status, record.spent) == ("captured", optimum), seed
        assert selection(t.restrict(rho), k).pairs <= selection(t, k).pairs
        check_captured(t, rho, k)
        rho, record = stage3(t, method="resample", seed=seed, **arguments)
        if record.status == "captured":
            assert record.spent >= optimum
            check_captured(t, rho, k)
        if optimum:
            tight = arguments | {"C": 1, "C_next": Fraction(t.restriction.free - optimum + 1, t.n)}
            if tight["C_next"] < 1:
                _, record = stage3(t, method="auto", **tight)
                assert record.status == "impossible"
                record.solution.verify(optimum - 1)
                refuted += 1
    assert refuted > 10


@pytest.mark.parametrize("method", SOLVERS)
def test_stage3_takes_every_solver_of_the_covering_problem(method: str) -> None:
    t = next(t for t in map(small, range(70)) if fewest(t, 1))
    rho, record = stage3(t, k=1, q=0.5, delta=0.5, eta=0.1, C=1, C_next=0, method=method)
    assert (record.status, record.method) == ("captured", "resample" if method == "auto" else method)
    check_captured(t, rho, 1)


def check_captured(t: CTransformer, rho: Restriction, k: int) -> None:
    """Every pair that was not captured now has a selected key that is constant at its maximiser."""
    found, after = selection(t, k), t.restrict(rho)
    for p in np.flatnonzero(found.captured == 0):
        if int(found.query[p]) in after.base["token"].possible(int(found.position[p])):
            assert any(after.base["token"].possible(j) == (w,) for j, w in found.of(int(p)))


def test_resampling_stays_below_its_bound() -> None:
    """Where the asymmetric condition holds, the mean number of redraws stays below the lemma's bound."""
    rng = np.random.default_rng(3)
    t = random_ctransformer(rng, 60, 1, heads=1, states=2, shared=0.0)
    _, record = stage3(t, k=12, q=0.9, delta=0.5, eta=0.1, C=1, C_next=0)
    assert record.lemma.holds
    assert math.isfinite(record.expected)
    totals = [moser_tardos(record.problem, 0.9, seed).counts.sum() for seed in range(60)]
    assert np.mean(totals) <= record.expected


# --- the lemma ---


SWEEP = [pytest.param(block, marks=[pytest.mark.slow] if block > 3 else []) for block in range(30)]


@pytest.mark.parametrize("block", SWEEP)
def test_the_reduced_network_equals_the_original(block: int) -> None:
    """Every variable at every position, on all inputs that agree; c' within the lemma's bound; C' n inputs free."""
    reduced = 0
    for seed in range(100 * block, 100 * block + 100):
        t = small(seed)
        k, free = 1 + seed % 2, t.restriction.free
        if free == 0 or t.n <= t.c * k:
            continue
        C_next = Fraction(int(np.random.default_rng(seed).integers(0, free)), t.n)
        try:
            result = reduce_layer(t, C_next=C_next, k=k, eta=Fraction(1, 3), seed=seed)
        except NotEstablished:
            continue
        reduced += 1
        after = result.transformer
        assert result.restriction.free >= C_next * t.n
        assert result.restriction.refines(t.restriction)
        assert after.layers == t.layers - 1
        assert after.c <= result.c_bound
        x = agreeing(t, result.restriction)
        ours, theirs = after.evaluate(x), t.evaluate(x)
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs), seed
        for name, i in itertools.product(after.live, range(t.n)):
            assert set(np.unique(theirs[name][:, i])) <= set(after.base[name].possible(i))
            inputs = list(after.base[name].inputs(i))
            shown = {tuple(row[inputs]): value for row, value in zip(x, theirs[name][:, i], strict=True)}
            assert all(shown[tuple(row[inputs])] == v for row, v in zip(x, theirs[name][:, i], strict=True))
    assert reduced > 30


def test_the_original_is_what_the_program_says() -> None:
    """The evaluation of a c-transformer against truth tables read by hand and the naive evaluator."""
    for seed in range(40):
        t = small(seed)
        source, document = t.base["token"].source, json.loads(t.instance.model.content)
        inputs = agreeing(t)[:: max(1, len(agreeing(t)) // 6)]
        ours = t.evaluate(inputs)
        for b, x in enumerate(inputs):
            word = []
            for i in range(t.n):
                read = source.inputs[source.ptr[i] : source.ptr[i + 1]]
                point = sum(int(x[j]) * len(t.symbols) ** at for at, j in enumerate(reversed(read)))
                word.append(int(source.tables[source.table_ptr[i] + point]))
            run = naive.run(document, word)
            assert all(run.values[name] == ours[name][b].tolist() for name in run.values)


def test_iterating_removes_all_layers() -> None:
    rng = np.random.default_rng(1)
    t = random_ctransformer(rng, 14, 1, layers=2, heads=1, states=2, shared=0.0)
    first = reduce_layer(t, C_next=0.6, k=6)
    second = first.transformer.restrict(first.restriction)
    while second.layers:
        second = second.collapse()
    x = agreeing(t, first.restriction)
    assert second.output(x) == t.output(x)


# --- bad input ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta": 0.5}, "eta = 0.5 must lie strictly between 0 and 1/2; take eta = 0.49"),
        ({"eta": 0}, "take eta = 0.01"),
        ({"k": 0}, "k = 0 must be at least 1; take k = 1"),
        ({"q": 1.0}, "q = 1.0 must lie strictly between 0 and 1; take q = 0.99"),
        ({"delta": 0}, "delta = 0 must be above 0 and at most 1; take delta = 0.1"),
        ({"C": 1.2}, "C = 1.2 must be above 0 and at most 1; take C = 1"),
        (
            {"C": 0.5, "C_next": 0.5},
            "C' = 0.5 must be at least 0 and less than C = 0.5; take C' = below 0.5, such as 0.495",
        ),
        (
            {"k": 10},
            "n = 10 is too small for k = 10 selections of activations of up to 1 input: take k <= 9, or n >= 11",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    t = random_ctransformer(np.random.default_rng(0), 10, 1)
    with pytest.raises(UsageError) as raised:
        reduce_layer(t, **({"C_next": 0.2, "k": 2} | arguments))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.heavy
def test_a_budget_that_cannot_be_met_names_the_nearest_one() -> None:
    t = random_ctransformer(np.random.default_rng(0), 40, 1, heads=2, states=2, shared=0.0)
    with pytest.raises(NotEstablished) as raised:
        reduce_layer(t, C_next=0.95, k=3)
    nearest = float(str(raised.value).partition("take C' <= ")[2].partition(",")[0])
    assert 0 < nearest < 0.95
    assert reduce_layer(t, C_next=nearest, k=3).restriction.free >= nearest * 40


def test_too_few_free_inputs_or_no_layer_is_refused() -> None:
    t = random_ctransformer(np.random.default_rng(0), 10, 1, fixed=0.5)
    with pytest.raises(UsageError, match="take C <= 0"):
        reduce_layer(t, C=1, C_next=0.1, k=2)
    with pytest.raises(UsageError, match="no attention layer left"):
        reduce_layer(t.collapse(), C_next=0.1, k=2)


def test_truth_tables_that_do_not_fit_are_refused() -> None:
    t = random_ctransformer(np.random.default_rng(0), 3, 1)
    for functions, message in (
        ([((0,), (0, 1))] * 2, "for 2 positions, not 3"),
        ([((0,), (0, 1, 1))] * 3, "symbols\\^c entries"),
        ([((3,), (0, 1))] * 3, "outside 0..2"),
        ([((0, 0), (0, 1, 0, 1))] * 3, "reads an input twice"),
        ([((0,), (0, 7))] * 3, "leaves the domain 0..1"),
    ):
        with pytest.raises(UsageError, match=message):
            CTransformer.of_truth(t.instance, t.symbols, Truth.make(functions), t.restriction)


# --- sets of inputs ---


@pytest.mark.nojit
def test_sets_of_inputs_are_sets() -> None:
    """Long and short ones, packed in parts, against Python's: unions, sizes, members, and what an input feeds."""

    def random_sets(rng: np.random.Generator, n: int) -> list[set[int]]:
        most = rng.choice([0, 1, n // 64, n // 64 + 1, n], n)
        return [set(rng.permutation(n)[: rng.integers(m + 1)].tolist()) for m in most.tolist()]

    def packed(sets: list[set[int]]) -> input_sets.InputSets:
        flat = np.array([x for one in sets for x in one], dtype=np.int64)
        return input_sets.InputSets.of_lists(offsets([len(one) for one in sets]), flat)

    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([1, 2, 63, 64, 65, 130, 200]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "restrict.depth_reduction.options.THEOREM.buffer", 1 if seed % 2 else 1 << 20
            )  # one set at a time, or all
            a, b = random_sets(rng, n), random_sets(rng, n)
            kept = rng.integers(0, 2, n)
            both, few = packed(a), input_sets.InputSets.unions([packed(a), packed(b)], kept)
        expected = [x | y if k else set() for x, y, k in zip(a, b, kept.tolist(), strict=True)]
        again = packed(expected)
        assert np.array_equal(few.ptr, again.ptr)
        assert np.array_equal(few.items, again.items)
        for found, sets in ((both, a), (few, expected)):
            assert [found.of(i) for i in range(n)] == [tuple(sorted(one)) for one in sets]
            assert found.sizes.tolist() == [len(one) for one in sets]
            assert found.feeds().tolist() == [sum(x in one for one in sets) for x in range(n)]
            ptr, inputs = found.listed
            assert [inputs[ptr[i] : ptr[i + 1]].tolist() for i in range(n)] == [sorted(one) for one in sets]
            assert found.have(np.arange(n), n // 2).tolist() == [int(n // 2 in one) for one in sets]
            assert found.unpacked(np.arange(n)).tolist() == [[int(x in one) for x in range(n)] for one in sets]
            assert len(found.items) <= n * found.words


def test_sets_that_take_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    at = loads(dumps(random_model(layers=1, seed=5)), "x").at(150)
    monkeypatch.setattr(input_sets, "MOST_BYTES", 150 * 8 * 2)
    with pytest.raises(ResourceLimit, match="take n <= "):
        CTransformer.of_model(at).collapse()
