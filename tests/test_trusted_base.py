"""How much code has to be believed, counted without comments, blank lines and docstrings."""

import ast
import io
import tokenize
from pathlib import Path

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
