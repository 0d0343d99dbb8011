"""Least costs of walks of every length in a finite graph: exactly, for all lengths.

**Theorem** (min-plus cyclicity; Cohen, Dubois, Quadrat & Viot 1985, Moeller 1988, for one letter). Let ``x_v(t)`` be
the least cost of a walk of ``t`` edges from node 0 to ``v`` in a graph whose edges cost 0 or 1. There are ``T`` and
``P`` with ``x_v(t + P) = x_v(t) + c(v, t mod P)`` for all ``t >= T`` and all ``v`` (infinite values stay infinite). So
the least cost to a set of goals is ultimately **quasi-linear**: bounded, or growing at a rate, on each residue class.

**Certificate.** Call ``(T, P)`` *settled* if, with ``a = x(t)`` and ``c = x(t + P) - x(t)`` for each ``t`` in
``T .. T + P - 1``, and ``a', c'`` the same one step later, every edge from ``u`` (finite) to ``v`` has ``c_u >= c'_v``,
and every finite ``v`` has an edge with ``a_u + cost = a'_v`` and ``c_u = c'_v``; and if the goals have the same to the
sum: all ``c_v >= c``, one has ``a_v = a`` and ``c_v = c``.

*A settled pair proves the formula.* ``a + k c`` for ``k = 0, 1, ...`` is a potential: no edge leads below it (so no
walk is cheaper), and each of its values is reached by an edge from one of its values (so a walk is as cheap). Induction
on the length. And where the formula holds from ``T`` on, ``(T, P)`` is settled: two lines that agree in their minimum
at ``k = 0`` and at ``k = 1`` with a line below both are that line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I32
from restrict.base.errors import ResourceLimit

NEVER = -1
INFINITE = 1 << 29
MAX_LENGTH = 6000
MAX_CELLS = 1 << 25


@dataclass(frozen=True)
class QuasiLinear:
    """``values[t]`` for ``t`` below their number, ``NEVER`` for infinite. From then on the last ``period`` values
    repeat, and ``growth[r]`` is added each time to the ``r``-th of them."""

    values: tuple[int, ...]
    growth: tuple[int, ...]

    @property
    def period(self) -> int:
        """How many residues are told apart."""
        return len(self.growth)

    @property
    def start(self) -> int:
        """From here on the formula holds."""
        return len(self.values) - len(self.growth)

    def __call__(self, t: int) -> int:
        """The value at ``t``, or ``NEVER``."""
        if t < len(self.values):
            return self.values[t]
        turns, r = divmod(t - self.start, self.period)
        value = self.values[self.start + r]
        return value if value == NEVER else value + turns * self.growth[r]

    @property
    def bounded(self) -> bool:
        """Whether the finite values are bounded."""
        return not any(self.growth)

    def late(self, least: int = 0) -> Iterator[tuple[int, int, int]]:
        """For each residue: the first ``t >= least`` of it from which the formula holds, the value, the growth."""
        first = max(self.start, least)
        for t in range(first, first + self.period):
            yield t, self(t), self.growth[(t - self.start) % self.period]

    def formula(self, t: int, value: int, growth: int, name: str = "t") -> str:
        """One residue in words, ``name`` standing for the length: ``3``, ``t - 1`` or ``(3 t + 1) / 2``."""
        if value == NEVER:
            return "impossible"
        if not growth:
            return str(value)
        common = gcd(growth, self.period)
        up, down = growth // common, self.period // common
        rest = down * value - up * t
        line = ("" if up == 1 else f"{up} ") + name + (f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else "")
        return line if down == 1 else f"({line}) / {down}" if rest else f"{line} / {down}"


class Settled(NamedTuple):
    """From ``first`` on, ``turn`` steps add constants to all values: a settled pair."""

    first: int
    turn: int


def least_costs(
    edges: Sequence[Sequence[int]], goals: Sequence[int], limit: int = MAX_LENGTH
) -> tuple[QuasiLinear, Settled]:
    """The least cost of reaching a goal by a walk of ``t`` edges from node 0, for every ``t``, in the shortest form,
    and a settled pair. ``edges``: each node's successors; the first costs 0, the others 1."""
    graph = _Graph(edges, goals)
    rows = [graph.start()]
    size = 16
    while True:
        while len(rows) < size:
            rows.append(graph.after(rows[-1]))
        history = np.stack(rows)
        found = next((s for s in _candidates(history) if graph.settled(history, s)), None)
        if found is not None:
            first = _earliest(history, found)
            return _shortest(history[:, -1], first), first
        if size >= limit or 2 * size * graph.nodes > MAX_CELLS:
            raise ResourceLimit(f"the least costs have no period up to length {size} in a graph of {graph.nodes} nodes")
        size *= 2


class _Graph:
    """Edges by head and tail; the last column of a row of costs is the least cost of a goal."""

    def __init__(self, edges: Sequence[Sequence[int]], goals: Sequence[int]) -> None:
        table = np.array(edges, dtype=np.int64)
        self.nodes, width = table.shape
        order = np.argsort(table.reshape(-1), kind="stable")
        self.tail, self.head = order // width, table.reshape(-1)[order]
        self.cost = (order % width > 0).astype(np.int32)
        self.heads, self.cut = np.unique(self.head, return_index=True)
        self.goals = np.array(sorted(goals), dtype=np.int64)

    def start(self) -> I32:
        """Node 0 costs nothing."""
        row = np.full(self.nodes + 1, INFINITE, dtype=np.int32)
        row[0] = 0
        return self._with_goal(row)

    def _with_goal(self, row: I32) -> I32:
        row[-1] = row[self.goals].min(initial=INFINITE)
        return row

    def after(self, row: I32) -> I32:
        """The least costs one edge later."""
        out = np.full(self.nodes + 1, INFINITE, dtype=np.int32)
        out[self.heads] = np.minimum.reduceat(row[self.tail] + self.cost, self.cut)
        return self._with_goal(np.minimum(out, INFINITE).astype(np.int32))

    def settled(self, history: I32, pair: Settled) -> bool:
        first, turn = pair
        here, later = history[first : first + turn], history[first + turn : first + 2 * turn]
        if not np.array_equal(here == INFINITE, later == INFINITE):
            return False
        rise = later - here
        for r in range(turn):
            a, c = here[r], rise[r]
            then, rises = history[first + r + 1], rise[(r + 1) % turn]
            from_finite = a[self.tail] < INFINITE
            tail, head, cost = self.tail[from_finite], self.head[from_finite], self.cost[from_finite]
            if (c[tail] < rises[head]).any():
                return False
            reached = np.zeros(self.nodes, dtype=np.bool_)
            reached[head[(a[tail] + cost == then[head]) & (c[tail] == rises[head])]] = True
            if not np.array_equal(reached, then[:-1] < INFINITE):
                return False
            goals = self.goals[a[self.goals] < INFINITE]
            if (c[goals] < c[-1]).any() or (len(goals) and not ((a[goals] == a[-1]) & (c[goals] == c[-1])).any()):
                return False
        return True


def _candidates(history: I32) -> Iterator[Settled]:
    """Pairs that the last rows do not contradict, the smallest turns first."""
    last = len(history) - 1
    top = history[last]
    for turn in range(1, last // 2 + 1):
        middle, low = history[last - turn], history[last - 2 * turn]
        if np.array_equal(top - middle, middle - low):
            yield Settled(last + 1 - 2 * turn, turn)


def _earliest(history: I32, pair: Settled) -> Settled:
    """The same turn from the first length at which the formula holds."""
    first, turn = pair
    while first > 0:
        low, middle, top = (history[first - 1 + k * turn] for k in range(3))
        if not (np.array_equal(middle - low, top - middle) and np.array_equal(low == INFINITE, middle == INFINITE)):
            break
        first -= 1
    return Settled(first, turn)


def _shortest(line: I32, pair: Settled) -> QuasiLinear:
    """The shortest form of the goal's column."""
    first, turn = pair
    known = [int(v) if v < INFINITE else NEVER for v in line[: first + 2 * turn]]
    growth = [known[t + turn] - known[t] if known[t] != NEVER else 0 for t in range(first, first + turn)]
    return shortest_form(QuasiLinear(tuple(known[: first + turn]), tuple(growth)))


def shortest_form(long: QuasiLinear) -> QuasiLinear:
    """The same function with the least period, and with the fewest values."""
    first, turn = long.start, long.period
    span = [long(t) for t in range(first, first + 4 * turn)]

    def rises(step: int) -> list[int] | None:
        """What ``step`` adds to each of two turns; ``None`` where that has not this period."""
        out = []
        for at in range(2 * turn):
            one, two = span[at], span[at + step]
            if (one == NEVER) != (two == NEVER):
                return None
            out.append(two - one)
        return out if all(out[at] == out[at + step] for at in range(2 * turn - step)) else None

    period = next(p for p in range(1, turn + 1) if turn % p == 0 and rises(p) is not None)
    growth = list((rises(period) or [])[:period])
    values = [long(t) for t in range(first + period)]
    while len(values) > period:
        late, early = values[-1], values[-1 - period]
        if (late == NEVER) != (early == NEVER) or late - early != growth[-1]:
            break
        values.pop()
        growth = [growth[-1], *growth[:-1]]
    return QuasiLinear(tuple(values), tuple(growth))
