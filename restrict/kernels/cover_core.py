"""Linear passes that make the core of a covering problem: repeats within a pair, and the entries by literal."""

from __future__ import annotations

from restrict.base.arrays import I64
from restrict.kernels.jit import kernel


@kernel
def first_in_pair(pair_of: I64, literal: I64, last: I64, first: I64) -> int:
    """Write to ``first`` which entries have a literal that no earlier entry of their pair has; returns how many.
    ``pair_of`` is ascending; ``last`` has a place for each literal, -1 at the start."""
    found = 0
    for t in range(pair_of.shape[0]):
        if last[literal[t]] != pair_of[t]:
            last[literal[t]] = pair_of[t]
            first[found] = t
            found += 1
    return found


@kernel
def by_literal(literal: I64, ptr: I64, order: I64) -> None:
    """Write to ``order`` the entries of literal 0, those of literal 1, and so on, each ascending. Literal ``l`` has the
    places ``ptr[l] .. ptr[l+1]``; ``ptr`` is used up."""
    for t in range(literal.shape[0]):
        order[ptr[literal[t]]] = t
        ptr[literal[t]] += 1
