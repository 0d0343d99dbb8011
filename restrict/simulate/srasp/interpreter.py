"""Running S-RASP programs on words: what the statements say, one vector after the other."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import indices_of
from restrict.simulate.srasp.syntax import Attention, Node, PrefixSum, SRaspProgram
from restrict.soft.models.model import visible

_OPS: dict[str, Callable[..., Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def run(program: SRaspProgram, word: Sequence[str]) -> dict[str, I64]:
    """Every vector on one word, int64 (len(word),), truth values as 0 and 1. Cost: O(n^2) for each attention."""
    indices_of(word, program.alphabet)
    known: dict[str, I64] = {}
    for s in program.statements:
        if isinstance(s, PrefixSum):
            known[s.name] = np.cumsum(_value(s.value, word, known, None))
        elif isinstance(s, Attention):
            known[s.name] = _attend(s, word, known)
        else:
            known[s.name] = np.broadcast_to(_value(s.value, word, known, None), (len(word),)).astype(np.int64)
    return known


def _attend(s: Attention, word: Sequence[str], known: dict[str, I64]) -> I64:
    n = len(word)
    seen = visible(s.mask, np.arange(n), n)
    good = np.broadcast_to(_value(s.score, word, known, 2), (n, n)).astype(np.bool_) & seen
    found = good.any(axis=1) if n else np.zeros(0, dtype=np.bool_)
    best = (n - 1 - np.argmax(good[:, ::-1], axis=1) if s.rightmost else np.argmax(good, axis=1)) if n else found
    value = np.broadcast_to(_value(s.value, word, known, None), (n,))
    default = np.broadcast_to(_value(s.default, word, known, None), (n,))
    return np.where(found, value[best] if n else value, default).astype(np.int64)


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
    if node.op == "not":
        return 1 - args[0]
    if node.op in ("and", "or"):
        found = args[0]
        for a in args[1:]:
            found = found & a if node.op == "and" else found | a
        return found
    return np.asarray(_OPS[node.op](*args)).astype(np.int64)
