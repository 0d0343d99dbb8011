"""The exact optimum and the largest faces agree with brute force, and their witnesses prove it again."""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import restrict
from restrict import Model, ResourceLimit, Restriction, certify, load
from restrict.base.deadline import Deadline, OutOfTime
from restrict.base.errors import UsageError
from restrict.certificate.certificate import load_certificate
from restrict.force.cases import confirm, confirm_by_tree
from restrict.model.examples.builtin import BUILTINS
from restrict.model.fileformat import dumps, loads
from restrict.model.on_demand import OnDemandRun
from restrict.model.program import Instance
from restrict.model.task import Task
from restrict.optimum import enumeration
from restrict.optimum.descent import descend
from restrict.optimum.enumeration import all_labels, by_size, cube_of, essential_counts, lift
from restrict.optimum.exact import Exact, exact
from restrict.optimum.faces import largest_faces
from restrict.optimum.oracle import Cube, Oracle
from restrict.sat.hitting_sets import Cheapest
from tests import generator, naive
from tests.marks import heavy_after


def depends(document: naive.Model, n: int, fixed: Mapping[int, str]) -> int:
    """On how many free positions the last label depends under a restriction, by brute force."""
    return len(naive.true_dependencies(document, n, dict(fixed))["label", n - 1])


def recheck(model: Model, found: Exact) -> bool:
    """Whether the witnesses prove ``found.lower`` (``c = 0``), by a fresh oracle and by RC2."""
    task = Task.of(model, found.n, target=found.target)
    position = task.one_position("a bound")
    oracle = Oracle.of(task.instance, position)
    if len(oracle.same) == 1:
        return found.lower == 0
    index = {symbol: a for a, symbol in enumerate(model.alphabet)}
    witnesses = {w.label: w for w in found.witnesses}
    for label, same in oracle.same.items():
        if label not in witnesses or witnesses[label].bound < found.lower:
            return False
        cubes = [{i: index[s] for i, s in cube.items()} for cube in witnesses[label].cubes]
        if any(oracle.find(cube, same) is not None for cube in cubes):
            return False
        if least_hitting_set(cubes, len(model.alphabet), len(oracle.inputs)) < witnesses[label].bound:
            return False
    return True


def least_hitting_set(cubes: Iterable[Cube], symbols: int, limit: int) -> int:
    """The exact fewest positions of a restriction that conflicts with every cube (symbol indices by position), by RC2;
    ``limit + 1`` where none does."""
    cubes = list(cubes)
    hitter = Cheapest(sorted({i for cube in cubes for i in cube}), range(symbols))
    for cube in cubes:
        hitter.add(cube)
    found = hitter.get()
    return limit + 1 if found is None else len(found)


def check(document: naive.Model, model: Model, n: int) -> Exact:
    """The optimum at one length, compared with brute force."""
    found = exact(model, n)
    size, _ = naive.minimum_forcing(document, n)
    assert (found.lower, found.upper, len(found.restriction.fixed)) == (size, size, size)
    assert found.optimal
    assert depends(document, n, found.restriction.fixed) == 0
    assert recheck(model, found)
    if found.certificate is not None:
        assert found.certificate.restriction.fixed == found.restriction.fixed
        assert "c=0" in restrict.check(model, found.certificate)
    return found


@pytest.mark.parametrize("block", heavy_after(range(4), 1))
def test_the_optimum_of_random_programs_is_that_of_brute_force(block: int) -> None:
    for seed in range(block, 120, 4):
        document, n = generator.random_case(np.random.default_rng(1000 + seed), 5)
        check(document, loads(dumps(document), "random"), n)


@pytest.mark.parametrize("seed", heavy_after(range(6), 2))
def test_the_optimum_of_random_two_layer_models_is_that_of_brute_force(seed: int) -> None:
    model = load(f"random:layers=2,heads=2,states=4,seed={seed}")
    assert model.content is not None
    check(naive.load(json.loads(model.content)), model, 8)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *[("contains-one", 5), ("all-ones", 5), ("first-symbol", 4), ("anbn", 6), ("and-of-ors", 9), ("parity8", 8)],
        *[("or-of-ands", 4), ("flip-flop", 4), ("induction-head", 4), ("dyck1-depth2", 6), ("dyck1-depth3", 6)],
    ],
)
def test_the_optimum_of_instances_is_that_of_brute_force(name: str, n: int) -> None:
    check(BUILTINS[name](), load(name), n)


@pytest.mark.parametrize(("name", "n", "optimum"), [("and-of-ors", 36, 6), ("or-of-ands", 25, 5), ("tribes", 24, 3)])
def test_known_optima_beyond_brute_force_are_found(name: str, n: int, optimum: int) -> None:
    found = exact(load(name), n)
    assert (found.lower, found.upper, found.confirmed) == (optimum, optimum, True)
    assert recheck(load(name), found)


def test_a_search_that_is_stopped_early_gives_valid_bounds() -> None:
    model = load("random:layers=2,seed=0")
    found = exact(model, 30, time=0.0)
    assert found.lower <= found.upper == len(found.restriction.fixed)
    start = certify(model, 12)
    found = exact(model, 12, time=0.0, start=start)
    assert found.lower < found.upper == len(start.restriction.fixed)
    assert found.certificate is start
    assert recheck(model, found)


def test_the_same_seed_gives_the_same_answer() -> None:
    model = load("random:layers=2,seed=2")
    one, two = exact(model, 20, seed=5), exact(model, 20, seed=5)
    assert (one.restriction, one.witnesses) == (two.restriction, two.witnesses)


def test_recheck_refuses_what_does_not_prove_the_bound() -> None:
    model = load("and-of-ors")
    found = exact(model, 9)
    assert recheck(model, found)
    assert not recheck(model, replace(found, lower=4))
    assert not recheck(model, replace(found, witnesses=found.witnesses[:1]))
    fewer = tuple(replace(w, cubes=w.cubes[:1]) for w in found.witnesses)
    assert not recheck(model, replace(found, witnesses=fewer))
    wrong = tuple(replace(w, cubes=(*w.cubes, {0: "0"})) for w in found.witnesses)
    assert not recheck(model, replace(found, witnesses=wrong))


def test_the_least_hitting_set_is_that_of_enumeration() -> None:
    rng, n, symbols = np.random.default_rng(0), 4, 3
    for _ in range(60):
        some = (rng.permutation(n)[: rng.integers(1, 4)].tolist() for _ in range(rng.integers(0, 7)))
        cubes = [{i: int(rng.integers(symbols)) for i in chosen} for chosen in some]
        sizes = [
            sum(a < symbols for a in rho)
            for rho in itertools.product(range(symbols + 1), repeat=n)
            if all(any(rho[i] not in (a, symbols) for i, a in cube.items()) for cube in cubes)
        ]
        assert least_hitting_set(cubes, symbols, n) == min(sizes, default=n + 1)


# --- from above, and with maps left open ---


def programs(first: int, count: int) -> list[tuple[naive.Model, int]]:
    """Small random programs with a length."""
    return [generator.random_case(np.random.default_rng(seed), 5) for seed in range(first, first + count)]


def test_the_descent_ends_at_the_optimum_of_brute_force() -> None:
    for seed in range(2):
        model, n = load(f"random:layers=2,heads=2,states=4,seed={seed}"), 7
        assert model.content is not None
        size, _ = naive.minimum_forcing(naive.load(json.loads(model.content)), n)
        found = descend(Task.of(model, n), dict.fromkeys(range(n), 0))
        assert found.optimum == size
        assert found.certificate is not None
        assert len(found.certificate.restriction.fixed) == size
        assert " c=0 " in restrict.check(model, found.certificate)
    for document, n in programs(3000, 10):
        model = loads(dumps(document), "random")
        size, _ = naive.minimum_forcing(document, n)
        letters = naive.letters(document, n)
        if letters:
            assert descend(Task.of(model, n), dict.fromkeys(letters, 0)).optimum == size


@pytest.mark.parametrize("many", heavy_after((6, 30), 1))
def test_a_formula_with_open_maps_gives_the_same_optimum(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr("restrict.optimum.options.OPTIONS.points", 1)
    monkeypatch.setattr("restrict.optimum.options.ENUMERATION.wide_words", 0)
    for document, n in programs(4000, many):
        model = loads(dumps(document), "random")
        size, _ = naive.minimum_forcing(document, n)
        found = exact(model, n)
        assert (found.lower, found.upper) == (size, size)


# --- c > 0 ---


def minimum_for(document: naive.Model, n: int, c: int) -> int:
    """The fewest fixed positions that leave at most ``c`` dependencies, over all restrictions."""
    places = naive.letters(document, n)
    every = itertools.product([None, *document["alphabet"]], repeat=len(places))
    some = ({i: a for i, a in zip(places, rho, strict=True) if a is not None} for rho in every)
    return min(len(fixed) for fixed in some if depends(document, n, fixed) <= c)


def test_the_optimum_for_a_given_c_is_that_of_brute_force() -> None:
    for seed in range(12):
        document, n = generator.random_case(np.random.default_rng(2000 + seed), 3)
        model = loads(dumps(document), "random")
        for c in (1, 2):
            found = exact(model, n, c=c)
            assert found.lower == found.upper == minimum_for(document, n, c), f"seed {seed}"
            assert depends(document, n, found.restriction.fixed) <= c


def test_large_c_problems_are_refused() -> None:
    with pytest.raises(ResourceLimit, match="by enumeration"):
        exact(load("contains-one"), 30, c=1)


def test_every_restriction_of_the_answer_is_for_the_model() -> None:
    model = load("tagger")
    found = exact(model, 4, target=2)
    assert isinstance(found.restriction, Restriction)
    assert found.optimal
    with pytest.raises(UsageError, match="target all"):
        exact(model, 4, target="all")


@pytest.mark.parametrize("abstains", [False, True])
def test_inputs_of_a_model_of_wide_maps_have_the_label_that_was_asked_for(
    abstains: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the definition, also where the run that confirms them leaves the label open, as with images too large for it;
    where none is found, 200 words that agree with the cube do not have it either."""
    model, n, rng = load("random:layers=2,heads=4,states=8,seed=310"), 14, np.random.default_rng(0)
    oracle = Oracle.of(model.at(n), n - 1)
    assert oracle.code.wide
    if abstains:
        monkeypatch.setattr(type(oracle.runs), "labels", lambda self, fixed: set(oracle.same))
    for size in (1, 4, 8, 10, 12, 13):
        cube = {int(i): int(rng.integers(2)) for i in rng.permutation(n)[:size]}
        for selector, (label, same) in oracle.demands.items():
            found = oracle.find(cube, selector)
            words = [found] if found is not None else [
                {i: cube.get(i, int(rng.integers(2))) for i in range(n)} for _ in range(200)
            ]  # fmt: skip
            labels = {OnDemandRun(model.at(n), [word[i] for i in range(n)]).label(n - 1) for word in words}
            assert all(((seen == label) == same) == (found is not None) for seen in labels)


# ----------------------------------------------------------------
# The largest faces against the table of all restrictions, and trees of cases against every input.


def test_the_largest_faces_are_those_of_the_table_of_all_restrictions() -> None:
    rng, answers = np.random.default_rng(0), 0
    for _ in range(400):
        symbols, m = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        labels = np.asarray(rng.random((symbols,) * m) < rng.random() ** 3, dtype=np.int16)
        members = None if rng.random() < 0.4 else np.asarray(rng.random((symbols,) * m) < rng.random())
        good = essential_counts(labels) == 0
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


def forcing(instance: Instance) -> Iterator[Cube]:
    """All restrictions that force the last label, fewest fixed first, from the table of all of them."""
    _, order = by_size(essential_counts(all_labels(instance, instance.n - 1)[0]) == 0)
    return (cube_of(index, len(instance.model.alphabet), instance.unpinned) for index in order.tolist())


@pytest.mark.parametrize("few", heavy_after((3, 1), 1))
def test_a_tree_of_cases_confirms_whatever_is_forced(few: int, tmp_path: Path) -> None:
    """Every optimal restriction of random programs; the trusted checker and its fast run agree."""
    rng, trees = np.random.default_rng(5), 0
    documents = [dumps(generator.random_program(np.random.default_rng(seed), 5)) for seed in range(25)]
    models = [*map(loads, documents), *(restrict.load(f"random:layers=2,heads=1,states=2,seed={s}") for s in range(12))]
    for model in models[::few]:
        n = 5
        task = Task.of(model, n)
        if len(model.alphabet) ** len(task.instance.unpinned) > 700:
            continue
        for fixed in itertools.islice(forcing(task.instance), 12 // few):
            if confirm(task, fixed) is not None:
                continue
            found = confirm_by_tree(task, fixed)
            assert found is not None
            assert found.c == 0
            trees += 1
            for fast in (False, True):
                assert restrict.check(model, found, fast=fast).startswith("s VERIFIED")
            found.save(tmp_path / "c.json")
            assert load_certificate(tmp_path / "c.json").to_bytes() == found.to_bytes()
        free = {i: int(rng.integers(len(model.alphabet))) for i in task.instance.unpinned if rng.random() < 0.3}
        choices = [model.alphabet[free[i]] if i in free else model.alphabet for i in task.instance.unpinned]
        if len({model.run(word).label(n - 1) for word in itertools.product(*choices)}) > 1:
            assert confirm_by_tree(task, free) is None
    assert trees >= 5 // few
