"""Forcing cost for languages without a closed form or an automaton: by enumeration, or by implicit hitting sets.

**Enumeration.** The truth table of membership is an array with an axis for each free cell. Appending to every axis
the conjunction over its letters gives the array of all restrictions: (k+1)^free truth values.

**Implicit hitting sets.** A restriction forces membership iff every non-member among the words contradicts it
somewhere. So each non-member ``w`` gives a clause: some position is fixed to a symbol other than ``w``'s. A cheapest
restriction that meets the clauses found so far is chosen by MaxSAT, and completed into another non-member; when there
is none, it is a cheapest forcing restriction (the relaxation had no cheaper one). This is exact, but no good bound on
the number of rounds is known, so there is a limit.
"""

import itertools
from collections.abc import Callable

import numpy as np

from restrict.base.arrays import I8, Bools
from restrict.base.errors import ResourceLimit
from restrict.languages.protocol import Pattern, Word
from restrict.sat.hitting_sets import Cheapest, unmissed

MAX_ROUNDS = 300
MAX_TESTS = 1 << 16
MAX_TABLE = 1 << 23
Completer = Callable[[Pattern, bool], Word | None]


def cheapest_pattern(
    alphabet: tuple[str, ...], start: Pattern, member: bool, contains: Callable[[Word], bool], complete: Completer
) -> tuple[Pattern | None, str]:
    """A cheapest pattern that refines ``start`` (which costs nothing; ``None``: free) and forces membership
    (``member``) or non-membership, ``None`` if there is none, and the method: enumeration at few free cells, implicit
    hitting sets beyond. Exact. ``complete``: a completion with that membership; ``None`` proves there is none."""
    free = sum(s is None for s in start)
    if free <= 22 and len(alphabet) ** free <= MAX_TESTS and (len(alphabet) + 1) ** free <= MAX_TABLE:
        return by_enumeration(alphabet, start, member, contains), "enumeration of all restrictions"
    return hitting_sets(alphabet, start, member, complete), "implicit hitting sets"


def by_enumeration(
    alphabet: tuple[str, ...], start: Pattern, member: bool, contains: Callable[[Word], bool]
) -> Pattern | None:
    """:func:`cheapest_pattern` from the table of all restrictions; ``None`` proves that nothing forces. Cost: ``k **
    free`` membership tests and two tables of ``(k + 1) ** free`` bytes."""
    free = [t for t, s in enumerate(start) if s is None]
    k, word, table = len(alphabet), list(start), []
    for letters in itertools.product(alphabet, repeat=len(free)):
        for t, s in zip(free, letters, strict=True):
            word[t] = s
        table.append(contains(tuple(s for s in word if s is not None)) == member)
    forced = np.array(table, dtype=np.bool_).reshape((k,) * len(free))
    forced, cost = of_restrictions(forced)
    if not forced.any():
        return None
    best = np.unravel_index(int(np.where(forced, cost, np.int8(127)).argmin()), forced.shape)
    cells = list(start)
    for t, a in zip(free, best, strict=True):
        cells[t] = alphabet[a] if a < k else None
    return tuple(cells)


def of_restrictions(holds: Bools) -> tuple[Bools, I8]:
    """All restrictions of words: which force, and how many symbols each fixes. ``holds``: the truth of every word, an
    axis for each position. Result: two arrays with one more entry on each axis, for a free position."""
    cost = np.zeros((), dtype=np.int8)
    for axis in range(holds.ndim):
        price = np.array([1] * holds.shape[axis] + [0], dtype=np.int8)
        holds = np.concatenate([holds, holds.all(axis=axis, keepdims=True)], axis=axis)
        cost = np.add.outer(cost, price)
    return holds, cost


def hitting_sets(alphabet: tuple[str, ...], start: Pattern, member: bool, complete: Completer) -> Pattern | None:
    """:func:`cheapest_pattern` by implicit hitting sets; ``None``: nothing forces. ``complete`` must be exact."""
    if complete(start, member) is None:
        return None
    free = [t for t, s in enumerate(start) if s is None]
    hitter, cost = Cheapest(free, alphabet), 0

    def propose() -> Pattern:
        nonlocal cost
        chosen = hitter.get() or {}
        cost = len(chosen)
        return tuple(chosen.get(t, s) for t, s in enumerate(start))

    def learn(cells: Pattern) -> bool:
        against = complete(cells, not member)
        if against is not None:
            hitter.add({t: against[t] for t in free})
        return against is not None

    for found in unmissed(propose, learn, MAX_ROUNDS):
        return found
    raise ResourceLimit(
        f"the forcing cost was not found within {MAX_ROUNDS} rounds; it is at least {cost} (certified bound)"
    )
