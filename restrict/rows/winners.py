"""The candidates of a row: their positions and their key values, by kinds of symbols where the alphabet is large. A row
whose key is a token has a score for every position and symbol. Where the program cannot tell most symbols apart
(:mod:`restrict.model.alike`), the scores of one symbol of each kind are enough: alike symbols have equal scores, so the
floor is the same, and a pair is a candidate where the pair with its kind is."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import I64
from restrict.model.alike import Kinds, kinds_of
from restrict.model.program import Head, Instance
from restrict.rows.options import ROWS
from restrict.rows.row import Row
from restrict.rows.values import Values


def winners(instance: Instance, head: Head, i: int, u: int, keys: Values) -> tuple[I64, I64]:
    """The positions and the key values of the candidates of a row. Cost: that of
    :meth:`restrict.rows.row.Row.candidates`; of a long row, one score for every position and kind. ``i``: the position
    of the query, 0..n - 1; ``keys``: V of the key at all positions; :data:`restrict.rows.values.CONSTANT` where the
    score mentions no key. Gives two int64 arrays, each ascending and without repetition."""
    row = Row(instance, head, i, u)
    long = (row.stop - row.first) * keys.domain >= ROWS.long_scan and row.seed is None
    kinds = kinds_of(instance.model) if long else None
    if kinds is None or instance.key(head) not in kinds.carriers:
        j, w = row.candidates(keys)
        return np.unique(j), np.unique(w)
    other = kinds.model.by_name[head.name]
    assert isinstance(other, Head)
    asked = int(kinds.kind[u]) if instance.query(head) in kinds.carriers else u
    j, k = Row(kinds.model.at(instance.n), other, i, asked).candidates(_by_kind(keys, kinds))
    return np.unique(j), _members(j, k, keys, kinds, row.own)


def _by_kind(keys: Values, kinds: Kinds) -> Values:
    """The possible kinds where ``keys`` are the possible token values."""
    rows = np.repeat(np.arange(len(keys.positions)), np.diff(keys.ptr))
    pairs = np.unique(np.stack((rows, kinds.kind[keys.flat])), axis=1)
    ptr = np.zeros(len(keys.positions) + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs[0], minlength=len(keys.positions)), out=ptr[1:])
    return Values(int(kinds.kind[: keys.domain].max()) + 1, keys.positions, ptr, pairs[1])


def _members(j: I64, k: I64, keys: Values, kinds: Kinds, own: tuple[int, int]) -> I64:
    """The token values of the pairs (position, kind): all of the kind, or those that are possible at the position."""
    apart = np.isin(j, keys.positions) | (j == own[0])
    everywhere = np.isin(kinds.kind[: keys.domain], k[~apart])
    found = [np.flatnonzero(everywhere)]
    for p in np.unique(j[apart]).tolist():
        at = int(np.searchsorted(keys.positions, p))
        possible = np.array([own[1]]) if p == own[0] else keys.flat[keys.ptr[at] : keys.ptr[at + 1]]
        found.append(possible[np.isin(kinds.kind[possible], k[j == p])])
    return np.unique(np.concatenate(found))
