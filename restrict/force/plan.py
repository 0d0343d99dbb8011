"""Plans: what a node costs, layer by layer, before any token is fixed.

The goal-directed search measures an alternative by meeting it. With every layer that takes several times as long, so
in deep programs it tries one alternative of nearly every goal. Here alternatives are compared by numbers, which also
takes fewer rows where rows are long. The cost of a goal is the fewest tokens of a *tree* of goals that meets it, where
nothing is shared:

- a map ``y = f(x, h_1, .., h_H)`` whose heads have the query ``x``: for every box ``Q x A_1 x .. x A_H`` on which it
  stays within its goal, the cost of ``x`` in ``Q`` and of the rows of all ``u`` in ``Q`` that have to stay in ``A_t``;
- a row: for each of its first pairs, the cost of making this pair certain and of excluding the harmful ones above it.

These are dynamic programs over sets of values. A domain has few values here, so a set is a mask, and the costs of all
sets of a node are one vector. Nodes are opened lazily, as in AO*: an unopened node counts with the mean of its
variable, the best plan of a goal is opened, up to the part with which it is dearer than another one, and this is
repeated while another plan looks better, at most ``effort`` times for each goal. What was found is kept for the next,
larger effort.

Each plan is a list of goals, and the search meets these first (``plan`` of :class:`restrict.force.goal.Manner`): goals
that share tokens cost less than planned, and where two goals contradict each other the search goes its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import islice
from math import prod

import numpy as np

from restrict.base.arrays import F64, I32, I64
from restrict.base.options import Fact
from restrict.force.goal import Goal
from restrict.force.image import mask_of
from restrict.force.options import OPTIONS
from restrict.force.state import ForcingState
from restrict.model.program import Head, Instance, Map

IMPOSSIBLE: Fact[float] = 1e12
"""The cost of a goal that cannot be met, or for which no way was found."""


Plan = dict[Goal | None, list[Goal]]
"""Goals, each with those that together meet it."""


class OutOfRows(Exception):
    """The rows that a plan may list are spent."""


def plannable(instance: Instance) -> bool:
    """Whether every map that the output reads has few boxes, and reads one variable and heads that it is the query of,
    which copy what they see."""
    variables, stack, seen = instance.model.by_name, [instance.model.output.variable], set[str]()
    while stack:
        name = stack.pop()
        if name in seen or name == "token":
            continue
        seen.add(name)
        variable = variables.get(name)
        if not isinstance(variable, Map):
            return False
        heads = [v for a in variable.args if isinstance(v := variables.get(a), Head)]
        roots = [a for a in variable.args if not isinstance(variables.get(a), Head)]
        sizes = tuple(instance.domains[a] for a in variable.args)
        if (
            len(roots) != 1
            or max(sizes) > OPTIONS.largest
            or instance.domains[name] > OPTIONS.classes
            or sides_of(sizes) is None
        ):
            return False
        if any(instance.query(h) != roots[0] or instance.key(h) != h.value for h in heads):
            return False
        stack += [roots[0], *(h.value for h in heads)]
    return True


def sides_of(sizes: tuple[int, ...]) -> list[I64] | None:
    """What :func:`_sides` gives for so many boxes as the planner allows."""
    return _sides(sizes, OPTIONS.plan_boxes)


@cache
def _sides(sizes: tuple[int, ...], most: int) -> list[I64] | None:
    """The sides that boxes have along each argument, as masks, the whole domain last: all sets, or the single values
    and all but one, or the single values; ``None``: even these make too many boxes."""
    ones = [1 << np.arange(size) for size in sizes]
    whole = [2**size - 1 for size in sizes]
    every = [np.arange(1, mask + 1) for mask in whole]
    single = [np.unique([*one, mask]) for one, mask in zip(ones, whole, strict=True)]
    but_one = [np.setdiff1d([*one, *(mask - one), mask], 0) for one, mask in zip(ones, whole, strict=True)]
    return next((sides for sides in (every, but_one, single) if prod(map(len, sides)) <= most), None)


class _Row:
    """The first pairs of a row, and the cheapest way to keep its value in each set; without pairs it is the default."""

    def __init__(self, head: Head, domain: int, pairs: list[tuple[int, int]], own: int) -> None:
        self.key, self.domain, self.own, self.default = head.value, domain, own, head.default
        self.j, self.w = [j for j, _ in pairs], np.array([w for _, w in pairs], dtype=np.int64)
        self.above, passed = np.zeros(len(pairs), dtype=np.int64), dict[int, int]()
        for t, (j, w) in enumerate(pairs):
            self.above[t] = passed.get(j, 0)
            passed[j] = passed.get(j, 0) | 1 << w
        self.kept: tuple[F64, I64] | None = None
        self.share = 0.0

    def costs(self, plans: Planner) -> tuple[F64, I64]:
        """The cost for each set, and the pair that is the anchor; kept until that of a node that it names changes."""
        if self.kept is None or self.share != plans.share:
            below = plans.matrix(self.key, self.j) if self.j else np.empty((0, 2**self.domain))
            self.kept, self.share = self.given(below), plans.share
        return self.kept

    def given(self, below: F64) -> tuple[F64, I64]:
        """The cost for each set, and the anchor; ``below``: costs of the nodes that pairs name, (pairs, 2^domain)."""
        masks, steps, bit = np.arange(2**self.domain), np.arange(len(self.j)), 1 << self.w
        if not self.j:  # nothing is seen
            return np.where(masks >> self.default & 1, 0.0, IMPOSSIBLE), np.zeros(len(masks), dtype=np.int64)
        # The harmful values among those that a pair's position has in the pairs above it, and with the pair's own.
        above, now = self.above[:, None] & ~masks, (self.above | bit)[:, None] & ~masks
        paid, due = below[steps[:, None], masks[-1] & ~above], below[steps[:, None], masks[-1] & ~now]
        anchor = below[steps, bit]
        if self.own in self.j:  # its value is the query's: certain already
            own = np.array([j == self.own for j in self.j], dtype=bool)
            anchor, due = np.where(own, 0.0, anchor), np.where(own[:, None], IMPOSSIBLE, due)
        inside = (masks & bit[:, None]) != 0
        threats = np.cumsum(np.where(inside, 0.0, due - paid), axis=0)
        found = np.where(inside, threats - paid + anchor[:, None], IMPOSSIBLE)
        cost = found.min(axis=0, initial=IMPOSSIBLE)
        cost[-1] = 0.0
        return cost, found.argmin(axis=0)

    def goals(self, plans: Planner, mask: int) -> list[Goal]:
        """What has to be met so that the value stays in a set."""
        if not self.j:
            return []
        last = int(self.costs(plans)[1][mask])
        bad: dict[int, int] = {}
        for j, w in zip(self.j[:last], self.w.tolist(), strict=False):
            if not mask >> w & 1 and j != self.j[last]:
                bad[j] = bad.get(j, 0) | 1 << w
        anchor = [(self.j[last], 1 << int(self.w[last]))] if self.j[last] != self.own else []
        wanted = [*anchor, *((j, (1 << self.domain) - 1 & ~out) for j, out in bad.items())]
        return [Goal(self.key, j, values_of(m)) for j, m in wanted]


class _Node:
    """A node of a map: its boxes, its rows as far as they were listed, and the best plans found for its goals."""

    def __init__(self, plans: Planner, variable: Map, i: int) -> None:
        self.plans, self.variable, self.i = plans, variable, i
        by_name = plans.instance.model.by_name
        self.heads = [v for a in variable.args if isinstance(v := by_name.get(a), Head)]
        (self.root,) = (a for a in variable.args if not isinstance(by_name.get(a), Head))
        self.rows: dict[tuple[int, int], _Row] = {}
        self.best: dict[int, float] = {}
        self.effort: dict[int, int] = {}

    @cached_property
    def sides(self) -> list[I64]:
        """The sides of boxes: of the root, then of every head."""
        domains = self.plans.instance.domains
        sides = sides_of((domains[self.root], *(domains[head.name] for head in self.heads)))
        assert sides is not None
        return sides

    @cached_property
    def images(self) -> I32:
        """The values that the map takes on each box, as masks; an axis of sides for the root and for every head."""
        names = [self.root, *(h.name for h in self.heads)]
        table = self.plans.instance.map_table(self.variable, self.i)
        if id(table) not in self.plans.images:
            bits = np.left_shift(1, table.transpose([self.variable.args.index(a) for a in names]), dtype=np.int32)
            for axis, masks in enumerate(self.sides):
                parts = np.moveaxis(bits, axis, 0)
                images = [np.bitwise_or.reduce(parts[list(values_of(mask))]) for mask in masks.tolist()]
                bits = np.moveaxis(np.array(images), 0, axis)
            self.plans.images[id(table)] = bits
        return self.plans.images[id(table)]

    def row(self, h: int, u: int) -> _Row:
        """A row, listed when it is first asked for."""
        if (h, u) not in self.rows:
            self.rows[h, u] = row = self.plans.list_row(self.heads[h], self.i, u)
            for j in set(row.j):
                self.plans.naming.setdefault((row.key, j), []).append(row)
        return self.rows[h, u]

    def prices(self, own: F64, rows: Sequence[Sequence[F64]]) -> F64:
        """The cost of every box, given those of the root and of the rows of each head by query value."""
        roots, *others = self.sides
        total = own[roots].reshape([-1] + [1] * len(rows))
        asked = roots[:, None] >> np.arange(len(rows[0]) if rows else 0) & 1
        for h, (costs, masks) in enumerate(zip(rows, others, strict=True)):
            sums = asked @ np.array([cost[masks] for cost in costs])
            shape = [1] * (len(rows) + 1)
            shape[0], shape[h + 1] = sums.shape
            total = total + sums.reshape(shape)
        return total

    def estimate(self) -> F64:
        """The cost of every box, where rows that are not listed count with their head's mean."""
        plans, queries = self.plans, range(self.plans.instance.domains[self.root])
        rows = [
            [self.rows[h, u].costs(plans)[0] if (h, u) in self.rows else plans.mean(head.name) for u in queries]
            for h, head in enumerate(self.heads)
        ]
        return self.prices(plans.matrix(self.root, [self.i])[0], rows)

    def cheapest(self, mask: int) -> tuple[float, list[int]]:
        """The cheapest box within a set, all rows of which are listed: its cost and its sides, the root's first."""
        inside = (self.images & ~mask) == 0
        while True:
            prices = np.where(inside, self.estimate(), np.inf)
            at = np.unravel_index(int(prices.argmin()), prices.shape)
            sides = [int(masks[t]) for masks, t in zip(self.sides, at, strict=True)]
            new = [
                (h, u)
                for h, side in enumerate(sides[1:])
                for u in values_of(sides[0])
                if side < self.sides[h + 1][-1] and (h, u) not in self.rows
            ]
            if not new:
                return float(prices[at]), sides
            for h, u in new:
                self.row(h, u)

    def plan(self, sides: list[int]) -> Plan:
        """The goals of a box: under ``None`` on the root, on rows and on heads, which rows meet; and the rows' own."""
        (first, *others), i = sides, self.i
        left_out = 2 ** self.plans.instance.domains[self.root] - 1
        plan: Plan = {None: [Goal(self.root, i, values_of(first))] if first < left_out else []}
        for h, (head, side) in enumerate(zip(self.heads, others, strict=True)):
            allowed = values_of(side)
            if len(allowed) < self.plans.instance.domains[head.name]:
                rows = {Goal(head.name, i, allowed, u): self.row(h, u) for u in sorted(values_of(first))}
                plan[None] += [*rows, Goal(head.name, i, allowed)]
                plan |= {goal: row.goals(self.plans, side) for goal, row in rows.items()}
        return plan


class Planner:
    """The costs of goals, and the plans behind them, of one instance. ``state``: lists the rows, and counts the scores;
    nothing may be fixed in it. ``most``: rows that may be listed; ``over``: whether the time is up."""

    def __init__(self, state: ForcingState, rng: np.random.Generator, most: int, over: Callable[[], bool]) -> None:
        self.state, self.instance, self.rng, self.left, self.over = state, state.instance, rng, most, over
        self.nodes: dict[tuple[str, int], _Node] = {}
        self.known: dict[tuple[str, int], F64] = {}
        self.means: dict[str, F64] = {}
        self.naming: dict[tuple[str, int], list[_Row]] = {}
        self.some: dict[str, F64] = {"token": self._token(self.state.alphabet)[None, :]}
        self.images: dict[int, I32] = {}
        self.share, self.spent = 1.0, False
        self.plans: Plan = {}

    # ------------------------------------------------------------ costs

    def matrix(self, name: str, positions: Sequence[int]) -> F64:
        """The costs of all sets of some nodes, shape (positions, 2^domain): as found, or a share of the mean."""
        if name == "token":
            return np.array([self.some["token"][0] if i not in self.state.tokens else
                             self._token(self.state.tokens[i]) for i in positions])  # fmt: skip
        found = np.repeat(self.mean(name)[None, :], len(positions), axis=0)
        for t, i in enumerate(positions):
            if (name, i) in self.known:
                known = self.known[name, i]
                found[t] = np.where(np.isnan(known), found[t], known)
        return found

    def note(self, name: str, i: int, mask: int, cost: float) -> None:
        """Keep the cost of a goal."""
        if (name, i) not in self.known:
            self.known[name, i] = np.full(2 ** self.instance.domains[name], np.nan)
        if self.known[name, i][mask] != cost:
            self.known[name, i][mask] = cost
            for row in self.naming.get((name, i), ()):
                row.kept = None

    def _token(self, values: Sequence[int]) -> F64:
        masks, possible = np.arange(2 ** len(self.state.alphabet)), mask_of(frozenset(values))
        return np.where(masks & possible == possible, 0.0, np.where(masks & possible, 1.0, IMPOSSIBLE))

    def mean(self, name: str) -> F64:
        """What a node, or a row, of a variable costs on average: the share of the mean that goals go by."""
        if name not in self.means:
            self._sample(name)
        return self.share * self.means[name]

    def _sample(self, name: str) -> None:
        """Cost a few nodes of a variable, where other nodes cost what random ones of the samples of theirs do."""
        variable, domain = self.instance.model.by_name[name], 2 ** self.instance.domains[name]
        if isinstance(variable, Head):
            query = self.instance.query(variable)
            assert query is not None
            pool = self._pool(variable.value)
            found = []
            for i in self.rng.integers(self.short.instance.n, size=OPTIONS.samples).tolist():
                row = self.list_row(variable, i, int(self.rng.integers(self.instance.domains[query])), self.short)
                found += [
                    row.given(pool[self.rng.integers(len(pool), size=len(row.j))])[0] for _ in range(OPTIONS.draws)
                ]
        else:
            assert isinstance(variable, Map)
            found = []
            for i in self.rng.integers(self.short.instance.n, size=OPTIONS.samples).tolist():
                node = _Node(self, variable, i)
                own, queries = self._pool(node.root), range(self.instance.domains[node.root])
                pools = [self._pool(head.name) for head in node.heads]
                for _ in range(OPTIONS.draws):
                    rows = [[pool[self.rng.integers(len(pool))] for _ in queries] for pool in pools]
                    prices = node.prices(own[self.rng.integers(len(own))], rows)
                    found.append(_by_image(node.images, prices, domain))
        self.some[name] = every = np.array(found)
        # Few samples of a set have a way now and then: the mean over those that have one.
        count = (every < IMPOSSIBLE).sum(axis=0)
        total = np.where(every < IMPOSSIBLE, every, 0.0).sum(axis=0)
        self.means[name] = np.where(count > 0, total / np.maximum(count, 1), IMPOSSIBLE)

    def _pool(self, name: str) -> F64:
        if name not in self.some:
            self._sample(name)
        return self.some[name]

    @cached_property
    def short(self) -> ForcingState:
        """Where samples are taken: a shorter word of the same model, if n is large."""
        if self.instance.n <= OPTIONS.plan_word:
            return self.state
        return ForcingState(self.instance.model.at(OPTIONS.plan_word))

    def list_row(self, head: Head, i: int, u: int, state: ForcingState | None = None) -> _Row:
        """The first pairs of a row."""
        self.left -= 1
        self.spent = self.left < 0 or self.over()
        if self.spent:
            raise OutOfRows
        domain = self.instance.domains[head.name]
        return _Row(head, domain, list(islice((state or self.state).walk(head, i, u), OPTIONS.plan_pairs)), i)

    # ------------------------------------------------------------ plans

    def solve(self, goal: Goal, effort: int) -> float:
        """The cost of a goal; its plan and those of all its parts are kept. ``effort``: how many plans are opened for
        this goal, and for every one below it, at most."""
        if goal.name == "token":
            return float(self.matrix("token", [goal.i])[0, mask_of(goal.allowed)])
        slot, mask = (goal.name, goal.i), mask_of(goal.allowed)
        if slot not in self.nodes:
            variable = self.instance.model.by_name[goal.name]
            assert isinstance(variable, Map)
            self.nodes[slot] = _Node(self, variable, goal.i)
        node = self.nodes[slot]
        if node.effort.get(mask, 0) >= effort:
            return node.best.get(mask, IMPOSSIBLE)
        node.effort[mask] = effort
        opened: list[Plan] = []
        left = effort
        while left > 0 and len(opened) < OPTIONS.vain * effort:
            price, sides = node.cheapest(mask)
            if price >= IMPOSSIBLE or (plan := node.plan(sides)) in opened:
                break
            opened.append(plan)
            left -= self._open(node, mask, plan, effort)
        cost = min(node.best.get(mask, IMPOSSIBLE), IMPOSSIBLE)
        self.note(*slot, mask, cost)
        return cost

    def _open(self, node: _Node, mask: int, plan: Plan, effort: int) -> bool:
        """Solve the goals of a plan, and keep the plan if it is the best; whether it can be met."""
        heads, cost = {head.name for head in node.heads}, 0.0
        for goal in (g for goals in plan.values() for g in goals if g.name not in heads):
            cost += self.solve(goal, effort)
            if cost >= node.best.get(mask, IMPOSSIBLE):
                return cost < IMPOSSIBLE
        node.best[mask] = cost
        self.plans |= {**plan, Goal(node.variable.name, node.i, values_of(mask)): plan[None]}
        return True

    def cost(self, goal: Goal) -> float:
        """The cost of the best plan so far for a goal of a map; 0 where it has not been looked at."""
        node, mask = self.nodes.get((goal.name, goal.i)), mask_of(goal.allowed)
        return node.best.get(mask, IMPOSSIBLE) if node is not None and mask in node.effort else 0.0

    def plan(self, goal: Goal) -> Sequence[Goal] | None:
        """The goals that together meet a goal as planned."""
        return self.plans.get(goal)


def _by_image(images: I32, prices: F64, domain: int) -> F64:
    """The cheapest box within each set of values."""
    found = np.full(domain, IMPOSSIBLE)
    flat = images.reshape(-1)
    np.minimum.at(found, flat, np.broadcast_to(prices, images.shape).reshape(-1))
    for bit in range(domain.bit_length() - 1):
        has = (np.arange(domain) >> bit & 1) == 1
        found[has] = np.minimum(found[has], found[np.flatnonzero(has) & ~(1 << bit)])
    return found


def values_of(mask: int) -> frozenset[int]:
    """The values of a mask."""
    return frozenset(v for v in range(mask.bit_length()) if mask >> v & 1)
