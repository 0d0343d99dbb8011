"""The command `lower-bound`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from pathlib import Path

import click

from restrict.cli.common import MODEL, check_writable, leave_interrupted, progress_on, target_of, trusted_line


@click.command("lower-bound")
@MODEL
@click.option("-n", "n", type=int, required=True, help="Length, markers included.")
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=0),
    default=None,
    help="Show that no K positions force the output (exit 3 where that is not proved), and stop there.  "
    "[default: go on to the optimum]",
)
@click.option(
    "--target",
    default="last",
    show_default=True,
    help="last; or, for models with output at every position, a position.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the certificate here.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same certificate.")
@click.option("--time", type=click.FloatRange(min=0), default=None, help="Stop after this many seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def lower_bound(
    model: str, n: int, k: int | None, target: str, output: Path | None, seed: int, time: float | None, as_json: bool
) -> None:
    """How many positions it takes, at least, to force MODEL's output, at any length.

    `restrict certify` finds a restriction that forces the output; this proves that none with fewer positions does.
    """
    from restrict.errors import NotEstablished
    from restrict.model.source import load
    from restrict.optimum.lower_bound import lower_bound as run
    from restrict.report.lower_bound import bound_document, bound_lines, has_claim

    program = load(model)
    check_writable(output)
    with progress_on(f"{program.name[:40]}, n = {n}") as progress:
        found = run(program, n, target=target_of(target), k=k, seed=seed, time=time, progress=progress)
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
        click.echo(bound_lines(program, found))
        if line is not None:
            click.echo(f"  checked by the trusted checker: {line}")
        elif has_claim(found.bound):
            click.echo("  not yet checked by the trusted checker: run `restrict check`, or `restrict check --fast`")
        if output is not None:
            click.echo(f"  written to {output}" if written else "  not written: a bound of 0 has no certificate")
    if found.stopped == "interrupted":
        leave_interrupted(output if written else None)
    if k is not None and found.at_least <= k:
        size = found.upper
        known = f"{size} positions force the output" if size is not None and size <= k else "not decided"
        raise NotEstablished(
            f"that no {k} positions force the output is not proved: at least {found.at_least}; {known}"
        )
