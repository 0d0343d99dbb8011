"""What a terminal gets and a pipe does not: lines wrapped to its width, colours, completed names. Imported with the
command line, so it stays light. A pipe or a file gets every line as it is."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TextIO

import click
from click.shell_completion import CompletionItem

from restrict.cli.names import LANGUAGES, MODELS, SOFT_MODELS

LABELLED = re.compile(r"  \S{7} (?=\S)|\s*\S+(?: \S+){0,3}\s{2,}(?=\S)")
"""The start of a line such as ``  fixed   4 of 100 positions``: its further lines begin below the value."""
NARROWEST = 20
"""Columns below which nothing is wrapped."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal. ``stream``: one of the process's streams, which may be closed. Result: the
    answer; ``False`` for a closed one."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def has_colours(stream: TextIO | None) -> bool:
    """Whether a stream gets colours: a terminal, unless ``NO_COLOR`` is set (no-color.org) or ``TERM`` is ``dumb``."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wrapped(text: str, width: int) -> str:
    """Lines of text broken at spaces; words are never broken, so that they can be copied. Result: the text; no line is
    wider than ``width``, except where a single word is. Unchanged where ``width`` is below ``NARROWEST``."""
    return text if width < NARROWEST else "\n".join(_wrap(line, width) for line in text.split("\n"))


def _wrap(line: str, width: int) -> str:
    """One line; what does not fit goes below the value, or is indented by two more columns."""
    if len(line) <= width:
        return line
    margin = len(line) - len(line.lstrip())
    label = LABELLED.match(line)
    hang = len(label[0]) if label and len(label[0]) <= width // 3 else margin + 2
    return textwrap.fill(
        line, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False, expand_tabs=False
    )


def echo(text: str) -> None:
    """Print a result in words: wrapped, with the checker's verdict in green, on a terminal; as it is elsewhere.
    ``text``: one or more lines."""
    stream = sys.stdout
    if is_terminal(stream):
        text = wrapped(text, shutil.get_terminal_size().columns)
    if has_colours(stream):
        text = text.replace("s VERIFIED", click.style("s VERIFIED", fg="green", bold=True))
        click.echo(text, color=True)
        return
    click.echo(text)


def error_line(line: str, stream: TextIO) -> str:
    """An error line as a stream gets it. ``line``: the line, which begins with ``restrict: ``. Result: the line,
    wrapped and with its first word in red on a terminal."""
    if is_terminal(stream):
        line = wrapped(line, shutil.get_terminal_size().columns)
    return line.replace("restrict:", click.style("restrict:", fg="red", bold=True), 1) if has_colours(stream) else line


# ---------------------------------------------------------------- completion


def _names(known: Iterable[str], _context: click.Context, _of: click.Parameter, start: str) -> list[CompletionItem]:
    """Known names and files of this folder that begin with ``start``. Where there is none, the shell is told to look
    for files itself. With names that is not done: it would drop them."""
    names = sorted(name for name in known if name.startswith(start))
    files = _files(start) if start and names else []
    return [CompletionItem(name) for name in [*names, *files]] or [CompletionItem(start, type="file")]


complete_model, complete_soft_model, complete_language = (
    partial(_names, known) for known in (MODELS, SOFT_MODELS, LANGUAGES)
)


def _files(start: str) -> list[str]:
    """Files of this folder whose names begin with ``start``."""
    try:
        return sorted(path.name for path in Path().iterdir() if path.name.startswith(start) and path.is_file())
    except OSError:
        return []
