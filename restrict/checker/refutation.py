"""Corollary 2: a certificate with two words that have one label by it, of which exactly one is in a language.

Errors are counted by dynamic programming over (position, state) with exact integers. Nothing that reads a certificate
needs this file.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import product
from typing import Any

from .account import LARGEST, Meter, Place, Task, malformed, unproved
from .formats import Certificate, symbols
from .read import Maybe, anything, integer, integers, listing, record, runs_of, string, thing

Word = Sequence[int]


def in_majority(word: Word, depth: int) -> bool:
    """More ones than zeros."""
    return 2 * sum(word) > len(word)


def in_anbn(word: Word, depth: int) -> bool:
    """Zeros, then as many ones."""
    half = len(word) // 2
    return len(word) % 2 == 0 and not any(word[:half]) and all(word[half:])


def in_palindromes(word: Word, depth: int) -> bool:
    """Words that read the same from right to left."""
    return word == word[::-1]


def in_dyck(word: Word, depth: int) -> bool:
    """Symbol ``2 t`` opens a bracket of kind ``t`` and ``2 t + 1`` closes it."""
    stack = array("i")
    for a in word:
        if a % 2 == 0:
            stack.append(a)
            if len(stack) > depth:
                return False
        elif not stack or stack.pop() != a - 1:
            return False
    return not stack


def in_shuffle(word: Word, depth: int) -> bool:
    """For every kind alone, ignoring the others, the brackets are balanced."""
    heights: dict[int, int] = {}
    for a in word:
        heights[a // 2] = heights.get(a // 2, 0) + (-1 if a % 2 else 1)
        if heights[a // 2] < 0:
            return False
    return not any(heights.values())


BUILT_IN: dict[str, Callable[[Word, int], bool]] = {
    "majority": in_majority,
    "anbn": in_anbn,
    "palindromes": in_palindromes,
    "dyck": in_dyck,
    "shuffle-dyck": in_shuffle,
}
BRACKETS = ("dyck", "shuffle-dyck")
REFUTATION = {
    "format": Maybe(anything),
    "certificate": thing,
    "language": thing,
    "member": anything,
    "nonmember": anything,
    "errors": Maybe(string),
    "provenance": Maybe(thing),
}
LANGUAGE = {
    "name": ("parity", *BUILT_IN),
    "alphabet": symbols,
    "depth": Maybe(integer(1, LARGEST)),
}
DFA = {
    "format": ("restrict-dfa/1",),
    "alphabet": symbols,
    "start": integer(0, LARGEST),
    "accept": integers(0, LARGEST),
    "transitions": listing,
    "name": Maybe(string),
}


class Automaton:
    """A complete deterministic automaton; ``moves[q][a]`` is the state after symbol ``a``."""

    def __init__(self, moves: Sequence[Sequence[int]], start: int, accept: Collection[int]) -> None:
        self.moves, self.start, self.accept = moves, start, frozenset(accept)

    def contains(self, word: Iterable[int]) -> bool:
        """Whether the automaton accepts the word."""
        state = self.start
        for a in word:
            state = self.moves[state][a]
        return state in self.accept

    def count(self, cells: Iterable[int], symbols: int) -> int:
        """How many words with these symbols, -1 for any of the ``symbols``, are accepted."""
        ways = {self.start: 1}
        for cell in cells:
            after: dict[int, int] = {}
            for state, number in ways.items():
                for a in range(symbols) if cell < 0 else (cell,):
                    to = self.moves[state][a]
                    after[to] = after[to] + number if to in after else number
            ways = after
        return sum(number for state, number in ways.items() if state in self.accept)


class Language:
    """A language of docs/format.md over the model's alphabet; words are indices into ``symbols``."""

    def __init__(self, value: Any, place: Place, meter: Meter) -> None:
        self.automaton: Automaton | None = None
        self.depth = LARGEST
        if "transitions" in value:
            self.read_automaton(value, place, meter)
            return
        if "unchecked" in value:
            malformed(place, "only the process that has this language can check this")
        fields = record(value, LANGUAGE, place)
        name, self.symbols = fields["name"], fields["alphabet"]
        self.name = name
        if name in BRACKETS and len(self.symbols) % 2:
            malformed(place.key("alphabet"), "expected an opening and a closing symbol of each kind")
        if name not in (*BRACKETS, "palindromes") and len(self.symbols) != 2:
            malformed(place.key("alphabet"), "expected two symbols")
        if name == "parity":
            self.automaton = Automaton([[0, 1], [1, 0]], 0, (1,))
        else:
            self.member = BUILT_IN[name]
        self.text = name + f"-{len(self.symbols) // 2}" * (name in BRACKETS)
        if "depth" in fields:
            if name != "dyck":
                malformed(place, "a depth is for dyck alone")
            self.depth = fields["depth"]
            self.text += f":depth={self.depth}"

    def read_automaton(self, value: Any, place: Place, meter: Meter) -> None:
        """A language given as a complete deterministic automaton."""
        fields = record(value, DFA, place)
        meter.charge(6 * len(fields["transitions"]))
        self.symbols, at = fields["alphabet"], place.key("transitions")
        states = len(fields["transitions"])
        moves = [integers(0, states - 1)(row, at.item(q)) for q, row in enumerate(fields["transitions"])]
        if any(len(row) != len(self.symbols) for row in moves):
            malformed(at, "expected one state for each symbol")
        if fields["start"] >= states:
            malformed(place.key("start"), f"expected a state below {states}", fields["start"])
        if any(state >= states for state in fields["accept"]):
            malformed(place.key("accept"), f"expected states below {states}")
        self.automaton = Automaton(moves, fields["start"], fields["accept"])
        self.text = f"dfa-of-{states}-states"

    def contains(self, word: Word) -> bool:
        """Whether a word, as symbol indices, is in the language."""
        return self.automaton.contains(word) if self.automaton else self.member(word, self.depth)


class Refutation:
    """A certificate and two words with equal label at the target, exactly one of them in the language."""

    def __init__(self, task: Task) -> None:
        self.top, self.meter = task.top, task.meter
        self.fields = record(task.document, REFUTATION, self.top)
        self.certificate = Certificate(task, self.fields["certificate"], self.top.key("certificate"))
        self.read()

    def read(self) -> None:
        """The language and the two words, once the certificate is read."""
        place, certificate = self.top.key("language"), self.certificate
        self.language = Language(self.fields["language"], place, self.meter)
        self.model = certificate.model
        if set(self.language.symbols) != set(self.model.alphabet):
            malformed(place.key("alphabet"), "not the symbols of the model")
        if certificate.position is None:
            malformed(certificate.top.key("target"), "a refutation is about one position")
        self.meter.place = self.top
        self.meter.charge(16 * certificate.n)
        self.meter.hold(32 * certificate.n)
        self.index = {self.model.alphabet[a]: t for t, a in enumerate(self.language.symbols)}
        self.words = [self.read_word(self.fields[key], self.top.key(key)) for key in ("member", "nonmember")]
        self.claimed = 0
        if "errors" in self.fields:
            at = self.top.key("errors")
            if not re.fullmatch("[1-9a-f][0-9a-f]*", self.fields["errors"]):
                malformed(at, "expected hex digits without leading zeros", self.fields["errors"])
            if self.language.automaton is None:
                malformed(at, "errors are counted for parity and automata alone")
            self.claimed = int(self.fields["errors"], 16)

    def read_word(self, value: Any, place: Place) -> array[int]:
        """The word as language symbols at the positions without marker, -1 at markers."""
        fixed = self.model.read_fixed(value, place)
        word: array[int] = array("i", [-1]) * self.certificate.n
        for (start, stop), a in zip(runs_of(fixed.bounds), fixed.symbols, strict=True):
            word[start:stop] = array("i", [self.index[a]]) * (stop - start)
        if word.count(-1) > len(self.model.markers):
            malformed(place, "a word has a symbol at every position without marker")
        return word

    def decide(self) -> str:
        """The addition to the success line; the certificate has been checked."""
        certificate, words = self.certificate, self.words
        fixed = certificate.fixed
        for key, word in zip(("member", "nonmember"), words, strict=True):
            for (start, stop), a in zip(runs_of(fixed.bounds), fixed.symbols, strict=True):
                if word[start:stop].count(self.index[a]) != stop - start:
                    unproved(self.top.key(key), f"does not agree with the restriction in {start} .. {stop - 1}")
            if self.language.contains(array("i", (a for a in word if a >= 0))) != (key == "member"):
                unproved(self.top.key(key), f"the word is {'not ' * (key == 'member')}in the language")
        for start, stop in runs_of(certificate.claimed):
            if words[0][start:stop] != words[1][start:stop]:
                at = next(at for at in range(start, stop) if words[0][at] != words[1][at])
                unproved(self.top.key("nonmember"), f"differs from the member at the dependency {at}")
        if self.claimed > (found := self.errors() if self.claimed else 0):
            unproved(self.top.key("errors"), f"only {shown_number(found)} errors are certain")
        more = f" errors>={shown_number(self.claimed)}" if self.claimed else ""
        return f" refutes={self.language.text}{more}"

    def errors(self) -> int:
        """How many inputs under the restriction certainly have a wrong label, whichever labels count as acceptance.

        Where the label is one, it is wrong on all members or on all others, known where the model says what it
        accepts; else, where it is a function of the dependencies, that holds for each of their values.
        """
        certificate, model, automaton = self.certificate, self.model, self.language.automaton
        assert automaton is not None
        symbols, free = len(self.index), certificate.claimed_free
        self.meter.place = self.top.key("errors")
        self.meter.fits(100 * len(certificate.values))
        one = model.label(frozenset(certificate.values)) is not None
        each = certificate.n * symbols * len(automaton.moves) * (1 + free // 1000)
        self.meter.charge(each * symbols ** (0 if one else min(certificate.c, 64)))
        spread = [] if one else [at for run in runs_of(certificate.claimed) for at in range(*run)]
        cells = array("i", [-1]) * certificate.n
        for (start, stop), a in zip(runs_of(certificate.fixed.bounds), certificate.fixed.symbols, strict=True):
            cells[start:stop] = array("i", [self.index[a]]) * (stop - start)
        pinned, found = {at for at, _ in model.markers}, 0
        for values in product(range(symbols), repeat=len(spread)):
            for at, a in zip(spread, values, strict=True):
                cells[at] = a
            members = automaton.count((a for at, a in enumerate(cells) if at not in pinned), symbols)
            others = symbols ** (free - len(spread)) - members
            if one and model.accept is not None:
                found += others if certificate.values[0] in model.accept else members
            else:
                found += min(members, others)
        return found


def shown_number(number: int) -> str:
    """Exact up to a million, beyond that a power of two that is not larger."""
    return str(number) if number <= 10**6 else f"2^{number.bit_length() - 1}"
