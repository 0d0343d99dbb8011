"""Bimachines, and how one layer of heads extends one (theory of the project, section 14; docs/all-lengths.md).

A **bimachine** is a left automaton that reads the prefix, a right automaton that reads the suffix backwards, and a
table ``lab``: the label of a position is ``lab[l, x, r]`` with ``l`` the left state before it, ``x`` its letter and
``r`` the right state behind it; -1 where no such position exists. A label is a row of ``values``, one column for each
variable that is still needed.

**One layer.** For a head that looks left, ``f(r)`` is the summary of the prefix if the suffix that follows is read to
``r``. Instead of the function spaces of the theory page, the triples ``(l, r, f(r))`` are explored first: a *co-
deterministic* automaton that guesses ``r``. Its summaries are merged where no continuation tells them apart. Only
then is it made deterministic, with a vector of classes as state: two different vectors differ at some ``r``, where
some continuation shows a different value of the head, so **no state is made that the result does not need** (for the
labels and the heads' values). After the maps the two automata are minimised again for what is still read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from restrict.all_lengths.meeting import canonical
from restrict.all_lengths.program import AFTER, BEFORE, TOKEN, WHEN, Look, OrderOnly, Step
from restrict.base.arrays import I32, I64, offsets, take_rows
from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.checker.all_lengths import class_counters
from restrict.kernels import refinement, triples
from restrict.kernels.bimachine import Parts
from restrict.kernels.triples import Side, Triples
from restrict.languages.dfa import congruence

DEFAULT_STATES = 200_000
TRIPLES_PER_STATE = 200
CELLS = 1 << 28
FIRST_CELLS = 1 << 22
"""Cells of the first table, over position classes on both sides and letters; known before it is made."""
ATTEMPTS = 16
"""Hash functions with which summaries are merged, at most."""


@dataclass(frozen=True, eq=False)
class Bimachine:
    """``left`` (L, X) and ``right`` (R, X): successors, start state 0; ``lab`` (L, X, R); ``values`` (labels, V) with
    the variables ``names``. The last letters are the markers."""

    left: I32
    right: I32
    lab: I32
    names: tuple[str, ...]
    values: I64

    def column(self, name: str) -> I64:
        """A variable's value at every label."""
        return self.values[:, self.names.index(name)]

    def facing(self, mirror: bool) -> tuple[I32, I32, I32]:
        """Its own and the other side's successors, and ``lab``, as seen from the left, or (``mirror``) the right."""
        if mirror:
            return self.right, self.left, np.ascontiguousarray(self.lab.transpose(2, 1, 0))
        return self.left, self.right, self.lab

    def __repr__(self) -> str:
        return f"Bimachine({len(self.left)} left, {len(self.right)} right, {len(self.values)} labels)"


@dataclass(frozen=True)
class Limits:
    """``states``: of either automaton at any moment."""

    states: int = DEFAULT_STATES

    @property
    def triples(self) -> int:
        """The triples that may be explored for one head and side."""
        return max(1 << 16, min(self.states * TRIPLES_PER_STATE, 60_000_000))


class TooLarge(ResourceLimit):
    """The state limit was reached: at which variable, with how many states on each side."""


def too_large(what: str, machine: Bimachine, name: str, limit: int) -> TooLarge:
    """The error, which says where it happened."""
    sides = f"{len(machine.left)} left and {len(machine.right)} right states before it"
    return TooLarge(
        f"too large at variable {name!r}: more than {limit} {what} ({sides}); raise --states, or simplify the model"
    )


# ---------------------------------------------------------------- the first bimachine: token and position classes


def counters(program: OrderOnly) -> Bimachine:
    """The bimachine of ``token``, ``@p`` and ``@s`` that the checker begins with, without what no word reaches."""
    size, letters = program.threshold + program.period, program.letters
    if size * size * letters > FIRST_CELLS:
        raise TooLarge(
            f"too large: {size} classes of positions on both sides and {letters} letters; the limit of their product "
            f"is {FIRST_CELLS}"
        )
    found = class_counters(program.threshold, program.period, letters, program.start, program.end)
    left = np.array(found.left[: size + program.end], dtype=np.int32)
    right = np.array(found.right[: size + program.start], dtype=np.int32)
    lab = np.ascontiguousarray(np.array(found.table, dtype=np.int32)[: len(left), :, : len(right)])
    return Bimachine(left, right, lab, (TOKEN, BEFORE, AFTER), np.array(found.values, dtype=np.int64))


# ---------------------------------------------------------------- maps, and forgetting


def with_steps(names: tuple[str, ...], values: I64, steps: list[Step]) -> tuple[tuple[str, ...], I64]:
    """Label rows with the columns of more maps."""
    columns = dict(zip(names, values.T, strict=True))
    for step in steps:
        out = step.rule(*(columns[a] for a in step.args))
        full = np.broadcast_to(np.asarray(out, dtype=np.int64), (len(values),))
        columns[step.name] = _inside(step, full, columns.get(WHEN))
    return tuple(columns), np.stack([*columns.values()], axis=1) if columns else values


def _inside(step: Step, out: I64, defined: I64 | None) -> I64:
    """The values of a map; 0 for those outside the domain, which may occur only where the model is not defined."""
    bad = (out < 0) | (out >= step.size) if step.size else np.zeros(len(out), dtype=np.bool_)
    if defined is not None:
        bad &= defined == 1
        out = np.where((out < 0) | (out >= max(step.size, 1)), 0, out) if step.size else out
    if bad.any():
        raise NotEstablished(
            f"variable {step.model_variable!r}: at some length its value is {int(out[bad][0])}, outside the domain "
            f"0..{step.size - 1}; say with `when` at which lengths the model is defined"
        )
    return out


def forget(names: tuple[str, ...], values: I64, keep: list[str]) -> tuple[I64, I64]:
    """The distinct rows of the columns ``keep``, and the row number of each old row."""
    part = np.ascontiguousarray(values[:, [names.index(k) for k in keep]])
    if not keep:
        return np.zeros((1, 0), dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    rows, number = np.unique(part, axis=0, return_inverse=True)
    return rows, number.reshape(-1)


# ---------------------------------------------------------------- merging states


def merged(delta: I32, first: I32 | I64) -> tuple[I32, I32, I32]:
    """The coarsest congruence of an automaton's reachable states that refines ``first``: the class of each state, the
    automaton of the classes (numbered by first occurrence, so the start is 0) and a state of each."""
    cls, reps = congruence(delta, first)
    table = delta[reps]
    return cls.astype(np.int32), np.where(table >= 0, cls[table], -1).astype(np.int32), reps.astype(np.int32)


# ---------------------------------------------------------------- one head, one side


@dataclass(eq=False)
class Seen:
    """A head from one side: its triples, their edges, and (after :func:`classify`) the classes of summaries."""

    side: Side
    triples: Triples
    summaries: I32


@dataclass(frozen=True, eq=False)
class Entries:
    """The ranks and values that a head can see, with entry 0 for "nothing". ``code`` (U, P) of query row and pair row
    in use; ``rank``, ``value``, ``later`` (U, C); ``query`` and ``pair`` of each label."""

    query: I32
    pair: I32
    code: I32
    rank: I32
    value: I32
    later: I32


def entries(machine: Bimachine, look: Look) -> Entries:
    """The entries for query values and pairs that occur; pairs that no query tells apart become one."""
    us, query = np.unique(machine.column(look.query), return_inverse=True)
    ps, pair = np.unique(machine.column(look.pair), return_inverse=True)
    rank, value = look.rank[us][:, ps], look.value[ps]
    profile = np.concatenate([rank, value[None, :].astype(np.int32)], axis=0)
    _, first, same = np.unique(profile, axis=1, return_index=True, return_inverse=True)
    rank, value, pair = rank[:, first], value[first], same.reshape(-1)[pair]
    profile = np.concatenate([rank, look.later[us]], axis=1)
    _, first, same = np.unique(profile, axis=0, return_index=True, return_inverse=True)
    rank, later, query = rank[first], look.later[us][first], same.reshape(-1)[query]
    code = np.empty(rank.shape, dtype=np.int32)
    size = len(rank), rank.shape[1] + 1
    entry_rank, entry_value, entry_later = (np.full(size, empty, np.int32) for empty in (-1, look.default, 0))
    for u, row in enumerate(rank):
        pairs, number = np.unique(np.stack([row, value], axis=1), axis=0, return_inverse=True)
        code[u] = number.reshape(-1) + 1
        entry_rank[u, 1 : len(pairs) + 1], entry_value[u, 1 : len(pairs) + 1] = pairs[:, 0], pairs[:, 1]
        entry_later[u, 1 : len(pairs) + 1] = later[u, pairs[:, 0]]
    return Entries(query.astype(np.int32), pair.astype(np.int32), code, entry_rank, entry_value, entry_later)


def side_of(machine: Bimachine, look: Look, table: Entries, mirror: bool) -> Side:
    """The head as the kernels see it from the left, or (``mirror``) from the right."""
    delta, back, lab = machine.facing(mirror)
    inclusive = look.mask in (("future",) if mirror else ("past", "none"))
    newer = ((1 - table.later) if mirror else table.later).astype(np.int32)
    shown = table.pair, table.query, table.code, table.rank, newer
    return Side(delta, back, lab, *triples.edges_into(back)[:3], *shown, int(inclusive))


def explore(machine: Bimachine, look: Look, table: Entries, mirror: bool, limits: Limits) -> Seen:
    """The reached triples of a head. Raises :class:`TooLarge`."""
    side = side_of(machine, look, table, mirror)
    cell, summary, rows, step, status = triples.explore(side, limits.triples)
    if status:
        raise too_large("triples of states and summary", machine, look.model_variable, limits.triples)
    return Seen(side, triples.sort_triples(side, cell, summary, rows, step), rows)


def observations(machine: Bimachine, look: Look, table: Entries, sides: list[Seen]) -> Iterable[I32]:
    """What each edge of the triples shows, for each side from which the head is seen: the head's value, or (mask
    ``none``, both sides) the entry, up to what matters."""
    cells = [triples.edge_cells(seen.side, seen.triples) for seen in sides]
    entry = [seen.triples.seen for seen in sides]
    if look.mask != "none":
        query = [table.query[seen.side.lab.reshape(-1)[cell]] for seen, cell in zip(sides, cells, strict=True)]
        shown = zip(query, entry, strict=True)
        return [np.where(seen >= 0, table.value[u, seen], -1).astype(np.int32) for u, seen in shown]
    nl, letters, nr = machine.lab.shape
    l, rest = cells[1] % nl, cells[1] // nl
    flat = machine.lab.reshape(-1)
    asked = np.where(flat >= 0, table.query[flat], -1)
    both = cells[0], (l * letters + rest % letters) * nr + rest // letters
    return canonical(both, (entry[0], entry[1]), asked, table.rank, table.value, table.later)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of summaries of one head and side. ``start`` (B,): of the empty summary; the classes' edges; the
    summaries (rows of ``summaries``) ``members``, and the class ``member_of`` of each."""

    start: I32
    offset: I32
    succ: I32
    out: I32
    members: I32
    member_of: I32
    summaries: I32

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.offset) - 1


def classify(seen: Seen, out: I32) -> Classes:
    """Merge the summaries that no continuation tells apart, for each pair of states."""
    tr = seen.triples
    for seed in range(7, 7 + ATTEMPTS):
        named, exact = refinement.refine_cells(tr, out, seed)
        if exact:
            break
    else:
        raise NotEstablished(f"states were merged wrongly with {ATTEMPTS} hash functions in a row, which is a bug")
    reps = np.flatnonzero(named == np.arange(len(named)))
    number = np.full(len(named), -1, dtype=np.int32)
    number[reps] = np.arange(len(reps), dtype=np.int32)
    cls = number[named]
    offset, index = offsets(np.diff(tr.offset)[reps]).astype(np.int32), take_rows(tr.offset.astype(np.int64), reps)
    succ = np.where(tr.succ[index] >= 0, cls[tr.succ[index]], -1).astype(np.int32)
    cells = pairwise(tr.base[: len(seen.side.back) + 1].tolist())
    empty = [start + int(np.argmax(tr.summary[start:stop] == 0)) for start, stop in cells]
    return Classes(cls[empty], offset, succ, out[index], tr.summary, cls, seen.summaries)


def combine(machine: Bimachine, classes: list[Classes], mirror: bool) -> Parts:
    """All heads of one side together; the class numbers of different heads do not overlap."""
    delta, back, lab = machine.facing(mirror)
    place = triples.edges_into(back)[3]
    start = np.zeros((len(classes), len(back)), dtype=np.int32)
    ends, succs, outs = [np.zeros(1, dtype=np.int32)], list[I32](), list[I32]()
    shift = edges = 0
    for h, c in enumerate(classes):
        start[h] = c.start + shift
        succs.append(np.where(c.succ >= 0, c.succ + shift, -1))
        outs.append(c.out)
        ends.append(c.offset[1:] + edges)
        shift, edges = shift + c.count, edges + len(c.succ)
    empty = np.zeros(0, dtype=np.int32)
    edges_of = (np.concatenate([*some, empty]).astype(np.int32) for some in (ends, succs, outs))
    return Parts(delta, back, lab, place, start, *edges_of)
