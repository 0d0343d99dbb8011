"""The report of a sweep's rows (JSON Lines, `restrict sweep`): counts, errors, and what was fixed at each length."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError
from restrict.base.wording import counted
from restrict.report.drawing import Drawing, Shape
from restrict.report.page import Page, Section

LISTED = 200
"""Rows that are listed."""
DRAWN = 2000
"""Different points that are drawn."""
COLUMNS = ("n", "target", "seed", "fixed_count", "free_count", "depends", "seconds")


LONGEST = 1 << 20
"""Bytes of a row of a sweep: a longer first line is another file's, and read under that file's limits."""


def is_sweep(content: bytes) -> bool:
    """Whether a file looks like the rows of a sweep.

    Result: whether its first line is an object with an identity and a task. Linear in that line.
    """
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
    claim = f"{counted(len(rows), 'row')}: {len(good)} with a result, {len(rows) - len(good)} with an error."
    page = Page(path.name, "Sweep", claim)
    seconds = [float(row["seconds"]) for row in rows if isinstance(row.get("seconds"), int | float)]
    facts = [("models", str(len({row.get("model") for row in rows}))), ("seconds in all", f"{sum(seconds):.1f}")]
    page.sections.append(Section("The rows", facts=facts))
    points = [(row["n"], row["fixed_count"]) for row in good if isinstance(row.get("fixed_count"), int)]
    if points:
        words = [
            "Each point is a row: its length, and how many inputs its certificate fixes. Both axes are logarithmic."
        ]
        page.sections.append(Section("What was fixed", words, drawing=draw_points(points)))
    if failed:
        reasons = [(error, str(count)) for error, count in failed.most_common(20)]
        page.sections.append(Section("Errors", head=("error", "rows"), rows=reasons))
    listed = [[str(row.get("model"))[:80], *(_cell(row.get(name)) for name in COLUMNS)] for row in rows[:LISTED]]
    words = [f"The first {LISTED} of {len(rows)}."] if len(rows) > LISTED else []
    page.sections.append(Section("Row by row", words, head=("model", *COLUMNS), rows=listed))
    return page


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
    """A value of a row."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def draw_points(points: list[tuple[int, int]]) -> Drawing:
    """Fixed inputs against the length, both logarithmic; 0 is drawn at the bottom."""
    drawing = Drawing(640, 380, "fixed inputs against the length")
    group = drawing.group()
    lengths = sorted({n for n, _ in points})
    low, high = math.log10(lengths[0]), math.log10(lengths[-1])
    top = max(1, math.ceil(math.log10(max(count for _, count in points) + 1)))

    def place(n: int, count: float) -> tuple[float, float]:
        return 70 + 540 * (math.log10(n) - low) / ((high - low) or 1), 330 - 300 * math.log10(count + 1) / top

    for count in [0, *(step * 10**power for power in range(top) for step in ((1, 2, 5) if top <= 3 else (1,)))]:
        _, y = place(lengths[0], count)
        group.shapes.append(Shape("line", (70, y, 610, y), "skip"))
        group.shapes.append(Shape("text", (62, y + 3, 10), "quiet", str(count), "end"))
    for n in lengths[:: max(1, len(lengths) // 8)]:
        group.shapes.append(Shape("text", (place(n, 0)[0], 350, 10), "quiet", str(n), "middle"))
    group.shapes.append(Shape("text", (340, 370, 10), "label", "length n (across), fixed inputs (up)", "middle"))
    for n, count in sorted(set(points))[:DRAWN]:
        group.shapes.append(Shape("circle", (*place(n, count), 3.5), "reduced"))
    return drawing
