"""Formulas to hard-attention programs: one head per temporal operator (theory: Yang, Chiang & Angluin 2024; Kamp 1968).

**Reduction of ``phi since psi`` to one head.** Attend to the rightmost ``j <= i`` with ``not phi or psi``, and return
psi there. If there is such a ``j``, phi holds and psi fails on ``(j, i]``: so psi at ``j`` is a witness, and where psi
fails at ``j``, phi fails too and no earlier witness counts. If there is none, psi fails everywhere: with all scores
equal the head takes ``i`` itself and returns false there as well. So the score is the key ``not phi or psi``, ties go
to the right, and the default is false (the strict version at position 0). The other operators differ in the key, the
value and the default:

    ==============  ================  ===========  =======
    operator        key               value        default
    ==============  ================  ===========  =======
    since           phi implies psi   psi          false
    weak since      phi implies psi   phi or psi   true
    trigger         psi implies phi   psi          true
    strong trigger  psi implies phi   phi and psi  false
    once            psi               psi          false
    historically    not psi           psi          true
    previous        (none)            psi          false
    ==============  ================  ===========  =======

``previous`` is strict ``since`` with phi false; the future operators have a future mask and ties to the left.

Between heads, truth values are :class:`Signal`: Boolean functions of a few variables at one position, held as truth
tables, so that equal functions are found to be equal however they are written. A signal becomes a map only where a head
or a large function reads it. Neither scores nor maps mention ``n``, ``i`` or ``j``: only the masks know about order.

A small Boolean table as a readable expression of docs/format.md: a short sum of products (after Minato 1992,
here with one many-valued variable, the token).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from restrict.base.arrays import Bools
from restrict.base.errors import ResourceLimit, UsageError
from restrict.logic.formula import Formula
from restrict.logic.operators import MIRROR, PAST, SINCE, SYMBOL, UNARY_TEMPORAL, Node
from restrict.logic.parser import read_over
from restrict.logic.printer import shortened
from restrict.logic.semantics import BOOLEANS
from restrict.model import document
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Model
from restrict.model.validate import check_symbol

At = Literal["last", "first", "every"]
TABLE = 64
"""Entries of the truth table of a map with more than one argument: what the abstract run has to try."""
MAX_VARIABLES = 4096
_TOKEN = 0
_DUAL = {"once": "historically", "since": "trigger", "weak since": "strong trigger", "previous": "weak previous"}
_DUAL |= {"eventually": "always", "until": "release", "weak until": "strong release", "next": "weak next"}
_DUAL |= {b: a for a, b in _DUAL.items()}
_FORBIDDEN = {"first": "previous", "last": "next"}
Product = dict[int, tuple[int, ...]]
"""Axis to the values that it may take."""
MAX_TERMS, MAX_VALUES = 12, 12


@dataclass(frozen=True, eq=False)
class Signal:
    """A Boolean function of variables at one position: ``table[v1, v2, ...]`` with one axis per entry of ``leaves``.
    ``leaves`` are indices of program variables, increasing, and the function depends on each of them; index 0 is the
    token, all others are Boolean."""

    leaves: tuple[int, ...]
    table: Bools

    @property
    def constant(self) -> bool | None:
        """The value of a constant function, otherwise ``None``."""
        return None if self.leaves else bool(self.table)

    def __invert__(self) -> "Signal":
        return Signal(self.leaves, np.asarray(~self.table))


class Circuit:
    """The variables made so far. Every method costs time linear in the tables it touches."""

    def __init__(self, alphabet: Sequence[str]) -> None:
        self.alphabet = tuple(alphabet)
        self.names = ["token"]
        self.variables: list[dict[str, Any]] = []
        self._maps: dict[tuple[tuple[int, ...], bytes], int] = {}
        self._heads: dict[tuple[str, str, int, bool, int, bool], int] = {}

    # ------------------------------------------------------------ signals

    def symbol(self, symbol: str) -> Signal:
        """Where the input has this symbol; one outside the alphabet is nowhere."""
        return _reduced((_TOKEN,), np.array([s == symbol for s in self.alphabet]))

    def combine(self, op: Callable[..., Any], *signals: Signal) -> Signal:
        """A Boolean operation on signals (``op`` works entry by entry on Boolean arrays), as one function: operands
        become variables, the larger ones first, until its table has at most ``TABLE`` entries. ``ResourceLimit``: over
        4096 variables."""
        parts = list(signals)
        # The larger one first: what remains is then most often small enough.
        for s in sorted(range(len(parts)), key=lambda s: -len(signals[s].leaves)):
            if self._fits(self._leaves(parts)):
                break
            leaf, positive = self.materialise(parts[s])
            parts[s] = Signal((leaf,), np.array([not positive, positive]))
        leaves = self._leaves(parts)
        return _reduced(leaves, op(*(self._spread(s, leaves) for s in parts)))

    def _leaves(self, signals: Sequence[Signal]) -> tuple[int, ...]:
        return tuple(sorted({leaf for s in signals for leaf in s.leaves}))

    def _fits(self, leaves: tuple[int, ...]) -> bool:
        return len(leaves) <= 1 or prod(map(self._size, leaves)) <= TABLE

    def _size(self, leaf: int) -> int:
        return len(self.alphabet) if leaf == _TOKEN else 2

    def _spread(self, signal: Signal, leaves: tuple[int, ...]) -> Bools:
        """The table with an axis for every one of ``leaves``."""
        shape = [self._size(leaf) if leaf in signal.leaves else 1 for leaf in leaves]
        return np.broadcast_to(signal.table.reshape(shape), [self._size(leaf) for leaf in leaves])

    # ------------------------------------------------------------ variables

    def materialise(self, signal: Signal) -> tuple[int, bool]:
        """The index of a Boolean variable for a signal, equal signals sharing one, and whether it equals the signal or
        its negation. ``ResourceLimit``: over 4096 variables."""
        if signal.leaves and signal.leaves[0] != _TOKEN and len(signal.leaves) == 1:
            return signal.leaves[0], bool(signal.table[1])
        ones, zeros = int(signal.table.sum()), int((~signal.table).sum())
        # One of the two polarities is stored: the rarer value is true; on a tie the first entry is false.
        positive = ones < zeros or (ones == zeros and not signal.table.flat[0]) or not signal.leaves
        if not signal.leaves:
            positive = bool(signal.table)
        table = signal.table if positive else ~signal.table
        slot = (signal.leaves, table.tobytes())
        if slot not in self._maps:
            self._maps[slot] = self._add_map(signal.leaves, table)
        return self._maps[slot], positive

    def _add_map(self, leaves: tuple[int, ...], table: Bools) -> int:
        args = [self.names[leaf] for leaf in leaves]
        name = f"map_{len(self.names)}"
        if not leaves:
            name = "one"
        elif leaves == (_TOKEN,) and table.sum() == 1:
            symbol = self.alphabet[int(np.argmax(table))]
            name = f"is_{symbol}" if re.fullmatch("[A-Za-z0-9_]{1,60}", symbol) else f"symbol_{int(np.argmax(table))}"
        return self._add(document.mapped(name, args, 2, expression(table, args)))

    def _add(self, variable: dict[str, Any]) -> int:
        if len(self.variables) >= MAX_VARIABLES:
            raise ResourceLimit(f"the formula needs more than {MAX_VARIABLES} variables, the limit of a model file")
        self.variables.append(variable)
        self.names.append(variable["name"])
        return len(self.names) - 1

    def head(self, op: str, mask: str, key: Signal, value: Signal, default: bool) -> Signal:
        """The value at the nearest visible position where ``key`` holds, ``default`` where nothing is in view; where
        ``key`` holds nowhere in view, ``value`` must be the same everywhere in view. ``mask``: past or future, or
        ``strict_`` ones; ``op`` names the variable, which equal heads share. ``ResourceLimit``: over 4096 variables."""
        strict = mask.startswith("strict")
        if value.constant is not None and (not strict or value.constant == default):
            return value
        if key.constant is not None and not strict:
            return value
        leaf, positive = self.materialise(value)
        # A reflexive mask always shows something, so its default never counts.
        default = strict and default == positive
        key_leaf, key_positive = self.materialise(key) if key.constant is None else (-1, True)
        slot = (mask, "right" if "past" in mask else "left", key_leaf, key_positive, leaf, default)
        if slot not in self._heads:
            self._heads[slot] = self._add_head(op if positive else _dual(op), slot)
        return Signal((self._heads[slot],), np.array([not positive, positive]))

    def _add_head(self, op: str, slot: tuple[str, str, int, bool, int, bool]) -> int:
        mask, ties, key, positive, value, default = slot
        name, reads = f"{op.replace(' ', '_')}_{len(self.names)}", {"key": self.names[key]} if key >= 0 else {}
        score = "0" if key < 0 else "k" if positive else "1 - k"
        rest = {"value": self.names[value], "score": score, "mask": mask, "ties": ties, "default": int(default)}
        return self._add(document.head(name, **reads, **rest))


def _reduced(leaves: tuple[int, ...], table: Bools) -> Signal:
    """The signal without the variables on which it does not depend."""
    same = [bool((table == np.take(table, [0], axis=axis)).all()) for axis in range(len(leaves))]
    kept = tuple(leaf for leaf, idle in zip(leaves, same, strict=True) if not idle)
    return Signal(kept, np.array(table[tuple(0 if idle else slice(None) for idle in same)], order="C"))


def _dual(op: str) -> str:
    strict = "strict " if op.startswith("strict ") else ""
    return strict + _DUAL[op.removeprefix("strict ")]


# ---------------------------------------------------------------- formulas


def _lower(program: Circuit, node: Node, args: list[Signal]) -> Signal:
    """The signal of a node from those of its operands."""
    op, one = node.op, Signal((), np.array(True))
    if op == SYMBOL:
        return program.symbol(node.symbol)
    if op in ("true", "false"):
        return one if op == "true" else ~one
    if op in BOOLEANS:
        return ~args[0] if op == "not" else program.combine(BOOLEANS[op], *args)
    if op in ("first", "last"):
        return ~program.head(_FORBIDDEN[op], "strict_past" if op == "first" else "strict_future", one, one, False)
    past = op in PAST
    mask = ("strict_" if op.startswith("strict ") else "") + ("past" if past else "future")
    if op in UNARY_TEMPORAL:
        base, psi = op.removeprefix("strict "), args[0]
        if base.endswith(("previous", "next")):
            return program.head(op, "strict_past" if past else "strict_future", one, psi, base.startswith("weak"))
        existential = base in ("once", "eventually")
        return program.head(op, mask, psi if existential else ~psi, psi, not existential)
    return _binary(program, op, mask, *args)


def _binary(program: Circuit, op: str, mask: str, phi: Signal, psi: Signal) -> Signal:
    base = op.removeprefix("strict ")
    turned, value, default = SINCE[base if base in PAST else MIRROR[base]]
    candidates = program.combine(np.less_equal, *((psi, phi) if turned else (phi, psi)))
    returned = psi if value is None else program.combine(BOOLEANS[value], phi, psi)
    return program.head(op, mask, candidates, returned, default)


def compile_formula(
    formula: Formula | str, alphabet: Sequence[str], *, at: At = "last", name: str | None = None
) -> Model:
    """A hard-attention program that computes a formula at every length.

    Equal subformulas share variables, also where they are equal only as Boolean functions or by duality. Cost linear in
    nodes times alphabet size. Source: Yang, Chiang & Angluin (2024).

    Args:
        formula: a formula, or its text.
        alphabet: the symbols.
        at: ``"last"`` accepts where the formula holds at the last position, ``"first"`` where it holds at position 0
            (one more head, which fetches the value from there), ``"every"`` labels each position.
        name: the model's name, by default the formula.

    Returns:
        The model, with the bytes of its file.

    Raises:
        UsageError: a malformed formula, one that counts, one with a symbol outside the alphabet, an alphabet that is
            not a list of distinct symbols, or another ``at``.
        ModelError: a symbol or name that the format does not allow.
        ResourceLimit: more than 4096 variables, or a text of more than 4 million characters.
    """
    formula, alphabet = read_over(formula, alphabet, at)
    for number, symbol in enumerate(alphabet):
        check_symbol(symbol, f"alphabet[{number}]")
    if formula.counting:
        raise UsageError(
            "the formula counts, and attention to one position cannot (Hahn 2020); softmax attention can (Theorems 20 "
            "to 23 of Yang et al. 2024): compile it with --to soft"
        )
    program = Circuit(alphabet)
    signals: list[Signal] = []
    for node in formula.nodes:
        signals.append(_lower(program, node, [signals[a] for a in node.args]))
    leaf, positive = program.materialise(signals[-1])
    if at == "first" and signals[-1].constant is None:
        source = program.names[leaf]
        leaf = program._add(document.head("at_first", value=source, score="0", mask="past", ties="left", default=0))
    return loads(dumps(_document(formula, program, leaf, positive, at, name)), "the compiled formula")


def _document(
    formula: Formula, program: Circuit, leaf: int, positive: bool, at: At, name: str | None
) -> dict[str, Any]:
    where = {"last": "at the last position", "first": "at position 0", "every": "at each position"}[at]
    needed = _needed(program, leaf)
    about = f"Accepts where this formula of temporal logic holds {where}: {shortened(formula, 2000)}"
    variables = [v for v in program.variables if v["name"] in needed]
    output = document.accept(program.names[leaf], int(positive), position="every" if at == "every" else "last")
    name = name if name is not None else shortened(formula, 80)
    return document.model(name, about, program.alphabet, variables, output)


def _needed(program: Circuit, leaf: int) -> set[str]:
    """The output and everything that it reads; a subformula that folds away leaves variables behind."""
    needed = {program.names[leaf]}
    for variable in reversed(program.variables):
        if variable["name"] in needed:
            needed |= {*variable.get("args", ()), variable.get("key", ""), variable.get("value", "")}
    return needed


def expression(table: Bools, args: list[str]) -> str | dict[str, Any]:
    """A map that is 1 exactly where a table holds (bool, an axis of size 2 per argument, or of all symbols for
    ``token``): the text of an expression, or a ``table`` of docs/format.md where that would be long."""
    if not args:
        return str(int(table))
    plain, negated = products(table), products(~table)
    chosen = negated if len(negated) < len(plain) else plain
    parts = [[_literal(args[axis], table.shape[axis], values) for axis, values in sorted(p.items())] for p in chosen]
    if len(chosen) > MAX_TERMS or any(literal is None for part in parts for literal in part):
        return document.table(args, table.astype(int).tolist())
    text = " or ".join(" and ".join(str(literal) for literal in part) for part in parts)
    return f"not ({text})" if chosen is negated else text


def _literal(name: str, size: int, values: tuple[int, ...]) -> str | None:
    """``name`` is one of ``values``; ``None`` where that would be long."""
    if name != "token":
        return name if values == (1,) else f"not {name}"
    few = values if 2 * len(values) <= size else tuple(sorted(set(range(size)) - set(values)))
    if len(few) > MAX_VALUES:
        return None
    sign, joint = ("==", " or ") if few is values else ("!=", " and ")
    tests = joint.join(f"token {sign} {value}" for value in few)
    return f"({tests})" if len(few) > 1 else tests


def products(table: Bools) -> list[Product]:
    """Few products, not always the fewest, whose union is the set ``table``. After Minato (1992)."""
    return _cover(table, table, 0)[0]


def _cover(low: Bools, high: Bools, axis: int) -> tuple[list[Product], Bools]:
    """Products over the axes from ``axis``, the arrays' first, on, their union between ``low`` and ``high``."""
    if not low.any():
        return [], np.zeros_like(low)
    if high.all():
        return [{}], np.ones_like(low)
    groups: dict[bytes, list[int]] = {}
    for value in range(len(low)):
        groups.setdefault(low[value].tobytes() + high[value].tobytes(), []).append(value)
    shared = high.all(axis=0)
    out: list[Product] = []
    union = np.zeros_like(low)
    for values in groups.values():
        part, covered = _cover(np.asarray(low[values[0]] & ~shared), high[values[0]], axis + 1)
        if len(groups) > 1:
            part = [{axis: tuple(values)} | p for p in part]
        out += part
        union[values] = covered
    rest, covered = _cover(np.asarray((low & ~union).any(axis=0)), np.asarray(shared), axis + 1)
    return out + rest, union | covered
