"""Evaluation of single nodes on one input, computing only what they read.

:func:`restrict.model.trace.run_batch` computes every variable everywhere, n^2 scores per head. The output at one
position usually reads few nodes: of a head, the query, then the keys of the best-scoring positions in order until no
other can win, then one value. This is not the abstract run. Everything is exact: it is the definition in
docs/format.md, read from the output backwards.
"""

from collections.abc import Generator, Sequence

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ResourceLimit
from restrict.model.program import Head, Instance, Map
from restrict.model.rules import evaluate
from restrict.model.trace import tokens_of

Node = tuple[str, int]
Steps = Generator[Node, int, int]
LIMIT = 2_000_000_000
"""Scores that the evaluation of one word may take."""
ROW = 1 << 26
"""Scores of one row, which are held in memory."""


class OnDemandRun:
    """Values on one input, computed on demand and remembered."""

    def __init__(self, instance: Instance, word: Sequence[int], limit: int = LIMIT) -> None:
        self.instance, self.left = instance, limit
        self.tokens = tokens_of(instance, np.array([word], dtype=np.int64).reshape(1, -1))[0]
        self.known: dict[Node, int] = {}

    def value(self, name: str, i: int) -> int:
        """The value of a node. Nodes that wait for others are on an explicit stack, since programs may be deep. ``i``:
        0 .. n-1. Gives 0 .. domain-1 (exact). Cost: the scores that it reads, each node once."""
        waiting: list[tuple[Node, Steps]] = []
        node, found = (name, i), self._ready(name, i)
        while found is None or waiting:
            if found is None:
                waiting.append((node, self._steps(*node)))
            steps = waiting[-1][1]
            try:
                node = next(steps) if found is None else steps.send(found)
                found = self._ready(*node)
            except StopIteration as done:
                found = self.known[waiting.pop()[0]] = int(done.value)
        return found

    def label(self, position: int) -> str:
        """The output's label at a position. ``position``: 0 .. n-1."""
        return self.instance.label(self.value(self.instance.model.output.variable, position))

    def _ready(self, name: str, i: int) -> int | None:
        if name == "position":
            return i
        return int(self.tokens[i]) if name == "token" else self.known.get((name, i))

    def _steps(self, name: str, i: int) -> Steps:
        """Asks for the nodes it needs, one at a time, and returns its value."""
        variable = self.instance.model.by_name[name]
        if isinstance(variable, Map):
            values = []
            for arg in variable.args:
                value = yield arg, i
                values.append([value])
            return int(self.instance.map_values(variable, i, values).item())
        winner = yield from self._winner(variable, i)
        return variable.default if winner < 0 else (yield variable.value, winner)

    def _winner(self, head: Head, i: int) -> Steps:
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return -1
        query, key = self.instance.query(head), self.instance.key(head)
        u = (yield query, i) if query else 0
        js = np.arange(first, stop, dtype=np.int64)
        if key in (None, "token", "position"):
            keys = js if key == "position" else self.tokens[first:stop] if key else np.zeros_like(js)
            scores = self._scores(head, i, u, js, np.ascontiguousarray(keys))
            return int(first + (len(js) - 1 - np.argmax(scores[::-1]) if head.ties == "right" else np.argmax(scores)))
        domain = self.instance.domains[key]
        every = np.tile(np.arange(domain, dtype=np.int64), len(js)) if len(js) * domain <= ROW else js[:0]
        table = self._scores(head, i, u, np.repeat(js, domain if len(every) else 1), every).reshape(-1, domain)
        return (yield from self._descend(table, js, key, head.ties == "right"))

    def _scores(self, head: Head, i: int, u: int, js: I64, keys: I64) -> I64:
        self.left -= len(js)
        if self.left < 0 or len(js) > ROW or len(js) != len(keys):
            raise ResourceLimit(f"the row of {head.name!r} at {i} is too long to evaluate")
        return evaluate(self.instance.row(head, i, u), {"j": js, "k": keys}, len(js))

    def _descend(self, table: I64, js: I64, key: str, right: bool) -> Steps:
        """Positions by the best score that they might have; stops when the best score found is out of reach."""
        bound = table.max(axis=1)
        best: tuple[int, int] | None = None
        for t in np.lexsort((-js if right else js, ~bound)).tolist():
            j = int(js[t])
            rank = -j if not right else j
            if best is not None and (int(bound[t]), rank) < best:
                break
            w = yield key, j
            if best is None or (int(table[t, w]), rank) > best:
                best = (int(table[t, w]), rank)
        assert best is not None
        return best[1] if right else -best[1]
