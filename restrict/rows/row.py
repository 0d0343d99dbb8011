"""Streaming one row of a head: its candidates under a restriction, or its best pairs for the search."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from itertools import pairwise

import numpy as np

from restrict.base.arrays import I64, MIN64, offsets, take_rows
from restrict.base.errors import ResourceLimit
from restrict.base.options import Fact
from restrict.kernels import scan
from restrict.kernels.machine import BLOCK, hashed_scores
from restrict.kernels.plain import instead_of
from restrict.kernels.scan_lists import FEW, Span, Wanted, scan_room, scan_row
from restrict.model.code import Code, compile_expr
from restrict.model.expr import Expr
from restrict.model.program import Head, Instance
from restrict.model.rules import evaluate, registers, run_code
from restrict.rows import plain_lists
from restrict.rows.options import ROWS
from restrict.rows.values import Values

MAX_PAIRS: Fact[int] = 2**40
"""A row of more pairs than this is refused."""
PROCESSORS = os.cpu_count() or 1


FLOOR = slice(scan.HAVE_FLOOR, scan.FLOOR_J + 1)
"""The places of a scan's state for its floor: whether there is one, its score and its position."""
Floor = tuple[int, int]
"""The score and the position of a floor."""


def asks_for_itself(instance: Instance, head: Head) -> bool:
    """Whether query and key are one variable, so that at the position itself the key is the query."""
    return instance.query(head) is not None and instance.query(head) == instance.key(head)


class Row:
    """One row, ready to be streamed: ``head`` at position ``i`` with query value ``u``."""

    def __init__(self, instance: Instance, head: Head, i: int, u: int) -> None:
        self.first, self.stop = instance.visible(head, i)
        self.right = int(head.ties == "right")
        self.instance, self.head, self.i, self.u = instance, head, i, u
        self.own = (i, u) if asks_for_itself(instance, head) else (-1, -1)
        self.most: int | None = None  # so many pairs are kept at most

    @cached_property
    def expr(self) -> Expr:
        """The score as an expression over ``j`` and ``k``, all else folded."""
        return self.instance.row(self.head, self.i, self.u)

    @cached_property
    def seed(self) -> int | None:
        """The hash state before ``j`` of a hashed score."""
        return self.instance.row_seed(self.head, self.i, self.u)

    @cached_property
    def code(self) -> Code:
        """The score as register code over ``j`` and ``k``."""
        return compile_expr(self.expr, ("j", "k"))

    def block_registers(self, positions: int, domain: int, size: int) -> tuple[Code, I64]:
        """Code and registers for blocks of ``size`` pairs. Folding and compiling is worth it only for a long row; short
        rows share the head's code, with ``i`` and ``q`` as further inputs. Gives the code; and the registers, int64,
        shape (registers, size), with the constants filled in."""
        shared = self.instance.shared_code(self.head) if positions * domain < BLOCK else None
        if shared is None:
            return self.code, registers(self.code, size)
        regs = registers(shared, size)
        regs[2], regs[3] = self.i, self.u
        return shared, regs

    def candidates(self, keys: Values) -> tuple[I64, I64]:
        """The pairs at or above the floor (docs/kernel.md, rule 4) as two int64 arrays, ascending positions and key
        values. ``keys``: V of the key everywhere, or ``CONSTANT``. Cost: one score a pair."""
        pairs = self.scored(keys)
        return pairs[0], pairs[1]

    def ranked(self, keys: Values) -> I64:
        """The pairs at or above the floor, best first: int64, shape (3, m), rows j, w, score; the last is the floor."""
        pairs, _ = self._found(keys, 0)
        return pairs[:, self._order(*pairs)]

    def scored(self, keys: Values, least: int = MIN64) -> I64:
        """:meth:`candidates` with their scores, int64 (3, m), without pairs below the score ``least``. The floor itself
        is the last of them in the order of pairs."""
        pairs, _ = self._found(keys, 0, 0 if least == MIN64 else least)
        pairs = pairs if least == MIN64 else pairs[:, pairs[2] >= least]
        return pairs[:, np.argsort(pairs[0], kind="stable")]  # each position's are side by side, ascending

    def best(self, keys: Values, count: int) -> tuple[I64, I64, bool]:
        """The ``count`` best pairs, best first, and whether these are all. ``keys``: V of the key at all positions;
        :data:`restrict.rows.values.CONSTANT` where the score mentions no key. Gives the positions ``j`` and the key
        values ``w`` (int64, one length, at most ``count``), and whether no pair is left out."""
        pairs, dropped = self._found(keys, count)
        dropped = dropped or pairs.shape[1] > count
        pairs = pairs[:, self._order(*pairs)[:count]]
        return pairs[0], pairs[1], not dropped

    def _found(self, keys: Values, count: int, least: int = 0) -> tuple[I64, bool]:
        """The pairs (3, m) down to the floor, or with a ``count`` at least so many of the best of all; and whether a
        pair among these was dropped. Scores below ``least`` are ignored."""
        total = (self.stop - self.first) * keys.domain
        if total <= 0:  # a strict mask: nothing is seen there
            return np.empty((3, 0), np.int64), False
        if total > MAX_PAIRS:
            raise ResourceLimit(
                f"a row of {self.stop - self.first} positions and {keys.domain} key values is too long; examine the key"
            )
        if self.seed is not None:
            if max(self.instance.n * keys.domain, len(keys.flat)) <= ROWS.short_row:
                return self._plainly(self.seed, keys, count, 0, self.instance.n), False
            with instead_of(scan_row) as may:
                if may and total <= ROWS.numpy_pairs:
                    return self._plainly(self.seed, keys, count, self.first, max(self.first, self.stop)), False
            want = count + int(4 * count**0.5) + 8
            if not count and (known := self.known_floor(keys, total)):
                want, least = total, max(least, known[0])
            elif not count:  # hashes are spread evenly: about so many reach the best of the positions' worst scores
                want = int(1.5 * total / (self.stop - self.first) ** (1 / keys.domain)) + FEW
            goal = Wanted(count, want, int(not count), least, self.most or 1 << 60)
            return self._hashed(self.seed, keys, goal), False
        return self._stream(keys, count or None, least)

    def _hashed(self, seed: int, keys: Values, goal: Wanted) -> I64:
        """The pairs of a hashed row, by parts, which long rows share among threads: a pair that survives the whole row
        survives its part."""
        cuts = self._cuts(keys)
        each = pool().map if len(cuts) > 2 else map
        found = list(each(lambda part: self._scan(seed, keys, goal, part), pairwise(cuts)))
        return self._above(_joined([block for block, _ in found]), [floor for _, floor in found])

    def _cuts(self, keys: Values) -> list[int]:
        """Where the parts of a hashed row begin, and its end: at multiples of ``part``, evenly for the threads, and
        around few positions that have less than the domain, so that no other part is written out for them."""
        total = (self.stop - self.first) * keys.domain
        cuts = {self.first, self.stop, *range(self.first + ROWS.part & -ROWS.part, self.stop, ROWS.part)}
        if total >= ROWS.long_row:
            parts = threads()
            cuts.update(self.first + (self.stop - self.first) * p // parts for p in range(parts))
            less = keys.less(self.first, self.stop)
            if len(less) <= max(ROWS.few_less, total // ROWS.pairs_a_part):
                cuts.update(cut for j in less.tolist() for cut in (j, j + 1))
        return sorted(cuts)

    def _plainly(self, seed: int, keys: Values, count: int, start: int, end: int) -> I64:
        """The pairs of a hashed row by numpy, by position: down to the floor, or with a ``count`` the best, more of
        them where there are more. ``start``, ``end``: the positions whose pairs are written out, and kept; all of a
        short row, which its neighbours share."""
        span, wanted = (self.first, self.stop, *self.own), count + 1 if count else 0
        return plain_lists.pairs_of_row(seed, span, bool(self.right), wanted, keys.pairs(start, end), start)

    def _scan(self, seed: int, keys: Values, goal: Wanted, part: tuple[int, int]) -> tuple[I64, Floor | None]:
        """The pairs of some positions, with score and position of their floor where they reach it. Positions are
        counted from a multiple of ``part``, which the hash takes into its seed: it begins with ``seed ^ j``."""
        (first, stop), (own_j, own_w) = part, self.own
        base = first & -ROWS.part
        span = Span(first - base, stop - base, own_j - base, own_w, self.right)
        room = np.empty((3, 4 * FEW + 2 * goal.limit + keys.domain), np.int64)
        with np.errstate(over="ignore"):
            room, count, j = scan_row(seed ^ base, span, keys.scan(*part, base), goal, scan_room(), room)
        if count < 0:
            raise ResourceLimit(f"a row of {self.head.name} has too many pairs that may win")
        pairs = room[:, :count].copy()
        pairs[0] += base
        return pairs, None if j < 0 else (int(pairs[2, pairs[0] == j + base].min()), j + base)

    def _order(self, j: I64, w: I64, s: I64) -> I64:
        """Best first: by score, the tie rule, and among equals by key value."""
        return np.lexsort((w, -j if self.right else j, ~s))  # a score's negative may not fit 64 bits

    def _stream(self, keys: Values, count: int | None, least: int = 0) -> tuple[I64, bool]:
        """The surviving pairs (3, m), and whether a pair was dropped because of the count. Long rows are shared among
        threads. The parts are independent: a pair that survives the whole row survives its part, so merging them and
        compacting once more gives the same pairs for any number of threads. Scores below ``least`` are ignored."""
        total = (self.stop - self.first) * keys.domain
        parts = threads() if total >= ROWS.long_row else 1
        cuts = [self.first + (self.stop - self.first) * p // parts for p in range(parts + 1)]
        floor_first = count is None and (keys.domain >= ROWS.wide_key or total >= ROWS.long_row)
        known = self.known_floor(keys, ROWS.known) if floor_first else None
        each = pool().map if parts > 1 else map
        results = list(each(lambda part: self._part(keys, count, part, least, known), pairwise(cuts)))
        blocks, floors, dropped = map(list, zip(*results, strict=True))
        results.clear()
        for k, block in enumerate(blocks if count is None else ()):
            blocks[k] = self._above(block, floors)
        pairs = _joined(blocks)
        if count is None:
            return pairs, any(dropped)
        return self._best_of(pairs, count), any(dropped) or pairs.shape[1] > count

    def known_floor(self, keys: Values, most: int) -> Floor | None:
        """Score and position of the floor over the first positions with fewer key values, at most so many, a bound on
        the row's: a free position with many values has a low worst score, and without it most pairs would be kept."""
        inside = (keys.positions >= self.first) & (keys.positions < self.stop)
        few = np.flatnonzero(inside & (np.diff(keys.ptr) < keys.domain))[:most]
        which, own = few[keys.positions[few] != self.own[0]], self.own[0]
        places, sizes, w = keys.positions[which], np.diff(keys.ptr)[which], keys.flat[take_rows(keys.ptr, which)]
        if self.first <= own < self.stop:
            places, sizes, w = np.append(places, own), np.append(sizes, 1), np.append(w, self.own[1])
        if not len(places):
            return None
        worst = np.minimum.reduceat(self.scores(np.repeat(places, sizes), w), offsets(sizes)[:-1])
        best = places[worst == worst.max()]
        return int(worst.max()), int(best.max() if self.right else best.min())

    def scores(self, j: I64, w: I64) -> I64:
        """The scores of some pairs."""
        if self.seed is None:
            return evaluate(self.expr, {"j": j, "k": w}, len(j))
        return hashed_scores(self.seed, j, w)

    def _part(
        self, keys: Values, count: int | None, part: tuple[int, int], least: int, known: Floor | None
    ) -> tuple[I64, Floor | None, bool]:
        """Stream the positions of a part: the survivors, their floor if there is one, and whether pairs were dropped.
        ``known``: a floor that the row is known to have."""
        first, stop = part
        if least:  # a floor below all positions: a score of ``least`` itself passes
            known = least - 1, -1 if self.right else stop
        state = np.zeros(scan.STATE_SIZE, dtype=np.int64)
        state[scan.NEXT_J] = first
        if known is not None:
            state[FLOOR] = 1, *known
        kept, held, dropped = [np.empty((3, 0), dtype=np.int64)], 0, False
        limit = 4 * BLOCK if count is None else 4 * count  # low, so that the floor rises early and little survives it
        for found in self._blocks(keys, state, stop, int(count is None)):
            kept.append(found)
            held += found.shape[1]
            if held > limit:
                if count is None:
                    kept = [self._above(_joined(kept), [_floor_of(state)])]
                else:
                    kept, dropped = [self._best_of(_joined(kept), count)], True
                    state[FLOOR] = 1, kept[0][2, -1], kept[0][0, -1]
                held = kept[0].shape[1]
                limit = max(limit, 2 * held)
                if self.most is not None and held > self.most:
                    raise ResourceLimit(f"a row of {self.head.name} has too many pairs that may win")
        return _joined(kept), _floor_of(state), dropped

    def _blocks(self, keys: Values, state: I64, stop: int, track: int) -> Iterator[I64]:
        """Any score: blocks of pairs through the register machine."""
        bounds = np.array([stop, *self.own], dtype=np.int64)
        size = min(BLOCK, max(1, (stop - int(state[scan.NEXT_J])) * keys.domain + len(keys.flat)))
        code, regs = self.block_registers(stop - int(state[scan.NEXT_J]), keys.domain, size)
        last, chosen = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        while state[scan.NEXT_J] < stop:
            m = scan.fill_pairs(keys.domain, keys.positions, keys.ptr, keys.flat, bounds, regs, last, state)
            run_code(code, regs, m)
            scores = regs[code.result]
            if track:
                scan.raise_floor(scores, regs[0], last, m, self.right, state)
            found = chosen[: scan.select_pairs(scores, regs, m, self.right, state, chosen)]
            if len(found):
                yield np.stack((regs[0, found], regs[1, found], scores[found]))

    def _best_of(self, pairs: I64, count: int) -> I64:
        """So many of the best pairs, best first; fewer as they are."""
        if pairs.shape[1] <= count:
            return pairs
        scores = pairs[2]
        pairs = pairs[:, scores >= np.partition(scores, len(scores) - count)[len(scores) - count]]
        return pairs[:, self._order(*pairs)[:count]]

    def _above(self, pairs: I64, floors: Sequence[Floor | None]) -> I64:
        """The pairs down to the best of some floors, all where there is none."""
        known = [floor for floor in floors if floor is not None]
        if not known:
            return pairs
        floor_s, floor_j = max(known, key=lambda floor: (floor[0], floor[1] if self.right else -floor[1]))
        tie = pairs[0] >= floor_j if self.right else pairs[0] <= floor_j
        above = (pairs[2] > floor_s) | ((pairs[2] == floor_s) & tie)
        return pairs if above.all() else pairs[:, above]


def _floor_of(state: I64) -> Floor | None:
    """The floor that a scan has met."""
    have, score, position = state[FLOOR].tolist()
    return (score, position) if have else None


def _joined(blocks: list[I64]) -> I64:
    """The pairs of all blocks, int64 (3, m). Each block is let go as it is copied: all of them twice would be too much
    where a row has 10^7 pairs."""
    found, at = np.empty((3, sum(block.shape[1] for block in blocks)), dtype=np.int64), 0
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        found[:, at : at + block.shape[1]] = block
        at += block.shape[1]
    return found


def threads() -> int:
    """How many threads share a long row: ``RESTRICT_THREADS``, or the number of processors."""
    wanted = os.environ.get("RESTRICT_THREADS", "")
    return max(1, min(64, int(wanted))) if wanted.isdigit() else PROCESSORS


@cache
def pool() -> ThreadPoolExecutor:
    """The threads that share long rows, started once."""
    return ThreadPoolExecutor(max_workers=64, thread_name_prefix="restrict-row")
