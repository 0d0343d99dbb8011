"""A block behind its attention, made ready for :mod:`restrict.soft.trained.cells` (docs/soft-verdicts.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from restrict.soft.trained import cells
from restrict.soft.trained.cells import Near, Tables
from restrict.soft.trained.model import ACTIVATIONS, Trained
from restrict.soft.trained.read_out import Asked
from restrict.soft.trained.stored import Array, StoredLayer


class Form(NamedTuple):
    """``y = c + G eps + r`` with ``|eps| <= 1``: centre ``(d,)``, generators as columns ``(d, m)``, remainder."""

    c: Array
    g: Array
    r: Array

    def ends(self) -> tuple[Array, ...]:
        """The centre, and how far each entry reaches from it."""
        return self.c, np.abs(self.g).sum(-1) + self.r

    @staticmethod
    def side_by_side(forms: Sequence[Form]) -> Form:
        """Several forms, with an axis in front."""
        return Form(*(np.array(parts) for parts in zip(*forms, strict=True)))


class Cell(NamedTuple):
    """``start + sum t_m rows_m + more eps + r`` with ``low <= t <= high``: shapes ``(d,)``, ``(m, d)``, ``(d,)``,
    ``(m,)``; ``more`` has further generators as columns."""

    start: Array
    rows: Array
    rest: Array
    low: Array
    high: Array
    more: Array | None = None

    def form(self) -> Form:
        """The cell as a form, a generator for each coordinate."""
        middle, radius = (self.low + self.high) / 2, (self.high - self.low) / 2
        spans = self.rows.T * radius if self.more is None else np.hstack([self.rows.T * radius, self.more])
        return Form(self.start + middle @ self.rows, spans, self.rest)


Part = tuple[Array, ...]
Tree = Any
"""The parts of the range of the inverse deviation, 0 for its chord; ``[parts, rows of multipliers]``; ``[multipliers]``
that show that no word is in the cell; or ``[coordinate, tree, tree]``."""


class Leaf(NamedTuple):
    """A leaf of a tree: the ends of its cell, halvings above it, parts, rows of multipliers; or multipliers that show
    that no word is in it."""

    low: Array
    high: Array
    depth: int
    parts: int
    rows: list[list[int]]
    empty: list[int] | None = None


class Ready(NamedTuple):
    """A cell's stream behind attention, and lower bounds on what is asked there (:meth:`Tail.signs`)."""

    near: Near
    signs: tuple[Array, Array]


class Stages(NamedTuple):
    """What a cell's numbers are between attention and the logits, centres and reaches; ``first`` and ``last``: the
    centred streams behind attention and network, each with both ends of the variance plus the constant."""

    stream: Part
    first: Part
    normal: Part
    hidden: Part
    neurons: Part
    network: Part
    out: Part
    last: Part


class Tail:
    """From the stream behind attention to the signs of some rows of the unembedding, for the last or another block."""

    def __init__(self, model: Trained, labels: tuple[int, ...], layer: StoredLayer | None = None) -> None:
        layer = layer or model.layers[-1]
        self.labels, at, straight = labels, list(labels), model.d * model.post
        same, constant = np.eye(model.d)[:straight], np.append(layer.inner.bias, np.zeros(straight))
        inner, outer = np.vstack([layer.inner.weight.T, same]), np.hstack([layer.outer.weight.T, same.T])
        scale, shift = layer.norm2 or (np.ones(model.d), np.zeros(model.d))
        weighed, gram = inner * scale, outer @ outer.T
        normal = weighed - (0.0 if layer.norm2 is None else weighed.mean(1, keepdims=True))
        self.tables = Tables(
            scale,
            shift,
            inner,
            constant,
            outer,
            layer.outer.bias,
            float(model.epsilon),
            ACTIVATIONS.index(model.activation),
            model.reading[at],
            model.beta[at],
            normal,
            inner @ shift + constant,
            float(np.linalg.norm(gram @ gram)) ** 0.25,
            model.constants[at],
            straight,
            int(not model.post),
            layer.norm2 is None,
            np.abs(normal),
        )

    def near(self, y: Form) -> Near:
        """The stream behind attention on a cell, made ready for :meth:`signs` and :meth:`pieces`."""
        return cells.near(self.tables, y.c, np.ascontiguousarray(y.g), y.r)

    def signs(self, y: Near, asked: Asked) -> tuple[Array, Array]:
        """From the stream behind attention lower bounds ``k + g . eps`` on what is asked of the logits, times the last
        deviation (Lemma 4): ``k`` (asked,), ``g`` (asked, m)."""
        return cells.signed(self.tables, asked, y)

    def pieces(self, y: Near, asked: Asked, counts: Sequence[int], held: Array) -> Iterator[list[tuple[Array, Array]]]:
        """As :meth:`signs`, at both ends of each part of the range of the inverse deviation, for each of some counts of
        parts. All at once: two counts take hardly longer than one."""
        _, _, low, high = cells.variance(self.tables.epsilon, y.middle, y.spans, y.rest, y.square)
        first, last = (1.0, 1.0) if self.tables.bare else (1 / math.sqrt(high), 1 / math.sqrt(low))
        steps = np.concatenate([np.arange(count) / count for count in counts])
        more = np.concatenate([np.full(count, 1 / count) for count in counts])
        ends = first + (last - first) * np.stack([steps, steps + more], 1)
        least, lines = cells.between(self.tables, asked, y, ends, held)
        at = 0
        for count in counts:
            yield [(least[k, end], lines[k, end]) for k in range(at, at + count) for end in (0, 1)]
            at += count

    def stages(self, y: Form) -> Stages:
        """Centres and reaches of all numbers on the way from the residual stream behind attention to the logits; ``y``
        may be several forms, with an axis in front."""
        t, c, g = self.tables, y.c, np.ascontiguousarray(y.g)
        normal = Form(*cells.normalised(t, c, g, y.r))
        bent = len(t.inner) - t.straight
        hidden = Form(*cells.moved(t.inner[:bent], t.inner_bias[:bent], *normal))
        values = Form(hidden.c.copy(), hidden.g.copy(), hidden.r)
        slopes, off = cells.activated(t._replace(straight=0), *values)
        values = values._replace(r=np.abs(slopes) * values.r + off)
        network, x = Form(*cells.moved(t.outer[:, :bent], t.outer_bias, *values)), y if t.adds else normal
        out = Form(network.c + x.c, network.g.copy(), network.r + x.r)
        out.g[..., : x.g.shape[-1]] += x.g
        made: list[Part] = [form.ends() for form in (normal, hidden, values, network, out)]
        return Stages._make([y.ends(), self.centred(y), *made, self.centred(out)])

    def centred(self, y: Form) -> Part:
        """The centred entries of a form, how far they reach, and both ends of its variance."""
        c, g, r, reach, square = cells.centred(y.c, np.ascontiguousarray(y.g), y.r)
        _, _, low, high = cells.variance(self.tables.epsilon, c, g, r, square)
        return c, reach, np.array(low), np.array(high)

    def ready(self, y: Form, asked: Asked) -> Ready:
        """A cell with what its labels need, reckoned once."""
        near = self.near(y)
        return Ready(near, self.signs(near, asked))

    def halving(self, cell: Cell, asked: Asked, label: int, tried: list[int]) -> tuple[int, Ready, Ready]:
        """The coordinate of ``tried`` whose halves of the cell lose least to the second order for a label (its place
        among the combinations), and these halves. The loss is what lies between the label's value in the middle of a
        half and its bound there less the first order, which own directions settle. All halves at once: that is several
        times as fast as one after the other, and it was most of a search's time."""
        c, g, r = cell.form()
        halves = np.repeat(g[None], 2 * len(tried), 0)
        sides = np.arange(2 * len(tried)), slice(None), np.repeat(tried, 2)
        halves[sides] /= 2
        centres = c + halves[sides] * np.tile([[-1.0], [1.0]], (len(tried), 1))
        made = self.ready(Form(centres, halves, r), asked)
        loss = cells.valued(self.tables, asked, centres)[:, label] - made.signs[0][:, label]
        best = int(loss.reshape(-1, 2).sum(1).argmin())
        return tried[best], _one(made, 2 * best), _one(made, 2 * best + 1)


def _one(made: Ready, k: int) -> Ready:
    """One of several cells, which have a remainder in common."""
    at = made.near
    parts = {name: part[k] for name, part in at._asdict().items() if name not in ("r", "rest", "loose")}
    return Ready(at._replace(**parts), (made.signs[0][k], made.signs[1][k]))


def leaves(tree: Tree) -> int:
    """The leaves of a tree, each as often as it has parts: what a check of it costs."""
    if isinstance(tree, list) and len(tree) == 3:
        return leaves(tree[1]) + leaves(tree[2])
    if isinstance(tree, list) and len(tree) == 1:
        return 1
    return max(tree if isinstance(tree, int) else tree[0], 1)


def coordinates(tree: Tree) -> int:
    """The least number of coordinates that a cell must have for a tree to halve it."""
    return max(tree[0] + 1, coordinates(tree[1]), coordinates(tree[2])) if isinstance(tree, list) and tree[2:] else 0


def leaves_of(tree: Tree, low: Array, high: Array, depth: int = 0) -> Iterator[Leaf]:
    """The leaves of a tree with their cells, from left to right."""
    if isinstance(tree, list) and len(tree) == 3:
        below, above = halves(low, high, tree[0])
        yield from leaves_of(tree[1], low, below, depth + 1)
        yield from leaves_of(tree[2], above, high, depth + 1)
    elif isinstance(tree, list) and len(tree) == 1:
        yield Leaf(low, high, depth, 0, [], tree[0])
    else:
        yield Leaf(low, high, depth, *((tree, []) if isinstance(tree, int) else tree))


def halved(
    decide: Callable[[Array, Array, int], Tree | None], low: Array, high: Array, m: int, depth: int
) -> Tree | None:
    """The tree of a cell from those of its halves along a coordinate, or ``None``."""
    below, above = halves(low, high, m)
    first = decide(low, below, depth - 1)
    second = None if first is None else decide(above, high, depth - 1)
    return None if second is None else [m, first, second]


def halves(low: Array, high: Array, m: int) -> tuple[Array, Array]:
    """The upper ends of a cell's lower half along a coordinate, and the lower ends of its upper half."""
    below, above = high.copy(), low.copy()
    below[m], above[m] = (low[m] + high[m]) / 2 + 1e-9, (low[m] + high[m]) / 2 - 1e-9
    return below, above


def grafted(tree: Tree, parts: Iterator[Tree]) -> Tree:
    """A tree with other trees in place of its leaves, from left to right."""
    if tree == 0:
        return next(parts)
    return tree if len(tree) == 1 else [tree[0], grafted(tree[1], parts), grafted(tree[2], parts)]


def opened(y: Form) -> Form:
    """A form with a generator for each entry of its remainder."""
    return Form(y.c, np.hstack([y.g, np.diag(y.r)]), np.zeros(len(y.r)))


def merged(y: Form, most: int) -> Form:
    """A form with its largest generators, exactly ``most``; the others go to the remainder."""
    order = np.argsort(-np.abs(y.g).sum(0), kind="stable")
    kept = y.g[:, order[:most]]
    kept = np.hstack([kept, np.zeros((len(y.c), most - kept.shape[1]))])
    return Form(y.c, kept, y.r + np.abs(y.g[:, order[most:]]).sum(1))
