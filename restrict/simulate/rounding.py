"""Floating point: how far a softmax model's result in float64 or float32 can be from the exact one, certified.

Two analyses. ``u`` is the unit roundoff, and sums of ``k`` products err by at most ``gamma_k = k u / (1 - k u)`` times
the sum of absolute values, in any order and with or without fused operations (Higham 2002, section 3.1). Assumed: the
exponential errs by at most 8 units in the last place.

**Compiled programs** (:func:`head_error`, :func:`safe_length`). All blocks hold 0 and 1, and what units add are small
integers, so everything but the heads is exact in floating point, and Lemma 9 removes what a head errs as long as that
is at most 1/4. For one head with ranks up to ``R``: a product of query and key errs by at most ``u (R + 1.1)`` (one
rounding of rank plus tie-break, one of ``i/n``), its product with the scale by as much again, so scores err by ``eta =
scale u (2R + 2)`` beyond a factor common to the row; the odds are multiplied by ``e^(2 eta)`` at most. Weights, their
sum and the weighted sum err by at most ``(2n + 32) u``. The bound grows with ``n``, so there is a length up to which
the result is right, and from which on it may be wrong.

**Any model** (:func:`logit_error`). Bounds on the activations and on their errors, entry by entry, for all words and
positions at once, through every layer: a head whose scores err by ``eta`` moves its weights by at most ``2 tanh(eta /
2)`` in l1 norm (docs/soft.md, item 4). No LayerNorm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from restrict.errors import NotEstablished, UsageError
from restrict.simulate.errors import exp_above, gap_error, tied_error
from restrict.simulate.hard import Compiled, HeadReport
from restrict.soft.model import MAX_N, Floats, SoftFeedForward, SoftHead, SoftLayer, SoftModel
from restrict.soft.terms import up

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
"""Unit roundoff by the name of the type."""
SHORT = 64
"""Up to here lengths are looked at one by one; from here on the bounds grow with the length."""
SAFE = 0.25
EXP_ULPS = 16
"""The assumed error of the exponential, in units roundoff."""


def head_error(head: HeadReport, n: int, unit: float, ranks: int | None = None) -> float:
    """How far what a head of a compiled program reads in floating point can be from the hard one.

    Args:
        head: the head.
        n: the length.
        unit: unit roundoff, 0 for exact arithmetic.
        ranks: the greatest rank; by default that of the head.

    Returns:
        A certified bound. From ``n = 64`` on it grows with ``n``.
    """
    span = head.scale.enclose(0, n)
    low, top = max(span.low, 0.0) * (1 - 4 * unit), head.top if ranks is None else ranks
    if head.ties == "harmless":
        exact = gap_error(n - 1, 1, low)
    else:  # the scale is a multiple of n, so the bound falls with n where arithmetic is exact
        short = min(n, SHORT)
        exact = tied_error(short, 1, max(head.scale.enclose(0, short).low, 0.0) * (1 - 4 * unit))
    if unit == 0:
        return exact
    blown = 2 * span.high * unit * (2 * top + 2) * (1 + 1e-6)
    if exact >= 1 or blown > 50:
        return 1.0
    odds = up(exact / (1 - exact)) * exp_above(blown) * (1 + (EXP_ULPS + 8) * unit) * (1 + 1e-12)
    return min(up(odds / (1 + odds)) * (1 + 1e-12) + (2 * n + 32) * unit * (1 + 1e-6), 1.0)


def program_error(compiled: Compiled, unit: float, n: int | None = None) -> float:
    """The largest :func:`head_error` of a compiled program.

    Args:
        compiled: the program.
        unit: unit roundoff.
        n: the length; by default the one it was compiled for.

    Returns:
        A certified bound; the result is right where it is at most 1/4. 1 where ranks are too large to be exact.
    """
    if any(head.top * unit > 0.25 for head in compiled.heads):
        return 1.0
    length = compiled.n if n is None else n
    return max((head_error(head, length, unit) for head in compiled.heads), default=0.0)


def safe_length(compiled: Compiled, kind: str) -> int:
    """The length up to which a compiled program is right in floating point, on every word.

    Args:
        compiled: the program; it holds at every length, or at its own only.
        kind: ``float64`` or ``float32``.

    Returns:
        The greatest such length up to 10 000 000 (certified): from the next one on the result may be wrong. For a model
        that holds at one length only: that length, or 0.

    Raises:
        UsageError: another kind.
    """
    if kind not in UNITS:
        raise UsageError(f"the type {kind!r} must be one of {', '.join(UNITS)}")
    unit = UNITS[kind]

    def safe(n: int) -> bool:
        return program_error(compiled, unit, n) <= SAFE

    if not compiled.every_length:
        return compiled.n if safe(compiled.n) else 0
    for n in range(1, SHORT + 1):
        if not safe(n):
            return n - 1
    low, high = SHORT, MAX_N + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if safe(middle) else (low, middle)
    return low


# ------------------------------------------------------------ any model


@dataclass(frozen=True)
class Known:
    """For each entry of a vector: a bound on the absolute value of the exact one, and on the error."""

    size: Floats
    error: Floats

    def plus(self, other: Known, unit: float) -> Known:
        """The rounded sum."""
        size = self.size + other.size
        return Known(size, (self.error + other.error) * (1 + unit) + unit * size)


def logit_error(model: SoftModel, n: int, kind: str) -> float:
    """How far any logit in floating point can be from the exact one, on any word and at any position.

    Args:
        model: dot-product scores and ReLU networks, no LayerNorm.
        n: the length.
        kind: ``float64`` or ``float32``.

    Returns:
        A certified bound, infinite where an activation may overflow.

    Raises:
        UsageError: another kind.
        NotEstablished: LayerNorm, GELU or additive scores.
    """
    if kind not in UNITS:
        raise UsageError(f"the type {kind!r} must be one of {', '.join(UNITS)}")
    unit = UNITS[kind]
    _refuse(model)
    with np.errstate(over="ignore", invalid="ignore"):
        x = _embedded(model, n, unit)
        for layer in model.layers:
            x = _through(layer, x, n, unit)
        out = _linear(model.output.unembed, model.output.bias, x, unit)
        worst = float(out.error.max()) * (1 + 1e-9)
    return worst if math.isfinite(worst) else math.inf


def _refuse(model: SoftModel) -> None:
    if model.final_norm is not None or any(layer.norm != "none" for layer in model.layers):
        raise NotEstablished("rounding: LayerNorm is not analysed")
    if any(head.score != "dot" for layer in model.layers for head in layer.heads):
        raise NotEstablished("rounding: additive scores are not analysed")
    if any(layer.ffn is not None and layer.ffn.activation != "relu" for layer in model.layers):
        raise NotEstablished("rounding: only ReLU networks are analysed")


def _gamma(k: int, unit: float) -> float:
    """A sum of ``k`` rounded products, with the rounding of the weights to the type and a few operations more."""
    share = (k + 8) * unit
    return share / (1 - share) if share < 1 else math.inf


def _embedded(model: SoftModel, n: int, unit: float) -> Known:
    token = np.abs(model.embed).max(axis=0)
    found = Known(token, 2 * unit * token)
    positions = model.positions
    if positions.table is None:
        return found
    if positions.kind == "table":
        size, error = np.abs(positions.table[:n]), np.zeros_like(positions.table[:n])
    else:
        values = np.abs(np.stack([t.column(n) for t in positions.terms], axis=1))
        inexact = np.stack([t.errors(n) for t in positions.terms], axis=1)
        table = np.abs(positions.table)
        size, error = (values + inexact) @ table, inexact @ table
        error = error + _gamma(len(positions.terms), 2.0**-53) * size
    place = Known(size.max(axis=0), (error + 2 * unit * size).max(axis=0))
    if positions.combine == "add":
        return found.plus(place, unit)
    return Known(np.concatenate([found.size, place.size]), np.concatenate([found.error, place.error]))


def _linear(matrix: Floats, bias: Floats, x: Known, unit: float) -> Known:
    """``matrix x + bias``: only entries that are not 0 are rounded."""
    weights = np.abs(matrix)
    terms = int((matrix != 0).sum(axis=1).max(initial=0)) + 1
    size = weights @ x.size + np.abs(bias)
    error = weights @ x.error
    whole = weights @ (x.size + x.error) + np.abs(bias)
    return Known(size * (1 + 1e-12), (error + _gamma(terms, unit) * whole) * (1 + 1e-12))


def _through(layer: SoftLayer, x: Known, n: int, unit: float) -> Known:
    moved = x.plus(Known(np.abs(layer.attention_bias), 2 * unit * np.abs(layer.attention_bias)), unit)
    for head in layer.heads:
        moved = moved.plus(_read(head, x, n, unit), unit)
    return moved if layer.ffn is None else moved.plus(_fed(layer.ffn, moved, unit), unit)


def _read(head: SoftHead, x: Known, n: int, unit: float) -> Known:
    q = _linear(head.query, head.query_bias, x, unit)
    k = _linear(head.key, head.key_bias, x, unit)
    v = _linear(head.value, head.value_bias, x, unit)
    span = head.scale.enclose(0, n)
    scale = max(abs(span.low), abs(span.high))
    product = float((q.size + q.error) @ (k.size + k.error))
    off = float(q.error @ (k.size + k.error) + q.size @ k.error) + _gamma(len(q.size), unit) * product
    eta = scale * (off + (6 * unit + 2.0**-48) * product) * (1 + 1e-9)
    moved = 2 * math.tanh(min(eta, 700.0) / 2) + (2 * n + 32 + EXP_ULPS) * unit
    read = Known(v.size, (v.error + moved * (v.size + v.error)) * (1 + 1e-9))
    return _linear(head.output, np.zeros(len(head.output)), read, unit)


def _fed(ffn: SoftFeedForward, x: Known, unit: float) -> Known:
    inner = _linear(ffn.inner, ffn.inner_bias, x, unit)
    return _linear(ffn.outer, ffn.outer_bias, inner, unit)
