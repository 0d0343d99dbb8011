"""The parts of an answer that are freed and solved again."""

import networkx as nx
import numpy as np

from restrict.force.neighbourhood import some_tokens, tokens_alone, tokens_below
from restrict.force.state import Node

Reads = dict[Node, frozenset[Node]]


def random_cone(rng: np.random.Generator) -> tuple[dict[str, tuple[int, ...]], Reads, dict[int, int]]:
    """Nodes in three layers above eight tokens, each reading some of those below; one node of a layer is left out."""
    cone = {name: tuple(sorted(rng.permutation(4)[:3].tolist())) for name in ("a", "b")} | {"out": (0,)}
    below: list[Node] = [("token", i) for i in range(8)]
    reads: Reads = {}
    for name in cone:
        for i in cone[name]:
            some = rng.permutation(len(below))[: 2 if name == "a" else 3]
            reads[name, i] = frozenset(below[t] for t in some.tolist())
        below = [*below, *((name, i) for i in range(4))]
    return cone, reads, {int(i): 0 for i in rng.permutation(8)[:7]}


def test_what_rests_on_one_node_alone() -> None:
    """Against paths of the graph with and without the node."""
    rng, several = np.random.default_rng(2), 0
    for _ in range(200):
        cone, reads, fixed = random_cone(rng)
        graph = nx.DiGraph()
        graph.add_nodes_from(reads)
        graph.add_edges_from((a, b) for a, to in reads.items() for b in to if b in reads or b[0] == "token")
        expected = []
        for node in (n for n in reads if n != ("out", 0)):
            left = nx.restricted_view(graph, [node], [])
            kept = {i for name, i in nx.descendants(left, ("out", 0)) if name == "token"}
            if len(own := set(fixed) - kept) >= 2:
                expected.append((node, own))
        found = tokens_alone(("out", 0), fixed, cone, reads, 2)
        assert found == expected
        several += len(found) > 1
    assert several > 50


def test_a_part_is_freed_and_the_rest_stays() -> None:
    rng = np.random.default_rng(3)
    cone, reads, fixed = random_cone(rng)
    kept = [some_tokens(fixed, cone, reads, rng) for _ in range(50)]
    assert all(rest.items() <= fixed.items() for rest in kept)
    assert len({tuple(rest) for rest in kept}) > 5
    assert tokens_below(("out", 0), cone, reads, but=None) == tokens_below(("out", 0), cone, reads)
