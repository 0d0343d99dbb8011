"""Influence by pairs of words (Theorem 9): against all pairs of words, in every direction, for every exchange."""

import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from restrict.all_lengths.verify import named as parse_language
from restrict.base.errors import ResourceLimit, UsageError
from restrict.soft.bounds.parts import prepare, readout_rows
from restrict.soft.importers.opened import opened
from restrict.soft.influence import attention, logits
from restrict.soft.influence.ascent import Ascent
from restrict.soft.influence.attention import attention_influence, spans_of
from restrict.soft.influence.exchanges import Tried, logits_behind, of_attention
from restrict.soft.influence.influence import influence
from restrict.soft.influence.logits import Logit, ResultRanges, Space, WordTable, every_word, few, logit_influence
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import FAR, Changes, changes_of, runs_of, slack_of
from restrict.soft.influence.polygons import UNITS, edges
from restrict.soft.influence.reaches import Images, reaches
from restrict.soft.influence.slopes import (
    BENT,
    CURVED,
    SlopeForm,
    contracted,
    multiplied,
    point,
    second_derivative,
    tail,
    variance,
)
from restrict.soft.influence.turned import Turned
from restrict.soft.influence.words import Delta
from restrict.soft.models import evaluate
from restrict.soft.models.model import Floats, LayerNorm, Positions, SoftHead, SoftModel
from restrict.soft.models.source import load
from restrict.soft.models.terms import Term
from tests.commands import typed
from tests.marks import heavy_after, rows_after
from tests.soft_words import Words, added, evaluated, lengths, masked
from tests.verdict_cases import FOLDER as TRAINED
from tests.verdict_cases import SHIPPED

FEW = 4
"""Sets of words that are bounded in the small test."""
SHAPES = (
    "random:layers=1,width=8,percent=60,heads=1,symbols=3,seed={}",
    "random:layers=1,width=8,percent=100,heads=2,symbols=2,seed={}",
    "random:layers=1,width=8,percent=80,heads=1,symbols=2,causal=1,norm=1,gelu=1,seed={}",
    "random:layers=1,width=8,percent=300,heads=1,symbols=2,seed={}",
)
OTHER_FIRST = SHAPES[1:] + SHAPES[:1]


@pytest.fixture(autouse=True)
def few_directions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sizes take a few directions in each plane. Bounds hold for any number, and the fewer, the more is between
    two of them."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr("restrict.soft.influence.options.INFLUENCE.half_fan", 4)
        monkeypatch.setattr("restrict.soft.influence.options.INFLUENCE.fan", 2)


def compared(words: Words, n: int, rng: np.random.Generator, directions: int, factor: float) -> int:
    """Every exchange in random directions at one length, the bound at most a factor above; how many there were."""
    model, count = words.model, 0
    # The hull of the words' sums is what is bounded: far from the words where few of them have nearly all the weight.
    loose = "heads=2" in model.name or "percent=300" in model.name
    for changes in changes_of(model, n, delta=words.delta):
        for row in rng.normal(size=(directions, model.width)):
            bound, _ = changes.along(row)
            for exchange, top in zip(changes.exchanges, bound, strict=True):
                most = np.abs(words.changed(words.added, changes, exchange) @ row).max()
                assert most <= top * (1 + 1e-9) + 1e-12
                assert top <= most * factor + 1e-9 or loose
                count += 1
        for exchange, top in zip(changes.exchanges, Turned(changes).norms(), strict=True):
            assert lengths(words.changed(words.added, changes, exchange)).max() <= top + 1e-12
    return count


@pytest.mark.parametrize("shape", heavy_after(OTHER_FIRST, 1))
def test_every_direction_is_bounded_as_all_pairs_of_words_say(shape: str) -> None:
    rng, model = np.random.default_rng(1), load(shape.format(0))
    assert sum(compared(Words(model, n), n, rng, 2, 1.25) for n in (2, 4)) > 20


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", heavy_after(range(3, 20), 0))
def test_every_direction_is_bounded_for_many_models(shape: str, seed: int) -> None:
    rng, model = np.random.default_rng(seed), load(shape.format(seed))
    assert sum(compared(Words(model, n), n, rng, 20, math.inf) for n in (3, 5, 6)) > 400


def test_over_a_language_both_words_are_of_it() -> None:
    """The exchange of one symbol of a prefix by one that gives another prefix; `bb` stands at no even place."""
    model = replace(opened(str(TRAINED / "dyck1-depth2-1l1h16d-nope.safetensors")), alphabet=("a", "b"))
    words = Words(model, 8, runs_of(model, parse_language("regex[ab]:(aa|ab|ba)*")))
    assert 3 < words.inside.sum() < len(words.words) / 2
    assert compared(words, 8, np.random.default_rng(0), 8, 1.25) > 20


def weights_beside(changes: Changes, word: list[int], t: int) -> list[float]:
    """For each head what the weights of a word add up to beside a place."""
    return [math.fsum(head.e[j, s] for j, s in enumerate(word) if j != t) for head in changes.heads]


def parts_hold(model: SoftModel, n: int, delta: Delta | None, rng: np.random.Generator, limits: int) -> int:
    """Changes of words whose weights are within random limits are within the bound of these; how many were compared."""
    words, count = Words(model, n, delta), 0
    for changes in changes_of(model, n, delta=delta):
        mine = [tuple(word) for word in words.words[words.of(changes)].tolist()]
        columns = {w: [0 if j in words.pinned else s for j, s in enumerate(w)] for w in mine}
        for _ in range(limits):
            ends = spans_of(changes)
            near = np.sort(rng.choice(len(changes.exchanges), min(6, len(changes.exchanges)), replace=False))
            # Limits at what some words reach, so that both words on a limit and cut sides are met.
            one = [weights_beside(changes, columns[mine[k]], n - 2) for k in rng.integers(len(mine), size=2)]
            spans = [
                (min(c), max(c)) if rng.random() < 0.8 else e for c, e in zip(zip(*one, strict=True), ends, strict=True)
            ]
            bound, row = Turned(changes).norms(near, spans), rng.normal(size=model.width)
            line = changes.along(row, near, spans=spans)[0]
            for k in near:
                sums = {w: weights_beside(changes, columns[w], changes.exchanges[k][0]) for w in mine}
                assert all(within(found, ends) for found in sums.values())
                for first, second in words.pairs(changes, changes.exchanges[k]):
                    if within(sums[tuple(words.words[first].tolist())], spans):
                        moved = words.added[second] - words.added[first]
                        assert np.linalg.norm(moved) <= bound[k] + 1e-12
                        assert abs(moved @ row) <= line[k] + 1e-12
                        count += 1
    return count


def within(numbers: list[float], spans: Sequence[tuple[float, float]]) -> bool:
    """Whether each number is in its span."""
    return all(low <= y <= high for y, (low, high) in zip(numbers, spans, strict=True))


def whole_bound(model: SoftModel, n: int, parts: int, delta: Delta | None = None) -> float:
    """The quotient of bound and attained change, both compared with the largest change of all pairs of words."""
    words, changes = Words(model, n, delta), changes_of(model, n, delta=delta)
    most = words.largest(words.added, changes, lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "climbed", lambda *_: (0.0, None))
        assert most <= attention_influence(changes, parts // 2).bound + 1e-12  # where no pair of words is known
    result = attention_influence(changes, parts)
    assert result.attained <= most * (1 + 1e-9) + 1e-300
    assert most <= result.bound + 1e-12
    if result.words is not None:
        first, second = (list(w) for w in result.words)
        for word in (first, second):
            assert words.runs(word)
            for j, row in words.pinned.items():
                word[j] = row
        assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
        apart = np.subtract(*added(model, np.array([first, second])))
        assert np.linalg.norm(apart) == pytest.approx(result.attained, rel=1e-9)
    return result.bound / result.attained if result.attained else 1.0


def some_delta(symbols: int, rng: np.random.Generator) -> Delta:
    """A partial automaton of three states, each with at least two ways on."""
    rows = rng.integers(-1, 3, (3, symbols))
    rows[:, :2] = np.maximum(rows[:, :2], 0)
    return tuple(tuple(int(q) for q in row) for row in rows)


@pytest.mark.parametrize("shape", heavy_after(SHAPES, 1))
@pytest.mark.parametrize("seed", heavy_after(range(12), 1))
def test_parts_of_the_words_are_bounded_as_all_pairs_of_words_say(shape: str, seed: int) -> None:
    rng, model = np.random.default_rng(seed), load(shape.format(seed))
    n, limits = (5, 3) if seed else (4, 1)
    assert parts_hold(model, n, None, rng, limits) >= 10
    assert parts_hold(model, n, some_delta(len(model.alphabet), rng), rng, limits) > 2


@pytest.mark.parametrize("shape", heavy_after(OTHER_FIRST, 1))
@pytest.mark.parametrize("case", heavy_after(((0, FEW), *((k, 40) for k in range(14))), 1))
def test_no_pair_of_words_is_farther_apart_than_the_bound(shape: str, case: tuple[int, int]) -> None:
    """Over all words and, in full, over an automaton's: what was attained is evaluated again."""
    seed, parts = case
    rng, model = np.random.default_rng(seed), load(shape.format(seed))
    n = 4 if len(model.layers[0].heads) > 1 else 5
    assert whole_bound(model, n, parts) >= 1
    assert parts == FEW or whole_bound(model, n, parts, some_delta(len(model.alphabet), rng)) >= 1


@pytest.mark.parametrize("shape", heavy_after(SHAPES, 1))
def test_parts_leave_no_weight_out(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts that were not halved cover the limits of the whole, for one head end to end."""
    found, seen, norms = changes_of(load(shape.format(3)), 5)[:1], [], Turned.norms
    monkeypatch.setattr(attention, "climbed", lambda *_: (0.0, None))
    monkeypatch.setattr(Turned, "norms", lambda *a, **b: (seen.append(a[2]) if len(a) > 2 else None, norms(*a, **b))[1])
    attention_influence(found, 8)
    assert len(seen) == 8
    root = spans_of(found[0])
    parts = [root, *(tuple(spans) for spans in seen)]
    rng = np.random.default_rng(0)
    for _ in range(100):
        at = [low + (high - low) * rng.random() ** 3 for low, high in root]
        holding = [p for p in parts if all(low <= y <= high for y, (low, high) in zip(at, p, strict=True))]
        halved = [sum(p != q and all(a[0] <= b[0] and b[1] <= a[1] for a, b in zip(p, q, strict=True)) for q in parts)
                  for p in holding]  # fmt: skip
        # Whatever holds the point and was halved has a half that holds it too: the last one that does is a leaf.
        assert 0 in halved


@pytest.mark.parametrize("seed", heavy_after(range(8), 2))
def test_sides_surround_their_points_whatever_their_scale(seed: int) -> None:
    """At each point's height, in fractions, the sides that are left reach to both sides of it."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        y = 10.0 ** rng.uniform(-15, 0, rng.integers(1, 6))
        x = y * rng.uniform(-1, 1, len(y)) * 10.0 ** rng.uniform(-3, 0)
        size = float(np.abs(x).max()) * rng.uniform(1, 2), float(y.max()) * rng.uniform(1, 2)
        share = max(float(np.abs(x).max()) / size[0], float(y.max()) / size[1])
        supports = (UNITS[:, :1] * (x / size[0]) + UNITS[:, 1:] * (y / size[1])).max(1)
        limits = sorted(rng.choice(y, 2)) if rng.random() < 0.5 else (float(y.min()), float(y.max()))
        k = float((np.abs(x) / size[0] / (y / size[1])).max()) * (1 + 1e-12)
        low, high = np.array([limits[0] * (1 - 1e-12)]), np.array([limits[1] * (1 + 1e-12)])
        at = edges(supports[None], size, (low, high), np.array([share]), k)
        sides = [[Fraction(float(c[0, i])) for c in at[:4]] for i in np.flatnonzero(at.kept[0])]
        for px, py in zip(map(Fraction, x.tolist()), map(Fraction, y.tolist()), strict=True):
            if limits[0] <= py <= limits[1]:
                met = [xa + ((py - ya) / (yb - ya) if ya != yb else 0) * (xb - xa)
                       for xa, ya, xb, yb in sides if min(ya, yb) <= py <= max(ya, yb)]  # fmt: skip
                assert min(met) <= px <= max(met)


NEAR_ONE = [TRAINED / name for name in ("tomita2-1l1h16d", "dyck1-depth2-1l1h16d-nope", "contains-aba-1l1h16d-nope")]
NEAR_ONE += [SHIPPED / "parity-1l1h16d"]
SLOWER = [SHIPPED / f"{name}-1l1h16d" for name in ("012-0-2", "flip-flop", "a-b-c-d-e")]


@pytest.mark.parametrize(("file", "n"), rows_after(itertools.product([*NEAR_ONE, *SLOWER], (10, 24)), 1))
def test_bound_over_attained_is_at_most_one_twentieth_above_one(file: Path, n: int) -> None:
    model = opened(f"{file}.safetensors")
    found = attention_influence(changes_of(model, n))
    assert found.words is not None
    first, second = (np.array([word]) for word in found.words)
    for word in (first, second):
        word[:, 0] = model.pinned(n)[0]
    apart = float(np.linalg.norm(added(model, second) - added(model, first)))
    assert apart == pytest.approx(found.attained, rel=1e-9)
    assert (first != second).sum() == 1
    assert found.attained <= found.bound <= 1.05 * found.attained


@pytest.mark.parametrize("case", heavy_after(((0, 2), *((k, 60) for k in range(6))), 1))
@pytest.mark.parametrize("percent", heavy_after([50, 10], 1))
@pytest.mark.usefixtures("halving")
def test_logits_are_bounded_as_all_pairs_of_words_say(case: tuple[int, int], percent: int) -> None:
    seed, cells = case
    model, n = load(f"random:layers=1,width=8,percent={percent},symbols=2,labels=3,seed={seed}"), 6
    changes, words = changes_of(model, n), Words(model, n)
    found, most = logit_influence(model, changes, cells=cells, seconds=math.inf), words.largest(words.logits, changes)
    assert found.attained <= most * (1 + 1e-9) <= found.bound * (1 + 2e-9)
    assert found.attained >= 0.99 * most
    assert found.bound <= 3 * most or cells < 60
    assert found.words is not None
    assert evaluated(model, readout_rows(model), [found.words]).max() == pytest.approx(found.attained)


@pytest.fixture
def halving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are halved, even where all words could be tried."""
    monkeypatch.setattr("restrict.soft.influence.options.INFLUENCE.table_words", 0)


@pytest.mark.parametrize("shape", heavy_after(SHAPES[::-1], 1))
@pytest.mark.parametrize("seed", heavy_after(range(30), 1))
def test_every_word_gives_the_largest_change_of_a_logit(shape: str, seed: int) -> None:
    """Bound, attained and truth are the same up to rounding, over all words and an automaton's; halving is sound."""
    rng, model = np.random.default_rng(seed), load(shape.format(seed))
    n = int(rng.integers(3, 6)) if seed else 4
    for delta in (None, some_delta(len(model.alphabet), rng)):
        changes = changes_of(model, n, delta=delta)
        words, found = Words(model, n, delta), logit_influence(model, changes)
        most = words.largest(words.logits, changes)
        assert all(map(few, changes))
        assert most <= found.bound <= most * (1 + 1e-6) + 1e-9
        assert found.attained == pytest.approx(most, rel=1e-9, abs=1e-12)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("restrict.soft.influence.options.INFLUENCE.table_words", 0)
            assert most <= logit_influence(model, changes, cells=8 if seed else 2, seconds=math.inf).bound


def test_more_words_are_tried_where_the_time_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight times as many; without a limit of time the answer is the same on every machine, so then they are not."""
    monkeypatch.setattr("restrict.soft.influence.options.INFLUENCE.table_words", 4)
    model, n = load(SHAPES[1].format(0)), 6
    changes, words = changes_of(model, n), Words(model, n)
    most = words.largest(words.logits, changes)
    assert all(WordTable(one).count == 32 for one in changes)
    exact = logit_influence(model, changes, cells=1)
    assert exact.cells == 0
    assert exact.bound == pytest.approx(most, rel=1e-6)
    for seconds in (math.inf, 1e-6):
        halved = logit_influence(model, changes, cells=1, seconds=seconds)
        assert halved.cells > 0
        assert halved.bound >= most


@pytest.mark.parametrize("name", ["dyck1-depth2-1l1h16d-nope", "contains-aba-1l1h16d-nope"])
def test_without_positions_words_are_tried_up_to_order(name: str) -> None:
    """The same as of all words; and a length at which these are too many."""
    model = opened(str(TRAINED / f"{name}.safetensors"))
    changes, rows = changes_of(model, 9), readout_rows(model)
    assert all(WordTable(one).alike and WordTable(one).count == 14 for one in changes)
    alike = [every_word(one, rows)[0] for one in changes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logits, "_alike", lambda *_: False)
        assert all(WordTable(one).count == 2**7 for one in changes)
        assert alike == pytest.approx([every_word(one, rows)[0] for one in changes], rel=1e-6)
    words = Words(model, 9)
    assert max(alike) == pytest.approx(words.largest(words.logits, changes), rel=1e-6)
    found = logit_influence(model, changes_of(model, 64))
    assert found.attained <= found.bound <= found.attained * (1 + 1e-6)
    # An automaton tells orders apart, so all its words are tried.
    delta = some_delta(2, np.random.default_rng(3))
    some, words = changes_of(model, 8, delta=delta), Words(model, 8, delta)
    assert not any(WordTable(one).alike for one in some)
    assert logit_influence(model, some).bound == pytest.approx(words.largest(words.logits, some), rel=1e-6)


def test_places_that_are_not_asked_for_are_not_exchanged() -> None:
    model, n = load(SHAPES[0].format(2)), 5
    some, words = changes_of(model, n, places=[1]), Words(model, n)
    most = words.largest(words.logits, some)
    assert most < words.largest(words.logits, changes_of(model, n))
    assert logit_influence(model, some).bound == pytest.approx(most, rel=1e-6)


@pytest.mark.parametrize(("seed", "cells"), rows_after([(1, 2), *((seed, 10) for seed in range(1, 5))], 1))
@pytest.mark.usefixtures("halving")
def test_scores_so_far_apart_that_weights_vanish_are_bounded(seed: int, cells: int) -> None:
    model, n = load(f"random:layers=1,width=8,percent=9000,symbols=2,seed={seed}"), 6
    words, changes = Words(model, n), changes_of(model, n)
    assert any(head.eta >= FAR for c in changes for head in c.heads)
    most = words.largest(words.logits, changes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert most <= logit_influence(model, changes, cells=cells, seconds=math.inf).bound


def test_images_of_weights_that_are_next_to_nothing_come_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for changes in changes_of(load("random:layers=1,width=8,percent=9000,symbols=2,heads=1,seed=1"), 6):
            space = Space(changes)
            assert space.images is not None
            low, high = space.images.after(*space.whole, np.arange(len(changes.exchanges)), [0, 1])
            assert (low <= high).all()


@pytest.mark.parametrize("n", heavy_after((8, 64), 1))
@pytest.mark.usefixtures("halving")
def test_logits_of_small_weights_are_bounded_within_a_twentieth(n: int) -> None:
    model = load("random:layers=1,width=16,percent=10,seed=1")
    found = logit_influence(model, changes_of(model, n), cells=60, seconds=math.inf)
    assert found.attained <= found.bound <= 1.05 * found.attained


def corners(*sizes: int) -> Iterator[list[Floats]]:
    """All signs of several vectors of these lengths."""
    for signs in itertools.product((-1.0, 1.0), repeat=sum(sizes)):
        yield np.split(np.array(signs), np.cumsum(sizes)[:-1])


@pytest.mark.parametrize("products", [128, 1])
def test_products_and_variances_hold_at_every_corner(products: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forms whose generators are of all sizes beside their remainders, so that each part of a bound is needed."""
    monkeypatch.setattr("restrict.soft.influence.options.INFLUENCE.products", products)
    rng = np.random.default_rng(2)
    for _ in range(150):
        m, sizes = 3, 10.0 ** rng.uniform(-2, 1, size=5)
        a = SlopeForm(rng.normal(size=2), sizes[0] * rng.normal(size=(2, m)), sizes[1] * rng.random(2))
        b = SlopeForm(rng.normal(size=2), sizes[2] * rng.normal(size=(2, m)), sizes[3] * rng.random(2))
        one = SlopeForm(b.c[:1], b.g[:1], b.r[:1])
        matrix = rng.normal(size=(2, 2))
        u = SlopeForm(a.c * sizes[4], a.g, a.r)
        _, least, most = variance(u, 0.0, 0.0)
        made = contracted(matrix, a, b), multiplied(a, one)
        for eps, first, second in corners(m, 2, 2):
            x, y = a.c + a.g @ eps + a.r * first, b.c + b.g @ eps + b.r * second
            for found, product in zip(made, (matrix @ (x * y), x * y[0]), strict=True):
                off = np.abs(found.g[:, m:]).sum(1) + found.r
                assert (np.abs(product - found.c - found.g[:, :m] @ eps) <= off).all()
            at = u.c + u.g @ eps + u.r * first
            assert least <= (at @ at) / 2 <= most


@pytest.mark.parametrize("products", [128, 4])
@pytest.mark.parametrize("shape", [*SHAPES, None])
def test_logits_and_gradients_lie_in_their_enclosures(
    shape: str | None, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At random streams of random cells, by the evaluator's rules; and the gradient itself is the difference
    quotient's limit. Of random models, with LayerNorms behind or none, and of trained ones, with them in front and at
    the end; also where few generators have products of their own."""
    monkeypatch.setattr("restrict.soft.influence.options.INFLUENCE.products", products)
    rng = np.random.default_rng(5)
    trained = [TRAINED / f"{name}.safetensors" for name in ("tomita2-1l1h16d", "dyck1-depth2-1l1h16d-nope")]
    for seed in range(2):
        parts = prepare(load(shape.format(seed)) if shape else opened(str(trained[seed])), 5)
        assert shape or (parts.layers[0].front[1] and parts.model.final_norm)
        layer, final, d = parts.layers[0], parts.model.final_norm, parts.model.width
        row = rng.normal(size=d)
        for size in (0.01, 0.1, 1.0, 10.0):
            cell = SlopeForm(rng.normal(size=d), size * rng.normal(size=(d, 3)), np.full(d, 0.01 * size))
            (low,), (high,) = tail(layer, final, cell).values(row[None])
            form = tail(layer, final, cell).gradient(row)
            off = np.abs(form.g[:, 3:]).sum(1) + form.r
            assert np.isfinite([low, high]).all()
            for _ in range(16):
                eps = rng.uniform(-1, 1, size=3)
                y = cell.c + cell.g @ eps + cell.r * rng.uniform(-1, 1, size=d)
                assert low <= value(parts.model, row, y) <= high
                g = tail(layer, final, point(y)).gradient(row).c
                assert (np.abs(g - form.c - form.g[:, :3] @ eps) <= off + 1e-9).all()
                ahead, back = (value(parts.model, row, y + step * g) for step in (1e-6, -1e-6))
                assert ahead - back == pytest.approx(2e-6 * (g @ g), rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_many_cells_at_once_are_enclosed_as_each_alone(shape: str) -> None:
    """Where the axes in front number the cells; a wide and a narrow one."""
    rng, parts = np.random.default_rng(9), prepare(load(shape.format(1)), 5)
    layer, final, d = parts.layers[0], parts.model.final_norm, parts.model.width
    row, sizes = rng.normal(size=d), np.array([0.01, 3.0])
    many = SlopeForm(
        rng.normal(size=(2, d)), sizes[:, None, None] * rng.normal(size=(2, d, 3)), sizes[:, None] * np.ones(d)
    )
    both = tail(layer, final, many)
    for k in range(2):
        alone = tail(layer, final, SlopeForm(many.c[k], many.g[k], many.r[k]))
        one, other = both.gradient(row), alone.gradient(row)
        for many_ends, ends in zip(
            (*both.values(row[None]), one.c, one.reach), (*alone.values(row[None]), other.c, other.reach), strict=True
        ):
            assert np.allclose(many_ends[k], ends, rtol=1e-9, atol=1e-9)


def value(model: SoftModel, row: Floats, y: Floats) -> float:
    """A logit by the residual stream behind attention, by the evaluator's rules."""
    x = evaluate.behind_attention(model.layers[0], y)
    x = evaluate.normalised(model.final_norm, x) if model.final_norm is not None else x
    return float(row @ x)


class Range:
    """Intervals, one for each cell; every operation is widened by more than its rounding."""

    def __init__(self, low: Floats, high: Floats) -> None:
        slack = 1e-14 * np.maximum(np.abs(low), np.abs(high)) + 1e-300
        self.low, self.high = low - slack, high + slack

    def __add__(self, other: "Range | float") -> "Range":
        other = of(other)
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Range | float") -> "Range":
        other = of(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def rising(self, function: Callable[[Floats], Floats]) -> "Range":
        """The image under a function that never falls."""
        return Range(function(self.low), function(self.high))

    @property
    def largest(self) -> float:
        """The greatest absolute value."""
        return float(max(np.abs(self.low).max(), np.abs(self.high).max()))


def of(x: Range | float) -> Range:
    """A number as an interval."""
    return x if isinstance(x, Range) else Range(np.array(float(x)), np.array(float(x)))


def test_the_constants_of_the_gelus_hold_everywhere() -> None:
    """Interval arithmetic on cells from 0 to 9; both second derivatives are even and both third ones odd.

    Beyond 9 all of them have a factor below ``exp(-40)`` (a density, or ``1 - tanh^2``) and a polynomial of degree 9.
    """
    ends = np.linspace(0, 9, 60_001)
    x = Range(ends[:-1], ends[1:])
    square = x * x
    density = Range(np.exp(-(x.high**2) / 2), np.exp(-(np.maximum(x.low, 0) ** 2) / 2)) * (1 / math.sqrt(2 * math.pi))
    k, cubic = math.sqrt(2 / math.pi), 0.044715
    t = (x * (square * cubic + 1) * k).rising(np.tanh)
    s, first = (t * t) * -1 + 1, (square * (3 * cubic) + 1) * k
    bent, third = x * (6 * k * cubic), 6 * k * cubic
    cube = first * first * first
    curve = s * bent + t * s * first * first * -2
    turn = s * ((t * first * bent) * -6 + third + s * cube * -2 + t * t * cube * 4)
    found = {
        "gelu": (density * (square * -1 + 2), density * x * (square + -4)),
        "gelu_tanh": (s * first + x * curve * 0.5, curve * 1.5 + x * turn * 0.5),
    }
    h, cells = 1e-4, [2_000, 11_000, 40_000]
    at = ends[cells]
    for kind, (second, next_one) in found.items():
        assert second.largest < CURVED
        assert next_one.largest < BENT
        for what, one in ((evaluate.steepness, second), (second_derivative, next_one)):  # of what the code computes
            assert np.allclose((what(kind, at + h) - what(kind, at - h)) / (2 * h), one.high[cells], atol=1e-3)


def test_cells_cover_what_attention_can_return() -> None:
    """The first cell holds the result of every word, and its segments those of every exchange."""
    model, n = load(SHAPES[0].format(1)), 5
    words = Words(model, n)
    for changes in changes_of(model, n):
        space = Space(changes)
        at = (words.added[words.of(changes)] - space.centre) @ space.basis.T
        assert (at >= space.whole.low - 1e-9).all()
        assert (at <= space.whole.high + 1e-9).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", heavy_after(range(8), 1))
def test_ranges_along_rows_are_those_of_all_words(shape: str, seed: int) -> None:
    """Not less, and with one head hardly more."""
    rng, model, n = np.random.default_rng(seed), load(shape.format(seed)), 5
    words = Words(model, n)
    for changes in changes_of(model, n):
        rows = rng.normal(size=(9, model.width)) * 10.0 ** rng.uniform(-3, 3, (9, 1))
        found, (low, high) = words.added[words.of(changes)] @ rows.T, reaches(changes, rows)
        size = np.abs(found).max(0)
        assert (low <= found.min(0) + 1e-12 * size).all()
        assert (found.max(0) <= high + 1e-12 * size).all()
        if len(changes.heads) == 1:
            slack = 1e-3 * size + 2 * np.abs(rows) @ slack_of(changes.heads[0])
            assert (found.min(0) - low <= slack).all()
            assert (high - found.max(0) <= slack).all()


@pytest.mark.parametrize("shape", [*SHAPES, None])
@pytest.mark.parametrize("seed", heavy_after(range(8), 1))
def test_cut_cells_hold_what_the_cells_hold(shape: str | None, seed: int) -> None:
    """Boxes around random results lose none of the words' results, and some are cut."""
    rng, n, cut = np.random.default_rng(seed), 6, 0
    model = load(shape.format(seed)) if shape else opened(str(TRAINED / "tomita2-1l1h16d.safetensors"))
    for delta in (None, some_delta(len(model.alphabet), rng)):
        words = Words(model, n, delta)
        for changes in changes_of(model, n, delta=delta):
            space = Space(changes)
            at = (words.added[words.of(changes)] - space.centre) @ space.basis.T
            width = space.whole.high - space.whole.low
            for _ in range(20):
                middle = at[rng.integers(len(at))]
                ends = middle - width * rng.random(len(width)), middle + width * rng.random(len(width)) * 0.3
                cell = ResultRanges(np.maximum(ends[0], space.whole.low), np.minimum(ends[1], space.whole.high))
                smaller = space.lines.cut(cell)
                kept = (at >= cell.low).all(1) & (at <= cell.high).all(1)
                assert (at[kept] >= smaller.low - 1e-12).all()
                assert (at[kept] <= smaller.high + 1e-12).all()
                cut += int((smaller.high - smaller.low < 0.99 * (cell.high - cell.low)).any())
    assert cut > 10


@pytest.mark.parametrize("shape", [SHAPES[0], *SHAPES[2:], None])
@pytest.mark.parametrize("seed", heavy_after(range(8), 1))
def test_exchanges_take_words_of_a_box_into_its_image(shape: str | None, seed: int) -> None:
    """Of one head, over all words and an automaton's; the weights of the box's words add up to what is said."""
    rng, n, count = np.random.default_rng(seed), 5, 0
    model = load(shape.format(seed)) if shape else opened(str(TRAINED / "tomita2-1l1h16d.safetensors"))
    for delta in (None, some_delta(len(model.alphabet), rng)):
        words = Words(model, n, delta)
        for changes in changes_of(model, n, delta=delta):
            space = Space(changes)
            images, width = Images(changes, space.basis, space.centre), space.whole.high - space.whole.low
            at = (words.added - space.centre) @ space.basis.T
            columns = [[0 if j in words.pinned else s for j, s in enumerate(w)] for w in words.words.tolist()]
            (head,) = changes.heads
            for which in rng.choice(len(changes.exchanges), 8):
                found = words.pairs(changes, changes.exchanges[which])
                middle = at[found[rng.integers(len(found))][0]]
                low, high = (middle + side * width * rng.random(len(width)) * 0.5 for side in (-1, 1))
                near, along = np.array([which]), [0, 1]
                (least,), (most,) = images.after(low, high, near, along)
                ends = images.weights(low, high, along)
                for first, second in found:
                    if (at[first] >= low).all() and (at[first] <= high).all():
                        total = math.fsum(head.e[j, s] for j, s in enumerate(columns[first]))
                        assert ends[0] <= total <= ends[1]
                        assert (at[second] >= least - 1e-12).all()
                        assert (at[second] <= most + 1e-12).all()
                        count += 1
    assert count >= 16


def pairs_left(model: SoftModel, n: int, delta: Delta | None, rng: np.random.Generator, tried: int, halved: int) -> int:
    """Halve random pairs of cells: every exchange of some words stays in a pair that is left, within its bound.

    How many exchanges were followed, each down to the pair that holds it after some halvings.
    """
    words, count, rows = Words(model, n, delta), 0, readout_rows(model)
    for changes in changes_of(model, n, delta=delta):
        space = Space(changes)
        at = (words.added - space.centre) @ space.basis.T
        for which in rng.choice(space.start().near, 2):
            pairs_ = words.pairs(changes, changes.exchanges[which])
            for first, second in pairs_[rng.permutation(len(pairs_))[:tried]]:
                r = int(rng.integers(len(rows)))
                logit, pair = Logit(space, rows[r]), space.start()
                for _ in range(halved):
                    halves = [h for h in logit.halves(pair, logit.judged(pair, 0.0)[1]) if which in h.near]
                    held = [h for h in halves if inside(h.first, at[first]) and inside(h.second, at[second])]
                    assert held
                    pair = held[0]
                    assert (np.abs(at[first] - at[second]) <= pair.moves + 1e-9).all()
                    apart = abs(words.logits[first, r] - words.logits[second, r])
                    assert apart <= logit.judged(pair, 0.0)[0] + 1e-9
                    # The change is the mean gradient of the way times the way.
                    g, rho, _ = logit.slopes(pair)
                    way, moved = (
                        words.added[second] - words.added[first],
                        words.logits[second, r] - words.logits[first, r],
                    )
                    assert abs(moved - g @ way) <= rho @ np.abs(space.basis @ way) + 1e-9
                count += 1
    return count


def inside(cell: ResultRanges, at: Floats) -> bool:
    """Whether a result is in a cell, up to the evaluator's rounding."""
    return bool((at >= cell.low - 1e-9).all() and (at <= cell.high + 1e-9).all())


def test_each_exchange_of_two_words_is_in_the_first_pair_once() -> None:
    for changes in changes_of(load(SHAPES[0].format(0)), 4):
        near = {changes.exchanges[k] for k in Space(changes).start().near}
        assert near | {(t, o, s) for t, s, o in near} == set(changes.exchanges)
        assert 2 * len(near) == len(changes.exchanges)


def test_a_range_that_is_no_number_is_none() -> None:
    """Where a form overflows a pair is not lost: its bound is infinite, and it still has halves."""
    model = load(SHAPES[0].format(1))
    for changes in changes_of(model, 5):
        space = Space(changes)
        logit, whole = Logit(space, np.full(model.width, np.inf)), space.start()
        with np.errstate(invalid="ignore"):
            bound, shares = logit.judged(whole, 0.0)
            assert bound == math.inf
            assert len(logit.halves(whole, shares)) == 2


@pytest.mark.parametrize("shape", heavy_after([SHAPES[2], None, SHAPES[3], *SHAPES[:2]], 2))
@pytest.mark.parametrize(("tried", "halved", "least"), rows_after([(4, 4, 1), (6, 8, 2)], 1))
def test_no_pair_of_cells_loses_an_exchange(shape: str | None, tried: int, halved: int, least: int) -> None:
    """Of random models, and of a trained one over a language."""
    model = load(shape.format(0)) if shape else opened(str(TRAINED / "tomita2-1l1h16d.safetensors"))
    delta = None if shape else runs_of(model, parse_language("regex:(11|0|10)*"))
    assert pairs_left(model, 5 if shape else 6, delta, np.random.default_rng(7), tried, halved) > least


@pytest.mark.parametrize(
    "name", heavy_after(["tomita2-1l1h16d", "dyck1-depth2-1l1h16d-nope", "contains-aba-1l1h16d-nope"], 2)
)
def test_the_search_for_exchanges_finds_the_largest_change(name: str) -> None:
    """Against all words of a small length, each logit and each last symbol."""
    model, n = opened(str(TRAINED / f"{name}.safetensors")), 9
    words, rows = Words(model, n), readout_rows(model)
    for changes in changes_of(model, n):
        found = (np.abs(words.changed(words.logits, changes, x)).max(0) for x in changes.exchanges)
        most = np.max(list(found), axis=0)
        ascent = Ascent(changes, logits_behind(model, rows), len(rows), np.random.default_rng(0))
        found = evaluated(model, rows, ascent.pairs()).max(0)
        assert (found <= most * (1 + 1e-9)).all()
        assert found.max() >= 0.99 * most.max()


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_changes_of_one_place_are_read_as_the_whole_words(shape: str) -> None:
    """Every change of every word, over all words and an automaton's, where it is one of its words."""
    rng, model = np.random.default_rng(4), load(shape.format(2))
    rows, symbols = readout_rows(model), len(model.alphabet)
    for changes in itertools.chain(changes_of(model, 5), changes_of(model, 5, delta=some_delta(symbols, rng))):
        ascent = Ascent(changes, logits_behind(model, rows), len(rows), rng)
        words = ascent.sample.random(6)
        found, changed = ascent.behind(words)
        assert found == pytest.approx(ascent.read(changes.start.centre + changes.read(words)))
        for k, (j, s) in enumerate(zip(ascent.place, ascent.symbol, strict=True)):
            other = words.copy()
            other[:, j] = s
            inside = ascent.sample.inside(other)
            assert (np.isfinite(changed[:, k]).all(1) == inside).all()
            exact = ascent.read(changes.start.centre + changes.read(other[inside]))
            assert changed[inside, k] == pytest.approx(exact)
        for first, second in ascent.pairs():
            assert ascent.sample.inside(np.array([first, second])).all()
            assert sum(a != b for a, b in zip(first, second, strict=True)) == 1


def test_the_search_returns_pairs_that_differ_in_one_place() -> None:
    model = load(SHAPES[0].format(0))
    for changes in changes_of(model, 6):
        pairs = Tried(changes, of_attention, 1, np.random.default_rng(0)).pairs(INFLUENCE.kept)
        assert pairs
        for first, second in pairs:
            assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
            assert first[5] == second[5] == changes.words.symbol


@pytest.mark.parametrize("heads", [0, 1, 2])
def test_heads_that_see_nothing_at_the_output_move_nothing(heads: int) -> None:
    model = load(f"random:layers=1,width=8,heads={max(heads, 1)},symbols=2,seed=1")
    if not heads:
        model = replace(model, layers=(replace(model.layers[0], heads=()),))
    model = masked(model, "strict_future")
    for n in (2, 24):
        found = changes_of(model, n)
        assert attention_influence(found).bound == 0
        assert logit_influence(model, found, cells=2).bound < 1e-9


def test_one_label_has_no_difference_and_no_layer_no_influence() -> None:
    model = load("random:layers=1,width=8,heads=1,symbols=2,seed=1")
    output = replace(model.output, unembed=model.output.unembed[:1], bias=model.output.bias[:1], labels=("x",))
    one = replace(model, output=replace(output, kind="softmax", accept=()))
    assert logit_influence(one, changes_of(one, 4)).bound == 0
    row = influence(replace(model, layers=()), 3)
    assert row.measured == (0, 0)
    assert row.sharp == row.layerwise == (0, 0)


def test_the_command_line() -> None:
    file = str(TRAINED / "tomita2-1l1h16d.safetensors")
    inputs = ["--inputs", "regex:(10)*"]
    done = typed("soft", "influence", file, "-n", "6,12", "--pairs", *inputs, "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [row["n"] for row in rows] == [6, 12]
    assert all(row["words"] is None or row["attained"] <= row["bound"] for row in rows)
    done = typed("soft", "influence", file, "-n", "9", "--pairs")
    assert "quotient" in done.output
    assert "attained by: " in done.output
    done = typed("soft", "influence", file, "-n", "9", "--pairs", *inputs)
    assert done.output.splitlines()[-1].split() == ["9", "0", "0", "-"]
    done = typed("soft", "influence", file, "-n", "6", "--pairs", "--logit", "--time", "1")
    assert "largest change of a logit at the output, one symbol exchanged elsewhere; all words" in done.output
    run = typed("soft", "run", file, "1010")
    assert "{1,<eos>} {0}" in run.output


def with_heads(model: SoftModel, change: Callable[[SoftHead], SoftHead]) -> SoftModel:
    """The model with other heads in its only layer."""
    (layer,) = model.layers
    return replace(model, layers=(replace(layer, heads=tuple(map(change, layer.heads))),))


def larger(model: SoftModel, size: float) -> SoftModel:
    """The model with values of another size."""
    return with_heads(model, lambda h: replace(h, value=size * h.value))


def test_what_is_attained_is_not_more_than_the_words_move() -> None:
    """Where all values are the same nothing moves, whatever is rounded; scores that are shifted far have errors."""
    model = load(SHAPES[0].format(0))
    still = with_heads(model, lambda h: replace(h, value=0 * h.value, value_bias=0 * h.value_bias + 0.1))
    found = attention_influence(changes_of(still, 5))
    assert (found.attained, found.words) == (0.0, None)
    assert 0 < found.bound < 1e-12
    logit = logit_influence(still, changes_of(still, 5))
    assert (logit.attained, logit.words) == (0.0, None)
    before = attention_influence(changes_of(model, 5)), logit_influence(model, changes_of(model, 5))
    far = with_heads(model, lambda h: replace(h, key_bias=h.key_bias + 1e13))
    after = attention_influence(changes_of(far, 5)), logit_influence(far, changes_of(far, 5))
    for old, new in zip(before, after, strict=True):
        assert new.attained <= old.bound <= new.bound * (1 + 1e-9), "the shift is the same for all keys"


def test_parts_without_a_word_are_bounded_without_a_warning() -> None:
    """Below the least weight no symbol is left, and nothing is divided by."""
    changes = changes_of(larger(load(SHAPES[0].format(0)), 1e20), 5)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = changes.along(np.ones(changes.parts.model.width), spans=[(0.0, 1e-320)])
    assert not found.any()


def test_values_whose_squares_are_no_floats_are_refused() -> None:
    small, large, huge = (changes_of(larger(load(SHAPES[0].format(0)), size), 4) for size in (1e149, 1e160, 1e300))
    assert 0 < attention_influence(small).bound < math.inf
    for far in (large, huge):
        with pytest.raises(UsageError, match=r"values of attention are above 1e\+150"):
            attention_influence(far)


def test_measured_floats_are_not_above_a_certified_bound() -> None:
    """Embeddings near 1e11, whose difference is rounded away: (c) is cut to the sets' bound."""
    model = load("random:layers=1,width=8,percent=60,heads=1,symbols=2,seed=0")
    far = 1e11 * (1 + 2.0**-40 * np.arange(len(model.embed)))[:, None]
    flat = with_heads(model, lambda h: replace(h, query=0 * h.query, query_bias=0 * h.query_bias))
    flat = replace(flat, embed=0 * model.embed + far)
    for n in (3, 6):
        found = influence(flat, n)
        assert 0 < found.measured[0] <= found.sharp[0]
        assert found.measured[1] <= found.sharp[1]


def test_logits_that_are_undefined_on_some_word_have_no_bound() -> None:
    """No epsilon, and a variance of 0 on words: as without pairs, there is no answer."""
    model = load(SHAPES[0].format(0))
    (layer,) = with_heads(model, lambda h: replace(h, value=0 * h.value, value_bias=0 * h.value_bias)).layers
    norm = LayerNorm(np.ones(model.width), np.zeros(model.width), Term("0"))
    plain = replace(model, positions=Positions(), embed=np.eye(model.width)[: len(model.alphabet)])
    layer = replace(layer, norm="post", norm1=norm, norm2=None, ffn=None, attention_bias=0 * layer.attention_bias)
    defined = replace(plain, layers=(layer,))
    assert logit_influence(defined, changes_of(defined, 3)).bound < 1e-9
    undefined = replace(defined, embed=np.ones_like(plain.embed))
    for refused in (lambda: logit_influence(undefined, changes_of(undefined, 3)), lambda: influence(undefined, 3)):
        with pytest.raises(ResourceLimit, match="a LayerNorm may divide by zero here"):
            refused()
