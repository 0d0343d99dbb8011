"""Rankings and greedy selections of Stage 2 (Hahn 2020, Lemma 4; repaired in docs/errata.md).

For each pair (head (i, h), query value z) the positions are ranked by the greatest score that they can reach. Walking
down, a position is *selected* iff it has a free input that no earlier selected one has, up to k times: every skipped
position is then covered by the selected ones, so the pair depends on at most c k inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restrict.arrays import I64, offsets
from restrict.depth_reduction.ctransformer import CTransformer
from restrict.depth_reduction.parameters import check_parameters
from restrict.kernels import lemma as kernels


@dataclass(frozen=True, eq=False)
class Selection:
    """The greedy selections of all pairs of a layer, in order of head, position and query value.

    Pair ``p`` is head ``head[p]`` at ``position[p]`` with query value ``query[p]``; it selects the positions
    ``chosen[0]`` with the maximising key values ``chosen[1]``, columns ``ends[p-1] .. ends[p]``; ``captured[p]`` as in
    :func:`restrict.depth_reduction.stage2.stage2`.
    """

    k: int
    head: I64
    position: I64
    query: I64
    ends: I64
    chosen: I64
    captured: I64

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self.head)

    @property
    def uncaptured(self) -> int:
        """How many are not captured."""
        return int(self.pairs - np.count_nonzero(self.captured))

    def of(self, p: int) -> list[tuple[int, int]]:
        """The (position, maximiser) that a pair selects, best first."""
        part = self.chosen[:, (self.ends[p - 1] if p else 0) : self.ends[p]]
        return [(int(j), int(w)) for j, w in part.T]

    @property
    def owner(self) -> I64:
        """The pair of each selected position."""
        return np.repeat(np.arange(self.pairs), np.diff(self.ends, prepend=0))


def selection(t: CTransformer, k: int) -> Selection:
    """Rank the positions of every pair by the greatest score that they can reach, and select up to ``k`` of each.

    A position's inputs are those of the head's key and value there. Cost: one score per pair, position and key value.

    Raises :class:`UsageError` for k < 1.
    """
    check_parameters(k=k)
    parts = [_select(t, h, k) for h in range(len(t.heads))]
    if not parts:
        none = np.empty(0, np.int64)
        return Selection(k, none, none, none, none, np.empty((2, 0), np.int64), none)
    starts = offsets([p.chosen.shape[1] for p in parts])
    return Selection(
        k, np.concatenate([p.head for p in parts]), np.concatenate([p.position for p in parts]),
        np.concatenate([p.query for p in parts]),
        np.concatenate([p.ends + start for p, start in zip(parts, starts[:-1], strict=True)]),
        np.concatenate([p.chosen for p in parts], axis=1), np.concatenate([p.captured for p in parts]),
    )  # fmt: skip


def _select(t: CTransformer, h: int, k: int) -> Selection:
    head = t.heads[h]
    key = t.instance.key(head)
    depends = t.base[head.value].depends if key is None else t.base[key].depends | t.base[head.value].depends
    limit = max(64, 8 * k) if t.n > 500 else 0
    while True:
        lists = t.lists(head, limit)
        rows = lists.rows
        ends, state = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        chosen = np.empty((2, rows * min(k, t.n)), np.int64)
        kernels.select(
            lists.row_list, lists.start, lists.stop, lists.j, lists.w, lists.complete, depends, k, ends, chosen, state
        )
        if not np.any(state == 2):
            break
        limit = 4 * limit if 4 * limit < t.n else 0
    used = int(ends[-1]) if rows else 0
    return Selection(
        k, np.full(rows, h), lists.row_i, lists.row_u, ends, chosen[:, :used].copy(), (state == 1).astype(np.int64)
    )
