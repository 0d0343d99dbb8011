"""Directions for the second of two layers: in which keys and values have their remainders (Lemma V18). A remainder is a
box. Turned so that queries have one large entry, keys lose next to nothing of what these read; values likewise, along
their own axes. Any directions are sound, so they are hints.

The cells of the nodes so far, side by side, as the second layer's kernels take them: keys or values of a head.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from restrict.base.arrays import I64
from restrict.base.options import Fact
from restrict.soft.trained.forms import Form
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.histories import Histories
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array

FINE: Fact[int] = 1 << 32
"""Directions are integers times ``2^-32``."""


def axes(model: Trained, graph: Graph, n: int) -> list[tuple[Array, Array]]:
    """For each head the axes of queries and those of values behind random prefixes of the claim, as rows, shapes ``(dk,
    dk)`` and ``(d, d)``, rounded as in a certificate. Cost: O(n^2) for each of some 600 words."""
    seen, rng, made = Histories(model, graph, n), np.random.default_rng(1), []
    for i in sorted({*range(1, min(n, 5) + 1), *(n * k // 8 for k in range(1, 9))} - {0}):
        words = [word for _ in range(OPTIONS.axis_words) if (word := prefix(seen, i, rng)) is not None]
        made += [seen.seen(np.array(words))] if words else []
    d, heads = model.d, model.heads
    q, _, v = np.split(np.concatenate(made or [np.zeros((1, 3 * d))]), 3, axis=1)
    out, found = model.layers[1].projection.weight.reshape(heads, d // heads, d), []
    for h, cut in enumerate(np.split(np.arange(d), heads)):
        value = v[:, cut] @ out[h]
        queries, values = (np.round(np.linalg.svd(x)[2] * FINE) / FINE for x in (q[:, cut], value - value.mean(0)))
        found.append((queries, values))
    return found


def prefix(seen: Histories, length: int, rng: np.random.Generator) -> list[int] | None:
    """A random prefix of a word of the claim; ``None`` where its first symbols lead to none so long."""
    q, word = 0, list[int]()
    for alive in seen.alive[1 : length + 1]:
        good = [s for s, t in enumerate(seen.graph.delta[q]) if t in alive]
        if not good:
            return None
        word.append(int(rng.choice(good)))
        q = seen.graph.delta[q][word[-1]]
    return word


def turn_document(turns: list[tuple[Array, Array]]) -> list[list[list[list[int]]]]:
    """The directions as a certificate holds them: integers times ``2^-32``."""
    return [[[[int(v) for v in row] for row in rows * FINE] for rows in pair] for pair in turns]


def along(rows: Array, c: Array, g: Array, r: Array) -> Array:
    """The greatest value of each of some directions, and of its opposite, in each cell: ``(2, directions, cells)``."""
    at, wide = rows @ c.T, np.abs(rows) @ r.T + np.abs(rows @ g).sum(2).T
    return np.array([wide + at, wide - at])


@dataclass
class CellTable:
    """Cells in the order of their nodes. ``reached``: what :func:`along` is in each of the first cells, by a number
    that a caller gives its directions."""

    forms: list[Form] = field(default_factory=list)
    stacked: Form | None = None
    reached: dict[int, Array] = field(default_factory=dict)

    def upto(self, last: int) -> Form:
        """At least all cells up to ``last``: a case needs those of smaller positions, so few calls have new ones."""
        if self.stacked is None or len(self.stacked.c) <= last:
            self.stacked = Form.side_by_side(self.forms)
        return self.stacked

    def at(self, cells: I64, last: Form) -> Form:
        """Some cells, in their order, then one more."""
        if not len(cells):
            return Form.side_by_side([last])
        both = zip(self.upto(cells[-1]), Form.side_by_side([last]), strict=True)
        return Form(*(np.concatenate([table[cells], part]) for table, part in both))

    def along(self, number: int, rows: Array, cells: I64, last: Form) -> Array:
        """:func:`along` in some cells, then in one more. Those of the table are reckoned once for a number: again
        for each case they were a fifth of a search."""
        known = self.reached.get(number, np.zeros((2, len(rows), 0)))
        if len(cells) and known.shape[2] <= cells[-1]:
            new = along(rows, *(part[known.shape[2] :] for part in self.upto(cells[-1])))
            known = self.reached[number] = np.concatenate([known, new], axis=2)
        return np.concatenate([known[:, :, cells], along(rows, *Form.side_by_side([last]))], axis=2)
