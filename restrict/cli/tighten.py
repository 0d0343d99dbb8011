"""The command `tighten`. Imported with the command line, so it stays light."""

from pathlib import Path

import click

from restrict.base.wording import counted
from restrict.cli import common
from restrict.cli.printer import put


@common.command("tighten")
@common.MODEL
@common.CERTIFICATE
@common.option(
    "--proofs",
    click.Path(file_okay=False, path_type=Path),
    "Write a DIMACS formula and a DRAT proof per removed position here.",
)
@common.TIME
@common.JSON
def tighten_command(o: common.Given) -> None:
    """Remove dependencies that CERTIFICATE claims but that SAT shows not to matter.

    The result goes beyond what the checker can verify; each removal is a refutation of "a change of this input alone
    can change the label", whose proof is checked before it is written and can be checked again by any DRAT checker.
    """
    from restrict.certificate.certificate import Certificate
    from restrict.optimum.tighten import tighten

    common.no_model(o.certificate, f"write `restrict tighten {o.certificate} {o.model}`")
    start = Certificate.load(o.certificate)
    with common.result_folder(o.proofs):
        found = tighten(o.program, start, folder=o.proofs, time=o.time)
    files = {f"  {counted(found.verified, 'verified proof')} in": o.proofs if found.verified else None}
    put(found.text, found.document, o.as_json, files)
