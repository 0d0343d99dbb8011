"""Certified lower bounds on the size of a cover, by packing. Give pair p an integer V(p) >= 0, and spread it: ``load(l)
= sum_p share(p, l) V(p)``, where for every cube C of p the shares of C's literals add up to at least K. Any complete
answer S satisfies a cube of every pair, so ``sum over S of load >= K sum V``; and t inputs carry at most the sum of the
t largest input loads (an input's load: its heaviest symbol). So the least t whose t largest loads reach ``K sum V`` is
a lower bound. Every V gives a bound: V is the certificate, and checking it is integer arithmetic. V comes from disjoint
pairs and from the dual of the LP relaxation."""

from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import UsageError
from restrict.base.options import Fact
from restrict.cover.core import Core
from restrict.cover.options import COVER
from restrict.cover.problem import CoverProblem
from restrict.kernels import cover_bounds

SCALE: Fact[int] = 1 << 20
SHARES: Fact[int] = 5040
"""K for cubes of several literals (1..10 divide it, larger sizes are rounded up); K = 1 where all are single."""


@dataclass(frozen=True, eq=False)
class PackingBound:
    """Every complete answer sets at least ``value`` inputs, by the packing ``multipliers`` V (P,)."""

    value: int
    multipliers: I64
    source: str


def _entries(core: Core) -> tuple[int, I64, I64, I64]:
    """K and, sorted by pair, the distinct (pair, literal) with the share: the largest ceil(K / |C|) of a cube C."""
    sizes = np.diff(core.cube_ptr)
    if core.single:
        return 1, core.cube_pair, core.cube_lit, np.ones(len(core.cube_lit), np.int64)
    total = max(1, core.inputs * core.symbols)
    key = np.repeat(core.cube_pair, sizes) * total + core.cube_lit
    unique, where = np.unique(key, return_inverse=True)
    share = np.zeros(len(unique), np.int64)
    np.maximum.at(share, where, np.repeat(-(-SHARES // sizes), sizes))
    return SHARES, unique // total, unique % total, share


def packing_value(problem: CoverProblem, multipliers: I64) -> int:
    """The lower bound that ``multipliers`` (P,), integers >= 0, prove; O(literals), integers only. Gives a certified
    lower bound on the inputs that any complete answer sets beyond the prior ones; 0: nothing is shown."""
    core = problem.core
    unit, pair, literal, share = _entries(core)
    largest = ((1 << 62) - 1) // max(1, unit * len(pair))  # no share is above the unit
    if multipliers.shape != (problem.pairs,) or np.any((multipliers < 0) | (multipliers > largest)):
        raise UsageError(f"packing multipliers are one integer of 0..{largest} for each pair")
    v = multipliers[core.pairs]
    load = np.zeros(core.inputs * core.symbols, np.int64)
    np.add.at(load, literal, share * v[pair])
    heaviest = np.sort(load.reshape(-1, core.symbols).max(axis=1))[::-1] if core.inputs else load
    reach, goal = np.cumsum(heaviest), unit * int(v[np.diff(core.pair_ptr) > 0].sum())
    return int(np.searchsorted(reach, goal)) + 1 if goal > 0 else 0


def _disjoint(core: Core) -> I64:
    """V = (size of the smallest cube) on pairs that share no literal, chosen greedily, short lists first."""
    _, pair, literal, _ = _entries(core)
    pointer = np.searchsorted(pair, np.arange(len(core.pairs) + 1))
    used = np.zeros(core.inputs * core.symbols, bool)
    out = np.zeros(len(core.pairs), np.int64)
    sizes = np.diff(core.cube_ptr)
    for p in np.argsort(np.diff(pointer), kind="stable"):
        mine = literal[pointer[p] : pointer[p + 1]]
        if len(mine) and not used[mine].any():
            used[mine] = True
            out[p] = sizes[core.pair_ptr[p] : core.pair_ptr[p + 1]].min()
    return out


def lower_bound(problem: CoverProblem, looks: int = COVER.dual_looks) -> PackingBound:
    """The best packing bound of disjoint pairs and of the LP's dual: ``looks`` times 40 primal-dual steps.
    Deterministic; O(literals) a step. The LP does not see integrality (docs/cover.md has the gap)."""
    core = problem.core

    def bound(v: I64, source: str) -> PackingBound:
        whole = np.zeros(problem.pairs, np.int64)
        whole[core.pairs] = v
        return PackingBound(packing_value(problem, whole), whole, source)

    best = bound(_disjoint(core), "disjoint pairs")
    unit, pair, literal, share = _entries(core)
    if len(pair) == 0:
        return best
    pointer = np.searchsorted(pair, np.arange(len(core.pairs) + 1))
    weights, idle = share / unit, 0
    x, y = np.zeros(core.inputs * core.symbols), np.zeros(len(core.pairs))
    for _ in range(looks):
        total, before = np.zeros_like(y), best.value
        cover_bounds.dual_steps(pointer, literal, weights, COVER.dual_steps, x, y, total)
        for candidate in (y, total / COVER.dual_steps):
            scale = SCALE / max(float(candidate.max()), 1e-9)
            found = bound(np.floor(candidate * scale).astype(np.int64), "linear programming dual")
            best = found if found.value > best.value else best
        idle = 0 if best.value > before else idle + 1
        if idle == COVER.patience:
            break
    return best
