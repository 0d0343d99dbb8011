"""How far one symbol moves a logit of a one-layer model: by every word, or branch and bound over pairs of cells.

Where words are few, each is tried (:func:`every_word`). Else a *pair* says that the first word's attention result lies
in one box and the second word's in another, in the axes of :class:`.pairs.Axes`. What can be done with it: boxes
farther apart along an axis than an exchange moves the result are no pair of that exchange (Theorem 9, with the average
limited to the box), so exchanges are dropped and boxes cut; and boxes outside the results' polygon in some plane hold
no word. A pair's bound is the smaller of two: the ranges of the logit on both boxes, and the mean value theorem on
their hull, whose gradient is ``g0 +- rho`` (:mod:`.slopes`). The worst pair is halved, until the bound is near what two
words attain. Nothing is lost but what is in cells of positive size, so the bound is as near as time allows: the proof
is in docs/soft-verdicts.md.

Words that are few: no more is lost than rounding. The logits of every word with one symbol at the output are enclosed
once, in a table: its words are numbered as digits, one for each free place. An exchange at a place compares the entries
along its axis, so the largest change is the largest difference along an axis. Where all free places have the same
weights and values (a model without positions), the order of a word's symbols does not matter: then the table has one
line for each way to fill the places beside one exchanged place.
"""

import heapq
import itertools
import math
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.bounds.parts import readout_rows
from restrict.soft.influence.exchanges import Sample, Tried, of_logits, spread_of
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import Changes, Head, Pair, PairBound, Plane, slack_of
from restrict.soft.influence.polygons import Flags
from restrict.soft.influence.slopes import ROUND, Form, tail
from restrict.soft.models.model import Floats, SoftModel

ALIKE: Fact[float] = 1e-12
"""How far weights (as a share of them) and values may be apart to be called the same."""


class Cell(NamedTuple):
    """Ranges of the coordinates of attention's result."""

    low: Floats
    high: Floats

    def halves(self, m: int) -> "tuple[Cell, Cell]":
        """Both halves along a coordinate."""
        middle = (self.low[m] + self.high[m]) / 2
        below, above = Cell(self.low, self.high.copy()), Cell(self.low.copy(), self.high)
        below.high[m] = above.low[m] = middle
        return below, above

    def hull(self, other: "Cell") -> "Cell":
        """The least cell around both."""
        return Cell(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Both(NamedTuple):
    """A pair: the cells of the first and the second word's result, the exchanges left, and a bound on each move."""

    first: Cell
    second: Cell
    near: I64
    moves: Floats


class Line(NamedTuple):
    """A direction in the coordinates: its planes (none where only the range counts), and the range of the results."""

    row: Floats
    planes: list[Plane]
    low: float
    high: float


class Space:
    """The results of one symbol at the output: coordinates, their polygons, and which exchange undoes which."""

    def __init__(self, changes: Changes) -> None:
        self.changes, axes = changes, changes.along_axes(spread_of(changes))
        self.basis, self.entries = axes.rows, axes.changes
        self.centre = sum((h.v[h.e > 0].mean(0) for h in changes.heads), np.zeros(len(axes.rows)))
        at = axes.rows @ self.centre
        slack = 1e-12 * (1 + np.abs(axes.rows) @ np.abs(self.centre))
        self.whole = Cell(axes.low - at - slack, axes.high - at + slack)
        number = {x: k for k, x in enumerate(changes.exchanges)}
        self.undone = np.array([number[t, o, s] for t, s, o in changes.exchanges], dtype=np.int64)
        self.lines = self._lines()

    def _lines(self) -> list[Line]:
        width, found = self.whole.high - self.whole.low, []
        order = [int(m) for m in np.argsort(-width, kind="stable") if width[m] > 1e-3 * width.max()]
        for m in order[: INFLUENCE.active]:
            row = np.eye(len(width))[m]
            planes = [self.changes.plane(head, self.basis[m]) for head in self.changes.heads]
            found.append(Line(row, planes, self.whole.low[m], self.whole.high[m]))
        for i, j in itertools.combinations(order[: INFLUENCE.paired], 2):
            for turn in np.pi * (np.arange(INFLUENCE.fan) + 0.5) / INFLUENCE.fan:
                row = np.zeros(len(width))
                row[i], row[j] = math.cos(turn) / width[i], math.sin(turn) / width[j]
                _, ranges = self.changes.along(row @ self.basis)
                low, high = (sum(r[side] for r in ranges) for side in (0, 1))
                at = float(row @ self.basis @ self.centre)
                slack = 1e-12 * (1 + float(np.abs(row).sum()) + float(np.abs(row @ self.basis) @ np.abs(self.centre)))
                found.append(Line(row, [], low - at - slack, high - at + slack))
        return found

    def start(self) -> Both:
        """All results, and each exchange once: the first word is that with the smaller symbol."""
        once = np.array([k for k, (_, s, o) in enumerate(self.changes.exchanges) if s < o], dtype=np.int64)
        return Both(self.whole, self.whole, once, self.entries[once].max(0))

    def moved(self, line: Line, near: I64, within: tuple[float, float]) -> Floats:
        """How far exchanges move the result along a line, from words whose result is within limits (one head)."""
        at = self.basis.T @ line.row
        shift, off = float(at @ self.centre), 1e-12 * (1 + float(np.abs(at) @ np.abs(self.centre)))
        limits = (within[0] + shift - off, within[1] + shift + off)
        heads = zip(self.changes.heads, line.planes, strict=True)
        changes = [self.changes.change(head, at, plane, near, limits) for head, plane in heads]
        return sum(changes, np.zeros(len(near)))

    def narrowed(self, pair: Both) -> Both | None:
        """The same pair of words in smaller cells, with fewer exchanges; ``None`` where there is no such pair."""
        first, second = (Cell(cell.low.copy(), cell.high.copy()) for cell in (pair.first, pair.second))
        near, moves = pair.near, pair.moves.copy()
        for line in self.lines:
            a, b = (_range(line.row, cell) for cell in (first, second))
            if max(a[0], b[0]) > line.high or min(a[1], b[1]) < line.low:
                return None
            if not line.planes:
                continue
            m = int(line.row.argmax())
            moved = np.minimum(self.moved(line, near, a), self.moved(line, self.undone[near], b))
            moved = np.minimum(moved, self.entries[near, m]) * (1 + 1e-9)
            kept = moved >= max(a[0] - b[1], b[0] - a[1], 0.0) - 1e-12
            if not kept.any():
                return None
            near, moves[m] = near[kept], min(moves[m], moved[kept].max())
            first.low[m], first.high[m] = max(a[0], b[0] - moves[m]), min(a[1], b[1] + moves[m])
            second.low[m], second.high[m] = max(b[0], a[0] - moves[m]), min(b[1], a[1] + moves[m])
        return Both(first, second, near, moves)


def _range(row: Floats, cell: Cell) -> tuple[float, float]:
    """The least and the greatest value of a line on a cell, outward."""
    middle, radius = (cell.low + cell.high) / 2, (cell.high - cell.low) / 2
    at, off = float(row @ middle), float(np.abs(row) @ radius)
    off += 1e-12 * (float(np.abs(row) @ (np.abs(middle) + radius)))
    return at - off, at + off


class Logit:
    """The bound on one logit (or difference of two) for one symbol at the output."""

    def __init__(self, space: Space, row: Floats) -> None:
        self.space, self.row, parts = space, row, space.changes.parts
        self.layer, self.final, self.start = parts.layers[0], parts.model.final_norm, space.changes.start

    def streams(self, cell: Cell) -> Form:
        """The residual streams behind attention with the results of a cell."""
        space = self.space
        middle, radius = (cell.low + cell.high) / 2, (cell.high - cell.low) / 2
        centre = self.start.centre + space.centre + middle @ space.basis
        size = np.abs(centre) + np.abs(space.centre) + np.abs(middle) @ np.abs(space.basis) + float(radius.sum())
        wide = radius > INFLUENCE.thin * radius.max()
        thin = np.abs(radius[~wide]) @ np.abs(space.basis[~wide])
        return Form(centre, space.basis[wide].T * radius[wide], self.start.box + thin).rounded(size)

    def range(self, cell: Cell) -> tuple[float, float]:
        """The least and the greatest value on a cell."""
        form = tail(self.layer, self.final, self.streams(cell)).value(self.row)
        low, high = float(form.c[0] - form.reach[0]), float(form.c[0] + form.reach[0])
        return (low, high) if math.isfinite(low) and math.isfinite(high) else (-math.inf, math.inf)

    def slopes(self, cell: Cell) -> tuple[Floats, Floats]:
        """The gradient on a cell, and how far it is off in every coordinate."""
        basis = self.space.basis
        found = tail(self.layer, self.final, self.streams(cell)).gradient(self.row)
        off = np.abs(basis @ found.g).sum(1) + np.abs(basis) @ found.r
        return found.c, off + ROUND * (np.abs(basis) @ found.size)

    def bound(self, pair: Both, attained: float) -> float:
        """The greatest change between two words of a pair, or at most ``attained``."""
        (low, high), (other_low, other_high) = self.range(pair.first), self.range(pair.second)
        ranges = max(high - other_low, other_high - low) * (1 + 1e-12)
        if ranges <= attained:
            return attained
        g, rho = self.slopes(pair.first.hull(pair.second))
        if not (np.isfinite(g).all() and np.isfinite(rho).all()):
            return ranges
        space, moves = self.space, np.minimum(self.space.entries[pair.near], pair.moves)
        quick = moves @ (np.abs(space.basis @ g) + rho) * (1 + 1e-9)
        some = quick > attained
        if not some.any():
            return attained
        near, middle = pair.near[some], (pair.first.low + pair.first.high) / 2
        at, off = g @ (space.centre + middle @ space.basis), _range(space.basis @ g, pair.first)
        half = (off[1] - off[0]) / 2 + 1e-12 * (float(np.abs(g).sum()) * float(np.abs(space.centre).max() + 1))
        change, _ = space.changes.along(g, near, (float(at - half), float(at + half)))
        found = np.minimum(change[near] + moves[some] @ rho * (1 + 1e-9), quick[some])
        return max(attained, min(ranges, float(found.max())))

    def halves(self, pair: Both) -> list[Both]:
        """Both halves of the cell with the wider range, along the coordinate that leaves their ranges least."""
        spans = [high - low for low, high in (self.range(pair.first), self.range(pair.second))]
        side = int(spans[1] > spans[0])
        cell = (pair.first, pair.second)[side]
        tried = [cell.halves(m) for m in np.argsort(cell.low - cell.high, kind="stable")[: INFLUENCE.tried].tolist()]
        loss = [sum(high - low for low, high in map(self.range, halves)) for halves in tried]
        best = tried[loss.index(min(loss))]
        return [pair._replace(second=half) if side else pair._replace(first=half) for half in best]


def logit_influence(
    model: SoftModel, found: list[Changes], *, cells: int | None = None, seconds: float = 60.0
) -> PairBound:
    """How far one exchanged symbol moves any logit (any difference of two, for softmax) of a one-layer model: the
    certified bound, what was attained, and the number of pairs. ``found``: of :func:`.pairs.changes_of`. At most
    ``cells`` pairs are halved for each symbol and logit, and none after ``seconds``. Words that are few are all tried,
    whatever the limits."""
    until, rows, rng = time.monotonic() + seconds, readout_rows(model), np.random.default_rng(0)
    if not len(rows):  # one label: no difference of two
        return PairBound(0.0, 0.0, None, 0)
    settled, tried, many = 0.0, list[tuple[float, Pair | None]](), [changes for changes in found if not few(changes)]
    for changes in found:
        if few(changes):
            bound, best = every_word(changes, rows)
            settled = max(settled, bound)
        else:
            best = Tried(changes, of_logits(model, rows), len(rows), rng).pairs()
        tried += zip(Table(changes).moved(best, rows).tolist(), best, strict=True)
    attained, pair = max(tried, key=lambda one: one[0], default=(0.0, None))
    pair = pair if attained > 0 else None
    count, heap = itertools.count(), list[tuple[float, int, Logit, Both]]()
    for space, row in itertools.product(map(Space, many), rows):
        logit, whole = Logit(space, row), space.start()
        heapq.heappush(heap, (-logit.bound(whole, attained), next(count), logit, whole))
    most = 2 * (INFLUENCE.cells if cells is None else cells) * len(heap)
    while heap and -heap[0][0] > INFLUENCE.near_logit * attained and next(count) < most and time.monotonic() < until:
        _, _, logit, worst = heapq.heappop(heap)
        for half in logit.halves(worst):
            narrow = logit.space.narrowed(half)
            if narrow is not None:
                heapq.heappush(heap, (-logit.bound(narrow, attained), next(count), logit, narrow))
    return PairBound(max(attained, settled, -heap[0][0] if heap else 0.0), attained, pair, next(count))


class Table:
    """Every word with one symbol at the output, or one of each order, and which of them an exchange compares."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.sample = Sample(changes, np.random.default_rng(0))
        self.free = self.sample.free.tolist()
        self.symbols = changes.words.symbols
        self.alike = changes.words.every and bool(self.free) and all(_alike(h, self.free) for h in changes.heads)

    @property
    def count(self) -> int:
        """How many words it has."""
        if not self.alike:
            return int(self.symbols ** len(self.free))
        return self.symbols * math.comb(len(self.free) + self.symbols - 2, self.symbols - 1)

    @property
    def words(self) -> I64:
        """The words, as columns: shape (count, n)."""
        words: I64 = np.zeros((self.count, self.changes.words.n), dtype=np.int64)
        for j, symbol in self.sample.fixed.items():
            words[:, j] = symbol
        if not self.alike:
            words[:, self.free] = np.indices([self.symbols] * len(self.free)).reshape(len(self.free), self.count).T
            return words
        place = self.changes.exchanges[0][0]
        rests = itertools.combinations_with_replacement(range(self.symbols), len(self.free) - 1)
        filled = np.array(list(rests), dtype=np.int64).reshape(self.count // self.symbols, len(self.free) - 1)
        words[:, [j for j in self.free if j != place]] = np.repeat(filled, self.symbols, axis=0)
        words[:, place] = np.tile(np.arange(self.symbols), len(filled))
        return words

    def groups(self) -> Iterator[I64]:
        """Numbers of words that differ in one place, a line for each rest: shape (rests, symbols), by place."""
        number: I64 = np.arange(self.count)
        if self.alike:
            yield number.reshape(-1, self.symbols)
            return
        number = number.reshape([self.symbols] * len(self.free))
        for t in sorted({t for t, *_ in self.changes.exchanges}):
            yield number.swapaxes(self.free.index(t), -1).reshape(-1, self.symbols)

    def logits(self, words: I64, rows: Floats) -> tuple[Floats, Floats]:
        """The least and the greatest value of each row behind each word: shape (words, rows)."""
        parts, start = self.changes.parts, self.changes.start
        centre, size, off = start.centre + self.changes.read(words), np.abs(start.centre), start.box
        for head in self.changes.heads:
            off, size = off + slack_of(head, ALIKE if self.alike else 0.0), size + np.abs(head.v).max((0, 1))
        form = Form(centre, np.zeros((*centre.shape, 0)), np.broadcast_to(off, centre.shape)).rounded(size)
        behind = tail(parts.layers[0], parts.model.final_norm, form)
        values = [behind.value(row) for row in rows]
        low, high = (np.concatenate([v.c + side * v.reach for v in values], axis=1) for side in (-1, 1))
        lost = ~(np.isfinite(low) & np.isfinite(high))
        return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)

    def moved(self, pairs: list[Pair], rows: Floats) -> Floats:
        """Not more than the greatest change of any row's value between the words of each pair."""
        words: I64 = np.array(pairs, dtype=np.int64).reshape(-1, self.changes.words.n)
        low, high = (part.reshape(-1, 2, len(rows)) for part in self.logits(words, rows))
        gap = np.maximum(low[:, 1] - high[:, 0], low[:, 0] - high[:, 1]).max(1)
        return np.asarray(np.maximum(gap, 0.0) * (1 - 1e-15))


def _alike(head: Head, free: list[int]) -> bool:
    """Whether the weights and values of all free places are the same."""
    e, v = head.e[free], head.v[free]
    return bool((np.abs(e - e[0]) <= ALIKE * e[0]).all() and (np.abs(v - v[0]) <= ALIKE).all())


def few(changes: Changes) -> bool:
    """Whether the words, or their symbols without order, can all be tried."""
    table = Table(changes)
    return table.count <= INFLUENCE.table_words and all(t in table.free for t, *_ in changes.exchanges)


def every_word(changes: Changes, rows: Floats) -> tuple[float, list[Pair]]:
    """Not less than the greatest change of any row's value by an exchange, and a pair of words for each row. Cost: the
    words of :class:`Table`, forwards once each."""
    table = Table(changes)
    words = table.words
    inside = np.flatnonzero(table.sample.inside(words))
    low, high = np.full((len(words), len(rows)), np.inf), np.full((len(words), len(rows)), -np.inf)
    for some in np.array_split(inside, -(-len(inside) // INFLUENCE.batch) or 1):
        low[some], high[some] = table.logits(words[some], rows)
    there: Flags = np.zeros(len(words), dtype=bool)
    there[inside] = True
    bound, best = 0.0, [(0.0, [0, 0])] * len(rows)
    for group in table.groups():
        group = group[there[group].sum(1) > 1]
        for r in range(len(rows) if len(group) else 0):
            least, most = low[group, r], high[group, r]
            gap = most.max(1) - least.min(1)
            k = int(gap.argmax())
            bound = max(bound, float(gap[k]))
            if gap[k] > best[r][0]:
                best[r] = float(gap[k]), [int(group[k, least[k].argmin()]), int(group[k, most[k].argmax()])]
    pairs = [(words[one].tolist(), words[other].tolist()) for _, (one, other) in best if one != other]
    return bound * (1 + ROUND), pairs
