"""Bounds on activations and on their errors, entry by entry, for all words and positions at once, through every layer.

For each entry of the residual stream ``size`` bounds the absolute value of the exact one and ``error`` the distance of
the computed one. Sums of ``k`` products err by at most ``gamma_k = k u / (1 - k u)`` times the sum of absolute values,
in any order and with or without fused operations (Higham 2002, section 3.1); ``u = 0`` is real arithmetic. What a head
reads is bounded by the caller: :mod:`.rounding` for floating point, :mod:`.theorem26` for Theorem 26.

Invariant: every bound is rounded outward.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from restrict.base.errors import NotEstablished
from restrict.simulate.floating import average_error
from restrict.soft.models.model import Floats, SoftHead, SoftLayer, SoftModel

SLACK = 1 + 2.0**-30
"""More than the rounding of a sum of up to a million non-negative products."""


@dataclass(frozen=True)
class Bounded:
    """For each entry of a vector: a bound on the absolute value of the exact one, and on the error."""

    size: Floats
    error: Floats

    def plus(self, other: "Bounded", unit: float) -> "Bounded":
        """The rounded sum. ``unit``: unit roundoff."""
        size, error = self.size + other.size, self.error + other.error
        return Bounded(size * SLACK, (error + 2 * unit * (size + error)) * SLACK)


Distance = Callable[[SoftHead, float, float], float]
"""The l1 distance of a head's weights from those of the other run, from the error of the product of a query and a key,
and a bound on such a product. Rounding of the average is not in it."""


def refuse(model: SoftModel, what: str) -> None:
    """Refuse what is not analysed."""
    if model.special:
        raise NotEstablished(f"{what}: there is no analysis of {model.special[0]}")


def logits_error(model: SoftModel, n: int, unit: float, distance: Distance) -> float:
    """How far any logit can be from the exact one, on any word and at any position. ``unit``: unit roundoff. Result: a
    certified bound, infinite where an activation may overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = embedded(model, n, unit)
        for layer in model.layers:
            x = through(layer, x, unit, lambda head, x: attended(head, x, n, unit, distance))
        found = float(linear(model.output.unembed, model.output.bias, x, unit).error.max()) * SLACK
    return found if math.isfinite(found) else math.inf


def embedded(model: SoftModel, n: int, unit: float) -> Bounded:
    """The embeddings of all tokens at all positions. ``unit``: unit roundoff. Position terms are computed in float64
    first. Result: bounds; without errors for ``unit`` 0."""
    token, positions = np.abs(model.embed).max(axis=0), model.positions
    found = Bounded(token, 2 * unit * token)
    if positions.table is None:
        return found
    if positions.kind == "table":
        size, error = np.abs(positions.table[:n]), np.zeros_like(positions.table[:n])
    else:
        values = np.abs(np.stack([t.column(n) for t in positions.terms], axis=1))
        inexact, table = np.stack([t.errors(n) for t in positions.terms], axis=1), np.abs(positions.table)
        size, error = (values + inexact) @ table, inexact @ table
        error = error + gamma(len(positions.terms), 2.0**-53) * size
    place = Bounded(size.max(axis=0) * SLACK, (error + 2 * unit * size).max(axis=0) * SLACK * (unit > 0))
    if positions.combine == "add":
        return found.plus(place, unit)
    return Bounded(np.concatenate([found.size, place.size]), np.concatenate([found.error, place.error]))


def gamma(k: int, unit: float) -> float:
    """A bound on the relative error of a sum of rounded products, with the rounding of the weights to the type and a
    few operations more."""
    share = (k + 8) * unit
    return share / (1 - share) if share < 1 else math.inf


def linear(matrix: Floats, bias: Floats, x: Bounded, unit: float) -> Bounded:
    """``matrix x + bias``: only products that are not 0 are rounded. ``matrix``: shape (rows, d). ``bias``: shape
    (rows,). ``x``: of ``d`` entries. ``unit``: unit roundoff. Result: bounds on the rows."""
    weights = np.abs(matrix)
    terms = int((matrix != 0).sum(axis=1).max(initial=0)) + 1
    size, error = weights @ x.size + np.abs(bias), weights @ x.error
    return Bounded(size * SLACK, (error + gamma(terms, unit) * (size + error)) * SLACK)


def attended(head: SoftHead, x: Bounded, n: int, unit: float, distance: Distance) -> Bounded:
    """What a head reads, before its output matrix. It errs by ``sum (w' - w) v + sum w' (v' - v)`` with the weights
    ``w`` and values ``v`` of the exact run and ``w'``, ``v'`` of the other one, where the ``w'`` add up to 1; and then
    by the rounding of that average. ``unit``: unit roundoff. Result: bounds on what is read."""
    q, k = linear(head.query, head.query_bias, x, unit), linear(head.key, head.key_bias, x, unit)
    v = linear(head.value, head.value_bias, x, unit)
    product = float((q.size + q.error) @ (k.size + k.error))
    off = float(q.error @ (k.size + k.error) + q.size @ k.error) + (gamma(len(q.size), unit) + 6 * unit) * product
    moved = distance(head, off * SLACK, product * SLACK)
    error = v.error + moved * v.size
    rounded = average_error(n, unit) * (v.size + v.error) if unit else 0.0
    return Bounded(v.size, (error + rounded) * SLACK)


def through(layer: SoftLayer, x: Bounded, unit: float, read: Callable[[SoftHead, Bounded], Bounded]) -> Bounded:
    """One layer. ``unit``: unit roundoff. ``read``: bounds on what a head reads. Result: bounds on its output."""
    bias = np.abs(layer.attention_bias)
    moved = x.plus(Bounded(bias, 2 * unit * bias), unit) if bias.any() else x
    for head in layer.heads:
        moved = moved.plus(linear(head.output, np.zeros(len(head.output)), read(head, x), unit), unit)
    if layer.ffn is None:
        return moved
    hidden = linear(layer.ffn.inner, layer.ffn.inner_bias, moved, unit)
    return moved.plus(linear(layer.ffn.outer, layer.ffn.outer_bias, hidden, unit), unit)
