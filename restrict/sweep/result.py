"""A sweep from Python: :func:`run_sweep` does the items of a spec, :class:`SweepResult` is its rows.

>>> import restrict
>>> result = restrict.run_sweep("sweep.toml", jobs=2)  # doctest: +SKIP
>>> result.failed, len(result.rows)  # doctest: +SKIP
(0, 78)
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from restrict.base.errors import UsageError
from restrict.base.groups import Group, Row, axes_of, grouped
from restrict.base.htmltable import ShownTable
from restrict.base.strictjson import Record
from restrict.base.wording import counted
from restrict.sweep.run import Engine, Rechecked, Step, recheck_rows, run_items
from restrict.sweep.spec import read_spec
from restrict.sweep.store import read_rows
from restrict.sweep.table import write_parquet

SHOWN = ("fixed_count", "free_fraction", "depends", "outcome", "seconds", "error")
"""Results that a table shows, where a row has them."""
WORDS = 60
"""Characters of an error that a table shows."""


@dataclass(frozen=True, eq=False)
class SweepResult(Record):
    """The rows of a sweep.

    Attributes:
        path: the file of rows; certificates are in the folder beside it.
        rows: one for each item, in the order of the file, the later one where an item was run again.
        new: how many rows this run added; 0 where the file was only read.
    """

    path: Path
    rows: tuple[Row, ...] = field(repr=False)
    new: int = 0

    def to_bytes(self) -> bytes:
        """The file of rows, one for each item; ``save`` writes no certificates beside it."""
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The rows in a file.

        Args:
            path: the file.

        Returns:
            The rows.

        Raises:
            UsageError: there is no such file, or it is not a file of rows.
        """
        path = Path(path)
        if not path.is_file():
            raise UsageError(f"{path}: there is no such file of rows")
        return cls(path, tuple(read_rows(path)[0].values()))

    def document(self) -> list[Row]:
        """The rows."""
        return list(self.rows)

    @property
    def failed(self) -> int:
        """How many rows have an error."""
        return sum(not row["ok"] for row in self.rows)

    @property
    def axes(self) -> tuple[str, ...]:
        """The arguments that differ from row to row, in the order of the rows' keys.

        Returns:
            Names of columns; ``model`` is left out where another axis tells the same rows apart.
        """
        return axes_of(self.rows)

    @property
    def groups(self) -> list[Group]:
        """The rows that differ in their seed only, with quartiles.

        Returns:
            One group for each set of the other arguments, in the order of the rows.
        """
        return grouped(self.rows)

    def column(self, name: str) -> list[Any]:
        """One column of the rows.

        Args:
            name: a key of the rows (docs/scale.md).

        Returns:
            The values, ``None`` where a row does not have the key.

        Raises:
            UsageError: no row has it.
        """
        if not any(name in row for row in self.rows):
            raise UsageError(f"{self.path}: no row has a column {name!r}")
        return [row.get(name) for row in self.rows]

    def to_parquet(self, path: str | Path) -> int:
        """Write the rows as a table (:func:`restrict.sweep.table.write_parquet`).

        Args:
            path: the Parquet file; it is replaced as a whole.

        Returns:
            How many rows.

        Raises:
            UsageError: DuckDB is not installed, there are no rows, or the file cannot be written.
        """
        return write_parquet(self.rows, Path(path))

    def recheck(self, *, jobs: int | None = None, fast: bool = False) -> Rechecked:
        """Check the certificates of all rows again, by the trusted checker.

        Args:
            jobs: processes; 0: this one; ``None``: all cores.
            fast: without a limit that matters.

        Returns:
            What does not hold (:func:`restrict.sweep.run.recheck_rows`).

        Raises:
            UsageError: the file of rows cannot be read.
        """
        return recheck_rows(self.path, Engine(jobs), fast=fast)

    def __repr__(self) -> str:
        return f"SweepResult({str(self.path)!r}, {counted(len(self.rows), 'row')}, {self.failed} with an error)"

    def facts(self) -> ShownTable:
        """What a notebook shows: the rows, with what differs among them."""
        axes = self.axes or ("model", "n")
        shown = [name for name in SHOWN if any(row.get(name) is not None for row in self.rows)]
        title = f"sweep: {self.path.name}: {counted(len(self.rows), 'row')}, {self.failed} with an error"
        rows = [[_cell(row.get(name)) for name in (*axes, *shown)] for row in self.rows]
        return ShownTable(title, rows, (*axes, *shown))


def load_sweep(path: str | Path) -> SweepResult:
    """The rows in a file.

    Args:
        path: the file of rows that `restrict sweep` wrote.

    Returns:
        The rows.

    Raises:
        UsageError: there is no such file, or it is not a file of rows.
    """
    return SweepResult.load(path)


def run_sweep(
    spec: str | Path,
    output: str | Path | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    retry: bool = False,
    step: Step | None = None,
) -> SweepResult:
    """Do all items of a spec that have no row yet; after Ctrl-C or a kill the same call goes on.

    A script that calls this with ``jobs`` other than 0 must do so under ``if __name__ == "__main__":``, as for every
    pool of processes.

    Args:
        spec: a TOML file (docs/scale.md).
        output: the file of rows; by default the spec's name with ``.jsonl``.
        jobs: processes; 0: this one; ``None``: all cores.
        dask: instead of processes here, a Dask cluster: the scheduler's address, or ``"local"``.
        retry: run the items whose row has an error again.
        step: called with every new row.

    Returns:
        The rows of the spec's items. Cost: that of the items.

    Raises:
        ModelError: a fault in the spec.
        UsageError: a file cannot be read or written, or no cluster answers.
        ResourceLimit: the spec has too many items.
    """
    spec = Path(spec)
    items = read_spec(spec).items
    rows = spec.with_suffix(".jsonl") if output is None else Path(output)
    done = run_items(items, rows, Engine(jobs, dask, step=step or (lambda row: None)), retry=retry)
    found = read_rows(rows)[0]
    return SweepResult(rows, tuple(found[item.identity] for item in items), done.new)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= WORDS else f"{text[:WORDS]} ..."
