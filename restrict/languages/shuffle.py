"""Shuffle-Dyck: each type of bracket is balanced on its own, whatever the others do; every type has its own counter. A
word is a member iff its positions can be paired, each opener with a later closer of its type; pairs may cross. So a
pattern can be completed iff there is such a pairing where a free cell may be either end, of any type. It is found
greedily from left to right. *Why greedy is right* (exchange): let a closer ``c`` be paired with a free cell ``f``
although an opener ``o`` of its type stands before it and is paired with ``x``, another free cell (a closer ``x`` can be
exchanged for ``c``). Then pairing ``c`` with ``o`` and ``f`` with ``x`` is no worse: both are free. Closers that find
no opener take the earliest free cell, which is of least use to the openers that are left. Among openers the latest is
taken first, so that those left over have the most free cells after them; they take free cells from right to left."""

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np

from restrict.base.errors import ResourceLimit
from restrict.languages.dyck import Balanced, Dyck, code_of, random_path, symbols
from restrict.languages.dyck_matching import Codes, typed
from restrict.languages.protocol import ALL_FIXED, Cheapest, Pattern, Word, with_cells
from restrict.languages.regular import below
from restrict.languages.search import cheapest_pattern

COUNT_BUDGET = 2_000_000
SPLIT_LIMIT = 2000
SINGLE_TESTS = 40_000


def pair_up(codes: Sequence[int]) -> list[tuple[int, int]] | None:
    """Pairs (opener's position, closer's position) that cover all positions, crossing allowed; ``None`` proves that
    there are none. O(n); why greedy is right: see the module. ``codes``: as in :mod:`restrict.languages.dyck`."""
    if len(codes) % 2:
        return None
    openers: dict[int, list[int]] = {}
    free: list[int] = []
    pairs: list[tuple[int, int]] = []
    taken = 0
    for p, c in enumerate(codes):
        if c == 0:
            free.append(p)
        elif c > 0:
            openers.setdefault(c, []).append(p)
        elif openers.get(-c):
            pairs.append((openers[-c].pop(), p))
        elif taken < len(free):
            pairs.append((free[taken], p))
            taken += 1
        else:
            return None
    left = free[taken:]
    for p in sorted((p for stack in openers.values() for p in stack), reverse=True):
        if not left or left[-1] < p:
            return None
        pairs.append((p, left.pop()))
    return pairs + list(zip(left[::2], left[1::2], strict=True))


class ShuffleDyck(Balanced):
    """Brackets of ``k`` types, each type balanced on its own. ``sample`` is uniform."""

    family = "shuffle-Dyck"

    def _has(self, word: Sequence[str]) -> bool:
        """Whether the brackets of each type are balanced; one counter a type."""
        code, heights = code_of(self.alphabet), [0] * (self.k + 1)
        for symbol in word:
            c = code[symbol]
            heights[abs(c)] += 1 if c > 0 else -1
            if heights[abs(c)] < 0:
                return False
        return not any(heights)

    def _closed(self, codes: Codes) -> Sequence[int] | None:
        """A completion in which every bracket has a partner; by pairing. O(n)."""
        pairs = pair_up(codes)
        return None if pairs is None else typed(codes, pairs)

    def _count(self, pattern: Pattern) -> int | None:
        """Dynamic programming over all heights; ``None`` beyond ``COUNT_BUDGET`` states in all."""
        n, code = len(pattern), code_of(self.alphabet)
        if n % 2:
            return 0
        if not any(pattern) and n // 2 <= SPLIT_LIMIT:
            return _splits(self.k, n // 2)[-1][n // 2]
        if n * (n // 2 + 1) ** self.k > COUNT_BUDGET:
            return None
        ways = {(0,) * self.k: 1}
        for at, symbol in enumerate(pattern):
            out: dict[tuple[int, ...], int] = {}
            for heights, w in ways.items():
                for c in (code[symbol],) if symbol is not None else (c for s, c in code.items() if s is not None):
                    t = abs(c) - 1
                    h = heights[t] + (1 if c > 0 else -1)
                    if h >= 0 and sum(heights) + h - heights[t] <= n - at - 1:
                        after = (*heights[:t], h, *heights[t + 1 :])
                        out[after] = out.get(after, 0) + w
            ways = out
        return ways.get((0,) * self.k, 0)

    def _draw(self, n: int, rng: np.random.Generator) -> Word | None:
        """Uniform: first how many brackets each type has, by exact counts, then where, then a path for each."""
        if n % 2:
            return None
        half, out = n // 2, np.zeros(n, dtype=np.int64)
        if half > SPLIT_LIMIT and self.k > 1:
            raise ResourceLimit(f"uniform words of {self.name} are sampled up to length {2 * SPLIT_LIMIT}, not {n}")
        where = np.arange(n)
        for kind in range(self.k, 0, -1):
            own = half if kind == 1 else _own_pairs(kind, half, rng)
            chosen = np.sort(rng.permutation(len(where))[: 2 * own])
            out[where[chosen]] = kind * np.array(random_path(own, rng), dtype=np.int64)
            where = np.delete(where, chosen)
            half -= own
        return symbols(self.alphabet, out.tolist())

    def _cheapest(self, cells: Pattern, member: bool) -> Cheapest:
        """Membership: all is fixed. Non-membership: one symbol where that is enough, else implicit hitting sets."""
        if self.k == 1:
            return Dyck(1, self.letters)._cheapest(cells, member)
        whole = self._fill(cells)
        if member:
            return whole, ALL_FIXED
        if whole is None:
            return cells, "no completion is balanced"
        if None not in cells:
            return None, ""
        free = [p for p, s in enumerate(cells) if s is None]
        # The first free cell as a closer and the last as an opener settle nearly every case; then all the others.
        order = [(p, s) for p in dict.fromkeys((free[0], free[-1], *free)) for s in self.alphabet]
        for p, s in order[:SINGLE_TESTS]:
            one = with_cells(cells, {p: s})
            if self._fill(one) is None:
                return one, "one bracket that nothing can match"
        return cheapest_pattern(self.alphabet, cells, False, self._has, self._fill)


@lru_cache(maxsize=4)
def _splits(k: int, half: int) -> list[list[int]]:
    """``[t][m]``: the words of ``2m`` brackets of the first ``t`` types, for ``m`` up to ``half``."""
    catalan = [comb(2 * m, m) // (m + 1) for m in range(half + 1)]
    rows = [[1] + [0] * half, catalan]
    for _ in range(1, k):
        old, row = rows[-1], []
        for m in range(half + 1):
            choose, total = 1, 0
            for own in range(m + 1):
                total += choose * catalan[own] * old[m - own]
                choose = choose * (2 * m - 2 * own) * (2 * m - 2 * own - 1) // ((2 * own + 1) * (2 * own + 2))
            row.append(total)
        rows.append(row)
    return rows


def _own_pairs(kind: int, half: int, rng: np.random.Generator) -> int:
    """How many of ``half`` pairs are of the last of ``kind`` types, in a uniform word."""
    rows = _splits(kind, half) if (kind, half) != (2, half) else _two_types(half)
    point, choose = below(rows[kind][half], rng), 1
    for own in range(half + 1):
        weight = choose * rows[1][own] * rows[kind - 1][half - own]
        if point < weight:
            return own
        point -= weight
        choose = choose * (2 * half - 2 * own) * (2 * half - 2 * own - 1) // ((2 * own + 1) * (2 * own + 2))
    raise AssertionError("the weights do not add up")


@lru_cache(maxsize=4)
def _two_types(half: int) -> list[list[int]]:
    """``_splits(2, half)`` by the known product of two Catalan numbers (Cori, Dulucq and Viennot 1986)."""
    catalan = [comb(2 * m, m) // (m + 1) for m in range(half + 2)]
    return [[1] + [0] * half, catalan[: half + 1], [catalan[m] * catalan[m + 1] for m in range(half + 1)]]
