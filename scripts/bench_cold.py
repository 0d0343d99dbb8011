"""What the commands of the first pages cost: cold, with no kernel compiled, and warm, right after.

    python scripts/bench_cold.py                      # README, tutorial, how-to: processor seconds, cold and warm
    python scripts/bench_cold.py --only verify        # the commands that have this text
    python scripts/bench_cold.py --pages tutorial     # the commands of one page
    python scripts/bench_cold.py --command "restrict certify parity8 -n 100"   # this one instead
    python scripts/bench_cold.py -o FILE              # also as JSON

Each command runs twice in one fresh folder per page: first with an empty cache of compiled kernels, then with what the
first run has left there. Processor seconds of the command and of what it starts: they say little of how busy a machine
is. The exit code is 1 where a command fails, or a cold run takes more than ``--limit`` seconds.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from harness import ROOT, arguments, ended, head, show, written

PAGES = {"README": "README.md", "tutorial": "docs/tutorial.md", "how-to": "docs/howto.md"}
FENCE = re.compile(r"^```(?:text|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(restrict [a-z].*?)(?:\s+# .*)?$", re.MULTILINE)
SHELL = 'restrict() {{ "{python}" -m restrict "$@"; }}; {command}'


@dataclass(frozen=True)
class Row:
    """One command: processor seconds with an empty cache and with a full one, and the kernels then in it."""

    page: str
    command: str
    cold: float
    warm: float
    kernels: int
    code: int


def commands(page: str) -> list[str]:
    """The commands of a page, in order, without their comments."""
    text = (ROOT / PAGES[page]).read_text(encoding="utf-8")
    return [found for block in FENCE.findall(text) for found in COMMAND.findall(block)]


def seconds(command: str, folder: Path, cache: Path) -> tuple[float, int]:
    """Processor seconds of one run, and its exit code."""
    settings = {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(cache), "COLUMNS": "80"}
    done = ended(["bash", "-c", SHELL.format(python=sys.executable, command=command)], None, folder, settings)
    return done.cpu, done.code


def rows(page: str, lines: list[str]) -> Iterator[Row]:
    """The table of the commands of one page, row by row, each cold and then warm."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "instances").symlink_to(ROOT / "instances")
        for command in lines:
            with tempfile.TemporaryDirectory() as cache:
                cold, code = seconds(command, folder, Path(cache))
                kernels = sum(1 for _ in Path(cache).rglob("*.nbc"))
                warm, again = seconds(command, folder, Path(cache))
            yield Row(page, command, round(cold, 2), round(warm, 2), kernels, code or again)


def main(words: list[str]) -> int:
    """Print the table; 1 where a command failed or was too slow."""
    options = arguments(__doc__, None)
    options.add_argument("--pages", nargs="+", choices=PAGES, default=list(PAGES))
    options.add_argument("--command", action="append", default=[], help="this command instead, may be repeated")
    options.add_argument("--only", default="", help="the commands that have this text")
    options.add_argument("--limit", type=float, default=float("inf"), help="processor seconds that a cold run may take")
    given = options.parse_args(words)
    found = []
    print(head(("command", "cold s", "warm s", "compiled")))
    for page in given.pages[:1] if given.command else given.pages:
        for row in rows(page, [words for words in given.command or commands(page) if given.only in words]):
            found.append(row)
            failed = f" (exit code {row.code})" if row.code else ""
            # A bar would end the cell.
            command = row.command.replace("|", "\\|")
            show((f"`{command}`{failed}", f"{row.cold:.1f}", f"{row.warm:.1f}", row.kernels))
    written(given.output, [asdict(row) for row in found])
    slow = [row for row in found if row.cold > given.limit]
    print(f"{len(found)} commands; cold: slowest {max((row.cold for row in found), default=0):.1f} s")
    return int(bool(slow) or any(row.code for row in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
