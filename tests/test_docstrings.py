"""The form of docstrings. What is public, by name or on a page, has Google sections: every argument named, every error
that is raised here declared; elsewhere a docstring is a sentence or two, and whatever sections it has are complete."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import restrict
from tests.test_architecture import architecture

ROOT = Path(__file__).resolve().parent.parent
tree_of = architecture.parsed
FILES = sorted(path for path in (ROOT / "restrict").rglob("*.py") if path.parent.name != "checker")
SECTIONS = ("Args", "Returns", "Yields", "Raises")
OLD_FORMS = re.compile(
    r"(?m)^\s*(Arguments?:|Parameters:|Raises :class:|Return:|Returns? the |Returns? an? |Yields? the )"
)


class Callable(NamedTuple):
    """A public function or method, with the place for a message."""

    place: str
    node: ast.FunctionDef
    method: bool

    @property
    def doc(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def parameters(self) -> list[str]:
        a = self.node.args
        names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
        return [name for name in names if name not in ("self", "cls")]

    @property
    def of_a_language(self) -> bool:
        return self.method and self.node.name in protocol() and self.place.startswith("restrict/languages/")

    @property
    def public(self) -> bool:
        """Whether a page lists it or its class, or it is of the public API."""
        where, _, name = self.place.partition(" ")
        module = where.partition(":")[0].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        listed = public_names().get(module, frozenset())
        return not module.startswith("restrict.") or not listed.isdisjoint((name.partition(".")[0], "*"))

    @property
    def command(self) -> bool:
        return any("click" in ast.unparse(d) or "command" in ast.unparse(d) for d in self.node.decorator_list)


@cache
def public_names() -> dict[str, frozenset[str]]:
    """What pages describe of each module, ``*`` for all of it, and what the package exports."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
    found = {
        module: frozenset(re.findall(r"\w+", members)) or frozenset("*")
        for module, members in re.findall(r"automodule:: (restrict\.[\w.]+)\n +:members:((?:.*,\n)*.*)", text)
    }
    assert len(found) == text.count("automodule:: restrict.")
    for name in restrict.__all__:
        home = getattr(getattr(restrict, name), "__module__", "")
        found[home] = found.get(home, frozenset()) | {name}
    return found


def callables() -> Iterator[Callable]:
    """The public functions of every file and the public methods of its public classes."""
    for path in FILES:
        where = path.relative_to(ROOT)
        for node in tree_of(path).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield Callable(f"{where}:{node.lineno} {node.name}", node, False)
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                        yield Callable(f"{where}:{inner.lineno} {node.name}.{inner.name}", inner, True)


@cache
def everything() -> tuple[Callable, ...]:
    """All of :func:`callables`."""
    return tuple(callables())


@cache
def protocol() -> frozenset[str]:
    """The methods of every language: their arguments, results and errors are said once, in the protocol."""
    return frozenset(item.node.name for item in everything() if item.place.endswith("Language." + item.node.name))


def section(doc: str, name: str) -> str | None:
    """The text of one section, or None."""
    found = re.search(rf"(?ms)^{name}:\n(.*?)(?=^\S|\Z)", doc)
    return None if found is None else found.group(1)


def named(text: str) -> set[str]:
    """The names before the colons of a section's entries."""
    names = re.findall(r"(?m)^ {4}(\S[^:\n]*):", text)
    return {part.strip("*` ") for name in names for part in name.split(",")}


def raised_here(node: ast.FunctionDef) -> set[str]:
    """The error classes that a function raises by name, in its own body."""
    inner = {id(x) for f in ast.walk(node) if f is not node and isinstance(f, ast.FunctionDef) for x in ast.walk(f)}
    found = set()
    for x in ast.walk(node):
        if id(x) not in inner and isinstance(x, ast.Raise) and isinstance(x.exc, ast.Call):
            name = ast.unparse(x.exc.func)
            if name in ("UsageError", "ModelError", "NotEstablished", "ResourceLimit"):
                found.add(name)
    return found


def complaints(item: Callable) -> Iterator[str]:
    """What is wrong with one docstring."""
    doc = item.doc
    if not doc:
        yield "has no docstring"
        return
    if item.command:
        return
    if item.of_a_language and "protocol.py" not in item.place:
        if any(section(doc, name) for name in SECTIONS):
            yield "repeats what the protocol Language says"
        return
    if OLD_FORMS.search(doc):
        yield "has a section in another form than Args / Returns / Raises"
    order = [SECTIONS.index(m) for m in re.findall(r"(?m)^(Args|Returns|Yields|Raises):$", doc)]
    if order != sorted(order):
        yield "has its sections in another order than Args, Returns, Raises"
    arguments = section(doc, "Args")
    if arguments is not None and set(item.parameters) - named(arguments):
        yield f"does not describe {', '.join(sorted(set(item.parameters) - named(arguments)))}"
    missing = raised_here(item.node) - named(section(doc, "Raises") or "") if item.public else set()
    if missing:
        yield f"raises {', '.join(sorted(missing))} and does not say so"


def test_every_public_module_and_class_says_what_it_is_for() -> None:
    silent = []
    for path in FILES:
        tree = tree_of(path)
        public = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        silent.extend(
            f"{path.relative_to(ROOT)} {getattr(node, 'name', '')}"
            for node in (tree, *public)
            if not ast.get_docstring(node)
        )
    assert silent == []


def test_public_is_what_a_page_lists_or_the_package_exports() -> None:
    public = {(item.place.partition(":")[0], item.place.partition(" ")[2]) for item in everything() if item.public}
    listed, helpers = "restrict/model/restriction.py", "restrict/depth_reduction/lemma/selection.py"
    assert {(listed, "Restriction.of"), ("restrict/depth_reduction/lemma/lemma4.py", "reduce_layer")} <= public
    assert not {(helpers, "selection"), (helpers, "Selection.first"), ("restrict/base/errors.py", "quote")} & public
    assert ("restrict/certification.py", "certify") in public
    assert ("restrict/certification.py", "force_output") not in public


def test_docstrings_of_public_functions_have_one_form() -> None:
    assert len(everything()) > 400
    assert sum(item.public for item in everything()) > 150
    wrong = [f"{item.place} {text}" for item in everything() for text in complaints(item)]
    assert not wrong, f"{len(wrong)} docstrings:\n" + "\n".join(wrong)


@cache
def documented() -> tuple[tuple[Path, ast.AST, str], ...]:
    """Every docstring of the package, with its file and what it describes. Expressions have none and are left out."""
    found = []
    for path in sorted((ROOT / "restrict").rglob("*.py")):
        left: list[ast.AST] = [tree_of(path)]
        while left:
            node = left.pop()
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (doc := ast.get_docstring(node)):
                found.append((path, node, doc))
            for name in ("body", "orelse", "finalbody", "handlers"):
                parts = getattr(node, name, None)
                left += parts if isinstance(parts, list) else []
    return tuple(found)


SAME = re.compile(
    r"(The same(?! \w)|The same (for|where|by|as|in|of|with|without|under|backwards)\b|As (at|above)\b|Likewise"
    r"|As in the|See the base|Of the whole|In words\.)"
)


def test_a_docstring_does_not_lean_on_the_one_before_it() -> None:
    """Whoever jumps to a function reads its docstring alone."""
    assert SAME.match("The same for an array.")
    assert SAME.match("The same, sorted.")
    assert SAME.match("Of the whole drawing.")
    inside = [(path, doc) for path, node, doc in documented() if not isinstance(node, ast.Module)]
    assert [f"{path.relative_to(ROOT)}: {doc}" for path, doc in inside if SAME.match(doc)] == []


CODE = re.compile("^>>>| = |  ")
"""In lines that are not prose."""


def broken(lines: list[str], width: int = 100) -> Iterator[int]:
    """The lines of prose that end long before the margin although the next word of the sentence would fit."""
    for at, (line, after) in enumerate(pairwise(lines)):
        word = re.match(r"``[^`]*``\S*|[a-z:(]\S*", after)
        prose = line and line[-1] not in ".:" and not line[0].isspace() and not CODE.search(line)
        if prose and word and len(line) + len(word[0]) < width:
            yield at


def test_no_paragraph_of_a_docstring_is_broken_in_the_middle_of_a_line() -> None:
    wrong, seen, files = [], 0, set(FILES)
    for path, node, text in documented():
        if path in files:
            lines, indent = text.splitlines(), getattr(node, "col_offset", -4) + 4
            seen += 1
            wrong += [f"{path.relative_to(ROOT)}: {lines[at]}" for at in broken(lines, 100 - indent)]
    assert seen > 1500
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (["A line that ends", "too early."], [0]), (["A sentence.", "another"], []), (["x" * 96, "fits"], []),
        (["Args:", "  n: the length", "  model: it"], []), (["x", "", "y"], []),
    ],
)  # fmt: skip
def test_a_broken_paragraph_is_found(text: list[str], lines: list[int]) -> None:
    assert list(broken(text)) == lines


def test_the_public_api_describes_arguments_results_and_errors() -> None:
    api = [getattr(restrict, name) for name in restrict.__all__ if name.islower() and not name.startswith("_")]
    homes = {value.__name__: value.__module__.replace(".", "/") + ".py" for value in api}
    functions = {(item.place.split(":")[0], item.node.name): item for item in everything() if not item.method}
    assert len(homes) >= 20
    wrong = []
    for name, home in sorted(homes.items()):
        item = functions[home, name]
        need = (["Args"] if item.parameters else []) + ["Returns", "Raises"]
        wrong.extend(f"{name}: no {part}" for part in need if section(item.doc, part) is None)
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def f(a):\n    pass", "has no docstring"),
        ('def f(a, b):\n    """X.\n\n    Args:\n        a: one.\n    """', "does not describe b"),
        ('def f():\n    """X."""\n    raise UsageError("x")', "raises UsageError and does not say so"),
        ('def f(a):\n    """X.\n\n    Arguments:\n        a: one.\n    """', "another form"),
        ('def f(a):\n    """X.\n\n    Raises:\n        ModelError: x.\n\n    Args:\n        a: one.\n    """', "order"),
    ],
)
def test_a_wrong_docstring_is_found(source: str, text: str) -> None:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    assert any(text in complaint for complaint in complaints(Callable("here", node, False)))
