"""What the trusted checker refuses: each rule of the format has a file that breaks it, and nothing crashes.

The corpus holds ``NAME.model.json`` and ``NAME.cert.json``; a case without a model of its own uses ``good.model.json``.
The models of soft certificates are ``NAME.model.safetensors``; ``soft-cert-NAME`` uses ``good-soft``.
The test of the test: every call of ``malformed`` or ``require`` in the checker's files, found in their syntax trees, is
what refuses some case, and so is every entry of the tables of fields.
"""

import ast
import hashlib
import json
import traceback
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from numpy.random import Generator, default_rng

from restrict.base.errors import RestrictError
from restrict.certificate.certificate import Certificate
from restrict.certificate.lower_bound import LowerBound
from restrict.certificate.refutation import Refutation
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.model.fileformat import loads
from restrict.soft.models.format import loads as soft_loads
from restrict.soft.restriction.claim import SoftCertificate
from tests import soft_mutations
from tests import trusted as check
from tests.clock import quicker_than
from tests.commands import typed
from tests.fuzzing.changes import bytes_changed
from tests.fuzzing.kinds import Trial, sealed
from tests.marks import heavy_after
from tests.test_account import FORCES, LAST, proof
from tests.test_how_wrong import COPIES, EVERY, cost, deviates
from tests.wrong_ways import Document, everywhere, model

CORPUS = Path(__file__).parent / "corpus" / "malformed"
CASES = sorted(
    path.name.removesuffix(".cert.json") for path in CORPUS.glob("*.cert.json") if not path.name.startswith("good")
)
# Too large for the corpus; tested below with a file made for that test.
EXEMPT = {"larger than 64 MiB"}
OTHERS = ("normal_form.py", "proof.py")
"""The readers of the kernel's two files have a corpus of their own: tests/test_kernel.py."""
REFUSALS = ("malformed", "require")
TABLES = ("MODEL", "OUTPUT", "MAP", "HEAD", "CERTIFICATE", "CLAIM", "CLAIM_ALL", "LEAF", "CASE", "INLINE", "STORED")
TABLES += ("HEADER", "TABLE", "DOT", "REFUTATION", "LANGUAGE", "DFA", "BOUND", "BOX")
TABLES += ("PROOF", "SIDE", "LAYER", "RECOGNISES", "DIFFERS", "FORCES", "COST", "COMPUTES", "DEVIATES", "WRONG")
TABLES += ("AUTOMATON", "BIMACHINE", "POSITION")


def files(case: str) -> tuple[Path, Path]:
    spare = CORPUS / ("good-soft.model.safetensors" if case.startswith("soft-") else "good.model.json")
    own = [path for kind in ("json", "safetensors") if (path := CORPUS / f"{case}.model.{kind}").exists()]
    return (own or [spare])[0], CORPUS / f"{case}.cert.json"


Site = tuple[str, int]
Entry = tuple[int, str]


def rejection_sites() -> set[Site]:
    """The calls of ``malformed`` and ``require`` by file and line, except the exempt ones."""
    found = []
    for path in (path for path in check.FILES if path.name not in OTHERS):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        found += [(path.name, c) for c in calls if isinstance(c.func, ast.Name) and c.func.id in REFUSALS]
    literal = {arg.value for _, call in found for arg in call.args if isinstance(arg, ast.Constant)}
    assert literal >= EXEMPT
    return {
        (name, call.lineno)
        for name, call in found
        if name != "account.py" and not any(isinstance(arg, ast.Constant) and arg.value in EXEMPT for arg in call.args)
    }


def tables() -> dict[int, tuple[str, dict[str, Any]]]:
    """Every table of fields, also those inside another, by identity."""
    found: dict[int, tuple[str, dict[str, Any]]] = {}

    def add(name: str, table: dict[str, Any]) -> None:
        found[id(table)] = (name, table)
        for key, shape in table.items():
            inner = shape.shape if isinstance(shape, check.read.Maybe) else shape
            if isinstance(inner, dict):
                add(f"{name}.{key}", inner)

    for module in (*check.MODULES, check.hints):
        for name, value in vars(module).items():
            if name in TABLES and isinstance(value, dict):
                add(name, value)
    return found


def entries() -> set[Entry]:
    """Every entry of every table that something can be wrong with."""
    return {
        (number, key)
        for number, (_, table) in tables().items()
        for key, shape in table.items()
        if shape != check.read.Maybe(check.read.anything)
    }


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The elaborator's own process takes seconds to start; tests/test_check.py has one."""
    monkeypatch.setattr(check.main, "elaborated", check.elaborated_here)


@cache
def refusal(case: str) -> Reject:
    """How the checker refuses a case."""
    with pytest.raises(Reject) as caught:
        check.verify(*(path.read_bytes() for path in files(case)), folder=CORPUS)
    return caught.value


def reached_by(case: str) -> tuple[Site, set[Entry]]:
    """The call that refuses the case, and the table entries that it concerns."""
    assert refusal(case).code == 4
    frames = list(traceback.walk_tb(refusal(case).__traceback__))
    assert frames[-1][0].f_code.co_name == "malformed"
    records = [frame.f_locals for frame, _ in frames if frame.f_code.co_name == "record"]
    concerned = {(id(found["table"]), found["key"]) for found in records if "key" in found}
    site, line = [(frame.f_code, line) for frame, line in frames if frame.f_code.co_name not in REFUSALS][-1]
    return (Path(site.co_filename).name, line), concerned


def outcome(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str]:
    """Exit code and the one line of a run that must not succeed."""
    code = check.main.main([str(argument) for argument in argv])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.endswith("\n"), err
    assert err[:-1].isascii(), err
    assert err[:-1].isprintable(), err
    assert code != 0
    return code, err[:-1]


@pytest.mark.parametrize(
    ("case", "model", "line"),
    [
        ("good", "good", "n=5 target=last free=4 c=0 values=1"),
        ("good-refutation", "good", "n=5 target=last free=4 c=0 values=1 refutes=parity errors>=8"),
        ("good-bound", "good", "n=5 target=last at_least=1 labels=accept:1,reject:5"),
        ("good-length", "good", "all-lengths recognises=dfa-of-2-states n>=1 states=2"),
        ("good-soft", "good-soft", "n=4 fixed=1 free=2 probability<=1/2"),
    ],
)
def test_the_good_files_are_verified(case: str, model: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main.main([str(path) for path in files(case)]) == 0
    digest = hashlib.sha256(files(model)[0].read_bytes()).hexdigest()
    said = f"s VERIFIED {line} {digest}\n"
    assert capsys.readouterr() == (said, "")
    assert typed("check", *files(case)).output == said


def test_every_rejection_site_and_every_table_entry_is_reached_by_a_case() -> None:
    reached = [reached_by(case) for case in CASES]
    sites, found = rejection_sites(), {site for site, _ in reached if site[0] not in OTHERS}
    assert sorted(sites - found) == [], "calls that no case of the corpus reaches"
    assert found <= sites
    concerned = {entry for _, more in reached for entry in more}
    names = tables()
    assert [(names[number][0], key) for number, key in entries() - concerned] == [], "entries that no case concerns"
    assert len(names) >= 18
    assert len(CASES) >= len(sites)


def test_a_malformed_file_is_refused_in_one_line_and_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    for case in CASES:
        with quicker_than(1):
            code, line = outcome(capsys, *files(case))
        assert code == 4, case
        assert line.count(": ") >= 2, f"{case}: FILE: PLACE: REASON"
        assert len(line) < 1000, case


@pytest.mark.parametrize("cases", heavy_after((CASES[::6], CASES), 1), ids=len)
def test_the_command_which_elaborates_first_says_the_same(cases: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for case in cases:
        code, line = outcome(capsys, *files(case))
        found = typed("check", *files(case))
        assert (found.exit_code, found.stdout, found.stderr) == (code, "", f"{line}\n"), case


# -- Places: the line says where.


@pytest.mark.parametrize(
    ("case", "place"),
    [
        ("overflow", "variables[0].score"), ("domain-zero", "variables[1].domain"), ("fixed-overlap", "fixed[1]"),
        ("cert-other-name", "model.name"), ("claim-values-empty", "claim.values"),
        ("axis-wrong-size", "variables[0].score.table"), ("refutation-word-symbol", "member[0]"),
        ("refutation-dfa-state", "language.transitions[1][0]"), ("refutation-certificate-bad", "certificate"),
    ],
)  # fmt: skip
def test_the_line_names_file_and_place(case: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, line = outcome(capsys, *files(case))
    assert any(line.startswith(f"{file}: {place}: ") for file in files(case))


def test_control_characters_and_surrogates_in_a_quotation_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = json.loads(files("good")[1].read_text())
    for key in ["a\nb", "\ud800", "\x1b[31m", "\u2028", "x" * 100_000]:
        (tmp_path / "c.json").write_text(json.dumps({**certificate, key: 1}))
        code, line = outcome(capsys, files("good")[0], tmp_path / "c.json")
        assert code == 4
        assert ("lone surrogate" if key == "\ud800" else "unknown key") in line
        assert len(line) < 1000


# -- The package's readers, which use the checker's tables.

RECORDS = {
    "refutation-": Refutation,
    "bound-": LowerBound,
    "soft-cert-": SoftCertificate,
    "soft-": None,
    "length-": None,
}
"""What is read of a case by the start of its name, where that is no certificate."""
LENIENT = {"soft-no-room", "soft-scale-zero", "soft-table-too-short", "soft-file-key"}
"""Softmax models that are read: three say nothing at one length alone, and the library takes any key."""
LENIENT |= {f"soft-term-{fault}" for fault in (
    "floor-zero", "irrational-floor", "irrational-if", "irrational-power", "log-maybe-zero", "log-zero",
    "power-fraction", "power-large", "power-zero", "sqrt-negative", "zero", "zero-bounds",
)}  # fmt: skip
"""Whether a term has a value is seen at its positions."""


def package(case: str) -> tuple[str, str]:
    """What the package's readers say of a case, and whether of the model or of the proof; nothing where they read both,
    since whether a proof is about its model is seen with both files alone."""
    model, proof = files(case)
    try:
        if model.suffix == ".safetensors":
            soft_loads(model.read_bytes())
        else:
            n = json.loads(proof.read_bytes()).get("n", 5) if model.name != "good.model.json" else 5
            loads(model.read_bytes(), "model", CORPUS).at(n)
    except RestrictError as error:
        return "model", str(error)
    record = next((kind for start, kind in RECORDS.items() if case.startswith(start)), Certificate)
    try:
        if record is not None:
            record.load(proof)
    except RestrictError as error:
        return "proof", str(error).replace(f"{proof}: ", "certificate: ")
    return "", ""


def test_the_package_refuses_a_malformed_file_for_what_the_checker_says() -> None:
    """Every model that the checker refuses, and the proofs that are wrong by themselves; most in the same words."""
    same, refused = 0, 0
    for case in CASES:
        line, (which, said) = str(refusal(case)), package(case)
        of_model = not line.startswith("certificate: ")
        assert (which == "model") == of_model or case in LENIENT, (case, line, said)
        assert "\n" not in said
        assert which != "proof" or said.startswith("certificate: "), "the file is named"
        refused, same = refused + bool(said), same + (said.removeprefix("model: ") == line.removeprefix("model: "))
    assert refused > 390
    assert same > 230, "most are read with one table"


# -- Mutations: whatever the bytes, an answer.

SEEDS = pytest.mark.parametrize("seeds", heavy_after((range(600), range(3000)), 1))


def code_of(model: bytes, certificate: bytes) -> int:
    try:
        check.verify(model, certificate, folder=CORPUS, limit=100_000)
    except check.Reject as reject:
        return reject.code if "\n" not in str(reject) else -1
    return 0


TERM = ["n", "i", "sqrt(", "log(", "exp(", "cospi(", "sinpi(", "(", ")", "+", "-", "*", "/", "//", "%", "**", "if"]
TERM += ["else", "==", "<", "0", "1", "64", "0.5", "1e9", "1e-999", "9.25e3", "and", "e", ".", "\u0663"]
EXPRESSION = ["n", "i", "j", "q", "k", "and", "or", "not", "if", "else", "min(", "max(", "abs(", "hash(", "isqrt("]
EXPRESSION += ["(", ")", ",", "+", "-", "*", "//", "%", "==", "<", "<=", "0", "1", "7"]


def with_any_term(rng: Generator, content: bytes) -> bytes:
    """Words of terms in any order, in a model whose header is made anew."""
    made = soft_mutations.opened(content)
    made.document["position"]["terms"] = ["".join(rng.choice(TERM, rng.integers(1, 8)))]
    return made.to_bytes()


def with_any_expression(rng: Generator, content: bytes) -> bytes:
    """Words of expressions in any order."""
    model = json.loads(content)
    model["variables"][0] |= {"query": "token", "score": " ".join(rng.choice(EXPRESSION, rng.integers(1, 10)))}
    return json.dumps(model).encode()


@pytest.mark.parametrize(
    ("case", "change"),
    [
        *((case, None) for case in ("good", "good-refutation", "good-bound", "good-length", "good-soft")),
        *(("good", bytes_changed), ("good-soft", bytes_changed)),
        *(("good-soft", with_any_term), ("good", with_any_expression)),
    ],
)
@SEEDS
def test_what_is_mutated_never_crashes(
    case: str, change: Callable[[Generator, bytes], bytes] | None, seeds: range
) -> None:
    """A certificate, or a model: then the digest is put right, so that the mutation reaches the model's reader."""
    model, certificate = (path.read_bytes() for path in files(case))
    digest = hashlib.sha256(model).hexdigest().encode()
    codes = set()
    for seed in seeds:
        rng = default_rng(seed)
        if change is None:
            codes.add(code_of(model, bytes_changed(rng, certificate)))
        else:
            mutated = change(rng, model)
            codes.add(code_of(mutated, certificate.replace(digest, hashlib.sha256(mutated).hexdigest().encode())))
    assert codes <= {0, 3, 4, 5}
    assert {3 if change is with_any_expression else 0, 4} <= codes


# -- Exit codes 2 and 5.


@pytest.mark.parametrize(
    "argv",
    [
        [], ["a"], ["a", "b", "c"], ["a", "b", "--limit"], ["a", "b", "--limit", "-1"], ["a", "b", "--limit", "1.5"],
        ["a", "b", "--limit", "9" * 30], ["--help"], ["--fast", "a", "b"], ["a", "missing"], ["", ""], ["\0", "\0"],
    ],
)  # fmt: skip
def test_wrong_usage_and_missing_files_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, *argv)[0] == 2


def test_a_folder_in_place_of_a_file_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, tmp_path, files("good")[1])[0] == 2
    assert outcome(capsys, files("good")[0], tmp_path)[0] == 2


def test_a_missing_tensor_file_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, certificate = (json.loads(path.read_text()) for path in files("good"))
    model["files"] = {"weights.safetensors": "0" * 64}
    (tmp_path / "m.json").write_text(json.dumps(model))
    certificate["model"]["sha256"] = hashlib.sha256((tmp_path / "m.json").read_bytes()).hexdigest()
    (tmp_path / "c.json").write_text(json.dumps(certificate))
    code, line = outcome(capsys, tmp_path / "m.json", tmp_path / "c.json")
    assert code == 2
    assert "weights.safetensors" in line


def test_a_file_over_the_cap_is_refused_unparsed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open(tmp_path / "big.json", "wb") as file:
        file.seek(check.JSON_BYTES)
        file.write(b"}")
    code, line = outcome(capsys, files("good")[0], tmp_path / "big.json")
    assert code == 4
    assert "larger than 64 MiB" in line


def test_work_beyond_the_limit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The least limit that suffices, and one less."""
    model, certificate = (path.read_bytes() for path in files("good"))

    def suffices(limit: int) -> bool:
        try:
            return bool(check.verify(model, certificate, limit=limit))
        except check.Reject:
            return False

    least = bisect_left(range(100_000), True, key=suffices)
    code, line = outcome(capsys, *files("good"), "--limit", str(least - 1))
    assert code == 5
    assert f"needs at least {least} steps, beyond the limit of {least - 1}" in line


# ----------------------------------------------------------------
# Places of the checker that say "not established" and that mutants seldom come to: each with its words.


def with_score(score: object) -> Trial:
    """The proof of what a model says that copies the last token, for a model with another score."""
    head = {**LAST["variables"][0], "key": "token", "score": score}
    return proof(FORCES, {**LAST, "variables": [head]})


def claimed(document: Document, claim: Document) -> Trial:
    """A claim of anybody's, with the engine's layers."""
    return sealed(*everywhere(document, claim))


EVEN = {"name": "o", "kind": "map", "args": ["token"], "domain": 2, "map": "token and n % 2 == 0"}
AT_EVEN = {**model(), "variables": [EVEN], "output": {"variable": "o", "position": "last", "accept": [1]}}
NOT_ESTABLISHED: dict[str, Trial] = {
    "a table over positions is not covered": with_score({"table": {"axes": ["j"], "values": [0, 1, 2, 3]}}),
    "mixes an order by j with other functions": with_score("j if k else j % 1"),
    "weighs j against the key": with_score("j if k else 2 * j"),
    "with a constant in one branch and with i or n in another": with_score("i + j if k else 0"),
    "at some positions above and at others below a constant": with_score("j if k else 3"),
    "no claim is about lengths below 1": claimed(model(), cost([1], [0], 0)),
    "a set that is reached at one length is not a turn later": claimed(AT_EVEN, cost([-1, -1, 1], [0], 2)),
    "it has no state for the word": claimed(EVERY, deviates({**COPIES, "left": [[-1, -1]]}, "ab", 1)),
    "claim.machine: it has no state for the word": claimed(EVERY, deviates({**COPIES, "right": [[-1, -1]]}, "ab", 0)),
}


@pytest.mark.parametrize("words", NOT_ESTABLISHED)
def test_it_is_not_established_for_this_reason(words: str) -> None:
    trial = NOT_ESTABLISHED[words]
    with pytest.raises(Reject) as caught:
        verify(trial.model, trial.proof)
    assert caught.value.code == 3
    assert words in str(caught.value)
