"""What a language offers, and how a word relates to a restriction of a model (Hahn 2020, Corollary 2).

A language is a set of words over an alphabet. It never sees a model's start and end markers: a restriction of length
``n`` with ``m`` pinned positions speaks about words of length ``n - m``, whose symbols stand at the unpinned
positions in increasing order. This order is fixed here, by :func:`word_positions`, and nowhere else. Words are tuples
of symbols without markers, which is also what ``Model.run`` and ``Restriction.admits`` take.

A **pattern** is the same without the markers: one cell per symbol of the word, ``None`` where it is free.

Three kinds of answer are kept apart: a word or number is exact; ``None`` from :meth:`Language.complete` or
:meth:`Language.forcing_cost` is a proof that there is none; :class:`restrict.base.errors.ResourceLimit` means unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from restrict.base.errors import UsageError, indices_of, quote
from restrict.base.wording import joined
from restrict.model.brackets import bracket_alphabet
from restrict.model.restriction import Restriction

Word = tuple[str, ...]
Pattern = tuple[str | None, ...]
Cheapest = tuple[Sequence[str | None] | None, str]
Cell = TypeVar("Cell", str, str | None)
ALL_FIXED = "every free symbol can spoil membership"
"""Why forcing membership may cost every free cell."""


def the_language(given: object) -> "Language":
    """The language of a call."""
    if isinstance(given, Language):
        return given
    advice = f"; use restrict.language({quote(given)})" if isinstance(given, str) else ""
    raise UsageError(f"expected a Language, not {quote(given)}{advice}")


@dataclass(frozen=True)
class Forcing:
    """A cheapest restriction that decides membership. ``restriction`` fixes ``cost`` positions beyond the
    pre-restriction that was given, and every completion of it is a member (or, where ``member`` is false, every one is
    not). ``cost`` is the exact minimum; ``method`` says why. ``n`` is the length of the word, without markers."""

    n: int
    member: bool
    cost: int
    restriction: Restriction
    method: str

    def document(self) -> dict[str, Any]:
        """The cost as JSON."""
        return {"possible": True, "cost": self.cost, "restriction": self.restriction.to_json(), "method": self.method}

    def __repr__(self) -> str:
        return f"Forcing({'in' if self.member else 'out'}, n={self.n}, cost={self.cost})"


@runtime_checkable
class Language(Protocol):
    """A set of words over ``alphabet``. ``name`` is for people; ``spec`` is the canonical text from which
    :func:`restrict.languages.source.language` makes an equal language, or begins with ``python:`` where there is no
    such text. ``exact`` is false where answers come from search: then :meth:`complete` and :meth:`forcing_cost` may
    raise ``ResourceLimit`` at lengths where a language with dynamic programming would answer."""

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
        """Whether the word (symbols, no markers) is a member.

        Args:
            word: symbols of the alphabet, without markers, at any length.

        Returns:
            Whether the word is a member.

        Raises:
            UsageError: a symbol outside the alphabet.
        """

    def complete(self, restriction: Restriction, values: Mapping[int, str], member: bool) -> Word | None:
        """A word that agrees with ``restriction`` and with ``values`` and is a member (or not, as asked).

        ``values`` maps positions of the restriction (markers counted) to symbols: the dependencies of a certificate.
        They may repeat what is fixed but not contradict it.

        Args:
            restriction: positions with the symbols that they are fixed to; pinned positions are markers.
            values: further symbols, by position of the restriction (markers counted); they may not contradict it.
            member: whether the word is to be a member (true) or a non-member (false).

        Returns:
            The word, one symbol for each unpinned position; ``None`` is a proof that there is none.

        Raises:
            UsageError: a symbol outside the alphabet, or a value at a marker, out of range or against the restriction.
            ResourceLimit: it is not known whether there is such a word.
        """

    def count(self, restriction: Restriction) -> int | None:
        """The exact number of members among the completions; ``None`` where that would take too long.

        Args:
            restriction: positions with the symbols that they are fixed to; pinned positions are markers.

        Returns:
            The exact number, or ``None``.

        Raises:
            UsageError: the restriction fixes a symbol outside the alphabet.
        """

    def sample(self, n: int, rng: np.random.Generator, member: bool = True) -> Word | None:
        """A random member (or non-member) of exactly ``n`` symbols; ``None`` is a proof that there is none.

        Uniform unless the class says otherwise.

        Args:
            n: the length of the word in symbols, without markers, at least 0.
            rng: the source of randomness; the same state gives the same word.
            member: whether the word is to be a member (true) or a non-member (false).

        Returns:
            A word of ``n`` symbols; ``None`` is a proof that there is none.

        Raises:
            UsageError: a negative length.
            ResourceLimit: no such word was found, which proves nothing.
        """

    def forcing_cost(self, n: int, member: bool, pre: Restriction | None = None) -> Forcing | None:
        """The least number of fixed symbols that forces (non-)membership of every word of ``n`` symbols.

        ``pre`` is fixed beforehand and costs nothing; it has ``n`` unpinned positions. ``None`` is a proof that no
        word (that agrees with ``pre``) has that membership.

        Args:
            n: the length of the words in symbols, without markers, at least 0.
            member: whether to force membership (true) or non-membership (false).
            pre: a restriction with ``n`` unpinned positions that is given beforehand and costs nothing; none by
                default.

        Returns:
            A cheapest forcing restriction with its exact cost in symbols; ``None`` is a proof that nothing forces it.

        Raises:
            UsageError: a negative length, a pre-restriction of another length, or one with a symbol outside the
                alphabet.
            ResourceLimit: the answer is not known.
        """


class ByPattern:
    """A language whose answers do not depend on where the word's symbols stand. What is asked is checked here, once.
    The class has ``_has(word)``, ``_fill(pattern, member)`` (a completion with that membership), ``_count(pattern)``,
    ``_draw(n, rng, member)``, and ``_cheapest(pattern, member)``: the cells of a cheapest forcing pattern, ``None`` if
    there is none, and why."""

    def contains(self: Any, word: Sequence[str]) -> bool:
        """The class says how."""
        check_word(self.alphabet, word)
        return bool(self._has(word))

    def complete(self: Any, restriction: Restriction, values: Mapping[int, str], member: bool) -> Word | None:
        """By the word's pattern; the class says how."""
        found: Word | None = self._fill(pattern_of(self.alphabet, restriction, values), member)
        return found

    def count(self: Any, restriction: Restriction) -> int | None:
        """By the word's pattern; the class says how."""
        found: int | None = self._count(pattern_of(self.alphabet, restriction))
        return found

    def sample(self: Any, n: int, rng: np.random.Generator, member: bool = True) -> Word | None:
        """The class says how, and whether it is uniform."""
        if n < 0:
            raise UsageError(f"the length {n} is negative")
        found: Word | None = self._draw(n, rng, member)
        return found

    def forcing_cost(self: Any, n: int, member: bool, pre: Restriction | None = None) -> Forcing | None:
        """From the pattern of ``pre``; the class says how."""
        if n < 0:
            raise UsageError(f"the length {n} is negative")
        start = Restriction(n) if pre is None else pre
        cells = pattern_of(self.alphabet, start)
        if len(cells) != n:
            raise UsageError(f"the pre-restriction has {len(cells)} unpinned positions, not {n}")
        found, method = self._cheapest(cells, member)
        if found is None:
            return None
        cost = sum(a is None and b is not None for a, b in zip(cells, found, strict=True))
        return Forcing(n, member, cost, restriction_of(found, start), method)


# ------------------------------------------------------------ words and restrictions


def word_positions(restriction: Restriction) -> list[int]:
    """The unpinned positions in order: symbol ``t`` of the word stands at ``word_positions(restriction)[t]``.
    ``restriction``: a restriction of length ``n`` with ``m`` pinned positions. Result: ``n - m`` positions, each 0 ..
    n-1, increasing."""
    if not restriction.pinned:
        return list(range(restriction.n))
    return [i for i in range(restriction.n) if i not in restriction.pinned]


def pattern_of(alphabet: Iterable[str], restriction: Restriction, values: Mapping[int, str] | None = None) -> Pattern:
    """The cells of the word under a restriction and dependency values. ``restriction``: positions with the symbols that
    they are fixed to; pinned positions are markers. ``values``: further symbols, by position of the restriction
    (markers counted); none by default. Result: one cell for each unpinned position in order: its symbol, or ``None``
    where it is free."""
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
    """The restriction that fixes the pattern's cells, with the markers of ``like`` (none by default). ``pattern``: one
    cell for each symbol of the word; ``None`` is free. ``like``: a restriction with as many unpinned positions, whose
    length and markers are taken over."""
    if like is None:
        return Restriction(len(pattern), {t: s for t, s in enumerate(pattern) if s is not None})
    where = word_positions(like)
    if len(where) != len(pattern):
        raise UsageError(f"a pattern of {len(pattern)} symbols does not fit {len(where)} unpinned positions")
    fixed = {i: s for i, s in zip(where, pattern, strict=True) if s is not None}
    return Restriction(like.n, fixed, frozenset(like.pinned))


def with_cells(cells: tuple[Cell, ...], more: Mapping[int, str]) -> tuple[Cell, ...]:
    """A word or a pattern with other symbols at some places."""
    return tuple(more.get(p, s) for p, s in enumerate(cells))


def check_word(alphabet: Sequence[str], word: Sequence[str]) -> None:
    """Raise :class:`UsageError` at the first symbol that is not in the alphabet. ``word``: symbols, without markers."""
    if not set(alphabet).issuperset(word):
        indices_of(word, alphabet, whose="the language's alphabet")


def check_alphabet(language: Language, alphabet: Sequence[str], who: str) -> None:
    """Raise :class:`UsageError` unless both alphabets have the same symbols (in any order)."""
    ours, theirs = set(language.alphabet), set(alphabet)
    if ours != theirs:
        difference = sorted(ours ^ theirs)
        raise UsageError(
            f"the language {language.name} is over {' '.join(language.alphabet)[:60]!r} and {who} over "
            f"{' '.join(alphabet)[:60]!r}: {quote(difference[0])} is in only one of them{_over(language, alphabet)}"
        )


def _over(language: Language, alphabet: Sequence[str]) -> str:
    """How the language is written over another alphabet, where it can be, for a message."""
    head, _, rest = language.spec.partition(":")
    name, kinds = head.partition("[")[0], len(alphabet) // 2
    written = f"{name}[{joined(alphabet)}]"
    if name == "regex" and set(language.alphabet) < set(alphabet):
        return f"; over all of these it is '{written}:{rest}'"
    if name == "palindromes" and all(len(s) == 1 for s in alphabet):
        return f"; over the latter it is '{name}:{''.join(alphabet)}'"
    if name not in ("dyck", "shuffle-dyck") or len(alphabet) % 2 or not alphabet or len(written) > 80:
        return ""
    more = rest.lstrip("0123456789")
    if tuple(alphabet) == bracket_alphabet(kinds):
        return f"; did you mean '{name}:{kinds}{more}'?"
    return f"; over the latter it is '{written}:{kinds}{more}', each opener followed by its closer"
