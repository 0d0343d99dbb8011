"""Anytime search for a restriction that forces the label at one position: dives, deletion, and large-neighbourhood
improvement. Everything is bounded by counts of work, not by the clock, so that the same seed gives the same answer;
with a time limit the search goes on until it is spent. Nothing here is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from restrict.base.errors import ModelError
from restrict.base.options import HUGE
from restrict.force.boxes import Wish
from restrict.force.committed import committed
from restrict.force.first_layer import listed
from restrict.force.goal import Goal, Guard, Manner, OutOfBudget, Solver
from restrict.force.image import is_wide
from restrict.force.minimise import Minimiser, needed_cone
from restrict.force.neighbourhood import some_tokens, tokens_alone
from restrict.force.on_demand import OnDemandState
from restrict.force.options import OPTIONS
from restrict.force.plan import OutOfRows, Planner, plannable
from restrict.force.state import ForcingState, Node
from restrict.model.program import Head
from restrict.model.task import Task

Pass = tuple[tuple[int, ...], float, bool]
"""Alternatives tried by depth, noise, and whether boxes are priced by value (:mod:`restrict.force.boxes`)."""


@dataclass
class Best:
    """The best restriction so far, ordered by fixed positions, then by cone size."""

    fixed: dict[int, int] | None = None
    cone: dict[str, tuple[int, ...]] = field(default_factory=dict)
    reads: dict[Node, frozenset[Node]] = field(default_factory=dict)
    values: tuple[int, ...] = ()

    @property
    def count(self) -> int | None:
        """How many positions the best restriction fixes; ``None`` where there is none yet."""
        return None if self.fixed is None else len(self.fixed)

    def offer(
        self, fixed: dict[int, int], cone: dict[str, tuple[int, ...]], state: ForcingState, values: tuple[int, ...]
    ) -> None:
        """Keep a restriction if it is no worse than the best."""
        size = sum(map(len, cone.values()))
        if self.fixed is None or (len(fixed), size) <= (len(self.fixed), sum(map(len, self.cone.values()))):
            self.fixed, self.cone, self.values = fixed, cone, values
            self.reads = {
                (name, i): frozenset(state.reads[name, i]) for name, positions in cone.items() for i in positions
            }


class GoalSearch:
    """Anytime search for a restriction that forces the label at one position; ``best`` is valid at any moment. ``base``
    is fixed beforehand and not counted. With ``guard``, only what it accepts becomes ``best``, and ``refused`` counts
    what it refuses. A search that has found nothing ends after ``patience`` passes."""

    def __init__(
        self, task: Task, *, base: Mapping[int, int] | None = None, guard: Guard | None = None, patience: int = 7
    ) -> None:
        instance, position = task.instance, task.one_position("this search")
        self.task, self.instance, self.position = task, instance, position
        self.guard, self.seed, self.patience = guard, task.seed, patience
        self.timed = task.deadline.moment is not None
        self.best = Best()
        self.refused = 0
        self.state = ForcingState(instance, base)
        self.wide = is_wide(instance)
        self.prices: dict[Wish, float] = {}
        self._ticks = 0
        self._alone: tuple[object, list[tuple[Node, set[int]]]] = None, []
        self._first, self._since = 0, 0
        output = instance.model.output.variable
        groups: dict[str, set[int]] = {}
        for value in range(instance.domains[output]):
            groups.setdefault(instance.label(value), set()).add(value)
        self.target = (output, position)
        self.state.wide = self.wide
        depth = self.state.depth.get(output, 0)
        self.deep = not self.wide and depth >= OPTIONS.deep
        self.state.row_charge = OPTIONS.row_charge if self.wide or self.deep else 0
        self.planned = not self.wide and guard is None and depth >= OPTIONS.planned and plannable(instance)
        tokens = self.state.weight(output)
        self.commits = guard is None and (depth >= OPTIONS.committed if self.wide else self.deep and not self.planned)
        self.huge = self.wide and depth >= OPTIONS.deep and tokens >= OPTIONS.huge
        self.crowded = self.commits and self.huge and instance.n < OPTIONS.crowded * tokens
        self._most_scores = max(
            OPTIONS.deep_scores if self.deep else OPTIONS.scores, OPTIONS.scores_a_position * instance.n
        )
        if self.wide:
            self._most_scores = min(OPTIONS.wide_scores, 2 * OPTIONS.box_scores_a_position * instance.n)
        self._first_limits: tuple[int, ...] = (OPTIONS.first_limit, OPTIONS.last_limit)
        self._dive_scores = 0
        if self.wide:
            self._limit_dives(tokens)
        self.passes = self._passes()
        self.goals = [Goal(output, position, frozenset(values)) for values in groups.values()]

    def _passes(self) -> tuple[Pass, ...]:
        priced, plain = [(*p, True) for p in OPTIONS.wide_passes], [(*p, False) for p in OPTIONS.passes]
        if self.wide:
            return (priced[0], priced[1])
        if self.commits:
            return (priced[0], priced[1], plain[1])
        first = (plain[0], priced[0], priced[1]) if self.deep else (priced[0], plain[0], priced[1])
        return (*first, plain[1], priced[2], plain[2])

    def _limit_dives(self, weight: float) -> None:
        """Limits of the first dives in a wide model, whose output takes about ``weight`` tokens."""
        instance = self.instance
        keys = [instance.key(v) for v in instance.model.variables if isinstance(v, Head)]
        longest = instance.n * max((instance.domains[key] for key in keys if key is not None), default=1)
        self._first_limits = tuple(sorted({int(min(2 * weight, 1e6)) + OPTIONS.wide_slack, OPTIONS.last_limit}))
        self._dive_scores = max(OPTIONS.wide_scores, int(OPTIONS.dives * weight * longest))
        # Where one dive takes all scores, it is the one with prices.
        self.commits = self.commits and (self.huge or weight * longest <= OPTIONS.wide_scores)

    def run(self) -> None:
        """Search until the budget, or the time, is spent. Ctrl-C raises; ``best`` stays."""
        rng = np.random.default_rng(self.seed)
        turn = 0
        if self.timed and self.instance.n * self.state.weight(self.target[0]) <= OPTIONS.more_work:
            self._follow(rng)  # of a small program there is an answer, whatever the time
        if self.planned and self.best.count != 0:
            self._follow_plans(rng)
        if self.commits:
            self._commit(rng)
            if self.crowded and self.best.fixed is not None and not self.timed:
                return  # dives that measure alternatives do not reach the end, and what is fixed is needed
        while True:
            kind = self.passes[min(turn, len(self.passes) - 1)]
            for goal, limit in self._tasks(turn):
                if self.deep and kind[2] and self.best.count is not None and self.best.count <= OPTIONS.priced_answer:
                    break
                self._attempt(goal, limit, rng, kind, turn)
                if self._over():
                    return
                if self._late():
                    turn = len(self.passes)
                    break
            for _ in range(OPTIONS.followed if turn == 0 and self.best.fixed is None else 0):
                self._follow(rng)
                if self._over():
                    return
                if self.best.fixed is not None and len(self.best.fixed) + len(self.state.pinned) == self.instance.n:
                    break  # each takes as long, and they are alike
            turn += 1
            if self.best.count == 0:
                return
            if turn >= len(self.passes) and self.best.fixed is not None:
                self._improve(rng)
                if not self.timed or self._over():
                    return
            elif turn >= (self.patience if self.best.fixed is None else len(self.passes)) and not self.timed:
                return

    def _follow_plans(self, rng: np.random.Generator) -> None:
        """Plan every label with more and more effort, and dive along each plan that is better than the best answer. A
        program whose first plan takes most of the rows is left to the passes: no plan would be improved."""
        state, scores = self.state, self._most_scores
        last, rows = state.scores + max(OPTIONS.deep_scores, scores), int(OPTIONS.plan_first * OPTIONS.plan_rows)
        self._most_scores, first = HUGE, True
        planner = Planner(state, rng, rows, lambda: state.scores > last or self.task.deadline.passed)
        followed = dict.fromkeys(self.goals, np.inf)
        for effort, planner.share in OPTIONS.plans:
            for goal in self.goals:
                least = self.instance.n if self.best.count is None else self.best.count
                if planner.spent or planner.cost(goal) > OPTIONS.hopeless * least:
                    continue
                self._restart(dict(state.pinned))
                with suppress(OutOfRows, ModelError):  # a rule may have no value at the length of the samples
                    planner.solve(goal, effort)
                if first and planner.left < 0:
                    self._most_scores = state.scores + scores
                    return
                planner.left, first = planner.left + first * (OPTIONS.plan_rows - rows), False
                if 0 < planner.cost(goal) < min(least, followed[goal]):
                    followed[goal] = planner.cost(goal)
                    self._restart(dict(state.pinned))
                    manner = Manner((1,), 0.0, OPTIONS.plan_work, plan=planner.plan)
                    self._dive(Solver(state, rng, manner, tick=self._tick), goal, least, rng)
        self._most_scores = state.scores + OPTIONS.scores
        if self.best.count is not None:
            self._first, self._since = min(self._first, self.best.count), state.work
            if self.instance.n >= OPTIONS.crowded * self.state.weight(self.target[0]):
                self.passes = ((*OPTIONS.wide_passes[1], True),)

    def _commit(self, rng: np.random.Generator) -> None:
        """Committed dives for each label, with more and more noise; after an answer that took most of the scores, or
        of a crowded word, no more of them."""
        first = listed(self.state) if self.crowded else {}
        began = self.state.work
        work = max(OPTIONS.first_work, int(OPTIONS.commit_work * self.state.weight(self.target[0])))
        for noise, goal in product(OPTIONS.commit_noise, self.goals):
            late = self.crowded or 2 * self.state.scores > self._most_scores
            if self._over() or (late and (noise or self.best.fixed is not None)):
                break
            if noise and (self.huge or self.state.work - began > OPTIONS.commit_more):
                break
            self._restart(dict(self.state.pinned))
            manner = Manner((1,), noise, work, wide=True, choose=committed, close=0, first=first)
            most = self.instance.n if self.best.count is None else self.best.count - 1
            self._dive(Solver(self.state, rng, manner, tick=self._tick), goal, most, rng)

    def _improve(self, rng: np.random.Generator) -> None:
        """Large-neighbourhood search: free a part of the best restriction, solve again from what is left, keep what is
        no worse. The part is what a few random nodes of the cone rest on, or a random share; the goals that still hold
        cost nothing, so an iteration is short. Equal answers are accepted, which lets the search drift along a
        plateau."""
        stop = self.state.work + self._allowance() // 2
        while self.state.work < stop and self.best.count and not self._over():
            # So that iterations without any walk come to an end, too; sets of symbols are gone through in each.
            self.state.work += 100 + len(self.state.alphabet) // 16
            if self.wide and rng.random() < OPTIONS.by_node:
                self._improve_node(rng)
                continue
            goal = next(g for g in self.goals if g.allowed.issuperset(self.best.values))
            assert self.best.fixed is not None
            kept = some_tokens(self.best.fixed, self.best.cone, self.best.reads, rng)
            self._examine_best(kept)
            noises = OPTIONS.wide_noise if self.wide else OPTIONS.noise
            widths, noise = (int(rng.integers(2, 6)), int(rng.integers(1, 4)), 1), float(rng.choice(noises))
            work = max(2_000, 40 * sum(map(len, self.best.cone.values())))
            priced = self.wide or (self.deep and rng.random() < 0.5)
            self._dive(self._solver(rng, (widths, noise, priced), work), goal, self.best.count - len(kept), rng)

    def _examine_best(self, kept: Mapping[int, int]) -> None:
        """Examine the cone of the best restriction where only some of its tokens are fixed."""
        self._restart({**self.state.pinned, **{i: (a,) for i, a in kept.items()}})
        self._examine_cone()

    def _examine_cone(self) -> None:
        for name, positions in self.best.cone.items():
            for i in positions:
                self.state.examine(self.instance.model.by_name[name], i)

    def _improve_node(self, rng: np.random.Generator) -> None:
        """Free what the best restriction fixes for one node of its cone alone, and meet that node's goal again."""
        best, state = self.best, self.state
        assert best.fixed is not None
        if self._alone[0] is not best.fixed:
            self._alone = best.fixed, tokens_alone(self.target, best.fixed, best.cone, best.reads, OPTIONS.own_tokens)
        if not (nodes := self._alone[1]):
            return
        node, own = nodes[int(rng.integers(len(nodes)))]
        self._examine_best(best.fixed)
        goal = Goal(*node, frozenset(state.values(*node)))
        self._examine_best({i: a for i, a in best.fixed.items() if i not in own})
        widths = int(rng.integers(2, 6)), int(rng.integers(1, 4)), 1
        solver = self._solver(rng, (widths, float(rng.choice(OPTIONS.node_noise)), True), OPTIONS.node_work)
        try:
            solved = solver.solve(goal, len(own) - int(rng.random() < OPTIONS.fewer))
        except OutOfBudget:
            return
        if solved:
            self._examine_cone()
            label = next(g for g in self.goals if g.allowed.issuperset(best.values))
            if label.allowed.issuperset(state.values(*self.target)):
                self._settle(rng, label)

    def _restart(self, tokens: dict[int, tuple[int, ...]]) -> None:
        state = self.state
        state.trail.clear()
        state.facts.clear()
        state.tokens = tokens

    def _allowance(self) -> int:
        """Work for the passes, and half as much for the improvement; more for answers that are large. Below depth
        three a first answer far above the best one, such as nearly the whole of a short word, does not count."""
        most = 300 if self.deep else min(300, (self.best.count or 0) + OPTIONS.spare)
        maps = (self.instance.domains[v.name] for v in self.instance.model.variables if not isinstance(v, Head))
        times = 2 if not self.wide and max(maps, default=1) >= OPTIONS.many_values else 1
        return OPTIONS.more_work + times * OPTIONS.work_per_token * min(self._first, most)

    def _over(self) -> bool:
        if self.timed:
            return self.task.deadline.passed
        return self.best.fixed is not None and self.state.scores > self._most_scores

    def _late(self) -> bool:
        """Whether the rest of a wide model's scores should be spent on improving the answer."""
        return (
            self.wide
            and not self.timed
            and self.best.fixed is not None
            and 3 * self.state.scores > 2 * self._most_scores
        )

    def _tick(self) -> None:
        self._ticks += 1
        if self._ticks % 64 == 0:
            self.task.tell("searching", self.best.count)
            if self._over():
                raise OutOfBudget

    def _tasks(self, turn: int) -> Iterator[tuple[Goal, int]]:
        """Labels to try with a limit on the tokens. One label may need nearly all positions where another needs one, so
        while nothing is known all are tried with small limits first. In the first pass an answer as large as the best
        one is wanted, too, since its cone may be smaller."""
        for limit in self._first_limits if turn == 0 and self.best.fixed is None else ():
            for goal in self.goals:
                if limit < self.instance.n:
                    yield goal, limit if self.best.count is None else min(limit, self.best.count)
            if self.best.fixed is not None:
                return
        for goal in self.goals:
            yield goal, self.instance.n if self.best.count is None else self.best.count - (turn > 0)

    def _attempt(self, goal: Goal, limit: int, rng: np.random.Generator, kind: Pass, turn: int) -> None:
        state = self.state
        self._restart(dict(state.pinned))
        work = OPTIONS.wide_work if kind[2] else OPTIONS.first_work * 4**turn
        if self.best.fixed is not None and (turn or self.huge or not self.commits):
            left = max(2 if self.wide else 1, len(self.passes) - turn)
            attempts = len(self.goals) * left if not self.timed else 4
            allowed = OPTIONS.more_work if self.timed else max(0, self._since + self._allowance() - state.work)
            work = allowed // attempts
        first = self.wide and turn == 0 and limit < self.instance.n
        self._dive(self._solver(rng, kind, work, self._dive_scores if first else None), goal, limit, rng)

    def _dive(self, solver: Solver, goal: Goal, limit: int, rng: np.random.Generator) -> None:
        """Meet the output's goal from what is fixed; what succeeds is made minimal and offered."""
        try:
            solved = solver.solve(goal, limit)
        except OutOfBudget:
            return
        if solved:
            self._settle(rng, goal)

    def _solver(self, rng: np.random.Generator, kind: Pass, work: int, scores: int | None = None) -> Solver:
        manner = Manner(kind[0], kind[1], work, scores, wide=kind[2])
        return Solver(self.state, rng, manner, tick=self._tick, guard=self.guard, prices=self.prices)

    def _settle(self, rng: np.random.Generator, goal: Goal, fresh: bool = False) -> None:
        """Minimise what the search found and offer it."""
        state = self.state
        # Freeing the many positions of a refused restriction one by one takes long and rarely helps.
        early = self.guard is not None and state.fixed > OPTIONS.guarded and not fresh
        if early and not self._accepted(state.symbols):
            return
        if self.target not in state.facts and self.target[0] not in ("token", "position"):
            state.examine(self.instance.model.by_name[self.target[0]], self.position)
        minimiser = Minimiser(state, self.target, lambda: goal.allowed.issuperset(state.values(*self.target)), fresh)
        minimiser.minimise(rng.permutation(list(state.symbols)).tolist())
        fixed = dict(sorted(state.symbols.items()))
        if not self._accepted(fixed):
            return
        if self.best.fixed is None:
            self._first, self._since = len(fixed), state.work
        self.best.offer(fixed, needed_cone(state, self.target), state, tuple(state.values(*self.target)))
        self.task.tell("searching", self.best.count)

    def _accepted(self, fixed: dict[int, int]) -> bool:
        """Whether the guard, if there is one, accepts a restriction; what it refuses is counted."""
        accepted = self.guard is None or self.guard.accepts(fixed)
        self.refused += not accepted
        return accepted

    def _follow(self, rng: np.random.Generator) -> None:
        """Follow the run on a random input: fix what the output reads there, which forces it, and free what can be.
        This needs no table and always succeeds: on an input every node that is read has one value."""
        state, symbols = self.state, len(self.state.alphabet)
        word = rng.integers(symbols, size=self.instance.n).tolist()
        run = OnDemandState.of(self.instance, {**dict(enumerate(word)), **{i: v[0] for i, v in state.pinned.items()}})
        run.rows = state.rows
        value = run.values(*self.target)[0]
        read = run.read_tokens(self.target)
        self._restart({i: v for i, v in run.tokens.items() if i in read or i in state.pinned})
        state.facts, state.reads = dict(run.facts), dict(run.reads)
        goal = next(g for g in self.goals if value in g.allowed)
        self._settle(rng, goal, fresh=True)
