"""What a score or a map reads of positions: its *atoms*, and the finitely many classes of positions they tell apart.

An atom is a maximal sub-expression over ``i`` and ``n`` (the query's side) or over ``j`` and ``n`` (the key's side). A
score is a function of the atoms of both sides, the query and the key: ``i``, ``j`` and ``n`` occur nowhere else. So two
positions with the same atoms (of one *class*) are alike, at any length.

Each class gets an indicator, a term of ``restrict-soft/1`` such as ``((i % 2) == 0)``. Where the atoms grow with the
position (``abs(i - j)``, hashes, tables over positions) or have no such text, every position is a class of its own, and
what is built holds at one length only.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

import numpy as np

from restrict.all_lengths.forms import Declined, analyse
from restrict.all_lengths.within import within
from restrict.base.arrays import I64
from restrict.base.errors import ModelError
from restrict.model.expr import Expr, bind, name, substitute
from restrict.model.expr_parser import SIGNS
from restrict.model.rules import evaluate
from restrict.soft.models.terms import MAX_TEXT, Term

MOST_LENGTHS = 200
"""Classes are collected at the shorter lengths up to this many; atoms that need more count as growing."""
MOST_CLASSES = 64


@dataclass(frozen=True)
class Classes:
    """The classes of positions that ``atoms`` over ``i`` and ``n`` tell apart: their ``keys`` (atom values) and
    indicators ``texts``, empty for a single class; ``every_length``: the same finite set at all lengths."""

    atoms: tuple[Expr, ...]
    keys: tuple[tuple[int, ...], ...]
    texts: tuple[str, ...]
    every_length: bool

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def _index(self) -> dict[tuple[int, ...], int]:
        return {key: at for at, key in enumerate(self.keys)}

    def at(self, n: int) -> I64:
        """The class of every position. Result: int64, shape (n,)."""
        return np.array([self._index[key] for key in atom_values(self.atoms, n)], dtype=np.int64)


def atoms_of(expr: Expr, side: str) -> tuple[Expr, ...]:
    """The atoms of one side of an expression over ``n i j`` and other names (no free ``position``), each once, as
    expressions over ``i`` and ``n``: on the side ``j`` that name is replaced. ``n`` alone is of ``i``."""
    found: dict[Expr, None] = {}
    _collect(expr, side, found)
    return tuple(substitute(atom, {"j": name("i")}) for atom in found)


def _collect(expr: Expr, side: str, found: dict[Expr, None]) -> None:
    names = expr.names
    if not names & {"i", "j", "n"}:
        return
    for own, first in (("i", True), ("j", False)):
        if names <= {own, "n"} and (own in names or first):
            if own == side:
                found[expr] = None
            return
    for arg in expr.args:
        _collect(arg, side, found)


def atom_values(atoms: Sequence[Expr], n: int) -> list[tuple[int, ...]]:
    """The values of all atoms at every position. ``atoms``: over ``i`` and ``n``. Result: ``n`` tuples."""
    places = np.arange(n, dtype=np.int64)
    columns = [evaluate(bind(atom, n=n), {"i": places}, n).tolist() for atom in atoms]
    return list(zip(*columns, strict=True)) if columns else [()] * n


def classes_of(atoms: tuple[Expr, ...], n: int, lengths: Iterable[int]) -> Classes:
    """The classes that some atoms tell apart. ``atoms``: over ``i`` and ``n``. ``lengths``: those at which classes are
    collected where the atoms are finite at all lengths; ``n`` is the last."""
    finite = reach(atoms) is not None
    keys = tuple(dict.fromkeys(key for m in (lengths if finite else [n]) for key in atom_values(atoms, m)))
    texts = _texts(atoms, keys) if len(keys) <= MOST_CLASSES else None
    if texts is not None and (not texts or _right(texts, atoms, keys, n)):
        return Classes(atoms, keys, texts, finite)
    return Classes((name("i"),), tuple((i,) for i in range(n)), tuple(f"i == {i}" for i in range(n)), False)


def reach(atoms: Sequence[Expr]) -> int | None:
    """A length up to which everything shows about the classes of atoms over ``i`` and ``n``; ``None`` where an atom
    grows, is not understood, or would need more than 200 lengths. With threshold ``t`` and period ``p`` from either
    end, positions have the same classes at ``n`` and ``n + p`` from ``n = 2 (t + p)`` on; classes that hold one
    position there hold one at all greater lengths, and all others two or more. So ``2 (t + p) + p`` is enough."""
    threshold, period = 1, 1
    for atom in atoms:
        try:
            form = analyse(within(atom))
        except Declined:
            return None
        if any(form.slope) or form.reach:
            return None
        threshold, period = max(threshold, form.threshold), lcm(period, form.period)
    needed = 2 * (threshold + period) + period
    return needed if needed <= MOST_LENGTHS else None


def _texts(atoms: tuple[Expr, ...], keys: Sequence[tuple[int, ...]]) -> tuple[str, ...] | None:
    columns = []
    for atom, column in zip(atoms, zip(*keys, strict=True), strict=True):
        if len(set(column)) > 1:
            text = term_text(atom)
            if text is None:
                return None
            columns.append([_indicator(text, value, set(column) == {0, 1}) for value in column])
    found = tuple(map(" * ".join, zip(*columns, strict=True)))
    return found if all(len(text) <= MAX_TEXT for text in found) else None


def _indicator(text: str, value: int, boolean: bool) -> str:
    if not boolean:
        return f"({text} == {value})"
    return text if value else f"(1 - {text})"


def _right(texts: tuple[str, ...], atoms: tuple[Expr, ...], keys: Sequence[tuple[int, ...]], n: int) -> bool:
    """Whether the indicators are exactly 0 and 1 where they should be, at every position."""
    values = atom_values(atoms, n)
    try:
        columns = [(Term(text).column(n), [v == key for v in values]) for text, key in zip(texts, keys, strict=True)]
    except ModelError:
        return False
    return all(np.array_equal(*both) for both in columns)


def term_text(expr: Expr) -> str | None:
    """An expression of programs as a term of ``restrict-soft/1``. ``expr``: over ``i`` and ``n``. Result: the text, or
    ``None`` where the language of terms cannot express it (hashes, integer roots, tables), or where it is too long."""
    if expr.op == "const":
        return str(expr.value) if expr.value >= 0 else f"({expr.value})"
    if expr.op == "name":
        return expr.text
    if expr.op == "isqrt" and expr.args[0].op == "const":
        return str(math.isqrt(expr.args[0].value))
    args = [term_text(a) for a in expr.args]
    if any(a is None or len(a) > MAX_TEXT for a in args):
        return None
    a, b, c = (str(x) for x in (*args, "", "", "")[:3])
    if expr.op in SIGNS:
        return f"({a} {SIGNS[expr.op]} {b})"
    known = {
        "and": f"(({a} != 0) * ({b} != 0))",
        "or": f"((({a} != 0) + ({b} != 0)) > 0)",
        "not": f"({a} == 0)",
        "min": f"({a} if {a} <= {b} else {b})",
        "max": f"({a} if {a} >= {b} else {b})",
        "abs": f"({a} if {a} >= 0 else -{a})",
        "select": f"({b} if {a} else {c})",
    }
    return known.get(expr.op)
