"""The command `soft check`. Imported with the command line, so it stays light."""

import sys
from pathlib import Path

from restrict.base.files import is_there, read_bytes
from restrict.cli.common import CERTIFICATE, JSON, Given, command, print_verdict
from restrict.cli.soft_common import MODEL


@command("check")
@MODEL
@CERTIFICATE
@JSON
def check_command(o: Given) -> None:
    """Check a soft restriction by the trusted checker, in exact integer arithmetic (slow): `restrict check`, which also
    knows the names of built-in models here."""
    from restrict.checker.main import main
    from restrict.elaboration.trusted import trusted_check
    from restrict.soft.models.format import dumps
    from restrict.soft.models.source import load

    if is_there(o.model) and not o.as_json:
        sys.exit(main([o.model, str(o.certificate)]))
    content = read_bytes(Path(o.model)) if is_there(o.model) else dumps(load(o.model))
    print_verdict(trusted_check(content, read_bytes(o.certificate), None, str(o.certificate), None), o.as_json)
