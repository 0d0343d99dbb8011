"""Affine forms: ``y = c + sum G_m eps_m + r`` with every ``|eps_m| <= 1`` and ``|r_k|`` at most the remainder.

The path from the residual stream behind the attention to the signs of the logits: LayerNorm (Lemma 2), network
(Lemma 3), the signs behind the last LayerNorm without a division (Lemma 4). Integers times ``2^-64``; what is rounded
is counted in the remainder, operation by operation.
"""

from __future__ import annotations

import math
from operator import add
from typing import NamedTuple

from .verdict_numbers import BITS, ONE, SQUARE, Linear, Matrix, Network, Norm, Vector, dot, root3, slope, times, total

LONG = 32
"""Generators, the longest ones, of which every two are multiplied for the length of what a form deviates."""


class Form(NamedTuple):
    """Centre, generators (one vector for each ``eps``), remainder."""

    centre: Vector
    spans: Matrix
    rest: Vector


class Wide(NamedTuple):
    """A centred form, and a bound on the mean square of its deviation (units squared)."""

    form: Form
    square: int


class Behind(NamedTuple):
    """A cell behind the network: the stream's middle there, the same centred, each entry off by ``last``; the stream
    behind attention, its image at the neurons and their values; the slopes of the neurons and what these leave out.

    The inverse deviation is at most ``size``, and within ``dev`` of its constant. ``rests`` is the sum of the neurons'
    remainders, ``far`` bounds the sum of what entries deviate, and ``square`` the mean square of it.
    """

    centre: Vector
    middle: Vector
    last: int
    stream: Form
    image: Form
    values: Form
    slopes: Vector
    own: Vector
    size: int
    dev: int
    rests: int
    far: int
    square: int


class Sign(NamedTuple):
    """A label's logit times the last deviation: ``row . z + beta sd(z)`` (Lemma 4), each entry off by ``error``."""

    row: Vector
    beta: int
    error: int

    def less(self, other: Sign) -> Sign:
        """A label's logit less another's."""
        row = [a - b for a, b in zip(self.row, other.row, strict=True)]
        return Sign(row, self.beta - other.beta, self.error + other.error)


def moved(f: Linear, y: Form) -> tuple[Form, int]:
    """``f(y)``, and what of each remainder is due to rounding."""
    m = len(y.spans)
    slack = (f.off * (total(y.centre) + sum(map(total, y.spans)) + sum(y.rest)) >> BITS) + m + 4
    columns = [[v >> BITS for v in times(f.rows, g)] for g in y.spans]
    centre = [(v >> BITS) + b for v, b in zip(times(f.rows, y.centre), f.bias, strict=True)]
    return Form(centre, columns, [(v >> BITS) + slack for v in times(f.absolute, y.rest)]), slack


def added(x: Form, y: Form) -> Form:
    """``x + y`` where ``y`` may have further generators."""
    more = [[0] * len(x.centre)] * (len(y.spans) - len(x.spans))
    spans = [[a + b for a, b in zip(g, h, strict=True)] for g, h in zip(x.spans + more, y.spans, strict=True)]
    centre = [a + b for a, b in zip(x.centre, y.centre, strict=True)]
    return Form(centre, spans, [a + b for a, b in zip(x.rest, y.rest, strict=True)])


def distance(y: Form) -> int:
    """A bound on the square of the length of what a form deviates (Lemma 2)."""
    order = sorted((dot(g, g), g) for g in y.spans)
    long, short = order[-LONG:], order[:-LONG]
    gram = sum(size + sum(2 * abs(dot(g, h)) for _, h in long[:i]) for i, (size, g) in enumerate(long))
    further = sum(math.isqrt(size) + 1 for size, _ in short)
    return (math.isqrt(gram) + further + math.isqrt(dot(y.rest, y.rest)) + 2) ** 2


def reached(y: Form) -> Vector:
    """How far each entry is from its centre."""
    return list(map(sum, zip(y.rest, *(map(abs, g) for g in y.spans), strict=True)))


def centred(y: Form) -> Wide:
    """``P y`` with ``P = I - 11'/d``, and how far it deviates (Lemma 2)."""
    d, mean = len(y.centre), sum(y.rest) // len(y.centre) + len(y.spans) + 4
    c, *spans = ([v - a for v in row] for row in (y.centre, *y.spans) for a in (sum(row) // d,))
    form = Form(c, spans, [r - 2 * r // d + mean for r in y.rest])
    return Wide(form, distance(form) // d + 1)


def inverse(v0: int, dev: int, square: int, epsilon: int) -> tuple[int, int, int]:
    """``A, mid, off``: ``1/sqrt(v) + A v`` is within ``off`` of ``mid`` for every variance ``v`` that can occur."""
    low, high = max(epsilon, v0 - dev), v0 + 2 + dev + square
    a, b = math.isqrt(low), math.isqrt(high)
    chord = ONE**4 // (a * b * (a + b))
    ends = (ONE**2 // a + (chord * low >> SQUARE) + 2, ONE**2 // b + (chord * high >> SQUARE) + 2)
    least = 3 * root3(chord << 2 * BITS + 1) // 2
    middle = (max(ends) + least) >> 1
    return chord, middle, max(ends) - middle + 1


def divided(epsilon: int, wide: Wide, x: Form) -> tuple[Form, int, int]:
    """A linear image of a centred form divided by the deviation (Lemma 2), which is taken by its chord; a last
    generator is the chord's own error. Then bounds on the inverse deviation, and on what is not its constant."""
    (c, spans, rest), square = wide
    d, m = len(c), len(spans)
    v0 = dot(c, c) // d + epsilon
    lines = [2 * dot(c, g) // d for g in spans]
    loose = 2 * dot(list(map(abs, c)), rest) // d + 2
    a, middle, off = inverse(v0, total(lines) + m + loose, square, epsilon)
    tau = middle - (a * (v0 + square // 2) >> SQUARE)
    tau_rest = off + (a * (loose + square // 2 + m + 3) >> SQUARE) + 4 + m * (2 + (a >> SQUARE))
    turns = [-(a * line >> SQUARE) for line in lines]
    dev, c = total(turns) + tau_rest, x.centre
    spans = [[(g * tau + v * t) >> BITS for g, v in zip(column, c, strict=True)]
             for column, t in zip(x.spans, turns, strict=True)]  # fmt: skip
    spans.append([v * tau_rest >> BITS for v in c])
    rest = [(r * abs(tau) + t * dev >> BITS) + m + 5 for r, t in zip(x.rest, reached(x), strict=True)]
    return Form([v * tau >> BITS for v in c], spans, rest), abs(tau) + dev, dev


def layer_norm(norm: Norm, y: Form) -> Form:
    """LayerNorm (Lemma 2)."""
    wide = centred(y)
    return scaled(norm, divided(norm.epsilon, wide, wide.form)[0])


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


def network(kind: str, epsilon: int, f: Network, y: Form, image: Form, slack: int) -> Behind:
    """What ``y`` plus the network behind its LayerNorm is: ``image`` is what ``f.normal`` makes of ``y``, of which
    ``slack`` is due to rounding."""
    wide, d, m = centred(y), len(y.centre), len(y.spans)
    (centre, spans, rest), size, dev = divided(epsilon, wide, image)
    hidden = Form(list(map(add, centre, f.shift.centre)), spans, [r + f.shift.radius for r in rest])
    values, slopes, own = activated(kind, hidden, (slack * size >> BITS) + f.shift.radius + m + 6)
    last = (total(values.centre) + sum(map(total, values.spans)) + sum(values.rest) >> BITS) + m + 5
    z = [
        c + (v >> BITS) + b for c, v, b in zip(y.centre, times(f.outer.rows, values.centre), f.outer.bias, strict=True)
    ]
    far = sum(map(total, y.spans)) + sum(y.rest) + d * ((f.outer.norm * max(reached(values)) >> BITS) + last + 1)
    wider = math.isqrt(wide.square) + (f.stretch * (math.isqrt(distance(values) // d) + 1) >> BITS) + last + 2
    mean = sum(z) // d
    return Behind(
        z, [v - mean for v in z], last, y, image, values, slopes, own, size, dev, sum(hidden.rest), far, wider**2
    )


def opened(y: Form) -> Form:
    """A form with a generator for each entry of its remainder, so that what the entry causes may cancel."""
    d = len(y.rest)
    return Form(y.centre, [*y.spans, *([0] * k + [r] + [0] * (d - k - 1) for k, r in enumerate(y.rest))], [0] * d)


def merged(y: Form, most: int) -> Form:
    """A form with its largest generators; the others go to the remainder."""
    order = sorted(y.spans, key=total, reverse=True)
    return Form(y.centre, order[:most], list(map(sum, zip(y.rest, *(map(abs, g) for g in order[most:]), strict=True))))


def carried(row: Vector, f: Network, z: Behind) -> tuple[int, Vector]:
    """A bound on ``row`` times the remainder behind the network (Lemma V6), each source by what the label makes of it,
    and the coefficients of the generators.

    ``row`` is taken as exact. Both products are rounded: by a unit where a neuron is multiplied, and by ``step`` units
    where its input is.
    """
    heads = [v >> BITS for v in times(f.back[0], row)]
    step = (max(map(abs, z.slopes)) >> BITS) + 3
    heads_in = [h * a >> BITS for h, a in zip(heads, z.slopes, strict=True)]
    found = dot(list(map(abs, row)), z.stream.rest) + total(row) * z.last + sum(map(total, z.values.spans))
    found += dot(list(map(abs, heads)), z.own) + sum(z.own) + step * z.rests
    through = sum(abs(v >> BITS) * r for v, r in zip(times(f.back[1], heads_in), z.stream.rest, strict=True))
    through += ((f.normal.off * total(heads_in) >> BITS) + 2) * sum(z.stream.rest)
    product = sum(abs(dot(heads_in, g)) for g in z.image.spans)
    found += (through * z.size + product * z.dev >> BITS) + 1
    stream = [*(dot(row, g) for g in z.stream.spans), 0]
    return (found >> BITS) + 2, [a + dot(heads, g) >> BITS for a, g in zip(stream, z.values.spans, strict=True)]


def signed(sign: Sign, z: Behind, f: Network, epsilon: int) -> tuple[int, Vector]:
    """A lower bound ``k + sum g_m eps_m`` on the logit times the last deviation (Lemma 4)."""
    u, beta, error = sign
    c, d = z.middle, len(z.centre)
    s = math.isqrt(dot(c, c) // d + epsilon)
    row = [v + beta * p // (d * s) for v, p in zip(u, c, strict=True)]
    off = 2 * error + 3 * abs(beta) // s + 4
    beyond, (*lines, last) = carried(row, f, z)
    slack = error * total(z.centre) + (error + 2) * s + 2 * abs(beta) + off * z.far
    if beta - error < 0:
        slack += (abs(beta) + error) * z.square // (2 * (s - 2)) + 1
    return (dot(u, z.centre) + beta * s >> BITS) - beyond - (slack >> BITS) - abs(last) - len(lines) - 6, lines
