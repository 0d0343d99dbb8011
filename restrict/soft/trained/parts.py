"""The self-check of a verdict in several processes, each of which verifies some cases by the trusted checker's own
functions (:mod:`restrict.soft.trained.child`), beside whatever the search has still to do; all but one of them verify
cases while the search goes on, before there is a certificate. Where anything is amiss there is no line, and the whole
check, in one process, decides. ``restrict check`` is always that. Light: the processes are to start while the search's
own modules are loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from restrict.base.blocks import cores
from restrict.checker.main import DEFAULT_LIMIT
from restrict.soft.trained.options import OPTIONS

CHILD = Path(__file__).with_name("child.py")
Group = tuple[int, int]


class Processes:
    """Processes that wait for a certificate. To be used with ``with``: at its end they are gone."""

    def __init__(self, count: int | None = None) -> None:
        self.content: bytes | None = None
        self.processes: list[subprocess.Popen[bytes]] = []
        self.began: list[int] = []
        self.owners: dict[Group, int] = {}
        with suppress(OSError):  # no process to be had: the whole check does
            for _ in range(min(OPTIONS.processes, cores()) if count is None else count):
                self.processes.append(started())

    def __enter__(self) -> Processes:
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

    def ahead(self, model: bytes) -> None:
        """Cases are going to come before their certificate, under a claim that is another one from now on."""
        self.owners, self.began = {}, [0] * (len(self.processes) - 1) if len(model) <= OPTIONS.process_room else []
        try:
            for process in self.processes[: len(self.began)]:
                assert process.stdout is not None
                os.set_blocking(process.stdout.fileno(), False)
        except (OSError, AttributeError):  # whether a process is free is not to be seen without waiting for it
            self.began = []

    def free(self) -> int | None:
        """A process that can verify more cases now."""
        for number in range(len(self.began)):
            stdout = self.processes[number].stdout
            assert stdout is not None
            with suppress(OSError):
                self.began[number] -= (stdout.read() or b"").count(b".")
        return min(
            (k for k, count in enumerate(self.began) if count < OPTIONS.waiting),
            key=self.began.__getitem__,
            default=None,
        )

    def send(self, number: int, frame: dict[str, object], **more: bytes) -> None:
        """A frame for a process, and bytes that stand behind it."""
        stdin = self.processes[number].stdin
        assert stdin is not None
        sizes = {name: len(content) for name, content in more.items()}
        with suppress(OSError):
            stdin.write(json.dumps(frame | sizes).encode() + b"\n" + b"".join(more.values()))
            stdin.flush()

    def begin(self, model: bytes, content: bytes, leaves: Iterable[tuple[int, int, int]]) -> None:
        """Have a certificate of one layer checked. ``leaves``: for each case position, symbol, and what it costs. A
        part has what it verified before, and positions that follow each other, as their cells may be the same."""
        costs = dict[Group, int]()
        for i, a, cost in leaves:
            costs[i, a] = costs.get((i, a), 0) + cost
        whole = sum(costs.values())
        self.keep(
            0
            if whole < OPTIONS.worth * OPTIONS.leaf or len(model) > OPTIONS.process_room
            else 1 + whole // (OPTIONS.worth * OPTIONS.leaf)
        )
        rest = {group: cost for group, cost in costs.items() if group not in self.owners}
        owners, before, still = [[*group, k] for group, k in self.owners.items()], 0, max(sum(rest.values()), 1)
        for group, cost in rest.items():
            owners.append([*group, before * len(self.processes) // still])
            before += cost
        self.content = content
        for number in reversed(range(len(self.processes))):  # those that verify cases now are the first
            process = self.processes[number]
            assert process.stdin is not None
            assert process.stdout is not None
            said = {"number": number, "count": len(self.processes), "owners": owners}
            self.send(number, said, model=model, content=content)
            with suppress(OSError):
                process.stdin.close()
            with suppress(OSError, AttributeError):
                os.set_blocking(process.stdout.fileno(), True)

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
    told = process.stdout.read().decode("ascii", "replace").strip(".\n")
    steps, _, line = told.partition(" ")
    return (int(steps), line) if process.wait() == 0 and steps.isdigit() and line else (0, None)
