"""Who k-depends on what: dependents of an activation, inputs of a pair, and the k-neighbour graph of Stage 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from restrict.base.arrays import I64, distinct, offsets, take_rows
from restrict.base.errors import UsageError
from restrict.base.options import Fact
from restrict.cover.local_lemma import sharing_graph
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.lemma.selection import Selection, reads, selection
from restrict.depth_reduction.options import THEOREM
from restrict.kernels.cover_bounds import neighbour_sums

if TYPE_CHECKING:
    import networkx as nx


MOST_POSITIONS: Fact[int] = 2000
"""The neighbour graph is built for at most this many positions."""


class Meetings:
    """The uncaptured heads and the activations that they select: while pairs are captured, dependents are counted again
    without sorting anew. ``owner``: pairs by head and activation; ``starts``: where a head's selections of one begin;
    ``activation``: which one it is."""

    def __init__(self, t: CTransformer, chosen: Selection) -> None:
        rows = np.flatnonzero(chosen.captured[chosen.owner] == 0)
        owner = chosen.owner[rows]
        codes = (chosen.head * t.n + chosen.position)[owner] * t.n + chosen.chosen[0, rows]
        order = np.argsort(codes)
        codes, self.owner, self.n = codes[order], owner[order], t.n
        self.starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
        self.activation = codes[self.starts] % t.n

    def dependents(self, captured: I64) -> I64:
        """How many uncaptured heads (i, h) k-depend on each layer-0 activation, where these pairs are captured (0 or 1
        for each): int64, (n,). Linear in the selections."""
        open_ = captured[self.owner] == 0
        found = np.logical_or.reduceat(open_, self.starts) if len(open_) else open_
        return np.bincount(self.activation[found], minlength=self.n)


def k_inputs(t: CTransformer, chosen: Selection) -> tuple[I64, I64, I64]:
    """The free inputs that each uncaptured head k-depends on: (heads as ``h n + i``, ascending, row pointers, inputs).
    Cost: the selections times their inputs."""
    key = _meetings(t, chosen, chosen.head * t.n + chosen.position)
    counts = np.bincount(key // t.n, minlength=1)
    heads = np.flatnonzero(counts)
    return heads, offsets(counts[heads]), key % t.n


def _meetings(t: CTransformer, chosen: Selection, name: I64) -> I64:
    """``name n + x`` for each uncaptured pair's name and each input x that it k-depends on; ascending, no repeats."""
    rows = np.flatnonzero(chosen.captured[chosen.owner] == 0)
    owner = chosen.owner[rows]
    found = [np.empty(0, np.int64)]
    for h in range(len(t.heads)):
        mine = chosen.head[owner] == h
        ptr, inputs = reads(t, h)
        j = chosen.chosen[0, rows[mine]]
        found.append(np.repeat(name[owner[mine]], np.diff(ptr)[j]) * t.n + inputs[take_rows(ptr, j)])
    return distinct(np.concatenate(found))


def pair_inputs(t: CTransformer, chosen: Selection) -> I64:
    """How many inputs each uncaptured pair k-depends on: at most c k. Result: int64, shape (pairs,); 0 for captured
    ones. Cost: the selections times their inputs."""
    found = _meetings(t, chosen, np.arange(chosen.pairs))
    return np.bincount(found // t.n, minlength=chosen.pairs).astype(np.int64)


def neighbours(t: CTransformer, chosen: Selection) -> dict[tuple[int, int], int]:
    """For each uncaptured head (i, h) the number of other uncaptured heads that k-depend on one of its inputs. Result:
    by (position, number of the head). Cost: every (head, input, head) that meet."""
    heads, degree, _ = _degrees(t, chosen, None)
    return {(int(a) % t.n, int(a) // t.n): int(d) for a, d in zip(heads, degree, strict=True)}


def most_neighbours(t: CTransformer, chosen: Selection) -> int | None:
    """The most k-neighbours of an uncaptured head; ``None`` for more than ``THEOREM.meetings`` meetings."""
    _, degree, counted = _degrees(t, chosen, THEOREM.meetings)
    return int(degree.max(initial=0)) if counted else None


def _degrees(t: CTransformer, chosen: Selection, limit: int | None) -> tuple[I64, I64, bool]:
    heads, ptr, inputs = k_inputs(t, chosen)
    degree = np.zeros(len(heads), np.int64)
    shared = np.bincount(inputs, minlength=t.n).astype(np.int64)
    if limit is not None and int((shared**2).sum()) > limit:
        return heads, degree, False
    owner = np.repeat(np.arange(len(heads)), np.diff(ptr))[np.argsort(inputs, kind="stable")]
    nothing = np.zeros(len(heads))
    neighbour_sums(ptr, inputs, offsets(shared), owner, nothing, nothing.copy(), degree)
    return heads, degree, True


def neighbour_graph(t: CTransformer, k: int) -> nx.Graph[tuple[int, int]]:
    """The k-neighbour graph of the uncaptured heads, for analysis; the engine counts on arrays. Result: a graph on
    (position, number of the head); an edge carries an ``input`` that both k-depend on."""
    if t.n > MOST_POSITIONS:
        raise UsageError(f"n = {t.n}: the neighbour graph is for n <= {MOST_POSITIONS}; neighbours() counts")
    heads, ptr, inputs = k_inputs(t, selection(t, k))
    return sharing_graph([(int(a) % t.n, int(a) // t.n) for a in heads], ptr, inputs)
