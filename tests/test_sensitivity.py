"""Sensitive blocks: disjoint, with witnesses, and never more than the smallest explanation has positions."""

import numpy as np
import pytest

from restrict import UsageError, load
from restrict.optimum import sensitivity as module
from restrict.optimum.sensitivity import Sensitivity, sensitivity
from tests import naive
from tests.test_explain import CASES, Case, sufficient, word


def check(case: Case, found: Sensitivity) -> None:
    """Every block has a witness, and they are disjoint."""
    document, _, x = case
    n = naive.length(document, x)
    places, symbols = naive.letters(document, n), word(case)
    used: set[int] = set()
    for block in found.blocks:
        changed = {places[t] for t, (a, b) in enumerate(zip(symbols, block.word, strict=True)) if a != b}
        assert changed == set(block.positions)
        assert changed
        assert not changed & used
        used |= changed
        label = str(naive.labels_of(document, naive.run(document, block.word, n))[-1])
        assert block.label == label != found.label
    if found.exhausted:
        assert frozenset(used) in sufficient(case)


@pytest.mark.heavy
@pytest.mark.parametrize("length", [module.SAT_LENGTH, 0])
def test_blocks_bound_every_explanation(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAT_LENGTH", length)
    tight = 0
    for case in CASES:
        found = sensitivity(case[1], word(case))
        check(case, found)
        least = min(map(len, sufficient(case)))
        assert found.lower <= least
        assert found.exhausted == (length > 0)
        tight += found.lower == least
    assert tight > len(CASES) // 2


def test_and_of_ors_is_tight() -> None:
    model = load("and-of-ors")
    assert sensitivity(model, "1000" * 4).lower == 4
    assert sensitivity(model, "0000" + "1111" * 3).lower == 4
    assert sensitivity(model, "1" * 16).lower == 4


def test_blocks_of_long_inputs_are_disjoint_and_the_same_each_time() -> None:
    model = load("random:layers=2,seed=1")
    x = [str(a) for a in np.random.default_rng(0).integers(0, 2, 1000)]
    found = sensitivity(model, x)
    assert found.lower >= 5
    assert found == sensitivity(model, x)
    used = [i for block in found.blocks for i in block.positions]
    assert len(used) == len(set(used))
    assert sensitivity(load("and-of-ors"), "1" * 100).lower <= 10


def test_a_constant_label_has_no_blocks() -> None:
    found = sensitivity(load("anbn"), "aaa")
    assert (found.lower, found.exhausted) == (0, True)


def test_time_ends_the_search_and_wrong_arguments_are_refused() -> None:
    model = load("random:layers=2,seed=1")
    assert not sensitivity(model, "01" * 30, time=0.0).exhausted
    with pytest.raises(UsageError, match="target all"):
        sensitivity(load("tagger"), "abc", target="all")
