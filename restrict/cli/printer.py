"""How every command prints its answer: in words, or as one JSON value. It stays light."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click

from restrict.base.files import write_bytes
from restrict.cli.terminal import echo


class Answer(Protocol):
    """What can be printed: every result of the package that a command shows has these two forms."""

    def text(self) -> str:
        """The answer in words."""
        ...

    def document(self) -> Any:
        """The answer as a JSON value."""
        ...


@dataclass(frozen=True)
class Told:
    """An answer that a command puts together; each form is made only where it is asked for."""

    words: Callable[[], str]
    machine: Callable[[], Any]

    def text(self) -> str:
        """The answer in words."""
        return self.words()

    def document(self) -> Any:
        """The answer as a JSON value."""
        return self.machine()


def put(answer: Answer, as_json: bool, files: Mapping[str, Path | None] | None = None, *, wide: bool = False) -> None:
    """Print an answer, in words or as one line of JSON; ``wide``: lines of a table are not broken on a terminal."""
    if as_json:
        put_json(answer.document())
        return
    (click.echo if wide else echo)(answer.text())
    for what, path in (files or {}).items():
        if path is not None:
            echo(f"{what} {path}")


def put_file(content: bytes, output: Path | None, answer: Answer, as_json: bool, *, wide: bool = False) -> None:
    """Print a file's content, or write it where a file is named, and print an answer about it."""
    if output is None:
        click.echo(content, nl=False)
        return
    write_bytes(output, content)
    put(answer, as_json, wide=wide)


def put_json(value: Any) -> None:
    """Print one line of JSON."""
    click.echo(json_line(value))


def json_line(value: Any) -> str:
    """One line of JSON; an infinite number or a NaN, which JSON does not have, is ``null``."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value))


def _finite(value: Any) -> Any:
    """The value with ``None`` in place of each number that is not finite."""
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(x: float | None) -> str:
    """A number with four digits."""
    return "-" if x is None else f"{x:.4g}"
