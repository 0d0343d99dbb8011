"""Sets of inputs, one for each position: what an activation depends on. A set of few inputs is the list of them, and
one of n / 64 or more is a row of bits, so no family of sets takes more than n^2 / 8 bytes, and the sets of captured
heads, which are short whatever n is, take 8 bytes an input."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import I64, offsets
from restrict.base.errors import ResourceLimit
from restrict.base.options import Fact
from restrict.depth_reduction.options import THEOREM
from restrict.kernels import input_sets

MOST_BYTES: Fact[int] = 1280 << 20
"""What the sets of one variable may take: a row of bits for each of 100 000 positions takes 1192 MiB."""


@dataclass(frozen=True, eq=False)
class InputSets:
    """Set ``i`` is ``items[ptr[i] : ptr[i + 1]]``: ascending inputs, or 64-bit words where these are no more. Equal
    families have equal arrays."""

    ptr: I64
    items: I64

    # ------------------------------------------------------------ making

    @staticmethod
    def empty(n: int) -> "InputSets":
        """n empty sets."""
        return InputSets(np.zeros(n + 1, np.int64), np.empty(0, np.int64))

    @staticmethod
    def collected(n: int, fill: Callable[[int, I64, I64, I64], int]) -> "InputSets":
        """What ``fill(start, bits, out, ends)`` puts away: the sets from number ``start`` on at the beginning of
        ``out``, ends to ``ends[i]``; it returns the first for which there is no room. ``bits``: an empty row."""
        words = words_of(n)
        bits, ends, start, total = np.zeros(words, np.int64), np.zeros(n, np.int64), 0, 0
        out, parts = np.empty(min(n * words, max(words, THEOREM.buffer)), np.int64), list[tuple[int, I64]]()
        while start < n:
            start = fill(start, bits, out, ends)
            parts.append((start, out[: ends[start - 1]].copy()))
            total += len(parts[-1][1])
            refuse(n, total)
        return InputSets.joined(ends, parts)

    @staticmethod
    def joined(ends: I64, parts: list[tuple[int, I64]]) -> "InputSets":
        """From blocks of consecutive sets: the position after each, and its items; set ``i`` ends there at ``ends[i]``,
        (n,). Empties the list, so that the sets are not held twice."""
        ptr, first, total = np.append(0, ends), 0, sum(len(items) for _, items in parts)
        refuse(len(ends), total)
        found = np.empty(total, np.int64)
        parts.reverse()
        while parts:
            stop, items = parts.pop()
            found[ptr[first] : ptr[first] + len(items)] = items
            ptr[first + 1 : stop + 1] += ptr[first]
            first = stop
        return InputSets(ptr, found)

    @staticmethod
    def of_lists(ptr: I64, inputs: I64) -> "InputSets":
        """From the inputs of each set, in any order: compressed rows, a row for each of n positions."""
        given = input_sets.SetRows(ptr, inputs)
        return InputSets.collected(len(ptr) - 1, lambda *room: input_sets.pack_lists(given, *room))

    @staticmethod
    def unions(parts: "Sequence[InputSets]", kept: I64) -> "InputSets":
        """The unions of several families of n sets; empty where ``kept`` (n,) is 0."""
        found = InputSets.empty(len(kept))
        for part in parts:
            found = _united(found.arrays, part.arrays, kept)
        return found

    # ------------------------------------------------------------ asking

    @property
    def arrays(self) -> input_sets.SetRows:
        """The sets as the kernels take them."""
        return input_sets.SetRows(self.ptr, self.items)

    @property
    def words(self) -> int:
        """The words of a row of bits."""
        return words_of(len(self.ptr) - 1)

    @property
    def sizes(self) -> I64:
        """How many inputs each set holds, shape (n,)."""
        found = np.diff(self.ptr)
        dense = np.flatnonzero(found == self.words)
        ends = offsets(np.bitwise_count(self.items.view(np.uint64)))
        found[dense] = ends[self.ptr[dense + 1]] - ends[self.ptr[dense]]
        return found

    @property
    def listed(self) -> tuple[I64, I64]:
        """The inputs of every set, ascending: compressed rows."""
        ptr = offsets(self.sizes)
        inputs = np.empty(int(ptr[-1]), np.int64)
        input_sets.listed(self.arrays, ptr, inputs)
        return ptr, inputs

    def union(self, chosen: I64) -> I64:
        """The union of the sets with these numbers, a row of bits, shape (words,)."""
        into = np.zeros(self.words, np.int64)
        input_sets.union_of(self.arrays, chosen, into)
        return into

    def of(self, i: int) -> tuple[int, ...]:
        """The inputs of a set."""
        return tuple(np.flatnonzero(unpacked(self.union(np.array([i])))).tolist())

    def unpacked(self, chosen: I64) -> I64:
        """Some of the sets as rows of 0 and 1, shape (len(chosen), n); the numbers are not empty."""
        rows = np.stack([self.union(chosen[at : at + 1]) for at in range(len(chosen))])
        return unpacked(rows)[:, : len(self.ptr) - 1]

    def have(self, chosen: I64, x: int) -> I64:
        """Which of the sets with these numbers hold an input: 0 or 1 each."""
        found = np.empty(len(chosen), np.int64)
        input_sets.has(self.arrays, chosen, x, found)
        return found

    def feeds(self) -> I64:
        """In how many sets each input is, shape (n,)."""
        counts = np.zeros(len(self.ptr) - 1, np.int64)
        input_sets.feeds(self.arrays, counts)
        return counts


def _united(a: input_sets.SetRows, b: input_sets.SetRows, kept: I64) -> InputSets:
    """The unions of two families where ``kept`` is 1."""
    return InputSets.collected(len(kept), lambda *room: input_sets.unite_sets(a, b, kept, *room))


def refuse(n: int, words: int) -> None:
    """Refuse sets of so many words in all."""
    if 8 * words > MOST_BYTES:
        raise ResourceLimit(
            f"n = {n}: the sets of inputs that the positions depend on take more than {MOST_BYTES >> 20} MiB for one "
            f"variable: fix more inputs (a smaller `free`), or take n <= {int((8 * MOST_BYTES) ** 0.5)}"
        )


def unpacked(bits: I64) -> I64:
    """Sets of inputs as 0 and 1: (..., words) to int64 (..., 64 words); columns beyond the number of inputs are 0."""
    return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=-1, bitorder="little").astype(np.int64)


def words_of(n: int) -> int:
    """How many 64-bit words a set of inputs takes: n / 64, rounded up."""
    return (n + 63) // 64
