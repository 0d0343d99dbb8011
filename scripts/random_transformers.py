"""Certify a grid of random transformers on a process pool: one JSON line per model, length, share C, seed and target.

    python scripts/random_transformers.py --layers 1 2 --heads 2 --states 2 4 -n 1000 10000 -C 0.9 0.6 --seeds 5 \\
        --target last all -o rows.jsonl

Every row has the parameters, sizes, seconds, what the engine says of its stages (``provenance``), and the path of the
certificate, which ``restrict check MODEL CERTIFICATE`` verifies (``model`` names the model). A combination that the
engine refuses has a row with the error. Run the same command again to go on after Ctrl-C, a crash or a kill: rows that
are there are skipped, a torn last line is cut off. The finished file is in grid order, and the same but for the times
whatever ``--jobs`` is; ``--retry`` runs again what was refused.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from restrict.errors import ResourceLimit, RestrictError, UsageError  # noqa: E402 # found only now

Row = dict[str, Any]


@dataclass(frozen=True, order=True)
class Cell:
    """One row's parameters; ``share`` is C as it was written."""

    layers: int
    heads: int
    states: int
    n: int
    share: str
    seed: int
    target: str
    time: float | None

    @property
    def generator(self) -> str:
        """The model as ``restrict`` names it."""
        return f"random:layers={self.layers},heads={self.heads},states={self.states},seed={self.seed}"

    @property
    def stem(self) -> str:
        """A file name for the model."""
        return f"L{self.layers}-H{self.heads}-Q{self.states}-s{self.seed}"


# ---------------------------------------------------------------- one row


def certify_cell(cell: Cell, folder: Path) -> Row:
    """Certify one cell and write its certificate; an error of the engine becomes part of the row."""
    row: Row = asdict(cell)
    start = time.perf_counter()
    try:
        row |= {"ok": True} | _certified(cell, folder)
    except RestrictError as error:
        row |= {"ok": False, "error": str(error), "exit_code": error.exit_code}
    except MemoryError:
        row |= {"ok": False, "error": "out of memory; try a smaller n or fewer --jobs", "exit_code": 5}
    except Exception as error:  # a bug must not end the batch; the row says which input shows it
        row |= {"ok": False, "error": f"internal: {type(error).__name__}: {error}", "exit_code": 1}
    return row | {"seconds": round(time.perf_counter() - start, 3)}


def _certified(cell: Cell, folder: Path) -> Row:
    import restrict
    from restrict.certificate.check import check

    model, name = _model(cell, folder)
    target: Any = cell.target
    found = restrict.certify(model, cell.n, target=target, free=float(cell.share), seed=cell.seed, time=cell.time)
    if found.provenance.get("stopped") == "interrupted":
        raise KeyboardInterrupt  # the engine returns its best; a row must not depend on when somebody lost patience
    path = folder / f"{cell.stem}-n{cell.n}-C{cell.share}-{cell.target}.cert.json"
    _replace(path, found.to_bytes())
    start = time.perf_counter()
    line = check(model, found, fast=True)
    return {
        "fixed": len(found.restriction.fixed),
        "free": found.free,
        "c": found.c,
        "cone": found.cone_size,
        "verified": line,
        "check_seconds": round(time.perf_counter() - start, 3),
        "provenance": dict(found.provenance),
        "model": name,
        "certificate": path.name,
    }


def _model(cell: Cell, folder: Path) -> tuple[Any, str]:
    """The model, and what to call it: the generator, or a file in which every position has an output."""
    import restrict
    from restrict.model.examples.random import random_model
    from restrict.model.fileformat import dumps

    if cell.target == "last":
        return restrict.load(cell.generator), cell.generator
    document = random_model(layers=cell.layers, heads=cell.heads, states=cell.states, seed=cell.seed)
    document["name"] += ",position=every"
    document["output"]["position"] = "every"
    path = folder / f"{cell.stem}-every.json"
    _replace(path, dumps(document))
    return restrict.load(path), path.name


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole or not at all, whoever else writes it."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)


# ---------------------------------------------------------------- the file of rows


def read_rows(path: Path) -> list[Row]:
    """The rows of an earlier run; what a kill left of a last line is cut off the file."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    rows = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            rows.append(json.loads(line))
            cell_of(rows[-1])
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{path}: line {number} is no row of this script; choose another -o") from None
    return rows


def cell_of(row: Row) -> Cell:
    """The cell of a row."""
    return Cell(*(row[name] for name in Cell.__dataclass_fields__))


def write_rows(path: Path, rows: list[Row]) -> None:
    """Replace the file."""
    _replace(path, b"".join(json.dumps(row).encode() + b"\n" for row in rows))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One run at a time per folder of certificates, and so per file of rows."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{folder}: another run is at work here; wait for it or choose another -o") from None
        yield
    finally:
        os.close(handle)


# ---------------------------------------------------------------- the pool


def _worker() -> None:
    """Ctrl-C is the parent's business; and where the parent is killed, its workers end too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_cells(cells: list[Cell], folder: Path, jobs: int, keep: Callable[[Row], None]) -> None:
    """Certify all cells, each row to ``keep`` as soon as it is there."""
    if jobs == 1:
        for cell in cells:
            keep(certify_cell(cell, folder))
        return
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_worker)
    try:
        futures: list[Future[Row]] = [pool.submit(certify_cell, cell, folder) for cell in cells]
        for future in as_completed(futures):
            keep(future.result())
    except BrokenProcessPool:
        raise ResourceLimit("a worker was killed, perhaps for memory; run again to go on, with fewer --jobs") from None
    except KeyboardInterrupt:
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def progress(total: int) -> Iterator[Callable[[Row], None]]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda row: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        def step(row: Row) -> None:
            done = f"c {row['c']}, {row['fixed']} fixed" if row["ok"] else "refused"
            bar.update(task, advance=1, description=f"L {row['layers']} n {row['n']} {row['target']}: {done}")

        yield step


# ---------------------------------------------------------------- command line


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=_positive, nargs="+", default=[1, 2])
    parser.add_argument("--heads", type=_positive, nargs="+", default=[2])
    parser.add_argument("--states", type=_positive, nargs="+", default=[4], help="values per activation")
    parser.add_argument("-n", type=_positive, nargs="+", default=[1000], help="lengths")
    parser.add_argument("-C", type=_share, nargs="+", default=["0.9"], help="shares that stay free")
    parser.add_argument("--seeds", type=_positive, default=3, help="seeds 0 .. SEEDS-1")
    parser.add_argument("--target", choices=("last", "all"), nargs="+", default=["last", "all"])
    parser.add_argument("--time", type=float, default=None, help="seconds of search per row (then not deterministic)")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1, help="processes; 1 for this one alone")
    parser.add_argument("--retry", action="store_true", help="run again what was refused")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the rows, one JSON object per line")
    parser.add_argument("--certificates", type=Path, help="folder for certificates; by default OUTPUT.certificates")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**9):
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer of at least 1")
    return int(text)


def _share(text: str) -> str:
    try:
        good = text.isascii() and 0 <= float(text) <= 1 and text == text.strip()
    except ValueError:
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"{text!r} must be a share between 0 and 1, such as 0.9")
    return text


def cells_of(options: argparse.Namespace) -> list[Cell]:
    """The grid, in order and without repeats."""
    axes: Iterable[Iterable[Any]] = (
        options.layers,
        options.heads,
        options.states,
        options.n,
        options.C,
        range(options.seeds),
        options.target,
        [options.time],
    )
    return list(dict.fromkeys(Cell(*point) for point in itertools.product(*axes)))


def run(options: argparse.Namespace) -> str:
    """Do the batch; a line that says how it ended."""
    output: Path = options.output
    folder: Path = options.certificates or output.with_name(output.name + ".certificates")
    grid = cells_of(options)
    order = {cell: place for place, cell in enumerate(grid)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            rows = read_rows(output)
            if options.retry and any(not row["ok"] for row in rows):
                rows = [row for row in rows if row["ok"] or cell_of(row) not in order]
                write_rows(output, rows)
            there = {cell_of(row) for row in rows}
            todo = [cell for cell in grid if cell not in there]
            with output.open("ab") as file, progress(len(todo)) as step:

                def keep(row: Row) -> None:
                    file.write(json.dumps(row).encode() + b"\n")
                    file.flush()
                    rows.append(row)
                    step(row)

                run_cells(todo, folder, options.jobs, keep)
            rows.sort(key=lambda row: order.get(cell_of(row), len(grid)))
            write_rows(output, rows)
    except OSError as error:
        raise UsageError(f"{error.filename or output}: {error.strerror or error}") from None
    refused = sum(not row["ok"] for row in rows if cell_of(row) in order)
    return f"{output}: {len(grid)} rows of this grid, {len(todo)} of them new, {refused} refused"


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit codes are those of the command line."""
    options = parse(arguments)
    try:
        print(run(options))
        return 0
    except RestrictError as error:
        print(f"random_transformers: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"random_transformers: interrupted; the rows so far are in {options.output}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
