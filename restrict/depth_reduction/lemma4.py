"""The Depth Reduction Lemma (Hahn 2020, Lemma 4): remove the first attention layer at the price of a few inputs.

**Lemma.** Given a c-transformer with L layers and a restriction with at least ``C n`` free inputs, for every ``C' < C``
there is a refinement with at least ``C' n`` free under which it is computed by a c'-transformer with L - 1 layers,
``c' <= c (s^c k H + 1)``.

:func:`reduce_layer` runs Stages 1, 2 and 3 and collapses the layer. What it
returns is equal to the original on every input that agrees, whatever the stages did: that is Theorem A, not their
success.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from restrict.depth_reduction.ctransformer import CTransformer
from restrict.depth_reduction.parameters import check_parameters, fraction, need_length
from restrict.depth_reduction.stage1 import Stage1Record, stage1
from restrict.depth_reduction.stage2 import Stage2Record, stage2
from restrict.depth_reduction.stage3 import Method, Stage3Record, stage3
from restrict.errors import NotEstablished, UsageError
from restrict.restriction import Restriction


@dataclass(frozen=True, eq=False)
class Reduction:
    """One layer removed: the refined ``restriction``, the (L-1)-layer c'-transformer, the records of the stages.

    ``c_bound`` = c (s^c k H + 1) is the lemma's; ``transformer.c`` the certified value.
    """

    restriction: Restriction
    transformer: CTransformer
    stage1: Stage1Record
    stage2: Stage2Record
    stage3: Stage3Record
    c_bound: int

    def __repr__(self) -> str:
        return f"Reduction(free={self.restriction.free}, c={self.transformer.c}, L={self.transformer.layers})"


def reduce_layer(
    t: CTransformer, *, C_next: float | Fraction, k: int, C: float | Fraction | None = None,
    eta: float | Fraction = Fraction(1, 10), q: float | Fraction | None = None,
    delta: float | Fraction = Fraction(1, 10), method: Method = "auto", seed: int = 0, time: float | None = None,
) -> Reduction:  # fmt: skip
    """Lemma 4: refine the restriction, keep ``C' n`` inputs free, and return the transformer without its first layer.

    Arguments:
        t: a c-transformer with at least one layer.
        C_next: C', the fraction of the n positions that stays free; k: selections per pair.
        C: the fraction free now (default: what is free); eta, q, delta: of the stages (default q: what the budget of
            Stage 3 allows, ``budget / (free (1 + delta))``).
        method, seed, time: of Stage 3.

    Raises :class:`UsageError` for values out of range (C' >= C, n <= c k, no layer), :class:`NotEstablished` where the
    budget cannot be met, with the nearest feasible value. Cost: that of the rankings of all pairs, and of the solver.
    """
    if t.layers == 0:
        raise UsageError("the transformer has no attention layer left to remove")
    C = Fraction(t.restriction.free, t.n) if C is None else fraction(C)
    check_parameters(eta=eta, k=k, q=q, delta=delta, C=C, C_next=C_next)
    if t.restriction.free < C * t.n:
        raise UsageError(
            f"only {t.restriction.free} of {t.n} inputs are free, fewer than C n; "
            f"take C <= {t.restriction.free / t.n:.4g}"
        )
    need_length(t, k)
    rho1, first = stage1(t, eta=eta, C=C)
    t1 = t.restrict(rho1)
    rho2, second = stage2(t1, k=k, eta=eta, C=C)
    t2 = t1.restrict(rho2)
    budget = t2.restriction.free - math.ceil(fraction(C_next) * t.n)
    if budget < 0:
        raise NotEstablished(
            f"Stages 1 and 2 leave {rho2.free} of {t.n} inputs free, fewer than C' n: "
            f"take C' <= {rho2.free / t.n:.4g}, a larger k or a smaller eta"
        )
    if q is None:
        share = Fraction(budget, max(1, t2.restriction.free)) / (1 + fraction(delta))
        q = min(max(share, Fraction(1, 1000)), Fraction(999, 1000))
    rho3, third = stage3(t2, k=k, q=q, delta=delta, eta=eta, C=C, C_next=C_next, method=method, seed=seed, time=time)
    if third.status != "captured":
        raise NotEstablished(_shortfall(t2, third))
    reduced = t2.restrict(rho3).collapse()
    c, s, H = t.c, len(t.symbols), len(t.heads)
    return Reduction(rho3, reduced, first, second, third, c * (s**c * k * H + 1))


def _shortfall(t: CTransformer, record: Stage3Record) -> str:
    """Why Stage 3 failed, with the nearest feasible value."""
    from restrict.cover.solve import solve

    what = f"Stage 3: {record.pairs} pairs cannot be captured with k = {record.k} and {record.budget} more fixed inputs"
    if record.status != "impossible":
        what = (
            f"Stage 3: no way was found to capture {record.pairs} pairs with k = {record.k} and {record.budget} inputs"
        )
    found = solve(record.problem, solver="local") if record.problem.pairs else None
    if found is not None and found.status == "captured":
        nearest = math.floor(1000 * (t.restriction.free - found.count) / t.n) / 1000
        return f"{what}; {found.count} suffice: take C' <= {nearest:g}, or a larger k"
    return f"{what}; take a larger k"
