"""Rows as a Parquet file, for DuckDB, pandas and similar tools (the extra ``sweep``; imported only when asked for)."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from restrict.base.errors import UsageError
from restrict.base.files import write_bytes
from restrict.base.groups import Row
from restrict.base.wording import install

TEXT = ("provenance", "target")
"""Columns of several types, or with other keys in every row: they become JSON text."""


def write_parquet(rows: Iterable[Row], path: Path) -> int:
    """Write rows as a table, one column per key."""
    try:
        import duckdb
    except ImportError:
        raise UsageError(f"--parquet needs DuckDB: {install('sweep')}") from None
    lines = [json.dumps(row | {k: json.dumps(row[k]) for k in TEXT if k in row}) for row in rows]
    if not lines:
        raise UsageError(f"{path}: there are no rows to write")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "rows.jsonl", Path(folder) / "rows.parquet"
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with duckdb.connect() as database:
            table = f"read_json('{_quoted(source)}', format = 'newline_delimited', sample_size = -1)"
            database.execute(f"COPY (SELECT * FROM {table}) TO '{_quoted(made)}' (FORMAT parquet)")
        write_bytes(path, made.read_bytes())
    return len(lines)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
