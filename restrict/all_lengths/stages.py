"""From an order-only program to the bimachine of its output, layer by layer. Heads of one depth make a stage. Between
stages only the variables that are still read are kept, and both automata are minimised for them. Where the output is at
the last position, the heads that matter only there come last: they look left at the whole word, so the right automaton
is not extended for them, and their summaries are merged for the one place where they are read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from restrict.all_lengths import bimachine
from restrict.all_lengths.bimachine import Bimachine, Classes, Entries, Limits, too_large
from restrict.all_lengths.meeting import Half, Labels, alike, labels_of, meetings, outcomes
from restrict.all_lengths.program import UNDEFINED, WHEN, Look, OrderOnly, Step, needed, reads
from restrict.base.arrays import I32, I64
from restrict.checker.window import FUTURE, PAST
from restrict.kernels.bimachine import Parts, determinise
from restrict.kernels.triples import edge_cells

Progress = Callable[[str], None]
Side = tuple[I32, I32, I32]
PAIRS = 50_000_000
"""The most pairs of a left and a right row that occur together."""


class StageHead(NamedTuple):
    """A head of a stage: its entries, and its classes on both sides (``None``: not seen from there)."""

    look: Look
    table: Entries
    left: Classes | None
    right: Classes | None


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage as it was built, before merging: what a certificate records. ``heads``; ``base``, ``delta``,
    ``vectors`` of both new automata; ``before`` and ``after``: the bimachines. ``merge_l``, ``merge_r``: the state of
    ``after`` for each new one."""

    heads: tuple[StageHead, ...]
    sides: tuple[Side, Side]
    before: Bimachine
    after: Bimachine
    merge_l: I32
    merge_r: I32
    last: bool = False


@dataclass(frozen=True)
class Record:
    """One line of the account: the stage's heads, the states on both sides before and after merging, seconds."""

    heads: tuple[str, ...]
    grown: tuple[int, int]
    states: tuple[int, int]
    labels: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Built:
    """The bimachine of the output, with the layers that led to it and the account."""

    program: OrderOnly
    machine: Bimachine
    layers: tuple[Stage, ...]
    account: tuple[Record, ...]


# ---------------------------------------------------------------- the order of work


@dataclass(frozen=True)
class Plan:
    """``stages``: heads and the maps after them; then, for the last position only: maps before, heads, maps after."""

    stages: list[tuple[list[Look], list[Step]]]
    before: list[Step]
    last: list[Look]
    after: list[Step]


def levels(program: OrderOnly) -> Plan:
    """The order of work."""
    everywhere = _everywhere(program)
    depth: dict[str, int] = {}
    stages: dict[int, tuple[list[Look], list[Step]]] = {0: ([], [])}
    last_heads: list[Look] = []
    last_steps: list[Step] = []
    for step in program.steps:
        level = max((depth.get(a, 0) for a in reads(step)), default=0)
        if step.name not in everywhere:
            if isinstance(step, Look):
                last_heads.append(step)
            else:
                last_steps.append(step)
            continue
        level += isinstance(step, Look)
        depth[step.name] = level
        heads, maps = stages.setdefault(level, ([], []))
        if isinstance(step, Look):
            heads.append(step)
        else:
            maps.append(step)
    early = {s.name for s in needed(tuple(last_steps), tuple(h.query for h in last_heads))}
    before = [s for s in last_steps if s.name in early]
    after = [s for s in last_steps if s.name not in early]
    return Plan([stages[d] for d in sorted(stages)], before, last_heads, after)


def _everywhere(program: OrderOnly) -> set[str]:
    """The variables that are needed at every position; the others at the last one only. A head at the last position
    whose query is another such head is computed everywhere, so that one stage is enough."""
    if program.every:
        return {s.name for s in program.steps}
    by_name = {s.name: s for s in program.steps}
    wanted: set[str] = set()

    def need(name: str) -> None:
        if name in by_name and name not in wanted:
            wanted.add(name)
            for a in reads(by_name[name]):
                need(a)

    need(WHEN)  # at lengths at which the model is not defined, values may be outside their domains
    for step in program.steps:
        if isinstance(step, Look):
            need(step.pair)
    behind: set[str] = set()
    for step in program.steps:
        if isinstance(step, Look) and step.name not in wanted:
            if step.query in behind:
                need(step.query)
            behind.add(step.name)
        elif any(a in behind for a in reads(step)):
            behind.add(step.name)
    return wanted


def build(
    program: OrderOnly, limits: Limits | None = None, progress: Progress | None = None, keep: bool = False
) -> Built:
    """The bimachine of the output's label (a column ``@label``); at the last position only ``lab[:, :, 0]`` counts.
    ``keep``: keep every layer, for a certificate. Raises :class:`restrict.all_lengths.bimachine.TooLarge`."""
    limits = limits or Limits()
    say = progress or (lambda _: None)
    program = _with_label(program)
    plan = levels(program)
    machine = bimachine.counters(program)
    layers, account = list[Stage](), list[Record]()
    for at, (heads, steps) in enumerate([*plan.stages, *([] if program.every else [(plan.last, plan.after)])]):
        start, last = perf_counter(), at == len(plan.stages)
        if last:
            names, values = bimachine.with_steps(machine.names, machine.values, plan.before)
            machine, later = replace(machine, names=names, values=values), list[Step | Look]()
        else:
            later = [step for stage in plan.stages[at + 1 :] for part in stage for step in part]
            later += [*plan.before, *plan.last, *plan.after]
        layer = extend(machine, heads, steps, _live(program, later), limits, last)
        machine = layer.after
        account.append(_record(layer, start))
        layers += [layer] if keep else []
        if not last:
            say(f"{len(machine.left)} + {len(machine.right)} states after {', '.join(account[-1].heads) or 'the maps'}")
    return Built(program, machine, tuple(layers), tuple(account))


def _with_label(program: OrderOnly) -> OrderOnly:
    """The output replaced by its label's number; one more label where the model is not defined."""
    of = np.array(program.label_of, dtype=np.int64)
    undefined = len(program.labels)
    if program.defined is None:
        step = Step("@label", (program.output,), lambda v: of[v], undefined, program.output)
        labels = program.labels
    else:
        args = (program.output, program.defined)
        step = Step("@label", args, lambda v, d: np.where(d == 1, of[v], undefined), undefined + 1, program.output)
        labels = (*program.labels, UNDEFINED)
    return replace(program, steps=(*program.steps, step), output="@label", labels=labels)


def _live(program: OrderOnly, later: Iterable[Step | Look]) -> list[str]:
    made: set[str] = set()
    wanted: list[str] = []
    for step in later:
        wanted += [a for a in reads(step) if a not in made]
        made.add(step.name)
    if program.output not in made:
        wanted.append(program.output)
    return list(dict.fromkeys(wanted))


def _record(layer: Stage, start: float) -> Record:
    grown = (len(layer.sides[0][0]), len(layer.sides[1][0]))
    states = (len(layer.after.left), len(layer.after.right))
    names = tuple(dict.fromkeys(head.look.model_variable for head in layer.heads))
    return Record(names, grown, states, len(layer.after.values), perf_counter() - start)


# ---------------------------------------------------------------- one stage


def extend(
    machine: Bimachine, looks: list[Look], steps: list[Step], keep: list[str], limits: Limits, last: bool
) -> Stage:
    """The bimachine with the heads and maps of one stage, minimised for the variables ``keep``. ``last``: only the last
    position counts, so heads are seen from the left only."""
    heads = tuple(_seen(machine, look, limits, last) for look in looks)
    left = bimachine.combine(machine, [head.left for head in heads if head.left is not None], False)
    right = bimachine.combine(machine, [head.right for head in heads if head.right is not None], True)
    name = looks[-1].model_variable if looks else "the maps"
    side_l, side_r = (_deterministic(parts, machine, name, limits) for parts in (left, right))
    at_l, rows_l = outcomes(left, side_l[0], side_l[2], 0 if last else -1)
    at_r, rows_r = outcomes(right, side_r[0], side_r[2], -1)
    joint = _Joint(machine, heads, rows_l, rows_r)
    if last:
        merged = _merge_last(joint, side_l, at_l, steps, keep)
    else:
        merged = _merge(joint, (side_l, side_r), (at_l, at_r), steps, keep, name)
    return Stage(heads, (side_l, side_r), machine, *merged, last)


def _seen(machine: Bimachine, look: Look, limits: Limits, last: bool) -> StageHead:
    """A head from both sides, or (``last``) from the left only, where no position is behind the last one."""
    table, asked = bimachine.entries(machine, look), look
    if last and look.mask == "none":
        asked = replace(look, mask="past")
    left = bimachine.explore(machine, asked, table, False, limits) if asked.mask in PAST else None
    right = bimachine.explore(machine, asked, table, True, limits) if asked.mask in FUTURE and not last else None
    shown = iter(bimachine.observations(machine, asked, table, [side for side in (left, right) if side is not None]))
    classes = list[Classes | None]()
    for side in (left, right):
        if side is None:
            classes.append(None)
            continue
        out = next(shown)
        if last:
            b2 = edge_cells(side.side, side.triples) % len(machine.right)
            out = np.where(b2 == 0, out, -1).astype(np.int32)
        classes.append(bimachine.classify(side, out))
    return StageHead(look, table, *classes)


def _deterministic(parts: Parts, machine: Bimachine, name: str, limits: Limits) -> Side:
    base, delta, vectors, status = determinise(parts, limits.states)
    if status:
        raise too_large("states on one side", machine, name, limits.states)
    return base, delta, vectors


@dataclass(eq=False)
class _Joint:
    """Both sides together: the columns of the heads' values for pairs of left and right rows."""

    machine: Bimachine
    heads: tuple[StageHead, ...]
    rows_l: I32
    rows_r: I32

    def values(self, pairs: I64, last: bool) -> tuple[tuple[str, ...], I64]:
        """Old columns and the heads' values, for each pair of row numbers; ``last``: of left row numbers alone."""
        width = 1 if last else max(1, len(self.rows_r))
        a, b = self.rows_l[pairs // width], self.rows_r[pairs % width]
        label, left, right = a[:, 0], iter(a.T[1:]), iter(b.T[1:])
        columns = [self.machine.values[label]]
        for head in self.heads:
            seen = [None if one is None else next(said) for one, said in ((head.left, left), (head.right, right))]
            columns.append(_value(head, label, *seen)[:, None])
        return (*self.machine.names, *(head.look.name for head in self.heads)), np.concatenate(columns, axis=1)


def _value(head: StageHead, label: I32, left: I32 | None, right: I32 | None) -> I64:
    """A head's values from what it shows on both sides."""
    look, table = head.look, head.table
    query = table.query[label]
    if left is not None and right is not None:
        rl, rr = table.rank[query, left], table.rank[query, right]
        right_wins = (rr > rl) | ((rr == rl) & (table.later[query, right] == 1))
        return np.where(right_wins, table.value[query, right], table.value[query, left]).astype(np.int64)
    if left is not None or right is not None:
        return np.asarray(left if left is not None else right, dtype=np.int64)
    # At the last position a head that looks right sees its own position, or nothing.
    if look.mask == "future":
        return table.value[query, table.code[query, table.pair[label]]].astype(np.int64)
    return np.full(len(label), look.default, dtype=np.int64)


def _merge(
    joint: _Joint, sides: tuple[Side, Side], at: tuple[I32, I32], steps: list[Step], keep: list[str], name: str
) -> tuple[Bimachine, I32, I32]:
    """Minimise both new automata for the labels of the kept variables. ``name``: of the last head, for a refusal."""
    machine, (side_l, side_r), (at_l, at_r) = joint.machine, sides, at
    halves = Half(at_l, side_l[0], len(machine.left)), Half(at_r, side_r[0], len(machine.right))
    rights = max(1, len(joint.rows_r))
    pairs = meetings(*halves, rights, PAIRS)
    if pairs is None:
        raise too_large("combinations of values", machine, name, PAIRS)
    columns, values = bimachine.with_steps(*joint.values(pairs, False), steps)
    rows, number = bimachine.forget(columns, values, keep)
    labels = Labels(pairs, number, len(joint.rows_l), rights)
    merge_l, left, reps_l = bimachine.merged(side_l[1], alike(*halves, labels, False))
    merge_r, right, reps_r = bimachine.merged(side_r[1], alike(*halves[::-1], labels, True))
    if len(left) * left.shape[1] * len(right) > bimachine.CELLS:
        raise too_large(
            f"cells of a table: {len(left)} left times {len(right)} right states", machine, name, bimachine.CELLS
        )
    lab = labels_of(*halves, labels, reps_l, reps_r)
    return Bimachine(left, right, lab, tuple(keep), rows), merge_l, merge_r


def _merge_last(
    joint: _Joint, side_l: Side, at_l: I32, steps: list[Step], keep: list[str]
) -> tuple[Bimachine, I32, I32]:
    """Minimise the left automaton where only the empty suffix counts: the right one is dropped."""
    rows = np.arange(len(joint.rows_l), dtype=np.int64)
    columns, values = bimachine.with_steps(*joint.values(rows, True), steps)
    labels, number = bimachine.forget(columns, values, keep)
    cells = np.append(number, -1)[at_l[:, :, 0]]
    first = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    merge, left, reps = bimachine.merged(side_l[1], first)
    right, lab = np.full((1, left.shape[1]), -1, dtype=np.int32), cells[reps].astype(np.int32)[:, :, None]
    return Bimachine(left, right, lab, tuple(keep), labels), merge, np.zeros(1, dtype=np.int32)
