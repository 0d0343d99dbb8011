"""The search for a verdict: boxes for every case, affine forms to the logits, own directions, cells (theory: page).
Float64 throughout: what it finds are hints, and the trusted checker decides. ``decide`` goes through the cases in order
of their position and stops at ``--time`` or an interrupt with what it has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.trained.atoms import Basis, basis_of
from restrict.soft.trained.attack import Attack
from restrict.soft.trained.cells import Near, valued
from restrict.soft.trained.directions import BOUND, Directions, Key, lengthened
from restrict.soft.trained.empty import Empty
from restrict.soft.trained.forms import Cell, Ready, Tail, Tree, coordinates, halved
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.multipliers import multipliers
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.read_out import Asked
from restrict.soft.trained.stored import Array

SAFE: Fact[float] = 1e-4
"""A label's bound must be this far above zero, as the checker rounds outward."""
SPANS: Fact[int] = 64
"""Coordinates, the widest ones, that are kept apart on a cell, as in the checker; others go to the remainder."""
ALL: Fact[int] = 1 << 16
READ: Fact[int] = 1 << 8
"""Bounds on what neurons read: on all of them; and they are in units of ``2^-8``."""
HUGE = float(1 << 59)
"""A certificate holds smaller multipliers."""
BEYOND: Fact[float] = 1e12
"""No bounds are given on neurons that read as much."""


@dataclass
class Case:
    """A case that is decided: bounds (integers times ``2^-16``, then those on quotients of denominators, times
    ``2^-40``, if they are needed), the tree of cells, how many it has, its basis, and bounds on what neurons read (the
    neuron, then the upper end and the width of each head, in units of ``2^-8``). ``own``: the bounds that the case has
    alone, where it shares its hints with others. ``margins``: the bounds of what is asked on each leaf, from left to
    right, shape ``(leaves, asked)``; ``least`` the least."""

    key: Key
    upper: list[int]
    width: list[int]
    tree: Tree
    cells: int
    least: float
    basis: int = 0
    held: list[list[int]] = field(default_factory=list)
    own: tuple[list[int], list[int]] | None = None
    margins: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False, compare=False)


@dataclass
class Layered(Case):
    """A case of two layers: also the number of the second basis and, for each cell of the first tree, its hints."""

    second: int = 0
    leaves: list[list[Any]] = field(default_factory=list)


@dataclass
class Open:
    """A case that is not decided: the label whose sign is not shown, the bound reached."""

    key: Key
    label: int
    least: float


class Search(Directions):
    """A model of one layer on one graph, up to ``n`` symbols; ``least`` as in :class:`Atoms`."""

    sided = True

    def __init__(self, model: Trained, graph: Graph, n: int, least: float | None = None) -> None:
        super().__init__(model, graph, n, least)
        self.tail, self.n, self.cells = Tail(model, graph.labels), n, OPTIONS.cells
        self.neurons: Sequence[int] = (OPTIONS.neurons, ALL)
        fewer = [self.atoms.spanned(least) for least in OPTIONS.coarse if least > self.atoms.least]
        whole = sum(len(basis.rows) for basis in self.atoms.bases)
        self.turns += [bases for bases in fewer if 4 * sum(len(basis.rows) for basis in bases) <= 3 * whole]
        self.coarse, finest = range(1, len(self.turns)), self.atoms.spanned(OPTIONS.finest)
        self.finest, self.full = len(self.turns), sum(len(basis.rows) for basis in finest)
        self.turns += [finest] if self.full > whole else []
        self.missed: dict[tuple[int, int, int], int] = {}
        self.chosen: dict[tuple[int, int], int] = {}
        self.tried: dict[tuple[int, int], int] = {}
        self.shares: list[Array] = []
        self.hopeless = False
        self.empty: Empty | None = None
        self.held = np.zeros((2, 0))
        self.dead: tuple[Array, Array] | None = None
        self.hard: dict[tuple[int, int, int], int] = {}
        self.reading: tuple[Key, Array] = (-1, -1, -1), np.zeros(0)

    def case(self, key: Key) -> Case | Open:
        """The checker's hints for a case (position, symbol, state), in its own coordinates if it is hard; or why it is
        open."""
        group = key[1:]
        for number in self.coarse:
            if key[0] >= OPTIONS.again * self.missed.get((number, *group), 0):
                self.use(number)
                if isinstance(found := self.attempt(key, 1), Case):
                    return found
                self.missed[number, *group] = key[0]
                if self.hopeless:
                    return found
        self.use(self.chosen.get(group, 0))
        found = self.attempt(key)
        if isinstance(found, Open) and not self.hopeless and len(self.rows) < self.full:
            self.chosen[group] = self.finest
            self.use(self.finest)
            found = self.attempt(key)
        hard = isinstance(found, Open) or found.cells > OPTIONS.few
        again = isinstance(found, Open) or key[0] >= OPTIONS.again * self.tried.get(group, 0)
        room = self.rows.size * len(self.turns) <= OPTIONS.room or isinstance(found, Open)
        room = room and key[0] >= OPTIONS.shortest and len(self.turns) < OPTIONS.turns
        if self.hopeless or not (hard and again and room):
            return found
        self.tried[group] = key[0]
        label = self.worst[1]
        found = self.again(key, found, self.turned(key))
        if self.atoms.heads > 1 and (isinstance(found, Open) or found.cells > OPTIONS.hard):
            found = self.again(key, found, self.turned(key, label), OPTIONS.along)
        return found

    def again(self, key: Key, found: Case | Open, bases: list[Basis], most: int | None = None) -> Case | Open:
        """What was found of a case, or what is found in other coordinates, by at most so many cells; these are kept,
        where that is better."""
        self.turns.append(bases)
        self.use(len(self.turns) - 1)
        other = self.attempt(key, most)
        if isinstance(other, Case) and (isinstance(found, Open) or other.cells < OPTIONS.gain * found.cells):
            self.chosen[key[1:]] = self.number
            return other
        self.turns.pop()
        self.use(self.chosen.get(key[1:], 0))
        return found

    def turned(self, key: Key, label: int | None = None) -> list[Basis]:
        """A basis for each head, as wide as before, by the principal axes of outputs at random lines' ends. ``label``:
        the place of a combination; along what this makes of each head is then the first axis, as with several heads
        nothing is lost between the box and the words in that direction."""
        high, low = self.box(key)
        slope = None if label is None else self.slope(key, label)
        found, at, rng = [], 0, np.random.default_rng(0)
        for h, basis in enumerate(self.atoms.bases):
            m = len(basis.rows)
            size = np.maximum(high - low, 1e-6)[at : at + m]
            lines = rng.normal(size=(OPTIONS.words, m)) * size ** -rng.random((OPTIONS.words, 1))
            points = np.array([self.word(key, line, h)[1] for line in lines]).reshape(OPTIONS.words, m)
            mean = points.mean(0)
            _, _, axes = np.linalg.svd(points - mean)
            if slope is not None and slope[at : at + m].any():
                axes = np.linalg.qr(np.vstack([slope[at : at + m], axes]).T)[0].T
            rows = self.rows[at : at + m]
            found.append(basis_of(self.atoms.v[h], self.at[h] + mean @ rows, axes @ rows))
            at += m
        return found

    def slope(self, key: Key, label: int) -> Array:
        """How fast a combination grows in each coordinate on the box of a case."""
        low, high = self.span(*self.rounded(key))
        cell, kept = self.kept(key, low, high)
        self.held, found = self.ends(key, []), np.zeros(len(low))
        (ends,) = self.tail.pieces(self.tail.near(cell.form()), self.graph.asked[key[2]], [1], self.held)
        for _, lines in ends:
            found[kept] += lines[label] / (high - low)[kept]
        return found

    def attempt(self, key: Key, most: int | None = None) -> Case | Open:
        """The hints for the checker in a case, by at most so many cells (and at most those of the search), or why it is
        open, in the coordinates that are in use."""
        return self.settled(key, *self.rounded(key), min(OPTIONS.cells if most is None else most, self.cells))

    def rounded(self, key: Key) -> tuple[list[int], list[int]]:
        """The box of a case as a certificate holds it: the upper end and the width of every coordinate."""
        return outward(*self.box(key))

    def alone(self, case: Case) -> tuple[list[int], list[int]]:
        """The bounds of a case's own box, in the coordinates that are in use."""
        m = len(self.rows)
        return case.own or (case.upper[:m], case.width[:m])

    def settled(self, key: Key, upper: list[int], width: list[int], most: int) -> Case | Open:
        """Decide a case on its box by at most so many cells, with bounds on what neurons read where it is hard; as was
        the last one of its symbol and state that is decided, to begin with."""
        steps = [(0, min(OPTIONS.simple, most))]
        if most > OPTIONS.simple:
            steps += zip(self.neurons, (most // 4, most), strict=False)
        at, self.dead = (self.number, *key[1:]), None
        begin = min(self.hard.get(at, 0), len(steps) - 1)
        for count, cells in steps[begin:]:
            held = self.narrowed(key, upper, width, count) if count else []
            if self.dead is not None and not self.revived(key, held):
                break
            found = self.tried_on(key, upper, width, cells, held, count == ALL)
            if isinstance(found, Case):
                self.hard[at] = steps.index((count, cells))
                return found
            if self.hopeless:
                break
        self.hard[at] = 0
        return found

    def revived(self, key: Key, held: list[list[int]]) -> bool:
        """Whether the cell that could not be halved further is decided with other bounds on what neurons read."""
        assert self.dead is not None
        self.held, (low, high), asked = self.ends(key, held), self.dead, self.graph.asked[key[2]]
        cell, kept = self.kept(key, low, high)
        return self.leaf(key, low, high, kept, self.tail.near(cell.form()), np.zeros(len(asked.places)))[0] is not None

    def tried_on(
        self, key: Key, upper: list[int], width: list[int], most: int, held: list[list[int]], apart: bool = False
    ) -> Case | Open:  # fmt: skip
        """Decide a case on its box by at most so many cells, with some bounds on what neurons read. ``apart``: the
        quotients of denominators are halved, too."""
        self.left, self.worst, self.quotients, self.held = most, (math.inf, -1), None, self.ends(key, held)
        self.shares, self.hopeless = [], False
        self.empty = Empty(self, key) if self.sided and self.atoms.heads > 1 and most > 1 else None
        sides = self.span(upper, width)
        tree = self.cell(key, *((self.whole(key, *sides) if apart else None) or sides), OPTIONS.deepest)
        if tree is None:
            return Open(key, self.graph.about(key[2], self.worst[1]), self.worst[0])
        if self.quotients is not None:
            upper, width = upper + self.quotients[1], width + self.quotients[2]
        margins = np.array(self.shares)
        return Case(key, upper, width, tree, most - self.left, self.worst[0], self.number, held, margins=margins)

    def span(self, upper: list[int], width: list[int]) -> tuple[Array, Array]:
        """The ends of a box, without those of the quotients that may stand behind it."""
        top, m = np.array(upper) / BOUND, len(self.rows)
        return (top - np.array(width) / BOUND)[:m], top[:m]

    def sides_of(self, key: Key, upper: list[int], width: list[int], tree: Tree) -> tuple[Array, Array]:
        """The ends of a box, and of the quotients where a tree halves these."""
        low, high = self.span(upper, width)
        return (self.whole(key, low, high) if coordinates(tree) > len(low) else None) or (low, high)

    def ends(self, key: Key, held: list[list[int]]) -> Array:
        """Between which ends what the neurons read before the division is, shape ``(2, neurons)``."""
        found = np.full((2, len(self.tail.tables.constant)), math.inf) * [[-1], [1]]
        if held:
            given = np.array(held)
            places, upper, width = given[:, 0], given[:, 1::2].sum(1) / READ, given[:, 2::2].sum(1) / READ
            start = self.tail.tables.normal[places] @ self.start(key)
            found[:, places] = start + upper - width, start + upper
        return found

    def narrowed(self, key: Key, upper: list[int], width: list[int], count: int) -> list[list[int]]:
        """Bounds on what neurons read before the division, in all words of a case: of those for which they say most
        beside its box, in the order of the neurons."""
        if self.reading[0] != key:
            t, found = self.tail.tables, list[tuple[float, float]]()
            for h, values in enumerate(self.atoms.v):
                rows = np.ascontiguousarray(np.moveaxis(values[: key[0] + 1] @ t.normal.T, 2, 0))
                found += [(self.most(key, h, row), -self.most(key, h, -row)) for row in rows]
            self.reading = key, np.array(found).reshape(self.atoms.heads, -1, 2)
        if not np.abs(self.reading[1]).max() < BEYOND:
            return []
        high, low = np.moveaxis(self.reading[1], 2, 0)
        top, short = (np.floor(high * READ + 1e-6) + 1).astype(int), (np.ceil(low * READ - 1e-6) - 1).astype(int)
        t = self.tail.tables
        box = np.abs(t.normal @ self.rows.T) @ (np.array(width) / BOUND)
        gain = np.abs(t.rows @ t.outer).max(0) * np.maximum(box**2 - ((top - short).sum(0) / READ) ** 2, 0)
        chosen = np.sort(np.argsort(-gain, kind="stable")[: min(count, int((gain > 0).sum()))])
        return [[int(j), *np.stack([top[:, j], top[:, j] - short[:, j]], 1).ravel().tolist()] for j in chosen]

    def cell(self, key: Key, low: Array, high: Array, depth: int, made: Ready | None = None) -> Tree | None:
        """The tree that decides a cell of a case by at most ``depth`` halvings: the parts of a leaf, ``[coordinate,
        tree, tree]``; or ``None``. ``low``, ``high``: the ends of the cell. ``made``: the cell, where it is ready."""
        self.left -= 1
        asked = self.graph.asked[key[2]]
        if not len(asked.places):
            self.shares.append(np.zeros(0))
            return 0
        cell, kept = self.kept(key, low, high)
        near, signs = made or self.tail.ready(cell.form(), asked)
        parts, margins, worst = self.leaf(key, low, high, kept, near, np.zeros(len(asked.places)), signs)
        if parts is not None:
            self.worst = min(self.worst, (float(margins[worst]), worst))
            self.shares.append(margins)
            return parts
        if self.empty is not None and (row := self.empty.found(low, high)) is not None:
            return [row]
        if self.left <= 0 or self.hopeless or not depth or not len(kept):
            if not depth and len(low) == len(self.rows):
                self.dead = low, high
            self.left, self.worst = 0, (float(margins[worst]), worst)
            return None
        m, *sides = self.halving(cell, kept, key, worst, low, high, Ready(near, signs))
        rest = iter(sides)
        return halved(lambda at, top, left: self.cell(key, at, top, left, next(rest)), low, high, m, depth)

    def halving(
        self, cell: Cell, kept: I64, key: Key, worst: int, low: Array, high: Array, made: Ready | None = None
    ) -> tuple[int, Ready | None, Ready | None]:
        """The coordinate in which a cell is halved for what loses most there, and its halves, if they are ready: that
        of a quotient, where what own directions lose by it is much beside what is not of the first order."""
        asked, m = self.graph.asked[key[2]], len(self.rows)
        if len(low) > m:
            form, line = cell.form(), np.zeros(m)
            made = made or self.tail.ready(form, asked)
            line[kept] = np.abs(made.signs[1][worst])
            lost = valued(self.tail.tables, asked, form.c[None])[0, worst] - made.signs[0][worst]
            reach = np.array([part.sum() for part in np.split(line, np.cumsum(self.sizes)[:-1])[1:]])
            by = (high - low)[m:] / (high + low)[m:] * reach
            if OPTIONS.apart * by.max() > lost:
                return m + int(by.argmax()), made, made
        tried = np.argsort(cell.low - cell.high)[: OPTIONS.tried].tolist()
        at, below, above = self.tail.halving(cell, asked, worst, tried)
        whole = len(kept) == m  # else other coordinates may be the widest of a half
        return int(kept[at]), below if whole else None, above if whole else None

    def leaf(
        self, key: Key, low: Array, high: Array, kept: I64, near: Near, off: Array,
        signs: tuple[Array, Array] | None = None, begin: int = 0,
    ) -> tuple[Tree | None, Array, int]:  # fmt: skip
        """Whether a cell is decided as it is: 0 by the chord of the inverse deviation, or in how many parts of its
        range (Theorem 11), ``begin`` at least, with multipliers of its sides (Lemma V20) where they are needed;
        ``None`` if it is not. Then lower bounds of what is asked, which must be beyond ``off``, and the one that lacks
        most, or the least. ``signs``: the chord's, where they are known."""
        asked, before = self.graph.asked[key[2]], (-1, -math.inf)
        first: tuple[Array, int] | None = None
        tried = list[tuple[int, list[tuple[Array, Array]]]]()
        if not begin or not len(kept):
            least, short = signs or self.tail.signs(near, asked)
            margins, lost = self.shown(key, low, high, kept, least, short, off)
            if lost is None:
                return 0, margins, int((margins - off).argmin())
            first = margins, lost
            if not len(kept):
                return None, margins, lost
            tried.append((0, [(least, short)]))
        counts = OPTIONS.held_parts if np.isfinite(self.held).any() else OPTIONS.parts
        steps = [count for count in counts if count >= begin]
        for parts, ends in self.pieces(near, asked, steps or [begin]):
            margins, lost = np.full(len(off), math.inf), None
            for made in ends:
                found, lost = self.shown(key, low, high, kept, *made, off)
                margins = np.minimum(margins, found)
                if lost is not None:
                    break
            if lost is None:
                return parts, margins, int((margins - off).argmin())
            tried.append((parts, ends))
            first = first or (margins, lost)
            now = float(margins[lost] - off[lost])
            if lost == before[0] and 2 * now - before[1] <= SAFE:
                break  # what is lost goes down by a half at most
            before = lost, now
        if self.sided:
            parts, ends = max(tried, key=lambda some: min(float((least - off).min()) for least, _ in some[1]))
            rows, margins = self.pulled(key, low, high, kept, parts, ends, off)
            if (margins > SAFE + off).all():
                return [parts, rows] if rows else parts, margins, int((margins - off).argmin())
        assert first is not None
        return None, *first

    def pulled(
        self, key: Key, low: Array, high: Array, kept: I64, parts: int, ends: list[tuple[Array, Array]], off: Array,
        given: list[list[int]] | None = None,
    ) -> tuple[list[list[int]], Array]:  # fmt: skip
        """What is asked on a cell by affine bounds ``ends`` for so many parts, by rows of multipliers of its sides
        (Lemma V20) where it is not beyond ``off`` without: the rows, found or ``given``, and the bounds with them, up
        to the first that is not beyond."""
        rows, margins, per = list(given or ()), np.full(len(off), math.inf), 2 if parts else 1
        order = [
            (at + end, label) for at in range(0, len(ends), per) for label in range(len(off)) for end in range(per)
        ]
        for number, (at, label) in enumerate(order):
            least, line, aim = ends[at][0][label], np.zeros(len(low)), float(SAFE + off[label])
            line[kept] = ends[at][1][label]
            if (bound := float(least - np.abs(line).sum())) <= aim:
                row = next((row[1:] for row in reversed(rows) if row[0] <= number), [])
                bound = max(bound, self.beside(key, low, high, least, line, row))
                more = self.sides(key, low, high, least, line, label, aim) if bound <= aim and given is None else None
                if more is not None:
                    rows.append([number, *more])
                    bound = self.beside(key, low, high, least, line, more)
            margins[label] = min(margins[label], bound)
            if bound <= aim:
                break
        return rows, margins

    def sides(
        self, key: Key, low: Array, high: Array, least: float, line: Array, label: int, aim: float
    ) -> list[int] | None:  # fmt: skip
        """Multipliers of a cell's sides that make a label's bound greater than ``aim``, as a certificate holds them, if
        there are any. Where a mixture of words has too small a value itself, there is no hope for the case: cells
        cannot tell mixtures from words."""
        if (whole := self.whole(key, low, high)) is None:
            return None
        found, at = multipliers(
            lambda turned, need: self.farther(key, *whole, turned, need),
            least,
            lengthened(line, len(whole[0])),
            aim + SAFE,
        )
        if found is None:
            mixed = self.mixed(key, *whole, at)
            self.hopeless = bool(valued(self.tail.tables, self.graph.asked[key[2]], mixed[None])[0, label] <= aim)
            return None
        row = (found * self.units(*whole, found))[: len(low)]
        held = np.abs(row).max(initial=0) < HUGE
        return np.trim_zeros(np.round(row), "b").astype(np.int64).tolist() if held else None

    def pieces(self, near: Near, asked: Asked, counts: list[int]) -> Iterator[tuple[int, list[tuple[Array, Array]]]]:
        """Each of some counts of parts, with the bounds at their ends: two counts at a time."""
        for some in (counts[:2], counts[2:]):
            if some:
                yield from zip(some, self.tail.pieces(near, asked, some, self.held), strict=True)

    def shown(
        self, key: Key, low: Array, high: Array, kept: I64, least: Array, short: Array, off: Array
    ) -> tuple[Array, int | None]:
        """What is shown of the combinations that are asked for on a cell, by affine bounds on them; where these are not
        beyond ``off``, by own directions. Then one that is not shown, if there is one: others are left as they are."""
        lines = np.zeros((len(off), len(low)))
        lines[:, kept] = short
        margins: Array = least - np.abs(lines).sum(1)
        if not off.any() and (sunk := np.flatnonzero(least <= SAFE)).size:
            return margins, int(sunk[margins[sunk].argmin()])  # rarely of use, and more pieces cost more than halves
        for label in np.argsort(margins - np.where(np.isfinite(off), off, 0)).tolist():
            if margins[label] <= SAFE + off[label]:
                margins[label] = max(margins[label], self.own(key, low, high, least[label], lines[label]))
                if margins[label] <= SAFE + off[label]:
                    return margins, label
        return margins, None

    def kept(self, key: Key, low: Array, high: Array) -> tuple[Cell, I64]:
        """A cell of a case as :func:`widest` gives it."""
        start, m = self.start(key) + sum(self.at), len(self.rows)
        return widest(Cell(start, self.rows, self.rest, low[:m], high[:m]))

    def attack(self, key: Key, label: int) -> list[tuple[int, ...]]:
        """Words of a case on which a label (a row of the unembedding) is likely to be wrong, the most likely first."""
        if not key[0]:
            return []
        self.weigh(key[0], key[1])
        found = Attack(self.model, self.graph, self.atoms).words(key, label, self.weights)
        return [word for _, word in sorted(found)]


def outward(high: Iterable[float], low: Iterable[float]) -> tuple[list[int], list[int]]:
    """The upper ends and the widths of a box, rounded outward to integers times ``2^-16``."""
    upper = [math.floor(x * BOUND) + 1 for x in high]
    return upper, [u - (math.ceil(x * BOUND) - 1) for u, x in zip(upper, low, strict=True)]


def widest(cell: Cell) -> tuple[Cell, I64]:
    """A cell in its widest coordinates, with the others in its remainder, and which these are."""
    low, high = cell.low, cell.high
    if len(low) <= SPANS:
        return cell, np.arange(len(low))
    kept = np.sort(np.argsort(low - high, kind="stable")[:SPANS])
    others = np.setdiff1d(np.arange(len(low)), kept)
    start = cell.start + (low + high)[others] / 2 @ cell.rows[others]
    rest = cell.rest + (high - low)[others] / 2 @ np.abs(cell.rows[others])
    return Cell(start, cell.rows[kept], rest, low[kept], high[kept], cell.more), kept


def prepare(model: Trained) -> None:
    """Have the kernels compiled, or loaded from the cache, before a clock runs, by any one-layer model that has a
    start. No case is decided: without a wanted label that is hundreds of cells of arithmetic for nothing."""
    graph = Graph((tuple(0 for _ in model.symbols),), frozenset({0}), (0,), (frozenset(),))
    search = Search(model, graph, 1 if model.longest != 0 else 0)
    search.attack(graph.cases(search.n)[-1], 0)
    search.box((0, -1, 0))
    search.most((0, -1, 0), 0, np.zeros_like(search.weights[0]))  # a basis may have no rows
