"""The command `sweep`. Imported with the command line, so it stays light."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import UsageError
from restrict.base.wording import counted, install
from restrict.cli import common
from restrict.cli.printer import put, put_json
from restrict.cli.terminal import is_terminal

if TYPE_CHECKING:
    from restrict.sweep.run import Engine

GROUPS = 60
"""Groups of rows that are summed up at the end."""
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
    from restrict.sweep.run import Engine
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
            summary = _recheck(rows, engine, o) if o.recheck else _run(described.items, rows, engine, o.retry)
    except KeyboardInterrupt:
        if o.recheck:
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not stop the last line
        sys.exit(common.say(f"interrupted; the rows so far are in {rows}; the same command goes on from there", 130))
    if o.parquet is not None:
        summary["parquet"] = _table(rows, o.parquet)
    _report(summary, rows, o.parquet, o.as_json)


def _importable(dask: str | None, parquet: Path | None) -> None:
    """Refuse, before the work, an option whose package is not installed."""
    from importlib.util import find_spec

    if dask is not None and find_spec("distributed") is None:
        raise UsageError(f"--dask needs Dask: {install('sweep')}")
    if parquet is not None and find_spec("duckdb") is None:
        raise UsageError(f"--parquet needs DuckDB: {install('sweep')}")


def _run(items: Any, rows: Path, engine: Engine, retry: bool) -> dict[str, Any]:
    """Run the items that have no row yet."""
    from restrict.base.groups import grouped, table
    from restrict.sweep.run import run_items

    done = run_items(items, rows, engine, retry=retry)
    groups = grouped(done.rows) if done.rows else []
    return {
        "rows": str(rows), "items": done.items, "new": done.new, "failed": done.failed, "older": done.older,
        "groups": [asdict(group) for group in groups[:GROUPS]], "more": max(0, len(groups) - GROUPS),
        "text": table(groups[:GROUPS]) if len(done.rows) > 1 else "",
    }  # fmt: skip


def _recheck(rows: Path, engine: Engine, o: common.Given) -> dict[str, Any]:
    from restrict.sweep.run import established, recheck_rows

    found = recheck_rows(rows, engine, fast=o.fast)
    if o.as_json and found.wrong:
        put_json({"rows": str(rows), "checked": found.checked, "wrong": dict(found.wrong)})
    established(found, rows)
    return {"rows": str(rows), "checked": found.checked, "without": found.without, "wrong": {}}


def _table(rows: Path, parquet: Path) -> str:
    from restrict.sweep.store import read_rows
    from restrict.sweep.table import write_parquet

    write_parquet(read_rows(rows)[0].values(), parquet)
    return str(parquet)


def _report(summary: dict[str, Any], rows: Path, parquet: Path | None, as_json: bool) -> None:
    if "checked" in summary:
        what = (
            f"{counted(summary['checked'], 'certificate')} verified, {counted(summary['without'], 'row')} without one"
        )
    else:
        what = f"{counted(summary['items'], 'item')}, {summary['new']} new, {summary['failed']} with an error"
        if summary["older"]:
            what += f"; {counted(summary['older'], 'row')} of another spec left alone"
    lines = [f"{rows}: {what}", *filter(None, [summary.pop("text", "")])]
    if summary.get("more"):
        lines.append(f"... and {summary['more']} more groups")
    put("\n".join(lines), summary, as_json, {"table in": parquet}, wide=True)


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
