"""Shuffle-Dyck: each type of bracket is balanced on its own, whatever the others do; every type has its own counter. A
word is a member iff its positions can be paired, each opener with a later closer of its type; pairs may cross. So a
pattern can be completed iff there is such a pairing where a free cell may be either end, of any type. It is found
greedily from left to right. *Why greedy is right* (exchange): let a closer ``c`` be paired with a free cell ``f``
although an opener ``o`` of its type stands before it and is paired with ``x``, another free cell (a closer ``x`` can be
exchanged for ``c``). Then pairing ``c`` with ``o`` and ``f`` with ``x`` is no worse: both are free. Closers that find
no opener take the earliest free cell, which is of least use to the openers that are left. Among openers the latest is
taken first, so that those left over have the most free cells after them; they take free cells from right to left."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import comb

import numpy as np

from restrict.base.errors import ResourceLimit
from restrict.languages.dyck import Balanced, Dyck, code_of, random_path, symbols
from restrict.languages.dyck_matching import Codes, typed
from restrict.languages.protocol import Cheapest, Pattern, Word, with_cells
from restrict.languages.regular import choose
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

    def _member(self, n: int, rng: np.random.Generator) -> Word | None:
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
        """One type: as for Dyck."""
        return Dyck(1, self.letters)._cheapest(cells, member) if self.k == 1 else super()._cheapest(cells, member)

    def _spoiled(self, cells: Pattern) -> Cheapest:
        """One symbol where that is enough, else implicit hitting sets."""
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
    rows = [[1] + [0] * half, [comb(2 * m, m) // (m + 1) for m in range(half + 1)]]
    while len(rows) <= k:
        rows.append([sum(_shares(rows[1], rows[-1], m)) for m in range(half + 1)])
    return rows


def _shares(last: Sequence[int], others: Sequence[int], half: int) -> Iterator[int]:
    """The words of ``2 half`` brackets by how many pairs, from 0 on, are of the last type. ``last[m]``, ``others[m]``:
    the words of ``2m`` brackets of that type, and of the others."""
    choose = 1
    for own in range(half + 1):
        yield choose * last[own] * others[half - own]
        choose = choose * (2 * half - 2 * own) * (2 * half - 2 * own - 1) // ((2 * own + 1) * (2 * own + 2))


def _own_pairs(kind: int, half: int, rng: np.random.Generator) -> int:
    """How many of ``half`` pairs are of the last of ``kind`` types, in a uniform word."""
    rows = _splits(kind - 1, half)
    return choose(list(_shares(rows[1], rows[-1], half)), rng)
