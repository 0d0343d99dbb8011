"""Evaluating a c-transformer: every variable at every position, on many inputs at once. Activations are read off their
tables and decision lists; maps, and heads above layer 0, are evaluated as those of any model
(:mod:`restrict.model.trace`). Tests compare the collapsed transformer with the original, value by value."""

from collections.abc import Mapping

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError
from restrict.depth_reduction.c_transformer.activations import Attended, Truth
from restrict.rows.lists import Lists


def tabulated(source: Truth, symbols: int, inputs: I64) -> I64:
    """Truth tables on many inputs. ``inputs``: symbol indices, shape (b, n). Gives the values, int64, shape (b, n)."""
    out = np.empty((len(inputs), len(source.ptr) - 1), np.int64)
    for i in range(out.shape[1]):
        point = np.zeros(len(inputs), np.int64)
        for t in range(source.ptr[i], source.ptr[i + 1]):
            point = point * symbols + inputs[:, source.inputs[t]]
        out[:, i] = source.tables[source.table_ptr[i] + point]
    return out


def decided(source: Attended, lists: Lists, known: Mapping[str, I64]) -> I64:
    """A collapsed head: the first pair of the list that holds is attended to. ``known``: by name the values of its
    query, key and value, shape (b, n). Gives its values, int64, shape (b, n)."""
    head = source.head
    count, n = known[head.value].shape
    out = np.full((count, n), head.default, np.int64)
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
