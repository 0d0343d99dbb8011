"""A report as one HTML file that needs nothing else: sections of facts, tables, drawings and texts to copy. The
template is ``page.html.j2`` beside this file. Everything that comes from somebody's file is escaped: text by the
template, drawings by :mod:`restrict.report.drawing`, data as JSON in which no tag can end."""

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from restrict.base.errors import UsageError
from restrict.base.files import write_bytes
from restrict.base.wording import columns, joiner
from restrict.report.drawing import COLOURS, LOOKS, Drawing, Drawn, style
from restrict.report.picture import Links, Picture
from restrict.report.scene import LEFT, layout_of

MOST_LINKS = 60_000
"""Runs of cells that lines may lead to, which a page carries."""
MOST_WORDS = 380_000
"""Characters about spots that a page carries."""
MOST_TEXT = 400_000
"""Characters of the run lists of words that a page carries."""


@dataclass
class Copy:
    """A text to copy: runs (count, symbol), which the page expands; ``joiner`` stands between symbols."""

    name: str
    shown: str
    runs: list[list[Any]]
    joiner: str = ""


@dataclass
class Section:
    """A part of a report. Empty fields are left out.

    Attributes:
        title: its heading.
        words: paragraphs.
        facts: rows of a name and a value.
        head: the heads of a table's columns.
        rows: the table's rows.
        drawing: a drawing.
        steps: names of the steps that a reader can go through, from step 0 on.
        spots: per key of the drawing the lines, and the numbers of two link lists: after and before.
        links: the link lists.
        layout: how the page finds rows and cells (:class:`restrict.report.scene.Layout`).
        tracks: for each row the key of its first spot, its cells where they are not all, and the rows that it reads.
        legend: looks and what they mean.
        copies: texts to copy.
        code: lines to type.
    """

    title: str
    words: list[str] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    drawing: Drawn | None = None
    steps: list[str] = field(default_factory=list)
    spots: list[Any] = field(default_factory=list)
    links: list[Any] = field(default_factory=list)
    layout: dict[str, float] = field(default_factory=dict)
    tracks: list[Any] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    @property
    def svg(self) -> str:
        """The drawing for the page, whose style sheet colours it."""
        return "" if self.drawing is None else self.drawing.svg(alone=False)

    @property
    def width(self) -> str:
        """How wide the drawing is: the page's width, but neither unreadable nor blown up; a narrow screen scrolls."""
        natural = 0.0 if self.drawing is None else self.drawing.width
        return f"width:100%;min-width:{min(natural, 700):.0f}px;max-width:{1.5 * natural:.0f}px"

    @property
    def switches(self) -> list[str]:
        """Groups of the drawing that a reader can switch on and off."""
        roles = {group.role for group in self.drawing.groups} if isinstance(self.drawing, Drawing) else set()
        return [role for role in ("after", "before", "reads") if role in roles]

    def data(self) -> dict[str, Any]:
        """What the page's script needs."""
        return {"spots": self.spots, "links": self.links, "layout": self.layout, "steps": self.steps,
                "tracks": self.tracks, "copies": [[copy.runs, copy.joiner] for copy in self.copies]}  # fmt: skip


@dataclass
class Page:
    """A report: a title, the claim in one sentence, and sections; ``kind`` says what the file is."""

    title: str
    kind: str
    claim: str
    sections: list[Section] = field(default_factory=list)

    @property
    def drawing(self) -> Drawn | None:
        """The main drawing, which ``--figure`` writes."""
        return next((section.drawing for section in self.sections if section.drawing is not None), None)

    def html(self) -> str:
        """The page."""
        environment = _environment()
        sheet = "".join(style(name, True) for name in LOOKS)
        return str(environment.get_template("page.html.j2").render(page=self, colours=COLOURS, sheet=sheet))

    def document(self) -> dict[str, Any]:
        """The page as JSON takes it: facts and tables, no drawings."""
        parts = [
            {"title": s.title, "facts": dict(s.facts), "head": list(s.head), "rows": [list(row) for row in s.rows]}
            for s in self.sections
        ]
        return {"kind": self.kind, "title": self.title, "claim": self.claim, "sections": parts}

    def text(self) -> str:
        """The page in words, for a terminal: facts and tables, no drawings."""
        out = [f"{self.kind.lower()}: {self.title}", f"  {self.claim}"]
        for section in self.sections:
            width = max((len(name) for name, _ in section.facts), default=0)
            out += [f"  {name.ljust(width)}  {value}" for name, value in section.facts]
            table = [row for row in (section.head, *section.rows) if row]
            out += [columns(table, indent="    ")] if table else []
            out += [f"  {copy.name}: {copy.shown}" for copy in section.copies]
        return "\n".join(out)

    def save(self, path: str | Path) -> None:
        """Write the HTML file."""
        write_bytes(Path(path), self.html().encode())


def need_jinja() -> None:
    """Refuse where Jinja2 is missing, before the work starts."""
    if importlib.util.find_spec("jinja2") is None:
        raise UsageError("a report needs Jinja2: pip install jinja2; `restrict show` needs nothing")


def _environment() -> Any:
    """Jinja2 with this folder's templates; what is undefined is an error."""
    need_jinja()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["script"] = script
    return environment


def script(value: Any) -> Any:
    """A value as JSON for a script element, in which no ``<`` can begin a tag, marked as safe for the template."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def interactive(section: Section, picture: Picture) -> Section:
    """Give a section with a picture's drawing its data: what each spot says, and where its lines go."""
    table: dict[Links, int] = {(): 0}
    held, most = 0, _lines_kept(picture)
    for track in picture.tracks:
        cells = [spot.cell for spot in track.spots]
        reads = track.spots[0].reads if track.spots else ()
        all_ = cells == list(range(picture.axis.cells))
        section.tracks.append([len(section.spots), None if all_ else cells, reads])
        for spot in track.spots:
            numbers = []
            for links in (spot.after, spot.before):
                if links not in table and held + len(links) <= MOST_LINKS:
                    held += len(links)
                    table[links] = len(table)
                numbers.append(table.get(links, 0))
            section.spots.append(["\n".join(spot.lines[:most]), *numbers])
    if held + max((len(spot.before) for track in picture.tracks for spot in track.spots), default=0) > MOST_LINKS:
        section.words.append("There are too many lines for all of them to be held here; for some nodes only words are.")
    section.links = [packed(links) for links in table]
    at = layout_of(picture)
    section.layout = {"left": LEFT, "dx": at.dx, "rows": at.rows, "dy": at.dy, "top": at.y(at.rows - 1) - at.dy / 2}
    if picture.layers:
        section.steps = ["the inputs", *(f"layer {k}" for k in range(1, picture.layers + 1))]
    return section


def _lines_kept(picture: Picture) -> int:
    """How many lines about each spot a page can carry."""
    spots = [spot.lines for track in picture.tracks for spot in track.spots]
    for most in (12, 9, 8, 7, 6, 5, 4, 3, 2):
        if sum(len(line) + 2 for lines in spots for line in lines[:most]) <= MOST_WORDS:
            return most
    return 1


def packed(links: Links) -> list[int]:
    """Links to one row in few numbers: the row, then for each run its distance from the end of the one before it, and
    where it has several cells, their number with a minus sign. Result: the numbers; none where there are no links."""
    out: list[int] = []
    end = 0
    for row, first, count in links:
        if not out:
            out.append(row)
        out.append(first - end)
        if count > 1:
            out.append(-count)
        end = first + count
    return out


def word_copy(name: str, word: Sequence[str]) -> Copy:
    """A word to copy: its runs, and how it begins; one of too many runs is shown in part and cannot be copied."""
    between = joiner(set(word))
    out: list[list[Any]] = [[len(list(same)), symbol] for symbol, same in groupby(word)]
    start = between.join(word[:2000]) + (f" … ({len(word)} symbols)" if len(word) > 2000 else "")
    if sum(len(str(count)) + len(symbol) + 6 for count, symbol in out) > MOST_TEXT:
        out = []
        start += " too varied to be carried here; it is in the file"
    return Copy(name, start, out, between)
