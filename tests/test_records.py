"""Results with a file: what is saved is loaded again, a notebook shows them, and another format is refused."""

from fractions import Fraction
from pathlib import Path

import pytest

from restrict.base.errors import ModelError
from restrict.base.strictjson import Record
from restrict.certificate.lower_bound import Box, LowerBound
from restrict.soft.restriction.claim import SoftCertificate

DIGEST = "0" * 64
BOUND = LowerBound("one & two", DIGEST, 4, "last", (Box({0: ("0",)}, {}, {"h": (3,)}),), {"accept": 2}, 1)
SOFT = SoftCertificate("m", DIGEST, 5, {1: "0", 3: "1"}, 4, "margin", Fraction(1, 100), bound=0.009, free=3)


@pytest.mark.parametrize("record", [BOUND, SOFT])
def test_a_record_is_saved_loaded_and_shown(record: Record, tmp_path: Path) -> None:
    record.save(tmp_path / "r.json")
    again = type(record).load(tmp_path / "r.json")
    assert type(again) is type(record)
    assert again.to_bytes() == record.to_bytes() == (tmp_path / "r.json").read_bytes()
    title, rows = record.facts()
    shown = record._repr_html_()
    assert title.replace("&", "&amp;") in shown
    assert shown.count("<tr>") == len(rows) + 1 >= 3, "a row for each fact, and one for the drawing"
    assert "<svg " in shown


def test_another_format_is_refused(tmp_path: Path) -> None:
    SOFT.save(tmp_path / "soft.json")
    with pytest.raises(ModelError, match=r"soft\.json: format: expected restrict-lower-bound/1, not"):
        LowerBound.load(tmp_path / "soft.json")
    (tmp_path / "b.json").write_bytes(BOUND.to_bytes().replace(b"lower-bound/1", b"lower-bound/2"))
    with pytest.raises(ModelError, match=r"b\.json: format: expected restrict-lower-bound/1, not"):
        LowerBound.load(tmp_path / "b.json")


def test_a_soft_certificate_in_words_and_as_json() -> None:
    assert SOFT.text().splitlines() == [
        "m at n = 5: fixed 2, free 3",
        "the margin moves by at most 0.009 by the propagation (not re-checked)",
        "fixed: 1:0 3:1",
    ]
    document = SOFT.document()
    assert (document["epsilon"], document["free"], document["verified"]) == ("1/100", 3, None)
