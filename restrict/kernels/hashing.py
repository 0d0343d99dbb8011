"""Open hash tables of keys and of rows, for kernels. A look-up compares what it finds, so hashes only save time."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from restrict.base.arrays import I32, I64
from restrict.kernels.jit import kernel, making_kernel

Row = TypeVar("Row", I32, I64)
MULTIPLY, SHIFT, ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(29), np.uint64(1)


@kernel
def mix(h: int, a: int) -> int:
    """One step of a 63-bit hash, for ``h >= 0`` and ``a >= -1``. Unsigned, since signed overflow is undefined."""
    z = np.uint64(h) ^ (np.uint64(a + 1) * MULTIPLY)
    z = (z ^ (z >> SHIFT)) * MULTIPLY
    z = (z ^ (z >> SHIFT)) * MULTIPLY
    return np.int64((z ^ (z >> SHIFT)) >> ONE)  # type: ignore[return-value]


@kernel
def row_slot(slots: I32, rows: I32, row: I32, h: int) -> int:
    """The slot of a row in an open table of row numbers, or the empty slot where it belongs."""
    size = len(slots) - 1
    at = h & size
    while slots[at] >= 0:
        same = True
        other = rows[slots[at]]
        for c in range(len(row)):
            if other[c] != row[c]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & size
    return at


@kernel
def hash_row(row: I32) -> int:
    """A hash of a row."""
    z = np.uint64(0x9E3779B9)
    for c in range(len(row)):
        z = (z ^ np.uint64(row[c] + 1)) * MULTIPLY
        z = z ^ (z >> SHIFT)
    return np.int64(z >> ONE)  # type: ignore[return-value]


@making_kernel
def rehash_rows(rows: I32, count: int, size: int) -> I32:
    """A table of ``size`` slots for the first ``count`` rows."""
    slots = np.full(size, -1, dtype=np.int32)
    for r in range(count):
        slots[row_slot(slots, rows, rows[r], hash_row(rows[r]))] = r
    return slots


@making_kernel
def longer(row: Row, size: int) -> Row:
    """A copy with room for more (element by element: slice assignment is slow to compile)."""
    out = np.empty(size, dtype=row.dtype)
    for c in range(len(row)):
        out[c] = row[c]
    return out


@making_kernel
def taller(rows: I32, size: int) -> I32:
    """A copy of a table with room for more rows, which hold -1."""
    out = np.empty((size, rows.shape[1]), dtype=np.int32)
    for r in range(size):
        for c in range(rows.shape[1]):
            out[r, c] = rows[r, c] if r < len(rows) else -1
    return out


@kernel
def assign(rows: I32, at: int, row: I32) -> None:
    """Put a row into a table."""
    for c in range(len(row)):
        rows[at, c] = row[c]
