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
from restrict.model.program import Head, Map, Variable

Prices = dict[int, float]
"""Values with the tokens that forcing them may take."""
Axes = Sequence[Sequence[tuple[int, float]]]
"""For every argument of a map the values that it can be forced to, with prices, cheapest first."""

SYMBOLS = 24
"""Symbols of a large alphabet that one token is tried with."""
PAIRS = 5
"""Pairs of a row that are looked at as anchors."""
QUERIES, ROOTS = 3, 24
"""Values of a query that is no argument, and of the roots together, that are tried."""
CLOSE, CLOSE_SCORES = 1, 3_000_000
"""Depth of the variables whose price is looked at closely, and scores that one look may take."""
ENOUGH = 1.5
"""Where rows are costly, a box this near to the cheapest possible is taken without looking at other roots."""
HOPELESS = 1e6
"""The price of what cannot be."""
POINTS = 768
"""Cheapest combinations evaluated for one choice of the roots."""
SCORES = 400_000_000
"""Scores that the rows for all choices of the roots may take; one choice is always tried."""
LINE, BOX_POINTS, LINES, LEVEL = 256, 4096, 40_000, 192
"""Values of an argument that may be left out, points of a box, points evaluated and boxes looked at in one growth."""
TABLE, BOXES = 4096, 60_000
"""Points and boxes of a product small enough to look at all boxes."""
PROBES = 3
"""Values tried first on a long line."""
LEFT_OUT = -1
"""The side of an argument that is left out."""


Wish = tuple[str, int, frozenset[int]]
"""That a node lie within these values."""


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
        known: prices found before, which are kept up; they may have been found under other facts.
    """

    def __init__(
        self,
        state: ForcingState,
        weight: Callable[[str], float],
        rng: np.random.Generator,
        noise: float = 0.0,
        symbols: Mapping[int, int] | None = None,
        known: dict[Wish, float] | None = None,
    ) -> None:
        self.state, self.weight, self.rng, self.noise, self.symbols = state, weight, rng, noise, symbols
        self.instance = state.instance
        self.variables = state.instance.model.by_name
        self.known: dict[Wish, float] = {} if known is None else known
        self.quiet = BoxFinder(state, weight, rng, 0.0, symbols, self.known) if noise else self

    # ------------------------------------------------------------ prices

    def price(self, name: str, i: int, allowed: frozenset[int]) -> float:
        """About the tokens that keep a node within ``allowed``: looked at closely only near the tokens."""
        values = self.state.values(name, i)
        if allowed.issuperset(values):
            return 0.0
        if name in ("token", "position"):
            return 1.0 if name == "token" and not allowed.isdisjoint(values) else HOPELESS
        if (name, i, allowed) not in self.known:
            self.known[name, i, allowed] = self.quiet._price(self.variables[name], i, allowed)
        return self.known[name, i, allowed]

    def _price(self, variable: Variable, i: int, allowed: frozenset[int]) -> float:
        if self.state.depth[variable.name] > CLOSE or self._scores(variable) > CLOSE_SCORES:
            return self.weight(variable.name)
        if isinstance(variable, Map):
            boxes = self.boxes(variable, i, allowed, 1)
            return boxes[0].price if boxes else 3 * self.weight(variable.name)
        found = [price for v, price in self.prices(variable.name, i, {}, SYMBOLS).items() if v in allowed]
        return min(found, default=3 * self.weight(variable.name))

    def _scores(self, variable: Variable) -> int:
        """About the scores that one look at a node takes, for each choice of the roots."""
        if isinstance(variable, Head):
            key = self.instance.key(variable)
            return self.instance.n * (self.instance.domains[key] if key else 1)
        return sum(self._scores(self.variables[a]) for a in variable.args if a in self.variables)

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
        query = self.instance.query(head)
        found: Prices = {}
        for u, price in self.prices(query, i, given, QUERIES).items() if query else ((0, 0.0),):
            for v, more in self.row_prices(head, i, u).items():
                found[v] = min(found.get(v, np.inf), price + more)
        return found

    def row_prices(self, head: Head, i: int, u: int) -> Prices:
        """Values of a row by its first pairs: the anchor's price, and that of excluding the pairs above it."""
        state, key = self.state, self.instance.key(head)
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return {head.default: 0.0}
        found: Prices = {}
        above: dict[int, dict[int, set[int]]] = {}
        for j, w in islice(feasible(state, head, i, u), PAIRS):
            own = j == i and key == self.instance.query(head)
            anchor = 0.0 if key is None or own else self.price(key, j, frozenset((w,)))
            results = self._values_of(head, i, u, j, w)
            for v, price in results.items():
                if anchor + price < found.get(v, np.inf):
                    threats = (self._threat(head, at, pairs, v) for at, pairs in above.items() if at != j)
                    found[v] = min(found.get(v, np.inf), price + anchor + sum(threats))
            above.setdefault(j, {})[w] = set(results)
        return found

    def _threat(self, head: Head, j: int, pairs: dict[int, set[int]], v: int) -> float:
        """What making the pairs at ``j`` harmless takes where only ``v`` is wanted."""
        key = self.instance.key(head)
        bad = {w for w, results in pairs.items() if results != {v}}
        if not bad:
            return 0.0
        possible = () if key is None else self.state.values(key, j)
        excluded = (
            HOPELESS if key is None or bad.issuperset(possible) else self.price(key, j, frozenset(possible) - bad)
        )
        return excluded if head.value == key else min(excluded, self.price(head.value, j, frozenset((v,))))

    def _values_of(self, head: Head, i: int, u: int, j: int, w: int) -> Prices:
        """What a win of the pair gives, and what forcing that takes besides the key."""
        if head.value == self.instance.key(head):
            return {w: 0.0}
        if j == i and head.value == self.instance.query(head):
            return {u: 0.0}
        values = self.state.values(head.value, j)
        if len(values) == 1:
            return {int(values[0]): 0.0}
        if head.value == "token":
            return self._symbols(j, values, PAIRS)
        return {int(v): self.weight(head.value) for v in values[:SYMBOLS]}

    def _map(self, variable: Map, i: int, given: Mapping[str, int], most: int) -> Prices:
        found: Prices = {}
        for axes in self.axes(variable, i, given):
            points, price = cheapest_combinations(axes, max(64, 4 * most))
            values = self.instance.map_points(variable, i, points)
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
        read = {self.instance.query(v) for a in variable.args if isinstance(v := self.variables.get(a), Head)}
        return tuple(a for a in variable.args if a in read)

    def axes(self, variable: Map, i: int, given: Mapping[str, int]) -> Iterator[Axes]:
        """For each choice of the roots, cheapest first, the priced values of every argument."""
        roots = self.roots(variable)
        lists = [self._listed(self.prices(a, i, given, ROOTS)) for a in roots]
        choices = sorted(product(*lists), key=lambda c: sum(p for _, p in c))
        scores = self.state.scores
        for turn, choice in enumerate(choices[:ROOTS]):
            if turn and self.state.scores - scores > SCORES * turn // (turn + 1):
                return
            fixed = {**given, **{a: v for a, (v, _) in zip(roots, choice, strict=True)}}
            chosen = {a: [one] for a, one in zip(roots, choice, strict=True)}
            axes = [chosen.get(a) or self._listed(self.prices(a, i, fixed, SYMBOLS)) for a in variable.args]
            if all(axes):
                yield axes

    def _listed(self, prices: Prices) -> list[tuple[int, float]]:
        """Cheapest first, with noise."""
        noisy = [(v, p * (1 + self.noise * float(self.rng.random())) if self.noise else p) for v, p in prices.items()]
        return sorted(noisy, key=lambda c: (c[1], c[0]))

    # ------------------------------------------------------------ boxes

    def boxes(self, variable: Map, i: int, allowed: frozenset[int], most: int) -> list[WideBox]:
        """Up to ``most`` boxes on which the map stays within ``allowed``, cheapest first."""
        growth = Growth.of(self.state, variable, i, allowed, self.roots(variable), self.rng)
        found: dict[tuple[int, ...], float] = {}
        for axes in self.axes(variable, i, {}):
            boxes, prices = growth.table(axes) if growth.tabulable(axes) else growth.sample(axes)
            order = np.argsort(prices, kind="stable")[:most]
            for sides, price in zip(boxes[order].tolist(), prices[order].tolist(), strict=True):
                found[tuple(sides)] = min(price, found.get(tuple(sides), np.inf))
            if (
                found
                and min(found.values()) <= sum(axis[0][1] for axis in axes) + ENOUGH
                and self._scores(variable) > CLOSE_SCORES
            ):
                break
        best = sorted(found.items(), key=lambda item: (item[1], item[0]))[:most]
        return [WideBox(price, sides) for sides, price in best]


@dataclass(frozen=True, eq=False)
class Growth:
    """Good boxes of one map goal, for one choice of the roots after the other.

    ``full`` are the arguments' values; ``loose`` the arguments that may be left out.
    """

    state: ForcingState
    variable: Map
    i: int
    inside: NDArray[np.bool_]
    full: tuple[I64, ...]
    loose: tuple[int, ...]
    rng: np.random.Generator

    @staticmethod
    def of(
        state: ForcingState,
        variable: Map,
        i: int,
        allowed: frozenset[int],
        roots: tuple[str, ...],
        rng: np.random.Generator,
    ) -> Growth:
        """For the goal that ``variable`` at ``i`` be ``allowed``."""
        inside = np.zeros(state.instance.domains[variable.name], dtype=bool)
        inside[list(allowed)] = True
        full = tuple(np.asarray(state.values(a, i), dtype=np.int64) for a in variable.args)
        loose = tuple(t for t, a in enumerate(variable.args) if a not in roots and 1 < len(full[t]) <= LINE)
        return Growth(state, variable, i, inside, full, loose, rng)

    def good(self, points: I64) -> NDArray[np.bool_]:
        """Whether the map is within the goal at points of shape (m, arguments)."""
        self.state.work += 40 + len(points) // 16
        return self.inside[self.state.instance.map_points(self.variable, self.i, points)]

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
        return points <= TABLE and prod(len(a) + (t in self.loose) for t, a in enumerate(axes)) <= BOXES

    def table(self, axes: Axes) -> tuple[I64, F64]:
        """All good boxes and their prices."""
        sides = self._sides(axes)
        good = self.good(box_points(sides)).reshape([len(side) for side in sides])
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

    def sample(self, axes: Axes) -> tuple[I64, F64]:
        """Good boxes with a cheap point, and their prices."""
        points, prices = cheapest_combinations(axes, POINTS)
        cost = [dict(axis) for axis in axes]
        keep = self.good(points)
        level, price = points[keep], prices[keep]
        boxes, all_prices = [level], [price]
        while len(level):
            level, price = self._left_out(level, price, cost)
            keep = self._good_boxes(level)
            level, price = level[keep], price[keep]
            boxes.append(level)
            all_prices.append(price)
        return np.concatenate(boxes), np.concatenate(all_prices)

    def _left_out(self, level: I64, price: F64, cost: list[Prices]) -> tuple[I64, F64]:
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
        order = np.argsort(every_price, kind="stable")[: 4 * LEVEL]
        _, first = np.unique(every[order], axis=0, return_index=True)
        chosen = order[np.sort(first)[:LEVEL]]
        return every[chosen], every_price[chosen]

    def _good_boxes(self, boxes: I64) -> NDArray[np.bool_]:
        """Which boxes are good everywhere; large ones are not looked at."""
        good = np.zeros(len(boxes), dtype=bool)
        for out in {tuple(np.flatnonzero(row).tolist()) for row in boxes == LEFT_OUT}:
            rows = np.flatnonzero(((boxes == LEFT_OUT) == np.isin(np.arange(boxes.shape[1]), out)).all(axis=1))
            if prod(len(self.full[t]) for t in out) > BOX_POINTS:
                continue
            points = box_points([self.full[t] for t in out])
            if len(points) > 2 * PROBES:
                rows = rows[self._within(boxes[rows], out, points[self.rng.integers(len(points), size=PROBES)])]
            rows = rows[: max(1, LINES // len(points))]
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


def feasible(state: ForcingState, head: Head, i: int, u: int) -> Iterator[tuple[int, int]]:
    """The pairs of a row, best first, down to the floor, without those that a look at a thin key rules out.

    A map is *thin* where its arguments have fewer combinations than its domain has values: then most values are
    impossible at any position even with nothing fixed, and a look costs no token.
    """
    key = state.instance.key(head)
    thin = key is not None and is_thin(state, key)
    for j, w in state.walk(head, i, u):
        if thin and key is not None:
            look(state, key, j)
            if w not in state.values(key, j):
                continue
        yield j, w


def is_thin(state: ForcingState, name: str) -> bool:
    """Whether a variable is a map of fewer combinations than values."""
    variable = state.instance.model.by_name.get(name)
    return (
        isinstance(variable, Map)
        and prod(state.instance.domains[a] for a in variable.args) < state.instance.domains[name]
    )


def look(state: ForcingState, name: str, i: int) -> None:
    """Examine a map, and the maps that it reads, where that has not been done."""
    variable = state.instance.model.by_name.get(name)
    if isinstance(variable, Map) and (name, i) not in state.facts:
        for arg in variable.args:
            look(state, arg, i)
        state.examine(variable, i)


def cheapest_combinations(axes: Axes, most: int) -> tuple[I64, F64]:
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
