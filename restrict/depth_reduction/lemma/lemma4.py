"""The Depth Reduction Lemma (Hahn 2020, Lemma 4): remove the first attention layer at the price of a few inputs.

**Lemma.** Given a c-transformer with L layers and a restriction with at least ``C n`` free inputs, for every ``C' < C``
there is a refinement with at least ``C' n`` free under which it is computed by a c'-transformer with L - 1 layers,
``c' <= c (s^c k H + 1)``.

:func:`reduce_layer` runs Stages 1, 2 and 3 and collapses the layer. What it returns is equal to the original on every
input that agrees, whatever the stages did: this follows from Theorem A, not from their success.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from restrict.base.errors import NotEstablished, UsageError
from restrict.base.wording import counted
from restrict.cover.solve import SolverName
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.lemma.parameters import check_parameters, need_length
from restrict.depth_reduction.lemma.selection import Ranking, Selection, ranked
from restrict.depth_reduction.lemma.stage1 import Stage1Record, stage1
from restrict.depth_reduction.lemma.stage2 import Stage2Record, thinned
from restrict.depth_reduction.lemma.stage3 import Setting, Stage3Record, settled
from restrict.model.arguments import as_written
from restrict.model.restriction import Restriction


@dataclass(frozen=True, eq=False)
class Reduction:
    """One layer removed.

    Attributes:
        restriction: the refined restriction.
        transformer: the (L-1)-layer c'-transformer; its ``c`` is the certified value.
        stage1: what Stage 1 did.
        stage2: what Stage 2 did.
        stage3: what Stage 3 did.
        c_bound: the lemma's c (s^c k H + 1).
    """

    restriction: Restriction
    transformer: CTransformer
    stage1: Stage1Record
    stage2: Stage2Record
    stage3: Stage3Record
    c_bound: int

    def lines(self, layer: int) -> list[str]:
        """The stages in words: what was measured, the lemma's bound in brackets.

        Args:
            layer: the number of the layer.

        Returns:
            A line for each stage, and one for the layer.
        """
        a, b, d = self.stage1, self.stage2, self.stage3
        lemma = "not examined" if d.lemma is None else "holds" if d.lemma.holds else "does not hold"
        neighbours = "not counted" if b.neighbours_after is None else b.neighbours_after
        fixed, thinned = counted(len(a.fixed), "input"), counted(len(b.fixed), "input")
        return [
            f"layer {layer}, Stage 1: eta = {float(a.eta):g}, fixed {fixed} (bound {short(a.fixed_bound)}); an input "
            f"feeds {a.degree_before}, then {a.degree_after} activations (bound {short(a.degree_bound)})",
            f"layer {layer}, Stage 2: k = {b.k}, fixed {thinned} in {counted(b.rounds, 'round')} "
            f"(bound {short(b.rounds_bound)}); captured {b.captured_before}, then {b.captured_after} of {b.pairs} "
            f"pairs; dependents {b.dependents_before}, then {b.dependents_after} (bound {short(b.dependents_bound)}); "
            f"neighbours {neighbours} (bound {short(b.neighbours_bound)})",
            f"layer {layer}, Stage 3: {counted(d.pairs, 'pair')} captured with {d.spent} of {d.budget} inputs, by "
            f"{d.method} after {d.resamplings} redraws; local lemma {lemma}",
            f"layer {layer} removed: c' = {self.transformer.c} (bound {short(self.c_bound)}), "
            f"{self.restriction.free} free",
        ]

    def document(self) -> dict[str, Any]:
        """The stages as JSON takes them; bounds are text, since they may have hundreds of digits.

        Returns:
            A dictionary per stage, and c', its bound and the free positions.
        """

        def shown(stage: Stage1Record | Stage2Record | Stage3Record, names: Iterable[str]) -> dict[str, Any]:
            return {name: _shown(name, getattr(stage, name)) for name in names}

        lemma, uniform = self.stage3.lemma, self.stage3.uniform
        third = ("k", "q", "pairs", "budget", "spent", "status", "method", "resamplings", "over", "lower")
        return {
            "stage1": shown(self.stage1, vars(self.stage1)),
            "stage2": shown(self.stage2, [name for name in vars(self.stage2) if name not in ("c", "heads")]),
            "stage3": shown(self.stage3, third) | {"local_lemma": lemma and lemma.holds, "uniform": uniform},
            "c": self.transformer.c, "c_bound": short(self.c_bound), "free": self.restriction.free,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"Reduction(free={self.restriction.free}, c={self.transformer.c}, L={self.transformer.layers})"


def _shown(name: str, value: Any) -> Any:
    """A field of a record as JSON takes it: a bound as text, a share as a float, of inputs their number."""
    if name.endswith("_bound"):
        return short(value)
    value = len(value) if name == "fixed" else value
    return float(value) if isinstance(value, Fraction) else bool(value) if name == "over" else value


def short(value: int | Fraction) -> str:
    """A bound, at least 0, in short: up to seven digits as they are (rounded), else ``2^x`` with x rounded up."""
    if value < 10**7:
        return f"{float(value):.4g}" if value != int(value) else str(int(value))
    return f"2^{math.ceil(value).bit_length()}"


def reduce_layer(
    t: CTransformer, *, C_next: float | Fraction, k: int, C: float | Fraction | None = None,
    eta: float | Fraction = Fraction(1, 10), q: float | Fraction | None = None,
    delta: float | Fraction = Fraction(1, 10), method: SolverName = "auto", seed: int = 0, time: float | None = None,
) -> Reduction:  # fmt: skip
    """Lemma 4: refine the restriction, keep ``C' n`` inputs free, and return the transformer without its first layer.

    Args:
        t: a c-transformer with at least one layer.
        C_next: C', the fraction of the n positions that stays free.
        k: the most selections of a pair.
        C: the fraction free now (default: what is free).
        eta: of Stages 1 and 2, in (0, 1/2).
        q: of Stage 3 (default: what its budget allows, ``budget / (free (1 + delta))``).
        delta: of Stage 3, in (0, 1].
        method: of Stage 3 (:func:`restrict.depth_reduction.lemma.stage3.stage3`).
        seed: of Stage 3.
        time: seconds for Stage 3's covering solver.

    Returns:
        The reduced transformer with the records of the stages. Cost: the rankings of all pairs, and the solver.

    Raises:
        UsageError: a value is out of range (C' >= C, n <= c k, no layer).
        NotEstablished: the budget cannot be met; the message has the nearest value that can.
        ResourceLimit: the rankings or the candidate lists hold too many pairs, or SAT is out of time.
    """
    if t.layers == 0:
        raise UsageError("the transformer has no attention layer left to remove")
    C = Fraction(t.restriction.free, t.n) if C is None else as_written(C)
    check_parameters(eta=eta, k=k, q=q, delta=delta, C=C, C_next=C_next)
    if t.restriction.free < C * t.n:
        raise UsageError(
            f"only {t.restriction.free} of {t.n} inputs are free, fewer than C n; "
            f"take C <= {t.restriction.free / t.n:.4g}"
        )
    need_length(t, k)
    rho1, first = stage1(t, eta=eta, C=C)
    t1 = t.restrict(rho1)
    setting = Setting(q if q is None else as_written(q), as_written(delta), first.eta, first.C, method, seed, time)
    try:
        return reduced(t, t1, first, ranked(t1, k), rho1.free - math.ceil(as_written(C_next) * t.n), setting)
    except Uncaptured as short:
        raise NotEstablished(_shortfall(short.transformer, short.record)) from None


class Uncaptured(NotEstablished):
    """Stage 3 did not capture all pairs of a transformer."""

    def __init__(self, transformer: CTransformer, record: Stage3Record) -> None:
        super().__init__("Stage 3 did not capture all pairs")
        self.transformer, self.record = transformer, record


def reduced(
    t: CTransformer, t1: CTransformer, first: Stage1Record, made: tuple[Ranking, Selection], budget: int,
    setting: Setting, thin: int | None = None,
) -> Reduction:  # fmt: skip
    """Stages 2 and 3 after Stage 1 (from ``t`` to ``t1``), and the collapse, with the records. ``made``: a ranking of
    the pairs of ``t1`` and the selections for some k. ``budget``: how many more inputs may be fixed, ``thin`` of them
    by Stage 2 (``None``: any number). ``Uncaptured``: Stage 3 failed; ``NotEstablished``: Stage 2 fixed more than the
    budget; ``ResourceLimit``: a new ranking holds too many pairs, or SAT is out of time."""
    chosen, rho, second = thinned(t1, made, eta=setting.eta, C=setting.C, budget=thin)
    t2, left = t1.restrict(rho) if second.fixed else t1, budget - len(second.fixed)
    if left < 0:
        raise NotEstablished(
            f"Stages 1 and 2 leave {rho.free} of {t.n} inputs free, fewer than C' n: "
            f"take C' <= {rho.free / t.n:.4g}, a larger k or a smaller eta"
        )
    rho, third = settled(t2, chosen, left, setting)
    if third.status != "captured":
        raise Uncaptured(t2, third)
    c, s, H = t.c, len(t.symbols), len(t.heads)
    return Reduction(rho, t2.restrict(rho).collapse(), first, second, third, c * (s**c * chosen.k * H + 1))


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
