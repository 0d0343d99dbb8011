"""A part of the check of a verdict, as a program of its own that :mod:`restrict.soft.trained.parts` starts by its path.
It imports nothing of the package but the trusted checker. Standard input has frames: a line of JSON each, behind which
stand as many bytes as it says. Cases may come before the certificate does: they are verified at once, and taken as
verified where the certificate has them with all that they depend on. Standard output gets a dot for each frame of
cases, then the steps that were taken and the checker's line, or nothing where it refuses."""

from __future__ import annotations

import gc
import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search keeps what it has, and wants it checked
    own = Path(__file__).resolve().parent  # run by its path: the package, and nothing of its own folder
    sys.path[:] = [str(own.parents[2]), *(entry for entry in sys.path if Path(entry).resolve() != own)]

from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.main import DEFAULT_LIMIT
from restrict.checker.read import read_json
from restrict.checker.verdict import VERDICT, Check, Key, decided
from restrict.checker.verdict_model import MODEL, Atoms, Model
from restrict.checker.verdict_paths import Language

Group = tuple[int, int]
"""A position and its symbol: their cases have the weights of the symbols in common."""
Frame = dict[str, Any]
Verified = dict[tuple[str, str, str], int]
"""Cases that were verified: what all cases depend on, the case with its hints, and the basis that these name; up to
which position the tables reached."""
FAILED = (Reject, MemoryError, RecursionError)
COMMON = ("model", "n", "language", "memory", "fixed")
"""What cases depend on beside their hints and bases, the model's bytes and how far the tables reach."""


class _Over(Exception):
    """Raised when no more cases come before their certificate."""


class PartialCheck(Check):
    """A check of some cases only."""

    pending: Group | None = None

    def __init__(self, task: Task, model: Model, language: Language, atoms: Atoms) -> None:
        super().__init__(task, model, language, atoms)
        self.common = json.dumps([model.sha256, *(task.document.get(name) for name in COMMON)])
        self.said: list[str] = []

    def read_basis(self, value: list[Any], place: Place) -> None:
        """Remember what a basis is, too."""
        super().read_basis(value, place)
        self.said.append(json.dumps(value))

    def all_of(self, key: Key, hints: list[Any]) -> tuple[str, str, str]:
        """All that the check of a case depends on, but for how far the tables reach. In JSON, where true is not 1."""
        without: list[Any] = [[], [], 0, 0, []]
        upper, width, tree, number, held = hints + without[len(hints) :]
        basis = self.said[number] if type(number) is int and 0 <= number < len(self.said) else json.dumps(number)
        return self.common, json.dumps([key, upper, width, tree, held]), basis

    def verified(self, key: Key, hints: list[Any], place: Place) -> None:
        """Verify a case, with the weights of its position and symbol."""
        if self.pending is not None:
            super().weigh(*self.pending)
            self.pending = None
        super().case(key, hints, place)


def task_of(document: Any, model: bytes) -> tuple[Task, Meter]:
    """The checker's task with a document."""
    meter = Meter(DEFAULT_LIMIT)
    return Task(document, Place("certificate"), model, Place("model"), Path(), meter), meter


def part(
    model: bytes, certificate: bytes, mine: Callable[[Group], bool], known: Verified | None = None
) -> tuple[int, str]:
    """The check of a certificate of one layer with the cases of some groups only; all else is what the checker does.

    Cases are verified one by one from what all share, so where every case is in some part, and no part is refused, the
    whole check says the line that each part says. Gives the steps and that line. ``mine``: whether a group is in the
    part. ``known``: what was verified before, which holds where the tables reached at least as far: a case is about the
    words up to its position, and tables that reach farther only make remainders larger. ``Reject``: as the checker."""

    class Own(PartialCheck):
        among, left_out = False, False

        def every(self, cases: list[Any], expected: Sequence[Key], place: Place) -> None:
            self.among = True
            super().every(cases, expected, place)
            self.among = False

        def weigh(self, i: int, a: int) -> None:
            self.left_out, self.pending = self.among and not mine((i, a)), (i, a)
            if not self.among:
                self.pending = None
                super().weigh(i, a)

        def case(self, key: Key, hints: list[Any], place: Place) -> None:
            if not self.left_out and (not known or known.get(self.all_of(key, hints), -1) < self.atoms.n):
                self.verified(key, hints, place)

    task, meter = task_of(None, model)
    line = decided(task._replace(document=read_json(certificate, task.top, meter)), VERDICT, MODEL, Own)
    return DEFAULT_LIMIT - meter.left, line


def ahead(model: bytes, head: Any, frames: Iterator[Frame], known: Verified) -> tuple[int, Frame]:
    """Verify cases that come before their certificate, whose other fields ``head`` has: those that hold are put to
    ``known``. Gives the steps, and the first frame that has no cases."""
    last: Frame = {}

    class Early(PartialCheck):
        at: Group | None = None

        def every(self, cases: list[Any], expected: Sequence[Key], place: Place) -> None:
            nonlocal last
            for last in frames:
                if "cases" not in last:
                    raise _Over
                for basis in last["bases"]:
                    self.read_basis(basis, place)
                for i, a, q, *hints in last["cases"]:
                    if not 0 <= i <= self.atoms.n:
                        continue  # the tables do not reach so far
                    self.weigh(i, a)
                    with suppress(*FAILED):  # the certificate's own check says why
                        self.verified((i, a, q), hints, place)
                        known[self.all_of((i, a, q), hints)] = self.atoms.n
                print(".", flush=True)

        def weigh(self, i: int, a: int) -> None:
            if self.at != (i, a):
                self.at = self.pending = (i, a)

    task, meter = task_of(head, model)
    with suppress(_Over, *FAILED):
        decided(task, VERDICT, MODEL, Early)
    while "cases" in last or not last:  # whatever was amiss, the certificate comes behind them
        last = next(frames)
    return DEFAULT_LIMIT - meter.left, last


def owned(owners: Iterable[Sequence[int]], number: int, count: int) -> Callable[[Group], bool]:
    """Whether a group is in part ``number`` of ``count``; one of which nothing is said is in the first, so that each is
    in exactly one. ``owners``: position, symbol and part."""
    table = {(i, a): k % count for i, a, k in owners}
    return lambda group: table.get(group, 0) == number


def framed(stream: BinaryIO) -> Iterator[Frame]:
    """The frames of a stream, then one that says nothing: ``model`` and ``content`` stand behind their line."""
    for line in iter(stream.readline, b""):
        frame: Frame = json.loads(line)
        for name in ("model", "content"):
            if name in frame:
                frame[name] = stream.read(frame[name])
        yield frame
    yield {"over": True}


def main() -> None:
    """Read cases and a certificate from the standard input, check them, and write the steps and the checker's line."""
    gc.disable()
    frames, known, steps, model = framed(sys.stdin.buffer), Verified(), 0, b""
    frame = next(frames)
    while "head" in frame:
        model = frame.get("model", model)
        taken, frame = ahead(model, frame["head"], frames, known)
        steps += taken
    if "content" not in frame:  # the search is over, and nothing is to be checked
        return
    mine = owned(frame["owners"], frame["number"], frame["count"])
    try:
        taken, line = part(frame.get("model", model), frame["content"], mine, known)
    except FAILED:
        return  # the whole check says why
    print(steps + taken, line, flush=True)


if __name__ == "__main__":
    main()
