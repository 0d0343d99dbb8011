"""Affine forms: ``y = c + sum G_m eps_m + r`` with every ``|eps_m| <= 1`` and ``|r_k|`` at most the remainder.

The path from the residual stream behind the attention to the signs of the logits: LayerNorm (Lemma 2), network
(Lemma 3), the signs behind the last LayerNorm without a division (Lemma 4). Integers times ``2^-64``; what is rounded
is counted in the remainder, operation by operation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .verdict_numbers import BITS, ONE, SQUARE, Linear, Matrix, Norm, Packed, Vector, dot, root3, slope, times, total


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


class Trail(NamedTuple):
    """What the remainder behind the network comes from, for the way back from a label: the stream behind attention,
    the LayerNorm (``normal``), the slopes of the neurons and what these leave out, the rounding of the last map
    (``last``); ``inner`` is the sum of what ``normal`` makes of the neurons."""

    stream: Vector
    normal: Vector
    slopes: Vector
    neurons: Vector
    last: int
    inner: int
    back: list[Packed]


class Sign(NamedTuple):
    """A label's logit times the last deviation: ``row . z + beta sd(z)`` (Lemma 4), each entry off by ``error``."""

    row: Vector
    beta: int
    error: int


def moved(f: Linear, y: Form) -> tuple[Form, int]:
    """``f(y)``, and what of each remainder is due to rounding."""
    m = len(y.spans)
    slack = (total(y.centre) + sum(map(total, y.spans)) + sum(y.rest) >> BITS) + m + 4
    columns = [[v >> BITS for v in times(f.rows, g)] for g in y.spans]
    centre = [(v >> BITS) + b for v, b in zip(times(f.rows, y.centre), f.bias, strict=True)]
    return Form(centre, columns, [(v >> BITS) + slack for v in times(f.absolute, y.rest)]), slack


def added(x: Form, y: Form) -> Form:
    """``x + y`` where ``y`` may have further generators."""
    more = [[0] * len(x.centre)] * (len(y.spans) - len(x.spans))
    spans = [[a + b for a, b in zip(g, h, strict=True)] for g, h in zip(x.spans + more, y.spans, strict=True)]
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
    """LayerNorm (Lemma 2): the inverse deviation by its chord. A last generator is the chord's own error."""
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
    spans.append([v * tau_rest >> BITS for v in c])
    rest = [(r * abs(tau) + t * dev >> BITS) + m + 5 for r, t in zip(rest, reach, strict=True)]
    return scaled(norm, Form(centre, spans, rest))


def scaled(norm: Norm, y: Form) -> Form:
    """Entry by entry times the weight, plus the bias."""
    m, w = len(y.spans), norm.weight
    sizes = [sum(map(abs, entry)) for entry in zip(y.centre, *y.spans, y.rest, strict=True)]
    centre = [(v * a >> BITS) + b for v, a, b in zip(y.centre, w, norm.bias, strict=True)]
    spans = [[v * a >> BITS for v, a in zip(g, w, strict=True)] for g in y.spans]
    rest = [(r * abs(a) + s >> BITS) + m + 4 for r, a, s in zip(y.rest, w, sizes, strict=True)]
    return Form(centre, spans, rest)


def activated(kind: str, y: Form, slack: int) -> tuple[Form, Vector, Vector]:
    """Each neuron by a chord over its range (Lemma 3): the form, the slopes, and what of the remainders is neither the
    input's nor, up to ``slack``, its rounding."""
    m, found, own, slopes = len(y.spans), [], [], []
    for c, *column, r in zip(y.centre, *y.spans, y.rest, strict=True):
        reach = sum(map(abs, column)) + r
        a, low, high = slope(kind, c - reach, c + reach)
        middle = (low + high) >> 1
        off = high - middle + m + 4
        slopes.append(a)
        own.append((abs(a) * slack >> BITS) + off)
        found.append(((a * c >> BITS) + middle, *(a * g >> BITS for g in column), (abs(a) * r >> BITS) + off))
    centre, *spans, last = map(list, zip(*found, strict=True))
    return Form(centre, spans, last), slopes, own


def network(kind: str, norm: Norm, inner: Linear, outer: Linear, back: list[Packed], y: Form) -> tuple[Form, Trail]:
    """``y`` plus the network behind its LayerNorm."""
    x = layer_norm(norm, y)
    hidden, slack = moved(inner, x)
    values, slopes, own = activated(kind, hidden, slack)
    z, last = moved(outer, values)
    return added(y, z), Trail(y.rest, x.rest, slopes, own, last, sum(hidden.rest), back)


def opened(y: Form) -> Form:
    """A form with a generator for each entry of its remainder, so that what the entry causes may cancel."""
    d = len(y.rest)
    return Form(y.centre, [*y.spans, *([0] * k + [r] + [0] * (d - k - 1) for k, r in enumerate(y.rest))], [0] * d)


def merged(y: Form, most: int) -> Form:
    """A form with its largest generators; the others go to the remainder."""
    order = sorted(y.spans, key=total, reverse=True)
    return Form(y.centre, order[:most], list(map(sum, zip(y.rest, *(map(abs, g) for g in order[most:]), strict=True))))


def carried(row: Vector, trail: Trail) -> int:
    """A bound on ``row`` times the remainder behind the network (Lemma V6): each source by what the label makes of it.

    ``row`` is taken as exact. Both products are rounded: by a unit where a neuron is multiplied, and by ``step`` units
    where its input is.
    """
    outer, inner = trail.back
    heads = [v >> BITS for v in times(outer, row)]
    step = (max(map(abs, trail.slopes)) >> BITS) + 3
    heads_in = [h * a >> BITS for h, a in zip(heads, trail.slopes, strict=True)]
    found = dot(list(map(abs, row)), trail.stream) + total(row) * trail.last
    found += dot(list(map(abs, heads)), trail.neurons) + sum(trail.neurons)
    found += sum(abs(v >> BITS) * r for v, r in zip(times(inner, heads_in), trail.normal, strict=True))
    return (found + sum(trail.normal) + step * trail.inner >> BITS) + 2


def signed(sign: Sign, wanted: bool, z: Form, wide: Wide, norm: Norm, trail: Trail) -> tuple[int, Vector]:
    """A lower bound ``k + sum g_m eps_m`` on the logit, or on its negative, times the last deviation (Lemma 4)."""
    u, beta, error = sign if wanted else Sign([-v for v in sign.row], -sign.beta, sign.error)
    c, d = wide.form.centre, len(z.centre)
    s = math.isqrt(dot(c, c) // d + norm.epsilon)
    row = [v + beta * p // (d * s) for v, p in zip(u, c, strict=True)]
    off = 2 * error + 3 * abs(beta) // s + 4
    least = (dot(u, z.centre) + beta * s >> BITS) - carried(row, trail)
    slack = error * total(z.centre) + (error + 2) * s + 2 * abs(beta)
    slack += off * (sum(map(total, z.spans)) + sum(z.rest))
    if beta - error < 0:
        slack += (abs(beta) + error) * wide.square // (2 * (s - 2)) + 1
    *lines, last = (dot(row, g) >> BITS for g in z.spans)
    return least - (slack >> BITS) - abs(last) - len(z.spans) - 5, lines
