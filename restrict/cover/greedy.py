"""Greedy set cover: set the literal that captures the most new pairs, and repeat."""

import numpy as np

from restrict.base.arrays import I64, symbols_set
from restrict.cover.core import Core
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, solution_of
from restrict.cover.workspace import Workspace
from restrict.kernels.cover_cubes import greedy_cubes
from restrict.kernels.cover_literals import greedy_literals


def greedy(problem: CoverProblem, budget: int | None = None, seed: int = 0) -> CoverSolution:
    """Set what newly captures the most pairs per input, ties at random, until all are captured or the budget is spent.
    One-literal cubes: O(literals) with a bucket queue. Larger cubes: a priority queue with re-evaluation. ``budget``:
    most inputs set beyond the prior ones, at least 0; ``None``: as many as are needed. Gives the answer; it is
    "partial" where the budget is spent first or a pair cannot be captured."""
    symbols = greedy_symbols(problem.core, np.random.default_rng(seed), budget)
    return solution_of(problem, symbols, budget, "greedy", {})


def greedy_symbols(core: Core, rng: np.random.Generator, budget: int | None) -> I64:
    """One greedy run: per input the symbol that is set, or -1. ``budget``: most inputs set, at least 0; ``None``: as
    many as are needed. Gives int64, shape (m,): the symbol of each input, -1 = free."""
    limit = core.inputs if budget is None else budget
    if core.single:
        chosen = np.zeros(core.inputs, np.int64)
        order = rng.permutation(core.inputs * core.symbols)
        chosen = chosen[: greedy_literals(core.literals, order, limit, chosen)]
        return symbols_set(chosen, core.inputs, core.symbols)
    space = Workspace.of(core, np.full(core.inputs, -1, np.int64))
    order = rng.permutation(len(core.cube_pair))
    greedy_cubes(core.cubes, space.arrays, order, limit)
    space.prune(rng)
    return space.symbols()
