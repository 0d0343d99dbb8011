"""Dyck languages: well-nested brackets of one or several types, unbounded depth.

A pattern is turned into codes: 0 for a free cell, ``t`` for an opener and ``-t`` for a closer of type ``t`` (from 1).

**One type.** A pattern of even length can be completed iff no prefix has more closers than half its length, and no
suffix more openers than half its length. *Proof*: with every free cell an opener, the height after a prefix of length
``p`` with ``c`` closers is ``p - 2c``, so the conditions are necessary. Given them, make just as many of the first
free cells openers as balance needs: before the switch heights are those of the all-opener word, after it those of the
all-closer word seen from the right. So forcing non-membership costs ``min over prefixes of floor((p - 2c)/2) + 1``
closers in that prefix (where it has that many free cells), or the mirror image; forcing membership fixes everything,
since turning round one bracket changes the balance.

**Several types.** Two brackets that match and are both fixed must have one type. An exact chart over bit sets decides
completion (O(N^2) words of N bits) after two reductions: adjacent fixed brackets that match are removed, and a free
run longer than ``2m + 2`` (``m`` fixed cells) loses two cells. *Proof of the second*: in a completion, if the run has
an opener followed by a closer, remove them. Else it is ``a`` closers and then ``b`` openers, and ``a`` is at least
twice the number of fixed openers plus 2, or ``b`` the same for closers; say ``a``. Then two neighbouring closers
``q, q+1`` match free openers ``p > p'``, and ``p' X p Y q q+1`` can be rewritten with ``p`` a closer and ``q`` an
opener; now ``q, q+1`` can be removed. Before the chart, a greedy matching finds most completions in linear time.

With two types or more, two symbols (an opener, and right after it a closer of another type) force non-membership
anywhere, and one is enough next to a fixed opener. So Theorem 1 reaches these languages through the words over one
type of bracket, which are the Dyck-1 language (Hahn 2020, section 5; theory of the project, section 8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np

from restrict.errors import ResourceLimit, UsageError
from restrict.languages.predicate import uniform_sample
from restrict.languages.protocol import (
    Forcing,
    Pattern,
    Word,
    check_word,
    forcing,
    pattern_of,
    start_of,
)
from restrict.languages.search import cheapest_pattern
from restrict.model.brackets import Brackets
from restrict.restriction import Restriction

CHART_LIMIT = 3000
COUNT_LIMIT = 150
HEIGHT_LIMIT = 4000
SINGLE_TESTS = 4000
Codes = list[int]


def code_of(alphabet: Sequence[str]) -> dict[str | None, int]:
    """The code of each symbol, and 0 for a free cell."""
    signed: dict[str | None, int] = {s: (at // 2 + 1) * (-1 if at % 2 else 1) for at, s in enumerate(alphabet)}
    signed[None] = 0
    return signed


# ------------------------------------------------------------ one type: heights


def one_type(codes: Sequence[int]) -> bool:
    """Whether the pattern can be completed when types are ignored."""
    if len(codes) % 2:
        return False
    closers = 0
    for p, c in enumerate(codes, 1):
        closers += c < 0
        if p < 2 * closers:
            return False
    openers = 0
    for p, c in enumerate(reversed(codes), 1):
        openers += c > 0
        if p < 2 * openers:
            return False
    return True


def by_height(codes: Sequence[int]) -> Codes:
    """A completion with one type, of a pattern that has one: openers first."""
    openers = len(codes) // 2 - sum(c > 0 for c in codes)
    out = []
    for c in codes:
        if c == 0:
            out.append(1 if openers > 0 else -1)
            openers -= 1
        else:
            out.append(1 if c > 0 else -1)
    return out


def overload(codes: Sequence[int]) -> tuple[int, list[int]] | None:
    """The fewest further closers in a prefix that make it impossible, and where; the pattern can be completed."""
    best: tuple[int, int] | None = None
    closers = free = 0
    for p, c in enumerate(codes, 1):
        closers += c < 0
        free += c == 0
        need = (p - 2 * closers) // 2 + 1
        if need <= free and (best is None or need < best[0]):
            best = (need, p)
    if best is None:
        return None
    return best[0], [p for p in range(best[1]) if codes[p] == 0][: best[0]]


# ------------------------------------------------------------ several types: matching


def greedy(codes: Sequence[int], restarts: int = 200) -> list[tuple[int, int]] | None:
    """Pairs of matched positions, or ``None`` where these simple rules fail (which proves nothing).

    Closers take the nearest bracket or free cell on the left, then openers the nearest free cell on the right, then
    free cells pair up. An opener that was in the way is made eager, and everything starts again: it takes the next
    free cell at once.
    """
    eager: set[int] = set()
    for _ in range(restarts):
        found = _attempt(codes, eager)
        if not isinstance(found, int):
            return found
        if found < 0 or found in eager:
            return None
        eager.add(found)
    return None


def _attempt(codes: Sequence[int], eager: set[int]) -> list[tuple[int, int]] | int:
    """The pairs, or the opener that was in the way (-1: there was none)."""
    pairs: list[tuple[int, int]] = []
    stack: list[int] = []
    for p, c in enumerate(codes):
        if c > 0 or (c == 0 and not (stack and stack[-1] in eager)):
            stack.append(p)
        elif stack and (c == 0 or codes[stack[-1]] in (0, -c)):
            pairs.append((stack.pop(), p))
        else:
            return stack[-1] if stack else -1
    free: list[int] = []
    for p in reversed(stack):
        if codes[p] == 0:
            free.append(p)
        elif free:
            pairs.append((p, free.pop()))
        else:
            return p
    if len(free) % 2:
        return -1
    return pairs + [(free[at + 1], free[at]) for at in range(0, len(free), 2)]


def mirrored(codes: Sequence[int]) -> Codes:
    """The pattern read from right to left, with openers and closers exchanged."""
    return [-c for c in reversed(codes)]


def chart(codes: Sequence[int]) -> list[tuple[int, int]] | None:
    """Pairs of matched positions; ``None`` proves that there are none.

    ``reach[i]`` has bit ``j`` iff cells ``i .. j-1`` can balance.

    Raises:
        ResourceLimit: too many symbols for the chart.
    """
    n = len(codes)
    if n > CHART_LIMIT:
        raise ResourceLimit(f"matching brackets of several types over {n} cells is over the limit of {CHART_LIMIT}")
    closes: dict[int, int] = {}
    for j, c in enumerate(codes):
        for t in (abs(x) for x in set(codes) if x):
            closes[t] = closes.get(t, 0) | int(c in (0, -t)) << j
    closes[0] = sum(1 << j for j, c in enumerate(codes) if c <= 0)
    reach = [0] * n + [1 << n]
    for i in range(n - 1, -1, -1):
        whole = 1 << i
        if codes[i] >= 0:
            ends = reach[i + 1] & closes[codes[i]]
            while ends:
                low = ends & -ends
                whole |= reach[low.bit_length()]
                ends ^= low
        reach[i] = whole
    if not reach[0] >> n & 1:
        return None
    pairs, tasks = [], [(0, n)]
    while tasks:
        i, end = tasks.pop()
        if i == end:
            continue
        ends = reach[i + 1] & closes[codes[i]]
        while True:
            j = (ends & -ends).bit_length() - 1
            if reach[j + 1] >> end & 1:
                break
            ends &= ends - 1
        pairs.append((i, j))
        tasks += [(i + 1, j), (j + 1, end)]
    return pairs


def _kernel(codes: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]] | None:
    """The positions that are left after both reductions, and the pairs already matched; ``None``: impossible."""
    pairs: list[tuple[int, int]] = []
    kept: list[int] = []
    for p, c in enumerate(codes):
        if c < 0 and kept and codes[kept[-1]] > 0:
            if codes[kept[-1]] != -c:
                return None
            pairs.append((kept.pop(), p))
        else:
            kept.append(p)
    most = 2 * sum(codes[p] != 0 for p in kept) + 2
    out: list[int] = []
    at = 0
    while at < len(kept):
        end = at
        while end < len(kept) and codes[kept[end]] == 0:
            end += 1
        surplus = max(0, end - at - most + 1) // 2 * 2
        pairs += [(kept[p], kept[p + 1]) for p in range(at, at + surplus, 2)]
        out += kept[at + surplus : end + 1]
        at = end + 1
    return out, pairs


def match(codes: Sequence[int]) -> list[tuple[int, int]] | None:
    """A matching of all positions into nested, compatible pairs; ``None`` is a proof that there is none."""
    if not one_type(codes):
        return None
    kernel = _kernel(codes)
    if kernel is None:
        return None
    pairs = greedy(codes)
    if pairs is not None:
        return pairs
    n = len(codes)
    other = greedy(mirrored(codes))
    if other is not None:
        return [(n - 1 - j, n - 1 - i) for i, j in other]
    kept, pairs = kernel
    inner = chart([codes[p] for p in kept])
    return None if inner is None else pairs + [(kept[i], kept[j]) for i, j in inner]


def typed(codes: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Codes:
    """The word of a matching: a free pair takes type 1."""
    out = list(codes)
    for i, j in pairs:
        kind = codes[i] or -codes[j] or 1
        out[i], out[j] = kind, -kind
    return out


# ------------------------------------------------------------ the language


@dataclass(frozen=True)
class Dyck(Brackets):
    """Well-nested brackets of ``k`` types. ``sample`` is uniform (cycle lemma for members, rejection for others)."""

    exact: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """``Dyck-k``."""
        return f"Dyck-{self.k}"

    @property
    def spec(self) -> str:
        """``dyck:k``, or ``dyck[SYMBOLS]:k``."""
        return self.spec_of("dyck")

    def contains(self, word: Sequence[str]) -> bool:
        """By a stack."""
        check_word(self.alphabet, word)
        code, stack = code_of(self.alphabet), list[int]()
        for symbol in word:
            c = code[symbol]
            if c > 0:
                stack.append(c)
            elif not stack or stack.pop() != -c:
                return False
        return not stack

    def complete(self, restriction: Restriction, values: Mapping[int, str], member: bool) -> Word | None:
        """By height for one type; greedy, then a chart for several. O(n), or O(N^2) set operations, N reduced."""
        pattern = pattern_of(self.alphabet, restriction, values)
        return self._fill(pattern) if member else unbalance(self.alphabet, self.contains, pattern)

    def _codes(self, pattern: Pattern) -> Codes:
        code = code_of(self.alphabet)
        return [code[s] for s in pattern]

    def _fill(self, pattern: Pattern, member: bool = True) -> Word | None:
        if not member:
            return unbalance(self.alphabet, self.contains, pattern)
        codes = self._codes(pattern)
        if self.k == 1:
            return symbols(self.alphabet, by_height(codes)) if one_type(codes) else None
        pairs = match(codes)
        return None if pairs is None else symbols(self.alphabet, typed(codes, pairs))

    def count(self, restriction: Restriction) -> int | None:
        """Catalan numbers where all is free; heights for one type; a chart for several; ``None`` where too long."""
        codes = self._codes(pattern_of(self.alphabet, restriction))
        n = len(codes)
        if n % 2:
            return 0
        if not any(codes):
            return int(comb(n, n // 2) // (n // 2 + 1) * self.k ** (n // 2))
        if self.k == 1:
            return _count_heights(codes) if n <= HEIGHT_LIMIT else None
        return _count_pairs(codes, self.k) if n <= COUNT_LIMIT else None

    def sample(self, n: int, rng: np.random.Generator, member: bool = True) -> Word | None:
        """Uniform. O(n).

        Raises:
            UsageError: a negative length.
        """
        if not member:
            return uniform_sample(self.alphabet, n, rng, lambda w: not self.contains(w), "non-member")
        if n < 0:
            raise UsageError(f"the length {n} is negative")
        if n % 2:
            return None
        kinds, stack, out = rng.integers(1, self.k + 1, size=n // 2).tolist(), list[int](), list[int]()
        for step in random_path(n // 2, rng):
            if step > 0:
                stack.append(kinds.pop())
            out.append(stack[-1] if step > 0 else -stack.pop())
        return symbols(self.alphabet, out)

    def forcing_cost(self, n: int, member: bool, pre: Restriction | None = None) -> Forcing | None:
        """In: everything. Out: see the module; exact, ``ResourceLimit`` only for odd pre-restrictions of Dyck-k."""
        cells, start = start_of(self.alphabet, n, pre)
        if member:
            return fix_all(self._fill(cells), cells, start)
        found = self._break(cells)
        return None if found is None else forcing(False, cells, found[0], start, found[1])

    def _break(self, cells: Pattern) -> tuple[Pattern, str] | None:
        """A cheapest restriction that forces non-membership, and how it was found."""
        codes = self._codes(cells)
        whole = self._fill(cells)
        if whole is None:
            return cells, "no completion is balanced"
        if None not in cells:
            return None
        if self.k > 1:
            found = self._one_symbol(cells, codes)
            if found is not None:
                return found, "one bracket that nothing can match"
            pair = next((p for p in range(len(codes) - 1) if codes[p] == codes[p + 1] == 0), None)
            if pair is not None:
                return _with(cells, {pair: self.alphabet[0], pair + 1: self.alphabet[3]}), "two brackets that clash"
            found, method = cheapest_pattern(self.alphabet, cells, False, self.contains, self._fill)
            return None if found is None else (found, method)
        left, right = overload(codes), overload(mirrored(codes))
        sides = [(left[0], dict.fromkeys(left[1], self.alphabet[1]))] if left else []
        if right:
            sides.append((right[0], dict.fromkeys((len(codes) - 1 - p for p in right[1]), self.alphabet[0])))
        return _with(cells, min(sides, key=lambda s: s[0])[1]), "heights"

    def _one_symbol(self, cells: Pattern, codes: Codes) -> Pattern | None:
        """One more symbol that leaves no completion, where there is one (and there are two types)."""
        for p, c in enumerate(codes):
            if c:
                continue
            if p == 0 or codes[p - 1] > 0:
                kind = 2 if p and codes[p - 1] == 1 else 1
                return _with(cells, {p: self.alphabet[2 * kind - 1]})
            if p == len(codes) - 1 or codes[p + 1] < 0:
                kind = 2 if p < len(codes) - 1 and codes[p + 1] == -1 else 1
                return _with(cells, {p: self.alphabet[2 * kind - 2]})
        free = [p for p, c in enumerate(codes) if c == 0]
        if len(free) * len(self.alphabet) > SINGLE_TESTS:
            raise ResourceLimit(f"{len(free)} free cells, each between closers and openers, are over the limit")
        tries = (_with(cells, {p: s}) for p in free for s in self.alphabet)
        return next((cells for cells in tries if self._fill(cells) is None), None)


def symbols(alphabet: Sequence[str], codes: Sequence[int]) -> Word:
    """The word of a list of codes without free cells."""
    return tuple(alphabet[2 * abs(c) - 2 + (c < 0)] for c in codes)


def _with(cells: Pattern, more: Mapping[int, str]) -> Pattern:
    return tuple(more.get(p, s) for p, s in enumerate(cells))


def unbalance(alphabet: Sequence[str], contains: Callable[[Word], bool], pattern: Pattern) -> Word | None:
    """A completion that is not balanced: free cells become openers, and one of them a closer where that balances."""
    word = tuple(alphabet[0] if s is None else s for s in pattern)
    if not contains(word):
        return word
    free = next((p for p, s in enumerate(pattern) if s is None), None)
    return None if free is None else tuple(alphabet[1] if p == free else s for p, s in enumerate(word))


def fix_all(word: Word | None, cells: Pattern, start: Restriction) -> Forcing | None:
    """Forcing membership where every free cell can spoil it: all of them have to be fixed."""
    return None if word is None else forcing(True, cells, word, start, "every free symbol can spoil membership")


def random_path(half: int, rng: np.random.Generator) -> list[int]:
    """A uniform balanced sequence of ``half`` steps +1 and as many -1 (cycle lemma: rotate past the first minimum)."""
    steps = np.full(2 * half + 1, -1, dtype=np.int64)
    steps[rng.permutation(2 * half + 1)[:half]] = 1
    turn = int(np.cumsum(steps).argmin()) + 1
    path: list[int] = np.roll(steps, -turn)[:-1].tolist()
    return path


def _count_heights(codes: Sequence[int]) -> int:
    ways = [1]
    for at, c in enumerate(codes):
        most = min(at + 1, len(codes) - at - 1)
        out = [0] * (at + 2)
        for h, w in enumerate(ways):
            if w and c >= 0 and h + 1 <= most:
                out[h + 1] += w
            if w and c <= 0 and h:
                out[h - 1] += w
        ways = out
    return ways[0]


def _count_pairs(codes: Sequence[int], k: int) -> int:
    """Every balanced word has one decomposition by the partner of its first bracket."""
    n = len(codes)
    ways = [[0] * (n + 1) for _ in range(n + 2)]
    for i in range(n, -1, -1):
        ways[i][i] = 1
        for end in range(i + 2, n + 1, 2):
            total = 0
            for j in range(i + 1, end, 2):
                if ways[i + 1][j] and ways[j + 1][end] and codes[i] >= 0 and codes[j] <= 0:
                    kinds = k if codes[i] == codes[j] == 0 else int(0 in (codes[i], codes[j]) or codes[i] == -codes[j])
                    total += kinds * ways[i + 1][j] * ways[j + 1][end]
            ways[i][end] = total
    return ways[0][n]
