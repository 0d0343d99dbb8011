"""Figures of the soft commands (matplotlib, the extra ``report``): influence against n, cross-entropy against n."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from restrict.errors import UsageError
from restrict.soft.cross_entropy import CrossEntropy
from restrict.soft.influence import Influence


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise UsageError("--figure needs matplotlib: pip install 'restrict[report]'") from None
    matplotlib.use("Agg")
    # The same figure gives the same bytes.
    matplotlib.rcParams["svg.hashsalt"] = "restrict"
    from matplotlib import pyplot

    return pyplot


def influence_figure(rows: Sequence[Influence], title: str, path: str) -> None:
    """Draw the bounds and the measured influence, both axes logarithmic, with a line of slope -1.

    Args:
        rows: one entry per length.
        title: the model's name.
        path: the file to write (SVG, PDF or PNG by its ending).

    Raises:
        UsageError: without matplotlib.
    """
    plot = _pyplot()
    figure, axes = plot.subplots(figsize=(6, 4))
    columns = (("closed", "(a) closed form", "^"), ("layerwise", "(b) layer by layer", "s"),
               ("sharp", "(b) propagated sets", "o"), ("measured", "(c) measured", "x"))  # fmt: skip
    for name, label, marker in columns:
        points = [(row.n, getattr(row, name)) for row in rows]
        kept = [(n, v[0]) for n, v in points if v is not None and 0 < v[0] < 1e30]
        if kept:
            axes.plot(*zip(*kept, strict=True), marker=marker, label=label)
    first = next((row for row in rows if row.measured[0] > 0), None)
    if first is not None:
        lengths = [row.n for row in rows]
        axes.plot(lengths, [first.measured[0] * first.n / n for n in lengths], "k:", label="slope -1")
    axes.set(xscale="log", yscale="log", xlabel="n", ylabel="change of the output's activation", title=title[:60])
    _finish(plot, figure, axes, path)


def cross_entropy_figure(rows: Sequence[CrossEntropy], title: str, path: str) -> None:
    """Draw optimum, chance, certified floor and measured cross-entropy; see :func:`influence_figure`."""
    plot = _pyplot()
    figure, axes = plot.subplots(figsize=(6, 4))
    lengths = [row.n for row in rows]
    for name, style in (("chance", "k--"), ("optimum", "k:"), ("floor", "C0o-")):
        axes.plot(lengths, [getattr(row, name) for row in rows], style, label=name)
    margins = [row.margin if math.isfinite(row.margin) else 0.0 for row in rows]
    axes.errorbar(lengths, [row.measured for row in rows], yerr=margins, fmt="C1x", label="measured")
    axes.set(xscale="log", xlabel="n", ylabel="cross-entropy (bits)", title=title[:60])
    _finish(plot, figure, axes, path)


def _finish(plot: Any, figure: Any, axes: Any, path: str) -> None:
    axes.legend(fontsize=8)
    figure.tight_layout()
    try:
        figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot write the figure: {error}") from None
    finally:
        plot.close(figure)
