"""The three figures of Hahn (2020), redrawn from real runs: docs/figures/paper-1.svg, -2 and -3, and certificate.svg.

    python scripts/paper_figures.py [FOLDER]

Everything drawn is computed: what a head can attend to by the abstract run, restrictions by the search, the selection
of Figure 3 by Stage 2 of the Depth Reduction Lemma. The same bytes each time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import restrict
from restrict.abstract.rows import Row
from restrict.certificate.certificate import Certificate, certificate_of
from restrict.certificate.outline import read_outline
from restrict.depth_reduction.activations import Truth, possible_values
from restrict.depth_reduction.ctransformer import CTransformer
from restrict.depth_reduction.selection import selection
from restrict.report.drawing import Drawing, Group, Shape, save
from restrict.report.picture import Picture, draw_nodes
from restrict.report.scene import scene
from restrict.restriction import Restriction
from restrict.strictjson import Node, parse

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "figures"


def picture_of(certificate: Certificate) -> Picture:
    """What is drawn of a certificate of a generated model."""
    outline = read_outline(Node(parse(certificate.to_bytes(), "certificate"), "top level"))
    instance = restrict.load(certificate.model_name).at(certificate.n)
    return draw_nodes(instance, outline, certificate)


def stacked(panels: Sequence[tuple[str, Drawing]], title: str) -> Drawing:
    """Drawings below each other, each with its name."""
    gap = 18.0
    out = Drawing(max(d.width for _, d in panels), sum(d.height + gap for _, d in panels), title)
    top = 0.0
    for name, drawing in panels:
        out.group().shapes.append(Shape("text", (4, top + 14, 12), "label", name))
        for group in drawing.groups:
            moved = [Shape(s.kind, _moved(s, top + gap), s.look, s.text, s.anchor) for s in group.shapes]
            out.groups.append(Group(shapes=moved))
        top += drawing.height + gap
    return out


def _moved(shape: Shape, down: float) -> tuple[float, ...]:
    """The numbers of a shape further down."""
    pairs = {"line": 4, "path": len(shape.at), "rect": 2, "circle": 2, "text": 2}[shape.kind]
    return tuple(x + down if at < pairs and at % 2 else x for at, x in enumerate(shape.at))


def keeping(drawing: Drawing, after: Sequence[int], before: Sequence[int]) -> Drawing:
    """Only the lines of some layers."""
    wanted = {"after": after, "before": before}
    groups = [g for g in drawing.groups if g.role not in wanted or g.step in wanted[g.role]]
    return Drawing(drawing.width, drawing.height, drawing.title, groups)


def figure_1() -> Drawing:
    """Two layers: nothing fixed, the first layer captured, both, and what each output depends on in the end."""
    model = restrict.load("random:layers=2,heads=1,states=2,seed=1,every=1")
    found = restrict.certify_all(model, 12, free=0.6).certificate
    nothing = certificate_of(model.at(12), Restriction.of(model.at(12)), "all", "all")
    empty, full = scene(picture_of(nothing), "nothing fixed"), scene(picture_of(found), "restricted")
    panels = [
        ("(a) nothing fixed: what each head may attend to", keeping(empty, (), (1, 2))),
        ("(b) a few inputs fixed: layer 1 captured", keeping(full, (1,), (2,))),
        ("(c) layer 2 under the same restriction", keeping(full, (1, 2), ())),
    ]
    return stacked(panels, "Figure 1: layers lose their attention under a restriction")


def figure_2() -> Drawing:
    """One layer before and after."""
    model = restrict.load("random:layers=1,heads=1,states=2,seed=3,every=1")
    found = restrict.certify_all(model, 12, free=0.6).certificate
    full = scene(picture_of(found), "restricted")
    nothing = certificate_of(model.at(12), Restriction.of(model.at(12)), "all", "all")
    before = keeping(scene(picture_of(nothing), "nothing fixed"), (), (1,))
    return stacked(
        [
            ("(a) nothing fixed", before),
            (f"(b) {len(found.restriction.fixed)} of 12 inputs fixed", keeping(full, (1,), ())),
        ],
        "Figure 2: finding a good restriction",
    )


def figure_3(n: int = 8, position: int = 4, k: int = 2) -> Drawing:
    """Stage 2's selection for one head and one query value of a 2-transformer."""
    instance = restrict.load("random:layers=1,heads=1,states=4,symbols=4,seed=5,every=1").at(n)
    inputs = [((i, (i + 3) % n) if i < (i + 3) % n else ((i + 3) % n, i)) for i in range(n)]
    token = Truth.make((pair, (0, 1, 2, 3)) for pair in inputs)
    t = CTransformer.of_truth(instance, ("0", "1"), token, Restriction(n))
    chosen, head = selection(t, k), t.heads[0]
    p = next(p for p in range(chosen.pairs) if chosen.position[p] == position)
    keys = possible_values(instance, instance.key(head), t.base)
    best, _, _ = Row(instance, head, position, int(chosen.query[p])).best(keys, n * 64)
    order = list(dict.fromkeys(map(int, best)))
    drawing = Drawing(40 + 90.0 * n, 330, "Figure 3: selecting positions")
    lines, nodes = drawing.group(), drawing.group()
    looks = dict(zip([j for j, _ in chosen.of(p)], ("first", "second"), strict=False))
    owner = {x: looks[j] for j in looks for x in inputs[j] if sum(x in inputs[other] for other in looks) == 1}

    def x(i: int) -> float:
        return 65 + 90.0 * i

    for j in range(n):
        rank = f"rank{min(5, order.index(j))}" if j in order else "dashed"
        lines.shapes.append(Shape("line", (x(position), 50, x(j), 150), rank))
        lines.shapes += [
            Shape("line", (x(j), 170, x(i), 270), f"{looks[j]}line" if j in looks else "skip") for i in inputs[j]
        ]
        nodes.shapes.append(Shape("circle", (x(j), 160, 11), looks.get(j, "free")))
        nodes.shapes.append(Shape("rect", (x(j) - 10, 270, 20, 20), owner.get(j, "free")))
        nodes.shapes.append(Shape("text", (x(j), 308, 10), "quiet", f"input {j}", "middle"))
    nodes.shapes.append(Shape("circle", (x(position), 40, 12), "reduced"))
    said = f"head at {position}, query value {int(chosen.query[p])}: the thicker, the greater the score it can reach"
    nodes.shapes.append(Shape("text", (4, 16, 11), "label", said))
    nodes.shapes.append(
        Shape("text", (4, 325, 10), "quiet", f"k = {k}: positions {', '.join(map(str, looks))} are selected")
    )
    return drawing


def main(words: Sequence[str]) -> int:
    """Write all figures."""
    folder = Path(words[0]) if words else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    small = restrict.certify(restrict.load("random:layers=2,heads=1,states=2,seed=1"), 12)
    drawings = {
        "certificate": scene(picture_of(small), "a certificate: inputs, layers and attention"),
        "paper-1": figure_1(),
        "paper-2": figure_2(),
        "paper-3": figure_3(),
    }
    for name, drawing in drawings.items():
        save(drawing, folder / f"{name}.svg")
        print(f"{folder / name}.svg: {drawing.title}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
