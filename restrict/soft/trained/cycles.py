"""Bounds that hold at every length, for models without position embeddings. Without positions a symbol's weight and
value depend on the last symbol alone. The greatest average over all words of a case, of whatever length, is the least
number for which no useful cycle is positive and the longest path is not (Theorem 10 of docs/soft-verdicts.md). It is
found by bisection, in floats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.checker.verdict_every import closed
from restrict.kernels.verdict import greatest_of_block
from restrict.soft.trained.atoms import basis_of
from restrict.soft.trained.directions import Key
from restrict.soft.trained.forms import Cell
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Case, Open, Search

ALL: Fact[int] = -1
"""The end of the block of all lengths."""
HALVINGS: Fact[int] = 44
"""Of the interval that holds a bound; the certificate has 24 bits behind the point."""


def cases(graph: Graph, block: int = 1, first: int = 1, last: int = ALL) -> list[Key]:
    """The cases of a block of lengths: its number (0: the empty prefix), a symbol (-1: the start token), a state.
    ``first``: the least length of the block. Gives the cases in the order of the certificate."""
    before = closed({0}, graph.delta)
    living = graph.living & before
    if not block:
        return [(0, -1, 0)] if graph.empty and not graph.closing and 0 in living else []
    if last != ALL:
        before = set().union(*graph.reached(last)[first - 1 : last])
    found: list[Key] = []
    for a in graph.ends:
        found += [(block, a, q) for q in sorted({graph.delta[p][a] for p in before} & living)]
    return found


class Roads:
    """The transitions that words of a case use, without its last symbol, sorted by target, for longest paths."""

    def __init__(self, graph: Graph, a: int, q: int) -> None:
        ends = [p for p, row in enumerate(graph.delta) if row[a] == q]
        useful = sorted(closed(set(ends), graph.before) & closed({0}, graph.delta))
        number = {p: k for k, p in enumerate(useful)}
        edges = sorted((number[t], number[p], s) for p in useful for s, t in enumerate(graph.delta[p]) if t in number)
        self.a, self.count = a, len(useful)
        self.ends: I64 = np.array([number[p] for p in ends if p in number], dtype=np.int64)
        table: I64 = np.array(edges, dtype=np.int64).reshape(-1, 3)
        self.targets, self.ptr = np.unique(table[:, 0], return_index=True)
        self.source, self.symbol = table[:, 1], table[:, 2]

    def positive(self, u: Array, start: Array) -> npt.NDArray[np.bool_]:
        """Whether some word is longer than 0, or there is no longest. ``u``: the weights of symbols, shape
        ``(directions, symbols)``. Gives one truth value for each direction. Cost: O(states x transitions)."""
        phi = np.full((len(u), self.count), -np.inf)
        phi[:, 0] = start
        longer: npt.NDArray[np.bool_] = np.zeros(len(u), dtype=bool)
        for _ in range(self.count + 1):
            new = phi.copy()
            if len(self.source):
                step = np.maximum.reduceat(phi[:, self.source] + u[:, self.symbol], self.ptr, axis=1)
                new[:, self.targets] = np.maximum(phi[:, self.targets], step)
            longer = np.any(new > phi, axis=1)
            phi = new
            if not longer.any():
                break
        found: npt.NDArray[np.bool_] = longer | (phi[:, self.ends].max(1) + u[:, self.a] > 0)
        return found

    def greatest(self, weights: Array, values: Array, first: tuple[float, Array]) -> Array:
        """The greatest average of each direction over all words of the case, from above. ``values``: shape
        ``(directions, symbols)``. Gives an upper bound for each direction, off by the bisection only."""
        both = np.concatenate([values, first[1][:, None]], axis=1)
        low, high = both.min(1), both.max(1)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            more = self.positive(weights * (values - middle[:, None]), first[0] * (first[1] - middle))
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        found: Array = high
        return found


class EverySearch(Search):
    """The search of one length, with bounds that hold at every length of a block."""

    sided = False

    def __init__(self, model: Trained, graph: Graph) -> None:
        super().__init__(model, graph, 1)
        self.neurons = ()
        self.roads: dict[tuple[int, int], Roads] = {}
        self.block: tuple[int, int] = (1, ALL)

    def greatest(self, key: Key, h: int, values: Array) -> Array:
        """The greatest averages of a head over the words of a case (of the lengths of the block that is set) of
        ``values``, shape ``(directions, 2, symbols)``, the start token's in column 0 of row 0."""
        e, (_, a, q) = self.weights[h], key
        if self.block[1] != ALL:
            block = np.array([*self.block, a, q], dtype=np.int64)
            at = [np.ascontiguousarray(row) for row in values]
            return np.array([greatest_of_block(e, row, *self.graph.edges, block, float(row[1].mean())) for row in at])
        if (a, q) not in self.roads:
            self.roads[a, q] = Roads(self.graph, a, q)
        return self.roads[a, q].greatest(e[1], values[:, 1], (float(e[0, 0]), values[:, 0, 0]))

    def weigh(self, i: int, a: int) -> None:
        """Weigh a symbol: at every later position as at position 1."""
        super().weigh(min(i, 1), a)

    def case(self, key: Key) -> Case | Open:
        """The checker's hints for a case of the block set, in its own coordinates if it is hard, or why it is open."""
        self.use(self.chosen.get(key[1:], 0))
        found = self.attempt(key)
        if (
            key[0] == 0
            or (isinstance(found, Case) and found.cells <= OPTIONS.few)
            or len(self.turns) >= OPTIONS.cycle_turns
        ):
            return found
        length = self.length(key)
        if length is None:
            return found
        axes = Search(self.model, self.graph, length).turned((length, *key[1:]))
        both = zip(self.atoms.v, axes, strict=True)
        return self.again(key, found, [basis_of(v, basis.middle, basis.near) for v, basis in both])

    def length(self, key: Key) -> int | None:
        """A great length of the block at which there are words of a case, whose axes are taken."""
        first, last = self.block
        low, high = (OPTIONS.far, OPTIONS.far + len(self.graph.delta)) if last == ALL else (first, last)
        reached = self.graph.reached(high)
        fits = (
            i for i in range(high, low - 1, -1) if any(self.graph.delta[p][key[1]] == key[2] for p in reached[i - 1])
        )
        found = next(fits, None)
        return found if found is None or found >= OPTIONS.shortest else None

    def kept(self, key: Key, low: Array, high: Array) -> tuple[Cell, I64]:
        """What is kept of a case: at every later position as at position 1."""
        return super().kept((min(key[0], 1), key[1], key[2]), low, high)

    def box(self, key: Key) -> tuple[Array, Array]:
        """The range of every coordinate over the words of a case. Gives upper and lower ends, all heads in a row."""
        if key[0] == 0:
            return super().box(key)
        self.weigh(key[0], key[1])
        tops, lows = [np.zeros(0)], [np.zeros(0)]
        for h, basis in enumerate(self.atoms.bases):
            found = self.greatest(key, h, np.concatenate([basis.at, -basis.at]))
            tops.append(found[: len(basis.rows)])
            lows.append(-found[len(basis.rows) :])
        return np.concatenate(tops), np.concatenate(lows)

    def most(self, key: Key, h: int, values: Array) -> float:
        """The greatest average of a head over the words of a case."""
        return super().most(key, h, values) if key[0] == 0 else float(self.greatest(key, h, values[None])[0])
