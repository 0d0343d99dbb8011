"""The group `soft`: softmax models, one file a command. Imported with the command line, so it stays light."""

from __future__ import annotations

import click

from restrict.cli.soft_certify import certify_command
from restrict.cli.soft_check import check_command
from restrict.cli.soft_entropy import cross_entropy_command
from restrict.cli.soft_import import import_command
from restrict.cli.soft_influence import influence_command
from restrict.cli.soft_run import run_command
from restrict.cli.soft_verify import verify_trained_command
from restrict.cli.soft_write import export_command, write_command


@click.group()
def soft() -> None:
    """Softmax transformers: influence of one symbol, soft restrictions, cross-entropy (Hahn 2020, section 6).

    MODEL is a restrict-soft/1 file, or one of parity, first, random:layers=2,width=16,percent=30,seed=1 (see
    docs/soft.md).
    """


for _command in (
    influence_command,
    certify_command,
    check_command,
    cross_entropy_command,
    run_command,
    verify_trained_command,
    write_command,
    import_command,
    export_command,
):
    soft.add_command(_command)
