"""What the commands share: arguments, the check before the work, progress, the trusted checker's line, error lines.

Imported with the command line, so it stays light.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from restrict.certificate.check import Claimed
    from restrict.model.program import Model

AUTOMATIC_CHECK = 20_000_000
"""`certify` runs the trusted checker on its result when that takes at most this many steps (some ten seconds)."""

MODEL = click.argument("model", metavar="MODEL")


def say(message: str, code: int) -> int:
    """Print one error line; returns the exit code."""
    line = " ".join(message.split())
    print(f"restrict: {line}", file=sys.stderr)
    return code


def target_of(text: str) -> Any:
    """The target that ``--target`` names."""
    from restrict.errors import UsageError

    if text in ("last", "all"):
        return text
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise UsageError(f"--target {text!r} is neither last, all nor a position")
    return int(text)


def check_writable(path: Path | None) -> None:
    """Refuse an output that cannot be written before the work starts, not after."""
    from restrict.errors import UsageError

    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"{path}: cannot write: the folder {folder} does not exist")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{path}: cannot write: permission denied, or it is a folder")


@contextmanager
def progress_on(title: str) -> Iterator[Callable[[str, int | None], None] | None]:
    """A spinner on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(title) as status:
        yield lambda what, best: status.update(
            f"{title}: {what}" + ("" if best is None else f", best so far fixes {best}")
        )


def trusted_line(program: Model, found: Claimed) -> str | None:
    """The trusted checker's line, where it can be had quickly."""
    from restrict.certificate.check import check
    from restrict.certificate.refutation import Refutation
    from restrict.errors import ResourceLimit

    if program.digest is None or (isinstance(found, Refutation) and not found.checkable):
        return None
    try:
        return check(program, found, limit=AUTOMATIC_CHECK)
    except ResourceLimit:
        return None


def leave_interrupted(output: Path | None) -> None:
    """End after Ctrl-C with the best certificate printed, and written where a file was named."""
    place = f"; it is in {output}" if output else "; use -o FILE to keep it"
    sys.exit(say(f"interrupted; the certificate above is the best so far and is valid{place}", 130))
