"""No tree at all shows a false lower bound: a prover that tries every rule of the kernel everywhere finds none, and
weaker rules are found out."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from restrict.checker.tree import Symbols, Tree

Boxes = Sequence[Sequence[tuple[int, frozenset[int]]]]


def conflicting(boxes: Boxes, positions: int, symbols: int, most: int) -> bool:
    """Whether some restriction of so few positions conflicts with all boxes, by trying all."""
    free = [None, *range(symbols)]
    every = (rho for rho in itertools.product(free, repeat=positions) if positions - rho.count(None) <= most)
    return any(all(any(rho[p] not in (None, *a) for p, a in box) for box in boxes) for rho in every)


def false_bound(rng: random.Random) -> tuple[Boxes, frozenset[int], int]:
    """Boxes, the symbols, and a number of positions that suffices to conflict with all of them."""
    while True:
        positions, symbols, most = rng.randint(2, 4), rng.randint(2, 3), rng.randint(1, 3)
        boxes = [
            [(p, frozenset(rng.sample(range(symbols), rng.randint(1, symbols - 1)))) for p in sorted(some)]
            for some in (rng.sample(range(positions), rng.randint(1, positions)) for _ in range(rng.randint(1, 5)))
        ]
        if conflicting(boxes, positions, symbols, most):
            return boxes, frozenset(range(symbols)), most


def shown(tree: Tree, has: Symbols, chosen: frozenset[int], depth: int) -> bool:
    """Whether any tree so deep closes a node: each end, each case, each branch, by the kernel's own steps."""
    numbers = range(len(tree.boxes))
    some = itertools.chain.from_iterable(itertools.combinations(numbers, k) for k in range(1, len(numbers) + 1))
    if any(tree.apart(end, has, chosen) for end in some):
        return True
    for p, a in {cell for box in tree.boxes for cell in box} if depth else ():
        old = has.get(p, tree.everything)
        outside = shown(tree, {**has, p: old - a}, chosen | {p}, depth - 1)
        if outside and shown(tree, {**has, p: old & a}, chosen, depth - 1):
            return True
    for box in numbers if depth else ():
        ways, now, left = tree.ways(box, has, chosen), dict(has), False
        for p, a in ways:
            old = now.get(p, tree.everything)
            left = left or not shown(tree, {**now, p: old - a}, chosen | {p}, depth - 1)
            now[p] = old & a
        if ways and not left:
            return True
    return False


def shown_falsely(kind: type[Tree], bounds: int, depth: int) -> int:
    """How many of some false bounds a tree shows."""
    rng = random.Random(5)
    return sum(shown(kind(*false_bound(rng)), {}, frozenset(), depth) for _ in range(bounds))


class Roomy(Tree):
    """Takes a position of the node for a new one."""

    def apart(self, boxes: Sequence[int], has: Symbols, chosen: frozenset[int]) -> bool:
        ways = [{p for p, _ in self.ways(box, has, chosen)} for box in boxes]
        return all(ways) and len(set().union(*ways)) == sum(map(len, ways)) and len(boxes) > self.most - len(chosen)


class Hasty(Tree):
    """Counts one box too few."""

    def apart(self, boxes: Sequence[int], has: Symbols, chosen: frozenset[int]) -> bool:
        return super().apart(boxes, has, chosen) or len(boxes) == self.most - len(chosen) > 0


class Blind(Tree):
    """Does not see that a chosen position may conflict, once no other may be chosen."""

    def ways(self, box: int, has: Symbols, chosen: frozenset[int]) -> list[tuple[int, frozenset[int]]]:
        return super().ways(box, has, chosen) if len(chosen) < self.most else []


def test_no_tree_shows_a_false_bound() -> None:
    assert shown_falsely(Tree, 250, 2) == 0


@pytest.mark.heavy
def test_no_deeper_tree_shows_a_false_bound() -> None:
    assert shown_falsely(Tree, 80, 3) == 0


@pytest.mark.parametrize("kind", [Roomy, Hasty, Blind])
def test_weaker_rules_are_found_out(kind: type[Tree]) -> None:
    assert shown_falsely(kind, 60, 2) > 0
