"""Automata as people draw them: states from left to right by their distance from the start, two rings where they
accept, curved arrows with their symbols beside them. networkx lays out the states (``bfs_layout``). An arrow takes the
flattest arc that keeps clear of other states, whose label keeps clear of states and other labels, and that crosses few
arrows before it; of two arrows there and back, both keep to their right, or both to their left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from restrict.base.wording import counted
from restrict.languages.dfa import Dfa
from restrict.languages.exchange import edges
from restrict.report.drawing import Drawing, Group, Shape

DRAWN = 60
"""Automata of more states are not drawn."""
COLUMN, ROW, RADIUS, RING = 104.0, 92.0, 17.0, 13.0
BENDS = (0.0, 10.0, 16.0, 30.0, 46.0, 64.0, 86.0, 112.0, 142.0, 176.0, 214.0)
CLEAR = RADIUS + 7
OFF = 9.0
"""A label is so far from the arrows beside it, where there is room."""
SAMPLES = 24
CROSSED = 0.25
ROUND = 250.0
"""What a crossing costs, and how round an arc costs 1; a label on a state, or an arrow through one, costs up to 1."""
LABEL = 20
"""An arrow of more characters says how many symbols it stands for."""

Point = tuple[float, float]
Points = npt.NDArray[np.float64]
Curve = tuple[Point, Point, Point, Point]


def draw_dfa(dfa: Dfa) -> Drawing:
    """The drawing of an automaton of at most a few dozen states, all of them reachable. One arrow stands for all
    symbols between two states; its label counts them where they would be long. A state from which no word is accepted
    is left out, with its arrows. The same drawing for the same automaton."""
    dead = dfa.dead or None  # a dead start is the only state
    place = places(dfa, dead)
    arrows, names, drawn = Group(), Group(), _Drawn([], [], {})
    joined = {edge: symbols for edge, symbols in edges(dfa.delta).items() if dead not in edge}
    for (q, to), symbols in sorted(joined.items(), key=lambda item: (abs(item[0][0] - item[0][1]), item)):
        text = " ".join(dfa.alphabet[a] for a in symbols)
        text = text if len(text) <= LABEL else counted(len(symbols), "symbol")
        curve, spot = _arrow(place, (q, to), (to, q) in joined, drawn, len(text))
        arrows.shapes.append(Shape("curve", tuple(x for point in curve for x in point), "arrow"))
        arrows.shapes.append(Shape("path", _tip(curve), "box"))
        names.shapes.append(Shape("text", (spot[0], spot[1] + 4, 11), "label", text, "middle"))
    nodes = Group()
    for q, (x, y) in place.items():
        nodes.shapes.append(Shape("circle", (x, y, RADIUS), "free"))
        if q in dfa.accept:
            nodes.shapes.append(Shape("circle", (x, y, RING), "free"))
        nodes.shapes.append(Shape("text", (x, y + 4, 11), "label", str(q), "middle"))
    x, y = place[0]
    start = ((x - 48, y), (x - 40, y), (x - 30, y), (x - RADIUS - 2, y))
    arrows.shapes.append(Shape("curve", tuple(c for point in start for c in point), "arrow"))
    arrows.shapes.append(Shape("path", _tip(start), "box"))
    return _framed([arrows, nodes, names], f"automaton of {counted(dfa.states, 'state')}")


def places(dfa: Dfa, dead: int | None) -> dict[int, Point]:
    """The centre of each state but the dead one: columns by the distance from the start, one below the other."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(q for q in range(dfa.states) if q != dead)
    graph.add_edges_from(edge for edge in sorted(edges(dfa.delta)) if dead not in edge)
    layout = nx.bfs_layout(graph, 0, align="vertical")
    columns: dict[float, list[int]] = {}
    for q in sorted(layout, key=lambda q: (layout[q][0], layout[q][1])):
        columns.setdefault(round(float(layout[q][0]), 6), []).append(q)
    out = {}
    for k, column in enumerate(columns[x] for x in sorted(columns)):
        for row, q in enumerate(column):
            out[q] = (COLUMN * k, ROW * (row - (len(column) - 1) / 2))
    return out


class _Drawn(NamedTuple):
    """What arrows must keep clear of: labels, points of arrows, and the side that an arrow keeps to."""

    labels: list[Point]
    lines: list[Points]
    sides: dict[tuple[int, int], float]


def _arrow(
    place: dict[int, Point], edge: tuple[int, int], back: bool, drawn: _Drawn, letters: int
) -> tuple[Curve, Point]:
    """The first of the best candidates, and where its label stands; noted in ``drawn``."""
    (q, to), others = edge, [point for state, point in place.items() if state not in edge]
    side = drawn.sides.get((to, q), 0.0) if back else 0.0
    before = np.concatenate(drawn.lines) if drawn.lines else np.zeros((0, 4))
    best: tuple[float, Curve, Point, float] | None = None
    for curve, spot, kept in _loops(place[q], letters) if q == to else _arcs(place[q], place[to], back, letters):
        if side * kept < 0:
            continue
        points = _samples(curve)
        near = _nearest(points, others, CLEAR)
        room = min((_apart(spot, other, letters, 16.0) for other in place.values()), default=1.0)
        free = min((_apart(spot, other, letters, 12.0) for other in drawn.labels), default=1.0)
        beside = min(_nearest(points, drawn.labels, OFF), _nearest([spot], before[:, :2], OFF))
        score = min(near / CLEAR, 1.0) + min(room, 1.0) + min(free, 1.0) + min(beside / OFF, 1.0)
        score -= CROSSED * _crossings(_steps(points), before)
        score -= abs(kept) * math.dist(_at(curve, 0.5), _at((place[q], place[q], place[to], place[to]), 0.5)) / ROUND
        if best is None or score > best[0] + 1e-9:
            best = score, curve, spot, kept
    assert best is not None
    drawn.labels.append(best[2])
    drawn.lines.append(_steps(_samples(best[1])))
    drawn.sides[edge] = best[3]
    return best[1], best[2]


def _nearest(points: Sequence[Point], others: Sequence[Point] | Points, most: float) -> float:
    """The least distance between two points of two lists, ``most`` where one is empty or all are further."""
    a, b = np.array(points).reshape(-1, 1, 2), np.array(others).reshape(1, -1, 2)
    return float(np.hypot(*np.moveaxis(a - b, 2, 0)).min(initial=most))


def _steps(points: list[Point]) -> Points:
    """Every third point of a curve joined to the next one: shape ``(steps, 4)``."""
    kept = np.array(points[::3])
    return np.concatenate([kept[:-1], kept[1:]], axis=1)


def _crossings(a: Points, b: Points) -> int:
    """How many steps of two curves cross."""

    def side(p: Points, q: Points, r: Points) -> Points:
        turned: Points = (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (
            r[..., 0] - p[..., 0]
        )
        return turned

    p, q, r, s = a[:, None, :2], a[:, None, 2:], b[None, :, :2], b[None, :, 2:]
    apart = (side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0)
    return int(apart.sum())


def _apart(spot: Point, other: Point, letters: int, height: float) -> float:
    """How far a label is from a point, 1 where it is clear; labels are wider than high."""
    return max(abs(spot[0] - other[0]) / (12 + 3.2 * letters), abs(spot[1] - other[1]) / height)


def _arcs(a: Point, b: Point, back: bool, letters: int) -> Iterator[tuple[Curve, Point, float]]:
    """Arcs from flat to round, on the right of the way first; straight only where nothing comes back. With the side."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    far = math.hypot(dx, dy)
    ux, uy = dx / far, dy / far
    for bend in BENDS:
        for side in (1.0, -1.0) if bend else (1.0,):
            if bend == 0 and back:
                continue
            shift = side * bend * 4 / 3
            lean = max(far / 3, RADIUS + 10)
            first = (a[0] + ux * lean + uy * shift, a[1] + uy * lean - ux * shift)
            second = (b[0] - ux * lean + uy * shift, b[1] - uy * lean - ux * shift)
            start, end = _toward(a, first, RADIUS), _toward(b, second, RADIUS + 2)
            curve = (start, first, second, end)
            away = 9 + abs(uy) * 3 * letters
            for where in (0.5, 0.33):  # the label in the middle, or nearer to where the arrow begins
                x, y = _at(curve, where)
                yield curve, (x + side * uy * away, y - side * ux * 9), side


def _loops(a: Point, letters: int) -> Iterator[tuple[Curve, Point, float]]:
    """Loops above, below, and at the sides of a state."""
    for angle in (-90, 90, -45, -135, 45, 135, 0, 180):
        turn = math.radians(angle)
        points = [
            (a[0] + far * math.cos(turn + s), a[1] + far * math.sin(turn + s))
            for far, s in ((RADIUS, -0.5), (RADIUS + 34, -0.45), (RADIUS + 34, 0.45), (RADIUS + 2, 0.5))
        ]
        far = RADIUS + 35 + abs(math.cos(turn)) * 3 * letters
        spot = a[0] + far * math.cos(turn), a[1] + far * math.sin(turn)
        yield (points[0], points[1], points[2], points[3]), spot, 0.0


def _at(curve: Curve, t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    return (
        sum(w * p[0] for w, p in zip(weights, curve, strict=True)),
        sum(w * p[1] for w, p in zip(weights, curve, strict=True)),
    )


def _samples(curve: Curve) -> list[Point]:
    return [_at(curve, k / SAMPLES) for k in range(SAMPLES + 1)]


def _toward(a: Point, b: Point, distance: float) -> Point:
    """A point at a distance from ``a`` on the way to ``b``."""
    far = math.dist(a, b) or 1.0
    return a[0] + distance * (b[0] - a[0]) / far, a[1] + distance * (b[1] - a[1]) / far


def _tip(curve: Curve) -> tuple[float, ...]:
    """The head of an arrow: a triangle at the end of its curve."""
    (x, y), (u, v) = _at(curve, 0.9), curve[3]
    far = math.hypot(u - x, v - y) or 1.0
    ux, uy = (u - x) / far, (v - y) / far
    return (u, v, u - 8 * ux + 3.5 * uy, v - 8 * uy - 3.5 * ux, u - 8 * ux - 3.5 * uy, v - 8 * uy + 3.5 * ux)


def _framed(groups: list[Group], title: str) -> Drawing:
    """The groups moved so that all of them are on the paper, with a margin."""
    xs, ys = list[float](), list[float]()
    for shape in (shape for group in groups for shape in group.shapes):
        if shape.kind == "curve":
            a = shape.at
            sampled = _samples(((a[0], a[1]), (a[2], a[3]), (a[4], a[5]), (a[6], a[7])))
            xs += [x for x, _ in sampled]
            ys += [y for _, y in sampled]
        else:
            wide = RADIUS if shape.kind == "circle" else 3.4 * len(shape.text)
            xs += [shape.at[0] - wide, shape.at[0] + wide]
            ys += [shape.at[1] - RADIUS, shape.at[1] + RADIUS]
    left, top = min(xs) - 12, min(ys) - 8
    drawing = Drawing(max(xs) - left + 12, max(ys) - top + 8, title)
    for group in groups:
        moved = drawing.group()
        moved.shapes += [shape.moved(-left, -top) for shape in group.shapes]
    return drawing
