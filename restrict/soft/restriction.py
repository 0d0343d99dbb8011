"""Soft restrictions: fix a few tokens so that all the others together move the output by at most epsilon.

The soft counterpart of Theorem 1's restrictions. The claim "any two completions differ by at most epsilon" (in each
label's probability, or in the differences of logits) is certified by :mod:`restrict.soft.values`: the output's set
bounds every completion at once. What moves is the model's real function; the certificate file can be checked again by
:mod:`restrict.soft.recheck`, which shares no code with this package.

Search: follow a run. On a word ``x`` the attention weights say which positions the output reads, layer by layer; these
anchors are fixed first, in the order of the attention that flows from them to the output. The shortest prefix of that
order that suffices is found by bisection, then every fixed token that the bound survives is dropped. Several words are
tried: constant ones, random ones, and those whose output is most certain.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from restrict.errors import ModelError, NotEstablished, UsageError, quote
from restrict.files import read_bytes, write_bytes
from restrict.soft import evaluate
from restrict.soft.enclosure import Enclosure, above, gamma, linear, norms
from restrict.soft.format import dumps, loads
from restrict.soft.model import Floats, SoftModel, visible
from restrict.soft.parts import Parts, prepare
from restrict.soft.values import allowed_tokens, run_values
from restrict.strictjson import Node, one_line_lists, parse

FORMAT = "restrict-soft-certificate/1"
Quantity = Literal["probability", "margin"]
QUANTITIES: tuple[Quantity, ...] = ("probability", "margin")
Progress = Callable[[str], None]
MARGIN = 0.02
"""The search aims this much (relatively) below epsilon: the re-check centres some sets elsewhere."""


@dataclass(frozen=True)
class SoftCertificate:
    """``fixed`` (position: symbol, without markers) keeps the output within ``epsilon``; certified was ``bound``.

    ``position`` is the one that the output is read at; ``provenance`` is ignored by the re-check.
    """

    model: str
    sha256: str
    n: int
    fixed: dict[int, str]
    position: int
    quantity: Quantity
    epsilon: Fraction
    norms: dict[str, str] = field(default_factory=dict)
    bound: float = math.nan
    free: int = 0
    provenance: dict[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The certificate file."""
        document = {
            "format": FORMAT,
            "model": {"name": self.model, "sha256": self.sha256},
            "n": self.n,
            "fixed": [[i, s] for i, s in sorted(self.fixed.items())],
            "position": self.position,
            "quantity": self.quantity,
            "epsilon": _text(self.epsilon),
            "norms": dict(sorted(self.norms.items())),
            "provenance": self.provenance,
        }
        return (one_line_lists(document) + "\n").encode()

    def save(self, path: str | Path) -> None:
        """Write the certificate file."""
        write_bytes(Path(path), self.to_bytes())


def _text(x: Fraction) -> str:
    return str(x.numerator) if x.denominator == 1 else f"{x.numerator}/{x.denominator}"


def read_epsilon(text: str) -> Fraction:
    """A positive rational such as ``0.01``, ``1e-6`` or ``1/100``.

    Raises:
        UsageError: not a positive number of moderate size.
    """
    try:
        value = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"epsilon {quote(text)} is not a number such as 0.01 or 1/100") from None
    if value <= 0 or max(value.numerator.bit_length(), value.denominator.bit_length()) > 200:
        raise UsageError(f"epsilon {quote(text)} must be positive and of moderate size")
    return value


def load_certificate(path: str | Path) -> SoftCertificate:
    """Read a certificate file.

    Raises:
        UsageError: the file cannot be read.
        ModelError: malformed; the message is file: place: reason.
    """
    content = read_bytes(Path(path))
    try:
        return _certificate(Node(parse(content, "certificate"), "top level"))
    except (ModelError, UsageError) as error:
        raise ModelError(f"{path}: {error}") from None


def _certificate(root: Node) -> SoftCertificate:
    keys = ("format", "model", "n", "fixed", "position", "quantity", "epsilon", "norms")
    fields = root.fields(keys, ("provenance",))
    if fields["format"].text() != FORMAT:
        fields["format"].fail(f"this is {quote(fields['format'].value)}, not {FORMAT!r}")
    model = fields["model"].fields(("name", "sha256"))
    n = fields["n"].integer(1)
    fixed: dict[int, str] = {}
    for pair in fields["fixed"].items():
        both = pair.items()
        if len(both) != 2:
            pair.fail("expected a position and a symbol")
        position = both[0].integer(0, n - 1)
        if position in fixed:
            pair.fail(f"position {position} is fixed twice")
        fixed[position] = both[1].text()
    quantity = fields["quantity"].text()
    if quantity not in QUANTITIES:
        fields["quantity"].fail(f"{quote(quantity)} is not one of {', '.join(QUANTITIES)}")
    return SoftCertificate(
        model["name"].text(),
        model["sha256"].text(),
        n,
        fixed,
        fields["position"].integer(0, n - 1),
        "margin" if quantity == "margin" else "probability",
        read_epsilon(fields["epsilon"].text()),
        {k: Node(v, f"norms.{k}").text() for k, v in fields["norms"].expect(dict, "an object").items()},
    )


# ---------------------------------------------------------------- the bound


def movement(parts: Parts, y: Enclosure, quantity: Quantity) -> float:
    """How far apart the outputs of two vectors of a set (d,) can be, rounded up."""
    rows = parts.unembed.matrix
    bias = parts.unembed.bias
    if parts.model.output.kind == "sign":
        rows, bias = np.vstack([np.zeros_like(rows), rows]), np.concatenate([np.zeros(1), bias])
    count, d = rows.shape
    if count == 1:
        return 0.0
    first, second = (a.reshape(-1) for a in np.meshgrid(range(count), range(count), indexing="ij"))
    gaps = linear(rows[first] - rows[second], norm=0.0)
    slack = 4 * 2.0**-53 * (np.abs(rows[first]) + np.abs(rows[second])) @ y.largest()
    spread = np.minimum(gaps.absolute @ y.box, gaps.rows * y.ball) + slack
    shift = bias[first] - bias[second]
    error = gamma(d) * (gaps.rows * norms(y.centre) + np.abs(bias[first]) + np.abs(bias[second]))
    spread = above(spread + error, d)
    if quantity == "margin":
        return float(2 * spread.max() * (1 + 1e-15))
    centre = gaps.matrix @ y.centre + shift
    low, high = (centre - spread).reshape(count, count), (centre + spread).reshape(count, count)
    # Row y, column k: logit y less logit k. p_y = 1 / sum over k of exp(-(z_y - z_k)).
    with np.errstate(over="ignore"):
        most, least = 1 / np.exp(-high).sum(axis=1), 1 / np.exp(-low).sum(axis=1)
    return float(min((most - least).max() + 1e-13, 1.0))


def certified_movement(
    model: SoftModel,
    n: int,
    fixed: dict[int, str],
    *,
    quantity: Quantity = "probability",
    position: int | None = None,
) -> float:
    """A certified bound on how far the free tokens together can move the output.

    Args:
        model: a softmax model.
        n: length, markers counted.
        fixed: symbols at fixed positions.
        quantity: ``probability``, the largest change of a label's probability; ``margin``, of a difference of logits.
        position: where the output is read; the model's own place by default.

    Returns:
        The bound, rounded up.
    """
    parts = prepare(model, n)
    return _movement(parts, _indices(model, fixed), quantity, _position(model, n, position))


def _movement(parts: Parts, fixed: dict[int, int], quantity: Quantity, position: int) -> float:
    found = run_values(parts, allowed_tokens(parts, fixed), at=[position])
    return movement(parts, found[0], quantity)


def _indices(model: SoftModel, fixed: dict[int, str]) -> dict[int, int]:
    unknown = next((s for s in fixed.values() if s not in model.alphabet), None)
    if unknown is not None:
        raise UsageError(f"{quote(unknown)} is not in the alphabet ({' '.join(model.alphabet)})")
    return {i: model.alphabet.index(s) for i, s in fixed.items()}


def _position(model: SoftModel, n: int, position: int | None) -> int:
    if position is None:
        return model.output_position(n)
    if model.output.place != "every" and position != model.output_position(n):
        raise UsageError(f"the model's output is at its {model.output.place} position only")
    if not 0 <= position < n:
        raise UsageError(f"position {position} is not in 0 .. {n - 1}")
    return position


def norm_hints(parts: Parts) -> dict[str, str]:
    """Bounds on the 2-norms of all matrices, as decimal text, for the re-check to verify."""
    found: dict[str, float] = {}
    for at, layer in enumerate(parts.layers):
        for h, head in enumerate(layer.heads):
            for name in ("query", "key", "value", "output"):
                found[f"layers.{at}.heads.{h}.{name}"] = getattr(head, name).norm
        if layer.ffn is not None:
            found |= {f"layers.{at}.ffn.in": layer.ffn.inner.norm, f"layers.{at}.ffn.out": layer.ffn.outer.norm}
    return {name: f"{Decimal(norm * (1 + 1e-12)):.15e}" for name, norm in found.items() if norm > 1e-200}


# ---------------------------------------------------------------- search


def certify_soft(
    model: SoftModel,
    n: int,
    epsilon: Fraction | str,
    *,
    quantity: Quantity = "probability",
    position: int | None = None,
    fixed: dict[int, str] | None = None,
    seed: int = 0,
    seconds: float = 30.0,
    tries: int = 8,
    progress: Progress | None = None,
) -> SoftCertificate:
    """A restriction with few fixed tokens under which the output moves by at most epsilon, with its certificate.

    Args:
        model: a softmax model (ReLU networks and dot-product scores, so that the re-check can follow).
        n: length, markers counted.
        epsilon: a positive rational, or its text.
        quantity: see :func:`certified_movement`.
        position: where the output is read; the model's own place by default.
        fixed: certify this restriction instead of searching.
        seed: of the words that are followed.
        progress: told what is being done.
        seconds: when to stop improving. The best restriction found is returned; also at Ctrl-C.
        tries: words to follow.

    Returns:
        The certificate. Fixing everything always suffices, so there is one; how many positions it leaves free is the
        measure of success.

    Raises:
        NotEstablished: where ``fixed`` is given and its bound exceeds epsilon.
        UsageError: for bad arguments.
    """
    limit = read_epsilon(epsilon) if isinstance(epsilon, str) else epsilon
    parts = prepare(model, n)
    place = _position(model, n, position)
    if fixed is not None:
        bad = next((i for i in fixed if i in model.pinned(n) or not 0 <= i < n), None)
        if bad is not None:
            raise UsageError(f"position {bad} is a marker or not in 0 .. {n - 1}")
        bound = _movement(parts, _indices(model, fixed), quantity, place)
        if Fraction(bound) > limit:
            raise NotEstablished(
                f"with these tokens fixed the {quantity} is certified to move by at most {bound:.6g} only"
            )
        return _made(parts, _indices(model, fixed), place, quantity, limit, bound, {})
    search = _Search(parts, place, quantity, float(limit) * (1 - MARGIN), time.monotonic() + seconds, progress)
    stopped = "finished"
    try:
        search.run(np.random.default_rng([seed, n]), tries)
    except KeyboardInterrupt:
        stopped = "interrupted"
    except TimeoutError:
        stopped = "time"
    if search.best is None:
        every = {i: 0 for i in range(n) if i not in model.pinned(n)}
        search.keep(every)
    if search.best is None:
        raise NotEstablished(
            f"even with every token fixed, rounding alone is only certified to stay below "
            f"{_movement(parts, every, quantity, place):.3g}; epsilon is too small for double precision"
        )
    return _made(parts, search.best, place, quantity, limit, search.bound, {"seed": seed, "stopped": stopped})


def _made(
    parts: Parts,
    fixed: dict[int, int],
    position: int,
    quantity: Quantity,
    epsilon: Fraction,
    bound: float,
    provenance: dict[str, Any],
) -> SoftCertificate:
    model = parts.model
    return SoftCertificate(
        model.name,
        file_digest(model),
        parts.n,
        {i: model.alphabet[s] for i, s in sorted(fixed.items())},
        position,
        quantity,
        epsilon,
        norm_hints(parts),
        bound,
        parts.n - len(model.pinned(parts.n)) - len(fixed),
        provenance | {"bound": json.dumps(bound)},
    )


def file_digest(model: SoftModel) -> str:
    """SHA-256 of the file that the model was read from, where it still holds this model; else of its own bytes."""
    if model.source is not None and model.source.is_file():
        content = read_bytes(model.source)
        if dumps(loads(content)) == dumps(model):
            return hashlib.sha256(content).hexdigest()
    return model.digest


@dataclass
class _Search:
    """The state of a search: the best restriction so far and its bound."""

    parts: Parts
    place: int
    quantity: Quantity
    limit: float
    deadline: float
    progress: Progress | None
    best: dict[int, int] | None = None
    bound: float = math.inf

    def keep(self, fixed: dict[int, int]) -> bool:
        """Whether this restriction suffices; the best one is remembered."""
        if self.best is not None and time.monotonic() > self.deadline:
            raise TimeoutError
        found = _movement(self.parts, fixed, self.quantity, self.place)
        if found > self.limit:
            return False
        if self.best is None or len(fixed) < len(self.best):
            self.best, self.bound = dict(fixed), found
            if self.progress is not None:
                self.progress(f"{len(fixed)} fixed, moves by at most {found:.3g}")
        return True

    def run(self, rng: np.random.Generator, tries: int) -> None:
        """Follow words, best first, and drop what is not needed."""
        if self.keep({}):
            return
        for word in _words(self.parts.model, self.parts.n, self.place, tries, rng):
            order = _anchors(self.parts.model, word, self.place)
            found = self.shortest(word, order)
            if found is not None and (self.best is None or len(found) <= len(self.best) + 4):
                self.drop(found, order)

    def shortest(self, word: npt.NDArray[np.int64], order: list[int]) -> dict[int, int] | None:
        """The shortest prefix of the order that suffices, by bisection; ``None`` if not about as good as the best."""
        most = len(order) if self.best is None else min(len(order), len(self.best) + 3)

        def fixed(k: int) -> dict[int, int]:
            return {i: int(word[i]) for i in order[:k]}

        low, high = 0, 1
        while high < most and not self.keep(fixed(high)):
            low, high = high, high * 2
        high = min(high, most)
        if not self.keep(fixed(high)):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keep(fixed(middle)) else (middle, high)
        return fixed(high)

    def drop(self, fixed: dict[int, int], order: list[int]) -> None:
        """Drop what the bound survives without: in chunks, then one by one, least attended first."""
        chunk = max(1, len(fixed) // 2)
        while True:
            inside = [i for i in reversed(order) if i in fixed]
            for at in range(0, len(inside), chunk):
                rest = {i: s for i, s in fixed.items() if i not in inside[at : at + chunk]}
                if len(rest) < len(fixed) and self.keep(rest):
                    fixed = rest
            if chunk == 1:
                return
            chunk = max(1, chunk // 2)


def _words(
    model: SoftModel, n: int, place: int, tries: int, rng: np.random.Generator
) -> Sequence[npt.NDArray[np.int64]]:
    """Words to follow: constant ones, then random ones, those with the most certain output first."""
    size, slots = len(model.alphabet), n - len(model.pinned(n))
    constant = np.repeat(np.arange(size)[:, None], slots, axis=1)
    shares = rng.dirichlet(np.full(size, 0.5), 4 * tries)
    drawn = (rng.random((4 * tries, slots, 1)) > shares.cumsum(axis=1)[:, None, :]).sum(axis=2)
    words = model.encode(np.concatenate([constant, np.minimum(drawn, size - 1)]))
    logits = evaluate.logits(model, words, at=np.array([place]))[:, 0]
    margins = np.abs(logits[:, 0])
    if model.output.kind == "softmax" and logits.shape[1] > 1:
        ranked = np.sort(logits, axis=1)
        margins = ranked[:, -1] - ranked[:, -2]
    order = np.argsort(-margins, kind="stable")
    chosen = [int(k) for k in order if k >= size][:tries]
    return [words[k] for k in [int(k) for k in order if k < size] + chosen]


def _anchors(model: SoftModel, word: npt.NDArray[np.int64], place: int) -> list[int]:
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
