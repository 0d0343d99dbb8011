"""Kernels of the covering problem: greedy, exchange, resampling, the packing dual and the local lemma.

Notation (:mod:`restrict.cover.problem`): literal ``l = input * symbols + symbol``; pair ``p`` has the cubes
``pair_ptr[p] .. pair_ptr[p+1]``, cube ``q`` has the literals ``cube_lit[cube_ptr[q] : cube_ptr[q+1]]`` and belongs to
``cube_pair[q]``; ``lit_cube[lit_ptr[l] : lit_ptr[l+1]]`` are the cubes that contain ``l``. In the one-literal case a
cube is its literal, so ``pair_lit`` (= ``cube_lit``) and ``lit_pair`` do without cubes.

State. ``lits`` has the rows WHERE (place in LIST, or -1 when the literal does not hold), LIST (the literals that hold),
SCORE and STAMP; ``pairs`` has HITS (satisfied cubes), SUM (of the literals that satisfy it, one-literal case: where
HITS is 1 this *is* the literal), WEIGHT, OPEN_LIST and OPEN_WHERE (the uncaptured pairs) and MARK (scratch, zero
between calls); ``state`` the scalars below. Lists lose an entry by moving the last one into its place.
"""

from __future__ import annotations

import heapq
from math import exp, log, log1p

import numpy as np

from restrict.arrays import F64, I64
from restrict.kernels.jit import kernel

WHERE, LIST, SCORE, STAMP = range(4)
LIT_ROWS = 4
HITS, SUM, WEIGHT, OPEN_LIST, OPEN_WHERE, MARK = range(6)
PAIR_ROWS = 6
COUNT, OPEN, TARGET, STOP, STEP, LEAST, DONE = range(7)
STATE_SIZE = 7

NOISE = 16
"""One exchange in so many takes a random cube: without it, cubes of several literals are undone and redone forever."""
OUTWARD = 2.0**-50
"""Relative outward step around a library logarithm (4 ulp; libm's error is below 1)."""


@kernel
def close_pair(p: int, pairs: I64, state: I64) -> None:
    """Take ``p`` off the list of uncaptured pairs."""
    state[OPEN] -= 1
    last, at = pairs[OPEN_LIST, state[OPEN]], pairs[OPEN_WHERE, p]
    pairs[OPEN_LIST, at], pairs[OPEN_WHERE, last], pairs[OPEN_WHERE, p] = last, at, -1


@kernel
def open_pair(p: int, pairs: I64, state: I64) -> None:
    """Put ``p`` on the list of uncaptured pairs."""
    pairs[OPEN_LIST, state[OPEN]], pairs[OPEN_WHERE, p] = p, state[OPEN]
    state[OPEN] += 1


@kernel
def hold(l: int, lits: I64, state: I64) -> None:
    """Put ``l`` on the list of literals that hold."""
    lits[LIST, state[COUNT]], lits[WHERE, l] = l, state[COUNT]
    state[COUNT] += 1


@kernel
def release(l: int, lits: I64, state: I64) -> None:
    """Take ``l`` off the list of literals that hold."""
    state[COUNT] -= 1
    last, at = lits[LIST, state[COUNT]], lits[WHERE, l]
    lits[LIST, at], lits[WHERE, last], lits[WHERE, l] = last, at, -1


@kernel
def rival(l: int, symbols: int, lits: I64) -> int:
    """The literal that holds at the input of ``l`` (``l`` itself if it does), or -1."""
    first = l - l % symbols
    for other in range(first, first + symbols):
        if lits[WHERE, other] >= 0:
            return other
    return -1


# --- cubes of one literal --------------------------------------------------------------------------------------------


@kernel
def greedy_literals(
    pair_ptr: I64, pair_lit: I64, lit_ptr: I64, lit_pair: I64, symbols: int, order: I64, limit: int, chosen: I64
) -> int:
    """Greedy set cover: the literal with most uncaptured pairs, ties by ``order``, until none helps or ``limit``.

    Gains only fall, so a bucket queue whose entries are moved down when they are met is exact; O(literals of the
    problem) in all. Writes the literals to ``chosen``; returns how many.
    """
    count = lit_ptr.shape[0] - 1
    gain = np.diff(lit_ptr)
    captured = np.zeros(pair_ptr.shape[0] - 1, np.int64)
    used = np.zeros(count // symbols, np.int64)
    head = np.full(np.max(gain) + 1 if count else 1, -1, np.int64)
    after = np.full(count, -1, np.int64)
    for l in order[::-1]:
        after[l], head[gain[l]] = head[gain[l]], l
    top, size = head.shape[0] - 1, 0
    while top > 0 and size < limit:
        l = head[top]
        if l < 0:
            top -= 1
            continue
        head[top] = after[l]
        if used[l // symbols] == 1:
            continue
        if gain[l] < top:
            after[l], head[gain[l]] = head[gain[l]], l
            continue
        chosen[size] = l
        size += 1
        used[l // symbols] = 1
        for t in range(lit_ptr[l], lit_ptr[l + 1]):
            p = lit_pair[t]
            if captured[p] == 0:
                captured[p] = 1
                for u in range(pair_ptr[p], pair_ptr[p + 1]):
                    gain[pair_lit[u]] -= 1
    return size


@kernel
def put(l: int, pair_ptr: I64, pair_lit: I64, lit_ptr: I64, lit_pair: I64, lits: I64, pairs: I64, state: I64) -> None:
    """Let ``l`` hold. Its score turns from gain to loss: the same number, the weight that only ``l`` captures."""
    hold(l, lits, state)
    for t in range(lit_ptr[l], lit_ptr[l + 1]):
        p = lit_pair[t]
        pairs[HITS, p] += 1
        pairs[SUM, p] += l
        if pairs[HITS, p] == 1:
            close_pair(p, pairs, state)
            for u in range(pair_ptr[p], pair_ptr[p + 1]):
                if pair_lit[u] != l:
                    lits[SCORE, pair_lit[u]] -= pairs[WEIGHT, p]
        elif pairs[HITS, p] == 2:
            lits[SCORE, pairs[SUM, p] - l] -= pairs[WEIGHT, p]


@kernel
def drop(l: int, pair_ptr: I64, pair_lit: I64, lit_ptr: I64, lit_pair: I64, lits: I64, pairs: I64, state: I64) -> None:
    """Let ``l`` hold no more; the inverse of :func:`put`."""
    release(l, lits, state)
    for t in range(lit_ptr[l], lit_ptr[l + 1]):
        p = lit_pair[t]
        pairs[HITS, p] -= 1
        pairs[SUM, p] -= l
        if pairs[HITS, p] == 0:
            open_pair(p, pairs, state)
            for u in range(pair_ptr[p], pair_ptr[p + 1]):
                if pair_lit[u] != l:
                    lits[SCORE, pair_lit[u]] += pairs[WEIGHT, p]
        elif pairs[HITS, p] == 1:
            lits[SCORE, pairs[SUM, p]] += pairs[WEIGHT, p]


@kernel
def cheapest(start: int, sample: int, lits: I64, state: I64) -> int:
    """The literal of least loss among ``sample`` consecutive ones of LIST, older first; not one put in this step."""
    count, best = state[COUNT], -1
    for t in range(min(sample, count)):
        l = lits[LIST, (start + t) % count]
        if lits[STAMP, l] >= state[STEP] and count > 1:
            continue
        ahead = lits[SCORE, l] - lits[SCORE, best] if best >= 0 else -1
        if ahead < 0 or (ahead == 0 and lits[STAMP, l] < lits[STAMP, best]):
            best = l
    return best if best >= 0 else lits[LIST, start % count]


@kernel
def keep(symbols: int, best: I64, lits: I64, state: I64) -> None:
    """Remember the present assignment as the best one."""
    best[:] = -1
    for t in range(state[COUNT]):
        l = lits[LIST, t]
        best[l // symbols] = l % symbols
    state[LEAST] = state[OPEN]


@kernel
def exchange_literals(
    pair_ptr: I64, pair_lit: I64, lit_ptr: I64, lit_pair: I64, symbols: int, sample: int, random: I64, best: I64,
    lits: I64, pairs: I64, state: I64,
) -> None:  # fmt: skip
    """Row-weighting local search (Gao, Weise & Li, "An efficient local search heuristic with row weighting for the
    unicost set covering problem", EJOR 246, 2015), with one symbol per input.

    Keep at most TARGET literals; whenever all pairs are captured, remember that, lower TARGET by one and go on. A step
    drops the cheapest literals, puts the best literal of a random uncaptured pair (changing an input's symbol where
    that pays), and adds one to the weight of every pair still uncaptured. Two entries of ``random`` a step.
    """
    for t in range(0, random.shape[0], 2):
        while state[OPEN] == 0:
            keep(symbols, best, lits, state)
            state[TARGET] = state[COUNT] - 1
            if state[COUNT] <= state[STOP]:
                state[DONE] = 1
                return
            l = cheapest(random[t], sample, lits, state)
            drop(l, pair_ptr, pair_lit, lit_ptr, lit_pair, lits, pairs, state)
        if state[TARGET] <= 0:
            state[DONE] = 1
            return
        while state[COUNT] >= state[TARGET]:
            l = cheapest(random[t], sample, lits, state)
            drop(l, pair_ptr, pair_lit, lit_ptr, lit_pair, lits, pairs, state)
            lits[STAMP, l] = state[STEP]
        p = pairs[OPEN_LIST, random[t + 1] % state[OPEN]]
        now, chosen, value = state[STEP], -1, 0
        for u in range(pair_ptr[p], pair_ptr[p + 1]):
            l = pair_lit[u]
            if lits[STAMP, l] >= now:
                continue
            other = rival(l, symbols, lits)
            worth = lits[SCORE, l] - (lits[SCORE, other] if other >= 0 else 0)
            if chosen < 0 or worth > value or (worth == value and lits[STAMP, l] < lits[STAMP, chosen]):
                chosen, value = l, worth
        state[STEP] += 1
        if chosen >= 0:
            other = rival(chosen, symbols, lits)
            if other >= 0:
                drop(other, pair_ptr, pair_lit, lit_ptr, lit_pair, lits, pairs, state)
                lits[STAMP, other] = now
            put(chosen, pair_ptr, pair_lit, lit_ptr, lit_pair, lits, pairs, state)
            lits[STAMP, chosen] = state[STEP]
        if state[OPEN] < state[LEAST]:
            keep(symbols, best, lits, state)
        for v in range(state[OPEN]):
            p = pairs[OPEN_LIST, v]
            pairs[WEIGHT, p] += 1
            for u in range(pair_ptr[p], pair_ptr[p + 1]):
                lits[SCORE, pair_lit[u]] += 1


@kernel
def believe(
    pair_ptr: I64, pair_lit: I64, symbols: int, price: float, sweeps: int, captured: I64, decided: I64,
    absent: F64, others: F64, push: F64, belief: F64,
) -> None:  # fmt: skip
    """Belief propagation under the weight ``exp(-price * number of set inputs)``, hard "every pair is captured".

    One message each way per entry (pair, literal) of ``pair_lit``: ``absent`` = P(the literal does not hold, without
    this pair), damped by one half, and ``others`` = P(another literal captures the pair). ``push[l]`` sums ``-log
    others`` over the uncaptured pairs of ``l``; ``belief[l]`` is the marginal of ``l``, 0 where it captures no more.
    """
    weight, room = np.zeros(belief.shape[0]), np.ones(decided.shape[0])
    for _ in range(sweeps):
        for j in range(decided.shape[0]):
            if decided[j] == 1:
                continue
            room[j] = 1.0
            for l in range(j * symbols, (j + 1) * symbols):
                weight[l] = exp(min(push[l] - price, 60.0)) if push[l] > 0.0 else 0.0
                room[j] += weight[l]
            for l in range(j * symbols, (j + 1) * symbols):
                belief[l] = weight[l] / room[j]
        push[:] = 0.0
        for p in range(pair_ptr.shape[0] - 1):
            if captured[p] == 1:
                continue
            total = 1.0
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                l = pair_lit[t]
                if decided[l // symbols] == 1:
                    absent[t] = 1.0
                else:
                    here = weight[l] * others[t]
                    holds = here / (here + room[l // symbols] - weight[l])
                    absent[t] = max(1e-9, 0.5 * (absent[t] + 1.0 - holds))
                total *= absent[t]
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                others[t] = max(1e-12, 1.0 - total / absent[t])
                push[pair_lit[t]] += max(1e-300, -log(others[t]))


@kernel
def decide(
    chosen: I64, lit_ptr: I64, lit_pair: I64, symbols: int, captured: I64, decided: I64, belief: F64, assignment: I64
) -> int:
    """Set the literals of ``chosen`` that still capture a pair; returns how many pairs they capture."""
    before = int(np.sum(captured))
    for l in chosen:
        j, useful = l // symbols, False
        for t in range(lit_ptr[l], lit_ptr[l + 1]):
            useful = useful or captured[lit_pair[t]] == 0
        if decided[j] == 1 or not useful:
            continue
        decided[j], assignment[j] = 1, l % symbols
        belief[j * symbols : (j + 1) * symbols] = -1.0
        for t in range(lit_ptr[l], lit_ptr[l + 1]):
            captured[lit_pair[t]] = 1
    return int(np.sum(captured)) - before


# --- cubes of any size -----------------------------------------------------------------------------------------------


@kernel
def place(l: int, lit_ptr: I64, lit_cube: I64, cube_pair: I64, missing: I64, lits: I64, pairs: I64, state: I64) -> None:
    """Let ``l`` hold; ``missing[q]`` counts the literals of cube ``q`` that do not."""
    hold(l, lits, state)
    for t in range(lit_ptr[l], lit_ptr[l + 1]):
        q = lit_cube[t]
        missing[q] -= 1
        if missing[q] == 0:
            p = cube_pair[q]
            pairs[HITS, p] += 1
            if pairs[HITS, p] == 1:
                close_pair(p, pairs, state)


@kernel
def lift(l: int, lit_ptr: I64, lit_cube: I64, cube_pair: I64, missing: I64, lits: I64, pairs: I64, state: I64) -> None:
    """Let ``l`` hold no more; the inverse of :func:`place`."""
    release(l, lits, state)
    for t in range(lit_ptr[l], lit_ptr[l + 1]):
        q = lit_cube[t]
        missing[q] += 1
        if missing[q] == 1:
            p = cube_pair[q]
            pairs[HITS, p] -= 1
            if pairs[HITS, p] == 0:
                open_pair(p, pairs, state)


@kernel
def loss(l: int, lit_ptr: I64, lit_cube: I64, cube_pair: I64, missing: I64, pairs: I64) -> int:
    """Weight of the pairs all of whose satisfied cubes contain ``l``."""
    total = 0
    for t in range(lit_ptr[l], lit_ptr[l + 1]):
        if missing[lit_cube[t]] == 0:
            p = cube_pair[lit_cube[t]]
            pairs[MARK, p] += 1
            if pairs[MARK, p] == pairs[HITS, p]:
                total += pairs[WEIGHT, p]
    for t in range(lit_ptr[l], lit_ptr[l + 1]):
        pairs[MARK, cube_pair[lit_cube[t]]] = 0
    return total


@kernel
def gain(
    q: int, cube_ptr: I64, cube_lit: I64, lit_ptr: I64, lit_cube: I64, cube_pair: I64, missing: I64, lits: I64,
    pairs: I64,
) -> int:  # fmt: skip
    """Weight of the uncaptured pairs that satisfying cube ``q`` captures (what it unsets is not subtracted)."""
    total = 0
    for v in range(cube_ptr[q], cube_ptr[q + 1]):
        l = cube_lit[v]
        if lits[WHERE, l] >= 0:
            continue
        for t in range(lit_ptr[l], lit_ptr[l + 1]):
            d = lit_cube[t]
            missing[d] -= 1
            p = cube_pair[d]
            if missing[d] == 0 and pairs[HITS, p] == 0 and pairs[MARK, p] == 0:
                pairs[MARK, p] = 1
                total += pairs[WEIGHT, p]
    for v in range(cube_ptr[q], cube_ptr[q + 1]):
        l = cube_lit[v]
        if lits[WHERE, l] >= 0:
            continue
        for t in range(lit_ptr[l], lit_ptr[l + 1]):
            missing[lit_cube[t]] += 1
            pairs[MARK, cube_pair[lit_cube[t]]] = 0
    return total


@kernel
def need(q: int, symbols: int, cube_ptr: I64, cube_lit: I64, lits: I64) -> int:
    """Inputs to set before cube ``q`` is satisfied, or -1 where one of them has another symbol."""
    count = 0
    for v in range(cube_ptr[q], cube_ptr[q + 1]):
        if lits[WHERE, cube_lit[v]] < 0:
            if rival(cube_lit[v], symbols, lits) >= 0:
                return -1
            count += 1
    return count


@kernel
def greedy_cubes(
    pair_ptr: I64, cube_ptr: I64, cube_lit: I64, lit_ptr: I64, lit_cube: I64, cube_pair: I64, symbols: int, order: I64,
    limit: int, missing: I64, lits: I64, pairs: I64, state: I64,
) -> None:  # fmt: skip
    """Satisfy the cube with most newly captured pairs per newly set input, until none is left or ``limit`` is reached.

    The gain of a cube can rise when one of its literals comes to hold, so those cubes are pushed again; a popped entry
    is re-evaluated and goes back unless it is still right. ``order`` ranks ties. Cost: one gain per push.
    """
    heap = [(0.0, 0, 0)]
    for q in range(cube_pair.shape[0]):
        size = need(q, symbols, cube_ptr, cube_lit, lits)
        heap.append(
            (-gain(q, cube_ptr, cube_lit, lit_ptr, lit_cube, cube_pair, missing, lits, pairs) / size, order[q], q)
        )
    heap[0] = heap[len(heap) - 1]
    heap.pop()
    heapq.heapify(heap)
    while len(heap) > 0 and state[OPEN] > 0:
        key, rank, q = heapq.heappop(heap)
        if pairs[HITS, cube_pair[q]] > 0:
            continue
        size = need(q, symbols, cube_ptr, cube_lit, lits)
        if size < 0 or state[COUNT] + size > limit:
            continue
        value = -gain(q, cube_ptr, cube_lit, lit_ptr, lit_cube, cube_pair, missing, lits, pairs) / size
        if value > key:
            heapq.heappush(heap, (value, rank, q))
            continue
        for v in range(cube_ptr[q], cube_ptr[q + 1]):
            l = cube_lit[v]
            if lits[WHERE, l] >= 0:
                continue
            place(l, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
            for t in range(lit_ptr[l], lit_ptr[l + 1]):
                d = lit_cube[t]
                if pairs[HITS, cube_pair[d]] == 0 and need(d, symbols, cube_ptr, cube_lit, lits) > 0:
                    heapq.heappush(heap, (-1e18, order[d], d))


@kernel
def cheapest_lift(
    start: int, sample: int, lit_ptr: I64, lit_cube: I64, cube_pair: I64, missing: I64, lits: I64, pairs: I64,
    state: I64,
) -> int:  # fmt: skip
    """:func:`cheapest` with the loss computed on the spot."""
    count, best, value = state[COUNT], -1, 0
    for t in range(min(sample, count)):
        l = lits[LIST, (start + t) % count]
        if lits[STAMP, l] >= state[STEP]:
            continue
        cost = loss(l, lit_ptr, lit_cube, cube_pair, missing, pairs)
        if best < 0 or cost < value or (cost == value and lits[STAMP, l] < lits[STAMP, best]):
            best, value = l, cost
    return best if best >= 0 else lits[LIST, start % count]


@kernel
def satisfy(
    q: int, symbols: int, cube_ptr: I64, cube_lit: I64, lit_ptr: I64, lit_cube: I64, cube_pair: I64, missing: I64,
    lits: I64, pairs: I64, state: I64,
) -> None:  # fmt: skip
    """Set the inputs of cube ``q`` to its symbols, whatever they were."""
    for v in range(cube_ptr[q], cube_ptr[q + 1]):
        l = cube_lit[v]
        other = rival(l, symbols, lits)
        if other != l:
            if other >= 0:
                lift(other, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
                lits[STAMP, other] = state[STEP]
            place(l, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
        lits[STAMP, l] = state[STEP] + 1


@kernel
def best_cube(
    p: int, symbols: int, pair_ptr: I64, cube_ptr: I64, cube_lit: I64, lit_ptr: I64, lit_cube: I64, cube_pair: I64,
    missing: I64, lits: I64, pairs: I64, state: I64,
) -> int:  # fmt: skip
    """The cube of ``p`` with the largest (gain - loss of what it unsets) per input to set; not one just undone."""
    chosen, value = -1, 0.0
    for q in range(pair_ptr[p], pair_ptr[p + 1]):
        worth, size, undone = 0, 0, 0
        for v in range(cube_ptr[q], cube_ptr[q + 1]):
            l = cube_lit[v]
            other = rival(l, symbols, lits)
            if other != l:
                size += 1
                undone = max(undone, 1 if lits[STAMP, l] >= state[STEP] else 0)
                if other >= 0:
                    worth -= loss(other, lit_ptr, lit_cube, cube_pair, missing, pairs)
        if undone == 1 and size == cube_ptr[q + 1] - cube_ptr[q]:
            continue
        worth += gain(q, cube_ptr, cube_lit, lit_ptr, lit_cube, cube_pair, missing, lits, pairs)
        rate = worth / size if worth >= 0 else float(worth)
        if chosen < 0 or rate > value:
            chosen, value = q, rate
    return chosen


@kernel
def exchange_cubes(
    pair_ptr: I64, cube_ptr: I64, cube_lit: I64, lit_ptr: I64, lit_cube: I64, cube_pair: I64, symbols: int, sample: int,
    random: I64, best: I64, missing: I64, lits: I64, pairs: I64, state: I64,
) -> None:  # fmt: skip
    """:func:`exchange_literals` for cubes of any size: gains and losses on the spot, one step in NOISE at random."""
    for t in range(0, random.shape[0], 2):
        while state[OPEN] == 0:
            keep(symbols, best, lits, state)
            state[TARGET] = state[COUNT] - 1
            if state[COUNT] <= state[STOP]:
                state[DONE] = 1
                return
            l = cheapest_lift(random[t], sample, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
            lift(l, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
        if state[TARGET] <= 0:
            state[DONE] = 1
            return
        p = pairs[OPEN_LIST, random[t + 1] % state[OPEN]]
        q = best_cube(
            p, symbols, pair_ptr, cube_ptr, cube_lit, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state
        )
        if q < 0 or (random[t] >> 40) % NOISE == 0:
            q = pair_ptr[p] + (random[t + 1] >> 20) % (pair_ptr[p + 1] - pair_ptr[p])
        if q >= 0:
            satisfy(q, symbols, cube_ptr, cube_lit, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
        state[STEP] += 1
        while state[COUNT] > state[TARGET]:
            l = cheapest_lift(random[t], sample, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
            lift(l, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
            lits[STAMP, l] = state[STEP]
        if state[OPEN] < state[LEAST]:
            keep(symbols, best, lits, state)
        for v in range(state[OPEN]):
            pairs[WEIGHT, pairs[OPEN_LIST, v]] += 1


@kernel
def prune(
    order: I64, lit_ptr: I64, lit_cube: I64, cube_pair: I64, missing: I64, lits: I64, pairs: I64, state: I64
) -> None:
    """Unset, in the given order of literals, whatever no pair needs: what stays is minimal under deletion."""
    for l in order:
        if lits[WHERE, l] >= 0 and loss(l, lit_ptr, lit_cube, cube_pair, missing, pairs) == 0:
            lift(l, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)


@kernel
def resample(
    scope_ptr: I64, scope: I64, symbols: int, outcomes: I64, cap: int, counts: I64, lit_ptr: I64, lit_cube: I64,
    cube_pair: I64, missing: I64, lits: I64, pairs: I64, state: I64,
) -> int:  # fmt: skip
    """Moser-Tardos: while a pair is uncaptured, redraw the inputs of one such pair from ``outcomes`` (-1: free).

    ``counts[p]`` counts the redraws of ``p``, ``state[STEP]`` all of them; stops at ``cap`` or when ``outcomes`` does
    not hold enough for the next redraw. Returns how many outcomes were used.
    """
    used = 0
    while state[OPEN] > 0 and state[STEP] < cap:
        p = pairs[OPEN_LIST, 0]
        if used + scope_ptr[p + 1] - scope_ptr[p] > outcomes.shape[0]:
            break
        state[STEP] += 1
        counts[p] += 1
        for v in range(scope_ptr[p], scope_ptr[p + 1]):
            first = scope[v] * symbols
            old, new = rival(first, symbols, lits), outcomes[used]
            used += 1
            if old >= 0 and old != first + new:
                lift(old, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
            if new >= 0 and old != first + new:
                place(first + new, lit_ptr, lit_cube, cube_pair, missing, lits, pairs, state)
    return used


# --- bounds and the local lemma --------------------------------------------------------------------------------------


@kernel
def dual_steps(pair_ptr: I64, pair_lit: I64, share: F64, steps: int, x: F64, y: F64, y_sum: F64) -> None:
    """Primal-dual steps (Chambolle & Pock 2011, with the diagonal steps of Pock & Chambolle, ICCV 2011) for the LP
    ``min sum x, sum_l share[p, l] x_l >= 1, 0 <= x <= 1``; ``y`` are the pairs' multipliers, ``y_sum`` their sum over
    the steps. Pairs without entries are left alone.
    """
    row, column = np.zeros(y.shape[0]), np.zeros(x.shape[0])
    price, ahead = np.zeros(x.shape[0]), x.copy()
    for p in range(y.shape[0]):
        for t in range(pair_ptr[p], pair_ptr[p + 1]):
            row[p] += share[t]
            column[pair_lit[t]] += share[t]
            price[pair_lit[t]] += share[t] * y[p]
    for _ in range(steps):
        for l in range(x.shape[0]):
            if column[l] > 0.0:
                new = min(1.0, max(0.0, x[l] - (1.0 - price[l]) / column[l]))
                ahead[l], x[l] = 2.0 * new - x[l], new
        price[:] = 0.0
        for p in range(y.shape[0]):
            reach = 0.0
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                reach += share[t] * ahead[pair_lit[t]]
            if row[p] > 0.0:
                y[p] = max(0.0, y[p] + (1.0 - reach) / row[p])
                y_sum[p] += y[p]
            for t in range(pair_ptr[p], pair_ptr[p + 1]):
                price[pair_lit[t]] += share[t] * y[p]


@kernel
def failure_logs(
    pair_ptr: I64, cube_ptr: I64, cube_lit: I64, symbols: int, q: float, inputs: int, log_p: F64, exact: I64
) -> None:
    """``log_p[p]``: an upper bound on log P(no cube of p is satisfied), inputs independent, each symbol q / symbols.

    One-literal cubes of one input exclude each other; larger cubes are taken, in order, while they share no input with
    those taken before, so the factors are independent. ``exact[p] = 1`` when every cube was taken. Rounded outwards.
    """
    each = np.nextafter(q / symbols, 0.0)
    count = np.zeros(inputs, np.int64)
    for p in range(log_p.shape[0]):
        total, whole = 0.0, 1
        for c in range(pair_ptr[p], pair_ptr[p + 1]):
            if cube_ptr[c + 1] - cube_ptr[c] == 1:
                count[cube_lit[cube_ptr[c]] // symbols] += 1
        for c in range(pair_ptr[p], pair_ptr[p + 1]):
            size, hit, fresh = cube_ptr[c + 1] - cube_ptr[c], each, True
            if size == 1:
                j = cube_lit[cube_ptr[c]] // symbols
                hit, fresh = np.nextafter(count[j] * each, 0.0), count[j] > 0
                count[j] = -1
            else:
                for t in range(cube_ptr[c], cube_ptr[c + 1]):
                    fresh = fresh and count[cube_lit[t] // symbols] == 0
                for _ in range(size - 1):
                    hit = np.nextafter(hit * each, 0.0)
                if fresh:
                    for t in range(cube_ptr[c], cube_ptr[c + 1]):
                        count[cube_lit[t] // symbols] = -1
                else:
                    whole = 0
            if fresh:
                total = np.nextafter(total + log1p(-hit) * (1.0 - OUTWARD), np.inf)
        for t in range(cube_ptr[pair_ptr[p]], cube_ptr[pair_ptr[p + 1]]):
            count[cube_lit[t] // symbols] = 0
        log_p[p], exact[p] = min(0.0, total), whole


@kernel
def neighbour_sums(
    scope_ptr: I64, scope: I64, input_ptr: I64, input_pair: I64, cost: F64, sums: F64, degree: I64
) -> None:
    """``sums[p]`` = cost of all pairs but ``p`` that share an input with ``p``, rounded up; ``degree[p]``: how many."""
    seen = np.full(sums.shape[0], -1, np.int64)
    for p in range(sums.shape[0]):
        total, count = 0.0, 0
        seen[p] = p
        for v in range(scope_ptr[p], scope_ptr[p + 1]):
            for t in range(input_ptr[scope[v]], input_ptr[scope[v] + 1]):
                other = input_pair[t]
                if seen[other] != p:
                    seen[other] = p
                    count += 1
                    total = np.nextafter(total + cost[other], np.inf)
        sums[p], degree[p] = total, count
