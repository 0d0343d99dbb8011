"""Where a compiled run of the tree of :mod:`restrict.certificate.hitting_tree` is: its boxes and its stack as arrays,
which grow with the boxes and the depth."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ResourceLimit
from restrict.kernels.hitting import DEPTH, NODES, WORDS, Boxes, Stack, descend
from restrict.kernels.plain import plain_form

SYMBOLS = 62
"""Alphabets of up to so many symbols are bits of a machine word; of more, bits of Python's integers, and the kernel
runs plainly."""
SLICE, PLAIN_SLICE = 5_000, 20
"""Nodes between two charges, and where the kernel runs plainly."""
DEEPEST = 1_000
"""Branches above a node; the checker follows no more."""


class Run:
    """A run over boxes that are added to it. ``symbols``: all of the alphabet, as bits. ``most``: positions. ``small``:
    the tree is to be small, and its words are wanted."""

    def __init__(self, symbols: int, most: int, small: bool) -> None:
        self.symbols, self.most, self.small = symbols, most, small
        self.wide = symbols.bit_length() > SYMBOLS
        self.bits: Any = object if self.wide else np.int64
        self.descend: Any = plain_form(descend) if self.wide else descend
        self.slice = PLAIN_SLICE if self.wide else SLICE
        self.number: dict[int, int] = {}
        self.ends, self.place, self.allowed, self.longest = [0], list[int](), list[int](), 0
        self.stack = self._stack(1, 1, 1, 8)

    def add(self, box: Mapping[int, int]) -> None:
        """One more box: positions with their allowed symbols as bits."""
        self.place += [self.number.setdefault(p, len(self.number)) for p in box]
        self.allowed += box.values()
        self.ends.append(len(self.place))
        self.longest = max(self.longest, len(box))

    def go(self) -> int:
        """Go on for some nodes, and give how that ended; see the kernel."""
        stack, many = self.stack, len(self.ends) - 1
        if stack.now[DEPTH] > DEEPEST:
            raise ResourceLimit(f"the tree over {many} boxes is too deep")
        sizes = (many, len(self.number), self.longest, int(stack.now[DEPTH]) + 1)
        held = (len(stack.width), len(stack.chosen), stack.way.shape[1], len(stack.at))
        if any(size > old for size, old in zip(sizes, held, strict=True)):
            self._copy(*(2 * size if size > old else old for size, old in zip(sizes, held, strict=True)))
        nodes = self.slice * (min(many, self.most + 1) + 6)
        need = int(stack.now[WORDS]) + nodes + 2 * len(stack.at) if self.small else 0
        if need > len(stack.words):
            more = np.zeros(2 * need, np.int64)
            more[: len(stack.words)] = stack.words
            self.stack = self.stack._replace(words=more)
        ends, place = (np.array(part, np.int64) for part in (self.ends, self.place))
        boxes = Boxes(ends, place, np.array(self.allowed, self.bits))
        return int(self.descend(boxes, many, self.most, self.small, self.stack, self.slice))

    @property
    def nodes(self) -> int:
        """The nodes visited."""
        return int(self.stack.now[NODES])

    @property
    def words(self) -> list[int]:
        """The tree, where a small one is wanted."""
        words: list[int] = self.stack.words[: self.stack.now[WORDS]].tolist()
        return words

    @property
    def used(self) -> set[int]:
        """The boxes that closed or split a node."""
        return set(np.flatnonzero(self.stack.used).tolist())

    @property
    def chosen(self) -> dict[int, int]:
        """The positions chosen at the next node, with the symbols that they can have as bits."""
        stack = self.stack
        known = list(self.number.items())[: len(stack.chosen)]
        return {p: int(stack.possible[t]) for p, t in known if stack.chosen[t]}

    def _copy(self, boxes: int, places: int, longest: int, depth: int) -> None:
        """The same stack with more room."""
        old = self.stack
        self.stack = self._stack(boxes, places, longest, depth)._replace(words=old.words)
        for new, kept in zip(self.stack, old, strict=True):
            new[tuple(slice(0, size) for size in kept.shape)] = kept

    def _stack(self, boxes: int, places: int, longest: int, depth: int) -> Stack:
        """The root's, with room for so many boxes, positions, positions of a box and branches."""

        def zeros(*shape: int, of: Any = np.int64) -> I64:
            return np.zeros(shape, of)

        by_place = [np.full(places, self.symbols, self.bits), zeros(places), zeros(places), zeros(places)]
        before = zeros(depth, longest, of=self.bits)
        by_depth = [*(zeros(depth) for _ in range(7)), zeros(depth, longest), before, zeros(depth, boxes)]
        by_box = [zeros(boxes) for _ in range(4)]
        return Stack._make([zeros(5), *by_place, *by_depth, *by_box, zeros(longest + 2), zeros(0)])
