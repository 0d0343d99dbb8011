"""Capture by exchange on the real objective: how many inputs each *position* depends on, not each pair.

Stage 3 bounds the list of every pair (head, query value) by the same k. What counts is the union over the heads and
query values of a position, so short lists may pay for long ones. The search keeps a fixed number of set inputs and
exchanges them (:mod:`restrict.kernels.balance`): it takes a position with many dependencies, fixes the best of a sample
of the inputs that its lists hold, and frees the set input that is missed least. The objective is the sum over the
positions of ``phi(dependencies)``; ``phi`` is exponential with scale ``tau``: small tau presses the maximum, large tau
the mean. Like the covering solvers it is untrusted: what it finds is measured by collapsing the layer.

It is for heads whose keys are single inputs (the tokens), where fixing is forcing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from restrict.arrays import F64, I32, I64
from restrict.deadline import NEVER, Deadline
from restrict.depth_reduction.lists import Lists
from restrict.kernels import balance as kernels
from restrict.kernels.cover import greedy_literals

TRY_PUT, TRY_DROP, TABU = 48, 128, 10
"""Literals and set inputs sampled in a step, and the steps for which an exchanged input rests (fewer for small
budgets)."""
BLOCK = 250
CLIFF = 1e200


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of all heads of a layer as lists of literals (module :mod:`restrict.kernels.balance`)."""

    inputs: int
    symbols: int
    row_ptr: I64
    row_lit: I32
    group: I64
    guard: I64
    longest: int

    @staticmethod
    def of(inputs: int, symbols: int, heads: Sequence[tuple[Lists, I64, I64 | None]]) -> Rows:
        """From (lists, literals, guards) of each head: ``literals`` (n, domain) names the literal of a key value at a
        position, -1 where it is constant (that ends the list anyway); ``guards`` the same for its query values."""
        pointers, literals, groups, guards, end = [np.zeros(1, np.int64)], [], [], [], 0
        for lists, literal, guard in heads:
            sizes = (lists.stop - lists.start)[lists.row_list]
            ends = np.cumsum(sizes)
            at = np.repeat(lists.start[lists.row_list] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
            found = literal[lists.j[at], lists.w[at]]
            kept = np.concatenate(([0], np.cumsum(found >= 0)))[np.concatenate(([0], ends))]
            pointers.append(kept[1:] + end)
            literals.append(found[found >= 0])
            groups.append(lists.row_i)
            guards.append(np.full(lists.rows, -1) if guard is None else guard[lists.row_i, lists.row_u])
            end += int(kept[-1])
        row_ptr, flat, group = np.concatenate(pointers), np.concatenate(literals), np.concatenate(groups)
        lengths = np.bincount(group, weights=np.diff(row_ptr), minlength=1)
        return Rows(inputs, symbols, row_ptr, flat.astype(np.int32), group, np.concatenate(guards), int(lengths.max()))

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.group)

    def occurrences(self) -> tuple[I64, I32, I32]:
        """(pointers by literal, rows, ranks): where each literal stands."""
        occ_ptr = np.concatenate(([0], np.cumsum(np.bincount(self.row_lit, minlength=self.inputs * self.symbols))))
        occ_row, occ_rank = np.empty((2, len(self.row_lit)), np.int32)
        kernels.occurrences(self.row_ptr, self.row_lit, occ_ptr, occ_row, occ_rank)
        return occ_ptr, occ_row, occ_rank

    def guarded(self) -> tuple[I64, I64]:
        """(pointers by literal, rows): the rows that each literal guards."""
        found = np.flatnonzero(self.guard >= 0)
        counts = np.bincount(self.guard[found], minlength=self.inputs * self.symbols)
        return np.concatenate(([0], np.cumsum(counts))), found[np.argsort(self.guard[found], kind="stable")]

    def start(self, budget: int, k: int, rng: np.random.Generator) -> I64:
        """Greedy cover of the first ``k`` literals of every row by at most ``budget`` inputs: (inputs,), -1 = free."""
        count = self.inputs * self.symbols
        sizes = np.minimum(np.diff(self.row_ptr), k)
        ptr = np.concatenate(([0], np.cumsum(sizes)))
        part = np.repeat(self.row_ptr[:-1] - ptr[:-1], sizes) + np.arange(ptr[-1])
        flat = self.row_lit[part].astype(np.int64)
        order = np.argsort(flat, kind="stable")
        lit_ptr = np.concatenate(([0], np.cumsum(np.bincount(flat, minlength=count))))
        owner = np.repeat(np.arange(len(sizes)), sizes)[order]
        chosen = np.zeros(self.inputs, np.int64)
        found = greedy_literals(ptr, flat, lit_ptr, owner, self.symbols, rng.permutation(count), budget, chosen)
        out = np.full(self.inputs, -1, np.int64)
        out[chosen[:found] // self.symbols] = chosen[:found] % self.symbols
        return out


def exponential(tau: float, size: int, linear: float = 0.0) -> F64:
    """``phi[x] = exp(x / tau) + linear * x`` for x below ``size``, flat beyond what floats hold."""
    x = np.arange(size, dtype=np.float64)
    return np.minimum(np.exp(np.minimum(x / tau, 450.0)), CLIFF) + linear * x


def walled(wall: int, size: int) -> F64:
    """``phi[x] = x + exp((x - wall) / 2)``: the mean below the wall, the maximum beyond it."""
    x = np.arange(size, dtype=np.float64)
    return x + np.minimum(np.exp(np.minimum((x - wall) / 2, 450.0)), CLIFF)


@dataclass(eq=False)
class Exchange:
    """One search: arrays of the kernels, and the best assignment so far."""

    rows: Rows
    budget: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        rows = self.rows
        count = rows.inputs * rows.symbols
        self.occ_ptr, self.occ_row, self.occ_rank = rows.occurrences()
        self.guard_ptr, self.guard_row = rows.guarded()
        self.group_row = np.argsort(rows.group, kind="stable")
        groups = max(rows.inputs, int(rows.group.max(initial=0)) + 1)
        self.group_ptr = np.concatenate(([0], np.cumsum(np.bincount(rows.group, minlength=groups))))
        self.lits = np.zeros(count, np.int64)
        self.state_rows, self.total = np.zeros((3, len(rows.group)), np.int64), np.zeros(groups, np.int64)

    def load(self, symbols: I64) -> None:
        """Start from an assignment (inputs,), -1 = free."""
        rows, s = self.rows, self.rows.symbols
        lits = np.zeros((rows.inputs, s), np.int64)
        fixed = np.flatnonzero(symbols >= 0)
        lits[fixed] = kernels.DEAD
        lits[fixed, symbols[fixed]] = kernels.HIT
        self.lits[:] = lits.reshape(-1)
        self.held, self.where = np.zeros(rows.inputs + 1, np.int64), np.full(rows.inputs, -1)
        self.held[: len(fixed)], self.where[fixed] = fixed * s + symbols[fixed], np.arange(len(fixed))
        self.stamp, self.state = np.full(rows.inputs, -1000), np.array([len(fixed), 0, 0])
        kernels.begin(
            rows.row_ptr, rows.row_lit, rows.group, rows.guard, self.lits, self.state_rows, self.total, self.state
        )

    def run(self, phi: F64, steps: int, deadline: Deadline = NEVER) -> I64:
        """Exchange for ``steps`` steps; returns the best assignment under ``phi``."""
        rows = self.rows
        best = np.full(rows.inputs, -1, np.int64)
        held = self.held[: self.state[kernels.COUNT]]
        best[held // rows.symbols] = held % rows.symbols
        value = float(phi[self.total].sum())
        values = np.array([value, value if self.state[kernels.COUNT] <= self.budget else np.inf])
        for _ in range(max(1, steps // BLOCK)):
            random = self.rng.integers(0, 1 << 62, BLOCK * (2 + TRY_PUT))
            kernels.exchange(
                rows.symbols, rows.row_ptr, rows.row_lit, rows.group, self.group_ptr, self.group_row, self.occ_ptr,
                self.occ_row, self.occ_rank, self.guard_ptr, self.guard_row, rows.guard, phi, self.budget, random,
                TRY_PUT, TRY_DROP, min(TABU, self.budget // 4), self.lits, self.state_rows, self.total, self.held,
                self.where, self.stamp, self.state, best, values,
            )  # fmt: skip
            if deadline.passed:
                break
        return best
