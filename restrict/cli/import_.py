"""The command `import`: models from elsewhere. Imported with the command line, so it stays light."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import UsageError
from restrict.cli import common
from restrict.cli.printer import put_file

if TYPE_CHECKING:
    from restrict.importers import Imported

KINDS = ("transformer-program", "b-rasp", "weights")
OPTIONS = {
    "weights": "transformer-program",
    "embeddings": "transformer-program",
    "self_rule": "transformer-program",
    "position": "transformer-program",
    "limit": "weights",
}
"""Which kind an option belongs to."""


@common.command("import")
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.argument("file", type=common.PATH)
@common.output_option("the model file, instead of printing it,")
@common.option("--weights", common.PATH, "transformer-program: the CSV of output weights.  [default: beside FILE]")
@common.option(
    "--embeddings",
    common.PATH,
    "transformer-program: the CSV of embeddings of words, where FILE reads one.  [default: beside FILE]",
)
@common.option(
    "--self self_rule", ("trained", "printed"), "transformer-program: where a matching self ranks.  [default: trained]"
)
@common.option("--position", ("every", "last"), "transformer-program: where the output is.  [default: every]")
@common.option("--limit", common.Whole(1), "weights: combinations of residual vectors at one layer.  [default: 262144]")
@common.flag("--json as_json", "Print what was imported as JSON (needs -o).")
def import_(o: common.Given) -> None:
    """Import a model: KIND is transformer-program (Python file and CSV), b-rasp (text) or weights (safetensors).

    FILE is read, never run. A head that averages, counts or uses softmax is refused; the message names it.
    """
    given = {name: value for name, value in o.only(*OPTIONS).items() if value is not None}
    for name in given:
        if OPTIONS[name] != o.kind:
            said = "--self" if name == "self_rule" else f"--{name}"
            raise UsageError(f"{said} is an option of {OPTIONS[name]}, not of {o.kind}")
    if o.as_json and o.output is None:
        raise UsageError("--json describes the import; say with -o where the model itself is to go")
    found = _import(o.kind, o.file, given)
    assert found.model.content is not None
    put_file(found.model.content, o.output, lambda: found.text(o.output), lambda: found.document(o.output), o.as_json)


def _import(kind: str, file: Path, options: dict[str, Any]) -> Imported:
    from restrict.importers import import_brasp, import_transformer_program, import_weights

    if kind == "b-rasp":
        return import_brasp(file)
    if kind == "weights":
        return import_weights(file, **options)
    if "position" in options:
        options["output"] = options.pop("position")
    return import_transformer_program(file, **options)
