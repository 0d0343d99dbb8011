"""The generator of random programs: what it makes is well-formed and covers the whole language of docs/format.md."""

import itertools
import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.program import OrderOnly
from restrict.all_lengths.recognise import NotOrderOnly, recognise
from restrict.base.errors import ResourceLimit
from restrict.model.fileformat import loads
from tests import generator, naive
from tests.generator import coverage
from tests.generator.expressions import OPERATORS
from tests.marks import heavy_after

FULL = 30
PARTS = [1, pytest.param(FULL, marks=pytest.mark.slow)]
"""How much is sampled, in thirtieths; only the whole has every cell of the table."""
ANY, ORDER = 400, 340
"""Programs of a thirtieth of the sample: a quarter of the first are for one length."""


@cache
def program(seed: int) -> dict[str, Any]:
    """A program of any features."""
    rng = np.random.default_rng([seed, 1])
    return generator.random_program(rng, int(rng.integers(1, generator.LONGEST + 1)) if seed % 4 == 0 else None)


@cache
def order(seed: int) -> dict[str, Any]:
    """A program that is likely to be order-only."""
    return generator.random_order_only(np.random.default_rng([seed, 2]), labels=True)


@cache
def sample(part: int) -> list[dict[str, Any]]:
    """Programs of every feature, made once for all tests of them."""
    return [program(seed) for seed in range(ANY * part)]


@cache
def order_sample(part: int) -> list[dict[str, Any]]:
    """Programs that are likely to be order-only."""
    return [order(seed) for seed in range(ORDER * part)]


# ---------------------------------------------------------------- the table is full


@pytest.mark.parametrize("part", PARTS)
def test_every_operator_meets_every_pair_of_operands_in_every_place(part: int) -> None:
    """Operator x operand x operand x [map, score, when, domain], each at least once; more than half in a thirtieth."""
    count = coverage.covered([*sample(part), *order_sample(part)])
    table = coverage.cells()
    assert len(table) > 1200
    assert len([cell for cell in table if not count[cell]]) <= (0 if part == FULL else 0.45 * len(table))


def test_the_table_has_every_operator_of_the_grammar() -> None:
    """A new operator of the generator needs rows; the names of the grammar are those of docs/format.md."""
    rows = {cell[1].removesuffix(" guarded").split(":")[0] for cell in coverage.cells()}
    assert rows == set(OPERATORS)
    assert rows >= {"min", "max", "abs", "hash", "isqrt", "and", "or", "not", "if", "+", "-", "*", "//", "%", "neg"}


@pytest.mark.parametrize("part", PARTS)
def test_every_feature_occurs_often(part: int) -> None:
    count = Counter(feature for model in sample(part) for feature in coverage.features(model))
    assert {feature: count[feature] for feature in coverage.FEATURES if count[feature] < 3 * part} == {}


@pytest.mark.parametrize("part", PARTS)
def test_every_feature_meets_every_other_that_it_can_meet(part: int) -> None:
    """Each mask with each tie rule, and these with default and each kind of score."""
    heads = [v for model in sample(part) for v in model["variables"] if v["kind"] == "head"]
    seen = Counter(
        (
            head.get("mask", "none"),
            head.get("ties", "left"),
            "default" in head,
            "expression" if isinstance(head["score"], str) else next(iter(head["score"])),
        )
        for head in heads
    )
    wanted = itertools.product(generator.MASKS, ("left", "right"), (False, True), ("expression", "table", "dot"))
    assert len([cell for cell in wanted if seen[cell] < part / 2]) <= (0 if part == FULL else 2)


def test_a_cell_is_filled_by_a_direct_operand_only() -> None:
    """The table counts ``min(i, j)`` and not ``min(i + 1, j)``."""
    head = {"kind": "head", "score": "min(i + 1, j) // n + -2"}
    count = coverage.covered([{"variables": [head]}])
    assert count["score", "+", "i", "const"] == 1
    assert not count["score", "min", "i", "j"]
    assert set(count) >= {("score", "//", "compound", "n"), ("score", "+", "compound", "const")}


# ---------------------------------------------------------------- what is made is well-formed


def test_random_programs_are_reproducible_json() -> None:
    for make in (generator.random_program, generator.random_order_only):
        first = [make(np.random.default_rng(seed)) for seed in range(20)]
        again = [make(np.random.default_rng(seed)) for seed in range(20)]
        assert json.loads(json.dumps(first)) == again
        assert len(set(map(json.dumps, first))) > 17


def test_heads_often_have_one_variable_in_several_roles() -> None:
    heads = [v for seed in range(300) for v in program(seed)["variables"] if v["kind"] == "head"]
    roles = [(naive.query_of(h), naive.key_of(h), h["value"]) for h in heads]
    assert sum(q == k for q, k, _ in roles if q) > 50
    assert sum(k == v for _, k, v in roles) > 50
    assert sum(q == v for q, _, v in roles) > 50
    assert sum(q == k == v for q, k, v in roles) > 20


def test_random_programs_are_defined_and_in_their_domains() -> None:
    """A program for one length says so in its condition."""
    for model in map(program, range(60)):
        for m in generator.lengths(model):
            instance = naive.at(model, m)
            for variable in model["variables"]:
                check_variable(instance, variable)


def check_variable(instance: naive.Instance, variable: dict[str, Any]) -> None:
    """A map stays in its domain on all combinations; a head has room for its values and its default."""
    size = instance.domain[variable["name"]]
    if variable["kind"] == "head":
        assert size >= instance.domain[variable["value"]]
        assert 0 <= variable.get("default", 0) < size
        return
    for i in range(instance.n):
        for choice in itertools.product(*[range(instance.domain[a]) for a in variable["args"]]):
            assert 0 <= instance.function[variable["name"]](i, *choice) < size


@pytest.mark.parametrize("first", heavy_after(range(0, 1500, 250), 1))
def test_the_package_reads_every_program_at_every_length(first: int) -> None:
    """Random programs for many lengths have some; at each the reader finds no overflow and nothing out of a domain."""
    for model in map(program, range(first, first + 250)):
        loaded = loads(json.dumps(model).encode())
        lengths = generator.lengths(model)
        assert lengths
        for n in lengths:
            loaded.at(n)
    for model in map(order, range(first, first + 250)):
        loaded = loads(json.dumps(model).encode())
        for n in [n for n in (1, 2, 3, 5, 8, 13, 100, 1000) if n >= generator.shortest(model)]:
            if naive.defined(model, n) and '"position"' not in json.dumps(model) and '"i"' not in json.dumps(model):
                loaded.at(n)


def test_the_interval_of_a_phrase_holds_its_values() -> None:
    """By evaluation at many points."""
    rng = np.random.default_rng(3)
    for _ in range(800):
        names = {"i": (0, 9), "n": (1, 10), "v": (0, 2)}
        phrase = generator.grown(rng, names, 1 + int(rng.integers(4)))
        for _ in range(8):
            point = {name: int(rng.integers(low, high + 1)) for name, (low, high) in names.items()}
            assert phrase.low <= naive.evaluate(phrase.text, point) <= phrase.high, (phrase, point)


# ---------------------------------------------------------------- the order-only region


def recognised(model: dict[str, Any]) -> OrderOnly | None:
    """The program of a model that the construction for all lengths takes."""
    try:
        return recognise(loads(json.dumps(model).encode()))
    except (NotOrderOnly, ResourceLimit):
        return None


def traits(model: dict[str, Any], program: OrderOnly) -> set[str]:
    """What an accepted program shows, apart from its features."""
    out = {f"{name} over positions" for name in coverage.functions_of_positions(model)}
    out |= coverage.steps_show(model, program.steps)
    out |= {"period"} if program.period > 1 else set()
    return out | ({"threshold"} if program.threshold > 0 else set()) | ({"when"} if program.defined else set())


@pytest.mark.parametrize("many", heavy_after((ORDER, 1000), 1))
def test_many_programs_are_accepted_at_all_lengths_and_they_show_every_feature(many: int) -> None:
    """More than half, but not all; among those, each trait and each feature that can be order-only."""
    found = [(model, program) for model in map(order, range(many)) if (program := recognised(model)) is not None]
    assert 0.6 * many <= len(found) <= 0.95 * many
    seen = Counter(trait for model, program in found for trait in traits(model, program))
    wanted = [f"{name} over positions" for name in ("min", "max", "abs")]
    wanted += ["window", "order by j against the ties", "period", "threshold", "when"]
    assert {trait: seen[trait] for trait in wanted if seen[trait] < many // 50} == {}
    features = Counter(feature for model, _ in found for feature in coverage.features(model))
    # A table over positions and a domain that grows with n are not order-only.
    never = {"domain that grows with n", "map table over i", "axis i", "axis j", "output is position"}
    few = {"value is position", "domain over n", "score table without axes"}  # only where nothing reads them
    assert [f for f in coverage.FEATURES if features[f] < many // 333 and f not in never | few] == []


@pytest.mark.parametrize("part", PARTS)
def test_the_order_only_region_is_grown_from_the_whole_grammar_too(part: int) -> None:
    """Every operator over every operand, and positions on both sides of what compares or chooses."""
    count = coverage.covered(order_sample(part))
    single: Counter[tuple[str, ...]] = Counter()
    for (place, operator, *operands), number in count.items():
        for operand in operands:
            single[place, operator, operand] += number
    rows = [cell for cell in coverage.cells() if cell[0] in ("map", "score") and "guarded" not in cell[1]]
    wanted = {(cell[0], cell[1], operand) for cell in rows for operand in cell[2:] if operand != "position"}
    assert len([cell for cell in wanted if not single[cell]]) <= (0.01 if part == FULL else 0.2) * len(wanted)
    missing = [cell for cell in wanted if cell[0] == "score" and not single[cell]]
    assert len(missing) <= (0 if part == FULL else 0.1 * len(wanted))
    chosen = itertools.product(("min", "max"), ("ij", "ji", "jn", "nj"))
    compared = itertools.product(("-", "==", "!=", "<", "<=", ">", ">="), ("ij", "ji"))
    absent = [(name, pair) for name, pair in (*chosen, *compared) if not count["score", name, *pair]]
    assert len(absent) <= (0 if part == FULL else 14)


def test_nothing_wild_is_mostly_accepted() -> None:
    """Without the share of arbitrary rules nearly all programs are order-only."""
    models = [generator.random_order_only(np.random.default_rng([seed, 3]), wild=0.0) for seed in range(80)]
    assert sum(recognised(model) is not None for model in models) > 0.75 * len(models)
