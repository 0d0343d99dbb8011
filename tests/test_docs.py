"""What the documentation says is what happens: commands, Python, links, counts, samples; no formula needs a network."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import restrict
from restrict.base.errors import UsageError
from restrict.base.wording import at_least, at_most, counted, doing, percent, several
from scripts.docs_commands import blocks, pages, printed
from scripts.make_notebook import NOTEBOOK, differences, dumped, executed
from scripts.readme_commands import commands
from tests.commands import Shell, typed

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
    links = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            there = (page.parent / target).exists() or (page.parent / "schema" / Path(target).name).exists()
            assert there or target.startswith("schema/"), (page.name, target)
            links.add((page.name, target))
    assert len(links) >= 50
    assert ("README.md", "docs/index.md") in links


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


# ----------------------------------------------------------------
# README's sample output is what its command prints, byte for byte, and its commands are one line each.


README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.heavy  # by a search as users have it: a short one finds other blocks
def test_the_sample_is_what_the_first_command_prints(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    sample = re.search("## What it says\n\n```text\n(.*?)```", README, re.DOTALL)
    assert sample is not None
    assert shell.good(commands(README)[0].split("restrict ")[-1]) == sample.group(1)


def test_both_commands_begin_with_a_look_at_the_python() -> None:
    for line in commands(README):
        assert line.startswith("python3 scripts/need_python.py && python3 -m venv .venv && ")


def test_the_look_at_the_python_says_nothing_here() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "need_python.py"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


# ----------------------------------------------------------------
# Numbers with what they count: one is singular, in every line that people read.


SINGULAR = re.compile(
    r"(?<![\d.,-])1 (?:\w+ )?(?:positions|inputs|symbols|nodes|heads|layers|maps|rows|states|words)\b"
)


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("node", "nodes"), ("free input", "free inputs"), ("box", "boxes"), ("dependency", "dependencies"),
        ("day", "days"), ("class", "classes"), ("branch", "branches"),
    ],
)  # fmt: skip
def test_nouns_get_their_regular_plural(noun: str, plural: str) -> None:
    assert several(noun) == plural
    assert [counted(k, noun) for k in (0, 1, 2)] == [f"0 {plural}", f"1 {noun}", f"2 {plural}"]


def test_a_verb_follows_the_number() -> None:
    assert [doing(k, "position", "force") for k in (1, 2)] == ["1 position forces", "2 positions force"]


def test_rounded_bounds_stay_bounds() -> None:
    values = (1 / 3, 1.23456e-9, 400.01, 7.0, 0.0)
    assert [at_most(x) for x in values] == ["0.3334", "1.235e-09", "400.1", "7", "0"]
    assert [at_least(x, 3) for x in values] == ["0.333", "1.23e-09", "400", "7", "0"]
    assert [at_most(float("inf")), at_least(float("inf"))] == ["inf", "inf"]


def test_less_than_all_is_not_100_percent() -> None:
    shares = [(0, 3), (2, 3), (99_995, 10**5), (10**8 - 1, 10**8), (1, 10**8), (7, 7)]
    assert [percent(*share) for share in shares] == ["0", "66.67", "99.995", "99.999999", "1e-06", "100"]


@pytest.mark.parametrize(
    "line",
    [
        "certify induction-head -n 2", "certify contains-one -n 2", "language parity -n 1", "language 1* -n 3",
        "lower-bound contains-one -n 5", "explain contains-one --input 0100",
    ],
)  # fmt: skip
def test_one_is_singular(line: str) -> None:
    said = typed(*line.split()).output
    assert said
    assert not SINGULAR.search(said), said


@pytest.mark.parametrize(
    ("letters", "language", "hint"),
    [
        ("aAbB", "dyck:2", "'dyck[aAbB]:2', each opener followed by its closer"),
        ("aAbB", "dyck:1,depth=3", "'dyck[aAbB]:2,depth=3', each opener"),
        ("()", "dyck:2", "did you mean 'dyck:1'?"),
        ("()[]", "shuffle-dyck:1", "did you mean 'shuffle-dyck:2'?"),
        ("ab", "regex:a*", "over all of these it is 'regex[ab]:a*'"),
        ("xyz", "palindromes:ab", "over the latter it is 'palindromes:xyz'"),
        ("xyz", "dyck:1", "is in only one of them"),
        ("xyz", "parity", "is in only one of them"),
    ],
)
def test_another_alphabet_is_named(letters: str, language: str, hint: str) -> None:
    made = restrict.compile_formula("true", alphabet=tuple(letters))
    with pytest.raises(UsageError) as caught:
        restrict.refute(made, language, 6)
    assert hint in str(caught.value)
    written = re.search(r"'([^']*)'[^']*$", str(caught.value)) if "it is" in hint or "mean" in hint else None
    if written:
        assert set(restrict.language(written[1]).alphabet) == set(made.alphabet)
