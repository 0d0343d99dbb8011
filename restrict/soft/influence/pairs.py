"""How far one symbol moves a one-layer model's logits: certified, by pairs of words that differ in one place.

In the only layer a head's weights ``e`` and values ``v`` are known for every place and symbol, once the symbol that the
output reads from is fixed. So the greatest change of the attention's result in any direction is that of Theorem 9
(:mod:`.polygons`), over all words or over those of an automaton (:mod:`.words`). A logit's change is its gradient times
that change: the outputs of attention are covered by cells, and in each the gradient is ``g0 +- rho``
(:mod:`.slopes`), so the change is at most that in direction ``g0``, over words whose output may lie in the cell, plus
``rho`` times the change of every entry. Cells are halved, the worst first, until the bound is near a change that some
pair of words attains: found by linearising both words' outputs (Frank-Wolfe over pairs), and evaluated.

Rounding: ``e`` and ``v`` are taken as the doubles that were computed. That they are off (by a factor of at most
``exp(eta)`` and by ``err``) moves an average by at most ``eta`` times the range of the values, plus ``err``
(docs/soft.md, item 4 of Lemma 5).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError
from restrict.base.options import Fact
from restrict.languages.dfa import Dfa
from restrict.soft.bounds.enclosure import Enclosure, above, gamma, norms
from restrict.soft.bounds.parts import ReadyHead, ReadyModel, prepare
from restrict.soft.bounds.positionwise import normed
from restrict.soft.bounds.scores import EXP
from restrict.soft.influence.polygons import (
    DOWN,
    LONGEST,
    OUT,
    UNITS,
    Edges,
    Flags,
    Replacement,
    edges,
    greatest_change,
)
from restrict.soft.influence.slopes import ROUND
from restrict.soft.influence.words import Delta, Words, beside
from restrict.soft.models.model import Floats, SoftModel, visible

LOW: Fact[int] = 600
"""How far apart scores may be, so that no weight is rounded to 0. Those that are farther are moved up to there."""
FAR: Fact[float] = 1.0
"""Then weights may be anything: an average is still one of the same values, so it moves by at most their range."""


EVERY = slice(None)
WordPair = tuple[list[int], list[int]]
"""Two words that differ in one place, as columns."""
Span = tuple[float, float]
"""Limits of what the weights of a head add up to, beside the exchanged place."""


class SymbolHead(NamedTuple):
    """One head for one symbol at the output: weights ``(n, S)``, values ``(n, S, d)``, and how far both are off."""

    e: Floats
    v: Floats
    eta: float
    off: float


@dataclass(frozen=True)
class PairBound:
    """A certified bound on the change of any logit (or difference of two), and what a pair of words attains, or less.
    ``words``: the two words, as columns of the embedding without markers; ``None`` where no change was found."""

    bound: float
    attained: float
    words: WordPair | None
    cells: int


class Plane(NamedTuple):
    """A direction of one head: the polygons of all exchanges, their terms, the whole words' averages, the slack of all
    that is not exact, how far two values are apart at most, and which exchanges any word has."""

    at: Edges
    terms: Replacement
    reach: tuple[float, float]
    slack: float
    spread: float
    there: Flags


def heads_of(parts: ReadyModel, symbol: int) -> list[SymbolHead]:
    """The tables of every head where the output's place holds a symbol (a marker's row where it is pinned). A head that
    sees nothing there adds nothing and is left out."""
    model, n = parts.model, parts.n
    layer, out, pinned = parts.layers[0], model.output_position(n), model.pinned(n)
    tokens = np.tile(np.arange(len(model.alphabet)), (n, 1))
    for j, row in pinned.items():
        tokens[j] = row
    keys = normed(layer.front[0], parts.embedded(tokens))
    seeing = [head for head in layer.heads if visible(head.mask, np.array([out]), n).any()]
    return [_head(head, keys, out, 0 if out in pinned else symbol, n) for head in seeing]


def _head(head: ReadyHead, keys: Enclosure, out: int, symbol: int, n: int) -> SymbolHead:
    q, k = head.query.image(keys[out, symbol]), head.key.image(keys)
    v = head.output.image(head.value.image(keys))
    size, width = np.abs(k.centre) + k.box, q.centre.shape[-1]
    scores = k.centre @ q.centre
    error = size @ q.box + k.box @ np.abs(q.centre) + gamma(width) * (np.abs(k.centre) @ np.abs(q.centre))
    middle = (head.scale_low + head.scale_high) / 2
    error = error * head.scale_size + (np.abs(scores) + error) * (head.scale_high - head.scale_low + 1e-15 * middle)
    scores = scores * middle
    seen = visible(head.mask, np.array([out]), n)[0]
    top = scores[seen].max() if seen.any() else 0.0
    e = np.where(seen[:, None], np.exp(np.clip(scores - top, -LOW, 0.0)), 0.0)
    eta = float(above(error, width).max()) + EXP + 1e-15 * (1 + float(np.abs(scores).max()))
    if seen.any() and top - scores[seen].min() > LOW:
        eta = max(eta, FAR)
    return SymbolHead(e, v.centre, eta, float(v.box.max()))


def slack_of(head: SymbolHead, alike: float = 0.0) -> Floats:
    """How far each entry of a word's average is off at most, for what the weights and the values are off."""
    seen = head.v[head.e > 0]
    if not len(seen):
        return np.full(head.v.shape[-1], head.off)
    spread = seen.max(0) - seen.min(0)
    rounding = 2 * ROUND * (spread + np.abs(seen).max(0))
    return np.asarray((head.eta + 4 * alike) * spread + head.off + 2 * alike + rounding)


class Changes:
    """Everything about one symbol at the output: exchanges, heads, and the change of every entry."""

    def __init__(self, parts: ReadyModel, words: Words, places: list[int]) -> None:
        self.parts, self.words = parts, words
        self.heads = heads_of(parts, words.symbol)
        found = words.exchanges(places)
        _, rest = words.supports(np.zeros((1, parts.n, words.symbols)), found)
        self.exchanges = [x for x, h in zip(found, rest[:, 0], strict=True) if h > -np.inf]
        self.start = self._start()
        self.allowed: Flags = np.zeros((parts.n, words.symbols), dtype=bool)
        for j in range(parts.n):
            self.allowed[j, list(words.allowed(j))] = True

    def _start(self) -> Enclosure:
        """The residual stream before the heads' results are added."""
        model, n = self.parts.model, self.parts.n
        out = model.output_position(n)
        token = model.pinned(n).get(out, self.words.symbol)
        x = self.parts.embedded(np.full((n, 1), token))[out, 0]
        centre = x.centre + self.parts.layers[0].attention_bias
        return Enclosure(centre, above(x.box + 1e-15 * np.abs(centre), 3), above(x.ball + norms(1e-15 * centre), 3))

    def read(self, words: I64) -> Floats:
        """What attention adds behind each word: shape ``(words, d)``."""
        at, total = np.arange(words.shape[1]), np.zeros((len(words), self.parts.model.width))
        for head in self.heads:
            e = head.e[at, words]
            total += np.einsum("wj,wjd->wd", e, head.v[at, words]) / np.maximum(e.sum(1), 1e-300)[:, None]
        return total

    def plane(self, head: SymbolHead, row: Floats, near: I64 | None = None, span: Span | None = None) -> Plane:
        """The polygons of a direction; ``near`` as in :meth:`along`, ``span``: only words within it."""
        v = head.v @ row
        seen = head.e > 0
        middle = (v[seen].max() + v[seen].min()) / 2
        spread = float(v[seen].max() - v[seen].min())
        x, y = head.e * (v - middle), head.e
        may = self.allowed if span is None else self.allowed & (y <= span[1])
        own = [np.where(may, part, 0.0) for part in (x, y)]
        most = [np.abs(part).max(1) for part in own]
        size = float(most[0].sum()) + 1e-300, float(most[1].sum()) + 1e-300
        k = spread / 2 * (1 + OUT) * size[1] / size[0]
        across, up = (part / one for part, one in zip(own, size, strict=True))
        table = np.where(may, UNITS[:, 0, None, None] * across + UNITS[:, 1, None, None] * up, -np.inf)
        exchanges = self.exchanges if near is None else [self.exchanges[one] for one in near]
        whole, rest = self.words.supports(table, exchanges)
        there = rest[:, DOWN] > -np.inf
        rest[~there] = 0.0
        t, s, o = np.array(exchanges, dtype=np.int64).T
        share = np.max([(beside(part)[t] + 1e-300) / one for part, one in zip(most, size, strict=True)], axis=0)
        terms = Replacement(x[t, s], y[t, s], x[t, o], y[t, o])
        least, greatest = span or (0.0, math.inf)
        found = edges(rest, size, (
            np.maximum(-rest[:, DOWN] * size[1], least) * (1 - OUT), np.full(len(rest), greatest * (1 + OUT))
        ), share, k)  # fmt: skip
        there &= found.kept.any(1)
        off = head.eta * spread + head.off * float(np.abs(row).sum()) + ROUND * (spread + float(np.abs(v).max()))
        low, high = -spread / 2, spread / 2
        if span is None:
            limits = np.array([-whole[DOWN] * size[1] * (1 - OUT)]), np.array([math.inf])
            box = edges(whole[None], size, limits, np.ones(1), k)
            x, y = np.stack([box.xa, box.xb])[:, box.kept], np.stack([box.ya, box.yb])[:, box.kept]
            if y.min() > 0:
                low, high = max(float((x / y).min()), low), min(float((x / y).max()), high)
        reach = low + middle - off, high + middle + off
        return Plane(found, terms, reach, off, spread * (1 + OUT), there)

    def along(
        self, row: Floats, near: I64 | None = None, within: tuple[float, float] | None = None,
        spans: Sequence[Span] | None = None,
    ) -> tuple[Floats, list[tuple[float, float]]]:  # fmt: skip
        """For each exchange the greatest change of attention's result in a direction, and each head's range of it.
        ``near``: which exchanges are asked for; the others have 0. ``within``: limits of the result, used with one
        head. ``spans``: of each head; only words within them, 0 where there is none; the ranges are then not used."""
        total: Floats = np.zeros(len(self.exchanges))
        asked = np.arange(len(total)) if near is None else near
        there, ranges = np.ones(len(asked), dtype=bool), []
        for number, head in enumerate(self.heads):
            plane = self.plane(head, row, near, spans[number] if spans else None)
            total[asked] += self.change(head, row, plane, EVERY, within)
            there &= plane.there
            ranges.append(plane.reach)
        total[asked[~there]] = 0.0
        return total, ranges

    def change(
        self, head: SymbolHead, row: Floats, plane: Plane, near: I64 | slice, within: tuple[float, float] | None
    ) -> Floats:
        """The greatest change of what one head returns in a direction, by some exchanges of the plane's."""
        limits = None
        if within is not None and len(self.heads) == 1:
            v = (head.v @ row)[head.e > 0]
            middle = (v.max() + v.min()) / 2
            limits = (within[0] - middle - plane.slack, within[1] - middle + plane.slack)
        found = greatest_change(plane.at.chosen(near), Replacement(*(column[near] for column in plane.terms)), limits)
        return np.minimum(found, plane.spread) + 2 * plane.slack

    @property
    def spread(self) -> Floats:
        """How the values that are seen are spread: shape ``(d, d)``; 0 without a head."""
        none = np.zeros((0, self.parts.model.width))
        values = np.concatenate([none, *(h.v[h.e > 0] - h.v[h.e > 0].mean(0) for h in self.heads)])
        return np.asarray(values.T @ values)

    def along_axes(self, spread: Floats) -> "Axes":
        """The axes of a matrix ``(d, d)``, those of its greatest values first."""
        _, _, rows = np.linalg.svd(spread)
        found = [self.along(row) for row in rows]
        low, high = ([sum(r[side] for r in ranges) for _, ranges in found] for side in (0, 1))
        return Axes(rows, np.stack([change for change, _ in found], axis=1), np.array(low), np.array(high))


class Axes(NamedTuple):
    """Orthonormal rows; the change of attention's result along each, by exchange; its least and greatest values."""

    rows: Floats
    changes: Floats
    low: Floats
    high: Floats


def changes_of(model: SoftModel, n: int, places: list[int] | None = None, delta: Delta | None = None) -> list[Changes]:
    """The exchanges at ``places`` (default: all free ones but the output's own) at length ``n`` (with markers), for
    every symbol that the output's place can hold. ``delta``: only words (without markers) that run in this partial
    automaton, both of a pair. ``UsageError`` for a model that is not covered: several layers, additive scores."""
    if len(model.layers) != 1 or "additive scores" in model.special:
        raise UsageError(f"{model.name}: bounds by pairs of words are for one layer with dot products as scores")
    if n > LONGEST:
        raise UsageError(f"bounds by pairs of words are for lengths up to {LONGEST}, not {n}")
    parts = prepare(model, n)
    out, pinned, size = model.output_position(n), model.pinned(n), len(model.alphabet)
    chosen = [j for j in range(n) if j != out and j not in pinned] if places is None else places
    every: Delta = (tuple(0 for _ in model.alphabet),)
    found = []
    for a in range(1 if out in pinned else size):
        changes = Changes(parts, Words(n, size, frozenset(pinned), out, a, delta or every), chosen)
        if changes.exchanges:
            found.append(changes)
    return found


def runs_of(model: SoftModel, language: Any) -> Delta:
    """The runs of the prefixes of a language's words, as :func:`changes_of` takes them. ``language``: regular, over the
    model's alphabet. Raises ``UsageError`` where it is not."""
    dfa: Dfa | None = getattr(language, "dfa", None)
    if dfa is None or set(dfa.alphabet) != set(model.alphabet):
        alphabet = " ".join(model.alphabet)
        raise UsageError(f"{language.name} is no regular language over the model's alphabet ({alphabet})")
    if dfa.dead == 0:
        raise UsageError(f"{language.name} has no word")
    number = {q: k for k, q in enumerate(q for q in range(dfa.states) if q != dfa.dead)}
    return tuple(tuple(number.get(dfa.delta[q][dfa.index[s]], -1) for s in model.alphabet) for q in number)
