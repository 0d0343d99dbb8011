"""Fuzz the trusted checker: mutate models, certificates, refutations and tensor files, by structure and by bytes.

    python scripts/fuzz_checker.py --mutants 100000 --seed 0 --jobs 1 --folder failures -o fuzz.json

A failure is an exception that is not a rejection, an error that is not one line, more than 8 seconds, more than 1 GiB,
an accepted claim that is false (by evaluation on every consistent input, where these are few), or another verdict of
the fast run. Failures are shrunk and written to ``--folder``, each as a folder with ``m.json``, ``c.json`` and the
tensor file if it has one, to be checked again. The same seed and number of mutants give the same mutants. Exit code 1
means that there was a failure.
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.random import Generator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from restrict.certificate import fast  # noqa: E402 # after the path is set
from restrict.checker.account import Reject  # noqa: E402
from restrict.checker.main import verify  # noqa: E402
from restrict.errors import RestrictError  # noqa: E402
from tests import mutations, naive  # noqa: E402

CHUNK, SECONDS, MEMORY, LIMIT, INPUTS = 2000, 8.0, 1 << 30, 2_000_000, 300
EACH = 100
"""Mutants of an original; making and certifying one takes as long as some ten mutants."""
TENSOR = "t.safetensors"
NUMBERS = (0, 1, -1, 2, 3, 63, 64, 65, 1000, 65536, 10**6, 10**8, 10**8 + 1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63)
WORDS = ["n", "i", "j", "q", "k", "token", "and", "or", "not", "if", "else", "min(", "max(", "abs(", "hash(", "isqrt("]
WORDS += ["(", ")", ",", "+", "-", "*", "//", "%", "==", "!=", "<", "<=", "0", "1", "2", "7", "9223372036854775807"]
ATOMS: tuple[Any, ...] = (
    None,
    True,
    False,
    1.5,
    "",
    "*",
    "0",
    "1",
    "all",
    "last",
    "position",
    "\x00",
    "\ud800",
    [],
    {},
)
PIECES = (b"[", b"]", b"{", b"}", b'"', b",", b":", b"-", b"0", b"9" * 30, b"1e9", b"null", b"\\", b"\xff", b"(", b"%")


class TooLong(BaseException):
    """The eight seconds are over; not an Exception, so that no handler catches it."""


@dataclass
class Trial:
    """The bytes of a pair, and of its tensor file if it has one."""

    model: bytes
    certificate: bytes
    tensor: bytes | None = None


@dataclass
class Tally:
    """What became of the mutants."""

    codes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, Trial]] = field(default_factory=list)
    slowest: float = 0.0
    largest: int = 0


# ---------------------------------------------------------------- mutants


def pick(rng: Generator, options: Any) -> Any:
    """One of the options."""
    return options[int(rng.integers(len(options)))]


def spots(document: Any) -> list[tuple[Any, Any]]:
    """Every container with every key or index in it."""
    found, todo = [], [document]
    while todo:
        part = todo.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        found += [(part, key) for key in keys]
        todo += [part[key] for key in keys]
    return found


def restructure(rng: Generator, document: Any) -> None:
    """One change of structure, in place."""
    if not (places := spots(document)):
        return
    part, key = pick(rng, places)
    old, kind = part[key], int(rng.integers(8))
    if kind == 0:
        del part[key]
    elif kind == 1:
        part[key] = copy.deepcopy(pick(rng, ATOMS))  # a list among them would be changed for all later mutants
    elif kind == 2:
        part[key] = pick(rng, NUMBERS)
    elif kind == 3 and type(old) is int:
        part[key] = old + pick(rng, (-2, -1, 1, 2, 64))
    elif kind == 4 and isinstance(part, list):
        part.insert(key, copy.deepcopy(old))
    elif kind == 5:
        other, at = pick(rng, places)
        part[key] = copy.deepcopy(other[at])
    elif kind == 6 and isinstance(old, str):
        part[key] = " ".join(pick(rng, WORDS) for _ in range(1 + int(rng.integers(9))))
    elif isinstance(part, dict):
        part[pick(rng, ("x", "split", "cases", "labels", "accept", "when", "default", "mask"))] = pick(rng, NUMBERS)


def bytes_changed(rng: Generator, data: bytes) -> bytes:
    """A truncation, or a few random bytes or tokens put in, taken out or exchanged."""
    if not data or rng.random() < 0.1:
        return data[: int(rng.integers(len(data) + 1))]
    changed = bytearray(data)
    for _ in range(1 + int(rng.integers(3))):
        at = int(rng.integers(len(changed)))
        changed[at : at + int(rng.integers(3))] = (
            pick(rng, PIECES) if rng.random() < 0.7 else bytes([rng.integers(256)])
        )
    return bytes(changed)


def stored(model: Any) -> bytes | None:
    """Move the first inline table to a tensor file, whose bytes are returned."""
    for variable in model["variables"]:
        rule = variable.get("score", variable.get("map"))
        if not isinstance(rule, dict) or "table" not in rule:
            continue
        data = np.array(rule["table"]["values"], dtype=np.int64)
        header = {"t": {"dtype": "I64", "shape": list(data.shape), "data_offsets": [0, data.nbytes]}}
        rule["table"] = {"axes": rule["table"]["axes"], "file": TENSOR, "tensor": "t"}
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data.tobytes()
    return None


def refutation(certificate: Any, alphabet: list[str], rng: Generator) -> Any:
    """A refutation around a certificate, with words that are often wrong."""
    n = certificate["n"]
    words = [[[at, 1, pick(rng, alphabet)] for at in range(n)] for _ in range(2)]
    language = {"name": pick(rng, ("parity", "majority", "palindromes", "dyck", "anbn")), "alphabet": alphabet}
    document = {"format": "restrict-refutation/1", "certificate": certificate, "language": language}
    return {**document, "member": words[0], "nonmember": words[1], **({"errors": "1"} if rng.random() < 0.3 else {})}


def mutant(rng: Generator, pool: list[mutations.Pair]) -> Trial:
    """A pair after some changes; mostly the digests are made right again, so that the changes reach the readers."""
    pair, other = pick(rng, pool), pick(rng, pool)
    if rng.random() < 0.6:
        # An operator of the soundness sweep: well-formed, and often nearly true.
        changed = mutations.OPERATORS[pick(rng, list(mutations.OPERATORS))](rng, pair, other)
        pair = changed if changed is not None else pair
    model, certificate = copy.deepcopy(pair.model), copy.deepcopy(pair.certificate)
    n, free = certificate["n"], [p for p in range(certificate["n"]) if p not in mutations.singles(certificate)]
    if certificate["target"] != "all" and rng.random() < 0.3:
        certificate.pop("split", None)
        certificate["cases"] = mutations.random_cases(rng, free, ["all"], len(model["alphabet"]), 3)
    tensor = stored(model) if rng.random() < 0.3 else None
    document = refutation(certificate, model["alphabet"], rng) if rng.random() < 0.15 and n else certificate
    for _ in range(max(0, int(rng.integers(4)) - 1)):
        restructure(rng, model if rng.random() < 0.5 else document)
    if tensor is not None and rng.random() < 0.4:
        tensor = bytes_changed(rng, tensor)
    if tensor is not None and isinstance(model, dict):
        model["files"] = {TENSOR: sha256(tensor).hexdigest()}
    data = json.dumps(model).encode()
    data = bytes_changed(rng, data) if rng.random() < 0.1 else data
    inner = document.get("certificate") if document is not certificate else document
    if isinstance(inner, dict) and isinstance(inner.get("model"), dict) and rng.random() < 0.97:
        inner["model"]["sha256"] = sha256(data).hexdigest()
    text = json.dumps(document).encode()
    return Trial(data, bytes_changed(rng, text) if rng.random() < 0.1 else text, tensor)


# ---------------------------------------------------------------- verdicts


def alarm(number: int, frame: FrameType | None) -> None:
    """The eight seconds are over."""
    raise TooLong


def answer(trial: Trial, folder: Path, runner: Callable[..., Any] | None = None) -> str:
    """``verified`` or the exit code; whatever else comes is a failure, by its name."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        verify(trial.model, trial.certificate, folder=folder, limit=LIMIT, runner=runner)
        return "verified"
    except Reject as reject:
        return f"exit {reject.code}" if "\n" not in str(reject) and len(str(reject)) < 1000 else "a line that is none"
    except TooLong:
        return "too long"
    except Exception as error:
        return f"crash: {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def peak() -> int:
    """The most bytes that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def fault(trial: Trial, folder: Path, compare: bool) -> tuple[str, str | None]:
    """The verdict, and what is wrong with it."""
    if trial.tensor is not None:
        (folder / TENSOR).write_bytes(trial.tensor)
    before, code = peak(), answer(trial, folder)
    if not code.startswith("exit") and code != "verified":
        return code, code
    if peak() > max(MEMORY, before):  # what was here before the fuzzer is not the checker's
        return code, "too large"
    if compare and (other := answer(trial, folder, fast.FastRun)) != code:
        return code, f"{code}, the fast run {other}"
    if code == "verified" and (verdict := judged(trial, folder)) != "true":
        return f"{code}, {verdict}", verdict if verdict == "accepted and false" else None
    return code, None


def judged(trial: Trial, folder: Path) -> str:
    """Whether an accepted claim is true, where that can be decided by evaluation."""
    model, document = json.loads(trial.model), json.loads(trial.certificate)
    certificate = document.get("certificate", document)
    if trial.tensor is not None:
        model = naive.inline(model, folder)
    pair = mutations.Pair(model, certificate)
    if certificate["n"] > 12 or mutations.inputs(pair) > INPUTS:
        return "not judged"
    try:
        return "true" if mutations.is_true(pair) else "accepted and false"
    except RestrictError:
        return "not judged"  # such as a symbol that is not a character: the package does not read it


# ---------------------------------------------------------------- shrinking


def smaller(trial: Trial) -> Iterator[Trial]:
    """The trial with one part of the model or certificate left out, digests made right."""
    model, document = json.loads(trial.model), json.loads(trial.certificate)
    for which in (0, 1):
        for index in range(len(spots((model, document)[which]))):
            both = [copy.deepcopy(model), copy.deepcopy(document)]
            part, key = spots(both[which])[index]
            del part[key]
            data = json.dumps(both[0]).encode()
            inner = both[1].get("certificate", both[1]) if isinstance(both[1], dict) else None
            if isinstance(inner, dict) and isinstance(inner.get("model"), dict):
                inner["model"]["sha256"] = sha256(data).hexdigest()
            yield Trial(data, json.dumps(both[1]).encode(), trial.tensor)


def shrunk(trial: Trial, wrong: str, folder: Path) -> Trial:
    """A smaller trial with the same failure, where one is found within a minute."""
    end = time.monotonic() + 60
    try:
        found = True
        while found and time.monotonic() < end:
            found = False
            for candidate in smaller(trial):
                if time.monotonic() > end:
                    break
                if fault(candidate, folder, "fast run" in wrong)[1] == wrong:
                    trial, found = candidate, True
                    break
    except ValueError:
        pass  # bytes that are not JSON stay as they are
    return trial


def chunk(task: tuple[int, int]) -> Tally:
    """So many mutants from one seed."""
    signal.signal(signal.SIGALRM, alarm)
    fast.LONG = 1  # every row by the kernels
    rng, tally = np.random.default_rng([20261121, 11, task[0]]), Tally()
    pool = [mutations.original(rng) for _ in range(2 + task[1] // EACH)]
    with tempfile.TemporaryDirectory() as name:
        for turn in range(task[1]):
            trial, start = mutant(rng, pool), time.perf_counter()
            code, wrong = fault(trial, Path(name), turn % 20 == 0)
            tally.slowest = max(tally.slowest, time.perf_counter() - start)
            tally.codes[code] += 1
            if wrong:
                tally.failures.append((wrong, shrunk(trial, wrong, Path(name))))
    tally.largest = peak()
    return tally


def keep(folder: Path, number: int, wrong: str, trial: Trial) -> None:
    """Write a failure as files of a folder of its own: the model names its tensor file, so that needs the same name."""
    folder = folder / f"failure-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "m.json").write_bytes(trial.model)
    (folder / "c.json").write_bytes(trial.certificate)
    (folder / "wrong.txt").write_text(wrong + "\n")
    if trial.tensor is not None:
        (folder / TENSOR).write_bytes(trial.tensor)


def collect(total: Tally, found: Tally, folder: Path) -> None:
    """Add the counts of a chunk, and write its failures."""
    total.codes.update(found.codes)
    total.slowest, total.largest = max(total.slowest, found.slowest), max(total.largest, found.largest)
    for wrong, trial in found.failures:
        total.failures.append((wrong, trial))
        keep(folder, len(total.failures), wrong, trial)


def main() -> int:
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(description="fuzz the trusted checker")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("failures"), help="where failures are written")
    parser.add_argument("-o", "--output", type=Path, help="write the counts as JSON")
    options = parser.parse_args()
    start, total = time.monotonic(), Tally()
    sizes = [min(CHUNK, options.mutants - done) for done in range(0, options.mutants, CHUNK)]
    tasks = [((options.seed + 1) * 10_000_000 + index, size) for index, size in enumerate(sizes)]
    # A kill by a time limit is an interruption, too: what was found until then is reported.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), ProcessPoolExecutor(options.jobs) if options.jobs > 1 else nullcontext() as pool:
        for found in map(chunk, tasks) if pool is None else pool.map(chunk, tasks):
            collect(total, found, options.folder)
            if sys.stderr.isatty():
                print(f"\r{total.codes.total()} mutants, {len(total.failures)} failures", end="", file=sys.stderr)
    for code, count in sorted(total.codes.items()):
        print(f"{count:9} {code}")
    seconds = time.monotonic() - start
    print(f"{len(total.failures)} failures in {total.codes.total()} mutants, {seconds:.0f} s; the slowest took "
          f"{total.slowest:.2f} s; at most {total.largest >> 20} MiB")  # fmt: skip
    if options.output:
        counts = {"mutants": total.codes.total(), "seed": options.seed, "codes": dict(total.codes)}
        faults = [wrong for wrong, _ in total.failures]
        options.output.write_text(json.dumps({**counts, "failures": faults, "slowest": total.slowest}, indent=1) + "\n")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
