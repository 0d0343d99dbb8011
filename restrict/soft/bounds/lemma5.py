"""Lemma 5 (Hahn 2020) with the repair: norms only, as a recursion over the layers and as a closed form.

Swap ``x_i``. For a layer let ``F`` bound the activations' norm, ``A`` the scores, ``Q``, ``K`` the norms of queries
and keys, ``V`` those of what a head adds, ``N`` the norm of ``W_O W_V``. With ``m`` visible positions every weight is
at most ``p = e^(2A) / (e^(2A) + m - 1)``. A head's result at ``j != i`` changes by at most::

    p N Delta + 2 p V + N avg + 2 V lam (Q-part avg + K-part delta_j)

(the terms of :mod:`.exchange`, in norms): ``Delta`` is the change at ``i``, ``delta_w`` that at ``w``,
``avg = min(max delta_w, p sum delta_w)`` what an average sees of it. The first and third term are Hahn's; the others
are missing in the paper, where the weights stay as they are. Skip connection, network and LayerNorm multiply by a
Lipschitz constant. At ``i`` itself the change is at most ``Delta + 2 V`` per head.

**Closed form**, with ``F, A, N, V, Lam, L`` the largest over all layers: with ``G = L (1 + H (N + 4 V Lam))`` and ``S =
2 L H (N F + V) e^(2A)``, and without masks, ``delta_L <= S (G^L - 1) / (G - 1) / n``. With causal masks a
weight is at most ``e^(2A) / (j+1)``, early positions move a lot, and averages of ``1/(w+1)`` give logarithms:
``delta_k(j) <= K_k (1 + ln(j+1))^(k-1) / (j+1)`` with ``K_k = L (1 + 2 H V Lam + H (N + 4 V Lam) e^(2A)) K_{k-1} + S``.
So with causal masks and two layers or more the proof gives ``O((log n)^(L-1) / n)``. The logarithm cannot be avoided:
uniform causal averages have it.

All numbers are upper bounds: norms are rounded up, and every result is scaled by :data:`ROOM`, which covers the
rounding of the few operations on scalars.
"""

import math
from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.bounds.enclosure import linear, norms
from restrict.soft.bounds.parts import ReadyHead, ReadyLayer, ReadyModel, eps_range
from restrict.soft.bounds.values import start
from restrict.soft.models.model import Floats, LayerNorm

ROOM = 1 + 1e-10


@dataclass(frozen=True)
class HeadNorms:
    """Norms of one head where the activations have norm at most ``F``."""

    scores: float
    """``A``: the largest absolute score, scaled."""
    value: float
    """``V``: the largest norm of what it adds."""
    move: float
    """``N``: the norm of ``W_O W_V``."""
    query_part: float
    """The score's Lipschitz constant in the key: ``scale Q ||W_K||``."""
    key_part: float
    """The score's Lipschitz constant in the query: ``scale K ||W_Q||``."""


@dataclass(frozen=True)
class LayerNorms:
    """One layer: ``before``, the norm ``F`` of what enters; its heads; what the rest of the layer multiplies by."""

    before: float
    pre: float
    """Lipschitz constant of the LayerNorm before the heads, or 1."""
    heads: tuple[HeadNorms, ...]
    after: float
    """Lipschitz constant of the network with its skip connection and of LayerNorms."""


@dataclass(frozen=True, eq=False)
class Recursion:
    """Bounds layer by layer: ``other`` (L+1, n) for ``j != i``, ``own`` (L+1,) for ``i``; ``output`` at the output."""

    layers: tuple[LayerNorms, ...]
    other: Floats
    own: Floats
    output: float


def layer_norms(parts: ReadyModel, tokens: I64) -> tuple[tuple[LayerNorms, ...], float]:
    """The norms of every layer, and the largest norm of what leaves the last one."""
    size = float(start(parts, tokens).norm().max())
    found = []
    for layer in parts.layers:
        pre, read = _behind(layer.front[0], size)
        heads = tuple(_head_norms(head, read) for head in layer.heads)
        after, moved = _rest(layer, size + sum(h.value for h in heads) + float(norms(layer.attention_bias)))
        found.append(LayerNorms(size, pre, heads, after * ROOM))
        size = moved * ROOM
    return tuple(found), size


def _head_norms(head: ReadyHead, size: float) -> HeadNorms:
    # The product is rounded itself; the extra terms are far above that error.
    slip = 1e-13 * head.output.frobenius
    product = linear(head.output.matrix @ head.value.matrix).norm
    move = min(product * ROOM + slip * head.value.frobenius, head.output.norm * head.value.norm) * ROOM
    bias = float(norms(head.output.matrix @ head.value.bias)) + slip * float(norms(head.value.bias))
    value = (move * size + bias) * ROOM
    if head.additive is not None:
        steep = head.scale_size * float(norms(head.additive)) * ROOM
        top = head.scale_size * float(np.abs(head.additive).sum()) * ROOM
        return HeadNorms(top, value, move, steep * head.key.norm, steep * head.query.norm)
    q = head.query.norm * size + float(norms(head.query.bias))
    k = head.key.norm * size + float(norms(head.key.bias))
    pairs = (q, k), (q, head.key.norm), (k, head.query.norm)
    scores, query_part, key_part = (head.scale_size * a * b * ROOM for a, b in pairs)
    return HeadNorms(scores, value, move, query_part, key_part)


def _behind(norm: LayerNorm | None, size: float = 0.0) -> tuple[float, float]:
    """Lipschitz constant and largest norm behind a LayerNorm, where there is one, of what has this norm."""
    if norm is None:
        return 1.0, size
    (low, _), root, most = eps_range(norm), math.sqrt(len(norm.weight)), float(np.abs(norm.weight).max())
    slope = most / math.sqrt(low) * ROOM if low > 0 else math.inf
    return slope, (root * most + float(norms(norm.bias))) * ROOM


def _rest(layer: ReadyLayer, size: float) -> tuple[float, float]:
    """Lipschitz constant and largest norm of what follows the heads of a layer."""
    slope, size = _behind(layer.behind[0], size)
    if layer.ffn is None:
        return slope, size
    steep = max(abs(s) for s in layer.ffn.slopes)
    gain = steep * layer.ffn.outer.norm * layer.ffn.inner.norm
    inner, read = _behind(layer.front[1], size)
    hidden = steep * (layer.ffn.inner.norm * read + float(norms(layer.ffn.inner.bias)))
    moved = size + layer.ffn.outer.norm * hidden + float(norms(layer.ffn.outer.bias))
    last, moved = _behind(layer.behind[1], moved)
    return slope * (1 + gain * inner) * last, moved


def weight_bound(scores: float, seen: Floats) -> Floats:
    """``e^(2A) / (e^(2A) + m - 1)`` for ``m`` visible positions, at most 1; rounded up."""
    factor = math.exp(min(2 * scores, 700.0))
    found = np.minimum(factor / (factor + np.maximum(seen - 1, 0)) * ROOM, 1.0)
    return found if 2 * scores <= 700 else np.ones_like(found)


def recursion(parts: ReadyModel, tokens: I64) -> Recursion:
    """For every layer and position a bound on the norm of the change by an exchange at any position; ``tokens``:
    allowed ones, (n, K). Cost: ``n`` per layer, and per masked head ``n`` prefix sums."""
    layers, last = layer_norms(parts, tokens)
    n = parts.n
    size = len(parts.model.alphabet)
    step = parts.model.embed[:size, None] - parts.model.embed[None, :size]
    own, other = float(norms(step).max()) * ROOM, np.zeros(n)
    owns, others = [own], [other]
    sizes = [*(layer.before for layer in layers[1:]), last][: len(layers)]
    for layer, made, top in zip(parts.layers, layers, sizes, strict=True):
        own, other = _step(layer, made, own, other, n)
        own, other = min(own, 2 * top), np.minimum(other, 2 * top)
        owns.append(own)
        others.append(other)
    output = parts.model.output_position(n)
    final, _ = _behind(parts.model.final_norm)
    return Recursion(layers, np.array(others), np.array(owns), float(others[-1][output]) * final * ROOM)


def _step(layer: ReadyLayer, made: LayerNorms, own: float, other: Floats, n: int) -> tuple[float, Floats]:
    moved = other.copy()
    before, delta = own, made.pre * other
    step = made.pre * before
    for head, sizes in zip(layer.heads, made.heads, strict=True):
        seen = _seen(head, n)
        p = weight_bound(sizes.scores, seen)
        total = _sums(head, delta, n)
        avg = np.minimum(_largest(head, delta, n), p * total * ROOM)
        rest = np.minimum(_largest(head, delta, n), weight_bound(sizes.scores, seen - 1) * total * ROOM)
        kappa = sizes.query_part * rest + sizes.key_part * delta * (seen > 0).astype(np.float64)
        change = p * sizes.move * step + 2 * p * sizes.value + sizes.move * avg + 2 * sizes.value * np.minimum(kappa, 1)
        moved = moved + np.minimum(change, 2 * sizes.value) * ROOM
        own = own + 2 * sizes.value * ROOM
    return own * made.after * ROOM, moved * made.after * ROOM


def _seen(head: ReadyHead, n: int) -> Floats:
    """How many positions a head sees from each position."""
    i = np.arange(n, dtype=np.float64)
    if head.mask == "none":
        return np.full(n, float(n))
    return (i + 1 if "past" in head.mask else n - i) - head.mask.startswith("strict")


def _sums(head: ReadyHead, delta: Floats, n: int) -> Floats:
    """What ``delta`` adds up to over the visible positions."""
    whole = float(delta.sum())
    found = np.cumsum(delta) if "past" in head.mask else np.cumsum(delta[::-1])[::-1]
    if head.mask.startswith("strict"):
        found = found - delta
    return (np.full(n, whole) if head.mask == "none" else found) * ROOM + 1e-15 * whole


def _largest(head: ReadyHead, delta: Floats, n: int) -> Floats:
    """The largest ``delta`` over the visible positions."""
    if head.mask == "none":
        return np.full(n, float(delta.max()))
    return np.maximum.accumulate(delta) if "past" in head.mask else np.maximum.accumulate(delta[::-1])[::-1]


@dataclass(frozen=True)
class ClosedForm:
    """``delta_L <= constant (1 + ln n)^power / n`` at the output; ``log10`` of the constant, which may be huge."""

    log10_constant: float
    power: int
    n: int

    @property
    def log10(self) -> float:
        """The base-10 logarithm of the bound, rounded up."""
        logs = self.power * math.log10(1 + math.log(self.n)) - math.log10(self.n)
        return self.log10_constant + logs + 1e-9

    @property
    def value(self) -> float:
        """The bound; infinite where it is beyond a double."""
        return 10.0**self.log10 * ROOM if self.log10 < 300 else math.inf


def closed_form(parts: ReadyModel, tokens: I64) -> ClosedForm | None:
    """Hahn's closed form, repaired, with constants from the largest norms over all layers. ``tokens``: allowed tokens,
    (n, K). Result: the bound on the norm of the change at the output, or ``None`` where the masks are neither all
    ``none`` nor all ``past`` with the output at the last position (then see :func:`recursion`)."""
    masks = {head.mask for layer in parts.layers for head in layer.heads}
    causal = masks == {"past"}
    if masks - {"none"} and not causal:
        return None
    if causal and parts.model.output_position(parts.n) != parts.n - 1:
        return None
    layers, last = layer_norms(parts, tokens)
    heads = [h for layer in layers for h in layer.heads]
    count = max((len(layer.heads) for layer in layers), default=0)
    if not heads:
        return ClosedForm(-300.0, 0, parts.n)
    size = max([layer.before for layer in layers] + [last])
    value, move = max(h.value for h in heads), max(h.move for h in heads)
    lam = max(max(h.query_part, h.key_part) for h in heads)
    pre = max(layer.pre for layer in layers)
    steep = max([1.0, *(layer.after for layer in layers)])
    scores = max(h.scores for h in heads)
    # Everything in natural logarithms: e^(2A) alone can be beyond a double.
    log_s = math.log(2 * steep * count * (pre * move * size + value) * ROOM) + 2 * scores
    mixed = count * pre * (move + 4 * value * lam)
    if causal:
        log_g = _log_add(math.log(steep * (1 + 2 * count * pre * value * lam)), math.log(steep * mixed) + 2 * scores)
    else:
        log_g = math.log(steep * (1 + mixed))
    total = log_s
    for _ in range(len(layers) - 1):
        total = _log_add(log_s, log_g + total)
    final, _ = _behind(parts.model.final_norm)
    if not math.isfinite(total) or not math.isfinite(final):
        return ClosedForm(math.inf, 0, parts.n)
    found = (total + math.log(final)) / math.log(10) + 1e-9
    return ClosedForm(found, len(layers) - 1 if causal else 0, parts.n)


def _log_add(a: float, b: float) -> float:
    """``log(e^a + e^b)``, rounded up."""
    top, low = max(a, b), min(a, b)
    return top + math.log1p(math.exp(low - top)) + 1e-12 if math.isfinite(top) else top


def gap_norm(parts: ReadyModel) -> float:
    """The largest norm of the difference of two rows of ``unembed`` (of a row itself for signs)."""
    rows = parts.unembed.matrix
    if parts.model.output.kind != "softmax":
        return float(norms(rows).max()) * ROOM
    return max((float(norms(a - b)) for a in rows for b in rows), default=0.0) * ROOM
