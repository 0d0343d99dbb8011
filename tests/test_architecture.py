"""The structure of the package: imports point down, no circle, no command imports another, the checker is alone."""

from __future__ import annotations

import ast
import gc
import importlib.util
import itertools
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import pytest

from restrict.cli.main import cli

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


def test_no_file_imports_itself_in_a_circle_even_for_types_but_in_two_rooms() -> None:
    """What is imported for annotations alone has to be understood, too. (A model makes instances, which have it.)"""
    files = {architecture.module_of(path) for path in (ROOT / "restrict").rglob("*.py")}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for path, node in imports():
        if isinstance(node, ast.ImportFrom):
            module, named = architecture.module_of(path), {f"{node.module}.{alias.name}" for alias in node.names}
            wanted = {inner if inner in files else str(node.module) for inner in named}
            graph.add_edges_from((module, other) for other in wanted.intersection(files) - {module, "restrict"})
    assert len(graph.edges) > 1000
    found = {architecture.room_of(module) for circle in architecture.circles(graph) for module in circle}
    assert found <= {"model", "soft"}


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


def test_a_class_of_a_room_has_a_name_of_its_own() -> None:
    """The checker has a file for each kind of proof, which share nothing but the readers."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in sorted((ROOT / "restrict").rglob("*.py")):
        for node in statements(architecture.parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault((architecture.room_of(architecture.module_of(path)), node.name), []).append(path)
    assert len(found) > 400
    twice = {room for (room, _), paths in found.items() if len(paths) > 1}
    assert twice <= {"checker", "simulate", "soft"}


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


def test_the_walk_sees_imports_inside_functions_and_not_those_for_types(tmp_path: Path) -> None:
    source = tmp_path / "sample.py"
    source.write_text(
        "from typing import TYPE_CHECKING\nimport restrict.b\n"
        "if TYPE_CHECKING:\n    from restrict.c import x\nelse:\n    from restrict.d import y\n"
        "def f():\n    from restrict.e import z\n"
    )
    modules = {f"restrict.{letter}" for letter in "bcde"}
    assert list(architecture.imports_of(source, modules)) == ["restrict.b", "restrict.d", "restrict.e"]


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
