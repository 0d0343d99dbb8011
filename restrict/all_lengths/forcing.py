"""The exact cost of forcing a label, at every length. A restriction forces a label iff all states that its completions
reach have that label. So the fewest fixed symbols at one length are a shortest walk in the graph of all sets of states
that fixed and free positions reach; at all lengths they are a quasi-linear function
(:mod:`restrict.languages.quasilinear`): on each residue class bounded, or growing."""

from dataclasses import dataclass

import numpy as np

from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED
from restrict.base.errors import ResourceLimit
from restrict.languages.quasilinear import NEVER, QuasiLinear, Settled, least_costs
from restrict.languages.subset import SubsetGraph, shortest
from restrict.languages.walk import breadth_first
from restrict.model.restriction import FREE

MAX_SETS = 20_000
Set = frozenset[int]


@dataclass(frozen=True)
class Costs:
    """``cost(t)``: the least number of fixed symbols that forces the label on words of ``t`` symbols, exactly, for
    every ``t``; ``NEVER`` where no word has the label. Nothing is said of words of fewer than ``least`` symbols."""

    label: str
    cost: QuasiLinear
    settled: Settled
    least: int = 0

    def __call__(self, t: int) -> int:
        """The cost on words of ``t`` symbols, or ``NEVER``."""
        return self.cost(t)

    @property
    def bounded(self) -> bool:
        """Whether the costs are bounded."""
        return self.cost.bounded

    def claim(self) -> dict[str, object]:
        """The claim of a proof."""
        settled, cost = self.settled, self.cost
        content: dict[str, object] = {"kind": "cost", "label": self.label}
        content |= {"costs": list(cost.values), "growth": list(cost.growth)}
        return content | {"settled": max(settled.first, self.least, cost.start), "turn": settled.turn}

    def document(self) -> dict[str, object]:
        """The costs as JSON."""
        cost, text = self.cost, self.text()
        content: dict[str, object] = {"values": list(cost.values), "growth": list(cost.growth), "period": cost.period}
        return content | {"bounded": self.bounded, "text": text}

    def table(self) -> list[str]:
        """One line for each range of lengths with equal costs; the last lines hold for all longer words."""
        cost, t, out = self.cost, self.least, []
        while t < cost.start:
            end = t
            while end + 1 < cost.start and cost(end + 1) == cost(t):
                end += 1
            out.append(f"{t}{f' to {end}' if end > t else ''} symbols: {self._said(cost(t))}")
            t = end + 1
        late = list(cost.late(self.least))
        if len(late) == 1:
            return [*out, f"t >= {late[0][0]} symbols: {cost.formula(*late[0])}"]
        return [*out, *(f"t = {t}, {t + cost.period}, ... symbols: {cost.formula(t, v, g)}" for t, v, g in late)]

    def _said(self, value: int) -> str:
        return "impossible" if value == NEVER else str(value)

    def text(self) -> str:
        """The cost in words: early lengths one by one, then formulas."""
        cost, late = self.cost, list(self.cost.late(self.least))
        shown = list(dict.fromkeys(cost.formula(*case) for case in late))
        period = f" (period {cost.period})" if cost.period > 1 else ""
        grows = "" if self.bounded else "grows: "
        values = " or ".join([*shown[:8], *(["..."] if len(shown) > 8 else [])])
        return f"{grows}{values} for all words of t >= {late[0][0]} symbols{period}"


class Sets:
    """The sets of states that were ``met``, and what follows each: the start alone, and what is asked for."""

    def __init__(self, automaton: Moore, label: str) -> None:
        self.automaton, self.label = automaton, label
        self.good = frozenset(q for q, name in enumerate(automaton.said) if name in (label, UNDEFINED))
        self.spoken = frozenset(q for q, name in enumerate(automaton.said) if name != UNDEFINED)
        self.start: Set = frozenset([0])
        self.met, self.edges = {self.start: self.start}, dict[Set, list[Set]]()
        self.columns = automaton.delta.T.tolist()

    def meet(self, states: Set) -> Set:
        """A set, counted: always the same object, which is found again without its elements being compared."""
        found = self.met.setdefault(states, states)
        if len(self.met) > MAX_SETS:
            raise ResourceLimit(f"more than {MAX_SETS} sets of states; the forcing cost is not known")
        return found

    def after(self, states: Set) -> list[Set]:
        """The sets after a free position, and after each symbol."""
        if states not in self.edges:
            single = [frozenset(map(column.__getitem__, states)) for column in self.columns]
            self.edges[states] = [self.meet(s) for s in (frozenset().union(*single), *single)]
        return self.edges[states]

    def graph(self) -> tuple[list[list[int]], list[bool]]:
        """All sets that the start reaches, breadth first: their successors, and whether all states of a set have the
        label."""
        number = {states: at for at, states in enumerate(breadth_first(self.start, self.after))}
        return [[number[to] for to in self.after(states)] for states in number], [s <= self.good for s in number]


def costs(automaton: Moore, label: str, markers: int) -> Costs:
    """The exact cost of forcing a label at every length."""
    edges, forced = Sets(automaton, label).graph()
    return Costs(label, *least_costs(edges, [v for v, good in enumerate(forced) if good]), 0 if markers else 1)


def cheapest_restriction(automaton: Moore, label: str, symbols: int) -> tuple[str, ...] | None:
    """A restriction of words of ``symbols`` symbols that forces a label with the fewest fixed ones. Result: a symbol or
    ``*`` (free) for each position without a marker; ``None`` where no restriction forces the label."""
    rows, forced = Sets(automaton, label).graph()
    edges = np.array(rows, dtype=np.int64)
    walk = shortest(SubsetGraph(edges[:, 0], edges[:, 1:].T, np.array(forced), False), [None] * symbols)
    return None if walk is None else tuple(FREE if a is None else automaton.alphabet[a] for a in walk)
