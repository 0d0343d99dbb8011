"""Stage 2 of the Depth Reduction Lemma (Hahn 2020, section 5.1): no activation is selected by too many heads.

A *pair* is a head (i, h) with a value z of its query; it selects positions as
:mod:`restrict.depth_reduction.lemma.selection` says. A pair is *captured* once its ranking ends, at a position whose
pairs have all been passed (such as one with a constant key), before the k-th selection: its candidates then have at
most ``c k`` free inputs, and more fixing only removes some. A new ranking may select more often (docs/errata.md), so
capture is kept by record. Each round below captures more than ``k H`` pairs, so there are at most ``s^c n / k`` rounds;
``s^c c / k <= eta C`` pays for them.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.c_transformer.forcing import ValueCubes, forcing_cubes, value_cubes
from restrict.depth_reduction.lemma.neighbours import Meetings, most_neighbours, pair_inputs
from restrict.depth_reduction.lemma.parameters import check_parameters, need_length
from restrict.depth_reduction.lemma.selection import Ranking, Selection, ranked
from restrict.model.arguments import as_written
from restrict.model.restriction import Restriction

Cube = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Stage2Record:
    """What Stage 2 did, the paper's bounds beside what was measured (exact).

    Attributes:
        k: the most selections of a pair.
        c: the most inputs of a layer-0 activation.
        heads: H, the heads of layer 1.
        fixed: the inputs that it fixed, in order.
        rounds: how many activations it fixed.
        rounds_bound: s^c n / k.
        pairs: the number of pairs.
        captured_before: how many were captured.
        captured_after: how many are.
        dependents_before: the most uncaptured heads that k-depended on one layer-0 activation.
        dependents_after: the same afterwards.
        dependents_bound: s^c k H; ``dependents_after`` is at most that, except for activations that are ``stuck``.
        neighbours_before: the most k-neighbours of an uncaptured head; ``None`` where counting them is too much work.
        neighbours_after: the same afterwards.
        neighbours_bound: s^2c c^2 k^2 H / (eta C).
        most_inputs: the most inputs that one uncaptured pair k-depends on; at most c k.
        affordable: s^c c / k <= eta C, the paper's condition that the rounds cost at most eta C n inputs.
        stuck: activations for which no forcing cube was found, or none within the budget.
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
    neighbours_before: int | None
    neighbours_after: int | None
    neighbours_bound: Fraction
    most_inputs: int
    affordable: bool
    stuck: int


class Dependence(NamedTuple):
    """How much k-depends on what: the most dependents of an activation, the most k-neighbours of a head."""

    dependents: int
    neighbours: int | None

    @staticmethod
    def of(t: CTransformer, chosen: Selection) -> "Dependence":
        """Both, of the uncaptured pairs."""
        counts = Meetings(t, chosen).dependents(chosen.captured)
        return Dependence(int(counts.max(initial=0)), most_neighbours(t, chosen))


def stage2(
    t: CTransformer, *, k: int, eta: float | Fraction, C: float | Fraction, limit: int | None = None
) -> tuple[Restriction, Stage2Record]:
    """While too many uncaptured heads k-depend on a layer-0 activation, fix it to its most common maximiser.

    Args:
        t: the c-transformer, with at least ``C n`` free inputs.
        k: the most selections of a pair.
        eta: in (0, 1/2); for the bounds.
        C: in (0, 1]; for the bounds.
        limit: how many heads are too many (default: the paper's ``s^c k H``).

    Returns:
        The refined restriction, and the record. Cost: a ranking of all pairs, and a walk down it per round.

    Raises:
        UsageError: a value is out of range, or n <= c k (no k selections; the lemma holds trivially).
        ResourceLimit: the rankings hold too many pairs.
    """
    check_parameters(k=k, eta=eta, C=C)
    need_length(t, k)
    return thinned(t, ranked(t, k), eta=as_written(eta), C=as_written(C), limit=limit)[1:]


def thinned(
    t: CTransformer, made: tuple[Ranking, Selection], *, eta: Fraction, C: Fraction, limit: int | None = None,
    budget: int | None = None,
) -> tuple[Selection, Restriction, Stage2Record]:  # fmt: skip
    """:func:`stage2` from a ranking that has been made, with the selections of all pairs, fixing at most ``budget``
    inputs; then the other activations stay as they are. The selections in the end, the refined restriction, and the
    record. ``ResourceLimit``: a new ranking holds too many pairs."""
    ranking, first = made
    c, s, H, k = t.c, len(t.symbols), len(t.heads), first.k
    bound = s**c * k * H
    now, current, rounds, stuck = t, first, 0, set[int]()
    before = after = Dependence.of(t, first)
    left = t.restriction.free if budget is None else budget
    while cubes := _round(now, current, bound if limit is None else limit, left, stuck):
        symbols = {x: symbol for cube in cubes for x, symbol in cube}
        now, left, rounds = now.restrict(now.fixing(symbols)), left - len(symbols), rounds + len(cubes)
        ranking, current = _again(ranking, current, now)
    if rounds:
        after = Dependence.of(now, current)
    fixed = sorted(set(now.restriction.fixed) - set(t.restriction.fixed))
    record = Stage2Record(
        k, c, H, tuple(fixed), rounds, Fraction(s**c * t.n, k), first.pairs, first.pairs - first.uncaptured,
        current.pairs - current.uncaptured, before.dependents, after.dependents, bound,
        before.neighbours, after.neighbours, s ** (2 * c) * c**2 * k**2 * H / (eta * C),
        int(pair_inputs(now, current).max(initial=0)), Fraction(s**c * c, k) <= eta * C, len(stuck),
    )  # fmt: skip
    return current, now.restriction, record


def _round(t: CTransformer, chosen: Selection, limit: int, left: int, stuck: set[int]) -> list[Cube]:
    """Cubes that force the activations with more than ``limit`` dependents, the most depended on first. Dependents are
    counted again after each: the pairs whose maximiser is forced are captured. What other pairs select in place of it
    is left to the next ranking, so no activation is taken that has too few dependents."""
    cubes, found, symbols, done = forcing_cubes(t), list[Cube](), dict[int, int](), set[int]()
    met = Meetings(t, chosen)
    while (j := _most_depended(met.dependents(chosen.captured), limit, stuck | done)) is not None:
        key, w, cube = _commonest(t, cubes, chosen, j)
        if any(symbols.get(x, symbol) != symbol for x, symbol in cube):
            break
        if not cube or len(symbols.keys() | dict(cube).keys()) > left:
            stuck.add(j)
            continue
        symbols.update(cube)
        found.append(cube)
        done.add(j)
        chosen = _forced(t, chosen, key, j, w)
    return found


def _most_depended(counts: I64, limit: int, skip: set[int]) -> int | None:
    """The activation with most dependents above the limit, the first one of several; ``None`` where there is none."""
    counts[list(skip)] = 0
    j = int(np.argmax(counts)) if len(counts) else 0
    return j if len(counts) and counts[j] > limit else None


def _forced(t: CTransformer, chosen: Selection, key: str, j: int, w: int) -> Selection:
    """The selections once the key has the value ``w`` at position ``j``: pairs whose maximiser that is end there."""
    heads = [h for h, head in enumerate(t.heads) if t.instance.key(head) == key]
    hit = np.flatnonzero((chosen.chosen[0] == j) & (chosen.chosen[1] == w))
    owner = np.searchsorted(chosen.ends, hit, side="right")
    captured = chosen.captured.copy()
    captured[owner[np.isin(chosen.head[owner], heads)]] = 1
    return replace(chosen, captured=captured)


def _again(ranking: Ranking, before: Selection, t: CTransformer) -> tuple[Ranking, Selection]:
    """The ranking and the selections after more inputs were fixed. What was captured stays so, by record: its
    candidates only lose inputs, but a new ranking may select more."""
    shorter = ranking.under(t)
    after = shorter.select(t, before.k)
    if after is None:
        shorter, after = ranked(t, before.k)
    values = 1 + int(max(before.query.max(initial=0), after.query.max(initial=0)))
    names, old = ((of.head * t.n + of.position) * values + of.query for of in (after, before))
    return shorter, replace(after, captured=after.captured | np.isin(names, old[before.captured == 1]))


def _commonest(t: CTransformer, cubes: dict[str, ValueCubes], chosen: Selection, j: int) -> tuple[str, int, Cube]:
    """(Key, value, cheapest cube) that forces activation ``j`` to the value that is the maximiser in most uncaptured
    pairs and can be forced; an empty cube where none can."""
    here = np.flatnonzero(chosen.chosen[0] == j)
    owner = np.searchsorted(chosen.ends, here, side="right")
    keys = [t.instance.key(head) or "" for head in t.heads]
    tally: dict[tuple[str, int], int] = {}
    open_ = chosen.captured[owner] == 0
    for h, w in zip(chosen.head[owner][open_].tolist(), chosen.chosen[1, here[open_]].tolist(), strict=True):
        tally[keys[h], w] = tally.get((keys[h], w), 0) + 1
    for key, w in sorted(tally, key=lambda name: (-tally[name], name)):
        found = min(value_cubes(t, cubes, key, j, w), key=len, default=()) if key else ()
        if found:
            return key, w, found
    return "", 0, ()
