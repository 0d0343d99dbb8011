"""What is known of a language at a length: forcing costs, growth, star-freeness, sensitivity (closed forms included).
Each question has an exact answer or an :class:`Unknown` with the reason; nothing is estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from restrict.base.errors import ResourceLimit
from restrict.languages.builtin import AnBn, Majority, Palindromes
from restrict.languages.dyck import Dyck
from restrict.languages.growth import Case, Growth, regular_growth
from restrict.languages.monoid import Aperiodicity, quasi_aperiodic, star_free
from restrict.languages.protocol import Forcing, Language, the_language
from restrict.languages.regular import Regular
from restrict.languages.sensitivity import by_enumeration, regular_sensitivity
from restrict.languages.shuffle import ShuffleDyck
from restrict.languages.varieties import Varieties, varieties
from restrict.model.restriction import Restriction

T = TypeVar("T")
NONE, FULL = Case("none"), Case("linear", rate=Fraction(1))
NOT_REGULAR = "not regular, hence not star-free (a known fact, by pumping)"


@dataclass(frozen=True)
class Unknown:
    """No answer, and why."""

    reason: str


@dataclass(frozen=True)
class Facts:
    """A language at length ``n``. ``into`` and ``out`` are the forcing costs of membership and non-membership, under
    ``pre`` if given (``None``: no such word exists); the growth is without a pre-restriction. ``star_free``, ``ac0``
    and ``classes`` are ``None`` where the question does not arise: the language is not known to be regular."""

    language: Language
    n: int
    pre: Restriction | None
    into: Forcing | Unknown | None
    out: Forcing | Unknown | None
    growth_in: Growth | Unknown
    growth_out: Growth | Unknown
    star_free: Aperiodicity | Unknown | None
    ac0: Aperiodicity | Unknown | None
    sensitivity: int | Unknown
    classes: Varieties | None

    def __repr__(self) -> str:
        return f"Facts({self.language.spec!r}, n={self.n})"


def facts(language: Language, n: int, pre: Restriction | None = None) -> Facts:
    """Everything that ``restrict language`` prints.

    Cost: that of the forcing costs, mostly.

    Args:
        language: the language.
        n: the length of the words.
        pre: a restriction of the words that is given beforehand and costs nothing.

    Returns:
        The facts; what is out of reach is :class:`Unknown`, with the reason.

    Raises:
        UsageError: not a language, a negative length, or a pre-restriction of another length.
    """
    the_language(language)
    aperiodic = _try(lambda: star_free(language.dfa)) if isinstance(language, Regular) else _known_not_regular(language)
    return Facts(
        language,
        n,
        pre,
        _try(lambda: language.forcing_cost(n, True, pre)),
        _try(lambda: language.forcing_cost(n, False, pre)),
        _try(lambda: growth(language, True)),
        _try(lambda: growth(language, False)),
        aperiodic,
        _circuits(language, aperiodic),
        _try(lambda: sensitivity(language, n)),
        classes(language, aperiodic),
    )


def classes(language: Language, aperiodic: Aperiodicity | Unknown | None) -> Varieties | None:
    """The finer classes of a regular language; None for another one. ``aperiodic``: what is known of star-freeness."""
    if not isinstance(language, Regular):
        return None
    return varieties(language.dfa, aperiodic if isinstance(aperiodic, Aperiodicity) else None)


def _circuits(language: Language, found: Aperiodicity | Unknown | None) -> Aperiodicity | Unknown | None:
    if not isinstance(language, Regular):
        return None
    if isinstance(found, Aperiodicity) and found.aperiodic:
        return Aperiodicity(True, "as a star-free language")
    return _try(lambda: quasi_aperiodic(language.dfa))


def _try(question: Callable[[], T]) -> T | Unknown:
    try:
        return question()
    except ResourceLimit as error:
        return Unknown(str(error))


def _known_not_regular(language: Language) -> Aperiodicity | None:
    """The closed forms are known not to be regular (palindromes over one letter are all words)."""
    if isinstance(language, Palindromes) and len(language.letters) == 1:
        return Aperiodicity(True, "all words")
    if isinstance(language, Majority | AnBn | Palindromes | Dyck | ShuffleDyck):
        return Aperiodicity(False, NOT_REGULAR)
    return None


def growth(language: Language, member: bool) -> Growth:
    """The growth of the cost of forcing (non-)membership: by the subset graph, or from the closed form. ``member``:
    whether to force membership (true) or non-membership (false). Result: one case for each residue, for all large
    lengths and without a pre-restriction."""
    if isinstance(language, Regular):
        return regular_growth(language.dfa, member)
    proof = "closed form"
    if isinstance(language, Majority):
        return Growth((Case("linear", rate=Fraction(1, 2)),), proof)
    if isinstance(language, Palindromes):
        if len(language.letters) == 1:
            return Growth((Case("constant", 0) if member else NONE,), proof)
        return Growth((FULL if member else Case("constant", 2),), proof)
    if isinstance(language, AnBn | Dyck | ShuffleDyck):
        even, odd = (FULL, NONE) if member else (Case("constant", 1), Case("constant", 0))
        return Growth((even, odd), proof)
    raise ResourceLimit("the growth is not known: it is decided for regular languages and closed forms only")


def sensitivity(language: Language, n: int) -> int:
    """The largest number of pivotal positions of a word of ``n`` symbols (:mod:`restrict.languages.sensitivity`).

    Closed forms: a bracket that is reversed unbalances a balanced word, and a symbol of ``a^m b^m`` or of a
    palindrome (off its middle) is pivotal; a word of MAJORITY with just enough ones has all its ones pivotal.

    Cost: O(1) for closed forms; see :func:`restrict.languages.sensitivity.regular_sensitivity` for automata. ``n``: the
    length of the words in symbols, without markers, at least 0. Result: the exact sensitivity, 0 .. n."""
    if isinstance(language, Regular):
        return regular_sensitivity(language.dfa, n)
    if isinstance(language, Majority):
        return n // 2 + 1 if n else 0
    if isinstance(language, AnBn | Dyck | ShuffleDyck):
        return n if n % 2 == 0 else 0
    if isinstance(language, Palindromes):
        return n // 2 * 2 if len(language.letters) > 1 else 0
    found = by_enumeration(language, n)
    if found is None:
        raise ResourceLimit("the sensitivity is not known: too many words to enumerate")
    return found
