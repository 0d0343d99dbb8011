"""Finite automata with a label per state: what a model says about every word, minimal and numbered canonically."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from restrict.all_lengths.bimachine import merged
from restrict.all_lengths.program import UNDEFINED
from restrict.all_lengths.stages import Built
from restrict.base.arrays import I32, I64
from restrict.base.wording import counted
from restrict.languages.dfa import Dfa, minimal
from restrict.languages.walk import breadth_first, letters_to


@dataclass(frozen=True, eq=False)
class Moore:
    """``delta`` (S, symbols), start state 0; ``label`` (S,): a number in ``labels`` for the words that end there. The
    label ``UNDEFINED`` says that the model is not defined at this length (without markers: the empty word).
    ``accepts``: the labels are ``accept`` and ``reject``, by ``output.accept``."""

    alphabet: tuple[str, ...]
    delta: I32
    label: I64
    labels: tuple[str, ...]
    accepts: bool = False

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.delta)

    @cached_property
    def said(self) -> list[str]:
        """The label of each state."""
        return [self.labels[v] for v in self.label.tolist()]

    def run(self, word: Sequence[str]) -> str:
        """The label of a word."""
        index = {a: x for x, a in enumerate(self.alphabet)}
        return self.said[reduce(lambda state, symbol: int(self.delta[state, index[symbol]]), word, 0)]

    def language(self, labels: Sequence[str] = ("accept",)) -> Dfa:
        """The minimal automaton of the words with one of these labels (undefined words are not members)."""
        accept = [q for q, name in enumerate(self.said) if name in labels]
        return minimal(self.alphabet, self.delta.tolist(), 0, accept)

    def shortest(self) -> dict[str, tuple[str, ...]]:
        """A shortest word (first in the order of the alphabet) of each label that occurs."""
        rows = self.delta.tolist()
        reached = breadth_first(0, lambda state: rows[state])
        first: dict[str, int] = {}
        for state in reached:
            first.setdefault(self.said[state], state)
        return {name: tuple(self.alphabet[x] for x in letters_to(reached, at)) for name, at in first.items()}

    def document(self, labels: list[str]) -> dict[str, Any]:
        """The automaton as the checker reads it, with these names for its labels."""
        out = {"alphabet": list(self.alphabet), "labels": labels}
        return out | {"transitions": self.delta.tolist(), "output": self.label.tolist()}

    def __repr__(self) -> str:
        return f"Moore({counted(self.states, 'state')}, {counted(len(self.alphabet), 'symbol')})"


def moore(built: Built, merging: bool = True) -> Moore:
    """The automaton of the label at the last position: a state is one of the left automaton and that label, with an end
    marker the label at it. Minimal, unless not ``merging``: then as the trusted checker walks it."""
    program = built.program
    labels = tuple(program.labels)
    empty = UNDEFINED if merging else "reject" if program.accepts else labels[0]  # as the trusted checker has it
    labels = tuple(dict.fromkeys((*labels, UNDEFINED, empty)))
    full, label = _explored(built, labels.index(empty))
    if not merging:
        return Moore(program.alphabet, full, label, labels, program.accepts)
    _, small, reps = merged(full, label)
    return Moore(program.alphabet, small, label[reps], labels, program.accepts)


def _explored(built: Built, empty: int) -> tuple[I32, I64]:
    """All pairs that words reach, successors and labels; ``empty`` is the label of no positions at all."""
    program, machine = built.program, built.machine
    symbols, last = len(program.alphabet), machine.lab[:, :, 0]
    value = machine.column("@label")
    rows, table = machine.left.tolist(), last.tolist()

    def node(l: int, said: int) -> tuple[int, int]:
        """A state, after the end marker where there is one."""
        return l, int(value[last[l, program.letters - 1]]) if program.end else said

    def after(state: tuple[int, int]) -> list[tuple[int, int]]:
        l = state[0]
        return [node(rows[l][x], 0 if program.end else int(value[table[l][x]])) for x in range(symbols)]

    start = int(machine.left[0, symbols]) if program.start else 0
    if program.start and not program.end:
        empty = int(value[last[0, symbols]])
    number = {state: at for at, state in enumerate(breadth_first(node(start, empty), after))}
    delta = [[number[to] for to in after(state)] for state in number]
    return np.array(delta, dtype=np.int32), np.array([said for _, said in number], dtype=np.int64)
