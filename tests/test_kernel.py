"""The kernel that only checks: the present checker's verdicts, nothing false accepted, every refusal tried."""

import ast
import hashlib
import json
import random
import re
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator

import restrict
from restrict.base.errors import ModelError, NotEstablished, RestrictError
from restrict.checker import kernel, normal_form, one_length, proof
from restrict.checker.account import LARGEST, Meter, Place, Task
from restrict.checker.formats import Model
from restrict.checker.lower import lower
from restrict.checker.normal_form import Head, Program
from restrict.elaboration.compiled import CompiledProof, check_compiled
from restrict.elaboration.make import Elaboration
from tests import generator, kernel_cases, naive
from tests.commands import succeeded
from tests.kernel_cases import about, kernel_verdict
from tests.marks import heavy_after
from tests.mutations import Pair, encode
from tests.naive_kernel import Oracle
from tests.trusted import Reject

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "corpus" / "kernel"
REFUSED = sorted((CORPUS / "refused").glob("*.proof"))
READERS = (normal_form, proof)


def read_model(document: dict[str, object], n: int) -> Model:
    """A model as the checker's reader has it."""
    task = Task(None, Place("proof"), encode(document), Place("model"), Path(), Meter(10**9))
    return Model(task, n)


def files(path: Path) -> tuple[bytes, bytes]:
    """A proof of the corpus with its program."""
    beside = path.with_suffix(".program")
    return (beside if beside.exists() else CORPUS / "base.program").read_bytes(), path.read_bytes()


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("seed", range(60))
def test_a_lowered_program_has_the_values_of_the_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    document, n = generator.random_case(rng)
    text = lower(read_model(document, n))
    read, instance = Program(text, Place("program"), Meter(10**9)), naive.at(document, n)
    for at, variable in enumerate(document["variables"], 2):
        made, name = read.variables[at], variable["name"]
        assert read.domains[at] == instance.domain[name]
        for _ in range(12):
            i, j = int(rng.integers(n)), int(rng.integers(n))
            if isinstance(made, Head):
                q, k = (int(rng.integers(read.domains[v])) if v >= 0 else 0 for v in (made.query, made.key))
                assert made.code.value({0: i, 1: q, 2: j, 3: k}) == instance.score[name](i, q, j, k)
                found = made.code.given({0: i, 1: q}).given({2: [j, j]}).value({3: k})
                assert (found if isinstance(found, int) else found[1]) == instance.score[name](i, q, j, k)
            else:
                args = [int(rng.integers(instance.domain[a])) for a in variable["args"]]
                assert made.code.value(dict(enumerate([i, *args]))) == instance.function[name](i, *args)


@pytest.mark.parametrize("seed", range(30))
def test_a_lowered_program_runs_as_the_model_does(seed: int) -> None:
    document, n = generator.random_case(np.random.default_rng(seed), inputs=100)
    model = read_model(document, n)
    oracle = Oracle(lower(model).decode())
    names = ["reject", "accept"] if model.accept is not None else list(model.label_names)
    for word, values in oracle.runs.items():
        found = naive.run(document, [word[j] for j in oracle.machine.letters], n)
        assert values[2:-1] == [found.values[variable["name"]] for variable in document["variables"]]
        labels = naive.labels_of(document, found)
        assert [names[label] if names else label for label in values[-1]] == labels


# ---------------------------------------------------------------- the same verdicts, and nothing false

KINDS: dict[str, tuple[Callable[[Generator], Pair], int, int]] = {
    "certificates": (kernel_cases.certificate_pair, 40, 12),
    "lower bounds": (kernel_cases.bound_pair, 6, 10),
    "refutations": (kernel_cases.refutation_pair, 20, 8),
}
"""How many pairs, and how many mutants of each; scripts/kernel_sweep.py tries more."""


@pytest.mark.parametrize("share", heavy_after((5, 1), 1))
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_false_is_accepted(kind: str, share: int) -> None:
    make, count, each = KINDS[kind]
    seen, tried = Counter[str](), Counter[str]()
    for seed in range(0, count, share):
        rng = np.random.default_rng([seed, 77])
        pair = make(rng)
        _, made = kernel_cases.new_verdict(pair)
        seen["accepted" if made else "refused"] += 1
        if made is None:
            continue
        oracle = Oracle(made.program.decode())
        assert oracle.lies(made.proof.decode()) == []
        for mutant in kernel_cases.mutants(rng, made.proof, each):
            found = kernel_verdict(made.program, mutant)
            tried["accepted" if isinstance(found, str) else "refused"] += 1
            if isinstance(found, str):
                assert oracle.lies(mutant.decode()) == [], mutant.decode()
    assert seen["accepted"] > count // share // 2
    assert tried["accepted"] > 0 < tried["refused"]


def test_the_oracle_sees_what_is_false() -> None:
    text, true = (file.decode() for file in files(CORPUS / "claim.proof"))
    oracle = Oracle(text)
    assert oracle.lies(true) == []
    assert oracle.lies(true.replace("row 2 3 0 0 0 1", "row 2 3 0 0 0 2")) == ["row 2 3 0 0 0 2"]
    assert oracle.lies(true.replace("map 0 3 3 1 0", "map 0 3 3 0 0")) == ["map 0 3 3 0 0"]
    assert oracle.lies(true.replace("claim 0 3 3 0 1 2", "claim 0 3 3 0 0 2")) == ["claim 0 3 3 0 0 2"]
    wrong, false = (file.decode() for file in files(CORPUS / "refused" / "equal-is-not-below-3.proof"))
    assert Oracle(wrong).lies(false) == [
        "row 2 1 0 0 0 1",
        "head 0 2 1 0 1 0 0 0 0 -1",
        "map 0 3 1 0 1",
        "claim 0 1 2 0 0 1",
    ]
    bound = files(CORPUS / "unforced.proof")[1].decode()
    assert oracle.lies(bound.replace("unforced 1 0 3 0 1 0", "unforced 1 1 3 0 1 0")) == ["unforced 1 1 3 0 1 0"]


def test_a_claim_is_compared_with_the_file() -> None:
    """A proof of something else does not verify a certificate."""
    model = restrict.load("and-of-ors")
    certificate = restrict.certify(model, 100)
    made = restrict.elaborate(model, certificate)
    document = json.loads(certificate.to_bytes())

    def line(claimed: dict[str, object]) -> str:
        task = Task(claimed, Place("certificate"), model.content, Place("model"), Path(), Meter(10**8))
        return one_length.established(one_length.read_claim(task), *made)

    for change in (
        {"fixed": [[30, 9, "0"]], "claim": {**document["claim"], "free": 91}},
        {"claim": {**document["claim"], "values": [1]}},
        {"claim": {**document["claim"], "free": 89}},
        {"fixed": [[30, 10, "1"]]},
        {"fixed": [[20, 10, "0"]]},
    ):
        with pytest.raises(Reject) as refused:
            line(document | change)
        assert refused.value.code == 3
    assert line(document) == restrict.check(model, certificate)


# ---------------------------------------------------------------- positions that a fact depends on

TOKEN_AT_0 = ("head 2 -1 -1 0 0 1 0 c 0 - 4 2", "map 2 1 2", "map 2 1 3")
"""The token at position 0, then what two maps leave as it is."""
PLACE_ASKED = ("head 4 0 -1 1 0 1 0 = 1 2", "map 4 1 2", "map 4 1 3")
"""The position that the token says."""
PLACE_OF_1 = ("head 4 -1 0 1 0 1 0 + 3 3", "map 4 1 2", "map 4 1 3")
"""The first position with the greatest token."""
HINTS = ("runs 0 1", "runs 1 2", "runs 3 4", "runs", "runs 0 2", "set 0", "set 1", "set 0 1", "set 0 1 2 3", "box -1")
"""Runs 1 to 5, of which 4 is empty; sets 0 to 3; context 0."""
ROW = "row 2 3 0 0 0 1"
DEPENDENT: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "value": (TOKEN_AT_0, (ROW, "head 0 2 3 2 1 0 0 0 0 -1"), "head 0 2 3 2 4 0 0 0 0 -1"),
    "argument": (TOKEN_AT_0, (ROW, "head 0 2 3 2 1 0 0 0 0 -1", "map 0 3 3 2 1"), "map 0 3 3 2 4"),
    "query": (
        PLACE_ASKED,
        ("row 2 3 0 1 0 1", "row 2 3 1 1 1 2", "head 0 2 3 2 3 0 0 0 1 -1 1 1 1 1 -1"),
        "head 0 2 3 2 4 0 0 0 1 -1 1 1 1 1 -1",
    ),
    "key": (PLACE_OF_1, ("row 2 3 0 0 0 0", "head 0 2 3 3 0 0 0 0 0 -1"), "head 0 2 3 3 5 0 0 0 0 -1"),
    "case": (
        TOKEN_AT_0,
        ("box 0 0 1 0", "box 0 0 1 1", ROW, "head 1 2 3 0 4 0 0 0 0 0", "head 2 2 3 1 4 0 0 0 0 1",
         "case 0 2 3 0 2 1 1 2"),
        "case 0 2 3 0 2 4 1 2",
    ),
    "way of a case": (
        TOKEN_AT_0,
        ("box 0 1 2 0", "box 0 1 2 1", ROW, "head 1 2 3 2 1 0 0 0 0 -1", "head 2 2 3 2 1 0 0 0 0 -1",
         "case 0 2 3 1 2 5 1 2"),
        "case 0 2 3 1 2 2 1 2",
    ),
}  # fmt: skip
"""For each place where a rule looks at positions: a program, a proof, and its last line with some left out."""


@pytest.mark.parametrize("place", DEPENDENT)
def test_positions_that_are_left_out_are_missed(place: str) -> None:
    """Without that look the line would be accepted, and false. Mutants of users' files hardly come so far, since what
    is elaborated from them has all positions."""
    variables, lines, false = DEPENDENT[place]
    text = "".join(f"{line}\n" for line in ("restrict-program/1 4 2 0 0 3", *variables))
    anything = "claim 0 3 4 4 2 0" if variables is TOKEN_AT_0 else "claim 0 3 4 4 3 0"
    program, true = about(text, [*HINTS, *lines, anything])
    oracle, changed = Oracle(text), about(text, [*HINTS, *lines[:-1], false, anything])[1]
    assert oracle.lies(true.decode()) == []
    assert isinstance(kernel_verdict(program, true), str)
    assert oracle.lies(changed.decode()) == [false]
    assert kernel_verdict(program, changed) == 3


# ---------------------------------------------------------------- every refusal


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_malformed_and_wrong_files_are_refused(path: Path) -> None:
    assert kernel_verdict(*files(path)) == int(path.stem.rsplit("-", 1)[1])


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.proof")), ids=lambda path: path.stem)
def test_what_the_refused_files_were_made_from_is_accepted(path: Path) -> None:
    assert isinstance(kernel_verdict(*files(path)), str)


REFUSERS = {"require", "malformed", "exhausted", "unproved", "right", "form", "numbers", "restriction"}


def refusals() -> Iterator[tuple[str, int, int]]:
    """File, first and last line of every call that refuses."""
    for module in READERS:
        name = str(module.__file__)
        for node in ast.walk(ast.parse(Path(name).read_text())):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                owner = getattr(getattr(node.func, "value", None), "id", "self")
                if called in REFUSERS and owner == "self":
                    yield name, node.lineno, node.end_lineno or node.lineno


def test_every_refusal_of_the_readers_has_a_file() -> None:
    reached: set[tuple[str, int]] = set()
    for path in REFUSED:
        try:
            proof.check(*files(path), (Place("program"), Place("proof")), Meter(10**8))
        except Reject as reject:
            reached |= {(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(reject.__traceback__)}
    sites = list(refusals())
    assert len(sites) > 55
    missing = [
        f"{Path(name).name}:{first}"
        for name, first, last in sites
        if not any(file == name and first <= line <= last for file, line in reached)
    ]
    assert missing == []


OPEN = {"z", "y", "o"}
"""Letters that stand for any number, or any from some number on."""


def test_every_number_of_every_line_has_a_file_where_it_is_out_of_range() -> None:
    said = Counter[tuple[str, str]]()
    for path in REFUSED:
        with pytest.raises(Reject) as refused:
            proof.check(*files(path), (Place("program"), Place("proof")), Meter(10**8))
        if found := re.search(r"a number (\w) of (\S+) is out of range", str(refused.value)):
            said[found[2], found[1]] += 1
    wanted = {(form, letter) for form in proof.FORMS.values() for letter in form if letter not in OPEN | {"*"}}
    wanted |= {("nsbbz", letter) for letter in "nsb"} | {("dqqvmbz", letter) for letter in "dqvmb"}
    wanted |= {("dc", "d"), ("dc", "c"), ("*v", "v"), ("tr", "t"), ("tr", "r"), ("rr", "r")}
    assert sorted(wanted - said.keys()) == []


BASE = (CORPUS / "base.program").read_text()


@pytest.mark.parametrize("count", heavy_after((3_000, 100_000, 1_000_000), 1))
def test_many_contexts_end_within_the_limit(count: int) -> None:
    contexts = ["box -1", *(f"box {at}" for at in range(count - 1))]
    assert kernel_verdict(*about(BASE, [*contexts, "set 0", f"map {count - 1} 4 3 0 0"])) in (3, 5)
    assert kernel_verdict(*about(BASE, ["box -1"] * 3 * count)) in (4, 5)
    facts = [f"map {count - 1} 4 {at % 4} 2 0" for at in range(20_000)]
    limit = kernel_cases.LIMIT * count // 1_000_000
    assert kernel_verdict(*about(BASE, [*contexts, "set 0", "set 1", "set 0 1", *facts]), limit) == 5


def test_enormous_files_end_within_the_limit() -> None:
    assert kernel_verdict(BASE.encode(), b"x" * (65 << 20)) == 4
    large = BASE.replace("4 2 0 0 3", "100000000 2 0 0 3")
    assert kernel_verdict(*about(large, ["runs 0 1", "row 2 99999999 0 0 0 1", "box -1"]), 10**6) == 5
    domain = f"map {LARGEST} 1 1\nhead {LARGEST} 2 2 2 0 1 0 + 1 3\nmap 2 1 3 < 1 1\n"
    text = "restrict-program/1 100 2 0 0 3\n" + domain
    assert kernel_verdict(*about(text, ["runs", "row 3 5 0 0 0 1"])) == 5
    assert kernel_verdict(*about(text, ["box -1", "set 0", "head 0 3 5 0 0"])) == 3
    assert kernel_verdict(*about(text, ["box -1", "set 0", "map 0 4 5 0 0"])) == 5


def test_random_bytes_and_words_are_refused_in_one_way() -> None:
    rng = random.Random(4)
    words = [*proof.FORMS, *map(str, range(-2, 6)), "99999999999999999999", "", "-", "restrict-kernel/1"]
    for _ in range(1000):
        lines = [" ".join(rng.choice(words) for _ in range(rng.randrange(9))) for _ in range(rng.randrange(6))]
        assert kernel_verdict(*about(BASE, lines)) in (3, 4, 5)
    operations = [*normal_form.OPERATIONS, "c", "t", *map(str, range(-1, 9))]
    for _ in range(1000):
        code = " ".join(rng.choice(operations) for _ in range(rng.randrange(9)))
        found = kernel_verdict(
            *about(BASE.replace("c 0 - 4 2", code), files(CORPUS / "claim.proof")[1].decode().splitlines()[1:])
        )
        assert isinstance(found, str) or found in (3, 4, 5)


# ---------------------------------------------------------------- shipped models, and the command line

SHIPPED = [
    ("all-ones", 300), ("and-of-ors", 100), ("alternating-tree", 256), ("contains-one", 33), ("dot-dense", 40),
    ("first-symbol", 9), ("flip-flop", 64), ("or-of-ands", 400), ("parity8", 64), ("tagger", 30),
    ("weights-a-before-b", 40), ("random:layers=1,heads=2,states=2,every=1", 40),
    ("random:layers=2,heads=2,states=4,seed=1", 1000), ("all-ones", 20), ("and-of-ors", 2500), ("dot-sparse", 40),
    ("dyck1-depth2", 30), ("dyck1-depth3", 21), ("induction-head", 48), ("q-then-u", 50), ("shared-hubs", 60),
    ("tp-same-as-first", 8), ("tribes", 90), ("tribes-trap", 30), ("brasp-ab-star", 30), ("brasp-flip-flop", 30),
    ("brasp-dyck1-depth2", 30), ("anbn", 12), ("parity-attempt", 12),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "n"), [pytest.param(*one, marks=[pytest.mark.slow] * (at > 3)) for at, one in enumerate(SHIPPED)]
)
def test_certificates_of_shipped_models(name: str, n: int) -> None:
    model = restrict.load(ROOT / "instances" / f"{name}.json" if ":" not in name else name)
    try:
        found = restrict.certify(model, n)
    except (NotEstablished, ModelError) as error:
        pytest.skip(str(error))
    folder = model.source.parent if model.source else Path()
    made = Elaboration(model.content, found.to_bytes(), folder, name)
    assert made.check() == restrict.check(model, found)
    assert len(made.made.proof) < 50_000


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    succeeded("certify", "and-of-ors", "-n", "100", "-o", "c.json")
    digest = json.loads(succeeded("elaborate", "and-of-ors", "c.json", "-o", "p", "--json").stdout)["digest"]
    assert digest == hashlib.sha256(Path("p.program").read_bytes()).hexdigest()
    command = [sys.executable, "-I", str(ROOT / "restrict" / "checker"), "p.program", "p"]
    line = f"s VERIFIED n=100 target=99 free=90 c=0 values=0 {digest}\n"
    assert subprocess.check_output(command, text=True) == line


# ---------------------------------------------------------------- how much has to be believed


def test_no_code_is_generated_and_nothing_is_replaced_from_outside() -> None:
    """How long these files are is said in tests/test_architecture.py."""
    parts = ("kernel.py", "tree.py", "normal_form.py", "proof.py", "lower.py", "one_length.py")
    for path in (Path(str(kernel.__file__)).with_name(name) for name in parts):
        called = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not called & {"exec", "eval", "compile", "runner", "__import__"}, path


# ----------------------------------------------------------------
# `check --fast`: rows by the engine's scans have the verdicts of the kernel's loop, on proofs and their mutants.


def rows_changed(rng: np.random.Generator, proof: bytes) -> bytes:
    """A row's bar a little lower or higher, by score or by position, or other runs that it lists."""
    lines = [line.split(" ") for line in proof.decode().splitlines()]
    if rows := [line for line in lines if line[0] == "row"]:
        row = rows[int(rng.integers(len(rows)))]
        at = int(rng.choice([4, 5, 6]))
        row[at] = str(int(row[at]) + int(rng.choice([-1000, -2, -1, 1, 2])) if at < 6 or rng.random() < 0.5 else 0)
    return "".join(" ".join(line) + "\n" for line in lines).encode()


def compiled_verdict(found: Elaboration, proof: bytes) -> str | int:
    """What the proof concludes by the compiled scans, or the exit code."""
    program, limit = found.made.program, 20_000_000
    try:
        read = Program(program, Place("program"), Meter(limit))
        return CompiledProof(proof, read, found.made.digest, Meter(limit), found.instance).found.text
    except Reject as reject:
        return reject.code


def compared(rng: np.random.Generator, model: bytes, proof: bytes, count: int) -> Counter[str]:
    """The verdicts on an elaborated proof and its mutants."""
    try:
        found = Elaboration(model, proof)
    except RestrictError:
        return Counter()
    told, whole, half = Counter[str](), found.made.proof, range(count // 2)
    for made in [whole, *kernel_cases.mutants(rng, whole, len(half)), *(rows_changed(rng, whole) for _ in half)]:
        one, other = kernel_verdict(found.made.program, made), compiled_verdict(found, made)
        assert one == other
        told["accepted" if isinstance(one, str) else f"exit {one}"] += 1
    return told


@pytest.mark.parametrize("programs", heavy_after((4, 100, 600), 1))
def test_small_proofs_and_mutants_have_one_verdict(programs: int) -> None:
    rng, told = np.random.default_rng(5), Counter[str]()
    drawn = [(kernel_cases.certificate_pair, kernel_cases.bound_pair)[at % 4 == 0](rng) for at in range(programs)]
    for pair in drawn:
        told += compared(rng, *pair.bytes, 24)
    assert told["accepted"] > 2 * programs
    assert told["exit 3"] > 2 * programs


@pytest.mark.parametrize("kind", kernel_cases.LARGE_KINDS)
def test_larger_proofs_and_mutants_have_one_verdict(kind: str) -> None:
    rng = np.random.default_rng(6)
    trial = kernel_cases.large_trial(rng, kind)
    assert compared(rng, trial.model, trial.proof, 10)["accepted"] >= 1


def test_a_lie_about_a_long_row_is_refused() -> None:
    """At n = 30 000 with hashed scores: a bar that some unlisted pair reaches."""
    model = restrict.load("random:layers=1,heads=2,states=4,seed=3")
    found = Elaboration(model.content, restrict.certify(model, 30_000).to_bytes(), limit=10**10)
    assert check_compiled(found).startswith("s VERIFIED n=30000 ")
    lines = found.made.proof.decode().splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("row "))
    words = lines[at].split(" ")
    lines[at] = " ".join([*words[:4], str(int(words[4]) * 9 // 10), *words[5:]])
    found.made = found.made._replace(proof="".join(line + "\n" for line in lines).encode())
    with pytest.raises(NotEstablished, match=f"line {at + 1}"):
        check_compiled(found)
