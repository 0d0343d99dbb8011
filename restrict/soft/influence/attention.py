"""How far one exchanged symbol moves what attention adds at the output, as a Euclidean norm: bound and two words. The
bound of an exchange is that of :meth:`Turned.norms`: over the convex hull of the words' sums. Where few symbols have
nearly all the weight, the words lie far from the hull's edges. Then the words are told apart by what a head's weights
add up to beside the exchanged place: from ``a`` to ``b``, and so on. In such a *part* no symbol weighs more than ``b``,
so its hull is made of fewer symbols, and it is cut at both limits; the worst part counts. Parts whose bound is within
``INFLUENCE.near`` of what two words attain are left as they are. The two words come from :class:`.Tried`, then from
changing one symbol of both, or which one is exchanged, as long as that helps."""

import heapq
import math
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError
from restrict.base.options import Fact
from restrict.soft.influence.exchanges import Sample, Tried, of_attention
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import FAR, LOW, Changes, PairBound, Span, WordPair, slack_of
from restrict.soft.influence.polygons import OUT
from restrict.soft.influence.turned import Turned
from restrict.soft.influence.words import beside
from restrict.soft.models.model import Floats

LARGE: Fact[float] = 1e150
"""Values are below it, so that squares and their sums are floats."""


class OpenWords(NamedTuple):
    """Words whose sums of weights are within limits, and the exchanges whose bound is open: sorted by the worst."""

    order: float
    number: int
    which: int
    spans: tuple[Span, ...]
    near: I64
    norms: Floats


def attention_influence(found: list[Changes], parts: int | None = None) -> PairBound:
    """How far one exchanged symbol moves what attention adds at the output, as a Euclidean norm. ``found``: of
    :func:`.changes_of`. ``parts``: how many sets of words are bounded at most, beside all of them. Result: the
    certified bound over all exchanges and words, and what was attained."""
    if any(head.eta >= FAR for changes in found for head in changes.heads):  # what words attain would not be known
        raise UsageError(f"weights of attention are more than a factor exp({LOW}) apart: too far for these bounds")
    if not all(np.abs(head.v).max() < LARGE for changes in found for head in changes.heads):
        raise UsageError(
            f"values of attention are above {LARGE:g}: their squares are no floats, which these bounds need"
        )
    turned = [Turned(changes) for changes in found]
    tried = [climbed(changes, one) for changes, one in zip(found, turned, strict=True)]
    attained, pair = max(tried, key=lambda one: one[0], default=(0.0, None))
    settled, waiting = attained, list[OpenWords]()

    left = INFLUENCE.parts if parts is None else parts

    def keep(which: int, spans: tuple[Span, ...], bounds: Floats) -> None:
        nonlocal settled
        near = np.flatnonzero(bounds > attained * INFLUENCE.near)
        settled = max(settled, float(np.delete(bounds, near).max(initial=0.0)))
        if len(near):
            heapq.heappush(waiting, OpenWords(-float(bounds.max()), left, which, spans, near, bounds))

    for which, changes in enumerate(found):
        keep(which, spans_of(changes), turned[which].norms(goal=attained * INFLUENCE.near))
    while waiting and left > 0:
        part = heapq.heappop(waiting)
        head, (low, high) = max(
            enumerate(part.spans), key=lambda one: one[1][1] / max(one[1][0], INFLUENCE.light * one[1][1])
        )
        low = max(low, INFLUENCE.light * high)
        if high <= INFLUENCE.narrow * low:
            settled = max(settled, -part.order)
            continue
        middle = math.sqrt(low * high)
        for span in ((part.spans[head][0], middle), (middle, high)):
            left -= 1
            spans = (*part.spans[:head], span, *part.spans[head + 1 :])
            keep(
                part.which,
                spans,
                np.minimum(turned[part.which].norms(part.near, spans, attained * INFLUENCE.near), part.norms),
            )
    return PairBound(max([settled, *(-part.order for part in waiting)]), attained, pair, 0)


def spans_of(changes: Changes) -> tuple[Span, ...]:
    """For each head limits of what the weights beside any place add up to, over all words."""
    least = [np.where(changes.allowed, head.e, np.inf).min(1) for head in changes.heads]
    most = [np.where(changes.allowed, head.e, 0.0).max(1) for head in changes.heads]
    ends = ((float(beside(a).min()), float(b.sum())) for a, b in zip(least, most, strict=True))
    return tuple((low * (1 - OUT), high * (1 + OUT)) for low, high in ends)


def climbed(changes: Changes, turned: Turned) -> tuple[float, WordPair | None]:
    """A pair of words with a large change, and not more than that change."""
    pairs = Tried(changes, of_attention, 1, np.random.default_rng(0)).pairs(INFLUENCE.kept) + turned.pairs()
    moved, pair = max((improved(changes, pair) for pair in pairs), key=lambda one: one[0], default=(0.0, None))
    off = sum((slack_of(head) for head in changes.heads), np.zeros(changes.parts.model.width))
    certain = moved * (1 - 1e-12) - 2 * float(np.linalg.norm(off))
    return (certain, pair) if certain > 0 else (0.0, None)


def improved(changes: Changes, pair: WordPair) -> tuple[float, WordPair]:
    """A pair of words that no step makes differ more, and its change. A step changes or exchanges a symbol."""
    sample, symbols = Sample(changes, np.random.default_rng(0)), changes.words.symbols
    places: I64 = np.unique(np.array([t for t, *_ in changes.exchanges], dtype=np.int64))
    reached = apart(changes, pair)
    while True:
        (t,) = (j for j, (a, b) in enumerate(zip(*pair, strict=True)) if a != b)
        changed = [each_changed(word, sample.free[sample.free != t], symbols) for word in pair]
        found = [(changed[0], changed[1])]
        for word in pair:
            other = each_changed(word, places, symbols)
            found.append((np.tile(np.array(word), (len(other), 1)), other))
        first, second = (np.concatenate(side) for side in zip(*found, strict=True))
        kept = sample.inside(first) & sample.inside(second)
        first, second = first[kept], second[kept]
        moved = np.linalg.norm(changes.read(second) - changes.read(first), axis=1)
        best = int(moved.argmax())
        if moved[best] <= reached * (1 + 1e-9):
            return reached, pair
        pair = (first[best].tolist(), second[best].tolist())
        reached = apart(changes, pair)


def apart(changes: Changes, pair: WordPair) -> float:
    """The norm of the change of attention's result."""
    first, second = changes.read(np.array(pair, dtype=np.int64))
    return float(np.linalg.norm(second - first))


def each_changed(word: list[int], places: I64, symbols: int) -> I64:
    """A word with each symbol at each of some places."""
    found: I64 = np.tile(np.array(word, dtype=np.int64), (len(places) * symbols, 1))
    found[np.arange(len(found)), np.repeat(places, symbols)] = np.tile(np.arange(symbols), len(places))
    return found
