"""The abstract run on demand, on kernels: the fast twin of :class:`restrict.force.on_demand.OnDemandState`. One
:class:`CompiledRun` serves many restrictions of one instance: rows are ordered and maps are tabulated once, when the
first run needs them, and a run costs microseconds for each node that it reads. So thousands of cases, deletions and
random words can be tried. Values, tokens read and cones are those of the run in Python (tests/test_compiled_run.py); a
certificate is always made from a fresh run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from restrict.base.arrays import F64, FREE_INPUT, I64
from restrict.force.image import combinations
from restrict.force.options import OPTIONS
from restrict.force.state import ForcingState
from restrict.kernels import run
from restrict.kernels.run_reads import needed_nodes, open_tokens
from restrict.model.program import MASKS, Head, Instance, Map, Variable, mentions, rule_of
from restrict.model.rules import Callback
from restrict.rows.store import RowList


def supported(instance: Instance) -> bool:
    """Whether :class:`CompiledRun` can be used: no arrays that are too large, no keys of very many values."""
    if instance.model.output.variable in ("token", "position"):
        return False
    domains, keys = instance.domains, (instance.key(v) for v in instance.model.variables if isinstance(v, Head))
    words = sum((domains[v.name] + 63) // 64 for v in instance.model.variables) * instance.n
    return (
        (len(instance.model.variables) + 2) * instance.n <= OPTIONS.compiled_nodes
        and words <= OPTIONS.compiled_nodes
        and all(key in (None, "position") or domains[str(key)] <= OPTIONS.compiled_keys for key in keys)
    )


class TooMuch(Exception):
    """The rows or tables that a run needs are too large to be kept."""


class CompiledRun:
    """V of the output at one position under restrictions, one after the other. ``shared``: a state of the same
    instance; the rows that it has ordered are used, and new ones are added to it."""

    def __init__(self, instance: Instance, position: int, shared: ForcingState | None = None) -> None:
        self.instance, self.position = instance, position
        self.state = shared or ForcingState(instance)
        variables = instance.model.variables
        self.index = {"token": 0, "position": 1} | {v.name: t for t, v in enumerate(variables, 2)}
        self.variables: list[Variable | None] = [None, None, *variables]
        self.names = list(self.index)
        self.target = self.index[instance.model.output.variable] * instance.n + position
        self.free = np.full(instance.n, FREE_INPUT, dtype=np.int64)
        self.free[list(instance.pinned)] = list(instance.pinned.values())
        self.program = self._program()
        self.rows = self._no_rows()
        self.run = self._no_run()
        most = max(1, int(np.diff(self.program.ptr).max(initial=1)))
        self.odometer = np.zeros((2, most), dtype=np.int64)
        self.listed: list[RowList] = []
        self.tables: dict[tuple[str, int], int] = {}
        self.used = dict.fromkeys(("slots", "rows", "pairs", "cells"), 0)
        nodes = len(self.variables) * instance.n
        self.nodes, self.reads = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
        self.scratch = np.zeros(instance.n, dtype=np.uint64)
        self.output = self.index[instance.model.output.variable]

    # ------------------------------------------------------------ asking

    def look(self, fixed: Mapping[int, int]) -> tuple[int, ...]:
        """V of the output under a restriction, by symbol indices."""
        tokens = self.run.tokens
        tokens[:] = self.free
        for i, a in fixed.items():
            tokens[i] = a
        return self._values()

    def look_at(self, tokens: I64) -> tuple[int, ...]:
        """V of the output for an array of symbol indices, ``FREE_INPUT`` where nothing is fixed; markers included."""
        self.run.tokens[:] = tokens
        return self._values()

    def read(self) -> I64:
        """The positions whose tokens the last run read, ascending: freeing or fixing others changes nothing."""
        return np.sort(self.run.read[: self.run.tally[run.READ]])

    @property
    def examined(self) -> int:
        """How many nodes the last run examined."""
        return int(self.run.tally[run.FINISHED])

    def cone(self) -> dict[str, tuple[int, ...]]:
        """The nodes on which the last run rests, for a certificate."""
        size = needed_nodes(self.program, self.rows, self.run, self.target, self.nodes, self.reads)
        found: dict[str, list[int]] = {}
        for node in np.sort(self.nodes[:size]).tolist():
            v, i = divmod(node, self.instance.n)
            found.setdefault(self.names[v], []).append(i)
        return {name: tuple(places) for name, places in found.items()}

    def weights(self) -> F64:
        """For each position how much the nodes of the last run that read its token leave open."""
        weight = np.zeros(self.instance.n)
        open_tokens(self.program, self.rows, self.run, weight, self.reads)
        return weight

    def _values(self) -> tuple[int, ...]:
        now = self.run
        now.tally[run.EPOCH] += 1
        now.tally[run.FINISHED] = now.tally[run.READ] = 0
        while True:
            answer = run.run_on_demand(self.program, self.rows, now, self.target, self.odometer)
            if answer == run.DONE:
                break
            self._meet(answer, int(now.tally[run.NODE]))
            now = self.run
        return self._bits(self.output, self.position)

    def _bits(self, v: int, i: int) -> tuple[int, ...]:
        """V of a known node."""
        words = int(self.program.words[v])
        place = int(self.program.offset[v]) + i * words
        if words == 1:
            word = int(self.run.bits[place])
            return tuple(a for a in range(word.bit_length()) if word >> a & 1)
        raw = self.run.bits[place : place + words].view(np.uint8)
        return tuple(np.flatnonzero(np.unpackbits(raw, bitorder="little")).tolist())

    # ------------------------------------------------------------ what does not change

    def _program(self) -> run.ProgramArrays:
        instance, index = self.instance, self.index
        n, count = instance.n, len(self.variables)
        domain, words, offset = (np.ones(count, dtype=np.int64) for _ in range(3))
        kind = np.array([run.TOKEN, run.POSITION, *(run.MAP,) * (count - 2)], dtype=np.int64)
        head = np.full((count, 5), -1, dtype=np.int64)
        args: list[int] = []
        ptr = np.zeros(count + 1, dtype=np.int64)
        domain[run.TOKEN], domain[run.POSITION] = instance.domains["token"], n
        place = 0
        for v, variable in enumerate(self.variables[2:], 2):
            assert variable is not None
            domain[v] = instance.domains[variable.name]
            most = max(domain[v], instance.domains[variable.value] if isinstance(variable, Head) else 1)
            words[v], offset[v] = (most + 63) // 64, place
            place += int(words[v]) * n
            if isinstance(variable, Head):
                kind[v] = run.HEAD
                names = (instance.query(variable), instance.key(variable), variable.value)
                known = [-1 if name is None else index[name] for name in names]
                head[v] = (*known, MASKS.index(variable.mask), variable.default)
            else:
                args += [index[a] for a in variable.args]
            ptr[v + 1] = len(args)
        offset[run.TOKEN] = place
        return run.ProgramArrays(
            n, len(instance.model.alphabet), kind, domain, words, offset, ptr, np.array(args, dtype=np.int64), head
        )

    def _no_rows(self) -> run.RowArrays:
        nodes = len(self.variables) * self.instance.n
        none, places = np.full(nodes, -1, dtype=np.int64), np.empty(0, dtype=np.int64)
        short = places.astype(np.int32)
        return run.RowArrays(
            none, places, places, places, places, short, short, places.astype(np.uint64), none.copy(), short
        )

    def _no_run(self) -> run.RunArrays:
        n, count = self.instance.n, len(self.variables)
        nodes = count * n
        zeros = [np.zeros(nodes, dtype=np.int64) for _ in range(5)]
        stack = np.empty(len(self.program.args) + count + 2, dtype=np.int64)
        words = int(self.program.offset[run.TOKEN] + self.program.words.max())
        return run.RunArrays(
            self.free.copy(), np.zeros(words, dtype=np.uint64), zeros[0], zeros[1],
            np.zeros((nodes, 3), dtype=np.int64), stack, zeros[2], np.empty(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64), zeros[3], np.zeros(8, dtype=np.int64),
        )  # fmt: skip

    # ------------------------------------------------------------ what a run asks for

    def _meet(self, answer: int, node: int) -> None:
        """Provide rows, pairs or a map."""
        v, i = divmod(node, self.instance.n)
        variable = self.variables[v]
        if answer == run.WANT_MAP:
            assert isinstance(variable, Map)
            self._map(variable, v, i, node)
            return
        assert isinstance(variable, Head)
        if answer == run.WANT_NODE:
            query = int(self.program.head[v, 0])
            count = 1 if query in (-1, run.POSITION) else int(self.program.domain[query])
            slot = self._room("slots", ("row",), count)
            self.rows.base[node] = slot
            self.rows.row[slot : slot + count] = -1
        elif answer == run.WANT_ROW:
            u = int(self.run.at[node, 0])
            row = self._room("rows", ("start", "length", "complete"), 1)
            self.rows.row[self.rows.base[node] + (0 if self.program.head[v, 0] == run.POSITION else u)] = row
            self.listed.append(self.state.rows.of(variable, i, u))
            self._store(row)
        else:
            row = int(self.run.tally[run.QUERY])
            if self.rows.length[row] == len(self.listed[row].pairs):
                self.state.extend(self.listed[row])
            self._store(row)

    def _store(self, row: int) -> None:
        """Put the listed pairs of a row behind all others."""
        rows = self.listed[row]
        if rows.arrays is None:
            self.state.extend(rows)
        assert rows.arrays is not None
        j, w = rows.arrays
        start = self._room("pairs", ("j", "w", "seen"), len(j))
        part = slice(start, start + len(j))
        self.rows.j[part], self.rows.w[part] = j, w
        self.rows.start[row], self.rows.length[row], self.rows.complete[row] = start, len(j), rows.complete
        if len(j) and w.max() < OPTIONS.compiled_keys:
            run.seen_so_far(j, w, self.rows.seen[part], self.scratch)

    def _map(self, variable: Map, v: int, i: int, node: int) -> None:
        """The table of a map, kept where it is small; else its values at a node in this run."""
        domains = [1 if a == "position" else self.instance.domains[a] for a in variable.args]
        own = "i" in mentions(variable) or "position" in variable.args
        slot, size = (variable.name, i if own else -1), prod(domains)
        if slot not in self.tables:
            kept = size <= (OPTIONS.small_table if isinstance(rule_of(variable), Callback) else OPTIONS.one_table)
            self.tables[slot] = -1
            if kept and self.used["cells"] + size <= OPTIONS.compiled_cells:
                sets = [(i,) if a == "position" else range(self.instance.domains[a]) for a in variable.args]
                self.tables[slot] = start = self._room("cells", ("cell",), size)
                self.rows.cell[start : start + size] = self.instance.map_values(variable, i, sets).ravel()
        self.rows.table[node] = self.tables[slot]
        if self.tables[slot] < 0:
            self._image(variable, v, i, node)

    def _image(self, variable: Map, v: int, i: int, node: int) -> None:
        """V of a map in this run, without a table."""
        sets = [self._bits_of(a, i) for a in variable.args]
        words = int(self.program.words[v])
        place = int(self.program.offset[v]) + i * words
        bits = np.zeros(words * 64, dtype=np.uint8)
        if combinations(sets) > OPTIONS.image:
            bits[: self.program.domain[v]] = 1
        else:
            bits[self.instance.map_values(variable, i, sets).ravel()] = 1
        self.run.bits[place : place + words] = np.packbits(bits, bitorder="little").view(np.uint64)
        run.finish(self.run, node)

    def _bits_of(self, name: str, i: int) -> Sequence[int]:
        """V of an argument."""
        if name == "token":
            symbol = int(self.run.tokens[i])
            return range(self.program.symbols) if symbol == FREE_INPUT else (symbol,)
        return (i,) if name == "position" else self._bits(self.index[name], i)

    def _room(self, kind: str, names: Sequence[str], count: int) -> int:
        """Where ``count`` more entries go in some arrays, which grow for it."""
        start = self.used[kind]
        self.used[kind] = stop = start + count
        if kind == "pairs" and stop > OPTIONS.compiled_pairs:
            raise TooMuch
        for name in names:
            array = getattr(self.rows, name)
            if stop > len(array):
                longer = np.empty(max(stop, 2 * len(array)), dtype=array.dtype)
                longer[:start] = array[:start]
                self.rows = self.rows._replace(**{name: longer})
        return start
