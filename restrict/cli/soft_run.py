"""The command `soft run`. Imported with the command line, so it stays light."""

import click

from restrict.cli.common import JSON, Given, command, flag
from restrict.cli.printer import put
from restrict.cli.soft_common import MODEL, warn


@command("run")
@MODEL
@click.argument("words", nargs=-1, required=True)
@flag("--float32", "Evaluate in single precision.")
@JSON
def run_command(o: Given) -> None:
    """Evaluate MODEL on words: letters side by side, or symbols separated by spaces.

    A compiled model's file says up to which length it is certified; beyond it a line on standard error warns.
    """
    from restrict.soft.importers.opened import opened
    from restrict.soft.models.answers import answers

    found = answers(opened(o.model), o.words, float32=o.float32)
    for n in found.lengths:
        warn(found.model, n, found.kind)
    put(found.text, found.document, o.as_json)
