"""Goals that recur at many positions, met together: the covering problem of Stage 3 inside the goal-directed search. To
capture a row, a rare value often has to be excluded at many positions at once. Met one after the other, each goal takes
what is cheapest for itself. Here every goal first lists a few ways to be met, as cubes of tokens, and the covering
solver (:mod:`restrict.cover.problem`) chooses one for each so that they share many tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from restrict.cover.greedy import greedy
from restrict.cover.local import local
from restrict.cover.problem import CoverProblem
from restrict.force.goal import Goal, Solver
from restrict.force.image import covers

LEAST = 4
"""Goals are met together where at least this many are open."""
WAYS = 4
"""Ways listed for each goal."""
SMALL, TRIES = 150, 3
"""The most literals of a small covering problem, and the number of greedy answers tried for it."""
STEPS = 2_000
"""Steps of local search in a larger one."""
MANY_SYMBOLS = 64
"""A goal on a token with more allowed symbols than this lists only one of those that no other goal tells apart."""

Tokens = frozenset[tuple[int, int]]
Steps = list[tuple[object, Sequence[int]]]


def recurring(solver: Solver, goals: Sequence[Goal]) -> bool:
    """Whether enough of the goals are open, and all near enough to the tokens for a few ways each to be cheap."""
    state = solver.state
    if len(goals) < LEAST or any(state.depth[g.name] > 1 for g in goals):
        return False
    still = (g for g in goals if not covers(g.allowed, state.values(g.name, g.i)))
    return sum(1 for _ in still) >= LEAST


def met_together(solver: Solver, goals: Sequence[Goal], limit: int) -> bool | None:
    """Meet goals together where they recur: the ``joint`` of :class:`restrict.force.goal.Manner`."""
    return meet_together(solver, goals, limit) if recurring(solver, goals) else None


def meet_together(solver: Solver, goals: Sequence[Goal], limit: int) -> bool:
    """Meet all goals with at most ``limit`` more tokens, sharing them; on failure the caller undoes what was done."""
    state = solver.state
    ways: list[dict[Tokens, Steps]] = []
    wide: list[tuple[int, list[int]]] = []
    for goal in goals:
        if goal.u is None and covers(goal.allowed, state.values(goal.name, goal.i)):
            continue
        if goal.name not in ("token", "position") and solver.holds(goal):
            continue
        if goal.name == "token" and limit > 0 and len(symbols := solver.symbols_for(goal)) > MANY_SYMBOLS:
            wide.append((goal.i, symbols))
            continue
        found = _ways(solver, goal, limit)
        if not found:
            return False
        if frozenset() in found:
            _learn(solver, found[frozenset()])
        else:
            ways.append(found)
    ways += [{frozenset(((i, a),)): [] for a in symbols} for i, symbols in _told_apart(wide, ways, solver.shift)]
    chosen = _choose(solver, [list(found) for found in ways]) if ways else frozenset()
    if chosen is None or len(chosen) > limit:
        return False
    for i, a in sorted(chosen):
        state.fix(i, a)
    for found in ways:
        _learn(solver, next(steps for way, steps in found.items() if way <= chosen))
    return True


def _told_apart(
    wide: Sequence[tuple[int, list[int]]], ways: Sequence[Iterable[Tokens]], shift: int
) -> Iterator[tuple[int, list[int]]]:
    """For goals on tokens of a large alphabet, one symbol of each class that the other goals do not tell apart. A
    second symbol of a class would be a literal with the same use as the first one, so nothing is lost without it."""
    named: dict[int, set[int]] = {}
    for i, a in chain.from_iterable(way for found in ways for way in found):
        named.setdefault(i, set()).add(a)
    sets: dict[int, list[frozenset[int]]] = {}
    for i, symbols in wide:
        sets.setdefault(i, []).append(frozenset(symbols))
    for i, symbols in wide:
        classes: dict[object, list[int]] = {}
        for a in symbols if len(sets[i]) > 1 else ():
            classes.setdefault(tuple(a in allowed for allowed in sets[i]), []).append(a)
        # The same one for all goals at a position: a class has the same symbols in each of them.
        chosen = {alike[shift % len(alike)] for alike in classes.values() or (symbols,)}
        yield i, sorted(chosen.union(named.get(i, set()).intersection(symbols)))


def _learn(solver: Solver, steps: Steps) -> None:
    """Learn again what was learnt on a way: it also holds when more tokens are fixed."""
    for key, values in steps:
        if isinstance(key, int):
            continue
        before = solver.state.values(*key)  # type: ignore[misc]
        if len(values) < len(before) and set(values).issubset(before if isinstance(before, range) else set(before)):
            solver.state.learn(key, values)  # type: ignore[arg-type]


def _choose(solver: Solver, ways: list[list[Tokens]]) -> Tokens | None:
    """Few tokens that include a way for every goal; ``None`` where none were found. Small problems, nearly all, are
    solved in plain Python: the covering solver's kernels take seconds to compile."""
    if sum(len(way) for found in ways for way in found) <= SMALL:
        solver.state.work += 100  # about what it takes, in walked pairs
        answers = [few_tokens(ways, solver.rng) for _ in range(TRIES)]
        return min((a for a in answers if a is not None), key=len, default=None)
    solver.state.work += 400
    places = sorted({i for found in ways for way in found for i, _ in way})
    index = {i: t for t, i in enumerate(places)}
    pairs = [[[(index[i], a) for i, a in way] for way in found] for found in ways]
    problem = CoverProblem.from_pairs(len(places), len(solver.state.alphabet), pairs)
    seed = int(solver.rng.integers(2**31))
    complete = [a for a in (greedy(problem, seed=seed), local(problem, seed=seed, steps=STEPS)) if a.captured.all()]
    if not complete:
        return None
    best = min(complete, key=lambda answer: answer.count)
    return frozenset((places[t], a) for t, a in enumerate(best.assignment.tolist()) if a >= 0)


def few_tokens(ways: list[list[Tokens]], rng: np.random.Generator) -> Tokens | None:
    """A randomised greedy cover: take what most open goals lack for a way, per token; in the end drop idle tokens. What
    a goal lacks is looked at again only when a token is taken at a position that one of its ways names."""
    chosen: dict[int, int] = {}
    lacks = [set(found) for found in ways]
    naming: dict[int, list[int]] = {}
    for goal, found in enumerate(ways):
        for i in {i for way in found for i, _ in way}:
            naming.setdefault(i, []).append(goal)
    shared = Counter(chain.from_iterable(lacks))
    while shared:
        most = max(count / len(rest) for rest, count in shared.items())
        equal = sorted((sorted(rest) for rest, count in shared.items() if count / len(rest) == most), key=str)
        taken = equal[int(rng.integers(len(equal)))]
        chosen.update(taken)
        for goal in {goal for i, _ in taken for goal in naming[i] if lacks[goal]}:
            fits = [way for way in ways[goal] if all(chosen.get(i, a) == a for i, a in way)]
            if not fits:
                return None
            shared.subtract(lacks[goal])
            lacks[goal] = {way.difference(chosen.items()) for way in fits}
            if frozenset() in lacks[goal]:
                lacks[goal] = set()
            shared.update(lacks[goal])
        shared = +shared
    for i in list(chosen):
        rest = frozenset((j, a) for j, a in chosen.items() if j != i)
        if all(any(way <= rest for way in ways[goal]) for goal in naming[i]):
            del chosen[i]
    return frozenset(chosen.items())


def _ways(solver: Solver, goal: Goal, limit: int) -> dict[Tokens, Steps]:
    """A few cubes of tokens that meet a goal by itself, none including another, with all that is learnt on the way."""
    if goal.name in ("token", "position"):
        return {frozenset(((goal.i, a),)): [] for a in solver.symbols_for(goal)} if limit > 0 else {}
    state, mark, before = solver.state, len(solver.state.trail), solver.state.fixed
    found: dict[Tokens, Steps] = {}
    for tried, subgoals in enumerate(solver.alternatives(goal, limit), 1):
        if solver.solve_all(subgoals, limit, before) and solver.holds(goal):
            steps = state.since(mark)
            found.setdefault(frozenset((key, values[0]) for key, values in steps if isinstance(key, int)), steps)
        state.undo(mark)
        if len(found) >= WAYS or tried >= 3 * WAYS:
            break
    return {way: steps for way, steps in found.items() if not any(other < way for other in found)}
