"""The report of a folder that `restrict certify --pareto -o FOLDER` has written: the front, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError, UsageError
from restrict.base.wording import counted
from restrict.certificate.certificate import Certificate, load_certificate
from restrict.report.chart import Chart, colour
from restrict.report.page import Page, Section
from restrict.report.text import model_words

MOST_POINTS = 10_000
"""Certificates that a front is read from."""
HEAD = ("c", "free", "free %", "fixed", "file")


def front_page(folder: Path) -> Page:
    """The report of a front, the table of its points, from a folder's certificates. Linear in the files."""
    files = sorted(folder.glob("*.json"))
    if not 0 < len(files) <= MOST_POINTS:
        raise UsageError(
            f"{folder}: a folder with {counted(len(files), 'certificate')}; "
            f"`restrict certify MODEL -n N --pareto -o {folder}` writes some"
        )
    points = sorted(((_read(path), path.name) for path in files), key=lambda point: (point[0].c, point[0].free))
    first = points[0][0]
    if len({(point.sha256, point.n) for point, _ in points}) > 1:
        raise UsageError(f"{folder}: the certificates are of several models or lengths")
    rows = [
        (str(p.c), str(p.free), f"{100 * p.free / p.n:.4g}", str(len(p.restriction.fixed)), name) for p, name in points
    ]
    claim = (
        f"{counted(len(rows), 'point')}: from {first.free} free positions at c = {first.c} "
        f"to {points[-1][0].free} at c = {points[-1][0].c}."
    )
    words = ["How many positions stay free against c, the certified bound on the free inputs that the output reads."]
    code = [f"restrict report {folder / points[0][1]} -o report.html"]
    return Page(
        f"{model_words(first.model_name)}, n = {first.n}",
        "Front",
        claim,
        [
            Section("Points", words, head=HEAD, rows=rows, code=code),
            Section("The front", drawing=front_chart([p for p, _ in points])),
        ],
    )


def front_chart(points: Sequence[Certificate]) -> Chart:
    """The steps of a front: ``c`` against the free positions."""

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.step([p.free for p in points], [p.c for p in points], where="pre", marker="o", color=colour("head"))
        axes.set_xlabel("free positions")
        axes.set_ylabel("c: certified bound on dependencies")
        axes.grid(True)

    return Chart(f"{points[0].model_name[:50]}, n = {points[0].n}: c against the free positions", paint)


def _read(path: Path) -> Certificate:
    found = load_certificate(path)
    if not isinstance(found, Certificate):
        raise ModelError(f"{path}: not a certificate")
    return found
