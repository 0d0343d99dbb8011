"""Automata as people draw them: states from left to right by their distance from the start, two rings where they
accept, curved arrows with their symbols beside them. networkx lays out the states (``bfs_layout``). An arrow takes the
flattest arc that keeps clear of other states, whose label keeps clear of states and other labels, and that crosses few
arrows before it; of two arrows there and back, both keep to their right, or both to their left. A point of the plane
is a complex number."""

import cmath
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from restrict.base.arrays import F64
from restrict.base.wording import counted
from restrict.languages.dfa import Dfa
from restrict.languages.export import edges
from restrict.report.drawing import Drawing, Group, Shape

DRAWN = 60
"""Automata of more states are not drawn."""
COLUMN, ROW, RADIUS, RING = 104.0, 92.0, 17.0, 13.0
BENDS = (0.0, 10.0, 16.0, 30.0, 46.0, 64.0, 86.0, 112.0, 142.0, 176.0, 214.0)
CLEAR = RADIUS + 7
OFF = 9.0
"""A label is so far from the arrows beside it, where there is room."""
STEPS = np.linspace(0, 1, 25)
CROSSED = 0.25
ROUND = 250.0
"""What a crossing costs, and how round an arc costs 1; a label on a state, or an arrow through one, costs up to 1."""
LABEL = 20
"""An arrow of more characters says how many symbols it stands for."""

Points = npt.NDArray[np.complex128]
"""A curve is its four control points."""
Candidate = tuple[Points, complex, float]
"""A curve, where its label stands, and the side that it keeps to."""


def draw_dfa(dfa: Dfa) -> Drawing:
    """The drawing of an automaton of at most a few dozen states, all of them reachable. One arrow stands for all
    symbols between two states; its label counts them where they would be long. A state from which no word is accepted
    is left out, with its arrows. The same drawing for the same automaton."""
    dead = dfa.dead or None  # a dead start is the only state
    place = places(dfa, dead)
    arrows, names, nodes, drawn = Group(), Group(), Group(), _Drawn([], [], {})
    joined = {edge: symbols for edge, symbols in edges(dfa.delta).items() if dead not in edge}
    for (q, to), symbols in sorted(joined.items(), key=lambda item: (abs(item[0][0] - item[0][1]), item)):
        text = " ".join(dfa.alphabet[a] for a in symbols)
        text = text if len(text) <= LABEL else counted(len(symbols), "symbol")
        curve, spot = _arrow(place, (q, to), (to, q) in joined, drawn, len(text))
        arrows.shapes += _pointed(curve)
        names.shapes.append(Shape("text", (spot.real, spot.imag + 4, 11), "label", text, "middle"))
    for q, at in place.items():
        for radius in (RADIUS, RING) if q in dfa.accept else (RADIUS,):
            nodes.shapes.append(Shape("circle", (at.real, at.imag, radius), "free"))
        nodes.shapes.append(Shape("text", (at.real, at.imag + 4, 11), "label", str(q), "middle"))
    arrows.shapes += _pointed(place[0] - np.array([48, 40, 30, RADIUS + 2], dtype=np.complex128))
    return _framed([arrows, nodes, names], f"automaton of {counted(dfa.states, 'state')}")


def places(dfa: Dfa, dead: int | None) -> dict[int, complex]:
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
            out[q] = complex(COLUMN * k, ROW * (row - (len(column) - 1) / 2))
    return out


class _Drawn(NamedTuple):
    """What arrows must keep clear of: labels, points of arrows, and the side that an arrow keeps to."""

    labels: list[complex]
    lines: list[Points]
    sides: dict[tuple[int, int], float]


def _arrow(
    place: dict[int, complex], edge: tuple[int, int], back: bool, drawn: _Drawn, letters: int
) -> tuple[Points, complex]:
    """The first of the best candidates, and where its label stands; noted in ``drawn``."""
    (q, to), others = edge, [point for state, point in place.items() if state not in edge]
    side = drawn.sides.get((to, q), 0.0) if back else 0.0
    before = np.concatenate([np.zeros((2, 0), np.complex128), *drawn.lines], axis=1)
    best: tuple[float, Candidate] | None = None
    for curve, spot, kept in _loops(place[q], letters) if q == to else _arcs(place[q], place[to], back, letters):
        if side * kept < 0:
            continue
        points = _samples(curve)
        beside = min(_nearest(points, drawn.labels, OFF), _nearest([spot], before[0], OFF))
        score = _nearest(points, others, CLEAR) / CLEAR + beside / OFF
        score += _room(spot, list(place.values()), letters, 16.0) + _room(spot, drawn.labels, letters, 12.0)
        score -= CROSSED * _crossings(_steps(points), before)
        score -= abs(kept) * abs(_at(curve, 0.5) - (place[q] + place[to]) / 2) / ROUND
        if best is None or score > best[0] + 1e-9:
            best = score, (curve, spot, kept)
    assert best is not None
    curve, spot, drawn.sides[edge] = best[1]
    drawn.labels.append(spot)
    drawn.lines.append(_steps(_samples(curve)))
    return curve, spot


def _nearest(points: npt.ArrayLike, others: npt.ArrayLike, most: float) -> float:
    """The least distance between two points of two lists, ``most`` where one is empty or all are further."""
    return float(np.abs(np.subtract.outer(np.array(points), np.array(others))).min(initial=most))


def _steps(points: Points) -> Points:
    """Every third point of a curve and the next one: shape ``(2, steps)``."""
    kept = points[::3]
    return np.stack([kept[:-1], kept[1:]])


def _crossings(a: Points, b: Points) -> int:
    """How many steps of two curves cross."""

    def side(p: Points, q: Points, r: Points) -> F64:
        return (np.conj(q - p) * (r - p)).imag

    (p, q), (r, s) = a[:, :, None], b[:, None, :]
    return int(((side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0)).sum())


def _room(spot: complex, others: list[complex], letters: int, height: float) -> float:
    """How far a label is from the nearest point, 1 where it is clear; labels are wider than high."""
    off = spot - np.array(others)
    return float(np.maximum(np.abs(off.real) / (12 + 3.2 * letters), np.abs(off.imag) / height).min(initial=1.0))


def _arcs(a: complex, b: complex, back: bool, letters: int) -> Iterator[Candidate]:
    """Arcs from flat to round, on the right of the way first; straight only where nothing comes back."""
    far, unit = abs(b - a), (b - a) / abs(b - a)
    lean, away = unit * max(far / 3, RADIUS + 10), 9 + abs(unit.imag) * 3 * letters
    for bend in BENDS[back:]:
        for side in (1.0, -1.0) if bend else (1.0,):
            shift = -1j * unit * side * bend * 4 / 3
            first, second = a + lean + shift, b - lean + shift
            curve = np.array([_toward(a, first, RADIUS), first, second, _toward(b, second, RADIUS + 2)])
            for where in (0.5, 0.33):  # the label in the middle, or nearer to where the arrow begins
                yield curve, _at(curve, where) + side * complex(unit.imag * away, -unit.real * 9), side


def _loops(a: complex, letters: int) -> Iterator[Candidate]:
    """Loops above, below, and at the sides of a state."""
    for angle in (-90, 90, -45, -135, 45, 135, 0, 180):
        turn = math.radians(angle)
        ends = ((RADIUS, -0.5), (RADIUS + 34, -0.45), (RADIUS + 34, 0.45), (RADIUS + 2, 0.5))
        spot = a + cmath.rect(RADIUS + 35 + abs(math.cos(turn)) * 3 * letters, turn)
        yield np.array([a + cmath.rect(far, turn + s) for far, s in ends]), spot, 0.0


def _at(curve: Points, t: Any) -> Any:
    """The point of a curve at ``t``, or the points at several."""
    return curve @ np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3])


def _samples(curve: Points) -> Points:
    found: Points = _at(curve, STEPS)
    return found


def _toward(a: complex, b: complex, distance: float) -> complex:
    """A point at a distance from ``a`` on the way to ``b``."""
    return a + distance * (b - a) / (abs(b - a) or 1.0)


def _pointed(curve: Points) -> list[Shape]:
    """An arrow: its curve, with a triangle at the end."""
    end, along = curve[3], _toward(0, curve[3] - _at(curve, 0.9), 1.0)
    tip = end + along * np.array([0, -8 - 3.5j, -8 + 3.5j])
    return [Shape("curve", _numbers(curve), "arrow"), Shape("path", _numbers(tip), "box")]


def _numbers(points: Points) -> tuple[float, ...]:
    return tuple(points.view(np.float64).tolist())


def _framed(groups: list[Group], title: str) -> Drawing:
    """The groups moved so that all of them are on the paper, with a margin."""
    parts = []
    for shape in (shape for group in groups for shape in group.shapes):
        if shape.kind == "curve":
            parts.append(_samples(np.array(shape.at).view(np.complex128)))
        else:
            off = complex(RADIUS if shape.kind == "circle" else 3.4 * len(shape.text), RADIUS)
            parts.append(complex(*shape.at[:2]) + np.array([-off, off]))
    points = np.concatenate(parts)
    left, top = float(points.real.min()) - 12, float(points.imag.min()) - 8
    drawing = Drawing(float(points.real.max()) - left + 12, float(points.imag.max()) - top + 8, title)
    for group in groups:
        drawing.group().shapes += [shape.moved(-left, -top) for shape in group.shapes]
    return drawing
