"""The store of rows: the pairs of each row of an instance, best first, found when they are first asked for. A row
(head, position, query value) does not depend on the restriction, so its list is found once and serves every search, run
and encoding of the instance: what a node can attend to under a restriction is read off the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial

import numpy as np

from restrict.base.arrays import I64
from restrict.model.program import Head, Instance, mentions
from restrict.rows.options import ROWS
from restrict.rows.row import Row
from restrict.rows.values import Values, unrestricted

Pair = tuple[int, int]
"""A position and a key value."""


class RowList:
    """The pairs of one row, best first: those found so far, more by :meth:`extend`."""

    def __init__(self, row: Row, keys: Values) -> None:
        self.row, self.keys = row, keys
        self.pairs: list[Pair] = []
        self.complete = False
        self.arrays: tuple[I64, I64] | None = None
        self.index: RowIndex | None = None

    def indexed(self) -> RowIndex | None:
        """The index of the pairs found so far."""
        if self.index is None and self.arrays is not None:
            self.index = RowIndex(*self.arrays, self.keys)
        return self.index

    def extend(self) -> int:
        """Find more pairs; returns how many scores were computed."""
        scores = (self.row.stop - self.row.first) * self.keys.domain
        start = ROWS.first_pairs if scores < ROWS.costly else ROWS.more_pairs if scores < ROWS.vast else ROWS.vast_pairs
        count = 8 * len(self.pairs) or start
        j, w, self.complete = self.row.best(self.keys, count)
        self.pairs = list(zip(j.tolist(), w.tolist(), strict=True))
        self.index = None
        self.arrays = (j, w)
        return scores


class RowIndex:
    """An index of a row's list, which answers without a walk over it. ``of(j)`` are the places of position ``j`` with
    their key values; ``completions`` are the places at which a position has its last pair, in order."""

    def __init__(self, j: I64, w: I64, keys: Values) -> None:
        self.j, self.w = j, w
        self.order = np.argsort(j, kind="stable")
        self.sorted = j[self.order]
        starts = np.flatnonzero(np.diff(self.sorted, prepend=-1))
        counts = np.diff(np.append(starts, len(j)))
        sizes = np.full(len(starts), keys.domain, dtype=np.int64)
        if len(keys.positions):
            at = np.minimum(np.searchsorted(keys.positions, self.sorted[starts]), len(keys.positions) - 1)
            known = keys.positions[at] == self.sorted[starts]
            sizes = np.where(known, np.diff(keys.ptr)[at], sizes)
        done = counts == sizes
        last = self.order[starts + counts - 1][done] if len(j) else np.empty(0, dtype=np.int64)
        self.completions = np.sort(last)

    def of(self, j: int) -> tuple[I64, I64]:
        """Places and key values of a position's pairs."""
        a, b = np.searchsorted(self.sorted, (j, j + 1))
        places = self.order[a:b]
        return places, self.w[places]

    def first_other(self, places: I64, low: int, high: int, apart: set[int]) -> int | None:
        """The first of ``places`` whose position is visible and not one of ``apart``."""
        for start in range(0, len(places), 256):
            for t in places[start : start + 256].tolist():
                j = int(self.j[t])
                if low <= j < high and j not in apart:
                    return int(t)
        return None

    @cached_property
    def different(self) -> int:
        """How many key values the list has."""
        return len(np.unique(self.w))

    def values_above(self, floor: int, low: int, high: int, apart: Sequence[int]) -> set[int]:
        """The key values down to place ``floor`` at visible positions that are not among ``apart``."""
        found: set[int] = set()
        start, step = 0, ROWS.first_places
        while start <= floor and len(found) < self.different:
            stop = min(start + step, floor + 1)
            j = self.j[start:stop]
            free = (low <= j) & (j < high) & ~np.isin(j, apart)
            found.update(self.w[start:stop][free].tolist())
            start, step = stop, 4 * step
        return found


class RowStore:
    """The lists of all rows of an instance; ``pinned`` are the positions with one token in every restriction."""

    def __init__(self, instance: Instance, pinned: Mapping[int, tuple[int, ...]]) -> None:
        self.instance, self.keys = instance, cache(partial(unrestricted, instance, tokens=pinned))
        self._lists: dict[tuple[str, int, int], RowList] = {}

    def of(self, head: Head, i: int, u: int) -> RowList:
        """The list of a row; positions that see half of the word or more share it if the score does not mention ``i``.
        What a position does not see, and its own key where that is the query, are for the reader to leave out."""
        first, stop = self.instance.visible(head, i)
        shared = "i" not in mentions(head) and 2 * (stop - first) >= self.instance.n
        slot = (head.name, -1 if shared else i, u)
        if slot not in self._lists:
            row = Row(self.instance, head, i, u)
            row.own = (-1, -1)
            if shared:
                row.first, row.stop = 0, self.instance.n
            self._lists[slot] = RowList(row, self.keys(self.instance.key(head)))
        return self._lists[slot]
