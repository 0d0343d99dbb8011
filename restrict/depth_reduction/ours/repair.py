"""Given c: turn a restriction that misses it into one that keeps to it, then free as many inputs again as possible.
Fixing an input takes it out of every dependency set and adds nothing to any (Theorem A is monotone). So a restriction
under which some labels depend on too many inputs is repaired in one go: fix inputs until every label's set is small
enough, a multi-cover that is solved greedily, by the number of labels with too large a set that an input helps. Fixing
everything is always an answer. Then inputs are freed again, in halves, where the bound still holds."""

import numpy as np

from restrict.base.arrays import I64
from restrict.base.deadline import OutOfTime
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.c_transformer.input_sets import InputSets
from restrict.depth_reduction.c_transformer.layers import collapsed
from restrict.depth_reduction.options import THEOREM
from restrict.model.restriction import Restriction
from restrict.model.task import Task


def repaired(task: Task, t: CTransformer, c: int) -> Restriction:
    """Fix inputs until every label depends on at most ``c``. ``task``: its seed chooses the symbols. Result: a
    refinement of the restriction of ``t`` under which the bound holds. Cost: the violating labels times n, per input
    fixed."""
    sizes, rng = t.output_depends(), np.random.default_rng(task.seed)
    over = np.flatnonzero(sizes > c)
    sets = t.base[t.instance.model.output.variable].depends
    excess = sizes[over] - c
    votes = _members(sets, over)
    symbols = dict[int, int]()
    while len(over) and excess.max(initial=0) > 0:
        x = int(np.argmax(votes))
        holds = sets.have(over, x)
        symbols[x], votes[x] = int(rng.integers(len(t.symbols))), -1
        excess = excess - holds
        done = excess <= 0
        votes = np.where(votes < 0, votes, votes - _members(sets, over[done]))
        over, excess = over[~done], excess[~done]
    return t.fixing(symbols)


def _members(sets: InputSets, chosen: I64) -> I64:
    """In how many of these sets each input is, shape (n,)."""
    parts = (chosen[first : first + THEOREM.repair_block] for first in range(0, len(chosen), THEOREM.repair_block))
    return sum((sets.unpacked(part).sum(axis=0) for part in parts), np.zeros(len(sets.ptr) - 1, np.int64))


def freed(task: Task, rho: Restriction, c: int) -> Restriction:
    """Free inputs again, most at once first, where every label still depends on at most ``c``. ``task``: its instance
    and seed; with a deadline, freeing goes on until then. Result: a restriction with at least as many free positions,
    under which it holds, too. Cost: a collapse per trial."""
    rng = np.random.default_rng(task.seed)
    left = [int(i) for i in rng.permutation(sorted(rho.fixed))]
    size, checks, needed = max(1, len(left) // 2), 0, list[int]()
    while left and not task.deadline.passed and (checks < THEOREM.checks or task.deadline.moment is not None):
        batch, rest = left[:size], left[size:]
        trial = rho.release(batch)
        checks += 1
        task.tell("freeing", len(rho.fixed))
        try:
            kept = holds(task, trial, c)
        except OutOfTime:
            break
        if kept:
            rho, left = trial, rest
            size = min(2 * size, max(1, len(left) // 2))
        elif len(batch) == 1:
            needed.append(batch[0])
            left = rest
        else:
            size = max(1, len(batch) // 4)
            left = rest + batch
    return rho


def holds(task: Task, rho: Restriction, c: int) -> bool:
    """Whether every label depends on at most ``c`` inputs, by a collapse of all layers. Result: whether it does
    (Theorem A; exact for the abstract run)."""
    return (
        int(collapsed(task.instance, rho, task.deadline.later(THEOREM.grace))[-1].output_depends().max(initial=0)) <= c
    )
