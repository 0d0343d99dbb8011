"""Decimation: belief propagation finds the surest literals; set some of them, and repeat. After the hitting-set
decimation of Mezard & Tarzia (Phys. Rev. E 76, 041124, 2007)."""

import numpy as np

from restrict.base.arrays import I64
from restrict.cover.core import Core
from restrict.cover.greedy import greedy_symbols
from restrict.cover.options import COVER
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, solution_of
from restrict.cover.workspace import Workspace
from restrict.kernels import cover_belief


def decimate(
    problem: CoverProblem, budget: int | None = None, seed: int = 0, rounds: int = COVER.rounds
) -> CoverSolution:
    """Belief propagation, set the surest literals, repeat; then deletion. One-literal cubes only (else: greedy). After
    the hitting-set decimation of Mezard & Tarzia (Phys. Rev. E 76, 041124, 2007). O(rounds * literals). ``budget``:
    decides only whether the status is "captured"; ``None``: any number of inputs is within it; ``rounds``: at least 1;
    each round sets about 1 / ``rounds`` of what greedy sets. More rounds are slower and better."""
    rng = np.random.default_rng(seed)
    symbols = greedy_symbols(problem.core, rng, None)
    size = int(np.count_nonzero(symbols >= 0))
    if problem.core.single:
        symbols = decimated_symbols(problem.core, rng, size, rounds)
    return solution_of(problem, symbols, budget, "decimate", {"greedy": size})


def decimated_symbols(core: Core, rng: np.random.Generator, size: int, rounds: int) -> I64:
    """One decimation: per input the symbol that is set, or -1. ``size``: how many inputs greedy sets, at least 0;
    ``rounds``: at least 1; a round sets ``max(1, size // rounds)`` literals. Gives int64, shape (m,): the symbol of
    each input, -1 = free. Pairs that nothing captures stay uncaptured."""
    _, pair_ptr, pair_lit, lit_ptr, lit_pair = core.literals
    s, out = core.symbols, np.full(core.inputs, -1, np.int64)
    captured, decided = np.zeros(len(core.pairs), np.int64), np.zeros(core.inputs, np.int64)
    absent, others = rng.uniform(0.9, 0.95, len(pair_lit)), np.full(len(pair_lit), np.exp(-1.0))
    push, belief = np.diff(lit_ptr).astype(np.float64), np.zeros(core.inputs * s)
    sweeps, step = COVER.first_sweeps, max(1, size // rounds)
    while not captured.all():
        cover_belief.believe(
            pair_ptr, pair_lit, s, COVER.price, sweeps, captured, decided, absent, others, push, belief
        )
        surest = np.argsort(-belief, kind="stable")[:step]
        if cover_belief.decide(surest, lit_ptr, lit_pair, s, captured, decided, belief, out) == 0:
            break
        sweeps = COVER.sweeps
    space = Workspace.of(core, out)
    space.prune(rng)
    return space.symbols()
