"""The drawing of a certificate in the manner of Hahn (2020), Figures 1 and 2: inputs below, layers above them, what a
head can attend to after the restriction solid, and before it dashed."""

from dataclasses import dataclass

from restrict.report.drawing import Drawing, Group, Shape
from restrict.report.picture import Links, Picture, Spot

LEFT, RIGHT, TOP, BOTTOM = 118.0, 16.0, 16.0, 34.0
MOST_LINES = 150
"""Lines of attention under the restriction that are drawn, at most; where there are more, none is: a page shows those
of the node that its reader points at, and the totals."""
FEW = 16
"""Positions up to which all lines are drawn."""
SINGLE = 24
"""A run of up to so many links gets a line for each; a longer one is drawn as a fan."""


@dataclass(frozen=True)
class Layout:
    """Where rows and cells are: ``dx`` points for a cell, ``dy`` for a row."""

    rows: int
    cells: int
    dx: float
    dy: float

    def x(self, cell: float) -> float:
        """The middle of a cell."""
        return LEFT + (cell + 0.5) * self.dx

    def y(self, row: int) -> float:
        """The middle of a row; row 0, the inputs, is the lowest."""
        return TOP + (self.rows - 0.5 - row) * self.dy

    @property
    def width(self) -> float:
        """The width of the whole drawing."""
        return LEFT + self.cells * self.dx + RIGHT

    @property
    def height(self) -> float:
        """The height of the whole drawing."""
        return TOP + self.rows * self.dy + BOTTOM

    @property
    def radius(self) -> float:
        """The radius of a spot."""
        return min(8.0, 0.42 * self.dx)


def layout_of(picture: Picture) -> Layout:
    """A layout for a drawing. Result: wide cells where they are few, a row's height by the number of rows."""
    cells, rows = picture.axis.cells, len(picture.tracks)
    dx = max(5.0, min(60.0, 1000.0 / cells))
    return Layout(rows, cells, dx, 62.0 if rows <= 8 else 44.0 if rows <= 16 else 30.0)


def scene(picture: Picture, title: str) -> Drawing:
    """Draw a certificate: groups of the roles ``row``, ``before`` (with nothing fixed), ``after`` and ``reads``, the
    layer as step; a spot's key is its number in the order of rows and spots. Linear in what is drawn."""
    at = layout_of(picture)
    drawing = Drawing(at.width, at.height, title)
    edges = {
        role: {layer: Group(role, layer) for layer in range(picture.layers + 1)}
        for role in ("before", "after", "reads")
    }
    rows = [Group("row", track.layer) for track in picture.tracks]
    lines = not crowded(picture)
    key = 0
    for row, track in enumerate(picture.tracks):
        _name(rows[row], at, row, track.name, track.layer, picture.tracks[row - 1].layer if row else -1)
        for spot in track.spots:
            here = at.x(spot.cell), at.y(row)
            rows[row].shapes.append(_spot(at, spot, here, key, at.cells < picture.axis.n))
            if spot.text and len(spot.text) * 7 < at.dx:
                rows[row].shapes.append(Shape("text", (here[0], here[1] + 3.6, 10), "onfixed", spot.text, "middle"))
            key += 1
            if spot.look == "unexamined":
                continue
            if not lines:
                continue
            edges["before"][track.layer].shapes += _links(at, here, spot.before, "dashed")
            edges["after"][track.layer].shapes += _links(at, here, spot.after, "solid")
            for below in spot.reads if at.cells <= 64 else ():
                edges["reads"][track.layer].shapes.append(
                    Shape("line", (*here, at.x(spot.cell), at.y(below)), "skip" if below else "skipdash")
                )
    drawing.groups = [g for role in ("before", "reads", "after") for g in edges[role].values() if g.shapes] + rows
    _ruler(drawing.group("ruler"), at, picture.axis.n)
    return drawing


def crowded(picture: Picture) -> bool:
    """Whether there are too many lines for a drawing of all of them."""
    fans = (
        count if count <= SINGLE else 1
        for track in picture.tracks
        for spot in track.spots
        for _, _, count in spot.after
    )
    return picture.axis.n > FEW and sum(fans) > MOST_LINES


def _name(group: Group, at: Layout, row: int, name: str, layer: int, below: int) -> None:
    """The name of a row, and of its layer where that is a new one."""
    y = at.y(row)
    short = name if len(name) <= 15 else f"{name[:14]}…"
    group.shapes.append(Shape("text", (LEFT - 10, y + 3, 10.5), "label", short, "end"))
    if layer != below and layer:
        group.shapes.append(Shape("text", (4, y + 3, 8.5), "quiet", f"layer {layer}" if at.dy > 40 else str(layer)))


def _spot(at: Layout, spot: Spot, here: tuple[float, float], key: int, aggregated: bool) -> Shape:
    x, y = here
    r = at.radius
    if aggregated:
        return Shape("rect", (x - at.dx * 0.48, y - 7, at.dx * 0.96, 14), spot.look, key=key)
    if spot.look in ("free", "fixed", "pinned", "needed"):
        return Shape("rect", (x - r, y - r, 2 * r, 2 * r), spot.look, key=key)
    return Shape("circle", (x, y, r if spot.look != "unexamined" else r * 0.45), spot.look, key=key)


def _links(at: Layout, here: tuple[float, float], links: Links, look: str) -> list[Shape]:
    """Lines to single cells, fans to longer runs of cells."""
    out = []
    x, y = here
    for row, first, count in links:
        below = at.y(row) - at.radius * 0.6
        if count <= SINGLE:
            out += [Shape("line", (x, y, at.x(cell), below), look) for cell in range(first, first + count)]
        else:
            ends = (at.x(first), below, at.x(first + count - 1), below)
            out.append(Shape("path", (x, y, *ends), "fan" if look == "dashed" else look))
    return out


def _ruler(group: Group, at: Layout, n: int) -> None:
    """Positions below the inputs."""
    y = at.y(0) + at.radius + 16
    step = max(1, round(at.cells / max(1, min(at.cells, at.cells * at.dx / 48))))
    for cell in range(0, at.cells, step):
        position = -(-cell * n // at.cells)
        group.shapes.append(Shape("text", (at.x(cell), y, 9), "quiet", str(position), "middle"))
