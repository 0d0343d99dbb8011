"""A cell of attention's output carried to the signs of labels by affine forms (docs/soft-verdicts.md). The search's
picture of what the checker computes in integers (Lemmas 2 to 4). An affine form is ``y = c + g eps + r`` with ``|eps|
<= 1``: shapes ``(d,)``, ``(d, m)``, ``(d,)``; axes in front of the first two number several forms. Nothing here is
trusted, so nothing is rounded outward. The matrices are small: numpy takes a tenth of a millisecond for a cell, and
compiled loops took six seconds to compile."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import F64
from restrict.base.options import Fact
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.read_out import Asked

CURVED: Fact[float] = 0.83
"""Above the second derivative of the GELU (Lemma 3)."""
_erfc = np.frompyfunc(math.erfc, 1, 1)


class Tables(NamedTuple):
    """A block behind its attention, and some labels: matrices output by input; ``activation`` is 0 for the
    GELU by ``tanh``, 1 for that with the error function, and 2 for ReLU; the last ``straight`` neurons have none.
    ``adds`` is 1 where the network is added to the stream, and 0 where neurons carry what it is added to (Lemma V16).

    ``normal`` and ``constant`` are ``inner`` behind the LayerNorm's weight and bias, before the division by the
    deviation, ``sizes`` the sizes of its entries; ``stretch`` is the bound on the norm of ``outer`` that the checker
    computes. ``bare``: there is no LayerNorm, and nothing is divided.
    """

    scale: F64
    shift: F64
    inner: F64
    inner_bias: F64
    outer: F64
    outer_bias: F64
    epsilon: float
    activation: int
    rows: F64
    beta: F64
    normal: F64
    constant: F64
    stretch: float
    constants: F64
    straight: int
    adds: int
    bare: bool
    sizes: F64


class Near(NamedTuple):
    """A form, and what every bound on its cell needs of it: itself centred (entries, generators, remainder, a bound on
    the mean square of the deviation), and what ``normal`` makes of its generators, its centre and its remainder."""

    c: F64
    g: F64
    r: F64
    middle: F64
    spans: F64
    rest: F64
    square: F64
    image: F64
    x: F64
    loose: F64


def valued(t: Tables, asked: Asked, c: F64) -> F64:
    """What is asked of the logits, times the last deviation, at points of the stream, shape ``(points, d)``."""
    d, divisor = c.shape[-1], 1.0 if t.bare else np.sqrt(c.var(-1, keepdims=True) + t.epsilon)
    x, bent = c @ t.normal.T / divisor + t.constant, len(t.constant) - t.straight
    head = x[..., :bent]
    x[..., :bent] = np.maximum(head, 0) if t.activation == 2 else gelu(t.activation, head)
    out = c * t.adds + x @ t.outer.T + t.outer_bias
    s = np.sqrt(_square(out - out.sum(-1, keepdims=True) / d) + t.epsilon)[..., None]
    said = out @ t.rows.T + t.beta * s + t.constants
    found: F64 = (asked.rows(said) @ said[..., None])[..., 0]
    return found


def near(t: Tables, c: F64, g: F64, r: F64) -> Near:
    """A form made ready; axes in front number several."""
    middle, spans, rest, _, square = centred(c, g, r)
    return Near(c, g, r, middle, spans, rest, square, t.normal @ g, c @ t.normal.T, r @ t.sizes.T)


def moved(a: F64, bias: F64, c: F64, g: F64, r: F64) -> tuple[F64, F64, F64]:
    """The image of a form under a linear map."""
    return bias + c @ a.T, a @ g, r @ np.abs(a).T


def _square(x: F64) -> F64:
    return np.asarray(np.square(x).sum(-1) / x.shape[-1])


def centred(c: F64, g: F64, r: F64) -> tuple[F64, F64, F64, F64, F64]:
    """The form less its mean, the reach of each entry, and a bound on the mean square of the deviation (Lemma 2)."""
    d = c.shape[-1]
    c, g = c - c.sum(-1, keepdims=True) / d, g - g.sum(-2, keepdims=True) / d
    r = r * (1 - 2 / d) + r.sum(-1, keepdims=True) / d
    return c, g, r, r + np.abs(g).sum(-1), distance(g, r) / d


def distance(g: F64, r: F64) -> F64:
    """A bound on the square of the length of what a form deviates (Lemma 2)."""
    further = np.zeros(g.shape[:-2])
    if g.shape[-1] > OPTIONS.long:
        sizes = np.square(g).sum(-2)
        order = np.argsort(sizes)
        g = np.take_along_axis(g, order[..., None, -OPTIONS.long :], -1)
        further = np.sqrt(np.take_along_axis(sizes, order[..., : -OPTIONS.long], -1)).sum(-1)
    crossed: F64 = np.abs(np.swapaxes(g, -1, -2) @ g).sum((-1, -2))
    return np.asarray((np.sqrt(crossed) + further + np.sqrt(np.square(r).sum(-1))) ** 2)


def variance(epsilon: float, c: F64, g: F64, r: F64, square: F64) -> tuple[F64, F64, F64, F64]:
    """The variance of a centred form (Lemma 2): its first order, what that leaves out, and both ends."""
    v, d = _square(c), c.shape[-1]
    loose, line = 2 / d * (np.abs(c) * r).sum(-1), 2 / d * (c[..., None, :] @ g)[..., 0, :]
    dev = np.abs(line).sum(-1) + loose
    low = epsilon + np.maximum(0.0, 2 * v - dev) ** 2 / np.maximum(4 * v, 1e-300)
    return line, loose, low, v + epsilon + dev + square


def inverse(epsilon: float, c: F64, g: F64, r: F64, square: F64) -> tuple[F64, F64, F64, F64]:
    """The inverse deviation of a centred form by its chord (Lemma 2): its constant, its line, what these leave out, and
    how far it is from its constant."""
    v0 = _square(c) + epsilon
    line, loose, low, high = variance(epsilon, c, g, r, square)
    a, b = np.sqrt(low), np.sqrt(high)
    chord = 1 / (a * b * (a + b))
    most, least = 1 / a + chord * low, 1.5 * (2 * chord) ** (1 / 3)
    tau = (most + least) / 2 - chord * (v0 + square / 2)
    tau_r = (most - least) / 2 + chord * (loose + square / 2)
    return tau, -chord[..., None] * line, tau_r, chord * np.abs(line).sum(-1) + tau_r


def divided(by: tuple[F64, F64, F64, F64], c: F64, g: F64, r: F64) -> tuple[F64, F64, F64]:
    """A form times an inverse deviation; the last generator is the chord's own error."""
    tau, line, tau_r, off = by[0][..., None], by[1], by[2][..., None], by[3][..., None]
    spans = np.empty((*c.shape, line.shape[-1] + 1))
    spans[..., :-1] = g * tau[..., None] + c[..., None] * line[..., None, :]
    spans[..., -1] = c * tau_r
    return c * tau, spans, r * np.abs(tau) + (np.abs(g).sum(-1) + r) * off


def normalised(t: Tables, c: F64, g: F64, r: F64) -> tuple[F64, F64, F64]:
    """LayerNorm (Lemma 2), if there is one."""
    if t.bare:
        return c, g, r
    c, g, r, _, square = centred(c, g, r)
    c, g, r = divided(inverse(t.epsilon, c, g, r, square), c, g, r)
    return c * t.scale + t.shift, g * t.scale[:, None], r * np.abs(t.scale)


def gelu(activation: int, x: F64) -> F64:
    """One of the two GELUs: GPT-2's, by ``tanh``, or that with the error function."""
    if activation == 0:
        found: F64 = 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))))
    else:
        found = 0.5 * x * np.asarray(_erfc(x * -math.sqrt(0.5)), dtype=np.float64)
    return found


def _neurons(t: Tables, low: F64, high: F64) -> tuple[F64, F64, F64]:
    """:func:`_bent` along the last axis, and behind these neurons those that change nothing."""
    bent = low.shape[-1] - t.straight
    if not t.straight:
        slopes, least, most = _bent(t.activation, low.ravel(), high.ravel())
        return slopes.reshape(low.shape), least.reshape(low.shape), most.reshape(low.shape)
    found = np.zeros((3, *low.shape))
    found[0] = 1.0
    made = _bent(t.activation, low[..., :bent].ravel(), high[..., :bent].ravel())
    found[..., :bent] = np.reshape(made, (3, *low.shape[:-1], bent))
    return found[0], found[1], found[2]


def _bent(activation: int, low: F64, high: F64) -> tuple[F64, F64, F64]:
    """``a, l, h`` with ``f(x) - a x`` in ``[l, h]`` for ``x`` in ``[low, high]``, for each neuron (Lemma 3). The points
    are the checker's: by others its cells of nodes were not the search's, and bounds with slopes were refused."""
    width = high - low
    if activation == 2:
        step, xs = np.zeros_like(width), np.stack([low, np.clip(0.0, low, high), high])
        ys = np.maximum(xs, 0.0)
    else:
        pieces = 2 + np.minimum(12 * width, OPTIONS.pieces - 2).astype(np.int64)
        step = np.exp2(np.floor(np.log2(np.maximum(width, 1e-12) / pieces)))
        grid = np.arange(2 * pieces.max(initial=1) + 2)[:, None]  # some of them at an end
        xs = np.clip((np.floor(low / step) + grid) * step, low, high)
        ys = gelu(activation, xs)
    a = (ys[-1] - ys[0]) / np.maximum(width, 1e-12)
    beside = ys - a * xs
    off = CURVED / 8 * step**2
    return a, beside.min(0) - off, beside.max(0) + off


def activated(t: Tables, c: F64, g: F64, r: F64) -> tuple[F64, F64]:
    """Each neuron by its chord, in place: the slopes, and what the chords leave out; ``r`` stays that of the inputs."""
    reach = np.abs(g).sum(-1) + r
    slopes, least, most = _neurons(t, c - reach, c + reach)
    c *= slopes
    c += (least + most) / 2
    g *= slopes[..., None]
    return slopes, (most - least) / 2


def signed(t: Tables, asked: Asked, at: Near) -> tuple[F64, F64]:
    """Lower bounds ``k + l . eps`` on what is asked of the logits, times the last deviation (Lemma 4): ``k`` of shape
    ``(..., asked)``, ``l`` of shape ``(..., asked, m)``. ``at`` is the residual stream behind attention. The remainders
    of the stream and of the neurons are carried back from the logits, so that they may cancel on the way (Lemma V6)."""
    c, g, r, square, image = at.c, at.g, at.r, at.square, at.image
    d, m = g.shape[-2:]
    none = np.zeros(c.shape[:-1])
    by = (
        (none + 1, g[..., 0, :] * 0, none, none) if t.bare else inverse(t.epsilon, at.middle, at.spans, at.rest, square)
    )
    x, y, z = divided(by, at.x, image, at.loose)
    x += t.constant
    slopes, off = activated(t, x, y, z)
    far = np.sqrt(square * t.adds) + t.stretch * np.sqrt(distance(y, np.abs(slopes) * z + off) / d)
    out = c * t.adds + x @ t.outer.T + t.outer_bias
    middle = out - out.sum(-1, keepdims=True) / d
    s = np.sqrt(_square(middle) + t.epsilon)[..., None]
    said = out @ t.rows.T + t.beta * s + t.constants
    lines = asked.rows(said)
    beta, u = lines @ t.beta, lines @ t.rows
    row = u + beta[..., None] * (middle / (d * s))[..., None, :]
    back = row @ t.outer
    line, inner = back @ y, back * slopes[..., None, :]
    line[..., :m] += row @ g * t.adds
    dev, turn = by[3][..., None], (np.abs(by[0]) + by[3])[..., None]
    least = (lines @ said[..., None])[..., 0] - np.abs(row) @ r * t.adds
    least += np.minimum(beta, 0.0) * far[..., None] ** 2 / (2 * s)
    least -= np.abs(line[..., m]) + (np.abs(back) @ off[..., None])[..., 0] + np.abs(inner @ t.normal) @ r * turn
    return least - np.abs(inner @ image).sum(-1) * dev, line[..., :m]


def between(t: Tables, asked: Asked, at: Near, ends: F64, held: F64) -> tuple[F64, F64]:
    """As :func:`signed`, at both ends of some ranges of the inverse deviation, between which it is constant (Theorem
    11): shapes ``(ranges, 2, asked)`` and ``(ranges, 2, asked, m)``. ``ends``: shape ``(ranges, 2)``. ``held``: between
    which ends what ``t.normal`` makes of the stream is, shape ``(2, neurons)``."""
    c, g, r, image, x, loose = at.c, at.g, at.r, at.image, at.x, at.loose
    d, (first, last) = len(c), ends.T[..., None]
    tau, half = (first + last) / 2, (last - first) / 2
    reach = np.abs(image).sum(1) + loose
    low, high = np.maximum(x - reach, held[0]), np.minimum(x + reach, held[1])
    high = np.maximum(low, high)  # no word is in a cell where they cross
    slopes, below, above = _neurons(
        t, np.minimum(first * low, last * low) + t.constant, np.maximum(first * high, last * high) + t.constant
    )
    off, beyond = (above - below) / 2, half * np.maximum(np.abs(low), np.abs(high)) + last * loose
    moves = distance((tau * slopes)[..., None] * image, np.abs(slopes) * beyond + off) / d
    far = np.sqrt(at.square * t.adds) + t.stretch * np.sqrt(moves)
    fixed = c * t.adds + (slopes * t.constant + (below + above) / 2) @ t.outer.T + t.outer_bias
    turned = (slopes * x) @ t.outer.T
    base = fixed + tau * turned
    middle = base - base.sum(1, keepdims=True) / d
    s = np.sqrt(_square(middle) + t.epsilon)[:, None]
    lines = asked.rows(base @ t.rows.T + t.beta * s + t.constants)
    beta, u = lines @ t.beta, lines @ t.rows
    bent = beta[..., None] * (middle / (d * s))[:, None]
    row = u + bent
    back = row @ t.outer
    inner = back * slopes[:, None]
    least = beta * s - (bent @ base[..., None])[..., 0] + lines @ t.constants
    least += np.minimum(beta, 0.0) * far[:, None] ** 2 / (2 * s) - np.abs(row) @ r * t.adds
    least -= (np.abs(back) @ off[..., None])[..., 0] + np.abs(inner @ t.normal) @ r * last
    grown, read = row @ g * t.adds, inner @ image
    said, more = (row @ np.stack([fixed, turned], 2)).transpose(2, 0, 1)
    values = [least + said + f * more for f in (first, last)]
    return np.stack(values, 1), np.stack([grown + f[..., None] * read for f in (first, last)], 1)
