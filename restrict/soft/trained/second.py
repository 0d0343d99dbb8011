"""The search for a verdict on two layers: nodes with cells, then each case in the second layer (theory: page). A node
is a case of the first layer. The residual stream behind the first block is carried to keys, values and queries with a
generator for every error, cell by cell; the boxes of the second layer's output are longest paths over the nodes
(Theorem 8). Float64 throughout: what it finds are hints for the trusted checker."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.kernels.second import beyond, ends, weighed
from restrict.soft.trained.atoms import FARTHEST, Basis, basis_of
from restrict.soft.trained.axes import CellTable, axes
from restrict.soft.trained.cells import Near, activated, moved, normalised, valued
from restrict.soft.trained.directions import BOUND, Key
from restrict.soft.trained.empty import Empty
from restrict.soft.trained.forms import Cell, Form, Tail, Tree, grafted, halved, halves, merged, opened
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.read_out import Asked
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import SAFE, Layered, Open, Search, outward, widest

KEPT: Fact[int] = 4
STREAM: Fact[int] = 24
"""Generators of a key, a value or a query, and of the stream behind the first block, as in the checker."""
LOOSE: Fact[float] = 1e-5
"""By so much a bound stands beyond what is found: the checker's numbers differ from floats, in 1602 cases of `tomita7`
by up to 2.4e-6, and a bound just below a multiple of ``2^-16`` would be refused."""
SLOPE: Fact[int] = 1 << 16
"""Slopes of the second layer's output against a coordinate of the case's own cell are integers times ``2^-16``."""


class TurnedCell(NamedTuple):
    """A cell of a node: the stream behind the first block, and for each head a query, a key and a value, turned."""

    stream: Form
    queries: list[Form]
    keys: list[Form]
    values: list[Form]


class NodeCell(NamedTuple):
    """A cell of a node in the box of its node: lower and upper ends."""

    leaf: TurnedCell
    low: Array
    high: Array


class Way(NamedTuple):
    """What leads to a case: cells of nodes, in order; where each node's begin, the case's one cell last; and the nodes
    in front of each, ``into[before[x] : before[x + 1]]``."""

    cells: I64
    first: I64
    before: I64
    into: I64


def lines(basis: Basis) -> list[tuple[Array, float]]:
    """The directions of a basis, and where its centre is along each."""
    return [(row, float(row @ basis.middle)) for row in basis.near]


class Second:
    """A model of two layers on one graph, up to ``n`` symbols; nodes come in the order of the cases.
    ``fine``: a node's cells are halved until its keys are within it; ``deepest``: halvings on one branch; ``patient``:
    an open case is tried again with all means."""

    def __init__(self, model: Trained, graph: Graph, n: int, fine: float, deepest: int, patient: bool = True) -> None:
        self.model, self.graph, self.n, self.fine, self.deepest = model, graph, n, fine, deepest
        self.first, self.tail = Search(model, graph, n, OPTIONS.least_second), Tail(model, graph.labels)
        self.behind, norm = Tail(model, graph.labels, model.layers[0]).tables, model.layers[1].norm1
        self.normal = self.behind if norm is None else self.behind._replace(scale=norm.weight, shift=norm.bias)
        d, heads, layer = model.d, model.heads, model.layers[1]
        parts = np.split(layer.attention.weight, 3, axis=1), np.split(layer.attention.bias, 3)
        out, size = layer.projection.weight.reshape(heads, d // heads, d), d // heads
        self.maps, self.turns = [], axes(model, graph, n)
        for h, (a, b) in enumerate(self.turns):
            cut = slice(h * size, (h + 1) * size)
            q, k, v = ((np.ascontiguousarray(w[:, cut].T), b[cut]) for w, b in zip(*parts, strict=True))
            root = math.sqrt(size)
            value = b @ out[h].T
            self.maps.append(((a @ q[0] / root, a @ q[1] / root), (a @ k[0], a @ k[1]), (value @ v[0], value @ v[1])))
        self.keys, self.values = [CellTable() for _ in range(heads)], [CellTable() for _ in range(heads)]
        self.nodes: dict[Key, int] = {}
        self.places: list[dict[int, list[int]]] = [{}]
        self.starts, self.before, self.into = [0], [0], list[int]()
        self.entries = list[tuple[int, int]]()
        self.turned: dict[tuple[int, int], list[int]] = {}
        self.waiting: dict[tuple[int, int], tuple[int, int]] = {}
        """Coordinates of the first layer by symbol and state; how many nodes are left alone before some of their own
        are tried, and how many were the last time."""
        self.framed: dict[tuple[int, int], tuple[int, int]] = {}
        self.frames: list[list[Basis]] = []
        self.most = [np.zeros(d) for _ in range(heads)]
        self.slopes: dict[tuple[int, int, int], float] = {}
        self.worst = -math.inf, 0
        self.parts: tuple[int, ...] = ()
        self.patient = patient
        self.late: Callable[[], bool] = lambda: False
        """Whether the time is over: asked at every cell of a case's own node, and the case is then open."""

    # ---------------------------------------------------------------- nodes

    def leaf(self, key: Key, low: Array, high: Array) -> TurnedCell:
        """A cell of a node, carried to the second layer."""
        cell, _ = self.first.kept(key, low, high)
        start, t = cell.form(), self.behind
        y = opened(Form(*normalised(t, start.c, np.ascontiguousarray(start.g), start.r)))
        c, g, r = moved(t.inner, t.inner_bias, y.c, y.g, y.r)
        slopes, off = activated(t, c, g, r)
        y = opened(Form(c, g, np.abs(slopes) * r + off))
        c, g, r = moved(t.outer, t.outer_bias, *y)
        g = g.copy()
        g[:, : start.g.shape[1]] += start.g * t.adds
        x = Form(c + start.c * t.adds, g, r + start.r * t.adds)
        y = opened(Form(*normalised(self.normal, *x)))
        x = x if t.adds else y
        read = [[merged(Form(*moved(np.ascontiguousarray(w), b, *y)), KEPT) for w, b in maps] for maps in self.maps]
        queries, keys, values = (list(part) for part in zip(*read, strict=True))
        return TurnedCell(merged(x, STREAM), queries, keys, values)

    def cells(self, key: Key, low: Array, high: Array, depth: float, found: list[NodeCell]) -> Tree:
        """The tree of a node's cells, which are put behind ``found``."""
        leaf = self.leaf(key, low, high)
        far = max(float((np.abs(k.g).sum(1) + k.r).max()) for k in leaf.keys)
        m = int(np.argmax(high - low)) if len(low) else 0
        if far <= self.fine or depth <= 0 or not len(low) or high[m] - low[m] < OPTIONS.narrow:
            found.append(NodeCell(leaf, low, high))
            return 0
        below, above = halves(low, high, m)
        sides = (low, below), (above, high)
        rows = [self.empty.found(*side) for side in sides]
        left, both = depth - (OPTIONS.one_left if any(rows) else 1), zip(rows, sides, strict=True)
        return [m, *([row] if row else self.cells(key, *side, left, found) for row, side in both)]

    def node(self, key: Key, hard: bool = False) -> tuple[Layered, list[NodeCell]]:
        """The node of a case: its box in the coordinates in which its sides add up to least, halved. ``hard``: some of
        its own are tried in any case."""
        first, group = self.first, (key[1], self.graph.roots[key[2]])
        numbers, (wait, rest) = self.turned.setdefault(group, [0]), self.waiting.get(group, (0, 0))
        best = min((self.boxed(key, number) for number in numbers[-OPTIONS.node_turns :]), key=lambda box: box[0])
        room = OPTIONS.node_bases * (self.n if hard else key[0]) > len(first.turns) * self.n  # some are left for later
        if key[0] >= 2 and room and (hard or (best[0] > self.fine / OPTIONS.near and wait <= 0)):
            first.use(0)
            first.turns.append(first.turned(key))
            own = self.boxed(key, len(first.turns) - 1)
            if own[0] < best[0] * (1 if hard else OPTIONS.better):
                best, rest = own, 0
                numbers.append(own[1])
            else:
                first.turns.pop()
                rest = min(2 * rest + 1, OPTIONS.node_rest)
            wait = rest + 1
        self.waiting[group] = wait - 1, rest
        _, number, top, bottom = best
        first.use(number)
        upper, width = outward(top, bottom)
        high, parts = np.array(upper) / BOUND, list[NodeCell]()
        self.empty = Empty(first, key)
        tree = self.cells(key, high - np.array(width) / BOUND, high, self.deepest, parts)
        return Layered(key, upper, width, tree, len(parts), math.inf, number), parts

    def boxed(self, key: Key, number: int) -> tuple[float, int, Array, Array]:
        """The box of a case in a basis: the sum of its sides, the number, upper and lower ends."""
        self.first.use(number)
        top, bottom = self.first.box(key)
        return float((top - bottom).sum()), number, top, bottom

    def keep(self, key: Key, leaves: list[TurnedCell]) -> None:
        """Make a node ready for the cases behind it."""
        for h in range(self.model.heads):
            self.keys[h].forms += [leaf.keys[h] for leaf in leaves]
            self.values[h].forms += [leaf.values[h] for leaf in leaves]
        self.starts.append(self.starts[-1] + len(leaves))
        self.entries += [(key[0], max(key[1], 0))] * len(leaves)
        self.into += self.fronts(key)
        self.before.append(len(self.into))
        while len(self.places) <= key[0]:
            self.places.append({})
        self.places[key[0]].setdefault(key[2], []).append(len(self.nodes))
        self.nodes[key] = len(self.nodes)

    def fronts(self, key: Key) -> list[int]:
        """The nodes that can stand in front of a case."""
        i, a, q = key
        before = self.places[i - 1].items() if i else ()
        return sorted(x for p, nodes in before if self.graph.delta[p][a] == q for x in nodes)

    def leading(self, key: Key) -> Way:
        """What the words of a case go through: the nodes from which it can be reached."""
        fronts, found = self.fronts(key), set[int]()
        waiting = list(fronts)
        while waiting:
            x = waiting.pop()
            if x not in found:
                found.add(x)
                waiting += self.into[self.before[x] : self.before[x + 1]]
        nodes = sorted(found)
        place = {x: k for k, x in enumerate(nodes)}
        into = [[place[p] for p in self.into[self.before[x] : self.before[x + 1]]] for x in nodes]
        into.append([place[p] for p in fronts])
        cells = [c for x in nodes for c in range(self.starts[x], self.starts[x + 1])]
        counts = [self.starts[x + 1] - self.starts[x] for x in nodes]
        flat = [p for row in into for p in row]
        shape = np.cumsum([0, *counts, 1]), np.cumsum([0, *map(len, into)]), np.array(flat, dtype=np.int64)
        return Way(np.array(cells, dtype=np.int64), *shape)

    # ---------------------------------------------------------------- cases

    def case(self, key: Key) -> Layered | Open:
        """The checker's hints for a case, after all cases of smaller positions, or why it is open; makes it a node.
        What is open is tried again in coordinates of its own, with many more cells, as all that follows needs it; not
        where the search is not ``patient``, as a finer graph is to come."""
        self.way = self.leading(key)
        for hard in (False, True) if self.patient else (False,):
            self.parts = OPTIONS.second_parts if hard else ()
            case, parts = self.node(key, hard)
            for h, (_, turn) in enumerate(self.turns):
                for v in (part.leaf.values[h] for part in parts):
                    self.most[h] = np.maximum(self.most[h], np.abs(turn.T) @ (np.abs(v.c) + np.abs(v.g).sum(1) + v.r))
            found = self.framed_by(case, parts, OPTIONS.leaves[hard])
            if found is not None:
                self.keep(key, found[1])
                return found[0]
            if self.late():
                break
        return Open(key, self.graph.about(key[2], self.worst[1]), self.worst[0])

    def framed_by(self, case: Layered, parts: list[NodeCell], most: int) -> tuple[Layered, list[TurnedCell]] | None:
        """Decide a case in the second basis of its group, or in one of its own where that is open or old."""
        key = case.key
        group = key[1], self.graph.roots[key[2]]
        seen, number = self.framed.get(group, (0, -1))
        found = self.tried(case, parts, number, most) if number >= 0 else None
        if (found is None or key[0] >= OPTIONS.again * seen) and not self.late():
            self.frames.append(self.frame(At(self, case, parts[0], self.way)))
            other = self.tried(case, parts, len(self.frames) - 1, most)
            if other is not None and (found is None or other[0].cells < OPTIONS.gain * found[0].cells):
                found = other
            else:
                self.frames.pop()
                for table in self.values:
                    table.reached.pop(len(self.frames), None)
            if found is not None:
                self.framed[group] = key[0], found[0].second
        return found

    def tried(
        self, case: Layered, parts: list[NodeCell], number: int, most: int
    ) -> tuple[Layered, list[TurnedCell]] | None:
        """Decide a case at every cell of its node in a second basis, with at most so many more cells: the case and the
        cells, or ``None``."""
        made, leaves = replace(case, second=number, leaves=[], least=math.inf, cells=0), list[TurnedCell]()
        self.left, trees = most, list[Tree]()
        for part in parts:
            tree = self.settled(made, part, OPTIONS.split, leaves)
            if tree is None:
                return None
            trees.append(tree)
        made.tree = grafted(case.tree, iter(trees))
        return made, leaves

    def settled(self, made: Layered, part: NodeCell, depth: int, leaves: list[TurnedCell]) -> Tree | None:
        """Decide a case at one cell of its node, which is halved as long as it is open: the tree, or ``None``."""
        if self.late():
            return None
        at, (leaf, low, high) = At(self, made, part, self.way), part
        found = at.decided(made.second)
        made.cells += 1 + at.used
        if found is None and len(low) and not self.late() and (slopes := at.sloped(made.second)):
            found = at.decided(made.second, slopes)
            made.cells += at.used
        if found is not None:
            made.leaves.append(found)
            leaves.append(leaf)
            made.least = min(made.least, at.worst[0])
            return 0
        self.worst = at.worst
        m = int(np.argmax(high - low)) if len(low) else 0
        if not self.left or not depth or not len(low) or high[m] - low[m] < OPTIONS.narrow:
            return None
        self.left -= 1

        def half(low: Array, high: Array, depth: int) -> Tree | None:
            if (row := self.empty.found(low, high)) is not None:
                return [row]
            return self.settled(made, NodeCell(self.leaf(made.key, low, high), low, high), depth, leaves)

        return halved(half, low, high, m, depth)

    def pieces(self, near: Near, asked: Asked) -> Iterator[tuple[int, list[tuple[Array, Array]]]]:
        """Numbers of parts of the range of the inverse deviation, with the bounds at their ends: two numbers at a
        time."""
        counts, free = self.parts, np.array([[-math.inf], [math.inf]])
        for some in (counts[:2], counts[2:]):
            if some:
                yield from zip(some, self.tail.pieces(near, asked, some, free), strict=True)

    def frame(self, at: At) -> list[Basis]:
        """A basis of the second layer for a case: the axes of the values, as they are weighed."""
        made = []
        for h in range(self.model.heads):
            share, centres = at.low[h] + at.high[h], at.tables[h][0] @ self.turns[h][1]
            share = share / share.sum()
            mean = share @ centres
            few = len(centres) < self.model.d
            _, _, rows = np.linalg.svd((centres - mean) * np.sqrt(share)[:, None], full_matrices=few)
            made.append(basis_of(np.zeros((2, 1, self.model.d)), mean, rows))
        return made


class At:
    """A case at one cell of its node."""

    def __init__(self, search: Second, case: Layered, part: NodeCell, way: Way) -> None:
        leaf, self.part, self.case = part.leaf, part, case
        self.search, self.key, self.leaf, self.way = search, case.key, leaf, way
        weights = [weighed(*q, *search.keys[h].at(way.cells, leaf.keys[h])) for h, q in enumerate(leaf.queries)]
        self.low, self.high = [w[0] for w in weights], [w[1] for w in weights]
        self.none = np.zeros(len(way.cells) + 1)
        self.axis = int(np.argmax(case.width)) if case.width else 0
        self.steep = np.zeros((2, 0))

    @cached_property
    def tables(self) -> list[Form]:
        """The values of each head at the cells that lead here."""
        return [values.at(self.way.cells, v) for values, v in zip(self.search.values, self.leaf.values, strict=True)]

    def sides(self, number: int) -> list[Array]:
        """What the values of each head are along the directions of a basis and against them."""
        search, found = self.search, list[Array]()
        for h, (table, last) in enumerate(zip(search.values, self.leaf.values, strict=True)):
            rows = search.frames[number][h].near @ search.turns[h][1].T
            found.append(table.along(number, rows, self.way.cells, last))
        return found

    @cached_property
    def held(self) -> tuple[Array, Array]:
        """Lengths that add up to 0 or more over any word at this cell (Lemma V12): the first layer's weights times how
        far values are below the cell's upper end, and above its lower end, in the node's widest coordinate."""
        search, (i, a, _) = self.search, self.key
        entries = np.array([*(search.entries[c] for c in self.way.cells), (i, max(a, 0))]).T
        search.first.use(self.case.basis)
        search.first.weigh(i, a)
        m, h = self.axis, 0
        while m >= search.first.sizes[h]:
            m, h = m - search.first.sizes[h], h + 1
        e, t = search.first.weights[h][*entries], search.first.atoms.bases[h].at[m][*entries]
        return e * (self.part.high[self.axis] - t), e * (t - self.part.low[self.axis])

    def beyond(self, h: int, values: Array, begin: float, slope: float = 0.0) -> float:
        """The greatest average of ``values`` by the weights of a head; what they have along the case's own cell is
        taken out by a slope (Lemma V12)."""
        more = abs(slope) * float(self.high[h].max()) * self.held[0 if slope > 0 else 1] if slope else self.none
        return float(beyond(self.low[h], self.high[h], values, more, *self.way[1:], begin))

    def sloped(self, number: int) -> list[list[int]]:
        """A slope for each direction of a basis and one for its opposite, those that give the least bounds on the
        widest sides of the box; none at all if no slope helps."""
        sides = [(self.beyond(h, up, at) + self.beyond(h, down, -at), h, up, down, at)
                 for h, (basis, values) in enumerate(zip(self.search.frames[number], self.sides(number), strict=True))
                 for (_, at), up, down in zip(lines(basis), *values, strict=True)]  # fmt: skip
        widest, found = max(side[0] for side in sides), list[list[int]]()
        for sign in (1, -1):
            found.append([])
            for k, (side, h, up, down, at) in enumerate(sides):
                wide, values = OPTIONS.sloped * widest <= side < math.inf, up if sign > 0 else down
                best = self.slope((number, self.key[1], sign * (k + 1)), h, values, sign * at) if wide else 0.0
                found[-1].append(round(best * SLOPE))
        most = max((k + 1 for row in found for k, v in enumerate(row) if v), default=0)
        return [row[:most] for row in found] if most else []

    def slope(self, name: tuple[int, int, int], h: int, values: Array, begin: float) -> float:
        """The slope that gives the least bound in a direction, from the last one that did."""
        known = self.search.slopes.get(name, 0.0)
        first = [s * 4.0**x for x in range(-3, 3) for s in (1, -1)]
        tried = [known * step for step in OPTIONS.slopes] if known else first
        best = min((self.beyond(h, values, begin, slope), slope) for slope in (0.0, *tried))
        for step in OPTIONS.slopes_near if best[1] else ():
            best = min(best, (self.beyond(h, values, begin, best[1] * step), best[1] * step))
        self.search.slopes[name] = best[1]
        return best[1]

    def decided(self, number: int, slopes: Sequence[list[int]] = ()) -> list[Any] | None:
        """The box in a basis, with the tree of its cells where one is needed, and slopes where there are any."""
        search, tops, bottoms, rows = self.search, list[float](), list[float](), []
        self.steep = np.zeros((2, sum(len(b.rows) for b in search.frames[number])))
        if slopes:
            self.steep[:, : len(slopes[0])] = np.array(slopes) / SLOPE
        self.worst, self.used = (math.inf, 0), 0
        sides = self.sides(number)
        rest, start = np.zeros(search.model.d), self.leaf.stream.c + search.model.layers[1].projection.bias
        for h, basis in enumerate(search.frames[number]):
            near, centre = basis.near, basis.middle
            for row, above, below in zip(near, *sides[h], strict=True):
                at = float(row @ centre)
                up, down = self.steep[:, len(tops)].tolist()
                top = self.beyond(h, above, at, up) - at
                bottom = -self.beyond(h, below, -at, down) - at
                held = max(abs(top), abs(bottom), float(np.abs(centre).max())) < FARTHEST
                if not held or top - bottom > 1 << 20:
                    self.worst = (-math.inf, 0)
                    return None
                tops.append(top + LOOSE)
                bottoms.append(bottom - LOOSE)
            rest = rest + np.abs(np.eye(len(centre)) - near.T @ near) @ (search.most[h] + np.abs(centre)) + 1e-12
            start, self.centre = start + centre, centre
            rows.append(near)
        self.rows, self.rest, self.start = np.concatenate(rows), rest + self.leaf.stream.r, start
        upper, width = outward(tops, bottoms)
        high = np.array(upper) / BOUND
        tree = self.cell(high - np.array(width) / BOUND, high, OPTIONS.node_deepest)
        if tree is None:
            return None
        return [upper, width, tree, self.axis, *slopes] if slopes else [upper, width, tree] if tree else [upper, width]

    def cell(self, low: Array, high: Array, depth: int) -> Tree | None:
        """The tree of cells that decides the cell from ``low`` to ``high``, or ``None``."""
        self.used += 1
        cell, kept = widest(Cell(self.start, self.rows, self.rest, low, high, self.leaf.stream.g))
        parts, margin, worst = self.shown(cell, kept, low, high)
        if parts is not None:
            self.worst = min(self.worst, (margin, worst))
            return parts
        ends = (low + high) / 2 + np.array([[-OPTIONS.point], [OPTIONS.point]]) * (high - low)
        hopeless = self.shown(cell._replace(low=ends[0, kept], high=ends[1, kept]), kept, *ends)[0] is None
        if hopeless or self.used >= OPTIONS.output_cells or not depth or not len(kept):
            self.worst = margin, worst
            return None
        asked, tried = self.search.graph.asked[self.key[2]], np.argsort((low - high)[kept])[: OPTIONS.tried].tolist()
        m = int(kept[self.search.tail.halving(cell, asked, worst, tried)[0]])
        return halved(self.cell, low, high, m, depth)

    def shown(self, cell: Cell, kept: I64, low: Array, high: Array) -> tuple[int | None, float, int]:
        """Whether a cell, given also in its widest coordinates, is decided as it is: 0 by the chord of the inverse
        deviation, or in how many parts of its range (Theorem 11); ``None`` if it is not. Then the least bound of a
        label, and which label has it: without parts, as halves are by the chord."""
        asked = self.search.graph.asked[self.key[2]]
        if not len(asked.places):
            return 0, math.inf, 0
        near = self.search.tail.near(cell.form())
        least, short = self.search.tail.signs(near, asked)
        first = self.margin(kept, low, high, least, short)
        if first[0] > SAFE:
            return 0, *first
        if not self.search.parts:
            return None, *first
        middle = valued(self.search.tail.tables, asked, near.c[None])[0]
        if (middle + least <= SAFE).any():
            return None, *first  # parts gain about half of what is not of the first order
        before = first
        for parts, bounds in self.search.pieces(near, asked):
            found = (math.inf, 0)
            for both in bounds:
                found = min(found, self.margin(kept, low, high, *both))
                if found[0] <= SAFE:
                    break
            if found[0] > SAFE:
                return parts, *found
            if found[1] == before[1] and 2 * found[0] - before[0] <= SAFE:
                break  # what is lost goes down by a half at most
            before = found
        return None, *first

    def margin(self, kept: I64, low: Array, high: Array, least: Array, short: Array) -> tuple[float, int]:
        """The least bound of a label on a cell by affine bounds, and which label has it."""
        least = least - np.abs(short[:, len(kept) :]).sum(1)
        lines = np.zeros((len(least), len(low)))
        lines[:, kept] = short[:, : len(kept)]
        margins = least - np.abs(lines).sum(1)
        for label in np.flatnonzero((margins <= SAFE) & (least > SAFE)) if self.search.model.heads == 1 else ():
            margins[label] = max(margins[label], self.own(low, high, least[label], lines[label]))
        worst = int(margins.argmin())
        return float(margins[worst]), worst

    def own(self, low: Array, high: Array, least: float, line: Array) -> float:
        """Theorem 5 in the second layer: the bound of a label by its own direction."""
        radius = (high - low) / 2
        slope = np.divide(line, radius, out=np.zeros_like(line), where=radius > 0)
        row = -slope @ self.rows
        begin = float(row @ self.centre)
        steep = np.maximum(-slope, 0) @ self.steep[0] + np.maximum(slope, 0) @ self.steep[1]
        values = ends(self.search.turns[0][1] @ row, *self.tables[0])
        return float(least - (self.beyond(0, values, begin, steep) - begin) - slope @ (low + high) / 2)
