"""Bounds on a head's attention scores and weights, for a block of queries.

A query and a key set have a product within ``(|q| + q_box) . k_box + q_box . |k|`` and ``(|q| + q_ball) k_ball +
q_ball |k|``, whichever is less, of the product of their centres. Scores in ``low .. high`` give weights between
``e^low / (e^low + sum of the others' e^high)`` and ``e^high / (e^high + sum of the others' e^low)``.

Queries are taken in blocks whose scores fit into the processor's cache: at n = 4096 this is where the time goes.
All radii are rounded outward; ``exp`` of the library is taken to be within 16 units in the last place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.base.errors import ResourceLimit
from restrict.kernels import soft
from restrict.soft.bounds.enclosure import TINY, Enclosure, U, above, gamma, hull, norms
from restrict.soft.bounds.parts import ReadyHead
from restrict.soft.models.model import Floats, visible

BLOCK = 2**18
"""Scores of a block of queries held at once (several arrays of them)."""
COUPLED = 10**7
"""Products of queries, keys and value entries up to which averages are bounded case by case."""
EXP = 2.0**-47
"""A bound on the relative error of the library's ``exp`` and of the product with ``1 +- EXP``."""
MAX_LOGIT = 1e15


@dataclass(frozen=True, eq=False)
class Side:
    """One side of products of sets (m, d), with what every product needs: norms, and the box's two factors."""

    sets: Enclosure

    @cached_property
    def sizes(self) -> soft.Sizes:
        """Norms of the centres and balls, (m,) each."""
        return soft.Sizes(norms(self.sets.centre), np.ascontiguousarray(self.sets.ball))

    @cached_property
    def as_query(self) -> Floats:
        """``|centre| + box`` and ``box`` side by side, (m, 2d)."""
        return np.concatenate([np.abs(self.sets.centre) + self.sets.box, self.sets.box], axis=1)

    @cached_property
    def as_key(self) -> Floats:
        """``box`` and ``|centre|`` side by side, transposed: (2d, m)."""
        return np.ascontiguousarray(np.concatenate([self.sets.box, np.abs(self.sets.centre)], axis=1).T)


@dataclass(frozen=True, eq=False)
class Keys:
    """What one head knows of all positions: queries, keys (n, K, dk) and values (n, K, dv) split by case."""

    q: Enclosure
    k: Enclosure
    values: Enclosure

    @property
    def cases(self) -> int:
        """Cases per position."""
        return int(self.k.centre.shape[1])

    @cached_property
    def v(self) -> Enclosure:
        """The values, cases merged: (n, dv)."""
        return hull(self.values, 1)

    @cached_property
    def everything(self) -> Enclosure:
        """One set that holds all values: (dv,)."""
        return hull(self.v, 0)

    @cached_property
    def queries(self) -> Enclosure:
        """The queries, cases merged: (n, dk)."""
        return hull(self.q, 1)

    @cached_property
    def merged(self) -> Enclosure:
        """The keys, cases merged: (n, dk)."""
        return hull(self.k, 1)

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """The keys of each case."""
        return tuple(Side(self.k[:, c]) for c in range(self.cases))


def keys_of(head: ReadyHead, sets: Enclosure) -> Keys:
    """Queries, keys and values of the sets (n, K, d) that a head reads."""
    return Keys(head.query.image(sets), head.key.image(sets), head.value.image(sets))


@dataclass(frozen=True, eq=False)
class Scores:
    """A block of queries: bounds ``low``, ``high`` (r, K, n) on their scaled scores over the cases of the keys, minus
    infinity where the mask ``seen`` (r, n) hides; ``split``: for every case of the keys, (r, K, n, K')."""

    rows: I64
    seen: Bools
    low: Floats
    high: Floats
    split: tuple[Floats, Floats] | None = None

    @cached_property
    def weights(self) -> tuple[Floats, Floats]:
        """Bounds on the weights for every case of the query, (r, K, n)."""
        return weight_range(self.low, self.high)

    @cached_property
    def merged_weights(self) -> tuple[Floats, Floats]:
        """Bounds that hold for every case of the query, the same in both of two runs: (r, n)."""
        least, most = self.weights
        return np.minimum.reduce(least, axis=1), np.maximum.reduce(most, axis=1)

    @cached_property
    def any_weights(self) -> tuple[Floats, Floats]:
        """Bounds that also hold between two cases of the query (softmax of any scores between theirs): (r, n)."""
        if self.low.shape[1] == 1:
            return self.merged_weights
        return weight_range(self.low.min(axis=1), self.high.max(axis=1))


def score_blocks(head: ReadyHead, keys: Keys, rows: I64) -> Iterator[Scores]:
    """The scores of the queries at ``rows``, block by block. Yields blocks in the order of ``rows``; short runs keep
    the cases of the keys apart. Cost: ``K^2 n`` products of ``dk`` entries for each query, twice."""
    n, cases = keys.k.centre.shape[:2]
    inner = 1 if head.additive is None else head.key.matrix.shape[0] * cases
    split = len(rows) * cases * n * cases * keys.values.centre.shape[2] <= COUPLED
    step = max(1, BLOCK // (n * cases * inner))
    for first in range(0, len(rows), step):
        part = rows[first : first + step]
        seen = visible(head.mask, part, n)
        found = _masked(head, _scores(head, keys, part, split), seen)
        yield _block(found, part, seen, split)


def _scores(head: ReadyHead, keys: Keys, rows: I64, split: bool) -> list[tuple[Floats, Floats]]:
    """Bounds (r * K, n) for every case of the keys, or for all of them together."""
    n, cases = keys.k.centre.shape[:2]
    shape = (len(rows) * cases, n)
    if head.uniform:
        return [(np.zeros(shape), np.zeros(shape))] * (cases if split else 1)
    query = Side(keys.q[rows].reshaped(shape[0]))
    bounds = dot_bounds if head.additive is None else additive_bounds
    found: list[tuple[Floats, Floats]] = []
    for side in keys.sides:
        if split or not found:
            found.append((np.full(shape, np.inf), np.full(shape, -np.inf)))
        bounds(head, query, side, *found[-1])
    for low, high in found:
        if not max(float(high.max()), -float(low.min())) <= MAX_LOGIT:
            raise ResourceLimit("an attention score is too large or too uncertain to be bounded in double precision")
    return found


def _masked(head: ReadyHead, found: list[tuple[Floats, Floats]], seen: Bools) -> list[tuple[Floats, Floats]]:
    """The bounds as (r, K, n), minus infinity where masked."""
    shape = (len(seen), -1, seen.shape[1])
    ends = [(low.reshape(shape), high.reshape(shape)) for low, high in found]
    if head.mask == "none":
        return ends
    return [(np.where(seen[:, None], low, -np.inf), np.where(seen[:, None], high, -np.inf)) for low, high in ends]


def _block(ends: list[tuple[Floats, Floats]], rows: I64, seen: Bools, split: bool) -> Scores:
    """The block, the cases of the keys merged, and kept apart where ``split``."""
    lows, highs = zip(*ends, strict=True)
    apart = (np.stack(lows, axis=3), np.stack(highs, axis=3)) if split else None
    return Scores(rows, seen, reduce(np.minimum, lows), reduce(np.maximum, highs), apart)


def dot_bounds(head: ReadyHead, q: Side, k: Side, low: Floats, high: Floats) -> None:
    """Widen ``low``, ``high`` (queries, keys) to hold the scaled products ``q . k``."""
    d = q.sets.centre.shape[1]
    centre = q.sets.centre @ k.sets.centre.T
    wide = float((q.sizes.norm + q.sizes.ball).max() * k.sizes.ball.max() + q.sizes.ball.max() * k.sizes.norm.max())
    by_box = q.as_query @ k.as_key if wide > 1e-9 else np.full((1, 1), np.inf)
    room = soft.Room(gamma(d), 1 + 2 * gamma(2 * d), TINY, head.scale_low, head.scale_high)
    soft.product_bounds(centre, by_box, q.sizes, k.sizes, room, low, high)


def additive_bounds(head: ReadyHead, q: Side, k: Side, low: Floats, high: Floats) -> None:
    """Widen ``low``, ``high`` to hold ``additive . tanh(q + k)``. Tanh is increasing and has slope at most 1."""
    assert head.additive is not None
    weights = head.additive
    d = len(weights)
    centre = q.sets.centre[:, None] + k.sets.centre[None]
    box = q.sets.box[:, None] + k.sets.box[None] + 4 * U * np.abs(centre)
    small, big = np.tanh(centre - box) - 8 * U, np.tanh(centre + box) + 8 * U
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    error = above(np.full(1, 2 * gamma(d) * float(np.abs(weights).sum())), d)
    bottom, top = _scaled(head, small @ up + big @ down - error, big @ up + small @ down + error)
    np.minimum(low, bottom, out=low)
    np.maximum(high, top, out=high)


def _scaled(head: ReadyHead, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    ends = [low * head.scale_low, low * head.scale_high, high * head.scale_low, high * head.scale_high]
    bottom, top = np.minimum.reduce(ends), np.maximum.reduce(ends)
    return bottom - 4 * U * np.abs(bottom) - TINY, top + 4 * U * np.abs(top) + TINY


def weight_range(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Bounds on the softmax weights of scores in ``low .. high``, along the last axis; 0 where masked."""
    shape = low.shape
    n = shape[-1]
    small, big = exponentials(low, high, high.max(axis=-1, keepdims=True))
    slack = 1 + 2 * gamma(n)
    small, big = small.reshape(-1, n), big.reshape(-1, n)
    soft.weight_bounds(small, big, small.sum(axis=1) / slack, big.sum(axis=1) * slack, slack, TINY)
    return small.reshape(shape), big.reshape(shape)


def exponentials(low: Floats, high: Floats, top: Floats) -> tuple[Floats, Floats]:
    """Lower bounds on ``exp(low - top)`` and upper bounds on ``exp(high - top)``; 0 at minus infinity."""
    # |high - top| can be as large as the scores, so the rounding of the difference counts, too.
    top = np.where(np.isfinite(top), top, 0.0)
    off = 6 * U * (np.abs(top) + 1)
    small, big = _shifted(low, top, -off, -4 * U), _shifted(high, top, off, 4 * U)
    np.exp(small, out=small)
    np.exp(big, out=big)
    small *= 1 - EXP
    big *= 1 + EXP
    np.add(big, TINY, out=big, where=high > -np.inf)
    return small, big


def _shifted(x: Floats, top: Floats, off: Floats, slip: float) -> Floats:
    """``x - top + off + slip |x|``; minus infinity stays."""
    found: Floats = np.abs(x)
    found *= slip
    with np.errstate(invalid="ignore"):
        found += x - (top - off)
    # At minus infinity that was a sum of infinities.
    found[x == -np.inf] = -np.inf
    return found
