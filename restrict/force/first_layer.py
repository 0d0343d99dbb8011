"""Exact prices in the first layer, under the present tokens: what it takes to keep one of its nodes within any set.

A node of the first layer is a map of its token and of heads over tokens that the token is the query of. With few
symbols all its *boxes*, one value or all of them for each argument, are one small table: the image of each as a mask of
values, and the fewest tokens that force it. Where most of the word is fixed, these prices say which goals can still be
met at all. The first pairs of all rows are listed at once, which takes a score for each two pairs of position and
symbol: so this is for short words.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from restrict.base.arrays import F64, I32, I64
from restrict.base.options import Fact
from restrict.force.growth import LEFT_OUT, Prices
from restrict.force.image import mask_of
from restrict.force.options import OPTIONS
from restrict.force.state import ForcingState
from restrict.model.program import Head, Instance, Map
from restrict.rows.lists import candidate_lists
from restrict.rows.values import Values

FREE: Fact[int] = -1
"""The symbol of a position that has several."""


class FirstLayer:
    """Prices of the nodes of one variable. ``state``: it is only read. Prices of a node hold while no token changes."""

    def __init__(self, state: ForcingState, variable: Map) -> None:
        self.state, self.variable, self.symbols = state, variable, len(state.alphabet)
        by_name = state.instance.model.by_name
        self.heads = [v for a in variable.args if isinstance(v := by_name.get(a), Head)]
        self.order = [variable.args.index(a) for a in ("token", *(h.name for h in self.heads))]
        self.known: dict[int, tuple[int, I64, F64]] = {}

    @staticmethod
    def applies(instance: Instance, variable: Map) -> bool:
        """Whether a map reads its token, and heads over tokens with the token as their query, and has few boxes."""
        heads = [v for a in variable.args if isinstance(v := instance.model.by_name.get(a), Head)]
        read = {name for h in heads for name in (instance.query(h), instance.key(h), h.value)}
        symbols = len(instance.model.alphabet)
        return (
            read == {"token"}
            and sorted(variable.args) == sorted(["token", *(h.name for h in heads)])
            and (symbols + 1) ** len(variable.args) <= OPTIONS.layer_boxes
            and instance.domains[variable.name] <= np.iinfo(np.int64).bits - 2
            and len(heads) * (instance.n * symbols) ** 2 <= OPTIONS.layer_scores
        )

    @cached_property
    def pairs(self) -> tuple[I32, I32]:
        """Positions and symbols of the first pairs of all rows, best first, shape (n, symbols, heads, pairs); where a
        row has fewer, the last are position -1."""
        instance = self.state.instance
        j = np.full((instance.n, self.symbols, len(self.heads), OPTIONS.costly_pairs), -1, dtype=np.int32)
        w = np.zeros(j.shape, dtype=np.int32)
        every, pinned = tuple(self.state.alphabet), self.state.pinned
        keys = Values.make(self.symbols, {p: pinned.get(p, every) for p in range(instance.n)})
        for h, head in enumerate(self.heads):
            lists = candidate_lists(instance, head, keys, keys, OPTIONS.costly_pairs)
            self.state.scores += (instance.n * self.symbols) ** 2
            sizes = (lists.stop - lists.start)[lists.row_list]
            row = np.repeat(np.arange(lists.rows), sizes)
            place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            at = lists.start[lists.row_list][row] + place
            slot = lists.row_i[row], lists.row_u[row], h, place
            j[slot], w[slot] = lists.j[at], lists.w[at]
        return j, w

    def images(self, i: int) -> I64:
        """The values on every box, as masks, flat: the token's side first, then those of the heads in order; a side is
        a symbol, or ``symbols`` where the argument is left out."""
        sets = [self.state.alphabet] * len(self.order)
        values = self.state.instance.map_values(self.variable, i, sets).transpose(self.order)
        bits, done = np.left_shift(1, values).reshape(-1), 1
        for _ in self.order:  # the last axis first, so that what is copied is contiguous
            parts = bits.reshape(-1, self.symbols, done)
            bits = np.concatenate([parts, np.bitwise_or.reduce(parts, axis=1, keepdims=True)], axis=1)
            done *= self.symbols + 1
        return bits.reshape(-1)

    def rows(self, i: int) -> F64:
        """The tokens that keep the value of every row at each symbol, shape (symbols, heads, symbols)."""
        (j, w), tokens = (part[i] for part in self.pairs), self.state.tokens
        given = [self.given(tokens.get(p)) for p in j.reshape(-1).tolist()]
        known = np.array(given).reshape(j.shape)
        own = j == i
        known = np.where(own, np.arange(self.symbols)[:, None, None], known)
        feasible = (j >= 0) & ((known == FREE) | (known == w))
        certain = feasible & (known == w)
        # A pair below a certain one is never reached.
        feasible &= np.cumsum(certain, axis=-1) - certain == 0
        earlier = (j[..., :, None] == j[..., None, :]) & np.tri(OPTIONS.costly_pairs, k=-1, dtype=bool)
        found = np.empty((self.symbols, len(self.heads), self.symbols))
        for v in range(self.symbols):
            bad = feasible & (w != v)
            again = (earlier & bad[..., None, :]).any(axis=-1)  # one token excludes all bad pairs of a position
            others = np.cumsum(bad & ~again, axis=-1) - again
            possible = feasible & (w == v) & (np.cumsum(bad & certain, axis=-1) == 0)
            found[:, :, v] = np.where(possible, others + ~certain, np.inf).min(axis=-1)
        return found

    @staticmethod
    def given(values: tuple[int, ...] | None) -> int:
        """The symbol of a position, or ``FREE``."""
        return FREE if values is None or len(values) > 1 else values[0]

    def costs(self, i: int) -> F64:
        """The tokens that force every box, as :meth:`images` orders them; ``inf`` where that is impossible."""
        symbols, rows, given = self.symbols, self.rows(i), self.given(self.state.tokens.get(i))
        possible = [u for u in range(symbols) if given in (FREE, u)]
        one = np.zeros((symbols + 1, len(self.heads), symbols + 1))
        one[:-1, :, :-1] = rows
        one[-1, :, :-1] = rows[possible].sum(axis=0)
        total = np.full((symbols + 1, 1), np.inf)
        total[possible], total[-1] = float(given == FREE), 0
        for h in range(len(self.heads)):
            total = (total[:, :, None] + one[:, None, h, :]).reshape(symbols + 1, -1)
        return total.reshape(-1)

    def look(self, i: int) -> tuple[I64, F64]:
        """Images and costs of the boxes that are possible."""
        stamp = len(self.state.tokens)
        if i not in self.known or self.known[i][0] != stamp:
            images, costs = self.images(i), self.costs(i)
            usable = np.isfinite(costs)
            self.known[i] = stamp, images[usable], costs[usable]
        return self.known[i][1:]

    def price(self, i: int, allowed: frozenset[int]) -> float:
        """The fewest tokens that keep a node within a set; ``inf`` where that is impossible."""
        images, costs = self.look(i)
        return float(costs[(images & ~mask_of(allowed)) == 0].min(initial=np.inf))

    def prices(self, i: int) -> Prices:
        """The values that a node can be forced to, with their prices."""
        found = {v: self.price(i, frozenset((v,))) for v in range(self.state.instance.domains[self.variable.name])}
        return {v: price for v, price in found.items() if np.isfinite(price)}

    def boxes(self, i: int, allowed: frozenset[int], most: int) -> list[tuple[float, tuple[int, ...]]]:
        """The cheapest boxes within a set: price, and a value or ``LEFT_OUT`` for each argument of the map."""
        costs = np.where((self.images(i) & ~mask_of(allowed)) == 0, self.costs(i), np.inf)
        best, found = np.argsort(costs, kind="stable")[:most], []
        for t in best[np.isfinite(costs[best])].tolist():
            sides = [LEFT_OUT] * len(self.order)
            for argument, v in zip(self.order, np.unravel_index(t, (self.symbols + 1,) * len(sides)), strict=True):
                sides[argument] = int(v) if v < self.symbols else LEFT_OUT
            found.append((float(costs[t]), tuple(sides)))
        return found


def listed(state: ForcingState) -> dict[str, FirstLayer]:
    """The prices of all variables that have them."""
    maps = [v for v in state.instance.model.variables if isinstance(v, Map)]
    return {v.name: FirstLayer(state, v) for v in maps if FirstLayer.applies(state.instance, v)}
