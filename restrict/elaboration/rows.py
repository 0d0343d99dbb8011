"""The rows that a proof shares: what each has to list, found by one scan with nothing known."""

from dataclasses import dataclass, field, replace

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.checker.account import MEMORY, Meter
from restrict.elaboration.statements import Statement
from restrict.model.program import Head, Instance
from restrict.rows.row import Row, threads
from restrict.rows.values import Values, unrestricted

Floor = tuple[int, int]
"""A score and a position."""
Place = tuple[str, int, int]
"""A head, its position, and the query's value, 0 where it has none."""
PAIRS_A_STEP = 16
"""The compiled scans take about 30 nanoseconds for a pair at most, a step is half a microsecond."""
PAIR_BYTES = 100
"""What a pair that is kept takes at most, with the copies made of it."""
SHORT = 1024
"""Of a scan that leaves fewer pairs, these are kept where they are what the row lists: its fixed cost is the larger."""
LONG, VALUES, SAMPLED, FEW = 1 << 20, 1 << 20, 4096, 4
"""A row of more pairs, of so many key values, is scanned once, where of so many random pairs at most a few reach what
is known of its floor."""
WIDE = 1 << 40
"""A row of more pairs is not scanned with nothing known: all its visible positions are listed."""


@dataclass
class Rows:
    """Rows, each with the least floor of all contexts that look at it, and the bar: that of those that are kept."""

    instance: Instance
    meter: Meter
    floors: dict[Place, Floor] = field(default_factory=dict)
    bars: dict[Place, Floor] = field(default_factory=dict)
    _pairs: dict[Place, tuple[Floor, I64]] = field(default_factory=dict)
    _free: dict[str | None, Values] = field(default_factory=dict)

    def lower(self, known: dict[Place, Floor], head: Head, i: int, u: int, floor: Floor) -> None:
        """Remember a floor of a row, if it is the least. ``known``: ``floors`` or ``bars``. ``u``: the query's value, 0
        where it has none. ``floor``: a context's floor in this row."""
        old = known.get((head.name, i, u))
        if old is None or not at_or_above(head, floor, old):
            known[head.name, i, u] = floor

    def keep(self, said: Statement) -> None:
        """A statement that is written uses these rows. ``said``: a fact; of a map it has no groups."""
        for group in said.groups or ():
            head = self.instance.model.by_name[said.name]
            assert isinstance(head, Head)
            self.lower(self.bars, head, said.i, group.u, (group.least, group.witness))

    def scan(self, head: Head, i: int, u: int, keys: Values, least: int | None = None) -> I64:
        """The pairs of a row that reach its floor, or a score, with their scores; charged before. ``u``: the query's
        value, 0 where it has none. ``least``: a score; by default the row's own floor under these keys. Then nothing is
        known, ``j = i`` included. Gives int64, shape (3, m): positions, key values, scores."""
        row = Row(self.instance, head, i, u)
        self.meter.charge(4 + count(keys, row.first, row.stop) // PAIRS_A_STEP)
        known = replace(keys, domain=1) if (row.stop - row.first) * keys.domain > WIDE else keys
        if count(known, row.first, row.stop) == count(keys, row.first, row.stop):
            keys = known  # at every position something is known: the scan has no use for an enormous domain
        row.most = (MEMORY - self.meter.held) // PAIR_BYTES // threads()  # each thread has a part of the row
        if least is None:
            found = row.scored(keys)
        else:
            row.own = (-1, -1)
            found = row.scored(keys, least)
        self.meter.charge(found.shape[1])  # for all that is done with them
        return found

    def scan_once(self, head: Head, i: int, u: int, keys: Values) -> I64:
        """The pairs of a row as :meth:`scan` gives them. A long row is scanned with nothing known, down to the floor of
        the positions at which something is known, below which the row's own floor cannot be. So :meth:`pairs` has no
        need to scan it again. ``u``: the query's value, 0 where it has none."""
        row = Row(self.instance, head, i, u)
        total = (row.stop - row.first) * keys.domain
        known = row.known_floor(keys, total) if LONG < total <= WIDE and keys.domain <= VALUES else None
        if known is None or _often(row, keys.domain, known[0]):
            return self.scan(head, i, u, keys)
        free = self._down_to(head, i, u, known[0])
        found = free[:, _possible(keys, free, row.own)]
        at = np.flatnonzero(np.diff(found[0], prepend=-1))
        places, most = found[0, at], _sizes(keys, found[0, at], row.own[0])
        worst = np.minimum.reduceat(found[2], at)
        whole = np.diff(np.append(at, found.shape[1])) == most  # no pair of the position is below
        least = int(worst[whole].max())
        last = places[whole & (worst == least)]
        floor = least, int(last.max() if head.ties == "right" else last.min())
        return found[:, reaching(head, found, floor)]

    def _down_to(self, head: Head, i: int, u: int, least: int) -> I64:
        """The pairs of a row with nothing known that have a score of ``least`` or more; of what is remembered, if
        possible: most boxes of a lower bound look at the same rows."""
        lowest = least, self.instance.n if head.ties == "left" else -1
        if self._holds(head, i, u, lowest):
            held = self._pairs[head.name, i, u][1]
            self.meter.charge(4 + held.shape[1])
            return held[:, held[2] >= least]
        found = self.scan(head, i, u, self.free(head), least)
        self._remember(head, i, u, lowest, found)
        return found

    def _remember(self, head: Head, i: int, u: int, floor: Floor, pairs: I64) -> None:
        """Keep the pairs of a row down to a floor, where they are more than those that are kept."""
        if not self._holds(head, i, u, floor):
            self.meter.hold(PAIR_BYTES * pairs.shape[1])
            self._pairs[head.name, i, u] = floor, pairs

    def _holds(self, head: Head, i: int, u: int, floor: Floor) -> bool:
        """Whether all pairs of a row down to a floor are kept."""
        held = self._pairs.get((head.name, i, u))
        return held is not None and at_or_above(head, floor, held[0])

    def free(self, head: Head) -> Values:
        """V of a head's key where nothing is known."""
        key = self.instance.key(head)
        if key not in self._free:
            self._free[key] = unrestricted(self.instance, key)
        return self._free[key]

    def found(self, head: Head, i: int, u: int, keys: Values, pairs: I64, floor: Floor) -> None:
        """Keep what a scan found under some keys, where these say nothing and the row may be listed. ``pairs``: all
        that reach ``floor``, the row's own. Then :meth:`pairs` has no need to scan the row again."""
        seen = self.instance.visible(head, i)
        query, key = self.instance.query(head), self.instance.key(head)
        own = query is not None and query == key  # at i itself the scan knew the key
        if pairs.shape[1] < SHORT and not own and count(keys, *seen) == count(self.free(head), *seen):
            self._remember(head, i, u, floor, pairs)

    def pairs(self, head: Head, i: int, u: int) -> I64:
        """All pairs at or above the least floor, whatever the word is, with their scores. One scan of the row; the
        floor of the row without any restriction is not above the least one, so the scan finds them all. ``u``: the
        query's value, 0 where it has none. Gives int64, shape (3, m)."""
        floor = self.floors[head.name, i, u]
        if not self._holds(head, i, u, floor):
            found = self.scan(head, i, u, self.free(head), floor[0])
            self._remember(head, i, u, floor, found[:, reaching(head, found, floor)])
        floor_held, found = self._pairs[head.name, i, u]
        return found if floor_held == floor else found[:, reaching(head, found, floor)]

    def wide(self, head: Head, i: int) -> bool:
        """Whether a row has too many pairs to be scanned with nothing known."""
        return count(self.free(head), *self.instance.visible(head, i)) > WIDE

    def listed(self, head: Head, i: int, u: int) -> I64:
        """The positions that the row has to list: those with a pair at or above its bar. ``u``: the query's value, 0
        where it has none. Gives the positions, ascending."""
        if self.wide(head, i):
            return np.arange(*self.instance.visible(head, i), dtype=np.int64)
        found = self.pairs(head, i, u)
        return distinct(found[0, reaching(head, found, self.bars[head.name, i, u])])


def _often(row: Row, domain: int, least: int) -> bool:
    """Whether more than a few of some random pairs of a row have a score of ``least`` or more."""
    rng = np.random.default_rng(0)
    j, w = rng.integers(row.first, row.stop, SAMPLED), rng.integers(domain, size=SAMPLED)
    return int((row.scores(j, w) >= least).sum()) > FEW


def _possible(keys: Values, pairs: I64, own: tuple[int, int]) -> Bools:
    """Which pairs have a key value that is possible at their position; at that of ``own`` it is the query's."""
    named = np.isin(pairs[0], keys.positions)
    codes = np.repeat(keys.positions, np.diff(keys.ptr)) * keys.domain + keys.flat
    found = ~named | np.isin(pairs[0] * keys.domain + pairs[1], codes)
    return np.where(pairs[0] == own[0], pairs[1] == own[1], found)


def _sizes(keys: Values, places: I64, own: int) -> I64:
    """How many key values are possible at some positions."""
    found = np.full(len(places), keys.domain)
    at = np.searchsorted(keys.positions, places)
    named = np.flatnonzero(np.append(keys.positions, -1)[at] == places)
    found[named] = np.diff(keys.ptr)[at[named]]
    return np.where(places == own, 1, found)


def at_or_above(head: Head, pair: Floor, floor: Floor) -> bool:
    """Whether a pair of a score and a position is not below another one, in the head's order."""
    sign = -1 if head.ties == "left" else 1
    return (pair[0], sign * pair[1]) >= (floor[0], sign * floor[1])


def reaching(head: Head, pairs: I64, floor: Floor) -> Bools:
    """Which pairs, int64 (3, m) of positions, key values and scores, are at or above a floor: bool, (m,)."""
    j, _, s = pairs
    tied = (j <= floor[1]) if head.ties == "left" else (j >= floor[1])
    found: Bools = (s > floor[0]) | ((s == floor[0]) & tied)
    return found


def count(keys: Values, start: int, stop: int) -> int:
    """The pairs of some positions."""
    if start >= stop or not len(keys.positions):
        return max(0, stop - start) * keys.domain
    low, high = (int(at) for at in np.searchsorted(keys.positions, [start, stop]))
    return (stop - start - (high - low)) * keys.domain + int(keys.ptr[high]) - int(keys.ptr[low])


def distinct(positions: I64) -> I64:
    """The positions, each once. ``positions``: int64, ascending. Gives int64, strictly ascending."""
    return positions[np.append(positions[1:] != positions[:-1], True)] if len(positions) else positions
