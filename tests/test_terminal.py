"""What a real terminal gets (a pseudo-terminal of so many columns), and what a pipe gets."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from restrict.cli.terminal import wrapped

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
    for columns in (50, 120):
        code, out, _ = on_terminal(columns, *CERTIFY)
        assert code == 0
        assert "\x1b[32m\x1b[1ms VERIFIED\x1b[0m" in out
        lines = ESCAPE.sub("", out).splitlines()
        assert " ".join(lines).split() == plain.split()
        assert all(len(line) <= columns or " " not in line.strip() for line in lines)
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
