"""A word of a given length on which a model is wrong, from the equations between sets of lengths. A set of lengths has
``n`` for a reason: one of the terms of its equation has it, with smaller numbers. Following the reasons down, letter by
letter, gives a word; no step ever has to be taken back."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from restrict.checker.equations import late
from restrict.checker.lengths import Mirror, Pushdown, Wrong
from restrict.checker.machines import DEAD, POP, STAY

Item = int | tuple[Hashable, int]
"""A letter, or a set of lengths and a number in it, for which letters are still to be found."""
Holds = Callable[[Any, int], bool]


def wrong_word(wrong: Wrong, first: int, turn: int, length: int) -> list[int] | None:
    """The letters of a word of ``length`` symbols on which model and language differ. ``wrong``: the equations, whose
    sets repeat with the period ``turn`` from ``first`` on. Result: the word; ``None`` where no word of this length is
    certain to be wrong. Cost: the length times the terms of an equation; for brackets, times the length again."""
    system = wrong.system

    def holds(name: Hashable, n: int) -> bool:
        u = system.numbers.get(name)
        return n >= 0 and u is not None and late(system.members[u], first, turn, n)

    roots = [system.names[u] for u in wrong.sure]
    root = next((name for name in roots if holds(name, length)), None)
    if root is None:
        return None
    agenda: list[Item] = [(root, length)]
    word: list[int] = []
    while agenda:
        item = agenda.pop()
        if isinstance(item, int):
            word.append(item)
        else:
            reasons = _mirrored if isinstance(wrong.source, Mirror) else _stacked
            agenda += reversed(next(iter(reasons(wrong.source, *item, holds))))
    return word


def _mirrored(source: Mirror, name: Any, n: int, holds: Holds) -> Iterator[list[Item]]:
    """What a palindrome, another word, or any word from one state to another begins and ends with."""
    kind, p, q = name
    if n == 0:
        yield []
    for x, to in enumerate(source.moves[p]):
        if kind == "A" and holds(("A", to, q), n - 1):
            yield [x, (("A", to, q), n - 1)]
        if kind == "S" and n == 1 and to == q:
            yield [x]
        for y, ends in enumerate(source.before[q] if kind != "A" else ()):
            for s in ends:
                inner = (kind if x == y else "A", to, s)
                if (x == y or kind == "D") and holds(inner, n - 2):
                    yield [x, (inner, n - 2), y]


def _stacked(source: Pushdown, name: Any, n: int, holds: Holds) -> Iterator[list[Item]]:
    """The first letter of a word, and what follows it."""
    kind, machine, top, p, last = name
    if n == 0:
        yield []
    for x, (to, what, pushed) in enumerate(source.steps(machine, top, p)):
        if what == POP:
            if kind == "C" and n == 1 and to == last:
                yield [x]
        elif what == STAY:
            after = (kind, machine, None if to[1] == DEAD else top, to, last)
            if holds(after, n - 1):
                yield [x, (after, n - 1)]
        else:
            never = ("E", machine, pushed, to, last)
            if kind == "E" and holds(never, n - 1):
                yield [x, (never, n - 1)]
            ends: Iterable[Any] = source.ends.get((machine, pushed, to), ())
            for s in sorted(ends):
                inner, after = ("C", machine, pushed, to, s), (kind, machine, top, s, last)
                for k in range(n):
                    if holds(inner, k) and holds(after, n - 1 - k):
                        yield [x, (inner, k), (after, n - 1 - k)]
