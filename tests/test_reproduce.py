"""scripts/reproduce.py: every script that makes a figure or a table is an entry, and its arguments are taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import reproduce

ROOT = Path(__file__).resolve().parent.parent


def test_every_script_that_a_page_names_is_an_entry_or_makes_no_figure() -> None:
    scripts = {entry.script for entry in reproduce.entries().values()}
    others = {
        "need_python",
        "readme_commands",
        "release_trial",
        "reproduce",
        "screenshots",
        "architecture",
        "walks",
        "train_parity",
        "train_soft",
        "train_languages",
    }
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
    page.write_text("| a    | 12  |\n| :--- | ---: |\nsome words\n")
    assert reproduce.standing(["a  12\n", "| a | 12 |\n", "some words\n", "b  13.5\n", "\n"], [page]) == (3, 0, 4)
    page.write_text("rows 12 in 1.25 s\n")
    assert reproduce.standing(["rows  12 in 1.5 s\n", "rows 13 in 1.25 s\n"], [page]) == (0, 1, 2)


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
