"""The command `run`. Imported with the command line, so it stays light."""

import click

from restrict.cli import common
from restrict.cli.printer import put


@common.command()
@common.MODEL
@click.argument("word", nargs=-1, type=common.Text())
@common.JSON
def run(o: common.Given) -> None:
    """Run MODEL on WORD (without markers) and print every variable and the attended positions.

    WORD is one string (0110), or one argument per symbol (w0 i r).
    """
    trace = o.program.run(o.word[0] if len(o.word) == 1 else list(o.word))
    put(trace.text, trace.document, o.as_json, wide=True)
