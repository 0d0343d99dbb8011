"""Writes the lines of a proof, `restrict-kernel/1` (docs/kernel-format.md); sets and runs are written once."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from restrict.base.arrays import I64, bits_of
from restrict.checker.account import Meter, exhausted
from restrict.checker.normal_form import BLOCK, FILE_BYTES
from restrict.elaboration.rows import Rows
from restrict.elaboration.statements import Depends, Statement
from restrict.elaboration.tokens import Cell
from restrict.model.program import Head, Instance

LABEL = "@label"
"""The name of the label map, which is the last variable of a program."""


class Writer:
    """The lines of one proof.

    ``numbers`` are the variables' numbers in the program. What the kernel will charge at least: for a head, ``scored``
    pairs whose scores it computes, in so many ``calls``, for so many ``charges``; and ``steps`` beside these.
    """

    def __init__(self, instance: Instance, digest: str, meter: Meter) -> None:
        self.instance, self.meter, self.size, self.lines = instance, meter, 0, list[str]()
        self.add(f"restrict-kernel/1 {digest}")
        names = ["token", "position", *(variable.name for variable in instance.model.variables), LABEL]
        self.numbers = {name: number for number, name in enumerate(names)}
        self.rows: dict[tuple[str, int, int], int] = {}
        self.scored, self.calls, self.charges = Counter[int](), Counter[int](), Counter[int]()
        self.steps = self._longest = 0
        self._listed: dict[tuple[str, int, int], int] = {}
        self._sets: dict[tuple[int, ...], int] = {}
        self._runs: dict[tuple[int, ...], int] = {(0, instance.n): 0}
        self._contexts = 0

    def add(self, line: str) -> None:
        """A line of the file."""
        self.size += len(line) + 1
        self.meter.hold(len(line) + 100)
        self.meter.charge(1 + len(line) // 16)
        if self.size > FILE_BYTES:
            exhausted(self.meter.place, "the proof is larger than 64 MiB")
        self.lines.append(line)

    def set(self, values: Iterable[int]) -> int:
        """The number of a set of values, not empty; its line is written where it is new."""
        key = tuple(sorted(values))
        if key not in self._sets:
            self._sets[key] = len(self._sets)
            self.add("set " + " ".join(map(str, key)))
        return self._sets[key]

    def runs(self, ends: Sequence[int]) -> int:
        """The number of runs (starts and stops, alternating and increasing); their line is written where they are
        new."""
        key = tuple(ends)
        if key not in self._runs:
            self._runs[key] = len(self._runs)
            self._longest = max(self._longest, len(key))
            self.add(" ".join(["runs", *map(str, key)]))
        return self._runs[key]

    def depends(self, positions: Depends) -> int:
        """The number of the runs of some positions. ``positions``: positions as bits; ``None``: all of them."""
        if positions is None:
            return 0
        self.meter.charge(positions.bit_length() // 32)
        return self.runs(self.ends(bits_of(positions)))

    def ends(self, positions: I64) -> list[int]:
        """Starts and stops of the runs of some positions. ``positions``: int64, ascending."""
        if not len(positions):
            return []
        self.meter.charge(len(positions) // 16)
        breaks = np.flatnonzero(np.diff(positions) > 1)
        self.meter.charge(2 * len(breaks))
        if self.size + 4 * len(breaks) > FILE_BYTES:
            exhausted(self.meter.place, "the proof is larger than 64 MiB")
        starts, stops = positions[np.r_[0, breaks + 1]], positions[np.r_[breaks, len(positions) - 1]] + 1
        ends: list[int] = np.column_stack((starts, stops)).ravel().tolist()
        return ends

    def write_rows(self, rows: Rows) -> None:
        """All row lemmas. ``rows``: the rows with their bars. Cost: a scan of each."""
        for (name, i, u), bar in rows.bars.items():
            head = self.instance.model.by_name[name]
            assert isinstance(head, Head)
            listed, (first, stop) = rows.listed(head, i, u), self.instance.visible(head, i)
            ends = self.ends(listed)
            self.rows[name, i, u], self._listed[name, i, u] = len(self.rows), len(listed)
            places = max(0, stop - first) - len(listed)
            calls, keys = places // BLOCK + len(ends) if places else 0, rows.free(head).domain
            self._scores(name, places * keys, 1 + (1 + keys) * calls // 2, len(ends) + 20 * keys * calls)
            self.add(f"row {self.numbers[name]} {i} {u} {bar[0]} {bar[1]} {self.runs(ends)}")

    def _scores(self, name: str, pairs: int, calls: int, more: int) -> None:
        """A line for which the kernel computes the scores of so many pairs."""
        head = self.numbers[name]
        self.scored[head] += pairs
        self.calls[head] += calls
        self.charges[head] += 1
        self.steps += more

    def box(self, parent: int, cells: Iterable[Cell]) -> int:
        """A context made from ``parent`` (-1: none); ``cells``: the symbols allowed in runs of positions, in order."""
        triples: list[list[int]] = []
        for start, stop, symbols in cells:
            number = self.set(symbols)
            if triples and triples[-1][1] == start and triples[-1][2] == number:
                triples[-1][1] = stop
            else:
                triples.append([start, stop, number])
        words = [str(word) for triple in triples for word in triple]
        self.add(" ".join(["box", str(parent), *words]))
        self._contexts += 1
        return self._contexts - 1

    def statement(self, context: int, said: Statement) -> None:
        """A fact about a map or a head. ``said``: the fact; the rows of its groups are written already."""
        kind = "map" if said.groups is None else "head"
        words = [kind, context, self.numbers[said.name], said.i, *self._shown(said)]
        for group in said.groups or ():
            words += [group.u, self.rows[said.name, said.i, group.u], group.witness, group.least, group.only]
        if said.groups is None:
            self.steps += self._longest
        elif said.groups:
            places = sum(1 + self._listed[said.name, said.i, group.u] for group in said.groups)
            more = 4 + places * (24 + len(said.values)) + (2 + len(said.groups)) * self._longest
            self._scores(said.name, 2 * places, 3 * len(said.groups) + places // BLOCK, more)
        self.add(" ".join(map(str, words)))

    def case(self, context: int, said: Statement, position: int, kids: Sequence[int]) -> None:
        """A fact from those in the cases of a position. ``kids``: a context for each symbol, in order."""
        words = ["case", context, self.numbers[said.name], said.i, position, *self._shown(said), *kids]
        self.add(" ".join(map(str, words)))

    def _shown(self, said: Statement) -> tuple[int, int]:
        """The numbers of a fact's values and runs. Of one value it does not matter what it depends on: number 0."""
        return self.set(said.values), self.depends(None if len(said.values) == 1 else said.depends)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        return ("\n".join(self.lines) + "\n").encode("ascii")
