"""How much code has to be believed, and what is said of the Rocq development; none of this needs Rocq."""

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from tests import trusted as check

SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(path: Path) -> int:
    """The lines that have code on them."""
    text = path.read_text()
    bare = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    strings = [node for node in bare if isinstance(node.value, ast.Constant)]
    doc = {line for node in strings for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in SKIPPED]
    return len({line for t in tokens for line in range(t.start[0], t.end[0] + 1)} - doc)


PARTS = {
    "kernel": ("kernel.py", "tree.py"), "its two files": ("normal_form.py", "proof.py"),
    "claims": ("one_length.py", "lower.py"), "the users' files": ("read.py", "tensors.py", "rules.py", "formats.py"),
    "refutations and bounds": ("refutation.py", "lower_bound.py"),
    "the command": ("account.py", "main.py", "__main__.py"),
}  # fmt: skip
"""All that can print `s VERIFIED` or set the exit code for a certificate, a refutation or a lower bound."""
MOST, MOST_FOR_A_PAIR = 1944, 615


def test_what_decides_on_one_length_does_not_grow() -> None:
    counts = {part: sum(code_lines(check.FOLDER / name) for name in names) for part, names in PARTS.items()}
    pair = counts["kernel"] + counts["its two files"]
    print(counts)
    assert (sum(counts.values()), pair) == (MOST, MOST_FOR_A_PAIR), counts
    page = (check.FOLDER.parent.parent / "docs/trusted-base.md").read_text()
    rows = [row.split("|")[1:3] for row in page.splitlines() if row.startswith("| `")]
    listed = {tuple(name.strip("` ") for name in names.split(",")): count.strip() for names, count in rows}
    for part, names in PARTS.items():
        assert listed[names] == str(counts[part]), part
    text = " ".join(page.split())
    assert f"have {MOST} lines of code together" in text
    assert f"the account and the command line, have {pair}." in text


def test_the_files_of_a_claim_about_one_length_import_no_others() -> None:
    """What was counted is all: everything that these files import is among them."""
    named = {name for names in PARTS.values() for name in names}
    for name in named:
        for node in ast.walk(ast.parse((check.FOLDER / name).read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert f"{node.module}.py" in named, (name, node.module)


SOFT = ("soft.py", "soft_model.py", "soft_terms.py", "soft_sets.py", "soft_layers.py", "soft_run.py")
MOST_SOFT = 848


def test_what_soft_certificates_need_beside_it_does_not_grow() -> None:
    counts = {name: code_lines(check.FOLDER / name) for name in SOFT}
    print(counts)
    assert sum(counts.values()) == MOST_SOFT, counts
    assert {path.name for path in check.FOLDER.glob("soft*.py")} == set(SOFT)
    page = (check.FOLDER.parent.parent / "docs/trusted-base.md").read_text()
    assert f"six files of {MOST_SOFT} lines of code" in page


VERDICT = ("verdict.py", "verdict_model.py", "verdict_numbers.py", "verdict_forms.py", "verdict_paths.py")
MOST_VERDICT = 1060
EVERY, MOST_EVERY = "verdict_every.py", 153
SECOND, MOST_SECOND = "verdict_second.py", 255


def test_what_verdicts_need_beside_it_does_not_grow() -> None:
    counts = {name: code_lines(check.FOLDER / name) for name in VERDICT}
    print(counts)
    assert sum(counts.values()) == MOST_VERDICT, counts
    assert {path.name for path in check.FOLDER.glob("verdict*.py")} == {*VERDICT, EVERY, SECOND}
    page = (check.FOLDER.parent.parent / "docs/soft-verdicts.md").read_text()
    assert f"five files of {MOST_VERDICT} lines of code" in " ".join(page.split())
    assert code_lines(check.FOLDER / EVERY) == MOST_EVERY
    assert f"one more of {MOST_EVERY} lines" in " ".join(page.split())
    assert code_lines(check.FOLDER / SECOND) == MOST_SECOND
    assert f"a file of {MOST_SECOND} lines" in " ".join(page.split())


def test_the_trusted_base_uses_the_standard_library_alone() -> None:
    import sys

    paths = list(check.FOLDER.glob("*.py"))
    assert len(paths) >= 15
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert all(name.split(".")[0] in sys.stdlib_module_names for name in names), (path.name, names)


# ----------------------------------------------------------------
# What is said of the Rocq development is what stands in its files; none of this needs Rocq.


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
