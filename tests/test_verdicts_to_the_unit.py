"""Numbers of a verdict to their last unit: balls, forms and chords hold what they are said to hold, in 120 digits and
without a tolerance, at points where errors of weights, roundings and corners add up."""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal as D
from decimal import localcontext
from fractions import Fraction
from itertools import chain, pairwise, product
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from restrict.checker import verdict_numbers as numbers
from restrict.checker.account import Meter, Place
from restrict.checker.verdict import FREE, Box, Check, averaged
from restrict.checker.verdict_forms import Form, Sign, moved, network, signed
from restrict.checker.verdict_model import Atoms, Head, Model
from restrict.checker.verdict_numbers import (
    ONE,
    Ball,
    Linear,
    Norm,
    dot,
    image,
    linear,
    networked,
    normed,
    slope,
    stretched,
)
from restrict.checker.verdict_paths import Language
from tests.test_verdicts import PI, normal

NORMS = ("post", "none", "no-last")
SIZES = (1, 1 << 20, 1 << 63, 1 << 80)
Ints = list[int]
Reals = list[D]


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with localcontext() as context:
        context.prec = 120
        yield


def integers(rng: np.random.Generator, count: int, size: int) -> Ints:
    """Numbers of both signs up to a size, some of them that size."""
    return [int(v * size) if rng.random() < 0.8 else size for v in rng.uniform(-1, 1, count)]


def away(x: int, way: int) -> int:
    """``way``, in the direction of ``x``."""
    return way if x >= 0 else -way


@pytest.mark.parametrize("seed", range(4))
def test_images_hold_all_images_by_matrices_whose_entries_are_off(seed: int) -> None:
    """Every entry of matrix and input, and the bias, where it moves one output the most."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        d, off, m = int(rng.integers(1, 5)), int(rng.choice([1, 1, 5])), int(rng.integers(0, 4))
        weight, far, wide, reach = (int(rng.choice([0, *SIZES])) for _ in range(4))
        rows, c = [integers(rng, d, weight) for _ in range(3)], integers(rng, d, far)
        f, spans = linear(rows, integers(rng, 3, weight), off), [integers(rng, d, wide) for _ in range(m)]
        ball, (form, slack) = image(f, Ball(c, reach)), moved(f, Form(c, spans, [reach] * d))
        eps = rng.choice([-1, 1], m).tolist()
        at = [v + dot(eps, g) for v, g in zip(c, zip(*spans, strict=True), strict=True)] if m else c
        for i, row in enumerate(rows):
            for way in (-1, 1):
                for much in (0, reach):
                    x = [v + away(a, way * much) for v, a in zip(at, row, strict=True)]
                    true = dot([a + away(v, way * off) for a, v in zip(row, x, strict=True)], x) + (
                        f.bias[i] + way << 64
                    )
                    gap = abs(
                        true - (form.centre[i] + sum(e * g[i] for e, g in zip(eps, form.spans, strict=True)) << 64)
                    )
                    assert gap <= (form.rest[i] if much else slack) << 64
                    if not m and off == 1:
                        assert abs(true - (ball.centre[i] << 64)) <= ball.radius << 64


def exactly(x: Reals, weight: Reals, bias: Reals, epsilon: D) -> Reals:
    """LayerNorm."""
    mean = sum(x) / len(x)
    root = (sum((v - mean) ** 2 for v in x) / len(x) + epsilon).sqrt()
    return [(v - mean) / root * w + b for v, w, b in zip(x, weight, bias, strict=True)]


def real(x: Ints) -> Reals:
    return [D(v) / ONE for v in x]


@pytest.mark.parametrize("d", [2, 5, 64])
def test_a_ball_behind_layer_norm_holds_what_layer_norm_makes_of_its_points(d: int) -> None:
    """From points as good as equal to one large entry; radii up to the deviation itself; every entry where its ball
    moves it the most, to first order, in either direction."""
    rng = np.random.default_rng(d)
    for _ in range(40):
        kind, size, epsilon = (
            int(rng.integers(4)),
            1 << int(rng.choice([3, 40, 46, 64])),
            1 << int(rng.choice([88, 112, 128])),
        )
        c = integers(rng, d, size) if kind else [size] * d
        c[0] += int(kind > 1) * size * int(2 * np.sqrt(d))
        gap = np.array(c, float) - np.mean(np.array(c, float))
        root = float(np.sqrt((gap**2).mean() + epsilon))
        radius = int(rng.choice([0, 1, 1000])) if rng.random() < 0.5 else int(root * rng.choice([1e-9, 0.1, 0.9]))
        norm = Norm(integers(rng, d, int(rng.choice([0, 1 << 64, 1 << 90]))), integers(rng, d, ONE), epsilon)
        found = normed(norm, Ball(c, radius))
        for i in (0, *rng.permutation(d)[:2].tolist()):
            tilt, inwards = -gap[i] * gap / root**2 / d - 1 / d, -gap * np.sign(gap[i])
            tilt[i], inwards[i] = tilt[i] + 1, 1
            for way, ends in product((-1, 1), (tilt, inwards, -inwards)):
                x = real([v + away(int(np.sign(t)), way * radius) for v, t in zip(c, ends, strict=True)])
                w, b = (
                    real([v + away(int(gap[i]), away(v, way)) for v in norm.weight]),
                    real([v + way for v in norm.bias]),
                )
                exact = exactly(x, w, b, (epsilon + D("0.999") * (way > 0)) / D(ONE) ** 2)[i]
                assert abs(exact * ONE - found.centre[i]) <= found.radius


def test_exponentials_of_balls_hold_those_of_their_ends() -> None:
    rng = np.random.default_rng(0)
    for size in (0, 1, 40, 170, 177, 300):
        for radius in (0, 1, 1 << 20, 1 << 56, (1 << 63) - 1):
            for x in (-int(rng.random() * size * ONE), -int(rng.random() * size * 1024) << 54):  # nothing left of 2^-10
                low, high = numbers.enclosed(x, radius)
                ends = [(D(x + way * radius) / ONE).exp() * numbers.UNIT for way in (-1, 1)]
                assert low <= ends[0] <= ends[1] <= high


def curve(kind: str, x: D) -> D:
    """An activation."""
    if kind == "relu" or abs(x) > 13:
        return max(x, D(0))
    if kind == "gelu":
        return x * normal(x)
    return x / (1 + (-2 * (2 / PI).sqrt() * (x + D("0.044715") * x**3)).exp())


@pytest.mark.parametrize("kind", ["relu", "gelu_new", "gelu"])
def test_chords_hold_the_curve_between_all_points_that_are_looked_at(kind: str) -> None:
    """Where what is left of the curve is least and greatest among many points, on ranges of few units and of many."""
    rng = np.random.default_rng(1)
    for width in (0, 1, 7, 1 << 20, 1 << 58, 1 << 62, 1 << 63, 1 << 65):
        for middle in (*rng.normal(size=6) * 0.7, -9.9, -8.5, -7.5, 7.5, 8.5, 9.9):
            low = int(middle * ONE) - width // 2
            a, least, most = slope(kind, low, low + width)
            xs = sorted({low + width * t // 64 for t in range(65)})
            left = [curve(kind, D(x) / ONE) * ONE - D(a) * x / ONE for x in xs]
            assert least <= min(left) <= max(left) <= most


def test_cube_roots_are_not_too_large() -> None:
    for bits in (1, 16, 49, 50, 51, 100, 300):
        for k in range(60):
            exact = (1 << bits) + k * (1 << bits) // 60
            for x in (exact**3 - 1, exact**3):
                root = numbers.root3(x)
                assert root**3 <= x < (root + (root >> 40) + 2) ** 3


@pytest.mark.parametrize("seed", range(3))
def test_scores_hold_the_products_of_all_queries_and_keys(seed: int) -> None:
    """Of tokens that may be anywhere in their balls; queries and keys read them as they are."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        d, tokens = int(rng.integers(1, 5)), list[list[Ball]]()
        for count in (1, 2, 2):
            far = int(rng.choice([0, *SIZES]))
            tokens.append([Ball(integers(rng, d, far), int(rng.choice([0, 1, far, 1 << 50]))) for _ in range(count)])
        same = linear([[ONE * (j == k) for j in range(d)] for k in range(d)], [0] * d)
        block = SimpleNamespace(first=None, attention=[Head(same, same, same, same)])
        model = SimpleNamespace(
            d=d, rows=(0, 1), first=0, heads=1, blocks=[block], token=lambda s, j, t=tokens: t[j][max(s, 0)]
        )
        scores, radius = Atoms(model, 2, Meter(10**9)).scores(0, 2, 1)
        for ball, score in zip(chain(*tokens), chain(*scores), strict=True):
            for way in (-1, 1):
                k = [v + away(q, way * ball.radius) for v, q in zip(ball.centre, tokens[2][1].centre, strict=True)]
                q = [v + away(u, way * tokens[2][1].radius) for v, u in zip(tokens[2][1].centre, k, strict=True)]
                assert abs(D(dot(q, k)) / D(d).sqrt() / ONE - score) <= radius


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_read_a_layer_norm_are_off_by_what_is_said(seed: int) -> None:
    """``turned``, and the label's row and constant (Lemma 4), where all stored numbers are off by a unit."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        d, sizes = int(rng.integers(1, 6)), [int(rng.choice([0, *SIZES])) for _ in range(4)]
        row, w, b = (integers(rng, d, size) for size in sizes[:3])
        made, off = numbers.turned(row, w)
        sign = Model.sign(SimpleNamespace(unembed=[row], last=Norm(w, b, 1), shifts=[sizes[3]], d=d), 0)
        for i in range(d):
            for way in (-1, 1):
                ways = [way if j == i else -way for j in range(d)]
                less = [(v + away(a, k)) * (a + away(v, k)) for v, a, k in zip(row, w, ways, strict=True)]
                exact = D(less[i]) / ONE - D(sum(less)) / d / ONE
                assert abs(exact - made[i]) <= off
                assert sign.row == made
                assert abs(exact - sign.row[i]) <= sign.error
        for way in (-1, 1):
            e, more = (
                [v + away(u, way) for v, u in zip(one, other, strict=True)] for one, other in ((row, b), (b, row))
            )
            assert abs(D(dot(e, more)) / ONE + sizes[3] + way - sign.beta) <= sign.error


# ---------------------------------------------------------------- from the stream behind attention to a label


class Block(NamedTuple):
    """A network, behind LayerNorm or not, and a label: what is stored, in units; and the form of the stream in front.
    ``adds``, ``bare`` and ``ended`` say where there is LayerNorm."""

    kind: str
    adds: int
    bare: bool
    ended: bool
    base: dict[str, Any]
    y: Form
    epsilon: int


def block(rng: np.random.Generator) -> Block:
    """A random one; every tensor has a size of its own, and so has every part of the form."""
    d, width, m = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(0, 3))
    kind, norm = str(rng.choice(["relu", "gelu_new", "gelu_new", "gelu"])), str(rng.choice(["", "", *NORMS]))
    shapes = {"weight": (d,), "bias": (d,), "inner": (d, width), "first": (width,), "outer": (width, d), "second": (d,),
              "last weight": (d,), "last bias": (d,), "row": (d,), "shift": (1,)}  # fmt: skip
    plain, full = rng.random() < 0.3, rng.random() < 0.5

    def some(shape: tuple[int, ...], powers: list[int]) -> Any:
        made = integers(rng, math.prod(shape), size := int(ONE * 2.0 ** rng.choice(powers)))
        return np.array([away(v, size) if full else v for v in made], dtype=object).reshape(shape)

    base = {name: some(shape, [0] if plain else [-64, -20, -3, 0, 0, 0, 3, 12, 25]) for name, shape in shapes.items()}
    spans = [(some((d,), [-64, -30, -8, -3, 0, 4]) * int(rng.random() < 0.7)).tolist() for _ in range(m)]
    rest = abs(some((d,), [-64, -30, -8, -3, 0])) * int(rng.random() < 0.6)
    y = Form(some((d,), [-30, -3, 0, 0, 8, 20]).tolist(), spans, rest.tolist())
    epsilon = (1 << 128) // int(rng.choice([1, 10, 100_000, 10**11]))
    return Block(kind, int(norm != "post"), norm == "none", norm in ("", "post"), base, y, epsilon)


def label(b: Block, at: dict[str, Any], act: Callable[[Any], Any], root: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """A label's logit, times the last deviation where there is one, in reals or floats; what neurons read before the
    division, and the inverse deviation."""

    def centred(x: Any) -> tuple[Any, Any]:
        gap = x - x.sum() / len(x)
        return gap, root((gap @ gap) / len(x) + at["epsilon"])

    x = at["y"]
    gap, deviation = (x, 1) if b.bare else centred(x)
    read = x if b.bare else gap * at["weight"]
    into = x if b.bare else read / deviation + at["bias"]
    hidden = np.array([act(v) for v in into @ at["inner"] + at["first"]])
    z, neurons = (
        (x if b.adds else into) + hidden @ at["outer"] + at["second"],
        [*(read @ at["inner"]), *read][: len(hidden) + (not b.adds) * len(x)],
    )
    if not b.ended:
        return z @ at["row"] + at["shift"][0], neurons, 1 / deviation
    gap, far = centred(z)
    return (
        gap * at["last weight"] @ at["row"] + far * (at["row"] @ at["last bias"] + at["shift"][0]),
        neurons,
        1 / deviation,
    )


def placed(b: Block, signs: dict[str, Any], number: type) -> dict[str, Any]:
    """The block where everything is at an end of what it may be."""
    one, whole = number(ONE), np.vectorize(number, otypes=[object])
    at = {name: (whole(v) + signs[name]) / one for name, v in b.base.items()}
    y = np.array(b.y.centre, dtype=object) + signs["rest"] * np.array(b.y.rest, dtype=object)
    at["y"] = whole(y + sum(e * np.array(g, dtype=object) for e, g in zip(signs["eps"], b.y.spans, strict=True))) / one
    at["epsilon"] = (number(b.epsilon) + (1 + signs["epsilon"]) * number("0.499")) / one**2
    return at


ROUGH: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_new": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
}
"""Activations in floats."""


def worse(b: Block, signs: dict[str, Any], lines: Ints, way: int) -> dict[str, Any]:
    """The ends at which a label, less a line in the generators, is least to first order around these ends."""
    at, slopes = placed(b, signs, float), dict[str, Any]()
    for name, values in at.items():
        flat = np.ravel(np.array(values, float))
        steps = 1e-6 * (abs(flat) + 1e-3 * abs(flat).max() + 1e-9 * (name != "epsilon"))
        ends = [[label(b, at | {name: (flat + turn).reshape(np.shape(values))}, ROUGH[b.kind], math.sqrt)[0]
                 for turn in np.diag(sign * steps)] for sign in (1, -1)]  # fmt: skip
        slopes[name] = (np.subtract(*ends) * way).reshape(np.shape(values))
    found = {name: np.where(slopes[name] > 0, -1, 1) for name in (*b.base, "epsilon")}
    slopes["y"] = (
        slopes["y"].astype(float) / (1e-6 * (abs(at["y"]) + 1e-3 * abs(at["y"]).max() + 1e-9)).astype(float) / 2
    )
    found["rest"] = np.where(slopes["y"] > 0, -1, 1)
    found["eps"] = [
        -1 if slopes["y"] @ np.array(g, float) > line else 1 for g, line in zip(b.y.spans, lines, strict=True)
    ]
    return found


def slacks(seed: int) -> Iterator[D]:
    """How far points of a random cell are inside the bounds on a label, by the chord and by pieces, in units."""
    rng = np.random.default_rng(seed)
    b = block(rng)
    base, d = {name: v.tolist() for name, v in b.base.items()}, len(b.y.centre)
    norm = None if b.bare else Norm(base["weight"], base["bias"], b.epsilon)
    f = networked(norm, b.kind, b.adds, (base["inner"], base["first"]), (base["outer"], base["second"]))
    f = stretched(f) if rng.random() < 0.7 else f
    last = Norm(base["last weight"], base["last bias"], b.epsilon) if b.ended else None
    sign = Model.sign(SimpleNamespace(unembed=[base["row"]], last=last, shifts=base["shift"], d=d), 0)
    read, slack = moved(f.normal, b.y)
    for way, asked in ((1, sign), (-1, Sign([0] * d, 0, 0).less(sign))):
        [whole] = network(b.epsilon, f, b.y, read, slack)
        [(least, lines)] = signed(asked, whole, f, b.epsilon)
        signs = {name: rng.choice([-1, 1], np.shape(v)) for name, v in b.base.items()}
        signs |= {"eps": rng.choice([-1, 1], len(lines)).tolist(), "rest": rng.choice([-1, 1], d), "epsilon": 1}
        for _ in range(3):
            signs = worse(b, signs, lines, way)
            exact, neurons, inverse = label(b, placed(b, signs, D), lambda x: curve(b.kind, x), D.sqrt)
            yield way * exact * ONE - least - dot(lines, signs["eps"])
            for count in (1, 3):
                held = [(math.floor(v * ONE), math.ceil(v * ONE)) if rng.random() < 0.5 else FREE for v in neurons]
                found = [[k + dot(line, signs["eps"]) for k, line in signed(asked, piece, f, b.epsilon)]
                         for piece in network(b.epsilon, f, b.y, read, slack, count, held)
                         if piece.turns[0][1] <= inverse * ONE <= piece.turns[1][1]]  # fmt: skip
                yield from (way * exact * ONE - min(bounds) for bounds in found)
                yield D(len(found) - 1)  # the inverse deviation is in one of the pieces


@pytest.mark.parametrize("seed", range(60))
def test_no_point_is_beyond_the_bounds_on_a_label(seed: int) -> None:
    """Weights and form at ends of what they may be, at which a label is least to first order."""
    assert min(slacks(seed)) >= 0


# ---------------------------------------------------------------- what a case is bounded by


def values_of(rng: np.random.Generator, d: int) -> list[list[Ball]]:
    """Values of a few symbols at three positions."""
    far = int(rng.choice(SIZES))
    return [[Ball(integers(rng, d, far), int(rng.choice([0, 1, 99, far]))) for _ in range(k)] for k in (1, 2, 2)]


def framed(rng: np.random.Generator, d: int, heads: int) -> Check:
    """A checker with nothing but the values of some heads, a basis of each, and what comes behind attention."""
    check, sizes = Check.__new__(Check), [int(rng.choice([ONE, 1 << 70, 1 << 84])) for _ in range(2)]
    check.model = SimpleNamespace(
        d=d, token=lambda *_: check.token, blocks=[SimpleNamespace(bias=integers(rng, d, sizes[0]))]
    )
    check.meter, check.map = Meter(10**9), 1
    check.atoms = SimpleNamespace(values=[values_of(rng, d) for _ in range(heads)])
    check.token = Ball(integers(rng, d, int(rng.choice(SIZES))), int(rng.choice([1, 2, 1 << 40])))
    norm = Norm(integers(rng, d, sizes[0]), [0] * d, 1)
    maps = [integers(rng, 2, sizes[1]) for _ in range(d)], [integers(rng, d, ONE) for _ in range(2)]
    check.final = networked(norm, "relu", 1, (maps[0], [0, 0]), (maps[1], [0] * d))
    check.basis = []
    for h in range(heads):
        rows = [integers(rng, d, 1 << int(rng.choice([1, 24, 26]))) for _ in range(int(rng.integers(0, d + 1)))]
        check.basis.append(check.measured(h, integers(rng, d, int(rng.choice(SIZES))), rows))
    return check


@pytest.mark.parametrize("seed", range(3))
def test_a_basis_is_off_by_what_is_said_at_all_values(seed: int) -> None:
    """Lemma V5, at the corner of each value's ball that moves a coordinate, or what is left of an entry, the most."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        d = int(rng.integers(1, 4))
        check = framed(rng, d, 1)
        basis, columns = check.basis[0], list(zip(*check.basis[0].rows, strict=True)) or [()] * d
        for row, at in zip(check.atoms.values[0], basis.at, strict=True):
            for ball, t in zip(row, at, strict=True):
                for way in (-1, 1):
                    for k, b in enumerate(basis.rows):
                        v = [
                            c + away(u, way * ball.radius) - o
                            for c, u, o in zip(ball.centre, b, basis.centre, strict=True)
                        ]
                        assert abs(dot(b, v) - (t[k] << 24)) <= basis.off << 24
                    for i, column in enumerate(columns):
                        left = [((i == j) << 48) - dot(column, other) for j, other in enumerate(columns)]
                        v = [
                            c + away(u, way * ball.radius) - o
                            for c, u, o in zip(ball.centre, left, basis.centre, strict=True)
                        ]
                        assert abs(dot(left, v)) <= basis.rest[i] << 48


@pytest.mark.parametrize("seed", range(4))
def test_a_cell_holds_its_points_here_and_at_the_neurons(seed: int) -> None:
    """Coordinates at an end of their box, what is left of the average, the token, attention's bias, and the map's
    entries, each where it moves an entry, or a neuron, the most; some directions without a generator of their own."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        d, heads = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        check = framed(rng, d, heads)
        rows = [row for b in check.basis for row in b.rows]
        boxes = [Box(v, abs(r)) for _ in rows for v, r in [integers(rng, 2, int(rng.choice(SIZES)))]]
        kept = sorted(rng.permutation(len(rows))[: int(rng.integers(0, 4))].tolist())
        y, eps = check.start((0, 0, 0), boxes, kept), rng.choice([-1, 1], len(rows)).tolist()
        image_, _ = check.image(y, boxes, kept)
        left = [check.token.radius + 1 + sum(b.rest[i] for b in check.basis) for i in range(d)]
        middle = [
            sum(v)
            for v in zip(check.token.centre, check.model.blocks[0].bias, *(b.centre for b in check.basis), strict=True)
        ]
        reads = [(y, i, [(i == j) << 64 for j in range(d)], 0) for i in range(d)]
        reads += [(image_, j, row, check.final.normal.off) for j, row in enumerate(unpacked(check.final.normal))]
        for form, k, reader, off in reads:
            for way in (-1, 1):
                turns = [
                    e if m in kept else away(dot(reader, row), way)
                    for m, (e, row) in enumerate(zip(eps, rows, strict=True))
                ]
                t = [box.middle + e * box.radius for e, box in zip(turns, boxes, strict=True)]
                x = [(v + away(a, way * r) << 24) + dot(t, [row[i] for row in rows])
                     for i, (v, a, r) in enumerate(zip(middle, reader, left, strict=True))]  # fmt: skip
                true = dot([a + away(v, way * off) for a, v in zip(reader, x, strict=True)], x)
                said = form.centre[k] + sum(eps[m] * g[k] for m, g in zip(kept, form.spans, strict=True))
                assert abs(true - (said << 88)) <= form.rest[k] << 88


def unpacked(f: Linear) -> list[Ints]:
    """The rows of a matrix."""
    d = len(f.rows.columns)
    return [
        list(row)
        for row in zip(*(numbers.times(f.rows, [int(j == k) for j in range(d)]) for k in range(d)), strict=True)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_an_average_holds_those_of_all_weights_and_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        d, count = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        x, bias = Form(integers(rng, d, ONE), [], [int(rng.choice([0, 1, 1 << 30]))] * d), integers(rng, d, ONE)
        heads = []
        for _ in range(int(rng.integers(1, 3))):
            low = [int(v) + 1 for v in rng.exponential(size=count) * float(rng.choice([3, 1e9, 1e18]))]
            es = [(e, e + int(e * float(rng.choice([0, 1e-15, 0.3])))) for e in low]
            heads.append(
                (es, [integers(rng, d, int(rng.choice(SIZES))) for _ in range(count)], int(rng.choice([0, 1, 1 << 40])))
            )
        found = averaged(x, bias, heads)
        for i in range(d):
            for way in (-1, 1):
                exact = D(x.centre[i] + bias[i] + way * (x.rest[i] + 1))
                for es, values, radius in heads:
                    column, best = [v[i] for v in values], []
                    for cut in column:
                        e = [ends[(v > cut) == (way > 0)] for ends, v in zip(es, column, strict=True)]
                        best.append(way * D(dot(e, column)) / sum(e))
                    exact += way * (max(best) + radius)
                assert abs(exact - found.centre[i]) <= found.rest[i]


def test_halves_of_a_cell_leave_nothing_out() -> None:
    check, found = Check.__new__(Check), list[Box]()
    check.leaf = lambda key, boxes, *_: found.append(boxes[0])  # type: ignore[method-assign, assignment]
    for middle in (-4, 3):
        for radius in range(6):
            for tree in ([0, 0, 0], [0, [0, 0, 0], 0], [0, 0, [0, 0, [0, 0, 0]]]):
                found.clear()
                check.cell((0, 0, 0), [Box(middle, radius)], tree, Place("c"))
                ends = sorted((box.middle - box.radius, box.middle + box.radius) for box in found)
                assert ends[0][0] <= middle - radius
                assert max(high for _, high in ends) >= middle + radius
                assert all(low <= high for (_, high), (low, _) in pairwise(ends))


@pytest.mark.parametrize("seed", range(2))
def test_a_bound_is_taken_if_and_only_if_no_word_is_beyond_it_whatever_its_weights(seed: int) -> None:
    """All words of three symbols, and all ends of the weights' enclosures."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        check = Check.__new__(Check)
        delta = [[int(rng.integers(0, 3)) for _ in range(2)] for _ in range(3)]
        check.language = Language(
            {"delta": delta, "accept": [0, 1, 2], "labels": [0], "want": [[]] * 3}, None, Place("l"), 2, 1
        )
        check.meter, check.edges, size = Meter(10**9), 1, int(rng.choice([5, 1 << 60]))
        low = [[int(v * size) + 1 for v in rng.random(k)] for k in (1, 2, 2, 2)]
        check.weights = [[[(e, e + int(rng.integers(0, 3) * size)) for e in row] for row in low]]
        ends = [integers(rng, k, int(rng.choice([5, ONE]))) for k in (1, 2, 2, 2)]
        most = dict[int, Fraction]()
        for word in product((0, 1), repeat=2):
            state = 0
            steps = list(enumerate((0, *word, 1)))
            for s in (*word, 1):
                state = delta[state][s]
            for e in product(*(check.weights[0][j][s] for j, s in steps)):
                average = Fraction(dot(e, [ends[j][s] for j, s in steps]), sum(e))
                most[state] = max(most.get(state, average), average)
        for state, x in most.items():
            for limit in (math.floor(x) - 1, math.floor(x), math.ceil(x), math.ceil(x) + 1):
                assert check.bounded(0, (3, 1, state), ends, limit) == (limit >= x)
