"""The log of reproduce.py: a page with one row for each run, the last time that it was run.

The rows are read from the page again, so that a log grows in pieces: what it has is left out the next time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

HEAD = """# When each table was last printed

`python scripts/reproduce.py --all --log docs/reproduced.md` writes this page: one row for each
script and its arguments, from [the list of all tables and figures](benchmarks.md#running-it-all-again).
A row has the commit (a `+`: with changes not yet in it), the day, the processor seconds of all
processes, and how the lines that the script printed compare with the pages that name it:

- *same*: the line is on a page as printed;
- *decimals*: it is there, but for numbers with a decimal point (most are seconds);
- *numbers*: it is there, but for other numbers, too;
- *absent*: no such line is on a page (progress, words, tables that the page shows in another form).

Figures are compared byte by byte. A run is left out of the next `--all --log` if its row ends in
`ok`; `reproduce.py NAME --log` runs it again.
"""
PARTS = {
    False: "## As the pages have them\n",
    True: "## On less\n\n`--quick`: the same scripts on less; few of these lines are on a page.\n",
}
COLUMNS = ("entry", "arguments", "commit", "day", "seconds", "same", "decimals", "numbers", "absent", "ended")
NEVER = "not yet"


@dataclass(frozen=True)
class Logged:
    """One row of the page.

    Attributes:
        entry: the name of the entry.
        arguments: what the script was given.
        commit, day: of the last time; empty if there was none.
        seconds: processor seconds of the script and all that it started.
        same, decimals, numbers, absent: how many of the printed lines are on the pages, and how.
        ended: ``ok``, or what went wrong; with figures, how they compare.
    """

    entry: str
    arguments: str
    commit: str = ""
    day: str = ""
    seconds: int = 0
    same: int = 0
    decimals: int = 0
    numbers: int = 0
    absent: int = 0
    ended: str = NEVER

    @property
    def good(self) -> bool:
        """Whether the run needs no other."""
        return self.ended.startswith("ok")

    @property
    def line(self) -> str:
        """The row of the table."""
        cells = [self.entry, f"`{self.arguments}`" if self.arguments else "", *map(str, astuple(self)[2:])]
        if self.ended == NEVER:
            cells[4:9] = [""] * 5
        return "| " + " | ".join(cells) + " |"


Key = tuple[str, str]


def read(path: Path) -> dict[Key, Logged]:
    """The rows of a page by entry and arguments; none if there is no page."""
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == len(COLUMNS) and not {"entry", "---"} & set(cells):
            (name, words, commit, day), ended = cells[:4], cells[9]
            seconds, same, decimals, numbers, absent = (int(cell or 0) for cell in cells[4:9])
            row = Logged(name, words.strip("`"), commit, day, seconds, same, decimals, numbers, absent, ended)
            rows[row.entry, row.arguments] = row
    return rows


def page(runs: Iterable[tuple[str, str, bool]], rows: dict[Key, Logged]) -> str:
    """The page with a row for each run (entry, arguments, whether on less), in their order."""
    parts: dict[bool, list[str]] = {False: [], True: []}
    for name, arguments, quick in runs:
        parts[quick].append(rows.get((name, arguments), Logged(name, arguments)).line)
    head = f"| {' | '.join(COLUMNS)} |\n| --- | --- | --- | --- |{' ---: |' * 5} --- |"
    return "\n".join([HEAD, *("\n".join([PARTS[quick], head, *lines, ""]) for quick, lines in parts.items())])


def summary(runs: Iterable[tuple[str, str, bool]], rows: dict[Key, Logged]) -> str:
    """How many of the runs are logged as good, one line."""
    keys = [(name, arguments) for name, arguments, _ in runs]
    good = [rows[key] for key in keys if key in rows and rows[key].good]
    return f"{len(good)} of {len(keys)} runs are logged as good, {sum(row.seconds for row in good)} processor s"


def kinds(lines: Iterable[str], there: Iterable[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Count printed lines by how they are on the pages; those with other numbers beside one such line of a page.

    Args:
        lines: what was printed, without layout.
        there: the lines of the pages, without layout.
    """
    exact, decimals, numbers = {}, {}, dict[str, str]()
    for words in there:
        exact[words] = decimals[rough(words)] = numbers[bare(words)] = words
    found, other = dict.fromkeys(("same", "decimals", "numbers", "absent"), 0), []
    for words in lines:
        if words in exact:
            found["same"] += 1
        elif rough(words) in decimals:
            found["decimals"] += 1
        elif bare(words) in numbers and re.search(r"[A-Za-z]", words):
            found["numbers"] += 1
            other.append((words, numbers[bare(words)]))
        else:
            found["absent"] += 1
    return found, other


def rough(words: str) -> str:
    """A line without its numbers that have a decimal point: most of these are seconds."""
    return re.sub(r"\d+\.\d+", "#", words)


def bare(words: str) -> str:
    """A line without any number."""
    return re.sub(r"\d[\d.,]*", "#", words)
