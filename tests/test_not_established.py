"""Places of the checker that say "not established" and that mutants seldom come to: each with its words."""

import pytest

from restrict.checker.account import Reject
from restrict.checker.main import verify
from tests.fuzzing.kinds import Trial, sealed
from tests.test_account import FORCES, LAST, proof
from tests.test_how_wrong import COPIES, EVERY, cost, deviates
from tests.wrong_ways import Document, everywhere, model


def with_score(score: object) -> Trial:
    """The proof of what a model says that copies the last token, for a model with another score."""
    head = {**LAST["variables"][0], "key": "token", "score": score}
    return proof(FORCES, {**LAST, "variables": [head]})


def claimed(document: Document, claim: Document) -> Trial:
    """A claim of anybody's, with the engine's layers."""
    return sealed(*everywhere(document, claim))


EVEN = {"name": "o", "kind": "map", "args": ["token"], "domain": 2, "map": "token and n % 2 == 0"}
AT_EVEN = {**model(), "variables": [EVEN], "output": {"variable": "o", "position": "last", "accept": [1]}}
CASES: dict[str, Trial] = {
    "a table over positions is not covered": with_score({"table": {"axes": ["j"], "values": [0, 1, 2, 3]}}),
    "mixes an order by j with other functions": with_score("j if k else j % 1"),
    "weighs j against the key": with_score("j if k else 2 * j"),
    "with a constant in one branch and with i or n in another": with_score("i + j if k else 0"),
    "at some positions above and at others below a constant": with_score("j if k else 3"),
    "no claim is about lengths below 1": claimed(model(), cost([1], [0], 0)),
    "a set that is reached at one length is not a turn later": claimed(AT_EVEN, cost([-1, -1, 1], [0], 2)),
    "it has no state for the word": claimed(EVERY, deviates({**COPIES, "left": [[-1, -1]]}, "ab", 1)),
    "claim.machine: it has no state for the word": claimed(EVERY, deviates({**COPIES, "right": [[-1, -1]]}, "ab", 0)),
}


@pytest.mark.parametrize("words", CASES)
def test_it_is_not_established_for_this_reason(words: str) -> None:
    trial = CASES[words]
    with pytest.raises(Reject) as caught:
        verify(trial.model, trial.proof)
    assert caught.value.code == 3
    assert words in str(caught.value)
