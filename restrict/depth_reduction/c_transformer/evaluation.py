"""Evaluating a c-transformer: every variable at every position, on many inputs at once.

Activations are read off their tables and decision lists; heads above layer 0 are evaluated by their definition. Tests
compare the collapsed transformer with the original, value by value.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from restrict.arrays import I64
from restrict.depth_reduction.c_transformer.activations import Attended, Truth
from restrict.errors import UsageError
from restrict.kernels.scan import attend_table
from restrict.model.expr import bind
from restrict.model.program import Head, Instance, Map
from restrict.model.rules import Callback, evaluate, expression


def tabulated(source: Truth, symbols: int, inputs: I64) -> I64:
    """Truth tables on many inputs.

    ``inputs``: symbol indices, shape (b, n). Gives the values, int64, shape (b, n).
    """
    out = np.empty((len(inputs), len(source.ptr) - 1), np.int64)
    for i in range(out.shape[1]):
        point = np.zeros(len(inputs), np.int64)
        for t in range(source.ptr[i], source.ptr[i + 1]):
            point = point * symbols + inputs[:, source.inputs[t]]
        out[:, i] = source.tables[source.table_ptr[i] + point]
    return out


def mapped(instance: Instance, variable: Map, known: Mapping[str, I64]) -> I64:
    """A map of variables whose values are known.

    ``known``: by name the values of its arguments, shape (b, n). Gives its values, int64, shape (b, n).
    """
    shape = known["token"].shape
    if isinstance(variable.map, Callback):
        out = np.empty(shape, np.int64)
        for b, i in np.ndindex(*shape):
            out[b, i] = instance.map_values(variable, i, [[int(known[a][b, i])] for a in variable.args]).item()
        return out
    expr = bind(expression(variable.map), n=instance.n)  # type: ignore[arg-type]
    inputs = {a: np.ascontiguousarray(known[a]).reshape(-1) for a in variable.args}
    inputs["i"] = np.tile(np.arange(instance.n, dtype=np.int64), shape[0])
    return evaluate(expr, {a: inputs[a] for a in expr.names}, shape[0] * shape[1]).reshape(shape)


def decided(instance: Instance, source: Attended, known: Mapping[str, I64], count: int) -> I64:
    """A collapsed head: the first pair of the list that holds is attended to; without lists, by its definition.

    ``known``: by name the values of its query, key and value, shape (b, n). Gives its values, int64, shape (b, n).
    """
    head, lists = source.head, source.lists
    if lists is None:
        return attend(instance, head, known)
    out = np.full((count, instance.n), head.default, np.int64)
    for r, (i, u) in enumerate(zip(lists.row_i.tolist(), lists.row_u.tolist(), strict=True)):
        open_ = known[source.query][:, i] == u if source.query else np.ones(count, bool)
        for j, w in lists.pairs(r):
            hit = open_ & (known[source.key][:, j] == w) if source.key else open_
            out[hit, i] = known[head.value][hit, j]
            open_ = open_ & ~hit
            if not open_.any():
                break
        if open_.any():
            raise UsageError("an input does not agree with the restriction")
    return out


def attend(instance: Instance, head: Head, known: Mapping[str, I64]) -> I64:
    """A head above the base, by its definition.

    ``known``: by name the values of its query, key and value, shape (b, n). Gives its values, int64, shape (b, n).
    Cost: n^2 scores per query value, b n^2 comparisons.
    """
    query, key = instance.query(head), instance.key(head)
    count = len(known["token"])
    out = np.full((count, instance.n), head.default, np.int64)
    keys = known[key] if key else np.zeros((count, instance.n), np.int64)
    domain = instance.domains[key] if key else 1
    for i in range(instance.n):
        first, stop = instance.visible(head, i)
        for u in (np.unique(known[query][:, i]) if query else (0,)) if first < stop else ():
            who = np.flatnonzero(known[query][:, i] == u) if query else np.arange(count)
            size = stop - first
            grid = {"j": np.repeat(np.arange(first, stop), domain), "k": np.tile(np.arange(domain), size)}
            scores = evaluate(instance.row(head, i, int(u)), grid, size * domain).reshape(size, domain)
            winners = np.empty(len(who), np.int64)
            seen = np.ascontiguousarray(keys[who, first:stop])
            attend_table(scores, seen, first, int(head.ties == "right"), winners)
            out[who, i] = known[head.value][who, winners]
    return out
