"""The lists of hashed rows with numpy, for runs too small for :func:`restrict.kernels.scan_lists.scan_rows` to be
compiled: all pairs of a block of rows are scored at once. Tests compare the two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64, offsets
from restrict.base.deadline import Deadline
from restrict.kernels.machine import HALF, hashed, hashed_scores, scores_after
from restrict.kernels.scan_lists import ScanKeys

MOST_PAIRS = 1 << 24
"""So many pairs take about half a second, a quarter of what compilation takes."""
BLOCK = 1 << 15
"""Pairs that are scored at a time: what is made of them stays in the cache, and is made where the last block was."""
NONE = np.int64(-1)
"""The score of a pair that a row does not have."""


class Pairs(NamedTuple):
    """All pairs of positions and key values, by position; the pairs of a position begin at ``first``."""

    j: I64
    w: I64
    first: I64

    @staticmethod
    def of(keys: ScanKeys) -> Pairs:
        """From the possible key values."""
        plain = np.repeat(keys.plain, keys.domain)
        values = np.tile(np.arange(keys.domain, dtype=np.int64), len(keys.plain))
        j, w = np.concatenate((plain, keys.pair_j)), np.concatenate((values, keys.pair_w))
        order = np.argsort(j, kind="stable")
        j, w = j[order], w[order]
        return Pairs(j, w, np.flatnonzero(np.append(True, j[1:] != j[:-1])) if len(j) else j)


def listed(
    seeds: I64, owner: I64, query: I64, bounds: I64, own: int, right: int, limit: int, keys: ScanKeys,
    deadline: Deadline,
) -> tuple[I64, I64, I64]:  # fmt: skip
    """What :func:`scan_rows` writes for rows: the pairs (2, m), where each row ends, and whether it is complete."""
    pairs, step, found = Pairs.of(keys), max(1, BLOCK // (1 + int(keys.sizes.sum()))), []
    for at in range(0, len(seeds), step):
        deadline.check()
        rows = slice(at, at + step)
        mine = query[rows] if own else np.full(len(seeds[rows]), NONE)
        found.append(_block(seeds[rows], owner[rows], mine, bounds[:, rows], bool(right), limit, pairs))
    listed, sizes, complete = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
    return listed, offsets(sizes)[1:], complete


def _block(
    seeds: I64, own_j: I64, own_w: I64, bounds: I64, right: bool, limit: int, pairs: Pairs
) -> tuple[I64, I64, I64]:
    """The pairs of some rows, how many each row has, and which are complete."""
    s = _scored(seeds, own_j, own_w, bounds, pairs)
    floor_s, floor_j = _floors(s, own_j, right, pairs)
    row, at = np.nonzero((s >= floor_s[:, None]) & (s != NONE))
    j, w = np.append(pairs.j, 0)[at], np.append(pairs.w, 0)[at]
    mine = at == len(pairs.j)
    j[mine], w[mine] = own_j[row[mine]], own_w[row[mine]]
    found = s[row, at]
    kept = (found > floor_s[row]) | (j == floor_j[row]) | ((j > floor_j[row]) == right)
    row, j, w, found = row[kept], j[kept], w[kept], found[kept]
    order = np.lexsort((w, -j if right else j, -found, row))
    counts = np.bincount(row, minlength=len(seeds))
    if limit:
        order = order[np.arange(len(row)) - np.repeat(offsets(counts)[:-1], counts) < limit]
    complete = (floor_s != NONE) & ((counts <= limit) | (limit == 0))
    return np.stack((j[order], w[order])), np.minimum(counts, limit or counts), complete.astype(np.int64)


def _scored(seeds: I64, own_j: I64, own_w: I64, bounds: I64, pairs: Pairs) -> I64:
    """The scores of the pairs, a line for each row; last that of the row's own position."""
    low, high = bounds[0][:, None], bounds[1][:, None]
    shown = (own_w >= 0) & (bounds[0] <= own_j) & (own_j < bounds[1])
    own = np.where(shown, own_j, NONE)[:, None]
    scores = np.empty((len(seeds), len(pairs.j) + 1), np.int64)
    sizes = np.diff(np.append(pairs.first, len(pairs.j)))
    states = hashed(pairs.j[pairs.first] ^ seeds[:, None])
    scores[:, :-1] = scores_after(np.repeat(states, sizes, axis=1), pairs.w)
    scores[:, :-1][(pairs.j < low) | (pairs.j >= high) | (pairs.j == own)] = NONE
    scores[:, -1] = np.where(shown, hashed_scores(seeds, own_j, own_w), NONE)
    return scores


def _floors(s: I64, own_j: I64, right: bool, pairs: Pairs) -> tuple[I64, I64]:
    """The best of the positions' worst pairs, as score and position; no score where a row has no position."""
    starts = np.append(pairs.first, len(pairs.j))
    worst = np.minimum.reduceat(s, starts, axis=1)
    floor_s = worst.max(axis=1)
    best = worst == floor_s[:, None]
    places = np.append(pairs.j[pairs.first], 0)
    row, at = np.nonzero(best)
    j = np.where(at == len(pairs.first), own_j[row], places[at])
    floor_j = np.full(len(s), NONE if right else HALF)
    (np.maximum if right else np.minimum).at(floor_j, row, j)
    return floor_s, floor_j


def _least_of_best(s: I64, count: int) -> np.int64:
    """The least of the ``count`` best scores. Hashes are spread evenly over ``0 .. HALF``, so nearly always it is among
    those above a bar, and only these are put in order."""
    few = s[s >= int(HALF) - int(float(HALF) * min(1, (count + 4 * count**0.5 + 8) / len(s)))]
    best = few if len(few) >= count else s
    least: np.int64 = np.partition(best, len(best) - count)[len(best) - count]
    return least


def pairs_of_row(
    seed: int, span: tuple[int, int, int, int], right: bool, count: int, pairs: tuple[I64, I64, I64], start: int
) -> I64:
    """One hashed row: its pairs (3, m) with their scores, by position, down to the floor; with a ``count`` the best,
    at least so many. ``span``: the row sees ``low .. high - 1``, and at ``own_j`` only the key ``own_w`` (-1: none).
    ``pairs``: :meth:`restrict.rows.values.Values.pairs`, from position ``start`` on. Cost: a score for each pair."""
    low, high, own_j, own_w = span
    j, w, begin = pairs
    begin = begin[low - start : max(low, high) - start + 1]
    j, w, begin = j[begin[0] : begin[-1]], w[begin[0] : begin[-1]], begin - begin[0]
    states = hashed(np.arange(low, high) ^ seed)
    s, inside = np.empty(len(w), np.int64), own_w >= 0 and low <= own_j < high
    for block in (slice(at, at + BLOCK) for at in range(0, len(w), BLOCK)):
        s[block] = scores_after(states[j[block] - low], w[block])
    if inside:  # the first pair of the own position stands for its only one
        mine, after, w = int(begin[own_j - low]), int(begin[own_j - low + 1]), w.copy()
        w[mine], s[mine + 1 : after] = own_w, NONE
        s[mine] = scores_after(states[own_j - low : own_j - low + 1], w[mine : mine + 1])[0]
    kept, bar = s != NONE, len(s) - count
    if count and bar > 0:
        kept &= s >= _least_of_best(s, count)
    elif not count and len(s):
        worst = np.minimum.reduceat(s, begin[:-1])
        if inside:
            worst[own_j - low] = s[mine]
        floor_s = worst.max()
        best = np.flatnonzero(worst == floor_s)
        floor_j = low + int(best[-1 if right else 0])
        kept &= (s > floor_s) | ((s == floor_s) & (j >= floor_j if right else j <= floor_j))
    at = np.flatnonzero(kept)
    return np.stack((j[at], w[at], s[at]))
