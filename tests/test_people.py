"""What stands between a user and the answer: messages that say what to do next, names that are completed at once."""

import json
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import restrict
from restrict.base.errors import ModelError, UsageError
from restrict.base.wording import DISTRIBUTION, install
from restrict.cli import names
from restrict.cli.main import for_the_shell
from restrict.languages.dfa import Dfa
from restrict.languages.source import READERS
from restrict.model.source import GENERATORS
from restrict.report.figure import figure_of_dfa
from restrict.soft.models.source import GENERATORS as SOFT
from tests.commands import Shell
from tests.marks import heavy_after

ROOT = Path(__file__).resolve().parent.parent


def test_the_checker_says_how_to_write_a_built_in_model(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "restrict.checker", "random:layers=2,seed=1", "c.json"],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    said = "random:layers=2,seed=1: cannot be read: No such file or directory; `restrict new NAME -o FILE`"
    assert said in done.stderr


def test_errors_in_python_speak_of_python_and_are_value_errors() -> None:
    model = restrict.load("contains-one")
    with pytest.raises(ValueError, match='use `target="last"`') as caught:
        restrict.certify(model, 5, target="all")
    assert isinstance(caught.value, UsageError)
    with pytest.raises(UsageError, match="neither a file nor a built-in model"):
        restrict.load("/nowhere/at/all.json")
    assert not issubclass(ModelError, ValueError)


def test_the_command_line_speaks_of_options(shell: Shell) -> None:
    assert "use --target last" in shell.bad(2, "certify", "contains-one", "-n", 5, "--target", 2)
    assert for_the_shell('`how="temperature"` or a smaller `free`') == "--how temperature or a smaller --free"
    assert for_the_shell("`restrict check` and `time.py`") == "`restrict check` and `time.py`"


def test_every_named_argument_has_its_option() -> None:
    """A message may name an argument in backquotes only if the command line knows its option."""
    found = set()
    for path in (ROOT / "restrict").rglob("*.py"):
        if "cli" not in path.parts and "checker" not in path.parts:
            found |= set(re.findall(r"`(\w+)=\\?\"[\w-]+\\?\"`", path.read_text(encoding="utf-8")))
    from restrict.cli.main import ARGUMENTS

    assert {"target", "self_rule", "how"} <= found & set(ARGUMENTS)


def test_two_results_do_not_go_to_one_file(tmp_path: Path, shell: Shell) -> None:
    certificate, both = tmp_path / "c.json", tmp_path / "both.svg"
    shell.good("certify", "and-of-ors", "-n", 9, "-o", certificate)
    said = shell.bad(2, "report", certificate, "-o", both, "--figure", both)
    assert "--output and --figure would both be written there; name two files" in said
    assert not both.exists()


def test_a_front_has_a_figure(tmp_path: Path, shell: Shell) -> None:
    drawn, again = tmp_path / "drawn.svg", tmp_path / "again.svg"
    words = ("certify", "parity-attempt", "-n", 4, "--pareto", "--figure")
    for path in (drawn, again):
        shell.good(*words, path)
    assert drawn.read_bytes() == again.read_bytes()
    assert "x.gif: a figure is an .svg, a .pdf or a .png file" in shell.bad(2, *words, tmp_path / "x.gif")


def test_what_has_no_drawing_says_what_has(tmp_path: Path, shell: Shell) -> None:
    file, states = tmp_path / "large.json", 61
    automaton = {"format": "restrict-dfa/1", "alphabet": ["a"], "start": 0, "accept": [0]}
    file.write_text(json.dumps(automaton | {"transitions": [[(q + 1) % states] for q in range(states)]}))
    said = shell.bad(2, "report", file, "--figure", tmp_path / "x.svg")
    assert "automaton without a drawing; drawn are certificates" in said


def test_names_that_are_completed_are_those_there_are() -> None:
    assert set(names.MODELS) == set(GENERATORS)
    assert set(names.SOFT_MODELS) == set(SOFT)
    assert set(names.LANGUAGES) == set(READERS)


COMPLETE = """
import os, sys
from restrict.cli.main import main
sys.argv[1:] = ["--help"]
for words in (*ASKED, ""):
    typed = f"restrict {words}"
    asked = {"_RESTRICT_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    os.environ.update(asked)
    if not words:
        del os.environ["_RESTRICT_COMPLETE"]
    try:
        main()
    except SystemExit:
        pass
    print("that was", repr(words))
heavy = {"numpy", "numba", "rich", "jinja2", "networkx", "pysat", "decimal"} & set(sys.modules)
assert not heavy, heavy
"""


def test_completion_and_help_import_nothing_heavy() -> None:
    """Completion in less than 0.2 s and help in less than 0.15 s: what takes time is imports."""
    wanted = {"certify and-o": "and-of-ors", "soft run par": "parity", "refute x -L par": "parity", "": "certify"}
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE.replace("ASKED", repr(tuple(wanted)[:-1]))], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stderr == ""
    answers = re.split(r"that was '.*'\n", done.stdout)
    for answer, name in zip(answers, [*wanted.values(), ""], strict=True):
        assert name in answer


def test_one_name_in_the_package_index() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION != "restrict"
    assert project["scripts"] == {"restrict": "restrict.cli.entry:main"}
    extras = project["optional-dependencies"]
    assert install("sweep") == 'pip install -e ".[sweep]" in a clone, or pip install "restrict-attention[sweep]"'
    for name in ("sweep", "languages"):
        assert set(extras[name]) <= set(extras["all"])
    base = {re.split(r"[<>=]", text)[0] for text in project["dependencies"]}
    assert {"jinja2", "automata-lib", "matplotlib"} <= base
    for path in (ROOT / "restrict").rglob("*.py"):
        assert "restrict[" not in path.read_text(encoding="utf-8"), path
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    assert DISTRIBUTION in {package["name"] for package in lock["package"]}


def test_a_notebook_shows_the_drawing_of_a_certificate(tmp_path: Path) -> None:
    certificate = restrict.certify(restrict.load("and-of-ors"), 9)
    shown = ET.fromstring(certificate._repr_html_())
    assert shown.tag == "table"
    assert shown.find(".//{http://www.w3.org/2000/svg}svg") is not None
    figure = certificate.figure()
    assert "and-of-ors" in repr(figure)
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8") == figure._repr_svg_()
    with pytest.raises(UsageError, match=r"an \.svg or a \.pdf file"):
        figure.save(tmp_path / "figure.png")
    page = restrict.report.report_of(certificate)
    page.save(tmp_path / "page.html")
    assert "and-of-ors" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="no report of a dict"):
        restrict.report.report_of({})


@pytest.mark.parametrize("n", heavy_after((10_000, 100_000), 1))
def test_a_long_certificate_is_drawn_where_its_drawing_is_small(n: int) -> None:
    """One output of many positions: what it asks for; every output of 200: a table, and the figure on request."""
    model = restrict.load("random:layers=2,heads=2,states=4,seed=1")
    certificate = restrict.certify(model, n)
    shown = certificate._repr_html_()
    assert shown.count('class="fixed"') == len(certificate.restriction.fixed) < 20
    assert all(f"{i}:{a}" in shown for i, a in certificate.restriction.fixed.items())
    assert len(shown) < 100_000
    tagger = restrict.load("tagger")
    nothing = restrict.Restriction.of(tagger.at(200), {})
    everywhere = restrict.certify(tagger, 200, target="all", restriction=nothing)
    assert "<svg" not in everywhere._repr_html_()


def test_a_notebook_draws_automata(tmp_path: Path) -> None:
    svg = "{http://www.w3.org/2000/svg}"
    found = restrict.automaton(restrict.load("contains-one"))
    shown = ET.fromstring(found._repr_html_())
    assert (shown.tag, shown[0].tag) == ("table", "caption")
    assert len(shown.findall(f".//{svg}circle")) == 3  # two states, and the ring of the one that accepts
    found.figure().save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == found.figure()._repr_svg_()
    tags = restrict.automaton(restrict.load("flip-flop"))  # no label is `accept`: a table only
    assert "<svg" not in tags._repr_html_()
    with pytest.raises(UsageError, match="accept"):
        tags.figure()
    many = Dfa(("0", "1"), tuple(((q + 1) % 61, q) for q in range(61)), frozenset({0}))
    with pytest.raises(UsageError, match="not drawn; the limit is 60"):
        figure_of_dfa(many)


def test_the_rooms_are_there_without_their_own_import(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("soft", "simulate", "report"):
        monkeypatch.delattr(restrict, room, raising=False)
    assert restrict.soft.__name__ == "restrict.soft"
    assert restrict.simulate.__name__ == "restrict.simulate"
    assert restrict.report.page_of.__name__ == "page_of"
