"""Certification: choose a strategy, spend a budget, keep the best, confirm it with the abstract run.

The search (:mod:`restrict.engine.goal`) forces the output, so ``c = 0``; deletion makes the restriction minimal; for
``c > 0`` or a wanted free
fraction :mod:`restrict.engine.relax` frees more. The certificate is written from a fresh abstract run over kernels,
never from the search's own facts.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from restrict import __version__
from restrict.certificate import Certificate, Target, certificate_of, position_of
from restrict.engine.goal import Goal, OutOfBudget, Solver
from restrict.engine.minimise import Minimiser, needed_cone
from restrict.engine.relax import least_free, relax
from restrict.engine.state import State
from restrict.errors import NotEstablished, ResourceLimit, UsageError
from restrict.model.program import Instance, Model
from restrict.restriction import Restriction

Progress = Callable[[str, int | None], None]
"""Called now and then with what is being done and the best number of fixed positions so far."""

PASSES = ((1, 0.0), (2, 0.0), (3, 0.2), (3, 0.5), (4, 0.8), (4, 1.2))
"""(width, noise) of the successive passes of the search."""
FIRST_WORK, MORE_WORK = 300_000, 500_000
"""Effort (pairs walked) of an attempt while nothing is known, four times as much in each further pass; and of all later
attempts together, some seconds."""
SCORES = 600_000_000
"""Scores computed by the whole search, once a first answer is known."""
FALLBACK_NODES = 40_000
"""The deletion fallback examines every node, so it is for programs with at most this many."""


@dataclass
class Best:
    """The best restriction so far, ordered by fixed positions, then by cone size."""

    fixed: dict[int, int] | None = None
    cone: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def count(self) -> int | None:
        """How many positions it fixes."""
        return None if self.fixed is None else len(self.fixed)

    def offer(self, fixed: dict[int, int], cone: dict[str, tuple[int, ...]]) -> None:
        """Keep it if it is better."""
        size = sum(map(len, cone.values()))
        if self.fixed is None or (len(fixed), size) < (len(self.fixed), sum(map(len, self.cone.values()))):
            self.fixed, self.cone = fixed, cone


class Search:
    """Anytime search for a restriction that forces the label at one position; ``best`` is valid at any moment."""

    def __init__(self, at: Instance, where: int, seed: int, time: float | None, progress: Progress | None) -> None:
        self.at, self.where, self.seed = at, where, seed
        self.deadline = None if time is None else clock.monotonic() + time
        self.progress = progress
        self.best = Best()
        self.state = State(at)
        self.stopped = "budget"
        self._ticks = 0
        self._last_work = 0
        output = at.model.output.variable
        groups: dict[str, set[int]] = {}
        for value in range(at.domains[output]):
            groups.setdefault(at.label(value), set()).add(value)
        self.target = (output, where)
        self.goals = [Goal(output, where, frozenset(values)) for values in groups.values()]

    def run(self) -> None:
        """Search until the budget, or the time, is spent. Ctrl-C raises; ``best`` stays."""
        rng = np.random.default_rng(self.seed)
        turn = 0
        while True:
            width, noise = PASSES[min(turn, len(PASSES) - 1)]
            for goal in self.goals:
                self._attempt(goal, rng, width, noise, turn)
                if self._over():
                    return
            if turn == 0:
                self._deletion(rng)
            turn += 1
            if self.best.count == 0 or (self.deadline is None and turn >= len(PASSES)):
                return

    def _over(self) -> bool:
        if self.deadline is not None:
            return clock.monotonic() > self.deadline
        return self.best.fixed is not None and self.state.scores > SCORES

    def _tick(self) -> None:
        self._ticks += 1
        if self._ticks % 64 == 0:
            if self.progress is not None:
                self.progress("searching", self.best.count)
            if self._over():
                raise OutOfBudget

    def _attempt(self, goal: Goal, rng: np.random.Generator, width: int, noise: float, turn: int) -> None:
        """One dive for one label; ties are worth having in the first pass, where the labels' cones differ."""
        limit = self.at.n if self.best.count is None else self.best.count - (turn > 0)
        state = self.state
        state.undo(0)
        state.facts.clear()
        state.tokens = dict(state.pinned)
        work = FIRST_WORK * 4**turn
        if self.best.fixed is not None:
            attempts = max(1, len(self.goals) * (len(PASSES) - turn)) if self.deadline is None else 4
            work = max(0, self._last_work - state.work) // attempts if self.deadline is None else MORE_WORK // attempts
        solver = Solver(state, rng, width=width, noise=noise, work=work, tick=self._tick)
        try:
            solved = solver.solve(goal, limit)
        except OutOfBudget:
            return
        if solved:
            self._settle(rng, goal)

    def _settle(self, rng: np.random.Generator, goal: Goal) -> None:
        """Minimise what the search found and offer it."""
        state = self.state
        if self.target not in state.facts and self.target[0] not in ("token", "position"):
            state.examine(self.at.model.by_name[self.target[0]], self.where)
        minimiser = Minimiser(state, self.target, lambda: goal.allowed.issuperset(state.values(*self.target)))
        order = [i for i in state.tokens if i not in state.pinned]
        minimiser.minimise(rng.permutation(order).tolist())
        fixed = {i: v[0] for i, v in sorted(state.tokens.items()) if i not in state.pinned}
        if self.best.fixed is None:
            self._last_work = state.work + MORE_WORK
        self.best.offer(fixed, needed_cone(state, self.target))
        if self.progress is not None:
            self.progress("searching", self.best.count)

    def _deletion(self, rng: np.random.Generator) -> None:
        """Fix a whole random input, which forces every node, and free what can be freed."""
        nodes = self.at.n * max(1, len(self.at.model.variables))
        if nodes > (FALLBACK_NODES if self.best.fixed is None else FALLBACK_NODES // 100):
            return
        state = self.state
        state.undo(0)
        state.facts.clear()
        state.tokens = dict(state.pinned)
        for i in range(self.at.n):
            if i not in state.pinned:
                state.tokens[i] = (int(rng.integers(len(state.alphabet))),)
        for variable in self.at.model.variables:
            for i in range(self.at.n):
                state.examine(variable, i)
        label = self.at.label(state.values(*self.target)[0])
        goal = next(g for g in self.goals if self.at.label(min(g.allowed)) == label)
        self._settle(rng, goal)


def certify(
    model: Model,
    n: int,
    *,
    target: Target = "last",
    c: int = 0,
    free: float | None = None,
    seed: int = 0,
    time: float | None = None,
    restriction: Restriction | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Find a restriction under which the model's output depends on at most ``c`` inputs, and certify it.

    Arguments:
        model, n: the program and its length, markers included.
        target: ``"last"``, or a position of a model with output at every position; ``"all"`` only with ``restriction``.
        c: how many free inputs the output may depend on; the search then frees as many positions as it can.
        free: instead of ``c``, a fraction in [0, 1] of the positions that must stay free; the search then makes ``c``
        as small as it can.
        seed: the same seed gives the same certificate, byte for byte (without ``time``).
        time: seconds to go on improving; by default a fixed budget of work.
        restriction: certify this one instead of searching.
        progress: called with (what, best number of fixed positions so far).

    Returns the best certificate found. After Ctrl-C it is the best so far, with ``provenance["stopped"] ==
    "interrupted"``.

    Raises :class:`NotEstablished` where nothing was found within the budget, :class:`UsageError` and
    :class:`ModelError` for bad input.
    """
    at = model.at(n)
    where = position_of(at, target)
    _check_arguments(c, free, seed, time)
    provenance: dict[str, Any] = {"engine": __version__, "seed": seed}
    if restriction is not None:
        if restriction.n != n:
            raise UsageError(f"the restriction has {restriction.n} positions, not {n}")
        restriction = Restriction.of(at, dict(restriction.fixed))
        return certificate_of(at, restriction, "all", target, provenance | {"strategy": "given restriction"})
    if where is None:
        raise UsageError(
            "target all: give the restriction to certify; the search is for one position (last, or a position)"
        )
    found = _force(at, where, target, seed, time, progress, provenance)
    if c > 0 or (free is not None and found.free < least_free(at, free)):
        found = relax(at, found, c, free, provenance, progress)  # keeps its best on Ctrl-C where that meets the wish
    return found


def _check_arguments(c: int, free: float | None, seed: int, time: float | None) -> None:
    if c < 0:
        raise UsageError(f"c = {c} must be at least 0")
    if free is not None and not 0 <= free <= 1:
        raise UsageError(f"the free fraction {free} must be between 0 and 1")
    if c > 0 and free is not None:
        raise UsageError("give c or free, not both: c bounds the dependencies, free the free positions")
    if not 0 <= seed < 2**63:
        raise UsageError(f"seed = {seed} must be in 0 .. 2^63-1")
    if time is not None and not time >= 0:
        raise UsageError(f"time = {time} must be a number of seconds, at least 0")


def _force(
    at: Instance,
    where: int,
    target: Target,
    seed: int,
    time: float | None,
    progress: Progress | None,
    provenance: dict[str, Any],
) -> Certificate:
    """Search for c = 0 and confirm the best that was found; adds to ``provenance`` how it ended."""
    search = Search(at, where, seed, time, progress)
    stopped = "budget" if time is None else "time"
    try:
        search.run()
    except KeyboardInterrupt:
        if search.best.fixed is None:
            raise
        stopped = "interrupted"
    best = search.best
    if best.fixed is None:
        raise NotEstablished(
            f"no restriction found that forces the output of {at.model.name!r} at n = {at.n} within the budget; "
            f"best found: the trivial one, which fixes all {at.n} positions. Try another --seed, a longer --time or a smaller n"
        )
    provenance.update(strategy="goal", stopped=stopped)
    if progress is not None:
        progress("confirming", best.count)
    found = certificate_of(at, Restriction.of(at, dict(best.fixed)), best.cone, target, provenance)
    if found.c != 0:
        raise ResourceLimit(
            f"internal disagreement: the abstract run gives c = {found.c}, the search found 0; please report the model"
        )
    return found
