"""What a language is worth: four ways to bound attention, on the same cases, with the same path to the logits.

    python scripts/bench_soft_peers.py tests/corpus/trained -n 8,30,100

For every case at position n (symbol, state) of the trained checkpoints in a folder, the box of attention's outputs is
computed (a) by interval softmax: an interval for each weight; (b) exactly over boxes of scores and of values; (c) with
scores and values coupled, any symbol that the case allows at each position; (d) over the words of the automaton. Then
the signs of all labels are decided from the box by affine forms and at most 40 cells; (d) alone has own directions. The
table has the median radius of the widest coordinate, the cases decided, and seconds for all cases together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import checkpoints, head, of_checkpoints, show, written

from restrict.soft.trained.directions import Key
from restrict.soft.trained.graph import Graph, graph_of, task_language
from restrict.soft.trained.model import load
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Case, Open, Search

CELLS, ROUNDS = 40, 60
WAYS = ("interval softmax", "boxes of scores and values", "coupled", "automaton")


def allowed(graph: Graph, key: Key) -> Array:
    """Which symbols stand at which position in words of a case: shape (i + 1, symbols), the start token in column 0."""
    i, a, q = key
    found = np.zeros((i + 1, len(graph.delta[0])), dtype=bool)
    found[0, 0] = True
    ahead, ends = graph.reached(i), {q}
    for j in range(i, 0, -1):
        steps = [(p, s) for p in ahead[j - 1] for s, t in enumerate(graph.delta[p]) if t in ends and (j < i or s == a)]
        for _, s in steps:
            found[j, s] = True
        ends = {p for p, _ in steps}
    return found


def interval(e: Array, v: Array, may: Array) -> float:
    """The greatest average where each weight has an interval of its own."""
    low, high = np.where(may, e, np.inf).min(1), np.where(may, e, 0).max(1)
    share = (low / (low + high.sum() - high), high / (high + low.sum() - low))
    top = np.where(may, v, -np.inf).max(1)
    return float(np.maximum(share[0] * top, share[1] * top).sum())


def boxes(e: Array, v: Array, may: Array) -> float:
    """The greatest average where scores and values have boxes."""
    low, high = np.where(may, e, np.inf).min(1), np.where(may, e, 0).max(1)
    top = np.where(may, v, -np.inf).max(1)
    best = -np.inf
    for _ in range(ROUNDS):
        weights = np.where(top > best, high, low)
        ratio = float((weights * top).sum() / weights.sum())
        if ratio <= best:
            break
        best = ratio
    return best


def coupled(e: Array, v: Array, may: Array) -> float:
    """The greatest average where each position has any of its symbols."""
    best, rows = -1e30, np.arange(len(e))
    for _ in range(ROUNDS):
        pick = np.where(may, e * (v - best), -np.inf).argmax(1)
        ratio = float((e[rows, pick] * v[rows, pick]).sum() / e[rows, pick].sum())
        if ratio <= best:
            break
        best = ratio
    return best


class Peer(Search):
    """The search with another way to the box, and without own directions."""

    way: Callable[[Array, Array, Array], float]

    def box(self, key: Key) -> tuple[Array, Array]:
        """The range of every coordinate."""
        self.weigh(key[0], key[1])
        may, tops, lows = allowed(self.graph, key), [np.zeros(0)], [np.zeros(0)]
        for h, basis in enumerate(self.atoms.bases):
            at = basis.at[:, : key[0] + 1]
            tops.append(np.array([self.way(self.weights[h], row, may) for row in at]))
            lows.append(np.array([-self.way(self.weights[h], -row, may) for row in at]))
        return np.concatenate(tops), np.concatenate(lows)

    def own(self, key: Key, low: Array, high: Array, least: float, line: Array) -> float:
        """None: it would need the automaton."""
        return -np.inf

    def case(self, key: Key) -> Case | Open:
        """In the coordinates of all values."""
        return self.attempt(key)


class Ours(Search):
    """The search, in the coordinates of all values."""

    def case(self, key: Key) -> Case | Open:
        """In the coordinates of all values."""
        return self.attempt(key)


def measured(search: Search, keys: list[Key]) -> tuple[float, int, float]:
    """Median radius, cases decided, seconds."""
    begin = time.process_time()
    radius = [float(((high - low) / 2).max()) for high, low in map(search.box, keys)]
    decided = sum(isinstance(search.case(key), Case) for key in keys)
    return float(np.median(radius)), decided, time.process_time() - begin


def searches(path: Path, n: int) -> tuple[Graph, list[Search]]:
    """One search for each way."""
    model = load(path)
    graph = graph_of(model, task_language(model))
    found: list[Search] = []
    for way in (interval, boxes, coupled):
        peer = Peer(model, graph, n)
        peer.way = way
        found.append(peer)
    return graph, [*found, Ours(model, graph, n)]


def main() -> None:
    """Print the table."""
    options, table = of_checkpoints(__doc__, "8,30,100").parse_args(), []
    OPTIONS.cells = CELLS
    print("ways: " + ", ".join(WAYS))
    print(head(("model", "n", "cases", "radius", "decided", "seconds")), flush=True)
    for path in (path for path in checkpoints(options) if len(load(path).layers) == 1):
        for n in options.n:
            graph, ways = searches(path, n)
            keys = [key for key in graph.cases(n + len(graph.delta)) if key[0] == n]
            ways[-1].case(keys[0])  # kernels are compiled before the clock runs
            rows = [measured(search, keys) for search in ways]
            cells = (" / ".join(f"{x:.2g}" for x, _, _ in rows), " / ".join(str(x) for _, x, _ in rows),
                     " / ".join(f"{x:.1f}" for _, _, x in rows))  # fmt: skip
            table.append((path.name.removesuffix(".safetensors"), n, len(keys), *cells))
            show(table[-1])
    written(options.output, table)


if __name__ == "__main__":
    main()
