"""The row scan of a purely hashed score, ``hash(..., j, k)``, in one loop: no registers, no stores but the survivors.

Random models of a million positions spend their time here. The general scan of :mod:`restrict.kernels.scan` is its
oracle.
"""

from __future__ import annotations

from restrict.kernels.jit import kernel
from restrict.kernels.machine import HALF, I64, LOW32, MULTIPLIER
from restrict.kernels.scan import EXC, FLOOR_J, FLOOR_S, HAVE_FLOOR, NEXT_J


@kernel
def scan_hash(
    seed: int, default_domain: int, exc_j: I64, exc_ptr: I64, exc_val: I64, bounds: I64, state: I64, out: I64
) -> int:
    """Append to ``out`` (3, capacity) the pairs (j, w, score) at or above the floor; returns how many.

    ``seed`` is the hash state before ``j``. ``bounds`` is (one past the last j, self j, self w, ties right, track):
    with ``track`` the floor
    rises to the best over j of the worst pair of j, else it stays. Stops, to be called again, where the next position
    might not fit.
    """
    hi, self_j, self_w, right, track = bounds[0], bounds[1], bounds[2], bounds[3], bounds[4]
    j, exc = state[NEXT_J], state[EXC]
    have, floor_s, floor_j = state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J]
    capacity = out.shape[1]
    count = 0
    while j < hi:
        while exc < exc_j.shape[0] and exc_j[exc] < j:
            exc += 1
        special = exc < exc_j.shape[0] and exc_j[exc] == j
        size = exc_ptr[exc + 1] - exc_ptr[exc] if special else default_domain
        own = self_w >= 0 and j == self_j
        if own:
            size = 1
        if count + size > capacity:
            break
        at_j = (seed ^ j) * MULTIPLIER
        at_j ^= (at_j >> 32) & LOW32
        worst = HALF
        for t in range(size):
            w = self_w if own else (exc_val[exc_ptr[exc] + t] if special else t)
            h = (at_j ^ w) * MULTIPLIER
            h = (h ^ ((h >> 32) & LOW32)) * MULTIPLIER
            s = ((h ^ ((h >> 32) & LOW32)) >> 1) & HALF
            worst = min(worst, s)
            if have == 0 or s >= floor_s:
                tied = j >= floor_j if right else j <= floor_j
                if have == 0 or s > floor_s or tied:
                    out[0, count], out[1, count], out[2, count] = j, w, s
                    count += 1
        if track and (have == 0 or worst >= floor_s):
            tied = j >= floor_j if right else j <= floor_j
            if have == 0 or worst > floor_s or tied:
                have, floor_s, floor_j = 1, worst, j
        j += 1
    state[NEXT_J], state[EXC] = j, exc
    state[HAVE_FLOOR], state[FLOOR_S], state[FLOOR_J] = have, floor_s, floor_j
    return count
