"""Who k-depends on what: dependents of an activation, inputs of a pair, and the k-neighbour graph of Stage 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from restrict.arrays import I64
from restrict.depth_reduction.ctransformer import CTransformer
from restrict.depth_reduction.selection import Selection, selection
from restrict.errors import UsageError
from restrict.kernels import cover as cover_kernels
from restrict.kernels import lemma as kernels

if TYPE_CHECKING:
    import networkx as nx


def dependents(t: CTransformer, chosen: Selection, target: int = -1) -> tuple[I64, I64]:
    """(n,): how many uncaptured heads (i, h) k-depend on each layer-0 activation; and how often each value is the
    maximiser of the activation ``target``."""
    domain = max((t.base[k].values.domain for h in t.heads if (k := t.instance.key(h)) is not None), default=1)
    counts, last, values = np.zeros(t.n, np.int64), np.zeros(t.n, np.int64), np.zeros(domain, np.int64)
    head_of = chosen.head * t.n + chosen.position
    kernels.dependents(chosen.ends, chosen.chosen, chosen.captured, head_of, counts, last, values, target)
    return counts, values


def k_inputs(t: CTransformer, chosen: Selection) -> tuple[I64, I64, I64]:
    """(heads, pointers, inputs): the free inputs that each uncaptured head, as ``h n + i``, k-depends on."""
    rows = np.flatnonzero(chosen.captured[chosen.owner] == 0)
    owner = chosen.owner[rows]
    head_of = chosen.head[owner] * t.n + chosen.position[owner]
    parts = [_inputs_of(t, int(h)) for h in range(len(t.heads))]
    keys = [np.empty(0, np.int64)]
    for h, (ptr, inputs) in enumerate(parts):
        mine = chosen.head[owner] == h
        j, who = chosen.chosen[0, rows[mine]], head_of[mine]
        sizes = ptr[j + 1] - ptr[j]
        at = np.repeat(ptr[j] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) + np.arange(int(sizes.sum()))
        keys.append(np.repeat(who, sizes) * t.n + inputs[at])
    key = np.unique(np.concatenate(keys))
    heads, counts = np.unique(key // t.n, return_counts=True)
    return heads, np.concatenate(([0], np.cumsum(counts))), key % t.n


def _inputs_of(t: CTransformer, h: int) -> tuple[I64, I64]:
    """(pointers, inputs) of the layer-0 activations as head ``h`` reads them, by position."""
    head = t.heads[h]
    key = t.instance.key(head)
    bits = t.base[head.value].depends if key is None else t.base[key].depends | t.base[head.value].depends
    where: list[I64] = []
    counts = np.zeros(t.n, np.int64)
    step = max(1, (1 << 24) // max(1, t.n))
    for first in range(0, t.n, step):
        block = np.unpackbits(
            np.ascontiguousarray(bits[first : first + step]).view(np.uint8), axis=1, bitorder="little"
        )
        rows, columns = np.nonzero(block)
        counts[first : first + step] = np.bincount(rows, minlength=len(block))
        where.append(columns)
    return np.concatenate(([0], np.cumsum(counts))), np.concatenate(where)


def pair_inputs(t: CTransformer, chosen: Selection) -> I64:
    """How many inputs each uncaptured pair k-depends on: at most c k."""
    sizes = np.zeros(chosen.pairs, np.int64)
    union = {h: _inputs_of(t, h) for h in range(len(t.heads))} if chosen.uncaptured else {}
    for p in np.flatnonzero(chosen.captured == 0):
        ptr, inputs = union[int(chosen.head[p])]
        parts = [inputs[ptr[j] : ptr[j + 1]] for j, _ in chosen.of(int(p))]
        sizes[p] = len(np.unique(np.concatenate(parts))) if parts else 0
    return sizes


def neighbours(t: CTransformer, chosen: Selection) -> dict[tuple[int, int], int]:
    """For each uncaptured head (i, h) the number of other uncaptured heads that k-depend on one of its inputs."""
    heads, ptr, inputs = k_inputs(t, chosen)
    owner = np.repeat(np.arange(len(heads)), np.diff(ptr))
    order = np.argsort(inputs, kind="stable")
    input_ptr = np.searchsorted(inputs[order], np.arange(t.n + 1))
    sums, degree = np.zeros(len(heads)), np.zeros(len(heads), np.int64)
    cover_kernels.neighbour_sums(ptr, inputs, input_ptr, owner[order], np.zeros(len(heads)), sums, degree)
    return {(int(a) % t.n, int(a) // t.n): int(d) for a, d in zip(heads, degree, strict=True)}


def neighbour_graph(t: CTransformer, k: int) -> nx.Graph[tuple[int, int]]:
    """The k-neighbour graph of the uncaptured heads (i, h) as a networkx graph; an edge carries a shared ``input``.

    Raises :class:`UsageError` for more than 2000 positions: the graph has up to (n H)^2 edges.
    """
    import networkx as nx

    if t.n > 2000:
        raise UsageError(f"n = {t.n}: the neighbour graph is for n <= 2000; neighbours() counts without building it")
    heads, ptr, inputs = k_inputs(t, selection(t, k))
    graph: nx.Graph[tuple[int, int]] = nx.Graph()
    names = [(int(a) % t.n, int(a) // t.n) for a in heads]
    graph.add_nodes_from(names)
    by_input: dict[int, list[int]] = {}
    for a in range(len(heads)):
        for x in inputs[ptr[a] : ptr[a + 1]]:
            by_input.setdefault(int(x), []).append(a)
    for x, sharing in by_input.items():
        graph.add_edges_from(
            (names[a], names[b], {"input": x}) for at, a in enumerate(sharing) for b in sharing[at + 1 :]
        )
    return graph
