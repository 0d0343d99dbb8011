"""Boxes of argument values for a wide map: what it can be forced to, cheapest first, without a table.

A map goal asks for sides, one per argument, on whose product the map stays within the goal. Where the product of the
arguments' values is too large to tabulate, good *points* are sampled, cheapest first, and grown into boxes:

- every argument lists the values that it can be forced to, with the tokens that this may take: a symbol costs one
  token, a head the anchor and the exclusions of the first pairs of its row (the run in which it attends to its best
  pair is the cheapest one);
- an argument that is the query of others is a *root*: the values of the others depend on its own;
- the cheapest combinations are evaluated, all at once; each good one is a box of single values;
- a box grows by leaving out an argument all of whose values are good: what is not forced costs nothing.

Prices only order the alternatives; what a box really costs is found by meeting its goals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

import numpy as np

from restrict.base.options import Fact
from restrict.force.first_layer import FirstLayer
from restrict.force.growth import Axes, GrowingBoxes, Prices, cheapest_combinations
from restrict.force.image import apart, covers, rest_of
from restrict.force.options import OPTIONS
from restrict.force.state import ForcingState
from restrict.model.program import Head, Map, Variable

HOPELESS: Fact[float] = 1e6
"""The price of what is impossible."""
Wish = tuple[str, int, frozenset[int]]
"""A node and a set: its values are to lie in the set."""


class Effort:
    """The scores and the work that several choices, tried one after the other, may take together: at most ``most``
    scores from now on."""

    def __init__(self, state: ForcingState, most: int) -> None:
        self.state, self.most, self.scores, self.work = state, most, state.scores, state.work

    def spent(self, done: int) -> bool:
        """Whether one more choice, which takes as much as those before on average, would be too much."""
        share = done / (done + 1)
        return done > 0 and (
            self.state.scores - self.scores > self.most * share
            or self.state.work - self.work > self.most // OPTIONS.scores_a_step * share
        )


Choice = tuple[tuple[int, float], ...]
"""A value of every root, each with its price."""


@dataclass(frozen=True, slots=True)
class WideBox:
    """A value per argument, or ``LEFT_OUT``; ``price`` estimates the tokens that the box takes."""

    price: float
    sides: tuple[int, ...]


class BoxFinder:
    """Finds boxes under the present facts of a state. ``state``: what is fixed and known; it is only read (rows may be
    extended). ``rng``: for the choice of symbols, and for ``noise``, the relative error put on every price.
    ``symbols``: where a position may only be fixed to one symbol, that symbol. ``known``: prices found before, perhaps
    under other facts; new prices are added to it. ``close``: up to this depth a variable is priced closely. Goals that
    are ``barred`` have failed, and are priced as impossible. ``first``: exact prices of nodes of the first layer, by
    variable."""

    def __init__(
        self,
        state: ForcingState,
        rng: np.random.Generator,
        noise: float = 0.0,
        symbols: Mapping[int, int] | None = None,
        known: dict[Wish, float] | None = None,
        close: int | None = None,
        first: Mapping[str, FirstLayer] | None = None,
    ) -> None:
        self.first: Mapping[str, FirstLayer] = first or {}
        self.close = OPTIONS.close if close is None else close
        self.barred = set[tuple[str, int, frozenset[int], int | None]]()
        self.state, self.weight, self.rng, self.noise, self.symbols = state, state.weight, rng, noise, symbols
        self.instance = state.instance
        self.variables = state.instance.model.by_name
        self.most = (
            min(OPTIONS.wide_box_scores, OPTIONS.box_scores_a_position * self.instance.n)
            if state.wide
            else OPTIONS.box_scores
        )
        self.known: dict[Wish, float] = {} if known is None else known
        self.quiet = BoxFinder(state, rng, 0.0, symbols, self.known, close, first) if noise else self

    # ------------------------------------------------------------ prices

    def price(self, name: str, i: int, allowed: frozenset[int]) -> float:
        """An estimate of the tokens that keep a node within ``allowed``; close only for variables near the tokens."""
        values = self.state.values(name, i)
        if covers(allowed, values):
            return 0.0
        if name in ("token", "position"):
            return 1.0 if name == "token" and not apart(allowed, values) else HOPELESS
        if (name, i, allowed, None) in self.barred or (not self.close and apart(allowed, values)):
            return HOPELESS
        if name in self.first:
            return min(self.first[name].price(i, allowed), HOPELESS)
        if (name, i, allowed) not in self.known:
            self.known[name, i, allowed] = self.quiet._price(self.variables[name], i, allowed)
        return self.known[name, i, allowed]

    def _price(self, variable: Variable, i: int, allowed: frozenset[int]) -> float:
        if self.state.depth[variable.name] > self.close or self._scores(variable) > OPTIONS.close_scores:
            return self.weight(variable.name)
        if isinstance(variable, Map):
            boxes = self.boxes(variable, i, allowed, 1)
            return boxes[0].price if boxes else 3 * self.weight(variable.name)
        found = [price for v, price in self.prices(variable.name, i, {}, OPTIONS.symbols).items() if v in allowed]
        return min(found, default=3 * self.weight(variable.name))

    def _scores(self, variable: Variable) -> int:
        """An estimate of the scores that one look at a node takes, for each choice of the roots."""
        if isinstance(variable, Head):
            key = self.instance.key(variable)
            return self.instance.n * (self.instance.domains[key] if key else 1) + self.state.row_charge
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
        if name in self.first:
            return self.first[name].prices(i)
        variable = self.variables[name]
        found = self._head(variable, i, given) if isinstance(variable, Head) else self._map(variable, i, given, most)
        possible = values if isinstance(values, range) else set(values)
        kept = sorted((price, v) for v, price in found.items() if v in possible)
        return {v: price for price, v in kept[:most]}

    def _symbols(self, i: int, values: Sequence[int], most: int) -> Prices:
        if self.symbols is not None:
            return {self.symbols[i]: 1.0} if self.symbols.get(i) in values else {}
        # Always the same symbols at a position: another symbol means another row, and long rows are costly.
        start = i * OPTIONS.stride % len(values) if len(values) > most else 0
        return {int(values[(start + t) % len(values)]): 1.0 for t in range(min(most, len(values)))}

    def _head(self, head: Head, i: int, given: Mapping[str, int]) -> Prices:
        query = self.instance.query(head)
        found: Prices = {}
        for u, price in self.prices(query, i, given, OPTIONS.queries).items() if query else ((0, 0.0),):
            for v, more in self.row_prices(head, i, u).items():
                found[v] = min(found.get(v, np.inf), price + more)
        return found

    def row_prices(self, head: Head, i: int, u: int) -> Prices:
        """Prices of values by the first pairs of a row: that of the anchor and of excluding the pairs above it."""
        state, key = self.state, self.instance.key(head)
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return {head.default: 0.0}
        found: Prices = {}
        above: dict[int, dict[int, set[int]]] = {}
        costly = (stop - first) * (self.instance.domains[key] if key else 1) >= OPTIONS.close_look
        for j, w in islice(feasible(state, head, i, u), OPTIONS.costly_pairs if costly else OPTIONS.box_pairs):
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
        """The price of making the pairs at ``j`` harmless where only ``v`` is wanted."""
        key = self.instance.key(head)
        bad = {w for w, results in pairs.items() if results != {v}}
        if not bad:
            return 0.0
        possible = () if key is None else self.state.values(key, j)
        if key is None or bad.issuperset(possible):
            excluded = HOPELESS
        elif key == "token":  # without going through the alphabet
            excluded = 1.0
        else:
            excluded = self.price(key, j, rest_of(possible, bad))
        return excluded if head.value == key else min(excluded, self.price(head.value, j, frozenset((v,))))

    def _values_of(self, head: Head, i: int, u: int, j: int, w: int) -> Prices:
        """The values that a win of the pair can give, with the prices of forcing them besides the key."""
        if head.value == self.instance.key(head):
            return {w: 0.0}
        if j == i and head.value == self.instance.query(head):
            return {u: 0.0}
        values = self.state.values(head.value, j)
        if len(values) == 1:
            return {int(values[0]): 0.0}
        if head.value == "token":
            return self._symbols(j, values, OPTIONS.box_pairs)
        return {int(v): self.weight(head.value) for v in values[: OPTIONS.symbols]}

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
        """The arguments of a map that are the query of another argument."""
        read = {self.instance.query(v) for a in variable.args if isinstance(v := self.variables.get(a), Head)}
        return tuple(a for a in variable.args if a in read)

    def axes(
        self, variable: Map, i: int, given: Mapping[str, int], found: Collection[object] | None = None
    ) -> Iterator[Axes]:
        """For each choice of the roots, cheapest first, the priced values of every argument. While nothing is
        ``found``, it goes on beyond the allowed effort, up to ``hungry`` choices. To give the goal up would cost far
        more: all that is above another anchor would have to be excluded."""
        roots = self.roots(variable)
        lists = [self._listed(self.prices(a, i, given, OPTIONS.roots)) for a in roots]
        choices = sorted(product(*lists), key=lambda c: sum(p for _, p in c))
        choices = choices[: OPTIONS.queries if self.first else OPTIONS.roots]
        deep = self.state.depth[variable.name] > self.close
        effort = Effort(self.state, self.most if deep else OPTIONS.close_look)
        if deep and self.close and len(choices) > 1 and roots:
            choices = self._ordered(variable, i, given, choices)
        for turn, choice in enumerate(choices):
            if effort.spent(turn) and (found is None or found or turn >= OPTIONS.hungry):
                return
            fixed = {**given, **{a: v for a, (v, _) in zip(roots, choice, strict=True)}}
            chosen = {a: [one] for a, one in zip(roots, choice, strict=True)}
            axes = [chosen.get(a) or self._listed(self.prices(a, i, fixed, OPTIONS.symbols)) for a in variable.args]
            if all(axes):
                yield axes

    def _ordered(self, variable: Map, i: int, given: Mapping[str, int], choices: list[Choice]) -> list[Choice]:
        """Choices of the roots by the price of the other arguments' best pairs as anchors, those not priced last."""
        roots, effort = self.roots(variable), Effort(self.state, self.most // 2)
        priced: list[tuple[float, int, Choice]] = []
        for turn, choice in enumerate(choices):
            if effort.spent(turn):
                break
            fixed = {**given, **{a: v for a, (v, _) in zip(roots, choice, strict=True)}}
            rest = (self._first_price(a, i, fixed) for a in variable.args if a not in roots)
            priced.append((sum(p for _, p in choice) + sum(rest), turn, choice))
        return [choice for _, _, choice in sorted(priced)] + choices[len(priced) :]

    def _first_price(self, name: str, i: int, given: Mapping[str, int]) -> float:
        """The price of a head's best pair as an anchor, where its query is given; 0 where it is not."""
        variable = self.variables.get(name)
        query = self.instance.query(variable) if isinstance(variable, Head) else None
        if not isinstance(variable, Head) or (query is not None and query not in given):
            return 0.0
        key = self.instance.key(variable)
        for j, w in feasible(self.state, variable, i, given[query] if query else 0):
            return 0.0 if key is None or j == i else self.price(key, j, frozenset((w,)))
        return 0.0

    def _listed(self, prices: Prices) -> list[tuple[int, float]]:
        """The values with their prices, cheapest first, the prices with noise."""
        noisy = [(v, p * (1 + self.noise * float(self.rng.random())) if self.noise else p) for v, p in prices.items()]
        return sorted(noisy, key=lambda c: (c[1], c[0]))

    # ------------------------------------------------------------ boxes

    def boxes(self, variable: Map, i: int, allowed: frozenset[int], most: int) -> list[WideBox]:
        """Up to ``most`` boxes on which the map stays within ``allowed``, cheapest first."""
        if variable.name in self.first:
            return [WideBox(*one) for one in self.first[variable.name].boxes(i, allowed, most)]
        growth = GrowingBoxes(self.state, variable, i, allowed, self.roots(variable), self.rng)
        found: dict[tuple[int, ...], float] = {}
        excludes = 2 * len(allowed) > self.instance.domains[variable.name]
        look = (len(variable.args), OPTIONS.level) if most > 1 else (3 if excludes else 1, OPTIONS.pricing)
        for axes in self.axes(variable, i, {}, found if most > 1 and self.state.wide else None):
            boxes, prices = growth.table(axes) if growth.tabulable(axes) else growth.sample(axes, *look)
            order = np.argsort(prices, kind="stable")[:most]
            for sides, price in zip(boxes[order].tolist(), prices[order].tolist(), strict=True):
                found[tuple(sides)] = min(price, found.get(tuple(sides), np.inf))
            if not found or (most > 1 and self.close and self._scores(variable) <= OPTIONS.close_scores):
                continue
            if excludes or min(found.values()) <= sum(axis[0][1] for axis in axes) + OPTIONS.enough:
                break
        best = sorted(found.items(), key=lambda item: (item[1], item[0]))[:most]
        return [WideBox(price, sides) for sides, price in best]


def feasible(state: ForcingState, head: Head, i: int, u: int) -> Iterator[tuple[int, int]]:
    """The pairs of a row, best first, down to the floor, without those that are impossible for a thin key. A map is
    *thin* where its arguments have fewer combinations than its domain has values: then some values are impossible at
    any position even with nothing fixed, and to examine it costs no token."""
    key = state.instance.key(head)
    domains, variable = state.instance.domains, state.instance.model.by_name.get(key or "")
    thin = isinstance(variable, Map) and prod(domains[a] for a in variable.args) < domains[variable.name]
    for j, w in state.walk(head, i, u):
        if thin and key is not None:
            look(state, key, j)
            if w not in state.values(key, j):
                continue
        yield j, w


def look(state: ForcingState, name: str, i: int) -> None:
    """Examine a map, and the maps that it reads, where that has not been done."""
    variable = state.instance.model.by_name.get(name)
    if isinstance(variable, Map) and (name, i) not in state.facts:
        for arg in variable.args:
            look(state, arg, i)
        state.examine(variable, i)
