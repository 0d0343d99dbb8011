"""A part of the check of a verdict, as a program of its own that :mod:`restrict.soft.trained.parts` starts by its path.
It imports nothing of the package but the trusted checker. Standard input has a line of JSON, the model and the
certificate; standard output gets the steps that were taken and the checker's line, or nothing where it refuses."""

from __future__ import annotations

import gc
import json
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search keeps what it has, and wants it checked
    own = Path(__file__).resolve().parent  # run by its path: the package, and nothing of its own folder
    sys.path[:] = [str(own.parents[2]), *(entry for entry in sys.path if Path(entry).resolve() != own)]

from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.main import DEFAULT_LIMIT
from restrict.checker.read import read_json
from restrict.checker.verdict import VERDICT, Check, Key, decided
from restrict.checker.verdict_model import MODEL

Group = tuple[int, int]
"""A position and its symbol: their cases have the weights of the symbols in common."""


def part(model: bytes, certificate: bytes, mine: Callable[[Group], bool]) -> tuple[int, str]:
    """The check of a certificate of one layer with the cases of some groups only; all else is what the checker does.

    Cases are verified one by one from what all share, so where every case is in some part, and no part is refused, the
    whole check says the line that each part says. Gives the steps and that line. ``mine``: whether a group is in the
    part. ``Reject``: as the checker."""

    class Part(Check):
        among, left_out = False, False

        def every(self, cases: list[Any], expected: Sequence[Key], place: Place) -> None:
            self.among = True
            super().every(cases, expected, place)
            self.among = False

        def weigh(self, i: int, a: int) -> None:
            self.left_out = self.among and not mine((i, a))
            if not self.left_out:
                super().weigh(i, a)

        def case(self, key: Key, hints: list[Any], place: Place) -> None:
            if not self.left_out:
                super().case(key, hints, place)

    top, meter = Place("certificate"), Meter(DEFAULT_LIMIT)
    task = Task(read_json(certificate, top, meter), top, model, Place("model"), Path(), meter)
    line = decided(task, VERDICT, MODEL, Part)
    return DEFAULT_LIMIT - meter.left, line


def owned(owners: Iterable[Sequence[int]], number: int, count: int) -> Callable[[Group], bool]:
    """Whether a group is in part ``number`` of ``count``; one of which nothing is said is in the first, so that each is
    in exactly one. ``owners``: position, symbol and part."""
    table = {(i, a): k % count for i, a, k in owners}
    return lambda group: table.get(group, 0) == number


def main() -> None:
    """Read, check, say it."""
    gc.disable()
    given = json.loads(sys.stdin.buffer.readline() or b"null")
    if given is None:  # the search is over, and nothing is to be checked
        return
    model = sys.stdin.buffer.read(given["size"])
    try:
        steps, line = part(model, sys.stdin.buffer.read(), owned(given["owners"], given["number"], given["count"]))
    except (Reject, MemoryError, RecursionError):
        return  # the whole check says why
    print(steps, line, flush=True)


if __name__ == "__main__":
    main()
