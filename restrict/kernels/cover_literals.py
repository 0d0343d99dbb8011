"""Kernels of the covering problem with cubes of one literal: greedy covering and exchange. Notation and state:
:mod:`restrict.kernels.cover_state`."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import I64, distinct, take_rows
from restrict.kernels.cover_state import (
    COUNT,
    DONE,
    HITS,
    LEAST,
    LIST,
    OPEN,
    OPEN_LIST,
    SCORE,
    STAMP,
    STEP,
    STOP,
    SUM,
    TARGET,
    WEIGHT,
    Literals,
    State,
    close_pair,
    hold,
    keep,
    open_pair,
    release,
    rival,
)
from restrict.kernels.jit import kernel, sized_kernel


def greedy_with_numpy(a: Literals, order: I64, limit: int, chosen: I64) -> int:
    """As :func:`greedy_literals`, without compilation: the gains that a literal changes are counted at once."""
    gain = np.diff(a.lit_ptr)
    captured, used = np.zeros(len(a.pair_ptr) - 1, bool), set[int]()
    waiting: list[list[int]] = [[] for _ in range(int(gain.max(initial=0)) + 1)]
    for l, first in zip(order[::-1].tolist(), gain[order[::-1]].tolist(), strict=True):
        waiting[first].append(l)
    top, size = len(waiting) - 1, 0
    while top > 0 and size < limit:
        if not waiting[top]:
            top -= 1
            continue
        l = waiting[top].pop()
        if l // a.symbols in used:
            continue
        if gain[l] < top:
            waiting[gain[l]].append(l)
            continue
        chosen[size] = l
        size += 1
        used.add(l // a.symbols)
        pairs = a.lit_pair[a.lit_ptr[l] : a.lit_ptr[l + 1]]
        new = distinct(pairs[~captured[pairs]])
        captured[new] = True
        gain -= np.bincount(a.pair_lit[take_rows(a.pair_ptr, new)], minlength=len(gain))
    return size


@sized_kernel(
    reads=lambda a, order, limit, _: (a.pair_lit.shape[0] + order.shape[0] * limit) // 50,
    plainly=greedy_with_numpy,
    makes=True,
)
def greedy_literals(a: Literals, order: I64, limit: int, chosen: I64) -> int:
    """Greedy set cover: the literal with most uncaptured pairs, ties by ``order``, until none helps or ``limit``. Gains
    only fall, so a bucket queue whose entries are moved down when they are met is exact; O(literals of the problem) in
    all. Writes the literals to ``chosen``; returns how many."""
    count = a.lit_ptr.shape[0] - 1
    gain, most = np.empty(count, np.int64), 0
    for l in range(count):
        gain[l] = a.lit_ptr[l + 1] - a.lit_ptr[l]
        most = max(most, gain[l])
    captured = np.zeros(a.pair_ptr.shape[0] - 1, np.int64)
    used = np.zeros(count // a.symbols, np.int64)
    head = np.full(most + 1, -1, np.int64)
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
        if used[l // a.symbols] == 1:
            continue
        if gain[l] < top:
            after[l], head[gain[l]] = head[gain[l]], l
            continue
        chosen[size] = l
        size += 1
        used[l // a.symbols] = 1
        for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
            p = a.lit_pair[t]
            if captured[p] == 0:
                captured[p] = 1
                for u in range(a.pair_ptr[p], a.pair_ptr[p + 1]):
                    gain[a.pair_lit[u]] -= 1
    return size


@kernel
def put(l: int, a: Literals, s: State) -> None:
    """Let ``l`` hold. Its score turns from gain to loss: the same number, the weight that only ``l`` captures."""
    hold(l, s)
    for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
        p = a.lit_pair[t]
        s.pairs[HITS, p] += 1
        s.pairs[SUM, p] += l
        if s.pairs[HITS, p] == 1:
            close_pair(p, s)
            for u in range(a.pair_ptr[p], a.pair_ptr[p + 1]):
                if a.pair_lit[u] != l:
                    s.lits[SCORE, a.pair_lit[u]] -= s.pairs[WEIGHT, p]
        elif s.pairs[HITS, p] == 2:
            s.lits[SCORE, s.pairs[SUM, p] - l] -= s.pairs[WEIGHT, p]


@kernel
def drop(l: int, a: Literals, s: State) -> None:
    """Let ``l`` hold no more; the inverse of :func:`put`."""
    release(l, s)
    for t in range(a.lit_ptr[l], a.lit_ptr[l + 1]):
        p = a.lit_pair[t]
        s.pairs[HITS, p] -= 1
        s.pairs[SUM, p] -= l
        if s.pairs[HITS, p] == 0:
            open_pair(p, s)
            for u in range(a.pair_ptr[p], a.pair_ptr[p + 1]):
                if a.pair_lit[u] != l:
                    s.lits[SCORE, a.pair_lit[u]] += s.pairs[WEIGHT, p]
        elif s.pairs[HITS, p] == 1:
            s.lits[SCORE, s.pairs[SUM, p]] += s.pairs[WEIGHT, p]


@kernel
def cheapest(start: int, sample: int, s: State) -> int:
    """The literal of least loss among ``sample`` consecutive ones of LIST, older first; not one put in this step."""
    count, best = s.state[COUNT], -1
    for t in range(min(sample, count)):
        l = s.lits[LIST, (start + t) % count]
        if s.lits[STAMP, l] >= s.state[STEP] and count > 1:
            continue
        ahead = s.lits[SCORE, l] - s.lits[SCORE, best] if best >= 0 else -1
        if ahead < 0 or (ahead == 0 and s.lits[STAMP, l] < s.lits[STAMP, best]):
            best = l
    return best if best >= 0 else s.lits[LIST, start % count]


@kernel
def exchange_literals(a: Literals, s: State, sample: int, random: I64, best: I64) -> None:
    """Row-weighting local search (Gao, Weise & Li, "An efficient local search heuristic with row weighting for the
    unicost set covering problem", EJOR 246, 2015), with one symbol per input. Keep at most TARGET literals; whenever
    all pairs are captured, remember that, lower TARGET by one and go on. A step drops the cheapest literals, puts the
    best literal of a random uncaptured pair (changing an input's symbol where that pays), and adds one to the weight of
    every pair still uncaptured. Two entries of ``random`` a step."""
    for t in range(0, random.shape[0], 2):
        while s.state[OPEN] == 0:
            keep(a.symbols, best, s)
            s.state[TARGET] = s.state[COUNT] - 1
            if s.state[COUNT] <= s.state[STOP]:
                s.state[DONE] = 1
                return
            l = cheapest(random[t], sample, s)
            drop(l, a, s)
        if s.state[TARGET] <= 0:
            s.state[DONE] = 1
            return
        while s.state[COUNT] >= s.state[TARGET]:
            l = cheapest(random[t], sample, s)
            drop(l, a, s)
            s.lits[STAMP, l] = s.state[STEP]
        p = s.pairs[OPEN_LIST, random[t + 1] % s.state[OPEN]]
        now, chosen, value = s.state[STEP], -1, 0
        for u in range(a.pair_ptr[p], a.pair_ptr[p + 1]):
            l = a.pair_lit[u]
            if s.lits[STAMP, l] >= now:
                continue
            other = rival(l, a.symbols, s)
            worth = s.lits[SCORE, l] - (s.lits[SCORE, other] if other >= 0 else 0)
            if chosen < 0 or worth > value or (worth == value and s.lits[STAMP, l] < s.lits[STAMP, chosen]):
                chosen, value = l, worth
        s.state[STEP] += 1
        if chosen >= 0:
            other = rival(chosen, a.symbols, s)
            if other >= 0:
                drop(other, a, s)
                s.lits[STAMP, other] = now
            put(chosen, a, s)
            s.lits[STAMP, chosen] = s.state[STEP]
        if s.state[OPEN] < s.state[LEAST]:
            keep(a.symbols, best, s)
        for v in range(s.state[OPEN]):
            p = s.pairs[OPEN_LIST, v]
            s.pairs[WEIGHT, p] += 1
            for u in range(a.pair_ptr[p], a.pair_ptr[p + 1]):
                s.lits[SCORE, a.pair_lit[u]] += 1
