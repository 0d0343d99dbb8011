"""Kernels of the tree that decides whether few positions conflict with every box of a family.

Notation: :mod:`restrict.certificate.hitting_tree`. Positions are numbered from 0, symbols are bits. Box ``b`` has the
entries ``ptr[b] .. ptr[b + 1] - 1``: positions ``place`` with their allowed symbols ``allowed``.

The tree is gone through in depth, and where a run is stands in arrays (:class:`Stack`), so that it can be left at a
node that is open, and taken up again with more boxes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.kernels.jit import kernel, sized_kernel

CLOSED, OPEN, PAUSED = 0, 1, 2
"""What a run ends with: every node is closed; the node that is next is open; as many nodes as were allowed,
or the stack is full."""
DEPTH, CHOSEN, NODES, STAMP, WORDS = range(5)
"""Places in ``now``: nodes above the next one, positions chosen, nodes visited, the last mark, and words written."""
STARTS = 30
"""How many choices of disjoint boxes are tried where the one before was a single box short."""
FEW = 40
"""Ways that meet one in so many boxes, or fewer, are written by position, which takes fewer words."""


class Boxes(NamedTuple):
    """A family of boxes, flat; see the module."""

    ptr: I64
    place: I64
    allowed: I64


class Stack(NamedTuple):
    """Where a run is. By position: the symbols that are ``possible``, whether it is ``chosen``, its last ``mark``, and,
    where it is a way of the box that is branched on, which one (``slot``). By node above, from the root: the entries
    ``way[d, :ways[d]]`` of the box that it branches on, of which ``at[d]`` are done; the symbols ``before[d]`` that
    were possible at each of them; whether the last of them chose its position (``fresh``); that box (``split``), and
    how many of the ways are written as cases, before those that the kernel takes by position (``cases``); the boxes
    ``left[d, :lefts[d]]`` that are not met there, of the first ``known[d]``. By box: ``width`` are its ways at this
    node, and whether it was ``used``. ``queue``, ``taken`` and ``tally`` are for one node alone. ``words``: the tree,
    where these are wanted."""

    now: I64
    possible: I64
    chosen: I64
    mark: I64
    slot: I64
    ways: I64
    at: I64
    fresh: I64
    split: I64
    cases: I64
    known: I64
    lefts: I64
    way: I64
    before: I64
    left: I64
    width: I64
    used: I64
    queue: I64
    taken: I64
    tally: I64
    words: I64


@sized_kernel(reads=lambda boxes, many, most, small, stack, nodes: sum(map(np.size, (*boxes, *stack[:-1]))))
def descend(boxes: Boxes, many: int, most: int, small: bool, stack: Stack, nodes: int) -> int:
    """Go on with a run over the first ``many`` boxes, for so many nodes at most. ``most``: positions that may be
    chosen. ``small``: write words. There has to be room for them: ``min(many, most + 1) + 6`` a node, and two for each
    above. Cost: for each node, the entries of the boxes that are not met."""
    now = stack.now
    last = now[NODES] + nodes
    while now[NODES] < last and now[DEPTH] < stack.at.shape[0]:
        room = most - now[CHOSEN]
        unmet = _unmet(boxes, many, room, stack)
        if unmet == 0:
            return OPEN
        now[NODES] += 1
        size = 0
        stack.taken[0] = stack.queue[0]
        if stack.width[stack.queue[0]] == 0:
            size = 1
        elif unmet > room:
            size = _apart(boxes, unmet, room + 1, stack)
        for t in range(size):
            stack.used[stack.taken[t]] = 1
        if small and size:
            stack.words[now[WORDS]] = size
            for t in range(size):
                stack.words[now[WORDS] + 1 + t] = stack.taken[t]
            now[WORDS] += 1 + size
        if size == 0:
            _split(boxes, stack.queue[0], room, small, stack)
        if not _next(boxes, small, stack):
            return CLOSED
    return PAUSED


@kernel
def _unmet(boxes: Boxes, many: int, room: int, stack: Stack) -> int:
    """How many boxes are not met at the node; they are in the queue, those with the fewest ways first."""
    ptr, place, allowed = boxes
    possible, chosen, width, left, tally, depth = (
        stack.possible, stack.chosen, stack.width, stack.left, stack.tally, stack.now[DEPTH],
    )  # fmt: skip
    inherited, older = (stack.lefts[depth - 1], stack.known[depth - 1]) if depth else (0, 0)
    unmet, longest = 0, 0
    for t in range(inherited + many - older):
        box = left[depth - 1, t] if t < inherited else older + t - inherited
        found, met = 0, False
        for e in range(ptr[box], ptr[box + 1]):
            p = place[e]
            if (room or chosen[p]) and possible[p] & ~allowed[e]:
                found += 1
            if chosen[p] and not possible[p] & allowed[e]:
                met = True
                break
        if not met:
            left[depth, unmet], width[box] = box, found
            unmet, longest = unmet + 1, max(longest, found)
    stack.lefts[depth], stack.known[depth] = unmet, many
    tally[: longest + 2] = 0
    for t in range(unmet):
        tally[width[left[depth, t]] + 1] += 1
    for t in range(longest + 1):
        tally[t + 1] += tally[t]
    for t in range(unmet):
        box = left[depth, t]
        stack.queue[tally[width[box]]] = box
        tally[width[box]] += 1
    return unmet


@kernel
def _apart(boxes: Boxes, unmet: int, wanted: int, stack: Stack) -> int:
    """So many boxes without a way in common, nor one that is chosen, in ``taken``; or 0. They are chosen greedily, in
    the order of the queue; where one is missing, again with a later box first."""
    for first in range(min(unmet, STARTS)):
        found = _apart_from(boxes, unmet, first, wanted, stack)
        if found == wanted:
            return found
        if found + 1 < wanted:
            return 0
    return 0


@kernel
def _apart_from(boxes: Boxes, unmet: int, first: int, wanted: int, stack: Stack) -> int:
    """How many boxes without a way in common, nor one that is chosen, are in ``taken``: those of the queue that fit,
    with this one first; no more than wanted."""
    ptr, place, allowed = boxes
    possible, chosen, mark, taken = stack.possible, stack.chosen, stack.mark, stack.taken
    stack.now[STAMP] += 1
    stamp, found = stack.now[STAMP], 0
    for t in range(-1, unmet):
        box, free = stack.queue[first if t < 0 else t], True
        for e in range(ptr[box], ptr[box + 1]):
            p = place[e]
            if possible[p] & ~allowed[e] and (chosen[p] or mark[p] == stamp):
                free = False
                break
        if free:
            taken[found] = box
            found += 1
            if found == wanted:
                return found
            for e in range(ptr[box], ptr[box + 1]):
                if possible[place[e]] & ~allowed[e]:
                    mark[place[e]] = stamp
    return found


@kernel
def _split(boxes: Boxes, box: int, room: int, small: bool, stack: Stack) -> None:
    """Branch on a box: at the positions that are chosen first, and of these or of the others at those first that meet
    most. Where the tree is written, all that meet few boxes come last, by position."""
    ptr, place, allowed = boxes
    depth, ways = stack.now[DEPTH], 0
    for turn in range(2):
        for e in range(ptr[box], ptr[box + 1]):
            p = place[e]
            wanted = (stack.chosen[p] == 1) == (turn == 0)
            if wanted and (room or stack.chosen[p]) and stack.possible[p] & ~allowed[e]:
                stack.way[depth, ways], stack.before[depth, ways] = e, stack.possible[p]
                ways += 1
    _sort(boxes, ways, stack)
    stack.used[box] = 1
    stack.split[depth], stack.ways[depth], stack.at[depth] = box, ways, 0
    stack.cases[depth] = _cases(boxes, ways, stack) if small else 0
    stack.now[DEPTH] += 1


@kernel
def _sort(boxes: Boxes, ways: int, stack: Stack) -> None:
    """Sort the ways of the branch by how many of the node's boxes they meet, most first: each of the others is gone
    through without those before it, where what is left has little in common, so more boxes are apart."""
    ptr, place, allowed = boxes
    depth, meets = stack.now[DEPTH], stack.tally
    way, before = stack.way[depth], stack.before[depth]
    stack.now[STAMP] += 1
    for t in range(ways):
        stack.mark[place[way[t]]], stack.slot[place[way[t]]], meets[t] = stack.now[STAMP], t, 0
    for t in range(stack.lefts[depth]):
        for e in range(ptr[stack.left[depth, t]], ptr[stack.left[depth, t] + 1]):
            p = place[e]
            if stack.mark[p] == stack.now[STAMP]:
                s = stack.slot[p]
                if not before[s] & ~allowed[way[s]] & allowed[e]:
                    meets[s] += 1
    for t in range(1, ways):
        many, e, old, s = meets[t], way[t], before[t], t
        while s > 0 and meets[s - 1] < many and stack.chosen[place[way[s - 1]]] == stack.chosen[place[e]]:
            meets[s], way[s], before[s] = meets[s - 1], way[s - 1], before[s - 1]
            s -= 1
        meets[s], way[s], before[s] = many, e, old


@kernel
def _cases(boxes: Boxes, ways: int, stack: Stack) -> int:
    """How many of the sorted ways come before those that meet few boxes, which are now sorted by position."""
    depth = stack.now[DEPTH]
    way, before, meets = stack.way[depth], stack.before[depth], stack.tally
    first = 0
    while first < ways and (FEW * meets[first] > stack.lefts[depth] or stack.chosen[boxes.place[way[first]]]):
        first += 1
    for t in range(first + 1, ways):
        e, old, s = way[t], before[t], t
        while s > first and way[s - 1] > e:
            way[s], before[s] = way[s - 1], before[s - 1]
            s -= 1
        way[s], before[s] = e, old
    while 0 < first < ways and way[first - 1] < way[first]:
        first -= 1
    return first


@kernel
def _next(boxes: Boxes, small: bool, stack: Stack) -> bool:
    """Go to the next node: a child of the deepest node that has one left. False: there is none."""
    now, possible, way, before = stack.now, stack.possible, stack.way, stack.before
    while now[DEPTH] > 0:
        top = now[DEPTH] - 1
        t = stack.at[top]
        if t > 0:  # there is no conflict at the way that is done
            e = way[top, t - 1]
            p = boxes.place[e]
            possible[p] = before[top, t - 1] & boxes.allowed[e]
            if stack.fresh[top]:
                stack.chosen[p] = stack.fresh[top] = 0
                now[CHOSEN] -= 1
        if small and t <= stack.cases[top]:
            _write(boxes, t, stack)
        if t < stack.ways[top]:
            e = way[top, t]
            p = boxes.place[e]
            possible[p] = before[top, t] & ~boxes.allowed[e]
            if not stack.chosen[p]:
                stack.chosen[p] = stack.fresh[top] = 1
                now[CHOSEN] += 1
            stack.at[top] = t + 1
            return True
        for t in range(stack.ways[top]):
            possible[boxes.place[way[top, t]]] = before[top, t]
        now[DEPTH] = top
    return False


@kernel
def _write(boxes: Boxes, t: int, stack: Stack) -> None:
    """The words before way ``t`` of the deepest branch: a case; or all that follow the cases, where none is left an
    end, since the box has no way then."""
    now, words, top = stack.now, stack.words, stack.now[DEPTH] - 1
    box, left = stack.split[top], stack.ways[top] - stack.cases[top]
    if t < stack.cases[top]:
        words[now[WORDS]], words[now[WORDS] + 1] = 0, box
        words[now[WORDS] + 2] = stack.way[top, t] - boxes.ptr[box]
        now[WORDS] += 3
    else:
        words[now[WORDS]], words[now[WORDS] + 1] = -left if left else 1, box
        now[WORDS] += 2
