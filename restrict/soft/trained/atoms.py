"""What is exact per symbol and position in one layer: queries, scores and values, in float64, for the search. Row 0
holds the start token in column 0; the others hold the symbols. Without a start token the first symbol stands there, as
light as a weight can be. Directions of a head's outputs come from the singular vectors of its values or of the outputs
of some words, rounded to 24 bits as in the certificate."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from restrict.base.errors import ModelError, UsageError
from restrict.base.options import Fact
from restrict.soft.trained.model import Trained, entered
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array

UNIT: Fact[int] = 1 << 24
FARTHEST: Fact[int] = 1 << 25
"""Values are smaller than this, so that a certificate can hold their centre."""
LIGHT: Fact[float] = 1e-290
"""The least weight: words all of whose symbols are lighter than another one by a factor of this have an average."""


class Basis(NamedTuple):
    """Directions of one head: integers times ``2^-24``; coordinates ``(m, n + 1, S)`` of all values; remainder."""

    centre: list[int]
    rows: list[list[int]]
    at: Array
    rest: Array

    @property
    def middle(self) -> Array:
        """The centre, shape ``(d,)``."""
        return np.array(self.centre) / UNIT

    @property
    def near(self) -> Array:
        """The directions, shape ``(m, d)``."""
        return np.array(self.rows, dtype=float).reshape(-1, len(self.centre)) / UNIT


class Atoms:
    """Tables of the first layer, up to length ``n``."""

    def __init__(self, model: Trained, n: int, least: float | None = None) -> None:
        if model.longest is not None and n > model.longest:
            raise UsageError(
                f"{model.name} has position embeddings for words of at most {model.longest} symbols, not {n}"
            )
        d, heads, layer = model.d, model.heads, model.layers[0]
        tokens = np.tile(np.array(model.tokens), (n + 1, 1))
        if model.bos is not None:
            tokens[0] = model.bos
        self.x, self.first = model.embed[tokens], model.first
        if model.positions is not None:
            self.x = self.x + model.positions[model.table(n)]
        mixed = entered(model, self.x, layer.norm1)[0] @ layer.attention.weight + layer.attention.bias
        shape = (n + 1, len(model.tokens), heads, d // heads)
        q, k, v = (part.reshape(shape) for part in np.split(mixed, 3, axis=-1))
        out = layer.projection.weight.reshape(heads, d // heads, d)
        self.q, self.k = q / math.sqrt(d // heads), k
        self.v: Array = np.einsum("jshk,hkd->hjsd", v, out)
        if not np.abs(self.v).max() < FARTHEST:
            raise ModelError(f"{model.name}: what attention reads goes beyond 2^25, which no certificate holds")
        self.bias = layer.projection.bias
        self.n, self.heads, self.least = n, heads, OPTIONS.least_axis if least is None else least
        self.axes = [_axes(v) for v in self.v]
        self.bases = self.spanned(self.least)

    def spanned(self, least: float) -> list[Basis]:
        """A basis for each head: the directions in which some value is farther than ``least`` from the mean."""
        both = zip(self.v, self.axes, strict=True)
        return [basis_of(v, mean, rows[reach > least]) for v, (mean, rows, reach) in both]

    def weights(self, h: int, i: int, a: int) -> Array:
        """The weights, shape ``(i + 1, S)``, of all symbols up to ``i`` with symbol ``a`` (-1: start), at most 1."""
        scores = self.k[: i + 1, :, h] @ self.q[i, max(a, 0), h]
        found: Array = np.maximum(np.exp(scores - scores.max()), LIGHT)
        if self.first:
            found[0] = LIGHT
        return found


def _axes(v: Array) -> tuple[Array, Array, Array]:
    """The mean of a head's values, their principal directions, and how far they go in each."""
    flat = values(v)
    mean = flat.mean(0)
    _, _, rows = np.linalg.svd(flat - np.round(mean * UNIT) / UNIT, full_matrices=False)
    return mean, rows, np.abs((flat - mean) @ rows.T).max(0)


def values(v: Array) -> Array:
    """All values of a head in rows; the start token's stands in column 0 of row 0."""
    return np.concatenate([v[0, :1], v[1:].reshape(-1, v.shape[-1])])


def basis_of(v: Array, centre: Array, rows: Array) -> Basis:
    """A basis of one head, rounded to 24 bits. ``v``: its values, shape ``(n + 1, S, d)``. ``centre``: shape ``(d,)``.
    ``rows``: orthonormal directions, shape ``(m, d)``."""
    whole, rounded = np.round(centre * UNIT), np.round(rows * UNIT)
    near = rounded / UNIT
    at = np.moveaxis((v - whole / UNIT) @ near.T, -1, 0)
    gap = values(v) - whole / UNIT
    rest = np.abs(gap - gap @ near.T @ near).max(0)
    lines = [[int(entry) for entry in row] for row in rounded]
    return Basis([int(entry) for entry in whole], lines, np.ascontiguousarray(at), rest)
