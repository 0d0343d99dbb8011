"""Numbers of a verdict: integers times ``2^-64``, each with a radius that says how far off it may be.

A ball is a vector of such integers with one radius for all entries. Weights are off by at most one unit (a float that
is no multiple of ``2^-64`` is rounded down). Every radius is computed from the operands of its operation. The lemmas
are those of docs/soft-verdicts.md, named at each function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from operator import mul
from typing import NamedTuple

BITS = 64
ONE = 1 << BITS
SQUARE = 2 * BITS
"""Squares have this many bits behind the point."""
EXP_BITS = 256
UNIT = 1 << EXP_BITS
"""Exponentials have 256 bits behind the point, as all those of a word may be small together."""
SHORT_BITS = 128
SHORT = 1 << SHORT_BITS
"""Factors between 1/e and 1 of an exponential have 128."""
FAR = 176
"""Beyond ``exp(-176)`` nothing is left of 256 bits."""
TANH = 29436744586989209808
"""``2 sqrt(2/pi)`` in units, rounded down."""
CUBIC = 824846161255922600
"""``0.044715`` in units, rounded down."""
CURVED = 15310797581178927841 + 1
"""``0.83`` in units, rounded up: above ``|f''|`` everywhere for both GELUs (Lemma 3)."""
SERIES = 96
"""The bits behind the point of the series of the normal distribution."""
DENSITY = 31607463825455920808620519744
"""``1/sqrt(2 pi)`` with so many bits, rounded down."""
TAIL = 10
"""From there on the GELU is within a unit of 0, or of its argument."""
LOW = 80
"""Vectors of entries below ``2^LOW`` are multiplied at once, others in parts."""
Vector = list[int]
Matrix = list[Vector]


class Ball(NamedTuple):
    """All vectors whose entries are within ``radius`` of those given."""

    centre: Vector
    radius: int


class Packed(NamedTuple):
    """A matrix of ``height`` rows: each column is one integer, the sum of its entries times ``256^(size k)``, ``k`` the
    row; ``half`` is such a sum with ``256^size / 2`` for all entries."""

    columns: Vector
    height: int
    size: int
    half: int


class Linear(NamedTuple):
    """A matrix (a row for each output) with its bias, its absolute values, its largest row sum, and how far off its
    entries are."""

    rows: Packed
    bias: Vector
    absolute: Packed
    norm: int
    off: int


class Norm(NamedTuple):
    """LayerNorm: weight, bias, and epsilon in units of ``2^-128``, rounded down."""

    weight: Vector
    bias: Vector
    epsilon: int


class Network(NamedTuple):
    """A network behind its LayerNorm: the maps to the neurons and back; ``normal`` is the first behind the LayerNorm's
    weight and without its mean, for what is not yet divided by the deviation, ``shift`` what the biases add. ``back``
    has the transposes of ``outer`` and ``normal``; ``stretch`` is a bound on the norm of ``outer``. ``kinds`` are the
    neurons' activations; ``adds`` is 1 if the sum is added to the stream in front of the LayerNorm, and 0 if to what is
    behind it, which neurons that change nothing carry (Lemma V16). ``bare``: there is no LayerNorm."""

    inner: Linear
    outer: Linear
    normal: Linear
    shift: Ball
    back: list[Packed]
    stretch: int
    kinds: list[str]
    adds: int
    bare: bool


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    """The exact sum of products."""
    return sum(map(mul, a, b))


def total(x: Sequence[int]) -> int:
    """The sum of absolute values."""
    return sum(map(abs, x))


def packed(rows: Matrix) -> Packed:
    """A matrix made ready: the product of a row with a vector of entries below ``2^LOW`` has a place (Lemma V9)."""
    size = max(map(total, rows)).bit_length() + LOW + 8 >> 3
    half, shift = int.from_bytes((bytes(size - 1) + b"\x80") * len(rows), "little"), 1 << 8 * size - 1
    columns = [int.from_bytes(b"".join((v + shift).to_bytes(size, "little") for v in column), "little") - half
               for column in zip(*rows, strict=True)]  # fmt: skip
    return Packed(columns, len(rows), size, half)


def times(f: Packed, x: Vector) -> Vector:
    """The exact products of the rows with a vector, all of them by one sum over the columns (Lemma V9)."""
    if max(map(abs, x)) >> LOW:
        high, low = times(f, [v >> LOW for v in x]), times(f, [v & (1 << LOW) - 1 for v in x])
        return [(a << LOW) + b for a, b in zip(high, low, strict=True)]
    data, shift = (dot(x, f.columns) + f.half).to_bytes(f.size * f.height, "little"), 1 << 8 * f.size - 1
    return [int.from_bytes(data[k : k + f.size], "little") - shift for k in range(0, len(data), f.size)]


def linear(rows: Matrix, bias: Vector, off: int = 1) -> Linear:
    """A matrix made ready; the norm covers its entries' errors."""
    norm = max(map(total, rows)) + off * len(rows[0])
    return Linear(packed(rows), bias, packed([list(map(abs, row)) for row in rows]), norm, off)


def image(f: Linear, x: Ball) -> Ball:
    """``f(x)`` (Lemma V1)."""
    radius = ((f.norm * x.radius + total(x.centre) + len(x.centre) * x.radius) >> BITS) + 4
    return Ball([(v >> BITS) + b for v, b in zip(times(f.rows, x.centre), f.bias, strict=True)], radius)


def transposed(rows: Sequence[Vector]) -> Matrix:
    """The columns of a matrix."""
    return list(map(list, zip(*rows, strict=True)))


def turned(row: Vector, w: Vector) -> tuple[Vector, int]:
    """A row that reads a LayerNorm of weight ``w``, as it reads what is neither weighed nor centred; how far off."""
    made = [a * b >> BITS for a, b in zip(row, w, strict=True)]
    mean = sum(made) // len(row)
    return [v - mean for v in made], 4 * (max(map(abs, chain(row, w))) >> BITS) + 11


def networked(
    norm: Norm | None, kind: str, adds: int, inner: tuple[Matrix, Vector], outer: tuple[Matrix, Vector]
) -> Network:
    """A network, behind a LayerNorm or not, made ready: its matrices are given input by output, with their biases."""
    kinds = [kind] * len(inner[1])
    if not adds:
        same = [[ONE * (j == k) for j in range(len(outer[1]))] for k in range(len(outer[1]))]
        kinds, inner = kinds + ["none"] * len(same), ([a + b for a, b in zip(inner[0], same, strict=True)],
                                                      inner[1] + [0] * len(same))  # fmt: skip
        outer = outer[0] + same, outer[1]
    first, last = (linear(transposed(stored), bias) for stored, bias in (inner, outer))
    read = ((row, 1) if norm is None else turned(row, norm.weight) for row in transposed(inner[0]))
    rows, offs = zip(*read, strict=True)
    back = [packed(outer[0]), packed(transposed(rows))]
    normal = linear(list(rows), [0] * len(rows), max(offs))
    stretch = (last.norm + 1) * len(outer[1])
    shift = image(first, Ball([0] * len(outer[1]) if norm is None else norm.bias, 1))
    return Network(first, last, normal, shift, back, stretch, kinds, adds, norm is None)


def stretched(f: Network) -> Network:
    """The network with a bound on the norm of its last map: the eighth power of a matrix's norm is at most the sum of
    the squares of the entries of ``W W' W W'``."""
    d, width = len(f.outer.bias), len(f.inner.bias)
    gram = [times(f.outer.rows, times(f.back[0], [int(j == k) for j in range(d)])) for k in range(d)]
    square = packed(gram)
    fourth = sum(dot(v, v) for row in gram for v in [times(square, row)])
    return f._replace(stretch=math.isqrt(math.isqrt(math.isqrt(fourth))) + max(d, width) + 2)


def normed(norm: Norm | None, x: Ball) -> Ball:
    """LayerNorm of a ball (Lemma V2), if there is one: the root of the mean square is 1-Lipschitz, so it is off by the
    radius."""
    if norm is None:
        return x
    d, mean = len(x.centre), sum(x.centre) // len(x.centre)
    c, radius = [v - mean for v in x.centre], 2 * x.radius + 1
    root = math.isqrt(dot(c, c) // d + norm.epsilon)
    least = max(root - radius - 1, math.isqrt(norm.epsilon), 1)
    most = max(map(abs, c))
    spread = ((radius << BITS) // least) + (most * (radius + 2) << BITS) // (least * least) + 3
    found = [((v << BITS) // max(root, 1) * w >> BITS) + b for v, w, b in zip(c, norm.weight, norm.bias, strict=True)]
    largest = (most << BITS) // least + spread
    return Ball(found, ((max(map(abs, norm.weight)) + 1) * spread + largest >> BITS) + 4)


@cache
def powers() -> list[int]:
    """``exp(-k)`` in units of ``2^-256``, off by at most 4: the series of ``exp(-1)`` has 60 terms."""
    e, found = UNIT, [UNIT]
    for k in range(60, 0, -1):
        e = UNIT - e // k
    for _ in range(FAR):
        found.append(found[-1] * e >> EXP_BITS)
    return found


@cache
def part(k: int) -> int:
    """``exp(-k / 2^10)`` for ``k < 2^10`` in units of ``2^-128``, off by less than 3: 40 terms of the series."""
    e = SHORT
    for j in range(40, 0, -1):
        e = SHORT - e * k // (j << 10)
    return e


def exponential(x: int) -> int:
    """``exp(x)`` for ``x <= 0``: in units of ``2^-256`` off by at most 8, and a part in ``2^80`` (Lemma V3)."""
    whole, r, e = -x >> BITS, -x & (ONE >> 10) - 1, SHORT
    if whole > FAR:
        return 0
    for k in range(6, 0, -1):
        e = SHORT - (e * r >> BITS) // k
    return e * part((-x & ONE - 1) >> BITS - 10) * powers()[whole] >> 2 * SHORT_BITS


def enclosed(x: int, radius: int) -> tuple[int, int]:
    """Bounds on ``exp`` of a number within ``radius < 1/2`` of ``x <= 0``."""
    e = exponential(x)
    return max(0, e - (e * (radius + 1) >> BITS) - 12), e + (2 * e * (radius + 1) >> BITS) + 20


def gelu(x: int) -> tuple[int, int]:
    """GPT-2's GELU, by ``tanh``, and how far off it is (Lemma V4)."""
    size = (abs(x) >> BITS) + 1
    cubic = ONE + (CUBIC * (x * x >> BITS) >> BITS)
    e = exponential(-abs(TANH * (x * cubic >> BITS) >> BITS))
    sigmoid = ((UNIT if x >= 0 else e) << BITS) // (UNIT + e)
    return x * sigmoid >> BITS, size * (size**3 + 4 * size + 4) + 3 * size + 4


def gelu_by_erf(x: int) -> tuple[int, int]:
    """The GELU with the normal distribution function, and how far off it is (Lemma V10)."""
    s = abs(x)
    if s >= TAIL << BITS:
        return max(x, 0), 2 * (TAIL + 2)
    square, odd = s * s, 1
    term = found = s << SERIES - BITS
    while term or odd << SQUARE < 2 * square:
        odd += 2
        term = term * square // (odd << SQUARE)
        found += term
    half = exponential(-(square >> BITS + 1)) * DENSITY * found >> EXP_BITS + 2 * SERIES - BITS
    return x * ((ONE >> 1) + (half if x >= 0 else -half)) >> BITS, 2 * ((s >> BITS) + 2)


ACTIVATIONS = {"gelu_new": gelu, "gelu": gelu_by_erf}
"""The curved ones by their names in a configuration."""
NEURON = {"relu": 200, "gelu_new": 200, "gelu": 1400}
"""Steps for the chord of a neuron."""


@lru_cache(1 << 14)
def on_grid(kind: str, k: int, step: int) -> int:
    """An activation at ``k`` times ``2^step`` units: neurons share these points, so most are known."""
    return ACTIVATIONS[kind](k << step)[0]


def root3(x: int) -> int:
    """A number whose cube is at most ``x``: a guess by floats, corrected."""
    shift = max(0, (x.bit_length() - 150) // 3)
    r = int(float(x >> 3 * shift) ** (1 / 3)) << shift
    while r**3 > x:
        r -= (r >> 45) + 1
    return r


def slope(kind: str, low: int, high: int) -> tuple[int, int, int]:
    """``a, l, h`` with ``f(x) - a x`` in ``[l, h]`` for ``x`` in ``[low, high]`` (Lemma 3)."""
    if kind == "none":
        return ONE, 0, 0
    if kind == "relu":
        ends = (max(low, 0), max(high, 0))
        a = (ends[1] - ends[0] << BITS) // max(high - low, 1)
        found = [max(x, 0) - (a * x >> BITS) for x in (low, min(max(0, low), high), high)]
        return a, min(found) - 1, max(found) + 1
    step = max(1, (high - low) // min(16, 2 + (12 * (high - low) >> BITS))).bit_length() - 1
    (first, error), (last, other) = ACTIVATIONS[kind](low), ACTIVATIONS[kind](high)
    a = (last - first << BITS) // max(high - low, 1)
    off = max(error, other) + (CURVED << 2 * step >> 2 * BITS + 3) + 2  # errors grow with the size of the argument
    found = [on_grid(kind, k, step) - (a * k << step >> BITS) for k in range((low >> step) + 1, (high - 1 >> step) + 1)]
    found += first - (a * low >> BITS), last - (a * high >> BITS)
    return a, min(found) - off, max(found) + off
