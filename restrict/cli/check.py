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
@common.JSON
@click.option("--limit", type=common.Whole(1), default=None, help="Give up (exit 5) beyond this many steps.")
def check(model: str, certificate: Path, fast: bool, as_json: bool, limit: int | None) -> None:
    """Verify CERTIFICATE, a refutation or a lower bound against MODEL.

    Exit 0 and one line `s VERIFIED ...`, or a reason on standard error.
    """

    from restrict.certificate.check import check as verify
    from restrict.certificate.check import load_any, trusted_check
    from restrict.certificate.lower_bound import is_lower_bound
    from restrict.checker.main import main
    from restrict.files import MAX_BYTES, read_bytes
    from restrict.model.source import is_there, load

    common.no_model(certificate, f"write `restrict check {certificate} {model}`")
    # A pipe can be read only once; and the checker is to be the first to read what may be malformed.
    readable = fast and certificate.is_file() and certificate.stat().st_size <= MAX_BYTES
    likely = readable and b'"restrict-lower-bound/1"' in read_bytes(certificate)
    if likely and is_lower_bound(certificate):
        common.print_verdict(verify(load(model), load_any(certificate), fast=True, limit=limit), as_json)
        return
    runner = None
    if fast:
        from restrict.certificate.fast import FAST_LIMIT, FastRun

        runner, limit = FastRun, limit or FAST_LIMIT
    if is_there(model) and not as_json:
        sys.exit(main([model, str(certificate), *(["--limit", str(limit)] if limit else [])], runner))
    program = load(model)
    assert program.content is not None
    line = trusted_check(program.content, read_bytes(certificate), program.source, str(certificate), limit, runner)
    common.print_verdict(line, as_json)
