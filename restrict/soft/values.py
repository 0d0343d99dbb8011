"""What the activations of a softmax transformer can be, over all inputs that a restriction admits.

The abstract run of soft attention. Positions are split by their own token (at most :data:`CASES` cases, else their
hull), so the discrete part of an activation stays exact and only what comes from other positions is uncertain. One
layer takes a set for every (position, case) to a set for every (position, case):

- **scores** of a query and a key set: the product of the centres, plus
  ``(|q| + q_box) . k_box + q_box . |k|`` or ``(|q| + q_ball) k_ball + q_ball |k|``, whichever is less;
- **weights** from scores in ``low .. high``: ``a_w`` lies between ``e^low / (e^low + sum of the others' e^high)`` and
  ``e^high / (e^high + sum of the others' e^low)``;
- **averages**: with weights in ``a +- r`` that sum to 1 and values in ``v +- s``, for any ``g`` and ``t``:
  ``|sum a_w v_w - g - sum a (v - g)| <= sum r |v - g| + t + sum (a + r) max(s - t, 0)``;
- **coupled averages**: where the work allows it, a bound ``u`` on an average is improved until
  ``sum_w max over cases and weights of e (v - u) <= 0`` just holds, so that a position's weight and value come from one
  case (:mod:`restrict.kernels.soft`);
- **networks**: a ReLU on ``[l, u]`` lies in ``lambda z + [0, -lambda l]`` with ``lambda = u / (u - l)`` (0 or 1 where
  the sign is certain), so network and skip connection are one matrix, and what they cancel stays cancelled;
- **LayerNorm**: ``u / s`` for the centred ``u``, with ``s`` in an interval.

All radii are rounded outward (:mod:`restrict.soft.enclosure`); ``exp`` of the library is taken to be within 16 units in
the last place. Theorem (soundness): for every admitted input, every activation lies in its set. *Proof*: induction over
the layers; each rule above contains the exact operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restrict.errors import ResourceLimit, UsageError
from restrict.kernels.soft import coupled_tops
from restrict.soft.enclosure import TINY, Enclosure, U, above, add, concatenate, exactly, gamma, hull, norms
from restrict.soft.model import Floats, LayerNorm, visible
from restrict.soft.parts import FeedForward, Head, Layer, Parts, eps_range

CASES = 6
"""Tokens that a position is split by; with more, the hull of all of them is one case."""
BLOCK = 2**22
"""Scores of a block of queries held at once."""
COUPLED = 10**7
"""Products of queries, keys and value entries up to which averages are bounded case by case."""
EXP = 2.0**-48
"""A bound on the relative error of the library's ``exp``."""
MAX_LOGIT = 1e15
Rows = npt.NDArray[np.int64]


def allowed_tokens(parts: Parts, fixed: dict[int, int] | None = None) -> Rows:
    """The tokens of every position, (n, K): the whole alphabet at free positions, one token repeated elsewhere.

    Args:
        parts: the model at a length.
        fixed: positions with their symbols' indices; markers are added.

    Raises:
        UsageError: a position or symbol out of range.
    """
    size = len(parts.model.alphabet)
    tokens = np.tile(np.arange(size), (parts.n, 1))
    for position, symbol in {**(fixed or {}), **parts.model.pinned(parts.n)}.items():
        if not 0 <= position < parts.n or not 0 <= symbol < len(parts.model.symbols):
            raise UsageError(f"position {position} or symbol {symbol} is out of range at n = {parts.n}")
        tokens[position] = symbol
    return tokens


@dataclass(frozen=True, eq=False)
class State:
    """The sets before a layer, (n, K, d), and what a difference run needs to know about them."""

    sets: Enclosure

    @property
    def cases(self) -> int:
        """Cases per position."""
        return int(self.sets.centre.shape[1])

    @property
    def merged(self) -> Enclosure:
        """One set per position, (n, d)."""
        return hull(self.sets, 1)


def start(parts: Parts, tokens: Rows) -> State:
    """The embeddings, split by token where that gives at most :data:`CASES` cases."""
    sets = parts.embedded(tokens)
    if tokens.shape[1] > CASES:
        merged = hull(sets, 1)
        sets = merged.reshaped(parts.n, 1)
    return State(sets)


def run_values(parts: Parts, tokens: Rows, *, at: Sequence[int] | None = None) -> Enclosure:
    """The sets of the residual stream after the last layer and the final LayerNorm, one per position read: (r, d).

    Args:
        parts: the model at a length.
        tokens: (n, K) allowed tokens (:func:`allowed_tokens`).
        at: positions to read, all by default.

    Returns:
        Sets of shape (r, d), the cases of a position merged. Cost: per layer and head ``K^2 n^2`` scores of ``dk``
        products, three times; the last layer only for the positions read.
    """
    state = start(parts, tokens)
    rows = np.arange(parts.n)
    read = rows if at is None else np.asarray(at, dtype=np.int64)
    for number, layer in enumerate(parts.layers):
        last = number == len(parts.layers) - 1
        state = State(layer_values(layer, state, read if last else rows, parts.n))
    if not parts.layers:
        state = State(state.sets[read])
    return finish_values(parts, state.merged)


def finish_values(parts: Parts, y: Enclosure) -> Enclosure:
    """The final LayerNorm, where there is one."""
    return y if parts.model.final_norm is None else normed(parts.model.final_norm, y)


def layer_values(layer: Layer, state: State, rows: Rows, n: int) -> Enclosure:
    """One layer at ``rows``: (len(rows), K, d)."""
    keys = State(pre_normed(layer, state.sets))
    here = add(state.sets[rows], exactly(np.broadcast_to(layer.attention_bias, state.sets[rows].centre.shape)))
    for head in layer.heads:
        here = add(here, head_values(head, keys, rows, n))
    return after_attention(layer, here)


def pre_normed(layer: Layer, x: Enclosure) -> Enclosure:
    """What the heads read."""
    return normed(layer.norm1, x) if layer.norm == "pre" and layer.norm1 is not None else x


def after_attention(layer: Layer, y: Enclosure) -> Enclosure:
    """LayerNorm and network after the heads' results were added."""
    if layer.norm == "post" and layer.norm1 is not None:
        y = normed(layer.norm1, y)
    if layer.ffn is None:
        return y
    if layer.norm == "pre" and layer.norm2 is not None:
        return add(y, fed_forward(layer.ffn, normed(layer.norm2, y), skip=False))
    y = fed_forward(layer.ffn, y, skip=True)
    return normed(layer.norm2, y) if layer.norm2 is not None else y


# ---------------------------------------------------------------- attention


@dataclass(frozen=True, eq=False)
class Keys:
    """What one head knows of all positions: queries, keys and values split by case, and the values merged."""

    q: Enclosure
    k: Enclosure
    values: Enclosure
    v: Enclosure

    @property
    def cases(self) -> int:
        """Cases per position."""
        return int(self.k.centre.shape[1])


def keys_of(head: Head, keys: State) -> Keys:
    """Queries (n, K, dk), keys (n, K, dk) and values (n, K, dv)."""
    values = head.value.image(keys.sets)
    return Keys(head.query.image(keys.sets), head.key.image(keys.sets), values, hull(values, 1))


def blocks(rows: Rows, width: int) -> list[Rows]:
    """``rows`` in pieces with at most :data:`BLOCK` scores each."""
    step = max(1, BLOCK // max(1, width))
    return [rows[start : start + step] for start in range(0, len(rows), step)]


def head_values(head: Head, state: State, rows: Rows, n: int) -> Enclosure:
    """What a head adds at ``rows``: (len(rows), K, d)."""
    keys = keys_of(head, state)
    cases = keys.cases
    found = []
    inner = 1 if head.additive is None else head.key.matrix.shape[0]
    for part in blocks(rows, n * cases * cases * inner):
        low, high, seen = score_range(head, keys, part, n)
        average = averaged(weight_range(low.min(axis=3), high.max(axis=3)), keys.v, seen)
        work = len(part) * cases * n * cases * average.centre.shape[2]
        found.append(coupled(low, high, keys.values, average, seen) if work <= COUPLED else average)
    return head.output.image(concatenate(found))


def coupled(low: Floats, high: Floats, values: Enclosure, average: Enclosure, seen: npt.NDArray[np.bool_]) -> Enclosure:
    """``average`` cut to what holds when a position's weight and value come from one case of its token.

    ``low``, ``high`` (r, K, n, K'), ``values`` (n, K', dv), ``average`` (r, K, dv). See
    :mod:`restrict.kernels.soft`.
    """
    r, cases, n, key_cases = low.shape
    top = np.asarray(high.max(axis=(2, 3), keepdims=True))
    small, big = exponentials(low, high, np.where(np.isfinite(top), top, 0.0))
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


def score_range(head: Head, keys: Keys, rows: Rows, n: int) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Bounds on the scaled scores, (r, K, n, K'), by the cases of query and key; and which keys are seen, (r, n).

    Minus infinity where masked.
    """
    q, cases = keys.q[rows], keys.cases
    seen = visible(head.mask, rows, n)
    shape = (len(rows), cases, n, cases)
    if head.uniform:
        low, high = np.zeros(shape), np.zeros(shape)
    else:
        flat = q.reshaped(len(rows) * cases), keys.k.reshaped(n * cases)
        low, high = _scaled(head, *(dot_range if head.additive is None else additive_range)(head, *flat))
        low, high = low.reshape(shape), high.reshape(shape)
    if head.mask != "none":
        low = np.where(seen[:, None, :, None], low, -np.inf)
        high = np.where(seen[:, None, :, None], high, -np.inf)
    return low, high, seen


def _scaled(head: Head, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    ends = [low * head.scale_low, low * head.scale_high, high * head.scale_low, high * head.scale_high]
    bottom, top = np.minimum.reduce(ends), np.maximum.reduce(ends)
    size = max(float(np.abs(top).max()), float(np.abs(bottom).max()))
    if not size <= MAX_LOGIT:
        raise ResourceLimit("an attention score is too large or too uncertain to be bounded in double precision")
    return bottom - 4 * U * np.abs(bottom) - TINY, top + 4 * U * np.abs(top) + TINY


def dot_range(head: Head, q: Enclosure, k: Enclosure) -> tuple[Floats, Floats]:
    """Bounds on ``q . k``: (queries, keys)."""
    d = q.centre.shape[-1]
    centre = q.centre @ k.centre.T
    qn, kn = norms(q.centre), norms(k.centre)
    by_ball = np.outer(qn + q.ball, k.ball) + np.outer(q.ball, kn)
    if float(by_ball.max()) > 1e-9:
        left = np.concatenate([np.abs(q.centre) + q.box, q.box], axis=1)
        right = np.concatenate([k.box, np.abs(k.centre)], axis=1)
        by_ball = np.minimum(by_ball, left @ right.T)
    spread = above(by_ball + gamma(d) * np.outer(qn, kn), 2 * d)
    spread += 4 * U * (np.abs(centre) + spread)
    return centre - spread, centre + spread


def additive_range(head: Head, q: Enclosure, k: Enclosure) -> tuple[Floats, Floats]:
    """Bounds on ``additive . tanh(q + k)``: (queries, keys). Tanh is increasing and has slope at most 1."""
    assert head.additive is not None
    weights = head.additive
    d = len(weights)
    centre = q.centre[:, None] + k.centre[None]
    box = q.box[:, None] + k.box[None] + 4 * U * np.abs(centre)
    low, high = np.tanh(centre - box) - 8 * U, np.tanh(centre + box) + 8 * U
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    error = above(np.full(1, 2 * gamma(d) * float(np.abs(weights).sum())), d)
    return low @ up + high @ down - error, high @ up + low @ down + error


def weight_range(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Bounds on the softmax weights of scores in ``low .. high``, along the last axis; 0 where masked."""
    n = low.shape[-1]
    top = high.max(axis=-1, keepdims=True)
    small, big = exponentials(low, high, np.where(np.isfinite(top), top, 0.0))
    slack = 1 + 2 * gamma(n)
    total_big = big.sum(axis=-1, keepdims=True) * slack
    total_small = small.sum(axis=-1, keepdims=True) / slack
    least_others = np.maximum(total_small - small * slack, 0.0)
    most_others = total_big - big + 4 * U * total_big
    with np.errstate(invalid="ignore", divide="ignore"):
        most = np.where(big > 0, big / (big + least_others), 0.0)
        least = np.where(small > 0, small / (small + most_others), 0.0)
    return np.maximum(least * (1 - 8 * U) - TINY, 0.0), np.minimum(most * (1 + 8 * U) + TINY * (big > 0), 1.0)


def exponentials(low: Floats, high: Floats, top: Floats) -> tuple[Floats, Floats]:
    """Lower bounds on ``exp(low - top)`` and upper bounds on ``exp(high - top)``; 0 at minus infinity."""
    # |high - top| can be as large as the scores, so the rounding of the difference counts, too.
    off = 4 * U * (np.abs(top) + 1)
    big = np.exp(high - top + off + 2 * U * np.abs(np.where(np.isfinite(high), high, 0.0))) * (1 + EXP)
    small = np.exp(low - top - off - 2 * U * np.abs(np.where(np.isfinite(low), low, 0.0))) * (1 - EXP)
    return small, big + TINY * (high > -np.inf)


def averaged(weights: tuple[Floats, Floats], v: Enclosure, seen: npt.NDArray[np.bool_]) -> Enclosure:
    """The weighted averages of the values: weights (r, K, n), values (n, dv); result (r, K, dv).

    The rule of the module's docstring, cut to the hull of all values; where nothing is seen, zero.
    """
    least, most = weights
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
    found = Enclosure(g + part, above(box + last, n), above(ball + norms(last), n)).tightened()
    everything = hull(v, 0)
    found = _cut(found, everything)
    nothing = ~seen.any(axis=1)
    if nothing.any():
        found.centre[nothing], found.box[nothing], found.ball[nothing] = 0.0, 0.0, 0.0
    return found


def weighted(most: Floats, v: Enclosure) -> tuple[Floats, Floats]:
    """Bounds on averages of the radii (box and ball) with weights of at most ``most`` (.., n) that sum to at most 1.

    ``sum a s <= t + sum most max(s - t, 0)`` for any ``t``: here the mean radius, and 0.
    """
    t, t_ball = v.box.mean(axis=0), float(v.ball.mean())
    box = np.minimum(t + most @ np.maximum(v.box - t, 0), most @ v.box)
    ball = np.minimum(t_ball + most @ np.maximum(v.ball - t_ball, 0), most @ v.ball)
    return box, ball


def _cut(x: Enclosure, outer: Enclosure) -> Enclosure:
    """``x`` (..., d) cut to another set (d,) that also contains what is meant."""
    low, high = np.maximum(x.low, outer.low), np.minimum(x.high, outer.high)
    # Both contain the exact value, so low <= high but for rounding that they already allow for.
    high = np.maximum(low, high)
    return _between(x, low, high, outer)


def _between(x: Enclosure, low: Floats, high: Floats, outer: Enclosure | None = None) -> Enclosure:
    """``x`` cut to ``low .. high``, kept as it is where the ball would not shrink."""
    centre = (low + high) / 2
    box = above(np.maximum(high - centre, centre - low) + 2 * U * np.abs(centre))
    ball = above(norms(centre - x.centre) + x.ball + 4 * U * norms(centre), 2)
    if outer is not None:
        ball = np.minimum(ball, above(norms(centre - outer.centre) + outer.ball + 4 * U * norms(centre), 2))
    better = norms(box) < x.ball
    return Enclosure(
        np.where(better[..., None], centre, x.centre),
        np.where(better[..., None], box, x.box),
        np.where(better, ball, x.ball),
    ).tightened()


# ---------------------------------------------------------------- position-wise


def fed_forward(ffn: FeedForward, y: Enclosure, *, skip: bool) -> Enclosure:
    """``outer f(inner y) (+ y)`` as one linear map with an error per hidden unit."""
    shape = y.centre.shape[:-1]
    flat = y.reshaped(int(np.prod(shape)))
    step = max(1, 2**22 // (flat.centre.shape[1] ** 2 + len(ffn.inner.matrix)))
    parts = [_fed_forward(ffn, flat[at : at + step], skip) for at in range(0, len(flat.ball), step)]
    return concatenate(parts).reshaped(*shape)


def relaxed(ffn: FeedForward, z: Enclosure) -> tuple[Floats, Floats, Floats]:
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
    from restrict.soft.evaluate import activated

    flattest, steepest = ffn.slopes
    slope = np.full_like(low, (flattest + steepest) / 2)
    value: Floats = activated(ffn.kind, z.centre)
    radius = (steepest - flattest) / 2 * np.maximum(high - z.centre, z.centre - low)
    error = radius + 64 * U * (np.abs(z.centre) + 1)
    shift = value - slope * z.centre
    return slope, shift, above(error + 4 * U * (np.abs(shift) + np.abs(slope * z.centre)))


def _fed_forward(ffn: FeedForward, y: Enclosure, skip: bool) -> Enclosure:
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
    box = above(moved_box + rounding, hidden + d)
    ball = above(moved_ball + norms(rounding), hidden + d)
    return Enclosure(centre, box, ball).tightened()


def _moved(ffn: FeedForward, y: Enclosure, slope: Floats, skip: bool) -> tuple[Floats, Floats]:
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
    flat = np.minimum(
        np.sqrt(absolute.sum(axis=1).max(axis=1) * absolute.sum(axis=2).max(axis=1)),
        norms(matrices.reshape(len(matrices), -1)),
    )
    ball = np.minimum(by_norm, above(flat, d) * y.ball + rounding)
    return box + rounding[:, None], ball


def normed(norm: LayerNorm, x: Enclosure) -> Enclosure:
    """LayerNorm of sets (..., d). Whatever the input, ``x / s`` has norm at most ``sqrt(d)``."""
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
    return Enclosure(
        shifted, above(box * weight + extra, d), above(ball * float(weight.max()) + norms(extra), d)
    ).tightened()  # fmt: skip


def centred(x: Enclosure) -> tuple[Enclosure, Floats]:
    """``x`` less its mean, and the norm of that vector's centre. Taking the mean off is a projection."""
    d = x.centre.shape[-1]
    mean = x.centre.mean(axis=-1, keepdims=True)
    centre = x.centre - mean
    error = gamma(d) * (np.abs(x.centre) + np.abs(x.centre).mean(axis=-1, keepdims=True))
    box = x.box * (1 - 1 / d) + (x.box.sum(axis=-1, keepdims=True) - x.box) / d + error + 4 * U * x.box
    u = Enclosure(centre, above(box, d), above(x.ball + norms(error), d)).tightened()
    return u, norms(centre)


def scale_bounds(norm: LayerNorm, u: Enclosure, size: Floats) -> tuple[Floats, Floats]:
    """Bounds on ``1 / sqrt(|u|^2 / d + eps)``.

    Raises:
        ResourceLimit: a LayerNorm may divide by zero.
    """
    d = u.centre.shape[-1]
    eps_low, eps_high = eps_range(norm)
    lowest = np.maximum(size * (1 - 4 * gamma(d)) - u.ball - 4 * TINY, 0.0)
    highest = size + u.ball
    low = 1 / np.sqrt(highest * highest / d + eps_high) * (1 - 16 * U)
    square = lowest * lowest / d + eps_low
    if not (square > 0).all():
        raise ResourceLimit("a LayerNorm may divide by zero here: its constant eps is 0 and its input may vanish")
    return low, 1 / np.sqrt(square) * (1 + 16 * U)
