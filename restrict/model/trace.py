"""Evaluation: every variable at every position, with the attended positions, for one input or a batch. A row (head,
position, query value) is scored once for the whole batch when the batch is larger than the key's domain, and pair by
pair otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError, quote
from restrict.base.wording import columns
from restrict.kernels.machine import BLOCK
from restrict.kernels.scan import attend_table
from restrict.model.expr import Expr
from restrict.model.rules import Callback, evaluate, run_points, run_row
from restrict.model.variables import Head, Map, Variable, mentions, rule_of

if TYPE_CHECKING:
    from restrict.model.instance import Instance

TABLE = 4096
"""Combinations of a map's arguments that are tabulated, at most, where there are as many inputs."""


@dataclass(frozen=True, eq=False)
class Batch:
    """``values[name]`` (inputs, n) and ``attended[head]`` (inputs, n), -1 where nothing was visible."""

    values: dict[str, I64]
    attended: dict[str, I64]


@dataclass(frozen=True, eq=False)
class Trace:
    """One run: ``values[name][i]``, ``attended[head][i]`` (-1: nothing visible), and the labels of the output."""

    instance: Instance
    values: dict[str, I64]
    attended: dict[str, I64]

    def label(self, i: int = -1) -> str:
        """The output's label at a position.

        Args:
            i: 0 .. n-1, or -1 for the last.

        Returns:
            The label, as :meth:`restrict.model.variables.Output.label` gives it.
        """
        return self.instance.label(int(self.values[self.instance.model.output.variable][i]))

    @property
    def output(self) -> str | list[str]:
        """The model's answer: a label, or one per position."""
        if self.instance.model.output.position == "last":
            return self.label()
        return [self.label(i) for i in range(self.instance.n)]

    def document(self) -> dict[str, Any]:
        """The run as JSON.

        Returns:
            An object: ``values`` and ``attended`` by name, and the ``output``.
        """
        rows = {"values": self.values, "attended": self.attended}
        found = {what: {name: row.tolist() for name, row in of.items()} for what, of in rows.items()}
        return found | {"output": self.output}

    def text(self) -> str:
        """The run as a table.

        Returns:
            Lines: every variable, and where heads attend to.
        """
        return str(self)

    def __str__(self) -> str:
        model = self.instance.model
        symbols = [*model.alphabet, *model.markers]
        rows = [["position", *(str(i) for i in range(self.instance.n))]]
        rows.append(["token", *(symbols[t] for t in self.values["token"])])
        for variable in model.variables:
            rows.append([variable.name, *(str(v) for v in self.values[variable.name])])
            if isinstance(variable, Head):
                rows.append(["  attends to", *("-" if j < 0 else str(j) for j in self.attended[variable.name])])
        if model.output.position == "every":
            rows.append(["output", *(self.label(i) for i in range(self.instance.n))])
        width = max(len(row[0]) for row in rows)
        table = columns([(row[0].ljust(width), *row[1:]) for row in rows], right=True)
        return table + f"\noutput: {self.label()}".rstrip() * (model.output.position == "last")


def run(instance: Instance, word: Sequence[int]) -> Trace:
    """Every variable at every position on a word of symbol indices, without markers; O(n^2) per head. ``UsageError``:
    another length, or an index out of range."""
    batch = run_batch(instance, np.asarray([word], dtype=np.int64).reshape(1, -1))
    return Trace(instance, {k: v[0] for k, v in batch.values.items()}, {k: v[0] for k, v in batch.attended.items()})


def tokens_of(instance: Instance, words: I64) -> I64:
    """Token values (inputs, n), markers inserted, of words (inputs, n - markers) of symbol indices; ``UsageError``:
    another shape, or an index out of range."""
    unpinned = instance.unpinned
    if words.ndim != 2 or words.shape[1] != len(unpinned):
        raise UsageError(f"an input of shape {words.shape} for {len(unpinned)} symbols at n = {instance.n}")
    if words.size and not (words.min() >= 0 and words.max() < len(instance.model.alphabet)):
        raise UsageError(f"a symbol index outside 0..{len(instance.model.alphabet) - 1}: {quote(int(words.max()))}")
    tokens = np.empty((len(words), instance.n), dtype=np.int64)
    tokens[:, unpinned.start : unpinned.stop] = words
    for i, value in instance.pinned.items():
        tokens[:, i] = value
    return tokens


def run_batch(instance: Instance, words: I64, target: int | None = None) -> Batch:
    """All variables on all inputs, or those values of them that the output at one position may read. ``words``: int64,
    shape (inputs, n - markers), symbol indices. ``target``: 0 .. n-1: what the output there cannot read is left at 0,
    and a variable that nothing reads any more is dropped; ``None``: everything is run and kept. Result: the values and
    the attended positions (exact). Cost per head: one score per position pair and key value for each query value, plus
    n^2 comparisons per input; memory (inputs, n) per variable that is kept at one time."""
    tokens = tokens_of(instance, words)
    positions = np.broadcast_to(np.arange(instance.n, dtype=np.int64), tokens.shape)
    batch = Batch({"token": tokens, "position": positions}, {})
    wanted, variables = read_at(instance, target), instance.model.variables
    last = {name: t for t, variable in enumerate(variables) for name in (variable.name, *_reads(instance, variable))}
    last |= dict.fromkeys(["token", "position", instance.model.output.variable], len(variables))
    for t, variable in enumerate(variables):
        run_variable(instance, variable, batch, wanted[variable.name])
        if target is not None:
            for name in {variable.name, *_reads(instance, variable)}:
                if last[name] == t:
                    del batch.values[name]
                    batch.attended.pop(name, None)
    return batch


def _reads(instance: Instance, variable: Variable) -> tuple[str, ...]:
    """The variables that a variable reads."""
    if not isinstance(variable, Head):
        return variable.args
    return tuple(name for name in (variable.value, instance.query(variable), instance.key(variable)) if name)


def run_variable(instance: Instance, variable: Variable, batch: Batch, places: I64) -> None:
    """One variable at some positions, from the values of those before it; added to the batch."""
    if isinstance(variable, Head):
        _run_head(instance, variable, batch, places)
    else:
        batch.values[variable.name] = _run_map(instance, variable, batch, places)


def read_at(instance: Instance, target: int | None) -> dict[str, I64]:
    """The ascending int64 positions at which the output at ``target`` (``None``: every position of every variable) may
    read each variable; what is seen is counted, whatever the scores are."""
    names = ["token", "position", *(v.name for v in instance.model.variables)]
    wanted = {name: np.full(instance.n, target is None) for name in names}
    if target is not None:
        wanted[instance.model.output.variable][target] = True
    for variable in reversed(instance.model.variables):
        own = wanted[variable.name]
        if isinstance(variable, Head):
            query, key = instance.query(variable), instance.key(variable)
            if query is not None:
                wanted[query] |= own
            for i in np.flatnonzero(own).tolist():
                first, stop = instance.visible(variable, i)
                for name in (variable.value, *([] if key is None else [key])):
                    wanted[name][first:stop] = True
        else:
            for name in variable.args:
                wanted[name] |= own
    return {name: np.flatnonzero(mask) for name, mask in wanted.items()}


def _run_map(instance: Instance, variable: Map, batch: Batch, places: I64) -> I64:
    shape = batch.values["token"].shape
    rule = rule_of(variable)
    out = _by_positions(shape, 0)
    if isinstance(rule, Callback):
        for i in places.tolist():
            for b in range(shape[0]):
                out[b, i] = instance.map_values(
                    variable, i, [[int(batch.values[a][b, i])] for a in variable.args]
                ).item()
        return out
    if math.prod(instance.domains[a] for a in variable.args) <= min(shape[0], TABLE):
        for i in places.tolist():
            index: I64 | int = 0
            for a in variable.args:
                index = index * instance.domains[a] + (batch.values[a][:, i] if a in mentions(variable) else 0)
            out[:, i] = instance.map_table(variable, i).reshape(-1)[index]
        return out
    points = np.stack([batch.values[a][:, places].reshape(-1) for a in ("position", *variable.args)], axis=1)
    out[:, places] = run_points(instance.map_code(variable), points).reshape(shape[0], len(places))
    return out


def _by_positions(shape: tuple[int, ...], value: int) -> I64:
    """An array (inputs, n) in which the inputs of one position lie side by side: often few positions are wanted."""
    return np.full(shape[::-1], value, dtype=np.int64).T if value else np.zeros(shape[::-1], dtype=np.int64).T


def _run_head(instance: Instance, head: Head, batch: Batch, places: I64) -> None:
    shape = batch.values["token"].shape
    value, attended = _by_positions(shape, head.default), _by_positions(shape, -1)
    query, key = instance.query(head), instance.key(head)
    keys = batch.values[key] if key else np.zeros(shape, dtype=np.int64)
    scores, everyone = _Scores(instance, head), np.arange(shape[0])
    for i in places.tolist():
        first, stop = instance.visible(head, i)
        if first >= stop:
            continue
        for u in np.unique(batch.values[query][:, i]).tolist() if query else [0]:
            chosen = np.flatnonzero(batch.values[query][:, i] == u) if query else everyone
            winners = _winners(
                partial(scores.of, i, u), keys[chosen, first:stop], instance.domains[key] if key else 1, first,
                head.ties == "right",
            )  # fmt: skip
            attended[chosen, i] = winners
            value[chosen, i] = batch.values[head.value][chosen, winners]
    batch.values[head.name], batch.attended[head.name] = value, attended


class _Scores:
    """The scores of a head. Folding and compiling an expression for a row is worth it only for a long one."""

    def __init__(self, instance: Instance, head: Head) -> None:
        self.instance, self.head, self.rows = instance, head, dict[tuple[int, int], Expr]()
        self.shared = instance.shared_code(head)

    def of(self, i: int, u: int, js: I64, ks: I64) -> I64:
        """The scores of pairs of the row of position ``i`` and query value ``u``."""
        if self.shared is not None and len(js) <= BLOCK:
            return run_row(self.shared, i, u, js, ks)
        slot = (i if "i" in mentions(self.head) else -1, u)
        if slot not in self.rows:
            if slot[0] >= 0:
                self.rows.clear()
            self.rows[slot] = self.instance.row(self.head, i, u)
        return evaluate(self.rows[slot], {"j": js, "k": ks}, len(js))


def _winners(scores: Callable[[I64, I64], I64], keys: I64, domain: int, first: int, right: bool) -> I64:
    """The winning position of each input; ``keys`` (inputs, visible)."""
    count, visible = keys.shape
    js = np.arange(first, first + visible, dtype=np.int64)
    if count > domain:
        table = scores(np.repeat(js, domain), np.tile(np.arange(domain, dtype=np.int64), visible))
        winners = np.empty(count, dtype=np.int64)
        attend_table(table.reshape(visible, domain), np.ascontiguousarray(keys), first, int(right), winners)
        return winners
    found = scores(np.tile(js, count), np.ascontiguousarray(keys).reshape(-1)).reshape(count, visible)
    best: I64 = visible - 1 - np.argmax(found[:, ::-1], axis=1) if right else np.argmax(found, axis=1)
    return best + first
