"""Temporal formulas over the past to automata, by another route than heads: recursion on the values at a position.

The values of all subformulas at a position follow from the letter and their values at the position before (for
example ``phi since psi`` holds if psi does, or phi does and it held before). So the vectors of values are the states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from restrict.logic.formula import Formula

PAST_OPERATORS = (
    *["not", "and", "or", "implies", "iff", "xor", "previous", "once", "historically", "since", "trigger"],
    *("weak previous", "strict once", "strict historically", "strict since", "weak since", "strict trigger"),
)
Values = tuple[bool, ...]


def automaton_of(formula: Formula, alphabet: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
    """Transitions and acceptance of the words at whose last position the formula holds; state 0 is the start."""
    number: dict[Values | None, int] = {None: 0}
    order: list[Values | None] = [None]
    delta: list[list[int]] = []
    for before in order:
        row = []
        for symbol in alphabet:
            values = step(formula, symbol, before)
            if values not in number:
                number[values] = len(order)
                order.append(values)
            row.append(number[values])
        delta.append(row)
    return delta, [values is not None and values[-1] for values in order]


def step(formula: Formula, symbol: str, before: Values | None) -> Values:
    """The values at a position from those at the position before (``None``: there is none)."""
    now: list[bool] = []
    for at, node in enumerate(formula.nodes):
        args = [now[a] for a in node.args]
        old = [before[a] for a in node.args] if before is not None else []
        held = before[at] if before is not None else None
        now.append(_value(node.op, node.symbol == symbol, args, old, held))
    return tuple(now)


def _value(op: str, here: bool, args: list[bool], old: list[bool], held: bool | None) -> bool:
    boolean: dict[str, Callable[[], bool]] = {
        "symbol": lambda: here,
        "true": lambda: True,
        "false": lambda: False,
        "not": lambda: not args[0],
        "and": lambda: args[0] and args[1],
        "or": lambda: args[0] or args[1],
        "implies": lambda: not args[0] or args[1],
        "iff": lambda: args[0] == args[1],
        "xor": lambda: args[0] != args[1],
        "first": lambda: held is None,
    }
    if op in boolean:
        return boolean[op]()
    if op in ("previous", "weak previous"):
        return old[0] if old else op == "weak previous"
    if op.startswith("strict "):
        plain = op.removeprefix("strict ")
        return _reflexive(plain, old, held) if old else _nothing(plain)
    return _reflexive(op, args, held if held is not None else _nothing(op))


def _nothing(op: str) -> bool:
    """The value where no position is."""
    return op in ("historically", "weak since", "trigger")


def _reflexive(op: str, args: list[bool], held: bool | None) -> bool:
    if op == "once":
        return args[0] or bool(held)
    if op == "historically":
        return args[0] and bool(held)
    if op in ("since", "weak since"):
        return args[1] or (args[0] and bool(held))
    assert op == "trigger"
    return args[1] and (args[0] or bool(held))
