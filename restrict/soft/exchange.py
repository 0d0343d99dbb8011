"""How far the activations of two inputs that differ in one symbol can be apart: Lemma 5 as a propagation of sets.

Fix two symbols ``a``, ``b`` and a set ``I`` of positions. For every ``i`` in ``I``, every admitted input with ``a`` at
``i`` and the same input with ``b`` there, the run keeps for every position ``j`` a set of differences
``y_j - y'_j``: one for ``j`` other than ``i`` (small), one for ``j = i`` (large). Beside it runs
:mod:`restrict.soft.values`, which says what the activations themselves can be.

**A head** (this is the repaired step of Hahn's proof: the weights move, too). Let ``p``, ``p'`` be the weight of ``i``
seen from ``j`` in the two runs, ``m``, ``m'`` the averages of the values at the other positions, ``alpha`` their
weights among themselves. Exactly::

    b - b' = p (v_i - v'_i) + (p - p') (v'_i - m) + (1 - p') (m - m')
    m - m' = sum alpha_w (v_w - v'_w) + sum (alpha_w - alpha'_w) v'_w

Along the straight line between the two score vectors ``d/dt sum alpha_w v'_w`` is a covariance, so the last sum is at
most ``sum alpha_w |ds_w - sigma|`` times the range of the values, for any ``sigma``; and
``|p - p'| <= p (1 - p) (|ds_i - sigma| + sum alpha_w |ds_w - sigma|)``. Score differences are
``ds_w = q_j . (k_w - k'_w) + (q_j - q'_j) . k'_w``; ``sigma`` is the second product at the mean key.

**Networks**: a hidden unit's difference is its input's difference times a slope, which is known where the sign of the
input is. **LayerNorm**: ``u/s - u'/s' = (u - u')/s + u' (1/s - 1/s')``, and the map has slope at most ``1/s``.

Theorem (soundness): every such pair of runs has its differences in these sets. All radii are rounded outward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restrict.errors import UsageError
from restrict.soft.differences import feed_difference, merge, norm_difference
from restrict.soft.enclosure import Enclosure, U, above, add, concatenate, exactly, gamma, hull, norms, stack
from restrict.soft.model import Floats
from restrict.soft.parts import Head, Layer, Parts
from restrict.soft.values import (
    Keys,
    Rows,
    State,
    after_attention,
    blocks,
    fed_forward,
    finish_values,
    head_values,
    keys_of,
    normed,
    pre_normed,
    score_range,
    start,
    weight_range,
    weighted,
)

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pair:
    """The differences of one exchange: ``other`` for ``j != i``, ``own`` for ``j = i``; both (n, d)."""

    other: Enclosure
    own: Enclosure
    symbols: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Exchange:
    """Differences after the last layer at the positions read.

    ``other`` and ``own`` list, per pair of symbols, sets of shape (r, d); ``values`` are the activations' sets.
    """

    symbols: tuple[tuple[int, int], ...]
    other: tuple[Enclosure, ...]
    own: tuple[Enclosure, ...]
    values: Enclosure


def symbol_pairs(parts: Parts) -> tuple[tuple[int, int], ...]:
    """The unordered pairs of symbols of the alphabet."""
    size = len(parts.model.alphabet)
    return tuple((a, b) for a in range(size) for b in range(a + 1, size))


def run_exchange(
    parts: Parts, tokens: Rows, positions: Rows, *, at: Rows | None = None, symbols: tuple[tuple[int, int], ...] = ()
) -> Exchange:
    """Propagate the differences through the model.

    Args:
        parts: the model at a length.
        tokens: (n, K) allowed tokens of the other positions.
        positions: the set ``I``, ascending; the result holds for each of them.
        at: positions to read, all by default.
        symbols: pairs of symbols to exchange, all by default.

    Returns:
        The sets of differences. Cost: that of :func:`restrict.soft.values.run_values`, plus about four products of an
        (n, n) matrix with an (n, dv) matrix per head and pair.

    Raises:
        UsageError: where ``positions`` is empty or not free.
    """
    n, rows = parts.n, np.arange(parts.n)
    if len(positions) == 0 or set(positions.tolist()) & set(parts.model.pinned(n)):
        raise UsageError("the positions to exchange must be at least one, and none of them a marker")
    if tokens.shape[1] != len(parts.model.alphabet) or (tokens[positions] != np.arange(tokens.shape[1])).any():
        raise UsageError("a position to exchange must be free: all symbols allowed there")
    read = rows if at is None else np.asarray(at, dtype=np.int64)
    symbols = symbols or symbol_pairs(parts)
    state, chosen = start(parts, tokens), np.zeros(n, dtype=np.bool_)
    chosen[positions] = True
    pairs = [_first(parts, a, b, chosen) for a, b in symbols]
    for number, layer in enumerate(parts.layers):
        here = read if number == len(parts.layers) - 1 else rows
        state, pairs = _layer(layer, state, pairs, chosen, here, n)
    sets = state.sets
    if not parts.layers:
        sets, pairs = sets[read], [Pair(p.other[read], p.own[read], p.symbols) for p in pairs]
    if parts.model.final_norm is not None:
        norm = parts.model.final_norm
        pairs = [_pre_difference(Layer((), np.zeros(0), None, "pre", norm, None), sets, p) for p in pairs]
    found = finish_values(parts, State(sets).merged)
    return Exchange(symbols, tuple(p.other for p in pairs), tuple(p.own for p in pairs), found)


def _first(parts: Parts, a: int, b: int, chosen: Bools) -> Pair:
    """Differences of the embeddings: the same vector at every position of ``I``."""
    n, d = parts.n, parts.model.width
    step = np.zeros(d)
    size = parts.model.embed.shape[1]
    step[:size] = parts.model.embed[a] - parts.model.embed[b]
    error = np.zeros(d)
    error[:size] = U * 2 * np.abs(step[:size])
    own = np.where(chosen[:, None], step, 0.0)
    wrong = np.where(chosen[:, None], error, 0.0)
    return Pair(exactly(np.zeros((n, d))), Enclosure(own, above(wrong), norms(wrong)), (a, b))


def _layer(
    layer: Layer, state: State, pairs: list[Pair], chosen: Bools, rows: Rows, n: int
) -> tuple[State, list[Pair]]:
    keys = State(pre_normed(layer, state.sets))
    read = [_pre_difference(layer, state.sets, pair) for pair in pairs]
    here = add(state.sets[rows], exactly(np.broadcast_to(layer.attention_bias, state.sets[rows].centre.shape)))
    moved = [Pair(p.other[rows], p.own[rows], p.symbols) for p in pairs]
    for head in layer.heads:
        here = add(here, head_values(head, keys, rows, n))
        changes = head_differences(head, keys, read, chosen, rows, n)
        moved = [Pair(add(p.other, c.other), add(p.own, c.own), p.symbols) for p, c in zip(moved, changes, strict=True)]
    after = State(after_attention(layer, here))
    return after, [
        Pair(
            _every_case(lambda y, p=p: _after(layer, (y,), p.other), here),  # type: ignore[misc]
            _after(layer, _two_cases(here, p.symbols), p.own),
            p.symbols,
        )
        for p in moved
    ]


def _every_case(change: Callable[[Enclosure], Enclosure], sets: Enclosure) -> Enclosure:
    """A change that holds whatever the position's own token is, which is the same in both runs."""
    return hull(stack([change(sets[:, k]) for k in range(sets.centre.shape[1])]), 0)


def _two_cases(sets: Enclosure, symbols: tuple[int, int]) -> tuple[Enclosure, ...]:
    """The activation's sets at the exchanged position in the two runs."""
    if sets.centre.shape[1] == 1:
        return (sets[:, 0],)
    return sets[:, symbols[0]], sets[:, symbols[1]]


def _pre_difference(layer: Layer, sets: Enclosure, pair: Pair) -> Pair:
    if layer.norm != "pre" or layer.norm1 is None:
        return pair
    norm = layer.norm1
    return Pair(
        _every_case(lambda y: norm_difference(norm, (y,), pair.other), sets),
        norm_difference(norm, _two_cases(sets, pair.symbols), pair.own),
        pair.symbols,
    )


def _after(layer: Layer, y: tuple[Enclosure, ...], change: Enclosure) -> Enclosure:
    """LayerNorm and network after the heads, for differences.

    ``y`` has one set where both runs' values lie in it, or the sets of the two runs.
    """
    if layer.norm == "post" and layer.norm1 is not None:
        change = norm_difference(layer.norm1, y, change)
        y = tuple(normed(layer.norm1, v) for v in y)
    if layer.ffn is None:
        return change
    if layer.norm == "pre" and layer.norm2 is not None:
        inner = norm_difference(layer.norm2, y, change)
        read = merge(tuple(normed(layer.norm2, v) for v in y))
        return add(change, feed_difference(layer.ffn, read, inner))
    moved = add(change, feed_difference(layer.ffn, merge(y), change))
    if layer.norm2 is None:
        return moved
    return norm_difference(layer.norm2, tuple(fed_forward(layer.ffn, v, skip=True) for v in y), moved)


# ---------------------------------------------------------------- attention


@dataclass(frozen=True, eq=False)
class Moves:
    """One exchange as a head sees it: differences of queries, keys and values; ``step`` those of position ``i``."""

    query: Enclosure
    own_query: Enclosure
    key: Enclosure
    value: Enclosure
    own_key: Enclosure
    own_value: Enclosure
    step_key: Enclosure
    step_value: Enclosure


def head_differences(head: Head, keys: State, pairs: list[Pair], chosen: Bools, rows: Rows, n: int) -> list[Pair]:
    """What a head adds to the differences at ``rows``, for every exchange: pairs of sets (len(rows), d)."""
    known, moves = keys_of(head, keys), [_moves(head, p, chosen) for p in pairs]
    inner = 1 if head.additive is None else head.key.matrix.shape[0]
    parts: list[list[tuple[Enclosure, Enclosure]]] = [[] for _ in pairs]
    for part in blocks(rows, n * known.cases * known.cases * inner):
        low, high, seen = score_range(head, known, part, n)
        low, high = low.min(axis=3), high.max(axis=3)
        block = Block(
            head, known, part, seen, _merged(low, high), weight_range(low.min(axis=1), high.max(axis=1)), chosen
        )
        for found, move in zip(parts, moves, strict=True):
            found.append(block.differences(move))
    return [_joined(head, found, pair.symbols) for found, pair in zip(parts, pairs, strict=True)]


def _joined(head: Head, found: list[tuple[Enclosure, Enclosure]], symbols: tuple[int, int]) -> Pair:
    """The blocks together, through the head's output matrix."""
    other, own = (head.output.image(concatenate([f[k] for f in found])) for k in range(2))
    return Pair(other, own, symbols)


def _merged(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Weights over the cases of the query; where only others change, the query keeps its case."""
    least, most = weight_range(low, high)
    return least.min(axis=1), most.max(axis=1)


def _moves(head: Head, pair: Pair, chosen: Bools) -> Moves:
    query, key, value = head.query.difference, head.key.difference, head.value.difference
    own_key, own_value = key(pair.own), value(pair.own)
    return Moves(
        query(pair.other),
        query(pair.own),
        key(pair.other),
        value(pair.other),
        own_key,
        own_value,
        hull(own_key[chosen], 0),
        hull(own_value[chosen], 0),
    )


@dataclass(frozen=True, eq=False)
class Block:
    """A block of queries of one head.

    ``weights``: bounds (r, n) that hold while the row's own token stays; ``own_weights``: bounds that also hold between
    two of its tokens (softmax of any scores between those of the cases). ``seen`` (r, n) is the mask.
    """

    head: Head
    keys: Keys
    rows: Rows
    seen: Bools
    weights: tuple[Floats, Floats]
    own_weights: tuple[Floats, Floats]
    chosen: Bools

    def differences(self, move: Moves) -> tuple[Enclosure, Enclosure]:
        """The change of the average that the head reads, for ``j != i`` and for ``j = i``."""
        return self._other(move), self._own(move)

    def _other(self, move: Moves) -> Enclosure:
        """``i`` is any chosen position other than the row's own."""
        eligible = self.seen & self.chosen[None, :] & (self.rows[:, None] != np.arange(self.seen.shape[1])[None, :])
        some = eligible.any(axis=1)
        least = np.where(some, np.where(eligible, self.weights[0], np.inf).min(axis=1, initial=np.inf), 0.0)
        most = np.where(eligible, self.weights[1], 0.0).max(axis=1, initial=0.0)
        unseen = (self.chosen[None, :] & ~self.seen).sum(axis=1) - (self.chosen[self.rows] & ~self._sees_self())
        least = np.where(unseen > 0, 0.0, least)
        return self._change(least, most, move.query[self.rows], move, None)

    def _own(self, move: Moves) -> Enclosure:
        """``i`` is the row's own position (meaningful at chosen rows)."""
        at = np.arange(len(self.rows)), self.rows
        visible = self._sees_self()
        least = np.where(visible, self.own_weights[0][at], 0.0)
        most = np.where(visible, self.own_weights[1][at], 0.0)
        found = self._change(least, most, move.own_query[self.rows], move, self.rows)
        out = ~self.chosen[self.rows]
        found.centre[out], found.box[out], found.ball[out] = 0.0, 0.0, 0.0
        return found

    def _sees_self(self) -> Bools:
        return np.asarray(self.seen[np.arange(len(self.rows)), self.rows])

    def _mean_key(self) -> Floats:
        return np.asarray(self.keys.k.centre.mean(axis=(0, 1)))

    def _scores(self, query: Enclosure, key: Enclosure) -> Floats:
        """Bounds on ``|ds_w - sigma|`` at every key, (r, n), from query (r, dk) and key (n, dk) differences."""
        merged_q, merged_k = hull(self.keys.q, 1)[self.rows], hull(self.keys.k, 1)
        if self.head.additive is not None:
            weights = np.abs(self.head.additive)
            return above(
                self.head.scale_size * ((query.largest() @ weights)[:, None] + (key.largest() @ weights)[None, :]), 40
            )
        first = _products(merged_q, key)
        mean = self._mean_key()
        off = Enclosure(merged_k.centre - mean, merged_k.box + 4 * U * (np.abs(merged_k.centre) + np.abs(mean)),
                        above(merged_k.ball + 4 * U * (norms(merged_k.centre) + norms(mean)), 2))  # fmt: skip
        # sigma is the centre's product with the mean; what the query's uncertainty does to it counts, too.
        stray = above(np.minimum(query.box @ np.abs(mean), query.ball * norms(mean)), len(mean))
        rounding = 4 * gamma(len(mean)) * norms(query.centre) * norms(mean)
        second = _products(query, off) if query.centre.any() or query.ball.any() else np.zeros((1, 1))
        return above(self.head.scale_size * (first + second + (stray + rounding)[:, None]), 4)

    def _change(self, least: Floats, most: Floats, query: Enclosure, move: Moves, own: Rows | None) -> Enclosure:
        """The terms of the module's docstring; the weight of ``i`` is in ``least .. most`` (r,)."""
        everything = hull(self.keys.v, 0)
        reach, reach_ball = above(2 * everything.box), above(2 * everything.ball)
        others = self._other_weights(own)
        rest = np.maximum(1 - most, 1e-300)
        kappa = above((others * self._scores(query, move.key)).sum(axis=1), others.shape[1])
        with np.errstate(over="ignore"):
            kappa = above(np.minimum(kappa / rest, 1e300))
        step_key, step_value = move.own_key, move.own_value
        if own is None:
            step_key, step_value = _repeat(move.step_key, len(least)), _repeat(move.step_value, len(least))
        else:
            step_key, step_value = step_key[own], step_value[own]
        ds = self._step_score(query, step_key)
        slide = np.minimum(most - least + 2 * U, above(most * np.minimum(ds + kappa, 1e300), 3))
        # Two averages of the same values are never further apart than the values.
        drift = slide + np.minimum(kappa, 1.0)
        weights = Enclosure(
            np.zeros((len(least), len(reach))), above(drift[:, None] * reach, 3), above(drift * reach_ball, 3)
        )
        first = _scaled(step_value, least, most)
        stretch = (1 - least) / rest * (1 + 16 * U)
        return add(add(first, weights), self._others(move.value, others, stretch, own)).tightened()

    def _other_weights(self, own: Rows | None) -> Floats:
        """Upper bounds on the weights of the positions other than ``i``."""
        others = (self.weights if own is None else self.own_weights)[1].copy()
        if own is not None:
            others[np.arange(len(own)), own] = 0.0
        elif self._alone:
            others[:, self.chosen] = 0.0
        return others

    @property
    def _alone(self) -> bool:
        """Whether only one position can be exchanged."""
        return int(self.chosen.sum()) == 1

    def _step_score(self, query: Enclosure, step: Enclosure) -> Floats:
        """A bound on ``|ds_i - sigma|`` for the exchanged position: (r,)."""
        q = hull(self.keys.q, 1)[self.rows]
        if self.head.additive is not None:
            weights = np.abs(self.head.additive)
            return above(self.head.scale_size * ((query.largest() + step.largest()) @ weights), 40)
        d = q.centre.shape[1]
        ball = (norms(q.centre) + q.ball) * (norms(step.centre) + step.ball)
        box = np.einsum("rd,rd->r", q.largest(), step.largest())
        centre = np.abs(np.einsum("rd,rd->r", q.centre, step.centre))
        near = centre + np.minimum(
            np.einsum("rd,rd->r", q.largest(), step.box) + np.einsum("rd,rd->r", q.box, np.abs(step.centre)),
            (norms(q.centre) + q.ball) * step.ball + q.ball * norms(step.centre),
        )
        first = np.minimum(np.minimum(ball, box), near + gamma(d) * norms(q.centre) * norms(step.centre))
        k = hull(self.keys.k, 1)
        off = np.minimum(
            np.einsum("rd,d->r", query.largest(), _farthest(k, self._mean_key())),
            query.norm() * float((norms(k.centre - self._mean_key()) + k.ball).max() * (1 + 8 * U)),
        )
        stray = np.minimum(query.box @ np.abs(self._mean_key()), query.ball * norms(self._mean_key()))
        return above(self.head.scale_size * (first + off + stray), 4 * d)

    def _others(self, value: Enclosure, others: Floats, stretch: Floats, own: Rows | None) -> Enclosure:
        """``(1 - p') sum alpha_w (v_w - v'_w)`` over the positions other than ``i``."""
        n = value.centre.shape[0]
        if not (value.centre.any() or value.ball.any()):
            return exactly(np.zeros((len(self.rows), value.centre.shape[1])))
        most = np.minimum(others * stretch[:, None], 1.0)
        floor = (self.weights if own is None else self.own_weights)[0]
        least = np.where(others > 0, floor, 0.0) / stretch[:, None] * (1 - 16 * U)
        middle, reach = (least + most) / 2, (most - least) / 2 + 2 * U * most
        size = norms(value.centre)
        part = middle @ value.centre
        rounding = gamma(n) * (middle @ np.abs(value.centre))
        spread, spread_ball = weighted(most, value)
        box = reach @ np.abs(value.centre) + spread + rounding
        ball = reach @ size + spread_ball + norms(rounding)
        if own is None and not self._alone:
            # The sum runs over w != i, and i is any chosen position: take out the largest one.
            off = np.where(self.chosen[None, :], most, 0.0)
            box = box + np.outer(off.max(axis=1), np.abs(value.centre[self.chosen]).max(axis=0))
            ball = ball + (off * size[None, :]).max(axis=1)
        return Enclosure(part, above(box, 2 * n), above(ball, 2 * n)).tightened()


def _products(a: Enclosure, b: Enclosure) -> Floats:
    """Bounds on ``|x . y|`` for ``x`` in sets (r, d) and ``y`` in sets (n, d): (r, n)."""
    d = a.centre.shape[1]
    an, bn = norms(a.centre), norms(b.centre)
    centre = np.abs(a.centre @ b.centre.T)
    spread = np.outer(an + a.ball, b.ball) + np.outer(a.ball, bn)
    left = np.concatenate([np.abs(a.centre) + a.box, a.box], axis=1)
    right = np.concatenate([b.box, np.abs(b.centre)], axis=1)
    spread = np.minimum(spread, left @ right.T)
    return above(centre + spread + gamma(d) * np.outer(an, bn), 2 * d)


def _farthest(k: Enclosure, mean: Floats) -> Floats:
    """The largest distance of a key's entry from the mean key's, over all keys."""
    return np.asarray(above((np.abs(k.centre - mean) + k.box).max(axis=0)))


def _repeat(x: Enclosure, count: int) -> Enclosure:
    """One set (d,), ``count`` times."""
    return Enclosure(
        np.broadcast_to(x.centre, (count, len(x.centre))),
        np.broadcast_to(x.box, (count, len(x.box))),
        np.broadcast_to(x.ball, (count,)),
    )


def _scaled(x: Enclosure, least: Floats, most: Floats) -> Enclosure:
    """All ``p x`` with ``p`` in ``least .. most`` (r,), for sets (r, d)."""
    middle, reach = (least + most) / 2, (most - least) / 2 + 2 * U * most
    centre = x.centre * middle[:, None]
    box = np.abs(x.centre) * reach[:, None] + x.box * most[:, None] + 2 * U * np.abs(centre)
    ball = norms(x.centre) * reach + x.ball * most + 2 * U * norms(centre)
    return Enclosure(centre, above(box, 3), above(ball, 3)).tightened()
