"""Small HTML tables for notebooks: what ``_repr_html_`` of models, certificates, refutations and automata returns."""

from collections.abc import Iterable, Sequence
from html import escape

from restrict.base.wording import joined

ROWS = 40
"""The most rows of a table that are written."""


def facts_table(title: str, facts: Iterable[tuple[str, object]], drawing: str = "") -> str:
    """An HTML table of names and values, escaped, over a drawing (SVG), if there is one, as wide as the page."""
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in facts
    )
    return _table(title, rows, 2, drawing)


def grid_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], drawing: str = "") -> str:
    """A table with column heads. ``head``: one text for each column. ``rows``: the rows; their cells are escaped. After
    ``ROWS`` rows the others are only counted. ``drawing``: as :func:`facts_table` has it. Gives HTML. Linear."""
    listed = list(rows)
    heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in head)
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in listed[:ROWS])
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    more = f"<tr><td colspan='{len(head)}'>{len(listed) - ROWS} more</td></tr>" if len(listed) > ROWS else ""
    return _table(title, f"<tr>{heads}</tr>{body}{more}", len(head), drawing)


def _table(title: str, rows: str, columns: int, drawing: str) -> str:
    """Rows of HTML under a caption, and a drawing below them."""
    below = f"<tr><td colspan='{columns}'>{drawing}</td></tr>" if drawing else ""
    wide = " style='width:100%'" if drawing else ""  # otherwise a drawing shrinks to the width of the values
    return f"<table{wide}><caption>{escape(title)}</caption>{rows}{below}</table>"


def shortened(word: Sequence[str], most: int = 120) -> str:
    """A word as text, with spaces where a symbol has several characters, cut after ``most`` symbols."""
    return joined(word[:most]) + (f" ... ({len(word)} symbols)" if len(word) > most else "")
