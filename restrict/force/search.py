"""Anytime search for a restriction that forces the label at one position: dives, deletion, and large-neighbourhood
improvement.

Everything is bounded by counts of work, not by the clock, so that the same seed gives the same answer; with a time
limit the search goes on until it is spent. Nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from restrict.force.boxes import A_POSITION, Wish
from restrict.force.goal import Goal, Guard, Manner, OutOfBudget, Solver
from restrict.force.image import MAX_IMAGE
from restrict.force.minimise import Minimiser, needed_cone
from restrict.force.neighbourhood import some_tokens, tokens_alone
from restrict.force.on_demand import OnDemandState
from restrict.force.state import ForcingState, Node
from restrict.model.program import Head, Map
from restrict.task import Task

PASSES: tuple[tuple[tuple[int, ...], float], ...] = (
    ((1,), 0.0),
    ((4, 1), 0.0),
    ((4, 2, 1), 0.1),
    ((5, 2, 1), 0.4),
    ((5, 3, 1), 0.6),
    ((4, 2, 1), 0.8),
    ((5, 4, 2), 1.0),
)
"""(alternatives tried by depth, noise) of the successive passes of the search."""
WIDE_PASSES: tuple[tuple[tuple[int, ...], float], ...] = (
    ((1,), 0.0),
    ((2, 2, 1), 0.0),
    ((2, 4, 2, 1), 0.1),
    ((2, 6, 2, 1), 0.2),
    ((3, 6, 3, 2), 0.4),
)
"""The same for wide models, whose boxes are priced by value: the first alternative near the tokens is the cheapest."""
Pass = tuple[tuple[int, ...], float, bool]
"""Alternatives tried by depth, noise, and whether boxes are priced by value (:mod:`restrict.force.boxes`)."""
DEEP, PRICED_ANSWER = 3, 12
"""From this depth on dives with priced boxes alternate with the others, while more positions than this are fixed."""
FIRST_WORK, MORE_WORK, WORK_PER_TOKEN = 100_000, 200_000, 20_000
"""Effort (pairs walked) of an attempt while nothing is known, four times as much in each further pass; and of all later
attempts together (some seconds), with ``WORK_PER_TOKEN`` more for each token of the first answer."""
WIDE_WORK = 8_000_000
"""The effort of an attempt with priced boxes: pricing a node takes many walks."""
FIRST_LIMITS, WIDE_SLACK = (32, 1024), 16
"""Limits on the tokens of the first dives. In a wide model the first limit is twice the tokens that the anchors alone
take, plus ``WIDE_SLACK``."""
DIVES = 3
"""For each anchor, one of the first dives in a wide model may compute the scores of this many rows of the greatest
length. An answer that takes more can be found by a later dive."""
SCORES, WIDE_SCORES, DEEP_SCORES = 2_400_000_000, 24_000_000_000, 12_000_000_000
"""The most scores of the whole search once a first answer is known: in general, in a wide model, and in a deep one."""
ROW_CHARGE = 500_000
"""Ordering one row of a wide or deep model costs this many scores more: such models have many rows, most of them
short."""
FEW_NODES, FALLBACK_NODES = 5_000, 40_000
"""Deletion examines every node. With at most ``FEW_NODES`` nodes the search starts with it; with at most
``FALLBACK_NODES`` it is used where the first dives find nothing."""

NOISE, LITTLE_NOISE = (0.2, 0.6, 1.2), (0.0, 0.03, 0.1)
"""Relative errors put on prices while an answer is improved, and in a wide model, whose prices are sums of many."""
BY_NODE, FEWER, OWN_TOKENS, NODE_WORK, NODE_NOISE = 0.9, 0.85, 4, 20_000, (0.03, 0.1, 0.3)
"""In a wide model: the share of improvements that meet one node's goal again; of these, the share that must take fewer
tokens; the fewest tokens of such a node; and effort and noise of one of them."""
FOLLOWED = 3
"""Random inputs whose runs are followed where no dive succeeds."""
MANY = 256
"""With more positions fixed than this a guard is asked before deletion, too."""


@dataclass
class Best:
    """The best restriction so far, ordered by fixed positions, then by cone size."""

    fixed: dict[int, int] | None = None
    cone: dict[str, tuple[int, ...]] = field(default_factory=dict)
    reads: dict[Node, frozenset[Node]] = field(default_factory=dict)
    values: tuple[int, ...] = ()

    @property
    def count(self) -> int | None:
        """How many positions it fixes."""
        return None if self.fixed is None else len(self.fixed)

    def offer(
        self, fixed: dict[int, int], cone: dict[str, tuple[int, ...]], state: ForcingState, values: tuple[int, ...]
    ) -> None:
        """Keep it if it is no worse."""
        size = sum(map(len, cone.values()))
        if self.fixed is None or (len(fixed), size) <= (len(self.fixed), sum(map(len, self.cone.values()))):
            self.fixed, self.cone, self.values = fixed, cone, values
            self.reads = {
                (name, i): frozenset(state.reads[name, i]) for name, positions in cone.items() for i in positions
            }


class Search:
    """Anytime search for a restriction that forces the label at one position; ``best`` is valid at any moment.

    ``base`` is fixed beforehand and not counted. With ``guard``, only what it accepts becomes ``best``, and ``refused``
    counts what it refuses. A search that has found nothing ends after ``patience`` passes.
    """

    def __init__(
        self,
        task: Task,
        *,
        base: Mapping[int, int] | None = None,
        guard: Guard | None = None,
        patience: int = len(PASSES),
    ) -> None:
        instance, position = task.instance, task.one_position("this search")
        self.task, self.instance, self.position = task, instance, position
        self.guard, self.patience, self.seed = guard, patience, task.seed
        self.timed = task.deadline.moment is not None
        self.best = Best()
        self.refused = 0
        self.state = ForcingState(instance, base)
        self.wide = any(
            isinstance(v, Map) and prod(instance.domains[a] for a in v.args) > MAX_IMAGE
            for v in instance.model.variables
        )
        self.prices: dict[Wish, float] = {}
        self._ticks = 0
        self._alone: tuple[object, list[tuple[Node, set[int]]]] = None, []
        self._last_work = 0
        self._first = 0
        self._nodes = instance.n * max(1, len(instance.model.variables))
        output = instance.model.output.variable
        groups: dict[str, set[int]] = {}
        for value in range(instance.domains[output]):
            groups.setdefault(instance.label(value), set()).add(value)
        self.target = (output, position)
        self.state.wide = self.wide
        self.deep = not self.wide and self.state.depth.get(output, 0) >= DEEP
        self.state.row_charge = ROW_CHARGE if self.wide or self.deep else 0
        self._most_scores = DEEP_SCORES if self.deep else SCORES
        if self.wide:
            self._most_scores = min(WIDE_SCORES, 2 * A_POSITION * instance.n)
        self._first_limits: tuple[int, ...] = FIRST_LIMITS
        self._dive_scores = 0
        if self.wide:
            self._limit_dives(self.state.weight(output))
        self.passes = self._passes()
        self.goals = [Goal(output, position, frozenset(values)) for values in groups.values()]

    def _passes(self) -> tuple[Pass, ...]:
        """The successive passes."""
        priced, plain = [(*p, True) for p in WIDE_PASSES], [(*p, False) for p in PASSES]
        if self.wide:
            return tuple(priced)
        if self.deep:
            return (plain[0], priced[0], priced[1], plain[1], priced[2], plain[3])
        return tuple(plain)

    def _limit_dives(self, weight: float) -> None:
        """Limits of the first dives in a wide model, whose output takes about ``weight`` tokens."""
        instance = self.instance
        keys = [instance.key(v) for v in instance.model.variables if isinstance(v, Head)]
        longest = instance.n * max((instance.domains[key] for key in keys if key is not None), default=1)
        self._first_limits = tuple(sorted({int(min(2 * weight, 1e6)) + WIDE_SLACK, FIRST_LIMITS[-1]}))
        self._dive_scores = max(WIDE_SCORES, int(DIVES * weight * longest))

    def run(self) -> None:
        """Search until the budget, or the time, is spent. Ctrl-C raises; ``best`` stays."""
        rng = np.random.default_rng(self.seed)
        turn = 0
        if self._nodes <= FEW_NODES:
            self._deletion(rng)
        while True:
            kind = self.passes[min(turn, len(self.passes) - 1)]
            for goal, limit in self._tasks(turn):
                if self.deep and kind[2] and self.best.count is not None and self.best.count <= PRICED_ANSWER:
                    break
                self._attempt(goal, limit, rng, kind, turn)
                if self._over():
                    return
                if self._late():
                    turn = len(self.passes)
                    break
            if turn == 0 and self.best.fixed is None and not self.refused and self._nodes <= FALLBACK_NODES:
                self._deletion(rng)
            for _ in range(FOLLOWED if turn == 0 and self.best.fixed is None and self.wide else 0):
                self._follow(rng)
                if self._over():
                    return
            turn += 1
            if self.best.count == 0:
                return
            if turn >= len(self.passes) and self.best.fixed is not None:
                self._improve(rng)
                if not self.timed or self._over():
                    return
            elif turn >= (self.patience if self.best.fixed is None else len(self.passes)) and not self.timed:
                return

    def _improve(self, rng: np.random.Generator) -> None:
        """Large-neighbourhood search: free a part of the best restriction, solve again from what is left, keep what
        is no worse.

        The part is what a few random nodes of the cone rest on, or a random share; the goals that still hold cost
        nothing, so an iteration is short. Equal answers are accepted, which lets the search drift along a plateau.
        """
        stop = self.state.work + self._allowance() // 2
        while self.state.work < stop and self.best.count and not self._over():
            # So that iterations without any walk come to an end, too; sets of symbols are gone through in each.
            self.state.work += 100 + len(self.state.alphabet) // 16
            if self.wide and rng.random() < BY_NODE:
                self._improve_node(rng)
                continue
            goal = next(g for g in self.goals if g.allowed.issuperset(self.best.values))
            assert self.best.fixed is not None
            kept = some_tokens(self.best.fixed, self.best.cone, self.best.reads, rng)
            self._examine_best(kept)
            noises = LITTLE_NOISE if self.wide else NOISE
            widths, noise = (int(rng.integers(2, 6)), int(rng.integers(1, 4)), 1), float(rng.choice(noises))
            work = max(2_000, 40 * sum(map(len, self.best.cone.values())))
            joint = rng.random() < 0.5
            priced = self.wide or (self.deep and rng.random() < 0.5)
            solver = self._solver(rng, (widths, noise, priced), work, joint)
            try:
                solved = solver.solve(goal, self.best.count - len(kept))
            except OutOfBudget:
                solved = False
            if solved:
                self._settle(rng, goal)

    def _examine_best(self, kept: Mapping[int, int]) -> None:
        """Examine the cone of the best restriction where only some of its tokens are fixed."""
        self._restart({**self.state.pinned, **{i: (a,) for i, a in kept.items()}})
        self._examine_cone()

    def _examine_cone(self) -> None:
        """Examine the cone of the best restriction."""
        for name, positions in self.best.cone.items():
            for i in positions:
                self.state.examine(self.instance.model.by_name[name], i)

    def _improve_node(self, rng: np.random.Generator) -> None:
        """Free what the best restriction fixes for one node of its cone alone, and meet that node's goal again."""
        best, state = self.best, self.state
        assert best.fixed is not None
        if self._alone[0] is not best.fixed:
            self._alone = best.fixed, tokens_alone(self.target, best.fixed, best.cone, best.reads, OWN_TOKENS)
        if not (nodes := self._alone[1]):
            return
        node, own = nodes[int(rng.integers(len(nodes)))]
        self._examine_best(best.fixed)
        goal = Goal(*node, frozenset(state.values(*node)))
        self._examine_best({i: a for i, a in best.fixed.items() if i not in own})
        widths = int(rng.integers(2, 6)), int(rng.integers(1, 4)), 1
        solver = self._solver(rng, (widths, float(rng.choice(NODE_NOISE)), True), NODE_WORK, False)
        try:
            solved = solver.solve(goal, len(own) - int(rng.random() < FEWER))
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
        """Work for the passes, and half as much for the improvement; more for answers that are large."""
        return MORE_WORK + WORK_PER_TOKEN * min(self._first, 300)

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
        """Labels to try with a limit on the tokens.

        One label may need nearly all positions where another needs one, so while nothing is known all are tried with
        small limits first. In the first pass an answer as large as the best one is wanted, too, since its cone may be
        smaller.
        """
        for limit in self._first_limits if turn == 0 and self.best.fixed is None else ():
            for goal in self.goals:
                if limit < self.instance.n:
                    yield goal, limit if self.best.count is None else min(limit, self.best.count)
            if self.best.fixed is not None:
                return
        for goal in self.goals:
            yield goal, self.instance.n if self.best.count is None else self.best.count - (turn > 0)

    def _attempt(
        self,
        goal: Goal,
        limit: int,
        rng: np.random.Generator,
        kind: Pass,
        turn: int,
    ) -> None:
        """One dive for one label."""
        state = self.state
        self._restart(dict(state.pinned))
        work = WIDE_WORK if kind[2] else FIRST_WORK * 4**turn
        if self.best.fixed is not None:
            attempts = max(1, len(self.goals) * (len(self.passes) - turn)) if not self.timed else 4
            work = max(0, self._last_work - state.work) // attempts if not self.timed else MORE_WORK // attempts
        joint = turn % 2 == 1  # goals met together share more tokens, goals met in turn leave time for more dives
        first = self.wide and turn == 0 and self.best.fixed is None and limit < self.instance.n
        solver = self._solver(rng, kind, work, joint, self._dive_scores if first else None)
        try:
            solved = solver.solve(goal, limit)
        except OutOfBudget:
            return
        if solved:
            self._settle(rng, goal)

    def _solver(
        self, rng: np.random.Generator, kind: Pass, work: int, joint: bool, scores: int | None = None
    ) -> Solver:
        manner = Manner(kind[0], kind[1], work, scores, joint, kind[2])
        return Solver(self.state, rng, manner, tick=self._tick, guard=self.guard, prices=self.prices)

    def _settle(self, rng: np.random.Generator, goal: Goal, fresh: bool = False) -> None:
        """Minimise what the search found and offer it."""
        state = self.state
        if self.guard is not None and state.fixed > MANY:
            # Freeing the many positions of a refused restriction one by one takes long and rarely helps.
            tokens = {i: v[0] for i, v in state.tokens.items() if i not in state.pinned}
            if not fresh and not self.guard.accepts(tokens):
                self.refused += 1
                return
        if self.target not in state.facts and self.target[0] not in ("token", "position"):
            state.examine(self.instance.model.by_name[self.target[0]], self.position)
        minimiser = Minimiser(state, self.target, lambda: goal.allowed.issuperset(state.values(*self.target)), fresh)
        order = [i for i in state.tokens if i not in state.pinned]
        minimiser.minimise(rng.permutation(order).tolist())
        fixed = {i: v[0] for i, v in sorted(state.tokens.items()) if i not in state.pinned}
        if self.guard is not None and not self.guard.accepts(fixed):
            self.refused += 1
            return
        if self.best.fixed is None:
            self._first = len(fixed)
            self._last_work = state.work + self._allowance()
        self.best.offer(fixed, needed_cone(state, self.target), state, tuple(state.values(*self.target)))
        self.task.tell("searching", self.best.count)

    def _follow(self, rng: np.random.Generator) -> None:
        """Follow the run on a random input: fix what the output reads there, which forces it, and free what can be.

        This needs no table and always succeeds: on an input every node that is read has one value.
        """
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

    def _deletion(self, rng: np.random.Generator) -> None:
        """Fix a whole random input, which forces every node, and free what can be freed."""
        state = self.state
        self._restart(dict(state.pinned))
        for i in range(self.instance.n):
            if i not in state.pinned:
                state.tokens[i] = (int(rng.integers(len(state.alphabet))),)
        for variable in self.instance.model.variables:
            for i in range(self.instance.n):
                state.examine(variable, i)
        label = self.instance.label(state.values(*self.target)[0])
        goal = next(g for g in self.goals if self.instance.label(min(g.allowed)) == label)
        self._settle(rng, goal, fresh=True)
