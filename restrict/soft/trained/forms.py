"""A block behind its attention, made ready for the kernels of ``restrict.kernels.cells`` (docs/soft-verdicts.md)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.kernels.cells import Tables, signed
from restrict.soft.trained.model import Array, Trained


class Form(NamedTuple):
    """``y = c + G eps + r`` with ``|eps| <= 1``: centre ``(d,)``, generators as columns ``(d, m)``, remainder."""

    c: Array
    g: Array
    r: Array


class Tail:
    """From the residual stream behind attention to the labels' signs, for one model and some labels.

    Args:
        model: a checkpoint of one layer.
        labels: rows of the unembedding.
    """

    def __init__(self, model: Trained, labels: tuple[int, ...]) -> None:
        layer = model.layers[0]
        assert model.final is not None
        rows = model.unembed[list(labels)] * model.final.weight
        self.tables = Tables(
            *layer.norm2,
            np.ascontiguousarray(layer.inner.weight.T),
            layer.inner.bias,
            np.ascontiguousarray(layer.outer.weight.T),
            layer.outer.bias,
            float(model.epsilon),
            int(model.activation == "relu"),
            rows - rows.mean(1, keepdims=True),
            model.unembed[list(labels)] @ model.final.bias,
        )

    def signs(self, y: Form, wanted: Array) -> tuple[Array, Array]:
        """Lower bounds ``k + g . eps`` on each label's logit times its sign and the last deviation (Lemma 4).

        Args:
            y: the residual stream behind attention.
            wanted: 1 or -1 for each label.

        Returns:
            ``k`` of shape ``(labels,)`` and ``g`` of shape ``(labels, m)``.
        """
        return signed(self.tables, wanted, y.c, np.ascontiguousarray(y.g), y.r)
