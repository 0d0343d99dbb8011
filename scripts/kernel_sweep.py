"""The kernel, `restrict-verified` and another checker on random programs, certificates, proofs, and on mutants.

    python scripts/kernel_sweep.py files [FOLDER ...]       # pairs of files: those of tests/corpus, or of these folders
    python scripts/kernel_sweep.py models --count 1000      # certificates of every kind, also of larger programs
    python scripts/kernel_sweep.py certificates --count 1000   # mutants of the users' files
    python scripts/kernel_sweep.py proofs --count 1000      # mutants of the kernel's two files
    python scripts/kernel_sweep.py untrue --count 1000      # proofs with one line that is false
    python scripts/kernel_sweep.py programs --count 1000    # every fact of every accepted proof, on all words

`--seed`, `--from` (the first chunk) and `--jobs` say which part of the work is done; the same seed gives the same
trials. With `-o FILE` the counts of each chunk are kept there, and chunks that the file has are not done again: so a
sweep can be ended at any time, and goes on where it was. `--other FOLDER` asks the checker of another checkout, one
that decides without a proof: then a user's file has to get one line, or one exit code, from it and from the kernel by
its elaborated proof. A pair of the kernel's files has to be accepted by both kernels, with one line, or by none. What
is accepted is judged by enumeration where that is possible (docs/kernel.md). A limit that only one of them meets is
counted, and is no failure. Exit code 1 if there is a failure; failures are printed, and written to `--folder`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import ROOT, peak

from restrict.elaboration.make import Elaborated
from tests import broken_lines
from tests import kernel_cases as cases
from tests.fuzzing.kinds import Kind, Trial, kinds, write
from tests.kernel_judges import (
    SCRATCH,
    Other,
    Verdict,
    Verified,
    VerifiedPairs,
    accepted,
    by_kernel,
    elaborated,
    executable,
    pairs_program,
)
from tests.naive_kernel import Machine, Oracle

CHUNK, EACH = 500, 125
"""Trials of a chunk, and mutants of each of its originals: making one takes as long as trying tens of mutants."""
KINDS = ("certificate", "all", "split", "cases", "refutation", "errors", "lower-bound")
"""The kinds of tests/fuzzing that have an elaborated proof."""
MOST_WORDS, MOST_RESTRICTIONS, LARGEST_DOMAIN = 700, 5000, 100_000


class Work(NamedTuple):
    """A chunk: its part, kind, seed, number and size; and where another checker is."""

    part: str
    kind: str
    seed: int
    number: int
    size: int
    other: Path | None
    folder: Path


class Judges:
    """The checkers of one process, and what they said."""

    def __init__(self, work: Work) -> None:
        self.work, self.counts = work, Counter[str]()
        self.scratch = tempfile.TemporaryDirectory(dir=SCRATCH)
        self.other = None if work.other is None else other(work.other)
        self.verified = verified()
        self.oracles: dict[str, Oracle] = {}
        self.judged: dict[tuple[bytes, bytes], Verdict] = {}

    def close(self) -> None:
        """The folder goes; the processes are for all chunks."""
        self.scratch.cleanup()

    def fail(self, what: str, *contents: bytes, trial: Trial | None = None) -> None:
        """Print a failure and write its files."""
        self.counts["failures"] += 1
        number = self.counts["failures"]
        folder = self.work.folder / f"{self.work.part}-{self.work.kind}-{self.work.number}-{number}"
        print(f"{folder.name}: {what}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "wrong.txt").write_text(what + "\n")
        if trial is not None:
            write(trial, folder)
        for name, content in zip(("program", "proof"), contents, strict=False):
            (folder / name).write_bytes(content)

    def users_file(self, kind: Kind, trial: Trial) -> None:
        """One verdict of the kernel, and of the other checker; what is accepted is true."""
        folder = Path(self.scratch.name)
        for name, content in trial.files:
            (folder / name).write_bytes(content)
        new, made = elaborated(trial, folder)
        old = self.other.verdict(trial, folder) if self.other is not None else new
        self.counts[column(new)] += 1
        if 5 in (old, new) and old != new and not accepted(old):
            self.counts["limit of one"] += 1
        elif old != new:
            self.fail(f"{old} by the other checker, {new} by the kernel", *(made or ()), trial=trial)
        if made is None or not accepted(new):
            return
        if kind.judge(trial) == "false":
            self.fail("accepted and false", *made, trial=trial)
        self.pair(*made, trial=trial)

    def pair(self, program: bytes, proof: bytes, trial: Trial | None = None) -> Verdict:
        """One verdict of both kernels; what is accepted is true on all words. The same pair is not asked again."""
        if (program, proof) in self.judged:
            self.counts["enumerated"] += enumerable_pair(self.judged[program, proof], program)
            return self.judged[program, proof]
        found = self.judged[program, proof] = by_kernel(program, proof)
        if self.verified is not None:
            proved = self.verified.verdict(program, proof)
            if (accepted(found) or accepted(proved)) and found != proved and 5 not in (found, proved):
                self.fail(f"{found} by the kernel, {proved} by restrict-verified", program, proof, trial=trial)
            elif found != proved:
                self.counts["other exit code"] += 1
        if isinstance(found, str) and not accepted(found):
            self.fail(found, program, proof, trial=trial)
        if enumerable_pair(found, program):
            self.counts["enumerated"] += 1
            if lies := self.lies_of(program.decode(), proof.decode()):
                self.fail(f"accepted and false: {lies}", program, proof, trial=trial)
        return found

    def lies_of(self, program: str, proof: str) -> list[str]:
        """What is false; an oracle that breaks off has met what is not well-formed, which was accepted."""
        try:
            if program not in self.oracles:
                self.oracles[program] = Oracle(program)
            return self.oracles[program].lies(proof)
        except Exception as error:
            return [f"the oracle breaks off: {error!r}"]


@cache
def other(checkout: Path) -> Other:
    """The checker of another checkout; its process ends with this one."""
    return Other(checkout)


@cache
def verified() -> Verified | VerifiedPairs | None:
    """`restrict-verified`: for many pairs where that is built, else started for each; None where there is none."""
    if (many := pairs_program()) is not None:
        return VerifiedPairs(many)
    return None if (program := executable()) is None else Verified(program)


def column(verdict: Verdict) -> str:
    """Where a verdict is counted."""
    return "accepted" if accepted(verdict) else f"exit {verdict}" if isinstance(verdict, int) else "other"


def enumerable_pair(verdict: Verdict, program: bytes) -> bool:
    """Whether a pair was accepted, and can be tried on all words."""
    return accepted(verdict) and enumerable(program.decode())


@lru_cache(maxsize=64)
def enumerable(program: str) -> bool:
    """Whether all words, and all restrictions, can be tried."""
    machine = Machine(program)
    words = machine.symbols ** len(machine.letters) if len(machine.letters) < 20 else MOST_WORDS + 1
    if max(machine.domains) > LARGEST_DOMAIN:
        return False
    return words <= MOST_WORDS and (machine.symbols + 1) ** len(machine.letters) <= MOST_RESTRICTIONS


# ---------------------------------------------------------------- the parts


def originals(judges: Judges) -> int:
    """How many originals a chunk has."""
    return max(2, -(-judges.work.size // EACH))


def certificates(judges: Judges, rng: np.random.Generator) -> None:
    """Mutants of users' files, and the originals."""
    kind = kinds()[judges.work.kind]
    pool = [kind.original(rng) for _ in range(originals(judges))]
    for trial in pool:
        judges.users_file(kind, trial)
    for _ in range(judges.work.size):
        judges.users_file(kind, kind.mutant(rng, pool))


def elaborations(judges: Judges, rng: np.random.Generator) -> list[Elaborated]:
    """The elaborated proofs of a chunk's originals."""
    kind, made = kinds()[judges.work.kind], list[Elaborated]()
    while len(made) < originals(judges):
        trial = kind.original(rng)
        for name, content in trial.files:
            (Path(judges.scratch.name) / name).write_bytes(content)
        if (found := elaborated(trial, Path(judges.scratch.name))[1]) is not None:
            made.append(found)
    return made


def proofs(judges: Judges, rng: np.random.Generator) -> None:
    """Mutants of the two files of elaborated proofs."""
    made = elaborations(judges, rng)
    for turn in range(judges.work.size):
        program, proof = next(iter(cases.pair_mutants(rng, *made[turn % len(made)], 1)))
        judges.counts[column(judges.pair(program, proof))] += 1


def untrue(judges: Judges, rng: np.random.Generator) -> None:
    """Proofs with one false line, and of programs that are not quite these."""
    for made in elaborations(judges, rng):
        for program, proof in broken_lines.forgeries(rng, made, EACH):
            judges.counts[column(judges.pair(program, proof))] += 1


def programs(judges: Judges, rng: np.random.Generator) -> None:
    """Random programs with a proof each, every statement tried on all words; no mutants."""
    kind = kinds()[judges.work.kind]
    for _ in range(judges.work.size):
        judges.users_file(kind, kind.original(rng))


def models(judges: Judges, rng: np.random.Generator) -> None:
    """Larger programs: certificates of the engine's searches, at lengths where nothing is enumerated."""
    for _ in range(judges.work.size):
        trial = cases.large_trial(rng, judges.work.kind)
        new, made = elaborated(trial, Path())
        old = judges.other.verdict(trial, Path()) if judges.other is not None else new
        judges.counts[column(new)] += 1
        if old != new:
            judges.fail(f"{old} by the other checker, {new} by the kernel", *(made or ()), trial=trial)
        elif made is not None:
            judges.pair(*made, trial=trial)


PARTS: dict[str, tuple[Callable[[Judges, np.random.Generator], None], tuple[str, ...]]] = {
    "models": (models, cases.LARGE_KINDS),
    "certificates": (certificates, KINDS),
    "proofs": (proofs, KINDS),
    "untrue": (untrue, KINDS),
    "programs": (programs, KINDS),
}


def chunk(work: Work) -> Counter[str]:
    """One chunk of work."""
    part, names = PARTS[work.part]
    judges = Judges(work)
    rng = np.random.default_rng([24, work.seed, sorted(PARTS).index(work.part), names.index(work.kind), work.number])
    try:
        part(judges, rng)
    finally:
        judges.close()
    return judges.counts


# ---------------------------------------------------------------- pairs of files


def pairs(folders: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Models with their certificates: NAME.m.json and NAME.c.json, or NAME.model.json and NAME.cert.json."""
    for folder in folders:
        for path in sorted(folder.rglob("*.json")):
            for ending, model in ((".c.json", ".m.json"), (".cert.json", ".model.json")):
                if path.name.endswith(ending):
                    beside = path.with_name(path.name.removesuffix(ending) + model)
                    yield beside if beside.exists() else folder / "base.model.json", path


def files(options: argparse.Namespace) -> int:
    """The verdicts on pairs of files, with processor seconds and memory of the elaboration; how many differ."""
    found = [ROOT / "tests" / "corpus" / name for name in ("attacks", "false", "malformed")]
    other = Other(options.other) if options.other is not None else None
    failures, counts = 0, Counter[str]()
    for model, proof in pairs(options.folders or found):
        if not model.exists():
            continue
        trial = Trial(model.read_bytes(), proof.read_bytes())
        if not any(name in trial.proof for name in (b"-certificate/1", b"-refutation/1", b"-lower-bound/1")):
            continue
        start = time.process_time()
        new, made = elaborated(trial, model.parent, options.limit)
        after, memory = time.process_time() - start, peak() >> 20
        old = other.verdict(trial, model.parent, options.limit) if other is not None else new
        counts["same" if old == new else "different"] += 1
        failures += old != new
        if old != new or after > 5 or options.verbose:
            sizes = f"{len(made.proof)} bytes" if made else "no proof"
            print(f"{proof.name}: {old}; {new}, {after:.1f} s, {memory} MiB, {sizes}", flush=True)
    print(f"files: {dict(counts)}; at most {memory} MiB")
    if other is not None:
        other.close()
    return failures


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["files", *PARTS])
    parser.add_argument("folders", nargs="*", type=Path, help="for files: where they are")
    parser.add_argument("--count", type=int, default=1000, help="trials of all kinds together")
    parser.add_argument("--kind", action="append", help="these kinds alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--from", dest="start", type=int, default=0, help="the first chunk of each kind")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--other", type=Path, help="a checkout whose checker decides without a proof")
    parser.add_argument("--folder", type=Path, default=Path("failures"), help="where failures are written")
    parser.add_argument("-o", "--output", type=Path, help="a file of chunks that are done, to go on with")
    parser.add_argument("--limit", type=int, default=200_000_000, help="for files: steps")
    parser.add_argument("--verbose", action="store_true", help="for files: a line for each")
    return parser.parse_args()


def report(totals: dict[str, Counter[str]], seconds: float) -> None:
    """The table."""
    names = sorted({name for counts in totals.values() for name in counts} - {"failures"})
    print(f"{'kind':<14}" + "".join(f"{name:>17}" for name in (*names, "failures")))
    for kind, counts in [*totals.items(), ("all", sum(totals.values(), Counter[str]()))]:
        print(f"{kind:<14}" + "".join(f"{counts[name]:>17}" for name in (*names, "failures")))
    verified = "restrict-verified was asked" if executable() else "there is no restrict-verified"
    print(f"{verified}; {seconds:.0f} s", flush=True)


def key(work: Work) -> str:
    """How a chunk is named in a file of chunks."""
    return f"{work.part} {work.kind} seed {work.seed} chunk {work.number} of {work.size}"


def kept(path: Path | None) -> dict[str, Counter[str]]:
    """The chunks that are done; a line that a kill left half written is none."""
    found: dict[str, Counter[str]] = {}
    for line in path.read_text().splitlines() if path is not None and path.exists() else ():
        with suppress(ValueError):
            name, counts = json.loads(line)
            found[name] = Counter(counts)
    return found


def main() -> int:
    """Do the work, print the table."""
    options, start = arguments(), time.monotonic()
    if options.part == "files":
        return int(files(options) > 0)
    names = options.kind or PARTS[options.part][1]
    each = -(-options.count // len(names))
    work = [
        Work(options.part, name, options.seed, number, min(CHUNK, each - done), options.other, options.folder)
        for number, done in enumerate(range(0, each, CHUNK), options.start)
        for name in names
    ]
    done = kept(options.output)
    totals: dict[str, Counter[str]] = {name: Counter() for name in names}
    for one in work:
        totals[one.kind] += done.get(key(one), Counter())
    left = [one for one in work if key(one) not in done]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        try:
            for one, found in zip(left, pool.map(chunk, left), strict=True):
                totals[one.kind] += found
                if options.output is not None:
                    with options.output.open("a") as file:
                        file.write(json.dumps([key(one), found]) + "\n")
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print("interrupted", file=sys.stderr)
    report(totals, time.monotonic() - start)
    return int(any(counts["failures"] for counts in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
