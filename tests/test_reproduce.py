"""scripts/reproduce.py and what the benchmarks share: entries for every figure, processes that end, tables, numbers."""

import json
import re
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from scripts import reproduce
from tests.test_architecture import load_script

ROOT = Path(__file__).resolve().parent.parent


def test_every_script_that_a_page_names_is_an_entry_or_makes_no_figure() -> None:
    scripts = {entry.script for entry in reproduce.entries().values()}
    others = {
        "need_python", "readme_commands", "release_trial", "reproduce", "reproduce_log", "screenshots",
        "architecture", "walks", "shapes", "train_parity", "train_soft", "train_languages",
    }  # fmt: skip
    others |= {path.stem for path in (ROOT / "scripts").glob("make_*.py")}
    others |= {path.stem for path in (ROOT / "scripts").glob("train_*.py")}
    for page in sorted((ROOT / "docs").glob("*.md")):
        for name in re.findall(r"scripts/([a-z0-9_]+)\.py", page.read_text(encoding="utf-8")):
            assert name in scripts | others, (page.name, name)
    assert len({entry.name for entry in reproduce.KNOWN}) == len(reproduce.KNOWN)
    for entry in reproduce.entries().values():
        assert entry.says.endswith("."), entry.name


def test_options_of_the_entries_are_options_of_the_scripts() -> None:
    for entry in reproduce.KNOWN:
        files = [ROOT / "scripts" / f"{name}.py" for name in (entry.script, "harness")]
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        for words in (*entry.full, entry.quick):
            for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", words):
                assert f'"{option}"' in text, (entry.name, option)


def test_lines_are_looked_for_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| a    | 12  |\n| :--- | ---: |\nsome words\nrows 12 in 1.25 s\n")
    found = {"same": 3, "decimals": 0, "numbers": 0, "absent": 1}
    assert reproduce.standing(["a  12\n", "| a | 12 |\n", "some words\n", "b  13.5\n", "\n"], [page]) == (found, [])
    found = {"same": 0, "decimals": 1, "numbers": 1, "absent": 1}
    other = [("rows 13 in 1.25 s", "rows 12 in 1.25 s")]
    lines = ["rows  12 in 1.5 s\n", "rows 13 in 1.25 s\n", "no rows in 1.25 s\n"]
    assert reproduce.standing(lines, [page]) == (found, other)


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Three entries of toy scripts: one that prints, one that fails once, one that does not end."""
    for name, body in (
        ("good", "print('one 1')\nprint('two 2.5')\nprint('six 6')\nprint('newer')"),
        ("once", "import pathlib, sys\np = pathlib.Path(__file__).with_suffix('.ran')\n"
                 "code = not p.exists()\np.touch()\nsys.exit(code)"),
        ("long", "import time\ntime.sleep(60)"),
    ):  # fmt: skip
        (tmp_path / f"{name}.py").write_text(f'"""A script."""\n{body}\n')
    (tmp_path / "page.md").write_text("good.py\n\none 1\ntwo 2.0\nsix 7\n")
    monkeypatch.setattr(reproduce, "SCRIPTS", tmp_path)
    monkeypatch.setattr(reproduce, "DOCS", tmp_path)
    monkeypatch.setattr(reproduce, "KNOWN", [reproduce.Entry(name, name, quick="-q") for name in ("good", "once")])
    return {"log": str(tmp_path / "log.md")}


def test_the_log_grows_in_pieces(
    scripts: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Path(scripts["log"])

    def cells(name: str) -> list[str]:
        line = next(line for line in log.read_text().splitlines() if line.startswith(f"| {name} |"))
        return [cell.strip() for cell in line.strip("|").split("|")]

    assert reproduce.main(["--all", "--log", str(log)]) == 1  # `once` fails
    assert cells("good")[2:4] == [reproduce.version(), reproduce.datetime.date.today().isoformat()]
    assert cells("good")[5:] == ["1", "1", "1", "1", "ok"]
    assert cells("once")[5:] == ["0", "0", "0", "0", "exit 1"]
    said = capsys.readouterr().out
    assert "printed  six 6\n   the page six 7" in said
    assert "1 of 4 runs are logged as good" in said
    assert reproduce.main(["--all", "--log", str(log)]) == 0  # only `once`, and now it is good
    said = capsys.readouterr().out
    assert ("== once" in said, "== good" in said) == (True, False)
    assert cells("once")[-1] == "ok"
    assert reproduce.main(["--all", "--log", str(log)]) == 0
    assert "==" not in capsys.readouterr().out
    assert reproduce.main(["good", "--log", str(log)]) == 0
    assert "== good" in capsys.readouterr().out
    assert reproduce.main(["--quick", "good", "--log", str(log)]) == 0
    assert "2 of 2" not in log.read_text()
    assert "not yet" in log.read_text()  # `once` on less


def test_a_run_that_is_stopped_is_left_out_under_the_same_limit(
    scripts: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduce, "KNOWN", [reproduce.Entry("long", "long")])
    words = ["--all", "--log", scripts["log"], "--limit"]
    assert reproduce.main([*words, "0.6"]) == 1
    assert "stopped after 1 s" in Path(scripts["log"]).read_text()
    capsys.readouterr()
    assert reproduce.main([*words, "1"]) == 0
    assert "== long" not in capsys.readouterr().out
    monkeypatch.setattr(reproduce, "run", lambda *_: (None, []))
    assert reproduce.main([*words, "1.6"]) == 1
    assert "stopped after 2 s" in Path(scripts["log"]).read_text()


def test_the_log_has_a_row_for_every_run() -> None:
    log = ROOT / "docs" / "reproduced.md"
    runs, rows = reproduce.runs(reproduce.entries()), reproduce.read(log)
    assert reproduce.page(runs, rows) == log.read_text(encoding="utf-8"), "run reproduce.py --all or --quick --log"
    known = {(name, words) for name, words, _ in runs}
    assert {key for key, row in rows.items() if row.commit} <= known


def test_figures_are_compared_byte_by_byte(tmp_path: Path) -> None:
    right = ROOT / "docs" / "figures" / "paper-1.svg"
    (tmp_path / "paper-1.svg").write_bytes(right.read_bytes())
    assert reproduce.compared(tmp_path) == (0, "1 figure, all as in docs/figures")
    (tmp_path / "paper-1.svg").write_bytes(right.read_bytes() + b" ")
    assert reproduce.compared(tmp_path)[0] == 1


def test_all_entries_are_listed_and_other_names_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce.main(["no-such"]) == 2
    assert "no such entry: no-such" in capsys.readouterr().err
    assert reproduce.main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"{name} " in listed for name in reproduce.entries())


# ----------------------------------------------------------------
# What the benchmarks share: processes are measured and ended, tables are Markdown, numbers are written.


@pytest.fixture(scope="module")
def harness() -> ModuleType:
    return load_script("harness")


def test_every_benchmark_stands_on_the_harness() -> None:
    files = sorted((ROOT / "scripts").glob("bench_*.py"))
    assert len(files) > 20
    assert all(re.search("^(from|import) harness", path.read_text(encoding="utf-8"), re.MULTILINE) for path in files)


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
