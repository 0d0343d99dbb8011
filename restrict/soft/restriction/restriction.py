"""Soft restrictions: fix a few tokens so that all the others together move the output by at most epsilon.

The soft counterpart of Theorem 1's restrictions. The claim "any two completions differ by at most epsilon" (in each
label's probability, or in the differences of logits) is found by :func:`bounded_movement`. It is called
certified only after the trusted checker (:mod:`restrict.checker`), which shares the reader of terms with this package
and none of its bounds, has established it again.

Search: follow a run (:func:`anchors`). The positions that the output reads are fixed first, in the order
of the attention that flows from them to the output. The shortest prefix of that order that suffices is found by
bisection, then every fixed token that the bound does not need is dropped. Several words are tried: constant ones,
random ones, and those whose output is most certain.

How far the output can move while some tokens are fixed: the certified bound behind soft restrictions. The output's
set from :mod:`.values` holds every completion at once; its extent bounds how far apart any two of them are, in each
label's probability or in the differences of logits.

What a run of a softmax transformer attends to: the words to follow and the positions that their outputs read. On a
word ``x`` the attention weights say which positions the output reads, layer by layer; the *flow* of a position is the
attention that reaches it from the output, skip connections included.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import NotEstablished, ResourceLimit, UsageError, quote
from restrict.base.files import read_bytes
from restrict.elaboration.trusted import trusted_check
from restrict.soft.bounds.enclosure import Enclosure, above, gamma, linear, norms
from restrict.soft.bounds.exchange import run_values
from restrict.soft.bounds.parts import ReadyModel, prepare
from restrict.soft.bounds.values import allowed_tokens
from restrict.soft.influence.influence import varied
from restrict.soft.models import evaluate
from restrict.soft.models.format import dumps, loads
from restrict.soft.models.model import Floats, SoftModel, visible
from restrict.soft.restriction.claim import Quantity, SoftCertificate, read_epsilon
from restrict.soft.restriction.options import FORCED

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Goal:
    """What is to be certified: the output at ``place`` moves by at most ``epsilon``."""

    parts: ReadyModel
    place: int
    quantity: Quantity
    epsilon: Fraction

    def bound(self, fixed: dict[int, int]) -> float:
        """The propagation's bound with these tokens fixed."""
        return bounded_movement(self.parts, fixed, self.quantity, self.place)

    def certificate(self, fixed: dict[int, int], bound: float, provenance: dict[str, Any]) -> SoftCertificate:
        """The claim for these tokens, not yet checked."""
        model, n = self.parts.model, self.parts.n
        return SoftCertificate(
            model.name,
            hashlib.sha256(file_content(model)).hexdigest(),
            n,
            {i: model.alphabet[s] for i, s in sorted(fixed.items())},
            self.place,
            self.quantity,
            self.epsilon,
            norm_hints(self.parts),
            bound,
            n - len(model.pinned(n)) - len(fixed),
            provenance | {"bound": json.dumps(bound)},
        )


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
    check: bool = True,
    progress: Progress | None = None,
) -> SoftCertificate:
    """A restriction with few fixed tokens under which the output at ``position`` (default: the model's own place) moves
    by at most ``epsilon`` (a positive rational, or its text), with its certificate. There is one: fixing everything
    suffices; how many positions it leaves free is the measure of success. ``model``: with ReLU networks and dot-product
    scores, so that the re-check can follow; ``n``: with markers. ``verified`` is the line of the re-check, ``None``
    without ``check`` or where Ctrl-C stopped it."""
    limit, tell = read_epsilon(epsilon) if isinstance(epsilon, str) else epsilon, progress or (lambda _: None)
    parts = prepare(model, n)
    goal = Goal(parts, read_position(model, n, position), quantity, limit)
    if check:
        check_covered(model)
    if fixed is not None:
        found = _given(goal, fixed)
        return rechecked(found, model, tell) if check else found
    deadline = time.monotonic() + seconds
    for margin in FORCED.margins:
        found = _searched(goal, margin, deadline, (seed, tries), tell)
        try:
            return rechecked(found, model, tell) if check else found
        except NotEstablished as error:
            reason = error
    raise NotEstablished(f"the re-check does not confirm what the propagation found: {reason}")


def _given(goal: Goal, fixed: dict[int, str]) -> SoftCertificate:
    """The certificate for tokens that the user fixed."""
    model, n = goal.parts.model, goal.parts.n
    bad = next((i for i in fixed if i in model.pinned(n) or not 0 <= i < n), None)
    if bad is not None:
        raise UsageError(f"position {bad} is a marker or not in 0 .. {n - 1}")
    indices = symbol_indices(model, fixed)
    bound = goal.bound(indices)
    if Fraction(bound) > goal.epsilon:
        raise NotEstablished(
            f"with these tokens fixed the {goal.quantity} is certified to move by at most {bound:.6g} only"
        )
    return goal.certificate(indices, bound, {})


def _searched(
    goal: Goal, margin: float, deadline: float, drawn: tuple[int, int], progress: Progress
) -> SoftCertificate:
    """The best restriction that a search finds, ``margin`` below epsilon."""
    seed, tries = drawn
    model, n = goal.parts.model, goal.parts.n
    search = _Search(goal, float(goal.epsilon) * (1 - margin), deadline, progress)
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
            f"{goal.bound(every):.3g}; epsilon is too small for double precision"
        )
    return goal.certificate(search.best, search.bound, {"seed": seed, "stopped": stopped})


def check_covered(model: SoftModel) -> None:
    """The re-check covers dot-product scores and ReLU networks."""
    for number, layer in enumerate(model.layers):
        if any(head.score != "dot" for head in layer.heads):
            raise ResourceLimit(f"layer {number}: additive scores are outside the re-check; see --no-recheck")
        if layer.ffn is not None and layer.ffn.activation != "relu":
            raise ResourceLimit(f"layer {number}: networks other than ReLU are outside the re-check; see --no-recheck")


def rechecked(certificate: SoftCertificate, model: SoftModel, progress: Progress) -> SoftCertificate:
    """The certificate with the line of the independent re-check; without it where Ctrl-C stops that. Cost: ``n^2``
    exact scores per layer and head: seconds at n = 50, d = 16 and two layers."""
    progress(f"{len(certificate.fixed)} fixed; re-checking in exact arithmetic")
    try:
        line = trusted_check(file_content(model), certificate.to_bytes(), None, "certificate", None)
        return replace(certificate, verified=line)
    except KeyboardInterrupt:
        return replace(certificate, provenance=certificate.provenance | {"stopped": "interrupted"})


def file_content(model: SoftModel) -> bytes:
    """The bytes of the file that the model was read from, where it still holds this model; else its own bytes."""
    if model.source is not None and model.source.is_file():
        content = read_bytes(model.source)
        if dumps(loads(content)) == dumps(model):
            return content
    return dumps(model)


@dataclass
class _Search:
    """The state of a search: the best restriction so far and its bound."""

    goal: Goal
    limit: float
    deadline: float
    progress: Progress
    best: dict[int, int] | None = None
    bound: float = math.inf

    def keep(self, fixed: dict[int, int]) -> bool:
        """Whether this restriction suffices; the best one is remembered."""
        if self.best is not None and time.monotonic() > self.deadline:
            raise TimeoutError
        found = self.goal.bound(fixed)
        if found > self.limit:
            return False
        if self.best is None or len(fixed) < len(self.best):
            self.best, self.bound = dict(fixed), found
            self.progress(f"{len(fixed)} fixed, moves by at most {found:.3g}")
        return True

    def run(self, rng: np.random.Generator, tries: int) -> None:
        """Follow words, best first, and drop what is not needed."""
        if self.keep({}):
            return
        model, n, place = self.goal.parts.model, self.goal.parts.n, self.goal.place
        for word in followed_words(model, n, place, tries, rng):
            order = anchors(model, word, place)
            found = self.shortest(word, order)
            if found is not None and (self.best is None or len(found) <= len(self.best) + 4):
                self.drop(found, order)

    def shortest(self, word: I64, order: list[int]) -> dict[int, int] | None:
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


def movement(parts: ReadyModel, y: Enclosure, quantity: Quantity) -> float:
    """How far apart the outputs of two vectors of a set (d,) can be, rounded up."""
    if parts.model.output.kind == "signs":
        raise UsageError(
            f"{parts.model.name} answers with a set of labels; a restriction is about one label's probability"
        )
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


def bounded_movement(parts: ReadyModel, fixed: dict[int, int], quantity: Quantity, position: int) -> float:
    """A certified bound, rounded up, on how far the free tokens together can move the output at a position, where these
    are fixed (symbols as indices): a label's probability, or (``margin``) a difference of logits."""
    found = run_values(parts, allowed_tokens(parts, fixed), at=[position])
    return movement(parts, found[0], quantity)


def symbol_indices(model: SoftModel, fixed: dict[int, str]) -> dict[int, int]:
    """Symbols as indices into the alphabet."""
    unknown = next((s for s in fixed.values() if s not in model.alphabet), None)
    if unknown is not None:
        raise UsageError(f"{quote(unknown)} is not in the alphabet ({' '.join(model.alphabet)})")
    return {i: model.alphabet.index(s) for i, s in fixed.items()}


def read_position(model: SoftModel, n: int, position: int | None) -> int:
    """The position that the output is read at: the one given, or the model's own."""
    if position is None:
        return model.output_position(n)
    if model.output.place != "every" and position != model.output_position(n):
        raise UsageError(f"the model's output is at its {model.output.place} position only")
    if not 0 <= position < n:
        raise UsageError(f"position {position} is not in 0 .. {n - 1}")
    return position


def norm_hints(parts: ReadyModel) -> dict[str, str]:
    """Bounds on the 2-norms of all matrices, as decimal text, for the re-check to verify."""
    found: dict[str, float] = {}
    for at, layer in enumerate(parts.layers):
        for h, head in enumerate(layer.heads):
            for name in ("query", "key", "value", "output"):
                found[f"layers.{at}.heads.{h}.{name}"] = getattr(head, name).norm
        if layer.ffn is not None:
            found |= {f"layers.{at}.ffn.in": layer.ffn.inner.norm, f"layers.{at}.ffn.out": layer.ffn.outer.norm}
    return {name: f"{Decimal(norm * (1 + 1e-12)):.15e}" for name, norm in found.items() if norm > 1e-200}


def followed_words(model: SoftModel, n: int, place: int, tries: int, rng: np.random.Generator) -> Sequence[I64]:
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


def anchors(model: SoftModel, word: I64, place: int) -> list[int]:
    """The free positions by the attention that flows from them to the output on this word, most first."""
    n = len(word)
    weights = attention(model, word)
    flow = np.zeros(n)
    flow[place] = 1.0
    for layer in reversed(weights):
        flow = flow + sum(flow @ w for w in layer)
    pinned = model.pinned(n)
    return [int(i) for i in np.argsort(-flow, kind="stable") if int(i) not in pinned]


def attention(model: SoftModel, word: I64) -> list[list[Floats]]:
    """The attention weights on one word: per layer and head an (n, n) matrix, rows the queries."""
    n = len(word)
    x: Any = evaluate.embedded(model, word[None])
    found: list[list[Floats]] = []
    rows = np.arange(n)
    for layer in model.layers:
        keys = evaluate.normalised(layer.front[0], x)
        found.append([])
        for head in layer.heads:
            q, k = (evaluate.affine(*maps, keys) for maps in ((head.query, head.query_bias), (head.key, head.key_bias)))
            scores = evaluate.scored(head, q, k)[0] * head.scale.value(0, n)
            found[-1].append(evaluate.softmax(np.where(visible(head.mask, rows, n), scores, -np.inf)))
        x = evaluate.run_layer(layer, x, rows, n)
    return found
