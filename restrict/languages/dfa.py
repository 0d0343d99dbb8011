"""Complete deterministic finite automata, minimal and numbered canonically. Every regular language has one minimal
automaton; states are numbered in breadth-first order from the start state 0 and symbols in the order of the alphabet,
so two languages over the same alphabet are equal iff their :class:`Dfa` are. Minimisation is Moore's partition
refinement: a round costs O(S k log S), and there are at most S rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from restrict.base.errors import ResourceLimit
from restrict.base.wording import counted

MAX_STATES = 200_000


@dataclass(frozen=True)
class Dfa:
    """``delta[q][a]`` is the successor of state ``q`` under symbol number ``a``; the start state is 0."""

    alphabet: tuple[str, ...]
    delta: tuple[tuple[int, ...], ...]
    accept: frozenset[int]

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.delta)

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each symbol."""
        return {symbol: a for a, symbol in enumerate(self.alphabet)}

    @cached_property
    def dead(self) -> int | None:
        """The state from which no word is accepted, which a minimal automaton has at most once."""
        return next((q for q, row in enumerate(self.delta) if q not in self.accept and set(row) == {q}), None)

    @cached_property
    def table(self) -> npt.NDArray[np.int64]:
        """The transitions as an array of shape ``(symbols, states)``."""
        return np.array(self.delta, dtype=np.int64).reshape(self.states, len(self.alphabet)).T.copy()

    def run(self, word: Iterable[str], state: int = 0) -> int:
        """The state after a word, from ``state`` (default: start); another symbol is a ``KeyError``. O(n)."""
        for symbol in word:
            state = self.delta[state][self.index[symbol]]
        return state

    def target(self, member: bool) -> npt.NDArray[np.bool_]:
        """Which states accept (or, for ``member`` false, reject). ``member``: whether the accepting states are wanted
        (true) or the rejecting ones (false). Result: a new bool array of shape ``(states,)``."""
        good = np.zeros(self.states, dtype=np.bool_)
        good[list(self.accept)] = True
        return good if member else ~good

    def __repr__(self) -> str:
        return f"Dfa({counted(self.states, 'state')}, {counted(len(self.alphabet), 'symbol')})"


def minimal(alphabet: Sequence[str], delta: Sequence[Sequence[int]], start: int, accept: Iterable[int]) -> Dfa:
    """The minimal automaton, states in breadth-first order from 0, of a complete one: ``delta`` has S rows of k
    successors. Cost: at most S rounds of O(S k log S) (Moore's partition refinement)."""
    if len(delta) > MAX_STATES:
        raise ResourceLimit(f"an automaton of {len(delta)} states is over the limit of {MAX_STATES}")
    order = _breadth_first(delta, start)
    renamed = {q: at for at, q in enumerate(order)}
    table = np.array([[renamed[p] for p in delta[q]] for q in order], dtype=np.int64).reshape(len(order), -1).T
    final = set(accept)
    block = _refine(table, np.array([q in final for q in order], dtype=np.int64))
    count = int(block.max()) + 1
    representative = np.zeros(count, dtype=np.int64)
    representative[block[::-1]] = np.arange(len(order))[::-1]
    merged = [[int(block[row[q]]) for row in table] for q in representative.tolist()]
    good = {int(block[at]) for at, q in enumerate(order) if q in final}
    order = _breadth_first(merged, int(block[0]))
    renamed = {q: at for at, q in enumerate(order)}
    return Dfa(
        tuple(alphabet), tuple(tuple(renamed[p] for p in merged[q]) for q in order), frozenset(renamed[q] for q in good)
    )


def _breadth_first(delta: Sequence[Sequence[int]], start: int) -> list[int]:
    order, seen = [start], {start}
    for q in order:
        for p in delta[q]:
            if p not in seen:
                seen.add(p)
                order.append(p)
    return order


def _refine(table: npt.NDArray[np.int64], block: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The coarsest partition that refines ``block`` and that every letter respects."""
    count = 0
    while True:
        _, block = np.unique(block, return_inverse=True)
        if int(block.max()) + 1 == count:
            return block
        count = int(block.max()) + 1
        finer = block
        for row in table:
            _, finer = np.unique(finer * count + block[row], return_inverse=True)
        block = finer
