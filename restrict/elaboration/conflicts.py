"""The tree of docs/kernel.md, *unforced*, for a set of boxes: few positions do not conflict with all of them.

A proof names a tree; a smaller tree is a smaller proof. An end needs boxes whose ways have nothing in common, more than
positions are left: where a few are left they are searched for exactly, since each end that is found early saves all
branches below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from restrict.checker.account import Meter
from restrict.elaboration.hints import Symbols
from restrict.errors import NotEstablished

FEW, MOST_TRIES = 8, 4000
"""Up to so many boxes are searched for exactly, in so many steps."""
TRIED, LAST_LEVELS = 4, 2
"""Where so few positions are left, several boxes are tried as the next branch: the smallest tree is taken."""
BOX_WORDS = 250
"""How many words of a tree a box is worth, with its facts."""
EFFORT = 200_000
"""Words of all trees that are made to leave boxes out, some twenty microseconds each; beyond a tenth of it, one tree is
not searched through for the smallest branches, either."""
Unmet = tuple[int, list[int], int]
"""A box without a certain conflict, where a conflict may be, and the same as bits."""


class Tree:
    """Boxes with allowed symbols as bits, and how few positions shall not conflict with all of them."""

    def __init__(
        self, boxes: Sequence[Symbols], alphabet: int, most: int, meter: Meter, tried: int = TRIED,
        left: int | None = None,
    ) -> None:  # fmt: skip
        self.boxes, self.most, self.meter = [dict(sorted(box.items())) for box in boxes], most, meter
        self.tried, self.left = tried, left
        self.everything = (1 << alphabet) - 1
        places = sorted({at for box in boxes for at in box})
        self.bits = {at: 1 << number for number, at in enumerate(places)}
        self.cells = sum(map(len, boxes))

    def words(self) -> list[int]:
        """The whole tree in preorder.

        Returns:
            Its words; boxes are numbered as they were given.

        Raises:
            NotEstablished: so few positions conflict with every box, or the words would be more than are left.
        """
        if not self.boxes:
            raise NotEstablished("every box has the label")
        return self._closed(frozenset(), {}, range(len(self.boxes)))

    def _unmet(self, chosen: frozenset[int], has: Symbols, candidates: Sequence[int]) -> list[Unmet]:
        """The boxes without a certain conflict, with their ways, fewest first."""
        found: list[Unmet] = []
        room = len(chosen) < self.most
        for number in candidates:
            ways, met, mask = list[int](), False, 0
            for at, allowed in self.boxes[number].items():
                symbols = has.get(at, self.everything)
                if symbols & ~allowed and (room or at in chosen):
                    ways.append(at)
                    mask |= self.bits[at]
                if at in chosen and not symbols & allowed:
                    met = True
                    break
            if not met:
                found.append((number, ways, mask))
        return sorted(found, key=lambda entry: (len(entry[1]), entry[0]))

    def _closed(self, chosen: frozenset[int], has: Symbols, candidates: Sequence[int]) -> list[int]:
        """The words of one node and all below it."""
        self.meter.charge(40 + self.cells // 2)
        if self.left is not None:
            self.left -= 2  # a node has two words at least
            if self.left < 0:
                raise NotEstablished("lower bound: the tree is too large")
        unmet = self._unmet(chosen, has, candidates)
        if not unmet:
            raise NotEstablished(
                f"lower bound: claim: {len(chosen)} positions conflict with every box without the label"
            )
        number, ways, _ = unmet[0]
        if not ways:
            return [1, number]
        room = self.most - len(chosen)
        taken = sum(self.bits[at] for at in chosen)
        if (apart := self._apart(unmet, taken, room + 1)) is not None:
            return [len(apart), *apart]
        tried = unmet[: self.tried if room <= LAST_LEVELS else 1]
        rest = [box for box, _, _ in unmet]
        found = [self._branch(entry, chosen, has, rest) for entry in tried if len(entry[1]) <= len(ways) + 2]
        return min(found, key=len)

    def _branch(self, entry: Unmet, chosen: frozenset[int], has: Symbols, rest: Sequence[int]) -> list[int]:
        """A branch on the ways of a box."""
        number, ways, _ = entry
        has, words, count = dict(has), list[int](), 0
        for at in ways:
            symbols, allowed = has.get(at, self.everything), self.boxes[number][at]
            words += self._closed(chosen | {at}, {**has, at: symbols & ~allowed}, rest)
            count, has[at] = count + 1, symbols & allowed
            if at in chosen and not has[at]:
                break
        return [-count, number, *words]

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
        if count > FEW or len(usable) < count:
            return None
        tries = [MOST_TRIES]
        exact = _disjoint(usable, 0, count, tries)
        self.meter.charge((MOST_TRIES - tries[0]) // 2)
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


def least_tree(boxes: Sequence[Symbols], alphabet: int, most: int, meter: Meter) -> tuple[list[int], list[int]]:
    """A small tree over a part of the boxes: some are left out, if the tree still closes and what they would take is
    more than what it grows by.

    First many at once, of those that are named least often, then fewer; as long as the effort goes.

    Args:
        boxes: allowed symbols as bits by position.
        alphabet: the number of symbols.
        most: so many positions shall not conflict with all boxes.
        meter: the account.

    Returns:
        The numbers of the boxes that are taken, and the words of the tree over these.

    Raises:
        NotEstablished: so few positions conflict with every box.
    """
    words = Tree(boxes, alphabet, most, meter, tried=1).words()
    part = [box for box, _ in Counter(named(words)).most_common()]
    effort, size = EFFORT, -(-len(part) // 4)
    while size and effort > 0:
        for end in range(len(part), 0, -size):
            less = part[: max(0, end - size)] + part[end:]
            longest = len(words) + BOX_WORDS * (len(part) - len(less))
            tree = Tree([boxes[box] for box in less], alphabet, most, meter, tried=1, left=longest)
            with suppress(NotEstablished):
                shorter = tree.words()
                if len(shorter) < longest:
                    part, words = less, shorter
            effort -= longest - max(0, tree.left or 0)
            if effort <= 0:
                break
        size //= 2
    tried = TRIED if 10 * len(words) <= EFFORT else 1
    return part, Tree([boxes[box] for box in part], alphabet, most, meter, tried).words()


def named(words: Sequence[int]) -> Iterator[int]:
    """The boxes that a tree names, as often as it does.

    Args:
        words: the tree in preorder.

    Returns:
        Their numbers.
    """
    at = 0
    while at < len(words):
        width = max(1, words[at])
        yield from words[at + 1 : at + 1 + width]
        at += 1 + width


def renumbered(words: Sequence[int], numbers: Mapping[int, int]) -> list[int]:
    """A tree with other numbers for its boxes.

    Args:
        words: the tree in preorder.
        numbers: the new number of each.

    Returns:
        The words.
    """
    found, at = list[int](), 0
    while at < len(words):
        width = max(1, words[at])
        found += [words[at], *(numbers[box] for box in words[at + 1 : at + 1 + width])]
        at += 1 + width
    return found
