"""Charts of the soft commands: influence against the length, cross-entropy against the length."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from restrict.report.chart import Chart, colour, length_axis

COLUMNS = (
    ("closed", "(a) closed form, certified bound", "first", "^-"),
    ("layerwise", "(b) layer by layer, certified bound", "fixed", "s-"),
    ("sharp", "(b) propagated sets, certified bound", "head", "o-"),
    ("measured", "(c) measured: the largest found, in floats", "ink", "x-"),
)
"""What is drawn: the key of a row, its meaning, its colour and its mark."""
GREATEST = 1e30
"""A bound above this is not drawn; the legend says so."""
Rows = Sequence[Mapping[str, Any]]


def influence_chart(rows: Rows, title: str) -> Chart:
    """The bounds and the measured influence, both axes logarithmic, with a line of slope -1. ``rows``: what `restrict
    soft influence --json` has, ``n`` and pairs (activation, logit) under the keys of :data:`COLUMNS`, if any."""
    lengths = [int(row["n"]) for row in rows]
    columns = {key: [(n, row.get(key)) for n, row in zip(lengths, rows, strict=True)] for key, *_ in COLUMNS}
    points = {
        key: [(n, float(v[0])) for n, v in pairs if v is not None and v[0] is not None and 0 < v[0] < GREATEST]
        for key, pairs in columns.items()
    }

    def paint(figure: Any) -> None:
        axes = figure.add_subplot(title=title)
        if points["measured"]:
            first, value = points["measured"][0]
            steady = [value * first / n for n in lengths]
            axes.plot(lengths, steady, color=colour("faint"), linewidth=4, label="1/n, through the first measured")
        for key, label, name, mark in COLUMNS:
            missing = len(rows) - len(points[key])
            told = f"{label} ({missing} of {len(rows)} not drawn)" if missing else label
            axes.plot(
                *(zip(*points[key], strict=True) if points[key] else ([], [])), mark, color=colour(name), label=told
            )
        axes.set(yscale="log", ylabel="change of the output's activation")
        axes.get_yaxis().set_major_formatter("{x:g}")
        length_axis(axes, lengths)
        figure.legend(loc="outside lower left", ncols=2)

    return Chart("influence of one input against the length", paint)


def cross_entropy_chart(rows: Rows, title: str) -> Chart:
    """Optimum, chance, certified floor and measured cross-entropy; see :func:`influence_chart`."""
    lengths = [int(row["n"]) for row in rows]

    def paint(figure: Any) -> None:
        axes = figure.add_subplot(title=title, ylabel="cross-entropy (bits)")
        for key, name, mark in (("chance", "ink", "--"), ("optimum", "ink", ":"), ("floor", "head", "o-")):
            axes.plot(lengths, [row[key] for row in rows], mark, color=colour(name), label=key)
        margins = [row["margin"] if math.isfinite(row["margin"]) else 0.0 for row in rows]
        measured = [row["measured"] for row in rows]
        axes.errorbar(lengths, measured, yerr=margins, fmt="x", color=colour("fixed"), label="measured")
        length_axis(axes, lengths)
        figure.legend(loc="outside right upper")

    return Chart("cross-entropy against the length", paint)
