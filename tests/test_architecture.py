"""The structure of the package: imports point down, no circle, the checker is alone; how much must be believed."""

from __future__ import annotations

import ast
import gc
import importlib.util
import io
import itertools
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import pytest

import restrict
from restrict.cli.main import cli
from tests import trusted as check

ROOT = Path(__file__).resolve().parent.parent


def load_script(name: str) -> ModuleType:
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


architecture = load_script("architecture")


@pytest.fixture(scope="module")
def graph() -> Any:
    """Every file of the package and what it imports. Its trees stay: the garbage collector never walks over them."""
    gc.disable()
    try:
        return architecture.import_graph()
    finally:
        gc.freeze()
        gc.enable()


def test_every_room_has_its_level(graph: Any) -> None:
    named = [room for level in architecture.LEVELS for room in level]
    assert len(named) == len(set(named))
    assert {architecture.room_of(module) for module in graph} <= set(named)


def test_rooms_stand_on_at_most_fourteen_levels(graph: Any) -> None:
    levels = list(nx.topological_generations(architecture.room_graph(graph)))
    assert 5 < len(levels) <= 14


def test_no_file_imports_itself_in_a_circle(graph: Any) -> None:
    assert architecture.circles(graph) == []


@cache
def imports() -> tuple[tuple[Path, ast.Import | ast.ImportFrom], ...]:
    """All imports of the package, those for types included, with the file of each."""
    return tuple(
        (path, node)
        for path in sorted((ROOT / "restrict").rglob("*.py"))
        for node in statements(architecture.parsed(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


@pytest.fixture(scope="module")
def graph_with_types() -> Any:
    """The same with what is imported for annotations alone."""
    return architecture.import_graph(types=True)


def test_no_file_imports_itself_in_a_circle_even_for_types(graph: Any, graph_with_types: Any) -> None:
    """What is imported for annotations alone has to be understood, too."""
    assert set(graph.edges) < set(graph_with_types.edges)
    assert architecture.circles(graph_with_types) == []


def test_no_file_imports_the_package_itself(graph_with_types: Any) -> None:
    """The names of the public API are looked up in files below; were one to look them up there, that were a circle."""
    assert "restrict" in graph_with_types
    assert list(graph_with_types.predecessors("restrict")) == []


def test_every_arrow_points_down(graph: Any) -> None:
    assert architecture.arrows_up(graph) == []


def test_the_rooms_of_soft_attention_do_not_depend_on_each_other_in_a_circle(graph: Any) -> None:
    """Weights and files below, then sets, then what is said about influence and restrictions."""
    rooms: nx.DiGraph[str] = nx.DiGraph()
    pairs = [(a.split("."), b.split(".")) for a, b in graph.edges]
    inner = [(a[2], b[2]) for a, b in pairs if len(a) > 3 and len(b) > 3 and a[1] == b[1] == "soft"]
    rooms.add_edges_from((a, b) for a, b in inner if a != b)
    assert {"models", "bounds", "influence", "restriction"} <= set(rooms)
    assert nx.is_directed_acyclic_graph(rooms)
    assert set(rooms.successors("models")) == set()


def test_no_command_imports_another_command(graph: Any) -> None:
    commands = {f"restrict.cli.{name.replace('-', '_')}" for name in cli.commands} & set(graph)
    assert len(commands) >= 12
    assert [(a, b) for a, b in graph.edges if a in commands and b in commands] == []


def test_no_file_imports_a_private_name_of_another() -> None:
    """What begins with an underscore may change without a look at other files."""
    found = []
    for path, node in imports():
        names = [alias.name for alias in node.names if getattr(node, "module", "") != "__future__"]
        private = [name for name in names if name.startswith("_") and not name.startswith("__")]
        found += [(path.name, name) for name in private if isinstance(node, ast.ImportFrom)]
    assert found == []


def test_no_file_reads_a_private_attribute_of_another() -> None:
    """Those of numba and the like are no file's of ours, and a named tuple's are its interface."""
    read, made = {}, {}
    for path in sorted((ROOT / "restrict").rglob("*.py")):
        nodes = [*ast.walk(architecture.parsed(path))]
        attributes = [node for node in nodes if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr)]
        own = {node.attr for node in attributes if ast.unparse(node.value) in ("self", "cls")}
        own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        read[path] = {node.attr for node in attributes} - own
        made[path] = own
    ours = set[str]().union(*made.values()) - {"_replace"}
    assert {path: both for path, attributes in read.items() if (both := attributes & ours)} == {}


@pytest.mark.parametrize(
    "path",
    [
        "soft/influence/theorem6.py", "simulate/lemma27.py", "simulate/theorem26.py", "simulate/lemmas_6_to_9.py",
        "depth_reduction/theorem1.py", "depth_reduction/lemma/lemma4.py", "rows/store.py", "certification.py",
        "cover/sat.py", "checker/kernel.py", "checker/rocq/Sound.v",
    ],
)  # fmt: skip
def test_what_a_reader_of_the_papers_looks_for_has_a_file_of_that_name(path: str) -> None:
    assert (ROOT / "restrict" / path).is_file()


def test_nothing_is_renamed_at_import() -> None:
    """A name is the same wherever it is read, but for the usual short ones."""
    found = []
    for path, node in imports():
        names = {alias.asname for alias in node.names if alias.asname not in (None, alias.name)} - {"np", "npt", "nx"}
        found += [(path.name, name) for name in names]
    assert found == []


@cache
def classes() -> dict[str, list[Path]]:
    """The files that define a class of each name."""
    found: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "restrict").rglob("*.py")):
        for node in statements(architecture.parsed(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(path)
    return found


def test_a_class_of_a_room_has_a_name_of_its_own() -> None:
    """The checker has a file for each kind of proof, which share nothing but the readers."""
    assert len(classes()) > 400
    for name, paths in classes().items():
        rooms = [architecture.room_of(architecture.module_of(path)) for path in paths]
        twice = {room for room in rooms if rooms.count(room) > 1}
        assert twice <= {"checker"} or name.startswith("_"), (name, paths)


def test_a_class_of_the_public_interface_has_a_name_of_its_own() -> None:
    """But for the checker, which has readers of its own for the same files, and what both rooms of importers give."""
    public = [name for name in restrict.__all__ if name in classes()]
    assert len(public) >= 30
    outside = {name: [path for path in classes()[name] if path.parent != check.FOLDER] for name in public}
    assert {name for name, paths in outside.items() if len(paths) != 1} == {"Imported"}


def test_words_that_meant_many_things_mean_one() -> None:
    """As names of classes and of types, in all rooms together."""
    names = [name for name, paths in classes().items() for _ in paths]
    for path in sorted((ROOT / "restrict").rglob("*.py")):
        given = [node for node in architecture.parsed(path).body if isinstance(node, ast.Assign)]
        names += [target.id for node in given for target in node.targets if isinstance(target, ast.Name)]
    for name in ("Search", "Program", "Layer", "Bounds", "Pair", "Box", "Exchange"):
        assert names.count(name) <= 1, name


def test_the_checker_imports_the_standard_library_only() -> None:
    checked = [(path, node) for path, node in imports() if "checker" in path.relative_to(ROOT / "restrict").parts[:-1]]
    assert len({path for path, _ in checked}) > 20
    for path, node in checked:
        named = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            named = [str(node.module)]
        outside = {name.split(".")[0] for name in named} - set(sys.stdlib_module_names)
        assert not outside, f"{path} imports {outside}"


def test_the_drawing_is_the_one_that_the_script_makes(graph: Any) -> None:
    drawn = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == architecture.drawing(graph), "run: python scripts/architecture.py --draw"


def test_the_layers_do_not_depend_on_the_order_in_which_arrows_are_read() -> None:
    """Three places add up to exactly the same mean as three others, in floats only for some orders of the terms."""
    arrows = [(a, b) for a in ("left", "right") for b in "abcde"]
    found = set()
    for order in itertools.permutations(arrows[:5]):
        graph = nx.DiGraph([*order, *arrows[5:]])
        found.add(str(architecture.layers_of(graph)))
    assert len(found) == 1


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a syntax tree; functions are never part of an expression."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.expr):
            yield inner
            yield from statements(inner)


@cache
def functions() -> tuple[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef], ...]:
    """All functions of the package, with the file and the name of each."""
    return tuple(
        (f"{path.relative_to(ROOT)}: {node.name}", node)
        for path in sorted((ROOT / "restrict").rglob("*.py"))
        for node in statements(architecture.parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_no_function_is_longer_than_sixty_lines_and_no_module_than_five_hundred() -> None:
    lines = {name: (node.end_lineno or 0) - node.lineno + 1 for name, node in functions()}
    assert len(lines) > 1000
    assert {name: count for name, count in lines.items() if count > 60} == {}
    modules = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "restrict").rglob("*.py")}
    assert {path: count for path, count in modules.items() if count > 500} == {}
    assert {path for path, count in modules.items() if count > 400 and code_lines(path) > 400} == set()


def kernels() -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that numba compiles."""
    marks = {name: [getattr(mark, "func", mark) for mark in node.decorator_list] for name, node in functions()}
    named = {name for name, used in marks.items() if any(getattr(mark, "id", "").endswith("kernel") for mark in used)}
    return {name: node for name, node in functions() if name in named}


def test_no_kernel_assigns_an_array_to_a_slice() -> None:
    """numba compiles the text of an error for two different lengths along, which takes seconds: they use ``copy``."""
    found = []
    for name, kernel in kernels().items():
        for node in (node for node in statements(kernel) if isinstance(node, ast.Assign)):
            sliced = any(isinstance(part, ast.Slice) for target in node.targets for part in ast.walk(target))
            numbers = all(isinstance(part, ast.Constant | ast.Tuple | ast.UnaryOp) for part in parts(node.value))
            found += [f"{name}: {ast.unparse(node)}"] if sliced and not numbers else []
        names = {part.attr for part in ast.walk(kernel) if isinstance(part, ast.Attribute)}
        found += [f"{name}: {numpy}" for numpy in names & {"diff", "roll"}]  # they do so within
    assert found == []


def parts(value: ast.expr) -> list[ast.expr]:
    """The expressions within an expression, itself included."""
    return [part for part in ast.walk(value) if isinstance(part, ast.expr)]


def test_no_kernel_has_more_than_twelve_arguments() -> None:
    arguments = {
        name: len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs) for name, node in kernels().items()
    }
    assert len(arguments) > 100
    assert {name: count for name, count in arguments.items() if count > 12} == {}


def test_the_walk_sees_imports_inside_functions_and_those_for_types_where_asked(tmp_path: Path) -> None:
    source = tmp_path / "sample.py"
    source.write_text(
        "from typing import TYPE_CHECKING\nimport restrict.b\n"
        "if TYPE_CHECKING:\n    from restrict.c import x\nelse:\n    from restrict.d import y\n"
        "def f():\n    from restrict.e import z\n"
    )
    modules = {f"restrict.{letter}" for letter in "bcde"}
    assert list(architecture.imports_of(source, modules)) == ["restrict.b", "restrict.d", "restrict.e"]
    assert {*architecture.imports_of(source, modules, types=True)} == modules


@pytest.mark.parametrize(("arrow", "wrong"), [(("model", "cli"), True), (("cli", "model"), False)])
def test_an_arrow_up_is_found(arrow: tuple[str, str], wrong: bool) -> None:
    graph = architecture.nx.DiGraph([(f"restrict.{arrow[0]}.a", f"restrict.{arrow[1]}.b")])
    assert bool(architecture.arrows_up(graph)) is wrong


def test_certify_goes_through_each_room_once_and_the_drawing_of_its_way_is_current(tmp_path: Path) -> None:
    """In a process of its own, since what other tests have cached would shorten the way."""
    drawn = tmp_path / "walks.svg"
    run = [sys.executable, str(ROOT / "scripts" / "walks.py"), "--draw", str(drawn)]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert drawn.read_text() == (ROOT / "docs" / "walks.svg").read_text(), (
        "python scripts/walks.py --draw docs/walks.svg"
    )


# ----------------------------------------------------------------
# How much code has to be believed, and what is said of the Rocq development; none of this needs Rocq.


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
MOST, MOST_FOR_A_PAIR = 1947, 624


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
MOST_SOFT = 849


def test_what_soft_certificates_need_beside_it_does_not_grow() -> None:
    counts = {name: code_lines(check.FOLDER / name) for name in SOFT}
    print(counts)
    assert sum(counts.values()) == MOST_SOFT, counts
    assert {path.name for path in check.FOLDER.glob("soft*.py")} == set(SOFT)
    page = (check.FOLDER.parent.parent / "docs/trusted-base.md").read_text()
    assert f"six files of {MOST_SOFT} lines of code" in page


VERDICT = ("verdict.py", "verdict_model.py", "verdict_numbers.py", "verdict_forms.py", "verdict_paths.py")
MOST_VERDICT = 1066
EVERY, MOST_EVERY = "verdict_every.py", 155
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


# ----------------------------------------------------------------
# What is said of the Rocq development is what stands in its files; none of this needs Rocq.


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
