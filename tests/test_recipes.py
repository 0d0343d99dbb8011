"""The contributors' page: its names exist, and its recipes, followed for a toy, work."""

import json
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
Edit = tuple[str, str, str]
"""A file, a text in it, and what it becomes; an empty text: a new file."""

RECIPES: dict[str, list[Edit]] = {
    "A solver of the covering problem": [
        ("restrict/cover/first.py", "", '''"""Set the literals of the first cube of each pair."""

from __future__ import annotations

import numpy as np

from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution, solution_of


def first(problem: CoverProblem, budget: int | None = None) -> CoverSolution:
    """Nothing but what is needed for one cube after another, until the budget is spent."""
    core, out = problem.core, np.full(problem.core.inputs, -1, np.int64)
    most = core.inputs if budget is None else budget
    for at in range(len(core.cube_pair)):
        for literal in core.cube_lit[core.cube_ptr[at] : core.cube_ptr[at + 1]].tolist():
            if out[literal // core.symbols] < 0 and (out >= 0).sum() < most:
                out[literal // core.symbols] = literal % core.symbols
    return solution_of(problem, out, budget, "first", {})
'''),
        ("restrict/cover/solve.py", '"maxsat"]', '"maxsat", "first"]'),
        ("restrict/cover/solve.py", "from restrict.cover.greedy import greedy\n",
         "from restrict.cover.first import first\nfrom restrict.cover.greedy import greedy\n"),
        ("restrict/cover/solve.py", '        "greedy": lambda:',
         '        "first": lambda: first(problem, budget),\n        "greedy": lambda:'),
    ],
    "An importer": [
        ("restrict/importers/echo.py", "", '''"""Models that read one token: the file has the alphabet."""

from __future__ import annotations

from pathlib import Path

from restrict.importers.common import Imported
from restrict.model.fileformat import dumps, loads


def import_echo(path: str | Path) -> Imported:
    """The model that gives its last symbol."""
    symbols = Path(path).read_text(encoding="utf-8").split()
    document = {"format": "restrict-model/1", "name": "echo", "alphabet": symbols, "variables": [
        {"name": "h", "kind": "head", "key": "token", "value": "token", "score": "j"}],
        "output": {"variable": "h", "position": "last", "labels": symbols}}
    return Imported(loads(dumps(document), str(path)), ("the last symbol",))
'''),
        ("restrict/importers/__init__.py", "from restrict.importers.common import Imported\n",
         "from restrict.importers.common import Imported\nfrom restrict.importers.echo import import_echo\n"),
        ("restrict/cli/import_.py", 'KINDS = (', 'KINDS = ("echo", '),
        ("restrict/cli/import_.py", '    if kind == "b-rasp":\n', '''    if kind == "echo":
        from restrict.importers import import_echo

        return import_echo(file)
    if kind == "b-rasp":
'''),
    ],
    "A language": [
        ("restrict/languages/source.py", 'READERS: dict[str, tuple[str, str, bool, Reader]] = {\n',
         '''def _last(_rest: str, _letters: str) -> Language:
    from restrict.languages.dfa import minimal
    from restrict.languages.regular import Regular

    return Regular("ends-with-1", "ends-with-1", minimal("01", [[0, 1], [0, 1]], 0, [1]))


READERS: dict[str, tuple[str, str, bool, Reader]] = {
    "ends-with-1": ("ends-with-1", "the last symbol is 1", False, _last),
'''),
    ],
    "A command": [
        ("restrict/cli/count.py", "", '''"""The command `count`. Imported with the command line, so it stays light."""

from __future__ import annotations

from restrict.cli.common import JSON, MODEL, Given, command
from restrict.cli.printer import put


@command()
@MODEL
@JSON
def count(o: Given) -> None:
    """Count the variables of MODEL."""
    from restrict.model.source import load

    found = len(load(o.model).variables)
    put(f"{found} variables", {"variables": found}, o.as_json)
'''),
        ("restrict/cli/examples.py", 'EXAMPLES: dict[str, tuple[str, ...]] = {\n',
         'EXAMPLES: dict[str, tuple[str, ...]] = {\n    "count": ("count and-of-ors",),\n'),
        ("restrict/cli/examples.py", 'SHORT = {\n', 'SHORT = {\n    "count": "Count variables.",\n'),
    ],
    "A kind of proof": [
        ("restrict/checker/toy.py", "", '''"""How many symbols a model has (`restrict-toy/1`)."""

from __future__ import annotations

import json

from .account import Task, unproved
from .read import integer, record, thing

TOY = {"format": ("restrict-toy/1",), "model": thing, "symbols": integer(1, 1000)}


def verify(task: Task) -> str:
    """The line of success, or a rejection."""
    fields = record(task.document, TOY, task.top)
    task.meter.charge(len(task.model))
    found = len(json.loads(task.model)["alphabet"])
    if found != fields["symbols"]:
        unproved(task.top.key("symbols"), f"the model has {found}")
    return f"s VERIFIED symbols={found}"
'''),
        ("restrict/checker/main.py", "PROOFS = {\n", 'PROOFS = {\n    "restrict-toy/1": "toy",\n'),
    ],
}  # fmt: skip


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_names_every_file_that_is_touched_and_what_it_replaces_stands_once(title: str) -> None:
    """A new file stands in a folder that the recipe names; a file that is edited is named itself, or by its folder."""
    text = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    for path, old, _ in RECIPES[title]:
        folder = f"{Path(path).parent}/"
        named = f"`{path}`" in text or (f"`{folder}`" in text and (not old or f"`{Path(path).name}`" in text))
        assert named, (title, path)
        assert not old or (ROOT / path).read_text(encoding="utf-8").count(old) == 1, (path, old)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with all five additions."""
    folder = tmp_path_factory.mktemp("package")
    ignored = shutil.ignore_patterns("__pycache__", "rocq", "*.nb?")
    shutil.copytree(ROOT / "restrict", folder / "restrict", ignore=ignored)
    for edits in RECIPES.values():
        for path, old, new in edits:
            text = (folder / path).read_text(encoding="utf-8") if old else ""
            (folder / path).write_text(text.replace(old, new) if old else new, encoding="utf-8")
    return folder


def python(folder: Path, *words: str) -> tuple[int, str, str]:
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=240)
    return done.returncode, done.stdout, done.stderr


def run(folder: Path, *words: str) -> tuple[int, str, str]:
    return python(folder, "-m", "restrict", *words)


SOLVE = """from restrict.cover.problem import CoverProblem
from restrict.cover.solve import solve
found = solve(CoverProblem.from_pairs(3, 2, [[[(0, 1), (2, 0)]], [[(1, 1)]]], {}), solver='first')
print(found.status, found.count)
"""


@pytest.mark.heavy
def test_the_additions_work(copy: Path) -> None:
    assert run(copy, "count", "and-of-ors") == (0, "2 variables\n", "")
    assert json.loads(run(copy, "count", "and-of-ors", "--json")[1]) == {"variables": 2}
    assert re.search(r"count +Count variables", run(copy, "--help")[1])
    assert "ends-with-1" in run(copy, "language", "ends-with-1", "-n", "5")[1]
    (copy / "letters.txt").write_text("a b\n")
    code, out, err = run(copy, "import", "echo", "letters.txt", "-o", "echo.json")
    assert (code, err) == (0, ""), out
    assert run(copy, "run", "echo.json", "aab")[1].endswith("output: b\n")
    model = (copy / "echo.json").read_bytes()
    for symbols, expected in ((2, (0, "s VERIFIED symbols=2\n")), (3, (3, ""))):
        named = {"name": "echo", "sha256": sha256(model).hexdigest()}
        claim = {"format": "restrict-toy/1", "model": named, "symbols": symbols}
        (copy / "claim.json").write_text(json.dumps(claim))
        code, out, err = run(copy, "check", "echo.json", "claim.json")
        assert (code, out) == expected, err
    assert python(copy, "-c", SOLVE) == (0, "captured 3\n", "")


# ----------------------------------------------------------------
# The contributors' page names files and registries that exist.


PATHS = sorted(set(re.findall(r"`((?:restrict|tests|docs|scripts)/[\w./*]*)`", PAGE)))
REGISTRIES = [
    ("SolverName", "restrict/cover/solve.py"), ("solution_of", "restrict/cover/solution.py"),
    ("KINDS", "restrict/cli/import_.py"), ("LAYOUTS", "restrict/soft/importers/read.py"),
    ("assembled", "restrict/soft/importers/blocks.py"), ("READERS", "restrict/languages/source.py"),
    ("ByPattern", "restrict/languages/protocol.py"), ("BUILT_IN", "restrict/checker/refutation.py"),
    ("put", "restrict/cli/printer.py"), ("SHORT", "restrict/cli/examples.py"),
    ("EXAMPLES", "restrict/cli/examples.py"), ("SAME", "tests/test_cli.py"), ("PROOFS", "restrict/checker/main.py"),
    ("Meter", "restrict/checker/account.py"), ("Record", "restrict/base/strictjson.py"),
]  # fmt: skip


def test_every_path_of_the_page_exists() -> None:
    assert len(PATHS) > 20
    assert [path for path in PATHS if not list(ROOT.glob(path.rstrip("/")))] == []


@pytest.mark.parametrize(("name", "path"), REGISTRIES)
def test_every_registry_of_the_page_is_where_it_says(name: str, path: str) -> None:
    assert f"`{name}`" in PAGE
    assert re.search(rf"(?m)^(?:def |class )?{name}\b", (ROOT / path).read_text(encoding="utf-8"))
