"""The report of a lower bound: the claim, and the boxes that prove it."""

from __future__ import annotations

from pathlib import Path

from restrict.base.wording import counted
from restrict.certificate.lower_bound import Box, LowerBound
from restrict.model.program import Model
from restrict.report.drawing import Drawing, Shape
from restrict.report.lower_bound import box_words, label_bounds
from restrict.report.page import Page, Section
from restrict.report.picture import Axis
from restrict.report.scene import LEFT
from restrict.report.text import check_command, model_words, output_at

DRAWN = 80
"""Boxes that are drawn and listed."""
HEIGHT = 16.0


def bound_page(bound: LowerBound, path: Path, model: Model | None = None, checked: str | None = None) -> Page:
    """The report of a lower bound, with its model and the trusted checker's line where these are known."""
    least = bound.at_least(model) if model is not None else min([*bound.labels.values(), bound.others or 0], default=0)
    claim = f"Forcing {output_at(bound.target)} fixes at least {counted(least, 'position')} (certified bound)."
    page = Page(f"{model_words(bound.model_name)}, n = {bound.n}", "Lower bound", claim)
    widest = max((len(box) for box in bound.boxes), default=0)
    facts = [
        ("model", f"{bound.model_name} (SHA-256 {bound.sha256 or 'none: a model without a file'})"),
        ("length n", str(bound.n)),
        ("label by label", label_bounds(bound)),
        ("boxes", f"{len(bound.boxes)}, each of at most {counted(widest, 'position')}"),
        ("checked", checked or "not here; the command at the end of this page checks it"),
    ]
    page.sections.append(Section("The claim", facts=facts))
    words = [
        "Each row is a box: at the orange positions only the symbols that the table lists are allowed. While all "
        "inputs stay in the box, some label is impossible, so what forces that label conflicts with the box. No fewer "
        "positions conflict with all of them."
    ]
    drawing = draw_boxes(bound)
    page.sections.append(Section("The boxes", words, drawing=drawing))
    rows = [[str(at), *_told(box)] for at, box in enumerate(bound.boxes[:DRAWN])]
    page.sections.append(Section("Box by box", head=("box", "positions and symbols", "nodes"), rows=rows))
    page.sections.append(Section("How to check it", code=[check_command(bound.model_name, path)]))
    return page


def _told(box: Box) -> list[str]:
    cells, nodes = box_words(box)
    return [" ".join(cells[:16]) + (f" ... ({len(cells) - 16} more)" if len(cells) > 16 else ""), nodes[:400]]


def draw_boxes(bound: LowerBound) -> Drawing:
    """The boxes over the positions, one row each."""
    axis = Axis(bound.n)
    dx = max(4.0, min(30.0, 900.0 / axis.cells))
    shown = bound.boxes[:DRAWN]
    drawing = Drawing(
        LEFT + axis.cells * dx + 16, 46 + HEIGHT * len(shown), f"{counted(len(shown), 'box')} of a lower bound"
    )
    group = drawing.group()
    for at, box in enumerate(shown):
        y = 12 + HEIGHT * at
        group.shapes.append(Shape("text", (LEFT - 10, y + 9, 9), "label", f"box {at}", "end"))
        group.shapes.append(Shape("rect", (LEFT, y, axis.cells * dx, 11), "unexamined"))
        for cell in sorted({axis.cell(p) for p in (*box.only, *box.never)}):
            group.shapes.append(Shape("rect", (LEFT + cell * dx, y, max(2.0, dx * 0.92), 11), "fixed"))
    for cell in range(0, axis.cells, max(1, axis.cells // 12)):
        x = LEFT + (cell + 0.5) * dx
        group.shapes.append(Shape("text", (x, 24 + HEIGHT * len(shown), 9), "quiet", str(axis.span(cell)[0]), "middle"))
    if len(bound.boxes) > DRAWN:
        text = counted(len(bound.boxes) - DRAWN, "more box")
        group.shapes.append(Shape("text", (LEFT, 38 + HEIGHT * len(shown), 9), "quiet", text))
    return drawing
