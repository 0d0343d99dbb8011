"""Kernels of the decimation of the covering problem: belief propagation, and setting the surest literals. Notation:
:mod:`restrict.kernels.cover_state`; cubes of one literal only."""

from __future__ import annotations

from math import exp, log

import numpy as np

from restrict.base.arrays import F64, I64
from restrict.kernels.jit import kernel, making_kernel


@making_kernel
def believe(
    pair_ptr: I64, pair_lit: I64, symbols: int, price: float, sweeps: int, captured: I64, decided: I64,
    absent: F64, others: F64, push: F64, belief: F64,
) -> None:  # fmt: skip
    """Belief propagation under the weight ``exp(-price * number of set inputs)``, hard "every pair is captured". One
    message each way per entry (pair, literal) of ``pair_lit``: ``absent`` = P(the literal does not hold, without this
    pair), damped by one half, and ``others`` = P(another literal captures the pair). ``push[l]`` sums ``-log others``
    over the uncaptured pairs of ``l``; ``belief[l]`` is the marginal of ``l``, 0 where it captures no more."""
    weight, room = np.zeros(belief.shape[0]), np.ones(decided.shape[0])
    for _ in range(sweeps):
        for j in range(decided.shape[0]):
            if decided[j] == 1:
                continue
            room[j] = 1.0
            for l in range(j * symbols, (j + 1) * symbols):
                weight[l] = exp(min(push[l] - price, 60.0)) if push[l] > 0.0 else 0.0
                room[j] += weight[l]
            for l in range(j * symbols, (j + 1) * symbols):
                belief[l] = weight[l] / room[j]
        push[:] = 0.0
        for p in range(pair_ptr.shape[0] - 1):
            if captured[p] == 1:
                continue
            total = 1.0
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                l = pair_lit[t]
                if decided[l // symbols] == 1:
                    absent[t] = 1.0
                else:
                    here = weight[l] * others[t]
                    holds = here / (here + room[l // symbols] - weight[l])
                    absent[t] = max(1e-9, 0.5 * (absent[t] + 1.0 - holds))
                total *= absent[t]
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                others[t] = max(1e-12, 1.0 - total / absent[t])
                push[pair_lit[t]] += max(1e-300, -log(others[t]))


@kernel
def decide(
    chosen: I64, lit_ptr: I64, lit_pair: I64, symbols: int, captured: I64, decided: I64, belief: F64, assignment: I64
) -> int:
    """Set the literals of ``chosen`` that still capture a pair; returns how many pairs they capture."""
    before = int(np.sum(captured))
    for l in chosen:
        j, useful = l // symbols, False
        for t in range(lit_ptr[l], lit_ptr[l + 1]):
            useful = useful or captured[lit_pair[t]] == 0
        if decided[j] == 1 or not useful:
            continue
        decided[j], assignment[j] = 1, l % symbols
        belief[j * symbols : (j + 1) * symbols] = -1.0
        for t in range(lit_ptr[l], lit_ptr[l + 1]):
            captured[lit_pair[t]] = 1
    return int(np.sum(captured)) - before
