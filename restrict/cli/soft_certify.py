"""The command `soft certify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from restrict.cli.common import JSON, LENGTH, LONGEST, Seconds, Whole, output_option, progress_on, say
from restrict.cli.printer import put
from restrict.cli.soft_common import MODEL, SEED


@click.command("certify")
@MODEL
@LENGTH
@click.option("--epsilon", required=True, help="How far the free tokens together may move the output, such as 0.01.")
@click.option(
    "--quantity", type=click.Choice(["probability", "margin"]), default="probability", show_default=True,
    help="What may move by epsilon.",
)  # fmt: skip
@click.option("--fix", default=None, metavar="TEXT", help="Certify this instead of searching, such as 3:1,7:0.")
@click.option(
    "--position",
    type=Whole(0, LONGEST),
    default=None,
    help="Where the output is read, for models that have it everywhere.",
)
@click.option(
    "--time", "seconds", type=Seconds(), default=30.0, show_default=True, help="Stop improving after this many seconds."
)
@click.option(
    "--no-recheck", is_flag=True, help="Leave out the re-check in exact arithmetic: a bound, not called certified."
)
@SEED
@output_option("the certificate")
@JSON
def certify_command(
    model: str,
    n: int,
    epsilon: str,
    quantity: str,
    fix: str | None,
    position: int | None,
    seconds: float,
    no_recheck: bool,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Fix few tokens so that all the others together move the output by at most epsilon, and certify it.

    What is found is checked again by a separate program in exact arithmetic (as `soft check` does) before it is called
    certified. That is slow: seconds at n = 50, minutes at several hundred with two layers or more.
    """
    from restrict.soft.models.source import load
    from restrict.soft.restriction.restriction import certify_soft

    loaded = load(model)
    fixed = None if fix is None else fixed_of(fix)
    with progress_on(f"{loaded.name[:40]}, n = {n}") as progress:
        show = None if progress is None else lambda what: progress(what, None)
        found = certify_soft(
            loaded, n, epsilon, quantity="margin" if quantity == "margin" else "probability", position=position,
            fixed=fixed, seed=seed, seconds=seconds, check=not no_recheck, progress=show,
        )  # fmt: skip
    if output is not None:
        found.save(output)
    put(found, as_json, {"certificate in": output})
    if found.provenance.get("stopped") == "interrupted":
        where = f"; it is in {output}" if output else "; use -o FILE to keep it"
        state = "is valid" if found.verified else "was not re-checked"
        sys.exit(say(f"interrupted; the restriction above is the best so far and {state}{where}", 130))


def fixed_of(text: str) -> dict[int, str]:
    """The tokens of ``3:1,7:0``."""
    from restrict.errors import UsageError

    found: dict[int, str] = {}
    for part in text.split(",") if text.strip() else []:
        position, colon, symbol = part.strip().partition(":")
        if not colon or not position.isascii() or not position.isdigit() or int(position) in found:
            raise UsageError(f"--fix {text!r}: {part!r} is not POSITION:SYMBOL, or the position comes twice")
        found[int(position)] = symbol
    return found
