"""Finite automata with a label per state: what a model says about every word, minimal and numbered canonically."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from restrict.all_lengths.bimachine import merged
from restrict.all_lengths.program import I32, I64, UNDEFINED
from restrict.all_lengths.stages import Built
from restrict.languages.dfa import Dfa, minimal


@dataclass(frozen=True, eq=False)
class Moore:
    """``delta`` (S, symbols), start state 0; ``label`` (S,): a number in ``labels`` for the words that end there.

    The label ``UNDEFINED`` says that the model is not defined at this length (without markers: the empty word).
    ``accepts``: the labels are of ``output.accept``.
    """

    alphabet: tuple[str, ...]
    delta: I32
    label: I64
    labels: tuple[str, ...]
    accepts: bool = False

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.delta)

    def run(self, word: Sequence[str]) -> str:
        """The label of a word."""
        index = {a: x for x, a in enumerate(self.alphabet)}
        state = 0
        for symbol in word:
            state = int(self.delta[state, index[symbol]])
        return self.labels[int(self.label[state])]

    def language(self, labels: Sequence[str] = ("accept",)) -> Dfa:
        """The minimal automaton of the words with one of these labels (undefined words are not members)."""
        good = [at for at, name in enumerate(self.labels) if name in labels]
        accept = np.flatnonzero(np.isin(self.label, good)).tolist()
        return minimal(self.alphabet, self.delta.tolist(), 0, accept)

    def shortest(self) -> dict[str, tuple[str, ...]]:
        """A shortest word (first in the order of the alphabet) of each label that occurs."""
        out: dict[str, tuple[str, ...]] = {}
        words: dict[int, tuple[str, ...]] = {0: ()}
        queue = deque([0])
        while queue:
            state = queue.popleft()
            out.setdefault(self.labels[int(self.label[state])], words[state])
            for x, symbol in enumerate(self.alphabet):
                to = int(self.delta[state, x])
                if to not in words:
                    words[to] = (*words[state], symbol)
                    queue.append(to)
        return out

    def __repr__(self) -> str:
        return f"Moore({self.states} states, {len(self.alphabet)} symbols)"


def moore(built: Built) -> Moore:
    """The automaton of the label at the last position.

    A state is a state of the left automaton and the label of the last position; with an end marker, the label at it.
    """
    program, machine = built.program, built.machine
    symbols, letters = len(program.alphabet), program.letters
    value = machine.column("@label") if "@label" in machine.names else None
    assert value is not None
    labels = tuple(program.labels)
    if UNDEFINED not in labels:
        labels = (*labels, UNDEFINED)
    undefined = labels.index(UNDEFINED)
    start = int(machine.left[0, symbols]) if program.start else 0
    last = machine.lab[:, :, 0]
    nodes: dict[tuple[int, int], int] = {}
    delta: list[list[int]] = []
    label: list[int] = []

    def node(l: int, said: int) -> int:
        if (l, said) not in nodes:
            nodes[l, said] = len(nodes)
            order.append((l, said))
        return nodes[l, said]

    order: list[tuple[int, int]] = []

    def said_at_end(l: int, before: int) -> int:
        if not program.end:
            return before
        return int(value[last[l, letters - 1]])

    first = undefined if not program.start else int(value[last[0, symbols]]) if not program.end else 0
    node(start, said_at_end(start, first))
    rows, table = machine.left.tolist(), last.tolist()
    for l, said in order:
        row = []
        for x in range(symbols):
            to = rows[l][x]
            if program.end:
                row.append(node(to, said_at_end(to, 0)))
            else:
                row.append(node(to, int(value[table[l][x]])))
        delta.append(row)
        label.append(said)
    full = np.array(delta, dtype=np.int32)
    _, small, reps = merged(full, np.array(label, dtype=np.int64))
    return Moore(program.alphabet, small, np.array(label, dtype=np.int64)[reps], labels, program.accepts)
