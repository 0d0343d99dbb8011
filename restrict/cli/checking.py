"""Who checks what a command has found: the kernel, unless --fast or --verified is given. Imported with the command
line, so it stays light."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple

import click

from restrict.base.errors import ResourceLimit
from restrict.base.wording import checked_line
from restrict.cli.common import Given, flag, saved

if TYPE_CHECKING:
    from restrict.certificate.claimed import Claimed
    from restrict.model.program import Model

AUTOMATIC_CHECK = 20_000_000
"""The kernel checks a result by itself when that takes at most this many steps (about ten seconds)."""
STEPS_IN_A_SECOND = 2_000_000
"""About how many steps the kernel does (docs/checker.md)."""
AFTER_CTRL_C = 2_000_000
"""So many steps where Ctrl-C has ended the search: about one second."""
KERNEL, COMPILED, VERIFIED = "kernel", "compiled", "verified"
NAMES = {KERNEL: "the trusted checker", COMPILED: "compiled scans", VERIFIED: "restrict-verified"}
"""What the lines call the checkers."""


def checked_by(command: Callable[[Given], None]) -> Callable[[Given], None]:
    """The options ``--fast`` and ``--verified``; the command gets ``checker``."""

    @wraps(command)
    def wrapped(o: Given) -> None:
        if o.fast and o.verified:
            raise click.UsageError("at most one of --fast and --verified")
        if o.verified:
            from restrict.elaboration.verified import program

            program()  # before the work
        o.checker = COMPILED if o.fast else VERIFIED if o.verified else KERNEL
        command(o)

    fast = flag("--fast", "Check the result with compiled scans, as `check --fast` does.")
    verified = flag("--verified", "Check the result with the checker proved in Rocq (docs/proof.md).")
    found: Callable[[Given], None] = fast(verified(wrapped))
    return found


class Asked(NamedTuple):
    """What a checker said, or ``None``; which one; then why, where not by its steps; whether Ctrl-C came meanwhile."""

    line: str | None
    checker: str = KERNEL
    why: str | None = None
    interrupted: bool = False

    def text(self) -> str:
        """What is printed below a result: what the checker said, or why it has not been asked."""
        return checked_line(self.line, "" if self.line else self.why or unchecked(), NAMES[self.checker])

    def document(self) -> dict[str, str | None]:
        """What the checker said, for JSON: the line, and who said it."""
        return {"checked": self.line, "checker": self.line and self.checker}


def asked(program: Model, found: Claimed, checker: str = KERNEL, *, late: bool = False) -> Asked:
    """What a checker says of a result. Ctrl-C ends the check only, since the result stands without it; where it has
    ended the search (``late``), the check is a short one."""
    try:
        line = trusted_line(program, found, checker, AFTER_CTRL_C if late else AUTOMATIC_CHECK)
    except KeyboardInterrupt:
        return Asked(None, checker, unchecked("interrupted"), True)
    return Asked(line, checker, unchecked("after Ctrl-C there is about a second for it") if late else None)


def saved_and_asked(o: Given, found: Claimed, stopped: bool) -> Asked:
    """Write a result, if a file is named, and ask the checker. ``stopped``: Ctrl-C has ended the search; whether it
    came at all is in the answer."""
    late = saved(found, o.output) or stopped
    said = asked(o.program, found, o.checker, late=late)
    return said._replace(interrupted=late or said.interrupted)


def trusted_line(program: Model, found: Claimed, checker: str = KERNEL, limit: int = AUTOMATIC_CHECK) -> str | None:
    """The checker's line; ``None`` where the check takes too many steps or cannot be made."""
    from restrict.certificate.certificate import Certificate
    from restrict.certificate.refutation import Refutation
    from restrict.elaboration.check import check

    if isinstance(found, Refutation) and not found.checkable:
        return None
    try:
        if checker == VERIFIED:
            from restrict.elaboration.make import elaboration_of
            from restrict.elaboration.verified import check_verified

            name = str(program.source or "model")
            return check_verified(elaboration_of(program, found.to_bytes(), name, "certificate"))
        if checker == KERNEL and isinstance(found, Certificate) and found.target == "all":
            from restrict.elaboration.foreseen import beyond

            if beyond(program, found, limit):
                return None
        return check(program, found, fast=checker == COMPILED, limit=limit if checker == KERNEL else None)
    except ResourceLimit:
        return None


def unchecked(reason: str = "") -> str:
    """Why a result is not checked yet, by default how long that would take at least, and the command."""
    given = click.get_current_context().params
    model, output = given.get("model", "MODEL"), given.get("output")
    seconds = AUTOMATIC_CHECK // STEPS_IN_A_SECOND
    reason = reason or f"it takes more than {AUTOMATIC_CHECK} steps, over {seconds} s"
    return (
        f"{reason}; {'' if output else '-o FILE keeps it, then '}"
        f"`restrict check {model} {output or 'FILE'}`, or with --fast, which takes less"
    )
