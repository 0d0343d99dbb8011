"""No proof of another program, or of other weights, is accepted with a false claim; a weaker checker is found out."""

import json
from collections import Counter

import numpy as np
import pytest

from restrict.checker import all_lengths, program
from restrict.checker.account import Reject
from restrict.checker.main import verify
from tests.fuzzing.kinds import kinds, sealed
from tests.fuzzing.kinds import originals as shared
from tests.fuzzing.verdicts import weights_changed
from tests.lying_prover import LIES, STEPS, forgeries
from tests.marks import heavy_after


@pytest.mark.parametrize("programs", heavy_after((2, 20, 60), 1))
def test_no_false_claim_is_proved_by_another_program(programs: int) -> None:
    counts = forgeries(np.random.default_rng(9 if programs == 2 else 6), programs, len(LIES))
    genuine = counts.pop("genuine")
    assert genuine["true"] + genuine["undecided"] == genuine.total() >= programs * 3 // 4
    for name, found in counts.items():
        assert found["offered"] >= programs // 3, (name, found)
        assert found["false claims"] >= programs // 20, (name, found)
        assert found["undecided"] <= max(1, programs // 12), (name, found)
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
        ("boxes follow", 3),
        ("labels agree", 0),
        *(pytest.param(name, 1, marks=pytest.mark.slow) for name in ("ties", "classes")),
    ],
)
def test_a_checker_without_one_equation_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str, seed: int) -> None:
    holder, method, weaker = WEAKER[name]
    monkeypatch.setattr(holder, method, weaker)
    with pytest.raises(AssertionError, match="accepted and false"):
        forgeries(np.random.default_rng(seed), 10, len(LIES))


@pytest.mark.parametrize("name", ["verdict", "every length"])
@pytest.mark.parametrize("originals", heavy_after((2, 24, 60), 1))
def test_no_false_verdict_is_proved_by_other_weights(name: str, originals: int) -> None:
    """A certificate that the engine made of a checkpoint is offered for some in which a few weights are others: for the
    first four, and then for those whose claim is false until there were two."""
    rng, kind, said = np.random.default_rng(originals), kinds()[name], Counter[tuple[str, bool]]()
    made = shared(name) if originals == 2 else (kind.original(rng) for _ in range(originals))
    for trial in made:
        refused = 0
        for offered in range(60):
            model = trial.model
            for _ in range(int(rng.integers(1, 9))):
                model = weights_changed(rng, model)
            forged = sealed(model, json.loads(trial.proof))
            claim = kind.judge(forged)
            if offered >= 4 and claim != "false":
                continue
            try:
                accepted = verify(forged.model, forged.proof, limit=STEPS) != ""
            except Reject:
                accepted = False
            said[claim, accepted] += 1
            refused += claim == "false"
            if refused == 2:
                break
    assert said["false", True] == 0, said
    assert said["false", False] >= originals, said
    assert said["true", True] >= originals // 4, said
