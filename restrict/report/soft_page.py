"""The report of a soft restriction's certificate, and of an influence table (`restrict soft influence --json`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError
from restrict.base.strictjson import Node
from restrict.certificate.outline import Outline, OutlineClaim
from restrict.model.restriction import Restriction
from restrict.report.drawing import Drawing, Shape
from restrict.report.page import Page, Section, interactive
from restrict.report.picture import Axis, Picture, inputs_track
from restrict.report.scene import scene
from restrict.report.text import fixed_list
from restrict.soft.restriction.claim import SoftCertificate

CURVES = (("layerwise", "firstline", "(b) layer by layer, certified bound"),
          ("sharp", "solid", "(b) by sets, certified bound"),
          ("measured", "secondline", "(c) measured: the largest found"))  # fmt: skip


def soft_page(root: Node, path: Path) -> Page:
    """The report of a ``restrict-soft-certificate/1`` file."""
    found = SoftCertificate.from_json(root)
    free = found.n - len(found.fixed)
    spans = tuple((int(start), int(count), str(a)) for start, count, a in Restriction(found.n, found.fixed).to_json())
    unknown = OutlineClaim(free, free, (), None)
    outline = Outline(found.model, found.sha256, found.n, found.position, spans, {}, unknown)
    claim = (
        f"Whatever the other inputs are, the output at position {found.position} moves by at most "
        f"{float(found.epsilon):g} ({found.quantity})."
    )
    page = Page(f"{found.model}, n = {found.n}", "Certificate of a soft restriction", claim)
    facts = [
        ("model", f"{found.model} (SHA-256 {found.sha256})"),
        ("fixed inputs", str(len(found.fixed))),
        ("other inputs, markers included", str(free)),
        ("epsilon", str(found.epsilon)),
        ("fixed", fixed_list(outline.fixed, 60)),
    ]
    picture = Picture(Axis(found.n), [inputs_track(outline, ())])
    section = Section("The restriction", facts=facts, drawing=scene(picture, "fixed and free inputs"))
    section.code = [f"restrict soft check {found.model} {path.name}"]
    page.sections.append(interactive(section, picture))
    return page


def influence_page(content: bytes, path: Path) -> Page:
    """The report of an influence table."""
    try:
        document = json.loads(content)
        rows, name = [dict(row) for row in document["rows"]], str(document["model"])
        drawing = draw_influence(rows)
        lines = [[str(int(row["n"])), *(_number(row[key][0]) for key, *_ in CURVES), str(row["tried"])] for row in rows]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ModelError(f"{path}: not an influence table of `restrict soft influence --json`: {error}") from None
    page = Page(name, "Influence of one input", "How far exchanging one symbol can move the output, by length.")
    words = ["Both axes are logarithmic. Bounds are certified; what was measured is the largest change that was found."]
    legend = [(look, meaning) for _, look, meaning in CURVES]
    page.sections.append(Section("The curves", words, drawing=drawing, legend=legend))
    head = ("n", *(meaning for *_, meaning in CURVES), "exchanges tried")
    page.sections.append(Section("The numbers", head=head, rows=lines))
    return page


def _number(x: Any) -> str:
    return "none" if x is None else f"{float(x):.4g}"


def draw_influence(rows: Iterable[Mapping[str, Any]]) -> Drawing:
    """Bounds and measured values against the length, both logarithmic.

    ``rows``: of the table; values that are not positive numbers are left out.
    """
    drawing = Drawing(640, 380, "influence of one input against the length")
    rows = list(rows)
    points = {
        key: [(math.log10(row["n"]), math.log10(row[key][0])) for row in rows if row[key][0] and row[key][0] > 0]
        for key, *_ in CURVES
    }
    everything = [point for curve in points.values() for point in curve]
    group = drawing.group()
    if not everything:
        return drawing
    (low, high), (bottom, top) = ((min(v), max(v)) for v in zip(*everything, strict=True))
    bottom, top = math.floor(bottom), max(math.ceil(top), math.floor(bottom) + 1)

    def place(x: float, y: float) -> tuple[float, float]:
        return 70 + 540 * (x - low) / ((high - low) or 1), 330 - 300 * (y - bottom) / (top - bottom)

    for power in range(bottom, top + 1, max(1, (top - bottom) // 6)):
        x, y = place(low, power)
        group.shapes += [
            Shape("line", (x, y, x + 540, y), "skip"),
            Shape("text", (62, y + 3, 10), "quiet", f"1e{power}", "end"),
        ]
    for row in rows:
        x, _ = place(math.log10(row["n"]), bottom)
        group.shapes.append(Shape("text", (x, 350, 10), "quiet", str(row["n"]), "middle"))
    group.shapes.append(Shape("text", (340, 370, 10), "label", "length n", "middle"))
    for key, look, _ in CURVES:
        curve = [place(*point) for point in points[key]]
        group.shapes += [Shape("line", (*a, *b), look) for a, b in pairwise(curve)]
        group.shapes += [Shape("circle", (*a, 3), "free") for a in curve]
    return drawing
