"""The search for a verdict: boxes for every case, affine forms to the logits, own directions, cells (theory: page).

Float64 throughout: what it finds are hints, and the trusted checker decides. ``decide`` goes through the cases in
order of their position and stops at ``--time`` or an interrupt with what it has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from restrict.kernels.verdict import greatest, heaviest, supports
from restrict.soft.trained.atoms import UNIT, Atoms
from restrict.soft.trained.forms import Form, Tail
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Array, Trained

CELLS = 400
"""Cells of one case before it is left open."""
DEEPEST = 40
"""Halvings on one branch; a certificate is nested at most 64 deep."""
SAFE = 1e-4
"""A label's bound must be this far above zero, as the checker rounds outward."""
TRIED = 3
"""Coordinates, the widest ones, that are tried before one is halved."""
FIRST_ORDER = 0.5
STEPS, TINY = 6, 1e-7
"""Linearisations of one attack, and the half width of the cell whose form is the gradient."""
Key = tuple[int, int, int]
Tree = Any
"""0, or ``[coordinate, tree, tree]``."""


@dataclass
class Case:
    """A case that is decided: bounds (integers times ``2^-24``), the tree of cells, and how many it has."""

    key: Key
    upper: list[int]
    width: list[int]
    tree: Tree
    cells: int
    least: float


@dataclass
class Open:
    """A case that is not: the label whose sign is not shown, the bound reached."""

    key: Key
    label: int
    least: float


class Search:
    """One model on one graph, up to one length.

    Args:
        model: a checkpoint of one layer.
        graph: the words and what is wanted behind them.
        n: the greatest length.
    """

    def __init__(self, model: Trained, graph: Graph, n: int) -> None:
        self.model, self.graph, self.atoms = model, graph, Atoms(model, n)
        self.tail, self.n = Tail(model, graph.labels), n
        self.sizes = [len(basis.rows) for basis in self.atoms.bases]
        self.rows = np.array([row for basis in self.atoms.bases for row in basis.rows], dtype=float) / UNIT
        self.rows = self.rows.reshape(-1, model.d)
        self.at = [np.array(basis.centre) / UNIT for basis in self.atoms.bases]
        self.rest = sum((basis.rest for basis in self.atoms.bases), np.zeros(model.d)) + 1e-12
        self.wanted = np.array([[1.0 if k in want else -1.0 for k in graph.labels] for want in graph.want])
        self.warm: dict[tuple[int, int, int], Array] = {}
        self.last: tuple[int, int] = (-1, -1)
        self.weights: list[Array] = []

    def weigh(self, i: int, a: int) -> None:
        """Make the weights of a position and its symbol ready.

        Args:
            i: the position.
            a: its symbol.
        """
        if self.last != (i, a):
            self.last = (i, a)
            self.weights = [self.atoms.weights(h, i, a) for h in range(self.atoms.heads)]

    def box(self, key: Key) -> tuple[Array, Array]:
        """The exact range of every coordinate over the words of a case.

        Args:
            key: the case.

        Returns:
            Upper and lower ends, all heads in a row.
        """
        self.weigh(key[0], key[1])
        found, case = [], np.array(key, dtype=np.int64)
        for h, basis in enumerate(self.atoms.bases):
            bounds = self.warm.setdefault((h, key[1], key[2]), np.zeros((2, len(basis.rows))))
            supports(self.weights[h], basis.at, *self.graph.edges, case, bounds)
            found.append(bounds.copy())
        both = np.concatenate(found, axis=1)
        return both[0], both[1]

    def form(self, key: Key, low: Array, high: Array) -> Form:
        """The residual stream behind attention on a cell.

        Args:
            key: the case.
            low: lower ends of the coordinates.
            high: upper ends.

        Returns:
            A form with a generator for each coordinate.
        """
        start = self.atoms.x[key[0], max(key[1], 0)] + self.atoms.bias + sum(self.at)
        middle, radius = (low + high) / 2, (high - low) / 2
        return Form(start + self.rows.T @ middle, self.rows.T * radius, self.rest)

    def case(self, key: Key) -> Case | Open:
        """Decide a case.

        Args:
            key: position, symbol, state.

        Returns:
            The hints for the checker, or why it is open.
        """
        high, low = self.box(key)
        upper = [math.floor(x * UNIT) + 2 for x in high]
        width = [u - (math.ceil(x * UNIT) - 2) for u, x in zip(upper, low, strict=True)]
        top = np.array(upper) / UNIT
        self.left, self.worst = CELLS, (math.inf, -1)
        self.own_bounds: dict[bytes, float] = {}
        tree = self.cell(key, top - np.array(width) / UNIT, top, DEEPEST)
        if tree is None:
            return Open(key, self.graph.labels[self.worst[1]], self.worst[0])
        return Case(key, upper, width, tree, CELLS - self.left, self.worst[0])

    def cell(self, key: Key, low: Array, high: Array, depth: int) -> Tree | None:
        """The tree of cells that decides this one, or ``None``.

        Args:
            key: the case.
            low: lower ends.
            high: upper ends.
            depth: halvings that are left.

        Returns:
            0 for a leaf, ``[coordinate, tree, tree]``, or ``None``.
        """
        self.left -= 1
        least, lines = self.tail.signs(self.form(key, low, high), self.wanted[key[2]])
        margins = least - np.abs(lines).sum(1)
        for label in np.flatnonzero(margins <= SAFE):
            if self.atoms.heads == 1:
                margins[label] = max(margins[label], self.own(key, low, high, least[label], lines[label]))
        worst = int(margins.argmin())
        if margins[worst] > SAFE:
            self.worst = min(self.worst, (float(margins[worst]), worst))
            return 0
        if self.left <= 0 or not depth:
            self.worst = (float(margins[worst]), worst)
            return None
        return self.halved(key, low, high, depth)

    def halved(self, key: Key, low: Array, high: Array, depth: int) -> Tree | None:
        """Halve the coordinate that is widest where it matters.

        Args:
            key: the case.
            low: lower ends.
            high: upper ends.
            depth: halvings that are left.

        Returns:
            As :meth:`cell`.
        """
        widest = np.argsort(low - high)[:TRIED]
        m = max((int(m) for m in widest), key=lambda m: self.gain(key, low, high, m))
        below, above = self.halves(low, high, m)
        first = self.cell(key, low, below, depth - 1)
        if first is None:
            return None
        second = self.cell(key, above, high, depth - 1)
        return None if second is None else [m, first, second]

    def halves(self, low: Array, high: Array, m: int) -> tuple[Array, Array]:
        """The upper ends of the lower half and the lower ends of the upper one."""
        middle = (low[m] + high[m]) / 2
        below, above = high.copy(), low.copy()
        below[m], above[m] = middle + 1e-9, middle - 1e-9
        return below, above

    def gain(self, key: Key, low: Array, high: Array, m: int) -> float:
        """How good the worse half is if coordinate ``m`` is halved; the first order counts less, as own directions
        settle most of it."""
        below, above = self.halves(low, high, m)
        found = math.inf
        for a, b in ((low, below), (above, high)):
            least, lines = self.tail.signs(self.form(key, a, b), self.wanted[key[2]])
            found = min(found, float((least - FIRST_ORDER * np.abs(lines).sum(1)).min()))
        return found

    def own(self, key: Key, low: Array, high: Array, least: float, line: Array) -> float:
        """Theorem 5: the bound of a label by its own direction over all words of the case.

        Args:
            key: the case.
            low: lower ends of the cell.
            high: upper ends.
            least: the form's centre.
            line: its generators.

        Returns:
            A lower bound.
        """
        radius = (high - low) / 2
        slope = np.divide(line, radius, out=np.zeros_like(line), where=radius > 0)
        values = -np.tensordot(slope, self.atoms.bases[0].at, 1)
        case = np.array(key, dtype=np.int64)
        begin = float(-(slope @ (low + high)) / 2)
        sigma = greatest(self.weights[0], values, *self.graph.edges, case, begin)
        return float(least - sigma - slope @ (low + high) / 2)

    def attack(self, key: Key, label: int) -> list[tuple[int, ...]]:
        """Words of a case on which a label is likely to be wrong: Frank-Wolfe over words, from the middle of the box
        and from the words at the ends of its widest coordinates.

        Args:
            key: the case.
            label: a row of the unembedding.

        Returns:
            Words to be tried, one head only (with several: none).
        """
        if self.atoms.heads != 1 or not self.sizes[0] or not key[0]:
            return []
        high, low = self.box(key)
        begin = [(low + high) / 2]
        for m in np.argsort(low - high)[:TRIED]:
            direction = np.zeros(len(low))
            direction[m] = 1.0
            begin += [self.word(key, sign * direction)[1] for sign in (1.0, -1.0)]
        found, column = [], self.graph.labels.index(label)
        for t in begin:
            for _ in range(STEPS):
                _, lines = self.tail.signs(self.form(key, t - TINY, t + TINY), self.wanted[key[2]])
                word, t = self.word(key, -lines[column])
                if word in found:
                    break
                found.append(word)
        return found

    def word(self, key: Key, direction: Array) -> tuple[tuple[int, ...], Array]:
        """The word of a case that goes farthest in a direction of coordinates, and its coordinates."""
        at, weights = self.atoms.bases[0].at, self.weights[0]
        ptr, source, symbol = self.graph.edges
        values, case = np.tensordot(direction, at, 1), np.array(key, dtype=np.int64)
        limit = greatest(weights, values, ptr, source, symbol, case, 0.0)
        back = np.zeros((key[0] + 1, len(self.graph.delta)), dtype=np.int64)
        heaviest(weights, values, ptr, source, symbol, case, limit, back)
        state, word = key[2], [0] * (key[0] + 1)
        for j in range(key[0], 0, -1):
            edge = back[j, state]
            word[j], state = int(symbol[edge]), int(source[edge])
        steps = np.arange(key[0] + 1)
        share = weights[steps, word]
        return tuple(word[1:]), at[:, steps, word] @ share / share.sum()


def basis_document(atoms: Atoms) -> list[dict[str, Any]]:
    """The bases as a certificate holds them.

    Args:
        atoms: of the model.

    Returns:
        An object for each head.
    """
    return [{"centre": basis.centre, "rows": basis.rows} for basis in atoms.bases]


def case_document(case: Case) -> list[Any]:
    """A case as a certificate holds it.

    Args:
        case: a decided case.

    Returns:
        ``[i, a, q, upper, width]``, and the tree of cells where there is one.
    """
    return [*case.key, case.upper, case.width, *([case.tree] if case.tree != 0 else [])]
