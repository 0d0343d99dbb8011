"""Deletion: free every fixed position without which the abstract run still establishes the claim. Only nodes that read
something that changed are examined again, in program order, so one trial costs a few walks (the result is minimal under
deletion with respect to the cone, which grows no further here)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

from restrict.force.state import ForcingState, Node

Symbols = TypeVar("Symbols")


def shrink(
    test: Callable[[dict[int, Symbols]], dict[int, Symbols] | None], cube: dict[int, Symbols], order: Iterable[int]
) -> dict[int, Symbols]:
    """A subset-minimal part that passes a monotone test; ``cube`` passes. ``test``: gives a part of what it is given
    that passes, or ``None``; a larger cube passes where a smaller one does. Cost: a test for each position."""
    for i in order:
        if i in cube and (rest := test({j: a for j, a in cube.items() if j != i})) is not None:
            cube = rest
    return cube


class Minimiser:
    """Keeps the target's cone of a solved :class:`ForcingState`; ``holds``: whether the claim is still established."""

    def __init__(self, state: ForcingState, target: Node, holds: Callable[[], bool], fresh: bool = False) -> None:
        self.state, self.holds = state, holds
        self.users: dict[Node, set[Node]] = {}
        for node in () if fresh else sorted(state.facts, key=self._rank):
            state.examine(state.instance.model.by_name[node[0]], node[1])
        cone = needed_cone(state, target)
        state.facts = {(name, i): state.facts[name, i] for name, positions in cone.items() for i in positions}
        for node in sorted(state.facts, key=self._rank):
            self._examine(node)

    def _rank(self, node: Node) -> tuple[int, int]:
        return self.state.order[node[0]], node[1]

    def _examine(self, node: Node) -> bool:
        """Examine again; whether V changed."""
        before = self.state.facts[node]
        after = self.state.examine(self.state.instance.model.by_name[node[0]], node[1])
        for source in self.state.reads[node]:
            self.users.setdefault(source, set()).add(node)
        return after != before

    def propagate(self, sources: Iterable[Node]) -> None:
        """Examine again whatever reads a changed node, in program order."""
        queue: list[tuple[tuple[int, int], Node]] = []
        queued: set[Node] = set()

        def push(source: Node) -> None:
            for node in self.users.get(source, ()):
                if node not in queued:
                    queued.add(node)
                    heapq.heappush(queue, (self._rank(node), node))

        for source in sources:
            push(source)
        while queue:
            _, node = heapq.heappop(queue)
            queued.discard(node)
            if self._examine(node):
                push(node)

    def release(self, i: int) -> bool:
        """Free position ``i`` if the claim then still holds; returns whether it does."""
        state, mark = self.state, len(self.state.trail)
        symbol = state.tokens.pop(i)
        self.propagate([("token", i)])
        if self.holds():
            return True
        state.undo(mark)
        state.tokens[i] = symbol
        return False

    def minimise(self, order: Iterable[int]) -> None:
        """Try every position once, in the given order. Afterwards the trail cannot be used any more."""
        for i in order:
            self.release(i)
        self.state.trail.clear()
        for node in sorted(self.state.facts, key=self._rank):
            self._examine(node)  # a refused trial has left notes of what it read


def needed_cone(state: ForcingState, target: Node) -> dict[str, tuple[int, ...]]:
    """The examined nodes that the target's facts rest on, directly or not, whose V is smaller than their domain."""
    cone: dict[str, set[int]] = {}
    stack = [target]
    while stack:
        node = stack.pop()
        name, i = node
        if name in ("token", "position") or i in cone.get(name, ()) or node not in state.facts:
            continue
        if node != target and len(state.facts[node]) == state.instance.domains[name]:
            continue
        cone.setdefault(name, set()).add(i)
        stack.extend(state.reads.get(node, ()))
    # In program order: the order in which sets of names are gone through differs from process to process.
    return {name: tuple(sorted(cone[name])) for name in sorted(cone, key=state.order.__getitem__)}
