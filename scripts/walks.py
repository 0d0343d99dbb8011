"""The way of a command through the rooms, traced from a run: which room calls which, in the order of the first call.

    python scripts/walks.py          # print both walks
    python scripts/walks.py --draw docs/walks.svg

Two commands are run on small models: ``certify`` for one position, and for all positions. A room is as in
architecture.py. What every room stands on is transparent: what it calls counts for its caller.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from html import escape
from pathlib import Path
from types import FrameType

from architecture import LEAVES

import restrict
from restrict.base.options import changed
from restrict.force.options import OPTIONS

COMMANDS = (
    ("certify contains-one -n 30", "one position"),
    ("certify tagger -n 4 --target all", "all positions"),
)
PACKAGE = Path(restrict.__file__).parent
SMALL = LEAVES - {"cli"}

Way = tuple[str, ...]
Visits = dict[Way, list[tuple[str, str]]]
"""For each way of rooms from the command line down: the rooms called from there, each with the function it is entered
by; calls of one room one behind the other are one visit."""


class Tracer:
    """A profiler that notes each call from a room into another one."""

    def __init__(self) -> None:
        self.visits: Visits = {}
        self._ways: list[Way] = [()]
        self._rooms: dict[str, str | None] = {}
        self._importing = 0

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Called by Python at each call and return of a Python function."""
        if event not in ("call", "return"):
            return
        if frame.f_code.co_name == "<module>":  # what an import runs is no step of the walk
            self._importing += 1 if event == "call" else -1
            return
        room = self._room(frame.f_code.co_filename)
        if room is None or self._importing or frame.f_code.co_name.startswith("<"):
            return
        if event == "return":
            del self._ways[max(1, len(self._ways) - 1) :]
            return
        way = self._ways[-1]
        if way[-1:] != (room,):
            calls = self.visits.setdefault(way, [])
            if not calls or calls[-1][0] != room:
                calls.append((room, frame.f_code.co_name))
            way = (*way, room)
        self._ways.append(way)

    def _room(self, file: str) -> str | None:
        if file not in self._rooms:
            path = Path(file)
            inside = path.relative_to(PACKAGE).parts if path.is_relative_to(PACKAGE) else ()
            room = inside[0].removesuffix(".py") if inside else None
            self._rooms[file] = None if room in SMALL or room == "__init__" else room
        return self._rooms[file]


def walk(command: str) -> Visits:
    """The visits of one command, whose result goes to a temporary file."""
    from restrict.cli.main import cli

    tracer = Tracer()
    with (
        changed(OPTIONS, more_work=1, work_per_token=0),  # a longer search goes the same way
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        words = [*command.split(), "-o", str(Path(folder) / "certificate.json")]
        sys.setprofile(tracer)
        try:
            cli(words, standalone_mode=False)
        finally:
            sys.setprofile(None)
    return tracer.visits


def rooms_once(visits: Visits, way: Way) -> list[tuple[str, str]]:
    """The rooms called from the end of a way, each once, in the order of the first call."""
    first: dict[str, str] = {}
    for room, function in visits.get(way, ()):
        first.setdefault(room, function)
    return list(first.items())


def lines_of(visits: Visits) -> list[tuple[int, str, str]]:
    """A walk as lines: depth, room, function; two levels below the command line."""
    lines = []
    for room, function in visits[("cli",)]:
        lines.append((0, room, function))
        lines += [(1, *below) for below in rooms_once(visits, ("cli", room)) if below[0] != "cli"]
    return lines


WIDTH, LINE, BOX = 430, 30, 22


def drawing(walks: list[tuple[str, str, list[tuple[int, str, str]]]]) -> str:
    """The walks side by side as SVG: a spine from the command to the file, and what each room on it uses."""
    height = LINE * (max(len(lines) for *_, lines in walks) + 1) + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(walks)} {height}" '
        'font-family="sans-serif" font-size="13">',
        "<style>rect{fill:#eef2f7;stroke:#51606f}.used{fill:#fff}text{fill:#1c2733}.by{fill:#51606f}"
        "path{fill:none;stroke:#8a97a5;stroke-width:1.3}</style>",
    ]
    for k, (command, title, lines) in enumerate(walks):
        x, end = WIDTH * k + 20, LINE * (len(lines) + 1) + 44
        parts.append(f'<text x="{x}" y="20" font-weight="bold">{escape(title)}</text>')
        parts.append(f'<text class="by" x="{x}" y="38">{escape(command)}</text>')
        parts.append(f'<path d="M{x + 8} 46V{end}"/><path d="M{x + 4} {end - 7}l4 7 4 -7"/>')
        parts.append(f'<text class="by" x="{x + 20}" y="{end}">the file and the answer</text>')
        for row, (depth, room, function) in enumerate(lines):
            left, top = x + 18 + 60 * depth, LINE * (row + 1) + 20
            if depth:
                parts.append(f'<path d="M{x + 40} {top + BOX / 2:.0f}h{left - x - 40}"/>')
            parts.append(
                f'<rect class="{"used" if depth else "way"}" x="{left}" y="{top}" width="130" height="{BOX}" rx="4"/>'
                f'<text x="{left + 8}" y="{top + 16}">{escape(room)}</text>'
                f'<text class="by" x="{left + 140}" y="{top + 16}">{escape(function)}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    """Print the walks, or draw them; exit 1 where a room is met twice on the way of the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draw", type=Path, metavar="FILE", help="write the drawing of docs/architecture.md")
    draw: Path | None = parser.parse_args().draw
    walks = [(command, title, walk(command)) for command, title in COMMANDS]
    if draw is not None:
        shown = [(command, title, lines_of(visits)) for command, title, visits in walks]
        draw.write_text(drawing(shown), encoding="utf-8")
    twice = False
    for command, _, visits in walks:
        print(command)
        for depth, room, function in lines_of(visits):
            print(f"{'    ' * (depth + 1)}{room} ({function})")
        rooms = [room for room, _ in visits[("cli",)]]
        twice = twice or len(set(rooms)) < len(rooms)
    return twice


if __name__ == "__main__":
    sys.exit(main())
