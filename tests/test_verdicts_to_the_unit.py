"""Numbers of a verdict to their last unit: balls, forms and chords hold what they are said to hold, in 120 digits and
without a tolerance, at points where errors of weights, roundings and corners add up."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal as D
from decimal import localcontext
from fractions import Fraction
from itertools import chain, pairwise, permutations, product
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import load, save

from restrict.checker import verdict_numbers as numbers
from restrict.checker.account import Meter, Place
from restrict.checker.verdict import FREE, Basis, Box, Check, averaged
from restrict.checker.verdict_forms import (
    LONG,
    Form,
    Sign,
    activated,
    centred,
    chords,
    distance,
    divided,
    inverse,
    layer_norm,
    moved,
    network,
    reached,
    signed,
    variance,
)
from restrict.checker.verdict_model import START, Atoms, Head, Model
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
from restrict.checker.verdict_second import Second, edged, spread
from restrict.soft.trained.graph import Graph
from tests import verdict_cases
from tests.naive_gpt2 import Naive
from tests.near_claims import asked
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
            int(rng.integers(5)),
            1 << int(rng.choice([3, 40, 46, 46, 64])),
            1 << int(rng.choice([88, 88, 112, 128])),
        )
        c = [away(v, size) if kind == 1 else v * (kind > 0) for v in integers(rng, d, size)]
        c[0] += int(kind > 1) * size * int(2 * np.sqrt(d))
        gap = np.array(c, float) - np.mean(np.array(c, float))
        root = float(np.sqrt((gap**2).mean() + epsilon))
        radius = int(rng.choice([0, 0, 1, 1000])) if rng.random() < 0.5 else int(root * rng.choice([1e-9, 0.1, 0.9]))
        weight = int(rng.choice([0, 1 << 64, 1 << 90]))
        norm = Norm([away(v, weight) for v in integers(rng, d, 9)], integers(rng, d, ONE), epsilon)
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
            for x in (
                *(-int(v * size * ONE) for v in rng.random(2)),
                *(-int(v * size * 1024) << 54 for v in rng.random(4)),
            ):
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


def corner(y: Form, reader: Sequence[Any], way: int) -> Ints:
    """The point of a form that a row reads as the greatest, or the least."""
    moves = [*y.spans, *([r * (j == k) for j in range(len(y.rest))] for k, r in enumerate(y.rest))]
    return [sum(v) for v in zip(y.centre, *([away(dot(reader, g), way) * v for v in g] for g in moves), strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_a_form_is_centred_and_measured_with_its_rounding(seed: int) -> None:
    """Lemma 2 in integers of few units, and of many: entries, the mean square of what a form deviates, and both ends of
    the variance, where generators have one direction and the remainder helps."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        d, m, size = int(rng.integers(1, 5)), int(rng.choice([0, 1, 3, LONG + 99])), int(rng.choice([1, 3, 50, ONE]))
        line = integers(rng, d, size)
        spans = [[k * v for v in line] for k in rng.choice([-2, -1, 1, 2], m).tolist()]
        y = Form(
            integers(rng, d, int(rng.choice([3, size, 9 * size]))),
            spans,
            [abs(v) for v in integers(rng, d, int(rng.choice([0, 1, size])))],
        )
        epsilon = int(rng.choice([0, size, size * size]))
        assert max(dot(x, x) for x in (corner(y._replace(centre=[0] * d), v, 1) for v in (line, y.centre))) <= distance(
            y
        )
        wide = centred(y)
        v0, lines, loose, low, high = variance(epsilon, wide)
        for way, turn in product((-1, 1), (line, y.centre, rng.integers(-9, 9, d).tolist())):
            x = corner(y, [v * d - sum(turn) for v in turn], way)
            eps = [away(dot(g, [v * d - sum(turn) for v in turn]), way) for g in spans]
            gap = [v * d - sum(x) for v in x]
            apart = [g - d * c for g, c in zip(gap, wide[0].centre, strict=True)]
            assert dot(apart, apart) <= wide[1] * d**3
            square = Fraction(dot(gap, gap), d**3)
            assert low <= square + epsilon <= high - 1  # of epsilon a unit may be missing
            assert -loose <= square + epsilon - v0 - dot(eps, lines) <= loose + wide[1] + m
            for k in range(d):
                side = [(j == k) * d - 1 for j in range(d)]
                x, eps = corner(y, side, way), [away(dot(g, side), way) for g in spans]
                said = wide[0].centre[k] + dot(eps, [g[k] for g in wide[0].spans])
                assert abs(x[k] * d - sum(x) - said * d) <= wide[0].rest[k] * d


def test_inverse_deviations_are_beside_their_chord() -> None:
    """At both ends, where the chord is exact, and where it is farthest."""
    rng = np.random.default_rng(0)
    for power in (90, 110, 128, 140):
        for wide in (0, 1, 1 << 20, 1 << 80, 1 << 100, 1 << 139):
            low = (1 << power) + int(rng.choice([0, 1 << 60]) * rng.random())
            chord, middle, off = inverse(low, high := low + wide)
            worst = int((2 * D(chord) / ONE**7) ** (D(-2) / 3)) if chord else low
            for v in (low, high, min(max(worst, low), high), (low + high) // 2):
                exact = ONE**2 / D(v).sqrt() + D(chord) * v / ONE**2
                assert abs(exact - middle) <= off


@pytest.mark.parametrize("seed", range(4))
def test_a_form_behind_layer_norm_holds_what_layer_norm_makes_of_its_points(seed: int) -> None:
    """Each entry at the end of the remainder that moves it the most, by both ends of stored numbers; and the inverse
    deviation with its lines."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        d, m, epsilon = int(rng.choice([2, 3, 4, 40])), int(rng.integers(0, 3)), 1 << int(rng.choice([88, 112, 128]))
        far, wide, left = (int(ONE * 2.0 ** rng.choice([-64, -20, -10, -3, 0, 3, 20])) for _ in range(3))
        y = Form(
            [v + 9 * far * (k == 0) for k, v in enumerate(integers(rng, d, far))],
            [integers(rng, d, wide) for _ in range(m)],
            [abs(v) for v in integers(rng, d, left)],
        )
        norm = Norm(integers(rng, d, int(rng.choice([1, ONE, 1 << 90]))), integers(rng, d, ONE), epsilon)
        made, parts = layer_norm(norm, y), centred(y)
        plain, size, dev, (_, tau, turns, loose) = divided(epsilon, parts, parts[0])
        for i, way in product(range(min(d, 4)), (-1, 1)):
            eps = rng.choice([-1, 1], m).tolist()
            at = [c + dot(eps, [g[k] for g in y.spans]) for k, c in enumerate(y.centre)]
            gap = np.array(at, float) - np.mean(np.array(at, float))
            tilt = -gap[i] * gap / ((gap**2).mean() + epsilon) / d - 1 / d
            tilt[i] += 1
            x = real([v + away(int(np.sign(t)), way * r) for v, t, r in zip(at, tilt, y.rest, strict=True)])
            w, b = real([v + away(int(gap[i]), away(v, way)) for v in norm.weight]), real([v + way for v in norm.bias])
            more = (epsilon + D("0.999") * (way > 0)) / D(ONE) ** 2
            for form, (weight, bias) in ((made, (w, b)), (plain, ([D(1)] * d, [D(0)] * d))):
                exact, (*spans, chord) = exactly(x, weight, bias, more)[i] * ONE, form.spans
                assert abs(exact - form.centre[i] - dot(eps, [g[i] for g in spans])) <= form.rest[i] + abs(chord[i])
            mean = sum(x) / d
            inner = ONE / (sum((v - mean) ** 2 for v in x) / d + D(epsilon) / ONE**2).sqrt()
            assert abs(inner - tau - dot(eps, turns)) <= loose
            assert abs(inner - tau) <= dev
            assert inner <= size


@pytest.mark.parametrize("kind", ["relu", "gelu_new", "gelu"])
def test_neurons_hold_what_they_make_of_the_points_of_a_form(kind: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        wide, m = int(rng.choice([0, 1, 1 << 30, 1 << 60, 1 << 63])), int(rng.integers(0, 10))
        y = Form(
            integers(rng, 2, 2 * ONE),
            [integers(rng, 2, wide) for _ in range(m)],
            [abs(v) for v in integers(rng, 2, wide)],
        )
        made, _ = activated(chords([kind] * 2, y), y, 0)
        for k, way in product((0, 1), (-1, 1)):
            eps = [away(g[k], way) if rng.random() < 0.9 else 1 for g in y.spans]
            x = y.centre[k] + dot(eps, [g[k] for g in y.spans]) + way * y.rest[k]
            assert (
                abs(curve(kind, D(x) / ONE) * ONE - made.centre[k] - dot(eps, [g[k] for g in made.spans]))
                <= made.rest[k]
            )


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
    plain, full = rng.random() < 0.2, rng.random() < 0.5

    def some(shape: tuple[int, ...], powers: list[int]) -> Any:
        made = integers(rng, math.prod(shape), size := int(ONE * 2.0 ** rng.choice(powers)))
        return np.array([away(v, size) if full else v for v in made], dtype=object).reshape(shape)

    base = {name: some(shape, [0] if plain else [-64, -20, 0, 0, 0, 12, 25]) for name, shape in shapes.items()}
    spans = [(some((d,), [-64, -30, -8, -3, 0, 4]) * int(rng.random() < 0.7)).tolist() for _ in range(m)]
    rest = abs(some((d,), [-64, -30, -8, -3, 0])) * int(rng.random() < 0.6)
    y = Form(some((d,), [-30, -30, -3, 0, 0, 8, 20]).tolist(), spans, rest.tolist())
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
    for way, one in ((1, sign), (-1, Sign([0] * d, 0, 0).less(sign))):
        [whole] = network(b.epsilon, f, b.y, read, slack)
        [(least, lines)] = signed(one, whole, f, b.epsilon)
        signs = {name: rng.choice([-1, 1], np.shape(v)) for name, v in b.base.items()}
        signs |= {"eps": rng.choice([-1, 1], len(lines)).tolist(), "rest": rng.choice([-1, 1], d), "epsilon": 1}
        for _ in range(3):
            signs = worse(b, signs, lines, way)
            exact, neurons, inverse = label(b, placed(b, signs, D), lambda x: curve(b.kind, x), D.sqrt)
            yield way * exact * ONE - least - dot(lines, signs["eps"])
            for count in (1, 3):
                held = [(math.floor(v * ONE), math.ceil(v * ONE)) if rng.random() < 0.5 else FREE for v in neurons]
                found = [[k + dot(line, signs["eps"]) for k, line in signed(one, piece, f, b.epsilon)]
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
        heads, wide = [], float(rng.choice([0, 0, 1e-15, 0.3]))
        for _ in range(int(rng.integers(1, 9))):
            low = [int(v) + 1 for v in rng.exponential(size=count) * float(rng.choice([3, 1e9, 1e18]))]
            es = [(e, e + int(e * wide)) for e in low]
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


# ---------------------------------------------------------------- the second layer


def form(rng: np.random.Generator, d: int, scale: int = 1) -> Form:
    """Centre, generators and remainder of sizes of their own."""
    sizes = [int(rng.choice([0, *SIZES])) * scale for _ in range(3)]
    spans = [integers(rng, d, sizes[1]) for _ in range(int(rng.integers(0, 3)))]
    return Form(integers(rng, d, sizes[0]), spans, [abs(v) for v in integers(rng, d, sizes[2])])


def some_second(d: int, heads: int = 1) -> Second:
    """A checker of two layers with nothing but a width."""
    check = Second.__new__(Second)
    check.model, check.meter, check.map = SimpleNamespace(d=d, heads=heads), Meter(10**12), 1
    return check


@pytest.mark.parametrize("seed", range(3))
def test_a_score_is_off_by_no_more_than_its_spread(seed: int) -> None:
    """Lemma V7, at corners of both forms; the deviation of the query by the middle, which all keys share, is free."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        d = int(rng.integers(1, 4))
        q, k, middle = form(rng, d), form(rng, d), integers(rng, d, int(rng.choice(SIZES)))
        wide = spread(q, reached(q), k, reached(k), middle)
        for way, turn in product((-1, 1), (-1, 1)):
            key = corner(
                k,
                [away(v, turn) * 2**200 + u for v, u in zip(q.centre, rng.integers(-9, 9, d).tolist(), strict=True)],
                way,
            )
            query = corner(q, [v - m for v, m in zip(key, middle, strict=True)], way)
            score = dot(query, key) - dot([a - b for a, b in zip(query, q.centre, strict=True)], middle)
            assert abs(score - dot(q.centre, k.centre)) <= wide


@pytest.mark.parametrize("seed", range(3))
def test_turned_keys_and_values_hold_what_a_turn_leaves_of_them(seed: int) -> None:
    """Lemma V18 for any matrix: products of queries and keys, directions of values, and their entries."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        d = int(rng.integers(1, 4))
        rows = [integers(rng, d, 1 << int(rng.choice([3, 31, 33]))) for _ in range(d)]
        rows = rows if rng.random() < 0.5 else [[v * (j == k) for j, v in enumerate(row)] for k, row in enumerate(rows)]
        [[turn, _]] = some_second(d).read_turns([[rows, rows]], Place("t"))
        columns = list(zip(*rows, strict=True))
        left = [[((j == k) << 64) - dot(a, b) for j, a in enumerate(columns)] for k, b in enumerate(columns)]
        y, row = form(rng, d), integers(rng, d, 1 << 24)
        query, key, reads, sizes = (
            turn.form(y, ONE),
            turn.form(y, turn.off),
            turn.row(row),
            turn.sizes(turn.form(y, turn.off)),
        )
        for reader, way in product([*left, *rows, row], (-1, 1)):
            x = corner(y, reader, way)
            assert numbers.total(x) <= query.rest[-1]
            assert all(abs(dot(line, x)) <= key.rest[-1] << 64 for line in left)
            assert (
                abs((dot(row, x) << 64) - dot(reads[:-1], [dot(r, x) for r in rows])) <= reads[-1] * key.rest[-1] << 32
            )
            assert all(
                abs(dot(r, x) - (c << 32)) <= far << 32
                for r, c, far in zip(rows, key.centre, reached(key), strict=False)
            )
            assert all(abs(v) <= most for v, most in zip(x, sizes, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_weights_of_the_second_layer_hold_those_of_all_queries_and_keys(seed: int) -> None:
    """Up to a common factor: the quotient of every two, where one query reads both."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        d, check = int(rng.integers(1, 4)), some_second(1)
        check.model.d = d
        size, wide = ONE << int(rng.choice([0, 3])), int(rng.choice([0, 1, 1 << 50, 1 << 60]))
        q, *keys = (
            Form(integers(rng, d, size), [integers(rng, d, wide)], [abs(v) for v in integers(rng, d, wide)])
            for _ in range(4)
        )
        found = check.scored(q, [(k, reached(k)) for k in keys])
        for (k, (_, high)), (other, (least, _)) in permutations(zip(keys, found, strict=True), 2):
            query = corner(q, [a - b for a, b in zip(k.centre, other.centre, strict=True)], 1)
            up, down = corner(k, query, 1), corner(other, query, -1)
            exact = (D(dot(query, up) - dot(query, down)) / D(d).sqrt() / ONE**2).exp()
            assert exact * least <= high


@pytest.mark.parametrize("seed", range(3))
def test_directions_of_the_second_layer_hold_all_values(seed: int) -> None:
    """Along a basis, against a label's own direction, and what the basis leaves of an average (Lemma V5)."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        d = int(rng.integers(1, 4))
        check, values = some_second(d), [form(rng, d) for _ in range(3)]
        [[_, turn]] = check.turns = check.read_turns(
            [[None, [integers(rng, d, 1 << 32) for _ in range(d)]]], Place("t")
        )
        check.frames, check.widest, check.estimate = [], lambda: 1, lambda *_: None
        check.final = networked(None, "relu", 1, ([[1]] * d, [0]), ([[1] * d], [0] * d))
        check.model.activation, check.model.blocks = "relu", [None, None]
        entry = {
            "centre": integers(rng, d, 1 << 30),
            "rows": [integers(rng, d, 1 << 24) for _ in range(int(rng.integers(0, d + 1)))],
        }
        check.read_more({"second": [[entry]], "turn": [[None, turn.rows]]}, Place("c"))
        [frame] = check.frames
        check.basis, check.cells, check.query = frame.bases, [], SimpleNamespace()
        forms = [turn.form(v, turn.off) for v in values]
        check.cells = [SimpleNamespace(values=[f]) for f in forms]
        lines = integers(rng, len(entry["rows"]), ONE)
        check.slopes = [integers(rng, len(lines), ONE) for _ in range(2)]
        found, _ = check.against((1, 0, 0), lines)
        own = [dot(lines, column) for column in zip(*entry["rows"], strict=True)] or [0] * d
        for value, f, most in zip(values, forms, found, strict=True):
            check.most = [turn.sizes(f)]
            ends, rest = check.along(frame.read[0], f), check.framed(frame.bases[0], frame.gaps[0], check.most[0]).rest
            gap = [v - c for v, c in zip(corner(value, own, -1), frame.bases[0].centre, strict=True)]
            assert -dot(own, gap) <= most << 88
            for row, sides in zip(entry["rows"], ends, strict=True):
                for way, side in zip((1, -1), sides, strict=True):
                    gap = [v - c for v, c in zip(corner(value, row, way), frame.bases[0].centre, strict=True)]
                    assert way * dot(row, gap) <= side << 24
            for i, column in enumerate(zip(*entry["rows"], strict=True) if entry["rows"] else [()] * d):
                left = [
                    ((i == j) << 48) - dot(column, other)
                    for j, other in enumerate(zip(*entry["rows"], strict=True) if entry["rows"] else [()] * d)
                ]
                for way in (-1, 1):
                    gap = [v - c for v, c in zip(corner(value, left, way), frame.bases[0].centre, strict=True)]
                    assert abs(dot(left, gap)) <= rest[i] << 48


@pytest.mark.parametrize("seed", range(3))
def test_a_bound_of_the_second_layer_is_one_on_all_paths_cells_and_weights(seed: int) -> None:
    """Theorem 8, and with slopes along the case's own cell (Lemma V12) no more than it says."""
    rng, taken = np.random.default_rng(seed), 0
    for _ in range(40):
        check, delta = some_second(1), [[int(rng.integers(0, 2)) for _ in range(2)] for _ in range(2)]
        check.model.first = 0
        check.language = Language(
            {"delta": delta, "accept": [0, 1], "labels": [0], "want": [[]] * 2}, None, Place("l"), 2, 1
        )
        check.edges, check.query, key = 1, SimpleNamespace(), (2, 1, delta[delta[0][0]][1])
        check.steps = check.language.leading(*key)
        nodes = [(0, -1, 0), *((j, s, t) for j, step in enumerate(check.steps, 1) for s, t in edged(step))]
        check.path = [(node, int(rng.integers(1, 3))) for node in nodes]
        count, size = sum(k for _, k in check.path), int(rng.choice([4, ONE]))
        check.cells = [None] * count
        check.shares = [[(e, e + int(rng.integers(0, 3)) * size) for e in map(abs, integers(rng, count, size))]]
        values, slope_ = integers(rng, count, size), int(rng.integers(-1, 2)) * int(rng.choice([1, ONE >> 1]))
        check.apart = [
            [integers(rng, 1, size * 4), integers(rng, 2, size * 4), integers(rng, 2, size * 4)] for _ in range(2)
        ]
        at = dict(zip(nodes, np.split(np.arange(count), np.cumsum([k for _, k in check.path])[:-1]), strict=True))
        words = [(s, 1) for s in (0, 1) if delta[delta[0][s]][1] == key[2]]
        runs = [[(0, -1, 0), (1, s, delta[0][s]), (2, 1, key[2])] for s, _ in words]
        limits = sorted({*values, *(v + k for v in values for k in (-1, 1)), *integers(rng, 12, size)})
        for limit in limits:
            most = max(
                sum(max(max(e * (values[c] - limit) for e in check.shares[0][c]) for c in at[node]) for node in run)
                + Fraction(abs(slope_) * sum(check.apart[slope_ > 0][j][max(s, 0)] for j, s, _ in run), ONE)
                for run in runs
            )
            found = check.bounded(0, key, [values, [slope_]], limit)
            assert not found or most <= 0 or max(values) <= limit
            assert found or most > -4 * bool(slope_)
            taken += found
    assert taken > 50


@pytest.mark.parametrize("seed", range(2))
def test_lengths_of_a_cell_add_up_to_no_less_than_0_on_its_words(seed: int) -> None:
    """Lemma V12, where a word is at an end of the box and its coordinates at theirs."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        check = some_second(1)
        check.model.rows = range(2)
        at = [[[v] for v in integers(rng, k, int(rng.choice([4, ONE])))] for k in (1, 2, 2)]
        check.weights = [
            [
                [(e, e + int(rng.integers(0, 2))) for e in (int(v) + 1 for v in rng.integers(0, 9, len(row)))]
                for row in at
            ]
        ]
        off, word = int(rng.choice([0, 1, 1000])), [0, *rng.integers(0, 2, 2).tolist()]
        for sign in (1, -1):  # the lower end, the upper one
            e = [ends[int(rng.integers(2))] for ends in (check.weights[0][j][s] for j, s in enumerate(word))]
            average = Fraction(dot(e, [at[j][s][0] + sign * off for j, s in enumerate(word)]), sum(e))
            low, high = (
                (math.floor(average), math.ceil(average) + 2)
                if sign > 0
                else (math.floor(average) - 2, math.ceil(average))
            )
            box = Box((low + high) >> 1, (high - low + 1) >> 1)
            lengths = check.holding(
                (2, word[-1], 0), [Basis([], [[0]], at, off, [], Form([], [], []))], [box], 0, Place("c")
            )
            assert all(sum(row[s] for row, s in zip(more, word, strict=True)) >= 0 for more in lengths)


# ---------------------------------------------------------------- whole words


class Exact(Naive):
    """The plain blocks in 120 digits."""

    root = staticmethod(lambda x: D(x).sqrt())
    exp = staticmethod(D.exp)

    def __init__(self, content: bytes, config: dict[str, Any]) -> None:
        super().__init__(content, config)
        self.epsilon = D(1) / round(1 / self.epsilon)
        self.tensors = {
            k: [[D(x) for x in row] if isinstance(row, list) else D(row) for row in v] for k, v in self.tensors.items()
        }

    def normed(self, x: Any, name: str) -> Any:
        mean = sum(x) / self.d
        self.deviation = self.root(sum((v - mean) ** 2 for v in x) / self.d + self.epsilon)
        return super().normed(x, name)

    def act(self, x: Any) -> Any:
        return curve(self.config["activation_function"], x)


@pytest.mark.parametrize("seed", range(12))
def test_the_run_of_a_word_holds_its_stream_and_its_logits(seed: int) -> None:
    """Of one layer to three, some of whose tensors are so small that units are a large part of them."""
    rng = np.random.default_rng(seed)
    model, naive = verdict_cases.random_checkpoint(rng, 1 + seed % 3, norm=str(rng.choice(["", *NORMS])))
    labels, symbols = tuple(range(len(model.labels))), len(model.symbols)
    graph = Graph(((0,) * symbols,), frozenset({0}), labels, (frozenset(),), (0,))
    tensors = {}
    for name, t in load(model.content).items():
        tensors[name] = t * rng.uniform(0.9, 1.1, t.shape) * 2.0 ** rng.choice([-62, -9, 0, 0, 0, 0, 0, 2])
    document, content = asked(graph, model), save(tensors)
    document["model"]["sha256"] = hashlib.sha256(content).hexdigest()
    check, exact = verdict_cases.read(content, document, 3), Exact(content, naive.config)
    for length in (0, 1, 3):
        word = rng.integers(0, symbols, length).tolist()
        tokens = tuple(model.tokens[s] for s in word)
        check.weigh(length, word[-1] if word else START)
        for j, (symbol, stream) in enumerate(
            zip([START, *word][-len(exact.streams(tokens, 0)) :], exact.streams(tokens, 0), strict=True)
        ):
            ball = check.model.token(symbol, j + check.model.first)
            assert all(abs(v * ONE - c) <= ball.radius for v, c in zip(stream, ball.centre, strict=True))
        y = check.point([START, *word])
        x, heads = exact.attention(tokens, exact.layers - 1)
        bias = exact.tensors[f"h.{exact.layers - 1}.attn.c_proj.bias"]
        true = [sum(v) for v in zip(x, bias, *heads, strict=True)]
        assert all(abs(v * ONE - c) <= r for v, c, r in zip(true, y.centre, y.rest, strict=True))
        [z] = network(check.model.epsilon, check.final, y, *moved(check.final.normal, y))
        said = exact.rest(true)
        for k, sign in check.signs.items():
            row = exact.tensors.get("lm_head.weight", exact.tensors["wte.weight"])[k]
            assert check.model.last or all(abs(v * ONE - c) <= sign.error for v, c in zip(row, sign.row, strict=True))
            value = said[k] * (1 if check.model.last is None else exact.deviation) * ONE
            for way, one in ((1, sign), (-1, check.nothing.less(sign))):
                assert signed(one, z, check.final, check.model.epsilon)[0][0] <= way * value
