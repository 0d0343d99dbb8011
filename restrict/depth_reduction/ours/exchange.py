"""Capture by exchange on the real objective: how many inputs each *position* depends on, not each pair.

Stage 3 bounds the list of every pair (head, query value) by the same k. What counts is the union over the heads and
query values of a position, so short lists can make up for long ones. The search keeps a fixed number of set inputs and
exchanges them (:mod:`restrict.kernels.exchange`): it takes a position with many dependencies, fixes the best of a
sample of the inputs that its lists hold, and frees the set input whose loss costs least. The objective is the sum over
the positions of ``phi(dependencies)``; ``phi`` is exponential with scale ``tau``: with a small tau the maximum counts,
with a large one the mean. Like the covering solvers it is untrusted: what it finds is measured by collapsing the layer.

It is for heads whose keys are single inputs (the tokens), where fixing is forcing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restrict.base.arrays import F64, FREE_INPUT, I32, I64, offsets
from restrict.base.deadline import NEVER, Deadline
from restrict.kernels import exchange as kernels
from restrict.kernels.cover_literals import greedy_literals
from restrict.kernels.cover_state import Literals
from restrict.rows.lists import Lists

TRY_PUT, TRY_DROP, TABU = 48, 128, 10
"""Literals and set inputs sampled in a step, and the steps for which an exchanged input rests (fewer for small
budgets)."""
LONGEST_OF = 12
"""A step shortens the longest of this many groups, where it does not take the longest of all."""
BLOCK = 250
PUT, DROP, TURNS = 0.01, 0.35, 30
"""In a round of annealing: the part of all literals, with the greatest gains, and of the set ones, with the least
losses, that exchanges are drawn from, and how many exchanges are drawn for each of the first."""
POOL, AFRESH = 10, 8
"""Between two rounds that compute the gains of all literals, every eighth, those of so many times the first suffice."""
HEAT = 0.15
"""The temperature of the first round, in parts of the objective for each set input."""
CLIFF = 1e200


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of all heads of a layer as lists of literals (module :mod:`restrict.kernels.exchange`)."""

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
            ends = offsets(sizes)
            items = np.repeat(lists.start[lists.row_list] - ends[:-1], sizes) + np.arange(ends[-1])
            found = literal[lists.j[items], lists.w[items]]
            kept = offsets(found >= 0)[ends]
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

    @cached_property
    def arrays(self) -> kernels.RowArrays:
        """The rows as the kernels take them, with where each literal stands and what it guards."""
        count = self.inputs * self.symbols
        occ_ptr = offsets(np.bincount(self.row_lit, minlength=count))
        occ_row, occ_rank = np.empty((2, len(self.row_lit)), np.int32)
        kernels.occurrences(self.row_ptr, self.row_lit, occ_ptr, occ_row, occ_rank)
        guarded = np.flatnonzero(self.guard >= 0)
        groups = max(self.inputs, int(self.group.max(initial=0)) + 1)
        return kernels.RowArrays(
            self.symbols, self.row_ptr, self.row_lit, self.group, self.guard, occ_ptr, occ_row, occ_rank,
            offsets(np.bincount(self.guard[guarded], minlength=count)),
            guarded[np.argsort(self.guard[guarded], kind="stable")],
            offsets(np.bincount(self.group, minlength=groups)), np.argsort(self.group, kind="stable"),
        )  # fmt: skip

    def start(self, budget: int, k: int, rng: np.random.Generator) -> I64:
        """Greedy cover of the first ``k`` literals of every row by at most ``budget`` inputs: (inputs,), -1 = free."""
        count = self.inputs * self.symbols
        sizes = np.minimum(np.diff(self.row_ptr), k)
        ptr = offsets(sizes)
        part = np.repeat(self.row_ptr[:-1] - ptr[:-1], sizes) + np.arange(ptr[-1])
        flat = self.row_lit[part].astype(np.int64)
        order = np.argsort(flat, kind="stable")
        lit_ptr = offsets(np.bincount(flat, minlength=count))
        owner = np.repeat(np.arange(len(sizes)), sizes)[order]
        chosen = np.zeros(self.inputs, np.int64)
        literals = Literals(self.symbols, ptr, flat, lit_ptr, owner)
        found = greedy_literals(literals, rng.permutation(count), budget, chosen)
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
        self.arrays = rows.arrays
        groups = len(self.arrays.group_ptr) - 1
        self.search = kernels.ExchangeState(
            np.zeros(rows.inputs * rows.symbols, np.int64), np.zeros((3, rows.count), np.int64),
            np.zeros(groups, np.int64), np.zeros(rows.inputs + 1, np.int64), np.full(rows.inputs, -1),
            np.full(rows.inputs, -1000), np.zeros(3, np.int64),
        )  # fmt: skip

    @property
    def total(self) -> I64:
        """The sum of the lengths of each group's rows that count, shape (groups,)."""
        return self.search.total

    @property
    def held(self) -> I64:
        """The literals that are set now."""
        return self.search.held[: self.search.state[kernels.COUNT]]

    def load(self, symbols: I64) -> None:
        """Start from an assignment.

        ``symbols``: the symbol of each input, -1 = free, shape (inputs,).
        """
        s, search = self.rows.symbols, self.search
        lits = np.full((self.rows.inputs, s), kernels.OPEN)
        fixed = np.flatnonzero(symbols != FREE_INPUT)
        lits[fixed] = kernels.DEAD
        lits[fixed, symbols[fixed]] = kernels.HIT
        search.lits[:], search.held[:], search.place[:], search.stamp[:] = lits.reshape(-1), 0, -1, -1000
        search.held[: len(fixed)] = fixed * s + symbols[fixed]
        search.place[fixed] = np.arange(len(fixed))
        search.state[:] = len(fixed), 0, 0
        kernels.begin(self.arrays, search)

    def run(self, phi: F64, steps: int, deadline: Deadline = NEVER, groups: int = LONGEST_OF) -> I64:
        """Exchange for a number of steps.

        ``phi``: the objective of a group by its length, shape (longest + 2,); ``steps``: how many; in blocks of
        :data:`BLOCK`, at least one; ``groups``: three times in four, the group with the most dependencies of this many
        (1 .. 12) is shortened. Gives the best assignment under ``phi``: the symbol of each input, -1 = free.
        """
        best, values = self._now(phi)
        limits = kernels.Limits(self.budget, TRY_PUT, TRY_DROP, min(TABU, self.budget // 4), groups)
        for _ in range(max(1, steps // BLOCK)):
            random = self.rng.integers(0, 1 << 62, BLOCK * (2 + TRY_PUT))
            kernels.exchange(self.arrays, self.search, phi, limits, random, best, values)
            if deadline.passed:
                break
        return best

    def anneal(self, phi: F64, rounds: int, deadline: Deadline = NEVER) -> I64:
        """Simulated annealing, from what is set now: a local search for the end, where few exchanges help.

        At the start of a round the gains of literals and the losses of all set ones are computed; the round draws
        exchanges from the most promising ones. The temperature falls to 0 from round to round. ``phi``: the objective
        of a group by its length, shape (longest + 2,). Gives the best assignment under ``phi``: the symbol of each
        input, -1 = free.
        """
        best, values = self._now(phi)
        literals, held, count = np.arange(len(self.search.lits)), self.held, len(self.held)
        pool = literals
        put, drop, losses = max(1, round(PUT * len(literals))), max(1, round(DROP * count)), np.empty(count)
        for turn in range(rounds if count else 0):
            pool = literals if turn % AFRESH == 0 else pool[: POOL * put]
            gains = np.empty(len(pool))
            kernels.weigh(self.arrays, self.search, phi, pool, gains, losses)
            pool = pool[np.argsort(-gains, kind="stable")]
            cheap = held[np.argsort(losses, kind="stable")[:drop]]
            heat = HEAT * values[0] / count * (1 - turn / rounds)
            drawn = (pool[self.rng.integers(0, put, TURNS * put)], cheap[self.rng.integers(0, drop, TURNS * put)])
            allowed = heat * self.rng.exponential(size=TURNS * put)
            kernels.anneal(self.arrays, self.search, phi, *drawn, allowed, best, values)
            if deadline.passed:
                break
        return best

    def _now(self, phi: F64) -> tuple[I64, F64]:
        """What is set now as an assignment, and its objective as that of the state and the best."""
        rows, held = self.rows, self.held
        best = np.full(rows.inputs, FREE_INPUT, np.int64)
        best[held // rows.symbols] = held % rows.symbols
        value = float(phi[self.total].sum())
        return best, np.array([value, value if len(held) <= self.budget else np.inf])
