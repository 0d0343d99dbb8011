"""What a certificate's drawing shows, as data: one row per variable, one spot per node, or per cell at large ``n``. The
facts are those of the abstract run over the certificate's cone (docs/kernel.md, rules 1-6), once under the restriction
and once with nothing fixed, so that attention can be shown before and after."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from restrict.abstract.run import AbstractRun, Cone, abstract_run, positions_of
from restrict.base.arrays import I64
from restrict.base.wording import counted
from restrict.certificate.certificate import Certificate
from restrict.certificate.outline import Outline
from restrict.model.program import Head, Instance, Variable
from restrict.model.restriction import Restriction, runs
from restrict.report.text import fixed_list, span, span_list
from restrict.rows.row import Row
from restrict.rows.values import CONSTANT

EXACT = 400
"""Positions up to which every position has a spot of its own."""
CELLS = 200
"""Spots of a row beyond that."""
MOST_ROWS = 40
"""Rows that are drawn; the rest is said in words."""
MOST_NODES, MOST_SCORES = 20_000, 400_000_000
"""Nodes, and nodes times positions, up to which the nodes are examined for a drawing."""
TOLD = 4
"""Nodes of a cell, and query values of a head, that are told one by one."""
SPANS = 3
"""Runs of positions that a node's candidates are told by."""
Links = tuple[tuple[int, int, int], ...]
"""Cells of other rows: (row, first cell, number of cells)."""


@dataclass(frozen=True)
class Spot:
    """A node, or the nodes of a cell.

    Attributes:
        cell: which one, from the left.
        look: how it is drawn (:data:`restrict.report.drawing.LOOKS`).
        lines: what is said of it.
        after: what its head can attend to under the restriction.
        before: the same with nothing fixed.
        reads: what its map reads: rows, at the same cell.
        text: what stands in it: the symbol of an input.
        depends: the most free inputs that one of the nodes depends on.
    """

    cell: int
    look: str
    lines: tuple[str, ...]
    after: Links = ()
    before: Links = ()
    reads: tuple[int, ...] = ()
    text: str = ""
    depends: int = 0


@dataclass
class Track:
    """A row of the drawing: a variable; ``layer`` is the most heads below and at it."""

    name: str
    layer: int
    kind: str
    spots: list[Spot] = field(default_factory=list)


@dataclass(frozen=True)
class Axis:
    """Positions ``0 .. n-1`` in ``cells`` cells of equal size: one each up to :data:`EXACT`."""

    n: int

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.n if self.n <= EXACT else CELLS

    def cell(self, position: int) -> int:
        """The cell of a position. ``position``: 0 .. n-1. Result: 0 .. cells-1."""
        return position * self.cells // self.n

    def span(self, cell: int) -> tuple[int, int]:
        """The positions of a cell. ``cell``: 0 .. cells-1."""
        return -(-cell * self.n // self.cells), -(-(cell + 1) * self.n // self.cells)

    def runs(self, positions: I64) -> list[list[int]]:
        """The cells of positions (int64, in any order) as ``[first cell, count]`` pairs, in order."""
        return runs(int(x) for x in np.unique(np.asarray(positions, dtype=np.int64) * self.cells // self.n))


@dataclass
class Picture:
    """A whole drawing as data; ``notes`` say what is not drawn, and why."""

    axis: Axis
    tracks: list[Track]
    notes: list[str] = field(default_factory=list)

    @property
    def layers(self) -> int:
        """The most heads on a path."""
        return max((track.layer for track in self.tracks), default=0)


# ---------------------------------------------------------------- inputs


def fixed_counts(spans: Iterable[Sequence[Any]], axis: Axis) -> I64:
    """How many of each cell's positions runs cover. ``spans``: runs that begin with (start, count), in order and
    disjoint. Result: int64, shape (cells,). Linear in the runs and cells."""
    pairs = [(run[0], run[1]) for run in spans]
    edges = np.array([axis.span(cell)[0] for cell in range(axis.cells)] + [axis.n], dtype=np.int64)
    if not pairs:
        return np.zeros(axis.cells, dtype=np.int64)
    starts, counts = np.array(pairs, dtype=np.int64).T
    before = np.concatenate([[0], np.cumsum(counts)])  # covered by the runs before each
    at = np.searchsorted(starts, edges, side="right") - 1  # the last run that begins at or before the edge
    inside = np.clip(edges - starts[at], 0, counts[at])
    covered = np.where(at < 0, 0, before[at] + inside)
    return np.diff(covered)


def inputs_track(outline: Outline, pinned: Iterable[int]) -> Track:
    """The row of inputs: fixed, free, held by a marker, or what the output depends on."""
    axis, markers = Axis(outline.n), set(pinned)
    fixed, needed = fixed_counts(outline.fixed, axis), fixed_counts(outline.claim.dependencies or (), axis)
    first: dict[int, list[tuple[int, int, str]]] = {}
    for start, count, symbol in outline.fixed:
        for cell in range(axis.cell(start), axis.cell(start + count - 1) + 1):
            if len(first.setdefault(cell, [])) <= 2 * TOLD:
                first[cell].append((start, count, symbol))
    track = Track("input", 0, "input")
    for cell in range(axis.cells):
        start, stop = axis.span(cell)
        text = ""
        if axis.cells == axis.n:
            text = first[cell][0][2] if fixed[cell] else ""
            state = "a marker" if start in markers else f"fixed to {text}" if fixed[cell] else "free"
            lines = [f"input {start}: {state}"] + ["the output depends on it"] * bool(needed[cell])
        else:
            lines = [f"inputs {start} to {stop - 1}: {fixed[cell]} fixed, {stop - start - fixed[cell]} not"]
            lines += [fixed_list(first.get(cell, []), 2 * TOLD)] * (cell in first)
            lines += [f"the output depends on {needed[cell]} of them"] * bool(needed[cell])
        look = "needed" if needed[cell] else "fixed" if fixed[cell] else "pinned" if start in markers else "free"
        track.spots.append(Spot(cell, look, tuple(lines), text=text))
    return track


# ---------------------------------------------------------------- nodes


def too_many(outline: Outline, variables: int) -> str | None:
    """Why the nodes are not examined for a drawing, if they are not. Result: the reason, or ``None``."""
    nodes = outline.n * variables if outline.cone == "all" else sum(c for p in outline.cone.values() for _, c in p)
    if nodes > MOST_NODES or nodes * outline.n > MOST_SCORES:
        return f"{nodes} nodes at n = {outline.n} are too many to examine for a drawing"
    return None


def candidates(run: AbstractRun, head: Head, i: int) -> dict[int, tuple[I64, I64]]:
    """The key pairs at or above the floor, by query value, as the finished run has them (rule 4). Result: by query
    value (0 where the score reads none) positions and key values. Cost: one row for each query value."""
    instance = run.instance
    first, stop = instance.visible(head, i)
    if first >= stop:
        return {}
    query, key = instance.query(head), instance.key(head)
    keys = run.key_values(key) if key else CONSTANT
    queries = run.values(query, i) if query else (0,)
    return {int(u): Row(instance, head, i, int(u)).candidates(keys) for u in queries}


def draw_nodes(instance: Instance, outline: Outline, found: Certificate, cone: Cone | None = None) -> Picture:
    """The inputs and every examined node. ``cone``: the nodes to examine; by default those of the certificate. Result:
    the drawing as data. Cost: two abstract runs over the cone, and their rows once more."""
    cone = found.cone if cone is None else cone
    rho = Restriction.of(instance, found.restriction.fixed)
    runs_ = abstract_run(instance, rho, cone), abstract_run(instance, Restriction.of(instance), cone)
    return _Painter(instance, outline, *runs_).picture()


class _Painter:
    """Collects the spots of one drawing."""

    def __init__(self, instance: Instance, outline: Outline, after: AbstractRun, before: AbstractRun) -> None:
        self.instance, self.outline, self.after, self.before = instance, outline, after, before
        self.axis = Axis(instance.n)
        depth = instance.model.depths
        shown = [v for v in instance.model.variables if after.facts.get(v.name)]
        read = {v.value for v in shown if isinstance(v, Head)} | {instance.key(v) for v in shown if isinstance(v, Head)}
        drawn = [v for v in instance.model.variables if v in shown or v.name in read]
        self.drawn = sorted(drawn, key=lambda v: depth[v.name])[:MOST_ROWS]
        self.left_out = len(drawn) - len(self.drawn)
        self.depth = depth
        self.row = {"token": 0, "position": 0} | {v.name: at for at, v in enumerate(self.drawn, 1)}

    def picture(self) -> Picture:
        tracks = [inputs_track(self.outline, self.instance.pinned)]
        for variable in self.drawn:
            kind = "head" if isinstance(variable, Head) else "map"
            tracks.append(Track(variable.name, self.depth[variable.name], kind, self._spots(variable)))
        notes = [f"{counted(self.left_out, 'more variable')} examined and not drawn"] * bool(self.left_out)
        return Picture(self.axis, tracks, notes)

    def _spots(self, variable: Variable) -> list[Spot]:
        facts = self.after.facts.get(variable.name, {})
        groups: dict[int, list[int]] = {}
        for i in facts:
            groups.setdefault(self.axis.cell(i), []).append(i)
        out = [self._spot(variable, cell, nodes) for cell, nodes in sorted(groups.items())]
        if self.axis.cells == self.axis.n and len(groups) < self.axis.n:
            rest = (i for i in range(self.axis.n) if i not in groups)
            out += [
                Spot(i, "unexamined", (f"{variable.name} at {i}: not examined, so it may be anything",)) for i in rest
            ]
        return sorted(out, key=lambda spot: spot.cell)

    def _spot(self, variable: Variable, cell: int, nodes: list[int]) -> Spot:
        facts = self.after.facts[variable.name]
        forced = sum(len(facts[i][0]) == 1 for i in nodes)
        lines = []
        look, most = "forced" if forced == len(nodes) else "open", max(facts[i][1].bit_count() for i in nodes)
        if len(nodes) > 1:
            start, stop = self.axis.span(cell)
            lines = [
                f"{variable.name} at {start} to {stop - 1}: {counted(len(nodes), 'node')} examined, {forced} forced"
            ]
            lines += [f"each depends on at most {counted(most, 'input')}"]
        after, before = list[I64](), list[I64]()
        for i in nodes[: TOLD if len(nodes) > 1 else 1]:
            lines += self._told(variable, i, after, before)
        if not isinstance(variable, Head):
            rows = tuple(dict.fromkeys(self.row[a] for a in variable.args if a in self.row and a != "position"))
            return Spot(cell, look, tuple(lines), reads=rows, depends=most)
        reached, once = _joined(after), _joined(before)
        if look == "open" and len(reached) < len(once):
            look = "reduced"
        at = self.row.get(variable.value, 0)
        return Spot(cell, look, tuple(lines), self._links(at, reached), self._links(at, once), depends=most)

    def _links(self, row: int, positions: I64) -> Links:
        return tuple((row, first, count) for first, count in self.axis.runs(positions))

    def _told(self, variable: Variable, i: int, after: list[I64], before: list[I64]) -> list[str]:
        """What is said of a node; the positions that its head can attend to are added."""
        values, depends = self.after.facts[variable.name][i]
        shown = ",".join(map(str, values[:8])) + (",..." if len(values) > 8 else "")
        count = depends.bit_count()
        lines = [f"{variable.name} at {i}: {'forced to ' if len(values) == 1 else 'one of '}{shown}"]
        if variable.name == self.instance.model.output.variable:
            labels = dict.fromkeys(self.instance.label(v) for v in values[:64])
            lines[0] += f" ({', '.join(list(labels)[:4])})"
        if len(values) > 1:
            where = f": {span(positions_of(depends), TOLD)}" if count else ""
            lines.append(f"depends on {counted(count, 'free input')}{where}")
        if isinstance(variable, Head):
            now, once = candidates(self.after, variable, i), candidates(self.before, variable, i)
            after += [j for j, _ in now.values()]
            before += [j for j, _ in once.values()]
            if now:
                lines.append(
                    "can attend to, of what it could before" + ", by query:" * bool(self.instance.query(variable))
                )
            for u, (j, _) in list(now.items())[:TOLD]:
                reached = np.unique(j)
                earlier = len(np.unique(once[u][0])) if u in once else 0
                asked = f"{u}: " if self.instance.query(variable) else ""
                spans = runs(reached.tolist())
                where = span_list(spans[:SPANS], SPANS) + ", ..." * (len(spans) > SPANS)
                lines.append(f"{asked}{len(reached)} of {earlier}: {where}")
            if len(now) > TOLD:
                lines.append(f"and {len(now) - TOLD} more query values")
            if not now:
                lines.append("sees no position: its default")
        return lines


def _joined(parts: list[I64]) -> I64:
    """The union of sets of positions."""
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
