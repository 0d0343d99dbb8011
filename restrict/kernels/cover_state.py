"""The state of the covering kernels: which literals hold, which pairs are captured.

Notation (:mod:`restrict.cover.problem`): literal ``l = input * symbols + symbol``; pair ``p`` has the cubes
``pair_ptr[p] .. pair_ptr[p+1]``, cube ``q`` has the literals ``cube_lit[cube_ptr[q] : cube_ptr[q+1]]`` and belongs to
``cube_pair[q]``; ``lit_cube[lit_ptr[l] : lit_ptr[l+1]]`` are the cubes that contain ``l``. In the one-literal case a
cube is its literal, so ``pair_lit`` (= ``cube_lit``) and ``lit_pair`` need no cubes.

State. ``lits`` has the rows WHERE (place in LIST, or -1 when the literal does not hold), LIST (the literals that hold),
SCORE and STAMP; ``pairs`` has HITS (satisfied cubes), SUM (of the literals that satisfy it, one-literal case: where
HITS is 1 this *is* the literal), WEIGHT, OPEN_LIST and OPEN_WHERE (the uncaptured pairs) and MARK (scratch, zero
between calls); ``missing[q]`` counts the literals of cube ``q`` that do not hold; ``state`` the scalars below. Lists
lose an entry by moving the last one into its place.
"""

from __future__ import annotations

from typing import NamedTuple

from restrict.base.arrays import I64
from restrict.kernels.jit import kernel

WHERE, LIST, SCORE, STAMP = range(4)
LIT_ROWS = 4
HITS, SUM, WEIGHT, OPEN_LIST, OPEN_WHERE, MARK = range(6)
PAIR_ROWS = 6
COUNT, OPEN, TARGET, STOP, STEP, LEAST, DONE = range(7)
STATE_SIZE = 7


class Literals(NamedTuple):
    """A problem whose cubes are single literals."""

    symbols: int
    pair_ptr: I64
    pair_lit: I64
    lit_ptr: I64
    lit_pair: I64


class Cubes(NamedTuple):
    """A problem with cubes of any size."""

    symbols: int
    pair_ptr: I64
    cube_ptr: I64
    cube_lit: I64
    cube_pair: I64
    lit_ptr: I64
    lit_cube: I64


class State(NamedTuple):
    """What changes: see the module."""

    missing: I64
    lits: I64
    pairs: I64
    state: I64


@kernel
def close_pair(p: int, s: State) -> None:
    """Take ``p`` off the list of uncaptured pairs."""
    s.state[OPEN] -= 1
    last, at = s.pairs[OPEN_LIST, s.state[OPEN]], s.pairs[OPEN_WHERE, p]
    s.pairs[OPEN_LIST, at], s.pairs[OPEN_WHERE, last], s.pairs[OPEN_WHERE, p] = last, at, -1


@kernel
def open_pair(p: int, s: State) -> None:
    """Put ``p`` on the list of uncaptured pairs."""
    s.pairs[OPEN_LIST, s.state[OPEN]], s.pairs[OPEN_WHERE, p] = p, s.state[OPEN]
    s.state[OPEN] += 1


@kernel
def hold(l: int, s: State) -> None:
    """Put ``l`` on the list of literals that hold."""
    s.lits[LIST, s.state[COUNT]], s.lits[WHERE, l] = l, s.state[COUNT]
    s.state[COUNT] += 1


@kernel
def release(l: int, s: State) -> None:
    """Take ``l`` off the list of literals that hold."""
    s.state[COUNT] -= 1
    last, at = s.lits[LIST, s.state[COUNT]], s.lits[WHERE, l]
    s.lits[LIST, at], s.lits[WHERE, last], s.lits[WHERE, l] = last, at, -1


@kernel
def rival(l: int, symbols: int, s: State) -> int:
    """The literal that holds at the input of ``l`` (``l`` itself if it does), or -1."""
    first = l - l % symbols
    for other in range(first, first + symbols):
        if s.lits[WHERE, other] >= 0:
            return other
    return -1


@kernel
def keep(symbols: int, best: I64, s: State) -> None:
    """Remember the present assignment as the best one."""
    best[:] = -1
    for t in range(s.state[COUNT]):
        l = s.lits[LIST, t]
        best[l // symbols] = l % symbols
    s.state[LEAST] = s.state[OPEN]
