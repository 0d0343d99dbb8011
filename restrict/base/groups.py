"""The rows of a sweep by groups: rows that differ in their seed only, with the quartiles of what was found."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    """The rows with the same arguments but for the seed: ``axes`` tell the groups of a sweep apart; ``failed`` rows
    have an error; ``quartiles``: lower, median, upper of each result over the others; ``outcomes``: what refutations
    and verdicts came to, the most frequent first."""

    axes: dict[str, Any]
    rows: int
    failed: int
    quartiles: dict[str, Quartiles]
    outcomes: dict[str, int] = field(default_factory=dict)


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
            dict(Counter(row["outcome"] for row in part if row.get("outcome")).most_common()),
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
    """The groups as lines: what tells them apart, rows, errors, outcomes, and each result as lower quartile, median,
    upper quartile; one number where the three are equal."""
    axes = list(groups[0].axes)
    outcomes = ["outcome"] if any(group.outcomes for group in groups) else []
    measured = [name for name in MEASURED if any(name in group.quartiles for group in groups)]
    lines = [
        [*(_axis(name, group.axes[name]) for name in axes), str(group.rows), str(group.failed),
         *(_outcomes(group) for _ in outcomes),
         *(_three([f"{x:.4g}" for x in group.quartiles.get(name, ())]) for name in measured)]
        for group in groups
    ]  # fmt: skip
    quartiles = any(group.rows > 1 for group in groups)
    heads = [f"{name}: quartiles" if quartiles else name for name in measured]
    return columns([[*axes, "rows", "errors", *outcomes, *heads], *lines])


def _three(texts: list[str]) -> str:
    """Lower quartile, median and upper quartile; one number where they read alike."""
    return "-" if not texts else texts[0] if len(set(texts)) == 1 else " ".join(texts)


def _axis(name: str, value: Any) -> str:
    """What an argument is; a length of 0 stands for every length."""
    return "every" if name == "n" and value == 0 else str(value)[:40]


def _outcomes(group: Group) -> str:
    """What the rows came to: one word where all are the same, otherwise how many of each."""
    parts = group.outcomes
    return next(iter(parts), "-") if len(parts) < 2 else ", ".join(f"{count} {name}" for name, count in parts.items())
