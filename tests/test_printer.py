"""What is shown and kept: the same facts in words and as JSON, files that are loaded again, a notebook's picture."""

import ast
import json
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from restrict.base.errors import ModelError
from restrict.base.strictjson import Record
from restrict.base.wording import columns
from restrict.certificate.lower_bound import Box, LowerBound
from restrict.cli.common import parts_of
from restrict.cli.printer import json_line
from restrict.cli.terminal import wrapped
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
    title, rows, _ = record.facts()
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


# ----------------------------------------------------------------
# What a real terminal gets (a pseudo-terminal of so many columns), and what a pipe gets.


ROOT = Path(__file__).parent.parent
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CERTIFY = ("certify", "contains-one", "-n", "50")


def on_terminal(columns: int, *words: str, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command whose streams are terminals."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    sides = [pty.openpty(), pty.openpty()]
    for _, inner in sides:
        termios.tcsetwinsize(inner, (40, columns))
    known = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "CI")}
    process = subprocess.Popen(
        [sys.executable, "-m", "restrict.cli", *words],
        stdin=sides[0][1],
        stdout=sides[0][1],
        stderr=sides[1][1],
        env={**known, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **environment},
        cwd=ROOT,
    )
    for _, inner in sides:
        os.close(inner)
    with ThreadPoolExecutor() as pool:  # both at once: a terminal that nobody reads blocks who writes
        streams = list(pool.map(everything, (outer for outer, _ in sides)))
    return process.wait(), streams[0], streams[1]


def everything(descriptor: int) -> str:
    """All that comes until the other side is closed, with the line ends of a file."""
    parts = []
    try:
        while part := os.read(descriptor, 65536):
            parts.append(part)
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(descriptor)
    return b"".join(parts).decode().replace("\r\n", "\n")


def piped(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "restrict.cli", *words], capture_output=True, text=True, cwd=ROOT, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "40", "FORCE_COLOR": ""},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def test_lines_break_at_spaces_below_the_value() -> None:
    text = "  fixed   4 of 100 positions, 94 free\n  optimum 4 fixed positions (exact)\nplain words that go on and on"
    assert wrapped(text, 24).split("\n") == [
        "  fixed   4 of 100", "    positions, 94 free", "  optimum 4 fixed", "    positions (exact)",
        "plain words that go on", "  and on",
    ]  # fmt: skip
    assert wrapped("  fixed   4 of 100 positions, 94 free", 30).split("\n") == [
        "  fixed   4 of 100 positions,",
        "          94 free",
    ]
    assert wrapped("x" * 100, 30) == "x" * 100
    assert wrapped(text, 19) == text
    for width in range(20, 90):
        assert wrapped(text, width).split() == text.split()
        assert all(len(line) <= width for line in wrapped(text, width).split("\n"))


@pytest.mark.heavy
def test_results_are_wrapped_and_coloured_on_a_terminal_only() -> None:
    plain = piped(*CERTIFY)
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) > 140
    for width in (50, 120):
        code, out, _ = on_terminal(width, *CERTIFY)
        assert code == 0
        assert "\x1b[32m\x1b[1ms VERIFIED\x1b[0m" in out
        lines = ESCAPE.sub("", out).splitlines()
        assert " ".join(lines).split() == plain.split()
        assert all(len(line) <= width or " " not in line.strip() for line in lines)
        assert len(lines) > len(plain.splitlines())


@pytest.mark.heavy
@pytest.mark.parametrize("quiet", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_switched_off(quiet: dict[str, str]) -> None:
    _, out, _ = on_terminal(200, *CERTIFY, **quiet)
    assert out == piped(*CERTIFY)
    code, _, err = on_terminal(200, "certify", "none", "-n", "5", **quiet)
    assert (code, err.startswith("restrict: 'none' is neither")) == (2, True)
    assert "\x1b" not in err


@pytest.mark.heavy
def test_errors_are_wrapped_and_json_and_verdicts_are_not(tmp_path: Path) -> None:
    code, out, err = on_terminal(50, "certify", "none", "-n", "5")
    assert (code, out) == (2, "")
    assert err.startswith("\x1b[31m\x1b[1mrestrict:\x1b[0m 'none' is")
    assert all(len(line) <= 50 for line in ESCAPE.sub("", err).splitlines())
    assert len(err.splitlines()) > 5
    file = str(tmp_path / "c.json")
    _, out, _ = on_terminal(50, *CERTIFY, "-o", file, "--json")
    assert out.count("\n") == 1
    _, out, _ = on_terminal(50, "check", "contains-one", file)
    assert out == piped("check", "contains-one", file)


@pytest.mark.heavy
def test_progress_is_seen_on_a_terminal_and_leaves_nothing_behind() -> None:
    code, out, err = on_terminal(100, "certify", "parity-attempt", "-n", "60")
    assert code == 0
    assert "parity-attempt, n = 60" in err
    assert "\x1b[?25h" in err, "the cursor is shown again"
    assert "parity-attempt, n" not in out
