"""Kernels of the bulk abstract run: sets of free positions as runs, and the sweep over all positions of a head whose
score does not mention the query's position.

A **set table** is (ptr, runs): set ``t`` is ``runs[ptr[t] : ptr[t+1]]``, half-open intervals ``[start, stop)`` of ranks
among the free positions, sorted, disjoint and not adjacent. Set 0 is empty.

The sweep keeps, for the prefix seen so far, its candidates by **level** (score): the union of their values and of the
sets that they depend on. A level below the floor can never come back, since the floor only rises; so a level is only
added to, or dropped, and the work over all positions is that of inserting each pair once.
"""

from __future__ import annotations

import numpy as np

from restrict.arrays import I64
from restrict.kernels.jit import kernel
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


@kernel
def sweep(
    first: int,
    scores: I64,
    keys: I64,
    gives: I64,
    ids: I64,
    ptr: I64,
    runs: I64,
    floor: I64,
    equal: I64,
    flags: I64,
    state: I64,
    order: I64,
    level: I64,
    level_runs: I64,
    room: I64,
    out_values: I64,
    out_ids: I64,
    out_ptr: I64,
    out_runs: I64,
) -> int:
    """Sweep over positions ``first ..`` in order: what the candidates before (or up to) each position give.

    ``scores[p, w]`` is the score of position ``first + p`` and key value ``w``, possible where bit ``w`` of
    ``keys`` is set. A candidate gives the values ``gives`` (or, with ``flags[2]``, its own key value) and depends on
    the set ``ids`` of the table (ptr, runs). Position ``i`` is answered for the floor ``floor[i]``; candidates that
    tie with it count where ``equal[i]``. ``flags`` is (inclusive, ties right, values are keys, first position to
    answer).

    ``level`` holds (score, runs, values) by slot, ``level_runs`` (slots, capacity, 2) the runs, ``order`` the slots
    by ascending score, spare ones last. Answers go to ``out_values`` and ``out_ids``, sets of a growing table. Goes
    on from ``state[AT]`` and says why it returned; nothing of a position is done before there is room for all of it.
    """
    inclusive, right, copies = flags[0], flags[1], flags[2]
    score, count, values = level[0], level[1], level[2]
    slots, capacity = level_runs.shape[0], level_runs.shape[1]
    while state[AT] < first + scores.shape[0]:
        i = state[AT]
        a, b = ptr[ids[i]], ptr[ids[i] + 1]
        if state[LEVELS] + scores.shape[1] > slots:
            return NO_LEVELS
        if state[TOTAL] + (b - a) * scores.shape[1] > room.shape[1] or (
            state[RUNS] + state[TOTAL] + (b - a) * scores.shape[1] > out_runs.shape[0]
        ):
            return NO_ROOM
        for w in range(scores.shape[1]):
            if (keys[i] >> w) & 1:
                place = find_level(order, score, state[LEVELS], scores[i - first, w])
                if place < state[LEVELS] and score[order[place]] == scores[i - first, w]:
                    if count[order[place]] + scores.shape[1] * (b - a) > capacity:
                        return NO_RUNS
                elif scores.shape[1] * (b - a) > capacity:
                    return NO_RUNS
        if inclusive == 0 and i >= flags[3]:
            answer(i, floor[i], equal[i], state, order, level, level_runs, room, out_ptr, out_runs)
            out_values[i], out_ids[i] = state[LAST_VALUES], state[LAST_SET]
        worst = HALF
        for w in range(scores.shape[1]):
            if (keys[i] >> w) & 1:
                worst = min(worst, scores[i - first, w])
        rises = state[HAVE] == 0 or worst > state[FLOOR_S]
        if rises or (right == 1 and worst == state[FLOOR_S]):
            levels, lost = forget_below(order, score, count, state[LEVELS], worst)
            if right == 1 and levels > 0 and score[order[0]] == worst:  # earlier ties lose
                levels, more = forget_below(order, score, count, levels, worst + 1)
                lost += more
            if levels != state[LEVELS]:
                state[CHANGED] = 1
            state[LEVELS] = levels
            state[TOTAL] -= lost
            state[HAVE], state[FLOOR_S] = 1, worst
            rises = True
        for w in range(scores.shape[1]):
            s = scores[i - first, w]
            # At the floor's own score a later position counts only if the tie rule prefers it, or it is the floor.
            if (keys[i] >> w) & 1 and (s > state[FLOOR_S] or (s == state[FLOOR_S] and (rises or right == 1))):
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
                more_values = values[slot] | ((1 << w) if copies else gives[i])
                if more_values != values[slot] or a < b:
                    state[CHANGED] = 1
                values[slot] = more_values
                count[slot] = add_to_level(level_runs[slot], before, runs, a, b, room[0])
                state[TOTAL] += count[slot] - before
        if inclusive == 1 and i >= flags[3]:
            answer(i, floor[i], equal[i], state, order, level, level_runs, room, out_ptr, out_runs)
            out_values[i], out_ids[i] = state[LAST_VALUES], state[LAST_SET]
        state[AT] += 1
    return DONE


@kernel
def answer(
    i: int,
    floor: int,
    equal: int,
    state: I64,
    order: I64,
    level: I64,
    level_runs: I64,
    room: I64,
    out_ptr: I64,
    out_runs: I64,
) -> None:
    """Unite the levels above ``floor`` (and at it, with ``equal``) into ``state[LAST_SET]`` and ``[LAST_VALUES]``."""
    if state[CHANGED] == 0 and floor == state[LAST_S] and equal == state[LAST_EQUAL]:
        return
    score, count, values = level[0], level[1], level[2]
    state[CHANGED], state[LAST_S], state[LAST_EQUAL] = 0, floor, equal
    bits, end, side = 0, 0, 0
    for t in range(state[LEVELS] - 1, -1, -1):
        slot = order[t]
        if score[slot] < floor or (score[slot] == floor and equal == 0):
            break
        bits |= values[slot]
        if count[slot]:
            end = merge_runs(room[side], 0, end, level_runs[slot], 0, count[slot], room[1 - side], 0)
            side = 1 - side
    state[LAST_VALUES] = bits
    found = room[side]
    if end == 0:
        state[LAST_SET] = 0
        return
    last = state[SETS] - 1  # the set added last: the answer often comes back to it
    same = out_ptr[last + 1] - out_ptr[last] == end
    for r in range(end):
        if not same:
            break
        at = out_ptr[last] + r
        same = out_runs[at, 0] == found[r, 0] and out_runs[at, 1] == found[r, 1]
    if not same:
        last = state[SETS]
        out_runs[state[RUNS] : state[RUNS] + end] = found[:end]
        state[RUNS] += end
        state[SETS] += 1
        out_ptr[state[SETS]] = state[RUNS]
    state[LAST_SET] = last
