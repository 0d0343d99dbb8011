"""Languages as machines: an automaton, real-time **stack machines**, or (palindromes) the word that has been read.

A letter changes the control of a stack machine, and pushes a symbol, pops the top one or leaves the stack alone,
depending on the control and the top. Run beside a model, a configuration is all that matters of a word that has been
read: two words with one configuration have the same members among their continuations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .account import LARGEST
from .refutation import Language

Top = tuple[int, int] | None
"""The top of the stack; ``None`` is its bottom."""
STAY, PUSH, POP = range(3)
DEAD = -1
"""The control from which nothing is a member any more, whatever is on the stack."""
Move = tuple[int, int, Top]
"""The control, what is done, and what is pushed."""
LOST: Move = (DEAD, STAY, None)


class Stack(NamedTuple):
    """A stack machine: the ``start`` control, the ``move`` with a symbol of the language, and the ``member`` test."""

    start: int
    move: Callable[[int, Top, int], Move]
    member: Callable[[int, Top], bool]


def brackets(depth: int, only: int) -> Stack:
    """Well-nested brackets of bounded depth; with ``only`` not negative, of one kind, the others being ignored."""

    def move(control: int, top: Top, a: int) -> Move:
        kind, closes = divmod(a, 2)
        if only >= 0 and kind != only:
            return control, STAY, None
        if closes:
            return (control, POP, None) if top is not None and top[0] == kind else LOST
        height = 1 + (top[1] if top is not None else 0) if depth < LARGEST else 0
        return (control, PUSH, (kind, height)) if height <= depth else LOST

    return Stack(0, move, lambda control, top: control != DEAD and top is None)


def surplus(control: int, top: Top, a: int) -> Move:
    """The stack holds as many of the more frequent symbol as it is ahead by."""
    return (control, POP, None) if top == (1 - a, 0) else (control, PUSH, (a, 0))


def halves(control: int, top: Top, a: int) -> Move:
    """Zeros are pushed, then (control 1) ones pop them."""
    if a == 0:
        return (0, PUSH, (0, 0)) if control == 0 else LOST
    return (1, POP, None) if top is not None else LOST


def stacks_of(language: Language) -> list[Stack]:
    """The stack machine of a language; of a shuffle, that of well-nested words, and one for each kind."""
    if (automaton := language.automaton) is not None:
        moves, accept = automaton.moves, automaton.accept
        return [Stack(automaton.start, lambda q, top, a: (moves[q][a], STAY, None), lambda q, top: q in accept)]
    if language.name == "majority":
        return [Stack(0, surplus, lambda control, top: top == (1, 0))]
    if language.name == "anbn":
        return [Stack(0, halves, lambda control, top: control != DEAD and top is None)]
    kinds = len(language.symbols) // 2
    apart = [brackets(LARGEST, kind) for kind in range(kinds)] if language.name == "shuffle-dyck" and kinds > 1 else []
    return [brackets(language.depth if language.name == "dyck" else LARGEST, -1), *apart]


Configuration = Any


class Other(NamedTuple):
    """What a model is compared with: the ``start``, the configuration after a symbol of the model, and the number of
    the label of the words that end in a configuration."""

    start: Configuration
    step: Callable[[Configuration, int], Configuration]
    label: Callable[[Configuration], int]
    what: str


def machine_of(language: Language, order: list[int]) -> Other:
    """The machine of a language; ``order`` gives the language's number of each symbol of the model.

    A configuration is the control and the stack of each stack machine; of words that nothing makes members, ``()``.
    """
    if (automaton := language.automaton) is not None:
        moves = [[row[a] for a in order] for row in automaton.moves]
        return Other(automaton.start, lambda q, x: moves[q][x], lambda q: +(q in automaton.accept), "language")
    if language.name == "palindromes":
        return Other((), lambda word, x: (*word, order[x]), lambda word: +(word == word[::-1]), "language")
    first, *kinds = stacks_of(language)
    machines = kinds or [first]

    def step(now: Configuration, x: int) -> Configuration:
        parts = zip(machines, now, strict=False)
        after = tuple(moved(m, control, stack, order[x]) for m, (control, stack) in parts)
        return after if all(control != DEAD for control, _ in after) else ()

    def member(now: Configuration) -> int:
        parts = zip(machines, now, strict=False)
        return +(now != () and all(m.member(control, top_of(stack)) for m, (control, stack) in parts))

    return Other(tuple((m.start, ()) for m in machines), step, member, "language")


def top_of(stack: tuple[Any, ...]) -> Top:
    """The top of a stack."""
    return stack[-1] if stack else None


def moved(machine: Stack, control: int, stack: tuple[Any, ...], a: int) -> tuple[int, tuple[Any, ...]]:
    """Control and stack after a letter."""
    to, what, pushed = machine.move(control, top_of(stack), a)
    return to, stack[:-1] if what == POP else (*stack, pushed) if what == PUSH else stack
