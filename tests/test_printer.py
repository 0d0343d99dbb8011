"""What is shown and kept: the same facts in words and as JSON, files that are loaded again, a notebook's picture."""

import ast
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from restrict.base.errors import ModelError
from restrict.base.strictjson import Record
from restrict.base.wording import columns
from restrict.certificate.lower_bound import Box, LowerBound
from restrict.cli.common import parts_of
from restrict.cli.printer import json_line
from restrict.soft.restriction.claim import SoftCertificate

CLI = Path(__file__).parent.parent / "restrict" / "cli"


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("s VERIFIED n=8 target=last free=7 c=0 ab", {"n": 8, "target": "last", "free": 7, "c": 0}),
        ("s VERIFIED n=8 target=3 errors>=8 refutes=0 ab", {"n": 8, "target": 3, "errors>=": 8, "refutes": "0"}),
        ("s VERIFIED all-lengths forces=1 fixed=2 n>=5 ab", {"forces": "1", "fixed": 2, "n>=": 5}),
        ("s VERIFIED n=4 probability<=1/2 ab", {"n": 4, "probability<=": "1/2"}),
        ("s VERIFIED all-lengths wrong-at=n>=5:1/2 language=a=b ab", {"wrong-at": "n>=5:1/2", "language": "a=b"}),
        ("s VERIFIED right n=0..10 cases=٣ ab", {"n": "0..10", "cases": "٣"}),
    ],
)
def test_the_parts_of_a_verdict(line: str, parts: dict[str, int | str]) -> None:
    assert parts_of(line) == parts


def test_json_has_no_number_that_is_not_finite() -> None:
    found = json.loads(json_line({"a": [1.5, math.inf], "b": {"c": (math.nan,)}, "d": "Infinity"}))
    assert found == {"a": [1.5, None], "b": {"c": [None]}, "d": "Infinity"}


def test_columns_are_two_spaces_apart() -> None:
    rows = [("n", "bound"), ("10", "1")]
    assert columns(rows) == "n   bound\n10  1"
    assert columns(rows, right=True, indent=" ") == "  n  bound\n 10      1"


def test_one_file_prints() -> None:
    """The other files of the command line hand their answers to the printer."""
    dumps = {
        path.name
        for path in sorted(CLI.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("echo") and "json" in ast.unparse(node)
    }  # fmt: skip
    assert dumps == {"printer.py"}


# ----------------------------------------------------------------
# Results with a file: what is saved is loaded again, a notebook shows them, and another format is refused.


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
