"""What the documentation says is what happens: commands, Python, links; and no formula needs a network."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from scripts.docs_commands import blocks, pages, printed
from scripts.make_notebook import NOTEBOOK, differences, dumped, executed

ROOT = Path(__file__).parent.parent


@pytest.mark.heavy
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_code_of_the_page_runs_and_prints_what_it_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if "restrict report" in text:
        pytest.importorskip("jinja2")
    assert printed(text) == text


COMMAND = re.compile(r"^(\$ |>>> |restrict |python3? |\.venv/bin/|pip )", re.MULTILINE)


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.stem)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    """Code of every page is run and compared; what is not says so, with its reason; data has the name of its format."""
    for block in blocks(page.read_text(encoding="utf-8")):
        place = f"{page.name}:{block.line}"
        if block.language == "console":
            commands = [line for line in block.content.splitlines() if line.startswith("$ ")]
            assert block.content.startswith("$ "), place
            assert any("restrict " in line for line in commands), place
            assert len(commands) < len(block.content.splitlines()), f"{place}: a block has what its commands print"
        elif block.language == "json":
            json.loads(block.content)
        elif block.language == "toml":
            tomllib.loads(block.content)
        elif block.language not in ("python", "pycon") and not block.language.startswith("{"):
            assert block.excused or block.language == "text", f"{place}: say why {block.language!r} is not run"
            assert block.excused or not COMMAND.search(block.content), f"{place}: a command that is not run"


def test_wrong_code_of_a_page_is_noticed() -> None:
    """The runner itself: other output, an exit code, a failing block of each kind, and a block that is left out."""
    said = "```console\n$ restrict --version\nnothing\n```\n"
    assert printed(said).startswith("```console\n$ restrict --version\nrestrict, version ")
    assert "[exit code 3]" in printed("```console\n$ echo one; exit 3\n```\n")
    for wrong in ("```python\nassert 1 == 2\n```\n", "```pycon\n>>> 1 + 1\n3\n```\n"):
        with pytest.raises(RuntimeError, match="line 1"):
            printed(wrong)
        excused = f"*Not run by the tests: it is wrong.*\n\n{wrong}"
        assert printed(excused) == excused
    right = "```pycon\n>>> 1 + 1\n2\n```\n\n```python\nopen('x', 'w').close()\n```\n\n```python\nopen('x')\n```\n"
    assert printed(right) == right


def test_links_between_pages_lead_somewhere() -> None:
    links = 0
    for page in (ROOT / "docs").glob("*.md"):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            there = (page.parent / target).exists() or (page.parent / "schema" / Path(target).name).exists()
            assert there or target.startswith("schema/"), (page.name, target)
            links += 1
    assert links >= 50


@pytest.mark.heavy
def test_the_notebook_gives_what_it_shows() -> None:
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert differences(stored, executed(stored)) == []
    assert dumped(stored) == NOTEBOOK.read_text(encoding="utf-8"), "run scripts/make_notebook.py --write"
    shown = [output["data"] for cell in stored["cells"] for output in cell.get("outputs", ()) if "data" in output]
    kinds = {data["text/plain"][0].partition("(")[0] for data in shown if "text/html" in data}
    assert kinds == {"Model", "Certificate", "Refutation", "Automaton", "SweepResult"}


def test_a_wrong_output_of_the_notebook_is_noticed() -> None:
    def cell(source: str, given: str, *tags: str) -> dict[str, object]:
        output = {"name": "stdout", "output_type": "stream", "text": [given]}
        return {"cell_type": "code", "source": [source], "outputs": [output], "metadata": {"tags": list(tags)}}

    for source, given, tags, right in (
        ("print(1)", "1\n", (), True),
        ("print(1)", "2\n", (), False),
        ("print(1.5)", "2\n", ("times",), True),
        ("print('a 1')", "b 1\n", ("times",), False),
    ):
        document = {"cells": [cell(source, given, *tags)]}
        assert (differences(document, executed(document)) == []) is right


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
