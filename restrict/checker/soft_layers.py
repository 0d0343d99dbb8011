"""The steps of a layer on sets: scores, averages with uncertain weights, LayerNorm, ReLU networks.

What each step contains is a lemma of docs/trusted-base.md ("Soft certificates"), named at it.
"""

from __future__ import annotations

import math

from .soft_model import Norm
from .soft_sets import (
    BITS,
    ONE,
    Linear,
    Set,
    Vector,
    between,
    cut,
    dot,
    exp_down,
    exp_up,
    image,
    root_up,
    size,
    tight,
    units,
    up,
)

STEPS = 34
"""Halvings of a bisection; any number is sound."""
Ends = tuple[int, int]


def score(q: Set, k: Set, key_size: int) -> Ends:
    """Bounds on the products of two sets (Lemma S6)."""
    centre = dot(q.centre, k.centre) >> BITS
    by_box = dot([abs(c) + r for c, r in zip(q.centre, q.box, strict=True)], k.box) + dot(
        q.box, list(map(abs, k.centre))
    )
    by_ball = (size(q.centre) + q.ball) * k.ball + q.ball * key_size
    spread = up(min(by_box, by_ball)) + 2
    return centre - spread, centre + spread


def scaled(ends: Ends, low: int, high: int) -> Ends:
    """Bounds times a scale in ``low .. high``."""
    made = [e * s for e in ends for s in (low, high)]
    return min(made) >> BITS, up(max(made))


def averaged(scores: list[list[Ends]], values: list[Set], everything: Set) -> Set:
    """Averages with weights from scores: ``|avg - g - sum a (v-g)| <= sum r |v-g| + t + sum (a+r) max(s-t, 0)`` (Lemma
    S7)."""
    bounds = [(min(low for low, _ in s), max(high for _, high in s)) for s in scores]
    top = max(high for _, high in bounds)
    ends = [(exp_down(low - top), exp_up(high - top)) for low, high in bounds]
    small, big = sum(a for a, _ in ends), sum(b for _, b in ends)
    most = [min(-(-(b << BITS) // (b + small - a)), ONE) for a, b in ends]
    least = [(a << BITS) // (a + big - b) if a else 0 for a, b in ends]
    middle = [(a + b) >> 1 for a, b in zip(least, most, strict=True)]
    reach = [b - m + 1 for b, m in zip(most, middle, strict=True)]
    n, d = len(values), range(len(everything.centre))
    g = [sum(v.centre[c] for v in values) // n for c in d]
    t = [sum(v.box[c] for v in values) // n for c in d]
    t_ball = sum(v.ball for v in values) // n
    centre, box = [], []
    for c in d:
        off = [v.centre[c] - g[c] for v in values]
        centre.append(g[c] + (dot(middle, off) >> BITS))
        beyond = [max(v.box[c] - t[c], 0) for v in values]
        box.append(t[c] + up(dot(reach, list(map(abs, off))) + dot(most, beyond)) + 2)
    apart = [size([a - b for a, b in zip(v.centre, g, strict=True)]) for v in values]
    ball = t_ball + up(dot(reach, apart) + dot(most, [max(v.ball - t_ball, 0) for v in values])) + 2 * len(g) + 2
    return cut(tight(centre, box, ball), everything)


def coupled(scores: list[list[Ends]], values: list[list[Set]], x: Set) -> Set:
    """Averages where a position's weight and value come from one case: ``u`` with ``sum max e (v - u) <= 0`` (Lemma
    S8)."""
    top = max(high for s in scores for _, high in s)
    ends = [[(exp_down(low - top), exp_up(high - top)) for low, high in s] for s in scores]
    low, high = [], []
    for c in range(len(x.centre)):
        cases = [
            [(e, v.centre[c] - v.box[c], v.centre[c] + v.box[c]) for e, v in zip(es, vs, strict=True)]
            for es, vs in zip(ends, values, strict=True)
        ]
        high.append(bisected([[(e, b) for e, _, b in w] for w in cases], x.centre[c] + x.box[c]))
        low.append(-bisected([[(e, -a) for e, a, _ in w] for w in cases], -(x.centre[c] - x.box[c])))
    return between(x, low, [max(a, b) for a, b in zip(low, high, strict=True)])


def bisected(cases: list[list[tuple[Ends, int]]], high: int) -> int:
    """The least upper bound on the average that the bisection can certify, at most ``high``."""
    low = min(v for w in cases for _, v in w)
    for _ in range(STEPS):
        if high - low < 1 << 60:
            break
        u = (low + high) >> 1
        if sum(max(e[v > u] * (v - u) for e, v in w) for w in cases) <= 0:
            high = u
        else:
            low = u
    return high


def normed(norm: Norm, x: Set) -> Set | None:
    """LayerNorm: the centred vector ``u`` over ``s``, ``s`` from the norm of ``u``; at most ``sqrt(d)`` long (Lemma
    S9). None where it may divide by zero."""
    d = len(norm.weight)
    mean = sum(x.centre) // d
    c = [v - mean for v in x.centre]
    total = sum(x.box)
    u = tight(c, [(r * (d - 1) + total - r) // d + 3 for r in x.box], x.ball + 2 * d)
    length = size(c)
    least, most = max(length - 1 - u.ball, 0), length + u.ball
    square = least * least // d + (units(norm.eps[0]) << BITS)
    if square <= 0:
        return None
    steep = (ONE * ONE) // math.isqrt(square) + 1
    flat = (ONE * ONE) // (root_up(most * most // d + 1 + ((units(norm.eps[1]) + 1) << BITS)) + 1)
    middle, reach = (steep + flat) >> 1, (steep - flat + 3) >> 1
    centre = [v * middle >> BITS for v in c]
    box = [up(r * steep) + up(abs(v) * reach) + 2 for r, v in zip(u.box, c, strict=True)]
    ball = up(u.ball * steep) + up(length * reach) + 2 * d
    root = root_up(d << (2 * BITS)) + 1
    if ball > root:
        centre, box, ball = [0] * d, [root] * d, root
    slip = [3 + up(abs(v) + r) for v, r in zip(centre, box, strict=True)]
    moved = [(v * w >> BITS) + b for v, w, b in zip(centre, norm.weight, norm.bias, strict=True)]
    box = [up(r * abs(w)) + s for r, w, s in zip(box, norm.weight, slip, strict=True)]
    return tight(moved, box, up(ball * max(map(abs, norm.weight))) + size(slip))


def network(inner: Linear, outer: Linear, y: Set, skip: bool) -> Set:
    """``outer relu(inner y) (+ y)``: each ReLU lies in ``slope z + shift +- shift``, the rest is one linear map (Lemma
    S10)."""
    z = image(inner, y)
    slope, shift = [], []
    for c, r in zip(z.centre, z.box, strict=True):
        low, high = c - r, c + r
        s = (high << BITS) // (high - low) if low < 0 < high else (ONE if low >= 0 else 0)
        top = max(-low * s, (ONE - s) * high) if low < 0 < high else 0
        slope.append(s)
        shift.append((up(top) + 1) >> 1 if top > 0 else 0)
    plain = [(dot(row, y.centre) >> BITS) + b for row, b in zip(inner.rows, inner.bias, strict=True)]
    slip = 4 + up(sum(map(abs, y.centre)))
    active = [(s * v >> BITS) + h for s, v, h in zip(slope, plain, shift, strict=True)]
    wrong = [h + slip + 2 for h in shift]
    loose = 3 + up(sum(map(abs, active)) + sum(wrong))
    centre = [(dot(row, active) >> BITS) + b for row, b in zip(outer.rows, outer.bias, strict=True)]
    extra = [up(dot(a, wrong)) + loose for a in outer.absolute]
    if skip:
        centre = [a + b for a, b in zip(centre, y.centre, strict=True)]
    box, ball = moved(inner, outer, slope, y, skip)
    return tight(centre, [a + b for a, b in zip(box, extra, strict=True)], ball + size(extra))


def moved(inner: Linear, outer: Linear, slope: Vector, y: Set, skip: bool) -> tuple[Vector, int]:
    """How far ``(outer diag(slope) inner (+ 1)) (x - centre)`` goes: box and ball."""
    d = len(y.centre)
    steep = max(slope)
    by_norm = up((up(up(outer.norm * inner.norm) * steep) + (ONE if skip else 0) + 2) * y.ball)
    if not any(y.box):
        return [by_norm] * d, by_norm
    # The entries below are off by less than `slip` units: each factor by one, each product by one.
    used = [j for j, s in enumerate(slope) if s]
    slip = 4 + 2 * len(used) + up(sum(max(map(abs, inner.rows[j])) for j in used) * 2) + up(
        max(sum(row[j] for j in used) for row in outer.absolute) * 2)  # fmt: skip
    columns = list(zip(*(inner.rows[j] for j in used), strict=True)) if used else [()] * d
    matrix = []
    for i, row in enumerate(outer.rows):
        scaled_row = [row[j] * slope[j] >> BITS for j in used]
        matrix.append([(dot(scaled_row, c) >> BITS) + (ONE if skip and i == k else 0) for k, c in enumerate(columns)])
    absolute = [[abs(v) + slip for v in row] for row in matrix]
    box = [min(up(dot(row, y.box)), up(size(row) * y.ball)) for row in absolute]
    by_rows, by_columns = max(map(sum, absolute)), max(map(sum, zip(*absolute, strict=True)))
    flat = min(root_up(by_rows * by_columns), root_up(sum(dot(row, row) for row in absolute)))
    return box, min(by_norm, up(flat * y.ball))
