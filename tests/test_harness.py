"""What the benchmarks share: processes are measured and ended, tables are Markdown, numbers are written."""

import json
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_architecture import load_script


@pytest.fixture(scope="module")
def harness() -> ModuleType:
    return load_script("harness")


def test_a_process_is_measured_and_ended(harness: ModuleType) -> None:
    script = "import os, sys; print(os.environ['COLOUR']); sys.exit('no')"
    run = harness.ended([sys.executable, "-c", script], settings={"COLOUR": "blue"})
    assert (run.code, run.out, run.err) == (1, "blue\n", "no\n")
    assert 0 < run.cpu < 60
    assert 1 < run.mebibytes < 4096
    late = harness.ended([sys.executable, "-c", "import time; time.sleep(60)"], limit=0.2)
    assert late.code < 0
    assert late.seconds < 30


def test_times_are_those_of_the_clock(harness: ModuleType) -> None:
    found, seconds = harness.timed(lambda: time.sleep(0.02) or 7)
    assert (found, seconds >= 0.02) == (7, True)
    calls: list[int] = []
    assert harness.best_of(lambda: calls.append(1), 3) >= 0
    assert len(calls) == 4


def test_tables_have_all_keys_and_numbers_of_three_digits(harness: ModuleType) -> None:
    rows = [{"n": 5, "s": 1.23456}, {"n": 6, "why": None, "x": "?"}]
    assert harness.table(rows, ["x"]) == "| n | s | why |\n|---|---|---|\n| 5 | 1.23 |  |\n| 6 |  | - |"
    assert harness.head(["n"], numbers=True) == "| n |\n| ---: |"


def test_numbers_are_written_where_a_file_is_named(harness: ModuleType, tmp_path: Path) -> None:
    options = harness.arguments("Text.").parse_args(["--quick", "-o", str(tmp_path / "o.json")])
    harness.written(options.output, [{"quick": options.quick}])
    assert json.loads((tmp_path / "o.json").read_text()) == [{"quick": True}]
    harness.written(None, [])
    with pytest.raises(SystemExit):
        harness.arguments("Text.", quick=None).parse_args(["--quick"])
