"""What the benchmarks share: arguments, clocks, child processes, tables, JSON. Each `bench_*.py` has the cases."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parent.parent
Row = dict[str, Any]
Result = TypeVar("Result")


def arguments(doc: str | None, quick: str | None = "small sizes, to see that it runs") -> argparse.ArgumentParser:
    """A parser whose help is the script's own text, with ``-o``, and ``--quick`` unless ``quick`` is None."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if quick is not None:
        parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    return parser


def written(path: Path | None, value: Any) -> None:
    """Write the numbers, where a file was named."""
    if path is not None:
        path.write_text(json.dumps(value, indent=1, default=float) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- clocks and processes


def timed(call: Callable[[], Result], clock: Callable[[], float] = time.perf_counter) -> tuple[Result, float]:
    """The result and the seconds; with ``time.process_time``, processor seconds of all threads."""
    start = clock()
    return call(), clock() - start


def best_of(call: Callable[[], object], times: int) -> float:
    """The least of several timings, in seconds; the first call, which may compile, does not count."""
    call()
    return min((timed(call)[1] for _ in range(times)), default=math.inf)


class Ended(NamedTuple):
    """A process that has ended: exit code (negative: killed), what it wrote, what it took."""

    code: int
    out: str
    err: str
    seconds: float
    cpu: float
    mebibytes: float


def ended(
    command: Sequence[str],
    limit: float | None = None,
    folder: Path | str = ROOT,
    settings: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command in a fresh process, with the package of a folder; it is killed after ``limit`` seconds."""
    environment = {**os.environ, "PYTHONPATH": str(folder), **(settings or {})}
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, cwd=folder)
        if limit is not None:
            signal.signal(signal.SIGALRM, lambda *_: process.kill())
            signal.setitimer(signal.ITIMER_REAL, max(limit, 0.001))
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if limit is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        return Ended(process.returncode, out.read(), err.read(), seconds, cpu, memory)


def command(*words: str) -> list[str]:
    """The command line of `restrict WORDS`."""
    return [sys.executable, "-m", "restrict.cli", *words]


# ---------------------------------------------------------------- tables


def cell(value: object) -> str:
    """A number with three digits; what is missing as a dash."""
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def line(cells: Iterable[object]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(map(cell, cells)) + " |"


def head(columns: Sequence[str], numbers: bool = False) -> str:
    """The head of a Markdown table; ``numbers``: aligned at the right."""
    return line(columns) + "\n|" + (" ---: |" if numbers else "---|") * len(columns)


def table(rows: Sequence[Row], leave: Sequence[str] = (), numbers: bool = False) -> str:
    """A Markdown table of all keys but those left out, in the order in which they come."""
    columns = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in leave]
    return "\n".join([head(columns, numbers), *(line(row.get(key, "") for key in columns) for row in rows)])
