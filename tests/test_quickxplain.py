"""QuickXplain against all parts, and as the first proposal of an explanation."""

from itertools import combinations

import numpy as np
import pytest

import restrict
from restrict.force.looking import Looking
from restrict.optimum.quickxplain import quickxplain

Cube = dict[int, int]


@pytest.mark.parametrize("seed", range(40))
def test_the_part_is_minimal_and_prefers_early_positions(seed: int) -> None:
    """Over random monotone tests: the sets that pass are those that include one of a few sets."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    passing = [set(rng.choice(size, size=int(rng.integers(0, size + 1)), replace=False).tolist()) for _ in range(3)]
    passing.append(set(range(size)))
    order = rng.permutation(size).tolist()

    def test(cube: Cube) -> Cube | None:
        return cube if any(one <= cube.keys() for one in passing) else None

    found = quickxplain(test, {i: i for i in range(size)}, order)
    assert test(found) is not None
    assert all(test({j: j for j in found if j != i}) is None for i in found)
    # The last position kept is as early in the order as that of any part that passes.
    last = max((order.index(i) for i in found), default=-1)
    parts = [
        part
        for k in range(size + 1)
        for part in combinations(range(size), k)
        if any(one <= set(part) for one in passing)
    ]
    assert last == min(max((order.index(i) for i in part), default=-1) for part in parts)


@pytest.mark.heavy
def test_no_explanation_is_larger_than_five_orders_of_quickxplain() -> None:
    model, n = restrict.load("random:layers=2,heads=4,states=4,seed=1008"), 200
    word = [model.alphabet[a] for a in np.random.default_rng(1008).integers(0, 2, n)]
    found = restrict.explain(model, word)[0]
    symbols = {i: model.alphabet.index(a) for i, a in enumerate(word)}
    runs = Looking(model.at(n), n - 1)
    label = runs.labels(symbols)

    def test(cube: Cube) -> Cube | None:
        return cube if runs.labels(cube) == label else None

    rng = np.random.default_rng(0)
    orders = [list(symbols), list(symbols)[::-1], *(rng.permutation(n).tolist() for _ in range(3))]
    assert found.weight <= min(len(quickxplain(test, symbols, order)) for order in orders)
    assert found.certificate is not None
