"""Integer arrays: the types, the limits of 64 bits, and compressed rows. A *compressed* family of rows is ``(ptr,
items)``: row ``r`` is ``items[ptr[r] : ptr[r + 1]]``, with ``ptr[0] = 0``. This is the layout that every kernel
takes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I16 = NDArray[np.int16]
I8 = NDArray[np.int8]
U8 = NDArray[np.uint8]
Ints = NDArray[np.integer]
Bools = NDArray[np.bool_]
F64 = NDArray[np.float64]

MIN64, MAX64 = -(2**63), 2**63 - 1
FREE_INPUT = -1
"""What stands for a free input in an array of symbol indices."""


def offsets(sizes: ArrayLike) -> I64:
    """The row pointers of compressed rows. ``sizes``: the rows' lengths, shape (rows,), each at least 0. Gives int64,
    shape (rows + 1,): 0, then the running sums. Cost linear."""
    counts = np.asarray(sizes, dtype=np.int64)
    found = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def take_rows(ptr: I64, rows: I64) -> I64:
    """The indices of the items of some rows, row after row: ``items[take_rows(ptr, rows)]`` are their items. ``ptr``:
    row pointers, shape (all rows + 1,). ``rows``: row numbers, shape (m,), in any order, repeated or not. Gives int64
    indices into the items. Cost linear in the answer."""
    sizes = ptr[rows + 1] - ptr[rows]
    starts = np.repeat(ptr[rows] - offsets(sizes)[:-1], sizes)
    return starts + np.arange(len(starts), dtype=np.int64)


def distinct(values: I64) -> I64:
    """The different numbers among many, ascending; by sorting, which is far faster than numpy's ``unique``, a hash."""
    ordered = np.sort(values)
    first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    found: I64 = ordered[first]
    return found


def numbered(codes: I64, most: int) -> tuple[I64, I64]:
    """The different numbers among many, and for each of the many its place among the different ones. ``codes``:
    integers 0 .. most - 1, shape (m,). ``most``: all codes are below it. Gives (the different ones, ascending; for each
    code its place among them, shape (m,)). Cost: linear in m where ``most`` is at most 8 m, else that of sorting."""
    if most > 8 * len(codes):
        names, number = np.unique(codes, return_inverse=True)
        return names, number.reshape(-1)
    present = np.zeros(most, bool)
    present[codes] = True
    places: I64 = np.cumsum(present) - 1
    return np.flatnonzero(present), places[codes]


def symbols_set(literals: I64, inputs: int, symbols: int) -> I64:
    """The symbol of each input that literals ``input * symbols + symbol`` set, shape (inputs,); else ``FREE_INPUT``."""
    found = np.full(inputs, FREE_INPUT, np.int64)
    found[literals // symbols] = literals % symbols
    return found


def digits(numbers: I64, base: int, m: int) -> I64:
    """The ``m`` digits of each number 0..base^m - 1, the first most significant: int64, shape (count, m)."""
    powers = np.array([base**p for p in range(m - 1, -1, -1)], dtype=np.int64)
    return np.asarray(numbers)[:, None] // powers % base


def all_words(symbols: int, n: int, start: int = 0, stop: int | None = None) -> I64:
    """Words of one length in lexicographic order, the numbers ``start`` to ``stop`` - 1 (default: all), as int64 symbol
    indices, shape (stop - start, n)."""
    return digits(np.arange(start, symbols**n if stop is None else stop, dtype=np.int64), symbols, n)


def word_chunks(symbols: int, n: int, most: int = 1 << 12, first: int = 1 << 12) -> Iterator[I64]:
    """:func:`all_words`, at most so many at a time; from ``first`` on each time twice as many."""
    start, size = 0, min(first, most)
    while start < symbols**n:
        yield all_words(symbols, n, start, min(symbols**n, start + size))
        start, size = start + size, min(2 * size, most)


def bits_of(mask: int) -> I64:
    """The numbers of the bits that are set in an integer of any size, ascending."""
    raw = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))
