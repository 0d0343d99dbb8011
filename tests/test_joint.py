"""Goals that recur at many positions are met together, with the fewest tokens they can share."""

import itertools

import numpy as np
import pytest

from restrict.force.goal import Goal, Manner, Solver
from restrict.force.joint import _told_apart, few_tokens, meet_together, met_together, recurring
from restrict.force.state import ForcingState
from restrict.model.program import Head, Map, Model, Output


def solver_for(score: str, n: int, symbols: dict[int, int] | None = None) -> Solver:
    """One head `h` with the given score over the tokens, ready to search."""
    variables = (Head("h", "token", score, key="token"), Map("out", ("h",), 2, "h"))
    at = Model("recurring", ("0", "1"), variables, Output("out", "every")).at(n)
    rng = np.random.default_rng(0)
    return Solver(ForcingState(at), rng, Manner((4, 2), 0.0, 10**6, joint=met_together), symbols=symbols)


def test_goals_that_rest_on_the_same_tokens_share_them() -> None:
    """`h` at i is the token at i // 3: nine goals, three tokens."""
    solver = solver_for("-abs(3 * j + 1 - i)", 12)
    goals = [Goal("out", i, frozenset((0,))) for i in range(9)]
    assert recurring(solver, goals)
    assert meet_together(solver, goals, 3)
    assert dict(solver.state.tokens) == {0: (0,), 1: (0,), 2: (0,)}
    assert all(solver.state.values("out", i) == (0,) for i in range(9))


def test_one_token_that_meets_all_is_found() -> None:
    """`h` prefers a 1 anywhere: a few 1s force every position, wherever each goal would put its own."""
    solver = solver_for("2 * k - (j + i) % 2", 10)
    goals = [Goal("out", i, frozenset((1,))) for i in range(10)]
    assert meet_together(solver, goals, 10)
    assert len(solver.state.tokens) <= 2


def test_too_many_tokens_or_forbidden_symbols_fail() -> None:
    goals = [Goal("out", i, frozenset((0,))) for i in range(9)]
    assert not meet_together(solver_for("-abs(3 * j + 1 - i)", 12), goals, 2)
    assert not meet_together(solver_for("-abs(3 * j + 1 - i)", 12, dict.fromkeys(range(12), 1)), goals, 9)


@pytest.mark.parametrize("count", [1, 3])
def test_few_goals_are_met_in_turn(count: int) -> None:
    assert not recurring(solver_for("k", 12), [Goal("out", i, frozenset((0,))) for i in range(count)])


def test_the_small_cover_is_a_cover_and_near_the_least() -> None:
    """Against brute force over all sets of tokens."""
    rng, total, least = np.random.default_rng(4), 0, 0
    for _ in range(150):
        tokens = [(i, a) for i in range(5) for a in range(2)]
        ways = [
            [frozenset(tokens[2 * i + int(rng.integers(2))] for i in rng.permutation(5)[: 1 + int(rng.integers(2))])
             for _ in range(1 + int(rng.integers(3)))]
            for _ in range(4)
        ]  # fmt: skip
        found = min((a for _ in range(5) if (a := few_tokens(ways, rng)) is not None), key=len, default=None)
        cells = itertools.product((None, 0, 1), repeat=5)
        covers = [c for c in (frozenset((i, a) for i, a in enumerate(cell) if a is not None) for cell in cells)
                  if all(any(way <= c for way in choice) for choice in ways)]  # fmt: skip
        if found is not None:
            assert found in covers
            total, least = total + len(found), least + min(map(len, covers))
    assert least <= total <= 1.15 * least


def test_a_token_is_what_most_open_goals_lack() -> None:
    """Step by step, against all that every goal lacks written down anew."""
    rng, answers = np.random.default_rng(5), 0
    for seed in range(300):
        tokens = list(itertools.product(range(12), range(2)))
        ways = [
            [frozenset(tokens[t] for t in rng.permutation(24)[: rng.integers(1, 4)]) for _ in range(rng.integers(1, 5))]
            for _ in range(rng.integers(1, 7))
        ]
        ways = [[way for way in found if len({i for i, _ in way}) == len(way)] for found in ways]
        ways = [found for found in ways if found]
        found = few_tokens(ways, np.random.default_rng(seed))
        assert found == written_anew(ways, np.random.default_rng(seed))
        answers += found is not None
    assert answers >= 100


def written_anew(
    ways: list[list[frozenset[tuple[int, int]]]], rng: np.random.Generator
) -> frozenset[tuple[int, int]] | None:
    """The greedy cover by its definition."""
    chosen: dict[int, int] = {}
    while left := [found for found in ways if not any(way <= chosen.items() for way in found)]:
        lacks = []
        for found in left:
            fits = [way for way in found if all(chosen.get(i, a) == a for i, a in way)]
            lacks.append({way.difference(chosen.items()) for way in fits})
        if not all(lacks):
            return None
        every = set().union(*lacks)
        worth = {rest: sum(rest in one for one in lacks) / len(rest) for rest in every}
        best = sorted((sorted(rest) for rest in every if worth[rest] == max(worth.values())), key=str)
        chosen.update(best[int(rng.integers(len(best)))])
    for i in list(chosen):
        rest = {(j, a) for j, a in chosen.items() if j != i}
        if all(any(way <= rest for way in found) for found in ways):
            del chosen[i]
    return frozenset(chosen.items())


def test_symbols_that_no_other_goal_tells_apart_are_listed_once() -> None:
    """As few tokens as with all of them, and many fewer ways."""
    rng, before, after = np.random.default_rng(6), 0, 0
    for _ in range(300):
        wide = [
            (int(i), sorted(rng.choice(6, size=int(rng.integers(3, 6)), replace=False).tolist()))
            for i in rng.integers(3, size=3)
        ]
        ways = [
            [frozenset((int(i), int(rng.integers(6))) for i in rng.permutation(3)[: 1 + int(rng.integers(2))])]
            for _ in range(int(rng.integers(3)))
        ]
        kept = list(_told_apart(wide, ways, int(rng.integers(10))))
        assert all(i == j and set(some) <= set(all_of) for (i, some), (j, all_of) in zip(kept, wide, strict=True))
        before, after = before + sum(len(s) for _, s in wide), after + sum(len(s) for _, s in kept)
        assert fewest([*ways, *singles(kept)]) == fewest([*ways, *singles(wide)])
    assert 2 * after <= before


def singles(goals: list[tuple[int, list[int]]]) -> list[list[frozenset[tuple[int, int]]]]:
    """Each goal's ways, one token each."""
    return [[frozenset(((i, a),)) for a in symbols] for i, symbols in goals]


def fewest(ways: list[list[frozenset[tuple[int, int]]]]) -> int | None:
    """The fewest of three tokens of six symbols that include a way of every goal, by trying all."""
    cells = itertools.product((None, *range(6)), repeat=3)
    sets = ({(i, a) for i, a in enumerate(cell) if a is not None} for cell in cells)
    return min((len(c) for c in sets if all(any(way <= c for way in found) for found in ways)), default=None)
