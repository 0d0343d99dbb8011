"""A model against a language, or another model, at every length.

With a regular language the pairs of states that words reach are a finite set, closed under letters: either acceptance
agrees on all of them (then it agrees at every length), or a shortest word leads to a pair where it does not. With
other languages the pairs are of a state and a configuration of the language's own machine (a stack, counters, or the
word itself); a model of this kind has a regular language, so a disagreement exists, and the search goes up by length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED
from restrict.checker.machines import both, count, heights, stack
from restrict.errors import ResourceLimit, UsageError
from restrict.languages.builtin import AnBn, Majority
from restrict.languages.dyck import Dyck
from restrict.languages.protocol import Language, check_alphabet
from restrict.languages.regular import Regular
from restrict.languages.shuffle import ShuffleDyck

MAX_PAIRS = 2_000_000
Configuration = Any
"""What the language's machine knows of a word; ``None`` where no continuation is a member."""


@dataclass(frozen=True)
class Difference:
    """A shortest word on which both differ: ``said`` by the model, ``member`` of the language; ``n`` with markers.

    Of two models without ``accept``: ``other`` is the other one's label, ``position`` where (output everywhere).
    """

    word: tuple[str, ...]
    n: int
    said: str
    member: bool = False
    other: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class Machine:
    """A deterministic machine of a language, on configurations that can be hashed."""

    start: Configuration
    step: Callable[[Configuration, str], Configuration]
    accepts: Callable[[Configuration], bool]


def machine_of(language: Language) -> Machine:
    """The language's own machine: an automaton, counters, a stack, or (for any other) the word so far."""
    if isinstance(language, Regular):
        dfa = language.dfa
        return Machine(0, lambda q, a: dfa.delta[q][dfa.index[a]], lambda q: q in dfa.accept)
    zeros = (0,) * (len(language.alphabet) // 2)
    known: dict[type, tuple[Configuration, Callable[[Any, int], Configuration], Callable[[Any], bool]]] = {
        Majority: (0, count, lambda c: c > 0),
        AnBn: ((0, 0), both, lambda c: c[0] == c[1]),
        Dyck: ((), stack, lambda c: not c),
        ShuffleDyck: (zeros, heights, lambda c: not any(c)),
    }
    if type(language) not in known:
        return Machine((), lambda w, a: (*w, a), language.contains)
    start, step, accepts = known[type(language)]
    index = {symbol: a for a, symbol in enumerate(language.alphabet)}
    return Machine(start, lambda c, a: None if c is None else step(c, index[a]), lambda c: c is not None and accepts(c))


def difference(automaton: Moore, language: Language, markers: int, first: int = 0) -> Difference | None:
    """A shortest word of at least ``first`` positions on which the model and the language differ.

    ``automaton``: the model's; its labels must include what the model says for ``accept``. ``first``: lengths, markers
    counted, begin here (or at 1). Result: the difference, or ``None``: there is none at any length at which the model
    is defined.
    """
    check_alphabet(language, automaton.alphabet, "the model")
    needs_accept(automaton)
    own, low = machine_of(language), max(first, 1)
    start = (0, own.start)
    level: list[tuple[int, Configuration]] = [start]
    parent: dict[Any, Any] = {(start, min(markers, low)): None}
    n = markers
    while level:
        for pair in level:
            said = automaton.labels[int(automaton.label[pair[0]])]
            member = own.accepts(pair[1])
            if n >= low and said != UNDEFINED and (said == "accept") != member:
                return Difference(_word(parent, (pair, min(n, low))), n, said, member)
        after = []
        for pair in level:
            for x, symbol in enumerate(automaton.alphabet):
                to = (int(automaton.delta[pair[0], x]), own.step(pair[1], symbol))
                key = (to, min(n + 1, low))
                if key not in parent:
                    parent[key] = ((pair, min(n, low)), symbol)
                    after.append(to)
        if len(parent) > MAX_PAIRS:
            raise ResourceLimit(f"no difference up to length {n}, after {len(parent)} configurations; nothing is known")
        level, n = after, n + 1
    return None


def needs_accept(automaton: Moore) -> None:
    """Refuse a model whose labels do not say what it accepts."""
    if not automaton.accepts:
        raise UsageError("the model has no 'accept' in its output, so it recognises no language; add it to the model")


def _word(parent: dict[Any, Any], at: Any) -> tuple[str, ...]:
    out: list[str] = []
    while parent[at] is not None:
        at, symbol = parent[at]
        out.append(symbol)
    return tuple(reversed(out))
