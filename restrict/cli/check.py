"""The command `check`. Imported with the command line, so it stays light."""

import sys
from pathlib import Path

import click

from restrict.base.errors import RestrictError
from restrict.base.files import is_regular, is_there, read_bytes
from restrict.cli import common

LONGEST_NAME = 300
"""Characters of a path that the checker's lines repeat."""


@common.command()
@common.MODEL
@common.CERTIFICATE
@common.flag("--fast", "Compiled scans in place of the kernel's loop: for very large n.")
@common.flag("--kernel", "The kernel alone decides, and standard error has the size of the proof.")
@common.flag("--verified", "The checker proved in Rocq decides; docs/proof.md says how to build it.")
@common.JSON
@common.option("--limit", common.Whole(1), "Give up (exit 5) beyond this many steps.")
def check(o: common.Given) -> None:
    """Verify CERTIFICATE, a refutation or a lower bound against MODEL.

    Exit 0 and one line `s VERIFIED ...`, or a reason on standard error.
    """
    from restrict.checker.main import say
    from restrict.elaboration.check import FAST_LIMIT

    common.no_model(o.certificate, f"write `restrict check {o.certificate} {o.model}`")
    o.limit = FAST_LIMIT if o.fast and o.limit is None else o.limit
    if o.kernel and o.verified:
        raise click.UsageError("at most one of --kernel and --verified")
    said, checker = None, "verified" if o.verified else "kernel" if o.kernel else "compiled" if o.fast else None
    try:
        if o.kernel or o.verified:
            line, said = _by_kernel(o.model, o.certificate, o.limit, o.verified)
        else:
            line = _verified(o.model, o.certificate, o.limit, o.fast)
    except RestrictError as error:  # one line, as the checker itself prints it
        say(sys.stderr, str(error))
        sys.exit(error.exit_code)
    common.print_verdict(line, o.as_json, checker=checker)
    if said is not None:
        say(sys.stderr, said)


def _by_kernel(model: str, certificate: Path, limit: int | None, verified: bool) -> tuple[str, str]:
    """Elaborate in memory and hand the proof over: the line, and which checker spoke."""
    from restrict.elaboration.make import elaboration_of
    from restrict.elaboration.verified import NAME, check_verified, program
    from restrict.model.source import load

    if verified:
        program()  # before the work
    found = elaboration_of(load(model), read_bytes(certificate), model, str(certificate), limit)
    line, who = (check_verified(found, limit), NAME) if verified else (found.check(), "the kernel")
    return line, f"checked by {who}: a proof of {len(found.made.proof)} bytes, elaborated from {certificate}"


def _verified(model: str, certificate: Path, limit: int | None, fast: bool) -> str:
    """The line about a model that may be built in; files are read as the checker reads them."""
    from restrict.base.strictjson import translated
    from restrict.checker.account import Place
    from restrict.checker.main import named
    from restrict.checker.read import JSON_BYTES, read_file
    from restrict.elaboration.trusted import trusted_check
    from restrict.model.source import generated

    built_in = None if is_there(model) else generated(model)
    names = [
        path if len(path) <= LONGEST_NAME else "..." + path[3 - LONGEST_NAME :] for path in (model, str(certificate))
    ]
    with translated(names[1]):
        source = Path(model) if built_in is None and is_regular(model) else None
        program = built_in if built_in is not None else read_file(named(model), Place(names[0]), JSON_BYTES)
        content = read_file(named(str(certificate)), Place(names[1]), JSON_BYTES)
    return trusted_check(program, content, source, names[1], limit, fast)
