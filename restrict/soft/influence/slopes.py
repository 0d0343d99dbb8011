"""Enclosures of logits and their gradients by the residual stream behind the attention of a model's last layer.

Everything is an affine form: ``c + G eps + r`` with ``|eps| <= 1``, shapes ``(..., d)``, ``(..., d, m)`` and ``(...,
d)`` (each entry is off by at most ``r``; the axes in front number cells, which have nothing to do with each other).
Forwards through LayerNorm, network and final LayerNorm, then backwards. The first order in the generators is kept, so
what is lost is of second order: intervals lose a factor of 100 on trained models.

Rounding: every operation adds :data:`ROUND` times the sum of the absolute values of what it adds up, which is above the
error of any sum of up to 8 000 rounded products.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import Bools
from restrict.base.errors import ResourceLimit
from restrict.base.options import Fact
from restrict.soft.bounds.parts import GELU_SLOPES, ReadyFeedForward, ReadyLayer, eps_range
from restrict.soft.bounds.positionwise import VANISHES
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.models.evaluate import activated, steepness
from restrict.soft.models.model import Floats, LayerNorm

ROUND: Fact[float] = 1e-12
CURVED: Fact[float] = 0.83
BENT: Fact[float] = 1.3
"""Above the absolute second and third derivative of either GELU."""


@dataclass(frozen=True, eq=False)
class SlopeForm:
    """``c + g eps + r``: shapes ``(..., d)``, ``(..., d, m)``, ``(..., d)``."""

    c: Floats
    g: Floats
    r: Floats

    @property
    def reach(self) -> Floats:
        """How far each entry goes from its centre."""
        return np.asarray(np.abs(self.g).sum(-1) + self.r)

    @property
    def size(self) -> Floats:
        """The greatest absolute value of each entry."""
        return np.asarray(np.abs(self.c) + self.reach)

    def rounded(self, size: Floats) -> "SlopeForm":
        """The form with room for the error of operations on numbers of this size."""
        return SlopeForm(self.c, self.g, self.r + ROUND * size)


def parted(a: SlopeForm) -> SlopeForm:
    """The remainders as generators of their own, behind those that are there: linear maps then add no more to them."""
    own = a.r[..., None] * np.eye(a.r.shape[-1])
    return SlopeForm(a.c, np.concatenate([a.g, own], axis=-1), np.zeros_like(a.r))


def _padded(a: SlopeForm, b: SlopeForm) -> tuple[SlopeForm, SlopeForm]:
    """Two forms of which one has generators behind those of the other."""
    most = max(a.g.shape[-1], b.g.shape[-1])

    def wide(form: SlopeForm) -> SlopeForm:
        more = most - form.g.shape[-1]
        return SlopeForm(form.c, np.concatenate([form.g, np.zeros((*form.g.shape[:-1], more))], axis=-1), form.r)

    return (a if a.g.shape[-1] == most else wide(a)), (b if b.g.shape[-1] == most else wide(b))


def added(a: SlopeForm, b: SlopeForm) -> SlopeForm:
    """The sum of two forms in the same generators, or where one has more."""
    a, b = _padded(a, b)
    return SlopeForm(a.c + b.c, a.g + b.g, a.r + b.r).rounded(a.size + b.size)


def mapped(matrix: Floats, a: SlopeForm, shift: Floats | float = 0.0) -> SlopeForm:
    """``matrix a + shift``."""
    off = (a.r + ROUND * a.size) @ np.abs(matrix).T + ROUND * np.abs(shift)
    g = matrix @ a.g if a.g.shape[-1] else np.zeros((*off.shape, 0))
    return SlopeForm(a.c @ matrix.T + shift, g, off)


def _largest(a: SlopeForm) -> tuple[Floats, Floats]:
    """The ``INFLUENCE.products`` largest generators of each form, and how far the others go together."""
    size = np.abs(a.g)
    if a.g.shape[-1] <= INFLUENCE.products:
        return a.g, np.zeros_like(a.r)
    order = np.argsort(-size.sum(-2, keepdims=True), axis=-1, kind="stable")
    less = np.take_along_axis(size, order[..., INFLUENCE.products :], -1).sum(-1)
    return np.take_along_axis(a.g, order[..., : INFLUENCE.products], -1), less


def contracted(matrix: Floats, a: SlopeForm, b: SlopeForm) -> SlopeForm:
    """``sum_j matrix[k, j] a_j b_j``. What is not of the first order is ``eps H_k eps'`` for one matrix ``H_k``: the
    sizes of its entries are added up, in which the products of all ``j`` have met."""
    (left, less), (right, rest) = _largest(a), _largest(b)
    reach = [np.abs(part).sum(-1) for part in (left, right)]
    met = (matrix[:, None] * np.swapaxes(left, -1, -2)[..., None, :, :]) @ right[..., None, :, :]
    off = reach[0] * rest + less * (reach[1] + rest)
    off = off + (np.abs(a.c) + reach[0] + less) * b.r + (np.abs(b.c) + reach[1] + rest + b.r) * a.r
    size = np.abs(matrix).T
    a, b = _padded(a, b)
    g = matrix @ (a.c[..., None] * b.g + b.c[..., None] * a.g)
    form = SlopeForm((a.c * b.c) @ matrix.T, g, np.abs(met).sum((-1, -2)) + off @ size)
    return form.rounded((a.size * b.size) @ size)


def multiplied(a: SlopeForm, b: SlopeForm) -> SlopeForm:
    """All entries times the one entry of ``b``. What is not of the first order is ``a``'s generators by a number that
    is at most ``b``'s reach, whatever it is: the largest are generators again, in ``a``'s directions, and so is ``b``'s
    remainder in that of ``a``'s centre. Linear maps then keep what each entry has to do with the others."""
    most, (large, rest) = b.reach, _largest(a)
    first, last = _padded(a, b)
    if not first.g.shape[-1]:  # at a point they are rounding, and stay remainders
        return SlopeForm(a.c * b.c, first.g, b.size * a.r + np.abs(a.c) * b.r).rounded(a.size * b.size)
    g = last.c[..., None] * first.g + first.c[..., None] * last.g
    g = np.concatenate([g, (a.c * b.r)[..., None], most[..., None] * large], axis=-1)
    return SlopeForm(a.c * b.c, g, b.size * a.r + most * rest).rounded(a.size * b.size)


def scaled(a: SlopeForm, weight: Floats, shift: Floats | float = 0.0) -> SlopeForm:
    """``weight a + shift``, entry by entry."""
    form = SlopeForm(a.c * weight + shift, a.g * weight[:, None], a.r * np.abs(weight))
    return form.rounded(a.size * np.abs(weight) + np.abs(shift))


def centred(a: SlopeForm) -> SlopeForm:
    """The form less its mean."""
    d = a.c.shape[-1]
    return mapped(np.eye(d) - 1 / d, a)


def inverse_root(v: SlopeForm, low: Floats, high: Floats) -> SlopeForm:
    """``1 / sqrt(v)`` of forms with one entry that lie between two numbers: along the chord, or as an interval. ``f(v)
    + A v`` with ``A = 1 / (sqrt low sqrt high (sqrt low + sqrt high))``, the chord's slope, is convex: at most its
    value at the ends, at least its minimum ``3/2 (2A)^(1/3)`` over all positive numbers (docs/soft-verdicts.md)."""
    usable = (low > 0) & np.isfinite(high)
    low, high = np.where(usable, low, 1.0)[..., None], np.where(usable, high, 1.0)[..., None]
    first, last = np.sqrt(low), np.sqrt(high)
    slope = 1 / (first * last * (first + last))
    most, least = 1 / first + slope * low, 1.5 * np.cbrt(2 * slope)
    middle, off = (most + least) / 2, (most - least) / 2
    along = SlopeForm(middle - slope * v.c, -slope[..., None] * v.g, off + slope * v.r).rounded(most + slope * v.size)
    flat = (1 / first - 1 / last) / 2
    chord = along.reach <= 4 * flat
    c = np.where(chord, along.c, (1 / first + 1 / last) / 2)
    r = np.where(chord, along.r, flat + ROUND * most)
    usable = usable[..., None]
    g = np.where((chord & usable)[..., None], along.g, 0.0)
    return SlopeForm(np.where(usable, c, 0.0), g, np.where(usable, r, np.inf))


def root_of(norm: LayerNorm, u: SlopeForm) -> SlopeForm:
    """The inverse deviation by which a LayerNorm multiplies centred forms; ``ResourceLimit`` where it may be
    undefined."""
    low, high = eps_range(norm)
    found, least, most = variance(u, low, high)
    if low == 0 and not (least > 0).all():
        raise ResourceLimit(VANISHES)
    return inverse_root(found, least, most)


def variance(u: SlopeForm, low: float, high: float) -> tuple[SlopeForm, Floats, Floats]:
    """The mean square of a centred form plus epsilon (between two numbers), and its ends: Lemma 2."""
    d, reach = u.c.shape[-1], u.reach
    whole = (u.c * u.c).sum(-1) / d
    products = np.abs(np.swapaxes(u.g, -1, -2) @ u.g).sum((-1, -2))
    gram = np.sqrt(products / d) + np.sqrt((u.r * u.r).sum(-1) / d)
    square = np.minimum((reach * reach).sum(-1) / d, gram * gram) * (1 + 1e-9)
    slope, rest = 2 * (u.c[..., None, :] @ u.g) / d, 2 * (np.abs(u.c) * u.r).sum(-1) / d
    far, root = np.abs(slope).sum((-1, -2)) + rest, np.sqrt(whole)
    size = ROUND * (whole + far + square + high)
    along = np.maximum(whole - far / 2, 0.0) ** 2 / np.maximum(whole, 1e-300)  # the part in the centre's direction
    least = np.maximum(along, np.maximum(root - np.sqrt(square), 0.0) ** 2)
    most = np.minimum(whole + far + square, (root + np.sqrt(square)) ** 2)
    form = SlopeForm(
        (whole + square / 2 + (low + high) / 2)[..., None], slope, (rest + square / 2 + (high - low))[..., None]
    )
    return form.rounded((size / ROUND)[..., None]), np.maximum(least - size, 0.0) + low, most + size + high


@dataclass(frozen=True, eq=False)
class Normed:
    """A LayerNorm on a form: its image, the centred input over the deviation, and one over the deviation."""

    norm: LayerNorm
    image: SlopeForm
    shape: SlopeForm
    scale: SlopeForm

    def back(self, b: SlopeForm) -> SlopeForm:
        """The gradient in front of the LayerNorm from the one behind it."""
        weighted = scaled(b, self.norm.weight)
        d = b.c.shape[-1]
        share = contracted(np.full((1, d), 1 / d), self.shape, weighted)
        level = centred(weighted)
        gap = multiplied(self.shape, share)
        return multiplied(added(level, SlopeForm(-gap.c, -gap.g, gap.r)), self.scale)


def normed(norm: LayerNorm, x: SlopeForm) -> Normed:
    """LayerNorm of a form."""
    u = centred(x)
    d = u.c.shape[-1]
    scale = root_of(norm, u)
    scale = parted(scale) if u.g.shape[-1] else scale
    shape = _at_most(multiplied(u, scale), math.sqrt(d) * (1 + 1e-9))
    return Normed(norm, scaled(shape, norm.weight, norm.bias), shape, scale)


def _unless(far: Bools, a: SlopeForm, centre: float, radius: float) -> SlopeForm:
    """A form, and the interval ``centre +- radius`` in its place where ``far`` says so."""
    return SlopeForm(np.where(far, centre, a.c), np.where(far[..., None], 0.0, a.g), np.where(far, radius, a.r))


def _at_most(a: SlopeForm, most: float) -> SlopeForm:
    """A form whose entries are known not to be larger: as an interval where it goes above."""
    return _unless(~(a.size <= most), a, 0.0, most)


@dataclass(frozen=True, eq=False)
class Network:
    """A network on a form: its image (without skip connection), what its hidden units read, and their derivatives; at a
    point these are computed when they are asked for."""

    ffn: ReadyFeedForward
    image: SlopeForm
    read: SlopeForm
    slopes: SlopeForm | None

    def back(self, b: SlopeForm) -> SlopeForm:
        """The gradient before it from the one behind it."""
        slopes = self.slopes or hidden(self.ffn.kind, self.read)[1]
        return contracted(self.ffn.inner.matrix.T, slopes, mapped(self.ffn.outer.matrix.T, b))


def network(ffn: ReadyFeedForward, x: SlopeForm) -> Network:
    """A network of a form; a hidden unit's remainder becomes a generator, but at a point."""
    read = mapped(ffn.inner.matrix, x, ffn.inner.bias)
    if not x.g.shape[-1]:  # what is off moves an activation at most by the largest of its derivatives
        off = GELU_SLOPES[1] * read.r
        value = SlopeForm(activated(ffn.kind, read.c), read.g, off).rounded(1 + read.size)
        return Network(ffn, mapped(ffn.outer.matrix, value, ffn.outer.bias), read, None)
    value, slopes = hidden(ffn.kind, read)
    return Network(ffn, mapped(ffn.outer.matrix, parted(value), ffn.outer.bias), read, slopes)


def hidden(kind: str, z: SlopeForm) -> tuple[SlopeForm, SlopeForm]:
    """Hidden units and their derivatives: to the first order along a chord, what is off from it being enclosed."""
    reach = z.reach
    low, high = z.c - reach, z.c + reach
    if kind == "relu":
        slope = np.where(high <= 0, 0.0, np.where(low >= 0, 1.0, high / np.where(high > low, high - low, 1.0)))
        off = np.where((low < 0) & (high > 0), -slope * low / 2, 0.0)
        image = SlopeForm(slope * z.c + off, slope[..., None] * z.g, slope * z.r + off)
        ends = (low > 0).astype(float), (high >= 0).astype(float)
        return image.rounded(z.size), SlopeForm((ends[0] + ends[1]) / 2, np.zeros_like(z.g), (ends[1] - ends[0]) / 2)
    parts = INFLUENCE.pieces if (high - low > INFLUENCE.small).any() else 1
    steps = np.linspace(0.0, 1.0, parts + 1).reshape(-1, *[1] * low.ndim)
    at = low + steps * (high - low)
    first = steepness(kind, at)
    image = _chord(z, at, activated(kind, at), first[parts // 2], CURVED)
    bent = _chord(z, at, first, second_derivative(kind, z.c), BENT)
    middle, half = sum(GELU_SLOPES) / 2, (GELU_SLOPES[1] - GELU_SLOPES[0]) / 2
    slopes = _unless(~(bent.reach < half), bent, middle, half)
    return image.rounded(1 + z.size), slopes.rounded(1 + z.size)


def _chord(z: SlopeForm, at: Floats, values: Floats, slope: Floats, curved: float) -> SlopeForm:
    """A function of a form along the chord of equidistant points, with what it is off between them: at most an eighth
    of ``curved`` (above its absolute second derivative) times their squared distance. ``slope``: the derivative at the
    centre, taken where the range is small."""
    width = at[-1] - at[0]
    small = width <= INFLUENCE.small
    slope = np.where(small, slope, (values[-1] - values[0]) / np.where(small, 1.0, width))
    gaps = values - slope * (at - z.c)
    bulge = curved / 8 * (width / (len(at) - 1)) ** 2
    low, high = gaps.min(0) - bulge, gaps.max(0) + bulge
    return SlopeForm((low + high) / 2, slope[..., None] * z.g, (high - low) / 2 + np.abs(slope) * z.r)


def second_derivative(kind: str, x: Floats) -> Floats:
    """The second derivative of a GELU, up to 1e-13; the first is :func:`.steepness`."""
    if kind == "gelu":
        return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * (2 - x * x))
    k, cubic = math.sqrt(2 / math.pi), 0.044715
    t = np.tanh(k * (x + cubic * x**3))
    inner, bent = k * (1 + 3 * cubic * x * x), 6 * k * cubic * x
    sech = 1 - t * t
    return np.asarray(sech * inner + 0.5 * x * (sech * bent - 2 * t * sech * inner * inner))


@dataclass(frozen=True, eq=False)
class SlopedTail:
    """What is behind attention, on all residual streams of a form: the last stream, and the way back. ``count``: so
    many generators, the first form's in front, have a meaning on the way forwards; those of the way back are behind
    them."""

    final: LayerNorm | None
    last: SlopeForm
    steps: tuple[Callable[[SlopeForm], SlopeForm], ...]
    count: int

    def values(self, rows: Floats) -> tuple[Floats, Floats]:
        """The least and the greatest value of each ``row . activation``."""
        if self.final is None:
            form, shift = mapped(rows, self.last), point(np.zeros(len(rows)))
        else:
            weighted = rows * self.final.weight
            u = centred(self.last)
            form = multiplied(mapped(weighted - weighted.mean(1, keepdims=True), u), root_of(self.final, u))
            shift = mapped(rows, point(self.final.bias))
        low, high = (form.c + side * form.reach for side in (-1, 1))
        if self.final is not None:
            most = np.linalg.norm(weighted, axis=1) * math.sqrt(rows.shape[1]) * (1 + 1e-9)
            low, high = np.fmin(np.fmax(low, -most), most), np.fmax(np.fmin(high, most), -most)
        return low + shift.c - shift.r, high + shift.c + shift.r

    def gradient(self, row: Floats) -> SlopeForm:
        """The gradient of ``row . activation`` by the residual stream behind attention; the first form's generators in
        front."""
        shape = self.last.c.shape
        back = SlopeForm(
            np.broadcast_to(row, shape), np.zeros((*shape, self.count)), np.broadcast_to(ROUND * np.abs(row), shape)
        )
        for step in reversed(self.steps):
            back = step(parted(back))
        return back


def tail(layer: ReadyLayer, final: LayerNorm | None, y: SlopeForm) -> SlopedTail:
    """What is behind attention, from the residual streams of a form to the last stream."""
    steps: list[Callable[[SlopeForm], SlopeForm]] = []

    def normalised(norm: LayerNorm | None, x: SlopeForm) -> SlopeForm:
        if norm is None:
            return x
        made = normed(norm, x)
        steps.append(made.back)
        return made.image

    x = normalised(layer.behind[0], y)
    if layer.ffn is not None:
        before = None if layer.front[1] is None else normed(layer.front[1], x)
        made = network(layer.ffn, x if before is None else before.image)
        steps.append(lambda b: added(b, made.back(b) if before is None else before.back(parted(made.back(b)))))
        x = normalised(layer.behind[1], added(x, made.image))
    longest = normalised(final, x)
    return SlopedTail(final, x, tuple(steps), longest.g.shape[-1])


def point(x: Floats) -> SlopeForm:
    """A single vector as a form without generators."""
    return SlopeForm(x, np.zeros((len(x), 0)), np.zeros(len(x)))
