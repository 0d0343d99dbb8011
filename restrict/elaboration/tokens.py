"""The symbols that are allowed at every position of a context, as arrays: a context may fix millions of positions."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from restrict.base.arrays import I32, I64, offsets
from restrict.checker.formats import Certificate
from restrict.checker.read import runs_of
from restrict.rows.values import Values

Cell = tuple[int, int, tuple[int, ...]]
"""A start, a stop, and the symbols that are allowed between them."""


def fixed_cells(certificate: Certificate) -> list[Cell]:
    """What a certificate fixes."""
    runs = zip(runs_of(certificate.fixed.bounds), certificate.fixed.symbols, strict=True)
    return [(start, stop, (symbol,)) for (start, stop), symbol in runs]


class Tokens:
    """``sets[which[j]]`` are the symbols at position ``j``; set number 0 are all of them. Markers are symbols, too.
    ``answers`` are positions with another set: the cases of a tree share ``which``."""

    def __init__(self, symbols: int, which: I32, sets: list[Sequence[int]], answers: dict[int, int]) -> None:
        self.symbols, self.which, self.sets, self.answers = symbols, which, sets, answers

    @staticmethod
    def make(n: int, symbols: int, cells: Iterable[Cell], pinned: Mapping[int, int]) -> "Tokens":
        """The tokens of a context; ``cells``: where symbols are allowed, in disjoint runs. Cost: n, and the runs."""
        found = Tokens(symbols, np.zeros(n, dtype=np.int32), [range(symbols)], {})
        numbers: dict[tuple[int, ...], int] = {}
        for start, stop, allowed in [*cells, *((at, at + 1, (value,)) for at, value in pinned.items())]:
            if allowed not in numbers:
                numbers[allowed] = len(found.sets)
                found.sets.append(allowed)
            found.which[start:stop] = numbers[allowed]
        return found

    def answered(self, path: Mapping[int, int]) -> "Tokens":
        """The tokens where some positions have one symbol each."""
        sets = [*self.sets, *((symbol,) for symbol in path.values())]
        answers = {at: number for number, at in enumerate(path, len(self.sets))}
        return Tokens(self.symbols, self.which, sets, {**self.answers, **answers})

    def at(self, j: int) -> Sequence[int]:
        """The symbols at a position. Gives values of ``token``, ascending."""
        return self.sets[self.answers.get(j, int(self.which[j]))]

    def numbers(self, places: I64) -> I32:
        """The numbers of the sets at some positions. ``places``: positions, int64."""
        found = self.which[places]
        for at, number in self.answers.items():
            found[places == at] = number
        return found

    @cached_property
    def _sizes(self) -> I64:
        """The sizes of the sets, and 2 for all symbols: of one symbol alone the kernel says that it is free."""
        return np.array([2, *(len(allowed) for allowed in self.sets[1:])], dtype=np.int64)

    def free(self, places: I64) -> I64:
        """Which of some positions are not fixed. ``places``: positions, int64."""
        found: I64 = places[self._sizes[self.numbers(places)] != 1]
        return found

    def values(self) -> Values:
        """The possible symbols of all positions, for a row scan. Cost: n, and the sets of single positions."""
        positions = np.union1d(np.flatnonzero(self.which), np.fromiter(self.answers, dtype=np.int64))
        which = self.numbers(positions)
        sizes = np.array([0, *(len(allowed) for allowed in self.sets[1:])], dtype=np.int64)
        flat = np.array([value for allowed in self.sets[1:] for value in allowed], dtype=np.int64)
        starts, ptr = offsets(sizes)[:-1], offsets(sizes[which])
        inner = np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes[which])
        return Values(self.symbols, positions, ptr, flat[np.repeat(starts[which], sizes[which]) + inner])
