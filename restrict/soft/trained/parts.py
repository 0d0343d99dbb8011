"""The self-check of a verdict in several processes, each of which verifies some cases by the trusted checker's own
functions (:mod:`restrict.soft.trained.child`), beside whatever the search has still to do. Where anything is amiss
there is no line, and the whole check, in one process, decides. ``restrict check`` is always that. Light: the processes
are to start while the search's own modules are loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from restrict.base.blocks import cores
from restrict.checker.main import DEFAULT_LIMIT

CHILD = Path(__file__).with_name("child.py")
MOST = 8
"""Processes."""
WORTH, LEAF = 24, 900
"""Leaves of cases that are worth a process, and how many bounds a symbol of a path one costs."""
ROOM = 1 << 22
"""Larger models are checked in one process: each has the tables of all values."""


class Parts:
    """Processes that wait for a certificate. To be used with ``with``: at its end they are gone."""

    def __init__(self, count: int | None = None) -> None:
        self.content: bytes | None = None
        self.processes: list[subprocess.Popen[bytes]] = []
        with suppress(OSError):  # no process to be had: the whole check does
            for _ in range(min(MOST, cores()) if count is None else count):
                self.processes.append(started())

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.keep(0)

    def keep(self, count: int) -> None:
        """End the processes beyond so many."""
        for process in self.processes[count:]:
            process.kill()
            with suppress(OSError), process:
                pass  # its pipes are closed, and it is waited for
        del self.processes[count:]

    def begin(self, model: bytes, content: bytes, leaves: Iterable[tuple[int, int, int]]) -> None:
        """Have a certificate of one layer checked. ``leaves``: for each case position, symbol, and what it costs. A
        part has positions that follow each other, as their cells may be the same."""
        costs = dict[tuple[int, int], int]()
        for i, a, cost in leaves:
            costs[i, a] = costs.get((i, a), 0) + cost
        whole = sum(costs.values())
        self.keep(0 if whole < WORTH * LEAF or len(model) > ROOM else 1 + whole // (WORTH * LEAF))
        owners, before = list[list[int]](), 0
        for (i, a), cost in costs.items():
            owners.append([i, a, before * len(self.processes) // max(whole, 1)])
            before += cost
        self.content = content
        for number, process in enumerate(self.processes):
            said = {"number": number, "count": len(self.processes), "size": len(model), "owners": owners}
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.write(json.dumps(said).encode() + b"\n" + model + content)
                process.stdin.close()

    def line(self, content: bytes) -> str | None:
        """The checker's line on a certificate, if that is the one which was begun, every part says the same line, and
        all their steps together are within the limit of the whole check."""
        found = [] if content != self.content else [said(process) for process in self.processes]
        lines = {line for _, line in found}
        together = sum(steps for steps, _ in found)
        return lines.pop() if len(lines) == 1 and together <= DEFAULT_LIMIT else None


def started() -> subprocess.Popen[bytes]:
    """A process that waits for a certificate."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, str(CHILD)], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def said(process: subprocess.Popen[bytes]) -> tuple[int, str | None]:
    """The steps and the line of a process, no line where it has none."""
    assert process.stdout is not None
    steps, _, line = process.stdout.read().decode("ascii", "replace").strip().partition(" ")
    return (int(steps), line) if process.wait() == 0 and steps.isdigit() and line else (0, None)
