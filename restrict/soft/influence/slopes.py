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
from restrict.soft.models.evaluate import activated, steepness
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


def parted(a: Form) -> Form:
    """The remainders as generators of their own, behind those that are there: linear maps then add no more to them."""
    return Form(a.c, np.hstack([a.g, np.diag(a.r)]), np.zeros(len(a.r)))


def _padded(a: Form, b: Form) -> tuple[Form, Form]:
    """Two forms of which one has generators behind those of the other."""
    more = b.g.shape[1] - a.g.shape[1]
    if more > 0:
        return Form(a.c, np.hstack([a.g, np.zeros((len(a.c), more))]), a.r), b
    if more < 0:
        return a, Form(b.c, np.hstack([b.g, np.zeros((len(b.c), -more))]), b.r)
    return a, b


def added(a: Form, b: Form) -> Form:
    """The sum of two forms in the same generators, or where one has more."""
    a, b = _padded(a, b)
    return Form(a.c + b.c, a.g + b.g, a.r + b.r).rounded(a.size + b.size)


def mapped(matrix: Floats, a: Form, shift: Floats | float = 0.0) -> Form:
    """``matrix a + shift``."""
    size = np.abs(matrix)
    return Form(matrix @ a.c + shift, matrix @ a.g, size @ a.r).rounded(size @ a.size + np.abs(shift))


def times(a: Form, b: Form) -> Form:
    """Products, entry by entry; either may have one entry."""
    a, b = _padded(a, b)
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


def inverse_root(v: Form, low: float, high: float) -> Form:
    """``1 / sqrt(v)`` of a form with one entry that lies between two numbers: along the chord, or as an interval.

    ``f(v) + A v`` with ``A = 1 / (sqrt low sqrt high (sqrt low + sqrt high))``, the chord's slope, is convex: at most
    its value at the ends, at least its minimum ``3/2 (2A)^(1/3)`` over all positive numbers (docs/soft-verdicts.md).
    """
    if low <= 0 or not math.isfinite(high):
        return Form(np.zeros(1), np.zeros_like(v.g), np.full(1, np.inf))
    roots = math.sqrt(low), math.sqrt(high)
    slope = 1 / (roots[0] * roots[1] * (roots[0] + roots[1]))
    most, least = 1 / roots[0] + slope * low, 1.5 * (2 * slope) ** (1 / 3)
    middle, off, size = (most + least) / 2, (most - least) / 2, np.array([most])
    along = Form(middle - slope * v.c, -slope * v.g, off + slope * v.r)
    flat = np.array([(1 / roots[0] - 1 / roots[1]) / 2])
    if float(along.reach[0]) <= 4 * flat[0]:
        return along.rounded(size + slope * v.size)
    return Form(np.array([(1 / roots[0] + 1 / roots[1]) / 2]), np.zeros_like(v.g), flat).rounded(size)


def variance(u: Form, low: float, high: float) -> tuple[Form, float, float]:
    """The mean square of a centred form plus epsilon (between two numbers), and its ends: Lemma 2."""
    d, reach = len(u.c), u.reach
    whole = float(u.c @ u.c) / d
    gram = math.sqrt(float(np.abs(u.g.T @ u.g).sum()) / d) + math.sqrt(float(u.r @ u.r) / d)
    square = min(float(reach @ reach) / d, gram * gram) * (1 + 1e-9)
    slope, rest = 2 * (u.c @ u.g) / d, 2 * float(np.abs(u.c) @ u.r) / d
    far, root = float(np.abs(slope).sum()) + rest, math.sqrt(whole)
    size = ROUND * (whole + far + square + high)
    least = max(whole - far, max(root - math.sqrt(square), 0.0) ** 2, 0.0)
    most = min(whole + far + square, (root + math.sqrt(square)) ** 2)
    form = Form(
        np.array([whole + square / 2 + (low + high) / 2]), slope[None], np.array([rest + square / 2 + (high - low)])
    )
    return form.rounded(np.array([whole + far + square + high])), max(least - size, 0.0) + low, most + size + high


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
    scale = inverse_root(*variance(u, *eps_range(norm)))
    shape = _at_most(times(u, scale), math.sqrt(d) * (1 + 1e-9))
    return Normed(norm, scaled(shape, norm.weight, norm.bias), shape, scale)


def _at_most(a: Form, most: float) -> Form:
    """A form whose entries are known not to be larger: as an interval where it goes above."""
    far = ~(a.size <= most)
    return Form(np.where(far, 0.0, a.c), np.where(far[:, None], 0.0, a.g), np.where(far, most, a.r))


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
    z = mapped(ffn.inner.matrix, parted(x), ffn.inner.bias)
    value, slopes = hidden(ffn.kind, z)
    return Network(ffn, mapped(ffn.outer.matrix, parted(value), ffn.outer.bias), slopes)


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
    first: Floats = steepness(kind, x)
    if kind == "gelu":
        return first, np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * (2 - x * x)
    k, cubic = math.sqrt(2 / math.pi), 0.044715
    t = np.tanh(k * (x + cubic * x**3))
    inner, bent = k * (1 + 3 * cubic * x * x), 6 * k * cubic * x
    sech = 1 - t * t
    return first, sech * inner + 0.5 * x * (sech * bent - 2 * t * sech * inner * inner)


def value(layer: ReadyLayer, final: LayerNorm | None, row: Floats, y: Form) -> Form:
    """``row . activation`` on all residual streams behind attention of a form."""
    x = normed(layer.norm1, y).image if layer.norm == "post" and layer.norm1 is not None else y
    if layer.ffn is not None:
        before = layer.norm2 if layer.norm == "pre" else None
        x = added(x, network(layer.ffn, x if before is None else normed(before, x).image).image)
        if layer.norm != "pre" and layer.norm2 is not None:
            x = normed(layer.norm2, x).image
    if final is None:
        return mapped(row[None], x)
    weighted = row * final.weight
    u = centred(x)
    product = times(mapped((weighted - weighted.mean())[None], u), inverse_root(*variance(u, *eps_range(final))))
    most = float(np.linalg.norm(weighted)) * math.sqrt(len(row)) * (1 + 1e-9)
    return added(_at_most(product, most), mapped(row[None], point(final.bias)))


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
    own = y.g.shape[1]
    return Form(back.c, back.g[:, :own], back.r + np.abs(back.g[:, own:]).sum(1))


def point(x: Floats) -> Form:
    """A single vector."""
    return Form(x, np.zeros((len(x), 0)), np.zeros(len(x)))
