"""Two models compared by their labels, at the last position or at every one: for models without ``accept``. The labels
of a model are given by an automaton with a label for each state, or (output at every position) by a bimachine. Both are
compared on the pairs of states that words reach, and a shortest difference is found by breadth-first search. With
output at every position the search goes from both ends: the shortest word with a given pair of left states before a
position and a given pair of right states behind it is the shortest prefix, the letter and the shortest suffix."""

from typing import Any

import numpy as np

from restrict.all_lengths.bimachine import Bimachine
from restrict.all_lengths.compare import Difference, first_difference
from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED, OrderOnly
from restrict.all_lengths.stages import Built
from restrict.base.arrays import I32
from restrict.base.errors import ResourceLimit, UsageError
from restrict.checker.machines import Other
from restrict.languages.walk import Steps, breadth_first, letters_to

MAX_CELLS = 5_000_000
"""Entries of the table of a common bimachine."""
StatePair = tuple[int, int]


def comparable(one: OrderOnly, two: OrderOnly) -> None:
    """Refuse two models whose labels are at different positions or of different words."""
    if set(one.alphabet) != set(two.alphabet):
        raise UsageError("the two models have different alphabets")
    if one.every != two.every:
        raise UsageError("one of the models has its output at the last position, the other at every position")
    if one.every and (one.start, one.end) != (two.start, two.end):
        raise UsageError("with output at every position both models must have the same markers")


def named_labels(labels: tuple[str, ...], taken: tuple[str, ...]) -> list[str]:
    """The labels; lengths at which no model is defined get a label that none of the ``taken`` ones is."""
    name = "undefined"
    while name in taken:
        name += "_"
    return [name if label == UNDEFINED else label for label in labels]


def common_bimachine(one: Built, two: Built) -> dict[str, Any]:
    """The bimachine of the second model's labels, of the first's where that is not defined, as the checker reads it."""
    if two.program.defined is None:
        return bimachine_document(two)
    order = letter_order(one.program, two.program)
    names = [_names(one.program, one.machine), _names(two.program, two.machine)]
    sides = []
    for ours, theirs in ((one.machine.left, two.machine.left), (one.machine.right, two.machine.right)):
        theirs = theirs[:, order]
        number = {pair: at for at, pair in enumerate(_reached(ours, theirs))}
        moves = [zip(ours[a].tolist(), theirs[b].tolist(), strict=True) for a, b in number]
        sides.append((number, [[number.get(to, -1) for to in row] for row in moves]))
    (lefts, left), (rights, right) = sides
    if len(lefts) * len(rights) * len(order) > MAX_CELLS:
        raise ResourceLimit(f"the labels of both models take a table of {len(lefts)} times {len(rights)} states")
    union = tuple(dict.fromkeys((*two.program.labels, *one.program.labels, UNDEFINED)))

    def cell(l: tuple[int, int], x: int, r: tuple[int, int]) -> int:
        """The label's number at a position, -1 where there is none."""
        mine, other = int(one.machine.lab[l[0], x, r[0]]), int(two.machine.lab[l[1], order[x], r[1]])
        return -1 if mine < 0 or other < 0 else union.index(names[1][other] or names[0][mine])

    table = [[[cell(l, x, r) for r in rights] for x in range(len(order))] for l in lefts]
    return _document(one.program, union, left, right, table)


def bimachine_document(built: Built) -> dict[str, Any]:
    """A bimachine of labels, as the checker reads it."""
    machine = built.machine
    table = np.append(machine.column("@label"), -1)[machine.lab].tolist()
    return _document(built.program, built.program.labels, machine.left.tolist(), machine.right.tolist(), table)


def _document(program: OrderOnly, labels: tuple[str, ...], left: Any, right: Any, table: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"alphabet": list(program.alphabet), "labels": named_labels(labels, labels)}
    return out | {"left": left, "right": right, "table": table}


def letter_order(one: OrderOnly, two: OrderOnly) -> list[int]:
    """The second program's number of each letter of the first, markers included."""
    order = [two.alphabet.index(a) for a in one.alphabet]
    return order + list(range(len(order), one.letters))


def difference_at_the_end(one: Moore, two: Moore, markers: tuple[int, int], first: int) -> Difference | None:
    """A shortest word with different labels where both models are defined. Words have at least ``first`` positions in
    both models, the markers of each counted; the empty run is not a word."""
    rows = two.delta[:, [two.alphabet.index(a) for a in one.alphabet]].tolist()
    other = Other(0, lambda q, x: rows[q][x], lambda q: int(two.label[q]), "model")
    found = first_difference(
        one, other, lambda said, q: two.said[q] not in (UNDEFINED, said), max(first - min(markers), 0)
    )
    if found is None:
        return None
    word, said, q = found
    return Difference(word, len(word) + markers[0], said, other=two.said[q])


def difference_anywhere(one: Built, two: Built) -> Difference | None:
    """A shortest word and a position in it at which the labels differ, where both models are defined."""
    order = letter_order(one.program, two.program)
    ours, theirs = one.machine, two.machine
    lefts, rights = _reached(ours.left, theirs.left[:, order]), _reached(ours.right, theirs.right[:, order])
    behind = [(pair, len(letters_to(rights, pair))) for pair in rights]
    names = [_names(one.program, ours), _names(two.program, theirs)]
    best, symbols = None, one.program.alphabet
    for pair in lefts:
        start = letters_to(lefts, pair)
        for x, y in enumerate(order):
            for other, after in behind:
                label, n = ours.lab[pair[0], x, other[0]], len(start) + 1 + after
                if label < 0 or (best is not None and n >= best.n):
                    continue
                said, said_there = names[0][label], names[1][theirs.lab[pair[1], y, other[1]]]
                if UNDEFINED not in (said, said_there) and said != said_there:
                    run = [*start, x, *reversed(letters_to(rights, other))]
                    word = tuple(symbols[a] for a in run if a < len(symbols))
                    best = Difference(word, n, said, other=said_there, position=len(start))
    return best


def _names(program: OrderOnly, machine: Bimachine) -> list[str]:
    """The label's name for each row of a bimachine's values."""
    return [program.labels[v] for v in machine.column("@label")]


def _reached(ours: I32, theirs: I32) -> Steps[StatePair]:
    """The pairs of states that words reach."""
    one, two = ours.tolist(), theirs.tolist()
    return breadth_first(
        (0, 0), lambda pair: [to if to[0] >= 0 else None for to in zip(one[pair[0]], two[pair[1]], strict=True)]
    )
