"""What the commands `soft ...` share. Imported with the command line, so it stays light."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from restrict.base.errors import UsageError
from restrict.cli.common import Whole, file_option, option, say
from restrict.cli.terminal import complete_soft_model

if TYPE_CHECKING:
    from restrict.soft.models.model import SoftModel

MODEL = click.argument("model", metavar="MODEL", shell_complete=complete_soft_model)


def _lengths(_context: click.Context, _parameter: click.Parameter, text: str) -> list[int]:
    """The lengths of a comma-separated list."""
    parts = text.split(",")
    if not all(p.strip().isascii() and p.strip().isdigit() and len(p.strip()) <= 8 and int(p) >= 1 for p in parts):
        raise UsageError(f"-n {text!r} must be a positive integer, or several separated by commas")
    return sorted({int(p) for p in parts})


LENGTHS = option("-n lengths", None, "Lengths, markers included.", required=True, metavar="N[,N...]", callback=_lengths)
SEED = option("--seed", Whole(0, 2**62), "Same seed, same answer.", default=0)
FIGURE = file_option("--figure", "Draw it here (.svg, .pdf or .png).")


def warn(model: SoftModel, n: int, kind: str) -> None:
    """Say that a compiled model may be wrong at a length."""
    limit = model.beyond(n, kind)
    if limit is not None:
        what = kind if limit == model.certified.get(kind) else "exact arithmetic"
        where = f"n = {n} is beyond {limit}, up to which it is certified in {what}"
        say(f"warning: {model.name}: {where}; the labels may be wrong", 0)
