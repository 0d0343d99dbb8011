"""Bounds on the rounding error of a forward pass in float32: "right as run", not only in theory.

:func:`as_executed` is about one word; the rules hold for sets of words, too (restrict.soft.trained.float32): a ball may
have any radius.

The execution that is covered (docs/soft-import.md): every operation of the formulas of docs/soft-format.md in IEEE
float32 to nearest, with or without fused multiply-adds, gradual underflow or flush to zero of results, operands or
both; **sums in any order**;
LayerNorm by two passes (mean, then mean square of the centred entries); softmax with any shift near the largest score,
division before or after the sum; ``exp``, ``tanh``, ``erf`` and reciprocal square roots within ``ulps`` units in the
last place. Not covered: softmax in pieces with rescaling, lower precision inside (TF32, bfloat16).

Every computed vector is ``exact + sum_g e_g gens[g]`` with ``|e_g| <= 1``: each rounding adds a generator, and the
later operations act on generators by their derivative, with the second order in new ones. So errors that cancel do
cancel: absolute values of matrices are not multiplied with each other. ``u = 2^-24``, ``gamma_m = m u / (1 - m u)``
(Higham, Accuracy and Stability of Numerical Algorithms, Lemma 3.1 and section 4.2: for every order of summation).

Exact numbers are known up to ``radius``. On a word they come from a pass in float64, which is an execution of the same
kind: so the same rules, with ``u = 2^-53``, bound its error first (there the centres are what is computed): that is the
radius.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import Bools, Ints
from restrict.base.errors import ResourceLimit, UsageError
from restrict.soft.models.evaluate import activated, embedded, steepness
from restrict.soft.models.model import Floats, LayerNorm, SoftHead, SoftLayer, SoftModel, visible

U, V = 2.0**-24, 2.0**-53
"""Half a unit in the last place of 1, in float32 and in float64."""
TINY = 2.0**-125
"""More than any operation loses by underflow, also where results below 2^-126 are flushed to zero."""
NORMAL = 2.0**-126
"""The least normal number: a weight below it may count as zero, whatever it is multiplied with."""
LARGEST = 2.0**126
"""A sum of absolute values beyond this may overflow in float32: nothing is then said of its error."""
CURVE = 0.83
"""More than the greatest second derivative of both GELUs."""
POINTS = np.linspace(-1, 1, 33)
"""Where the slope of an activation is evaluated, in units of the radius."""
MANY = 600
"""Generators at a position; beyond, they are merged into one for each coordinate."""


@dataclass(frozen=True)
class Ball:
    """Vectors at all positions, shape (n, w): ``|exact - centre| <= radius``; ``gens`` (n, g, w) as above."""

    centre: Floats
    radius: Floats
    gens: Floats

    @cached_property
    def error(self) -> Floats:
        """A bound on ``|computed - exact|``."""
        return np.asarray(np.abs(self.gens).sum(axis=1) * (1 + 1e-12))

    @cached_property
    def exact(self) -> Floats:
        """A bound on the exact numbers."""
        return np.abs(self.centre) + self.radius

    @cached_property
    def computed(self) -> Floats:
        """A bound on the computed numbers."""
        return self.exact + self.error


@dataclass(frozen=True)
class Execution:
    """Logits (n, labels): in real arithmetic up to ``radius``, and in float32 up to ``error`` from those."""

    kind: str
    logits: Floats
    radius: Floats
    error: Floats

    @property
    def certain(self) -> Bools:
        """At which positions every such execution in float32 answers as real arithmetic does."""
        slack = self.radius + self.error
        if self.kind != "softmax":
            return np.asarray((np.abs(self.logits) > slack).all(axis=1))
        rows, best = np.arange(len(slack)), np.argmax(self.logits, axis=1)
        gap = self.logits[rows, best][:, None] - self.logits - slack - slack[rows, best][:, None]
        gap[rows, best] = 1
        return np.asarray((gap > 0).all(axis=1))


def as_executed(model: SoftModel, word: npt.ArrayLike, *, ulps: int = 4) -> Execution:
    """How far the logits of a float32 forward pass can be from those in real arithmetic, on one word.

    Args:
        model: dot-product scores.
        word: ``n`` rows of the embedding, markers included: a row of what :meth:`SoftModel.encode` gives.
        ulps: units in the last place that ``exp``, ``tanh``, ``erf`` and the reciprocal square root may be off.

    Returns:
        The logits with a bound for every position, infinite where a computed variance may be 0. Cost: ``O(n (n + d) g
        d)`` per layer for ``g`` generators, at most 600 and some.

    Raises:
        UsageError: additive scores, ``ulps`` out of range, or no word of the model.
        ModelError: the model is not defined at ``n``.
        ResourceLimit: more than 2 GiB of generators.
    """
    if "additive scores" in model.special:
        raise UsageError(f"{model.name}: additive scores have no bound on their rounding here")
    if not 1 <= ulps <= 2**10:
        raise UsageError(f"ulps = {ulps} must be in 1 .. 1024")
    tokens = np.asarray(word)
    top = len(model.symbols) - 1
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu" or not tokens.size or tokens.min() < 0 or tokens.max() > top:
        raise UsageError(f"a word is a row of integers in 0 .. {top}, markers included")
    n, wide = model.check_length(len(tokens)), max([model.width, *(len(k.ffn.inner) for k in model.layers if k.ffn)])
    if n * (MANY + wide) * wide > 2**28:
        raise ResourceLimit(f"{model.name}: n = {n} and {wide} numbers at each position are too much for this bound")
    with np.errstate(all="ignore"):
        exact, z = twice(lambda run: _passed(model, tokens, run), ulps)
        radius, error = (np.where(np.isnan(e), np.inf, e * (1 + 1e-9)) for e in (exact.error, z.error))
    return Execution(model.output.kind, z.centre, radius, error)


class Pass:
    """One pass of the rules: the unit of rounding, and the radii, found by the first pass and used by the second."""

    def __init__(self, unit: float, ulps: int, radii: list[Floats] | None = None) -> None:
        self.u, self.ulps, self.found = unit, ulps, list[Floats]()
        self.known = None if radii is None else iter(radii)

    def gamma(self, m: Any) -> Any:
        """``gamma_m``; two more for the weight itself in this precision and for one more operation."""
        return (m + 2) * self.u / (1 - (m + 2) * self.u)

    def ball(self, centre: Floats, gens: Floats, within: tuple[Floats, ...] | None = None) -> Ball:
        """Vectors with their radius: in the first pass that is their own error. ``within``: a centre and a radius that
        are known of sets of vectors."""
        if within is not None:
            return Ball(within[0], within[1], gens)
        if self.known is not None:
            return Ball(centre, next(self.known), gens)
        self.found.append(np.abs(gens).sum(axis=1) * (1 + 1e-9))
        return Ball(centre, self.found[-1], gens)


def twice(passed: Callable[[Pass], Any], ulps: int) -> tuple[Any, Any]:
    """What the rules find on points in float64, which says how far the exact numbers are known, and in float32;
    ``ulps``: as in :func:`as_executed`."""
    first = Pass(V, 4)
    return passed(first), passed(Pass(U, ulps, first.found))


def _passed(model: SoftModel, tokens: Ints, run: Pass) -> Ball:
    x = _embedded(model, tokens, run)
    for layer in model.layers:
        x = _layer(layer, x, run)
    return linear(model.output.unembed, model.output.bias, _normed(model.final_norm, x, run), run)


def _with(gens: Floats, own: Floats) -> Floats:
    """Generators and new ones, one for each coordinate; merged where there are too many."""
    n, width = own.shape
    fresh = np.zeros((n, width, width))
    fresh[:, np.arange(width), np.arange(width)] = own if gens.shape[1] <= MANY else own + np.abs(gens).sum(axis=1)
    return fresh if gens.shape[1] > MANY else np.concatenate([gens, fresh], axis=1)


def _embedded(model: SoftModel, tokens: Ints, run: Pass) -> Ball:
    """Embeddings and positions; both may be rounded to the precision first."""
    x, table = embedded(model, tokens[None].astype(np.int64))[0], model.positions.at(len(tokens))
    size = np.abs(x)
    if table is not None and model.positions.combine == "add":
        size = np.abs(model.embed[tokens]) + np.abs(table)
    # A table of terms is rounded from the middle of an enclosure, so more than once.
    return known(x, size, run)


def known(x: Floats, size: Floats, run: Pass) -> Ball:
    """Vectors of which each entry is a weight or a sum of two, whose sizes add up to ``size``."""
    return run.ball(x, _with(np.zeros((len(x), 0, x.shape[1])), 8 * run.u * size + TINY + beyond(size)))


def beyond(size: Floats) -> Floats:
    """Infinite where a sum of absolute values may overflow in float32, else 0."""
    return np.where(size < LARGEST, 0.0, np.inf)


def vanishing(size: Floats) -> Floats:
    """The sizes of weights that may be flushed to zero when they are read, else 0."""
    return np.where(size < NORMAL, size, 0.0)


def linear(matrix: Floats, bias: Floats, x: Ball, run: Pass, within: tuple[Floats, ...] | None = None) -> Ball:
    """``matrix x + bias``, (n, inputs) to (n, outputs), the sums in any order; ``within``: as in :meth:`Pass.ball`."""
    weights, m = np.abs(matrix).T, matrix.shape[1] + 1
    size = x.computed @ weights + np.abs(bias)
    own = run.gamma(m) * size + m * TINY + x.computed @ vanishing(weights) + beyond(size)
    gens = x.gens @ matrix.T
    own += 4 * m * V * (np.abs(x.gens) @ weights).sum(axis=1)
    return run.ball(x.centre @ matrix.T + bias, _with(gens, own), within)


def added(x: Ball, y: Ball, run: Pass, terms: int = 1, within: tuple[Floats, ...] | None = None) -> Ball:
    """``x + y``, (n, w) each; the generators of ``y`` count as others than those of ``x``. ``terms``: of which ``y`` is
    the sum (its own rounding is known), in an execution that may add them to ``x`` one by one."""
    size = x.computed + y.computed
    gens = np.concatenate([x.gens, y.gens], axis=1)
    return run.ball(x.centre + y.centre, _with(gens, run.gamma(terms) * size + terms * TINY + beyond(size)), within)


class Spread(NamedTuple):
    """The centred entries ``c`` (n, d) up to ``radius``, and ends (n, 1) of the variance plus the constant."""

    c: Floats
    radius: Floats
    low: Floats
    high: Floats


def _spread(x: Ball, eps: float) -> Spread:
    """What the radius of a vector says of the vector that is centred."""
    d = x.centre.shape[1]
    c = x.centre - x.centre.mean(axis=1, keepdims=True)
    radius = x.radius + x.radius.mean(axis=1, keepdims=True) + 8 * d * V * x.exact.max(axis=1, keepdims=True)
    top, bottom = np.abs(c) + radius, np.maximum(np.abs(c) - radius, 0)
    low, high = _mean(bottom**2) * (1 - 8 * d * V) + eps * (1 - V), _mean(top**2) * (1 + 8 * d * V) + eps * (1 + V)
    return Spread(c, radius, low, high)


def _normed(norm: LayerNorm | None, x: Ball, run: Pass) -> Ball:
    return x if norm is None else normalised(norm.weight, norm.bias, norm.eps.value(0, 1), x, run)


def normalised(
    weight: Floats, bias: Floats, eps: float, x: Ball, run: Pass, spread: Spread | None = None,
    within: tuple[Floats, ...] | None = None,
) -> Ball:  # fmt: skip
    """LayerNorm ``weight c f(v) + bias``, ``c`` the centred entries of ``x`` (n, d), ``f(v) = 1 / sqrt(v)``; infinite
    where the computed variance may be 0. ``spread``: what is known of sets of vectors; by default what the radius says.

    Let ``c + r`` be the exact centred entries, ``|r|`` at most the radius, ``c + r + E`` the computed ones, ``v`` the
    exact variance and ``v + D`` the computed one: ``D = 2 mean((c + r) E) + mean(E^2) + own``. The first order is, with
    ``m = mean(c E)`` and ``f_c = f(v_c)`` at the centre, ``f E - (c + r) f^3 (m + mean(r E)) = f (E - c m f_c^2) + c f
    m (f_c^2 - f^2) - c f^3 mean(r E) - r f^3 mean(..)``, so a generator ``G`` of ``E`` becomes ``G - c mean(c G)
    f_c^2`` times the greatest ``f``, and what is along ``c`` is one generator.
    """
    d = x.centre.shape[1]
    c, radius, low, high = spread or _spread(x, eps)
    top = np.abs(c) + radius
    f, steep, flat = 1 / np.sqrt(_mean(c * c) + eps), 1 / np.sqrt(low), 1 / np.sqrt(high)
    # E: what x brings, the rounded mean (the same at all entries), the rounded difference.
    gens = x.gens - x.gens.mean(axis=2, keepdims=True)
    common = np.broadcast_to((run.gamma(d) * _mean(x.computed) + TINY)[:, :, None], (len(c), 1, d))
    whole = top + x.error + _mean(x.error) + 2 * common[:, 0]
    rounded = U * whole + TINY + 8 * d * V * x.error.max(axis=1, keepdims=True)
    gens = _with(np.concatenate([gens, common], axis=1), rounded)
    e = np.abs(gens).sum(axis=1) * (1 + 1e-12)
    own = _mean(e**2) + run.gamma(d + 3) * (_mean((top + e) ** 2) + eps) + 2 * TINY + beyond(d * _mean((top + e) ** 2))
    inward = gens @ c[:, :, None] / d
    along, across = np.abs(inward).sum(axis=1) * (1 + 1e-12), _mean(radius * e)
    most = 2 * (along + across) + own
    least = low - most
    slope, second = 0.5 * steep**3, np.where(least > 0, 0.375 * least**-2.5, np.inf) * most**2
    root = 4 * run.ulps * run.u * (steep + slope * most + second)
    blur = np.maximum(steep**2 - f**2, f**2 - flat**2) + 8 * V * steep**2
    rest = slope * own + second + root
    once = (steep * along * blur + steep**3 * across + rest)[:, :, None] * c[:, None]
    aside = e * (slope * most + second + root) + radius * (rest + steep**3 * (along + across))
    first = (gens - inward * (c * f**2)[:, None]) * steep[:, :, None]
    size = np.abs(weight)
    scaled = top * steep + np.abs(first).sum(axis=1) + np.abs(once[:, 0]) + aside
    whole = size * scaled + np.abs(bias)
    final = run.gamma(3) * whole + vanishing(size) * scaled + size * TINY + beyond(whole)
    fresh = size * (aside + (1e-12 + 8 * d * d * V) * e * steep) + final + 4 * TINY
    made = _with(np.concatenate([first, once], axis=1) * weight, fresh)
    centre = c * f * weight + bias
    if spread is not None and within is None:
        within = (centre, size * (radius * steep + np.abs(c) * np.maximum(steep - f, f - flat)))
    return run.ball(centre, made, within)


def _mean(x: Floats) -> Floats:
    return np.asarray(x.mean(axis=-1, keepdims=True))


def _layer(layer: SoftLayer, x: Ball, run: Pass) -> Ball:
    """One layer, as restrict.soft.models.evaluate runs it."""
    read = _normed(layer.front[0], x, run)
    n, d = x.centre.shape
    heads = [attended(head, read, run) for head in layer.heads]
    outputs = [head.output for head in layer.heads]
    if not heads:  # only the bias is added
        heads, outputs = [Ball(np.zeros((n, 1)), np.zeros((n, 1)), np.zeros((n, 0, 1)))], [np.zeros((d, 1))]
    centre, radius = (np.concatenate([getattr(h, part) for h in heads], axis=1) for part in ("centre", "radius"))
    joined, terms = Ball(centre, radius, _blocks([h.gens for h in heads])), centre.shape[1] + 1
    x = added(x, linear(np.concatenate(outputs, axis=1), layer.attention_bias, joined, run), run, terms)
    x = _normed(layer.behind[0], x, run)
    if layer.ffn is None:
        return x
    inner = _normed(layer.front[1], x, run)
    h = neurons(layer.ffn.activation, linear(layer.ffn.inner, layer.ffn.inner_bias, inner, run), run)
    x = added(x, linear(layer.ffn.outer, layer.ffn.outer_bias, h, run), run, len(layer.ffn.inner_bias) + 1)
    return _normed(layer.behind[1], x, run)


def _blocks(gens: list[Floats]) -> Floats:
    """Generators of vectors side by side: each list has zeros in the others' coordinates."""
    ends = np.cumsum([0, *(g.shape[2] for g in gens)])
    room = zip(ends[:-1], ends[-1] - ends[1:], strict=True)
    return np.concatenate([np.pad(g, ((0, 0), (0, 0), sides)) for g, sides in zip(gens, room, strict=True)], axis=1)


def neurons(kind: str, h: Ball, run: Pass, within: tuple[Floats, ...] | None = None) -> Ball:
    """The activation (``relu``, ``gelu`` or ``gelu_tanh``): a ReLU is linear where its sign is certain, a GELU up to
    its second order. A GELU's formula has an argument of ``tanh`` or ``erf`` with a relative error of at most 8 u (and
    ``|z| sech(z)^2 < 0.45``), a library function, a sum with 1 and two products: at most ``(10 + 2 ulps) u |x|``
    together. How far its derivative is from that at the centre is taken from points of the range, between which it
    changes by at most ``CURVE`` times their distance."""
    c, e = h.centre, h.error
    if kind == "relu":
        certain = np.abs(c) > h.radius + e
        gens = _with(h.gens * (certain & (c > 0))[:, None], np.where(certain, 0, e))
        return run.ball(np.maximum(c, 0), gens, within)
    slope, turned = steepness(kind, c), CURVE * h.radius
    if within is not None:
        far = np.abs(steepness(kind, c[..., None] + h.radius[..., None] * POINTS) - slope[..., None]).max(axis=-1)
        turned = np.minimum(turned, far + turned / (len(POINTS) - 1))
    own = (10 + 2 * run.ulps) * run.u * h.computed + CURVE * e**2 / 2 + turned * e + 64 * V * e + TINY
    return run.ball(activated(kind, c), _with(h.gens * slope[:, None], own), within)


def attended(head: SoftHead, x: Ball, run: Pass) -> Ball:
    """What a head with dot-product scores reads, (n, d) to (n, dv), before its output matrix: new generators only. With
    ``a_j`` the exact weights, ``o`` the exact average and ``D_j`` a bound on the error of a score up to a common shift:
    the average by the computed weights is off by at most ``sum a_j (e^D_j - 1) |v_j - o| / e^-max D``, since ``sum a_j
    (v_j - o) = 0``."""
    q, k, v = (linear(getattr(head, p), getattr(head, f"{p}_bias"), x, run) for p in ("query", "key", "value"))
    n = len(x.centre)
    seen = visible(head.mask, np.arange(n), n)
    weights, loose, off = scored(q, k, head.scale.value(0, n), seen, run)
    mean, reach, n = weights @ v.centre, weights @ v.exact, seen.sum(axis=1, keepdims=True)
    radius = loose * reach + (1 + loose) * (weights @ v.radius) + 4 * (n + 4) * V * reach
    lift = weights * (1 + loose) * np.expm1(off)
    turn = np.stack([lift[i] @ (np.abs(v.centre - mean[i]) + v.radius + radius[i]) for i in range(len(mean))])
    turn = turn * np.exp(off.max(axis=1, keepdims=True)) + 4 * (n + 4) * V * reach
    grown = (1 + loose) * np.exp(2 * off.max(axis=1, keepdims=True))
    own = averaged(turn, grown * reach, grown * (weights @ v.error), n, run) + 2 * n * TINY * v.computed.max()
    empty = np.zeros((len(mean), 0, v.centre.shape[1]))
    return run.ball(np.where(n > 0, mean, 0), _with(empty, np.where(n > 0, own, 0)))


def averaged(turn: Floats, size: Floats, slip: Floats, n: Floats, run: Pass) -> Floats:
    """A bound on the error of an average of ``n`` unmasked values (a term that is exactly 0 has no error): ``turn``, by
    which the exact average of computed weights may be off, ``slip``, the average of the values' errors, and its sums;
    ``size``: the average size of the values, by the computed weights, each of which is at most about 1."""
    most = size + slip
    return np.asarray(turn * (1 + 1e-9) + slip + run.gamma(2 * n + 4) * most + 2 * n * TINY + beyond(2 * n * most))


def scored(q: Ball, k: Ball, factor: float, seen: Bools, run: Pass) -> tuple[Floats, Floats, Floats]:
    """The weights (m, n) that queries (m, dk) give to keys (n, dk), how far they are known, relatively (m, 1), and
    bounds ``D`` (m, n): in any average over some of the keys, a computed weight is the exact one times a number in
    ``[e^-D, e^D]`` and a common factor. ``factor``: of the scores; ``seen``: (m, n)."""
    n, dk, scale = len(k.centre), k.centre.shape[1], abs(factor)
    score = np.where(seen, factor * (q.centre @ k.centre.T), -np.inf)
    weights = np.exp(score - score.max(axis=1, keepdims=True))
    weights = np.where(seen & np.isfinite(weights), weights, 0)
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    known = scale * (q.exact @ k.radius.T + q.radius @ k.exact.T + 8 * (dk + 3) * V * (q.exact @ k.exact.T))
    loose = np.expm1(2 * np.where(seen, known, 0).max(axis=1, keepdims=True) + 8 * (n + 16) * V) * 1.01
    # A change of the query moves all scores of a row together, but for the differences of keys.
    middle = weights @ k.centre
    moved, turned, flat = np.zeros_like(weights), np.zeros_like(weights), k.gens.reshape(-1, dk)
    for i in range(len(middle)):
        keys = k.centre[: (last := np.max(np.nonzero(seen[i])[0], initial=-1) + 1)]
        moved[i, :last] = np.abs(q.gens[i] @ (keys - middle[i]).T).sum(axis=0)
        rows = flat[: last * k.gens.shape[1]] @ q.centre[i]
        turned[i, :last] = np.abs(rows.reshape(last, k.gens.shape[1])).sum(axis=1)
    second = q.error @ k.error.T + q.error @ k.radius.T + q.radius @ k.error.T
    both = q.computed @ k.computed.T
    sums = q.error @ k.exact.T + q.exact @ k.error.T
    error = scale * ((moved + turned) * (1 + 1e-9) + second + run.gamma(dk + 4) * both + 16 * dk * V * sums)
    error += TINY * (1 + 2 * dk * max(scale, 1) + k.computed.sum(axis=1))
    error += beyond(max(scale, 1) * both) + beyond(scale * q.computed.max(axis=1, keepdims=True))
    error = np.where(seen, error, 0)
    below = np.where(seen, score.max(axis=1, keepdims=True) - score, 0)
    spread = below + 2 * known + 2 * error.max(axis=1, keepdims=True)
    return weights, loose, np.where(seen, error + run.u * spread + 4 * run.ulps * run.u, 0)
