"""Truth of a formula at every position of a word or of many, in O(n * nodes). Everything is reduced to reflexive
``since``. Let ``p`` be the last ``j <= i`` with psi and ``q`` the last ``j <= i`` with not phi (-1 if there is none):
``phi since psi`` holds exactly if ``p >= 0`` and ``q <= p``, as phi must hold on ``(p, i]`` and a later witness is
easier than an earlier one. A strict operator at ``i`` is the reflexive one at ``i - 1``; a future operator is the past
one on the reversed word. The compiler uses none of this. Counts are running sums (:mod:`restrict.logic.counting`)."""

from collections.abc import Callable, Sequence

import numpy as np

from restrict.base.arrays import Bools, Ints
from restrict.base.errors import UsageError, indices_of, quote
from restrict.base.wording import symbols_of
from restrict.logic.counting import holds
from restrict.logic.formula import Formula
from restrict.logic.operators import ARITY, MIRROR, PAST, SYMBOL, Node
from restrict.logic.parser import parse


def evaluate(formula: Formula | str, word: str | Sequence[str], alphabet: Sequence[str] | None = None) -> Bools:
    """Truth of a formula at each position of a word. Result: bool, shape (n,). Cost O(n * nodes)."""
    formula = parse(formula, alphabet) if isinstance(formula, str) else formula
    if isinstance(word, str):
        word = symbols_of(word, alphabet or ())
    if not len(word):
        raise UsageError("the word is empty; a formula is true or false at a position")
    symbols = tuple(alphabet) if alphabet is not None else tuple(dict.fromkeys((*formula.symbols, *word)))
    return evaluate_tokens(formula, np.array(indices_of(word, symbols, " of the word")), symbols)


def satisfies(
    formula: Formula | str, word: str | Sequence[str], alphabet: Sequence[str] | None = None, at: str = "last"
) -> bool:
    """Truth of a formula at one end of a word. Result: whether it holds there. Cost O(n * nodes)."""
    if at not in ("last", "first"):
        raise UsageError(f"at={quote(at)} is neither 'last' nor 'first'")
    return bool(evaluate(formula, word, alphabet)[-1 if at == "last" else 0])


def evaluate_tokens(formula: Formula, tokens: Ints, alphabet: Sequence[str]) -> Bools:
    """Truth at each position of many words of one length. ``tokens``: integers, shape (..., n), n >= 1: indices into
    ``alphabet``. Result: bool, the shape of ``tokens``. Memory: one byte per entry and node that is still needed."""
    index = {symbol: at for at, symbol in enumerate(alphabet)}
    formula.check_over(alphabet)
    last_use = {a: at for at, node in enumerate(formula.nodes) for a in node.args}
    values: dict[int, Bools] = {}
    for at, node in enumerate(formula.nodes):
        if node.op == SYMBOL:
            values[at] = np.asarray(tokens == index[node.symbol])
        else:
            values[at] = _apply(node, [values[a] for a in node.args], tokens.shape)
        for a in {a for a in node.args if last_use[a] == at}:
            del values[a]
    return values[len(formula.nodes) - 1]


def _apply(node: Node, args: list[Bools], shape: tuple[int, ...]) -> Bools:
    op = node.op
    if op in BOOLEANS:
        return BOOLEANS[op](*args)
    if op in ("true", "false"):
        return np.full(shape, op == "true")
    if node.detail is not None:
        return holds(node.detail, args, shape)
    if op in PAST or op == "first":
        return _past(op, args, shape)
    return _past(MIRROR[op], [a[..., ::-1] for a in args], shape)[..., ::-1]


BOOLEANS: dict[str, Callable[..., Bools]] = {
    "not": np.logical_not, "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "iff": np.equal,
    "implies": np.less_equal,
}  # fmt: skip
"""The Boolean operators, entry by entry."""


def _past(op: str, args: list[Bools], shape: tuple[int, ...]) -> Bools:
    if op == "first":
        return _shift(np.full(shape, False), True)
    if op.endswith("previous"):
        return _shift(args[0], op == "weak previous")
    if op.startswith("strict "):
        op = op.removeprefix("strict ")
        return _shift(_past(op, args, shape), bool(_EMPTY[op]))
    one = np.full(shape, True)
    phi, psi = args if ARITY[op] == 2 else (one, args[0])
    if op in _DUAL:
        return ~_past(_DUAL[op], [~a for a in args], shape)
    found = _since(phi, psi)
    return found | ~_since(one, ~phi) if op == "weak since" else found


_DUAL = {"historically": "once", "trigger": "since", "strong trigger": "weak since"}
_EMPTY = {"once": 0, "historically": 1, "since": 0, "weak since": 1, "trigger": 1, "strong trigger": 0}
"""The value of a strict operator where no position is before."""


def _since(phi: Bools, psi: Bools) -> Bools:
    at = np.arange(phi.shape[-1], dtype=np.int64)
    p = np.maximum.accumulate(np.where(psi, at, -1), axis=-1)
    q = np.maximum.accumulate(np.where(phi, -1, at), axis=-1)
    return np.asarray((p >= 0) & (q <= p))


def _shift(values: Bools, start: bool) -> Bools:
    """The value at the position before; ``start`` at position 0."""
    out = np.empty_like(values)
    out[..., 0], out[..., 1:] = start, values[..., :-1]
    return out
