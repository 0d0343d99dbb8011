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
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.bounds.parts import readout_rows
from restrict.soft.influence.ascent import Ascent
from restrict.soft.influence.exchanges import Sample, logits_behind, spread_of
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import Changes, PairBound, SymbolHead, WordPair, slack_of
from restrict.soft.influence.polygons import Flags
from restrict.soft.influence.reaches import Images, reaches
from restrict.soft.influence.slopes import ROUND, SlopeForm, tail
from restrict.soft.models.model import Floats, SoftModel

Columns = npt.NDArray[np.int16]
"""Words as columns, of which there may be a million."""
ALIKE: Fact[float] = 1e-12
"""How far weights (as a share of them) and values may be apart to be called the same."""


class ResultRanges(NamedTuple):
    """Ranges of the coordinates of attention's result."""

    low: Floats
    high: Floats

    def halves(self, m: int) -> "tuple[ResultRanges, ResultRanges]":
        """Both halves along a coordinate."""
        middle = (self.low[m] + self.high[m]) / 2
        below, above = ResultRanges(self.low, self.high.copy()), ResultRanges(self.low.copy(), self.high)
        below.high[m] = above.low[m] = middle
        return below, above

    def hull(self, other: "ResultRanges") -> "ResultRanges":
        """The least cell around both."""
        return ResultRanges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Both(NamedTuple):
    """A pair: the cells of the first and the second word's result, the exchanges left, and a bound on each move."""

    first: ResultRanges
    second: ResultRanges
    near: I64
    moves: Floats


class Lines(NamedTuple):
    """Directions in the coordinates, as rows, and the range of the results along each."""

    rows: Floats
    low: Floats
    high: Floats

    def meets(self, cell: ResultRanges) -> bool:
        """Whether a cell may hold a result."""
        low, high = _range(self.rows, cell)
        return bool((low <= self.high).all() and (high >= self.low).all())

    def cut(self, cell: ResultRanges) -> ResultRanges:
        """The part of a cell, as a cell, that is within the range along each row when the rest of it is anywhere."""
        ends = (
            np.minimum(self.rows * cell.low, self.rows * cell.high),
            np.maximum(self.rows * cell.low, self.rows * cell.high),
        )
        least, most = (end.sum(1, keepdims=True) - end for end in ends)
        slack = (
            1e-12
            * (np.maximum(np.abs(ends[0]), np.abs(ends[1])).sum(1) + np.abs(self.low) + np.abs(self.high))[:, None]
        )
        up, down = self.high[:, None] - least + slack, self.low[:, None] - most - slack
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = up / self.rows, down / self.rows
        used = self.rows != 0
        up, down = np.where(self.rows < 0, down, up), np.where(self.rows < 0, up, down)
        high = np.minimum(cell.high, np.where(used, up, np.inf).min(0, initial=np.inf))
        low = np.maximum(cell.low, np.where(used, down, -np.inf).max(0, initial=-np.inf))
        return ResultRanges(np.minimum(low, high), np.maximum(low, high))


class Space:
    """The results of one symbol at the output: coordinates, their polygons, and which exchange undoes which."""

    def __init__(self, changes: Changes) -> None:
        self.changes, axes = changes, changes.along_axes(spread_of(changes))
        self.basis, self.entries = axes.rows, axes.changes
        self.centre = sum((h.v[h.e > 0].mean(0) for h in changes.heads), np.zeros(len(axes.rows)))
        at = axes.rows @ self.centre
        slack = 1e-12 * (1 + np.abs(axes.rows) @ np.abs(self.centre))
        self.whole = ResultRanges(axes.low - at - slack, axes.high - at + slack)
        number = {x: k for k, x in enumerate(changes.exchanges)}
        self.undone = np.array([number[t, o, s] for t, s, o in changes.exchanges], dtype=np.int64)
        width = self.whole.high - self.whole.low
        order = [int(m) for m in np.argsort(-width, kind="stable") if width[m] > 1e-3 * width.max()]
        self.planes = {
            m: [changes.plane(head, self.basis[m]) for head in changes.heads] for m in order[: INFLUENCE.active]
        }
        self.lines = self._lines(order, width)
        self.images = Images(changes, self.basis, self.centre) if len(changes.heads) == 1 else None
        self.told = order[:3]

    def _lines(self, wide: list[int], width: Floats) -> Lines:
        axes, size, every = np.eye(len(width)), 1 / np.where(width > 0, width, 1.0), self.changes.words.every
        fans = [axes[:0]]
        near = list(itertools.combinations(wide[: INFLUENCE.paired], 2))
        far = [(wide[0], j) for j in wide[INFLUENCE.paired :] if every]
        for i, j in near + far:
            count = INFLUENCE.first_fan if every and i == wide[0] else INFLUENCE.fan
            turns = np.pi * (np.arange(count) + 0.5) / count
            fans.append(np.outer(np.cos(turns), size[i] * axes[i]) + np.outer(np.sin(turns), size[j] * axes[j]))
        rows: Floats = np.concatenate(fans)
        along = rows @ self.basis
        if every:
            low, high = reaches(self.changes, along)
        else:
            found = [self.changes.along(row)[1] for row in along]
            low, high = (np.array([sum(r[side] for r in ranges) for ranges in found]) for side in (0, 1))
        at, slack = along @ self.centre, 1e-12 * (1 + np.abs(rows).sum(1) + np.abs(along) @ np.abs(self.centre))
        return Lines(rows, low - at - slack, high - at + slack)

    def start(self) -> Both:
        """All results, and each exchange once: the first word is that with the smaller symbol."""
        once = np.array([k for k, (_, s, o) in enumerate(self.changes.exchanges) if s < o], dtype=np.int64)
        return Both(self.whole, self.whole, once, self.entries[once].max(0))

    def moved(self, m: int, near: I64, within: tuple[float, float]) -> Floats:
        """How far exchanges move the result along an axis, from words whose result is within limits (one head)."""
        at = self.basis[m]
        shift, off = float(at @ self.centre), 1e-12 * (1 + float(np.abs(at) @ np.abs(self.centre)))
        limits = (within[0] + shift - off, within[1] + shift + off)
        heads = zip(self.changes.heads, self.planes[m], strict=True)
        changes = [self.changes.change(head, at, plane, near, limits) for head, plane in heads]
        return sum(changes, np.zeros(len(near)))

    def narrowed(self, pair: Both, m: int) -> Both | None:
        """The same pair of words in smaller cells, with fewer exchanges, after a halving along an axis; ``None`` where
        there is no such pair."""
        if not (self.lines.meets(pair.first) and self.lines.meets(pair.second)):
            return None
        first, second = (self.lines.cut(cell) for cell in (pair.first, pair.second))
        if m not in self.planes:
            return self._met(pair._replace(first=first, second=second))
        a, b = ((float(cell.low[m]), float(cell.high[m])) for cell in (first, second))
        moved = np.minimum(self.moved(m, pair.near, a), self.moved(m, self.undone[pair.near], b))
        moved = np.minimum(moved, self.entries[pair.near, m]) * (1 + 1e-9)
        kept = moved >= max(a[0] - b[1], b[0] - a[1], 0.0) - 1e-12
        if not kept.any():
            return None
        near = pair.near[kept]
        moves = np.minimum(pair.moves, self.entries[near].max(0))
        moves[m] = min(moves[m], moved[kept].max())
        first.low[m], first.high[m] = max(a[0], b[0] - moves[m]), min(a[1], b[1] + moves[m])
        second.low[m], second.high[m] = max(b[0], a[0] - moves[m]), min(b[1], a[1] + moves[m])
        return self._met(Both(first, second, near, moves))

    def _met(self, pair: Both) -> Both | None:
        """A pair in which each cell is within what the exchanges make of the other one (one head)."""
        if self.images is None:
            return pair
        first, second, near, _ = pair
        ahead = self.images.after(first.low, first.high, near, self.told)
        back = self.images.after(second.low, second.high, self.undone[near], self.told)
        kept = (
            (ahead[0] <= second.high) & (ahead[1] >= second.low) & (back[0] <= first.high) & (back[1] >= first.low)
        ).all(1)
        if not kept.any():
            return None
        first, second = (
            ResultRanges(np.maximum(cell.low, low[kept].min(0)), np.minimum(cell.high, high[kept].max(0)))
            for cell, (low, high) in ((first, back), (second, ahead))
        )
        near = near[kept]
        return Both(first, second, near, np.minimum(pair.moves, self.entries[near].max(0)))


def _range(rows: Floats, cell: ResultRanges) -> tuple[Floats, Floats]:
    """The least and the greatest value of each row on a cell, outward."""
    middle, radius = (cell.low + cell.high) / 2, (cell.high - cell.low) / 2
    size = np.abs(rows)
    at, off = rows @ middle, size @ radius + 1e-12 * (size @ (np.abs(middle) + radius))
    return at - off, at + off


class Logit:
    """The bound on one logit (or difference of two) for one symbol at the output."""

    def __init__(self, space: Space, row: Floats) -> None:
        self.space, self.row, parts = space, row, space.changes.parts
        self.layer, self.final, self.start = parts.layers[0], parts.model.final_norm, space.changes.start

    def streams(self, low: Floats, high: Floats) -> SlopeForm:
        """The residual streams behind attention with results between these; axes in front number cells."""
        space = self.space
        middle, radius = (low + high) / 2, (high - low) / 2
        centre = self.start.centre + space.centre + middle @ space.basis
        reach = np.abs(middle) @ np.abs(space.basis) + radius.sum(-1, keepdims=True)
        size = np.abs(centre) + np.abs(space.centre) + reach
        wide = self.wide(low, high)
        thin = np.delete(radius, wide, -1) @ np.abs(np.delete(space.basis, wide, 0))
        return SlopeForm(centre, space.basis[wide].T * radius[..., None, wide], self.start.box + thin).rounded(size)

    def ranges(self, pair: Both) -> tuple[Floats, Floats]:
        """The least and the greatest value on each cell of a pair."""
        cells = pair.first, pair.second
        streams = self.streams(np.stack([cell.low for cell in cells]), np.stack([cell.high for cell in cells]))
        low, high = (end[:, 0] for end in tail(self.layer, self.final, streams).values(self.row[None]))
        lost = ~(np.isfinite(low) & np.isfinite(high))
        return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)

    def slopes(self, pair: Both) -> tuple[Floats, Floats, Floats]:
        """The mean gradient on the way from the first word's result to the second's, how far it is off in every
        coordinate, and what each coordinate's width has of that."""
        basis, (first, second) = self.space.basis, pair[:2]
        hull, widths = first.hull(second), np.maximum(first.high - first.low, second.high - second.low)
        far = (hull.high - hull.low - widths) / np.maximum(widths, 1e-12 * (1 + widths.max()))
        parts = int(np.clip(np.ceil(far[:6].max()), 1, INFLUENCE.ways))
        ends = np.linspace(0.0, 1.0, parts + 1)[:, None]
        lows, highs = (one + ends * (other - one) for one, other in zip(first, second, strict=True))
        low, high = np.minimum(lows[:-1], lows[1:]), np.maximum(highs[:-1], highs[1:])
        low, high = low - 1e-14 * (1 + np.abs(low)), high + 1e-14 * (1 + np.abs(high))
        wide = self.wide(low, high)
        behind = tail(self.layer, self.final, self.streams(low, high))
        found = behind.gradient(self.row)
        # To the first order the mean on a part of the way is the gradient at the middle of that part.
        count, radius = len(wide), (high - low)[:, wide] / 2
        middle = ((lows[:-1] + lows[1:]) / 2)[:, wide], ((highs[:-1] + highs[1:]) / 2)[:, wide]
        shift = ((middle[0] + middle[1]) - (low + high)[:, wide]) / 2 / radius
        share = (middle[1] - middle[0]) / 2 / radius + 1e-12
        along = basis @ found.g
        g = found.c + (found.g[..., :count] * shift[:, None]).sum(-1)
        own = np.abs(along[..., :count]) * share[:, None]
        off = own.sum(-1) + np.abs(along[..., count:]).sum(-1) + found.r @ np.abs(basis).T
        sees = np.zeros((len(basis), len(basis)))
        sees[:, wide] = own.mean(0)
        lengths = np.linalg.norm(behind.last.g[..., :count], axis=1).mean(0)
        rest = off.mean(0) - own.sum(-1).mean(0)
        if np.isfinite(rest).all() and lengths.sum() > 0:
            sees[:, wide] += 2 * rest[:, None] * lengths / lengths.sum()
        return g.mean(0), off.mean(0) + 4 * ROUND * (found.size.mean(0) @ np.abs(basis).T), sees

    def wide(self, low: Floats, high: Floats) -> I64:
        """The coordinates that have a generator."""
        radius = (high - low) / 2
        found: I64 = np.flatnonzero((radius > INFLUENCE.thin * radius.max()).reshape(-1, radius.shape[-1]).any(0))
        return found

    def judged(self, pair: Both, attained: float) -> tuple[float, Floats]:
        """The greatest change between two words of a pair, or at most ``attained``; what each coordinate has of it."""
        low, high = self.ranges(pair)
        ranges = float((high - low[::-1]).max()) * (1 + 1e-12)
        if ranges <= attained:
            return attained, np.zeros_like(pair.moves)
        g, rho, sees = self.slopes(pair)
        if not (np.isfinite(g).all() and np.isfinite(rho).all()):
            return ranges, np.zeros_like(pair.moves)
        return min(ranges, self._moved(pair, g, rho, attained)), pair.moves @ sees

    def _moved(self, pair: Both, g: Floats, rho: Floats, attained: float) -> float:
        """The greatest change along a gradient that is off by ``rho`` in every coordinate, or at most ``attained``."""
        space, moves = self.space, np.minimum(self.space.entries[pair.near], pair.moves)
        quick = moves @ (np.abs(space.basis @ g) + rho) * (1 + 1e-9)
        some = quick > attained
        if not some.any():
            return attained
        near, middle = pair.near[some], (pair.first.low + pair.first.high) / 2
        at, off = g @ (space.centre + middle @ space.basis), _range(space.basis @ g, pair.first)
        half = float(off[1] - off[0]) / 2 + 1e-12 * (float(np.abs(g).sum()) * float(np.abs(space.centre).max() + 1))
        change, _ = space.changes.along(g, near, (float(at - half), float(at + half)))
        found = np.minimum(change[near] + moves[some] @ rho * (1 + 1e-9), quick[some])
        return max(attained, float(found.max()))

    def halves(self, pair: Both, shares: Floats) -> list[Both]:
        """Both halves of one cell, where they hold a pair: along the coordinate that has the greatest share of the
        bound, and else the widest."""
        widths = np.stack([cell.high - cell.low for cell in (pair.first, pair.second)])
        weight = shares * widths / np.maximum(widths.max(0), 1e-300)
        if not (np.isfinite(weight).all() and weight.max() > 0):
            weight = widths
        side, m = divmod(int(weight.argmax()), widths.shape[1])
        halves = (pair.first, pair.second)[side].halves(m)
        made = [pair._replace(second=half) if side else pair._replace(first=half) for half in halves]
        return [narrow for half in made if (narrow := self.space.narrowed(half, m)) is not None]


def logit_influence(
    model: SoftModel, found: list[Changes], *, cells: int | None = None, seconds: float = 60.0,
    clock: Callable[[], float] = time.monotonic,
) -> PairBound:  # fmt: skip
    """How far one exchanged symbol moves any logit (any difference of two, for softmax) of a one-layer model: the
    certified bound, what was attained, and the number of pairs. ``found``: of :func:`.pairs.changes_of`. At most
    ``cells`` pairs are halved for each symbol and logit, and none after ``seconds`` of it by ``clock``. Words that are
    few are all tried, whatever the limits, and eight times as many where ``seconds`` will do."""
    rows, rng = readout_rows(model), np.random.default_rng(0)
    if not len(rows):  # one label: no difference of two
        return PairBound(0.0, 0.0, None, 0)
    settled, tried = 0.0, list[tuple[float, WordPair | None]]()
    most = INFLUENCE.table_words
    if seconds < math.inf and sum(WordTable(one).count for one in found) <= seconds * INFLUENCE.table_speed:
        most *= INFLUENCE.table_more
    many = [changes for changes in found if not few(changes, most)]
    for changes in found:
        if few(changes, most):
            bound, best = every_word(changes, rows)
            settled = max(settled, bound)
        else:
            best = Ascent(changes, logits_behind(model, rows), len(rows), rng).pairs()
        tried += zip(WordTable(changes).moved(best, rows).tolist(), best, strict=True)
    attained, pair = max(tried, key=lambda one: one[0], default=(0.0, None))
    pair = pair if attained > 0 else None
    count, heap = itertools.count(), list[tuple[float, int, Logit, Both, Floats]]()

    def keep(logit: Logit, pair: Both) -> None:
        found, shares = logit.judged(pair, attained)
        heapq.heappush(heap, (-found, next(count), logit, pair, shares))

    for space, row in itertools.product(map(Space, many), rows):
        keep(Logit(space, row), space.start())
    until = clock() + seconds
    most = 2 * (INFLUENCE.cells if cells is None else cells) * len(heap)
    while heap and -heap[0][0] > INFLUENCE.near_logit * attained and next(count) < most and clock() < until:
        _, _, logit, worst, shares = heapq.heappop(heap)
        for half in logit.halves(worst, shares):
            keep(logit, half)
    return PairBound(max(attained, settled, -heap[0][0] if heap else 0.0), attained, pair, next(count))


class WordTable:
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
        return self.of(np.arange(self.count))

    @cached_property
    def _rests(self) -> Columns:
        """The ways to fill all free places but one, in order of the symbols."""
        places = len(self.free) - 1
        rests = itertools.combinations_with_replacement(range(self.symbols), places)
        flat = np.fromiter(itertools.chain.from_iterable(rests), dtype=np.int16)
        return flat.reshape(self.count // self.symbols, places)

    def of(self, numbers: I64) -> I64:
        """The words of these numbers, as columns: shape (numbers, n)."""
        words: I64 = np.zeros((len(numbers), self.changes.words.n), dtype=np.int64)
        for j, symbol in self.sample.fixed.items():
            words[:, j] = symbol
        if not self.alike:
            for j in reversed(self.free):
                numbers, words[:, j] = np.divmod(numbers, self.symbols)
            return words
        place = self.changes.exchanges[0][0]
        rest, words[:, place] = np.divmod(numbers, self.symbols)
        words[:, [j for j in self.free if j != place]] = self._rests[rest]
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
        form = SlopeForm(centre, np.zeros((*centre.shape, 0)), np.broadcast_to(off, centre.shape)).rounded(size)
        low, high = tail(parts.layers[0], parts.model.final_norm, form).values(rows)
        lost = ~(np.isfinite(low) & np.isfinite(high))
        return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)

    def moved(self, pairs: list[WordPair], rows: Floats) -> Floats:
        """Not more than the greatest change of any row's value between the words of each pair."""
        words: I64 = np.array(pairs, dtype=np.int64).reshape(-1, self.changes.words.n)
        low, high = (part.reshape(-1, 2, len(rows)) for part in self.logits(words, rows))
        gap = np.maximum(low[:, 1] - high[:, 0], low[:, 0] - high[:, 1]).max(1)
        return np.asarray(np.maximum(gap, 0.0) * (1 - 1e-15))


def _alike(head: SymbolHead, free: list[int]) -> bool:
    """Whether the weights and values of all free places are the same."""
    e, v = head.e[free], head.v[free]
    return bool((np.abs(e - e[0]) <= ALIKE * e[0]).all() and (np.abs(v - v[0]) <= ALIKE).all())


def few(changes: Changes, most: int | None = None) -> bool:
    """Whether the words, or their symbols without order, can all be tried: at most so many."""
    table, most = WordTable(changes), INFLUENCE.table_words if most is None else most
    return table.count <= most and all(t in table.free for t, *_ in changes.exchanges)


def every_word(changes: Changes, rows: Floats) -> tuple[float, list[WordPair]]:
    """Not less than the greatest change of any row's value by an exchange, and a pair of words for each row. Cost: the
    words of :class:`WordTable`, forwards once each."""
    table = WordTable(changes)
    low, high = np.full((table.count, len(rows)), np.inf), np.full((table.count, len(rows)), -np.inf)
    there: Flags = np.zeros(table.count, dtype=bool)
    for some in np.array_split(np.arange(table.count), -(-table.count // INFLUENCE.batch)):
        words = table.of(some)
        kept = table.sample.inside(words)
        if kept.any():
            low[some[kept]], high[some[kept]] = table.logits(words[kept], rows)
            there[some] = kept
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
    pairs = [table.of(np.array(pair)).tolist() for _, pair in best if pair[0] != pair[1]]
    return bound * (1 + ROUND), [(one, other) for one, other in pairs]
