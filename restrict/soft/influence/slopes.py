"""Enclosures of the gradient of a logit by the residual stream behind the attention of a model's last layer.

Everything is an affine form: ``c + G eps + r`` with ``|eps| <= 1``, shapes ``(d,)``, ``(d, m)`` and ``(d,)`` (each
entry is off by at most ``r``). Forwards through LayerNorm, network and final LayerNorm, then backwards. The first order
in the generators is kept, so what is lost is of second order: intervals lose a factor of 100 on trained models.

Rounding: every operation adds :data:`ROUND` times the sum of the absolute values of what it adds up, which is above the
error of any sum of up to 8 000 rounded products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from restrict.soft.bounds.parts import GELU_SLOPES, ReadyFeedForward, ReadyLayer, eps_range
from restrict.soft.models.evaluate import activated
from restrict.soft.models.model import Floats, LayerNorm

ROUND = 1e-12
CURVED, BENT = 0.83, 1.3
"""Above the absolute second and third derivative of either GELU."""


@dataclass(frozen=True, eq=False)
class Form:
    """``c + g eps + r``: shapes ``(d,)``, ``(d, m)``, ``(d,)``."""

    c: Floats
    g: Floats
    r: Floats

    @property
    def reach(self) -> Floats:
        """How far each entry goes from its centre."""
        found: Floats = np.abs(self.g).sum(1) + self.r
        return found

    @property
    def size(self) -> Floats:
        """The greatest absolute value of each entry."""
        found: Floats = np.abs(self.c) + self.reach
        return found

    def rounded(self, size: Floats) -> Form:
        """With room for the error of operations on numbers of this size."""
        return Form(self.c, self.g, self.r + ROUND * size)


def added(a: Form, b: Form) -> Form:
    """The sum of two forms in the same generators."""
    return Form(a.c + b.c, a.g + b.g, a.r + b.r).rounded(a.size + b.size)


def mapped(matrix: Floats, a: Form, shift: Floats | float = 0.0) -> Form:
    """``matrix a + shift``."""
    size = np.abs(matrix)
    return Form(matrix @ a.c + shift, matrix @ a.g, size @ a.r).rounded(size @ a.size + np.abs(shift))


def times(a: Form, b: Form) -> Form:
    """Products, entry by entry; either may have one entry."""
    g = a.c[:, None] * b.g + b.c[:, None] * a.g
    r = np.abs(a.c) * b.r + np.abs(b.c) * a.r + a.reach * b.reach
    return Form(a.c * b.c, g, r).rounded(a.size * b.size)


def scaled(a: Form, weight: Floats, shift: Floats | float = 0.0) -> Form:
    """``weight a + shift``, entry by entry."""
    form = Form(a.c * weight + shift, a.g * weight[:, None], a.r * np.abs(weight))
    return form.rounded(a.size * np.abs(weight) + np.abs(shift))


def centred(a: Form) -> Form:
    """The form less its mean."""
    d = len(a.c)
    return mapped(np.eye(d) - 1 / d, a)


def inverse_root(v: Form) -> Form:
    """``1 / sqrt(v)`` of a positive form with one entry: to the first order, or as an interval where that is better."""
    c, reach = float(v.c[0]), float(v.reach[0])
    low, high = c - reach, c + reach
    if low <= 0:
        wide = np.full(1, np.inf)
        return Form(np.zeros(1), np.zeros_like(v.g), wide)
    least, most = high**-0.5, low**-0.5
    loose = (most - least) / 2
    slope, off = -0.5 * c**-1.5, 0.375 * low**-2.5 * reach * reach
    if off + abs(slope) * float(v.r[0]) < loose:
        return Form(np.array([c**-0.5]), slope * v.g, np.array([off]) + abs(slope) * v.r).rounded(np.array([most]))
    return Form(np.array([(most + least) / 2]), np.zeros_like(v.g), np.array([loose])).rounded(np.array([most]))


@dataclass(frozen=True, eq=False)
class Normed:
    """A LayerNorm on a form: its image, the centred input over the deviation, and one over the deviation."""

    norm: LayerNorm
    image: Form
    shape: Form
    scale: Form

    def back(self, b: Form) -> Form:
        """The gradient before it from the one behind it."""
        weighted = scaled(b, self.norm.weight)
        d = len(b.c)
        share = mapped(np.full((1, d), 1 / d), times(self.shape, weighted))
        level = centred(weighted)
        gap = times(self.shape, share)
        return times(added(level, Form(-gap.c, -gap.g, gap.r)), self.scale)


def normed(norm: LayerNorm, x: Form) -> Normed:
    """LayerNorm of a form."""
    u = centred(x)
    d = len(u.c)
    low, high = eps_range(norm)
    square = mapped(np.full((1, d), 1 / d), times(u, u), np.array([(low + high) / 2]))
    scale = inverse_root(_at_least(Form(square.c, square.g, square.r + (high - low)), low))
    shape = times(u, scale)
    return Normed(norm, scaled(shape, norm.weight, norm.bias), shape, scale)


def _at_least(v: Form, low: float) -> Form:
    """A form with one entry, which is known to be at least ``low``: as an interval where it goes below."""
    if float(v.c[0] - v.reach[0]) > low * (1 - 1e-9) or low <= 0:
        return v
    high = float(v.c[0] + v.reach[0])
    return Form(np.array([(high + low) / 2]), np.zeros_like(v.g), np.array([(high - low) / 2 * (1 - 1e-9)]))


@dataclass(frozen=True, eq=False)
class Network:
    """A network on a form: its image (without skip connection), and the derivatives of its hidden units."""

    ffn: ReadyFeedForward
    image: Form
    slopes: Form

    def back(self, b: Form) -> Form:
        """The gradient before it from the one behind it."""
        return mapped(self.ffn.inner.matrix.T, times(self.slopes, mapped(self.ffn.outer.matrix.T, b)))


def network(ffn: ReadyFeedForward, x: Form) -> Network:
    """A network of a form."""
    z = mapped(ffn.inner.matrix, x, ffn.inner.bias)
    value, slopes = hidden(ffn.kind, z)
    return Network(ffn, mapped(ffn.outer.matrix, value, ffn.outer.bias), slopes)


def hidden(kind: str, z: Form) -> tuple[Form, Form]:
    """Hidden units and their derivatives: to the first order, or with slopes in an interval where that is better."""
    reach = z.reach
    value: Floats = activated(kind, z.c)
    if kind == "relu":
        low, high = (z.c > reach).astype(float), (z.c >= -reach).astype(float)
        slope, off = (low + high) / 2, (high - low) / 2
        image = Form(value, z.g * slope[:, None], slope * z.r + off * reach)
        return image.rounded(z.size), Form(slope, np.zeros_like(z.g), off)
    first, second = derivatives(kind, z.c)
    middle, half = sum(GELU_SLOPES) / 2, (GELU_SLOPES[1] - GELU_SLOPES[0]) / 2
    near = CURVED * reach < 2 * half
    slope = np.where(near, first, middle)
    off = np.where(near, CURVED / 2 * reach * reach, half * reach)
    image = Form(value, z.g * slope[:, None], np.abs(slope) * z.r + off)
    curve = np.where(BENT / 2 * reach * reach < half, second, 0.0)
    rest = np.abs(curve) * z.r + np.where(curve != 0, BENT / 2 * reach * reach, np.minimum(CURVED * reach, 2 * half))
    return image.rounded(z.size), Form(first, z.g * curve[:, None], rest).rounded(1 + z.size)


def derivatives(kind: str, x: Floats) -> tuple[Floats, Floats]:
    """The first and second derivative of a GELU, up to 1e-13."""
    if kind == "gelu":
        normal = np.vectorize(lambda t: 0.5 * math.erfc(-t / math.sqrt(2)), otypes=[np.float64])(x)
        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return normal + x * density, density * (2 - x * x)
    k, cubic = math.sqrt(2 / math.pi), 0.044715
    t = np.tanh(k * (x + cubic * x**3))
    inner, bent = k * (1 + 3 * cubic * x * x), 6 * k * cubic * x
    sech = 1 - t * t
    return 0.5 * (1 + t) + 0.5 * x * sech * inner, sech * inner + 0.5 * x * (sech * bent - 2 * t * sech * inner * inner)


def gradient(layer: ReadyLayer, final: LayerNorm | None, row: Floats, y: Form) -> Form:
    """The gradient of ``row . activation`` by the residual stream behind attention, on all streams of a form."""
    steps: list[Callable[[Form], Form]] = []

    def normalised(norm: LayerNorm | None, x: Form) -> Form:
        if norm is None:
            return x
        made = normed(norm, x)
        steps.append(made.back)
        return made.image

    x = normalised(layer.norm1 if layer.norm == "post" else None, y)
    if layer.ffn is not None and layer.norm == "pre" and layer.norm2 is not None:
        before = normed(layer.norm2, x)
        made = network(layer.ffn, before.image)
        steps.append(lambda b: added(b, before.back(made.back(b))))
        x = added(x, made.image)
    elif layer.ffn is not None:
        plain = network(layer.ffn, x)
        steps.append(lambda b: added(b, plain.back(b)))
        x = normalised(layer.norm2, added(x, plain.image))
    normalised(final, x)
    back = Form(row, np.zeros((len(row), y.g.shape[1])), ROUND * np.abs(row))
    for step in reversed(steps):
        back = step(back)
    return back


def point(x: Floats) -> Form:
    """A single vector."""
    return Form(x, np.zeros((len(x), 0)), np.zeros(len(x)))
