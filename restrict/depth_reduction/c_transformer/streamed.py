"""Collapsed heads without lists: V and D straight from the scores, row by row, in bounded memory.

The candidate lists of a head hold one pair per position and key value in the worst case, for every position and query
value. With an alphabet of a hundred symbols they exceed the memory at lengths at which n^2 bits of dependencies still
fit. Here a row is scanned, added to V and D of its position, and forgotten. Where everything depends on
everything, a position is done after a few of its rows: V and D only grow, and they are soon full.

Hashed scores run in one kernel (:mod:`restrict.kernels.collapse_stream`), all others row by row. The result is that of
:func:`restrict.depth_reduction.c_transformer.activations.attended_activation` on complete lists.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from restrict.base.arrays import I64, offsets, take_rows
from restrict.base.deadline import NEVER, Deadline
from restrict.depth_reduction.c_transformer.activations import NO_SETS, Activation, Attended, inputs_given, values_read
from restrict.depth_reduction.c_transformer.input_sets import InputSets, unpacked, words_of
from restrict.depth_reduction.options import THEOREM
from restrict.kernels.collapse import SetArrays
from restrict.kernels.collapse_stream import Collapsed, DependSets, HeadRules, StreamRows, stream_positions
from restrict.kernels.input_sets import put
from restrict.model.program import Head, Instance
from restrict.rows.lists import RowsOfHead, hash_states, rows_of
from restrict.rows.row import Row, pool, threads
from restrict.rows.values import Values


def keeps_lists(instance: Instance, head: Head, base: Mapping[str, Activation]) -> bool:
    """Whether a head's complete lists are few enough to be kept, estimated from at most ``THEOREM.pilots`` rows."""
    queries, keys = values_read(instance, head, base)
    rows = rows_of(instance, head, queries)
    count = len(np.unique(rows.row_u)) if rows.shared else len(rows.row_u)
    if not count or count * len(keys.flat) <= THEOREM.kept:
        return True
    few = keys.sparse()
    chosen, row_i = np.linspace(0, len(rows.row_u) - 1, THEOREM.pilots).astype(np.int64), rows.row_i
    found = [Row(instance, head, int(row_i[r]), int(rows.row_u[r])).candidates(few)[0] for r in chosen]
    return count * sum(map(len, found)) / THEOREM.pilots <= THEOREM.kept


def streamed_activation(
    instance: Instance, head: Head, base: Mapping[str, Activation], deadline: Deadline = NEVER
) -> Activation:
    """V and D of a collapsed head, its lists not kept; raises ``OutOfTime`` at the deadline. Cost: one score per row
    and possible pair, of fewer rows where V and D are full before; memory at most n^2 bits."""
    query, key = instance.query(head), instance.key(head)
    queries, keys = values_read(instance, head, base)
    rows = rows_of(instance, head, queries)
    sets = _sets(instance, head, base)
    out = Collapsed(
        np.zeros((instance.n, words_of(instance.domains[head.name])), np.int64), np.zeros(instance.n, np.int64)
    )
    rules = HeadRules(
        int(rows.same), int(head.value == key), int(head.value == query), int(head.ties == "right"), head.default
    )
    gives = SetArrays(base[head.value].values.ptr, base[head.value].values.flat)
    seeds = None if rows.shared else hash_states(instance, head, rows.row_i, rows.row_u)
    if seeds is not None:
        depends = _by_kernel(rows, seeds, keys, gives, rules, sets, out, deadline)
    else:
        depends = _by_rows(instance, head, rows, keys.sparse(), gives, sets, out, deadline)
    source = Attended(head, query, key, None, out.captured)
    return Activation(head.name, source, _flat(out.values, instance.domains[head.name]), depends)


def _sets(instance: Instance, head: Head, base: Mapping[str, Activation]) -> DependSets:
    """What the rows of a head can add to D and V."""
    query, source = instance.query(head), inputs_given(instance, head, base)
    several = len(np.unique(base[head.value].values.flat))
    asked = base[query].depends.arrays if query else NO_SETS
    return DependSets(asked, source.arrays, source.union(np.arange(instance.n)), several)


def _by_kernel(
    rows: RowsOfHead, seeds: I64, keys: Values, gives: SetArrays, rules: HeadRules, sets: DependSets,
    out: Collapsed, deadline: Deadline,
) -> InputSets:  # fmt: skip
    """D by hashed scores; positions are shared among threads, and the result does not depend on their number."""
    arrays = StreamRows(rows.low, rows.high, rows.row_ptr, rows.row_u, seeds)
    cuts = list(pairwise([*range(0, len(rows.low), THEOREM.part), len(rows.low)]))
    parts, ends, found = iter(cuts), np.zeros(len(rows.low), np.int64), dict[int, I64]()

    def run(_: int) -> None:
        depends = np.empty(THEOREM.part * len(sets.every), np.int64)
        with np.errstate(over="ignore"):
            for first, stop in parts:
                deadline.check()
                keys_of = keys.scanned
                used = stream_positions(first, stop, arrays, keys_of, gives, rules, sets, out, depends, ends)
                found[first] = depends[:used].copy()

    if threads() == 1:
        run(0)
    else:
        for _ in pool().map(run, range(threads())):
            pass
    return InputSets.joined(ends, [(stop, found.pop(first)) for first, stop in cuts])


def _by_rows(
    instance: Instance, head: Head, rows: RowsOfHead, keys: Values, gives: SetArrays, sets: DependSets,
    out: Collapsed, deadline: Deadline,
) -> InputSets:  # fmt: skip
    """D by any score, row by row; a row that is the same at all positions is scanned once."""
    seen: dict[int, tuple[I64, I64, bool]] = {}
    source, parts = InputSets(*sets.source), list[tuple[int, I64]]()
    ends = np.zeros(instance.n, np.int64)
    every = np.unique(gives.flat)
    for i in range(instance.n):
        deadline.check()
        first, stop = int(rows.row_ptr[i]), int(rows.row_ptr[i + 1])
        query = InputSets(*sets.query).union(np.array([i])) if len(sets.query.ptr) > 1 else np.zeros_like(sets.every)
        values = np.array([head.default] if first == stop else [], np.int64)
        depends, captured = query.copy(), True
        for u in rows.row_u[first:stop].tolist():
            if not (rows.shared and u in seen):
                seen[u] = _row(instance, head, i, u, keys, gives, source)
            found, more, ended = seen[u]
            values, captured = np.union1d(values, found), captured and ended
            depends = depends | more
            if len(values) == len(every) and np.array_equal(depends, sets.every | query):
                captured = captured and u == rows.row_u[stop - 1]
                break
        np.bitwise_or.at(out.values[i], values >> 6, np.int64(1) << (values & 63))
        parts.append((i + 1, np.empty(len(depends), np.int64)))
        ends[i] = put(depends if len(values) > 1 else np.zeros_like(depends), parts[-1][1], 0)
        out.captured[i] = int(captured)
    return InputSets.joined(ends, [(stop, words[: ends[stop - 1]]) for stop, words in parts])


def _row(
    instance: Instance, head: Head, i: int, u: int, keys: Values, gives: SetArrays, source: InputSets
) -> tuple[I64, I64, bool]:  # fmt: skip
    """Values and inputs that one row gives, and whether it ends at a key with one value."""
    row = Row(instance, head, i, u)
    pairs = row.ranked(keys)
    at, j = np.unique(pairs[0]), int(pairs[0, -1])
    if head.value == instance.key(head):
        values = np.unique(pairs[1])
    elif head.value == instance.query(head) and i in at:
        values = np.union1d(gives.flat[take_rows(gives.ptr, at[at != i])], [u])
    else:
        values = np.unique(gives.flat[take_rows(gives.ptr, at)])
    place = int(np.searchsorted(keys.positions, j))
    special = place < len(keys.positions) and keys.positions[place] == j
    size = int(keys.ptr[place + 1] - keys.ptr[place]) if special else keys.domain
    depends = source.union(at if len(values) > 1 else at[:0])
    return values, depends, size == 1 or row.own == (j, u)


def _flat(bits: I64, domain: int) -> Values:
    """Sets of values, rows of bits, as values at every position."""
    step, parts, counts = max(1, (1 << 24) // (64 * bits.shape[1])), list[I64](), list[I64]()
    for first in range(0, len(bits), step):
        at, values = np.nonzero(unpacked(bits[first : first + step]))
        parts.append(values)
        counts.append(np.bincount(at, minlength=len(bits[first : first + step])))
    return Values(domain, np.arange(len(bits)), offsets(np.concatenate(counts)), np.concatenate(parts))
