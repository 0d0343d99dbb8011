"""The structure of the package from its imports: who imports whom, the order of the rooms, and their drawing.

    python scripts/architecture.py           # print every arrow between rooms, and what breaks the order
    python scripts/architecture.py --draw    # write docs/architecture.svg again

A *room* is a folder of ``restrict/``, or a file beside them. Imports are read from the syntax trees, those inside
functions included; only what is under ``if TYPE_CHECKING:`` does not count, since it never runs. The drawing is that of
docs/architecture.md.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from html import escape
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "restrict"

LEVELS: tuple[tuple[str, ...], ...] = (
    ("__main__",), ("restrict",), ("cli",), ("sweep", "report"), ("tradeoff",), ("certification",), ("corollary2",),
    ("simulate",), ("soft", "all_lengths"), ("depth_reduction",), ("optimum",), ("force",), ("cover",),
    ("elaboration",), ("trial",), ("certificate",), ("abstract",), ("logic", "importers"), ("languages",), ("rows",),
    ("model",), ("sat", "kernels"), ("base",), ("version", "checker"),
)  # fmt: skip
"""The rooms from the top down. A room imports what stands below it; rooms on one level do not import each other."""


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room that a module stands in; ``restrict`` for the package's own file."""
    return module.split(".")[1] if "." in module else module


def running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements in a syntax tree that can run, in order: all but those under ``if TYPE_CHECKING:``.

    What is inside expressions is left out, since no import is.
    """
    left = [node for node in ast.iter_child_nodes(tree) if not isinstance(node, ast.expr)][::-1]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            left += node.orelse[::-1]
            continue
        yield node
        left += [inner for inner in ast.iter_child_nodes(node) if not isinstance(inner, ast.expr)][::-1]


@cache
def parsed(path: Path) -> ast.Module:
    """A file of the package."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path, modules: set[str], types: bool = False) -> Iterator[str]:
    """The modules of the package that a file imports, wherever in the file it does; ``types``: for types, too."""
    tree = parsed(path)
    for node in ast.walk(tree) if types else running_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "restrict")
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:  # the checker's files name each other so
                module = ".".join([*path.relative_to(PACKAGE.parent).parts[: -node.level], module]).strip(".")
            if module.split(".")[0] == "restrict":
                inner = {f"{module}.{alias.name}" for alias in node.names}
                yield from sorted({name if name in modules else module for name in inner})


def import_graph(types: bool = False) -> nx.DiGraph[str]:
    """Every file of the package and its imports of other files; with ``types``, those that never run, too.

    Returns:
        A graph whose nodes are dotted module names. The package's own file is no target: it is the public API, whose
        names are looked up in the files below, and none of these imports it.
    """
    files = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(files)
    for module, path in files.items():
        graph.add_edges_from((module, target) for target in imports_of(path, set(files), types) if target != module)
    return graph


def circles(graph: nx.DiGraph[str]) -> list[list[str]]:
    """The sets of files that import each other in a circle."""
    return sorted(sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1)


def room_graph(graph: nx.DiGraph[str]) -> nx.DiGraph[str]:
    """The arrows between different rooms."""
    rooms: nx.DiGraph[str] = nx.DiGraph()
    rooms.add_nodes_from(sorted({room_of(module) for module in graph}))
    rooms.add_edges_from(sorted({(room_of(a), room_of(b)) for a, b in graph.edges if room_of(a) != room_of(b)}))
    return rooms


def arrows_up(graph: nx.DiGraph[str]) -> list[str]:
    """The imports of a file from a room that is not below its own."""
    level = {room: depth for depth, rooms in enumerate(LEVELS) for room in rooms}
    return [
        f"{a} -> {b}"
        for a, b in sorted(graph.edges)
        if room_of(a) != room_of(b) and level[room_of(b)] <= level[room_of(a)]
    ]


WIDTH, STEP, BOX, SIDE = 860, 74, 28, 128
LEAVES = frozenset(("__main__", "restrict", "cli", "base", "version"))
"""Left out of the drawing: what reaches every room, and what every room stands on."""


def layers_of(arrows: nx.DiGraph[str]) -> list[list[str]]:
    """Rooms from the top down, each just above what it uses; in a layer in an order that keeps arrows short.

    Places are fractions: a sum of floats depends on the order of its terms, and that of a set is not fixed.
    """
    layers: list[list[str]] = []
    spot: dict[str, Fraction] = {}
    for layer in nx.topological_generations(arrows.reverse()):
        below = {room: [spot[b] for b in arrows.successors(room)] or [Fraction(1, 2)] for room in layer}
        layers.append(sorted(layer, key=lambda room: (sum(below[room]) / len(below[room]), room)))
        spot |= {room: Fraction(k + 1, len(layer) + 1) for k, room in enumerate(layers[-1])}
    return layers[::-1]


def drawing(graph: nx.DiGraph[str]) -> str:
    """The rooms and the arrows between them as SVG, the same bytes for the same imports.

    An arrow that follows from two others is left out (the transitive reduction), and so are those of :data:`LEAVES`.
    """
    rooms = room_graph(graph)
    arrows = nx.transitive_reduction(rooms.subgraph(set(rooms) - LEAVES))
    layers = layers_of(arrows)
    place = {
        room: (WIDTH * (k + 1) / (len(layer) + 1), 30.0 + STEP * depth)
        for depth, layer in enumerate(layers)
        for k, room in enumerate(layer)
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {STEP * (len(layers) - 1) + 60}" '
        'font-family="sans-serif" font-size="14">',
        "<style>rect{fill:#eef2f7;stroke:#51606f}text{fill:#1c2733;text-anchor:middle}"
        ".arrow{fill:none;stroke:#8a97a5;stroke-width:1.3}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#8a97a5"/></marker></defs>',
    ]
    for a, b in sorted(arrows.edges):
        (x, y), (u, v) = place[a], place[b]
        start, end = y + BOX / 2, v - BOX / 2
        hops = round((v - y) / STEP)
        side = 0.0 if hops == 1 else (90 + 25 * hops) * (1 if x + u >= WIDTH else -1)
        parts.append(
            f'<path class="arrow" d="M{x:.0f} {start:.0f} C{x + side:.0f} {start + STEP / 2:.0f} '
            f'{u + side:.0f} {end - STEP / 2:.0f} {u:.0f} {end:.0f}" marker-end="url(#tip)"/>'
        )
    for room, (x, y) in sorted(place.items()):
        parts.append(
            f'<rect x="{x - SIDE / 2:.0f}" y="{y - BOX / 2:.0f}" width="{SIDE}" height="{BOX}" rx="5"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}">{escape(room)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    """Print the arrows, or draw them; exit 1 where the order is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draw", action="store_true", help="write docs/architecture.svg")
    graph = import_graph()
    if parser.parse_args().draw:
        (ROOT / "docs" / "architecture.svg").write_text(drawing(graph), encoding="utf-8")
    rooms = room_graph(graph)
    for room in (room for level in LEVELS for room in level if room in rooms):
        print(f"{room:<16} -> {', '.join(sorted(rooms.successors(room)))}")
    wrong = [f"circle: {' '.join(part)}" for part in circles(graph)] + [f"up: {arrow}" for arrow in arrows_up(graph)]
    print("\n".join(wrong) or "no circle, no arrow up")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
