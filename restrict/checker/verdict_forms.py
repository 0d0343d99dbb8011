"""Affine forms: ``y = c + sum G_m eps_m + r`` with every ``|eps_m| <= 1`` and ``|r_k|`` at most the remainder.

The path from the residual stream behind the attention to the signs of the logits: LayerNorm (Lemma 2), network
(Lemma 3), the signs behind the last LayerNorm without a division (Lemma 4). Integers times ``2^-64``; what is rounded
is counted in the remainder, operation by operation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .verdict_numbers import BITS, ONE, SQUARE, Linear, Matrix, Norm, Vector, dot, root3, slope, total


class Form(NamedTuple):
    """Centre, generators (one vector for each ``eps``), remainder."""

    centre: Vector
    spans: Matrix
    rest: Vector


class Wide(NamedTuple):
    """A centred form, the size of each entry's deviation, and a bound on its mean square (units squared)."""

    form: Form
    reach: Vector
    square: int


class Sign(NamedTuple):
    """A label's logit times the last deviation: ``row . z + beta sd(z)`` (Lemma 4), each entry off by ``error``."""

    row: Vector
    beta: int
    error: int


def moved(f: Linear, y: Form) -> Form:
    """``f(y)``."""
    m = len(y.spans)
    slack = (total(y.centre) + sum(map(total, y.spans)) + sum(y.rest) >> BITS) + m + 4
    columns = [[dot(row, g) >> BITS for row in f.rows] for g in y.spans]
    centre = [(dot(row, y.centre) >> BITS) + b for row, b in zip(f.rows, f.bias, strict=True)]
    return Form(centre, columns, [(dot(row, y.rest) >> BITS) + slack for row in f.absolute])


def added(x: Form, y: Form) -> Form:
    """``x + y``, in the same generators."""
    spans = [[a + b for a, b in zip(g, h, strict=True)] for g, h in zip(x.spans, y.spans, strict=True)]
    centre = [a + b for a, b in zip(x.centre, y.centre, strict=True)]
    return Form(centre, spans, [a + b for a, b in zip(x.rest, y.rest, strict=True)])


def centred(y: Form) -> Wide:
    """``P y`` with ``P = I - 11'/d``, and how far it deviates (Lemma 2)."""
    d, m = len(y.centre), len(y.spans)
    mean = sum(y.rest) // d + m + 4
    c, *spans = ([v - a for v in row] for row in (y.centre, *y.spans) for a in (sum(row) // d,))
    rest = [r - 2 * r // d + mean for r in y.rest]
    reach = [sum(map(abs, column)) + r for *column, r in zip(*spans, rest, strict=True)]
    gram = sum(2 * abs(dot(g, h)) for i, g in enumerate(spans) for h in spans[:i]) + sum(dot(g, g) for g in spans)
    ball = (math.isqrt(gram // d) + math.isqrt(dot(rest, rest) // d) + 2) ** 2
    return Wide(Form(c, spans, rest), reach, min(dot(reach, reach) // d + 1, ball))


def inverse(v0: int, dev: int, square: int, epsilon: int) -> tuple[int, int, int]:
    """``A, mid, off``: ``1/sqrt(v) + A v`` is within ``off`` of ``mid`` for every variance ``v`` that can occur."""
    root, step = math.isqrt(v0), math.isqrt(square) + 1
    low = max(epsilon, v0 - dev, max(0, root - step) ** 2)
    high = min(v0 + 2 + dev + square, (math.isqrt(v0 + 2) + 1 + step) ** 2)
    a, b = math.isqrt(low), math.isqrt(high)
    chord = ONE**4 // (a * b * (a + b))
    ends = (ONE**2 // a + (chord * low >> SQUARE) + 2, ONE**2 // b + (chord * high >> SQUARE) + 2)
    least = 3 * root3(chord << 2 * BITS + 1) // 2
    middle = (max(ends) + least) >> 1
    return chord, middle, max(ends) - middle + 1


def layer_norm(norm: Norm, y: Form) -> Form:
    """LayerNorm (Lemma 2): the inverse deviation by its chord, as a form in the same generators."""
    x, reach, square = centred(y)
    c, spans, rest = x
    d, m = len(c), len(spans)
    v0 = dot(c, c) // d + norm.epsilon
    lines = [2 * dot(c, g) // d for g in spans]
    loose = 2 * dot(list(map(abs, c)), rest) // d + 2
    a, middle, off = inverse(v0, total(lines) + m + loose, square, norm.epsilon)
    tau = middle - (a * (v0 + square // 2) >> SQUARE)
    tau_rest = off + (a * (loose + square // 2 + m + 3) >> SQUARE) + 4 + m * (2 + (a >> SQUARE))
    turns = [-(a * line >> SQUARE) for line in lines]
    dev = total(turns) + tau_rest
    centre = [v * tau >> BITS for v in c]
    spans = [[(g * tau + v * t) >> BITS for g, v in zip(column, c, strict=True)]
             for column, t in zip(spans, turns, strict=True)]  # fmt: skip
    rest = [(r * abs(tau) + abs(v) * tau_rest + t * dev >> BITS) + m + 4
            for r, v, t in zip(rest, c, reach, strict=True)]  # fmt: skip
    return scaled(norm, Form(centre, spans, rest))


def scaled(norm: Norm, y: Form) -> Form:
    """Entry by entry times the weight, plus the bias."""
    m, w = len(y.spans), norm.weight
    sizes = [sum(map(abs, entry)) for entry in zip(y.centre, *y.spans, y.rest, strict=True)]
    centre = [(v * a >> BITS) + b for v, a, b in zip(y.centre, w, norm.bias, strict=True)]
    spans = [[v * a >> BITS for v, a in zip(g, w, strict=True)] for g in y.spans]
    rest = [(r * abs(a) + s >> BITS) + m + 4 for r, a, s in zip(y.rest, w, sizes, strict=True)]
    return Form(centre, spans, rest)


def activated(kind: str, y: Form) -> Form:
    """Each neuron by a chord over its range (Lemma 3)."""
    m, found = len(y.spans), []
    for c, *column, r in zip(y.centre, *y.spans, y.rest, strict=True):
        reach = sum(map(abs, column)) + r
        a, low, high = slope(kind, c - reach, c + reach)
        middle = (low + high) >> 1
        rest = (abs(a) * r >> BITS) + high - middle + m + 3
        found.append(((a * c >> BITS) + middle, *(a * g >> BITS for g in column), rest))
    centre, *spans, last = map(list, zip(*found, strict=True))
    return Form(centre, spans, last)


def signed(sign: Sign, wanted: bool, z: Form, wide: Wide, norm: Norm) -> tuple[int, Vector]:
    """A lower bound ``k + sum g_m eps_m`` on the logit, or on its negative, times the last deviation (Lemma 4)."""
    u, beta, error = sign if wanted else Sign([-v for v in sign.row], -sign.beta, sign.error)
    c, d = wide.form.centre, len(z.centre)
    s = math.isqrt(dot(c, c) // d + norm.epsilon)
    row = [v + beta * p // (d * s) for v, p in zip(u, c, strict=True)]
    off = 2 * error + 3 * abs(beta) // s + 4
    least = (dot(u, z.centre) + beta * s - dot(list(map(abs, row)), z.rest)) >> BITS
    slack = error * total(z.centre) + (error + 2) * s + 2 * abs(beta)
    slack += off * (sum(map(total, z.spans)) + sum(z.rest))
    if beta - error < 0:
        slack += (abs(beta) + error) * wide.square // (2 * (s - 2)) + 1
    return least - (slack >> BITS) - len(z.spans) - 4, [dot(row, g) >> BITS for g in z.spans]
