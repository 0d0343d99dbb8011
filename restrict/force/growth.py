"""Boxes on which a map stays within a goal, grown around good points.

Where the product of the arguments' values is small, its table is looked at: all boxes with one value per argument or
the whole argument left out (:meth:`Growth.table`), or maximal boxes around some points (:func:`maximal_boxes`). Where
it is large, the cheapest points are evaluated and grown (:meth:`Growth.sample`).

Invariant: every box returned has been checked on all its points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from math import prod

import numpy as np
from numpy.typing import NDArray

from restrict.base.arrays import F64, I64
from restrict.base.options import Fact
from restrict.force.image import box_points
from restrict.force.options import OPTIONS
from restrict.force.state import ForcingState, Sides
from restrict.model.program import Map

Prices = dict[int, float]
"""Values with the tokens that forcing them may take."""
Axes = Sequence[Sequence[tuple[int, float]]]
"""For every argument of a map the values that it can be forced to, with prices, cheapest first."""

LEFT_OUT: Fact[int] = -1
"""The side of an argument that is left out."""


class GrowingBoxes:
    """Good boxes for the goal that V of a map at ``i`` lies within ``allowed``, for each choice of the roots in turn.
    ``inside`` tests values of the map; ``loose`` are the arguments that may be left out, and ``full`` their values."""

    def __init__(
        self, state: ForcingState, variable: Map, i: int, allowed: frozenset[int], roots: tuple[str, ...],
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.state, self.variable, self.i, self.rng = state, variable, i, rng
        self.inside = np.array(sorted(allowed), dtype=np.int64)
        sets = [state.values(a, i) for a in variable.args]
        self.loose = tuple(
            t for t, a in enumerate(variable.args) if a not in roots and 1 < len(sets[t]) <= OPTIONS.line
        )
        self.full = tuple(np.array(s if t in self.loose else (), dtype=np.int64) for t, s in enumerate(sets))

    def good(self, points: I64) -> NDArray[np.bool_]:
        """Whether the map is within the goal at points of shape (m, arguments)."""
        self.state.work += 40 + len(points) // 16
        return np.isin(self.state.instance.map_points(self.variable, self.i, points), self.inside)

    # ---- small products: all boxes

    def _sides(self, axes: Axes) -> list[I64]:
        """What is tabulated: all values of an argument that may be left out, else those with a price."""
        return [
            self.full[t] if t in self.loose else np.array([v for v, _ in axis], dtype=np.int64)
            for t, axis in enumerate(axes)
        ]

    def tabulable(self, axes: Axes) -> bool:
        """Whether all boxes can be looked at."""
        points = prod(len(side) for side in self._sides(axes))
        return points <= OPTIONS.table and prod(len(a) + (t in self.loose) for t, a in enumerate(axes)) <= OPTIONS.boxes

    def table(self, axes: Axes) -> tuple[I64, F64]:
        """All good boxes and their prices."""
        sides = self._sides(axes)
        good = self.good(box_points(sides)).reshape([len(side) for side in sides])
        if not axes:  # a map without arguments
            return np.zeros((int(good), 0), dtype=np.int64), np.zeros(int(good))
        values, price = [], np.zeros((1,) * len(axes))
        for t, (axis, side) in enumerate(zip(axes, sides, strict=True)):
            chosen = np.searchsorted(side, [v for v, _ in axis]) if t in self.loose else np.arange(len(axis))
            costs, names = [p for _, p in axis], [v for v, _ in axis]
            parts = np.take(good, chosen, axis=t)
            if t in self.loose:
                parts = np.concatenate([parts, good.all(axis=t, keepdims=True)], axis=t)
                costs, names = [*costs, 0.0], [*names, LEFT_OUT]
            good = parts
            price = price + np.array(costs).reshape([-1 if a == t else 1 for a in range(len(axes))])
            values.append(np.array(names, dtype=np.int64))
        self.state.work += good.size // 64
        where = np.nonzero(good)
        boxes = np.column_stack([v[w] for v, w in zip(values, where, strict=True)])
        return boxes, price[where]

    # ---- large products: the cheapest points, grown

    def sample(self, axes: Axes, levels: int, width: int) -> tuple[I64, F64]:
        """Good boxes with a cheap point and at most ``levels`` arguments left out, and their prices; ``width`` boxes
        are looked at for each number of arguments left out."""
        points, prices = cheapest_combinations(axes, OPTIONS.points)
        cost = [dict(axis) for axis in axes]
        keep = self.good(points)
        level, price = points[keep], prices[keep]
        boxes, all_prices = [level], [price]
        while len(level) and levels:
            levels -= 1
            level, price = self._left_out(level, price, cost, width)
            keep = self._good_boxes(level)
            level, price = level[keep], price[keep]
            boxes.append(level)
            all_prices.append(price)
        return np.concatenate(boxes), np.concatenate(all_prices)

    def _left_out(self, level: I64, price: F64, cost: list[Prices], width: int) -> tuple[I64, F64]:
        """The cheapest boxes with one more argument left out."""
        boxes, prices = [level[:0]], [price[:0]]
        for t in self.loose:
            rows = np.flatnonzero(level[:, t] != LEFT_OUT)
            wider = level[rows]
            saved = np.array([cost[t][v] for v in wider[:, t].tolist()])
            wider[:, t] = LEFT_OUT
            boxes.append(wider)
            prices.append(price[rows] - saved)
        every, every_price = np.concatenate(boxes), np.concatenate(prices)
        order = np.argsort(every_price, kind="stable")[: 4 * width]
        first = {tuple(box): t for t, box in zip(order[::-1].tolist(), every[order[::-1]].tolist(), strict=True)}
        chosen = list(first.values())[: -width - 1 : -1]
        return every[chosen], every_price[chosen]

    def _good_boxes(self, boxes: I64) -> NDArray[np.bool_]:
        """Which boxes are good everywhere; of large ones this is not examined, and they count as not good."""
        good, alike = np.zeros(len(boxes), dtype=bool), dict[tuple[int, ...], list[int]]()
        for t, row in enumerate((boxes == LEFT_OUT).tolist()):
            alike.setdefault(tuple(compress(range(len(row)), row)), []).append(t)
        for out in set(alike):
            rows = np.array(alike[out])
            if prod(len(self.full[t]) for t in out) > OPTIONS.box_points:
                continue
            points = box_points([self.full[t] for t in out])
            if len(points) > 2 * OPTIONS.probes:
                rows = rows[self._within(boxes[rows], out, points[self.rng.integers(len(points), size=OPTIONS.probes)])]
            rows = rows[: max(1, OPTIONS.lines // len(points))]
            good[rows] = self._within(boxes[rows], out, points)
        return good

    def _within(self, boxes: I64, out: tuple[int, ...], points: I64) -> NDArray[np.bool_]:
        """Which boxes are good at these points of the arguments left out."""
        if not len(boxes):
            return np.zeros(0, dtype=bool)
        grid = np.repeat(boxes, len(points), axis=0)
        grid[:, list(out)] = np.tile(points, (len(boxes), 1))
        fine: NDArray[np.bool_] = np.all(self.good(grid).reshape(len(boxes), -1), axis=1)
        return fine


def cheapest_combinations(axes: Axes, most: int) -> tuple[I64, F64]:
    """The ``most`` cheapest points of a product of priced values, cheapest first, and their prices. Axis by axis only
    the ``most`` cheapest beginnings are kept: prices add up, so nothing cheaper is lost."""
    points, prices = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    for axis in axes:
        values, costs = np.array([v for v, _ in axis], dtype=np.int64), np.array([p for _, p in axis])
        sums = (prices[:, None] + costs[None, :]).reshape(-1)
        keep = np.argsort(sums, kind="stable")[:most]
        points = np.column_stack([points[keep // len(values)], values[keep % len(values)]])
        prices = sums[keep]
    return points, prices


@lru_cache(maxsize=1024)
def maximal_boxes(shape: tuple[int, ...], content: bytes, costs: tuple[float, ...], most: int = 24) -> list[Sides]:
    """Maximal boxes of good points, grown around up to ``most`` of them, costly axes first, then cheap ones. Which
    points are good: an array of that shape and ``content``. Searches ask for the same ones again and again."""
    good = np.frombuffer(content, dtype=bool).reshape(shape)
    points = np.argwhere(good)
    points = points[:: -(-len(points) // most)] if len(points) > most else points
    costly_first = sorted(range(good.ndim), key=lambda a: -costs[a])
    boxes = {_grow(good, point, order): None for order in (costly_first, costly_first[::-1]) for point in points}
    return list(boxes)


def _grow(good: NDArray[np.bool_], point: I64, order: list[int]) -> Sides:
    """A maximal box of good points around a point, extended axis by axis in the given order."""
    sides: dict[int, tuple[int, ...]] = {}
    at, part = point[order].tolist(), good.transpose(order)  # good points of the box's sides, by the axes still to come
    for axis in order:
        (side,) = part[(slice(None), *at[len(sides) + 1 :])].nonzero()
        sides[axis] = tuple(side.tolist())
        part = np.logical_and.reduce(part[side])
    return tuple(sides[axis] for axis in range(good.ndim))
