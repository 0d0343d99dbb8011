"""What a run on demand depends on: the nodes of its certificate, and the tokens that leave most open. After
:func:`restrict.kernels.run.run_on_demand` has finished, walks are repeated with everything known. The values that a
walk has found so far are kept at ``offset[TOKEN]``, where no V is."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import F64, FREE_INPUT, I64
from restrict.kernels.jit import inline_kernel, kernel, sized_kernel
from restrict.kernels.run import (
    EPOCH,
    FINISHED,
    MAP,
    MARK,
    POSITION,
    TOKEN,
    ProgramArrays,
    RowArrays,
    RunArrays,
    holds,
    nodes,
    passed,
    possible,
    put,
    put_all,
    sees_nothing,
    visible,
)


@kernel
def size_of(program: ProgramArrays, run: RunArrays, node: int) -> int:
    """How many values V of a known node has."""
    v = node // program.n
    count, place = 0, program.offset[v] + (node - v * program.n) * program.words[v]
    for word in range(program.words[v]):
        left = run.bits[place + word]
        while left:
            left &= left - np.uint64(1)
            count += 1
    return count


@inline_kernel
def add(run: RunArrays, v: int, i: int, n: int, out: I64, found: int) -> int:
    """Note a node once; how many there are."""
    if v < 0 or v == POSITION or run.mark[v * n + i] == run.tally[MARK]:
        return found
    run.mark[v * n + i] = run.tally[MARK]
    out[found] = v * n + i
    return found + 1


@kernel
def nodes_read(program: ProgramArrays, rows: RowArrays, run: RunArrays, node: int, out: I64) -> int:
    """The nodes that a finished node reads, tokens among them, each once, into ``out``; how many they are."""
    n, v = program.n, node // program.n
    i, found = node - v * n, 0
    run.tally[MARK] += 1
    if program.kind[v] == MAP:
        for t in range(program.ptr[v], program.ptr[v + 1]):
            found = add(run, program.args[t], i, n, out, found)
        return found
    if sees_nothing(program, v, i):
        return 0
    query, many = program.head[v, 0], 0
    found = add(run, query, i, n, out, found)
    scratch = program.offset[TOKEN]
    run.bits[scratch : scratch + program.words[v]] = 0
    for u in range(program.domain[query] if query >= 0 else 1):
        if query < 0 or holds(program, run, query, i, u):
            found, many = row_reads(program, rows, run, (node, u), out, (found, many))
            if many >= program.domain[program.head[v, 2]]:
                break
    return found


@kernel
def row_reads(
    program: ProgramArrays,
    rows: RowArrays,
    run: RunArrays,
    place: tuple[int, int],
    out: I64,
    so_far: tuple[int, int],
) -> tuple[int, int]:
    """The nodes that one row reads: ``place``: node and query value; ``so_far``: numbers of nodes and values."""
    node, u = place
    found, many = so_far
    n, v = program.n, node // program.n
    i = node - v * n
    query, key, value = program.head[v, 0], program.head[v, 1], program.head[v, 2]
    r, scratch = rows.row[rows.base[node] + (0 if query == POSITION else u)], program.offset[TOKEN]
    for t in range(rows.start[r], rows.start[r] + rows.length[r]):
        j, w = rows.j[t], rows.w[t]
        if not visible(program.head[v, 3], i, j):
            continue
        own = key >= 0 and key == query and j == i
        if not own:
            found = add(run, key, j, n, out, found)
        if not possible(program, run, key, own, (j, w, u)):
            continue
        if value == key:
            many += put(run, scratch, w)
        elif j == i and value == query:
            many += put(run, scratch, u)
        else:
            found = add(run, value, j, n, out, found)
            many += put_all(program, run, value, j, scratch)
        if many >= program.domain[value] or key < 0 or own or passed(program, rows, run, key, t):
            break
    return found, many


@sized_kernel(nodes)
def needed_nodes(program: ProgramArrays, rows: RowArrays, run: RunArrays, target: int, out: I64, reads: I64) -> int:
    """The nodes on which V of the target rests: those that it reads, and they read, that say more than their domain.
    ``out``: int64, as long as there are nodes; the nodes, the target first."""
    n = program.n
    out[0], size, done = target, 1, 0
    run.began[target] = -run.tally[EPOCH]
    while done < size:
        node = out[done]
        done += 1
        for t in range(nodes_read(program, rows, run, node, reads)):
            other = reads[t]
            v = other // n
            if v <= POSITION or run.began[other] == -run.tally[EPOCH] or run.stamp[other] != run.tally[EPOCH]:
                continue
            if size_of(program, run, other) < program.domain[v]:
                run.began[other] = -run.tally[EPOCH]
                out[size] = other
                size += 1
    return size


@sized_kernel(nodes)
def open_tokens(program: ProgramArrays, rows: RowArrays, run: RunArrays, weight: F64, reads: I64) -> None:
    """Add to ``weight`` of each free token what the nodes that read it leave open: a node of more than one value that
    reads ``m`` free tokens counts ``2^-m`` for each."""
    n = program.n
    for f in range(run.tally[FINISHED]):
        node = run.finished[f]
        if size_of(program, run, node) == 1:
            continue
        count, share = nodes_read(program, rows, run, node, reads), 1.0
        for t in range(count):
            if reads[t] < n and run.tokens[reads[t]] == FREE_INPUT:
                share /= 2
        for t in range(count):
            if reads[t] < n and run.tokens[reads[t]] == FREE_INPUT:
                weight[reads[t]] += share
