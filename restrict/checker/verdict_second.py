"""Verdicts on models of several layers: two are decided, and a wrong word may have any number.

A node is a case of the first layer: a position, its symbol, the state behind it. For each cell of its box the residual
stream behind the first block is an affine form in which every error has a generator of its own, and so are the second
layer's keys, values and, where the node is a case, its query. Weights and values of the second layer are then bounded
cell by cell, and one longest path over the nodes bounds the output (Theorem 8). Docs: docs/soft-verdicts.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .account import Place, Task, require
from .read import Maybe, integer, integers, listing
from .verdict import BOUND, SPANS, VERDICT, Basis, Check, Interval, Key, decided, hint
from .verdict_forms import Form, activated, added, averaged, chords, kept, layer_norm, merged, moved, opened, reached
from .verdict_model import MODEL, START, Block
from .verdict_numbers import BITS, EXP_BITS, NEURON, ONE, Linear, Matrix, Vector, dot, enclosed, exponential, linear

from .verdict_forms import Extent  # isort: skip
from .verdict_numbers import total, transposed  # isort: skip
from .verdict_paths import Way

SECOND = {name: kind for name, kind in VERDICT.items() if name != "fixed"}
SECOND |= {"format": ("restrict-soft-verdict/2",), "second": listing, "turn": Maybe(listing)}
LAYERS = MODEL | {"layers": integer(2, 16)}
KEPT, STREAM = 4, 24
"""Generators of a key, a value or a query, and of the stream behind the first block; others go to the remainder."""
FINE = 32
"""Turns are integers times ``2^-32``, which are not beyond 4."""
turning = integers(-(1 << FINE + 2), 1 << FINE + 2)


class Cell(NamedTuple):
    """The second layer at a node: for each head the key (and how far its entries reach) and the value; bounds on
    the value along each basis."""

    keys: list[tuple[Form, Vector]]
    values: list[Form]
    ends: dict[int, list[list[Interval]]]


class Query(NamedTuple):
    """A case at a cell of its node: the stream behind the first block, the query of each head, and the cell."""

    stream: Form
    heads: list[Form]
    cell: Cell


class Turn(NamedTuple):
    """A matrix ``R`` (rows times ``2^32``), the same as a map, and the largest entry of ``I - R'R`` in units."""

    rows: Matrix
    map: Linear
    off: int

    def form(self, y: Form, off: int) -> Form:
        """``R y``, and behind it a number that is at most ``off`` times the sum of all entries' sizes (Lemma V18)."""
        made, size = moved(self.map, y)[0], total(y.centre) + sum(reached(y))
        return Form([*made.centre, 0], [[*g, 0] for g in made.spans], [*made.rest, (size * off >> BITS) + 1])

    def row(self, row: Vector) -> Vector:
        """What reads from such a form what ``row`` does from what was turned, times ``2^32``."""
        return [*(dot(r, row) for r in self.rows), total(row) << FINE]

    def sizes(self, v: Form) -> Vector:
        """How large the entries of what was turned can be."""
        *found, more = map(sum, zip(map(abs, v.centre), reached(v), strict=True))
        return [(dot(list(map(abs, column)), found) >> FINE) + more + 1 for column in zip(*self.rows, strict=True)]


class Frame(NamedTuple):
    """A basis of the second layer; for each head the rows of ``I - B'B``, times ``2^48``, and what reads the basis from
    turned values, with its centre along each direction, times ``2^56``."""

    bases: list[Basis]
    gaps: list[Matrix]
    read: list[list[tuple[Vector, int]]]


Row = dict[tuple[int, int], list[Cell]]
"""The nodes of a position, by symbol and state."""


def verify(task: Task) -> str:
    """The line ``s VERIFIED ...``, if the certificate proves its claim; raises ``Reject`` in every other case."""
    return decided(task, SECOND, LAYERS, Second)


def spread(q: Form, far: Vector, k: Form, off: Vector, middle: Vector) -> int:
    """How far off a score times ``sqrt(dk)`` is, up to what all keys have in common (Lemma V7), exactly; query and key
    reach as far as ``far`` and ``off`` say."""
    gap = [a - b for a, b in zip(k.centre, middle, strict=True)]
    wide = sum(abs(dot(q.centre, g)) for g in k.spans) + sum(abs(dot(g, gap)) for g in q.spans) + dot(far, off)
    return wide + dot(list(map(abs, q.centre)), k.rest) + dot(q.rest, list(map(abs, gap)))


def edged(way: Way) -> list[tuple[int, int]]:
    """The nodes of a position: pairs of a symbol and the state behind it."""
    return [(s, t) for t, step in way for s in sorted({s for _, s in step})]


class Second(Check):
    """The cases of a model of two layers, in the order of their positions: each becomes a node for later ones."""

    rows: list[Row]
    steps: list[Way]
    leaves: list[tuple[Form, list[Extent]]]
    query: Query | None = None

    def read_more(self, fields: dict[str, Any], place: Place) -> None:
        """Bases of the second layer's output."""
        require(len(self.model.blocks) == 2, place.key("upto"), "cases are about two layers; others may be wrong only")
        self.rows, self.frames, self.sizes = [{}], list[Frame](), (9, 9)
        self.turns = self.read_turns(fields.get("turn"), place.key("turn"))
        self.most = [[0] * self.model.d for _ in range(self.model.heads)]
        d, inner = self.model.d, self.widest()
        spans = min(SPANS, self.model.heads * d) + 2 * d + inner + 2
        neurons = inner * NEURON[self.model.activation]
        self.node_price = spans * (d + 8) * (2 * inner + 5 * d) + spans * spans * d + neurons
        self.estimate(self.model.heads * d, STREAM)
        for number, entry in enumerate(fields["second"]):
            at = place.key("second").item(number)
            require(len(listing(entry, at)) == self.model.heads, at, "expected a basis for each head")
            read = [self.directions(basis, at.item(h)) for h, basis in enumerate(entry)]
            self.meter.charge(len(read) * d**3)
            gaps = [[[(k == j) * (1 << 48) - dot(a, b) for j, a in enumerate(columns)] for k, b in enumerate(columns)]
                    for _, rows in read for columns in [list(zip(*rows, strict=True)) or [()] * d]]  # fmt: skip
            lines = [[(turn.row(row), dot(row, centre) << FINE) for row in rows]
                     for (centre, rows), (_, turn) in zip(read, self.turns, strict=True)]  # fmt: skip
            bases = [Basis(centre, rows, [], 0, [], self.seen(rows)) for centre, rows in read]
            self.frames.append(Frame(bases, gaps, lines))

    def read_turns(self, value: Any, place: Place) -> list[list[Turn]]:
        """For each head a matrix for keys and one for values, by which they are turned; by default the identity."""
        d, heads, found = self.model.d, self.model.heads, list[list[Turn]]()
        given = [[None] * 2] * heads if value is None else [listing(entry, place) for entry in value]
        require(len(given) == heads and all(len(g) == 2 for g in given), place, "expected two matrices for each head")
        self.meter.charge(4 * heads * d**3)
        for pair in given:
            found.append([])
            for rows, size in zip(pair, (d // heads, d), strict=True):
                unit = [[(j == k) << FINE for j in range(size)] for k in range(size)]
                read = unit if rows is None else [list(turning(row, place)) for row in listing(rows, place)]
                require(len(read) == size and all(len(row) == size for row in read), place, f"expected {size} rows")
                columns = transposed(read)
                off = max(abs(((j == k) << 2 * FINE) - dot(a, b)) for j, a in enumerate(columns)
                          for k, b in enumerate(columns))  # fmt: skip
                f = linear([[v << BITS - FINE for v in row] for row in read], [0] * size)
                found[-1].append(Turn(read, f, off))
        return found

    # ---------------------------------------------------------------- nodes

    def case(self, key: Key, hints: list[Any], place: Place) -> None:
        """One case: its cells in the first layer make a node; at each of them it is decided in the second."""
        self.leaves, self.query = [], None
        super().case(key, hints[:4], place)
        self.steps = self.language.leading(*key)
        require(len(self.leaves) > 0, place, "expected a cell that has words")
        number = integer(0, len(self.frames) - 1)(hints[4], place)
        given = listing(hints[5], place)
        require(len(given) == len(self.leaves), place, f"expected an entry for each of {len(self.leaves)} cells")
        queries, first = [self.node(stream) for stream, _ in self.leaves], self.basis
        if key[0] == len(self.rows):
            self.rows.append({})
        self.rows[key[0]][key[1:]] = [query.cell for query in queries]
        for entry, query, (_, boxes) in zip(given, queries, self.leaves, strict=True):
            hints = listing(entry, place)
            require(len(hints) in (2, 3, 6), place, "expected bounds, widths and perhaps a tree and slopes")
            self.apart = self.holding(key, first, boxes, hints[3], place) if len(hints) == 6 else []
            self.second(key, query, number, hints, place)

    def leaf(self, key: Key, boxes: list[Extent], pieces: int, rows: list[Vector], place: Place) -> None:
        """In the first layer a cell is the start of a node."""
        if self.query is not None:
            return super().leaf(key, boxes, pieces, rows, place)
        kept, size = sorted(sorted(range(len(boxes)), key=lambda m: -boxes[m].radius)[:SPANS]), len(boxes) + 2
        self.meter.charge((2 + len(rows)) * size * (self.model.d + 8))
        self.meter.hold(70 * min(size, SPANS + 2) * (self.model.d + 8))
        return self.leaves.append((self.start(key, boxes, kept), boxes))

    def unreached(self, key: Key, boxes: list[Extent], row: Vector, place: Place) -> None:
        """In the first layer alone: what words are in the second, its nodes do not say."""
        require(self.query is None, place, "expected no empty cells in layer 2")
        super().unreached(key, boxes, row, place)

    def holding(self, key: Key, first: list[Basis], boxes: list[Extent], m: Any, place: Place) -> list[list[Vector]]:
        """Lengths that add up to at least 0 over every word at a cell of its node (Lemma V12): how far values are above
        the lower end of coordinate ``m``, and below its upper end."""
        each = [(h, k) for h, b in enumerate(first) for k in range(len(b.rows))]
        h, k = each[integer(0, len(each) - 1)(m, place)]
        self.meter.charge(4 * (key[0] + 1) * len(self.model.rows))
        (middle, radius), off, rows = boxes[m], first[h].off, first[h].at[: key[0] + 1]
        return [self.lengths(h, [[off + sign * t[k] for t in row] for row in rows], sign * middle - radius)
                for sign in (1, -1)]  # fmt: skip

    def widest(self) -> int:
        """The most neurons of a block."""
        return max(len(block.network.inner.bias) for block in self.model.blocks)

    def behind(self, block: Block, y: Form) -> Form:
        """A block's network and the sum; every error on the way is a generator."""
        f, d, inner = block.network, len(y.centre), len(block.network.inner.bias)
        self.meter.fits((inner + d + len(y.spans)) * (8 * inner + 100 * d) + 44 * inner * (d + len(y.spans)))
        hidden, slack = moved(f.inner, opened(layer_norm(block.second, y)))
        values, _ = activated(chords(f.kinds, hidden), hidden, slack)
        return added(kept(f, y), moved(f.outer, opened(values))[0])

    def node(self, y: Form) -> Query:
        """The stream behind attention, carried to the second layer."""
        self.meter.charge(self.node_price >> 3)
        self.meter.hold(200 * (KEPT + 2) * self.model.d * self.model.heads + 50 * STREAM * self.model.d)
        x = self.behind(self.model.blocks[0], y)
        x, *read = self.read_by(self.model.blocks[-1], x)
        queries, keys, values = (list[Form](), list[Form](), list[Form]())
        for (one, two), most, q, k, v in zip(self.turns, self.most, *read, strict=True):
            queries.append(merged(one.form(q, ONE), KEPT))
            keys.append(merged(one.form(k, one.off), KEPT))
            values.append(merged(two.form(v, two.off), KEPT))
            most[:] = map(max, most, two.sizes(values[-1]))
        return Query(x, queries, Cell([(k, reached(k)) for k in keys], values, {}))

    def read_by(self, block: Block, x: Form) -> tuple[Form, list[Form], list[Form], list[Form]]:
        """What a block's attention is added to; query, key and value of each head."""
        heads, normal = block.attention, opened(layer_norm(block.first, x))
        queries, keys = ([moved(f, normal)[0] for f in maps]
                         for maps in zip(*((h.query, h.key) for h in heads), strict=True))  # fmt: skip
        values = [moved(h.output, moved(h.value, normal)[0])[0] for h in heads]
        return merged(x if block.network.adds else normal, STREAM), queries, keys, values

    def scored(self, q: Form, keys: list[tuple[Form, Vector]]) -> list[Interval]:
        """Enclosures of the weights of some keys, up to a common factor."""
        far, root = reached(q), math.isqrt(ONE * ONE // (self.model.d // self.model.heads))
        self.meter.charge(len(keys) * ((2 * KEPT + 6) * (len(far) + 8) + 200 >> 2))
        scores = [dot(q.centre, k.centre) for k, _ in keys]
        top = max(scores)
        shares = [exponential((s - top) * root >> 2 * BITS) >> EXP_BITS - 32 for s in scores]
        mean = [dot(shares, column) // max(1, sum(shares)) for column in zip(*(k.centre for k, _ in keys), strict=True)]
        wide = [spread(q, far, k, off, mean) * (root + 1) + abs(s) for s, (k, off) in zip(scores, keys, strict=True)]
        found = [(s * root >> 2 * BITS, (w >> 2 * BITS) + 2) for s, w in zip(scores, wide, strict=True)]
        top = max(s + w for s, w in found)
        return [(enclosed(s - w - top, 0)[0], enclosed(s + w - top, 0)[1]) for s, w in found]

    # ---------------------------------------------------------------- the second layer

    def second(self, key: Key, query: Query, number: int, hints: list[Any], place: Place) -> None:
        """One case at one cell of its node: the box of the second layer's output, then its cells."""
        bases, gaps, read = self.frames[number]
        nodes = [(j, s, t) for j, step in enumerate(self.steps, 1) for s, t in edged(step)]
        nodes = nodes if self.model.first else [(0, START, 0), *nodes]
        cells = [[query.cell] if node == key else self.rows[node[0]][node[1:]] for node in nodes]
        self.path = [(node, len(found)) for node, found in zip(nodes, cells, strict=True)]
        self.cells = [cell for found in cells for cell in found]
        self.shares = [self.scored(q, [cell.keys[h] for cell in self.cells]) for h, q in enumerate(query.heads)]
        self.query = query
        for cell in self.cells:
            if number not in cell.ends:
                cell.ends[number] = list(map(self.along, read, cell.values))
        at = [(h, [cell.ends[number][h][k] for cell in self.cells])
              for h, b in enumerate(bases) for k in range(len(b.rows))]  # fmt: skip
        none, given = [0] * len(at), [hint(row, place) for row in hints[4:]]
        self.slopes = [[v << BOUND for v in [*row, *none][: len(at)]] for row in given] or [none, none]
        ends = [(h, [[up for up, _ in pairs], [rise]], [[down for _, down in pairs], [fall]])
                for (h, pairs), rise, fall in zip(at, *self.slopes, strict=True)]  # fmt: skip
        upper, width = hint(hints[0], place), hint(hints[1], place)
        fits = len(upper) == len(width) == len(ends) >= max(map(len, given), default=0)
        require(fits, place, f"expected {len(ends)} bounds and widths of layer 2, and no more slopes")
        boxes = self.boxes(key, ends, zip(upper, width, strict=True), place)
        self.basis = list(map(self.framed, bases, gaps, self.most))
        self.cell(key, boxes, hints[2] if len(hints) > 2 else 0, place)

    def framed(self, basis: Basis, gap: Matrix, most: Vector) -> Basis:
        """The basis with what it leaves of any average of the values so far (Lemma V5)."""
        sizes = [v + abs(b) for v, b in zip(most, basis.centre, strict=True)]
        return basis._replace(rest=[(dot(list(map(abs, row)), sizes) >> 48) + 1 for row in gap])

    def along(self, read: list[tuple[Vector, int]], value: Form) -> list[Interval]:
        """Upper bounds on the coordinates of a value, and on their negatives."""
        self.meter.charge(len(read) * (KEPT + 2) * (len(value.centre) + 8))
        found = []
        for row, start in read:
            at, wide = dot(row, value.centre) - start, sum(abs(dot(row, g)) for g in value.spans)
            wide += dot(list(map(abs, row)), value.rest)
            found.append(((wide + at >> 24 + FINE) + 1, (wide - at >> 24 + FINE) + 1))
        return found

    def against(self, key: Key, slopes: Vector, h: int = 0) -> list[Vector]:
        """What stands against a label, as in the first layer; one list for all cells."""
        if self.query is None:
            return super().against(key, slopes, h)
        self.meter.charge(len(self.cells) * (KEPT + 2) * (self.model.d + 8))
        row = [-dot(slopes, column) for column in zip(*self.basis[0].rows, strict=True)]
        start, row = dot(row, self.basis[0].centre) << FINE, self.turns[0][1].row(row)
        size = list(map(abs, row))
        found = []
        for value in (cell.values[0] for cell in self.cells):
            wide = sum(abs(dot(row, g)) for g in value.spans) + dot(size, value.rest)
            found.append((dot(row, value.centre) - start + wide >> BITS + 24 + FINE) + 1)
        slope = sum(self.slopes[v > 0][k] * abs(v) for k, v in enumerate(slopes)) >> BITS
        return [found, [slope]]

    def bounded(self, h: int, key: Key, ends: list[Vector], limit: int) -> bool:
        """In the second layer: Theorem 8, over the nodes; of the cells of a node the worst counts. Behind the bounds of
        the cells stands the slope along the case's own cell (Lemma V12)."""
        if self.query is None:
            return super().bounded(h, key, ends, limit)
        slope = ends[1][0]
        self.meter.charge(len(self.cells) + (slope != 0) * len(self.path) + ((key[0] + 1) * self.edges >> 1))
        if max(ends[0]) <= limit:
            return True
        lengths = ((v - limit) * (e[v > limit]) for v, e in zip(ends[0], self.shares[h], strict=True))
        u = {node: max(next(lengths) for _ in range(count)) for node, count in self.path}
        if slope:
            more = self.apart[slope > 0]
            u = {(j, s, t): v + (abs(slope) * more[j][max(s, 0)] >> BITS) + 1 for (j, s, t), v in u.items()}
        phi = {0: u.get((0, START, 0), 0)}
        for j, step in enumerate(self.steps, 1):
            phi = {t: max([phi[p] + u[j, s, t] for p, s in way]) for t, way in step}
        return phi[key[2]] <= 0

    # ---------------------------------------------------------------- from attention to the logits

    def stream(self, key: Key) -> tuple[Form, Vector]:
        """In the second layer: the stream behind the first block."""
        return super().stream(key) if self.query is None else (self.query.stream, self.model.blocks[-1].bias)

    def point(self, word: list[int]) -> Form:
        """The residual stream of one word behind the attention of the last block."""
        d, heads, inner = self.model.d, self.model.heads, self.widest()
        self.meter.charge(len(word) * len(self.model.blocks) * (d * inner * (2 * d + inner + 256) + 4 * d**3 >> 3))
        self.meter.hold(len(word) * 300 * d * (heads + 5))
        self.query = None
        xs, first, *blocks = [], *self.model.blocks
        for j in range(self.model.first, len(word)):
            self.weigh(j, word[j])
            xs.append(super().point(word[: j + 1]))
        for block in blocks:
            xs = [merged(self.behind(first, y), 0) for y in xs]
            read = [(y, *([merged(z, 0) for z in part] for part in parts))
                    for y, *parts in (self.read_by(block, x) for x in xs)]  # fmt: skip
            first = block
            xs = [self.attended(block, read[: j + 1]) for j in range(len(read))]
        return xs[-1]

    def attended(self, block: Block, read: Sequence[tuple[Any, ...]]) -> Form:
        """A block's attention behind one word, whose forms have next to no remainder."""
        heads = []
        for h, q in enumerate(read[-1][1]):
            values = [v[h] for *_, v in read]
            es = self.scored(q, [(k[h], reached(k[h])) for _, _, k, _ in read])
            heads.append((es, [v.centre for v in values], max(max(v.rest) for v in values)))
        return averaged(merged(read[-1][0], 0), block.bias, heads)
