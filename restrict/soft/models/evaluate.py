"""Running a softmax transformer with numpy: batched over inputs and positions, in float64 or float32. The last layer is
computed only at the positions that are read; score matrices are built in blocks of queries, so memory stays near
``block * n`` numbers per input at any length."""

# mypy: disable-error-code="no-any-return"
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64, Bools
from restrict.base.errors import ModelError, UsageError
from restrict.soft.models.model import Floats, LayerNorm, SoftFeedForward, SoftHead, SoftLayer, SoftModel, visible

Real = npt.NDArray[Any]
"""Float64 or float32, as asked."""
BLOCK = 2**16
"""Scores held at once: what fits into the processor's cache."""
_GELU = 0.7978845608028654
"""sqrt(2 / pi)"""


def activations(model: SoftModel, words: I64, *, at: I64 | None = None, dtype: type = np.float64) -> Real:
    """The residual stream after the last layer (and the final LayerNorm) at the positions ``at`` (ascending; default:
    all): (batch, positions, d). ``words``: (batch, n) indices into ``model.symbols``, with markers
    (:meth:`SoftModel.encode`). ``dtype``: float64 or float32, of all arithmetic. Cost: ``n^2 (dk + dv) + n d^2`` per
    layer and input, the last layer only for the positions read."""
    words = checked(model, words)
    n = words.shape[1]
    x: Real = embedded(model, words).astype(dtype)
    everywhere = np.arange(n)
    rows = everywhere if at is None else np.asarray(at, dtype=np.int64)
    for number, layer in enumerate(model.layers):
        x = run_layer(layer, x, rows if number == len(model.layers) - 1 else everywhere, n)
    if not model.layers:
        x = x[:, rows]
    x = normalised(model.final_norm, x)
    if not np.isfinite(x).all():
        kind = np.dtype(dtype).name
        raise ModelError(f"{model.name}: the evaluation at n = {n} in {kind} overflows or divides 0 by 0")
    return x


def logits(model: SoftModel, words: I64, *, at: I64 | None = None, dtype: type = np.float64) -> Real:
    """The read-out before softmax or sign. ``at``: positions to read; by default those of the model's output
    (``first``, ``last`` or all). Result: shape (batch, positions read, rows of ``unembed``)."""
    n = words.shape[1]
    if at is None:
        at = np.arange(n) if model.output.place == "every" else np.array([model.output_position(n)])
    y = activations(model, words, at=at, dtype=dtype)
    return affine(model.output.unembed, model.output.bias, y)


def probabilities(model: SoftModel, found: Real) -> Real:
    """The labels' probabilities from logits: softmax, or the logistic function for signs; last axis labels."""
    if model.output.kind == "signs":
        return 0.5 * (1 + np.tanh(0.5 * found))
    if model.output.kind == "sign":
        found = np.concatenate([np.zeros_like(found), found], axis=-1)
    return softmax(found)


def labels(model: SoftModel, found: Real) -> I64:
    """The index of the label: the first greatest logit, or 1 where a sign output is positive."""
    if model.output.kind == "signs":
        raise UsageError(f"{model.name} answers with a set of labels, not with one")
    if model.output.kind == "sign":
        return (found[..., 0] > 0).astype(np.int64)
    return np.argmax(found, axis=-1)


def label_sets(model: SoftModel, found: Real) -> Bools:
    """Which labels a ``signs`` output has: those whose logits are positive; last axis labels."""
    assert model.output.kind == "signs"
    return found > 0


def softmax(x: Real) -> Real:
    """Softmax along the last axis; zero where every entry is minus infinity."""
    weights = x.copy()
    weights /= _exponentiated(weights)
    return weights


def _exponentiated(scores: Real) -> Real:
    """Turn scores into weights, the largest 1, in place; their sums, or 1 where every entry is minus infinity."""
    top = scores.max(axis=-1, keepdims=True)
    scores -= np.where(np.isfinite(top), top, 0)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    return np.where(total > 0, total, 1)


def embedded(model: SoftModel, words: I64) -> Floats:
    """Token embeddings with positions: (batch, n, d), float64."""
    n = words.shape[1]
    tokens = model.embed[words]
    positions = model.positions.at(n)
    if positions is None:
        return tokens
    if model.positions.combine == "add":
        return tokens + positions
    spread = np.broadcast_to(positions, (len(words), *positions.shape))
    return np.concatenate([tokens, spread], axis=2)


def checked(model: SoftModel, words: I64) -> I64:
    """The words, which must be rows of indices of the model's symbols at a length that it has."""
    words = np.asarray(words)
    if words.ndim != 2 or words.dtype.kind not in "iu" or words.shape[0] == 0:
        raise UsageError("words must be an integer array of shape (batch, n), with at least one row")
    model.check_length(words.shape[1])  # an empty word has no smallest entry
    if not (words.min() >= 0 and words.max() < len(model.symbols)):
        raise UsageError(f"indices of symbols must be in 0 .. {len(model.symbols) - 1}")
    return words


def run_layer(layer: SoftLayer, x: Real, rows: I64, n: int) -> Real:
    """One layer at the positions ``rows``; ``x`` (batch, n, d) holds all of them."""
    keys = normalised(layer.front[0], x)
    here = x[:, rows]
    seen = keys[:, rows]
    moved = here + layer.attention_bias.astype(x.dtype)
    for head in layer.heads:
        moved = moved + attended(head, seen, keys, rows, n)
    return behind_attention(layer, moved)


def behind_attention(layer: SoftLayer, moved: Real) -> Real:
    """The rest of a layer, on residual streams to which its heads have added what they return."""
    moved = normalised(layer.behind[0], moved)
    if layer.ffn is None:
        return moved
    return normalised(layer.behind[1], moved + fed_forward(layer.ffn, normalised(layer.front[1], moved)))


def attended(head: SoftHead, queries: Real, keys: Real, rows: I64, n: int) -> Real:
    """What a head adds: ``queries`` (batch, r, d) at ``rows``, ``keys`` (batch, n, d); shape (batch, r, d)."""
    kind = keys.dtype
    q, k = affine(head.query, head.query_bias, queries), affine(head.key, head.key_bias, keys)
    v = affine(head.value, head.value_bias, keys)
    if head.uniform:
        return _averages(head, v)[:, rows] @ head.output.T.astype(kind)
    out = np.empty((*q.shape[:2], v.shape[2]), dtype=kind)
    scale = kind.type(head.scale.value(0, n))
    step = max(1, BLOCK // (n * len(q) * (1 if head.score == "dot" else q.shape[2])))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        seen = _seen(head.mask, rows[part], n)
        scores = scored(head, q[:, part], k[:, seen])
        scores *= scale
        if head.mask != "none":
            np.copyto(scores, kind.type(-np.inf), where=~visible(head.mask, rows[part], n)[:, seen])
        out[:, part] = averaged(scores, v[:, seen])
    return out @ head.output.T.astype(kind)


def _seen(mask: str, rows: I64, n: int) -> slice:
    """The keys that some of the queries at ``rows`` (ascending) may see."""
    if mask == "none":
        return slice(0, n)
    return slice(0, int(rows[-1]) + 1) if "past" in mask else slice(int(rows[0]), n)


def averaged(scores: Real, v: Real) -> Real:
    """Values weighted by softmax; ``scores`` (batch, r, n) is overwritten. Zero where every score is minus infinity.
    The division comes after the sum, so a uniform head that counts is exact except for one rounding."""
    total = _exponentiated(scores)
    return (scores @ v) / total


def _averages(head: SoftHead, v: Real) -> Real:
    """The mean of what each position sees, by running sums: (batch, n, dv)."""
    n = v.shape[1]
    if head.mask == "none":
        return np.broadcast_to(v.mean(axis=1, keepdims=True), v.shape)
    past, strict = "past" in head.mask, head.mask.startswith("strict")
    v = v if past else v[:, ::-1]
    sums = np.cumsum(v, axis=1)
    if strict:
        sums = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    seen = np.maximum(np.arange(n) + (not strict), 1).astype(v.dtype)[:, None]
    found = sums / seen
    return found if past else found[:, ::-1]


def scored(head: SoftHead, q: Real, k: Real) -> Real:
    """Scores before scale and mask: (batch, queries, keys)."""
    if head.score == "dot":
        return q @ k.swapaxes(1, 2)
    assert head.additive is not None
    return np.tanh(q[:, :, None, :] + k[:, None, :, :]) @ head.additive.astype(k.dtype)


def affine(matrix: Floats, bias: Floats, x: Real) -> Real:
    """``matrix x + bias`` along the last axis, in the precision of ``x``."""
    return x @ matrix.T.astype(x.dtype) + bias.astype(x.dtype)


def fed_forward(ffn: SoftFeedForward, x: Real) -> Real:
    """What a layer's network adds to the residual stream ``x``."""
    return affine(ffn.outer, ffn.outer_bias, activated(ffn.activation, affine(ffn.inner, ffn.inner_bias, x)))


def activated(kind: str, x: Real) -> Real:
    """ReLU, or one of the two GELUs (``gelu`` with the error function, ``gelu_tanh`` as in GPT-2)."""
    if kind == "relu":
        return np.maximum(x, 0)
    if kind == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(_GELU * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + _erf(x / np.sqrt(x.dtype.type(2))))


def steepness(kind: str, x: Real) -> Real:
    """The derivative of an activation."""
    if kind == "relu":
        return (x > 0).astype(x.dtype)
    if kind == "gelu_tanh":
        t = np.tanh(_GELU * (x + 0.044715 * x * x * x))
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _GELU * (1 + 0.134145 * x * x)
    normal = np.vectorize(lambda t: 0.5 * math.erfc(-t / math.sqrt(2)), otypes=[np.float64])(x)
    return normal + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _erf(x: Real) -> Real:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), dtype=x.dtype)


def normalised(norm: LayerNorm | None, x: Real) -> Real:
    """LayerNorm along the last axis, where there is one."""
    if norm is None:
        return x
    kind = x.dtype
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(variance + kind.type(norm.eps.value(0, 1)))
    return scaled * norm.weight.astype(kind) + norm.bias.astype(kind)
