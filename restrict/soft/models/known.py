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


def _row(entries: Row) -> Floats:
    return _matrix(1, WIDTH, {(0, at): w for at, w in entries.items()})


def _head(query: Row, key: Row, value: Row, to: int, sign: float, scale: str) -> SoftHead:
    """A head with one-dimensional score and value, which is added, times ``sign``, to dimension ``to``."""
    q, k, v = (_row(entries) for entries in (query, key, value))
    return SoftHead(q, k, v, _matrix(WIDTH, 1, {(to, 0): sign}), zeros(1), zeros(1), zeros(1), scale=Term(scale))


def _network(rows: list[Row], bias: float, to: int, weights: tuple[float, ...]) -> SoftFeedForward:
    """A network whose units have the given rows and this bias each; dimension ``to`` gets the weighted sum of the
    units."""
    outer = _matrix(WIDTH, len(rows), {(to, unit): w for unit, w in enumerate(weights)})
    return SoftFeedForward(np.concatenate([_row(row) for row in rows]), np.full(len(rows), bias), outer, zeros(WIDTH))


def _published(
    name: str, layers: tuple[SoftLayer, ...], terms: tuple[str, ...], read: int, labels: tuple[str, str], what: str
) -> SoftModel:
    """A model of Chiang & Cholak (2022): dimensions 0, 1, 2 are the symbols 0, 1, CLS, then come the terms; the sign of
    dimension ``read`` at CLS tells which label it is."""
    table = _matrix(len(terms), WIDTH, {(at, 3 + at): 1.0 for at in range(len(terms))})
    return SoftModel(
        name=name,
        alphabet=("0", "1"),
        start_marker="CLS",
        embed=np.eye(3, WIDTH),
        positions=Positions("terms", "add", tuple(map(Term, terms)), table),
        layers=layers,
        output=SoftOutput(_row({read: 1.0}), zeros(1), labels, "first", "sign"),
        description=f"the {what} of Chiang & Cholak (2022)",
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
    heads = tuple(_head({}, {}, {at: 1.0}, 4 + at, 1.0, "1") for at in (1, 2))
    differences: list[Row] = [{5: 1.0, 3: -1.0, 6: shift} for shift in (-1.0, 0.0, 1.0)]
    first = SoftLayer(heads, zeros(WIDTH), _network(differences, 0.0, 7, (1.0, -2.0, 1.0)))
    heads = tuple(_head({2: 1.0}, {4: -sign}, {7: 1.0}, 8, sign, "1/sqrt(5)") for sign in (1.0, -1.0))
    layers, what = (first, SoftLayer(heads, zeros(WIDTH))), "exact softmax transformer for PARITY"
    return _published("parity", layers, ("i/n", "(-1)**i"), 8, ("even", "odd"), what)


def first(log: int = 0) -> SoftModel:
    """The transformer for FIRST (the first symbol is 1) of Chiang & Cholak (2022, section 5).

    Dimensions: 0, 1, 2 the symbols; 3 is ``[i = 1]``. Layer 1 has no heads; its network computes ``[i = 1 and the
    symbol is 1]`` (dimension 4). In layer 2 CLS attends to position 1, by a score ``1/sqrt(6)`` against 0, and reads
    ``[symbol 1] - 1/2``: in their code (``first_exact.py`` of github.com/ndnlp/parity) the query is 1, and PyTorch
    divides by the root of the width 6. With ``log=1`` the score is ``log n``, the remedy of their section 5: the weight
    at position 1 then stays constant instead of falling as ``1/n``, as it still would with ``log(n)/sqrt(6)``.

    ``log``: 0 or 1.
    """
    head = _head({2: 1.0}, {3: 1.0}, {4: 1.0, 3: -0.5}, 5, 1.0, "log(n)" if log else "1/sqrt(6)")
    network = _network([{1: 1.0, 3: 1.0}], -1.0, 4, (1.0,))
    layers = SoftLayer((), zeros(WIDTH), network), SoftLayer((head,), zeros(WIDTH))
    name = f"first:log={log}" if log else "first"
    return _published(name, layers, ("i == 1",), 5, ("0 first", "1 first"), "softmax transformer for FIRST")


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
