"""The command `new`. Imported with the command line, so it stays light."""

from typing import Any

import click

from restrict.base.errors import UsageError
from restrict.cli import common
from restrict.cli.printer import put, put_file


@common.command()
@click.argument("generator", required=False, type=common.Text())
@common.output_option("the model file, instead of printing it,")
@common.flag("--list listing", "List the generators and their options.")
@common.JSON
def new(o: common.Given) -> None:
    """Write the model file of GENERATOR: a built-in model, or random:layers=2,heads=2,states=4,seed=1."""
    from restrict.model.source import document_bytes

    if o.listing:
        put(_list, _options, o.as_json, wide=True)
        return
    if o.generator is None:
        raise UsageError("name a generator, such as random:layers=2,seed=1; `restrict new --list` lists them")
    content = document_bytes(o.generator)
    told = {"file": str(o.output), "bytes": len(content)}
    put_file(content, o.output, f"{o.output}: {len(content)} bytes", told, o.as_json, wide=True)


def _options() -> dict[str, dict[str, Any]]:
    """The options of every generator, with their defaults."""
    import inspect

    from restrict.model.source import GENERATORS

    known = {name: inspect.signature(build).parameters.values() for name, build in sorted(GENERATORS.items())}
    return {name: {p.name: p.default for p in options} for name, options in known.items()}


def _list() -> str:
    """One line for each generator; two where its options are many."""
    import inspect

    from restrict.model.source import GENERATORS

    lines = []
    for name, known in _options().items():
        options = ",".join(f"{key}={value}" for key, value in known.items())
        head = f"{name}:{options}" if options else name
        about = (inspect.getdoc(GENERATORS[name]) or "").partition("\n")[0]
        lines.append(f"{head:<66} {about}" if len(options) < 40 else f"{head}\n{'':<66} {about}")
    return "\n".join(lines)
