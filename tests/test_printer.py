"""What the commands print: the same facts in words and as JSON, numbers as numbers, no value that JSON lacks."""

import ast
import json
import math
from pathlib import Path

import pytest

from restrict.base.wording import columns
from restrict.cli.common import parts_of
from restrict.cli.printer import json_line

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
