"""The lists of hashed rows with numpy, for runs too small for :func:`restrict.kernels.scan_lists.scan_rows` to be
compiled: all pairs of a row are scored at once. Tests compare the two."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import I64, offsets
from restrict.base.deadline import Deadline
from restrict.kernels.machine import HALF, hashed, scores_after
from restrict.kernels.scan_lists import ScanKeys
from restrict.rows.options import ROWS

NONE = np.int64(-1)
"""The score of a pair that a row does not have."""


def listed(
    seeds: I64, owner: I64, query: I64, bounds: I64, own: int, right: int, limit: int, keys: ScanKeys,
    deadline: Deadline,
) -> tuple[I64, I64, I64]:  # fmt: skip
    """What :func:`scan_rows` writes for rows: the pairs (2, m), where each row ends, and whether it is complete."""
    j = np.concatenate((np.repeat(keys.plain, keys.domain), keys.pair_j))
    w = np.concatenate((np.tile(np.arange(keys.domain), len(keys.plain)), keys.pair_w))
    order, found, complete = np.argsort(j, kind="stable"), [], np.zeros(len(seeds), np.int64)
    pairs, own_w = (j[order], w[order], offsets(keys.sizes)), query if own else np.full(len(seeds), -1)
    spans = zip(*bounds.tolist(), owner.tolist(), own_w.tolist(), strict=True)
    for r, (seed, span) in enumerate(zip(seeds.tolist(), spans, strict=True)):
        deadline.check()
        j, w, s = pairs_of_row(seed, span, bool(right), 0, pairs, 0)
        order = np.lexsort((w, -j if right else j, -s))
        complete[r] = len(order) > 0 and (not limit or len(order) <= limit)
        found.append(np.stack((j, w))[:, order[: limit or None]])
    return np.concatenate(found, axis=1), offsets([part.shape[1] for part in found])[1:], complete


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
    for block in (slice(at, at + ROWS.plain_block) for at in range(0, len(w), ROWS.plain_block)):
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
