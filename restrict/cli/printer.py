"""How every command prints its answer: in words, or as one JSON value. It stays light."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from restrict.base.files import write_bytes
from restrict.cli.terminal import echo

Files = Mapping[str, Path | None]


def put(text: Any, document: Any, as_json: bool, files: Files | None = None, *, wide: bool = False) -> None:
    """Print an answer, in words or as one line of JSON; a form that is a function is made only where it is asked for.
    ``files``: what was written, and where. ``wide``: lines of a table are not broken on a terminal."""
    if as_json:
        put_json(document() if callable(document) else document)
        return
    (click.echo if wide else echo)(text() if callable(text) else text)
    for what, path in (files or {}).items():
        if path is not None:
            echo(f"{what} {path}")


def put_file(
    content: bytes, output: Path | None, text: Any, document: Any, as_json: bool, *, wide: bool = False
) -> None:
    """Print a file's content, or write it where a file is named, and print an answer about it."""
    if output is None:
        click.echo(content, nl=False)
        return
    write_bytes(output, content)
    put(text, document, as_json, wide=wide)


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
