"""Attacks on the resource contract: small files that can take hours, gigabytes or get another verdict when elaborated.

Every pair gets a verdict, or exit 3, 4 or 5, within ten seconds of processor time and 1 GiB, the same from the kernel.
The limit is that of the automatic check after a search.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import restrict
from restrict.cli.checking import AUTOMATIC_CHECK
from restrict.model.fileformat import dumps
from tests import documents
from tests import trusted as check
from tests.clock import quicker_than
from tests.commands import typed
from tests.marks import heavy_after, rows_after

FOLDER = Path(__file__).parent / "corpus" / "attacks"
NAMES = sorted(path.name.removesuffix(".c.json") for path in FOLDER.glob("*.c.json"))
SLOW = {"A10_value_position", "A2b_union", "A3_mask_per_u", "A7_wide_expr", "BR8"}
"""These take seconds before the answer."""


def slow_for(names: set[str]) -> list[Any]:
    """All attacks as parameters, and these are full sizes."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in names)) for name in NAMES]


SECONDS, MEBIBYTES = 10, 1024


def files(name: str) -> list[str]:
    soft = FOLDER / f"{name}.m.safetensors"
    return [str(soft if soft.exists() else FOLDER / f"{name}.m.json"), str(FOLDER / f"{name}.c.json")]


def alone(*argv: str, memory: int | None = None) -> tuple[int, str, str]:
    """The checker as a folder of its own, in a process with limits."""

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    command = [sys.executable, "-I", str(check.FOLDER), *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limits, cwd="/")
    return done.returncode, done.stdout, done.stderr


SERVER = """
import json, os, resource, runpy, sys
run = runpy.run_path(sys.argv[1] + "/__main__.py", run_name="served")["run"]
run()  # all modules are imported
for line in sys.stdin:
    argv, streams, limits = json.loads(line)
    child = os.fork()
    if not child:
        for at, name in enumerate(streams, 1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), at)
        for kind, most in limits:
            resource.setrlimit(kind, (most, most))
        sys.argv[1:] = argv
        os._exit(run())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[..., tuple[int, str, str]]]:
    """As :func:`alone`, with 1 GiB: the processes are copies of one that has imported the checker."""
    command = [sys.executable, "-I", "-c", SERVER, str(check.FOLDER)]
    limits = [(resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEBIBYTES << 20)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True, cwd="/") as server:

        def ask(folder: Path, *argv: str) -> tuple[int, str, str]:
            assert server.stdin is not None
            assert server.stdout is not None
            streams = folder / "out", folder / "err"
            print(json.dumps((argv, [*map(str, streams)], limits)), file=server.stdin, flush=True)
            code = int(server.stdout.readline())
            return code, streams[0].read_text(), streams[1].read_text()

        yield ask


def proof_of(pair: list[str], folder: Path) -> list[str]:
    """The file of a proof, where one can be elaborated."""
    model, certificate = (Path(path) for path in pair)
    try:
        made = proved(model.read_bytes(), certificate.read_bytes(), model.parent, pair, AUTOMATIC_CHECK)
    except check.Reject:
        return []
    (folder / "proof").write_bytes(made)
    return [str(folder / "proof")]


def proved(model: bytes, certificate: bytes, folder: Path, names: Sequence[str], limit: int) -> bytes:
    """What the elaborator writes, in this process and once for each pair; two tests ask."""
    made = _proved(model, certificate, folder, tuple(names), limit)
    if isinstance(made, check.Reject):
        raise check.Reject(made.code, str(made))
    return made


@cache
def _proved(model: bytes, certificate: bytes, folder: Path, names: tuple[str, ...], limit: int) -> bytes | check.Reject:
    try:
        return check.elaborated_here(model, certificate, folder, names, limit)
    except check.Reject as reject:
        return reject


SOFT = {
    "R_soft_epsilon": 4,
    "R_soft_norm": 4,
    "R_soft_pivots": 3,
    **dict.fromkeys(("R_soft_n", "R_soft_power", "R_soft_exp", "R_soft_root", "R_soft_symbols"), 5),
    **dict.fromkeys(("R_soft_heads", "R_soft_layers", "R_soft_large_numbers", "R_soft_labels"), 5),
}
"""What the checker says of each pair with a softmax model."""


@pytest.mark.parametrize("name", slow_for(SLOW))
def test_an_attack_gets_an_answer_within_the_limits(
    name: str, served: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    proof = proof_of(files(name), tmp_path)
    code, out, err = served(tmp_path, *files(name), *proof, "--limit", str(AUTOMATIC_CHECK))
    assert code in ((0, 3, 4, 5) if proof else (2, 3, 4, 5))
    assert (out.count("\n"), err.count("\n")) == ((1, 0) if code == 0 else (0, 1))
    assert "out of memory" not in err
    if name in SOFT:
        assert code == SOFT[name]
        assert err.count(": ") >= 2, "FILE: PLACE: REASON"


def test_every_softmax_model_among_the_attacks_is_listed() -> None:
    assert set(SOFT) == {path.name.removesuffix(".m.safetensors") for path in FOLDER.glob("*.m.safetensors")}


def elaborated(pair: list[str]) -> tuple[int, str, str]:
    """What `restrict check` says, in this process."""
    found = typed("check", *pair, "--limit", AUTOMATIC_CHECK)
    return found.exit_code, found.stdout, found.stderr


@pytest.mark.parametrize("name", slow_for({*SLOW, "R_soft_pivots"}))  # the first test has the pivots, too
@pytest.mark.parametrize("apart", heavy_after((False, True), 1))
def test_an_attack_on_the_elaborator_gets_its_answer(
    apart: bool, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `apart` the checker starts the elaborator's own process, which takes a second to start."""
    if not apart:
        monkeypatch.setattr(check.main, "elaborated", proved)
    with quicker_than(2 * SECONDS):
        found = elaborated(files(name))
    assert found[0] in (0, 3, 4, 5)
    code = check.main.main([*files(name), "--limit", str(AUTOMATIC_CHECK)])
    answer = (code, *capsys.readouterr())
    # Steps of a limit may be met at another place where the elaborator has a process of its own.
    assert found == answer or found[0] == answer[0] == 5


@cache
def large_table(entries: int, folder: Path) -> list[str]:
    """A pair of files with a large table, and its proof."""
    pair = table_pair(folder, entries)
    return [*pair, *proof_of(pair, folder)]


SMALL, LARGE = 200_000, 500_000
"""Entries of the tables. Beside the program's own memory the smaller table needs a few megabytes."""
FULL = (60, 75, 90, 105, 120, 140, 160, 180, 200, 240, 280, 320, 400, 500, 600, 800, 1000, 1300, 1600, 2000)


@pytest.mark.parametrize(
    ("entries", "megabytes"), rows_after(((SMALL, 60), (SMALL, 85), (SMALL, 500), *((LARGE, of) for of in FULL)), 3)
)
def test_without_memory_the_answer_is_exit_5_or_right(
    entries: int, megabytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Never exit 1, never a hang. The table of half a million entries needs something like 100 MB."""
    code, out, err = alone(*large_table(entries, tmp_path_factory.getbasetemp()), memory=megabytes * 10**6)
    assert code in (0, 5), err
    assert (out + err).count("\n") == 1
    assert code == 0 or megabytes < 500


def table_pair(folder: Path, entries: int) -> list[str]:
    """A model with a large table, and a certificate for it."""
    import hashlib

    rule = documents.table("position", [0] * entries)
    data = dumps(documents.model(documents.map_("o", ["position"], 2, rule), position="last"))
    document = {
        "format": "restrict-certificate/1",
        "model": {"name": "m", "sha256": hashlib.sha256(data).hexdigest()},
        **{"n": entries, "target": "last", "fixed": [], "cone": {"o": [[entries - 1, 1]]}},
        "claim": {"free": entries, "c": 0, "dependencies": [], "values": [0]},
    }
    pair = folder / f"m{entries}.json", folder / f"c{entries}.json"
    pair[0].write_bytes(data)
    pair[1].write_text(json.dumps(document))
    return [*map(str, pair)]


def test_the_folder_alone_is_enough(tmp_path: Path) -> None:
    """A copy of the folder under another name, and nothing else of the package."""
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for path in check.FOLDER.glob("*.py"):
        (copy / path.name).write_bytes(path.read_bytes())
    command = [sys.executable, "-I", str(copy), *files("chain1500"), *proof_of(files("chain1500"), tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ})
    assert (done.returncode, done.stdout[:16], done.stderr) == (0, "s VERIFIED n=3 t", "")


@pytest.mark.parametrize("name", ["hash_const", "hash_const_div"])
def test_no_file_is_left_for_a_model_that_the_checker_refuses(name: str, tmp_path: Path) -> None:
    from restrict.base.errors import ModelError

    model = restrict.load(files(name)[0])
    with pytest.raises(ModelError, match=r"variables\[0\] 'h' at n = 3: score"):
        restrict.certify(model, 3).save(tmp_path / "c.json")
    assert not list(tmp_path.iterdir())
