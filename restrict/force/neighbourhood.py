"""Which part of an answer is freed and solved again: the neighbourhoods of large-neighbourhood search.

An answer is a restriction with the cone that shows its claim and, for every node of it, the nodes that it reads. Two
parts are of use:

- what a few random nodes rest on, or a random share of the tokens; the output's goal is then met again;
- in a wide model, what the output rests on through **one node only**. Then only that node's goal, to keep the values
  that it has, is met again, with fewer tokens. The output of a wide model takes a hundred tokens, of which a node takes
  ten. A new way to force the whole output that keeps the tokens of the other nodes is very rare; a new way to force the
  one node is not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from restrict.force.state import Node

Reads = Mapping[Node, frozenset[Node]]
Cone = Mapping[str, tuple[int, ...]]


def tokens_below(node: Node, cone: Cone, reads: Reads, but: Node | None = None) -> set[int]:
    """The positions of the tokens on which a node rests. ``node``: where to start."""
    stack, seen, tokens = [node], {node, but}, set[int]()
    while stack:
        name, i = stack.pop()
        if name == "token":
            tokens.add(i)
        for source in reads.get((name, i), ()):
            if source not in seen and (source[0] == "token" or source[1] in cone.get(source[0], ())):
                seen.add(source)
                stack.append(source)
    return tokens


def tokens_alone(
    target: Node, fixed: Mapping[int, int], cone: Cone, reads: Reads, least: int
) -> list[tuple[Node, set[int]]]:
    """The nodes for which alone several tokens are fixed. Cost: a walk over the cone for each."""
    found = []
    for node in ((name, i) for name, positions in cone.items() for i in positions):
        own = set(fixed).difference(tokens_below(target, cone, reads, but=node)) if node != target else set[int]()
        if len(own) >= least:
            found.append((node, own))
    return found


def some_tokens(fixed: Mapping[int, int], cone: Cone, reads: Reads, rng: np.random.Generator) -> dict[int, int]:
    """A restriction of which a random part is freed."""
    if rng.random() < 0.5:
        share = float(rng.choice([0.05, 0.1, 0.3]))
        return {i: a for i, a in fixed.items() if rng.random() > share}
    nodes = [(name, i) for name, positions in cone.items() for i in positions]
    drop: set[int] = set()
    wanted = max(1, int(len(fixed) * float(rng.choice([0.03, 0.1, 0.3]))))
    for t in rng.permutation(len(nodes)).tolist():
        drop |= tokens_below(nodes[t], cone, reads)
        if len(drop) >= wanted:
            break
    return {i: a for i, a in fixed.items() if i not in drop}
