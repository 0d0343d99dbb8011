"""Limits known before the work starts: small models that asked for hours or gigabytes, or met an internal error."""

import itertools
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import restrict
from restrict.all_lengths import proof
from restrict.all_lengths.automaton import automaton
from restrict.all_lengths.forms import REACH
from restrict.base.errors import ResourceLimit, RestrictError, UsageError
from restrict.cli import main as command_line
from restrict.force.cases import find_tree
from restrict.force.looking import Looking
from restrict.model.fileformat import dumps, loads
from restrict.model.lengths import SEARCHED, least_length
from restrict.model.program import Model
from restrict.model.task import Task
from restrict.optimum.lower_bound import lower_bound
from tests import documents, naive
from tests.commands import failed, succeeded, typed
from tests.marks import heavy_after

TRAINED = Path(__file__).parent / "corpus" / "trained"
ATTACKS = Path(__file__).parent / "corpus" / "attacks"
SECONDS, MEBIBYTES = 60, 4096
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


def limits() -> None:
    """Limit this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEBIBYTES << 20, MEBIBYTES << 20))


def run(*words: str, standard_input: bytes = b"") -> tuple[int, str, str]:
    """The command line in a process of its own, with limits."""
    command = [sys.executable, "-m", "restrict", *words]
    done = subprocess.run(command, capture_output=True, check=False, preexec_fn=limits, input=standard_input)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


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
    assert typed("new", "induction-head", "-o", tmp_path / "m.json").exit_code == 0
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
        assert typed(*[str(names.get(word, word)) for word in line.split()]).exit_code == 0
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
    assert "would replace a file that the command reads" in failed(UsageError, *words)
    assert {path: path.read_bytes() for path in before} == before


def test_the_refusal_is_one_line(small: Path, tmp_path: Path) -> None:
    code, out, err = forked(tmp_path, "certify", str(small), "-n", "6", "-o", str(small))
    assert (code, out) == (2, "")
    assert err.startswith(f"restrict: {small}: this would replace a file that the command reads; write")
    assert err.count("\n") == 1


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
        (("-", str(certificate)), model),
        ((str(small), "-"), certificate.read_bytes()),
        (("-", str(certificate), "--json"), model),
        (("-", str(certificate), "--fast"), model),
    ):
        done = piped(given, "check", *words)
        assert (done.exit_code, done.stderr) == (0, "")
        assert "s VERIFIED n=6" in done.stdout
    code, _, err = run("check", "-", "-", standard_input=model)
    assert (code, err) == (2, "restrict: standard input can be read only once, so only one argument can be `-`\n")


def test_both_files_come_through_pipes(small: Path, tmp_path: Path) -> None:
    certificate = tmp_path / "c.json"
    assert typed("certify", small, "-n", "6", "-o", certificate).exit_code == 0
    folder = Path(restrict.checker.__file__).parent
    proof = tmp_path / "proof"
    assert typed("elaborate", small, certificate, "-o", proof).exit_code == 0
    for program, more in (("-m restrict check", ""), (f"-I {folder}", f'<(cat "{proof}")')):
        line = f'{sys.executable} {program} <(cat "{small}") <(cat "{certificate}") {more}'
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("s VERIFIED n=6")
