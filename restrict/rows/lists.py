"""Candidate lists of all rows of a head at once: what a collapsed head is computed from, and what the stages rank. The
batch twin of :mod:`restrict.rows.row`: hashed scores run in one kernel for all rows, every other score goes through
:class:`restrict.rows.row.Row`, and rows that cannot differ are computed once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from restrict.base.arrays import I64, offsets
from restrict.base.blocks import cuts, each, width
from restrict.base.deadline import NEVER, Deadline
from restrict.base.errors import ResourceLimit
from restrict.kernels import collapse
from restrict.kernels.plain import instead_of
from restrict.kernels.scan_lists import ScanKeys, scan_rows
from restrict.model.expr import Expr, bind
from restrict.model.program import Head, Instance, mentions
from restrict.model.rules import Formula, evaluate
from restrict.model.shipped import Shipped
from restrict.rows import plain_lists
from restrict.rows.options import ROWS
from restrict.rows.row import Row, asks_for_itself, pool, threads
from restrict.rows.values import Values


@dataclass(frozen=True, eq=False)
class Lists:
    """Rows ``row_ptr[i] .. row_ptr[i+1]`` belong to position ``i``; row ``r`` has query value ``row_u[r]`` and the list
    ``row_list[r]``; list ``l`` is the pairs ``(j[t], w[t])``, ``t`` in ``start[l] .. stop[l]``, best first. ``own_j``,
    ``own_w``: per list, the position whose key is the query itself (or -1) and its value. ``complete[l]``: the list
    goes down to the floor, so no other pair can win."""

    row_ptr: I64
    row_u: I64
    row_list: I64
    start: I64
    stop: I64
    j: I64
    w: I64
    own_j: I64
    own_w: I64
    complete: I64

    @property
    def arrays(self) -> collapse.ListArrays:
        """The lists as the kernels take them."""
        return collapse.ListArrays(self.row_ptr, self.row_list, self.row_u, self.start, self.stop, self.j, self.w)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.row_u)

    @property
    def row_i(self) -> I64:
        """The position of each row."""
        return np.repeat(np.arange(len(self.row_ptr) - 1), np.diff(self.row_ptr))

    def pairs(self, row: int) -> list[tuple[int, int]]:
        """The list of a row."""
        part = slice(self.start[self.row_list[row]], self.stop[self.row_list[row]])
        return list(zip(self.j[part].tolist(), self.w[part].tolist(), strict=True))

    def under(self, queries: Values, keys: Values) -> Lists:
        """The lists when fewer query and key values are possible: a walk over what is kept, no score is computed."""
        row_i = self.row_i
        possible = np.repeat(queries.positions, np.diff(queries.ptr)) * queries.domain + queries.flat
        alive = np.isin(row_i * queries.domain + self.row_u, possible)
        used, row_list = np.unique(self.row_list[alive], return_inverse=True)
        start, stop = self.start[used], self.stop[used]
        out = np.empty((2, int((stop - start).sum())), np.int64)
        ends, reached = np.zeros(len(used), np.int64), np.zeros(len(used), np.int64)
        own = self.own_j[used], self.own_w[used]
        collapse.filter_lists(start, stop, self.j, self.w, *own, keys.ptr, keys.flat, out, ends, reached)
        size = int(ends[-1]) if len(ends) else 0
        row_ptr = offsets(np.bincount(row_i[alive], minlength=len(self.row_ptr) - 1))
        return Lists(
            row_ptr, self.row_u[alive], row_list.astype(np.int64), np.append(0, ends)[:-1], ends,
            out[0, :size].copy(), out[1, :size].copy(), *own, np.maximum(reached, self.complete[used]),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RowsOfHead:
    """The rows of a head: ``row_ptr[i] .. row_ptr[i+1]`` at position ``i``, query ``row_u[r]``; positions see ``low``
    to ``high``. ``same``: query and key are one variable. ``shared``: rows of one query value cannot differ."""

    row_ptr: I64
    row_u: I64
    low: I64
    high: I64
    same: bool
    shared: bool

    @property
    def row_i(self) -> I64:
        """The position of each row."""
        return np.repeat(np.arange(len(self.low)), np.diff(self.row_ptr))


def seen_from(instance: Instance, head: Head) -> I64:
    """What each position sees, (2, n): the first position, and the one behind the last."""
    visible = [instance.visible(head, i) for i in range(instance.n)]
    return np.array(list(zip(*visible, strict=True)), dtype=np.int64)


def rows_of(instance: Instance, head: Head, queries: Values) -> RowsOfHead:
    """The rows of a head from the possible values of its query at all n positions (none read: one value 0). Linear."""
    low, high = seen_from(instance, head)
    sees = low < high
    counts = np.where(sees, np.diff(queries.ptr), 0)
    row_u = queries.flat[np.repeat(sees, np.diff(queries.ptr))]
    same = asks_for_itself(instance, head)
    shared = head.mask == "none" and "i" not in mentions(head) and not same and head.value != instance.query(head)
    return RowsOfHead(offsets(counts), row_u, low, high, same, shared)


def candidate_lists(
    instance: Instance, head: Head, queries: Values, keys: Values, limit: int = 0, deadline: Deadline = NEVER
) -> Lists:
    """The lists of all rows of a head, at most ``limit`` pairs of a row (0: down to the floor), from the values of its
    query and key at all n positions (not read: one value 0). One score per row and possible pair; ``OutOfTime`` at the
    deadline."""
    rows = rows_of(instance, head, queries)
    row_i, row_u = rows.row_i, rows.row_u
    own_j, own_w = np.where(rows.same, row_i, -1), row_u
    scoring = Scoring(instance, head, keys, limit, deadline)
    if rows.shared:
        row_list, parts = scoring.one_by_one(row_i, row_u, shared=True)
        own_j, own_w = np.full(len(parts[1]), -1), np.zeros(len(parts[1]), np.int64)
    else:
        row_list, parts = np.arange(len(row_u)), scoring.spread(row_i, row_u)
    pairs, ends, complete = parts
    start = np.append(0, ends)[:-1]
    return Lists(rows.row_ptr, row_u, row_list, start, ends, pairs[0], pairs[1], own_j, own_w, complete)


def completed(lists: Lists, instance: Instance, head: Head, keys: Values, deadline: Deadline = NEVER) -> Lists:
    """The lists, each down to its floor: the rows of those that were cut off are scored. ``keys``: possible values of
    the head's key at all n positions, under which the lists hold."""
    short = np.flatnonzero(lists.complete == 0)
    if not len(short):
        return lists
    rows = np.zeros(len(lists.start), np.int64)
    rows[lists.row_list] = np.arange(lists.rows)  # one of the rows of each list
    scoring = Scoring(instance, head, keys, 0, deadline)
    pairs, ends, _ = scoring.spread(lists.row_i[rows[short]], lists.row_u[rows[short]])
    start, stop = lists.start.copy(), lists.stop.copy()
    stop[short] = len(lists.j) + ends
    start[short] = len(lists.j) + np.append(0, ends)[:-1]
    j, w = np.concatenate((lists.j, pairs[0])), np.concatenate((lists.w, pairs[1]))
    return replace(lists, start=start, stop=stop, j=j, w=w, complete=np.ones_like(lists.complete))


Parts = tuple[I64, I64, I64]
"""(pairs (2, m), ends, complete) of consecutive lists."""


Hashed = tuple[I64, I64, I64, I64]
"""Rows whose scores are hashes: their seeds, positions and query values, and the positions that they see, (2, rows)."""


@dataclass(frozen=True, eq=False)
class Scoring:
    """How the lists of a head are made: the possible values of its key, the most pairs of a row (0: down to the floor),
    and the deadline."""

    instance: Instance
    head: Head
    keys: Values
    limit: int
    deadline: Deadline

    def spread(self, row_i: I64, row_u: I64) -> Parts:
        """The lists of all rows, in blocks where workers are lent (:mod:`restrict.base.blocks`)."""
        ship = Shipped(self.instance)
        few = len(row_i) * self.instance.n < ROWS.spread
        if few or width() == 1 or not ship.portable:
            return self.rows(row_i, row_u)
        parts = [(row_i[cut], row_u[cut]) for cut in cuts(len(row_i), ROWS.least_rows)]
        found, total = list[Parts](), 0
        for part in each(rows_block, (ship, self.head.name, self.keys, self.limit, self.deadline), parts):
            found.append((part[0].astype(np.int64), *part[1:]))
            total += found[-1][0].shape[1]
            _refuse(total)
        return _joined(found)

    def rows(self, row_i: I64, row_u: I64) -> Parts:
        """The lists of some rows, each row its own."""
        seeds = hash_states(self.instance, self.head, row_i, row_u)
        if seeds is None:
            return self.one_by_one(row_i, row_u)[1]
        bounds = np.ascontiguousarray(seen_from(self.instance, self.head)[:, row_i])
        return self.hashed((seeds, row_i, row_u, bounds))

    def one_by_one(self, row_i: I64, row_u: I64, *, shared: bool = False) -> tuple[I64, Parts]:
        """Row by row; one list per query value where rows of different positions cannot differ."""
        seen: dict[int, int] = {}
        row_list, total = np.empty(len(row_i), np.int64), 0
        parts: list[Parts] = []
        for r, (i, u) in enumerate(zip(row_i.tolist(), row_u.tolist(), strict=True)):
            if shared and u in seen:
                row_list[r] = seen[u]
                continue
            self.deadline.check()
            pairs = Row(self.instance, self.head, i, u).ranked(self.keys)[:2]
            short = 0 < self.limit < pairs.shape[1]
            pairs = pairs[:, : self.limit] if short else pairs
            total += pairs.shape[1]
            _refuse(total)
            row_list[r] = seen[u] = len(parts)
            parts.append((pairs, np.array([pairs.shape[1]]), np.array([int(not short)])))
        return row_list, _joined(parts)

    def hashed(self, rows: Hashed) -> Parts:
        """All rows by the fused kernel, shared among threads; the result does not depend on their number.

        Few rows are left to numpy as long as that is faster than to compile the kernel.
        """
        seeds, row_i, row_u, bounds = rows
        same, count = asks_for_itself(self.instance, self.head), len(seeds)
        rule = int(same), int(self.head.ties == "right"), self.limit, self.keys.scanned
        with instead_of(scan_rows) as may:
            if may and count and count * int(self.keys.scanned.sizes.sum()) <= ROWS.plain_pairs:
                few = plain_lists.listed(*rows, *rule, self.deadline)
                _refuse(few[0].shape[1])
                return few
        parts = max(1, min(threads(), count // 64))

        def run(cut: tuple[int, int]) -> list[Parts]:
            part = slice(*cut)
            some = seeds[part], row_i[part], row_u[part], np.ascontiguousarray(bounds[:, part])
            return list(self.chunks(some, rule))

        found = pool().map(run, pairwise(count * p // parts for p in range(parts + 1)))
        return _joined([chunk for chunks in found for chunk in chunks])

    def chunks(self, rows: Hashed, rule: tuple[int, int, int, ScanKeys]) -> Iterator[Parts]:
        """What :meth:`hashed` does, by as many scores at once as a fraction of a second takes."""
        seeds, row_i, row_u, bounds = rows
        start, total, size, count = 0, 0, ROWS.buffer, len(seeds)
        most = 1 + ROWS.scores // max(1, int(self.keys.scanned.sizes.sum()))
        while start < count:
            self.deadline.check()
            rest = slice(start, start + most)
            ends, complete = np.zeros(len(seeds[rest]), np.int64), np.zeros(len(seeds[rest]), np.int64)
            out = np.empty((2, size), np.int64)
            with np.errstate(over="ignore"):
                seen = np.ascontiguousarray(bounds[:, rest])
                done = scan_rows(seeds[rest], row_i[rest], row_u[rest], seen, *rule, out, ends, complete)
            if done == 0:
                size *= 4
                _refuse(size)
                continue
            total += int(ends[done - 1])
            _refuse(total)
            yield out[:, : ends[done - 1]].copy(), ends[:done], complete[:done]
            start += done


def rows_block(sent: tuple[Shipped, str, Values, int, Deadline], part: tuple[I64, I64]) -> Parts:
    """The lists of some rows, for another process, as :data:`Parts`: in half the bytes where they fit."""
    ship, name, keys, limit, deadline = sent
    head = next(v for v in ship.instance.model.variables if isinstance(v, Head) and v.name == name)
    pairs, ends, complete = Scoring(ship.instance, head, keys, limit, deadline).rows(*part)
    small = not pairs.size or int(pairs.max()) <= np.iinfo(np.int32).max
    return (pairs.astype(np.int32) if small else pairs), ends, complete


def hash_states(instance: Instance, head: Head, row_i: I64, row_u: I64) -> I64 | None:
    """The hash state before ``j`` of every row, int64, where the score is ``hash(..., j, k)``; else ``None``."""
    if not isinstance(head.score, Formula) or instance.key(head) is None:
        return None
    match bind(head.score.folded, n=instance.n):
        case Expr("fin", (Expr("mix", (Expr("mix", (state, Expr("name", text="j"))), Expr("name", text="k"))),)):
            if not state.names & {"j", "k"}:
                known = {"i": row_i, "q": row_u}
                return evaluate(state, {name: known[name] for name in state.names}, len(row_i))
    return None


def _refuse(total: int) -> None:
    if total > ROWS.pairs:
        raise ResourceLimit(
            f"the candidate lists of one head hold more than {ROWS.pairs} pairs: fix more inputs (a smaller `free`), "
            "or take a smaller n"
        )


def _joined(parts: list[Parts]) -> Parts:
    if not parts:
        return np.empty((2, 0), np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    firsts = offsets([p.shape[1] for p, _, _ in parts])
    ends = np.concatenate([ends + first for (_, ends, _), first in zip(parts, firsts[:-1], strict=True)])
    pairs = np.ascontiguousarray(np.concatenate([p for p, _, _ in parts], axis=1))  # numpy may keep columns together
    return pairs, ends, np.concatenate([c for _, _, c in parts])
