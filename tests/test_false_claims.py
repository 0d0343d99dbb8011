"""False claims that earlier versions verified: each is refused, with a place and a reason, by every program that can
say ``s VERIFIED``. CHANGELOG says which version verified what."""

from pathlib import Path

import pytest

from tests import naive
from tests import trusted as check
from tests.commands import typed

FOLDER = Path(__file__).parent / "corpus" / "false"
PAIRS = sorted(FOLDER.glob("*.c.json"))
PLACES = {
    "F1_min_ij": "variables[0]: positions enter in a way that is not covered",
    "F1_min_ij.differs": "variables[0]: positions enter in a way that is not covered",
    "F1b_clamp": "variables[0]: its rule grows with the position",
    "F2_decimal_literal": "epsilon: the margin is bounded by 2 only",
    "F3_even_lengths": "claim.most: a word of 2 positions can be wrong",
    "G1_overflow": "claim.from: the model is not defined at n = 5",
}


def model_of(certificate: Path) -> Path:
    """The model's file beside it."""
    stem = certificate.name.split(".")[0]
    return next(path for path in FOLDER.glob(f"{stem}.*") if path.name in (f"{stem}.m.json", f"{stem}.safetensors"))


@pytest.mark.parametrize("certificate", PAIRS, ids=lambda path: path.name.removesuffix(".c.json"))
@pytest.mark.parametrize("elaborated", [False, True], ids=["alone", "elaborated"])
def test_a_false_claim_is_refused(certificate: Path, elaborated: bool, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(model_of(certificate)), str(certificate)]
    if elaborated:
        found = typed("check", *files)
        code, out, err = found.exit_code, found.stdout, found.stderr
    else:
        code = check.main.main(files)
        out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert PLACES[certificate.name.removesuffix(".c.json")] in err


def test_every_false_claim_is_here() -> None:
    assert {path.name.removesuffix(".c.json") for path in PAIRS} == set(PLACES)


def test_the_claims_are_false() -> None:
    """By the definition of the format alone: a word that follows the pattern and has the other label."""
    assert naive.output(naive.load(FOLDER / "F1_min_ij.m.json"), "aab") == "accept"  # claimed: "* a *..." forces reject
    assert naive.output(naive.load(FOLDER / "F1b_clamp.m.json"), "aaaba") == "accept"  # "* * a *..." from n = 4 on
    # claimed: wrong at odd lengths alone. "ba" is well nested, as b opens and a closes.
    assert naive.output(naive.load(FOLDER / "F3_even_lengths.m.json"), "ba") == "reject"
    overflow = naive.load(FOLDER / "G1_overflow.m.json")  # claimed from n = 5 on
    assert naive.evaluate(overflow["variables"][0]["score"], {"j": 2}) > 2**63 - 1
