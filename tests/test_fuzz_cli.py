"""The fuzzer of the command line, a short run; docs/soundness.md has the long one."""

from __future__ import annotations

import os
from pathlib import Path

from scripts import fuzz_cli


def test_every_command_with_bad_input_of_every_kind_ends_in_one_line(tmp_path: Path) -> None:
    here = Path.cwd()
    try:
        fuzz_cli.prepare(tmp_path)
        counts, wrong = fuzz_cli.run_lines(range(1, 200), 7, tmp_path, processes=False, tell=lambda _: None)
    finally:
        os.chdir(here)
    assert not wrong
    assert counts["exit 0"] >= 20
    assert counts["exit 2"] >= 50
    assert counts["exit 4"] >= 10


def test_the_fuzzer_sees_what_is_wrong() -> None:
    """Each fault that it looks for is found in an outcome that has it."""
    line = "restrict: no\n"
    for code, out, err, new, old in (
        (1, "", line, set(), "old"),
        ("KeyError: 1", "", line, set(), "old"),
        (0, "", "a warning\n", set(), "old"),
        (2, "", "", set(), "old"),
        (2, "", line * 2, set(), "old"),
        (2, "", "no\n", set(), "old"),
        (2, "", f"restrict: {'x' * 3000}\n", set(), "old"),
        (2, "Traceback (most recent call last)", line, set(), "old"),
        (5, "", line, {"out.json"}, "old"),
        (5, "", line, set(), "new"),
        (0, "", "", {".out.json.abc.part"}, "old"),
    ):
        found = fuzz_cli.Outcome(code, out, err, 0.1)
        assert list(fuzz_cli.faults(["certify"], found, new, old)), found
    assert not list(fuzz_cli.faults(["certify"], fuzz_cli.Outcome(3, "", line, 0.1), set(), "old"))
