"""The abstract run on demand as a kernel: V of one node, and of what it reads, from rows that were ordered before.

The rules are those of docs/kernel.md for V; :class:`restrict.force.on_demand.OnDemandState` does the same
in Python. A node is ``variable * n + i``; variable 0 is the token and 1 the position. V is a row of 64-bit words;
tokens have their symbol, or ``FREE_INPUT``.

Nothing is computed twice in one run: ``stamp[node]`` is the number of the run that computed V. A head walks down the
pairs of its rows; where it meets a node that is not known yet, it remembers its place and that node comes first. A row
or a table that is missing is asked for: the run ends with a request, and begins again when the request has been met.

``seen[t]`` are the key values of position ``j[t]`` at the places up to ``t`` of a row. They do not depend on the
restriction, so "all that is possible at ``j`` has been passed", which makes the floor, is one comparison.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from restrict.base.arrays import FREE_INPUT, I32, I64
from restrict.kernels.jit import inline_kernel, kernel, sized_kernel

U64 = NDArray[np.uint64]
TOKEN, POSITION = 0, 1
MAP, HEAD = 2, 3
DONE, WANT_NODE, WANT_ROW, WANT_PAIRS, WANT_MAP = 0, 1, 2, 3, 4
"""How a run ends: finished, or with a request for the rows of a node, one row, more pairs of a row, or a map."""
EPOCH, FINISHED, READ, NODE, QUERY, MARK, STEPS = 0, 1, 2, 3, 4, 5, 6
"""Places in ``RunArrays.tally``."""


class ProgramArrays(NamedTuple):
    """What does not change: ``symbols`` that a free input may be; ``kind``, ``domain`` (of tokens with the markers),
    ``words`` and ``offset`` (where V begins) by variable; a map's arguments ``args[ptr[v] : ptr[v + 1]]``; for a head
    ``head[v]`` is query, key, value (-1: none), mask and default."""

    n: int
    symbols: int
    kind: I64
    domain: I64
    words: I64
    offset: I64
    ptr: I64
    args: I64
    head: I64


class RowArrays(NamedTuple):
    """What is known of the model at the length, and grows: ``base[node] + u`` is the slot of a head's row, ``row`` of a
    slot its number (-1: none), ``start``, ``length`` and ``complete`` of a row its pairs ``j``, ``w``, ``seen``;
    ``table[node]`` is where a map's values begin in ``cell`` (-1: unknown)."""

    base: I64
    row: I64
    start: I64
    length: I64
    complete: I64
    j: I32
    w: I32
    seen: U64
    table: I64
    cell: I32


class RunArrays(NamedTuple):
    """One run: the tokens, V as ``bits``, what is ``finished`` and which tokens were ``read`` (in order, as many as
    ``tally`` says); ``began`` and ``at`` (query value, place, values found) are where a head was interrupted."""

    tokens: I64
    bits: U64
    stamp: I64
    began: I64
    at: I64
    stack: I64
    finished: I64
    read: I64
    noted: I64
    mark: I64
    tally: I64


def nodes(program: ProgramArrays, *_: object) -> int:
    """About how many elements a run reads: its arrays have room for much more."""
    return program.n * len(program.kind)


@kernel
def seen_so_far(j: I64, w: I64, out: U64, scratch: U64) -> None:
    """Fill ``out`` with the key values that each pair's position has had up to there; ``scratch`` is 0 and stays so."""
    for t in range(len(j)):
        scratch[j[t]] |= np.uint64(1) << np.uint64(w[t])
        out[t] = scratch[j[t]]
    for t in range(len(j)):
        scratch[j[t]] = 0


@inline_kernel
def holds(program: ProgramArrays, run: RunArrays, v: int, i: int, value: int) -> bool:
    """Whether a value is in V of a node that is known."""
    if v == TOKEN:
        return bool(run.tokens[i] == value or (run.tokens[i] == FREE_INPUT and value < program.symbols))
    if v == POSITION:
        return i == value
    word = run.bits[program.offset[v] + i * program.words[v] + (value >> 6)]
    return bool((word >> np.uint64(value & 63)) & np.uint64(1))


@inline_kernel
def note(run: RunArrays, i: int) -> None:
    """The token at ``i`` was read."""
    if run.noted[i] != run.tally[EPOCH]:
        run.noted[i] = run.tally[EPOCH]
        run.read[run.tally[READ]] = i
        run.tally[READ] += 1


@inline_kernel
def put(run: RunArrays, place: int, value: int) -> int:
    """Add a value to the set that begins at ``place``; 1 where it is new."""
    bit = np.uint64(1) << np.uint64(value & 63)
    before = run.bits[place + (value >> 6)]
    run.bits[place + (value >> 6)] = before | bit
    return 0 if before & bit else 1


@kernel
def put_all(program: ProgramArrays, run: RunArrays, v: int, i: int, place: int) -> int:
    """Add V of a known node to the set that begins at ``place``; how many of its values are new."""
    new = 0
    if v == TOKEN:
        if run.tokens[i] != FREE_INPUT:
            return put(run, place, run.tokens[i])
        for value in range(program.symbols):
            new += put(run, place, value)
        return new
    if v == POSITION:
        return put(run, place, i)
    own = program.offset[v] + i * program.words[v]
    for word in range(program.words[v]):
        left = run.bits[own + word] & ~run.bits[place + word]
        run.bits[place + word] |= left
        while left:
            left &= left - np.uint64(1)
            new += 1
    return new


@inline_kernel
def visible(mask: int, i: int, j: int) -> bool:
    """Whether position ``i`` sees ``j``: none, past, strict past, future, strict future."""
    before = (mask == 1 and j <= i) or (mask == 2 and j < i)
    return mask == 0 or before or (mask == 3 and j >= i) or (mask == 4 and j > i)


@inline_kernel
def sees_nothing(program: ProgramArrays, v: int, i: int) -> bool:
    """Whether a head sees no position from ``i``."""
    return (program.head[v, 3] == 2 and i == 0) or (program.head[v, 3] == 4 and i == program.n - 1)


@inline_kernel
def possible(program: ProgramArrays, run: RunArrays, key: int, own: bool, pair: tuple[int, int, int]) -> bool:
    """Whether the pair (j, w) of a row is possible; ``own``: the key is the query's own node, which has the value u."""
    j, w, u = pair
    return w == u if own else key < 0 or holds(program, run, key, j, w)


@inline_kernel
def passed(program: ProgramArrays, rows: RowArrays, run: RunArrays, v: int, t: int) -> bool:
    """Whether pair ``t``, which is possible, is the last possible pair of its position in the row."""
    j = rows.j[t]
    if v == POSITION:
        return True
    if v == TOKEN:
        if run.tokens[j] != FREE_INPUT:
            return True
        every = ~np.uint64(0) >> np.uint64(64 - program.symbols)
        return bool(rows.seen[t] & every == every)
    return bool(run.bits[program.offset[v] + j * program.words[v]] & ~rows.seen[t] == 0)


@kernel
def run_map(program: ProgramArrays, rows: RowArrays, run: RunArrays, node: int, odometer: I64) -> int:
    """V of a map whose arguments are known, from its table; ``WANT_MAP`` where there is none."""
    v = node // program.n
    i = node - v * program.n
    first, count = program.ptr[v], program.ptr[v + 1] - program.ptr[v]
    table = rows.table[node]
    if table < 0:
        return WANT_MAP
    place = program.offset[v] + i * program.words[v]
    run.bits[place : place + program.words[v]] = 0
    # odometer[0, t] is the t-th argument's value; odometer[1, t] its stride
    stride = 1
    for t in range(count - 1, -1, -1):
        a = program.args[first + t]
        odometer[1, t] = stride
        stride *= 1 if a == POSITION else program.domain[a]
        odometer[0, t] = 0 if a == POSITION else next_value(program, run, a, i, -1)
    found = 0
    while True:
        point = 0
        for t in range(count):
            point += odometer[0, t] * odometer[1, t]
        found += put(run, place, rows.cell[table + point])
        if found == program.domain[v]:
            return DONE
        t = count - 1
        while t >= 0:
            a = program.args[first + t]
            following = -1 if a == POSITION else next_value(program, run, a, i, odometer[0, t])
            if following >= 0:
                odometer[0, t] = following
                break
            odometer[0, t] = 0 if a == POSITION else next_value(program, run, a, i, -1)
            t -= 1
        if t < 0:
            return DONE


@kernel
def next_value(program: ProgramArrays, run: RunArrays, v: int, i: int, after: int) -> int:
    """The least value above ``after`` in V of a known node, or -1."""
    if v == TOKEN and run.tokens[i] != FREE_INPUT:
        return int(run.tokens[i]) if run.tokens[i] > after else -1
    if v == TOKEN:
        return after + 1 if after + 1 < program.symbols else -1
    for value in range(after + 1, program.domain[v]):
        word = run.bits[program.offset[v] + i * program.words[v] + (value >> 6)]
        if word == 0:
            continue
        if (word >> np.uint64(value & 63)) & np.uint64(1):
            return value
    return -1


@kernel
def run_head(program: ProgramArrays, rows: RowArrays, run: RunArrays, node: int) -> int:
    """Go on with a head's walk; ``DONE``, a request, or ``-1 - missing`` where a node must be known first."""
    n, v = program.n, node // program.n
    i = node - v * n
    query, value = program.head[v, 0], program.head[v, 2]
    place, everything = program.offset[v] + i * program.words[v], program.domain[value]
    if sees_nothing(program, v, i):
        run.bits[place : place + program.words[v]] = 0
        put(run, place, program.head[v, 4])
        return DONE
    if query > POSITION and run.stamp[query * n + i] != run.tally[EPOCH]:
        return -1 - int(query * n + i)
    if run.began[node] != run.tally[EPOCH]:
        run.began[node] = run.tally[EPOCH]
        run.bits[place : place + program.words[v]] = 0
        run.at[node, 0] = run.at[node, 1] = run.at[node, 2] = 0
    if query == TOKEN:
        note(run, i)
    if rows.base[node] < 0:
        return WANT_NODE
    u = run.at[node, 0]
    while u < (program.domain[query] if query >= 0 else 1) and run.at[node, 2] < everything:
        if query == POSITION:
            u = i
        elif query >= 0 and not holds(program, run, query, i, u):
            u += 1
            run.at[node, 0], run.at[node, 1] = u, 0
            continue
        run.at[node, 0] = u
        answer = run_row(program, rows, run, node, u)
        if answer != DONE:
            return answer
        if query == POSITION:
            break
        u += 1
        run.at[node, 0], run.at[node, 1] = u, 0
    return DONE


@kernel
def run_row(program: ProgramArrays, rows: RowArrays, run: RunArrays, node: int, u: int) -> int:
    """Go on with the walk down one row, to its floor or until every value has been found."""
    n, v = program.n, node // program.n
    i = node - v * n
    query, key, value = program.head[v, 0], program.head[v, 1], program.head[v, 2]
    place, everything = program.offset[v] + i * program.words[v], program.domain[value]
    r = rows.row[rows.base[node] + (0 if query == POSITION else u)]
    if r < 0:
        return WANT_ROW
    t = run.at[node, 1]
    while True:
        if t == rows.length[r]:
            if rows.complete[r]:
                return DONE
            run.tally[QUERY] = r
            return WANT_PAIRS
        run.at[node, 1] = t
        run.tally[STEPS] += 1
        here = rows.start[r] + t
        j, w = rows.j[here], rows.w[here]
        t += 1
        if not visible(program.head[v, 3], i, j):
            continue
        own = key >= 0 and key == query and j == i
        if key > POSITION and not own and run.stamp[key * n + j] != run.tally[EPOCH]:
            return -1 - int(key * n + j)
        if key == TOKEN and not own:
            note(run, j)
        if not possible(program, run, key, own, (j, w, u)):
            continue
        if value == key:
            run.at[node, 2] += put(run, place, w)
        elif j == i and value == query:
            run.at[node, 2] += put(run, place, u)
        else:
            if value > POSITION and run.stamp[value * n + j] != run.tally[EPOCH]:
                return -1 - int(value * n + j)
            if value == TOKEN:
                note(run, j)
            run.at[node, 2] += put_all(program, run, value, j, place)
        if run.at[node, 2] >= everything or key < 0 or own or passed(program, rows, run, key, here):
            return DONE


@sized_kernel(nodes)
def run_on_demand(program: ProgramArrays, rows: RowArrays, run: RunArrays, target: int, odometer: I64) -> int:
    """V of a node and of all that it reads, in the run ``tally[EPOCH]``; ``odometer``: scratch, (2, most arguments)."""
    n, size = program.n, 1
    run.stack[0] = target
    while size:
        node = run.stack[size - 1]
        if run.stamp[node] == run.tally[EPOCH]:
            size -= 1
            continue
        v = node // n
        i = node - v * n
        answer = DONE
        if program.kind[v] == MAP:
            before = size
            for t in range(program.ptr[v], program.ptr[v + 1]):
                a = program.args[t]
                if a == TOKEN:
                    note(run, i)
                elif a > POSITION and run.stamp[a * n + i] != run.tally[EPOCH]:
                    run.stack[size] = a * n + i
                    size += 1
            if size > before:
                continue
            answer = run_map(program, rows, run, node, odometer)
        else:
            answer = run_head(program, rows, run, node)
        if answer < 0:
            run.stack[size] = -1 - answer
            size += 1
        elif answer != DONE:
            run.tally[NODE] = node
            return answer
        else:
            finish(run, node)
            size -= 1
    return DONE


@inline_kernel
def finish(run: RunArrays, node: int) -> None:
    """V of a node is known."""
    run.stamp[node] = run.tally[EPOCH]
    run.finished[run.tally[FINISHED]] = node
    run.tally[FINISHED] += 1
