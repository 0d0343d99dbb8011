"""The command `check`. Imported with the command line, so it stays light."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from restrict.cli import common


@click.command()
@common.MODEL
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--fast", is_flag=True, help="Use the numba twin of the checker: for very large n; not the trusted base.")
@click.option("--limit", type=click.IntRange(min=1), default=None, help="Give up (exit 5) beyond this many steps.")
def check(model: str, certificate: Path, fast: bool, limit: int | None) -> None:
    """Verify CERTIFICATE, a refutation or a lower bound against MODEL.

    Exit 0 and one line `s VERIFIED ...`, or a reason on standard error.
    """

    from restrict.certificate.check import check as verify
    from restrict.certificate.check import load_any, trusted_check
    from restrict.files import read_bytes
    from restrict.model.source import is_there, load

    if not fast and is_there(model):
        from restrict.checker.main import main

        sys.exit(main([model, str(certificate), *(["--limit", str(limit)] if limit else [])]))
    program = load(model)
    if fast:
        click.echo(verify(program, load_any(certificate), fast=True, limit=limit))
    else:
        assert program.content is not None
        click.echo(trusted_check(program.content, read_bytes(certificate), None, str(certificate), limit))
