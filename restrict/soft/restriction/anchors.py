"""What a run of a softmax transformer attends to: the words to follow and the positions that their outputs read. On a
word ``x`` the attention weights say which positions the output reads, layer by layer; the *flow* of a position is the
attention that reaches it from the output, skip connections included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.soft.influence.influence import varied
from restrict.soft.models import evaluate
from restrict.soft.models.model import Floats, SoftModel, visible


def followed_words(
    model: SoftModel, n: int, place: int, tries: int, rng: np.random.Generator
) -> Sequence[npt.NDArray[np.int64]]:
    """Words to follow: constant ones, then random ones, those with the most certain output first."""
    size, slots = len(model.alphabet), n - len(model.pinned(n))
    constant = np.repeat(np.arange(size)[:, None], slots, axis=1)
    words = model.encode(np.concatenate([constant, varied(rng, 4 * tries, slots, size)]))
    logits = evaluate.logits(model, words, at=np.array([place]))[:, 0]
    margins = np.abs(logits[:, 0])
    if model.output.kind == "softmax" and logits.shape[1] > 1:
        ranked = np.sort(logits, axis=1)
        margins = ranked[:, -1] - ranked[:, -2]
    order = np.argsort(-margins, kind="stable")
    chosen = [int(k) for k in order if k >= size][:tries]
    return [words[k] for k in [int(k) for k in order if k < size] + chosen]


def anchors(model: SoftModel, word: npt.NDArray[np.int64], place: int) -> list[int]:
    """The free positions by the attention that flows from them to the output on this word, most first."""
    n = len(word)
    weights = attention(model, word)
    flow = np.zeros(n)
    flow[place] = 1.0
    for layer in reversed(weights):
        flow = flow + sum(flow @ w for w in layer)
    pinned = model.pinned(n)
    return [int(i) for i in np.argsort(-flow, kind="stable") if int(i) not in pinned]


def attention(model: SoftModel, word: npt.NDArray[np.int64]) -> list[list[Floats]]:
    """The attention weights on one word: per layer and head an (n, n) matrix, rows the queries."""
    n = len(word)
    x: Any = evaluate.embedded(model, word[None])
    found: list[list[Floats]] = []
    rows = np.arange(n)
    for layer in model.layers:
        keys = evaluate.normalised(layer.norm1, x) if layer.norm == "pre" and layer.norm1 is not None else x
        found.append([])
        for head in layer.heads:
            q, k = keys @ head.query.T + head.query_bias, keys @ head.key.T + head.key_bias
            scores = evaluate.scored(head, q, k)[0] * head.scale.value(0, n)
            found[-1].append(evaluate.softmax(np.where(visible(head.mask, rows, n), scores, -np.inf)))
        x = evaluate.run_layer(layer, x, rows, n)
    return found
