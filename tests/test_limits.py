"""Limits known before the work starts: small models that asked for hours or gigabytes, or met an internal error."""

import itertools
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import restrict
from restrict.all_lengths import proof
from restrict.all_lengths.automaton import automaton
from restrict.all_lengths.forms import REACH
from restrict.base.errors import ResourceLimit, RestrictError, UsageError
from restrict.cli import main as command_line
from restrict.cli.checking import AUTOMATIC_CHECK
from restrict.force.cases import find_tree
from restrict.force.looking import Looking
from restrict.model.fileformat import dumps, loads
from restrict.model.lengths import SEARCHED, least_length
from restrict.model.program import Model
from restrict.model.task import Task
from restrict.optimum.lower_bound import lower_bound
from tests import documents, naive
from tests import trusted as check
from tests.clock import quicker_than
from tests.commands import failed, succeeded, typed
from tests.fuzzing.kinds import sealed
from tests.marks import heavy_after, rows_after

TRAINED = Path(__file__).parent / "corpus" / "trained"
ATTACKS = Path(__file__).parent / "corpus" / "attacks"
LONG, MEMORY = 60, 4 << 30
"""Processor seconds, most of them for the compilation of kernels, and address space."""
R6_WORD = "".join("01"[b] for b in np.random.default_rng(1).integers(2, size=4000))
CASES = {
    ("automaton", "E1_dead_name"): (0, "states"),
    ("automaton", "R3_window"): (3, f"(j == (i - 9000))' tells 9001 distances j - i apart; the limit is {REACH}"),
    ("automaton", "G2_reach"): (3, f"10000000001 distances j - i apart; the limit is {REACH}"),
    ("certify", "G3_when", "--all-lengths"): (0, f"none of 2 .. {SEARCHED + 1}; its condition is 'n == 1'"),
    ("lower-bound", "E2_lower_bound", "-n", "5"): (0, "at least 0 positions"),
    ("explain", "R6", "--input", R6_WORD): (0, "minimum (exact)"),
    ("certify", "G2_reach", "--all-lengths"): (3, "distances j - i apart"),
    ("compile", "G2_reach", "--to", "ltl"): (3, "distances j - i apart"),
    ("verify", "G2_reach", "--language", "regex:a*b*"): (3, "distances j - i apart"),
}


def limits(seconds: int = LONG, memory: int = MEMORY) -> None:
    """Limit this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def run(*words: str, within: Callable[[], None] = limits, **how: Any) -> tuple[int, str, str]:
    """Python in a process of its own, with limits."""
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, preexec_fn=within, **how
    )
    return done.returncode, done.stdout, done.stderr


def forked(folder: Path, *words: str) -> tuple[int, str, str]:
    """The command line in a copy of this process, with limits: nothing has to be imported again."""
    if not (child := os.fork()):
        limits()
        with (folder / "out").open("w") as sys.stdout, (folder / "err").open("w") as sys.stderr:
            code = command_line._run(list(words))
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, (folder / "out").read_text(), (folder / "err").read_text()


@pytest.mark.parametrize("case", heavy_after(CASES, 6), ids=lambda case: " ".join(case)[:40])
def test_an_attack_gets_its_answer(case: tuple[str, ...], tmp_path: Path) -> None:
    code, said = CASES[case]
    found, out, err = forked(tmp_path, case[0], str(ATTACKS / f"{case[1]}.m.json"), *case[2:])
    assert (found, err.count("\n")) == (code, int(code != 0)), err
    assert said in (err if code else " ".join(out.split()))


# ---------------------------------------------------------------- positions


def model_with(**fields: object) -> Model:
    """A model of one variable ``o`` over two symbols."""
    return loads(dumps(documents.model({"name": "o", **fields}, alphabet="ab", position="last")))


@pytest.mark.parametrize(
    "text",
    ["i < 1000000000000", "i % 1000000000 < 5", "n % 999983 == i % 65536", "(i % 61 + i % 67 + i % 71) % 2",
     "i % 4000 < 5", "n - i < 4000", "i * 1000000 // 1000003 % 2"],
)  # fmt: skip
def test_many_classes_of_positions_are_refused_before_they_are_made(text: str) -> None:
    with pytest.raises(RestrictError, match=r"told apart|tells positions apart|classes of positions"):
        automaton(model_with(kind="map", args=["position"], map=text, domain=2))


@pytest.mark.parametrize("text", ["i % 60 == j % 60", "(j - i < 50) * (i % 300)"])
def test_a_large_score_is_refused_before_it_is_tabulated(text: str) -> None:
    with pytest.raises(ResourceLimit, match=r"variable 'o': its score has \d+ combinations .* the limit is"):
        automaton(model_with(kind="head", value="token", score=text))


@pytest.mark.heavy
def test_summaries_are_bounded_before_they_fill_the_memory() -> None:
    """Found by the sweep over all lengths: 23 GiB."""
    with pytest.raises(ResourceLimit, match="too large at variable 'o'"):
        automaton(model_with(kind="head", value="token", score="i % 40 == j % 40"))


def test_an_answer_is_kept_where_its_proof_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the sweep over all lengths: 9 GB of sets, then a MemoryError."""
    monkeypatch.setattr(proof, "MOST_BYTES", 20)
    result = succeeded("certify", "--all-lengths", "first-symbol")
    assert "is forced at every n >= 1" in result.output
    assert "no proof file: a proof would be larger than 0 MiB" in result.output


@pytest.mark.parametrize("reach", [REACH, REACH + 1])
def test_the_reach_is_told_apart_up_to_its_limit(reach: int) -> None:
    """``j - i < c`` needs ``c + 1`` distances."""
    head = model_with(kind="head", value="token", score=f"j - i < {reach - 1}", mask="strict_past")
    one = Model("m", ("a",), head.variables, head.output)
    if reach <= REACH:
        assert automaton(one).moore.states >= 1
    else:
        with pytest.raises(restrict.NotEstablished, match=f"tells {reach} distances"):
            automaton(one)


@pytest.mark.parametrize("score", ["j if 0 else k", "k if 1 else j * i", "(k if 1 else n) + 0"])
def test_a_dead_branch_may_name_what_nothing_gives(score: str) -> None:
    model = model_with(kind="head", key="token", value="token", score=score)
    found, reference = automaton(model).moore, naive.load(json.loads(model.content or b""))
    for n in range(1, 6):
        for word in itertools.product("ab", repeat=n):
            state = 0
            for symbol in word:
                state = int(found.delta[state, found.alphabet.index(symbol)])
            assert found.labels[int(found.label[state])] == str(naive.output(reference, word))


# ---------------------------------------------------------------- lengths


@pytest.mark.parametrize(
    ("when", "text", "first", "expected"),
    [
        ("n == 1", "0", 1, 1),
        ("n == 1", "0", 2, None),
        ("n % 100 == 99", "0", 3, 99),
        ("n // (n - 7) > 0", "0", 7, 8),  # the condition itself is not defined at 7
        ("1", "i * 2000000000000000000 % 2", 4, 4),
        ("1", "i * 2000000000000000000 % 2", 7, None),  # overflow from here on
        ("1", "i % 2 // (n - n // 5 * 5)", 5, 6),
    ],
)
def test_the_least_length_at_which_a_model_is_defined(when: str, text: str, first: int, expected: int | None) -> None:
    model = model_with(kind="map", args=["position"], map=text, domain=2)
    model = Model("m", model.alphabet, model.variables, model.output, when=when)
    assert least_length(model, first, 300) == expected
    assert least_length(model, first, 0 if expected is None else expected - first) is None


# ---------------------------------------------------------------- alphabets of one symbol, outputs of one value


@pytest.mark.parametrize("alphabet", [["a"], ["a", "b"]])
def test_the_lower_bound_of_a_constant_output_with_many_labels(alphabet: list[str]) -> None:
    variable = documents.map_("o", ["token"], 70, "token * 0 + 3")
    model = loads(dumps(documents.model(variable, alphabet=alphabet, position="last")))
    found = lower_bound(model, 4)
    assert (found.at_least, found.upper, found.stopped) == (0, 0, "optimal")
    assert not found.bound.labels
    assert found.bound.others is None


# ---------------------------------------------------------------- a tree of cases is not deeper than it has leaves


def test_a_tree_of_cases_without_kernels_ends() -> None:
    """Its questions were asked position by position, as deep as the word is long: more than Python's stack holds."""
    model = restrict.load(ATTACKS / "R6.m.json")
    task = Task.of(model, 1500)
    looking = Looking(task.instance, 1499)
    looking.compiled = None
    assert find_tree(task, {1: 0}, shared=looking) is None


# ---------------------------------------------------------------- files


@pytest.fixture
def small(tmp_path: Path) -> Path:
    succeeded("new", "induction-head", "-o", tmp_path / "m.json")
    return tmp_path / "m.json"


OVERWRITING = [
    "certify M -n 6 -o M", "certify M --all-lengths -o M", "lower-bound M -n 4 -o M", "explain M --input 0101 -o M",
    "refute M -L parity -n 4 -o M", "refute M -L cfg:G -n 4 -o G", "verify M --language parity -o M",
    "verify M --equals M -o M", "automaton M -o M", "automaton M --dot M", "automaton V --figure V",
    "compile M --to ltl -o M", "report C -o C", "report C --model M -o M", "simulate M -n 4 -o M",
    "import b-rasp M -o M", "sweep T -o L", "soft write S -o S", "soft import S --heads 1 --alphabet 01 -o S",
    "soft import K --config J -o J", "soft import K --compare J -o J", "soft import K --weights K",
    "elaborate M C -o C", "elaborate M P.program -o P",
]  # fmt: skip


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One file of each kind. Those who use them hold that they stay as they are."""
    folder = tmp_path_factory.mktemp("read")
    listed = "C=c.json T=t.toml L=t.jsonl S=s.safetensors G=g.txt M=m.json V=m.svg J=j.json K=k.safetensors"
    names = {letter: folder / name for letter, name in (word.split("=") for word in listed.split())}
    for line in ("new induction-head -o M", "certify M -n 4 -o C", "soft write parity -o S"):
        succeeded(*(names.get(word, word) for word in line.split()))
    names["T"].write_text("[[grid]]\nmodel = 'induction-head'\nn = [4]\n")
    names["G"].write_text("S -> a S | b")
    names["L"].hardlink_to(names["T"])
    names["J"].write_text("{}")
    for ending in ("safetensors", "config.json"):
        (folder / f"k.{ending}").write_bytes((TRAINED / f"tomita2-1l1h16d.{ending}").read_bytes())
    names |= {"P": folder / "p", "P.program": folder / "p.program"}
    names["P.program"].write_bytes(names["C"].read_bytes())
    names["V"].write_bytes(names["M"].read_bytes())  # a model whose name is that of a figure
    return names


@pytest.mark.parametrize("line", OVERWRITING)
def test_no_command_replaces_what_it_reads(line: str, read: dict[str, Path]) -> None:
    before = {path: path.read_bytes() for path in read.values() if path.exists()}
    names = {**read, "cfg:G": Path(f"cfg:{read['G']}")}
    words = [str(names.get(word, word)) for word in line.split()]
    assert ": this would replace a file that the command reads" in failed(UsageError, *words)
    assert {path: path.read_bytes() for path in before} == before


def piped(given: bytes, *words: str) -> Result:
    """The command line in this process, with a pipe of these few bytes as standard input."""
    reader, writer = os.pipe()
    os.write(writer, given)
    os.close(writer)
    before = os.dup(0)
    os.dup2(reader, 0)
    try:
        return typed(*words)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reader)


def test_a_model_and_a_certificate_are_read_from_standard_input(small: Path, tmp_path: Path) -> None:
    model, certificate = small.read_bytes(), tmp_path / "c.json"
    assert piped(model, "certify", "-", "-n", "6", "-o", str(certificate)).exit_code == 0
    for words, given in (
        ("- C", model),
        ("M -", certificate.read_bytes()),
        ("- C --json", model),
        ("- C --fast", model),
    ):
        done = piped(given, "check", *words.replace("C", str(certificate)).replace("M", str(small)).split())
        assert (done.exit_code, done.stderr) == (0, "")
        assert "s VERIFIED n=6" in done.stdout
    code, _, err = run("-m", "restrict", "check", "-", "-", input=model.decode())
    assert (code, err) == (2, "restrict: standard input can be read only once, so only one argument can be `-`\n")


def test_both_files_come_through_pipes(small: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "c.json"
    proof = tmp_path / "proof"
    succeeded("certify", small, "-n", "6", "-o", certificate)
    succeeded("elaborate", small, certificate, "-o", proof)
    for program, more in (("-m restrict check", ""), (f"-I {check.FOLDER}", f'<(cat "{proof}")')):
        line = f'{sys.executable} {program} <(cat "{small}") <(cat "{certificate}") {more}'
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("s VERIFIED n=6")


# ----------------------------------------------------------------
# Attacks on the resource contract: small files that can take hours, gigabytes or get another verdict when elaborated.
#
# Every pair gets a verdict, or exit 3, 4 or 5, within ten seconds of processor time and 1 GiB, the same from the
# kernel. The limit is that of the automatic check after a search.


NAMES = sorted(path.name.removesuffix(".c.json") for path in ATTACKS.glob("*.c.json"))
SLOW = {"A10_value_position", "A2b_union", "A3_mask_per_u", "A7_wide_expr", "BR8"}
"""These take seconds before the answer."""


def slow_for(names: set[str]) -> list[Any]:
    """All attacks as parameters, and these are full sizes."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in names)) for name in NAMES]


SECONDS, MEBIBYTES = 10, 1024


def files(name: str) -> list[str]:
    soft = ATTACKS / f"{name}.m.safetensors"
    return [str(soft if soft.exists() else ATTACKS / f"{name}.m.json"), str(ATTACKS / f"{name}.c.json")]


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
    """The checker as a folder of its own, with limits: the processes are copies of one that has imported it."""
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
    assert set(SOFT) == {path.name.removesuffix(".m.safetensors") for path in ATTACKS.glob("*.m.safetensors")}


@pytest.mark.parametrize("name", slow_for({*SLOW, "R_soft_pivots"}))  # the first test has the pivots, too
@pytest.mark.parametrize("apart", heavy_after((False, True), 1))
def test_an_attack_on_the_elaborator_gets_its_answer(
    apart: bool, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `apart` the checker starts the elaborator's own process, which takes a second to start."""
    if not apart:
        monkeypatch.setattr(check.main, "elaborated", proved)
    with quicker_than(2 * SECONDS):
        done = typed("check", *files(name), "--limit", AUTOMATIC_CHECK)
    found = done.exit_code, done.stdout, done.stderr
    assert found[0] in (0, 3, 4, 5)
    code = check.main.main([*files(name), "--limit", str(AUTOMATIC_CHECK)])
    answer = (code, *capsys.readouterr())
    # Steps of a limit may be met at another place where the elaborator has a process of its own.
    assert found == answer or found[0] == answer[0] == 5


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
    words = "-I", str(check.FOLDER), *large_table(entries, tmp_path_factory.getbasetemp())
    code, out, err = run(*words, within=lambda: limits(SECONDS, megabytes * 10**6), cwd="/")
    assert code in (0, 5), err
    assert (out + err).count("\n") == 1
    assert code == 0 or megabytes < 500


@cache
def large_table(entries: int, folder: Path) -> list[str]:
    """A model with a large table, a certificate for it, and its proof."""
    rule = documents.table("position", [0] * entries)
    document = documents.model(documents.map_("o", ["position"], 2, rule), position="last")
    trial = sealed(document, {
        "format": "restrict-certificate/1", "model": {"name": "m"}, "n": entries, "target": "last", "fixed": [],
        "cone": {"o": [[entries - 1, 1]]}, "claim": {"free": entries, "c": 0, "dependencies": [], "values": [0]},
    })  # fmt: skip
    pair = [folder / f"m{entries}.json", folder / f"c{entries}.json"]
    for path, content in zip(pair, (trial.model, trial.proof), strict=True):
        path.write_bytes(content)
    return [*map(str, pair), *proof_of([*map(str, pair)], folder)]


def test_the_folder_alone_is_enough(tmp_path: Path) -> None:
    """A copy of the folder under another name, and nothing else of the package."""
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for path in check.FOLDER.glob("*.py"):
        (copy / path.name).write_bytes(path.read_bytes())
    words = "-I", str(copy), *files("chain1500"), *proof_of(files("chain1500"), tmp_path)
    code, out, err = run(*words, cwd=tmp_path)
    assert (code, out[:16], err) == (0, "s VERIFIED n=3 t", "")


@pytest.mark.parametrize("name", ["hash_const", "hash_const_div"])
def test_no_file_is_left_for_a_model_that_the_checker_refuses(name: str, tmp_path: Path) -> None:
    from restrict.base.errors import ModelError

    model = restrict.load(files(name)[0])
    with pytest.raises(ModelError, match=r"variables\[0\] 'h' at n = 3: score"):
        restrict.certify(model, 3).save(tmp_path / "c.json")
    assert not list(tmp_path.iterdir())
