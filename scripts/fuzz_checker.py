"""Fuzz the trusted checker: mutants of every kind of proof that it verifies, judged by brute force.

    python scripts/fuzz_checker.py --kind all --mutants 100000 --seed 0 --jobs 2 --folder failures -o fuzz.json
    python scripts/fuzz_checker.py --replay failures

`--mutants` is the number for each kind (`--list` names the kinds). A mutant is a small change of a pair of files that
is proved: of the claim, the hints or the model, with the digest put right, seldom of bytes. The table counts what
became of them; `undecided` are those verified of which brute force says nothing, such as claims about long inputs.

A failure is an exception that is not a rejection (exit code 1), an error that is not one line, more than 8 seconds,
more than 1 GiB, an accepted claim that is false, another verdict by an elaborated proof, or another exit code of
`restrict/checker` run by itself. Failures are shrunk and written to `--folder`, each as a folder with the files and
`wrong.txt`, to be run again with `--replay`. The same seed gives the same mutants. Ctrl-C ends with the counts until
then. Exit code 1 means that there was a failure.
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from harness import peak, written

from restrict.base.errors import RestrictError
from restrict.checker import main as checker
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.elaboration.make import Elaboration
from restrict.elaboration.trusted import proof_in_memory
from tests import naive
from tests.fuzzing.at_one_length import with_files
from tests.fuzzing.changes import spots
from tests.fuzzing.kinds import Kind, Trial, kinds, read, sealed, write
from tests.fuzzing.meaning import compiled, meaning

CHUNK, SECONDS, MEMORY, LIMIT = 1000, 8.0, 1 << 30, 400_000
ALONE = 2000
"""One mutant in so many is judged by the checker's folder in a process of its own, too."""
COLUMNS = (
    *("malformed", "not established", "true", "undecided", "limit", "unreadable"),
    *("false", "crash", "time-out", "other"),
)
"""What can become of a mutant; the last four are failures."""
ORIGINALS = ("originals", "originals refused", "engine crashes")
NAMES = {"exit 2": "unreadable", "exit 3": "not established", "exit 4": "malformed", "exit 5": "limit"}
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where tensor files are written: in memory, where the system has such a folder."""
Place = tuple[str, int, int, int]
"""The kind, the seed, the number of a chunk, and how many mutants it has."""


class TooLong(BaseException):
    """The eight processor seconds are over; not an Exception, so that no handler catches it."""


@dataclass
class Tally:
    """What became of the mutants of a kind."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, Trial]] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0
    largest: int = 0

    def add(self, other: Tally) -> None:
        """Join the counts of a chunk."""
        self.counts.update(other.counts)
        self.failures += other.failures
        self.slowest, self.largest = max(self.slowest, other.slowest), max(self.largest, other.largest)
        self.seconds += other.seconds

    def mutants(self) -> int:
        """How many there were."""
        return sum(self.counts[name] for name in COLUMNS)


# ---------------------------------------------------------------- verdicts


def alarm(number: int, frame: FrameType | None) -> None:
    """The eight processor seconds are over."""
    raise TooLong


def answer(trial: Trial, folder: Path) -> str:
    """`verified` or the exit code; whatever else comes is a failure, by its name."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        verify(trial.model, trial.proof, folder=folder, limit=LIMIT, proof=proof_in_memory(LIMIT))
        return "verified"
    except (Reject, RestrictError) as reject:
        text, code = str(reject), reject.code if isinstance(reject, Reject) else reject.exit_code
        return f"exit {code}" if "\n" not in text and len(text) < 1000 else "a line that is none"
    except TooLong:
        return "time-out"
    except (MemoryError, RecursionError, SystemError):
        return "exit 5"
    except Exception as error:
        return f"crash: {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def alone(trial: Trial, folder: Path, kind: Kind) -> str | None:
    """The same by the checker's folder, run by itself; None where there is no proof that it could be given."""
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        write(trial, Path(inner), kind.suffix)
        files = [str(Path(inner) / f"m{kind.suffix}"), str(Path(inner) / "c.json")]
        try:
            made = Elaboration(
                trial.model, trial.proof, folder=folder, model_name="model", certificate_name="certificate",
                limit=LIMIT,
            )  # fmt: skip
            files.append(str(Path(inner) / "proof"))
            Path(files[-1]).write_bytes(made.made.proof)
        except RestrictError:
            pass  # no proof; or a proof of another kind, which has no third file
        command = [sys.executable, "-I", str(Path(str(checker.__file__)).parent), *files, "--limit", str(LIMIT)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 2 and len(files) == 2:
        return None
    lines = (done.stdout.count("\n"), done.stderr.count("\n"))
    if lines != ((1, 0) if done.returncode == 0 else (0, 1)):
        return f"exit {done.returncode} with {lines[0]} + {lines[1]} lines"
    return f"exit {done.returncode}" if done.returncode else "verified"


def outcome(trial: Trial, kind: Kind, folder: Path, turn: int = 0) -> tuple[str, str | None]:
    """The column of the table, and what is wrong."""
    for name, content in trial.files:
        (folder / name).write_bytes(content)
    before, code = peak(), answer(trial, folder)
    if code.startswith("crash") or code in ("time-out", "a line that is none"):
        return (code.split(":")[0] if code != "a line that is none" else "other"), code
    if peak() > max(MEMORY, before):  # what was here before the fuzzer is not the checker's
        return "other", "more than 1 GiB"
    if turn % ALONE == 1 and (found := alone(trial, folder, kind)) not in (None, code):
        return "other", f"{code}, alone {found}"
    if code != "verified":
        return NAMES.get(code, "other"), None if code in NAMES else code
    try:
        verdict = kind.judge(trial)
    except Exception as error:  # a file that is verified can be judged
        return "other", f"the judge: {type(error).__name__}"
    return verdict, "accepted and false" if verdict == "false" else None


# ---------------------------------------------------------------- shrinking


def smaller(trial: Trial) -> Iterator[Trial]:
    """The trial with one part of the model or the proof left out, digests made right."""
    for which in (0, 1):
        for index in range(len(spots(trial.documents()[which]))):
            both = trial.documents()
            part, key = spots(both[which])[index]
            del part[key]
            yield sealed(both[0], copy.deepcopy(both[1]), trial.files)


def shrunk(trial: Trial, wrong: str, kind: Kind, folder: Path) -> Trial:
    """A smaller trial with the same failure, where one is found within half a minute."""
    end, found = time.monotonic() + 30, True
    try:
        while found:
            found = False
            for candidate in smaller(trial):
                if time.monotonic() > end:
                    return trial
                if outcome(candidate, kind, folder)[1] == wrong:
                    trial, found = candidate, True
                    break
    except (ValueError, TypeError, AttributeError, LookupError):
        pass  # bytes that are not JSON, or a model that the judge cannot read, stay as they are
    return trial


# ---------------------------------------------------------------- chunks


def chunk(place: Place) -> tuple[str, Tally]:
    """So many mutants from one seed, and the originals themselves."""
    name, seed, number, size = place
    kind, tally, start = kinds()[name], Tally(), time.process_time()
    signal.signal(signal.SIGPROF, alarm)
    warnings.simplefilter("ignore", SyntaxWarning)  # Python's, of texts such as "0if k else 1" that a judge parses
    rng = np.random.default_rng([20261122, sorted(kinds()).index(name), seed, number])
    pool = [made(kind, rng, tally) for _ in range(2 + size // kind.each)]
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        for original in pool:
            column, wrong = outcome(original, kind, Path(folder))
            tally.counts["originals"] += 1
            tally.counts["originals refused"] += column not in ("true", "undecided")
            if wrong:
                tally.failures.append((f"an original: {wrong}", original))
        for turn in range(size):
            one_mutant(kind, kind.mutant(rng, pool), Path(folder), number * size + turn, tally)
    tally.largest, tally.seconds = peak(), time.process_time() - start
    for known in (naive.parse, naive.names_of, meaning, with_files, compiled):
        known.cache_clear()  # millions of expressions would be kept
    return name, tally


def made(kind: Kind, rng: np.random.Generator, tally: Tally) -> Trial:
    """An original. An engine that breaks off is not the checker's fault: it is counted, and another one is made."""
    while tally.counts["engine crashes"] < 100:
        try:
            return kind.original(rng)
        except Exception as error:
            tally.counts["engine crashes"] += 1
            print(f"{kind.name}: the engine has broken off: {error!r}"[:200], file=sys.stderr)
    raise RuntimeError(f"{kind.name}: the engine breaks off each time")


def one_mutant(kind: Kind, trial: Trial, folder: Path, turn: int, tally: Tally) -> None:
    """Count a mutant."""
    start = time.process_time()
    column, wrong = outcome(trial, kind, folder, turn)
    tally.slowest = max(tally.slowest, time.process_time() - start)
    tally.counts[column] += 1
    if wrong:
        small = shrunk(trial, wrong, kind, folder) if len(tally.failures) < 3 else trial
        tally.failures.append((wrong, small))


def places(names: Iterable[str], seed: int, mutants: int) -> Iterator[Place]:
    """The chunks, those of all kinds in turn, so that an interruption leaves some of each."""
    names = list(names)
    for number, done in enumerate(range(0, mutants, CHUNK)):
        for name in names:
            yield name, seed, number, min(CHUNK, mutants - done)


def worker() -> None:
    """A worker leaves an interruption to the process that gives it work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def run(work: Iterator[Place], jobs: int) -> Iterator[tuple[str, Tally]]:
    """The results of chunks as they come."""
    if jobs == 1:
        yield from map(chunk, work)
        return
    # Forked after the imports and the compiled kernels are there; few chunks wait, so that little is lost at the end.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), worker)
    try:
        waiting: set[Future[tuple[str, Tally]]] = {pool.submit(chunk, place) for place in islice(work, jobs + 1)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {pool.submit(chunk, place) for place in islice(work, len(done))}
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# ---------------------------------------------------------------- the report


def table(totals: dict[str, Tally], seconds: float) -> str:
    """What became of the mutants, a row for each kind."""
    head = ("kind", "mutants", *COLUMNS, "per second")
    rows: list[tuple[str, ...]] = [head]
    for name, tally in [*totals.items(), ("all", joined(totals))]:
        rate = tally.mutants() / tally.seconds if tally.seconds else 0
        numbers = [tally.mutants(), *(tally.counts[column] for column in COLUMNS), round(rate)]
        rows.append((name, *map(str, numbers)))
    widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    total = joined(totals)
    failures, refused, broken = (len(total.failures), *(total.counts[key] for key in ORIGINALS[1:]))
    lines.append(
        f"{failures} failures in {total.mutants()} mutants of {total.counts['originals']} originals ({refused}"
    )
    lines[-1] += f" refused; the engine broke off {broken} times), {seconds:.0f} s; "
    lines[-1] += f"the slowest took {total.slowest:.2f} s; at most {total.largest >> 20} MiB"
    return "\n".join(lines)


def joined(totals: dict[str, Tally]) -> Tally:
    """All kinds together."""
    out = Tally()
    for tally in totals.values():
        out.add(tally)
    return out


def document(totals: dict[str, Tally], options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """The counts as JSON."""
    found: dict[str, dict[str, Any]] = {}
    for name, tally in totals.items():
        found[name] = {"mutants": tally.mutants()} | {key: tally.counts[key] for key in (*COLUMNS, *ORIGINALS)}
        found[name] |= {"processor seconds": round(tally.seconds, 2), "slowest": round(tally.slowest, 3)}
        found[name]["failures"] = [wrong for wrong, _ in tally.failures]
    return {"seed": options.seed, "seconds": round(seconds, 1), "jobs": options.jobs, "kinds": found}


def keep(folder: Path, kind: Kind, number: int, wrong: str, trial: Trial) -> None:
    """Write a failure as a folder of its own."""
    folder = folder / f"{kind.name}-{number}"
    write(trial, folder, kind.suffix)
    (folder / "wrong.txt").write_text(f"{kind.name}: {wrong}\n")


def replay(folder: Path) -> int:
    """Run the failures of a folder again; how many there are still."""
    signal.signal(signal.SIGPROF, alarm)
    still = 0
    for path in sorted(folder.glob("**/wrong.txt")):
        name, _, was = path.read_text().strip().partition(": ")
        trial = read(path.parent)
        with tempfile.TemporaryDirectory() as inner:
            column, wrong = outcome(trial, kinds()[name], Path(inner), turn=1)
        still += wrong is not None
        print(f"{path.parent}: was {was}; now {wrong or column}")
    return still


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="fuzz the trusted checker")
    parser.add_argument("--kind", action="append", help="a kind of proof, several, or all (the default)")
    parser.add_argument("--mutants", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("failures"), help="where failures are written")
    parser.add_argument("-o", "--output", type=Path, help="write the counts as JSON")
    parser.add_argument("--replay", type=Path, help="run the failures in this folder again")
    parser.add_argument("--list", action="store_true", help="name the kinds")
    options = parser.parse_args()
    options.kinds = list(kinds()) if options.kind in (None, ["all"]) else list(dict.fromkeys(options.kind))
    if unknown := [name for name in options.kinds if name not in kinds()]:
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(kinds())}")
    return options


class Stop:
    """An interruption that is not lost: a search keeps its best result at Ctrl-C, and goes on as if nothing was."""

    asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The handler of a signal."""
        self.asked = True
        raise KeyboardInterrupt

    def check(self) -> None:
        """Be interrupted, if that was asked for."""
        if self.asked:
            raise KeyboardInterrupt


def main() -> int:
    """Run the fuzzer."""
    options = arguments()
    if options.list:
        print("\n".join(kinds()))
        return 0
    if options.replay:
        return 1 if replay(options.replay) else 0
    start, totals = time.monotonic(), {name: Tally() for name in options.kinds}
    # A kill by a time limit is an interruption, too: what was found until then is reported.
    stop = Stop()
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for name in options.kinds if options.jobs > 1 else ():
            kinds()[name].original(np.random.default_rng(0))  # compiles the kernels that all workers use
            stop.check()
        for name, found in run(places(options.kinds, options.seed, options.mutants), options.jobs):
            for number, (wrong, trial) in enumerate(found.failures, 1 + len(totals[name].failures)):
                keep(options.folder, kinds()[name], number, wrong, trial)
            totals[name].add(replace(found))
            if sys.stderr.isatty():
                every = joined(totals)
                print(f"\r{every.mutants()} mutants, {len(every.failures)} failures", end="", file=sys.stderr)
            stop.check()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    seconds = time.monotonic() - start
    print(table(totals, seconds))
    written(options.output, document(totals, options, seconds))
    return 1 if joined(totals).failures else 0


if __name__ == "__main__":
    sys.exit(main())
