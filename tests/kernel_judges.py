"""The checkers that are compared: the kernel on an elaborated proof, `restrict-verified`, and one of another checkout.

A verdict is the line of success, or the exit code. A process of its own answers for the other checkout: its checker
may decide without a proof, as those before the kernel did.
"""

import gc
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from restrict.base.errors import RestrictError
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.proof import check
from restrict.elaboration.make import Elaborated, Elaboration
from tests.fuzzing.kinds import Trial

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "restrict" / "checker" / "rocq" / "restrict-verified"
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files are written for other processes: in memory, where the system has such a folder."""
LIMIT = 20_000_000
"""Steps for each checker."""
SECONDS = 60.0
"""Beyond so many seconds of the processor a verdict is ``"time-out"``, which is a failure."""
SERVER = """
import pickle, sys
from restrict.checker.account import Reject
from restrict.checker.main import verify
while True:
    try:
        model, proof, folder, limit = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    try:
        found = verify(model, proof, folder=folder, limit=limit)
    except Reject as reject:
        found = reject.code
    except (MemoryError, RecursionError, SystemError):
        found = 5
    except Exception as error:
        found = f"crash: {error!r}"
    pickle.dump(found, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""
Verdict = str | int


class TooLong(BaseException):
    """The time is over; not an Exception, so that no handler catches it."""


def alarm(number: int, frame: FrameType | None) -> None:
    """The time is over."""
    raise TooLong


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TooLong where the body takes longer."""
    before = signal.signal(signal.SIGPROF, alarm)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Other:
    """The checker of another checkout, asked through a pipe."""

    def __init__(self, checkout: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
        )  # fmt: skip

    def verdict(self, trial: Trial, folder: Path, limit: int = LIMIT) -> Verdict:
        """Its line or exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        pickle.dump((trial.model, trial.proof, str(folder), limit), self.process.stdin)
        self.process.stdin.flush()
        found: Verdict = pickle.load(self.process.stdout)
        return found

    def close(self) -> None:
        """The process ends with its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def elaborated(trial: Trial, folder: Path, limit: int = LIMIT) -> tuple[Verdict, Elaborated | None]:
    """The line or exit code of a user's file by the kernel, and the two files, as far as there are any."""
    made: Elaborated | None = None
    try:
        with within(SECONDS):
            found = Elaboration(trial.model, trial.proof, folder, limit=limit)
            made = found.made
            return found.check(), made
    except RestrictError as error:
        text = str(error)
        return error.exit_code if "\n" not in text else "more than one line", made
    except TooLong:
        return "time-out", made
    except Exception as error:
        return f"crash: {error!r}", made


def by_kernel(program: bytes, proof: bytes, limit: int = LIMIT) -> Verdict:
    """The kernel's verdict on a pair of files."""
    try:
        with within(SECONDS):
            return check(program, proof, (Place("program"), Place("proof")), Meter(limit)).line_of_success()
    except Reject as reject:
        return reject.code
    except (MemoryError, RecursionError):
        return 5
    except TooLong:
        return "time-out"
    except Exception as error:
        return f"crash: {error!r}"
    finally:
        gc.collect(0)


def executable() -> Path | None:
    """`restrict-verified` on the PATH, or as it was built here; None where it is not built."""
    found = shutil.which("restrict-verified") or (str(BUILT) if BUILT.exists() else None)
    return None if found is None else Path(found)


def pairs_program() -> Path | None:
    """The same for many pairs (`make pairs`), where it is built; never an older one than `restrict-verified`."""
    built = BUILT.with_name(f"{BUILT.name}-pairs")
    if not built.exists() or (BUILT.exists() and built.stat().st_mtime < BUILT.stat().st_mtime):
        return None
    return built


class Verified:
    """`restrict-verified` as a program of its own, started for each pair."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.folder = tempfile.TemporaryDirectory(dir=SCRATCH)

    def verdict(self, program: bytes, proof: bytes, limit: int = LIMIT) -> Verdict:
        """Its line or exit code."""
        paths = [Path(self.folder.name, name) for name in ("program", "proof")]
        for path, content in zip(paths, (program, proof), strict=True):
            path.write_bytes(content)
        command: list[Any] = [self.program, *paths, "--limit", str(limit)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10 * SECONDS)
        except subprocess.TimeoutExpired:
            return "time-out"
        lines = done.stdout.count("\n"), done.stderr.count("\n")
        if lines != ((1, 0) if done.returncode == 0 else (0, 1)):
            return f"crash: exit code {done.returncode} with {lines[0]} and {lines[1]} lines"
        return done.returncode or done.stdout.rstrip("\n")

    def close(self) -> None:
        """The folder goes."""
        self.folder.cleanup()


class VerifiedPairs:
    """The same code in one process, pair after pair (`make pairs`): for sweeps, where starting is the work."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None

    def verdict(self, program: bytes, proof: bytes, limit: int = LIMIT) -> Verdict:
        """Its line or exit code; what ends the process, or takes too long, is a crash."""
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"%d %d %d\n%b%b" % (limit, len(program), len(proof), program, proof))
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], 10 * SECONDS)
        line = self.process.stdout.readline().decode() if ready else ""
        if not line.endswith("\n"):
            self.close()
            return "crash: no answer" if ready else "time-out"
        return int(line) if line[:-1].isdigit() else line[:-1]

    def close(self) -> None:
        """The process ends."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def accepted(verdict: Verdict) -> bool:
    """Whether it is a line of success."""
    return isinstance(verdict, str) and verdict.startswith("s VERIFIED ")
