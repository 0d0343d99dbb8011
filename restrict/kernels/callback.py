"""Rows of scores given as numba functions: the loop is compiled together with the function, once per function."""

from __future__ import annotations

from collections.abc import Callable

from restrict.base.arrays import I64
from restrict.kernels.jit import caller_kernel


@caller_kernel
def tabulate_score(function: Callable[..., int], n: int, i: int, q: int, out: I64) -> None:
    """``out[j, k] = function(n, i, q, j, k)``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = function(n, i, q, j, k)
