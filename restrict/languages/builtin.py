"""The built-in languages: regular ones as automata, and those with a closed form. Each question is about the words of
one exact length. The proofs of the closed forms are at the classes, and the tests compare all of them with
enumeration."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from restrict.base.errors import ResourceLimit, UsageError
from restrict.languages.dfa import MAX_STATES, minimal
from restrict.languages.predicate import Drawn, uniform_sample
from restrict.languages.protocol import ALL_FIXED, ByPattern, Cheapest, Pattern, Word, with_cells
from restrict.languages.regular import Regular
from restrict.model.brackets import Brackets

# ------------------------------------------------------------ regular


def parity() -> Regular:
    """Words over 0, 1 with an odd number of ones."""
    return Regular("PARITY", "parity", minimal("01", [[0, 1], [1, 0]], 0, [1]))


def all_ones() -> Regular:
    """Words over 0, 1 without a zero."""
    return Regular("1*", "1*", minimal("01", [[1, 0], [1, 1]], 0, [0]))


def even_length() -> Regular:
    """Words over a of even length: only the length matters."""
    return Regular("(aa)*", "(aa)*", minimal("a", [[1], [0]], 0, [0]))


def first() -> Regular:
    """Words over 0, 1 that begin with 1."""
    return Regular("FIRST", "first", minimal("01", [[2, 1], [1, 1], [2, 2]], 0, [1]))


def flip_flop() -> Regular:
    """Words over w0, w1, i, r whose last write is w1 (Liu et al. 2023): i is ignored, r reads, the bit starts as 0."""
    symbols = ("w0", "w1", "i", "r")
    return Regular("flip-flop", "flip-flop", minimal(symbols, [[0, 1, 0, 0], [0, 1, 1, 1]], 0, [1]))


def bounded_dyck(k: int, depth: int, letters: tuple[str, ...] = ()) -> Regular:
    """Dyck-k words of height at most ``depth``: the automaton's states are the stacks. ``k``: the number of bracket
    types, at least 1. ``depth``: the greatest height, at least 1. ``letters``: the ``2k`` symbols as opener, closer,
    opener, closer ...; the usual brackets by default."""
    symbols = Brackets(k, letters)
    if depth < 1:
        raise UsageError(f"the depth must be at least 1, not {depth}")
    states = sum(k**d for d in range(min(depth, 64) + 1)) if k > 1 else depth + 1
    if states > MAX_STATES // 10:
        raise ResourceLimit(
            f"dyck:{k},depth={depth} has over {MAX_STATES // 10} stacks; an automaton for it is too large"
        )
    index = {stack: at for at, stack in enumerate(s for d in range(depth + 1) for s in product(range(k), repeat=d))}
    sink = len(index)
    delta = []
    for stack in index:
        row = []
        for t in range(k):
            row.append(index.get((*stack, t), sink))
            row.append(index[stack[:-1]] if stack and stack[-1] == t else sink)
        delta.append(row)
    delta.append([sink] * (2 * k))
    return Regular(
        f"Dyck-{k} of depth {depth}",
        symbols.spec_of("dyck", f",depth={depth}"),
        minimal(symbols.alphabet, delta, 0, [0]),
    )


# ------------------------------------------------------------ closed forms


@dataclass(frozen=True)
class Majority(ByPattern):
    """Words over 0, 1 with more ones than zeros (a tie is no member); ``sample`` is uniform. Forcing membership needs
    ``n // 2 + 1`` ones whatever the rest is, non-membership ``(n + 1) // 2`` zeros; symbols already there count."""

    name: str = "MAJORITY"
    spec: str = "majority"
    alphabet: tuple[str, ...] = ("0", "1")
    exact: bool = True

    def _has(self, word: Sequence[str]) -> bool:
        """Whether the ones are more than half; by counting."""
        return 2 * sum(s == "1" for s in word) > len(word)

    def _fill(self, pattern: Pattern, member: bool) -> Word | None:
        """All free cells to the wanted side."""
        word = tuple(("1" if member else "0") if s is None else s for s in pattern)
        return word if self._has(word) == member else None

    def _count(self, pattern: Pattern) -> int | None:
        """A sum of binomial coefficients; ``None`` beyond 30 000 free cells."""
        free, ones = sum(s is None for s in pattern), sum(s == "1" for s in pattern)
        return None if free > 30_000 else sum(_binomials(free)[max(0, len(pattern) // 2 + 1 - ones) :])

    def _draw(self, n: int, rng: np.random.Generator, member: bool) -> Word | None:
        """Uniform, by rejection: at least a quarter of the words is on either side, except at ``n`` = 0."""
        return uniform_sample(self.alphabet, n, rng, lambda w: self._has(w) == member, "member")

    def _cheapest(self, cells: Pattern, member: bool) -> Cheapest:
        """See the class. Cost: O(n)."""
        symbol, needed = ("1", len(cells) // 2 + 1) if member else ("0", (len(cells) + 1) // 2)
        missing = max(0, needed - sum(s == symbol for s in cells))
        where = [p for p, s in enumerate(cells) if s is None][:missing]
        return None if len(where) < missing else with_cells(cells, dict.fromkeys(where, symbol)), "counting"


@dataclass(frozen=True)
class AnBn(Drawn):
    """The words ``a^m b^m``, ``m >= 0``: at most one at each length. ``sample`` is uniform. Forcing: at even ``n``
    membership fixes all of the word, and any wrong symbol forces non-membership."""

    name: str = "a^n b^n"
    spec: str = "anbn"
    alphabet: tuple[str, ...] = ("a", "b")
    exact: bool = True

    def _has(self, word: Sequence[str]) -> bool:
        """By comparison with the one member of that length."""
        return len(word) % 2 == 0 and all((s == "b") == (2 * p >= len(word)) for p, s in enumerate(word))

    def _fill(self, pattern: Pattern, member: bool) -> Word | None:
        """The one member, or anything with a wrong symbol."""
        n = len(pattern)
        word = tuple(("b" if 2 * p >= n else "a") if s is None else s for p, s in enumerate(pattern))
        if self._has(word) == member:
            return word
        free = next((p for p, s in enumerate(pattern) if s is None), None)
        if member or free is None:
            return None
        return with_cells(word, {free: "a" if word[free] == "b" else "b"})

    def _count(self, pattern: Pattern) -> int | None:
        """How many completions are members: 0 or 1."""
        return int(self._fill(pattern, True) is not None)

    def _member(self, n: int, rng: np.random.Generator) -> Word | None:
        return self._fill((None,) * n, True)

    def _cheapest(self, cells: Pattern, member: bool) -> Cheapest:
        """See the class. Cost: O(n)."""
        whole = self._fill(cells, True)
        if member:
            return whole, ALL_FIXED
        if whole is None:
            return cells, "no completion is a member"
        free = next((p for p, s in enumerate(cells) if s is None), None)
        wrong = None if free is None else with_cells(cells, {free: "a" if whole[free] == "b" else "b"})
        return wrong, "one wrong symbol"


@dataclass(frozen=True)
class Palindromes(Drawn):
    """Words equal to their reverse. ``sample`` is uniform. Forcing: the pairs ``(p, n-1-p)`` are independent.
    Membership needs every pair fixed and equal; non-membership one pair fixed and different, which costs as many
    symbols as the pair has free cells: at most two, at any length."""

    letters: str = "ab"
    name: ClassVar[str] = "palindromes"
    exact: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.letters or len(set(self.letters)) != len(self.letters) or "*" in self.letters:
            raise UsageError(f"the letters of palindromes must be different, and '*' means free, not {self.letters!r}")

    @property
    def spec(self) -> str:
        """``palindromes:LETTERS``."""
        return f"palindromes:{self.letters}"

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The letters."""
        return tuple(self.letters)

    def _has(self, word: Sequence[str]) -> bool:
        """By comparison with the reverse."""
        return list(word) == list(word)[::-1]

    def _fill(self, pattern: Pattern, member: bool) -> Word | None:
        """Pair by pair."""
        n = len(pattern)
        word = tuple(s or pattern[n - 1 - p] or self.letters[0] for p, s in enumerate(pattern))
        if self._has(word) == member:
            return word
        spare = next((p for p, s in enumerate(pattern) if s is None and 2 * p + 1 != n), None)
        if member or spare is None or len(self.letters) < 2:
            return None
        return with_cells(word, {spare: next(c for c in self.letters if c != word[spare])})

    def _count(self, pattern: Pattern) -> int | None:
        """A power of the number of letters, or 0."""
        if self._fill(pattern, True) is None:
            return 0
        n = len(pattern)
        open_ = sum(pattern[p] is None and pattern[n - 1 - p] is None for p in range((n + 1) // 2))
        return int(len(self.letters) ** open_)

    def _member(self, n: int, rng: np.random.Generator) -> Word | None:
        half = [self.letters[a] for a in rng.integers(len(self.letters), size=(n + 1) // 2).tolist()]
        return (*half, *half[: n // 2][::-1])

    def _cheapest(self, cells: Pattern, member: bool) -> Cheapest:
        """See the class. Cost: O(n)."""
        whole = self._fill(cells, True)
        n = len(cells)
        if whole is None:
            return None if member else cells, "no completion is a palindrome"
        if member:
            return with_cells(
                cells, {p: s for p, s in enumerate(whole) if 2 * p + 1 != n and len(self.letters) > 1}
            ), "pairs"
        pairs = [[q for q in (p, n - 1 - p) if cells[q] is None] for p in range(n // 2)]
        pairs = sorted((pair for pair in pairs if pair), key=len)
        if not pairs or len(self.letters) < 2:
            return None, ""
        p, *rest = pairs[0]
        other = next(c for c in self.letters if c != whole[p])
        return with_cells(cells, {p: other, **{q: whole[q] for q in rest}}), "one pair"


def _binomials(n: int) -> list[int]:
    row = [1]
    for r in range(n):
        row.append(row[-1] * (n - r) // (r + 1))
    return row
