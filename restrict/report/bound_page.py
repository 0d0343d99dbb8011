"""The report of a lower bound: the claim, and the boxes that prove it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from restrict.base.wording import counted
from restrict.certificate.lower_bound import Box, LowerBound
from restrict.model.program import Model
from restrict.report.chart import Chart, colour
from restrict.report.lower_bound import box_words, label_bounds
from restrict.report.page import Page, Section
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
    if len(bound.boxes) > DRAWN:
        words.append(f"{counted(len(bound.boxes) - DRAWN, 'more box')} are not drawn.")
    page.sections.append(Section("The boxes", words, drawing=draw_boxes(bound)))
    rows = [[str(at), *_told(box)] for at, box in enumerate(bound.boxes[:DRAWN])]
    page.sections.append(Section("Box by box", head=("box", "positions and symbols", "nodes"), rows=rows))
    page.sections.append(Section("How to check it", code=[check_command(bound.model_name, path)]))
    return page


def _told(box: Box) -> list[str]:
    cells, nodes = box_words(box)
    return [" ".join(cells[:16]) + (f" ... ({len(cells) - 16} more)" if len(cells) > 16 else ""), nodes[:400]]


def draw_boxes(bound: LowerBound) -> Chart:
    """The boxes over the positions, one row each."""
    shown = bound.boxes[:DRAWN]

    def paint(figure: Any) -> None:
        axes = figure.add_subplot(xlabel="position", xlim=(-0.5, bound.n - 0.5))
        axes.eventplot([[*box.only, *box.never] for box in shown], linelengths=0.7, linewidths=3, color=colour("fixed"))
        axes.set_yticks(range(len(shown)), [f"box {at}" for at in range(len(shown))])
        axes.invert_yaxis()

    return Chart(f"{counted(len(shown), 'box')} of a lower bound", paint, height=60.0 + HEIGHT * len(shown))
