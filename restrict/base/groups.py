"""The rows of a sweep by groups: rows that differ in their seed only, with the quartiles of what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from restrict.base.wording import columns

Row = dict[str, Any]
RESULTS = (
    "id", "ok", "error", "exit_code", "seconds", "fixed_count", "free_count", "free_fraction", "depends", "cone_size",
    "verified", "check_seconds", "provenance", "model_file", "model_digest", "certificate", "outcome", "reason",
    "label", "optimum", "upto", "word",
)  # fmt: skip
"""Columns that a row adds; no parameter of a grid may have such a name."""
MEASURED = ("fixed_count", "depends", "seconds")
"""Results whose quartiles are given, where rows of a group have them."""
Quartiles = tuple[float, float, float]


@dataclass(frozen=True)
class Group:
    """The rows with the same arguments but for the seed.

    ``axes`` has the arguments that tell the groups of a sweep apart, ``failed`` counts rows with an error, and
    ``quartiles`` has the lower quartile, the median and the upper quartile of each result over the other rows.
    """

    axes: dict[str, Any]
    rows: int
    failed: int
    quartiles: dict[str, Quartiles]


def axes_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The arguments that differ from row to row; ``model`` is left out where another one tells the same rows apart."""
    names = {name: None for row in rows for name in row if name not in RESULTS}
    varying = [name for name in names if len({repr(row.get(name)) for row in rows}) > 1]
    others = [name for name in varying if name != "model"]
    told = {tuple(repr(row.get(name)) for name in others) for row in rows}
    return tuple(varying if len(told) < len(rows) else others)


def grouped(rows: Sequence[Row]) -> list[Group]:
    """The groups, in the order of their first rows; a quartile that falls between two values is interpolated."""
    axes = [name for name in axes_of(rows) if name != "seed"]
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(repr([row.get(name) for name in axes]), []).append(row)
    return [
        Group(
            {name: part[0].get(name) for name in axes},
            len(part),
            sum(not row["ok"] for row in part),
            {name: found for name in MEASURED if (found := quartiles(row.get(name) for row in part if row["ok"]))},
        )
        for part in parts.values()
    ]


def quartiles(values: Iterable[Any]) -> Quartiles | None:
    """The lower quartile, the median and the upper quartile of the numbers among the values, if there are any."""
    found = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not found:
        return None
    low, middle, high = quantiles(found, n=4, method="inclusive") if len(found) > 1 else found * 3
    return low, middle, high


def table(groups: Sequence[Group]) -> str:
    """The groups as lines: what tells them apart, rows, errors, and each result as lower quartile, median, upper."""
    axes = list(groups[0].axes)
    measured = [name for name in MEASURED if any(name in group.quartiles for group in groups)]
    lines = [
        [*(str(group.axes[name])[:40] for name in axes), str(group.rows), str(group.failed),
         *(" ".join(f"{x:.4g}" for x in group.quartiles.get(name, ())) or "-" for name in measured)]
        for group in groups
    ]  # fmt: skip
    return columns([[*axes, "rows", "errors", *measured], *lines])
