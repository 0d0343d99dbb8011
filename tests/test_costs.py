"""Costs claimed of every length are those of all walks: each condition of Theorem D is needed, and together they do."""

from typing import Any

import numpy as np
import pytest

from restrict.checker.account import Meter, Place, Reject
from restrict.checker.costs import INFINITE, Costs, after

FAR = 120
"""Lengths up to which a claim is compared with the walks."""


def walked(edges: list[list[int]], goals: list[int], n: int) -> list[int]:
    """The least cost of a walk to a goal, for each length up to ``n``; -1 where there is none."""
    row, found = [0] + [INFINITE] * (len(edges) - 1), []
    for _ in range(n + 1):
        found.append(min(row[v] for v in goals))
        row = after(row, edges)
    return [-1 if x == INFINITE else x for x in found]


def taken(edges: list[list[int]], goals: list[int], fields: dict[str, Any]) -> bool:
    """Whether the checker takes a claim."""
    try:
        Costs(fields, Place("c"), Meter(10**9)).check(edges, goals, 0)
    except Reject:
        return False
    return True


def true(edges: list[list[int]], goals: list[int], fields: dict[str, Any]) -> bool:
    """Whether a claim is that of the walks, as far as ``FAR``."""
    claim = Costs(fields, Place("c"), Meter(10**9))
    said = [-1 if claim.at(t) == INFINITE else claim.at(t) for t in range(FAR + 1)]
    return said == walked(edges, goals, FAR)


def claims(edges: list[list[int]], goals: list[int]) -> list[dict[str, Any]]:
    """What the first costs look like they go on with, for several beginnings and periods."""
    found, costs = [], walked(edges, goals, 60)
    for settled in (1, 2, 4, 9, 13, 25):
        for period in (1, 2, 3):
            for turn in (period, 2 * period):
                late = range(settled, settled + period)
                growth = [max(costs[t + period] - costs[t], 0) if costs[t] >= 0 else 0 for t in late]
                known = costs[: settled + period]
                found.append({"costs": known, "growth": growth, "settled": settled, "turn": turn})
    return found


def overtaken(steps: int) -> tuple[list[list[int]], list[int]]:
    """One walk pays 1 for every other edge; another pays ``steps`` at first and nothing more, but meets the first only
    in front of the goal. Node 1 leads nowhere."""
    goal, paid, loop, free, *chain = range(2, 6 + steps)
    edges = [[loop, chain[0]], [1], [1], [loop, goal], [1, paid, goal], [free, goal]]
    edges += [[1, later] for later in [*chain[1:], free]]
    return edges, [goal]


@pytest.mark.parametrize("steps", [5, 8, 20])
def test_a_walk_that_is_overtaken_later_is_not_settled(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    edges, goals = overtaken(steps)
    asked = [fields for fields in claims(edges, goals) if not true(edges, goals, fields)]
    assert asked
    assert not any(taken(edges, goals, fields) for fields in asked)
    monkeypatch.setattr(Costs, "step", lambda *_: None)
    assert any(taken(edges, goals, fields) for fields in asked)


@pytest.mark.parametrize("weaker", [None, "step", "end"])
def test_what_is_taken_is_true_at_every_length(weaker: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random graphs, and some in which one walk overtakes another; without a condition some claim is false."""
    rng, said = np.random.default_rng(3), {True: 0, False: 0}
    if weaker is not None:
        monkeypatch.setattr(Costs, weaker, lambda *_: None)
    for trial in range(20):
        count = int(rng.integers(2, 7))
        edges = [rng.choice(count, int(rng.integers(1, 4)), replace=False).tolist() if count > 3 else [1, 0]
                 for _ in range(count)]  # fmt: skip
        goals = sorted(rng.choice(count, int(rng.integers(1, 3)), replace=False).tolist())
        if trial % 10 == 0:
            edges, goals = overtaken(int(rng.integers(4, 9)))
        for fields in claims(edges, goals):
            if taken(edges, goals, fields):
                said[true(edges, goals, fields)] += 1
    assert said[True] > 30
    assert (said[False] > 0) == (weaker is not None), said
