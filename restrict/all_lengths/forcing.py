"""Restrictions for every length: patterns that force a label, and the exact cost of forcing at every ``n``.

A restriction forces a label iff the set of states that its completions reach has that label. A **pattern** is
``start * * ... * end``: fixed symbols at both ends and all in between free. It works at every length from
``len(start) + len(end)`` on if the set after ``start`` is unchanged by a free position and ``end`` leads to good sets.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED
from restrict.errors import ResourceLimit

MAX_SETS = 20_000
MAX_LENGTH = 5_000
FREE = "*"
Set = frozenset[int]


@dataclass(frozen=True)
class Pattern:
    """``start``, then free positions, then ``end``: forces ``label`` at every ``n >= first`` (markers counted).

    ``cost``: the number of fixed symbols.
    """

    label: str
    start: tuple[str, ...]
    end: tuple[str, ...]
    first: int

    @property
    def cost(self) -> int:
        """How many symbols are fixed."""
        return sum(a != FREE for a in (*self.start, *self.end))

    def text(self) -> str:
        """As a person writes it."""
        return " ".join([*self.start, "*...*", *self.end])

    def claim(self) -> dict[str, object]:
        """The claim of a proof."""
        content = {"kind": "forces", "label": self.label, "start": list(self.start), "middle": [FREE]}
        return content | {"end": list(self.end), "from": self.first}


@dataclass(frozen=True)
class Costs:
    """``values[t]``: the least number of fixed symbols that forces the label on words of ``t`` symbols (-1: over
    ``cap``, or impossible); the last ``period`` values repeat for ever."""

    label: str
    values: tuple[int, ...]
    period: int
    cap: int

    def claim(self) -> dict[str, object]:
        """The claim of a proof."""
        content = {"kind": "cost", "label": self.label, "costs": list(self.values), "period": self.period}
        return content | {"cap": self.cap}

    def table(self) -> list[str]:
        """The lengths with equal costs together, line by line; the last lines hold for ever."""
        start = len(self.values) - self.period
        out: list[str] = []
        t = 0
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
        shown = sorted({"more than " + str(self.cap) if v < 0 else str(v) for v in late})
        return f"{' or '.join(shown)} for all words of at least {len(self.values) - self.period} symbols"


class Sets:
    """The sets of states that fixed and free positions reach from the start."""

    def __init__(self, automaton: Moore, label: str) -> None:
        self.automaton, self.label = automaton, label
        self.rows = automaton.delta.tolist()
        self.good = frozenset(
            q for q in range(automaton.states) if automaton.labels[int(automaton.label[q])] in (label, UNDEFINED)
        )
        self.number: dict[Set, int] = {frozenset([0]): 0}
        self.order: list[Set] = [frozenset([0])]
        self.edges: list[list[int]] = []

    def step(self, states: Set, cell: int) -> Set:
        """After a symbol, or (-1) after a free position."""
        letters = range(len(self.automaton.alphabet)) if cell < 0 else (cell,)
        return frozenset(self.rows[q][x] for q in states for x in letters)

    def explore(self) -> None:
        """All of them, breadth first; ``edges[v]``: free, then each symbol.

        Raises:
            ResourceLimit: there are too many.
        """
        for states in self.order:
            row = []
            for cell in range(-1, len(self.automaton.alphabet)):
                to = self.step(states, cell)
                if to not in self.number:
                    if len(self.order) >= MAX_SETS:
                        raise ResourceLimit(f"more than {MAX_SETS} sets of states; the forcing cost is not known")
                    self.number[to] = len(self.order)
                    self.order.append(to)
                row.append(self.number[to])
            self.edges.append(row)

    def goals(self) -> list[bool]:
        """Which sets have one label."""
        return [states <= self.good for states in self.order]


def cheapest_pattern(automaton: Moore, label: str, markers: int) -> Pattern | None:
    """The pattern that forces a label with the fewest fixed symbols; ``None`` where no pattern of this form does.

    Raises:
        ResourceLimit: too many sets of states.
    """
    sets = Sets(automaton, label)
    sets.explore()
    goals = sets.goals()
    start = (0, 0)
    best: dict[tuple[int, int], int] = {start: 0}
    parent: dict[tuple[int, int], tuple[tuple[int, int], str]] = {}
    queue = deque([start])
    done: set[tuple[int, int]] = set()
    while queue:
        at = queue.popleft()
        if at in done:
            continue
        done.add(at)
        node, part = at
        if part == 1 and goals[node]:
            return _pattern(parent, at, label, markers)
        named = zip(sets.edges[node], (FREE, *automaton.alphabet), strict=True)
        moves = [((to, part), int(cell != FREE), cell) for to, cell in named]
        if part == 0 and sets.edges[node][0] == node:
            moves.append(((node, 1), 0, ""))
        for to, cost, cell in moves:
            if best[at] + cost < best.get(to, 1 << 60):
                best[to] = best[at] + cost
                parent[to] = (at, cell)
                (queue.append if cost else queue.appendleft)(to)
    return None


def _pattern(
    parent: dict[tuple[int, int], tuple[tuple[int, int], str]], at: tuple[int, int], label: str, markers: int
) -> Pattern:
    cells: list[str] = []
    while at in parent:
        at, cell = parent[at]
        cells.append(cell)
    cells.reverse()
    cut = cells.index("")
    start, end = tuple(cells[:cut]), tuple(cells[cut + 1 :])
    return Pattern(label, start, end, max(1, len(start) + len(end) + markers))


def costs(automaton: Moore, label: str, markers: int, cap: int) -> Costs:
    """The exact cost of forcing a label at every length, up to ``cap``.

    The vector of the least costs of all sets after ``t`` positions determines the next one; it repeats.

    Raises:
        ResourceLimit: too many sets of states, or no period up to a length.
    """
    sets = Sets(automaton, label)
    sets.explore()
    goals = [v for v, good in enumerate(sets.goals()) if good]
    over = cap + 1
    here = [0] + [over] * (len(sets.order) - 1)
    seen: dict[tuple[int, ...], int] = {}
    values: list[int] = []
    while tuple(here) not in seen:
        seen[tuple(here)] = len(values)
        found = min((here[v] for v in goals), default=over)
        values.append(found if found <= cap else -1)
        if len(values) > MAX_LENGTH:
            raise ResourceLimit(f"the forcing cost has no period up to {MAX_LENGTH} symbols")
        after = [over] * len(here)
        for v, row in enumerate(sets.edges):
            for k, to in enumerate(row):
                after[to] = min(after[to], here[v] + (k > 0))
        here = after
    return Costs(label, tuple(values), len(values) - seen[tuple(here)], cap)
