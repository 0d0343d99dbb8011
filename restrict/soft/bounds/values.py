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

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError
from restrict.soft.bounds.enclosure import Enclosure, add, hull
from restrict.soft.bounds.parts import ReadyLayer, ReadyModel
from restrict.soft.bounds.positionwise import fed_forward, normed

CASES = 6
"""Tokens that a position is split by; with more, the hull of all of them is one case."""


def allowed_tokens(parts: ReadyModel, fixed: dict[int, int] | None = None) -> I64:
    """The tokens of every position, (n, K): the whole alphabet at free positions, one token repeated elsewhere.
    ``fixed``: positions with their symbols' indices; markers are added."""
    size = len(parts.model.alphabet)
    tokens = np.tile(np.arange(size), (parts.n, 1))
    for position, symbol in {**(fixed or {}), **parts.model.pinned(parts.n)}.items():
        if not 0 <= position < parts.n or not 0 <= symbol < len(parts.model.symbols):
            raise UsageError(f"position {position} or symbol {symbol} is out of range at n = {parts.n}")
        tokens[position] = symbol
    return tokens


def start(parts: ReadyModel, tokens: I64) -> Enclosure:
    """The embeddings, (n, K, d), split by token where that gives at most :data:`CASES` cases."""
    sets = parts.embedded(tokens)
    return hull(sets, 1).reshaped(parts.n, 1) if tokens.shape[1] > CASES else sets


def finish_values(parts: ReadyModel, sets: Enclosure) -> Enclosure:
    """Cases merged, then the final LayerNorm, where there is one."""
    return normed(parts.model.final_norm, hull(sets, 1))


def after_attention(layer: ReadyLayer, y: Enclosure) -> Enclosure:
    """LayerNorm and network after the heads' results were added."""
    y = normed(layer.behind[0], y)
    if layer.ffn is None:
        return y
    if layer.front[1] is not None:
        return add(y, fed_forward(layer.ffn, normed(layer.front[1], y), skip=False))
    return normed(layer.behind[1], fed_forward(layer.ffn, y, skip=True))
