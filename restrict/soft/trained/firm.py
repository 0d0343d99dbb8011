"""Decided cases again, with every bound beyond its rounding: what is right as run (docs/soft-verdicts.md, Theorem F).
The leaves of a case's tree are looked at first; what is not beyond its rounding is halved, level by level, as the
rounding of many cells at once takes little more time than that of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from restrict.base.arrays import I64
from restrict.soft.trained.directions import Key
from restrict.soft.trained.forms import Cell, Form, Ready, halves, leaves_of
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import ALL, SAFE, Case, Search

Errors = Callable[[Sequence[Key], Form], Array]
"""For each label a bound on its rounding in each of some cells (an axis in front), each of its case."""


class Margin(NamedTuple):
    """A bound on a label's logit times the last deviation, that on its rounding, their quotient, and the case."""

    ratio: float
    least: float
    error: float
    key: Key


NONE = Margin(math.inf, math.inf, 0.0, (-1, -1, -1))
"""Nothing is asked."""


def nearest(margins: Array, errors: Array, key: Key) -> Margin:
    """The least quotient of some bounds by their rounding."""
    if not margins.size:
        return NONE
    k = int((margins / errors).argmin())
    return Margin(float(margins[k] / errors[k]), float(margins[k]), float(errors[k]), key)


class FirmCell(NamedTuple):
    """A cell that is to be beyond its rounding: its ends, the parts by which it was decided, how often it may be
    halved, the cell made ready and the bounds on what is asked there, where they are known."""

    low: Array
    high: Array
    parts: int
    depth: int
    made: Ready | None = None
    margins: Array | None = None


def firm(search: Search, errors: Errors, case: Case) -> tuple[int, Margin] | None:
    """A decided case with every bound beyond its rounding: how many cells it has, and the bound that is nearest;
    ``None`` where it is open."""
    key = case.key
    search.use(case.basis)
    search.weigh(*key[:2])
    search.quotients, search.held = None, search.ends(key, case.held)
    known = case.margins if case.own is None else None  # else the bounds are those of cells that several cases share
    cells = leaves_of(case.tree, *search.sides_of(key, *search.alone(case), case.tree))
    parts = [
        FirmCell(leaf.low, leaf.high, leaf.parts, OPTIONS.deepest - leaf.depth) for leaf in cells if not leaf.empty
    ]
    if known is not None:
        parts = [part._replace(margins=margins) for part, margins in zip(parts, known, strict=True)]
    found = _beyond(search, errors, key, parts, OPTIONS.simple + 2 * case.cells)
    if found is None and key[0] >= OPTIONS.shortest:
        search.turns.append(search.turned(key))
        search.use(len(search.turns) - 1)
        box = search.rounded(key)
        search.quotients, search.held = None, search.ends(key, search.narrowed(key, *box, ALL))
        found = _beyond(search, errors, key, [FirmCell(*search.span(*box), 0, OPTIONS.deepest)], OPTIONS.firm)
        search.turns.pop()
    return found


def _beyond(search: Search, errors: Errors, key: Key, level: list[FirmCell], most: int) -> tuple[int, Margin] | None:
    """Some cells of a case, and what they are halved to, at most so many."""
    asked, near, count = search.graph.asked[key[2]], NONE, 0
    if not len(asked.places):
        return len(level), near
    while level:
        count += len(level)
        if count > most:
            return None
        cells = [search.kept(key, part.low, part.high) for part in level]
        forms = [cell.form() for cell, _ in cells]
        offs = errors([key] * len(cells), Form.side_by_side(forms))
        after = []
        for part, (cell, kept), form, off in zip(level, cells, forms, map(asked.errors, offs), strict=True):
            margins = part.margins
            if margins is None or (margins <= SAFE + off).any():
                stream, signs = part.made or (search.tail.near(form), None)
                done, margins, worst = search.leaf(key, part.low, part.high, kept, stream, off, signs, part.parts)
                if done is None:
                    if not part.depth or not len(kept):
                        return None
                    after += _halved(search, key, part, cell, kept, worst)
                    continue
            near = min(near, nearest(margins, off, key))
        level = after
    return count, near


def _halved(search: Search, key: Key, part: FirmCell, cell: Cell, kept: I64, worst: int) -> list[FirmCell]:
    """The halves of a cell."""
    m, first, second = search.halving(cell, kept, key, worst, part.low, part.high)
    below, above = halves(part.low, part.high, m)
    return [
        FirmCell(part.low, below, 0, part.depth - 1, first),
        FirmCell(above, part.high, 0, part.depth - 1, second),
    ]
