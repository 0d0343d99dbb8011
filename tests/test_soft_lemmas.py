"""The lemmas on sets of docs/trusted-base.md ("Soft certificates"), each tried on points at the rim of its sets.

Points and matrices are exact fractions of units; what a tensor's entry lost when it was rounded down is put back, as
much of it as there can be. Numbers of a few units show a rounding that is not outward, large ones the rest.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.random import Generator

from restrict.checker.soft_layers import averaged, coupled, network, normed, scaled, score
from restrict.checker.soft_model import Norm
from restrict.checker.soft_sets import ONE, Matrix, Set, Vector, add, between, cut, hull, image, linear, size, tight
from tests.marks import heavy_after

Point = list[Fraction]
SIZES = (1, 3, 40, ONE >> 40, ONE >> 3, ONE, 5 * ONE, ONE << 20)
LOST = (Fraction(0), Fraction(999, 1000), Fraction(1, 2))
"""What an entry lost when it was rounded down to units."""


def pick(rng: Generator, choices: Sequence[int]) -> int:
    return choices[int(rng.integers(len(choices)))]


def whole(rng: Generator, most: int) -> int:
    """An integer in ``-most .. most``, of any size."""
    return round(Fraction(float(rng.uniform(-1, 1))) * most)


def vector(rng: Generator, d: int, most: int) -> Vector:
    return [whole(rng, most) for _ in range(d)]


def random_set(rng: Generator, d: int) -> Set:
    box = [abs(v) for v in vector(rng, d, pick(rng, SIZES))]
    ball = size(box) if rng.random() < 0.4 else abs(whole(rng, max(size(box), 1)))
    return tight(vector(rng, d, pick(rng, SIZES)), box, ball)


def rim(rng: Generator, s: Set) -> Point:
    """A point of the set at its rim: a corner of the box, drawn in to the ball."""
    off = [Fraction(r * int(rng.choice([-1, 1, 1, -1, 0]))) for r in s.box]
    length = size([int(v) for v in off])
    factor = Fraction(s.ball, length) if length > s.ball else Fraction(1)
    return [c + v * factor for c, v in zip(s.centre, off, strict=True)]


def inside(x: Sequence[Fraction], s: Set) -> bool:
    off = [v - c for v, c in zip(x, s.centre, strict=True)]
    return all(abs(v) <= r for v, r in zip(off, s.box, strict=True)) and sum(v * v for v in off) <= s.ball**2


class Map:
    """A random matrix and bias, as the checker has them, and with what was lost put back."""

    def __init__(self, rng: Generator, rows: int, columns: int) -> None:
        most = pick(rng, (2, ONE >> 30, ONE >> 1, ONE, 3 * ONE))
        self.rows: Matrix = [vector(rng, columns, most) for _ in range(rows)]
        self.bias = vector(rng, rows, pick(rng, SIZES))
        self.made = linear(self.rows, self.bias, Fraction(3) if rng.random() < 0.5 else None)
        lost = LOST[int(rng.integers(len(LOST)))]
        self.true = [[v + lost for v in row] for row in self.rows]
        self.shift = [b + lost for b in self.bias]

    def __call__(self, x: Sequence[Fraction]) -> Point:
        return [
            sum((w * v for w, v in zip(row, x, strict=True)), Fraction(0)) / ONE + b
            for row, b in zip(self.true, self.shift, strict=True)
        ]


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(11)


@pytest.fixture(params=heavy_after((60, 300), 1))
def rounds(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_affine_maps(rng: Generator, rounds: int) -> None:
    """Lemma S4."""
    for _ in range(rounds):
        columns, rows = (int(v) for v in rng.integers(1, 5, 2))
        f, s = Map(rng, rows, columns), random_set(rng, columns)
        found = image(f.made, s)
        assert all(inside(f(rim(rng, s)), found) for _ in range(8))


def test_sums_hulls_and_cuts(rng: Generator, rounds: int) -> None:
    """Lemma S3."""
    for _ in range(rounds):
        d = int(rng.integers(1, 5))
        a, b = random_set(rng, d), random_set(rng, d)
        both, total = hull([a, b]), add(a, b)
        for _ in range(8):
            x, y = rim(rng, a), rim(rng, b)
            assert inside(x, both)
            assert inside(y, both)
            assert inside([v + w for v, w in zip(x, y, strict=True)], total)
            low = [min(int(v) - 1, c) for v, c in zip(x, a.centre, strict=True)]
            high = [int(v) + 1 for v in x]
            assert inside(x, between(a, low, high))
            if inside(x, b):
                assert inside(x, cut(a, b))


def test_scores(rng: Generator, rounds: int) -> None:
    """Lemma S6."""
    for _ in range(rounds):
        d = int(rng.integers(1, 5))
        q, k = random_set(rng, d), random_set(rng, d)
        low, high = score(q, k, size(k.centre))
        scale = sorted((whole(rng, 3 * ONE), whole(rng, 3 * ONE)))
        least, most = scaled((low, high), *scale)
        for _ in range(8):
            true = sum((a * b for a, b in zip(rim(rng, q), rim(rng, k), strict=True)), Fraction(0)) / ONE
            assert low <= true <= high
            assert all(least <= true * s / ONE <= most for s in scale)


def test_a_score_reaches_its_bound(rng: Generator, rounds: int) -> None:
    """Lemma S6, where all is aligned: corners of boxes, and balls along one axis, so a term less is too little."""
    for _ in range(rounds):
        d = int(rng.integers(2, 5))
        (cq, ck), (rq, rk) = (
            [[abs(whole(rng, pick(rng, SIZES))) for _ in range(d)] for _ in range(2)] for _ in range(2)
        )
        signs = [int(rng.choice([-1, 1])) for _ in range(d)]
        q, k = (
            Set([c * s for c, s in zip(centre, signs, strict=True)], box, sum(box))
            for centre, box in ((cq, rq), (ck, rk))
        )
        true = Fraction(sum((a + r) * (b + t) for a, r, b, t in zip(cq, rq, ck, rk, strict=True)), ONE)
        assert true <= score(q, k, size(k.centre))[1] <= true + 4
        a, b, r, t = cq[0], ck[0], rq[0], rk[0]
        q, k = (Set([c, *[0] * (d - 1)], [ball] * d, ball) for c, ball in ((a, r), (b, t)))
        low, high = score(q, k, size(k.centre))
        assert Fraction((a + r) * (b + t), ONE) <= high <= Fraction((a + r) * (b + t), ONE) + 4
        assert low <= Fraction(min((a - r) * (b + t), (a + r) * (b - t)), ONE)


def test_averages(rng: Generator, rounds: int) -> None:
    """Lemmas S7 and S8: a weight and a value of one case, at the ends of both."""
    with localcontext() as context:
        context.prec = 100
        for _ in range(rounds):
            d, n = int(rng.integers(1, 4)), int(rng.integers(1, 5))
            cases = [int(rng.integers(1, 4)) for _ in range(n)]
            spread = pick(rng, (1, ONE >> 20, ONE, 8 * ONE, 300 * ONE))
            pairs = [[sorted(vector(rng, 2, spread)) for _ in range(count)] for count in cases]
            scores = [[(a, b) for a, b in pair] for pair in pairs]
            values = [[random_set(rng, d) for _ in range(count)] for count in cases]
            merged = [hull(sets) for sets in values]
            first = averaged(scores, merged, hull(merged))
            second = coupled(scores, values, first)
            for _ in range(8):
                chosen = [int(rng.integers(count)) for count in cases]
                at = [scores[j][c][int(rng.integers(2))] for j, c in enumerate(chosen)]
                weights = [Fraction(((Decimal(v) - max(at)) / ONE).exp()) for v in at]
                points = [rim(rng, values[j][c]) for j, c in enumerate(chosen)]
                mean = [
                    sum((w * p[t] for w, p in zip(weights, points, strict=True)), Fraction(0)) / sum(weights)
                    for t in range(d)
                ]
                assert inside(mean, first)
                assert inside(mean, second)


def test_layer_norm(rng: Generator, rounds: int) -> None:
    """Lemma S9."""
    tried = 0
    with localcontext() as context:
        context.prec = 150
        for _ in range(rounds):
            d, s = int(rng.integers(1, 5)), random_set(rng, int(rng.integers(1, 5)))
            d = len(s.centre)
            eps = Fraction(pick(rng, (0, 1, 1000)), pick(rng, (10**9, 100, 1)))
            f = Map(rng, 1, d)
            norm = Norm(f.rows[0], vector(rng, d, ONE), (eps, eps + Fraction(1, 10**40)))
            found = normed(norm, s)
            if found is None:
                continue
            for _ in range(8):
                assert inside(layer_norm(rim(rng, s), f.true[0], norm), found)
                tried += 1
    assert tried > 2 * rounds


def layer_norm(x: Point, weight: Sequence[Fraction], norm: Norm) -> Point:
    """The definition, the square root to 150 digits."""
    d = len(x)
    u = [v - sum(x) / d for v in x]
    variance = sum(v * v for v in u) / d / ONE**2 + norm.eps[0]
    s = Fraction((Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt())
    return [v / s * w / ONE + b for v, w, b in zip(u, weight, norm.bias, strict=True)]


@pytest.mark.parametrize("skip", [False, True])
def test_networks(rng: Generator, rounds: int, skip: bool) -> None:
    """Lemma S10."""
    for _ in range(rounds):
        d, width = (int(v) for v in rng.integers(1, 5, 2))
        inner, outer, s = Map(rng, width, d), Map(rng, d, width), random_set(rng, d)
        found = network(inner.made, outer.made, s, skip)
        for _ in range(8):
            x = rim(rng, s)
            y = outer([max(v, Fraction(0)) for v in inner(x)])
            assert inside([a + b for a, b in zip(y, x, strict=True)] if skip else y, found)


@pytest.mark.parametrize("spoil", [image, hull, add], ids=["image", "hull", "add"])
def test_a_set_that_is_a_unit_too_small_is_noticed(rng: Generator, rounds: int, spoil: Callable[..., Set]) -> None:
    """The tests of the tests: without one unit of the box, some point lies outside."""
    outside = 0
    for _ in range(rounds):
        d = int(rng.integers(1, 4))
        a, b = random_set(rng, d), random_set(rng, d)
        f = Map(rng, d, d)
        found = image(f.made, a) if spoil is image else hull([a, b]) if spoil is hull else add(a, b)
        shrunk = Set(found.centre, [max(r * 3 // 4 - 1, 0) for r in found.box], found.ball)
        for _ in range(8):
            x, y = rim(rng, a), rim(rng, b)
            point = f(x) if spoil is image else x if spoil is hull else [v + w for v, w in zip(x, y, strict=True)]
            outside += not inside(point, shrunk)
    assert outside > rounds / 3
