"""What a notebook shows of models and results: a table in HTML, over a drawing where there is one."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from restrict.base.wording import joined

ROWS = 40
"""The most rows of a table that are written."""


class ShownTable(NamedTuple):
    """A title, and rows: names with values or, where ``head`` names columns, one cell for each."""

    title: str
    rows: Sequence[Sequence[object]]
    head: Sequence[str] = ()

    def html(self, drawing: str = "") -> str:
        """The table, escaped, after ``ROWS`` rows only counted, over a drawing (SVG) as wide as the page. Linear."""
        first = "td" if self.head else "th scope='row'"
        heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in self.head)
        lines = [f"<tr>{heads}</tr>"] if heads else []
        lines += (f"<tr>{_cell(row[0], first)}{''.join(map(_cell, row[1:]))}</tr>" for row in self.rows[:ROWS])
        wide = f"<tr><td colspan='{len(self.head) or 2}'>"
        lines += [f"{wide}{len(self.rows) - ROWS} more</td></tr>"] * (len(self.rows) > ROWS)
        lines += [f"{wide}{drawing}</td></tr>"] * bool(drawing)
        style = " style='width:100%'" * bool(drawing)  # otherwise a drawing shrinks to the width of the values
        return f"<table{style}><caption>{escape(self.title)}</caption>{''.join(lines)}</table>"


def _cell(value: object, tag: str = "td") -> str:
    return f"<{tag}>{escape(str(value))}</{tag[:2]}>"


class Shown:
    """What a notebook shows as a table."""

    def facts(self) -> ShownTable:
        """What is shown: a title and rows."""
        raise NotImplementedError

    def drawing(self) -> str:
        """The drawing below the table, as SVG, where it is soon made; else nothing."""
        return ""

    def _repr_html_(self) -> str:
        return self.facts().html(self.drawing())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.facts().title!r})"


def shortened(word: Sequence[str], most: int = 120) -> str:
    """A word as text, with spaces where a symbol has several characters, cut after ``most`` symbols."""
    return joined(word[:most]) + (f" ... ({len(word)} symbols)" if len(word) > most else "")
