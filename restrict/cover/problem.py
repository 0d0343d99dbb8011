"""The covering problem of Stage 3 (Hahn 2020, Depth Reduction Lemma): set few inputs so that every pair is captured.

**Problem.** Inputs ``0..m-1``, each may be set to one symbol of ``0..s-1`` or stay free. Each of P *pairs* (head,
query value) has *cubes*, partial assignments of few inputs; it is **captured** when one of its cubes is wholly
satisfied. Minimise the number of set inputs, or stay within a budget. Inputs fixed beforehand cost nothing.

**Solvers** (:func:`solve`): ``greedy``, ``decimate`` (belief propagation), ``local`` (exchange; here and in
:mod:`restrict.kernels.cover`), ``resample`` (:mod:`restrict.cover.resample`), ``sat`` and ``maxsat``
(:mod:`restrict.cover.sat`, with the lower bounds).

Invariant: every solver works on the :class:`Core`, the problem after the prior fixed inputs are substituted, and every
answer is rebuilt and recounted on the problem itself by :func:`solution_of`.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from restrict.arrays import I64
from restrict.errors import NotEstablished, UsageError
from restrict.kernels import cover as kernels

if TYPE_CHECKING:
    from restrict.cover.sat import Refutation

Cube = Iterable[tuple[int, int]]
Status = Literal["captured", "partial", "impossible"]
Statistics = dict[str, int | float]

SOLVERS = ("auto", "greedy", "decimate", "local", "resample", "sat", "maxsat")
SMALL = 600
"""``auto`` asks MaxSAT for the optimum where the cubes have at most this many literals in all."""
MODERATE = 20_000
"""``auto`` asks SAT whether a budget can be met where the cubes have at most this many literals in all."""
BLOCK = 2048
"""Steps of local search between two looks at the clock."""
PRICE, ROUNDS, SWEEPS_FIRST, SWEEPS = 6.0, 200, 20, 2
"""Decimation: the price of a set input (in nats), the rounds, the sweeps before the first and in each round."""
SAMPLE = 64
"""Held literals looked at for the cheapest one to drop (best from multiple selections)."""


@dataclass(frozen=True, eq=False)
class CoverProblem:
    """Pairs, their cubes and the prior assignment, as flat int64 arrays; build with ``from_pairs`` or ``from_arrays``.

    Pair ``p`` has the cubes ``pair_ptr[p] .. pair_ptr[p+1]``; cube ``q`` asks for ``cube_symbol[t]`` at
    ``cube_input[t]``, ``t`` in ``cube_ptr[q] .. cube_ptr[q+1]``. ``fixed[j]`` is the symbol set beforehand, or -1.
    """

    inputs: int
    symbols: int
    pair_ptr: I64
    cube_ptr: I64
    cube_input: I64
    cube_symbol: I64
    fixed: I64

    @classmethod
    def from_pairs(
        cls, inputs: int, symbols: int, pairs: Iterable[Iterable[Cube]], fixed: Mapping[int, int] | None = None
    ) -> CoverProblem:
        """From nested lists: ``pairs[p]`` lists cubes, a cube lists ``(input, symbol)``.

        Raises:
            UsageError: as :meth:`from_arrays`.
        """
        listed = [[list(cube) for cube in pair] for pair in pairs]
        cubes = [cube for pair in listed for cube in pair]
        literals = [literal for cube in cubes for literal in cube]
        if any(len(literal) != 2 for literal in literals):
            raise UsageError("a cube is a list of (input, symbol)")
        prior = np.full(max(inputs, 0), -1, np.int64)
        for j, symbol in (fixed or {}).items():
            if not (0 <= j < inputs and 0 <= symbol < symbols):
                raise UsageError(f"fixed input {j} = {symbol} is outside 0..{inputs - 1} or 0..{symbols - 1}")
            prior[j] = symbol
        return cls.from_arrays(
            inputs, symbols, _pointers(map(len, listed)), _pointers(map(len, cubes)),
            [j for j, _ in literals], [symbol for _, symbol in literals], prior,
        )  # fmt: skip

    @classmethod
    def from_arrays(
        cls, inputs: int, symbols: int, pair_ptr: ArrayLike, cube_ptr: ArrayLike, cube_input: ArrayLike,
        cube_symbol: ArrayLike, fixed: ArrayLike | None = None,
    ) -> CoverProblem:  # fmt: skip
        """From flat arrays (see the class); O(literals log literals).

        Raises:
            UsageError: pointers that do not fit, an input or symbol out of range, an empty pair or cube, a cube that
                names one input twice.
        """
        if inputs < 0 or symbols < 1:
            raise UsageError(f"need inputs >= 0 and symbols >= 1, got {inputs} and {symbols}")
        prior = np.full(inputs, -1, np.int64) if fixed is None else fixed
        arrays = [np.ascontiguousarray(a, dtype=np.int64) for a in (pair_ptr, cube_ptr, cube_input, cube_symbol, prior)]
        problem = cls(inputs, symbols, *arrays)
        _validate(problem)
        return problem

    @property
    def pairs(self) -> int:
        """P, the number of pairs."""
        return len(self.pair_ptr) - 1

    @cached_property
    def core(self) -> Core:
        """The problem that is left once the prior assignment is substituted."""
        return _core(self)

    def captured(self, assignment: I64) -> NDArray[np.bool_]:
        """Which pairs the assignment (m,), -1 = free, captures; O(literals)."""
        wrong = assignment[self.cube_input] != self.cube_symbol
        cube_of = np.repeat(np.arange(len(self.cube_ptr) - 1), np.diff(self.cube_ptr))
        broken = np.bincount(cube_of[wrong], minlength=len(self.cube_ptr) - 1) > 0
        pair_of = np.repeat(np.arange(self.pairs), np.diff(self.pair_ptr))
        return np.bincount(pair_of[~broken], minlength=self.pairs) > 0


def _pointers(sizes: Iterable[int]) -> I64:
    out: I64 = np.cumsum([0, *sizes], dtype=np.int64)
    return out


def _validate(problem: CoverProblem) -> None:
    """Raise UsageError at the first thing that is wrong."""
    chain = (("pair_ptr", problem.pair_ptr, len(problem.cube_ptr) - 1, "pair", "cube"),
             ("cube_ptr", problem.cube_ptr, len(problem.cube_input), "cube", "literal"))  # fmt: skip
    for name, pointer, end, owner, part in chain:
        if len(pointer) == 0 or pointer[0] != 0 or pointer[-1] != end or np.any(np.diff(pointer) < 0):
            raise UsageError(f"{name} must rise from 0 to {end}")
        if np.any(np.diff(pointer) == 0):
            raise UsageError(f"{owner} {int(np.argmin(np.diff(pointer)))} has no {part}")
    if len(problem.cube_symbol) != len(problem.cube_input):
        raise UsageError(f"{len(problem.cube_input)} inputs but {len(problem.cube_symbol)} symbols")
    for name, values, low, high in (
        ("input", problem.cube_input, 0, problem.inputs),
        ("symbol", problem.cube_symbol, 0, problem.symbols),
        ("fixed symbol", problem.fixed, -1, problem.symbols),
    ):
        bad = np.flatnonzero((values < low) | (values >= high))
        if len(bad):
            raise UsageError(f"{name} {values[bad[0]]} is outside {low}..{high - 1}")
    if len(problem.fixed) != problem.inputs:
        raise UsageError(f"fixed has {len(problem.fixed)} entries for {problem.inputs} inputs")
    cube_of = np.repeat(np.arange(len(problem.cube_ptr) - 1), np.diff(problem.cube_ptr))
    key = np.sort(cube_of * max(problem.inputs, 1) + problem.cube_input)
    twice = np.flatnonzero(key[1:] == key[:-1])
    if len(twice):
        cube, j = divmod(int(key[twice[0]]), problem.inputs)
        raise UsageError(f"cube {cube} names input {j} twice")


@dataclass(frozen=True, eq=False)
class Core:
    """The pairs not captured beforehand, without contradicted cubes and satisfied literals, and without repeats.

    Literal ``l = input * symbols + symbol``. ``pairs`` are the problem's pair numbers; a pair may be left with no cube
    at all: then nothing captures it. ``single``: every cube is one literal. The other arrays: module
    :mod:`restrict.kernels.cover`; ``scope`` lists the distinct inputs of each pair.
    """

    inputs: int
    symbols: int
    single: bool
    pairs: I64
    pair_ptr: I64
    cube_ptr: I64
    cube_lit: I64
    cube_pair: I64
    lit_ptr: I64
    lit_cube: I64

    @property
    def dead(self) -> I64:
        """Pairs (numbers of the problem) that nothing can capture."""
        found: I64 = self.pairs[np.diff(self.pair_ptr) == 0]
        return found

    @cached_property
    def scope(self) -> tuple[I64, I64]:
        """(pointers, inputs): the distinct inputs of each pair, sorted."""
        pair_of = np.repeat(self.cube_pair, np.diff(self.cube_ptr))
        key = np.unique(pair_of * max(self.inputs, 1) + self.cube_lit // self.symbols)
        width = max(self.inputs, 1)
        members: I64 = key % width
        return _pointers(np.bincount(key // width, minlength=len(self.pairs))), members

    @cached_property
    def literals(self) -> tuple[I64, I64, I64, I64]:
        """The arrays of the one-literal kernels."""
        return self.pair_ptr, self.cube_lit, self.lit_ptr, self.cube_pair[self.lit_cube]


def _core(problem: CoverProblem) -> Core:
    s, cubes = problem.symbols, len(problem.cube_ptr) - 1
    prior = problem.fixed[problem.cube_input]
    cube_of = np.repeat(np.arange(cubes), np.diff(problem.cube_ptr))
    pair_of = np.repeat(np.arange(problem.pairs), np.diff(problem.pair_ptr))
    dead = np.bincount(cube_of[(prior >= 0) & (prior != problem.cube_symbol)], minlength=cubes) > 0
    pairs = np.flatnonzero(~problem.captured(problem.fixed))
    rank = np.full(problem.pairs, -1)
    rank[pairs] = np.arange(len(pairs))
    alive = ~dead & (rank[pair_of] >= 0)
    entries = np.flatnonzero(alive[cube_of] & (prior < 0))
    literal = problem.cube_input[entries] * s + problem.cube_symbol[entries]
    order = np.lexsort((literal, cube_of[entries]))
    literal, owner = literal[order], cube_of[entries][order]
    kept = np.flatnonzero(alive)
    cube_ptr = _pointers(np.bincount(owner, minlength=cubes)[kept])
    chosen = _distinct(rank[pair_of[kept]], cube_ptr, literal)
    cube_pair = rank[pair_of[kept]][chosen]
    mask = np.zeros(len(kept), bool)
    mask[chosen] = True
    sizes = np.diff(cube_ptr)
    cube_lit, sizes = literal[np.repeat(mask, sizes)], sizes[mask]
    cube_ptr = _pointers(sizes)
    by_literal = np.argsort(cube_lit, kind="stable")
    return Core(
        problem.inputs, s, bool(np.all(sizes == 1)), pairs,
        _pointers(np.bincount(cube_pair, minlength=len(pairs))), cube_ptr, cube_lit, cube_pair,
        _pointers(np.bincount(cube_lit, minlength=problem.inputs * s)),
        np.repeat(np.arange(len(sizes)), sizes)[by_literal],
    )  # fmt: skip


def _distinct(pair_of: I64, cube_ptr: I64, literal: I64) -> I64:
    """The first cube of each kind within its pair, ascending."""
    if np.all(np.diff(cube_ptr) == 1):
        _, first = np.unique(pair_of * (int(literal.max(initial=0)) + 1) + literal, return_index=True)
        return np.sort(first)
    seen = {(int(p), literal[a:b].tobytes()): q for q, (p, a, b) in
            reversed(list(enumerate(zip(pair_of, cube_ptr[:-1], cube_ptr[1:], strict=True))))}  # fmt: skip
    return np.sort(np.fromiter(seen.values(), np.int64, len(seen)))


@dataclass(frozen=True, eq=False)
class CoverSolution:
    """An answer: ``status`` is "captured" (all pairs, within the budget), "partial", or "impossible" (proved).

    ``assignment`` (m,) has -1 where free and contains the prior fixed inputs; ``count`` is the inputs set beyond those;
    ``lower`` a certified lower bound on the count of any complete answer (0: none computed); ``refutation`` the proof
    that goes with "impossible".
    """

    problem: CoverProblem
    assignment: I64
    captured: NDArray[np.bool_]
    count: int
    status: Status
    solver: str
    statistics: Statistics = field(default_factory=dict)
    lower: int = 0
    refutation: Refutation | None = None

    @property
    def optimal(self) -> bool:
        """All pairs are captured and the lower bound is met."""
        return bool(self.captured.all()) and self.lower >= self.count

    def verify(self, budget: int | None = None) -> None:
        """Recompute everything from the problem; O(literals), plus the check of a refutation.

        Raises:
            NotEstablished: the first thing that is not so.
        """
        problem, prior = self.problem, self.problem.fixed
        if self.assignment.shape != prior.shape or np.any(
            (self.assignment < -1) | (self.assignment >= problem.symbols)
        ):
            raise NotEstablished("the assignment has a wrong shape or symbol")
        if np.any((prior >= 0) & (self.assignment != prior)):
            raise NotEstablished("the assignment changes an input that was fixed beforehand")
        if self.count != int(np.count_nonzero((self.assignment >= 0) & (prior < 0))):
            raise NotEstablished(f"{self.count} is not the number of set inputs")
        if not np.array_equal(self.captured, problem.captured(self.assignment)):
            raise NotEstablished("the captured mask is wrong")
        within = budget is None or self.count <= budget
        if self.status == "captured" and not (self.captured.all() and within):
            raise NotEstablished("not every pair is captured within the budget")
        if self.status == "impossible":
            if self.refutation is None or (budget is not None and self.refutation.budget < budget):
                raise NotEstablished("an impossibility without a proof for this budget")
            self.refutation.verify(problem)


def solution_of(
    problem: CoverProblem, symbols: I64, budget: int | None, solver: str, statistics: Statistics, lower: int = 0
) -> CoverSolution:
    """The solution that sets ``symbols`` (m,), -1 = free, beside the prior fixed inputs."""
    assignment = np.where(problem.fixed >= 0, problem.fixed, symbols)
    captured = problem.captured(assignment)
    count = int(np.count_nonzero((assignment >= 0) & (problem.fixed < 0)))
    complete = bool(captured.all()) and (budget is None or count <= budget)
    status: Status = "captured" if complete else "partial"
    return CoverSolution(problem, assignment, captured, count, status, solver, statistics, lower)


@dataclass
class Workspace:
    """The mutable state of the kernels (:mod:`restrict.kernels.cover`), loaded with an assignment."""

    core: Core
    missing: I64
    lits: I64
    pairs: I64
    state: I64

    @classmethod
    def of(cls, core: Core, symbols: I64, fast: bool = False) -> Workspace:
        """Start from the assignment ``symbols`` (m,), -1 = free; ``fast`` for the kernels of one-literal cubes."""
        lits = np.zeros((kernels.LIT_ROWS, core.inputs * core.symbols), np.int64)
        lits[kernels.WHERE] = lits[kernels.STAMP] = -1
        pairs = np.zeros((kernels.PAIR_ROWS, len(core.pairs)), np.int64)
        pairs[kernels.OPEN_LIST] = pairs[kernels.OPEN_WHERE] = np.arange(len(core.pairs))
        pairs[kernels.WEIGHT] = 1
        lits[kernels.SCORE] = np.diff(core.lit_ptr)
        state = np.zeros(kernels.STATE_SIZE, np.int64)
        state[kernels.OPEN] = len(core.pairs)
        space = cls(core, np.diff(core.cube_ptr), lits, pairs, state)
        for j in np.flatnonzero(symbols >= 0):
            l = int(j * core.symbols + symbols[j])
            if fast:
                kernels.put(l, *core.literals, lits, pairs, state)
            else:
                kernels.place(l, core.lit_ptr, core.lit_cube, core.cube_pair, space.missing, lits, pairs, state)
        return space

    def symbols(self) -> I64:
        """The present assignment (m,)."""
        held = self.lits[kernels.LIST, : self.state[kernels.COUNT]]
        out = np.full(self.core.inputs, -1, np.int64)
        out[held // self.core.symbols] = held % self.core.symbols
        return out

    def cubes(self) -> tuple[I64, I64, I64, I64, I64, I64]:
        """The arrays of the kernels for cubes of any size."""
        core = self.core
        return core.lit_ptr, core.lit_cube, core.cube_pair, self.missing, self.lits, self.pairs

    def prune(self, rng: np.random.Generator) -> None:
        """Unset, in random order, what no pair needs (not for a ``fast`` workspace)."""
        order = rng.permutation(self.core.inputs * self.core.symbols)
        kernels.prune(order, *self.cubes(), self.state)


def greedy(problem: CoverProblem, budget: int | None = None, seed: int = 0) -> CoverSolution:
    """Most newly captured pairs per newly set input, ties at random, until all are captured or the budget is used up.

    One-literal cubes: O(literals) with a bucket queue. Larger cubes: a priority queue with re-evaluation.
    """
    symbols = _greedy(problem.core, np.random.default_rng(seed), budget)
    return solution_of(problem, symbols, budget, "greedy", {})


def _greedy(core: Core, rng: np.random.Generator, budget: int | None) -> I64:
    limit = core.inputs if budget is None else budget
    if core.single:
        chosen = np.zeros(core.inputs, np.int64)
        order = rng.permutation(core.inputs * core.symbols)
        chosen = chosen[: kernels.greedy_literals(*core.literals, core.symbols, order, limit, chosen)]
        out = np.full(core.inputs, -1, np.int64)
        out[chosen // core.symbols] = chosen % core.symbols
        return out
    space = Workspace.of(core, np.full(core.inputs, -1, np.int64))
    order = rng.permutation(len(core.cube_pair))
    lit_ptr, lit_cube, cube_pair, missing, lits, pairs = space.cubes()
    kernels.greedy_cubes(
        core.pair_ptr, core.cube_ptr, core.cube_lit, lit_ptr, lit_cube, cube_pair, core.symbols, order, limit,
        missing, lits, pairs, space.state,
    )  # fmt: skip
    space.prune(rng)
    return space.symbols()


def decimate(problem: CoverProblem, budget: int | None = None, seed: int = 0, rounds: int = ROUNDS) -> CoverSolution:
    """Belief propagation, set the surest literals, repeat; then deletion. One-literal cubes only (else: greedy).

    After the hitting-set decimation of Mezard & Tarzia (Phys. Rev. E 76, 041124, 2007). O(rounds * literals).
    """
    rng = np.random.default_rng(seed)
    start = _greedy(problem.core, rng, None)
    symbols = _decimate(problem.core, rng, int(np.count_nonzero(start >= 0)), rounds) if problem.core.single else start
    return solution_of(problem, symbols, budget, "decimate", {"greedy": int(np.count_nonzero(start >= 0))})


def _decimate(core: Core, rng: np.random.Generator, size: int, rounds: int) -> I64:
    pair_ptr, pair_lit, lit_ptr, lit_pair = core.literals
    s, out = core.symbols, np.full(core.inputs, -1, np.int64)
    captured, decided = np.zeros(len(core.pairs), np.int64), np.zeros(core.inputs, np.int64)
    absent, others = rng.uniform(0.9, 0.95, len(pair_lit)), np.full(len(pair_lit), np.exp(-1.0))
    push, belief = np.diff(lit_ptr).astype(np.float64), np.zeros(core.inputs * s)
    sweeps, step = SWEEPS_FIRST, max(1, size // rounds)
    while not captured.all():
        kernels.believe(pair_ptr, pair_lit, s, PRICE, sweeps, captured, decided, absent, others, push, belief)
        surest = np.argsort(-belief, kind="stable")[:step]
        if kernels.decide(surest, lit_ptr, lit_pair, s, captured, decided, belief, out) == 0:
            break
        sweeps = SWEEPS
    space = Workspace.of(core, out)
    space.prune(rng)
    return space.symbols()


def local(
    problem: CoverProblem, budget: int | None = None, seed: int = 0, time: float | None = None,
    steps: int | None = None, rounds: int = ROUNDS,
) -> CoverSolution:  # fmt: skip
    """From the better of greedy and decimation, row-weighting exchange: drop two, add one, weights on uncaptured pairs.

    Stops after ``steps`` (default: 10 per input set at the start, at least 20 000; same seed, same answer), after
    ``time`` seconds, or once the budget is met. A step costs about SAMPLE + degree * cubes per pair.
    """
    rng, core = np.random.default_rng(seed), problem.core
    deadline = None if time is None else clock.monotonic() + time
    start, statistics = _start(problem, rng, budget, rounds)
    space = Workspace.of(core, start, core.single)
    state, best = space.state, start.copy()
    first = int(state[kernels.COUNT])
    state[kernels.LEAST] = state[kernels.OPEN]
    state[kernels.STOP] = 0 if budget is None else budget
    state[kernels.TARGET] = core.inputs if budget is None else budget
    steps = max(20_000, 10 * first) if steps is None else steps
    hopeless = len(core.dead) > 0 or (state[kernels.OPEN] == 0 and first <= state[kernels.STOP])
    while not hopeless and not state[kernels.DONE] and state[kernels.STEP] < steps:
        if deadline is not None and clock.monotonic() > deadline:
            break
        random = rng.integers(0, 1 << 62, 2 * min(BLOCK, steps - int(state[kernels.STEP])))
        _exchange(space, random, best)
    statistics["steps"] = int(state[kernels.STEP])
    return solution_of(problem, best, budget, "local", statistics)


def _start(problem: CoverProblem, rng: np.random.Generator, budget: int | None, rounds: int) -> tuple[I64, Statistics]:
    """The greedy answer, or decimation's where greedy misses the budget and decimation is better."""
    core = problem.core
    start = _greedy(core, rng, None)
    size = int(np.count_nonzero(start >= 0))
    statistics: Statistics = {"greedy": size}
    complete = bool(problem.captured(np.where(problem.fixed >= 0, problem.fixed, start)).all())
    if not core.single or len(core.dead) or (complete and size <= (budget or 0)):
        return start, statistics
    other = _decimate(core, rng, size, rounds)
    statistics["decimate"] = int(np.count_nonzero(other >= 0))
    whole = bool(problem.captured(np.where(problem.fixed >= 0, problem.fixed, other)).all())
    return (other if (not whole, statistics["decimate"]) < (not complete, size) else start), statistics


def _exchange(space: Workspace, random: I64, best: I64) -> None:
    core = space.core
    if core.single:
        kernels.exchange_literals(
            *core.literals, core.symbols, SAMPLE, random, best, space.lits, space.pairs, space.state
        )
        return
    lit_ptr, lit_cube, cube_pair, missing, lits, pairs = space.cubes()
    kernels.exchange_cubes(
        core.pair_ptr, core.cube_ptr, core.cube_lit, lit_ptr, lit_cube, cube_pair, core.symbols, SAMPLE, random, best,
        missing, lits, pairs, space.state,
    )  # fmt: skip


def solve(
    problem: CoverProblem, *, solver: str = "auto", budget: int | None = None, seed: int = 0,
    time: float | None = None, steps: int | None = None, rounds: int = ROUNDS, q: float | None = None,
    cap: int | None = None, delta: float = 0.1, proof: bool = True,
) -> CoverSolution:  # fmt: skip
    """Capture every pair with few set inputs (at most ``budget``, if given).

    Args:
        problem: the pairs and cubes.
        solver: one of :data:`SOLVERS`.
        budget: most inputs set beyond the prior ones; None: as few as possible.
        seed: of the generator behind every random choice; without ``time`` the answer depends on nothing else.
        time: seconds for local search, SAT and MaxSAT; None: their own deterministic stopping rules.
        steps, rounds: of local search; of decimation (more is slower and better).
        q, cap, delta: of resampling (:func:`restrict.cover.resample.resample`).
        proof: whether "impossible" must come with a checked proof (SAT).

    Returns:
        A solution whose ``status`` says whether it is complete, partial, or proved impossible.

    Raises:
        UsageError: an unknown solver or a value out of range.
        ResourceLimit: MaxSAT, or SAT forced by name, out of time.
    """
    from restrict.cover import resample
    from restrict.cover import sat as coversat

    if solver not in SOLVERS:
        raise UsageError(f"no solver {solver!r}: choose one of {', '.join(SOLVERS)}")
    if budget is not None and budget < 0:
        raise UsageError(f"the budget is {budget}: it must be at least 0")
    if solver == "greedy":
        return greedy(problem, budget, seed)
    if solver == "decimate":
        return decimate(problem, budget, seed, rounds)
    if solver == "local":
        return local(problem, budget, seed, time, steps, rounds)
    if solver == "resample":
        return resample.resample(problem, q=q, budget=budget, seed=seed, cap=cap, delta=delta)
    if solver == "sat":
        return coversat.sat(problem, budget, time=time, proof=proof)
    if solver == "maxsat":
        return coversat.maxsat(problem, budget, time=time)
    return _auto(problem, budget, seed, time, steps, rounds, proof)


def _auto(
    problem: CoverProblem, budget: int | None, seed: int, time: float | None, steps: int | None, rounds: int,
    proof: bool,
) -> CoverSolution:  # fmt: skip
    """Local search; then, where it is small enough, the optimum, or the budget's verdict by bound and by SAT."""
    from restrict.cover import sat as coversat

    size = len(problem.core.cube_lit)
    if len(problem.core.dead) or (budget is None and size <= SMALL):
        return coversat.maxsat(problem, budget, time=time)
    found = local(problem, budget, seed, time, steps, rounds)
    if budget is None or found.status == "captured":
        return found
    bound = coversat.lower_bound(problem)
    if bound.value > budget:
        return coversat.impossible(problem, bound.refute(budget), "auto")
    return coversat.sat(problem, budget, time=time, proof=proof) if size <= MODERATE else found
