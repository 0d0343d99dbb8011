"""Temporal formulas to automata, by another route than heads: recursion on the values at a position.

The values of all subformulas at a position follow from the letter, their values at the position before (``phi since
psi`` holds if psi does, or phi does and it held before) and, for the future, the values at the next position. So an
automaton reads the word from the left, guesses the values of what looks right, and checks each guess at the next
position, or at the end; its states are vectors of values, and the sets of possible vectors make it deterministic.
"""

from collections.abc import Callable, Iterator, Sequence

from restrict.all_lengths.moore import Moore
from restrict.logic.formula import Formula
from restrict.logic.operators import MIRROR, PAST

BOOLEAN = ("symbol", "true", "false", "not", "and", "or", "implies", "iff", "xor")
BACK = {*PAST, "first"}
Values = tuple[bool, ...]


def automaton_of(formula: Formula, alphabet: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
    """Transitions and acceptance of the words at whose last position the formula holds; state 0 is the start."""
    start: frozenset[Values | None] = frozenset([None])
    number: dict[frozenset[Values | None], int] = {start: 0}
    order = [start]
    delta: list[list[int]] = []
    steps: dict[tuple[Values | None, str], list[Values]] = {}
    for states in order:
        row = []
        for symbol in alphabet:
            found: set[Values | None] = set()
            for before in states:
                if (before, symbol) not in steps:
                    steps[before, symbol] = list(successors(formula, symbol, before))
                found.update(steps[before, symbol])
            after = frozenset(found)
            if after not in number:
                number[after] = len(order)
                order.append(after)
            row.append(number[after])
        delta.append(row)
    return delta, [any(v is not None and v[-1] and ends(formula, v) for v in states) for states in order]


def same(one: Moore, two: tuple[list[list[int]], list[bool]]) -> bool:
    """Whether two automata agree on every word that is not empty, by a walk over pairs of states."""
    delta, accept = two
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        a, b = todo.pop()
        for x in range(len(one.alphabet)):
            to = (int(one.delta[a, x]), delta[b][x])
            if (one.labels[int(one.label[to[0]])] == "accept") != accept[to[1]]:
                return False
            if to not in seen:
                seen.add(to)
                todo.append(to)
    return True


def successors(formula: Formula, symbol: str, before: Values | None) -> Iterator[Values]:
    """The possible values at a position from those at the position before (``None``: there is none)."""
    now: list[bool] = []

    def guess(at: int) -> Iterator[Values]:
        if at == len(formula.nodes):
            yield tuple(now)
            return
        node = formula.nodes[at]
        args = [now[a] for a in node.args]
        old = [before[a] for a in node.args] if before is not None else []
        held = before[at] if before is not None else None
        if node.op in BOOLEAN or node.op in BACK:
            choices = [_value(node.op, node.symbol == symbol, args, old, held)]
        else:
            # What looks right is guessed; the guess at the position before must follow from it.
            choices = [v for v in (False, True) if held is None or held == _value(MIRROR[node.op], False, old, args, v)]
        for value in choices:
            now.append(value)
            yield from guess(at + 1)
            now.pop()

    return guess(0)


def ends(formula: Formula, values: Values) -> bool:
    """Whether all guesses are right if the word ends here."""
    return all(
        values[at] == _value(MIRROR[node.op], False, [values[a] for a in node.args], [], None)
        for at, node in enumerate(formula.nodes)
        if node.op not in BOOLEAN and node.op not in BACK
    )


def _value(op: str, here: bool, args: list[bool], old: list[bool], held: bool | None) -> bool:
    boolean: dict[str, Callable[[], bool]] = {
        "symbol": lambda: here, "true": lambda: True, "false": lambda: False, "not": lambda: not args[0],
        "and": lambda: args[0] and args[1], "or": lambda: args[0] or args[1],
        "implies": lambda: not args[0] or args[1], "iff": lambda: args[0] == args[1],
        "xor": lambda: args[0] != args[1], "first": lambda: held is None,
    }  # fmt: skip
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
    assert op in ("trigger", "strong trigger")
    return args[1] and (args[0] or bool(held))
