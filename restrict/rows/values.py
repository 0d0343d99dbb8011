"""Possible values of one variable at all positions, sparsely: a domain, and exceptions where less is possible. So what
a row of a million positions costs is its scores and nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from restrict.base.arrays import I64, offsets, take_rows
from restrict.kernels.scan_lists import ScanKeys
from restrict.model.program import Instance
from restrict.rows.options import ROWS


@dataclass(frozen=True, eq=False)
class Values:
    """Possible values of a variable: ``flat[ptr[p]:ptr[p+1]]`` at ``positions[p]``, ``0 .. domain-1`` at all others."""

    domain: int
    positions: I64
    ptr: I64
    flat: I64

    @staticmethod
    def make(domain: int, exceptions: Mapping[int, tuple[int, ...]]) -> Values:
        """From the values that are possible at some positions, ascending; the others have the whole domain."""
        order = sorted(exceptions)
        flat = np.array([w for j in order for w in exceptions[j]], dtype=np.int64)
        return Values(domain, np.array(order, dtype=np.int64), offsets([len(exceptions[j]) for j in order]), flat)

    @staticmethod
    def one(domain: int, n: int) -> Values:
        """The value 0 at each of n positions."""
        return Values(domain, np.arange(n), np.arange(n + 1), np.zeros(n, np.int64))

    @staticmethod
    def own(n: int) -> Values:
        """At each of n positions the position itself."""
        return Values(1, np.arange(n), np.arange(n + 1), np.arange(n))

    @cached_property
    def signature(self) -> tuple[bytes, bytes, bytes]:
        """A key: for one variable, two objects have the same key iff they have the same values."""
        return self.positions.tobytes(), self.ptr.tobytes(), self.flat.tobytes()

    @cached_property
    def scanned(self) -> ScanKeys:
        """The values as the scans take them, where ``positions`` are all of 0 .. n - 1."""
        return self.scan(0, len(self.positions))

    def scan(self, first: int, stop: int, base: int = 0) -> ScanKeys:
        """The values at the positions ``first .. stop - 1``, counted from ``base`` on, as a scan takes them. Spans of
        nothing but the whole domain are views of one array. The last others are kept, since many rows share them: to
        write them out takes as long as half of a scan of 26 key values."""
        if stop - base <= ROWS.part and self.domain > 1 and not len(self.less(first, stop)):
            plain, sizes = _whole(self.domain, (stop - base - 1).bit_length())
            return ScanKeys(
                self.domain, plain[first - base : stop - base], *NO_PAIRS, sizes[: stop - first], first - base
            )
        keys = self._kept(first, stop)
        return keys._replace(plain=keys.plain - base, pair_j=keys.pair_j - base, first=first - base) if base else keys

    def less(self, first: int, stop: int) -> I64:
        """The positions among these, ascending, that have less than the domain."""
        return self._less[slice(*np.searchsorted(self._less, (first, stop)))]

    @cached_property
    def _less(self) -> I64:
        return self.positions[np.diff(self.ptr) < self.domain]

    def _kept(self, first: int, stop: int) -> ScanKeys:
        found = self._scans.get((first, stop))
        if found is None:
            if sum(b - a for a, b in list(self._scans)) + stop - first > ROWS.kept:
                self._scans.clear()
            found = self._scans[first, stop] = self._scan(first, stop)
        return found

    @cached_property
    def _scans(self) -> dict[tuple[int, int], ScanKeys]:
        return {}

    def _scan(self, first: int, stop: int) -> ScanKeys:
        at = np.arange(*np.searchsorted(self.positions, (first, stop)))
        listed = np.diff(self.ptr)[at]
        at = at[(listed != self.domain) | (self.domain == 1)]
        places, own = self.positions[at], np.diff(self.ptr)[at]
        plain, sizes = np.arange(first, stop), np.full(stop - first, self.domain)
        sizes[places - first] = own
        plain = np.delete(plain, places - first) if len(places) else plain
        return ScanKeys(self.domain, plain, np.repeat(places, own), self.flat[take_rows(self.ptr, at)], sizes, first)

    def pairs(self, first: int, stop: int) -> tuple[I64, I64, I64]:
        """All pairs of the positions ``first .. stop - 1`` with their values, by position: positions, values, and where
        each position begins (stop - first + 1). Those of the last span are kept: many short rows share them."""
        found = self._pairs.get((first, stop))
        if found is None:
            at = np.arange(*np.searchsorted(self.positions, (first, stop)))
            sizes = np.full(stop - first, self.domain)
            sizes[self.positions[at] - first] = np.diff(self.ptr)[at]
            begin, j = offsets(sizes), np.repeat(np.arange(first, stop), sizes)
            w = np.arange(len(j)) - begin[j - first]
            w[take_rows(begin, self.positions[at] - first)] = self.flat[take_rows(self.ptr, at)]
            found = j, w, begin
            self._pairs.clear()
            self._pairs[first, stop] = found
        return found

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], tuple[I64, I64, I64]]:
        return {}

    def sparse(self) -> Values:
        """The values without entries for positions that have the whole domain."""
        sizes = np.diff(self.ptr)
        few = np.flatnonzero(sizes < self.domain)
        return Values(self.domain, self.positions[few], offsets(sizes[few]), self.flat[take_rows(self.ptr, few)])


@cache
def _whole(domain: int, bits: int) -> tuple[I64, I64]:
    """``2^bits`` positions and their numbers of key values, where each has the domain."""
    return np.arange(1 << bits), np.full(1 << bits, domain)


NO_PAIRS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
CONSTANT = Values.make(1, {})
"""The dummy key of a score that does not mention one."""


def unrestricted(instance: Instance, name: str | None, tokens: Mapping[int, tuple[int, ...]] | None = None) -> Values:
    """V of a key where nothing is known but the tokens at some positions: by default the markers."""
    if name is None:
        return CONSTANT
    if name == "position":
        return Values.own(instance.n)
    if name == "token":
        pinned = {i: (value,) for i, value in instance.pinned.items()} if tokens is None else tokens
        return Values.make(len(instance.model.alphabet), pinned)
    return Values.make(instance.domains[name], {})
