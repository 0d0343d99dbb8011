"""Commands of the tutorial, the how-to pages and those on simulation as they stand: ```console blocks and their output.

    python scripts/docs_commands.py           # compare all pages; exit 1 where one differs
    python scripts/docs_commands.py --write   # put what the commands print into the pages

In a block, a line ``$ restrict ...`` is a command, the lines after it are what it prints. Commands of one page run in
one fresh folder, in order, with a link to ``instances``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("tutorial", "howto", "command-line", "simulate", "compile-soft")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> Iterator[Path]:
    """The pages whose commands are held."""
    return (ROOT / "docs" / f"{name}.md" for name in PAGES)


def printed(text: str) -> str:
    """A page with what its commands print now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "instances").symlink_to(ROOT / "instances")
        return BLOCK.sub(lambda block: _block(block[1], folder), text)


def _block(content: str, folder: Path) -> str:
    """A block with the output of its commands."""
    lines = []
    for line in content.splitlines():
        if line.startswith("$ "):
            lines += [line, *_output(line[2:], folder)]
    return "\n".join(["```console", *lines, "```"])


def _output(command: str, folder: Path) -> list[str]:
    """What one command prints, errors and an exit code other than 0 included."""
    here = f'restrict() {{ "{sys.executable}" -m restrict.cli "$@"; }}; export -f restrict; {command}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(
        ["bash", "-c", here], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    tail = [f"[exit code {done.returncode}]"] if done.returncode else []
    return [*(done.stdout + done.stderr).splitlines(), *tail]


def main(words: list[str]) -> int:
    """Compare, or write."""
    wrong = 0
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = printed(old)
        if new == old:
            continue
        wrong += 1
        print(f"{page.name}: {'written' if '--write' in words else 'differs; run scripts/docs_commands.py --write'}")
        if "--write" in words:
            page.write_text(new, encoding="utf-8")
    return int(bool(wrong) and "--write" not in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
