"""Kernels of verdicts: a cell of attention's output to the signs of labels, by affine forms (docs/soft-verdicts.md).

The search's picture of what the checker computes in integers (Lemmas 2 to 4). An affine form is ``y = c + g eps + r``
with ``|eps| <= 1``: shapes ``(d,)``, ``(d, m)``, ``(d,)``. Nothing here is trusted, so nothing is rounded outward.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import F64
from restrict.kernels.copying import copy
from restrict.kernels.jit import kernel

CURVED = 0.83
"""Above the second derivative of the GELU (Lemma 3)."""
PIECES = 16
"""The most pieces of a neuron's range."""


class Tables(NamedTuple):
    """A block behind its attention, and some labels: matrices output by input; ``activation`` is 0 for the
    GELU by ``tanh``, 1 for that with the error function, and 2 for ReLU."""

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


@kernel
def product(a: F64, b: F64) -> F64:
    """The product of two matrices."""
    found = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            x = a[i, k]
            for j in range(b.shape[1]):
                found[i, j] += x * b[k, j]
    return found


@kernel
def moved(a: F64, bias: F64, c: F64, g: F64, r: F64) -> tuple[F64, F64, F64]:
    """The image of a form under a linear map."""
    centre, rest = bias.copy(), np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            centre[i] += a[i, k] * c[k]
            rest[i] += abs(a[i, k]) * r[k]
    return centre, product(a, g), rest


@kernel
def centred(c: F64, g: F64, r: F64) -> tuple[F64, F64, F64, F64, float]:
    """The form less its mean, the reach of each entry, and a bound on the mean square of the deviation (Lemma 2)."""
    d, m = g.shape
    c, g = c - c.mean(), g.copy()
    for k in range(m):
        mean = 0.0
        for i in range(d):
            mean += g[i, k]
        for i in range(d):
            g[i, k] -= mean / d
    r = r * (1 - 2 / d) + r.mean()
    reach, gram = r.copy(), 0.0
    for i in range(d):
        for k in range(m):
            reach[i] += abs(g[i, k])
    for j in range(m):
        for k in range(j + 1):
            x = 0.0
            for i in range(d):
                x += g[i, j] * g[i, k]
            gram += abs(x) * (1 if j == k else 2)
    ball = (np.sqrt(gram / d) + np.sqrt((r * r).mean())) ** 2
    return c, g, r, reach, min((reach * reach).mean(), ball)


@kernel
def variance(epsilon: float, c: F64, g: F64, r: F64, square: float) -> tuple[F64, float, float, float]:
    """The variance of a centred form (Lemma 2): its first order, what that leaves out, and both ends."""
    d, m = g.shape
    v0, loose = (c * c).mean() + epsilon, 2 * (np.abs(c) * r).mean()
    line = np.zeros(m)
    for i in range(d):
        for k in range(m):
            line[k] += 2 * c[i] / d * g[i, k]
    dev, root = np.abs(line).sum() + loose, np.sqrt(v0)
    low = max(epsilon, v0 - dev, max(0.0, root - np.sqrt(square)) ** 2)
    return line, loose, low, min(v0 + dev + square, (root + np.sqrt(square)) ** 2)


@kernel
def normalised(t: Tables, c: F64, g: F64, r: F64) -> tuple[F64, F64, F64]:
    """LayerNorm by the chord of the inverse root (Lemma 2); the last generator is the chord's own error."""
    d, m = g.shape
    c, g, r, reach, square = centred(c, g, r)
    v0 = (c * c).mean() + t.epsilon
    line, loose, low, high = variance(t.epsilon, c, g, r, square)
    a, b = np.sqrt(low), np.sqrt(high)
    chord = 1 / (a * b * (a + b))
    most, least = 1 / a + chord * low, 1.5 * np.cbrt(2 * chord)
    tau = (most + least) / 2 - chord * (v0 + square / 2)
    tau_r = (most - least) / 2 + chord * (loose + square / 2)
    off = chord * np.abs(line).sum() + tau_r
    rest, spans = (r * abs(tau) + reach * off) * np.abs(t.scale), np.zeros((d, m + 1))
    for i in range(d):
        copy(spans[i, :m], (g[i] * tau - c[i] * chord * line) * t.scale[i])
        spans[i, m] = c[i] * tau_r * t.scale[i]
    return c * tau * t.scale + t.shift, spans, rest


@kernel
def gelu(activation: int, x: float) -> float:
    """One of the two GELUs: GPT-2's, by ``tanh``, or that with the error function."""
    if activation == 0:
        return float(0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))))
    return 0.5 * x * math.erfc(-x / math.sqrt(2.0))


@kernel
def neuron(activation: int, low: float, high: float) -> tuple[float, float, float]:
    """``a, l, h`` with ``f(x) - a x`` in ``[l, h]`` for ``x`` in ``[low, high]`` (Lemma 3)."""
    if activation == 2:
        a = (max(high, 0.0) - max(low, 0.0)) / max(high - low, 1e-12)
        bend = min(max(0.0, low), high)
        x, y, z = max(low, 0.0) - a * low, max(bend, 0.0) - a * bend, max(high, 0.0) - a * high
        return a, min(x, y, z), max(x, y, z)
    pieces = min(PIECES, 2 + int(12 * (high - low)))
    first, last = gelu(activation, low), gelu(activation, high)
    a = (last - first) / max(high - low, 1e-12)
    least = most = first - a * low
    for k in range(1, pieces + 1):
        x = low + (high - low) * k / pieces
        y = gelu(activation, x) - a * x
        least, most = min(least, y), max(most, y)
    off = CURVED * ((high - low) / pieces) ** 2 / 8
    return a, least - off, most + off


@kernel
def activated(activation: int, c: F64, g: F64, r: F64) -> tuple[F64, F64]:
    """Each neuron by its chord, in place: the slopes, and what the chords leave out; ``r`` stays that of the inputs."""
    slopes, off = np.zeros(len(c)), np.zeros(len(c))
    for i in range(len(c)):
        reach = np.abs(g[i]).sum() + r[i]
        a, least, most = neuron(activation, c[i] - reach, c[i] + reach)
        c[i] = a * c[i] + (least + most) / 2
        for k in range(g.shape[1]):
            g[i, k] *= a
        slopes[i], off[i] = a, (most - least) / 2
    return slopes, off


@kernel
def signed(t: Tables, wanted: F64, c: F64, g: F64, r: F64) -> tuple[F64, F64]:
    """Lower bounds ``k + l . eps`` on each label's logit times its sign and the last deviation (Lemma 4).

    ``c, g, r`` is the residual stream behind attention; shapes ``(labels,)`` and ``(labels, m)``. The remainders of the
    LayerNorm and of the neurons are carried back from the label, so that they may cancel on the way.
    """
    d, m = g.shape
    x, y, normal = normalised(t, c, g, r)
    x, y, z = moved(t.inner, t.inner_bias, x, y, normal)
    slopes, off = activated(t.activation, x, y, z)
    x, y, z = moved(t.outer, t.outer_bias, x, y, np.abs(slopes) * z + off)
    x, z = x + c, z + r
    for i in range(d):
        for k in range(m):
            y[i, k] += g[i, k]
    middle, _, _, _, square = centred(x, y, z)
    s = np.sqrt((middle * middle).mean() + t.epsilon)
    least, lines = np.zeros(len(t.beta)), np.zeros((len(t.beta), m))
    for k in range(len(t.beta)):
        beta = t.beta[k] * wanted[k]
        u = t.rows[k] * wanted[k]
        row = u + beta * middle / (d * s)
        least[k] = (u * x).sum() + beta * s - (np.abs(row) * r).sum() + min(beta, 0.0) * square / (2 * s)
        line = product(row.reshape(1, d), y)[0]
        back = product(row.reshape(1, d), t.outer)
        least[k] -= abs(line[m]) + (np.abs(back[0]) * off).sum()
        least[k] -= (np.abs(product(back * slopes, t.inner)[0]) * normal).sum()
        copy(lines[k], line[:m])
    return least, lines
