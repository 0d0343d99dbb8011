"""Networks and LayerNorm on sets of activations: the position-wise half of :mod:`restrict.soft.bounds.values`.

- **networks**: a ReLU on ``[l, u]`` lies in ``lambda z + [0, -lambda l]`` with ``lambda = u / (u - l)`` (0 or 1 where
  the sign is certain), so network and skip connection are one matrix, and what they cancel stays cancelled;
- **LayerNorm**: ``u / s`` for the centred ``u``, with ``s`` in an interval.
"""

import numpy as np

from restrict.base.errors import ResourceLimit
from restrict.soft.bounds.enclosure import TINY, Enclosure, U, above, gamma, joined, norms, rounded
from restrict.soft.bounds.parts import ReadyFeedForward, eps_range
from restrict.soft.models.model import Floats, LayerNorm


def fed_forward(ffn: ReadyFeedForward, y: Enclosure, *, skip: bool) -> Enclosure:
    """``outer f(inner y) (+ y)`` as one linear map with an error per hidden unit."""
    shape = y.centre.shape[:-1]
    flat = y.reshaped(int(np.prod(shape)))
    step = max(1, 2**22 // (flat.centre.shape[1] ** 2 + len(ffn.inner.matrix)))
    parts = [_fed_forward(ffn, flat[at : at + step], skip) for at in range(0, len(flat.ball), step)]
    return joined(parts).reshaped(*shape)


def relaxed(ffn: ReadyFeedForward, z: Enclosure) -> tuple[Floats, Floats, Floats]:
    """``slope``, ``shift``, ``error``: the activation of ``z`` lies in ``slope z + shift +- error``, entry by entry."""
    low, high = z.low, z.high
    if ffn.kind == "relu":
        unsure = (low < 0) & (high > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(unsure, high / (high - low), (low >= 0).astype(np.float64))
        # relu(z) - slope z lies in [0, top]: 0 at both ends at least up to the rounding of the slope.
        top = np.where(unsure, np.maximum(-slope * low, (1 - slope) * high), 0.0)
        half = above(top / 2) * unsure
        return slope, half, above(half * 2 * U + half, 3) * unsure
    from restrict.soft.models.evaluate import activated

    flattest, steepest = ffn.slopes
    slope = np.full_like(low, (flattest + steepest) / 2)
    value: Floats = activated(ffn.kind, z.centre)
    radius = (steepest - flattest) / 2 * np.maximum(high - z.centre, z.centre - low)
    error = radius + 64 * U * (np.abs(z.centre) + 1)
    shift = value - slope * z.centre
    return slope, shift, above(error + 4 * U * (np.abs(shift) + np.abs(slope * z.centre)))


def _fed_forward(ffn: ReadyFeedForward, y: Enclosure, skip: bool) -> Enclosure:
    z = ffn.inner.image(y)
    slope, shift, error = relaxed(ffn, z)
    hidden, d = slope.shape[1], y.centre.shape[1]
    # The centre's hidden values, with the error of computing them.
    inner = y.centre @ ffn.inner.matrix.T + ffn.inner.bias
    inner_error = gamma(d + 1) * (norms(y.centre)[:, None] * ffn.inner.rows + np.abs(ffn.inner.bias))
    active = slope * inner + shift
    active_error = error + np.abs(slope) * inner_error + 4 * U * (np.abs(slope * inner) + np.abs(shift))
    centre = active @ ffn.outer.matrix.T + ffn.outer.bias
    rounding = active_error @ ffn.outer.absolute.T
    rounding += gamma(hidden + 1) * (np.abs(active) @ ffn.outer.absolute.T + np.abs(ffn.outer.bias))
    if skip:
        centre = centre + y.centre
        rounding = rounding + 2 * U * (np.abs(centre) + np.abs(y.centre))
    moved_box, moved_ball = _moved(ffn, y, slope, skip)
    return rounded(centre, moved_box + rounding, moved_ball + norms(rounding), hidden + d)


def _moved(ffn: ReadyFeedForward, y: Enclosure, slope: Floats, skip: bool) -> tuple[Floats, Floats]:
    """How far ``(outer diag(slope) inner (+ 1)) (x - centre)`` can go: box and ball."""
    d, hidden = y.centre.shape[1], slope.shape[1]
    one = np.eye(d) if skip else np.zeros((d, d))
    by_norm = (float(skip) + ffn.outer.norm * ffn.inner.norm * np.abs(slope).max(axis=1)) * y.ball
    if not y.ball.any():
        return np.zeros_like(y.centre), by_norm
    size = gamma(hidden) * ffn.outer.frobenius * ffn.inner.frobenius * np.abs(slope).max(axis=1)
    matrices = np.matmul(ffn.outer.matrix[None] * slope[:, None, :], ffn.inner.matrix[None]) + one
    absolute = np.abs(matrices)
    rounding = (size + 2 * U * d * absolute.max(axis=(1, 2))) * y.ball
    box = np.minimum(np.matmul(absolute, y.box[:, :, None])[:, :, 0], norms(matrices) * y.ball[:, None])
    by_sums = np.sqrt(absolute.sum(axis=1).max(axis=1) * absolute.sum(axis=2).max(axis=1))
    flat = np.minimum(by_sums, norms(matrices.reshape(len(matrices), -1)))
    ball = np.minimum(by_norm, above(flat, d) * y.ball + rounding)
    return box + rounding[:, None], ball


def normed(norm: LayerNorm | None, x: Enclosure) -> Enclosure:
    """LayerNorm, where there is one, of sets (..., d). Whatever the input, ``x / s`` has norm at most ``sqrt(d)``."""
    if norm is None:
        return x
    u, size = centred(x)
    low, high = scale_bounds(norm, u, size)
    middle, reach = (low + high) / 2, (high - low) / 2 + 2 * U * high
    centre = u.centre * middle[..., None]
    box = u.box * high[..., None] + np.abs(u.centre) * reach[..., None] + 4 * U * np.abs(centre)
    d = x.centre.shape[-1]
    ball = u.ball * high + norms(u.centre) * reach + 4 * U * norms(centre)
    root = np.sqrt(d) * (1 + 4 * U)
    vague = ball > root
    centre = np.where(vague[..., None], 0.0, centre)
    box, ball = np.where(vague[..., None], root, box), np.where(vague, root, ball)
    weight = np.abs(norm.weight)
    shifted = centre * norm.weight + norm.bias
    extra = 4 * U * (np.abs(centre) * weight + np.abs(norm.bias))
    return rounded(shifted, box * weight + extra, ball * float(weight.max()) + norms(extra), d)


def centred(x: Enclosure) -> tuple[Enclosure, Floats]:
    """``x`` less its mean, and the norm of that vector's centre. Taking the mean off is a projection."""
    d = x.centre.shape[-1]
    mean = x.centre.mean(axis=-1, keepdims=True)
    centre = x.centre - mean
    error = gamma(d) * (np.abs(x.centre) + np.abs(x.centre).mean(axis=-1, keepdims=True))
    box = x.box * (1 - 1 / d) + (x.box.sum(axis=-1, keepdims=True) - x.box) / d + error + 4 * U * x.box
    return rounded(centre, box, x.ball + norms(error), d), norms(centre)


VANISHES = "a LayerNorm may divide by zero here: its constant eps is 0 and its input may vanish"


def scale_bounds(norm: LayerNorm, u: Enclosure, size: Floats) -> tuple[Floats, Floats]:
    """Bounds on ``1 / sqrt(|u|^2 / d + eps)``."""
    d = u.centre.shape[-1]
    eps_low, eps_high = eps_range(norm)
    lowest = np.maximum(size * (1 - 4 * gamma(d)) - u.ball - 4 * TINY, 0.0)
    highest = size + u.ball
    low = 1 / np.sqrt(highest * highest / d + eps_high) * (1 - 16 * U)
    square = lowest * lowest / d + eps_low
    if not (square > 0).all():
        raise ResourceLimit(VANISHES)
    return low, 1 / np.sqrt(square) * (1 + 16 * U)
