"""Softmax transformers with known behaviour: two published constructions, and random ones.

``parity`` and ``first`` are rebuilt from the descriptions in Chiang & Cholak, "Overcoming a theoretical limitation of
self-attention" (ACL 2022), sections 3 and 5; ``random`` has independent Gaussian weights.
"""

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from restrict.base.errors import UsageError
from restrict.soft.models.model import (
    Floats,
    LayerNorm,
    Mask,
    Norm,
    Positions,
    SoftFeedForward,
    SoftHead,
    SoftLayer,
    SoftModel,
    SoftOutput,
    zeros,
)
from restrict.soft.models.terms import Term

WIDTH = 10
"""Dimensions of the two published constructions; two heads of five each, so scores are divided by sqrt(5)."""


def _matrix(rows: int, columns: int, entries: dict[tuple[int, int], float]) -> Floats:
    made = np.zeros((rows, columns))
    for place, value in entries.items():
        made[place] = value
    return made


Row = dict[int, float]
"""The entries of a row that are not zero."""


def _head(query: Row, key: Row, value: Row, to: int, sign: float, scale: str) -> SoftHead:
    """A head with one-dimensional score and value, which is added, times ``sign``, to dimension ``to``."""
    return SoftHead(
        query=_matrix(1, WIDTH, {(0, at): w for at, w in query.items()}),
        key=_matrix(1, WIDTH, {(0, at): w for at, w in key.items()}),
        value=_matrix(1, WIDTH, {(0, at): w for at, w in value.items()}),
        output=_matrix(WIDTH, 1, {(to, 0): sign}),
        query_bias=zeros(1),
        key_bias=zeros(1),
        value_bias=zeros(1),
        scale=Term(scale),
    )


def parity() -> SoftModel:
    """The exact PARITY transformer of Chiang & Cholak (2022, section 3): right at every length.

    Dimensions: 0, 1, 2 the symbols 0, 1, CLS; 3 is ``i/n``; 4 is ``(-1)^i``. Layer 1 averages the ones (``k/n``,
    dimension 5) and CLS (``1/n``, dimension 6); its network computes ``[i = k]/n`` (dimension 7) as a second
    difference of ReLUs. Layer 2 has a head that prefers odd positions and one that prefers even ones, by a factor
    ``e^(2c)`` with ``c = 1/sqrt(5)``; their difference, dimension 8 at CLS, is positive exactly where ``k`` is odd.

    For even n the logit is ``+-2 tanh(c) / n^2``, so one flip changes it by ``4 tanh(c) / n^2``, about ``1.68 / n^2``.
    ``n`` counts CLS.
    """
    first = SoftLayer(
        heads=(_head({}, {}, {1: 1.0}, 5, 1.0, "1"), _head({}, {}, {2: 1.0}, 6, 1.0, "1")),
        attention_bias=zeros(WIDTH),
        ffn=SoftFeedForward(
            inner=_matrix(3, WIDTH, {(r, at): w for r, shift in enumerate((-1.0, 0.0, 1.0))
                                     for at, w in ((5, 1.0), (3, -1.0), (6, shift)) if w}),
            inner_bias=zeros(3),
            outer=_matrix(WIDTH, 3, {(7, 0): 1.0, (7, 1): -2.0, (7, 2): 1.0}),
            outer_bias=zeros(WIDTH),
        ),
    )  # fmt: skip
    second = SoftLayer(
        heads=tuple(_head({2: 1.0}, {4: -sign}, {7: 1.0}, 8, sign, "1/sqrt(5)") for sign in (1.0, -1.0)),
        attention_bias=zeros(WIDTH),
    )
    return SoftModel(
        name="parity",
        alphabet=("0", "1"),
        start_marker="CLS",
        embed=_matrix(3, WIDTH, {(0, 0): 1.0, (1, 1): 1.0, (2, 2): 1.0}),
        positions=Positions(
            "terms", "add", (Term("i/n"), Term("(-1)**i")), _matrix(2, WIDTH, {(0, 3): 1.0, (1, 4): 1.0})
        ),
        layers=(first, second),
        output=SoftOutput(_matrix(1, WIDTH, {(0, 8): 1.0}), zeros(1), ("even", "odd"), "first", "sign"),
        description="the exact softmax transformer for PARITY of Chiang & Cholak (2022)",
    )  # fmt: skip


def first(log: int = 0) -> SoftModel:
    """The transformer for FIRST (the first symbol is 1) of Chiang & Cholak (2022, section 5).

    Dimensions: 0, 1, 2 the symbols; 3 is ``[i = 1]``. Layer 1 has no heads; its network computes ``[i = 1 and the
    symbol is 1]`` (dimension 4). In layer 2 CLS attends to position 1, by a score ``1/sqrt(6)`` against 0, and reads
    ``[symbol 1] - 1/2``: in their code (``first_exact.py`` of github.com/ndnlp/parity) the query is 1, and PyTorch
    divides by the root of the width 6. With ``log=1`` the score is ``log n``, the remedy of their section 5: the weight
    at position 1 then stays constant instead of falling as ``1/n``, as it still would with ``log(n)/sqrt(6)``.

    ``log``: 0 or 1.
    """
    layer1 = SoftLayer(
        heads=(),
        attention_bias=zeros(WIDTH),
        ffn=SoftFeedForward(
            inner=_matrix(1, WIDTH, {(0, 1): 1.0, (0, 3): 1.0}),
            inner_bias=np.array([-1.0]),
            outer=_matrix(WIDTH, 1, {(4, 0): 1.0}),
            outer_bias=zeros(WIDTH),
        ),
    )
    scale = "log(n)" if log else "1/sqrt(6)"
    layer2 = SoftLayer((_head({2: 1.0}, {3: 1.0}, {4: 1.0, 3: -0.5}, 5, 1.0, scale),), zeros(WIDTH))
    return SoftModel(
        name=f"first:log={log}" if log else "first",
        alphabet=("0", "1"),
        start_marker="CLS",
        embed=_matrix(3, WIDTH, {(0, 0): 1.0, (1, 1): 1.0, (2, 2): 1.0}),
        positions=Positions("terms", "add", (Term("i == 1"),), _matrix(1, WIDTH, {(0, 3): 1.0})),
        layers=(layer1, layer2),
        output=SoftOutput(_matrix(1, WIDTH, {(0, 5): 1.0}), zeros(1), ("0 first", "1 first"), "first", "sign"),
        description="the softmax transformer for FIRST of Chiang & Cholak (2022)",
    )


def random(
    layers: int = 2,
    heads: int = 2,
    width: int = 16,
    hidden: int = 32,
    symbols: int = 2,
    labels: int = 2,
    seed: int = 0,
    percent: int = 50,
    causal: int = 0,
    norm: int = 0,
    gelu: int = 0,
    additive: int = 0,
) -> SoftModel:
    """A random softmax transformer: independent Gaussian weights with bounded sinusoidal positions.

    ``layers``, ``heads``, ``width``, ``hidden``: sizes; each head has ``max(1, width // heads)`` dimensions.
    ``percent``: a matrix with ``m`` columns has entries of standard deviation ``percent / 100 / sqrt(m)``; embeddings
    have standard deviation 1. ``causal``: 1 for heads that see only the past. ``norm``: 1 for LayerNorm after each half
    (as in 2017), 2 before (as in GPT-2). ``gelu``: 1 for GELU in place of ReLU. ``additive``: 1 for additive scores.
    """
    options = locals().copy()  # what was given
    if norm > 2:
        raise UsageError(f"norm={norm} must be 0 (none), 1 (post) or 2 (pre)")
    draw = _Draw(np.random.default_rng([seed, layers, heads, width, hidden, symbols]), percent / 100, width)
    terms = tuple(Term(f"{f}pi(2*i/{p})") for p in (3, 7, 16, 50) for f in ("cos", "sin"))
    embed = draw.rng.normal(size=(symbols, width))
    positions = draw.rng.normal(size=(len(terms), width)) / np.sqrt(len(terms))
    made = tuple(draw.layer(heads, hidden, options) for _ in range(layers))
    return SoftModel(
        name="random:" + ",".join(f"{k}={v}" for k, v in options.items()),
        alphabet=tuple(str(a) if symbols <= 10 else f"s{a}" for a in range(symbols)),
        embed=embed,
        positions=Positions("terms", "add", terms, positions),
        layers=made,
        output=SoftOutput(draw.weights(labels, width), zeros(labels), tuple(f"label{a}" for a in range(labels))),
        description="independent Gaussian weights",
        final_norm=_plain_norm(width) if norm == 2 else None,
    )


def _plain_norm(width: int) -> LayerNorm:
    return LayerNorm(np.ones(width), zeros(width), Term("0.00001"))


@dataclass(frozen=True)
class _Draw:
    """Gaussian matrices with entries of standard deviation ``small / sqrt(columns)``, in the order of the calls."""

    rng: np.random.Generator
    small: float
    width: int

    def weights(self, rows: int, columns: int) -> Floats:
        return self.rng.normal(0.0, self.small / np.sqrt(columns), (rows, columns))

    def head(self, size: int, causal: bool, additive: bool) -> SoftHead:
        mask: Mask = "past" if causal else "none"
        score: Literal["dot", "additive"] = "additive" if additive else "dot"
        return SoftHead(
            self.weights(size, self.width), self.weights(size, self.width), self.weights(size, self.width),
            self.weights(self.width, size), zeros(size), zeros(size), zeros(size), mask, Term(f"1/sqrt({size})"), score,
            self.rng.normal(size=size) if additive else None,
        )  # fmt: skip

    def layer(self, heads: int, hidden: int, options: dict[str, int]) -> SoftLayer:
        size, kinds = max(1, self.width // heads), cast(tuple[Norm, ...], ("none", "post", "pre"))
        made = tuple(self.head(size, bool(options["causal"]), bool(options["additive"])) for _ in range(heads))
        ffn = SoftFeedForward(
            self.weights(hidden, self.width), self.rng.normal(size=hidden) * self.small,
            self.weights(self.width, hidden), zeros(self.width), "gelu" if options["gelu"] else "relu",
        )  # fmt: skip
        norms = (_plain_norm(self.width), _plain_norm(self.width)) if options["norm"] else (None, None)
        return SoftLayer(made, zeros(self.width), ffn, kinds[options["norm"]], *norms)
