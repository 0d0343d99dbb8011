"""docs/errata.md by example: each slip of the paper's proof that shows on a small case, and that its repair works.

Positions, inputs and activations count from 0. A *ranking* is a list of activations, the one of the largest score
first; an activation is the set of inputs that feed it.
"""

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest

Activation = frozenset[int]


def sets(*inputs: str) -> list[Activation]:
    """Activations from words: "ab" is fed by the inputs a and b."""
    return [frozenset(ord(letter) - ord("a") for letter in word) for word in inputs]


def private(chosen: Sequence[Activation]) -> bool:
    """Condition (1) of Stage 2: each has an input that feeds none of the others."""
    return all(a - frozenset().union(*(b for t, b in enumerate(chosen) if t != s)) for s, a in enumerate(chosen))


def minimal(ranking: Sequence[Activation], k: int) -> list[tuple[int, ...]]:
    """Every choice that Stage 2 of the paper allows: k places with (1), the last place minimal (2)."""
    for last in range(k - 1, len(ranking)):
        found = [
            (*rest, last)
            for rest in itertools.combinations(range(last), k - 1)
            if private([ranking[place] for place in (*rest, last)])
        ]
        if found:
            return found
    return []


def greedy(ranking: Sequence[Activation], k: int, fixed: Activation = frozenset()) -> tuple[int, ...]:
    """The repair: walk down and select what has a free input that no earlier selected one has."""
    chosen: list[int] = []
    covered = fixed
    for place, inputs in enumerate(ranking):
        if len(chosen) < k and inputs - covered:
            chosen.append(place)
            covered |= inputs
    return tuple(chosen)


def union(ranking: Sequence[Activation], places: Sequence[int]) -> Activation:
    return frozenset().union(*(ranking[place] for place in places))


# ---------------------------------------------------------------- 1: k-depends


def test_a_minimal_choice_may_miss_an_input_of_a_skipped_position() -> None:
    ranking = [frozenset(s) for s in ((0, 1), (0, 2), (1, 3), (4,))]
    assert set(minimal(ranking, 3)) == {(0, 1, 3), (0, 2, 3), (1, 2, 3)}
    seen = union(ranking, range(4))
    assert seen - union(ranking, (0, 1, 3)) == {3}, "the head k-depends on input 3, which feeds no selected activation"
    assert greedy(ranking, 3) == (0, 1, 2)
    assert union(ranking, (0, 1, 2)) == {0, 1, 2, 3}


def test_the_greedy_choice_covers_what_it_passes() -> None:
    rng = random.Random(0)
    missed = 0
    for _ in range(2000):
        c, k = rng.randrange(1, 4), rng.randrange(1, 5)
        ranking = [frozenset(rng.sample(range(9), rng.randrange(1, c + 1))) for _ in range(9)]
        chosen = greedy(ranking, k)
        above = union(ranking, range(chosen[-1] + 1 if len(chosen) == k else len(ranking)))
        assert above == union(ranking, chosen)
        assert len(above) <= c * k
        for other in minimal(ranking, k):
            missed += bool(union(ranking, range(other[-1] + 1)) - union(ranking, other))
    assert missed > 100


# ---------------------------------------------------------------- 2: neighbours are events


def test_events_are_more_than_heads() -> None:
    """One head per position that reads one symbol: two events per head, and both have to be counted."""
    rng = random.Random(1)
    n, k, s = 30, 3, 2
    events = [(i, z) for i in range(n) for z in range(s)]
    depends = {event: set(rng.sample(range(n), k)) for event in events}
    worst_heads = worst_events = 0
    for event in events:
        mine = depends[event]
        others = [e for e in events if e != event and depends[e] & mine]
        heads = {i for i, _ in others} - {event[0]}
        worst_heads, worst_events = max(worst_heads, len(heads)), max(worst_events, len(others))
        assert len(others) <= s * len(heads) + s - 1
    assert worst_events > worst_heads


# ---------------------------------------------------------------- 3: eta C


def test_stage_2_needs_eta_times_C() -> None:
    """With 2^c c / k = eta, as printed, fewer than (1 - 2 eta) C n inputs stay free."""
    for C, eta, c in ((Fraction(1, 2), Fraction(1, 4), 1), (Fraction(9, 10), Fraction(1, 100), 3)):
        k = 2**c * c / eta
        assert (1 - eta) * C - Fraction(2**c * c) / k < (1 - 2 * eta) * C
        k = 2**c * c / (eta * C)
        assert (1 - eta) * C - Fraction(2**c * c) / k == (1 - 2 * eta) * C
        without_c = Fraction(2**c) / eta  # the condition 2^c / k <= eta
        assert c == 1 or (1 - eta) * C - Fraction(2**c * c) / without_c < (1 - 2 * eta) * C


# ---------------------------------------------------------------- 4: the exponent


def test_the_limit_has_the_right_value_but_not_the_right_terms() -> None:
    assert (1 - Fraction(1, 9)) ** 6 != (1 - Fraction(4, 9)) ** 3  # E = 2, k = 3
    for E in (2, 5, 40):
        for k in (50, 400):
            right, printed = (1 - 1 / k**2) ** (E * k), (1 - E**2 / k**2) ** k
            assert right > printed  # so the printed term is a valid bound as well
        k = 10**6
        assert right < (1 - 1 / k**2) ** (E * k) < 1
        assert math.isclose((1 - 1 / k**2) ** (E * k), 1, abs_tol=1e-3)
        assert math.isclose((1 - E**2 / k**2) ** k, 1, abs_tol=1e-2)


# ---------------------------------------------------------------- 5: captured once, captured for ever


def test_satisfied_is_not_monotone_in_the_papers_definition() -> None:
    """k = 2. Activation b is constant. Before, the choice is (a, b), and the pair is satisfied. Then the input a is
    fixed so that its activation falls to the end: now (bc, bd) is the only choice, and no selected one is constant."""
    constant = sets("b")[0]
    before = sets("a", "b", "bc", "bd")
    assert minimal(before, 2) == [(0, 1)]
    assert before[1] == constant
    after = sets("b", "bc", "bd", "a")
    assert minimal(after, 2) == [(1, 2)]
    assert constant not in (after[1], after[2])
    # Yet the constant key is now at the top: the head attends to it whatever the input is.
    assert after[0] == constant


def rows(
    table: Sequence[tuple[str, dict[tuple[int, ...], int]]], fixed: dict[str, int]
) -> list[tuple[int, Activation]]:
    """The ranking under a restriction: the largest score that each activation can reach, and its free inputs."""
    found = []
    for inputs, scores in table:
        free = [x for x in inputs if x not in fixed]
        reach = [
            scores.get(tuple((fixed | dict(zip(free, bits, strict=True)))[x] for x in inputs), scores[()])
            for bits in itertools.product((0, 1), repeat=len(free))
        ]
        found.append((max(reach), sets("".join(free))[0]))
    return sorted(found, key=lambda row: -row[0])


def test_the_number_of_selections_is_not_monotone_either() -> None:
    """The greedy rule, k = 2: with the input d fixed, two selections come before the constant key instead of one. The
    number of free inputs above the constant key is monotone, and that is what the bound on the dependencies needs."""
    table = [
        ("abd", {(): 1, (1, 1, 1): 10, (1, 1, 0): 4}),
        ("a", {(): 0, (1,): 6}),
        ("b", {(): 0, (1,): 5}),
        ("e", {(): 3}),
    ]
    counts = []
    for fixed in ({"e": 0}, {"e": 0, "d": 0}):
        ranking = [inputs for _, inputs in rows(table, fixed)]
        cut = ranking.index(frozenset())
        above = ranking[:cut]
        counts.append((len(greedy(above, len(above))), len(frozenset().union(*above))))
    assert counts == [(1, 3), (2, 2)]


def test_free_inputs_above_the_best_constant_key_never_grow() -> None:
    rng = random.Random(2)
    more_selections = 0
    for _ in range(1500):
        table = []
        for _ in range(6):
            inputs = "".join(sorted(rng.sample("abcde", rng.randrange(1, 4))))
            cubes = itertools.product((0, 1), repeat=len(inputs))
            # All scores differ, so that there are no ties.
            table.append((inputs, {(): 0} | {cube: rng.randrange(10**9) for cube in cubes}))
        fixed: dict[str, int] = {}
        last: tuple[int, Activation] | None = None
        for letter in rng.sample("abcde", 5):
            fixed[letter] = rng.randrange(2)
            ranking = [inputs for _, inputs in rows(table, fixed)]
            if frozenset() in ranking:
                above = ranking[: ranking.index(frozenset())]
                now = (len(greedy(above, len(above))), frozenset().union(*above))
                if last is not None:
                    assert now[1] <= last[1]
                    more_selections += now[0] > last[0]
                last = now
    assert more_selections > 0


# ---------------------------------------------------------------- 6 and 7: Corollary 2 for Dyck


def open_membership(word: Sequence[str]) -> set[bool]:
    """Which answers are possible: is the word in Dyck-1, when each * is either bracket?"""
    states: set[int | None] = {0}  # a height, or None once a closer has no opener
    for symbol in word:
        steps = {"(": (1,), ")": (-1,), "*": (1, -1)}[symbol]
        states = {None if h is None or h + d < 0 else h + d for h in states for d in steps}
    return {h == 0 for h in states}


def brute(word: Sequence[str]) -> set[bool]:
    found = set()
    for filled in itertools.product(*("()" if symbol == "*" else symbol for symbol in word)):
        height, low = 0, 0
        for symbol in filled:
            height += 1 if symbol == "(" else -1
            low = min(low, height)
        found.add(height == 0 and low == 0)
    return found


def test_open_membership_is_right() -> None:
    rng = random.Random(3)
    for _ in range(500):
        word = [rng.choice("()**") for _ in range(rng.randrange(1, 9))]
        assert open_membership(word) == brute(word)


def restricted(n: int, share: Fraction) -> Iterator[list[str]]:
    """Dyck's pre-restriction, and then every way to fix ``1 - share`` of the middle."""
    side = n // 5
    middle = n - 2 * side
    count = math.floor((1 - share) * middle)
    for places in itertools.combinations(range(side, n - side), count):
        for symbols in itertools.product("()", repeat=count):
            word = ["("] * side + ["*"] * middle + [")"] * side
            for place, symbol in zip(places, symbols, strict=True):
                word[place] = symbol
            yield word


def test_dyck_shares_add_up_to_more_than_one() -> None:
    """0.4 n fixed and 0.9 n free do not fit. Nine tenths of the other 0.6 n do, and leave membership open."""
    assert Fraction(4, 10) + Fraction(9, 10) > 1
    for n in (10, 20, 40):
        words = list(restricted(n, Fraction(9, 10)))
        assert all(open_membership(word) == {True, False} for word in words)
        assert min(word.count("*") for word in words) >= Fraction(9, 10) * Fraction(6, 10) * n


def test_one_closer_forces_non_membership() -> None:
    """So "fixing C n symbols cannot force" fails for Dyck as it stands, at every n and every share."""
    for n in (2, 10, 100):
        assert open_membership([")"] + ["*"] * (n - 1)) == {False}
        assert open_membership(["*"] * n) == {True, False}
    # With the pre-restriction one needs a linear number of symbols: a fifth of n closers, and one more.
    for n in (20, 40):
        side = n // 5
        word = ["("] * side + [")"] * (side + 1)
        assert open_membership([*word, *["*"] * (n - side - len(word)), *[")"] * side]) == {False}
        word[-1] = "*"
        assert open_membership([*word, *["*"] * (n - side - len(word)), *[")"] * side]) == {True, False}


@pytest.mark.parametrize("fixed", [0, 1, 2])
def test_few_fixed_symbols_leave_dyck_open_after_the_pre_restriction(fixed: int) -> None:
    """n = 20: every way to fix fewer than n/5 - 1 symbols of the middle."""
    middle = 12
    for word in restricted(20, 1 - Fraction(fixed, middle)):
        assert open_membership(word) == {True, False}
