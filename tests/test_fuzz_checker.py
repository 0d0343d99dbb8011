"""The fuzzers, a short run of each: every kind of proof finds nothing, and a fault that is put in is found."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from restrict.base.errors import RestrictError
from restrict.checker import main as checker
from restrict.checker.account import Reject
from restrict.cli.main import cli
from restrict.model.fileformat import loads
from scripts import fuzz_checker, fuzz_cli
from tests import documents, naive
from tests.fuzzing.batch import batch_values
from tests.fuzzing.defined import defined
from tests.fuzzing.kinds import Kind, Trial, kinds, originals, read, write
from tests.fuzzing.meaning import Meaning
from tests.generator import random_order_only, random_program
from tests.marks import heavy_after

SCRIPT = Path(fuzz_checker.__file__)


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """A chunk changes the handler of the signal."""
    handler = signal.getsignal(signal.SIGPROF)
    yield
    signal.signal(signal.SIGPROF, handler)


def test_there_is_a_kind_for_every_format_and_every_claim() -> None:
    """What prints `s VERIFIED` is fuzzed: a kind for each format of `checker.PROOFS`, for each claim of all lengths."""
    from restrict.checker.claims import CLAIMS

    proofs = {name: [json.loads(trial.proof) for trial in originals(name)] for name in kinds()}
    formats = {proof["format"] for pair in proofs.values() for proof in pair}
    rng = np.random.default_rng(0)
    for _ in range(12):  # verdicts on one layer, or on two
        if formats < set(checker.PROOFS):
            formats.add(json.loads(kinds()["verdict"].original(rng).proof)["format"])
    assert formats == set(checker.PROOFS)
    assert set(CLAIMS) <= set(proofs)
    assert {"certificate", "all", "split", "cases", "refutation", "errors", "lower-bound"} <= set(proofs)
    assert "split" in proofs["split"][0]
    assert "cases" in proofs["cases"][0]
    assert "errors" in proofs["errors"][0]
    assert proofs["all"][0]["target"] == "all"


@pytest.mark.parametrize("mutants", heavy_after((4, 40), 1))
@pytest.mark.parametrize("name", kinds())
def test_a_short_run_finds_nothing(name: str, mutants: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge is no rubber stamp: of the mutants that are rightly not established, it calls some false."""
    real, judged = fuzz_checker.outcome, Counter[str]()

    def outcome(trial: Trial, kind: Kind, folder: Path, turn: int = 0) -> tuple[str, str | None]:
        column, wrong = real(trial, kind, folder, turn)
        if column == "not established":
            with suppress(Exception):  # where a file is not read to its end, the judge may not understand it
                judged[kind.judge(trial)] += 1
        return column, wrong

    monkeypatch.setattr(fuzz_checker, "outcome", outcome)
    if mutants < 40:
        given = cycle(originals(name))
        monkeypatch.setattr(fuzz_checker, "made", lambda *_: next(given))
    tally, number = fuzz_checker.Tally(), 0
    seed = 2 if mutants < 40 else 1  # which soon have a mutant of each sort
    while number == 0 or (number < 15 and not min(tally.counts["true"], tally.counts["malformed"], judged["false"])):
        tally.add(fuzz_checker.chunk((name, seed, number, mutants))[1])
        number += 1
    assert [wrong for wrong, _ in tally.failures] == []
    assert tally.mutants() == number * mutants
    assert tally.counts["originals refused"] == 0
    assert tally.counts["true"] >= max(1, mutants // 13)
    assert tally.counts["malformed"] >= max(1, mutants // 13)
    assert tally.slowest < fuzz_checker.SECONDS
    assert judged["false"]


@pytest.mark.parametrize(
    "name", [pytest.param(k, marks=pytest.mark.heavy if k == "soft" else pytest.mark.slow) for k in kinds()]
)
def test_a_longer_run_finds_nothing(name: str) -> None:
    """Many originals with few mutants each: a checker of softmax files that halves its bounds is seen by one of 16. Of
    certificates, tests/test_soundness.py tries more, by each of their operators."""
    total = fuzz_checker.Tally()
    for number in range(8):
        total.add(fuzz_checker.chunk((name, 3, number, 50))[1])
    assert [wrong for wrong, _ in total.failures] == []
    assert total.mutants() == 400
    assert total.counts["true"] >= 30
    assert total.counts["not established"] >= 10


def test_a_checker_that_believes_well_formed_files_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it accepts although it is false is counted as such, and is a failure."""

    def credulous(model: bytes, certificate: bytes, **more: object) -> str:
        try:
            return checker.verify(model, certificate, **more)
        except Reject as reject:
            if reject.code == 3:
                return "s VERIFIED"
            raise

    monkeypatch.setattr(fuzz_checker, "verify", credulous)
    monkeypatch.setattr(fuzz_checker, "shrunk", lambda trial, *_: trial)
    monkeypatch.setattr(fuzz_checker, "ALONE", 1 << 30)
    _, tally = fuzz_checker.chunk(("certificate", 2, 1, 40))
    assert tally.counts["false"] >= 3
    assert {wrong for wrong, _ in tally.failures} == {"accepted and false"}


def test_a_crash_is_found_shrunk_and_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(model: bytes, certificate: bytes, **more: object) -> str:
        if b'"cone"' in certificate:
            raise KeyError
        raise Reject(4, "certificate: top level: the key cone is missing")

    kind = kinds()["certificate"]
    trial = kind.original(np.random.default_rng(1))
    monkeypatch.setattr(fuzz_checker, "verify", broken)
    column, wrong = fuzz_checker.outcome(trial, kind, tmp_path)
    assert (column, wrong) == ("crash", "crash: KeyError")
    found = fuzz_checker.shrunk(trial, str(wrong), kind, tmp_path)
    assert len(found.proof) < 80
    assert b'"cone"' in found.proof
    fuzz_checker.keep(tmp_path / "failures", kind, 1, str(wrong), found)
    assert fuzz_checker.replay(tmp_path / "failures") == 1
    monkeypatch.undo()
    assert fuzz_checker.replay(tmp_path / "failures") == 0
    assert "was crash: KeyError; now malformed" in capsys.readouterr().out


def test_a_trial_is_read_as_it_was_written(tmp_path: Path) -> None:
    trial = Trial(b"m", b"c", (("t.safetensors", b"t"),))
    write(trial, tmp_path)
    (tmp_path / "wrong.txt").write_text("certificate: nothing\n")
    assert read(tmp_path) == trial


def interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, at: Callable[[int], None]
) -> tuple[str, int]:
    """What the fuzzer prints, with chunks of ten mutants, before each of which ``at`` is called with its number; and
    how many chunks it began."""
    real, calls = fuzz_checker.chunk, []

    def chunk(place: fuzz_checker.Place) -> tuple[str, fuzz_checker.Tally]:
        calls.append(place)
        at(len(calls))
        return real(place)

    monkeypatch.setattr(fuzz_checker, "chunk", chunk)
    monkeypatch.setattr(fuzz_checker, "CHUNK", 10)
    monkeypatch.setattr(sys, "argv", ["fuzz_checker.py", "--kind", "certificate", "--mutants", "100", *words.split()])
    assert fuzz_checker.main() == 0
    out, err = capsys.readouterr()
    assert err.endswith("interrupted\n")
    return out, len(calls)


def test_an_interruption_leaves_the_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the third chunk: the table and the JSON of the first two."""

    def at(number: int) -> None:
        if number == 3:
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    out, _ = interrupted(monkeypatch, capsys, "--kind forces -o counts.json", at)
    assert "0 failures in 20 mutants" in out
    counts = json.loads((tmp_path / "counts.json").read_text())["kinds"]
    assert [counts[name]["mutants"] for name in ("certificate", "forces")] == [10, 10]


def test_an_interruption_that_a_search_has_taken_for_its_own_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Searches keep their best result at Ctrl-C and return; the fuzzer ends after that chunk."""

    def at(_: int) -> None:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    out, chunks = interrupted(monkeypatch, capsys, "", at)
    assert signal.getsignal(signal.SIGINT) is before
    assert "0 failures in 10 mutants" in out
    assert chunks == 1


def busy(session: int, count: int) -> bool:
    """Whether a session has so many workers that have computed for more than their start takes."""
    ticks = os.sysconf("SC_CLK_TCK")
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found += [int(fields[11]) / ticks] if int(fields[3]) == session != int(path.parent.name) else []
    return sum(seconds > 2 for seconds in found) >= count


@pytest.mark.heavy
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_an_interruption_of_two_workers_leaves_the_counts(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--kind", "certificate", "--mutants", "1000000", "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parent.parent)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 100
    while not busy(process.pid, 2) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == "interrupted\n"
    assert "0 failures in" in out


@pytest.mark.parametrize("seed", heavy_after(range(2), 1))
def test_the_judges_know_the_models(seed: int) -> None:
    """Definedness is the engine's, evaluation word by word and of all words at once is that of tests/naive.py."""
    rng, compared = np.random.default_rng(seed), 0
    for turn in range(24):
        model = random_program(rng, None, 5) if turn % 2 else random_order_only(rng, 2, 4, placed=0.5)
        found, program = Meaning(model), loads(json.dumps(model).encode())
        for n in (1, 2, 3, 5, 7, 9, 200):
            try:
                program.at(n)
            except RestrictError:
                assert defined(model, n) is False, (model, n)
                continue
            assert defined(model, n), (model, n)
            if n > 7:
                continue
            words = found.sampled(n - found.markers)
            rows = batch_values(found.instance(n), words)
            for word, row in list(zip(words, rows or [], strict=True))[::7]:
                expected = naive.run(model, word)
                assert row == expected.values[model["output"]["variable"]] == found.value(word)
                assert found.labels(word) == [str(label) for label in naive.labels_of(model, expected)]
                compared += 1
    assert compared > 50


def test_an_overflow_a_division_and_a_root_are_seen_by_the_judges() -> None:
    """Each rule of interval analysis has a model on both of its sides."""

    def model(score: str, **more: object) -> dict[str, object]:
        head = documents.head("h", score, key="token")
        return documents.model(head, alphabet="ab", position="last", accept=[1], **more)

    for score, n, expected in [
        ("j * 4611686018427387904", 2, True),
        ("j * 4611686018427387904", 3, False),
        ("k // (n - 3)", 3, False),
        ("k // (n - 3)", 4, True),
        ("k % (j + 1)", 5, True),
        ("k % (j - 1)", 5, False),
        ("isqrt(j - 1)", 5, False),
        ("isqrt(abs(j - 1))", 5, True),
        ("0 * (9223372036854775807 + k)", 2, False),
        ("k if 1 else 1 // k", 2, False),
        ("min(j, 2) * 4611686018427387903", 9, True),
        ("hash(k) + 1", 2, False),
    ]:
        assert defined(model(score), n) is expected, (score, n)
    assert defined(model("k", when="n % 2"), 4) is False
    assert defined(model("k", start_marker="<", end_marker=">"), 1) is False


# ----------------------------------------------------------------
# The fuzzer of the command line, a short run; docs/soundness.md has the long one.


@pytest.mark.parametrize("lines", heavy_after((40, 200), 1))
def test_every_command_with_bad_input_of_every_kind_ends_in_one_line(lines: int, tmp_path: Path) -> None:
    here = Path.cwd()
    try:
        fuzz_cli.prepare(tmp_path)
        counts, wrong = fuzz_cli.run_lines(range(1, lines), 8, tmp_path, processes=False, tell=lambda _: None)
    finally:
        os.chdir(here)
    assert not wrong
    assert counts["exit 0"] >= lines // 10
    assert counts["exit 2"] >= lines // 4
    assert counts["exit 4"] >= lines // 20


def test_the_fuzzer_sees_what_is_wrong() -> None:
    """Each fault that it looks for is found in an outcome that has it."""
    line = "restrict: no\n"
    for code, out, err, new, old in (
        (1, "", line, set(), "old"),
        ("KeyError: 1", "", line, set(), "old"),
        (0, "", "a warning\n", set(), "old"),
        (2, "", "", set(), "old"),
        (2, "", line * 2, set(), "old"),
        (2, "", "no\n", set(), "old"),
        (2, "", f"restrict: {'x' * 3000}\n", set(), "old"),
        (2, "Traceback (most recent call last)", line, set(), "old"),
        (5, "", line, {"out.json"}, "old"),
        (5, "", line, set(), "new"),
        (0, "", "", {".out.json.abc.part"}, "old"),
    ):
        found = fuzz_cli.Outcome(code, out, err, 0.1)
        assert list(fuzz_cli.faults(["certify"], found, new, old)), found
    assert not list(fuzz_cli.faults(["certify"], fuzz_cli.Outcome(3, "", line, 0.1), set(), "old"))


def test_the_fuzzer_says_nothing_of_a_command_or_an_option_that_is_no_more() -> None:
    """It draws every parameter that a command has; what it says of them, or leaves out, is there."""
    every = dict(fuzz_cli.parameters(cli))
    assert set(every) >= set(fuzz_cli.COMMANDS) - {"frog"}
    names = {parameter.opts[0] for found in every.values() for parameter in found}
    assert {*fuzz_cli.LEFT_OUT} <= names | every.keys()
    scopes = {*every, *(name.partition(" ")[0] for name in every)}
    known = names | {f"{scope} {name}" for scope in scopes for name in names}
    assert {*fuzz_cli.VALUES, *fuzz_cli.OFTEN} <= known
    drawn = {option.flag for options in fuzz_cli.COMMANDS.values() for option in options}
    assert {name for name in names if name.startswith("-")} - {*fuzz_cli.LEFT_OUT} <= drawn
