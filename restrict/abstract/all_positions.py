"""The abstract run at all positions at once, for programs none of whose scores mentions the query's position.

For such a head the candidates at position ``i`` are those of a prefix of the word, of a suffix, and ``i`` itself, cut
at one common floor; prefix and suffix maxima give the floors, and one sweep each way
(:mod:`restrict.kernels.run_everywhere`) the candidates' values and dependencies: O(n) scores a head and query value
instead of O(n^2). Compiled temporal formulas are of this kind. The facts are those of
:class:`restrict.abstract.run.AbstractRun`, node by node (rules 1-6 of docs/kernel.md); a test compares them.

Values are bit masks, so domains have at most 62 values; sets of positions are runs of ranks among the free positions,
shared by the positions that have the same set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.abstract.options import RUN
from restrict.base.arrays import I64, MAX64, MIN64, offsets
from restrict.base.errors import ResourceLimit
from restrict.base.options import Fact
from restrict.kernels import run_everywhere
from restrict.model.expr import bind
from restrict.model.program import Head, Instance, Map, mentions, rule_of
from restrict.model.restriction import Restriction
from restrict.model.rules import Callback, evaluate, expression

MAX_DOMAIN: Fact[int] = 62
MAX_RUNS: Fact[int] = 2**27
"""Runs that one table of sets may have (2 GiB)."""


@dataclass(frozen=True, eq=False)
class RankSets:
    """A set of free ranks for every position: ``ids`` into a table (ptr, runs) of the kernels."""

    ids: I64
    ptr: I64
    runs: I64

    def only(self, kept: npt.NDArray[np.bool_]) -> RankSets:
        """These sets where ``kept`` (bool, (n,)) is true, and empty ones elsewhere; the table is shared."""
        return RankSets(np.where(kept, self.ids, 0), self.ptr, self.runs)

    def sizes(self) -> I64:
        """The number of elements at every position."""
        return np.diff(offsets(self.runs[:, 1] - self.runs[:, 0])[self.ptr])[self.ids]

    def reversed(self) -> RankSets:
        """The sets of the positions from last to first."""
        return RankSets(self.ids[::-1].copy(), self.ptr, self.runs)

    def __or__(self, other: RankSets) -> RankSets:
        if not other.ids.any():
            return self
        if not self.ids.any():
            return other
        pairs, ids = np.unique(self.ids * len(other.ptr) + other.ids, return_inverse=True)
        a, b = np.divmod(pairs, len(other.ptr))
        if pairs[0] != 0:  # set 0 of a table is the empty one
            a, b, ids = np.append(0, a), np.append(0, b), ids + 1
        ptr = np.zeros(len(a) + 1, dtype=np.int64)
        runs = np.empty((len(self.runs) + len(other.runs) + 64, 2), dtype=np.int64)
        at = 0
        while (
            at := run_everywhere.merge_tables(self.ptr, self.runs, a, other.ptr, other.runs, b, ptr, runs, at)
        ) < len(a):
            runs = _grown(runs)
        return RankSets(ids.astype(np.int64), ptr, runs[: ptr[-1]].copy())


@dataclass(frozen=True, eq=False)
class BulkFacts:
    """V (bit masks) and D of one variable at all positions."""

    values: I64
    sets: RankSets

    @staticmethod
    def make(values: I64, sets: RankSets) -> BulkFacts:
        """Facts from V of each position as a mask (int64, (n,), not 0) and D; a node of one value depends on
        nothing."""
        return BulkFacts(values, sets.only(values & (values - 1) != 0))


def supported(instance: Instance) -> bool:
    """Whether every variable of the program is of a kind that the bulk run can do. Result: whether
    :class:`AllPositions` can run it. It cannot where a score mentions the query's position, a head's query or value or
    the output is the position, a domain has more than 62 values, or a map is a callback or has more than 4096
    combinations of arguments (the position not counted)."""
    return (
        all(_supported(instance, v) for v in instance.model.variables) and instance.model.output.variable != "position"
    )


def _supported(instance: Instance, variable: Head | Map) -> bool:
    if instance.domains[variable.name] > MAX_DOMAIN or instance.domains["token"] > MAX_DOMAIN:
        return False
    if isinstance(variable, Map):
        sizes = [instance.domains[a] for a in variable.args if a != "position"]
        return not isinstance(variable.map, Callback) and int(np.prod(sizes, dtype=object)) <= RUN.box
    reads = "position" in (variable.value, instance.query(variable))
    return "i" not in mentions(variable) and not reads


class AllPositions:
    """V and D of every node under a restriction, all nodes examined. Cost: O(n) scores a head and query value, and the
    total size of the sets (as runs)."""

    def __init__(self, instance: Instance, restriction: Restriction) -> None:
        self.instance, self.restriction = instance, restriction
        n = instance.n
        tokens = {**restriction.tokens(instance.model), **instance.pinned}
        values = np.full(n, (1 << len(instance.model.alphabet)) - 1, dtype=np.int64)
        where = np.fromiter(tokens, dtype=np.int64, count=len(tokens))
        values[where] = np.int64(1) << np.fromiter(tokens.values(), dtype=np.int64, count=len(tokens))
        free = np.ones(n, dtype=np.int64)
        free[where] = 0
        self.free_positions = np.flatnonzero(free)
        ranks = np.arange(len(self.free_positions), dtype=np.int64)
        ptr = np.append(0, np.arange(len(ranks) + 1, dtype=np.int64))
        self.empty = RankSets(np.zeros(n, dtype=np.int64), ptr[:2], np.empty((0, 2), dtype=np.int64))
        self.facts = {
            "token": BulkFacts.make(values, RankSets(np.cumsum(free) * free, ptr, np.stack((ranks, ranks + 1), 1)))
        }
        for variable in instance.model.variables:
            made = self._head(variable) if isinstance(variable, Head) else self._map(variable)
            self.facts[variable.name] = BulkFacts.make(*made)

    def label_sets(self) -> RankSets:
        """D of the output's label at every position (rule 6 of docs/kernel.md)."""
        fact = self.facts[self.instance.model.output.variable]
        groups: dict[str, int] = {}
        for value in range(self.instance.domains[self.instance.model.output.variable]):
            label = self.instance.label(value)
            groups[label] = groups.get(label, 0) | (1 << value)
        hits = sum((fact.values & bits != 0).astype(np.int64) for bits in groups.values())
        return fact.sets.only(np.asarray(hits) > 1)

    def positions(self, sets: RankSets, i: int) -> tuple[int, ...]:
        """A set at one position, as positions. ``i``: the position whose set is wanted, 0..n - 1."""
        runs = sets.runs[sets.ptr[sets.ids[i]] : sets.ptr[sets.ids[i] + 1]]
        return tuple(int(p) for a, b in runs for p in self.free_positions[a:b])

    # ------------------------------------------------------------ maps

    def _map(self, variable: Map) -> tuple[I64, RankSets]:
        sets = self.empty
        for a in variable.args:
            if a != "position":
                sets = sets | self.facts[a].sets
        args = [a for a in variable.args if a != "position"]
        expr = bind(expression(rule_of(variable)), n=self.instance.n)
        if "i" in mentions(variable) or "position" in variable.args:
            return self._images(expr, args, "position" in variable.args, np.arange(self.instance.n)), sets
        if not args:
            return self._images(expr, args, False, np.zeros(self.instance.n, dtype=np.int64)), sets
        masks = np.stack([self.facts[a].values for a in args], axis=1)
        _, first, back = np.unique(masks, axis=0, return_index=True, return_inverse=True)
        return self._images(expr, args, False, first)[back.reshape(-1)], sets

    def _images(self, expr: Any, args: list[str], position: bool, positions: I64) -> I64:
        """The image of the map at each of ``positions``, as bit masks."""
        out = np.zeros(len(positions), dtype=np.int64)
        sizes = [self.instance.domains[a] for a in args]
        masks = [self.facts[a].values[positions] for a in args]
        for point in np.ndindex(*sizes):
            inputs = {a: np.full(len(positions), w, dtype=np.int64) for a, w in zip(args, point, strict=True)}
            inputs |= {"i": positions} | ({"position": positions} if position else {})
            inputs = {name: v for name, v in inputs.items() if name in expr.names}
            possible = np.ones(len(positions), dtype=bool)
            for mask, w in zip(masks, point, strict=True):
                possible &= (mask >> w) & 1 == 1
            if possible.any():
                value = evaluate(expr, inputs, len(positions))
                out |= np.where(possible, np.int64(1) << np.where(possible, value, 0), 0)
        return out

    # ------------------------------------------------------------ heads

    def _head(self, head: Head) -> tuple[I64, RankSets]:
        instance = self.instance
        query, job = instance.query(head), _Sweeps(self, head)
        if query is None:
            values, sets = job.row(0)
        else:
            asked = self.facts[query].values
            values, sets = np.zeros(instance.n, dtype=np.int64), self.facts[query].sets
            for u in range(instance.domains[query]):
                here = (asked >> u) & 1 == 1
                if here.any():
                    more, more_sets = job.row(u)
                    values = values | np.where(here, more, 0)
                    sets = sets | more_sets.only(here & (more & (more - 1) != 0))
        blind = {"strict_past": 0, "strict_future": instance.n - 1}.get(head.mask, instance.n)  # it sees nothing
        return np.where(np.arange(instance.n) == blind, 1 << head.default, values), sets


class _Sweeps:
    """The rows of one head: for a query value, what the candidates of every position give."""

    def __init__(self, run: AllPositions, head: Head) -> None:
        instance = run.instance
        self.instance, self.head, self.n = instance, head, instance.n
        key, query = instance.key(head), instance.query(head)
        self.key_is_position = key == "position"
        self.domain, self.keys = 1, np.ones(instance.n, dtype=np.int64)
        self.gives, self.sets = run.facts[head.value].values, run.facts[head.value].sets
        if key is not None and not self.key_is_position:
            self.domain, self.keys = instance.domains[key], run.facts[key].values
            self.sets = self.sets | run.facts[key].sets
        self.copies = head.value == key
        self.own_key, self.own_value = query is not None and query == key, query is not None and query == head.value
        self.apart = (self.own_key or self.own_value) and head.mask in ("none", "past", "future")
        self.right = head.ties == "right"

    def scores(self, u: int) -> Iterator[tuple[int, I64]]:
        """Scores (positions, key values) by blocks, with the block's first position."""
        for first in range(0, self.n, RUN.block):
            yield first, self._block(u, first, min(self.n, first + RUN.block))

    def _block(self, u: int, first: int, stop: int) -> I64:
        expr = self.instance.row(self.head, 0, u)
        j = np.repeat(np.arange(first, stop, dtype=np.int64), self.domain)
        k = j if self.key_is_position else np.tile(np.arange(self.domain, dtype=np.int64), stop - first)
        inputs = {name: v for name, v in (("j", j), ("k", k)) if name in expr.names}
        return evaluate(expr, inputs, len(j)).reshape(stop - first, self.domain)

    def possible(self, first: int, stop: int) -> npt.NDArray[np.bool_]:
        """Which key values are possible at positions ``first .. stop-1``, shape (positions, domain)."""
        bits: npt.NDArray[np.bool_] = (self.keys[first:stop, None] >> np.arange(self.domain)) & 1 == 1
        return bits

    def worst(self, u: int) -> I64:
        """The worst score that each position may have."""
        out = np.empty(self.n, dtype=np.int64)
        for first, scores in self.scores(u):
            stop = first + len(scores)
            out[first:stop] = np.where(self.possible(first, stop), scores, MAX64).min(axis=1)
        return out

    def row(self, u: int) -> tuple[I64, RankSets]:
        """V (of the values that may be copied) and D (of all candidates) at every position, for query value ``u``."""
        n, mask, worst = self.n, self.head.mask, self.worst(u)
        every = np.ones(n, dtype=np.int64)
        if self.apart:
            return self._row_apart(u, worst)
        if mask == "none":
            values, sets = self._sweep(u, np.full(n, worst.max()), every, answers=n - 1)
            return np.full(n, values[-1]), RankSets(np.full(n, sets.ids[-1]), sets.ptr, sets.runs)
        backwards, inclusive = mask.endswith("future"), not mask.startswith("strict")
        floor = np.maximum.accumulate(worst[::-1])[::-1] if backwards else np.maximum.accumulate(worst)
        if not inclusive:
            floor = np.append(floor[1:], MIN64) if backwards else np.append(MIN64, floor[:-1])
        return self._sweep(u, floor, every, inclusive=inclusive, backwards=backwards)

    def _row_apart(self, u: int, worst: I64) -> tuple[I64, RankSets]:
        """The position gives something else to itself than to others (rule 4): prefix, position and suffix apart. The
        floor is the best of the three; where they tie, the tie rule says which of them it is, and so which candidates
        at the floor's own score still count."""
        n, mask = self.n, self.head.mask
        own = np.concatenate([scores for _, scores in self.scores(u)])
        possible = np.arange(self.domain) == u if self.own_key else self.possible(0, n)
        possible = np.broadcast_to(possible, own.shape)
        floor = own_worst = np.where(possible, own, MAX64).min(axis=1)
        before = np.append(MIN64, np.maximum.accumulate(worst)[:-1])
        after = np.append(np.maximum.accumulate(worst[::-1])[::-1][1:], MIN64)
        has_before, has_after = (np.arange(n) > 0) & (mask != "future"), (np.arange(n) < n - 1) & (mask != "past")
        floor = np.where(has_before, np.maximum(floor, before), floor)
        floor = np.where(has_after, np.maximum(floor, after), floor)
        at_before, at_own, at_after = has_before & (before == floor), own_worst == floor, has_after & (after == floor)
        every = np.ones(n, dtype=bool)
        ties = (~at_own & ~at_after, ~at_after, every) if self.right else (every, ~at_before, ~at_before & ~at_own)
        wins = (possible & ((own > floor[:, None]) | ((own == floor[:, None]) & ties[1][:, None]))).astype(np.int64)
        if self.own_value:
            values = wins.any(axis=1).astype(np.int64) << u
        elif self.copies:
            values = (wins << np.arange(self.domain)).sum(axis=1)
        else:
            values = np.where(wins.any(axis=1), self.gives, 0)
        sets = self.sets.only(wins.any(axis=1))
        for visible, tie, backwards in ((mask != "future", ties[0], False), (mask != "past", ties[2], True)):
            if visible:
                more, more_sets = self._sweep(u, floor, tie.astype(np.int64), inclusive=False, backwards=backwards)
                values, sets = values | more, sets | more_sets
        return values, sets

    def _sweep(
        self, u: int, floor: I64, equal: I64, *, inclusive: bool = True, backwards: bool = False, answers: int = 0
    ) -> tuple[I64, RankSets]:
        """One sweep; backwards over the mirrored word with the mirrored tie rule. Answers from position ``answers``."""
        n, sets, keys, gives = self.n, self.sets, self.keys, self.gives
        if backwards:
            sets = sets.reversed()
            keys, gives, floor, equal = (a[::-1].copy() for a in (keys, gives, floor, equal))
        flags = np.array([inclusive, self.right != backwards, self.copies, answers], dtype=np.int64)
        offered = run_everywhere.Candidates(keys, gives, sets.ids, sets.ptr, sets.runs, floor, equal, flags)
        work = _Work(n, self.domain)
        for first in range(0, n, RUN.block):
            stop = min(n, first + RUN.block)
            scores = self._block(u, n - stop, n - first)[::-1].copy() if backwards else self._block(u, first, stop)
            while why := run_everywhere.sweep(first, scores, offered, work.levels(), work.answers()):
                work.grow(why)
        values, found = work.answer()
        return (values[::-1].copy(), found.reversed()) if backwards else (values, found)


class _Work:
    """The arrays of a sweep, for its work and its answers, grown on demand."""

    def __init__(self, n: int, domain: int, slots: int = 64, capacity: int = 64) -> None:
        slots = max(slots, 2 * domain)
        self.state = np.zeros(run_everywhere.STATE_SIZE, dtype=np.int64)
        self.state[run_everywhere.CHANGED] = self.state[run_everywhere.SETS] = 1
        self.order = np.arange(slots, dtype=np.int64)
        self.level = np.zeros((3, slots), dtype=np.int64)
        self.level_runs = np.empty((slots, capacity, 2), dtype=np.int64)
        self.room = np.empty((2, capacity, 2), dtype=np.int64)
        self.values, self.ids = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.ptr, self.runs = np.zeros(n + 2, dtype=np.int64), np.empty((n + 64, 2), dtype=np.int64)

    def levels(self) -> run_everywhere.Levels:
        """The arrays for the work, as the kernel takes them."""
        score, sizes, values = self.level
        return run_everywhere.Levels(self.state, self.order, score, sizes, values, self.level_runs, self.room)

    def answers(self) -> run_everywhere.Answers:
        """The arrays for the answers, as the kernel takes them."""
        return run_everywhere.Answers(self.values, self.ids, self.ptr, self.runs)

    def grow(self, why: int) -> None:
        """Double what was too small; :class:`ResourceLimit` where that would not fit in memory."""
        slots, capacity, _ = self.level_runs.shape
        if max(slots * capacity, len(self.runs)) > MAX_RUNS:
            raise ResourceLimit(f"the dependencies of all positions need more than {MAX_RUNS} runs; try a smaller n")
        if why == run_everywhere.NO_LEVELS:
            self.order = np.append(self.order, np.arange(slots, 2 * slots))
            self.level = np.concatenate((self.level, np.zeros_like(self.level)), axis=1)
            self.level_runs = np.concatenate((self.level_runs, np.empty_like(self.level_runs)))
        elif why == run_everywhere.NO_RUNS:
            self.level_runs = np.concatenate((self.level_runs, np.empty_like(self.level_runs)), axis=1)
        else:
            self.room = np.concatenate((self.room, np.empty_like(self.room)), axis=1)
            self.runs = _grown(self.runs)

    def answer(self) -> tuple[I64, RankSets]:
        """Values and sets by position of the sweep."""
        sets, runs = int(self.state[run_everywhere.SETS]), int(self.state[run_everywhere.RUNS])
        return self.values, RankSets(self.ids, self.ptr[: sets + 1].copy(), self.runs[:runs].copy())


def _grown(runs: I64) -> I64:
    return np.concatenate((runs, np.empty_like(runs)))
