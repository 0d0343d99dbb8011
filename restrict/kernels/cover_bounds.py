"""Kernels of the bounds on the covering problem, and of the local lemma: the packing dual, probabilities, neighbours.
Notation: :mod:`restrict.kernels.cover_state`."""

from __future__ import annotations

from math import log1p

import numpy as np

from restrict.base.arrays import F64, I64
from restrict.kernels.jit import making_kernel

OUTWARD = 2.0**-50
"""Relative outward step around a library logarithm (4 ulp; libm's error is below 1)."""


@making_kernel
def dual_steps(pair_ptr: I64, pair_lit: I64, share: F64, steps: int, x: F64, y: F64, y_sum: F64) -> None:
    """Primal-dual steps (Chambolle & Pock 2011, with the diagonal steps of Pock & Chambolle, ICCV 2011) for the LP
    ``min sum x, sum_l share[p, l] x_l >= 1, 0 <= x <= 1``; ``y`` are the pairs' multipliers, ``y_sum`` their sum over
    the steps. Pairs without entries are left alone."""
    row, column = np.zeros(y.shape[0]), np.zeros(x.shape[0])
    price, ahead = np.zeros(x.shape[0]), x.copy()
    for p in range(y.shape[0]):
        for t in range(pair_ptr[p], pair_ptr[p + 1]):
            row[p] += share[t]
            column[pair_lit[t]] += share[t]
            price[pair_lit[t]] += share[t] * y[p]
    for _ in range(steps):
        for l in range(x.shape[0]):
            if column[l] > 0.0:
                new = min(1.0, max(0.0, x[l] - (1.0 - price[l]) / column[l]))
                ahead[l], x[l] = 2.0 * new - x[l], new
        price[:] = 0.0
        for p in range(y.shape[0]):
            reach = 0.0
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                reach += share[t] * ahead[pair_lit[t]]
            if row[p] > 0.0:
                y[p] = max(0.0, y[p] + (1.0 - reach) / row[p])
                y_sum[p] += y[p]
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                price[pair_lit[t]] += share[t] * y[p]


@making_kernel
def failure_logs(
    pair_ptr: I64, cube_ptr: I64, cube_lit: I64, symbols: int, q: float, inputs: int, log_p: F64, exact: I64
) -> None:
    """``log_p[p]``: an upper bound on log P(no cube of p is satisfied), inputs independent, each symbol q / symbols.
    One-literal cubes of one input exclude each other; larger cubes are taken, in order, while they share no input with
    those taken before, so the factors are independent. ``exact[p] = 1`` when every cube was taken. Rounded outwards."""
    each = np.nextafter(q / symbols, 0.0)
    count = np.zeros(inputs, np.int64)
    for p in range(log_p.shape[0]):
        total, whole = 0.0, 1
        for c in range(pair_ptr[p], pair_ptr[p + 1]):
            if cube_ptr[c + 1] - cube_ptr[c] == 1:
                count[cube_lit[cube_ptr[c]] // symbols] += 1
        for c in range(pair_ptr[p], pair_ptr[p + 1]):
            size, hit, fresh = cube_ptr[c + 1] - cube_ptr[c], each, True
            if size == 1:
                j = cube_lit[cube_ptr[c]] // symbols
                hit, fresh = np.nextafter(count[j] * each, 0.0), count[j] > 0
                count[j] = -1
            else:
                for t in range(cube_ptr[c], cube_ptr[c + 1]):
                    fresh = fresh and count[cube_lit[t] // symbols] == 0
                for _ in range(size - 1):
                    hit = np.nextafter(hit * each, 0.0)
                if fresh:
                    for t in range(cube_ptr[c], cube_ptr[c + 1]):
                        count[cube_lit[t] // symbols] = -1
                else:
                    whole = 0
            if fresh:
                total = np.nextafter(total + log1p(-hit) * (1.0 - OUTWARD), np.inf)
        for t in range(cube_ptr[pair_ptr[p]], cube_ptr[pair_ptr[p + 1]]):
            count[cube_lit[t] // symbols] = 0
        log_p[p], exact[p] = min(0.0, total), whole


@making_kernel
def neighbour_sums(
    scope_ptr: I64, scope: I64, input_ptr: I64, input_pair: I64, cost: F64, sums: F64, degree: I64
) -> None:
    """``sums[p]`` = cost of all pairs but ``p`` that share an input with ``p``, rounded up; ``degree[p]``: how many."""
    seen = np.full(sums.shape[0], -1, np.int64)
    for p in range(sums.shape[0]):
        total, count = 0.0, 0
        seen[p] = p
        for v in range(scope_ptr[p], scope_ptr[p + 1]):
            for t in range(input_ptr[scope[v]], input_ptr[scope[v] + 1]):
                other = input_pair[t]
                if seen[other] != p:
                    seen[other] = p
                    count += 1
                    total = np.nextafter(total + cost[other], np.inf)
        sums[p], degree[p] = total, count
