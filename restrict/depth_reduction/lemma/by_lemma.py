"""Theorem 1 by the Depth Reduction Lemma itself: Stage 1, 2 and 3, layer by layer, until no layer is left.

The theorem's formulas for k, eta and the split of C are for the worst model and ask for astronomic lengths
(:mod:`restrict.depth_reduction.constants.theorem_bounds`). Here they are measured on the model at hand:

- **eta**: the largest of :data:`ETAS` for which Stage 1 fixes at most a quarter of what the layer may fix;
- **k**: the least for which Stages 2 and 3 keep to the layer's budget. The pairs are ranked once; the selections for a
  smaller k are prefixes. A pair whose ranking ends before the k-th selection is captured at no cost, so some k up to n
  always works; where n <= c k the lemma's bound is trivial;
- **the split of C**: the share of the inputs left that each layer below the last one may use, by running all layers
  with each of ``THEOREM.first_shares`` at a shorter length.

The lemma's guarantees are recorded beside what was measured; nothing rests on them, since the certificate is made from
a fresh collapse (Theorem A).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from restrict.cover.greedy import greedy
from restrict.cover.local import local
from restrict.cover.solve import SolverName
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.candidates import least
from restrict.depth_reduction.lemma.lemma4 import Reduction, Uncaptured, reduced
from restrict.depth_reduction.lemma.selection import Ranking, Selection, ranked
from restrict.depth_reduction.lemma.stage1 import Stage1Record, degrees, stage1
from restrict.depth_reduction.lemma.stage3 import Effort, Setting, cover_problem
from restrict.depth_reduction.options import THEOREM
from restrict.model.restriction import Restriction
from restrict.model.task import Task

ETAS = tuple(Fraction(x, 100) for x in (45, 35, 25, 15, 10, 5, 2, 1))
"""Shares that Stage 1 may use up, tried from the largest on."""
DELTA = Fraction(1, 10)
"""The tolerance of the event X0."""
EFFORT = Effort(attempts=1, redraws=1, rounds=20)
"""More effort is slower and gains little: what one redraw for each pair does not settle, the covering solver does."""


@dataclass(frozen=True, eq=False)
class Lemma:
    """The result of one run of all layers. ``restriction``: the restriction found. ``layers``: per layer what its
    stages did. ``shares``: per layer the share of the inputs left that it was allowed to use."""

    restriction: Restriction
    layers: tuple[Reduction, ...]
    shares: tuple[float, ...]

    @property
    def fixed(self) -> tuple[int, ...]:
        """Per layer how many inputs were fixed for it."""
        return tuple(len(r.stage1.fixed) + len(r.stage2.fixed) + r.stage3.spent for r in self.layers)

    @property
    def end(self) -> CTransformer:
        """The transformer with no layer left."""
        return self.layers[-1].transformer

    def text(self) -> str:
        """For provenance and traces."""
        parts = (
            f"share {share:.2f}, eta = {float(r.stage1.eta):g}, k = {r.stage2.k}"
            for share, r in zip(self.shares, self.layers, strict=True)
        )
        return "; ".join(parts)


def by_lemma(task: Task, start: CTransformer, budget: int, seed: int) -> Lemma:
    """All layers removed by the lemma. ``seed``: same seed, same answer (where the deadline never comes). Result: the
    restriction, and what each layer's stages did. Cost: that of the rankings of all pairs of each layer, and of the
    covering problems for some values of k."""
    return split_run(task, start, _split(task, start, budget, seed), budget, seed, rough=False)


def split_run(
    task: Task, start: CTransformer, shares: tuple[float, ...], budget: int, seed: int, *, rough: bool = True
) -> Lemma:
    """Remove layer after layer with a split of the inputs over them."""
    t, left, found = start, budget, []
    for layer, share in enumerate(shares, 1):
        task.tell(f"layer {layer} of {len(shares)}: Stages 1 to 3")
        step = remove_layer(task, t, round(share * left), seed=seed, rough=rough)
        left -= t.restriction.free - step.restriction.free
        found.append(step)
        t = step.transformer
    return Lemma(t.restriction, tuple(found), shares)


def _split(task: Task, start: CTransformer, budget: int, seed: int) -> tuple[float, ...]:
    """The shares of all layers: of several candidates the one with the least maximum, then the least mean."""
    layers = start.layers
    if layers <= 1:
        return (1.0,) * layers
    candidates = [(*(first for _ in range(layers - 1)), 1.0) for first in THEOREM.first_shares]
    best = least(task, split_run, budget, candidates, "split", seed=seed, falling=True)
    return candidates[0] if best is None else best[0]


# ---------------------------------------------------------------- one layer


def remove_layer(task: Task, t: CTransformer, budget: int, *, seed: int = 0, rough: bool = False) -> Reduction:
    """Lemma 4 with eta and k measured: fix at most ``budget`` inputs, and collapse the first layer. ``t``: a
    c-transformer with at least one layer. ``seed``: same seed, same answer (where the deadline never comes). Result:
    the reduced transformer with the records of the three stages; ``stage3.status`` is always "captured"."""
    rho1, first = _stage1(t, budget)
    t1 = t.restrict(rho1) if first.fixed else t
    left = budget - len(first.fixed)
    ranks = Ranks(*ranked(t1, _first_k(t1, left)))
    k = _least_k(task, t1, ranks, left, seed, rough)
    method: SolverName = "greedy" if rough else "auto"
    while True:
        task.tell(f"Stages 2 and 3 with k = {k}")
        setting = Setting(None, DELTA, first.eta, first.C, method, seed, task.deadline.left, EFFORT)
        try:
            return reduced(t, t1, first, ranks.at_most(t1, k), left, setting, thin=left)
        except Uncaptured:
            k = min(t.n, k + max(1, k // 16))


def _stage1(t: CTransformer, budget: int) -> tuple[Restriction, Stage1Record]:
    """Stage 1 with the largest eta for which it fixes at most a quarter of the budget."""
    C, counts = Fraction(max(1, t.restriction.free), t.n), degrees(t)
    for eta in ETAS:
        if 4 * np.count_nonzero(counts > math.floor(t.c / (eta * C))) <= budget:
            return stage1(t, eta=eta, C=C)
    return stage1(t, eta=min(ETAS[-1], Fraction(max(1, t.c), t.n) / C), C=C)  # no input feeds more than n


# ---------------------------------------------------------------- k


@dataclass(eq=False)
class Ranks:
    """A ranking of all pairs, and the selections made from it for the largest k asked for so far."""

    ranking: Ranking
    chosen: Selection

    def at_most(self, t: CTransformer, k: int) -> tuple[Ranking, Selection]:
        """The ranking and the selections for k, ranked anew where the present ones are too short."""
        if k > self.chosen.k:
            self.ranking, self.chosen = ranked(t, min(t.n, max(k, 2 * self.chosen.k)))
        return self.ranking, self.chosen.first(k)


def _first_k(t: CTransformer, budget: int) -> int:
    """An estimate of the k that fits: with two symbols, greedy covering sets a share of about 5/k of the inputs."""
    return min(t.n, max(8, math.ceil(3 * len(t.symbols) * t.restriction.free / max(1, budget))))


def _least_k(task: Task, t: CTransformer, ranks: Ranks, budget: int, seed: int, rough: bool) -> int:
    """Least k at which greedy covering keeps to the budget, to a thirtieth, then one by local search; ``rough``: an
    eighth."""
    low, high = 0, min(ranks.chosen.k, t.n)
    below = None
    while (needed := _needed(t, ranks.at_most(t, high)[1])) is None or needed > budget:
        if high == t.n:
            return high
        low, high, below = high, min(t.n, 2 * high), needed
    while high - low > max(1, high // (THEOREM.roughly if rough else 30)):
        step = max(1, (high - low) // 8)
        middle = min(max(_likely_k(low, below, high, needed, budget), low + step), high - step)
        task.tell(f"k = {middle}")
        found = _needed(t, ranks.at_most(t, middle)[1])
        if found is None or found > budget:
            low, below = middle, found
        else:
            high, needed = middle, found
    while not rough and (closer := math.floor(THEOREM.closer * high)) >= 1 and not task.deadline.passed:
        task.tell(f"k = {closer}")
        chosen = ranks.at_most(t, closer)[1]
        problem, _ = cover_problem(t, chosen)
        if problem.pairs < chosen.uncaptured:
            break
        found_it = local(problem, budget, seed, task.deadline.left, rounds=EFFORT.rounds)
        if found_it.status != "captured":
            break
        high = closer
    return high


def _likely_k(low: int, below: int | None, high: int, needed: int, budget: int) -> int:
    """Where the number of inputs that greedy sets meets the budget: a power of k through what is known of both ends, or
    through the upper end alone (then the number falls a little slower than 1/k)."""
    exponent = 1.2
    if below is not None and low > 0 and below > needed > 0:
        exponent = math.log(high / low) / math.log(below / needed)
    return round(high * math.pow(max(1, needed) / max(1, budget), exponent))


def _needed(t: CTransformer, chosen: Selection) -> int | None:
    """How many inputs greedy covering sets; ``None`` where it does not capture all pairs."""
    problem, _ = cover_problem(t, chosen)
    if problem.pairs < chosen.uncaptured:
        return None
    found = greedy(problem)
    return found.count if found.captured.all() else None
