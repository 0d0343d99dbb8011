"""The lists of many rows in one call, of hashed scores: best pair first, down to the floor (rule 4 of the proof)."""

from __future__ import annotations

import numpy as np

from restrict.base.arrays import I64
from restrict.kernels.copying import copy
from restrict.kernels.jit import kernel
from restrict.kernels.scan import OPEN, STATE_SIZE
from restrict.kernels.scan_hash import KeyValues, room_for, scan_row, sort_pairs

FIRST_ROOM = 1024
"""Pairs of a row that are held at first where there is no limit."""


@kernel
def scan_rows(
    seeds: I64, owner: I64, query: I64, bounds: I64, own: int, right: int, limit: int, keys: KeyValues,
    out: I64, ends: I64, complete: I64,
) -> int:  # fmt: skip
    """Lists of the hashed rows: score of (j, w) = the hash from state ``seeds[r]`` on.

    ``bounds`` (2, rows): visible positions. With ``own`` position ``owner[r]`` has only the key value ``query[r]``.
    Appends to ``out`` (2, capacity) at most ``limit`` pairs a row (0: all); ``ends[r]`` is where row ``r`` ends,
    ``complete[r]`` whether its list reaches the floor. Returns the first row that did not fit.
    """
    room = room_for(keys, 4 * limit if limit > 0 else FIRST_ROOM)
    pairs, state = np.empty((3, 2 * room.part.shape[1]), np.int64), np.zeros(STATE_SIZE, np.int64)
    used = 0
    for r in range(seeds.shape[0]):
        span = (bounds[0, r], bounds[1, r], owner[r], query[r] if own == 1 else -1, right)
        pairs, count = scan_row(seeds[r], span, keys, limit, room, pairs, state)
        sort_pairs(pairs, count, right)
        complete[r] = 1 if state[OPEN] == 0 and (limit == 0 or count <= limit) else 0
        count = min(count, limit) if limit > 0 else count
        if used + count > out.shape[1]:
            return r
        for part in range(2):
            copy(out[part, used : used + count], pairs[part, :count])
        used += count
        ends[r] = used
    return len(seeds)
