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
with the box, each in one child only, so the node is closed when all children are. The ways that meet most boxes come
first: the children of the others are without them, and boxes have little else in common.

Symbols are bits of an integer. A closed tree is written down as *words* in preorder (docs/kernel-format.md,
*unforced*): the number of boxes that close a node, and the boxes; or minus the number of children, and the box whose
ways they are, by position. What comes before these is a *case*: 0, the box, and which of its positions; the tree where
the conflict is there, and the one where it is not. The kernel checks all by its own code (``restrict/checker``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from restrict.base.errors import ResourceLimit
from restrict.certificate.hitting_run import SYMBOLS, Run
from restrict.kernels.hitting import CLOSED, OPEN

AllowedBits = Mapping[int, int]
"""Positions with their allowed symbols as bits."""
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
    steps of nodes; may raise to stop. ``small``: the tree is to be written down: ways that meet few boxes are gone
    through by position, as the kernel does. After :meth:`run`, ``nodes`` is the number of nodes and ``used`` the boxes
    that closed or split one."""

    boxes: list[AllowedBits]
    alphabet: int
    most: int
    more: Callable[[Open], Sequence[AllowedBits]] | None = None
    limit: int = 10_000_000
    charge: Callable[[int], None] = _free
    small: bool = False
    nodes: int = 0
    used: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.small:
            self.boxes = [dict(sorted(box.items())) for box in self.boxes]
        self.cost = 40 + sum(map(len, self.boxes)) // 2

    def run(self) -> list[int]:
        """Close the tree, and give its words if it is to be small: no ``most`` positions conflict with every box. Cost:
        nodes times the boxes' positions, a nanosecond each where the run is compiled; the nodes are exponential in
        ``most`` at worst."""
        boxes, kinds = self.boxes, dict[int, list[int]]()
        if self.more is None and self.alphabet.bit_length() > SYMBOLS:
            boxes, kinds = narrowed(self.boxes, self.alphabet)
        run = Run((1 << len(next(iter(kinds.values())))) - 1 if kinds else self.alphabet, self.most, self.small)
        paid, cost = 0, self.cost if run.wide else 2 + self.cost // COMPILED
        for box in boxes:
            run.add(box)
        while (end := run.go()) != CLOSED:
            self.nodes, spent = run.nodes, run.nodes * cost
            self.charge(spent - paid)
            paid = spent
            if run.nodes > self.limit:
                raise ResourceLimit(f"the tree needs more than {self.limit} nodes")
            if end == OPEN:
                known, symbols = len(self.boxes), run.chosen
                for p in kinds.keys() & symbols.keys():
                    symbols[p] = sum({1 << s for k, s in enumerate(kinds[p]) if symbols[p] >> k & 1})
                self._ask(symbols)
                for box in self.boxes[known:]:
                    run.add(box)
        self.nodes, self.used = run.nodes, run.used
        self.charge(run.nodes * cost - paid)
        return run.words

    def _ask(self, symbols: Mapping[int, int]) -> None:
        """Have more boxes, for the node at which these positions are chosen and no box is left."""
        node = Open(symbols)
        found = () if self.more is None else self.more(node)
        if not found:
            raise Uncovered(node)
        if any(not symbols.get(p, self.alphabet) & allowed for p, allowed in found[0].items()):
            raise ValueError("the box supplied is met at the node that asked for it")
        self.boxes += found


def narrowed(boxes: Sequence[AllowedBits], alphabet: int) -> tuple[list[AllowedBits], dict[int, list[int]]]:
    """The same family over the fewest symbols, and what they stand for: at each position one of each kind of symbols
    that no box tells apart; the last may stand there several times, so that all positions have as many."""
    told: dict[int, list[int]] = {}
    for box in boxes:
        for position, allowed in box.items():
            told.setdefault(position, []).append(allowed)
    size = range(alphabet.bit_length())
    each = {p: list({tuple(a >> s & 1 for a in sets): s for s in size}.values()) for p, sets in told.items()}
    most = max(map(len, each.values()), default=0)
    kinds = {p: kind + kind[-1:] * (most - len(kind)) for p, kind in each.items()}
    made = [{p: sum((a >> s & 1) << k for k, s in enumerate(kinds[p])) for p, a in box.items()} for box in boxes]
    return [*made], kinds


def named(words: Sequence[int]) -> Iterator[int]:
    """The boxes that a tree names, as often as it does."""
    at = 0
    while at < len(words):
        width = max(1, words[at])
        yield from words[at + 1 : at + 1 + width]
        at += 1 + width + (words[at] == 0)


def needed(
    boxes: list[AllowedBits], alphabet: int, most: int, limit: int = 10_000_000, charge: Callable[[int], None] = _free
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


def disjoint(boxes: Iterable[AllowedBits]) -> int:
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
