"""Averages of sets of values with uncertain weights: what a head reads.

- **averages**: with weights in ``a +- r`` that sum to 1 and values in ``v +- s``, for any ``g`` and ``t``:
  ``|sum a_w v_w - g - sum a (v - g)| <= sum r |v - g| + t + sum (a + r) max(s - t, 0)``;
- **coupled averages**: where the cost allows it, a bound ``u`` on an average is improved until ``sum_w max over cases
  and weights of e (v - u) <= 0`` just holds, so that a position's weight and value come from one case
  (:mod:`restrict.kernels.soft`).
"""

import numpy as np

from restrict.base.arrays import Bools
from restrict.kernels.soft import coupled_tops
from restrict.soft.bounds.enclosure import Enclosure, U, above, gamma, norms, where
from restrict.soft.bounds.scores import Keys, Scores, exponentials
from restrict.soft.models.model import Floats


def block_average(keys: Keys, block: Scores) -> Enclosure:
    """What a head reads, for a block of queries: (r, K, dv)."""
    average = averaged(block.weights, keys, block.seen)
    return average if block.split is None else coupled(*block.split, keys.values, average, block.seen)


def coupled(low: Floats, high: Floats, values: Enclosure, average: Enclosure, seen: Bools) -> Enclosure:
    """``average`` (r, K, dv) cut to what holds when a position's weight and value come from one case of its token.
    ``low``, ``high`` (r, K, n, K'), ``values`` (n, K', dv). See :mod:`restrict.kernels.soft`."""
    r, cases, n, key_cases = low.shape
    top = np.asarray(high.max(axis=(2, 3), keepdims=True))
    small, big = exponentials(low, high, top)
    flat = (r * cases, n, key_cases)
    small, big = small.reshape(flat), big.reshape(flat)
    d = average.centre.shape[2]
    start_high, start_low = average.high.reshape(-1, d), average.low.reshape(-1, d)
    tops = coupled_tops(small, big, np.ascontiguousarray(values.high), np.ascontiguousarray(start_high))
    bottoms = -coupled_tops(small, big, np.ascontiguousarray(-values.low), np.ascontiguousarray(-start_low))
    shape = average.centre.shape
    visible_rows = np.broadcast_to(np.asarray(seen.any(axis=1))[:, None, None], shape)
    highest = np.where(visible_rows, np.maximum(tops, bottoms).reshape(shape), 0.0)
    lowest = np.where(visible_rows, bottoms.reshape(shape), 0.0)
    return _between(average, lowest, highest)


def averaged(weights: tuple[Floats, Floats], keys: Keys, seen: Bools) -> Enclosure:
    """The weighted averages of the merged values: weights (r, K, n), values (n, dv); result (r, K, dv). The rule of the
    module's docstring, cut to the hull of all values; where nothing is seen, zero."""
    least, most = weights
    v = keys.v
    n = v.centre.shape[0]
    middle = (least + most) / 2
    reach = np.maximum(most - middle, middle - least) + 2 * U * middle
    g = v.centre.mean(axis=0)
    off = v.centre - g
    part = middle @ off
    # off is rounded, and so is the sum of the weights' middles times it.
    rounding = gamma(n) * (middle @ (np.abs(off) + np.abs(v.centre) + np.abs(g)))
    spread, spread_ball = weighted(most, v)
    box = reach @ np.abs(off) + spread + rounding
    ball = reach @ norms(off) + spread_ball + norms(rounding)
    last = 4 * U * (np.abs(g) + np.abs(part))
    found, outer = Enclosure(g + part, above(box + last, n), above(ball + norms(last), n)).tightened(), keys.everything
    low, high = np.maximum(found.low, outer.low), np.minimum(found.high, outer.high)
    # Both contain the exact values, so low <= high, up to rounding that they already allow for.
    found = _between(found, low, np.maximum(low, high), outer)
    nothing = ~seen.any(axis=1)
    if nothing.any():
        found.centre[nothing], found.box[nothing], found.ball[nothing] = 0.0, 0.0, 0.0
    return found


def weighted(most: Floats, v: Enclosure) -> tuple[Floats, Floats]:
    """Bounds on averages of the radii (box and ball) with weights of at most ``most`` (.., n) that sum to at most 1.
    ``sum a s <= t + sum most max(s - t, 0)`` for any ``t``: here the mean radius, and 0."""
    t, t_ball = v.box.mean(axis=0), float(v.ball.mean())
    box = np.minimum(t + most @ np.maximum(v.box - t, 0), most @ v.box)
    ball = np.minimum(t_ball + most @ np.maximum(v.ball - t_ball, 0), most @ v.ball)
    return box, ball


def _between(x: Enclosure, low: Floats, high: Floats, outer: Enclosure | None = None) -> Enclosure:
    """``x`` cut to ``low .. high``, kept as it is where the ball would not shrink."""
    centre = (low + high) / 2
    box = above(np.maximum(high - centre, centre - low) + 2 * U * np.abs(centre))
    ball = above(norms(centre - x.centre) + x.ball + 4 * U * norms(centre), 2)
    if outer is not None:
        ball = np.minimum(ball, above(norms(centre - outer.centre) + outer.ball + 4 * U * norms(centre), 2))
    return where(norms(box) < x.ball, Enclosure(centre, box, ball), x).tightened()
