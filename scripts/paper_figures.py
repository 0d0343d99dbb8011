"""The pictures of docs/figures: those of Hahn (2020), redrawn from real runs, certificates, automata, a refutation.

    python scripts/paper_figures.py [FOLDER]

Everything drawn is computed: what a head can attend to by the abstract run, restrictions by the search, the selection
of Figure 3 by Stage 2 of the Depth Reduction Lemma. The same bytes each time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import restrict
from restrict.abstract.run import abstract_run, positions_of
from restrict.base.strictjson import Node, parse
from restrict.certificate.certificate import Certificate, certificate_of
from restrict.certificate.outline import read_outline
from restrict.depth_reduction.c_transformer.activations import Truth
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.lemma.selection import selection
from restrict.model.program import Instance
from restrict.model.restriction import Restriction
from restrict.report.drawing import Drawing, Drawn, Group, Shape, save
from restrict.report.picture import Picture, draw_nodes
from restrict.report.scene import scene
from restrict.rows.row import Row

ROOT = Path(__file__).resolve().parent.parent
FOLDER, INSTANCES = ROOT / "docs" / "figures", ROOT / "instances"


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
    """Two layers: nothing fixed, the first layer captured, the second one, and the first one removed."""
    model = restrict.load("random:layers=2,heads=1,states=2,seed=1,every=1")
    found = restrict.certify_all(model, 12, free=0.6).certificate
    first = first_step(model.at(12), found)
    pictures = [picture_of(under(model.at(12), fixed)) for fixed in ({}, first)] + [picture_of(found)]
    empty, half, full = (scene(picture, "a transformer of two layers") for picture in pictures)
    more = len(found.restriction.fixed) - len(first)
    removed = scene(without_layer_1(pictures[2], found), "one layer left")
    panels = [
        ("(a) nothing fixed: what each head may attend to", keeping(empty, (), (1, 2))),
        (
            f"(b) {len(first)} inputs fixed: they attract layer 1; its skip connections are dotted",
            keeping(half, (1,), (2,)),
        ),
        (f"(c) {more} more inputs fixed: they attract layer 2", keeping(full, (1, 2), ())),
        ("(d) layer 1 removed: y1 is a function of few inputs", keeping(removed, (0, 2), ())),
    ]
    return stacked(panels, "Figure 1: layers lose their attention under a restriction, and are removed")


def under(instance: Instance, fixed: Mapping[int, str]) -> Certificate:
    """What is true of every node under a restriction."""
    return certificate_of(instance, Restriction.of(instance, fixed), "all", "all")


def first_step(instance: Instance, found: Certificate) -> dict[int, str]:
    """The half of the fixed inputs that leaves the heads of layer 1 the fewest positions, of all halves."""
    fixed = found.restriction.fixed

    def left(chosen: tuple[int, ...]) -> int:
        track = picture_of(under(instance, {i: fixed[i] for i in chosen})).tracks[1]
        return sum(count for spot in track.spots for _, _, count in spot.after)

    best = min(combinations(sorted(fixed), len(fixed) // 2), key=left)
    return {i: fixed[i] for i in best}


def without_layer_1(picture: Picture, found: Certificate) -> Picture:
    """The rows of the heads of layer 1 are gone; each of its activations is joined to the inputs that it depends on."""
    instance = restrict.load(found.model_name).at(found.n)
    run = abstract_run(instance, Restriction.of(instance, found.restriction.fixed), "all")
    inputs, head, *above = picture.tracks
    assert (head.kind, head.layer) == ("head", 1)
    tracks = [inputs]
    for row, track in enumerate(above, 1):
        spots = [
            replace(
                spot, after=tuple((0, int(i), 1) for i in positions_of(run.facts[track.name][spot.cell][1])), reads=()
            )
            if row == 1
            else replace(
                spot,
                after=tuple((below - 1, start, count) for below, start, count in spot.after),
                reads=tuple(below - 1 for below in spot.reads if below != 1),
            )
            for spot in track.spots
        ]
        tracks.append(replace(track, layer=track.layer if row > 1 else 0, spots=spots))
    return Picture(picture.axis, tracks)


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
    keys = t.read(head)[1]
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
    every = restrict.load("random:layers=2,heads=2,states=2,seed=1,every=1")
    contains = restrict.compile_formula("once (1 and previous 1)", ("0", "1"))
    refuted = restrict.refute(restrict.load("parity-attempt"), "parity", 10)
    assert isinstance(refuted, restrict.Refutation)
    drawings: dict[str, Drawn] = {
        "certificate": scene(picture_of(small), "a certificate: inputs, layers and attention"),
        "paper-1": figure_1(),
        "paper-2": figure_2(),
        "paper-3": figure_3(),
        "everywhere": restrict.certify(every, 200, target="all", free=0.8).figure().drawing,
        "and-of-ors": restrict.certify(restrict.load("and-of-ors"), 9).figure().drawing,
        "parity-attempt": refuted.figure().drawing,
        "contains-11": restrict.automaton(contains).figure().drawing,
        "dyck1-depth2": restrict.automaton(restrict.load(INSTANCES / "brasp-dyck1-depth2.json")).figure().drawing,
    }
    for name, drawing in drawings.items():
        save(drawing, folder / f"{name}.svg")
        print(f"{folder / name}.svg: {drawing.title}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
