"""Soft restrictions: fix a few tokens so that all the others together move the output by at most epsilon.

The soft counterpart of Theorem 1's restrictions. The claim "any two completions differ by at most epsilon" (in each
label's probability, or in the differences of logits) is found with :mod:`.movement`. It is called
certified only after the trusted checker (:mod:`restrict.checker`), which shares the reader of terms with this package
and none of its bounds, has established it again.

Search: follow a run (:mod:`.anchors`). The positions that the output reads are fixed first, in the order
of the attention that flows from them to the output. The shortest prefix of that order that suffices is found by
bisection, then every fixed token that the bound does not need is dropped. Several words are tried: constant ones,
random ones, and those whose output is most certain.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.base.errors import NotEstablished, ResourceLimit, UsageError
from restrict.base.files import read_bytes
from restrict.elaboration.trusted import trusted_check
from restrict.soft.bounds.parts import Parts, prepare
from restrict.soft.models.format import dumps, loads
from restrict.soft.models.model import SoftModel
from restrict.soft.restriction.anchors import anchors, followed_words
from restrict.soft.restriction.claim import Quantity, SoftCertificate, read_epsilon
from restrict.soft.restriction.movement import bounded_movement, norm_hints, read_position, symbol_indices

Progress = Callable[[str], None]
MARGINS = (0.02, 0.1, 0.3)
"""The search aims this much (relatively) below epsilon, as the re-check centres some sets elsewhere; the next one is
taken where the re-check does not follow."""


@dataclass(frozen=True)
class Goal:
    """What is to be certified: the output at ``place`` moves by at most ``epsilon``."""

    parts: Parts
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
    limit = read_epsilon(epsilon) if isinstance(epsilon, str) else epsilon
    parts = prepare(model, n)
    goal = Goal(parts, read_position(model, n, position), quantity, limit)
    if check:
        check_covered(model)
    if fixed is not None:
        found = _given(goal, fixed)
        return rechecked(found, model, progress) if check else found
    deadline = time.monotonic() + seconds
    for margin in MARGINS:
        found = _searched(goal, margin, deadline, (seed, tries), progress)
        try:
            return rechecked(found, model, progress) if check else found
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
    goal: Goal, margin: float, deadline: float, drawn: tuple[int, int], progress: Progress | None
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


def rechecked(certificate: SoftCertificate, model: SoftModel, progress: Progress | None = None) -> SoftCertificate:
    """The certificate with the line of the independent re-check; without it where Ctrl-C stops that. Cost: ``n^2``
    exact scores per layer and head: seconds at n = 50, d = 16 and two layers."""
    if progress is not None:
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
    progress: Progress | None
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
            if self.progress is not None:
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
