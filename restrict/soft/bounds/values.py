"""What the activations of a softmax transformer can be, over all inputs that a restriction admits.

The abstract run of soft attention. Positions are split by their own token (at most :data:`CASES` cases, else their
hull), so the discrete part of an activation stays exact and only what comes from other positions is uncertain. One
layer takes a set for every (position, case) to a set for every (position, case):

- **scores** and **weights** of a head: :mod:`restrict.soft.bounds.scores`;
- **averages** of the values: :mod:`restrict.soft.bounds.averages`;
- **networks** and **LayerNorm**: :mod:`restrict.soft.bounds.positionwise`.

All radii are rounded outward (:mod:`.enclosure`); ``exp`` of the library is taken to be within 16 units in
the last place. Theorem (soundness): for every admitted input, every activation lies in its set. *Proof*: induction over
the layers; each rule above contains the exact operation.
"""

from collections.abc import Sequence

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError
from restrict.soft.bounds.averages import block_average
from restrict.soft.bounds.enclosure import Enclosure, add, concatenate, exactly, hull
from restrict.soft.bounds.parts import Parts, ReadyHead, ReadyLayer
from restrict.soft.bounds.positionwise import fed_forward, normed
from restrict.soft.bounds.scores import keys_of, score_blocks

CASES = 6
"""Tokens that a position is split by; with more, the hull of all of them is one case."""


def allowed_tokens(parts: Parts, fixed: dict[int, int] | None = None) -> I64:
    """The tokens of every position, (n, K): the whole alphabet at free positions, one token repeated elsewhere.
    ``fixed``: positions with their symbols' indices; markers are added."""
    size = len(parts.model.alphabet)
    tokens = np.tile(np.arange(size), (parts.n, 1))
    for position, symbol in {**(fixed or {}), **parts.model.pinned(parts.n)}.items():
        if not 0 <= position < parts.n or not 0 <= symbol < len(parts.model.symbols):
            raise UsageError(f"position {position} or symbol {symbol} is out of range at n = {parts.n}")
        tokens[position] = symbol
    return tokens


def start(parts: Parts, tokens: I64) -> Enclosure:
    """The embeddings, (n, K, d), split by token where that gives at most :data:`CASES` cases."""
    sets = parts.embedded(tokens)
    return hull(sets, 1).reshaped(parts.n, 1) if tokens.shape[1] > CASES else sets


def run_values(parts: Parts, tokens: I64, *, at: Sequence[int] | None = None) -> Enclosure:
    """The sets of the residual stream after the last layer and the final LayerNorm at the positions ``at`` (default:
    all), (r, d), cases merged. ``tokens``: (n, K), see :func:`allowed_tokens`. Cost: per layer and head ``K^2 n^2``
    scores of ``dk`` products, three times; the last layer only for the positions read."""
    sets = start(parts, tokens)
    rows = np.arange(parts.n)
    read = rows if at is None else np.asarray(at, dtype=np.int64)
    for number, layer in enumerate(parts.layers):
        last = number == len(parts.layers) - 1
        sets = layer_values(layer, sets, read if last else rows)
    return finish_values(parts, sets if parts.layers else sets[read])


def finish_values(parts: Parts, sets: Enclosure) -> Enclosure:
    """Cases merged, then the final LayerNorm, where there is one."""
    return normed(parts.model.final_norm, hull(sets, 1))


def layer_values(layer: ReadyLayer, sets: Enclosure, rows: I64) -> Enclosure:
    """One layer at ``rows``: (len(rows), K, d)."""
    keys = normed(layer.front[0], sets)
    here = add(sets[rows], exactly(np.broadcast_to(layer.attention_bias, sets[rows].centre.shape)))
    for head in layer.heads:
        here = add(here, head_values(head, keys, rows))
    return after_attention(layer, here)


def after_attention(layer: ReadyLayer, y: Enclosure) -> Enclosure:
    """LayerNorm and network after the heads' results were added."""
    y = normed(layer.behind[0], y)
    if layer.ffn is None:
        return y
    if layer.front[1] is not None:
        return add(y, fed_forward(layer.ffn, normed(layer.front[1], y), skip=False))
    return normed(layer.behind[1], fed_forward(layer.ffn, y, skip=True))


def head_values(head: ReadyHead, sets: Enclosure, rows: I64) -> Enclosure:
    """What a head adds at ``rows``: (len(rows), K, d)."""
    keys = keys_of(head, sets)
    return head.output.image(concatenate([block_average(keys, block) for block in score_blocks(head, keys, rows)]))
