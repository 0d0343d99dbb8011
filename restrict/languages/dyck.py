"""Dyck languages: well-nested brackets of one or several types, unbounded depth.

Which patterns can be completed, and how: :mod:`restrict.languages.dyck_matching`.

With one type, forcing non-membership costs ``min over prefixes of floor((p - 2c)/2) + 1`` closers in a prefix of length
``p`` with ``c`` closers (where it has that many free cells), or the mirror image; forcing membership fixes everything,
since reversing one bracket changes the balance.

With two types or more, two symbols (an opener, and right after it a closer of another type) force non-membership
anywhere, and one is enough next to a fixed opener. So Theorem 1 reaches these languages through the words over one
type of bracket, which are the Dyck-1 language (Hahn 2020, section 5; theory of the project, section 8).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np

from restrict.base.errors import ResourceLimit
from restrict.languages import dyck_matching
from restrict.languages.predicate import Drawn
from restrict.languages.protocol import ALL_FIXED, Cheapest, Pattern, Word, with_cells
from restrict.languages.search import cheapest_pattern
from restrict.model.brackets import Brackets

COUNT_LIMIT = 150
HEIGHT_LIMIT = 4000
SINGLE_TESTS = 4000


def code_of(alphabet: Sequence[str]) -> dict[str | None, int]:
    """The code of each symbol (opener, closer, opener, closer ...): ``t`` for the opener and ``-t`` for the closer of
    type ``t``, from 1; and 0 for a free cell."""
    signed: dict[str | None, int] = {s: (at // 2 + 1) * (-1 if at % 2 else 1) for at, s in enumerate(alphabet)}
    signed[None] = 0
    return signed


# ------------------------------------------------------------ the language


@dataclass(frozen=True)
class Balanced(Brackets, Drawn):
    """What languages of brackets share; ``_closed`` fills the free cells of a pattern, where it can be done."""

    exact: ClassVar[bool] = True
    family: ClassVar[str]

    @property
    def name(self) -> str:
        """``Dyck-k``, or ``shuffle-Dyck-k``."""
        return f"{self.family}-{self.k}"

    @property
    def spec(self) -> str:
        """``dyck:k``, or ``dyck[SYMBOLS]:k``; the same with ``shuffle-dyck``."""
        return self.spec_of(self.family.lower())

    def _has(self, word: Sequence[str]) -> bool:
        raise NotImplementedError

    def _codes(self, pattern: Pattern) -> dyck_matching.Codes:
        code = code_of(self.alphabet)
        return [code[s] for s in pattern]

    def _closed(self, codes: dyck_matching.Codes) -> Sequence[int] | None:
        raise NotImplementedError

    def _fill(self, pattern: Pattern, member: bool = True) -> Word | None:
        """Where a member is wanted, as the class says; else by openers, see :func:`unbalance`."""
        if not member:
            return unbalance(self.alphabet, self._has, pattern)
        found = self._closed(self._codes(pattern))
        return None if found is None else symbols(self.alphabet, found)

    def _cheapest(self, cells: Pattern, member: bool) -> Cheapest:
        """Membership: all is fixed; else ``_spoiled``, with a free cell and a completion that is balanced."""
        whole = self._fill(cells)
        if member:
            return whole, ALL_FIXED
        if whole is None:
            return cells, "no completion is balanced"
        return self._spoiled(cells) if None in cells else (None, "")

    def _spoiled(self, cells: Pattern) -> Cheapest:
        raise NotImplementedError


class Dyck(Balanced):
    """Well-nested brackets of ``k`` types. ``sample`` is uniform (cycle lemma for members, rejection for others)."""

    family = "Dyck"

    def _has(self, word: Sequence[str]) -> bool:
        """Whether the brackets are nested well; by a stack."""
        code, stack = code_of(self.alphabet), list[int]()
        for symbol in word:
            c = code[symbol]
            if c > 0:
                stack.append(c)
            elif not stack or stack.pop() != -c:
                return False
        return not stack

    def _closed(self, codes: dyck_matching.Codes) -> Sequence[int] | None:
        """By height for one type; greedy, then a chart for several. O(n), or O(N^2) set operations, N reduced."""
        if self.k == 1:
            return dyck_matching.by_height(codes) if dyck_matching.one_type(codes) else None
        pairs = dyck_matching.match(codes)
        return None if pairs is None else dyck_matching.typed(codes, pairs)

    def _count(self, pattern: Pattern) -> int | None:
        """Catalan numbers where all is free; heights for one type; a chart for several; ``None`` where too long."""
        codes = self._codes(pattern)
        n = len(codes)
        if n % 2:
            return 0
        if not any(codes):
            return int(comb(n, n // 2) // (n // 2 + 1) * self.k ** (n // 2))
        if self.k == 1:
            return dyck_matching.count_heights(codes) if n <= HEIGHT_LIMIT else None
        return dyck_matching.count_pairs(codes, self.k) if n <= COUNT_LIMIT else None

    def _member(self, n: int, rng: np.random.Generator) -> Word | None:
        """A member, each as likely as any other. O(n)."""
        if n % 2:
            return None
        kinds, stack, out = rng.integers(1, self.k + 1, size=n // 2).tolist(), list[int](), list[int]()
        for step in random_path(n // 2, rng):
            if step > 0:
                stack.append(kinds.pop())
            out.append(stack[-1] if step > 0 else -stack.pop())
        return symbols(self.alphabet, out)

    def _spoiled(self, cells: Pattern) -> Cheapest:
        """See the module. Exact, ``ResourceLimit`` only for unusual ``pre`` of Dyck-k."""
        codes = self._codes(cells)
        if self.k > 1:
            found = self._one_symbol(cells, codes)
            if found is not None:
                return found, "one bracket that nothing can match"
            pair = next((p for p in range(len(codes) - 1) if codes[p] == codes[p + 1] == 0), None)
            if pair is not None:
                clash = {pair: self.alphabet[0], pair + 1: self.alphabet[3]}
                return with_cells(cells, clash), "two brackets that clash"
            return cheapest_pattern(self.alphabet, cells, False, self._has, self._fill)
        left, right = dyck_matching.overload(codes), dyck_matching.overload(dyck_matching.mirrored(codes))
        sides = [(left[0], dict.fromkeys(left[1], self.alphabet[1]))] if left else []
        if right:
            sides.append((right[0], dict.fromkeys((len(codes) - 1 - p for p in right[1]), self.alphabet[0])))
        return with_cells(cells, min(sides, key=lambda s: s[0])[1]), "heights"

    def _one_symbol(self, cells: Pattern, codes: dyck_matching.Codes) -> Pattern | None:
        """One more symbol that leaves no completion, where there is one (and there are two types)."""
        for p, c in enumerate(codes):
            if c:
                continue
            if p == 0 or codes[p - 1] > 0:
                kind = 2 if p and codes[p - 1] == 1 else 1
                return with_cells(cells, {p: self.alphabet[2 * kind - 1]})
            if p == len(codes) - 1 or codes[p + 1] < 0:
                kind = 2 if p < len(codes) - 1 and codes[p + 1] == -1 else 1
                return with_cells(cells, {p: self.alphabet[2 * kind - 2]})
        free = [p for p, c in enumerate(codes) if c == 0]
        if len(free) * len(self.alphabet) > SINGLE_TESTS:
            raise ResourceLimit(f"{len(free)} free cells, each between closers and openers, are over the limit")
        tries = (with_cells(cells, {p: s}) for p in free for s in self.alphabet)
        return next((cells for cells in tries if self._fill(cells) is None), None)


def symbols(alphabet: Sequence[str], codes: Sequence[int]) -> Word:
    """The word of a list of codes without free cells. ``alphabet``: the ``2k`` symbols as opener, closer, opener,
    closer ... ``codes``: ``t`` or ``-t`` with ``t`` from 1 to ``k``; no 0."""
    return tuple(alphabet[2 * abs(c) - 2 + (c < 0)] for c in codes)


def unbalance(alphabet: Sequence[str], contains: Callable[[Word], bool], pattern: Pattern) -> Word | None:
    """A completion that is not balanced: free cells become openers, and one of them a closer where that balances. Cost:
    one membership test. ``pattern``: one cell for each symbol; ``None`` is free. Result: the word, or ``None`` where
    the pattern has no free cell and is a member itself."""
    word = tuple(alphabet[0] if s is None else s for s in pattern)
    if not contains(word):
        return word
    free = next((p for p, s in enumerate(pattern) if s is None), None)
    return None if free is None else tuple(alphabet[1] if p == free else s for p, s in enumerate(word))


def random_path(half: int, rng: np.random.Generator) -> list[int]:
    """A uniform balanced sequence of ``half`` steps +1 and as many -1, no partial sum negative (cycle lemma: rotate
    past the first minimum). O(half)."""
    steps = np.full(2 * half + 1, -1, dtype=np.int64)
    steps[rng.permutation(2 * half + 1)[:half]] = 1
    turn = int(np.cumsum(steps).argmin()) + 1
    path: list[int] = np.roll(steps, -turn)[:-1].tolist()
    return path
