"""Large files of every shape are read in linear time or refused in one line, by the checker and by the package."""

from collections.abc import Callable
from pathlib import Path

import pytest

from restrict.base.errors import ModelError, NotEstablished, ResourceLimit
from restrict.base.strictjson import Node, parse
from restrict.certificate.certificate import Certificate
from restrict.checker.account import Reject
from restrict.model.fileformat import loads
from restrict.model.source import document_bytes
from scripts import bench_files
from tests.commands import Shell
from tests.trusted import verify

SIZE = 150_000
"""Bytes. Reading that is quadratic in them takes a minute (a set of 15 000 keys was made again for every key)."""
SHAPES = dict(bench_files.shapes(SIZE)) | {"leaves that name cones": lambda: bench_files.many_leaves(SIZE, 500, 1)}

MANY = "leaves that name many cones"


def outcome(model: bytes, certificate: bytes) -> str:
    """What the checker says, or its reason."""
    try:
        return verify(model, certificate, limit=20_000_000)
    except Reject as reject:
        return f"{reject.code}: {reject}"


def reason(read: Callable[[], object]) -> str:
    """Why a file is refused; empty if it is not."""
    try:
        read()
    except (ModelError, NotEstablished, ResourceLimit) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("shape", [s for s in SHAPES if s != MANY] + [pytest.param(MANY, marks=pytest.mark.slow)])
def test_a_large_file_is_read_or_refused(shape: str) -> None:
    model, certificate = SHAPES[shape]()
    assert SIZE // 4 <= max(len(model), len(certificate)) <= SIZE + 100
    line = outcome(model, certificate)
    assert line[0] in "s345"
    assert len(line) < 400
    assert "\n" not in line
    for read in (lambda: loads(model, "m"), lambda: Certificate.from_json(Node(parse(certificate, "c"), "c"))):
        assert len(reason(read)) < 400


DEEP = {"lists": "[" * 100_000, "objects": '{"a":' * 100_000, "a text": '["' + '\\"' * 50_000}
COMMANDS = (
    "show FILE", "report FILE -o OUT", "check and-of-ors FILE", "check --fast and-of-ors FILE", "certify FILE -n 9",
    "automaton FILE", "verify parity8 -L dfa:FILE", "language dfa:FILE -n 4", "sweep --recheck FILE",
    "soft influence FILE -n 4", "import weights FILE -o OUT", "compile --language FILE -o OUT",
)  # fmt: skip


@pytest.mark.parametrize("content", DEEP)
@pytest.mark.parametrize("command", COMMANDS)
def test_deep_and_unfinished_files_end_in_one_line(command: str, content: str, tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "deep.json"
    path.write_text(DEEP[content])
    result = shell(command.replace("FILE", str(path)).replace("OUT", str(tmp_path / "out")))
    assert result.code in (2, 4), result
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert str(path) in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("fast", [[], ["--fast"]])
def test_a_file_beyond_the_limit_is_malformed_for_both_runs_and_for_built_in_models(
    fast: list[str], tmp_path: Path, shell: Shell
) -> None:
    certificate = tmp_path / "c.json"
    (tmp_path / "m.json").write_bytes(document_bytes("contains-one"))
    with certificate.open("wb") as file:
        file.truncate((64 << 20) + 1)
    for model, form in ((tmp_path / "m.json", []), ("contains-one", ["--json"])):
        line = shell.bad(4, "check", *fast, *form, model, certificate)
        assert line == f"{certificate}: top level: larger than 64 MiB\n"


def test_of_many_values_of_a_claim_the_first_are_shown(tmp_path: Path, shell: Shell) -> None:
    """A line of a hundred million characters was printed."""
    model, path = bench_files.dumps(bench_files.MODEL), tmp_path / "c.json"
    for values, line in (
        (list(range(64)), "values=" + ",".join(map(str, range(64)))),
        (list(range(1000)), "values=" + ",".join(map(str, range(64))) + ",... (1000 values)"),
    ):
        path.write_bytes(bench_files.proof(model, claim={**bench_files.CLAIM, "values": values}))
        assert f"  claim   n=10 target=last free=10 c=0 {line}\n" in shell.good("show", path)
    for values, reason in (
        ([0, 1, 1], ": expected a non-empty increasing list"),
        ([], ": expected a non-empty increasing list"),
        ([0, True], "[1]: expected an integer in 0 .. 9223372036854775807, not true"),
        ([0, -1], "[1]: expected an integer in 0 .. 9223372036854775807, not -1"),
        ([0, "1"], '[1]: expected an integer in 0 .. 9223372036854775807, not "1"'),
    ):
        path.write_bytes(bench_files.proof(model, claim={**bench_files.CLAIM, "values": values}))
        assert f"claim.values{reason}" in shell.bad(4, "show", path)


PROOFS = {
    "certificate": "certify contains-one -n 5 -o FILE",
    "refutation": "refute contains-one -L parity -n 5 -o FILE",
    "lower bound": "lower-bound contains-one -n 5 -o FILE",
}


@pytest.mark.parametrize("kind", PROOFS)
def test_show_and_report_parse_a_proof_once(
    kind: str, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsing is what takes long at a large file: nine seconds for five million keys."""
    path, parsed = tmp_path / "c.json", list[str]()
    shell.good(PROOFS[kind].replace("FILE", str(path)))

    def counted(content: bytes, source: str) -> object:
        parsed.append(source)
        return parse(content, source)

    for module in ("restrict.base.strictjson.parse", "restrict.report.source.parse"):
        monkeypatch.setattr(module, counted)
    page = tmp_path / "page.html"
    for words in (["show"], ["show", "--json"], ["report", "-o", page]):
        parsed.clear()
        shell.good(*words[:1], path, *words[1:])
        assert parsed.count(str(path)) == 1
