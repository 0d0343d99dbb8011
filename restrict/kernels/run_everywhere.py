"""Kernels of the bulk abstract run: sets of free positions as runs, and the sweep over all positions of a head whose
score does not mention the query's position.

A **set table** is (ptr, runs): set ``t`` is ``runs[ptr[t] : ptr[t+1]]``, half-open intervals ``[start, stop)`` of ranks
among the free positions, sorted, disjoint and not adjacent. Set 0 is empty.

The sweep keeps, for the prefix seen so far, its candidates by **level** (score): the union of their values and of the
sets that they depend on. A level below the floor can never come back, since the floor only rises; so a level is only
added to, or dropped, and the work over all positions is that of inserting each pair once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.kernels.jit import inline_kernel, kernel
from restrict.kernels.machine import HALF

# Fields of a sweep's state.
AT, HAVE, FLOOR_S, LEVELS, TOTAL, CHANGED, LAST_S, LAST_EQUAL, LAST_SET, LAST_VALUES, SETS, RUNS = range(12)
STATE_SIZE = 12
DONE, NO_LEVELS, NO_RUNS, NO_ROOM = 0, 1, 2, 3
"""Why a sweep returned: the block ended, or there is no more room for levels, runs in a level, or the answer."""


@kernel
def merge_runs(a: I64, a0: int, a1: int, b: I64, b0: int, b1: int, out: I64, out0: int) -> int:
    """``out[out0:...]`` = the union of the sets ``a[a0:a1]`` and ``b[b0:b1]``; returns its end. ``out`` is neither."""
    end = out0
    while a0 < a1 or b0 < b1:
        if b0 >= b1 or (a0 < a1 and a[a0, 0] <= b[b0, 0]):
            start, stop = a[a0, 0], a[a0, 1]
            a0 += 1
        else:
            start, stop = b[b0, 0], b[b0, 1]
            b0 += 1
        if end > out0 and start <= out[end - 1, 1]:
            out[end - 1, 1] = max(out[end - 1, 1], stop)
        else:
            out[end, 0], out[end, 1] = start, stop
            end += 1
    return end


@kernel
def merge_tables(a_ptr: I64, a: I64, a_ids: I64, b_ptr: I64, b: I64, b_ids: I64, ptr: I64, out: I64, first: int) -> int:
    """Sets ``first ..`` of a new table: the unions of ``a_ids[t]`` and ``b_ids[t]``. Returns where room ran out."""
    for t in range(first, a_ids.shape[0]):
        x, y = a_ids[t], b_ids[t]
        if ptr[t] + (a_ptr[x + 1] - a_ptr[x]) + (b_ptr[y + 1] - b_ptr[y]) > out.shape[0]:
            return t
        ptr[t + 1] = merge_runs(a, a_ptr[x], a_ptr[x + 1], b, b_ptr[y], b_ptr[y + 1], out, ptr[t])
    return len(a_ids)


@kernel
def add_to_level(level: I64, count: int, runs: I64, first: int, stop: int, room: I64) -> int:
    """Unite a level's runs ``level[:count]`` with ``runs[first:stop]``, for which there is room: the new count."""
    if count == 0 or first == stop or runs[first, 0] >= level[count - 1, 0]:
        for r in range(first, stop):  # the usual case: further to the right
            if count > 0 and runs[r, 0] <= level[count - 1, 1]:
                level[count - 1, 1] = max(level[count - 1, 1], runs[r, 1])
            else:
                level[count, 0], level[count, 1] = runs[r, 0], runs[r, 1]
                count += 1
        return count
    end = merge_runs(level, 0, count, runs, first, stop, room, 0)
    for r in range(end):
        level[r, 0], level[r, 1] = room[r, 0], room[r, 1]
    return end


@kernel
def find_level(order: I64, score: I64, levels: int, s: np.int64) -> int:
    """The first place in ``order`` (levels by ascending score) whose score is at least ``s``."""
    low, high = 0, levels
    while low < high:
        middle = (low + high) // 2
        if score[order[middle]] < s:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def reverse(order: I64, first: int, stop: int) -> None:
    """Reverse ``order[first:stop]`` in place."""
    for t in range((stop - first) // 2):
        a, b = first + t, stop - 1 - t
        order[a], order[b] = order[b], order[a]


@kernel
def forget_below(order: I64, score: I64, count: I64, levels: int, s: np.int64, too: bool) -> tuple[int, int]:
    """Forget the levels below ``s``, and ``s`` with ``too``; their slots become spare. Returns how many levels are
    left, and the runs lost. ``s + 1`` is not computed: it might not fit 64 bits."""
    gone = find_level(order, score, levels, s)
    if too and gone < levels and score[order[gone]] == s:
        gone += 1
    lost = 0
    for t in range(gone):
        lost += count[order[t]]
    if gone:  # rotate the used part of the permutation
        reverse(order, 0, gone)
        reverse(order, gone, levels)
        reverse(order, 0, levels)
    return levels - gone, lost


class Candidates(NamedTuple):
    """What the positions offer, by position: the possible key values as bits, the values given as bits, the set that
    each depends on (of the table (ptr, runs)); ``floor`` the floor of each position, ``equal`` whether candidates that
    tie with it count; ``flags`` (inclusive, ties right, values are keys, first position to answer)."""

    keys: I64
    gives: I64
    ids: I64
    ptr: I64
    runs: I64
    floor: I64
    equal: I64
    flags: I64


class Levels(NamedTuple):
    """The candidates of the prefix by level: ``state`` the scalars, ``order`` the slots by ascending score, spare ones
    last; by slot ``score``, ``sizes`` (of runs), ``values``; ``runs`` (slots, capacity, 2); ``room`` to work in."""

    state: I64
    order: I64
    score: I64
    sizes: I64
    values: I64
    runs: I64
    room: I64


class Answers(NamedTuple):
    """Values as bits and the set of each position; the sets are a growing table (ptr, runs)."""

    values: I64
    ids: I64
    ptr: I64
    runs: I64


@kernel
def crowded(
    size: int, key: int, p: int, scores: I64, levels: int, order: I64, score: I64, sizes: I64, most: int
) -> bool:
    """Whether a level of row ``p`` of the scores would have over ``most`` runs, ``size`` more a key value."""
    more = size * scores.shape[1]
    for w in range(scores.shape[1]):
        if (key >> w) & 1:
            place = find_level(order, score, levels, scores[p, w])
            there = place < levels and score[order[place]] == scores[p, w]
            if (sizes[order[place]] if there else 0) + more > most:
                return True
    return False


@kernel
def outdated(floor: int, equal: int, state: I64) -> bool:
    """Whether the last answer is not that for this floor, or candidates have changed since."""
    return bool(state[CHANGED] != 0 or floor != state[LAST_S] or equal != state[LAST_EQUAL])


@kernel
def sweep(first: int, scores: I64, c: Candidates, v: Levels, out: Answers) -> int:
    """Sweep over positions ``first ..`` in order: what the candidates before (or up to) each position give. ``scores[p,
    w]`` is the score of position ``first + p`` and key value ``w``. Goes on from ``state[AT]`` and says why it
    returned; nothing of a position is done before there is room for all of it."""
    # Arrays are named once, and few are passed to other kernels within the loop: each time a reference is counted.
    keys, gives, ids, ptr, runs, floors, equals, flags = c
    state, order, score, sizes, values, level_runs, room = v
    out_values, out_ids, out_ptr, out_runs = out
    inclusive, right, copies, answers = flags[0], flags[1], flags[2], flags[3]
    width, longest = scores.shape[1], level_runs.shape[1]
    for p in range(state[AT] - first, scores.shape[0]):
        i = state[AT] = first + p
        key, a, b = keys[i], ptr[ids[i]], ptr[ids[i] + 1]
        most = state[TOTAL] + (b - a) * width
        if state[LEVELS] + width > level_runs.shape[0]:
            return NO_LEVELS
        if most > room.shape[1] or state[RUNS] + most > out_runs.shape[0]:
            return NO_ROOM
        # No level has more runs than all of them together.
        if most > longest and crowded(b - a, key, p, scores, state[LEVELS], order, score, sizes, longest):
            return NO_RUNS
        if inclusive == 0 and i >= answers and outdated(floors[i], equals[i], state):
            answer(floors[i], equals[i], state, order, score, sizes, values, level_runs, room, out_ptr, out_runs)
        worst = np.int64(HALF)
        for w in range(width):
            if (key >> w) & 1:
                worst = min(worst, scores[p, w])
        # Whether it is the floor now: with ties to the right an equal one counts as higher, and earlier ones lose.
        is_floor = state[HAVE] == 0 or worst > state[FLOOR_S] or (right == 1 and worst == state[FLOOR_S])
        if is_floor:
            levels, lost = forget_below(order, score, sizes, state[LEVELS], worst, right == 1)
            state[CHANGED] |= levels != state[LEVELS]
            state[LEVELS], state[TOTAL], state[HAVE], state[FLOOR_S] = levels, state[TOTAL] - lost, 1, worst
        for w in range(width):
            s = scores[p, w]
            # At the floor's own score a later position counts only if the tie rule prefers it, or it is the floor.
            if (key >> w) & 1 == 0 or s < state[FLOOR_S] or (s == state[FLOOR_S] and not is_floor and right == 0):
                continue
            place = find_level(order, score, state[LEVELS], s)
            if place == state[LEVELS] or score[order[place]] != s:
                slot = order[state[LEVELS]]
                for t in range(state[LEVELS], place, -1):
                    order[t] = order[t - 1]
                order[place], score[slot], sizes[slot], values[slot] = slot, s, 0, 0
                state[LEVELS] += 1
            slot = order[place]
            before, given = sizes[slot], values[slot] | ((1 << w) if copies else gives[i])
            if given != values[slot] or a < b:
                state[CHANGED] = 1
            values[slot], sizes[slot] = given, add_to_level(level_runs[slot], before, runs, a, b, room[0])
            state[TOTAL] += sizes[slot] - before
        if inclusive == 1 and i >= answers and outdated(floors[i], equals[i], state):
            answer(floors[i], equals[i], state, order, score, sizes, values, level_runs, room, out_ptr, out_runs)
        if i >= answers:
            out_values[i], out_ids[i] = state[LAST_VALUES], state[LAST_SET]
    state[AT] = first + scores.shape[0]
    return DONE


@kernel
def answer(
    floor: int,
    equal: int,
    state: I64,
    order: I64,
    score: I64,
    sizes: I64,
    values: I64,
    level_runs: I64,
    room: I64,
    out_ptr: I64,
    out_runs: I64,
) -> None:
    """Unite the levels above ``floor`` (and at it, with ``equal``) into ``state[LAST_SET]`` and ``[LAST_VALUES]``."""
    state[CHANGED], state[LAST_S], state[LAST_EQUAL] = 0, floor, equal
    bits, end, side = 0, 0, 0
    for t in range(state[LEVELS] - 1, -1, -1):
        slot = order[t]
        if score[slot] < floor or (score[slot] == floor and equal == 0):
            break
        bits |= values[slot]
        if sizes[slot]:
            end = merge_runs(room[side], 0, end, level_runs[slot], 0, sizes[slot], room[1 - side], 0)
            side = 1 - side
    state[LAST_VALUES], state[LAST_SET] = bits, number_of(room[side], end, state, out_ptr, out_runs)


@inline_kernel
def number_of(found: I64, end: int, state: I64, out_ptr: I64, out_runs: I64) -> int:
    """The number of the set ``found[:end]`` in the table of answers, added where it is not the set added last."""
    if end == 0:
        return 0
    last = state[SETS] - 1  # the answer often comes back to it
    same = out_ptr[last + 1] - out_ptr[last] == end
    for r in range(end):
        if not same:
            break
        at = out_ptr[last] + r
        same = out_runs[at, 0] == found[r, 0] and out_runs[at, 1] == found[r, 1]
    if same:
        return int(last)
    for r in range(end):
        at = state[RUNS] + r
        out_runs[at, 0], out_runs[at, 1] = found[r, 0], found[r, 1]
    state[RUNS] += end
    state[SETS] += 1
    out_ptr[state[SETS]] = state[RUNS]
    return int(state[SETS] - 1)
