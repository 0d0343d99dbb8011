"""What a graph can be made to remember of a word: complete automata, whose product with the graph tells its words apart
(Theorem 7 of docs/soft-verdicts.md). Which one is taken is a hint."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from restrict.soft.trained.graph import Graph
from restrict.soft.trained.options import OPTIONS

SEEN = "what the second layer sees"
"""The memory that is made for a model."""
LAST = ("the symbol before the last", "the three symbols before the last")
"""Two layers: what a graph is made to remember before a memory is made for the model."""
Memory = tuple[str, list[list[int]]]


def memories(symbols: int) -> Iterator[Memory]:
    """What a graph can be made to remember, in the order of the trials: names, complete transitions."""
    yield LAST[0], [list(range(1, symbols + 1))] * (symbols + 1)
    for s in range(symbols):
        yield f"whether symbol {s + 1} was seen", [[int(t == s) for t in range(symbols)], [1] * symbols]
    if symbols <= 5:
        yield "the symbols seen", [[r | 1 << s for s in range(symbols)] for r in range(1 << symbols)]
    run = OPTIONS.run
    runs = [[1 + s * run for s in range(symbols)]]
    for s in range(symbols):
        runs += [[1 + t * run + (min(k + 1, run - 1) if t == s else 0) for t in range(symbols)] for k in range(run)]
    yield f"the last run up to {run}", runs
    if symbols <= 4:
        yield LAST[1], _suffixes(symbols, 4)


def singles(graph: Graph, last: int, most: int = 0) -> list[list[int]] | None:
    """The automaton that knows every prefix of at most ``last`` symbols, and of longer ones nothing; ``None`` where
    these are more than ``most``, or the option ``single`` if that is more."""
    nodes, table = [(0, 0)], list[list[int]]()
    for q, length in nodes:
        after = [t if length < last else -1 for t in graph.delta[q]]
        table.append([-1 if t < 0 else len(nodes) + sum(u >= 0 for u in after[:s]) for s, t in enumerate(after)])
        nodes += [(t, length + 1) for t in after if t >= 0]
        if len(nodes) > max(OPTIONS.single, most):
            return None
    return [[to if to >= 0 else len(nodes) for to in row] for row in [*table, [-1] * len(graph.delta[0])]]


def beginnings(graph: Graph) -> tuple[int, list[list[int]]]:
    """The automaton of :func:`singles` for the greatest length that it can be made for, and this length."""
    last, found = 0, [[1] * len(graph.delta[0])] * 2
    while (table := singles(graph, last + 1)) is not None and len(table) > len(found):
        last, found = last + 1, table
    return last, found


def _suffixes(symbols: int, most: int) -> list[list[int]]:
    """The automaton of the last ``most`` symbols."""
    words = [word for length in range(most + 1) for word in product(range(symbols), repeat=length)]
    number = {word: place for place, word in enumerate(words)}
    return [[number[(*word, s)[-most:]] for s in range(symbols)] for word in words]
