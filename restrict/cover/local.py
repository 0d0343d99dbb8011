"""Local search for a cover: exchange of held literals, with weights on the pairs that stay uncaptured."""

from time import monotonic

import numpy as np

from restrict.base.arrays import I64
from restrict.cover.decimate import decimated_symbols
from restrict.cover.greedy import greedy_symbols
from restrict.cover.options import COVER
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, Statistics, solution_of
from restrict.cover.workspace import Workspace
from restrict.kernels import cover_state
from restrict.kernels.cover_cubes import exchange_cubes
from restrict.kernels.cover_literals import exchange_literals


def local(
    problem: CoverProblem, budget: int | None = None, seed: int = 0, time: float | None = None,
    steps: int | None = None, rounds: int = COVER.rounds,
) -> CoverSolution:  # fmt: skip
    """Local search from a greedy or decimated cover: drop two literals, add one, with weights on uncaptured pairs.
    Stops after ``steps`` (default: 10 per input set at the start, at least 20 000; same seed, same answer), after
    ``time`` seconds, or once the budget is met. A step costs about ``COVER.sample`` + degree * cubes per pair.
    ``budget``: the search stops once it is met; ``None``: as few inputs as possible; ``rounds``: of decimation, at
    least 1."""
    rng, core = np.random.default_rng(seed), problem.core
    deadline = None if time is None else monotonic() + time
    start, statistics = _start(problem, rng, budget, rounds)
    space = Workspace.of(core, start, core.single)
    state, best = space.state, start.copy()
    first = int(state[cover_state.COUNT])
    state[cover_state.LEAST] = state[cover_state.OPEN]
    state[cover_state.STOP] = 0 if budget is None else budget
    state[cover_state.TARGET] = core.inputs if budget is None else budget
    steps = max(20_000, 10 * first) if steps is None else steps
    hopeless = len(core.dead) > 0 or (state[cover_state.OPEN] == 0 and first <= state[cover_state.STOP])
    while not hopeless and not state[cover_state.DONE] and state[cover_state.STEP] < steps:
        if deadline is not None and monotonic() > deadline:
            break
        random = rng.integers(0, 1 << 62, 2 * min(COVER.steps, steps - int(state[cover_state.STEP])))
        if core.single:
            exchange_literals(core.literals, space.arrays, COVER.sample, random, best)
        else:
            exchange_cubes(core.cubes, space.arrays, COVER.sample, random, best)
    statistics["steps"] = int(state[cover_state.STEP])
    return solution_of(problem, best, budget, "local", statistics)


def _start(problem: CoverProblem, rng: np.random.Generator, budget: int | None, rounds: int) -> tuple[I64, Statistics]:
    """The greedy answer, or decimation's where greedy misses the budget and decimation is better."""
    core = problem.core
    start = greedy_symbols(core, rng, None)
    size = int(np.count_nonzero(start >= 0))
    statistics: Statistics = {"greedy": size}
    complete = bool(problem.captured(np.where(problem.fixed >= 0, problem.fixed, start)).all())
    if not core.single or len(core.dead) or (complete and size <= (budget or 0)):
        return start, statistics
    other = decimated_symbols(core, rng, size, rounds)
    statistics["decimate"] = int(np.count_nonzero(other >= 0))
    whole = bool(problem.captured(np.where(problem.fixed >= 0, problem.fixed, other)).all())
    return (other if (not whole, statistics["decimate"]) < (not complete, size) else start), statistics
