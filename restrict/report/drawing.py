"""Vector drawings as data, written as SVG by hand and as PDF by matplotlib: the same bytes for the same drawing. A
drawing is a list of groups of shapes. A shape has a *look*, a name of :data:`LOOKS`, so that a report can colour it for
light and dark screens by style sheet, while a figure for a paper carries the light colours in itself."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from restrict.base.errors import UsageError
from restrict.base.files import write_bytes

COLOURS: dict[str, tuple[str, str]] = {
    "none": ("none", "none"),
    "paper": ("#ffffff", "#12181f"),
    "ink": ("#1c2733", "#e4ebf2"),
    "faint": ("#c3ccd6", "#3d4955"),
    "grey": ("#66727f", "#9aa7b4"),
    "fixed": ("#d9822b", "#e8973f"),
    "head": ("#2b6cb0", "#66a9ee"),
    "forced": ("#2f855a", "#4cbb83"),
    "needed": ("#c53030", "#ff7b72"),
    "first": ("#6b46c1", "#a98af0"),
    "second": ("#b7791f", "#e0b040"),
}
"""Each colour on light and on dark paper."""


class Look(NamedTuple):
    """How a shape is drawn: names of colours, the width of its line, and the lengths of its dashes."""

    fill: str
    stroke: str
    width: float = 1.0
    dash: tuple[float, ...] = ()


LOOKS: dict[str, Look] = {
    "free": Look("paper", "grey"),
    "fixed": Look("fixed", "fixed"),
    "pinned": Look("faint", "grey"),
    "needed": Look("paper", "needed", 2.0),
    "unexamined": Look("none", "faint"),
    "open": Look("paper", "head"),
    "reduced": Look("head", "head"),
    "forced": Look("forced", "forced"),
    "solid": Look("none", "head", 1.1),
    "dashed": Look("none", "grey", 0.8, (3.0, 3.0)),
    "skip": Look("none", "faint", 0.8),
    "skipdash": Look("none", "grey", 0.8, (1.5, 2.5)),
    "fan": Look("none", "grey", 0.7, (3.0, 3.0)),
    "first": Look("first", "first"),
    "second": Look("second", "second"),
    "firstline": Look("none", "first", 2.4),
    "secondline": Look("none", "second", 2.4),
    "box": Look("faint", "grey"),
    "label": Look("ink", "none"),
    "quiet": Look("grey", "none"),
    "onfixed": Look("paper", "none"),
    "arrow": Look("none", "grey", 1.2),
    "accepting": Look("paper", "forced", 2.0),
    **{f"rank{r}": Look("none", "head", width) for r, width in enumerate((4.5, 3.4, 2.5, 1.8, 1.2, 0.7))},
}
FIGURES, CHARTS = (".svg", ".pdf"), (".svg", ".pdf", ".png")
"""The endings of a figure's file, and of a chart's."""
Paint = Callable[[Any], None]
Kind = Literal["line", "rect", "circle", "text", "path", "curve"]


@dataclass(frozen=True)
class Shape:
    """One shape.

    Attributes:
        kind: ``line`` (x1, y1, x2, y2), ``rect`` (x, y, width, height), ``circle`` (x, y, radius), ``text`` (x, y,
            size), ``path`` (x, y of its points, closed) or ``curve`` (x, y of the four points of a cubic Bezier curve).
        at: these numbers, in points from the left and from the top.
        look: a name of :data:`LOOKS`.
        text: what a text says; for other shapes nothing.
        anchor: where a text stands: ``start``, ``middle`` or ``end``.
        key: the number of what it shows, which a page looks up; -1: nothing.
    """

    kind: Kind
    at: tuple[float, ...]
    look: str
    text: str = ""
    anchor: str = "start"
    key: int = -1

    def moved(self, right: float, down: float) -> "Shape":
        """The shape elsewhere."""
        points = len(self.at) if self.kind in ("line", "path", "curve") else 2
        at = [x + (down if k % 2 else right) if k < points else x for k, x in enumerate(self.at)]
        return replace(self, at=tuple(at))


@dataclass
class Group:
    """Shapes that are shown or hidden together; ``role`` and ``step`` say when."""

    role: str = ""
    step: int = 0
    shapes: list[Shape] = field(default_factory=list)


@dataclass
class Drawing:
    """A drawing of ``width`` by ``height`` points; ``title`` is what a screen reader says."""

    width: float
    height: float
    title: str
    groups: list[Group] = field(default_factory=list)

    def group(self, role: str = "", step: int = 0) -> Group:
        """A new group, drawn above those before it. ``step``: the layer or stage that it belongs to."""
        self.groups.append(Group(role, step))
        return self.groups[-1]

    def svg(self, alone: bool = True) -> str:
        """As SVG text; ``alone``: with the light colours inside, for a file; a page has the style."""
        w, h = number(self.width), number(self.height)
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" role="img" '
            f'font-family="DejaVu Sans, Verdana, sans-serif"><title>{escape(self.title)}</title>'
        ]
        if alone:
            used = sorted({shape.look for group in self.groups for shape in group.shapes})
            out.append(f"<style>{''.join(style(name, False) for name in used)}</style>")
            out.append(f'<rect width="{w}" height="{h}" fill="#ffffff"/>')
        for group in self.groups:
            role = f' data-role="{escape(group.role)}" data-step="{group.step}"' if group.role else ""
            out.append(f"<g{role}>{''.join(_element(shape) for shape in group.shapes)}</g>")
        return "\n".join([*out, "</svg>", ""])

    def written(self, kind: str) -> bytes:
        """As a file of matplotlib."""
        return painted(self._paint, self.width, self.height, kind)

    def _paint(self, figure: Any) -> None:
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, self.width), ylim=(self.height, 0))
        axes.axis("off")
        for order, shape in enumerate(shape for group in self.groups for shape in group.shapes):
            _patch(axes, shape, order)


def painted(paint: Paint, width: float, height: float, kind: str, look: Mapping[Any, Any] | None = None) -> bytes:
    """A figure of matplotlib in one of its formats, without a date, so that its bytes are stable. ``look``:
    more settings of matplotlib."""
    import matplotlib
    from matplotlib.figure import Figure

    dated = {"svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
             "pdf": {"CreationDate": None, "Producer": None, "Creator": "restrict"}}  # fmt: skip
    settings: dict[Any, Any] = {"pdf.fonttype": 42, "svg.hashsalt": "restrict", "font.family": "DejaVu Sans"}
    buffer = io.BytesIO()
    with matplotlib.rc_context(settings | dict(look or {})):
        figure = Figure(figsize=(width / 72, height / 72), layout=None if look is None else "constrained")
        paint(figure)
        figure.savefig(buffer, format=kind, metadata=dated.get(kind), transparent=kind == "svg")
    return buffer.getvalue()


def number(x: float) -> str:
    """A coordinate: one digit behind the point, none where that is 0."""
    return f"{x:.1f}".removesuffix(".0").replace("-0", "0", 1) if -0.05 < x < 0 else f"{x:.1f}".removesuffix(".0")


ELEMENTS = {
    "line": '<path d="M{} {}L{} {}"', "curve": '<path d="M{} {}C{} {} {} {} {} {}"',
    "rect": '<rect x="{}" y="{}" width="{}" height="{}"', "circle": '<circle cx="{}" cy="{}" r="{}"',
    "text": '<text x="{}" y="{}" font-size="{}"',
}  # fmt: skip
"""How the elements of shapes begin in SVG; a path has any number of points."""


def _element(shape: Shape) -> str:
    start = ELEMENTS.get(shape.kind) or f'<path d="M{"L".join(["{} {}"] * (len(shape.at) // 2))}z"'
    key = f' data-k="{shape.key}"' if shape.key >= 0 else ""
    tail = f' class="{shape.look}"{key}'
    if shape.kind == "text":
        anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
        tail = f"{anchor}{tail}>{escape(shape.text)}</text"
    return f"{start.format(*map(number, shape.at))}{tail}{'' if shape.kind == 'text' else '/'}>"


def style(name: str, variable: bool) -> str:
    """The style rule of a look."""
    look = LOOKS[name]

    def colour(of: str) -> str:
        return "none" if of == "none" else f"var(--{of})" if variable else COLOURS[of][0]

    parts = [f"fill:{colour(look.fill)}", f"stroke:{colour(look.stroke)}"]
    if look.stroke != "none":
        parts.append(f"stroke-width:{number(look.width)}")
    if look.dash:
        parts.append(f"stroke-dasharray:{' '.join(map(number, look.dash))}")
    return f".{name}{{{';'.join(parts)}}}"


# ---------------------------------------------------------------- files


class Drawn(Protocol):
    """What a report shows and ``--figure`` writes: a drawing, or a chart."""

    @property
    def title(self) -> str:
        """What a screen reader says."""

    @property
    def width(self) -> float:
        """The width, in points."""

    def svg(self, alone: bool = True) -> str:
        """As SVG text; ``alone``: with the light colours inside, for a file; a page has the style."""

    def written(self, kind: str) -> bytes:
        """As a file of a kind that matplotlib writes."""


def save(drawing: Drawn, path: str | Path, kinds: Sequence[str] = FIGURES) -> None:
    """Write a drawing by the name's ending, over what is there; the same bytes for the same drawing."""
    kind = check_ending(Path(path), kinds)
    write_bytes(Path(path), drawing.svg().encode() if kind == ".svg" else drawing.written(kind[1:]))


def check_ending(path: Path, kinds: Sequence[str] = FIGURES) -> str:
    """The ending of a figure's file; another than ``kinds`` is refused, before the work starts."""
    kind = path.suffix.lower()
    if kind not in kinds:
        *more, last = kinds
        raise UsageError(f"{path}: a figure is an {', a '.join(more)} or a {last} file; change the ending")
    return kind


def _patch(to: Any, shape: Shape, order: int) -> None:
    from matplotlib import patches, path

    look = LOOKS[shape.look]
    fill, stroke = COLOURS[look.fill][0], COLOURS[look.stroke][0]
    if shape.kind == "text":
        x, y, size = shape.at
        side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        to.text(x, y, shape.text.replace("$", r"\$"), fontsize=size, color=fill, ha=side, va="baseline", zorder=order)
        return
    kind: Any = {
        "facecolor": fill, "edgecolor": stroke, "linewidth": look.width if look.stroke != "none" else 0,
        "linestyle": (0, look.dash) if look.dash else "solid", "zorder": order,
    }  # fmt: skip
    a = shape.at
    if shape.kind == "rect":
        to.add_patch(patches.Rectangle((a[0], a[1]), a[2], a[3], **kind))
    elif shape.kind == "circle":
        to.add_patch(patches.Circle((a[0], a[1]), a[2], **kind))
    elif shape.kind == "curve":
        line = path.Path(list(zip(a[::2], a[1::2], strict=True)), [path.Path.MOVETO, *[path.Path.CURVE4] * 3])
        to.add_patch(patches.PathPatch(line, **kind))
    else:
        points = list(zip(a[::2], a[1::2], strict=True))
        to.add_patch(patches.Polygon(points, closed=shape.kind == "path", **kind))
