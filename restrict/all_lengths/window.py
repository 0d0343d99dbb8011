"""Heads whose score looks at ``j - i``, cut off at a constant: the same as heads that do not.

With ``reach`` D the score is a function of query, pair and ``d = j - i`` cut off to ``-D .. D``. The head becomes

- shifts: ``left1`` is the pair at ``i - 1``, ``left2`` the one at ``i - 2``, and so on (each a head on the nearest
  position to one side; "none" where there is no such position), and mirror images;
- a head over all ``j <= i - D``: it looks at ``left D`` of the positions up to ``i``, scores them at ``d = -D``, and
  copies the pair; and its mirror image;
- a map that takes the best of these two and of the pairs in between, in order of positions.

The theorem is immediate: the pairs seen are the same ones, grouped by their distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from restrict.all_lengths.program import Look, Step
from restrict.base.arrays import I32, I64
from restrict.checker.window import FUTURE, PAST, parts

if TYPE_CHECKING:
    import numpy.typing as npt


def windowed(head: Look, reach: int) -> list[Step | Look]:
    """The steps that replace a head; ``head.rank`` is (2*reach+1, U, P), by ``d + reach``."""
    none = head.rank.shape[2]
    steps: list[Step | Look] = []
    for side, masks in (("left", PAST), ("right", FUTURE)):
        if head.mask in masks:
            steps += [*_shifts(head, reach, none, side), _far(head, reach, none, side)]
    seen = [(d, head.pair if part == "pair" else f"{head.name}@{part}") for d, part in parts(head.mask, reach)]
    args = (head.query, *(v for _, v in seen))

    def best(query: I64, *pairs: I64) -> I64:
        return _best(head, reach, [d for d, _ in seen], query, pairs)

    steps.append(Step(head.name, args, best, head.size, head.model_variable))
    return steps


def _shifts(head: Look, reach: int, none: int, side: str) -> list[Step | Look]:
    """``left1 .. leftD`` (or right): the pair that far away."""
    out: list[Step | Look] = []
    source = head.pair
    mask = "strict_past" if side == "left" else "strict_future"
    for d in range(1, reach + 1):
        target = f"{head.name}@{side}{d}"
        flat = np.zeros((1, none + 1), dtype=np.int32)
        later = np.full((1, 1), side == "left")
        unit = f"{target}@query"
        out.append(Step(unit, (), lambda: np.zeros(1, dtype=np.int64), 1, head.model_variable))
        values = np.arange(none + 1, dtype=np.int64)
        out.append(Look(target, unit, source, flat, later, values, mask, none, none + 1, head.model_variable))
        source = target
    return out


def _far(head: Look, reach: int, none: int, side: str) -> Look:
    """The best pair at a distance of at least ``reach``."""
    rank = head.rank[0 if side == "left" else 2 * reach]
    padded = np.zeros((rank.shape[0], none + 1), dtype=np.int32)
    padded[:, :none] = rank + 1
    later: npt.NDArray[np.bool_] = np.full((rank.shape[0], int(padded.max()) + 1), bool(head.later.flat[0]))
    return Look(
        f"{head.name}@far_{side}",
        head.query,
        f"{head.name}@{side}{reach}",
        padded,
        later,
        np.arange(none + 1, dtype=np.int64),
        "past" if side == "left" else "future",
        none,
        none + 1,
        head.model_variable,
    )


def _best(head: Look, reach: int, offsets: list[int], query: I64, pairs: tuple[I64, ...]) -> I64:
    """The value of the best pair, going through the offsets from left to right."""
    none = head.rank.shape[2]
    right = bool(head.later.flat[0])
    value = np.full(len(query), head.default, dtype=np.int64)
    best = np.full(len(query), -1, dtype=np.int64)
    ranks: I32 = head.rank
    for d, pair in zip(offsets, pairs, strict=True):
        there = pair < none
        safe = np.where(there, pair, 0)
        rank = np.where(there, ranks[d + reach][query, safe], -1)
        wins = there & ((rank >= best) if right else (rank > best))
        best, value = np.where(wins, rank, best), np.where(wins, head.value[safe], value)
    return value
