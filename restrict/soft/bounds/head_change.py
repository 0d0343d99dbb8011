"""What a head adds to the differences of two inputs that differ at position ``i``: the repaired step of Lemma 5. The
terms are those of :mod:`.exchange`: the exchanged position's own value, the sliding of its weight, and what the
averages of the other positions do. Weights come from :mod:`restrict.soft.bounds.scores`, in the same blocks of queries
that the run of values uses."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.kernels.soft import Room, product_sizes
from restrict.soft.bounds.averages import weighted
from restrict.soft.bounds.enclosure import TINY, Enclosure, U, above, add, exactly, gamma, hull, norms, rounded
from restrict.soft.bounds.parts import ReadyHead
from restrict.soft.bounds.scores import Keys, Scores, Side
from restrict.soft.models.model import Floats


@dataclass(frozen=True, eq=False)
class Change:
    """One exchange as a head sees it: differences of queries, keys and values, (n, dk) and (n, dv). ``other`` are those
    for ``j != i``, ``own`` those for ``j = i``; ``step`` those of position ``i``, whichever it is."""

    query: Enclosure
    own_query: Enclosure
    key: Enclosure
    value: Enclosure
    own_key: Enclosure
    own_value: Enclosure
    step_key: Enclosure
    step_value: Enclosure

    @cached_property
    def keys(self) -> Side:
        """The differences of the keys at the other positions."""
        return Side(self.key)

    @cached_property
    def value_size(self) -> Floats:
        """Norms of the centres of the values' differences, (n,)."""
        return norms(self.value.centre)


def change_of(head: ReadyHead, other: Enclosure, own: Enclosure, chosen: Bools) -> Change:
    """What a head sees of differences ``other`` (at ``j != i``) and ``own`` (at ``j = i``), both (n, d)."""
    query, key, value = head.query.difference, head.key.difference, head.value.difference
    own_key, own_value = key(own), value(own)
    steps = hull(own_key[chosen], 0), hull(own_value[chosen], 0)
    return Change(query(other), query(own), key(other), value(other), own_key, own_value, *steps)


@dataclass(frozen=True, eq=False)
class Known:
    """A head's keys and values at all positions, with what every block of queries needs of them."""

    keys: Keys

    @cached_property
    def mean(self) -> Floats:
        """The mean key, (dk,)."""
        return np.asarray(self.keys.k.centre.mean(axis=(0, 1)))

    @cached_property
    def off(self) -> Side:
        """The keys less the mean key."""
        k = self.keys.merged
        box = k.box + 4 * U * (np.abs(k.centre) + np.abs(self.mean))
        ball = above(k.ball + 4 * U * (norms(k.centre) + norms(self.mean)), 2)
        return Side(Enclosure(k.centre - self.mean, box, ball))

    @cached_property
    def farthest(self) -> tuple[Floats, float]:
        """The largest distance of any key from the mean key: entry by entry (dk,), and as a norm."""
        k = self.keys.merged
        apart = norms(k.centre - self.mean) + k.ball
        return above((np.abs(k.centre - self.mean) + k.box).max(axis=0)), float(apart.max() * (1 + 8 * U))


@dataclass(frozen=True, eq=False)
class QueryBlock:
    """A block of queries of one head: bounds on their weights, and which positions may be exchanged. ``merged_weights``
    hold while the row's own token stays, ``any_weights`` also between two of its tokens."""

    head: ReadyHead
    known: Known
    scores: Scores
    chosen: Bools

    def other(self, move: Change) -> Enclosure:
        """The change of what the head reads, where ``i`` is any chosen position other than the row's own."""
        rows, seen, (low, high) = self.scores.rows, self.scores.seen, self.scores.merged_weights
        eligible = seen & self.chosen[None, :] & (rows[:, None] != np.arange(seen.shape[1])[None, :])
        least = np.where(eligible.any(axis=1), np.where(eligible, low, np.inf).min(axis=1, initial=np.inf), 0.0)
        most = np.where(eligible, high, 0.0).max(axis=1, initial=0.0)
        unseen = (self.chosen[None, :] & ~seen).sum(axis=1) - (self.chosen[rows] & ~self._sees_self())
        least = np.where(unseen > 0, 0.0, least)
        return self._change(least, most, move.query[rows], move, None)

    def own(self, move: Change) -> Enclosure:
        """The change of what the head reads, where ``i`` is the row's own position (meaningful at chosen rows)."""
        at = np.arange(len(self.scores.rows)), self.scores.rows
        visible = self._sees_self()
        least = np.where(visible, self.scores.any_weights[0][at], 0.0)
        most = np.where(visible, self.scores.any_weights[1][at], 0.0)
        found = self._change(least, most, move.own_query[self.scores.rows], move, self.scores.rows)
        out = ~self.chosen[self.scores.rows]
        found.centre[out], found.box[out], found.ball[out] = 0.0, 0.0, 0.0
        return found

    def _sees_self(self) -> Bools:
        return np.asarray(self.scores.seen[np.arange(len(self.scores.rows)), self.scores.rows])

    def _scores(self, query: Enclosure, key: Side) -> Floats:
        """Bounds on ``|ds_w - sigma|`` at every key, (r, n), from query (r, dk) and key (n, dk) differences."""
        if self.head.additive is not None:
            weights = np.abs(self.head.additive)
            moved, apart = query.largest() @ weights, key.sets.largest() @ weights
            return above(self.head.scale_size * (moved[:, None] + apart[None, :]), 40)
        mean = self.known.mean
        found = _products(Side(self.known.keys.queries[self.scores.rows]), key)
        # sigma is the centre's product with the mean; what the query's uncertainty does to it counts, too.
        stray = above(np.minimum(query.box @ np.abs(mean), query.ball * norms(mean)), len(mean))
        if query.centre.any() or query.ball.any():
            found = found + _products(Side(query), self.known.off)
        rounding = 4 * gamma(len(mean)) * norms(query.centre) * norms(mean)
        return above(self.head.scale_size * (found + (stray + rounding)[:, None]), 4)

    def _change(self, least: Floats, most: Floats, query: Enclosure, move: Change, own: I64 | None) -> Enclosure:
        """The terms of the module's docstring; the weight of ``i`` is in ``least .. most`` (r,)."""
        everything = self.known.keys.everything
        reach, reach_ball = above(2 * everything.box), above(2 * everything.ball)
        others = self._other_weights(own)
        rest = np.maximum(1 - most, 1e-300)
        kappa = above((others * self._scores(query, move.keys)).sum(axis=1), others.shape[1])
        with np.errstate(over="ignore"):
            kappa = above(np.minimum(kappa / rest, 1e300))
        if own is None:
            step_key, step_value = move.step_key.repeated(len(least)), move.step_value.repeated(len(least))
        else:
            step_key, step_value = move.own_key[own], move.own_value[own]
        ds = self._step_score(query, step_key)
        slide = np.minimum(most - least + 2 * U, above(most * np.minimum(ds + kappa, 1e300), 3))
        # Two averages of the same values are never further apart than the values.
        drift = slide + np.minimum(kappa, 1.0)
        weights = Enclosure(
            np.zeros((len(least), len(reach))), above(drift[:, None] * reach, 3), above(drift * reach_ball, 3)
        )
        first = _scaled(step_value, least, most)
        stretch = (1 - least) / rest * (1 + 16 * U)
        return add(add(first, weights), self._others(move, others, stretch, own)).tightened()

    def _other_weights(self, own: I64 | None) -> Floats:
        """Upper bounds on the weights of the positions other than ``i``."""
        others = (self.scores.merged_weights if own is None else self.scores.any_weights)[1].copy()
        if own is not None:
            others[np.arange(len(own)), own] = 0.0
        elif self.chosen.sum() == 1:  # that position is `i`
            others[:, self.chosen] = 0.0
        return others

    def _step_score(self, query: Enclosure, step: Enclosure) -> Floats:
        """A bound on ``|ds_i - sigma|`` for the exchanged position: (r,)."""
        q = self.known.keys.queries[self.scores.rows]
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
        mean, (farthest, apart) = self.known.mean, self.known.farthest
        off = np.minimum(query.largest() @ farthest, query.norm() * apart)
        stray = np.minimum(query.box @ np.abs(mean), query.ball * norms(mean))
        return above(self.head.scale_size * (first + off + stray), 4 * d)

    def _others(self, move: Change, others: Floats, stretch: Floats, own: I64 | None) -> Enclosure:
        """``(1 - p') sum alpha_w (v_w - v'_w)`` over the positions other than ``i``."""
        value, size = move.value, move.value_size
        n = value.centre.shape[0]
        if not (value.centre.any() or value.ball.any()):
            return exactly(np.zeros((len(self.scores.rows), value.centre.shape[1])))
        most = np.minimum(others * stretch[:, None], 1.0)
        floor = (self.scores.merged_weights if own is None else self.scores.any_weights)[0]
        least = np.where(others > 0, floor, 0.0) / stretch[:, None] * (1 - 16 * U)
        middle, reach = (least + most) / 2, (most - least) / 2 + 2 * U * most
        part = middle @ value.centre
        rounding = gamma(n) * (middle @ np.abs(value.centre))
        spread, spread_ball = weighted(most, value)
        box = reach @ np.abs(value.centre) + spread + rounding
        ball = reach @ size + spread_ball + norms(rounding)
        if own is None and self.chosen.sum() > 1:
            # The sum runs over w != i, and i is any chosen position: take out the largest one.
            off = np.where(self.chosen[None, :], most, 0.0)
            box = box + np.outer(off.max(axis=1), np.abs(value.centre[self.chosen]).max(axis=0))
            ball = ball + (off * size[None, :]).max(axis=1)
        return rounded(part, box, ball, 2 * n)


def _products(a: Side, b: Side) -> Floats:
    """Bounds on ``|x . y|`` for ``x`` in sets (r, d) and ``y`` in sets (n, d): (r, n)."""
    d = a.sets.centre.shape[1]
    if not (b.sets.centre.any() or b.sets.ball.any()):
        return np.zeros((len(a.sets.ball), len(b.sets.ball)))
    found = a.sets.centre @ b.sets.centre.T
    room = Room(gamma(d), 1 + 2 * gamma(2 * d), TINY, 1.0, 1.0)
    product_sizes(found, a.as_query @ b.as_key, a.sizes, b.sizes, room)
    return found


def _scaled(x: Enclosure, least: Floats, most: Floats) -> Enclosure:
    """All ``p x`` with ``p`` in ``least .. most`` (r,), for sets (r, d)."""
    middle, reach = (least + most) / 2, (most - least) / 2 + 2 * U * most
    centre = x.centre * middle[:, None]
    box = np.abs(x.centre) * reach[:, None] + x.box * most[:, None] + 2 * U * np.abs(centre)
    ball = norms(x.centre) * reach + x.ball * most + 2 * U * norms(centre)
    return rounded(centre, box, ball, 3)
