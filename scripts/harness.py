"""What scripts share: arguments, clocks, processes, tables, JSON. Each `bench_*.py` and `*_sweep.py` has the cases.

Who imports it can import the tests, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
Row = dict[str, Any]
Task = TypeVar("Task")
Result = TypeVar("Result")


def arguments(doc: str | None, quick: str | None = "small sizes, to see that it runs") -> argparse.ArgumentParser:
    """A parser whose help is the script's own text, with ``-o``, and ``--quick`` unless ``quick`` is None."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if quick is not None:
        parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    return parser


def of_checkpoints(doc: str | None, n: str = "", seconds: float | None = None) -> argparse.ArgumentParser:
    """A parser for a folder of trained checkpoints, with lengths and seconds where there are defaults for these."""
    parser = arguments(doc, None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", default=n, type=numbers, help="lengths, separated by commas")
    parser.add_argument("--time", type=float, default=seconds, help="seconds for each search")
    parser.add_argument("--only", default="", help="names that contain one of these, separated by commas")
    return parser


def numbers(text: str) -> list[int]:
    """Numbers with commas between them."""
    return [int(word) for word in text.split(",") if word]


def checkpoints(options: argparse.Namespace) -> list[Path]:
    """Those of the folder that were asked for, in order."""
    found = sorted(options.folder.glob("*.safetensors"))
    return [path for path in found if any(part in path.name for part in options.only.split(","))]


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


def exponent(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The least-squares slope of log y against log x; None where there is none."""
    import numpy as np

    return float(np.polyfit(np.log(x), np.log(y), 1)[0]) if len(x) > 1 and min(y) > 0 else None


def least_share(works: Callable[[float], bool], steps: int | None = None) -> float:
    """By bisection the least number of (0, 1] that works, as 1 does: to a thousandth, or in so many steps."""
    low, high, step = 0.0, 1.0, 0
    while step < steps if steps is not None else high - low > 1e-3 * high:
        middle, step = (low + high) / 2, step + 1
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


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


def spent() -> float:
    """Processor seconds of all processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def shared_out(function: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """The results in order: by this process, or by so many others."""
    with ProcessPoolExecutor(jobs, get_context("spawn")) if jobs > 1 else nullcontext() as pool:
        yield from map(function, tasks) if pool is None else pool.map(function, tasks)


def within(seconds: float, function: Callable[..., Result], *given: Any, method: str = "spawn") -> Result | None:
    """The result of a call in a process of its own, or None where it takes longer."""
    with ProcessPoolExecutor(1, get_context(method)) as pool:
        task = pool.submit(function, *given)
        try:
            return task.result(seconds)
        except TimeoutError:
            for process in list(pool._processes.values()):
                process.kill()
            return None


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


def operators(rows: Iterable[tuple[str, Iterable[int]]]) -> str:
    """A Markdown table of what became of mutants, by operator."""
    columns = ("operator", "mutants", "rejected", "accepted and true", "accepted and false")
    return "\n".join([head(columns), *(line((name, *counts)) for name, counts in rows)])


def show(cells: Iterable[object]) -> None:
    """Print one line of a Markdown table at once."""
    print(line(cells), flush=True)


def table(rows: Sequence[Row], leave: Sequence[str] = (), numbers: bool = False) -> str:
    """A Markdown table of all keys but those left out, in the order in which they come."""
    columns = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in leave]
    return "\n".join([head(columns, numbers), *(line(row.get(key, "") for key in columns) for row in rows)])
