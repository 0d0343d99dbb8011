"""Scores that compare ``j - i`` with constants, as heads that do not.

Beyond a reach ``D`` the score does not depend on ``j - i``. The positions that a head ``h`` sees are those at distances
``-D+1 .. D-1``, those from ``D`` on to the left and those from ``D`` on to the right. The values

- ``h@left1``: the pair of ``h`` at the position before, ``h@left2``: the one before that, and so on, each the value of
  ``strict_past``, rightmost head (one more value says that there is no such position), and mirror images to the right;
- ``h@far_left``: a ``past`` head on ``h@leftD``; since it sees itself, that is every pair at a distance of ``D`` or
  more; it copies a best one, scored at the distance ``-D``, and prefers any to none; and its mirror image

therefore hold everything that ``h`` can see, in the order of positions, and its value is that of a best of them.
"""

from __future__ import annotations

import re

from .formats import Head
from .program import BEYOND, AllLengthsProgram, Known, Look, Offer

PARTS = re.compile(r"([A-Za-z_0-9]+)@(?:(left|right)([1-9][0-9]{0,3})|far_(left|right))")
PAST, FUTURE = ("none", "past", "strict_past"), ("none", "future", "strict_future")


def parts(mask: str, reach: int) -> list[tuple[int, str]]:
    """What a head sees, in the order of positions: distances and names."""
    left = [(-reach, "far_left"), *((-d, f"left{d}") for d in range(reach - 1, 0, -1))] if mask in PAST else []
    right = [*((d, f"right{d}") for d in range(1, reach)), (reach, "far_right")] if mask in FUTURE else []
    return [*left, *([] if mask.startswith("strict") else [(0, "pair")]), *right]


class Windowed(AllLengthsProgram):
    """A program with the heads that stand for those that look at ``j - i``."""

    def part(self, name: str) -> tuple[Head, str, int] | None:
        """The head, the side and the distance (0: far) of a name; None where it is no such part."""
        found = PARTS.fullmatch(name)
        head = self.variables.get(found[1]) if found else None
        if found is None or not isinstance(head, Head) or int(found[3] or 0) > self.reach(head):
            return None
        side = found[2] or found[4]  # the head's own name may have the word, too
        if not self.reach(head) or head.mask not in (PAST if side == "left" else FUTURE):
            return None
        return head, side, int(found[3] or 0)

    def look(self, name: str) -> Look | None:
        """Any head of the program, or a part of one."""
        if (part := self.part(name)) is None:
            return super().look(name)
        if name not in self.derived:
            head, side, distance = part
            none, reach = self.count(head, "pair"), self.reach(head)
            mask = "past" if side == "left" else "future"
            if distance:
                pairs = none if distance == 1 else none + 1
                found = Look(name, f"strict_{mask}", side == "right", none, 1, pairs, 1, lambda _, pair: (0, pair))
            else:
                offer = self.far(head, -reach if side == "left" else reach, none)
                sizes = self.count(head, "query"), none + 1
                found = Look(name, mask, head.left, none, *sizes, self.work(head), offer)
            self.derived[name] = found
        return self.derived[name]

    def far(self, head: Head, distance: int, none: int) -> Offer:
        """What a far head offers: any pair before none."""
        inner = self.offers(head, distance)
        return lambda query, pair: (-BEYOND, none) if pair == none else (inner(query, pair)[0], pair)

    def role(self, name: str, known: Known) -> int:
        """The query or the pair of a part."""
        owner, _, role = name.rpartition("@")
        part = self.part(owner) if role in ("query", "pair") else None
        if part is None:
            return super().role(name, known)
        head, side, distance = part
        if role == "query":
            return 0 if distance else self.value(f"{head.name}@query", known)
        before = distance - 1 if distance else self.reach(head)
        return self.value(f"{head.name}@{side}{before}" if before else f"{head.name}@pair", known)

    def best(self, head: Head, known: Known) -> int:
        """The value of a head that looks at ``j - i``: a best of its parts, from left to right."""
        none, seen = self.count(head, "pair"), parts(head.mask, self.reach(head))
        query, best = self.value(f"{head.name}@query", known), None
        self.meter.charge(len(seen) * (10 + self.work(head)))
        for distance, part in seen:
            if (pair := self.value(f"{head.name}@{part}", known)) == none:
                continue
            offer = self.offers(head, distance)(query, pair)
            if best is None or offer[0] > best[0] or (offer[0] == best[0] and not head.left):
                best = offer
        return head.default if best is None else best[1]
