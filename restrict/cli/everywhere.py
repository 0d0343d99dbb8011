"""``restrict certify --target all``: Theorem 1 at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restrict.cli.certificate_words import report
from restrict.cli.common import leave_interrupted, progress_on, trusted_line

if TYPE_CHECKING:
    from fractions import Fraction

    from restrict.depth_reduction.theorem1 import Everywhere
    from restrict.model.program import Model


def certify_everywhere(
    program: Model, n: int, c: int | None, free: Fraction | None, output: Path | None, seed: int, time: float | None,
    trace: bool, as_json: bool,
) -> None:  # fmt: skip
    """Search, write, print."""
    from restrict.depth_reduction.theorem1 import certify_all

    with progress_on(f"{program.name[:40]}, n = {n}") as progress:
        found = certify_all(
            program.at(n), free=None if free is None else float(free), c=c, seed=seed, time=time, progress=progress
        )
        if output is not None:
            found.certificate.save(output)
        line = trusted_line(program, found.certificate)
    if as_json:
        click.echo(json.dumps(_document(found, output, line)))
    else:
        report(program, found.certificate, output, line, False)
        if trace:
            if found.plan is not None:
                click.echo(
                    f"  plan    {found.plan.text()} (share of the inputs left, what is pressed, scale; per layer)"
                )
            click.echo(f"  mean    {found.mean:.1f} (certified bounds on the dependencies, mean over the positions)")
            click.echo(found.lines())
    if found.certificate.provenance.get("stopped") == "interrupted":
        leave_interrupted(output)


def _document(found: Everywhere, output: Path | None, line: str | None) -> dict[str, object]:
    return {
        "certificate": json.loads(found.certificate.to_bytes()),
        "file": str(output) if output else None,
        "checked": line,
        "mean": found.mean,
        "trace": [vars(layer) for layer in found.trace],
    }
