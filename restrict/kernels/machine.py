"""A register machine for integer expressions over blocks of elements.

One compiled kernel runs every expression of every model, so a program of forty heads costs one compilation, not forty.
The loop over blocks is in Python: LLVM would copy this kernel into every kernel that calls it and compile it again,
about a second each time.

Register ``r`` of a block of ``m`` elements is ``regs[r, :m]``; each instruction is a loop over the block that LLVM
vectorises. The opcodes are :data:`restrict.model.code.OPCODES`, checked against this file by a test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.kernels.jit import kernel, sized_kernel

BLOCK = 8192
"""Elements per block: with few registers a block stays within the second-level cache, and the call costs little in
comparison."""

LOW32 = np.int64(0xFFFFFFFF)
HALF = np.int64(0x7FFFFFFFFFFFFFFF)
MULTIPLIER = np.int64(0xD6E8FEB86659FD93 - 2**64)


@kernel
def integer_root(x: np.int64) -> np.int64:
    """Exact integer square root of ``x >= 0``: the floating-point root, corrected."""
    r = np.int64(np.sqrt(np.float64(x)))
    while r > 0 and r > x // r:
        r -= 1
    while r + 1 <= x // (r + 1):
        r += 1
    return r


def _root(x: I64) -> I64:
    """The exact integer square root of each entry."""
    r = np.sqrt(x.astype(np.float64)).astype(np.int64)
    while (high := (r > 0) & (r > x // np.maximum(r, 1))).any():
        r -= high
    while (low := r + 1 <= x // (r + 1)).any():
        r += low
    return r


def hashed(x: I64) -> I64:
    """An array multiplied, its high half mixed into the low one."""
    h = x * MULTIPLIER
    high = h >> 32
    high &= LOW32
    h ^= high
    return np.asarray(h)


def hashed_scores(seed: int | I64, j: I64, w: I64) -> I64:
    """The scores ``hash(..., j, k)`` of some pairs, from the hash state before ``j``."""
    return scores_after(hashed(j ^ seed), w)


def scores_after(state: I64, w: I64) -> I64:
    """The scores of some pairs, from the hash states after their positions."""
    scores = hashed(hashed(state ^ w))
    scores >>= 1
    scores &= HALF
    return scores


WITH_NUMPY: dict[int, Callable[[I64, I64, I64], Any]] = {
    0: lambda a, b, c: a + b,
    1: lambda a, b, c: a - b,
    2: lambda a, b, c: a * b,
    3: lambda a, b, c: a // b,
    4: lambda a, b, c: a % b,
    5: lambda a, b, c: np.minimum(a, b),
    6: lambda a, b, c: np.maximum(a, b),
    7: lambda a, b, c: np.abs(a),
    8: lambda a, b, c: _root(a),
    9: lambda a, b, c: a == b,
    10: lambda a, b, c: a != b,
    11: lambda a, b, c: a < b,
    12: lambda a, b, c: a <= b,
    13: lambda a, b, c: np.where(a != 0, b, c),
    14: lambda a, b, c: hashed(a ^ b),
    15: lambda a, b, c: (hashed(a) >> 1) & HALF,
}
"""The instructions with numpy: a microsecond for each and, for a whole block, little more than the kernel takes."""


def run_block_with_numpy(code: I64, tables: I64, regs: I64, m: int) -> None:
    """As :func:`run_block`, without compilation."""
    for op, d, a, b, c in code.tolist():
        if op in WITH_NUMPY:
            regs[d, :m] = WITH_NUMPY[op](regs[a, :m], regs[b, :m], regs[c, :m])
        else:
            regs[d, :m] = tables[b + regs[a, :m]]


@sized_kernel(reads=lambda code, tables, regs, m: code.shape[0] * m // 10, plainly=run_block_with_numpy)
def run_block(code: I64, tables: I64, regs: I64, m: int) -> None:
    """Run all instructions on the first ``m`` elements of the registers."""
    for p in range(code.shape[0]):
        op, d, a, b, c = code[p, 0], code[p, 1], code[p, 2], code[p, 3], code[p, 4]
        if op == 0:
            for t in range(m):
                regs[d, t] = regs[a, t] + regs[b, t]
        elif op == 1:
            for t in range(m):
                regs[d, t] = regs[a, t] - regs[b, t]
        elif op == 2:
            for t in range(m):
                regs[d, t] = regs[a, t] * regs[b, t]
        elif op == 3:
            for t in range(m):
                regs[d, t] = regs[a, t] // regs[b, t]
        elif op == 4:
            for t in range(m):
                regs[d, t] = regs[a, t] % regs[b, t]
        elif op == 5:
            for t in range(m):
                regs[d, t] = min(regs[a, t], regs[b, t])
        elif op == 6:
            for t in range(m):
                regs[d, t] = max(regs[a, t], regs[b, t])
        elif op == 7:
            for t in range(m):
                regs[d, t] = abs(regs[a, t])
        elif op == 8:
            for t in range(m):
                regs[d, t] = integer_root(regs[a, t])
        elif op == 9:
            for t in range(m):
                regs[d, t] = np.int64(regs[a, t] == regs[b, t])
        elif op == 10:
            for t in range(m):
                regs[d, t] = np.int64(regs[a, t] != regs[b, t])
        elif op == 11:
            for t in range(m):
                regs[d, t] = np.int64(regs[a, t] < regs[b, t])
        elif op == 12:
            for t in range(m):
                regs[d, t] = np.int64(regs[a, t] <= regs[b, t])
        elif op == 13:
            for t in range(m):
                regs[d, t] = regs[b, t] if regs[a, t] != 0 else regs[c, t]
        elif op == 14:
            for t in range(m):
                h = (regs[a, t] ^ regs[b, t]) * MULTIPLIER
                regs[d, t] = h ^ ((h >> 32) & LOW32)
        elif op == 15:
            for t in range(m):
                h = regs[a, t] * MULTIPLIER
                regs[d, t] = ((h ^ ((h >> 32) & LOW32)) >> 1) & HALF
        else:
            for t in range(m):
                regs[d, t] = tables[b + regs[a, t]]
