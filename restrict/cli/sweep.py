"""The command `sweep`. Imported with the command line, so it stays light."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from restrict.base.errors import UsageError
from restrict.base.wording import install
from restrict.cli import common
from restrict.cli.printer import put, put_json
from restrict.cli.terminal import is_terminal

Hooks = tuple[Callable[[int], None], Callable[[dict[str, Any]], None]]


@common.command("sweep")
@click.argument("spec", type=common.FILE)
@common.option("-o --output", common.FILE, "The rows, one JSON object per line.  [default: SPEC with .jsonl]")
@common.option("--jobs", common.Whole(0, 4096), "Processes; 0: this one.  [default: all cores]")
@common.option("--dask", None, "Run on this Dask cluster.", metavar="ADDRESS|local")
@common.flag("--retry", "Run again each item whose row has an error.")
@common.flag("--recheck", "Do nothing new: check the certificates of all rows again.")
@common.flag("--fast", "With --recheck: without a limit that matters.")
@common.option("--parquet", common.FILE, "Write all rows as a table, too (needs DuckDB).")
@common.JSON
def sweep(o: common.Given) -> None:
    """Certify, refute or verify a grid of models, lengths, targets, languages and seeds: a row and a certificate each.

    SPEC is a TOML file (docs/scale.md). Run the same command again to go on after Ctrl-C, a crash or a kill.

    \b
    Example of a SPEC:
      [[grid]]
      model = "random:layers={layers},heads=2,states=4,seed={seed}"
      layers = [1, 2]
      seed = {from = 0, to = 9}
      n = [1000, 10000]
    """
    from restrict.sweep.result import load_sweep
    from restrict.sweep.run import Engine, Rechecked, Summary, established, recheck_rows, run_items
    from restrict.sweep.spec import read_spec

    if o.fast and not o.recheck:
        raise UsageError("--fast is for --recheck")
    if o.recheck and o.retry:
        raise UsageError("--recheck runs nothing; leave out --retry")
    _importable(o.dask, common.check_writable(o.parquet))
    described = read_spec(o.spec)
    rows = o.output if o.output is not None else o.spec.with_suffix(".jsonl")
    if rows == o.spec:
        raise UsageError(f"{o.spec}: the rows cannot go to the spec itself; give -o")
    if not o.recheck:
        common.check_writable(rows)
    if rows.exists() and not rows.is_file():
        raise UsageError(f"{rows}: rows can only be added to a regular file")
    try:
        with _bar() as hooks:
            engine = Engine(o.jobs, o.dask, *hooks)
            found: Rechecked | Summary
            if o.recheck:
                found = recheck_rows(rows, engine, fast=o.fast)
            else:
                found = run_items(described.items, rows, engine, retry=o.retry)
    except KeyboardInterrupt:
        if o.recheck:
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not stop the last line
        sys.exit(common.say(f"interrupted; the rows so far are in {rows}; the same command goes on from there", 130))
    document = {"rows": str(rows)} | found.document()
    if isinstance(found, Rechecked) and found.wrong:
        if o.as_json:
            put_json(document)
        established(found, rows)
    if o.parquet is not None:
        load_sweep(rows).to_parquet(o.parquet)
        document["parquet"] = str(o.parquet)
    put(lambda: f"{rows}: {found.text()}", document, o.as_json, {"table in": o.parquet}, wide=True)


def _importable(dask: str | None, parquet: Path | None) -> None:
    """Refuse, before the work, an option whose package is not installed."""
    from importlib.util import find_spec

    if dask is not None and find_spec("distributed") is None:
        raise UsageError(f"--dask needs Dask: {install('sweep')}")
    if parquet is not None and find_spec("duckdb") is None:
        raise UsageError(f"--parquet needs DuckDB: {install('sweep')}")


@contextmanager
def _bar() -> Iterator[Hooks]:
    """A bar with rate and remaining time on a terminal, nothing elsewhere."""
    if not is_terminal(sys.stderr):
        yield lambda total: None, lambda row: None
        return
    from rich import progress
    from rich.console import Console

    columns: list[progress.ProgressColumn] = [progress.BarColumn(), progress.MofNCompleteColumn()]
    columns += [progress.TextColumn("{task.fields[rate]}"), progress.TimeElapsedColumn(), progress.TextColumn("left")]
    columns += [progress.TimeRemainingColumn(), progress.TextColumn("{task.description}")]
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None, rate="")
        failed = 0

        def step(row: dict[str, Any]) -> None:
            nonlocal failed
            failed += not row["ok"]
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            rate = "" if speed is None else f"{speed:.3g}/s" if speed >= 1 else f"{1 / max(speed, 1e-9):.3g} s each"
            bar.update(task, advance=1, rate=rate, description=f"{failed} with an error" if failed else "")

        yield lambda total: bar.update(task, total=total, description=""), step
