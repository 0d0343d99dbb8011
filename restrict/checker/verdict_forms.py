"""Affine forms: ``y = c + sum G_m eps_m + r`` with every ``|eps_m| <= 1`` and ``|r_k|`` at most the remainder.

The path from the residual stream behind the attention to the signs of the logits: LayerNorm (Lemma 2), network
(Lemma 3), the signs behind the last LayerNorm without a division (Lemma 4). Integers times ``2^-64``; what is rounded
is counted in the remainder, operation by operation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import add
from typing import NamedTuple

from .account import Place, unproved
from .verdict_numbers import BITS, ONE, SQUARE, Linear, Matrix, Network, Norm, Vector, dot, root3, slope, times, total

Chord = tuple[int, int, int]
"""``a, l, h``: ``f(x) - a x`` is in ``[l, h]``."""
Side = tuple[int, int]
DIGIT = 30
"""Bits of one digit of Python's integers: products of such numbers are the cheapest."""
LONG = 32
"""Generators, the longest ones, of which every two are multiplied for the length of what a form deviates."""


class Extent(NamedTuple):
    """One coordinate of a head's output: middle and half width in units."""

    middle: int
    radius: int


class Form(NamedTuple):
    """Centre, generators (one vector for each ``eps``), remainder."""

    centre: Vector
    spans: Matrix
    rest: Vector


Turned = tuple[int, int, Vector, int]
"""An inverse deviation: how much more it is than where the middle was computed; its constant, its coefficients, and
what these leave out."""
Wide = tuple[Form, int]
"""A centred form, and a bound on the mean square of its deviation (units squared)."""


class Behind(NamedTuple):
    """A cell behind the network: the stream's middle there, the same centred, each entry off by ``last``; the stream
    behind attention, the sum of the sizes of all that it is, and what of it is added to the network; the values of the
    neurons, their slopes and what these leave out.

    The inverse deviation is at most ``size``, and within ``dev`` of its form. ``lost`` is what products with a row are
    rounded by, ``far`` bounds the sum of what entries deviate, and ``square`` the mean square of it. ``turns`` are the
    forms of the inverse deviation, at whose worst a bound is taken.
    """

    centre: Vector
    middle: Vector
    last: int
    stream: Form
    whole: int
    added: Form
    values: Form
    slopes: Vector
    own: Vector
    size: int
    dev: int
    lost: int
    far: int
    square: int
    turns: list[Turned]


class Sign(NamedTuple):
    """A label's logit times the last deviation: ``row . z + beta sd(z)`` (Lemma 4), each entry off by ``error``; or,
    without a last LayerNorm, the logit: ``row . z + shift``."""

    row: Vector
    beta: int
    error: int
    shift: int = 0

    def less(self, other: Sign) -> Sign:
        """A label's logit less another's."""
        row = [a - b for a, b in zip(self.row, other.row, strict=True)]
        return Sign(row, self.beta - other.beta, self.error + other.error, self.shift - other.shift)


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
    return form, distance(form) // d + 1


def variance(epsilon: int, wide: Wide) -> tuple[int, Vector, int, int, int]:
    """The variance of a centred form (Lemma 2): in its middle, its lines, what these leave out, and both ends."""
    (c, spans, rest), square = wide
    d, v = len(c), dot(c, c) // len(c)
    lines = [2 * dot(c, g) // d for g in spans]
    loose = 2 * dot(list(map(abs, c)), rest) // d + 2
    dev = total(lines) + len(spans) + loose
    low = epsilon + max(0, 2 * v - dev) ** 2 // max(1, 4 * v)
    return v + epsilon, lines, loose, low, v + epsilon + 2 + dev + square


def inverse(low: int, high: int) -> tuple[int, int, int]:
    """``A, mid, off``: ``1/sqrt(v) + A v`` is within ``off`` of ``mid`` for every variance ``v`` that can occur."""
    a, b = math.isqrt(low), math.isqrt(high)
    chord = ONE**4 // (a * b * (a + b))
    ends = (ONE**2 // a + (chord * low >> SQUARE) + 2, ONE**2 // b + (chord * high >> SQUARE) + 2)
    least = 3 * root3(chord << 2 * BITS + 1) // 2
    middle = (max(ends) + least) >> 1
    return chord, middle, max(ends) - middle + 1


def divided(epsilon: int, wide: Wide, x: Form) -> tuple[Form, int, int, Turned]:
    """A linear image of a centred form divided by the deviation (Lemma 2), which is taken by its chord; a last
    generator is the chord's own error. Then bounds on the inverse deviation, and on what is not its constant."""
    square, m, c = wide[1], len(x.spans), x.centre
    v0, lines, loose, low, high = variance(epsilon, wide)
    a, middle, off = inverse(low, high)
    tau = middle - (a * (v0 + square // 2) >> SQUARE)
    tau_rest = off + (a * (loose + square // 2 + m + 3) >> SQUARE) + 4 + m * (2 + (a >> SQUARE))
    turns = [-(a * line >> SQUARE) for line in lines]
    dev = total(turns) + tau_rest
    spans = [[(g * tau + v * t) >> BITS for g, v in zip(column, c, strict=True)]
             for column, t in zip(x.spans, turns, strict=True)]  # fmt: skip
    spans.append([v * tau_rest >> BITS for v in c])
    rest = [(r * abs(tau) + t * dev >> BITS) + m + 5 for r, t in zip(x.rest, reached(x), strict=True)]
    return Form([v * tau >> BITS for v in c], spans, rest), abs(tau) + dev, dev, (0, tau, turns, tau_rest)


def layer_norm(norm: Norm | None, y: Form) -> Form:
    """LayerNorm (Lemma 2), if there is one."""
    if norm is None:
        return y
    wide = centred(y)
    return scaled(norm, divided(norm.epsilon, wide, wide[0])[0])


def scaled(norm: Norm, y: Form) -> Form:
    """Entry by entry times the weight, plus the bias."""
    m, w = len(y.spans), norm.weight
    sizes = [sum(map(abs, entry)) for entry in zip(y.centre, *y.spans, y.rest, strict=True)]
    centre = [(v * a >> BITS) + b for v, a, b in zip(y.centre, w, norm.bias, strict=True)]
    spans = [[v * a >> BITS for v, a in zip(g, w, strict=True)] for g in y.spans]
    rest = [(r * abs(a) + s >> BITS) + m + 4 for r, a, s in zip(y.rest, w, sizes, strict=True)]
    return Form(centre, spans, rest)


def chords(kinds: list[str], y: Form) -> list[Chord]:
    """The chord of each neuron over its range (Lemma 3)."""
    return [slope(kind, c - reach, c + reach) for kind, c, reach in zip(kinds, y.centre, reached(y), strict=True)]


def kept(f: Network, y: Form) -> Form:
    """What a network is added to of the stream in front of its LayerNorm: all or nothing."""
    none = [0] * len(y.centre)
    return y if f.adds else Form(none, [none] * len(y.spans), none)


def activated(by: list[Chord], y: Form, slack: int) -> tuple[Form, Vector]:
    """Each neuron by its chord: the form, and what of the remainders is neither the input's nor, up to ``slack``, its
    rounding."""
    slopes, m = [a for a, _, _ in by], len(y.spans)
    centre = [(a * c >> BITS) + (low + high >> 1) for (a, low, high), c in zip(by, y.centre, strict=True)]
    spans = [[a * v >> BITS for a, v in zip(slopes, g, strict=True)] for g in y.spans]
    offs = [high - (low + high >> 1) + m + 4 for _, low, high in by]
    rest, own = ([(abs(a) * r >> BITS) + off for a, r, off in zip(slopes, radii, offs, strict=True)]
                 for radii in (y.rest, [slack] * len(by)))  # fmt: skip
    return Form(centre, spans, rest), own


def network(
    epsilon: int, f: Network, y: Form, image: Form, slack: int, pieces: int = 0, held: Sequence[Side | None] = ()
) -> Iterator[Behind]:
    """What ``y`` plus the network behind its LayerNorm is: ``image`` is what ``f.normal`` makes of ``y``, of which
    ``slack`` is due to rounding. By the chord of the inverse deviation; or for each of some pieces of its range, where
    what ``f.normal`` makes of ``y`` is between the ends ``held`` (Theorem 11), where they are known."""
    wide, m, reach, radius = centred(y), len(y.spans), reached(image), f.shift.radius
    if not pieces:
        whole = image._replace(spans=[*image.spans, [0] * len(image.centre)]), ONE, 0, (0, ONE, [0] * m, 0)
        (centre, spans, rest), size, dev, turn = whole if f.bare else divided(epsilon, wide, image)
        hidden = Form(list(map(add, centre, f.shift.centre)), spans, [r + radius for r in rest])
        off = [[0] * len(centre)] * 2
        yield behind(f, wide, y, (hidden, chords(f.kinds, hidden), slack), size, dev, [turn], off)
    *_, low, high = variance(epsilon, wide)
    first, last = (ONE, ONE) if f.bare else (ONE**2 // (math.isqrt(high) + 1), ONE**2 // math.isqrt(low) + 1)
    free = ((c - r, c + r) for c, r in zip(image.centre, reach, strict=True))
    ranges = [(a, b) if side is None else (max(a, side[0]), max(a, side[0], min(b, side[1])))
              for (a, b), side in zip(free, held, strict=False)]  # fmt: skip
    reaches = [max(map(abs, side)) for side in ranges], [abs(c) + r for c, r in zip(image.centre, reach, strict=True)]
    for k in range(pieces):
        ends = [first + (last - first) * t // pieces for t in (k, k + 1)]
        sides = [(a * ends[a < 0] >> BITS, (b * ends[b > 0] >> BITS) + 1) for a, b in ranges]
        by = [slope(kind, a + s - radius, b + s + radius)
              for kind, (a, b), s in zip(f.kinds, sides, f.shift.centre, strict=True)]  # fmt: skip
        tau, half = sum(ends) >> 1, (ends[1] - ends[0] >> 1) + 1
        hidden = Form([(c * tau >> BITS) + s for c, s in zip(image.centre, f.shift.centre, strict=True)],
                      [[v * tau >> BITS for v in g] for g in image.spans],
                      [(r * ends[1] >> BITS) + m + 5 + radius for r in image.rest])  # fmt: skip
        off = [[(half * x >> BITS) + 1 for x in far] for far in reaches]
        turns = [(end - tau, end, [0] * m, 0) for end in ends]
        yield behind(f, wide, y, (hidden, by, slack), ends[1], 0, turns, off)


def behind(
    f: Network, wide: Wide, y: Form, into: tuple[Form, list[Chord], int], size: int, dev: int, turns: list[Turned],
    off: Matrix,
) -> Behind:  # fmt: skip
    """The sum of what of ``y`` is added and what neurons make of inputs by their chords. The inverse deviation is one
    of ``turns``, and the inputs may be off by the first of ``off`` then, anywhere on the cell by the second."""
    d, m, (hidden, by, slack), x = len(y.centre), len(y.spans), into, kept(f, y)
    values, own = activated(by, hidden, (slack * size >> BITS) + f.shift.radius + m + 6)
    rests = [[r + (abs(c[0]) * x >> BITS) + 1 for r, c, x in zip(values.rest, by, far, strict=True)] for far in off]
    most = max(reached(values._replace(rest=rests[0])))
    cut = max(0, most.bit_length() - DIGIT)
    loose = Form([], [[v >> cut for v in g] for g in values.spans], [(r >> cut) + m + 2 for r in rests[0]])
    last = (total(values.centre) + sum(map(total, values.spans)) + sum(rests[1]) >> BITS) + m + 6
    made = times(f.outer.rows, values.centre)
    z = [c + (v >> BITS) + b for c, v, b in zip(x.centre, made, f.outer.bias, strict=True)]
    far = sum(map(total, x.spans)) + sum(x.rest) + d * ((f.outer.norm * most >> BITS) + last + 1)
    wider = (
        math.isqrt(wide[1] * f.adds) + (f.stretch * (math.isqrt(distance(loose) // d) + 1 << cut) >> BITS) + last + 2
    )
    middle, slopes = [v - sum(z) // d for v in z], [c[0] for c in by]
    # a unit where a neuron is multiplied, more where its input is
    lost = sum(own) + ((max(map(abs, slopes)) >> BITS) + 3) * (sum(reached(hidden)) + sum(off[1]))
    whole = total(y.centre) + sum(reached(y))
    return Behind(z, middle, last, y, whole, x, values, slopes, own, size, dev, lost, far, wider**2, turns)


def opened(y: Form) -> Form:
    """A form with a generator for each entry of its remainder, so that what the entry causes may cancel."""
    d = len(y.rest)
    return Form(y.centre, [*y.spans, *([0] * k + [r] + [0] * (d - k - 1) for k, r in enumerate(y.rest))], [0] * d)


def merged(y: Form, most: int) -> Form:
    """A form with its largest generators; the others go to the remainder."""
    order = sorted(y.spans, key=total, reverse=True)
    return Form(y.centre, order[:most], list(map(sum, zip(y.rest, *(map(abs, g) for g in order[most:]), strict=True))))


def carried(row: Vector, f: Network, z: Behind) -> tuple[int, Vector, Vector, int]:
    """A bound on ``row`` times the remainder behind the network (Lemma V6), each source by what the label makes of it;
    the coefficients of the stream's generators where they are added; and what neurons make of these and of the stream's
    middle, before the division, all by the image of the label there.

    ``row`` is taken as exact.
    """
    heads = [v >> BITS for v in times(f.back[0], row)]
    heads_in = [h * a >> BITS for h, a in zip(heads, z.slopes, strict=True)]
    back = [v >> BITS for v in times(f.back[1], heads_in)]
    found = dot(list(map(abs, row)), z.added.rest) + total(row) * z.last + dot(list(map(abs, heads)), z.own) + z.lost
    through = dot(list(map(abs, back)), z.stream.rest) + ((f.normal.off * total(heads_in) >> BITS) + 2) * z.whole
    changes = [dot(back, g) for g in z.stream.spans]
    found += (through * z.size + total(changes) * z.dev >> BITS) + 1
    return (found >> BITS) + 2, [dot(row, g) >> BITS for g in z.added.spans], changes, dot(back, z.stream.centre)


def signed(sign: Sign, z: Behind, f: Network, epsilon: int) -> list[tuple[int, Vector]]:
    """Lower bounds ``k + sum g_m eps_m``, the least of which holds, on the logit times the last deviation (Lemma 4)."""
    u, beta, error, shift = sign
    c, d = z.middle, len(z.centre)
    s = math.isqrt(dot(c, c) // d + epsilon)
    row = [v + beta * p // (d * s) for v, p in zip(u, c, strict=True)]
    off = 2 * error + 3 * abs(beta) // s + 4
    beyond, lines, changes, change = carried(row, f, z)
    slack = error * total(z.centre) + (error + 2) * s + 2 * abs(beta) + off * z.far
    if beta - error < 0:
        slack += (abs(beta) + error) * z.square // (2 * (s - 2)) + 1
    least = shift - error + (dot(u, z.centre) + beta * s >> BITS) - beyond - (slack >> BITS)
    least -= 2 * len(lines) + 9
    return [(least + (more * change - abs(rest * change) >> SQUARE),
             [v + (tau * w + t * change >> SQUARE) for v, w, t in zip(lines, changes, turns, strict=True)])
            for more, tau, turns, rest in z.turns]  # fmt: skip


def averaged(x: Form, bias: Vector, heads: Iterable[tuple[list[Side], Matrix, int]]) -> Form:
    """``x + bias`` plus the average of each head: its weights, its values, and how far off these are."""
    centre, rest = [a + b for a, b in zip(x.centre, bias, strict=True)], [r + 4 for r in x.rest]
    for es, values, radius in heads:
        whole, spread = sum(e[0] for e in es), sum(e[1] - e[0] for e in es)
        if whole <= 0:
            unproved(Place("model"), "the weights of the word vanish beside those of other symbols")
        lower = [e[0] for e in es]
        for k, column in enumerate(zip(*values, strict=True)):
            centre[k] += dot(lower, column) // whole
            rest[k] += 2 * max(map(abs, column)) * spread // whole + radius + 3
    return Form(centre, [], rest)
