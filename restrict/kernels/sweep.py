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

from restrict.arrays import I64
from restrict.kernels.jit import inline_kernel, kernel
from restrict.kernels.machine import HALF

# Fields of a sweep's state.
AT, HAVE, FLOOR_S, LEVELS, TOTAL, CHANGED, LAST_S, LAST_EQUAL, LAST_SET, LAST_VALUES, SETS, RUNS = range(12)
STATE_SIZE = 12
DONE, NO_LEVELS, NO_RUNS, NO_ROOM = 0, 1, 2, 3
"""Why a sweep returned: at the end of its block, or for want of levels, runs in a level, or room for the answer."""


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
def set_sizes(ptr: I64, runs: I64, out: I64) -> None:
    """``out[t]`` = the number of elements of set ``t``."""
    for t in range(out.shape[0]):
        total = 0
        for r in range(ptr[t], ptr[t + 1]):
            total += runs[r, 1] - runs[r, 0]
        out[t] = total


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
    level[:end] = room[:end]
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
def forget_below(order: I64, score: I64, count: I64, levels: int, s: np.int64) -> tuple[int, int]:
    """Forget the levels below ``s``; their slots become spare. Returns how many levels are left, and the runs lost."""
    gone = find_level(order, score, levels, s)
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
    last; ``score``, ``sizes`` (numbers of runs) and ``values`` by slot; ``runs`` (slots, capacity, 2); ``room`` to work
    in."""

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


@inline_kernel
def room_for(i: int, scores: I64, c: Candidates, v: Levels, out: Answers) -> int:
    """DONE where there is room for all that position ``i`` may add, else what is wanted."""
    size, width = c.ptr[c.ids[i] + 1] - c.ptr[c.ids[i]], scores.shape[0]
    slots, capacity = v.runs.shape[0], v.runs.shape[1]
    if v.state[LEVELS] + width > slots:
        return NO_LEVELS
    most = v.state[TOTAL] + size * width
    if most > v.room.shape[1] or v.state[RUNS] + most > out.runs.shape[0]:
        return NO_ROOM
    score, count = v.score, v.sizes
    for w in range(width):
        if (c.keys[i] >> w) & 1:
            place = find_level(v.order, score, v.state[LEVELS], scores[w])
            if place < v.state[LEVELS] and score[v.order[place]] == scores[w]:
                if count[v.order[place]] + width * size > capacity:
                    return NO_RUNS
            elif width * size > capacity:
                return NO_RUNS
    return DONE


@inline_kernel
def lift_floor(i: int, scores: I64, c: Candidates, v: Levels) -> bool:
    """Raise the floor to the worst score of position ``i`` where that is higher, and forget the levels below.

    With ties to the right an equal one counts as higher. Returns whether the position is the floor now.
    """
    worst, state = HALF, v.state
    for w in range(scores.shape[0]):
        if (c.keys[i] >> w) & 1:
            worst = min(worst, scores[w])
    right = c.flags[1]
    if not (state[HAVE] == 0 or worst > state[FLOOR_S] or (right == 1 and worst == state[FLOOR_S])):
        return False
    score, count = v.score, v.sizes
    levels, lost = forget_below(v.order, score, count, state[LEVELS], worst)
    if right == 1 and levels > 0 and score[v.order[0]] == worst:  # earlier ties lose
        levels, more = forget_below(v.order, score, count, levels, worst + 1)
        lost += more
    if levels != state[LEVELS]:
        state[CHANGED] = 1
    state[LEVELS] = levels
    state[TOTAL] -= lost
    state[HAVE], state[FLOOR_S] = 1, worst
    return True


@inline_kernel
def add_pair(i: int, w: int, s: np.int64, c: Candidates, v: Levels) -> None:
    """Add the pair of position ``i`` and key value ``w`` to the level of its score, a new one where there is none."""
    score, count, values, state, order = v.score, v.sizes, v.values, v.state, v.order
    first, stop = c.ptr[c.ids[i]], c.ptr[c.ids[i] + 1]
    place = find_level(order, score, state[LEVELS], s)
    if place == state[LEVELS] or score[order[place]] != s:
        slot = order[state[LEVELS]]
        for t in range(state[LEVELS], place, -1):
            order[t] = order[t - 1]
        order[place] = slot
        state[LEVELS] += 1
        score[slot], count[slot], values[slot] = s, 0, 0
    slot = order[place]
    before = count[slot]
    more = values[slot] | ((1 << w) if c.flags[2] else c.gives[i])
    if more != values[slot] or first < stop:
        state[CHANGED] = 1
    values[slot] = more
    count[slot] = add_to_level(v.runs[slot], before, c.runs, first, stop, v.room[0])
    state[TOTAL] += count[slot] - before


@kernel
def sweep(first: int, scores: I64, c: Candidates, v: Levels, out: Answers) -> int:
    """Sweep over positions ``first ..`` in order: what the candidates before (or up to) each position give.

    ``scores[p, w]`` is the score of position ``first + p`` and key value ``w``. Goes on from ``state[AT]`` and says why
    it returned; nothing of a position is done before there is room for all of it.
    """
    state = v.state
    while state[AT] < first + scores.shape[0]:
        i = state[AT]
        row = scores[i - first]
        why = room_for(i, row, c, v, out)
        if why != DONE:
            return why
        if c.flags[0] == 0 and i >= c.flags[3]:
            answer(i, c, v, out)
        is_floor = lift_floor(i, row, c, v)
        for w in range(scores.shape[1]):
            # At the floor's own score a later position counts only if the tie rule prefers it, or it is the floor.
            above = row[w] > state[FLOOR_S] or (row[w] == state[FLOOR_S] and (is_floor or c.flags[1] == 1))
            if (c.keys[i] >> w) & 1 and above:
                add_pair(i, w, row[w], c, v)
        if c.flags[0] == 1 and i >= c.flags[3]:
            answer(i, c, v, out)
        state[AT] += 1
    return DONE


@kernel
def answer(i: int, c: Candidates, v: Levels, out: Answers) -> None:
    """Write what the levels above the floor of position ``i`` (and at it, where equal ones count) give."""
    state, floor, equal = v.state, c.floor[i], c.equal[i]
    if not (state[CHANGED] == 0 and floor == state[LAST_S] and equal == state[LAST_EQUAL]):
        score, count, values = v.score, v.sizes, v.values
        state[CHANGED], state[LAST_S], state[LAST_EQUAL] = 0, floor, equal
        bits, end, side = 0, 0, 0
        for t in range(state[LEVELS] - 1, -1, -1):
            slot = v.order[t]
            if score[slot] < floor or (score[slot] == floor and equal == 0):
                break
            bits |= values[slot]
            if count[slot]:
                end = merge_runs(v.room[side], 0, end, v.runs[slot], 0, count[slot], v.room[1 - side], 0)
                side = 1 - side
        state[LAST_VALUES], state[LAST_SET] = bits, number_of(v.room[side], end, state, out)
    out.values[i], out.ids[i] = state[LAST_VALUES], state[LAST_SET]


@kernel
def number_of(found: I64, end: int, state: I64, out: Answers) -> int:
    """The number of the set ``found[:end]`` in the table of answers, added where it is not the set added last."""
    if end == 0:
        return 0
    last = state[SETS] - 1  # the answer often comes back to it
    same = out.ptr[last + 1] - out.ptr[last] == end
    for r in range(end):
        if not same:
            break
        at = out.ptr[last] + r
        same = out.runs[at, 0] == found[r, 0] and out.runs[at, 1] == found[r, 1]
    if same:
        return int(last)
    out.runs[state[RUNS] : state[RUNS] + end] = found[:end]
    state[RUNS] += end
    state[SETS] += 1
    out.ptr[state[SETS]] = state[RUNS]
    return int(state[SETS] - 1)
