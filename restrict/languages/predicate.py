"""Any Python predicate as a language: search instead of dynamic programming, and labelled so (``exact`` is false). With
at most ``MAX_WORDS`` completions everything is enumerated, and answers are exact. With more, a completion is looked for
at random (the same words every time). What is found is right, because the predicate was asked. Where nothing is found,
the answer is unknown and :class:`restrict.base.errors.ResourceLimit` is raised, never ``None``."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from restrict.base.errors import ResourceLimit, UsageError
from restrict.languages.protocol import ByPattern, Cheapest, Pattern, Word
from restrict.languages.search import cheapest_pattern

MAX_WORDS = 1 << 16
TRIES = 2000
WHAT = ("non-member", "member")


def completions(alphabet: Sequence[str], pattern: Pattern) -> Iterator[Word]:
    """All ``len(alphabet) ** free`` words, each agreeing with the pattern (``None``: free), in the order of the
    alphabet."""
    return itertools.product(*(alphabet if s is None else (s,) for s in pattern))


def few(alphabet: Sequence[str], pattern: Pattern) -> bool:
    """Whether the pattern has at most ``MAX_WORDS`` completions, and at most 16 free cells."""
    free = sum(s is None for s in pattern)
    return free <= 16 and len(alphabet) ** free <= MAX_WORDS


def random_word(alphabet: Sequence[str], pattern: Pattern, rng: np.random.Generator) -> Word:
    """A uniform completion of the pattern."""
    letters = rng.integers(len(alphabet), size=len(pattern)).tolist()
    return tuple(alphabet[a] if s is None else s for a, s in zip(letters, pattern, strict=True))


def look_for(
    alphabet: Sequence[str], pattern: Pattern, good: Callable[[Word], bool], what: str, tries: int = TRIES
) -> Word | None:
    """A good completion, by enumeration where there are few, else at random, the same ``tries`` at every call; ``None``
    proves that there is none. ``ResourceLimit``, which says ``what`` was looked for: none among the words tried."""
    if few(alphabet, pattern):
        return next(filter(good, completions(alphabet, pattern)), None)
    rng = np.random.default_rng(0)
    alike = (tuple(symbol if s is None else s for s in pattern) for symbol in alphabet)
    drawn = (random_word(alphabet, pattern, rng) for _ in range(tries))
    for word in filter(good, itertools.chain(alike, drawn)):
        return word
    free = sum(s is None for s in pattern)
    raise ResourceLimit(f"no {what} found among {tries} random completions of {free} free positions; none may exist")


def uniform_sample(
    alphabet: Sequence[str], n: int, rng: np.random.Generator, good: Callable[[Word], bool], what: str
) -> Word | None:
    """A uniform good word of ``n`` symbols, by rejection (at most ``TRIES`` tests); at small ``n`` from a list (at most
    ``MAX_WORDS`` more), so that ``None`` is a proof. Else ``ResourceLimit``."""
    free: Pattern = (None,) * n
    for word in filter(good, (random_word(alphabet, free, rng) for _ in range(TRIES))):
        return word
    if few(alphabet, free):
        found = list(filter(good, completions(alphabet, free)))
        return found[int(rng.integers(len(found)))] if found else None
    raise ResourceLimit(f"no {what} of length {n} found among {TRIES} random words; none may exist")


class Drawn(ByPattern):
    """A language whose members are drawn by ``_member(n, rng)``, uniformly, and its non-members by rejection."""

    def _draw(self: Any, n: int, rng: np.random.Generator, member: bool) -> Word | None:
        if not member:
            return uniform_sample(self.alphabet, n, rng, lambda w: not self._has(w), "non-member")
        found: Word | None = self._member(n, rng)
        return found


class Searched(ByPattern):
    """A language whose forcing costs are found by search."""

    def _cheapest(self: Any, cells: Pattern, member: bool) -> Cheapest:
        """By enumeration at small ``n``, else implicit hitting sets, else ``ResourceLimit``."""
        return cheapest_pattern(self.alphabet, cells, member, self._has, self._fill)


@dataclass(frozen=True)
class Predicate(Searched):
    """The words on which a callable answers true. ``sample`` is uniform, by rejection."""

    exact: ClassVar[bool] = False

    name: str
    alphabet: tuple[str, ...]
    test: Callable[[Word], bool] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alphabet", tuple(self.alphabet))
        if not self.alphabet or len(set(self.alphabet)) != len(self.alphabet):
            raise UsageError("the alphabet of a predicate needs different symbols, at least one")

    @property
    def spec(self) -> str:
        """Begins with ``python:``, since no text describes a callable."""
        return f"python:{self.name}"

    def _has(self, word: Sequence[str]) -> bool:
        """What the predicate says."""
        return bool(self.test(tuple(word)))

    def _fill(self, pattern: Pattern, member: bool) -> Word | None:
        """By enumeration or random search; see the module."""
        return look_for(self.alphabet, pattern, self._is(member), WHAT[member])

    def _count(self, pattern: Pattern) -> int | None:
        """By enumeration, ``None`` beyond ``MAX_WORDS`` completions."""
        if not few(self.alphabet, pattern):
            return None
        return sum(bool(self.test(w)) for w in completions(self.alphabet, pattern))

    def _draw(self, n: int, rng: np.random.Generator, member: bool) -> Word | None:
        """Uniform, by rejection; ``ResourceLimit`` where such words are too rare."""
        return uniform_sample(self.alphabet, n, rng, self._is(member), WHAT[member])

    def _is(self, member: bool) -> Callable[[Word], bool]:
        return lambda word: bool(self.test(word)) == member
