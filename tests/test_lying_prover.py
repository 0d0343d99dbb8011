"""No proof of another program is accepted with a false claim, and a checker that is a little weaker is found out."""

from __future__ import annotations

import numpy as np
import pytest

from restrict.checker import all_lengths, program
from tests.lying_prover import LIES, forgeries


@pytest.mark.parametrize(("seed", "programs"), [(5, 12), pytest.param(6, 60, marks=pytest.mark.heavy)])
def test_no_false_claim_is_proved_by_another_program(seed: int, programs: int) -> None:
    counts = forgeries(np.random.default_rng(seed), programs, len(LIES))
    genuine = counts.pop("genuine")
    assert genuine["true"] + genuine["undecided"] == genuine.total() >= programs * 3 // 4
    for name, found in counts.items():
        assert found["offered"] >= programs // 3, (name, found)
        assert found["false claims"] >= programs // 20, (name, found)
        assert found["undecided"] <= programs // 12, (name, found)
    assert sum(found["false claims"] for found in counts.values()) >= 2 * programs


def better(self: all_lengths.Box, one: all_lengths.Entry, two: all_lengths.Entry) -> all_lengths.Entry:
    """The leftmost of equals, whatever the ties of the head."""
    return one or two if one is None or two is None else one if one[0] >= two[0] else two


WEAKER = {
    "boxes follow": (all_lengths.Box, "follows", lambda self, *_: True),
    "labels agree": (all_lengths.Layer, "check_labels", lambda self: None),
    "ties": (all_lengths.Box, "better", better),
    "classes": (program.Program, "fits", lambda self, form, place: form),
}


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("boxes follow", 0),
        ("labels agree", 0),
        *(pytest.param(name, 1, marks=pytest.mark.heavy) for name in ("ties", "classes")),
    ],
)
def test_a_checker_without_one_equation_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str, seed: int) -> None:
    holder, method, weaker = WEAKER[name]
    monkeypatch.setattr(holder, method, weaker)
    with pytest.raises(AssertionError, match="accepted and false"):
        forgeries(np.random.default_rng(seed), 10, len(LIES))
