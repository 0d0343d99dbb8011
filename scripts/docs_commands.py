"""The code of the documentation, run as it stands.

    python scripts/docs_commands.py [PAGE ...]              # run and compare; exit 1 where a page is wrong
    python scripts/docs_commands.py --write [PAGE ...]      # put what the commands print into the pages
    python scripts/docs_commands.py --installed tutorial    # with the `restrict` that is installed beside this Python

In a ```console block a line ``$ restrict ...`` is a command, the lines after it are what it prints. A ```python block
must run to its end, a ```pycon block must give what it shows. The blocks of one page run in one fresh folder, in order,
with a link to ``instances``. A block after a paragraph ``*Not run by the tests ...: REASON*`` is left out.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = ("console", "python", "pycon")
NOT_RUN = re.compile(r"\*Not run by the tests[^*]*: [^*]+\*\s*\Z")


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    content: str
    line: int
    excused: bool
    """Whether the page says why it is not run."""


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks of a page, in order."""
    for found in FENCE.finditer(text):
        before = text[: found.start()]
        yield Block(found[1], found[2], before.count("\n") + 1, NOT_RUN.search(before) is not None)


def pages() -> list[Path]:
    """The pages with something to run."""
    every = sorted((ROOT / "docs").glob("*.md"))
    return [p for p in every if any(b.language in RUN and not b.excused for b in blocks(p.read_text(encoding="utf-8")))]


def printed(text: str, installed: bool = False) -> str:
    """A page with what its commands print now.

    Raises:
        RuntimeError: Python of the page does not run.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "instances").symlink_to(ROOT / "instances")
        waiting = blocks(text)
        return FENCE.sub(lambda found: _block(found[0], next(waiting), folder, installed), text)


def _block(whole: str, block: Block, folder: Path, installed: bool) -> str:
    """A block as it is to stand in the page."""
    if block.excused or block.language not in RUN:
        return whole
    if block.language == "console":
        return _console(block.content, folder, installed)
    source = block.content if block.language == "python" else EXAMPLES.format(block.content)
    done = _run([sys.executable, "-c", source], folder, installed)
    if done.returncode:
        raise RuntimeError(f"line {block.line}: {done.stdout}{done.stderr}")
    return whole


EXAMPLES = """import doctest
test = doctest.DocTestParser().get_doctest({!r}, {{}}, "page", None, 0)
raise SystemExit(doctest.DocTestRunner(verbose=False).run(test).failed)
"""


def _console(content: str, folder: Path, installed: bool) -> str:
    """A block with the output of its commands."""
    lines = []
    for line in content.splitlines():
        if line.startswith("$ "):
            lines += [line, *_output(line[2:], folder, installed)]
    return "\n".join(["```console", *lines, "```"])


def _output(command: str, folder: Path, installed: bool) -> list[str]:
    """What one command prints, errors and an exit code other than 0 included."""
    if (plain := PLAIN.match(command)) is None or installed:
        program = f'"{Path(sys.executable).parent}/restrict"' if installed else f'"{sys.executable}" -m restrict.cli'
        here = f'restrict() {{ {program} "$@"; }}; export -f restrict; {command}'
        done = _run(["bash", "-c", here], folder, installed)
    else:
        done = _here(shlex.split(plain[1]), folder)
        if plain[2]:
            told, done = done.stderr, _run(["bash", "-c", plain[2]], folder, installed, done.stdout)
            done.stderr += told
    tail = [f"[exit code {done.returncode}]"] if done.returncode else []
    return [*(done.stdout + done.stderr).splitlines(), *tail]


WORDS = """(?:[^|<>;&$`'"]|'[^']*'|"[^"$`]*")*"""
PLAIN = re.compile(rf"(restrict {WORDS})(?:\|({WORDS}(?:\|{WORDS})*))?$")
"""One of our commands and nothing else, or with its output sent on."""


def _here(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in this process, which has imported and compiled what the ones before needed."""
    from restrict.cli import common, main

    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, COLUMNS="80"):
        common._pending.clear()
        with patch.object(sys, "argv", words):
            try:
                main.main()
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 0
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def _run(
    words: Sequence[str], folder: Path, installed: bool, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80"} | ({} if installed else {"PYTHONPATH": str(ROOT)})
    return subprocess.run(
        words, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=300, check=False
    )


def main(words: list[str]) -> int:
    """Compare, or write."""
    wrong, chosen = 0, [Path(word).stem for word in words if not word.startswith("--")]
    for word in sorted(set(chosen) - {page.stem for page in pages()}):
        print(f"{word}: no page of docs/ with anything to run has this name")
        return 2
    for page in pages():
        if chosen and page.stem not in chosen:
            continue
        old = page.read_text(encoding="utf-8")
        try:
            new = printed(old, "--installed" in words)
        except RuntimeError as error:
            wrong += 1
            print(f"{page.name}: {error}")
            continue
        if new == old:
            print(f"{page.name}: as it stands")
        elif "--write" in words:
            page.write_text(new, encoding="utf-8")
            print(f"{page.name}: written")
        else:
            wrong += 1
            print(f"{page.name}: differs; run scripts/docs_commands.py --write")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
