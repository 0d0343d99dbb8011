"""Slow, obvious versions of what restrict.soft computes: one number at a time, in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from restrict.soft.models.model import LayerNorm, SoftHead, SoftLayer, SoftModel

Vector = list[float]


def run(model: SoftModel, word: list[int]) -> list[Vector]:
    """The logits at every position, by the formulas of docs/soft-format.md."""
    n = len(word)
    x = [embedding(model, word[i], i, n) for i in range(n)]
    for layer in model.layers:
        x = run_layer(layer, x)
    if model.final_norm is not None:
        x = [normed(model.final_norm, v) for v in x]
    return [affine(model.output.unembed, v, model.output.bias) for v in x]


def embedding(model: SoftModel, token: int, i: int, n: int) -> Vector:
    found = [float(v) for v in model.embed[token]]
    positions = model.positions
    if positions.table is None:
        return found
    row = (
        [float(v) for v in positions.table[i]]
        if positions.kind == "table"
        else [
            sum(t.value(i, n) * float(positions.table[at, c]) for at, t in enumerate(positions.terms))
            for c in range(positions.table.shape[1])
        ]
    )
    return [a + b for a, b in zip(found, row, strict=True)] if positions.combine == "add" else found + row


def affine(matrix: Any, x: Vector, bias: Any) -> Vector:
    return [
        sum(float(w) * v for w, v in zip(row, x, strict=True)) + float(b) for row, b in zip(matrix, bias, strict=True)
    ]


def normed(norm: LayerNorm, x: Vector) -> Vector:
    mean = sum(x) / len(x)
    variance = sum((v - mean) ** 2 for v in x) / len(x)
    size = math.sqrt(variance + norm.eps.value(0, 1))
    return [float(w) * (v - mean) / size + float(b) for v, w, b in zip(x, norm.weight, norm.bias, strict=True)]


def sees(mask: str, i: int, j: int) -> bool:
    return {"none": True, "past": j <= i, "strict_past": j < i, "future": j >= i, "strict_future": j > i}[mask]


def attend(head: SoftHead, x: list[Vector], i: int) -> Vector:
    n = len(x)
    q = affine(head.query, x[i], head.query_bias)
    scores: dict[int, float] = {}
    for j in range(n):
        if sees(head.mask, i, j):
            k = affine(head.key, x[j], head.key_bias)
            if head.additive is None:
                score = sum(a * b for a, b in zip(q, k, strict=True))
            else:
                score = sum(float(w) * math.tanh(a + b) for w, a, b in zip(head.additive, q, k, strict=True))
            scores[j] = score * head.scale.value(0, n)
    read = [0.0] * len(head.value)
    if scores:
        top = max(scores.values())
        total = sum(math.exp(s - top) for s in scores.values())
        for j, s in scores.items():
            v = affine(head.value, x[j], head.value_bias)
            read = [r + math.exp(s - top) / total * c for r, c in zip(read, v, strict=True)]
    return affine(head.output, read, np.zeros(len(head.output)))


def activation(kind: str, x: float) -> float:
    if kind == "relu":
        return max(x, 0.0)
    if kind == "gelu":
        return x * 0.5 * (1 + math.erf(x / math.sqrt(2)))
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def run_layer(layer: SoftLayer, x: list[Vector]) -> list[Vector]:
    u = [normed(layer.norm1, v) for v in x] if layer.norm == "pre" and layer.norm1 else x
    found = []
    for i, old in enumerate(x):
        y = [a + float(b) for a, b in zip(old, layer.attention_bias, strict=True)]
        for head in layer.heads:
            y = [a + b for a, b in zip(y, attend(head, u, i), strict=True)]
        if layer.norm == "post" and layer.norm1:
            y = normed(layer.norm1, y)
        if layer.ffn is not None:
            ffn = layer.ffn
            z = normed(layer.norm2, y) if layer.norm == "pre" and layer.norm2 else y
            inner = [activation(ffn.activation, v) for v in affine(ffn.inner, z, ffn.inner_bias)]
            y = [a + b for a, b in zip(y, affine(ffn.outer, inner, ffn.outer_bias), strict=True)]
            if layer.norm == "post" and layer.norm2:
                y = normed(layer.norm2, y)
        found.append(y)
    return found
