"""Figures of the soft commands (matplotlib, the extra ``report``): influence against n, cross-entropy against n."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from restrict.base.errors import UsageError
from restrict.base.wording import install
from restrict.soft.influence.cross_entropy import CrossEntropy
from restrict.soft.influence.influence import Influence

COLUMNS = (
    ("closed", "(a) closed form", "C3^-"),
    ("layerwise", "(b) layer by layer", "C1s-"),
    ("sharp", "(b) propagated sets", "C0o-"),
    ("measured", "(c) measured", "kx-"),
)
"""What is drawn, and how; a column has the same colour in every figure."""
GREATEST = 1e30
"""A bound above this is not drawn; the legend says so."""
MAX_TICKS = 12


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise UsageError(f"--figure needs matplotlib: {install('report')}") from None
    matplotlib.use("Agg")
    # The same figure gives the same bytes.
    matplotlib.rcParams["svg.hashsalt"] = "restrict"
    from matplotlib import pyplot

    return pyplot


def influence_figure(rows: Sequence[Influence], title: str, path: str) -> None:
    """Draw the bounds and the measured influence, both axes logarithmic, with a line of slope -1.

    ``path``: the file to write (SVG, PDF or PNG by its ending).
    """
    plot = _pyplot()
    figure, axes = plot.subplots(figsize=(6, 4))
    lengths = [row.n for row in rows]
    first = next((row for row in rows if row.measured[0] > 0), None)
    if first is not None:
        steady = [first.measured[0] * first.n / n for n in lengths]
        axes.plot(lengths, steady, color="0.7", linewidth=4, label="1/n, through the first measured")
    for name, label, style in COLUMNS:
        points = [(row.n, getattr(row, name)) for row in rows]
        kept = [(n, v[0]) for n, v in points if v is not None and 0 < v[0] < GREATEST]
        if kept:
            axes.plot(*zip(*kept, strict=True), style, label=label)
        if len(kept) < len(points):
            axes.plot([], [], style, label=f"{label}: {len(points) - len(kept)} of {len(points)} not drawn")
    axes.set(yscale="log", ylabel="change of the output's activation")
    _finish(plot, figure, axes, lengths, title, path)


def cross_entropy_figure(rows: Sequence[CrossEntropy], title: str, path: str) -> None:
    """Draw optimum, chance, certified floor and measured cross-entropy; see :func:`influence_figure`."""
    plot = _pyplot()
    figure, axes = plot.subplots(figsize=(6, 4))
    lengths = [row.n for row in rows]
    for name, style in (("chance", "k--"), ("optimum", "k:"), ("floor", "C0o-")):
        axes.plot(lengths, [getattr(row, name) for row in rows], style, label=name)
    margins = [row.margin if math.isfinite(row.margin) else 0.0 for row in rows]
    axes.errorbar(lengths, [row.measured for row in rows], yerr=margins, fmt="C1x", label="measured")
    axes.set(ylabel="cross-entropy (bits)")
    _finish(plot, figure, axes, lengths, title, path)


def _finish(plot: Any, figure: Any, axes: Any, lengths: Sequence[int], title: str, path: str) -> None:
    """Lengths as ticks, the title in as many lines as it needs, and the file."""
    axes.set(xscale="log", xlabel="n")
    axes.set_xticks(lengths if len(lengths) <= MAX_TICKS else lengths[:: -(-len(lengths) // MAX_TICKS)])
    axes.get_xaxis().set_major_formatter("{x:.0f}")
    axes.minorticks_off()
    axes.set_title("\n".join(textwrap.wrap(title.replace(",", ", "), 70)[:3]), fontsize=9)
    axes.legend(fontsize=8)
    figure.tight_layout()
    try:
        figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot write the figure: {error}") from None
    finally:
        plot.close(figure)
