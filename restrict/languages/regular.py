"""Regular languages: every question of the protocol answered on the minimal automaton. Membership runs the automaton.
Completions and counts are dynamic programming over (position, state), exact at any length. Regular expressions are read
by :mod:`restrict.languages.regex`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from restrict.base.arrays import Bools
from restrict.base.errors import quote
from restrict.base.strictjson import Node
from restrict.base.wording import counted
from restrict.languages.dfa import Dfa, minimal
from restrict.languages.protocol import ByPattern, Cheapest, Pattern, Word
from restrict.languages.subset import cheapest
from restrict.model.validate import STAR, check_symbol

DFA_FORMAT = "restrict-dfa/1"
COUNT_BUDGET = 20_000_000_000
"""Machine words that a count may add up before it answers ``None``."""
EXACT_WEIGHTS = 1 << 28
"""Bytes of exact integers that sampling may keep; beyond, weights are floats."""
POWERS_UP_TO = 6
"""Automata of at most this many states count long runs of equal cells by matrix powers."""


@dataclass(frozen=True)
class Regular(ByPattern):
    """The language of a minimal automaton. ``sample`` is uniform; at lengths where exact weights would not fit
    (``EXACT_WEIGHTS``), uniform up to the rounding of floating-point weights (relative error below ``n * 1e-15``)."""

    name: str
    spec: str
    dfa: Dfa = field(repr=False)
    exact: ClassVar[bool] = True

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols."""
        return self.dfa.alphabet

    def _has(self, word: Sequence[str]) -> bool:
        """Whether the automaton accepts."""
        return self.dfa.run(word) in self.dfa.accept

    def _fill(self, pattern: Pattern, member: bool) -> Word | None:
        """The first such word in the order of the alphabet. Cost O(n) set operations on states, most of them cached."""
        cells = self._cells(pattern)
        good = self._viable(cells, self.dfa.target(member))
        if not good[0][0]:
            return None
        word, state, cache = list[str](), 0, dict[tuple[int, int | None, bytes], tuple[str, int]]()
        for slot in zip(cells, good[1:], strict=True):
            known = cache.get((state, *slot))
            if known is None:
                row, (cell, after) = self.dfa.delta[state], slot
                letter = next(a for a in (range(len(row)) if cell is None else (cell,)) if after[row[a]])
                known = cache[state, *slot] = self.alphabet[letter], row[letter]
            word.append(known[0])
            state = known[1]
        return tuple(word)

    def _cells(self, pattern: Pattern) -> list[int | None]:
        index = self.dfa.index
        return [None if s is None else index[s] for s in pattern]

    def _viable(self, cells: Sequence[int | None], last: Bools) -> list[bytes]:
        """For each position, the states from which the rest of the cells can be filled to end in ``last``."""
        table, cache = self.dfa.table, dict[tuple[bytes, int | None], bytes]()
        good = [last.tobytes()]
        for cell in reversed(cells):
            slot = (good[-1], cell)
            if slot not in cache:
                after = np.frombuffer(slot[0], dtype=np.bool_)
                before = after[table].any(axis=0) if cell is None else after[table[cell]]
                cache[slot] = before.tobytes()
            good.append(cache[slot])
        return good[::-1]

    def _count(self, pattern: Pattern) -> int | None:
        """Dynamic programming over (position, state) with exact integers; ``None`` beyond ``COUNT_BUDGET``."""
        cells, dfa = self._cells(pattern), self.dfa
        powers = dfa.states <= POWERS_UP_TO
        words = 1 + sum(c is None for c in cells) * max(1, len(dfa.alphabet) - 1).bit_length() // 64
        if not powers and len(cells) * dfa.states * len(dfa.alphabet) * (words + 20) > COUNT_BUDGET:
            return None
        ways = dfa.target(True).astype(object)
        for cell, group in groupby(reversed(cells)):
            length, rows = sum(1 for _ in group), dfa.table if cell is None else dfa.table[[cell]]
            if powers and length > 256:
                step = np.eye(dfa.states, dtype=int).astype(object)[rows].sum(axis=0)
                ways = np.linalg.matrix_power(step, length) @ ways
                continue
            for _ in range(length):
                ways = ways[rows].sum(axis=0)
        return int(ways[0])

    def _draw(self, n: int, rng: np.random.Generator, member: bool) -> Word | None:
        """See the class for uniformity. Cost O(n S k) the first time at a length."""
        if not self._viable([None] * n, self.dfa.target(member))[0][0]:
            return None
        weights = _weights(self.dfa, n, member)
        word, state = [], 0
        for t in range(n):
            row = self.dfa.delta[state]
            letter = choose([weights[n - t - 1][p] for p in row], rng)
            word.append(self.alphabet[letter])
            state = row[letter]
        return tuple(word)

    def _cheapest(self, cells: Pattern, member: bool) -> Cheapest:
        """Shortest path in the subset automaton, exact (:mod:`restrict.languages.subset`)."""
        found, method = cheapest(self.dfa, member, self._cells(cells))
        return found if found is None else [None if a is None else self.alphabet[a] for a in found], method

    def __repr__(self) -> str:
        return f"Regular({self.spec!r}, {counted(self.dfa.states, 'state')})"


@lru_cache(maxsize=4)
def _weights(dfa: Dfa, n: int, member: bool) -> list[Any]:
    """``weights[t][q]``: the number of words of ``t`` symbols that lead from ``q`` into the target, or a multiple."""
    size = n * dfa.states * (n * max(1, len(dfa.alphabet) - 1).bit_length() // 8 + 40)
    rows = [dfa.target(member).astype(object if size <= EXACT_WEIGHTS else np.float64)]
    for _ in range(n):
        row = rows[-1][dfa.table].sum(axis=0)
        # A layer with no way in is all zero; the walk never gets there.
        rows.append(row if row.dtype == object else row / max(row.max(), 1e-300))
    return rows


def choose(weights: Sequence[Any], rng: np.random.Generator) -> int:
    """An index with probability proportional to its weight, exactly so for integers. ``weights``: at least 0, all
    integers or all floats, with a positive sum."""
    total = sum(weights)
    if isinstance(total, int):
        point: Any = below(total, rng)
    else:
        point = float(rng.random()) * total
    for at, w in enumerate(weights):
        if point < w:
            return at
        point -= w
    return max(at for at, w in enumerate(weights) if w)  # rounding of the last float


def below(total: int, rng: np.random.Generator) -> int:
    """A uniform integer in ``0 .. total-1``, of any size. ``total``: how many integers there are, at least 1."""
    if total < 1 << 62:
        return int(rng.integers(total))
    size = (total.bit_length() + 7) // 8
    while True:
        point = int.from_bytes(rng.bytes(size), "little") >> (8 * size - total.bit_length())
        if point < total:
            return point


# ------------------------------------------------------------ making one


def _symbol(text: str) -> str:
    """A symbol of a file: ``*`` and its escaped form, which is what is written, are the same one."""
    return STAR if text == "*" else text


def read_dfa(node: Node, spec: str) -> Regular:
    r"""A language from the JSON form ``restrict-dfa/1`` (docs/languages.md): states ``0 .. S-1``, ``transitions[q][a]``
    under ``alphabet[a]``. ``*`` becomes ``\*``, since it means a free position. ``spec``: the name where the document
    gives none."""
    members = node.document(DFA_FORMAT, ("alphabet", "start", "accept", "transitions"), ("name",))
    alphabet = [_symbol(item.text()) for item in members["alphabet"].items()]
    if not alphabet:
        members["alphabet"].fail("expected at least one symbol")
    met: set[str] = set()
    for symbol, item in zip(alphabet, members["alphabet"].items(), strict=True):
        check_symbol(symbol, item.place)
        if symbol in met:
            item.fail(f"the symbol {quote(symbol)} occurs twice")
        met.add(symbol)
    rows = members["transitions"].items()
    if not rows:
        members["transitions"].fail("expected at least one state")
    last, delta = len(rows) - 1, []
    for row in rows:
        cells = row.items()
        if len(cells) != len(alphabet):
            row.fail(f"expected {len(alphabet)} successors, one for each symbol, not {len(cells)}")
        delta.append([cell.integer(0, last) for cell in cells])
    accept = [item.integer(0, last) for item in members["accept"].items()]
    name = members["name"].text() if "name" in members else spec
    return Regular(name, spec, minimal(alphabet, delta, members["start"].integer(0, last), accept))


def dfa_document(dfa: Dfa, name: str) -> dict[str, Any]:
    """The JSON form ``restrict-dfa/1`` of an automaton, which :func:`read_dfa` reads back."""
    return {
        "format": DFA_FORMAT, "name": name, "alphabet": list(dfa.alphabet), "start": 0, "accept": sorted(dfa.accept),
        "transitions": [list(row) for row in dfa.delta],
    }  # fmt: skip
