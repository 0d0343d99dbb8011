"""Sets of vectors with outward rounding: a centre, a box and a Euclidean ball around it.

An :class:`Enclosure` stands for all vectors ``x`` with ``|x - centre| <= box`` (entry by entry) **and**
``||x - centre||_2 <= ball``. The box is sharp for structured weights, the ball for dense ones (a random matrix blows a
box up by the square root of the width), and each tightens the other.

Rounding: every result holds for the exact real operation. A product of ``k`` terms summed in any order, with or without
fused operations, has an error of at most ``gamma_k = k u / (1 - k u)`` times the sum of absolute values, ``u = 2^-53``
(Higham 2002, section 3.1); radii are sums of non-negative terms and are scaled up by the same factor. :data:`TINY`
covers underflow. Invariant: radii are finite and at least 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restrict.base.arrays import Bools
from restrict.soft.models.model import Floats

U = 2.0**-53
TINY = 1e-280
"""Added to every radius; larger than any sum of underflow errors that fits in memory."""


def gamma(k: int) -> float:
    """A bound on the relative error of a sum of ``k`` rounded products, with room for a few more operations."""
    return (k + 8) * U * (1 + 1e-9)


def above(x: Floats, k: int = 1) -> Floats:
    """Not less than the exact value, where ``x >= 0`` was computed by at most ``k`` additions and products."""
    return x * (1 + 2 * gamma(k)) + TINY


def norms(x: Floats) -> Floats:
    """Euclidean norms along the last axis, not less than the exact ones."""
    return above(np.sqrt(np.einsum("...d,...d->...", x, x)), x.shape[-1])


@dataclass(frozen=True, eq=False)
class Enclosure:
    """All ``x`` with ``|x - centre| <= box`` and ``||x - centre|| <= ball``; shapes (..., d), (..., d), (...)."""

    centre: Floats
    box: Floats
    ball: Floats

    def tightened(self) -> "Enclosure":
        """The same set with the box cut to the ball and the ball to the box's corner."""
        box = np.minimum(self.box, self.ball[..., None])
        return Enclosure(self.centre, box, np.minimum(self.ball, norms(box)))

    def __getitem__(self, key: Any) -> "Enclosure":
        """Some of the sets, by an index into the leading axes."""
        return Enclosure(self.centre[key], self.box[key], self.ball[key])

    def reshaped(self, *shape: int) -> "Enclosure":
        """The sets in another arrangement; ``shape`` leaves the last axis out."""
        d = self.centre.shape[-1]
        return Enclosure(self.centre.reshape(*shape, d), self.box.reshape(*shape, d), self.ball.reshape(*shape))

    def repeated(self, *shape: int) -> "Enclosure":
        """The same sets again along axes of length 1, or new ones in front; ``shape`` leaves the last axis out."""
        whole = (*shape, self.centre.shape[-1])
        return Enclosure(
            np.broadcast_to(self.centre, whole), np.broadcast_to(self.box, whole), np.broadcast_to(self.ball, shape)
        )

    @property
    def low(self) -> Floats:
        """Lower ends of the box, rounded down."""
        return self.centre - self.box - U * 2 * np.abs(self.centre) - TINY

    @property
    def high(self) -> Floats:
        """Upper ends of the box, rounded up."""
        return self.centre + self.box + U * 2 * np.abs(self.centre) + TINY

    def largest(self) -> Floats:
        """The largest absolute value of each entry."""
        return above(np.abs(self.centre) + self.box)

    def norm(self) -> Floats:
        """The largest Euclidean norm."""
        by_ball = norms(self.centre) + self.ball
        return above(np.minimum(by_ball, norms(self.largest())), 2)

    def holds(self, x: Floats, slack: float = 0.0) -> Bools:
        """Whether vectors lie in the set, with ``slack`` for the rounding of ``x`` itself."""
        off = np.abs(x - self.centre)
        inside = (off <= self.box + slack).all(axis=-1) & (np.sqrt((off * off).sum(axis=-1)) <= self.ball + slack)
        return np.asarray(inside)


def exactly(centre: Floats) -> Enclosure:
    """The enclosures of single vectors: balls of radius 0."""
    return Enclosure(centre, np.zeros_like(centre), np.zeros(centre.shape[:-1]))


def rounded(centre: Floats, box: Floats, ball: Floats, k: int) -> Enclosure:
    """The set with these radii, which were computed by at most ``k`` additions and products."""
    return Enclosure(centre, above(box, k), above(ball, k)).tightened()


def around(centre: Floats, error: Floats) -> Enclosure:
    """Vectors known up to ``error`` in each entry."""
    return Enclosure(centre, above(error), norms(error)).tightened()


def add(a: Enclosure, b: Enclosure) -> Enclosure:
    """An enclosure of all sums of a vector of each."""
    centre = a.centre + b.centre
    return Enclosure(
        centre, above(a.box + b.box + 2 * U * np.abs(centre), 3), above(a.ball + b.ball + 2 * U * norms(centre), 3)
    )


def hull(x: Enclosure, axis: int) -> Enclosure:
    """A set that contains all sets along one of the leading axes, which is left out."""
    if x.centre.shape[axis] == 1:
        return Enclosure(x.centre.squeeze(axis), x.box.squeeze(axis), x.ball.squeeze(axis))
    low, high = x.low.min(axis=axis), x.high.max(axis=axis)
    centre = (low + high) / 2
    box = above(np.maximum(high - centre, centre - low) + 2 * U * np.abs(centre))
    apart = norms(x.centre - np.expand_dims(centre, axis)) + x.ball
    d = x.centre.shape[-1]
    return Enclosure(centre, box, above((apart + 4 * U * norms(x.centre)).max(axis=axis), d)).tightened()


def where(first: Bools, a: Enclosure, b: Enclosure) -> Enclosure:
    """One set or the other, as a mask over the leading axes says."""
    wide = first[..., None]
    return Enclosure(np.where(wide, a.centre, b.centre), np.where(wide, a.box, b.box), np.where(first, a.ball, b.ball))


def joined(parts: Sequence[Enclosure], join: Callable[[list[Floats]], Floats] = np.concatenate) -> Enclosure:
    """Sets one after the other along the first axis, or (``np.stack``) side by side along a new one."""
    return Enclosure(join([p.centre for p in parts]), join([p.box for p in parts]), join([p.ball for p in parts]))


@dataclass(frozen=True, eq=False)
class Linear:
    """``x -> matrix x + bias`` with what its image needs: absolute values, row norms and a bound on the 2-norm."""

    matrix: Floats
    bias: Floats
    absolute: Floats
    rows: Floats
    norm: float
    frobenius: float

    def image(self, x: Enclosure) -> Enclosure:
        """The image of a set."""
        centre = x.centre @ self.matrix.T + self.bias
        d = self.matrix.shape[1]
        size = norms(x.centre)
        error = gamma(d + 1) * (size[..., None] * self.rows + np.abs(self.bias))
        box = np.minimum(x.box @ self.absolute.T, self.rows * x.ball[..., None])
        ball = self.norm * x.ball + gamma(d + 1) * (size * self.frobenius + float(norms(self.bias)))
        return rounded(centre, box + error, ball, d)

    def difference(self, x: Enclosure) -> Enclosure:
        """The image of a set of differences: without the bias."""
        return linear(self.matrix, norm=self.norm).image(x) if self.bias.any() else self.image(x)


def linear(matrix: Floats, bias: Floats | None = None, norm: float | None = None) -> Linear:
    """Prepare a matrix (rows, columns) and an optional bias."""
    matrix = np.asarray(matrix, dtype=np.float64)
    return Linear(
        matrix,
        np.zeros(len(matrix)) if bias is None else bias,
        np.abs(matrix),
        norms(matrix),
        spectral(matrix) if norm is None else norm,
        float(norms(matrix.reshape(-1))),
    )


def spectral(matrix: Floats) -> float:
    """A bound on the largest singular value, not below it, and above it by about 1e-13 of its size. With the computed
    decomposition ``U S V``: ``||A|| <= ||U|| ||V|| max(S) + ||A - U S V||_F`` and ``||U||^2 <= 1 + ||U^T U - I||_F``;
    both residuals are computed, and their rounding errors bounded."""
    a = np.asarray(matrix, dtype=np.float64)
    frobenius = float(norms(a.reshape(-1)))
    if frobenius <= TINY or not np.isfinite(frobenius):
        return frobenius
    try:
        left, values, right = np.linalg.svd(a, full_matrices=False)
    except np.linalg.LinAlgError:
        return frobenius
    k = sum(a.shape)
    residual = float(norms((a - (left * values) @ right).reshape(-1)))
    rounding = gamma(2 * k) * (frobenius + float(norms(left.reshape(-1))) * float(values[0]) * np.sqrt(k))
    stretch = 1.0
    for basis in (left, right.T):
        gram = basis.T @ basis - np.eye(basis.shape[1])
        size = float(norms(basis.reshape(-1)))
        stretch *= 1 + float(norms(gram.reshape(-1))) + gamma(2 * k) * (size * size + k)
    found = float(values[0]) * np.sqrt(stretch) + residual + rounding
    return float(min(found * (1 + 1e-14), frobenius))
