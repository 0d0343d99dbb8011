"""What the documentation says is what happens: commands, Python, links; and no formula needs a network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.docs_commands import BLOCK, pages, printed

ROOT = Path(__file__).parent.parent
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.heavy
@pytest.mark.parametrize("page", list(pages()), ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert printed(text) == text


@pytest.mark.heavy
def test_python_of_the_how_to_pages_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = PYTHON.findall((ROOT / "docs" / "howto.md").read_text(encoding="utf-8"))
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "howto.md", "exec"), {})


def test_every_block_has_a_command_and_its_output() -> None:
    blocks = 0
    for page in pages():
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            assert block.startswith("$ restrict ")
            assert any(not line.startswith("$ ") for line in block.splitlines()), (page, block)
            blocks += 1
    assert blocks >= 10


def test_links_between_pages_lead_somewhere() -> None:
    links = 0
    for page in (ROOT / "docs").glob("*.md"):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            there = (page.parent / target).exists() or (page.parent / "schema" / Path(target).name).exists()
            assert there or target.startswith("schema/"), (page.name, target)
            links += 1
    assert links >= 50


WIDTH = 100
"""Characters of a line of prose; tables, code and words that cannot be broken may be longer."""


@pytest.mark.parametrize("path", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda path: path.name)
def test_lines_of_prose_are_wrapped_to_one_width(path: Path) -> None:
    long, code = [], False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        whole = line.startswith(("|", "#")) or re.search(r"`|\]\(|\$", line) is not None
        if len(line) > WIDTH and not code and not whole:
            long.append(f"{path.name}:{number}: {len(line)} characters")
    assert long == []
