"""Stage 2 of the Depth Reduction Lemma (Hahn 2020, section 5.1): no activation is selected by too many heads.

A *pair* is a head (i, h) with a value z of its query; it selects positions as :mod:`restrict.depth_reduction.selection`
says. A pair is *captured* once its ranking ends, at a position whose pairs have all been passed (a constant key, for
one), before the k-th selection: its candidates then have at most ``c k`` free inputs, and more fixing only removes
some. A new ranking may select more often (docs/errata.md), so capture is kept by record. Each round below captures more
than ``k H`` pairs, so there are at most ``s^c n / k`` rounds; ``s^c c / k <= eta C`` pays for them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from restrict.arrays import I64
from restrict.depth_reduction.activations import Truth
from restrict.depth_reduction.ctransformer import CTransformer
from restrict.depth_reduction.forcing import forcing_cubes, minimal_cubes
from restrict.depth_reduction.neighbours import dependents, neighbours, pair_inputs
from restrict.depth_reduction.parameters import check_parameters, fraction, need_length
from restrict.depth_reduction.selection import Selection, selection
from restrict.depth_reduction.stage1 import fixing
from restrict.restriction import Restriction


@dataclass(frozen=True)
class Stage2Record:
    """``fixed`` inputs in ``rounds`` rounds (at most ``rounds_bound`` = s^c n / k). Of ``pairs`` pairs
    ``captured_before`` and ``captured_after`` are captured. ``dependents``: the most uncaptured heads that k-depend
    on one layer-0 activation, afterwards at most ``dependents_bound`` = s^c k H (unless an activation could not be
    forced: ``stuck``).
    ``neighbours``: the most k-neighbours of an uncaptured head, afterwards at most ``neighbours_bound`` =
    s^2c c^2 k^2 H / (eta C). ``most_inputs``: the most inputs that one uncaptured pair k-depends on (at most c k).
    ``affordable``: s^c c / k <= eta C, the paper's condition that the rounds cost at most eta C n inputs.
    """

    k: int
    c: int
    heads: int
    fixed: tuple[int, ...]
    rounds: int
    rounds_bound: Fraction
    pairs: int
    captured_before: int
    captured_after: int
    dependents_before: int
    dependents_after: int
    dependents_bound: int
    neighbours_before: int
    neighbours_after: int
    neighbours_bound: Fraction
    most_inputs: int
    affordable: bool
    stuck: int


def stage2(
    t: CTransformer, *, k: int, eta: float | Fraction, C: float | Fraction, limit: int | None = None
) -> tuple[Restriction, Stage2Record]:
    """While a layer-0 activation is k-depended on by too many uncaptured heads, fix it to its commonest maximiser.

    Arguments:
        k: selections per pair; eta, C: of the lemma, for the bounds.
        limit: how many heads are too many (default: the paper's ``s^c k H``).

    Raises :class:`UsageError` for values out of range, and where n <= c k (no k selections; the lemma holds trivially).
    Cost: a ranking of all pairs per round.
    """
    check_parameters(k=k, eta=eta, C=C)
    eta, C, c, s, H = fraction(eta), fraction(C), t.c, len(t.symbols), len(t.heads)
    need_length(t, k)
    bound = s**c * k * H
    limit = bound if limit is None else limit
    now, first = t, selection(t, k)
    current, rounds, stuck, before = first, 0, 0, dependents(t, first)[0]
    skip: set[int] = set()
    while True:
        counts, _ = dependents(now, current)
        order = [int(j) for j in np.argsort(-counts, kind="stable") if counts[j] > limit and int(j) not in skip]
        if not order:
            break
        cube = _commonest(now, current, order[0])
        if cube is None:
            skip.add(order[0])
            stuck += 1
            continue
        now = now.restrict(fixing(now, dict(cube)))
        rounds += 1
        current = _still_captured(current, selection(now, k), t.n)
    new = sorted(set(now.restriction.fixed) - set(t.restriction.fixed))
    record = Stage2Record(
        k, c, H, tuple(new), rounds, Fraction(s**c * t.n, k), first.pairs, first.pairs - first.uncaptured,
        current.pairs - current.uncaptured, int(before.max(initial=0)), int(dependents(now, current)[0].max(initial=0)),
        bound, _most(neighbours(t, first)), _most(neighbours(now, current)), s ** (2 * c) * c**2 * k**2 * H / (eta * C),
        int(pair_inputs(now, current).max(initial=0)), Fraction(s**c * c, k) <= eta * C, stuck,
    )  # fmt: skip
    return now.restriction, record


def _still_captured(before: Selection, after: Selection, n: int) -> Selection:
    """What was captured stays so, by record: its candidates only lose inputs, but a new ranking may select more."""

    values = 1 + int(max(before.query.max(initial=0), after.query.max(initial=0)))

    def names(of: Selection) -> I64:
        number: I64 = (of.head * n + of.position) * values + of.query
        return number

    kept = np.isin(names(after), names(before)[before.captured == 1])
    return replace(after, captured=after.captured | kept)


def _most(counts: dict[tuple[int, int], int]) -> int:
    return max(counts.values(), default=0)


def _commonest(t: CTransformer, chosen: Selection, j: int) -> tuple[tuple[int, int], ...] | None:
    """The cheapest cube that forces activation ``j`` to the value that is the maximiser in most uncaptured rows."""
    votes: Counter[tuple[str | None, int]] = Counter()
    for p in np.flatnonzero(chosen.captured == 0):
        votes.update((t.instance.key(t.heads[chosen.head[p]]), w) for i, w in chosen.of(int(p)) if i == j)
    for (key, w), _ in sorted(votes.items(), key=lambda item: (-item[1], str(item[0]))):
        if key is None:
            continue
        if isinstance(t.base[key].source, Truth):
            found = min(minimal_cubes(t, key, j, w), key=len, default=None)
        else:
            found = forcing_cubes(t)[key].cube(j, w, len(t.symbols))
        if found:
            return found
    return None
