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
with the box, each in one child only, so the node is closed when all children are. In a tree that is only to decide, the
ways that meet most boxes come first: the children of the others are without them, and boxes have little else in common.
A tree that is written down has to take them by position.

Symbols are bits of an integer. A closed tree is written down as *words* in preorder (docs/kernel.md, *unforced*): the
number of boxes that close a node, and the boxes; or minus the number of children, and the box whose ways they are. The
kernel checks it by its own code (``restrict/checker``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from restrict.base.errors import ResourceLimit
from restrict.certificate.hitting_run import SYMBOLS, Run
from restrict.kernels.hitting import CLOSED, FEW, MOST_TRIES, OPEN

Box = Mapping[int, int]
"""Positions with their allowed symbols as bits."""
Unmet = tuple[int, list[int], int]
"""A box without a certain conflict, its ways, and these as bits."""
COMPILED = 250
"""How many times as fast a compiled node is."""


@dataclass(frozen=True)
class Open:
    """A node without a box that is not met: fixing the ``chosen`` positions to any of these symbols (bits) conflicts
    with the whole family."""

    symbols: Mapping[int, int]


class Uncovered(Exception):
    """The family does not close the tree; ``node`` is the node that stays open."""

    def __init__(self, node: Open) -> None:
        super().__init__(f"{len(node.symbols)} positions conflict with every box without the label")
        self.node = node


def _free(steps: int) -> None:
    """Nobody is charged."""


@dataclass(eq=False)
class HittingTree:
    """One run over a family of boxes; ``boxes`` grows where ``more`` supplies boxes. ``alphabet``: all symbols, as
    bits. ``most``: the number ``k`` of positions. ``more``: asked at a node that no box closes for boxes, the first of
    which is not met there; none is no answer. ``limit``: the most nodes to visit, about. ``charge``: called with the
    steps of nodes, and of exact searches; may raise to stop. ``small``: the tree is to be written down: ways are
    gone through by position, as the kernel does; else boxes without a common way are only chosen greedily. After
    :meth:`run`, ``nodes`` is the number of nodes and ``used`` the boxes that closed or split one."""

    boxes: list[Box]
    alphabet: int
    most: int
    more: Callable[[Open], Sequence[Box]] | None = None
    limit: int = 10_000_000
    charge: Callable[[int], None] = _free
    small: bool = False
    nodes: int = 0
    used: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bits: dict[int, int] = {}
        if self.small:
            self.boxes = [dict(sorted(box.items())) for box in self.boxes]
        self.cost = 40 + sum(map(len, self.boxes)) // 2

    def run(self) -> list[int]:
        """Close the tree, and give its words if it is to be small: no ``most`` positions conflict with every box. Cost:
        nodes times the boxes' positions, a nanosecond each where the run is compiled; the nodes are exponential in
        ``most`` at worst."""
        if self.alphabet.bit_length() <= SYMBOLS:
            return self._compiled()
        return self.plainly()

    def _compiled(self) -> list[int]:
        """Close the tree by :mod:`restrict.kernels.hitting`."""
        run, paid, cost = Run(self.alphabet, self.most, self.small), 0, 2 + self.cost // COMPILED
        for box in self.boxes:
            run.add(box)
        while (end := run.go()) != CLOSED:
            self.nodes, spent = run.nodes, run.nodes * cost + run.steps
            self.charge(spent - paid)
            paid = spent
            if run.nodes > self.limit:
                raise ResourceLimit(f"the tree needs more than {self.limit} nodes")
            if end == OPEN:
                known = len(self.boxes)
                self._ask(run.chosen)
                for box in self.boxes[known:]:
                    run.add(box)
        self.nodes, self.used = run.nodes, run.used
        self.charge(run.nodes * cost + run.steps - paid)
        return run.words

    def plainly(self) -> list[int]:
        """Close the tree in Python: the symbols may be many."""
        try:
            words = self._node(frozenset(), {}, range(len(self.boxes)))
        except RecursionError:
            raise ResourceLimit(f"the tree over {len(self.boxes)} boxes is too deep") from None
        self.used.update(named(words))
        return words

    def _node(self, chosen: frozenset[int], symbols: dict[int, int], candidates: Iterable[int]) -> list[int]:
        """The words of one node and all below it."""
        self.nodes += 1
        if self.nodes > self.limit:
            raise ResourceLimit(f"the tree needs more than {self.limit} nodes")
        self.charge(self.cost)
        unmet, known = self._unmet(chosen, symbols, candidates), len(self.boxes)
        if not unmet:
            self._ask({p: symbols[p] for p in chosen})
            unmet = self._unmet(chosen, symbols, range(known, len(self.boxes)))
        number, ways, _ = unmet[0]
        if not ways:
            return [1, number]
        room = self.most - len(chosen)
        if (apart := self._apart(unmet, sum(self._bit(at) for at in chosen), room + 1)) is not None:
            return [len(apart), *apart]
        if not self.small:
            self._sort(number, ways, chosen, symbols, unmet)
        return self._branch(number, ways, chosen, symbols, [box for box, _, _ in unmet])

    def _branch(
        self, number: int, ways: list[int], chosen: frozenset[int], symbols: dict[int, int], rest: list[int]
    ) -> list[int]:
        """A branch on the ways of a box."""
        symbols, words, count = dict(symbols), list[int](), 0
        for way in ways:
            known, possible, allowed = len(self.boxes), symbols.get(way, self.alphabet), self.boxes[number][way]
            words += self._node(chosen | {way}, {**symbols, way: possible & ~allowed}, rest)
            rest.extend(range(known, len(self.boxes)))
            count, symbols[way] = count + 1, possible & allowed
            if way in chosen and not symbols[way]:
                break
        return [-count, number, *words]

    def _unmet(self, chosen: frozenset[int], symbols: dict[int, int], candidates: Iterable[int]) -> list[Unmet]:
        """The boxes without a certain conflict, with their ways, fewest first."""
        found: list[Unmet] = []
        room = len(chosen) < self.most
        for number in candidates:
            ways, mask, met = list[int](), 0, False
            for position, allowed in self.boxes[number].items():
                possible = symbols.get(position, self.alphabet)
                if possible & ~allowed and (room or position in chosen):
                    ways.append(position)
                    mask |= self._bit(position)
                if position in chosen and not possible & allowed:
                    met = True
                    break
            if not met:
                found.append((number, ways, mask))
        return sorted(found, key=lambda entry: (len(entry[1]), entry[0]))

    def _sort(
        self, number: int, ways: list[int], chosen: frozenset[int], symbols: dict[int, int], unmet: Sequence[Unmet]
    ) -> None:
        """Sort the ways of a box: chosen positions, then the others, and of each those that meet most boxes first."""
        others = [self.boxes[other] for other, _, _ in unmet]

        def meets(way: int) -> int:
            hit = symbols.get(way, self.alphabet) & ~self.boxes[number][way]
            return sum(way in other and not hit & other[way] for other in others)

        ways.sort(key=lambda way: (way not in chosen, -meets(way)))

    def _bit(self, position: int) -> int:
        return self.bits.setdefault(position, 1 << len(self.bits))

    def _ask(self, symbols: Mapping[int, int]) -> None:
        """Have more boxes, for the node at which these positions are chosen and no box is left."""
        node = Open(symbols)
        found = () if self.more is None else self.more(node)
        if not found:
            raise Uncovered(node)
        if any(not symbols.get(p, self.alphabet) & allowed for p, allowed in found[0].items()):
            raise ValueError("the box supplied is met at the node that asked for it")
        self.boxes += found

    def _apart(self, unmet: Sequence[Unmet], taken: int, count: int) -> list[int] | None:
        """So many boxes whose ways have nothing in common, nor with the positions taken."""
        usable = [(box, mask) for box, _, mask in unmet if not mask & taken]
        found, used = list[int](), taken
        for box, mask in usable:
            if len(found) < count and not mask & used:
                found.append(box)
                used |= mask
        if len(found) == count:
            return found
        if not self.small or count > FEW or len(usable) < count:
            return None
        tries = [MOST_TRIES]
        exact = _disjoint(usable, 0, count, tries)
        self.charge((MOST_TRIES - tries[0]) // 2)
        return exact


def _disjoint(usable: Sequence[tuple[int, int]], used: int, count: int, tries: list[int]) -> list[int] | None:
    """So many of these with nothing in common, if they are found in time."""
    if count == 0:
        return []
    for at in range(len(usable) - count + 1):
        box, mask = usable[at]
        tries[0] -= 1
        if tries[0] < 0:
            return None
        if not mask & used:
            later = [other for other in usable[at + 1 :] if not other[1] & mask]
            if (more := _disjoint(later, used | mask, count - 1, tries)) is not None:
                return [box, *more]
    return None


def named(words: Sequence[int]) -> Iterator[int]:
    """The boxes that a tree names, as often as it does."""
    at = 0
    while at < len(words):
        width = max(1, words[at])
        yield from words[at + 1 : at + 1 + width]
        at += 1 + width


def needed(
    boxes: list[Box], alphabet: int, most: int, limit: int = 10_000_000, charge: Callable[[int], None] = _free
) -> tuple[list[int], int]:
    """The boxes that a closed tree uses, few positions first, and the nodes that it takes with these alone. ``limit``,
    ``charge``: those of each tree. Cost: a few runs of the tree."""
    kept = sorted(range(len(boxes)), key=lambda t: (len(boxes[t]), t))
    while True:
        tree = HittingTree([boxes[t] for t in kept], alphabet, most, None, limit, charge)
        tree.run()
        if len(tree.used) == len(kept):
            return kept, tree.nodes
        kept = [kept[t] for t in sorted(tree.used)]


def disjoint(boxes: Iterable[Box]) -> int:
    """How many boxes without a common position a greedy choice finds, few positions first. To conflict with all of them
    takes at least as many positions. Cost: linear, after sorting. Result: the number: a certified lower bound on the
    positions of any restriction that conflicts with every box."""
    taken: set[int] = set()
    count = 0
    for box in sorted(boxes, key=len):
        if taken.isdisjoint(box):
            taken.update(box)
            count += 1
    return count
