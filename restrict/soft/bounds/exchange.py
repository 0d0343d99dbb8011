"""How far the activations of two inputs that differ in one symbol can be apart: Lemma 5 as a propagation of sets.

Fix two symbols ``a``, ``b`` and a set ``I`` of positions. For every ``i`` in ``I``, every admitted input with ``a`` at
``i`` and the same input with ``b`` there, the run keeps for every position ``j`` a set of differences ``y_j - y'_j``:
one for ``j`` other than ``i`` (small), one for ``j = i`` (large). :mod:`.values`, which runs along with
it, says what the activations themselves can be.

**A head** (this is the repaired step of Hahn's proof: the weights move, too). Let ``p``, ``p'`` be the weight of ``i``
seen from ``j`` in the two runs, ``m``, ``m'`` the averages of the values at the other positions, ``alpha`` their
weights among themselves. Exactly::

    b - b' = p (v_i - v'_i) + (p - p') (v'_i - m) + (1 - p') (m - m')
    m - m' = sum alpha_w (v_w - v'_w) + sum (alpha_w - alpha'_w) v'_w

Along the straight line between the two score vectors ``d/dt sum alpha_w v'_w`` is a covariance, so the last sum is at
most ``sum alpha_w |ds_w - sigma|`` times the range of the values, for any ``sigma``; and ``|p - p'| <= p (1 - p) (|ds_i
- sigma| + sum alpha_w |ds_w - sigma|)``. Score differences are ``ds_w = q_j . (k_w - k'_w) + (q_j - q'_j) . k'_w``;
``sigma`` is the second product at the mean key.

**Networks**: a hidden unit's difference is its input's difference times a slope, which is known where the sign of the
input is. **LayerNorm**: ``u/s - u'/s' = (u - u')/s + u' (1/s - 1/s')``, and the map has slope at most ``1/s``.

Theorem (soundness): every such pair of runs has its differences in these sets. All radii are rounded outward.

Networks and LayerNorm applied to sets of differences: the position-wise half of :mod:`.exchange`. A hidden unit's
difference is its input's difference times a slope between the least and the greatest of the activation function, which
is known where the sign of the input is. ``u/s - u'/s' = (u - u')/s + u' (1/s - 1/s')`` for LayerNorm, whose slope is at
most ``1/s``; where the two runs' values are far apart, the difference of their images can be better.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.base.errors import UsageError
from restrict.soft.bounds.averages import block_average
from restrict.soft.bounds.enclosure import Enclosure, U, above, add, exactly, hull, joined, norms, rounded, where
from restrict.soft.bounds.head_change import Known, QueryBlock, change_of
from restrict.soft.bounds.parts import ReadyFeedForward, ReadyHead, ReadyLayer, ReadyModel
from restrict.soft.bounds.positionwise import centred, fed_forward, normed, scale_bounds
from restrict.soft.bounds.scores import keys_of, score_blocks
from restrict.soft.bounds.values import after_attention, finish_values, start
from restrict.soft.models.model import Floats, LayerNorm


@dataclass(frozen=True, eq=False)
class Differences:
    """The differences of one exchange: ``other`` for ``j != i``, ``own`` for ``j = i``; both (n, d)."""

    other: Enclosure
    own: Enclosure
    symbols: tuple[int, int]

    def each(self, change: Callable[[Enclosure], Enclosure]) -> "Differences":
        """Both differences, ``other`` and ``own``, after the same change."""
        return Differences(change(self.other), change(self.own), self.symbols)


def run_exchange(
    parts: ReadyModel, tokens: I64, positions: I64, *, at: I64 | None = None, symbols: tuple[tuple[int, int], ...] = ()
) -> tuple[Enclosure, list[Differences]]:
    """The activations' sets after the last layer, and those of differences for each pair of symbols, (r, d), at the
    positions ``at`` (default: all), where one position of ``positions`` (ascending; each) is exchanged by any of
    ``symbols`` (pairs; default: all). ``tokens``: (n, K) allowed ones elsewhere. Cost: :func:`run_values`, and about
    four products of (n, n) by (n, dv) matrices a head and pair."""
    if len(positions) == 0 or set(positions.tolist()) & set(parts.model.pinned(parts.n)):
        raise UsageError("the positions to exchange must be at least one, and none of them a marker")
    if tokens.shape[1] != len(parts.model.alphabet) or (tokens[positions] != np.arange(tokens.shape[1])).any():
        raise UsageError("a position to exchange must be free: all symbols allowed there")
    symbols = symbols or tuple(itertools.combinations(range(len(parts.model.alphabet)), 2))
    chosen = np.zeros(parts.n, dtype=np.bool_)
    chosen[positions] = True
    return _run(parts, tokens, [_first(parts, a, b, chosen) for a, b in symbols], chosen, at)


def run_values(parts: ReadyModel, tokens: I64, *, at: Sequence[int] | None = None) -> Enclosure:
    """The sets of the residual stream after the last layer and the final LayerNorm at the positions ``at`` (default:
    all), (r, d), cases merged. ``tokens``: (n, K), see :func:`.values.allowed_tokens`. Cost: per layer and head ``K^2
    n^2`` scores of ``dk`` products, three times; the last layer only for the positions read."""
    return _run(parts, tokens, [], np.zeros(parts.n, dtype=np.bool_), at)[0]


def _run(
    parts: ReadyModel, tokens: I64, pairs: list[Differences], chosen: Bools, at: I64 | Sequence[int] | None
) -> tuple[Enclosure, list[Differences]]:
    """The sets at some positions (by default all) behind the model, and what becomes of differences."""
    sets, rows = start(parts, tokens), np.arange(parts.n)
    read = rows if at is None else np.asarray(at, dtype=np.int64)
    for number, layer in enumerate(parts.layers):
        here = read if number == len(parts.layers) - 1 else rows
        sets, pairs = _layer(layer, sets, pairs, chosen, here)
    if not parts.layers:
        sets, pairs = sets[read], [pair.each(lambda x: x[read]) for pair in pairs]
    return finish_values(parts, sets), [_read_difference(parts.model.final_norm, sets, p) for p in pairs]


def _first(parts: ReadyModel, a: int, b: int, chosen: Bools) -> Differences:
    """Differences of the embeddings: the same vector at every position of ``I``."""
    step = np.zeros(parts.model.width)
    step[: parts.model.embed.shape[1]] = parts.model.embed[a] - parts.model.embed[b]
    own = np.where(chosen[:, None], step, 0.0)
    wrong = U * 2 * np.abs(own)
    return Differences(exactly(np.zeros_like(own)), Enclosure(own, above(wrong), norms(wrong)), (a, b))


def _layer(
    layer: ReadyLayer, sets: Enclosure, pairs: list[Differences], chosen: Bools, rows: I64
) -> tuple[Enclosure, list[Differences]]:
    keys = normed(layer.front[0], sets)
    read = [_read_difference(layer.front[0], sets, pair) for pair in pairs]
    here = add(sets[rows], exactly(np.broadcast_to(layer.attention_bias, sets[rows].centre.shape)))
    moved = [pair.each(lambda x: x[rows]) for pair in pairs]
    for head in layer.heads:
        average, changes = _head(head, keys, read, chosen, rows)
        here = add(here, average)
        moved = [
            Differences(add(p.other, c.other), add(p.own, c.own), p.symbols)
            for p, c in zip(moved, changes, strict=True)
        ]
    return after_attention(layer, here), [_changed(partial(_after, layer), here, pair) for pair in moved]


def _head(
    head: ReadyHead, sets: Enclosure, pairs: list[Differences], chosen: Bools, rows: I64
) -> tuple[Enclosure, list[Differences]]:
    """What a head adds at ``rows``: to the values (len(rows), K, d), and to every exchange's differences."""
    keys = keys_of(head, sets)
    known, changes = Known(keys), [change_of(head, p.other, p.own, chosen) for p in pairs]
    averages: list[Enclosure] = []
    parts: list[list[tuple[Enclosure, Enclosure]]] = [[] for _ in pairs]
    for scores in score_blocks(head, keys, rows):
        averages.append(block_average(keys, scores))
        block = QueryBlock(head, known, scores, chosen)
        for found, change in zip(parts, changes, strict=True):
            found.append((block.other(change), block.own(change)))
    moved = []
    for found, pair in zip(parts, pairs, strict=True):
        other, own = (head.output.image(joined(side)) for side in zip(*found, strict=True))
        moved.append(Differences(other, own, pair.symbols))
    return head.output.image(joined(averages)), moved


def _changed(
    rule: Callable[[tuple[Enclosure, ...], Enclosure], Enclosure], sets: Enclosure, pair: Differences
) -> Differences:
    """The differences behind some part of a layer. ``rule`` takes the activation's sets in both runs, or one for both,
    and differences. The token of another position is the same in both runs, whatever it is; that of the exchanged
    position is one symbol in the first run, the other in the second, where ``sets`` (r, K, d) are split by token."""
    cases = sets.centre.shape[1]
    other = hull(joined([rule((sets[:, k],), pair.other) for k in range(cases)], np.stack), 0)
    own = (sets[:, 0],) if cases == 1 else (sets[:, pair.symbols[0]], sets[:, pair.symbols[1]])
    return Differences(other, rule(own, pair.own), pair.symbols)


def _read_difference(norm: LayerNorm | None, sets: Enclosure, pair: Differences) -> Differences:
    """The differences behind a LayerNorm, where there is one."""
    return pair if norm is None else _changed(partial(norm_difference, norm), sets, pair)


def _after(layer: ReadyLayer, y: tuple[Enclosure, ...], change: Enclosure) -> Enclosure:
    """LayerNorm and network after the heads, for differences. ``y``: one set for both runs, or two."""
    change = norm_difference(layer.behind[0], y, change)
    y = tuple(normed(layer.behind[0], v) for v in y)
    if layer.ffn is None:
        return change
    inner = norm_difference(layer.front[1], y, change)
    read = merge(tuple(normed(layer.front[1], v) for v in y))
    moved = add(change, feed_difference(layer.ffn, read, inner))
    if layer.behind[1] is None:
        return moved
    return norm_difference(layer.behind[1], tuple(fed_forward(layer.ffn, v, skip=True) for v in y), moved)


def merge(values: tuple[Enclosure, ...]) -> Enclosure:
    """One set that holds all of the given sets."""
    return values[0] if len(values) == 1 else hull(joined(values, np.stack), 0)


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
    return ffn.outer.difference(rounded(centre, box, ball, 3))


def norm_difference(norm: LayerNorm | None, values: tuple[Enclosure, ...], change: Enclosure) -> Enclosure:
    """LayerNorm, where there is one, of differences (r, d). ``values``: one set (r, d) that holds both runs' values, or
    the sets of the two runs. Result: the smaller of a propagated set and, with two sets, the difference of their
    images."""
    if norm is None:
        return change
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
    ball = ball * float(weight.max()) + norms(rounding)
    found = rounded(centre * norm.weight, box * weight + rounding, ball, 4)
    # Or simply a ball around zero by the slope.
    alone = above(by_slope * float(weight.max()), 2)
    flat = Enclosure(np.zeros_like(centre), np.broadcast_to(alone[:, None], centre.shape), alone)
    smaller = (alone < found.ball + norms(found.centre)) & (found.ball > norms(found.centre))
    return where(smaller, flat, found).tightened()
