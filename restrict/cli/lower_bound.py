"""The command `lower-bound`. Imported with the command line, so it stays light."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from restrict.base.errors import NotEstablished
from restrict.base.wording import doing
from restrict.cli import common
from restrict.cli.checking import KERNEL, Asked, asked, checked_by, checked_line, document_of, unchecked
from restrict.cli.common import leave_interrupted, progress_on
from restrict.cli.printer import Told, put


@click.command("lower-bound")
@common.MODEL
@common.LENGTH
@click.option(
    "-k",
    "k",
    metavar="K",
    type=common.Whole(0, common.LONGEST),
    help="Show that no K positions force the output (exit 3 where that is not proved), and stop there.  "
    "[default: go on to the optimum]",
)
@common.TARGET
@common.output_option("the certificate")
@common.SEED
@common.TIME
@click.option("--jobs", type=common.Whole(1, 4096), help="Share the search for boxes among N processes.")
@checked_by
@common.JSON
def lower_bound_command(
    model: str,
    n: int,
    k: int | None,
    output: Path | None,
    jobs: int | None,
    checker: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Prove how many positions must be fixed, at least, to force MODEL's output. It works at any length.

    `restrict certify` finds a restriction that forces the output; this proves that none with fewer positions does.
    """
    from restrict.model.source import load
    from restrict.optimum.lower_bound import lower_bound
    from restrict.report.lower_bound import bound_document, bound_lines, has_claim
    from restrict.sweep.workers import workers

    program = load(model)
    with progress_on(f"{program.name[:40]}, n = {n}") as progress:
        with nullcontext() if jobs is None else workers(jobs):
            found = lower_bound(program, n, k=k, progress=progress, **options)
        written = output is not None and has_claim(found.bound)
        if output is not None and written:
            found.bound.save(output)
        claimed = has_claim(found.bound)
        own = checker == KERNEL or not claimed
        said = Asked(found.checked) if own else asked(program, found.bound, checker)
    place = str(output) if written else None
    late = said.why or (unchecked("the time was over") if found.stopped in ("time", "interrupted") else None)

    def document() -> dict[str, Any]:
        more = {"file": place} | document_of(said.line, checker)
        return {"model": program.name, "n": n} | bound_document(program, found) | more

    told = [bound_lines(program, found), *([checked_line(said.line, checker, late)] if claimed else [])]
    if output is not None:
        told.append(f"  written to {output}" if written else "  not written: a bound of 0 has no certificate")
    put(Told(lambda: "\n".join(told), document), as_json)
    if found.stopped == "interrupted" or said.interrupted:
        leave_interrupted(output if written else None)
    if k is not None and found.at_least <= k:
        size = found.upper
        known = f"{doing(size, 'position', 'force')} the output" if size is not None and size <= k else "not decided"
        raise NotEstablished(
            f"not proved: no {doing(k, 'position', 'force')} the output; the lower bound is {found.at_least}; {known}"
        )
