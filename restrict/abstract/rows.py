"""Streaming one row of a head: its candidates under a restriction, or its best pairs for the search.

The values that a variable may take are given sparsely (:class:`Values`): a default domain, and exceptions at the
positions that are
fixed, pinned or examined. So a row of a million positions costs its scores and nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from restrict.errors import ResourceLimit
from restrict.kernels import scan
from restrict.kernels.machine import BLOCK
from restrict.model.expr import I64, compile_expr
from restrict.model.program import Head, Instance
from restrict.model.rules import registers, run_code

MAX_PAIRS = 2**40
"""A row of more pairs than this is refused."""


@dataclass(frozen=True, eq=False)
class Values:
    """Possible values of one variable at all positions: ``0 .. domain-1`` but at ``positions[p]``, where
    ``flat[ptr[p]:ptr[p+1]]``."""

    domain: int
    positions: I64
    ptr: I64
    flat: I64

    @staticmethod
    def make(domain: int, exceptions: Mapping[int, tuple[int, ...]]) -> Values:
        """From a mapping of positions to sorted values."""
        order = sorted(exceptions)
        ptr = np.zeros(len(order) + 1, dtype=np.int64)
        np.cumsum([len(exceptions[j]) for j in order], out=ptr[1:])
        flat = np.array([w for j in order for w in exceptions[j]], dtype=np.int64)
        return Values(domain, np.array(order, dtype=np.int64), ptr, flat)


CONSTANT = Values.make(1, {})
"""The dummy key of a score that does not mention one."""


class Row:
    """One row, ready to be streamed: ``head`` at position ``i`` with query value ``u``."""

    def __init__(self, at: Instance, head: Head, i: int, u: int) -> None:
        self.first, self.stop = at.visible(head, i)
        self.right = int(head.ties == "right")
        self.code = compile_expr(at.row(head, i, u), ("j", "k"))
        same = at.query(head) is not None and at.query(head) == at.key(head)
        self.own = (i, u) if same else (-1, -1)

    def candidates(self, keys: Values) -> tuple[I64, I64]:
        """The pairs (j, w) at or above the floor (docs/trusted-base.md, rule 4), by position. Cost: one score a
        pair."""
        j, w, _, _ = self._stream(keys, None)
        return j, w

    def best(self, keys: Values, count: int) -> tuple[I64, I64, bool]:
        """The ``count`` best pairs, best first, and whether these are all."""
        j, w, s, dropped = self._stream(keys, count)
        order = self._order(j, w, s)
        return j[order], w[order], not dropped

    def _order(self, j: I64, w: I64, s: I64) -> I64:
        """Best first: by score, the tie rule, and among equals by key value."""
        return (
            np.lexsort((w, -j if self.right else j, -s))
            if len(s) == 0 or s.min() > -(2**63)
            else _slow_order(j, w, s, self.right)
        )

    def _stream(self, keys: Values, count: int | None) -> tuple[I64, I64, I64, bool]:
        if (self.stop - self.first) * keys.domain > MAX_PAIRS:
            raise ResourceLimit(
                f"a row of {self.stop - self.first} positions and {keys.domain} key values is too long; examine the key"
            )
        state = np.zeros(scan.STATE_SIZE, dtype=np.int64)
        state[scan.NEXT_J] = self.first
        bounds = np.array([self.stop, *self.own], dtype=np.int64)
        size = min(BLOCK, max(1, (self.stop - self.first) * keys.domain + len(keys.flat)))
        regs = registers(self.code, size)
        last, chosen = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        kept, held, dropped, limit = [np.empty((3, 0), dtype=np.int64)], 0, False, 4 * BLOCK
        while state[scan.NEXT_J] < self.stop:
            m = scan.fill_pairs(keys.domain, keys.positions, keys.ptr, keys.flat, bounds, regs, last, state)
            run_code(self.code, regs, m)
            scores = regs[self.code.result]
            if count is None:
                scan.raise_floor(scores, regs[0], last, m, self.right, state)
            found = chosen[: scan.select_pairs(scores, regs, m, self.right, state, chosen)]
            if len(found):
                kept.append(np.stack((regs[0, found], regs[1, found], scores[found])))
                held += len(found)
            if held > limit:
                kept, dropped = (
                    [self._compact(np.concatenate(kept, axis=1), count, state)],
                    dropped or count is not None,
                )
                held = kept[0].shape[1]
                limit = max(limit, 2 * held)
        final = np.concatenate(kept, axis=1)
        dropped = dropped or (count is not None and final.shape[1] > count)
        final = self._compact(final, count, state)
        return final[0], final[1], final[2], dropped

    def _compact(self, pairs: I64, count: int | None, state: I64) -> I64:
        """Drop what the floor has overtaken; with a count, keep that many best and make the worst of them the floor."""
        if count is not None:
            if pairs.shape[1] <= count:
                return pairs
            pairs = pairs[:, self._order(*pairs)[:count]]
            state[scan.HAVE_FLOOR], state[scan.FLOOR_S], state[scan.FLOOR_J] = 1, pairs[2, -1], pairs[0, -1]
            return pairs
        if not state[scan.HAVE_FLOOR]:
            return pairs
        floor_s, floor_j = state[scan.FLOOR_S], state[scan.FLOOR_J]
        tie = pairs[0] >= floor_j if self.right else pairs[0] <= floor_j
        return pairs[:, (pairs[2] > floor_s) | ((pairs[2] == floor_s) & tie)]


def _slow_order(j: I64, w: I64, s: I64, right: int) -> I64:
    """The order where negating a score would overflow."""
    keys = sorted(range(len(s)), key=lambda t: (-int(s[t]), -int(j[t]) if right else int(j[t]), int(w[t])))
    return np.array(keys, dtype=np.int64)
