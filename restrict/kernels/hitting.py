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


class Boxes(NamedTuple):
    """A family of boxes, flat; see the module."""

    ptr: I64
    place: I64
    allowed: I64


class Stack(NamedTuple):
    """Where a run is. By position: the symbols that are ``possible``, whether it is ``chosen``, its last ``mark``, and,
    where it is a way of the box that is branched on, which one (``slot``).
    By node above, from the root: the entries ``way[d, :ways[d]]`` of the box that it branches on, of which ``at[d]``
    are done; the symbols ``before[d]`` that were possible at each of them; whether the last of them chose its position
    (``fresh``); where its first word stands (``word``); the boxes ``left[d, :lefts[d]]`` that are not met there, of the
    first ``known[d]``. By box: ``width`` are its ways at this node, and whether it was ``used``. ``queue``, ``taken``
    and ``tally`` are for one node alone. ``words``: the tree, where these are wanted."""

    now: I64
    possible: I64
    chosen: I64
    mark: I64
    slot: I64
    ways: I64
    at: I64
    fresh: I64
    word: I64
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
    chosen. ``small``: write words. There has to be room for them: ``min(many, most + 1) + 1`` a node. Cost: for each
    node, the entries of the boxes that are not met."""
    now = stack.now
    last = now[NODES] + nodes
    while now[NODES] < last and now[DEPTH] < stack.at.shape[0]:
        room = most - now[CHOSEN]
        unmet = _unmet(boxes, many, room, stack)
        if unmet == 0:
            return OPEN
        now[NODES] += 1
        depth = now[DEPTH]
        size = 0
        stack.taken[0] = stack.queue[0]
        if stack.width[stack.queue[0]] == 0:
            size = 1
        elif unmet > room:
            size = _apart(boxes, unmet, room + 1, stack)
        for t in range(size):
            stack.used[stack.taken[t]] = 1
        if small:
            stack.word[depth] = now[WORDS]
            stack.words[now[WORDS]] = size
            for t in range(max(size, 1)):
                stack.words[now[WORDS] + 1 + t] = stack.taken[t] if size else stack.queue[0]
            now[WORDS] += 1 + max(size, 1)
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
    """So many boxes without a way in common, nor one that is chosen, in ``taken``; or 0."""
    ptr, place, allowed = boxes
    possible, chosen, mark, taken = stack.possible, stack.chosen, stack.mark, stack.taken
    stack.now[STAMP] += 1
    stamp, found = stack.now[STAMP], 0
    for t in range(unmet):
        box, free = stack.queue[t], True
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
    return 0


@kernel
def _split(boxes: Boxes, box: int, room: int, small: bool, stack: Stack) -> None:
    """Branch on a box: by position where the tree is written, as the kernel reads it; else at the positions that are
    chosen first, and of these or of the others at those first that meet most."""
    ptr, place, allowed = boxes
    depth, ways = stack.now[DEPTH], 0
    for turn in range(1 if small else 2):
        for e in range(ptr[box], ptr[box + 1]):
            p = place[e]
            wanted = small or (stack.chosen[p] == 1) == (turn == 0)
            if wanted and (room or stack.chosen[p]) and stack.possible[p] & ~allowed[e]:
                stack.way[depth, ways], stack.before[depth, ways] = e, stack.possible[p]
                ways += 1
    if not small:
        _sort(boxes, ways, stack)
    stack.used[box] = 1
    stack.ways[depth], stack.at[depth] = ways, 0
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
            elif possible[p] == 0:
                stack.ways[top] = t
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
        if small:
            stack.words[stack.word[top]] = -stack.ways[top]
        now[DEPTH] = top
    return False
