"""Capture by exchange on the real objective: how many inputs each *position* depends on, not each pair.

Stage 3 bounds the list of every pair (head, query value) by the same k. What counts is the union over the heads and
query values of a position, so short lists can make up for long ones. The search keeps a fixed number of set inputs and
exchanges them by simulated annealing (:mod:`restrict.kernels.exchange`). The objective is the sum over the positions of
``phi(dependencies)``: their mean, and beyond a wall that few positions stand above an exponential, so that the maximum
counts, too. Like the covering solvers it is untrusted: what it finds is measured by collapsing the layer.

It is for heads whose keys are single inputs (the tokens), where fixing is forcing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restrict.base.arrays import F64, FREE_INPUT, I32, I64, offsets, symbols_set, take_rows
from restrict.base.deadline import NEVER, Deadline
from restrict.base.options import Fact
from restrict.depth_reduction.options import EXCHANGE
from restrict.kernels import exchange
from restrict.kernels.cover_literals import greedy_literals
from restrict.kernels.cover_state import Literals
from restrict.rows.lists import Lists

UNIT: Fact[int] = 256
"""Objectives are integers: so many units are one dependency."""


@dataclass(frozen=True, eq=False)
class LiteralLists:
    """The rows of all heads of a layer as lists of literals (module :mod:`restrict.kernels.exchange`)."""

    inputs: int
    symbols: int
    row_ptr: I64
    row_lit: I32
    group: I64
    guard: I64
    longest: int

    @staticmethod
    def of(inputs: int, symbols: int, heads: Sequence[tuple[Lists, I64, I64 | None]]) -> "LiteralLists":
        """From (lists, literals, guards) of each head: ``literals`` (n, domain) names the literal of a key value at a
        position, -1 where it is constant (that ends the list anyway); ``guards`` the same for its query values."""
        pointers, literals, groups, guards, end = [np.zeros(1, np.int64)], [], [], [], 0
        for lists, literal, guard in heads:
            sizes = (lists.stop - lists.start)[lists.row_list]
            ends = offsets(sizes)
            items = np.repeat(lists.start[lists.row_list] - ends[:-1], sizes) + np.arange(ends[-1])
            found = literal[lists.j[items], lists.w[items]].astype(np.int32)
            kept = offsets(found >= 0)[ends]
            pointers.append(kept[1:] + end)
            literals.append(found[found >= 0])
            groups.append(lists.row_i)
            guards.append(np.full(lists.rows, -1) if guard is None else guard[lists.row_i, lists.row_u])
            end += int(kept[-1])
        row_ptr, flat, group = np.concatenate(pointers), np.concatenate(literals), np.concatenate(groups)
        order = np.argsort(group, kind="stable")  # the rows of a group side by side: steps go from one to the others
        flat, sizes = flat[take_rows(row_ptr, order)], np.diff(row_ptr)[order]
        longest = int(np.bincount(group, weights=np.diff(row_ptr), minlength=1).max())
        return LiteralLists(inputs, symbols, offsets(sizes), flat, group[order], np.concatenate(guards)[order], longest)

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.group)

    @property
    def rank(self) -> type[np.int16 | np.int32]:
        """A type for the ranks in a row."""
        return np.int16 if np.diff(self.row_ptr).max(initial=0) < 2**15 else np.int32

    @cached_property
    def arrays(self) -> exchange.LiteralRows:
        """The rows as the kernels take them, with where each literal stands and what it guards."""
        count = self.inputs * self.symbols
        occ_ptr = offsets(np.bincount(self.row_lit, minlength=count))
        occ_row, occ_rank = np.empty(len(self.row_lit), np.int32), np.empty(len(self.row_lit), self.rank)
        exchange.occurrences(self.row_ptr, self.row_lit, occ_ptr, occ_row, occ_rank)
        guarded = np.flatnonzero(self.guard >= 0)
        groups = max(self.inputs, int(self.group.max(initial=0)) + 1)
        return exchange.LiteralRows(
            self.symbols, self.row_ptr, self.row_lit, self.group, self.guard, occ_ptr, occ_row, occ_rank,
            offsets(np.bincount(self.guard[guarded], minlength=count)),
            guarded[np.argsort(self.guard[guarded], kind="stable")],
            offsets(np.bincount(self.group, minlength=groups)),
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
        return symbols_set(chosen[:found], self.inputs, self.symbols)


def walled(wall: int, size: int) -> I64:
    """``x + exp((x - wall) / 2)`` in units, straight where too steep: the mean counts below the wall, then the
    maximum."""
    x = np.arange(size, dtype=np.float64)
    over = (x - wall) / 2
    beyond = np.exp(np.minimum(over, EXCHANGE.steep)) * (1 + np.maximum(over - EXCHANGE.steep, 0))
    table: I64 = np.rint(UNIT * (x + beyond)).astype(np.int64)
    return table


@dataclass(eq=False)
class ExchangeSearch:
    """One search: arrays of the kernels, and what is set now."""

    rows: LiteralLists
    budget: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        rows = self.rows
        self.arrays = rows.arrays
        literals, groups = rows.inputs * rows.symbols, len(self.arrays.group_ptr) - 1
        self.search = exchange.ExchangeState(
            np.zeros(literals, np.int8), np.zeros((rows.count, 8), np.int32), np.zeros(rows.count, rows.rank),
            np.zeros(groups, np.int64),
            np.zeros(literals, np.int64), np.zeros(rows.inputs, np.int64), np.zeros(rows.inputs, np.int64),
            np.zeros(rows.inputs + 1, np.int64), np.full(rows.inputs, -1), np.zeros(3, np.int64),
            np.zeros(groups, np.int8),
        )  # fmt: skip
        self.touched = np.zeros(rows.count, np.int64)

    @property
    def total(self) -> I64:
        """The sum of the lengths of each group's rows that count, shape (groups,)."""
        return self.search.total

    @property
    def symbols(self) -> I64:
        """What is set now: the symbol of each input, -1 = free."""
        held = self.search.held[: self.search.state[exchange.COUNT]]
        return symbols_set(held, self.rows.inputs, self.rows.symbols)

    def load(self, symbols: I64, closed: Sequence[int] = ()) -> None:
        """Start from an assignment: the symbol of each input, -1 = free, shape (inputs,). ``closed``: inputs that stay
        as they are, fixed before or markers; no row has a literal of theirs."""
        s, search = self.rows.symbols, self.search
        lits = np.full((self.rows.inputs, s), exchange.OPEN, np.int8)
        lits[np.asarray(closed, np.int64)] = exchange.DEAD
        fixed = np.flatnonzero(symbols != FREE_INPUT)
        lits[fixed] = exchange.DEAD
        lits[fixed, symbols[fixed]] = exchange.HIT
        search.lits[:], search.held[:], search.place[:] = lits.reshape(-1), 0, -1
        search.held[: len(fixed)] = fixed * s + symbols[fixed]
        search.place[fixed] = np.arange(len(fixed))
        search.state[:] = len(fixed), self.rng.integers(1, 1 << 62), 0
        nothing = exchange.ExchangeLimits(self.budget, 1, 1, 0)
        self._anneal(np.arange(self.rows.longest + 2), nothing, 0, np.ones(4))

    def run(self, phi: I64 | None, deadline: Deadline = NEVER, maximum: bool = False) -> I64:
        """Simulated annealing from what is set now. ``phi``: the objective of a group by its length, shape (longest +
        2,); without it the mean length, under a wall that comes down with the lengths. Gives the best assignment after
        a round, with ``maximum`` that of the least maximum, then mean: the symbol of each input, -1 = free."""
        held = max(1, int(self.search.state[exchange.COUNT]))
        few = min(4 + len(self.total) // EXCHANGE.above, len(self.total))
        size, wall, best, least = self.rows.longest + 2, self.rows.longest, self.symbols, self.total.copy()
        puts, drops = max(2, min(EXCHANGE.puts, len(self.search.lits) // 50)), max(1, min(EXCHANGE.drops, held // 4))
        for turn in range(EXCHANGE.rounds if self.budget else 0):
            wall = min(wall, int(np.partition(self.total, -few)[-few]))
            table = walled(wall, size) if phi is None else phi
            straight = np.flatnonzero(np.diff(table) != table[1] - table[0])
            late = deadline.passed
            units = (1 - turn / EXCHANGE.rounds) * (not late), (1 - (turn + 1) / EXCHANGE.rounds) * (not late)
            limits = exchange.ExchangeLimits(self.budget, puts, drops, int(straight[0]) if len(straight) else size)
            steps = (
                max(EXCHANGE.least, min(EXCHANGE.steps * self.budget, EXCHANGE.most))
                // EXCHANGE.rounds
                // (1 if phi is None else EXCHANGE.shorter)
            )
            self._anneal(table, limits, steps, np.array([EXCHANGE.heat * (1 + EXCHANGE.hotter / held), held, *units]))
            kept = (self.total.max(), self.total.sum()) <= (least.max(), least.sum())
            if kept if maximum else self.search.state[exchange.VALUE] <= table[least].sum():
                best, least = self.symbols, self.total.copy()
            if late:
                break
        return best

    def _anneal(self, phi: I64, limits: exchange.ExchangeLimits, steps: int, heat: F64) -> None:
        exchange.anneal(self.arrays, self.search, phi, limits, steps, heat, self.touched)
