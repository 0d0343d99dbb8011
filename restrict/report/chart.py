"""Charts by matplotlib, in the colours of the drawings: the same bytes for the same chart. On a page the colours are
those of the reader's light or dark setting: matplotlib writes the light ones, and each is replaced by the variable that
the page's style sheet gives both."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from restrict.base.groups import quartiles
from restrict.certificate.certificate import Certificate
from restrict.report.drawing import CHARTS, COLOURS, Paint, painted, save

SERIES = ("head", "fixed", "forced", "first", "needed", "second")
"""Colours of several curves or bars, in turn."""
WIDE, HIGH = 860.0, 330.0
"""Points of a chart that fills a page's width."""
MOST_SERIES = 12
"""Curves of one chart; the rest is in the table."""
MOST_TICKS = 12
APART = 0.02
"""How far curves stand beside each other, as a share of the length, so that none hides another."""


@dataclass(frozen=True)
class Chart:
    """A chart of ``width`` by ``height`` points: ``paint`` draws it on a figure of matplotlib."""

    title: str
    paint: Paint
    width: float = WIDE
    height: float = HIGH

    def svg(self, alone: bool = True) -> str:
        """The chart as SVG text; ``alone``: with the light colours inside, for a file."""
        text = self.written("svg").decode()
        text = _own_names(text[text.index("<svg") :], "" if alone else self.title)
        title = f"<title>{escape(self.title)}</title>"
        if alone:
            return re.sub(r"(<svg[^>]*>)", lambda found: f"{found[1]}{title}", text, count=1)
        for name, (light, _) in COLOURS.items():
            text = text.replace(light, f"var(--{name})") if name != "none" else text
        head = f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img">{title}'
        return re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)

    def save(self, path: Path) -> None:
        """Write the chart as SVG, PDF or PNG, by the name's ending; ``UsageError``: another one, or not written."""
        save(self, path, CHARTS)

    def written(self, kind: str) -> bytes:
        """The bytes of a file that matplotlib writes."""
        ink, grey, faint = (COLOURS[name][0] for name in ("ink", "grey", "faint"))
        settings: dict[Any, Any] = {
            "svg.fonttype": "none", "font.size": 10, "text.color": ink, "axes.labelcolor": ink, "axes.edgecolor": grey,
            "xtick.color": grey, "ytick.color": grey, "grid.color": faint, "axes.titlesize": 10,
            "axes.titlelocation": "left", "legend.frameon": False, "axes.spines.top": False,
            "axes.spines.right": False, "text.parse_math": False, "path.simplify": False,
        }  # fmt: skip
        return painted(self.paint, self.width, self.height, kind, settings)


def _own_names(text: str, title: str) -> str:
    """The chart with names that no other one on a page has (``title``; empty for a file of its own): matplotlib gives
    the same to the ticks and clips of all, and what refers to a name finds the first of the page. Names to which
    nothing refers are left out. The others are numbered: matplotlib's digest even the last bit of a place, in which the
    layout of two runs may differ."""
    used = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]*)', text))
    numbers = {name: str(at) for at, name in enumerate(used)}
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{numbers[m[1]]}"' if m[1] in used else "", text)
    text = re.sub(r'(href="#|url\(#)([^")]*)', lambda m: m[1] + numbers[m[2]], text)
    mark = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:8] if title else "at"
    return re.sub(r'( id="|href="#|url\(#)(?=\d+["\)])', rf"\g<1>{mark}-", text)


def colour(name: str) -> str:
    """A colour on light paper."""
    return COLOURS[name][0]


def by_length(title: str, series: dict[str, list[tuple[int, float]]], what: str) -> Chart:
    """Values against the length, a curve through the medians for each name; where there is one length, bars.
    ``series``: (length, value) pairs by name, several for one length where rows differ in their seed. Lines from the
    lower to the upper quartile stand at each median. ``what``: the values, in words."""
    shown = dict(list(series.items())[:MOST_SERIES])
    lengths = sorted({n for pairs in shown.values() for n, _ in pairs})

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        for at, (name, pairs) in enumerate(shown.items()):
            own = sorted({n for n, _ in pairs})
            low, middle, high = zip(*(quartiles(v for m, v in pairs if m == n) or () for n in own), strict=True)
            bars = [
                [m - a for m, a in zip(middle, low, strict=True)],
                [b - m for m, b in zip(middle, high, strict=True)],
            ]
            look = {"color": colour(SERIES[at % len(SERIES)]), "label": name}
            if len(lengths) == 1:
                axes.bar([at], middle, yerr=bars, width=0.7, ecolor=colour("grey"), **look)
            else:
                beside = [n * (1 + APART * (at - (len(shown) - 1) / 2)) for n in own]
                axes.errorbar(
                    beside, middle, yerr=bars, marker="o", linestyle="-" if at < len(SERIES) else "--", **look
                )
        axes.set(ylabel=what, axisbelow=True)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        if len(lengths) == 1:
            axes.set(xticks=[], xlabel=f"n = {lengths[0]}")
        else:
            length_axis(axes, lengths)
        if len(shown) > 1 or "" not in shown:
            figure.legend(loc="outside right upper")

    return Chart(title, paint)


def length_axis(axes: Any, lengths: Sequence[int]) -> None:
    """A logarithmic axis of lengths, with the lengths themselves as ticks."""
    axes.set(xscale="log", xlabel="length n")
    axes.set_xticks(lengths if len(lengths) <= MOST_TICKS else lengths[:: -(-len(lengths) // MOST_TICKS)])
    axes.get_xaxis().set_major_formatter("{x:.0f}")
    axes.minorticks_off()


def front_chart(points: Sequence[Certificate]) -> Chart:
    """The steps of a front: ``c`` against the free positions."""

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.step([p.free for p in points], [p.c for p in points], where="pre", marker="o", color=colour("head"))
        axes.set(xlabel="free positions", ylabel="c: certified bound on dependencies")
        axes.grid(True)

    return Chart(f"{points[0].model_name[:50]}, n = {points[0].n}: c against the free positions", paint)
