"""Heads whose score looks at ``j - i``, cut off at a constant: the same as heads that do not.

With ``reach`` D the score is a function of query, pair and ``d = j - i`` cut off to ``-D .. D``. The head becomes

- shifts: ``left1`` is the pair at ``i - 1``, ``left2`` the one at ``i - 2``, and so on (each a head on the nearest
  position to one side; "none" where there is no such position), and mirror images;
- a head over all ``j <= i - D``: it looks at ``left D`` of the positions up to ``i``, scores them at ``d = -D``, and
  copies the pair; and its mirror image;
- a map that takes the best of these two and of the pairs in between, in order of positions.

The theorem is immediate: the pairs seen are the same ones, grouped by their distance.
"""

import numpy as np

from restrict.all_lengths.program import Look, Step
from restrict.base.arrays import I32, I64
from restrict.checker.window import FUTURE, PAST, parts


def windowed(head: Look, reach: int) -> list[Step | Look]:
    """The steps that replace a head; ``head.rank`` is (2*reach+1, U, P), by ``d + reach``."""
    steps: list[Step | Look] = []
    for side, masks in (("left", PAST), ("right", FUTURE)):
        if head.mask in masks:
            steps += [*_shifts(head, reach, side), _far(head, reach, side)]
    seen = [(d, head.pair if part == "pair" else f"{head.name}@{part}") for d, part in parts(head.mask, reach)]

    def best(query: I64, *pairs: I64) -> I64:
        return _best(head, reach, [d for d, _ in seen], query, pairs)

    args = (head.query, *(v for _, v in seen))
    return [*steps, Step(head.name, args, best, head.size, head.model_variable)]


def _copying(head: Look, name: str, query: str, pair: str, rank: I32, later: bool, mask: str) -> Look:
    """A head that copies a pair of another one; one more value says that there is none."""
    none = head.rank.shape[2]
    values, wins = np.arange(none + 1, dtype=np.int64), np.full((len(rank), int(rank.max()) + 1), later)
    return Look(name, query, pair, rank, wins, values, mask, none, none + 1, head.model_variable)


def _shifts(head: Look, reach: int, side: str) -> list[Step | Look]:
    """``left1 .. leftD`` (or right): the pair that far away."""
    out: list[Step | Look] = []
    source, flat = head.pair, np.zeros((1, head.rank.shape[2] + 1), dtype=np.int32)
    for d in range(1, reach + 1):
        target = f"{head.name}@{side}{d}"
        unit = f"{target}@query"
        out.append(Step(unit, (), lambda: np.zeros(1, dtype=np.int64), 1, head.model_variable))
        mask = "strict_past" if side == "left" else "strict_future"
        out.append(_copying(head, target, unit, source, flat, side == "left", mask))
        source = target
    return out


def _far(head: Look, reach: int, side: str) -> Look:
    """The best pair at a distance of at least ``reach``."""
    rank = np.pad(head.rank[0 if side == "left" else 2 * reach] + 1, ((0, 0), (0, 1)))
    mask, pair = "past" if side == "left" else "future", f"{head.name}@{side}{reach}"
    return _copying(head, f"{head.name}@far_{side}", head.query, pair, rank, bool(head.later.flat[0]), mask)


def _best(head: Look, reach: int, offsets: list[int], query: I64, pairs: tuple[I64, ...]) -> I64:
    """The value of the best pair, going through the offsets from left to right."""
    right = bool(head.later.flat[0])
    value, best = (np.full(len(query), start, dtype=np.int64) for start in (head.default, -1))
    for d, pair in zip(offsets, pairs, strict=True):
        there = pair < head.rank.shape[2]
        safe = np.where(there, pair, 0)
        rank = np.where(there, head.rank[d + reach][query, safe], -1)
        wins = there & ((rank >= best) if right else (rank > best))
        best, value = np.where(wins, rank, best), np.where(wins, head.value[safe], value)
    return value
