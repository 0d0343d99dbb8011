"""Machines of languages, run beside a model: an automaton, or the language's own counters, stack or word.

A configuration is all that matters of a word that has been read: two words with one configuration have the same members
among their continuations. ``None`` is the configuration of words that no continuation makes members.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .refutation import Language

Configuration = Any


class Other(NamedTuple):
    """What a model is compared with: the ``start``, the configuration after a symbol of the model, and the number of
    the label of the words that end in a configuration."""

    start: Configuration
    step: Callable[[Configuration, int], Configuration]
    label: Callable[[Configuration], int]
    what: str


def machine_of(language: Language, order: list[int]) -> Other:
    """The machine of a language; ``order`` gives the language's number of each symbol of the model."""
    if (automaton := language.automaton) is not None:
        moves = [[row[a] for a in order] for row in automaton.moves]
        return Other(automaton.start, lambda q, x: moves[q][x], lambda q: +(q in automaton.accept), "language")
    known: dict[str, tuple[Configuration, Callable[[Any, int], Any], Callable[[Any], bool]]] = {
        "majority": (0, count, lambda c: c > 0),
        "anbn": ((0, 0), both, lambda c: c is not None and c[0] == c[1]),
        "dyck": ((), stack, lambda c: c == ()),
        "shuffle-dyck": ((0,) * (len(order) // 2), heights, lambda c: c is not None and not any(c)),
        "palindromes": ((), lambda word, a: (*word, a), lambda word: word == word[::-1]),
    }
    start, step, accepts = known[language.name]
    depth = language.depth

    def limited(c: Configuration, x: int) -> Configuration:
        after = step(c, order[x]) if c is not None else None
        return None if language.name == "dyck" and after is not None and len(after) > depth else after

    return Other(start, limited, lambda c: +accepts(c), "language")


def count(difference: int, a: int) -> int:
    """Ones minus zeros."""
    return difference + (1 if a else -1)


def both(counts: tuple[int, int], a: int) -> tuple[int, int] | None:
    """The numbers of zeros and ones, in this order in the word."""
    zeros, ones = counts
    if a == 0:
        return (zeros + 1, 0) if ones == 0 else None
    return (zeros, ones + 1) if ones < zeros else None


def stack(opened: tuple[int, ...], a: int) -> tuple[int, ...] | None:
    """The brackets that are open."""
    if a % 2 == 0:
        return (*opened, a)
    return opened[:-1] if opened[-1:] == (a - 1,) else None


def heights(open_: tuple[int, ...], a: int) -> tuple[int, ...] | None:
    """How many brackets of each kind are open."""
    now = open_[a // 2] + (-1 if a % 2 else 1)
    return (*open_[: a // 2], now, *open_[a // 2 + 1 :]) if now >= 0 else None
