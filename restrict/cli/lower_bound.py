"""The command `lower-bound`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from restrict.cli import common
from restrict.cli.common import leave_interrupted, progress_on, trusted_line
from restrict.cli.terminal import echo
from restrict.wording import doing


@click.command("lower-bound")
@common.MODEL
@common.LENGTH
@click.option(
    "-k",
    "k",
    metavar="K",
    type=common.Whole(0, common.LONGEST),
    default=None,
    help="Show that no K positions force the output (exit 3 where that is not proved), and stop there.  "
    "[default: go on to the optimum]",
)
@common.TARGET
@common.output_option("the certificate")
@common.SEED
@common.TIME
@common.JSON
def lower_bound(
    model: str, n: int, k: int | None, target: Any, output: Path | None, seed: int, time: float | None, as_json: bool
) -> None:
    """Prove how many positions must be fixed, at least, to force MODEL's output. It works at any length.

    `restrict certify` finds a restriction that forces the output; this proves that none with fewer positions does.
    """
    from restrict.errors import NotEstablished
    from restrict.model.source import load
    from restrict.optimum.lower_bound import lower_bound as run
    from restrict.report.lower_bound import bound_document, bound_lines, has_claim

    program = load(model)
    with progress_on(f"{program.name[:40]}, n = {n}") as progress:
        found = run(program, n, target=target, k=k, seed=seed, time=time, progress=progress)
        written = output is not None and has_claim(found.bound)
        if output is not None and written:
            found.bound.save(output)
        line = trusted_line(program, found.bound) if has_claim(found.bound) else None
    if as_json:
        place = str(output) if written else None
        click.echo(
            json.dumps(
                {"model": program.name, "n": n} | bound_document(program, found) | {"file": place, "checked": line}
            )
        )
    else:
        echo(bound_lines(program, found))
        if line is not None:
            echo(f"  checked by the trusted checker: {line}")
        elif has_claim(found.bound):
            echo(common.unchecked(output))
        if output is not None:
            echo(f"  written to {output}" if written else "  not written: a bound of 0 has no certificate")
    if found.stopped == "interrupted":
        leave_interrupted(output if written else None)
    if k is not None and found.at_least <= k:
        size = found.upper
        known = f"{doing(size, 'position', 'force')} the output" if size is not None and size <= k else "not decided"
        raise NotEstablished(
            f"not proved: no {doing(k, 'position', 'force')} the output; the lower bound is {found.at_least}; {known}"
        )
