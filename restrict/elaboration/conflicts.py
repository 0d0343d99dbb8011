"""A small tree of docs/kernel.md, *unforced*, for a set of boxes: few positions do not conflict with all of them. A
proof names a tree (:mod:`restrict.certificate.hitting_tree`); a smaller tree is a smaller proof. An end needs boxes
whose ways have nothing in common, more than positions are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.certificate.hitting_tree import HittingTree, Uncovered, named
from restrict.checker.account import Meter
from restrict.elaboration.hints import Symbols

BOX_WORDS = 250
"""How many words of a tree a box is worth, with its facts."""
EFFORT = 200_000
"""Words of all trees that are made to leave boxes out, some twenty microseconds each."""


def small_tree(boxes: Sequence[Symbols], alphabet: int, most: int, meter: Meter) -> HittingTree:
    """A tree whose run is charged, and gives few words."""
    return HittingTree(list(boxes), (1 << alphabet) - 1, most, charge=meter.charge, small=True)


def least_tree(boxes: Sequence[Symbols], alphabet: int, most: int, meter: Meter) -> tuple[list[int], list[int]]:
    """A small tree over a part of the boxes: some are left out, if the tree still closes and what they would take is
    more than what it grows by. First many at once, of those that are named least often, then fewer; as long as the
    effort goes. ``boxes``: allowed symbols as bits by position."""
    if not boxes:
        raise NotEstablished("every box has the label")
    try:
        words = small_tree(boxes, alphabet, most, meter).run()
    except Uncovered as error:
        raise NotEstablished(f"lower bound: claim: {error}") from None
    part = [box for box, _ in Counter(named(words)).most_common()]
    effort, size = EFFORT, -(-len(part) // 4)
    while size and effort > 0:
        for end in range(len(part), 0, -size):
            less = part[: max(0, end - size)] + part[end:]
            longest = len(words) + BOX_WORDS * (len(part) - len(less))
            tree = small_tree([boxes[box] for box in less], alphabet, most, meter)
            tree.limit = longest // 2  # a node has two words at least
            with suppress(Uncovered, ResourceLimit):
                shorter = tree.run()
                if len(shorter) < longest:
                    part, words = less, shorter
            effort -= min(longest, 2 * tree.nodes)
            if effort <= 0:
                break
        size //= 2
    return part, small_tree([boxes[box] for box in part], alphabet, most, meter).run()


def renumbered(words: Sequence[int], numbers: Mapping[int, int]) -> list[int]:
    """A tree with other numbers for its boxes. ``words``: the tree in preorder."""
    found, at = list[int](), 0
    while at < len(words):
        width = max(1, words[at])
        found += [words[at], *(numbers[box] for box in words[at + 1 : at + 1 + width])]
        at += 1 + width
    return found
