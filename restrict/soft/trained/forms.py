"""Affine forms in float64: the search's picture of what the checker computes in integers (docs/soft-verdicts.md).

``y = c + G eps + r`` with ``|eps| <= 1``: ``c`` has shape ``(d,)``, ``G`` ``(d, m)``, ``r`` ``(d,)``. Nothing here is
trusted, so nothing is rounded outward.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.soft.trained.model import ACTIVATE, Array, Linear, Norm, Trained

CURVED = 0.83
"""Above the second derivative of the GELU (Lemma 3)."""


class Form(NamedTuple):
    """Centre, generators as columns, remainder."""

    c: Array
    g: Array
    r: Array


def moved(f: Linear, y: Form) -> Form:
    """The image under a linear map.

    Args:
        f: weight of shape ``(inputs, outputs)`` and bias.
        y: a form of the inputs.

    Returns:
        A form of the outputs.
    """
    w = f.weight.T
    return Form(w @ y.c + f.bias, w @ y.g, np.abs(w) @ y.r)


def centred(y: Form) -> tuple[Form, Array, float]:
    """The form less its mean, the reach of each entry, and a bound on the mean square of the deviation (Lemma 2).

    Args:
        y: a form.

    Returns:
        Form, reach of shape ``(d,)``, bound.
    """
    d = len(y.c)
    c, g = y.c - y.c.mean(), y.g - y.g.mean(0)
    r = y.r * (1 - 2 / d) + y.r.mean()
    reach = np.abs(g).sum(1) + r
    ball = (np.sqrt(np.abs(g.T @ g).sum() / d) + np.sqrt((r * r).mean())) ** 2
    return Form(c, g, r), reach, float(min((reach * reach).mean(), ball))


def layer_norm(norm: Norm, epsilon: float, y: Form) -> Form:
    """LayerNorm by the chord of the inverse root (Lemma 2).

    Args:
        norm: weight and bias.
        epsilon: what is added to the variance.
        y: a form.

    Returns:
        A form in the same generators.
    """
    d = len(y.c)
    (c, g, r), reach, square = centred(y)
    v0 = (c * c).mean() + epsilon
    line = 2 * (c @ g) / d
    loose = 2 * (np.abs(c) * r).mean()
    dev, root = np.abs(line).sum() + loose, np.sqrt(v0)
    low = max(epsilon, v0 - dev, max(0.0, root - np.sqrt(square)) ** 2)
    high = min(v0 + dev + square, (root + np.sqrt(square)) ** 2)
    a, b = np.sqrt(low), np.sqrt(high)
    chord = 1 / (a * b * (a + b))
    most, least = 1 / a + chord * low, 1.5 * np.cbrt(2 * chord)
    tau = (most + least) / 2 - chord * (v0 + square / 2)
    tau_r = (most - least) / 2 + chord * (loose + square / 2)
    turn = -chord * line
    off = np.abs(turn).sum() + tau_r
    w = norm.weight
    rest = r * abs(tau) + np.abs(c) * tau_r + reach * off
    return Form(c * tau * w + norm.bias, (g * tau + np.outer(c, turn)) * w[:, None], rest * np.abs(w))


def activated(kind: str, y: Form) -> Form:
    """Each neuron by its chord (Lemma 3).

    Args:
        kind: ``gelu_new``, ``gelu`` or ``relu``.
        y: a form of the neurons' inputs.

    Returns:
        A form of their outputs.
    """
    f, reach = ACTIVATE[kind], np.abs(y.g).sum(1) + y.r
    low, high = y.c - reach, y.c + reach
    pieces = np.ones_like(reach) if kind == "relu" else np.minimum(16, 2 + np.floor(24 * reach))
    at = low + (high - low) * np.minimum(np.arange(pieces.max() + 1)[:, None] / pieces, 1)
    if kind == "relu":
        at = np.vstack([at, np.clip(0, low, high)])
    values = f(at)
    slope = (f(high) - f(low)) / np.maximum(high - low, 1e-12)
    gap = values - slope * at
    off = 0.0 if kind == "relu" else CURVED * ((high - low) / pieces) ** 2 / 8
    least, most = gap.min(0) - off, gap.max(0) + off
    return Form(slope * y.c + (least + most) / 2, slope[:, None] * y.g, np.abs(slope) * y.r + (most - least) / 2)


class Tail:
    """From the residual stream behind attention to the labels' signs, for one model and some labels.

    Args:
        model: a checkpoint of one layer.
        labels: rows of the unembedding.
    """

    def __init__(self, model: Trained, labels: tuple[int, ...]) -> None:
        self.layer, self.kind, self.epsilon = model.layers[0], model.activation, float(model.epsilon)
        assert model.final is not None
        rows = model.unembed[list(labels)] * model.final.weight
        self.rows, self.beta = rows - rows.mean(1, keepdims=True), model.unembed[list(labels)] @ model.final.bias

    def signs(self, y: Form, wanted: Array) -> tuple[Array, Array]:
        """Lower bounds ``k + g . eps`` on each label's logit times its sign and the last deviation (Lemma 4).

        Args:
            y: the residual stream behind attention.
            wanted: 1 or -1 for each label.

        Returns:
            ``k`` of shape ``(labels,)`` and ``g`` of shape ``(labels, m)``.
        """
        inner = activated(self.kind, moved(self.layer.inner, layer_norm(self.layer.norm2, self.epsilon, y)))
        outer = moved(self.layer.outer, inner)
        z = Form(y.c + outer.c, y.g + outer.g, y.r + outer.r)
        (c, _, _), _, square = centred(z)
        s = np.sqrt((c * c).mean() + self.epsilon)
        u, beta = self.rows * wanted[:, None], self.beta * wanted
        row = u + beta[:, None] * c / (len(c) * s)
        least = u @ z.c + beta * s - np.abs(row) @ z.r - np.where(beta < 0, -beta, 0) * square / (2 * s)
        return least, row @ z.g
