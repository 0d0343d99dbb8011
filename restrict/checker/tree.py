"""The tree of Theorem C (docs/kernel.md, *unforced*): no few positions conflict with every box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Symbols = dict[int, frozenset[int]]
DEEPEST = 1000
"""A tree is never deeper: the interpreter's stack ends there."""


class Tree(NamedTuple):
    """Boxes, and how few positions shall not conflict with all of them. A node stands for the restrictions that fix the
    positions ``chosen``, and a position in ``has`` only to one of these symbols."""

    boxes: Sequence[Sequence[tuple[int, frozenset[int]]]]
    everything: frozenset[int]
    most: int

    def ways(self, box: int, has: Symbols, chosen: frozenset[int]) -> list[tuple[int, frozenset[int]]]:
        """Where a restriction of the node may conflict with a box."""
        room = len(chosen) < self.most
        cells = ((p, a) for p, a in self.boxes[box] if room or p in chosen)
        return [(p, a) for p, a in cells if not has.get(p, self.everything) <= a]

    def closes(self, words: Iterator[int], has: Symbols, chosen: frozenset[int]) -> bool:
        """Whether no restriction of the node conflicts with all boxes, by the next subtree."""
        while (count := next(words)) == 0:
            cells, at = self.boxes[next(words)], next(words)
            if at >= len(cells):
                return False
            p, symbols = cells[at]
            old = has.get(p, self.everything)
            if not self.closes(words, {**has, p: old - symbols}, chosen | {p}):
                return False
            has = {**has, p: old & symbols}
        if count > 0:
            return self.apart([next(words) for _ in range(count)], has, chosen)
        for p, symbols in self.ways(next(words), has, chosen):
            count, old = count + 1, has.get(p, self.everything)
            if count > 0 or not self.closes(words, {**has, p: old - symbols}, chosen | {p}):
                return False
            has = {**has, p: old & symbols}
            if p in chosen and not has[p]:
                break
        return count == 0

    def apart(self, boxes: Sequence[int], has: Symbols, chosen: frozenset[int]) -> bool:
        """Boxes that take a new position each, more than are left; or one that cannot be conflicted with."""
        used = set(chosen)
        for box in boxes:
            ways = {p for p, _ in self.ways(box, has, chosen)}
            if not ways or not used.isdisjoint(ways):
                return not ways
            used |= ways
        return len(boxes) > self.most - len(chosen)
