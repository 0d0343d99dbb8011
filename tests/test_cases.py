"""Trees of cases: the checker, its fast run and brute force agree; a small tree proves what the plain run cannot."""

import dataclasses
import json
import math
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.base.errors import ModelError, NotEstablished
from restrict.base.strictjson import Node
from restrict.certificate.cases import Case, Leaf, Question, cases_to_json, leaves, read_cases
from restrict.certificate.certificate import Certificate, certificate_of, load_certificate
from restrict.elaboration.hints import Hints
from restrict.force.cases import confirm_by_tree
from restrict.model.fileformat import loads
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from restrict.optimum.enumeration import few_restrictions
from tests import documents, generator, mutations, naive
from tests import trusted as check
from tests.marks import heavy_after
from tests.test_exact import forcing

SAME = documents.model(
    documents.head("a", "j == 0"), documents.head("b", "j == 0", ties="right"),
    documents.map_("o", ["a", "b"], 2, "a != b"), position="last", name="same",
)  # fmt: skip
"""Two heads copy the same token: the output is always 0, but the plain run takes them for independent."""


def same(cases: Any) -> Certificate:
    """A certificate for it with the restriction that fixes nothing."""
    at = loads(json.dumps(SAME).encode()).at(4)
    tree = None if cases is None else read_cases(Node(cases, "cases"), 4, "all")
    return certificate_of(at, Restriction.of(at, {}), "all", cases=tree)


def spelt(cone: Any) -> Any:
    """A cone as run lists."""
    return cone if cone == "all" else {name: mutations.joined(list(listed)) for name, listed in cone.items()}


def test_a_tree_proves_what_the_plain_run_cannot() -> None:
    model = loads(json.dumps(SAME).encode())
    assert same(None).claim.values == (0, 1)
    found = same({"position": 0, "children": [{}, {}]})
    assert (found.claim.values, found.c) == ((0,), 0)
    assert restrict.check(model, found).startswith("s VERIFIED n=4 target=last free=4 c=0 values=0 ")
    assert restrict.check(model, found, fast=True) == restrict.check(model, found)
    searched = confirm_by_tree(Task(model.at(4)), {})
    assert searched is not None
    assert (searched.c, searched.claim.values, isinstance(searched.cases, Question)) == (0, (0,), True)


LEAF = Leaf("all")


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        (Question(0, (LEAF, Leaf({}))), NotEstablished), (Question(1, (LEAF, LEAF)), NotEstablished),
        (Leaf({}), NotEstablished), (Question(0, (LEAF,)), ModelError),
        (Question(0, (Question(0, (LEAF, LEAF)), LEAF)), ModelError),
    ],
)  # fmt: skip
def test_a_wrong_tree_is_refused(tree: Case, reason: type[Exception]) -> None:
    """A leaf without its proof, another question, none, one case too few, and a question asked twice."""
    lie = dataclasses.replace(same({"position": 0, "children": [{}, {}]}), cases=tree)
    for fast in (False, True):
        with pytest.raises(reason):
            restrict.check(loads(json.dumps(SAME).encode()), lie, fast=fast)


def claim_of_the_tree(
    pair: mutations.Pair, tree: Case, fixed: dict[int, str], position: int
) -> tuple[set[int], set[int]]:
    """Values and dependencies by Theorem A' as it is written, every leaf by the oracle."""
    if isinstance(tree, Leaf):
        oracle = naive.abstract_run(pair.model, pair.certificate["n"], fixed, spelt(tree.cone))
        return oracle.values[pair.model["output"]["variable"], position], set(oracle.dependencies["label", position])
    values, depends = set[int](), {tree.position}
    for symbol, child in zip(pair.model["alphabet"], tree.children, strict=True):
        more, other = claim_of_the_tree(pair, child, {**fixed, tree.position: symbol}, position)
        values |= more
        depends |= other
    return values, set() if len({naive.label(pair.model, v) for v in values}) == 1 else depends


@pytest.mark.parametrize(("seed", "count"), [(3, 5), pytest.param(6, 40, marks=pytest.mark.slow)])
def test_the_claim_over_a_tree_is_that_of_the_theorem(seed: int, count: int) -> None:
    """On random programs and trees, and over a split, which is a tree that asks everywhere: for the engine, the checker
    and its fast twin; it is true, and nothing less is."""
    rng, done, kinds = np.random.default_rng(seed), 0, Counter[str]()
    while done < count:
        model, n = generator.random_case(rng)
        fixed = generator.random_restriction(rng, model, n, 256)
        at = loads(mutations.encode(model)).at(n)
        free = [i for i in range(n) if i not in fixed and i not in at.pinned]
        tree = mutations.random_cases(rng, free, ["all", "all"], len(model["alphabet"]), 4)
        if "position" not in tree:
            continue
        cases = read_cases(Node(tree, "cases"), n, "all")
        made = certificate_of(at, Restriction.of(at, fixed), "all", "last", cases=cases)
        pair = mutations.sealed(model, json.loads(made.to_bytes()))
        if mutations.inputs(pair) > mutations.MOST_INPUTS:
            continue
        values, depends = claim_of_the_tree(pair, cases, fixed, n - 1)
        asked = {i for path, _ in leaves(cases) for i in path}
        kind = "one label" if not depends else "all questions" if asked <= depends else "some questions"
        if kinds[kind] > count // 2:
            continue
        done, kinds[kind] = done + 1, kinds[kind] + 1
        assert pair.certificate["claim"]["values"] == sorted(values)
        assert mutations.depends(pair) == sorted(depends)
        everywhere: Case = Leaf("all")
        for i in reversed(free[:2]):
            everywhere = Question(i, (everywhere,) * len(model["alphabet"]))
        split = certificate_of(at, Restriction.of(at, fixed), "all", "last", split=tuple(free[:2]))
        assert split.claim.values == tuple(sorted(claim_of_the_tree(pair, everywhere, fixed, n - 1)[0]))
        assert restrict.check(at.model, split) == restrict.check(at.model, split, fast=True)
        assert mutations.verdict(pair) == 0
        assert mutations.is_true(pair)
        for out in depends:
            claim = {**pair.certificate["claim"], "c": len(depends) - 1}
            claim["dependencies"] = mutations.joined(sorted(depends - {out}))
            less = mutations.sealed(model, {**pair.certificate, "claim": claim})
            assert mutations.verdict(less) == 3
    assert kinds["some questions"] >= max(1, count // 12)


def test_the_file_keeps_the_tree(tmp_path: Any) -> None:
    tree = {"position": 1, "children": [{"cone": {"o": [[3, 1]]}}, {"position": 0, "children": [{}, {}]}]}
    made = same(tree)
    made.save(tmp_path / "c.json")
    read = load_certificate(tmp_path / "c.json")
    assert read.cases is not None
    assert cases_to_json(read.cases)["children"][0] == tree["children"][0]
    assert read.to_bytes() == made.to_bytes()
    at = loads(json.dumps(SAME).encode()).at(4)
    certificate_of(at, Restriction.of(at, {}), "all", split=(2, 3)).save(tmp_path / "s.json")
    assert load_certificate(tmp_path / "s.json").split == (2, 3)


@pytest.mark.parametrize("many", heavy_after((20, 60), 1))
def test_enumeration_finds_the_optimum(many: int) -> None:
    rng, done = np.random.default_rng(8), 0
    while done < many:
        document, n = generator.random_case(rng)
        at = loads(json.dumps(document).encode()).at(n)
        letters = n - len(at.pinned)
        if letters < 1 or (len(at.model.alphabet) + 1) ** letters > 3000:
            continue
        done += 1
        assert few_restrictions(at)
        found = list(forcing(at))
        assert len(found[0]) == naive.minimum_forcing(document, n, n - 1)[0]
        assert [len(f) for f in found] == sorted(len(f) for f in found)
        for fixed in found[:3]:
            named = {i: at.model.alphabet[a] for i, a in fixed.items()}
            assert len(naive.true_values(document, n, named)["label", n - 1]) == 1


@pytest.mark.parametrize("many", heavy_after((2, 6), 1))
def test_small_random_models_reach_their_optimum(many: int) -> None:
    sizes = []
    for seed in range(many):
        model = restrict.load(f"random:layers=2,heads=2,states=4,seed={seed}")
        found = restrict.certify(model, 10)
        assert found.c == 0
        assert restrict.check(model, found).startswith("s VERIFIED n=10")
        sizes.append(len(found.restriction.fixed) / found.provenance["optimum"])
    assert math.prod(sizes) < 1.5


# ---------------------------------------------------------------- the work and the memory of a tree


def prepared(cases: Any, alphabet: list[str], variables: Any = ()) -> Hints:
    """A certificate over a tree, read by the elaborator: ``token`` at the last of 40 positions, nothing fixed."""
    model = documents.model(alphabet=alphabet, variables=[*variables], position="last")
    claim = {"free": 40, "c": 40, "dependencies": [[0, 40]], "values": list(range(len(alphabet)))}
    certificate = {
        "format": "restrict-certificate/1", "n": 40, "target": "last", "fixed": [], "cone": {}, "claim": claim,
        "cases": cases,
    }  # fmt: skip
    pair = mutations.sealed(model, certificate)
    return Hints(check.prepare(mutations.encode(pair.model), mutations.encode(pair.certificate)))


def test_a_wide_and_deep_tree_is_read_in_the_memory_of_one_path() -> None:
    """Every sibling that was not yet read had a copy of the path."""
    tree: Any = {}
    for at in range(25):
        tree = {"position": at, "children": [tree] + [{}] * 1999}
    found = prepared(tree, [f"a{i}" for i in range(2000)])
    tracemalloc.start()
    first, _ = next(found.leaves())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert list(first.items()) == [(at, 0) for at in reversed(range(25))]
    assert peak < 1_000_000


def test_the_cone_of_every_node_is_made_once_for_all_leaves() -> None:
    found = prepared({"position": 0, "children": [{"cone": "all"}] * 3}, ["a", "b", "c"])
    assert len({id(cone) for _, cone in found.leaves()}) == 1


def test_names_and_runs_of_cones_are_charged_each_time_they_are_read() -> None:
    """Ten million runs in the leaves of a tree took seconds and no step."""
    few, many = ([[2 * run, 1] for run in range(count)] for count in (1, 20))
    variables = [{"name": f"v{at}", "kind": "map", "args": [], "domain": 1, "map": "0"} for at in range(7)]
    steps = {}
    for name, cone in (("few", {"v0": few}), ("many", {"v0": many}), ("names", {f"v{at}": few for at in range(7)})):
        found = prepared({"position": 0, "children": [{"cone": cone}] * 3}, ["a", "b", "c"], variables)
        before = found.model.meter.left
        assert len(list(found.leaves())) == 3
        steps[name] = before - found.model.meter.left
    assert steps["many"] - steps["few"] == 3 * 19
    assert steps["names"] - steps["few"] == 3 * 6 * (8 + 1)
