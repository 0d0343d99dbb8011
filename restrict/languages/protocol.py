"""What a language offers, and how a word relates to a restriction of a model (Hahn 2020, Corollary 2).

A language is a set of words over an alphabet. It never sees a model's start and end markers: a restriction of length
``n`` with ``m`` pinned positions speaks about words of length ``n - m``, whose symbols stand at the unpinned
positions in increasing order. This order is fixed here, by :func:`word_positions`, and nowhere else. Words are tuples
of symbols without markers, which is also what ``Model.run`` and ``Restriction.admits`` take.

A **pattern** is the same without the markers: one cell per symbol of the word, ``None`` where it is free.

Three kinds of answer are kept apart: a word or number is exact; ``None`` from :meth:`Language.complete` or
:meth:`Language.forcing_cost` is a proof that there is none; :class:`restrict.errors.ResourceLimit` means unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from restrict.errors import UsageError, quote
from restrict.restriction import Restriction

Word = tuple[str, ...]
Pattern = tuple[str | None, ...]


@dataclass(frozen=True)
class Forcing:
    """A cheapest restriction that decides membership.

    ``restriction`` fixes ``cost`` positions beyond the pre-restriction that was given, and every completion of it is
    a member (or, where ``member`` is false, every one is not). ``cost`` is the exact minimum; ``method`` says why.
    ``n`` is the length of the word, without markers.
    """

    n: int
    member: bool
    cost: int
    restriction: Restriction
    method: str

    def __repr__(self) -> str:
        return f"Forcing({'in' if self.member else 'out'}, n={self.n}, cost={self.cost})"


@runtime_checkable
class Language(Protocol):
    """A set of words over ``alphabet``.

    ``name`` is for people; ``spec`` is the canonical text from which :func:`restrict.languages.source.language` makes
    an equal language, or begins with ``python:`` where there is no such text. ``exact`` is false where answers come
    from search: then :meth:`complete` and :meth:`forcing_cost` may raise ``ResourceLimit`` at lengths where a language
    with dynamic programming would answer.
    """

    @property
    def name(self) -> str:
        """A short name for people."""

    @property
    def spec(self) -> str:
        """The canonical specification."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols, each once."""

    @property
    def exact(self) -> bool:
        """Whether completions come from dynamic programming or a proof rather than from search."""

    def contains(self, word: Sequence[str]) -> bool:
        """Whether the word (symbols, no markers) is a member. Raises ``UsageError`` on a symbol that is unknown."""

    def complete(self, restriction: Restriction, values: Mapping[int, str], member: bool) -> Word | None:
        """A word that agrees with ``restriction`` and with ``values`` and is a member (or not, as asked).

        ``values`` maps positions of the restriction (markers counted) to symbols: the dependencies of a certificate.
        They may repeat what is fixed but not contradict it. ``None`` is a proof that no such word exists; raises
        ``ResourceLimit`` where it is not known.
        """

    def count(self, restriction: Restriction) -> int | None:
        """The exact number of members among the completions; ``None`` where that would take too long."""

    def sample(self, n: int, rng: np.random.Generator, member: bool = True) -> Word | None:
        """A random member (or non-member) of exactly ``n`` symbols; ``None`` is a proof that there is none.

        Uniform unless the class says otherwise.
        """

    def forcing_cost(self, n: int, member: bool, pre: Restriction | None = None) -> Forcing | None:
        """The least number of fixed symbols that forces (non-)membership of every word of ``n`` symbols.

        ``pre`` is fixed beforehand and costs nothing; it has ``n`` unpinned positions. ``None`` is a proof that no
        word (that agrees with ``pre``) has that membership. Raises ``ResourceLimit`` where the answer is not known.
        """


# ------------------------------------------------------------ words and restrictions


def word_positions(restriction: Restriction) -> list[int]:
    """The unpinned positions in order: symbol ``t`` of the word stands at ``word_positions(restriction)[t]``."""
    if not restriction.pinned:
        return list(range(restriction.n))
    return [i for i in range(restriction.n) if i not in restriction.pinned]


def pattern_of(alphabet: Iterable[str], restriction: Restriction, values: Mapping[int, str] | None = None) -> Pattern:
    """The cells of the word under a restriction and dependency values.

    Raises:
        UsageError: a symbol is not in ``alphabet``, or a value stands at a marker, out of range, or against the
            restriction.
    """
    cells: dict[int, str] = dict(restriction.fixed)
    for i, symbol in (values or {}).items():
        if not 0 <= i < restriction.n or i in restriction.pinned:
            raise UsageError(f"the value at position {i} is out of range or at a marker")
        if cells.setdefault(i, symbol) != symbol:
            raise UsageError(f"the value {quote(symbol)} at position {i} contradicts the restriction: {cells[i]!r}")
    known = set(alphabet)
    for i, symbol in cells.items():
        if symbol not in known:
            raise UsageError(f"symbol {quote(symbol)} at position {i} is not in the language's alphabet")
    return tuple(map(cells.get, word_positions(restriction)))


def restriction_of(pattern: Sequence[str | None], like: Restriction | None = None) -> Restriction:
    """The restriction that fixes the pattern's cells, with the markers of ``like`` (none by default).

    Raises:
        UsageError: a pattern of another length than the unpinned positions.
    """
    if like is None:
        return Restriction(len(pattern), {t: s for t, s in enumerate(pattern) if s is not None})
    where = word_positions(like)
    if len(where) != len(pattern):
        raise UsageError(f"a pattern of {len(pattern)} symbols does not fit {len(where)} unpinned positions")
    return Restriction(
        like.n, {i: s for i, s in zip(where, pattern, strict=True) if s is not None}, frozenset(like.pinned)
    )


def start_of(alphabet: Iterable[str], n: int, pre: Restriction | None) -> tuple[Pattern, Restriction]:
    """What :meth:`Language.forcing_cost` starts from: the pattern of ``pre`` (all free without one), and ``pre``.

    Raises:
        UsageError: ``n`` is negative or ``pre`` speaks about words of another length.
    """
    if n < 0:
        raise UsageError(f"the length {n} is negative")
    start = Restriction(n) if pre is None else pre
    cells = pattern_of(alphabet, start)
    if len(cells) != n:
        raise UsageError(f"the pre-restriction has {len(cells)} unpinned positions, not {n}")
    return cells, start


def forcing(
    member: bool, start: Sequence[str | None], cells: Sequence[str | None], pre: Restriction, method: str
) -> Forcing:
    """A :class:`Forcing` from the pattern ``cells`` that refines ``start``."""
    cost = sum(a is None and b is not None for a, b in zip(start, cells, strict=True))
    return Forcing(len(cells), member, cost, restriction_of(cells, pre), method)


def check_word(alphabet: Sequence[str], word: Sequence[str]) -> None:
    """Raise :class:`UsageError` at the first symbol that is not in the alphabet.

    Raises:
        UsageError: a symbol outside the alphabet.
    """
    known = set(alphabet)
    for at, symbol in enumerate(word):
        if symbol not in known:
            raise UsageError(
                f"symbol {quote(symbol)} at index {at} is not in the language's alphabet: {' '.join(alphabet)[:80]}"
            )


def check_alphabet(language: Language, alphabet: Sequence[str], who: str) -> None:
    """Raise :class:`UsageError` unless both alphabets have the same symbols (in any order).

    Raises:
        UsageError: the alphabets differ.
    """
    ours, theirs = set(language.alphabet), set(alphabet)
    if ours != theirs:
        difference = sorted(ours ^ theirs)
        raise UsageError(
            f"the language {language.name} is over {' '.join(language.alphabet)[:60]!r} and {who} over "
            f"{' '.join(alphabet)[:60]!r}: {quote(difference[0])} is in only one of them"
        )
