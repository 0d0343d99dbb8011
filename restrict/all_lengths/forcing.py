"""The exact cost of forcing a label, at every length.

A restriction forces a label iff all states that its completions reach have that label. So the fewest fixed symbols at
one length are a shortest path in the graph of all sets of states that fixed and free positions reach, and the vector of
the least costs of all sets at one length determines that of the next one. It repeats, since costs are cut off.
"""

from __future__ import annotations

from dataclasses import dataclass

from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED
from restrict.errors import ResourceLimit

MAX_SETS = 20_000
MAX_LENGTH = 5_000
FREE = "*"
Set = frozenset[int]


@dataclass(frozen=True)
class Costs:
    """``values[t]``: the least number of fixed symbols that forces the label on words of ``t`` symbols (-1: over
    ``cap``, or impossible); the last ``period`` values repeat for ever. Nothing is said of words of fewer than
    ``least`` symbols."""

    label: str
    values: tuple[int, ...]
    period: int
    cap: int
    least: int = 0

    def claim(self) -> dict[str, object]:
        """The claim of a proof."""
        content = {"kind": "cost", "label": self.label, "costs": list(self.values), "period": self.period}
        return content | {"cap": self.cap}

    def table(self) -> list[str]:
        """The lengths with equal costs together, line by line; the last lines hold for ever."""
        start = len(self.values) - self.period
        out: list[str] = []
        t = self.least
        if start < t:
            late = tuple(self.values[-self.period :])
            turn = (t - start) % self.period
            return Costs(self.label, (-1,) * t + late[turn:] + late[:turn], self.period, self.cap, t).table()
        while t < start:
            end = t
            while end + 1 < start and self.values[end + 1] == self.values[t]:
                end += 1
            out.append(f"{t}{f' to {end}' if end > t else ''} symbols: {self._said(self.values[t])}")
            t = end + 1
        late = self.values[start:]
        if len(set(late)) == 1:
            return [*out, f"{start} symbols and more: {self._said(late[0])}"]
        for at, value in enumerate(late):
            out.append(f"{start + at}, {start + at + self.period}, ... symbols: {self._said(value)}")
        return out

    def _said(self, value: int) -> str:
        """A cost in words."""
        return f"more than {self.cap}, or impossible" if value < 0 else str(value)

    def text(self) -> str:
        """In words."""
        late = self.values[-self.period :]
        shown = [self._said(v) for v in sorted(set(late), key=lambda v: (v < 0, v))]
        first = max(self.least, len(self.values) - self.period)
        return f"{' or '.join(shown)} for all words of at least {first} symbols"


class Sets:
    """Sets of states, numbered as they are met; number 0 is the start alone."""

    def __init__(self, automaton: Moore, label: str) -> None:
        self.automaton, self.label = automaton, label
        self.rows = automaton.delta.tolist()
        names = [automaton.labels[int(v)] for v in automaton.label]
        self.good = frozenset(q for q, name in enumerate(names) if name in (label, UNDEFINED))
        self.spoken = frozenset(q for q, name in enumerate(names) if name != UNDEFINED)
        self.known: dict[Set, int] = {}
        self.order: list[Set] = []
        self.edges: list[list[int] | None] = []
        self.number(frozenset([0]))

    def number(self, states: Set) -> int:
        """The number of a set.

        Raises:
            ResourceLimit: there are too many.
        """
        if states not in self.known:
            if len(self.order) >= MAX_SETS:
                raise ResourceLimit(f"more than {MAX_SETS} sets of states; the forcing cost is not known")
            self.known[states] = len(self.order)
            self.order.append(states)
            self.edges.append(None)
        return self.known[states]

    def after(self, number: int) -> list[int]:
        """The sets after a free position, and after each symbol."""
        found = self.edges[number]
        if found is None:
            states, rows = self.order[number], self.rows
            single = [frozenset(rows[q][x] for q in states) for x in range(len(self.automaton.alphabet))]
            found = [self.number(s) for s in (frozenset().union(*single), *single)]
            self.edges[number] = found
        return found

    def explore(self) -> list[list[int]]:
        """The successors of all sets that the start reaches, breadth first."""
        at, out = 0, []
        while at < len(self.order):
            out.append(self.after(at))
            at += 1
        return out

    def forced(self, number: int) -> bool:
        """Whether all states of a set have the label."""
        return self.order[number] <= self.good


def shortest_form(values: list[int], period: int) -> tuple[tuple[int, ...], int]:
    """The shortest list and period of a sequence whose last ``period`` values repeat for ever."""
    late = values[-period:]
    period = next(p for p in range(1, period + 1) if period % p == 0 and late == late[:p] * (period // p))
    size = len(values)
    while size > period and values[size - 1 - period] == values[size - 1]:
        size -= 1
    return tuple(values[:size]), period


def costs(automaton: Moore, label: str, markers: int, cap: int) -> Costs:
    """The exact cost of forcing a label at every length, up to ``cap``.

    The vector of the least costs of all sets after ``t`` positions determines the next one; it repeats.

    Raises:
        ResourceLimit: too many sets of states, or no period up to a length.
    """
    sets = Sets(automaton, label)
    edges = sets.explore()
    goals = [v for v in range(len(edges)) if sets.forced(v)]
    over = cap + 1
    here = [0] + [over] * (len(edges) - 1)
    seen: dict[tuple[int, ...], int] = {}
    values: list[int] = []
    while tuple(here) not in seen:
        seen[tuple(here)] = len(values)
        found = min((here[v] for v in goals), default=over)
        values.append(found if found <= cap else -1)
        if len(values) > MAX_LENGTH:
            raise ResourceLimit(f"the forcing cost has no period up to {MAX_LENGTH} symbols")
        after = [over] * len(here)
        for v, row in enumerate(edges):
            for k, to in enumerate(row):
                after[to] = min(after[to], here[v] + (k > 0))
        here = after
    period = len(values) - seen[tuple(here)]
    return Costs(label, *shortest_form(values, period), cap, 0 if markers else 1)
