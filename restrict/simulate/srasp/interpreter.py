"""Running S-RASP programs on words: what the statements say, one vector after the other."""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import indices_of
from restrict.simulate.srasp.syntax import Node, PrefixSum, SRaspAttention, SRaspProgram
from restrict.soft.models.model import visible

_OPS: dict[str, Callable[..., Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "min": np.minimum, "max": np.maximum,
    "and": operator.and_, "or": operator.or_,
}  # fmt: skip


def run(program: SRaspProgram, word: Sequence[str]) -> dict[str, I64]:
    """Every vector on one word, int64 (len(word),), truth values as 0 and 1. Cost: O(n^2) for each attention."""
    indices_of(word, program.alphabet)
    known: dict[str, I64] = {}
    for s in program.statements:
        if isinstance(s, SRaspAttention):
            known[s.name] = _attend(s, word, known)
            continue
        value = np.broadcast_to(_value(s.value, word, known, None), (len(word),)).astype(np.int64)
        known[s.name] = np.cumsum(value) if isinstance(s, PrefixSum) else value
    return known


def _attend(s: SRaspAttention, word: Sequence[str], known: dict[str, I64]) -> I64:
    n = len(word)
    value, default = (np.broadcast_to(_value(part, word, known, None), (n,)) for part in (s.value, s.default))
    good = np.broadcast_to(_value(s.score, word, known, 2), (n, n)) & visible(s.mask, np.arange(n), n)
    best = [np.flatnonzero(row)[-1 if s.rightmost else 0] if row.any() else -1 for row in good]
    return np.array([default[i] if j < 0 else value[j] for i, j in enumerate(best)], dtype=np.int64)


def _value(node: Node, word: Sequence[str], known: dict[str, I64], axes: int | None) -> Any:
    """An expression; with two axes ``i`` is the row and ``j`` the column."""
    if node.op == "const":
        return np.int64(node.value)
    if node.side is not None:
        if node.op == "pos":
            column = np.arange(1, len(word) + 1)
        elif node.op == "symbol":
            column = np.array([s == node.text for s in word], dtype=np.int64)
        else:
            column = known[node.text]
        return column if axes is None else column[:, None] if node.side == "i" else column[None, :]
    args = [_value(a, word, known, axes) for a in node.args]
    return 1 - args[0] if node.op == "not" else np.asarray(reduce(_OPS[node.op], args)).astype(np.int64)
