"""Long rows of hashed scores are scanned once: their best pairs, kept beside the instance.

A row of a large alphabet has a score for every position and symbol: a thousand million at a million positions and a
thousand symbols, and one scan of all takes from a tenth of a second to seconds. Which pairs reach a given score does
not depend on the restriction. So a scan that found *all* pairs of score at least ``bar`` is kept, and the candidates of
the same row under a restriction are those of them at positions with the whole domain, together with the pairs of the
restricted positions, which are scored anew (:meth:`restrict.rows.row.Row.candidates`).

Invariant: among ``pairs`` are all pairs (j, w) of score at least ``bar`` with ``first <= j < stop``, ``j`` not in
``apart`` and ``0 <= w < domain``; they are what the scan of the row found, not what a search believes. The check of a
certificate file starts with an empty memory and scans every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from restrict.base.arrays import I64
from restrict.model.program import Instance

LONG_SCAN = 2**22
"""The scan of a row of at least this many scores is kept: it takes about a millisecond or more."""
MOST_BYTES = 2**28
"""The most bytes that are kept for one instance; beyond, rows are scanned again."""


@dataclass(frozen=True, eq=False)
class KeptScan:
    """The pairs of a row that reach ``bar``: int64, shape (3, m), rows j, w, score."""

    first: int
    stop: int
    apart: I64
    bar: int
    pairs: I64

    def covers(self, first: int, stop: int, apart: I64) -> bool:
        """Whether the scan holds for these positions, those in ``apart`` excepted: they are scored anew."""
        inside = self.apart[(self.apart >= first) & (self.apart < stop)]
        return self.first <= first and stop <= self.stop and bool(np.isin(inside, apart).all())

    def of_others(self, first: int, stop: int, apart: I64) -> I64:
        """The pairs, int64 (3, m), at positions first .. stop - 1 that are not in ``apart`` (ascending)."""
        j = self.pairs[0]
        return self.pairs[:, (j >= first) & (j < stop) & ~np.isin(j, apart)]


class KeptScans:
    """What is kept for one instance, by the hash state before the position and the number of key values."""

    def __init__(self) -> None:
        self.by_row: dict[tuple[int, int], KeptScan] = {}
        self.held = 0

    def keep(self, seed: int, domain: int, scan: KeptScan) -> None:
        """Keep a scan, in place of an earlier one of the same row, unless the memory is full."""
        old = self.by_row.get((seed, domain))
        held = self.held + scan.pairs.nbytes - (old.pairs.nbytes if old else 0)
        if held <= MOST_BYTES:
            self.by_row[seed, domain], self.held = scan, held


_KEPT: WeakKeyDictionary[Instance, KeptScans] = WeakKeyDictionary()


def kept_scans(instance: Instance) -> KeptScans:
    """What is kept for an instance, for as long as it lives."""
    return _KEPT.setdefault(instance, KeptScans())
