"""Where two new sides of a bimachine meet (docs/all-lengths.md): what the states of each say, which pairs of that occur
together, and which states have the same labels."""

from itertools import pairwise

import numpy as np

from restrict.base.arrays import I32, I64, Ints, distinct, numbered, offsets, take_rows
from restrict.kernels.bimachine import Parts

CHUNK = 1 << 22
"""Entries that are made at a time."""
DENSE = 1 << 26
"""Pairs of rows up to which their labels stand in a table."""


def outcomes(parts: Parts, base: I32, vectors: I32, only: int) -> tuple[I32, I32]:
    """What each state of the new side says at each ``(x, b)``: the number of a distinct row (label, out of each head).
    Returns ``(at, rows)``, ``at`` (S, X, B) with -1 where no such position exists, ``rows`` (K, 1+H). Where ``only`` is
    at least 0, just for ``b = only``. Cost O(S X H B)."""
    (heads, nb), letters, numbers = parts.start.shape, parts.delta.shape[1], dict[bytes, int]()
    at, step = np.full((len(base), letters, nb), -1, dtype=np.int32), max(1, CHUNK // (letters * nb))
    for first in range(0, len(base), step):
        label = parts.lab[base[first : first + step]]
        if only >= 0:
            label = np.where(np.arange(nb) == only, label, -1)
        t, x, b2 = np.nonzero(label >= 0)
        b, place = parts.back[b2, x], parts.place[b2, x]
        outs = (parts.out[parts.offset[vectors[first + t, h * nb + b]] + place] for h in range(heads))
        rows = np.stack([label[t, x, b2], *outs], axis=1)
        kind = _kinds(rows)
        some = np.empty(int(kind.max(initial=-1)) + 1, dtype=np.int64)
        some[kind] = np.arange(len(kind))
        at[first + t, x, b2] = row_numbers(rows[some], numbers)[kind]
    return at, np.frombuffer(b"".join(numbers), dtype=np.int32).reshape(-1, heads + 1)


def row_numbers(rows: I32, numbers: dict[bytes, int] | None = None, ends: I64 | None = None) -> I64:
    """The numbers of rows (m, width), equal exactly for equal rows, as they are met; ``numbers``: of earlier ones, to
    which new ones are added. With ``ends`` (m + 1,) the rows are ``rows[ends[r] : ends[r + 1]]``."""
    content, known = np.ascontiguousarray(rows).tobytes(), {} if numbers is None else numbers
    at = (np.arange(len(rows) + 1) * rows.shape[1] if ends is None else ends) * rows.itemsize
    keys = (content[a:b] for a, b in pairwise(at.tolist()))
    return np.fromiter((known.setdefault(key, len(known)) for key in keys), np.int64, len(at) - 1)


def _kinds(rows: I64) -> I64:
    """Numbers of rows (m, width) of integers from -1 on, equal exactly for equal rows. Cost linear where few differ."""
    kind, count = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        size = int(column.max(initial=-1)) + 2
        names, kind = numbered(kind * size + column + 1, count * size)
        count = len(names)
    return kind


class Half:
    """One new side: ``said`` (S, X, R), the row numbers of :func:`outcomes` for each old state ``R`` opposite; ``base``
    (S,): the old state, below ``count``, of each new one; ``states`` from ``first[a]`` to ``first[a + 1]``: the new
    ones of an old one."""

    def __init__(self, said: I32, base: I32, count: int) -> None:
        self.said, self.base = said, base
        self.states = np.argsort(base, kind="stable")
        self.first = np.searchsorted(base[self.states], np.arange(count + 1))

    def met(self, x: int, mirror: bool) -> tuple[I64, I64]:
        """Where a letter is read: the different pairs of a cell (left old state, right old state) and a row, by cell.
        ``mirror``: it is the right side."""
        said, own, other = self.said[:, x], self.base[:, None].astype(np.int64), np.arange(self.said.shape[2])
        cell = other * (len(self.first) - 1) + own if mirror else own * self.said.shape[2] + other
        keys = distinct((cell << 32 | said)[said >= 0])
        return keys >> 32, keys & 0xFFFFFFFF


def meetings(left: Half, right: Half, rights: int, limit: int) -> I64 | None:
    """The pairs ``left row * rights + right row`` that occur together at some position, ascending; ``None``: more than
    ``limit``."""
    found = np.empty(0, dtype=np.int64)
    for x in range(left.said.shape[1]):
        (mine, v), (theirs, w) = left.met(x, False), right.met(x, True)
        low, high = (np.searchsorted(theirs, mine, side=side) for side in ("left", "right"))
        ends, first = offsets(high - low), 0
        while first < len(mine):
            stop = max(first + 1, int(np.searchsorted(ends, ends[first] + CHUNK, side="right")) - 1)
            sizes = np.diff(ends[first : stop + 1])
            behind = np.repeat(low[first:stop] - ends[first:stop], sizes) + np.arange(ends[first], ends[stop])
            pairs = np.repeat(v[first:stop], sizes) * rights + w[behind]
            found, first = distinct(np.concatenate([found, distinct(pairs)])), stop
            if len(found) > limit:
                return None
    return found


class Labels:
    """The labels (K,) of the pairs (K,) of :func:`meetings`; there are ``lefts`` and ``rights`` rows."""

    def __init__(self, pairs: I64, label: I64, lefts: int, rights: int) -> None:
        self.pairs, self.label, self.rights, self.table = pairs, label, rights, None
        if lefts * rights <= DENSE:
            self.table = np.full(lefts * rights, -1, dtype=np.int32)
            self.table[pairs] = label

    def of(self, left: Ints, right: Ints) -> I64:
        """The label of left and right rows, -1 where one of them is."""
        there = (left >= 0) & (right >= 0)
        keys = np.where(there, left.astype(np.int64) * self.rights + right, self.pairs[0])
        found = self.label[np.searchsorted(self.pairs, keys)] if self.table is None else self.table[keys]
        return np.where(there, found, -1)


def alike(mine: Half, other: Half, labels: Labels, mirror: bool) -> I64:
    """Numbers of the new states of a side (``mirror``: the right one), equal exactly for those that have equal labels
    at every letter, with every new state opposite. Cost O(S X B + the labels at different (a, x, b, row))."""
    states, letters, opposite = mine.said.shape
    kinds, old, most = np.empty_like(mine.said), len(mine.first) - 1, int(mine.said.max(initial=-1)) + 2
    for x in range(letters):
        codes = (np.arange(opposite) * old + mine.base[:, None]) * most + mine.said[:, x] + 1
        names, number = numbered(codes.reshape(-1), opposite * old * most)
        b, a, v = names // most // old, names // most % old, names % most - 1
        sizes = np.diff(other.first)[b]
        w = other.said[other.states[take_rows(other.first, b)], x, np.repeat(a, sizes)]
        v = np.repeat(v, sizes)
        said = (labels.of(w, v) if mirror else labels.of(v, w)).astype(np.int32)
        kinds[:, x] = row_numbers(said, ends=offsets(sizes))[number].reshape(states, opposite)
    return row_numbers(kinds.reshape(states, letters * opposite))


def labels_of(left: Half, right: Half, labels: Labels, reps_l: I32, reps_r: I32) -> I32:
    """The labels (L, X, R) of the representatives of the merged states."""
    ours, theirs = left.said[reps_l], right.said[reps_r]
    rows = (labels.of(ours[i][:, right.base[reps_r]], theirs[:, :, left.base[rep]].T) for i, rep in enumerate(reps_l))
    return np.stack([row.astype(np.int32) for row in rows])


def canonical(
    cells: tuple[I64, I64], seen: tuple[I32, I32], query: I32, rank: I32, value: I32, later: I32
) -> tuple[I32, I32]:
    """For a head that sees both sides: for each edge of left and right triples, which are at ``cells`` ``(l, x, r)``
    and show the entries ``seen``, the least entry of its cell that every entry of the other side treats alike. Two left
    entries at a cell are alike if with each right entry that occurs there the head gives the same value; and the other
    way round. ``rank``, ``value`` (U, C) of entries, ``later`` (U, C): the right one wins ties; ``query`` of cells."""
    codes = rank.shape[1]
    present = np.zeros((2, len(query), codes), dtype=bool)
    for side in (0, 1):
        present[side, cells[side][seen[side] >= 0], seen[side][seen[side] >= 0]] = True
    right_wins = (rank[:, None] > rank[:, :, None]) | ((rank[:, None] == rank[:, :, None]) & (later[:, None] == 1))
    winner = np.where(right_wins, value[:, None], value[:, :, None])  # by query, left entry, right entry
    used, found = np.flatnonzero(query >= 0), []
    for side in (0, 1):
        against = np.concatenate([query[used, None], present[1 - side, used]], axis=1)
        groups, group = np.unique(against, axis=0, return_inverse=True)
        kind = np.zeros((len(groups), codes), dtype=np.int64)
        for g, (u, *others) in enumerate(groups):
            table = (winner[u] if side == 0 else winner[u].T)[:, np.array(others, dtype=bool)]
            kind[g] = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
        at, k = np.nonzero(present[side, used])
        first, same = np.unique(at * codes + kind[group.reshape(-1)[at], k], return_index=True, return_inverse=True)[1:]
        least = np.full((len(query), codes), -1, dtype=np.int32)
        least[used[at], k] = k[first][same.reshape(-1)]
        found.append(np.where(seen[side] >= 0, least[cells[side], seen[side]], np.int32(-1)))
    return found[0], found[1]
