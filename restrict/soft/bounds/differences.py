"""Networks and LayerNorm applied to sets of differences: the position-wise half of :mod:`.exchange`. A hidden unit's
difference is its input's difference times a slope between the least and the greatest of the activation function, which
is known where the sign of the input is. ``u/s - u'/s' = (u - u')/s + u' (1/s - 1/s')`` for LayerNorm, whose slope is at
most ``1/s``; where the two runs' values are far apart, the difference of their images can be better."""

from __future__ import annotations

import numpy as np

from restrict.soft.bounds.enclosure import Enclosure, U, above, add, hull, norms, stack, where
from restrict.soft.bounds.parts import ReadyFeedForward
from restrict.soft.bounds.positionwise import centred, normed, scale_bounds
from restrict.soft.models.model import Floats, LayerNorm


def merge(values: tuple[Enclosure, ...]) -> Enclosure:
    """One set that holds all of them."""
    return values[0] if len(values) == 1 else hull(stack(list(values)), 0)


def feed_difference(ffn: ReadyFeedForward, y: Enclosure, change: Enclosure) -> Enclosure:
    """What the network adds to differences (r, d), where the values lie in ``y`` (r, d) in both runs."""
    z, dz = ffn.inner.image(y), ffn.inner.difference(change)
    least, most = ffn.slopes
    slope_low: Floats = np.full_like(z.centre, least)
    slope_high: Floats = np.full_like(z.centre, most)
    if ffn.kind == "relu":
        slope_low, slope_high = (z.low >= 0).astype(np.float64), (z.high > 0).astype(np.float64)
    middle, reach = (slope_low + slope_high) / 2, (slope_high - slope_low) / 2
    size = np.maximum(np.abs(slope_low), np.abs(slope_high))
    centre = dz.centre * middle
    box: Floats = np.abs(dz.centre) * reach + dz.box * size + 4 * U * np.abs(dz.centre)
    ball = norms(np.abs(dz.centre) * reach) + dz.ball * size.max(axis=1) + 4 * U * norms(dz.centre)
    return ffn.outer.difference(Enclosure(centre, above(box, 3), above(ball, 3)).tightened())


def norm_difference(norm: LayerNorm, values: tuple[Enclosure, ...], change: Enclosure) -> Enclosure:
    """LayerNorm of differences (r, d). ``values``: one set (r, d) that holds both runs' values, or the sets of the two
    runs. Result: the smaller of a propagated set and, with two sets, the difference of their images."""
    found = _norm_difference(norm, merge(values), change)
    if len(values) == 1:
        return found
    a, b = normed(norm, values[0]), normed(norm, values[1])
    direct = add(a, Enclosure(-b.centre, b.box, b.ball))
    return where(direct.ball < found.ball, direct, found)


def _norm_difference(norm: LayerNorm, x: Enclosure, change: Enclosure) -> Enclosure:
    """LayerNorm of differences (r, d), where the values lie in ``x`` (r, d) in both runs."""
    u, size = centred(x)
    du, _ = centred(change)
    low, high = scale_bounds(norm, u, size)
    middle, reach = (low + high) / 2, (high - low) / 2 + 2 * U * high
    d = x.centre.shape[-1]
    # |1/s - 1/s'| <= max |u| / (d s^3) |u - u'|, and |u| / s <= sqrt(d).
    moved: Floats = above(high * high * du.norm() / float(np.sqrt(d)) * (1 + 16 * U))
    centre: Floats = du.centre * middle[:, None]
    box = du.box * high[:, None] + np.abs(du.centre) * reach[:, None] + u.largest() * moved[:, None]
    slack = 4 * U * norms(du.centre) * high
    by_slope = above(norms(du.centre) * high + du.ball * high + slack, 3)
    near = du.ball * high + norms(du.centre) * reach + u.norm() * moved + slack
    ball = np.minimum(near, above(by_slope + norms(centre)))
    weight = np.abs(norm.weight)
    rounding = 4 * U * np.abs(centre) * weight
    found = Enclosure(
        centre * norm.weight, above(box * weight + rounding, 4), above(ball * float(weight.max()) + norms(rounding), 4)
    ).tightened()
    # Or simply a ball around zero by the slope.
    alone = above(by_slope * float(weight.max()), 2)
    flat = Enclosure(np.zeros_like(centre), np.broadcast_to(alone[:, None], centre.shape), alone)
    smaller = (alone < found.ball + norms(found.centre)) & (found.ball > norms(found.centre))
    return where(smaller, flat, found).tightened()
