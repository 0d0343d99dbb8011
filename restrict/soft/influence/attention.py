"""How far one exchanged symbol moves what attention adds at the output, as a Euclidean norm: bound and two words.

The bound of an exchange is that of :meth:`.Changes.norms`: over the convex hull of the words' sums. Where few symbols
have nearly all the weight, the words lie far from the hull's edges. Then the words are told apart by the symbol at the
heaviest place, and again: each part has a hull of its own, and the worst part counts. Parts whose bound is within
:data:`NEAR` of what two words attain are left as they are. The two words come from linearising (:class:`.Climb`), then
from changing one symbol at a time as long as that helps.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.influence.exchanges import Sample
from restrict.soft.influence.pairs import Changes, Climb, Pair, PairBound
from restrict.soft.models.model import Floats

NEAR, PARTS, CLIMBED = 1.02, 200, 24
"""How near the bound is to be, parts that are looked at, and pairs of words that are climbed from."""


class Part(NamedTuple):
    """Words that hold some symbols at some places, and the exchanges whose bound is open there: sorted by the worst."""

    order: float
    number: int
    which: int
    held: Mapping[int, int]
    near: I64
    norms: Floats


def attention_influence(found: list[Changes], parts: int = PARTS) -> PairBound:
    """How far one exchanged symbol moves what attention adds at the output, as a Euclidean norm.

    ``found``: of :func:`.changes_of`. ``parts``: how many sets of words are bounded at most. Result: the certified bound
    over all exchanges and words, and what was attained.
    """
    norms = [changes.norms() for changes in found]
    tried = [(*climbed(changes, order), which) for which, (changes, order) in enumerate(zip(found, norms, strict=True))]
    attained, pair, _ = max(tried, key=lambda one: one[0], default=(0.0, None, 0))
    settled, waiting = attained, list[Part]()

    def keep(which: int, held: Mapping[int, int], bounds: Floats) -> None:
        nonlocal settled
        near = np.flatnonzero(bounds > attained * NEAR)
        settled = max(settled, float(np.delete(bounds, near).max(initial=0.0)))
        if len(near):
            heapq.heappush(waiting, Part(-float(bounds.max()), parts, which, held, near, bounds))

    for which, bounds in enumerate(norms):
        keep(which, {}, bounds)
    while waiting and parts > 0:
        part = heapq.heappop(waiting)
        changes = found[part.which]
        place = heaviest(changes, part)
        if place is None:
            settled = max(settled, -part.order)
            continue
        for symbol in range(changes.words.symbols):
            parts -= 1
            held = {**part.held, place: symbol}
            keep(part.which, held, np.minimum(changes.norms(part.near, held), part.norms))
    return PairBound(max([settled, *(-part.order for part in waiting)]), attained, pair, 0)


def heaviest(changes: Changes, part: Part) -> int | None:
    """The place where two symbols' terms differ most, beside those that are held and that of the worst exchange."""
    t = changes.exchanges[int(part.norms.argmax())][0]
    free = [j for j in range(changes.words.n) if len(changes.words.allowed(j)) > 1 and j != t and j not in part.held]
    if not free:
        return None
    apart: Floats = np.zeros(len(free))
    for head in changes.heads:
        v = head.v - head.v[head.e > 0].mean(0)
        e = head.e[free][..., None]
        terms = np.concatenate([e * v[free], e * np.abs(v).max()], axis=2)
        apart += np.linalg.norm(terms[:, :, None] - terms[:, None], axis=3).max((1, 2))
    return free[int(apart.argmax())]


def climbed(changes: Changes, order: Floats) -> tuple[float, Pair | None]:
    """A pair of words with a large change, and that change."""
    climb = Climb(changes)
    pairs = {tuple(map(tuple, pair)): climb.apart(pair) for pair in climb.pairs(order)}
    best: tuple[float, Pair | None] = (0.0, None)
    for first, second in sorted(pairs, key=lambda pair: -pairs[pair])[:CLIMBED]:
        best = max(best, improved(changes, climb, (list(first), list(second))), key=lambda one: one[0])
    return best


def improved(changes: Changes, climb: Climb, pair: Pair) -> tuple[float, Pair]:
    """A pair of words where no single symbol in common can be changed for a larger change, and that change."""
    sample, symbols = Sample(changes, np.random.default_rng(0)), changes.words.symbols
    (t,) = (j for j, (a, b) in enumerate(zip(*pair, strict=True)) if a != b)
    free = sample.free[sample.free != t]
    reached = climb.apart(pair)
    while len(free):
        places, other = np.repeat(free, symbols), np.tile(np.arange(symbols), len(free))
        words = [np.tile(np.array(word), (len(places), 1)) for word in pair]
        for word in words:
            word[np.arange(len(places)), places] = other
        kept = sample.inside(words[0]) & sample.inside(words[1])
        if not kept.any():
            break
        first, second = (word[kept] for word in words)
        moved = np.linalg.norm(results(changes, second) - results(changes, first), axis=1)
        best = int(moved.argmax())
        if moved[best] <= reached * (1 + 1e-9):
            break
        pair = (first[best].tolist(), second[best].tolist())
        reached = climb.apart(pair)
    return reached, pair


def results(changes: Changes, words: I64) -> Floats:
    """What attention adds behind each word: shape ``(words, d)``."""
    at, total = np.arange(words.shape[1]), 0.0
    for head in changes.heads:
        e = head.e[at, words]
        total = total + np.einsum("wj,wjd->wd", e, head.v[at, words]) / np.maximum(e.sum(1), 1e-300)[:, None]
    return np.asarray(total)
