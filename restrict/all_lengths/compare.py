"""A model against a language, or another model, at every length. With a regular language the pairs of states that words
reach are a finite set, closed under letters: either acceptance agrees on all of them (then it agrees at every length),
or a shortest word leads to a pair where it does not. With other languages the pairs are of a state and a configuration
of the language's own machine (a stack, counters, or the word itself); a model of this kind has a regular language, so a
disagreement exists, but where ``when`` leaves it out, and the search goes up by length until memory is short."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED
from restrict.base.errors import ResourceLimit, UsageError
from restrict.certificate.refutation import language_document
from restrict.checker import refutation
from restrict.checker.account import Meter, Place
from restrict.checker.machines import Configuration, Other, machine_of
from restrict.languages.protocol import Language, check_alphabet
from restrict.languages.regular import Regular, dfa_document
from restrict.languages.walk import Steps, letters_to

MAX_PAIRS = 2_000_000
MAX_ENTRIES = 64_000_000
"""Symbols on all stacks together, of eight bytes each."""


@dataclass(frozen=True)
class Difference:
    """A shortest word on which both differ: ``said`` by the model, ``member`` of the language; ``n`` with markers. Of
    two models without ``accept``: ``other`` is the other one's label, ``position`` where (output everywhere)."""

    word: tuple[str, ...]
    n: int
    said: str
    member: bool = False
    other: str | None = None
    position: int | None = None


def spelled(language: Language) -> dict[str, Any]:
    """A language as the checker reads it; a regular one by its automaton."""
    return dfa_document(language.dfa, language.spec) if isinstance(language, Regular) else language_document(language)


def own_machine(language: Language, alphabet: Sequence[str]) -> Other:
    """The language's machine, as the checker has it; of one that it does not have, the word so far."""
    document = spelled(language)
    if "unchecked" in document:
        return Other((), lambda w, x: (*w, alphabet[x]), lambda w: +language.contains(w), "language")
    checked = refutation.Language(document, Place("language"), Meter(1 << 60))
    return machine_of(checked, [checked.symbols[a] for a in alphabet])


def difference(automaton: Moore, language: Language, markers: int, first: int = 0) -> Difference | None:
    """A shortest word of at least ``first`` positions on which the model and the language differ. ``automaton``: the
    model's; its labels must include what the model says for ``accept``. ``first``: lengths, markers counted, begin here
    (or at 1). Result: the difference, or ``None``: there is none at any length at which the model is defined."""
    check_alphabet(language, automaton.alphabet, "the model")
    needs_accept(automaton)
    own = own_machine(language, automaton.alphabet)
    found = first_difference(
        automaton, own, lambda said, c: (said == "accept") != own.label(c), max(first, 1) - markers, MAX_PAIRS
    )
    if found is None:
        return None
    word, said, configuration = found
    return Difference(word, len(word) + markers, said, bool(own.label(configuration)))


def first_difference(
    automaton: Moore, own: Other, differ: Callable[[str, Configuration], bool], low: int, limit: int | None = None
) -> tuple[tuple[str, ...], str, Configuration] | None:
    """A shortest word of at least ``low`` symbols after which an automaton's label and a machine's configuration
    differ: the word, the label and the configuration. The label ``UNDEFINED`` differs from nothing."""
    letters, rows = range(len(automaton.alphabet)), automaton.delta.tolist()
    names = automaton.said
    level: list[Any] = [(0, own.start, min(0, low))]
    parent: Steps[Any] = {level[0]: None}
    t = size = 0
    while level:
        for here in level:
            q, configuration, _ = here
            if t >= low and names[q] != UNDEFINED and differ(names[q], configuration):
                word = tuple(automaton.alphabet[x] for x in letters_to(parent, here))
                return word, names[q], configuration
        after, t = [], t + 1
        for here in level:
            for x in letters:
                to = (rows[here[0]][x], own.step(here[1], x), min(t, low))
                if to not in parent:
                    parent[to] = (here, x)
                    after.append(to)
                    size += entries(to[1])
        if limit is not None and (len(parent) > limit or size > MAX_ENTRIES):
            raise ResourceLimit(
                f"nothing is known: no difference after {len(parent)} configurations, words of up to {t} symbols"
            )
        level = after
    return None


def entries(configuration: Configuration) -> int:
    """Symbols that a configuration holds: on its stacks, or of the word so far; a state of an automaton has none."""
    parts = configuration if isinstance(configuration, tuple) else ()
    return sum(len(part[1]) if isinstance(part, tuple) else 1 for part in parts)


def needs_accept(automaton: Moore) -> None:
    """Refuse a model whose labels do not say what it accepts."""
    if not automaton.accepts:
        raise UsageError("the model has no 'accept' in its output, so it recognises no language; add it to the model")
