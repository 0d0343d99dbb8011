"""The command `check`. Imported with the command line, so it stays light."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from restrict.cli import common

LONGEST_NAME = 300
"""Characters of a path that the checker's lines repeat."""


@click.command()
@common.MODEL
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--fast", is_flag=True, help="Use the numba twin of the checker: for very large n; not the trusted base.")
@click.option("--kernel", is_flag=True, help="Elaborate the proof, and let the kernel that only checks decide.")
@click.option("--verified", is_flag=True, help="Elaborate the proof, and let the checker proved in Rocq decide.")
@common.JSON
@click.option("--limit", type=common.Whole(1), default=None, help="Give up (exit 5) beyond this many steps.")
def check(
    model: str, certificate: Path, fast: bool, kernel: bool, verified: bool, as_json: bool, limit: int | None
) -> None:
    """Verify CERTIFICATE, a refutation or a lower bound against MODEL.

    Exit 0 and one line `s VERIFIED ...`, or a reason on standard error.
    """

    from restrict.checker.main import main
    from restrict.errors import RestrictError
    from restrict.model.source import generated, is_there

    common.no_model(certificate, f"write `restrict check {certificate} {model}`")
    if kernel or verified:
        if fast + kernel + verified > 1:
            raise click.UsageError("at most one of --fast, --kernel and --verified")
        _by_kernel(model, certificate, as_json, limit, verified)
        return
    if fast and limit is None and (line := _fast_bound(model, certificate)) is not None:
        common.print_verdict(line, as_json)
        return
    runner = None
    if fast:
        from restrict.certificate.fast import FAST_LIMIT, FastRun

        runner, limit = FastRun, limit or FAST_LIMIT
    if is_there(model) and not as_json:
        sys.exit(main([model, str(certificate), *(["--limit", str(limit)] if limit else [])], runner))
    built_in = None if is_there(model) else generated(model)
    try:
        line = _verified(built_in, model, certificate, limit, runner)
    except RestrictError as error:  # the same line as for a model in a file
        from restrict.checker.main import say

        say(sys.stderr, str(error))
        sys.exit(error.exit_code)
    common.print_verdict(line, as_json)


def _by_kernel(model: str, certificate: Path, as_json: bool, limit: int | None, verified: bool) -> None:
    """Elaborate in memory, hand the proof over, and print the line; standard error says which checker spoke."""
    from restrict.checker.main import say
    from restrict.elaboration import verified as rocq
    from restrict.elaboration.make import Elaboration
    from restrict.errors import RestrictError
    from restrict.files import read_bytes
    from restrict.model.source import load

    try:
        if verified:
            rocq.program()  # before the work
        program = load(model)
        assert program.content is not None
        folder = program.source.parent if program.source else Path()
        found = Elaboration(
            program.content, read_bytes(certificate), folder=folder, model_name=model,
            certificate_name=str(certificate), limit=limit,
        )  # fmt: skip
        line = rocq.check_verified(found, limit) if verified else found.check()
    except RestrictError as error:
        say(sys.stderr, str(error))
        sys.exit(error.exit_code)
    common.print_verdict(line, as_json, checker="verified" if verified else "kernel")
    who = rocq.NAME if verified else "the kernel"
    say(sys.stderr, f"checked by {who}: a proof of {len(found.made.proof)} bytes, elaborated from {certificate}")


def _verified(
    built_in: bytes | None, model: str, certificate: Path, limit: int | None, runner: Callable[..., Any] | None
) -> str:
    """The trusted checker's line about a model that may be built in; files are read as the checker reads them."""
    from restrict.certificate.check import trusted_check
    from restrict.checker.account import Place, Reject
    from restrict.checker.main import named
    from restrict.checker.read import JSON_BYTES, read_file
    from restrict.errors import ModelError, UsageError
    from restrict.files import is_regular

    name = str(certificate)
    name = name if len(name) <= LONGEST_NAME else "..." + name[3 - LONGEST_NAME :]
    try:
        source = Path(model) if built_in is None and is_regular(model) else None
        program = built_in if built_in is not None else read_file(named(model), Place(model), JSON_BYTES)
        content = read_file(named(str(certificate)), Place(name), JSON_BYTES)
    except Reject as reject:
        raise (UsageError if reject.code == 2 else ModelError)(str(reject)) from None
    return trusted_check(program, content, source, name, limit, runner)


def _fast_bound(model: str, certificate: Path) -> str | None:
    """The line about a lower bound by the package's own check; ``None`` where the trusted checker has to decide.

    It decides on files of other kinds, and on files that the package finds malformed: then it names the fault.
    """
    from restrict.certificate.check import check as verify
    from restrict.certificate.lower_bound import FORMAT, read_lower_bound
    from restrict.errors import ModelError, ResourceLimit, UsageError
    from restrict.files import is_regular, read_bytes
    from restrict.model.source import is_there, load
    from restrict.strictjson import Node, parse

    # A pipe can be read only once, and is left to the checker.
    piped = is_there(model) and not is_regular(model)
    with suppress(ModelError, ResourceLimit, UsageError):
        content = read_bytes(certificate) if is_regular(certificate) and not piped else b""
        if f'"{FORMAT}"'.encode() in content:
            root = Node(parse(content, str(certificate)), "top level")
            if isinstance(root.value, dict) and root.value.get("format") == FORMAT:
                return verify(load(model), read_lower_bound(root), fast=True)
    return None
