"""The words over which an exchange is bounded, and longest paths over pairs of them that differ in one position. All
words, or the words of which an automaton has a run (the prefixes of a language, where dead states are left out). Two
words that differ at position ``t`` share their run before it; behind it the pair of their states runs on the same
symbols."""

from dataclasses import dataclass

import numpy as np

from restrict.soft.models.model import Floats

Delta = tuple[tuple[int, ...], ...]
"""A state or -1 for each state and symbol; the start state is 0."""


@dataclass(frozen=True)
class Words:
    """Words of ``n`` places: those in ``pinned`` hold a marker, which no run reads; ``own`` has its one symbol."""

    n: int
    symbols: int
    pinned: frozenset[int]
    own: int
    symbol: int
    delta: Delta

    @property
    def every(self) -> bool:
        """Whether all words are meant."""
        return len(self.delta) == 1 and min(self.delta[0]) == 0

    def allowed(self, j: int) -> range | tuple[int, ...]:
        """The columns of a place."""
        if j in self.pinned:
            return (0,)
        return (self.symbol,) if j == self.own else range(self.symbols)

    def steps(self, j: int) -> list[tuple[int, int, int]]:
        """Transitions at a place: state, column, state behind."""
        if j in self.pinned:
            return [(q, 0, q) for q in range(len(self.delta))]
        found = [(q, s, self.delta[q][s]) for q in range(len(self.delta)) for s in self.allowed(j)]
        return [step for step in found if step[2] >= 0]

    def exchanges(self, places: list[int]) -> list[tuple[int, int, int]]:
        """Place, symbol, and the other symbol, in both orders."""
        return [(t, s, o) for t in places for s in range(self.symbols) for o in range(self.symbols) if s != o]

    def supports(self, table: Floats, exchanges: list[tuple[int, int, int]]) -> tuple[Floats, Floats]:
        """The greatest sums over whole words, and over what is beside each exchange; minus infinity without words.
        ``table``: shape ``(k, n, symbols)``: ``k`` times what each symbol adds at each place. Gives shapes ``(k,)`` and
        ``(exchanges, k)``. Cost: ``k n`` times the transitions and their pairs."""
        if self.every:
            best = np.stack([table[:, j, list(self.allowed(j))].max(1) for j in range(self.n)])
            whole: Floats = best.sum(0)
            return whole, beside(best)[[t for t, *_ in exchanges]]
        before, behind = self.before(table), self.behind(table)
        rest = np.full((len(exchanges), len(table)), -np.inf)
        for row, (t, s, o) in enumerate(exchanges):
            for q, line in enumerate(self.delta):
                if line[s] >= 0 and line[o] >= 0:
                    rest[row] = np.maximum(rest[row], before[t][q] + behind[t + 1][line[s]][line[o]])
        return before[self.n].max(0), rest

    def before(self, table: Floats) -> list[Floats]:
        """The greatest sums before each place, by state: ``n + 1`` arrays ``(states, k)``."""
        found = [np.full((len(self.delta), len(table)), -np.inf)]
        found[0][0] = 0.0
        for j in range(self.n):
            after = np.full_like(found[0], -np.inf)
            for q, s, t in self.steps(j):
                after[t] = np.maximum(after[t], found[-1][q] + table[:, j, s])
            found.append(after)
        return found

    def behind(self, table: Floats) -> list[Floats]:
        """The greatest sums from each place on, by pairs of states: ``n + 1`` arrays ``(states, states, k)``."""
        states = len(self.delta)
        found = [np.zeros((states, states, len(table)))]
        for j in reversed(range(self.n)):
            onto = np.full((states, states, len(table)), -np.inf)
            for q, s, t in self.steps(j):
                for p in range(states):
                    u = p if j in self.pinned else self.delta[p][s]
                    if u >= 0:
                        onto[q, p] = np.maximum(onto[q, p], table[:, j, s] + found[-1][t, u])
            found.append(onto)
        return found[::-1]


def beside(terms: Floats) -> Floats:
    """The sums of all rows but one, for each row; without a difference, in which small sums would drown."""
    found = np.zeros_like(terms)
    found[1:] = terms[:-1].cumsum(0)
    found[:-1] += terms[:0:-1].cumsum(0)[::-1]
    return found
