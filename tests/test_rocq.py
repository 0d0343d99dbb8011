"""What is said of the Rocq development is what stands in its files; none of this needs Rocq."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "restrict" / "checker" / "rocq"
FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.v"))}
PAGE = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
TO_BE_READ = ("Semantics.v", "Operations.v", "Claims.v")


def test_statements_on_the_page_are_those_of_the_files() -> None:
    blocks = re.findall(r"^```text\n((?:Theorem|Definition).*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        assert any(block in text for text in FILES.values()), block


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_what_it_is_and_leaves_nothing_open(name: str) -> None:
    assert FILES[name].startswith("(** ")
    assert f"`{name}`" in PAGE
    assert not re.search(r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|bypass_check)\b", FILES[name])


@pytest.mark.parametrize("name", TO_BE_READ)
def test_what_is_to_be_read_has_no_proofs(name: str) -> None:
    assert "To be read" in FILES[name].splitlines()[0]
    assert not re.search(r"\b(Proof|Lemma|Theorem|Qed)\b", FILES[name])


def test_the_page_says_how_much_is_to_be_read() -> None:
    code = [re.sub(r"\(\*.*?\*\)", "", FILES[name], flags=re.DOTALL) for name in TO_BE_READ]
    lines = sum(bool(line.strip()) for text in code for line in text.splitlines())
    assert f"in {lines} lines without comments" in PAGE


def definitions(name: str) -> dict[str, int]:
    """The lines of each definition of a file; comments, imports and sections are none."""
    found: dict[str, int] = {}
    current = ""
    for line in re.sub(r"\(\*.*?\*\)", "", FILES[name], flags=re.DOTALL).splitlines():
        if named := re.match(r"(?:Definition|Fixpoint|Record|Inductive|with) (\w+)", line):
            current = named[1]
        elif re.match(r"(?:From|Import|Open|Section|End|Variable|Let)\b", line):
            current = ""
        if line.strip() and current:
            found[current] = found.get(current, 0) + 1
    return found


def test_the_page_names_every_definition_that_is_to_be_read() -> None:
    named: dict[str, set[str]] = {name: set() for name in TO_BE_READ}
    rows = re.findall(r"^\| [^|]+ \| `(\w+\.v)` +\| ([^|]+) \| (\d+) ", PAGE, re.MULTILINE)
    assert len(rows) == 11
    for name, listed, lines in rows:
        words = re.findall(r"`(\w+)`", listed)
        assert sum(definitions(name)[word] for word in words) == int(lines), words
        assert not named[name] & {*words}
        named[name] |= {*words}
    assert named == {name: {*definitions(name)} for name in TO_BE_READ}


def test_the_makefile_knows_every_file() -> None:
    makefile = (FOLDER / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"^PROOFS = (.*)$", makefile, re.MULTILINE)
    assert listed is not None
    assert {f"{name}.v" for name in listed[1].split()} | {"Extract.v", "Assumptions.v"} == FILES.keys()


def test_no_lemma_is_left_over() -> None:
    everything = "\n".join(FILES.values())
    names = re.findall(r"^\s*(?:Lemma|Theorem) (\w+)", everything, re.MULTILINE)
    assert len(names) > 80
    words = Counter(re.findall(r"\w+", everything))
    assert [name for name in names if words[name] < 2] == []
