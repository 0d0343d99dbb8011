"""The cells of the nodes so far, side by side, as the second layer's kernels take them: keys or values of a head."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.trained.forms import Form
from restrict.soft.trained.stored import Array

Tuple3 = tuple[Array, Array, Array]


def stack(forms: list[Form]) -> Tuple3:
    """Forms side by side."""
    return np.array([f.c for f in forms]), np.array([f.g for f in forms]), np.array([f.r for f in forms])


def along(rows: Array, c: Array, g: Array, r: Array) -> Array:
    """The greatest value of each of some directions, and of its opposite, in each cell: ``(2, directions, cells)``."""
    at, wide = rows @ c.T, np.abs(rows) @ r.T + np.abs(rows @ g).sum(2).T
    return np.array([wide + at, wide - at])


@dataclass
class Table:
    """Cells in the order of their nodes. ``reached``: what :func:`along` is in each of the first cells, by a number
    that a caller gives its directions."""

    forms: list[Form] = field(default_factory=list)
    stacked: Tuple3 | None = None
    reached: dict[int, Array] = field(default_factory=dict)

    def upto(self, last: int) -> Tuple3:
        """At least all cells up to ``last``: a case needs those of smaller positions, so few calls have new ones."""
        if self.stacked is None or len(self.stacked[0]) <= last:
            self.stacked = stack(self.forms)
        return self.stacked

    def at(self, cells: I64, last: Form) -> Tuple3:
        """Some cells, in their order, then one more."""
        if not len(cells):
            return stack([last])
        return tuple(np.concatenate([a[cells], b]) for a, b in zip(self.upto(cells[-1]), stack([last]), strict=True))  # type: ignore[return-value]

    def along(self, number: int, rows: Array, cells: I64, last: Form) -> Array:
        """:func:`along` in some cells, then in one more. Those of the table are reckoned once for a number: again
        for each case they were a fifth of a search."""
        known = self.reached.get(number, np.zeros((2, len(rows), 0)))
        if len(cells) and known.shape[2] <= cells[-1]:
            new = along(rows, *(part[known.shape[2] :] for part in self.upto(cells[-1])))
            known = self.reached[number] = np.concatenate([known, new], axis=2)
        return np.concatenate([known[:, :, cells], along(rows, *stack([last]))], axis=2)
