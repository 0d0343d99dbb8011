"""The restrictions with the most free positions under which a label is constant, from the labels of all words.

A *face* is a set of free positions with symbols for the others. A label that is constant on a face is constant on every
face within it, so the sets of free positions that have a good face are searched depth first: a set without one is not
extended, and neither is a set that cannot grow beyond the best one found. At a set of ``f`` free positions the table
has ``s ** (m - f)`` entries, one for every way to fix the others: the label, or ``MIXED``. So no table over all
``(s + 1) ** m`` restrictions is needed, and where few sets are good the cost is little more than one pass per position.

With *kinds*, one bit for members and one for others, only faces with both are answers (Corollary 2: membership stays
open); a face without both may lie in one that has both, so those are extended, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import digits
from restrict.base.deadline import NEVER, Deadline, OutOfTime
from restrict.base.options import Fact
from restrict.optimum.options import ENUMERATION

Table = npt.NDArray[np.uint8]
MIXED: Fact[int] = 255
"""The label of a face on which it is not constant; so there may be 255 labels."""
BOTH: Fact[int] = 3
"""Members and others."""


@dataclass
class Faces:
    """``largest`` free positions at least, ``most`` at most, both exact where equal; -1: no answer. ``found``: answers
    with ``largest`` free positions, (free axes, index of the entry in the table over the others)."""

    axes: int
    symbols: int
    most: int
    largest: int = -1
    found: list[tuple[tuple[int, ...], int]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether no answer has more free positions."""
        return self.largest == self.most

    def cubes(self, unpinned: Sequence[int]) -> list[dict[int, int]]:
        """The answers as restrictions."""
        found = []
        for free, entry in self.found:
            fixed = [unpinned[axis] for axis in range(self.axes) if axis not in free]
            symbols = digits(np.array([entry]), self.symbols, len(fixed))[0].tolist()
            found.append(dict(zip(fixed, symbols, strict=True)))
        return found


def largest_faces(
    labels: npt.NDArray[np.integer], members: npt.NDArray[np.bool_] | None = None, *, keep: int = 64,
    deadline: Deadline = NEVER,
) -> Faces:  # fmt: skip
    """Up to ``keep`` faces with the most free positions on which the label (0 .. 254, (s,) * m) is constant and, with
    ``members``, both kinds occur. Cost: at most one pass over ``(s + 1) ** m`` entries, usually far less; memory a few
    times the table."""
    m, symbols = labels.ndim, labels.shape[0] if labels.ndim else 1
    if labels.size and int(labels.max()) >= MIXED:
        raise ValueError("more than 255 labels")
    label = np.ascontiguousarray(labels, dtype=np.uint8).reshape(-1)
    kinds = None if members is None else np.where(members.reshape(-1), np.uint8(2), np.uint8(1))
    search = _Exploring(Faces(m, symbols, m), keep, deadline)
    try:
        search.explore((), list(range(m)), label, kinds)
        search.faces.most = search.faces.largest
    except OutOfTime:
        search.faces.most = max(search.faces.largest, search.bound)
    return search.faces


class _Exploring:
    """The depth-first search; ``bound`` is on what the branches at the root that are left can still give."""

    def __init__(self, faces: Faces, keep: int, deadline: Deadline) -> None:
        self.faces, self.keep, self.deadline = faces, keep, deadline
        self.bound = faces.axes

    def explore(self, free: tuple[int, ...], rest: list[int], label: Table, kinds: Table | None) -> None:
        """Note the answers with exactly these free axes, then extend by each of ``rest``, those keeping most first."""
        self.deadline.check()
        self._note(free, label, kinds)
        if len(free) + len(rest) < self._wanted():
            return
        children: list[tuple[int, int, tuple[Table, Table | None] | None]] = []
        for axis in rest:
            child = self._merged(free, axis, label, kinds)
            alive = int(np.count_nonzero(child[0] != MIXED))
            if alive:
                children.append((alive, axis, child if len(child[0]) <= ENUMERATION.kept_entries else None))
            if not free:
                self.deadline.check()
        children.sort(key=lambda c: (-c[0], c[1]))
        axes = [axis for _, axis, _ in children]
        for k, (_, axis, kept) in enumerate(children):
            if not free:
                self.bound = len(axes) - k
            if len(free) + len(axes) - k < self._wanted():
                return
            child = kept or self._merged(free, axis, label, kinds)
            self.explore(tuple(sorted((*free, axis))), axes[k + 1 :], *child)

    def _wanted(self) -> int:
        """The least size that is still of interest: one more than the best, once enough of that size are known."""
        return self.faces.largest + (len(self.faces.found) >= self.keep)

    def _note(self, free: tuple[int, ...], label: Table, kinds: Table | None) -> None:
        faces = self.faces
        if len(free) < self._wanted():
            return
        good = np.flatnonzero(label != MIXED if kinds is None else (label != MIXED) & (kinds == BOTH))
        if not len(good):
            return
        if len(free) > faces.largest:
            faces.largest, faces.found = len(free), []
        faces.found += [(free, int(entry)) for entry in good[: self.keep - len(faces.found)]]

    def _merged(
        self, free: tuple[int, ...], axis: int, label: Table, kinds: Table | None
    ) -> tuple[Table, Table | None]:
        """The tables with one more axis free."""
        symbols = self.faces.symbols
        after = symbols ** sum(1 for a in range(axis + 1, self.faces.axes) if a not in free)
        cut = label.reshape(-1, symbols, after)
        same = cut[:, 0] == cut[:, 1 % symbols]
        for a in range(2, symbols):
            same &= cut[:, 0] == cut[:, a]
        merged = np.where(same, cut[:, 0], np.uint8(MIXED)).reshape(-1)
        if kinds is None:
            return merged, None
        return merged, np.bitwise_or.reduce(kinds.reshape(-1, symbols, after), axis=1).reshape(-1)
