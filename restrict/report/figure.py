"""Figures of results in memory, as notebooks show them: the drawing of the result's report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restrict.base.errors import RestrictError, UsageError
from restrict.base.strictjson import Record
from restrict.languages.dfa import Dfa
from restrict.report.automaton_drawing import DRAWN, draw_dfa
from restrict.report.drawing import Drawn, save
from restrict.report.page import Page
from restrict.report.source import page_in

SMALL, LONG = 128, 100_000
"""Positions up to which a notebook draws a result by itself: a result about every position, and one about one output,
whose drawing has the positions that the output asks for only."""


@dataclass(frozen=True)
class Figure:
    """A drawing. Notebooks show it; ``save`` writes it."""

    drawing: Drawn

    def save(self, path: str | Path) -> None:
        """Write the drawing to a file.

        Args:
            path: an ``.svg`` or ``.pdf`` file; it is overwritten.

        Raises:
            UsageError: another ending, matplotlib is missing for a PDF, or the file cannot be written.
        """
        save(self.drawing, path)

    def _repr_svg_(self) -> str:
        return self.drawing.svg()

    def __repr__(self) -> str:
        return f"Figure({self.drawing.title!r})"


def report_of(result: Any, model: Any = None) -> Page:
    """The report of a result in memory.

    Args:
        result: what has a file (``to_bytes``): a certificate, a refutation, a lower bound, a proof, a verdict, a sweep.
        model: its model, as on the command line; by default the built-in model or generator that it names, and that of
            a verdict which was not loaded from a file.

    Returns:
        The page; ``page.save("report.html")`` writes it.

    Raises:
        ModelError: the result is for another model.
        UsageError: there is no report of such a thing.
    """
    if not isinstance(result, Record):
        raise UsageError(f"there is no report of a {type(result).__name__}; there is one of a certificate")
    path = Path(getattr(result, "path", "result"))
    own = getattr(result, "model", None)  # of a verdict; of other results at most its name
    return page_in(result.to_bytes(), path, own if model is None and not isinstance(own, str) else model)


def figure_of(result: Any, model: Any = None) -> Figure:
    """The main drawing of a result's report.

    Args:
        result: as for :func:`report_of`.
        model: likewise.

    Returns:
        The figure.

    Raises:
        ModelError: the result is for another model.
        UsageError: it has no drawing.
    """
    drawing = report_of(result, model).drawing
    if drawing is None:
        raise UsageError("there is nothing to draw")
    return Figure(drawing)


def figure_of_dfa(dfa: Dfa) -> Figure:
    """The drawing of an automaton whose states are all reachable. ``UsageError``: more states than a drawing shows."""
    if dfa.states > DRAWN:
        raise UsageError(f"an automaton of {dfa.states} states is not drawn; the limit is {DRAWN}; write it as a file")
    return Figure(draw_dfa(dfa))


def small_drawing(result: Any) -> str:
    """The drawing of a result (:func:`report_of`) as SVG, where it is soon made; else nothing: a notebook has the
    table."""
    if getattr(result, "n", LONG + 1) > (SMALL if getattr(result, "target", None) == "all" else LONG):
        return ""
    try:
        return figure_of(result).drawing.svg()
    except RestrictError:
        return ""
