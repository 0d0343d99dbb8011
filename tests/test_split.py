"""Certificates by cases: the checker, its fast run and brute force agree; small programs get their true optimum."""

import itertools
import json
import math

import numpy as np
import pytest

import restrict
from restrict.abstract.run import abstract_run
from restrict.base.errors import ModelError, NotEstablished
from restrict.certificate.cases import Leaf, Question
from restrict.certificate.certificate import Certificate, certificate_of, load_certificate
from restrict.force.cases import confirm_by_tree
from restrict.model.fileformat import loads
from restrict.model.program import Instance, Model
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from restrict.model.trace import run_batch
from restrict.optimum.enumeration import few_restrictions, forcing
from tests import generator, mutations, naive
from tests.marks import heavy_after


@pytest.mark.parametrize("many", heavy_after((1, 25), 1))
def test_a_split_is_what_the_checker_says_in_every_branch(many: int) -> None:
    """On random programs: the claim over a split is the union over the branches, computed here by hand."""
    rng, done = np.random.default_rng(3), 0
    while done < many:
        pair = mutations.original(rng)
        split = pair.certificate.get("split")
        if not split:
            continue
        done += 1
        assert mutations.verdict(pair) == 0
        assert mutations.is_true(pair)
        at = loads(mutations.encode(pair.model)).at(pair.certificate["n"])
        target, fixed = pair.certificate["target"], mutations.singles(pair.certificate)
        where = at.n - 1 if target == "last" else target
        cone = mutations.positions_of_cone(pair.certificate["cone"])
        values: set[int] = set()
        for symbols in itertools.product(at.model.alphabet, repeat=len(split)):
            run = abstract_run(at, Restriction.of(at, {**fixed, **dict(zip(split, symbols, strict=True))}), cone)
            values |= set(run.values(at.model.output.variable, where))
        assert sorted(values) == pair.certificate["claim"]["values"]


def test_a_tautology_needs_cases() -> None:
    """`x or not x` through two variables: sets of values cannot see it, two cases can."""
    model = restrict.Model(
        "tautology",
        ("0", "1"),
        (
            restrict.Head("same", "token", "-abs(i - j)"),
            restrict.Map("other", ("same",), 2, "1 - same"),
            restrict.Map("out", ("same", "other"), 2, "same or other"),
        ),
        restrict.Output("out", "last", accept=frozenset({1})),
    )
    at = model.at(5)
    assert certificate_of(at, Restriction.of(at), "all").c == 1
    found = confirm_by_tree(Task(at), {})
    assert found is not None
    assert (found.c, found.claim.values) == (0, (1,))
    assert isinstance(found.cases, Question)
    assert found.cases.position == 4
    assert all(isinstance(child, Leaf) for child in found.cases.children)
    assert restrict.check(model, found).startswith("s VERIFIED n=5 target=last free=5 c=0 values=1 ")


def brute_force(at: Instance) -> int:
    """The fewest fixed positions that force the label at the last position, straight from the definition."""
    model, n = at.model, at.n
    letters = [i for i in range(n) if i not in at.pinned]
    words = list(itertools.product(range(len(model.alphabet)), repeat=len(letters)))
    values = run_batch(at, np.array(words, dtype=np.int64).reshape(len(words), len(letters)))
    labels = dict(zip(words, (at.label(int(v)) for v in values.values[model.output.variable][:, n - 1]), strict=True))
    for size in range(len(letters) + 1):
        for chosen in itertools.combinations(range(len(letters)), size):
            for symbols in itertools.product(range(len(model.alphabet)), repeat=size):
                want = dict(zip(chosen, symbols, strict=True))
                if len({labels[w] for w in words if all(w[p] == a for p, a in want.items())}) == 1:
                    return size
    raise AssertionError


def test_enumeration_finds_the_optimum() -> None:
    rng, done = np.random.default_rng(8), 0
    while done < 20:
        document = generator.random_program(rng, None, 6)
        n = generator.random_length(rng, document)
        at = loads(json.dumps(document).encode()).at(n)
        letters = n - len(at.pinned)
        if letters < 1 or (len(at.model.alphabet) + 1) ** letters > 3000:
            continue
        done += 1
        assert few_restrictions(at)
        found = list(forcing(at, n - 1))
        assert len(found[0]) == brute_force(at)
        assert [len(f) for f in found] == sorted(len(f) for f in found)
        for fixed in found[:3]:
            named = {i: at.model.alphabet[a] for i, a in fixed.items()}
            taken = naive.true_values(document, n, named)[document["output"]["variable"], n - 1]
            assert len({naive.label(document, v) for v in taken}) == 1


@pytest.mark.parametrize("many", heavy_after((2, 6), 1))
def test_small_random_models_reach_their_optimum(many: int) -> None:
    sizes = []
    for seed in range(many):
        model = restrict.load(f"random:layers=2,heads=2,states=4,seed={seed}")
        found = restrict.certify(model, 10)
        assert found.c == 0
        assert restrict.check(model, found).startswith("s VERIFIED n=10")
        assert restrict.check(model, found)
        sizes.append(len(found.restriction.fixed) / found.provenance["optimum"])
    assert math.prod(sizes) < 1.5


def split_certificate() -> tuple[Model, Certificate]:
    model = restrict.load("instances/contains-one.json")
    return model, certificate_of(model.at(4), Restriction.of(model.at(4), {0: "1"}), "all", split=(2, 3))


def test_the_file_keeps_the_split(tmp_path) -> None:
    model, made = split_certificate()
    made.save(tmp_path / "c.json")
    read = load_certificate(tmp_path / "c.json")
    assert read.split == (2, 3)
    assert read.to_bytes() == made.to_bytes()
    assert restrict.check(model, read).startswith("s VERIFIED n=4 target=last free=3 c=0")


def test_the_fast_checker_refuses_what_the_checker_refuses() -> None:
    model, made = split_certificate()
    with pytest.raises(ModelError, match="split: position 0 is not free"):
        restrict.check(model, Certificate(**{**made.__dict__, "split": (0, 2)}))
    lie = {**made.__dict__, "claim": restrict.Claim(3, 0, (), (0,))}
    with pytest.raises(NotEstablished, match="may take"):
        restrict.check(model, Certificate(**lie))
