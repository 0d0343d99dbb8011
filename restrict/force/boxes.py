"""Boxes of argument values for a wide map: what it can be forced to, cheapest first, without a table.

A map goal asks for sides, one per argument, on whose product the map stays within the goal. Where the product of the
arguments' values is too large to tabulate, good *points* are sampled, cheapest first, and grown into boxes:

- every argument lists the values that it can be forced to, with the tokens that this may take: a symbol costs one
  token, a head the anchor and the exclusions of the first pairs of its row (the run in which it attends to its best
  pair is the cheapest one);
- an argument that is the query of others is a *root*: the values of the others depend on its own;
- the cheapest combinations are evaluated, all at once; each good one is a box of single values;
- a box grows by leaving an argument out, all its values being good: what need not be forced costs nothing.

Prices only order the alternatives; what a box really takes is found by meeting its goals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from restrict.arrays import F64, I64
from restrict.force.image import box_points
from restrict.force.state import ForcingState
from restrict.model.program import Head, Map

Prices = dict[int, float]
"""Values with the tokens that forcing them may take."""

SYMBOLS = 24
"""Symbols of a large alphabet that one token is tried with."""
PAIRS = 5
"""Pairs of a row that are looked at as anchors."""
QUERIES, ROOTS = 3, 24
"""Values of a query that is no argument, and of the roots together, that are tried."""
POINTS = 768
"""Cheapest combinations evaluated for one choice of the roots."""
SCORES = 60_000_000
"""Scores that the rows for all choices of the roots may take; one choice is always tried."""
LINE, BOX_POINTS, LINES = 256, 4096, 40_000
"""Values of an argument that may be left out, points of a box, and points evaluated to grow boxes once."""
PROBES = 3
"""Values tried first on a long line."""
LEFT_OUT = -1
"""The side of an argument that is left out."""


@dataclass(frozen=True, slots=True)
class WideBox:
    """A value per argument, or ``LEFT_OUT``; ``price`` is about the tokens that it takes."""

    price: float
    sides: tuple[int, ...]


class BoxFinder:
    """Finds boxes under the present facts of a state.

    Args:
        state: what is fixed and known; it is only read (rows may be extended).
        weight: a rough number of tokens that force a node of a variable.
        rng: for the choice of symbols, and for ``noise``, the relative error put on every price.
        symbols: where a position may only be fixed to one symbol, that symbol.
    """

    def __init__(
        self,
        state: ForcingState,
        weight: Callable[[str], float],
        rng: np.random.Generator,
        noise: float = 0.0,
        symbols: Mapping[int, int] | None = None,
    ) -> None:
        self.state, self.weight, self.rng, self.noise, self.symbols = state, weight, rng, noise, symbols
        self.at = state.at
        self.variables = state.at.model.by_name

    # ------------------------------------------------------------ prices

    def prices(self, name: str, i: int, given: Mapping[str, int], most: int) -> Prices:
        """Up to ``most`` values that a node can be forced to, where ``given`` says what else is forced at ``i``."""
        if name in given:
            return {given[name]: 0.0}
        values = self.state.values(name, i)
        if len(values) == 1:
            return {int(values[0]): 0.0}
        if name == "token":
            return self._symbols(i, values, most)
        variable = self.variables[name]
        found = self._head(variable, i, given) if isinstance(variable, Head) else self._map(variable, i, given, most)
        possible = set(values)
        kept = sorted((price, v) for v, price in found.items() if v in possible)
        return {v: price for price, v in kept[:most]}

    def _symbols(self, i: int, values: Sequence[int], most: int) -> Prices:
        if self.symbols is not None:
            return {self.symbols[i]: 1.0} if self.symbols.get(i) in values else {}
        start = int(self.rng.integers(len(values))) if len(values) > most else 0
        return {int(values[(start + t) % len(values)]): 1.0 for t in range(min(most, len(values)))}

    def _head(self, head: Head, i: int, given: Mapping[str, int]) -> Prices:
        query = self.at.query(head)
        found: Prices = {}
        for u, price in self.prices(query, i, given, QUERIES).items() if query else ((0, 0.0),):
            for v, more in self.row_prices(head, i, u).items():
                found[v] = min(found.get(v, np.inf), price + more)
        return found

    def row_prices(self, head: Head, i: int, u: int) -> Prices:
        """Values of a row by its first pairs: the anchor's price, and that of excluding the pairs above it."""
        state, key = self.state, self.at.key(head)
        first, stop = self.at.visible(head, i)
        if first >= stop:
            return {head.default: 0.0}
        found: Prices = {}
        above: dict[int, set[int]] = {}
        for j, w in islice(state.walk(head, i, u), PAIRS):
            certain = key is None or len(state.values(key, j)) == 1 or (j == i and key == self.at.query(head))
            anchor = 0.0 if certain else self.weight(key or "token")
            others = [values for at, values in above.items() if at != j]
            for v, price in self._values_of(head, i, u, j, w).items():
                threats = sum(1 for values in others if values != {v})
                total = price + anchor + threats * self.weight(key or head.value)
                found[v] = min(found.get(v, np.inf), total)
                above.setdefault(j, set()).add(v)
        return found

    def _values_of(self, head: Head, i: int, u: int, j: int, w: int) -> Prices:
        """What a win of the pair gives, and what forcing that takes besides the key."""
        if head.value == self.at.key(head):
            return {w: 0.0}
        if j == i and head.value == self.at.query(head):
            return {u: 0.0}
        values = self.state.values(head.value, j)
        if len(values) == 1:
            return {int(values[0]): 0.0}
        if head.value == "token":
            return self._symbols(j, values, PAIRS)
        return {int(v): self.weight(head.value) for v in values[:SYMBOLS]}

    def _map(self, variable: Map, i: int, given: Mapping[str, int], most: int) -> Prices:
        found: Prices = {}
        for _, points, price in self.combinations(variable, i, given, max(64, 4 * most)):
            values = self.at.map_points(variable, i, points)
            self.state.work += 20 + len(points) // 16
            for v, p in zip(values.tolist(), price.tolist(), strict=True):
                if p < found.get(v, np.inf):
                    found[v] = p
            if len(found) >= most:
                break
        return found

    # ------------------------------------------------------------ points

    def roots(self, variable: Map) -> tuple[str, ...]:
        """The arguments that are the query of another one."""
        read = {self.at.query(v) for a in variable.args if isinstance(v := self.variables.get(a), Head)}
        return tuple(a for a in variable.args if a in read)

    def combinations(
        self, variable: Map, i: int, given: Mapping[str, int], most: int
    ) -> Iterator[tuple[list[list[tuple[int, float]]], I64, F64]]:
        """For each choice of the roots, cheapest first, the cheapest combinations of values: axes, points, prices."""
        roots = self.roots(variable)
        lists = [self._listed(self.prices(a, i, given, ROOTS)) for a in roots]
        choices = sorted(product(*lists), key=lambda c: sum(p for _, p in c))
        scores = self.state.scores
        for turn, choice in enumerate(choices[:ROOTS]):
            if turn and self.state.scores - scores > SCORES * turn // (turn + 1):
                return
            fixed = {**given, **{a: v for a, (v, _) in zip(roots, choice, strict=True)}}
            price = {a: p for a, (_, p) in zip(roots, choice, strict=True)}
            axes = []
            for a in variable.args:
                found = {fixed[a]: price[a]} if a in price else self.prices(a, i, fixed, SYMBOLS)
                axes.append(self._listed(found))
            if all(axes):
                yield axes, *cheapest_combinations(axes, most)

    def _listed(self, prices: Prices) -> list[tuple[int, float]]:
        """Cheapest first, with noise."""
        noisy = [(v, p * (1 + self.noise * float(self.rng.random())) if self.noise else p) for v, p in prices.items()]
        return sorted(noisy, key=lambda c: (c[1], c[0]))

    # ------------------------------------------------------------ boxes

    def boxes(self, variable: Map, i: int, allowed: frozenset[int], most: int) -> list[WideBox]:
        """Up to ``most`` boxes on which the map stays within ``allowed``, cheapest first."""
        found: dict[tuple[int, ...], float] = {}
        task = _Growth.of(self.state, variable, i, allowed, self.roots(variable))
        for axes, points, prices in self.combinations(variable, i, {}, POINTS):
            good = task.inside[self.at.map_points(variable, i, points)]
            self.state.work += 40 + len(points) // 16
            level = dict(zip(map(tuple, points[good].tolist()), prices[good].tolist(), strict=True))
            for sides, price in task.grow(level, [dict(axis) for axis in axes], self.rng).items():
                found[sides] = min(price, found.get(sides, np.inf))
        best = sorted(found.items(), key=lambda item: (item[1], item[0]))[:most]
        return [WideBox(price, sides) for sides, price in best]


@dataclass(frozen=True, eq=False)
class _Growth:
    """Growing good points of one map goal into boxes; ``axes`` are the arguments that may be left out."""

    state: ForcingState
    variable: Map
    i: int
    inside: NDArray[np.bool_]
    full: tuple[I64, ...]
    axes: tuple[int, ...]

    @staticmethod
    def of(state: ForcingState, variable: Map, i: int, allowed: frozenset[int], roots: tuple[str, ...]) -> _Growth:
        inside = np.zeros(state.at.domains[variable.name], dtype=bool)
        inside[list(allowed)] = True
        full = tuple(np.asarray(state.values(a, i), dtype=np.int64) for a in variable.args)
        axes = tuple(t for t, a in enumerate(variable.args) if a not in roots and 1 < len(full[t]) <= LINE)
        return _Growth(state, variable, i, inside, full, axes)

    def grow(
        self, level: dict[tuple[int, ...], float], prices: Sequence[Prices], rng: np.random.Generator
    ) -> dict[tuple[int, ...], float]:
        """The good points with their prices, and all boxes found by leaving out one argument after the other."""
        found = dict(level)
        while level:
            wider: dict[tuple[int, ...], float] = {}
            for sides, price in level.items():
                for t in self.axes:
                    if sides[t] != LEFT_OUT:
                        box = (*sides[:t], LEFT_OUT, *sides[t + 1 :])
                        wider[box] = min(wider.get(box, np.inf), price - prices[t][sides[t]])
            boxes = sorted((b for b in wider if b not in found), key=lambda b: (wider[b], b))
            level = {b: wider[b] for b in self._good(boxes, rng)}
            found.update(level)
        return found

    def _good(self, boxes: list[tuple[int, ...]], rng: np.random.Generator) -> list[tuple[int, ...]]:
        """Those of the boxes that are good everywhere; the first ``LINES`` points are looked at, a few of each box
        first."""
        good: list[tuple[int, ...]] = []
        left = LINES
        groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for box in boxes:
            out = tuple(t for t in self.axes if box[t] == LEFT_OUT)
            size = prod(len(self.full[t]) for t in out)
            left -= min(size, PROBES)
            if left < 0:
                break
            if size <= BOX_POINTS:
                groups.setdefault(out, []).append(box)
        for out, members in groups.items():
            points = box_points([self.full[t] for t in out])
            if len(points) > 2 * PROBES:
                members = self._within(members, out, points[rng.integers(len(points), size=PROBES)])
            members = self._within(members, out, points)
            good += members
        return good

    def _within(self, boxes: list[tuple[int, ...]], out: tuple[int, ...], points: I64) -> list[tuple[int, ...]]:
        """The boxes that are good at these points of the arguments left out."""
        if not boxes:
            return []
        grid = np.repeat(np.array(boxes, dtype=np.int64), len(points), axis=0)
        grid[:, list(out)] = np.tile(points, (len(boxes), 1))
        self.state.work += 20 + len(grid) // 16
        found = self.inside[self.state.at.map_points(self.variable, self.i, grid)]
        return [box for box, fine in zip(boxes, found.reshape(len(boxes), -1).all(axis=1), strict=True) if fine]


def cheapest_combinations(axes: Sequence[Sequence[tuple[int, float]]], most: int) -> tuple[I64, F64]:
    """The ``most`` cheapest points of a product of priced values, cheapest first, and their prices.

    Axis by axis only the ``most`` cheapest beginnings are kept: prices add up, so nothing cheaper is lost.
    """
    points, prices = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    for axis in axes:
        values, costs = np.array([v for v, _ in axis], dtype=np.int64), np.array([p for _, p in axis])
        sums = (prices[:, None] + costs[None, :]).reshape(-1)
        keep = np.argsort(sums, kind="stable")[:most]
        points = np.column_stack([points[keep // len(values)], values[keep % len(values)]])
        prices = sums[keep]
    return points, prices
