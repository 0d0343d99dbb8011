"""Rankings and greedy selections of Stage 2 (Hahn 2020, Lemma 4; repaired in docs/errata.md).

For each pair (head (i, h), query value z) the positions are ranked by the greatest score that they can reach. Walking
down, a position is *selected* iff it has a free input that no earlier selected one has, up to k times: every skipped
position is then covered by the selected ones, so the pair depends on at most c k inputs.

A ranking is scored once: when more inputs are fixed its lists are walked again (:meth:`Ranking.under`), and the
selections for a smaller k are the first ones of those for a larger k (:meth:`Selection.first`).
"""

from dataclasses import dataclass, replace

import numpy as np

from restrict.base.arrays import I64, offsets, take_rows
from restrict.depth_reduction.c_transformer.activations import inputs_given
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.lemma.parameters import check_parameters
from restrict.kernels import lemma
from restrict.rows.lists import Lists

OPEN, CAPTURED, CUT_OFF = range(3)
"""How the walk down a list ended: after the k-th selection, at its floor before that, or where it was truncated."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The greedy selections of all pairs of a layer, in order of head, position and query value. ``k``: the most
    selections of a pair. ``head``: the number of the head in ``t.heads``, per pair. ``position``: the head's position,
    per pair. ``query``: the query value, per pair. ``ends``: pair ``p`` selects the columns ``ends[p-1] .. ends[p]`` of
    ``chosen``. ``chosen``: the selected positions, and the key values that maximise the score there, shape (2,
    columns). ``captured``: 1 where the ranking ends before the k-th selection
    (:mod:`restrict.depth_reduction.lemma.stage2`)."""

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
        """The pair of each selected position, shape (columns,)."""
        return np.repeat(np.arange(self.pairs), np.diff(self.ends, prepend=0))

    def first(self, k: int) -> "Selection":
        """The selections for a smaller k: the first ones of each pair. ``k``: at least 1, at most the present one.
        Result: the selection. A pair is captured where its ranking ends with at most k selections, so that all of its
        candidates are covered by them. Cost linear."""
        check_parameters(k=k)
        if k >= self.k:
            return self
        starts = offsets(np.diff(self.ends, prepend=0))
        sizes = np.minimum(np.diff(starts), k)
        kept = take_rows(offsets(sizes), np.arange(self.pairs)) + np.repeat(starts[:-1] - offsets(sizes)[:-1], sizes)
        captured = self.captured * (np.diff(starts) <= k)
        return replace(self, k=k, ends=np.cumsum(sizes), chosen=self.chosen[:, kept], captured=captured)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The positions of every pair, best first, as the candidate ``lists`` of each head of layer 1, at most ``limit``
    pairs of a list (0: all down to the floor)."""

    lists: tuple[Lists, ...]
    limit: int

    def under(self, t: CTransformer) -> "Ranking":
        """The ranking under a refinement of the restriction; no score is computed. Cost: the pairs kept."""
        found = (lists.under(*t.read(head)) for head, lists in zip(t.heads, self.lists, strict=True))
        return Ranking(tuple(found), self.limit)

    def select(self, t: CTransformer, k: int) -> Selection | None:
        """Up to ``k`` (at least 1, else ``UsageError``) positions of each pair of the ranked transformer; ``None``
        where a list was truncated before its k-th selection. Cost: n / 64 words per pair passed."""
        check_parameters(k=k)
        parts = [part for h, lists in enumerate(self.lists) if (part := _select(t, h, lists, k)) is not None]
        return _joined(k, parts) if len(parts) == len(self.lists) else None


def selection(t: CTransformer, k: int) -> Selection:
    """Rank the positions of every pair by the greatest score that they can reach, and select up to ``k`` of each.

    A position's inputs are those of the head's key and value there. Result: the selections of all pairs of layer 1.
    Cost: one score per pair, position and key value."""
    return ranked(t, k)[1]


def ranked(t: CTransformer, k: int) -> tuple[Ranking, Selection]:
    """:func:`selection`, with its ranking, long enough for k selections of each pair; its errors. ``ResourceLimit``:
    too many pairs in all."""
    check_parameters(k=k)
    widest = max((int(t.base[key].sizes.max()) for head in t.heads if (key := t.instance.key(head))), default=1)
    limit = max(64, widest * (k + 8)) if t.n > 500 else 0
    while True:
        ranking = Ranking(tuple(t.lists(head, limit) for head in t.heads), limit)
        found = ranking.select(t, k)
        if found is not None:
            return ranking, found
        limit = 4 * limit if 4 * limit < t.n else 0


def _joined(k: int, parts: list[Selection]) -> Selection:
    """The selections of all heads, one after the other."""
    none = np.empty(0, np.int64)
    parts = [Selection(k, none, none, none, none, np.empty((2, 0), np.int64), none), *parts]
    starts = offsets([p.chosen.shape[1] for p in parts])
    head, position, query = (np.concatenate([getattr(p, n) for p in parts]) for n in ("head", "position", "query"))
    ends = np.concatenate([p.ends + start for p, start in zip(parts, starts[:-1], strict=True)])
    chosen, captured = np.concatenate([p.chosen for p in parts], axis=1), np.concatenate([p.captured for p in parts])
    return Selection(k, head, position, query, ends, chosen, captured)


def reads(t: CTransformer, h: int) -> tuple[I64, I64]:
    """The inputs of the layer-0 activations as head number ``h`` of ``t.heads`` reads them, those of its key and value:
    (row pointers, inputs), a row per position, ascending. Cost: the inputs, and n^2 / 64 where they are many."""
    return inputs_given(t.instance, t.heads[h], t.base).listed


def _select(t: CTransformer, h: int, lists: Lists, k: int) -> Selection | None:
    """The selections of one head; ``None`` where a list is too short."""
    ends, state = np.zeros(lists.rows, np.int64), np.zeros(lists.rows, np.int64)
    chosen = np.empty((2, lists.rows * min(k, t.n)), np.int64)
    ranked = lemma.Ranked(lists.row_list, lists.start, lists.stop, lists.j, lists.w, lists.complete)
    lemma.select(ranked, *reads(t, h), k, ends, chosen, state)
    if np.any(state == CUT_OFF):
        return None
    used = int(ends[-1]) if lists.rows else 0
    captured = (state == CAPTURED).astype(np.int64)
    return Selection(k, np.full(lists.rows, h), lists.row_i, lists.row_u, ends, chosen[:, :used].copy(), captured)
