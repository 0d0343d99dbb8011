"""Attention laws: leftmost, rightmost and average hard attention, and softmax with a temperature, by one switch.

A law turns a row of scores into weights that sum to 1 (Yang, Strobl, Chiang & Angluin 2024, definitions 2 and 3). With
``top`` the greatest visible score: *leftmost* and *rightmost* put everything on the first or last position that reaches
``top``, *average* spreads it evenly over those that do, *softmax* makes it proportional to ``exp(scale (s_j - top))``,
where ``scale`` is the inverse temperature ``1 / tau``. Where a mask leaves nothing visible all weights are 0.

Hard laws compare scores, so the scores must be exact: integers, or :class:`fractions.Fraction` in an array of objects.
Floats are compared as the numbers that they are. :func:`run` therefore evaluates a whole model under a hard law in
rational arithmetic, never in floats.

Invariants: every row of :func:`weights` sums to 1 (exactly for hard laws on exact scores) or is 0 where nothing is
visible; as ``scale`` grows, softmax tends to the average law.
"""

from fractions import Fraction
from functools import reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64, Bools
from restrict.base.errors import ModelError, UsageError, quote
from restrict.soft.models.evaluate import activations, checked
from restrict.soft.models.model import Floats, SoftHead, SoftLayer, SoftModel, visible
from restrict.soft.models.terms import Term

Law = Literal["leftmost", "rightmost", "average", "softmax"]
LAWS: tuple[Law, ...] = ("leftmost", "rightmost", "average", "softmax")
Numbers = npt.NDArray[Any]
"""Floats, integers, or objects that are all :class:`fractions.Fraction`."""


def weights(scores: Numbers, law: Law, *, seen: Bools | None = None, scale: float = 1.0) -> Numbers:
    """The attention weights of rows of scores. ``scores``: shape (..., n), finite: floats, integers or fractions.
    ``seen``: which keys are visible, a shape that broadcasts to that of ``scores``; by default all are. ``scale``:
    inverse temperature of softmax, at least 0; the hard laws do not use it. Result: shape (..., n): fractions where the
    scores are fractions and the law is hard, else float64. Linear in the scores."""
    _known(law)
    scores = np.asarray(scores)
    exact = scores.dtype == object
    if not exact and not np.isfinite(scores).all():
        raise ModelError("a score is not a finite number, so there is no greatest one")
    shown = np.ones(scores.shape, dtype=np.bool_) if seen is None else np.broadcast_to(seen, scores.shape)
    if law == "softmax":
        if exact or not (np.isfinite(scale) and scale >= 0):
            raise UsageError("softmax takes scores that are floats and a finite scale of at least 0")
        return _softmax(scores.astype(np.float64), shown, scale)
    return _hard(scores, law, shown)


def _known(law: str) -> None:
    if law not in LAWS:
        raise UsageError(f"the law {quote(law)} must be one of {', '.join(LAWS)}")


def _softmax(scores: Floats, shown: Bools, scale: float) -> Floats:
    top = np.where(shown, scores, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    gap = np.where(shown, np.where(np.isfinite(top), top, 0.0) - scores, np.inf)
    # Beyond 800 the exponential is 0 in float64 in any case; this keeps 0 * infinity out of the product.
    raised = np.where(shown, np.exp(-np.minimum(gap, 1e300) * scale), 0.0)
    total = raised.sum(axis=-1, keepdims=True)
    return np.asarray(raised / np.where(total > 0, total, 1.0))


def _hard(scores: Numbers, law: Law, shown: Bools) -> Numbers:
    """Weights of the three hard laws; ties are exact equality."""
    if scores.size == 0:
        return scores.copy()
    best = shown & (scores == scores.max(axis=-1, keepdims=True, where=shown, initial=scores.min()))
    if law == "leftmost":
        best &= np.cumsum(best, axis=-1) == 1
    elif law == "rightmost":
        best &= np.cumsum(best[..., ::-1], axis=-1)[..., ::-1] == 1
    count = np.maximum(best.sum(axis=-1, keepdims=True), 1)
    if scores.dtype != object:
        return np.asarray(best / count)
    share = np.vectorize(lambda c: Fraction(1, int(c)), otypes=[object])(count)
    return np.asarray(np.where(best, share, fractions(np.zeros(1))))


def run(model: SoftModel, words: I64, law: Law) -> Numbers:
    """The residual stream of a model's last layer when its heads attend by ``law``.

    Softmax is the model as it is, with the scale of each head, in float64. Under a hard law the same parameters are
    evaluated in rational arithmetic, so ties are ties; a head's positive scale changes nothing there. ``words``:
    (batch, n) indices into ``model.symbols``, markers included. Result: shape (batch, n, d): float64 for softmax, else
    fractions. Hard laws cost about a microsecond for each of ``n^2 dk`` products of a head and input."""
    _known(law)
    if law == "softmax":
        return activations(model, words)
    words = checked(model, words)
    if model.special:
        raise ModelError(f"{model.name}: a hard law is not defined on {model.special[0]} here: it has no exact value")
    starts = (exact_embedding(model, word) for word in words)
    return np.stack([reduce(lambda x, layer: run_layer_exactly(layer, x, law), model.layers, x) for x in starts])


def exact_embedding(model: SoftModel, word: I64) -> Numbers:
    """Token and position embeddings of a word of symbol indices, fractions (n, d). ``ModelError``: a position term
    without an exact value (a root, a logarithm)."""
    tokens, n, positions = fractions(model.embed[word]), len(word), model.positions
    if positions.table is None:
        return tokens
    if positions.kind == "table":
        places = fractions(positions.table[:n])
    else:
        values = np.array([[_exact_value(t, i, n) for t in positions.terms] for i in range(n)], dtype=object)
        places = times(values, positions.table.T)
    if positions.combine == "add":
        return np.asarray(tokens + places)
    return np.concatenate([tokens, places], axis=1)


def _exact_value(term: Term, i: int, n: int) -> Fraction:
    found = term.exact(i, n)
    if found is None:
        raise ModelError(f"the position term {quote(term.text)} has no exact value at i = {i}, n = {n}")
    return found


def fractions(x: Floats) -> Numbers:
    """The exact values of finite floats."""
    return np.array([Fraction(float(v)) for v in x.reshape(-1)], dtype=object).reshape(x.shape)


def times(x: Numbers, matrix: Floats) -> Numbers:
    """``x @ matrix.T`` exactly, fractions (..., d) and floats (m, d) to (..., m); zeros take no time."""
    out = np.full((*x.shape[:-1], len(matrix)), Fraction(0), dtype=object)
    for r, c in np.argwhere(matrix):
        out[..., r] += x[..., c] * Fraction(float(matrix[r, c]))
    return out


def exact_scores(head: SoftHead, x: Numbers) -> Numbers:
    """A head's dot-product scores before its scale, from fractions (n, d): (n, n), row the query, column the key."""
    q = times(x, head.query) + fractions(head.query_bias)
    k = times(x, head.key) + fractions(head.key_bias)
    out = np.full((len(x), len(x)), Fraction(0), dtype=object)
    for r in range(q.shape[1]):
        if q[:, r].any() and k[:, r].any():
            out += np.outer(q[:, r], k[:, r])
    return out


def run_layer_exactly(layer: SoftLayer, x: Numbers, law: Law) -> Numbers:
    """A layer of dot-product heads, perhaps a ReLU network, no LayerNorm, under a hard law: fractions (n, d)."""
    n, moved = len(x), x + fractions(layer.attention_bias)
    for head in layer.heads:
        seen = visible(head.mask, np.arange(n), n)
        values = times(x, head.value) + fractions(head.value_bias)
        moved = moved + times(_mix(weights(exact_scores(head, x), law, seen=seen), values), head.output)
    if layer.ffn is None:
        return moved
    inner = times(moved, layer.ffn.inner) + fractions(layer.ffn.inner_bias)
    hidden = np.where(inner > 0, inner, fractions(np.zeros(1)))
    return np.asarray(moved + times(hidden, layer.ffn.outer) + fractions(layer.ffn.outer_bias))


def _mix(shares: Numbers, values: Numbers) -> Numbers:
    """``shares @ values``, skipping shares that are 0 and adding equal ones once."""
    out = np.full((len(shares), values.shape[1]), Fraction(0), dtype=object)
    for i, row in enumerate(shares):
        used = np.flatnonzero(row)
        if len(used):  # the hard laws give equal shares
            out[i] = values[used].sum(axis=0) * row[used[0]]
    return out
