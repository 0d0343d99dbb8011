"""The exact side of the covering problem: SAT for a budget, MaxSAT for the optimum, certified lower bounds.

**CNF.** A variable for each literal (input, symbol) that occurs, at most one per input; a variable for each larger
cube, which implies its literals; a clause per pair. As an input has at most one literal, "at most B inputs set" is a
cardinality constraint on the literals.

**Packing bound.** Give pair p an integer V(p) >= 0, and spread it: ``load(l) = sum_p share(p, l) V(p)``, where for
every cube C of p the shares of C's literals add up to at least K. Any complete answer S satisfies a cube of every pair,
so ``sum over S of load >= K sum V``; and t inputs carry at most the sum of the t largest input loads (an input's load:
its heaviest symbol). So the least t whose t largest loads reach ``K sum V`` is a lower bound. Any V will do: V is the
certificate, and checking it is integer arithmetic. V comes from disjoint pairs and from the dual of the LP relaxation.

"Impossible" comes with a :class:`Refutation`: a pair that nothing captures, a V, or a DRUP proof (Glucose 4 by PySAT)
that :func:`refutes` has checked by unit propagation alone. The encoding of the CNF is trusted, the solver is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from restrict.arrays import I64
from restrict.cover.problem import Core, CoverProblem, CoverSolution, Statistics, Workspace, local, solution_of
from restrict.errors import NotEstablished, ResourceLimit, UsageError
from restrict.kernels import cover as kernels
from restrict.sat.rup import ProofError, check_refutation

if TYPE_CHECKING:
    from collections.abc import Iterator

SOLVER = "glucose4"
SCALE = 1 << 20
SHARES = 5040
"""K for cubes of several literals (1..10 divide it, larger sizes are rounded up); K = 1 where all are single."""
DUAL_STEPS, DUAL_LOOKS, PATIENCE = 40, 25, 4
"""Primal-dual steps between two looks at the bound; most looks in all, and in a row without a better bound."""


@dataclass(frozen=True, eq=False)
class Refutation:
    """Why no complete answer sets at most ``budget`` inputs; ``kind`` says which of the other fields is the reason."""

    budget: int
    kind: Literal["pair", "packing", "sat"]
    pair: int = -1
    multipliers: I64 | None = None
    proof: tuple[str, ...] | None = None
    encoding: str = "seqcounter"

    def verify(self, problem: CoverProblem) -> None:
        """Check it against the problem.

        Raises:
            NotEstablished: it does not show what it says.
        """
        if self.kind == "pair":
            good = self.pair in problem.core.dead
        elif self.kind == "packing":
            good = self.multipliers is not None and packing_value(problem, self.multipliers) > self.budget
        else:
            good = self.proof is not None and refutes(encode(problem, self.budget, self.encoding)[0], self.proof)
        if not good:
            raise NotEstablished(f"the {self.kind} refutation of budget {self.budget} does not hold")


@dataclass(frozen=True, eq=False)
class LowerBound:
    """Every complete answer sets at least ``value`` inputs, by the packing ``multipliers`` V (P,)."""

    value: int
    multipliers: I64
    source: str

    def refute(self, budget: int) -> Refutation:
        """The bound as a proof that ``budget < value`` is impossible."""
        return Refutation(budget, "packing", multipliers=self.multipliers)


def impossible(
    problem: CoverProblem, refutation: Refutation, solver: str, statistics: Statistics | None = None
) -> CoverSolution:
    """The answer "impossible": the prior assignment, with the proof."""
    base = solution_of(problem, problem.fixed, None, solver, statistics or {}, refutation.budget + 1)
    return CoverSolution(
        problem, base.assignment, base.captured, 0, "impossible", solver, base.statistics, base.lower, refutation
    )


# --- the packing bound -----------------------------------------------------------------------------------------------


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
    """The lower bound that ``multipliers`` (P,), integers >= 0, prove; O(literals), integers only.

    Raises:
        UsageError: a wrong shape, a negative multiplier, or multipliers so large that 64 bits could overflow.
    """
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


def lower_bound(problem: CoverProblem, looks: int = DUAL_LOOKS) -> LowerBound:
    """The best packing bound of disjoint pairs and of the LP's dual: ``looks`` times 40 primal-dual steps.

    Deterministic; O(literals) a step. The LP does not see integrality (docs/cover.md has the gap).
    """
    core = problem.core

    def bound(v: I64, source: str) -> LowerBound:
        whole = np.zeros(problem.pairs, np.int64)
        whole[core.pairs] = v
        return LowerBound(packing_value(problem, whole), whole, source)

    best = bound(_disjoint(core), "disjoint pairs")
    unit, pair, literal, share = _entries(core)
    if len(pair) == 0:
        return best
    pointer = np.searchsorted(pair, np.arange(len(core.pairs) + 1))
    weights, idle = share / unit, 0
    x, y = np.zeros(core.inputs * core.symbols), np.zeros(len(core.pairs))
    for _ in range(looks):
        total, before = np.zeros_like(y), best.value
        kernels.dual_steps(pointer, literal, weights, DUAL_STEPS, x, y, total)
        for candidate in (y, total / DUAL_STEPS):
            scale = SCALE / max(float(candidate.max()), 1e-9)
            found = bound(np.floor(candidate * scale).astype(np.int64), "linear programming dual")
            best = found if found.value > best.value else best
        idle = 0 if best.value > before else idle + 1
        if idle == PATIENCE:
            break
    return best


# --- SAT and MaxSAT --------------------------------------------------------------------------------------------------


def encode(problem: CoverProblem, budget: int | None, encoding: str) -> tuple[list[list[int]], I64]:
    """(clauses, literals): variable ``t + 1`` is ``literals[t]``; then the cubes' variables, then the counter's.

    Raises:
        UsageError: an encoding that PySAT's EncType does not have.
    """
    from pysat.card import CardEnc, EncType

    if not hasattr(EncType, encoding):
        raise UsageError(f"no cardinality encoding {encoding!r} in PySAT")
    core = problem.core
    literals, index = np.unique(core.cube_lit, return_inverse=True)
    variable = (index + 1).tolist()
    clauses = _at_most_one(literals, core.symbols)
    top, name = len(literals), []
    for q in range(len(core.cube_pair)):
        part = variable[core.cube_ptr[q] : core.cube_ptr[q + 1]]
        if len(part) > 1:
            top += 1
            clauses += [[-top, l] for l in part]
            part = [top]
        name += part
    clauses += [name[a:b] for a, b in zip(core.pair_ptr[:-1], core.pair_ptr[1:], strict=True)]
    if budget == 0:
        clauses += [[-v] for v in range(1, len(literals) + 1)]
    elif budget is not None and budget < len(literals):
        every = list(range(1, len(literals) + 1))
        clauses += CardEnc.atmost(every, budget, top_id=top, encoding=getattr(EncType, encoding)).clauses
    return clauses, literals


def _at_most_one(literals: I64, symbols: int) -> list[list[int]]:
    """No two of the (ascending) literals of one input."""
    owner, out = (literals // symbols).tolist(), []
    for a in range(len(owner)):
        for b in range(a + 1, len(owner)):
            if owner[b] != owner[a]:
                break
            out.append([-(a + 1), -(b + 1)])
    return out


@contextmanager
def _alarm(time: float | None, ring: Callable[[], None]) -> Iterator[Timer | None]:
    timer = None if time is None else Timer(time, ring)
    if timer is not None:
        timer.start()
    try:
        yield timer
    finally:
        if timer is not None:
            timer.cancel()


def sat(
    problem: CoverProblem, budget: int | None, *, time: float | None = None, proof: bool = True,
    encoding: str = "seqcounter",
) -> CoverSolution:  # fmt: skip
    """Decide whether ``budget`` (None: any number) suffices; "impossible" comes with a checked refutation.

    An answer within the budget is made minimal by deletion. ``proof = False`` skips the proof and its check; the
    refutation then does not verify.

    Raises:
        ResourceLimit: ``time`` seconds have passed; nothing is known.
    """
    from pysat.solvers import Solver

    if len(problem.core.dead):
        return _dead(problem, budget, "sat")
    clauses, literals = encode(problem, budget, encoding)
    with Solver(name=SOLVER, bootstrap_with=clauses, with_proof=proof) as oracle:
        with _alarm(time, oracle.interrupt):
            answer = oracle.solve_limited(expect_interrupt=True)
        statistics: Statistics = {"clauses": len(clauses), **{k: int(v) for k, v in oracle.accum_stats().items()}}
        if answer is None:
            raise ResourceLimit(f"SAT did not decide budget {budget} in {time} s: give more time or another budget")
        if answer:
            space = Workspace.of(problem.core, _assignment(problem, literals, oracle.get_model()))
            space.prune(np.random.default_rng(0))
            symbols = space.symbols()
            return solution_of(problem, symbols, budget, "sat", statistics)
        lemmas = tuple(oracle.get_proof()) if proof else None
    least = problem.inputs if budget is None else budget
    refutation = Refutation(least, "sat", proof=lemmas, encoding=encoding)
    if lemmas is not None:
        statistics["lemmas"] = len(lemmas)
        if not refutes(clauses, lemmas):
            raise NotEstablished(f"{SOLVER} says that budget {budget} is impossible, but its proof does not check")
    return impossible(problem, refutation, "sat", statistics)


def _dead(problem: CoverProblem, budget: int | None, solver: str) -> CoverSolution:
    least = problem.inputs if budget is None else budget
    return impossible(problem, Refutation(least, "pair", pair=int(problem.core.dead[0])), solver)


def _assignment(problem: CoverProblem, literals: I64, model: Iterable[int]) -> I64:
    held = literals[[v - 1 for v in model if 0 < v <= len(literals)]]
    out = np.full(problem.inputs, -1, np.int64)
    out[held // problem.symbols] = held % problem.symbols
    return out


def maxsat(problem: CoverProblem, budget: int | None = None, *, time: float | None = None) -> CoverSolution:
    """The minimum number of set inputs by RC2 (Ignatiev, Morgado & Marques-Silva, JSAT 11, 2019).

    ``lower`` is then RC2's word; :func:`sat` with one less is the proof. Over the budget: the answer of :func:`sat`.
    Out of time: local search's answer with the packing bound, and ``statistics["timeout"] = 1``.
    """
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    if len(problem.core.dead):
        return _dead(problem, budget, "maxsat")
    clauses, literals = encode(problem, None, "seqcounter")
    formula: Any = WCNF()
    formula.extend(clauses)
    for v in range(1, len(literals) + 1):
        formula.append([-v], weight=1)
    late: list[bool] = []
    with RC2(formula, solver=SOLVER) as engine:

        def ring() -> None:
            late.append(True)
            engine.interrupt()

        with _alarm(time, ring):
            model = engine.compute(expect_interrupt=time is not None)
    if model is None and late:
        found = local(problem, budget)
        found.statistics["timeout"] = 1
        return solution_of(problem, found.assignment, budget, "maxsat", found.statistics, lower_bound(problem).value)
    if model is None:
        return sat(problem, None)
    best = solution_of(problem, _assignment(problem, literals, model), None, "maxsat", {"clauses": len(clauses)})
    if budget is not None and best.count > budget:
        return sat(problem, budget)
    return solution_of(problem, best.assignment, budget, "maxsat", best.statistics, best.count)


# --- the proof checker -----------------------------------------------------------------------------------------------


def refutes(clauses: Iterable[Sequence[int]], proof: Iterable[str]) -> bool:
    """Whether the proof (DRAT lines, lemmas by unit propagation only) refutes the clauses (:mod:`restrict.sat.rup`).

    Deletions are left out: keeping a clause is sound.
    """
    try:
        check_refutation(clauses, (line for line in proof if not line.startswith("d")))
    except ProofError:
        return False
    return True
