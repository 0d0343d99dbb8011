"""Goal-directed capture: force the output by working backwards (theory of the project, section 6).

A goal is that the value set of a node lies within a given set. It is met

- at a token: by fixing the position;
- at a map: by goals on its arguments that keep them in a box on which the map stays in the set;
- at a head: by fixing its query, or by one *row goal* for each value of the query;
- for a row: by an **anchor** pair that is made certain (so nothing below it can win) and by making harmless every pair
  above it: its key value is excluded, or its value is forced.

This is an AND/OR search with shared costs: a goal that the tokens fixed so far already meet is free. Alternatives are
tried, measured by the tokens they fix, undone, and the cheapest is replayed; ``widths`` bound how many are tried, by
the depth of the goal's variable: trying more near the tokens is cheap and helps every goal above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from restrict.force.boxes import BoxFinder, Wish, feasible, look
from restrict.force.first_layer import FirstLayer
from restrict.force.growth import maximal_boxes
from restrict.force.image import apart, combinations, covers, meet, rest_of
from restrict.force.options import OPTIONS
from restrict.force.state import ForcingState, Sides
from restrict.model.program import Head, Map


class Goal(NamedTuple):
    """V(name, i) within ``allowed``; with ``u`` set, only for the row of query value ``u`` of head ``name``."""

    name: str
    i: int
    allowed: frozenset[int]
    u: int | None = None


class Guard(Protocol):
    """A condition on restrictions that is lost when too much is fixed: membership in a language stays open."""

    def allows(self, state: ForcingState, i: int, symbol: int) -> bool:
        """Whether position ``i`` may be fixed to the symbol besides what is fixed; may err towards true."""

    def accepts(self, fixed: Mapping[int, int]) -> bool:
        """Whether the condition holds (exactly) when these positions are fixed besides the pinned ones."""


class OutOfBudget(Exception):
    """The step budget of a search is spent."""


Choose = Callable[["Solver", Goal, int], bool]
"""Meets a goal by one of its alternatives, with at most so many more tokens."""


@dataclass(frozen=True)
class Manner:
    """How one search goes, and how long.

    Attributes:
        widths: how many alternatives are tried, by the depth of a goal's variable.
        noise: the relative error put on prices, at least 0.
        work: the effort allowed, in units of :attr:`ForcingState.work`.
        scores: the most scores that it may compute; ``None``: no such bound.
        wide: the model has wide domains: alternatives are priced before they are tried.
        plan: the goals that meet a goal as planned (:mod:`restrict.force.plan`), which are tried first.
        choose: how one alternative is chosen (:mod:`restrict.force.committed`); ``None``: by trying ``widths``.
        close: priced boxes look below nodes of at most this depth.
        first: exact prices of nodes of the first layer, by variable.
    """

    widths: tuple[int, ...]
    noise: float
    work: int
    scores: int | None = None
    wide: bool = False
    plan: Callable[[Goal], Sequence[Goal] | None] | None = None
    choose: Choose | None = None
    close: int = field(default_factory=lambda: OPTIONS.close)
    first: Mapping[str, FirstLayer] = field(default_factory=dict)


def _no_tick() -> None:
    """Do nothing, where no progress is wanted."""


class Solver:
    """One search over a :class:`ForcingState`, deterministic for a generator ``rng``. ``tick`` is called now and then.
    With ``symbols`` a position may only be fixed to its symbol there; with ``guard`` only to what the guard allows, and
    ``guarded`` more anchors are looked at. ``prices`` are kept from one search to the next."""

    def __init__(
        self,
        state: ForcingState,
        rng: np.random.Generator,
        manner: Manner,
        *,
        tick: Callable[[], None] = _no_tick,
        symbols: Mapping[int, int] | None = None,
        guard: Guard | None = None,
        guarded: int | None = None,
        prices: dict[Wish, float] | None = None,
    ) -> None:
        self.state, self.rng, self.tick = state, rng, tick
        self.widths, self.noise, self.wide = manner.widths, manner.noise, manner.wide
        self.symbols, self.guard = symbols, guard
        self.plan, self.choose = manner.plan, manner.choose
        self.guarded = 0 if guard is None else OPTIONS.guarded_anchors if guarded is None else guarded
        self.last_work = state.work + manner.work
        self.last_score = None if manner.scores is None else state.scores + manner.scores
        self.pending_cap = 20_000
        self.shift = int(rng.integers(0, 1 << 16))
        self.failed: dict[Goal, tuple[int, int, object]] = {}
        self.variables = state.instance.model.by_name
        self.estimate = cache(self._estimate)
        self.finder = BoxFinder(state, rng, manner.noise, symbols, prices, manner.close, manner.first)

    def _width(self, name: str) -> int:
        """How many alternatives to try for a goal on this variable: ``widths[d]`` at depth d + 1, the last beyond."""
        return self.widths[min(max(self.state.depth[name] - 1, 0), len(self.widths) - 1)]

    def _estimate(self, name: str) -> float:
        """A rough number of tokens that force a node of this variable, to order alternatives by."""
        if name == "token":
            return 1.0
        if name == "position":
            return 0.0
        variable = self.variables[name]
        if isinstance(variable, Map):
            return sum(self.estimate(a) for a in variable.args) or 0.1
        key = self.state.instance.key(variable)
        return 0.2 + max(self.estimate(key) if key else 0.0, self.estimate(variable.value))

    def solve(self, goal: Goal, limit: int) -> bool:
        """Meet a goal with at most ``limit`` more tokens; where that fails the caller undoes the state."""
        state = self.state
        if goal.u is None and covers(goal.allowed, state.values(goal.name, goal.i)):
            return True
        if goal.name in ("token", "position"):
            return self._fix(goal, limit)
        if state.work > self.last_work or (self.last_score is not None and state.scores > self.last_score):
            raise OutOfBudget
        self.tick()
        state.work += len(goal.allowed) // OPTIONS.values_a_step
        if self.holds(goal):
            return True
        if limit <= 0 or apart(goal.allowed, state.values(goal.name, goal.i)) or self._has_failed(goal, limit):
            return False
        mark = len(state.trail)
        if self._choose(goal, limit) if self.choose is None else self.choose(self, goal, limit):
            return True
        self.failed[goal] = (limit, mark, state.trail[mark - 1] if mark else None)
        return False

    def _has_failed(self, goal: Goal, limit: int) -> bool:
        """Whether the goal failed before with as many tokens to spend, on a part of the present trail. What cannot be
        met cannot be met after more has been fixed; what was merely not found is not looked for again in this
        branch."""
        spent, mark, entry = self.failed.get(goal, (-1, 0, None))
        trail = self.state.trail
        return spent >= limit and len(trail) >= mark and (mark == 0 or trail[mark - 1] is entry)

    def symbols_for(self, goal: Goal) -> list[int]:
        """The symbols that a position may be fixed to for a goal on its token; none where it is fixed already."""
        if goal.name == "position" or goal.i in self.state.tokens:
            return []
        symbols = sorted(goal.allowed.intersection(self.state.alphabet))
        return symbols if self.symbols is None else [a for a in symbols if a == self.symbols[goal.i]]

    def _fix(self, goal: Goal, limit: int) -> bool:
        symbols = self.symbols_for(goal)
        if limit < 1 or not symbols:
            return False
        if self.guard is not None:
            symbols = [a for a in symbols if self.guard.allows(self.state, goal.i, a)]
            if not symbols:
                return False
        self.state.fix(goal.i, symbols[self.shift % len(symbols)])
        return True

    def holds(self, goal: Goal) -> bool:
        """Examine the node (or row) under the present tokens."""
        variable = self.variables[goal.name]
        if goal.u is None:
            return covers(goal.allowed, self.state.examine(variable, goal.i))
        assert isinstance(variable, Head)
        if len(goal.allowed) == self.state.instance.domains[variable.value]:
            return True
        copies = variable.value == self.state.instance.key(variable)
        for steps, (j, w) in enumerate(self.state.walk(variable, goal.i, goal.u)):
            if copies and steps == OPTIONS.long_walk and self.state.indexable:
                return covers(goal.allowed, self.state.key_values(variable, goal.i, goal.u))
            if not self._harmless(variable, goal, j, w):
                return False
        return True

    def _choose(self, goal: Goal, limit: int) -> bool:
        """Try the first ``width`` alternatives that succeed and keep the cheapest."""
        state, mark, before = self.state, len(self.state.trail), self.state.fixed
        best: list[tuple[object, Sequence[int]]] | None = None
        width = self._width(goal.name)
        for tried, subgoals in enumerate(self.alternatives(goal, limit), 1):
            if self.solve_all(subgoals, limit, before) and self.holds(goal):
                best, limit = state.since(mark), state.fixed - before - 1
            state.undo(mark)
            if limit < 0 or (best is not None and tried >= width) or tried >= max(4 * width + 4, self.guarded):
                break
        if best is None:
            return False
        state.replay(best)
        return True

    def solve_all(self, subgoals: list[Goal], limit: int, before: int) -> bool:
        """Meet all goals in turn, with at most ``limit`` tokens beyond ``before``."""
        return all(self.solve(g, limit - (self.state.fixed - before)) for g in subgoals)

    def alternatives(self, goal: Goal, limit: int) -> Iterator[list[Goal]]:
        """The ways to reach a goal, best first: each a list of goals that together suffice."""
        planned = self.plan(goal) if self.plan is not None else None
        if planned is not None:
            yield list(planned)
        variable = self.variables[goal.name]
        if isinstance(variable, Map):
            yield from self._map_boxes(variable, goal)
        else:
            yield from self._head_rows(variable, goal) if goal.u is None else self._anchors(variable, goal, limit)

    # ------------------------------------------------------------ maps

    def _map_boxes(self, variable: Map, goal: Goal) -> Iterator[list[Goal]]:
        """Boxes of argument values on which the map stays within the goal, cheapest first."""
        found = [self.state.values(a, goal.i) for a in variable.args]
        if combinations(found) > (OPTIONS.image if not self.wide else OPTIONS.priced):
            yield from self._wide_boxes(variable, goal)
            return
        sets = [list(values) for values in found]
        good = np.isin(self.state.block(variable, goal.i, sets), list(goal.allowed))
        costs = [self.estimate(a) for a in variable.args]
        slot = (good.shape, good.tobytes(), tuple(costs))
        self.state.work += 20
        if slot not in self.state.boxes:
            self.state.work += 300
            self.state.boxes[slot] = maximal_boxes(*slot)
        boxes = {box: self._box_cost(box, sets, costs) for box in self.state.boxes[slot]}
        for box in sorted(boxes, key=lambda b: boxes[b]):
            goals = [
                (costs[a], a, Goal(name, goal.i, frozenset(sets[a][t] for t in box[a])))
                for a, name in enumerate(variable.args)
                if len(box[a]) < len(sets[a])
            ]
            yield [g for _, _, g in sorted(goals, key=lambda c: c[:2])]

    def _wide_boxes(self, variable: Map, goal: Goal) -> Iterator[list[Goal]]:
        """Goals of boxes where the product is too large to tabulate: single values, or all of them, sampled."""
        finder = self.finder
        first = finder.roots(variable)
        for box in finder.boxes(variable, goal.i, goal.allowed, 4 * self._width(variable.name) + 4):
            goals = [Goal(a, goal.i, frozenset((v,))) for a, v in zip(variable.args, box.sides, strict=True) if v >= 0]
            yield sorted(goals, key=lambda g: g.name not in first)

    def _box_cost(self, box: Sides, sets: list[list[int]], costs: list[float]) -> float:
        cost = sum(
            c * (1 - 0.5 * (len(side) - 1) / len(s))
            for side, s, c in zip(box, sets, costs, strict=True)
            if len(side) < len(s)
        )
        return cost * (1 + self.noise * float(self.rng.random()))

    # ------------------------------------------------------------ heads

    def _head_rows(self, head: Head, goal: Goal) -> Iterator[list[Goal]]:
        """Fix the query to one value and capture its row, or capture the rows of all its values."""
        query = self.state.instance.query(head)
        if query is None:
            yield [Goal(head.name, goal.i, goal.allowed, 0)]
            return
        if len(self.state.values(query, goal.i)) > OPTIONS.image:
            return
        possible = list(self.state.values(query, goal.i))
        if len(possible) > 1:
            for u in self.rng.permutation(possible).tolist() if self.noise else possible:
                yield [Goal(query, goal.i, frozenset((u,))), Goal(head.name, goal.i, goal.allowed, u)]
        yield [Goal(head.name, goal.i, goal.allowed, u) for u in possible]

    def _harmless(self, head: Head, goal: Goal, j: int, w: int) -> bool:
        """Whether a win of the pair gives an allowed value."""
        if head.value == self.state.instance.key(head):
            return w in goal.allowed
        if j == goal.i and head.value == self.state.instance.query(head):
            return goal.u in goal.allowed
        return covers(goal.allowed, self.state.values(head.value, j))

    def _anchors(self, head: Head, goal: Goal, limit: int) -> Iterator[list[Goal]]:
        """Alternatives for one row: an anchor and what has to be excluded above it, or exclusions alone. A pair with
        nothing harmful above it is as good an anchor as the first: noisy passes look at up to ``free_anchors`` of them
        and also try the leftmost, the rightmost and a random one, since nodes at the ends of the word are often cheaper
        to force."""
        found: list[tuple[float, int, list[Goal]]] = []
        wanted = self._width(head.name) + (self.guarded or 1)
        threats: dict[int, list[int]] = {}
        seen: dict[int, list[int]] = {}
        key = self.state.instance.key(head)
        assert goal.u is not None
        one_each = key == head.value and self.state.depth[head.value] == 0  # every threat takes a token of its own
        cap = min(limit, self.pending_cap) if one_each else self.pending_cap
        for steps, (j, w) in enumerate(feasible(self.state, head, goal.i, goal.u)):
            seen.setdefault(j, []).append(w)
            harmless = self._harmless(head, goal, j, w)
            anchor = self._anchor(head, goal, key, j, seen[j], harmless)
            others = [self._exclude(head, goal, key, p, bad) for p, bad in threats.items() if p != j] if anchor else []
            if anchor is not None and all(others) and all(map(self._possible, anchor)):
                goals = [*anchor, *(g for g in others if g)]
                found.append((self._price(goals) * (1 + self.noise * float(self.rng.random())), j, goals))
            if not harmless:
                threats.setdefault(j, []).append(w)
            go_on = self.noise and not threats and steps < OPTIONS.free_anchors
            if (len(found) >= wanted and not go_on) or max(len(threats), steps // 4) > cap:
                break
        else:
            last = [self._exclude(head, goal, key, p, bad) for p, bad in threats.items()]
            if all(last):
                found.append((self._price([g for g in last if g]), -1, [g for g in last if g]))
        for price, _, goals in sorted(self._sample(found, wanted), key=lambda f: f[:2]):
            if not self.state.wide or price <= OPTIONS.too_much * max(limit, 1):
                yield goals

    def _possible(self, goal: Goal) -> bool:
        """Whether the node's values do not exclude a goal; maps, and the maps that they read, are examined first. An
        impossible anchor would use up one of the few alternatives that are tried."""
        look(self.state, goal.name, goal.i)
        return not apart(goal.allowed, self.state.values(goal.name, goal.i))

    def _sample(self, found: list[tuple[float, int, list[Goal]]], wanted: int) -> list[tuple[float, int, list[Goal]]]:
        if len(found) <= wanted + 3:
            return found
        rest = sorted(found[wanted:], key=lambda f: f[1])
        return [*found[:wanted], rest[0], rest[-1], rest[int(self.rng.integers(len(rest)))]]

    def _price(self, goals: list[Goal]) -> float:
        if self.wide:
            return sum(self.finder.price(g.name, g.i, g.allowed) for g in goals)
        return sum(self.estimate(g.name) for g in goals)

    def _anchor(
        self, head: Head, goal: Goal, key: str | None, j: int, seen: list[int], harmless: bool
    ) -> list[Goal] | None:
        """Goals that make position ``j`` reach at least the present pair, with an allowed value."""
        goals = []
        if key is not None and not (j == goal.i and key == self.state.instance.query(head)):
            allowed = goal.allowed.intersection(seen) if head.value == key else frozenset(seen)
            if not allowed:
                return None
            goals.append(Goal(key, j, frozenset(allowed)))
        if head.value != key and not harmless:
            if apart(goal.allowed, self.state.values(head.value, j)):
                return None
            goals.append(Goal(head.value, j, goal.allowed))
        elif not harmless and not goals:
            return None
        return goals

    def _exclude(self, head: Head, goal: Goal, key: str | None, j: int, bad: list[int]) -> Goal | None:
        """A goal that makes the pairs ``(j, bad)`` impossible, or else their value allowed; ``None`` if none does."""
        if head.value != key:
            possible = meet(goal.allowed, self.state.values(head.value, j))
            rest = rest_of(self.state.values(key, j), bad) if key else frozenset()
            if possible and (not rest or self.estimate(head.value) <= self.estimate(key or "token")):
                return Goal(head.value, j, goal.allowed)
        elif key is None or (j == goal.i and key == self.state.instance.query(head)):
            return None
        else:
            rest = rest_of(self.state.values(key, j), bad)
        return Goal(key, j, rest) if rest and key else None
