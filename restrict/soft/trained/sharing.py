"""Hints that several cases share. Boxes of one symbol and state hardly change from a position to the next, so a box
that is a little wider holds many of them, and a certificate says it once: a case without hints has those of the last
case with its symbol and state. Which cases share is a hint, too: the checker verifies each by what it is given."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from restrict.soft.trained.directions import Key
from restrict.soft.trained.empty import Empty
from restrict.soft.trained.forms import Tree, leaves_of
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import SAFE, Case, Open, Search

Ranges = tuple[list[int], list[int]]
Group = tuple[int, int]


class SharedSearch(Search):
    """A search whose cases, in the order of their positions, share their hints as far as they can; ``asked`` is the
    last position that is asked for."""

    def __init__(self, model: Trained, graph: Graph, n: int) -> None:
        super().__init__(model, graph, n)
        self.asked = n
        self.said: dict[Group, Case] = {}
        self.ahead: dict[Group, int] = {}
        self.known: dict[tuple[int, Key], Ranges] = {}
        self.later: dict[Group, list[int]] = {}
        for i, a, q in reversed(graph.cases(n)):
            self.later.setdefault((a, q), []).append(i)

    def case(self, key: Key) -> Case | Open:
        """The hints of the last case with this symbol and state, where they do; else new ones, for cases to come."""
        group = key[1:]
        said = self.said.get(group)
        again = None if said is None else self.as_said(key, said)
        found = again or super().case(key)
        if isinstance(found, Case):
            self.said[group] = found if again else self.wider(found)
        self.known = {at: bounds for at, bounds in self.known.items() if at[1][0] > key[0] or at[1][1:] != group}
        return self.said[group] if isinstance(found, Case) else found

    def rounded(self, key: Key) -> Ranges:
        """The box of a case, which may be known."""
        found = self.known.get((self.number, key))
        return super().rounded(key) if found is None else found

    def as_said(self, key: Key, said: Case) -> Case | None:
        """The case with hints of an earlier one, if they decide it."""
        self.use(said.basis)
        m = len(self.rows)
        own = self.rounded(key)
        self.weigh(key[0], key[1])
        if said.held or not inside(own, (said.upper[:m], said.width[:m])):
            return None
        if said.upper[m:] and not ((mine := self.ratios(key)) and inside(mine, (said.upper[m:], said.width[m:]))):
            return None
        margins = self.replayed(key, said.upper, said.width, said.tree)
        least = float(margins.min(initial=math.inf))
        return None if least <= SAFE else replace(said, key=key, least=least, own=own, margins=margins)

    def wider(self, case: Case) -> Case:
        """A case on a box that holds those of some cases to come, too, if its tree decides that."""
        key, group = case.key, case.key[1:]
        later = self.later[group]
        while later and later[-1] <= key[0]:
            later.pop()
        self.use(case.basis)
        count, m = self.ahead.get(group, OPTIONS.ahead), len(self.rows)
        others = [(i, *group) for i in later[: -count - 1 : -1] if i <= self.asked]
        if count <= 0 or case.held or case.cells > OPTIONS.simple or not others:
            self.ahead[group] = count + 1 if count <= 0 else count
            return case
        own = case.upper[:m], case.width[:m]
        for other in others:
            self.known.setdefault((self.number, other), self.rounded(other))
        wide = together([own, *(self.known[self.number, other] for other in others)])
        quotients = self.over([*others, key]) if case.upper[m:] else ([], [])
        self.weigh(key[0], key[1])
        if quotients is not None:
            upper, width = (a + b for a, b in zip(wide, quotients, strict=True))
            for tree in [case.tree, 1] if case.tree == 0 else [case.tree]:
                margins = self.replayed(key, upper, width, tree)
                if (least := float(margins.min(initial=math.inf))) > SAFE:
                    self.ahead[group] = min(2 * count, OPTIONS.farthest)
                    wider = {"upper": upper, "width": width, "tree": tree}
                    return replace(case, **wider, least=least, own=own, margins=margins)
        self.ahead[group] = count // 4 or OPTIONS.rest
        return case

    def replayed(self, key: Key, upper: list[int], width: list[int], tree: Tree) -> Array:
        """What a tree shows of what is asked on a box of a case, leaf by leaf: all that is positive if it decides
        it."""
        m = len(self.rows)
        self.quotients, self.held = (key, upper[m:], width[m:]), self.ends(key, [])
        return np.array(list(self.walked(key, *self.sides_of(key, upper, width, tree), tree)))

    def walked(self, key: Key, low: Array, high: Array, tree: Tree) -> Iterator[Array]:
        """What a tree shows on the leaves of a cell, up to the first that is not decided."""
        asked, empty = self.graph.asked[key[2]], None
        for leaf in leaves_of(tree, low, high):
            if leaf.empty:
                empty = empty or Empty(self, key)
                if not empty.shown(leaf.low, leaf.high, leaf.empty):
                    yield np.full(len(asked.places), -math.inf)
                    return
                continue
            cell, kept = self.kept(key, leaf.low, leaf.high)
            near, count = self.tail.near(cell.form()), leaf.parts
            ends = next(self.tail.pieces(near, asked, [count], self.held)) if count else [self.tail.signs(near, asked)]
            off = np.zeros(len(asked.places))
            margins = self.pulled(key, leaf.low, leaf.high, kept, count, ends, off, leaf.rows)[1]
            yield margins
            if margins.min(initial=math.inf) <= SAFE:
                return

    def over(self, keys: list[Key]) -> Ranges | None:
        """The range of the quotients over some cases, the weights of the last of which are then ready."""
        found = []
        for key in keys:
            self.weigh(key[0], key[1])
            if (ends := self.ratios(key)) is None:
                return None
            found.append(ends)
        return together(found)


def inside(one: Ranges, other: Ranges) -> bool:
    """Whether each range of ``one`` is inside that of ``other`` at the same place."""
    (upper, width), (most, wide) = (np.array(bounds) for bounds in (one, other))
    return bool((upper <= most).all() and (upper - width >= most - wide).all())


def together(ranges: list[Ranges]) -> Ranges:
    """The least ranges, place by place, that hold all of the given ones."""
    upper, width = (np.array([bounds[k] for bounds in ranges]) for k in (0, 1))
    top, low = upper.max(0), (upper - width).min(0)
    return top.tolist(), (top - low).tolist()
