"""Own directions of several heads: every bound of the checker and of the search against all words."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from restrict.checker.account import Meter, Place, Reject
from restrict.checker.main import verify
from restrict.checker.verdict import QUOTIENT, Basis, Check
from restrict.checker.verdict_forms import Extent, Form
from restrict.checker.verdict_numbers import BITS
from restrict.checker.verdict_paths import Language
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.directions import Key
from restrict.soft.trained.empty import Empty
from restrict.soft.trained.forms import coordinates, leaves_of
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.hints import basis_document, case_document
from restrict.soft.trained.model import load
from restrict.soft.trained.multipliers import Found, multipliers, separation
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Open, Search
from tests import verdict_cases
from tests.marks import heavy_after
from tests.naive_gpt2 import Naive, prefixes
from tests.verdict_cases import by_case, in_bases, refusal

ONE = 1 << BITS
Sample = tuple[Check, tuple[int, int, int], list[list[Fraction]], list[list[list[Fraction]]], list[int]]


def sample(rng: np.random.Generator) -> Sample | None:
    """A case of a random automaton with random weights and values, some heavy beyond all others: the checker that has
    them, and for each of its words the heads' denominators and the averages of their coordinates, each of which is off
    by as much as it may be, on a side of its own."""
    symbols, states, heads, i = (int(rng.integers(a, b)) for a, b in ((2, 4), (1, 4), (1, 4), (1, 5)))
    delta = rng.integers(0, states, size=(states, symbols))
    delta[rng.random(delta.shape) < 0.2] = -1
    rows = delta.tolist()
    claim = {"delta": rows, "accept": list(range(states)), "labels": [0], "want": [[]] * states}
    words = [(w, q) for w, q in prefixes((rows, list(range(states))), i) if len(w) == i]
    if not words:
        return None
    last, end = words[int(rng.integers(len(words)))]
    key = (i, last[-1], end)
    check = Check.__new__(Check)
    check.meter, check.edges, check.basis, check.weights = Meter(10**9), 10, [], []
    check.language = Language(claim, None, Place("l"), symbols, 1)
    check.model = type("Shape", (), {"rows": range(symbols)})()
    size = float(rng.choice([0.1, 2.0, 12.0]))
    for _ in range(heads):
        m, places = int(rng.integers(0, 3)), [1] + [symbols] * i
        off = int(rng.choice([0, 1, ONE >> 20]))
        unit = ONE << int(rng.choice([0, 0, 20]))
        at = [[[int(v * unit) for v in rng.normal(size=m)] for _ in range(k)] for k in places]
        es = [[int(np.exp(-size * rng.random()) * 2**60) + 1 for _ in range(k)] for k in places]
        check.weights.append([[(e, e) for e in row] for row in es])
        check.basis.append(Basis([], [[0]] * m, at, off, [], Form([], [], [])))
    sums, points = [], []
    sides = [rng.choice([-1, 1], len(b.rows)).tolist() for b in check.basis]
    for word, q in words:
        if (word[-1], q) != key[1:]:
            continue
        steps = list(enumerate((0, *word)))
        sums.append([Fraction(sum(e[j][s][0] for j, s in steps)) for e in check.weights])
        points.append([[Fraction(sum(e[j][s][0] * b.at[j][s][k] for j, s in steps)) / d + side * b.off
                        for k, side in enumerate(ways)]
                       for e, b, d, ways in zip(check.weights, check.basis, sums[-1], sides, strict=True)])  # fmt: skip
    return check, key, sums, points, [side for ways in sides for side in ways]


def boxed(values: list[Fraction], rng: np.random.Generator, part: float) -> Extent:
    """A box around some numbers, or around some of them, or half of it."""
    low, high = min(values), max(values)
    if rng.random() < part:
        at = values[int(rng.integers(len(values)))]
        gap = (high - low) * Fraction(float(rng.random()))
        low, high = at - gap, at + gap
    elif rng.random() < part:
        low, high = (low, (low + high) / 2) if rng.random() < 0.5 else ((low + high) / 2, high)
    low_, high_ = int(low) - 2, int(high) + 2
    return Extent((low_ + high_) >> 1, ((high_ - low_) >> 1) + 1)


def pulls(
    rng: np.random.Generator, flat: list[list[Fraction]], lines: dict[int, int], boxes: list[Extent], least: int
) -> list[list[int]]:
    """Multipliers of the sides of a cell and of its quotients: some about as large as the slopes of its lines, or far
    larger, and those that the search would take if there were one head."""
    m, reach = len(flat[0]), sum(map(abs, lines.values())) + abs(least) + 1
    radius = np.array([max(box.radius, 1) for box in boxes[:m]], dtype=float)
    line = np.array([lines.get(k, 0) for k in range(m)], dtype=float)
    points = np.array([[float(t - box.middle) for t, box in zip(p, boxes, strict=False)] for p in flat]) / radius

    def oracle(turned: npt.NDArray[np.float64], aim: float) -> Found | None:
        said = points @ turned
        return (points[said.argmin()], np.zeros(m)) if said.min() < aim else None

    rows = [line * rng.normal(size=m) * 10.0 ** rng.choice([0, 1, 4]) * (rng.random(m) < 0.7) for _ in range(6)]
    best, _ = multipliers(oracle, float(least), line, 0.0)
    made = [(row / radius * 2**16).clip(-1e17, 1e17) for row in [line, *rows, best] if row is not None]
    found = [[int(g) for g in row] for row in made]
    for row in found.copy():
        sizes = reach / 2.0**48 * rng.normal(size=len(boxes) - m) * 10.0 ** rng.choice([-2, -1, 0, 1, 3])
        found.append([*row, *(int(g) for g in sizes.clip(-1e17, 1e17))])
    return found


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_multipliers_are_found_where_there_are_some(seed: int) -> None:
    """Among points given one by one: what is found holds for all of them, else no multipliers are much better."""
    rng, found, none = np.random.default_rng(seed), 0, 0
    for _ in range(60):
        m, count = int(rng.integers(1, 4)), int(rng.integers(1, 9))
        points = rng.normal(size=(count, m)) * 3.0 + rng.normal(size=m) * 2.0
        line, least, losses = rng.normal(size=m), float(rng.normal()), rng.random(m) * 0.1

        def oracle(
            turned: npt.NDArray[np.float64], aim: float, points: Any = points, losses: Any = losses
        ) -> Found | None:
            said = points @ turned - losses @ np.abs(turned)
            return (points[said.argmin()], losses) if said.min() < aim else None

        def reached(pull: Any, points: Any = points, line: Any = line, losses: Any = losses) -> Any:
            return (points @ (line - pull) - losses @ np.abs(line - pull)).min() - np.abs(pull).sum()

        pull, _ = multipliers(oracle, least, line, 0.0)
        if pull is not None:
            found += 1
            assert least + reached(pull) > -1e-9
            continue
        none += 1
        best = max(reached(g) for g in rng.normal(size=(400, m)) * 10.0 ** rng.uniform(-2, 3, size=(400, 1)))
        assert least + best <= 0.1 * (np.abs(line).sum() + abs(least))
    assert min(found, none) > 5


@pytest.mark.parametrize("seed", heavy_after(range(40), 3))
def test_an_own_direction_is_never_better_than_the_worst_word(seed: int) -> None:
    """Theorems 5 and 6, and with any multipliers Lemma V20: of the words in the cell, which may have none."""
    rng, shown, beyond, more, empty = np.random.default_rng(seed), 0, 0, 0, 0
    for _ in range(100):
        made = sample(rng)
        if made is None:
            continue
        check, key, sums, points, sides = made
        flat = [[t for head in point for t in head] for point in points]
        m = len(flat[0])
        boxes = [boxed([point[k] for point in flat], rng, 0.4) for k in range(m)]
        boxes += [boxed([d[0] / d[h] * ONE for d in sums], rng, 0.2) for h in range(1, len(check.basis))]
        if any(box.middle < 0 for box in boxes[m:]):
            continue
        lines = {k: int(-side * abs(rng.normal()) * ONE * 10 ** rng.uniform(-3, 3))
                 for k, side in enumerate(sides) if rng.random() < 0.9}  # fmt: skip
        values = []
        for point, d in zip(flat, sums, strict=True):
            where = [*point, *(d[0] / d[h] * ONE for h in range(1, len(d)))]
            if all(abs(t - box.middle) <= box.radius for t, box in zip(where, boxes, strict=True)):
                values.append(sum(lines[k] * (point[k] - boxes[k].middle) / boxes[k].radius for k in lines))
        reach = sum(map(abs, lines.values())) + 10
        worst = min(values, default=2 * reach)
        least = int(-worst + reach // 50)
        rows = pulls(rng, flat, lines, boxes, least)
        if not values:
            empty += any(check.own(key, boxes, least, lines, row) for row in rows)
            continue
        for row in [[], *rows]:
            assert not check.own(key, boxes, int(-worst // 1), lines, row)  # the worst word's value is at most 0
        assert not check.own(key, boxes[:m], int(-worst // 1), lines, [])  # also where nothing is known of quotients
        more += not check.own(key, boxes, least, lines, []) and any(
            check.own(key, boxes, least, lines, r) for r in rows
        )
        shown += check.own(key, boxes, int(-worst + reach // 2), lines, [])
        beyond += check.own(key, boxes, int(-worst + (worst + reach) * Fraction(7, 10)), lines, []) and -worst < reach
    assert shown > 10
    assert beyond > 5
    assert more + empty > 0


def separating(words: list[tuple[list[Fraction], list[Fraction]]], boxes: list[Extent]) -> list[int]:
    """The multipliers that the search takes, from all words (coordinates, and the denominator of each one's head)."""
    low, high = (np.array([b.middle + side * b.radius for b in boxes], dtype=float) for side in (-1, 1))
    half, none = np.maximum((high - low) / 2, 1.0), [0] * len(boxes)
    t, weight = (np.array([word[k] for word in words], dtype=float) for k in (0, 1))
    points = np.hstack([(t - high) / half, (low - t) / half]) * np.tile(weight / weight.max(), 2)

    def oracle(g: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        said = points @ g
        return None if said.min() > 0 else points[[said.argmin()]]

    g = separation(oracle, points[:1])
    if g is None:
        return none
    pull = (g[len(boxes) :] - g[: len(boxes)]) / half
    return [int(v) for v in np.round(pull / np.abs(pull).max() * 2.0**20)]


@pytest.mark.parametrize("seed", heavy_after(range(40), 3))
def test_a_cell_with_a_word_is_never_shown_to_have_none(seed: int) -> None:
    """Lemma V21, to the unit: a word may be at a corner of the cell, and multipliers may pull it straight away."""
    rng, none, empty = np.random.default_rng(seed), 0, 0
    for _ in range(120):
        made = sample(rng)
        if made is None:
            continue
        check, key, sums, points, _ = made
        heads = [h for h, basis in enumerate(check.basis) for _ in basis.rows]
        words = [([t for head in point for t in head], [d[h] for h in heads])
                 for point, d in zip(points, sums, strict=True)]  # fmt: skip
        m = len(heads)
        if not m:
            continue
        if rng.random() < 0.5:  # a corner at a word
            at, side = words[int(rng.integers(len(words)))][0], rng.choice([-1, 1], m).tolist()
            radius = [int(2.0 ** rng.uniform(1, 64)) for _ in range(m)]
            corner = [-int(-t // 1) if s < 0 else int(t // 1) for t, s in zip(at, side, strict=True)]
            boxes = [Extent(c - s * r, r + 1) for c, s, r in zip(corner, side, radius, strict=True)]
        else:
            near, side = words[int(rng.integers(len(words)))][0], [1] * m
            size = float(ONE << int(rng.integers(0, 20)))
            boxes = [Extent(int(t) + int(rng.normal() * size), int(size * rng.random())) for t in near]
        inside = any(all(abs(t - b.middle) <= b.radius for t, b in zip(p, boxes, strict=True)) for p, _ in words)
        rows = [[int(s * v) for s, v in zip(side, np.abs(rng.normal(size=m)) * 2.0 ** rng.uniform(0, 40), strict=True)],
                [int(v) for v in rng.normal(size=m) * 2.0 ** rng.uniform(0, 40)], separating(words, boxes)]  # fmt: skip
        rows += [[-v for v in row] for row in rows]
        for row in rows:
            given = [v for pair in enumerate(row) for v in pair]
            if inside:
                with pytest.raises(Reject, match="a word may be in a cell"):
                    check.unreached(key, boxes, given, Place("c"))
                continue
            with suppress(Reject):
                check.unreached(key, boxes, given, Place("c"))
                empty += 1
        none += not inside
    assert none > 10
    assert empty > 5


def test_a_cell_beside_the_only_word_is_shown_to_have_none() -> None:
    """One word, two heads, and a cell that is 2^-30 away in one coordinate: nothing is lost but rounding."""
    rng, tried = np.random.default_rng(5), 0
    while tried < 20:
        made = sample(rng)
        if made is None or len(made[2]) > 1 or not (m := sum(len(b.rows) for b in made[0].basis)):
            continue
        check, key, _, points, _ = made
        at, k = [t for head in points[0] for t in head], int(rng.integers(m))
        gap, radius = 2 * max(b.off for b in check.basis) + (ONE >> 30), ONE >> 3
        for side in (-1, 1):
            boxes = [Extent(int(t), radius) for t in at]
            boxes[k] = Extent(int(at[k]) + side * (radius + gap), radius)
            check.unreached(key, boxes, [k, side << 30], Place("c"))
            with pytest.raises(Reject):
                check.unreached(key, boxes, [k, -side << 30], Place("c"))
        tried += 1


def test_malformed_rows_of_empty_cells_are_refused() -> None:
    made = next(m for m in map(two_heads, (14, 27, 39)) if m is not None)
    model, document = made
    case, m = document["cases"][-1], sum(len(basis["centre"]) for basis in document["basis"])
    bad: list[Any] = [1, [], {}, ["0", 1], [0], [0, 1, 1], [-1, 1], [m, 1], [0, 1 << 61], [0, 0.5], [[0, 1]]]
    for row in bad:
        case[5:] = [[row]]
        assert refusal(model.content, document)[0] == (3 if row == [] else 4)
    case[5:] = [[[0, 5], []]]
    assert refusal(model.content, document)[0] != 0


def coordinates_of_words(search: Search, naive: Naive, key: Key) -> list[Array]:
    """The coordinates of each word of a case, by a plain pass."""
    words = [tuple(search.model.tokens[s] for s in word) for word in by_case(search.graph, search.n)[key]]
    return [in_bases(search.atoms.bases, naive.attention(word)[1]) for word in words]


@pytest.mark.parametrize("seed", heavy_after(range(40), 4))
def test_the_cells_that_the_search_finds_empty_have_no_word(seed: int) -> None:
    """By all words, in floats; the checker takes each."""
    rng, found = np.random.default_rng(seed), 0
    (model, naive, graph), n = verdict_cases.random_case(rng), 4
    search, check = Search(model, graph, n), verdict_cases.checked(model, graph, n)
    check.read_basis(basis_document(search.turns[0]), Place("basis"))
    check.basis = check.turned[0]
    for key in graph.cases(n):
        empty = Empty(search, key)
        check.weigh(*key[:2])
        at = coordinates_of_words(search, naive, key)
        for _ in range(12):
            side = (empty.most - empty.least) * rng.uniform(0.05, 0.7, size=len(empty.most))
            low = empty.least + (empty.most - empty.least - side) * rng.random(len(side))
            row = empty.found(low, low + side)
            inside = any((t >= low).all() and (t <= low + side).all() for t in at)
            if row is not None:
                found += 1
                assert not inside
                assert empty.shown(low, low + side, row)
                boxes = [Extent(int((a + s / 2) * ONE), int(s / 2 * ONE)) for a, s in zip(low, side, strict=True)]
                check.unreached(key, boxes, row, Place("c"))
    assert found or model.heads == 1


def test_multipliers_that_cancel_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of both sides of every coordinate alike: where scores are huge, so little is left of a sum of words."""

    def alike(oracle: Callable[[Array], Array | None], points: Array) -> Array | None:
        return None if oracle(np.ones(points.shape[1])) is not None else np.ones(points.shape[1])

    monkeypatch.setattr("restrict.soft.trained.empty.separation", alike)
    (model, _, graph), tried = verdict_cases.random_case(np.random.default_rng(0)), 0
    search = Search(model, graph, 3)
    for key in graph.cases(3):
        empty = Empty(search, key)
        empty.found(empty.least, empty.most)
        half = (empty.most + empty.least) / 2
        tried += len(half) > 1
        assert empty.found(half, empty.most) is None
    assert tried


@pytest.mark.parametrize("seed", heavy_after(range(20), 4))
def test_a_multiplier_of_a_quotient_is_worth_what_a_word_is_inside_its_side(seed: int) -> None:
    """To the unit, of the only word of a case: how much more a label's bound must be."""
    rng, weighty = np.random.default_rng(seed), 0
    for _ in range(20):
        heads, i = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        check = Check.__new__(Check)
        check.meter, check.edges, check.model = Meter(10**9), 10, type("Shape", (), {"rows": range(1)})()
        check.language = Language({"delta": [[0]], "accept": [0], "labels": [0], "want": [[]]}, None, Place("l"), 1, 1)
        es = [[int(2 ** rng.uniform(20, 60)) for _ in range(i + 1)] for _ in range(heads)]
        check.weights = [[[(e, e)] for e in row] for row in es]
        check.basis = [Basis([], [[0]], [[[int(rng.normal() * ONE)]] for _ in range(i + 1)], 0, [], Form([], [], []))
                       for _ in range(heads)]  # fmt: skip
        boxes = [Extent(int(rng.normal() * ONE), int(rng.random() * ONE) + 1) for _ in range(heads)]
        quotients = [sum(es[0]) * ONE // sum(row) for row in es[1:]]
        boxes += [Extent(int(q * rng.uniform(0.5, 2)), int(q * rng.random()) + 1) for q in quotients]
        lines = {k: int(rng.normal() * ONE) for k in range(heads)}
        pull = [0] * heads + [int(g) for g in rng.normal(size=heads - 1) * 10.0 ** rng.uniform(0, 9)]

        def needed(pull: list[int], check: Check = check, boxes: Any = boxes, lines: Any = lines, i: int = i) -> int:
            low, high = -(1 << 130), 1 << 130
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if check.own((i, 0, 0), boxes, middle, lines, pull) else (middle, high)
            return high

        exact, loose = Fraction(0), Fraction(1)
        for g, row, box in zip(pull[heads:], es[1:], boxes[heads:], strict=True):
            share = Fraction(sum(row), sum(es[0]))
            exact += (g << 48) * (1 - share * (box.middle + (-box.radius if g > 0 else box.radius)) / ONE)
            loose += share
            weighty += share > 3
        assert exact - 1 <= needed(pull) - needed([0] * len(pull)) <= exact + loose
    assert weighty > 5


@pytest.mark.parametrize("seed", heavy_after(range(20), 4))
def test_bounds_on_quotients_are_taken_if_and_only_if_they_hold(seed: int) -> None:
    rng, tried = np.random.default_rng(seed), 0
    for _ in range(60):
        made = sample(rng)
        if made is None or len(made[0].basis) == 1:
            continue
        check, key, sums, *_ = made
        for h in range(1, len(check.basis)):
            exact = [d[0] / d[h] * (ONE >> QUOTIENT) for d in sums]
            high, low = -int(-max(exact) // 1), int(min(exact))
            for up, down, holds in ((0, 0, low > 0), (5, 5, low > 5), (-2, 0, False), (0, -2, False), (0, low, False)):
                ends = ((high + up) << QUOTIENT, (low - down) << QUOTIENT)
                if holds:
                    box = check.quotient(h, key, *ends, Place("c"))
                    assert all(abs(x * (1 << QUOTIENT) - box.middle) <= box.radius for x in exact)
                else:
                    with pytest.raises(Reject):
                        check.quotient(h, key, *ends, Place("c"))
                tried += 1
    assert tried > 40


@pytest.mark.parametrize("seed", heavy_after(range(60), 4))
def test_the_bound_of_the_search_is_below_the_value_of_every_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (model, naive, graph), n = verdict_cases.random_case(rng), 4
    search = Search(model, graph, n)
    for key in graph.cases(n):
        high, low = search.box(key)
        line = rng.normal(size=len(high)) * 10.0 ** rng.integers(-2, 3)
        radius = np.maximum((high - low) / 2, 1e-6)
        bound = search.own(key, (high + low) / 2 - radius, (high + low) / 2 + radius, 0.0, line)
        values = [line @ ((at - (high + low) / 2) / radius) for at in coordinates_of_words(search, naive, key)]
        assert bound <= min(values) + 1e-6 * (1 + np.abs(line).sum())
        assert model.heads > 1 or bound >= min(values) - 1e-6 * (1 + np.abs(line).sum())


def apart(seed: int) -> Iterator[tuple[Search, Key, Array, Array]]:
    """The cases of a random model of two heads, each with a whole cell: half of its box, here and there, and of the
    quotients."""
    rng = np.random.default_rng(seed)
    model, _, graph = verdict_cases.random_case(rng)
    search = Search(model, graph, 4)
    for key in graph.cases(4) if model.heads > 1 else ():
        whole = search.whole(key, *search.span(*search.rounded(key)))
        if whole is not None:
            low, high = whole
            at, size = rng.random(len(low)) * 0.5, rng.choice([0.5, 1.0], len(low))
            yield search, key, low + at * (high - low), np.maximum(low + (at + size) * (high - low), low + 1e-6)


def words_of(search: Search, key: Key, whole: tuple[Array, Array]) -> list[tuple[Array, Array, Array]]:
    """The words of a case: their coordinates and quotients, each head's denominator, what it adds to the stream."""
    found, m = [], len(search.rows)
    for word in by_case(search.graph, search.n)[key]:
        read, steps = [0, *word], np.arange(key[0] + 1)
        es = [weights[steps, read] for weights in search.weights]
        ends = np.array([e.sum() for e in es])
        outs = np.array([e @ v[steps, read] / e.sum() for e, v in zip(es, search.atoms.v, strict=True)])
        at = [b.at[:, steps, read] @ e / e.sum() for b, e in zip(search.atoms.bases, es, strict=True)]
        found.append((np.array([*np.concatenate(at), *ends[0] / ends[1:]]), ends, outs))
    assert all(len(point) == m + search.atoms.heads - 1 for point, _, _ in found)
    return [word for word in found if (word[0] >= whole[0] - 1e-9).all() and (word[0] <= whole[1] + 1e-9).all()]


@pytest.mark.parametrize("seed", heavy_after(range(60), 4))
def test_multipliers_of_the_search_cost_no_word_in_the_cell(seed: int) -> None:
    """With any multipliers of the coordinates and the quotients, as a certificate holds them."""
    rng, least = np.random.default_rng(seed), 0.3
    for search, key, low, high in apart(seed):
        m, line = len(search.rows), np.zeros(len(low))
        line[:m] = rng.normal(size=m) * 10.0 ** rng.integers(-2, 3)
        inside = words_of(search, key, (low, high))
        values = [least + line[:m] @ ((2 * p - low - high) / (high - low))[:m] for p, _, _ in inside]
        for size in 10.0 ** rng.uniform(0, 9, size=4):
            row = np.round(rng.normal(size=len(low)) * size).astype(int).tolist()
            for given in (row, row[:m], row[:0]):
                bound = search.beside(key, low, high, least, line, given)
                assert all(bound <= value + 1e-6 * (1 + np.abs(line).sum() + size) for value in values)


@pytest.mark.parametrize("seed", heavy_after(range(60), 4))
def test_a_mixture_of_words_reads_what_its_heads_add_up(seed: int) -> None:
    """Its coordinates are those of its words, mixed; what each head reads is divided by that head's own sum."""
    rng = np.random.default_rng(seed)
    for search, key, *_ in apart(seed):
        search.use(search.finest if search.full > len(search.rows) else 0)
        ends = search.whole(key, *search.span(*search.rounded(key)))
        assert ends is not None
        words = words_of(search, key, (ends[0] - np.inf, ends[1] + np.inf))
        found = [search.farther(key, *ends, rng.normal(size=len(ends[0])), np.inf) for _ in range(3)]
        points = np.array([f[0] for f in found if f is not None])
        share = rng.dirichlet(np.ones(len(points)))
        sums, mixed = 0.0, 0.0
        for part, point in zip(share, points, strict=True):
            near = min(words, key=lambda w: float(np.abs(at_of(search, ends, w) - point).max()))
            assert np.abs(at_of(search, ends, near) - point).max() < 1e-2
            sums, mixed = sums + part * near[1] / near[1][0], mixed + part * (near[1] / near[1][0])[:, None] * near[2]
        stream = search.start(key) + (mixed / np.array(sums)[:, None]).sum(0)
        assert np.allclose(search.mixed(key, *ends, share @ points), stream, atol=1e-5)
        search.use(0)


def at_of(search: Search, ends: tuple[Array, Array], word: tuple[Array, Array, Array]) -> Array:
    """A word's coordinates for mixtures, where a whole cell is between -1 and 1."""
    (low, high), m = ends, len(search.rows)
    radius, middle, share = (high - low) / 2, (high + low) / 2, word[1][1:] / word[1][0]
    by = np.repeat([1.0, *middle[m:] * share], search.sizes)
    room, centre = (1 / low[m:] - 1 / high[m:]) / 2, (1 / low[m:] + 1 / high[m:]) / 2
    return np.append((word[0][:m] - middle[:m]) * by / radius[:m], (share - centre) / room)


@pytest.mark.parametrize("seed", heavy_after([1, 41, 80, 292, 15, 62, 118, 199], 3))
def test_cases_with_halved_quotients_are_verified(seed: int) -> None:
    """Some also have multipliers of quotients, without which they are refused."""
    rng = np.random.default_rng(seed)
    model, _, graph = verdict_cases.random_case(rng)
    search, check, halved, needed = Search(model, graph, 4), verdict_cases.checked(model, graph, 4), 0, 0
    check.read_basis(basis_document(search.turns[0]), Place("basis"))
    for key in graph.cases(4):
        upper, width = search.rounded(key)
        case = search.tried_on(key, upper, width, 60, [], True)
        if isinstance(case, Open):
            continue
        check.weigh(*key[:2])
        check.case(key, case_document(case, 0)[3:], Place("case"))
        m = len(search.rows)
        halved += coordinates(case.tree) > m
        rows = [
            row for leaf in leaves_of(case.tree, *np.zeros((2, 2 * m + 2))) for row in leaf.rows if len(row) > m + 1
        ]
        for row in rows:
            del row[m + 1 :]
        if rows:
            try:
                check.case(key, case_document(case, 0)[3:], Place("case"))
            except Reject:
                needed += 1
    assert halved
    assert needed


def test_directions_of_a_basis_are_not_those_of_one_that_was_dropped() -> None:
    """A basis that is no better is dropped, and the next one has its number."""
    model = load(verdict_cases.FOLDER / "dyck1-depth4-1l4h16d.safetensors")
    graph, key, found = task_graph(model), (12, 0, 2), []
    kept, fresh = Search(model, graph, 12), Search(model, graph, 12)
    first, last = kept.turned(key), fresh.turned(key, 0)
    for search, turns in ((kept, [first, last]), (fresh, [last])):
        for bases in turns:
            search.turns.append(bases)
            search.use(len(search.turns) - 1)
            low, high = search.span(*search.rounded(key))
            found.append(search.own(key, low, high, 0.0, np.ones(len(low))))
            search.turns.pop()
    assert found[1] == found[2] != found[0]


def two_heads(seed: int) -> tuple[Any, dict[str, Any]] | None:
    """A certificate about a random model of two heads, every case with bounds on the quotient of denominators."""
    rng = np.random.default_rng(seed)
    model, _, graph = verdict_cases.random_case(rng)
    found = verify_trained(model, graph, 3, seconds=60)
    if model.heads == 1 or found.upto < 1:
        return None
    return model, verdict_cases.with_quotients(found).document()


@pytest.mark.parametrize("seed", heavy_after(range(100), 2))
def test_a_mutant_with_several_heads_is_refused_or_true(seed: int) -> None:
    made = two_heads((14, 27, 39, *range(40, 137))[seed])
    if made is None:
        pytest.skip("one head, or nothing is proved")
    model, document = made
    rng = np.random.default_rng(seed)
    assert verify(model.content, json.dumps(document).encode())
    verdict_cases.taken(model, (verdict_cases.mutated(rng, document) for _ in range(80)))


def test_quotients_that_do_not_hold_are_refused() -> None:
    made = two_heads(39)
    assert made is not None
    model, document = made
    refused = 0
    for number, change in product(range(len(document["cases"])), ((-(1 << 34), 0), (0, -(1 << 34)), (1 << 50, 0))):
        other = copy.deepcopy(document)
        case = other["cases"][number]
        case[3][-1] += change[0]
        case[4][-1] += change[1]
        refused += not verdict_cases.accepted(model, other)
    assert refused == 3 * len(document["cases"])
    for change in (1, 2):  # a bound too few, or too many
        other = copy.deepcopy(document)
        case = other["cases"][-1]
        case[3], case[4] = case[3] + [1 << 40] * change, case[4] + [0] * change
        assert not verdict_cases.accepted(model, other)
