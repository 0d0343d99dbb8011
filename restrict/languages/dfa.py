"""Complete deterministic finite automata, minimal and numbered canonically. Every regular language has one minimal
automaton; states are numbered in breadth-first order from the start state 0 and symbols in the order of the alphabet,
so two languages over the same alphabet are equal iff their :class:`Dfa` are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64, Bools, Ints
from restrict.base.errors import ResourceLimit
from restrict.base.wording import counted
from restrict.languages.walk import breadth_first

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
    def table(self) -> I64:
        """The transitions as an array of shape ``(symbols, states)``."""
        return np.array(self.delta, dtype=np.int64).reshape(self.states, len(self.alphabet)).T.copy()

    def run(self, word: Iterable[str], state: int = 0) -> int:
        """The state after a word, from ``state`` (default: start); another symbol is a ``KeyError``. O(n)."""
        for symbol in word:
            state = self.delta[state][self.index[symbol]]
        return state

    def target(self, member: bool) -> Bools:
        """Which states accept (or, for ``member`` false, reject). ``member``: whether the accepting states are wanted
        (true) or the rejecting ones (false). Result: a new bool array of shape ``(states,)``."""
        good = np.zeros(self.states, dtype=np.bool_)
        good[list(self.accept)] = True
        return good if member else ~good

    def __repr__(self) -> str:
        return f"Dfa({counted(self.states, 'state')}, {counted(len(self.alphabet), 'symbol')})"


def minimal(alphabet: Sequence[str], delta: Sequence[Sequence[int]], start: int, accept: Iterable[int]) -> Dfa:
    """The minimal automaton, states in breadth-first order from 0, of a complete one: ``delta`` has S rows of k
    successors. Classes are numbered by first occurrence among states in breadth-first order, so by shortest words,
    which is breadth-first order again. Cost: that of :func:`congruence`."""
    if len(delta) > MAX_STATES:
        raise ResourceLimit(f"an automaton of {len(delta)} states is over the limit of {MAX_STATES}")
    order, final = list(breadth_first(start, delta.__getitem__)), set(accept)
    renamed = {q: at for at, q in enumerate(order)}
    table = np.array([[renamed[p] for p in delta[q]] for q in order], dtype=np.int64).reshape(len(order), -1)
    block, reps = congruence(table, np.array([q in final for q in order]))
    merged = tuple(tuple(row) for row in block[table[reps]].tolist())
    return Dfa(tuple(alphabet), merged, frozenset(c for c, at in enumerate(reps.tolist()) if order[at] in final))


def congruence(delta: Ints, first: npt.NDArray[Any]) -> tuple[I64, I64]:
    """The coarsest partition of states that refines ``first`` (S,) and that every letter respects: the class of each
    state, numbered by first occurrence, and the first state of each. ``delta`` (S, k): successors, -1 for none. Moore's
    refinement: at most S rounds of O(S k log S)."""
    moves, count = np.where(delta >= 0, delta, len(delta)).T, 0
    block = np.unique(first, return_inverse=True)[1]
    while (now := int(block.max()) + 1) != count:
        count, behind = now, np.append(block, now)
        for row in moves:
            block = np.unique(block * (now + 1) + behind[row], return_inverse=True)[1]
    _, reps, where = np.unique(block, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(reps))[where], np.sort(reps)
