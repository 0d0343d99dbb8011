"""Scores and maps: formulas, tables, dot products and Python callables, all reduced to one kind of expression.
``Rule.mentions`` says which of ``n i j q k`` (or argument names) a rule reads; :func:`bind_row` turns a score into an
expression over ``j`` and ``k`` for one row; :func:`evaluate` computes an expression over arrays."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from restrict.base.arrays import I64, MAX64
from restrict.base.errors import ModelError, ResourceLimit
from restrict.kernels.machine import BLOCK, run_block
from restrict.model.code import Code, code_of
from restrict.model.expr import Expr, bind, fold_hashes, name, table
from restrict.model.expr_parser import parse

SCORE_NAMES = frozenset("nijqk")


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression of the language of docs/format.md, with its text; ``folded`` has the hashes of constants folded."""

    text: str
    expr: Expr
    folded: Expr

    @property
    def mentions(self) -> frozenset[str]:
        """The names that the formula reads."""
        return self.expr.names


@dataclass(frozen=True, eq=False)
class Table:
    """A tensor with named axes; ``source`` is (file, tensor) when it lies in a safetensors file."""

    axes: tuple[str, ...]
    values: I64
    source: tuple[str, str] | None = None

    @property
    def mentions(self) -> frozenset[str]:
        """The names that the rule reads: its axes."""
        return frozenset(self.axes)

    def expr(self) -> Expr:
        """The entry at the names of the axes.

        Returns:
            An expression over the axes. The table is shared, not copied, where its values are contiguous.
        """
        return table(self.values.reshape(-1), self.values.shape, [name(a) for a in self.axes])


@dataclass(frozen=True, eq=False)
class Dot:
    """An integer dot product; the last axis of both tensors is ``dim``."""

    query: Table
    key: Table
    _float: list[Any] = field(default_factory=list, repr=False)

    @property
    def mentions(self) -> frozenset[str]:
        """The axes but ``dim``."""
        return (self.query.mentions | self.key.mentions) - {"dim"}

    def bound(self) -> int:
        """A bound on the absolute value of every partial sum.

        Returns:
            The sum over ``dim`` of the products of both sides' greatest absolute values (certified bound).
        """
        q = np.abs(self.query.values.reshape(-1, self.query.values.shape[-1]).astype(object)).max(axis=0)
        k = np.abs(self.key.values.reshape(-1, self.key.values.shape[-1]).astype(object)).max(axis=0)
        return int((q * k).sum())

    def row(self, known: Mapping[str, int]) -> Expr:
        """The score for a known query vector, as a table over the key's axes.

        Below 2^53 all partial sums are exact in floating point in any order, so BLAS may compute them.

        Args:
            known: the values of the query's axes, by their names.

        Returns:
            An expression over the key's axes without ``dim`` (exact). Cost: one matrix-vector product.
        """
        vector = self.query.values[tuple(known[a] for a in self.query.axes[:-1])]
        matrix = self.key.values.reshape(-1, self.key.values.shape[-1])
        if not self._float:
            self._float.append(matrix.astype(np.float64) if self.bound() < 2**53 else None)
        exact = self._float[0]
        flat = matrix @ vector if exact is None else (exact @ vector.astype(np.float64)).astype(np.int64)
        return table(flat, self.key.values.shape[:-1], [name(a) for a in self.key.axes[:-1]])


@dataclass(frozen=True)
class Callback:
    """A Python callable: ``score(n, i, q, j, k)`` or ``map(n, i, *args)``; ``mentions`` comes from its variable."""

    function: Callable[..., int]
    mentions: frozenset[str]

    def row(self, known: Mapping[str, int], size: int, domain: int) -> Expr:
        """The score of one row, tabulated over ``size`` positions ``j`` and ``domain`` key values ``k`` by as many
        calls; ``known``: ``n``, ``i`` and, where there is a query, ``q``. ``ResourceLimit``: more than 2^26 entries;
        ``ModelError``: a result that is not a 64-bit integer."""
        n, i, q = known["n"], known["i"], known.get("q", 0)
        if size * domain > 2**26:
            raise ResourceLimit(
                "a score given as a Python callable has a row of more than 2^26 entries; write it as an expression"
            )
        if hasattr(self.function, "py_func"):
            flat = self._compiled_row(n, i, q, np.empty((size, domain), dtype=np.int64))
        else:
            values = [int64(self.function(n, i, q, j, k), "score") for j in range(size) for k in range(domain)]
            flat = np.array(values, dtype=np.int64)
        return table(flat, (size, domain), [name("j"), name("k")])

    def _compiled_row(self, n: int, i: int, q: int, out: I64) -> I64:
        """A numba function runs at kernel speed; one that returns anything but an integer is refused."""
        from restrict.kernels.callback import tabulate_score

        int64(self.function(n, i, q, 0, 0), "score")
        tabulate_score(self.function, n, i, q, out)
        return out.reshape(-1)


Rule = Formula | Table | Dot | Callback


def int64(value: Any, what: str) -> int:
    """The integer that a callable gave, ``what`` being ``map`` or ``score``; ``ModelError``: none of 64 bits."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != value or not -MAX64 - 1 <= number <= MAX64:
        raise ModelError(f"the {what} callable returned {value!r}, which is not a 64-bit integer")
    return int(number)


def formula(text: str, allowed: frozenset[str]) -> Formula:
    """Parse an expression over some names. ``ModelError``: the first fault, without the place; ``ResourceLimit``: it
    hashes too many arguments."""
    tree = parse(text, allowed)
    return Formula(text, tree, fold_hashes(tree))


def bind_row(rule: Rule, known: Mapping[str, int], size: int, domain: int) -> Expr:
    """A head's score where ``n``, ``i`` and ``q`` are known, as an expression over ``j`` (0 .. size-1) and ``k`` (0 ..
    domain-1). Of a callable: ``ResourceLimit`` beyond 2^26 entries, ``ModelError`` for what is no 64-bit integer."""
    if isinstance(rule, Dot):
        return rule.row(known)
    if isinstance(rule, Callback):
        return rule.row(known, size, domain)
    return bind(expression(rule), **{key: known[key] for key in rule.mentions & known.keys()})


def evaluate(expr: Expr, inputs: Mapping[str, I64], total: int) -> I64:
    """The exact values, int64 (total,), of an expression that stays within 64 bits (:mod:`restrict.model.interval`),
    from those of its names. Cost: one pass per operator; an expression is compiled once."""
    if expr.op == "const":
        return np.full(total, expr.value, dtype=np.int64)
    columns = [inputs[key] for key in sorted(expr.names)]

    def fill(regs: I64, start: int, m: int) -> None:
        for slot, column in enumerate(columns):
            regs[slot, :m] = column[start : start + m]

    return _in_blocks(code_of(expr), total, fill)


def run_row(code: Code, i: int, u: int, js: I64, ks: I64) -> I64:
    """The scores of fewer than a block of pairs by a head's code for all rows (``Instance.shared_code``)."""
    regs = registers(code, len(js))
    regs[0], regs[1], regs[2], regs[3] = js, ks, i, u
    run_code(code, regs, len(js))
    scores: I64 = regs[code.result]
    return scores


def _in_blocks(code: Code, total: int, fill: Callable[[I64, int, int], None]) -> I64:
    """The result at ``total`` elements; ``fill(registers, start, m)`` writes the inputs of ``m`` of them."""
    out = np.empty(total, dtype=np.int64)
    regs = registers(code, max(1, min(BLOCK, total)))
    for start in range(0, total, BLOCK):
        m = min(BLOCK, total - start)
        fill(regs, start, m)
        run_code(code, regs, m)
        out[start : start + m] = regs[code.result, :m]
    return out


def registers(code: Code, size: int) -> I64:
    """Registers for blocks of elements, int64 (registers, size), only the constants filled in."""
    regs = np.empty((code.registers, size), dtype=np.int64)
    regs[code.constants[:, 0]] = code.constants[:, 1:]
    return regs


def run_code(code: Code, regs: I64, m: int) -> None:
    """Run register code on the first ``m`` elements of :func:`registers` whose inputs are filled in; the other rows are
    written. Hash arithmetic wraps around on purpose."""
    with np.errstate(over="ignore"):
        run_block(code.instructions, code.tables, regs, m)


def run_points(code: Code, points: I64) -> I64:
    """Run code, which writes none of its inputs, at points (m, inputs): int64, (m,). Cost: one pass per operator."""

    def fill(regs: I64, start: int, m: int) -> None:
        regs[: points.shape[1], :m] = points[start : start + m].T

    return _in_blocks(code, len(points), fill)


def expression(rule: Rule) -> Expr:
    """A formula or table as an expression over the names that it mentions."""
    assert isinstance(rule, Formula | Table), "callables and dot products have no expression of their own"
    return rule.folded if isinstance(rule, Formula) else rule.expr()


def tabulate(code: Code, i: int, axes: Mapping[str, I64]) -> I64:
    """A map's values at position ``i`` on the product of its arguments' values ``axes``, in the order of the code:
    int64, one axis each. ``ResourceLimit``: more than 2^24 points."""
    shape, total = _points(axes)
    if total <= BLOCK:
        regs = registers(code, total)
        regs[0] = i
        for slot, axis in enumerate(axes.values(), 1):
            regs[slot].reshape(shape)[...] = axis.reshape([-1 if t == slot else 1 for t in range(1, len(shape) + 1)])
        run_code(code, regs, total)
        found: I64 = regs[code.result].reshape(shape)
        return found

    def fill(regs: I64, start: int, m: int) -> None:
        regs[0] = i
        point = np.unravel_index(np.arange(start, start + m), shape)
        for slot, (axis, index) in enumerate(zip(axes.values(), point, strict=True), 1):
            regs[slot, :m] = axis[index]

    return _in_blocks(code, total, fill).reshape(shape)


def tabulate_callback(rule: Callback, known: Mapping[str, int], axes: Mapping[str, I64]) -> I64:
    """:func:`tabulate` for a callable, called once for every point; ``ModelError``: a result is no 64-bit integer."""
    shape, _ = _points(axes)
    points = itertools.product(*(axis.tolist() for axis in axes.values()))
    values = [int64(rule.function(known["n"], known["i"], *point), "map") for point in points]
    return np.array(values, dtype=np.int64).reshape(shape)


def _points(axes: Mapping[str, I64]) -> tuple[tuple[int, ...], int]:
    """The shape of a product and the number of its points."""
    shape = tuple(len(v) for v in axes.values())
    total = math.prod(shape)
    if total > 2**24:
        raise ResourceLimit(f"a map would be tabulated at {total} points; the limit is 2^24")
    return shape, total
