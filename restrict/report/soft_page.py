"""The report of a soft restriction's certificate, and of an influence table (`restrict soft influence --json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError
from restrict.base.strictjson import Node
from restrict.certificate.outline import Claim, Outline
from restrict.model.restriction import Restriction
from restrict.report.page import Page, Section, interactive
from restrict.report.picture import Axis, Picture, inputs_track
from restrict.report.scene import scene
from restrict.report.soft_charts import COLUMNS, influence_chart
from restrict.report.text import fixed_list
from restrict.soft.restriction.claim import SoftCertificate

DRAWN = COLUMNS[1:]
"""Columns of an influence table that every model has."""


def soft_page(root: Node, path: Path) -> Page:
    """The report of a ``restrict-soft-certificate/1`` file."""
    found = SoftCertificate.from_json(root)
    free = found.n - len(found.fixed)
    spans = tuple((int(start), int(count), str(a)) for start, count, a in Restriction(found.n, found.fixed).to_json())
    unknown = Claim(free, free, (), None)
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
        drawing = influence_chart(rows, "")
        lines = [[str(int(row["n"])), *(_number(row[key][0]) for key, *_ in DRAWN), str(row["tried"])] for row in rows]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ModelError(f"{path}: not an influence table of `restrict soft influence --json`: {error}") from None
    page = Page(name, "Influence of one input", "How far exchanging one symbol can move the output, by length.")
    words = ["Both axes are logarithmic. Bounds are certified; what was measured is the largest change that was found."]
    page.sections.append(Section("The curves", words, drawing=drawing))
    head = ("n", *(meaning for _, meaning, *_ in DRAWN), "exchanges tried")
    page.sections.append(Section("The numbers", head=head, rows=lines))
    return page


def _number(x: Any) -> str:
    return "none" if x is None else f"{float(x):.4g}"
