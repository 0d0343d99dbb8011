"""Forcing cost of a regular language: shortest paths in the subset automaton (theory of the project, section 7).

Reading a restriction from left to right, let ``T`` be the set of states that the automaton can be in. A free position
maps ``T`` to the union of its images under all letters and costs 0; a position fixed to ``a`` maps it to its image
under ``a`` and costs 1. The restriction forces membership iff the last set lies within the accepting states, so the
forcing cost is the length of a shortest path with ``n`` edges from ``{start}``.

The same paths can be read from right to left: the set ``M`` of states from which the rest is sure to succeed has the
intersection of its preimages under all letters as predecessor for a free position, and its preimage under ``a`` for a
fixed one; the start state must lie in the last set. Either graph may be small where the other explodes, so both are
tried. Every node of either has exactly one successor per choice (free, or a letter), so the costs for ``t`` positions
follow from those for ``t-1`` by gathers, and no graph is stored beyond one array per choice.

Where both explode, :func:`antichains` searches by cost over the positions, keeping only the maximal sets: a set is
dominated by a superset from which success costs no more. It stops with a certified lower bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import groupby
from operator import and_, or_

import numpy as np

from restrict.base.arrays import I32, I64, U8, Bools
from restrict.base.errors import ResourceLimit
from restrict.base.wording import counted
from restrict.languages.dfa import Dfa

INF = np.int32(1 << 30)
MAX_SUBSETS = 40_000
MAX_PAIR_WORK = 2_000_000_000
MAX_GATHERS = 6_000_000_000
MAX_CHOICES = 600_000_000
MAX_IMAGES = 400_000
FREE = 255
MAX_LETTERS = 250


# ------------------------------------------------------------ sets of states as integers


def _image_of(relation: Sequence[Sequence[int]]) -> Callable[[int], int]:
    """The image of a set (as bits) under ``relation[q]`` = the states that ``q`` is related to, eight bits a step."""
    masks = [sum(1 << p for p in row) for row in relation]
    tables: list[list[int]] = []
    for first in range(0, len(masks), 8):
        part = masks[first : first + 8]
        table = [0]
        for mask in part:
            table += [old | mask for old in table]
        tables.append(table)

    def image(subset: int) -> int:
        out = 0
        for table, byte in zip(tables, subset.to_bytes(len(tables), "little"), strict=True):
            if byte:
                out |= table[byte]
        return out

    return image


def images(dfa: Dfa, backward: bool) -> list[Callable[[int], int]]:
    """For each letter, the image of a set of states (or its preimage). ``backward``: whether preimages are wanted.
    Result: one function for each letter, from a set of states (bit ``q`` for state ``q``) to another."""
    out = []
    for a in range(len(dfa.alphabet)):
        relation: list[list[int]] = [[] for _ in range(dfa.states)]
        for q, row in enumerate(dfa.delta):
            p = row[a]
            relation[p if backward else q].append(q if backward else p)
        out.append(_image_of(relation))
    return out


def bits(flags: Bools) -> int:
    """A bool array (states,) as an integer with bit ``q`` iff ``flags[q]``."""
    return sum(1 << int(q) for q in np.flatnonzero(flags))


def _pairs(dfa: Dfa, target: Bools) -> list[int] | None:
    """For each state, the states that some one word takes into the target together with it; ``None`` if too many."""
    together = np.outer(target, target)
    size, work = int(together.sum()), 0
    while True:
        for row in dfa.table:
            together = together | together[np.ix_(row, row)]
        work += together.size * len(dfa.table)
        if int(together.sum()) == size:
            return [bits(row) for row in together]
        size = int(together.sum())
        if work > MAX_PAIR_WORK:
            return None


# ------------------------------------------------------------ the graph


@dataclass(frozen=True)
class SubsetGraph:
    """All sets that the choices reach. ``free[v]`` and ``fixed[a][v]`` are successors; node 0 is the start.
    ``backward`` says which of the two readings it is. The last node is dead: no set there can succeed."""

    free: I64
    fixed: I64
    goal: Bools
    backward: bool

    @property
    def nodes(self) -> int:
        """The number of nodes, the dead one included."""
        return len(self.free)


def explore(dfa: Dfa, member: bool, backward: bool, limit: int, prune: bool = False) -> SubsetGraph | None:
    """The graph for forcing membership (``member``; else non-membership), or ``None`` where it has more than ``limit``
    sets without the dead node. ``backward``: words are read from right to left (see the module). ``prune`` drops sets
    that cannot succeed, two of whose states no common word takes into the target; all costs stay. With it also ``None``
    where ``backward`` is set or pruning costs too much. Cost: O(k) operations on sets of ``S`` bits for each set."""
    target = dfa.target(member)
    mates = _pairs(dfa, target) if prune and not backward else None
    if prune and mates is None:
        return None
    letters = images(dfa, backward)
    start = bits(target) if backward else 1
    goal_mask = 1 if backward else bits(~target)
    index, sets, rows = {start: 0}, [start], []
    for subset in sets:
        after = [image(subset) for image in letters]
        whole = reduce(and_ if backward else or_, after)
        row = []
        for nxt in (whole, *after):
            if nxt == 0 or (mates is not None and not _clique(nxt, mates)):
                row.append(-1)
                continue
            if nxt not in index:
                if len(sets) >= limit:
                    return None
                index[nxt] = len(sets)
                sets.append(nxt)
            row.append(index[nxt])
        rows.append(row)
    edges = np.array([*rows, [-1] * (1 + len(letters))], dtype=np.int64)
    edges[edges < 0] = len(sets)
    goal = np.array([*((s & goal_mask != 0) if backward else (s & goal_mask == 0) for s in sets), False])
    return SubsetGraph(edges[:, 0].copy(), edges[:, 1:].T.copy(), goal, backward)


def _clique(subset: int, mates: Sequence[int]) -> bool:
    rest = subset
    while rest:
        low = rest & -rest
        if subset & ~mates[low.bit_length() - 1]:
            return False
        rest ^= low
    return True


@lru_cache(maxsize=4)
def subset_graph(dfa: Dfa, member: bool) -> SubsetGraph | None:
    """The smaller of the two graphs where one stays within ``MAX_SUBSETS``, else ``None``. The last four answers are
    kept. ``member``: whether to force membership (true) or non-membership (false). Result: the first graph found within
    2000 sets, then pruned, then within the limit; forward before backward."""
    tries = [(False, 2000, False), (True, 2000, False), (False, MAX_SUBSETS, False), (True, MAX_SUBSETS, False)]
    if dfa.states <= 2000:
        tries.insert(2, (False, MAX_SUBSETS, True))
    return next(filter(None, (explore(dfa, member, *each) for each in tries)), None)


# ------------------------------------------------------------ shortest paths of given length


@dataclass
class _Run:
    """The choices of equal cells: ``steps[t]`` for ``t`` cells handled before, periodic from ``first`` on."""

    steps: list[U8] = field(default_factory=list)
    first: int = 0
    period: int = 0

    def at(self, t: int) -> U8:
        return self.steps[t if t < len(self.steps) else self.first + (t - self.first) % self.period]


def _step(graph: SubsetGraph, costs: I32) -> tuple[I32, U8]:
    """One more free-or-fixed position: the new costs, and which choice gives them."""
    best = costs[graph.free]
    choice = np.full(graph.nodes, FREE, dtype=np.uint8)
    for a, row in enumerate(graph.fixed):
        other = costs[row] + np.int32(1)
        better = other < best
        best = np.where(better, other, best)
        choice[better] = a
    return np.minimum(best, INF), choice


def _advance(graph: SubsetGraph, costs: I32, length: int) -> tuple[I32, _Run]:
    """``length`` unrestricted positions (:func:`repeated`)."""
    run = _Run()

    def step(costs: I32) -> I32:
        costs, choice = _step(graph, costs)
        run.steps.append(choice)
        return costs

    costs, run.first, run.period = repeated(step, costs, length, INF)
    del run.steps[run.first + run.period if run.period else length :]
    return costs, run


def repeated(step: Callable[[I32], I32], costs: I32, length: int, infinite: np.int32) -> tuple[I32, int, int]:
    """``length`` times a step that commutes with adding a constant: when values repeat up to a constant, they do so for
    ever, and the rest is a jump (Brent). Result: the values, from where they repeat, and the period (0: none met)."""
    saved, saved_at, power, t, period = costs, 0, 1, 0, 0
    while t < length:
        costs, t = step(costs), t + 1
        shift = None if period else shift_of(saved, costs, infinite)
        if shift is not None:
            period = t - saved_at
            rounds = (length - t) // period
            costs = np.where(costs != infinite, costs + np.int32(shift * rounds), infinite).astype(np.int32)
            t += rounds * period
        elif t == power and not period:
            saved, saved_at, power = costs, t, 2 * power
    return costs, saved_at, period


def shift_of(old: I32, new: I32, infinite: np.int32) -> int | None:
    """The constant by which ``new`` exceeds ``old`` where both are not ``infinite``, if there is one."""
    finite = old != infinite
    if not np.array_equal(finite, new != infinite):
        return None
    difference = (new - old)[finite]
    return int(difference[0] if len(difference) else 0) if (difference == difference[:1]).all() else None


def shortest(graph: SubsetGraph, cells: Sequence[int | None]) -> list[int | None] | None:
    """The cells (letter numbers, ``None`` for free) of a cheapest forcing restriction that keeps those given; ``None``
    where nothing forces. Cost: O(n N k) gathers at most, N the nodes; free cells mostly become periodic."""
    order = list(cells) if graph.backward else list(reversed(cells))
    costs = np.where(graph.goal, np.int32(0), INF).astype(np.int32)
    runs: list[tuple[int | None, int, _Run | None]] = []
    kept = 0
    for cell, group in groupby(order):
        length, run = sum(1 for _ in group), None
        if cell is None:
            kept = _afford(graph, costs, length, kept)
            costs, run = _advance(graph, costs, length)
        else:
            for _ in range(length):
                costs = costs[graph.fixed[cell]]
        runs.append((cell, length, run))
    if costs[0] >= INF:
        return None
    return _walk(graph, runs)


def _afford(graph: SubsetGraph, costs: I32, length: int, kept: int) -> int:
    """Refuse a long run that would take too much time or memory, unless its costs become periodic soon."""
    kept += length * graph.nodes
    if kept > MAX_CHOICES or kept * (1 + len(graph.fixed)) > MAX_GATHERS:
        probe = min(length, max(64, 20_000_000 // graph.nodes))
        _, run = _advance(graph, costs, probe)
        if not run.period:
            raise ResourceLimit(
                f"{graph.nodes} subsets of states times {length} free positions are over the limit, and their costs "
                f"are not periodic within {probe} positions"
            )
    return kept


def _walk(graph: SubsetGraph, runs: list[tuple[int | None, int, _Run | None]]) -> list[int | None]:
    """Follow the choices from the start; the last run handled is the first walked."""
    node, out = 0, list[int | None]()
    for cell, length, run in reversed(runs):
        for t in reversed(range(length)):
            if run is None:
                assert cell is not None
                node = int(graph.fixed[cell][node])
                out.append(cell)
                continue
            choice = int(run.at(t)[node])
            node = int(graph.free[node] if choice == FREE else graph.fixed[choice][node])
            out.append(None if choice == FREE else choice)
    # The first step of a walk from the left is the leftmost position; a walk in the backward graph starts at the right.
    return out[::-1] if graph.backward else out


# ------------------------------------------------------------ antichains, by cost


def antichains(dfa: Dfa, member: bool, cells: Sequence[int | None], limit: int = MAX_IMAGES) -> list[int | None] | None:
    """What :func:`shortest` finds, without its graph: for cost 0, 1, 2, ..., the maximal sets at every position.
    ``limit``: the most images of sets and comparisons (32 count as one). ``None`` proves that nothing forces."""
    letters = images(dfa, backward=True)
    cache: dict[tuple[int, int], int] = {}
    work = 0

    def image(a: int, subset: int) -> int:
        nonlocal work
        if (a, subset) not in cache:
            work += 1
            cache[a, subset] = letters[a](subset)
        return cache[a, subset]

    n = len(cells)
    fixable = sum(c is None for c in cells)
    # levels[t]: the sets after the last t cells, each with its predecessor (level, index, choice), for the last cost
    below: list[list[_Set]] = []
    for cost in range(fixable + 1):
        levels: list[list[_Set]] = [[_Set(bits(dfa.target(member)), None, None)]]
        for t in range(n):
            cell = cells[n - 1 - t]
            found: list[_Set] = list(below[t + 1]) if cost else []
            for old in levels[t]:
                after = (image(a, old.mask) for a in (range(len(letters)) if cell is None else (cell,)))
                found.append(_Set(reduce(and_, after), old, cell))
            if cost and cell is None:
                found += [_Set(image(a, old.mask), old, a) for old in below[t] for a in range(len(letters))]
            kept, comparisons = _maximal(found)
            levels.append(kept)
            work += len(found) + comparisons // 32
            if work > limit:
                raise ResourceLimit(
                    f"the subset construction explodes: over {MAX_SUBSETS} sets of the {dfa.states} states in either "
                    f"direction, and over {limit} sets at cost {cost} by antichains; "
                    f"the forcing cost is at least {cost} (certified bound)"
                )
        for last in levels[n]:
            if last.mask & 1:
                return _read(last)
        below = levels
    return None


@dataclass(frozen=True, eq=False, slots=True)
class _Set:
    mask: int
    source: "_Set | None"
    choice: int | None


def _maximal(found: list[_Set]) -> tuple[list[_Set], int]:
    """The sets that no other contains, without the empty one (earlier ones win ties), and the comparisons made."""
    kept: list[_Set] = []
    work = 0
    for one in sorted(found, key=lambda s: -s.mask.bit_count()):
        work += len(kept)
        if one.mask and all(one.mask & ~other.mask for other in kept):
            kept.append(one)
    return kept, work


def _read(last: _Set) -> list[int | None]:
    """The choices from the leftmost cell to the rightmost."""
    out: list[int | None] = []
    node: _Set | None = last
    while node is not None and node.source is not None:
        out.append(node.choice)
        node = node.source
    return out


def cheapest(dfa: Dfa, member: bool, cells: Sequence[int | None]) -> tuple[list[int | None] | None, str]:
    """The cells of a cheapest restriction that forces membership (``member``) or non-membership and keeps those given
    (``None``: nothing forces), and the method."""
    if len(dfa.alphabet) > MAX_LETTERS:
        raise ResourceLimit(f"an alphabet of {len(dfa.alphabet)} symbols is over the limit of {MAX_LETTERS}")
    graph = subset_graph(dfa, member)
    if graph is None:
        return antichains(dfa, member, cells), "antichains of subsets, by cost"
    side = "right to left" if graph.backward else "left to right"
    return shortest(graph, cells), f"shortest path in the subset automaton, {side}, {counted(graph.nodes - 1, 'set')}"
