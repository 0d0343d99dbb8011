"""Kernels of the exchange search on sums of list lengths (:mod:`restrict.depth_reduction.balance`).

Rows are lists of literals ``l = input * symbols + symbol``, best first: ``row_lit[row_ptr[r] : row_ptr[r+1]]``, with
at most one literal on which a row depends (its *guard*: the row counts while the guard's input is free or fixed to it).
Under an assignment a literal is OPEN (its input is free), HIT or DEAD. A row is cut at its first HIT; its length is the
number of open literals before the cut. Row ``r`` belongs to group ``row_group[r]``; the objective is the sum over
groups of ``phi[sum of the lengths of the group's rows that count]``.

State: ``lits`` (count,) OPEN, HIT or DEAD; ``rows`` with the rows CUT, LENGTH and DEADBY (1 where the guard failed);
``total`` (groups,); ``held`` the inputs that are fixed, ``where`` their places in it or -1; ``state`` the scalars, of
which REACH is at least every CUT: occurrences are listed by rank, so a scan of them can end there.
"""

from __future__ import annotations

import heapq

import numpy as np

from restrict.arrays import F64, I32, I64
from restrict.kernels.jit import kernel

OPEN, HIT, DEAD = range(3)
CUT, LENGTH, SILENT = range(3)
COUNT, STEP, REACH = range(3)


@kernel
def occurrences(row_ptr: I64, row_lit: I32, occ_ptr: I64, occ_row: I32, occ_rank: I32) -> None:
    """The rows and ranks at which each literal stands, by rank; ``occ_ptr`` (literals + 1) is given."""
    at, longest = occ_ptr[:-1].copy(), 0
    for r in range(row_ptr.shape[0] - 1):
        longest = max(longest, row_ptr[r + 1] - row_ptr[r])
    for rank in range(longest):
        for r in range(row_ptr.shape[0] - 1):
            if row_ptr[r] + rank < row_ptr[r + 1]:
                l = row_lit[row_ptr[r] + rank]
                occ_row[at[l]], occ_rank[at[l]] = r, rank
                at[l] += 1


@kernel
def walk(r: int, row_ptr: I64, row_lit: I32, lits: I64, rows: I64) -> None:
    """Recompute CUT and LENGTH of a row."""
    size, first = 0, row_ptr[r]
    t = first
    while t < row_ptr[r + 1]:
        kind = lits[row_lit[t]]
        if kind == HIT:
            break
        if kind == OPEN:
            size += 1
        t += 1
    rows[CUT, r], rows[LENGTH, r] = t - first, size


@kernel
def begin(
    row_ptr: I64, row_lit: I32, row_group: I64, row_guard: I64, lits: I64, rows: I64, total: I64, state: I64
) -> None:
    """All of the state from ``lits``."""
    total[:], state[REACH] = 0, 0
    for r in range(row_group.shape[0]):
        walk(r, row_ptr, row_lit, lits, rows)
        state[REACH] = max(state[REACH], rows[CUT, r])
        rows[SILENT, r] = 1 if row_guard[r] >= 0 and lits[row_guard[r]] == DEAD else 0
        if rows[SILENT, r] == 0:
            total[row_group[r]] += rows[LENGTH, r]


@kernel
def put_gain(
    l: int, symbols: int, row_ptr: I64, row_lit: I32, row_group: I64, occ_ptr: I64, occ_row: I32, occ_rank: I32,
    guard_ptr: I64, guard_row: I64, lits: I64, rows: I64, total: I64, phi: F64, state: I64,
) -> float:  # fmt: skip
    """About how much the objective falls when the free input of ``l`` is fixed to it (rows taken one by one)."""
    value = 0.0
    first = l - l % symbols
    for other in range(first, first + symbols):
        for t in range(occ_ptr[other], occ_ptr[other + 1]):
            r = occ_row[t]
            if occ_rank[t] >= state[REACH]:
                break
            if occ_rank[t] >= rows[CUT, r] or rows[SILENT, r] == 1:
                continue
            saved = 1
            if other == l:
                size, start = 0, row_ptr[r]
                for v in range(start, start + occ_rank[t]):
                    if lits[row_lit[v]] == OPEN:
                        size += 1
                saved = rows[LENGTH, r] - size
            now = total[row_group[r]]
            value += phi[now] - phi[now - saved]
        if other != l:
            for t in range(guard_ptr[other], guard_ptr[other + 1]):
                r = guard_row[t]
                now = total[row_group[r]]
                value += phi[now] - phi[now - rows[LENGTH, r]]
    return value


@kernel
def drop_loss(
    l: int, symbols: int, row_ptr: I64, row_lit: I32, row_group: I64, occ_ptr: I64, occ_row: I32, occ_rank: I32,
    guard_ptr: I64, guard_row: I64, lits: I64, rows: I64, total: I64, phi: F64, state: I64,
    ceiling: float,
) -> float:  # fmt: skip
    """About how much the objective rises when the input fixed to ``l`` is freed; stops above ``ceiling``."""
    value = 0.0
    first = l - l % symbols
    for other in range(first, first + symbols):
        for t in range(occ_ptr[other], occ_ptr[other + 1]):
            r = occ_row[t]
            if occ_rank[t] > state[REACH]:
                break
            if occ_rank[t] > rows[CUT, r] or rows[SILENT, r] == 1:
                continue
            more = 1
            if other == l:
                v = row_ptr[r] + occ_rank[t] + 1
                while v < row_ptr[r + 1] and lits[row_lit[v]] != HIT:
                    if lits[row_lit[v]] == OPEN:
                        more += 1
                    v += 1
            now = total[row_group[r]]
            value += phi[now + more] - phi[now]
        if other != l:
            for t in range(guard_ptr[other], guard_ptr[other + 1]):
                r = guard_row[t]
                now = total[row_group[r]]
                value += phi[now + rows[LENGTH, r]] - phi[now]
        if value > ceiling:
            return value
    return value


@kernel
def change(
    l: int, put: int, symbols: int, row_ptr: I64, row_lit: I32, row_group: I64, occ_ptr: I64, occ_row: I32,
    occ_rank: I32, guard_ptr: I64, guard_row: I64, lits: I64, rows: I64, total: I64, phi: F64, state: I64,
) -> float:  # fmt: skip
    """Fix the free input of ``l`` to it (``put`` = 1) or free it (0); returns the exact rise of the objective."""
    value = 0.0
    first = l - l % symbols
    for other in range(first, first + symbols):
        lits[other] = OPEN if put == 0 else (HIT if other == l else DEAD)
    for other in range(first, first + symbols):
        for t in range(occ_ptr[other], occ_ptr[other + 1]):
            r = occ_row[t]
            if occ_rank[t] > state[REACH]:
                break
            if occ_rank[t] > rows[CUT, r]:
                continue
            old = rows[LENGTH, r]
            walk(r, row_ptr, row_lit, lits, rows)
            state[REACH] = max(state[REACH], rows[CUT, r])
            new, g = rows[LENGTH, r], row_group[r]
            if rows[SILENT, r] == 0 and new != old:
                value += phi[total[g] + new - old] - phi[total[g]]
                total[g] += new - old
        if other != l:
            for t in range(guard_ptr[other], guard_ptr[other + 1]):
                r = guard_row[t]
                g, size = row_group[r], rows[LENGTH, r]
                rows[SILENT, r] = put
                step = -size if put == 1 else size
                value += phi[total[g] + step] - phi[total[g]]
                total[g] += step
    return value


@kernel
def exchange(
    symbols: int, row_ptr: I64, row_lit: I32, row_group: I64, group_ptr: I64, group_row: I64, occ_ptr: I64,
    occ_row: I32, occ_rank: I32, guard_ptr: I64, guard_row: I64, row_guard: I64, phi: F64, budget: int, random: I64,
    try_put: int, try_drop: int, tabu: int, lits: I64, rows: I64, total: I64, held: I64, where: I64, stamp: I64,
    state: I64, best: I64, values: F64,
) -> None:  # fmt: skip
    """Steps of the search: shorten a long group by the best of a sample of literals, free the cheapest of a sample.

    ``values`` is (objective, best objective); ``best`` (count,) the inputs' symbols there, -1 = free. ``random`` holds
    ``2 + try_put`` numbers a step.
    """
    groups, width = total.shape[0], 2 + try_put
    pool = np.empty(4096, np.int64)
    state[REACH] = np.max(rows[CUT]) if rows.shape[1] > 0 else 0
    for step in range(random.shape[0] // width):
        base = step * width
        state[STEP] += 1
        g = random[base] % groups
        if random[base] & 3 == 0:
            g = np.argmax(total)
        else:
            for t in range(1, 12):
                other = (random[base + 1] >> (t * 4)) % groups
                if total[other] > total[g]:
                    g = other
        size = 0
        for v in range(group_ptr[g], group_ptr[g + 1]):
            r = group_row[v]
            if rows[SILENT, r] == 1:
                continue
            for t in range(row_ptr[r], row_ptr[r] + rows[CUT, r]):
                if lits[row_lit[t]] == OPEN and size < pool.shape[0]:
                    pool[size] = row_lit[t]
                    size += 1
            if row_guard[r] >= 0 and lits[row_guard[r]] == OPEN and size < pool.shape[0]:
                pool[size] = row_guard[r]
                size += 1
        chosen, gain = -1, -1.0
        for t in range(min(try_put, size)):
            pick = t + random[base + 2 + t] % (size - t)
            pool[t], pool[pick] = pool[pick], pool[t]
            l = pool[t]
            if stamp[l // symbols] + tabu > state[STEP]:
                continue
            worth = put_gain(
                l, symbols, row_ptr, row_lit, row_group, occ_ptr, occ_row, occ_rank, guard_ptr, guard_row, lits, rows,
                total, phi, state,
            )  # fmt: skip
            if worth > gain:
                chosen, gain = l, worth
        if chosen >= 0:
            values[0] += change(
                chosen, 1, symbols, row_ptr, row_lit, row_group, occ_ptr, occ_row, occ_rank, guard_ptr, guard_row, lits,
                rows, total, phi, state,
            )  # fmt: skip
            where[chosen // symbols], held[state[COUNT]] = state[COUNT], chosen
            state[COUNT] += 1
            stamp[chosen // symbols] = state[STEP]
        while state[COUNT] > budget:
            cheapest, cost = -1, 0.0
            start = (random[base] >> 8) % state[COUNT]
            for t in range(min(try_drop, state[COUNT])):
                l = held[(start + t) % state[COUNT]]
                if l == chosen and state[COUNT] > 1:
                    continue
                if stamp[l // symbols] + tabu > state[STEP] and state[COUNT] > 2 * tabu:
                    continue
                loss = drop_loss(
                    l, symbols, row_ptr, row_lit, row_group, occ_ptr, occ_row, occ_rank, guard_ptr, guard_row, lits,
                    rows, total, phi, state, cost if cheapest >= 0 else 1e300,
                )  # fmt: skip
                if cheapest < 0 or loss < cost:
                    cheapest, cost = l, loss
            if cheapest < 0:
                cheapest = held[start]
            values[0] += change(
                cheapest, 0, symbols, row_ptr, row_lit, row_group, occ_ptr, occ_row, occ_rank, guard_ptr, guard_row,
                lits, rows, total, phi, state,
            )  # fmt: skip
            state[COUNT] -= 1
            last, at = held[state[COUNT]], where[cheapest // symbols]
            held[at], where[last // symbols], where[cheapest // symbols] = last, at, -1
            stamp[cheapest // symbols] = state[STEP]
        if values[0] < values[1] * (1.0 - 1e-12):
            values[1] = values[0]
            best[:] = -1
            for t in range(state[COUNT]):
                best[held[t] // symbols] = held[t] % symbols


# --- keys that take several inputs to force --------------------------------------------------------------------------


@kernel
def cube_cost(cube: I32, size: int, symbols: int, assignment: I64) -> int:
    """Inputs of the cube that are not set yet, or -1 where one is set to another symbol."""
    cost = 0
    for t in range(size):
        known = assignment[cube[t] // symbols]
        if known < 0:
            cost += 1
        elif known != cube[t] % symbols:
            return -1
    return cost


@kernel
def pair_gain(
    l: int, domain: int, row_ptr: I64, row_lit: I32, row_group: I64, occ_ptr: I64, occ_row: I32, occ_rank: I32,
    guard_ptr: I64, guard_row: I64, weight: I64, cut: I64, size: I64, total: F64, power: float,
) -> float:  # fmt: skip
    """How much ``sum total^power`` falls when the variable has the value of ``l = position * domain + value``.

    As a key it cuts the rows below it; as a query it silences the rows of the position's other values.
    """
    value = 0.0
    first = l - l % domain
    silent, group = 0, -1
    for other in range(first, first + domain):
        for t in range(guard_ptr[other], guard_ptr[other + 1]):
            if other != l:
                silent += size[guard_row[t]]
                group = row_group[guard_row[t]]
    if silent > 0:
        value += total[group] ** power - max(0.0, total[group] - silent) ** power
    for other in range(first, first + domain):
        for t in range(occ_ptr[other], occ_ptr[other + 1]):
            r = occ_row[t]
            if occ_rank[t] >= cut[r]:
                continue
            saved = weight[first // domain]
            if other == l:
                saved = 0
                for v in range(row_ptr[r] + occ_rank[t], row_ptr[r] + cut[r]):
                    saved += weight[row_lit[v] // domain]
            now = total[row_group[r]]
            value += now**power - max(0.0, now - saved) ** power
    return value


@kernel
def cover_pairs(
    symbols: int, domain: int, row_ptr: I64, row_lit: I32, row_group: I64, occ_ptr: I64, occ_row: I32, occ_rank: I32,
    guard_ptr: I64, guard_row: I64, cubes: I32, length: I64, weight: I64, power: float, budget: int,
    assignment: I64,
) -> int:  # fmt: skip
    """Force keys, most gain per newly set input first, until ``budget`` inputs are set; returns how many were.

    ``row_lit`` are pairs (position, key value) that are not constant, ``cubes`` (pairs, size), ``length`` their forcing
    cubes, ``weight`` (positions,) what a candidate costs. Gains fall as rows are cut, so a heap with re-evaluation is
    exact but for the costs, which fall as inputs are set.
    """
    rows, pairs = row_group.shape[0], length.shape[0]
    cut, size = np.diff(row_ptr), np.zeros(rows, np.int64)
    total = np.zeros(int(row_group.max()) + 1 if rows else 1, np.float64)
    for r in range(rows):
        for v in range(row_ptr[r], row_ptr[r + 1]):
            size[r] += weight[row_lit[v] // domain]
        total[row_group[r]] += size[r]
    heap = [(0.0, 0)]
    for l in range(pairs):
        if length[l] > 0 and (occ_ptr[l + 1] > occ_ptr[l] or guard_ptr[l + 1] > guard_ptr[l]):
            cost = cube_cost(cubes[l], length[l], symbols, assignment)
            if cost >= 0:
                gain = pair_gain(
                    l, domain, row_ptr, row_lit, row_group, occ_ptr, occ_row, occ_rank, guard_ptr, guard_row,
                    weight, cut, size, total, power,
                )  # fmt: skip
                heap.append((-gain / max(cost, 0.25), l))
    heap[0] = heap[len(heap) - 1]
    heap.pop()
    heapq.heapify(heap)
    spent = 0
    while len(heap) > 0 and spent < budget:
        key, l = heapq.heappop(heap)
        cost = cube_cost(cubes[l], length[l], symbols, assignment)
        if key >= 0.0 or cost < 0 or spent + cost > budget:
            continue
        gain = pair_gain(
            l, domain, row_ptr, row_lit, row_group, occ_ptr, occ_row, occ_rank, guard_ptr, guard_row, weight,
            cut, size, total, power,
        )  # fmt: skip
        now = -gain / max(cost, 0.25)
        if now > key * 0.999:
            if now < 0.0:
                heapq.heappush(heap, (now, l))
            continue
        for t in range(length[l]):
            assignment[cubes[l, t] // symbols] = cubes[l, t] % symbols
        spent += cost
        for t in range(occ_ptr[l], occ_ptr[l + 1]):
            r = occ_row[t]
            if occ_rank[t] < cut[r]:
                for v in range(row_ptr[r] + occ_rank[t], row_ptr[r] + cut[r]):
                    total[row_group[r]] -= weight[row_lit[v] // domain]
                    size[r] -= weight[row_lit[v] // domain]
                cut[r] = occ_rank[t]
        first = l - l % domain
        for other in range(first, first + domain):
            for t in range(occ_ptr[other], occ_ptr[other + 1]):
                r = occ_row[t]
                if occ_rank[t] < cut[r]:  # a constant key is no dependency
                    total[row_group[r]] -= weight[l // domain]
                    size[r] -= weight[l // domain]
            for t in range(guard_ptr[other], guard_ptr[other + 1]):
                r = guard_row[t]
                if other != l:
                    total[row_group[r]] -= size[r]
                    size[r], cut[r] = 0, 0
        weight[l // domain] = 0
    return spent
