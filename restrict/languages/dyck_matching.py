"""Brackets that match: which patterns of one or several types can be completed, how, and in how many ways.

A pattern is turned into codes: 0 for a free cell, ``t`` for an opener and ``-t`` for a closer of type ``t`` (from 1).

**One type.** A pattern of even length can be completed iff no prefix has more closers than half its length, and no
suffix more openers than half its length. *Proof*: with every free cell an opener, the height after a prefix of length
``p`` with ``c`` closers is ``p - 2c``, so the conditions are necessary. Given them, make just as many of the first
free cells openers as balance needs: before the switch heights are those of the all-opener word, after it those of the
all-closer word seen from the right. So forcing non-membership costs ``min over prefixes of floor((p - 2c)/2) + 1``
closers in that prefix (where it has that many free cells), or the mirror image; forcing membership fixes everything,
since reversing one bracket changes the balance.

**Several types.** Two brackets that match and are both fixed must have one type. An exact chart over bit sets decides
completion (O(N^2) words of N bits) after two reductions: adjacent fixed brackets that match are removed, and a free
run longer than ``2m + 2`` (``m`` fixed cells) loses two cells. *Proof of the second*: in a completion, if the run has
an opener followed by a closer, remove them. Else it is ``a`` closers and then ``b`` openers, and ``a`` is at least
twice the number of fixed openers plus 2, or ``b`` the same for closers; say ``a``. Then two neighbouring closers
``q, q+1`` match free openers ``p > p'``, and ``p' X p Y q q+1`` can be rewritten with ``p`` a closer and ``q`` an
opener; now ``q, q+1`` can be removed. Before the chart, a greedy matching finds most completions in linear time.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from restrict.base.errors import ResourceLimit

CHART_LIMIT = 3000
Codes = list[int]


# ------------------------------------------------------------ one type: heights


def one_type(codes: Sequence[int]) -> bool:
    """Whether codes (0 free, positive openers, negative closers) have a balanced completion when types are ignored.
    O(n)."""
    closers = [itertools.accumulate(c < 0 for c in side) for side in (codes, mirrored(codes))]
    return len(codes) % 2 == 0 and all(p >= 2 * most for p, most in enumerate(map(max, *closers), 1))


def by_height(codes: Sequence[int]) -> Codes:
    """A completion with one type, if there is one: 1 for each opener, -1 for each closer, openers first. O(n)."""
    openers = itertools.chain([1] * (len(codes) // 2 - sum(c > 0 for c in codes)), itertools.repeat(-1))
    return [next(openers) if c == 0 else 1 if c > 0 else -1 for c in codes]


def overload(codes: Sequence[int]) -> tuple[int, list[int]] | None:
    """The fewest further closers in a prefix that make it impossible, and where; the pattern can be completed. Cost:
    O(n). Proof: see the module. Result: the number of closers, and the free positions that become closers, in
    increasing order; ``None`` where no prefix has enough free cells."""
    closers, free = (list(itertools.accumulate(map(test, codes))) for test in ((0).__gt__, (0).__eq__))
    needs = ((p - 2 * c) // 2 + 1 for p, c in enumerate(closers, 1))
    found = [(need, p) for p, (need, there) in enumerate(zip(needs, free, strict=True), 1) if need <= there]
    if not found:
        return None
    need, end = min(found)
    return need, [p for p in range(end) if codes[p] == 0][:need]


# ------------------------------------------------------------ several types: matching


def greedy(codes: Sequence[int], restarts: int = 200) -> list[tuple[int, int]] | None:
    """Pairs (opener's position, closer's position) that cover all positions, or ``None`` where these simple rules fail
    (which proves nothing): closers take the nearest bracket or free cell on the left, then openers the nearest free
    cell on the right, then free cells pair up. An opener that was in the way becomes eager (it takes the next free cell
    at once), and all starts again, O(n) each time, at most ``restarts`` times with the first. ``codes``: 0 for free,
    ``t`` and ``-t`` for the opener and closer of type ``t``."""
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
    """Pairs (opener's position, closer's position) that cover all positions; ``None`` proves that there are none.
    ``codes``: the pattern, as for :func:`greedy`, at most ``CHART_LIMIT`` of them. ``reach[i]`` has bit ``j`` iff cells
    ``i .. j-1`` can balance. Cost: O(n^2) operations on sets of ``n`` bits."""
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
    for free, group in itertools.groupby(kept, key=lambda p: codes[p] == 0):
        run = list(group)
        surplus = max(0, len(run) - most + 1) // 2 * 2 if free else 0
        pairs += zip(run[:surplus:2], run[1:surplus:2], strict=True)
        out += run[surplus:]
    return out, pairs


def match(codes: Sequence[int]) -> list[tuple[int, int]] | None:
    """Pairs (opener's position, closer's position), nested and compatible, that cover all positions; ``None`` proves
    that there are none. ``codes``: as for :func:`greedy`. Cost: O(n) where greedy succeeds, else :func:`chart`'s on the
    reduced pattern."""
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
    """The word of a matching: a free pair takes type 1. ``pairs``: a matching of its positions, such as from
    :func:`match`. Result: a new list of codes without a 0."""
    out = list(codes)
    for i, j in pairs:
        kind = codes[i] or -codes[j] or 1
        out[i], out[j] = kind, -kind
    return out


# ------------------------------------------------------------ counting


def count_heights(codes: Sequence[int]) -> int:
    """The exact number of balanced words of one type that match, by the height after each prefix. O(n^2) additions."""
    ways = np.zeros(len(codes) // 2 + 2, dtype=object)
    ways[0] = 1
    for c in codes:
        after = np.zeros_like(ways)
        if c >= 0:
            after[1:] += ways[:-1]
        if c <= 0:
            after[:-1] += ways[1:]
        ways = after
    return int(ways[0])


def count_pairs(codes: Sequence[int], k: int) -> int:
    """The exact number of balanced words of ``k`` types that match: each has one decomposition by the partner of its
    first bracket. O(n^3) additions."""
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
