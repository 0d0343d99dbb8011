"""The command `new`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from pathlib import Path

import click

from restrict.cli import common


@click.command()
@click.argument("generator", required=False, type=common.Text())
@common.output_option("the model file, instead of printing it,")
@click.option("--list", "listing", is_flag=True, help="List the generators and their options.")
@common.JSON
def new(generator: str | None, output: Path | None, listing: bool, as_json: bool) -> None:
    """Write the model file of GENERATOR: a built-in model, or random:layers=2,heads=2,states=4,seed=1."""
    import inspect

    from restrict.errors import UsageError
    from restrict.files import write_bytes
    from restrict.model.source import GENERATORS, document_bytes

    if listing and as_json:
        known = {name: inspect.signature(build).parameters.values() for name, build in sorted(GENERATORS.items())}
        click.echo(json.dumps({name: {p.name: p.default for p in options} for name, options in known.items()}))
        return
    if listing:
        for name, build in sorted(GENERATORS.items()):
            options = ",".join(f"{p.name}={p.default}" for p in inspect.signature(build).parameters.values())
            about = (inspect.getdoc(build) or "").partition("\n")[0]
            click.echo(
                f"{name + (':' + options if options else ''):<66} {about}"
                if len(options) < 40
                else f"{name}:{options}\n{'':<66} {about}"
            )
        return
    if generator is None:
        raise UsageError("name a generator, such as random:layers=2,seed=1; `restrict new --list` lists them")
    content = document_bytes(generator)
    if output is None:
        click.echo(content, nl=False)
    else:
        write_bytes(output, content)
        told = {"file": str(output), "bytes": len(content)}
        click.echo(json.dumps(told) if as_json else f"{output}: {len(content)} bytes")
