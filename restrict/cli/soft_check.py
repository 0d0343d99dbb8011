"""The command `soft check`. Imported with the command line, so it stays light."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from restrict.base.files import is_there, read_bytes
from restrict.cli.common import JSON, print_verdict
from restrict.cli.soft_common import MODEL


@click.command("check")
@MODEL
@click.argument("certificate", type=click.Path(dir_okay=False, path_type=Path))
@JSON
def check_command(model: str, certificate: Path, as_json: bool) -> None:
    """Check a soft restriction by the trusted checker, in exact integer arithmetic (slow): `restrict check`, which also
    knows the names of built-in models here."""
    from restrict.checker.main import main
    from restrict.elaboration.trusted import trusted_check
    from restrict.soft.models.format import dumps
    from restrict.soft.models.source import load

    if is_there(model) and not as_json:
        sys.exit(main([model, str(certificate)]))
    content = read_bytes(Path(model)) if is_there(model) else dumps(load(model))
    print_verdict(trusted_check(content, read_bytes(certificate), None, str(certificate), None), as_json)
