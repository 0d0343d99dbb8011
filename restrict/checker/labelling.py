"""The labels of all words, given by a machine: what ``computes`` and ``deviates`` compare a model with.

For output at the last position the machine is an automaton with a label for each state; for output at every position it
is a bimachine. Labels are compared by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .account import LARGEST, Place, malformed, unproved
from .formats import symbols
from .machines import Other
from .program import AllLengthsProgram
from .read import listing, record, strings
from .rows import row, rows

AUTOMATON = {"alphabet": symbols, "labels": strings, "transitions": listing, "output": listing}
BIMACHINE = {"alphabet": symbols, "labels": strings, "left": listing, "right": listing, "table": listing}
Rows = list[list[int]]


class Machine(NamedTuple):
    """A bimachine; ``table[l][x][r]`` is a row of ``values`` (columns ``names``), -1 where no position is."""

    left: Rows
    right: Rows
    table: list[Rows]
    names: list[str]
    values: Rows


class Labelling:
    """An automaton, or a bimachine over the symbols and the model's markers; state 0 starts, -1 leads nowhere."""

    def __init__(self, value: Any, place: Place, program: AllLengthsProgram) -> None:
        self.place, self.program = place, program
        every = program.model.every
        fields = record(value, BIMACHINE if every else AUTOMATON, place)
        alphabet = fields["alphabet"]
        if set(alphabet) != set(program.model.alphabet):
            malformed(place.key("alphabet"), "not the symbols of the model")
        self.numbers = [program.labels.get(name, -1 - at) for at, name in enumerate(fields["labels"])]
        self.order = [alphabet[a] for a in program.model.alphabet] + list(range(program.symbols, program.letters))
        self.automaton: Other | None = None
        if every:
            self.read_bimachine(fields)
        else:
            self.read_automaton(fields)

    def read_automaton(self, fields: dict[str, Any]) -> None:
        """States with labels."""
        states, place, meter = len(fields["transitions"]), self.place, self.program.meter
        if not states:
            malformed(place.key("transitions"), "expected at least one state")
        moves = rows(fields["transitions"], place.key("transitions"), states, self.program.symbols, 0, states, meter)
        output = row(fields["output"], place.key("output"), states, len(self.numbers))
        order = self.order[: self.program.symbols]
        label = [self.numbers[number] for number in output]
        table = [[steps[x] for x in order] for steps in moves]
        self.automaton = Other(0, lambda q, x: table[q][x], lambda q: label[q], "automaton")
        self.text = f"automaton-of-{states}-states"

    def read_bimachine(self, fields: dict[str, Any]) -> None:
        """Both automata and the table of labels."""
        letters, place, meter, ends = self.program.letters, self.place, self.program.meter, list[list[list[int]]]()
        for key in ("left", "right"):
            states = len(fields[key])
            if not states:
                malformed(place.key(key), "expected at least one state")
            steps = rows(fields[key], place.key(key), states, letters, -1, states, meter)
            ends.append([[line[x] for x in self.order] for line in steps])
        self.left, self.right = ends
        if len(fields["table"]) != len(self.left):
            malformed(place.key("table"), f"expected {len(self.left)} entries", len(fields["table"]))
        self.table = []
        for at, part in enumerate(fields["table"]):
            found = rows(part, place.key("table").item(at), letters, len(self.right), -1, len(self.numbers), meter)
            named = [[self.numbers[v] if v >= 0 else LARGEST for v in line] for line in found]
            self.table.append([named[x] for x in self.order])
        self.text = f"bimachine-of-{len(self.left)}+{len(self.right)}-states"

    def pairs(self, ours: list[list[int]], theirs: list[list[int]]) -> dict[tuple[int, int], int]:
        """The pairs of states that words reach, with the length of a shortest word that does."""
        reached, level, depth = {(0, 0): 0}, [(0, 0)], 0
        while level:
            depth, after = depth + 1, []
            self.program.meter.charge(4 * len(level) * self.program.letters)
            for q, other in level:
                for x, to in enumerate(ours[q]):
                    pair = (to, theirs[other][x])
                    if to >= 0 and pair[1] < 0:
                        unproved(self.place, "it has no state for some words")
                    if to >= 0 and pair not in reached:
                        reached[pair] = depth
                        after.append(pair)
            level = after
        return reached

    def everywhere(self, machine: Machine, label: list[int], most: int) -> None:
        """The labels agree at every position of all words of at most ``most`` positions."""
        lefts, rights = self.pairs(machine.left, self.left), self.pairs(machine.right, self.right)
        undefined = len(self.program.labels)
        self.program.meter.charge(3 * len(lefts) * len(rights) * self.program.letters)
        for (l, a), before in lefts.items():
            for x in range(self.program.letters):
                line, theirs = machine.table[l][x], self.table[a][x]
                for (r, b), behind in rights.items():
                    if line[r] < 0 or before + 1 + behind > most:
                        continue
                    if label[line[r]] not in (theirs[b], undefined):
                        unproved(self.place, f"the labels differ in a word of {before + 1 + behind} positions")

    def at(self, machine: Machine, label: list[int], word: list[int], position: int) -> tuple[int, int]:
        """The labels of the model and of the machine at a position of a word."""
        program = self.program
        run = [program.symbols] * program.start + word + [program.letters - 1] * program.end
        l = a = r = b = 0
        for x in run[:position]:
            l, a = machine.left[l][x], self.left[a][x]
            if a < 0:
                unproved(self.place, "it has no state for the word")
        for x in reversed(run[position + 1 :]):
            r, b = machine.right[r][x], self.right[b][x]
            if b < 0:
                unproved(self.place, "it has no state for the word")
        x = run[position]
        return label[machine.table[l][x][r]], self.table[a][x][b]
