"""The command `check`. Imported with the command line, so it stays light."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from restrict.cli.common import MODEL


@click.command()
@MODEL
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--fast", is_flag=True, help="Use the numba twin of the checker: for very large n; not the trusted base.")
@click.option("--limit", type=int, default=None, help="Give up (exit 5) beyond this many steps.")
def check(model: str, certificate: Path, fast: bool, limit: int | None) -> None:
    """Verify CERTIFICATE, a refutation or a lower bound against MODEL.

    Exit 0 and one line `s VERIFIED ...`, or a reason on standard error.
    """

    from restrict.certificate.check import check as verify
    from restrict.certificate.check import load_any, trusted_check
    from restrict.errors import UsageError
    from restrict.model.source import is_there, load
    from restrict.strictjson import read_bytes

    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit} must be at least 1")
    if not fast and is_there(model):
        checker = import_module("restrict.check")
        sys.exit(checker.main([model, str(certificate), *(["--limit", str(limit)] if limit else [])]))
    program = load(model)
    if fast:
        click.echo(verify(program, load_any(certificate), fast=True, limit=limit))
    else:
        assert program.content is not None
        click.echo(trusted_check(program.content, read_bytes(certificate), None, str(certificate), limit))
