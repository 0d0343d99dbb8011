"""Hitting sets by a tree: do few fixed positions conflict with every box of a family?

A *box* gives some positions a set of allowed symbols, each neither empty nor the whole alphabet. A restriction
*conflicts* with a box when it fixes one of these positions to a symbol that is not allowed there. Every box of the
family forces the output to something else than a label ``y``; so a restriction that forces ``y`` conflicts with all of
them, and the least number of positions with which this can be done is a lower bound for forcing ``y`` (implicit hitting
sets: Reiter, *A theory of diagnosis from first principles*, AIJ 1987; the same duality as in
:mod:`restrict.optimum.exact`).

**The tree** decides whether at most ``k`` positions suffice. A node is a set of *chosen* positions, which are fixed for
certain, and for every position the symbols that it can have *if* it is fixed. A box is

- *met* when some chosen position can only have symbols that are not allowed: the conflict is certain;
- else its *ways* are the positions where a conflict is still possible: a chosen one, or any one while fewer than ``k``
  are chosen, that can have a symbol which is not allowed.

A node is closed, that is no restriction of its kind conflicts with all boxes, when a box that is not met has no way; or
when more boxes that are not met than positions can still be chosen have no chosen position among their ways and no way
in common. Else take a box with the fewest ways and go through them: in child ``t`` the conflict is at the ``t``-th way,
which becomes chosen, and there is none at the ways before. These children are all the restrictions that conflict
with the box, each in one child only, so the node is closed when all children are.

Symbols are bits of an integer. The kernel checks a closed tree by its own code (``restrict/checker``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from restrict.errors import ResourceLimit

Box = Mapping[int, int]
"""Positions with their allowed symbols as bits."""


@dataclass(frozen=True)
class Open:
    """A node without a box that is not met: fixing the ``chosen`` positions to any of these symbols (bits) conflicts
    with the whole family."""

    symbols: Mapping[int, int]


class Uncovered(Exception):
    """The family does not close the tree; ``node`` is the node that stays open."""

    def __init__(self, node: Open) -> None:
        super().__init__(f"{len(node.symbols)} positions conflict with every box")
        self.node = node


@dataclass(frozen=True)
class _Ways:
    """A box that is not met: its number, and its ways at chosen and at other positions."""

    box: int
    chosen: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def order(self) -> tuple[int, int]:
        """Fewest ways first, then by number."""
        return len(self.chosen) + len(self.others), self.box


@dataclass(eq=False)
class HittingTree:
    """One run over a family of boxes; ``boxes`` grows where ``more`` supplies boxes.

    Args:
        boxes: the family.
        alphabet: all symbols, as bits.
        most: the number ``k`` of positions.
        more: asked at a node that no box closes for a box that is not met there; ``None`` is no answer.
        limit: the most nodes to visit.
        tick: called at every node; may raise to stop.

    After :meth:`run`, ``nodes`` is the number of nodes and ``used`` the boxes that closed or split one.
    """

    boxes: list[Box]
    alphabet: int
    most: int
    more: Callable[[Open], Box | None] | None = None
    limit: int = 10_000_000
    tick: Callable[[], None] | None = None
    nodes: int = 0
    used: set[int] = field(default_factory=set)

    def run(self) -> None:
        """Close the tree: no ``most`` positions conflict with every box.

        Cost: nodes times the boxes' positions; the nodes are exponential in ``most`` at worst.
        """
        try:
            self._node(frozenset(), {}, range(len(self.boxes)))
        except RecursionError:
            raise ResourceLimit(f"the tree over {len(self.boxes)} boxes is too deep") from None

    def _node(self, chosen: frozenset[int], symbols: dict[int, int], candidates: Iterable[int]) -> None:
        self.nodes += 1
        if self.nodes > self.limit:
            raise ResourceLimit(f"the tree needs more than {self.limit} nodes")
        if self.tick is not None:
            self.tick()
        unmet = self._unmet(chosen, symbols, candidates)
        if not unmet:
            unmet = self._unmet(chosen, symbols, [self._ask(chosen, symbols)])
            if not unmet:
                raise ValueError("the box supplied is met at the node that asked for it")
        first = min(unmet, key=lambda w: w.order)
        if self._closed(first, unmet, self.most - len(chosen)):
            return
        self.used.add(first.box)
        rest, symbols, box = [w.box for w in unmet], dict(symbols), self.boxes[first.box]
        for way in (*first.chosen, *first.others):
            known, possible = len(self.boxes), symbols.get(way, self.alphabet)
            self._node(chosen | {way}, {**symbols, way: possible & ~box[way]}, rest)
            rest.extend(range(known, len(self.boxes)))
            symbols[way] = possible & box[way]
            if not symbols[way] and way in chosen:
                return

    def _unmet(self, chosen: frozenset[int], symbols: dict[int, int], candidates: Iterable[int]) -> list[_Ways]:
        found, room = [], len(chosen) < self.most
        for number in candidates:
            held, others, met = [], [], False
            for position, allowed in self.boxes[number].items():
                possible = symbols.get(position, self.alphabet)
                if position in chosen:
                    met = not possible & allowed
                    if met:
                        break
                    if possible & ~allowed:
                        held.append(position)
                elif room and possible & ~allowed:
                    others.append(position)
            if not met:
                found.append(_Ways(number, tuple(held), tuple(others)))
        return found

    def _ask(self, chosen: frozenset[int], symbols: dict[int, int]) -> int:
        node = Open({p: symbols[p] for p in chosen})
        box = None if self.more is None else self.more(node)
        if box is None:
            raise Uncovered(node)
        self.boxes.append(box)
        return len(self.boxes) - 1

    def _closed(self, first: _Ways, unmet: list[_Ways], left: int) -> bool:
        """Whether a box without a way, or more boxes without a common way than ``left``, close the node."""
        if not (first.chosen or first.others):
            self.used.add(first.box)
            return True
        apart: list[int] = []
        taken: set[int] = set()
        for ways in sorted((w for w in unmet if not w.chosen), key=lambda w: w.order):
            if taken.isdisjoint(ways.others):
                taken.update(ways.others)
                apart.append(ways.box)
                if len(apart) > left:
                    self.used.update(apart)
                    return True
        return False


def needed(boxes: list[Box], alphabet: int, most: int, limit: int = 10_000_000) -> tuple[list[int], int]:
    """The boxes that a closed tree uses, few positions first, and the nodes that it takes with these alone.

    Cost: a few runs of the tree.
    """
    kept = sorted(range(len(boxes)), key=lambda t: (len(boxes[t]), t))
    while True:
        tree = HittingTree([boxes[t] for t in kept], alphabet, most, None, limit)
        tree.run()
        if len(tree.used) == len(kept):
            return kept, tree.nodes
        kept = [kept[t] for t in sorted(tree.used)]


def disjoint(boxes: Iterable[Box]) -> int:
    """How many boxes without a common position a greedy choice finds, few positions first.

    To conflict with all of them takes at least as many positions. Cost: linear, after sorting.

    Result: the number: a certified lower bound on the positions of any restriction that conflicts with every box.
    """
    taken: set[int] = set()
    count = 0
    for box in sorted(boxes, key=len):
        if taken.isdisjoint(box):
            taken.update(box)
            count += 1
    return count
