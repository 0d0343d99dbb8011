"""The report of a sweep's rows (JSON Lines, `restrict sweep`): counts, errors, and what was fixed at each length."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError
from restrict.base.groups import axes_of
from restrict.base.wording import counted
from restrict.report.chart import Chart, by_length
from restrict.report.page import Page, Section

LISTED = 200
"""Rows that are listed."""
CHARTS = (
    ("fixed_count", "What was fixed", "fixed inputs"),
    ("depends", "What the output still depends on", "c (certified bound)"),
    ("seconds", "How long it took", "seconds"),
)
"""Columns that are drawn: the section's title, and what the values are."""
MEANT = "Medians over the seeds; a line from the lower to the upper quartile stands at each."
COLUMNS = ("n", "target", "seed", "outcome", "fixed_count", "free_count", "depends", "seconds")


LONGEST = 1 << 20
"""Bytes of a row of a sweep: a longer first line is another file's, and read under that file's limits."""


def is_sweep(content: bytes) -> bool:
    """Whether a file's first line is a row of a sweep, an object with an identity and a task. Linear in that line."""
    line = content[: LONGEST + 1].partition(b"\n")[0]
    try:
        first = json.loads(line) if len(line) <= LONGEST else None
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"id", "task", "ok"} <= first.keys()


def sweep_page(content: bytes, path: Path) -> Page:
    """The report of a sweep."""
    rows = _rows(content, path)
    good = [row for row in rows if row["ok"]]
    failed = Counter(str(row.get("error"))[:200] for row in rows if not row["ok"])
    outcomes = Counter(str(row["outcome"])[:40] for row in good if row.get("outcome")).most_common()
    said = f" ({', '.join(f'{count} {name}' for name, count in outcomes)})" if outcomes else ""
    claim = f"{counted(len(rows), 'row')}: {len(good)} with a result{said}, {len(rows) - len(good)} with an error."
    page = Page(path.name, "Sweep", claim)
    seconds = [float(row["seconds"]) for row in rows if isinstance(row.get("seconds"), int | float)]
    facts = [("models", str(len({row.get("model") for row in rows}))), ("seconds in all", f"{sum(seconds):.1f}")]
    page.sections.append(Section("The rows", facts=facts))
    page.sections += [Section(title, [MEANT], drawing=chart) for title, chart in _charts(good)]
    if failed:
        reasons = [(error, str(count)) for error, count in failed.most_common(20)]
        page.sections.append(Section("Errors", head=("error", "rows"), rows=reasons))
    shown = [name for name in COLUMNS if any(row.get(name) is not None for row in rows[:LISTED])]
    listed = [[str(row.get("model"))[:80], *(_cell(row.get(name)) for name in shown)] for row in rows[:LISTED]]
    words = [f"The first {LISTED} of {len(rows)}."] if len(rows) > LISTED else []
    page.sections.append(Section("Row by row", words, head=("model", *shown), rows=listed))
    return page


def _charts(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Chart]]:
    """What was measured against the length: a curve for each group of rows that differ in length and seed only."""
    axes = [name for name in axes_of(rows) if name not in ("n", "seed")]
    for name, title, what in CHARTS:
        series: dict[str, list[tuple[int, float]]] = {}
        for row in rows:
            if row["n"] and isinstance(row.get(name), int | float):
                told = ", ".join(f"{axis} {row.get(axis)}"[:40] for axis in axes)
                series.setdefault(told, []).append((row["n"], float(row[name])))
        if any(value for pairs in series.values() for _, value in pairs):
            yield title, by_length(title, series, what)


def _rows(content: bytes, path: Path) -> list[dict[str, Any]]:
    """The rows, the last one for each identity."""
    lines = content.split(b"\n")
    found: dict[str, dict[str, Any]] = {}
    for at, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found[str(row["id"])] = {**row, "ok": bool(row["ok"]), "n": int(row["n"])}
        except (ValueError, KeyError, TypeError, RecursionError):
            if at == len(lines):
                break  # cut off by a kill; the sweep will write it again
            raise ModelError(f"{path}: line {at}: not a row of a sweep") from None
    return list(found.values())


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
